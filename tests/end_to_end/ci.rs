//! The scripts and files of examples/ci: two nights and two changes of a small repository, end to end.

use std::{fs, path::Path, process::Command};

use crate::place::Place;

fn example(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci");
    folder.join(file).to_str().unwrap().to_owned()
}

/// In the repository, at the present time: the scripts ask for the last weeks.
fn git(place: &Place, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(place.path("app"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A repository of twelve versions, whose program prints how much it does: 10,000 and a little that differs.
fn project() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("app")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"]);
    place.benchmark(
        "work",
        "[tester]\nrun = \"sh {build}/work.sh\"\n[metric.work]\nunit = \"count\"\nbetter = \"lower\"\n\
         regex = '(?<value>\\d+)'\n",
    );
    place.plan("use = [\"work\"]\nrounds = 4\nseed = 1\n");
    place.write(
        "app.toml",
        "name = \"app\"\nsource = { git = { url = \"app\" } }\nbuild = { keep = [\"work.sh\"] }\n",
    );
    for number in 1..=12 {
        commit(&place, 10_000, number);
    }
    place
}

fn commit(place: &Place, level: u32, number: u32) {
    place.write(
        "app/work.sh",
        format!("# {number}\necho $(( {level} + $(od -An -N1 -tu1 /dev/urandom) % 50 ))\n"),
    );
    git(place, &["add", "--all"]);
    git(
        place,
        &["commit", "--quiet", "-m", &format!("version {number}")],
    );
}

/// What a script ends with and prints.
fn script(place: &Place, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let bin = place.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let backsight = bin.join("backsight");
    if !backsight.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_backsight"), &backsight).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = place.put(Command::new("sh"), &[]);
    command
        .arg(example(name))
        .arg(place.path(""))
        .args(arguments);
    let output = command.env("PATH", path).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn a_night_is_quiet_until_a_version_is_slower_and_a_change_is_judged_before_it_is_one() {
    let place = project();
    let (code, said) = script(&place, "nightly", &["app", "2w"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(place.path("site/index.html").exists());

    // A change that does more, and one that doesn't.
    git(&place, &["checkout", "--quiet", "-b", "slow"]);
    commit(&place, 13_000, 13);
    let (code, said) = script(&place, "pull-request", &["app", "main", "slow", "2m"]);
    assert_eq!(code, Some(1), "{said}");
    let verdict = place.read("verdict.md");
    assert!(
        verdict.starts_with("### slow against main: it is worse\n"),
        "{verdict}"
    );
    assert!(place.read("verdict.html").contains("worse"));
    git(&place, &["checkout", "--quiet", "-b", "harmless", "main"]);
    commit(&place, 10_000, 14);
    let (code, said) = script(&place, "pull-request", &["app", "main", "harmless", "2m"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(place.read("verdict.md").contains("nothing is worse"));

    // The slow one is merged all the same: the nights after it say so.
    git(&place, &["checkout", "--quiet", "main"]);
    git(&place, &["merge", "--quiet", "--ff-only", "slow"]);
    for number in 15..=18 {
        commit(&place, 13_000, number);
    }
    let (code, said) = script(&place, "nightly", &["app", "2w"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(place.read("history.txt").contains("worse"), "{said}");
}

#[test]
fn files_of_ci_systems_are_read_by_their_own_programs() {
    let ends_well = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{program}: {said}");
    };
    for name in ["nightly", "pull-request"] {
        ends_well("sh", &["-n", &example(name)]);
    }
    for name in ["github-actions.yml", "gitlab-ci.yml"] {
        let text = fs::read_to_string(example(name)).unwrap();
        assert!(
            text.contains("/nightly\"") && text.contains("/pull-request\""),
            "{name}"
        );
    }
    let timer = fs::read_to_string(example("backsight-nightly.timer")).unwrap();
    let when = timer
        .lines()
        .find_map(|line| line.strip_prefix("OnCalendar="))
        .unwrap();
    let unit = fs::read_to_string(example("backsight-nightly.service")).unwrap();
    assert!(unit.contains("/nightly ${PROJECT} app"));
    if Path::new("/usr/bin/systemd-analyze").exists() {
        ends_well("systemd-analyze", &["calendar", when]);
        // What it calls needn't be on this machine, so that only its syntax is looked at.
        let units = ["backsight-nightly.service", "backsight-nightly.timer"].map(example);
        let output = Command::new("systemd-analyze")
            .arg("verify")
            .args(&units)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        for complaint in ["Unknown", "Failed to parse", "Invalid", "ignoring"] {
            assert!(!said.contains(complaint), "{said}");
        }
    }
}
