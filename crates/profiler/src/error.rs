//! Why nothing is profiled.

use std::{fs, io};

/// Why a profile can't be begun.
#[derive(Debug, thiserror::Error)]
pub enum ProfilerError {
    /// This user may not.
    #[error(
        "this user may not sample whole processors: /proc/sys/kernel/perf_event_paranoid is {}; {wanted} would do, or the capability CAP_PERFMON",
        paranoid.as_deref().unwrap_or("unreadable")
    )]
    NotPermitted {
        /// The setting's value.
        paranoid: Option<String>,
        /// The value that would do.
        wanted: i32,
    },
    /// A frequency that the kernel doesn't allow.
    #[error(
        "{asked} samples a second are too many: /proc/sys/kernel/perf_event_max_sample_rate is {most}"
    )]
    TooOften {
        /// Samples a second that were asked for.
        asked: u32,
        /// The setting's value.
        most: u32,
    },
    /// The tracepoint isn't to be had.
    #[error(
        "off-CPU time needs the tracepoint sched:sched_switch, which /sys/kernel/tracing describes (`mount -t tracefs none /sys/kernel/tracing`)"
    )]
    NoTracepoint(#[source] io::Error),
    /// The profile has no place.
    #[error("the profile can't be written")]
    Unwritten(#[source] io::Error),
    /// The kernel refuses for another reason.
    #[error("the kernel doesn't sample: {doing}")]
    Refused {
        /// What was asked of it.
        doing: &'static str,
        /// Its reason.
        source: io::Error,
    },
}

impl ProfilerError {
    /// An error of opening an event, for which this value of the setting would do.
    pub(crate) fn opening(error: io::Error, wanted: i32) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
                let paranoid = paranoid.map(|value| value.trim().to_owned());
                Self::NotPermitted { paranoid, wanted }
            }
            _ => refused("perf_event_open")(error),
        }
    }
}

/// Wraps an error of the kernel's.
pub(crate) fn refused(doing: &'static str) -> impl Fn(io::Error) -> ProfilerError {
    move |source| ProfilerError::Refused { doing, source }
}
