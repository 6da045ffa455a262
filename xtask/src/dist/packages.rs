//! An archive and a Debian package of the files of a release.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Result, VERSION,
    files::{ReleaseFiles, allow},
};
use crate::programs::{call, in_file, remove};

/// Whose package it is. There is no address to write to.
const MAINTAINER: &str = "The authors of Backsight <backsight@localhost>";
/// What a package says of itself.
const ABOUT: &str = "open performance laboratory
 Backsight measures any version of a system, present or past, on hosts of a
 lab, says when it became slower or faster, which change did it, by how much,
 why, and how sure that is.
 .
 The program is one static file. The package has its manual pages,
 completions for bash, zsh and fish, and units of systemd for the site of a
 store, a worker of the queue and the standing jobs, which begin when they are
 enabled.";
/// What it uses where it is there.
const RECOMMENDS: &str = "git, iproute2, nftables, openssh-client";
/// What runs when it is installed and removed.
const SCRIPTS: [&str; 3] = ["postinst", "postrm", "prerm"];

/// Writes files as an archive, to be unpacked below `/usr/local` or anywhere. Its file.
pub fn archive(files: &ReleaseFiles, folder: &Path, moment: &str) -> Result<PathBuf> {
    let name = format!("backsight-{VERSION}-{}-linux", files.machine.name);
    let file = folder.join(format!("{name}.tar.gz"));
    let packed = folder.join(format!("{name}.tar"));
    call(
        Command::new("tar")
            .args([
                "--create",
                "--format=ustar",
                "--sort=name",
                "--owner=0",
                "--group=0",
            ])
            .args(["--numeric-owner", &format!("--mtime=@{moment}")])
            .arg(format!("--transform=s,^\\.,{name},"))
            .arg("--directory")
            .arg(&files.folder)
            .arg("--file")
            .arg(std::path::absolute(&packed).map_err(in_file(&packed))?)
            .arg("."),
    )?;
    call(Command::new("gzip").args(["-9", "-n"]).arg(&packed))?;
    Ok(file)
}

/// Writes files as a Debian package. Its file.
pub fn debian(files: &ReleaseFiles, folder: &Path, moment: &str) -> Result<PathBuf> {
    let machine = files.machine.debian;
    let root = folder.join(format!("root-{machine}"));
    remove(&root)?;
    let usr = root.join("usr");
    fs::create_dir_all(&root).map_err(in_file(&root))?;
    call(Command::new("cp").arg("-a").arg(&files.folder).arg(&usr))?;
    // Debian 12 looks for units here alone.
    let units = root.join("lib/systemd");
    fs::create_dir_all(&units).map_err(in_file(&units))?;
    let (from, to) = (usr.join("lib/systemd/system"), units.join("system"));
    fs::rename(&from, &to).map_err(in_file(&from))?;
    remove(&usr.join("lib"))?;
    let documents = usr.join("share/doc/backsight");
    call(
        Command::new("gzip")
            .args(["-9", "-n"])
            .arg(documents.join("CHANGELOG.md")),
    )?;
    let licences = documents.join("copyright");
    fs::copy("packaging/debian/copyright", &licences).map_err(in_file(&licences))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let file = documents.join(name);
        fs::remove_file(&file).map_err(in_file(&file))?;
    }
    let settings = root.join("etc/default/backsight");
    for folder in [root.join("etc/default"), root.join("etc/backsight")] {
        fs::create_dir_all(&folder).map_err(in_file(&folder))?;
    }
    fs::copy("packaging/debian/default", &settings).map_err(in_file(&settings))?;
    call(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&root))?;
    write_control(&root, machine)?;
    let file = folder.join(format!("backsight_{VERSION}_{machine}.deb"));
    call(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([&root, &file])
            .env("SOURCE_DATE_EPOCH", moment),
    )?;
    remove(&root)?;
    Ok(file)
}

/// What dpkg reads of a package, in its folder `DEBIAN`.
fn write_control(root: &Path, machine: &str) -> Result<()> {
    let size = call(
        Command::new("du")
            .args(["--summarize", "--apparent-size", "--block-size=1024"])
            .arg(root),
    )?;
    let size = size.split_whitespace().next().unwrap_or_default();
    let sums = call(
        Command::new("sh")
            .args([
                "-c",
                "find usr lib -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum",
            ])
            .current_dir(root),
    )?;
    let mut control = String::new();
    for (key, value) in [
        ("Package", "backsight"),
        ("Version", VERSION),
        ("Architecture", machine),
        ("Maintainer", MAINTAINER),
        ("Installed-Size", size),
        ("Depends", "passwd"),
        ("Recommends", RECOMMENDS),
        ("Section", "devel"),
        ("Priority", "optional"),
        ("Description", ABOUT),
    ] {
        // Writing into a string doesn't fail.
        let _ = writeln!(control, "{key}: {value}");
    }
    let folder = root.join("DEBIAN");
    fs::create_dir_all(&folder).map_err(in_file(&folder))?;
    for (name, text) in [
        ("control", control.as_str()),
        ("conffiles", "/etc/default/backsight\n"),
        ("md5sums", sums.as_str()),
    ] {
        let file = folder.join(name);
        fs::write(&file, text).map_err(in_file(&file))?;
    }
    for name in SCRIPTS {
        let file = folder.join(name);
        fs::copy(Path::new("packaging/debian").join(name), &file).map_err(in_file(&file))?;
        allow(&file, 0o755)?;
    }
    Ok(())
}
