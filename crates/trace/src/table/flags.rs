//! The names of bits and values, in the order in which they are shown.

use super::kind::Names;

/// `O_???`
pub static OPEN: Names = Names {
    unknown: "O_???",
    zero: "0",
    list: &[
        ("O_CREAT", 0x40),
        ("O_EXCL", 0x80),
        ("O_NOCTTY", 0x100),
        ("O_TRUNC", 0x200),
        ("O_APPEND", 0x400),
        ("O_NONBLOCK", 0x800),
        ("O_SYNC", 0x101000),
        ("__O_SYNC", 0x100000),
        ("O_DSYNC", 0x1000),
        ("O_DIRECT", 0x4000),
        ("O_LARGEFILE", 0x8000),
        ("O_NOFOLLOW", 0x20000),
        ("O_NOATIME", 0x40000),
        ("O_CLOEXEC", 0x80000),
        ("O_PATH", 0x200000),
        ("O_TMPFILE", 0x410000),
        ("__O_TMPFILE", 0x400000),
        ("O_DIRECTORY", 0x10000),
        ("FASYNC", 0x2000),
    ],
};

/// `O_???`
pub static OPEN_ARM: Names = Names {
    unknown: "O_???",
    zero: "0",
    list: &[
        ("O_CREAT", 0x40),
        ("O_EXCL", 0x80),
        ("O_NOCTTY", 0x100),
        ("O_TRUNC", 0x200),
        ("O_APPEND", 0x400),
        ("O_NONBLOCK", 0x800),
        ("O_SYNC", 0x101000),
        ("__O_SYNC", 0x100000),
        ("O_DSYNC", 0x1000),
        ("O_DIRECT", 0x10000),
        ("O_LARGEFILE", 0x20000),
        ("O_NOFOLLOW", 0x8000),
        ("O_NOATIME", 0x40000),
        ("O_CLOEXEC", 0x80000),
        ("O_PATH", 0x200000),
        ("O_TMPFILE", 0x404000),
        ("__O_TMPFILE", 0x400000),
        ("O_DIRECTORY", 0x4000),
        ("FASYNC", 0x2000),
    ],
};

/// `O_???`
pub static ACCESS_MODE: Names = Names {
    unknown: "O_???",
    zero: "",
    list: &[
        ("O_RDONLY", 0),
        ("O_WRONLY", 1),
        ("O_RDWR", 2),
        ("O_ACCMODE", 3),
    ],
};

/// `?_OK`
pub static ACCESS: Names = Names {
    unknown: "?_OK",
    zero: "F_OK",
    list: &[("R_OK", 4), ("W_OK", 2), ("X_OK", 1)],
};

/// `AT_???`
pub static AT: Names = Names {
    unknown: "AT_???",
    zero: "0",
    list: &[
        ("AT_SYMLINK_NOFOLLOW", 0x100),
        ("AT_REMOVEDIR", 0x200),
        ("AT_SYMLINK_FOLLOW", 0x400),
        ("AT_NO_AUTOMOUNT", 0x800),
        ("AT_EMPTY_PATH", 0x1000),
        ("AT_RECURSIVE", 0x8000),
    ],
};

/// `AT_???`
pub static AT_FACCESS: Names = Names {
    unknown: "AT_???",
    zero: "0",
    list: &[
        ("AT_SYMLINK_NOFOLLOW", 0x100),
        ("AT_EACCESS", 0x200),
        ("AT_EMPTY_PATH", 0x1000),
    ],
};

/// `AT_STATX_???`
pub static AT_STATX: Names = Names {
    unknown: "AT_STATX_???",
    zero: "AT_STATX_SYNC_AS_STAT",
    list: &[
        ("AT_SYMLINK_NOFOLLOW", 0x100),
        ("AT_REMOVEDIR", 0x200),
        ("AT_SYMLINK_FOLLOW", 0x400),
        ("AT_NO_AUTOMOUNT", 0x800),
        ("AT_EMPTY_PATH", 0x1000),
        ("AT_RECURSIVE", 0x8000),
    ],
};

/// `STATX_???`
pub static STATX_MASK: Names = Names {
    unknown: "STATX_???",
    zero: "0",
    list: &[
        ("STATX_ALL", 0xfff),
        ("STATX_BASIC_STATS", 0x7ff),
        ("STATX_TYPE", 1),
        ("STATX_MODE", 2),
        ("STATX_NLINK", 4),
        ("STATX_UID", 8),
        ("STATX_GID", 0x10),
        ("STATX_ATIME", 0x20),
        ("STATX_MTIME", 0x40),
        ("STATX_CTIME", 0x80),
        ("STATX_INO", 0x100),
        ("STATX_SIZE", 0x200),
        ("STATX_BLOCKS", 0x400),
        ("STATX_BTIME", 0x800),
        ("STATX_MNT_ID", 0x1000),
        ("STATX_DIOALIGN", 0x2000),
    ],
};

/// `STATX_ATTR_???`
pub static STATX_ATTR: Names = Names {
    unknown: "STATX_ATTR_???",
    zero: "0",
    list: &[
        ("STATX_ATTR_COMPRESSED", 4),
        ("STATX_ATTR_IMMUTABLE", 0x10),
        ("STATX_ATTR_APPEND", 0x20),
        ("STATX_ATTR_NODUMP", 0x40),
        ("STATX_ATTR_ENCRYPTED", 0x800),
        ("STATX_ATTR_AUTOMOUNT", 0x1000),
        ("STATX_ATTR_MOUNT_ROOT", 0x2000),
        ("STATX_ATTR_VERITY", 0x100000),
        ("STATX_ATTR_DAX", 0x200000),
    ],
};

/// `RESOLVE_???`
pub static RESOLVE: Names = Names {
    unknown: "RESOLVE_???",
    zero: "0",
    list: &[
        ("RESOLVE_NO_XDEV", 1),
        ("RESOLVE_NO_MAGICLINKS", 2),
        ("RESOLVE_NO_SYMLINKS", 4),
        ("RESOLVE_BENEATH", 8),
        ("RESOLVE_IN_ROOT", 0x10),
        ("RESOLVE_CACHED", 0x20),
    ],
};

/// `RENAME_???`
pub static RENAME: Names = Names {
    unknown: "RENAME_???",
    zero: "0",
    list: &[
        ("RENAME_NOREPLACE", 1),
        ("RENAME_EXCHANGE", 2),
        ("RENAME_WHITEOUT", 4),
    ],
};

/// `SEEK_???`
pub static WHENCE: Names = Names {
    unknown: "SEEK_???",
    zero: "",
    list: &[
        ("SEEK_SET", 0),
        ("SEEK_CUR", 1),
        ("SEEK_END", 2),
        ("SEEK_DATA", 3),
        ("SEEK_HOLE", 4),
    ],
};

/// `PROT_???`
pub static PROT: Names = Names {
    unknown: "PROT_???",
    zero: "PROT_NONE",
    list: &[
        ("PROT_READ", 1),
        ("PROT_WRITE", 2),
        ("PROT_EXEC", 4),
        ("PROT_SEM", 8),
        ("PROT_GROWSDOWN", 0x1000000),
        ("PROT_GROWSUP", 0x2000000),
    ],
};

/// `MAP_???`
pub static MAP: Names = Names {
    unknown: "MAP_???",
    zero: "MAP_FILE",
    list: &[
        ("MAP_FIXED", 0x10),
        ("MAP_ANONYMOUS", 0x20),
        ("MAP_32BIT", 0x40),
        ("MAP_NORESERVE", 0x4000),
        ("MAP_POPULATE", 0x8000),
        ("MAP_NONBLOCK", 0x10000),
        ("MAP_GROWSDOWN", 0x100),
        ("MAP_DENYWRITE", 0x800),
        ("MAP_EXECUTABLE", 0x1000),
        ("MAP_LOCKED", 0x2000),
        ("MAP_STACK", 0x20000),
        ("MAP_HUGETLB", 0x40000),
        ("MAP_SYNC", 0x80000),
        ("MAP_FIXED_NOREPLACE", 0x100000),
    ],
};

/// `MAP_???`
pub static MAP_TYPE: Names = Names {
    unknown: "MAP_???",
    zero: "",
    list: &[
        ("MAP_FILE", 0),
        ("MAP_SHARED", 1),
        ("MAP_PRIVATE", 2),
        ("MAP_SHARED_VALIDATE", 3),
    ],
};

/// `MREMAP_???`
pub static MREMAP: Names = Names {
    unknown: "MREMAP_???",
    zero: "0",
    list: &[
        ("MREMAP_MAYMOVE", 1),
        ("MREMAP_FIXED", 2),
        ("MREMAP_DONTUNMAP", 4),
    ],
};

/// `MS_???`
pub static MSYNC: Names = Names {
    unknown: "MS_???",
    zero: "0",
    list: &[("MS_SYNC", 4), ("MS_ASYNC", 1), ("MS_INVALIDATE", 2)],
};

/// `MLOCK_???`
pub static MLOCK2: Names = Names {
    unknown: "MLOCK_???",
    zero: "0",
    list: &[("MLOCK_ONFAULT", 1)],
};

/// `MCL_???`
pub static MLOCKALL: Names = Names {
    unknown: "MCL_???",
    zero: "0",
    list: &[("MCL_CURRENT", 1), ("MCL_FUTURE", 2), ("MCL_ONFAULT", 4)],
};

/// `MADV_???`
pub static MADVISE: Names = Names {
    unknown: "MADV_???",
    zero: "",
    list: &[
        ("MADV_NORMAL", 0),
        ("MADV_RANDOM", 1),
        ("MADV_SEQUENTIAL", 2),
        ("MADV_WILLNEED", 3),
        ("MADV_DONTNEED", 4),
        ("MADV_FREE", 8),
        ("MADV_REMOVE", 9),
        ("MADV_DONTFORK", 0xa),
        ("MADV_DOFORK", 0xb),
        ("MADV_MERGEABLE", 0xc),
        ("MADV_UNMERGEABLE", 0xd),
        ("MADV_HUGEPAGE", 0xe),
        ("MADV_NOHUGEPAGE", 0xf),
        ("MADV_DONTDUMP", 0x10),
        ("MADV_DODUMP", 0x11),
        ("MADV_WIPEONFORK", 0x12),
        ("MADV_KEEPONFORK", 0x13),
        ("MADV_COLD", 0x14),
        ("MADV_PAGEOUT", 0x15),
        ("MADV_POPULATE_READ", 0x16),
        ("MADV_POPULATE_WRITE", 0x17),
        ("MADV_DONTNEED_LOCKED", 0x18),
        ("MADV_COLLAPSE", 0x19),
        ("MADV_HWPOISON", 0x64),
        ("MADV_SOFT_OFFLINE", 0x65),
    ],
};

/// `MFD_???`
pub static MEMFD: Names = Names {
    unknown: "MFD_???",
    zero: "0",
    list: &[
        ("MFD_CLOEXEC", 1),
        ("MFD_ALLOW_SEALING", 2),
        ("MFD_HUGETLB", 4),
    ],
};

/// `PKEY_???`
pub static PKEY: Names = Names {
    unknown: "PKEY_???",
    zero: "0",
    list: &[
        ("PKEY_DISABLE_ACCESS", 1),
        ("PKEY_DISABLE_WRITE", 2),
        ("PKEY_DISABLE_EXECUTE", 4),
    ],
};

/// `CLONE_???`
pub static CLONE: Names = Names {
    unknown: "CLONE_???",
    zero: "0",
    list: &[
        ("CLONE_VM", 0x100),
        ("CLONE_FS", 0x200),
        ("CLONE_FILES", 0x400),
        ("CLONE_SIGHAND", 0x800),
        ("CLONE_PIDFD", 0x1000),
        ("CLONE_PTRACE", 0x2000),
        ("CLONE_VFORK", 0x4000),
        ("CLONE_PARENT", 0x8000),
        ("CLONE_THREAD", 0x10000),
        ("CLONE_NEWNS", 0x20000),
        ("CLONE_SYSVSEM", 0x40000),
        ("CLONE_SETTLS", 0x80000),
        ("CLONE_PARENT_SETTID", 0x100000),
        ("CLONE_CHILD_CLEARTID", 0x200000),
        ("CLONE_UNTRACED", 0x800000),
        ("CLONE_CHILD_SETTID", 0x1000000),
        ("CLONE_NEWCGROUP", 0x2000000),
        ("CLONE_NEWUTS", 0x4000000),
        ("CLONE_NEWIPC", 0x8000000),
        ("CLONE_NEWUSER", 0x10000000),
        ("CLONE_NEWPID", 0x20000000),
        ("CLONE_NEWNET", 0x40000000),
        ("CLONE_IO", 0x80000000),
    ],
};

/// `CLONE_???`
pub static CLONE3: Names = Names {
    unknown: "CLONE_???",
    zero: "0",
    list: &[
        ("CLONE_VM", 0x100),
        ("CLONE_FS", 0x200),
        ("CLONE_FILES", 0x400),
        ("CLONE_SIGHAND", 0x800),
        ("CLONE_PIDFD", 0x1000),
        ("CLONE_PTRACE", 0x2000),
        ("CLONE_VFORK", 0x4000),
        ("CLONE_PARENT", 0x8000),
        ("CLONE_THREAD", 0x10000),
        ("CLONE_NEWNS", 0x20000),
        ("CLONE_SYSVSEM", 0x40000),
        ("CLONE_SETTLS", 0x80000),
        ("CLONE_PARENT_SETTID", 0x100000),
        ("CLONE_CHILD_CLEARTID", 0x200000),
        ("CLONE_UNTRACED", 0x800000),
        ("CLONE_CHILD_SETTID", 0x1000000),
        ("CLONE_NEWCGROUP", 0x2000000),
        ("CLONE_NEWUTS", 0x4000000),
        ("CLONE_NEWIPC", 0x8000000),
        ("CLONE_NEWUSER", 0x10000000),
        ("CLONE_NEWPID", 0x20000000),
        ("CLONE_NEWNET", 0x40000000),
        ("CLONE_IO", 0x80000000),
        ("CLONE_NEWTIME", 0x80),
        ("CLONE_CLEAR_SIGHAND", 0x100000000),
        ("CLONE_INTO_CGROUP", 0x200000000),
    ],
};

/// `CLONE_???`
pub static UNSHARE: Names = Names {
    unknown: "CLONE_???",
    zero: "0",
    list: &[
        ("CLONE_NEWTIME", 0x80),
        ("CLONE_VM", 0x100),
        ("CLONE_FS", 0x200),
        ("CLONE_FILES", 0x400),
        ("CLONE_SIGHAND", 0x800),
        ("CLONE_THREAD", 0x10000),
        ("CLONE_NEWNS", 0x20000),
        ("CLONE_SYSVSEM", 0x40000),
        ("CLONE_NEWCGROUP", 0x2000000),
        ("CLONE_NEWUTS", 0x4000000),
        ("CLONE_NEWIPC", 0x8000000),
        ("CLONE_NEWUSER", 0x10000000),
        ("CLONE_NEWPID", 0x20000000),
        ("CLONE_NEWNET", 0x40000000),
    ],
};

/// `W???`
pub static WAIT: Names = Names {
    unknown: "W???",
    zero: "0",
    list: &[
        ("WNOHANG", 1),
        ("WEXITED", 4),
        ("WSTOPPED", 2),
        ("WCONTINUED", 8),
        ("WNOWAIT", 0x1000000),
        ("__WCLONE", 0x80000000),
        ("__WALL", 0x40000000),
        ("__WNOTHREAD", 0x20000000),
    ],
};

/// `P_???`
pub static WAITID: Names = Names {
    unknown: "P_???",
    zero: "",
    list: &[("P_ALL", 0), ("P_PID", 1), ("P_PGID", 2), ("P_PIDFD", 3)],
};

/// `SIG_???`
pub static SIG_HOW: Names = Names {
    unknown: "SIG_???",
    zero: "",
    list: &[("SIG_BLOCK", 0), ("SIG_UNBLOCK", 1), ("SIG_SETMASK", 2)],
};

/// `SA_???`
pub static SA: Names = Names {
    unknown: "SA_???",
    zero: "0",
    list: &[
        ("SA_RESTORER", 0x4000000),
        ("SA_ONSTACK", 0x8000000),
        ("SA_RESTART", 0x10000000),
        ("SA_INTERRUPT", 0x20000000),
        ("SA_NODEFER", 0x40000000),
        ("SA_RESETHAND", 0x80000000),
        ("SA_SIGINFO", 4),
        ("SA_NOCLDSTOP", 1),
        ("SA_NOCLDWAIT", 2),
    ],
};

/// `SS_???`
pub static SS: Names = Names {
    unknown: "SS_???",
    zero: "0",
    list: &[
        ("SS_ONSTACK", 1),
        ("SS_DISABLE", 2),
        ("SS_AUTODISARM", 0x80000000),
    ],
};

/// `F_???`
pub static FCNTL: Names = Names {
    unknown: "F_???",
    zero: "",
    list: &[
        ("F_DUPFD", 0),
        ("F_GETFD", 1),
        ("F_SETFD", 2),
        ("F_GETFL", 3),
        ("F_SETFL", 4),
        ("F_GETLK", 5),
        ("F_SETLK", 6),
        ("F_SETLKW", 7),
        ("F_SETOWN", 8),
        ("F_GETOWN", 9),
        ("F_SETSIG", 0xa),
        ("F_GETSIG", 0xb),
        ("F_SETOWN_EX", 0xf),
        ("F_GETOWN_EX", 0x10),
        ("F_GETOWNER_UIDS", 0x11),
        ("F_OFD_GETLK", 0x24),
        ("F_OFD_SETLK", 0x25),
        ("F_OFD_SETLKW", 0x26),
        ("F_SETLEASE", 0x400),
        ("F_GETLEASE", 0x401),
        ("F_NOTIFY", 0x402),
        ("F_CANCELLK", 0x405),
        ("F_DUPFD_CLOEXEC", 0x406),
        ("F_SETPIPE_SZ", 0x407),
        ("F_GETPIPE_SZ", 0x408),
        ("F_ADD_SEALS", 0x409),
        ("F_GET_SEALS", 0x40a),
        ("F_GET_RW_HINT", 0x40b),
        ("F_SET_RW_HINT", 0x40c),
        ("F_GET_FILE_RW_HINT", 0x40d),
        ("F_SET_FILE_RW_HINT", 0x40e),
    ],
};

/// `FD_???`
pub static FD_FLAGS: Names = Names {
    unknown: "FD_???",
    zero: "0",
    list: &[("FD_CLOEXEC", 1)],
};

/// `F_???`
pub static LOCK_TYPE: Names = Names {
    unknown: "F_???",
    zero: "",
    list: &[
        ("F_RDLCK", 0),
        ("F_WRLCK", 1),
        ("F_UNLCK", 2),
        ("F_EXLCK", 4),
        ("F_SHLCK", 8),
    ],
};

/// `LOCK_???`
pub static FLOCK: Names = Names {
    unknown: "LOCK_???",
    zero: "0",
    list: &[
        ("LOCK_SH", 1),
        ("LOCK_EX", 2),
        ("LOCK_NB", 4),
        ("LOCK_UN", 8),
        ("LOCK_MAND", 0x20),
        ("LOCK_RW", 0xc0),
        ("LOCK_READ", 0x40),
        ("LOCK_WRITE", 0x80),
    ],
};

/// `F_SEAL_???`
pub static SEALS: Names = Names {
    unknown: "F_SEAL_???",
    zero: "0",
    list: &[
        ("F_SEAL_SEAL", 1),
        ("F_SEAL_SHRINK", 2),
        ("F_SEAL_GROW", 4),
        ("F_SEAL_WRITE", 8),
        ("F_SEAL_FUTURE_WRITE", 0x10),
    ],
};

/// `DN_???`
pub static NOTIFY: Names = Names {
    unknown: "DN_???",
    zero: "0",
    list: &[
        ("DN_ACCESS", 1),
        ("DN_MODIFY", 2),
        ("DN_CREATE", 4),
        ("DN_DELETE", 8),
        ("DN_RENAME", 0x10),
        ("DN_ATTRIB", 0x20),
        ("DN_MULTISHOT", 0x80000000),
    ],
};

/// `F_OWNER_???`
pub static OWNER: Names = Names {
    unknown: "F_OWNER_???",
    zero: "",
    list: &[("F_OWNER_TID", 0), ("F_OWNER_PID", 1), ("F_OWNER_PGRP", 2)],
};

/// `RWH_WRITE_LIFE_???`
pub static RW_HINT: Names = Names {
    unknown: "RWH_WRITE_LIFE_???",
    zero: "",
    list: &[
        ("RWH_WRITE_LIFE_NOT_SET", 0),
        ("RWH_WRITE_LIFE_NONE", 1),
        ("RWH_WRITE_LIFE_SHORT", 2),
        ("RWH_WRITE_LIFE_MEDIUM", 3),
        ("RWH_WRITE_LIFE_LONG", 4),
        ("RWH_WRITE_LIFE_EXTREME", 5),
    ],
};

/// `FALLOC_FL_???`
pub static FALLOCATE: Names = Names {
    unknown: "FALLOC_FL_???",
    zero: "0",
    list: &[
        ("FALLOC_FL_KEEP_SIZE", 1),
        ("FALLOC_FL_PUNCH_HOLE", 2),
        ("FALLOC_FL_NO_HIDE_STALE", 4),
        ("FALLOC_FL_COLLAPSE_RANGE", 8),
        ("FALLOC_FL_ZERO_RANGE", 0x10),
        ("FALLOC_FL_INSERT_RANGE", 0x20),
        ("FALLOC_FL_UNSHARE_RANGE", 0x40),
    ],
};

/// `POSIX_FADV_???`
pub static FADVISE: Names = Names {
    unknown: "POSIX_FADV_???",
    zero: "",
    list: &[
        ("POSIX_FADV_NORMAL", 0),
        ("POSIX_FADV_RANDOM", 1),
        ("POSIX_FADV_SEQUENTIAL", 2),
        ("POSIX_FADV_WILLNEED", 3),
        ("POSIX_FADV_DONTNEED", 4),
        ("POSIX_FADV_NOREUSE", 5),
    ],
};

/// `SYNC_FILE_RANGE_???`
pub static SYNC_RANGE: Names = Names {
    unknown: "SYNC_FILE_RANGE_???",
    zero: "0",
    list: &[
        ("SYNC_FILE_RANGE_WAIT_BEFORE", 1),
        ("SYNC_FILE_RANGE_WRITE", 2),
        ("SYNC_FILE_RANGE_WAIT_AFTER", 4),
    ],
};

/// `RWF_???`
pub static RWF: Names = Names {
    unknown: "RWF_???",
    zero: "0",
    list: &[
        ("RWF_HIPRI", 1),
        ("RWF_DSYNC", 2),
        ("RWF_SYNC", 4),
        ("RWF_NOWAIT", 8),
        ("RWF_APPEND", 0x10),
    ],
};

/// `SPLICE_F_???`
pub static SPLICE: Names = Names {
    unknown: "SPLICE_F_???",
    zero: "0",
    list: &[
        ("SPLICE_F_MOVE", 1),
        ("SPLICE_F_NONBLOCK", 2),
        ("SPLICE_F_MORE", 4),
        ("SPLICE_F_GIFT", 8),
    ],
};

/// `XATTR_???`
pub static XATTR: Names = Names {
    unknown: "XATTR_???",
    zero: "0",
    list: &[("XATTR_CREATE", 1), ("XATTR_REPLACE", 2)],
};

/// `MS_???`
pub static MOUNT: Names = Names {
    unknown: "MS_???",
    zero: "0",
    list: &[
        ("MS_RDONLY", 1),
        ("MS_NOSUID", 2),
        ("MS_NODEV", 4),
        ("MS_NOEXEC", 8),
        ("MS_SYNCHRONOUS", 0x10),
        ("MS_REMOUNT", 0x20),
        ("MS_MANDLOCK", 0x40),
        ("MS_DIRSYNC", 0x80),
        ("MS_NOSYMFOLLOW", 0x100),
        ("MS_NOATIME", 0x400),
        ("MS_NODIRATIME", 0x800),
        ("MS_BIND", 0x1000),
        ("MS_MOVE", 0x2000),
        ("MS_REC", 0x4000),
        ("MS_SILENT", 0x8000),
        ("MS_POSIXACL", 0x10000),
        ("MS_UNBINDABLE", 0x20000),
        ("MS_PRIVATE", 0x40000),
        ("MS_SLAVE", 0x80000),
        ("MS_SHARED", 0x100000),
        ("MS_RELATIME", 0x200000),
        ("MS_KERNMOUNT", 0x400000),
        ("MS_I_VERSION", 0x800000),
        ("MS_STRICTATIME", 0x1000000),
        ("MS_LAZYTIME", 0x2000000),
        ("MS_SUBMOUNT", 0x4000000),
        ("MS_NOREMOTELOCK", 0x8000000),
        ("MS_NOSEC", 0x10000000),
        ("MS_BORN", 0x20000000),
    ],
};

/// `MNT_???`
pub static UMOUNT: Names = Names {
    unknown: "MNT_???",
    zero: "0",
    list: &[
        ("MNT_FORCE", 1),
        ("MNT_DETACH", 2),
        ("MNT_EXPIRE", 4),
        ("UMOUNT_NOFOLLOW", 8),
    ],
};

/// `ST_???`
pub static STATFS_FLAGS: Names = Names {
    unknown: "ST_???",
    zero: "0",
    list: &[
        ("ST_VALID", 0x20),
        ("ST_RDONLY", 1),
        ("ST_NOSUID", 2),
        ("ST_NODEV", 4),
        ("ST_NOEXEC", 8),
        ("ST_SYNCHRONOUS", 0x10),
        ("ST_MANDLOCK", 0x40),
        ("ST_NOATIME", 0x400),
        ("ST_NODIRATIME", 0x800),
        ("ST_RELATIME", 0x1000),
        ("ST_NOSYMFOLLOW", 0x2000),
    ],
};

/// `???_MAGIC`
pub static FS_MAGIC: Names = Names {
    unknown: "???_MAGIC",
    zero: "",
    list: &[
        ("ADFS_SUPER_MAGIC", 0xadf5),
        ("AFFS_SUPER_MAGIC", 0xadff),
        ("AFS_SUPER_MAGIC", 0x5346414f),
        ("AUTOFS_SUPER_MAGIC", 0x187),
        ("BPF_FS_MAGIC", 0xcafe4a11),
        ("BTRFS_SUPER_MAGIC", 0x9123683e),
        ("CGROUP_SUPER_MAGIC", 0x27e0eb),
        ("CGROUP2_SUPER_MAGIC", 0x63677270),
        ("CODA_SUPER_MAGIC", 0x73757245),
        ("CRAMFS_MAGIC", 0x28cd3d45),
        ("DEBUGFS_MAGIC", 0x64626720),
        ("DEVPTS_SUPER_MAGIC", 0x1cd1),
        ("ECRYPTFS_SUPER_MAGIC", 0xf15f),
        ("EFIVARFS_MAGIC", 0xde5e81e4),
        ("EFS_SUPER_MAGIC", 0x414a53),
        ("EXT2_SUPER_MAGIC", 0xef53),
        ("F2FS_SUPER_MAGIC", 0xf2f52010),
        ("FUSE_SUPER_MAGIC", 0x65735546),
        ("FUTEXFS_SUPER_MAGIC", 0xbad1dea),
        ("HOSTFS_SUPER_MAGIC", 0xc0ffee),
        ("HPFS_SUPER_MAGIC", 0xf995e849),
        ("HUGETLBFS_MAGIC", 0x958458f6),
        ("ISOFS_SUPER_MAGIC", 0x9660),
        ("JFFS2_SUPER_MAGIC", 0x72b6),
        ("MINIX_SUPER_MAGIC", 0x137f),
        ("MQUEUE_MAGIC", 0x19800202),
        ("MSDOS_SUPER_MAGIC", 0x4d44),
        ("NCP_SUPER_MAGIC", 0x564c),
        ("NFS_SUPER_MAGIC", 0x6969),
        ("NILFS_SUPER_MAGIC", 0x3434),
        ("NSFS_MAGIC", 0x6e736673),
        ("OCFS2_SUPER_MAGIC", 0x7461636f),
        ("OPENPROM_SUPER_MAGIC", 0x9fa1),
        ("OVERLAYFS_SUPER_MAGIC", 0x794c7630),
        ("PIPEFS_MAGIC", 0x50495045),
        ("PROC_SUPER_MAGIC", 0x9fa0),
        ("PSTOREFS_MAGIC", 0x6165676c),
        ("QNX4_SUPER_MAGIC", 0x2f),
        ("QNX6_SUPER_MAGIC", 0x68191122),
        ("RAMFS_MAGIC", 0x858458f6),
        ("REISERFS_SUPER_MAGIC", 0x52654973),
        ("SECURITYFS_MAGIC", 0x73636673),
        ("SELINUX_MAGIC", 0xf97cff8c),
        ("SMACK_MAGIC", 0x43415d53),
        ("SMB_SUPER_MAGIC", 0x517b),
        ("SMB2_SUPER_MAGIC", 0xfe534d42),
        ("SOCKFS_MAGIC", 0x534f434b),
        ("SQUASHFS_MAGIC", 0x73717368),
        ("SYSFS_MAGIC", 0x62656572),
        ("TMPFS_MAGIC", 0x1021994),
        ("TRACEFS_MAGIC", 0x74726163),
        ("UDF_SUPER_MAGIC", 0x15013346),
        ("USBDEVICE_SUPER_MAGIC", 0x9fa2),
        ("V9FS_MAGIC", 0x1021997),
        ("XENFS_SUPER_MAGIC", 0xabba1974),
        ("XFS_SUPER_MAGIC", 0x58465342),
        ("ZONEFS_MAGIC", 0x5a4f4653),
        ("ANON_INODE_FS_MAGIC", 0x9041934),
        ("BINFMTFS_MAGIC", 0x42494e4d),
        ("BDEVFS_MAGIC", 0x62646576),
    ],
};

/// `EFD_???`
pub static EVENTFD: Names = Names {
    unknown: "EFD_???",
    zero: "0",
    list: &[
        ("EFD_SEMAPHORE", 1),
        ("EFD_CLOEXEC", 0x80000),
        ("EFD_NONBLOCK", 0x800),
    ],
};

/// `SFD_???`
pub static SIGNALFD: Names = Names {
    unknown: "SFD_???",
    zero: "0",
    list: &[("SFD_CLOEXEC", 0x80000), ("SFD_NONBLOCK", 0x800)],
};

/// `TFD_???`
pub static TIMERFD: Names = Names {
    unknown: "TFD_???",
    zero: "0",
    list: &[
        ("TFD_TIMER_ABSTIME", 1),
        ("TFD_TIMER_CANCEL_ON_SET", 2),
        ("TFD_CLOEXEC", 0x80000),
        ("TFD_NONBLOCK", 0x800),
    ],
};

/// `TIMER_???`
pub static TIMER_ABSTIME: Names = Names {
    unknown: "TIMER_???",
    zero: "0",
    list: &[("TIMER_ABSTIME", 1)],
};

/// `IN_???`
pub static INOTIFY_INIT: Names = Names {
    unknown: "IN_???",
    zero: "0",
    list: &[("IN_NONBLOCK", 0x800), ("IN_CLOEXEC", 0x80000)],
};

/// `IN_???`
pub static INOTIFY: Names = Names {
    unknown: "IN_???",
    zero: "0",
    list: &[
        ("IN_ACCESS", 1),
        ("IN_MODIFY", 2),
        ("IN_ATTRIB", 4),
        ("IN_CLOSE_WRITE", 8),
        ("IN_CLOSE_NOWRITE", 0x10),
        ("IN_OPEN", 0x20),
        ("IN_MOVED_FROM", 0x40),
        ("IN_MOVED_TO", 0x80),
        ("IN_CREATE", 0x100),
        ("IN_DELETE", 0x200),
        ("IN_DELETE_SELF", 0x400),
        ("IN_MOVE_SELF", 0x800),
        ("IN_UNMOUNT", 0x2000),
        ("IN_Q_OVERFLOW", 0x4000),
        ("IN_IGNORED", 0x8000),
        ("IN_ONLYDIR", 0x1000000),
        ("IN_DONT_FOLLOW", 0x2000000),
        ("IN_EXCL_UNLINK", 0x4000000),
        ("IN_MASK_CREATE", 0x10000000),
        ("IN_MASK_ADD", 0x20000000),
        ("IN_ISDIR", 0x40000000),
        ("IN_ONESHOT", 0x80000000),
    ],
};

/// `EPOLL_???`
pub static EPOLL_CREATE: Names = Names {
    unknown: "EPOLL_???",
    zero: "0",
    list: &[("EPOLL_CLOEXEC", 0x80000)],
};

/// `EPOLL_CTL_???`
pub static EPOLL_CTL: Names = Names {
    unknown: "EPOLL_CTL_???",
    zero: "",
    list: &[
        ("EPOLL_CTL_ADD", 1),
        ("EPOLL_CTL_DEL", 2),
        ("EPOLL_CTL_MOD", 3),
    ],
};

/// `EPOLL???`
pub static EPOLL: Names = Names {
    unknown: "EPOLL???",
    zero: "0",
    list: &[
        ("EPOLLIN", 1),
        ("EPOLLPRI", 2),
        ("EPOLLOUT", 4),
        ("EPOLLERR", 8),
        ("EPOLLHUP", 0x10),
        ("EPOLLNVAL", 0x20),
        ("EPOLLRDNORM", 0x40),
        ("EPOLLRDBAND", 0x80),
        ("EPOLLWRNORM", 0x100),
        ("EPOLLWRBAND", 0x200),
        ("EPOLLMSG", 0x400),
        ("EPOLLRDHUP", 0x2000),
        ("EPOLLEXCLUSIVE", 0x10000000),
        ("EPOLLWAKEUP", 0x20000000),
        ("EPOLLONESHOT", 0x40000000),
        ("EPOLLET", 0x80000000),
    ],
};

/// `POLL???`
pub static POLL: Names = Names {
    unknown: "POLL???",
    zero: "0",
    list: &[
        ("POLLIN", 1),
        ("POLLPRI", 2),
        ("POLLOUT", 4),
        ("POLLERR", 8),
        ("POLLHUP", 0x10),
        ("POLLNVAL", 0x20),
        ("POLLRDNORM", 0x40),
        ("POLLRDBAND", 0x80),
        ("POLLWRNORM", 0x100),
        ("POLLWRBAND", 0x200),
        ("POLLMSG", 0x400),
        ("POLLREMOVE", 0x1000),
        ("POLLRDHUP", 0x2000),
        ("POLL_BUSY_LOOP", 0x8000),
    ],
};

/// `AF_???`
pub static DOMAIN: Names = Names {
    unknown: "AF_???",
    zero: "",
    list: &[
        ("AF_UNSPEC", 0),
        ("AF_UNIX", 1),
        ("AF_INET", 2),
        ("AF_AX25", 3),
        ("AF_IPX", 4),
        ("AF_APPLETALK", 5),
        ("AF_NETROM", 6),
        ("AF_BRIDGE", 7),
        ("AF_ATMPVC", 8),
        ("AF_X25", 9),
        ("AF_INET6", 0xa),
        ("AF_ROSE", 0xb),
        ("AF_DECnet", 0xc),
        ("AF_NETBEUI", 0xd),
        ("AF_SECURITY", 0xe),
        ("AF_KEY", 0xf),
        ("AF_NETLINK", 0x10),
        ("AF_PACKET", 0x11),
        ("AF_ASH", 0x12),
        ("AF_ECONET", 0x13),
        ("AF_ATMSVC", 0x14),
        ("AF_RDS", 0x15),
        ("AF_SNA", 0x16),
        ("AF_IRDA", 0x17),
        ("AF_PPPOX", 0x18),
        ("AF_WANPIPE", 0x19),
        ("AF_LLC", 0x1a),
        ("AF_IB", 0x1b),
        ("AF_MPLS", 0x1c),
        ("AF_CAN", 0x1d),
        ("AF_TIPC", 0x1e),
        ("AF_BLUETOOTH", 0x1f),
        ("AF_IUCV", 0x20),
        ("AF_RXRPC", 0x21),
        ("AF_ISDN", 0x22),
        ("AF_PHONET", 0x23),
        ("AF_IEEE802154", 0x24),
        ("AF_CAIF", 0x25),
        ("AF_ALG", 0x26),
        ("AF_NFC", 0x27),
        ("AF_VSOCK", 0x28),
        ("AF_KCM", 0x29),
        ("AF_QIPCRTR", 0x2a),
        ("AF_SMC", 0x2b),
        ("AF_XDP", 0x2c),
        ("AF_MCTP", 0x2d),
    ],
};

/// `SOCK_???`
pub static SOCK_TYPE: Names = Names {
    unknown: "SOCK_???",
    zero: "",
    list: &[
        ("SOCK_STREAM", 1),
        ("SOCK_DGRAM", 2),
        ("SOCK_RAW", 3),
        ("SOCK_RDM", 4),
        ("SOCK_SEQPACKET", 5),
        ("SOCK_DCCP", 6),
        ("SOCK_PACKET", 0xa),
    ],
};

/// `SOCK_???`
pub static SOCK_FLAGS: Names = Names {
    unknown: "SOCK_???",
    zero: "0",
    list: &[("SOCK_CLOEXEC", 0x80000), ("SOCK_NONBLOCK", 0x800)],
};

/// `IPPROTO_???`
pub static IPPROTO: Names = Names {
    unknown: "IPPROTO_???",
    zero: "",
    list: &[
        ("IPPROTO_IP", 0),
        ("IPPROTO_ICMP", 1),
        ("IPPROTO_IGMP", 2),
        ("IPPROTO_IPIP", 4),
        ("IPPROTO_TCP", 6),
        ("IPPROTO_EGP", 8),
        ("IPPROTO_PUP", 0xc),
        ("IPPROTO_UDP", 0x11),
        ("IPPROTO_IDP", 0x16),
        ("IPPROTO_TP", 0x1d),
        ("IPPROTO_DCCP", 0x21),
        ("IPPROTO_IPV6", 0x29),
        ("IPPROTO_ROUTING", 0x2b),
        ("IPPROTO_FRAGMENT", 0x2c),
        ("IPPROTO_RSVP", 0x2e),
        ("IPPROTO_GRE", 0x2f),
        ("IPPROTO_ESP", 0x32),
        ("IPPROTO_AH", 0x33),
        ("IPPROTO_ICMPV6", 0x3a),
        ("IPPROTO_NONE", 0x3b),
        ("IPPROTO_DSTOPTS", 0x3c),
        ("IPPROTO_MTP", 0x5c),
        ("IPPROTO_BEETPH", 0x5e),
        ("IPPROTO_ENCAP", 0x62),
        ("IPPROTO_PIM", 0x67),
        ("IPPROTO_COMP", 0x6c),
        ("IPPROTO_L2TP", 0x73),
        ("IPPROTO_SCTP", 0x84),
        ("IPPROTO_MH", 0x87),
        ("IPPROTO_UDPLITE", 0x88),
        ("IPPROTO_MPLS", 0x89),
        ("IPPROTO_ETHERNET", 0x8f),
        ("IPPROTO_RAW", 0xff),
        ("IPPROTO_MPTCP", 0x106),
    ],
};

/// `NETLINK_???`
pub static NETLINK: Names = Names {
    unknown: "NETLINK_???",
    zero: "",
    list: &[
        ("NETLINK_ROUTE", 0),
        ("NETLINK_UNUSED", 1),
        ("NETLINK_USERSOCK", 2),
        ("NETLINK_FIREWALL", 3),
        ("NETLINK_SOCK_DIAG", 4),
        ("NETLINK_NFLOG", 5),
        ("NETLINK_XFRM", 6),
        ("NETLINK_SELINUX", 7),
        ("NETLINK_ISCSI", 8),
        ("NETLINK_AUDIT", 9),
        ("NETLINK_FIB_LOOKUP", 0xa),
        ("NETLINK_CONNECTOR", 0xb),
        ("NETLINK_NETFILTER", 0xc),
        ("NETLINK_IP6_FW", 0xd),
        ("NETLINK_DNRTMSG", 0xe),
        ("NETLINK_KOBJECT_UEVENT", 0xf),
        ("NETLINK_GENERIC", 0x10),
        ("NETLINK_SCSITRANSPORT", 0x12),
        ("NETLINK_ECRYPTFS", 0x13),
        ("NETLINK_RDMA", 0x14),
        ("NETLINK_CRYPTO", 0x15),
        ("NETLINK_SMC", 0x16),
    ],
};

/// `MSG_???`
pub static MSG: Names = Names {
    unknown: "MSG_???",
    zero: "0",
    list: &[
        ("MSG_OOB", 1),
        ("MSG_PEEK", 2),
        ("MSG_DONTROUTE", 4),
        ("MSG_CTRUNC", 8),
        ("MSG_PROBE", 0x10),
        ("MSG_TRUNC", 0x20),
        ("MSG_DONTWAIT", 0x40),
        ("MSG_EOR", 0x80),
        ("MSG_WAITALL", 0x100),
        ("MSG_FIN", 0x200),
        ("MSG_SYN", 0x400),
        ("MSG_CONFIRM", 0x800),
        ("MSG_RST", 0x1000),
        ("MSG_ERRQUEUE", 0x2000),
        ("MSG_NOSIGNAL", 0x4000),
        ("MSG_MORE", 0x8000),
        ("MSG_WAITFORONE", 0x10000),
        ("MSG_SENDPAGE_NOTLAST", 0x20000),
        ("MSG_BATCH", 0x40000),
        ("MSG_NO_SHARED_FRAGS", 0x80000),
        ("MSG_ZEROCOPY", 0x4000000),
        ("MSG_FASTOPEN", 0x20000000),
        ("MSG_CMSG_CLOEXEC", 0x40000000),
        ("MSG_CMSG_COMPAT", 0x80000000),
    ],
};

/// `SHUT_???`
pub static SHUT: Names = Names {
    unknown: "SHUT_???",
    zero: "",
    list: &[("SHUT_RD", 0), ("SHUT_WR", 1), ("SHUT_RDWR", 2)],
};

/// `SOL_??`
pub static SOL: Names = Names {
    unknown: "SOL_??",
    zero: "",
    list: &[
        ("SOL_IP", 0),
        ("SOL_SOCKET", 1),
        ("SOL_TCP", 6),
        ("SOL_UDP", 0x11),
        ("SOL_IPV6", 0x29),
        ("SOL_ICMPV6", 0x3a),
        ("SOL_SCTP", 0x84),
        ("SOL_UDPLITE", 0x88),
        ("SOL_RAW", 0xff),
        ("SOL_IPX", 0x100),
        ("SOL_AX25", 0x101),
        ("SOL_ATALK", 0x102),
        ("SOL_NETROM", 0x103),
        ("SOL_ROSE", 0x104),
        ("SOL_DECNET", 0x105),
        ("SOL_X25", 0x106),
        ("SOL_PACKET", 0x107),
        ("SOL_ATM", 0x108),
        ("SOL_AAL", 0x109),
        ("SOL_IRDA", 0x10a),
        ("SOL_NETBEUI", 0x10b),
        ("SOL_LLC", 0x10c),
        ("SOL_DCCP", 0x10d),
        ("SOL_NETLINK", 0x10e),
        ("SOL_TIPC", 0x10f),
        ("SOL_RXRPC", 0x110),
        ("SOL_PPPOL2TP", 0x111),
        ("SOL_BLUETOOTH", 0x112),
        ("SOL_PNPIPE", 0x113),
        ("SOL_RDS", 0x114),
        ("SOL_IUCV", 0x115),
        ("SOL_CAIF", 0x116),
        ("SOL_ALG", 0x117),
        ("SOL_NFC", 0x118),
        ("SOL_KCM", 0x119),
        ("SOL_TLS", 0x11a),
        ("SOL_XDP", 0x11b),
        ("SOL_MPTCP", 0x11c),
        ("SOL_MCTP", 0x11d),
        ("SOL_SMC", 0x11e),
    ],
};

/// `CLOCK_???`
pub static CLOCK: Names = Names {
    unknown: "CLOCK_???",
    zero: "",
    list: &[
        ("CLOCK_REALTIME", 0),
        ("CLOCK_MONOTONIC", 1),
        ("CLOCK_PROCESS_CPUTIME_ID", 2),
        ("CLOCK_THREAD_CPUTIME_ID", 3),
        ("CLOCK_MONOTONIC_RAW", 4),
        ("CLOCK_REALTIME_COARSE", 5),
        ("CLOCK_MONOTONIC_COARSE", 6),
        ("CLOCK_BOOTTIME", 7),
        ("CLOCK_REALTIME_ALARM", 8),
        ("CLOCK_BOOTTIME_ALARM", 9),
        ("CLOCK_SGI_CYCLE", 0xa),
        ("CLOCK_TAI", 0xb),
    ],
};

/// `ITIMER_???`
pub static ITIMER: Names = Names {
    unknown: "ITIMER_???",
    zero: "",
    list: &[
        ("ITIMER_REAL", 0),
        ("ITIMER_VIRTUAL", 1),
        ("ITIMER_PROF", 2),
    ],
};

/// `SIGEV_???`
pub static SIGEV: Names = Names {
    unknown: "SIGEV_???",
    zero: "",
    list: &[
        ("SIGEV_SIGNAL", 0),
        ("SIGEV_NONE", 1),
        ("SIGEV_THREAD", 2),
        ("SIGEV_THREAD_ID", 4),
    ],
};

/// `RLIMIT_???`
pub static RLIMIT: Names = Names {
    unknown: "RLIMIT_???",
    zero: "",
    list: &[
        ("RLIMIT_CPU", 0),
        ("RLIMIT_FSIZE", 1),
        ("RLIMIT_DATA", 2),
        ("RLIMIT_STACK", 3),
        ("RLIMIT_CORE", 4),
        ("RLIMIT_RSS", 5),
        ("RLIMIT_NPROC", 6),
        ("RLIMIT_NOFILE", 7),
        ("RLIMIT_MEMLOCK", 8),
        ("RLIMIT_AS", 9),
        ("RLIMIT_LOCKS", 0xa),
        ("RLIMIT_SIGPENDING", 0xb),
        ("RLIMIT_MSGQUEUE", 0xc),
        ("RLIMIT_NICE", 0xd),
        ("RLIMIT_RTPRIO", 0xe),
        ("RLIMIT_RTTIME", 0xf),
    ],
};

/// `RUSAGE_???`
pub static RUSAGE: Names = Names {
    unknown: "RUSAGE_???",
    zero: "",
    list: &[
        ("RUSAGE_SELF", 0),
        ("RUSAGE_CHILDREN", 0xffffffff),
        ("RUSAGE_BOTH", 0xfffffffe),
        ("RUSAGE_THREAD", 1),
    ],
};

/// `PRIO_???`
pub static PRIO: Names = Names {
    unknown: "PRIO_???",
    zero: "",
    list: &[("PRIO_PROCESS", 0), ("PRIO_PGRP", 1), ("PRIO_USER", 2)],
};

/// `SCHED_???`
pub static SCHED: Names = Names {
    unknown: "SCHED_???",
    zero: "",
    list: &[
        ("SCHED_OTHER", 0),
        ("SCHED_FIFO", 1),
        ("SCHED_RR", 2),
        ("SCHED_BATCH", 3),
        ("SCHED_ISO", 4),
        ("SCHED_IDLE", 5),
        ("SCHED_DEADLINE", 6),
    ],
};

/// `SCHED_FLAG_???`
pub static SCHED_FLAGS: Names = Names {
    unknown: "SCHED_FLAG_???",
    zero: "0",
    list: &[
        ("SCHED_FLAG_RESET_ON_FORK", 1),
        ("SCHED_FLAG_RECLAIM", 2),
        ("SCHED_FLAG_DL_OVERRUN", 4),
        ("SCHED_FLAG_KEEP_POLICY", 8),
        ("SCHED_FLAG_KEEP_PARAMS", 0x10),
        ("SCHED_FLAG_UTIL_CLAMP_MIN", 0x20),
        ("SCHED_FLAG_UTIL_CLAMP_MAX", 0x40),
    ],
};

/// `GRND_???`
pub static GETRANDOM: Names = Names {
    unknown: "GRND_???",
    zero: "0",
    list: &[
        ("GRND_NONBLOCK", 1),
        ("GRND_RANDOM", 2),
        ("GRND_INSECURE", 4),
    ],
};

/// `FUTEX_???`
pub static FUTEX: Names = Names {
    unknown: "FUTEX_???",
    zero: "",
    list: &[
        ("FUTEX_WAIT", 0),
        ("FUTEX_WAKE", 1),
        ("FUTEX_FD", 2),
        ("FUTEX_REQUEUE", 3),
        ("FUTEX_CMP_REQUEUE", 4),
        ("FUTEX_WAKE_OP", 5),
        ("FUTEX_LOCK_PI", 6),
        ("FUTEX_UNLOCK_PI", 7),
        ("FUTEX_TRYLOCK_PI", 8),
        ("FUTEX_WAIT_BITSET", 9),
        ("FUTEX_WAKE_BITSET", 0xa),
        ("FUTEX_WAIT_REQUEUE_PI", 0xb),
        ("FUTEX_CMP_REQUEUE_PI", 0xc),
        ("FUTEX_LOCK_PI2", 0xd),
    ],
};

/// `FUTEX_OP_???`
pub static FUTEX_OP: Names = Names {
    unknown: "FUTEX_OP_???",
    zero: "",
    list: &[
        ("FUTEX_OP_SET", 0),
        ("FUTEX_OP_ADD", 1),
        ("FUTEX_OP_OR", 2),
        ("FUTEX_OP_ANDN", 3),
        ("FUTEX_OP_XOR", 4),
    ],
};

/// `FUTEX_OP_CMP_???`
pub static FUTEX_CMP: Names = Names {
    unknown: "FUTEX_OP_CMP_???",
    zero: "",
    list: &[
        ("FUTEX_OP_CMP_EQ", 0),
        ("FUTEX_OP_CMP_NE", 1),
        ("FUTEX_OP_CMP_LT", 2),
        ("FUTEX_OP_CMP_LE", 3),
        ("FUTEX_OP_CMP_GT", 4),
        ("FUTEX_OP_CMP_GE", 5),
    ],
};

/// `PR_???`
pub static PRCTL: Names = Names {
    unknown: "PR_???",
    zero: "",
    list: &[
        ("PR_SET_PDEATHSIG", 1),
        ("PR_GET_PDEATHSIG", 2),
        ("PR_GET_DUMPABLE", 3),
        ("PR_SET_DUMPABLE", 4),
        ("PR_GET_UNALIGN", 5),
        ("PR_SET_UNALIGN", 6),
        ("PR_GET_KEEPCAPS", 7),
        ("PR_SET_KEEPCAPS", 8),
        ("PR_GET_FPEMU", 9),
        ("PR_SET_FPEMU", 0xa),
        ("PR_GET_FPEXC", 0xb),
        ("PR_SET_FPEXC", 0xc),
        ("PR_GET_TIMING", 0xd),
        ("PR_SET_TIMING", 0xe),
        ("PR_SET_NAME", 0xf),
        ("PR_GET_NAME", 0x10),
        ("PR_GET_ENDIAN", 0x13),
        ("PR_SET_ENDIAN", 0x14),
        ("PR_GET_SECCOMP", 0x15),
        ("PR_SET_SECCOMP", 0x16),
        ("PR_CAPBSET_READ", 0x17),
        ("PR_CAPBSET_DROP", 0x18),
        ("PR_GET_TSC", 0x19),
        ("PR_SET_TSC", 0x1a),
        ("PR_GET_SECUREBITS", 0x1b),
        ("PR_SET_SECUREBITS", 0x1c),
        ("PR_SET_TIMERSLACK", 0x1d),
        ("PR_GET_TIMERSLACK", 0x1e),
        ("PR_TASK_PERF_EVENTS_DISABLE", 0x1f),
        ("PR_TASK_PERF_EVENTS_ENABLE", 0x20),
        ("PR_MCE_KILL", 0x21),
        ("PR_MCE_KILL_GET", 0x22),
        ("PR_SET_MM", 0x23),
        ("PR_SET_CHILD_SUBREAPER", 0x24),
        ("PR_GET_CHILD_SUBREAPER", 0x25),
        ("PR_SET_NO_NEW_PRIVS", 0x26),
        ("PR_GET_NO_NEW_PRIVS", 0x27),
        ("PR_GET_TID_ADDRESS", 0x28),
        ("PR_SET_THP_DISABLE", 0x29),
        ("PR_GET_THP_DISABLE", 0x2a),
        ("PR_MPX_ENABLE_MANAGEMENT", 0x2b),
        ("PR_MPX_DISABLE_MANAGEMENT", 0x2c),
        ("PR_SET_FP_MODE", 0x2d),
        ("PR_GET_FP_MODE", 0x2e),
        ("PR_CAP_AMBIENT", 0x2f),
        ("PR_SVE_SET_VL", 0x32),
        ("PR_SVE_GET_VL", 0x33),
        ("PR_GET_SPECULATION_CTRL", 0x34),
        ("PR_SET_SPECULATION_CTRL", 0x35),
        ("PR_PAC_RESET_KEYS", 0x36),
        ("PR_SET_TAGGED_ADDR_CTRL", 0x37),
        ("PR_GET_TAGGED_ADDR_CTRL", 0x38),
        ("PR_SET_IO_FLUSHER", 0x39),
        ("PR_GET_IO_FLUSHER", 0x3a),
        ("PR_SET_SYSCALL_USER_DISPATCH", 0x3b),
        ("PR_PAC_SET_ENABLED_KEYS", 0x3c),
        ("PR_PAC_GET_ENABLED_KEYS", 0x3d),
        ("PR_SCHED_CORE", 0x3e),
        ("PR_SME_SET_VL", 0x3f),
        ("PR_SME_GET_VL", 0x40),
        ("PR_SET_VMA", 0x53564d41),
        ("PR_SET_PTRACER", 0x59616d61),
    ],
};

/// `ARCH_???`
pub static ARCH_PRCTL: Names = Names {
    unknown: "ARCH_???",
    zero: "",
    list: &[
        ("ARCH_SET_GS", 0x1001),
        ("ARCH_SET_FS", 0x1002),
        ("ARCH_GET_FS", 0x1003),
        ("ARCH_GET_GS", 0x1004),
        ("ARCH_GET_CPUID", 0x1011),
        ("ARCH_SET_CPUID", 0x1012),
        ("ARCH_GET_XCOMP_SUPP", 0x1021),
        ("ARCH_GET_XCOMP_PERM", 0x1022),
        ("ARCH_REQ_XCOMP_PERM", 0x1023),
        ("ARCH_GET_XCOMP_GUEST_PERM", 0x1024),
        ("ARCH_REQ_XCOMP_GUEST_PERM", 0x1025),
        ("ARCH_XCOMP_TILECFG", 0x11),
        ("ARCH_XCOMP_TILEDATA", 0x12),
        ("ARCH_MAP_VDSO_X32", 0x2001),
        ("ARCH_MAP_VDSO_32", 0x2002),
        ("ARCH_MAP_VDSO_64", 0x2003),
    ],
};

/// `CAP_???`
pub static CAP: Names = Names {
    unknown: "CAP_???",
    zero: "",
    list: &[
        ("CAP_CHOWN", 0),
        ("CAP_DAC_OVERRIDE", 1),
        ("CAP_DAC_READ_SEARCH", 2),
        ("CAP_FOWNER", 3),
        ("CAP_FSETID", 4),
        ("CAP_KILL", 5),
        ("CAP_SETGID", 6),
        ("CAP_SETUID", 7),
        ("CAP_SETPCAP", 8),
        ("CAP_LINUX_IMMUTABLE", 9),
        ("CAP_NET_BIND_SERVICE", 0xa),
        ("CAP_NET_BROADCAST", 0xb),
        ("CAP_NET_ADMIN", 0xc),
        ("CAP_NET_RAW", 0xd),
        ("CAP_IPC_LOCK", 0xe),
        ("CAP_IPC_OWNER", 0xf),
        ("CAP_SYS_MODULE", 0x10),
        ("CAP_SYS_RAWIO", 0x11),
        ("CAP_SYS_CHROOT", 0x12),
        ("CAP_SYS_PTRACE", 0x13),
        ("CAP_SYS_PACCT", 0x14),
        ("CAP_SYS_ADMIN", 0x15),
        ("CAP_SYS_BOOT", 0x16),
        ("CAP_SYS_NICE", 0x17),
        ("CAP_SYS_RESOURCE", 0x18),
        ("CAP_SYS_TIME", 0x19),
        ("CAP_SYS_TTY_CONFIG", 0x1a),
        ("CAP_MKNOD", 0x1b),
        ("CAP_LEASE", 0x1c),
        ("CAP_AUDIT_WRITE", 0x1d),
        ("CAP_AUDIT_CONTROL", 0x1e),
        ("CAP_SETFCAP", 0x1f),
        ("CAP_MAC_OVERRIDE", 0x20),
        ("CAP_MAC_ADMIN", 0x21),
        ("CAP_SYSLOG", 0x22),
        ("CAP_WAKE_ALARM", 0x23),
        ("CAP_BLOCK_SUSPEND", 0x24),
        ("CAP_AUDIT_READ", 0x25),
        ("CAP_PERFMON", 0x26),
        ("CAP_BPF", 0x27),
        ("CAP_CHECKPOINT_RESTORE", 0x28),
    ],
};

/// `_LINUX_CAPABILITY_VERSION_???`
pub static CAP_VERSION: Names = Names {
    unknown: "_LINUX_CAPABILITY_VERSION_???",
    zero: "",
    list: &[
        ("_LINUX_CAPABILITY_VERSION_1", 0x19980330),
        ("_LINUX_CAPABILITY_VERSION_2", 0x20071026),
        ("_LINUX_CAPABILITY_VERSION_3", 0x20080522),
    ],
};

/// `PR_CAP_AMBIENT_???`
pub static CAP_AMBIENT: Names = Names {
    unknown: "PR_CAP_AMBIENT_???",
    zero: "",
    list: &[
        ("PR_CAP_AMBIENT_IS_SET", 1),
        ("PR_CAP_AMBIENT_RAISE", 2),
        ("PR_CAP_AMBIENT_LOWER", 3),
        ("PR_CAP_AMBIENT_CLEAR_ALL", 4),
    ],
};

/// `PER_???`
pub static PERSONA_FLAGS: Names = Names {
    unknown: "PER_???",
    zero: "0",
    list: &[
        ("UNAME26", 0x20000),
        ("ADDR_NO_RANDOMIZE", 0x40000),
        ("FDPIC_FUNCPTRS", 0x80000),
        ("MMAP_PAGE_ZERO", 0x100000),
        ("ADDR_COMPAT_LAYOUT", 0x200000),
        ("READ_IMPLIES_EXEC", 0x400000),
        ("ADDR_LIMIT_32BIT", 0x800000),
        ("SHORT_INODE", 0x1000000),
        ("WHOLE_SECONDS", 0x2000000),
        ("STICKY_TIMEOUTS", 0x4000000),
        ("ADDR_LIMIT_3GB", 0x8000000),
    ],
};

/// `PER_???`
pub static PERSONA: Names = Names {
    unknown: "PER_???",
    zero: "",
    list: &[
        ("PER_LINUX", 0),
        ("PER_SVR4", 1),
        ("PER_SVR3", 2),
        ("PER_SCOSVR3", 3),
        ("PER_WYSEV386", 4),
        ("PER_ISCR4", 5),
        ("PER_BSD", 6),
        ("PER_XENIX", 7),
        ("PER_LINUX32", 8),
        ("PER_IRIX32", 9),
        ("PER_IRIXN32", 0xa),
        ("PER_IRIX64", 0xb),
        ("PER_RISCOS", 0xc),
        ("PER_SOLARIS", 0xd),
        ("PER_UW7", 0xe),
        ("PER_OSF4", 0xf),
        ("PER_HPUX", 0x10),
    ],
};

/// `SECCOMP_SET_MODE_???`
pub static SECCOMP: Names = Names {
    unknown: "SECCOMP_SET_MODE_???",
    zero: "",
    list: &[
        ("SECCOMP_SET_MODE_STRICT", 0),
        ("SECCOMP_SET_MODE_FILTER", 1),
        ("SECCOMP_GET_ACTION_AVAIL", 2),
        ("SECCOMP_GET_NOTIF_SIZES", 3),
    ],
};

/// `SECCOMP_FILTER_FLAG_???`
pub static SECCOMP_FLAGS: Names = Names {
    unknown: "SECCOMP_FILTER_FLAG_???",
    zero: "0",
    list: &[
        ("SECCOMP_FILTER_FLAG_TSYNC", 1),
        ("SECCOMP_FILTER_FLAG_LOG", 2),
        ("SECCOMP_FILTER_FLAG_SPEC_ALLOW", 4),
        ("SECCOMP_FILTER_FLAG_NEW_LISTENER", 8),
        ("SECCOMP_FILTER_FLAG_TSYNC_ESRCH", 0x10),
        ("SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", 0x20),
    ],
};

/// `SECCOMP_MODE_???`
pub static SECCOMP_MODE: Names = Names {
    unknown: "SECCOMP_MODE_???",
    zero: "",
    list: &[
        ("SECCOMP_MODE_DISABLED", 0),
        ("SECCOMP_MODE_STRICT", 1),
        ("SECCOMP_MODE_FILTER", 2),
    ],
};

/// `RSEQ_FLAG_???`
pub static RSEQ: Names = Names {
    unknown: "RSEQ_FLAG_???",
    zero: "0",
    list: &[("RSEQ_FLAG_UNREGISTER", 1)],
};

/// `MEMBARRIER_CMD_???`
pub static MEMBARRIER: Names = Names {
    unknown: "MEMBARRIER_CMD_???",
    zero: "",
    list: &[
        ("MEMBARRIER_CMD_QUERY", 0),
        ("MEMBARRIER_CMD_GLOBAL", 1),
        ("MEMBARRIER_CMD_GLOBAL_EXPEDITED", 2),
        ("MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED", 4),
        ("MEMBARRIER_CMD_PRIVATE_EXPEDITED", 8),
        ("MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED", 0x10),
        ("MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE", 0x20),
        ("MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE", 0x40),
        ("MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ", 0x80),
        ("MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ", 0x100),
    ],
};

/// `CLOSE_RANGE_???`
pub static CLOSE_RANGE: Names = Names {
    unknown: "CLOSE_RANGE_???",
    zero: "0",
    list: &[("CLOSE_RANGE_UNSHARE", 2), ("CLOSE_RANGE_CLOEXEC", 4)],
};

/// `PIDFD_???`
pub static PIDFD: Names = Names {
    unknown: "PIDFD_???",
    zero: "0",
    list: &[("PIDFD_NONBLOCK", 0x800)],
};

/// `IPC_???`
pub static IPC_FLAGS: Names = Names {
    unknown: "IPC_???",
    zero: "0",
    list: &[
        ("IPC_CREAT", 0x200),
        ("IPC_EXCL", 0x400),
        ("IPC_NOWAIT", 0x800),
    ],
};

/// `SHM_???`
pub static SHMAT: Names = Names {
    unknown: "SHM_???",
    zero: "0",
    list: &[
        ("SHM_RDONLY", 0x1000),
        ("SHM_RND", 0x2000),
        ("SHM_REMAP", 0x4000),
        ("SHM_EXEC", 0x8000),
    ],
};

/// `SYSLOG_ACTION_???`
pub static SYSLOG: Names = Names {
    unknown: "SYSLOG_ACTION_???",
    zero: "",
    list: &[
        ("SYSLOG_ACTION_CLOSE", 0),
        ("SYSLOG_ACTION_OPEN", 1),
        ("SYSLOG_ACTION_READ", 2),
        ("SYSLOG_ACTION_READ_ALL", 3),
        ("SYSLOG_ACTION_READ_CLEAR", 4),
        ("SYSLOG_ACTION_CLEAR", 5),
        ("SYSLOG_ACTION_CONSOLE_OFF", 6),
        ("SYSLOG_ACTION_CONSOLE_ON", 7),
        ("SYSLOG_ACTION_CONSOLE_LEVEL", 8),
        ("SYSLOG_ACTION_SIZE_UNREAD", 9),
        ("SYSLOG_ACTION_SIZE_BUFFER", 0xa),
    ],
};

/// `CLONE_NEW???`
pub static CLONE_NS: Names = Names {
    unknown: "CLONE_NEW???",
    zero: "0",
    list: &[
        ("CLONE_NEWTIME", 0x80),
        ("CLONE_NEWNS", 0x20000),
        ("CLONE_NEWCGROUP", 0x2000000),
        ("CLONE_NEWUTS", 0x4000000),
        ("CLONE_NEWIPC", 0x8000000),
        ("CLONE_NEWUSER", 0x10000000),
        ("CLONE_NEWPID", 0x20000000),
        ("CLONE_NEWNET", 0x40000000),
    ],
};

/// `IORING_ENTER_???`
pub static URING_ENTER: Names = Names {
    unknown: "IORING_ENTER_???",
    zero: "0",
    list: &[
        ("IORING_ENTER_GETEVENTS", 1),
        ("IORING_ENTER_SQ_WAKEUP", 2),
        ("IORING_ENTER_SQ_WAIT", 4),
        ("IORING_ENTER_EXT_ARG", 8),
        ("IORING_ENTER_REGISTERED_RING", 0x10),
    ],
};

/// `SI_???`
pub static CODE_ANY: Names = Names {
    unknown: "SI_???",
    zero: "",
    list: &[
        ("SI_USER", 0),
        ("SI_KERNEL", 0x80),
        ("SI_QUEUE", 0xffffffff),
        ("SI_TIMER", 0xfffffffe),
        ("SI_MESGQ", 0xfffffffd),
        ("SI_ASYNCIO", 0xfffffffc),
        ("SI_SIGIO", 0xfffffffb),
        ("SI_TKILL", 0xfffffffa),
        ("SI_DETHREAD", 0xfffffff9),
        ("SI_ASYNCNL", 0xffffffc4),
    ],
};

/// `ILL_???`
pub static CODE_ILL: Names = Names {
    unknown: "ILL_???",
    zero: "",
    list: &[
        ("ILL_ILLOPC", 1),
        ("ILL_ILLOPN", 2),
        ("ILL_ILLADR", 3),
        ("ILL_ILLTRP", 4),
        ("ILL_PRVOPC", 5),
        ("ILL_PRVREG", 6),
        ("ILL_COPROC", 7),
        ("ILL_BADSTK", 8),
        ("ILL_BADIADDR", 9),
    ],
};

/// `FPE_???`
pub static CODE_FPE: Names = Names {
    unknown: "FPE_???",
    zero: "",
    list: &[
        ("FPE_INTDIV", 1),
        ("FPE_INTOVF", 2),
        ("FPE_FLTDIV", 3),
        ("FPE_FLTOVF", 4),
        ("FPE_FLTUND", 5),
        ("FPE_FLTRES", 6),
        ("FPE_FLTINV", 7),
        ("FPE_FLTSUB", 8),
        ("FPE_FLTUNK", 0xe),
        ("FPE_CONDTRAP", 0xf),
    ],
};

/// `SEGV_???`
pub static CODE_SEGV: Names = Names {
    unknown: "SEGV_???",
    zero: "",
    list: &[
        ("SEGV_MAPERR", 1),
        ("SEGV_ACCERR", 2),
        ("SEGV_BNDERR", 3),
        ("SEGV_PKUERR", 4),
        ("SEGV_ACCADI", 5),
        ("SEGV_ADIDERR", 6),
        ("SEGV_ADIPERR", 7),
        ("SEGV_MTEAERR", 8),
        ("SEGV_MTESERR", 9),
    ],
};

/// `BUS_???`
pub static CODE_BUS: Names = Names {
    unknown: "BUS_???",
    zero: "",
    list: &[
        ("BUS_ADRALN", 1),
        ("BUS_ADRERR", 2),
        ("BUS_OBJERR", 3),
        ("BUS_MCEERR_AR", 4),
        ("BUS_MCEERR_AO", 5),
    ],
};

/// `TRAP_???`
pub static CODE_TRAP: Names = Names {
    unknown: "TRAP_???",
    zero: "",
    list: &[
        ("TRAP_BRKPT", 1),
        ("TRAP_TRACE", 2),
        ("TRAP_BRANCH", 3),
        ("TRAP_HWBKPT", 4),
        ("TRAP_UNK", 5),
        ("TRAP_PERF", 6),
    ],
};

/// `CLD_???`
pub static CODE_CHLD: Names = Names {
    unknown: "CLD_???",
    zero: "",
    list: &[
        ("CLD_EXITED", 1),
        ("CLD_KILLED", 2),
        ("CLD_DUMPED", 3),
        ("CLD_TRAPPED", 4),
        ("CLD_STOPPED", 5),
        ("CLD_CONTINUED", 6),
    ],
};

/// `POLL_???`
pub static CODE_POLL: Names = Names {
    unknown: "POLL_???",
    zero: "",
    list: &[
        ("POLL_IN", 1),
        ("POLL_OUT", 2),
        ("POLL_MSG", 3),
        ("POLL_ERR", 4),
        ("POLL_PRI", 5),
        ("POLL_HUP", 6),
    ],
};

/// `SYS_???`
pub static CODE_SYS: Names = Names {
    unknown: "SYS_???",
    zero: "",
    list: &[("SYS_SECCOMP", 1), ("SYS_USER_DISPATCH", 2)],
};

/// `AT_STATX_???`
pub static STATX_SYNC: Names = Names {
    unknown: "AT_STATX_???",
    zero: "",
    list: &[
        ("AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC", 0x6000),
        ("AT_STATX_SYNC_AS_STAT", 0),
        ("AT_STATX_FORCE_SYNC", 0x2000),
        ("AT_STATX_DONT_SYNC", 0x4000),
        ("AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC", 0x6000),
    ],
};

/// `IPC_???`
pub static SEM: Names = Names {
    unknown: "IPC_???",
    zero: "0",
    list: &[("SEM_UNDO", 0x1000), ("IPC_NOWAIT", 0x800)],
};

/// `SECBIT_???`
pub static SECURE_BITS: Names = Names {
    unknown: "SECBIT_???",
    zero: "0",
    list: &[
        ("SECBIT_NOROOT", 1),
        ("SECBIT_NOROOT_LOCKED", 2),
        ("SECBIT_NO_SETUID_FIXUP", 4),
        ("SECBIT_NO_SETUID_FIXUP_LOCKED", 8),
        ("SECBIT_KEEP_CAPS", 0x10),
        ("SECBIT_KEEP_CAPS_LOCKED", 0x20),
        ("SECBIT_NO_CAP_AMBIENT_RAISE", 0x40),
        ("SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED", 0x80),
    ],
};

/// `KCMP_???`
pub static KCMP: Names = Names {
    unknown: "KCMP_???",
    zero: "",
    list: &[
        ("KCMP_FILE", 0),
        ("KCMP_VM", 1),
        ("KCMP_FILES", 2),
        ("KCMP_FS", 3),
        ("KCMP_SIGHAND", 4),
        ("KCMP_IO", 5),
        ("KCMP_SYSVSEM", 6),
        ("KCMP_EPOLL_TFD", 7),
    ],
};

/// `I???`
pub static TTY_IN: Names = Names {
    unknown: "I???",
    zero: "0",
    list: &[
        ("IGNBRK", 1),
        ("BRKINT", 2),
        ("IGNPAR", 4),
        ("PARMRK", 8),
        ("INPCK", 0x10),
        ("ISTRIP", 0x20),
        ("INLCR", 0x40),
        ("IGNCR", 0x80),
        ("ICRNL", 0x100),
        ("IUCLC", 0x200),
        ("IXON", 0x400),
        ("IXANY", 0x800),
        ("IXOFF", 0x1000),
        ("IMAXBEL", 0x2000),
        ("IUTF8", 0x4000),
    ],
};

/// `O???`
pub static TTY_OUT: Names = Names {
    unknown: "O???",
    zero: "0",
    list: &[
        ("OPOST", 1),
        ("OLCUC", 2),
        ("ONLCR", 4),
        ("OCRNL", 8),
        ("ONOCR", 0x10),
        ("ONLRET", 0x20),
        ("OFILL", 0x40),
        ("OFDEL", 0x80),
    ],
};

/// `C???`
pub static TTY_CONTROL: Names = Names {
    unknown: "C???",
    zero: "0",
    list: &[
        ("CSTOPB", 0x40),
        ("CREAD", 0x80),
        ("PARENB", 0x100),
        ("PARODD", 0x200),
        ("HUPCL", 0x400),
        ("CLOCAL", 0x800),
        ("CMSPAR", 0x40000000),
        ("CRTSCTS", 0x80000000),
    ],
};

/// `L???`
pub static TTY_LOCAL: Names = Names {
    unknown: "L???",
    zero: "0",
    list: &[
        ("ISIG", 1),
        ("ICANON", 2),
        ("XCASE", 4),
        ("ECHO", 8),
        ("ECHOE", 0x10),
        ("ECHOK", 0x20),
        ("ECHONL", 0x40),
        ("NOFLSH", 0x80),
        ("IEXTEN", 0x8000),
        ("ECHOCTL", 0x200),
        ("ECHOPRT", 0x400),
        ("ECHOKE", 0x800),
        ("FLUSHO", 0x1000),
        ("PENDIN", 0x4000),
        ("TOSTOP", 0x100),
        ("EXTPROC", 0x10000),
    ],
};

/// `AT_???`
pub static AT_HANDLE: Names = Names {
    unknown: "AT_???",
    zero: "0",
    list: &[("AT_SYMLINK_FOLLOW", 0x400), ("AT_EMPTY_PATH", 0x1000)],
};

/// `PR_UNALIGN_???`
pub static UNALIGN: Names = Names {
    unknown: "PR_UNALIGN_???",
    zero: "0",
    list: &[("PR_UNALIGN_NOPRINT", 1), ("PR_UNALIGN_SIGBUS", 2)],
};

/// `PR_TSC_???`
pub static TIME_STAMPS: Names = Names {
    unknown: "PR_TSC_???",
    zero: "",
    list: &[("PR_TSC_ENABLE", 1), ("PR_TSC_SIGSEGV", 2)],
};

/// `PR_FP_MODE_???`
pub static FLOATING: Names = Names {
    unknown: "PR_FP_MODE_???",
    zero: "0",
    list: &[("PR_FP_MODE_FR", 1), ("PR_FP_MODE_FRE", 2)],
};

/// `LOGLEVEL_???`
pub static LOG_LEVEL: Names = Names {
    unknown: "LOGLEVEL_???",
    zero: "",
    list: &[
        ("LOGLEVEL_EMERG", 0x0),
        ("LOGLEVEL_ALERT", 0x1),
        ("LOGLEVEL_CRIT", 0x2),
        ("LOGLEVEL_ERR", 0x3),
        ("LOGLEVEL_WARNING", 0x4),
        ("LOGLEVEL_NOTICE", 0x5),
        ("LOGLEVEL_INFO", 0x6),
        ("LOGLEVEL_DEBUG", 0x7),
        ("LOGLEVEL_DEBUG+1", 0x8),
    ],
};

/// `SWAP_FLAG_???`
pub static SWAP: Names = Names {
    unknown: "SWAP_FLAG_???",
    zero: "0",
    list: &[
        ("SWAP_FLAG_PREFER", 0x8000),
        ("SWAP_FLAG_DISCARD", 0x10000),
        ("SWAP_FLAG_DISCARD_ONCE", 0x20000),
        ("SWAP_FLAG_DISCARD_PAGES", 0x40000),
    ],
};

/// `IOPRIO_WHO_???`
pub static INPUT_WHOSE: Names = Names {
    unknown: "IOPRIO_WHO_???",
    zero: "",
    list: &[
        ("IOPRIO_WHO_PROCESS", 0x1),
        ("IOPRIO_WHO_PGRP", 0x2),
        ("IOPRIO_WHO_USER", 0x3),
    ],
};

/// `IOPRIO_CLASS_???`
pub static INPUT_CLASS: Names = Names {
    unknown: "IOPRIO_CLASS_???",
    zero: "",
    list: &[
        ("IOPRIO_CLASS_NONE", 0x0),
        ("IOPRIO_CLASS_RT", 0x1),
        ("IOPRIO_CLASS_BE", 0x2),
        ("IOPRIO_CLASS_IDLE", 0x3),
    ],
};

/// `XFEATURE_???`
pub static FEATURE: Names = Names {
    unknown: "XFEATURE_???",
    zero: "",
    list: &[
        ("XFEATURE_FP", 0x0),
        ("XFEATURE_SSE", 0x1),
        ("XFEATURE_YMM", 0x2),
        ("XFEATURE_BNDREGS", 0x3),
        ("XFEATURE_BNDCSR", 0x4),
        ("XFEATURE_OPMASK", 0x5),
        ("XFEATURE_ZMM_Hi256", 0x6),
        ("XFEATURE_Hi16_ZMM", 0x7),
        ("XFEATURE_PT_UNIMPLEMENTED_SO_FAR", 0x8),
        ("XFEATURE_PKRU", 0x9),
        ("XFEATURE_PASID", 0xa),
        ("XFEATURE_LBR", 0xf),
        ("XFEATURE_XTILE_CFG", 0x11),
        ("XFEATURE_XTILE_DATA", 0x12),
    ],
};

/// `XFEATURE_MASK_???`
pub static FEATURES: Names = Names {
    unknown: "XFEATURE_MASK_???",
    zero: "0",
    list: &[
        ("XFEATURE_MASK_FPSSE", 0x3),
        ("XFEATURE_MASK_FP", 0x1),
        ("XFEATURE_MASK_SSE", 0x2),
        ("XFEATURE_MASK_YMM", 0x4),
        ("XFEATURE_MASK_BNDREGS", 0x8),
        ("XFEATURE_MASK_BNDCSR", 0x10),
        ("XFEATURE_MASK_AVX512", 0xe0),
        ("XFEATURE_MASK_OPMASK", 0x20),
        ("XFEATURE_MASK_ZMM_Hi256", 0x40),
        ("XFEATURE_MASK_Hi16_ZMM", 0x80),
        ("XFEATURE_MASK_PT", 0x100),
        ("XFEATURE_MASK_PKRU", 0x200),
        ("XFEATURE_MASK_PASID", 0x400),
        ("XFEATURE_MASK_LBR", 0x8000),
        ("XFEATURE_MASK_XTILE", 0x60000),
        ("XFEATURE_MASK_XTILE_CFG", 0x20000),
        ("XFEATURE_MASK_XTILE_DATA", 0x40000),
    ],
};

/// `AUDIT_ARCH_???`
pub static AUDIT_ARCH: Names = Names {
    unknown: "AUDIT_ARCH_???",
    zero: "",
    list: &[
        ("AUDIT_ARCH_AARCH64", 0xc000_00b7),
        ("AUDIT_ARCH_ARM", 0x4000_0028),
        ("AUDIT_ARCH_I386", 0x4000_0003),
        ("AUDIT_ARCH_PPC64LE", 0xc000_0015),
        ("AUDIT_ARCH_RISCV64", 0xc000_00f3),
        ("AUDIT_ARCH_S390X", 0x8000_0016),
        ("AUDIT_ARCH_X86_64", 0xc000_003e),
    ],
};
