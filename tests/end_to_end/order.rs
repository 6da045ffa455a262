//! What happens in which order: barriers, starts, set-up and teardown.

use crate::place::{Place, VALUE};

/// A definition with the roles `tester` and `other`.
fn of_two(place: &Place, tester: &str, other: &str) {
    let folder = place.at("");
    let folder = folder.trim_end_matches('/');
    let text = format!(
        "name = \"two\"\nabout = \"a test's own\"\nroles = [\"tester\", \"other\"]\n\
         [tester]\n{tester}\n[other]\n{other}\n{VALUE}from = \"tester.run\"\n"
    );
    place.write("benchmarks/two.toml", text.replace('@', folder));
    place.plan("use = [\"two\"]\nrounds = 1\n");
}

#[test]
fn nobody_passes_a_barrier_before_everybody_is_there() {
    let place = Place::of_roles(&["tester", "other"]);
    of_two(
        &place,
        "run = [\"@/step early\", { barrier = \"here\" }, \"@/step after\", \"echo 42\"]",
        "run = [\"@/step late\", { barrier = \"here\" }, \"@/step after\"]",
    );
    place.hold("late", 1);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("late");
    run.until("the end of the early step", |e| {
        e["event"] == "step-finished" && e["role"] == "tester"
    });
    assert_eq!(place.calls("after"), 0);
    place.release("late");
    let ended = run.ends();
    ended.assert_code(0);
    let log = place.read("log");
    let order: Vec<&str> = log.lines().collect();
    assert_eq!(order[2..], ["after", "after"], "{order:?}");
    place.assert_complete("s", 1, 1);
    place.assert_nothing_left();
}

#[test]
fn a_failure_before_a_barrier_frees_those_who_wait_at_it() {
    let place = Place::of_roles(&["tester", "other"]);
    of_two(
        &place,
        "run = [{ barrier = \"here\" }, \"echo 42\"]",
        "run = [\"sh -c 'exit 3'\", { barrier = \"here\" }]",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["run of other", "exited with code 3"]);
    place.assert_nothing_left();
}

#[test]
fn the_first_programs_of_run_are_there_together() {
    let place = Place::of_roles(&["tester", "other"]);
    // Each waits for the other: one after the other, the first would wait in vain.
    of_two(
        &place,
        "run = { run = \": > @/tester; until [ -e @/other ]; do sleep 0.01; done; echo 42\", timeout = \"20s\" }",
        "run = { run = \": > @/other; until [ -e @/tester ]; do sleep 0.01; done\", timeout = \"20s\" }",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
}

#[test]
fn the_next_phase_begins_when_every_role_has_ended_the_one_before() {
    let place = Place::of_roles(&["tester", "other"]);
    of_two(
        &place,
        "startup = \"@/step startup\"\nrun = [\"@/step run\", \"echo 42\"]\ncollect = \"@/step collect\"\nreset = \"@/step reset\"",
        "startup = \"@/step startup\"\nrun = \"@/step run\"\ncollect = \"@/step collect\"\nreset = \"@/step reset\"",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    let log = place.read("log");
    let order: Vec<&str> = log.lines().collect();
    assert_eq!(
        order,
        [
            "startup", "startup", "run", "run", "collect", "collect", "reset", "reset"
        ]
    );
}

#[test]
fn whichever_phase_fails_what_it_changed_is_put_back() {
    let place = Place::new();
    for phase in ["startup", "run", "collect", "reset"] {
        let steps: String = ["startup", "run", "collect", "reset"]
            .iter()
            .map(|this| {
                let print = if *this == "run" { ", \"echo 42\"" } else { "" };
                let fail = if *this == phase {
                    ", \"sh -c 'exit 9'\""
                } else {
                    ""
                };
                format!("{this} = [\"@/step {phase}-{this}\"{print}{fail}]\n")
            })
            .collect();
        place.benchmark(phase, &format!("[tester]\n{steps}{VALUE}"));
    }
    place.plan(
        "use = [\"startup\", \"run\", \"collect\", \"reset\"]\nrounds = 1\n\
         [[variant]]\nname = \"v\"\n\
         tester.setup = \"mkdir @/set-up\"\ntester.teardown = \"rmdir @/set-up\"\n",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["0 trials measured, 4 failed, 0 left"]);
    for trial in place.trials("s") {
        let phase = trial.cell.split_whitespace().next().unwrap();
        assert!(
            trial
                .outcome
                .contains(&format!("failed: {phase} of tester")),
            "{trial:?}"
        );
        assert!(trial.outcome.contains("exited with code 9"), "{trial:?}");
        assert_eq!(place.calls(&format!("{phase}-reset")), 1, "{phase}");
        assert_eq!(
            place.calls(&format!("{phase}-collect")),
            usize::from(!matches!(phase, "startup" | "run"))
        );
        assert_eq!(
            place.calls(&format!("{phase}-run")),
            usize::from(phase != "startup")
        );
    }
    assert!(
        !crate::place::exists(&place.path("set-up")),
        "a variant's set-up is left behind"
    );
    place.assert_nothing_left();
}

#[test]
fn a_set_up_that_fails_half_way_is_torn_down() {
    let place = Place::new();
    place.logged("good");
    place.plan(
        "use = [\"good\"]\nrounds = 1\n\
         [[variant]]\nname = \"broken\"\n\
         tester.setup = [\"mkdir @/set-up\", \"sh -c 'exit 9'\"]\ntester.teardown = \"rmdir @/set-up\"\n\
         [[variant]]\nname = \"whole\"\n\
         tester.setup = \"mkdir @/set-up\"\ntester.teardown = \"rmdir @/set-up\"\n",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "setup of tester",
        "exited with code 9",
        "1 trial measured, 1 failed, 0 left",
    ]);
    assert_eq!(
        place.calls("run"),
        1,
        "nothing is measured without its set-up"
    );
    assert!(!crate::place::exists(&place.path("set-up")));
}

#[test]
fn a_teardown_that_fails_fails_its_trial_after_all_its_steps() {
    let place = Place::new();
    place.logged("good");
    place.plan(
        "use = [\"good\"]\nrounds = 1\n\
         [[variant]]\nname = \"v\"\ntester.teardown = [\"sh -c 'exit 9'\", \"@/step teardown\"]\n",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["teardown of tester", "exited with code 9"]);
    assert_eq!(place.calls("teardown"), 1);
}

#[test]
fn a_teardown_that_never_ends_is_killed_and_the_study_goes_on() {
    let place = Place::new();
    place.logged("good");
    place.plan(
        "use = [\"good\"]\nrounds = 2\n[[variant]]\nname = \"v\"\n\
         tester.teardown = [{ run = \"sleep 3600\", timeout = \"200ms\" }, \"@/step teardown\"]\n",
    );
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "teardown of tester",
        "took longer than its time limit",
        "2 failed, 0 left",
    ]);
    assert_eq!(place.calls("teardown"), 2);
    place.assert_nothing_left();
}

#[test]
fn a_plan_that_stops_at_a_failure_stops_and_resume_measures_the_rest() {
    let place = Place::new();
    place.write("broken", "");
    place.prints("flaky", "test ! -e @/broken && echo 42");
    place.plan("use = [\"flaky\"]\nrounds = 3\non-failure = \"stop\"\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "0 trials measured, 1 failed, 2 left",
        "the plan says to stop",
        "backsight resume s",
    ]);
    assert_eq!(place.study("s")["state"], "stopped");
    std::fs::remove_file(place.path("broken")).unwrap();
    let ended = place.ends(&["resume", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["2 trials measured, 1 failed, 0 left"]);
    let row = place.study("s");
    assert_eq!(
        (&row["state"], &row["measured"], &row["failed"]),
        (&"finished".into(), &2.into(), &1.into())
    );
}

#[test]
fn the_order_within_rounds_is_the_seeds() {
    let place = Place::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        place.prints(name, &format!("@/step {name}; echo 1"));
    }
    place.plan("use = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\nrounds = 2\n");
    let mut orders = Vec::new();
    for (study, seed) in [("one", "7"), ("two", "7"), ("three", "8")] {
        place.write("log", "");
        place
            .ends(&["run", "plan.toml", "--name", study, "--seed", seed])
            .assert_code(0);
        let order: Vec<String> = place.read("log").lines().map(str::to_owned).collect();
        let (first, second) = order.split_at(6);
        for round in [first, second] {
            let mut sorted = round.to_vec();
            sorted.sort();
            assert_eq!(sorted, names);
        }
        orders.push(order);
    }
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
    assert_ne!(
        orders[0][..6],
        orders[0][6..],
        "each round is shuffled anew"
    );
}
