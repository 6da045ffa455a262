//! How the programs of trials are started: priority, processors, memory nodes, address layout, user, limits, size of the environment.
//!
//! In: the `process.*` settings that stand for a study. Out: what a new process does to itself between its making and its program.
//! Without any, a program is started in the quickest way; monitors and what puts a host back are always started plainly.

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command as Process;
use std::sync::Arc;

use backsight_settings::{CpuList, ProcessAttribute, SchedulerClass, SettingValue};
use nix::libc;

use crate::trial_user::TrialUser;

/// The variable that makes an environment longer.
const PADDING: &str = "BACKSIGHT_PADDING";
/// A random size is below this many bytes: within it the stack begins at each place of a page.
const PAGE: usize = 4096;

/// What a new process sets of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LaunchConditions {
    of_process: Arc<ProcessConditions>,
    environment: Option<EnvironmentSize>,
    /// One of both in each trial.
    is_aslr_random: bool,
    user: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ProcessConditions {
    /// Files of control groups to become a member of.
    groups: Vec<CString>,
    nice: Option<i32>,
    scheduler: Option<libc::c_int>,
    priority: Option<libc::c_int>,
    cpus: Option<Vec<u64>>,
    /// The mode of set_mempolicy(2) and its nodes.
    memory: Option<(libc::c_int, Vec<u64>)>,
    aslr: Option<bool>,
    /// How many bytes its core file may have.
    core_limit: Option<u64>,
    /// Number and groups, its own first.
    user: Option<(u32, Vec<u32>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnvironmentSize {
    Bytes(usize),
    Random,
}

impl LaunchConditions {
    /// Those of settings, each checked when it was resolved.
    pub(crate) fn new<'a>(
        settings: impl IntoIterator<Item = (ProcessAttribute, &'a SettingValue)>,
    ) -> Self {
        let mut it = ProcessConditions::default();
        let (mut environment, mut user, mut is_aslr_random) = (None, None, false);
        for (attribute, value) in settings {
            let text = value.to_string();
            let bits = || CpuList::parse(&text).unwrap_or_default().bits();
            match attribute {
                ProcessAttribute::Nice => it.nice = text.parse().ok(),
                ProcessAttribute::Scheduler => {
                    it.scheduler = SchedulerClass::parse(&text).map(number_of);
                }
                ProcessAttribute::Priority => it.priority = text.parse().ok(),
                ProcessAttribute::Cpus => it.cpus = Some(bits()),
                ProcessAttribute::MemoryBind => it.memory = Some((libc::MPOL_BIND, bits())),
                ProcessAttribute::MemoryInterleave => {
                    it.memory = Some((libc::MPOL_INTERLEAVE, bits()));
                }
                ProcessAttribute::Aslr => match text.as_str() {
                    "random" => is_aslr_random = true,
                    text => it.aslr = Some(text == "on"),
                },
                ProcessAttribute::User => user = Some(text),
                ProcessAttribute::EnvironmentSize => {
                    let bytes = text.parse().map(EnvironmentSize::Bytes);
                    environment = Some(bytes.unwrap_or(EnvironmentSize::Random));
                }
            }
        }
        Self {
            of_process: Arc::new(it),
            environment,
            is_aslr_random,
            user,
        }
    }

    /// Those of one trial: what is drawn at random is drawn, the same for the same trial of the same study, and given back by the
    /// settings' names.
    pub(crate) fn drawn(mut self, study: &str, trial: &str) -> (Self, Vec<(String, String)>) {
        let mut drawn = Vec::new();
        if self.is_aslr_random {
            let hash = blake3::hash(format!("aslr\0{study}\0{trial}").as_bytes());
            let is_on = hash.as_bytes()[0] & 1 == 1;
            Arc::make_mut(&mut self.of_process).aslr = Some(is_on);
            let word = if is_on { "on" } else { "off" };
            drawn.push(("process.aslr".to_owned(), word.to_owned()));
        }
        if self.environment == Some(EnvironmentSize::Random)
            && let Some((_, padding)) = self.padding(study, trial)
        {
            let size = padding.len().to_string();
            drawn.push(("process.environment-size".to_owned(), size));
        }
        (self, drawn)
    }

    /// The user that is asked for: a name, or `fresh`.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Starts programs as this user.
    pub(crate) fn run_as(&mut self, user: &TrialUser) {
        let conditions = Arc::make_mut(&mut self.of_process);
        conditions.user = Some((user.uid, user.groups.clone()));
    }

    /// Starts programs as members of these control groups, by the files that take members.
    pub(crate) fn join(&mut self, groups: Vec<CString>) {
        Arc::make_mut(&mut self.of_process).groups = groups;
    }

    /// Lets programs leave core files of so many bytes, where their hard limit does.
    pub(crate) fn limit_core_files(&mut self, bytes: u64) {
        Arc::make_mut(&mut self.of_process).core_limit = Some(bytes);
    }

    /// The variable that makes the environment of a trial longer; the same for the same trial of the same study.
    pub(crate) fn padding(&self, study: &str, trial: &str) -> Option<(String, String)> {
        let bytes = match self.environment? {
            EnvironmentSize::Bytes(bytes) => bytes,
            EnvironmentSize::Random => {
                let hash = blake3::hash(format!("{study}\0{trial}").as_bytes());
                let [low, high, ..] = *hash.as_bytes();
                usize::from(u16::from_le_bytes([low, high])) % PAGE
            }
        };
        Some((PADDING.to_owned(), "x".repeat(bytes)))
    }

    /// Gives them to a process that will be started.
    pub(crate) fn give_to(&self, process: &mut Process) {
        if *self.of_process == ProcessConditions::default() {
            return;
        }
        let conditions = Arc::clone(&self.of_process);
        // SAFETY: between fork and exec only system calls are made on memory that was there before.
        unsafe { process.pre_exec(move || conditions.set()) };
    }
}

impl ProcessConditions {
    /// Sets them of the calling process. Makes nothing but system calls.
    fn set(&self) -> io::Result<()> {
        for group in &self.groups {
            // SAFETY: the path ends with a zero, and one byte is read there.
            unsafe {
                let file = libc::open(group.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                checked(file.into())?;
                let written = libc::write(file, c"0".as_ptr().cast(), 1);
                libc::close(file);
                checked(written as libc::c_long)?;
            }
        }
        if let Some(nice) = self.nice {
            // SAFETY: takes numbers.
            checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) }.into())?;
        }
        if let Some(class) = self.scheduler {
            let is_real_time = class == libc::SCHED_FIFO || class == libc::SCHED_RR;
            // The kernel's `struct sched_param`.
            let priority: libc::c_int = match is_real_time {
                true => self.priority.unwrap_or(1),
                false => 0,
            };
            // The C library's function is missing in musl.
            // SAFETY: the kernel reads one int there.
            checked(unsafe {
                libc::syscall(
                    libc::SYS_sched_setscheduler,
                    0,
                    class,
                    std::ptr::from_ref(&priority),
                )
            })?;
        }
        if let Some(cpus) = &self.cpus {
            // SAFETY: the kernel reads so many bytes there.
            checked(unsafe {
                libc::syscall(
                    libc::SYS_sched_setaffinity,
                    0,
                    size_of_val(cpus.as_slice()),
                    cpus.as_ptr(),
                )
            })?;
        }
        if let Some((mode, nodes)) = &self.memory {
            let bits = nodes.len() * 64 + 1;
            // SAFETY: the kernel reads one bit less than it is told there.
            checked(unsafe {
                libc::syscall(libc::SYS_set_mempolicy, *mode, nodes.as_ptr(), bits)
            })?;
        }
        if let Some(aslr) = self.aslr {
            // SAFETY: takes and gives numbers.
            let now = unsafe { libc::personality(0xffff_ffff) };
            checked(now.into())?;
            let flag = libc::ADDR_NO_RANDOMIZE;
            let wanted = match aslr {
                true => now & !flag,
                false => now | flag,
            };
            // SAFETY: as above.
            checked(unsafe { libc::personality(wanted.cast_unsigned().into()) }.into())?;
        }
        if let Some(bytes) = self.core_limit {
            let mut limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: the kernel writes and reads one `rlimit` there.
            unsafe {
                checked(libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit).into())?;
                limit.rlim_cur = bytes.min(limit.rlim_max);
                checked(libc::setrlimit(libc::RLIMIT_CORE, &raw const limit).into())?;
            }
        }
        // Last: what comes before it may need root. By the kernel's own calls: the C library's would change other threads too.
        if let Some((uid, groups)) = &self.user {
            let gid = groups.first().copied().unwrap_or(*uid);
            // SAFETY: the kernel reads so many numbers there.
            unsafe {
                checked(libc::syscall(
                    libc::SYS_setgroups,
                    groups.len(),
                    groups.as_ptr(),
                ))?;
                checked(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
                checked(libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid))?;
            }
        }
        Ok(())
    }
}

fn checked(returned: libc::c_long) -> io::Result<()> {
    match returned {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn number_of(class: SchedulerClass) -> libc::c_int {
    match class {
        SchedulerClass::Other => libc::SCHED_OTHER,
        SchedulerClass::Batch => libc::SCHED_BATCH,
        SchedulerClass::Idle => libc::SCHED_IDLE,
        SchedulerClass::Fifo => libc::SCHED_FIFO,
        SchedulerClass::RoundRobin => libc::SCHED_RR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SettingValue {
        SettingValue::Text(text.into())
    }

    #[test]
    fn a_program_is_started_as_the_settings_say() {
        let values = [
            (ProcessAttribute::Nice, SettingValue::Integer(7)),
            (ProcessAttribute::Scheduler, text("batch")),
            (ProcessAttribute::Cpus, text("0")),
            (ProcessAttribute::Aslr, text("off")),
        ];
        let conditions = LaunchConditions::new(values.iter().map(|(it, value)| (*it, value)));
        let mut process = Process::new("/bin/sh");
        process.args([
            "-c",
            "cat /proc/self/stat /proc/self/status /proc/self/personality",
        ]);
        conditions.give_to(&mut process);
        let said = process.output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout);
        let fields: Vec<&str> = said.lines().next().unwrap().split(' ').collect();
        // proc_pid_stat(5), from 1: nice is the 19th, policy the 41st.
        assert_eq!((fields[18], fields[40]), ("7", "3"), "{said}");
        assert!(said.contains("Cpus_allowed_list:\t0\n"), "{said}");
        assert!(said.trim_end().ends_with("00040000"), "{said}");
    }

    #[test]
    fn memory_nodes_are_the_kernels_to_refuse() {
        let start = |node: &str| {
            let value = text(node);
            let conditions = LaunchConditions::new([(ProcessAttribute::MemoryBind, &value)]);
            let mut process = Process::new("/bin/true");
            conditions.give_to(&mut process);
            process.status()
        };
        // A kernel without the call, or a container that forbids it, says so for both.
        if let Ok(status) = start("0") {
            assert!(status.success());
        }
        assert!(start("1000").is_err());
    }

    #[test]
    fn a_random_layout_is_one_of_both_in_each_trial_and_the_same_when_asked_again() {
        let random = text("random");
        let conditions = LaunchConditions::new([(ProcessAttribute::Aslr, &random)]);
        let drawn = |trial: &str| {
            let (conditions, drawn) = conditions.clone().drawn("a", trial);
            assert_eq!(drawn[0].0, "process.aslr");
            assert_eq!(conditions.of_process.aslr, Some(drawn[0].1 == "on"));
            drawn[0].1.clone()
        };
        let trials: Vec<String> = (0..64).map(|trial| drawn(&trial.to_string())).collect();
        let on = trials.iter().filter(|word| *word == "on").count();
        assert!((16..48).contains(&on), "{trials:?}");
        assert_eq!(drawn("7"), trials[7]);
        let on = text("on");
        let conditions = LaunchConditions::new([(ProcessAttribute::Aslr, &on)]);
        assert_eq!(conditions.drawn("a", "1").1, []);
    }

    #[test]
    fn a_random_size_is_another_one_in_each_trial_and_the_same_when_asked_again() {
        let random = text("random");
        let conditions = LaunchConditions::new([(ProcessAttribute::EnvironmentSize, &random)]);
        let size = |trial: &str| conditions.padding("a", trial).unwrap().1.len();
        let sizes: Vec<usize> = (0..50).map(|trial| size(&trial.to_string())).collect();
        let mut distinct = sizes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 40 && sizes.iter().all(|size| *size < 4096));
        assert_eq!(size("7"), sizes[7]);
        let fixed = SettingValue::Text("100".into());
        let conditions = LaunchConditions::new([(ProcessAttribute::EnvironmentSize, &fixed)]);
        assert_eq!(conditions.padding("a", "1").unwrap().1.len(), 100);
        assert_eq!(LaunchConditions::default().padding("a", "1"), None);
    }
}
