//! Monitors beside a benchmark: when they run, what is kept of them, and that they spoil nothing.

use nix::sys::signal::{Signal, kill};
use serde_json::Value;

use crate::{
    place::{Place, VALUE},
    processes,
};

/// A monitor that logs when it begins and when it is stopped, and prints a number in between.
const WATCHER: &str = "trap 'echo unwatch >> @/log; echo 7; exit' TERM; echo 7; echo watch >> @/log; \
    while :; do sleep 0.05; done";

#[test]
fn monitors_watch_while_a_benchmark_runs_and_what_they_print_is_kept_and_no_sample() {
    let place = Place::new();
    place.benchmark(
        "logged",
        &format!(
            "[tester]\nstartup = \"@/step startup\"\n\
             run = [\"@/step run\", \"until grep -qx watch @/log; do sleep 0.02; done; echo 42\"]\n\
             collect = \"@/step collect\"\n{VALUE}"
        ),
    );
    place.monitor("watcher", WATCHER);
    place.plan("use = [\"logged\"]\nrounds = 1\nmonitors = [\"watcher\", { name = \"proc-stat\", interval = \"20ms\" }]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);

    let log = place.read("log");
    let at = |what: &str| log.lines().position(|line| line == what).unwrap();
    assert!(at("startup") < at("watch"), "{log}");
    assert!(at("run") < at("unwatch"), "{log}");
    assert!(at("unwatch") < at("collect"), "{log}");

    let raw = place.raw("s", 1);
    assert!(raw.contains("monitor watcher, run of tester"), "{raw}");
    let sample = raw
        .lines()
        .find(|line| line.starts_with("{\"at_ns\""))
        .unwrap();
    let sample: Value = serde_json::from_str(sample).unwrap();
    assert!(sample["values"]["cpu.user"].is_u64(), "{sample}");
    let page = place.prints_of(&["show", "s"]);
    assert!(page.contains(" 42"), "{page}");
    let documents = place.prints_of(&["show", "s", "--documents"]);
    assert!(
        documents.contains("# monitor: "),
        "which monitors ran is kept: {documents}"
    );
    place.assert_nothing_left();
}

#[test]
fn a_monitor_that_dies_or_is_missing_is_a_warning_and_no_failed_trial() {
    let place = Place::new();
    place.prints("number", "echo 42");
    let (died, gone) = (place.at("died"), place.at("gone"));
    place.monitor(
        "dies",
        &format!("echo $$ > {died}; echo out of paper >&2; exit 3"),
    );
    place.monitor("ends", &format!("echo $$ > {gone}"));
    place.write(
        "monitors/missing.toml",
        "name = 'missing'\nabout = 'x'\nrun = 'no-such-tool 1'\nprograms = ['no-such-tool']\n\
         needs = { debian = ['tool-package'] }\n",
    );
    // It runs until the others have ended.
    place.benchmark(
        "slow",
        &format!(
            "[tester]\nrun = \"for f in {died} {gone}; do until test -s $f; do sleep 0.02; done; \
             while kill -0 $(cat $f) 2>/dev/null; do sleep 0.02; done; done; echo 42\"\n{VALUE}"
        ),
    );
    place.plan("use = [\"slow\"]\nrounds = 1\nmonitors = [\"dies\", \"ends\", \"missing\"]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    let trials = place.trials("s");
    assert!(trials[0].measured(), "{trials:#?}");
    for words in [
        "exited with code 3: out of paper",
        "` ended before `run` did",
        "`no-such-tool` is not installed: apt-get install tool-package",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let doctor = place.ends(&["doctor", "plan.toml"]);
    doctor.assert_code(1);
    let words = doctor.stdout();
    assert!(
        words.contains("missing  monitor missing: no-such-tool"),
        "{words}"
    );
    assert!(words.contains("apt-get install tool-package"), "{words}");
    place.assert_nothing_left();
}

#[test]
fn a_killed_agent_leaves_no_monitor() {
    let place = Place::new();
    place.logged("logged");
    place.monitor("watcher", WATCHER);
    place.plan("use = [\"logged\"]\nrounds = 1\nmonitors = [\"watcher\", \"proc-net\"]\n");
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGKILL).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    place.release("run");
    run.ends().assert_code(1);
    place.assert_nothing_left();
}

#[test]
fn a_plan_that_asks_for_what_no_monitor_can_is_pointed_at() {
    let place = Place::new();
    place.prints("number", "echo 42");
    for (monitors, words) in [
        ("[\"vmstta\"]", "no monitor `vmstta` in the catalogue"),
        (
            "[{ name = \"vmstat\", interval = \"10ms\" }]",
            "can't sample more often",
        ),
        ("[\"vmstat\", \"vmstat\"]", "stands here twice"),
        (
            "[{ name = \"vmstat\", roles = [\"nobody\"] }]",
            "role `nobody`",
        ),
        ("[3]", "expected a monitor's name"),
    ] {
        place.plan(&format!("use = [\"number\"]\nmonitors = {monitors}\n"));
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("plan.toml:2"), "{}", ended.stderr);
    }
}

#[test]
fn monitors_are_listed_and_shown_with_those_of_ones_own() {
    let place = Place::new();
    place.monitor("own", "sleep 1000");
    std::fs::create_dir(place.path("others")).unwrap();
    let text = place.read("monitors/own.toml").replace("own\"", "other\"");
    place.write("others/other.toml", text);
    let list = place.prints_of(&["list", "monitors", "--monitors-dir", &place.at("others")]);
    for name in ["own", "other", "vmstat", "proc-stat"] {
        let named = |line: &str| line.split_whitespace().next() == Some(name);
        assert!(list.lines().any(named), "{name}: {list}");
    }
    let shown = place.prints_of(&["show", "monitor", "own"]);
    assert!(shown.contains("sleep 1000"), "{shown}");
    let unknown = place.ends(&["show", "monitor", "vmstta"]);
    unknown.assert_code(2);
    assert!(
        unknown.stderr.contains("did you mean `vmstat`?"),
        "{}",
        unknown.stderr
    );
}
