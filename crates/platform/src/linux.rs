//! Linux.

use std::{
    collections::BTreeMap,
    ffi::{CStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::ffi::OsStringExt as _,
    },
    path::{Path, PathBuf},
};

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc,
    mount::{MntFlags, umount2},
    sys::{
        signal::SigSet,
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::{SysconfVar, sysconf},
};
use rustix::{
    fs::{IFlags, inotify, ioctl_getflags, ioctl_setflags},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::{MachineCpuTime, Mount, Process};

/// A process, whoever gets its number after its end. Its descriptor can be read once the process has ended.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process that has this number now.
    ///
    /// # Errors
    /// There is none; `ENOSYS` before Linux 5.3.
    pub fn open(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Sends it SIGKILL.
    ///
    /// # Errors
    /// It is gone, or another user's.
    pub fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::KILL)?)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Signals that this process blocks, to be taken one by one. Its descriptor can be read when there is one.
#[derive(Debug)]
pub struct SignalQueue(SignalFd);

impl SignalQueue {
    /// Of these signals.
    ///
    /// # Errors
    /// The system's.
    pub fn new(signals: &SigSet) -> io::Result<Self> {
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self(SignalFd::with_flags(signals, flags)?))
    }

    /// The number of the next one; none if there is none now.
    pub fn take(&self) -> Option<i32> {
        let signal = self.0.read_signal().ok()??;
        i32::try_from(signal.ssi_signo).ok()
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sees when a file is written to. Its descriptor can be read then.
#[derive(Debug)]
pub struct FileWatch(OwnedFd);

impl FileWatch {
    /// Of this file.
    ///
    /// # Errors
    /// The kernel has no more watches; the file isn't there.
    pub fn new(path: &Path) -> io::Result<Self> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags)?;
        inotify::add_watch(&watch, path, inotify::WatchFlags::MODIFY)?;
        Ok(Self(watch))
    }

    /// Takes what was seen so far.
    pub fn take_events(&self) {
        let _all_taken_in = rustix::io::read(&self.0, &mut [0; 4096]);
    }
}

impl AsRawFd for FileWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Every process; those that end meanwhile may be missing.
pub fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(process).collect()
}

/// The process with this number.
pub fn process(pid: i32) -> Option<Process> {
    parse_process(&String::from_utf8_lossy(
        &fs::read(format!("/proc/{pid}/stat")).ok()?,
    ))
}

/// A line of `/proc/<pid>/stat` (proc_pid_stat(5)): the number, the name, and the fields behind it. The name stands in parentheses and
/// may itself contain some.
pub fn stat_fields(line: &str) -> Option<(i32, &str, Vec<&str>)> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    Some((
        pid.parse().ok()?,
        name,
        rest.split_ascii_whitespace().collect(),
    ))
}

fn parse_process(line: &str) -> Option<Process> {
    let (pid, name, fields) = stat_fields(line)?;
    Some(Process {
        pid,
        name: name.to_owned(),
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        ticks: (11..=14)
            .filter_map(|n| fields.get(n)?.parse::<u64>().ok())
            .sum(),
    })
}

/// The environment that a process was started with: `NAME=VALUE`, each ended by a zero. Empty where it can't be looked into.
pub fn environment(pid: i32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// Makes this process the parent of its descendants whose parents end.
///
/// # Errors
/// The system's.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// What to wait with (`wait4`, `waitid`), so that children are seen however they were made.
pub const ALL_CHILDREN: i32 = libc::__WALL;
/// What to wait with, so that only children of the calling thread are seen; none where threads have none of their own.
pub const CHILDREN_OF_THREAD: Option<i32> = Some(libc::__WNOTHREAD);

/// The most that the resident set of a child by fork may be before it becomes its program, in bytes: the kernel counts it as the program's.
///
/// A fork copies what was written to of our memory. `setmax_mm_hiwater_rss` in the kernel's `exec_mmap`; the fields of `statm` by
/// proc(5).
pub fn inherited_memory() -> u64 {
    /// What the child itself writes to until then, and what we do meanwhile.
    const LITTLE: u64 = 1 << 20;
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = pages.split(' ').skip(1).map(str::parse::<u64>);
    let (Some(Ok(resident)), Some(Ok(of_files))) = (pages.next(), pages.next()) else {
        return 0;
    };
    resident.saturating_sub(of_files) * rustix::param::page_size() as u64 + LITTLE
}

/// The largest number of a signal.
pub fn last_signal() -> i32 {
    libc::SIGRTMAX()
}

/// Whether the calling thread is its process's first one.
pub fn is_main_thread() -> bool {
    nix::unistd::gettid() == nix::unistd::getpid()
}

/// Gives this process another name, by which `pkill` finds it.
pub fn set_process_name(name: &CStr) {
    let _unnamed = nix::sys::prctl::set_name(name);
}

/// Lets any process of this user trace this one: where the system lets nobody trace but forebears (Yama), a process may say who
/// else may.
pub fn allow_tracing() {
    // SAFETY: the call takes numbers. A kernel without Yama refuses it, and needs no leave.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// Makes this thread one that wakes exactly: a real-time one where that is permitted, whose timers aren't put off.
pub fn become_real_time() {
    let _inexact_then = nix::sys::prctl::set_timerslack(1);
    schedule(libc::SCHED_FIFO, 1);
}

/// Makes this thread an ordinary one again.
pub fn become_ordinary() {
    schedule(libc::SCHED_OTHER, 0);
}

/// Sets how this thread is scheduled; without the right to, it stays as it was.
fn schedule(policy: i32, priority: i32) {
    // SAFETY: zeroes are a valid parameter, and the pointer is to a live one.
    unsafe {
        let mut parameter = std::mem::zeroed::<libc::sched_param>();
        parameter.sched_priority = priority;
        // Not by the C library's function, which musl doesn't have.
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameter,
        );
    }
}

/// Descriptors that this process may have open, the standard ones left out.
pub fn descriptors() -> Vec<RawFd> {
    let open = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    numbers.filter(|number| *number > 2).collect()
}

/// Lets a pipe hold this many bytes, if it may.
pub fn enlarge_pipe(pipe: impl AsFd, bytes: i32) {
    let _as_large_as_it_is = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(bytes));
}

/// Another path to an open folder, which is short.
///
/// # Errors
/// The system has none.
pub fn short_path(folder: &File) -> io::Result<PathBuf> {
    Ok(Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()))
}

/// Takes the flags away by which a file can't be changed or removed (`chattr +i`, `+a`); without the right to, they stay.
pub fn clear_immutable(file: impl AsFd) {
    const FIXED: IFlags = IFlags::IMMUTABLE.union(IFlags::APPEND);
    if let Ok(set) = ioctl_getflags(&file)
        && set.intersects(FIXED)
    {
        let _no_right = ioctl_setflags(&file, set - FIXED);
    }
}

/// The mounts that this process sees, in the order in which they were made.
pub fn mounts() -> Vec<Mount> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(parse_mount).collect()
}

/// Undoes a mount, at once for everybody who comes later.
///
/// # Errors
/// The system's.
pub fn unmount(point: &Path) -> io::Result<()> {
    let flags = MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW;
    Ok(umount2(point, flags)?)
}

/// A line of mountinfo (proc_pid_mountinfo(5)).
fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let root = unescaped(fields.nth(2)?);
    let point = unescaped(fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(Mount {
        id,
        root,
        point,
        kind: String::from_utf8_lossy(kind).into_owned(),
    })
}

/// A path without the kernel's escapes: `\040` is a blank.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let [first, after @ ..] = rest {
        let octal = (*first == b'\\')
            .then(|| std::str::from_utf8(after.get(..3)?).ok())
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(octal.unwrap_or(*first));
        rest = match octal {
            Some(_) => &after[3..],
            None => after,
        };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// How many processors of the machine run.
pub fn online_cpus() -> u32 {
    let online = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    online.map_or(1, |count| u32::try_from(count).unwrap_or(1))
}

/// What the machine's processors did since its boot.
pub fn machine_cpu_time() -> Option<MachineCpuTime> {
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
    parse_cpu_time(&fs::read_to_string("/proc/stat").ok()?, ticks)
}

/// The line `cpu user nice system idle iowait irq softirq steal guest guest_nice` (proc_stat(5)); what guests used is
/// in `user` and `nice` already.
fn parse_cpu_time(stat: &str, ticks: f64) -> Option<MachineCpuTime> {
    let fields: Vec<f64> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_ascii_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    let seconds = |n: usize| fields.get(n).map_or(0.0, |count| count / ticks);
    Some(MachineCpuTime {
        user: seconds(0) + seconds(1),
        system: seconds(2),
        idle: seconds(3) + seconds(4),
        interrupts: seconds(5) + seconds(6),
        steal: seconds(7),
    })
}

/// The kernel's id of this boot.
///
/// # Errors
/// It doesn't say it.
pub fn boot_id() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim().to_owned())
}

/// The machine's own id, if it has one.
pub fn machine_id() -> Option<String> {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
    let texts = files
        .into_iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let mut ids = texts.map(|text| text.trim().to_owned());
    ids.find(|id| !id.is_empty())
}

/// The machine's memory, in bytes.
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Facts about the machine that no file says; here files say all.
pub fn facts() -> BTreeMap<String, String> {
    BTreeMap::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_is_read_whole() {
        let line = "42 (a) b (c) S 7 40 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 0 0";
        let process = parse_process(line).unwrap();
        assert_eq!(
            (
                process.pid,
                process.parent,
                process.group,
                process.start_ticks
            ),
            (42, 7, 40, 12345)
        );
        assert_eq!(process.name, "a) b (c");
        assert!(!process.zombie);
    }

    #[test]
    fn a_mount_is_read_with_the_blanks_of_its_path() {
        let line = b"40 22 0:40 / /mnt/a\\040b rw,relatime shared:7 - tmpfs none rw";
        let mount = Mount {
            id: 40,
            root: "/".into(),
            point: "/mnt/a b".into(),
            kind: "tmpfs".into(),
        };
        assert_eq!(parse_mount(line), Some(mount));
        let part = parse_mount(b"30 22 0:26 /pods /mnt/part rw - cgroup2 none rw").unwrap();
        let said = [part.root, part.point, part.kind.into()];
        assert_eq!(said, ["/pods", "/mnt/part", "cgroup2"].map(PathBuf::from));
        assert_eq!(parse_mount(b"no mounts"), None);
        let as_it_is = unescaped(b"\\04 \\999 \\");
        assert_eq!(as_it_is, PathBuf::from("\\04 \\999 \\"));
    }

    #[test]
    fn the_first_line_of_stat_is_read_in_seconds() {
        let stat = "cpu  100 50 30 1000 200 3 7 5 40 0\ncpu0 1 1 1 1\n";
        let expected = MachineCpuTime {
            user: 1.5,
            system: 0.3,
            interrupts: 0.1,
            steal: 0.05,
            idle: 12.0,
        };
        assert_eq!(parse_cpu_time(stat, 100.0), Some(expected));
    }

    #[test]
    fn an_old_kernel_without_steal_is_read_too() {
        let read = parse_cpu_time("cpu  100 0 0 100\n", 100.0).unwrap();
        assert_eq!(read.steal, 0.0);
    }
}
