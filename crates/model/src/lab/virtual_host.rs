//! Hosts that are made of files: containers, and virtual machines with a disk of their own.
//!
//! What such a host is made of (an image, a folder, a disk, a recipe), what runs it, and how often it goes back to that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, HostKind};
use crate::{DocumentError, Located, Size, TomlDocument};

/// What runs a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContainerEngine {
    /// `podman`, from an image.
    Podman,
    /// `docker`, from an image.
    Docker,
    /// `systemd-nspawn`, from a folder.
    Nspawn,
    /// Namespaces that `unshare` makes, from a folder.
    Unshare,
}

impl ContainerEngine {
    /// Whether it takes an image; else it takes a folder.
    pub fn takes_image(self) -> bool {
        matches!(self, Self::Podman | Self::Docker)
    }

    /// Its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Nspawn => "systemd-nspawn",
            Self::Unshare => "unshare",
        }
    }
}

/// How often a host goes back to what it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Restore {
    /// Before each trial.
    Trial,
    /// Once, when a study begins: what a trial writes, the next one finds.
    #[default]
    Study,
    /// Never: what is written there stays.
    Never,
}

/// The way to the agent in a domain of libvirt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A port of virtio-serial.
    #[default]
    VirtioSerial,
    /// A socket between the domain and the machine that runs it.
    Vsock,
    /// A login by `ssh`.
    Ssh,
}

/// A system to make a host of, by `backsight lab provision`: one of Debian's packages, or a cloud's image.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The release of Debian: `bookworm`, `trixie`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debian: Option<Located<String>>,
    /// The file of a cloud's image, which `cloud-init` sets up once; in place of a release, for virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Located<String>>,
    /// Packages beside the smallest system, or beside the image's; with `systemd-sysv` a virtual machine of Debian's packages boots
    /// systemd, and the agent is a service of it.
    #[serde(default)]
    pub packages: Vec<Located<String>>,
    /// The package of a virtual machine's kernel; `linux-image-cloud-amd64` unless said.
    #[serde(default)]
    pub kernel: Option<Located<String>>,
    /// Where packages come from, as `sources.list` has it: the mirrors of this machine unless said.
    #[serde(default)]
    pub sources: Vec<Located<String>>,
    /// The size of a virtual machine's disk; 4 GiB, or the image's, unless said. What isn't used of it takes no room.
    #[serde(default)]
    pub size: Option<Located<Size>>,
}

impl Recipe {
    /// The kernel's package of a virtual machine.
    pub fn kernel_package(&self) -> &str {
        let own = self.kernel.as_ref().map(|kernel| kernel.as_str());
        own.unwrap_or("linux-image-cloud-amd64")
    }

    fn check(
        &self,
        place: std::ops::Range<usize>,
        kind: HostKind,
        document: &TomlDocument,
    ) -> Result<(), DocumentError> {
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        if self.debian.is_some() == self.image.is_some() {
            return fault(
                place,
                "a recipe begins with one thing: a release of Debian, or a cloud's image".into(),
                "expected for example debian = \"bookworm\", or image = \"/srv/debian-12-genericcloud-amd64.qcow2\"",
            );
        }
        if let Some(image) = &self.image {
            if kind != HostKind::Vm {
                return fault(
                    image.span(),
                    format!("a cloud's image is a disk, and a host of kind \"{kind}\" has none"),
                    "it is for hosts of kind \"vm\"",
                );
            }
            check_path(image, document)?;
            let sources = self.sources.first().map(Located::span);
            let kernel = self.kernel.as_ref().map(Located::span);
            if let Some(stray) = kernel.or(sources) {
                return fault(
                    stray,
                    "a cloud's image has its own kernel and knows where its packages come from"
                        .into(),
                    "leave it out",
                );
            }
        }
        // They are words of a command's line, and parts of lists that commas separate.
        let is_plain = |word: &str| {
            !word.starts_with('-')
                && !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | ':' | '~'))
        };
        let words = self.debian.iter().chain(&self.packages);
        match words.chain(&self.kernel).find(|word| !is_plain(word)) {
            Some(word) => fault(
                word.span(),
                format!("`{}` is no name of a release or a package", **word),
                "expected for example debian = \"bookworm\", packages = [\"iperf3\"]",
            ),
            None => Ok(()),
        }
    }
}

/// Refuses what can't be told to an emulator or an engine as a path.
fn check_path(path: &Located<String>, document: &TomlDocument) -> Result<(), DocumentError> {
    match !path.starts_with('/') || path.contains([',', ':', '\0']) {
        false => Ok(()),
        true => Err(document.problem(
            path.span(),
            format!("`{}` can't be used as a path here", **path),
            "here",
            Some("expected a path from `/` on, without commas and colons".into()),
        )),
    }
}

impl Host {
    /// How often it goes back to what it is made of.
    pub fn restores(&self) -> Restore {
        match self.kind == HostKind::Domain && self.snapshot.is_none() {
            true => Restore::Never,
            false => self.restore.as_deref().copied().unwrap_or_default(),
        }
    }

    /// Whether this `domain` is a file with its definition: names of domains have no slash.
    pub fn is_definition(domain: &str) -> bool {
        domain.contains('/')
    }

    /// What only a domain of libvirt has, and what it has already.
    pub(super) fn check_domain(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        fn span<T>(key: &Option<Located<T>>) -> Option<std::ops::Range<usize>> {
            key.as_ref().map(Located::span)
        }
        let Some(domain) = &self.domain else {
            let of_domain = [
                ("connect", span(&self.connect)),
                ("snapshot", span(&self.snapshot)),
                ("channel", span(&self.channel)),
            ];
            let stray = of_domain
                .into_iter()
                .find_map(|(key, span)| Some((key, span?)));
            return stray.map_or(Ok(()), |(key, place)| {
                fault(
                    place,
                    format!("`{key}` is for a domain of libvirt, and this host is none"),
                    "say which it is: kind = \"vm\" and domain = \"bookworm-1\"",
                )
            });
        };
        if self.kind != HostKind::Domain {
            return fault(
                domain.span(),
                format!("a host of kind \"{}\" has no `domain`", self.kind),
                "`domain` is for hosts of kind \"vm\"",
            );
        }
        let own = [
            ("disk", span(&self.disk)),
            ("recipe", span(&self.recipe)),
            ("kernel", span(&self.kernel)),
            ("initrd", span(&self.initrd)),
            ("append", span(&self.append)),
            ("memory", span(&self.memory)),
            ("cpus", span(&self.cpus)),
            ("kvm", span(&self.kvm)),
        ];
        if let Some((key, place)) = own.into_iter().find_map(|(key, span)| Some((key, span?))) {
            return fault(
                place,
                format!("a domain of libvirt is as libvirt has it: it can't be given `{key}`"),
                &match Self::is_definition(domain) {
                    false => format!("change it there: virsh edit {}", **domain),
                    true => format!("say it in its file {}", **domain),
                },
            );
        }
        for name in [&self.domain, &self.connect, &self.snapshot]
            .into_iter()
            .flatten()
        {
            if name.is_empty() || name.starts_with('-') || name.contains(char::is_control) {
                return fault(
                    name.span(),
                    format!("`{}` can't be told to virsh", **name),
                    "expected for example domain = \"bookworm-1\", snapshot = \"clean\", connect = \"qemu:///system\"",
                );
            }
        }
        if Self::is_definition(domain) && !domain.starts_with('/') {
            return fault(
                domain.span(),
                format!("`{}` is neither a name nor a path here", **domain),
                "expected for example domain = \"bookworm-1\", or the file that defines it, from `/` on: domain = \"/srv/bookworm-1.xml\"",
            );
        }
        match &self.restore {
            Some(restore) if self.snapshot.is_none() && **restore != Restore::Never => fault(
                restore.span(),
                "there is no snapshot that it could go back to".into(),
                "add snapshot = \"clean\", which `virsh snapshot-create-as` makes",
            ),
            _ => Ok(()),
        }
    }

    /// What only a container or a virtual machine has.
    pub(super) fn check_virtual(
        &self,
        name: &Located<crate::HostName>,
        document: &TomlDocument,
    ) -> Result<(), DocumentError> {
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        let container = self.kind == HostKind::Container;
        let vm = matches!(self.kind, HostKind::Vm | HostKind::Domain);
        let span = |text: &Option<Located<String>>| text.as_ref().map(Located::span);
        let keys = [
            ("image", span(&self.image), container),
            ("folder", span(&self.folder), container),
            ("engine", self.engine.as_ref().map(Located::span), container),
            ("disk", span(&self.disk), vm),
            ("kernel", span(&self.kernel), vm),
            ("initrd", span(&self.initrd), vm),
            ("append", span(&self.append), vm),
            (
                "recipe",
                self.recipe.as_ref().map(Located::span),
                container || vm,
            ),
            (
                "restore",
                self.restore.as_ref().map(Located::span),
                container || vm,
            ),
        ];
        for (key, place, fits) in keys {
            if let (Some(place), false) = (place, fits) {
                let kinds = match key {
                    "image" | "folder" | "engine" => "\"container\"",
                    "recipe" | "restore" => "\"container\" and \"vm\"",
                    _ => "\"vm\"",
                };
                return fault(
                    place,
                    format!("a host of kind \"{}\" has no `{key}`", self.kind),
                    &format!("`{key}` is for hosts of kind {kinds}"),
                );
            }
        }
        if !container && !vm {
            return Ok(());
        }
        let made_of = [&self.image, &self.folder, &self.disk, &self.domain];
        let ways =
            made_of.iter().filter(|it| it.is_some()).count() + usize::from(self.recipe.is_some());
        if ways != 1 {
            return fault(
                name.span(),
                format!("host `{name}` is to be made of one thing, and the lab says {ways}"),
                match container {
                    true => {
                        "say image = \"debian:12\", folder = \"/srv/rootfs\", or recipe = { debian = \"bookworm\" }"
                    }
                    false => {
                        "say disk = \"/srv/bookworm.qcow2\", recipe = { debian = \"bookworm\" }, or domain = \"bookworm-1\""
                    }
                },
            );
        }
        let paths = [&self.folder, &self.disk, &self.kernel, &self.initrd];
        for path in paths.into_iter().flatten() {
            check_path(path, document)?;
        }
        if let (Some(part), None) = (self.initrd.as_ref().or(self.append.as_ref()), &self.kernel) {
            return fault(
                part.span(),
                "there is no `kernel` that this would be for".into(),
                "add kernel = \"/srv/vmlinuz\"; a recipe's machine has its own",
            );
        }
        if let (Some(kernel), Some(_)) = (&self.kernel, &self.recipe) {
            return fault(
                kernel.span(),
                "a recipe's machine boots the kernel of the recipe".into(),
                "name its package there: recipe = { debian = \"bookworm\", kernel = \"linux-image-amd64\" }",
            );
        }
        if let Some(image) = self.image.as_ref().filter(|image| {
            image.is_empty() || image.starts_with('-') || image.contains(char::is_whitespace)
        }) {
            return fault(
                image.span(),
                format!("`{}` is no image", **image),
                "expected what podman takes, for example image = \"debian:12\"",
            );
        }
        if let Some(engine) = self
            .engine
            .as_ref()
            .filter(|engine| engine.takes_image() != self.image.is_some())
        {
            return fault(
                engine.span(),
                format!("`{}` can't run it", engine.program()),
                "\"podman\" and \"docker\" run an `image`; \"nspawn\" and \"unshare\" run a `folder` or a `recipe`",
            );
        }
        if let Some(restore) = &self.restore
            && **restore == Restore::Never
            && (self.image.is_some() || self.recipe.is_some())
        {
            return fault(
                restore.span(),
                "an image or what a recipe made is never written".into(),
                "expected restore = \"study\" or \"trial\"; \"never\" is for `folder` and `disk`",
            );
        }
        self.recipe.as_ref().map_or(Ok(()), |recipe| {
            recipe.check(recipe.span(), self.kind, document)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lab;

    fn read(host: &str) -> Result<Lab, DocumentError> {
        Lab::read(&TomlDocument::new(
            "lab.toml",
            format!("[host.a]\n{host}\n"),
        ))
    }

    #[test]
    fn a_virtual_host_says_what_it_is_made_of_and_how_often_it_goes_back_to_that() {
        let lab = read("kind = \"container\"\nimage = \"debian:12\"\nrestore = \"trial\"").unwrap();
        assert_eq!(lab.host["a"].restores(), Restore::Trial);
        let lab = read(
            "kind = \"vm\"\nmemory = \"512MiB\"\ncpus = 2\nrecipe = { debian = \"bookworm\", packages = [\"iperf3\"] }",
        )
        .unwrap();
        assert_eq!(lab.host["a"].restores(), Restore::Study);
        let recipe = lab.host["a"].recipe.as_ref().unwrap();
        assert_eq!(recipe.kernel_package(), "linux-image-cloud-amd64");
        read("kind = \"vm\"\ndisk = \"/srv/a.qcow2\"\nrestore = \"never\"").unwrap();
    }

    #[test]
    fn a_domain_is_a_machine_of_its_own_that_goes_back_to_its_snapshot_if_it_has_one() {
        let lab = read("kind = \"vm\"\ndomain = \"a\"").unwrap();
        let host = &lab.host["a"];
        assert_eq!(host.kind, HostKind::Domain);
        assert_eq!(host.kind.to_string(), "vm");
        assert!(host.kind.is_machine() && !host.is_reached_by_ssh());
        assert_eq!(host.restores(), Restore::Never);
        let lab = read(
            "kind = \"vm\"\ndomain = \"a\"\nsnapshot = \"clean\"\nchannel = \"ssh\"\nlogin = \"root@10.0.0.2\"",
        )
        .unwrap();
        assert_eq!(lab.host["a"].restores(), Restore::Study);
        assert!(lab.host["a"].is_reached_by_ssh());
    }

    #[test]
    fn what_does_not_fit_is_said_with_the_way_out() {
        for (host, said) in [
            ("kind = \"container\"", "made of one thing"),
            (
                "kind = \"container\"\nimage = \"x\"\nfolder = \"/x\"",
                "the lab says 2",
            ),
            ("kind = \"container\"\nfolder = \"x\"", "as a path"),
            ("kind = \"container\"\nimage = \"-x\"", "no image"),
            (
                "kind = \"container\"\nfolder = \"/x\"\nengine = \"podman\"",
                "can't run it",
            ),
            (
                "kind = \"container\"\nimage = \"x\"\nrestore = \"never\"",
                "never written",
            ),
            ("kind = \"container\"\ndisk = \"/x\"", "has no `disk`"),
            ("kind = \"vm\"\nimage = \"x\"", "has no `image`"),
            ("kind = \"netns\"\nrestore = \"trial\"", "has no `restore`"),
            (
                "kind = \"vm\"\ndisk = \"/x\"\ninitrd = \"/y\"",
                "no `kernel`",
            ),
            (
                "kind = \"vm\"\nrecipe = { debian = \"-x\" }",
                "no name of a release",
            ),
            (
                "kind = \"vm\"\nlogin = \"a\"\ndisk = \"/x\"",
                "isn't reached",
            ),
            (
                "kind = \"vm\"\ndisk = \"/x\"\nsnapshot = \"clean\"",
                "this host is none",
            ),
            ("kind = \"ssh\"\ndomain = \"a\"", "has no `domain`"),
            (
                "kind = \"vm\"\ndomain = \"a\"\ndisk = \"/x\"",
                "as libvirt has it",
            ),
            (
                "kind = \"vm\"\ndomain = \"a\"\nmemory = \"1GiB\"",
                "can't be given `memory`",
            ),
            ("kind = \"vm\"\nrecipe = {}", "begins with one thing"),
            (
                "kind = \"vm\"\nrecipe = { debian = \"bookworm\", image = \"/a.qcow2\" }",
                "begins with one thing",
            ),
            (
                "kind = \"container\"\nrecipe = { image = \"/a.qcow2\" }",
                "is a disk",
            ),
            (
                "kind = \"vm\"\nrecipe = { image = \"a.qcow2\" }",
                "can't be used as a path",
            ),
            (
                "kind = \"vm\"\nrecipe = { image = \"/a.qcow2\", kernel = \"linux-image-amd64\" }",
                "its own kernel",
            ),
            ("kind = \"vm\"\ndomain = \"-a\"", "told to virsh"),
            (
                "kind = \"vm\"\ndomain = \"a/b.xml\"",
                "neither a name nor a path",
            ),
            (
                "kind = \"vm\"\ndomain = \"a\"\nrestore = \"trial\"",
                "no snapshot",
            ),
            (
                "kind = \"vm\"\ndomain = \"a\"\nlogin = \"a\"",
                "isn't reached",
            ),
        ] {
            let error = read(host).unwrap_err().to_string();
            assert!(error.contains(said), "{host}: {error}");
        }
    }
}
