//! FreeBSD, 13 or later.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsString},
    fs::File,
    io,
    mem::{MaybeUninit, size_of},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    errno::Errno,
    libc,
    sys::signal::SigSet,
    unistd::{SysconfVar, sysconf},
};
use rustix::{
    event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, VnodeEvents, kevent, kqueue},
    process::{Pid, Signal, kill_process, set_reaper_status},
};

use crate::{MachineCpuTime, Mount, Process};

/// Facts by the names that Linux's have, and the kernel's variables (sysctl(8)) that say them.
const FACTS: &[(&str, &CStr)] = &[
    ("kernel.release", c"kern.osrelease"),
    ("kernel.version", c"kern.version"),
    ("cpu.model", c"hw.model"),
    ("clock.source", c"kern.timecounter.hardware"),
    ("net.tcp_congestion_control", c"net.inet.tcp.cc.algorithm"),
];

/// A queue that has an event of this kind, and says so by being readable.
fn watch(filters: impl IntoIterator<Item = EventFilter>) -> io::Result<OwnedFd> {
    let queue = kqueue()?;
    rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
    let flags = EventFlags::ADD | EventFlags::CLEAR;
    let event = |filter| Event::new(filter, flags, std::ptr::null_mut());
    let events: Vec<Event> = filters.into_iter().map(event).collect();
    // SAFETY: whoever watches a descriptor keeps it for as long as the queue.
    unsafe { kevent(&queue, &events, &mut [] as &mut [Event], None) }?;
    Ok(queue)
}

/// The next event of a queue; none if there is none now.
fn take(queue: &OwnedFd) -> Option<Event> {
    let mut events = Vec::with_capacity(1);
    let into = rustix::buffer::spare_capacity(&mut events);
    // SAFETY: no descriptor is given.
    unsafe { kevent(queue, &[], into, Some(Duration::ZERO)) }.ok()?;
    events.pop()
}

/// A process, whoever gets its number after its end. Its descriptor can be read once the process has ended.
#[derive(Debug)]
pub struct ProcessHandle {
    pid: Pid,
    start_ticks: u64,
    end: OwnedFd,
}

impl ProcessHandle {
    /// The process that has this number now.
    ///
    /// # Errors
    /// There is none.
    pub fn open(pid: i32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        let flags = ProcessEvents::EXIT;
        let end = watch([EventFilter::Proc { pid, flags }])?;
        let process = process(pid.as_raw_pid()).ok_or(Errno::ESRCH)?;
        Ok(Self {
            pid,
            start_ticks: process.start_ticks,
            end,
        })
    }

    /// Sends it SIGKILL. Between the look at who has its number and the signal another process may get it: the system has no
    /// signal to less than a number.
    ///
    /// # Errors
    /// It is gone, or another user's.
    pub fn kill(&self) -> io::Result<()> {
        match process(self.pid.as_raw_pid()) {
            Some(now) if now.start_ticks == self.start_ticks => {
                Ok(kill_process(self.pid, Signal::KILL)?)
            }
            _ => Err(Errno::ESRCH.into()),
        }
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

/// Signals that this process blocks, to be taken one by one. Its descriptor can be read when there is one.
#[derive(Debug)]
pub struct SignalQueue(OwnedFd);

impl SignalQueue {
    /// Of these signals.
    ///
    /// # Errors
    /// The system's.
    pub fn new(signals: &SigSet) -> io::Result<Self> {
        let named = signals.iter().map(|signal| signal as i32);
        let filters = named.filter_map(Signal::from_named_raw);
        let filters = filters.map(|signal| EventFilter::Signal { signal, times: 0 });
        watch(filters).map(Self)
    }

    /// The number of the next one; none if there is none now.
    pub fn take(&self) -> Option<i32> {
        match take(&self.0)?.filter() {
            EventFilter::Signal { signal, .. } => Some(signal.as_raw()),
            _ => None,
        }
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sees when a file is written to. Its descriptor can be read then.
#[derive(Debug)]
pub struct FileWatch {
    queue: OwnedFd,
    _file: File,
}

impl FileWatch {
    /// Of this file.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let queue = watch([EventFilter::Vnode {
            vnode: file.as_raw_fd(),
            flags: VnodeEvents::WRITE | VnodeEvents::EXTEND,
        }])?;
        Ok(Self { queue, _file: file })
    }

    /// Takes what was seen so far.
    pub fn take_events(&self) {
        while take(&self.queue).is_some() {}
    }
}

impl AsRawFd for FileWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.queue.as_raw_fd()
    }
}

/// What the kernel says of a number of things, which may become more while they are counted (sysctl(3)).
fn kernel_list<T>(name: &[i32]) -> io::Result<Vec<T>> {
    let ask = |into: *mut libc::c_void, length: &mut usize| {
        let count = u32::try_from(name.len()).map_err(io::Error::other)?;
        // SAFETY: the pointers are to so many numbers, and to so much room or to none.
        let asked =
            unsafe { libc::sysctl(name.as_ptr(), count, into, length, std::ptr::null(), 0) };
        Errno::result(asked).map(drop).map_err(io::Error::from)
    };
    loop {
        let mut length = 0;
        ask(std::ptr::null_mut(), &mut length)?;
        let room = length / size_of::<T>() + 16;
        let mut list: Vec<T> = Vec::with_capacity(room);
        length = room * size_of::<T>();
        match ask(list.as_mut_ptr().cast(), &mut length) {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                // SAFETY: the kernel wrote so many bytes of structures of the C library's, of which all bytes are valid.
                unsafe { list.set_len(length / size_of::<T>()) };
                return Ok(list);
            }
        }
    }
}

/// A variable of the kernel's that has one size; none where the kernel's has another one.
fn kernel_value<T: Copy>(name: &CStr) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let mut length = size_of::<T>();
    // SAFETY: the pointers are to a name that ends with a zero, and to so much room. Numbers are valid whatever they are.
    unsafe {
        let into = value.as_mut_ptr().cast();
        let asked = libc::sysctlbyname(name.as_ptr(), into, &mut length, std::ptr::null(), 0);
        Errno::result(asked)?;
        match length == size_of::<T>() {
            true => Ok(value.assume_init()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// A text of the kernel's.
fn kernel_text(name: &CStr) -> Option<String> {
    let mut text = vec![0_u8; 1024];
    let mut length = text.len();
    // SAFETY: as above.
    let asked = unsafe {
        let into = text.as_mut_ptr().cast();
        libc::sysctlbyname(name.as_ptr(), into, &mut length, std::ptr::null(), 0)
    };
    Errno::result(asked).ok()?;
    text.truncate(length);
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_matches(['\0', ' ', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Every process; those that end meanwhile may be missing.
pub fn processes() -> Vec<Process> {
    let name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PROC];
    listed(&name)
}

/// The process with this number.
pub fn process(pid: i32) -> Option<Process> {
    let name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PID, pid];
    listed(&name).pop()
}

fn listed(name: &[i32]) -> Vec<Process> {
    let Ok(boot) = kernel_value::<libc::timeval>(c"kern.boottime") else {
        return Vec::new();
    };
    let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(128);
    let all = kernel_list::<libc::kinfo_proc>(name).unwrap_or_default();
    let whole = all
        .iter()
        .filter(|it| usize::try_from(it.ki_structsize) == Ok(size_of::<libc::kinfo_proc>()));
    whole
        .map(|it| read(it, &boot, ticks.unsigned_abs()))
        .collect()
}

fn read(it: &libc::kinfo_proc, boot: &libc::timeval, ticks: u64) -> Process {
    let waited_for =
        microseconds(&it.ki_rusage_ch.ru_utime) + microseconds(&it.ki_rusage_ch.ru_stime);
    let used = it.ki_runtime + waited_for.unsigned_abs();
    // A step of the clock moves both.
    let start = microseconds(&it.ki_start) - microseconds(boot);
    Process {
        pid: it.ki_pid,
        parent: it.ki_ppid,
        group: it.ki_pgid,
        zombie: it.ki_stat == libc::SZOMB,
        start_ticks: start.unsigned_abs(),
        ticks: used * ticks / 1_000_000,
        name: text(&it.ki_comm).to_string_lossy().into_owned(),
    }
}

fn microseconds(time: &libc::timeval) -> i64 {
    time.tv_sec * 1_000_000 + time.tv_usec
}

/// The text in an array of the kernel's, up to its first zero.
fn text(array: &[libc::c_char]) -> OsString {
    let bytes = array.iter().map(|byte| byte.cast_unsigned());
    OsString::from_vec(bytes.take_while(|byte| *byte != 0).collect())
}

/// The environment that a process was started with: `NAME=VALUE`, each ended by a zero. Empty where it can't be looked into.
pub fn environment(pid: i32) -> Vec<u8> {
    let name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_ENV, pid];
    kernel_list(&name).unwrap_or_default()
}

/// Makes this process the parent of its descendants whose parents end.
///
/// # Errors
/// The system's.
pub fn adopt_orphans() -> io::Result<()> {
    match set_reaper_status(true) {
        // It is one already.
        Err(rustix::io::Errno::BUSY) => Ok(()),
        set => Ok(set?),
    }
}

/// What to wait with (`wait4`, `waitid`), so that children are seen however they were made.
pub const ALL_CHILDREN: i32 = 0;
/// What to wait with, so that only children of the calling thread are seen; none where threads have none of their own.
pub const CHILDREN_OF_THREAD: Option<i32> = None;

/// The most that the resident set of a child by fork may be before it becomes its program, in bytes: the kernel counts none of it.
pub fn inherited_memory() -> u64 {
    0
}

/// The largest number of a signal: `SIGRTMAX` of sys/signal.h.
pub fn last_signal() -> i32 {
    126
}

/// Whether the calling thread is its process's first one.
pub fn is_main_thread() -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::pthread_main_np() == 1 }
}

/// Would give this process another name, by which `pkill` finds it: here it keeps its program's.
pub fn set_process_name(_: &CStr) {}

/// Lets any process of this user trace this one, which the system does unasked.
pub fn allow_tracing() {}

/// Makes this thread a real-time one, where that is permitted, of the least priority.
pub fn become_real_time() {
    schedule(libc::RTP_PRIO_REALTIME, libc::RTP_PRIO_MAX);
}

/// Makes this thread an ordinary one again.
pub fn become_ordinary() {
    schedule(libc::RTP_PRIO_NORMAL, 0);
}

/// Sets how this thread is scheduled; without the right to, it stays as it was.
fn schedule(class: libc::c_ushort, priority: libc::c_ushort) {
    let mut scheduled = libc::rtprio {
        type_: class,
        prio: priority,
    };
    // SAFETY: the pointer is to a live variable; 0 is this thread.
    unsafe { libc::rtprio_thread(libc::RTP_SET, 0, &raw mut scheduled) };
}

/// Descriptors that this process may have open, the standard ones left out.
pub fn descriptors() -> Vec<RawFd> {
    // SAFETY: takes nothing.
    (3..unsafe { libc::getdtablesize() }).collect()
}

/// Would let a pipe hold this many bytes: here the system chooses.
pub fn enlarge_pipe(_: impl AsFd, _: i32) {}

/// Another path to an open folder, which is short.
///
/// # Errors
/// The system has none.
pub fn short_path(_: &File) -> io::Result<PathBuf> {
    Err(io::Error::other(
        "the path is too long for a socket here: set TMPDIR to a folder with a shorter one",
    ))
}

/// Takes the flags away by which a file can't be changed or removed (chflags(1)); without the right to, they stay.
pub fn clear_immutable(file: impl AsFd) {
    // SAFETY: takes numbers.
    unsafe { libc::fchflags(file.as_fd().as_raw_fd(), 0) };
}

/// The mounts that this process sees, in the order in which they were made.
pub fn mounts() -> Vec<Mount> {
    loop {
        // SAFETY: no room is given, only their number is asked for.
        let count = unsafe { libc::getfsstat(std::ptr::null_mut(), 0, libc::MNT_NOWAIT) };
        let room = usize::try_from(count).unwrap_or_default() + 16;
        let mut all: Vec<libc::statfs> = Vec::with_capacity(room);
        let Ok(size) = libc::c_long::try_from(room * size_of::<libc::statfs>()) else {
            return Vec::new();
        };
        // SAFETY: the pointer is to so much room.
        let count = unsafe { libc::getfsstat(all.as_mut_ptr(), size, libc::MNT_NOWAIT) };
        let Ok(count) = usize::try_from(count) else {
            return Vec::new();
        };
        // As many as fit: there may be more by now.
        if count < room {
            // SAFETY: the kernel wrote so many.
            unsafe { all.set_len(count) };
            return all.iter().map(mount).collect();
        }
    }
}

fn mount(it: &libc::statfs) -> Mount {
    // SAFETY: the kernel's number of a file system is two numbers of 32 bits, which the C library's type keeps to itself.
    let id = unsafe { std::mem::transmute_copy::<libc::fsid_t, u64>(&it.f_fsid) };
    Mount {
        id,
        root: "/".into(),
        point: text(&it.f_mntonname).into(),
        kind: text(&it.f_fstypename).to_string_lossy().into_owned(),
    }
}

/// Undoes a mount.
///
/// # Errors
/// The system's: it is in use.
pub fn unmount(point: &Path) -> io::Result<()> {
    let point = CString::new(point.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero.
    Errno::result(unsafe { libc::unmount(point.as_ptr(), 0) })?;
    Ok(())
}

/// How many processors of the machine run.
pub fn online_cpus() -> u32 {
    let online = kernel_value::<libc::c_int>(c"hw.ncpu");
    online.map_or(1, libc::c_int::unsigned_abs)
}

/// What the machine's processors did since its boot.
pub fn machine_cpu_time() -> Option<MachineCpuTime> {
    let clocks: libc::clockinfo = kernel_value(c"kern.clockrate").ok()?;
    // User, nice, system, interrupts, idle: sys/resource.h.
    let counts: [libc::c_long; 5] = kernel_value(c"kern.cp_time").ok()?;
    let [user, nice, system, interrupts, idle] =
        counts.map(|n| n as f64 / f64::from(clocks.stathz));
    Some(MachineCpuTime {
        user: user + nice,
        system,
        interrupts,
        steal: 0.0,
        idle,
    })
}

/// The kernel's id of this boot.
///
/// # Errors
/// It doesn't say it.
pub fn boot_id() -> io::Result<String> {
    let id: [u8; 16] = kernel_value(c"kern.boot_id")?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}

/// The machine's own id, if it has one.
pub fn machine_id() -> Option<String> {
    kernel_text(c"kern.hostuuid")
}

/// The machine's memory, in bytes.
pub fn memory_bytes() -> Option<u64> {
    kernel_value(c"hw.physmem").ok()
}

/// Facts about the machine that no file says.
pub fn facts() -> BTreeMap<String, String> {
    let said =
        |(name, variable): &(&str, &CStr)| Some(((*name).to_owned(), kernel_text(variable)?));
    FACTS.iter().filter_map(said).collect()
}
