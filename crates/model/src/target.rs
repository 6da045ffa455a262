//! A target: the software in question, where its history is kept, and how any version of it is built and
//! brought to run.
//!
//! Parts of a recipe that don't fit together are errors: a layout that nothing makes, a kernel that nothing boots, a quirk without
//! effect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{
    DocumentError, Located, RoleName, Simulator, TargetName, Template, Time, TomlDocument,
    machine_placeholders,
};

/// Placeholders that commands of a target know, beside what they ask of the machine that builds.
const OF_TARGET: [&str; 7] = [
    "tree", "build", "version", "stamp", "layout", "seed", "target",
];

/// Placeholders that commands of a target know.
pub fn target_placeholders() -> impl Iterator<Item = &'static str> {
    machine_placeholders().chain(OF_TARGET)
}

/// A target file.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Target {
    /// Its name.
    pub name: Located<TargetName>,
    /// What it is, in a line.
    #[serde(default)]
    pub about: String,
    /// Where its versions come from.
    pub source: Located<TargetSource>,
    /// Patches put on every version before it is built: files beside this one.
    #[serde(default)]
    pub patches: Vec<Located<String>>,
    /// Whether a patch may apply with fuzz: with other lines around it than it was made for.
    #[serde(default)]
    pub fuzz: bool,
    /// Run in a tree that hasn't been configured before.
    #[serde(default)]
    pub configure: Option<Located<Stage>>,
    /// Run in the tree to make the build.
    #[serde(default)]
    pub build: Option<Located<BuildStage>>,
    /// Commands whose output says which tools build it: another compiler, another build.
    #[serde(default)]
    pub toolchain: Vec<Located<Template>>,
    /// How a build is brought to run.
    #[serde(default)]
    pub activate: Located<Activate>,
    /// How the same source is laid out otherwise.
    #[serde(default)]
    pub layout: Option<Located<Relayout>>,
    /// Exceptions to the recipe on ranges of versions.
    #[serde(default)]
    pub quirk: Vec<Located<Quirk>>,
}

/// Where versions come from: one of these tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Source")]
pub enum TargetSource {
    /// A git repository.
    Git(GitSource),
    /// A CVS repository.
    Cvs(CvsSource),
    /// Versions of a package.
    Packages(PackageSource),
    /// Any command that prints versions and one that fetches one.
    List(ListSource),
}

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GitSource {
    /// A path (beside the target's file, or absolute) or the address of a repository, which is mirrored.
    pub url: String,
    /// The branch whose history it is; the repository's own choice unless said.
    #[serde(default)]
    pub branch: Option<String>,
    /// Whether the commits of merged branches are versions too; unless said, only the merges themselves.
    #[serde(default)]
    pub full: bool,
}

/// A CVS repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CvsSource {
    /// The repository, as `cvs -d` takes it; a path may stand beside the target's file.
    pub root: String,
    /// The module that is checked out.
    pub module: String,
    /// The branch; the trunk unless said.
    #[serde(default)]
    pub branch: Option<String>,
}

/// Versions of a package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PackageSource {
    /// Whose package it is.
    pub kind: PackageKind,
    /// Its name.
    pub name: String,
    /// The versions, oldest first; those that the registry has unless said. One of another package names it:
    /// `linux-source-6.12=6.12.107-1~deb12u1`.
    #[serde(default)]
    pub versions: Vec<String>,
    /// An archive inside the package that is the source, as `usr/src/{package}.tar.xz`.
    #[serde(default)]
    pub inside: Option<String>,
}

/// Whose package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PackageKind {
    /// A Debian binary package.
    Debian,
    /// A Debian source package.
    DebianSource,
    /// A Rust crate.
    Crate,
    /// A Python package.
    Pypi,
    /// A Node package.
    Npm,
    /// A Go module.
    Go,
}

/// Commands of one's own.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ListSource {
    /// Prints the versions, oldest first, one a line: a name, and after a space perhaps when it was made (RFC 3339).
    pub versions: Template,
    /// Puts `{version}` into the folder where it runs.
    pub fetch: Template,
}

impl Eq for ListSource {}

/// A command of a recipe.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// The command, run in the tree.
    pub run: Template,
    /// How long it may take; an hour unless said.
    #[serde(default)]
    pub timeout: Option<Time>,
}

/// The command that makes a build.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BuildStage {
    /// The command, run in the tree; none for what is used as it comes.
    #[serde(default)]
    pub run: Option<Template>,
    /// Files and folders of the tree that are the build; the whole tree unless said.
    #[serde(default)]
    pub keep: Vec<String>,
    /// How long it may take; an hour unless said.
    #[serde(default)]
    pub timeout: Option<Time>,
    /// Whether a tree in which another version was built may be built in again; unless said each starts afresh.
    #[serde(default)]
    pub incremental: bool,
}

/// How a build is brought to run.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Activate {
    /// What starts it.
    #[serde(default)]
    pub boot: BootKind,
    /// The kernel among the files of the build, for `uml` and `qemu`.
    #[serde(default)]
    pub kernel: Option<String>,
    /// What is added to the kernel's command line.
    #[serde(default)]
    pub args: String,
    /// For `install`, `ssh-reboot` and `kexec`: run on each host of kind `ssh`, or on this machine, it installs or loads
    /// the build.
    #[serde(default)]
    pub run: Option<Template>,
    /// For `ssh-reboot` and `kexec`: run on each host after `run`, it starts what is installed. Unless said `reboot`, or
    /// `sync && kexec -e`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<Template>,
    /// For `install`, `ssh-reboot` and `kexec`: the roles whose hosts get the build; unless said, all hosts of the
    /// testbed, for `ssh-reboot` and `kexec` all of kind `ssh`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<RoleName>,
    /// Asked of the running system: it must print `{stamp}`. `uname -v` unless said, where a kernel is booted.
    #[serde(default)]
    pub proof: Option<Template>,
    /// How long `run` may take, and how long it may take until the system answers; a minute unless said, ten for
    /// `ssh-reboot` and `kexec`.
    #[serde(default)]
    pub timeout: Option<Time>,
    /// For `qemu`: a virtual instruction takes 2^N ns, and time is counted in instructions alone. What is measured so
    /// is never compared with what a real clock, or another N, has measured.
    #[serde(default)]
    pub icount: Option<u8>,
}

impl Activate {
    /// What counts whatever is measured on such a system, where it isn't a real machine's clock.
    pub fn simulator(&self) -> Option<Simulator> {
        match self.boot {
            BootKind::Qemu => self.icount.map(Simulator::Icount),
            _ => None,
        }
    }
}

/// What starts a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BootKind {
    /// Nothing: programs are run from the build's folder, `{build}`.
    #[default]
    None,
    /// A command installs it.
    Install,
    /// It is a kernel, booted as a process of this machine.
    Uml,
    /// It is a kernel, booted in an emulated machine.
    Qemu,
    /// A command installs it on each host of kind `ssh`, another reboots the host, which comes back with it.
    SshReboot,
    /// A command loads its kernel on each host of kind `ssh`, another jumps into it.
    Kexec,
}

impl BootKind {
    /// Whether a boot can be gone back to after another one: nothing was started.
    pub fn can_be_revisited(self) -> bool {
        self == Self::None
    }

    /// Whether hosts that `ssh` reaches are started anew with it.
    pub fn restarts_hosts(self) -> bool {
        matches!(self, Self::SshReboot | Self::Kexec)
    }
}

impl fmt::Display for BootKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Install => "install",
            Self::Uml => "uml",
            Self::Qemu => "qemu",
            Self::SshReboot => "ssh-reboot",
            Self::Kexec => "kexec",
        })
    }
}

/// How the same source is laid out otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Relayout {
    /// The command, run in the built tree; `{layout}` is the layout's name and `{seed}` its seed.
    pub relink: Template,
    /// The layouts that it can make, besides `kept`.
    #[serde(default = "only_random")]
    pub layouts: Vec<LayoutKind>,
    /// How long it may take; an hour unless said.
    #[serde(default)]
    pub timeout: Option<Time>,
}

fn only_random() -> Vec<LayoutKind> {
    vec![LayoutKind::Random]
}

/// How object files lie in memory.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Deserialize,
    Serialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutKind {
    /// As the build lays them out.
    #[default]
    Kept,
    /// By name.
    Sorted,
    /// Each from the beginning of a page.
    Aligned,
    /// With gaps between them.
    Gapped,
    /// In an order drawn from a seed.
    Random,
}

/// A layout of a build.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Layout {
    /// Which.
    pub kind: LayoutKind,
    /// Seed of the order; 0 where nothing is drawn.
    pub seed: u32,
}

impl fmt::Display for LayoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kept => "kept",
            Self::Sorted => "sorted",
            Self::Aligned => "aligned",
            Self::Gapped => "gapped",
            Self::Random => "random",
        })
    }
}

impl std::str::FromStr for LayoutKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        [
            Self::Kept,
            Self::Sorted,
            Self::Aligned,
            Self::Gapped,
            Self::Random,
        ]
        .into_iter()
        .find(|kind| kind.to_string() == text)
        .ok_or_else(|| {
            format!("`{text}` is no layout: expected kept, sorted, aligned, gapped or random")
        })
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LayoutKind::Random => f.pad(&format!("random({})", self.seed)),
            kind => f.pad(&kind.to_string()),
        }
    }
}

/// An exception to the recipe on a range of versions.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirk {
    /// Why; shown in the history.
    pub why: String,
    /// The first version that has it: a version, a commit or a date. From the beginning unless said.
    #[serde(default)]
    pub from: Option<Located<String>>,
    /// The first version that no longer has it. For good unless said.
    #[serde(default)]
    pub until: Option<Located<String>>,
    /// Patches put on before the build: files beside the target's.
    #[serde(default)]
    pub patch: Vec<Located<String>>,
    /// Run in the tree before the build.
    #[serde(default)]
    pub run: Option<Stage>,
    /// Run in the tree after the build: the part that is to be made again.
    #[serde(default)]
    pub rebuild: Option<Stage>,
    /// Whether the tree must be a fresh one.
    #[serde(default)]
    pub clean: bool,
    /// Whether the version isn't built at all.
    #[serde(default)]
    pub skip: bool,
    /// Shown beside the versions; changes nothing by itself.
    #[serde(default)]
    pub note: String,
}

impl Target {
    /// The target that this document describes.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or its parts don't fit together; the problem points at the place.
    pub fn read(document: &TomlDocument) -> Result<Self, DocumentError> {
        let target: Self = document.read()?;
        target.check(document)?;
        Ok(target)
    }

    fn check(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let fault = |span, message: String, help: &str| {
            Err(document.problem(span, message, "here", Some(help.to_owned())))
        };
        let activate = self.activate.span();
        let boots = matches!(self.activate.boot, BootKind::Uml | BootKind::Qemu);
        if boots && self.activate.kernel.is_none() {
            return fault(
                activate,
                format!("`{}` boots no kernel", self.activate.boot),
                "say which file of the build it is: activate = { boot = \"uml\", kernel = \"linux\" }",
            );
        }
        if !boots && self.activate.kernel.is_some() {
            return fault(
                activate,
                format!("`{}` needs no kernel", self.activate.boot),
                "kernels are booted with boot = \"uml\" or boot = \"qemu\"",
            );
        }
        if self.activate.icount.is_some() && self.activate.boot != BootKind::Qemu {
            return fault(
                activate,
                "only an emulated machine counts time in instructions".into(),
                "use it with boot = \"qemu\"",
            );
        }
        let by_command = matches!(
            self.activate.boot,
            BootKind::Install | BootKind::SshReboot | BootKind::Kexec
        );
        if by_command && self.activate.run.is_none() {
            return fault(
                activate,
                format!("`{}` runs no command", self.activate.boot),
                "say what brings the build to run: activate = { boot = \"install\", run = \"cp {build}/tool /usr/local/bin/\" }",
            );
        }
        if self.activate.reboot.is_some() && !self.activate.boot.restarts_hosts() {
            return fault(
                activate,
                format!("`{}` reboots no host", self.activate.boot),
                "`reboot` is for boot = \"ssh-reboot\" and boot = \"kexec\"",
            );
        }
        if !self.activate.on.is_empty() && !by_command {
            return fault(
                activate,
                format!("`{}` asks nobody on which hosts", self.activate.boot),
                "`on` is for boot = \"install\", \"ssh-reboot\" and \"kexec\"",
            );
        }
        for quirk in &self.quirk {
            let nothing = quirk.patch.is_empty()
                && quirk.run.is_none()
                && quirk.rebuild.is_none()
                && !quirk.clean
                && !quirk.skip
                && quirk.note.is_empty();
            if nothing {
                return fault(
                    quirk.span(),
                    format!("the quirk \"{}\" does nothing", quirk.why),
                    "give it patch, run, rebuild, clean, skip or note",
                );
            }
        }
        self.check_placeholders(document)
    }

    fn check_placeholders(&self, document: &TomlDocument) -> Result<(), DocumentError> {
        let mut templates = Vec::new();
        if let Some(stage) = &self.configure {
            templates.push((stage.span(), &stage.run));
        }
        if let Some(stage) = &self.build {
            templates.extend(stage.run.iter().map(|run| (stage.span(), run)));
        }
        templates.extend(self.toolchain.iter().map(|run| (run.span(), &**run)));
        templates.extend(
            self.activate
                .run
                .iter()
                .map(|run| (self.activate.span(), run)),
        );
        let others = self.activate.reboot.iter().chain(&self.activate.proof);
        templates.extend(others.map(|run| (self.activate.span(), run)));
        if let Some(layout) = &self.layout {
            templates.push((layout.span(), &layout.relink));
        }
        for quirk in &self.quirk {
            let stages = quirk.run.iter().chain(&quirk.rebuild);
            templates.extend(stages.map(|stage| (quirk.span(), &stage.run)));
        }
        for (span, template) in templates {
            check_placeholders(document, span, template)?;
        }
        Ok(())
    }
}

/// Whether a command of a target asks only for what a target knows.
///
/// # Errors
/// It doesn't; the problem points at `span`.
pub(crate) fn check_placeholders(
    document: &TomlDocument,
    span: std::ops::Range<usize>,
    template: &Template,
) -> Result<(), DocumentError> {
    for name in template.names() {
        if !target_placeholders().any(|known| known == name) {
            return Err(document.problem(
                span,
                format!("`{{{name}}}` has no value in a target"),
                format!("in `{}`", template.source()),
                crate::did_you_mean(name, target_placeholders()).or_else(|| {
                    let known: Vec<String> =
                        target_placeholders().map(|p| format!("{{{p}}}")).collect();
                    Some(format!("known: {}", known.join(", ")))
                }),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, DocumentError> {
        Target::read(&TomlDocument::new("target.toml", text))
    }

    const LEAST: &str = "name = \"app\"\nsource = { git = { url = \".\" } }\n";

    #[test]
    fn a_whole_target_is_read() {
        let target = read(
            r#"
name = "linux"
source = { packages = { kind = "debian", name = "linux-source-6.1", inside = "usr/src/linux-source-6.1.tar.xz" } }
configure = { run = "make ARCH=um defconfig" }
build = { run = "make -j{cpus} ARCH=um linux", keep = ["linux"], timeout = "30m", incremental = true }
toolchain = ["gcc --version"]
activate = { boot = "uml", kernel = "linux", proof = "uname -v" }
layout = { relink = "relink {layout} {seed}" }

[[quirk]]
why = "the tool must match the kernel"
from = "2018-04-06T12:00Z"
rebuild = { run = "make -C tools install" }
"#,
        )
        .unwrap();
        assert_eq!(target.activate.boot, BootKind::Uml);
        assert_eq!(target.layout.unwrap().layouts, [LayoutKind::Random]);
        assert_eq!(
            target.quirk[0].from.as_deref().map(String::as_str),
            Some("2018-04-06T12:00Z")
        );
        let least = read(LEAST).unwrap();
        assert_eq!(least.activate.boot, BootKind::None);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_at_its_place() {
        for (text, message) in [
            ("activate = { boot = \"uml\" }", "`uml` boots no kernel"),
            (
                "activate = { kernel = \"linux\" }",
                "`none` needs no kernel",
            ),
            ("activate = { boot = \"install\" }", "runs no command"),
            ("activate = { boot = \"kexec\" }", "runs no command"),
            (
                "activate = { boot = \"install\", run = \"true\", reboot = \"reboot\" }",
                "`install` reboots no host",
            ),
            (
                "activate = { boot = \"uml\", kernel = \"linux\", on = [\"dut\"] }",
                "asks nobody on which hosts",
            ),
            (
                "activate = { boot = \"kexec\", run = \"true\", reboot = \"{biuld}\" }",
                "`{biuld}` has no value",
            ),
            (
                "activate = { boot = \"uml\", kernel = \"linux\", icount = 2 }",
                "only an emulated machine",
            ),
            ("[[quirk]]\nwhy = \"so\"", "does nothing"),
            (
                "build = { run = \"make -j{cpu}\" }",
                "`{cpu}` has no value in a target",
            ),
            ("sauce = 1", "unknown field `sauce`"),
        ] {
            let problem = read(&format!("{LEAST}{text}\n")).unwrap_err();
            assert!(problem.to_string().contains(message), "{text}: {problem}");
            assert!(problem.place().0 >= 3, "{text}: {:?}", problem.place());
        }
    }

    #[test]
    fn layouts_have_names() {
        for kind in ["kept", "sorted", "aligned", "gapped", "random"] {
            assert_eq!(kind.parse::<LayoutKind>().unwrap().to_string(), kind);
        }
        assert_eq!(
            Layout {
                kind: LayoutKind::Random,
                seed: 7
            }
            .to_string(),
            "random(7)"
        );
        assert!("shuffled".parse::<LayoutKind>().is_err());
    }
}
