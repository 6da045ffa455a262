//! The conductor killed without a warning, in each phase. Nothing of it goes on running, and `resume` ends with
//! every cell of every round measured exactly once and nothing of a variant left behind.

use crate::place::{Place, exists};

/// Two variants that can't both be set up at once, three rounds: six trials.
fn matrix() -> Place {
    let place = Place::new();
    place.logged("logged");
    let variant = |name: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\n\
             tester.setup = [\"mkdir @/set-up\", \"@/step setup\"]\n\
             tester.teardown = [\"@/step teardown\", \"rmdir @/set-up\"]\n"
        )
    };
    place.plan(&format!(
        "use = [\"logged\"]\nrounds = 3\n{}{}",
        variant("one"),
        variant("two")
    ));
    place
}

/// Kills the conductor in this phase of the third trial, resumes, and looks at what came of it.
fn killed_in(phase: &str) {
    let place = matrix();
    place.hold(phase, 3);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held(phase);
    run.after_sigkill();
    // Its agent puts back what it finds half done.
    place.release(phase);
    place.assert_nothing_left();
    assert!(
        !exists(&place.path("set-up")),
        "the agent has left the variant's set-up behind"
    );

    let row = place.study("s");
    assert_eq!(row["state"], "killed", "{row}");
    assert_eq!(
        row["measured"], 2,
        "what was measured before is kept: {row}"
    );
    let page = place.prints_of(&["show", "s"]);
    assert!(page.contains("go on with: backsight resume s"), "{page}");

    let runs_before = place.calls("run");
    let ended = place.ends(&["resume", "s"]);
    ended.assert_code(0);
    place.assert_complete("s", 2, 3);
    assert_eq!(
        place.calls("run") - runs_before,
        4,
        "nothing is measured twice"
    );
    assert!(
        !exists(&place.path("set-up")),
        "a variant's set-up is left behind"
    );
    place.assert_nothing_left();

    let again = place.ends(&["resume", "s"]);
    again.assert_code(0);
    place.assert_complete("s", 2, 3);
    assert_eq!(
        place.calls("run") - runs_before,
        4,
        "a finished study measures nothing"
    );
}

#[test]
fn killed_in_setup_it_resumes() {
    killed_in("setup");
}

#[test]
fn killed_in_startup_it_resumes() {
    killed_in("startup");
}

#[test]
fn killed_in_run_it_resumes() {
    killed_in("run");
}

#[test]
fn killed_in_collect_it_resumes() {
    killed_in("collect");
}

#[test]
fn killed_in_reset_it_resumes() {
    killed_in("reset");
}

#[test]
fn killed_in_teardown_it_resumes() {
    killed_in("teardown");
}

#[test]
fn killed_again_and_again_it_resumes_in_the_end() {
    let place = matrix();
    for (n, phase) in ["run", "teardown", "setup", "startup", "collect", "reset"]
        .into_iter()
        .enumerate()
    {
        // Always the next call from here on: each attempt may first put back what the one before left.
        let next = u32::try_from(place.calls(phase) + 2).unwrap();
        place.hold(phase, next);
        let verb: &[&str] = if n == 0 {
            &["run", "plan.toml", "--name", "s"]
        } else {
            &["resume", "s"]
        };
        let run = place.begins(verb);
        place.until_held(phase);
        run.after_sigkill();
        place.release(phase);
        place.assert_nothing_left();
    }
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 2, 3);
    assert!(!exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn killed_after_every_few_events_it_gets_done() {
    let place = matrix();
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    // A trial has some thirty events: the kills fall everywhere in it, and each attempt may get through one or two.
    for events in (20..).step_by(7).take(12) {
        let mut seen = 0;
        while seen < events && run.next_event().is_some() {
            seen += 1;
        }
        if seen < events {
            break;
        }
        run.after_sigkill();
        place.assert_nothing_left();
        run = place.begins(&["resume", "s"]);
    }
    run.ends().assert_code(0);
    place.assert_complete("s", 2, 3);
    assert!(!exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn a_killed_conductor_and_its_killed_agent_leave_nothing_after_resume() {
    let place = matrix();
    place.script("server", "#!/bin/sh\nwhile :; do sleep 1; done\n");
    let with_server = place.read("benchmarks/logged.toml").replace(
        "startup = ",
        &format!("startup = [{{ spawn = \"{}\" }}]\n#", place.at("server")),
    );
    place.write("benchmarks/logged.toml", with_server);
    place.hold("run", 3);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    let agent = crate::processes::agent_of(run.pid);
    // Stopped, the agent can't put anything back before both are dead.
    nix::sys::signal::kill(agent, nix::sys::signal::Signal::SIGSTOP).unwrap();
    run.after_sigkill();
    nix::sys::signal::kill(agent, nix::sys::signal::Signal::SIGKILL).unwrap();
    place.release("run");
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 2, 3);
    assert!(!exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn a_study_that_is_being_measured_cant_be_resumed_or_deleted() {
    let place = matrix();
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    for verb in ["resume", "delete"] {
        let refused = place.ends(&[verb, "s"]);
        refused.assert_code(2);
        refused.assert_says(&["study `s` is", &format!("process {}", run.pid)]);
    }
    assert_eq!(place.study("s")["state"], "running");
    place.release("run");
    run.ends().assert_code(0);
    place.assert_complete("s", 2, 3);
}

#[test]
fn two_resumes_at_once_measure_nothing_twice() {
    let place = matrix();
    place.hold("run", 3);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    run.after_sigkill();
    place.release("run");
    place.assert_nothing_left();
    let before = place.calls("run");
    let both = [
        place.begins(&["resume", "s"]),
        place.begins(&["resume", "s"]),
    ];
    let codes: Vec<Option<i32>> = both
        .into_iter()
        .map(|one| one.ends().status.code())
        .collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    place.assert_complete("s", 2, 3);
    assert_eq!(place.calls("run") - before, 4);
}

#[test]
fn a_study_resumes_with_the_definitions_that_it_began_with() {
    let place = matrix();
    place.hold("run", 3);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("run");
    run.after_sigkill();
    place.release("run");
    for file in ["plan.toml", "lab.toml", "benchmarks/logged.toml"] {
        std::fs::remove_file(place.path(file)).unwrap();
    }
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 2, 3);
}
