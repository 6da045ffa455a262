//! `make bench`: change points beside ruptures and Apache Otava, on the same data in the same run, one after the other
//! in every round.
//!
//! The peers live in an environment of their own, `target/peers` (`scripts/setup bench`). Libraries are timed within
//! their process, commands as whole processes. Ruptures has no defaults for how many changes there are: it is given a
//! penalty by the Bayesian information criterion, with the variance estimated robustly.
//!
//! It prints medians and ratios; what they mean is said in docs/performance.md.

use backsight_stats::{
    Random,
    changes::{DetectionOptions, OnlineDetector, detect},
    simulation::{NoiseShape, steps},
};
use std::{
    fmt::Write as _,
    hint::black_box,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// The allocator of the binary: what is measured here is what it does.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BINARY: &str = env!("CARGO_BIN_EXE_backsight");

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut peers = Peers::start();
    if peers.is_none() {
        println!("the peers aren't installed: `scripts/setup bench` does it; our figures alone:");
    }
    println!(
        "{:<46} {:>22} {:>10}   peers (times ours)",
        "change points", "median (least)", "asked"
    );
    library(
        folder.path(),
        &mut peers,
        1_000,
        "≤ 1 ms",
        &["kernel", "binseg", "pelt", "otava"],
    );
    library(
        folder.path(),
        &mut peers,
        10_000,
        "≤ 15 ms",
        &["kernel", "binseg", "otava"],
    );
    append(folder.path(), &mut peers);
    whole_process(folder.path());
    many(folder.path(), &mut peers);
}

/// The peers' process, which runs a job at a time.
struct Peers {
    child: Child,
    jobs: ChildStdin,
    results: BufReader<ChildStdout>,
}

fn folder_of_peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/bin")
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers.py")
}

impl Peers {
    fn start() -> Option<Self> {
        let mut child = Command::new(folder_of_peers().join("python"))
            .arg(script())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let jobs = child.stdin.take()?;
        let results = BufReader::new(child.stdout.take()?);
        Some(Self {
            child,
            jobs,
            results,
        })
    }

    /// How long a job took, and how many change points it found.
    fn run(&mut self, method: &str, file: &Path) -> (Duration, usize) {
        writeln!(self.jobs, "{method} {}", file.display()).expect("the peers live");
        let mut line = String::new();
        self.results.read_line(&mut line).expect("the peers answer");
        let numbers: Vec<u64> = line
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        match numbers[..] {
            [nanoseconds, found] => (Duration::from_nanos(nanoseconds), found as usize),
            _ => panic!("{method}: the peers say {line:?}"),
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Times of the same job, in every round once.
struct Times {
    name: String,
    times: Vec<Duration>,
    found: usize,
}

impl Times {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            times: Vec::new(),
            found: 0,
        }
    }

    fn push(&mut self, (time, found): (Duration, usize)) {
        self.times.push(time);
        self.found = found;
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2]
    }
}

fn shown(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds if seconds < 1.0 => format!("{:.2} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

fn row(what: &str, asked: &str, ours: &Times, peers: &[Times]) {
    let mut beside = String::new();
    for peer in peers {
        let ratio = peer.median().as_secs_f64() / ours.median().as_secs_f64();
        let _ = write!(
            beside,
            "{}{} {} ×{ratio:.1} ({} found)",
            if beside.is_empty() { "" } else { "; " },
            peer.name,
            shown(peer.median()),
            peer.found
        );
    }
    let least = ours
        .times
        .iter()
        .min()
        .map_or(String::new(), |least| shown(*least));
    let measured = format!("{} ({least})", shown(ours.median()));
    println!(
        "{what:<46} {measured:>22} {asked:>10}   ours: {} found; {beside}",
        ours.found
    );
}

/// Gaussian noise with a step of one standard deviation in the middle.
fn series(n: usize, seed: u64) -> Vec<f64> {
    let levels = [(n / 2, 100.0), (n - n / 2, 101.0)];
    steps(&levels, NoiseShape::Gauss, &mut Random::seeded(seed))
}

fn write_lines(path: &Path, lines: impl Iterator<Item = String>) {
    let mut text = String::new();
    lines.for_each(|line| {
        text.push_str(&line);
        text.push('\n');
    });
    std::fs::write(path, text).expect("a file");
}

fn timed<T>(job: impl FnOnce() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let result = job();
    (begin.elapsed(), result)
}

fn search(series: &[f64]) -> usize {
    let found = detect(black_box(series), &DetectionOptions::default()).expect("finite");
    black_box(found).changes.len()
}

fn library(folder: &Path, peers: &mut Option<Peers>, n: usize, asked: &str, methods: &[&str]) {
    let series = series(n, 1);
    let file = folder.join("series.txt");
    write_lines(&file, series.iter().map(f64::to_string));
    let mut ours = Times::new("ours");
    let mut beside: Vec<Times> = methods.iter().map(|name| Times::new(name)).collect();
    for _ in 0..7 {
        ours.push(timed(|| search(&series)));
        if let Some(peers) = peers {
            for times in &mut beside {
                let result = peers.run(&times.name, &file);
                times.push(result);
            }
        }
    }
    beside.retain(|times| !times.times.is_empty());
    row(&format!("{n} points, library"), asked, &ours, &beside);
}

fn append(folder: &Path, peers: &mut Option<Peers>) {
    let series = series(1_000, 2);
    let file = folder.join("append.txt");
    write_lines(&file, series.iter().map(f64::to_string));
    let (mut each, mut otava) = (Times::new("ours"), Times::new("otava"));
    let mut worst = Duration::ZERO;
    for _ in 0..7 {
        let mut watch =
            OnlineDetector::new(Vec::new(), DetectionOptions::default()).expect("empty");
        let begin = Instant::now();
        for &value in &series {
            let (time, news) = timed(|| watch.push(value).expect("finite"));
            black_box(news);
            worst = worst.max(time);
        }
        each.push((begin.elapsed() / 1_000, watch.changes().len()));
        if let Some(peers) = peers {
            let result = peers.run("append", &file);
            otava.push(result);
        }
    }
    let beside: Vec<Times> = [otava]
        .into_iter()
        .filter(|t| !t.times.is_empty())
        .collect();
    let what = format!("a point appended (worst of 7000: {})", shown(worst));
    row(&what, "≤ 50 µs", &each, &beside);
}

fn run(command: &mut Command) -> (Duration, usize) {
    let (time, output) = timed(|| command.stdin(Stdio::null()).output().expect("it starts"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    (time, 1)
}

fn whole_process(folder: &Path) {
    let file = folder.join("history.csv");
    let begin = jiff::Timestamp::UNIX_EPOCH;
    let rows = series(10_000, 3).into_iter().zip(0i64..).map(|(value, i)| {
        let at = begin + jiff::SignedDuration::from_secs(i * 3600);
        format!("{},{value}", at.strftime("%Y-%m-%d %H:%M:%S +0000"))
    });
    write_lines(&file, std::iter::once("time,value".to_owned()).chain(rows));
    let config = folder.join("otava.yaml");
    let text = format!(
        "tests:\n  bench:\n    type: csv\n    file: {}\n    time_column: time\n    metrics: [value]\n",
        file.display()
    );
    std::fs::write(&config, text).expect("a file");
    let python = folder_of_peers().join("python");
    let (mut ours, mut ruptures, mut otava) = (
        Times::new("ours"),
        Times::new("ruptures (kernel), whole script"),
        Times::new("otava analyze"),
    );
    for round in 0..9 {
        ours.push(run(Command::new(BINARY).arg("detect").arg(&file)));
        if python.exists() && round < 3 {
            let mut script_of_ruptures = Command::new(&python);
            ruptures.push(run(script_of_ruptures
                .arg(script())
                .arg("kernel")
                .arg(&file)));
        }
        // Half a minute: once.
        if python.exists() && round == 0 {
            let mut command = Command::new(folder_of_peers().join("otava"));
            otava.push(run(command
                .args(["analyze", "bench", "--since", "1970-01-01"])
                .env("OTAVA_CONFIG", &config)));
        }
    }
    let beside: Vec<Times> = [ruptures, otava]
        .into_iter()
        .filter(|times| !times.times.is_empty())
        .collect();
    row(
        "`detect` of a 10,000-line CSV, whole process",
        "≤ 40 ms",
        &ours,
        &beside,
    );
}

fn many(folder: &Path, peers: &mut Option<Peers>) {
    let many: Vec<Vec<f64>> = (0..1_000).map(|seed| series(500, seed)).collect();
    let texts = |one: &Vec<f64>| one.iter().map(f64::to_string).collect::<Vec<_>>();
    let lines = folder.join("many.txt");
    write_lines(&lines, many.iter().map(|one| texts(one).join(" ")));
    let table = folder.join("many.csv");
    let rows = many
        .iter()
        .enumerate()
        .flat_map(|(i, one)| one.iter().map(move |value| format!("s{i},{value}")));
    write_lines(
        &table,
        std::iter::once("series,value".to_owned()).chain(rows),
    );
    let parquet = folder.join("many.parquet");
    let (mut library, mut ours) = (Times::new("library"), Times::new("ours"));
    let mut beside = vec![
        Times::new("many-kernel"),
        Times::new("many-binseg"),
        Times::new("many-otava"),
    ];
    for round in 0..5 {
        library.push(timed(|| many.iter().map(|one| search(one)).sum()));
        ours.push(run(Command::new(BINARY)
            .args([
                "detect", "--series", "series", "--sorted", "--format", "parquet", "-o",
            ])
            .arg(&parquet)
            .arg(&table)));
        if let Some(peers) = peers
            && round == 0
        {
            for times in &mut beside {
                let result = peers.run(&times.name, &lines);
                times.push(result);
            }
        }
    }
    beside.retain(|times| !times.times.is_empty());
    beside.insert(0, library);
    row(
        "1,000 series × 500 points, CSV to Parquet",
        "≤ 0.5 s",
        &ours,
        &beside,
    );
}
