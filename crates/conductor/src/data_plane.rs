//! The data plane of machines: their interfaces have the addresses that the lab says, or nothing is measured there. Nobody makes a link
//! between machines; who has which address is looked up on the machine, each time that it is reached.

use backsight_model::HostKind;

use crate::{Conductor, ConnectError, hosts::Connected};

impl Conductor {
    /// Learns which addresses a machine has, and whether those are among them that its links give its roles.
    ///
    /// # Errors
    /// One isn't; the machine is lost.
    pub(crate) async fn learn_addresses(&mut self, host: &Connected) -> Result<(), ConnectError> {
        let settings = self.arrangement.lab.host.get(&host.name);
        let kind = settings.map_or(HostKind::Local, |settings| settings.kind);
        if !kind.is_machine() {
            return Ok(());
        }
        let asked = host.client.addresses(&[]).await;
        let addresses = asked.map_err(|cause| ConnectError::Agent {
            host: host.name.clone(),
            cause,
            message: String::new(),
        })?;
        let wanted = self.arrangement.link_addresses(&host.name);
        let is_there = |wanted| addresses.own.iter().any(|own| own.address == wanted);
        let missing = wanted.into_iter().find(|wanted| !is_there(*wanted));
        let addresses_on = &mut self.arrangement.addresses_on;
        addresses_on.insert(host.name.clone(), addresses.own);
        match missing {
            None => Ok(()),
            Some(address) => Err(ConnectError::NoAddress {
                host: host.name.clone(),
                address,
                there: self.arrangement.addresses_of(&host.name),
            }),
        }
    }
}
