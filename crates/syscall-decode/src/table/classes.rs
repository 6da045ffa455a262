//! Classes of calls, by which a trace is narrowed: `%file`, `%network`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A class of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyscallClass {
    /// Those that take a path.
    File,
    /// Those that make, replace, await or end processes.
    Process,
    /// Those of sockets.
    Network,
    /// Those that map memory.
    Memory,
    /// Those of signals.
    Signal,
    /// Those that take or make file descriptors.
    Desc,
    /// Those of System V's inter-process communication.
    Ipc,
    /// Those of users' and groups' identities.
    Creds,
    /// Those that read or set clocks.
    Clock,
    /// The variants of `stat`.
    Stat,
    /// The variants of `lstat`.
    Lstat,
    /// The variants of `fstat` and `fstatat`, and `statx`.
    Fstat,
    /// All three: `%%stat`.
    AnyStat,
    /// The variants of `statfs`.
    Statfs,
    /// The variants of `fstatfs`.
    Fstatfs,
    /// Both, and `ustat`: `%%statfs`.
    AnyStatfs,
    /// Those that always succeed and have no arguments.
    Pure,
}

impl SyscallClass {
    /// All of them.
    pub const ALL: [SyscallClass; 17] = [
        SyscallClass::File,
        SyscallClass::Process,
        SyscallClass::Network,
        SyscallClass::Memory,
        SyscallClass::Signal,
        SyscallClass::Desc,
        SyscallClass::Ipc,
        SyscallClass::Creds,
        SyscallClass::Clock,
        SyscallClass::Stat,
        SyscallClass::Lstat,
        SyscallClass::Fstat,
        SyscallClass::AnyStat,
        SyscallClass::Statfs,
        SyscallClass::Fstatfs,
        SyscallClass::AnyStatfs,
        SyscallClass::Pure,
    ];

    /// Its name, without the first percent sign.
    pub fn name(self) -> &'static str {
        match self {
            SyscallClass::File => "file",
            SyscallClass::Process => "process",
            SyscallClass::Network => "network",
            SyscallClass::Memory => "memory",
            SyscallClass::Signal => "signal",
            SyscallClass::Desc => "desc",
            SyscallClass::Ipc => "ipc",
            SyscallClass::Creds => "creds",
            SyscallClass::Clock => "clock",
            SyscallClass::Stat => "stat",
            SyscallClass::Lstat => "lstat",
            SyscallClass::Fstat => "fstat",
            SyscallClass::AnyStat => "%stat",
            SyscallClass::Statfs => "statfs",
            SyscallClass::Fstatfs => "fstatfs",
            SyscallClass::AnyStatfs => "%statfs",
            SyscallClass::Pure => "pure",
        }
    }

    /// The class of this name, without the percent sign; also under the other names that strace knows.
    pub fn from_name(name: &str) -> Option<SyscallClass> {
        if name == "net" {
            return Some(SyscallClass::Network);
        }
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    fn calls(self) -> &'static str {
        match self {
            SyscallClass::File => FILE,
            SyscallClass::Process => {
                "clone clone3 execve execveat exit exit_group fork kill pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo tgkill tkill vfork wait4 waitid waitpid"
            }
            SyscallClass::Network => {
                "accept accept4 bind connect getpeername getpmsg getsockname getsockopt listen putpmsg recv recvfrom recvmmsg recvmmsg_time64 recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socket socketcall socketpair"
            }
            SyscallClass::Memory => {
                "brk get_mempolicy io_destroy io_setup madvise map_shadow_stack mbind memfd_secret migrate_pages mincore mlock mlock2 mlockall mmap mmap2 move_pages mprotect mremap mseal msync munlock munlockall munmap pkey_mprotect process_madvise remap_file_pages set_mempolicy set_mempolicy_home_node shmat shmdt"
            }
            SyscallClass::Signal => {
                "kill pause pidfd_send_signal rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sgetmask sigaction sigaltstack signal signalfd signalfd4 sigpending sigprocmask sigreturn sigsuspend ssetmask tgkill tkill"
            }
            SyscallClass::Desc => DESC,
            SyscallClass::Ipc => {
                "ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget"
            }
            SyscallClass::Creds => {
                "capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid getresgid32 getresuid getresuid32 getuid getuid32 prctl setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32"
            }
            SyscallClass::Clock => {
                "adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_settime clock_settime64 gettimeofday settimeofday stime time"
            }
            SyscallClass::Stat => "stat stat64 oldstat",
            SyscallClass::Lstat => "lstat lstat64 oldlstat",
            SyscallClass::Fstat => "fstat fstat64 oldfstat newfstatat fstatat64 statx",
            SyscallClass::AnyStat => {
                "stat stat64 oldstat lstat lstat64 oldlstat fstat fstat64 oldfstat newfstatat fstatat64 statx"
            }
            SyscallClass::Statfs => "statfs statfs64",
            SyscallClass::Fstatfs => "fstatfs fstatfs64",
            SyscallClass::AnyStatfs => "statfs statfs64 fstatfs fstatfs64 ustat",
            SyscallClass::Pure => {
                "getegid getegid32 geteuid geteuid32 getgid getgid32 getpgrp getpid getppid gettid getuid getuid32"
            }
        }
    }
}

const FILE: &str = "access acct chdir chmod chown chown32 chroot creat execve execveat faccessat faccessat2 fanotify_mark fchmodat fchmodat2 fchownat file_getattr file_setattr fspick fstatat64 futimesat getcwd getxattr getxattrat inotify_add_watch lchown lchown32 lgetxattr link linkat listxattr listxattrat llistxattr lremovexattr lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat mount mount_setattr move_mount name_to_handle_at newfstatat oldlstat oldstat open open_tree open_tree_attr openat openat2 pivot_root quotactl readlink readlinkat removexattr removexattrat rename renameat renameat2 rmdir setxattr setxattrat stat stat64 statfs statfs64 statx swapoff swapon symlink symlinkat truncate truncate64 umount umount2 unlink unlinkat uselib utime utimensat utimensat_time64 utimes";

const DESC: &str = "accept accept4 bind bpf cachestat close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execveat faccessat faccessat2 fadvise64 fadvise64_64 fallocate fanotify_init fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr finit_module flistxattr flock fremovexattr fsconfig fsetxattr fsmount fsopen fspick fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getdents getdents64 getpeername getsockname getsockopt getxattrat inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_uring_enter io_uring_register io_uring_setup ioctl kcmp kexec_file_load landlock_add_rule landlock_create_ruleset landlock_restrict_self linkat listen listxattrat lseek memfd_create memfd_secret mkdirat mknodat mmap mmap2 mount_setattr move_mount mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 name_to_handle_at newfstatat oldfstat open open_by_handle_at open_tree open_tree_attr openat openat2 perf_event_open pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 poll ppoll ppoll_time64 pread64 preadv preadv2 process_madvise process_mrelease pselect6 pselect6_time64 pwrite64 pwritev pwritev2 quotactl_fd read readahead readlinkat readv recv recvfrom recvmmsg recvmmsg_time64 recvmsg removexattrat renameat renameat2 select _newselect send sendfile sendfile64 sendmmsg sendmsg sendto setns setsockopt setxattrat shutdown signalfd signalfd4 socket socketpair splice statx symlinkat sync_file_range syncfs tee timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 unlinkat utimensat utimensat_time64 vmsplice write writev _llseek";

/// The classes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyscallClasses(u32);

impl SyscallClasses {
    /// Whether the call belongs to this one.
    pub fn contains(self, class: SyscallClass) -> bool {
        self.0 & (1 << class as u16) != 0
    }
}

static BY_NAME: LazyLock<HashMap<&'static str, SyscallClasses>> = LazyLock::new(|| {
    let mut classes: HashMap<_, SyscallClasses> = HashMap::new();
    for class in SyscallClass::ALL {
        for name in class.calls().split(' ') {
            classes.entry(name).or_default().0 |= 1 << class as u16;
        }
    }
    classes
});

/// The classes of a call by its name.
pub fn of(name: &str) -> SyscallClasses {
    BY_NAME.get(name).copied().unwrap_or_default()
}
