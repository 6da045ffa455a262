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
    /// Threads that wait, by their numbers outside of containers.
    waiting: HashMap<i32, Waiting>,
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
        let Some(switch) = switches.switch(sampled.raw) else {
            return;
        };
        if let Some(waiting) = self.waiting.remove(&switch.next) {
            self.end_wait(&waiting, time_ns);
        }
        // Nothing waits in a processor that has nothing to do.
        let waits = switch.previous > 0 && !switch.previous_ended;
        if waits && self.processes.is_watched(sampled.pid) {
            let waiting = Waiting {
                stack: self.add_stack(sampled),
                thread: self.processes.thread(sampled.pid, sampled.tid),
                cpu: sampled.cpu.cast_signed(),
                since_ns: time_ns,
            };
            self.waiting.insert(switch.previous, waiting);
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
