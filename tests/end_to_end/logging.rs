//! Why does this lab hang? The log says which request to which host is open since when: on standard error, in the study's file,
//! and when it is asked for.

use nix::sys::signal::Signal;
use std::fs;

use crate::{
    place::{Place, exists},
    processes,
    running::Running,
    terminal::on_terminal,
};

fn place() -> Place {
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 1\n");
    place
}

#[test]
fn a_step_that_hangs_is_named_with_its_request_on_standard_error_in_the_file_and_on_sigusr1() {
    let place = place();
    place.hold("run", 1);
    let run = place.begins(&["run", "plan.toml", "--name", "s", "-vv"]);
    place.until_held("run");
    let log = place.path("store/log/1.log");
    let host = &place.name;
    let held = format!("step{{role=tester host={host} phase=run");
    let request = format!("request{{host=\"{host}\" call=\"follow the step\"}}");
    let written = fs::read_to_string(&log).unwrap();
    let count = |end: &str| {
        let end = format!("{request}: {end}");
        let lines = written.lines().filter(|line| line.contains(&held));
        lines.filter(|line| line.contains(&end)).count()
    };
    assert_eq!((count("new"), count("close")), (1, 0), "{written}");
    // What was before the study's beginning is there too.
    let host = format!("INFO host{{name={host}}}: new");
    assert!(written.contains(&host), "{written}");
    run.signal(Signal::SIGUSR1);
    processes::until("the open spans are listed", || {
        fs::read_to_string(&log).unwrap().contains(" open:\n")
    });
    processes::until("the same on standard error", || {
        run.complaints().contains(" open:\n")
    });
    for said in [fs::read_to_string(&log).unwrap(), run.complaints()] {
        let (_, list) = said.split_once(" open:\n").unwrap();
        let line = list.lines().find(|line| line.contains(&held)).unwrap();
        assert!(
            line.starts_with("  for ") && line.ends_with(&request),
            "{list}"
        );
        assert!(line.contains(" s: study{id=1 name=s}: trial{"), "{list}");
    }
    place.release("run");
    let ended = run.ends();
    ended.assert_code(0);
    ended.assert_says(&[
        "DEBUG study{id=1 name=s}:trial{",
        "INFO study{id=1 name=s}: close",
    ]);
    let written = fs::read_to_string(&log).unwrap();
    assert!(
        written.contains("INFO study{id=1 name=s}: close"),
        "{written}"
    );
    place.prints_of(&["delete", "s"]);
    assert!(!exists(&log), "a deleted study's log is left");
}

#[test]
fn nothing_is_logged_to_standard_error_unless_it_is_asked_for() {
    let place = place();
    let silent = place.ends(&["run", "plan.toml", "--name", "silent"]);
    assert!(!silent.words().contains("study{"), "{}", silent.words());
    let once = place.ends(&["run", "plan.toml", "--name", "once", "-v"]);
    once.assert_says(&["INFO study{id=2 name=once}: new"]);
    assert!(!once.words().contains("request{"), "{}", once.words());
    // The variable names what is wanted, of an agent too; whose lines come through its conductor's.
    let run = |filter: &str| {
        let mut command = place.command(&["run", "plan.toml", "--rounds", "1"]);
        command.env("BACKSIGHT_LOG", filter);
        Running::start(command).ends()
    };
    run("backsight_agent=debug").assert_says(&["call=\"begin the trial\""]);
    let refused = run("backsight=loud");
    refused.assert_code(2);
    refused.assert_says(&[
        "BACKSIGHT_LOG is `backsight=loud`, which is no filter",
        "help:",
    ]);
}

#[test]
fn what_the_progress_says_stands_once_on_standard_error_and_in_the_file() {
    let place = place();
    place.prints("failing", "exit 3");
    place.plan("use = [\"failing\"]\nrounds = 1\n");
    let run = place.ends(&["run", "plan.toml", "--name", "f", "-v"]);
    let fault = "exited with code 3";
    assert_eq!(run.stderr.matches(fault).count(), 1, "{}", run.stderr);
    let log = place.read("store/log/1.log");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(fault)).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains(" WARN "), "{log}");
}

#[test]
fn an_agent_logs_to_its_standard_error_which_its_conductor_logs() {
    let place = place();
    let mut command = place.command(&["run", "plan.toml"]);
    command.env("BACKSIGHT_LOG", "debug");
    let ended = Running::start(command).ends();
    ended.assert_code(0);
    let said = format!("host{{name={}}}: said:", place.name);
    ended.assert_says(&[&said, "request{call=\"/backsight.agent"]);
}

#[test]
fn a_log_that_cant_be_written_breaks_nothing() {
    let place = place();
    fs::create_dir(place.path("store")).unwrap();
    place.write("store/log", "a file where the folder of logs would be");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
    // A disk without room for the log.
    fs::remove_file(place.path("store/log")).unwrap();
    fs::create_dir(place.path("store/log")).unwrap();
    std::os::unix::fs::symlink("/dev/full", place.path("store/log/2.log")).unwrap();
    place
        .ends(&["run", "plan.toml", "--name", "t"])
        .assert_code(0);
    place.assert_complete("t", 1, 1);
}

#[test]
fn lines_of_the_log_stand_above_the_progress_line() {
    let place = place();
    let shown = on_terminal(&place, 400, &["run", "plan.toml", "-v"]);
    // Before each line the progress line is cleared, which a terminal does at the end of this sequence.
    let lines = shown.lines().filter(|line| line.contains(" INFO "));
    let lines: Vec<&str> = lines
        .map(|line| {
            line.rsplit(['\r', '\u{1b}'])
                .find(|part| part.contains(" INFO "))
                .unwrap()
        })
        .collect();
    assert!(lines.len() > 4, "{shown:?}");
    for line in lines {
        let line = line.trim_start_matches("[2K").trim_start_matches("[1A");
        assert!(
            line.starts_with("20") && line.contains("Z  INFO "),
            "{line:?} in {shown:?}"
        );
    }
}
