//! A lab: hosts, the links between them, and testbeds that assign roles to hosts.
//!
//! Data-plane addresses (links) and the way in (the host's kind) are different things here.
//!
//! What a person writes (groups, defaults, variables, included files) is written out as one document with every host in full
//! ([`Lab::open`]), which is read, stored with studies and published.
//!
//! A link or a role on a host that doesn't exist, an address used twice, and a role without a host are errors.

mod file;
pub(crate) mod host_pattern;
pub(crate) mod host_set;
mod network_settings;
mod virtual_host;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{collections::BTreeMap, fmt, net::IpAddr};

pub(crate) use self::file::file_schema;
pub use self::file::{LabFileError, toml_quoted};
use self::host_set::HostSets;
pub use self::virtual_host::{Channel, ContainerEngine, Recipe, Restore};
use crate::{
    Console, DocumentError, GroupName, HostName, HostPattern, Install, LabName, LinkName, Located,
    Power, PowerMeans, Preparation, RoleName, Seat, Size, TagName, Template, TestbedName,
    TomlDocument, document::did_you_mean,
};

/// A lab file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Its name; namespaces made for it begin with it.
    #[serde(default = "default_name")]
    pub name: LabName,
    /// All hosts.
    #[serde(default)]
    pub host: IndexMap<Located<HostName>, Host>,
    /// Hosts that are named, and described, together.
    #[serde(default)]
    pub group: IndexMap<Located<GroupName>, Group>,
    /// Links between hosts: made by `backsight lab up` between namespaces and guests, looked up between machines.
    #[serde(default)]
    pub link: Vec<Link>,
    /// Which host plays which role.
    #[serde(default)]
    pub testbed: IndexMap<Located<TestbedName>, Testbed>,
}

fn default_name() -> LabName {
    LabName::new("lab").unwrap_or_else(|_| unreachable!("a valid name"))
}

/// What a host is, and so how it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostKind {
    /// This machine.
    Local,
    /// A network namespace of this machine, made by `backsight lab up`.
    Netns,
    /// A Linux kernel that is a process of this machine (User Mode Linux), booted with each build of a target.
    Uml,
    /// A Linux kernel in an emulated machine (QEMU), booted with each build of a target.
    Qemu,
    /// Another machine, which `ssh` reaches without asking for anything.
    Ssh,
    /// A container of this machine, with files of its own.
    Container,
    /// A virtual machine of this machine, with a disk of its own.
    Vm,
    /// A virtual machine that libvirt has: a host of kind "vm" with `domain`.
    #[serde(rename = "vm", skip_deserializing)]
    #[schemars(skip)]
    Domain,
}

impl HostKind {
    /// Whether it is a kernel that is booted: it is there only when a build of a target runs on it.
    pub fn is_guest(self) -> bool {
        matches!(self, Self::Uml | Self::Qemu)
    }

    /// Whether it is a part of this machine: what is set for the machine as a whole is set for it.
    pub fn is_part_of_this_machine(self) -> bool {
        matches!(
            self,
            Self::Netns | Self::Uml | Self::Qemu | Self::Container | Self::Vm
        )
    }

    /// Whether it runs a kernel of its own inside a process of this machine.
    pub fn is_kernel_in_process(self) -> bool {
        matches!(self, Self::Uml | Self::Qemu | Self::Vm)
    }

    /// Whether it is a network namespace of this machine, made by `backsight lab up`, in which programs of this kernel run.
    pub fn is_plain_namespace(self) -> bool {
        matches!(self, Self::Netns | Self::Container)
    }

    /// Whether it doesn't see the files of this machine.
    pub fn has_own_files(self) -> bool {
        matches!(self, Self::Ssh | Self::Container | Self::Vm | Self::Domain)
    }

    /// Whether it is a machine that is there without us, as a whole.
    pub fn is_machine(self) -> bool {
        matches!(self, Self::Local | Self::Ssh | Self::Domain)
    }

    /// Whether it is such a machine and not this one.
    pub fn is_other_machine(self) -> bool {
        matches!(self, Self::Ssh | Self::Domain)
    }
}

impl fmt::Display for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "local",
            Self::Netns => "netns",
            Self::Uml => "uml",
            Self::Qemu => "qemu",
            Self::Ssh => "ssh",
            Self::Container => "container",
            Self::Vm | Self::Domain => "vm",
        })
    }
}

/// Hosts that are named together. What the lab's file says of them besides stands with each host when the file is written out.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its hosts.
    pub hosts: Located<HostSets>,
}

impl Group {
    /// Its hosts, each once.
    pub fn members(&self) -> Vec<HostName> {
        let all = self.hosts.0.iter().flat_map(|set| set.expand());
        all.collect::<indexmap::IndexSet<_>>().into_iter().collect()
    }

    /// Whether a host is in it.
    pub fn has(&self, host: &HostName) -> bool {
        self.hosts.0.iter().any(|set| set.has(host))
    }
}

/// What a host does in its own way when it is rebooted with a build of a target.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCommands {
    /// In place of the target's `run`.
    #[serde(default)]
    pub run: Option<Template>,
    /// In place of the target's `reboot`.
    #[serde(default)]
    pub reboot: Option<Template>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What it is.
    pub kind: HostKind,
    /// Whether it forwards packets between its links; of a machine only while a study measures.
    #[serde(default)]
    pub forward: bool,
    /// Words by which hosts are found: `tag:10g`. Those of the host, its groups and the defaults add up.
    #[serde(default)]
    pub tags: Vec<Located<TagName>>,
    /// Routes, as `ip route add` takes them: `10.77.2.0/24 via 10.77.1.2`. A machine has them while a study measures.
    #[serde(default)]
    pub routes: Vec<Located<String>>,
    /// Settings written with `sysctl`: when it comes up, or on a machine while a study measures.
    #[serde(default)]
    pub sysctl: IndexMap<String, String>,
    /// Its data-plane address, if no link gives it one.
    #[serde(default)]
    pub data: Option<IpAddr>,
    /// A guest's memory; 256 MiB unless said.
    #[serde(default)]
    pub memory: Option<Located<Size>>,
    /// An emulated machine's processors; one unless said.
    #[serde(default)]
    pub cpus: Option<Located<u32>>,
    /// Whether an emulated machine's processor is this machine's own (KVM), not an emulated one. Unless said, a host of kind "vm" has
    /// it where it can be had.
    #[serde(default)]
    pub kvm: Option<Located<bool>>,
    /// The folder that is the root of a host of kind "uml"; this machine's own root unless said. It is read only.
    #[serde(default)]
    pub root: Option<Located<String>>,
    /// Programs of this machine that a host of kind "qemu" gets, each with the libraries that it needs; paths,
    /// or names that this machine's `PATH` finds.
    #[serde(default)]
    pub programs: Vec<Located<String>>,
    /// For a host that `ssh` reaches, who logs in and where, as `ssh` takes it: `root@dut.example.org`; the host's own name
    /// unless said, which `~/.ssh/config` may explain.
    #[serde(default)]
    pub login: Option<Located<String>>,
    /// What `ssh`, the engine of a container, or QEMU for a host of kind "vm" is told besides, word by word: `["-p", "2222"]`.
    #[serde(default)]
    pub options: Vec<Located<String>>,
    /// Settings that it has while a study measures, and that are put back after it: a table of settings, or a list of sets and
    /// such tables. For hosts of kind "local" and "ssh", and domains of libvirt.
    #[serde(default)]
    pub prepare: Option<Preparation>,
    /// Where the login isn't root: the command that makes a program root's without asking for anything, word by word, for settings
    /// that need it: `["sudo", "-n"]`.
    #[serde(default, rename = "become-root")]
    pub become_root: Vec<String>,
    /// What a host of kind "ssh" does in its own way for targets with `boot = "ssh-reboot"`.
    #[serde(default, rename = "ssh-reboot")]
    pub ssh_reboot: Option<Located<HostCommands>>,
    /// The same for targets with `boot = "kexec"`.
    #[serde(default)]
    pub kexec: Option<Located<HostCommands>>,
    /// How a host of kind "ssh" or a domain of libvirt is switched on and off: its BMC, or commands; a domain by `virsh` unless said.
    #[serde(default)]
    pub power: Option<Located<Power>>,
    /// Where the console of such a host is heard: the command whose output it is, a serial line, or its BMC; a domain's by `virsh` unless
    /// said.
    #[serde(default)]
    pub console: Option<Located<Console>>,
    /// How a host of kind "ssh" gets another release of its system: what `lab install` does.
    #[serde(default)]
    pub install: Option<Located<Install>>,
    /// The image that a host of kind "container" is made of, as podman and docker take it: `debian:12`.
    #[serde(default)]
    pub image: Option<Located<String>>,
    /// The folder with the root of a host of kind "container", in place of an image.
    #[serde(default)]
    pub folder: Option<Located<String>>,
    /// What runs a host of kind "container"; the first that this machine has unless said.
    #[serde(default)]
    pub engine: Option<Located<ContainerEngine>>,
    /// The disk of a host of kind "vm", a file in any format that QEMU knows. Its system starts the agent: see
    /// "Measure in virtual machines and containers".
    #[serde(default)]
    pub disk: Option<Located<String>>,
    /// The kernel that a host of kind "vm" boots, in place of what its disk's boot loader chooses.
    #[serde(default)]
    pub kernel: Option<Located<String>>,
    /// The initial file system of that kernel.
    #[serde(default)]
    pub initrd: Option<Located<String>>,
    /// The command line of that kernel: `root=/dev/vda1 ro`.
    #[serde(default)]
    pub append: Option<Located<String>>,
    /// The system that `backsight lab provision` makes a container or a virtual machine of.
    #[serde(default)]
    pub recipe: Option<Located<Recipe>>,
    /// When a container or a virtual machine goes back to what it is made of, or to its snapshot: before each "trial", for each "study"
    /// (unless said), or "never".
    #[serde(default)]
    pub restore: Option<Located<Restore>>,
    /// The domain of libvirt that a host of kind "vm" is, by its name, or by the file with its definition, of which `backsight lab
    /// provision` has libvirt make it; in place of a disk.
    #[serde(default)]
    pub domain: Option<Located<String>>,
    /// The libvirt that has the domain, as `virsh --connect` takes it: `qemu:///system`; virsh's own choice unless said.
    #[serde(default)]
    pub connect: Option<Located<String>>,
    /// The snapshot that the domain goes back to.
    #[serde(default)]
    pub snapshot: Option<Located<String>>,
    /// How the agent in a domain is reached: "virtio-serial" (unless said) or "vsock", which need no network of it, or "ssh".
    #[serde(default)]
    pub channel: Option<Located<Channel>>,
}

impl Host {
    /// The least memory that a kernel can do anything with, and the most that its name for it can say, in bytes.
    const MEMORY: std::ops::RangeInclusive<u64> = 32 << 20..=1 << 40;
    /// The most processors that an emulated machine may have.
    const CPUS: std::ops::RangeInclusive<u32> = 1..=64;

    fn check(
        &self,
        name: &Located<HostName>,
        document: &TomlDocument,
    ) -> Result<(), DocumentError> {
        if self.prepare.is_some() && !self.kind.is_machine() {
            return Err(document.problem(
                name.span(),
                format!("a host of kind \"{}\" can't be prepared", self.kind),
                "has `prepare`",
                Some(
                    "`prepare` is for hosts of kind \"local\" and \"ssh\" and domains of libvirt; namespaces and guests are parts of this machine, which the \
                     plan's `prepare` or that of a host of kind \"local\" is for"
                        .into(),
                ),
            ));
        }
        self.check_domain(document)?;
        self.check_guest(document)?;
        self.check_virtual(name, document)?;
        self.check_far(name, document)
    }

    /// What only a guest has.
    fn check_guest(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let kind = self.kind;
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        match &self.memory {
            Some(memory) if !kind.is_kernel_in_process() => {
                return fault(
                    memory.span(),
                    format!("a host of kind \"{kind}\" has the memory that it has"),
                    "`memory` is for hosts of kind \"uml\", \"qemu\" and \"vm\"",
                );
            }
            Some(memory) if !Self::MEMORY.contains(&memory.0) => {
                return fault(
                    memory.span(),
                    format!("a kernel with {} bytes of memory can't be booted", memory.0),
                    "expected at least 32MiB, for example memory = \"256MiB\"",
                );
            }
            _ => {}
        }
        match &self.cpus {
            Some(cpus) if !matches!(kind, HostKind::Qemu | HostKind::Vm) => {
                return fault(
                    cpus.span(),
                    format!("a host of kind \"{kind}\" has the processors that it has"),
                    "`cpus` is for hosts of kind \"qemu\" and \"vm\"; a kernel that is a process has one",
                );
            }
            Some(cpus) if !Self::CPUS.contains(cpus) => {
                return fault(
                    cpus.span(),
                    format!("{} processors", **cpus),
                    "expected 1 to 64",
                );
            }
            _ => {}
        }
        if let Some(kvm) = &self.kvm
            && !matches!(kind, HostKind::Qemu | HostKind::Vm)
        {
            return fault(
                kvm.span(),
                format!("a host of kind \"{kind}\" has no emulated processor"),
                "`kvm` is for hosts of kind \"qemu\" and \"vm\"",
            );
        }
        match &self.root {
            Some(root) if kind != HostKind::Uml => {
                return fault(
                    root.span(),
                    format!("a host of kind \"{kind}\" can't be given a root"),
                    "`root` is for hosts of kind \"uml\"",
                );
            }
            Some(root) if !root.starts_with('/') || root.contains([',', '\0']) => {
                return fault(
                    root.span(),
                    format!("`{}` is no folder that can be a root", **root),
                    "expected a path from `/` on, without commas",
                );
            }
            _ => {}
        }
        match self.programs.first() {
            Some(program) if kind != HostKind::Qemu => fault(
                program.span(),
                format!("a host of kind \"{kind}\" isn't given programs: it has those of its root"),
                "`programs` is for hosts of kind \"qemu\", which have none of their own",
            ),
            _ => Ok(()),
        }
    }

    /// What only another machine has, and what it can't be given.
    fn check_far(
        &self,
        name: &Located<HostName>,
        document: &TomlDocument,
    ) -> Result<(), DocumentError> {
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        let commands = [&self.ssh_reboot, &self.kexec];
        if self.kind.is_other_machine() {
            if let Some(login) = &self.login
                && (login.is_empty()
                    || login.starts_with('-')
                    || login.contains(char::is_whitespace))
            {
                return fault(
                    login.span(),
                    format!("`{}` is nobody who could log in", **login),
                    "expected what `ssh` takes, for example login = \"root@dut.example.org\"",
                );
            }
            let has_bmc = self
                .power
                .as_ref()
                .is_some_and(|power| matches!(power.means, PowerMeans::Ipmi(_)));
            if let Some(console) = self
                .console
                .as_ref()
                .filter(|console| ***console == Console::Ipmi)
                && !has_bmc
            {
                return fault(
                    console.span(),
                    format!(
                        "host `{name}` has no BMC that could tell its console by serial over LAN"
                    ),
                    "add power = { ipmi = \"its address\", user = \"admin\", password-file = \"~/.bmc\" }",
                );
            }
            if let Some(install) = &self.install
                && let Err(message) = install.check(self.power.is_some(), has_bmc)
            {
                let message = format!("host `{name}` can't be installed so: {message}");
                let example = "expected for example install = { run = \"pxe-set {host} {release}\", proof = \"cat /etc/debian_version\" }";
                return fault(install.span(), message, example);
            }
            for commands in commands.into_iter().flatten() {
                for template in commands.run.iter().chain(&commands.reboot) {
                    crate::target::check_placeholders(document, commands.span(), template)?;
                }
            }
        }
        if self.kind == HostKind::Ssh {
            return Ok(());
        }
        let takes_options = matches!(self.kind, HostKind::Container | HostKind::Vm);
        let (by_ssh, is_domain) = (self.is_reached_by_ssh(), self.kind == HostKind::Domain);
        let only_far = [
            ("login", self.login.as_ref().map(Located::span), by_ssh),
            (
                "options",
                self.options.first().map(Located::span),
                takes_options || by_ssh,
            ),
            (
                "ssh-reboot",
                self.ssh_reboot.as_ref().map(Located::span),
                false,
            ),
            ("kexec", self.kexec.as_ref().map(Located::span), false),
            ("power", self.power.as_ref().map(Located::span), is_domain),
            (
                "console",
                self.console.as_ref().map(Located::span),
                is_domain,
            ),
            ("install", self.install.as_ref().map(Located::span), false),
        ];
        for (key, span, fits) in only_far {
            if let (Some(span), false) = (span, fits) {
                return fault(
                    span,
                    format!("a host of kind \"{}\" isn't reached with `ssh`", self.kind),
                    &format!("`{key}` is for hosts of kind \"ssh\""),
                );
            }
        }
        Ok(())
    }

    /// Whether its agent is started by `ssh`.
    pub fn is_reached_by_ssh(&self) -> bool {
        let by_ssh = self.agent_channel() == Channel::Ssh;
        self.kind == HostKind::Ssh || (self.kind == HostKind::Domain && by_ssh)
    }

    /// How the agent in a domain of libvirt is reached.
    pub fn agent_channel(&self) -> Channel {
        self.channel.as_deref().copied().unwrap_or_default()
    }

    /// Who logs in and where, as `ssh` takes it.
    pub fn login<'a>(&'a self, name: &'a HostName) -> &'a str {
        self.login
            .as_ref()
            .map_or(name.as_str(), |login| login.as_str())
    }

    /// A host of this kind and nothing else.
    pub fn new(kind: HostKind) -> Self {
        Self {
            kind,
            forward: false,
            tags: Vec::new(),
            routes: Vec::new(),
            sysctl: IndexMap::new(),
            data: None,
            memory: None,
            cpus: None,
            kvm: None,
            root: None,
            programs: Vec::new(),
            login: None,
            options: Vec::new(),
            prepare: None,
            become_root: Vec::new(),
            ssh_reboot: None,
            kexec: None,
            power: None,
            console: None,
            install: None,
            image: None,
            folder: None,
            engine: None,
            disk: None,
            kernel: None,
            initrd: None,
            append: None,
            recipe: None,
            restore: None,
            domain: None,
            connect: None,
            snapshot: None,
            channel: None,
        }
    }
}

/// A link. Between namespaces and guests a pair of virtual Ethernet interfaces, one in each host, which is made; between machines (hosts
/// of kind "ssh" and "local") what joins them, which is there: each must have its address on one of its interfaces.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name, by which a variant chooses it.
    #[serde(default)]
    pub name: Option<Located<LinkName>>,
    /// The two hosts with their addresses: `{ source = "10.77.1.1/24", dut = "10.77.1.2/24" }`.
    pub ends: Located<IndexMap<Located<HostName>, Address>>,
    /// Largest packet. On the interfaces of machines it is a setting, which is put back after the study.
    #[serde(default)]
    pub mtu: Option<u32>,
}

/// An address with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The host's address.
    pub ip: IpAddr,
    /// Bits of the network's prefix.
    pub prefix: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || {
            de::Error::custom(format!(
                "`{text}` is not an address: expected for example 10.77.1.1/24"
            ))
        };
        let (ip, prefix) = text.split_once('/').ok_or_else(bad)?;
        let ip: IpAddr = ip.parse().map_err(|_| bad())?;
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = prefix
            .parse()
            .ok()
            .filter(|bits| *bits <= longest)
            .ok_or_else(bad)?;
        Ok(Self { ip, prefix })
    }
}

impl JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An address with the length of its prefix: 10.77.1.1/24"
        })
    }
}

/// Roles, and the hosts that play them.
#[derive(Debug, Clone, PartialEq)]
pub struct Testbed {
    /// Who plays each role, and on which addresses.
    pub roles: IndexMap<Located<RoleName>, Seat>,
    /// Whether it always runs the same release, so that others are measured beside it.
    pub reference: bool,
    /// Words for `sbatch` that say on which of Slurm's nodes jobs of this testbed are run; empty where nobody says so.
    pub slurm: Vec<String>,
}

/// The keys of a testbed that are no roles.
const REFERENCE_KEY: &str = "reference";
const SLURM_KEY: &str = "slurm";

impl<'de> Deserialize<'de> for Testbed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> de::Visitor<'de> for Keys {
            type Value = Testbed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table: ROLE = \"HOST\", reference = true, or slurm = \"WORDS\"")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Testbed, A::Error> {
                let mut testbed = Testbed {
                    roles: IndexMap::new(),
                    reference: false,
                    slurm: Vec::new(),
                };
                while let Some(role) = map.next_key::<Located<RoleName>>()? {
                    if role.as_str() == REFERENCE_KEY {
                        testbed.reference = map.next_value()?;
                    } else if role.as_str() == SLURM_KEY {
                        let words: String = map.next_value()?;
                        let words = words.split_whitespace().map(str::to_owned);
                        testbed.slurm = words.collect();
                    } else {
                        testbed.roles.insert(role, map.next_value()?);
                    }
                }
                Ok(testbed)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

impl JsonSchema for Testbed {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Testbed".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let seat = generator.subschema_for::<Seat>();
        schemars::json_schema!({
            "type": "object",
            "description": "Roles, and the hosts that play them",
            "properties": {
                "reference": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether it always runs the same release, so that others are measured beside it"
                },
                "slurm": {
                    "type": "string",
                    "description": "Words for sbatch, between blanks: on which of Slurm's nodes jobs of this testbed are run that Slurm begins, such as -p lab -C big"
                }
            },
            "additionalProperties": seat
        })
    }
}

impl Lab {
    /// The lab that this document describes, in which every host stands in full: see [`Lab::write_out`].
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or its parts don't fit together; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        Self::read_with_preferred(document, &[])
    }

    /// The same with these hosts before others where only some hosts are to play a role.
    ///
    /// # Errors
    /// As [`Lab::read`].
    pub fn read_with_preferred(
        document: &TomlDocument,
        preferred: &[HostName],
    ) -> Result<Self, DocumentError> {
        let mut lab: Self = document.read()?;
        for host in lab.host.values_mut() {
            if host.kind == HostKind::Vm && host.domain.is_some() {
                host.kind = HostKind::Domain;
            }
        }
        lab.fill_seats(document, preferred)?;
        lab.check(document)?;
        Ok(lab)
    }

    /// What this machine is called where no file names it.
    pub fn this_machine_name() -> HostName {
        HostName::new("here").unwrap_or_else(|_| unreachable!("a valid name"))
    }

    /// What this machine is called in this lab: its first host of kind `local`, else a name that no host has.
    pub fn name_for_this_machine(&self) -> HostName {
        let mut hosts = self.host.iter();
        if let Some((name, _)) = hosts.find(|(_, host)| host.kind == HostKind::Local) {
            return (**name).clone();
        }
        let names = ["here", "this-machine", "this-very-machine"].map(HostName::new);
        let mut names = names.into_iter().flatten();
        let free = names.find(|name| !self.host.contains_key(name));
        free.unwrap_or_else(Self::this_machine_name)
    }

    /// The lab without a file: this machine, which plays every role.
    pub fn this_machine() -> Self {
        let host = Host::new(HostKind::Local);
        Self {
            name: default_name(),
            host: IndexMap::from([(Located::nowhere(Self::this_machine_name()), host)]),
            group: IndexMap::new(),
            link: Vec::new(),
            testbed: IndexMap::new(),
        }
    }

    /// Every data-plane address of a host, with the name of its link and the host at the other end.
    pub fn addresses<'a>(
        &'a self,
        host: &'a HostName,
    ) -> impl Iterator<Item = (&'a Link, Address, &'a HostName)> {
        self.link.iter().filter_map(move |link| {
            let address = *link.ends.get(host)?;
            let peer = link.ends.keys().find(|end| end.as_str() != host.as_str())?;
            Some((link, address, &**peer))
        })
    }

    /// The name of the interface that a host has on the link to this peer. Interface names are at most
    /// 15 bytes, so a long peer's name is cut and told apart by its link's number.
    pub fn interface(&self, link: &Link, peer: &HostName) -> String {
        let number = self
            .link
            .iter()
            .position(|l| std::ptr::eq(l, link))
            .unwrap_or(0);
        let first_to_peer = self.link.iter().position(|other| {
            other.ends.contains_key(peer)
                && link.ends.keys().all(|end| other.ends.contains_key(end))
        });
        let plain = format!("to-{peer}");
        if plain.len() <= 15 && first_to_peer == Some(number) {
            plain
        } else {
            let suffix = format!(".{number}");
            let room = 15 - suffix.len();
            format!("{}{suffix}", &plain[..plain.len().min(room)])
        }
    }

    /// Finds the hosts that play roles.
    fn fill_seats(
        &mut self,
        document: &TomlDocument,
        preferred: &[HostName],
    ) -> Result<(), DocumentError> {
        let mut testbeds = std::mem::take(&mut self.testbed);
        for seat in testbeds.values_mut().flat_map(|it| it.roles.values_mut()) {
            let select = |pattern: &HostPattern| self.select(std::slice::from_ref(pattern), &[]);
            seat.fill(preferred, select)
                .map_err(|why| document.problem(why.span, why.message, "used here", why.help))?;
        }
        self.testbed = testbeds;
        Ok(())
    }

    fn check(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let known = |name: &Located<HostName>| match self.host.get(&**name) {
            Some(_) => Ok(()),
            None => Err(document.problem(
                name.span(),
                format!("host `{name}` is not in this lab"),
                "used here",
                did_you_mean(name.as_str(), self.host.keys().map(|h| h.as_str())).or_else(|| {
                    let hosts: Vec<&str> = self.host.keys().map(|h| h.as_str()).collect();
                    Some(format!("this lab's hosts: {}", hosts.join(", ")))
                }),
            )),
        };
        for (name, host) in &self.host {
            host.check(name, document)?;
        }
        for group in self.group.values() {
            for host in group.members() {
                known(&Located::spanning(host, group.hosts.span()))?;
            }
        }
        let mut owners: BTreeMap<IpAddr, &HostName> = BTreeMap::new();
        for link in &self.link {
            if link.ends.len() != 2 {
                return Err(document.problem(
                    link.ends.span(),
                    format!("a link has two ends, this one has {}", link.ends.len()),
                    "expected two hosts with their addresses",
                    None,
                ));
            }
            for (host, address) in link.ends.iter() {
                known(host)?;
                let kind = |host: &HostName| self.host.get(host).map(|host| host.kind);
                let itself = match kind(host) {
                    Some(HostKind::Local) => Some("this machine itself"),
                    Some(kind) if kind.is_other_machine() => Some("a machine of its own"),
                    _ => None,
                };
                let is_made =
                    |end: &Located<HostName>| kind(end).is_some_and(|it| !it.is_machine());
                if let (Some(itself), Some(other)) =
                    (itself, link.ends.keys().find(|end| is_made(end)))
                {
                    return Err(document.problem(
                        host.span(),
                        format!("host `{host}` is {itself}: no link can be made between it and `{other}`"),
                        "here",
                        Some("links are made between hosts of kind \"netns\", \"container\", \"vm\", \"uml\" and \"qemu\", and those that are there are described between hosts of kind \"ssh\" and \"local\" and domains of libvirt".into()),
                    ));
                }
                if let Some(owner) = owners.insert(address.ip, host) {
                    return Err(document.problem(
                        host.span(),
                        format!("address {} is `{owner}`'s already", address.ip),
                        "used again here",
                        None,
                    ));
                }
            }
        }
        for testbed in self.testbed.values() {
            for player in testbed.roles.values().flat_map(Seat::instances) {
                if let Some(data) = &player.data {
                    self.data_address(&player.host, Some(data))
                        .map_err(|message| document.problem(data.span(), message, "here", None))?;
                }
            }
        }
        Ok(())
    }

    /// The data-plane address of a host: the one that `choice` names (a link or an address of the host),
    /// else its own `data`, else that of its first link, else loopback. With the interface that has it.
    ///
    /// # Errors
    /// The host has no such link or address; a clause for a message.
    pub fn data_address(
        &self,
        host: &HostName,
        choice: Option<&str>,
    ) -> Result<(IpAddr, Option<String>), String> {
        let kind = self.host.get(host).map(|host| host.kind);
        // What the interfaces of a machine are called, only it knows.
        let is_made = kind.is_none_or(|kind| !kind.is_machine());
        let of = |(link, address, peer): (&Link, Address, &HostName)| {
            let interface = is_made.then(|| self.interface(link, peer));
            (address.ip, interface)
        };
        if let Some(choice) = choice {
            let wanted: Option<IpAddr> = choice.parse().ok();
            let own = self.host.get(host).and_then(|h| h.data);
            if wanted.is_some() && wanted == own {
                return Ok((own.unwrap_or(IpAddr::from([127, 0, 0, 1])), None));
            }
            return self
                .addresses(host)
                .find(|(link, address, _)| {
                    wanted == Some(address.ip)
                        || link
                            .name
                            .as_ref()
                            .is_some_and(|name| name.as_str() == choice)
                })
                .map(of)
                .ok_or_else(|| {
                    format!("host `{host}` has neither a link nor an address `{choice}`")
                });
        }
        if let Some(own) = self.host.get(host).and_then(|h| h.data) {
            return Ok((own, None));
        }
        match self.addresses(host).next() {
            Some(first) => Ok(of(first)),
            None if kind.is_some_and(HostKind::is_other_machine) => Err(format!(
                "host `{host}` has no address for what is measured: give it a link, or data = \"…\""
            )),
            None => Ok((IpAddr::from([127, 0, 0, 1]), Some("lo".into()))),
        }
    }

    /// The testbeds that are no reference.
    pub fn measured_testbeds(&self) -> impl Iterator<Item = (&Located<TestbedName>, &Testbed)> {
        self.testbed
            .iter()
            .filter(|(_, testbed)| !testbed.reference)
    }

    /// The testbed of this name; without a name the only one there is. A lab without testbeds seats every
    /// role on its only host.
    ///
    /// # Errors
    /// There is no such testbed, or the choice isn't clear; a message and, if there is one, a way out.
    pub fn choose_testbed(
        &self,
        name: Option<&str>,
        roles: &[RoleName],
    ) -> Result<(TestbedName, Testbed), (String, Option<String>)> {
        let list = || {
            let names: Vec<&str> = self.testbed.keys().map(|t| t.as_str()).collect();
            format!("this lab's testbeds: {}", names.join(", "))
        };
        match name {
            Some(name) => match self.testbed.get_key_value(name) {
                Some((name, testbed)) => Ok(((**name).clone(), testbed.clone())),
                None => Err((
                    format!("testbed `{name}` is not in this lab"),
                    did_you_mean(name, self.testbed.keys().map(|t| t.as_str())).or_else(|| Some(list())),
                )),
            },
            None => match (self.measured_testbeds().count(), self.host.len()) {
                (1, _) => {
                    let (name, testbed) = self.measured_testbeds().next().ok_or_else(|| ("no testbed".to_owned(), None))?;
                    Ok(((**name).clone(), testbed.clone()))
                }
                (0, 1) => {
                    let (host, _) = self.host.get_index(0).ok_or_else(|| ("no host".to_owned(), None))?;
                    let seats = roles
                        .iter()
                        .map(|role| (Located::nowhere(role.clone()), Seat::from(host.clone())))
                        .collect();
                    let name = TestbedName::new(host.as_str()).map_err(|e| (e.to_string(), None))?;
                    Ok((name, Testbed { roles: seats, reference: false, slurm: Vec::new() }))
                }
                (0, _) => Err((
                    "this lab has no testbed".into(),
                    Some("say which host plays which role, for example: [testbed.wire] server = \"sink\"".into()),
                )),
                _ => Err(("several testbeds, and the plan chooses none".into(), Some(list()))),
            },
        }
    }
}

impl std::borrow::Borrow<str> for Located<HostName> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl std::borrow::Borrow<str> for Located<GroupName> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl std::borrow::Borrow<str> for Located<TestbedName> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl std::borrow::Borrow<str> for Located<RoleName> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = r#"
name = "wire"
[host.source]
kind = "netns"
routes = ["10.77.2.0/24 via 10.77.1.2"]
[host.dut]
kind = "netns"
forward = true
[host.sink]
kind = "netns"
[[link]]
ends = { source = "10.77.1.1/24", dut = "10.77.1.2/24" }
[[link]]
ends = { dut = "10.77.2.1/24", sink = "10.77.2.2/24" }
[[link]]
name = "direct"
ends = { source = "10.77.3.1/24", sink = "10.77.3.2/24" }
[testbed.wire]
client = "source"
server = { host = "sink", data = "10.77.2.2" }
"#;

    fn lab(text: &str) -> Result<Lab, DocumentError> {
        Lab::read(&TomlDocument::new("lab.toml", text))
    }

    #[test]
    fn a_lab_knows_its_addresses_by_link() {
        let lab = lab(LAB).unwrap();
        let sink = HostName::new("sink").unwrap();
        let ip = |choice| {
            lab.data_address(&sink, choice)
                .map(|(ip, interface)| (ip.to_string(), interface))
        };
        assert_eq!(ip(None), Ok(("10.77.2.2".into(), Some("to-dut".into()))));
        assert_eq!(
            ip(Some("direct")),
            Ok(("10.77.3.2".into(), Some("to-source".into())))
        );
        assert!(ip(Some("10.1.1.1")).is_err());
    }

    #[test]
    fn faults_point_at_their_place() {
        let fault = |from: &str, to: &str| {
            let problem = lab(&LAB.replace(from, to)).unwrap_err();
            (problem.to_string(), problem.place().0)
        };
        let (message, line) = fault("client = \"source\"", "client = \"sourc\"");
        assert!(message.contains("`sourc` is not in this lab"), "{message}");
        assert_eq!(line, 19);
        let (message, line) = fault("10.77.3.2/24", "10.77.1.1/24");
        assert!(message.contains("`source`'s already"), "{message}");
        assert_eq!(line, 17);
        let (message, line) = fault("forward = true", "foward = true");
        assert!(message.contains("unknown field `foward`"), "{message}");
        assert_eq!(line, 8);
        assert!(
            fault("10.77.3.2/24", "10.77.3.2")
                .0
                .contains("not an address")
        );
        assert!(
            fault("\"10.77.2.2\"", "\"nowhere\"")
                .0
                .contains("neither a link nor an address")
        );
    }

    #[test]
    fn guests_have_what_their_kind_can_have() {
        let guest = |kind: &str, line: &str| {
            lab(&format!(
                "[host.here]\nkind = \"local\"\n[host.one]\nkind = \"{kind}\"\n{line}\n"
            ))
        };
        let read = guest("uml", "memory = \"128MiB\"\nroot = \"/srv/root\"").unwrap();
        let one = &read.host["one"];
        assert!(one.kind.is_guest());
        assert_eq!(one.memory.as_deref(), Some(&Size(128 << 20)));
        assert!(guest("qemu", "cpus = 2\nkvm = true\nprograms = [\"ip\"]").is_ok());
        for (kind, line, message) in [
            ("netns", "memory = \"128MiB\"", "memory that it has"),
            ("uml", "memory = \"1MiB\"", "can't be booted"),
            ("uml", "cpus = 2", "processors that it has"),
            ("qemu", "cpus = 0", "0 processors"),
            ("uml", "kvm = true", "no emulated processor"),
            ("qemu", "root = \"/srv\"", "can't be given a root"),
            ("uml", "root = \"srv\"", "no folder that can be a root"),
            ("uml", "programs = [\"ip\"]", "isn't given programs"),
            (
                "uml",
                "[[link]]\nends = { one = \"10.0.0.1/24\", here = \"10.0.0.2/24\" }",
                "this machine itself",
            ),
        ] {
            let problem = guest(kind, line).unwrap_err();
            assert!(problem.to_string().contains(message), "{line}: {problem}");
            assert!(problem.place().0 >= 5, "{line}: {:?}", problem.place());
        }
    }

    #[test]
    fn machines_that_ssh_reaches_are_described_and_not_made() {
        let far = |line: &str| {
            lab(&format!(
                "[host.here]\nkind = \"local\"\n[host.dut]\nkind = \"ssh\"\n{line}\n"
            ))
        };
        let read = far("login = \"root@10.0.0.5\"\noptions = [\"-p\", \"2222\"]\n\
             [host.dut.ssh-reboot]\nreboot = \"cycle {target}\"")
        .unwrap();
        let dut = &read.host["dut"];
        assert!(!dut.kind.is_guest());
        assert_eq!(dut.login(&HostName::new("dut").unwrap()), "root@10.0.0.5");
        assert_eq!(dut.options.len(), 2);
        assert!(dut.ssh_reboot.as_ref().unwrap().reboot.is_some());
        let plain = far("").unwrap();
        let name = HostName::new("dut").unwrap();
        assert_eq!(plain.host["dut"].login(&name), "dut");
        for (line, message) in [
            ("memory = \"64MiB\"", "memory that it has"),
            ("login = \"-oProxyCommand=x\"", "nobody who could log in"),
            (
                "[host.dut.kexec]\nreboot = \"{bild}\"",
                "`{bild}` has no value",
            ),
            (
                "[host.other]\nkind = \"netns\"\nlogin = \"root@x\"",
                "isn't reached with `ssh`",
            ),
            (
                "[host.o]\nkind = \"netns\"\n[[link]]\nends = { o = \"10.0.0.1/24\", dut = \"10.0.0.2/24\" }",
                "a machine of its own: no link can be made between it and `o`",
            ),
        ] {
            let problem = far(line).unwrap_err();
            assert!(problem.to_string().contains(message), "{line}: {problem}");
            assert!(problem.place().0 >= 3, "{line}: {:?}", problem.place());
        }
    }

    /// What stands in a lab for what a row of the documentation's table is about.
    const EXAMPLES: [(&str, &str); 19] = [
        ("forward", "forward = true"),
        ("routes", "routes = [\"10.9.0.0/16 via 10.0.0.2\"]"),
        ("sysctl", "sysctl = { \"net.core.rmem_max\" = \"4096\" }"),
        ("data", "data = \"10.0.0.9\""),
        ("tags", "tags = [\"10g\"]"),
        ("prepare", "prepare = { cpu.smt = false }"),
        ("login", "login = \"root@dut\""),
        ("options", "options = [\"-4\"]"),
        ("ssh-reboot", "ssh-reboot = { reboot = \"reboot\" }"),
        ("kexec", "kexec = { reboot = \"reboot\" }"),
        (
            "power",
            "power = { on = \"true\", off = \"true\", status = \"echo on\" }",
        ),
        ("console", "console = \"cat\""),
        ("memory", "memory = \"64MiB\""),
        ("root", "root = \"/srv\""),
        ("cpus", "cpus = 2"),
        ("kvm", "kvm = true"),
        ("programs", "programs = [\"ip\"]"),
        ("restore", "restore = \"trial\""),
        ("recipe", "recipe = { debian = \"bookworm\" }"),
    ];

    #[test]
    fn what_the_documentation_says_of_each_kind_is_so() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/how-to/describe-a-lab.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        let table = page
            .split_once("## What works on which kind of host")
            .unwrap()
            .1;
        let rows = table.lines().skip_while(|line| !line.starts_with('|'));
        let rows = rows.take_while(|line| line.starts_with('|'));
        let mut rows = rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim));
        let kinds: Vec<&str> = rows
            .next()
            .unwrap()
            .map(|kind| kind.trim_matches(['|', ' ', '`']))
            .collect();
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
        assert_eq!(
            kinds,
            ["local", "netns", "ssh", "uml", "qemu", "container", "vm"]
        );
        let made_of = |kind: &str| match kind {
            "container" => "folder = \"/srv\"\n",
            "vm" => "disk = \"/srv/disk\"\n",
            _ => "",
        };
        let mut seen = 0;
        for row in rows.skip(1) {
            let row: Vec<&str> = row.collect();
            assert_eq!(row.len(), 8, "{row:?}");
            let examples = EXAMPLES.iter();
            for (key, line) in examples.filter(|(key, _)| row[0].contains(&format!("`{key}`"))) {
                seen += 1;
                for (kind, says) in kinds.iter().zip(&row[1..]) {
                    let made_of = match *key {
                        "recipe" => "",
                        _ => made_of(kind),
                    };
                    let text = format!("[host.h]\nkind = \"{kind}\"\n{made_of}{line}\n");
                    assert_eq!(lab(&text).is_ok(), *says != "–", "{key} on {kind}");
                }
            }
            for (kind, says) in kinds.iter().zip(&row[1..]) {
                let made_of = made_of(kind);
                let text = format!(
                    "[host.h]\nkind = \"{kind}\"\n{made_of}[host.p]\nkind = \"{kind}\"\n{made_of}[[link]]\nends = {{ h = \"10.0.0.1/24\", p = \"10.0.0.2/24\" }}\n"
                );
                let read = lab(&text).unwrap();
                let host = HostName::new("h").unwrap();
                let is_machine = read.host["h"].kind.is_machine();
                let (_, interface) = read.data_address(&host, None).unwrap();
                match row[0] {
                    "`[[link]]`" => assert_eq!(says.contains("looked up"), is_machine, "{kind}"),
                    "`{ROLE.interface}`" => {
                        assert_eq!(*says == "looked up", interface.is_none(), "{kind}");
                    }
                    _ if says.contains("while a study") => assert!(is_machine, "{kind}"),
                    _ => {}
                }
            }
        }
        assert_eq!(seen, EXAMPLES.len(), "each key is in a row");
    }

    #[test]
    fn interface_names_fit_the_kernel() {
        let long = LAB.replace("source", "a-host-with-a-very-long-name");
        let lab = lab(&long).unwrap();
        for link in &lab.link {
            for host in link.ends.keys() {
                assert!(lab.interface(link, host).len() <= 15);
            }
        }
    }
}
