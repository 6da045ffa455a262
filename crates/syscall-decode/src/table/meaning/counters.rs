//! `perf_event_open`: the names of what is counted.

use backsight_syscall_tables::sets::COUNTERS_OPENING as OPENING;
pub(crate) use backsight_syscall_tables::sets::{
    COUNTERS_BRANCHES as BRANCHES, COUNTERS_BREAKPOINT as BREAKPOINT,
    COUNTERS_BREAKPOINT_UNKNOWN as BREAKPOINT_UNKNOWN, COUNTERS_CACHE as CACHE,
    COUNTERS_CACHE_OPERATION as CACHE_OPERATION, COUNTERS_CACHE_RESULT as CACHE_RESULT,
    COUNTERS_HARDWARE as HARDWARE, COUNTERS_KIND as KIND, COUNTERS_READ as READ,
    COUNTERS_SAMPLED as SAMPLED, COUNTERS_SIZE_OF as SIZE_OF, COUNTERS_SOFTWARE as SOFTWARE,
};

use super::*;

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
