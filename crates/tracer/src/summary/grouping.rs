//! What a summary has rows of, and which calls that takes.

use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::table::{NamedSyscall, SyscallClass};

use crate::expressions::known_syscalls;
use crate::open_files::OPENING_CALLS;
use crate::process_tree::PROGRAM_CALLS;

/// What a summary has rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryGrouping {
    /// Calls.
    Call,
    /// Calls, for each process.
    ProcessAndCall,
    /// Files by their paths.
    Path,
    /// Descriptors of each process.
    Descriptor,
    /// Processes, in their tree.
    Process,
}

impl SummaryGrouping {
    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::ProcessAndCall => "process,call",
            Self::Path => "path",
            Self::Descriptor => "fd",
            Self::Process => "process",
        }
    }

    /// Whether it counts files, which takes the calls that say what is open.
    pub fn is_of_files(self) -> bool {
        matches!(self, Self::Path | Self::Descriptor)
    }
}

/// The calls that are traced for a summary of the calls that are asked for, and those of them that are counted. Where nothing but
/// the summary is shown (`alone`), and all calls are asked for, those that concern no file aren't traced for a summary of files.
pub fn calls_of_summary(
    by: SummaryGrouping,
    asked: &SyscallSet,
    alone: bool,
) -> (SyscallSet, SyscallSet) {
    const CLASSES_OF_FILES: [SyscallClass; 3] = [
        SyscallClass::File,
        SyscallClass::Desc,
        SyscallClass::Network,
    ];
    let with = |needed: &dyn Fn(&NamedSyscall<'_>) -> bool| {
        let mut set = SyscallSet::none();
        for call in known_syscalls().iter().filter(|call| needed(call)) {
            set.insert(call.abi, call.number);
        }
        set
    };
    match by {
        SummaryGrouping::Path | SummaryGrouping::Descriptor if asked.is_all() && alone => {
            let of_files = with(&|call| {
                let mut classes = CLASSES_OF_FILES.into_iter();
                classes.any(|class| call.classes.contains(class))
            });
            (of_files.clone(), of_files)
        }
        SummaryGrouping::Path | SummaryGrouping::Descriptor => {
            let opening = with(&|call| OPENING_CALLS.contains(&call.name));
            (asked.union(&opening), asked.clone())
        }
        SummaryGrouping::Process => {
            let program = with(&|call| PROGRAM_CALLS.contains(&call.name));
            (asked.union(&program), asked.clone())
        }
        SummaryGrouping::Call | SummaryGrouping::ProcessAndCall => (asked.clone(), asked.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_which_file_is_open_is_traced_and_not_counted() {
        let known = known_syscalls();
        let asked = SyscallSet::parse("read", &known).unwrap();
        let open = SyscallSet::parse("openat", &known).unwrap();
        let (traced, counted) = calls_of_summary(SummaryGrouping::Path, &asked, true);
        assert_eq!(counted, asked);
        assert_eq!(traced.union(&open), traced);
        // Where all are asked for, those of no file aren't traced, unless they are shown.
        let (traced, counted) = calls_of_summary(SummaryGrouping::Path, &SyscallSet::all(), true);
        assert!(traced == counted && !traced.is_all() && traced.union(&asked) == traced);
        let (traced, _) = calls_of_summary(SummaryGrouping::Path, &SyscallSet::all(), false);
        assert!(traced.is_all());
        // Every call that is needed is one.
        for name in OPENING_CALLS.into_iter().chain(PROGRAM_CALLS) {
            let abi_of_64_bits = name != "fcntl64";
            let exists = known.iter().any(|call| call.name == name);
            assert!(
                exists || cfg!(target_arch = "aarch64") || !abi_of_64_bits,
                "{name}"
            );
        }
    }
}
