//! What a release consists of, made of a program that is there: installed in a system of its own, used, taken out again without a trace.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_test_needs::Need;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What differs after any package came and went.
const OF_DPKG: [&str; 4] = ["var/lib/dpkg/", "var/log/", "var/cache/", "etc/.pwd.lock"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a program that has to succeed; what it printed, and what it said on standard error.
fn run(command: &mut Command) -> (String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let (out, told) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {status}\n{out}{told}");
    (out.into_owned(), told.into_owned())
}

/// The same; what it printed.
fn succeed(command: &mut Command) -> String {
    run(command).0
}

fn xtask(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    // How small what it packs gets isn't tested.
    command
        .args(words)
        .current_dir(root())
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "0")
        .env("SOURCE_DATE_EPOCH", "1795700000");
    command
}

/// A release of the program that lies beside this test's: both are built by one command, `cargo nextest run --workspace`.
fn make(folder: &Path) {
    let program = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("backsight");
    assert!(program.exists(), "cargo build -p backsight");
    let (program, folder) = (program.to_str().unwrap(), folder.to_str().unwrap());
    succeed(&mut xtask(&[
        "dist",
        "--program",
        program,
        "--folder",
        folder,
    ]));
}

/// A system of Debian's in a folder.
struct System {
    folder: PathBuf,
}

impl System {
    fn new(folder: PathBuf) -> Self {
        succeed(
            Command::new("mmdebstrap")
                .args([
                    "--quiet",
                    "--mode=root",
                    "--variant=essential",
                    "--include=passwd",
                    "bookworm",
                ])
                .arg(&folder),
        );
        Self { folder }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(&self.folder).args(words).env("LC_ALL", "C");
        command
    }

    fn run(&self, words: &[&str]) -> String {
        let (printed, told) = run(&mut self.command(words));
        printed + &told
    }

    fn has(&self, place: &str) -> bool {
        self.folder.join(place).exists()
    }

    /// The names of everything in it, but for what dpkg keeps of itself.
    fn files(&self) -> BTreeSet<String> {
        let listed = succeed(
            Command::new("find")
                .args([".", "-xdev", "-printf", "%P\n"])
                .current_dir(&self.folder),
        );
        let kept = listed
            .lines()
            .filter(|name| !OF_DPKG.iter().any(|of| name.starts_with(of)));
        // Copies of the files before, which tools for users leave.
        kept.filter(|name| !name.ends_with('-'))
            .map(str::to_owned)
            .collect()
    }
}

#[test]
#[ignore = "a minute: `make packages`"]
fn a_package_is_installed_used_and_taken_out_without_a_trace() {
    if Need::Root.is_missing() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("dist");
    make(&folder);
    let machine = succeed(Command::new("dpkg").arg("--print-architecture"));
    let package = format!("backsight_{VERSION}_{}.deb", machine.trim());
    let system = System::new(place.path().join("system"));
    let before = system.files();
    fs::copy(folder.join(&package), system.folder.join("tmp/it.deb")).unwrap();
    let install = || system.run(&["dpkg", "--install", "/tmp/it.deb"]);
    install();

    let said = system.run(&["backsight", "--version"]);
    assert_eq!(said.trim(), format!("backsight {VERSION}"));
    assert!(
        system
            .run(&["backsight", "list", "benchmarks"])
            .contains("iperf3-tcp")
    );
    let user = system.run(&["getent", "passwd", "backsight"]);
    assert!(
        user.contains(":/var/lib/backsight:/usr/sbin/nologin"),
        "{user}"
    );
    for (file, owner) in [
        ("/var/lib/backsight", "backsight:backsight 750"),
        ("/usr/bin/backsight", "root:root 755"),
        ("/etc/default/backsight", "root:root 644"),
        ("/usr/share/man/man1/backsight-run.1.gz", "root:root 644"),
        (
            "/usr/share/bash-completion/completions/backsight",
            "root:root 644",
        ),
        ("/usr/share/doc/backsight/copyright", "root:root 644"),
    ] {
        assert_eq!(
            system.run(&["stat", "--format", "%U:%G %a", file]).trim(),
            owner,
            "{file}"
        );
    }
    let wrong = system.run(&["dpkg", "--verify", "backsight"]);
    assert_eq!(wrong, "", "files aren't what their sums say");
    // As the user whose services it has, with the store that they have.
    let as_user = |words: &str| {
        let line = format!("set -a; . /etc/default/backsight; {words}");
        system.run(&[
            "setpriv",
            "--reuid=backsight",
            "--regid=backsight",
            "--clear-groups",
            "sh",
            "-c",
            &line,
        ])
    };
    as_user("backsight token add ci");
    assert!(as_user("backsight token").contains("ci"));

    // What somebody changed stays when it is installed again, and until it is purged.
    let settings = system.folder.join("etc/default/backsight");
    fs::write(&settings, "BACKSIGHT_STORE=/srv/store\n").unwrap();
    install();
    system.run(&["dpkg", "--remove", "backsight"]);
    assert!(!system.has("usr/bin/backsight"));
    assert_eq!(
        fs::read_to_string(&settings).unwrap(),
        "BACKSIGHT_STORE=/srv/store\n"
    );
    // Measurements can't be made again.
    let purged = system.run(&["dpkg", "--purge", "backsight"]);
    assert!(
        purged.contains("/var/lib/backsight and its user stay"),
        "{purged}"
    );
    assert!(system.has("var/lib/backsight/store"));
    install();
    fs::remove_dir_all(system.folder.join("var/lib/backsight/store")).unwrap();
    system.run(&["dpkg", "--purge", "backsight"]);
    fs::remove_file(system.folder.join("tmp/it.deb")).unwrap();
    let after = system.files();
    let left: Vec<_> = after.symmetric_difference(&before).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(
        !system
            .command(&["getent", "passwd", "backsight"])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
#[ignore = "a minute: `make packages`"]
fn a_release_is_the_same_bytes_each_time() {
    let place = tempfile::tempdir().unwrap();
    let folders = ["one", "two"].map(|name| place.path().join(name));
    let sums = folders.clone().map(|folder| {
        make(&folder);
        succeed(
            Command::new("sha256sum")
                .args(["--check", "SHA256SUMS"])
                .current_dir(&folder),
        );
        fs::read_to_string(folder.join("SHA256SUMS")).unwrap()
    });
    assert_eq!(sums[0], sums[1]);
    assert_eq!(sums[0].lines().count(), 3);
    let archive = format!("backsight-{VERSION}-{}-linux", std::env::consts::ARCH);
    let listed = succeed(
        Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner", "--file"])
            .arg(folders[0].join(format!("{archive}.tar.gz"))),
    );
    assert!(
        listed
            .lines()
            .all(|line| line.contains(" 0/0 ") && line.contains(&format!(" {archive}"))),
        "{listed}"
    );
    assert!(listed.contains(&format!(
        "{archive}/lib/systemd/system/backsight-worker.service"
    )));
}

#[test]
fn a_bill_of_materials_has_what_is_in_the_program_and_nothing_else() {
    let bill = succeed(&mut xtask(&["sbom"]));
    let bill: serde_json::Value = serde_json::from_str(&bill).unwrap();
    assert_eq!(bill["specVersion"], "1.6");
    let components = bill["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|it| it["name"] == name);
    assert_eq!(named("uplot").unwrap()["licenses"][0]["expression"], "MIT");
    let sqlite = named("libsqlite3-sys").unwrap();
    assert_eq!(sqlite["hashes"][0]["content"].as_str().unwrap().len(), 64);
    // What only tests, builds and macros use isn't in the program.
    for name in ["insta", "clap_derive", "tonic-prost-build", "xtask"] {
        assert!(named(name).is_none(), "{name}");
    }
    assert!(
        components
            .iter()
            .all(|it| it["licenses"][0]["expression"].is_string())
    );
    let refs: BTreeSet<_> = components
        .iter()
        .map(|it| it["bom-ref"].as_str().unwrap())
        .collect();
    assert_eq!(refs.len(), components.len());
    for dependency in bill["dependencies"].as_array().unwrap() {
        for needed in dependency["dependsOn"].as_array().unwrap() {
            assert!(refs.contains(needed.as_str().unwrap()), "{needed}");
        }
    }
}

#[test]
fn units_are_as_systemd_wants_them() {
    if Need::Systemd.is_missing() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for entry in fs::read_dir(root().join("packaging/systemd")).unwrap() {
        let file = entry.unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        // A program that is there, in place of the installed one.
        let text = text.replace("/usr/bin/backsight", env!("CARGO_BIN_EXE_xtask"));
        let unit = place.path().join(file.file_name().unwrap());
        fs::write(&unit, text).unwrap();
        let (said, told) = run(Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&unit));
        assert_eq!(said + &told, "", "{}", file.display());
        checked += 1;
    }
    assert_eq!(checked, 3, "serve, worker, watch");
}

#[test]
fn what_no_release_is_made_for_is_said() {
    for (words, said) in [
        (
            &["dist", "--machine", "pdp11"][..],
            "there is no release for `pdp11`: x86_64, aarch64",
        ),
        (&["dist", "--program", "/gone"], "/gone"),
        (
            &["dist", "--program", "/bin/true", "--machine", "x86_64"],
            "usage: cargo xtask TASK",
        ),
        (&["dist", "--colour"], "usage: cargo xtask TASK"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("dist");
        let output = xtask(words)
            .args(["--folder", folder.to_str().unwrap()])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(said), "{told}");
    }
}
