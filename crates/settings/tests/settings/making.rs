//! Settings on a folder that stands for a machine: made, so already, missing, refused, not held.

use super::fake_machine::{FakeMachine, wanted};
use backsight_settings::{
    Application, PreparationPolicy, RestoreScope, SettingOutcome, WantedSetting, apply, inspect,
    restore,
};

fn make(fake: &FakeMachine, text: &str, policy: PreparationPolicy) -> Application {
    apply(
        &fake.machine(),
        &wanted(text),
        &fake.journal_file(),
        "first",
        policy,
    )
    .unwrap()
}

fn outcome<'a>(made: &'a Application, setting: &str) -> &'a SettingOutcome {
    let mut settings = made.report.settings.iter();
    &settings
        .find(|report| report.setting == setting)
        .unwrap()
        .outcome
}

fn put_back(fake: &FakeMachine) {
    let scope = RestoreScope::Study("first".into());
    let report = restore(&fake.machine(), &fake.journal_file(), &scope).unwrap();
    assert!(report.is_complete(), "{report:?}");
}

#[test]
fn every_mechanism_makes_and_puts_back() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let made = make(
        &fake,
        r#"
        cpu.governor = "performance"
        cpu.turbo = false
        cpu.smt = false
        cpu.latency = 0
        memory.thp = "never"
        memory.thp-defrag = "defer"
        irq.affinity = { interface = "eth0", cpus = "1" }
        isolate.cpus = "2-3"
        isolate.watchdog-cpus = "0-1"
        net.tso = { interface = "eth0", on = false }
        net.rx-ring = { interface = "eth0", count = 1024 }
        disk.scheduler = { device = "/dev/vda", scheduler = "none" }
        services.stop = ["cron", "cron.service", "fstrim.timer"]
        sysctl."vm.swappiness" = 0
        "#,
        PreparationPolicy::Strict,
    );
    assert!(made.report.stands, "{:#?}", made.report);
    assert_eq!(made.standing.held_files(), 1);
    let is = |path: &str, text: &str| assert_eq!(fake.text(path), text, "{path}");
    is(
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "performance\n",
    );
    is(
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "performance\n",
    );
    is("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    is("sys/devices/system/cpu/smt/control", "off\n");
    is(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]\n",
    );
    is(
        "sys/kernel/mm/transparent_hugepage/defrag",
        "always [defer] defer+madvise madvise never\n",
    );
    is("proc/irq/24/smp_affinity", "2\n");
    is("proc/irq/25/smp_affinity", "2\n");
    is("sys/fs/cgroup/backsight-isolated/cpuset.cpus", "2-3");
    is(
        "sys/fs/cgroup/cgroup.subtree_control",
        "cpu memory cpuset\n",
    );
    is("proc/sys/kernel/watchdog_cpumask", "0-1\n");
    is("state/tso", "off\n");
    is("state/ring", "1024\n");
    is(
        "sys/block/vda/queue/scheduler",
        "mq-deadline kyber [none]\n",
    );
    is("state/cron.service", "inactive\n");
    is("state/fstrim.timer", "inactive\n");
    is("proc/sys/vm/swappiness", "0\n");
    // What waits for others is made last, services first.
    let order: Vec<&str> = made
        .report
        .settings
        .iter()
        .map(|s| s.setting.as_str())
        .collect();
    assert_eq!(order.first(), Some(&"services.stop"));
    assert_eq!(order.last(), Some(&"cpu.smt"));
    // It crosses the wire.
    let json = serde_json::to_string(&made.report).unwrap();
    assert_eq!(
        serde_json::from_str::<backsight_settings::PreparationReport>(&json).unwrap(),
        made.report
    );
    drop(made);
    put_back(&fake);
    assert_eq!(fake.everything(), before);
    fake.assert_journal_is_gone();
}

#[test]
fn what_is_wanted_crosses_the_wire() {
    let text = "sysctl.vm.swappiness = 0\nirq.affinity = { interface = 'eth0', cpus = '1' }\nisolate.cpus = '1'\nservices.stop = ['cron']\nnet.tso = { interface = 'eth0', on = true }\ncpu.latency = 3\ndisk.tmpfs = { size = '1MiB', mount = '/ram' }\n";
    let mut all = wanted(text);
    let json = serde_json::to_string(&all).unwrap();
    // An agent makes them in the order of the list.
    for one in &mut all {
        one.order = 0;
        one.conflicts.clear();
    }
    assert_eq!(
        serde_json::from_str::<Vec<WantedSetting>>(&json).unwrap(),
        all
    );
}

#[test]
fn what_is_so_already_is_neither_written_nor_put_back() {
    let fake = FakeMachine::new();
    let made = make(
        &fake,
        "memory.swappiness = 60\nmemory.thp = 'madvise'\nirq.line = { irq = 24, cpus = '0-3' }\nservices.stop = ['no-such.service']",
        PreparationPolicy::Strict,
    );
    for report in &made.report.settings {
        assert_eq!(report.outcome, SettingOutcome::AlreadySo, "{report:?}");
    }
    fake.assert_journal_is_gone();
    assert_eq!(fake.text("proc/irq/24/smp_affinity"), "00000000,0000000f\n");
}

#[test]
fn what_the_machine_lacks_is_missing_and_only_sets_may_ask_for_it() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let text = "memory.swappiness = 0\ncpu.uncore-min = 800000\n";
    let made = make(&fake, text, PreparationPolicy::Strict);
    assert!(!made.report.stands);
    assert!(matches!(
        outcome(&made, "cpu.uncore-min"),
        SettingOutcome::Missing { .. }
    ));
    assert_eq!(
        *outcome(&made, "memory.swappiness"),
        SettingOutcome::NotMade
    );
    assert_eq!(made.report.failures().count(), 1);
    assert_eq!(fake.everything(), before);
    let made = make(&fake, text, PreparationPolicy::Warn);
    assert!(made.report.stands);
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "0\n");
    put_back(&fake);
    // A set is for any machine.
    let document = backsight_model::TomlDocument::new("plan.toml", "prepare = ['quiet']");
    #[derive(serde::Deserialize)]
    struct Host {
        prepare: backsight_model::Preparation,
    }
    let host: Host = document.read().unwrap();
    let source = backsight_settings::PreparationSource::new(&document, &host.prepare);
    let catalog = backsight_settings::SettingCatalog::load(&[]).unwrap();
    let all = backsight_settings::resolve(&catalog, &[source]).unwrap();
    let made = apply(
        &fake.machine(),
        &all,
        &fake.journal_file(),
        "first",
        PreparationPolicy::Strict,
    )
    .unwrap();
    assert!(made.report.stands, "{:#?}", made.report);
    assert!(matches!(
        outcome(&made, "isolate.stat-interval"),
        SettingOutcome::Made
    ));
    assert!(matches!(
        outcome(&made, "cpu.energy-preference"),
        SettingOutcome::Missing { .. }
    ));
    put_back(&fake);
    assert_eq!(fake.everything(), before);
}

#[test]
fn a_wrong_value_says_which_there_are() {
    let fake = FakeMachine::new();
    let made = make(
        &fake,
        "cpu.governor = 'performanse'\n",
        PreparationPolicy::Strict,
    );
    let SettingOutcome::Refused { why } = outcome(&made, "cpu.governor") else {
        panic!("{:?}", made.report);
    };
    assert!(
        why.contains("performance, powersave did you mean `performance`?"),
        "{why}"
    );
    let made = make(
        &fake,
        "disk.scheduler = { device = 'vda', scheduler = 'bfq' }",
        PreparationPolicy::Strict,
    );
    assert!(
        outcome(&made, "disk.scheduler")
            .to_string()
            .contains("mq-deadline, kyber, none")
    );
}

#[test]
fn cpus_that_are_not_there_and_all_that_are_there_are_refused() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    for (text, said) in [
        (
            "irq.all = '2-5'",
            "there is no CPU 4-5: this machine has 0-3",
        ),
        ("isolate.cpus = '0-3'", "leave one for everything else"),
        ("isolate.boot = '3'", "start the machine with isolcpus=3"),
    ] {
        let made = make(&fake, text, PreparationPolicy::Strict);
        let outcome = made.report.settings[0].outcome.to_string();
        assert!(outcome.contains(said), "{outcome}");
    }
    assert_eq!(fake.everything(), before);
}

#[test]
fn where_one_is_refused_all_are_put_back_or_the_others_stand() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let text = "memory.swappiness = 0\nservices.stop = ['cron.service']\nnet.rx-ring = { interface = 'eth0', count = 9999 }\ncpu.turbo = false\n";
    let made = make(&fake, text, PreparationPolicy::Strict);
    assert!(!made.report.stands);
    assert!(
        outcome(&made, "net.rx-ring")
            .to_string()
            .contains("Invalid argument")
    );
    assert_eq!(*outcome(&made, "services.stop"), SettingOutcome::NotMade);
    assert!(made.report.put_back.len() >= 2);
    assert_eq!(made.report.stuck().count(), 0);
    assert_eq!(fake.everything(), before);
    fake.assert_journal_is_gone();
    let made = make(&fake, text, PreparationPolicy::Warn);
    assert!(made.report.stands);
    assert_eq!(made.report.failures().count(), 1);
    assert_eq!(fake.text("state/ring"), "256\n");
    assert_eq!(fake.text("state/cron.service"), "inactive\n");
    put_back(&fake);
    assert_eq!(fake.everything(), before);
}

#[test]
fn a_file_that_takes_no_write_is_refused_and_one_of_many_interrupts_may() {
    let fake = FakeMachine::new();
    // Root may write to a read-only file: a full device refuses everybody.
    let refusing = fake.root().join("proc/irq/25/smp_affinity");
    std::fs::remove_file(&refusing).unwrap();
    std::fs::create_dir(&refusing).unwrap();
    let made = make(&fake, "irq.all = '0'", PreparationPolicy::Strict);
    assert!(
        outcome(&made, "irq.all")
            .to_string()
            .contains("can't be read")
    );
    std::fs::remove_dir(&refusing).unwrap();
    std::os::unix::fs::symlink("/proc/self/cmdline", &refusing).unwrap();
    let made = make(&fake, "irq.all = '0'", PreparationPolicy::Strict);
    assert_eq!(
        *outcome(&made, "irq.all"),
        SettingOutcome::Made,
        "{:#?}",
        made.report
    );
    let refused = made.report.settings[0]
        .changes
        .iter()
        .filter(|c| c.refused.is_some());
    assert_eq!(refused.count(), 1);
    assert_eq!(fake.text("proc/irq/24/smp_affinity"), "1\n");
    put_back(&fake);
    assert_eq!(fake.text("proc/irq/24/smp_affinity"), "00000000,0000000f\n");
    let made = make(
        &fake,
        "irq.line = { irq = 25, cpus = '0' }",
        PreparationPolicy::Strict,
    );
    assert!(matches!(
        outcome(&made, "irq.line"),
        SettingOutcome::Refused { .. }
    ));
    fake.assert_journal_is_gone();
}

#[test]
fn a_value_that_does_not_hold_is_put_back_and_said() {
    let fake = FakeMachine::new();
    // A "kernel" that takes any ring and keeps to a power of two.
    let text = fake.text("usr/bin/ethtool").replace(
        "echo \"$4\" > \"$state/ring\" ;;",
        "if [ \"$4\" = 1000 ]; then echo 512; else echo \"$4\"; fi > \"$state/ring\" ;;",
    );
    fake.put("usr/bin/ethtool", &text);
    let before = fake.everything();
    let made = make(
        &fake,
        "net.rx-ring = { interface = 'eth0', count = 1000 }",
        PreparationPolicy::Warn,
    );
    assert_eq!(
        *outcome(&made, "net.rx-ring"),
        SettingOutcome::NotHeld {
            found: "512".into()
        }
    );
    assert_eq!(fake.everything(), before);
    fake.assert_journal_is_gone();
}

#[test]
fn a_second_study_never_takes_a_changed_value_for_an_old_one() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let first = make(
        &fake,
        "memory.swappiness = 0\ncpu.latency = 3\n",
        PreparationPolicy::Strict,
    );
    let second = wanted("memory.swappiness = 100\ncpu.latency = 0\nmemory.ksm = true\n");
    let refused = apply(
        &fake.machine(),
        &second,
        &fake.journal_file(),
        "second",
        PreparationPolicy::Warn,
    )
    .unwrap();
    let said = outcome(&refused, "memory.swappiness").to_string();
    assert!(
        said.contains("study `first` holds /proc/sys/vm/swappiness"),
        "{said}"
    );
    // Files that are kept open and what the first doesn't hold are both's.
    assert!(outcome(&refused, "cpu.latency").is_so() && outcome(&refused, "memory.ksm").is_so());
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "0\n");
    drop((first, refused));
    put_back(&fake);
    assert_eq!(fake.text("proc/sys/vm/swappiness"), "60\n");
    assert_eq!(fake.text("sys/kernel/mm/ksm/run"), "1\n");
    let scope = RestoreScope::Study("second".into());
    restore(&fake.machine(), &fake.journal_file(), &scope).unwrap();
    assert_eq!(fake.everything(), before);
}

#[test]
fn two_settings_of_one_preparation_never_set_the_same_file() {
    let fake = FakeMachine::new();
    let before = fake.everything();
    let made = make(
        &fake,
        "memory.swappiness = 0\nsysctl.vm.swappiness = 1\n",
        PreparationPolicy::Strict,
    );
    assert!(!made.report.stands);
    assert!(
        outcome(&made, "sysctl")
            .to_string()
            .contains("(plan.toml:1) sets /proc/sys/vm/swappiness too")
    );
    assert_eq!(fake.everything(), before);
}

#[test]
fn devices_in_use_are_not_overwritten_and_services_need_systemd() {
    let fake = FakeMachine::new();
    let disk = |device: &str| {
        format!(
            "disk = {{ device = '{device}', format = 'ext4', mount = '/scratch', confirm = '{device}' }}"
        )
    };
    let said = |text: &str| {
        let made = make(&fake, text, PreparationPolicy::Strict);
        made.report.settings[0].outcome.to_string()
    };
    assert!(said(&disk("/dev/vda")).contains("/dev/vda is mounted on /"));
    assert!(said(&disk("/dev/vdc")).contains("in use as swap"));
    assert!(said(&disk("/dev/vdd")).contains("there is no /dev/vdd"));
    fake.put("sys/class/block/vdb/vdb1/partition", "1\n");
    fake.put("sys/class/block/vdb1/holders/dm-0/x", "");
    assert!(said(&disk("/dev/vdb")).contains("/dev/vdb1 is a part of dm-0"));
    std::fs::remove_dir_all(fake.root().join("run/systemd")).unwrap();
    assert!(said("services.stop = ['cron']").contains("systemd doesn't run here"));
    assert!(said("net.queues = { interface = 'eth0', count = 2 }").contains("doesn't say it here"));
    assert!(said("memory.swap = false").contains("`swapon` isn't installed"));
}

#[test]
fn a_service_is_started_or_stopped_and_swap_is_only_taken_out() {
    let fake = FakeMachine::new();
    fake.put("state/swap", "/dev/vdc\n/dev/vdd\n");
    let program = |name: &str, script: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let state = fake.root().join("state/swap");
        let text = format!("#!/bin/sh\nstate={}\n{script}\n", state.display());
        let path = fake.put(&format!("usr/bin/{name}"), &text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    program(
        "swapon",
        "case $1 in --*) cat $state ;; *) { cat $state; echo $1; } | sort > $state.new; mv $state.new $state ;; esac",
    );
    program(
        "swapoff",
        "grep -vx $1 $state > $state.new; mv $state.new $state",
    );
    let before = fake.everything();
    let text = "irq.balance = true\nmemory.swap = false\n";
    let made = make(&fake, text, PreparationPolicy::Strict);
    assert!(made.report.stands, "{:#?}", made.report);
    assert_eq!(fake.text("state/irqbalance.service"), "active\n");
    assert_eq!(fake.text("state/swap"), "");
    put_back(&fake);
    assert_eq!(fake.everything(), before);
    let made = make(&fake, "memory.swap = true", PreparationPolicy::Strict);
    assert!(matches!(
        outcome(&made, "memory.swap"),
        SettingOutcome::Refused { .. }
    ));
}

#[test]
fn what_would_be_made_is_said_and_nothing_is_changed() {
    let fake = FakeMachine::new();
    let text = "memory.swappiness = 0\nmemory.thp = 'madvise'\ncpu.uncore-min = 1\n";
    let before = fake.everything();
    let look = |policy| {
        inspect(
            &fake.machine(),
            &wanted(text),
            &fake.journal_file(),
            "next",
            policy,
        )
    };
    let report = look(PreparationPolicy::Strict);
    let said: Vec<String> = report
        .settings
        .iter()
        .map(|s| s.outcome.to_string())
        .collect();
    let missing = "missing: this machine hasn't /sys/devices/system/cpu/intel_uncore_frequency/package_*/min_freq_khz";
    assert_eq!(said, ["would be made", "already so", missing]);
    assert_eq!((report.stands, report.failures().count()), (false, 1));
    assert!(look(PreparationPolicy::Warn).stands);
    assert!(!fake.journal().parent().unwrap().exists());
    let made = make(&fake, "memory.swappiness = 1", PreparationPolicy::Strict);
    assert!(
        look(PreparationPolicy::Warn).settings[0]
            .outcome
            .to_string()
            .contains("study `first` holds")
    );
    drop(made);
    put_back(&fake);
    assert_eq!(fake.everything(), before);
}
