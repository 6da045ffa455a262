//! Calls that few programs make: what their arguments mean, with the names and structures that only they have.

use super::*;
use crate::table::Test;
use crate::table::kind::names;
use crate::table::structure::{field, set, structure};

const ULONG: Kind = Unsigned(Eight);

names!(DELETE_MODULE "O_???" "0" { "O_NONBLOCK" = 0x800, "O_TRUNC" = 0x200 });
names!(MODULE_INIT "MODULE_INIT_???" "0" {
    "MODULE_INIT_IGNORE_MODVERSIONS" = 1, "MODULE_INIT_IGNORE_VERMAGIC" = 2, "MODULE_INIT_COMPRESSED_FILE" = 4,
});
names!(USERFAULT "UFFD_???" "0" { "UFFD_USER_MODE_ONLY" = 1, "O_NONBLOCK" = 0x800, "O_CLOEXEC" = 0x80000 });
names!(CLOSE_ON_EXEC "" "0" { "O_CLOEXEC" = 0x80000 });
names!(FUTEX2 "FUTEX_???" "0" { "FUTEX_32" = 2, "FUTEX_PRIVATE_FLAG" = 128 });
names!(RULE "LANDLOCK_RULE_???" "" { "LANDLOCK_RULE_PATH_BENEATH" = 1 });
names!(RULESET "LANDLOCK_CREATE_RULESET_???" "0" { "LANDLOCK_CREATE_RULESET_VERSION" = 1 });
names!(LANDLOCK_ACCESS "LANDLOCK_ACCESS_FS_???" "0" {
    "LANDLOCK_ACCESS_FS_EXECUTE" = 1, "LANDLOCK_ACCESS_FS_WRITE_FILE" = 2, "LANDLOCK_ACCESS_FS_READ_FILE" = 4,
    "LANDLOCK_ACCESS_FS_READ_DIR" = 8, "LANDLOCK_ACCESS_FS_REMOVE_DIR" = 0x10, "LANDLOCK_ACCESS_FS_REMOVE_FILE" = 0x20,
    "LANDLOCK_ACCESS_FS_MAKE_CHAR" = 0x40, "LANDLOCK_ACCESS_FS_MAKE_DIR" = 0x80, "LANDLOCK_ACCESS_FS_MAKE_REG" = 0x100,
    "LANDLOCK_ACCESS_FS_MAKE_SOCK" = 0x200, "LANDLOCK_ACCESS_FS_MAKE_FIFO" = 0x400,
    "LANDLOCK_ACCESS_FS_MAKE_BLOCK" = 0x800, "LANDLOCK_ACCESS_FS_MAKE_SYM" = 0x1000, "LANDLOCK_ACCESS_FS_REFER" = 0x2000,
});
names!(REBOOT_MAGIC1 "LINUX_REBOOT_MAGIC_???" "" { "LINUX_REBOOT_MAGIC1" = 0xfee1_dead });
names!(REBOOT_MAGIC2 "LINUX_REBOOT_MAGIC_???" "" {
    "LINUX_REBOOT_MAGIC2" = 672_274_793, "LINUX_REBOOT_MAGIC2A" = 85_072_278, "LINUX_REBOOT_MAGIC2B" = 369_367_448,
    "LINUX_REBOOT_MAGIC2C" = 537_993_216,
});
names!(REBOOT "LINUX_REBOOT_CMD_???" "" {
    "LINUX_REBOOT_CMD_CAD_OFF" = 0, "LINUX_REBOOT_CMD_RESTART" = 0x0123_4567, "LINUX_REBOOT_CMD_POWER_OFF" = 0x4321_fedc,
    "LINUX_REBOOT_CMD_KEXEC" = 0x4558_4543, "LINUX_REBOOT_CMD_CAD_ON" = 0x89ab_cdef,
    "LINUX_REBOOT_CMD_RESTART2" = 0xa1b2_c3d4, "LINUX_REBOOT_CMD_HALT" = 0xcdef_0123,
    "LINUX_REBOOT_CMD_SW_SUSPEND" = 0xd000_fce2,
});
names!(FSOPEN "FSOPEN_???" "0" { "FSOPEN_CLOEXEC" = 1 });
names!(FSMOUNT "FSMOUNT_???" "0" { "FSMOUNT_CLOEXEC" = 1 });
names!(FSPICK "FSPICK_???" "0" {
    "FSPICK_CLOEXEC" = 1, "FSPICK_SYMLINK_NOFOLLOW" = 2, "FSPICK_NO_AUTOMOUNT" = 4, "FSPICK_EMPTY_PATH" = 8,
});
names!(MOUNT_ATTR "MOUNT_ATTR_???" "0" {
    "MOUNT_ATTR_RDONLY" = 1, "MOUNT_ATTR_NOSUID" = 2, "MOUNT_ATTR_NODEV" = 4, "MOUNT_ATTR_NOEXEC" = 8,
    "MOUNT_ATTR_NOATIME" = 0x10, "MOUNT_ATTR_STRICTATIME" = 0x20, "MOUNT_ATTR_NODIRATIME" = 0x80,
});
names!(MOUNT_ATTR_SET "MOUNT_ATTR_???" "0" {
    "MOUNT_ATTR_RDONLY" = 1, "MOUNT_ATTR_NOSUID" = 2, "MOUNT_ATTR_NODEV" = 4, "MOUNT_ATTR_NOEXEC" = 8,
    "MOUNT_ATTR_NOATIME" = 0x10, "MOUNT_ATTR_STRICTATIME" = 0x20, "MOUNT_ATTR_NODIRATIME" = 0x80,
    "MOUNT_ATTR_IDMAP" = 0x10_0000, "MOUNT_ATTR_NOSYMFOLLOW" = 0x20_0000,
});
names!(AT_MOUNT "AT_???" "0" {
    "AT_SYMLINK_NOFOLLOW" = 0x100, "AT_NO_AUTOMOUNT" = 0x800, "AT_EMPTY_PATH" = 0x1000, "AT_RECURSIVE" = 0x8000,
});
names!(PROPAGATION "MS_???" "0" {
    "MS_UNBINDABLE" = 0x2_0000, "MS_PRIVATE" = 0x4_0000, "MS_SLAVE" = 0x8_0000, "MS_SHARED" = 0x10_0000,
});
names!(OPEN_TREE "OPEN_TREE_???" "0" {
    "OPEN_TREE_CLONE" = 1, "OPEN_TREE_CLOEXEC" = 0x80000, "AT_SYMLINK_NOFOLLOW" = 0x100, "AT_REMOVEDIR" = 0x200,
    "AT_SYMLINK_FOLLOW" = 0x400, "AT_NO_AUTOMOUNT" = 0x800, "AT_EMPTY_PATH" = 0x1000, "AT_RECURSIVE" = 0x8000,
});
names!(MOVE_MOUNT "MOVE_MOUNT_???" "0" {
    "MOVE_MOUNT_F_SYMLINKS" = 1, "MOVE_MOUNT_F_AUTOMOUNTS" = 2, "MOVE_MOUNT_F_EMPTY_PATH" = 4,
    "MOVE_MOUNT_T_SYMLINKS" = 0x10, "MOVE_MOUNT_T_AUTOMOUNTS" = 0x20, "MOVE_MOUNT_T_EMPTY_PATH" = 0x40,
    "MOVE_MOUNT_SET_GROUP" = 0x100,
});
names!(FSCONFIG "FSCONFIG_???" "" {
    "FSCONFIG_SET_FLAG" = 0, "FSCONFIG_SET_STRING" = 1, "FSCONFIG_SET_BINARY" = 2, "FSCONFIG_SET_PATH" = 3,
    "FSCONFIG_SET_PATH_EMPTY" = 4, "FSCONFIG_SET_FD" = 5, "FSCONFIG_CMD_CREATE" = 6, "FSCONFIG_CMD_RECONFIGURE" = 7,
});
names!(KEXEC_FILE "KEXEC_FILE_???" "0" {
    "KEXEC_FILE_UNLOAD" = 1, "KEXEC_FILE_ON_CRASH" = 2, "KEXEC_FILE_NO_INITRAMFS" = 4,
});
names!(TIME_MODES "ADJ_???" "0" {
    "ADJ_OFFSET_SS_READ" = 0xa001, "ADJ_OFFSET_SINGLESHOT" = 0x8001, "ADJ_OFFSET" = 1, "ADJ_FREQUENCY" = 2,
    "ADJ_MAXERROR" = 4, "ADJ_ESTERROR" = 8, "ADJ_STATUS" = 0x10, "ADJ_TIMECONST" = 0x20, "ADJ_TAI" = 0x80,
    "ADJ_SETOFFSET" = 0x100, "ADJ_MICRO" = 0x1000, "ADJ_NANO" = 0x2000, "ADJ_TICK" = 0x4000,
});
names!(TIME_STATUS "STA_???" "0" {
    "STA_PLL" = 1, "STA_PPSFREQ" = 2, "STA_PPSTIME" = 4, "STA_FLL" = 8, "STA_INS" = 0x10, "STA_DEL" = 0x20,
    "STA_UNSYNC" = 0x40, "STA_FREQHOLD" = 0x80, "STA_PPSSIGNAL" = 0x100, "STA_PPSJITTER" = 0x200,
    "STA_PPSWANDER" = 0x400, "STA_PPSERROR" = 0x800, "STA_CLOCKERR" = 0x1000, "STA_NANO" = 0x2000, "STA_MODE" = 0x4000,
    "STA_CLK" = 0x8000,
});
names!(MESSAGE_FLAGS "MSG_???" "0" {
    "MSG_NOERROR" = 0o10000, "MSG_EXCEPT" = 0o20000, "MSG_COPY" = 0o40000, "IPC_CREAT" = 0o1000, "IPC_EXCL" = 0o2000,
    "IPC_NOWAIT" = 0o4000,
});
names!(MESSAGES "MSG_???" "" {
    "IPC_RMID" = 0, "IPC_SET" = 1, "IPC_STAT" = 2, "IPC_INFO" = 3, "MSG_STAT" = 11, "MSG_INFO" = 12, "MSG_STAT_ANY" = 13,
});
names!(SHARED "SHM_???" "" {
    "IPC_RMID" = 0, "IPC_SET" = 1, "IPC_STAT" = 2, "IPC_INFO" = 3, "SHM_LOCK" = 11, "SHM_UNLOCK" = 12, "SHM_STAT" = 13,
    "SHM_INFO" = 14, "SHM_STAT_ANY" = 15,
});
names!(SEMAPHORES "SEM_???" "" {
    "IPC_RMID" = 0, "IPC_SET" = 1, "IPC_STAT" = 2, "IPC_INFO" = 3, "GETPID" = 11, "GETVAL" = 12, "GETALL" = 13,
    "GETNCNT" = 14, "GETZCNT" = 15, "SETVAL" = 16, "SETALL" = 17, "SEM_STAT" = 18, "SEM_INFO" = 19, "SEM_STAT_ANY" = 20,
});

structure!(FUTEX_WAITER 24 {
    field val 0 Hex(Eight), field uaddr 8 Address, field flags 16 Flags(Four, &FUTEX2), set __reserved 20 Hex(Four),
});
structure!(PATH_RULE 12 { field allowed_access 0 Flags(Eight, &LANDLOCK_ACCESS), field parent_fd 8 Fd });
structure!(RULES_OF 8 { field handled_access_fs 0 Flags(Eight, &LANDLOCK_ACCESS) });
structure!(MORE_RULES 8 { field handled_access_fs 0 Flags(Eight, &LANDLOCK_ACCESS), field more 0 Unsaid });
/// `MOUNT_ATTR_IDMAP`: the descriptor is one.
const ID_MAP: u64 = 0x10_0000;
structure!(MOUNT_ATTRIBUTES 32 {
    field attr_set 0 Flags(Eight, &MOUNT_ATTR_SET), field attr_clr 8 Flags(Eight, &MOUNT_ATTR_SET),
    field propagation 16 One(Eight, &PROPAGATION),
    field userns_fd 24 Only(Test::Has(0, Eight, ID_MAP), &Special(S::WideFd)),
    field userns_fd 24 Only(Test::Lacks(0, Eight, ID_MAP), &ULONG),
});
structure!(IOVEC 16 { field iov_base 0 Address, field iov_len 8 ULONG });
structure!(USTAT 32 { field f_tfree 0 INT, field f_tinode 8 ULONG });
structure!(TIMEX 208 {
    field modes 0 Flags(Four, &TIME_MODES), field offset 8 LONG, field freq 16 LONG, field maxerror 24 LONG,
    field esterror 32 LONG, field status 40 Flags(Four, &TIME_STATUS), field constant 48 LONG, field precision 56 LONG,
    field tolerance 64 LONG, field time 72 Structure(&s::TIMEVAL), field tick 88 LONG, field ppsfreq 96 LONG,
    field jitter 104 LONG, field shift 112 INT, field stabil 120 LONG, field jitcnt 128 LONG, field calcnt 136 LONG,
    field errcnt 144 LONG, field stbcnt 152 LONG, field tai 160 INT,
});
structure!(OWNED 48 {
    field uid 4 Id, field gid 8 Id, field mode 20 Permissions, field key 0 UINT, field cuid 12 Id, field cgid 16 Id,
});
structure!(OWNED_ANEW 48 { field uid 4 Id, field gid 8 Id, field mode 20 Permissions });
structure!(MESSAGE_QUEUE 120 {
    field msg_perm 0 Structure(&OWNED), field msg_stime 48 ULONG, field msg_rtime 56 ULONG, field msg_ctime 64 ULONG,
    field msg_qnum 80 ULONG, field msg_qbytes 88 ULONG, field msg_lspid 96 INT, field msg_lrpid 100 INT,
});
structure!(MESSAGE_QUEUE_SET 120 { field msg_perm 0 Structure(&OWNED_ANEW), field msg_qbytes 88 ULONG });
structure!(MESSAGE_LIMITS 32 {
    field msgpool 0 INT, field msgmap 4 INT, field msgmax 8 INT, field msgmnb 12 INT, field msgmni 16 INT,
    field msgssz 20 INT, field msgtql 24 INT, field msgseg 28 Unsigned(Two),
});
structure!(SHARED_MEMORY 112 {
    field shm_perm 0 Structure(&OWNED), field shm_segsz 48 ULONG, field shm_cpid 80 INT, field shm_lpid 84 INT,
    field shm_nattch 88 ULONG, field shm_atime 56 ULONG, field shm_dtime 64 ULONG, field shm_ctime 72 ULONG,
});
structure!(SHARED_MEMORY_SET 112 { field shm_perm 0 Structure(&OWNED_ANEW) });
structure!(SHARED_LIMITS 72 {
    field shmmax 0 ULONG, field shmmin 8 ULONG, field shmmni 16 ULONG, field shmseg 24 ULONG, field shmall 32 ULONG,
});
structure!(SHARED_USE 48 {
    field used_ids 0 INT, field shm_tot 8 ULONG, field shm_rss 16 ULONG, field shm_swp 24 ULONG,
    field swap_attempts 32 ULONG, field swap_successes 40 ULONG,
});
structure!(SEMAPHORE_SET 104 {
    field sem_perm 0 Structure(&OWNED), field sem_otime 48 ULONG, field sem_ctime 64 ULONG, field sem_nsems 80 ULONG,
});
structure!(SEMAPHORE_SET_SET 104 { field sem_perm 0 Structure(&OWNED_ANEW) });
structure!(SEMAPHORE_LIMITS 40 {
    field semmap 0 INT, field semmni 4 INT, field semmns 8 INT, field semmnu 12 INT, field semmsl 16 INT,
    field semopm 20 INT, field semume 24 INT, field semusz 28 INT, field semvmx 32 INT, field semaem 36 INT,
});

const TIMEX_OUT: Kind = To(Out, &Structure(&TIMEX));
const REMOTE: Kind = Many(In, &Structure(&IOVEC), Length::Argument(4));

/// The last argument of `msgctl`, by its command.
static MESSAGE_ARGUMENT: &[(u64, Kind)] = &[
    (1, To(In, &Structure(&MESSAGE_QUEUE_SET))),
    (2, To(Out, &Structure(&MESSAGE_QUEUE))),
    (3, To(Out, &Structure(&MESSAGE_LIMITS))),
    (11, To(Out, &Structure(&MESSAGE_QUEUE))),
    (12, To(Out, &Structure(&MESSAGE_LIMITS))),
    (13, To(Out, &Structure(&MESSAGE_QUEUE))),
];

/// That of `shmctl`.
static SHARED_ARGUMENT: &[(u64, Kind)] = &[
    (1, To(In, &Structure(&SHARED_MEMORY_SET))),
    (2, To(Out, &Structure(&SHARED_MEMORY))),
    (3, To(Out, &Structure(&SHARED_LIMITS))),
    (13, To(Out, &Structure(&SHARED_MEMORY))),
    (14, To(Out, &Structure(&SHARED_USE))),
    (15, To(Out, &Structure(&SHARED_MEMORY))),
];

/// That of `semctl`.
static SEMAPHORE_ARGUMENT: &[(u64, Kind)] = &[
    (1, To(In, &Structure(&SEMAPHORE_SET_SET))),
    (2, To(Out, &Structure(&SEMAPHORE_SET))),
    (3, To(Out, &Structure(&SEMAPHORE_LIMITS))),
    (18, To(Out, &Structure(&SEMAPHORE_SET))),
    (19, To(Out, &Structure(&SEMAPHORE_LIMITS))),
    (20, To(Out, &Structure(&SEMAPHORE_SET))),
];

/// The last argument of `reboot`.
static REBOOT_ARGUMENT: &[(u64, Kind)] = &[(0xa1b2_c3d4, Name(In, 255))];

/// Whose priority of input and output it is.
static INPUT_PRIORITY_OF: &[(u64, Kind)] = &[(1, PID), (2, GROUP), (3, Id)];

/// What `landlock_create_ruleset` is given: more than is known is neither read nor told.
const RULES: Kind = By(
    1,
    &[(8, To(In, &Structure(&RULES_OF)))],
    &Within(1, 9, u64::MAX, &To(In, &Structure(&MORE_RULES))),
);

/// What `landlock_add_rule` is given.
static RULE_ARGUMENT: &[(u64, Kind)] = &[(1, To(In, &Structure(&PATH_RULE)))];

/// The kernel looks at no more of them.
const PARAMETER: Kind = Name(In, 256);
/// The last three arguments of `fsconfig`.
static FSCONFIG_KEY: &[(u64, Kind)] = &[
    (0, PARAMETER),
    (1, PARAMETER),
    (2, PARAMETER),
    (3, PARAMETER),
    (4, PARAMETER),
    (5, PARAMETER),
];
static FSCONFIG_VALUE: &[(u64, Kind)] = &[
    (1, PARAMETER),
    (2, Within(4, 0, 1 << 20, &Binary(In, Length::Argument(4)))),
    (3, PATH),
    (4, PATH),
];
static FSCONFIG_AUX: &[(u64, Kind)] = &[(3, DirFd), (4, DirFd), (5, Fd)];

pub(super) static MEANINGS: &[Meaning] = &[
    m("swapon", &[PATH, Special(S::SwapFlags)]),
    other(
        "ioprio_get",
        &[One(Four, &f::INPUT_WHOSE), By(0, INPUT_PRIORITY_OF, &INT)],
        Answer::InputPriority,
    ),
    m(
        "ioprio_set",
        &[
            One(Four, &f::INPUT_WHOSE),
            By(0, INPUT_PRIORITY_OF, &INT),
            Special(S::Priority),
        ],
    ),
    m("iopl pkey_free", &[INT]),
    m(
        "quotactl",
        &[
            quota::COMMAND,
            quota::ARGUMENT,
            quota::ARGUMENT,
            quota::ARGUMENT,
        ],
    ),
    m(
        "quotactl_fd",
        &[Fd, quota::COMMAND, quota::ARGUMENT_FD, quota::ARGUMENT_FD],
    ),
    m("ioperm", &[Hex(Eight), Hex(Eight), INT]),
    m("delete_module", &[TEXT, Flags(Four, &DELETE_MODULE)]),
    m("init_module", &[Address, SIZE, TEXT]),
    m("finit_module", &[Fd, TEXT, Flags(Four, &MODULE_INIT)]),
    m(
        "add_key",
        &[
            TEXT,
            TEXT,
            Bytes(In, Length::Argument(3)),
            SIZE,
            keyctl::KEY,
        ],
    ),
    m(
        "keyctl",
        &[
            One(Four, &keyctl::COMMAND),
            keyctl::ARGUMENT,
            keyctl::ARGUMENT,
            keyctl::ARGUMENT,
            keyctl::ARGUMENT,
        ],
    ),
    m("request_key", &[TEXT, TEXT, TEXT, keyctl::KEY]),
    m(
        "process_madvise",
        &[
            Fd,
            Many(In, &Structure(&IOVEC), Length::Argument(2)),
            SIZE,
            One(Four, &f::MADVISE),
            Hex(Four),
        ],
    ),
    m("process_mrelease", &[Fd, Hex(Four)]),
    m(
        "process_vm_readv",
        &[PID, Special(S::Vectors(Out, 2)), SIZE, REMOTE, SIZE, SIZE],
    ),
    m(
        "process_vm_writev",
        &[PID, Special(S::Vectors(In, 2)), SIZE, REMOTE, SIZE, SIZE],
    ),
    m(
        "remap_file_pages",
        &[
            Hex(Eight),
            SIZE,
            Flags(Eight, &f::PROT),
            SIZE,
            OneAndFlags(Four, 15, &f::MAP_TYPE, &f::MAP),
        ],
    ),
    fd("userfaultfd", &[Flags(Four, &USERFAULT)]),
    fd("memfd_secret", &[Flags(Four, &CLOSE_ON_EXEC)]),
    m(
        "futex_waitv",
        &[
            Many(In, &Structure(&FUTEX_WAITER), Length::First(1, 128)),
            UINT,
            Hex(Four),
            TIME_IN,
            CLOCK,
        ],
    ),
    m(
        "set_mempolicy_home_node",
        &[Address, SIZE, SIZE, Hex(Eight)],
    ),
    other(
        "landlock_create_ruleset",
        &[RULES, SIZE, Flags(Four, &RULESET)],
        Answer::FdUnless(2, 1),
    ),
    m(
        "landlock_add_rule",
        &[
            Fd,
            One(Four, &RULE),
            By(1, RULE_ARGUMENT, &Address),
            Hex(Four),
        ],
    ),
    m("landlock_restrict_self", &[Fd, Hex(Four)]),
    m(
        "reboot",
        &[
            One(Four, &REBOOT_MAGIC1),
            One(Four, &REBOOT_MAGIC2),
            One(Four, &REBOOT),
            By(2, REBOOT_ARGUMENT, &Hidden),
        ],
    ),
    m("lookup_dcookie", &[SIZE, Bytes(Out, Length::Result), SIZE]),
    fd("fsopen", &[TEXT, Flags(Four, &FSOPEN)]),
    fd(
        "fsmount",
        &[Fd, Flags(Four, &FSMOUNT), Flags(Four, &MOUNT_ATTR)],
    ),
    fd("fspick", &[DirFd, PATH, Flags(Four, &FSPICK)]),
    fd("open_tree", &[DirFd, PATH, Flags(Four, &OPEN_TREE)]),
    m(
        "mount_setattr",
        &[
            DirFd,
            PATH,
            Flags(Four, &AT_MOUNT),
            Sized(In, &MOUNT_ATTRIBUTES, 32, Length::Argument(4)),
            SIZE,
        ],
    ),
    m(
        "move_mount",
        &[DirFd, PATH, DirFd, PATH, Flags(Four, &MOVE_MOUNT)],
    ),
    m(
        "fsconfig",
        &[
            Fd,
            One(Four, &FSCONFIG),
            By(1, FSCONFIG_KEY, &Address),
            By(1, FSCONFIG_VALUE, &Address),
            By(1, FSCONFIG_AUX, &INT),
        ],
    ),
    m(
        "kexec_file_load",
        &[
            Fd,
            Fd,
            SIZE,
            Bytes(In, Length::Argument(2)),
            Flags(Eight, &KEXEC_FILE),
        ],
    ),
    m(
        "ustat",
        &[Special(S::ShortDevice), To(Out, &Structure(&USTAT))],
    ),
    other("adjtimex", &[TIMEX_OUT], Answer::Clock),
    other("clock_adjtime", &[CLOCK, TIMEX_OUT], Answer::Clock),
    m("mq_notify", &[Fd, Special(S::Event)]),
    m(
        "mq_getsetattr",
        &[
            Fd,
            To(In, &Structure(&s::MQ_ATTR)),
            To(Out, &Structure(&s::MQ_ATTR)),
        ],
    ),
    m("io_setup", &[UINT, To(Out, &Address)]),
    m("io_destroy", &[Address]),
    m(
        "msgctl",
        &[INT, One(Four, &MESSAGES), By(1, MESSAGE_ARGUMENT, &Address)],
    ),
    m(
        "msgsnd",
        &[
            INT,
            Special(S::Queued(In)),
            SIZE,
            Flags(Four, &MESSAGE_FLAGS),
        ],
    ),
    m(
        "msgrcv",
        &[
            INT,
            Special(S::Queued(Out)),
            SIZE,
            LONG,
            Flags(Four, &MESSAGE_FLAGS),
        ],
    ),
    m(
        "shmctl",
        &[INT, One(Four, &SHARED), By(1, SHARED_ARGUMENT, &Address)],
    ),
    m(
        "semctl",
        &[
            INT,
            INT,
            One(Four, &SEMAPHORES),
            By(2, SEMAPHORE_ARGUMENT, &Address),
        ],
    ),
];
