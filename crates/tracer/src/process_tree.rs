//! Tree of traced processes: whose child each is, and the name of its program, known from events.

use std::collections::HashMap;

use backsight_syscall_decode::{
    CapturePoint, EventKind, SyscallOutcome, SyscallRecord, TraceEvent, table,
};

use crate::processes::shown_as;

/// The calls that say which program a process runs.
pub(crate) const PROGRAM_CALLS: [&str; 2] = ["execve", "execveat"];

/// The longest path that the kernel takes.
const PATH_MAX: usize = 4096;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessNode {
    /// Its number.
    pub pid: i32,
    /// Its parent's position in the tree, which is before its own; none of a process that the trace began with.
    pub parent: Option<usize>,
    /// The name of its program; empty where that isn't known.
    pub name: Vec<u8>,
    has_ended: bool,
}

/// Every process of a trace, also those that ended: a number that is given again is another process.
#[derive(Debug, Default)]
pub struct ProcessTree {
    nodes: Vec<ProcessNode>,
    current: HashMap<i32, usize>,
    threads: HashMap<i32, i32>,
    /// Whether what is traced runs now, so that it can be looked up.
    live: bool,
}

impl ProcessTree {
    /// No process yet; of one that runs now (`live`), its name is looked up.
    pub fn new(live: bool) -> Self {
        Self {
            live,
            ..Self::default()
        }
    }

    /// All of them, parents before children.
    pub fn nodes(&self) -> &[ProcessNode] {
        &self.nodes
    }

    /// Takes notice of an event: the position of its process.
    pub fn add(&mut self, event: &TraceEvent) -> usize {
        let node = match &event.kind {
            EventKind::Attached { parent } => self.attached(event, *parent),
            _ => self.node(event.pid),
        };
        self.threads.insert(event.tid, event.pid);
        match &event.kind {
            EventKind::Call(call) => {
                if let Some(name) = executed(call) {
                    self.nodes[node].name = name;
                }
            }
            EventKind::Exited { .. } | EventKind::Killed { .. } => {
                self.threads.remove(&event.tid);
                self.nodes[node].has_ended |= event.tid == event.pid;
            }
            EventKind::Superseded { .. } => {
                self.threads.remove(&event.tid);
            }
            _ => {}
        }
        node
    }

    fn attached(&mut self, event: &TraceEvent, parent: Option<i32>) -> usize {
        if event.tid != event.pid {
            return self.node(event.pid);
        }
        let known = self.current.get(&event.pid).copied();
        if let Some(known) = known.filter(|node| !self.nodes[*node].has_ended) {
            return known;
        }
        let parent = parent.and_then(|thread| self.threads.get(&thread).copied());
        let parent = parent.and_then(|pid| self.current.get(&pid).copied());
        let name = match parent {
            Some(parent) => self.nodes[parent].name.clone(),
            None => self.name_of_running(event.pid),
        };
        self.grow(event.pid, parent, name)
    }

    fn node(&mut self, pid: i32) -> usize {
        match self.current.get(&pid) {
            Some(node) => *node,
            None => {
                let name = self.name_of_running(pid);
                self.grow(pid, None, name)
            }
        }
    }

    fn grow(&mut self, pid: i32, parent: Option<usize>, name: Vec<u8>) -> usize {
        let place = self.nodes.len();
        self.nodes.push(ProcessNode {
            pid,
            parent,
            name,
            has_ended: false,
        });
        self.current.insert(pid, place);
        place
    }

    fn name_of_running(&self, pid: i32) -> Vec<u8> {
        if !self.live {
            return Vec::new();
        }
        let mut name = std::fs::read(format!("/proc/{}/comm", shown_as(pid))).unwrap_or_default();
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        name
    }
}

/// The name of the program that a process is from this call on.
fn executed(call: &SyscallRecord) -> Option<Vec<u8>> {
    let row = table::find_syscall(call.abi, call.number)?;
    let place = PROGRAM_CALLS.iter().position(|name| *name == row.name)?;
    if call.error().is_some() || call.outcome == SyscallOutcome::Open {
        return None;
    }
    let path = call
        .memory
        .at(call.arguments[place], PATH_MAX, CapturePoint::Entered)?;
    let path = path.split(|byte| *byte == 0).next()?;
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    (!name.is_empty()).then(|| name.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(pid: i32, tid: i32, kind: EventKind) -> TraceEvent {
        TraceEvent {
            pid,
            tid,
            at: 0,
            kind,
        }
    }

    #[test]
    fn a_number_that_is_given_again_is_another_process() {
        let mut tree = ProcessTree::new(false);
        let born = |parent| EventKind::Attached { parent };
        assert_eq!(tree.add(&event(1, 1, born(None))), 0);
        assert_eq!(tree.add(&event(2, 2, born(Some(1)))), 1);
        assert_eq!(tree.add(&event(2, 3, born(Some(2)))), 1);
        // A thread made this one.
        assert_eq!(tree.add(&event(4, 4, born(Some(3)))), 2);
        tree.add(&event(2, 2, EventKind::Exited { status: 0 }));
        assert_eq!(tree.add(&event(2, 2, born(Some(4)))), 3);
        let parents: Vec<_> = tree.nodes().iter().map(|node| node.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    }
}
