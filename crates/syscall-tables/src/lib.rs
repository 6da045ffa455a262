//! System calls by number, and names of the kernel's other numbers: requests of `ioctl`, bits and values.
//!
//! The tables are data files (`data/`), which `cargo xtask syscall-tables` makes from pinned kernel headers
//! (`sources.toml`), a selection of names (`selection.toml`), names that those headers lack (`carried.tsv`), and the arguments of
//! calls (`signatures.tsv`); which calls are of which class, and what errors are said to be, are tables of their own
//! (`classes.tsv`, `error_texts.tsv`). They are constants of the program: nothing is parsed when it starts.
//!
//! What a number means to a call, and how it is shown, is the decoder's business.
//!
//! ```
//! use backsight_syscall_tables::{request_names, sets};
//!
//! assert_eq!(request_names(0x5401), Some("TCGETS"));
//! assert_eq!(sets::WHENCE.name(2), Some("SEEK_END"));
//! ```

/// Names of bits or of values.
#[derive(Debug, PartialEq)]
pub struct Names {
    /// What an unknown value is said to be: `O_???`.
    pub unknown: &'static str,
    /// What no bit at all is called; empty for values that aren't bits.
    pub zero: &'static str,
    /// Names and values, in the order in which they are shown.
    pub list: &'static [(&'static str, u64)],
}

impl Names {
    /// The name of a value.
    pub fn name(&self, value: u64) -> Option<&'static str> {
        self.list
            .iter()
            .find(|(_, known)| *known == value)
            .map(|(name, _)| *name)
    }
}

/// A system call.
#[derive(Debug, PartialEq)]
pub struct Syscall {
    /// Its name, as the kernel has it: `openat`.
    pub name: &'static str,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
}

/// An argument of a system call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument {
    /// Its name, as the kernel has it: `filename`.
    pub name: &'static str,
    /// Its type in C: `const char *`.
    pub c_type: &'static str,
}

/// System calls with their numbers on each machine.
pub mod syscalls {
    use super::{Argument, Syscall};

    /// Stands for a number that no call has.
    pub const NO_SYSCALL: u16 = u16::MAX;

    include!(concat!(env!("OUT_DIR"), "/syscalls.rs"));
}

/// Sets of names, each with the values that they have on one machine.
pub mod sets {
    use super::Names;

    include!(concat!(env!("OUT_DIR"), "/sets.rs"));
}

/// Classes of calls, as `%file` without the first percent sign, each with the names of its calls on any machine.
pub static CLASSES: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// Names of arguments as manual pages have them, in the order in which arguments are shown: by call, in the order of their
/// names, those of which they aren't the kernel's.
pub static MANUAL_NAMES: &[(&str, &[&str])] =
    include!(concat!(env!("OUT_DIR"), "/manual_names.rs"));

/// Texts of the kernel's errors, by name, in the order of their names.
static ERROR_TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_texts.rs"));

/// What an error of the kernel is said to be, as the GNU C library says it.
pub fn error_text(name: &str) -> Option<&'static str> {
    let place = ERROR_TEXTS.binary_search_by_key(&name, |(name, _)| name);
    place.ok().map(|at| ERROR_TEXTS[at].1)
}

/// The names that a call's arguments have in its manual page, where they aren't the kernel's.
pub fn manual_names(call: &str) -> Option<&'static [&'static str]> {
    let place = MANUAL_NAMES.binary_search_by_key(&call, |(name, _)| name);
    place.ok().map(|at| MANUAL_NAMES[at].1)
}

/// Every request of `ioctl`, in the order of their numbers. Where several drivers have the same number, all of their
/// names, with `or` between them.
pub static REQUESTS: &[(u32, &str)] = include!(concat!(env!("OUT_DIR"), "/requests.rs"));

/// The names of a request of `ioctl`.
pub fn request_names(request: u32) -> Option<&'static str> {
    let place = REQUESTS.binary_search_by_key(&request, |(number, _)| *number);
    place.ok().map(|at| REQUESTS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_names_of_manual_pages_are_in_the_order_of_their_names() {
        assert!(MANUAL_NAMES.is_sorted_by(|one, other| one.0 < other.0));
        assert_eq!(manual_names("kill"), Some(&["pid", "signum"][..]));
        assert_eq!(manual_names("close"), None);
    }

    #[test]
    fn every_error_has_a_text_that_is_found_by_its_name() {
        assert!(ERROR_TEXTS.is_sorted_by(|one, other| one.0 < other.0));
        for (name, _) in sets::ERRORS.list {
            assert!(error_text(name).is_some(), "{name}");
        }
        assert_eq!(error_text("ENOTTY"), Some("Inappropriate ioctl for device"));
        assert_eq!(error_text("ENOTHING"), None);
    }

    #[test]
    fn requests_are_in_the_order_of_their_numbers() {
        assert!(REQUESTS.is_sorted_by(|one, other| one.0 < other.0));
        assert_eq!(request_names(0x5413), Some("TIOCGWINSZ"));
        assert_eq!(request_names(u32::MAX), None);
    }
}
