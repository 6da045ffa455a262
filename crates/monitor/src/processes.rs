//! What the watched processes have used: sums over all of them, which only grow for counters.
//!
//! Processor time, page faults and input and output of a process that was waited for are in its parent's numbers, which the kernel
//! adds up; so they are right however short a process lived. All else is seen only as samples are taken, and what a thread did after the last
//! sample before its end is missing. A sample without any process therefore has none of it: a rate is then one of the time in which
//! there was something to see, and says nothing of how long that was.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    files::KernelFile,
    process_tree::{Members, for_each_task},
    sampler::{ProcessTree, Sampler, SamplerError, Scratch},
    series::Series,
    shape::{NamePart, number, words},
};

/// Fields of /proc/PID/stat after the name, whose own and waited-for children's numbers are added (`man 5 proc_pid_stat`).
const FAMILY: &[(&str, usize, usize)] = &[
    ("minor_faults", 7, 8),
    ("major_faults", 9, 10),
    ("user", 11, 13),
    ("system", 12, 14),
];
const THREADS: usize = 17;
const RSS_PAGES: usize = 21;
/// The lines of /proc/PID/io, in the kernel's order.
const IO: &[&str] = &[
    "read_bytes",
    "write_bytes",
    "read_calls",
    "write_calls",
    "storage_read_bytes",
    "storage_write_bytes",
    "cancelled_write_bytes",
];
/// Numbers that a family adds up: those of stat and those of io.
const SUMS: usize = FAMILY.len() + IO.len();

/// What a thread is known by.
#[derive(Debug)]
struct Thread {
    tid: i32,
    status: KernelFile,
    voluntary: i64,
    involuntary: i64,
}

/// A process of which files are open.
#[derive(Debug)]
struct Process {
    stat: KernelFile,
    /// None where its owner is somebody else.
    io: Option<KernelFile>,
    threads: Vec<Thread>,
    of_root: bool,
    /// What io said last.
    last_io: [i64; IO.len()],
    cpu_ns: i64,
    /// In this sample.
    seen: bool,
}

/// A sum that grows, made of parts that are read one after the other. A process that ends meanwhile may be missing in one sample, as
/// neither it nor its parent has been read with it; what is missing for longer has gone unnoticed by any parent, and is added.
#[derive(Debug, Default, Clone, Copy)]
struct GrowingSum {
    offset: i64,
    told: i64,
    /// How much was missing in the last sample.
    missing: i64,
}

impl GrowingSum {
    fn update(&mut self, raw: i64) -> i64 {
        let mut missing = (self.told - raw - self.offset).max(0);
        let lost = missing.min(self.missing);
        self.offset += lost;
        missing -= lost;
        self.missing = missing;
        self.told = self.told.max(raw + self.offset);
        self.told
    }
}

/// The sampler of processes.
pub(crate) struct Processes {
    members: Members,
    root: Process,
    processes: BTreeMap<i32, Process>,
    sums: [GrowingSum; SUMS],
    /// What children of the root that have ended had read and written.
    ended_io: [i64; IO.len()],
    /// What ended threads and processes had counted.
    ended: Own,
    /// Where threads waited that couldn't be interrupted, and how many do now.
    waits: Vec<(Vec<u8>, i64)>,
    reads_io: bool,
}

/// What only the process or thread itself says.
#[derive(Debug, Default, Clone, Copy)]
struct Own {
    voluntary: i64,
    involuntary: i64,
    cpu_ns: i64,
}

impl Processes {
    /// # Errors
    /// There is nothing to watch.
    pub(crate) fn open(
        tree: Option<&ProcessTree>,
        scratch: &mut Scratch,
    ) -> Result<Self, SamplerError> {
        let members = Members::new(tree)?;
        let root = Process::open(members.tree().root, false)?;
        let reads_io = root.io.is_some();
        if !reads_io {
            let note = "without bytes and calls: the files /proc/PID/io are another user's";
            scratch.notes.push(note.into());
        }
        Ok(Self {
            members,
            root,
            processes: BTreeMap::new(),
            sums: [GrowingSum::default(); SUMS],
            ended_io: [0; IO.len()],
            ended: Own::default(),
            waits: Vec::new(),
            reads_io,
        })
    }
}

/// What is added up in one sample.
#[derive(Default)]
struct Totals {
    sums: [i64; SUMS],
    own: Own,
    count: i64,
    threads: i64,
    running: i64,
    blocked: i64,
    rss_pages: i64,
}

impl Sampler for Processes {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        let may_be_new = self.members.refresh(scratch)?;
        for (_, waiting) in &mut self.waits {
            *waiting = 0;
        }
        let mut totals = Totals::default();
        // What the root's children that it has waited for used is there, not in them.
        let with_root = self.members.tree().with_root;
        if !with_root {
            let text = self.root.stat.read(&mut scratch.bytes)?;
            let fields = StatFields::new(text);
            for (sum, (_, _, waited_for)) in totals.sums.iter_mut().zip(FAMILY) {
                *sum += fields.number(*waited_for);
            }
        }
        for member in self.members.members() {
            let process = match self.processes.entry(member.pid) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let Ok(process) = Process::open(member.pid, member.of_root) else {
                        continue;
                    };
                    entry.insert(process)
                }
            };
            process.sample(
                member.pid,
                may_be_new,
                &mut totals,
                &mut self.ended,
                &mut self.waits,
                scratch,
            );
        }
        let (ended, ended_io) = (&mut self.ended, &mut self.ended_io);
        self.processes.retain(|_, process| {
            if !process.seen {
                process.end(ended);
                if process.of_root && !with_root {
                    for (sum, last) in ended_io.iter_mut().zip(process.last_io) {
                        *sum += last;
                    }
                }
            }
            std::mem::take(&mut process.seen)
        });
        self.write(&mut totals, series);
        Ok(())
    }
}

impl Processes {
    fn write(&mut self, totals: &mut Totals, series: &mut Series) {
        for (sum, ended) in totals.sums[FAMILY.len()..].iter_mut().zip(self.ended_io) {
            *sum += ended;
        }
        let mut push = |name: &str, value| series.push(&[b"processes.", name.as_bytes()], value);
        let names = FAMILY
            .iter()
            .map(|(name, ..)| *name)
            .chain(IO.iter().copied());
        let sees_any = totals.count > 0;
        let told = match self.reads_io && sees_any {
            true => SUMS,
            false => FAMILY.len(),
        };
        for ((name, sum), raw) in names.zip(&mut self.sums).zip(totals.sums).take(told) {
            push(name, sum.update(raw));
        }
        push("count", totals.count);
        if !sees_any {
            return;
        }
        let own = &totals.own;
        push("cpu_ns", own.cpu_ns + self.ended.cpu_ns);
        push("voluntary_switches", own.voluntary + self.ended.voluntary);
        push(
            "involuntary_switches",
            own.involuntary + self.ended.involuntary,
        );
        push("threads", totals.threads);
        push("running", totals.running);
        push("blocked", totals.blocked);
        let page = i64::try_from(rustix::param::page_size()).unwrap_or(4096);
        push("rss_bytes", totals.rss_pages * page);
        for (name, waiting) in &self.waits {
            series.push(&[b"wchan.", name], *waiting);
        }
    }
}

impl Process {
    fn open(pid: i32, of_root: bool) -> Result<Self, SamplerError> {
        let io = KernelFile::open(format!("/proc/{pid}/io")).ok();
        Ok(Self {
            stat: KernelFile::open(format!("/proc/{pid}/stat"))?,
            // It can be opened by others, but not read.
            io: io.filter(|io| io.read(&mut Vec::new()).is_ok()),
            threads: Vec::new(),
            of_root,
            last_io: [0; IO.len()],
            cpu_ns: 0,
            seen: false,
        })
    }

    /// Adds what it says now. One that has ended isn't seen.
    fn sample(
        &mut self,
        pid: i32,
        may_have_threads: bool,
        totals: &mut Totals,
        ended: &mut Own,
        waits: &mut Vec<(Vec<u8>, i64)>,
        scratch: &mut Scratch,
    ) {
        let Ok(text) = self.stat.read(&mut scratch.bytes) else {
            return;
        };
        let fields = StatFields::new(text);
        self.seen = true;
        let threads = fields.number(THREADS);
        totals.count += 1;
        totals.threads += threads;
        totals.rss_pages += fields.number(RSS_PAGES);
        for (sum, (_, own, waited_for)) in totals.sums.iter_mut().zip(FAMILY) {
            *sum += fields.number(*own) + fields.number(*waited_for);
        }
        if let Some(cpu_ns) = process_cpu_ns(pid) {
            self.cpu_ns = cpu_ns;
        }
        totals.own.cpu_ns += self.cpu_ns;
        if let Some(io) = &self.io {
            if let Ok(text) = io.read(&mut scratch.bytes) {
                let lines = text.split(|byte| *byte == b'\n');
                for (last, line) in self.last_io.iter_mut().zip(lines) {
                    *last = words(line).nth(1).and_then(number).unwrap_or(*last);
                }
            }
            for (sum, last) in totals.sums[FAMILY.len()..].iter_mut().zip(self.last_io) {
                *sum += last;
            }
        }
        if may_have_threads || threads != i64::try_from(self.threads.len()).unwrap_or(0) {
            self.find_threads(pid);
        }
        self.threads.retain_mut(|thread| {
            let Ok(text) = thread.status.read(&mut scratch.bytes) else {
                thread.end(ended);
                return false;
            };
            let state = thread.update(text);
            totals.own.voluntary += thread.voluntary;
            totals.own.involuntary += thread.involuntary;
            match state {
                Some(b'R') => totals.running += 1,
                Some(b'D') => {
                    totals.blocked += 1;
                    add_wait(pid, thread.tid, waits);
                }
                _ => {}
            }
            true
        });
    }

    fn find_threads(&mut self, pid: i32) {
        for_each_task(pid, |tid| {
            if self.threads.iter().any(|thread| thread.tid == tid) {
                return;
            }
            if let Ok(status) = KernelFile::open(format!("/proc/{pid}/task/{tid}/status")) {
                self.threads.push(Thread {
                    tid,
                    status,
                    voluntary: 0,
                    involuntary: 0,
                });
            }
        });
    }

    /// Keeps what it had counted.
    fn end(&self, ended: &mut Own) {
        ended.cpu_ns += self.cpu_ns;
        for thread in &self.threads {
            thread.end(ended);
        }
    }
}

impl Thread {
    /// Reads its switches; its state is a letter.
    fn update(&mut self, status: &[u8]) -> Option<u8> {
        let mut state = None;
        for line in status.split(|byte| *byte == b'\n') {
            if let Some(rest) = line.strip_prefix(b"State:\t") {
                state = rest.first().copied();
            } else if let Some(rest) = line.strip_prefix(b"voluntary_ctxt_switches:\t") {
                self.voluntary = number(rest).unwrap_or(self.voluntary);
            } else if let Some(rest) = line.strip_prefix(b"nonvoluntary_ctxt_switches:\t") {
                self.involuntary = number(rest).unwrap_or(self.involuntary);
            }
        }
        state
    }

    fn end(&self, ended: &mut Own) {
        ended.voluntary += self.voluntary;
        ended.involuntary += self.involuntary;
    }
}

/// Counts where a thread waits.
fn add_wait(pid: i32, tid: i32, waits: &mut Vec<(Vec<u8>, i64)>) {
    let wait = std::fs::read(format!("/proc/{pid}/task/{tid}/wchan")).unwrap_or_default();
    // It goes on meanwhile, or it is another user's.
    if wait.is_empty() || wait == b"0" {
        return;
    }
    let name = NamePart::new(&wait);
    match waits.iter_mut().find(|(known, _)| known == name.as_bytes()) {
        Some((_, waiting)) => *waiting += 1,
        None => waits.push((name.as_bytes().to_vec(), 1)),
    }
}

/// The processor time of a process, its ended threads included.
fn process_cpu_ns(pid: i32) -> Option<i64> {
    // `make_process_cpuclock(pid, CPUCLOCK_SCHED)` of the kernel's posix-timers.h.
    let clock = (!pid << 3) | 2;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it writes the time that it is given.
    let known = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    known.then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// The fields of /proc/PID/stat after the name, which may have spaces and parentheses itself.
struct StatFields([i64; RSS_PAGES + 1]);

impl StatFields {
    fn new(text: &[u8]) -> Self {
        let name_end = text.iter().rposition(|byte| *byte == b')');
        let mut fields = [0; RSS_PAGES + 1];
        let words = words(&text[name_end.map_or(0, |at| at + 1)..]);
        for (field, word) in fields.iter_mut().zip(words) {
            // The state is a letter.
            *field = number(word).unwrap_or(0);
        }
        Self(fields)
    }

    fn number(&self, field: usize) -> i64 {
        self.0[field]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_moves_no_field() {
        let text = b"7 (a) b (c) S 1 7 7 0 -1 0 11 12 13 14 21 22 23 24 20 0 3 0 99 4096 77 0";
        let fields = StatFields::new(text);
        let numbers = [7, 8, 9, 10, 11, 12, 13, 14, THREADS, RSS_PAGES].map(|at| fields.number(at));
        assert_eq!(numbers, [11, 12, 13, 14, 21, 22, 23, 24, 3, 77]);
    }

    #[test]
    fn a_sum_never_shrinks_and_forgets_no_loss_that_stays() {
        let mut sum = GrowingSum::default();
        // Missing in one sample, and back in its parent in the next one.
        let told: Vec<i64> = [10, 4, 12].map(|raw| sum.update(raw)).into();
        assert_eq!(told, [10, 10, 12]);
        // Gone for good: what comes from now on is added.
        let told: Vec<i64> = [5, 6, 9].map(|raw| sum.update(raw)).into();
        assert_eq!(told, [12, 12, 15]);
    }
}
