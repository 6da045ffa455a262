//! Events for a trace viewer: the JSON of the Trace Event Format, which Perfetto and others show on a line for each thread.
//!
//! Source: "Trace Event Format" of the Chromium project: complete events (`ph: X`) with times in microseconds, instants
//! (`ph: i`). Arguments aren't written; they are in text and JSON.

use std::io::Write as _;

use backsight_syscall_decode::{EventKind, SyscallOutcome, TraceEvent, table};

/// Makes the viewer's JSON of events.
#[derive(Debug, Default)]
pub struct PerfettoWriter {
    begun: bool,
}

impl PerfettoWriter {
    /// Appends an event, if it is one that is shown.
    pub fn write(&mut self, event: &TraceEvent, out: &mut Vec<u8>) {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let (name, kind, at, took) = match &event.kind {
            EventKind::Call(call) => {
                let took = match call.outcome {
                    SyscallOutcome::Returned { took, .. } => took,
                    SyscallOutcome::Open => 0,
                };
                let name = match table::find_syscall(call.abi, call.number) {
                    Some(row) => row.name.to_owned(),
                    None => format!("syscall_{:#x}", call.number),
                };
                (name, "X", call.entered, Some(took))
            }
            EventKind::Signal { number, .. } => (format!("signal {number}"), "i", event.at, None),
            EventKind::Exited { status } => (format!("exited with {status}"), "i", event.at, None),
            EventKind::Killed { signal, .. } => {
                (format!("killed by {signal}"), "i", event.at, None)
            }
            EventKind::Lost { number } => (format!("{number} events lost"), "i", event.at, None),
            EventKind::Pending(_)
            | EventKind::Stopped { .. }
            | EventKind::Superseded { .. }
            | EventKind::Attached { .. }
            | EventKind::Detached
            | EventKind::Stack(_)
            | EventKind::Stranger { .. }
            | EventKind::Interrupted { .. }
            | EventKind::Unchanged { .. } => return,
        };
        out.extend_from_slice(if self.begun { b",\n" } else { b"[\n" });
        self.begun = true;
        let took = took.map_or_else(String::new, |took| format!(",\"dur\":{:.3}", micros(took)));
        // Writing to a vector can't fail; names of calls need no escapes.
        let _ = write!(
            out,
            "{{\"name\":\"{name}\",\"ph\":\"{kind}\",\"ts\":{:.3}{took},\"pid\":{},\"tid\":{}}}",
            micros(at),
            event.pid,
            event.tid
        );
    }

    /// Ends the list.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.begun { b"\n]\n" } else { b"[]\n" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list_of_events() {
        let (mut perfetto, mut out) = (PerfettoWriter::default(), Vec::new());
        let event = |what| TraceEvent {
            pid: 1,
            tid: 2,
            at: 1500,
            kind: what,
        };
        perfetto.write(&event(EventKind::Exited { status: 3 }), &mut out);
        perfetto.write(&event(EventKind::Detached), &mut out);
        perfetto.write(&event(EventKind::Lost { number: 2 }), &mut out);
        perfetto.finish(&mut out);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(read.as_array().unwrap().len(), 2);
        assert_eq!((&read[0]["ph"], &read[0]["ts"]), (&"i".into(), &1.5.into()));
    }
}
