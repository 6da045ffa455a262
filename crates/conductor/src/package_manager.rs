//! How packages are installed on a system, by the word that it has for itself (`ID` of os-release).

use indexmap::IndexMap;

/// Systems, whose lists of packages they have, and the command that installs these.
const SYSTEMS: &[(&str, &str, &str)] = &[
    ("debian", "debian", "apt-get install"),
    ("ubuntu", "debian", "apt-get install"),
    ("raspbian", "debian", "apt-get install"),
    ("linuxmint", "debian", "apt-get install"),
    ("fedora", "fedora", "dnf install"),
    ("rhel", "fedora", "dnf install"),
    ("centos", "fedora", "dnf install"),
    ("rocky", "fedora", "dnf install"),
    ("almalinux", "fedora", "dnf install"),
    ("arch", "arch", "pacman -S"),
    ("manjaro", "arch", "pacman -S"),
    ("opensuse-leap", "opensuse", "zypper install"),
    ("opensuse-tumbleweed", "opensuse", "zypper install"),
    ("alpine", "alpine", "apk add"),
    ("freebsd", "freebsd", "pkg install"),
    ("openbsd", "openbsd", "pkg_add"),
    ("netbsd", "netbsd", "pkgin install"),
];

/// What is said in place of a command where a system's own names of packages aren't known.
const DEBIAN_NAMES: &str = "# Debian calls them:";

/// The command that installs packages on a system, and the packages of a definition that needs these; nothing where it says none.
/// Where it says none for this system, what Debian calls them.
pub(crate) fn installation<'a>(
    needs: &'a IndexMap<String, Vec<String>>,
    system: &str,
) -> Option<(&'static str, &'a [String])> {
    let known = SYSTEMS.iter().find(|(id, ..)| *id == system);
    let own = known.and_then(|(id, list, command)| {
        let packages = needs.get(*id).or_else(|| needs.get(*list))?;
        Some((*command, packages))
    });
    // A system that nobody knows may be one of Debian's many.
    let debian = || {
        let command = match known {
            Some(_) => DEBIAN_NAMES,
            None => "apt-get install",
        };
        Some((command, needs.get(system).or_else(|| needs.get("debian"))?))
    };
    let (command, packages) = own.or_else(debian)?;
    (!packages.is_empty()).then_some((command, packages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_is_told_its_own_command_and_names() {
        let packages = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let needs: IndexMap<String, Vec<String>> = IndexMap::from([
            ("debian".to_owned(), packages(&["frob-tools", "frob-data"])),
            ("fedora".to_owned(), packages(&["frob"])),
        ]);
        for (system, said) in [
            ("debian", "apt-get install frob-tools frob-data"),
            ("ubuntu", "apt-get install frob-tools frob-data"),
            ("rocky", "dnf install frob"),
            ("arch", "# Debian calls them: frob-tools frob-data"),
            ("hurd", "apt-get install frob-tools frob-data"),
        ] {
            let (command, packages) = installation(&needs, system).unwrap();
            assert_eq!(
                format!("{command} {}", packages.join(" ")),
                said,
                "{system}"
            );
        }
        assert!(installation(&IndexMap::new(), "debian").is_none());
    }
}
