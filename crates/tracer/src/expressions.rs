//! Expressions of strace's `-e`: which calls are traced and how they are shown, as in `trace=openat` or `raw=ioctl`.

use backsight_syscall_decode::Abi;
use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::{self, NamedSyscall};
use backsight_syscall_decode::value_list::ValueList;

use crate::descriptors::DescriptorDetails;
use crate::error::ExpressionError;
use crate::options::{Injection, SignalSet, StatusSet, TraceOptions};
use crate::processes::PidDetails;
use crate::result_details::ResultDetails;

/// Every call that can be named.
pub fn known_syscalls() -> Vec<NamedSyscall<'static>> {
    let abis = [Abi::X86_64, Abi::I386, Abi::Aarch64];
    let native = |abi: &Abi| (*abi == Abi::Aarch64) == cfg!(target_arch = "aarch64");
    abis.into_iter()
        .filter(native)
        .flat_map(table::named_syscalls)
        .collect()
}

/// How what is traced is shown, as far as `-e` may say it.
pub struct DisplaySettings {
    /// What is shown beside descriptors.
    pub aspects: DescriptorDetails,
    /// What is shown beside numbers of processes.
    pub processes: PidDetails,
    /// What is shown beside results.
    pub results: ResultDetails,
    /// Calls whose structures are shown in full.
    pub full: SyscallSet,
    /// Calls whose structures aren't shown.
    pub opaque: SyscallSet,
    /// Calls whose arguments are shown as numbers.
    pub raw: SyscallSet,
    /// Descriptors of which everything that is read is shown.
    pub reads: DescriptorSet,
    /// Descriptors of which everything that is written is shown.
    pub writes: DescriptorSet,
    /// What isn't shown beside calls.
    pub quiet: QuietSettings,
}

/// What isn't shown beside calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuietSettings {
    /// That a thread was attached to, and detached from.
    pub attach: bool,
    /// How programs call the kernel; here, which engine traces.
    pub personality: bool,
    /// That one ended.
    pub exit: bool,
    /// That one is gone because of another's `execve`.
    pub superseded: bool,
    /// What a path that is asked for leads to.
    pub paths: bool,
    /// Whether this was asked for by name.
    pub named: bool,
}

impl QuietSettings {
    /// Reads a set as `-e quiet=` names it.
    fn parse(text: &str) -> Result<Self, ExpressionError> {
        let list = ValueList::parse(text)?;
        let mut quiet = Self {
            attach: list.negated,
            personality: list.negated,
            exit: list.negated,
            superseded: list.negated,
            paths: list.negated,
            named: true,
        };
        for value in list.values {
            let note = match value {
                "attach" => &mut quiet.attach,
                "exit" | "exits" => &mut quiet.exit,
                "thread-execve" | "superseded" => &mut quiet.superseded,
                "path-resolution" | "path-resolve" => &mut quiet.paths,
                "personality" => &mut quiet.personality,
                _ => return Err(ExpressionError::Quiet(value.to_owned())),
            };
            *note = !list.negated;
        }
        Ok(quiet)
    }
}

/// Does what an expression of `-e` says.
///
/// # Errors
/// The expression isn't one, or its set has a name that isn't known.
pub fn apply_expression(
    options: &mut TraceOptions,
    display: &mut DisplaySettings,
    expression: &str,
    known: &[NamedSyscall<'_>],
) -> Result<(), ExpressionError> {
    let (what, value) = match expression.split_once('=') {
        // A name of a call has no sign of equality.
        Some((what, value)) => (what, value),
        None => ("trace", expression),
    };
    match what {
        "trace" | "t" => options.calls = SyscallSet::parse(value, known)?,
        "signal" | "signals" | "s" => options.signals = SignalSet::parse(value)?,
        "status" => options.statuses = StatusSet::parse(value)?,
        "inject" | "fault" => {
            let injection = match what {
                "inject" => Injection::parse(value, known),
                _ => Injection::parse_fault(value, known),
            };
            let invalid = |why| ExpressionError::Tampering {
                what: what.to_owned(),
                value: value.to_owned(),
                why: Box::new(why),
            };
            options.injections.push(injection.map_err(invalid)?);
        }
        "abbrev" | "a" => display.full = SyscallSet::parse(value, known)?.complement(),
        "verbose" | "v" => display.opaque = SyscallSet::parse(value, known)?.complement(),
        "raw" | "x" => display.raw = SyscallSet::parse(value, known)?,
        "read" | "reads" | "r" => display.reads = DescriptorSet::parse(value)?,
        "write" | "writes" | "w" => display.writes = DescriptorSet::parse(value)?,
        "trace-fds" | "trace-fd" | "fds" | "fd" => {
            options.traced_descriptors = DescriptorSet::parse(value)?;
        }
        "kvm" if matches!(value, "vcpu" | "vcpu+") => display.results.processor_exits = true,
        "namespace" if value == "new" => display.results.name_spaces = true,
        "kvm" | "namespace" => {
            return Err(ExpressionError::ResultDetail {
                what: what.to_owned(),
                value: value.to_owned(),
            });
        }
        "decode-fds" | "decode-fd" => display.aspects = DescriptorDetails::parse(value)?,
        "decode-pids" | "decode-pid" => {
            let (set, before) = match value.strip_prefix('+') {
                Some(set) => (set, display.processes),
                None => (value, PidDetails::default()),
            };
            let details = PidDetails::parse(set)?;
            display.processes = PidDetails {
                name: details.name || before.name,
                number: details.number || before.number,
            };
        }
        "quiet" | "silent" | "silence" | "q" => display.quiet = QuietSettings::parse(value)?,
        _ => {
            return Err(ExpressionError::UnknownExpression(what.to_owned()));
        }
    }
    Ok(())
}
