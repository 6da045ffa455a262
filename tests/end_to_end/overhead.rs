//! `overhead`: what watching costs, found on real processes; killed and gone on with; known afterwards.

use serde_json::Value;

use crate::place::{Place, VALUE};

/// A benchmark that takes a lock three times, one monitor that holds it most of the time and one that sleeps. What a lock costs
/// is the same on a machine whose processors other tests take.
fn locking() -> Place {
    let place = Place::new();
    place.benchmark(
        "locks",
        "[tester]\nrun = \"for i in 1 2 3; do flock @/lock sleep 0.03; done\"\n\
         [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\n",
    );
    place.monitor("holder", "while :; do flock @/lock sleep 0.2; done");
    place.monitor("sleeper", "sleep 1000");
    place.plan("use = [\"locks\"]\n");
    place
}

fn cost_of<'a>(verdict: &'a Value, monitor: &str) -> &'a Value {
    let costs = verdict["costs"].as_array().unwrap();
    costs
        .iter()
        .find(|cost| cost["monitor"] == monitor)
        .unwrap()
}

#[test]
fn a_monitor_that_is_in_the_way_is_found_and_marked_in_later_tables() {
    let place = locking();
    let monitors = [
        "--monitors",
        "holder,sleeper",
        "--rounds",
        "10",
        "--name",
        "o",
    ];
    let arguments = [&["overhead", "plan.toml"], &monitors[..]].concat();
    let run = place.begins(&arguments);
    let ended = run.ends();
    ended.assert_code(0);
    let verdict = ended.events().into_iter().next_back().unwrap();
    assert_eq!(verdict["event"], "verdict", "{verdict}");
    assert_eq!(verdict["rounds"], 10, "{verdict}");
    let holder = cost_of(&verdict, "holder");
    assert_eq!(holder["is"], "worse", "{verdict}");
    assert_eq!(holder["excludes_zero"], true, "{verdict}");
    assert!(holder["interval"][0].as_f64().unwrap() > 0.0, "{verdict}");
    // Each of the three waits for most of 0.2 s; what sleeps costs nothing, or next to nothing.
    let cost = holder["difference"].as_f64().unwrap();
    assert!(cost > 100.0, "{verdict}");
    let sleeper = cost_of(&verdict, "sleeper");
    let at_least = sleeper["interval"][0].as_f64().unwrap();
    assert!(at_least < cost / 2.0, "{verdict}");
    place.assert_nothing_left();

    let shown = place.prints_of(&["show", "o"]);
    assert!(
        shown.contains("holder makes locks ") && shown.contains(" worse, by +"),
        "{shown}"
    );
    place.prints_of(&["report", "o"]);
    let page = place.read("o.html");
    for words in [
        "What watching costs",
        " worse, by +",
        "all together",
        "locks with holder",
    ] {
        assert!(page.contains(words), "{words}");
    }

    place.plan("use = [\"locks\"]\nrounds = 2\nmonitors = [\"holder\"]\n");
    let table = place.prints_of(&["run", "plan.toml", "--name", "watched"]);
    assert!(
        table.contains("`watched` was watched by `holder`, which makes locks"),
        "{table}"
    );
    place.plan("use = [\"locks\"]\nrounds = 2\n");
    let table = place.prints_of(&["run", "plan.toml", "--name", "plain"]);
    assert!(!table.contains("was watched"), "{table}");
    let compared = place.prints_of(&[
        "compare",
        "plain",
        "watched",
        "--despite",
        "definition",
        "--fail-on",
        "any-change",
        "--threshold",
        "10000",
        "--format",
        "markdown",
    ]);
    assert!(compared.contains("was watched by"), "{compared}");
    place.prints_of(&["report", "watched"]);
    let page = place.read("watched.html");
    assert!(page.contains("was watched by"), "the page says it too");
    assert!(
        page.contains("monitor holder"),
        "what it printed is under its name"
    );
    place.assert_nothing_left();
}

#[test]
fn a_killed_study_of_costs_leaves_no_monitor_and_goes_on() {
    let place = Place::new();
    place.logged("logged");
    place.monitor("one", "sleep 1000");
    place.monitor("two", "while :; do sleep 0.05; done");
    place.plan("use = [\"logged\"]\n");
    // The first block is unwatched, one, two, both: all of them watch the fourth trial.
    place.hold("run", 4);
    let run = place.begins(&[
        "overhead",
        "plan.toml",
        "--monitors",
        "one,two",
        "--rounds",
        "2",
        "--name",
        "o",
    ]);
    place.until_held("run");
    run.after_sigkill();
    place.release("run");
    place.assert_nothing_left();
    let row = place.study("o");
    assert_eq!(
        (&row["state"], &row["measured"]),
        (&"killed".into(), &3.into()),
        "{row}"
    );

    let ended = place.ends(&["resume", "o"]);
    ended.assert_code(0);
    place.assert_complete("o", 4, 2);
    // What it prints is always the same, and so costs nothing at all.
    let words = ended.stdout();
    assert!(
        words.contains("one: ") && words.contains("two: "),
        "{words}"
    );
    assert_eq!(place.calls("run"), 4 + 5, "nothing is measured twice");
    place.assert_nothing_left();
    place.prints_of(&["delete", "o"]);
}

#[test]
fn rounds_are_added_to_a_study_of_costs_by_the_command_that_it_prints() {
    let place = Place::new();
    // A metric that varies far too much to be decided, and one that nobody asked for. The numbers are the same each time, as
    // the order of the sides is: by chance a few that are drawn look decided.
    place.benchmark(
        "noisy",
        "[tester]\nrun = \"echo . >> @/trials; n=$(wc -l < @/trials); echo time $((n * 97 % 251)) size $((n * 53 % 251))\"\n\
         [metric.time]\nunit = \"s\"\nbetter = \"lower\"\nregex = 'time +(?<value>\\d+)'\n\
         [metric.size]\nunit = \"B\"\nbetter = \"lower\"\nregex = 'size +(?<value>\\d+)'\n",
    );
    place.monitor("sleeper", "sleep 1000");
    place.plan("use = [\"noisy\"]\n");
    let asks = [
        "overhead",
        "plan.toml",
        "--monitors",
        "sleeper",
        "--rounds",
        "4",
    ];
    let text = place.prints_of(&[&asks[..], &["--name", "o"]].concat());
    assert!(text.contains("would tell: backsight run --more"), "{text}");
    assert!(
        text.contains("… and 1 cost on a secondary metric"),
        "{text}"
    );
    assert!(!text.contains("size"), "{text}");
    let json = |study: &str| -> Value {
        serde_json::from_str(&place.prints_of(&["show", study, "--format", "json"])).unwrap()
    };
    let before = json("o");
    let rounds = before["more_rounds"]["rounds"].as_u64().unwrap();
    let command = before["more_rounds"]["commands"][0].as_str().unwrap();
    assert_eq!(command, format!("backsight run --more {rounds} o"));
    for (format, way_out) in [("markdown", "backsight run \\-\\-more"), ("html", command)] {
        let written = place.prints_of(&["show", "o", "--format", format]);
        let found = written.contains(way_out) || written.contains(command);
        assert!(found && written.contains("size"), "{format}: {written}");
        assert!(written.contains("<details"), "{format}: {written}");
    }
    // Fewer than it says, so that the test isn't as long.
    place.ends(&["run", "--more", "3", "o"]).assert_code(0);
    place.ends(&["resume", "o", "--rounds", "1"]).assert_code(0);
    place.assert_complete("o", 2, 8);
    let after = json("o");
    assert_eq!(after["rounds"], 8, "{after:#}");
    // Looked at three times, each look has a third of the chance to err.
    let chance = |verdict: &Value| 100.0 - verdict["confidence_percent"].as_f64().unwrap();
    assert!(
        (chance(&before) - 3.0 * chance(&after)).abs() < 1e-9,
        "{after:#}"
    );
    place.assert_nothing_left();
}

#[test]
fn all_monitors_that_run_here_are_taken_and_the_others_named() {
    let place = Place::new();
    place.benchmark("number", &format!("[tester]\nrun = \"echo 42\"\n{VALUE}"));
    place.monitor("broken", "echo no such counter >&2; exit 1");
    place.plan("use = [\"number\"]\n");
    let run = place.begins(&["overhead", "plan.toml", "--rounds", "1"]);
    let ended = run.ends();
    ended.assert_code(0);
    assert!(
        ended
            .stderr
            .contains("left out: monitor `broken` can't run"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("no such counter"), "{}", ended.stderr);
    let verdict = ended.events().into_iter().next_back().unwrap();
    let taken = verdict["monitors"].as_array().unwrap();
    assert!(taken.contains(&"cpu".into()), "{verdict}");
    assert!(!taken.contains(&"broken".into()), "{verdict}");
    place.assert_nothing_left();

    for (monitors, words) in [
        ("broken", "monitor `broken` can't run"),
        ("vmstta", "did you mean `vmstat`?"),
    ] {
        let ended = place.ends(&["overhead", "plan.toml", "--monitors", monitors]);
        ended.assert_code(2);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    place.assert_nothing_left();
}
