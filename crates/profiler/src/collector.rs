//! What is made of records: stacks with weights, and what it takes to name them later.

use std::{collections::HashMap, sync::Arc};

use backsight_stack_unwinder::{Image, Mapping, StackEnd};

use crate::{
    processes::{ProcessMemory, Processes, ProfiledProcesses},
    record::{Record, Sampled},
    sched_switch::SchedSwitch,
    stack_store::{CodeAddress, StackId, StackStore, Weight},
};

/// Addresses of a sample from here on are marks: of what kind those behind are.
const MARKS: u64 = -4095_i64 as u64;

/// Where code is.
#[derive(Debug, Clone)]
pub(crate) enum CodeModule {
    /// The kernel.
    Kernel,
    /// A program or library: path and image. Addresses are the image's own.
    Image(Arc<[u8]>, Arc<Image>),
    /// Memory that no program's file is mapped to, as compilers of running programs use it: process, start, and what is mapped.
    /// Addresses are offsets.
    Memory(i32, u64, Arc<[u8]>),
    /// Where nothing is mapped, as far as is known.
    Unknown,
}

/// By what a module is found again.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ModuleKey {
    Kernel,
    /// Where the image lies in this program's memory, which the module keeps.
    Image(usize),
    Memory(i32, u64),
    Unknown,
}

/// Modules that code was in.
#[derive(Default)]
struct Modules {
    modules: Vec<CodeModule>,
    index: HashMap<ModuleKey, u32>,
}

impl Modules {
    fn add(&mut self, key: ModuleKey, module: impl FnOnce() -> CodeModule) -> u32 {
        let modules = &mut self.modules;
        *self.index.entry(key).or_insert_with(|| {
            modules.push(module());
            modules.len() as u32 - 1
        })
    }

    fn of_mapping(&mut self, pid: i32, mapping: &Mapping) -> u32 {
        let mapped = &mapping.mapped;
        match &mapping.image {
            Some(image) => self.add(ModuleKey::Image(Arc::as_ptr(image).addr()), || {
                CodeModule::Image(Arc::clone(&mapped.path), Arc::clone(image))
            }),
            None => self.add(ModuleKey::Memory(pid, mapped.range.start), || {
                CodeModule::Memory(pid, mapped.range.start, Arc::clone(&mapped.path))
            }),
        }
    }
}

/// A thread that waits.
struct Waiting {
    stack: StackId,
    thread: u32,
    cpu: i32,
    since_ns: u64,
}

/// Everything that was collected.
pub(crate) struct Collector {
    pub processes: Processes,
    pub stacks: StackStore,
    modules: Modules,
    /// The tracepoint, where off-CPU time is what is collected.
    switches: Option<SchedSwitch>,
    /// Threads that wait, by their numbers.
    waiting: HashMap<i32, Waiting>,
    /// Threads that were sampled since the last switch of their processors; after records were lost there is nothing to know.
    sampled: HashMap<u32, Option<i32>>,
    /// Records that had no room, and samples of switches that the kernel didn't write.
    pub lost: u64,
    pub truncated: u64,
    /// The addresses of one sample, the innermost first.
    addresses: Vec<CodeAddress>,
}

impl Collector {
    pub fn new(which: ProfiledProcesses, switches: Option<SchedSwitch>) -> Self {
        Self {
            processes: Processes::new(which),
            stacks: StackStore::default(),
            modules: Modules::default(),
            switches,
            waiting: HashMap::new(),
            sampled: HashMap::new(),
            lost: 0,
            truncated: 0,
            addresses: Vec::new(),
        }
    }

    /// Whether samples hold what a tracepoint says.
    pub fn with_raw(&self) -> bool {
        self.switches.is_some()
    }

    pub fn modules(&self) -> &[CodeModule] {
        &self.modules.modules
    }

    /// Applies a record; those of all processors come in the order of their times.
    pub fn apply(&mut self, record: Record<'_>, time_ns: u64) {
        match record {
            Record::Mapped { pid, mapped } => self.processes.map(pid, mapped),
            Record::Named {
                pid,
                tid,
                name,
                by_exec,
            } => self.processes.name(pid, tid, name, by_exec),
            Record::Forked {
                pid,
                tid,
                parent_pid,
                parent_tid,
            } => self.processes.fork(pid, tid, parent_pid, parent_tid),
            Record::Exited { pid, tid } => self.processes.exit(pid, tid),
            Record::Lost(records) => {
                self.lost += records;
                // Ends of waiting may be among them: none is better than one that is too long.
                self.waiting.clear();
                self.sampled.clear();
            }
            Record::Switched {
                pid,
                tid,
                cpu,
                ends: true,
            } => self.check_sampled(pid, tid, cpu),
            Record::Switched { tid, .. } => {
                if let Some(waiting) = self.waiting.remove(&tid) {
                    self.end_wait(&waiting, time_ns);
                }
            }
            Record::Sampled(sampled) => self.apply_sample(&sampled, time_ns),
            Record::Other => {}
        }
    }

    /// Counts what still waits as if it ended now.
    pub fn end_waiting(&mut self, now_ns: u64) {
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            self.end_wait(&waiting, now_ns);
        }
    }

    fn apply_sample(&mut self, sampled: &Sampled<'_>, time_ns: u64) {
        let Some(switches) = &self.switches else {
            if self.processes.is_watched(sampled.pid) {
                let stack = self.add_stack(sampled);
                let thread = self.processes.thread(sampled.pid, sampled.tid);
                let weight = Weight {
                    weight: 1,
                    cpu: sampled.cpu.cast_signed(),
                    first_ns: time_ns,
                };
                self.stacks.add_weight(stack, thread, weight);
            }
            return;
        };
        let Some(ended) = switches.thread_ended(sampled.raw) else {
            return;
        };
        self.sampled.insert(sampled.cpu, Some(sampled.tid));
        // Nothing waits in a processor that has nothing to do.
        if sampled.tid > 0 && !ended && self.processes.is_watched(sampled.pid) {
            let waiting = Waiting {
                stack: self.add_stack(sampled),
                thread: self.processes.thread(sampled.pid, sampled.tid),
                cpu: sampled.cpu.cast_signed(),
                since_ns: time_ns,
            };
            self.waiting.insert(sampled.tid, waiting);
        }
    }

    /// Counts a switch without a sample as lost: the kernel drops events of a thread that it takes for being within another one.
    fn check_sampled(&mut self, pid: i32, tid: i32, cpu: u32) {
        let known = self.sampled.insert(cpu, None);
        let missing = known.is_some_and(|sampled| sampled != Some(tid));
        if missing && self.processes.is_watched(pid) {
            self.lost += 1;
        }
    }

    fn end_wait(&mut self, waiting: &Waiting, now_ns: u64) {
        let weight = Weight {
            weight: now_ns.saturating_sub(waiting.since_ns),
            cpu: waiting.cpu,
            first_ns: waiting.since_ns,
        };
        self.stacks
            .add_weight(waiting.stack, waiting.thread, weight);
    }

    fn add_stack(&mut self, sampled: &Sampled<'_>) -> StackId {
        let addresses = &mut self.addresses;
        let modules = &mut self.modules;
        addresses.clear();
        let (words, _) = sampled.kernel.as_chunks();
        let words = words.iter().map(|word| u64::from_ne_bytes(*word));
        let kernel = words.filter(|address| *address < MARKS);
        addresses.extend(kernel.enumerate().map(|(depth, address)| CodeAddress {
            module: modules.add(ModuleKey::Kernel, || CodeModule::Kernel),
            // Within the call, where its function surely is.
            address: address - u64::from(depth > 0),
        }));
        if let Some(user) = &sampled.user {
            let ProcessMemory { space, code } = self.processes.memory(sampled.pid);
            let end = if user.native {
                space.unwind(
                    user.registers,
                    &mut |address| user.read(address).or_else(|()| code.read(address)),
                    &mut |frame| {
                        addresses.push(CodeAddress {
                            module: modules.of_mapping(sampled.pid, frame.mapping),
                            address: frame.mapping.own_address(frame.within),
                        });
                    },
                )
            } else {
                let address = user.registers.instruction;
                addresses.extend(space.mapping(address).map(|mapping| CodeAddress {
                    module: modules.of_mapping(sampled.pid, mapping),
                    address: mapping.own_address(address),
                }));
                StackEnd::Truncated
            };
            self.truncated += u64::from(end != StackEnd::Root);
        }
        if addresses.is_empty() {
            addresses.push(CodeAddress {
                module: modules.add(ModuleKey::Unknown, || CodeModule::Unknown),
                address: 0,
            });
        }
        self.stacks.add_stack(addresses.iter().rev().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collector of what waits, and how to tell it of one thread's switches on one processor.
    struct Switches(Collector);

    impl Switches {
        fn new() -> Self {
            let described = SchedSwitch::parse(
                7,
                "\tfield:long prev_state;\toffset:0;\tsize:8;\tsigned:1;\n",
            );
            assert!(described.is_some());
            Self(Collector::new(ProfiledProcesses::Machine, described))
        }

        fn sample(&mut self, time_ns: u64) {
            let sampled = Sampled {
                pid: 5,
                tid: 5,
                cpu: 1,
                kernel: &[],
                raw: &1_u64.to_ne_bytes(),
                user: None,
            };
            self.0.apply(Record::Sampled(sampled), time_ns);
        }

        fn switch(&mut self, ends: bool, time_ns: u64) {
            let switched = Record::Switched {
                pid: 5,
                tid: 5,
                cpu: 1,
                ends,
            };
            self.0.apply(switched, time_ns);
        }

        fn waited_ns(&self) -> u64 {
            let weights = self.0.stacks.weights();
            weights.iter().map(|(_, _, weight)| weight.weight).sum()
        }
    }

    #[test]
    fn a_wait_lasts_from_its_sample_to_the_next_switch_to_its_thread() {
        let mut switches = Switches::new();
        for time in [100, 200] {
            switches.sample(time);
            switches.switch(true, time + 1);
            switches.switch(false, time + 30);
        }
        assert_eq!((switches.waited_ns(), switches.0.lost), (60, 0));
    }

    #[test]
    fn a_switch_without_its_sample_is_lost_but_not_where_a_record_was_lost_that_is_known() {
        let mut switches = Switches::new();
        // Its sample may be of before all.
        switches.switch(true, 1);
        assert_eq!(switches.0.lost, 0);
        switches.switch(false, 10);
        switches.switch(true, 20);
        assert_eq!(switches.0.lost, 1);
        switches.switch(false, 30);
        switches.0.apply(Record::Lost(2), 35);
        switches.switch(true, 40);
        assert_eq!(switches.0.lost, 3);
        switches.switch(false, 50);
        switches.sample(60);
        switches.switch(true, 61);
        assert_eq!(switches.0.lost, 3);
    }
}
