//! One question to a host, through an agent of its own, which ends with the answer.

use backsight_agent::AgentError;
use backsight_model::{HostName, Lab};
use std::time::Duration;

use crate::{ConnectError, HostAccess, hosts::Connected};

/// Starts an agent on a host, asks it, and ends it.
///
/// # Errors
/// The host can't be reached; its agent fails; all of it takes longer than `limit`.
pub(crate) async fn ask_host<T>(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    limit: Duration,
    question: impl AsyncFnOnce(&Connected) -> Result<T, AgentError>,
) -> Result<T, ConnectError> {
    let asked = async {
        let connected = Connected::start(reach, lab, host).await?;
        match question(&connected).await {
            Ok(answer) => {
                connected.dismiss().await;
                Ok(answer)
            }
            Err(cause) => Err(ConnectError::Agent {
                host: host.clone(),
                cause,
                message: connected.bury().await.words,
            }),
        }
    };
    match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(ConnectError::TooSlow {
            host: host.clone(),
            limit,
        }),
    }
}
