//! Every call's name, number and arguments, as the kernel has them; made by `examples/table.rs`.

use super::Argument;

const fn a(name: &'static str, c_type: &'static str) -> Argument {
    Argument { name, c_type }
}

/// Names and arguments; the tables below say by number which.
pub static CALLS: &[(&str, &[Argument])] = &[
    (
        "read",
        &[
            a("fd", "unsigned int"),
            a("buf", "char *"),
            a("count", "size_t"),
        ],
    ),
    (
        "write",
        &[
            a("fd", "unsigned int"),
            a("buf", "const char *"),
            a("count", "size_t"),
        ],
    ),
    (
        "open",
        &[
            a("filename", "const char *"),
            a("flags", "int"),
            a("mode", "umode_t"),
        ],
    ),
    ("close", &[a("fd", "unsigned int")]),
    (
        "stat",
        &[a("filename", "const char *"), a("statbuf", "struct stat *")],
    ),
    (
        "fstat",
        &[a("fd", "unsigned int"), a("statbuf", "struct stat *")],
    ),
    (
        "lstat",
        &[a("filename", "const char *"), a("statbuf", "struct stat *")],
    ),
    (
        "poll",
        &[
            a("ufds", "struct pollfd *"),
            a("nfds", "unsigned int"),
            a("timeout_msecs", "int"),
        ],
    ),
    (
        "lseek",
        &[
            a("fd", "unsigned int"),
            a("offset", "off_t"),
            a("whence", "unsigned int"),
        ],
    ),
    (
        "mmap",
        &[
            a("addr", "unsigned long"),
            a("len", "unsigned long"),
            a("prot", "unsigned long"),
            a("flags", "unsigned long"),
            a("fd", "unsigned long"),
            a("off", "unsigned long"),
        ],
    ),
    (
        "mprotect",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("prot", "unsigned long"),
        ],
    ),
    ("munmap", &[a("addr", "unsigned long"), a("len", "size_t")]),
    ("brk", &[a("brk", "unsigned long")]),
    (
        "rt_sigaction",
        &[
            a("sig", "int"),
            a("act", "const struct sigaction *"),
            a("oact", "struct sigaction *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    (
        "rt_sigprocmask",
        &[
            a("how", "int"),
            a("nset", "sigset_t *"),
            a("oset", "sigset_t *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    ("rt_sigreturn", &[]),
    (
        "ioctl",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("arg", "unsigned long"),
        ],
    ),
    (
        "pread64",
        &[
            a("fd", "unsigned int"),
            a("buf", "char *"),
            a("count", "size_t"),
            a("pos", "loff_t"),
        ],
    ),
    (
        "pwrite64",
        &[
            a("fd", "unsigned int"),
            a("buf", "const char *"),
            a("count", "size_t"),
            a("pos", "loff_t"),
        ],
    ),
    (
        "readv",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
        ],
    ),
    (
        "writev",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
        ],
    ),
    ("access", &[a("filename", "const char *"), a("mode", "int")]),
    ("pipe", &[a("fildes", "int *")]),
    (
        "select",
        &[
            a("n", "int"),
            a("inp", "fd_set *"),
            a("outp", "fd_set *"),
            a("exp", "fd_set *"),
            a("tvp", "struct __kernel_old_timeval *"),
        ],
    ),
    ("sched_yield", &[]),
    (
        "mremap",
        &[
            a("addr", "unsigned long"),
            a("old_len", "unsigned long"),
            a("new_len", "unsigned long"),
            a("flags", "unsigned long"),
            a("new_addr", "unsigned long"),
        ],
    ),
    (
        "msync",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "mincore",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("vec", "unsigned char *"),
        ],
    ),
    (
        "madvise",
        &[
            a("start", "unsigned long"),
            a("len_in", "size_t"),
            a("behavior", "int"),
        ],
    ),
    (
        "shmget",
        &[a("key", "key_t"), a("size", "size_t"), a("shmflg", "int")],
    ),
    (
        "shmat",
        &[
            a("shmid", "int"),
            a("shmaddr", "char *"),
            a("shmflg", "int"),
        ],
    ),
    (
        "shmctl",
        &[
            a("shmid", "int"),
            a("cmd", "int"),
            a("buf", "struct shmid_ds *"),
        ],
    ),
    ("dup", &[a("fildes", "unsigned int")]),
    (
        "dup2",
        &[a("oldfd", "unsigned int"), a("newfd", "unsigned int")],
    ),
    ("pause", &[]),
    (
        "nanosleep",
        &[
            a("rqtp", "struct __kernel_timespec *"),
            a("rmtp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "getitimer",
        &[
            a("which", "int"),
            a("value", "struct __kernel_old_itimerval *"),
        ],
    ),
    ("alarm", &[a("seconds", "unsigned int")]),
    (
        "setitimer",
        &[
            a("which", "int"),
            a("value", "struct __kernel_old_itimerval *"),
            a("ovalue", "struct __kernel_old_itimerval *"),
        ],
    ),
    ("getpid", &[]),
    (
        "sendfile",
        &[
            a("out_fd", "int"),
            a("in_fd", "int"),
            a("offset", "loff_t *"),
            a("count", "size_t"),
        ],
    ),
    (
        "socket",
        &[a("family", "int"), a("type", "int"), a("protocol", "int")],
    ),
    (
        "connect",
        &[
            a("fd", "int"),
            a("uservaddr", "struct sockaddr *"),
            a("addrlen", "int"),
        ],
    ),
    (
        "accept",
        &[
            a("fd", "int"),
            a("upeer_sockaddr", "struct sockaddr *"),
            a("upeer_addrlen", "int *"),
        ],
    ),
    (
        "sendto",
        &[
            a("fd", "int"),
            a("buff", "void *"),
            a("len", "size_t"),
            a("flags", "unsigned int"),
            a("addr", "struct sockaddr *"),
            a("addr_len", "int"),
        ],
    ),
    (
        "recvfrom",
        &[
            a("fd", "int"),
            a("ubuf", "void *"),
            a("size", "size_t"),
            a("flags", "unsigned int"),
            a("addr", "struct sockaddr *"),
            a("addr_len", "int *"),
        ],
    ),
    (
        "sendmsg",
        &[
            a("fd", "int"),
            a("msg", "struct user_msghdr *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "recvmsg",
        &[
            a("fd", "int"),
            a("msg", "struct user_msghdr *"),
            a("flags", "unsigned int"),
        ],
    ),
    ("shutdown", &[a("fd", "int"), a("how", "int")]),
    (
        "bind",
        &[
            a("fd", "int"),
            a("umyaddr", "struct sockaddr *"),
            a("addrlen", "int"),
        ],
    ),
    ("listen", &[a("fd", "int"), a("backlog", "int")]),
    (
        "getsockname",
        &[
            a("fd", "int"),
            a("usockaddr", "struct sockaddr *"),
            a("usockaddr_len", "int *"),
        ],
    ),
    (
        "getpeername",
        &[
            a("fd", "int"),
            a("usockaddr", "struct sockaddr *"),
            a("usockaddr_len", "int *"),
        ],
    ),
    (
        "socketpair",
        &[
            a("family", "int"),
            a("type", "int"),
            a("protocol", "int"),
            a("usockvec", "int *"),
        ],
    ),
    (
        "setsockopt",
        &[
            a("fd", "int"),
            a("level", "int"),
            a("optname", "int"),
            a("optval", "char *"),
            a("optlen", "int"),
        ],
    ),
    (
        "getsockopt",
        &[
            a("fd", "int"),
            a("level", "int"),
            a("optname", "int"),
            a("optval", "char *"),
            a("optlen", "int *"),
        ],
    ),
    (
        "clone",
        &[
            a("clone_flags", "unsigned long"),
            a("newsp", "unsigned long"),
            a("parent_tidptr", "int *"),
            a("child_tidptr", "int *"),
            a("tls", "unsigned long"),
        ],
    ),
    ("fork", &[]),
    ("vfork", &[]),
    (
        "execve",
        &[
            a("filename", "const char *"),
            a("argv", "const char *const *"),
            a("envp", "const char *const *"),
        ],
    ),
    ("exit", &[a("error_code", "int")]),
    (
        "wait4",
        &[
            a("upid", "pid_t"),
            a("stat_addr", "int *"),
            a("options", "int"),
            a("ru", "struct rusage *"),
        ],
    ),
    ("kill", &[a("pid", "pid_t"), a("sig", "int")]),
    ("uname", &[a("name", "struct new_utsname *")]),
    (
        "semget",
        &[a("key", "key_t"), a("nsems", "int"), a("semflg", "int")],
    ),
    (
        "semop",
        &[
            a("semid", "int"),
            a("tsops", "struct sembuf *"),
            a("nsops", "unsigned"),
        ],
    ),
    (
        "semctl",
        &[
            a("semid", "int"),
            a("semnum", "int"),
            a("cmd", "int"),
            a("arg", "unsigned long"),
        ],
    ),
    ("shmdt", &[a("shmaddr", "char *")]),
    ("msgget", &[a("key", "key_t"), a("msgflg", "int")]),
    (
        "msgsnd",
        &[
            a("msqid", "int"),
            a("msgp", "struct msgbuf *"),
            a("msgsz", "size_t"),
            a("msgflg", "int"),
        ],
    ),
    (
        "msgrcv",
        &[
            a("msqid", "int"),
            a("msgp", "struct msgbuf *"),
            a("msgsz", "size_t"),
            a("msgtyp", "long"),
            a("msgflg", "int"),
        ],
    ),
    (
        "msgctl",
        &[
            a("msqid", "int"),
            a("cmd", "int"),
            a("buf", "struct msqid_ds *"),
        ],
    ),
    (
        "fcntl",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("arg", "unsigned long"),
        ],
    ),
    (
        "flock",
        &[a("fd", "unsigned int"), a("cmd", "unsigned int")],
    ),
    ("fsync", &[a("fd", "unsigned int")]),
    ("fdatasync", &[a("fd", "unsigned int")]),
    (
        "truncate",
        &[a("path", "const char *"), a("length", "long")],
    ),
    (
        "ftruncate",
        &[a("fd", "unsigned int"), a("length", "off_t")],
    ),
    (
        "getdents",
        &[
            a("fd", "unsigned int"),
            a("dirent", "struct linux_dirent *"),
            a("count", "unsigned int"),
        ],
    ),
    ("getcwd", &[a("buf", "char *"), a("size", "unsigned long")]),
    ("chdir", &[a("filename", "const char *")]),
    ("fchdir", &[a("fd", "unsigned int")]),
    (
        "rename",
        &[a("oldname", "const char *"), a("newname", "const char *")],
    ),
    (
        "mkdir",
        &[a("pathname", "const char *"), a("mode", "umode_t")],
    ),
    ("rmdir", &[a("pathname", "const char *")]),
    (
        "creat",
        &[a("pathname", "const char *"), a("mode", "umode_t")],
    ),
    (
        "link",
        &[a("oldname", "const char *"), a("newname", "const char *")],
    ),
    ("unlink", &[a("pathname", "const char *")]),
    (
        "symlink",
        &[a("oldname", "const char *"), a("newname", "const char *")],
    ),
    (
        "readlink",
        &[
            a("path", "const char *"),
            a("buf", "char *"),
            a("bufsiz", "int"),
        ],
    ),
    (
        "chmod",
        &[a("filename", "const char *"), a("mode", "umode_t")],
    ),
    ("fchmod", &[a("fd", "unsigned int"), a("mode", "umode_t")]),
    (
        "chown",
        &[
            a("filename", "const char *"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    (
        "fchown",
        &[
            a("fd", "unsigned int"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    (
        "lchown",
        &[
            a("filename", "const char *"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    ("umask", &[a("mask", "int")]),
    (
        "gettimeofday",
        &[
            a("tv", "struct __kernel_old_timeval *"),
            a("tz", "struct timezone *"),
        ],
    ),
    (
        "getrlimit",
        &[a("resource", "unsigned int"), a("rlim", "struct rlimit *")],
    ),
    ("getrusage", &[a("who", "int"), a("ru", "struct rusage *")]),
    ("sysinfo", &[a("info", "struct sysinfo *")]),
    ("times", &[a("tbuf", "struct tms *")]),
    (
        "ptrace",
        &[
            a("request", "long"),
            a("pid", "long"),
            a("addr", "unsigned long"),
            a("data", "unsigned long"),
        ],
    ),
    ("getuid", &[]),
    (
        "syslog",
        &[a("type", "int"), a("buf", "char *"), a("len", "int")],
    ),
    ("getgid", &[]),
    ("setuid", &[a("uid", "uid_t")]),
    ("setgid", &[a("gid", "gid_t")]),
    ("geteuid", &[]),
    ("getegid", &[]),
    ("setpgid", &[a("pid", "pid_t"), a("pgid", "pid_t")]),
    ("getppid", &[]),
    ("getpgrp", &[]),
    ("setsid", &[]),
    ("setreuid", &[a("ruid", "uid_t"), a("euid", "uid_t")]),
    ("setregid", &[a("rgid", "gid_t"), a("egid", "gid_t")]),
    (
        "getgroups",
        &[a("gidsetsize", "int"), a("grouplist", "gid_t *")],
    ),
    (
        "setgroups",
        &[a("gidsetsize", "int"), a("grouplist", "gid_t *")],
    ),
    (
        "setresuid",
        &[a("ruid", "uid_t"), a("euid", "uid_t"), a("suid", "uid_t")],
    ),
    (
        "getresuid",
        &[
            a("ruidp", "uid_t *"),
            a("euidp", "uid_t *"),
            a("suidp", "uid_t *"),
        ],
    ),
    (
        "setresgid",
        &[a("rgid", "gid_t"), a("egid", "gid_t"), a("sgid", "gid_t")],
    ),
    (
        "getresgid",
        &[
            a("rgidp", "gid_t *"),
            a("egidp", "gid_t *"),
            a("sgidp", "gid_t *"),
        ],
    ),
    ("getpgid", &[a("pid", "pid_t")]),
    ("setfsuid", &[a("uid", "uid_t")]),
    ("setfsgid", &[a("gid", "gid_t")]),
    ("getsid", &[a("pid", "pid_t")]),
    (
        "capget",
        &[
            a("header", "cap_user_header_t"),
            a("dataptr", "cap_user_data_t"),
        ],
    ),
    (
        "capset",
        &[
            a("header", "cap_user_header_t"),
            a("data", "const cap_user_data_t"),
        ],
    ),
    (
        "rt_sigpending",
        &[a("uset", "sigset_t *"), a("sigsetsize", "size_t")],
    ),
    (
        "rt_sigtimedwait",
        &[
            a("uthese", "const sigset_t *"),
            a("uinfo", "siginfo_t *"),
            a("uts", "const struct __kernel_timespec *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    (
        "rt_sigqueueinfo",
        &[
            a("pid", "pid_t"),
            a("sig", "int"),
            a("uinfo", "siginfo_t *"),
        ],
    ),
    (
        "rt_sigsuspend",
        &[a("unewset", "sigset_t *"), a("sigsetsize", "size_t")],
    ),
    (
        "sigaltstack",
        &[a("uss", "const stack_t *"), a("uoss", "stack_t *")],
    ),
    (
        "utime",
        &[a("filename", "char *"), a("times", "struct utimbuf *")],
    ),
    (
        "mknod",
        &[
            a("filename", "const char *"),
            a("mode", "umode_t"),
            a("dev", "unsigned"),
        ],
    ),
    ("uselib", &[a("library", "const char *")]),
    ("personality", &[a("personality", "unsigned int")]),
    (
        "ustat",
        &[a("dev", "unsigned"), a("ubuf", "struct ustat *")],
    ),
    (
        "statfs",
        &[a("pathname", "const char *"), a("buf", "struct statfs *")],
    ),
    (
        "fstatfs",
        &[a("fd", "unsigned int"), a("buf", "struct statfs *")],
    ),
    (
        "sysfs",
        &[
            a("option", "int"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
        ],
    ),
    ("getpriority", &[a("which", "int"), a("who", "int")]),
    (
        "setpriority",
        &[a("which", "int"), a("who", "int"), a("niceval", "int")],
    ),
    (
        "sched_setparam",
        &[a("pid", "pid_t"), a("param", "struct sched_param *")],
    ),
    (
        "sched_getparam",
        &[a("pid", "pid_t"), a("param", "struct sched_param *")],
    ),
    (
        "sched_setscheduler",
        &[
            a("pid", "pid_t"),
            a("policy", "int"),
            a("param", "struct sched_param *"),
        ],
    ),
    ("sched_getscheduler", &[a("pid", "pid_t")]),
    ("sched_get_priority_max", &[a("policy", "int")]),
    ("sched_get_priority_min", &[a("policy", "int")]),
    (
        "sched_rr_get_interval",
        &[
            a("pid", "pid_t"),
            a("interval", "struct __kernel_timespec *"),
        ],
    ),
    ("mlock", &[a("start", "unsigned long"), a("len", "size_t")]),
    (
        "munlock",
        &[a("start", "unsigned long"), a("len", "size_t")],
    ),
    ("mlockall", &[a("flags", "int")]),
    ("munlockall", &[]),
    ("vhangup", &[]),
    (
        "modify_ldt",
        &[
            a("func", "int"),
            a("ptr", "void *"),
            a("bytecount", "unsigned long"),
        ],
    ),
    (
        "pivot_root",
        &[a("new_root", "const char *"), a("put_old", "const char *")],
    ),
    ("_sysctl", &[]),
    (
        "prctl",
        &[
            a("option", "int"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "arch_prctl",
        &[a("option", "int"), a("arg2", "unsigned long")],
    ),
    ("adjtimex", &[a("txc_p", "struct __kernel_timex *")]),
    (
        "setrlimit",
        &[a("resource", "unsigned int"), a("rlim", "struct rlimit *")],
    ),
    ("chroot", &[a("filename", "const char *")]),
    ("sync", &[]),
    ("acct", &[a("name", "const char *")]),
    (
        "settimeofday",
        &[
            a("tv", "struct __kernel_old_timeval *"),
            a("tz", "struct timezone *"),
        ],
    ),
    (
        "mount",
        &[
            a("dev_name", "char *"),
            a("dir_name", "char *"),
            a("type", "char *"),
            a("flags", "unsigned long"),
            a("data", "void *"),
        ],
    ),
    ("umount2", &[a("name", "char *"), a("flags", "int")]),
    (
        "swapon",
        &[a("specialfile", "const char *"), a("swap_flags", "int")],
    ),
    ("swapoff", &[a("specialfile", "const char *")]),
    (
        "reboot",
        &[
            a("magic1", "int"),
            a("magic2", "int"),
            a("cmd", "unsigned int"),
            a("arg", "void *"),
        ],
    ),
    ("sethostname", &[a("name", "char *"), a("len", "int")]),
    ("setdomainname", &[a("name", "char *"), a("len", "int")]),
    ("iopl", &[a("level", "unsigned int")]),
    (
        "ioperm",
        &[
            a("from", "unsigned long"),
            a("num", "unsigned long"),
            a("turn_on", "int"),
        ],
    ),
    (
        "create_module",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "init_module",
        &[
            a("umod", "void *"),
            a("len", "unsigned long"),
            a("uargs", "const char *"),
        ],
    ),
    (
        "delete_module",
        &[a("name_user", "const char *"), a("flags", "unsigned int")],
    ),
    (
        "get_kernel_syms",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "query_module",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "quotactl",
        &[
            a("cmd", "unsigned int"),
            a("special", "const char *"),
            a("id", "qid_t"),
            a("addr", "void *"),
        ],
    ),
    (
        "nfsservctl",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "getpmsg",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "putpmsg",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "afs_syscall",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "tuxcall",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "security",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    ("gettid", &[]),
    (
        "readahead",
        &[a("fd", "int"), a("offset", "loff_t"), a("count", "size_t")],
    ),
    (
        "setxattr",
        &[
            a("pathname", "const char *"),
            a("name", "const char *"),
            a("value", "const void *"),
            a("size", "size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "lsetxattr",
        &[
            a("pathname", "const char *"),
            a("name", "const char *"),
            a("value", "const void *"),
            a("size", "size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "fsetxattr",
        &[
            a("fd", "int"),
            a("name", "const char *"),
            a("value", "const void *"),
            a("size", "size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "getxattr",
        &[
            a("pathname", "const char *"),
            a("name", "const char *"),
            a("value", "void *"),
            a("size", "size_t"),
        ],
    ),
    (
        "lgetxattr",
        &[
            a("pathname", "const char *"),
            a("name", "const char *"),
            a("value", "void *"),
            a("size", "size_t"),
        ],
    ),
    (
        "fgetxattr",
        &[
            a("fd", "int"),
            a("name", "const char *"),
            a("value", "void *"),
            a("size", "size_t"),
        ],
    ),
    (
        "listxattr",
        &[
            a("pathname", "const char *"),
            a("list", "char *"),
            a("size", "size_t"),
        ],
    ),
    (
        "llistxattr",
        &[
            a("pathname", "const char *"),
            a("list", "char *"),
            a("size", "size_t"),
        ],
    ),
    (
        "flistxattr",
        &[a("fd", "int"), a("list", "char *"), a("size", "size_t")],
    ),
    (
        "removexattr",
        &[a("pathname", "const char *"), a("name", "const char *")],
    ),
    (
        "lremovexattr",
        &[a("pathname", "const char *"), a("name", "const char *")],
    ),
    ("fremovexattr", &[a("fd", "int"), a("name", "const char *")]),
    ("tkill", &[a("pid", "pid_t"), a("sig", "int")]),
    ("time", &[a("tloc", "__kernel_old_time_t *")]),
    (
        "futex",
        &[
            a("uaddr", "u32 *"),
            a("op", "int"),
            a("val", "u32"),
            a("utime", "const struct __kernel_timespec *"),
            a("uaddr2", "u32 *"),
            a("val3", "u32"),
        ],
    ),
    (
        "sched_setaffinity",
        &[
            a("pid", "pid_t"),
            a("len", "unsigned int"),
            a("user_mask_ptr", "unsigned long *"),
        ],
    ),
    (
        "sched_getaffinity",
        &[
            a("pid", "pid_t"),
            a("len", "unsigned int"),
            a("user_mask_ptr", "unsigned long *"),
        ],
    ),
    ("set_thread_area", &[a("u_info", "struct user_desc *")]),
    (
        "io_setup",
        &[a("nr_events", "unsigned"), a("ctxp", "aio_context_t *")],
    ),
    ("io_destroy", &[a("ctx", "aio_context_t")]),
    (
        "io_getevents",
        &[
            a("ctx_id", "aio_context_t"),
            a("min_nr", "long"),
            a("nr", "long"),
            a("events", "struct io_event *"),
            a("timeout", "struct __kernel_timespec *"),
        ],
    ),
    (
        "io_submit",
        &[
            a("ctx_id", "aio_context_t"),
            a("nr", "long"),
            a("iocbpp", "struct iocb * *"),
        ],
    ),
    (
        "io_cancel",
        &[
            a("ctx_id", "aio_context_t"),
            a("iocb", "struct iocb *"),
            a("result", "struct io_event *"),
        ],
    ),
    ("get_thread_area", &[a("u_info", "struct user_desc *")]),
    (
        "lookup_dcookie",
        &[a("cookie64", "u64"), a("buf", "char *"), a("len", "size_t")],
    ),
    ("epoll_create", &[a("size", "int")]),
    (
        "epoll_ctl_old",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "epoll_wait_old",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "remap_file_pages",
        &[
            a("start", "unsigned long"),
            a("size", "unsigned long"),
            a("prot", "unsigned long"),
            a("pgoff", "unsigned long"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "getdents64",
        &[
            a("fd", "unsigned int"),
            a("dirent", "struct linux_dirent64 *"),
            a("count", "unsigned int"),
        ],
    ),
    ("set_tid_address", &[a("tidptr", "int *")]),
    ("restart_syscall", &[]),
    (
        "semtimedop",
        &[
            a("semid", "int"),
            a("tsops", "struct sembuf *"),
            a("nsops", "unsigned int"),
            a("timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "fadvise64",
        &[
            a("fd", "int"),
            a("offset", "loff_t"),
            a("len", "size_t"),
            a("advice", "int"),
        ],
    ),
    (
        "timer_create",
        &[
            a("which_clock", "const clockid_t"),
            a("timer_event_spec", "struct sigevent *"),
            a("created_timer_id", "timer_t *"),
        ],
    ),
    (
        "timer_settime",
        &[
            a("timer_id", "timer_t"),
            a("flags", "int"),
            a("new_setting", "const struct __kernel_itimerspec *"),
            a("old_setting", "struct __kernel_itimerspec *"),
        ],
    ),
    (
        "timer_gettime",
        &[
            a("timer_id", "timer_t"),
            a("setting", "struct __kernel_itimerspec *"),
        ],
    ),
    ("timer_getoverrun", &[a("timer_id", "timer_t")]),
    ("timer_delete", &[a("timer_id", "timer_t")]),
    (
        "clock_settime",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_gettime",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_getres",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_nanosleep",
        &[
            a("which_clock", "const clockid_t"),
            a("flags", "int"),
            a("rqtp", "const struct __kernel_timespec *"),
            a("rmtp", "struct __kernel_timespec *"),
        ],
    ),
    ("exit_group", &[a("error_code", "int")]),
    (
        "epoll_wait",
        &[
            a("epfd", "int"),
            a("events", "struct epoll_event *"),
            a("maxevents", "int"),
            a("timeout", "int"),
        ],
    ),
    (
        "epoll_ctl",
        &[
            a("epfd", "int"),
            a("op", "int"),
            a("fd", "int"),
            a("event", "struct epoll_event *"),
        ],
    ),
    (
        "tgkill",
        &[a("tgid", "pid_t"), a("pid", "pid_t"), a("sig", "int")],
    ),
    (
        "utimes",
        &[
            a("filename", "char *"),
            a("utimes", "struct __kernel_old_timeval *"),
        ],
    ),
    (
        "vserver",
        &[
            a("arg0", "unsigned long"),
            a("arg1", "unsigned long"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "mbind",
        &[
            a("start", "unsigned long"),
            a("len", "unsigned long"),
            a("mode", "unsigned long"),
            a("nmask", "const unsigned long *"),
            a("maxnode", "unsigned long"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "set_mempolicy",
        &[
            a("mode", "int"),
            a("nmask", "const unsigned long *"),
            a("maxnode", "unsigned long"),
        ],
    ),
    (
        "get_mempolicy",
        &[
            a("policy", "int *"),
            a("nmask", "unsigned long *"),
            a("maxnode", "unsigned long"),
            a("addr", "unsigned long"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "mq_open",
        &[
            a("u_name", "const char *"),
            a("oflag", "int"),
            a("mode", "umode_t"),
            a("u_attr", "struct mq_attr *"),
        ],
    ),
    ("mq_unlink", &[a("u_name", "const char *")]),
    (
        "mq_timedsend",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "const char *"),
            a("msg_len", "size_t"),
            a("msg_prio", "unsigned int"),
            a("u_abs_timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "mq_timedreceive",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "char *"),
            a("msg_len", "size_t"),
            a("u_msg_prio", "unsigned int *"),
            a("u_abs_timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "mq_notify",
        &[
            a("mqdes", "mqd_t"),
            a("u_notification", "const struct sigevent *"),
        ],
    ),
    (
        "mq_getsetattr",
        &[
            a("mqdes", "mqd_t"),
            a("u_mqstat", "const struct mq_attr *"),
            a("u_omqstat", "struct mq_attr *"),
        ],
    ),
    (
        "kexec_load",
        &[
            a("entry", "unsigned long"),
            a("nr_segments", "unsigned long"),
            a("segments", "struct kexec_segment *"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "waitid",
        &[
            a("which", "int"),
            a("upid", "pid_t"),
            a("infop", "struct siginfo *"),
            a("options", "int"),
            a("ru", "struct rusage *"),
        ],
    ),
    (
        "add_key",
        &[
            a("_type", "const char *"),
            a("_description", "const char *"),
            a("_payload", "const void *"),
            a("plen", "size_t"),
            a("ringid", "key_serial_t"),
        ],
    ),
    (
        "request_key",
        &[
            a("_type", "const char *"),
            a("_description", "const char *"),
            a("_callout_info", "const char *"),
            a("destringid", "key_serial_t"),
        ],
    ),
    (
        "keyctl",
        &[
            a("option", "int"),
            a("arg2", "unsigned long"),
            a("arg3", "unsigned long"),
            a("arg4", "unsigned long"),
            a("arg5", "unsigned long"),
        ],
    ),
    (
        "ioprio_set",
        &[a("which", "int"), a("who", "int"), a("ioprio", "int")],
    ),
    ("ioprio_get", &[a("which", "int"), a("who", "int")]),
    ("inotify_init", &[]),
    (
        "inotify_add_watch",
        &[
            a("fd", "int"),
            a("pathname", "const char *"),
            a("mask", "u32"),
        ],
    ),
    ("inotify_rm_watch", &[a("fd", "int"), a("wd", "__s32")]),
    (
        "migrate_pages",
        &[
            a("pid", "pid_t"),
            a("maxnode", "unsigned long"),
            a("old_nodes", "const unsigned long *"),
            a("new_nodes", "const unsigned long *"),
        ],
    ),
    (
        "openat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("flags", "int"),
            a("mode", "umode_t"),
        ],
    ),
    (
        "mkdirat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("mode", "umode_t"),
        ],
    ),
    (
        "mknodat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("mode", "umode_t"),
            a("dev", "unsigned int"),
        ],
    ),
    (
        "fchownat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("user", "uid_t"),
            a("group", "gid_t"),
            a("flag", "int"),
        ],
    ),
    (
        "futimesat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("utimes", "struct __kernel_old_timeval *"),
        ],
    ),
    (
        "newfstatat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("statbuf", "struct stat *"),
            a("flag", "int"),
        ],
    ),
    (
        "unlinkat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("flag", "int"),
        ],
    ),
    (
        "renameat",
        &[
            a("olddfd", "int"),
            a("oldname", "const char *"),
            a("newdfd", "int"),
            a("newname", "const char *"),
        ],
    ),
    (
        "linkat",
        &[
            a("olddfd", "int"),
            a("oldname", "const char *"),
            a("newdfd", "int"),
            a("newname", "const char *"),
            a("flags", "int"),
        ],
    ),
    (
        "symlinkat",
        &[
            a("oldname", "const char *"),
            a("newdfd", "int"),
            a("newname", "const char *"),
        ],
    ),
    (
        "readlinkat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("buf", "char *"),
            a("bufsiz", "int"),
        ],
    ),
    (
        "fchmodat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("mode", "umode_t"),
        ],
    ),
    (
        "faccessat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("mode", "int"),
        ],
    ),
    (
        "pselect6",
        &[
            a("n", "int"),
            a("inp", "fd_set *"),
            a("outp", "fd_set *"),
            a("exp", "fd_set *"),
            a("tsp", "struct __kernel_timespec *"),
            a("sig", "void *"),
        ],
    ),
    (
        "ppoll",
        &[
            a("ufds", "struct pollfd *"),
            a("nfds", "unsigned int"),
            a("tsp", "struct __kernel_timespec *"),
            a("sigmask", "const sigset_t *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    ("unshare", &[a("unshare_flags", "unsigned long")]),
    (
        "set_robust_list",
        &[a("head", "struct robust_list_head *"), a("len", "size_t")],
    ),
    (
        "get_robust_list",
        &[
            a("pid", "int"),
            a("head_ptr", "struct robust_list_head * *"),
            a("len_ptr", "size_t *"),
        ],
    ),
    (
        "splice",
        &[
            a("fd_in", "int"),
            a("off_in", "loff_t *"),
            a("fd_out", "int"),
            a("off_out", "loff_t *"),
            a("len", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "tee",
        &[
            a("fdin", "int"),
            a("fdout", "int"),
            a("len", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "sync_file_range",
        &[
            a("fd", "int"),
            a("offset", "loff_t"),
            a("nbytes", "loff_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "vmsplice",
        &[
            a("fd", "int"),
            a("uiov", "const struct iovec *"),
            a("nr_segs", "unsigned long"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "move_pages",
        &[
            a("pid", "pid_t"),
            a("nr_pages", "unsigned long"),
            a("pages", "const void * *"),
            a("nodes", "const int *"),
            a("status", "int *"),
            a("flags", "int"),
        ],
    ),
    (
        "utimensat",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("utimes", "struct __kernel_timespec *"),
            a("flags", "int"),
        ],
    ),
    (
        "epoll_pwait",
        &[
            a("epfd", "int"),
            a("events", "struct epoll_event *"),
            a("maxevents", "int"),
            a("timeout", "int"),
            a("sigmask", "const sigset_t *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    (
        "signalfd",
        &[
            a("ufd", "int"),
            a("user_mask", "sigset_t *"),
            a("sizemask", "size_t"),
        ],
    ),
    ("timerfd_create", &[a("clockid", "int"), a("flags", "int")]),
    ("eventfd", &[a("count", "unsigned int")]),
    (
        "fallocate",
        &[
            a("fd", "int"),
            a("mode", "int"),
            a("offset", "loff_t"),
            a("len", "loff_t"),
        ],
    ),
    (
        "timerfd_settime",
        &[
            a("ufd", "int"),
            a("flags", "int"),
            a("utmr", "const struct __kernel_itimerspec *"),
            a("otmr", "struct __kernel_itimerspec *"),
        ],
    ),
    (
        "timerfd_gettime",
        &[a("ufd", "int"), a("otmr", "struct __kernel_itimerspec *")],
    ),
    (
        "accept4",
        &[
            a("fd", "int"),
            a("upeer_sockaddr", "struct sockaddr *"),
            a("upeer_addrlen", "int *"),
            a("flags", "int"),
        ],
    ),
    (
        "signalfd4",
        &[
            a("ufd", "int"),
            a("user_mask", "sigset_t *"),
            a("sizemask", "size_t"),
            a("flags", "int"),
        ],
    ),
    ("eventfd2", &[a("count", "unsigned int"), a("flags", "int")]),
    ("epoll_create1", &[a("flags", "int")]),
    (
        "dup3",
        &[
            a("oldfd", "unsigned int"),
            a("newfd", "unsigned int"),
            a("flags", "int"),
        ],
    ),
    ("pipe2", &[a("fildes", "int *"), a("flags", "int")]),
    ("inotify_init1", &[a("flags", "int")]),
    (
        "preadv",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
            a("pos_l", "unsigned long"),
            a("pos_h", "unsigned long"),
        ],
    ),
    (
        "pwritev",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
            a("pos_l", "unsigned long"),
            a("pos_h", "unsigned long"),
        ],
    ),
    (
        "rt_tgsigqueueinfo",
        &[
            a("tgid", "pid_t"),
            a("pid", "pid_t"),
            a("sig", "int"),
            a("uinfo", "siginfo_t *"),
        ],
    ),
    (
        "perf_event_open",
        &[
            a("attr_uptr", "struct perf_event_attr *"),
            a("pid", "pid_t"),
            a("cpu", "int"),
            a("group_fd", "int"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "recvmmsg",
        &[
            a("fd", "int"),
            a("mmsg", "struct mmsghdr *"),
            a("vlen", "unsigned int"),
            a("flags", "unsigned int"),
            a("timeout", "struct __kernel_timespec *"),
        ],
    ),
    (
        "fanotify_init",
        &[
            a("flags", "unsigned int"),
            a("event_f_flags", "unsigned int"),
        ],
    ),
    (
        "fanotify_mark",
        &[
            a("fanotify_fd", "int"),
            a("flags", "unsigned int"),
            a("mask", "__u64"),
            a("dfd", "int"),
            a("pathname", "const char *"),
        ],
    ),
    (
        "prlimit64",
        &[
            a("pid", "pid_t"),
            a("resource", "unsigned int"),
            a("new_rlim", "const struct rlimit64 *"),
            a("old_rlim", "struct rlimit64 *"),
        ],
    ),
    (
        "name_to_handle_at",
        &[
            a("dfd", "int"),
            a("name", "const char *"),
            a("handle", "struct file_handle *"),
            a("mnt_id", "int *"),
            a("flag", "int"),
        ],
    ),
    (
        "open_by_handle_at",
        &[
            a("mountdirfd", "int"),
            a("handle", "struct file_handle *"),
            a("flags", "int"),
        ],
    ),
    (
        "clock_adjtime",
        &[
            a("which_clock", "const clockid_t"),
            a("utx", "struct __kernel_timex *"),
        ],
    ),
    ("syncfs", &[a("fd", "int")]),
    (
        "sendmmsg",
        &[
            a("fd", "int"),
            a("mmsg", "struct mmsghdr *"),
            a("vlen", "unsigned int"),
            a("flags", "unsigned int"),
        ],
    ),
    ("setns", &[a("fd", "int"), a("flags", "int")]),
    (
        "getcpu",
        &[
            a("cpup", "unsigned *"),
            a("nodep", "unsigned *"),
            a("unused", "struct getcpu_cache *"),
        ],
    ),
    (
        "process_vm_readv",
        &[
            a("pid", "pid_t"),
            a("lvec", "const struct iovec *"),
            a("liovcnt", "unsigned long"),
            a("rvec", "const struct iovec *"),
            a("riovcnt", "unsigned long"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "process_vm_writev",
        &[
            a("pid", "pid_t"),
            a("lvec", "const struct iovec *"),
            a("liovcnt", "unsigned long"),
            a("rvec", "const struct iovec *"),
            a("riovcnt", "unsigned long"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "kcmp",
        &[
            a("pid1", "pid_t"),
            a("pid2", "pid_t"),
            a("type", "int"),
            a("idx1", "unsigned long"),
            a("idx2", "unsigned long"),
        ],
    ),
    (
        "finit_module",
        &[
            a("fd", "int"),
            a("uargs", "const char *"),
            a("flags", "int"),
        ],
    ),
    (
        "sched_setattr",
        &[
            a("pid", "pid_t"),
            a("uattr", "struct sched_attr *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "sched_getattr",
        &[
            a("pid", "pid_t"),
            a("uattr", "struct sched_attr *"),
            a("usize", "unsigned int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "renameat2",
        &[
            a("olddfd", "int"),
            a("oldname", "const char *"),
            a("newdfd", "int"),
            a("newname", "const char *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "seccomp",
        &[
            a("op", "unsigned int"),
            a("flags", "unsigned int"),
            a("uargs", "void *"),
        ],
    ),
    (
        "getrandom",
        &[
            a("ubuf", "char *"),
            a("len", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "memfd_create",
        &[a("uname", "const char *"), a("flags", "unsigned int")],
    ),
    (
        "kexec_file_load",
        &[
            a("kernel_fd", "int"),
            a("initrd_fd", "int"),
            a("cmdline_len", "unsigned long"),
            a("cmdline_ptr", "const char *"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "bpf",
        &[
            a("cmd", "int"),
            a("uattr", "union bpf_attr *"),
            a("size", "unsigned int"),
        ],
    ),
    (
        "execveat",
        &[
            a("fd", "int"),
            a("filename", "const char *"),
            a("argv", "const char *const *"),
            a("envp", "const char *const *"),
            a("flags", "int"),
        ],
    ),
    ("userfaultfd", &[a("flags", "int")]),
    (
        "membarrier",
        &[
            a("cmd", "int"),
            a("flags", "unsigned int"),
            a("cpu_id", "int"),
        ],
    ),
    (
        "mlock2",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "copy_file_range",
        &[
            a("fd_in", "int"),
            a("off_in", "loff_t *"),
            a("fd_out", "int"),
            a("off_out", "loff_t *"),
            a("len", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "preadv2",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
            a("pos_l", "unsigned long"),
            a("pos_h", "unsigned long"),
            a("flags", "rwf_t"),
        ],
    ),
    (
        "pwritev2",
        &[
            a("fd", "unsigned long"),
            a("vec", "const struct iovec *"),
            a("vlen", "unsigned long"),
            a("pos_l", "unsigned long"),
            a("pos_h", "unsigned long"),
            a("flags", "rwf_t"),
        ],
    ),
    (
        "pkey_mprotect",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("prot", "unsigned long"),
            a("pkey", "int"),
        ],
    ),
    (
        "pkey_alloc",
        &[a("flags", "unsigned long"), a("init_val", "unsigned long")],
    ),
    ("pkey_free", &[a("pkey", "int")]),
    (
        "statx",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("flags", "unsigned"),
            a("mask", "unsigned int"),
            a("buffer", "struct statx *"),
        ],
    ),
    (
        "io_pgetevents",
        &[
            a("ctx_id", "aio_context_t"),
            a("min_nr", "long"),
            a("nr", "long"),
            a("events", "struct io_event *"),
            a("timeout", "struct __kernel_timespec *"),
            a("usig", "const struct __aio_sigset *"),
        ],
    ),
    (
        "rseq",
        &[
            a("rseq", "struct rseq *"),
            a("rseq_len", "u32"),
            a("flags", "int"),
            a("sig", "u32"),
        ],
    ),
    ("uretprobe", &[a("__unused", "const struct pt_regs *")]),
    (
        "pidfd_send_signal",
        &[
            a("pidfd", "int"),
            a("sig", "int"),
            a("info", "siginfo_t *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "io_uring_setup",
        &[a("entries", "u32"), a("params", "struct io_uring_params *")],
    ),
    (
        "io_uring_enter",
        &[
            a("fd", "unsigned int"),
            a("to_submit", "u32"),
            a("min_complete", "u32"),
            a("flags", "u32"),
            a("argp", "const void *"),
            a("argsz", "size_t"),
        ],
    ),
    (
        "io_uring_register",
        &[
            a("fd", "unsigned int"),
            a("opcode", "unsigned int"),
            a("arg", "void *"),
            a("nr_args", "unsigned int"),
        ],
    ),
    (
        "open_tree",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("flags", "unsigned"),
        ],
    ),
    (
        "move_mount",
        &[
            a("from_dfd", "int"),
            a("from_pathname", "const char *"),
            a("to_dfd", "int"),
            a("to_pathname", "const char *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "fsopen",
        &[a("_fs_name", "const char *"), a("flags", "unsigned int")],
    ),
    (
        "fsconfig",
        &[
            a("fd", "int"),
            a("cmd", "unsigned int"),
            a("_key", "const char *"),
            a("_value", "const void *"),
            a("aux", "int"),
        ],
    ),
    (
        "fsmount",
        &[
            a("fs_fd", "int"),
            a("flags", "unsigned int"),
            a("attr_flags", "unsigned int"),
        ],
    ),
    (
        "fspick",
        &[
            a("dfd", "int"),
            a("path", "const char *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "pidfd_open",
        &[a("pid", "pid_t"), a("flags", "unsigned int")],
    ),
    (
        "clone3",
        &[a("uargs", "struct clone_args *"), a("size", "size_t")],
    ),
    (
        "close_range",
        &[
            a("fd", "unsigned int"),
            a("max_fd", "unsigned int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "openat2",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("how", "struct open_how *"),
            a("usize", "size_t"),
        ],
    ),
    (
        "pidfd_getfd",
        &[
            a("pidfd", "int"),
            a("fd", "int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "faccessat2",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("mode", "int"),
            a("flags", "int"),
        ],
    ),
    (
        "process_madvise",
        &[
            a("pidfd", "int"),
            a("vec", "const struct iovec *"),
            a("vlen", "size_t"),
            a("behavior", "int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "epoll_pwait2",
        &[
            a("epfd", "int"),
            a("events", "struct epoll_event *"),
            a("maxevents", "int"),
            a("timeout", "const struct __kernel_timespec *"),
            a("sigmask", "const sigset_t *"),
            a("sigsetsize", "size_t"),
        ],
    ),
    (
        "mount_setattr",
        &[
            a("dfd", "int"),
            a("path", "const char *"),
            a("flags", "unsigned int"),
            a("uattr", "struct mount_attr *"),
            a("usize", "size_t"),
        ],
    ),
    (
        "quotactl_fd",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("id", "qid_t"),
            a("addr", "void *"),
        ],
    ),
    (
        "landlock_create_ruleset",
        &[
            a("attr", "const struct landlock_ruleset_attr *const"),
            a("size", "const size_t"),
            a("flags", "const __u32"),
        ],
    ),
    (
        "landlock_add_rule",
        &[
            a("ruleset_fd", "const int"),
            a("rule_type", "const enum landlock_rule_type"),
            a("rule_attr", "const void *const"),
            a("flags", "const __u32"),
        ],
    ),
    (
        "landlock_restrict_self",
        &[a("ruleset_fd", "const int"), a("flags", "const __u32")],
    ),
    ("memfd_secret", &[a("flags", "unsigned int")]),
    (
        "process_mrelease",
        &[a("pidfd", "int"), a("flags", "unsigned int")],
    ),
    (
        "futex_waitv",
        &[
            a("waiters", "struct futex_waitv *"),
            a("nr_futexes", "unsigned int"),
            a("flags", "unsigned int"),
            a("timeout", "struct __kernel_timespec *"),
            a("clockid", "clockid_t"),
        ],
    ),
    (
        "set_mempolicy_home_node",
        &[
            a("start", "unsigned long"),
            a("len", "unsigned long"),
            a("home_node", "unsigned long"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "cachestat",
        &[
            a("fd", "unsigned int"),
            a("cstat_range", "struct cachestat_range *"),
            a("cstat", "struct cachestat *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "fchmodat2",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("mode", "umode_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "map_shadow_stack",
        &[
            a("addr", "unsigned long"),
            a("size", "unsigned long"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "futex_wake",
        &[
            a("uaddr", "void *"),
            a("mask", "unsigned long"),
            a("nr", "int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "futex_wait",
        &[
            a("uaddr", "void *"),
            a("val", "unsigned long"),
            a("mask", "unsigned long"),
            a("flags", "unsigned int"),
            a("timeout", "struct __kernel_timespec *"),
            a("clockid", "clockid_t"),
        ],
    ),
    (
        "futex_requeue",
        &[
            a("waiters", "struct futex_waitv *"),
            a("flags", "unsigned int"),
            a("nr_wake", "int"),
            a("nr_requeue", "int"),
        ],
    ),
    (
        "statmount",
        &[
            a("req", "const struct mnt_id_req *"),
            a("buf", "struct statmount *"),
            a("bufsize", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "listmount",
        &[
            a("req", "const struct mnt_id_req *"),
            a("mnt_ids", "u64 *"),
            a("nr_mnt_ids", "size_t"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "lsm_get_self_attr",
        &[
            a("attr", "unsigned int"),
            a("ctx", "struct lsm_ctx *"),
            a("size", "u32 *"),
            a("flags", "u32"),
        ],
    ),
    (
        "lsm_set_self_attr",
        &[
            a("attr", "unsigned int"),
            a("ctx", "struct lsm_ctx *"),
            a("size", "u32"),
            a("flags", "u32"),
        ],
    ),
    (
        "lsm_list_modules",
        &[a("ids", "u64 *"), a("size", "u32 *"), a("flags", "u32")],
    ),
    (
        "mseal",
        &[
            a("start", "unsigned long"),
            a("len", "size_t"),
            a("flags", "unsigned long"),
        ],
    ),
    (
        "setxattrat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("at_flags", "unsigned int"),
            a("name", "const char *"),
            a("uargs", "const struct xattr_args *"),
            a("usize", "size_t"),
        ],
    ),
    (
        "getxattrat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("at_flags", "unsigned int"),
            a("name", "const char *"),
            a("uargs", "struct xattr_args *"),
            a("usize", "size_t"),
        ],
    ),
    (
        "listxattrat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("at_flags", "unsigned int"),
            a("list", "char *"),
            a("size", "size_t"),
        ],
    ),
    (
        "removexattrat",
        &[
            a("dfd", "int"),
            a("pathname", "const char *"),
            a("at_flags", "unsigned int"),
            a("name", "const char *"),
        ],
    ),
    (
        "open_tree_attr",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("flags", "unsigned int"),
            a("uattr", "struct mount_attr *"),
            a("usize", "size_t"),
        ],
    ),
    (
        "file_getattr",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("ufattr", "struct file_attr *"),
            a("usize", "size_t"),
            a("at_flags", "unsigned int"),
        ],
    ),
    (
        "file_setattr",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("ufattr", "struct file_attr *"),
            a("usize", "size_t"),
            a("at_flags", "unsigned int"),
        ],
    ),
    (
        "waitpid",
        &[
            a("pid", "pid_t"),
            a("stat_addr", "int *"),
            a("options", "int"),
        ],
    ),
    (
        "execve",
        &[
            a("filename", "const char *"),
            a("argv", "const compat_uptr_t *"),
            a("envp", "const compat_uptr_t *"),
        ],
    ),
    ("time", &[a("tloc", "old_time32_t *")]),
    (
        "lchown",
        &[
            a("filename", "const char *"),
            a("user", "old_uid_t"),
            a("group", "old_gid_t"),
        ],
    ),
    ("break", &[]),
    (
        "oldstat",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct __old_kernel_stat *"),
        ],
    ),
    (
        "lseek",
        &[
            a("fd", "unsigned int"),
            a("offset", "compat_off_t"),
            a("whence", "unsigned int"),
        ],
    ),
    ("umount", &[a("name", "char *")]),
    ("setuid", &[a("uid", "old_uid_t")]),
    ("stime", &[a("tptr", "old_time32_t *")]),
    (
        "ptrace",
        &[
            a("request", "compat_long_t"),
            a("pid", "compat_long_t"),
            a("addr", "compat_long_t"),
            a("data", "compat_long_t"),
        ],
    ),
    (
        "oldfstat",
        &[
            a("fd", "unsigned int"),
            a("statbuf", "struct __old_kernel_stat *"),
        ],
    ),
    (
        "utime",
        &[
            a("filename", "const char *"),
            a("t", "struct old_utimbuf32 *"),
        ],
    ),
    ("stty", &[]),
    ("gtty", &[]),
    ("nice", &[a("increment", "int")]),
    ("ftime", &[]),
    ("times", &[a("tbuf", "struct compat_tms *")]),
    ("prof", &[]),
    ("setgid", &[a("gid", "old_gid_t")]),
    ("signal", &[a("sig", "int"), a("handler", "__sighandler_t")]),
    ("lock", &[]),
    (
        "ioctl",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("arg", "compat_ulong_t"),
        ],
    ),
    (
        "fcntl",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("arg", "compat_ulong_t"),
        ],
    ),
    ("mpx", &[]),
    ("ulimit", &[]),
    ("oldolduname", &[a("name", "struct oldold_utsname *")]),
    (
        "ustat",
        &[a("dev", "unsigned"), a("u", "struct compat_ustat *")],
    ),
    (
        "sigaction",
        &[
            a("sig", "int"),
            a("act", "const struct compat_old_sigaction *"),
            a("oact", "struct compat_old_sigaction *"),
        ],
    ),
    ("sgetmask", &[]),
    ("ssetmask", &[a("newmask", "int")]),
    (
        "setreuid",
        &[a("ruid", "old_uid_t"), a("euid", "old_uid_t")],
    ),
    (
        "setregid",
        &[a("rgid", "old_gid_t"), a("egid", "old_gid_t")],
    ),
    ("sigsuspend", &[a("mask", "old_sigset_t")]),
    ("sigpending", &[a("set32", "compat_old_sigset_t *")]),
    (
        "setrlimit",
        &[
            a("resource", "unsigned int"),
            a("rlim", "struct compat_rlimit *"),
        ],
    ),
    (
        "getrlimit",
        &[
            a("resource", "unsigned int"),
            a("rlim", "struct compat_rlimit *"),
        ],
    ),
    (
        "getrusage",
        &[a("who", "int"), a("ru", "struct compat_rusage *")],
    ),
    (
        "gettimeofday",
        &[
            a("tv", "struct old_timeval32 *"),
            a("tz", "struct timezone *"),
        ],
    ),
    (
        "settimeofday",
        &[
            a("tv", "struct old_timeval32 *"),
            a("tz", "struct timezone *"),
        ],
    ),
    (
        "getgroups",
        &[a("gidsetsize", "int"), a("grouplist", "old_gid_t *")],
    ),
    (
        "setgroups",
        &[a("gidsetsize", "int"), a("grouplist", "old_gid_t *")],
    ),
    ("select", &[a("arg", "struct compat_sel_arg_struct *")]),
    (
        "oldlstat",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct __old_kernel_stat *"),
        ],
    ),
    (
        "readdir",
        &[
            a("fd", "unsigned int"),
            a("dirent", "struct compat_old_linux_dirent *"),
            a("count", "unsigned int"),
        ],
    ),
    ("mmap", &[a("arg", "struct mmap_arg_struct32 *")]),
    (
        "truncate",
        &[a("path", "const char *"), a("length", "compat_off_t")],
    ),
    (
        "ftruncate",
        &[a("fd", "unsigned int"), a("length", "compat_off_t")],
    ),
    (
        "fchown",
        &[
            a("fd", "unsigned int"),
            a("user", "old_uid_t"),
            a("group", "old_gid_t"),
        ],
    ),
    ("profil", &[]),
    (
        "statfs",
        &[
            a("pathname", "const char *"),
            a("buf", "struct compat_statfs *"),
        ],
    ),
    (
        "fstatfs",
        &[a("fd", "unsigned int"), a("buf", "struct compat_statfs *")],
    ),
    ("socketcall", &[a("call", "int"), a("args", "u32 *")]),
    (
        "setitimer",
        &[
            a("which", "int"),
            a("value", "struct old_itimerval32 *"),
            a("ovalue", "struct old_itimerval32 *"),
        ],
    ),
    (
        "getitimer",
        &[a("which", "int"), a("value", "struct old_itimerval32 *")],
    ),
    (
        "stat",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct compat_stat *"),
        ],
    ),
    (
        "lstat",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct compat_stat *"),
        ],
    ),
    (
        "fstat",
        &[
            a("fd", "unsigned int"),
            a("statbuf", "struct compat_stat *"),
        ],
    ),
    ("olduname", &[a("name", "struct old_utsname *")]),
    ("idle", &[]),
    ("vm86old", &[]),
    (
        "wait4",
        &[
            a("pid", "compat_pid_t"),
            a("stat_addr", "compat_uint_t *"),
            a("options", "int"),
            a("ru", "struct compat_rusage *"),
        ],
    ),
    ("sysinfo", &[a("info", "struct compat_sysinfo *")]),
    (
        "ipc",
        &[
            a("call", "u32"),
            a("first", "int"),
            a("second", "int"),
            a("third", "u32"),
            a("ptr", "compat_uptr_t"),
            a("fifth", "u32"),
        ],
    ),
    ("sigreturn", &[]),
    (
        "clone",
        &[
            a("clone_flags", "unsigned long"),
            a("newsp", "unsigned long"),
            a("parent_tidptr", "int *"),
            a("tls_val", "unsigned long"),
            a("child_tidptr", "int *"),
        ],
    ),
    ("adjtimex", &[a("utp", "struct old_timex32 *")]),
    (
        "sigprocmask",
        &[
            a("how", "int"),
            a("nset", "compat_old_sigset_t *"),
            a("oset", "compat_old_sigset_t *"),
        ],
    ),
    ("bdflush", &[]),
    ("setfsuid", &[a("uid", "old_uid_t")]),
    ("setfsgid", &[a("gid", "old_gid_t")]),
    (
        "_llseek",
        &[
            a("fd", "unsigned int"),
            a("offset_high", "unsigned long"),
            a("offset_low", "unsigned long"),
            a("result", "loff_t *"),
            a("whence", "unsigned int"),
        ],
    ),
    (
        "getdents",
        &[
            a("fd", "unsigned int"),
            a("dirent", "struct compat_linux_dirent *"),
            a("count", "unsigned int"),
        ],
    ),
    (
        "_newselect",
        &[
            a("n", "int"),
            a("inp", "compat_ulong_t *"),
            a("outp", "compat_ulong_t *"),
            a("exp", "compat_ulong_t *"),
            a("tvp", "struct old_timeval32 *"),
        ],
    ),
    (
        "sched_rr_get_interval",
        &[a("pid", "pid_t"), a("interval", "struct old_timespec32 *")],
    ),
    (
        "nanosleep",
        &[
            a("rqtp", "struct old_timespec32 *"),
            a("rmtp", "struct old_timespec32 *"),
        ],
    ),
    (
        "setresuid",
        &[
            a("ruid", "old_uid_t"),
            a("euid", "old_uid_t"),
            a("suid", "old_uid_t"),
        ],
    ),
    (
        "getresuid",
        &[
            a("ruidp", "old_uid_t *"),
            a("euidp", "old_uid_t *"),
            a("suidp", "old_uid_t *"),
        ],
    ),
    ("vm86", &[]),
    (
        "setresgid",
        &[
            a("rgid", "old_gid_t"),
            a("egid", "old_gid_t"),
            a("sgid", "old_gid_t"),
        ],
    ),
    (
        "getresgid",
        &[
            a("rgidp", "old_gid_t *"),
            a("egidp", "old_gid_t *"),
            a("sgidp", "old_gid_t *"),
        ],
    ),
    (
        "rt_sigaction",
        &[
            a("sig", "int"),
            a("act", "const struct compat_sigaction *"),
            a("oact", "struct compat_sigaction *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "rt_sigprocmask",
        &[
            a("how", "int"),
            a("nset", "compat_sigset_t *"),
            a("oset", "compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "rt_sigpending",
        &[
            a("uset", "compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "rt_sigtimedwait",
        &[
            a("uthese", "compat_sigset_t *"),
            a("uinfo", "struct compat_siginfo *"),
            a("uts", "struct old_timespec32 *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "rt_sigqueueinfo",
        &[
            a("pid", "compat_pid_t"),
            a("sig", "int"),
            a("uinfo", "struct compat_siginfo *"),
        ],
    ),
    (
        "rt_sigsuspend",
        &[
            a("unewset", "compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "pread64",
        &[
            a("fd", "unsigned int"),
            a("ubuf", "char *"),
            a("count", "u32"),
            a("poslo", "u32"),
            a("poshi", "u32"),
        ],
    ),
    (
        "pwrite64",
        &[
            a("fd", "unsigned int"),
            a("ubuf", "const char *"),
            a("count", "u32"),
            a("poslo", "u32"),
            a("poshi", "u32"),
        ],
    ),
    (
        "chown",
        &[
            a("filename", "const char *"),
            a("user", "old_uid_t"),
            a("group", "old_gid_t"),
        ],
    ),
    (
        "sigaltstack",
        &[
            a("uss_ptr", "const compat_stack_t *"),
            a("uoss_ptr", "compat_stack_t *"),
        ],
    ),
    (
        "sendfile",
        &[
            a("out_fd", "int"),
            a("in_fd", "int"),
            a("offset", "compat_off_t *"),
            a("count", "compat_size_t"),
        ],
    ),
    (
        "ugetrlimit",
        &[
            a("resource", "unsigned int"),
            a("rlim", "struct compat_rlimit *"),
        ],
    ),
    (
        "mmap2",
        &[
            a("addr", "unsigned long"),
            a("len", "unsigned long"),
            a("prot", "unsigned long"),
            a("flags", "unsigned long"),
            a("fd", "unsigned long"),
            a("pgoff", "unsigned long"),
        ],
    ),
    (
        "truncate64",
        &[
            a("filename", "const char *"),
            a("offset_low", "unsigned long"),
            a("offset_high", "unsigned long"),
        ],
    ),
    (
        "ftruncate64",
        &[
            a("fd", "unsigned int"),
            a("offset_low", "unsigned long"),
            a("offset_high", "unsigned long"),
        ],
    ),
    (
        "stat64",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct stat64 *"),
        ],
    ),
    (
        "lstat64",
        &[
            a("filename", "const char *"),
            a("statbuf", "struct stat64 *"),
        ],
    ),
    (
        "fstat64",
        &[a("fd", "unsigned int"), a("statbuf", "struct stat64 *")],
    ),
    (
        "lchown32",
        &[
            a("filename", "const char *"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    ("getuid32", &[]),
    ("getgid32", &[]),
    ("geteuid32", &[]),
    ("getegid32", &[]),
    ("setreuid32", &[a("ruid", "uid_t"), a("euid", "uid_t")]),
    ("setregid32", &[a("rgid", "gid_t"), a("egid", "gid_t")]),
    (
        "getgroups32",
        &[a("gidsetsize", "int"), a("grouplist", "gid_t *")],
    ),
    (
        "setgroups32",
        &[a("gidsetsize", "int"), a("grouplist", "gid_t *")],
    ),
    (
        "fchown32",
        &[
            a("fd", "unsigned int"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    (
        "setresuid32",
        &[a("ruid", "uid_t"), a("euid", "uid_t"), a("suid", "uid_t")],
    ),
    (
        "getresuid32",
        &[
            a("ruidp", "uid_t *"),
            a("euidp", "uid_t *"),
            a("suidp", "uid_t *"),
        ],
    ),
    (
        "setresgid32",
        &[a("rgid", "gid_t"), a("egid", "gid_t"), a("sgid", "gid_t")],
    ),
    (
        "getresgid32",
        &[
            a("rgidp", "gid_t *"),
            a("egidp", "gid_t *"),
            a("sgidp", "gid_t *"),
        ],
    ),
    (
        "chown32",
        &[
            a("filename", "const char *"),
            a("user", "uid_t"),
            a("group", "gid_t"),
        ],
    ),
    ("setuid32", &[a("uid", "uid_t")]),
    ("setgid32", &[a("gid", "gid_t")]),
    ("setfsuid32", &[a("uid", "uid_t")]),
    ("setfsgid32", &[a("gid", "gid_t")]),
    (
        "fcntl64",
        &[
            a("fd", "unsigned int"),
            a("cmd", "unsigned int"),
            a("arg", "compat_ulong_t"),
        ],
    ),
    (
        "readahead",
        &[
            a("fd", "int"),
            a("off_lo", "unsigned int"),
            a("off_hi", "unsigned int"),
            a("count", "size_t"),
        ],
    ),
    (
        "sendfile64",
        &[
            a("out_fd", "int"),
            a("in_fd", "int"),
            a("offset", "loff_t *"),
            a("count", "size_t"),
        ],
    ),
    (
        "futex",
        &[
            a("uaddr", "u32 *"),
            a("op", "int"),
            a("val", "u32"),
            a("utime", "const struct old_timespec32 *"),
            a("uaddr2", "u32 *"),
            a("val3", "u32"),
        ],
    ),
    (
        "sched_setaffinity",
        &[
            a("pid", "compat_pid_t"),
            a("len", "unsigned int"),
            a("user_mask_ptr", "compat_ulong_t *"),
        ],
    ),
    (
        "sched_getaffinity",
        &[
            a("pid", "compat_pid_t"),
            a("len", "unsigned int"),
            a("user_mask_ptr", "compat_ulong_t *"),
        ],
    ),
    (
        "io_setup",
        &[a("nr_events", "unsigned"), a("ctx32p", "u32 *")],
    ),
    (
        "io_getevents",
        &[
            a("ctx_id", "__u32"),
            a("min_nr", "__s32"),
            a("nr", "__s32"),
            a("events", "struct io_event *"),
            a("timeout", "struct old_timespec32 *"),
        ],
    ),
    (
        "io_submit",
        &[
            a("ctx_id", "compat_aio_context_t"),
            a("nr", "int"),
            a("iocbpp", "compat_uptr_t *"),
        ],
    ),
    (
        "fadvise64",
        &[
            a("fd", "int"),
            a("offset_lo", "unsigned int"),
            a("offset_hi", "unsigned int"),
            a("len", "size_t"),
            a("advice", "int"),
        ],
    ),
    (
        "timer_create",
        &[
            a("which_clock", "clockid_t"),
            a("timer_event_spec", "struct compat_sigevent *"),
            a("created_timer_id", "timer_t *"),
        ],
    ),
    (
        "timer_settime",
        &[
            a("timer_id", "timer_t"),
            a("flags", "int"),
            a("new", "struct old_itimerspec32 *"),
            a("old", "struct old_itimerspec32 *"),
        ],
    ),
    (
        "timer_gettime",
        &[
            a("timer_id", "timer_t"),
            a("setting", "struct old_itimerspec32 *"),
        ],
    ),
    (
        "clock_settime",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "struct old_timespec32 *"),
        ],
    ),
    (
        "clock_gettime",
        &[
            a("which_clock", "clockid_t"),
            a("tp", "struct old_timespec32 *"),
        ],
    ),
    (
        "clock_getres",
        &[
            a("which_clock", "clockid_t"),
            a("tp", "struct old_timespec32 *"),
        ],
    ),
    (
        "clock_nanosleep",
        &[
            a("which_clock", "clockid_t"),
            a("flags", "int"),
            a("rqtp", "struct old_timespec32 *"),
            a("rmtp", "struct old_timespec32 *"),
        ],
    ),
    (
        "statfs64",
        &[
            a("pathname", "const char *"),
            a("sz", "compat_size_t"),
            a("buf", "struct compat_statfs64 *"),
        ],
    ),
    (
        "fstatfs64",
        &[
            a("fd", "unsigned int"),
            a("sz", "compat_size_t"),
            a("buf", "struct compat_statfs64 *"),
        ],
    ),
    (
        "utimes",
        &[
            a("filename", "const char *"),
            a("t", "struct old_timeval32 *"),
        ],
    ),
    (
        "fadvise64_64",
        &[
            a("fd", "int"),
            a("offset_low", "__u32"),
            a("offset_high", "__u32"),
            a("len_low", "__u32"),
            a("len_high", "__u32"),
            a("advice", "int"),
        ],
    ),
    (
        "mq_open",
        &[
            a("u_name", "const char *"),
            a("oflag", "int"),
            a("mode", "compat_mode_t"),
            a("u_attr", "struct compat_mq_attr *"),
        ],
    ),
    (
        "mq_timedsend",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "const char *"),
            a("msg_len", "unsigned int"),
            a("msg_prio", "unsigned int"),
            a("u_abs_timeout", "const struct old_timespec32 *"),
        ],
    ),
    (
        "mq_timedreceive",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "char *"),
            a("msg_len", "unsigned int"),
            a("u_msg_prio", "unsigned int *"),
            a("u_abs_timeout", "const struct old_timespec32 *"),
        ],
    ),
    (
        "mq_notify",
        &[
            a("mqdes", "mqd_t"),
            a("u_notification", "const struct compat_sigevent *"),
        ],
    ),
    (
        "mq_getsetattr",
        &[
            a("mqdes", "mqd_t"),
            a("u_mqstat", "const struct compat_mq_attr *"),
            a("u_omqstat", "struct compat_mq_attr *"),
        ],
    ),
    (
        "kexec_load",
        &[
            a("entry", "compat_ulong_t"),
            a("nr_segments", "compat_ulong_t"),
            a("segments", "struct compat_kexec_segment *"),
            a("flags", "compat_ulong_t"),
        ],
    ),
    (
        "waitid",
        &[
            a("which", "int"),
            a("pid", "compat_pid_t"),
            a("infop", "struct compat_siginfo *"),
            a("options", "int"),
            a("uru", "struct compat_rusage *"),
        ],
    ),
    (
        "keyctl",
        &[
            a("option", "u32"),
            a("arg2", "u32"),
            a("arg3", "u32"),
            a("arg4", "u32"),
            a("arg5", "u32"),
        ],
    ),
    (
        "futimesat",
        &[
            a("dfd", "unsigned int"),
            a("filename", "const char *"),
            a("t", "struct old_timeval32 *"),
        ],
    ),
    (
        "fstatat64",
        &[
            a("dfd", "unsigned int"),
            a("filename", "const char *"),
            a("statbuf", "struct stat64 *"),
            a("flag", "int"),
        ],
    ),
    (
        "pselect6",
        &[
            a("n", "int"),
            a("inp", "compat_ulong_t *"),
            a("outp", "compat_ulong_t *"),
            a("exp", "compat_ulong_t *"),
            a("tsp", "struct old_timespec32 *"),
            a("sig", "void *"),
        ],
    ),
    (
        "ppoll",
        &[
            a("ufds", "struct pollfd *"),
            a("nfds", "unsigned int"),
            a("tsp", "struct old_timespec32 *"),
            a("sigmask", "const compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "set_robust_list",
        &[
            a("head", "struct compat_robust_list_head *"),
            a("len", "compat_size_t"),
        ],
    ),
    (
        "get_robust_list",
        &[
            a("pid", "int"),
            a("head_ptr", "compat_uptr_t *"),
            a("len_ptr", "compat_size_t *"),
        ],
    ),
    (
        "sync_file_range",
        &[
            a("fd", "int"),
            a("off_low", "unsigned int"),
            a("off_hi", "unsigned int"),
            a("n_low", "unsigned int"),
            a("n_hi", "unsigned int"),
            a("flags", "int"),
        ],
    ),
    (
        "utimensat",
        &[
            a("dfd", "unsigned int"),
            a("filename", "const char *"),
            a("t", "struct old_timespec32 *"),
            a("flags", "int"),
        ],
    ),
    (
        "signalfd",
        &[
            a("ufd", "int"),
            a("user_mask", "const compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "fallocate",
        &[
            a("fd", "int"),
            a("mode", "int"),
            a("offset_lo", "unsigned int"),
            a("offset_hi", "unsigned int"),
            a("len_lo", "unsigned int"),
            a("len_hi", "unsigned int"),
        ],
    ),
    (
        "timerfd_settime",
        &[
            a("ufd", "int"),
            a("flags", "int"),
            a("utmr", "const struct old_itimerspec32 *"),
            a("otmr", "struct old_itimerspec32 *"),
        ],
    ),
    (
        "timerfd_gettime",
        &[a("ufd", "int"), a("otmr", "struct old_itimerspec32 *")],
    ),
    (
        "signalfd4",
        &[
            a("ufd", "int"),
            a("user_mask", "const compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
            a("flags", "int"),
        ],
    ),
    (
        "preadv",
        &[
            a("fd", "compat_ulong_t"),
            a("vec", "const struct iovec *"),
            a("vlen", "compat_ulong_t"),
            a("pos_low", "u32"),
            a("pos_high", "u32"),
        ],
    ),
    (
        "pwritev",
        &[
            a("fd", "compat_ulong_t"),
            a("vec", "const struct iovec *"),
            a("vlen", "compat_ulong_t"),
            a("pos_low", "u32"),
            a("pos_high", "u32"),
        ],
    ),
    (
        "rt_tgsigqueueinfo",
        &[
            a("tgid", "compat_pid_t"),
            a("pid", "compat_pid_t"),
            a("sig", "int"),
            a("uinfo", "struct compat_siginfo *"),
        ],
    ),
    (
        "recvmmsg",
        &[
            a("fd", "int"),
            a("mmsg", "struct compat_mmsghdr *"),
            a("vlen", "unsigned int"),
            a("flags", "unsigned int"),
            a("timeout", "struct old_timespec32 *"),
        ],
    ),
    (
        "clock_adjtime",
        &[
            a("which_clock", "clockid_t"),
            a("utp", "struct old_timex32 *"),
        ],
    ),
    (
        "sendmmsg",
        &[
            a("fd", "int"),
            a("mmsg", "struct compat_mmsghdr *"),
            a("vlen", "unsigned int"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "execveat",
        &[
            a("fd", "int"),
            a("filename", "const char *"),
            a("argv", "const compat_uptr_t *"),
            a("envp", "const compat_uptr_t *"),
            a("flags", "int"),
        ],
    ),
    (
        "sendmsg",
        &[
            a("fd", "int"),
            a("msg", "struct compat_msghdr *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "recvfrom",
        &[
            a("fd", "int"),
            a("buf", "void *"),
            a("len", "compat_size_t"),
            a("flags", "unsigned int"),
            a("addr", "struct sockaddr *"),
            a("addrlen", "int *"),
        ],
    ),
    (
        "recvmsg",
        &[
            a("fd", "int"),
            a("msg", "struct compat_msghdr *"),
            a("flags", "unsigned int"),
        ],
    ),
    (
        "preadv2",
        &[
            a("fd", "compat_ulong_t"),
            a("vec", "const struct iovec *"),
            a("vlen", "compat_ulong_t"),
            a("pos_low", "u32"),
            a("pos_high", "u32"),
            a("flags", "rwf_t"),
        ],
    ),
    (
        "pwritev2",
        &[
            a("fd", "compat_ulong_t"),
            a("vec", "const struct iovec *"),
            a("vlen", "compat_ulong_t"),
            a("pos_low", "u32"),
            a("pos_high", "u32"),
            a("flags", "rwf_t"),
        ],
    ),
    (
        "io_pgetevents",
        &[
            a("ctx_id", "compat_aio_context_t"),
            a("min_nr", "compat_long_t"),
            a("nr", "compat_long_t"),
            a("events", "struct io_event *"),
            a("timeout", "struct old_timespec32 *"),
            a("usig", "const struct __compat_aio_sigset *"),
        ],
    ),
    (
        "semctl",
        &[
            a("semid", "int"),
            a("semnum", "int"),
            a("cmd", "int"),
            a("arg", "int"),
        ],
    ),
    (
        "shmctl",
        &[a("shmid", "int"), a("cmd", "int"), a("uptr", "void *")],
    ),
    (
        "shmat",
        &[
            a("shmid", "int"),
            a("shmaddr", "compat_uptr_t"),
            a("shmflg", "int"),
        ],
    ),
    (
        "msgsnd",
        &[
            a("msqid", "int"),
            a("msgp", "compat_uptr_t"),
            a("msgsz", "compat_ssize_t"),
            a("msgflg", "int"),
        ],
    ),
    (
        "msgrcv",
        &[
            a("msqid", "int"),
            a("msgp", "compat_uptr_t"),
            a("msgsz", "compat_ssize_t"),
            a("msgtyp", "compat_long_t"),
            a("msgflg", "int"),
        ],
    ),
    (
        "msgctl",
        &[a("msqid", "int"), a("cmd", "int"), a("uptr", "void *")],
    ),
    (
        "clock_gettime64",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_settime64",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_adjtime64",
        &[
            a("which_clock", "const clockid_t"),
            a("utx", "struct __kernel_timex *"),
        ],
    ),
    (
        "clock_getres_time64",
        &[
            a("which_clock", "const clockid_t"),
            a("tp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "clock_nanosleep_time64",
        &[
            a("which_clock", "const clockid_t"),
            a("flags", "int"),
            a("rqtp", "const struct __kernel_timespec *"),
            a("rmtp", "struct __kernel_timespec *"),
        ],
    ),
    (
        "timer_gettime64",
        &[
            a("timer_id", "timer_t"),
            a("setting", "struct __kernel_itimerspec *"),
        ],
    ),
    (
        "timer_settime64",
        &[
            a("timer_id", "timer_t"),
            a("flags", "int"),
            a("new_setting", "const struct __kernel_itimerspec *"),
            a("old_setting", "struct __kernel_itimerspec *"),
        ],
    ),
    (
        "timerfd_gettime64",
        &[a("ufd", "int"), a("otmr", "struct __kernel_itimerspec *")],
    ),
    (
        "timerfd_settime64",
        &[
            a("ufd", "int"),
            a("flags", "int"),
            a("utmr", "const struct __kernel_itimerspec *"),
            a("otmr", "struct __kernel_itimerspec *"),
        ],
    ),
    (
        "utimensat_time64",
        &[
            a("dfd", "int"),
            a("filename", "const char *"),
            a("utimes", "struct __kernel_timespec *"),
            a("flags", "int"),
        ],
    ),
    (
        "pselect6_time64",
        &[
            a("n", "int"),
            a("inp", "compat_ulong_t *"),
            a("outp", "compat_ulong_t *"),
            a("exp", "compat_ulong_t *"),
            a("tsp", "struct __kernel_timespec *"),
            a("sig", "void *"),
        ],
    ),
    (
        "ppoll_time64",
        &[
            a("ufds", "struct pollfd *"),
            a("nfds", "unsigned int"),
            a("tsp", "struct __kernel_timespec *"),
            a("sigmask", "const compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "io_pgetevents_time64",
        &[
            a("ctx_id", "compat_aio_context_t"),
            a("min_nr", "compat_long_t"),
            a("nr", "compat_long_t"),
            a("events", "struct io_event *"),
            a("timeout", "struct __kernel_timespec *"),
            a("usig", "const struct __compat_aio_sigset *"),
        ],
    ),
    (
        "recvmmsg_time64",
        &[
            a("fd", "int"),
            a("mmsg", "struct compat_mmsghdr *"),
            a("vlen", "unsigned int"),
            a("flags", "unsigned int"),
            a("timeout", "struct __kernel_timespec *"),
        ],
    ),
    (
        "mq_timedsend_time64",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "const char *"),
            a("msg_len", "size_t"),
            a("msg_prio", "unsigned int"),
            a("u_abs_timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "mq_timedreceive_time64",
        &[
            a("mqdes", "mqd_t"),
            a("u_msg_ptr", "char *"),
            a("msg_len", "size_t"),
            a("u_msg_prio", "unsigned int *"),
            a("u_abs_timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "semtimedop_time64",
        &[
            a("semid", "int"),
            a("tsops", "struct sembuf *"),
            a("nsops", "unsigned int"),
            a("timeout", "const struct __kernel_timespec *"),
        ],
    ),
    (
        "rt_sigtimedwait_time64",
        &[
            a("uthese", "compat_sigset_t *"),
            a("uinfo", "struct compat_siginfo *"),
            a("uts", "struct __kernel_timespec *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "futex_time64",
        &[
            a("uaddr", "u32 *"),
            a("op", "int"),
            a("val", "u32"),
            a("utime", "const struct __kernel_timespec *"),
            a("uaddr2", "u32 *"),
            a("val3", "u32"),
        ],
    ),
    (
        "sched_rr_get_interval_time64",
        &[
            a("pid", "pid_t"),
            a("interval", "struct __kernel_timespec *"),
        ],
    ),
    (
        "epoll_pwait2",
        &[
            a("epfd", "int"),
            a("events", "struct epoll_event *"),
            a("maxevents", "int"),
            a("timeout", "const struct __kernel_timespec *"),
            a("sigmask", "const compat_sigset_t *"),
            a("sigsetsize", "compat_size_t"),
        ],
    ),
    (
        "clone",
        &[
            a("clone_flags", "unsigned long"),
            a("newsp", "unsigned long"),
            a("parent_tidptr", "int *"),
            a("tls", "unsigned long"),
            a("child_tidptr", "int *"),
        ],
    ),
];

/// A number that no call has.
pub const NONE: u16 = u16::MAX;

/// By number on x86_64.
pub static X86_64: &[u16] = &[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49,
    50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73,
    74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97,
    98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116,
    117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135,
    136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154,
    155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173,
    174, 175, 176, 177, 178, 179, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192,
    193, 194, 195, 196, 197, 198, 199, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211,
    212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224, 225, 226, 227, 228, 229, 230,
    231, 232, 233, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247, 248, 249,
    250, 251, 252, 253, 254, 255, 256, 257, 258, 259, 260, 261, 262, 263, 264, 265, 266, 267, 268,
    269, 270, 271, 272, 273, 274, 275, 276, 277, 278, 279, 280, 281, 282, 283, 284, 285, 286, 287,
    288, 289, 290, 291, 292, 293, 294, 295, 296, 297, 298, 299, 300, 301, 302, 303, 304, 305, 306,
    307, 308, 309, 310, 311, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321, 322, 323, 324, 325,
    326, 327, 328, 329, 330, 331, 332, 333, 334, 335, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 336, 337, 338, 339, 340, 341, 342, 343, 344, 345, 346, 347, 348, 349, 350, 351, 352, 353,
    354, 355, 356, 357, 358, 359, 360, 361, 362, 363, 364, 365, 366, 367, 368, 369, 370, 371, 372,
    373, 374, 375, 376, 377, 378, 379, 380, 381,
];

/// By number on i386.
pub static I386: &[u16] = &[
    219, 60, 57, 0, 1, 2, 3, 382, 85, 86, 87, 383, 80, 384, 133, 90, 385, 386, 387, 388, 39, 165,
    389, 390, 102, 391, 392, 37, 393, 34, 394, 395, 396, 21, 397, 398, 162, 62, 82, 83, 84, 32, 22,
    399, 400, 12, 401, 104, 402, 107, 108, 163, 166, 403, 404, 405, 406, 109, 407, 408, 95, 161,
    409, 33, 110, 111, 112, 410, 411, 412, 413, 414, 415, 416, 170, 417, 418, 419, 420, 421, 422,
    423, 424, 88, 425, 89, 134, 167, 169, 426, 427, 11, 428, 429, 91, 430, 140, 141, 431, 432, 433,
    173, 434, 103, 435, 436, 437, 438, 439, 440, 172, 153, 441, 442, 443, 168, 444, 445, 74, 446,
    447, 171, 63, 154, 448, 10, 449, 174, 175, 176, 177, 179, 121, 81, 450, 139, 135, 183, 451,
    452, 453, 454, 455, 73, 26, 19, 20, 124, 75, 156, 149, 150, 151, 152, 142, 143, 144, 145, 24,
    146, 147, 456, 457, 25, 458, 459, 460, 178, 7, 180, 461, 462, 157, 15, 463, 464, 465, 466, 467,
    468, 469, 470, 471, 79, 125, 126, 472, 473, 181, 182, 58, 474, 475, 476, 477, 478, 479, 480,
    481, 482, 483, 484, 485, 486, 487, 488, 489, 490, 491, 492, 493, 494, 495, 496, 497, 498, 499,
    155, 27, 28, 217, 500, NONE, NONE, 186, 501, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197,
    198, 199, 200, 502, 503, 504, 505, 205, 211, 506, 207, 507, 508, 210, 509, NONE, 231, 212, 213,
    233, 232, 216, 218, 510, 511, 512, 225, 226, 513, 514, 515, 516, 517, 518, 234, 519, 520, 236,
    237, 239, 238, 521, 241, 522, 523, 524, 525, 526, 527, NONE, 248, 249, 528, 251, 252, 253, 254,
    255, 256, 257, 258, 259, 260, 529, 530, 263, 264, 265, 266, 267, 268, 269, 531, 532, 272, 533,
    534, 275, 535, 276, 278, 279, 309, 281, 536, 537, 283, 284, 538, 539, 540, 541, 290, 291, 292,
    293, 294, 542, 543, 544, 298, 545, 300, 301, 302, 303, 304, 546, 306, 547, 308, 310, 311, 312,
    313, 314, 315, 316, 317, 318, 319, 321, 548, 41, 53, 49, 42, 50, 288, 55, 54, 51, 52, 44, 549,
    550, 551, 48, 323, 324, 325, 326, 552, 553, 329, 330, 331, 332, 158, 554, 334, NONE, NONE,
    NONE, NONE, NONE, NONE, 64, 555, 29, 556, 557, 67, 68, 558, 559, 560, 561, 562, 563, 564, 565,
    566, 567, 568, 569, 570, 571, 572, NONE, 573, 574, 575, 576, 577, 578, 579, 580, 336, 337, 338,
    339, 340, 341, 342, 343, 344, 345, 346, 347, 348, 349, 350, 351, 352, 581, 354, 355, 356, 357,
    358, 359, 360, 361, 362, 363, 364, 365, 366, 367, 368, 369, 370, 371, 372, 373, 374, 375, 376,
    377, 378, 379, 380, 381,
];

/// By number on aarch64.
pub static AARCH64: &[u16] = &[
    206, 207, 209, 210, 208, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 79, 212,
    290, 291, 233, 281, 32, 292, 72, 294, 254, 255, 16, 251, 252, 73, 259, 258, 263, 266, 265, 264,
    166, 165, 155, 180, 137, 138, 76, 77, 285, 269, 80, 81, 161, 91, 268, 260, 93, 257, 3, 153,
    293, 179, 217, 8, 0, 1, 19, 20, 17, 18, 295, 296, 40, 270, 271, 289, 278, 275, 276, 267, 262,
    5, 162, 74, 75, 277, 283, 286, 287, 280, 163, 125, 126, 135, 60, 231, 247, 218, 272, 202, 273,
    274, 35, 36, 38, 246, 175, 176, 222, 224, 225, 223, 226, 227, 228, 229, 230, 103, 101, 142,
    144, 145, 143, 203, 204, 24, 146, 147, 148, 219, 62, 200, 234, 131, 130, 13, 14, 127, 128, 129,
    15, 141, 140, 169, 114, 106, 113, 105, 117, 118, 119, 120, 122, 123, 100, 109, 121, 124, 112,
    115, 116, 63, 170, 171, 97, 160, 98, 95, 157, 309, 96, 164, 159, 39, 110, 102, 107, 104, 108,
    186, 99, 240, 241, 242, 243, 244, 245, 68, 71, 70, 69, 64, 66, 220, 65, 29, 31, 30, 67, 41, 53,
    49, 50, 43, 42, 51, 52, 44, 45, 54, 55, 48, 46, 47, 187, 12, 11, 25, 248, 249, 250, 582, 59, 9,
    221, 167, 168, 10, 26, 149, 150, 151, 152, 27, 28, 216, 237, 239, 238, 256, 279, 297, 298, 288,
    299, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 61, 302, 300, 301, 303, 304, 305, 306, 308, 307, 310, 311, 312, 313, 314, 315, 316, 317,
    318, 319, 321, 322, 323, 324, 325, 326, 327, 328, 329, 330, 331, 332, 333, 334, 320, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    336, 337, 338, 339, 340, 341, 342, 343, 344, 345, 346, 347, 348, 349, 350, 351, 352, 353, 354,
    355, 356, 357, 358, 359, 360, 361, 362, 363, 364, 365, 366, 367, 368, 369, 370, 371, 372, 373,
    374, 375, 376, 377, 378, 379, 380, 381,
];
