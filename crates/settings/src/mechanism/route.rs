//! Routes by their destination, read and written by `ip`.
//!
//! What stands for a destination is kept as `ip` prints it, which `ip` also takes. The default route is no such destination, and a route
//! that covers the address from which this machine is controlled is refused: what would cut us off can't be put back by us.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, time::Duration};

use super::{ChangeState, SettingChange, SettingObstacle};
use crate::{
    machine_root::MachineRoot,
    parameter::network_of,
    program::{self, ProgramFault},
    request::SettingRequest,
};

/// How long `ip` may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The parameter that is the destination.
const DESTINATION: &str = "to";
/// What a route may have, each followed by its value. The kernel says it again, so that it can be verified.
const ATTRIBUTES: [&str; 8] = [
    "via", "dev", "src", "mtu", "advmss", "initcwnd", "initrwnd", "metric",
];
/// What a route may be.
const FLAGS: [&str; 1] = ["onlink"];
/// What `ip` says of the state of a route, and doesn't take.
const STATES: [&str; 5] = ["linkdown", "dead", "offload", "rt_offload", "trap"];

/// `[route]`: the parameter `to` is the destination, the value the rest of what `ip route` takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteMechanism {}

/// The routes to a destination, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteChange {
    /// The destination.
    pub to: String,
    /// What stood, as `ip` prints it.
    pub old: Vec<String>,
    /// What is wanted, without the destination.
    pub new: String,
}

impl RouteMechanism {
    pub(super) fn plan(
        &self,
        machine: &MachineRoot,
        request: &SettingRequest,
    ) -> Result<Vec<SettingChange>, SettingObstacle> {
        let refused = SettingObstacle::Refused;
        let to = request
            .parameters
            .get(DESTINATION)
            .map_or("", String::as_str);
        let new = request.value.as_ref().map(ToString::to_string);
        let new = new.unwrap_or_default();
        check(&new).map_err(refused)?;
        if let Some(controller) = machine.controllers().iter().find(|ip| covers(to, **ip)) {
            return Err(refused(format!(
                "{to} covers {controller}, from which this machine is controlled: the route would cut that off; give the network that is \
                 measured addresses of its own, or narrow the route"
            )));
        }
        let mut change = RouteChange {
            to: to.to_owned(),
            old: Vec::new(),
            new,
        };
        change.old = change.read(machine).map_err(|fault| match fault {
            ProgramFault::Missing(text) => SettingObstacle::Missing(text),
            ProgramFault::Failed(text) => refused(text),
        })?;
        Ok(vec![SettingChange::Route(change)])
    }
}

/// Checks what a route shall have.
fn check(way: &str) -> Result<(), String> {
    let mut words = way.split_whitespace();
    if way.trim().is_empty() {
        return Err("it says no way: `via 10.77.1.2`".into());
    }
    while let Some(word) = words.next() {
        if FLAGS.contains(&word) {
            continue;
        }
        if !ATTRIBUTES.contains(&word) {
            let known = ATTRIBUTES.join("`, `");
            return Err(format!(
                "`{word}` isn't made: a machine's routes have `{known}` and `{}`",
                FLAGS.join("`, `")
            ));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
        let value = words.next().unwrap_or_default();
        if value.is_empty() || value.starts_with('-') || !value.chars().all(fits) {
            return Err(format!("`{word}` has no value in `{way}`"));
        }
    }
    Ok(())
}

/// Whether a network has an address.
fn covers(network: &str, address: IpAddr) -> bool {
    let address = address.to_canonical();
    let Some((ip, length)) = network_of(network) else {
        return false;
    };
    match (ip, address) {
        (IpAddr::V4(ip), IpAddr::V4(address)) => {
            let differ = u64::from(ip.to_bits() ^ address.to_bits());
            differ >> (32 - u32::from(length.min(32))) == 0
        }
        (IpAddr::V6(ip), IpAddr::V6(address)) => {
            let differ = ip.to_bits() ^ address.to_bits();
            let shift = 128 - u32::from(length.min(128));
            differ.checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Whether two values of an attribute are the same: addresses have several forms.
fn is_same(one: &str, other: &str) -> bool {
    one == other
        || match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
}

impl RouteChange {
    fn ip(&self, words: &[&str]) -> Vec<String> {
        let family = if self.to.contains(':') { "-6" } else { "-4" };
        let all = ["ip", family, "-o", "route"].into_iter();
        let all = all.chain(words.iter().copied());
        all.map(str::to_owned).collect()
    }

    fn run(&self, machine: &MachineRoot, verb: &str, route: &str) -> Result<(), String> {
        let words: Vec<&str> = [verb].into_iter().chain(route.split_whitespace()).collect();
        let ran = program::run(machine, &self.ip(&words), LIMIT);
        ran.map(|_| ()).map_err(ProgramFault::into_text)
    }

    fn read(&self, machine: &MachineRoot) -> Result<Vec<String>, ProgramFault> {
        let printed = program::run(machine, &self.ip(&["show", "exact", &self.to]), LIMIT)?;
        let routes = printed.lines().map(|line| {
            let words = line.split_whitespace();
            let words = words.filter(|word| !STATES.contains(word) && *word != "\\");
            words.collect::<Vec<_>>().join(" ")
        });
        Ok(routes.filter(|route| !route.is_empty()).collect())
    }

    /// Whether a route that `ip` printed is the wanted one: what isn't wanted of it is the kernel's to say.
    fn is_wanted(&self, route: &str) -> bool {
        let has: Vec<&str> = route.split_whitespace().collect();
        let mut wanted = self.new.split_whitespace();
        while let Some(name) = wanted.next() {
            if FLAGS.contains(&name) {
                continue;
            }
            let value = wanted.next().unwrap_or_default();
            let mut pairs = has.windows(2);
            if !pairs.any(|pair| pair[0] == name && is_same(pair[1], value)) {
                return false;
            }
        }
        true
    }

    pub(super) fn is_already_so(&self) -> bool {
        self.old.iter().any(|route| self.is_wanted(route))
    }

    pub(super) fn old_text(&self) -> String {
        match self.old.is_empty() {
            true => "no route".to_owned(),
            false => self.old.join("; "),
        }
    }

    pub(super) fn make(&self, machine: &MachineRoot) -> Result<(), String> {
        self.run(machine, "replace", &format!("{} {}", self.to, self.new))
    }

    pub(super) fn undo(&self, machine: &MachineRoot) -> Result<(), String> {
        let now = self.read(machine).map_err(ProgramFault::into_text)?;
        let ours = now
            .iter()
            .filter(|route| !self.old.contains(route) && self.is_wanted(route));
        for route in ours {
            self.run(machine, "del", route)?;
        }
        let now = self.read(machine).map_err(ProgramFault::into_text)?;
        for route in self.old.iter().filter(|route| !now.contains(route)) {
            self.run(machine, "replace", route)?;
        }
        Ok(())
    }

    pub(super) fn state(&self, machine: &MachineRoot) -> ChangeState {
        match self.read(machine) {
            Err(fault) => ChangeState::Unreadable(fault.into_text()),
            Ok(now) if now == self.old => ChangeState::Old,
            Ok(now) if now.iter().any(|route| self.is_wanted(route)) => ChangeState::New,
            Ok(now) if now.is_empty() => ChangeState::Other("no route".into()),
            Ok(now) => ChangeState::Other(now.join("; ")),
        }
    }

    pub(super) fn undo_by_hand(&self) -> String {
        match self.old.first() {
            Some(old) => format!("ip route replace {old}"),
            None => format!("ip route del {} {}", self.to, self.new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SettingValue, value::ValueType};
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    /// An `ip` that keeps routes, one a line, in a file.
    const IP: &str = r#"#!/bin/sh
routes=@/routes
shift 3
verb=$1; shift
case $verb in
    show) grep "^$2 " $routes || true ;;
    replace) to=$1; { grep -v "^$to " $routes; echo "${*% proto static} proto static"; } > $routes.new; mv $routes.new $routes ;;
    del) grep -vxF "$*" $routes > $routes.new; mv $routes.new $routes ;;
esac
"#;

    fn machine(folder: &Path) -> MachineRoot {
        let program = folder.join("ip");
        fs::write(&program, IP.replace('@', folder.to_str().unwrap())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        MachineRoot::in_folder(folder, vec![folder.to_owned()])
    }

    fn plan(machine: &MachineRoot, to: &str, way: &str) -> Result<RouteChange, SettingObstacle> {
        let request = SettingRequest {
            value_type: ValueType::Text,
            value: Some(SettingValue::Text(way.into())),
            parameters: [("to".to_owned(), to.to_owned())].into(),
        };
        let mut planned = RouteMechanism {}.plan(machine, &request)?;
        match planned.remove(0) {
            SettingChange::Route(change) => Ok(change),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_route_is_made_verified_and_what_stood_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path());
        let routes = folder.path().join("routes");
        for before in ["", "10.77.2.0/24 via 10.0.0.9 dev eth0 proto static\n"] {
            let other = "10.1.0.0/16 dev eth1 proto static\n";
            fs::write(&routes, format!("{other}{before}")).unwrap();
            let change = plan(&machine, "10.77.2.0/24", "via 10.77.1.2 mtu 1400").unwrap();
            assert!(!change.is_already_so());
            assert_eq!(change.state(&machine), ChangeState::Old);
            change.make(&machine).unwrap();
            assert_eq!(change.state(&machine), ChangeState::New);
            let again = plan(&machine, "10.77.2.0/24", "via 10.77.1.2").unwrap();
            assert!(again.is_already_so());
            change.undo(&machine).unwrap();
            assert_eq!(change.state(&machine), ChangeState::Old);
            let now = fs::read_to_string(&routes).unwrap();
            assert!(now.contains(other.trim()), "{now}");
            assert!(!now.contains("10.77.1.2"), "{now}");
            assert_eq!(now.contains("10.0.0.9"), !before.is_empty(), "{now}");
        }
    }

    #[test]
    fn what_would_cut_the_controller_off_or_cant_be_verified_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine(folder.path());
        fs::write(folder.path().join("routes"), "").unwrap();
        let controlled = machine
            .clone()
            .controlled_from(vec!["192.0.2.7".parse().unwrap()]);
        let why = |to: &str, way: &str| match plan(&controlled, to, way) {
            Err(SettingObstacle::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(
            why("192.0.2.0/24", "via 10.0.0.1").contains("from which this machine is controlled")
        );
        assert!(why("192.0.2.7/32", "via 10.0.0.1").contains("192.0.2.7"));
        assert!(plan(&controlled, "192.0.3.0/24", "via 10.0.0.1").is_ok());
        assert!(plan(&controlled, "fd00::/16", "via fd01::1").is_ok());
        for (way, says) in [
            ("", "no way"),
            ("table 7 via 10.0.0.1", "`table` isn't made"),
            ("via", "has no value"),
            ("via -x", "has no value"),
        ] {
            assert!(why("10.9.0.0/16", way).contains(says), "{way}");
        }
    }

    #[test]
    fn a_network_covers_its_addresses() {
        for (network, address, expected) in [
            ("10.77.2.0/24", "10.77.2.255", true),
            ("10.77.2.0/24", "10.77.3.0", false),
            ("10.77.2.1/32", "10.77.2.1", true),
            ("10.77.2.0/24", "::ffff:10.77.2.1", true),
            ("128.0.0.0/1", "200.0.0.1", true),
            ("fd77::/64", "fd77::9", true),
            ("fd77::1/128", "fd77::9", false),
            ("fd77::/64", "10.0.0.1", false),
        ] {
            assert_eq!(
                covers(network, address.parse().unwrap()),
                expected,
                "{network} {address}"
            );
        }
    }
}
