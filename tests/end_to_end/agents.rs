//! Agents and hosts that go away under a trial.

use backsight_test_needs::Need;
use nix::sys::signal::{Signal, kill};
use std::process::Command;

use crate::{
    place::{Place, VALUE},
    processes,
    running::Running,
};

const ONE_VARIANT: &str = "use = [\"long\"]\nrounds = 2\n[[variant]]\nname = \"v\"\n\
    tester.setup = \"mkdir @/set-up\"\ntester.teardown = \"rmdir @/set-up\"\n";

/// A benchmark whose step says something and can be held, in a variant that has to be put back.
fn long() -> Place {
    let place = Place::new();
    place.benchmark(
        "long",
        &format!(
            "[tester]\nrun = \"echo 42 so far; @/step run\"\nreset = \"@/step reset\"\n{VALUE}"
        ),
    );
    place.plan(ONE_VARIANT);
    place
}

#[test]
fn a_killed_agent_fails_its_trial_and_the_study_goes_on() {
    let place = long();
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGKILL).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    place.release("run");
    // A set-up that was left behind would fail the next trial's own.
    let ended = run.ends();
    ended.assert_code(1);
    assert!(
        ended
            .events()
            .iter()
            .any(|e| e["event"] == "host-lost" && e["host"] == *place.name)
    );
    let trials = place.trials("s");
    assert_eq!(trials.len(), 2, "{trials:#?}");
    assert!(
        trials[0].outcome.contains("agent") && trials[0].outcome.contains("went away"),
        "{trials:#?}"
    );
    assert!(trials[1].measured(), "{trials:#?}");
    let raw = place.raw("s", 1);
    assert!(
        raw.contains("42 so far"),
        "what was printed before is kept: {raw}"
    );
    assert_eq!(
        place.calls("run"),
        2,
        "the killed trial is not measured again"
    );
    assert!(
        !crate::place::exists(&place.path("set-up")),
        "the variant's set-up is left behind"
    );
    place.assert_nothing_left();
}

#[test]
fn an_agent_that_dies_between_two_trials_is_replaced() {
    let place = long();
    place.hold("reset", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("reset");
    kill(processes::agent_of(run.pid), Signal::SIGKILL).unwrap();
    run.until("the loss of the host", |e| e["event"] == "host-lost");
    place.release("reset");
    run.ends().assert_code(1);
    let trials = place.trials("s");
    assert_eq!(trials.len(), 2, "{trials:#?}");
    assert!(!trials[0].measured() && trials[1].measured(), "{trials:#?}");
    assert!(!crate::place::exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn a_stopped_agent_fails_its_trial_and_the_study_goes_on() {
    let place = long();
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let agent = processes::agent_of(run.pid);
    kill(agent, Signal::SIGSTOP).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    assert!(
        !processes::all().iter().any(|p| p.pid == agent.as_raw()),
        "the stopped agent is still there"
    );
    place.release("run");
    run.ends().assert_code(1);
    let trials = place.trials("s");
    assert_eq!(trials.len(), 2, "{trials:#?}");
    assert!(!trials[0].measured() && trials[1].measured(), "{trials:#?}");
    assert!(place.raw("s", 1).contains("42 so far"));
    assert!(
        !crate::place::exists(&place.path("set-up")),
        "the variant's set-up is left behind"
    );
    place.assert_nothing_left();
}

#[test]
fn an_interrupt_while_an_agent_is_stopped_still_puts_back_what_was_set_up() {
    let place = long();
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGSTOP).unwrap();
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    place.assert_nothing_left();
    assert!(
        !crate::place::exists(&place.path("set-up")),
        "the variant's set-up is left behind"
    );
    place.release("run");
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 2);
}

#[test]
fn an_agent_that_is_told_to_end_ends_its_steps() {
    let place = long();
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGTERM).unwrap();
    run.until_trial_finished();
    place.release("run");
    run.ends().assert_code(1);
    assert!(place.trials("s")[1].measured());
    place.assert_nothing_left();
}

#[test]
fn one_lost_host_of_two_fails_the_trial_once_and_both_go_on() {
    let place = Place::of_roles(&["tester", "other"]);
    let folder = place.at("");
    let text = format!(
        "name = \"two\"\nabout = \"a test's own\"\nroles = [\"tester\", \"other\"]\n\
         [tester]\nrun = \"@/step run; echo 42\"\nreset = \"@/step reset\"\n\
         [other]\nrun = \"@/step other\"\nreset = \"@/step reset\"\n{VALUE}from = \"tester.run\"\n"
    );
    place.write(
        "benchmarks/two.toml",
        text.replace('@', folder.trim_end_matches('/')),
    );
    place.plan("use = [\"two\"]\nrounds = 2\n");
    place.hold("other", 1);
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("other");
    place.until_held("run");
    let agents = processes::agents_of(run.pid);
    let victim = agents
        .iter()
        .find(|agent| {
            processes::below(agent.pid)
                .iter()
                .any(|p| p.command.contains("step other"))
        })
        .unwrap();
    kill(nix::unistd::Pid::from_raw(victim.pid), Signal::SIGKILL).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(
        finished["failure"]["host"],
        *place.host("other"),
        "{finished}"
    );
    place.release("other");
    place.release("run");
    let ended = run.ends();
    ended.assert_code(1);
    let lost: Vec<_> = ended
        .events()
        .into_iter()
        .filter(|e| e["event"] == "host-lost")
        .collect();
    assert_eq!(lost.len(), 1, "{lost:#?}");
    let trials = place.trials("s");
    assert!(!trials[0].measured() && trials[1].measured(), "{trials:#?}");
    place.assert_nothing_left();
}

/// A place whose only host is a namespace, and up.
fn namespace() -> Place {
    let place = long();
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n[host.only]\nkind = \"netns\"\n", place.name),
    );
    place.ends(&["lab", "up"]).assert_code(0);
    place
}

#[test]
fn a_namespace_shows_its_own_interfaces_and_the_machine_s_other_mounts() {
    if Need::Root.is_missing() {
        return;
    }
    let place = namespace();
    // Mounts below /sys: where the agent's own cgroup is, among others.
    let mounts = "cut -d' ' -f5 /proc/self/mountinfo | grep ^/sys/ | LC_ALL=C sort -u";
    let here = Command::new("sh").args(["-c", mounts]).output().unwrap();
    let here = String::from_utf8(here.stdout).unwrap();
    place.prints("seen", &format!("ls /sys/class/net; {mounts}; echo 42"));
    place.plan("use = [\"seen\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    let raw = place.raw("s", 1);
    assert!(raw.contains(&format!("lo\n{here}42")), "{raw}");
    place.assert_nothing_left();
}

#[test]
fn a_host_that_is_not_up_is_refused_with_the_command_that_makes_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = namespace();
    place.ends(&["lab", "down"]).assert_code(0);
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(2);
    ended.assert_says(&["host `only` is not up", "backsight lab up"]);
    assert_eq!(
        place.ends(&["show", "s"]).status.code(),
        Some(2),
        "nothing was begun"
    );
}

#[test]
fn a_namespace_that_disappears_stops_the_study_until_it_is_back() {
    if Need::Root.is_missing() {
        return;
    }
    let place = namespace();
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let removed = place.namespaces();
    assert_eq!(removed.len(), 1);
    let mut ip = Command::new("ip");
    assert!(
        ip.args(["netns", "del", &removed[0]])
            .status()
            .unwrap()
            .success()
    );
    kill(processes::agent_of(run.pid), Signal::SIGKILL).unwrap();
    run.until_trial_finished();
    let ended = run.ends();
    ended.assert_code(1);
    ended.assert_says(&[
        "host `only` is not up",
        "backsight lab up",
        "backsight resume s",
        "1 failed, 1 left",
    ]);
    assert_eq!(place.study("s")["state"], "stopped");
    place.assert_nothing_left();
    place.release("run");

    // The variant's set-up was on the host that went; here it is a folder that stays, as a disk would.
    std::fs::remove_dir(place.path("set-up")).unwrap();
    let refused = place.ends(&["resume", "s"]);
    assert_ne!(refused.status.code(), Some(0));
    refused.assert_says(&["backsight lab up"]);
    place.ends(&["lab", "up"]).assert_code(0);
    let resumed = place.ends(&["resume", "s"]);
    resumed.assert_code(1);
    resumed.assert_says(&["1 trial measured, 1 failed, 0 left"]);
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_namespace_whose_name_is_gone_serves_until_its_study_is_done() {
    if Need::Root.is_missing() {
        return;
    }
    let place = namespace();
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let mut ip = Command::new("ip");
    assert!(
        ip.args(["netns", "del", &place.namespaces()[0]])
            .status()
            .unwrap()
            .success()
    );
    place.release("run");
    run.ends().assert_code(0);
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}

/// A controller has five open files of each host: here more than its limit allows, and fewer than it may have.
#[test]
fn more_hosts_than_the_limit_of_open_files_and_what_is_measured_has_that_limit() {
    let place = Place::new();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let hosts: String = names
        .iter()
        .map(|host| format!("[host.{host}]\nkind = \"local\"\n"))
        .collect();
    place.write(
        "lab.toml",
        format!("{hosts}[testbed.t]\ntester = {names:?}\n"),
    );
    place.prints("limit", "ulimit -Sn");
    place.plan("use = [\"limit\"]\nrounds = 1\n");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -Sn 40 && exec \"$@\"", "sh"]);
    limited.arg(env!("CARGO_BIN_EXE_backsight"));
    let limited = place.put(limited, &["run", "plan.toml", "--name", "s"]);
    Running::start(limited).ends().assert_code(0);
    let raw = place.prints_of(&["show", "s", "--trial", "1", "--raw"]);
    let limits = raw.lines().filter(|line| line.trim() == "40");
    assert_eq!(limits.count(), names.len(), "{raw}");
}
