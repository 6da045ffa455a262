//! A study that wants other settings now than before: only the difference is written, and the machine ends as it was.

use super::fake_machine::{FakeMachine, wanted};
use backsight_settings::{
    PreparationPolicy, PreparationReport, RestoreScope, SettingOutcome, StandingPreparation,
    change_to, restore,
};
use std::{fs, os::unix::process::ExitStatusExt as _, time::SystemTime};

const PLAIN: &str = "memory.swappiness = 10\nmemory.ksm = false";
const QUIET: &str = r#"
cpu.governor = "performance"
cpu.latency = 0
isolate.cpus = "2-3"
memory.swappiness = 0
memory.ksm = false
services.stop = ["cron.service"]
"#;

fn change(fake: &FakeMachine, standing: &mut StandingPreparation, text: &str) -> PreparationReport {
    let (machine, journal) = (fake.machine(), fake.journal_file());
    let policy = PreparationPolicy::Strict;
    change_to(&machine, standing, &wanted(text), &journal, policy).unwrap()
}

fn written(fake: &FakeMachine, path: &str) -> SystemTime {
    fs::metadata(fake.root().join(path))
        .unwrap()
        .modified()
        .unwrap()
}

#[test]
fn only_the_difference_is_written_and_old_values_are_those_of_before_the_study() {
    let fake = FakeMachine::new();
    fake.put("sys/kernel/mm/ksm/run", "1\n");
    let before = fake.everything();
    let mut standing = StandingPreparation::new("first");
    assert!(change(&fake, &mut standing, PLAIN).stands);
    let ksm = written(&fake, "sys/kernel/mm/ksm/run");
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "10\n");
    for _ in 0..2 {
        let report = change(&fake, &mut standing, QUIET);
        assert!(report.stands, "{report:#?}");
        assert_eq!(report.settings.len(), 6);
        assert_eq!(fake.text("proc/sys/vm/swappiness"), "0\n");
        assert_eq!(fake.text("state/cron.service"), "inactive\n");
        assert_eq!(standing.held_files(), 1);
        let swappiness = report
            .settings
            .iter()
            .find(|it| it.setting == "memory.swappiness");
        // What stood before the study, not what stood a moment ago.
        assert_eq!(swappiness.unwrap().changes[0].old, "60");
        // The same again writes nothing.
        let again = written(&fake, "proc/sys/vm/swappiness");
        change(&fake, &mut standing, QUIET);
        assert_eq!(written(&fake, "proc/sys/vm/swappiness"), again);

        assert!(change(&fake, &mut standing, PLAIN).stands);
        assert_eq!(fake.text("proc/sys/vm/swappiness"), "10\n");
        assert_eq!(fake.text("state/cron.service"), "active\n");
        assert_eq!(standing.held_files(), 0);
        assert_eq!(written(&fake, "sys/kernel/mm/ksm/run"), ksm);
    }
    let scope = RestoreScope::Study("first".into());
    let report = restore(&fake.machine(), &fake.journal_file(), &scope).unwrap();
    assert_eq!(report.changes.len(), 2, "{report:#?}");
    assert_eq!(fake.everything(), before);
    fake.assert_journal_is_gone();
}

#[test]
fn what_somebody_else_changed_meanwhile_is_said_and_is_put_back_to() {
    let fake = FakeMachine::new();
    let mut standing = StandingPreparation::new("first");
    change(&fake, &mut standing, "memory.swappiness = 10");
    fake.put("proc/sys/vm/swappiness", "33\n");
    let report = change(&fake, &mut standing, "memory.swappiness = 0");
    assert!(report.stands);
    assert!(
        report.put_back[0]
            .to_string()
            .contains("somebody else to `33`")
    );
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "0\n");
    assert!(change(&fake, &mut standing, "").stands);
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "33\n");
    fake.assert_journal_is_gone();
}

#[test]
fn where_one_is_refused_what_stood_for_both_stands_and_the_next_change_is_made() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let mut standing = StandingPreparation::new("first");
    change(&fake, &mut standing, PLAIN);
    let refused = "memory.ksm = false\nmemory.swappiness = 0\ncpu.governor = 'no-such'";
    let report = change(&fake, &mut standing, refused);
    assert!(!report.stands);
    let outcomes: Vec<_> = report.settings.iter().map(|it| &it.outcome).collect();
    assert!(outcomes.contains(&&SettingOutcome::NotMade), "{outcomes:?}");
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "60\n");
    assert!(change(&fake, &mut standing, QUIET).stands);
    assert!(change(&fake, &mut standing, "").stands);
    assert_eq!(fake.everything(), before);
}

#[test]
fn killed_at_any_place_of_a_change_it_is_put_back() {
    let fake = FakeMachine::new();
    let quiet = fake.put_wanted_as("quiet", QUIET);
    let plain = fake.put_wanted_as("plain", PLAIN);
    let before = fake.everything();
    let words = ["apply", &plain, "first", "strict", &quiet, &plain];
    let list = fake.run(&words, &[("LIST_POINTS", "1")]);
    assert!(list.status.success(), "{list:?}");
    let points = String::from_utf8(list.stderr).unwrap();
    let mut points: Vec<&str> = points.lines().collect();
    let all = points.len();
    points.sort_unstable();
    points.dedup();
    assert!(all >= 60 && points.len() >= 40, "{points:?}");
    assert!(fake.run(&["restore", "abandoned"], &[]).status.success());
    assert_eq!(fake.everything(), before);
    for place in points {
        let killed = fake.run(&words, &[("KILL_AT", place)]);
        assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        let restored = fake.run(&["restore", "abandoned"], &[]);
        assert!(restored.status.success(), "{place}: {restored:?}");
        assert_eq!(fake.everything(), before, "{place}");
        fake.assert_journal_is_gone();
    }
}

#[test]
fn an_interface_may_be_named_by_an_address_that_it_has() {
    let fake = FakeMachine::new();
    let mut standing = StandingPreparation::new("first");
    let mtu = |address: &str| format!("net.mtu = {{ interface = '@{address}', bytes = 9000 }}");
    assert!(change(&fake, &mut standing, &mtu("10.0.0.2")).stands);
    assert_eq!(fake.text("sys/class/net/eth0/mtu"), "9000\n");
    assert!(change(&fake, &mut standing, "").stands);
    assert_eq!(fake.text("sys/class/net/eth0/mtu"), "1500\n");
    let report = change(&fake, &mut standing, &mtu("10.0.0.3"));
    assert!(!report.stands);
    let outcome = report.settings[0].outcome.to_string();
    assert!(
        outcome.contains("no interface of this machine has the address 10.0.0.3"),
        "{outcome}"
    );
}
