//! Names for what was collected: each address once, at the end.

use std::collections::HashMap;

use backsight_profile::{Module, Profile, ProfileBuilder, ProfileFrame, ProfileHead, Sample};

use crate::{
    collector::{CodeModule, Collector},
    kernel_symbols::{self, KernelFunction},
    perf_map::PerfMap,
    stack_store::{CodeAddress, StackId},
};

/// The one frame of all stacks that there was no room for.
const MORE_STACKS: &str = "[more stacks than are kept]";
/// Module of frames that are of no file.
const UNKNOWN: &str = "[unknown]";
const KERNEL: &str = "[kernel]";
/// The kernel's thread for processors that have nothing to do.
const IDLE_THREAD: u32 = 0;

/// Makes the profile, and says why functions of the kernel have no names, if so.
pub(crate) fn make_profile(collector: &Collector, head: ProfileHead) -> (Profile, Option<String>) {
    let mut namer = Namer {
        collector,
        builder: ProfileBuilder::new(head),
        kernel: HashMap::new(),
        perf_maps: HashMap::new(),
        frames: HashMap::new(),
    };
    let nameless = namer.find_kernel_functions();
    let threads = collector.processes.threads();
    let mut stacks = HashMap::new();
    for (stack, thread, weight) in collector.stacks.weights() {
        let thread = &threads[thread as usize];
        if thread.tid == IDLE_THREAD && namer.is_idle(stack) {
            continue;
        }
        let sample = Sample {
            stack: *stacks
                .entry(stack)
                .or_insert_with(|| namer.add_stack(stack)),
            thread: namer.builder.add_thread(thread.clone()),
            weight: weight.weight,
            cpu: weight.cpu,
            first_ns: weight.first_ns,
        };
        namer.builder.add_sample(sample);
    }
    (namer.builder.finish(), nameless)
}

struct Namer<'a> {
    collector: &'a Collector,
    builder: ProfileBuilder,
    kernel: HashMap<u64, KernelFunction>,
    perf_maps: HashMap<i32, PerfMap>,
    frames: HashMap<CodeAddress, u32>,
}

impl Namer<'_> {
    fn find_kernel_functions(&mut self) -> Option<String> {
        let is_kernel = |module: &CodeModule| matches!(module, CodeModule::Kernel);
        let kernel = self.collector.modules().iter().position(is_kernel)?;
        let addresses = self.collector.stacks.addresses_of(kernel as u32).collect();
        match kernel_symbols::find(addresses) {
            Ok(Some(functions)) => {
                self.kernel = functions;
                None
            }
            Ok(None) => {
                let setting = "/proc/sys/kernel/kptr_restrict";
                let value = std::fs::read_to_string(setting).unwrap_or_default();
                Some(format!("{setting} is {}", value.trim()))
            }
            Err(error) => Some(format!("/proc/kallsyms: {error}")),
        }
    }

    /// Whether a stack of the idle thread is one of a processor that has nothing to do, and not of an interrupt's work. Where the
    /// kernel's functions have no names, all are.
    fn is_idle(&self, stack: StackId) -> bool {
        let addresses = self.collector.stacks.addresses(stack).unwrap_or_default();
        let leaf = addresses.last().and_then(|it| self.kernel.get(&it.address));
        leaf.is_none_or(|function| {
            let words = ["idle", "halt", "mwait", "cpu_startup_entry"];
            words.iter().any(|word| function.name.contains(word))
        })
    }

    fn add_stack(&mut self, stack: StackId) -> u32 {
        let frames = match self.collector.stacks.addresses(stack) {
            Some(addresses) => addresses.into_iter().map(|it| self.frame(it)).collect(),
            None => vec![self.add_frame(MORE_STACKS.to_owned(), UNKNOWN.to_owned(), String::new())],
        };
        self.builder.add_stack(&frames)
    }

    fn frame(&mut self, code: CodeAddress) -> u32 {
        if let Some(known) = self.frames.get(&code) {
            return *known;
        }
        let address = code.address;
        let modules = self.collector.modules();
        let (function, path, build_id) = match &modules[code.module as usize] {
            CodeModule::Kernel => match self.kernel.get(&address) {
                Some(function) => (
                    Some(function.name.clone()),
                    function.module.clone(),
                    String::new(),
                ),
                None => (None, KERNEL.to_owned(), String::new()),
            },
            CodeModule::Image(path, image) => {
                let function = image.function(address);
                let name = function.map(|it| String::from_utf8_lossy(it.name()).into_owned());
                let path = String::from_utf8_lossy(path).into_owned();
                (name, path, image.build_id())
            }
            CodeModule::Memory(pid, start, path) => {
                let map = self.perf_maps.entry(*pid);
                let map = map.or_insert_with(|| PerfMap::read(*pid));
                let name = map.function(start + address).map(str::to_owned);
                let path = match &path[..] {
                    b"" | b"//anon" => "[anon]".to_owned(),
                    path => String::from_utf8_lossy(path).into_owned(),
                };
                (name, path, String::new())
            }
            CodeModule::Unknown => (Some(UNKNOWN.to_owned()), UNKNOWN.to_owned(), String::new()),
        };
        let function = function.unwrap_or_else(|| {
            let module = path.rsplit('/').next().unwrap_or(&path);
            format!("[{}+{address:#x}]", module.trim_matches(['[', ']']))
        });
        let frame = self.add_frame(function, path, build_id);
        self.frames.insert(code, frame);
        frame
    }

    fn add_frame(&mut self, function: String, path: String, build_id: String) -> u32 {
        let module = self.builder.add_module(Module { path, build_id });
        self.builder.add_frame(ProfileFrame::new(function, module))
    }
}
