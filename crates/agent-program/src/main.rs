//! `backsight-agent`: what is sent to other machines.

use backsight_agent_program::{HostVerb, TracingMonitor, execute_early, set_message_style};
use clap::Parser;
use std::process::ExitCode;

/// What Backsight starts on a host; it is put there by `backsight`, which has all the verbs.
#[derive(Debug, Parser)]
#[command(
    name = "backsight-agent",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    verb: HostVerb,
}

fn main() -> ExitCode {
    if let Some(ended) = execute_early() {
        return ended;
    }
    let arguments = Arguments::parse();
    let _ = set_message_style();
    arguments.verb.execute(no_tracer).unwrap_or_else(|report| {
        eprintln!("{report:?}");
        ExitCode::from(2)
    })
}

fn no_tracer(monitor: &TracingMonitor) -> miette::Result<()> {
    Err(miette::miette!(
        help = "a program `backsight` that is built for this machine can be its agent",
        "`{}` needs the tracer, which the agent alone doesn't have",
        monitor.name()
    ))
}
