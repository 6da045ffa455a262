//! Monitors beside a benchmark: when they run, what is kept of them, and that they spoil nothing.

use backsight_profile::Profile;
use backsight_test_needs::Need;
use nix::sys::signal::{Signal, kill};
use serde_json::Value;
use std::{collections::HashSet, process::Command};

use crate::{
    place::{Place, VALUE, is_root},
    processes,
    running::Running,
    verdicts::assert_has_schema,
};

/// A monitor that logs when it begins and when it is stopped, and prints a number in between.
const WATCHER: &str = "trap 'echo unwatch >> @/log; echo 7; exit' TERM; echo 7; echo watch >> @/log; \
    while :; do sleep 0.05; done";

#[test]
fn monitors_watch_while_a_benchmark_runs_and_what_they_print_is_kept_and_no_sample() {
    let place = Place::new();
    place.benchmark(
        "logged",
        &format!(
            "[tester]\nstartup = \"@/step startup\"\n\
             run = [\"@/step run\", \"until grep -qx watch @/log; do sleep 0.02; done; echo 42\"]\n\
             collect = \"@/step collect\"\n{VALUE}"
        ),
    );
    place.monitor("watcher", WATCHER);
    place.plan("use = [\"logged\"]\nrounds = 1\nmonitors = [\"watcher\", { name = \"cpu\", interval = \"20ms\" }]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);

    let log = place.read("log");
    let at = |what: &str| log.lines().position(|line| line == what).unwrap();
    assert!(at("startup") < at("watch"), "{log}");
    assert!(at("run") < at("unwatch"), "{log}");
    assert!(at("unwatch") < at("collect"), "{log}");

    let raw = place.raw("s", 1);
    assert!(raw.contains("monitor watcher, run of tester"), "{raw}");
    let sample = raw.lines().find(|line| line.starts_with("[0,")).unwrap();
    let sample: Value = serde_json::from_str(sample).unwrap();
    assert!(sample[2].is_u64(), "{sample}");
    let page = place.prints_of(&["show", "s"]);
    assert!(page.contains(" 42"), "{page}");
    let documents = place.prints_of(&["show", "s", "--documents"]);
    assert!(
        documents.contains("# monitor: "),
        "which monitors ran is kept: {documents}"
    );
    place.assert_nothing_left();
}

#[test]
fn phases_other_than_run_are_watched_where_they_are_asked_for_and_have_metrics_of_their_own() {
    let place = Place::new();
    // 300 processes in `startup`, 20 in `run`: each costs page faults.
    let starts = |count: u32| format!("n={count}; while [ $n -gt 0 ]; do (:); n=$((n-1)); done");
    place.benchmark(
        "starter",
        &format!(
            "[tester]\nstartup = \"{}; @/step startup\"\nrun = \"{}; @/step run; echo 42\"\n\
             collect = \"@/step collect\"\n{VALUE}",
            starts(300),
            starts(20)
        ),
    );
    place.monitor("watcher", WATCHER);
    let own = place.read("monitors/watcher.toml");
    place.write(
        "monitors/watcher.toml",
        format!("phases = ['collect']\n{own}"),
    );
    place.plan(
        "use = [\"starter\"]\nrounds = 2\n\
         monitors = [\"watcher\", { name = \"processes\", phases = [\"startup\", \"run\"] }]\n",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    let log = place.read("log");
    let phases: Vec<&str> = log
        .lines()
        .filter(|line| *line != "watch")
        .take(4)
        .collect();
    assert_eq!(phases, ["startup", "run", "collect", "unwatch"], "{log}");
    let raw = place.raw("s", 1);
    assert!(raw.contains("monitor watcher, collect of tester"), "{raw}");

    let table = place.prints_of(&["export", "s", "--format", "json-rows"]);
    let faults = |metric: &str| -> Vec<f64> {
        let rows = table
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["metric"] == metric)
            .map(|row| row["value"].as_f64().unwrap())
            .collect()
    };
    let (startup, run) = (
        faults("startup.processes.minor-faults"),
        faults("processes.minor-faults"),
    );
    assert_eq!((startup.len(), run.len()), (2, 2), "{table}");
    // What is compared between trials is of `run`.
    let counters = place.prints_of(&[
        "show",
        "s",
        "--counters",
        "--trial",
        "1",
        "--format",
        "json",
    ]);
    assert_eq!(counters.matches("\"processes.minor_faults\"").count(), 1);
    let timeline = timeline_data(&place.prints_of(&["show", "s", "--timeline"]));
    let series = timeline["series"].as_array().unwrap();
    let seen = series
        .iter()
        .find(|one| one["name"] == "processes.minor_faults");
    assert_eq!(seen.unwrap()["lines"].as_array().unwrap().len(), 2);
    place.assert_nothing_left();
}

#[test]
fn a_monitor_that_dies_or_is_missing_is_a_warning_and_no_failed_trial() {
    let place = Place::new();
    place.prints("number", "echo 42");
    let (died, gone) = (place.at("died"), place.at("gone"));
    place.monitor(
        "dies",
        &format!("echo $$ > {died}; echo out of paper >&2; exit 3"),
    );
    place.monitor("ends", &format!("echo $$ > {gone}"));
    place.write(
        "monitors/missing.toml",
        "name = 'missing'\nabout = 'x'\nrun = 'no-such-tool 1'\nprograms = ['no-such-tool']\n\
         needs = { debian = ['tool-package'] }\n",
    );
    // It runs until the others have ended.
    place.benchmark(
        "slow",
        &format!(
            "[tester]\nrun = \"for f in {died} {gone}; do until test -s $f; do sleep 0.02; done; \
             while kill -0 $(cat $f) 2>/dev/null; do sleep 0.02; done; done; echo 42\"\n{VALUE}"
        ),
    );
    place.plan("use = [\"slow\"]\nrounds = 1\nmonitors = [\"dies\", \"ends\", \"missing\"]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    let trials = place.trials("s");
    assert!(trials[0].measured(), "{trials:#?}");
    for words in [
        "exited with code 3: out of paper",
        "` ended before `run` did",
        "`no-such-tool` is not installed: apt-get install tool-package",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let doctor = place.ends(&["doctor", "plan.toml", "--no-self-test"]);
    doctor.assert_code(1);
    let words = doctor.stdout();
    assert!(
        words.contains("missing  monitor missing: no-such-tool"),
        "{words}"
    );
    assert!(words.contains("apt-get install tool-package"), "{words}");
    place.assert_nothing_left();
}

#[test]
fn a_killed_agent_leaves_no_monitor() {
    let place = Place::new();
    place.logged("logged");
    place.monitor("watcher", WATCHER);
    place.plan("use = [\"logged\"]\nrounds = 1\nmonitors = [\"watcher\", \"net\"]\n");
    place.hold("run", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    kill(processes::agent_of(run.pid), Signal::SIGKILL).unwrap();
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"]["host_lost"], true, "{finished}");
    place.release("run");
    run.ends().assert_code(1);
    place.assert_nothing_left();
}

#[test]
fn a_plan_that_asks_for_what_no_monitor_can_is_pointed_at() {
    let place = Place::new();
    place.prints("number", "echo 42");
    for (monitors, words) in [
        ("[\"vmstta\"]", "no monitor `vmstta` in the catalogue"),
        (
            "[{ name = \"vmstat\", interval = \"10ms\" }]",
            "can't sample more often",
        ),
        ("[\"vmstat\", \"vmstat\"]", "stands here twice"),
        (
            "[{ name = \"vmstat\", roles = [\"nobody\"] }]",
            "role `nobody`",
        ),
        (
            "[{ name = \"vmstat\", phases = [\"reset\"] }]",
            "`startup`, `run` and `collect`",
        ),
        ("[3]", "expected a monitor's name"),
    ] {
        place.plan(&format!("use = [\"number\"]\nmonitors = {monitors}\n"));
        let ended = place.ends(&["run", "plan.toml"]);
        ended.assert_code(2);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("plan.toml:2"), "{}", ended.stderr);
    }
}

#[test]
fn monitors_are_listed_and_shown_with_those_of_ones_own() {
    let place = Place::new();
    place.monitor("own", "sleep 1000");
    std::fs::create_dir(place.path("others")).unwrap();
    let text = place.read("monitors/own.toml").replace("own\"", "other\"");
    place.write("others/other.toml", text);
    let list = place.prints_of(&["list", "monitors", "--monitors-dir", &place.at("others")]);
    for name in ["own", "other", "vmstat", "cpu"] {
        let named = |line: &str| line.split_whitespace().next() == Some(name);
        assert!(list.lines().any(named), "{name}: {list}");
    }
    let shown = place.prints_of(&["show", "monitor", "own"]);
    assert!(shown.contains("sleep 1000"), "{shown}");
    let unknown = place.ends(&["show", "monitor", "vmstta"]);
    unknown.assert_code(2);
    assert!(
        unknown.stderr.contains("did you mean `vmstat`?"),
        "{}",
        unknown.stderr
    );
}

/// A benchmark that writes as often as a file says, and a plan that counts its calls.
fn writing() -> Place {
    let place = Place::new();
    place.benchmark(
        "writes",
        &format!(
            "[tester]\nrun = [\"dd if=/dev/zero of=/dev/null bs=1 count=$(cat {0})\", \"echo 42\"]\n{VALUE}",
            place.at("count")
        ),
    );
    place.plan("use = [\"writes\"]\nrounds = 3\nmonitors = [\"syscalls\"]\n");
    place
}

/// What a comparison says of a metric.
fn row<'a>(comparison: &'a Value, metric: &str) -> &'a Value {
    let rows = comparison["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["metric"] == metric);
    found.unwrap_or_else(|| panic!("{metric}: {comparison}"))
}

fn counts_of_both_are_compared(place: &Place, start: &dyn Fn(&[&str]) -> Command) {
    for (name, count) in [("old", "1000"), ("new", "2000")] {
        place.write("count", count);
        let ended = Running::start(start(&["run", "plan.toml", "--name", name])).ends();
        ended.assert_code(0);
        assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    }
    let compared = place.prints_of(&["compare", "old", "new", "--monitors", "--format", "json"]);
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let mean = |metric: &str, side: usize| row(&compared, metric)["sides"][side]["mean"].as_f64();
    // The shell that starts it writes nothing; dd says at its end what it did, in up to three writes.
    for (side, least) in [(0, 1000.0), (1, 2000.0)] {
        let writes = mean("write.calls", side).unwrap();
        assert!((least..=least + 6.0).contains(&writes), "{writes}");
        let reads = mean("read.calls", side).unwrap();
        assert!((least..least + 100.0).contains(&reads), "{reads}");
        assert!(mean("write.time", side).unwrap() > 0.0);
        assert!(mean("syscalls.calls", side).unwrap() > 2.0 * least);
    }
    let (before, after) = (
        mean("write.calls", 0).unwrap(),
        mean("write.calls", 1).unwrap(),
    );
    assert_eq!(after - before, 1000.0, "each call is counted once");
    assert_eq!(row(&compared, "write.calls")["unit"], "calls");
    let shown = place.prints_of(&["show", "new"]);
    assert!(shown.contains("write.calls"), "{shown}");
}

#[test]
fn system_calls_are_metrics_of_a_trial_and_compared_between_studies() {
    let place = writing();
    counts_of_both_are_compared(&place, &|arguments| place.command(arguments));
    let raw = place.raw("new", 1);
    let engine = if is_root() { "kernel" } else { "ptrace" };
    assert!(
        raw.contains(&format!("watching: the {engine} engine")),
        "{raw}"
    );
    place.assert_nothing_left();
}

#[test]
fn system_calls_are_counted_without_privileges_too() {
    let place = writing();
    let without = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-all", "--inh-caps", "-all"]);
        command.arg(env!("CARGO_BIN_EXE_backsight"));
        place.put(command, arguments)
    };
    if is_root() {
        counts_of_both_are_compared(&place, &without);
    } else {
        counts_of_both_are_compared(&place, &|arguments| place.command(arguments));
    }
    let raw = place.raw("new", 1);
    assert!(
        raw.contains("watching: the ptrace engine: the kernel engine needs CAP_BPF"),
        "{raw}"
    );
    place.assert_nothing_left();
}

#[test]
fn what_runs_already_is_watched_and_other_monitors_are_not() {
    let place = Place::new();
    // A server that is there before the monitor is, and a step that makes it call.
    place.script(
        "server",
        "#!/bin/sh\nmkfifo @/asked @/answered\necho ready\nwhile read line < @/asked; do echo > @/answered; done\n"
            .replace('@', &place.at(""))
            .as_str(),
    );
    place.benchmark(
        "served",
        &format!(
            "[tester]\nstartup.spawn = {{ run = \"@/server\", ready = {{ line = \"ready\" }} }}\n\
             run = \"for n in 1 2 3 4 5; do echo > @/asked; read line < @/answered; done; echo 42\"\n{VALUE}"
        ),
    );
    place.monitor("busy", "while :; do chmod 600 @/log; sleep 0.01; done");
    place.plan("use = [\"served\"]\nrounds = 1\nmonitors = [\"busy\", \"syscalls\"]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    let raw = place.raw("s", 1);
    let counts = raw
        .lines()
        .find(|line| line.starts_with("{\"engine\""))
        .unwrap();
    let counts: Value = serde_json::from_str(counts).unwrap();
    assert_eq!(counts["unwatched"], serde_json::json!([]), "{counts}");
    assert_eq!(counts["lost"], 0, "{counts}");
    // Both open a pipe for each line, the server and the step.
    assert!(
        counts["calls"]["openat"]["calls"].as_u64().unwrap() >= 20,
        "{counts}"
    );
    assert!(counts["calls"].get("fchmodat").is_none(), "{counts}");
    assert!(counts["calls"].get("fchmodat2").is_none(), "{counts}");
    place.assert_nothing_left();
}

#[test]
fn a_tracing_monitor_outside_of_a_trial_says_what_to_do() {
    let place = Place::new();
    for (arguments, words) in [
        (
            &["syscalls"][..],
            ["no trial is here", "backsight trace -c"],
        ),
        (
            &["profile"],
            ["no trial is here", "backsight trace --profile"],
        ),
        (&["syscalls", "--machine"], ["`syscalls`", "is no profile"]),
        (
            &["profile", "--count", "3"],
            ["`profile`", "has no samples"],
        ),
    ] {
        let ended = place.ends(&[&["monitor"], arguments].concat());
        ended.assert_code(2);
        ended.assert_says(&words);
    }
}

#[test]
fn functions_of_the_steps_are_sampled_and_nobody_elses() {
    if Need::Sampling.is_missing() {
        return;
    }
    let place = Place::new();
    place.benchmark(
        "counts",
        &format!(
            "[tester]\nstartup.spawn = \"sh -c 'while :; do :; done'\"\n\
             run = [\"dd if=/dev/zero of=/dev/null bs=1M count=20000\", \"echo 42\"]\n{VALUE}"
        ),
    );
    place.plan("use = [\"counts\"]\nrounds = 1\nmonitors = [\"profile\", \"cpu\"]\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    assert!(!ended.stderr.contains("warning"), "{}", ended.stderr);
    let raw = place.raw("s", 1);
    let document = raw.lines().find(|line| line.contains("backsight_profile"));
    let profile = Profile::from_json(document.unwrap().as_bytes()).unwrap();
    let names: HashSet<&str> = profile.threads.iter().map(|it| &it.process[..]).collect();
    assert!(names.contains("dd") && names.contains("sh"), "{names:?}");
    // A step's process has our name until it executes its program: a moment, but one in which it may be sampled.
    let is_ours = |thread: u32| profile.threads[thread as usize].process == "backsight";
    let weight = |is_counted: &dyn Fn(u32) -> bool| {
        let counted = profile.samples.iter().filter(|it| is_counted(it.thread));
        counted.map(|it| it.weight).sum::<u64>()
    };
    let (ours, all) = (weight(&is_ours), weight(&|_| true));
    assert!(ours <= 3 && all > 100, "{ours} of {all}: {names:?}");
    let functions: Vec<&String> = profile.frames.iter().map(|it| &it.function).collect();
    assert!(
        functions.iter().any(|it| *it == "vfs_read"),
        "{functions:?}"
    );
    let shown = place.prints_of(&["show", "s"]);
    assert!(shown.contains("profile.samples"), "{shown}");
    place.assert_nothing_left();
}

#[test]
fn what_counting_calls_costs_is_measured() {
    let place = writing();
    place.write("count", "20000");
    place.plan("use = [\"writes\"]\n");
    let text = place.read("benchmarks/writes.toml");
    place.write(
        "benchmarks/writes.toml",
        format!("{text}[metric.time]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\n"),
    );
    let ended = place.ends(&[
        "overhead",
        "plan.toml",
        "--monitors",
        "syscalls",
        "--rounds",
        "4",
        "--name",
        "o",
    ]);
    ended.assert_code(0);
    let shown = place.prints_of(&["show", "o"]);
    assert!(shown.contains("syscalls"), "{shown}");
    assert!(!shown.contains("nothing measured"), "{shown}");
    place.assert_nothing_left();
}

/// The data that the script of a page of a timeline draws.
fn timeline_data(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"timeline-data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_timeline_has_what_samplers_saw_and_interval_samples_from_the_begin_of_run() {
    let place = Place::new();
    place.benchmark(
        "waves",
        "[tester]\nstartup = \"true\"\n\
         run = \"i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; printf 'x 3\\\\nx 5\\\\nx 4\\\\n'\"\n\
         [metric.speed]\nabout = \"steps\"\nunit = \"ops/s\"\nbetter = \"higher\"\n\
         column = { line = 'x', field = 2 }\neach = { line = 'x', field = 2 }\n",
    );
    place.plan(
        "use = [\"waves\"]\nrounds = 2\nmonitors = [{ name = \"cpu\", interval = \"10ms\" }]\n",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place
        .ends(&[
            "show",
            "s",
            "--timeline",
            "--trial",
            "2",
            "--trial",
            "1",
            "-o",
            "t.html",
        ])
        .assert_code(0);
    let page = place.read("t.html");
    assert!(page.contains("default-src 'none'") && !page.contains("src=\""));
    let data = timeline_data(&page);
    assert_eq!(
        (&data["trials"][0]["number"], &data["trials"][1]["number"]),
        (&2.into(), &1.into())
    );
    let phases = data["trials"][0]["phases"].as_array().unwrap();
    let run = phases.iter().find(|phase| phase["name"] == "run").unwrap();
    assert_eq!(run["from"], 0.0);
    let ended = run["until"].as_f64().unwrap();
    assert!(phases[0]["name"] == "startup" && phases[0]["from"].as_f64().unwrap() < 0.0);

    let series = data["series"].as_array().unwrap();
    let of = |name: &str| series.iter().find(|one| one["name"] == name).unwrap();
    let speed = of("speed");
    assert_eq!(
        (&speed["kind"], &speed["shown"]),
        (&"interval".into(), &true.into())
    );
    let line = &speed["lines"][0];
    assert_eq!(line["values"], serde_json::json!([null, 3.0, 5.0, 4.0]));
    let instants =
        |line: &Value| data["instants"][line["instants"].as_u64().unwrap() as usize].clone();
    assert_eq!(instants(line)[3], ended);

    let switches = of("ctxt");
    assert_eq!(
        (&switches["kind"], &switches["source"]),
        (&"rate".into(), &"cpu".into())
    );
    let lines = switches["lines"].as_array().unwrap();
    assert_eq!(
        (&lines[0]["trial"], &lines[1]["trial"]),
        (&0.into(), &1.into())
    );
    let (values, at) = (lines[0]["values"].as_array().unwrap(), instants(&lines[0]));
    assert_eq!(values.len(), at.as_array().unwrap().len());
    assert!(
        values[0].is_null() && values[1].as_f64().unwrap() > 0.0,
        "{values:?}"
    );
    // The first sample is there before the benchmark runs, the last one when it has ended.
    assert!(at[0].as_f64().unwrap() < 0.0, "{at}");
    assert!(
        at[values.len() - 1].as_f64().unwrap() >= ended,
        "{at} {ended}"
    );

    let first = timeline_data(&place.prints_of(&["show", "s", "--timeline"]));
    assert_eq!(first["trials"].as_array().unwrap().len(), 1);
    assert_eq!(first["trials"][0]["number"], 1);
}

#[test]
fn a_timeline_of_nothing_says_the_way_out() {
    let place = Place::new();
    place.prints("number", "echo 42");
    place.plan("use = [\"number\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    for (arguments, said) in [
        (&["--timeline", "-o", "t.html"][..], "--monitors cpu,memory"),
        (&["--timeline", "-o", "t.txt"], "a timeline is a page"),
        (&["--counters"], "--monitors cpu,memory"),
        (&["--counters", "--trial", "9"], "no trial 9"),
        (
            &["--timeline", "--trial", "9", "-o", "t.html"],
            "no trial 9",
        ),
        (
            &["--trial", "1", "--trial", "1"],
            "one trial is shown at a time",
        ),
    ] {
        let ended = place.ends(&[&["show", "s"], arguments].concat());
        ended.assert_code(2);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
    assert!(!place.path("t.html").exists());
}

#[test]
fn a_trial_whose_counters_are_unlike_those_of_the_others_is_found_without_its_number() {
    let place = Place::new();
    // The third of six trials starts 200 processes, the others 20: each costs page faults.
    place.prints(
        "starter",
        "echo x >> @/trials; n=20; [ $(wc -l < @/trials) = 3 ] && n=200; \
         while [ $n -gt 0 ]; do (:); n=$((n-1)); done; echo 42",
    );
    place.plan("use = [\"starter\"]\nrounds = 6\nmonitors = [\"processes\"]\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let asked = ["show", "s", "--counters", "--format", "json"];
    let found: Value = serde_json::from_str(&place.prints_of(&asked)).unwrap();
    assert_has_schema("counters", &found);
    assert_eq!(found["unusual"][0]["trial"], 3, "{found:#}");
    let rows = found["counters"].as_array().unwrap();
    let faults = |row: &&Value| row["series"] == "processes.minor_faults";
    let first = rows.iter().find(faults).unwrap();
    assert!(first["percent"].as_f64().unwrap() > 300.0, "{first:#}");
    assert_eq!((&first["trial"], &first["others"]), (&3.into(), &5.into()));
    assert!(first["deviations"].as_f64().unwrap() > 3.5, "{first:#}");
    // Levels are no counters.
    assert!(rows.iter().all(|row| row["series"] != "processes.threads"));

    let one: Value =
        serde_json::from_str(&place.prints_of(&[&asked[..], &["--trial", "2"]].concat())).unwrap();
    let rows = one["counters"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["trial"] == 2), "{one:#}");
    assert_eq!(rows.iter().filter(faults).count(), 1, "{one:#}");
    let text = place.prints_of(&["show", "s", "--counters"]);
    assert!(text.contains("trial 3: "), "{text}");
    place.prints_of(&["show", "s", "--counters", "-o", "c.html"]);
    assert!(place.read("c.html").contains("processes.minor_faults"));
}

#[test]
fn histograms_of_probes_are_exported_as_a_log_of_hdrhistogram() {
    let place = Place::new();
    place.prints("number", "sleep 0.2; echo 42");
    place.plan("use = [\"number\"]\nrounds = 2\nmonitors = [\"probe-timer\", \"cpu\"]\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.prints_of(&["export", "s", "--histograms", "-o", &place.at("s.hlog")]);
    let log = place.read("s.hlog");
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 2, "{log}");
    for (line, trial) in lines.iter().zip(1..) {
        assert!(line.starts_with(&format!("Tag=trial-{trial}.")), "{line}");
        // What every base64 text of a compressed V2 histogram begins with.
        assert!(line.contains(",HISTFAA"), "{line}");
    }
    place.plan("use = [\"number\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "without"])
        .assert_code(0);
    let ended = place.ends(&["export", "without", "--histograms"]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("--monitors probe-timer"),
        "{}",
        ended.stderr
    );
}

#[test]
fn every_value_that_samplers_saw_is_exported_as_a_table() {
    let place = Place::new();
    place.prints("number", "sleep 0.3; echo 42");
    place.plan(
        "use = [\"number\"]\nrounds = 1\nmonitors = [{ name = \"cpu\", interval = \"50ms\" }]\n",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let table = place.prints_of(&["export", "s", "--monitors", "--format", "csv"]);
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("trial,host,monitor,series,at_ns,value"));
    let switches: Vec<(u64, u64)> = lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[3] == "ctxt")
        .map(|fields| (fields[4].parse().unwrap(), fields[5].parse().unwrap()))
        .collect();
    // One before `run`, one every 50 ms, one as it ends; each counts on from the one before.
    assert!(switches.len() >= 4, "{switches:?}");
    assert!(switches.is_sorted(), "{switches:?}");
    let file = place.at("s.parquet");
    place.prints_of(&["export", "s", "--monitors", "-o", &file]);
    let written = std::fs::read(&file).unwrap();
    assert!(written.starts_with(b"PAR1") && written.ends_with(b"PAR1"));
    let ended = place.ends(&["export", "s", "--monitors", "--format", "json"]);
    ended.assert_code(2);
    assert!(
        ended.stderr.contains("`json` is no table"),
        "{}",
        ended.stderr
    );
}
