//! What the samplers cost: `cargo run --release -p backsight-monitor --example cost -- [SECONDS] [SAMPLER...]`.
//!
//! Prints, for all of them at 1 Hz and at 100 Hz and for each alone at 100 Hz, the share of one processor that a recording took,
//! the time of a sample, and the most memory that this process has had. `sadc` is measured beside, if it is installed.

use backsight_monitor::{EndSignals, ProcessTree, record, sampler_names};
use std::{
    error::Error,
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Where Debian and Fedora have it.
const SADC: [&str; 2] = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"];

/// Counts what is written, and throws it away.
#[derive(Default)]
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn usage(who: libc::c_int) -> (Duration, i64) {
    // SAFETY: it writes the numbers that it is given.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    let time =
        |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec as u32 * 1000);
    (time(usage.ru_utime) + time(usage.ru_stime), usage.ru_maxrss)
}

fn measure(title: &str, names: &[&str], rate: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    let tree = ProcessTree {
        root: std::os::unix::process::parent_id().cast_signed(),
        with_root: true,
        leaves_out: |_| false,
    };
    let signals = EndSignals::block();
    let mut out = Counted::default();
    let (before, _) = usage(libc::RUSAGE_SELF);
    let began = Instant::now();
    let count = rate * seconds + 1;
    let interval = Duration::from_secs(1) / u32::try_from(rate)?;
    if let Err(error) = record(
        names,
        Some(&tree),
        interval,
        Some(count),
        &signals,
        &mut out,
    ) {
        println!("{title:<14} {error}");
        return Ok(());
    }
    let took = usage(libc::RUSAGE_SELF).0 - before;
    let share = 100.0 * took.as_secs_f64() / began.elapsed().as_secs_f64();
    let sample = took.as_secs_f64() * 1e6 / count as f64;
    let megabytes = usage(libc::RUSAGE_SELF).1 as f64 / 1024.0;
    println!(
        "{title:<14} {rate:>4} Hz {share:>7.3} % {sample:>9.1} µs a sample {:>7} B a sample {megabytes:>6.1} MB at most",
        out.0 as u64 / count
    );
    Ok(())
}

fn measure_sadc(seconds: u64) -> Result<(), Box<dyn Error>> {
    let Some(sadc) = SADC.iter().find(|path| Path::new(path).exists()) else {
        println!("sadc           not installed (sysstat)");
        return Ok(());
    };
    let (before, _) = usage(libc::RUSAGE_CHILDREN);
    let count = (seconds + 1).to_string();
    let mut command = Command::new(sadc);
    command
        .args(["-S", "XALL", "1", &count, "-"])
        .stdout(Stdio::null());
    command.status()?;
    let (after, kilobytes) = usage(libc::RUSAGE_CHILDREN);
    let took = (after - before).as_secs_f64();
    println!(
        "{:<14} {:>4} Hz {:>7.3} % {:>9.1} µs a sample {:>28.1} MB at most",
        "sadc -S XALL",
        1,
        100.0 * took / seconds as f64,
        1e6 * took / (seconds + 1) as f64,
        kilobytes as f64 / 1024.0
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(10), |seconds| seconds.parse())?;
    let asked: Vec<String> = arguments.collect();
    let mut names: Vec<&str> = asked.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = sampler_names().collect();
    }
    measure("all", &names, 1, seconds)?;
    measure("all", &names, 100, seconds)?;
    for name in &names {
        measure(name, &[name], 100, 2)?;
    }
    measure_sadc(seconds)
}
