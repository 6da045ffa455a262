//! Rounds that are added: to a finished study, and until every variant has its verdict.

use serde_json::Value;

use crate::place::{Place, Trial};

/// Variants `plain`, `same` and `slow`, whose trials print 100 (`slow`: 130) and a little that differs, and beside that
/// something that nobody runs it for.
fn variants() -> Place {
    let place = Place::new();
    place.script(
        "timed",
        "#!/bin/sh\n# timed LEVEL NAME\nhere=$(dirname \"$0\")\n\"$here/step\" run >/dev/null\necho x >> \"$here/calls-$2\"\n\
         n=$(wc -l < \"$here/calls-$2\")\necho \"time=$(( $1 * 100 + (n * 37 * ${#2}) % 23 )) size=$(( n % 5 ))\"\n",
    );
    place.benchmark(
        "timed",
        "[params]\nlevel = { default = 100 }\nname = { default = \"plain\" }\n\
         [tester]\nrun = \"@/timed {level} {name}\"\n\
         [metric.size]\nunit = \"B\"\nbetter = \"lower\"\nregex = 'size=(?<value>\\d+)'\n\
         [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nprimary = true\nregex = 'time=(?<value>\\d+)'\n",
    );
    let variant = |name: &str, level: u32| {
        format!(
            "[[variant]]\nname = \"{name}\"\nparams = {{ name = \"{name}\", level = {level} }}\n"
        )
    };
    place.plan(&format!(
        "use = [\"timed\"]\nrounds = 2\nseed = 4\n{}{}{}",
        variant("plain", 100),
        variant("same", 100),
        variant("slow", 130)
    ));
    place
}

#[test]
fn rounds_are_added_to_a_finished_study() {
    let place = variants();
    place
        .ends(&["run", "plan.toml", "--name", "s", "--quiet"])
        .assert_code(0);
    place.assert_complete("s", 3, 2);
    let compared = place.prints_of(&["compare", "s", "--by", "variant", "--margin", "0.01"]);
    assert!(
        compared.contains("would tell: backsight run --more"),
        "{compared}"
    );
    // The same command in every format.
    let by = [
        "compare", "s", "--by", "variant", "--margin", "0.01", "--format",
    ];
    let markdown = place.prints_of(&[&by[..], &["markdown"]].concat());
    assert!(
        markdown.contains("would tell: `backsight run --more"),
        "{markdown}"
    );
    let json = place.prints_of(&[&by[..], &["json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    let (rounds, command) = (
        &json["more_rounds"]["rounds"],
        &json["more_rounds"]["commands"][0],
    );
    assert_eq!(
        command,
        &format!("backsight run --more {rounds} s"),
        "{json:#}"
    );
    assert!(compared.contains(command.as_str().unwrap()), "{compared}");
    let page = place.prints_of(&[&by[..], &["html"]].concat());
    assert!(page.contains(&format!("<code>{}</code>", command.as_str().unwrap())));
    place.ends(&["run", "--more", "2", "s"]).assert_code(0);
    place.assert_complete("s", 3, 4);
    place.ends(&["resume", "s", "--rounds", "1"]).assert_code(0);
    place.assert_complete("s", 3, 5);

    // Killed while it adds, it goes on with all that were asked for.
    place.hold("run", 17);
    let more = place.begins(&["run", "--more", "2", "s"]);
    place.until_held("run");
    more.after_sigkill();
    place.release("run");
    place.assert_nothing_left();
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 3, 7);

    let whose = place.ends(&["run", "--more", "2"]);
    whose.assert_code(2);
    assert!(
        whose
            .stderr
            .contains("rounds are to be added to which study?"),
        "{}",
        whose.stderr
    );
    place.ends(&["run", "--more", "2", "nobody"]).assert_code(2);
    place
        .ends(&["run", "--more", "2", "s", "--rounds", "3"])
        .assert_code(2);
}

fn compared<'a>(verdict: &'a Value, side: &str, metric: &str) -> &'a Value {
    let sides = verdict["sides"].as_array().unwrap();
    let side = sides.iter().find(|it| it["side"] == side).unwrap();
    let compared = side["compared"].as_array().unwrap();
    compared.iter().find(|it| it["metric"] == metric).unwrap()
}

#[test]
fn rounds_are_added_until_every_variant_has_its_verdict() {
    let place = variants();
    let until = [
        "run",
        "plan.toml",
        "--until",
        "decided",
        "--margin",
        "2",
        "--name",
    ];
    let mut asked: Vec<&str> = until.to_vec();
    asked.extend(["u", "--budget", "10m"]);
    let run = place.ends(&asked);
    run.assert_code(0);
    let text = run.stdout();
    for part in [
        "slow is worse: timed time",
        "same makes no difference that matters: timed time",
        "everything is decided",
        "… and 2 secondary metrics",
    ] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert!(place.prints_of(&["show", "u"]).contains("slow is worse"));
    place.prints_of(&["report", "u", "-o", "u.html"]);
    assert!(place.read("u.html").contains("slow is worse"));
    let measured = place.trials("u").len();
    assert!((12..=60).contains(&measured), "{measured}");

    // Its variants beside each other are judged by what it stopped by, and not by a test of a single look.
    let shown = place.prints_of(&["show", "u", "--format", "json"]);
    let verdict: Value = serde_json::from_str(&shown).unwrap();
    let by = ["compare", "u", "--by", "variant", "--format", "json"];
    let table: Value = serde_json::from_str(&place.prints_of(&by)).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let time = rows.iter().find(|row| row["metric"] == "time").unwrap();
    for (side, name, is) in [(1, "same", "no change"), (2, "slow", "worse")] {
        let difference = &time["sides"][side]["difference"];
        let told = compared(&verdict, name, "time");
        assert_eq!(difference["verdict"], is, "{difference:#}");
        assert_eq!(difference["percent"]["interval"], told["interval"]);
        assert_eq!(difference["confidence"], told["interval_confidence"]);
        assert!(difference["p"].is_null(), "{difference:#}");
    }
    let warnings = table["warnings"].to_string();
    assert!(warnings.contains("hold at every look"), "{warnings}");

    // The same killed in between comes to the same with as many trials.
    let other = variants();
    other.hold("run", 8);
    let mut asked: Vec<&str> = until.to_vec();
    asked.push("u");
    let begun = other.begins(&asked);
    other.until_held("run");
    begun.after_sigkill();
    other.release("run");
    other.assert_nothing_left();
    other.write("calls-plain", "");
    let resumed = other.ends(&["resume", "u", "--json"]);
    resumed.assert_code(0);
    let stdout = resumed.stdout();
    let verdict: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    assert_eq!(compared(&verdict, "slow", "time")["call"], "worse");
    assert_eq!(compared(&verdict, "same", "time")["call"], "equal");
    assert_eq!(compared(&verdict, "same", "size")["decides"], false);
    let mut asked: Vec<String> = (other.trials("u").iter())
        .filter(|trial| trial.measured())
        .map(|trial: &Trial| format!("{} {}", trial.cell, trial.round))
        .collect();
    let all = asked.len();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), all, "nothing is measured twice");
}

#[test]
fn what_is_not_decided_has_a_status_of_its_own_and_says_how_it_goes_on() {
    let place = variants();
    let run = place.ends(&[
        "run",
        "plan.toml",
        "--until",
        "decided",
        "--margin",
        "0.001",
        "--rounds",
        "6",
        "--name",
        "u",
    ]);
    run.assert_code(3);
    let text = run.stdout();
    assert!(text.contains("would tell: backsight run --more"), "{text}");
    let before = place.trials("u").len();
    place
        .ends(&["run", "--more", "2", "u", "--quiet"])
        .assert_code(3);
    assert_eq!(
        place.trials("u").len(),
        before + 6,
        "two rounds of all three variants"
    );

    let one = Place::new();
    one.prints("said", "echo 1");
    one.plan("use = [\"said\"]\n");
    let refused = one.ends(&["run", "plan.toml", "--until", "decided"]);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("there is nothing to decide"),
        "{}",
        refused.stderr
    );
}
