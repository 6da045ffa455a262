//! Network namespaces of this machine: an agent is a process that lives in one.

use backsight_model::{HostName, Lab};
use std::path::PathBuf;

use super::{ConnectError, HostAccess, Process, Started};
use crate::netns;

/// Starts an agent in the host's namespace and greets it.
///
/// # Errors
/// The namespace isn't there; the agent can't be started, or doesn't answer.
pub(super) async fn start(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
) -> Result<Started, ConnectError> {
    let namespace = namespace(lab, host)?;
    let (client, process) = Process::start(reach, host, Some(&namespace)).await?;
    Ok((client, Box::new(process)))
}

/// The file of a host's namespace.
///
/// # Errors
/// `backsight lab up` hasn't made it.
pub(super) fn namespace(lab: &Lab, host: &HostName) -> Result<PathBuf, ConnectError> {
    match netns::is_up(&lab.name, host) {
        true => Ok(netns::file(&lab.name, host)),
        false => Err(ConnectError::NotUp { host: host.clone() }),
    }
}
