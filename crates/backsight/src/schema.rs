//! `backsight schema`: JSON schemas of the files that users write, and of the JSON that verbs print.

use backsight_exchange::export::StudyExport;
use backsight_report::schema as report;
use backsight_syscall_decode::line_schema::TraceLine;
use backsight_tracer::summary::{RunComparison, SummaryLine};
use std::process::ExitCode;

/// The kind of what `export` prints.
const EXPORT: &str = "export";
/// The kind of a trace's lines.
const TRACE_LINE: &str = "trace-line";
/// The kind of a trace's differences.
const TRACE_DIFF: &str = "trace-diff";
/// The kind of what webhooks get.
const CHANGES_EVENT: &str = "changes-event";

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// Which kind: of file, or of what a verb prints with --format json
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(kinds()))]
    kind: String,
}

fn kinds() -> impl Iterator<Item = &'static str> {
    file_kinds().chain(printed().map(|(kind, _)| kind))
}

/// The kinds of files that users write.
pub fn file_kinds() -> impl Iterator<Item = &'static str> {
    let files = backsight_model::schema::KINDS.iter();
    files
        .chain(backsight_settings::KINDS)
        .chain(backsight_notify::KINDS)
        .chain(backsight_watch::KINDS)
        .copied()
}

/// The schema of a kind of file that users write.
pub fn file_schema(kind: &str) -> Option<serde_json::Value> {
    backsight_model::schema::schema_for(kind)
        .or_else(|| backsight_settings::schema_for(kind))
        .or_else(|| backsight_notify::schema_for(kind))
        .or_else(|| backsight_watch::schema_for(kind))
}

/// The kinds of JSON that verbs print, each with a line on what prints it.
pub fn printed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let export = (EXPORT, "What `export --format json` prints.");
    let event = (CHANGES_EVENT, "What `notify` sends to a webhook.");
    let line = (TRACE_LINE, "Each line of `trace --json`.");
    let diff = (TRACE_DIFF, "What `trace --diff --json` prints.");
    let own = [export, event, line, diff];
    report::KINDS.iter().copied().chain(own)
}

/// The schema of a kind of JSON that a verb prints.
pub fn output_schema(kind: &str) -> Option<serde_json::Value> {
    match kind {
        EXPORT => Some(report::schema_of::<StudyExport<'_>>()),
        CHANGES_EVENT => Some(report::schema_of::<backsight_notify::ChangesEvent>()),
        TRACE_DIFF => Some(report::schema_of::<RunComparison>()),
        TRACE_LINE => Some(schemars::schema_for!(PrintedLine).to_value()),
        _ => report::schema_for(kind),
    }
}

/// A line of `trace --json`: an event, or a summary.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is wanted")]
enum PrintedLine {
    /// An event.
    Event(TraceLine),
    /// A summary, with `-C` behind all events, alone with `-c`, `--by` and their like.
    Summary(Box<SummaryLine>),
}

impl SchemaArgs {
    /// Prints the schema.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let schema = file_schema(&self.kind)
            .or_else(|| output_schema(&self.kind))
            .ok_or_else(|| miette::miette!("there is no schema of `{}`", self.kind))?;
        crate::files::print(&format!("{schema:#}\n"))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_syscall_decode::json::JsonWriter;
    use backsight_syscall_decode::{Abi, EventKind, StackFrame, TraceEvent};

    #[test]
    fn every_kind_of_event_of_a_trace_is_described() {
        let schema = output_schema(TRACE_LINE).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        // Calls come from real programs, in the tests of the whole program.
        for kind in [
            EventKind::Exited { status: 3 },
            EventKind::Killed {
                signal: 9,
                core: false,
            },
            EventKind::Signal {
                number: 17,
                info: vec![0; 128],
                instruction: Some(u64::MAX),
            },
            EventKind::Stopped { signal: 19 },
            EventKind::Superseded { by: 4 },
            EventKind::Attached { parent: Some(1) },
            EventKind::Attached { parent: None },
            EventKind::Detached,
            EventKind::Lost { number: u64::MAX },
            EventKind::Unchanged {
                abi: Abi::NATIVE,
                number: 0,
                argument: 1,
            },
            EventKind::Stranger { ended: true },
            EventKind::Interrupted {
                abi: Abi::NATIVE,
                number: 35,
            },
            EventKind::Stack(vec![
                StackFrame {
                    file: b"/bin/\xff\n".to_vec(),
                    function: Some((b"main".to_vec(), 3)),
                    offset: 9,
                },
                StackFrame {
                    file: b"[vdso]".to_vec(),
                    function: None,
                    offset: u64::MAX,
                },
            ]),
        ] {
            let event = TraceEvent {
                pid: 1,
                tid: 1,
                at: 0,
                kind,
            };
            let mut line = Vec::new();
            JsonWriter::new(32).write(&event, &mut line);
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            if let Err(error) = validator.validate(&line) {
                panic!("{error}: {line}");
            }
        }
    }
}
