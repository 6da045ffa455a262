//! The machine around a guest's kernel: the program that runs it, its command line, and what it is to become.

use backsight_agent::{GuestInterface, GuestSetup};
use backsight_model::{Host, HostKind, HostName, Lab, Link, Machine};
use std::path::{Path, PathBuf};

use super::{Kernel, initramfs};
use crate::{HostAccess, emulator::QEMU, netns};

/// A guest's memory unless the lab says otherwise, in bytes.
const MEMORY: u64 = 256 << 20;
/// What a kernel of User Mode Linux calls its channel.
const SERIAL: &str = "/dev/ttyS0";
/// What a kernel in an emulated machine calls it.
const SECOND_SERIAL: &str = "/dev/ttyS1";

/// Why the parts of a machine can't be put together.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// The socket of its channel.
    #[error("its channel can't be made: {0}")]
    Channel(std::io::Error),
    /// What it starts with.
    #[error(transparent)]
    Initramfs(#[from] initramfs::InitramfsError),
    /// A part of a virtual machine isn't there, or can't be made; and what to do.
    #[error("{0}")]
    Machine(String),
}

impl PartsError {
    pub(crate) fn channel(cause: std::io::Error) -> Self {
        Self::Channel(cause)
    }
}

/// An interface of a guest and the tap that is its other end.
struct Port {
    mac: String,
    tap: String,
}

/// The ports of a guest, one a link.
fn ports(lab: &Lab, host: &HostName) -> Vec<Port> {
    let ends = lab.link.iter().enumerate().filter_map(|(number, link)| {
        let end = link.ends.get_index_of(host)?;
        Some(Port {
            mac: mac(number, end),
            tap: netns::tap(number),
        })
    });
    ends.collect()
}

/// A hardware address that no other interface of its link has: one that is given out locally.
fn mac(link: usize, end: usize) -> String {
    let [high, low] = u16::try_from(link).unwrap_or(u16::MAX).to_be_bytes();
    format!("02:b5:00:{high:02x}:{low:02x}:{end:02x}")
}

/// What the guest is to become.
pub(crate) fn setup(lab: &Lab, host: &HostName, shown: &[PathBuf]) -> GuestSetup {
    let settings = &lab.host[host];
    let interface = |number: usize, link: &Link| {
        let (end, _, address) = link.ends.get_full(host)?;
        let peer = link.ends.keys().find(|end| end.as_str() != host.as_str())?;
        Some(GuestInterface {
            mac: mac(number, end),
            name: lab.interface(link, peer),
            address: address.to_string(),
            mtu: link.mtu,
        })
    };
    let links = lab.link.iter().enumerate();
    GuestSetup {
        hostname: Some(host.to_string()),
        root: settings.root.as_ref().map(|root| PathBuf::from(&**root)),
        // What isn't on this machine's own root can't be shown there.
        shown: if settings.kind == HostKind::Uml && settings.root.is_none() {
            shown.to_vec()
        } else {
            Vec::new()
        },
        interfaces: links
            .filter_map(|(number, link)| interface(number, link))
            .collect(),
        routes: settings
            .routes
            .iter()
            .map(|route| (**route).clone())
            .collect(),
        sysctl: netns::sysctls(lab, host)
            .map(|(key, value)| (netns::sysctl_path(key), value.to_owned()))
            .collect(),
        keeps_disk: settings.kind == HostKind::Vm,
        stays_on: false,
    }
}

/// The program and its arguments.
///
/// # Errors
/// What it starts with can't be made.
pub(crate) fn command_line(
    reach: &HostAccess,
    lab: &Lab,
    host: &HostName,
    kernel: &Kernel,
    folder: &Path,
    socket: &Path,
) -> Result<Vec<String>, PartsError> {
    let settings = &lab.host[host];
    let ports = ports(lab, host);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Ok(match kernel.kind {
        HostKind::Qemu => {
            let linked = !ports.is_empty();
            let initramfs = folder.join("initramfs");
            let (programs, memory) = (&settings.programs, memory(settings));
            initramfs::write(&initramfs, &reach.program, programs, linked, memory)?;
            emulated(settings, &ports, kernel, &initramfs, socket)
        }
        _ => {
            let mut words = vec![
                text(&reach.program),
                "agent".into(),
                "--channel".into(),
                text(socket),
                text(&kernel.image),
            ];
            words.extend(as_a_process(
                settings,
                &ports,
                kernel,
                &reach.program,
                folder,
            ));
            words
        }
    })
}

/// The arguments of a kernel that is a process.
fn as_a_process(
    settings: &Host,
    ports: &[Port],
    kernel: &Kernel,
    agent: &Path,
    folder: &Path,
) -> Vec<String> {
    let mut words = vec![
        format!("mem={}K", memory(settings) >> 10),
        format!("uml_dir={}/", folder.display()),
        "umid=kernel".into(),
        "root=/dev/root".into(),
        "rootfstype=hostfs".into(),
        "rootflags=/".into(),
        "ro".into(),
        "con=null".into(),
        "con0=null,fd:1".into(),
        "ssl=null".into(),
        "ssl0=fd:3,fd:3".into(),
        // It ends at once where it would wait to be looked at.
        "panic=-1".into(),
        format!("init={}", quoted(agent)),
    ];
    words.extend(ports.iter().enumerate().map(|(number, port)| {
        let Port { mac, tap } = port;
        format!("vec{number}:transport=tap,ifname={tap},depth=128,gro=1,mac={mac}")
    }));
    words.extend(kernel.args.split_whitespace().map(str::to_owned));
    words.extend(["--", "agent", "--init", SERIAL].map(str::to_owned));
    words
}

/// A path as one word of a kernel's command line.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.contains(char::is_whitespace) {
        format!("\"{path}\"")
    } else {
        path.into_owned()
    }
}

/// The emulator's command for a kernel in an emulated machine.
fn emulated(
    settings: &Host,
    ports: &[Port],
    kernel: &Kernel,
    initramfs: &Path,
    socket: &Path,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("-machine", "pc".into());
    match kernel.icount {
        Some(shift) => {
            add("-accel", "tcg,thread=single".into());
            add("-icount", format!("shift={shift},sleep=off"));
        }
        None if has_kvm(settings) => add("-accel", "kvm".into()),
        None => add("-accel", "tcg".into()),
    }
    let cpus = settings.cpus.as_deref().copied().unwrap_or(1);
    add("-cpu", "max".into());
    add("-smp", cpus.to_string());
    add("-m", format!("{}M", memory(settings) >> 20));
    add("-display", "none".into());
    add("-kernel", kernel.image.to_string_lossy().into_owned());
    add("-initrd", initramfs.to_string_lossy().into_owned());
    // A restart is how such a machine ends: not every kernel can power it off.
    let end = format!("-- agent --init {SECOND_SERIAL} --restart");
    add(
        "-append",
        format!("console=ttyS0 panic=-1 {} {end}", kernel.args),
    );
    add("-chardev", "stdio,id=console,signal=off".into());
    let commas = socket.to_string_lossy().replace(',', ",,");
    add("-chardev", format!("socket,id=channel,path={commas}"));
    // Every kernel for such a machine drives these; virtio may be a module that nobody loads.
    add("-serial", "chardev:console".into());
    add("-serial", "chardev:channel".into());
    words.extend(cards(ports));
    let flags = ["-nodefaults", "-no-user-config", "-no-reboot"];
    let program = std::iter::once(QEMU.to_owned());
    program
        .chain(flags.map(str::to_owned))
        .chain(words)
        .collect()
}

/// The emulator's arguments for the interfaces of a host.
pub(crate) fn network_words(lab: &Lab, host: &HostName) -> Vec<String> {
    cards(&ports(lab, host))
}

fn cards(ports: &[Port]) -> Vec<String> {
    let cards = ports.iter().enumerate();
    let words = cards.flat_map(|(number, Port { mac, tap })| {
        let net = format!("tap,id=net{number},ifname={tap},script=no,downscript=no");
        let card = format!("virtio-net-pci,netdev=net{number},mac={mac},romfile=");
        ["-netdev".to_owned(), net, "-device".to_owned(), card]
    });
    words.collect()
}

/// What a guest of these settings will be, for placeholders that are filled before it is booted.
pub(crate) fn promised(settings: &Host) -> Machine {
    let cpus = settings.cpus.as_deref().copied().unwrap_or(1);
    Machine::new(cpus, memory(settings))
}

/// Whether the lab gives the machine a processor of its own.
pub(crate) fn has_kvm(settings: &Host) -> bool {
    settings.kvm.as_deref().copied().unwrap_or(false)
}

pub(crate) fn memory(settings: &Host) -> u64 {
    settings.memory.as_deref().map_or(MEMORY, |memory| memory.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::TomlDocument;

    #[test]
    fn a_guest_is_told_its_addresses_by_hardware_address() {
        let lab = Lab::read(&TomlDocument::new(
            "lab.toml",
            "[host.one]\nkind = \"uml\"\nforward = true\nsysctl = { \"net.core.rmem_max\" = \"4096\" }\n\
             [host.two]\nkind = \"netns\"\n[host.three]\nkind = \"netns\"\n\
             [[link]]\nends = { two = \"10.0.1.2/24\", three = \"10.0.1.3/24\" }\n\
             [[link]]\nends = { two = \"10.0.0.2/24\", one = \"10.0.0.1/24\" }\nmtu = 9000\n",
        ))
        .unwrap();
        let setup = setup(&lab, &HostName::new("one").unwrap(), &["/tmp/x".into()]);
        assert_eq!(
            setup.interfaces,
            [GuestInterface {
                mac: "02:b5:00:00:01:01".into(),
                name: "to-two".into(),
                address: "10.0.0.1/24".into(),
                mtu: Some(9000),
            }]
        );
        assert!(
            setup
                .sysctl
                .contains(&("net/core/rmem_max".into(), "4096".into()))
        );
        assert_eq!(setup.sysctl.len(), 2, "nothing of it is of IPv6");
        assert_eq!(setup.shown, [Path::new("/tmp/x")]);
    }
}
