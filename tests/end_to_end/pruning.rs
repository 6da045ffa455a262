//! What rules of a store remove, and what stays whatever they say. What is gone is said to be pruned wherever it was shown.

use std::fs;

use crate::{
    place::Place,
    running::Ended,
    stepping::{self, step},
};

/// A rule by which all that these tests made old goes.
const RULES: &str = "[keep]\noutputs = \"4 weeks\"\nmonitors = \"4 weeks\"\nlogs = \"4 weeks\"\nbuilds = \"4 weeks\"\n";

/// Makes everything that the store has so far some years old: the times in its database are texts.
fn make_old(place: &Place) {
    // It is whole in its file then.
    assert!(place.prints_of(&["store", "check"]).contains(": sound"));
    let file = "store/backsight.db";
    let mut bytes = fs::read(place.path(file)).unwrap();
    let is_time = |text: &[u8]| {
        let form = b"20dd-dd-ddTdd:";
        let mut pairs = text.iter().zip(form);
        pairs.all(|(byte, of)| match of {
            b'd' => byte.is_ascii_digit(),
            of => byte == of,
        })
    };
    for at in 0..bytes.len() - 14 {
        if is_time(&bytes[at..at + 14]) {
            bytes[at + 2..at + 4].copy_from_slice(b"20");
        }
    }
    place.write(file, bytes);
}

/// How many raw objects the store has.
fn objects(place: &Place) -> usize {
    let folders = fs::read_dir(place.path("store/raw")).unwrap();
    let counts = folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count());
    counts.sum()
}

/// What `prune` says, as rows: kind, `goes` or `stays`, why, how many.
fn rows(place: &Place, arguments: &[&str]) -> Vec<(String, bool, String, u64)> {
    let said = place.prints_of(&[&["prune", "--format", "json"], arguments].concat());
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let rows = said["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            text(&row["kind"]),
            row["goes"].as_bool().unwrap(),
            text(&row["why"]),
            row["count"].as_u64().unwrap(),
        )
    })
    .filter(|row| row.0 != "records")
    .collect()
}

fn assert_says(ended: &Ended, words: &str) {
    let said = format!("{} {}", ended.stdout(), ended.stderr).replace('│', " ");
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    assert!(said.contains(words), "{words}: {said}");
}

/// A place with a study `s` of two trials that a sampler watched, some years ago, and a study `young` of today.
fn watched() -> Place {
    let place = Place::new();
    place.prints("number", "date +%s.%N");
    place.plan("use = [\"number\"]\nrounds = 2\nmonitors = [\"cpu\"]\n");
    place.prints_of(&["run", "plan.toml", "--name", "s"]);
    make_old(&place);
    place.prints_of(&["run", "plan.toml", "--name", "young"]);
    place
}

#[test]
fn nothing_goes_without_rules_or_in_a_dry_run() {
    let place = watched();
    let before = objects(&place);
    let said = place.prints_of(&["prune"]);
    assert!(said.contains("there are no rules"), "{said}");
    assert!(rows(&place, &[]).iter().all(|row| !row.1));
    place.write("store/keep.toml", RULES);
    assert!(rows(&place, &["--dry-run"]).iter().any(|row| row.1));
    assert_eq!(objects(&place), before);
    let kept = "[keep]\noutputs = \"1 day\"\nmonitors = \"1 day\"\nstudies = [\"s\"]\n";
    place.write("other.toml", kept);
    let of_other = rows(&place, &["--keep", "other.toml"]);
    let of_study = "of a study that `studies` names";
    assert!(of_other.iter().any(|row| row.2 == of_study), "{of_other:?}");
    assert_eq!(objects(&place), before);
}

#[test]
fn what_is_pruned_is_said_wherever_it_was_shown_and_samples_stay() {
    let place = watched();
    place.write("store/keep.toml", RULES);
    let samples = place.prints_of(&["export", "s", "--format", "csv"]);
    let went = rows(&place, &[]);
    for (kind, why) in [
        ("outputs", "outputs = \"4 weeks\""),
        ("monitors", "monitors = \"4 weeks\""),
    ] {
        let goes = (went.iter()).find(|row| row.0 == kind && row.1);
        assert_eq!(goes.map(|row| row.2.as_str()), Some(why), "{went:?}");
        let stays = went.iter().find(|row| row.0 == kind && !row.1);
        assert_eq!(stays.map(|row| row.2.as_str()), Some("not old enough"));
    }
    assert!(
        went.contains(&("logs".into(), true, "logs = \"4 weeks\"".into(), 1)),
        "{went:?}"
    );

    let pruned = "pruned on 20";
    let by_rule = "by the rule `outputs = \"4 weeks\"`";
    let (raw, steps) = (
        place.raw("s", 1),
        place.prints_of(&["show", "s", "--trial", "1"]),
    );
    for shown in [raw, steps] {
        assert!(shown.contains(pruned) && shown.contains(by_rule), "{shown}");
    }
    let check = place.ends(&["store", "check", "--repair"]);
    check.assert_code(0);
    assert_says(&check, "outputs = \"4 weeks\"`");
    assert_says(
        &check,
        "the samples of 2 trials can't be compared with their raw output: pruned on 20",
    );
    assert_says(&check, ": sound");
    place.prints_of(&["report", "s", "young", "-o", "page.html"]);
    let page = place.read("page.html");
    assert!(
        page.contains(pruned) && !page.contains("can&#39;t read it"),
        "{page}"
    );
    assert_eq!(
        place.prints_of(&["export", "s", "--format", "csv"]),
        samples
    );
    place.prints_of(&["compare", "s", "young"]);
    place.prints_of(&["explain", "s", "young"]);

    // What is asked of monitors alone is gone with what they printed.
    for asked in [
        &["show", "s", "--counters"][..],
        &["export", "s", "--monitors", "-o", "seen.csv"],
    ] {
        let refused = place.ends(asked);
        refused.assert_code(2);
        assert_says(
            &refused,
            "nothing is left of what monitors of `s` saw: 2 outputs: pruned on 20",
        );
    }
    place.prints_of(&["show", "young", "--counters"]);
    assert!(place.raw("young", 1).contains("stdout"));
    assert!(
        rows(&place, &[]).iter().all(|row| !row.1),
        "nothing is left to go"
    );
}

#[test]
fn of_an_import_the_files_go_and_the_numbers_stay() {
    let place = Place::new();
    place.write("table.csv", "rate,n\n1234567.75,1\n2.5,1\n");
    let import = [
        "import",
        "csv",
        "table.csv",
        "--value",
        "rate",
        "--param",
        "n",
    ];
    let metric = ["--unit", "MB/s", "--better", "rate=higher", "--as", "s"];
    place.prints_of(&[&import[..], &metric].concat());
    make_old(&place);
    place.write("store/keep.toml", RULES);
    place.prints_of(&["prune"]);
    assert_eq!(objects(&place), 0);
    let check = place.ends(&["store", "check"]);
    check.assert_code(0);
    assert_says(
        &check,
        "can't be compared with their raw output: pruned on 20",
    );
    let exported = place.prints_of(&["export", "s", "--format", "csv"]);
    assert!(exported.contains("1234567.75"), "{exported}");
}

#[test]
fn what_lies_beside_a_change_stays_with_its_builds() {
    let place = stepping::place();
    // Every version prints two numbers in turn, the same as the one before it but for v4.
    for (version, tens) in (1..).zip([10, 10, 10, 20, 20, 20, 20]) {
        let again = place.at(&format!("again-{version}"));
        let speed = format!(
            "if [ -e {again} ]; then echo {tens}.2; else echo {tens}.1; fi\ntouch {again}\ndate +%N >&2\n"
        );
        place.write("repo/speed", speed);
        stepping::commit_all(&place, version);
    }
    place
        .ends(&step("v1", "v7", &["--name", "s"]))
        .assert_code(0);
    make_old(&place);
    place.write("store/keep.toml", RULES);
    let accept = [
        "accept", "v7", "--target", "app", "--reason", "r", "--by", "b",
    ];
    place.prints_of(&accept);
    // A build's age counts from when it was made, if no study took it later.
    let builds = fs::read_dir(place.path("store/targets/app/builds")).unwrap();
    for build in builds {
        let note = fs::File::open(build.unwrap().path().join("build.json")).unwrap();
        note.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    let said = rows(&place, &[]);
    let count = |kind: &str, why: &str| {
        let row = said.iter().find(|row| row.0 == kind && row.2 == why);
        row.map_or(0, |row| row.3)
    };
    for (why, builds) in [
        ("beside a change that was found", 2),
        ("beside a change that was accepted", 2),
        ("builds = \"4 weeks\"", 3),
    ] {
        assert_eq!(count("builds", why), builds, "{said:?}");
    }
    let trials = 1..=14;
    let pruned = trials.filter(|trial| place.raw("s", *trial).contains("pruned on"));
    assert_eq!(pruned.count(), 6, "both trials of three versions");
    place.prints_of(&["history", "--target", "app"]);
    place.prints_of(&["publish", "site"]);
    place.prints_of(&["show", "s", "--build", "1"]);
    place.prints_of(&["store", "check"]);
}

#[test]
fn of_a_study_that_found_a_difference_all_trials_stay() {
    let place = Place::new();
    place.prints("number", "echo $(cat @/speed).$(date +%N)");
    place.plan(
        "use = [\"number\"]\n[[variant]]\nname = \"a\"\ntester.setup = \"echo 10 > @/speed\"\n\
         [[variant]]\nname = \"b\"\ntester.setup = \"echo 20 > @/speed\"\n",
    );
    place
        .ends(&["run", "plan.toml", "--until", "decided", "--name", "s"])
        .assert_code(0);
    make_old(&place);
    place.write("store/keep.toml", RULES);
    let said = rows(&place, &[]);
    let of_outputs: Vec<_> = said.iter().filter(|row| row.0 == "outputs").collect();
    let [(_, false, why, _)] = of_outputs[..] else {
        panic!("{said:?}")
    };
    assert_eq!(why, "beside a change that was found");
}

#[test]
fn a_pruning_that_is_killed_in_the_middle_loses_nothing_and_the_next_finishes_it() {
    let place = Place::new();
    let files: Vec<String> = (0..40).map(|n| format!("{n}.csv")).collect();
    for (n, file) in files.iter().enumerate() {
        place.write(file, format!("time\n{n}.5\n"));
    }
    let mut import = vec![
        "import",
        "csv",
        "--value",
        "time",
        "--unit",
        "s",
        "--better",
        "time=lower",
    ];
    import.extend(["--as", "s"]);
    import.extend(files.iter().map(String::as_str));
    place.prints_of(&import);
    make_old(&place);
    place.write("store/keep.toml", RULES);
    let before = objects(&place);
    assert_eq!(before, 40);
    let program = env!("CARGO_BIN_EXE_backsight");
    for when in [1, 2, 20] {
        let kill = format!("inject=unlink,unlinkat:signal=SIGKILL:when={when}");
        place.ends(&["trace", "-f", "-o", "calls", "-e", &kill, program, "prune"]);
        let left = objects(&place);
        assert!(left > 0 && left < before + 1, "{left} of {before}");
        let check = place.ends(&["store", "check"]);
        check.assert_code(0);
        assert_says(&check, "40 raw outputs: pruned on 20");
    }
    assert!(objects(&place) < before);
    place.prints_of(&["prune"]);
    assert_eq!(objects(&place), 0);
    place.ends(&["store", "check"]).assert_code(0);
}

#[test]
fn a_fault_in_the_rules_is_pointed_at_and_nothing_goes() {
    let place = watched();
    let before = objects(&place);
    place.write("store/keep.toml", "[keep]\noutputs = \"soon\"\n");
    let refused = place.ends(&["prune"]);
    refused.assert_code(2);
    assert_says(&refused, "`soon` is no period");
    assert_says(&refused, "keep.toml:2:11");
    assert_eq!(objects(&place), before);
}
