//! Records of hosts: what each is. Nothing is measured or changed.

use backsight_model::{HostName, HostRecord, Lab};
use futures_util::future::join_all;
use std::time::Duration;

use crate::{ConnectError, HostAccess, host_query::ask_host};

/// How long one host may take, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(120);

/// Records these hosts of a lab, all at once.
pub async fn record_hosts(
    reach: &HostAccess,
    lab: &Lab,
    hosts: &[HostName],
) -> Vec<Result<HostRecord, ConnectError>> {
    let records = hosts.iter().map(|host| {
        ask_host(reach, lab, host, LIMIT, async |connected| {
            connected.client.record().await
        })
    });
    join_all(records).await
}
