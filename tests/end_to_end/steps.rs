//! Steps that do what they shouldn't. The trial is kept as failed with its reason and what was printed, and the
//! study goes on.

use crate::{
    place::{Place, Trial, VALUE},
    processes,
};

/// Measures `bad` beside a good benchmark, two rounds each. Asserts that the bad one failed both times for this
/// reason and the good one never; returns the number of a bad trial.
fn fails_beside_a_good_one(place: &Place, reasons: &[&str]) -> u32 {
    place.prints("good", "echo 42");
    place.plan("use = [\"bad\", \"good\"]\nrounds = 2\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(reasons);
    ended.assert_says(&["2 trials measured, 2 failed, 0 left"]);
    let trials = place.trials("s");
    assert_eq!(trials.len(), 4, "{trials:#?}");
    for trial in &trials {
        assert_eq!(trial.measured(), trial.cell == "good", "{trials:#?}");
    }
    let row = place.study("s");
    assert_eq!(
        (&row["state"], &row["measured"], &row["failed"]),
        (&"finished".into(), &2.into(), &2.into())
    );
    place.assert_nothing_left();
    number_of(&trials, "bad")
}

fn number_of(trials: &[Trial], cell: &str) -> u32 {
    trials
        .iter()
        .find(|trial| trial.cell == cell)
        .unwrap()
        .number
}

#[test]
fn a_step_that_exits_with_a_code_fails_its_trial_and_the_study_goes_on() {
    let place = Place::new();
    place.prints("bad", "echo half a result; echo out of luck >&2; exit 3");
    let trial = fails_beside_a_good_one(
        &place,
        &[
            "failed: bad: run of tester on",
            "exited with code 3: out of luck",
        ],
    );
    let raw = place.raw("s", trial);
    assert!(
        raw.contains("half a result") && raw.contains("out of luck"),
        "{raw}"
    );
    assert!(raw.contains("exited with code 3"), "{raw}");
}

#[test]
fn a_step_that_is_killed_by_a_signal_fails_its_trial() {
    let place = Place::new();
    place.prints("bad", "echo 42; kill -SEGV $$");
    let trial = fails_beside_a_good_one(&place, &["was killed by", "SEGV"]);
    assert!(place.raw("s", trial).contains("killed by signal 11"));
}

#[test]
fn an_exit_code_that_the_definition_expects_is_fine() {
    let place = Place::new();
    place.benchmark(
        "odd",
        &format!("[tester]\nrun = {{ run = 'echo 42; exit 3', expect = [0, 3] }}\n{VALUE}"),
    );
    place.plan("use = [\"odd\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
}

#[test]
fn nonsense_is_no_sample() {
    let place = Place::new();
    place.prints("bad", "echo all went very well");
    let reasons = [
        "metric `value`",
        "looked for",
        "printed was: all went very well",
    ];
    let trial = fails_beside_a_good_one(&place, &reasons);
    assert!(place.raw("s", trial).contains("all went very well"));
}

#[test]
fn json_without_the_metric_or_that_is_none_is_no_sample() {
    for (printed, reason) in [
        ("{\"other\": 42}", "the output doesn't have it"),
        ("{\"value\": \"many\"}", "isn't a number"),
        ("{\"value\": 1e999}", "metric `value`"),
        ("{\"value\": ", "isn't JSON"),
        ("", "metric `value`"),
    ] {
        let place = Place::new();
        let metric = "[metric.value]\nunit = \"s\"\nbetter = \"lower\"\njson = \".value\"\n";
        place.write("printed", printed);
        place.benchmark(
            "bad",
            &format!("[tester]\nrun = \"cat @/printed\"\n{metric}"),
        );
        fails_beside_a_good_one(&place, &[reason]);
    }
}

#[test]
fn fifty_megabytes_of_output_are_more_than_a_step_may_print() {
    let place = Place::new();
    place.prints("bad", "head -c 50000000 /dev/zero | tr '\\0' x");
    let trial = fails_beside_a_good_one(&place, &["output limit", "raise `output_limit`"]);
    let kept = place.raw("s", trial).matches('x').count();
    assert!(
        (32 << 20..50_000_000).contains(&kept),
        "what was within the limit is kept: {kept}"
    );
}

#[test]
fn fifty_megabytes_of_output_are_kept_where_the_definition_permits_them() {
    let place = Place::new();
    let run = "echo 42; head -c 50000000 /dev/zero | tr '\\\\0' x";
    place.benchmark(
        "much",
        &format!("[tester]\nrun = {{ run = \"{run}\", output_limit = \"64MiB\" }}\n{VALUE}"),
    );
    place.plan("use = [\"much\"]\nrounds = 1\n");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    assert_eq!(place.raw("s", 1).matches("xxxxxxxxxx").count(), 5_000_000);
    place.assert_nothing_left();
}

#[test]
fn a_step_that_never_ends_is_killed_at_its_time_limit() {
    let place = Place::new();
    place.benchmark(
        "bad",
        &format!(
            "[tester]\nrun = {{ run = 'echo 42; exec sleep 3600', timeout = '300ms' }}\n{VALUE}"
        ),
    );
    let trial = fails_beside_a_good_one(&place, &["took longer than its time limit"]);
    assert!(
        place.raw("s", trial).contains("\n42\n"),
        "what it had printed is kept"
    );
}

#[test]
fn a_step_that_ignores_every_polite_signal_is_killed_all_the_same() {
    let place = Place::new();
    let stubborn = "trap \"\" TERM INT HUP QUIT; while :; do sleep 1; done";
    place.benchmark(
        "bad",
        &format!("[tester]\nrun = {{ run = '{stubborn}', timeout = '200ms' }}\n{VALUE}"),
    );
    place.plan("use = [\"bad\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["took longer than its time limit"]);
    place.assert_nothing_left();
}

#[test]
fn a_step_that_stops_itself_is_killed_at_its_time_limit() {
    let place = Place::new();
    place.benchmark(
        "bad",
        &format!(
            "[tester]\nrun = {{ run = 'echo 42; kill -STOP $$', timeout = '200ms' }}\n{VALUE}"
        ),
    );
    place.plan("use = [\"bad\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["took longer than its time limit"]);
    place.assert_nothing_left();
}

#[test]
fn a_step_that_kills_its_agent_fails_its_trial_every_time() {
    let place = Place::new();
    place.prints("bad", "echo 42; kill -KILL $PPID; sleep 3600");
    fails_beside_a_good_one(&place, &["the agent on this host went away"]);
}

#[test]
fn memory_is_the_programs_own_or_not_known() {
    let place = Place::new();
    let of = |program: &str, more: &str| {
        let metric = "[metric.rss]\nunit = \"B\"\nbetter = \"lower\"\nresource = \"maxrss\"\n";
        place.benchmark(
            "memory",
            &format!("[tester]\nrun = \"{program}\"\n{metric}{more}{VALUE}"),
        );
        place.plan("use = [\"memory\"]\nrounds = 1\n");
        place.ends(&["run", "plan.toml"])
    };
    // As much as the buffer and the little that the program has beside it: none of the agent's.
    let large = of("dd if=/dev/zero bs=60M count=1 of=/dev/null; echo 42", "");
    large.assert_code(0);
    let rss = large.stdout();
    let rss = rss.lines().find(|line| line.contains("rss")).unwrap();
    assert!(rss.contains(" MB "), "{rss}");
    let megabytes: f64 = rss.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!((62.9..69.0).contains(&megabytes), "{rss}");
    let small = of("echo 42", "");
    small.assert_code(1);
    small.assert_says(&["metric `rss`", "memory", "optional = true"]);
    of("echo 42", "optional = true\n").assert_code(0);
}

#[test]
fn a_jq_program_that_never_ends_fails_its_trial() {
    let place = Place::new();
    let metric = "[metric.value]\nunit = \"s\"\nbetter = \"lower\"\njson = \"last(range(1e15))\"\n";
    place.benchmark("bad", &format!("[tester]\nrun = \"echo 42\"\n{metric}"));
    place.plan("use = [\"bad\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["metric `value`", "too many steps"]);
}

/// Starts children that ignore SIGTERM: one in the step's group, one in a session of its own, one that has lost its
/// parent, one with an empty environment. All of them keep the step's output open.
const HIDERS: &str = r#"#!/bin/sh
# hide PLACE
trap '' TERM INT HUP
hider="$1/hider"
"$hider" &
setsid "$hider" &
( setsid sh -c "$hider & exit" & )
env -i "$hider" &
setsid env -i PATH="$PATH" "$hider" &
until [ "$(wc -l < "$1/hiders")" -ge 5 ]; do sleep 0.01; done
echo 42
"#;

const HIDER: &str = "#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >> \"$(dirname \"$0\")/hiders\"\nwhile :; do sleep 1; done\n";

fn with_hiders() -> Place {
    let place = Place::new();
    place.script("hide", HIDERS);
    place.script("hider", HIDER);
    place.write("hiders", "");
    place
}

/// The hiders that are alive.
fn hiding(place: &Place) -> Vec<i32> {
    let pids = place.read("hiders");
    let pids: Vec<i32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    processes::all()
        .into_iter()
        .map(|process| process.pid)
        .filter(|pid| pids.contains(pid))
        .collect()
}

#[test]
fn children_that_hide_are_gone_when_their_trial_has_ended() {
    let place = with_hiders();
    place.benchmark(
        "hide",
        &format!("[tester]\nstartup = \"@/step startup\"\nrun = \"@/hide @\"\n{VALUE}"),
    );
    place.plan("use = [\"hide\"]\nrounds = 2\n");
    place.hold("startup", 2);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    let finished = run.until_trial_finished();
    assert_eq!(finished["failure"], serde_json::Value::Null, "{finished}");
    place.until_held("startup");
    assert_eq!(place.read("hiders").lines().count(), 5);
    assert_eq!(hiding(&place), Vec::<i32>::new(), "alive after their trial");
    place.release("startup");
    let ended = run.ends();
    ended.assert_code(0);
    let warnings = ended
        .events()
        .iter()
        .filter(|e| e["event"] == "warning")
        .count();
    assert!(
        warnings >= 2,
        "each trial says that something was left and killed: {:#?}",
        ended.events()
    );
    assert_eq!(hiding(&place), Vec::<i32>::new());
    place.assert_complete("s", 1, 2);
    place.assert_nothing_left();
}

#[test]
fn children_that_hide_are_gone_when_their_step_takes_too_long() {
    let place = with_hiders();
    let run = "run = { run = '@/hide @; sleep 3600', timeout = '2s' }";
    place.benchmark("bad", &format!("[tester]\n{run}\n{VALUE}"));
    place.plan("use = [\"bad\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["took longer than its time limit"]);
    assert_eq!(place.read("hiders").lines().count(), 5);
    assert_eq!(hiding(&place), Vec::<i32>::new());
    place.assert_nothing_left();
}

#[test]
fn a_program_that_is_not_installed_is_named_with_what_installs_it() {
    let place = Place::new();
    let needs = "needs = { debian = [\"frob-tools\", \"frob-data\"] }\n";
    place.benchmark(
        "bad",
        &format!("{needs}[tester]\nrun = \"frobnicate --json\"\n{VALUE}"),
    );
    fails_beside_a_good_one(
        &place,
        &["`frobnicate` is not installed: apt-get install frob-tools frob-data"],
    );
}

#[test]
fn a_program_that_only_the_shell_misses_is_named_too() {
    let place = Place::new();
    let needs = "needs = { debian = [\"frob-tools\"] }\n";
    place.benchmark(
        "bad",
        &format!("{needs}[tester]\nrun = \"frobnicate | cat; exit 127\"\n{VALUE}"),
    );
    fails_beside_a_good_one(
        &place,
        &["`frobnicate` is not installed: apt-get install frob-tools"],
    );
}

#[test]
fn what_a_variant_misses_is_not_among_what_the_benchmark_needs() {
    let place = Place::new();
    let needs = "needs = { debian = [\"frob-tools\"] }\n";
    place.benchmark(
        "good",
        &format!("{needs}[tester]\nrun = \"echo 1\"\n{VALUE}"),
    );
    place.plan("use = [\"good\"]\nrounds = 1\n[[variant]]\nname = \"on\"\ntester.setup = \"frobnicate on\"\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["`frobnicate` is not installed"]);
    let said = String::from_utf8_lossy(&ended.bytes) + &*ended.stderr;
    assert!(!said.contains("frob-tools"), "{said}");
}

#[test]
fn what_a_definition_says_it_needs_is_looked_for_before_anything_is_measured() {
    let place = Place::new();
    let needs = "needs = { debian = [\"frob-tools\"] }\nprograms = [\"frobnicate\"]\n";
    place.benchmark(
        "bad",
        &format!("{needs}[tester]\nrun = \"frobnicate\"\n{VALUE}"),
    );
    place.plan("use = [\"bad\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s", "--json"]);
    ended.assert_code(1);
    let events = ended.events();
    let warned = events
        .iter()
        .position(|e| e["event"] == "warning")
        .expect("a warning");
    let began = events
        .iter()
        .position(|e| e["event"] == "trial-started")
        .unwrap();
    assert!(warned < began, "{events:#?}");
    assert!(
        events[warned]["message"]
            .as_str()
            .unwrap()
            .contains("apt-get install frob-tools"),
        "{events:#?}"
    );
}

#[test]
fn a_step_in_a_file_that_is_no_program_says_so() {
    let place = Place::new();
    place.write("plain", "text");
    place.benchmark("bad", &format!("[tester]\nrun = \"@/plain\"\n{VALUE}"));
    fails_beside_a_good_one(&place, &["isn't executable"]);
}

#[test]
fn a_full_disk_under_a_step_fails_its_trial() {
    let place = Place::new();
    place.prints("bad", "seq 100000 > /dev/full");
    fails_beside_a_good_one(&place, &["No space left on device"]);
}

#[test]
fn a_program_that_disturbs_a_trial_is_named() {
    let place = Place::new();
    place.script("disturber", "#!/bin/sh\nwhile :; do :; done");
    place.benchmark(
        "half-a-second",
        &format!("[tester]\nrun = \"sleep 0.5; echo 42\"\n{VALUE}"),
    );
    place.plan("use = [\"half-a-second\"]\nrounds = 1\n");
    let mut disturber = std::process::Command::new(place.path("disturber"))
        .spawn()
        .unwrap();
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    disturber.kill().unwrap();
    disturber.wait().unwrap();
    ended.assert_code(0);
    let shown = place.prints_of(&["show", "s", "--trial", "1"]);
    let said = shown.lines().find(|line| line.starts_with("processors of"));
    assert!(
        said.is_some_and(|said| said.contains("disturber")),
        "{shown}"
    );
}
