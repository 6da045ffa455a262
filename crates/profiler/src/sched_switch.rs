//! The tracepoint `sched:sched_switch`: a processor goes from one thread to another.

use std::{fs, io};

/// Where the kernel describes its tracepoints.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoint: its number and where the value that is read stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedSwitch {
    pub id: u64,
    previous_state: usize,
}

impl SchedSwitch {
    /// Reads the description.
    pub fn read() -> io::Result<Self> {
        let [usual, older] = TRACEFS;
        Self::read_below(usual).or_else(|error| Self::read_below(older).map_err(|_| error))
    }

    fn read_below(root: &str) -> io::Result<Self> {
        let folder = format!("{root}/events/sched/sched_switch");
        let id = fs::read_to_string(format!("{folder}/id"))?;
        let id = id.trim().parse().map_err(io::Error::other)?;
        let format = fs::read_to_string(format!("{folder}/format"))?;
        let described = Self::parse(id, &format);
        described.ok_or_else(|| io::Error::other(format!("{folder}/format lacks a field")))
    }

    pub fn parse(id: u64, format: &str) -> Option<Self> {
        let offset = |name: &str| {
            let ends = format!(" {name}");
            let field = format.lines().find_map(|line| {
                let (field, rest) = line.trim().strip_prefix("field:")?.split_once(';')?;
                field.ends_with(&ends).then_some(rest)
            })?;
            let offset = field.split_once("offset:")?.1.split(';').next()?;
            offset.parse().ok()
        };
        Some(Self {
            id,
            previous_state: offset("prev_state")?,
        })
    }

    /// Reads from what a sample holds of a switch whether the thread that ran before has ended.
    pub fn thread_ended(&self, raw: &[u8]) -> Option<bool> {
        /// EXIT_DEAD and EXIT_ZOMBIE of the kernel.
        const ENDED: u64 = 0x30;
        let state = raw.get(self.previous_state..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*state) & ENDED != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "format:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";

    #[test]
    fn a_state_stands_where_the_kernel_says() {
        let described = SchedSwitch::parse(7, FORMAT).unwrap();
        let mut raw = [0; 64];
        assert_eq!(described.thread_ended(&raw), Some(false));
        raw[32] = 0x20;
        assert_eq!(described.thread_ended(&raw), Some(true));
        assert_eq!(described.thread_ended(&raw[..38]), None);
        assert_eq!(SchedSwitch::parse(7, "nothing"), None);
    }
}
