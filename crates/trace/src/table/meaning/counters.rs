//! `perf_event_open`: the names of what is counted.

use super::*;
use crate::table::kind::names;

names!(pub(crate) KIND "PERF_TYPE_???" "" {
    "PERF_TYPE_HARDWARE" = 0, "PERF_TYPE_SOFTWARE" = 1, "PERF_TYPE_TRACEPOINT" = 2, "PERF_TYPE_HW_CACHE" = 3,
    "PERF_TYPE_RAW" = 4, "PERF_TYPE_BREAKPOINT" = 5,
});
names!(pub(crate) SIZE_OF "PERF_ATTR_SIZE_???" "" {
    "PERF_ATTR_SIZE_VER0" = 0x40, "PERF_ATTR_SIZE_VER1" = 72, "PERF_ATTR_SIZE_VER2" = 80, "PERF_ATTR_SIZE_VER3" = 96,
    "PERF_ATTR_SIZE_VER4" = 104, "PERF_ATTR_SIZE_VER5" = 112, "PERF_ATTR_SIZE_VER6" = 120,
    "PERF_ATTR_SIZE_VER7" = 0x80,
});
names!(pub(crate) HARDWARE "PERF_COUNT_HW_???" "" {
    "PERF_COUNT_HW_CPU_CYCLES" = 0, "PERF_COUNT_HW_INSTRUCTIONS" = 1, "PERF_COUNT_HW_CACHE_REFERENCES" = 2,
    "PERF_COUNT_HW_CACHE_MISSES" = 3, "PERF_COUNT_HW_BRANCH_INSTRUCTIONS" = 4, "PERF_COUNT_HW_BRANCH_MISSES" = 5,
    "PERF_COUNT_HW_BUS_CYCLES" = 6, "PERF_COUNT_HW_STALLED_CYCLES_FRONTEND" = 7,
    "PERF_COUNT_HW_STALLED_CYCLES_BACKEND" = 8, "PERF_COUNT_HW_REF_CPU_CYCLES" = 9,
});
names!(pub(crate) SOFTWARE "PERF_COUNT_SW_???" "" {
    "PERF_COUNT_SW_CPU_CLOCK" = 0, "PERF_COUNT_SW_TASK_CLOCK" = 1, "PERF_COUNT_SW_PAGE_FAULTS" = 2,
    "PERF_COUNT_SW_CONTEXT_SWITCHES" = 3, "PERF_COUNT_SW_CPU_MIGRATIONS" = 4, "PERF_COUNT_SW_PAGE_FAULTS_MIN" = 5,
    "PERF_COUNT_SW_PAGE_FAULTS_MAJ" = 6, "PERF_COUNT_SW_ALIGNMENT_FAULTS" = 7, "PERF_COUNT_SW_EMULATION_FAULTS" = 8,
    "PERF_COUNT_SW_DUMMY" = 9, "PERF_COUNT_SW_BPF_OUTPUT" = 10, "PERF_COUNT_SW_CGROUP_SWITCHES" = 11,
});
names!(pub(crate) CACHE_RESULT "PERF_COUNT_HW_CACHE_RESULT_???" "" {
    "PERF_COUNT_HW_CACHE_RESULT_ACCESS" = 0, "PERF_COUNT_HW_CACHE_RESULT_MISS" = 1,
});
names!(pub(crate) CACHE_OPERATION "PERF_COUNT_HW_CACHE_OP_???" "" {
    "PERF_COUNT_HW_CACHE_OP_READ" = 0, "PERF_COUNT_HW_CACHE_OP_WRITE" = 1, "PERF_COUNT_HW_CACHE_OP_PREFETCH" = 2,
});
names!(pub(crate) CACHE "PERF_COUNT_HW_CACHE_???" "" {
    "PERF_COUNT_HW_CACHE_L1D" = 0, "PERF_COUNT_HW_CACHE_L1I" = 1, "PERF_COUNT_HW_CACHE_LL" = 2,
    "PERF_COUNT_HW_CACHE_DTLB" = 3, "PERF_COUNT_HW_CACHE_ITLB" = 4, "PERF_COUNT_HW_CACHE_BPU" = 5,
    "PERF_COUNT_HW_CACHE_NODE" = 6,
});
names!(pub(crate) SAMPLED "PERF_SAMPLE_???" "0" {
    "PERF_SAMPLE_IP" = 1, "PERF_SAMPLE_TID" = 2, "PERF_SAMPLE_TIME" = 4, "PERF_SAMPLE_ADDR" = 8,
    "PERF_SAMPLE_READ" = 0x10, "PERF_SAMPLE_CALLCHAIN" = 0x20, "PERF_SAMPLE_ID" = 0x40, "PERF_SAMPLE_CPU" = 0x80,
    "PERF_SAMPLE_PERIOD" = 0x100, "PERF_SAMPLE_STREAM_ID" = 0x200, "PERF_SAMPLE_RAW" = 0x400,
    "PERF_SAMPLE_BRANCH_STACK" = 0x800, "PERF_SAMPLE_REGS_USER" = 0x1000, "PERF_SAMPLE_STACK_USER" = 0x2000,
    "PERF_SAMPLE_WEIGHT" = 0x4000, "PERF_SAMPLE_DATA_SRC" = 0x8000, "PERF_SAMPLE_IDENTIFIER" = 0x10000,
    "PERF_SAMPLE_TRANSACTION" = 0x20000, "PERF_SAMPLE_REGS_INTR" = 0x40000, "PERF_SAMPLE_PHYS_ADDR" = 0x80000,
    "PERF_SAMPLE_AUX" = 0x100000, "PERF_SAMPLE_CGROUP" = 0x200000, "PERF_SAMPLE_DATA_PAGE_SIZE" = 0x400000,
    "PERF_SAMPLE_CODE_PAGE_SIZE" = 0x800000, "PERF_SAMPLE_WEIGHT_STRUCT" = 0x1000000,
});
names!(pub(crate) READ "PERF_FORMAT_???" "0" {
    "PERF_FORMAT_TOTAL_TIME_ENABLED" = 1, "PERF_FORMAT_TOTAL_TIME_RUNNING" = 2, "PERF_FORMAT_ID" = 4,
    "PERF_FORMAT_GROUP" = 8, "PERF_FORMAT_LOST" = 16,
});
names!(pub(crate) BREAKPOINT "HW_BREAKPOINT_INVALID" "" {
    "HW_BREAKPOINT_EMPTY" = 0, "HW_BREAKPOINT_R" = 1, "HW_BREAKPOINT_W" = 2, "HW_BREAKPOINT_RW" = 3,
    "HW_BREAKPOINT_X" = 4,
});
names!(pub(crate) BREAKPOINT_UNKNOWN "HW_BREAKPOINT_???" "" {});
names!(pub(crate) BRANCHES "PERF_SAMPLE_BRANCH_???" "0" {
    "PERF_SAMPLE_BRANCH_USER" = 1, "PERF_SAMPLE_BRANCH_KERNEL" = 2, "PERF_SAMPLE_BRANCH_HV" = 4,
    "PERF_SAMPLE_BRANCH_ANY" = 8, "PERF_SAMPLE_BRANCH_ANY_CALL" = 0x10, "PERF_SAMPLE_BRANCH_ANY_RETURN" = 0x20,
    "PERF_SAMPLE_BRANCH_IND_CALL" = 0x40, "PERF_SAMPLE_BRANCH_ABORT_TX" = 0x80, "PERF_SAMPLE_BRANCH_IN_TX" = 0x100,
    "PERF_SAMPLE_BRANCH_NO_TX" = 0x200, "PERF_SAMPLE_BRANCH_COND" = 0x400, "PERF_SAMPLE_BRANCH_CALL_STACK" = 0x800,
    "PERF_SAMPLE_BRANCH_IND_JUMP" = 0x1000, "PERF_SAMPLE_BRANCH_CALL" = 0x2000,
    "PERF_SAMPLE_BRANCH_NO_FLAGS" = 0x4000, "PERF_SAMPLE_BRANCH_NO_CYCLES" = 0x8000,
    "PERF_SAMPLE_BRANCH_TYPE_SAVE" = 0x10000, "PERF_SAMPLE_BRANCH_HW_INDEX" = 0x20000,
    "PERF_SAMPLE_BRANCH_PRIV_SAVE" = 0x40000,
});
names!(OPENING "PERF_FLAG_???" "0" {
    "PERF_FLAG_FD_NO_GROUP" = 1, "PERF_FLAG_FD_OUTPUT" = 2, "PERF_FLAG_PID_CGROUP" = 4, "PERF_FLAG_FD_CLOEXEC" = 8,
});

/// Attributes of one bit each, in the order of these bits; nothing where two stand together.
pub(crate) static BITS: [&str; 38] = [
    "disabled",
    "inherit",
    "pinned",
    "exclusive",
    "exclude_user",
    "exclude_kernel",
    "exclude_hv",
    "exclude_idle",
    "mmap",
    "comm",
    "freq",
    "inherit_stat",
    "enable_on_exec",
    "task",
    "watermark",
    "",
    "",
    "mmap_data",
    "sample_id_all",
    "exclude_host",
    "exclude_guest",
    "exclude_callchain_kernel",
    "exclude_callchain_user",
    "mmap2",
    "comm_exec",
    "use_clockid",
    "context_switch",
    "write_backward",
    "namespaces",
    "ksymbol",
    "bpf_event",
    "aux_output",
    "cgroup",
    "text_poke",
    "build_id",
    "inherit_thread",
    "remove_on_exec",
    "sigtrap",
];

pub(super) static MEANINGS: &[Meaning] = &[fd(
    "perf_event_open",
    &[Special(S::Counter), INT, INT, Fd, Flags(Eight, &OPENING)],
)];
