//! Settings of a machine while a study measures: made, read again, put back, also after kills. In a mount namespace of its own, where
//! a file of the test's stands for a sysctl, and the journal is the test's own.

use backsight_test_needs::Need;
use std::process::Command;

use crate::{
    place::{Place, VALUE},
    running::Running,
};

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
    ended.assert_says(&["1 setting made, 0 were so", "nothing is left changed"]);
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
    place.write("kill.sh", killing_at_seven("backsight"));
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

/// Two variants, of which one has another value of the sysctl.
const VARIANTS: &str = "[[variant]]\nname = \"plain\"\n[[variant]]\nname = \"seven\"\nprepare = { sysctl.\"vm.swappiness\" = 7 }\n";

#[test]
fn a_variants_settings_are_made_for_its_trials_and_for_no_others() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(&format!(
        "{VARIANTS}[[variant]]\nname = \"cpus\"\ntester.prepare = {{ sysctl.\"vm.swappiness\" = \"{{cpus + 50}}\" }}\n"
    ));
    place.plan(&place.read("plan.toml").replace("rounds = 1", "rounds = 3"));
    let ended = in_own_namespace(
        &place,
        "$B run plan.toml --name a\ncat swappiness\n$B restore",
    );
    ended.assert_code(0);
    ended.assert_says(&[
        "for variant `seven`: 1 setting made, 0 were so",
        "60 ±0 % n=3",
        "7 ±0 % n=3",
        "nothing is left changed",
    ]);
    let cpus = std::thread::available_parallelism().unwrap().get() + 50;
    ended.assert_says(&[&format!("{cpus} ±0 % n=3")]);
    assert_eq!(place.read("swappiness"), "60\n");
    // Making and putting back isn't part of any trial, which fails where it isn't possible any more.
    place.plan(&place.read("plan.toml").replace("rounds = 3", "rounds = 2"));
    place.prints("swap", "cat /proc/sys/vm/swappiness; umount /proc/sys/vm/swappiness 2>/dev/null; mount -t tmpfs -o ro none /proc/sys/vm");
    let ended = in_own_namespace(&place, "$B run plan.toml --name b || true\n$B show b");
    ended.assert_says(&["can't be prepared: sysctl = 7"]);
}

#[test]
fn the_lines_that_doctor_prints_prepare_this_machine_for_its_namespaces() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place("");
    place.write(
        "lab.toml",
        format!("name = \"{}\"\n[host.only]\nkind = \"netns\"\n", place.name),
    );
    place.ends(&["lab", "up"]).assert_code(0);
    // Every line that it prints, where it says that they belong.
    let script = r#"
$B doctor plan.toml --no-self-test > before
{ echo "[prepare]"; sed -n 's/^     \([a-z.-]* = .*\)/\1/p' before; } >> plan.toml
$B doctor plan.toml --no-self-test > after
echo "before:"; cat before; echo "after:"; cat after; echo "plan:"; cat plan.toml
$B run plan.toml --name a
"#;
    let ended = in_own_namespace(&place, script);
    place.ends(&["lab", "down"]).assert_code(0);
    ended.assert_code(0);
    let (before, after) = (place.read("before"), place.read("after"));
    assert!(before.contains("     memory.swappiness = 0\n"), "{before}");
    assert!(
        before.contains("belong below [prepare] in the plan"),
        "{before}"
    );
    // What doctor says is wrapped where a terminal ends: here nowhere.
    assert!(!after.contains(" = "), "{after}");
    let prepared = after
        .lines()
        .find(|line| line.starts_with("The plan makes"));
    let prepared = prepared.unwrap_or_else(|| panic!("{after}"));
    assert!(prepared.contains("memory.swappiness"), "{prepared}");
    ended.assert_says(&["n=1 0 "]);
    assert_eq!(place.read("swappiness"), "60\n");
    place.assert_nothing_left();
}

/// A place of two roles on hosts of kind `local`, which ask for these settings; the value that is measured is the sysctl.
fn of_two_hosts(client: &str, server: &str) -> Place {
    let place = Place::of_roles(&["client", "server"]);
    place.write("swappiness", "60\n");
    let metric = VALUE.replace(
        "[metric.value]\n",
        "[metric.value]\nfrom = \"client.run\"\n",
    );
    place.write(
        "benchmarks/swap.toml",
        format!(
            "name = \"swap\"\nabout = \"a test's own\"\nroles = [\"client\", \"server\"]\n\
             [client]\nrun = \"cat /proc/sys/vm/swappiness\"\n[server]\nrun = \"true\"\n{metric}"
        ),
    );
    place.plan("testbed = \"all\"\nuse = [\"swap\"]\nrounds = 1\n");
    let mut lab = place.read("lab.toml");
    for (role, asked) in [("client", client), ("server", server)] {
        let host = format!("[host.{}]\nkind = \"local\"\n", place.host(role));
        lab = lab.replace(&host, &format!("{host}prepare = {{ {asked} }}\n"));
    }
    place.write("lab.toml", lab);
    place
}

#[test]
fn hosts_that_are_one_machine_are_prepared_once() {
    if Need::Root.is_missing() {
        return;
    }
    let seven = "sysctl.\"vm.swappiness\" = 7";
    let other = "sysctl.\"vm.page-cluster\" = 3";
    let own = "[prepare]\nsysctl.\"vm.swappiness\" = 9\n";
    let eight = "sysctl.\"vm.swappiness\" = 8";
    for (client, server, prepare, made, value) in [
        // The same setting of both, one of each, and the plan's, which counts more than those of the lab.
        (seven, seven, "", "1 setting made, 0 were so", "7.000"),
        (other, seven, "", "2 settings made, 0 were so", "7.000"),
        (seven, eight, own, "1 setting made, 0 were so", "9.000"),
    ] {
        let place = of_two_hosts(client, server);
        place.write("page-cluster", "4\n");
        place.plan(&format!("{}{prepare}", place.read("plan.toml")));
        let script = "mount --bind page-cluster /proc/sys/vm/page-cluster\n$B run plan.toml --name a\n$B restore";
        let ended = in_own_namespace(&place, script);
        ended.assert_code(0);
        ended.assert_says(&[&format!("{}: {made}", place.host("client")), value]);
        let server = place.host("server");
        ended.assert_says(&[&format!("{server}: nothing is left changed")]);
        assert!(
            !ended.words().contains(&format!("{server}: 1 setting made")),
            "{}",
            ended.words()
        );
        assert_eq!(place.read("swappiness"), "60\n");
        assert_eq!(place.read("page-cluster"), "4\n");
    }
}

#[test]
fn two_values_for_one_machine_are_refused_with_both_hosts_and_places() {
    // Whatever is done of settings that can't be made; of a variant's roles as of the lab's hosts.
    let seven = "memory.swappiness = 7";
    let place = of_two_hosts(seven, "memory.swappiness = 8");
    let plan = place.read("plan.toml");
    place.plan(&format!("{plan}prepare-policy = \"warn\"\n"));
    let (client, server) = (place.host("client"), place.host("server"));
    let refused = |place: &Place, file: &str, one: u32, other: u32| {
        for arguments in [
            &["run", "plan.toml", "--name", "a"][..],
            &["doctor", "plan.toml", "--no-self-test"],
        ] {
            let ended = place.ends(arguments);
            assert_ne!(ended.status.code(), Some(0), "{arguments:?}");
            let said = unwrapped(&ended.stderr);
            for part in [
                format!("hosts `{client}` and `{server}` are one machine"),
                format!("memory.swappiness = 7 ({file}:{one}) for `{client}`"),
                format!("memory.swappiness = 8 ({file}:{other}) for `{server}`"),
                "leave one of them out".to_owned(),
            ] {
                assert!(said.contains(&part), "{part}: {said}");
            }
        }
    };
    refused(&place, "lab.toml", 4, 7);
    place.write(
        "lab.toml",
        place
            .read("lab.toml")
            .replace(seven, "")
            .replace("memory.swappiness = 8", ""),
    );
    place.plan(&format!(
        "{plan}[[variant]]\nname = \"v\"\nclient.prepare = {{ {seven} }}\nserver.prepare = {{ memory.swappiness = 8 }}\n"
    ));
    refused(&place, "plan.toml", 6, 7);
}

/// A script that says the value and, where that is seven, kills every process of this program above it.
///
/// They are stopped before the first is killed: an agent that still ran would see its conductor end and have the value put back.
fn killing_at_seven(program: &str) -> String {
    let script = "s=$(cat /proc/sys/vm/swappiness); echo $s; [ $s = 7 ] || exit 0\np=$$; while [ $p -gt 1 ]; do n=$(ps -o comm= -p $p); q=$(ps -o ppid= -p $p | tr -d ' '); [ \"$n\" = PROGRAM ] && kills=\"$p $kills\"; p=$q; done; kill -STOP $kills; kill -9 $kills\n";
    script.replace("PROGRAM", program)
}

#[test]
fn killed_in_a_trial_of_a_variant_the_next_study_puts_its_settings_back() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(VARIANTS);
    place.prints("swap", "sh @/kill.sh");
    place.write("kill.sh", killing_at_seven("backsight"));
    let script = "$B run plan.toml --name a || echo killed\necho \"then $(cat swappiness)\"\necho exit 0 > kill.sh\n$B run plan.toml --name b || true\necho \"now $(cat swappiness)\"\n$B restore";
    let ended = in_own_namespace(&place, script);
    ended.assert_says(&[
        "killed",
        "then 7",
        "/proc/sys/vm/swappiness) of study `a`: put back",
        "now 60",
        "nothing is left changed",
    ]);
}

#[test]
fn programs_of_trials_are_started_as_settings_say_and_others_are_not() {
    let place = Place::new();
    let nice = "echo $(nice) $(grep Cpus_allowed_list /proc/self/status | tr -dc 0-9-) $(cat /proc/self/personality) $(env | grep -c BACKSIGHT_PADDING=x)";
    place.prints("nice", nice);
    place.monitor("watch", "echo monitor $(nice); while :; do sleep 1; done");
    place.plan(
        "use = [\"nice\"]\nrounds = 1\nmonitors = [\"watch\"]\n[prepare]\nprocess.nice = 3\n[[variant]]\nname = \"plain\"\n\
         [[variant]]\nname = \"mine\"\nprepare = { process.nice = 11, process.cpus = \"0\", process.aslr = false, process.environment-size = 100 }\n",
    );
    place
        .ends(&["run", "plan.toml", "--name", "a"])
        .assert_code(0);
    for trial in place.trials("a") {
        let raw = place.raw("a", trial.number);
        let said = match trial.cell.as_str() {
            "nice plain" => "\n3 0",
            _ => "\n11 0 00040000 1\n",
        };
        assert!(raw.contains(said), "{raw}");
        assert!(raw.contains("monitor 0"), "{raw}");
    }
    place.assert_nothing_left();
}

#[test]
fn without_root_a_set_makes_what_it_can_and_says_what_it_leaves_out() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    place.prints("nice", "nice");
    let plan = |policy: &str| {
        place.plan(&format!(
            "use = [\"nice\"]\nrounds = 1\nprepare = [\"quiet\", {{ process.nice = 5 }}]\n{policy}\n"
        ));
    };
    std::fs::copy(env!("CARGO_BIN_EXE_backsight"), place.path("program")).unwrap();
    let all = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(place.path(""))
        .status();
    assert!(all.unwrap().success());
    let run = |name: &str| {
        let mut command = Command::new("setpriv");
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        command.args(nobody).arg(place.path("program"));
        let mut command = place.put(command, &["run", "plan.toml", "--name", name]);
        command.env("HOME", place.path(""));
        Running::start(command).ends()
    };
    plan("");
    let strict = run("strict");
    assert_ne!(strict.status.code(), Some(0));
    strict.assert_says(&[
        "can't be prepared",
        "memory.swappiness = 0",
        "it needs root",
        "prepare-policy",
    ]);
    plan("prepare-policy = \"warn\"");
    let warn = run("warn");
    warn.assert_code(0);
    warn.assert_says(&[
        "memory.swappiness = 0",
        "it needs root",
        "1 setting made, 0 were so",
        "5 ",
    ]);
    plan("prepare-policy = \"skip\"");
    let skip = run("skip");
    skip.assert_code(0);
    assert!(
        !skip.stderr.contains("memory.swappiness"),
        "{}",
        skip.stderr
    );
    skip.assert_says(&["1 setting made, 0 were so"]);
}

#[test]
fn settings_are_made_as_root_where_the_lab_says_how_and_put_back_by_the_next_agent() {
    if Need::Root.is_missing() {
        return;
    }
    let place = place(VARIANTS);
    let swap = "id -u >&2; cat /proc/sys/vm/swappiness";
    place.prints("swap", swap);
    let lab = place.read("lab.toml");
    // Runs a program as root for anybody, as `sudo` does for whom it knows.
    place.write(
        "lab.toml",
        format!("{lab}become-root = [\"{}\"]\n", place.at("as-root")),
    );
    std::fs::copy(env!("CARGO_BIN_EXE_backsight"), place.path("program")).unwrap();
    let nobody = "cp /usr/bin/env as-root; chmod -R a+rwX .; chmod 4755 as-root\n\
        B='setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=. ./program --store store'";
    let ended = in_own_namespace(
        &place,
        &format!(
            "{nobody}\n$B run plan.toml --name a\ncat swappiness\nls /var/lib/backsight\n$B show a --trial 1 --raw"
        ),
    );
    ended.assert_code(0);
    ended.assert_says(&["60.0 ±? n=1", "7.00 ±? n=1", "65534", "journal.lock"]);
    assert_eq!(place.read("swappiness"), "60\n");

    // Killed with its agent, it leaves what root's journal says to the next one.
    place.prints("swap", "sh @/kill.sh");
    place.write("kill.sh", killing_at_seven("program"));
    let script = format!(
        "{nobody}\n$B run plan.toml --name b || echo killed\necho \"then $(cat swappiness)\"\n$B restore\necho \"now $(cat swappiness)\"\n$B restore"
    );
    let ended = in_own_namespace(&place, &script);
    ended.assert_says(&[
        "killed",
        "then 7",
        "of study `b`: put back",
        "now 60",
        "nothing is left changed",
    ]);

    // Without anybody who makes it root's, it is said.
    place.prints("swap", swap);
    place.write("lab.toml", format!("{lab}become-root = [\"/bin/false\"]\n"));
    let ended = in_own_namespace(
        &place,
        &format!("{nobody}\n$B run plan.toml --name c || echo stopped"),
    );
    ended.assert_says(&[
        "settings can't be changed as root by `/bin/false",
        "stopped",
    ]);
}

#[test]
fn mistakes_are_told_before_anything_is_measured_in_lab_plan_and_variant() {
    // Each mistake, and what is said of it.
    let mistakes = [
        (
            "cpu.govenor = \"performance\"",
            "did you mean `cpu.governor`?",
        ),
        (
            "memory.swappiness = 201",
            "`201` isn't a whole number from 0 to 200",
        ),
        (
            "disk = { device = \"/dev/vdb\", format = \"xfs\", mount = \"/s\", confirm = \"/dev/vdc\" }",
            "doesn't name /dev/vdb again",
        ),
        (
            "cpu.governor = \"powersave\", cpu.turbo = false",
            "don't go together",
        ),
        ("process.cpus = \"4000\"", "there is no CPU 4000"),
        ("isolate.cpus = \"0-4000\"", "there is no CPU"),
        (
            "sysctl.\"vm.swappiness\" = \"{cpu}\"",
            "`{cpu}` is not defined here",
        ),
        (
            "process.environment-size = \"rnd\"",
            "neither `random` nor a number",
        ),
        (
            "irq.affinity = { interface = \"{tester.face}\", cpus = \"0\" }",
            "`{tester.face}` is not defined here",
        ),
    ];
    for (mistake, said) in mistakes {
        let lab = |place: &Place| {
            let lab = place.read("lab.toml");
            place.write("lab.toml", format!("{lab}prepare = {{ {mistake} }}\n"));
        };
        let plan = |place: &Place, text: &str| {
            place.plan(&format!("use = [\"nice\"]\nrounds = 1\n{text}\n"));
        };
        for where_it_is in ["lab", "plan", "variant", "role"] {
            let place = Place::new();
            place.prints("nice", "nice");
            plan(&place, "");
            match where_it_is {
                "lab" => lab(&place),
                "plan" => plan(&place, &format!("prepare = {{ {mistake} }}")),
                "variant" => plan(
                    &place,
                    &format!("[[variant]]\nname = \"v\"\nprepare = {{ {mistake} }}"),
                ),
                _ => plan(
                    &place,
                    &format!("[[variant]]\nname = \"v\"\ntester.prepare = {{ {mistake} }}"),
                ),
            }
            let ended = place.ends(&["run", "plan.toml", "--name", "a"]);
            assert_ne!(ended.status.code(), Some(0), "{mistake} in {where_it_is}");
            let is_destructive =
                mistake.starts_with("disk") && ["variant", "role"].contains(&where_it_is);
            let said = if is_destructive {
                "`disk` can't be changed between trials"
            } else {
                said
            };
            assert!(
                unwrapped(&ended.stderr).contains(said),
                "{mistake} in {where_it_is}: {}",
                ended.stderr
            );
        }
    }
    let place = Place::new();
    place.prints("nice", "nice");
    place.plan("use = [\"nice\"]\nprepare-policy = \"wran\"\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "a"]);
    ended.assert_says(&["wran", "`strict`"]);
}

#[test]
fn settings_of_ones_own_are_listed_shown_and_kept_by_the_study() {
    let place = Place::new();
    place.prints("nice", "nice");
    std::fs::create_dir_all(place.path("settings/sets")).unwrap();
    let own = "name = 'my.nice'\nabout = 'my own'\ntype = { integer = { min = 0, max = 9 } }\nright = 'none'\n[process]\nattribute = 'nice'\n";
    place.write("settings/my.nice.toml", own);
    place.write(
        "settings/sets/mine.toml",
        "name = 'mine'\nabout = 'of mine'\nsettings.my.nice = 4\n",
    );
    place.plan("use = [\"nice\"]\nrounds = 1\nprepare = [\"mine\"]\n");
    let listed = place.prints_of(&["list", "settings"]);
    for name in ["my.nice", "mine", "cpu.governor", "quiet"] {
        assert!(listed.contains(name), "{listed}");
    }
    assert!(
        place
            .prints_of(&["show", "setting", "my.nice"])
            .contains("from 0 to 9")
    );
    assert!(
        place
            .prints_of(&["show", "setting", "mine"])
            .contains("settings.my.nice = 4")
    );
    place
        .ends(&["show", "setting", "cpu.govenor"])
        .assert_says(&["did you mean `cpu.governor`?"]);
    place
        .ends(&["run", "plan.toml", "--name", "a"])
        .assert_code(0);
    // The study goes on with the definitions that it began with.
    std::fs::remove_dir_all(place.path("settings")).unwrap();
    let ended = place.ends(&["resume", "a", "--rounds", "1"]);
    ended.assert_code(0);
    ended.assert_says(&["1 setting made"]);
    assert!(place.prints_of(&["show", "a"]).contains("4 ±0 % n=2"));
    assert!(
        place
            .prints_of(&["show", "a", "--documents"])
            .contains("my own")
    );
}

/// A message without the lines that a terminal's width broke it into.
fn unwrapped(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches([' ', '│', '×', '╰', '─', '▶', '·']));
    lines.collect::<Vec<_>>().join(" ")
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
