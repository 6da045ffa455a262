//! The data plane of machines: their interfaces have the addresses that the lab says, or nothing is measured there. Nobody makes a link
//! between machines; who has which address is looked up on the machine, each time that it is reached.

use backsight_model::{Arrangement, HostKind, InterfaceAddress};

use crate::{ConnectError, hosts::Connected};

/// The addresses that a machine has, among which those are that its links give its roles. Of a host that is no machine none.
///
/// # Errors
/// One isn't there; the machine is lost.
pub(crate) async fn machine_addresses(
    arrangement: &Arrangement,
    host: &Connected,
) -> Result<Vec<InterfaceAddress>, ConnectError> {
    let settings = arrangement.lab.host.get(&host.name);
    let kind = settings.map_or(HostKind::Local, |settings| settings.kind);
    if !kind.is_machine() {
        return Ok(Vec::new());
    }
    let asked = host.client.addresses(&[]).await;
    let own = asked.map_err(|cause| ConnectError::agent(host, cause))?.own;
    let wanted = arrangement.link_addresses(&host.name);
    let is_there = |wanted| own.iter().any(|own| own.address == wanted);
    match wanted.into_iter().find(|wanted| !is_there(*wanted)) {
        None => Ok(own),
        Some(address) => Err(ConnectError::NoAddress {
            host: host.name.clone(),
            address,
            there: InterfaceAddress::listed(&own),
        }),
    }
}
