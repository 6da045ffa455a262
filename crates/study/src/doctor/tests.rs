//! Findings of made-up machines.

use super::*;
use backsight_conductor::HostLockError;
use backsight_model::{Measure, MeasureOutcome, TestFigure, Unit};

/// A machine that is the lab's host `dut`, or one of which the host is only a namespace.
fn machine(is_host: bool) -> ExaminedMachine {
    let kind = if is_host { "local" } else { "netns" };
    let document = TomlDocument::new("lab.toml", format!("[host.dut]\nkind = \"{kind}\"\n"));
    let lab = Lab::read(&document).unwrap();
    let host = if is_host { "dut" } else { "here" };
    ExaminedMachine {
        host: host.parse().unwrap(),
        lab,
        prepared: BTreeSet::new(),
    }
}

/// A report of each inspected setting: those that are named stand otherwise, with these changes.
fn reports(settings: &InspectedSettings, differ: &[Differing]) -> Vec<SettingReport> {
    let report = |wanted: &WantedSetting| {
        let found = differ.iter().find(|(name, _)| *name == wanted.setting);
        let changes = found.map_or(&[][..], |(_, changes)| changes);
        SettingReport {
            setting: wanted.setting.clone(),
            parameters: String::new(),
            value: String::new(),
            place: String::new(),
            outcome: match found {
                Some(_) => SettingOutcome::Pending,
                None => SettingOutcome::AlreadySo,
            },
            changes: changes
                .iter()
                .map(|(target, old, new)| ChangeReport {
                    target: (*target).to_owned(),
                    old: (*old).to_owned(),
                    new: (*new).to_owned(),
                    refused: None,
                })
                .collect(),
        }
    };
    settings.wanted.iter().map(report).collect()
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

/// A setting that stands otherwise: its name, and its targets with what stands and what is wanted.
type Differing = (
    &'static str,
    &'static [(&'static str, &'static str, &'static str)],
);

const DIFFERENT: &[Differing] = &[
    (
        "memory.swappiness",
        &[("/proc/sys/vm/swappiness", "60", "0")],
    ),
    ("cpu.governor", &[(GOVERNOR, "powersave", "performance")]),
    (
        "services.stop",
        &[
            ("cron.service", "running", "stopped"),
            ("fstrim.timer", "stopped", "stopped"),
        ],
    ),
    (
        "memory.thp",
        &[(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always",
            "never",
        )],
    ),
];

#[test]
fn settings_that_stand_otherwise_are_ranked_with_the_line_that_makes_them() {
    let settings = InspectedSettings::load().unwrap();
    let reports = reports(&settings, DIFFERENT);
    let machine = machine(true);
    let as_found = SettingsAsFound {
        settings: &settings,
        machine: &machine,
        reports: &reports,
    };
    let found = findings(None, &as_found, &[]);
    let lines: Vec<&str> = found
        .iter()
        .flat_map(|it| &it.mend)
        .map(String::as_str)
        .collect();
    assert_eq!(
        lines,
        [
            "cpu.governor = \"performance\"",
            "memory.swappiness = 0",
            "services.stop = [\"cron.service\"]"
        ]
    );
    assert!(
        found[0].what.starts_with("cpu.governor is powersave: "),
        "{}",
        found[0].what
    );
    let choices = choices(&as_found, &[]);
    assert_eq!(choices.len(), 1);
    assert_eq!(choices[0].mend, ["memory.thp = \"never\""]);
    // What is printed is what a plan takes.
    let text = format!("[prepare]\n{}\n", lines.join("\n"));
    let document = TomlDocument::new("plan.toml", text);
    #[derive(serde::Deserialize)]
    struct WithPreparation {
        prepare: Preparation,
    }
    let read: WithPreparation = document.read().unwrap();
    let source = PreparationSource::new(&document, &read.prepare);
    let catalog = SettingCatalog::load(&[]).unwrap();
    assert_eq!(resolve(&catalog, &[source]).unwrap().len(), 3);
}

#[test]
fn what_the_plan_prepares_is_told_as_prepared_and_is_no_finding_also_for_namespaces() {
    let settings = InspectedSettings::load().unwrap();
    let mut different = DIFFERENT.to_vec();
    different.push((
        "net.tcp-metrics",
        &[("/proc/sys/net/ipv4/tcp_no_metrics_save", "0", "1")],
    ));
    let reports = reports(&settings, &different);
    for is_host in [true, false] {
        let mut machine = machine(is_host);
        machine.prepared = ["cpu.governor", "net.tcp-metrics"]
            .map(str::to_owned)
            .into();
        let as_found = SettingsAsFound {
            settings: &settings,
            machine: &machine,
            reports: &reports,
        };
        let found = findings(None, &as_found, &[]);
        let lines: Vec<&str> = found
            .iter()
            .flat_map(|it| &it.mend)
            .map(String::as_str)
            .collect();
        assert_eq!(
            lines,
            [
                "memory.swappiness = 0",
                "services.stop = [\"cron.service\"]"
            ]
        );
        // Namespaces have parameters of networks of their own: the plan's set leaves them out.
        let (prepared, place) = match is_host {
            true => (
                &["cpu.governor", "net.tcp-metrics"][..],
                "[host.dut.prepare]",
            ),
            false => (
                &["cpu.governor"][..],
                "below [prepare] in the plan: this machine",
            ),
        };
        assert_eq!(as_found.prepared(), prepared);
        let said = as_found.place_of_lines();
        assert!(said.contains(place), "{said}");
    }
}

fn test(lost: f64, sources: Vec<NoiseSource>, unexplained: f64) -> SelfTest {
    let measure = |name: &str, figure: &str, value| Measure {
        name: name.into(),
        outcome: MeasureOutcome::Measured(vec![TestFigure {
            name: figure.into(),
            value,
            interval: None,
            unit: Unit::parse("ratio").unwrap(),
        }]),
    };
    SelfTest {
        seconds: 20.0,
        cpus: vec![0, 1],
        measures: vec![
            measure("interruptions", "lost", lost),
            measure("cpu", "within", 0.03),
        ],
        sources,
        unexplained,
    }
}

fn program(service: Option<&str>, explains: f64) -> NoiseSource {
    NoiseSource {
        kind: NoiseKind::Program,
        name: "busy".into(),
        pid: Some(77),
        service: service.map(str::to_owned),
        cpus: vec![1],
        siblings: Vec::new(),
        seconds: Some(1.0),
        count: None,
        bytes: None,
        explains: Some(explains),
        detail: String::new(),
    }
}

#[test]
fn what_was_measured_comes_by_its_grade_and_names_the_settings_that_mend_it() {
    let settings = InspectedSettings::load().unwrap();
    let reports = reports(&settings, DIFFERENT);
    let machine = machine(true);
    let as_found = SettingsAsFound {
        settings: &settings,
        machine: &machine,
        reports: &reports,
    };
    let test = test(
        0.3,
        vec![program(Some("cron.service"), 0.97), program(None, 0.02)],
        0.01,
    );
    let found = findings(Some(&test), &as_found, &[]);
    let first: Vec<&str> = found
        .iter()
        .map(|it| it.what.split([' ', ',']).next().unwrap())
        .collect();
    assert_eq!(
        first,
        [
            "interruptions",
            "program",
            "cpu",
            "memory.swappiness",
            "program"
        ]
    );
    assert!(
        found[0].what.contains("is F, lost 30 %"),
        "{}",
        found[0].what
    );
    assert_eq!(
        found[1].mend,
        ["services.stop = [\"cron.service\"]", "isolate.cpus = \"1\""]
    );
    // Nothing is said without its way out.
    assert!(found.iter().all(|it| !it.mend.is_empty()), "{found:#?}");
    assert!(
        found[1].what.contains("up to 97.0 % of the lost time"),
        "{}",
        found[1].what
    );
    assert_eq!(found[2].mend[0], "cpu.governor = \"performance\"");
    // 2 % of 30 % are lost to the other program.
    assert_eq!(found[4].harm, HARM[Grade::B as usize]);
}

#[test]
fn lines_of_several_sources_are_one_line_each() {
    let settings = InspectedSettings::load().unwrap();
    let reports = reports(&settings, DIFFERENT);
    let mut machine = machine(true);
    machine.prepared = ["cpu.governor".to_owned()].into();
    let as_found = SettingsAsFound {
        settings: &settings,
        machine: &machine,
        reports: &reports,
    };
    let elsewhere = NoiseSource {
        cpus: vec![0],
        ..program(Some("backup.service"), 0.4)
    };
    let two = |cpus: &[u32]| SelfTest {
        cpus: cpus.to_vec(),
        ..test(0.3, vec![program(None, 0.5), elsewhere.clone()], 0.0)
    };
    let lines = |test: &SelfTest| -> Vec<String> {
        let found = findings(Some(test), &as_found, &[]);
        let mends = found.iter().flat_map(|it| it.mend.clone());
        mends.collect()
    };
    let found = lines(&two(&[0, 1, 2]));
    let all = "services.stop = [\"backup.service\", \"cron.service\"]";
    let stopping = found.iter().filter(|it| it.starts_with("services"));
    let stopping: Vec<&String> = stopping.collect();
    assert!(
        stopping.len() > 1 && stopping.iter().all(|it| *it == all),
        "{found:#?}"
    );
    let isolated = "isolate.cpus = \"0,1\"".to_owned();
    assert_eq!(
        found.iter().filter(|it| **it == isolated).count(),
        2,
        "{found:#?}"
    );
    // The machine was tested as it stands.
    let made = "# the plan makes cpu.governor before it measures".to_owned();
    assert!(found.contains(&made), "{found:#?}");
    // No CPU would be left to everything else.
    let found = lines(&two(&[0, 1]));
    assert!(
        !found.iter().any(|it| it.starts_with("isolate")),
        "{found:#?}"
    );
}

#[test]
fn a_calm_machine_has_no_findings_of_noise_and_lost_time_without_a_name_is_said() {
    let settings = InspectedSettings::load().unwrap();
    let reports = reports(&settings, &[]);
    let machine = machine(true);
    let as_found = SettingsAsFound {
        settings: &settings,
        machine: &machine,
        reports: &reports,
    };
    let mut calm = test(0.001, vec![program(None, 0.9)], 0.1);
    calm.measures.pop();
    assert!(findings(Some(&calm), &as_found, &[]).is_empty());
    for measure in [
        "interruptions",
        "steal",
        "throttling",
        "cpu",
        "timer",
        "memory",
        "loopback",
        "fsync",
        "clock",
        "unexplained",
    ] {
        assert!(advice("measure", measure).starts_with("# "), "{measure}");
    }
    let nameless = findings(Some(&test(0.3, Vec::new(), 0.8)), &as_found, &[]);
    assert!(
        nameless
            .iter()
            .any(|it| it.what.contains("80.0 % of the lost time has no name"))
    );
}

#[test]
fn who_writes_to_disks_is_a_finding_also_where_fsyncs_are_evenly_slow() {
    let settings = InspectedSettings::load().unwrap();
    let reports = reports(&settings, &[]);
    let machine = machine(true);
    let as_found = SettingsAsFound {
        settings: &settings,
        machine: &machine,
        reports: &reports,
    };
    let writer = NoiseSource {
        kind: NoiseKind::DiskWriter,
        bytes: Some(3 << 20),
        seconds: None,
        explains: None,
        cpus: Vec::new(),
        ..program(None, 0.0)
    };
    let mut calm = test(0.001, vec![writer], 0.0);
    calm.measures.pop();
    let found = findings(Some(&calm), &as_found, &[]);
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        finding.what,
        "program `busy` (pid 77), which wrote 3.00 MiB while fsyncs were timed"
    );
    assert_eq!((finding.harm, finding.measured), (LITTLE_HARM, true));
}

#[test]
fn every_kind_of_noise_has_advice() {
    for (kind, name, expected) in [
        (
            NoiseKind::Program,
            "x",
            "# let it end before anything is measured, or end it: kill 77",
        ),
        (
            NoiseKind::KernelThread,
            "kworker/1:2",
            "isolate.workqueues = 0",
        ),
        (NoiseKind::KernelThread, "unheard-of", "# it works"),
        (
            NoiseKind::Interrupt,
            "28",
            "irq.line = { irq = 28, cpus = \"0\" }",
        ),
        (NoiseKind::Interrupt, "LOC", "# the tick"),
        (NoiseKind::Softirq, "NET_RX", "# packets"),
        (NoiseKind::Steal, "hypervisor", "# the hypervisor"),
        (NoiseKind::Frequency, "frequency", "cpu.governor"),
        (NoiseKind::DiskWriter, "x", "# let it end before anything"),
    ] {
        let source = NoiseSource {
            kind,
            name: name.into(),
            ..program(None, 0.5)
        };
        let mend = mend_of_source(&source);
        assert!(mend.starts_with(expected), "{name}: {mend}");
    }
}

#[test]
fn targets_have_the_names_of_records() {
    for (target, name) in [
        ("/proc/sys/vm/swappiness", "sysctl.vm.swappiness"),
        (GOVERNOR, "cpu.cpufreq.scaling_governor"),
        (
            "/sys/devices/system/cpu/intel_pstate/no_turbo",
            "cpu.intel_pstate.no_turbo",
        ),
        ("/sys/kernel/mm/ksm/run", "memory.ksm.run"),
        ("cron.service", "service.cron.service"),
    ] {
        assert_eq!(record_name(target), name);
    }
}

#[test]
fn a_host_that_somebody_measures_on_is_not_tested_and_the_way_out_is_said() {
    let error = LeaseError::Locked(HostLockError::Taken {
        host: "dut".parse().unwrap(),
        holder: "study `a`".into(),
    });
    let why = why_not_tested(&error);
    assert!(
        why.contains("leased to study `a`") && why.contains("--force"),
        "{why}"
    );
}
