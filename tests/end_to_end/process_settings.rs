//! Settings of the programs of trials that the kernel's groups and users keep: limits, a user of a trial's own, the layout of memory.

use backsight_test_needs::Need;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use crate::place::Place;

/// Groups of agents that are left anywhere.
fn groups_of(mark: &str) -> Vec<PathBuf> {
    fn look(folder: &Path, mark: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().contains(mark) {
                    found.push(entry.path());
                }
                look(&entry.path(), mark, found);
            }
        }
    }
    let mut found = Vec::new();
    look(Path::new("/sys/fs/cgroup"), mark, &mut found);
    found
}

/// The number that a trial's step printed last.
fn value(raw: &str) -> f64 {
    let mut lines = raw.lines().rev();
    lines.find_map(|line| line.trim().parse().ok()).unwrap()
}

/// A place whose folder every user may go through.
fn open_place() -> Place {
    let place = Place::new();
    fs::set_permissions(place.path(""), Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(place.path("tmp"), Permissions::from_mode(0o711)).unwrap();
    place
}

#[test]
fn a_trial_that_wants_more_than_its_limit_fails_and_names_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    place.prints("hog", "sh @/hog.sh");
    // The agent's mark is in each step's environment.
    let head = "echo ${BACKSIGHT_TRIAL%%/*} > @mark\n";
    let head = head.replace("@mark", &place.at("mark"));
    let plan = |prepare: &str| {
        place.plan(&format!(
            "use = [\"hog\"]\nrounds = 1\nprepare = {{ {prepare} }}\n"
        ));
    };
    let fails = |name: &str, said: &[&str]| {
        let ended = place.ends(&["run", "plan.toml", "--name", name]);
        ended.assert_says(said);
        let trials = place.prints_of(&["show", name, "--trial", "1"]);
        assert!(trials.contains(said[0]), "{trials}");
        assert_eq!(groups_of(place.read("mark").trim()), Vec::<PathBuf>::new());
    };
    let grow = "a=x; while [ ${#a} -lt 200000000 ]; do a=$a$a; done; echo ${#a}\n";
    place.write("hog.sh", format!("{head}{grow}"));
    plan("process.limits.memory = \"32MiB\"");
    fails(
        "memory",
        &["`process.limits.memory = 32MiB` (the kernel killed a program)"],
    );
    // Also where the step that had started it ends well.
    place.write(
        "hog.sh",
        format!("{head}sh -c '{}' ; echo 1\n", grow.trim()),
    );
    fails(
        "child",
        &["`process.limits.memory = 32MiB` (the kernel killed a program)"],
    );

    place.write(
        "hog.sh",
        format!("{head}for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait\n"),
    );
    plan("process.limits.processes = 5");
    fails(
        "processes",
        &["`process.limits.processes = 5` (the kernel refused to start a process)"],
    );
    // What fits is measured.
    place.write("hog.sh", format!("{head}echo 1\n"));
    plan("process.limits.processes = 50, process.limits.memory = \"64MiB\"");
    place
        .ends(&["run", "plan.toml", "--name", "fits"])
        .assert_code(0);
    assert_eq!(groups_of(place.read("mark").trim()), Vec::<PathBuf>::new());
    place.assert_nothing_left();
}

#[test]
fn the_processors_of_a_trial_are_limited_together() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    // How long a tenth of a second of a processor takes, in milliseconds.
    let burn = "b=$(date +%s%N); i=0; while [ $(awk '{print $14+$15}' /proc/$$/stat) -lt 20 ]; do i=$((i+1)); done; e=$(date +%s%N); echo $(((e-b)/1000000))";
    place.prints("burn", "sh @/burn.sh");
    place.write("burn.sh", burn);
    place.plan("use = [\"burn\"]\nrounds = 1\n[[variant]]\nname = \"free\"\n[[variant]]\nname = \"tenth\"\nprepare = { process.limits.cpu = \"0.1\" }\n");
    place
        .ends(&["run", "plan.toml", "--name", "a"])
        .assert_code(0);
    let took = |cell: &str| {
        let trials = place.trials("a");
        let trial = trials.iter().find(|it| it.cell == cell).unwrap();
        value(&place.raw("a", trial.number))
    };
    // A tenth of a processor: two tenths of a second take two seconds, and much less without the limit on any machine that isn't
    // ten times too busy.
    assert!(took("burn tenth") > 1500.0, "{}", took("burn tenth"));
    place.assert_nothing_left();
}

#[test]
fn a_fresh_user_is_another_one_in_each_trial_and_leaves_nothing() {
    if Need::Root.is_missing() {
        return;
    }
    let place = open_place();
    place.prints("who", "sh -c 'id; ls -ld $HOME; touch $HOME/a /tmp/$USER; mkdir /dev/shm/$USER; echo home $HOME; id -u'");
    place.monitor("watch", "echo monitor $(id -u); while :; do sleep 1; done");
    place.plan("use = [\"who\"]\nrounds = 2\nmonitors = [\"watch\"]\nprepare = { process.user = \"fresh\" }\n");
    place
        .ends(&["run", "plan.toml", "--name", "a"])
        .assert_code(0);
    let mut users = Vec::new();
    for trial in place.trials("a") {
        let raw = place.raw("a", trial.number);
        let uid = value(&raw) as u32;
        assert!((61_184..=65_519).contains(&uid), "{raw}");
        assert!(
            raw.contains(&format!("uid={uid} gid={uid} groups={uid}")),
            "{raw}"
        );
        assert!(raw.contains("monitor 0"), "{raw}");
        let home = raw
            .lines()
            .find_map(|line| line.strip_prefix("home "))
            .unwrap();
        assert!(
            home.ends_with("/home") && !Path::new(home).exists(),
            "{home}"
        );
        for folder in ["/tmp", "/dev/shm"] {
            assert!(
                !Path::new(folder).join(format!("fresh{uid}")).exists(),
                "{folder}"
            );
        }
        let shown = place.prints_of(&["show", "a", "--trial", &trial.number.to_string()]);
        assert!(shown.contains(&format!("process.user = {uid}")), "{shown}");
        users.push(uid);
    }
    assert_ne!(users[0], users[1]);
    // A user that the machine knows.
    place.prints("who", "id -u");
    place.plan("use = [\"who\"]\nrounds = 1\nprepare = { process.user = \"nobody\" }\n");
    place
        .ends(&["run", "plan.toml", "--name", "b"])
        .assert_code(0);
    let nobody = value(&place.raw("b", 1));
    assert!(
        nobody > 0.0 && !users.contains(&(nobody as u32)),
        "{nobody}"
    );
    place.assert_nothing_left();
}

#[test]
fn groups_and_files_of_users_are_gone_after_an_agent_that_was_killed_with_all_that_watched_over_it()
{
    if Need::Root.is_missing() {
        return;
    }
    let place = open_place();
    place.prints("hog", "sh @/hog.sh");
    // As root it kills the agent, its supervisor and the conductor, and so leaves nobody who could put anything back.
    let kill = "echo ${BACKSIGHT_TRIAL%%/*} > @/mark\np=$$; while [ $p -gt 1 ]; do n=$(ps -o comm= -p $p); q=$(ps -o ppid= -p $p | tr -d ' '); [ \"$n\" = backsight ] || [ \"$n\" = agent-guard ] && kills=\"$p $kills\"; p=$q; done; kill -STOP $kills; kill -9 $kills\n";
    place.write("hog.sh", kill.replace("@/mark", &place.at("mark")));
    place.plan("use = [\"hog\"]\nrounds = 1\nprepare = { process.limits.memory = \"64MiB\", process.limits.processes = 50 }\n");
    place.ends(&["run", "plan.toml", "--name", "a"]);
    let mark = place.read("mark");
    assert!(!groups_of(mark.trim()).is_empty());
    // The next agent sweeps.
    place.write("hog.sh", "echo 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "b"])
        .assert_code(0);
    assert_eq!(groups_of(mark.trim()), Vec::<PathBuf>::new());
    place.assert_nothing_left();
}

#[test]
fn the_layout_of_memory_is_fixed_drawn_or_drawn_for_each_trial() {
    let place = Place::new();
    let stack = "grep -o '^[0-9a-f]*.*stack' /proc/self/maps; grep -o '^[0-9a-f]*.*stack' /proc/self/maps; cat /proc/self/personality";
    place.prints("stack", "sh @/stack.sh");
    place.write(
        "stack.sh",
        format!("({stack}) >&2; grep -c 00040000 /proc/self/personality; true"),
    );
    place.plan(
        "use = [\"stack\"]\nrounds = 12\n[[variant]]\nname = \"off\"\nprepare = { process.aslr = \"off\" }\n\
         [[variant]]\nname = \"on\"\nprepare = { process.aslr = true }\n\
         [[variant]]\nname = \"drawn\"\nprepare = { process.aslr = \"random\" }\n",
    );
    place
        .ends(&["run", "plan.toml", "--name", "a"])
        .assert_code(0);
    let mut drawn = Vec::new();
    for trial in place.trials("a") {
        let raw = place.raw("a", trial.number);
        let stacks: Vec<&str> = raw.lines().filter(|line| line.contains("[stack")).collect();
        let is_off = raw.lines().any(|line| line.trim() == "00040000");
        assert_eq!(stacks[0] == stacks[1], is_off, "{raw}");
        let shown = place.prints_of(&["show", "a", "--trial", &trial.number.to_string()]);
        match trial.cell.as_str() {
            "stack off" => assert!(is_off, "{raw}"),
            "stack on" => assert!(!is_off && !shown.contains("drawn"), "{shown}"),
            _ => {
                let word = if is_off { "off" } else { "on" };
                assert!(shown.contains(&format!("process.aslr = {word}")), "{shown}");
                drawn.push(word);
            }
        }
    }
    assert!(drawn.contains(&"on") && drawn.contains(&"off"), "{drawn:?}");
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_is_said_before_anything_is_measured() {
    for (prepare, said) in [
        (
            "process.aslr = \"of\"",
            "isn't one of `on`, `off`, `random`",
        ),
        ("process.user = \"root\"", "is no user without rights"),
        (
            "process.user = \"no-such-user\"",
            "there is no user `no-such-user`",
        ),
        ("process.limits.memory = \"much\"", "`much` is not a size"),
        ("process.limits.memory = 0", "is no size above 0"),
        (
            "process.limits.cpu = \"none\"",
            "is no number of processors",
        ),
        (
            "process.limits.processes = 0",
            "isn't a whole number from 1",
        ),
        ("process.limits.memori = 1", "did you mean"),
        (
            "process.limits.read = { device = \"/dev/null\", most = \"1MiB\" }",
            "/dev/null is no block device",
        ),
        ("process.limits.read = \"1MiB\"", "needs `device`"),
    ] {
        let place = Place::new();
        place.prints("one", "echo 1");
        place.plan(&format!(
            "use = [\"one\"]\nrounds = 1\nprepare = {{ {prepare} }}\n"
        ));
        let ended = place.ends(&["run", "plan.toml", "--name", "a"]);
        assert_ne!(ended.status.code(), Some(0), "{prepare}");
        ended.assert_says(&[said]);
        place.assert_nothing_left();
    }
}
