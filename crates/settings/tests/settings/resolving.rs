//! What files ask for: the same in every form, and every mistake with its place and the way out.

use super::fake_machine::{try_wanted, wanted};
use backsight_settings::{SettingCatalog, SettingValue};

#[test]
fn every_form_says_the_same() {
    let one = wanted("cpu.governor = 'performance'\nsysctl.\"vm.swappiness\" = 0\n");
    let two = wanted("[cpu]\ngovernor = 'performance'\n[sysctl.vm]\nswappiness = 0\n");
    let strip = |all: &[backsight_settings::WantedSetting]| -> Vec<_> {
        all.iter()
            .map(|one| (one.setting.clone(), one.request.clone()))
            .collect()
    };
    assert_eq!(strip(&one), strip(&two));
    assert_eq!(one[0].place, "plan.toml:1");
    assert_eq!(one[1].place, "plan.toml:2");
    assert_eq!(one[1].request.parameters["parameter"], "vm/swappiness");
    let several = wanted(
        "irq.line = [{ irq = 1, cpus = '0' }, { irq = 2, cpus = 1 }]\ndisk = { device = '/dev/vdb', format = 'xfs', mount = '/scratch', confirm = '/dev/vdb', scheduler = { device = 'vdb', scheduler = 'none' } }\n",
    );
    let names: Vec<&str> = several.iter().map(|one| one.setting.as_str()).collect();
    assert_eq!(names, ["disk.scheduler", "irq.line", "irq.line", "disk"]);
    assert_eq!(
        several[2].request.value,
        Some(SettingValue::Text("1".into()))
    );
}

#[test]
fn what_is_said_later_wins_and_as_is_leaves_a_setting() {
    #[derive(serde::Deserialize)]
    struct Host {
        prepare: backsight_model::Preparation,
    }
    let document = backsight_model::TomlDocument::new(
        "plan.toml",
        "prepare = ['noisy-neighbour-proof', { cpu.smt = 'as-is', memory.swappiness = 5, sysctl.kernel.x = 'as-is' }]",
    );
    let host: Host = document.read().unwrap();
    let source = backsight_settings::PreparationSource::new(&document, &host.prepare);
    let catalog = SettingCatalog::load(&[]).unwrap();
    let all = backsight_settings::resolve(&catalog, &[source]).unwrap();
    let find = |name: &str| all.iter().find(|one| one.setting == name);
    assert!(find("cpu.smt").is_none());
    assert_eq!(
        find("memory.swappiness").unwrap().request.value,
        Some(SettingValue::Integer(5))
    );
    assert!(!find("memory.swappiness").unwrap().optional);
    assert!(find("memory.thp").unwrap().optional);
    let place = &find("memory.thp").unwrap().place;
    assert!(
        place.starts_with("settings: sets/noisy-neighbour-proof.toml:"),
        "{place}"
    );
}

#[test]
fn every_set_resolves_alone() {
    #[derive(serde::Deserialize)]
    struct Host {
        prepare: backsight_model::Preparation,
    }
    let catalog = SettingCatalog::load(&[]).unwrap();
    let names: Vec<&str> = catalog.sets().map(|set| set.name.as_str()).collect();
    assert_eq!(
        names,
        ["latency", "noisy-neighbour-proof", "quiet", "throughput"]
    );
    for name in names {
        let text = format!("prepare = ['{name}']");
        let document = backsight_model::TomlDocument::new("plan.toml", text);
        let host: Host = document.read().unwrap();
        let source = backsight_settings::PreparationSource::new(&document, &host.prepare);
        let all = backsight_settings::resolve(&catalog, &[source]).unwrap();
        assert!(all.len() >= 8, "{name}");
    }
}

#[test]
fn mistakes_are_told_with_their_place_and_the_way_out() {
    let cases = [
        (
            "cpu.govenor = 'x'",
            "there is no setting `cpu.govenor`",
            (1, 5),
        ),
        (
            "memory.swappiness = 201",
            "`201` isn't a whole number from 0 to 200",
            (1, 21),
        ),
        (
            "memory.thp = 'sometimes'",
            "isn't one of `always`, `madvise`, `never`",
            (1, 14),
        ),
        ("cpu.turbo = 'off'", "isn't `true` or `false`", (1, 13)),
        ("a = 1\n", "there is no setting `a`", (1, 1)),
        (
            "irq.affinity = { cpus = '1' }",
            "`irq.affinity` needs `interface`",
            (1, 16),
        ),
        (
            "irq.affinity = { interface = '../x', cpus = '1' }",
            "no network interface's name",
            (1, 30),
        ),
        (
            "irq.affinity = { interfce = 'eth0', cpus = '1' }",
            "no parameter `interfce`",
            (1, 18),
        ),
        (
            "irq.affinity = '1'",
            "`irq.affinity` needs `interface`",
            (1, 16),
        ),
        ("isolate.cpus = '3-1'", "no list of CPUs", (1, 16)),
        ("sysctl = 3", "table of values by name", (1, 10)),
        ("sysctl.'../../etc/x' = 3", "no kernel parameter", (1, 8)),
        (
            "disk = { device = '/dev/vdb', format = 'xfs', mount = '/s' }",
            "doesn't name /dev/vdb again",
            (1, 8),
        ),
        (
            "disk = { device = '/dev/vdb', format = 'xfs', mount = '/s', confirm = '/dev/vdc' }",
            "doesn't name /dev/vdb again",
            (1, 8),
        ),
        (
            "disk = { device = '/dev/vdb', format = 'fat', mount = '/s', confirm = '/dev/vdb' }",
            "isn't one of `ext4`",
            (1, 40),
        ),
        (
            "cpu.governor = 'powersave'\ncpu.turbo = false",
            "`cpu.turbo = false` and `cpu.governor = powersave` (plan.toml:1) don't go together",
            (2, 13),
        ),
        ("services.stop = ['--force']", "no unit's name", (1, 17)),
        ("memory = 3", "there is no setting `memory`", (1, 1)),
    ];
    for (text, said, place) in cases {
        let error = try_wanted(text).unwrap_err();
        assert!(error.to_string().contains(said), "{text}: {error}");
        assert_eq!(error.place(), place, "{text}: {error}");
    }
    let help = |text: &str| {
        let error = try_wanted(text).unwrap_err();
        miette::Diagnostic::help(&error)
            .map(|help| help.to_string())
            .unwrap_or_default()
    };
    assert_eq!(help("cpu.govenor = 'x'"), "did you mean `cpu.governor`?");
    assert!(help("irq.affinity = { interfce = 'eth0', cpus = '1' }").contains("`interface`"));
    assert!(
        help("disk = { device = '/dev/vdb', format = 'xfs', mount = '/s' }")
            .contains("confirm = \"/dev/vdb\"")
    );
}
