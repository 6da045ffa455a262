//! Traces a command and its children with the ptrace engine, and writes each call as the kernel sees it to a file: the
//! least that there is to tracing, for measuring beside other tracers.
//!
//! `plain FILE SET COMMAND…`, with a set of numbers of calls, or `all`.

use backsight_trace::{Asked, Calls, Command, Interrupt, Outcome, What, ptrace};
use std::{
    fs::File,
    io::{BufWriter, Write as _},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let mut next = || arguments.next().ok_or("plain FILE SET COMMAND…");
    let (file, set, program) = (next()?, next()?, next()?);
    let mut out = BufWriter::with_capacity(1 << 18, File::create(file)?);
    let asked = Asked {
        command: Some(Command::new(program, arguments)),
        follow: true,
        calls: Calls::parse(&set.to_string_lossy(), &[])?,
        ..Asked::default()
    };
    let mut written = Ok(());
    let ended = ptrace::trace(&asked, &Interrupt::new(), &mut |event| {
        let What::Call(call) = &event.what else {
            return;
        };
        let [a, b, c, d, e, f] = call.arguments;
        let line = write!(
            out,
            "{} {}({a:#x}, {b:#x}, {c:#x}, {d:#x}, {e:#x}, {f:#x})",
            event.tid, call.number
        );
        let end = match call.outcome {
            Outcome::Returned { value, .. } => writeln!(out, " = {value}"),
            Outcome::Open => writeln!(out, " = ?"),
        };
        if let Err(error) = line.and(end) {
            written = Err(error);
        }
    })?;
    written?;
    out.flush()?;
    eprintln!("{ended:?}");
    Ok(())
}
