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

/// A system of Debian to make a host of, by `backsight lab provision`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The release: `bookworm`, `trixie`.
    pub debian: Located<String>,
    /// Packages beside the smallest system; with `systemd-sysv` a virtual machine boots systemd, and the agent is a service of it.
    #[serde(default)]
    pub packages: Vec<Located<String>>,
    /// The package of a virtual machine's kernel; `linux-image-cloud-amd64` unless said.
    #[serde(default)]
    pub kernel: Option<Located<String>>,
    /// Where packages come from, as `sources.list` has it: the mirrors of this machine unless said.
    #[serde(default)]
    pub sources: Vec<Located<String>>,
    /// The size of a virtual machine's disk; 4 GiB unless said. What isn't used of it takes no room.
    #[serde(default)]
    pub size: Option<Located<Size>>,
}

impl Recipe {
    /// The kernel's package of a virtual machine.
    pub fn kernel_package(&self) -> &str {
        let own = self.kernel.as_ref().map(|kernel| kernel.as_str());
        own.unwrap_or("linux-image-cloud-amd64")
    }

    fn check(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        // They are words of a command's line, and parts of lists that commas separate.
        let is_plain = |word: &str| {
            !word.starts_with('-')
                && !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | ':' | '~'))
        };
        let words = std::iter::once(&self.debian).chain(&self.packages);
        match words.chain(&self.kernel).find(|word| !is_plain(word)) {
            Some(word) => Err(document.problem(
                word.span(),
                format!("`{}` is no name of a release or a package", **word),
                "here",
                Some("expected for example debian = \"bookworm\", packages = [\"iperf3\"]".into()),
            )),
            None => Ok(()),
        }
    }
}

impl Host {
    /// How often it goes back to what it is made of.
    pub fn restores(&self) -> Restore {
        self.restore.as_deref().copied().unwrap_or_default()
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
        let (container, vm) = (self.kind == HostKind::Container, self.kind == HostKind::Vm);
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
        let made_of = [&self.image, &self.folder, &self.disk];
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
                        "say disk = \"/srv/bookworm.qcow2\", or recipe = { debian = \"bookworm\" }"
                    }
                },
            );
        }
        let paths = [&self.folder, &self.disk, &self.kernel, &self.initrd];
        for path in paths.into_iter().flatten() {
            if !path.starts_with('/') || path.contains([',', ':', '\0']) {
                return fault(
                    path.span(),
                    format!("`{}` can't be used as a path here", **path),
                    "expected a path from `/` on, without commas and colons",
                );
            }
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
        self.recipe
            .as_ref()
            .map_or(Ok(()), |recipe| recipe.check(document))
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
        ] {
            let error = read(host).unwrap_err().to_string();
            assert!(error.contains(said), "{host}: {error}");
        }
    }
}
