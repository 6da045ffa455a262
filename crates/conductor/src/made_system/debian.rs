//! Systems of packages of Debian, which `mmdebstrap` installs.

use backsight_model::Recipe;
use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    SERVICE, SERVICE_PLACE, START, START_PLACE, SystemError, in_file, make_file_system, remove,
    require_program, run,
};

/// The size of a disk unless the recipe says it, in bytes.
const DISK_SIZE: u64 = 4 << 30;
/// What every virtual machine has, for its kernel to find its disk, and for its addresses.
const ALWAYS: [&str; 2] = ["initramfs-tools", "iproute2"];
/// Where the agent is found there.
const AGENT_PLACE: &str = "usr/local/lib/backsight/agent";
const WANTED_PLACE: &str = "etc/systemd/system/multi-user.target.wants/backsight.service";

/// Fills a folder with the root of a container, or with the disk and the kernel of a virtual machine.
pub(super) fn fill(
    recipe: &Recipe,
    is_machine: bool,
    folder: &Path,
    lock: &File,
) -> Result<(), SystemError> {
    let root = folder.join("root");
    install(recipe, is_machine, &root, lock)?;
    if !is_machine {
        return Ok(());
    }
    for name in ["vmlinuz", "initrd.img"] {
        let to = folder.join(name);
        let from = newest(&root.join("boot"), name).ok_or(SystemError::NoKernel)?;
        fs::copy(&from, &to).map_err(in_file(&from))?;
    }
    let init = add_agent(&root)?;
    let append = folder.join("append");
    fs::write(&append, format!("root=/dev/vda rw quiet{init}\n")).map_err(in_file(&append))?;
    let size = recipe.size.as_deref().map_or(DISK_SIZE, |size| size.0);
    make_file_system(&root, &folder.join("disk.img"), size, &[])?;
    remove(&root)
}

/// Installs the packages into a folder. The installer has processes and mounts of its own: all of them are gone when it ends, and
/// it ends when this program dies. Until then the lock is held: it is what they have as standard input.
fn install(recipe: &Recipe, is_machine: bool, root: &Path, lock: &File) -> Result<(), SystemError> {
    let own = recipe.packages.iter().map(|package| package.as_str());
    let mut packages: Vec<&str> = own.collect();
    if is_machine {
        packages.extend(ALWAYS);
        packages.push(recipe.kernel_package());
    }
    let program = "mmdebstrap";
    require_program(program, program)?;
    if !rustix::process::geteuid().is_root() {
        return Err(SystemError::NotRoot);
    }
    // What it leaves when it is killed goes with what was being made.
    let temporary = root.with_file_name("tmp");
    fs::create_dir(&temporary).map_err(in_file(&temporary))?;
    let mut command = Command::new("setpriv");
    command
        .env("TMPDIR", &temporary)
        .args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--pid",
            "--fork",
        ])
        .args([
            "--kill-child",
            "--mount-proc",
            "--propagation",
            "private",
            program,
        ])
        .stdin(lock.try_clone().map_err(in_file(root))?);
    command.args(["--quiet", "--variant=minbase"]);
    if !packages.is_empty() {
        command.arg(format!("--include={}", packages.join(",")));
    }
    let release = recipe.debian.as_deref().map_or("", String::as_str);
    command.arg(release).arg(root);
    let sources = match recipe.sources.is_empty() {
        true => own_sources(release),
        false => recipe.sources.iter().map(|line| (**line).clone()).collect(),
    };
    command.args(sources);
    run(command, "setpriv", "util-linux")?;
    remove(&temporary)
}

/// Puts the script that starts the agent into a root, and has it started: by systemd where the root has it, else by the kernel, whose
/// command line gets what is returned.
fn add_agent(root: &Path) -> Result<&'static str, SystemError> {
    let write = |place: &str, text: &str, mode: u32| {
        let path = root.join(place);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(in_file(&path))
    };
    write(START_PLACE, START, 0o755)?;
    let agent = root.join(AGENT_PLACE);
    fs::create_dir_all(&agent).map_err(in_file(&agent))?;
    if fs::symlink_metadata(root.join("usr/sbin/init")).is_err() {
        return Ok(" init=/usr/local/lib/backsight/start");
    }
    write(SERVICE_PLACE, SERVICE, 0o644)?;
    let wanted = root.join(WANTED_PLACE);
    if let Some(folder) = wanted.parent() {
        fs::create_dir_all(folder).map_err(in_file(folder))?;
    }
    symlink("../backsight.service", &wanted).map_err(in_file(&wanted))?;
    Ok("")
}

/// The last of the files in a folder whose names begin so, by their names.
fn newest(folder: &Path, beginning: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.map(|file| file.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(beginning))
    });
    names.max()
}

/// The sources of packages that this machine has of Debian, for another release; none where it has none, and then `mmdebstrap` takes
/// Debian's own.
fn own_sources(release: &str) -> Vec<String> {
    let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = os
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let Some(codename) = codename.map(|name| name.trim_matches('"')) else {
        return Vec::new();
    };
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let more = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten();
    files.extend(more.map(|file| file.path()));
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let mut sources: Vec<String> = texts
        .flat_map(|text| sources_in(&text, codename, release))
        .collect();
    sources.sort();
    sources.dedup();
    sources
}

/// The lines of `sources.list` for a release, from what a file of sources says of the release that this machine runs. Sources of
/// others, which don't know releases, are left out.
fn sources_in(text: &str, codename: &str, release: &str) -> Vec<String> {
    let is_of_release = |suite: &str| {
        let rest = suite.strip_prefix(codename);
        rest.is_some_and(|rest| matches!(rest, "" | "-updates" | "-security" | "/updates"))
    };
    let line =
        |uri: &str, suite: &str| format!("deb {uri} {} main", suite.replacen(codename, release, 1));
    let mut found = Vec::new();
    for one in text.lines() {
        let words: Vec<&str> = one
            .split_whitespace()
            .filter(|word| !word.starts_with('[') && !word.ends_with(']'))
            .collect();
        if let ["deb", uri, suite, components @ ..] = words.as_slice()
            && is_of_release(suite)
            && components.contains(&"main")
        {
            found.push(line(uri, suite));
        }
    }
    for stanza in text.split("\n\n") {
        let field = |name: &str| -> Vec<&str> {
            let lines = stanza.lines();
            let mut values = lines.filter_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
            values
                .next()
                .into_iter()
                .flat_map(str::split_whitespace)
                .collect()
        };
        if field("Types").contains(&"deb") && field("Components").contains(&"main") {
            for uri in field("URIs") {
                let suites = field("Suites");
                let suites = suites.iter().filter(|suite| is_of_release(suite));
                found.extend(suites.map(|suite| line(uri, suite)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_mirrors_are_used_for_another_release() {
        let listed = "# deb http://old bookworm main\ndeb [arch=amd64] http://mirror/debian bookworm main contrib\n\
                      deb http://mirror/security bookworm-security main\ndeb-src http://mirror/debian bookworm main\n\
                      deb http://other/apt stable main\n";
        assert_eq!(
            sources_in(listed, "bookworm", "trixie"),
            [
                "deb http://mirror/debian trixie main",
                "deb http://mirror/security trixie-security main"
            ]
        );
        let stanzas = "Types: deb\n# old\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates bookworm-backports\nComponents: main\n\n\
                       Types: deb\nURIs: https://other\nSuites: nodistro\nComponents: main\n";
        assert_eq!(
            sources_in(stanzas, "bookworm", "bookworm"),
            [
                "deb http://mirror/debian bookworm main",
                "deb http://mirror/debian bookworm-updates main"
            ]
        );
    }
}
