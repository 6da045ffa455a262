//! `profile`: files and studies, beside a base, in every format.

use serde_json::Value;
use std::fs;

use crate::{
    place::{Place, VALUE},
    serving::Serving,
    stepping::{self, git},
};

/// A profile with so many hundred samples in `work` and in `wait`, both called by `main`.
pub fn profile(work: u32, wait: u32) -> String {
    format!(
        r#"{{"backsight_profile":1,"event":"cpu-clock","unit":"samples","frequency_hz":99,"began_ns":0,"ended_ns":1000,"lost":0,
        "truncated":0,"scope":"processes","modules":[{{"path":"/usr/bin/x","build_id":""}}],
        "frames":[{{"function":"main","module":0}},{{"function":"work","module":0}},{{"function":"wait","module":0}}],
        "stacks":[[0,1],[0,2]],"threads":[{{"pid":1,"tid":1,"process":"x","thread":"x"}}],
        "samples":[[0,0,{work}00,0,0],[1,0,{wait}00,0,0]]}}"#
    )
}

/// Three profiles a side: `a1` to `a3`, and `b1` to `b3` with more of `work`.
fn with_files() -> Place {
    let place = Place::new();
    for number in 1..=3 {
        place.write(&format!("a{number}.json"), profile(5, 5));
        place.write(&format!("b{number}.json"), profile(8, 2));
    }
    place
}

const BOTH: &[&str] = &[
    "profile", "b1.json", "b2.json", "b3.json", "--diff", "a1.json", "a2.json", "a3.json",
];

#[test]
fn files_are_compared_in_every_format() {
    let place = with_files();
    let text = place.prints_of(BOTH);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(
        rows.iter()
            .any(|row| row.starts_with(&["work", "x", "grew", "80", "%", "+30.0"])),
        "{text}"
    );
    assert!(
        text.contains("3 trials of 1,000 samples each, beside 3 trials"),
        "{text}"
    );
    assert!(text.contains("`work` grew: +30.0"), "{text}");
    let markdown = place.prints_of(&[BOTH, &["--format", "markdown"]].concat());
    assert!(markdown.contains("| work | x | grew |"), "{markdown}");
    let top = place.prints_of(&[BOTH, &["--top", "1"]].concat());
    assert!(top.contains("… and 2 functions"), "{top}");

    let json: Value =
        serde_json::from_str(&place.prints_of(&[BOTH, &["--format", "json"]].concat())).unwrap();
    let schema: Value = serde_json::from_str(&place.prints_of(&["schema", "profile"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&json), "{json:#}");
    assert_eq!(json["judged"], true);
    let functions = json["functions"].as_array().unwrap();
    let work = functions
        .iter()
        .find(|one| one["function"] == "work")
        .unwrap();
    assert_eq!(work["self"]["difference"]["changed"], true);
    assert_eq!(work["total"]["base"]["weight"], 500.0);

    place
        .ends(&[BOTH, &["-o", "page.html"]].concat())
        .assert_code(0);
    let page = place.read("page.html");
    assert!(page.contains("<canvas id=\"graph\"") && page.contains("\"name\":\"work\""));
}

#[test]
fn one_trial_a_side_calls_no_change() {
    let place = with_files();
    let text = place.prints_of(&["profile", "b1.json", "--diff", "a1.json"]);
    assert!(text.contains("none is called a change"), "{text}");
    assert!(!text.contains("grew"), "{text}");
}

#[test]
fn trials_are_exported_together() {
    let place = with_files();
    let files = ["profile", "a1.json", "b1.json", "--export"];
    let folded = place.prints_of(&[&files[..], &["folded"]].concat());
    assert_eq!(folded, "x;main;wait 700\nx;main;work 1300\n");
    for format in ["firefox", "pprof", "speedscope", "perfetto"] {
        place
            .ends(&[&files[..], &[format, "-o", format]].concat())
            .assert_code(0);
        assert!(place.path(format).metadata().unwrap().len() > 100);
    }
    place
        .ends(&[
            "profile", "a1.json", "--diff", "b1.json", "--export", "folded",
        ])
        .assert_code(2);
}

#[test]
fn what_is_no_profile_is_refused_and_says_why() {
    let place = with_files();
    place.write("numbers.json", "[1, 2]");
    place.write(
        "damaged.json",
        profile(1, 1).replace("[[0,1],[0,2]]", "[[0,1],[0,9]]"),
    );
    place.write("waits.json", profile(1, 1).replace("cpu-clock", "off-cpu"));
    for (arguments, expected) in [
        (&["numbers.json"][..], "no profile of Backsight"),
        (
            &["damaged.json"],
            "the profile's stack 1 names frame 9, which it doesn't have",
        ),
        (
            &["a1.json", "--diff", "waits.json"],
            "off-cpu and cpu-clock can't be merged",
        ),
        (
            &["a1.json", "--off-cpu"],
            "a1.json is a profile of cpu-clock",
        ),
    ] {
        let ended = place.ends(&[&["profile"], arguments].concat());
        ended.assert_code(2);
        let said = ended
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace(" │", "");
        assert!(said.contains(expected), "{said}");
    }
}

/// A benchmark whose parameter `side` says which file the monitor `profile-made` prints while it runs.
fn with_monitor() -> Place {
    let place = with_files();
    place.benchmark(
        "made",
        &format!(
            "[params]\nside = {{ default = \"a1\" }}\n\
             [tester]\nstartup = \"rm -f @/printed; cp @/{{side}}.json @/now.json\"\n\
             run = \"until test -e @/printed; do sleep 0.02; done; echo 42\"\n{VALUE}"
        ),
    );
    place.monitor(
        "profile-made",
        "cat @/now.json; echo > @/printed; exec tail -f /dev/null",
    );
    place
}

#[test]
fn the_profiles_of_a_study_are_those_of_its_monitor() {
    let place = with_monitor();
    let plan = "use = [\"made\"]\nrounds = 3\nmonitors = [\"profile-made\"]\n";
    place.plan(&format!("{plan}[params]\nside = [\"a1\", \"b1\"]\n"));
    place
        .ends(&["run", "plan.toml", "--name", "two", "--quiet"])
        .assert_code(0);

    let refused = place.ends(&["profile", "two"]);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("--cell 'made side=a1'"),
        "{}",
        refused.stderr
    );
    let cell = place.prints_of(&["profile", "two", "--cell", "made side=b1"]);
    assert!(cell.contains("3 trials of 1,000 samples each."), "{cell}");
    assert!(
        cell.contains("two made side=b1: where the time goes"),
        "{cell}"
    );
    let trial = place.prints_of(&["profile", "two", "--trial", "1"]);
    assert!(trial.contains("1 trial of 1,000 samples each."), "{trial}");
    let parts = place.prints_of(&["profile", "two", "--by", "side"]);
    assert!(parts.contains("`work` grew: +30.0"), "{parts}");

    place.plan(&format!("{plan}[params]\nside = \"b1\"\n"));
    place
        .ends(&["run", "plan.toml", "--name", "new", "--quiet"])
        .assert_code(0);
    let files = ["profile", "new", "--diff", "a1.json", "a2.json"];
    let beside = place.prints_of(&files);
    assert!(
        beside.contains("3 trials of 1,000 samples each, beside 2 trials"),
        "{beside}"
    );
    let none = place.ends(&["profile", "new", "--off-cpu"]);
    none.assert_code(2);
    assert!(none.stderr.contains("profile-off-cpu"), "{}", none.stderr);
    place.assert_nothing_left();
}

#[test]
fn a_page_that_compares_studies_says_how_their_profiles_differ() {
    let place = with_monitor();
    place.plan("use = [\"made\"]\nrounds = 3\nmonitors = [\"profile-made\"]\n");
    for (name, work, wait) in [("base", 5, 5), ("new", 8, 2)] {
        place.write("a1.json", profile(work, wait));
        let run = ["run", "plan.toml", "--name", name, "--quiet"];
        place.ends(&run).assert_code(0);
    }
    let server = Serving::start(&place);
    let page = server.get("/compare/base..new").text();
    assert!(page.contains("`work` grew: +30.0"), "{page}");
    let command = "backsight profile new --diff base --cell made -o profile.html";
    assert!(page.contains(&format!("<code>{command}</code>")), "{page}");
    server.stop();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    place.ends(&words).assert_code(0);
}

#[test]
fn the_sides_of_a_try_are_compared() {
    let place = with_monitor();
    fs::create_dir(place.path("repo")).unwrap();
    git(&place, &["init", "--quiet", "--initial-branch=main"], 0);
    place.write("repo/profile", profile(5, 5));
    stepping::commit_all(&place, 1);
    place.write("repo/profile", profile(8, 2));
    let patch = git(&place, &["diff"], 1);
    place.write("more.diff", format!("{patch}\n"));
    place.write("repo/profile", profile(5, 5));
    place.write(
        "app.toml",
        "name = \"app\"\nsource = { git = { url = \"repo\" } }\nbuild = { run = \"true\", keep = [\"profile\"], timeout = \"60s\" }\n",
    );
    place.benchmark(
        "made",
        &format!(
            "[tester]\nstartup = \"rm -f @/printed; cp {{build}}/profile @/now.json\"\n\
             run = \"until test -e @/printed; do sleep 0.02; done; echo 42$(date +%N)\"\n{VALUE}"
        ),
    );
    place.plan("use = [\"made\"]\nmonitors = [\"profile-made\"]\n");
    let tried = [
        "try",
        "plan.toml",
        "--target",
        "app",
        "--patch",
        "more.diff",
    ];
    place
        .ends(&[&tried[..], &["--equal", "20%", "--name", "t", "--quiet"]].concat())
        .assert_code(0);
    let text = place.prints_of(&["profile", "t"]);
    assert!(text.contains("more.diff"), "{text}");
    assert!(text.contains("`work` grew: +30.0"), "{text}");
    let refused = place.ends(&["profile", "t", "--diff", "a1.json"]);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("two sides of its own"),
        "{}",
        refused.stderr
    );
}
