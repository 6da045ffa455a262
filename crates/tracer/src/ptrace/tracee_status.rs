//! Meaning of a tracee's wait status.

use nix::libc;

/// Why a thread doesn't run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceeStatus {
    /// It enters or leaves a call.
    Call,
    /// A seccomp filter of ours wants its call seen.
    Filtered,
    /// A signal is about to be delivered.
    Signal(i32),
    /// Job control stopped its process, by this signal.
    Group(i32),
    /// It was attached to, was asked to stop, or job control lets it go on.
    Trap,
    /// It made a child or a thread.
    Child,
    /// It does `execve`, and can't go back.
    Exec,
    /// Something else that it may simply go on from.
    Other,
    /// It ended by itself.
    Exited(i32),
    /// It was ended by a signal; whether memory was dumped.
    Killed(i32, bool),
}

impl TraceeStatus {
    /// What a status of `waitpid` means.
    pub fn from_wait_status(status: i32) -> Self {
        const CALL: i32 = libc::SIGTRAP | 0x80;
        const STOP: i32 = 128;
        if libc::WIFEXITED(status) {
            return Self::Exited(libc::WEXITSTATUS(status));
        }
        if libc::WIFSIGNALED(status) {
            return Self::Killed(libc::WTERMSIG(status), libc::WCOREDUMP(status));
        }
        match (status >> 16, libc::WSTOPSIG(status)) {
            (0, CALL) => Self::Call,
            (0, signal) => Self::Signal(signal),
            (STOP, libc::SIGTRAP) => Self::Trap,
            (STOP, signal) => Self::Group(signal),
            (1..=3, _) => Self::Child,
            (4, _) => Self::Exec,
            (7, _) => Self::Filtered,
            _ => Self::Other,
        }
    }

    /// Whether there is nothing left to let go on.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Exited(_) | Self::Killed(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_as_the_kernel_makes_them() {
        let stopped = |event: i32, signal: i32| event << 16 | signal << 8 | 0x7f;
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(0, 0x85)),
            TraceeStatus::Call
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(0, 15)),
            TraceeStatus::Signal(15)
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(0, 5)),
            TraceeStatus::Signal(5)
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(128, 5)),
            TraceeStatus::Trap
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(128, 20)),
            TraceeStatus::Group(20)
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(2, 5)),
            TraceeStatus::Child
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(4, 5)),
            TraceeStatus::Exec
        );
        assert_eq!(
            TraceeStatus::from_wait_status(stopped(7, 5)),
            TraceeStatus::Filtered
        );
        assert_eq!(
            TraceeStatus::from_wait_status(3 << 8),
            TraceeStatus::Exited(3)
        );
        assert_eq!(
            TraceeStatus::from_wait_status(11 | 0x80),
            TraceeStatus::Killed(11, true)
        );
        assert_eq!(
            TraceeStatus::from_wait_status(9),
            TraceeStatus::Killed(9, false)
        );
    }
}
