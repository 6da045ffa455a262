//! Calls that few programs make: what their arguments mean, with the names and structures that only they have.

use backsight_syscall_tables::sets::{
    PROCESS_MADVISE, RARE_AT_MOUNT as AT_MOUNT, RARE_CLOSE_ON_EXEC as CLOSE_ON_EXEC,
    RARE_DELETE_MODULE as DELETE_MODULE, RARE_FSCONFIG as FSCONFIG, RARE_FSMOUNT as FSMOUNT,
    RARE_FSOPEN as FSOPEN, RARE_FSPICK as FSPICK, RARE_KEXEC_FILE as KEXEC_FILE,
    RARE_LISTMOUNT as LISTMOUNT, RARE_MESSAGE_FLAGS as MESSAGE_FLAGS, RARE_MESSAGES as MESSAGES,
    RARE_MODULE_INIT as MODULE_INIT, RARE_MOUNT_ATTR as MOUNT_ATTR,
    RARE_MOUNT_ATTR_SET as MOUNT_ATTR_SET, RARE_MOVE_MOUNT as MOVE_MOUNT,
    RARE_OPEN_TREE as OPEN_TREE, RARE_PROPAGATION as PROPAGATION, RARE_REBOOT as REBOOT,
    RARE_REBOOT_MAGIC1 as REBOOT_MAGIC1, RARE_REBOOT_MAGIC2 as REBOOT_MAGIC2,
    RARE_SEMAPHORES as SEMAPHORES, RARE_SHARED as SHARED, RARE_STATMOUNT as STATMOUNT,
    RARE_STATMOUNT_FLAGS as STATMOUNT_FLAGS, RARE_TIME_MODES as TIME_MODES,
    RARE_TIME_STATUS as TIME_STATUS, RARE_USERFAULT as USERFAULT,
};

use super::*;
use crate::format;
use crate::table::kind::{CustomFormat, FieldCondition, UnnamedStyle};
use crate::table::structure::{field, set, structure};

/// A number of eight bytes that has a name sometimes.
macro_rules! named_or_hex {
    ($names:expr) => {
        CustomFormat {
            write: |out, value| match $names.name(value) {
                Some(name) => out.extend_from_slice(name.as_bytes()),
                None => format::hex(out, value),
            },
            number: UnnamedStyle::Hex,
        }
    };
}

const ULONG: ValueKind = Unsigned(Eight);

/// `MOUNT_ATTR_IDMAP`: the descriptor is one.
const ID_MAP: u64 = 0x10_0000;
structure!(MOUNT_ATTRIBUTES 32 {
    field attr_set 0 Flags(Eight, &MOUNT_ATTR_SET), field attr_clr 8 Flags(Eight, &MOUNT_ATTR_SET),
    field propagation 16 One(Eight, &PROPAGATION),
    field userns_fd 24 Only(FieldCondition::Has(0, Eight, ID_MAP), &Special(S::WideFd)),
    field userns_fd 24 Only(FieldCondition::Lacks(0, Eight, ID_MAP), &ULONG),
});
structure!(MOUNT_ASKED 32 {
    field size 0 UINT, field mnt_ns_fd 4 Fd, field mnt_id 8 Hex(Eight), field param 16 Flags(Eight, &STATMOUNT),
    field mnt_ns_id 24 Hex(Eight),
});
structure!(MOUNTS_ASKED 32 {
    field size 0 UINT, field mnt_ns_fd 4 Fd, field mnt_id 8 Worded(Eight, &ROOT), field param 16 Hex(Eight),
    field mnt_ns_id 24 Hex(Eight),
});
structure!(NAMESPACES_ASKED 32 {
    field size 0 UINT, set spare 4 Hex(Four), field ns_id 8 Hex(Eight), field ns_type 16 Flags(Four, &f::NAMESPACES),
    set spare2 20 Hex(Four), field user_ns_id 24 Worded(Eight, &CURRENT_USER),
});
/// What was there first of what `statmount`, `listmount` and `listns` are asked with.
const MOUNT_ASKED_FIRST: usize = 24;
static ROOT: CustomFormat = named_or_hex!(&f::LISTMOUNT_ROOT);
static CURRENT_USER: CustomFormat = named_or_hex!(&f::LISTNS_USER);
structure!(IOVEC 16 { field iov_base 0 Address, field iov_len 8 ULONG });
structure!(USTAT 32 { field f_tfree 0 INT, field f_tinode 8 ULONG });
structure!(TIMEX 208 {
    field modes 0 Flags(Four, &TIME_MODES), field offset 8 LONG, field freq 16 LONG, field maxerror 24 LONG,
    field esterror 32 LONG, field status 40 Flags(Four, &TIME_STATUS), field constant 48 LONG, field precision 56 LONG,
    field tolerance 64 LONG, field time 72 Structure(&s::TIMEVAL), field tick 88 LONG, field ppsfreq 96 LONG,
    field jitter 104 LONG, field shift 112 INT, field stabil 120 LONG, field jitcnt 128 LONG, field calcnt 136 LONG,
    field errcnt 144 LONG, field stbcnt 152 LONG, field tai 160 INT,
});
/// A mode in four bytes, of which the kernel's types know two.
static MODE: CustomFormat = CustomFormat {
    write: |out, value| format::permissions(out, value),
    number: UnnamedStyle::Words,
};
/// What is asked, without the version of the structures.
const IPC_COMMAND: u64 = 0xffff_feff;
structure!(OWNED 48 {
    field uid 4 Id, field gid 8 Id, field mode 20 Worded(Four, &MODE), field key 0 UINT, field cuid 12 Id, field cgid 16 Id,
});
structure!(OWNED_ANEW 48 { field uid 4 Id, field gid 8 Id, field mode 20 Worded(Four, &MODE) });
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

const TIMEX_OUT: ValueKind = To(Out, &Structure(&TIMEX));
const REMOTE: ValueKind = Many(In, &Structure(&IOVEC), LengthSource::Argument(4));

/// The last argument of `msgctl`, by its command.
static MESSAGE_ARGUMENT: &[(u64, ValueKind)] = &[
    (1, To(In, &Structure(&MESSAGE_QUEUE_SET))),
    (2, To(Out, &Structure(&MESSAGE_QUEUE))),
    (3, To(Out, &Structure(&MESSAGE_LIMITS))),
    (11, To(Out, &Structure(&MESSAGE_QUEUE))),
    (12, To(Out, &Structure(&MESSAGE_LIMITS))),
    (13, To(Out, &Structure(&MESSAGE_QUEUE))),
];

/// That of `shmctl`.
static SHARED_ARGUMENT: &[(u64, ValueKind)] = &[
    (1, To(In, &Structure(&SHARED_MEMORY_SET))),
    (2, To(Out, &Structure(&SHARED_MEMORY))),
    (3, To(Out, &Structure(&SHARED_LIMITS))),
    (13, To(Out, &Structure(&SHARED_MEMORY))),
    (14, To(Out, &Structure(&SHARED_USE))),
    (15, To(Out, &Structure(&SHARED_MEMORY))),
];

/// That of `semctl`.
static SEMAPHORE_ARGUMENT: &[(u64, ValueKind)] = &[
    (1, To(In, &Structure(&SEMAPHORE_SET_SET))),
    (2, To(Out, &Structure(&SEMAPHORE_SET))),
    (3, To(Out, &Structure(&SEMAPHORE_LIMITS))),
    (18, To(Out, &Structure(&SEMAPHORE_SET))),
    (19, To(Out, &Structure(&SEMAPHORE_LIMITS))),
    (20, To(Out, &Structure(&SEMAPHORE_SET))),
];

/// The last argument of `reboot`.
static REBOOT_ARGUMENT: &[(u64, ValueKind)] = &[(0xa1b2_c3d4, Name(In, 255))];

/// Whose priority of input and output it is.
static INPUT_PRIORITY_OF: &[(u64, ValueKind)] = &[(1, PID), (2, GROUP), (3, Id)];

/// The kernel looks at no more of them.
const PARAMETER: ValueKind = Name(In, 256);
/// The last three arguments of `fsconfig`.
static FSCONFIG_KEY: &[(u64, ValueKind)] = &[
    (0, PARAMETER),
    (1, PARAMETER),
    (2, PARAMETER),
    (3, PARAMETER),
    (4, PARAMETER),
    (5, PARAMETER),
];
static FSCONFIG_VALUE: &[(u64, ValueKind)] = &[
    (1, PARAMETER),
    (
        2,
        Within(4, 0, 1 << 20, &Binary(In, LengthSource::Argument(4))),
    ),
    (3, PATH),
    (4, PATH),
];
static FSCONFIG_AUX: &[(u64, ValueKind)] = &[(3, DirFd), (4, DirFd), (5, Fd)];

pub(super) static MEANINGS: &[Meaning] = &[
    m("swapon", &[PATH, Special(S::SwapFlags)]),
    other(
        "ioprio_get",
        &[One(Four, &f::INPUT_WHOSE), By(0, INPUT_PRIORITY_OF, &INT)],
        ResultKind::InputPriority,
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
            Bytes(In, LengthSource::Argument(3)),
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
            Many(In, &Structure(&IOVEC), LengthSource::Argument(2)),
            SIZE,
            One(Four, &PROCESS_MADVISE),
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
        "set_mempolicy_home_node",
        &[Address, SIZE, SIZE, Hex(Eight)],
    ),
    m(
        "reboot",
        &[
            One(Four, &REBOOT_MAGIC1),
            One(Four, &REBOOT_MAGIC2),
            One(Four, &REBOOT),
            By(2, REBOOT_ARGUMENT, &Hidden),
        ],
    ),
    m(
        "lookup_dcookie",
        &[SIZE, Bytes(Out, LengthSource::Result), SIZE],
    ),
    fd("fsopen", &[TEXT, Flags(Four, &FSOPEN)]),
    fd(
        "fsmount",
        &[Fd, Flags(Four, &FSMOUNT), Flags(Four, &MOUNT_ATTR)],
    ),
    fd("fspick", &[DirFd, PATH, Flags(Four, &FSPICK)]),
    fd("open_tree", &[DirFd, PATH, Flags(Four, &OPEN_TREE)]),
    fd(
        "open_tree_attr",
        &[
            DirFd,
            PATH,
            Flags(Four, &OPEN_TREE),
            Sized(In, &MOUNT_ATTRIBUTES, 32, LengthSource::Argument(4)),
            SIZE,
        ],
    ),
    m(
        "mount_setattr",
        &[
            DirFd,
            PATH,
            Flags(Four, &AT_MOUNT),
            Sized(In, &MOUNT_ATTRIBUTES, 32, LengthSource::Argument(4)),
            SIZE,
        ],
    ),
    m(
        "statmount",
        &[
            Special(S::Measured(&MOUNT_ASKED, MOUNT_ASKED_FIRST)),
            Special(S::MountStatus),
            SIZE,
            Flags(Four, &STATMOUNT_FLAGS),
        ],
    ),
    m(
        "listmount",
        &[
            Special(S::Measured(&MOUNTS_ASKED, MOUNT_ASKED_FIRST)),
            Special(S::Listed),
            SIZE,
            Flags(Four, &LISTMOUNT),
        ],
    ),
    m(
        "listns",
        &[
            Special(S::Measured(&NAMESPACES_ASKED, 32)),
            Special(S::Listed),
            SIZE,
            Hex(Four),
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
            Bytes(In, LengthSource::Argument(2)),
            Flags(Eight, &KEXEC_FILE),
        ],
    ),
    m(
        "ustat",
        &[Special(S::ShortDevice), To(Out, &Structure(&USTAT))],
    ),
    other("adjtimex", &[TIMEX_OUT], ResultKind::Clock),
    other("clock_adjtime", &[CLOCK, TIMEX_OUT], ResultKind::Clock),
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
        &[
            INT,
            Special(S::IpcCommand(&MESSAGES)),
            ByBits(1, IPC_COMMAND, MESSAGE_ARGUMENT, &Address),
        ],
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
        &[
            INT,
            Special(S::IpcCommand(&SHARED)),
            ByBits(1, IPC_COMMAND, SHARED_ARGUMENT, &Address),
        ],
    ),
    m(
        "semctl",
        &[
            INT,
            INT,
            Special(S::IpcCommand(&SEMAPHORES)),
            ByBits(2, IPC_COMMAND, SEMAPHORE_ARGUMENT, &Address),
        ],
    ),
];
