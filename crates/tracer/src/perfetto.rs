//! Events for a trace viewer: the JSON of the Trace Event Format, which Perfetto and others show on a line for each thread.
//!
//! Source: "Trace Event Format" of the Chromium project: complete events (`ph: X`) with times in microseconds, instants
//! (`ph: i`). Refuses: arguments; they are in text and JSON.

use std::io::Write as _;

use backsight_syscall_decode::{Event, Outcome, What, table};

/// Makes the viewer's JSON of events.
#[derive(Debug, Default)]
pub struct Perfetto {
    begun: bool,
}

impl Perfetto {
    /// Appends an event, if it is one that is shown.
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let (name, kind, at, took) = match &event.what {
            What::Call(call) => {
                let took = match call.outcome {
                    Outcome::Returned { took, .. } => took,
                    Outcome::Open => 0,
                };
                let name = match table::row(call.abi, call.number) {
                    Some(row) => row.name.to_owned(),
                    None => format!("syscall_{:#x}", call.number),
                };
                (name, "X", call.entered, Some(took))
            }
            What::Signal { number, .. } => (format!("signal {number}"), "i", event.at, None),
            What::Exited { status } => (format!("exited with {status}"), "i", event.at, None),
            What::Killed { signal, .. } => (format!("killed by {signal}"), "i", event.at, None),
            What::Lost { number } => (format!("{number} events lost"), "i", event.at, None),
            What::Pending(_)
            | What::Stopped { .. }
            | What::Superseded { .. }
            | What::Attached { .. }
            | What::Detached
            | What::Stack(_)
            | What::Unchanged { .. } => return,
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
        let (mut perfetto, mut out) = (Perfetto::default(), Vec::new());
        let event = |what| Event {
            pid: 1,
            tid: 2,
            at: 1500,
            what,
        };
        perfetto.write(&event(What::Exited { status: 3 }), &mut out);
        perfetto.write(&event(What::Detached), &mut out);
        perfetto.write(&event(What::Lost { number: 2 }), &mut out);
        perfetto.finish(&mut out);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(read.as_array().unwrap().len(), 2);
        assert_eq!((&read[0]["ph"], &read[0]["ts"]), (&"i".into(), &1.5.into()));
    }
}
