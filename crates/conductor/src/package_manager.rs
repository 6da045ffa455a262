//! How packages are installed: those of a system, by the word that it has for itself (`ID` of os-release), and those of the registries
//! of languages, which are the same on every system.

use indexmap::IndexMap;
use std::fmt;

/// Systems, whose lists of packages they have, and the command that installs these.
const SYSTEMS: &[(&str, &str, &str)] = &[
    ("debian", "debian", "apt-get install"),
    ("ubuntu", "debian", "apt-get install"),
    ("raspbian", "debian", "apt-get install"),
    ("linuxmint", "debian", "apt-get install"),
    ("fedora", "fedora", "dnf install"),
    ("nobara", "fedora", "dnf install"),
    ("rhel", "fedora", "dnf install"),
    ("centos", "fedora", "dnf install"),
    ("rocky", "fedora", "dnf install"),
    ("almalinux", "fedora", "dnf install"),
    ("ol", "fedora", "dnf install"),
    ("arch", "arch", "pacman -S"),
    ("manjaro", "arch", "pacman -S"),
    ("endeavouros", "arch", "pacman -S"),
    ("cachyos", "arch", "pacman -S"),
    ("opensuse-leap", "opensuse", "zypper install"),
    ("opensuse-tumbleweed", "opensuse", "zypper install"),
    ("alpine", "alpine", "apk add"),
    ("freebsd", "freebsd", "pkg install"),
    ("openbsd", "openbsd", "pkg_add"),
    ("netbsd", "netbsd", "pkgin install"),
];

/// Registries of languages, with the command that installs a package. `{}` stands for the package where a command takes one at a time.
const REGISTRIES: &[(&str, &str)] = &[
    ("pip", "pip install"),
    ("npm", "npm install --global"),
    ("cargo", "cargo install"),
    ("go", "go install"),
    ("go-module", "go mod download"),
    ("maven", "mvn dependency:get -Dartifact={}"),
];

/// What is said in place of a command where a system's own names of packages aren't known.
const DEBIAN_NAMES: &str = "# Debian calls them:";

/// A command with the packages that it installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Installation<'a> {
    /// The command without its packages, or with `{}` for each of them.
    pub(crate) command: &'static str,
    pub(crate) packages: &'a [String],
}

impl fmt::Display for Installation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&install_commands(self.command, self.packages).join(" && "))
    }
}

/// The commands that install these packages: one, or one for each.
pub(crate) fn install_commands(command: &str, packages: &[impl AsRef<str>]) -> Vec<String> {
    let names = packages.iter().map(AsRef::as_ref);
    match command.contains("{}") {
        true => names.map(|name| command.replace("{}", name)).collect(),
        false => vec![format!("{command} {}", names.collect::<Vec<_>>().join(" "))],
    }
}

/// What installs the packages of a definition that needs these, on a system: its own first, then those of registries; nothing where the
/// definition says none. Where it says none for this system, what Debian calls them, last, as a comment.
pub(crate) fn installations<'a>(
    needs: &'a IndexMap<String, Vec<String>>,
    system: &str,
) -> Vec<Installation<'a>> {
    let of_registries = REGISTRIES.iter().filter_map(|(registry, command)| {
        let packages = needs.get(*registry)?;
        Some(Installation { command, packages })
    });
    let mut found: Vec<Installation<'a>> = of_registries.collect();
    match of_system(needs, system) {
        Some(comment) if comment.command == DEBIAN_NAMES => found.push(comment),
        Some(own) => found.insert(0, own),
        None => {}
    }
    found.retain(|installation| !installation.packages.is_empty());
    found
}

fn of_system<'a>(
    needs: &'a IndexMap<String, Vec<String>>,
    system: &str,
) -> Option<Installation<'a>> {
    let known = SYSTEMS.iter().find(|(id, ..)| *id == system);
    let own = known.and_then(|(id, list, command)| {
        let packages = needs.get(*id).or_else(|| needs.get(*list))?;
        Some(Installation { command, packages })
    });
    // A system that nobody knows may be one of Debian's many.
    own.or_else(|| {
        let command = match known {
            Some(_) => DEBIAN_NAMES,
            None => "apt-get install",
        };
        let packages = needs.get(system).or_else(|| needs.get("debian"))?;
        Some(Installation { command, packages })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(lists: &[(&str, &[&str])]) -> IndexMap<String, Vec<String>> {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let lists = lists.iter();
        lists
            .map(|(system, names)| (system.to_string(), list(names)))
            .collect()
    }

    fn said(needs: &IndexMap<String, Vec<String>>, system: &str) -> Vec<String> {
        let found = installations(needs, system);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_system_is_told_its_own_command_and_names() {
        let needs = needs(&[
            ("debian", &["frob-tools", "frob-data"]),
            ("fedora", &["frob"]),
            ("freebsd", &["frob-bsd"]),
            ("openbsd", &["frob"]),
        ]);
        for (system, expected) in [
            ("debian", "apt-get install frob-tools frob-data"),
            ("ubuntu", "apt-get install frob-tools frob-data"),
            ("rocky", "dnf install frob"),
            ("freebsd", "pkg install frob-bsd"),
            ("openbsd", "pkg_add frob"),
            ("arch", "# Debian calls them: frob-tools frob-data"),
            ("endeavouros", "# Debian calls them: frob-tools frob-data"),
            ("hurd", "apt-get install frob-tools frob-data"),
        ] {
            assert_eq!(said(&needs, system), [expected], "{system}");
        }
        assert!(said(&IndexMap::new(), "debian").is_empty());
    }

    #[test]
    fn packages_of_registries_are_installed_after_those_of_the_system() {
        let needs = needs(&[
            ("npm", &["autocannon"]),
            ("debian", &["nodejs", "npm"]),
            ("arch", &[]),
            ("maven", &["org.example:a:1", "org.example:b:2"]),
        ]);
        let npm = "npm install --global autocannon";
        let maven = "mvn dependency:get -Dartifact=org.example:a:1 && mvn dependency:get -Dartifact=org.example:b:2";
        for (system, expected) in [
            ("debian", &["apt-get install nodejs npm", npm, maven][..]),
            // The list says that nothing of the system's own is needed.
            ("arch", &[npm, maven][..]),
            (
                "fedora",
                &[npm, maven, "# Debian calls them: nodejs npm"][..],
            ),
        ] {
            assert_eq!(said(&needs, system), expected, "{system}");
        }
    }
}
