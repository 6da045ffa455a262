//! Traces a command with the kernel engine and prints raw lines, or text with `-t`: for measurements and tests of the engine alone.
//!
//!     kernel [-f] [-c] [-t] [-o FILE] [-r RING_KIB] [--slow MICROSECONDS] [-p PID] [--] command…

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use backsight_trace::kernel::{Options, Start, Stop, Subject, trace};
use backsight_trace::text::{self, Text};
use backsight_trace::{Event, Outcome, What};

struct Asked {
    options: Options,
    output: Box<dyn Write>,
    count: bool,
    text: bool,
    slow: Duration,
    pids: Vec<i32>,
    command: Vec<String>,
}

fn asked() -> Result<Asked, Box<dyn std::error::Error>> {
    let mut asked = Asked {
        options: Options::default(),
        output: Box::new(std::io::stderr()),
        count: false,
        text: false,
        slow: Duration::ZERO,
        pids: Vec::new(),
        command: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "-f" => asked.options.follow = true,
            "-c" => asked.count = true,
            "-t" => asked.text = true,
            "-o" => {
                asked.output = Box::new(BufWriter::with_capacity(1 << 18, File::create(value()?)?))
            }
            "-r" => asked.options.ring = value()?.parse::<u32>()? << 10,
            "--slow" => asked.slow = Duration::from_micros(value()?.parse()?),
            "-p" => asked.pids.push(value()?.parse()?),
            "--" => asked.command.extend(words.by_ref()),
            _ => {
                asked.command.push(word);
                asked.command.extend(words.by_ref());
            }
        }
    }
    Ok(asked)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Asked {
        options,
        mut output,
        count,
        text,
        slow,
        pids,
        command,
    } = asked()?;
    let subject = match command.split_first() {
        Some((program, arguments)) => Subject::Command(Start::new(program, arguments)?),
        None => Subject::Running(pids),
    };
    let began = Instant::now();
    let mut counts: BTreeMap<(u8, u64), (u64, u64, u64)> = BTreeMap::new();
    let mut line = Vec::new();
    let mut shown = Text::new(text::Options::default());
    let ended = trace(&subject, &options, &Stop::new()?, &mut |event: Event| {
        if !slow.is_zero() {
            std::thread::sleep(slow);
        }
        if let (true, What::Call(call)) = (count, &event.what) {
            let entry = counts.entry((call.abi as u8, call.number)).or_default();
            entry.0 += 1;
            if let Outcome::Returned { value, took } = call.outcome {
                entry.1 += u64::from((-4095..0).contains(&value));
                entry.2 += took;
            }
            return;
        }
        line.clear();
        if text {
            shown.write(&event, &mut line)
        } else {
            write_event(&event, &mut line)
        }
        // An output that can't be written to is found out at the end.
        let _ = output.write_all(&line);
    })?;
    for ((abi, number), (calls, errors, took)) in counts {
        writeln!(output, "{abi} {number} {calls} {errors} {took}")?;
    }
    line.clear();
    shown.finish(&mut line);
    output.write_all(&line)?;
    output.flush()?;
    eprintln!("{ended:?} {:?}", began.elapsed());
    Ok(())
}

fn write_event(event: &Event, line: &mut Vec<u8>) {
    // Writing to memory doesn't fail.
    let _ = match &event.what {
        What::Call(call) | What::Pending(call) => {
            let _ = write!(line, "{} {:?} {}(", event.tid, call.abi, call.number);
            for argument in call.arguments {
                let _ = write!(line, "{argument:#x}, ");
            }
            for piece in call.memory.pieces() {
                let _ = write!(
                    line,
                    "{:x}=\"{}\" ",
                    piece.address,
                    piece.bytes.escape_ascii()
                );
            }
            match call.outcome {
                Outcome::Returned { value, took } => writeln!(line, ") = {value} <{took}>"),
                Outcome::Open => writeln!(line, ") = ?"),
            }
        }
        other => writeln!(line, "{} {other:?}", event.tid),
    };
}
