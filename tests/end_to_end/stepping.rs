//! Along a history: every version built once and measured, broken ones as facts about them, nothing measured twice.

use backsight_test_needs::Need;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::{fs, process::Command, time::Duration};

use crate::{
    place::{Place, VALUE},
    running::Running,
};

/// A place with a repository in `repo`, whose commits each hold the number that the program of that version prints.
pub fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = \"sh {{build}}/tool\"\n{VALUE}"),
    );
    place.plan("use = [\"tool\"]\nrounds = 2\nseed = 1\n");
    target(&place, "");
    place
}

/// The target's file: the build is a copy that is logged, and fails where there is a file `broken`.
fn target(place: &Place, more: &str) {
    let build = "test ! -e broken && cp speed tool && sh @/step build";
    let text = format!(
        "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
         build = {{ run = \"{build}\", keep = [\"tool\"], timeout = \"20s\" }}\n{more}"
    );
    place.write(
        "app.toml",
        text.replace('@', place.path("").to_str().unwrap()),
    );
}

pub fn git(place: &Place, arguments: &[&str], minute: usize) -> String {
    let date = format!("2024-03-01T{:02}:{:02}:00Z", minute / 60, minute % 60);
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(place.path("repo"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits a version that prints this number; one of less than nothing doesn't build. Tagged `vN`.
pub fn commit(place: &Place, number: usize, prints: i32) {
    let broken = place.path("repo/broken");
    if prints < 0 {
        fs::write(&broken, "").unwrap();
    } else if broken.exists() {
        fs::remove_file(&broken).unwrap();
    }
    place.write("repo/speed", format!("echo {prints}.{number}\n"));
    commit_all(place, number);
}

/// Commits what there is. Tagged `vN`.
pub fn commit_all(place: &Place, number: usize) {
    git(place, &["add", "--all"], number);
    git(
        place,
        &["commit", "--quiet", "-m", &format!("version {number}")],
        number,
    );
    git(place, &["tag", &format!("v{number}")], number);
}

pub fn commits(place: &Place, prints: &[i32]) {
    for (at, prints) in prints.iter().enumerate() {
        commit(place, at + 1, *prints);
    }
}

/// `step` over these versions.
pub fn step<'a>(from: &'a str, to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![
        "step",
        "plan.toml",
        "--target",
        "app",
        "--from",
        from,
        "--to",
        to,
    ];
    arguments.extend(more);
    arguments
}

#[test]
fn every_version_is_built_once_and_only_what_is_missing_is_measured() {
    let place = place();
    commits(&place, &[10, 10, 20, 20, 20]);
    place
        .ends(&step("v1", "v5", &["--name", "s"]))
        .assert_code(0);
    let row = place.study("s");
    assert_eq!(
        (row["measured"].as_u64(), row["failed"].as_u64()),
        (Some(10), Some(0)),
        "{row}"
    );
    let page = place.prints_of(&["show", "s"]);
    let boots = page
        .lines()
        .filter(|line| line.trim_end().ends_with(" good"))
        .count();
    assert_eq!(
        boots, 5,
        "rounds go back to the boot that there was: {page}"
    );
    assert_eq!(place.calls("build"), 5);

    let again = place.ends(&step("v1", "v5", &[]));
    again.assert_code(0);
    assert!(
        again.stderr.contains("nothing is missing"),
        "{}",
        again.stderr
    );
    let studies = place.prints_of(&["studies", "--json"]);
    assert_eq!(studies.matches("\"name\"").count(), 1, "{studies}");

    commit(&place, 6, 20);
    place
        .ends(&step("v4", "main", &["--name", "t"]))
        .assert_code(0);
    assert_eq!(place.study("t")["measured"], 2);
    assert_eq!(place.calls("build"), 6);
    // Another definition is another question.
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = \"sh {{build}}/tool; true\"\n{VALUE}"),
    );
    place
        .ends(&step("v5", "v6", &["--name", "u"]))
        .assert_code(0);
    assert_eq!(place.study("u")["measured"], 4);
    // So is another machine, which is what settings make of it.
    place.plan("use = [\"tool\"]\nrounds = 2\nseed = 1\nprepare = { process.nice = 3 }\n");
    place
        .ends(&step("v5", "v6", &["--name", "w"]))
        .assert_code(0);
    assert_eq!(place.study("w")["measured"], 4);
    assert_eq!(place.calls("build"), 6);
    place.assert_nothing_left();
}

#[test]
fn more_repeats_measure_only_those_that_are_added() {
    let place = place();
    commits(&place, &[10, 20]);
    place
        .ends(&step("v1", "v2", &["--name", "s", "--repeat", "1"]))
        .assert_code(0);
    place
        .ends(&step("v1", "v2", &["--name", "t", "--repeat", "3"]))
        .assert_code(0);
    assert_eq!(place.study("s")["measured"], 2);
    assert_eq!(place.study("t")["measured"], 4);
}

#[test]
fn a_version_that_does_not_build_is_a_fact_and_a_neighbour_can_stand_in() {
    let place = place();
    commits(&place, &[10, -1, -1, 20, 20, 20, 20]);
    let every = ["--every", "3 commits"];
    let ended = place.ends(&step("v1", "v7", &[&every[..], &["--name", "s"]].concat()));
    ended.assert_code(0);
    // 1, 4, 7: none of them is broken.
    assert_eq!(place.study("s")["measured"], 6, "{}", ended.stderr);
    let ended = place.ends(&step("v1", "v3", &["--name", "t"]));
    ended.assert_code(1);
    ended.assert_says(&["t: the newest version, v3, couldn't be measured"]);
    assert!(ended.stderr.contains("no build of v2"), "{}", ended.stderr);
    assert_eq!(
        place.study("t")["failed"],
        0,
        "a broken version is no failed trial"
    );
    let page = place.prints_of(&["show", "t"]);
    assert!(page.contains("none: build: `test"), "{page}");
    let number = page
        .lines()
        .find(|line| line.contains("none: build"))
        .and_then(|line| line.split_whitespace().next());
    let log = place.prints_of(&["show", "t", "--build", number.unwrap()]);
    assert!(
        log.contains("$ test ! -e broken") && log.contains("[exited with 1"),
        "{log}"
    );
    // It isn't tried again by itself.
    let builds = place.calls("build");
    let again = place.ends(&step("v1", "v3", &[]));
    again.assert_code(1);
    again.assert_says(&[
        "nothing new to measure, and the newest version, v3, couldn't be measured",
        "--retry",
    ]);
    let ended = place.ends(&step(
        "v1",
        "v7",
        &["--every", "2 commits", "--skip-broken", "--name", "u"],
    ));
    ended.assert_code(0);
    // 1, 3, 5, 7: 3 is broken and so is 2; 4 stands in and is known already, as are 1 and 7.
    assert_eq!(place.study("u")["measured"], 2, "{}", ended.stderr);
    assert_eq!(place.calls("build"), builds + 1);
}

#[test]
fn a_plan_that_stops_at_failures_stops_at_a_version_that_does_not_build() {
    let place = place();
    place.plan("use = [\"tool\"]\nrounds = 1\non-failure = \"stop\"\n");
    commits(&place, &[10, -1, 20]);
    let ended = place.ends(&step("v1", "v3", &["--name", "s"]));
    ended.assert_code(1);
    assert!(ended.stderr.contains("v2 has no build"), "{}", ended.stderr);
    assert_eq!(place.study("s")["state"], "stopped");
}

#[test]
fn quirks_mend_skip_and_rebuild_what_they_say() {
    let place = place();
    commits(&place, &[10, -1, -1, 20, 20]);
    place.write("mend.patch", "");
    target(
        &place,
        "[[quirk]]\nwhy = \"the tree was broken\"\nfrom = \"v2\"\nuntil = \"v4\"\nrun = { run = \"rm broken\" }\n\
         [[quirk]]\nwhy = \"of no interest\"\nfrom = \"v5\"\nskip = true\n",
    );
    place
        .ends(&step("v1", "v5", &["--name", "s"]))
        .assert_code(0);
    // v2 and v3 print what is less than nothing; the metric's expression takes the number.
    assert_eq!(place.study("s")["measured"], 8);
    let page = place.prints_of(&["show", "s"]);
    assert!(
        page.contains("of no interest") || !page.contains("v5"),
        "{page}"
    );
}

#[test]
fn a_patch_applies_exactly_or_is_refused() {
    let place = place();
    commits(&place, &[10, 20]);
    let patch =
        |line: &str| format!("--- a/speed\n+++ b/speed\n@@ -1 +1,2 @@\n-{line}\n+echo 77\n+true\n");
    place.write("good.patch", patch("echo 10.1"));
    target(
        &place,
        "[[quirk]]\nwhy = \"as it should have been\"\nuntil = \"v2\"\npatch = [\"good.patch\"]\n",
    );
    place
        .ends(&step("v1", "v2", &["--name", "s", "--repeat", "1"]))
        .assert_code(0);
    assert!(place.raw("s", 1).contains("77"), "{}", place.raw("s", 1));
    // A file that a patch makes is in nobody's way in the next version, or after the patch has gone.
    place.write(
        "new.patch",
        "--- /dev/null\n+++ b/lib/new\n@@ -0,0 +1 @@\n+echo 5\n",
    );
    let incremental = |more: &str| {
        let build = "[ -e lib/new ] && cp lib/new tool || cp speed tool";
        let text = format!(
            "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
             build = {{ run = \"{build}\", keep = [\"tool\"], incremental = true }}\n{more}"
        );
        place.write("app.toml", text);
    };
    incremental("patches = [\"new.patch\"]\n");
    place
        .ends(&step("v1", "v2", &["--name", "new", "--repeat", "1"]))
        .assert_code(0);
    assert_eq!(place.study("new")["measured"], 2);
    incremental("");
    place
        .ends(&step("v1", "v2", &["--name", "gone", "--repeat", "1"]))
        .assert_code(0);
    let raw = format!("{}{}", place.raw("gone", 1), place.raw("gone", 2));
    assert!(raw.contains("10.1") && raw.contains("20.2"), "{raw}");
    target(&place, "");
    place.write("bad.patch", patch("echo 11"));
    target(&place, "patches = [\"bad.patch\"]\n");
    let ended = place.ends(&step("v1", "v1", &[]));
    assert!(
        ended.stderr.contains("bad.patch doesn't apply"),
        "{}",
        ended.stderr
    );
    // The line before it isn't what the patch was made for: only with leave.
    place.write("repo/long", "one\ntwo\nthree\nfour\nfive\n");
    commit(&place, 3, 30);
    let loose =
        "--- a/long\n+++ b/long\n@@ -1,5 +1,5 @@\n ONE\n two\n-three\n+drei\n four\n five\n";
    place.write("loose.patch", loose);
    target(&place, "patches = [\"loose.patch\"]\n");
    let ended = place.ends(&step("v3", "v3", &["--name", "strict"]));
    assert!(
        ended.stderr.contains("applies only with fuzz"),
        "{}",
        ended.stderr
    );
    target(&place, "patches = [\"loose.patch\"]\nfuzz = true\n");
    place
        .ends(&step("v3", "v3", &["--name", "loose"]))
        .assert_code(0);
    assert_eq!(place.study("loose")["measured"], 2);
    target(&place, "patches = [\"missing.patch\"]\n");
    let ended = place.ends(&step("v1", "v1", &[]));
    ended.assert_code(2);
    assert!(ended.stderr.contains("missing.patch"), "{}", ended.stderr);
}

#[test]
fn a_build_that_hangs_is_ended_with_all_that_it_started() {
    let place = place();
    commits(&place, &[10]);
    place.write(
        "app.toml",
        "name = \"app\"\nsource = { git = { url = \"repo\" } }\n\
         build = { run = \"setsid sleep 300 & sleep 300\", timeout = \"500ms\" }\n",
    );
    let ended = place.ends(&step("v1", "v1", &["--name", "s"]));
    ended.assert_code(1);
    ended.assert_says(&["no version could be measured"]);
    assert!(
        ended.stderr.contains("took longer than 500ms"),
        "{}",
        ended.stderr
    );
    place.assert_nothing_left();
}

#[test]
fn it_ends_early_when_two_passes_have_seen_the_same_change_points() {
    let place = place();
    commits(&place, &[[10; 6], [20; 6]].concat());
    let ten = ["--repeat", "10", "--until", "stable"];
    let early = step("v1", "v12", &[&ten[..], &["--name", "early"]].concat());
    let ended = place.ends(&early);
    ended.assert_code(0);
    assert!(
        ended.stderr.contains("ended early"),
        "it says why: {}",
        ended.stderr
    );
    let row = place.study("early");
    assert_eq!(
        (row["measured"].as_u64(), row["state"].as_str()),
        (Some(2 * 12), Some("finished")),
        "{row}"
    );
    let again = place.ends(&step("v1", "v12", &ten));
    assert!(
        again.stderr.contains("nothing is missing"),
        "{}",
        again.stderr
    );
    // The first pass sees no change, the second and the third do: only these two agree.
    place.script(
        "late",
        "#!/bin/sh\nhere=$(dirname \"$0\")\necho call >> \"$here/log\"\nvalue=$(sh \"$1/tool\")\n\
         [ \"$(grep -cx call \"$here/log\")\" -gt 12 ] && echo \"$value\" || echo \"10.${value#*.}\"\n",
    );
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = \"@/late {{build}}\"\n{VALUE}"),
    );
    let late = step("v1", "v12", &[&ten[..], &["--name", "late"]].concat());
    place.ends(&late).assert_code(0);
    assert_eq!(place.study("late")["measured"], 3 * 12);
    // Without leave to end early the rest is measured.
    let all = step("v1", "v12", &["--repeat", "4", "--name", "all"]);
    place.ends(&all).assert_code(0);
    assert_eq!(place.study("all")["measured"], 12);
}

#[test]
fn what_is_killed_in_the_middle_goes_on_and_measures_nothing_twice() {
    let place = place();
    commits(&place, &[10, 20, 30]);
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = [\"@/step run\", \"sh {{build}}/tool\"]\n{VALUE}"),
    );
    place.hold("run", 4);
    let run = place.begins(&step("v1", "v3", &["--name", "s"]));
    place.until_held("run");
    run.after_sigkill();
    place.release("run");
    place.assert_nothing_left();
    assert_eq!(place.study("s")["measured"], 3);
    place.ends(&["resume", "s"]).assert_code(0);
    let row = place.study("s");
    assert_eq!(
        (row["measured"].as_u64(), row["state"].as_str()),
        (Some(6), Some("finished"))
    );
    assert_eq!(place.calls("run"), 7, "one was killed, six were measured");
    assert_eq!(place.calls("build"), 3);
}

#[test]
fn a_build_that_is_killed_is_made_again_from_the_beginning() {
    let place = place();
    commits(&place, &[10, 20]);
    place.hold("build", 1);
    let run = place.begins(&step("v1", "v2", &["--name", "s"]));
    place.until_held("build");
    run.after_sigkill();
    place.release("build");
    place.assert_nothing_left();
    place.ends(&["resume", "s"]).assert_code(0);
    assert_eq!(place.study("s")["measured"], 4);
    assert_eq!(place.calls("build"), 3);
}

/// Makes two testbeds of one namespace each: `one` and `two`.
pub fn two_testbeds(place: &Place) {
    place.lab_of_testbeds("netns", ["one", "two"]);
    place.ends(&["lab", "up"]).assert_code(0);
}

/// Begins to measure both versions on a testbed.
fn begin_on(place: &Place, testbed: &str) -> Running {
    place.begins(&step(
        "v1",
        "v2",
        &["--name", testbed, "--testbed", testbed],
    ))
}

/// A place with two testbeds; on the first one a study builds, and is held there.
fn held_on_one() -> Option<(Place, Running)> {
    if Need::Root.is_missing() {
        return None;
    }
    let place = place();
    commits(&place, &[10, 20]);
    two_testbeds(&place);
    place.hold("build", 1);
    let first = begin_on(&place, "one");
    place.until_held("build");
    Some((place, first))
}

/// Whether a study waits for the tree in which the other one builds.
fn waits_to_build(event: &Value) -> bool {
    event["event"] == "build-awaited"
        && event["tree"].as_str().unwrap().ends_with("/tree")
        && event["seconds"] == 43200.0
}

#[test]
fn studies_of_two_testbeds_build_one_after_the_other_and_each_version_once() {
    let Some((place, first)) = held_on_one() else {
        return;
    };
    let mut second = begin_on(&place, "two");
    second.until("its wait for the other build", waits_to_build);
    place.release("build");
    first.ends().assert_code(0);
    second.ends().assert_code(0);
    for study in ["one", "two"] {
        assert_eq!(place.study(study)["measured"], 4, "{study}");
    }
    assert_eq!(place.calls("build"), 2);
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_study_that_waits_for_a_build_of_another_one_can_be_stopped() {
    let Some((place, first)) = held_on_one() else {
        return;
    };
    let mut second = begin_on(&place, "two");
    second.until("its wait for the other build", waits_to_build);
    second.signal(Signal::SIGINT);
    second.ends_within(Duration::from_secs(20)).assert_code(130);
    place.release("build");
    first.ends().assert_code(0);
    place.ends(&["resume", "two"]).assert_code(0);
    assert_eq!(place.calls("build"), 2);
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn an_installed_build_proves_that_it_is_the_one() {
    let place = place();
    commits(&place, &[10, 20]);
    let installs = |proof: &str| {
        let text = format!(
            "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
             build = {{ run = \"cp speed tool; echo {{stamp}} > stamp\", keep = [\"tool\", \"stamp\"] }}\n\
             activate = {{ boot = \"install\", run = \"cp {{build}}/tool {{build}}/stamp @\", proof = \"{proof}\" }}\n"
        );
        place.write(
            "app.toml",
            text.replace('@', place.path("").to_str().unwrap()),
        );
    };
    place.benchmark("tool", &format!("[tester]\nrun = \"sh @/tool\"\n{VALUE}"));
    installs(&format!("cat {}", place.at("stamp")));
    let both = ["--modes", "again,reboot", "--repeat", "2"];
    place
        .ends(&step("v1", "v2", &[&both[..], &["--name", "s"]].concat()))
        .assert_code(0);
    assert_eq!(place.study("s")["measured"], 8);
    let raw = |trial| place.raw("s", trial);
    assert!(
        raw(1).contains("10.1") && raw(3).contains("20.2"),
        "{}{}",
        raw(1),
        raw(3)
    );
    installs("echo something else");
    let ended = place.ends(&step("v1", "v2", &["--name", "t"]));
    assert!(
        ended.stderr.contains("isn't that build"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    let place = place();
    commits(&place, &[10, 20]);
    for (arguments, code, words) in [
        (step("v2", "v1", &[]), 2, "reversed"),
        (step("v1", "v9", &[]), 2, "`v9` is no version"),
        (
            step("v1", "v2", &["--modes", "relink"]),
            2,
            "no command that relinks",
        ),
        (
            step("v1", "v2", &["--modes", "reboot"]),
            2,
            "nothing to reboot",
        ),
        (
            step("v1", "v2", &["--every", "fortnight"]),
            2,
            "no step through a history",
        ),
        (
            step("v1", "v2", &["--repeat", "none"]),
            2,
            "no number of repeats",
        ),
        (
            vec!["step", "plan.toml", "--target", "ap", "--last", "1w"],
            2,
            "did you mean `app`",
        ),
        (
            vec!["step", "plan.toml", "--target", "app"],
            2,
            "--from VERSION --to VERSION, both included; or the newest part: --last 2w",
        ),
    ] {
        let ended = place.ends(&arguments);
        ended.assert_code(code);
        assert!(
            ended.stderr.contains(words),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    place.ends(&["studies"]).assert_code(2);
}

#[test]
fn what_lies_between_two_versions_is_told() {
    let place = place();
    commits(&place, &[10, 20, 30]);
    let log = place.prints_of(&["log", "--target", "app", "v1", "v3"]);
    for words in [
        "version 2",
        "version 3",
        "speed",
        "+1 -1",
        "2 commits by 1 author",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(!log.contains("version 1\n"), "{log}");
    let json = place.prints_of(&["log", "--target", "app", "v1", "v3", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    let patch = place.prints_of(&["log", "--target", "app", "v2", "v3", "--patch"]);
    assert!(patch.contains("+echo 30.3"), "{patch}");
}

/// A place with the CVS repository of 40 commits over 20 days.
fn cvs_place() -> Place {
    let place = Place::new();
    let maker = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/make-cvs-repository"
    );
    let made = Command::new("sh")
        .args([maker, &place.at("")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = \"sh {{build}}/work.sh\"\n{VALUE}"),
    );
    place.plan("use = [\"tool\"]\nrounds = 1\nseed = 1\n");
    place
}

fn cvs_target(place: &Place, more: &str) {
    let text = format!(
        "name = \"app\"\nsource = {{ cvs = {{ root = \"cvsroot\", module = \"app\"{} }} }}\n\
         build = {{ run = \"sh build.sh\", keep = [\"work.sh\"] }}\n{}",
        if more.starts_with("branch") {
            ", branch = \"STABLE\""
        } else {
            ""
        },
        if more.starts_with("branch") { "" } else { more }
    );
    place.write("app.toml", text);
}

#[test]
fn a_history_in_cvs_is_stepped_through_by_date_and_a_quirk_mends_its_broken_half_day() {
    let place = cvs_place();
    cvs_target(&place, "");
    let days = ["--every", "day", "--name", "days"];
    place
        .ends(&step("2010-01-02", "2010-01-20", &days))
        .assert_code(0);
    let measured = place.study("days")["measured"].as_u64().unwrap();
    assert!((15..=21).contains(&measured), "{measured}");

    // Every commit around the half day that doesn't build.
    let around = ["--every", "all"];
    let broken = step(
        "2010-01-07",
        "2010-01-09",
        &[&around[..], &["--name", "broken"]].concat(),
    );
    let ended = place.ends(&broken);
    ended.assert_code(0);
    assert!(
        ended.stderr.contains("no build of 2010-01-08"),
        "{}",
        ended.stderr
    );

    cvs_target(
        &place,
        "[[quirk]]\nwhy = \"build.sh was broken for half a day\"\nfrom = \"2010-01-08T00:00Z\"\n\
         until = \"2010-01-08T12:00Z\"\nrun = { run = \"touch mended\" }\n",
    );
    let mended = step(
        "2010-01-07",
        "2010-01-09",
        &[&around[..], &["--name", "mended"]].concat(),
    );
    let ended = place.ends(&mended);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("no build"), "{}", ended.stderr);
    // Only what was broken is built and measured now: the others' recipe is what it was.
    assert_eq!(place.study("mended")["measured"], 2, "commits 15 and 16");
    let history = place.prints_of(&["history", "--target", "app", "--json"]);
    assert!(
        history.contains("build.sh was broken for half a day"),
        "{history}"
    );
    let log = place.prints_of(&["log", "--target", "app", "2010-01-07", "2010-01-09"]);
    assert!(log.contains("change 15") && log.contains("bert"), "{log}");
    place.assert_nothing_left();
}

#[test]
fn a_branch_of_a_history_in_cvs_is_another_history() {
    let place = cvs_place();
    cvs_target(&place, "branch");
    place
        .ends(&step("2010-01-12", "2010-01-20", &["--name", "s"]))
        .assert_code(0);
    let row = place.study("s");
    // The trunk until the branch leaves it, and the branch's six.
    let measured = row["measured"].as_u64().unwrap();
    assert!((6..=26).contains(&measured), "{row}");
}

#[test]
fn a_new_benchmark_of_a_build_names_the_command_that_measures_builds() {
    let place = Place::new();
    let new = ["new", "benchmark"];
    let printed = place.prints_of(&[&new[..], &["work", "--run", "{build}/work"]].concat());
    assert!(
        printed.contains("measure it: backsight step PLAN"),
        "{printed}"
    );
    let printed = place.prints_of(&[&new[..], &["count", "--run", "seq 9"]].concat());
    assert!(
        printed.contains("measure it: backsight run --use count"),
        "{printed}"
    );
}
