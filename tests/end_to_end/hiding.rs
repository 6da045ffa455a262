//! Steps that hide and kill those who would end them: nothing of them is left.

use backsight_test_needs::Need;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{
    place::{Place, VALUE},
    processes,
};

/// Leaves its cgroup, its session and its environment, and then kills some of `$agent`, `$supervisor`, `$conductor`.
const HIDE: &str = r#"#!/bin/sh
here=$(dirname "$0")
parent() { cut -d" " -f4 "/proc/$1/stat"; }
agent=$PPID
supervisor=$(parent "$agent")
conductor=$(parent "$supervisor")
for cgroup in $(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo); do
    echo 0 > "$cgroup/cgroup.procs"
done 2> /dev/null
rm -f "$here/hidden"
setsid OWN_NAMESPACE env -i /bin/sh "$here/lurk" "OWN_NAMESPACE" &
while [ ! -e "$here/hidden" ]; do sleep 0.01; done
kill -KILL KILLED
"#;

/// Its children have it for a parent; it has the supervisor, or whoever is left.
const LURK: &str = r#"#!/bin/sh
[ -z "$1" ] || echo nobody > /proc/sys/kernel/domainname
: > "$(dirname "$0")/hidden"
trap "" TERM INT HUP
while :; do /bin/sleep 1; done
"#;

/// A place whose only step hides and kills these.
fn hiding(killed: &str) -> Place {
    let place = Place::new();
    // Only the supervisor finds what has given up its UTS namespace too.
    let leave = match nix::unistd::geteuid().is_root() && !killed.contains("$supervisor") {
        true => "unshare --uts",
        false => "",
    };
    let hide = HIDE
        .replace("KILLED", killed)
        .replace("OWN_NAMESPACE", leave);
    place.script("hide", &hide);
    place.script("lurk", LURK);
    place.benchmark("hides", &format!("[tester]\nrun = \"@/hide\"\n{VALUE}"));
    place.plan("use = [\"hides\"]\nrounds = 5\n");
    place
}

/// Five trials, in each of which these are killed: when the study has ended, nothing of any is left.
fn leaves_nothing_after(killed: &str) {
    let place = hiding(killed);
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    let left = processes::of_place(&place.name);
    assert!(left.is_empty(), "{left:#?}");
    let trials = place.trials("s");
    assert_eq!(trials.len(), 5, "{trials:#?}");
    assert!(!trials.iter().any(|trial| trial.measured()), "{trials:#?}");
    place.assert_nothing_left();
}

#[test]
fn a_step_that_hides_and_kills_its_agent_leaves_nothing() {
    leaves_nothing_after("$agent");
}

#[test]
fn a_step_of_root_that_hides_and_kills_its_agent_and_the_supervisor_leaves_nothing() {
    if Need::Root.is_missing() {
        return;
    }
    leaves_nothing_after("$supervisor $agent");
}

#[test]
fn a_step_that_hides_is_ended_when_conductor_and_agent_are_killed() {
    let place = hiding("$conductor $agent");
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    let _killed = run.ends();
    // The supervisor does it by itself: nothing else of the program is started.
    place.assert_nothing_left();
}

#[test]
fn an_agent_that_stands_still_goes_on_when_its_conductor_is_killed() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 1\n");
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGSTOP).unwrap();
    run.after_sigkill();
    place.assert_nothing_left();
    assert_eq!(place.calls("reset"), 1, "the agent puts its host back");
}

#[test]
fn the_next_start_of_any_verb_ends_a_step_of_root_that_killed_all_three() {
    if Need::Root.is_missing() {
        return;
    }
    for verb in [
        &["studies"][..],
        &["list", "benchmarks"],
        &["doctor", "--no-self-test"],
    ] {
        let place = hiding("$conductor $supervisor $agent");
        let run = place.begins(&["run", "plan.toml", "--name", "s"]);
        let _killed = run.ends();
        assert!(!processes::of_place(&place.name).is_empty(), "it lurks");
        place.ends(verb);
        let left = processes::of_place(&place.name);
        assert!(left.is_empty(), "after {verb:?}: {left:#?}");
        place.assert_nothing_left();
    }
}

#[test]
fn a_supervisor_that_is_killed_takes_nothing_with_it() {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 2\n");
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let supervisors = processes::supervisors_of(run.pid);
    assert_eq!(supervisors.len(), 1, "{supervisors:#?}");
    kill(Pid::from_raw(supervisors[0].pid), Signal::SIGKILL).unwrap();
    place.release("run");
    run.ends().assert_code(0);
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}
