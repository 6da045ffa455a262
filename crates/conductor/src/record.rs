//! Records of hosts: what each is, asked through an agent of its own. Nothing is measured or changed.

use backsight_model::{HostName, HostRecord, Lab};
use futures_util::future::join_all;
use std::time::Duration;

use crate::{ConnectError, HostAccess, hosts::Connected};

/// How long one host may take, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(120);

/// Records these hosts of a lab, all at once.
pub async fn record_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
) -> Vec<Result<HostRecord, ConnectError>> {
    let records = hosts.iter().map(|host| async move {
        match tokio::time::timeout(LIMIT, record_host(reach, lab, host)).await {
            Ok(record) => record,
            Err(_) => Err(ConnectError::TooSlow {
                host: host.clone(),
                limit: LIMIT,
            }),
        }
    });
    join_all(records).await
}

async fn record_host(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
) -> Result<HostRecord, ConnectError> {
    let connected = Connected::start(reach, lab, host).await?;
    match connected.client.record().await {
        Ok(record) => {
            connected.dismiss().await;
            Ok(record)
        }
        Err(cause) => {
            let message = connected.bury().await;
            let host = host.clone();
            Err(ConnectError::Agent {
                host,
                cause,
                message,
            })
        }
    }
}
