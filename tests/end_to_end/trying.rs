//! Patches side by side with what they change: worse, equal, undecided, refused; stopped and gone on with.

use nix::sys::signal::Signal;
use serde_json::Value;
use std::{fs, process::Command};

use crate::{
    place::Place,
    running::Ended,
    stepping::{self, git},
};

/// Does work in rounds, and prints how many there were, give or take half a percent: chance itself is the noise, not this
/// machine.
const WORK: &str = r#"#include <stdio.h>
#define ROUNDS 100000
static volatile unsigned long done;
int main(void)
{
    unsigned char noise[8];
    FILE *chance = fopen("/dev/urandom", "rb");
    double sum = 0;
    if (!chance || fread(noise, 1, sizeof noise, chance) != sizeof noise)
        return 1;
    for (unsigned long i = 0; i < ROUNDS; i++)
        done++;
    for (int i = 0; i < 8; i++)
        sum += noise[i] / 255.0 - 0.5;
    printf("%.3f\n", done * (1 + sum * 0.005));
    return 0;
}
"#;

/// A place with a C program of three commits in `repo`: `v1`, `v2` that makes it 5% slower, `v3` beside that.
pub fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.benchmark(
        "work",
        "[tester]\nrun = [\"@/step run\", \"{build}/work\"]\n[metric.rounds]\nunit = \"count\"\nbetter = \"lower\"\n\
         regex = '(?<value>\\d+(\\.\\d+)?)'\n",
    );
    place.plan("use = [\"work\"]\nseed = 1\n");
    let build = "gcc -O1 -o work work.c && sh @/step build";
    let text = format!(
        "name = \"app\"\nsource = {{ git = {{ url = \"repo\" }} }}\n\
         build = {{ run = \"{build}\", keep = [\"work\"], timeout = \"60s\" }}\n"
    );
    place.write(
        "app.toml",
        text.replace('@', place.path("").to_str().unwrap()),
    );
    let slower = WORK.replace("100000", "105000");
    for (number, text) in [WORK, &slower, &slower].iter().enumerate() {
        place.write("repo/work.c", text);
        place.write(&format!("repo/news-{}", number + 1), "");
        stepping::commit_all(&place, number + 1);
    }
    patch(&place, "slow.diff", "105000", "108150");
    patch(&place, "nothing.diff", "static volatile", "volatile static");
    place
}

/// Writes what `git diff` says after this replacement in the newest version.
fn patch(place: &Place, name: &str, from: &str, to: &str) {
    let text = place.read("repo/work.c");
    assert!(text.contains(from));
    place.write("repo/work.c", text.replace(from, to));
    let diff = Command::new("git")
        .arg("diff")
        .current_dir(place.path("repo"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    place.write(name, diff.stdout);
    place.write("repo/work.c", text);
}

fn attempt<'a>(more: &[&'a str]) -> Vec<&'a str> {
    // A false decision would be a flaw of the test: one in a thousand runs at most.
    let mut arguments = vec![
        "try",
        "plan.toml",
        "--target",
        "app",
        "--confidence",
        "99.9",
    ];
    arguments.extend(more);
    arguments
}

fn verdict(ended: &Ended) -> Value {
    let events = ended.events();
    let verdict = events.last().unwrap().clone();
    assert_eq!(verdict["event"], "verdict", "{verdict}");
    verdict
}

#[test]
fn a_slower_patch_is_worse_and_one_that_does_nothing_is_equal() {
    let place = place();
    let patches = ["--patch", "slow.diff", "--patch", "nothing.diff"];
    let ended = place.ends(&attempt(
        &[&patches[..], &["--equal", "1.5%", "--name", "t", "--json"]].concat(),
    ));
    ended.assert_code(1);
    let verdict = verdict(&ended);
    let sides = verdict["sides"].as_array().unwrap();
    assert_eq!(sides[0]["side"], "slow.diff");
    assert_eq!(
        (&sides[0]["came"], &sides[1]["came"]),
        (&"worse".into(), &"equal".into()),
        "{verdict}"
    );
    let interval = &sides[0]["compared"][0]["interval"];
    let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
    assert!(high >= 3.0 && low > 0.0 && low <= 6.0, "{interval}");
    assert_eq!(place.calls("build"), 3);
    place.assert_nothing_left();

    // What it is made of is kept, and told again.
    let page = place.prints_of(&["show", "t"]);
    assert!(page.contains("slow.diff is worse: work rounds +"), "{page}");
    let documents = place.prints_of(&["show", "t", "--documents"]);
    assert!(documents.contains("# patch: slow.diff"), "{documents}");
    place.prints_of(&["report", "t", "-o", "t.html"]);
    let html = place.read("t.html");
    assert!(
        html.contains("nothing.diff makes no difference that matters")
            && html.contains("<svg class=\"chart passes\""),
        "{html}"
    );

    for verb in ["detect", "compare", "export"] {
        let ended = place.ends(&[verb, "t", "--format", "csv"]);
        ended.assert_code(2);
        ended.assert_says(&["study `t` is a try", "backsight show t"]);
    }

    // The base is a point of the history, the sides are none; and it is built already.
    let history = place.prints_of(&["history", "--target", "app", "--csv"]);
    assert_eq!(history.lines().count(), 2, "{history}");
    place
        .ends(&stepping::step("v3", "v3", &["--repeat", "1"]))
        .assert_code(0);
    assert_eq!(place.calls("build"), 3);
}

#[test]
fn a_patch_that_does_nothing_is_not_called_a_difference() {
    let place = place();
    let ended = place.ends(&attempt(&["--patch", "nothing.diff", "--rounds", "8"]));
    ended.assert_code(3);
    ended.assert_says(&[
        "nothing.diff: not decided yet: work rounds differs by less than",
        "8 passes over all sides, 16 trials",
    ]);
}

/// A cell that is decided at once is said first, whatever the other one still needs.
#[test]
fn what_is_known_of_one_cell_is_said_before_what_is_not_of_another() {
    let place = place();
    place.benchmark(
        "same",
        "[tester]\nrun = \"od -An -N1 -tu1 /dev/urandom | awk '{{ print 1000 + $1 / 255 }}'\"\n[metric.value]\nunit = \"count\"\n\
         better = \"lower\"\nregex = '(?<value>\\d+(\\.\\d+)?)'\n",
    );
    place.plan("use = [\"same\", \"work\"]\nseed = 1\n");
    let ended = place.ends(&attempt(&["--revert", "v2", "--rounds", "20"]));
    ended.assert_code(3);
    ended.assert_says(&[
        "is better: work rounds −",
        "Not decided yet: same value differs by less than 0.",
    ]);
    assert!(
        !ended.stderr.contains("before anything"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_change_that_is_taken_back_makes_it_better() {
    let place = place();
    let ended = place.ends(&attempt(&["--revert", "v2", "--name", "t"]));
    ended.assert_code(0);
    ended.assert_says(&["is better: work rounds −"]);
    let documents = place.prints_of(&["show", "t", "--documents"]);
    assert!(documents.contains("# revert: "), "{documents}");
}

#[test]
fn versions_are_compared_without_a_patch_too() {
    let place = place();
    let ended = place.ends(&attempt(&["--base", "v1"]));
    ended.assert_code(1);
    ended.assert_says(&["v3 is worse: work rounds +"]);
}

#[test]
fn what_does_not_apply_is_refused_before_anything_is_measured() {
    let place = place();
    let other = place.read("slow.diff").replace("105000", "123456");
    place.write("other.diff", other);
    place.write("prose.diff", "make it faster\n");
    for (arguments, says) in [
        (
            &["--patch", "other.diff"][..],
            &["other.diff doesn't apply in work.c", "make it anew"][..],
        ),
        (&["--patch", "prose.diff"], &["prose.diff holds no change"]),
        (
            &["--patch", "missing.diff"],
            &["missing.diff can't be read"],
        ),
        (
            &["--revert", "v1"],
            &[
                "the revert of",
                "doesn't apply in work.c",
                "a hand-made one with --patch",
            ],
        ),
        (&["--revert", "v9"], &["`v9` is no version"]),
        (&[], &["nothing to try"]),
        (
            &["--patch", "slow.diff", "--patch", "slow.diff"],
            &["are the same change"],
        ),
        (
            &["--patch", "slow.diff", "--metric", "round"],
            &["no benchmark of the plan has a metric `round`", "rounds"],
        ),
        (
            &["--patch", "slow.diff", "--relink", "5"],
            &["no command that relinks"],
        ),
    ] {
        let ended = place.ends(&attempt(arguments));
        ended.assert_code(2);
        ended.assert_says(says);
    }
    assert_eq!(place.calls("run"), 0);
    place.assert_nothing_left();
}

#[test]
fn a_patch_that_does_not_compile_is_a_fact_and_the_others_are_decided() {
    let place = place();
    patch(&place, "broken.diff", "return 1;", "return one;");
    let patches = ["--patch", "broken.diff", "--patch", "slow.diff"];
    let ended = place.ends(&attempt(&patches));
    ended.assert_code(1);
    ended.assert_says(&[
        "broken.diff: nothing is to be had of it: it doesn't build",
        "slow.diff is worse",
    ]);
    let ended = place.ends(&attempt(&["--patch", "broken.diff"]));
    ended.assert_code(1);
}

#[test]
fn a_budget_that_is_too_small_says_what_would_do() {
    let place = place();
    let ended = place.ends(&attempt(&["--patch", "slow.diff", "--budget", "1ms"]));
    ended.assert_code(3);
    ended.assert_says(&["the budget of 1ms is spent", "--budget"]);
}

#[test]
fn interrupted_and_killed_it_goes_on_without_its_patch_and_measures_nothing_twice() {
    let place = place();
    let arguments = attempt(&["--patch", "slow.diff", "--rounds", "4", "--name", "t"]);
    place.hold("run", 3);
    let run = place.begins(&arguments);
    place.until_held("run");
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    let page = place.prints_of(&["show", "t"]);
    assert!(page.contains("it was stopped before its end"), "{page}");
    fs::remove_file(place.path("slow.diff")).unwrap();
    place.hold("run", 5);
    let run = place.begins(&["resume", "t"]);
    place.until_held("run");
    run.after_sigkill();
    place.release("run");
    let ended = place.ends(&["resume", "t", "--json"]);
    assert!([1, 3].contains(&ended.status.code().unwrap()), "{ended:?}");
    assert_eq!(verdict(&ended)["passes"], 4);
    let row = place.study("t");
    assert_eq!(
        (&row["state"], &row["measured"]),
        (&"finished".into(), &8.into()),
        "{row}"
    );
    assert_eq!(place.calls("build"), 2);
    // Gone on with once more, it says the same and measures nothing.
    let again = place.ends(&["resume", "t", "--json"]);
    assert_eq!(verdict(&again), verdict(&ended));
    assert_eq!(place.study("t")["measured"], 8);
    place.assert_nothing_left();
}

#[test]
fn sides_are_measured_in_turn_and_so_share_their_sessions() {
    let place = place();
    let patch = [
        "--patch",
        "slow.diff",
        "--rounds",
        "2",
        "--name",
        "t",
        "--json",
    ];
    let ended = place.ends(&attempt(&patch));
    ended.assert_code(3);
    // Sides that were measured one after the other would differ by their sessions too.
    assert_eq!(verdict(&ended)["beyond"]["is"], "nothing");
    let shown = place.prints_of(&["show", "t"]);
    let rows = shown
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("TRIAL "));
    let changed: Vec<bool> = rows
        .skip(1)
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| line.contains("slow.diff"))
        .collect();
    assert_eq!(changed, [false, true, true, false], "{shown}");
    for format in ["text", "markdown", "html"] {
        let written = place.prints_of(&["show", "t", "--format", format]);
        let words = written.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("share their sessions"),
            "{format}: {written}"
        );
    }
}

#[test]
fn each_pass_is_a_boot_of_each_side_or_a_layout_of_each() {
    let place = place();
    let text = "name = \"app\"\nsource = { git = { url = \"repo\" } }\n\
        build = { run = \"gcc -O1 -o work work.c && echo {stamp} > stamp\", keep = [\"work\", \"stamp\"] }\n\
        layout = { relink = \"echo {stamp} > stamp\" }\n\
        activate = { boot = \"install\", run = \"cp {build}/work {build}/stamp @\", proof = \"cat @/stamp\" }\n";
    place.write(
        "app.toml",
        text.replace('@', place.path("").to_str().unwrap()),
    );
    let patch = ["--patch", "slow.diff", "--rounds", "4"];
    for name in ["one", "two"] {
        let more = [&patch[..], &["--trials", "2", "--name", name]].concat();
        let ended = place.ends(&attempt(&more));
        assert!([1, 3].contains(&ended.status.code().unwrap()), "{ended:?}");
        ended.assert_says(&["4 passes over all sides, 16 trials"]);
        let boots = place.prints_of(&["show", name]).matches(" good").count();
        assert_eq!(boots, 8);
    }
    // Boots of two studies are boots of their own: both are in the history of the base.
    let history = place.prints_of(&["history", "--target", "app", "--json"]);
    let history = history.replace(' ', "");
    assert!(history.contains("\"boots\":8"), "{history}");
    let more = [&patch[..2], &["--relink", "3", "--name", "laid"]].concat();
    place.ends(&attempt(&more)).assert_code(3);
    let page = place.prints_of(&["show", "laid"]);
    let builds = page.lines().filter(|line| line.contains("random("));
    assert!(builds.count() >= 6, "{page}");
    place.assert_nothing_left();
}

#[test]
fn a_try_of_an_older_version_against_a_newer_one_leaves_the_history_in_its_order() {
    let place = place();
    let step = ["step", "plan.toml", "--target", "app"];
    let ended = place.ends(&[&step[..], &["--from", "v1", "--to", "v3"]].concat());
    ended.assert_code(0);
    let order = || {
        let printed = place.prints_of(&["history", "--target", "app", "--json"]);
        let history: Value = serde_json::from_str(&printed).unwrap();
        let versions = history["versions"].as_array().unwrap();
        let names = versions.iter().map(|it| it["name"].clone());
        names.collect::<Vec<Value>>()
    };
    let before = order();
    let sides = ["--base", "v3", "--at", "v1", "--rounds", "2"];
    place.ends(&[&["try", "plan.toml", "--target", "app"], &sides[..]].concat());
    assert!(place.prints_of(&["studies"]).contains("try-1"));
    assert_eq!(order(), before);
}
