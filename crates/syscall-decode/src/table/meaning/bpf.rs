//! `bpf`: what it is asked with, by its command.

use backsight_syscall_tables::sets::{
    BPF_ACCESS as ACCESS, BPF_ATTACHED as ATTACHED, BPF_ATTACHING as ATTACHING,
    BPF_COMMANDS as COMMANDS, BPF_DESCRIPTOR_TYPES as DESCRIPTOR_TYPES, BPF_FILE as FILE,
    BPF_LOOKUP as LOOKUP, BPF_MAP_FLAGS as MAP_FLAGS, BPF_MAP_TYPES as MAP_TYPES,
    BPF_NETFILTER as NETFILTER, BPF_PROBES as PROBES, BPF_PROGRAM_FLAGS as PROGRAM_FLAGS,
    BPF_PROGRAM_TYPES as PROGRAM_TYPES, BPF_QUERY as QUERY, BPF_STATISTICS as STATISTICS,
    BPF_TESTING as TESTING, BPF_UPDATE as UPDATE, BPF_USER_PROBES as USER_PROBES,
};

use super::*;
use crate::format;
use crate::table::kind::{
    BitField, BitFieldStyle, CustomFormat, ExtensibleStructure, FieldCondition, InsteadOf,
    NetworkKind as W, StructureLayout as Layout, UnnamedStyle,
};
use crate::table::structure::{changed, field, out, reached, set, structure};

const U64: ValueKind = Unsigned(Eight);
const HEX64: ValueKind = Hex(Eight);
const INTERFACE: ValueKind = Wire(W::Interface);
/// `BPF_F_NUMA_NODE`: the node is meant.
const NODE_GIVEN: u64 = 4;
/// `BPF_F_ID`: what it is attached beside is named by its number.
const NUMBERED: u64 = 0x20;
/// `BPF_F_REPLACE`: a program is to be replaced.
const REPLACES: u64 = 4;

static NODE: CustomFormat = CustomFormat {
    write: |out, value| {
        if value == 0xffff_ffff {
            out.extend_from_slice(b"NUMA_NO_NODE");
        }
    },
    number: UnnamedStyle::Remarked,
};
static VERSION: CustomFormat = CustomFormat {
    write: |out, value| {
        out.extend_from_slice(b"KERNEL_VERSION(");
        format::unsigned(out, value >> 16);
        for part in [value >> 8 & 0xff, value & 0xff] {
            out.extend_from_slice(b", ");
            format::unsigned(out, part);
        }
        out.push(b')');
    },
    number: UnnamedStyle::Hex,
};

structure!(MAP_CREATE 92 {
    field map_type 0 One(Four, &MAP_TYPES), field key_size 4 UINT, field value_size 8 UINT, field max_entries 12 UINT,
    field map_flags 16 Flags(Four, &MAP_FLAGS), field inner_map_fd 20 Fd,
    field numa_node 24 Only(FieldCondition::Has(16, Four, NODE_GIVEN), &Worded(Four, &NODE)), field map_name 28 Characters(16),
    field map_ifindex 44 INTERFACE, field btf_fd 48 Fd, field btf_key_type_id 52 UINT, field btf_value_type_id 56 UINT,
    field btf_vmlinux_value_type_id 60 UINT, field map_extra 64 U64, field value_type_btf_obj_fd 72 Fd,
    field map_token_fd 76 Fd, field excl_prog_hash 80 Address, field excl_prog_hash_size 88 UINT,
});
structure!(LOOKUP_ELEMENT 32 {
    field map_fd 0 Fd, field key 8 Address, field value 16 Address, field flags 24 Flags(Eight, &LOOKUP),
});
structure!(UPDATE_ELEMENT 32 {
    field map_fd 0 Fd, field key 8 Address, field value 16 Address, field flags 24 Flags(Eight, &UPDATE),
});
structure!(DELETE_ELEMENT 16 { field map_fd 0 Fd, field key 8 Address });
structure!(NEXT_KEY 24 { field map_fd 0 Fd, field key 8 Address, field next_key 16 Address });
structure!(FREEZE 4 { field map_fd 0 Fd });
structure!(PROGRAM_LOAD 168 {
    field prog_type 0 One(Four, &PROGRAM_TYPES), field insn_cnt 4 UINT,
    field insns 8 Verbose(&Many(In, &INSTRUCTION, LengthSource::Field(4, Four, 1))), field license 16 TEXT, field log_level 24 UINT,
    field log_size 28 UINT, field log_buf 32 Limited(In, LengthSource::Field(28, Four, 1)),
    field kern_version 40 Worded(Four, &VERSION), field prog_flags 44 Flags(Four, &PROGRAM_FLAGS),
    field prog_name 48 Characters(16), field prog_ifindex 64 INTERFACE, field expected_attach_type 68 One(Four, &ATTACHED),
    field prog_btf_fd 72 Fd, field func_info_rec_size 76 UINT, field func_info 80 Address, field func_info_cnt 88 UINT,
    field line_info_rec_size 92 UINT, field line_info 96 Address, field line_info_cnt 104 UINT, field attach_btf_id 108 UINT,
    field attach_prog_fd 112 Fd, field core_relo_cnt 116 UINT, field fd_array 120 Address, field core_relos 128 Address,
    field core_relo_rec_size 136 UINT, out log_true_size 140 UINT, field prog_token_fd 144 Fd, field fd_array_cnt 148 UINT,
    field signature 152 Binary(In, LengthSource::Field(160, Four, 1)), field signature_size 160 UINT, field keyring_id 164 Signed(Four),
});
structure!(PIN 20 {
    field pathname 0 PATH, field bpf_fd 8 Fd, field file_flags 12 Flags(Four, &FILE), field path_fd 16 DirFd,
});
/// What is attached to a network interface: `BPF_XDP`, `BPF_TCX_*`, `BPF_NETKIT_*`.
const TO_INTERFACES: &[u64] = &[37, 46, 47, 54, 55];
structure!(ATTACH 32 {
    field target_ifindex 0 Only(FieldCondition::Is(8, Four, TO_INTERFACES), &INTERFACE),
    field target_fd 0 Only(FieldCondition::Not(8, Four, TO_INTERFACES), &Fd), field attach_bpf_fd 4 Fd,
    field attach_type 8 One(Four, &ATTACHED), field attach_flags 12 Flags(Four, &ATTACHING), field replace_bpf_fd 16 Fd,
    field relative_id 20 Only(FieldCondition::Has(12, Four, NUMBERED), &UINT),
    field relative_fd 20 Only(FieldCondition::Lacks(12, Four, NUMBERED), &Fd), field expected_revision 24 U64,
});
structure!(TEST_RUN 76 {
    field prog_fd 0 Fd, field retval 4 UINT, field data_size_in 8 UINT, field data_size_out 12 UINT, field data_in 16 Address,
    field data_out 24 Address, field repeat 32 UINT, field duration 36 UINT, field ctx_size_in 40 UINT,
    field ctx_size_out 44 UINT, field ctx_in 48 Address, field ctx_out 56 Address, field flags 64 Flags(Four, &TESTING),
    field cpu 68 UINT, field batch_size 72 UINT,
});
structure!(NEXT_IDENTITY 8 { field start_id 0 UINT, out next_id 4 UINT });
structure!(PROGRAM_BY_IDENTITY 4 { field prog_id 0 UINT });
structure!(MAP_BY_IDENTITY 12 { field map_id 0 UINT, field open_flags 8 Flags(Four, &ACCESS) });
structure!(INFORMATION 16 { field bpf_fd 0 Fd, changed info_len 4 UINT, out info 8 Special(S::BpfObject) });
const QUERIED_FLAGS: ValueKind = Many(
    Out,
    &Flags(Four, &ATTACHING),
    LengthSource::Field(24, Four, 1),
);
structure!(PROGRAM_QUERY 64 {
    field target_ifindex 0 Only(FieldCondition::Is(4, Four, TO_INTERFACES), &INTERFACE),
    field target_fd 0 Only(FieldCondition::Not(4, Four, TO_INTERFACES), &Fd), field attach_type 4 One(Four, &ATTACHED),
    field query_flags 8 Flags(Four, &QUERY), field attach_flags 12 Flags(Four, &ATTACHING),
    out prog_ids 16 Many(Out, &UINT, LengthSource::Field(24, Four, 1)), changed prog_cnt 24 UINT,
    out prog_attach_flags 32 QUERIED_FLAGS, out link_ids 40 Many(Out, &UINT, LengthSource::Field(24, Four, 1)),
    out link_attach_flags 48 QUERIED_FLAGS, out revision 56 HEX64,
});
structure!(TRACEPOINT 24 { field name 0 Name(In, 128), field prog_fd 8 Fd, field cookie 16 HEX64 });
structure!(TYPES_LOAD 40 {
    field btf 0 Bytes(In, LengthSource::Field(16, Four, 1)), field btf_log_buf 8 Address, field btf_size 16 UINT,
    field btf_log_size 20 UINT, field btf_log_level 24 UINT, out btf_log_true_size 28 UINT,
    out btf_flags 32 Flags(Four, &FILE), out btf_token_fd 36 Fd,
});
structure!(TYPES_BY_IDENTITY 16 {
    field btf_id 0 UINT, field open_flags 8 Flags(Four, &ACCESS), field fd_by_id_token_fd 12 Fd,
});
structure!(LINK_BY_IDENTITY 4 { field link_id 0 UINT });
structure!(DESCRIPTOR_QUERY 48 {
    field pid 0 PID, field fd 4 Fd, field flags 8 UINT, changed buf_len 12 UINT,
    out buf 16 Despite(&Limited(Out, LengthSource::Field(12, Four, 1))), out prog_id 24 UINT, out fd_type 28 One(Four, &DESCRIPTOR_TYPES),
    out probe_offset 32 HEX64, out probe_addr 40 HEX64,
});
structure!(LOOKUP_BATCH 56 {
    field in_batch 0 Address, field out_batch 8 Address, field keys 16 Address, field values 24 Address, field count 32 UINT,
    field map_fd 36 Fd, field elem_flags 40 Flags(Eight, &LOOKUP), field flags 48 HEX64,
});
structure!(UPDATE_BATCH 56 {
    field keys 16 Address, field values 24 Address, field count 32 UINT, field map_fd 36 Fd,
    field elem_flags 40 Flags(Eight, &UPDATE), field flags 48 HEX64,
});
structure!(DELETE_BATCH 56 {
    field keys 16 Address, field count 32 UINT, field map_fd 36 Fd, field elem_flags 40 Flags(Eight, &LOOKUP),
    field flags 48 HEX64,
});
structure!(MAP_OF 4 { field map_fd 0 Fd });
structure!(ITERATED 4 { field map 0 Structure(&MAP_OF) });
structure!(COOKIE 8 { field bpf_cookie 0 HEX64 });
structure!(PROBED 32 {
    field flags 0 Flags(Four, &PROBES), field cnt 4 UINT, field syms 8 Many(In, &TEXT, LengthSource::Field(4, Four, 1)),
    field addrs 16 Many(In, &HEX64, LengthSource::Field(4, Four, 1)), field cookies 24 Many(In, &HEX64, LengthSource::Field(4, Four, 1)),
});
structure!(USER_PROBED 48 {
    field path 0 PATH, field offsets 8 Many(In, &HEX64, LengthSource::Field(32, Four, 1)),
    field ref_ctr_offsets 16 Many(In, &HEX64, LengthSource::Field(32, Four, 1)),
    field cookies 24 Many(In, &HEX64, LengthSource::Field(32, Four, 1)), field cnt 32 UINT,
    field flags 36 Flags(Four, &USER_PROBES), field pid 40 PID, reached path_fd 44 Fd,
});
structure!(SEVERAL_TRACED 20 {
    field ids 0 Many(In, &UINT, LengthSource::Field(16, Four, 1)),
    field cookies 8 Many(In, &HEX64, LengthSource::Field(16, Four, 1)), field cnt 16 UINT,
});
structure!(TRACED 16 { field target_btf_id 0 UINT, field cookie 8 HEX64 });
structure!(FILTERED 16 {
    field pf 0 UINT, field hooknum 4 UINT, field priority 8 Signed(Four), field flags 12 Flags(Four, &NETFILTER),
});
structure!(BESIDE 16 { field relative_fd 0 Fd, field expected_revision 8 HEX64 });
structure!(BESIDE_NUMBERED 16 { field relative_id 0 UINT, field expected_revision 8 HEX64 });
/// What every link begins with, and what follows it by what it is attached to.
macro_rules! link {
    ($name:ident $size:literal { $($how:ident $field:ident $at:literal $kind:expr),* $(,)? }) => {
        structure!($name $size {
            field prog_fd 0 Fd, field target_ifindex 4 Only(FieldCondition::Is(8, Four, TO_INTERFACES), &INTERFACE),
            field target_fd 4 Only(FieldCondition::Not(8, Four, TO_INTERFACES), &Fd),
            field attach_type 8 One(Four, &ATTACHED), field flags 12 Flags(Four, &ATTACHING),
            $($how $field $at $kind),*
        });
    };
}
const BY_NUMBER: FieldCondition = FieldCondition::Has(12, Four, NUMBERED);
const BY_DESCRIPTOR: FieldCondition = FieldCondition::Lacks(12, Four, NUMBERED);
/// A link beside others of its kind, in a member of the union that has this name.
macro_rules! link_beside {
    ($name:ident $member:ident) => {
        link!($name 32 {
            field $member 16 Only(BY_NUMBER, &Structure(&BESIDE_NUMBERED)),
            field $member 16 Only(BY_DESCRIPTOR, &Structure(&BESIDE)),
        });
    };
}
link!(LINK 16 {});
link_beside!(LINK_BESIDE cgroup);
link_beside!(LINK_TO_TRAFFIC tcx);
link_beside!(LINK_TO_NETKIT netkit);
link!(LINK_TO_TYPE 20 { set target_btf_id 16 UINT });
link!(LINK_TO_ITERATOR 28 {
    field iter_info 16 Many(In, &Structure(&ITERATED), LengthSource::Field(24, Four, 1)), field iter_info_len 24 UINT
});
link!(LINK_TO_EVENT 24 { field perf_event 16 Structure(&COOKIE) });
link!(LINK_TO_TRACING 32 { field tracing 16 Structure(&TRACED) });
link!(LINK_TO_SEVERAL 36 { field tracing_multi 16 Structure(&SEVERAL_TRACED) });
link!(LINK_TO_NETFILTER 32 { field netfilter 16 Structure(&FILTERED) });
link!(LINK_TO_PROBES 48 { field kprobe_multi 16 Structure(&PROBED) });
link!(LINK_TO_USER_PROBES 64 { field uprobe_multi 16 Structure(&USER_PROBED) });
structure!(STATISTICS_ENABLED 4 { field r#type 0 One(Four, &STATISTICS) });
structure!(ITERATOR 8 { field link_fd 0 Fd, field flags 4 Hex(Four) });
structure!(LINK_DETACHED 4 { field link_fd 0 Fd });
structure!(MAP_BOUND 12 { field prog_fd 0 Fd, field map_fd 4 Fd, field flags 8 Hex(Four) });
structure!(TOKEN 8 { field flags 0 Hex(Four), field bpffs_fd 4 Fd });
structure!(OPERATIONS_BOUND 12 { field map_fd 0 Fd, field prog_fd 4 Fd, field flags 8 Hex(Four) });
structure!(STREAM 20 {
    out stream_buf 0 Despite(&Bytes(Out, LengthSource::Field(8, Four, 1))), out stream_buf_len 8 UINT, out stream_id 12 UINT,
    out prog_fd 16 Fd,
});
structure!(MAP_DESCRIBED 100 {
    out r#type 0 One(Four, &MAP_TYPES), out id 4 UINT, out key_size 8 UINT, out value_size 12 UINT, out max_entries 16 UINT,
    out map_flags 20 Flags(Four, &MAP_FLAGS), out name 24 Characters(16), out ifindex 40 INTERFACE,
    out btf_vmlinux_value_type_id 44 UINT, out netns_dev 48 Device, out netns_ino 56 U64, out btf_id 64 UINT,
    out btf_key_type_id 68 UINT, out btf_value_type_id 72 UINT, out btf_vmlinux_id 76 UINT, out map_extra 80 HEX64,
    out hash 88 HEX64, out hash_size 96 UINT,
});
structure!(PROGRAM_DESCRIBED 228 {
    out r#type 0 One(Four, &PROGRAM_TYPES), out id 4 UINT, out tag 8 Wire(W::Bytes(8)), changed jited_prog_len 16 UINT,
    out jited_prog_insns 24 Despite(&Binary(Out, LengthSource::Field(16, Four, 1))), changed xlated_prog_len 20 UINT,
    out xlated_prog_insns 32 Many(Out, &INSTRUCTION, LengthSource::Both(20, 8)), out load_time 40 Special(S::SinceStart),
    out created_by_uid 48 Id, changed nr_map_ids 52 UINT, out map_ids 56 Many(Out, &UINT, LengthSource::Both(52, 1)),
    out name 64 Characters(16), out ifindex 80 INTERFACE, out gpl_compatible 84 Parts(Four, LICENSED), out netns_dev 88 Device,
    out netns_ino 96 U64, changed nr_jited_ksyms 104 UINT, changed nr_jited_func_lens 108 UINT, out jited_ksyms 112 Address,
    out jited_func_lens 120 Address, out btf_id 128 UINT, changed func_info_rec_size 132 UINT, out func_info 136 Address,
    changed nr_func_info 144 UINT, changed nr_line_info 148 UINT, out line_info 152 Address, out jited_line_info 160 Address,
    changed nr_jited_line_info 168 UINT, changed line_info_rec_size 172 UINT, changed jited_line_info_rec_size 176 UINT,
    changed nr_prog_tags 180 UINT, out prog_tags 184 Address, out run_time_ns 192 U64, out run_cnt 200 U64,
    out recursion_misses 208 U64, out verified_insns 216 UINT, out attach_btf_obj_id 220 UINT, out attach_btf_id 224 UINT,
});
const LICENSED: &[BitField] = &[BitField {
    mask: 1,
    shown: BitFieldStyle::Number,
}];
/// What is said of a map.
pub(crate) static MAP_OBJECT: ExtensibleStructure = ExtensibleStructure {
    late: Some((76, 80)),
    pads_texts: true,
    ..plain(&MAP_DESCRIBED, &[24, 40, 64, 80, 88])
};
/// What is said of a program.
pub(crate) static PROGRAM_OBJECT: ExtensibleStructure = ExtensibleStructure {
    pads_texts: true,
    ..plain(&PROGRAM_DESCRIBED, &[40, 80, 104, 128, 192, 208, 216, 220])
};
structure!(LINK_UPDATE 16 {
    field link_fd 0 Fd, field new_prog_fd 4 Fd, field flags 8 Flags(Four, &ATTACHING),
    field old_prog_fd 12 Only(FieldCondition::Has(8, Four, REPLACES), &Fd),
});

const INSTRUCTION: ValueKind = Special(S::Instruction);
static COUNT: crate::table::StructureField = field("count", 32, UINT);

const fn plain(structure: &'static Layout, since: &'static [usize]) -> ExtensibleStructure {
    ExtensibleStructure {
        member: "",
        structure,
        since,
        instead: None,
        anew: None,
        late: None,
        brief: false,
        pads_texts: false,
    }
}

const fn member(name: &'static str, structure: &'static Layout) -> ExtensibleStructure {
    ExtensibleStructure {
        member: name,
        ..plain(structure, &[])
    }
}

const fn batch(structure: &'static Layout) -> ExtensibleStructure {
    ExtensibleStructure {
        anew: Some(&COUNT),
        ..member("batch", structure)
    }
}

const fn link(structure: &'static Layout) -> ExtensibleStructure {
    member("link_create", structure)
}

/// `BPF_F_BEFORE` and `BPF_F_AFTER`: it is attached beside something.
const BESIDE_WHAT: u64 = 0x18;
static TO_CGROUP: ExtensibleStructure = ExtensibleStructure {
    instead: Some(InsteadOf {
        at: 12,
        bits: BESIDE_WHAT,
        beyond: LINK.size,
        cases: &[(&[8, 0x10, 0x18], &TO_CGROUP_BESIDE)],
    }),
    ..link(&LINK_TO_TYPE)
};
static TO_CGROUP_BESIDE: ExtensibleStructure = link(&LINK_BESIDE);
static TO_ITERATOR: ExtensibleStructure = link(&LINK_TO_ITERATOR);
static TO_EVENT: ExtensibleStructure = link(&LINK_TO_EVENT);
static TO_TRACING: ExtensibleStructure = link(&LINK_TO_TRACING);
static TO_SEVERAL: ExtensibleStructure = link(&LINK_TO_SEVERAL);
static TO_NETFILTER: ExtensibleStructure = link(&LINK_TO_NETFILTER);
static TO_TRAFFIC: ExtensibleStructure = link(&LINK_TO_TRAFFIC);
static TO_NETKIT: ExtensibleStructure = link(&LINK_TO_NETKIT);
static TO_PROBES: ExtensibleStructure = link(&LINK_TO_PROBES);
static TO_USER_PROBES: ExtensibleStructure = link(&LINK_TO_USER_PROBES);
/// What it is attached to: of a control group, by an iterator, to an event, and so on.
const LINKED: InsteadOf = InsteadOf {
    at: 8,
    bits: 0xffff_ffff,
    beyond: LINK.size,
    cases: &[
        (
            &[
                0, 1, 2, 3, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 29, 30, 31, 32,
                34, 49, 50, 51, 52, 53,
            ],
            &TO_CGROUP,
        ),
        (&[24, 25, 26, 27, 58], &TO_TRACING),
        (&[28], &TO_ITERATOR),
        (&[41], &TO_EVENT),
        (&[42], &TO_PROBES),
        (&[45], &TO_NETFILTER),
        (&[46, 47], &TO_TRAFFIC),
        (&[48], &TO_USER_PROBES),
        (&[54, 55], &TO_NETKIT),
        (&[59, 60, 61], &TO_SEVERAL),
    ],
};

/// By command, what it is asked with.
macro_rules! asked {
    ($($command:literal $name:ident = $growing:expr),* $(,)?) => {
        $(static $name: ExtensibleStructure = $growing;)*
        static ASKED: &[(u64, ValueKind)] = &[$(($command, Growing(&$name, 2))),*];
    };
}

asked! {
    0 CREATED = plain(&MAP_CREATE, &[16, 20, 24, 28, 44, 48, 60, 64, 72, 76, 80]),
    1 LOOKED_UP = plain(&LOOKUP_ELEMENT, &[24]),
    2 UPDATED = plain(&UPDATE_ELEMENT, &[]),
    3 DELETED = plain(&DELETE_ELEMENT, &[]),
    4 NEXT = plain(&NEXT_KEY, &[]),
    5 LOADED = ExtensibleStructure { late: Some((116, 128)), ..plain(&PROGRAM_LOAD, &[24, 40, 44, 48, 64, 68, 72, 108, 112, 120, 128, 140, 144, 148, 152]) },
    6 PINNED = plain(&PIN, &[12, 16]),
    7 GOT = plain(&PIN, &[12, 16]),
    8 ATTACHES = plain(&ATTACH, &[16, 20]),
    9 DETACHES = plain(&ATTACH, &[16, 20]),
    10 TESTED = ExtensibleStructure { since: &[40, 64, 72], ..member("test", &TEST_RUN) },
    11 NEXT_PROGRAM = plain(&NEXT_IDENTITY, &[]),
    12 NEXT_MAP = plain(&NEXT_IDENTITY, &[]),
    13 PROGRAM = plain(&PROGRAM_BY_IDENTITY, &[]),
    14 MAP = plain(&MAP_BY_IDENTITY, &[8]),
    15 INFORMED = member("info", &INFORMATION),
    16 QUERIED = ExtensibleStructure { since: &[32, 40], ..member("query", &PROGRAM_QUERY) },
    17 OPENED = ExtensibleStructure { late: Some((16, 23)), ..member("raw_tracepoint", &TRACEPOINT) },
    18 TYPES = plain(&TYPES_LOAD, &[28, 32]),
    19 TYPES_OF = plain(&TYPES_BY_IDENTITY, &[8]),
    20 DESCRIBED = member("task_fd_query", &DESCRIPTOR_QUERY),
    21 TAKEN = plain(&LOOKUP_ELEMENT, &[24]),
    22 FROZEN = plain(&FREEZE, &[]),
    23 NEXT_TYPES = plain(&NEXT_IDENTITY, &[]),
    24 LOOKED_UP_TOGETHER = batch(&LOOKUP_BATCH),
    25 TAKEN_TOGETHER = batch(&LOOKUP_BATCH),
    26 UPDATED_TOGETHER = batch(&UPDATE_BATCH),
    27 DELETED_TOGETHER = batch(&DELETE_BATCH),
    28 LINKS = ExtensibleStructure { instead: Some(LINKED), ..link(&LINK) },
    29 LINKS_ANEW = member("link_update", &LINK_UPDATE),
    30 LINKED_BY = plain(&LINK_BY_IDENTITY, &[]),
    31 NEXT_LINK = plain(&NEXT_IDENTITY, &[]),
    32 COUNTED = member("enable_stats", &STATISTICS_ENABLED),
    33 ITERATES = member("iter_create", &ITERATOR),
    34 DETACHED = member("link_detach", &LINK_DETACHED),
    35 BOUND = member("prog_bind_map", &MAP_BOUND),
    36 TOKENS = member("token_create", &TOKEN),
    37 STREAMED = member("prog_stream_read", &STREAM),
    38 OPERATIONS = member("prog_assoc_struct_ops", &OPERATIONS_BOUND),
}

/// The commands that make a descriptor.
static MAKE: &[u64] = &[0, 5, 6, 7, 13, 14, 18, 19, 28, 30, 32, 33, 36];

pub(super) static MEANINGS: &[Meaning] = &[other(
    "bpf",
    &[One(Four, &COMMANDS), By(0, ASKED, &Address), UINT],
    ResultKind::FdFor(MAKE),
)];
