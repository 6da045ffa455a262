//! Names of the kernel's errors, with the texts of the GNU C library.

use std::sync::LazyLock;

use backsight_syscall_tables::error_text;
use backsight_syscall_tables::sets::{ERRORS, KERNEL_ERRORS, RESTARTS};

/// Name and text by number; nothing for numbers that no error has.
pub fn error_by_number(number: i64) -> Option<(&'static str, &'static str)> {
    *BY_NUMBER.get(usize::try_from(number).ok()?)?
}

/// Errors that a program never sees: the kernel starts the call anew.
pub fn restart_by_number(number: i64) -> Option<(&'static str, &'static str)> {
    let name = RESTARTS.name(u64::try_from(number).ok()?)?;
    let text = match name {
        "ERESTARTSYS" => "To be restarted if SA_RESTART is set",
        "ERESTARTNOINTR" => "To be restarted",
        "ERESTARTNOHAND" => "To be restarted if no handler",
        _ => "Interrupted by signal",
    };
    Some((name, text))
}

/// The name of an error that no call gives back, of those that the kernel keeps to itself.
pub fn kernel_error_by_number(number: i64) -> Option<&'static str> {
    let number = u64::try_from(number).ok()?;
    RESTARTS.name(number).or_else(|| KERNEL_ERRORS.name(number))
}

/// Built once: errors are shown often.
static BY_NUMBER: LazyLock<Vec<Option<(&str, &str)>>> = LazyLock::new(|| {
    let last = ERRORS.list.iter().map(|(_, number)| *number).max();
    let numbers = 0..=last.unwrap_or(0);
    let named = |number| {
        let name = ERRORS.name(number)?;
        Some((name, error_text(name)?))
    };
    numbers.map(named).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_gnu_c_library_s_texts_and_numbers_without_an_error_have_none() {
        let missing = ("ENOENT", "No such file or directory");
        assert_eq!(error_by_number(2), Some(missing));
        // Whichever library this is built with: musl says `Not a tty`.
        let no_terminal = ("ENOTTY", "Inappropriate ioctl for device");
        assert_eq!(error_by_number(25), Some(no_terminal));
        let last = ("EHWPOISON", "Memory page has hardware error");
        assert_eq!(error_by_number(133), Some(last));
        for number in [-1, 0, 41, 134, 512, i64::MAX] {
            assert_eq!(error_by_number(number), None, "{number}");
        }
    }

    #[test]
    fn calls_that_are_begun_anew_are_told_from_those_that_fail() {
        let signal = ("ERESTART_RESTARTBLOCK", "Interrupted by signal");
        assert_eq!(restart_by_number(516), Some(signal));
        for number in [-512, 4, 511, 515] {
            assert_eq!(restart_by_number(number), None, "{number}");
        }
    }
}
