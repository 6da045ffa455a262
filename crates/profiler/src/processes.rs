//! Processes while they are profiled: which of them are watched, what is mapped in them, what they are called. Also of those that have
//! ended since, as far as samples of them are still to come.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs,
    sync::Arc,
};

use backsight_profile::Thread;
use backsight_stack_unwinder::{AddressSpace, Image, ImageCache, MappedFile};

use crate::code_reader::CodeReader;

/// How many processes stay known after their end: samples of other threads come later, and a number is used anew only after
/// thousands of others.
const ENDED_MOST: usize = 256;
/// Most mappings of a process; the kernel's own limit, `vm.max_map_count`, is about the same.
const MAPPED_MOST: usize = 1 << 16;
/// Most threads that are told apart.
const THREADS_MOST: usize = 1 << 16;
/// The name of threads that aren't told apart any more.
const MORE_THREADS: &str = "[more threads than are kept]";

/// Which processes are watched.
#[derive(Debug, Clone)]
pub enum ProfiledProcesses {
    /// All, and the kernel's own threads.
    Machine,
    /// Some, with all that they start.
    Some {
        /// These, and what descends from them.
        roots: Vec<i32>,
        /// What descends from this one, but not the process itself.
        children_of: Option<i32>,
        /// Whether a process is left out, with what it starts.
        excludes: fn(i32) -> bool,
    },
}

impl ProfiledProcesses {
    /// What descends from a process, but for those that are left out with what they start.
    #[must_use]
    pub fn children_of(parent: i32, excludes: fn(i32) -> bool) -> Self {
        Self::Some {
            roots: Vec::new(),
            children_of: Some(parent),
            excludes,
        }
    }
}

/// A process.
#[derive(Default)]
pub(crate) struct Process {
    /// Whether it descends from what is watched.
    selected: bool,
    /// Whether it is watched; none until a sample of it comes.
    watched: Option<bool>,
    /// What can be executed in it, shared with its parent until something changes.
    mapped: Arc<Vec<MappedFile>>,
    /// The same for unwinding, once a sample came.
    memory: Option<ProcessMemory>,
}

/// The memory of a process, as far as unwinding needs it.
#[derive(Default)]
pub(crate) struct ProcessMemory {
    pub space: AddressSpace,
    pub code: CodeReader,
}

impl ProcessMemory {
    fn map(&mut self, mapped: MappedFile, image: Option<Arc<Image>>) {
        self.code.map(mapped.range.clone());
        self.space.map(mapped, image);
    }
}

/// All processes.
pub(crate) struct Processes {
    which: ProfiledProcesses,
    processes: HashMap<i32, Process>,
    ended: VecDeque<i32>,
    images: ImageCache,
    /// What the kernel maps into every process.
    vdso: Option<Arc<Image>>,
    /// Names of threads that run.
    names: HashMap<i32, String>,
    /// Positions in `threads` of threads that have samples and run.
    positions: HashMap<i32, u32>,
    threads: Vec<Thread>,
}

impl Processes {
    pub fn new(which: ProfiledProcesses) -> Self {
        let mut images = ImageCache::default();
        Self {
            which,
            processes: HashMap::new(),
            ended: VecDeque::new(),
            vdso: own_vdso(&mut images),
            images,
            names: HashMap::new(),
            positions: HashMap::new(),
            threads: Vec::new(),
        }
    }

    /// Learns of all processes that run already. Records that were written meanwhile are applied later, and change nothing then.
    pub fn read_running(&mut self) {
        let parents = parents();
        let mut selected: HashSet<i32> = match &self.which {
            ProfiledProcesses::Machine => parents.keys().copied().collect(),
            ProfiledProcesses::Some { roots, .. } => roots.iter().copied().collect(),
        };
        if let ProfiledProcesses::Some { children_of, .. } = &self.which {
            selected.extend(children_of);
            // Until a pass finds no more: parents needn't have smaller numbers.
            loop {
                let more: Vec<i32> = parents
                    .iter()
                    .filter(|(pid, parent)| selected.contains(parent) && !selected.contains(pid))
                    .map(|(pid, _)| *pid)
                    .collect();
                if more.is_empty() {
                    break;
                }
                selected.extend(more);
            }
        }
        for pid in selected {
            let mapped = MappedFile::all_executable(pid).unwrap_or_default();
            let process = Process {
                selected: true,
                mapped: Arc::new(mapped),
                ..Process::default()
            };
            self.processes.insert(pid, process);
        }
    }

    /// Whether samples of a process count.
    pub fn is_watched(&mut self, pid: i32) -> bool {
        let ProfiledProcesses::Some {
            children_of,
            excludes,
            ..
        } = &self.which
        else {
            return pid >= 0;
        };
        let Some(process) = self.processes.get_mut(&pid).filter(|it| it.selected) else {
            return false;
        };
        *process
            .watched
            .get_or_insert_with(|| Some(pid) != *children_of && !excludes(pid))
    }

    /// The memory of a process, for unwinding.
    pub fn memory(&mut self, pid: i32) -> &mut ProcessMemory {
        let process = self.processes.entry(pid).or_insert_with(|| Process {
            selected: true,
            mapped: Arc::new(MappedFile::all_executable(pid).unwrap_or_default()),
            ..Process::default()
        });
        let (images, vdso) = (&mut self.images, &self.vdso);
        process.memory.get_or_insert_with(|| {
            let mut memory = ProcessMemory {
                space: AddressSpace::default(),
                code: CodeReader::new(pid),
            };
            for mapped in process.mapped.iter() {
                let image = image(images, vdso, pid, mapped);
                memory.map(mapped.clone(), image);
            }
            memory
        })
    }

    /// Position of a thread among [`Self::threads`].
    pub fn thread(&mut self, pid: i32, tid: i32) -> u32 {
        if let Some(known) = self.positions.get(&tid) {
            return *known;
        }
        let (thread, is_last) = match self.threads.len() {
            THREADS_MOST.. => return THREADS_MOST as u32 - 1,
            known => {
                let mut name = |tid| {
                    let name = self.names.entry(tid);
                    name.or_insert_with(|| read_name(pid, tid)).clone()
                };
                let thread = Thread {
                    pid: pid.cast_unsigned(),
                    tid: tid.cast_unsigned(),
                    process: name(pid),
                    thread: name(tid),
                };
                (thread, known + 1 == THREADS_MOST)
            }
        };
        let position = self.threads.len() as u32;
        if is_last {
            self.threads.push(Thread {
                pid: 0,
                tid: 0,
                process: MORE_THREADS.to_owned(),
                thread: MORE_THREADS.to_owned(),
            });
        } else {
            self.threads.push(thread);
            self.positions.insert(tid, position);
        }
        position
    }

    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// Something was mapped.
    pub fn map(&mut self, pid: i32, mapped: MappedFile) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if let Some(memory) = &mut process.memory {
            let image = image(&mut self.images, &self.vdso, pid, &mapped);
            memory.map(mapped.clone(), image);
        }
        let all = Arc::make_mut(&mut process.mapped);
        // What it takes the place of; a library that is loaded again and again doesn't make the list longer.
        all.retain(|it| it.range.end <= mapped.range.start || it.range.start >= mapped.range.end);
        if all.len() < MAPPED_MOST {
            all.push(mapped);
        }
    }

    /// A thread has a name; where `by_exec`, its process has another program.
    pub fn name(&mut self, pid: i32, tid: i32, name: String, by_exec: bool) {
        if by_exec && let Some(process) = self.processes.get_mut(&pid) {
            process.mapped = Arc::default();
            process.memory = None;
            process.watched = None;
            // What it was before is another thread, by another name.
            self.positions.remove(&tid);
        }
        if let Some(position) = self.positions.get(&tid) {
            self.threads[*position as usize].thread.clone_from(&name);
        }
        if pid == tid {
            for position in self.positions.values() {
                let thread = &mut self.threads[*position as usize];
                if thread.pid == pid.cast_unsigned() {
                    thread.process.clone_from(&name);
                }
            }
        }
        if self.processes.contains_key(&pid) {
            self.names.insert(tid, name);
        }
    }

    /// A thread or a process began.
    pub fn fork(&mut self, pid: i32, tid: i32, parent_pid: i32, parent_tid: i32) {
        if pid != parent_pid {
            let is_root = matches!(self.which, ProfiledProcesses::Some { children_of, .. } if children_of == Some(parent_pid));
            let parent = self.processes.get(&parent_pid);
            let parent = parent.filter(|it| it.selected && (is_root || it.watched != Some(false)));
            let child = parent.map(|parent| Process {
                selected: true,
                mapped: Arc::clone(&parent.mapped),
                ..Process::default()
            });
            let before = match child {
                Some(child) => self.processes.insert(pid, child),
                None => self.processes.remove(&pid),
            };
            if before.is_some() {
                // Its number was that of another process.
                self.ended.retain(|ended| *ended != pid);
            }
        }
        self.positions.remove(&tid);
        match self.names.get(&parent_tid).cloned() {
            Some(name) if self.processes.contains_key(&pid) => self.names.insert(tid, name),
            _ => self.names.remove(&tid),
        };
    }

    /// A thread ended.
    pub fn exit(&mut self, pid: i32, tid: i32) {
        if pid == tid && self.processes.contains_key(&pid) {
            self.ended.push_back(pid);
        }
        if self.ended.len() > ENDED_MOST
            && let Some(oldest) = self.ended.pop_front()
        {
            self.processes.remove(&oldest);
            self.positions.remove(&oldest);
            self.names.remove(&oldest);
        }
        if pid != tid {
            self.positions.remove(&tid);
            self.names.remove(&tid);
        }
    }
}

fn image(
    images: &mut ImageCache,
    vdso: &Option<Arc<Image>>,
    pid: i32,
    mapped: &MappedFile,
) -> Option<Arc<Image>> {
    match &mapped.path[..] {
        b"[vdso]" => vdso.clone(),
        _ => images.load(pid, mapped, |_, _| Vec::new()),
    }
}

/// The image that the kernel maps into this process as into every other.
fn own_vdso(images: &mut ImageCache) -> Option<Arc<Image>> {
    let own = std::process::id().cast_signed();
    let mapped = MappedFile::all_executable(own).ok()?;
    let mapped = mapped.into_iter().find(|it| &it.path[..] == b"[vdso]")?;
    images.load(own, &mapped, |address, length| {
        let mut bytes = vec![0; length];
        let read = fs::File::open("/proc/self/mem").and_then(|memory| {
            use std::os::unix::fs::FileExt as _;
            memory.read_exact_at(&mut bytes, address)
        });
        read.map_or_else(|_| Vec::new(), |()| bytes)
    })
}

fn read_name(pid: i32, tid: i32) -> String {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    let name = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
    match (name.is_empty(), tid) {
        (true, 0) => "swapper".to_owned(),
        (true, _) => format!("[{tid}]"),
        (false, _) => name,
    }
}

/// Every process with its parent.
fn parents() -> HashMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let with_parent = |pid: i32| {
        let status = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // Behind the name, which may hold anything: its state, its parent.
        let behind = status.iter().rposition(|byte| *byte == b')')?;
        let behind = std::str::from_utf8(&status[behind + 1..]).ok()?;
        let parent = behind.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent))
    };
    pids.filter_map(with_parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children_of(parent: i32, excludes: fn(i32) -> bool) -> Processes {
        let mut processes = Processes::new(ProfiledProcesses::children_of(parent, excludes));
        let selected = Process {
            selected: true,
            ..Process::default()
        };
        processes.processes.insert(parent, selected);
        processes
    }

    #[test]
    fn who_descends_is_watched_but_for_who_is_left_out() {
        let mut processes = children_of(1, |pid| pid == 20);
        for (pid, parent) in [(10, 1), (20, 1), (30, 2)] {
            processes.fork(pid, pid, parent, parent);
        }
        let watched = [1, 10, 20, 30].map(|pid| processes.is_watched(pid));
        assert_eq!(watched, [false, true, false, false]);
        processes.fork(11, 11, 10, 10);
        processes.fork(21, 21, 20, 20);
        assert!(processes.is_watched(11) && !processes.is_watched(21));
        // Another process by the same number.
        processes.fork(11, 11, 2, 2);
        assert!(!processes.is_watched(11));
    }

    #[test]
    fn a_child_has_its_parents_memory_until_it_has_a_program_of_its_own() {
        let mut processes = children_of(1, |_| false);
        let mapped = |range| MappedFile {
            range,
            offset: 0,
            file: (0, 0, 0),
            path: Arc::from(&b"x"[..]),
        };
        processes.fork(10, 10, 1, 1);
        processes.map(10, mapped(10..20));
        processes.fork(11, 11, 10, 10);
        processes.map(11, mapped(15..30));
        let starts = |processes: &mut Processes, pid| {
            let space = &processes.memory(pid).space;
            [12, 17].map(|at| space.mapping(at).is_some())
        };
        assert_eq!(starts(&mut processes, 10), [true, true]);
        assert_eq!(starts(&mut processes, 11), [false, true]);
        processes.name(11, 11, "other".to_owned(), true);
        assert_eq!(starts(&mut processes, 11), [false, false]);
    }

    #[test]
    fn threads_have_the_names_that_they_have_at_last() {
        let mut processes = children_of(1, |_| false);
        processes.fork(10, 10, 1, 1);
        processes.name(10, 10, "program".to_owned(), true);
        processes.fork(10, 12, 10, 10);
        assert_eq!((processes.thread(10, 10), processes.thread(10, 12)), (0, 1));
        processes.name(10, 12, "worker".to_owned(), false);
        let names: Vec<_> = processes.threads().iter().map(|it| &it.thread).collect();
        assert_eq!(names, ["program", "worker"]);
        processes.exit(10, 12);
        assert_eq!(processes.thread(10, 12), 2, "another thread by this number");
    }

    #[test]
    fn the_kernels_own_image_is_found() {
        assert!(Processes::new(ProfiledProcesses::Machine).vdso.is_some());
    }
}
