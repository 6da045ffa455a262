//! The highest load that meets a goal: on devices that are scripts, whose limits are known, and on a shaped link.

use backsight_test_needs::Need;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::place::Place;

/// A device that carries `limit` behind a generator that sends `sends`.
const FLOOD: &str = r#"#!/bin/sh
"$(dirname "$0")/step" flood
exec awk -v rate="$1" -v limit="$2" -v sends="$3" 'BEGIN {
    sent = rate < sends ? rate : sends
    got = sent < limit ? sent : limit
    wait = got < limit ? 1 / (1 - got / limit) : 1000
    printf "sent %f received %f loss %f lost %d wait %f\n", sent, got, 100 * (1 - got / sent), sent - got, wait
}'
"#;

fn place() -> Place {
    let place = Place::new();
    place.script("flood", FLOOD);
    let metric = |name: &str, unit: &str, better: &str| {
        format!(
            "[metric.{name}]\nunit = \"{unit}\"\nbetter = \"{better}\"\nregex = '{name} (?<value>[0-9.]+)'\n"
        )
    };
    place.benchmark(
        "flood",
        &format!(
            "[params]\n\
             rate = {{ default = 1000, min = 1, unit = \"packets/s\" }}\n\
             limit = {{ default = 4242, about = \"what the device carries\" }}\n\
             sends = {{ default = 1000000, about = \"what the generator can\" }}\n\
             mode = {{ default = \"fast\" }}\n\
             seconds = {{ default = 4, min = 1, unit = \"s\" }}\n\
             [tester]\nrun = \"@/flood {{rate}} {{limit}} {{sends}}\"\n\
             [search]\nload = \"rate\"\nduration = \"seconds\"\nloss = \"loss\"\nreceived = \"received\"\nsent = \"sent\"\n\
             min = 100\nmax = 100000\n{}{}{}{}{}",
            metric("sent", "packets/s", "higher"),
            metric("received", "packets/s", "higher"),
            metric("loss", "%", "lower"),
            metric("lost", "packets", "lower"),
            metric("wait", "ms", "lower"),
        ),
    );
    place.plan("use = [\"flood\"]\nseed = 1\n");
    place
}

/// The verdict of a search that prints events.
fn verdict(printed: &str) -> Value {
    let lines = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut verdicts = lines.filter(|event| event["event"] == "verdict");
    verdicts
        .next_back()
        .unwrap_or_else(|| panic!("no verdict in {printed}"))
}

/// Lower and upper bound of a goal.
fn bounds(verdict: &Value, subject: usize, goal: usize) -> (f64, f64) {
    let search = &verdict["subjects"][subject]["goals"][goal]["searches"][0];
    let bound = |which: &str| search[which].as_f64().unwrap_or_else(|| panic!("{search}"));
    (bound("lower"), bound("upper"))
}

fn assert_within((lower, upper): (f64, f64), truth: f64, width: f64) {
    assert!(
        lower <= truth && truth <= upper,
        "{lower} to {upper}, not {truth}"
    );
    assert!(
        (upper - lower) / upper <= width * 1.05,
        "{lower} to {upper}"
    );
}

#[test]
fn a_search_finds_the_limits_for_several_goals_and_every_verb_shows_them() {
    let place = place();
    let printed = place.prints_of(&["search", "plan.toml", "--goal", "0%,1%,wait<2ms", "--json"]);
    let verdict = verdict(&printed);
    assert_eq!(verdict["complete"], true);
    assert_within(bounds(&verdict, 0, 0), 4242.0, 0.005);
    assert_within(bounds(&verdict, 0, 1), 4242.0 / 0.99, 0.005);
    assert_within(bounds(&verdict, 0, 2), 2121.0, 0.005);
    let study = place.study("search-1");
    assert_eq!(
        (&study["verb"], &study["state"]),
        (&"search".into(), &"finished".into())
    );

    let shown = place.prints_of(&["show", "search-1"]);
    for part in [
        "loss 0 %",
        "loss 1 %",
        "wait below 2.000 ms",
        "kpackets/s",
        "not known",
        "--baseline",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    place.prints_of(&["report", "search-1", "--output", "page.html"]);
    let page = place.read("page.html");
    for part in [
        "<svg",
        "Met up to",
        "Every load that was offered",
        "loss 1 %",
        "wait below 2.000 ms: met",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("series measured") && !page.contains("Scenarios"));
    // With the count alone no loss is looked for, and with what arrived the same is found.
    for metric in ["lost", "received"] {
        let printed = place.prints_of(&["search", "plan.toml", "--metric", metric, "--json"]);
        assert_within(bounds(&self::verdict(&printed), 0, 0), 4242.0, 0.0051);
    }
    place.prints_of(&["delete", "search-1"]);
}

#[test]
fn a_killed_search_goes_on_and_ends_with_the_same_verdict() {
    let place = place();
    let whole = ["search", "plan.toml", "--goal", "0%,1%", "--repeat", "2"];
    let named = |name: &'static str| [&whole[..], &["--name", name]].concat();
    place.prints_of(&named("whole"));
    let calls = place.calls("flood");
    for call in [1, 5, 14] {
        let name: &'static str =
            ["one", "five", "fourteen"][[1, 5, 14].iter().position(|c| *c == call).unwrap()];
        let before = place.calls("flood");
        place.hold("flood", before as u32 + call);
        let run = place.begins(&named(name));
        place.until_held("flood");
        run.after_sigkill();
        place.release("flood");
        place.assert_nothing_left();
        assert_eq!(place.study(name)["state"], "killed");
        assert!(place.prints_of(&["show", name]).contains("not found yet"));
        place.prints_of(&["resume", name]);
        // The trial that was killed was begun twice, and none was kept twice.
        assert_eq!(place.calls("flood") - before, calls + 1);
        assert_eq!(answers(&place, name), answers(&place, "whole"));
    }
    place.prints_of(&["resume", "whole"]);
}

/// What `show` says of a search, without the study itself.
fn answers(place: &Place, name: &str) -> Vec<String> {
    let shown = place.prints_of(&["show", name]);
    let lines = shown.lines().filter(|line| line.contains("loss "));
    lines.map(str::to_owned).collect()
}

#[test]
fn an_interrupted_search_says_how_far_it_came_and_goes_on() {
    let place = place();
    place.hold("flood", 6);
    let run = place.begins(&["search", "plan.toml", "--name", "s"]);
    place.until_held("flood");
    run.signal(Signal::SIGINT);
    place.release("flood");
    let ended = run.ends();
    ended.assert_code(130);
    assert_eq!(verdict(&ended.stdout())["complete"], false);
    place.prints_of(&["resume", "s"]);
    assert_eq!(place.study("s")["state"], "finished");
}

#[test]
fn a_budget_ends_a_search_with_the_bounds_so_far() {
    let place = place();
    place.hold("flood", 3);
    // Held for longer than the budget: the fourth trial is not begun.
    let run = place.begins(&[
        "search",
        "plan.toml",
        "--name",
        "s",
        "--budget",
        "5s",
        "--trial",
        "1",
    ]);
    place.until_held("flood");
    let since = std::time::Instant::now();
    crate::processes::until("the budget is used up", || since.elapsed().as_secs() >= 5);
    place.release("flood");
    let ended = run.ends();
    ended.assert_code(1);
    ended.assert_says(&["the budget of 5.0s is used up", "backsight resume s"]);
    assert_eq!(verdict(&ended.stdout())["complete"], false);
    place.prints_of(&["resume", "s"]);
    let refused = place.ends(&["search", "plan.toml", "--budget", "500ms"]);
    refused.assert_code(2);
    refused.assert_says(&["too small for the first trial"]);
}

#[test]
fn the_generators_own_limit_is_measured_first_and_named() {
    let place = place();
    let variants = |device: u32, sends: u32| {
        format!(
            "use = [\"flood\"]\nseed = 1\n\
             [[variant]]\nname = \"device\"\nparams = {{ limit = {device}, sends = {sends} }}\n\
             [[variant]]\nname = \"direct\"\nparams = {{ limit = 9000, sends = {sends} }}\n"
        )
    };
    let search = [
        "search",
        "plan.toml",
        "--baseline",
        "direct",
        "--width",
        "2%",
        "--json",
    ];
    let limit = |verdict: &Value| verdict["subjects"][0]["goals"][0]["limit"]["generator"].clone();
    place.plan(&variants(3000, 50_000));
    let enough = verdict(&place.prints_of(&search));
    assert_within(bounds(&enough, 0, 0), 3000.0, 0.02);
    assert_eq!(limit(&enough), "enough", "{enough}");
    // What the generator drops in silence looks like the device's.
    place.plan(&variants(9000, 50_000));
    let alike = verdict(&place.prints_of(&search));
    assert_eq!(limit(&alike), "is-the-limit", "{alike}");
    // More goes through the device than without it.
    place.plan(&variants(20_000, 50_000));
    let disturbed = verdict(&place.prints_of(&search));
    assert_eq!(limit(&disturbed), "disturbed", "{disturbed}");
    place.plan(&variants(20_000, 5000));
    let short = verdict(&place.prints_of(&search));
    assert_eq!(limit(&short), "fell-short", "{short}");
    let sentence = short["sentences"][0].as_str().unwrap();
    assert!(
        sentence.contains("sent only 5.000 kpackets/s"),
        "{sentence}"
    );
}

#[test]
fn limits_beyond_the_range_are_verdicts() {
    let place = place();
    let said = |min: &str, max: &str| {
        place.prints_of(&["search", "plan.toml", "--min", min, "--max", max])
    };
    let below = said("10k", "20k");
    assert!(
        below.contains("below the minimum") && below.contains("10.000 kpackets/s"),
        "{below}"
    );
    let above = said("1k", "2 kpps");
    assert!(
        above.contains("at least the maximum") && above.contains("2.0000 kpackets/s"),
        "{above}"
    );
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_way_out() {
    let place = place();
    place.prints("plain", "echo 1");
    let refused = |arguments: &[&str], parts: &[&str]| {
        let ended = place.ends(&[&["search"], arguments].concat());
        ended.assert_code(2);
        ended.assert_says(parts);
    };
    let of_plan =
        |arguments: &[&str], parts: &[&str]| refused(&[&["plan.toml"], arguments].concat(), parts);
    refused(&[], &["what is to be measured?", "backsight search"]);
    of_plan(
        &["--load", "rat"],
        &["no parameter `rat`", "did you mean `rate`?"],
    );
    of_plan(&["--load", "mode"], &["`mode`", "expected a number"]);
    of_plan(&["--load", "seconds"], &["at once"]);
    of_plan(&["--load", "limit"], &["--min", "no bound of its own"]);
    of_plan(&["--metric", "los"], &["no metric `los`", "did you mean"]);
    of_plan(
        &["--metric", "wait"],
        &["doesn't say what is lost", "--goal 'wait<2ms'"],
    );
    of_plan(
        &["--metric", "lost", "--goal", "1%"],
        &["doesn't say of how many", "lost<10"],
    );
    of_plan(&["--goal", "101%"], &["expected 0% to 100%"]);
    of_plan(&["--goal", "100%"], &["every load meets that"]);
    of_plan(&["--goal", "0.5"], &["is no share", "0.5%"]);
    of_plan(&["--goal", "0%,0.0%"], &["twice"]);
    of_plan(
        &["--goal", "wiat<2ms"],
        &["no metric `wiat`", "did you mean `wait`?"],
    );
    of_plan(&["--goal", "wait<2B"], &["no amount of ms"]);
    of_plan(&["--goal", "received<2k"], &["more is better"]);
    of_plan(
        &["--min", "5k", "--max", "1k"],
        &["is not below the greatest"],
    );
    of_plan(&["--min", "0"], &["0 is less than 1"]);
    of_plan(&["--max", "10s"], &["no amount of packets/s"]);
    of_plan(&["--width", "0%"], &["a width of 0 % is none"]);
    of_plan(&["--width", "0.0001%"], &["too many loads"]);
    of_plan(&["--exceed", "100%"], &["no load would ever miss"]);
    of_plan(&["--first", "5", "--trial", "2"], &["longer than the last"]);
    of_plan(&["--trial", "1.5"], &["whole number"]);
    of_plan(&["--sum", "2"], &["less than one trial"]);
    of_plan(
        &["--baseline", "direct"],
        &["neither a variant of this plan nor a testbed"],
    );
    of_plan(
        &["--use", "plain"],
        &["doesn't say which of its parameters is a load"],
    );
    place.plan("use = [\"flood\", \"plain\"]\n[[variant]]\nname = \"direct\"\n");
    of_plan(
        &["--load", "none"],
        &["a search is of one benchmark", "--use"],
    );
    of_plan(
        &["--baseline", "direct"],
        &["nothing to search but the baseline"],
    );
    of_plan(&["--baseline", "dirct"], &["did you mean `direct`?"]);
    let studies = place.ends(&["studies"]);
    assert!(
        !studies.stdout().contains("search"),
        "nothing was begun: {}",
        studies.stdout()
    );
}

#[test]
fn a_shaped_link_is_found_with_a_real_generator_and_the_direct_one_is_not_the_limit() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    place.row_lab(
        "[[link]]\nname = \"direct\"\nends = { left = \"10.77.3.1/24\", right = \"10.77.3.2/24\" }\n\
         [testbed.joined]\nclient = { host = \"left\", data = \"direct\" }\nserver = { host = \"right\", data = \"direct\" }\n",
    );
    place.plan(
        "testbed = \"row\"\nuse = [\"iperf3-udp\"]\n[[variant]]\nname = \"shaped\"\n\
         dut.setup = \"tc qdisc replace dev to-right root tbf rate 20mbit burst 32kb latency 20ms\"\n\
         dut.teardown = \"tc qdisc del dev to-right root\"\n",
    );
    place.ends(&["lab", "up"]).assert_code(0);
    let printed = place.prints_of(&[
        "search",
        "plan.toml",
        "--goal",
        "1%",
        "--min",
        "1M",
        "--max",
        "60M",
        "--width",
        "2%",
        "--trial",
        "2",
        "--sum",
        "4",
        "--baseline",
        "joined",
        "--json",
    ]);
    let verdict = verdict(&printed);
    // Of the 1490 bytes that a packet has on the link 1448 are payload.
    let truth = 20e6 * 1448.0 / 1490.0 / 0.99;
    let (lower, upper) = bounds(&verdict, 0, 0);
    assert!(
        lower < truth * 1.05 && upper > truth * 0.95,
        "{lower} to {upper}, not {truth}"
    );
    assert_eq!(
        verdict["subjects"][0]["goals"][0]["limit"]["generator"], "enough",
        "{verdict}"
    );
    place.ends(&["lab", "down"]).assert_code(0);
}
