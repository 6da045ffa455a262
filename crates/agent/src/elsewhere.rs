//! What stands where an agent doesn't run on Linux, in the place of each module that needs it: it refuses, or has nothing to do.
//!
//! What an agent is asked for is refused before it comes here ([`backsight_platform::needs_linux`]): settings, self-tests.

pub(crate) mod init {
    use std::path::{Path, PathBuf};

    use backsight_platform::{NeedsLinux, needs_linux};

    /// Why a guest can't be served.
    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    pub struct InitError(#[from] NeedsLinux);

    /// No kernel but Linux starts an agent.
    #[must_use]
    pub fn init_arguments() -> Option<(PathBuf, bool)> {
        None
    }

    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn serve_guest(_: &Path, _: bool) -> Result<(), InitError> {
        Ok(needs_linux("an agent that a kernel starts")?)
    }

    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn serve_device(_: &Path) -> Result<(), InitError> {
        Ok(needs_linux("an agent on a port of a virtual machine")?)
    }
}

pub(crate) mod namespace {
    use std::{io, path::Path};

    pub(crate) fn enter(_: &Path) -> io::Result<()> {
        backsight_platform::needs_linux("a network namespace").map_err(io::Error::other)
    }
}

/// Agents have no namespaces to be known by.
pub(crate) mod uts_mark {
    pub(crate) fn bear(_: &str) {}

    pub(crate) struct MarkBearers;

    impl MarkBearers {
        pub(crate) fn new(_: &str) -> Self {
            Self
        }

        pub(crate) fn include(&mut self, _: i32) -> bool {
            false
        }
    }
}

/// No program is traced: each is held just before its `exec`.
pub(crate) mod tracee {
    use std::{io, process::Command};

    use nix::unistd::Pid;

    use crate::{reap::Death, step::HoldState};

    pub(crate) enum Tracee {}

    pub(crate) enum Loaded {
        Waits(Tracee, HoldState),
        Died(Death),
    }

    impl Tracee {
        pub(crate) fn start(_: &mut Command) -> io::Result<Self> {
            Err(io::ErrorKind::PermissionDenied.into())
        }

        pub(crate) fn pid(&self) -> Pid {
            match *self {}
        }

        pub(crate) fn load(self) -> io::Result<Loaded> {
            match self {}
        }

        pub(crate) fn detach(self) {
            match self {}
        }

        pub(crate) fn bury(self) -> io::Result<Death> {
            match self {}
        }
    }
}

/// Without settings every program is started plainly.
pub(crate) mod launch_conditions {
    use std::{ffi::CString, process::Command};

    use backsight_settings::{ProcessAttribute, SettingValue};

    use crate::trial_user::TrialUser;

    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub(crate) struct LaunchConditions {}

    impl LaunchConditions {
        pub(crate) fn new<'a>(
            _: impl IntoIterator<Item = (ProcessAttribute, &'a SettingValue)>,
        ) -> Self {
            Self {}
        }

        pub(crate) fn drawn(self, _: &str, _: &str) -> (Self, Vec<(String, String)>) {
            (self, Vec::new())
        }

        pub(crate) fn user(&self) -> Option<&str> {
            None
        }

        pub(crate) fn run_as(&mut self, _: &TrialUser) {}

        pub(crate) fn join(&mut self, _: Vec<CString>) {}

        pub(crate) fn padding(&self, _: &str, _: &str) -> Option<(String, String)> {
            None
        }

        pub(crate) fn limit_core_files(&mut self, _: u64) {}

        pub(crate) fn give_to(&self, _: &mut Command) {}
    }
}

pub(crate) mod self_test {
    use std::path::Path;

    use crate::examination::{Examination, ExaminationOrder, StopFlag};

    pub(crate) fn examine(_: &ExaminationOrder, _: &Path, _: &StopFlag) -> Option<Examination> {
        None
    }
}
