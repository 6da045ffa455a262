//! Examinations of hosts: how their settings stand, and how calm they are. Nothing is changed.

use backsight_agent::{Examination, ExaminationOrder};
use backsight_model::{HostName, Lab};
use std::time::Duration;

use crate::{ConnectError, HostAccess, host_query::ask_host};

/// How long one host may take beside its self-test, the agent's way there included.
const LIMIT: Duration = Duration::from_secs(120);

/// A host that was examined.
#[derive(Debug, Clone)]
pub struct ExaminedHost {
    /// What it found out about itself.
    pub examination: Examination,
    /// The id that its system has; none where it has none.
    pub machine_id: Option<String>,
    /// Its boot.
    pub boot_id: String,
}

/// Examines a host of a lab.
///
/// # Errors
/// The host can't be reached, or doesn't answer in time.
pub async fn examine_host(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    order: &ExaminationOrder,
) -> Result<ExaminedHost, ConnectError> {
    let length = Duration::try_from_secs_f64(order.self_test.unwrap_or_default());
    let limit = LIMIT + length.unwrap_or_default();
    ask_host(reach, lab, host, limit, async |connected| {
        let examination = connected.client.examine(order).await?;
        let hello = connected.client.hello();
        Ok(ExaminedHost {
            examination,
            machine_id: hello.machine_id.clone(),
            boot_id: hello.boot_id.clone(),
        })
    })
    .await
}
