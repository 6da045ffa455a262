//! What the programs capture of each call's memory, and when: a few steps a call, loaded into the kernel beside them.
//!
//! This is the engine's only knowledge of single calls. What no step covers comes with the event as far as
//! [`wants`](crate::table::wants) asks for it and the program's memory can still be read when its record arrives.
//! Refuses: calls whose numbers don't fit the kernel's table of plans.

use super::Options;
use super::wire::PIECE_MOST;
use crate::Abi;
use crate::table::Limits;

/// Calls that a table holds.
const ROWS: usize = 512;
const STEPS: usize = 6;
const STEP_BYTES: usize = 12;
const PLAN_BYTES: usize = 4 + STEPS * STEP_BYTES;
/// Most bytes of a path, its end included.
const PATH: u32 = 4096;

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum What {
    Text = 1,
    Bytes = 2,
    Vectors = 3,
    Message = 4,
    Texts = 5,
    Pointers = 6,
}

/// How many there are of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Argument(u8),
    Result,
    /// The 32 bits behind an argument.
    Behind(u8),
}

/// When it is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum At {
    Entry = 1,
    Exit = 2,
    Both = 3,
}

/// How much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Most {
    /// As much as is asked for of strings and buffers.
    String,
    /// As many as are asked for of an array's elements.
    Elements,
    /// So many bytes.
    Bytes(u32),
}

/// One thing to capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    what: What,
    argument: u8,
    count: Count,
    at: At,
    size: u32,
    most: Most,
}

/// What is captured of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan(Vec<Step>);

const fn step(what: What, argument: u8, at: At) -> Step {
    Step {
        what,
        argument,
        count: Count::One,
        at,
        size: 1,
        most: Most::String,
    }
}

/// A path, always in full.
const fn path(argument: u8) -> Step {
    Step {
        most: Most::Bytes(PATH),
        ..step(What::Text, argument, At::Entry)
    }
}

/// Any other text.
const fn text(argument: u8) -> Step {
    step(What::Text, argument, At::Entry)
}

/// A buffer whose length is an argument.
const fn given(argument: u8, length: u8) -> Step {
    Step {
        count: Count::Argument(length),
        ..step(What::Bytes, argument, At::Entry)
    }
}

/// A buffer whose length is the result.
const fn got(argument: u8) -> Step {
    Step {
        count: Count::Result,
        ..step(What::Bytes, argument, At::Exit)
    }
}

/// A structure.
const fn structure(argument: u8, size: u32, at: At) -> Step {
    Step {
        size,
        most: Most::Bytes(size),
        ..step(What::Bytes, argument, at)
    }
}

/// Structures, as many as an argument says.
const fn structures(argument: u8, size: u32, count: u8, at: At) -> Step {
    Step {
        size,
        count: Count::Argument(count),
        most: Most::Elements,
        ..step(What::Bytes, argument, at)
    }
}

/// A socket's address that the program gives, and its length.
const fn address(argument: u8, length: u8) -> Step {
    Step {
        count: Count::Argument(length),
        most: Most::Bytes(128),
        ..step(What::Bytes, argument, At::Entry)
    }
}

/// A socket's address that the kernel gives.
const fn address_got(argument: u8, length: u8) -> Step {
    Step {
        count: Count::Behind(length),
        most: Most::Bytes(128),
        ..step(What::Bytes, argument, At::Exit)
    }
}

const fn vectors(argument: u8, count: u8, at: At) -> Step {
    Step {
        count: Count::Argument(count),
        ..step(What::Vectors, argument, at)
    }
}

/// The plan of a call, by its name.
pub(super) fn plan(name: &str) -> Plan {
    use At::{Both, Entry, Exit};
    let steps: &[Step] = match name {
        "read" | "pread64" | "recv" | "flistxattr" => &[got(1)],
        "getrandom" => &[got(0)],
        "listxattr" | "llistxattr" => &[path(0), got(1)],
        "write" | "pwrite64" | "send" => &[given(1, 2)],
        "open" | "creat" | "access" | "unlink" | "rmdir" | "mkdir" | "chdir" | "chroot"
        | "chmod" | "chown" | "lchown" | "truncate" | "mknod" | "uselib" | "swapon" | "swapoff"
        | "acct" | "umount2" => &[path(0)],
        "openat" | "faccessat" | "faccessat2" | "unlinkat" | "mkdirat" | "mknodat" | "fchmodat"
        | "fchmodat2" | "fchownat" | "inotify_add_watch" | "name_to_handle_at" | "open_tree" => {
            &[path(1)]
        }
        "openat2" => &[path(1), structure(2, 24, Entry)],
        "stat" | "lstat" => &[path(0), structure(1, 144, Exit)],
        "fstat" => &[structure(1, 144, Exit)],
        "newfstatat" => &[path(1), structure(2, 144, Exit)],
        "statx" => &[path(1), structure(4, 256, Exit)],
        "statfs" => &[path(0), structure(1, 120, Exit)],
        "fstatfs" => &[structure(1, 120, Exit)],
        "rename" | "link" | "symlink" | "pivot_root" => &[path(0), path(1)],
        "renameat" | "renameat2" | "linkat" => &[path(1), path(3)],
        "symlinkat" => &[path(0), path(2)],
        "readlink" => &[path(0), got(1)],
        "readlinkat" => &[path(1), got(2)],
        "getcwd" => &[Step {
            most: Most::Bytes(PATH),
            ..got(0)
        }],
        "getdents64" | "getdents" => &[Step {
            most: Most::Bytes(32768),
            ..got(1)
        }],
        "execve" => &[
            path(0),
            step(What::Texts, 1, Entry),
            step(What::Pointers, 2, Entry),
        ],
        "execveat" => &[
            path(1),
            step(What::Texts, 2, Entry),
            step(What::Pointers, 3, Entry),
        ],
        "readv" | "preadv" | "preadv2" => &[vectors(1, 2, Exit)],
        "writev" | "pwritev" | "pwritev2" | "vmsplice" => &[vectors(1, 2, Entry)],
        "sendmsg" => &[step(What::Message, 1, Entry)],
        "recvmsg" => &[step(What::Message, 1, Exit)],
        "sendto" => &[given(1, 2), address(4, 5)],
        "recvfrom" => &[got(1), structure(5, 4, Both), address_got(4, 5)],
        "connect" | "bind" => &[address(1, 2)],
        "accept" | "accept4" | "getsockname" | "getpeername" => {
            &[structure(2, 4, Both), address_got(1, 2)]
        }
        "setsockopt" => &[given(3, 4)],
        "getsockopt" => &[
            structure(4, 4, Both),
            Step {
                count: Count::Behind(4),
                ..step(What::Bytes, 3, Exit)
            },
        ],
        "pipe" | "pipe2" => &[structure(0, 8, Exit)],
        "socketpair" => &[structure(3, 8, Exit)],
        "poll" => &[structures(0, 8, 1, Both)],
        "ppoll" => &[
            structures(0, 8, 1, Both),
            structure(2, 16, Entry),
            structure(3, 8, Entry),
        ],
        "select" => &[
            structure(1, 128, Both),
            structure(2, 128, Both),
            structure(3, 128, Both),
            structure(4, 16, Both),
        ],
        "pselect6" => &[
            structure(1, 128, Both),
            structure(2, 128, Both),
            structure(3, 128, Both),
            structure(4, 16, Both),
        ],
        "epoll_ctl" => &[structure(3, 12, Entry)],
        "epoll_wait" | "epoll_pwait" => &[Step {
            size: 12,
            count: Count::Result,
            most: Most::Elements,
            ..step(What::Bytes, 1, Exit)
        }],
        "nanosleep" => &[structure(0, 16, Entry), structure(1, 16, Exit)],
        "clock_nanosleep" => &[structure(2, 16, Entry), structure(3, 16, Exit)],
        "clock_gettime" | "clock_getres" => &[structure(1, 16, Exit)],
        "clock_settime" => &[structure(1, 16, Entry)],
        "gettimeofday" => &[structure(0, 16, Exit), structure(1, 8, Exit)],
        "futex" => &[structure(3, 16, Entry)],
        "rt_sigaction" => &[structure(1, 32, Entry), structure(2, 32, Exit)],
        "rt_sigprocmask" => &[structure(1, 8, Entry), structure(2, 8, Exit)],
        "rt_sigpending" => &[structure(0, 8, Exit)],
        "rt_sigsuspend" => &[structure(0, 8, Entry)],
        "rt_sigtimedwait" => &[
            structure(0, 8, Entry),
            structure(1, 128, Exit),
            structure(2, 16, Entry),
        ],
        "sigaltstack" => &[structure(0, 24, Entry), structure(1, 24, Exit)],
        "getrlimit" => &[structure(1, 16, Exit)],
        "setrlimit" => &[structure(1, 16, Entry)],
        "prlimit64" => &[structure(2, 16, Entry), structure(3, 16, Exit)],
        "getrusage" => &[structure(1, 144, Exit)],
        "wait4" => &[structure(1, 4, Exit), structure(3, 144, Exit)],
        "waitid" => &[structure(2, 128, Exit), structure(4, 144, Exit)],
        "uname" => &[structure(0, 390, Exit)],
        "sysinfo" => &[structure(0, 112, Exit)],
        "times" => &[structure(0, 32, Exit)],
        "clone3" => &[Step {
            count: Count::Argument(1),
            most: Most::Bytes(128),
            ..step(What::Bytes, 0, Entry)
        }],
        "setitimer" => &[structure(1, 32, Entry), structure(2, 32, Exit)],
        "getitimer" => &[structure(1, 32, Exit)],
        "utimensat" => &[path(1), structure(2, 32, Entry)],
        "memfd_create" => &[text(0)],
        "mount" => &[path(0), path(1), text(2)],
        "getxattr" | "lgetxattr" => &[path(0), text(1), got(2)],
        "fgetxattr" => &[text(1), got(2)],
        "setxattr" | "lsetxattr" => &[path(0), text(1), given(2, 3)],
        "sethostname" | "setdomainname" => &[given(0, 1)],
        "sched_getaffinity" => &[got(2)],
        "sched_setaffinity" => &[given(2, 1)],
        _ => &[],
    };
    Plan(steps.to_vec())
}

/// Which calls are told.
pub(super) struct Choice<'a>(Option<&'a dyn Fn(Abi, u64) -> bool>);

impl<'a> Choice<'a> {
    /// As was asked.
    pub fn of(options: &'a Options) -> Self {
        Self(
            options
                .chosen
                .as_deref()
                .map(|chosen| chosen as &dyn Fn(Abi, u64) -> bool),
        )
    }

    fn holds(&self, abi: Abi, number: u64) -> bool {
        self.0.is_none_or(|chosen| chosen(abi, number))
    }
}

/// Calls that don't come back where they succeed.
fn ends(name: &str) -> bool {
    matches!(name, "exit" | "exit_group")
}

/// Calls that put another program where theirs was.
pub(super) fn replaces(name: &str) -> bool {
    matches!(name, "execve" | "execveat")
}

/// The plans of all calls, as the programs read them: `struct plan plans[2][512]`, a way of calling after the other.
pub(super) fn table(choice: &Choice<'_>, limits: Limits) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * ROWS * PLAN_BYTES);
    for abi in ABIS {
        for number in 0..ROWS as u64 {
            let row = name(abi, number).unwrap_or_default();
            let mut plan = plan(row);
            if abi == Abi::I386 {
                plan.0.retain(|step| step.fits_both());
            }
            plan.write(row, choice.holds(abi, number), limits, &mut bytes);
        }
    }
    bytes
}

impl Step {
    /// Whether 32-bit programs have it laid out as 64-bit ones have.
    fn fits_both(&self) -> bool {
        match self.what {
            What::Text => true,
            What::Bytes => self.size == 1 && !matches!(self.count, Count::One),
            What::Vectors | What::Message | What::Texts | What::Pointers => false,
        }
    }

    fn most(&self, limits: Limits) -> u32 {
        let most = match self.most {
            Most::Bytes(bytes) => return bytes,
            // Of text, one more: whether it goes on is shown.
            Most::String => limits
                .string
                .saturating_add(usize::from(matches!(self.what, What::Text | What::Texts))),
            Most::Elements => limits.elements.saturating_mul(self.size as usize),
        };
        u32::try_from(most.min(PIECE_MOST)).unwrap_or(0)
    }

    fn write(&self, limits: Limits, bytes: &mut Vec<u8>) {
        let count = match self.count {
            Count::One => 0xff,
            Count::Argument(argument) => argument,
            Count::Result => 0x10,
            Count::Behind(argument) => 0x20 + argument,
        };
        bytes.extend_from_slice(&[self.what as u8, self.argument, count, self.at as u8]);
        bytes.extend_from_slice(&self.size.to_ne_bytes());
        bytes.extend_from_slice(&self.most(limits).to_ne_bytes());
    }
}

impl Plan {
    fn write(&self, name: &str, chosen: bool, limits: Limits, bytes: &mut Vec<u8>) {
        let at = |when: At| self.0.iter().any(|step| step.at as u8 & when as u8 != 0);
        let flags = [
            (chosen, 1),
            (at(At::Entry), 2),
            (at(At::Exit), 4),
            (ends(name), 8),
            (replaces(name), 16),
        ];
        let flags: u32 = flags.iter().map(|(set, bit)| u32::from(*set) * bit).sum();
        let end = bytes.len() + PLAN_BYTES;
        bytes.extend_from_slice(&flags.to_ne_bytes());
        for step in self.0.iter().take(STEPS) {
            step.write(limits, bytes);
        }
        bytes.resize(end, 0);
    }
}

/// The ways of calling, in the programs' order.
pub(super) const ABIS: [Abi; 2] = [
    if cfg!(target_arch = "aarch64") {
        Abi::Aarch64
    } else {
        Abi::X86_64
    },
    Abi::I386,
];

/// A call's name.
pub(super) fn name(abi: Abi, number: u64) -> Option<&'static str> {
    let own = || {
        let known = abi == ABIS[0];
        COMMON
            .iter()
            .find(|(common, _)| known && u64::try_from(*common) == Ok(number))
            .map(|(_, name)| *name)
    };
    crate::table::row(abi, number)
        .map(|row| row.name)
        .or_else(own)
}

macro_rules! calls {
    ($($name:ident = $constant:ident,)*) => { &[$((libc::$constant, stringify!($name)),)*] };
}

/// Calls that have plans, by number.
#[cfg(target_arch = "x86_64")]
const COMMON: &[(libc::c_long, &str)] = calls![
    read = SYS_read,
    pread64 = SYS_pread64,
    write = SYS_write,
    pwrite64 = SYS_pwrite64,
    openat = SYS_openat,
    faccessat = SYS_faccessat,
    faccessat2 = SYS_faccessat2,
    unlinkat = SYS_unlinkat,
    mkdirat = SYS_mkdirat,
    mknodat = SYS_mknodat,
    fchmodat = SYS_fchmodat,
    fchownat = SYS_fchownat,
    inotify_add_watch = SYS_inotify_add_watch,
    fstat = SYS_fstat,
    newfstatat = SYS_newfstatat,
    statx = SYS_statx,
    statfs = SYS_statfs,
    fstatfs = SYS_fstatfs,
    renameat2 = SYS_renameat2,
    linkat = SYS_linkat,
    symlinkat = SYS_symlinkat,
    readlinkat = SYS_readlinkat,
    getcwd = SYS_getcwd,
    getdents64 = SYS_getdents64,
    execve = SYS_execve,
    execveat = SYS_execveat,
    readv = SYS_readv,
    preadv = SYS_preadv,
    writev = SYS_writev,
    pwritev = SYS_pwritev,
    sendmsg = SYS_sendmsg,
    recvmsg = SYS_recvmsg,
    sendto = SYS_sendto,
    recvfrom = SYS_recvfrom,
    connect = SYS_connect,
    bind = SYS_bind,
    accept = SYS_accept,
    accept4 = SYS_accept4,
    getsockname = SYS_getsockname,
    getpeername = SYS_getpeername,
    setsockopt = SYS_setsockopt,
    getsockopt = SYS_getsockopt,
    pipe2 = SYS_pipe2,
    socketpair = SYS_socketpair,
    ppoll = SYS_ppoll,
    pselect6 = SYS_pselect6,
    epoll_ctl = SYS_epoll_ctl,
    epoll_pwait = SYS_epoll_pwait,
    nanosleep = SYS_nanosleep,
    clock_nanosleep = SYS_clock_nanosleep,
    clock_gettime = SYS_clock_gettime,
    clock_getres = SYS_clock_getres,
    gettimeofday = SYS_gettimeofday,
    futex = SYS_futex,
    rt_sigaction = SYS_rt_sigaction,
    rt_sigprocmask = SYS_rt_sigprocmask,
    rt_sigpending = SYS_rt_sigpending,
    rt_sigsuspend = SYS_rt_sigsuspend,
    rt_sigtimedwait = SYS_rt_sigtimedwait,
    sigaltstack = SYS_sigaltstack,
    prlimit64 = SYS_prlimit64,
    getrusage = SYS_getrusage,
    wait4 = SYS_wait4,
    waitid = SYS_waitid,
    uname = SYS_uname,
    sysinfo = SYS_sysinfo,
    times = SYS_times,
    setitimer = SYS_setitimer,
    getitimer = SYS_getitimer,
    utimensat = SYS_utimensat,
    memfd_create = SYS_memfd_create,
    mount = SYS_mount,
    getrandom = SYS_getrandom,
    chdir = SYS_chdir,
    truncate = SYS_truncate,
    exit = SYS_exit,
    exit_group = SYS_exit_group,
    clone3 = SYS_clone3,
    openat2 = SYS_openat2,
    open = SYS_open,
    creat = SYS_creat,
    access = SYS_access,
    unlink = SYS_unlink,
    rmdir = SYS_rmdir,
    mkdir = SYS_mkdir,
    chmod = SYS_chmod,
    chown = SYS_chown,
    lchown = SYS_lchown,
    mknod = SYS_mknod,
    stat = SYS_stat,
    lstat = SYS_lstat,
    rename = SYS_rename,
    link = SYS_link,
    symlink = SYS_symlink,
    readlink = SYS_readlink,
    pipe = SYS_pipe,
    poll = SYS_poll,
    select = SYS_select,
    epoll_wait = SYS_epoll_wait,
    getdents = SYS_getdents,
    getrlimit = SYS_getrlimit,
    setrlimit = SYS_setrlimit,
];

#[cfg(target_arch = "aarch64")]
const COMMON: &[(libc::c_long, &str)] = calls![
    read = SYS_read,
    pread64 = SYS_pread64,
    write = SYS_write,
    pwrite64 = SYS_pwrite64,
    openat = SYS_openat,
    faccessat = SYS_faccessat,
    faccessat2 = SYS_faccessat2,
    unlinkat = SYS_unlinkat,
    mkdirat = SYS_mkdirat,
    mknodat = SYS_mknodat,
    fchmodat = SYS_fchmodat,
    fchownat = SYS_fchownat,
    inotify_add_watch = SYS_inotify_add_watch,
    fstat = SYS_fstat,
    newfstatat = SYS_newfstatat,
    statx = SYS_statx,
    statfs = SYS_statfs,
    fstatfs = SYS_fstatfs,
    renameat2 = SYS_renameat2,
    linkat = SYS_linkat,
    symlinkat = SYS_symlinkat,
    readlinkat = SYS_readlinkat,
    getcwd = SYS_getcwd,
    getdents64 = SYS_getdents64,
    execve = SYS_execve,
    execveat = SYS_execveat,
    readv = SYS_readv,
    preadv = SYS_preadv,
    writev = SYS_writev,
    pwritev = SYS_pwritev,
    sendmsg = SYS_sendmsg,
    recvmsg = SYS_recvmsg,
    sendto = SYS_sendto,
    recvfrom = SYS_recvfrom,
    connect = SYS_connect,
    bind = SYS_bind,
    accept = SYS_accept,
    accept4 = SYS_accept4,
    getsockname = SYS_getsockname,
    getpeername = SYS_getpeername,
    setsockopt = SYS_setsockopt,
    getsockopt = SYS_getsockopt,
    pipe2 = SYS_pipe2,
    socketpair = SYS_socketpair,
    ppoll = SYS_ppoll,
    pselect6 = SYS_pselect6,
    epoll_ctl = SYS_epoll_ctl,
    epoll_pwait = SYS_epoll_pwait,
    nanosleep = SYS_nanosleep,
    clock_nanosleep = SYS_clock_nanosleep,
    clock_gettime = SYS_clock_gettime,
    clock_getres = SYS_clock_getres,
    gettimeofday = SYS_gettimeofday,
    futex = SYS_futex,
    rt_sigaction = SYS_rt_sigaction,
    rt_sigprocmask = SYS_rt_sigprocmask,
    rt_sigpending = SYS_rt_sigpending,
    rt_sigsuspend = SYS_rt_sigsuspend,
    rt_sigtimedwait = SYS_rt_sigtimedwait,
    sigaltstack = SYS_sigaltstack,
    prlimit64 = SYS_prlimit64,
    getrusage = SYS_getrusage,
    wait4 = SYS_wait4,
    waitid = SYS_waitid,
    uname = SYS_uname,
    sysinfo = SYS_sysinfo,
    times = SYS_times,
    setitimer = SYS_setitimer,
    getitimer = SYS_getitimer,
    utimensat = SYS_utimensat,
    memfd_create = SYS_memfd_create,
    mount = SYS_mount,
    getrandom = SYS_getrandom,
    chdir = SYS_chdir,
    truncate = SYS_truncate,
    exit = SYS_exit,
    exit_group = SYS_exit_group,
    clone3 = SYS_clone3,
    openat2 = SYS_openat2,
];

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        string: 32,
        elements: 16,
    };

    #[test]
    fn the_table_has_the_size_that_the_programs_expect() {
        assert_eq!(table(&Choice(None), LIMITS).len(), 2 * 512 * 76);
    }

    #[test]
    fn a_path_is_captured_in_full_and_other_text_as_far_as_is_asked() {
        assert_eq!(plan("openat").0[0].most(LIMITS), PATH);
        assert_eq!(plan("memfd_create").0[0].most(LIMITS), 33);
        assert_eq!(plan("write").0[0].most(LIMITS), 32);
    }

    #[test]
    fn no_plan_has_more_steps_than_fit_or_an_argument_too_many() {
        for (_, name) in COMMON {
            let plan = plan(name);
            assert!(plan.0.len() <= STEPS, "{name}");
            assert!(plan.0.iter().all(|step| step.argument < 6), "{name}");
        }
    }
}
