//! Scopes: what is traced together without being started or attached to.

use crate::cgroups::Cgroup;

/// Processes that are traced wherever they come from, and held by nobody: by the kernel engine alone. Who traces is never one of them,
/// nor what it started.
#[derive(Debug, Clone)]
pub enum TraceScope {
    /// What runs in a cgroup or below it; tracing ends when the cgroup is removed.
    Cgroup(Cgroup),
    /// What runs on the machine.
    Machine,
}

impl TraceScope {
    /// Whether nothing can ever be in it again.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Cgroup(cgroup) => !cgroup.exists(),
            Self::Machine => false,
        }
    }
}
