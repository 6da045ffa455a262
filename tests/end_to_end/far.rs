//! Other machines, which `ssh` reaches: agents and builds are put there, and every version is rebooted into.
//!
//! The machine is this one seen through a real `sshd`, in a mount namespace with a home and a boot id of its own. A script
//! switches it off, on, and over; what a real kernel does in its place is in `rebooting`.

use backsight_test_needs::{Need, qemu_aarch64};
use nix::sys::signal::Signal;
use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    place::{Place, VALUE},
    running::{Ended, Running},
    stepping::{self, commit, step},
};

/// What `ssh` speaks through: a server for one connection.
const DIAL: &str = r#"#!/bin/sh
[ -e @/off ] && { echo "the machine is off" >&2; exit 1; }
[ -e @/hung ] && { echo "the machine stands still" >&2; exit 1; }
echo > "@/sessions/$$"
exec unshare -m --propagation private sh -c '
    mount --bind @/home /root && mount --bind @/boot_id /proc/sys/kernel/random/boot_id &&
    { [ ! -e @/swappiness ] || { mkdir -p /var/lib/backsight && mount --bind @/lib /var/lib/backsight &&
    mount --bind @/swappiness /proc/sys/vm/swappiness; }; } &&
    { [ ! -e @/small ] || mount -t tmpfs -o size=8m none /root/.cache/backsight/builds; } &&
    { [ ! -e @/uname ] || mount --bind @/uname "$(command -v uname)"; } &&
    mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -i -e -f @/sshd_config'
"#;
/// What happens to the machine. All that it does before its sessions end, it does at once.
const POWER: &str = r#"#!/bin/sh
echo "$1" >> @/power-log
case $1 in
    cycle | warm) cp @/installed @/running ;;
    crash) echo fallback > @/running ;;
    off) rm -f @/hung; : > @/off ;;
    hang) : > @/hung ;;
    on) rm -f @/off; echo fallback > @/running; echo "boot-$(wc -l < @/power-log)" > @/boot_id ;;
    lock) : > @/home/.ssh/authorized_keys ;;
esac
case $1 in
    cycle) rm -rf @/home/.cache ;;
esac
case $1 in
    cycle | warm | crash) [ ! -e @/swappiness ] || echo 60 > @/swappiness ;;
esac
case $1 in
    cycle | warm | crash | lock) echo "boot-$(wc -l < @/power-log)" > @/boot_id ;;
esac
pids=
for pid in $(ls @/sessions); do
    case $(cat /proc/$pid/comm 2>/dev/null) in sshd*) pids="$pids $pid" ;; esac
done
rm -f @/sessions/*
[ -z "$pids" ] || kill -9 $pids
"#;
/// The lab's file: the machine plays every role.
const LAB: &str = r#"
name = "NAME"
[host.NAME]
kind = "ssh"
login = "root@far"
data = "127.0.0.1"
options = ["-i", "HERE/key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ProxyCommand=HERE/dial"]
"#;

/// The program as a release is: without what only a debugger reads, and with the agent for machines like this one in it.
pub fn release() -> PathBuf {
    let (whole, agent) = (Path::new(env!("CARGO_BIN_EXE_backsight")), agent());
    let machine = std::env::consts::ARCH;
    made_of(&[whole, &agent], "backsight-release", |release| {
        let agents = tempfile::tempdir().unwrap();
        let named = agents.path().join(format!("backsight-agent-{machine}"));
        symlink(&agent, named).unwrap();
        strip(whole, release);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/add-agents");
        let added = Command::new(script).args([release, agents.path()]).status();
        assert!(added.unwrap().success());
    })
}

/// The agent as a release has it: it is sent to the machine.
pub fn agent() -> PathBuf {
    let whole = Path::new(env!("CARGO_BIN_EXE_backsight")).with_file_name("backsight-agent");
    assert!(
        whole.exists(),
        "it is built with the package backsight-agent-program"
    );
    made_of(&[&whole], "backsight-agent-release", |agent| {
        strip(&whole, agent);
    })
}

/// What the agent's file is called on the machine: by what a release has of it.
pub fn agent_file() -> String {
    let machine = std::env::consts::ARCH;
    let section = format!("--only-section=.backsight.agent.{machine}");
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("packed");
    let read = Command::new("objcopy")
        .args(["-O", "binary", &section])
        .args([release().as_path(), &packed])
        .status();
    assert!(read.unwrap().success());
    let content = blake3::hash(&fs::read(packed).unwrap()).to_hex();
    format!(
        "agent-{}-{}-{machine}",
        env!("CARGO_PKG_VERSION"),
        &content[..16]
    )
}

fn strip(whole: &Path, to: &Path) {
    let made = Command::new("strip").arg("-o").args([to, whole]).status();
    assert!(made.unwrap().success());
}

/// A file that is made of others, if it isn't there or one of them is newer.
fn made_of(of: &[&Path], name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(name);
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    // Tests are processes that run at once: what one of them runs, no other may replace.
    let alone = fs::File::create(folder.join(format!("{name}.lock"))).unwrap();
    alone.lock().unwrap();
    if of.iter().any(|it| changed(&file) < changed(it)) {
        let new = folder.join(format!("{name}.new"));
        make(&new);
        fs::rename(new, &file).unwrap();
    }
    file
}

/// Runs the program to its end.
pub fn ends(place: &Place, arguments: &[&str]) -> Ended {
    Running::start(place.put(Command::new(release()), arguments)).ends()
}

/// Starts the program, which tells its events.
pub fn begins(place: &Place, arguments: &[&str]) -> Running {
    let with_events = [arguments, &["--json"]].concat();
    Running::start(place.put(Command::new(release()), &with_events))
}

/// Makes a key without a password.
pub fn key(place: &Place, file: &str) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f", &place.at(file)])
        .status();
    assert!(made.unwrap().success());
}

/// The home of who logs in at a machine, with our key, and the machine's own.
pub fn home_and_keys(place: &Place) {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700).recursive(true);
    private.create(place.path("home/.ssh")).unwrap();
    key(place, "key");
    key(place, "host");
    unlock(place);
}

/// A place with a repository and the machine, on which its target is rebooted; none where that can't be.
pub fn place() -> Option<Place> {
    if Need::Root.is_missing() {
        return None;
    }
    let place = stepping::place();
    home_and_keys(&place);
    fs::create_dir(place.path("sessions")).unwrap();
    let here = place.at("").trim_end_matches('/').to_owned();
    let lab = LAB.replace("NAME", &place.name).replace("HERE", &here);
    place.write("lab.toml", lab);
    for (file, text) in [("dial", DIAL), ("power", POWER)] {
        place.write(file, text.replace('@', &here));
        fs::set_permissions(place.path(file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let settings = format!(
        "HostKey {}\nUsePAM no\nStrictModes no\nPrintMotd no\nPermitRootLogin prohibit-password\n\
         PidFile none\nLogLevel ERROR\nSetEnv TMPDIR={} BACKSIGHT_LEASES={} {}={}\n",
        place.at("host"),
        place.at("tmp"),
        place.at("far-leases"),
        crate::place::MARK,
        place.name,
    );
    place.write("sshd_config", settings);
    for (file, text) in [
        ("boot_id", "boot-0\n"),
        ("running", "nothing\n"),
        ("power-log", ""),
    ] {
        place.write(file, text);
    }
    target(&place, "sh {build}/reboot", "60s");
    Some(place)
}

/// Lets us in.
fn unlock(place: &Place) {
    let public = place.read("key.pub");
    place.write("home/.ssh/authorized_keys", public);
}

/// The target, whose versions bring the scripts `install` and `reboot`.
fn target(place: &Place, reboot: &str, timeout: &str) {
    let text = format!(
        "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
         build = {{ run = \"cp speed tool && echo {{stamp}} > stamp\", keep = [\"tool\", \"stamp\", \"install\", \"reboot\"] }}\n\
         activate = {{ boot = \"ssh-reboot\", run = \"sh {{build}}/install\", reboot = \"{reboot}\", proof = \"cat @running\", timeout = \"{timeout}\" }}\n"
    );
    place.write("app.toml", text.replace('@', &place.at("")));
}

/// The next version: what installs it, and what reboots the machine; `@` is the place's folder.
pub fn version(place: &Place, number: usize, install: &str, reboot: &str) {
    for (file, text) in [("repo/install", install), ("repo/reboot", reboot)] {
        place.write(file, text.replace('@', &place.at("")) + "\n");
    }
    commit(place, number, i32::try_from(number * 10).unwrap());
}

pub const INSTALL: &str = "echo installing; cp stamp @installed";
pub const REBOOT: &str = "@power cycle";

fn log_of_boot(place: &Place, study: &str, boot: &str) -> String {
    place.prints_of(&["show", study, "--boot", boot])
}

#[test]
fn a_machine_is_rebooted_into_every_version_and_nothing_of_ours_stays_there() {
    let Some(place) = place() else { return };
    version(&place, 1, INSTALL, REBOOT);
    version(&place, 2, INSTALL, REBOOT);
    let modes = ["--modes", "again,reboot", "--repeat", "2", "--name", "s"];
    let ended = begins(&place, &step("v1", "v2", &modes)).ends();
    ended.assert_code(0);
    // The home is empty after each reboot, so that the build is sent again.
    let uploads = ended.events().into_iter();
    let uploads = uploads.filter(|event| event["event"] == "build-uploading");
    let whole = uploads
        .filter(|event| event["host"] == place.name.as_str() && event["sent"] == event["of"]);
    assert!(whole.count() >= 4);
    assert_eq!(place.study("s")["measured"], 8, "{}", ended.stderr);
    assert_eq!(place.read("power-log").lines().count(), 4);
    assert!(place.raw("s", 1).contains("10.1"), "{}", place.raw("s", 1));
    let log = log_of_boot(&place, "s", "1");
    for words in ["install", "installing", "reboot", "running"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    place.assert_nothing_left();
    let again = ends(&place, &step("v1", "v2", &modes[..4]));
    assert!(
        again.stderr.contains("nothing is missing"),
        "{}",
        again.stderr
    );
}

#[test]
fn programs_are_run_and_builds_installed_on_a_machine_that_is_not_rebooted() {
    let Some(place) = place() else { return };
    place.prints("where", "cat /proc/sys/kernel/random/boot_id");
    place.write("where.toml", "use = [\"where\"]\nrounds = 2\n");
    let arguments = ["run", "where.toml", "--name", "r"];
    ends(&place, &arguments).assert_code(0);
    let raw = place.raw("r", 1);
    assert!(raw.contains("boot-0"), "{raw}");
    version(&place, 1, INSTALL, "");
    let installs = |on: &str| {
        target(&place, "", "60s");
        let text = place.read("app.toml");
        let text = text.replace("ssh-reboot", "install");
        place.write(
            "app.toml",
            text.replace("reboot = \"\"", &format!("on = [\"{on}\"]")),
        );
    };
    installs("nobody");
    let ended = ends(&place, &step("v1", "v1", &["--name", "nobody"]));
    ended.assert_code(1);
    ended.assert_says(&["`nobody`, which nobody plays here: the roles are tester"]);
    installs("tester");
    place.write("power", "exit 9\n");
    let text = place.read("app.toml").replace("running", "installed");
    place.write("app.toml", text);
    ends(&place, &step("v1", "v1", &["--name", "s"])).assert_code(0);
    assert_eq!(place.study("s")["measured"], 2);
    assert!(place.raw("s", 1).contains("10.1"), "{}", place.raw("s", 1));
    place.assert_nothing_left();
}

/// The names of the agents that the machine has.
fn agents_there(place: &Place) -> Vec<String> {
    let kept = fs::read_dir(place.path("home/.cache/backsight")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    kept.filter(|name| name.starts_with("agent-")).collect()
}

#[test]
fn a_machine_of_another_architecture_or_system_gets_the_agent_that_is_for_it() {
    for (system, architecture, machine) in [
        ("Linux", "aarch64", "aarch64"),
        ("FreeBSD", "amd64", "FreeBSD-amd64"),
    ] {
        let Some(place) = place() else { return };
        place.script(
            "uname",
            &format!(
                "#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {architecture} ;; esac\n"
            ),
        );
        place.prints("number", "echo 42");
        place.write("number.toml", "use = [\"number\"]\nrounds = 1\n");
        let ended = ends(&place, &["run", "number.toml", "--name", "none"]);
        assert!(!ended.status.success());
        ended.assert_says(&[
            &format!("it is {system} {architecture}, and there is no agent for that here"),
            &format!("`backsight-agent-{machine}`"),
            "BACKSIGHT_AGENTS",
        ]);
        // What is called so is one of this machine, which alone runs here.
        fs::create_dir(place.path("agents")).unwrap();
        let agent = format!("agents/backsight-agent-{machine}");
        fs::copy(self::agent(), place.path(&agent)).unwrap();
        let mut command = place.put(
            Command::new(release()),
            &["run", "number.toml", "--name", "r"],
        );
        command.env("BACKSIGHT_AGENTS", place.path("agents"));
        Running::start(command).ends().assert_code(0);
        let kept = agents_there(&place);
        let is_it = |name: &String| name.ends_with(&format!("-{machine}"));
        assert!(kept.len() == 1 && is_it(&kept[0]), "{kept:?}");
        place.assert_nothing_left();
    }
}

#[test]
fn an_agent_for_machines_of_arm_serves_a_study() {
    /// The machine's shells live where its kernel starts programs of Arm by an emulator.
    const SHELL: &str = r#"#!/bin/sh
exec unshare --user --map-root-user --mount sh -c 'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
printf %s ":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:QEMU:F" \
    > /proc/sys/fs/binfmt_misc/register && exec sh -c "$SSH_ORIGINAL_COMMAND"'
"#;
    let qemu = qemu_aarch64();
    if Need::Aarch64.is_missing_in(qemu.as_ref().map(drop)) {
        return;
    }
    let qemu = qemu.unwrap().display().to_string();
    let Some(place) = place() else { return };
    place.script(
        "uname",
        "#!/bin/sh\ncase $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac\n",
    );
    place.script("shell", &SHELL.replace("QEMU", &qemu));
    let server = place.read("sshd_config") + &format!("ForceCommand {}\n", place.at("shell"));
    place.write("sshd_config", server);
    place.prints("number", "backsight barrier together && echo 42");
    place.write(
        "number.toml",
        "use = [\"number\"]\nrounds = 2\nmonitors = [\"cpu\"]\n",
    );
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents");
    assert!(agents.exists(), "{}: `make agents`", agents.display());
    let mut command = place.put(
        Command::new(release()),
        &["run", "number.toml", "--name", "r"],
    );
    command.env("BACKSIGHT_AGENTS", agents);
    Running::start(command).ends().assert_code(0);
    assert_eq!(place.study("r")["measured"], 2);
    let kept = agents_there(&place);
    assert!(kept.len() == 1 && kept[0].ends_with("-aarch64"), "{kept:?}");
    place.assert_nothing_left();
}

#[test]
fn a_release_sends_its_small_agent_and_the_whole_program_where_its_tracer_is_needed() {
    let Some(place) = place() else { return };
    let (release, small) = (release(), agent());
    place.prints("number", "backsight barrier together && echo 42");
    for (plan, monitors) in [("plain", "cpu"), ("traced", "syscalls")] {
        place.write(
            &format!("{plan}.toml"),
            format!("use = [\"number\"]\nrounds = 1\nmonitors = [\"{monitors}\"]\n"),
        );
    }
    let run = |plan: &str| {
        let file = format!("{plan}.toml");
        let command = place.put(Command::new(&release), &["run", &file, "--name", plan]);
        let ended = Running::start(command).ends();
        ended.assert_code(0);
        assert_eq!(place.study(plan)["measured"], 1, "{}", ended.stderr);
        let cache = place.path("home/.cache/backsight");
        let sizes = agents_there(&place).into_iter();
        let mut sizes: Vec<u64> = sizes
            .map(|file| cache.join(file).metadata().unwrap().len())
            .collect();
        sizes.sort_unstable();
        sizes
    };
    let size = |path: &Path| path.metadata().unwrap().len();
    assert_eq!(run("plain"), [size(&small)]);
    assert_eq!(run("traced"), [size(&small), size(&release)]);
    place.assert_nothing_left();
}

#[test]
fn a_login_outlives_its_study_for_the_next_one_and_ends_by_itself() {
    let Some(place) = place() else { return };
    let lab = place.read("lab.toml");
    let keeps = lab.replace("options = [", "options = [\"-o\", \"ControlPersist=2s\", ");
    assert_ne!(lab, keeps);
    place.write("lab.toml", keeps);
    place.prints("number", "echo 42");
    place.write("number.toml", "use = [\"number\"]\nrounds = 1\n");
    let logins = || fs::read_dir(place.path("sessions")).unwrap().count();
    let run = |study: &str| {
        let arguments = ["run", "number.toml", "--name", study];
        let mut command = place.put(Command::new(release()), &arguments);
        command.env("XDG_RUNTIME_DIR", place.path("run"));
        Running::start(command).ends().assert_code(0);
        logins()
    };
    assert_eq!([run("first"), run("second")], [1, 1]);
    // The machine was switched off and on since: the sessions of its old boot are gone.
    let power = |what: &str| Command::new(place.path("power")).arg(what).status();
    assert!(power("off").unwrap().success() && power("on").unwrap().success());
    assert_eq!(run("third"), 1);
    // A socket that nobody listens at is no login.
    place.assert_nothing_left();
    let sockets = place.path("run/backsight/ssh");
    assert_eq!(fs::read_dir(&sockets).unwrap().count(), 0);
    assert_eq!(run("fourth"), 2);
    place.assert_nothing_left();
}

#[test]
fn hosts_with_one_home_get_their_agent_at_the_same_moment() {
    const HOSTS: [&str; 4] = ["a", "b", "c", "d"];
    let Some(place) = place() else { return };
    let one = place.read("lab.toml");
    let one = one.split_once("[host").unwrap().1;
    let mut lab = format!("name = \"{}\"\n", place.name);
    for host in HOSTS {
        let name = format!("{host}-{}", place.name);
        lab.push_str(&format!("[host{}", one.replacen(&place.name, &name, 1)));
    }
    lab.push_str("[testbed.all]\n");
    for host in HOSTS {
        lab.push_str(&format!("{host} = \"{host}-{}\"\n", place.name));
    }
    place.write("lab.toml", lab);
    let roles: String = HOSTS
        .map(|host| format!("[{host}]\nrun = \"echo 42\"\n"))
        .concat();
    let text = format!(
        "name = \"number\"\nabout = \"a test's own\"\nroles = {HOSTS:?}\n{roles}{}from = \"a.run\"\n",
        VALUE
    );
    place.write("benchmarks/number.toml", text);
    place.write("number.toml", "use = [\"number\"]\nrounds = 1\n");
    let cache = place.path("home/.cache/backsight");
    for round in 1..=3 {
        let _at_first = fs::remove_dir_all(&cache);
        fs::create_dir_all(&cache).unwrap();
        for file in [
            "agent-old",
            ".agent.old",
            "agent-of-another",
            ".agent.of-another",
        ] {
            place.write(&format!("home/.cache/backsight/{file}"), "");
        }
        for file in ["agent-old", ".agent.old"] {
            let aged = Command::new("touch")
                .args(["-d", "30 days ago"])
                .arg(cache.join(file))
                .status();
            assert!(aged.unwrap().success());
        }
        let study = format!("r{round}");
        ends(&place, &["run", "number.toml", "--name", &study]).assert_code(0);
        let mut kept: Vec<String> = fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        kept.sort();
        let [upload, agent, other] = &kept[..] else {
            panic!("one agent, and what others use: {kept:?}")
        };
        assert_eq!(upload, ".agent.of-another");
        assert!(agent.starts_with("agent-0"), "{kept:?}");
        assert_eq!(other, "agent-of-another");
    }
    place.assert_nothing_left();
}

#[test]
fn a_version_that_does_not_come_to_run_is_a_fact_and_the_study_goes_on() {
    let Some(place) = place() else { return };
    version(&place, 1, INSTALL, REBOOT);
    version(&place, 2, "echo something else > @installed", REBOOT);
    version(&place, 3, INSTALL, "echo out of order; exit 3");
    version(&place, 4, "echo no room >&2; exit 1", REBOOT);
    version(&place, 5, INSTALL, REBOOT);
    let forward = ["--order", "forward", "--repeat", "1", "--name", "s"];
    let ended = ends(&place, &step("v1", "v5", &forward));
    ended.assert_code(0);
    assert_eq!(place.study("s")["measured"], 2, "{}", ended.stderr);
    for words in [
        "what runs isn't that build: asked for its proof it says `something else`",
        "ended with status 3 (`out of order`): it hasn't been rebooted",
        "/install` ended with Exit(1)",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    place.assert_nothing_left();
}

#[test]
fn a_machine_that_answers_and_has_not_booted_anew_is_a_failed_boot() {
    let Some(place) = place() else { return };
    version(&place, 1, INSTALL, "true");
    version(&place, 2, INSTALL, "@power drop");
    target(&place, "sh {build}/reboot", "6s");
    let ended = ends(&place, &step("v1", "v2", &["--name", "s"]));
    ended.assert_code(1);
    let words = "it still runs the boot from before, 6s after";
    assert_eq!(ended.stderr.matches(words).count(), 2, "{}", ended.stderr);
    assert_eq!(place.study("s")["measured"], 0);
    place.assert_nothing_left();
}

#[test]
fn a_machine_that_does_not_come_back_or_lets_nobody_in_is_a_failed_boot() {
    let Some(place) = place() else { return };
    version(&place, 1, INSTALL, "@power lock");
    version(&place, 2, INSTALL, "@power off");
    version(&place, 3, INSTALL, "@power warm");
    target(&place, "sh {build}/reboot", "8s");
    let ended = ends(&place, &step("v1", "v1", &["--name", "locked"]));
    ended.assert_code(1);
    ended.assert_says(&[
        "answers and refuses the login",
        "has to work without asking",
    ]);
    assert_eq!(place.study("locked")["measured"], 0);
    let ended = ends(&place, &step("v1", "v1", &["--retry"]));
    ended.assert_code(2);
    ended.assert_says(&["answers and refuses the login"]);
    unlock(&place);
    // That it isn't there is no fault of the next version's.
    let forward = ["--order", "forward", "--name", "s"];
    let ended = ends(&place, &step("v2", "v3", &forward));
    ended.assert_code(1);
    ended.assert_says(&[
        "v2 didn't boot",
        "it hasn't come back within 8s after",
        "can't be reached",
        "the machine is off",
        "backsight resume s",
    ]);
    fs::remove_file(place.path("off")).unwrap();
    ends(&place, &["resume", "s"]).assert_code(0);
    assert_eq!(place.study("s")["measured"], 2);
    place.assert_nothing_left();
}

/// Adds the machine's power switch and its console to the lab.
fn with_power_and_console(place: &Place) {
    let keys = "power = { on = \"@power on\", off = \"@power off\", status = \"[ -e @off ] && echo off || echo on\" }\n\
                console = \"tail -n +1 -F @console\"\n";
    let lab = place.read("lab.toml") + &keys.replace('@', &place.at(""));
    place.write("lab.toml", lab);
    place.write(
        "console",
        "[9.9] Kernel panic - not syncing: of yesterday\n",
    );
}

/// A reboot whose console says this and whose machine then stands still.
fn hang(console: &str) -> String {
    format!("printf '{console}' >> @console; @power hang")
}

#[test]
fn a_kernel_that_panics_or_hangs_fails_its_boot_with_its_console_and_the_machine_is_power_cycled() {
    let Some(place) = place() else { return };
    with_power_and_console(&place);
    let up = "printf 'far login: ' >> @console; @power cycle";
    version(&place, 1, INSTALL, up);
    let panic = "[0.1] booting v2\\n\\377\\000garbage\\n[0.2] Kernel panic - not syncing: no root\\n[0.3] Call Trace:\\n";
    version(&place, 2, INSTALL, &hang(panic));
    let stuck = "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!\\n";
    version(&place, 3, INSTALL, &hang(&stuck.repeat(2)));
    version(
        &place,
        4,
        INSTALL,
        &hang("[0.1] kernel BUG at mm/slub.c:1!\\nthat was v4\\n"),
    );
    version(&place, 5, INSTALL, up);
    target(&place, "sh {build}/reboot", "25s");
    let forward = ["--order", "forward", "--repeat", "1", "--name", "s"];
    let ended = ends(&place, &step("v1", "v5", &forward));
    ended.assert_code(0);
    assert_eq!(place.study("s")["measured"], 2, "{}", ended.stderr);
    ended.assert_says(&[
        "the kernel panicked, as its console says (`[0.2] Kernel panic - not syncing: no root / [0.3] Call Trace:`)",
        "a processor is stuck in the kernel (soft lockup), as its console says",
        "it hasn't come back within 25s",
        "its console's last words: [0.1] kernel BUG at mm/slub.c:1! / that was v4",
        "power-cycled for that: off, then on",
    ]);
    assert!(!ended.stderr.contains("of yesterday"), "{}", ended.stderr);
    let log = place.read("power-log");
    let asked: Vec<&str> = log.lines().collect();
    let cycled = ["hang", "off", "on"];
    let expected = [
        &["cycle"],
        &cycled[..],
        &cycled[..],
        &cycled[..],
        &["cycle"],
    ]
    .concat();
    assert_eq!(asked, expected);
    for (boot, words) in [
        ("1", "its console, from before the reboot on"),
        ("2", "[0.3] Call Trace:"),
        ("3", "soft lockup"),
        ("4", "that was v4"),
    ] {
        let log = log_of_boot(&place, "s", boot);
        assert!(log.contains(words), "{words}: {log}");
    }
    place.assert_nothing_left();
}

#[test]
fn a_machine_that_stands_still_in_a_trial_is_power_cycled_and_measured_in_its_build_again() {
    let Some(place) = place() else { return };
    with_power_and_console(&place);
    place.write("away", "");
    let speed = "if [ -e @away ]; then rm @away; @power hang; sleep 60; fi; echo 10.1";
    for (file, text) in [("speed", speed), ("install", INSTALL), ("reboot", REBOOT)] {
        place.write(
            &format!("repo/{file}"),
            text.replace('@', &place.at("")) + "\n",
        );
    }
    stepping::commit_all(&place, 1);
    target(&place, "sh {build}/reboot", "12s");
    let ended = ends(&place, &step("v1", "v1", &["--repeat", "2", "--name", "s"]));
    ended.assert_says(&["stayed away and was power-cycled: off, then on"]);
    let row = place.study("s");
    assert_eq!(
        (row["measured"].as_u64(), row["failed"].as_u64()),
        (Some(1), Some(1)),
        "{}",
        ended.stderr
    );
    let log = place.read("power-log");
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        ["cycle", "hang", "off", "on", "cycle"]
    );
    place.assert_nothing_left();
}

#[test]
fn the_power_of_a_machine_on_which_a_study_measures_is_left_alone_unless_it_is_forced() {
    let Some(place) = place() else { return };
    with_power_and_console(&place);
    place.prints("where", "sleep 600; echo 42");
    place.write("where.toml", "use = [\"where\"]\nrounds = 1\n");
    let mut run = begins(&place, &["run", "where.toml", "--name", "r"]);
    run.until_step_in("run");
    let refused = place.ends(&["lab", "power", "off", &place.name]);
    refused.assert_code(1);
    refused.assert_says(&["is leased to study `r`", "--force does it nevertheless"]);
    let status = place.ends(&["lab", "power", "status"]);
    assert_eq!(status.stdout(), format!("{}: on\n", place.name));
    place
        .ends(&["lab", "power", "off", &place.name, "--force"])
        .assert_code(0);
    run.ends().assert_code(1);
    place
        .ends(&["lab", "power", "on", &place.name])
        .assert_code(0);
    assert_eq!(place.read("power-log"), "off\non\n");
    place.assert_nothing_left();
}

#[test]
fn another_release_is_installed_and_proves_that_it_runs() {
    let Some(place) = place() else { return };
    let lab = place.read("lab.toml");
    let keys = "power = { on = \"@power on\", off = \"@power off\", cycle = \"@power cycle\", status = \"[ -e @off ] && echo off || echo on\" }\n";
    let by = |install: &str| {
        let keys = format!("{keys}install = {{ {install} }}\n");
        place.write("lab.toml", lab.clone() + &keys.replace('@', &place.at("")));
    };
    let install = |release: &str| ends(&place, &["lab", "install", &place.name, release]);
    by(
        "run = \"echo {host} runs {release} > @installed\", proof = \"cat @running\", timeout = \"100s\"",
    );
    let ended = install("bookworm-12.9");
    ended.assert_code(0);
    let said = format!("{0}: installed in ", place.name);
    let runs = format!("s: {0} runs bookworm-12.9, kernel ", place.name);
    let words = ended.stdout();
    assert!(words.contains(&said) && words.contains(&runs), "{words}");
    ended.assert_says(&[
        "ordering `bookworm-12.9`",
        "switching it off and on",
        "waiting until",
    ]);
    assert_eq!(place.read("power-log"), "cycle\n");

    // The host itself reboots, into what was there before.
    by("run = \"true\", reboot = \"@power warm\", proof = \"cat @running\", timeout = \"12s\"");
    let ended = install("trixie");
    ended.assert_code(2);
    let words = format!("printed `{} runs bookworm-12.9`", place.name);
    ended.assert_says(&[
        "after 12s nothing has proved that `trixie` runs there",
        &words,
        "install.timeout",
    ]);
    assert_eq!(place.read("power-log"), "cycle\nwarm\n");

    by("run = \"echo no such release: {release}; exit 3\", proof = \"cat @running\"");
    let ended = install("trixie");
    ended.assert_code(2);
    ended.assert_says(&["no such release: trixie", "exit status: 3"]);
    assert_eq!(place.read("power-log"), "cycle\nwarm\n");
    let ended = ends(&place, &["lab", "install", "nobody", "trixie"]);
    ended.assert_code(2);
    ended.assert_says(&["the lab has no such host"]);
    place.write("lab.toml", &lab);
    let ended = install("trixie");
    ended.assert_code(2);
    ended.assert_says(&["the lab doesn't say how it is installed: add install = {"]);
    by("run = \"pxe {version}\", proof = \"true\"");
    let ended = install("trixie");
    ended.assert_code(2);
    ended.assert_says(&["lab.toml:", "`{version}` means nothing here"]);
    place.assert_nothing_left();
}

#[test]
fn a_machine_that_is_off_is_waited_for_at_the_start_and_between_trials() {
    let Some(place) = place() else { return };
    let run = "if [ -e @away ]; then rm @away; @power off; sleep 60; fi; echo 42";
    place.prints("where", &run.replace('@', &place.at("")));
    place.write("where.toml", "use = [\"where\"]\nrounds = 3\n");
    place.write("away", "");
    place.write("off", "");
    let arguments = ["run", "where.toml", "--name", "r"];
    let ended = ends(&place, &arguments);
    ended.assert_code(2);
    ended.assert_says(&["can't be reached", "--host-wait"]);
    let mut run = begins(&place, &[&arguments[..], &["--host-wait", "50s"]].concat());
    for _ in 0..2 {
        let event = run.until("a wait", |event| event["event"] == "host-awaited");
        assert_eq!(event["host"], place.name.as_str());
        let why = event["why"].as_str().unwrap();
        assert!(why.contains("the machine is off"), "{why}");
        fs::remove_file(place.path("off")).unwrap();
        run.until("its end", |event| event["event"] == "hosts-back");
    }
    // The trial in which it was switched off failed.
    run.ends().assert_code(1);
    let row = place.study("r");
    assert_eq!(
        (row["measured"].as_u64(), row["failed"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(row["state"], "finished");
    place.assert_nothing_left();
}

#[test]
fn a_wait_for_a_machine_can_be_stopped_and_the_study_goes_on_later() {
    let Some(place) = place() else { return };
    let run = "if [ -e @away ]; then rm @away; @power off; sleep 60; fi; echo 42";
    place.prints("where", &run.replace('@', &place.at("")));
    place.write("where.toml", "use = [\"where\"]\nrounds = 3\n");
    place.write("away", "");
    let arguments = ["run", "where.toml", "--name", "r", "--host-wait", "50s"];
    let mut run = begins(&place, &arguments);
    run.until("a wait", |event| event["event"] == "host-awaited");
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    fs::remove_file(place.path("off")).unwrap();
    ends(&place, &["resume", "r"]).assert_code(1);
    let row = place.study("r");
    assert_eq!(
        (row["measured"].as_u64(), row["failed"].as_u64()),
        (Some(2), Some(1))
    );
}

#[test]
fn a_connection_that_is_lost_while_a_build_is_installed_stops_the_study_and_it_goes_on() {
    let Some(place) = place() else { return };
    version(
        &place,
        1,
        "if [ -e @mended ]; then cp stamp @installed; else @power drop; sleep 60; fi",
        "false",
    );
    // This machine has a way of its own.
    let own = "\n[host.NAME.ssh-reboot]\nreboot = \"@power cycle\"\n";
    let own = own.replace("NAME", &place.name).replace('@', &place.at(""));
    place.write("lab.toml", place.read("lab.toml") + &own);
    let ended = ends(&place, &step("v1", "v1", &["--name", "s"]));
    ended.assert_code(1);
    ended.assert_says(&["lost while it ran", "backsight resume s"]);
    place.assert_nothing_left();
    place.write("mended", "");
    ends(&place, &["resume", "s"]).assert_code(0);
    assert_eq!(place.study("s")["measured"], 2);
}

#[test]
fn a_machine_that_crashes_in_a_trial_is_rebooted_before_the_next_one() {
    let Some(place) = place() else { return };
    let run = "if [ -e @crash ]; then rm @crash; @power crash; sleep 60; fi; sh {build}/tool";
    place.benchmark(
        "tool",
        &format!(
            "[tester]\nrun = '''{}'''\n{VALUE}",
            run.replace('@', &place.at(""))
        ),
    );
    version(&place, 1, INSTALL, REBOOT);
    place.write("crash", "");
    let ended = ends(&place, &step("v1", "v1", &["--repeat", "3", "--name", "s"]));
    ended.assert_code(1);
    let row = place.study("s");
    assert_eq!(
        (row["measured"].as_u64(), row["failed"].as_u64()),
        (Some(2), Some(1)),
        "{row}"
    );
    assert_eq!(place.read("power-log"), "cycle\ncrash\ncycle\n");
    place.assert_nothing_left();
}

#[test]
fn stopped_or_killed_while_a_machine_reboots_it_leaves_nothing_and_goes_on() {
    let Some(place) = place() else { return };
    let waits = "if [ -e @waits ]; then : > @asked; else @power cycle; fi";
    version(&place, 1, INSTALL, waits);
    place.write("waits", "");
    let run = begins(&place, &step("v1", "v1", &["--name", "s"]));
    place.until_there("asked");
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    place.assert_nothing_left();

    fs::remove_file(place.path("asked")).unwrap();
    let run = begins(&place, &["resume", "s"]);
    place.until_there("asked");
    run.after_sigkill();
    place.assert_nothing_left();

    fs::remove_file(place.path("waits")).unwrap();
    ends(&place, &["resume", "s"]).assert_code(0);
    assert_eq!(place.study("s")["measured"], 2);
    place.assert_nothing_left();
}

/// Gives the machine a parameter of its own, which a study sets to 7 and its benchmark prints, and a journal that outlasts its boots.
fn parameter(place: &Place, benchmark: &str) {
    fs::create_dir(place.path("lib")).unwrap();
    place.write("swappiness", "60\n");
    place.prints("tool", benchmark);
    place.plan("use = [\"tool\"]\nrounds = 2\nseed = 1\n[prepare]\nsysctl.\"vm.swappiness\" = 7\n");
}

/// The machine is as it was, and its journal says nothing.
fn assert_put_back(place: &Place) {
    assert_eq!(place.read("swappiness"), "60\n");
    let left = fs::read_dir(place.path("lib")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["journal.lock"]);
}

#[test]
fn a_machine_gets_its_settings_again_after_each_reboot_and_is_put_back_in_the_end() {
    let Some(place) = place() else { return };
    parameter(&place, "cat /proc/sys/vm/swappiness");
    version(&place, 1, INSTALL, REBOOT);
    version(&place, 2, INSTALL, REBOOT);
    let modes = ["--modes", "reboot", "--repeat", "2", "--name", "s"];
    let ended = ends(&place, &step("v1", "v2", &modes));
    ended.assert_code(0);
    let measured = place.study("s")["measured"].as_u64().unwrap();
    assert!(measured >= 4, "{}", ended.stderr);
    assert_eq!(place.read("power-log").lines().count(), 4);
    for trial in 1..=u32::try_from(measured).unwrap() {
        let raw = place.raw("s", trial);
        assert!(raw.lines().any(|line| line.trim() == "7"), "{raw}");
    }
    // What each reboot has undone for this study is no news.
    assert!(!ended.stderr.contains("undone"), "{}", ended.stderr);
    assert_put_back(&place);
    place.assert_nothing_left();
}

#[test]
fn a_machine_that_comes_back_without_a_setting_is_not_measured() {
    let Some(place) = place() else { return };
    parameter(&place, "cat /proc/sys/vm/swappiness");
    // The kernel of this version refuses the value.
    version(
        &place,
        1,
        INSTALL,
        "rm -f @lib/journal*; mkdir -p @lib/journal/in-the-way; @power cycle",
    );
    let ended = ends(&place, &step("v1", "v1", &["--repeat", "1", "--name", "s"]));
    assert_ne!(ended.status.code(), Some(0));
    let said = format!("{}{}", ended.stdout(), ended.stderr);
    assert!(
        said.contains("was rebooted and can't be prepared"),
        "{said}"
    );
    assert_eq!(place.study("s")["measured"], 0);
}

#[test]
fn a_machine_that_dies_and_stays_away_is_said_to_be_left_changed_and_put_back_when_it_is_back() {
    let Some(place) = place() else { return };
    parameter(&place, "echo 7; [ -e @/immortal ] || sh @/die");
    // Nobody is left there who could put anything back: agent, supervisor and server are killed at once.
    let die = "p=$$; while [ $p -gt 1 ]; do c=$(cat /proc/$p/comm); case $c in agent-* | sshd*) pids=\"$pids $p\" ;; esac\n\
        p=$(sed 's/.*) //' /proc/$p/stat | cut -d ' ' -f 2); done\n: > @/off\nkill -STOP $pids; kill -9 $pids\n";
    place.write("die", die.replace('@', &place.at("")));
    let began = std::time::Instant::now();
    let ended = ends(&place, &["run", "plan.toml", "--name", "first"]);
    assert!(began.elapsed() < std::time::Duration::from_secs(50));
    assert_ne!(ended.status.code(), Some(0));
    let host = &place.name;
    for words in [
        &format!("{host} is gone, and isn't put back: sysctl (/proc/sys/vm/swappiness, was 60)")[..],
        &format!("`backsight restore {host}`"),
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert_eq!(place.read("swappiness"), "7\n");
    // Nobody answers: so is said, and nothing is lost.
    let away = ends(&place, &["restore", host]);
    away.assert_code(1);
    fs::remove_file(place.path("off")).unwrap();
    let back = ends(&place, &["restore", host]);
    back.assert_code(0);
    back.assert_says(&["(/proc/sys/vm/swappiness) of study `first`: put back"]);
    assert_put_back(&place);
    // The next study there does it as well.
    assert_ne!(
        ends(&place, &["run", "plan.toml", "--name", "second"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(place.read("swappiness"), "7\n");
    fs::remove_file(place.path("off")).unwrap();
    place.write("immortal", "");
    let third = ends(&place, &["run", "plan.toml", "--name", "third"]);
    third.assert_code(0);
    assert!(
        third.stderr.contains("of study `second`: put back"),
        "{}",
        third.stderr
    );
    assert_put_back(&place);
    place.assert_nothing_left();
}
