//! Which calls are traced and how they are shown, as expressions say it: `-e trace=openat`, `--trace=openat`.
//!
//! Refuses: to know more of an expression than its first word.

use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::syscall_set::{NamedSyscall, SyscallSet};
use backsight_syscall_decode::{Abi, table};
use backsight_tracer::descriptors::DescriptorDetails;
use backsight_tracer::error::ExpressionError;
use backsight_tracer::options::{Injection, SignalSet, StatusSet, TraceOptions};
use backsight_tracer::processes::PidDetails;
use miette::{IntoDiagnostic as _, WrapErr as _};

/// The expressions of `-e` that have options of their own.
#[derive(Debug, clap::Args)]
pub(super) struct FilterOptions {
    /// What to trace and how to show it: trace=SET, signal=SET, status=SET, inject=…, fault=…, abbrev=SET, verbose=SET, raw=SET,
    /// read=SET, write=SET, decode-fds=SET, decode-pids=SET, quiet=SET; SET alone is trace=SET
    #[arg(short = 'e', value_name = "EXPR")]
    expressions: Vec<String>,
    /// Which calls are traced
    #[arg(long, value_name = "SET")]
    trace: Vec<String>,
    /// Which signals are told
    #[arg(long, visible_alias = "signals", value_name = "SET")]
    signal: Vec<String>,
    /// Only calls that end so
    #[arg(long, value_name = "SET")]
    status: Vec<String>,
    /// What is done to calls on purpose
    #[arg(long, value_name = "SET:…")]
    inject: Vec<String>,
    /// Calls that are made to fail
    #[arg(long, value_name = "SET:…")]
    fault: Vec<String>,
    /// The calls whose structures are shown in short
    #[arg(long, value_name = "SET")]
    abbrev: Vec<String>,
    /// The calls whose structures are shown
    #[arg(long, value_name = "SET")]
    verbose: Vec<String>,
    /// The calls whose arguments are shown as numbers
    #[arg(long, value_name = "SET")]
    raw: Vec<String>,
    /// The descriptors of which everything that is read is shown
    #[arg(long, visible_alias = "reads", value_name = "SET")]
    read: Vec<String>,
    /// The descriptors of which everything that is written is shown
    #[arg(long, visible_alias = "writes", value_name = "SET")]
    write: Vec<String>,
    /// What is said beside descriptors
    #[arg(
        long,
        value_name = "SET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "path"
    )]
    decode_fds: Vec<String>,
    /// What is said beside numbers of processes: comm, pidns, all
    #[arg(long, value_name = "SET")]
    decode_pids: Vec<String>,
    /// The names of processes beside their numbers, as --decode-pids=comm
    #[arg(short = 'Y')]
    process_names: bool,
    /// The numbers of processes here beside those in other name spaces, as --decode-pids=pidns
    #[arg(long)]
    pidns_translation: bool,
    /// What isn't told: attach, exit, path-resolution, personality, thread-execve, all
    #[arg(
        long,
        visible_aliases = ["silent", "silence"],
        value_name = "SET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "attach,personality"
    )]
    quiet: Vec<String>,
}

impl FilterOptions {
    /// Each as `-e` would say it.
    pub fn all(&self) -> impl Iterator<Item = String> {
        let named: [(&str, &[String]); 13] = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("inject", &self.inject),
            ("fault", &self.fault),
            ("abbrev", &self.abbrev),
            ("verbose", &self.verbose),
            ("raw", &self.raw),
            ("read", &self.read),
            ("write", &self.write),
            ("decode-fds", &self.decode_fds),
            ("decode-pids", &self.decode_pids),
            ("quiet", &self.quiet),
        ];
        let named = named
            .into_iter()
            .flat_map(|(what, values)| values.iter().map(move |value| format!("{what}={value}")));
        let short = [
            (self.process_names, "decode-pids=+comm"),
            (self.pidns_translation, "decode-pids=+pidns"),
        ];
        let short = short.into_iter().filter(|(options, _)| *options);
        let short = short.map(|(_, expression)| expression.to_owned());
        self.expressions.iter().cloned().chain(named).chain(short)
    }
}

/// Every call that can be named.
pub(super) fn known_syscalls() -> Vec<NamedSyscall<'static>> {
    let abis = [Abi::X86_64, Abi::I386, Abi::Aarch64];
    let native = |abi: &Abi| (*abi == Abi::Aarch64) == cfg!(target_arch = "aarch64");
    abis.into_iter()
        .filter(native)
        .flat_map(|abi| table::syscalls(abi).map(move |(number, row)| (abi, number, row)))
        .map(|(abi, number, row)| {
            let classes = table::SyscallClass::ALL.into_iter();
            NamedSyscall {
                abi,
                number,
                name: row.name,
                classes: classes
                    .filter(|class| row.classes.contains(*class))
                    .map(table::SyscallClass::name)
                    .collect(),
            }
        })
        .collect()
}

/// How what is traced is shown, as far as `-e` may say it.
pub(super) struct DisplaySettings {
    pub aspects: DescriptorDetails,
    pub processes: PidDetails,
    pub full: SyscallSet,
    pub opaque: SyscallSet,
    pub raw: SyscallSet,
    pub reads: DescriptorSet,
    pub writes: DescriptorSet,
    pub quiet: QuietSettings,
}

/// What isn't told beside calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QuietSettings {
    /// That a thread was attached to, and detached from.
    pub attach: bool,
    /// How programs call the kernel; here, which engine traces.
    pub personality: bool,
    /// That one ended.
    pub exit: bool,
    /// That one is gone because of another's `execve`.
    pub superseded: bool,
}

impl QuietSettings {
    /// Reads a set as `-e quiet=` names it.
    fn parse(text: &str) -> miette::Result<Self> {
        let (names, negated) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let mut quiet = Self::default();
        for name in names.split(',') {
            match name {
                "attach" => quiet.attach = true,
                "exit" | "exits" => quiet.exit = true,
                "thread-execve" | "superseded" => quiet.superseded = true,
                // Nothing is said of this here.
                "path-resolution" | "path-resolve" => {}
                "personality" => quiet.personality = true,
                "all" => {
                    quiet = Self {
                        attach: true,
                        personality: true,
                        exit: true,
                        superseded: true,
                    };
                }
                "none" => quiet = Self::default(),
                _ => {
                    return Err(miette::miette!(
                        help = "there are attach, exit, path-resolution, personality, thread-execve, all and none",
                        "nothing is said that is named `{name}`"
                    ));
                }
            }
        }
        Ok(if negated {
            Self {
                attach: !quiet.attach,
                personality: !quiet.personality,
                exit: !quiet.exit,
                superseded: !quiet.superseded,
            }
        } else {
            quiet
        })
    }
}

/// Every call that isn't in a set.
fn others(set: &str, known: &[NamedSyscall<'_>]) -> miette::Result<SyscallSet> {
    let all = match set.strip_prefix('!') {
        Some(rest) => SyscallSet::parse(rest, known),
        None => SyscallSet::parse(&format!("!{set}"), known),
    };
    all.into_diagnostic()
}

/// An injection, or what is wrong with it behind words that scripts which use strace look for.
fn tampering(
    what: &str,
    value: &str,
    injection: Result<Injection, ExpressionError>,
) -> miette::Result<Injection> {
    let injection = injection.into_diagnostic();
    injection.wrap_err_with(|| format!("invalid {what} argument `{value}`"))
}

/// Does what an expression of `-e` says.
pub(super) fn apply_expression(
    options: &mut TraceOptions,
    display: &mut DisplaySettings,
    expression: &str,
    known: &[NamedSyscall<'_>],
) -> miette::Result<()> {
    let (what, value) = match expression.split_once('=') {
        // A name of a call has no sign of equality.
        Some((what, value)) => (what, value),
        None => ("trace", expression),
    };
    match what {
        "trace" | "t" => options.calls = SyscallSet::parse(value, known).into_diagnostic()?,
        "signal" | "signals" | "s" => {
            options.signals = SignalSet::parse(value).into_diagnostic()?
        }
        "status" => options.statuses = StatusSet::parse(value).into_diagnostic()?,
        "inject" => {
            options
                .injections
                .push(tampering(what, value, Injection::parse(value, known))?)
        }
        "fault" => options.injections.push(tampering(
            what,
            value,
            Injection::parse_fault(value, known),
        )?),
        "abbrev" | "a" => display.full = others(value, known)?,
        "verbose" | "v" => display.opaque = others(value, known)?,
        "raw" | "x" => display.raw = SyscallSet::parse(value, known).into_diagnostic()?,
        "read" | "reads" | "r" => display.reads = DescriptorSet::parse(value).into_diagnostic()?,
        "write" | "writes" | "w" => {
            display.writes = DescriptorSet::parse(value).into_diagnostic()?
        }
        "decode-fds" | "decode-fd" => {
            display.aspects = DescriptorDetails::parse(value).into_diagnostic()?
        }
        "decode-pids" | "decode-pid" => {
            let (set, before) = match value.strip_prefix('+') {
                Some(set) => (set, display.processes),
                None => (value, PidDetails::default()),
            };
            let told = PidDetails::parse(set).ok_or_else(|| {
                miette::miette!(
                    help = "there are comm, pidns, all and none",
                    "nothing is known of processes that is named `{set}`"
                )
            })?;
            display.processes = PidDetails {
                name: told.name || before.name,
                number: told.number || before.number,
            };
        }
        "quiet" | "silent" | "silence" | "q" => display.quiet = QuietSettings::parse(value)?,
        _ => {
            return Err(miette::miette!(
                help = "there are trace=, signal=, status=, inject=, fault=, abbrev=, verbose=, raw=, read=, write=, decode-fds=, decode-pids= and quiet=",
                "`{what}=` isn't known here"
            ));
        }
    }
    Ok(())
}
