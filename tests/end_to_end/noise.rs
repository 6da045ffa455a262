//! How much a benchmark varies on the same boot, another boot, another layout; and how many repeats to buy.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{
    place::{Place, VALUE},
    running::Ended,
    stepping::{commits, place as stepping_place},
};

/// A place whose target is installed and can be relinked: a layout shifts what is measured by thousands, a boot by up to a
/// thousand, and each trial has up to 255 of its own.
fn place() -> Place {
    let place = stepping_place();
    commits(&place, &[1]);
    let text = "name = \"app\"\nsource = { git = { url = \"repo\" } }\n\
        build = { run = \"echo 0 > shift; echo {stamp} > stamp\", keep = [\"shift\", \"stamp\"] }\n\
        layout = { relink = \"echo {seed}000 > shift; echo {stamp} > stamp\" }\n\
        activate = { boot = \"install\", run = \"cp {build}/shift {build}/stamp @; od -An -N1 -tu1 /dev/urandom > @/boot\", \
        proof = \"cat @/stamp\" }\n";
    place.write(
        "app.toml",
        text.replace('@', place.path("").to_str().unwrap()),
    );
    place.script(
        "measure",
        "#!/bin/sh\nhere=$(dirname \"$0\")\necho $((100000 + $(cat $here/shift) + 4 * $(cat $here/boot) + $(od -An -N1 -tu1 /dev/urandom)))\n",
    );
    place.benchmark("tool", &format!("[tester]\nrun = \"@/measure\"\n{VALUE}"));
    place
}

fn verdict(ended: &Ended) -> Value {
    let verdict = ended.events().last().unwrap().clone();
    assert_eq!(verdict["event"], "verdict", "{verdict}");
    verdict
}

#[test]
fn bands_widen_from_the_same_boot_to_another_layout_and_the_advice_buys_layouts() {
    let place = place();
    let arguments = ["noise", "plan.toml", "--target", "app", "--rounds", "3"];
    let ended = place.ends(&[&arguments[..], &["--name", "n", "--json"]].concat());
    ended.assert_code(0);
    let verdict = verdict(&ended);
    let noise = &verdict["noises"][0];
    let levels = noise["levels"].as_array().unwrap();
    let names: Vec<&str> = levels.iter().filter_map(|l| l["level"].as_str()).collect();
    assert_eq!(names, ["same boot", "reboot", "relink"]);
    let repeats: Vec<u64> = levels
        .iter()
        .filter_map(|l| l["repeats"].as_u64())
        .collect();
    assert_eq!(repeats, [48, 12, 3]);
    let bands: Vec<f64> = levels
        .iter()
        .filter_map(|level| level["deviation_percent"].as_f64())
        .collect();
    assert!(bands.is_sorted() && bands[2] > 2.0 * bands[0], "{noise}");
    for cost in ["trial", "boot", "layout"] {
        assert!(verdict["cost"][cost].as_f64().unwrap() > 0.0, "{verdict}");
    }
    assert!(
        noise["advice"]["repeats"]["relink"].as_u64().unwrap() >= 2,
        "{noise}"
    );

    let page = place.prints_of(&["show", "n"]);
    assert!(
        page.contains("to see 2 % in tool value, here: ") && page.contains(" relinks × "),
        "{page}"
    );
    place.prints_of(&["report", "n", "-o", "n.html"]);
    let html = place.read("n.html");
    assert!(
        html.contains("class=\"bands\"") && html.contains("relink: 95 of 100"),
        "{html}"
    );
    // Nothing is left to do, and that is said again.
    let again = place.ends(&["resume", "n", "--json"]);
    again.assert_code(0);
    assert_eq!(place.study("n")["measured"], 48);
    place.assert_nothing_left();
}

#[test]
fn software_as_it_is_found_is_tried_again_and_interrupted_goes_on() {
    let place = Place::new();
    place.benchmark(
        "tool",
        &format!("[tester]\nrun = [\"@/step run\", \"od -An -N1 -tu1 /dev/urandom\"]\n{VALUE}"),
    );
    place.plan("use = [\"tool\"]\nseed = 1\n");
    place.hold("run", 3);
    let run = place.begins(&["noise", "plan.toml", "--rounds", "6", "--name", "n"]);
    place.until_held("run");
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    place.release("run");
    let ended = place.ends(&["resume", "n"]);
    ended.assert_code(0);
    ended.assert_says(&[
        "noise of the software as it is found",
        "same boot",
        "all of this is of one boot",
        "trials of each version",
        "each version so: backsight run plan.toml --rounds",
    ]);
    place.assert_complete("n", 1, 6);
    place.assert_nothing_left();
}

#[test]
fn the_advice_is_for_primary_metrics_and_is_a_command() {
    let place = Place::new();
    // The secondary one varies by half of itself, the primary one by a hundredth.
    place.benchmark(
        "two",
        "[tester]\nrun = \"echo wild $(od -An -N1 -tu1 /dev/urandom) time $((10000 + $(od -An -N1 -tu1 /dev/urandom)))\"\n\
         [metric.wild]\nunit = \"B\"\nbetter = \"lower\"\nregex = 'wild +(?<value>\\d+)'\n\
         [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nprimary = true\nregex = 'time +(?<value>\\d+)'\n",
    );
    place.plan("use = [\"two\"]\nseed = 1\n");
    let noise = ["noise", "plan.toml", "--rounds", "6", "--name", "n"];
    let text = place.prints_of(&noise);
    assert!(text.contains("to see 2 % in two time, here"), "{text}");
    assert!(
        text.contains("… and 1 secondary metric: backsight show n"),
        "{text}"
    );
    assert!(!text.contains("wild"), "{text}");
    let shown = place.prints_of(&["show", "n", "--format", "json"]);
    let verdict: Value = serde_json::from_str(&shown).unwrap();
    let command = verdict["command"].as_str().unwrap().to_owned();
    for format in ["text", "markdown", "html"] {
        let written = place.prints_of(&["show", "n", "--format", format]);
        assert!(written.contains(&command), "{format}: {written}");
    }
    let markdown = place.prints_of(&["show", "n", "--format", "markdown"]);
    let (first, folded) = markdown.split_once("<details>").unwrap();
    assert!(
        !first.contains("wild") && folded.contains("wild"),
        "{markdown}"
    );
    // The command does what it says.
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("backsight"));
    let arguments: Vec<&str> = words.chain(["--name", "again"]).collect();
    place.ends(&arguments).assert_code(0);
    let rounds: u32 = arguments[3].parse().unwrap();
    place.assert_complete("again", 1, rounds);
    place.assert_nothing_left();
}

#[test]
fn levels_that_are_not_there_are_refused() {
    let place = stepping_place();
    commits(&place, &[1]);
    let app = ["noise", "plan.toml", "--target", "app", "--levels"];
    for (arguments, says) in [
        ([&app[..], &["trial,boot"]].concat(), "nothing to reboot"),
        ([&app[..], &["layout"]].concat(), "no command that relinks"),
        (
            vec!["noise", "--use", "hackbench", "--levels", "trial,boot"],
            "software as it is found is neither booted",
        ),
    ] {
        let ended = place.ends(&arguments);
        ended.assert_code(2);
        ended.assert_says(&[says]);
    }
    place.assert_nothing_left();
}
