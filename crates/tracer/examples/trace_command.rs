//! A tracer of few options, built in a minute where the whole program takes twenty; `scripts/bench-trace` takes it too:
//!
//!     cargo build --release -p backsight-tracer --example trace_command
//!     scripts/bench-trace target/release/examples/trace_command
//!
//! Usage: `trace_command trace [-q] [-f] [-c] [-k] [-o FILE] [-e EXPRESSION] [--seccomp-bpf] [--engine auto|kernel|ptrace] COMMAND…`

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::text::{LinePrefix, TextOptions, TextWriter};
use backsight_tracer::command::TracedCommand;
use backsight_tracer::descriptors::DescriptorDetails;
use backsight_tracer::engine::{self, EngineKind};
use backsight_tracer::expressions::{
    DisplaySettings, QuietSettings, apply_expression, known_syscalls,
};
use backsight_tracer::interrupt::Interrupt;
use backsight_tracer::options::TraceOptions;
use backsight_tracer::output::{EventFormat, EventView, OutputTarget, TraceOutput};
use backsight_tracer::processes::PidDetails;
use backsight_tracer::result_details::ResultDetails;
use backsight_tracer::summary::{
    CallSummary, SummaryColumn, SummaryForm, SummaryGrouping, SummaryView, TableOptions,
    TraceSummary,
};

/// What is asked for.
#[derive(Default)]
struct Arguments {
    quiet: bool,
    follow: bool,
    counts: bool,
    stacks: bool,
    output: Option<OsString>,
    expressions: Vec<String>,
    engine: Option<EngineKind>,
    command: Vec<OsString>,
}

fn parse_arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments::default();
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word == "trace");
    while let Some(word) = words.next_if(|word| word.as_encoded_bytes().starts_with(b"-")) {
        let mut value = || words.next().ok_or("an option lacks its value");
        match word.to_str() {
            Some("-q") => arguments.quiet = true,
            Some("-f") => arguments.follow = true,
            Some("-c") => arguments.counts = true,
            Some("-k") => arguments.stacks = true,
            Some("--seccomp-bpf") => {}
            Some("-o") => arguments.output = Some(value()?),
            Some("-e") => arguments
                .expressions
                .push(value()?.to_string_lossy().into()),
            Some("--engine") => {
                arguments.engine = match value()?.to_str() {
                    Some("auto") => None,
                    Some("kernel") => Some(EngineKind::Kernel),
                    Some("ptrace") => Some(EngineKind::Ptrace),
                    _ => return Err("engines: auto, kernel, ptrace".into()),
                };
            }
            _ => return Err(format!("{}: no option of this tracer", word.display()).into()),
        }
    }
    arguments.command = words.collect();
    Ok(arguments)
}

fn trace_options(arguments: &Arguments) -> Result<TraceOptions, Box<dyn Error>> {
    let (program, rest) = arguments.command.split_first().ok_or("what is traced?")?;
    let mut command = TracedCommand::new(program, rest);
    command.leave_standard_streams();
    let mut options = TraceOptions {
        command: Some(command),
        follow: arguments.follow,
        stacks: arguments.stacks,
        work: arguments.counts,
        pending: arguments.follow,
        ..TraceOptions::default()
    };
    if arguments.counts {
        options.limits = None;
        options.pending = false;
    }
    let mut display = DisplaySettings {
        aspects: DescriptorDetails::default(),
        processes: PidDetails::default(),
        results: ResultDetails::default(),
        full: SyscallSet::none(),
        opaque: SyscallSet::none(),
        raw: SyscallSet::none(),
        reads: DescriptorSet::default(),
        writes: DescriptorSet::default(),
        quiet: QuietSettings {
            attach: false,
            personality: false,
            exit: false,
            superseded: false,
            paths: false,
            named: false,
        },
    };
    for expression in &arguments.expressions {
        apply_expression(&mut options, &mut display, expression, &known_syscalls())?;
    }
    Ok(options)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = parse_arguments()?;
    let options = trace_options(&arguments)?;
    let interrupt = Interrupt::never(&[])?;
    let place = OutputTarget {
        in_order: false,
        file: arguments.output.clone(),
        each: false,
        append: false,
    };
    let text = TextOptions {
        prefix: match arguments.follow {
            true => LinePrefix::Plain,
            false => LinePrefix::Nobody,
        },
        ..TextOptions::default()
    };
    let view = EventView {
        lines: match arguments.counts {
            true => EventFormat::None,
            false => EventFormat::Text(Box::new(TextWriter::new(text))),
        },
        summary: arguments
            .counts
            .then(|| TraceSummary::Calls(CallSummary::new())),
        view: SummaryView {
            by: SummaryGrouping::Call,
            form: SummaryForm::Strace,
            table: TableOptions::new(&SummaryColumn::USUAL),
        },
    };
    let mut output = TraceOutput::open(place, Some(&interrupt), view)?;
    let mut failed = Ok(());
    let mut trace = |engine| {
        if arguments.counts {
            let (ended, summary) = engine::count_calls(engine, &options, &interrupt, &mut |_| {})?;
            output.summarize(TraceSummary::Calls(summary));
            return Ok(ended);
        }
        engine::trace(engine, &options, &interrupt, &mut |event| {
            if failed.is_ok() {
                failed = output.show(&event);
            }
        })
    };
    let report = |chosen: EngineKind, why: Option<String>| {
        if !arguments.quiet {
            eprintln!("{} {}", chosen.name(), why.unwrap_or_default());
        }
    };
    let ended = match arguments.engine {
        None => {
            engine::run_with_fitting_engine(engine::choose_engine(&options), &report, &mut trace)
        }
        Some(engine) => trace(engine),
    }?;
    failed?;
    output.close()?;
    if !arguments.quiet {
        eprintln!("{ended:?}");
    }
    Ok(ended.command.map_or(ExitCode::SUCCESS, |command| {
        ExitCode::from(command.exit_with_same_status())
    }))
}
