//! What the arguments of calls mean: written by hand on top of the generated names and types.

mod aio;
mod attributes;
pub(crate) mod bpf;
pub(crate) mod counters;
pub(crate) mod filter;
mod futexes;
mod keyctl;
mod placement;
mod prctl;
mod quota;
mod rare;
pub(crate) mod rings;
pub(crate) mod security;
mod segments;
pub(crate) mod tracing;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::classes;
use super::flags as f;
use super::kind::IntegerWidth::{Eight, Four, Two};
use super::kind::ValueKind::*;
use super::kind::{
    DataDirection::In, DataDirection::Out, LengthSource, PidKind, SpecialKind as S, ValueKind,
};
use super::structure as s;
use super::{Argument, SyscallDefinition};

/// What a result means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// A number.
    Number,
    /// An address or bits.
    Hex,
    /// A file descriptor.
    Fd,
    /// A file descriptor where the first argument is one of these, else a number.
    FdFor(&'static [u64]),
    /// A file descriptor where this argument has none of these bits, else a number.
    FdUnless(usize, u64),
    /// Permissions.
    Octal,
    /// The number of a process.
    Process(PidKind),
    /// The number of a child, of `clone`.
    Child,
    /// It never comes back.
    Never,
    /// Seconds since 1970.
    Moment,
    /// A signal's number.
    Signal,
    /// An execution domain.
    Persona,
    /// The priority of input and output.
    InputPriority,
    /// Parts of the processor's state, where they were asked for.
    Features,
    /// A scheduling policy.
    Policy,
    /// By what `prctl` was asked.
    Prctl,
    /// What `membarrier` can do, where that was asked.
    Membarrier,
    /// The state of the clock.
    Clock,
    /// A number whose upper half is lost, an error's too.
    Short,
    /// By what `fcntl` was asked.
    Fcntl,
    /// How many were ready, and which.
    Ready,
    /// How many were ready, and what is left of the time.
    Selected,
    /// How many messages came, and what is left of the time.
    Received,
}

struct Meaning {
    names: &'static str,
    kinds: &'static [ValueKind],
    answer: ResultKind,
}

const fn m(names: &'static str, kinds: &'static [ValueKind]) -> Meaning {
    Meaning {
        names,
        kinds,
        answer: ResultKind::Number,
    }
}

const fn fd(names: &'static str, kinds: &'static [ValueKind]) -> Meaning {
    Meaning {
        names,
        kinds,
        answer: ResultKind::Fd,
    }
}

const fn hex(names: &'static str, kinds: &'static [ValueKind]) -> Meaning {
    Meaning {
        names,
        kinds,
        answer: ResultKind::Hex,
    }
}

const fn other(names: &'static str, kinds: &'static [ValueKind], answer: ResultKind) -> Meaning {
    Meaning {
        names,
        kinds,
        answer,
    }
}

const INT: ValueKind = Signed(Four);
const UINT: ValueKind = Unsigned(Four);
const PID: ValueKind = Process(PidKind::Process);
const TID: ValueKind = Process(PidKind::Thread);
const GROUP: ValueKind = Process(PidKind::Group);
const SESSION: ResultKind = ResultKind::Process(PidKind::Session);
const LISTED: ValueKind = Within(2, 1, u64::MAX, &Bytes(Out, LengthSource::Result));
const EITHER: ValueKind = Process(PidKind::ProcessOrGroup);
const LONG: ValueKind = Signed(Eight);
const SIZE: ValueKind = Unsigned(Eight);
const PATH: ValueKind = Path(In);
const TEXT: ValueKind = Text(In);
const TIME_IN: ValueKind = To(In, &Structure(&s::TIMESPEC));
const TIME_OUT: ValueKind = To(Out, &Structure(&s::TIMESPEC));
const CLOCK: ValueKind = One(Four, &f::CLOCK);
const PIPE: ValueKind = To(Out, &Array(&Fd, 2));
const EPOLL_EVENT: ValueKind = ByAbi(&Structure(&s::EPOLL_EVENT_X86), &Structure(&s::EPOLL_EVENT));
const STAT: ValueKind = To(Out, &Special(S::Stat));
const OFFSET: ValueKind = To(In, &LONG);
const RESUID: ValueKind = To(Out, &Id);

/// What `syslog` is given, by what it is asked.
static LOGGED: &[(u64, ValueKind)] = &[
    (2, Bytes(Out, LengthSource::Result)),
    (3, Bytes(Out, LengthSource::Result)),
    (4, Bytes(Out, LengthSource::Result)),
];

/// The last argument of `syslog`.
static LOG_SIZE: &[(u64, ValueKind)] = &[(8, Special(S::LogLevel))];

/// Whom `waitid` waits for.
static WAITED: &[(u64, ValueKind)] = &[(1, PID), (2, GROUP), (3, Fd)];

/// Whose priority it is.
static PRIORITY_OF: &[(u64, ValueKind)] = &[(0, PID), (1, GROUP), (2, INT)];

/// The last two arguments of `kcmp`, by what is compared.
static COMPARED: &[(u64, ValueKind)] = &[
    (0, FdOf(0)),
    (1, Hidden),
    (2, Hidden),
    (3, Hidden),
    (4, Hidden),
    (5, Hidden),
    (6, Hidden),
    (7, FdOf(0)),
];

/// The last one.
static COMPARED_WITH: &[(u64, ValueKind)] = &[
    (0, FdOf(1)),
    (1, Hidden),
    (2, Hidden),
    (3, Hidden),
    (4, Hidden),
    (5, Hidden),
    (6, Hidden),
    (7, To(In, &Structure(&s::EPOLL_SLOT))),
];

static MEANINGS: &[Meaning] = &[
    // files
    m("read", &[Fd, Bytes(Out, LengthSource::Result), SIZE]),
    m("write", &[Fd, Bytes(In, LengthSource::Argument(2)), SIZE]),
    m(
        "pread64",
        &[Fd, Bytes(Out, LengthSource::Result), SIZE, LONG],
    ),
    m(
        "pwrite64",
        &[Fd, Bytes(In, LengthSource::Argument(2)), SIZE, LONG],
    ),
    m("readv", &[Fd, Special(S::Vectors(Out, 2)), SIZE]),
    m("writev", &[Fd, Special(S::Vectors(In, 2)), SIZE]),
    m(
        "preadv",
        &[Fd, Special(S::Vectors(Out, 2)), SIZE, LONG, Hidden],
    ),
    m(
        "pwritev",
        &[Fd, Special(S::Vectors(In, 2)), SIZE, LONG, Hidden],
    ),
    m(
        "preadv2",
        &[
            Fd,
            Special(S::Vectors(Out, 2)),
            SIZE,
            LONG,
            Hidden,
            Flags(Four, &f::RWF),
        ],
    ),
    m(
        "pwritev2",
        &[
            Fd,
            Special(S::Vectors(In, 2)),
            SIZE,
            LONG,
            Hidden,
            Flags(Four, &f::RWF),
        ],
    ),
    fd(
        "open",
        &[PATH, Special(S::OpenFlags), Special(S::OpenMode(1))],
    ),
    fd(
        "openat",
        &[DirFd, PATH, Special(S::OpenFlags), Special(S::OpenMode(2))],
    ),
    fd(
        "openat2",
        &[
            DirFd,
            PATH,
            Sized(In, &s::OPEN_HOW, 24, LengthSource::Argument(3)),
            SIZE,
        ],
    ),
    fd("creat", &[PATH, Permissions]),
    m("close fsync fdatasync fchdir syncfs", &[Fd]),
    m("stat lstat", &[PATH, STAT]),
    m("fstat", &[Fd, STAT]),
    m("newfstatat", &[DirFd, PATH, STAT, Flags(Four, &f::AT)]),
    m(
        "statx",
        &[
            DirFd,
            PATH,
            Special(S::StatxFlags),
            Flags(Four, &f::STATX_MASK),
            To(Out, &Special(S::Statx)),
        ],
    ),
    m("access", &[PATH, Flags(Four, &f::ACCESS)]),
    m("faccessat", &[DirFd, PATH, Flags(Four, &f::ACCESS)]),
    m(
        "faccessat2",
        &[
            DirFd,
            PATH,
            Flags(Four, &f::ACCESS),
            Flags(Four, &f::AT_FACCESS),
        ],
    ),
    m("readlink", &[PATH, Bytes(Out, LengthSource::Result), SIZE]),
    m(
        "readlinkat",
        &[DirFd, PATH, Bytes(Out, LengthSource::Result), SIZE],
    ),
    m("rename link symlink pivot_root", &[PATH, PATH]),
    m("renameat", &[DirFd, PATH, DirFd, PATH]),
    m(
        "renameat2",
        &[DirFd, PATH, DirFd, PATH, Flags(Four, &f::RENAME)],
    ),
    m("linkat", &[DirFd, PATH, DirFd, PATH, Flags(Four, &f::AT)]),
    m("symlinkat", &[PATH, DirFd, PATH]),
    m("unlink rmdir chdir chroot swapoff acct", &[PATH]),
    m("unlinkat", &[DirFd, PATH, Flags(Four, &f::AT)]),
    m("mkdir chmod", &[PATH, Permissions]),
    m("mkdirat fchmodat", &[DirFd, PATH, Permissions]),
    m(
        "fchmodat2",
        &[DirFd, PATH, Permissions, Flags(Four, &f::AT_LINK)],
    ),
    m("fchmod", &[Fd, Permissions]),
    m("chown lchown", &[PATH, Id, Id]),
    m("fchown", &[Fd, Id, Id]),
    m("fchownat", &[DirFd, PATH, Id, Id, Flags(Four, &f::AT)]),
    m("mknod", &[PATH, FileMode, Special(S::NodeDevice(1))]),
    m(
        "mknodat",
        &[DirFd, PATH, FileMode, Special(S::NodeDevice(2))],
    ),
    m("truncate", &[PATH, SIZE]),
    m("ftruncate", &[Fd, SIZE]),
    m("fallocate", &[Fd, Flags(Four, &f::FALLOCATE), LONG, LONG]),
    m("lseek", &[Fd, LONG, One(Four, &f::WHENCE)]),
    m("getdents64", &[Fd, Special(S::Entries), UINT]),
    m("getdents", &[Fd, Special(S::Entries), UINT]),
    m("getcwd", &[Path(Out), SIZE]),
    fd("dup", &[Fd]),
    fd("dup2", &[Fd, Fd]),
    fd("dup3", &[Fd, Fd, Flags(Four, &f::OPEN)]),
    m("pipe", &[PIPE]),
    m("pipe2", &[PIPE, Flags(Four, &f::OPEN)]),
    other(
        "fcntl fcntl64",
        &[Fd, One(Four, &f::FCNTL), Special(S::Fcntl)],
        ResultKind::Fcntl,
    ),
    m("ioctl", &[Fd, Special(S::Request), Special(S::Requested)]),
    m("flock", &[Fd, Flags(Four, &f::FLOCK)]),
    m(
        "sync_file_range",
        &[Fd, LONG, LONG, Flags(Four, &f::SYNC_RANGE)],
    ),
    m("utime", &[PATH, To(In, &Structure(&s::UTIMBUF))]),
    m(
        "utimes",
        &[PATH, To(In, &Array(&Special(S::TimevalMoment), 2))],
    ),
    m(
        "futimesat",
        &[DirFd, PATH, To(In, &Array(&Special(S::TimevalMoment), 2))],
    ),
    m(
        "utimensat",
        &[DirFd, PATH, Special(S::Times), Flags(Four, &f::AT)],
    ),
    m("statfs", &[PATH, To(Out, &Structure(&s::STATFS))]),
    m("fstatfs", &[Fd, To(Out, &Structure(&s::STATFS))]),
    m("rt_sigreturn", &[Special(S::SignalFrame)]),
    other("umask", &[Permissions], ResultKind::Octal),
    m(
        "mount",
        &[
            PATH,
            PATH,
            Special(S::MountType),
            Special(S::MountFlags),
            Special(S::MountData),
        ],
    ),
    m("umount2", &[PATH, Flags(Four, &f::UMOUNT)]),
    m("sendfile", &[Fd, Fd, Special(S::Offset), SIZE]),
    m(
        "splice",
        &[Fd, OFFSET, Fd, OFFSET, SIZE, Flags(Four, &f::SPLICE)],
    ),
    m("tee", &[Fd, Fd, SIZE, Flags(Four, &f::SPLICE)]),
    m(
        "vmsplice",
        &[
            Fd,
            Special(S::Vectors(In, 2)),
            SIZE,
            Flags(Four, &f::SPLICE),
        ],
    ),
    m("copy_file_range", &[Fd, OFFSET, Fd, OFFSET, SIZE, UINT]),
    m(
        "setxattr lsetxattr",
        &[
            PATH,
            TEXT,
            Within(3, 0, 65536, &Value(In, LengthSource::Argument(3))),
            SIZE,
            Flags(Four, &f::XATTR),
        ],
    ),
    m(
        "fsetxattr",
        &[
            Fd,
            TEXT,
            Within(3, 0, 65536, &Value(In, LengthSource::Argument(3))),
            SIZE,
            Flags(Four, &f::XATTR),
        ],
    ),
    m(
        "getxattr lgetxattr",
        &[PATH, TEXT, Value(Out, LengthSource::Result), SIZE],
    ),
    m(
        "fgetxattr",
        &[Fd, TEXT, Value(Out, LengthSource::Result), SIZE],
    ),
    m("listxattr llistxattr", &[PATH, LISTED, SIZE]),
    m("flistxattr", &[Fd, LISTED, SIZE]),
    m("removexattr lremovexattr", &[PATH, TEXT]),
    m("fremovexattr", &[Fd, TEXT]),
    m("fadvise64", &[Fd, LONG, SIZE, One(Four, &f::FADVISE)]),
    m("readahead", &[Fd, LONG, SIZE]),
    fd("inotify_init", &[]),
    fd("inotify_init1", &[Flags(Four, &f::INOTIFY_INIT)]),
    m("inotify_add_watch", &[Fd, PATH, Flags(Four, &f::INOTIFY)]),
    m("inotify_rm_watch", &[Fd, INT]),
    fd("memfd_create", &[Name(In, 250), Flags(Four, &f::MEMFD)]),
    m(
        "name_to_handle_at",
        &[
            DirFd,
            PATH,
            Special(S::FileHandle(Out)),
            To(Out, &INT),
            Flags(Four, &f::AT_HANDLE),
        ],
    ),
    fd(
        "open_by_handle_at",
        &[Fd, Special(S::FileHandle(In)), Special(S::OpenFlags)],
    ),
    m("uselib", &[PATH]),
    m("sysfs", &[Hex(Eight), Hex(Eight), Hex(Eight)]),
    m("close_range", &[UINT, UINT, Flags(Four, &f::CLOSE_RANGE)]),
    fd("eventfd", &[UINT]),
    fd("eventfd2", &[UINT, Flags(Four, &f::EVENTFD)]),
    fd("signalfd", &[Fd, Special(S::Signals(In)), SIZE]),
    fd(
        "signalfd4",
        &[Fd, Special(S::Signals(In)), SIZE, Flags(Four, &f::SIGNALFD)],
    ),
    fd("timerfd_create", &[CLOCK, Flags(Four, &f::TIMERFD)]),
    m(
        "timerfd_settime",
        &[
            Fd,
            Flags(Four, &f::TIMERFD),
            To(In, &Structure(&s::ITIMERSPEC)),
            To(Out, &Structure(&s::ITIMERSPEC)),
        ],
    ),
    m(
        "timerfd_gettime",
        &[Fd, To(Out, &Structure(&s::ITIMERSPEC))],
    ),
    // waiting for files
    other("poll", &[Special(S::Polled), UINT, INT], ResultKind::Ready),
    other(
        "ppoll",
        &[
            Special(S::Polled),
            UINT,
            TIME_IN,
            Special(S::Signals(In)),
            SIZE,
        ],
        ResultKind::Ready,
    ),
    other(
        "select",
        &[
            INT,
            Special(S::Descriptors),
            Special(S::Descriptors),
            Special(S::Descriptors),
            To(In, &Structure(&s::TIMEVAL)),
        ],
        ResultKind::Selected,
    ),
    other(
        "pselect6",
        &[
            INT,
            Special(S::Descriptors),
            Special(S::Descriptors),
            Special(S::Descriptors),
            TIME_IN,
            Special(S::SignalsAndSize),
        ],
        ResultKind::Selected,
    ),
    fd("epoll_create", &[INT]),
    fd("epoll_create1", &[Flags(Four, &f::EPOLL_CREATE)]),
    m(
        "epoll_ctl",
        &[Fd, One(Four, &f::EPOLL_CTL), Fd, Special(S::Watched)],
    ),
    m(
        "epoll_wait",
        &[Fd, Many(Out, &EPOLL_EVENT, LengthSource::Result), INT, INT],
    ),
    m(
        "epoll_pwait",
        &[
            Fd,
            Many(Out, &EPOLL_EVENT, LengthSource::Result),
            INT,
            INT,
            Special(S::Signals(In)),
            SIZE,
        ],
    ),
    m(
        "epoll_pwait2",
        &[
            Fd,
            Many(Out, &EPOLL_EVENT, LengthSource::Result),
            INT,
            TIME_IN,
            Special(S::Signals(In)),
            SIZE,
        ],
    ),
    // processes
    m(
        "execve",
        &[PATH, Special(S::Arguments), Special(S::Environment)],
    ),
    m(
        "execveat",
        &[
            DirFd,
            PATH,
            Special(S::Arguments),
            Special(S::Environment),
            Flags(Four, &f::AT),
        ],
    ),
    other("exit exit_group", &[INT], ResultKind::Never),
    m(
        "wait4",
        &[
            EITHER,
            Special(S::Status),
            Flags(Four, &f::WAIT),
            Special(S::Usage),
        ],
    ),
    m(
        "waitid",
        &[
            One(Four, &f::WAITID),
            By(0, WAITED, &INT),
            Special(S::Information(Out)),
            Flags(Four, &f::WAIT),
            To(Out, &Structure(&s::RUSAGE)),
        ],
    ),
    other("clone", &[], ResultKind::Child),
    other(
        "clone3",
        &[Special(S::Clone), SIZE],
        ResultKind::Process(PidKind::Process),
    ),
    m("unshare", &[Flags(Eight, &f::UNSHARE)]),
    m("setns", &[Fd, Flags(Four, &f::CLONE_NS)]),
    other(
        "prctl",
        &[
            One(Four, &f::PRCTL),
            prctl::ARGUMENT,
            prctl::ARGUMENT,
            prctl::ARGUMENT,
            prctl::ARGUMENT,
        ],
        ResultKind::Prctl,
    ),
    other(
        "arch_prctl",
        &[One(Four, &f::ARCH_PRCTL), Special(S::ArchPrctl)],
        ResultKind::Features,
    ),
    other(
        "set_tid_address",
        &[Address],
        ResultKind::Process(PidKind::Thread),
    ),
    m("set_robust_list", &[Address, SIZE]),
    m("get_robust_list", &[PID, To(Out, &Address), To(Out, &SIZE)]),
    m(
        "getrlimit",
        &[One(Four, &f::RLIMIT), To(Out, &Structure(&s::RLIMIT))],
    ),
    m(
        "setrlimit",
        &[One(Four, &f::RLIMIT), To(In, &Structure(&s::RLIMIT))],
    ),
    m(
        "prlimit64",
        &[
            PID,
            One(Four, &f::RLIMIT),
            To(In, &Structure(&s::RLIMIT)),
            To(Out, &Structure(&s::RLIMIT)),
        ],
    ),
    m(
        "getrusage",
        &[One(Four, &f::RUSAGE), To(Out, &Structure(&s::RUSAGE))],
    ),
    m(
        "getpriority",
        &[One(Four, &f::PRIO), By(0, PRIORITY_OF, &INT)],
    ),
    m(
        "setpriority",
        &[One(Four, &f::PRIO), By(0, PRIORITY_OF, &INT), INT],
    ),
    m(
        "sched_setscheduler",
        &[PID, Special(S::Policy), To(In, &Structure(&s::SCHED_PARAM))],
    ),
    other("sched_getscheduler", &[PID], ResultKind::Policy),
    m(
        "sched_setparam",
        &[PID, To(In, &Structure(&s::SCHED_PARAM))],
    ),
    m(
        "sched_getparam",
        &[PID, To(Out, &Structure(&s::SCHED_PARAM))],
    ),
    m(
        "sched_get_priority_max sched_get_priority_min",
        &[One(Four, &f::SCHED)],
    ),
    m("sched_rr_get_interval", &[PID, TIME_OUT]),
    m(
        "sched_setaffinity",
        &[PID, UINT, Special(S::Processors(In))],
    ),
    m(
        "sched_getaffinity",
        &[PID, UINT, Special(S::Processors(Out))],
    ),
    m("sched_setattr", &[PID, Special(S::Schedule(In)), Hex(Four)]),
    m(
        "sched_getattr",
        &[
            PID,
            Special(S::Schedule(Out)),
            UINT,
            Flags(Four, &f::SCHED_GETATTR),
        ],
    ),
    other("getpgid", &[PID], ResultKind::Process(PidKind::Group)),
    other("getsid", &[PID], SESSION),
    other("getpgrp", &[], ResultKind::Process(PidKind::Group)),
    other(
        "getpid getppid fork vfork",
        &[],
        ResultKind::Process(PidKind::Process),
    ),
    other("gettid", &[], ResultKind::Process(PidKind::Thread)),
    m("setpgid", &[PID, GROUP]),
    m("setuid setgid setfsuid setfsgid", &[Id]),
    m("setreuid setregid", &[Id, Id]),
    m("setresuid setresgid", &[Id, Id, Id]),
    m("getresuid getresgid", &[RESUID, RESUID, RESUID]),
    m("getgroups", &[INT, Many(Out, &Id, LengthSource::Result)]),
    m(
        "setgroups",
        &[INT, Many(In, &Id, LengthSource::UpTo(0, 65536))],
    ),
    m(
        "capget",
        &[Special(S::CapabilityHeader), Special(S::Capabilities(Out))],
    ),
    m(
        "capset",
        &[Special(S::CapabilityHeader), Special(S::Capabilities(In))],
    ),
    other("personality", &[Special(S::Persona)], ResultKind::Persona),
    fd("pidfd_open", &[PID, Flags(Four, &f::PIDFD)]),
    fd("pidfd_getfd", &[Fd, FdBehind(0), Hex(Four)]),
    m(
        "pidfd_send_signal",
        &[
            Fd,
            Signal,
            Special(S::Information(In)),
            Flags(Four, &f::PIDFD_SIGNAL),
        ],
    ),
    m(
        "rseq",
        &[
            Special(S::RestartableSequences),
            UINT,
            Flags(Four, &f::RSEQ),
            Hex(Four),
        ],
    ),
    m(
        "getrandom",
        &[Special(S::Random), SIZE, Flags(Four, &f::GETRANDOM)],
    ),
    other(
        "membarrier",
        &[
            Special(S::Membarrier),
            Flags(Four, &f::MEMBARRIER_FLAGS),
            INT,
        ],
        ResultKind::Membarrier,
    ),
    m("times", &[To(Out, &Structure(&s::TMS))]),
    m("uname", &[To(Out, &Structure(&s::UTSNAME))]),
    m("sysinfo", &[To(Out, &Structure(&s::SYSINFO))]),
    m(
        "syslog",
        &[
            Special(S::SyslogType),
            By(0, LOGGED, &Address),
            By(0, LOG_SIZE, &INT),
        ],
    ),
    m("getcpu", &[To(Out, &UINT), To(Out, &UINT), Address]),
    m(
        "sethostname setdomainname",
        &[
            Within(1, 0, 64, &Bytes(In, LengthSource::Argument(1))),
            UINT,
        ],
    ),
    // memory
    hex(
        "mmap mmap2",
        &[
            Address,
            SIZE,
            Flags(Eight, &f::PROT),
            OneAndFlags(Four, 15, &f::MAP_TYPE, &f::MAP),
            Fd,
            Hex(Eight),
        ],
    ),
    m("munmap", &[Address, SIZE]),
    m("mprotect", &[Address, SIZE, Flags(Eight, &f::PROT)]),
    m(
        "pkey_mprotect",
        &[Address, SIZE, Flags(Eight, &f::PROT), INT],
    ),
    m("pkey_alloc", &[Hex(Eight), Flags(Eight, &f::PKEY)]),
    hex("brk", &[Address]),
    hex(
        "mremap",
        &[
            Address,
            SIZE,
            SIZE,
            Flags(Eight, &f::MREMAP),
            Special(S::NewAddress),
        ],
    ),
    m("madvise", &[Address, SIZE, One(Four, &f::MADVISE)]),
    m("mlock munlock", &[Address, SIZE]),
    m("mlock2", &[Address, SIZE, Flags(Four, &f::MLOCK2)]),
    m("mlockall", &[Flags(Four, &f::MLOCKALL)]),
    m("msync", &[Address, SIZE, Flags(Four, &f::MSYNC)]),
    m("mincore", &[Address, SIZE, Special(S::Resident)]),
    m("mseal", &[Address, SIZE, Hex(Eight)]),
    hex(
        "map_shadow_stack",
        &[Address, SIZE, Flags(Four, &f::SHADOW_STACK)],
    ),
    // signals
    m(
        "rt_sigaction",
        &[
            Signal,
            Special(S::Action(In)),
            Special(S::Action(Out)),
            SIZE,
        ],
    ),
    m(
        "rt_sigprocmask",
        &[
            One(Four, &f::SIG_HOW),
            Special(S::Signals(In)),
            Special(S::Signals(Out)),
            SIZE,
        ],
    ),
    m("rt_sigpending", &[Special(S::Signals(Out)), SIZE]),
    m("rt_sigsuspend", &[Special(S::Signals(In)), SIZE]),
    other(
        "rt_sigtimedwait",
        &[
            Special(S::Signals(In)),
            Special(S::Information(Out)),
            TIME_IN,
            SIZE,
        ],
        ResultKind::Signal,
    ),
    m(
        "rt_sigqueueinfo",
        &[PID, Signal, Special(S::Information(In))],
    ),
    m(
        "rt_tgsigqueueinfo",
        &[PID, TID, Signal, Special(S::Information(In))],
    ),
    m("kill", &[EITHER, Signal]),
    m("tkill", &[TID, Signal]),
    m("tgkill", &[PID, TID, Signal]),
    m("alarm", &[UINT]),
    m(
        "sigaltstack",
        &[
            To(In, &Structure(&s::STACK)),
            To(Out, &Structure(&s::STACK)),
        ],
    ),
    m(
        "getitimer",
        &[One(Four, &f::ITIMER), To(Out, &Structure(&s::ITIMERVAL))],
    ),
    m(
        "setitimer",
        &[
            One(Four, &f::ITIMER),
            To(In, &Structure(&s::ITIMERVAL)),
            To(Out, &Structure(&s::ITIMERVAL)),
        ],
    ),
    // sockets
    fd(
        "socket",
        &[
            One(Four, &f::DOMAIN),
            OneAndFlags(Four, 15, &f::SOCK_TYPE, &f::SOCK_FLAGS),
            Special(S::Protocol),
        ],
    ),
    m(
        "socketpair",
        &[
            One(Four, &f::DOMAIN),
            OneAndFlags(Four, 15, &f::SOCK_TYPE, &f::SOCK_FLAGS),
            Special(S::Protocol),
            PIPE,
        ],
    ),
    m("bind connect", &[Fd, Special(S::Address(2)), INT]),
    m("listen", &[Fd, INT]),
    fd(
        "accept",
        &[Fd, Special(S::AddressOut(2)), Special(S::AddressLength)],
    ),
    fd(
        "accept4",
        &[
            Fd,
            Special(S::AddressOut(2)),
            Special(S::AddressLength),
            Flags(Four, &f::SOCK_FLAGS),
        ],
    ),
    m(
        "getsockname getpeername",
        &[Fd, Special(S::AddressOut(2)), Special(S::AddressLength)],
    ),
    m(
        "sendto",
        &[
            Fd,
            Special(S::Spoken(In, LengthSource::Argument(2))),
            SIZE,
            Flags(Four, &f::MSG),
            Special(S::Address(5)),
            INT,
        ],
    ),
    m(
        "recvfrom",
        &[
            Fd,
            Special(S::Spoken(Out, LengthSource::ResultWithin(2))),
            SIZE,
            Flags(Four, &f::MSG),
            Special(S::AddressOut(5)),
            Special(S::AddressLength),
        ],
    ),
    m(
        "sendmsg",
        &[Fd, Special(S::Message(In)), Flags(Four, &f::MSG)],
    ),
    m(
        "recvmsg",
        &[Fd, Special(S::Message(Out)), Flags(Four, &f::MSG)],
    ),
    m(
        "sendmmsg",
        &[Fd, Special(S::Messages(In)), UINT, Flags(Four, &f::MSG)],
    ),
    other(
        "recvmmsg",
        &[
            Fd,
            Special(S::Messages(Out)),
            UINT,
            Flags(Four, &f::MSG),
            TIME_IN,
        ],
        ResultKind::Received,
    ),
    m("shutdown", &[Fd, One(Four, &f::SHUT)]),
    m(
        "setsockopt",
        &[
            Fd,
            One(Four, &f::SOL),
            Special(S::OptionName),
            Special(S::Option(In)),
            INT,
        ],
    ),
    m(
        "getsockopt",
        &[
            Fd,
            One(Four, &f::SOL),
            Special(S::OptionName),
            Special(S::Option(Out)),
            Special(S::OptionLength),
        ],
    ),
    // time
    m("nanosleep", &[TIME_IN, Special(S::Remainder)]),
    m(
        "clock_nanosleep",
        &[
            CLOCK,
            Flags(Four, &f::TIMER_ABSTIME),
            TIME_IN,
            Special(S::Remainder),
        ],
    ),
    m("clock_gettime clock_getres", &[CLOCK, TIME_OUT]),
    m("clock_settime", &[CLOCK, TIME_IN]),
    m(
        "gettimeofday",
        &[
            To(Out, &Structure(&s::TIMEVAL)),
            To(Out, &Structure(&s::TIMEZONE)),
        ],
    ),
    m(
        "settimeofday",
        &[
            To(In, &Structure(&s::TIMEVAL)),
            To(In, &Structure(&s::TIMEZONE)),
        ],
    ),
    other("time", &[To(Out, &Moment)], ResultKind::Moment),
    m("timer_create", &[CLOCK, Special(S::Event), To(Out, &INT)]),
    m(
        "timer_settime",
        &[
            INT,
            Flags(Four, &f::TIMER_ABSTIME),
            To(In, &Structure(&s::ITIMERSPEC)),
            To(Out, &Structure(&s::ITIMERSPEC)),
        ],
    ),
    m("timer_gettime", &[INT, To(Out, &Structure(&s::ITIMERSPEC))]),
    m("timer_getoverrun timer_delete", &[INT]),
    // futexes
    m(
        "futex",
        &[
            Address,
            Special(S::FutexOperation),
            Special(S::FutexValue),
            Special(S::FutexTimeout),
            Address,
            Special(S::FutexLast),
        ],
    ),
    // between processes
    m("shmget", &[Special(S::IpcKey), SIZE, Special(S::IpcMode)]),
    hex("shmat", &[INT, Address, Flags(Four, &f::SHMAT)]),
    m(
        "kcmp",
        &[
            PID,
            PID,
            One(Four, &f::KCMP),
            By(2, COMPARED, &Hex(Eight)),
            By(2, COMPARED_WITH, &Hex(Eight)),
        ],
    ),
    m("shmdt", &[Address]),
    m("semget", &[Special(S::IpcKey), INT, Special(S::IpcMode)]),
    m(
        "semop",
        &[
            INT,
            Many(In, &Structure(&s::SEMBUF), LengthSource::Argument(2)),
            UINT,
        ],
    ),
    m(
        "semtimedop",
        &[
            INT,
            Many(In, &Structure(&s::SEMBUF), LengthSource::Argument(2)),
            UINT,
            TIME_IN,
        ],
    ),
    m("msgget", &[Special(S::IpcKey), Special(S::IpcMode)]),
    fd(
        "mq_open",
        &[
            PATH,
            Special(S::OpenFlags),
            Special(S::OpenMode(1)),
            To(In, &Structure(&s::MQ_ATTR_OPEN)),
        ],
    ),
    m("mq_unlink", &[PATH]),
    m(
        "mq_timedsend",
        &[
            Fd,
            Bytes(In, LengthSource::Argument(2)),
            SIZE,
            UINT,
            TIME_IN,
        ],
    ),
    m(
        "mq_timedreceive",
        &[
            Fd,
            Bytes(Out, LengthSource::Result),
            SIZE,
            To(Out, &UINT),
            TIME_IN,
        ],
    ),
];

pub use placement::ERROR_OR_NUMBER;
pub use prctl::answer as prctl_answer;

/// The meanings by the names of their calls: the first that names one holds.
static BY_NAME: LazyLock<HashMap<&str, &Meaning>> = LazyLock::new(|| {
    let all = [
        MEANINGS,
        attributes::MEANINGS,
        futexes::MEANINGS,
        security::MEANINGS,
        rare::MEANINGS,
        placement::MEANINGS,
        rings::MEANINGS,
        bpf::MEANINGS,
        aio::MEANINGS,
        segments::MEANINGS,
        tracing::MEANINGS,
        counters::MEANINGS,
    ];
    let mut by_name = HashMap::new();
    for meaning in all.into_iter().flatten() {
        for name in meaning.names.split(' ') {
            by_name.entry(name).or_insert(meaning);
        }
    }
    by_name
});

/// The row of a call: what is known of its arguments, else what their types say.
pub fn row(name: &'static str, arguments: &'static [Argument], narrow: bool) -> SyscallDefinition {
    let stacked = name == "rt_sigreturn" && !narrow;
    let known = BY_NAME.get(name).copied();
    let mut kinds = [Hidden; 6];
    for (number, argument) in arguments.iter().enumerate().take(6) {
        let meant = known.and_then(|meaning| meaning.kinds.get(number)).copied();
        // Structures of 32-bit programs lie otherwise in memory, and offsets take two registers.
        kinds[number] = match meant {
            Some(kind)
                if !narrow
                    || (plain(kind)
                        && known.is_some_and(|known| known.kinds.len() == arguments.len())) =>
            {
                kind
            }
            _ => by_type(argument),
        };
    }
    SyscallDefinition {
        name,
        arguments,
        kinds,
        result: known.map_or(ResultKind::Number, |meaning| meaning.answer),
        stacked,
        classes: classes::classes_of_call(name),
    }
}

/// Whether this means the same for 32-bit programs.
fn plain(kind: ValueKind) -> bool {
    !matches!(
        kind,
        To(..)
            | Many(..)
            | By(..)
            | Within(..)
            | Per(..)
            | ByAbi(..)
            | Structure(_)
            | Array(..)
            | Sized(..)
            | Special(_)
            | Hidden
    ) || matches!(
        kind,
        Special(
            S::OpenFlags
                | S::OpenMode(_)
                | S::Request
                | S::Protocol
                | S::OptionName
                | S::Signals(_)
                | S::AddressLength
                | S::Address(_)
                | S::AddressOut(_)
                | S::Spoken(..)
        )
    )
}

/// What a type alone says.
fn by_type(argument: &Argument) -> ValueKind {
    let c_type = argument.c_type;
    if c_type.ends_with('*') {
        return match argument.name {
            "filename" | "pathname" | "path" | "oldname" | "newname"
                if c_type == "const char *" =>
            {
                PATH
            }
            _ if c_type == "const char *" => TEXT,
            _ => Address,
        };
    }
    match c_type {
        _ if matches!(argument.name, "dfd" | "dirfd" | "olddfd" | "newdfd") => DirFd,
        _ if matches!(
            argument.name,
            "fd" | "fildes" | "fd_in" | "fd_out" | "epfd" | "mqdes"
        ) =>
        {
            Fd
        }
        "umode_t" => Permissions,
        "uid_t" | "gid_t" => Id,
        "int" | "pid_t" | "key_t" | "compat_pid_t" | "compat_int_t" | "s32" | "__s32" | "rwf_t"
        | "clockid_t" | "timer_t" | "mqd_t" | "key_serial_t" | "aio_context_t" => INT,
        _ if argument.name.contains("flag") => Hex(Eight),
        "unsigned int" | "unsigned" | "u32" | "compat_size_t" | "compat_uint_t" | "qid_t"
        | "__u32" | "compat_ulong_t" => UINT,
        "long" | "loff_t" | "off_t" | "compat_off_t" => LONG,
        "size_t" | "u64" | "__u64" => SIZE,
        "short" => Signed(Two),
        _ => Hex(Eight),
    }
}
