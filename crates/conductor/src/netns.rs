//! Network namespaces as hosts: making those of a lab, removing them.
//!
//! Namespaces are called `backsight:LAB:HOST`; no other name can have that form, so only what was made
//! here is ever removed. Making and removing may be repeated; what is there already is left as it is.
//!
//! The machine's own interfaces, routes and rules are never touched.

use backsight_model::{Address, Host, HostKind, HostName, Lab, LabName, Link};
use std::{
    collections::BTreeSet,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Why namespaces can't be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// The program `ip` isn't there.
    #[error("the program `ip` is not installed: apt-get install iproute2")]
    NoIp,
    /// Only root may.
    #[error("making network namespaces needs root: run it with sudo")]
    NotRoot,
    /// `ip` refused.
    #[error("`{command}` failed: {message}")]
    Refused {
        /// The command.
        command: String,
        /// What it said.
        message: String,
    },
    /// A host's settings can't be written.
    #[error("host `{host}`: can't set {key} to `{value}`: {message}")]
    Setting {
        /// The host.
        host: HostName,
        /// The sysctl.
        key: String,
        /// Its wanted value.
        value: String,
        /// What the system said.
        message: String,
    },
    /// Somebody measures in them.
    #[error(transparent)]
    Leased(#[from] crate::HostLockError),
}

/// The namespace of a host.
pub fn name(lab: &LabName, host: &HostName) -> String {
    format!("backsight:{lab}:{host}")
}

/// Whether a host's namespace is there.
pub fn is_up(lab: &LabName, host: &HostName) -> bool {
    file(lab, host).exists()
}

/// What stands for a host's namespace in the file system.
pub(crate) fn file(lab: &LabName, host: &HostName) -> PathBuf {
    Path::new("/run/netns").join(name(lab, host))
}

/// Hosts of a lab that are namespaces, containers among them, and kernels with links whose process lives in one.
pub fn hosts(lab: &Lab) -> impl Iterator<Item = (&HostName, &Host)> {
    lab.host
        .iter()
        .filter(|(name, _)| is_namespace(lab, name))
        .map(|(name, host)| (&**name, host))
}

/// Whether a host is there, or what makes or reaches it, in words.
pub fn state(lab: &Lab, host: &HostName) -> &'static str {
    match lab.host.get(host).map(|settings| settings.kind) {
        Some(kind) if kind.is_guest() && !is_namespace(lab, host) => "booted by step",
        Some(HostKind::Vm) if !is_namespace(lab, host) => "booted when it measures",
        Some(HostKind::Ssh) => "reached with ssh",
        Some(HostKind::Domain) => "a domain of libvirt",
        Some(HostKind::Local) => "up",
        _ if is_up(&lab.name, host) => "up",
        _ => "down",
    }
}

/// Whether a host has a namespace.
pub fn is_namespace(lab: &Lab, host: &HostName) -> bool {
    lab.host.get(host).is_some_and(|settings| {
        settings.kind.is_plain_namespace()
            || (settings.kind.is_kernel_in_process()
                && lab.link.iter().any(|link| link.ends.contains_key(host)))
    })
}

/// The interface that a guest's process has on the link of this number, in the guest's namespace.
pub(crate) fn tap(link: usize) -> String {
    format!("tap.{link}")
}

/// Whether frames pass between a guest's process and its links. The kernel takes up to a second to see that somebody
/// has opened the tap, and that there is somebody at the other end of the link.
pub(crate) fn passes(lab: &Lab, host: &HostName) -> bool {
    let space = name(&lab.name, host);
    let links = lab.link.iter().enumerate();
    let mut own = links.filter(|(_, link)| link.ends.contains_key(host));
    own.all(|(number, _)| {
        let ports = ip(&[
            "-n",
            &space,
            "-details",
            "link",
            "show",
            "master",
            &bridge(number),
        ]);
        ports.is_ok_and(|ports| {
            let ports = String::from_utf8_lossy(&ports.stdout);
            // The tap and the link's end, each open to frames, which the bridge and the port itself have to see.
            [" state UP ", "bridge_slave state forwarding"]
                .iter()
                .all(|open| ports.matches(open).count() == 2)
        })
    })
}

/// The bridge between that and the link.
fn bridge(link: usize) -> String {
    format!("br.{link}")
}

/// Makes every namespace and link of the lab that isn't there; returns the hosts that were made.
///
/// # Errors
/// Not root, no `ip`, or the kernel refuses; what had been made stays and is completed the next time.
pub fn up(lab: &Lab) -> Result<Vec<HostName>, NetnsError> {
    require_root()?;
    let _alone = crate::host_locks::alone_in(lab)?;
    let mut made = Vec::new();
    for (host, _) in hosts(lab) {
        if !is_up(&lab.name, host) {
            ip(&["netns", "add", &name(&lab.name, host)])?;
            made.push(host.clone());
        }
        ip(&["-n", &name(&lab.name, host), "link", "set", "lo", "up"])?;
    }
    // Between machines they are there.
    let is_made = |link: &Link| link.ends.keys().all(|end| is_namespace(lab, end));
    let links = lab.link.iter().enumerate();
    for (number, link) in links.filter(|(_, link)| is_made(link)) {
        connect(lab, number, link)?;
    }
    // The settings of a kernel of its own are made there.
    for (host, settings) in hosts(lab).filter(|(_, it)| it.kind.is_plain_namespace()) {
        set_up(lab, host, settings)?;
    }
    Ok(made)
}

/// Removes every namespace of the lab, and the processes in them; returns the names that were removed.
///
/// Namespaces of hosts that the lab file no longer has go too: they bear the lab's name.
///
/// # Errors
/// Not root, a study measures in them, or the kernel refuses.
pub fn down(lab: &Lab) -> Result<Vec<String>, NetnsError> {
    let prefix = format!("backsight:{}:", lab.name);
    let found = || -> BTreeSet<String> {
        std::fs::read_dir("/run/netns")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(&prefix))
            .collect()
    };
    if found().is_empty() {
        return Ok(Vec::new());
    }
    require_root()?;
    let _alone = crate::host_locks::alone_in(lab)?;
    let found = found();
    let leased: Vec<HostName> = hosts(lab).map(|(host, _)| host.clone()).collect();
    let _lease = crate::host_locks::take_soon(lab, &leased, "`backsight lab down`")?;
    for name in &found {
        end_processes(name)?;
        ip(&["netns", "del", name])?;
    }
    Ok(found.into_iter().collect())
}

/// A namespace lives as long as a process in it; only processes inside of it are ended.
fn end_processes(namespace: &str) -> Result<(), NetnsError> {
    let listed = ip(&["netns", "pids", namespace])?;
    for pid in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
        if let Some(pid) = pid.parse().ok().and_then(rustix::process::Pid::from_raw) {
            // Gone already is as good.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    Ok(())
}

fn connect(lab: &Lab, number: usize, link: &Link) -> Result<(), NetnsError> {
    let ends: Vec<(&HostName, Address)> = link
        .ends
        .iter()
        .map(|(host, address)| (&**host, *address))
        .collect();
    let &[(a, address_a), (b, address_b)] = ends.as_slice() else {
        return Ok(());
    };
    let (space_a, space_b) = (name(&lab.name, a), name(&lab.name, b));
    let (interface_a, interface_b) = (lab.interface(link, b), lab.interface(link, a));
    let there =
        |space: &str, interface: &str| ip(&["-n", space, "link", "show", "dev", interface]).is_ok();
    if !(there(&space_a, &interface_a) && there(&space_b, &interface_b)) {
        // A half that was left by an interrupted `up` goes with its other half, if it has one.
        for (space, interface) in [(&space_a, &interface_a), (&space_b, &interface_b)] {
            let _ = ip(&["-n", space, "link", "del", "dev", interface]);
        }
        ip(&[
            "link",
            "add",
            &interface_a,
            "netns",
            &space_a,
            "type",
            "veth",
            "peer",
            "name",
            &interface_b,
            "netns",
            &space_b,
        ])?;
    }
    for (host, space, interface, address) in [
        (a, &space_a, &interface_a, address_a),
        (b, &space_b, &interface_b, address_b),
    ] {
        let kind = lab.host.get(host).map(|host| host.kind);
        if kind.is_some_and(HostKind::is_kernel_in_process) {
            bridge_to_guest(space, interface, number, link.mtu)?;
        } else {
            give_address(space, interface, address, link.mtu)?;
        }
    }
    Ok(())
}

fn give_address(
    space: &str,
    interface: &str,
    address: Address,
    mtu: Option<u32>,
) -> Result<(), NetnsError> {
    let address_text = address.to_string();
    let mut command = vec!["-n", space, "address", "replace", &address_text];
    command.extend(["dev", interface]);
    if address.ip.is_ipv6() {
        // Nobody else is on this link, and an address under detection can't be used for a second.
        command.push("nodad");
    }
    ip(&command)?;
    bring_up(space, interface, mtu)
}

fn bring_up(space: &str, interface: &str, mtu: Option<u32>) -> Result<(), NetnsError> {
    let mtu = mtu.map(|mtu| mtu.to_string());
    let mut command = vec!["-n", space, "link", "set", "dev", interface];
    if let Some(mtu) = &mtu {
        command.extend(["mtu", mtu]);
    }
    command.push("up");
    ip(&command)?;
    Ok(())
}

/// Joins the end of a link to the interface that a guest's process opens. Nothing of this machine speaks on it.
fn bridge_to_guest(
    space: &str,
    interface: &str,
    number: usize,
    mtu: Option<u32>,
) -> Result<(), NetnsError> {
    let (tap, bridge) = (tap(number), bridge(number));
    let there = |name: &str| ip(&["-n", space, "link", "show", "dev", name]).is_ok();
    if !there(&bridge) {
        let mut command = vec!["-n", space, "link", "add", &bridge, "type", "bridge"];
        // Frames are let through from the first moment, and nobody asks who listens.
        command.extend([
            "forward_delay",
            "0",
            "stp_state",
            "0",
            "mcast_snooping",
            "0",
        ]);
        ip(&command)?;
    }
    if !there(&tap) {
        // The flags with which the guest's process opens it.
        ip(&[
            "-n", space, "tuntap", "add", "dev", &tap, "mode", "tap", "vnet_hdr",
        ])?;
    }
    for name in [interface, &tap, &bridge] {
        ip(&[
            "-n",
            space,
            "link",
            "set",
            "dev",
            name,
            "addrgenmode",
            "none",
        ])?;
        if name != bridge {
            ip(&["-n", space, "link", "set", "dev", name, "master", &bridge])?;
        }
        bring_up(space, name, mtu)?;
    }
    Ok(())
}

fn set_up(lab: &Lab, host: &HostName, settings: &Host) -> Result<(), NetnsError> {
    let space = name(&lab.name, host);
    for route in &settings.routes {
        let mut command = vec!["-n", space.as_str(), "route", "replace"];
        command.extend(route.split_whitespace());
        ip(&command)?;
    }
    for (key, value) in sysctls(lab, host) {
        set_sysctl(&space, host, key, value)?;
    }
    Ok(())
}

/// What is written with `sysctl` on a host.
pub(crate) fn sysctls<'a>(
    lab: &'a Lab,
    host: &HostName,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let own = lab.host[host].sysctl.iter();
    lab.forwarding(host)
        .map(|key| (key, "1"))
        .chain(own.map(|(key, value)| (key.as_str(), value.as_str())))
}

/// Where a setting lies below `/proc/sys`. They are separated by dots, except in names of interfaces, where people
/// write slashes.
pub(crate) fn sysctl_path(key: &str) -> String {
    if key.contains('/') {
        key.to_owned()
    } else {
        key.replace('.', "/")
    }
}

fn set_sysctl(space: &str, host: &HostName, key: &str, value: &str) -> Result<(), NetnsError> {
    let fault = |message: String| NetnsError::Setting {
        host: host.clone(),
        key: key.to_owned(),
        value: value.to_owned(),
        message,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    if !key.chars().all(plain) || key.contains("..") {
        return Err(fault("no such setting".into()));
    }
    let path = sysctl_path(key);
    let mut child = Command::new("ip")
        .args(["netns", "exec", space, "tee", &format!("/proc/sys/{path}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| fault(e.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // If `tee` has gone, its own words say why.
        let _ = input.write_all(value.as_bytes());
    }
    let output = child.wait_with_output().map_err(|e| fault(e.to_string()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(fault(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}

fn require_root() -> Result<(), NetnsError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(NetnsError::NotRoot)
    }
}

fn ip(arguments: &[&str]) -> Result<Output, NetnsError> {
    let refused = |message: String| NetnsError::Refused {
        command: format!("ip {}", arguments.join(" ")),
        message,
    };
    let output = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => NetnsError::NoIp,
            _ => refused(e.to_string()),
        })?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(refused(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}
