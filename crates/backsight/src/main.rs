//! `backsight`: measures any version of a system and says what changed, by how much, and how sure it is.
//!
//! One module a verb: its arguments, one call of a library, its exit status, which is 0 only if nothing failed. A fault that the
//! user can mend is a message with a way out and never a backtrace.

mod accept;
mod alerts;
mod annotate;
mod audit;
mod benchmark_pages;
mod bisect;
mod check;
mod cli;
mod common_options;
mod compare;
mod detect;
mod doctor;
mod examples;
mod exit_status;
mod explain;
mod export;
mod files;
mod history;
mod history_log;
mod import;
mod init;
mod lab;
mod lint;
mod list;
mod log;
mod manual;
mod mcp;
mod new;
mod noise;
mod notify;
mod open_target;
mod outcome;
mod output;
mod overhead;
mod plan_args;
mod profile;
mod progress;
mod prune;
mod publish;
mod queue;
mod record;
mod report;
mod reserve;
mod restore;
mod resume;
mod run;
mod schema;
mod search;
mod serve;
mod session_args;
mod step;
mod store;
mod store_check;
mod store_copy;
mod store_raw;
mod studies;
mod test;
mod test_matrix;
mod token;
mod trace;
mod try_parser;
mod try_patch;
mod user_name;
mod value_parsers;
mod watch;

use std::process::ExitCode;

/// musl's own allocator takes a lock for every call: comparing large studies took a third longer.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(ended) = backsight_agent_program::execute_early() {
        return ended;
    }
    let (arguments, refused) = cli::Arguments::read();
    let _ = backsight_agent_program::set_message_style();
    match arguments.execute() {
        Ok(status) => status,
        Err(report) => {
            files::print_note(&format!("{report:?}"));
            refused.into()
        }
    }
}

/// Runs async work on this thread; what waits for I/O is little, and agents do the rest.
fn block_on<T>(work: impl Future<Output = miette::Result<T>>) -> miette::Result<T> {
    use miette::IntoDiagnostic as _;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .into_diagnostic()?;
    runtime.block_on(work)
}
