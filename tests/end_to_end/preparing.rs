//! Settings of a machine while a study measures: made, read again, put back, also after kills. In a mount namespace of its own, where
//! a file of the test's stands for a sysctl, and the journal is the test's own.

use backsight_test_needs::Need;
use std::process::Command;

use crate::{place::Place, running::Running};

/// A place whose benchmark prints the sysctl; the lab is this machine.
fn place(prepare: &str) -> Place {
    let place = Place::new();
    place.prints("swap", "cat /proc/sys/vm/swappiness");
    place.plan(&format!("use = [\"swap\"]\nrounds = 1\n{prepare}\n"));
    place.write("swappiness", "60\n");
    place
}

const SEVEN: &str = "[prepare]\nsysctl.\"vm.swappiness\" = 7\n";

/// Runs a shell script in a mount namespace with the test's own sysctl and journal; `$B` is the program.
fn in_own_namespace(place: &Place, script: &str) -> crate::running::Ended {
    let begin = "mkdir -p /var/lib/backsight && mount -t tmpfs none /var/lib/backsight && mount --bind swappiness /proc/sys/vm/swappiness";
    let script = format!(
        "set -e\n{begin}\nB='{} --store store'\n{script}",
        env!("CARGO_BIN_EXE_backsight")
    );
    let command = place.put(Command::new("unshare"), &["-m", "bash", "-c", &script]);
    Running::start(command).ends()
}

#[test]
fn a_setting_is_made_for_a_study_and_put_back_after_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(SEVEN);
    let ended = in_own_namespace(
        &place,
        "$B run plan.toml --name a\ncat swappiness\n$B restore\n$B restore",
    );
    ended.assert_code(0);
    ended.assert_says(&["1 settings made, 0 were so", "nothing is left changed"]);
    assert!(ended.stdout().contains("n=1  7.000"), "{}", ended.stdout());
    assert_eq!(place.read("swappiness"), "60\n");
}

#[test]
fn what_a_study_that_was_killed_with_its_agent_changed_is_put_back_by_the_next_one_or_by_restore() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(SEVEN);
    // The benchmark kills the agent, the agent's supervisor and the conductor, and so leaves nobody who could put it back.
    place.prints("swap", "sh @/kill.sh");
    place.write(
        "kill.sh",
        "echo 7\np=$$; while [ $p -gt 1 ]; do n=$(ps -o comm= -p $p); q=$(ps -o ppid= -p $p | tr -d ' '); [ \"$n\" = backsight ] && kills=\"$kills $p\"; p=$q; done; kill -9 $kills\n",
    );
    let script = "$B run plan.toml --name a || echo killed\necho \"then $(cat swappiness)\"\n$B restore\necho \"now $(cat swappiness)\"\n$B restore";
    let ended = in_own_namespace(&place, script);
    ended.assert_says(&[
        "killed",
        "then 7",
        "/proc/sys/vm/swappiness) of study `a`: put back",
        "now 60",
        "nothing is left changed",
    ]);
    assert_eq!(place.read("swappiness"), "60\n");
}

#[test]
fn what_somebody_else_changed_meanwhile_is_said_and_left() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(SEVEN);
    place.prints("swap", "echo 33 > @/swappiness; echo 7");
    let ended = in_own_namespace(&place, "$B run plan.toml --name a");
    ended.assert_code(0);
    ended.assert_says(&["changed by somebody else to `33`"]);
    assert_eq!(place.read("swappiness"), "33\n");
}

#[test]
fn what_can_not_be_made_stops_the_study_before_it_begins_and_changes_nothing() {
    if Need::Root.is_missing() {
        return;
    }
    for (prepare, message) in [
        (
            "[prepare]\nsysctl.\"vm.swappiness\" = 7\nsysctl.\"vm.swapiness\" = 7",
            "can't be prepared",
        ),
        ("[prepare]\ncpu.govenor = \"performance\"", "cpu.governor"),
        ("prepare = [\"quite\"]", "quiet"),
    ] {
        let place = place(prepare);
        let ended = in_own_namespace(
            &place,
            "$B run plan.toml --name a || echo stopped; $B studies || true",
        );
        ended.assert_says(&[message, "stopped"]);
        assert_eq!(place.read("swappiness"), "60\n", "{prepare}");
    }
}
