//! ^C and SIGTERM: the trial under way is put back and counts for nothing, and `resume` goes on.

use nix::sys::signal::Signal;

use crate::place::{Place, exists};

fn matrix() -> Place {
    let place = Place::new();
    place.logged("logged");
    place.plan(
        "use = [\"logged\"]\nrounds = 3\n[[variant]]\nname = \"v\"\n\
         tester.setup = [\"mkdir @/set-up\", \"@/step setup\"]\n\
         tester.teardown = [\"@/step teardown\", \"rmdir @/set-up\"]\n",
    );
    place
}

/// Interrupts the second trial in this phase, which isn't the put-back.
fn stopped_in(phase: &str, signal: Signal) {
    let place = matrix();
    place.hold(phase, 2);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held(phase);
    run.signal(signal);
    let ended = run.ends();
    ended.assert_code(130);
    ended.assert_says(&[
        "stopping",
        "1 trial measured, 0 failed, 2 left",
        "backsight resume s",
    ]);
    assert!(
        !exists(&place.path("set-up")),
        "the variant's set-up is left behind"
    );
    assert_eq!((place.calls("reset"), place.calls("teardown")), (2, 2));
    place.assert_nothing_left();
    let row = place.study("s");
    assert_eq!(
        (&row["state"], &row["measured"], &row["failed"]),
        (&"stopped".into(), &1.into(), &0.into())
    );

    place.release(phase);
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 3);
    assert!(!exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn interrupted_in_setup_it_puts_back_and_resumes() {
    stopped_in("setup", Signal::SIGINT);
}

#[test]
fn interrupted_in_startup_it_puts_back_and_resumes() {
    stopped_in("startup", Signal::SIGINT);
}

#[test]
fn interrupted_in_run_it_puts_back_and_resumes() {
    stopped_in("run", Signal::SIGINT);
}

#[test]
fn interrupted_in_collect_it_puts_back_and_resumes() {
    stopped_in("collect", Signal::SIGINT);
}

#[test]
fn terminated_in_run_it_puts_back_and_resumes() {
    stopped_in("run", Signal::SIGTERM);
}

#[test]
fn hung_up_in_run_it_puts_back_and_resumes() {
    // The terminal was closed, or the connection to this machine was lost.
    stopped_in("run", Signal::SIGHUP);
}

#[test]
fn interrupted_while_it_puts_back_it_finishes_the_trial_first() {
    for phase in ["reset", "teardown"] {
        let place = matrix();
        place.hold(phase, 2);
        let run = place.begins(&["run", "plan.toml", "--name", "s"]);
        place.until_held(phase);
        run.signal(Signal::SIGINT);
        place.release(phase);
        let ended = run.ends();
        ended.assert_code(130);
        ended.assert_says(&["2 trials measured, 0 failed, 1 left"]);
        assert!(!exists(&place.path("set-up")));
        place.assert_nothing_left();
        place.ends(&["resume", "s"]).assert_code(0);
        place.assert_complete("s", 1, 3);
        assert_eq!(
            place.calls("run"),
            3,
            "the finished trial is not thrown away"
        );
    }
}

#[test]
fn interrupted_twice_it_ends_at_once_and_resume_puts_back() {
    let place = matrix();
    place.hold("teardown", 2);
    let run = place.begins(&["run", "plan.toml", "--name", "s"]);
    place.until_held("teardown");
    run.signal(Signal::SIGINT);
    crate::processes::until("the first interrupt is heard", || {
        run.complaints().contains("stopping")
    });
    run.signal(Signal::SIGINT);
    run.ends().assert_code(130);
    // Its agent puts back.
    place.release("teardown");
    place.assert_nothing_left();
    assert!(
        !exists(&place.path("set-up")),
        "the agent has left the variant's set-up behind"
    );
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 3);
    assert!(!exists(&place.path("set-up")));
    place.assert_nothing_left();
}

#[test]
fn an_interrupt_of_the_whole_process_group_does_the_same() {
    // What a terminal does at ^C: everybody in the foreground gets it.
    use std::os::unix::process::CommandExt as _;
    let place = matrix();
    place.hold("run", 2);
    let mut command = place.command(&["run", "plan.toml", "--name", "s", "--json"]);
    command.process_group(0);
    let run = crate::running::Running::start(command);
    place.until_held("run");
    nix::sys::signal::killpg(run.pid, Signal::SIGINT).unwrap();
    let ended = run.ends();
    ended.assert_code(130);
    ended.assert_says(&["1 trial measured, 0 failed, 2 left"]);
    assert!(!exists(&place.path("set-up")));
    place.release("run");
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 3);
}

#[test]
fn an_interrupted_resume_resumes() {
    let place = matrix();
    for call in [1, 2] {
        place.hold("run", call);
        let verb: &[&str] = if call == 1 {
            &["run", "plan.toml", "--name", "s"]
        } else {
            &["resume", "s"]
        };
        let run = place.begins(verb);
        place.until_held("run");
        run.signal(Signal::SIGINT);
        run.ends().assert_code(130);
        place.release("run");
    }
    place.ends(&["resume", "s"]).assert_code(0);
    place.assert_complete("s", 1, 3);
}
