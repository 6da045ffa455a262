//! Killed by SIGKILL at every place on the way, the machine is put back by the next process, byte for byte.

use super::fake_machine::{FakeMachine, wanted};
use backsight_settings::{MachineRoot, PreparationPolicy, RestoreScope, apply, restore};
use proptest::prelude::*;
use std::{cell::Cell, os::unix::process::ExitStatusExt as _, panic};

const PLAN: &str = r#"
cpu.governor = "performance"
cpu.smt = false
memory.thp = "never"
irq.affinity = { interface = "eth0", cpus = "1" }
isolate.cpus = "2-3"
net.tso = { interface = "eth0", on = false }
disk.scheduler = { device = "vda", scheduler = "none" }
services.stop = ["cron.service"]
cpu.latency = 0
"#;

fn prepared() -> (FakeMachine, String) {
    let machine = FakeMachine::new();
    let file = machine.put_wanted(PLAN);
    (machine, file)
}

/// The places that a run passes, in order.
fn points(output: &std::process::Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn is_killed(output: &std::process::Output) -> bool {
    output.status.signal() == Some(9)
}

/// Puts back in a new process; twice, of which the second does nothing.
fn assert_put_back(
    machine: &FakeMachine,
    before: &std::collections::BTreeMap<std::path::PathBuf, Option<Vec<u8>>>,
    place: &str,
) {
    let output = machine.run(&["restore", "abandoned"], &[]);
    assert!(output.status.success(), "{place}: {output:?}");
    let after = machine.everything();
    for (path, bytes) in before {
        assert_eq!(after.get(path), Some(bytes), "{place}: {}", path.display());
    }
    assert_eq!(after.len(), before.len(), "{place}");
    machine.assert_journal_is_gone();
    let output = machine.run(&["restore", "abandoned"], &[("LIST_POINTS", "1")]);
    assert!(points(&output).is_empty(), "{place}: a second time");
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        report.trim(),
        r#"{"changes":[],"held":0,"damaged_lines":[]}"#
    );
}

#[test]
fn killed_at_any_place_of_making_it_is_put_back() {
    let (machine, plan) = prepared();
    let before = machine.everything();
    let list = machine.run(
        &["apply", &plan, "first", "strict"],
        &[("LIST_POINTS", "1")],
    );
    let report = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(report.contains(r#""stands":true"#), "{report}");
    assert_ne!(machine.everything(), before);
    let points = points(&list);
    assert!(points.len() >= 60, "{points:?}");
    assert_put_back(&machine, &before, "the end");
    for place in points {
        let killed = machine.run(&["apply", &plan, "first", "strict"], &[("KILL_AT", &place)]);
        assert!(is_killed(&killed), "{place}: {killed:?}");
        assert_put_back(&machine, &before, &place);
    }
}

#[test]
fn killed_at_any_place_of_putting_back_it_is_put_back_by_the_next() {
    let machine = FakeMachine::new();
    // Fewer files and programs than to make: each place takes three processes.
    let plan = machine.put_wanted(
        "memory.thp = 'never'\nisolate.cpus = '2'\nservices.stop = ['cron.service']\ncpu.governor = 'performance'\n",
    );
    let before = machine.everything();
    let make = || {
        let made = machine.run(&["apply", &plan, "first", "strict"], &[]);
        assert!(made.status.success());
        assert_ne!(machine.everything(), before);
    };
    make();
    let list = machine.run(&["restore", "abandoned"], &[("LIST_POINTS", "1")]);
    let points = points(&list);
    assert!(points.len() >= 24, "{points:?}");
    for place in points {
        make();
        let killed = machine.run(&["restore", "abandoned"], &[("KILL_AT", &place)]);
        assert!(is_killed(&killed), "{place}: {killed:?}");
        assert_put_back(&machine, &before, &place);
    }
}

#[test]
fn killed_while_one_of_two_studies_is_put_back_both_are_in_the_end() {
    let machine = FakeMachine::new();
    let before = machine.everything();
    let make = || {
        for (study, text) in [
            ("first", "memory.swappiness = 0\nmemory.ksm = true\n"),
            ("second", "memory.thp = 'never'\n"),
        ] {
            let wanted = machine.put_wanted(text);
            let made = machine.run(&["apply", &wanted, study, "strict"], &[]);
            assert!(made.status.success(), "{made:?}");
        }
    };
    make();
    let list = machine.run(&["restore", "first"], &[("LIST_POINTS", "1")]);
    let report = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(report.contains(r#""held":1"#), "{report}");
    assert_eq!(machine.text("proc/sys/vm/swappiness"), "60\n");
    assert_ne!(machine.everything(), before);
    let points = points(&list);
    let of_journal = points.iter().filter(|point| point.contains("replaced"));
    assert_eq!(of_journal.count(), 2, "{points:?}");
    assert_put_back(&machine, &before, "the end");
    for place in points {
        make();
        let killed = machine.run(&["restore", "first"], &[("KILL_AT", &place)]);
        assert!(is_killed(&killed), "{place}");
        assert_put_back(&machine, &before, &place);
    }
}

#[test]
fn killed_where_one_setting_is_refused_all_are_put_back() {
    let (machine, plan) = prepared();
    let text = format!("{PLAN}\nnet.rx-ring = {{ interface = 'eth0', count = 9999 }}\n");
    assert_eq!(machine.put_wanted(&text), plan);
    let before = machine.everything();
    let words = ["apply", &plan, "first", "strict"];
    let list = machine.run(&words, &[("LIST_POINTS", "1")]);
    let report = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(report.contains(r#""stands":false"#), "{report}");
    assert_eq!(machine.everything(), before);
    machine.assert_journal_is_gone();
    // Every fifth place: most are those of the other tests.
    for place in points(&list).iter().step_by(5) {
        let killed = machine.run(&words, &[("KILL_AT", place)]);
        assert!(is_killed(&killed), "{place}");
        assert_put_back(&machine, &before, place);
    }
}

#[test]
fn killed_before_it_is_read_what_the_kernel_made_of_a_value_is_ours_too() {
    let machine = FakeMachine::new();
    // It keeps to a power of two.
    let text = machine.text("usr/bin/ethtool");
    let rounding = text.replace(
        "echo \"$4\" > \"$state/ring\"",
        "echo 512 > \"$state/ring\"",
    );
    assert_ne!(rounding, text);
    machine.put("usr/bin/ethtool", &rounding);
    let before = machine.everything();
    let plan = machine.put_wanted("net.rx-ring = { interface = 'eth0', count = 500 }\n");
    let words = ["apply", &plan, "first", "strict"];
    let killed = machine.run(&words, &[("KILL_AT", "after write 0")]);
    assert!(is_killed(&killed));
    assert_eq!(machine.text("state/ring"), "512\n");
    let output = machine.run(&["restore", "abandoned"], &[]);
    assert!(output.status.success());
    // The script's own restoring is rounded too: to put back is tried, told, and kept in the journal.
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("ethtool -G eth0 rx 256"), "{said}");
    machine.put("usr/bin/ethtool", &text);
    let output = machine.run(&["restore", "abandoned"], &[]);
    assert!(output.status.success());
    machine.put("usr/bin/ethtool", &rounding);
    assert_eq!(machine.everything(), before);
    machine.assert_journal_is_gone();
}

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Ends the making or putting back after so many places, as a kill does: nothing after it is done.
fn end_after(places: usize, machine: &MachineRoot, act: impl FnOnce(&MachineRoot)) {
    LEFT.set(places);
    let machine = machine.clone().with_checkpoint(|_, _| {
        let left = LEFT.get();
        LEFT.set(left.wrapping_sub(1));
        if left == 0 {
            panic::resume_unwind(Box::new("killed"));
        }
    });
    let _ended_early_or_not = panic::catch_unwind(panic::AssertUnwindSafe(|| act(&machine)));
}

/// Settings of the machine without programs, each with a value that is right and one that isn't so far.
const LINES: &[&str] = &[
    "cpu.governor = 'performance'",
    "cpu.frequency-min = 1000000",
    "cpu.frequency-max = 2000000",
    "cpu.turbo = true",
    "cpu.smt = false",
    "memory.thp = 'always'",
    "memory.thp-defrag = 'defer'",
    "memory.khugepaged = false",
    "memory.ksm = false",
    "memory.numa-balancing = false",
    "memory.swappiness = 0",
    "memory.dirty-ratio = 5",
    "memory.compaction = 0",
    "irq.all = '1'",
    "irq.default-affinity = 0",
    "isolate.cpus = '1,3'",
    "isolate.workqueues = '0'",
    "isolate.nmi-watchdog = false",
    "isolate.timer-migration = false",
    "isolate.watchdog-cpus = '0'",
    "net.congestion-control = 'bbr'",
    "net.rps = { interface = 'eth0', cpus = '2' }",
    "net.mtu = { interface = 'eth0', bytes = 9000 }",
    "disk.scheduler = { device = 'vda', scheduler = 'kyber' }",
    "disk.requests = { device = '/dev/vda', count = 128 }",
    "irq.line = { irq = 99, cpus = '0' }",
    "cpu.governor = 'no-such'",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn ended_anywhere_any_settings_of_any_machine_are_put_back(
        chosen in proptest::sample::subsequence(LINES, 1..12),
        missing in proptest::collection::vec(0_usize..60, 0..8),
        unwritable in proptest::option::of(0_usize..60),
        policy in proptest::sample::select(vec![PreparationPolicy::Strict, PreparationPolicy::Warn, PreparationPolicy::Skip]),
        first in 0_usize..120,
        second in 0_usize..60,
    ) {
        // Twice the same setting is no plan.
        let mut names = std::collections::BTreeSet::new();
        let lines: Vec<&str> = chosen.into_iter().filter(|line| names.insert(line.split(" =").next())).collect();
        let fake = FakeMachine::new();
        let files: Vec<_> = fake.everything().into_iter().filter(|(_, bytes)| bytes.is_some()).collect();
        let keep = |path: &std::path::Path| path.ends_with("boot_id");
        for index in missing {
            let path = &files[index % files.len()].0;
            if !keep(path) && path.exists() {
                std::fs::remove_file(path).unwrap();
            }
        }
        if let Some(index) = unwritable {
            let path = &files[index % files.len()].0;
            if !keep(path) && path.exists() {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            }
        }
        let before = fake.everything();
        let wanted = wanted(&lines.join("\n"));
        let journal = fake.journal_file();
        end_after(first, &fake.machine(), |machine| {
            let made = apply(machine, &wanted, &journal, "first", policy).unwrap();
            assert!(made.report.stands || fake.everything() == before);
        });
        end_after(second, &fake.machine(), |machine| {
            restore(machine, &journal, &RestoreScope::Everything).unwrap();
        });
        let report = restore(&fake.machine(), &journal, &RestoreScope::Everything).unwrap();
        prop_assert!(report.is_complete(), "{report:?}");
        let after = fake.everything();
        for (path, bytes) in &before {
            prop_assert_eq!(after.get(path), Some(bytes), "{}", path.display());
        }
        prop_assert_eq!(after.len(), before.len());
        fake.assert_journal_is_gone();
    }
}
