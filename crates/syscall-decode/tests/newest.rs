//! Arguments of calls as the newest strace (7.2) has them, each kind once.

use backsight_syscall_decode::format::ConstantStyle;
use backsight_syscall_decode::table::syscall_number;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};

const DATA: u64 = 0x1000;
const MORE: u64 = 0x9000;
const INVALID: i64 = -22;

/// A piece of memory as a call was entered, and as it came back.
struct Piece<'a>(u64, &'a [u8], &'a [u8]);

/// The same both times.
fn same(address: u64, bytes: &[u8]) -> Piece<'_> {
    Piece(address, bytes, bytes)
}

/// The arguments of a call as they are shown.
fn shown(name: &str, arguments: &[u64], value: i64, pieces: &[Piece<'_>]) -> String {
    shown_as(ConstantStyle::Names, name, arguments, value, pieces)
}

fn shown_as(
    constants: ConstantStyle,
    name: &str,
    given: &[u64],
    value: i64,
    pieces: &[Piece<'_>],
) -> String {
    let mut arguments = [0; 6];
    arguments[..given.len()].copy_from_slice(given);
    let mut memory = CapturedMemory::default();
    for Piece(address, before, after) in pieces {
        for (when, bytes) in [(CapturePoint::Entered, before), (CapturePoint::Left, after)] {
            memory.add(MemoryPiece {
                address: *address,
                when,
                bytes: bytes.to_vec(),
            });
        }
    }
    let call = SyscallRecord {
        abi: Abi::X86_64,
        number: syscall_number(Abi::X86_64, name).expect("a call of the kernel"),
        arguments,
        entered: 0,
        outcome: SyscallOutcome::Returned { value, took: 1 },
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    let event = TraceEvent {
        pid: 1,
        tid: 1,
        at: 0,
        kind: EventKind::Call(call),
    };
    let mut out = Vec::new();
    let options = TextOptions {
        constants,
        column: 1,
        ..TextOptions::default()
    };
    TextWriter::new(options).write(&event, &mut out);
    let line = String::from_utf8(out).expect("text");
    let (call, _) = line.rsplit_once(") = ").expect("a result");
    call.strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('('))
        .expect("the call's name")
        .to_owned()
}

/// Numbers one behind the other, each in as many bytes.
fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn ints(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

#[test]
fn restartable_sequences_are_shown_with_the_one_that_a_thread_is_in() {
    let mut shared = ints(&[0, u32::MAX, MORE as u32, 0, 1, 2, 3, 0x101, 0]);
    let sequence = [ints(&[0, 0x30]), longs(&[0x10, 0x20, 0x30])].concat();
    let of_sequence = "{version=0, flags=RSEQ_CS_FLAG_SLICE_EXT_AVAILABLE|RSEQ_CS_FLAG_SLICE_EXT_ENABLED, \
                       start_ip=0x10, post_commit_offset=0x20, abort_ip=0x30} /* 0x9000 */";
    let around = |sequence: &str| {
        format!(
            "{{cpu_id_start=0, cpu_id=RSEQ_CPU_ID_UNINITIALIZED, rseq_cs={sequence}, \
             flags=RSEQ_CS_FLAG_NO_RESTART_ON_PREEMPT, node_id=2, mm_cid=3, \
             slice_ctrl={{request=1, granted=1, __reserved=0}}, __reserved=0}}, 32, 0, 0x53053053"
        )
    };
    let arguments = [DATA, 32, 0, 0x5305_3053];
    let pieces = [same(DATA, &shared), same(MORE, &sequence)];
    assert_eq!(shown("rseq", &arguments, 0, &pieces), around(of_sequence));
    // One that can't be read is an address, and one that is too short is not looked at.
    shared[8..16].fill(0);
    let pieces = [same(DATA, &shared)];
    assert_eq!(shown("rseq", &arguments, 0, &pieces), around("NULL"));
    assert_eq!(
        shown("rseq", &[DATA, 28, 1, 1], INVALID, &pieces),
        "0x1000, 28, RSEQ_FLAG_UNREGISTER, 0x1"
    );
}

#[test]
fn handles_of_files_are_shown_with_the_room_that_there_was() {
    let asked = ints(&[100, 0]);
    let made = [ints(&[8, 1]), longs(&[0x0807_0605_0403_0201])].concat();
    let arguments = [-100_i64 as u64, 0, DATA, MORE, 0];
    let pieces = [Piece(DATA, &asked, &made), same(MORE, &[27, 0, 0, 0])];
    let handle = r#"handle_type=1, f_handle="\x01\x02\x03\x04\x05\x06\x07\x08""#;
    assert_eq!(
        shown("name_to_handle_at", &arguments, 0, &pieces),
        format!("AT_FDCWD, NULL, {{handle_bytes=100 => 8, {handle}}}, [27], 0")
    );
    const TOO_LARGE: i64 = -75;
    for (error, told) in [(TOO_LARGE, "100 => 8"), (INVALID, "100")] {
        assert_eq!(
            shown("name_to_handle_at", &arguments, error, &pieces),
            format!("AT_FDCWD, NULL, {{handle_bytes={told}}}, 0x9000, 0")
        );
    }
    let whole = [same(DATA, &made)];
    assert_eq!(
        shown("open_by_handle_at", &[3, DATA, 0], 4, &whole),
        format!("3, {{handle_bytes=8, {handle}}}, O_RDONLY")
    );
    let cut = [same(DATA, &made[..12])];
    assert_eq!(
        shown("open_by_handle_at", &[3, DATA, 0], -14, &cut),
        "3, {handle_bytes=8, handle_type=1, f_handle=???}, O_RDONLY"
    );
}

#[test]
fn contexts_of_security_modules_go_no_further_than_there_is_room() {
    let context = [longs(&[100, 1, 36, 10]), b"abcdef".to_vec()].concat();
    let pieces = [same(DATA, &context)];
    let head = "LSM_ATTR_CURRENT, {id=LSM_ID_CAPABILITY, flags=0x1, len=36, ctx_len=10";
    for (size, told) in [
        (32, "}"),
        (34, r#", ctx="\x61\x62"}"#),
        (38, r#", ctx="\x61\x62\x63\x64"}"#),
    ] {
        assert_eq!(
            shown("lsm_set_self_attr", &[100, DATA, size, 0], INVALID, &pieces),
            format!("{head}{told}, {size}, 0")
        );
    }
    assert_eq!(
        shown("lsm_set_self_attr", &[100, DATA, 31, 0], INVALID, &pieces),
        "LSM_ATTR_CURRENT, 0x1000, 31, 0"
    );
}

#[test]
fn who_asks_one_security_module_says_which_and_sizes_that_were_too_small_are_told() {
    let module = longs(&[101, 0, 0, 0]);
    let pieces = [
        same(DATA, &module),
        Piece(MORE, &[200, 0, 0, 0], &[0, 0, 0, 0]),
    ];
    assert_eq!(
        shown("lsm_get_self_attr", &[100, DATA, MORE, 1], -95, &pieces),
        "LSM_ATTR_CURRENT, {id=LSM_ID_SELINUX} => 0x1000, [200 => 0], LSM_FLAG_SINGLE"
    );
    let pieces = [Piece(MORE, &[8, 0, 0, 0], &[32, 0, 0, 0])];
    assert_eq!(
        shown("lsm_list_modules", &[DATA, MORE, 0], -7, &pieces),
        "0x1000, [8 => 32], 0"
    );
}

#[test]
fn options_of_a_mount_stand_where_they_lie_and_texts_are_whole() {
    let mut told = ints(&[560, 0]);
    told.extend_from_slice(&longs(&[0xa0]));
    told.resize(512, 0);
    told[36..40].copy_from_slice(&41_u32.to_le_bytes());
    told.extend_from_slice(b"discard,resv_strict,errors=remount-ro,aa\0ext4\0");
    let asked = ints(&[24, 0, 1, 0, 0xa0, 0]);
    let pieces = [same(DATA, &asked), same(MORE, &told)];
    assert_eq!(
        shown("statmount", &[DATA, MORE, 600, 0], 0, &pieces),
        "{size=24, mnt_ns_fd=0, mnt_id=0x1, param=STATMOUNT_FS_TYPE|STATMOUNT_MNT_OPTS}, \
         {size=560, mnt_opts=\"discard,resv_strict,errors=remount-ro,aa\", \
         mask=STATMOUNT_FS_TYPE|STATMOUNT_MNT_OPTS, fs_type=\"ext4\"}, 600, 0"
    );
}

#[test]
fn commands_of_fcntl_have_what_they_take() {
    let deleg = [0, 0, 0, 0, 1, 0, 0, 0];
    let pieces = [same(DATA, &deleg)];
    for (command, argument, told) in [
        (0, u64::MAX, "F_DUPFD, -1"),
        (2, 0xff_0000_0001, "F_SETFD, FD_CLOEXEC"),
        (4, 0xff_0000_0800, "F_SETFL, O_RDONLY|O_NONBLOCK"),
        (12, 0xf3, "F_GETLK64, 0xf3"),
        (14, 0, "F_SETLKW64, 0"),
        (1027, 4, "F_DUPFD_QUERY, 4"),
        (1031, 1 << 40, "F_SETPIPE_SZ, 1099511627776"),
        (
            1040,
            DATA,
            "F_SETDELEG, {d_flags=0, d_type=F_WRLCK, __pad=0}",
        ),
        (1040, 0, "F_SETDELEG, NULL"),
    ] {
        assert_eq!(
            shown("fcntl", &[3, command, argument], INVALID, &pieces),
            format!("3, {told}")
        );
    }
}

#[test]
fn commands_of_queues_have_the_version_of_their_structures_before_them() {
    let owner = ints(&[0, 1, 2, 0, 0, 0o10_000_600]);
    let all = [owner, vec![0; 96]].concat();
    let pieces = [same(DATA, &all)];
    assert_eq!(
        shown("shmctl", &[1, 0x101, DATA], INVALID, &pieces),
        "1, IPC_64|IPC_SET, {shm_perm={uid=1, gid=2, mode=010000600}}"
    );
    assert_eq!(
        shown("semctl", &[1, 0, 0x104, DATA], INVALID, &pieces),
        "1, 0, IPC_64|0x4 /* SEM_??? */, 0x1000"
    );
    let both = shown_as(
        ConstantStyle::Both,
        "msgctl",
        &[1, 0x100, DATA],
        INVALID,
        &[],
    );
    assert_eq!(both, "1, 0x100 /* IPC_64 */|0 /* IPC_RMID */, 0x1000");
    let operation = [0, 0, 0, 0, 7, 0];
    assert_eq!(
        shown("semop", &[1, DATA, 1], INVALID, &[same(DATA, &operation)]),
        "1, [{sem_num=0, sem_op=0, sem_flg=0x7 /* SEM_??? */}], 1"
    );
}

#[test]
fn actions_of_signals_are_shown_whatever_the_size_of_a_set() {
    let action = longs(&[u64::MAX, 0x400, 0, 1]);
    let pieces = [same(DATA, &action)];
    assert_eq!(
        shown("rt_sigaction", &[10, DATA, 0, 9], INVALID, &pieces),
        "SIGUSR1, {sa_handler=SIG_ERR, sa_mask=[HUP], sa_flags=0x400 /* SA_??? */}, NULL, 9"
    );
}

#[test]
fn errors_that_the_kernel_keeps_to_itself_have_names_in_a_signals_circumstances() {
    for (error, name) in [(512, "ERESTARTSYS"), (524, "ENOTSUPP"), (519, "519")] {
        let information = [ints(&[10, error, u32::MAX, 0]), vec![0; 112]].concat();
        assert_eq!(
            shown(
                "rt_sigqueueinfo",
                &[1, 10, DATA],
                -3,
                &[same(DATA, &information)]
            ),
            format!(
                "1, SIGUSR1, {{si_signo=SIGUSR1, si_code=SI_QUEUE, si_errno={name}, si_pid=0, si_uid=0}}"
            )
        );
    }
}

#[test]
fn a_schedule_has_both_bounds_or_none() {
    let mut schedule = [ints(&[52, 0]), vec![0; 40], ints(&[1, 2])].concat();
    let head = "0, {size=52, sched_policy=SCHED_OTHER, sched_flags=0, sched_nice=0, sched_priority=0, \
                sched_runtime=0, sched_deadline=0, sched_period=0";
    let told = shown(
        "sched_setattr",
        &[0, DATA, 0],
        INVALID,
        &[same(DATA, &schedule)],
    );
    assert_eq!(told, format!("{head}}}, 0"));
    schedule[0] = 56;
    let told = shown(
        "sched_setattr",
        &[0, DATA, 0],
        INVALID,
        &[same(DATA, &schedule)],
    );
    let whole = head.replace("52", "56");
    assert_eq!(
        told,
        format!("{whole}, sched_util_min=1, sched_util_max=2}}, 0")
    );
}

#[test]
fn arguments_that_only_some_requests_look_at_follow_their_bits() {
    for (flags, told) in [
        (0, "0"),
        (1, "MEMBARRIER_CMD_FLAG_CPU, 7"),
        (3, "MEMBARRIER_CMD_FLAG_CPU|0x2, 7"),
    ] {
        assert_eq!(
            shown("membarrier", &[0, flags, 7], INVALID, &[]),
            format!("MEMBARRIER_CMD_QUERY, {told}")
        );
    }
    assert_eq!(
        shown("process_madvise", &[3, 0, 0, 14, 0], INVALID, &[]),
        "3, NULL, 0, 0xe /* MADV_??? */, 0"
    );
    let data = [same(DATA, b"d\0")];
    assert_eq!(
        shown("mount", &[0, 0, DATA, 0x1_c0ed_2020, DATA], INVALID, &data),
        "NULL, NULL, 0x1000, MS_MGC_VAL|MS_REMOUNT|MS_MOVE, \"d\""
    );
}

#[test]
fn capabilities_of_keys_without_room_are_none() {
    for (address, told) in [(DATA, "[]"), (0, "NULL")] {
        assert_eq!(
            shown("keyctl", &[31, address, 0], 2, &[]),
            format!("KEYCTL_CAPABILITIES, {told}, 0")
        );
    }
}

#[test]
fn a_zero_where_a_value_is_cut_ends_it() {
    let value = [vec![b'a'; 31], vec![0; 9]].concat();
    let pieces = [same(DATA, &value)];
    let a = "a".repeat(31);
    for (length, told) in [(33, format!("{a}\"")), (31, format!("{a}\""))] {
        assert_eq!(
            shown("setxattr", &[0, 0, DATA, length, 0], INVALID, &pieces),
            format!("NULL, NULL, \"{told}, {length}, 0")
        );
    }
    let letters = [same(DATA, &[b'a'; 40])];
    assert_eq!(
        shown("setxattr", &[0, 0, DATA, 33, 0], INVALID, &letters),
        format!("NULL, NULL, \"{a}a\"..., 33, 0")
    );
}

#[test]
fn numbers_of_clusters_are_shown_however_short_and_ranges_of_ports_only_where_they_are_some() {
    const CLUSTER: u64 = 271;
    let number = ints(&[2]);
    let pieces = [same(DATA, &number)];
    for length in [0, 3, u64::from(u32::MAX)] {
        let told = shown(
            "setsockopt",
            &[3, CLUSTER, 128, DATA, length],
            INVALID,
            &pieces,
        );
        let length = length as i32;
        assert_eq!(
            told,
            format!("3, SOL_TIPC, TIPC_SRC_DROPPABLE, [2], {length}")
        );
    }
    for (range, told) in [
        (0x0002_0001, "0x20001 /* 1..2 */"),
        (0x0001_0002, "0x10002"),
        (0x0001_0000, "0x10000 /* ..1 */"),
        (0x0000_0001, "0x1 /* 1.. */"),
    ] {
        let bytes = ints(&[range]);
        let pieces = [same(DATA, &bytes)];
        assert_eq!(
            shown("setsockopt", &[3, 0, 51, DATA, 4], INVALID, &pieces),
            format!("3, SOL_IP, IP_LOCAL_PORT_RANGE, [{told}], 4")
        );
    }
}

#[test]
fn requests_of_debuggers_have_narrow_types_of_registers_and_sizes_in_decimal() {
    let stop = [
        vec![2, 1, 0, 0],
        ints(&[0xc000_003e]),
        longs(&[16, 32, (-5_i64) as u64, 1]),
    ]
    .concat();
    for (size, told) in [
        (8, "}"),
        (
            33,
            ", instruction_pointer=0x10, stack_pointer=0x20, exit={rval=-EIO, is_error=1}}",
        ),
    ] {
        assert_eq!(
            shown(
                "ptrace",
                &[0x4212, 1, size, DATA],
                INVALID,
                &[same(DATA, &stop)]
            ),
            format!(
                "PTRACE_SET_SYSCALL_INFO, 1, {size}, {{op=PTRACE_SYSCALL_INFO_EXIT, reserved=0x1, \
                 arch=AUDIT_ARCH_X86_64{told}"
            )
        );
    }
    assert_eq!(
        shown("ptrace", &[0x4205, 1, u64::MAX, DATA], INVALID, &[]),
        "PTRACE_SETREGSET, 1, 0xffffffff /* NT_??? */, 0x1000"
    );
}

#[test]
fn unknown_bits_of_shared_memory_stand_apart_from_its_permissions() {
    assert_eq!(
        shown("shmget", &[7, 1, 0x30_2000 | 0o600], INVALID, &[]),
        "0x7, 1, 0x302000|0600"
    );
    assert_eq!(
        shown("msgget", &[7, 0x2000 | 0o600], INVALID, &[]),
        "0x7, 0x20000600"
    );
}

#[test]
fn numbers_at_a_distance_from_a_named_one_have_both_where_both_are_asked_for() {
    const NAMED_AND_NUMBER: ConstantStyle = ConstantStyle::Both;
    let address = [31, 0, 0x02, 0x10, 0, 0, 0, 0, 0, 0, 4, 0];
    let pieces = [same(DATA, &address)];
    let told = shown_as(NAMED_AND_NUMBER, "bind", &[3, DATA, 12], INVALID, &pieces);
    assert!(
        told.contains("l2_psm=htobs(0x1002 /* 0x1001 /* L2CAP_PSM_DYN_START */+1 */)"),
        "{told}"
    );
}

#[test]
fn numbers_of_parts_have_each_its_number_and_its_name() {
    let all = [
        (
            ConstantStyle::Names,
            "CLONE_THREAD|SIGCHLD",
            "AT_STATX_SYNC_AS_STAT|AT_EMPTY_PATH",
        ),
        (ConstantStyle::Numbers, "0x10000|17", "|0x1000"),
        (
            ConstantStyle::Both,
            "0x10000 /* CLONE_THREAD */|17 /* SIGCHLD */",
            "0 /* AT_STATX_SYNC_AS_STAT */|0x1000 /* AT_EMPTY_PATH */",
        ),
    ];
    for (constants, cloned, asked) in all {
        assert_eq!(
            shown_as(constants, "clone", &[0x1_0011, 0], 5, &[]),
            format!("child_stack=NULL, flags={cloned}")
        );
        assert_eq!(
            shown_as(constants, "statx", &[3, 0, 0x1000, 0, DATA], INVALID, &[]),
            format!("3, NULL, {asked}, 0, 0x1000")
        );
    }
}

#[test]
fn what_a_mounts_status_had_no_room_for_is_nothing() {
    let told = [ints(&[24, 0]), longs(&[1]), ints(&[254])].concat();
    let asked = ints(&[24, 0, 1, 0, 1, 0]);
    let pieces = [same(DATA, &asked), same(MORE, &told)];
    let line = shown("statmount", &[DATA, MORE, 20, 0], 0, &pieces);
    assert!(
        line.contains("sb_dev_major=254, sb_dev_minor=0, sb_magic=0, sb_flags=0}"),
        "{line}"
    );
}
