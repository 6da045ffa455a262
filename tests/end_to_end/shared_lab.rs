//! Controllers that share machines: each has a home, a store and leases of its own, and reaches the machine by `ssh` in a home
//! of its own there. Leases are on the machine.

use nix::sys::signal::Signal;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    far,
    place::Place,
    processes,
    running::{Ended, Running},
    stepping,
};

/// An agent that doesn't hear its controller asks it after 20 s, and gives it 40 s to answer.
const SILENCE_ENDS: Duration = Duration::from_secs(75);

/// A machine with a second home, and a plan with a step that can be held; none where that can't be.
fn machine() -> Option<Place> {
    let place = far::place()?;
    for home in ["home-b/.ssh", "ctl-a", "ctl-b", "ctl-c"] {
        fs::create_dir_all(place.path(home)).unwrap();
    }
    fs::set_permissions(place.path("home-b"), fs::Permissions::from_mode(0o700)).unwrap();
    let dial = place.read("dial").replace("/home /root", "/home-b /root");
    place.write("home-b/.ssh/authorized_keys", place.read("key.pub"));
    place.write("dial-b", dial);
    fs::set_permissions(place.path("dial-b"), fs::Permissions::from_mode(0o755)).unwrap();
    let lab = place.read("lab.toml").replace("/dial\"", "/dial-b\"");
    place.write("lab-b.toml", lab);
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 1\n");
    Some(place)
}

/// The program of a controller: `a`, or `b` and `c`, which have another home there.
fn command(place: &Place, controller: &str, arguments: &[&str]) -> Command {
    let own = |file: &str| place.path(&format!("ctl-{controller}/{file}"));
    let mut command = place.put(Command::new(far::release()), arguments);
    command
        .env("BACKSIGHT_LEASES", own("leases"))
        .env("HOME", own(""))
        .env("XDG_STATE_HOME", own("state"))
        .env("XDG_CACHE_HOME", own("cache"))
        .args(["--store", &place.at(&format!("ctl-{controller}/store"))]);
    if controller != "a" {
        command.args(["--lab", &place.at("lab-b.toml")]);
    }
    command
}

fn begins(place: &Place, controller: &str, arguments: &[&str]) -> Running {
    let arguments = [&["run", "plan.toml", "--json"], arguments].concat();
    Running::start(command(place, controller, &arguments))
}

fn refused(place: &Place, controller: &str) -> Ended {
    begins(place, controller, &["--name", "refused"]).ends()
}

#[test]
fn two_controllers_never_have_a_machine_at_once_and_the_second_has_it_when_the_first_is_killed() {
    let Some(place) = machine() else { return };
    place.hold("run", 1);
    let first = begins(&place, "a", &["--name", "first"]);
    place.until_held("run");
    let second = refused(&place, "b");
    second.assert_code(2);
    let holder = format!(
        "host `{}` is leased to study `first` (process {}) of ",
        place.name, first.pid
    );
    second.assert_says(&[&holder, " since 20", "--wait"]);
    let mut waiter = begins(&place, "b", &["--name", "second", "--wait", "50s"]);
    let awaited = waiter.until("a wait", |event| event["event"] == "lease-awaited");
    assert_eq!(awaited["host"], place.name.as_str());
    let text = awaited["holder"].as_str().unwrap();
    assert!(text.starts_with("study `first` (process "), "{awaited}");
    let since: jiff::Timestamp = awaited["since"].as_str().unwrap().parse().unwrap();
    let age = jiff::Timestamp::now().duration_since(since);
    assert!(age.as_secs() < 60, "{awaited}");
    first.after_sigkill();
    let killed = Instant::now();
    place.release("run");
    waiter.until("its trial", |event| event["event"] == "trial-started");
    assert!(
        killed.elapsed() < Duration::from_secs(5),
        "{:?}",
        killed.elapsed()
    );
    waiter.ends().assert_code(0);
    // The killed one goes on as soon as the machine is free.
    let arguments = ["resume", "first", "--json"];
    Running::start(command(&place, "a", &arguments))
        .ends()
        .assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_study_that_ends_gives_the_machine_to_who_waits_within_a_second() {
    let Some(place) = machine() else { return };
    place.hold("run", 1);
    let mut first = begins(&place, "a", &["--name", "first"]);
    place.until_held("run");
    let mut waiter = begins(&place, "b", &["--name", "second", "--wait", "50s"]);
    waiter.until("a wait", |event| event["event"] == "lease-awaited");
    place.release("run");
    first.until("its end", |event| event["event"] == "study-finished");
    first.ends().assert_code(0);
    let freed = Instant::now();
    waiter.until("the study", |event| event["event"] == "study-started");
    assert!(
        freed.elapsed() < Duration::from_secs(1),
        "{:?}",
        freed.elapsed()
    );
    waiter.ends().assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_controller_that_stands_still_is_told_by_its_silence_and_loses_the_machine() {
    let Some(place) = machine() else { return };
    place.hold("run", 1);
    let first = begins(&place, "a", &["--name", "first"]);
    place.until_held("run");
    first.signal(Signal::SIGSTOP);
    let waiter = begins(&place, "b", &["--name", "second", "--wait", "100s"]);
    processes::until("the silence is told", || {
        let said = refused(&place, "c").words();
        said.contains("whose controller hasn't been heard for")
    });
    place.release("run");
    waiter.ends_within(SILENCE_ENDS).assert_code(0);
    first.signal(Signal::SIGCONT);
    // It has lost the machine and says so.
    first.ends().assert_code(1);
    place.assert_nothing_left();
}

#[test]
fn who_waits_for_a_machine_that_is_rebooted_leaves_it_to_its_study() {
    let Some(place) = machine() else { return };
    // Who comes before the reboot waits.
    let held = "until [ -e @go ]; do : > @installs; sleep 0.02; done; ".to_owned() + far::INSTALL;
    far::version(&place, 1, &held, far::REBOOT);
    far::version(&place, 2, far::INSTALL, far::REBOOT);
    let arguments = stepping::step("v1", "v2", &["--name", "s", "--json"]);
    let mut first = Running::start(command(&place, "a", &arguments));
    place.until_there("installs");
    let mut waiter = begins(&place, "b", &["--name", "second", "--wait", "55s"]);
    waiter.until("a wait", |event| event["event"] == "lease-awaited");
    place.write("go", "");
    first.until("a boot", |event| event["event"] == "boot-finished");
    first.until("another boot", |event| event["event"] == "boot-finished");
    first.ends().assert_code(0);
    assert_eq!(place.read("power-log").lines().count(), 2);
    waiter.ends().assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_study_whose_machine_another_one_has_after_a_reboot_stops_and_goes_on_later() {
    let Some(place) = machine() else { return };
    // It is off for the first controller only, until the second one has it.
    let dial = place.read("dial-b").replace("/off ]", "/off-b ]");
    place.write("dial-b", dial);
    let reboot = "[ -e @once ] || : > @off; : > @once; @power cycle";
    far::version(&place, 1, far::INSTALL, reboot);
    let arguments = stepping::step("v1", "v1", &["--name", "s", "--json"]);
    let first = Running::start(command(&place, "a", &arguments));
    place.until_there("off");
    place.hold("run", 1);
    let second = begins(&place, "b", &["--name", "second", "--wait", "20s"]);
    place.until_held("run");
    fs::remove_file(place.path("off")).unwrap();
    let stopped = first.ends();
    stopped.assert_code(1);
    stopped
        .assert_says(&["it was rebooted, which ended its lease, and is leased to study `second`"]);
    place.release("run");
    second.ends().assert_code(0);
    // Nothing was learnt of the version.
    let resumed = Running::start(command(&place, "a", &["resume", "s", "--json"])).ends();
    resumed.assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn controllers_that_want_the_same_machines_in_another_order_both_have_them() {
    let Some(place) = machine() else { return };
    // A second machine: another boot, and leases of its own.
    let config = place
        .read("sshd_config")
        .replace("/far-leases", "/far-leases-2");
    place.write("sshd_config-2", config);
    place.write("boot_id-2", "boot-other\n");
    for dial in ["dial", "dial-b"] {
        let other = place
            .read(dial)
            .replace("/boot_id /proc", "/boot_id-2 /proc")
            .replace("/sshd_config'", "/sshd_config-2'");
        let file = format!("{dial}-2");
        place.write(&file, other);
        fs::set_permissions(place.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let name = place.name.clone();
    for (file, names) in [("lab.toml", ["x", "y"]), ("lab-b.toml", ["y", "x"])] {
        let lab = place.read(file);
        let (head, host) = lab.split_once("[host").unwrap();
        let one = format!(
            "[host{}",
            host.replacen(&name, &format!("{}-{name}", names[0]), 1)
        );
        let two = format!(
            "[host{}",
            host.replacen(&name, &format!("{}-{name}", names[1]), 1)
        );
        let two = two
            .replace("/dial\"", "/dial-2\"")
            .replace("/dial-b\"", "/dial-b-2\"");
        let testbed = format!("[testbed.all]\nx = \"x-{name}\"\ny = \"y-{name}\"\n");
        place.write(file, format!("{head}{one}{two}{testbed}"));
    }
    let text = format!(
        "name = \"pair\"\nabout = \"a test's own\"\nroles = [\"x\", \"y\"]\n[x]\nrun = \"echo 42\"\n[y]\nrun = \"echo 42\"\n{}from = \"x.run\"\n",
        crate::place::VALUE
    );
    place.write("benchmarks/pair.toml", text);
    place.plan("use = [\"pair\"]\nrounds = 1\n");
    // Whoever began first would have one of them and wait for the other.
    for round in 1..=3 {
        let study = format!("s{round}");
        let arguments = ["--name", &study, "--wait", "30s"];
        let both = ["a", "b"].map(|controller| begins(&place, controller, &arguments));
        for run in both {
            run.ends().assert_code(0);
        }
    }
    place.assert_nothing_left();
}
