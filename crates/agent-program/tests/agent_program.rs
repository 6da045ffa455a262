//! The program that is sent to other machines, as a conductor and the programs of a trial use it.

#![allow(clippy::unwrap_used)]

use backsight_agent::{
    AtBarrier, BarrierAnswer, BeginTrial, Client, ProcessExit, StepId, StepOutcome, StepSpec,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_backsight-agent");
/// Nothing here takes that long, unless something is broken.
const LIMIT: Duration = Duration::from_secs(30);

fn output(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn stdout(outcome: &StepOutcome) -> String {
    String::from_utf8(outcome.stdout.clone()).unwrap()
}

#[tokio::test]
async fn steps_find_barriers_and_samplers_in_the_program_that_serves_them() {
    let mut agent = tokio::process::Command::new(PROGRAM);
    agent
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut agent = agent.kill_on_drop(true).spawn().unwrap();
    let (output, input) = (agent.stdout.take().unwrap(), agent.stdin.take().unwrap());
    let client = Client::connect(tokio::io::join(output, input), LIMIT)
        .await
        .unwrap();
    assert_eq!(client.hello().program.as_deref(), Some(PROGRAM));
    client.begin_trial(BeginTrial::default()).await.unwrap();

    let mut reports = client.watch_barriers().await.unwrap();
    let waits = StepSpec::text(1, "backsight barrier x && echo passed", LIMIT);
    let waits = client.run(waits).await.unwrap();
    let came = reports.next().await.unwrap().unwrap();
    assert!(matches!(
        came.what,
        AtBarrier::Arrived {
            step: StepId(1),
            ..
        }
    ));
    client
        .answer_at_barrier(vec![came.arrival], BarrierAnswer::Go(1))
        .await
        .unwrap();
    assert_eq!(stdout(&waits.outcome().await.unwrap()), "passed\n");

    let samples = "backsight monitor cpu memory --interval 1ms --count 2";
    let sampled = client.run(StepSpec::text(2, samples, LIMIT)).await.unwrap();
    let sampled = sampled.outcome().await.unwrap();
    assert_eq!(sampled.finished.exit, Some(ProcessExit::Code(0)));
    // A header of each, and two samples.
    assert_eq!(stdout(&sampled).lines().count(), 2 + 2 * 2);

    client.end_trial().await.unwrap();
    drop((client, reports));
    assert!(agent.wait().await.unwrap().success());
}

#[test]
fn what_only_the_command_has_is_refused_with_a_way_out() {
    for monitor in ["syscalls", "profile"] {
        let refused = output(&["monitor", monitor]);
        assert_eq!(refused.status.code(), Some(2));
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(words.contains("needs the tracer") && words.contains("a program `backsight`"));
    }
    let unknown = output(&["run", "plan.toml"]);
    assert_eq!(unknown.status.code(), Some(2));
}

/// A recording that has its first sample.
fn recording(names: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut monitor = Command::new(PROGRAM);
    monitor
        .arg("monitor")
        .args(names)
        .args(["--interval", "1h"]);
    let mut monitor = monitor.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(monitor.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[0,") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0);
    }
    (monitor, lines)
}

#[test]
fn a_recording_that_is_stopped_takes_its_last_samples() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut monitor, mut lines) = recording(&["memory", "cpu"]);
        let pid = Pid::from_raw(monitor.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(monitor.wait().unwrap().success());
        let samples: Vec<&str> = rest.lines().filter(|line| line.starts_with('[')).collect();
        let last: Vec<&str> = samples.iter().rev().take(2).copied().collect();
        assert!(
            last[0].starts_with("[1,") && last[1].starts_with("[0,"),
            "{rest}"
        );
        for line in rest.lines() {
            assert!(line.ends_with([']', '}']), "{line}");
        }
    }
}

#[test]
fn a_reader_that_has_gone_ends_a_recording_quietly() {
    let mut monitor = Command::new(PROGRAM);
    monitor.args(["monitor", "memory", "--interval", "1ms"]);
    monitor.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut monitor = monitor.spawn().unwrap();
    drop(monitor.stdout.take());
    let ended = monitor.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
}
