//! Structures behind pointers that need more than a table of fields, as the newest strace (7.2) has them.

use backsight_syscall_decode::memory::{DESCRIPTOR_HEAD, descriptor_address};
use backsight_syscall_decode::resolver::{DescriptorInfo, Resolver};
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::syscall_number;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};

/// A machine that was started in the first hour of 1970.
struct Machine;

impl Resolver for Machine {
    fn describe_descriptor(&mut self, _: i32, _: i32, _: &SyscallRecord) -> DescriptorInfo {
        DescriptorInfo::default()
    }

    fn machine_start(&mut self) -> Option<i64> {
        Some(60_000_000_000)
    }
}

const DATA: u64 = 0x1000;
const MORE: u64 = 0x9000;

/// A call with the memory that it was made with.
struct Call {
    name: &'static str,
    arguments: [u64; 6],
    value: i64,
    memory: CapturedMemory,
    full: bool,
}

impl Call {
    fn new(name: &'static str, arguments: &[u64]) -> Self {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        Call {
            name,
            arguments: all,
            value: 0,
            memory: CapturedMemory::default(),
            full: false,
        }
    }

    fn returns(mut self, value: i64) -> Self {
        self.value = value;
        self
    }

    /// Everything is asked for.
    fn full(mut self) -> Self {
        self.full = true;
        self
    }

    /// Memory that the kernel changes.
    fn memory(mut self, address: u64, before: &[u8], after: &[u8]) -> Self {
        for (when, bytes) in [(CapturePoint::Entered, before), (CapturePoint::Left, after)] {
            self.memory.add(MemoryPiece {
                address,
                when,
                bytes: bytes.to_vec(),
            });
        }
        self
    }

    /// Memory that stays as it is.
    fn data(self, address: u64, bytes: &[u8]) -> Self {
        self.memory(address, bytes, bytes)
    }

    /// A descriptor is a file without a path, of this name.
    fn descriptor(self, fd: i32, name: &str) -> Self {
        let mut bytes = vec![0; DESCRIPTOR_HEAD];
        bytes[DESCRIPTOR_HEAD - 1] = 1;
        bytes.push(u8::try_from(name.len()).expect("a short name"));
        bytes.extend_from_slice(name.as_bytes());
        self.data(descriptor_address(fd), &bytes)
    }

    /// Its line, without the result.
    fn line(self) -> String {
        let call = SyscallRecord {
            abi: Abi::X86_64,
            number: syscall_number(Abi::X86_64, self.name).expect("a call of the kernel"),
            arguments: self.arguments,
            entered: 0,
            outcome: SyscallOutcome::Returned {
                value: self.value,
                took: 1,
            },
            memory: self.memory,
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
        let mut options = TextOptions::default();
        if self.full {
            options.full = SyscallSet::all();
        }
        let mut out = Vec::new();
        TextWriter::new(options)
            .with_resolver(Machine)
            .write(&event, &mut out);
        let line = String::from_utf8(out).expect("text");
        let (shown, _result) = line.rsplit_once(" = ").expect("a result");
        shown.trim_end().to_owned()
    }
}

/// Numbers of four bytes as they lie in memory.
fn ints(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Numbers of eight bytes as they lie in memory.
fn longs(values: &[u64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

const INFORMATION: u64 = 15;
const LINK: u64 = 28;

/// What `bpf` is asked of descriptor 3, with room for so many bytes.
fn information(length: u32) -> Vec<u8> {
    joined(&[ints(&[3, length]), longs(&[MORE])])
}

#[test]
fn a_map_is_described_as_far_as_there_was_room() {
    let map = joined(&[
        ints(&[2, 70, 4, 8, 3, 0]),
        b"mymap\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        vec![0; 24],
    ]);
    let call = |length: u32, full: bool| {
        let call = Call::new("bpf", &[INFORMATION, DATA, 16])
            .data(DATA, &information(length))
            .memory(MORE, &vec![0; length as usize], &map[..length as usize])
            .descriptor(3, "bpf-map");
        if full {
            call.full().line()
        } else {
            call.line()
        }
    };
    let begin = "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=3, info_len=";
    assert_eq!(
        call(20, true),
        format!(
            "{begin}20, info={{type=BPF_MAP_TYPE_ARRAY, id=70, key_size=4, value_size=8, max_entries=3, map_flags=0}}}}}}, 16)"
        )
    );
    assert_eq!(
        call(64, true),
        format!(
            "{begin}64, info={{type=BPF_MAP_TYPE_ARRAY, id=70, key_size=4, value_size=8, max_entries=3, map_flags=0, \
             name=\"mymap\", ifindex=0, btf_vmlinux_value_type_id=0, netns_dev=makedev(0, 0), netns_ino=0}}}}}}, 16)"
        )
    );
    assert_eq!(call(20, false), format!("{begin}20, info=0x9000}}}}, 16)"));
}

#[test]
fn a_program_is_described_with_what_became_of_its_lengths() {
    let mut before = vec![0; 48];
    before[16..24].copy_from_slice(&ints(&[0, 8]));
    before[32..40].copy_from_slice(&longs(&[0x5000]));
    let mut after = before.clone();
    after[..8].copy_from_slice(&ints(&[1, 9]));
    after[16..24].copy_from_slice(&ints(&[30, 32]));
    after[40..48].copy_from_slice(&longs(&[3_000_000_000]));
    let shown = Call::new("bpf", &[INFORMATION, DATA, 16])
        .data(DATA, &information(48))
        .memory(MORE, &before, &after)
        .memory(0x5000, &[], &[0x95, 0, 0, 0, 0, 0, 0, 0])
        .descriptor(3, "bpf-prog")
        .full()
        .line();
    assert_eq!(
        shown,
        "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=3, info_len=48, info={type=BPF_PROG_TYPE_SOCKET_FILTER, id=9, \
         tag=\"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\", jited_prog_len=0 => 30, jited_prog_insns=NULL, \
         xlated_prog_len=8 => 32, xlated_prog_insns=[{code=BPF_JMP|BPF_K|BPF_EXIT, dst_reg=BPF_REG_0, \
         src_reg=BPF_REG_0, off=0, imm=0}], load_time=3000000000 /* 1970-01-01T00:01:03+0000 */, created_by_uid=0, \
         nr_map_ids=0, map_ids=NULL, name=\"\"}}}, 16)"
    );
}

#[test]
fn what_is_neither_a_map_nor_a_program_is_an_address() {
    let shown = Call::new("bpf", &[INFORMATION, DATA, 16])
        .data(DATA, &information(16))
        .data(MORE, &[0; 16])
        .descriptor(3, "bpf_link")
        .full()
        .line();
    assert_eq!(
        shown,
        "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=3, info_len=16, info=0x9000}}, 16)"
    );
}

#[test]
fn a_link_that_ends_within_a_structure_goes_on_with_zeros() {
    const FUNCTIONS: u32 = 59;
    const NETFILTER: u32 = 45;
    let link = |kind: u32, rest: &[u8]| {
        let asked = joined(&[ints(&[3, 4, kind, 0]), rest.to_vec()]);
        Call::new("bpf", &[LINK, DATA, asked.len() as u64])
            .data(DATA, &asked)
            .data(MORE, &ints(&[7, 8]))
            .line()
    };
    let begin = "bpf(BPF_LINK_CREATE, {link_create={prog_fd=3, target_fd=4, attach_type=";
    assert_eq!(
        link(NETFILTER, &ints(&[2])),
        format!(
            "{begin}BPF_NETFILTER, flags=0, netfilter={{pf=2, hooknum=0, priority=0, flags=0}}}}}}, 20)"
        )
    );
    assert_eq!(
        link(FUNCTIONS, &joined(&[longs(&[MORE, 0]), ints(&[2])])),
        format!(
            "{begin}BPF_TRACE_FENTRY_MULTI, flags=0, tracing_multi={{ids=[7, 8], cookies=NULL, cnt=2}}}}}}, 36)"
        )
    );
}

#[test]
fn a_wait_status_that_no_process_has_is_shown_with_what_is_left_of_it() {
    let status = |status: u32| {
        let line = Call::new("wait4", &[7, DATA, 0, 0])
            .returns(7)
            .memory(DATA, &[], &ints(&[status]))
            .line();
        let (_, behind) = line.split_once(", ").expect("arguments");
        behind
            .strip_suffix(", 0, NULL)")
            .expect("the others")
            .to_owned()
    };
    for (number, shown) in [
        (0x300, "[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]"),
        (0x380, "[{WIFEXITED(s) && WEXITSTATUS(s) == 3}|0x80]"),
        (
            0x4_057f,
            "[{WIFSTOPPED(s) && WSTOPSIG(s) == SIGTRAP}|PTRACE_EVENT_EXEC<<16]",
        ),
        (
            0x8181_8181,
            "[{WIFSIGNALED(s) && WTERMSIG(s) == SIGHUP && WCOREDUMP(s)}|0x8181 /* PTRACE_EVENT_??? */<<16|0x8100]",
        ),
        (0xffff, "[{WIFCONTINUED(s)}]"),
        (0x81_ffff, "[0x81ffff]"),
    ] {
        assert_eq!(status(number), shown);
    }
}

const OPEN_SESSION: u64 = 0x8010_a402;

#[test]
fn what_a_session_is_asked_lies_behind_a_second_pointer() {
    let mut head = vec![0; 56];
    head[32..40].copy_from_slice(&ints(&[2, 9]));
    head[16..20].copy_from_slice(&ints(&[14]));
    head[52..56].copy_from_slice(&ints(&[1]));
    let parameter = longs(&[5, 16, 32, 3]);
    let asked = joined(&[head.clone(), parameter]);
    let mut answered = asked.clone();
    answered[40..52].copy_from_slice(&ints(&[0x17, 0, 3]));
    let session = |length: u64| {
        Call::new("ioctl", &[3, OPEN_SESSION, DATA])
            .data(DATA, &longs(&[MORE, length]))
            .memory(MORE, &asked, &answered)
            .line()
    };
    assert_eq!(
        session(88),
        "ioctl(3, TEE_IOC_OPEN_SESSION, {buf_len=88, buf_ptr={uuid=00000000-0000-0000-0000-000000000000, \
         clnt_login=TEE_IOCTL_LOGIN_GROUP, clnt_uuid=14, cancel_id=9, num_params=1, \
         params=[{attr=TEE_IOCTL_PARAM_ATTR_TYPE_MEMREF_INPUT, shm_offs=0x10, size=0x20, shm_id=3}]} => \
         {session=0x17, ret=0, ret_origin=TEEC_ORIGIN_TEE, \
         params=[{attr=TEE_IOCTL_PARAM_ATTR_TYPE_MEMREF_INPUT, shm_offs=0x10, size=0x20, shm_id=3}]}})"
    );
    assert_eq!(
        session(89),
        "ioctl(3, TEE_IOC_OPEN_SESSION, {buf_len=89, buf_ptr=0x9000})"
    );
}

#[test]
fn a_handle_is_shown_with_how_long_it_became() {
    let room = joined(&[ints(&[128, 0]), vec![0; 8]]);
    let handle = joined(&[ints(&[4, 1]), vec![2, 0, 0, 0]]);
    let named = |value| {
        Call::new("name_to_handle_at", &[3, 0x4000, DATA, MORE, 0])
            .returns(value)
            .data(0x4000, b"/\0")
            .memory(DATA, &room, &handle)
            .memory(MORE, &[], &ints(&[27]))
            .line()
    };
    assert_eq!(
        named(0),
        "name_to_handle_at(3, \"/\", {handle_bytes=128 => 4, handle_type=1, f_handle=\"\\x02\\x00\\x00\\x00\"}, [27], 0)"
    );
    const TOO_LONG: i64 = -75;
    assert_eq!(
        named(TOO_LONG),
        "name_to_handle_at(3, \"/\", {handle_bytes=128 => 4}, 0x9000, 0)"
    );
    let opened = Call::new("open_by_handle_at", &[3, DATA, 0]).data(DATA, &ints(&[9, 7]));
    assert_eq!(
        opened.line(),
        "open_by_handle_at(3, {handle_bytes=9, handle_type=7, f_handle=???}, O_RDONLY)"
    );
}

#[test]
fn a_value_that_is_cut_at_a_zero_byte_looks_whole() {
    let value = |bytes: &[u8]| {
        let length = bytes.len() as u64;
        let line = Call::new("setxattr", &[0x4000, 0x5000, DATA, length, 0])
            .data(0x4000, b"/\0")
            .data(0x5000, b"a\0")
            .data(DATA, bytes)
            .line();
        let (_, behind) = line.split_once("\"a\", ").expect("a name");
        behind.to_owned()
    };
    let letters = "x".repeat(31);
    assert_eq!(
        value(format!("{letters}\0\0").as_bytes()),
        format!("\"{letters}\", 33, 0)")
    );
    assert_eq!(
        value(format!("{letters}yz").as_bytes()),
        format!("\"{letters}y\"..., 33, 0)")
    );
}

#[test]
fn contexts_are_shown_one_after_the_other_as_far_as_each_says() {
    let context = |id: u64, bytes: &[u8]| {
        let head = longs(&[id, 0, 40, bytes.len() as u64]);
        let mut whole = joined(&[head, bytes.to_vec()]);
        whole.resize(40, 0);
        whole
    };
    let contexts = joined(&[context(101, b"ab"), context(102, b"")]);
    let asked = |flags: u64, value: i64| {
        Call::new("lsm_get_self_attr", &[100, DATA, MORE, flags])
            .returns(value)
            .memory(DATA, &longs(&[103, 0, 0, 0]), &contexts)
            .memory(MORE, &ints(&[200]), &ints(&[80]))
            .line()
    };
    let shown = "[{id=LSM_ID_SELINUX, flags=0, len=40, ctx_len=2, ctx=\"\\x61\\x62\"}, \
                 {id=LSM_ID_SMACK, flags=0, len=40, ctx_len=0}]";
    assert_eq!(
        asked(0, 2),
        format!("lsm_get_self_attr(LSM_ATTR_CURRENT, {shown}, [200 => 80], 0)")
    );
    assert_eq!(
        asked(1, 2),
        format!(
            "lsm_get_self_attr(LSM_ATTR_CURRENT, {{id=LSM_ID_TOMOYO}} => {shown}, [200 => 80], LSM_FLAG_SINGLE)"
        )
    );
    const TOO_BIG: i64 = -7;
    assert_eq!(
        asked(0, TOO_BIG),
        "lsm_get_self_attr(LSM_ATTR_CURRENT, 0x1000, [200 => 80], 0)"
    );
}

#[test]
fn buffers_of_video_devices_may_have_times_of_32_bits() {
    const TAKE: u64 = 0xc050_5611;
    let mut buffer = vec![0; 80];
    buffer[..8].copy_from_slice(&ints(&[3, 1]));
    buffer[20..28].copy_from_slice(&ints(&[6, 7]));
    buffer[48..52].copy_from_slice(&ints(&[1]));
    buffer[56..60].copy_from_slice(&ints(&[0xf]));
    let taken = |value| {
        Call::new("ioctl", &[3, TAKE, DATA])
            .returns(value)
            .data(DATA, &buffer)
            .line()
    };
    assert_eq!(
        taken(0),
        "ioctl(3, VIDIOC_DQBUF_TIME32, {type=V4L2_BUF_TYPE_VIDEO_CAPTURE, index=3, memory=V4L2_MEMORY_MMAP, m.offset=0xf, \
         length=0, bytesused=0, flags=V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN|V4L2_BUF_FLAG_TSTAMP_SRC_EOF, \
         timestamp={tv_sec=6, tv_usec=7}, ...})"
    );
    const BAD: i64 = -9;
    assert_eq!(
        taken(BAD),
        "ioctl(3, VIDIOC_DQBUF_TIME32, {type=V4L2_BUF_TYPE_VIDEO_CAPTURE})"
    );
}

#[test]
fn what_an_unknown_request_carries_is_shown_of_one_that_failed() {
    const BAD: i64 = -9;
    let carried = |request: u64| {
        Call::new("ioctl", &[3, request, DATA])
            .returns(BAD)
            .data(DATA, &[1, 2, 3, 4])
            .full()
            .line()
    };
    assert_eq!(
        carried(0x8004_4804),
        "ioctl(3, HIDIOCGRAWNAME(4), \"\\x01\\x02\\x03\\x04\")"
    );
    assert_eq!(
        carried(0x0004_5c01),
        "ioctl(3, _IOC(_IOC_NONE, 0x5c, 0x1, 0x4), \"\\x01\\x02\\x03\\x04\" => \"\\x01\\x02\\x03\\x04\")"
    );
    let both = Call::new("ioctl", &[3, 0x8104_4804, DATA]).returns(BAD);
    assert_eq!(
        both.line(),
        "ioctl(3, HIDIOCGRAWNAME(260) or HIDIOCGSTRING, 0x1000)"
    );
}

#[test]
fn flags_of_shared_memory_without_a_name_are_set_apart() {
    let line = Call::new("shmget", &[1, 2, 0x2ce_0055]).line();
    assert_eq!(line, "shmget(0x1, 2, 0x2ce0000|0125)");
}
