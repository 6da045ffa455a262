//! The tracepoint `sched:sched_switch`: a processor goes from one thread to another.

use std::{fs, io};

/// Where the kernel describes its tracepoints.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoint: its number and where its values stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedSwitch {
    pub id: u64,
    previous: usize,
    previous_state: usize,
    next: usize,
}

/// One switch. Threads have the numbers that they have outside of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switch {
    pub previous: i32,
    /// Whether the thread before has ended.
    pub previous_ended: bool,
    pub next: i32,
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
            previous: offset("prev_pid")?,
            previous_state: offset("prev_state")?,
            next: offset("next_pid")?,
        })
    }

    /// Reads a switch from what a sample holds of it.
    pub fn switch(&self, raw: &[u8]) -> Option<Switch> {
        /// EXIT_DEAD and EXIT_ZOMBIE of the kernel.
        const ENDED: u64 = 0x30;
        let id = |at: usize| Some(i32::from_ne_bytes(*raw.get(at..)?.first_chunk()?));
        let state = raw.get(self.previous_state..)?.first_chunk()?;
        Some(Switch {
            previous: id(self.previous)?,
            previous_ended: u64::from_ne_bytes(*state) & ENDED != 0,
            next: id(self.next)?,
        })
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
    fn values_stand_where_the_kernel_says() {
        let described = SchedSwitch::parse(7, FORMAT).unwrap();
        let mut raw = [0; 64];
        raw[24..28].copy_from_slice(&5_i32.to_ne_bytes());
        raw[32] = 0x20;
        raw[56..60].copy_from_slice(&6_i32.to_ne_bytes());
        let switch = Switch {
            previous: 5,
            previous_ended: true,
            next: 6,
        };
        assert_eq!(described.switch(&raw), Some(switch));
        assert_eq!(described.switch(&raw[..58]), None);
        assert_eq!(SchedSwitch::parse(7, "nothing"), None);
    }
}
