//! This machine: an agent is a process of it.

use backsight_model::HostName;

use super::{ConnectError, HostAccess, Process, Started};

/// Starts an agent and greets it.
///
/// # Errors
/// It can't be started, or doesn't answer.
pub(super) async fn start(reach: &HostAccess, host: &HostName) -> Result<Started, ConnectError> {
    let (client, process) = Process::start(reach, host, None).await?;
    Ok((client, Box::new(process)))
}
