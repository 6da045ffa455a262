//! Real agents, real processes: what a step can do to its host, and what must be left of it.

#![allow(clippy::unwrap_used)]

use backsight_test_needs::Need;
use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use backsight_agent::{
    AgentError, AgentMark, BeginTrial, Client, Condition, EndReason, Finished, HoldState,
    MARK_VARIABLE, ProcessExit, ReadyCheck, RunningStep, StepCommand, StepEvent, StepId,
    StepOutcome, StepSpec, TrialBegun, sweep,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command as Process};
use tokio::time::timeout;

/// Nothing here takes that long, unless something is broken.
const LIMIT: Duration = Duration::from_secs(30);

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().with_file_name("examples").join(name);
    assert!(
        program.exists(),
        "{} is built by `cargo test`",
        program.display()
    );
    program
}

/// An agent with an open trial.
struct Host {
    process: Child,
    client: Client,
    trial: TrialBegun,
}

impl Host {
    async fn start() -> Self {
        Self::from_process(Process::new(built("agent"))).await
    }

    async fn from_process(mut agent: Process) -> Self {
        let mut process = agent
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stream = tokio::io::join(
            process.stdout.take().unwrap(),
            process.stdin.take().unwrap(),
        );
        let client = Client::connect(stream, LIMIT).await.unwrap();
        let begin = BeginTrial {
            trial: "trial".into(),
            env: BTreeMap::from([("TRIAL_VARIABLE".into(), "seen".into())]),
            ..BeginTrial::default()
        };
        let trial = client.begin_trial(begin).await.unwrap();
        Self {
            process,
            client,
            trial,
        }
    }

    fn mark(&self) -> AgentMark {
        self.client.hello().mark.clone()
    }

    async fn run(&self, step: StepSpec) -> RunningStep {
        self.client.run(step).await.unwrap()
    }

    async fn outcome(&self, step: StepSpec) -> StepOutcome {
        self.run(step).await.outcome().await.unwrap()
    }

    async fn sh(&self, id: u64, text: &str) -> StepOutcome {
        self.outcome(StepSpec::text(id, text, LIMIT)).await
    }

    /// Closes the stream and waits until the agent has gone by itself.
    async fn close(self) {
        let Self {
            mut process,
            client,
            ..
        } = self;
        let mark = client.hello().mark.clone();
        drop(client);
        let status = timeout(LIMIT, process.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}");
        assert_nothing_left(&mark);
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.mark().pid.cast_signed()), signal).unwrap();
    }
}

/// The living processes that bear an agent's mark, the agent not counted.
fn marked(mark: &AgentMark) -> Vec<String> {
    let variable = format!("{MARK_VARIABLE}={}/", mark.mark);
    let bears = |entry: &std::fs::DirEntry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(variable.as_bytes()))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(bears)
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|pid| *pid != mark.pid.to_string())
        .collect()
}

fn assert_nothing_left(mark: &AgentMark) {
    assert_eq!(marked(mark), [] as [String; 0]);
    assert!(!mark.folder.exists(), "{} is left", mark.folder.display());
    assert!(
        !mark.cgroup.as_ref().is_some_and(|cgroup| cgroup.exists()),
        "{:?} is left",
        mark.cgroup
    );
}

async fn until(run: &mut RunningStep, wanted: impl Fn(&StepEvent) -> bool) -> StepEvent {
    loop {
        let event = timeout(LIMIT, run.next()).await.unwrap().unwrap().unwrap();
        if wanted(&event) {
            return event;
        }
        assert!(!matches!(event, StepEvent::Finished(_)), "{event:?}");
    }
}

async fn finished(run: &mut RunningStep) -> Finished {
    match until(run, |event| matches!(event, StepEvent::Finished(_))).await {
        StepEvent::Finished(finished) => finished,
        other => panic!("{other:?}"),
    }
}

fn is_ready(event: &StepEvent) -> bool {
    matches!(event, StepEvent::Ready(_))
}

fn is_held(event: &StepEvent) -> bool {
    matches!(event, StepEvent::Held(_))
}

/// What a step says once its processes are in place.
fn ready_line(line: &str) -> Option<ReadyCheck> {
    Some(ReadyCheck {
        condition: Condition::Line(line.into()),
        timeout: LIMIT,
    })
}

fn background(id: u64, text: &str) -> StepSpec {
    StepSpec {
        background: true,
        ..StepSpec::text(id, text, LIMIT)
    }
}

// ---- how a step ends

#[tokio::test]
async fn a_step_tells_its_exit_code_and_both_streams() {
    let host = Host::start().await;
    let outcome = host.sh(1, "echo out; echo err >&2; exit 3").await;
    assert_eq!(outcome.finished.reason, EndReason::Exited);
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Code(3)));
    assert!(!outcome.finished.as_expected);
    assert_eq!(
        (outcome.stdout.as_slice(), outcome.stderr.as_slice()),
        (b"out\n".as_slice(), b"err\n".as_slice())
    );
    assert_eq!(
        (outcome.finished.stdout_bytes, outcome.finished.stderr_bytes),
        (4, 4)
    );
    assert!(!outcome.finished.truncated);
    assert!(outcome.finished.wall().unwrap() > Duration::ZERO);
    host.close().await;
}

#[tokio::test]
async fn an_exit_code_that_is_expected_is_a_success() {
    let host = Host::start().await;
    let outcome = host
        .outcome(StepSpec {
            expect: vec![0, 3],
            ..StepSpec::text(1, "exit 3", LIMIT)
        })
        .await;
    assert!(outcome.finished.as_expected);
    host.close().await;
}

#[tokio::test]
async fn a_step_killed_by_a_signal_tells_which() {
    let host = Host::start().await;
    let outcome = host.sh(1, "kill -SEGV $$").await;
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Signal(11)));
    assert!(!outcome.finished.as_expected);
    host.close().await;
}

#[tokio::test]
async fn what_a_step_used_is_counted() {
    let host = Host::start().await;
    let outcome = host
        .sh(1, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
        .await;
    let usage = outcome.finished.usage.unwrap();
    assert!(usage.user > Duration::from_millis(5), "{usage:?}");
    // The kernel can't tell it from what the process had of ours.
    assert_eq!(usage.max_rss_bytes, 0, "{usage:?}");
    let large = "dd if=/dev/zero bs=200M count=1 of=/dev/null";
    let usage = host.sh(2, large).await.finished.usage.unwrap();
    let expected = 200 << 20..210 << 20;
    assert!(expected.contains(&usage.max_rss_bytes), "{usage:?}");
    host.close().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let host = Host::start().await;
    let wanted = EndReason::NotFound {
        program: "no-such-program-here".into(),
    };
    let commands = [
        "no-such-program-here --fast",
        "no-such-program-here | cat; exit 127",
        "no-such-program-here > file",
        "exec no-such-program-here > file",
    ];
    for (step, command) in (1..).zip(commands) {
        let finished = host.sh(step, command).await.finished;
        assert_eq!(finished.reason, wanted, "{command}");
    }
    let held = host
        .outcome(StepSpec {
            hold: true,
            ..StepSpec::text(9, "no-such-program-here", LIMIT)
        })
        .await;
    assert_eq!(held.finished.reason, wanted);
    host.close().await;
}

#[tokio::test]
async fn a_program_that_the_system_refuses_can_not_be_started() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::start().await;
    let script = host.trial.scratch.join("script");
    std::fs::write(&script, "#!/no/such/interpreter").unwrap();
    let refused = |outcome: StepOutcome| match outcome.finished.reason {
        EndReason::CannotStart { why } => assert!(why.contains("script"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(host.sh(1, "./script").await);
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    refused(host.sh(2, "./script").await);
    refused(
        host.outcome(StepSpec {
            hold: true,
            ..StepSpec::text(3, "./script", LIMIT)
        })
        .await,
    );
    host.close().await;
}

#[tokio::test]
async fn a_step_runs_in_its_folder_with_its_environment_and_exact_words() {
    let host = Host::start().await;
    assert_eq!(
        host.sh(1, "pwd").await.stdout,
        format!("{}\n", host.trial.scratch.display()).into_bytes()
    );
    let step = StepSpec {
        cwd: Some("/".into()),
        ..StepSpec::text(2, "pwd", LIMIT)
    };
    assert_eq!(host.outcome(step).await.stdout, b"/\n");
    let env = BTreeMap::from([
        ("STEP_VARIABLE".into(), "too".into()),
        (MARK_VARIABLE.into(), "hidden".into()),
    ]);
    let outcome = host
        .outcome(StepSpec {
            env,
            ..StepSpec::text(3, "env", LIMIT)
        })
        .await;
    let env = String::from_utf8(outcome.stdout).unwrap();
    let mark = format!("{MARK_VARIABLE}={}/trial", host.mark().mark);
    for line in ["TRIAL_VARIABLE=seen", "STEP_VARIABLE=too", &mark] {
        assert!(env.lines().any(|there| there == line), "{line} in {env}");
    }
    let words = ["printf", "%s|", "", "a b", "$HOME", "'", "*"]
        .map(String::from)
        .to_vec();
    assert_eq!(
        host.outcome(StepSpec::new(4, StepCommand::Argv(words), LIMIT))
            .await
            .stdout,
        b"|a b|$HOME|'|*|"
    );
    host.close().await;
}

#[tokio::test]
async fn a_step_at_its_time_limit_is_ended_though_it_ignores_the_polite_signal() {
    let host = Host::start().await;
    let text = "trap '' TERM; echo begun; while :; do sleep 60; done";
    let step = StepSpec {
        timeout: Duration::from_millis(200),
        grace: Duration::from_millis(200),
        ..StepSpec::text(1, text, LIMIT)
    };
    let outcome = host.outcome(step).await;
    assert_eq!(outcome.finished.reason, EndReason::TimedOut);
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Signal(9)));
    assert_eq!(outcome.stdout, b"begun\n");
    // Its shell's child was in the same group.
    assert_eq!(marked(&host.mark()), [] as [String; 0]);
    host.close().await;
}

#[tokio::test]
async fn a_step_that_obeys_at_its_time_limit_keeps_its_last_words() {
    let host = Host::start().await;
    let text = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done";
    let outcome = host
        .outcome(StepSpec {
            timeout: Duration::from_millis(200),
            ..StepSpec::text(1, text, LIMIT)
        })
        .await;
    assert_eq!(outcome.finished.reason, EndReason::TimedOut);
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Code(0)));
    assert!(!outcome.finished.as_expected);
    assert_eq!(outcome.stdout, b"bye\n");
    host.close().await;
}

// ---- output

#[tokio::test]
async fn ten_megabytes_arrive_as_they_were_written() {
    let host = Host::start().await;
    let outcome = host.sh(1, "seq 1 1500000").await;
    let wanted: String = (1..=1_500_000).map(|n| format!("{n}\n")).collect();
    assert!(wanted.len() > 10_000_000);
    assert!(outcome.stdout == wanted.as_bytes());
    assert!(std::fs::read(host.trial.spool.join("1.stdout")).unwrap() == wanted.as_bytes());
    host.close().await;
}

#[tokio::test]
async fn a_step_that_never_stops_writing_is_ended_at_its_limit() {
    let host = Host::start().await;
    let outcome = host
        .outcome(StepSpec {
            output_limit: 1_000_001,
            ..StepSpec::text(1, "yes", LIMIT)
        })
        .await;
    assert_eq!(outcome.finished.reason, EndReason::OutputLimit);
    assert_eq!(outcome.stdout.len(), 1_000_001);
    assert!(outcome.finished.truncated);
    assert!(outcome.finished.stdout_bytes > 1_000_001);
    host.close().await;
}

#[tokio::test]
async fn a_flood_that_ignores_the_polite_signal_is_ended_all_the_same() {
    let host = Host::start().await;
    let step = StepSpec {
        output_limit: 1000,
        grace: Duration::from_millis(200),
        ..StepSpec::text(1, "trap '' TERM; yes >&2 & yes", LIMIT)
    };
    let outcome = host.outcome(step).await;
    assert_eq!(outcome.finished.reason, EndReason::OutputLimit);
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Signal(9)));
    assert_eq!((outcome.stdout.len(), outcome.stderr.len()), (1000, 1000));
    assert_eq!(marked(&host.mark()), [] as [String; 0]);
    host.close().await;
}

#[tokio::test]
async fn output_of_exactly_the_limit_is_no_fault() {
    let host = Host::start().await;
    let outcome = host
        .outcome(StepSpec {
            output_limit: 100_000,
            ..StepSpec::text(1, "head -c 100000 /dev/zero", LIMIT)
        })
        .await;
    assert!(outcome.finished.as_expected, "{:?}", outcome.finished);
    assert!(!outcome.finished.truncated);
    host.close().await;
}

#[tokio::test]
async fn a_step_does_not_wait_for_a_daemon_that_holds_its_output() {
    let host = Host::start().await;
    // The shell waits until its child has become another program: until then it is one more shell.
    let outcome = host
        .sh(
            1,
            "echo early; sleep 1000 & until grep -qx sleep /proc/$!/comm; do :; done; echo late",
        )
        .await;
    assert_eq!(outcome.stdout, b"early\nlate\n");
    assert!(outcome.finished.as_expected);
    // The daemon lives until the trial ends.
    assert_eq!(marked(&host.mark()).len(), 1);
    let ended = host.client.end_trial().await.unwrap();
    assert_eq!(
        ended
            .survivors
            .iter()
            .map(|survivor| survivor.name.as_str())
            .collect::<Vec<_>>(),
        ["sleep"]
    );
    assert_nothing_left_of_trial(&host);
    host.close().await;
}

fn assert_nothing_left_of_trial(host: &Host) {
    assert_eq!(marked(&host.mark()), [] as [String; 0]);
    assert!(!host.trial.scratch.exists() && !host.trial.spool.exists());
}

#[tokio::test]
async fn a_full_disk_fails_the_step_with_its_reason() {
    if Need::Root.is_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Process::new("unshare");
    agent.args([
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs -o size=1m none \"$TMPDIR\" && exec \"$0\"",
    ]);
    let host = Host::from_process({
        agent.arg(built("agent")).env("TMPDIR", folder.path());
        agent
    })
    .await;
    let outcome = host.sh(1, "head -c 3000000 /dev/zero").await;
    let EndReason::Spool { why } = &outcome.finished.reason else {
        panic!("{:?}", outcome.finished)
    };
    assert!(why.contains("No space left"), "{why}");
    assert!(outcome.finished.truncated);
    // The agent is well: what needs no disk goes on.
    assert!(host.sh(2, "true").await.finished.as_expected);
    let ended = host.client.end_trial().await.unwrap();
    assert_eq!(ended.left, None);
    assert!(host.client.begin_trial(BeginTrial::default()).await.is_ok());
    host.close().await;
}

// ---- readiness

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn subject(id: u64, what: &str, port: u16) -> StepSpec {
    let words = vec![
        built("subject").display().to_string(),
        what.into(),
        port.to_string(),
    ];
    StepSpec {
        background: true,
        ..StepSpec::new(id, StepCommand::Argv(words), LIMIT)
    }
}

async fn becomes_ready_and_is_stopped(host: &Host, step: StepSpec) {
    let id = step.id;
    let mut run = host.run(step).await;
    until(&mut run, is_ready).await;
    host.client.stop(id, None, None).await.unwrap();
    let finished = finished(&mut run).await;
    assert_eq!(finished.reason, EndReason::Stopped);
    assert!(finished.as_expected, "{finished:?}");
}

#[tokio::test]
async fn a_server_is_ready_when_its_port_listens() {
    let host = Host::start().await;
    let port = free_port();
    let ready = ReadyCheck {
        condition: Condition::Listens(port),
        timeout: LIMIT,
    };
    becomes_ready_and_is_stopped(
        &host,
        StepSpec {
            ready: Some(ready),
            ..subject(1, "listen", port)
        },
    )
    .await;
    host.close().await;
}

#[tokio::test]
async fn a_server_is_ready_when_its_port_is_bound() {
    let host = Host::start().await;
    let port = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ready = ReadyCheck {
        condition: Condition::Binds(port),
        timeout: LIMIT,
    };
    becomes_ready_and_is_stopped(
        &host,
        StepSpec {
            ready: Some(ready),
            ..subject(1, "bind", port)
        },
    )
    .await;
    host.close().await;
}

#[tokio::test]
async fn a_server_is_ready_when_it_says_so_on_either_stream() {
    let host = Host::start().await;
    for (id, text) in [
        (1, "echo noise; echo serving on 80; exec sleep 1000"),
        (2, "echo serving on 81 >&2; exec sleep 1000"),
    ] {
        becomes_ready_and_is_stopped(
            &host,
            StepSpec {
                ready: ready_line("^serving on [0-9]+$"),
                ..background(id, text)
            },
        )
        .await;
    }
    host.close().await;
}

#[tokio::test]
async fn a_server_is_ready_when_its_file_exists() {
    let host = Host::start().await;
    let ready = ReadyCheck {
        condition: Condition::File("server.pid".into()),
        timeout: LIMIT,
    };
    let text = "sleep 0.03; echo $$ > server.pid; exec sleep 1000";
    becomes_ready_and_is_stopped(
        &host,
        StepSpec {
            ready: Some(ready),
            ..background(1, text)
        },
    )
    .await;
    host.close().await;
}

#[tokio::test]
async fn a_port_that_somebody_else_listens_on_is_no_sign_of_readiness() {
    let host = Host::start().await;
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let condition = Condition::Listens(other.local_addr().unwrap().port());
    let ready = Some(ReadyCheck {
        condition,
        timeout: Duration::from_millis(100),
    });
    let outcome = host
        .outcome(StepSpec {
            ready,
            ..background(1, "sleep 1000")
        })
        .await;
    let EndReason::NeverReady { why } = &outcome.finished.reason else {
        panic!("{:?}", outcome.finished)
    };
    assert!(why.contains("another program"), "{why}");
    assert!(!outcome.finished.as_expected);
    host.close().await;
}

#[tokio::test]
async fn a_server_that_exits_before_it_is_ready_says_so() {
    let host = Host::start().await;
    let outcome = host
        .outcome(StepSpec {
            ready: ready_line("never said"),
            ..background(1, "echo no; exit 0")
        })
        .await;
    assert!(
        matches!(outcome.finished.reason, EndReason::ExitedBeforeReady { .. }),
        "{:?}",
        outcome.finished
    );
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Code(0)));
    assert!(!outcome.finished.as_expected);
    assert_eq!(outcome.stdout, b"no\n");
    host.close().await;
}

#[tokio::test]
async fn a_server_that_becomes_a_daemon_is_ready_and_lives_on() {
    let host = Host::start().await;
    let ready = Some(ReadyCheck {
        condition: Condition::File("up".into()),
        timeout: LIMIT,
    });
    let mut run = host
        .run(StepSpec {
            ready,
            ..background(1, "setsid sleep 1000 & touch up")
        })
        .await;
    until(&mut run, is_ready).await;
    assert_eq!(finished(&mut run).await.reason, EndReason::Exited);
    assert_eq!(marked(&host.mark()).len(), 1);
    host.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_step_is_refused() {
    let host = Host::start().await;
    let no_pattern = StepSpec {
        ready: ready_line("("),
        ..background(1, "true")
    };
    assert!(matches!(
        host.client.run(no_pattern).await,
        Err(AgentError::Refused { .. })
    ));
    assert!(host.sh(2, "true").await.finished.as_expected);
    assert!(matches!(
        host.client.run(StepSpec::text(2, "true", LIMIT)).await,
        Err(AgentError::Refused { .. })
    ));
    assert!(matches!(
        host.client.stop(StepId(99), None, None).await,
        Err(AgentError::Refused { .. })
    ));
    host.client.end_trial().await.unwrap();
    assert!(matches!(
        host.client.run(StepSpec::text(3, "true", LIMIT)).await,
        Err(AgentError::Refused { .. })
    ));
    assert!(matches!(
        host.client.end_trial().await,
        Err(AgentError::Refused { .. })
    ));
    host.close().await;
}

// ---- held starts

#[tokio::test]
async fn a_held_program_does_nothing_until_its_instant() {
    let host = Host::start().await;
    let step = StepSpec {
        hold: true,
        ..StepSpec::text(1, "touch done", LIMIT)
    };
    let mut run = host.run(step).await;
    assert!(matches!(
        until(&mut run, is_held).await,
        StepEvent::Held(HoldState::Entry)
    ));
    assert!(!host.trial.scratch.join("done").exists());
    let clock = nix::time::ClockId::CLOCK_MONOTONIC;
    let now = nix::time::clock_gettime(clock).unwrap();
    let at = u64::try_from(now.tv_sec() * 1_000_000_000 + now.tv_nsec()).unwrap() + 50_000_000;
    host.client.release(StepId(1), at).await.unwrap();
    let begun = until(&mut run, |event| matches!(event, StepEvent::Begun(_))).await;
    assert!(matches!(begun, StepEvent::Begun(moment) if moment.monotonic_ns >= at));
    let finished = finished(&mut run).await;
    assert!(finished.as_expected, "{finished:?}");
    assert!(finished.begun.unwrap().monotonic_ns >= at);
    assert!(host.trial.scratch.join("done").exists());
    host.close().await;
}

/// What a program can see of how it was started.
async fn traces(host: &Host, id: u64, hold: bool) -> Vec<String> {
    let text = "cat /proc/self/status /proc/self/timerslack_ns /proc/self/stat";
    let run = host
        .run(StepSpec {
            hold,
            ..StepSpec::text(id, text, LIMIT)
        })
        .await;
    if hold {
        host.client
            .release(StepId(id), 0)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let outcome = run.outcome().await.unwrap();
    assert!(outcome.finished.as_expected, "{:?}", outcome.finished);
    let told = [
        "TracerPid",
        "SigPnd",
        "ShdPnd",
        "SigBlk",
        "SigIgn",
        "SigCgt",
        "CapEff",
        "NoNewPrivs",
        "Seccomp",
        "FDSize",
    ];
    let text = String::from_utf8(outcome.stdout).unwrap();
    let lines = text.lines().filter(|line| {
        line.parse::<u64>().is_ok() || told.iter().any(|name| line.starts_with(name))
    });
    // The two highest signals of these are the C library's own: its posix_spawn ignores them for the child.
    let mut seen: Vec<String> = lines
        .map(|line| line.replace("SigIgn:\t0000000180000000", "SigIgn:\t0000000080000000"))
        .map(|line| line.replace("SigIgn:\t0000000080000000", "SigIgn:\t0000000000000000"))
        .collect();
    // The real-time priority and the policy of its scheduling (proc_pid_stat(5), fields 40 and 41).
    let stat = text.rsplit_once(") ").unwrap().1;
    seen.extend(
        stat.split(' ')
            .skip(37)
            .take(2)
            .map(|field| format!("scheduled: {field}")),
    );
    seen
}

#[tokio::test]
async fn a_program_that_was_held_can_not_tell() {
    let host = Host::start().await;
    let plain = traces(&host, 1, false).await;
    let held = traces(&host, 2, true).await;
    assert_eq!(plain, held);
    for line in [
        "TracerPid:\t0",
        "SigBlk:\t0000000000000000",
        "SigIgn:\t0000000000000000",
        "SigPnd:\t0000000000000000",
        "scheduled: 0",
        "50000",
    ] {
        assert!(held.iter().any(|there| there == line), "{line} in {held:?}");
    }
    host.close().await;
}

#[tokio::test]
async fn held_programs_begin_in_the_order_of_their_release() {
    let host = Host::start().await;
    let mut runs = Vec::new();
    for id in 0..4 {
        let step = StepSpec {
            hold: true,
            ..StepSpec::text(id, "date +%s", LIMIT)
        };
        let mut run = host.run(step).await;
        until(&mut run, is_held).await;
        runs.push(run);
    }
    let mut begun = Vec::new();
    // The last first.
    for run in runs.iter_mut().rev() {
        host.client.release(run.step(), 0).await.unwrap();
        begun.push(finished(run).await.begun.unwrap().monotonic_ns);
    }
    assert!(begun.is_sorted_by(|a, b| a < b), "{begun:?}");
    host.close().await;
}

#[tokio::test]
async fn scripts_shells_and_static_programs_can_be_held() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::start().await;
    let script = host.trial.scratch.join("script");
    std::fs::write(&script, "#!/bin/sh\necho from a script\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    for (id, text, wanted) in [
        (1, "./script", "from a script\n"),
        (2, "echo from a shell;", "from a shell\n"),
    ] {
        let mut run = host
            .run(StepSpec {
                hold: true,
                ..StepSpec::text(id, text, LIMIT)
            })
            .await;
        until(&mut run, is_held).await;
        host.client.release(StepId(id), 0).await.unwrap();
        assert_eq!(run.outcome().await.unwrap().stdout, wanted.as_bytes());
    }
    host.close().await;
}

#[tokio::test]
async fn a_held_program_can_be_stopped_forsaken_and_ended_with_its_trial() {
    let host = Host::start().await;
    let mut runs = Vec::new();
    for id in 1..=3 {
        let mut run = host
            .run(StepSpec {
                hold: true,
                ..StepSpec::text(id, "touch done", LIMIT)
            })
            .await;
        until(&mut run, is_held).await;
        runs.push(run);
    }
    // Far away: nothing waits for that instant.
    let far = host.client.hello().now.monotonic_ns + 50_000_000_000;
    host.client.release(StepId(2), far).await.unwrap();
    host.client.stop(StepId(1), None, None).await.unwrap();
    assert_eq!(finished(&mut runs[0]).await.reason, EndReason::Stopped);
    drop(runs.remove(2));
    let ended = host.client.end_trial().await.unwrap();
    assert_eq!(ended.unkillable, [0_u32; 0]);
    assert_eq!(finished(&mut runs[1]).await.reason, EndReason::TrialEnded);
    assert_nothing_left_of_trial(&host);
    host.close().await;
}

#[tokio::test]
async fn a_program_that_dies_while_it_is_loaded_is_no_riddle() {
    let host = Host::start().await;
    let env = BTreeMap::from([
        ("LD_BIND_NOW".into(), "1".into()),
        ("LD_TRACE_LOADED_OBJECTS".into(), "1".into()),
    ]);
    // With this set, the dynamic linker lists the libraries and exits, before the program's first instruction.
    let outcome = host
        .outcome(StepSpec {
            hold: true,
            env,
            ..StepSpec::text(1, "env", LIMIT)
        })
        .await;
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Code(0)));
    assert!(!outcome.stdout.is_empty());
    assert_eq!(outcome.finished.begun, None);
    host.close().await;
}

#[tokio::test]
async fn a_program_that_may_not_be_traced_is_held_before_it_is_loaded() {
    let (mount, nobody) = (Path::new("/usr/bin/mount"), "65534");
    let is_setuid = std::fs::metadata(mount)
        .is_ok_and(|file| std::os::unix::fs::MetadataExt::mode(&file) & 0o4000 != 0);
    let found = if is_setuid {
        Ok(())
    } else {
        Err("mount isn't one")
    };
    if Need::Root.is_missing() || Need::Setuid.is_missing_in(found) {
        return;
    }
    // A copy, where nobody can reach it.
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(
        place.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o777),
    )
    .unwrap();
    std::fs::copy(built("agent"), place.path().join("agent")).unwrap();
    let mut agent = Process::new("setpriv");
    agent
        .args(["--reuid", nobody, "--regid", nobody, "--clear-groups"])
        .arg(place.path().join("agent"));
    agent.env("TMPDIR", place.path());
    let host = Host::from_process(agent).await;
    for (id, hold) in [
        (1, "/usr/bin/mount --version"),
        (2, "/usr/bin/mount --version"),
    ] {
        let mut run = host
            .run(StepSpec {
                hold: true,
                ..StepSpec::text(id, hold, LIMIT)
            })
            .await;
        assert!(matches!(
            until(&mut run, is_held).await,
            StepEvent::Held(HoldState::BeforeExec)
        ));
        if id == 1 {
            host.client.release(StepId(id), 0).await.unwrap();
            let outcome = run.outcome().await.unwrap();
            assert!(outcome.finished.as_expected, "{:?}", outcome.finished);
            assert!(outcome.stdout.starts_with(b"mount"));
        } else {
            host.client.stop(StepId(id), None, None).await.unwrap();
            assert_eq!(finished(&mut run).await.reason, EndReason::Stopped);
        }
    }
    let plain = traces(&host, 3, true).await;
    assert!(plain.iter().any(|line| line == "TracerPid:\t0"));
    host.close().await;
}

// ---- nothing survives

/// Leaves a process that ignores SIGTERM in the step's group, one in a session of its own, and one whose parent is
/// gone as well.
const CLINGING: &str = "
    (trap '' TERM; echo group; while :; do sleep 1000; done) &
    setsid sh -c 'trap \"\" TERM HUP INT; echo session; while :; do sleep 1000; done' &
    (setsid sh -c '(trap \"\" TERM HUP; echo orphan; while :; do sleep 1000; done) & exit' &)
    wait
";

/// Starts that and waits until it is all there.
async fn clinging(host: &Host, id: u64) -> RunningStep {
    let mut run = host
        .run(StepSpec {
            ready: ready_line("never said"),
            ..background(id, CLINGING)
        })
        .await;
    until(&mut run, |event| matches!(event, StepEvent::Started { .. })).await;
    let spool = host.trial.spool.join(format!("{id}.stdout"));
    let there = async {
        while std::fs::read_to_string(&spool)
            .unwrap_or_default()
            .lines()
            .count()
            < 3
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, there).await.unwrap();
    assert!(marked(&host.mark()).len() >= 4);
    run
}

#[tokio::test]
async fn nothing_survives_its_trial() {
    let host = Host::start().await;
    let mut run = clinging(&host, 1).await;
    let ended = host.client.end_trial().await.unwrap();
    assert_eq!(finished(&mut run).await.reason, EndReason::TrialEnded);
    assert!(ended.survivors.len() >= 4, "{:?}", ended.survivors);
    assert!(
        ended
            .survivors
            .iter()
            .any(|survivor| survivor.step == Some(StepId(1)))
    );
    assert_eq!(
        (ended.unkillable.as_slice(), ended.left),
        ([].as_slice(), None)
    );
    assert_nothing_left_of_trial(&host);
    host.close().await;
}

#[tokio::test]
async fn what_forks_faster_than_it_can_be_looked_up_does_not_survive_either() {
    let host = Host::start().await;
    let text = "echo go; while :; do (setsid sleep 1000 &) ; done";
    let mut run = host
        .run(StepSpec {
            ready: ready_line("go"),
            ..background(1, text)
        })
        .await;
    until(&mut run, is_ready).await;
    host.client.end_trial().await.unwrap();
    assert_nothing_left_of_trial(&host);
    drop(run);
    host.close().await;
}

#[tokio::test]
async fn a_new_trial_ends_the_one_that_was_open() {
    let host = Host::start().await;
    let mut run = clinging(&host, 1).await;
    let again = host
        .client
        .begin_trial(BeginTrial::default())
        .await
        .unwrap();
    assert_eq!(finished(&mut run).await.reason, EndReason::TrialEnded);
    assert_nothing_left_of_trial(&host);
    assert!(again.scratch.is_dir());
    assert!(host.sh(1, "true").await.finished.as_expected);
    host.close().await;
}

#[tokio::test]
async fn a_step_whose_stream_is_dropped_is_killed() {
    let host = Host::start().await;
    let mut run = host
        .run(StepSpec {
            ready: ready_line("go"),
            ..background(1, "trap '' TERM; echo go; while :; do sleep 1000; done")
        })
        .await;
    until(&mut run, is_ready).await;
    assert!(!marked(&host.mark()).is_empty());
    drop(run);
    let gone = async {
        while !marked(&host.mark()).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, gone).await.unwrap();
    host.close().await;
}

#[tokio::test]
async fn the_rest_of_a_stopped_step_has_its_grace_too() {
    let host = Host::start().await;
    let text =
        "(trap 'sleep 0.1; echo bye; exit' TERM; echo go; while :; do sleep 0.01; done) & wait";
    let mut run = host
        .run(StepSpec {
            ready: ready_line("go"),
            ..background(1, text)
        })
        .await;
    until(&mut run, is_ready).await;
    host.client.stop(StepId(1), None, None).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.stdout, b"go\nbye\n");
    assert_eq!(outcome.finished.exit, Some(ProcessExit::Signal(15)));
    assert!(outcome.finished.as_expected);
    host.close().await;
}

#[tokio::test]
async fn an_agent_whose_stream_is_closed_leaves_nothing() {
    let host = Host::start().await;
    let _run = clinging(&host, 1).await;
    let mut held = host
        .run(StepSpec {
            hold: true,
            ..StepSpec::text(2, "sleep 1000", LIMIT)
        })
        .await;
    until(&mut held, is_held).await;
    drop((_run, held));
    host.close().await;
}

#[tokio::test]
async fn an_agent_that_is_left_alone_with_a_trial_puts_its_host_back() {
    let host = Host::start().await;
    let sign = tempfile::tempdir().unwrap();
    let undo = |id, text: &str| StepSpec {
        cwd: Some(sign.path().display().to_string()),
        ..StepSpec::text(id, text, LIMIT)
    };
    let begin = BeginTrial {
        undo: vec![
            undo(1, "echo first >> undone; exit 1"),
            undo(2, "echo second >> undone"),
        ],
        ..BeginTrial::default()
    };
    host.client.begin_trial(begin.clone()).await.unwrap();
    host.client.end_trial().await.unwrap();
    host.close().await;
    assert!(!sign.path().join("undone").exists());

    let host = Host::start().await;
    host.client.begin_trial(begin).await.unwrap();
    host.close().await;
    assert_eq!(
        std::fs::read_to_string(sign.path().join("undone")).unwrap(),
        "first\nsecond\n"
    );
}

#[tokio::test]
async fn an_agent_that_is_asked_to_end_leaves_nothing() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let mut host = Host::start().await;
        let mut run = clinging(&host, 1).await;
        let gone = host.client.closed();
        host.signal(signal);
        let status = timeout(LIMIT, host.process.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}");
        timeout(LIMIT, gone).await.unwrap();
        assert_nothing_left(&host.mark());
        let lost = loop {
            match run.next().await {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        assert!(
            matches!(lost, None | Some(AgentError::Lost { .. })),
            "{lost:?}"
        );
    }
}

#[tokio::test]
async fn a_killed_agent_is_lost_and_a_sweep_leaves_nothing() {
    let mut host = Host::start().await;
    let mut run = clinging(&host, 1).await;
    let mut held = host
        .run(StepSpec {
            hold: true,
            ..StepSpec::text(2, "sleep 1000", LIMIT)
        })
        .await;
    until(&mut held, is_held).await;
    host.signal(Signal::SIGKILL);
    timeout(LIMIT, host.client.closed()).await.unwrap();
    let _dead = host.process.wait().await.unwrap();
    assert!(matches!(run.next().await, Err(AgentError::Lost { .. })));
    assert!(matches!(
        host.client.facts().await,
        Err(AgentError::Lost { .. })
    ));
    let mark = host.mark();
    // Its supervisor has killed what it had started.
    assert_eq!(marked(&mark), [] as [String; 0]);
    // What the steps had written by then is still there to be recovered.
    assert!(
        std::fs::read_to_string(host.trial.spool.join("1.stdout"))
            .unwrap()
            .contains("orphan")
    );
    let swept = sweep(&mark);
    assert_eq!((swept.left, swept.folder), (vec![], None));
    assert_nothing_left(&mark);
    assert_eq!(sweep(&mark).killed, [0_u32; 0]);
}

#[tokio::test]
async fn what_an_agent_is_just_starting_when_it_is_killed_is_swept_too() {
    for moment in 0..40 {
        let mut host = Host::start().await;
        for id in 0..20 {
            let client = host.client.clone();
            let step = StepSpec {
                hold: id % 2 == 0,
                ..StepSpec::text(id, "sleep 1000", LIMIT)
            };
            tokio::spawn(async move { client.run(step).await?.next().await });
        }
        tokio::time::sleep(Duration::from_micros(250) * moment).await;
        host.signal(Signal::SIGKILL);
        let mark = host.mark();
        // As where an agent can't have a cgroup.
        let without = AgentMark {
            cgroup: None,
            ..mark.clone()
        };
        assert_eq!(sweep(&without).left, [0_u32; 0]);
        // One that was missed is its program by then.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let missed = marked(&mark);
        assert_eq!(sweep(&mark).left, [0_u32; 0]);
        assert_eq!(missed, [] as [String; 0]);
        let _dead = host.process.wait().await.unwrap();
    }
}

#[tokio::test]
async fn what_an_agent_left_that_died_with_its_conductor_is_swept_by_the_next_one() {
    let folders = tempfile::tempdir().unwrap();
    let start = || {
        let mut agent = Process::new(built("agent"));
        agent.env("TMPDIR", folders.path());
        Host::from_process(agent)
    };
    let mut host = start().await;
    let _run = clinging(&host, 1).await;
    host.signal(Signal::SIGKILL);
    let _dead = host.process.wait().await.unwrap();
    let mark = host.mark();

    // Its supervisor has killed what it had started. Its conductor lives and may still want what was written.
    assert_eq!(marked(&mark), [] as [String; 0]);
    start().await.close().await;
    assert!(mark.folder.exists());

    let Host { client, .. } = host;
    drop((client, _run));
    start().await.close().await;
    assert_nothing_left(&mark);
    assert_eq!(std::fs::read_dir(folders.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_agent_that_stands_still_is_noticed_and_a_sweep_leaves_nothing() {
    let mut host = Host::start().await;
    let mut run = clinging(&host, 1).await;
    host.signal(Signal::SIGSTOP);
    let lost = timeout(LIMIT, run.next()).await.unwrap();
    assert!(matches!(lost, Err(AgentError::Lost { .. })), "{lost:?}");
    timeout(LIMIT, host.client.closed()).await.unwrap();
    let mark = host.mark();
    let swept = sweep(&mark);
    assert!(swept.killed.contains(&mark.pid));
    assert_eq!(swept.left, [0_u32; 0]);
    let _dead = timeout(LIMIT, host.process.wait()).await.unwrap().unwrap();
    assert_nothing_left(&mark);
}

// ---- the agent itself

#[tokio::test]
async fn the_account_of_a_trial_counts_its_own_cpu() {
    let host = Host::start().await;
    let outcome = host
        .sh(1, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
        .await;
    let used = outcome.finished.usage.unwrap();
    let account = host.client.end_trial().await.unwrap().account;
    assert_eq!(account.own_by_cgroup, host.mark().cgroup.is_some());
    assert!(
        account.own >= (used.user + used.system).as_secs_f64() * 0.9,
        "{account:?} {used:?}"
    );
    assert!(
        account.wall >= account.own / f64::from(account.cpus),
        "{account:?}"
    );
    assert!(account.busy() > 0.0 && account.idle >= 0.0);
    host.close().await;
}

#[tokio::test]
async fn agents_of_one_machine_share_its_clock() {
    let host = Host::start().await;
    let offset = host.client.clock_offset(8).await.unwrap();
    assert_eq!((offset.offset_ns, offset.uncertainty_ns), (0, 0));
    let facts = host.client.facts().await.unwrap();
    assert_eq!(facts["boot_id"], host.client.hello().boot_id);
    host.close().await;
}

#[tokio::test]
async fn something_else_than_an_agent_is_recognised() {
    for text in [
        "echo Welcome to this host; exec cat",
        "exit 1",
        "cat /dev/zero",
    ] {
        let mut process = Process::new("sh")
            .args(["-c", text])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stream = tokio::io::join(
            process.stdout.take().unwrap(),
            process.stdin.take().unwrap(),
        );
        let error = Client::connect(stream, LIMIT).await.err().unwrap();
        assert!(
            matches!(error, AgentError::NotAnAgent { .. }),
            "{text}: {error}"
        );
    }
}

#[tokio::test]
async fn something_that_never_answers_is_given_up() {
    let (ours, _theirs) = tokio::io::duplex(1024);
    let error = Client::connect(ours, Duration::from_millis(50))
        .await
        .err()
        .unwrap();
    assert!(matches!(error, AgentError::Deadline { .. }), "{error}");
}

#[tokio::test]
async fn programs_at_a_barrier_hear_what_the_conductor_says() {
    use backsight_agent::{AtBarrier, BarrierAnswer};
    let host = Host::start().await;
    let mut reports = host.client.watch_barriers().await.unwrap();
    let twice = host.client.watch_barriers().await.err().unwrap();
    assert!(matches!(twice, AgentError::Refused { .. }), "{twice}");
    // Says one line to the socket and prints the answer; then the second line, if it is to go on.
    let talk = "import os, socket\n\
        path, step = os.environ['BACKSIGHT_BARRIER'].rsplit(' ', 1)\n\
        it = socket.socket(socket.AF_UNIX)\n\
        it.connect(path)\n\
        it.sendall(f'barrier {step} 0 x\\n'.encode())\n\
        heard = it.recv(1000).decode()\n\
        print(heard, end='')\n\
        if heard.startswith('go'): it.sendall(b'gone 5 7\\n')\n";
    let talking = |id| {
        let words = ["python3", "-c", talk].map(str::to_owned);
        StepSpec::new(id, StepCommand::Argv(words.to_vec()), LIMIT)
    };
    for (id, answer, prints) in [
        (1, BarrierAnswer::Go(42), "go 42\n"),
        (
            2,
            BarrierAnswer::Refused("b\nis gone".into()),
            "no b is gone\n",
        ),
    ] {
        let step = host.run(talking(id)).await;
        let came = timeout(LIMIT, reports.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(
            came.what,
            AtBarrier::Arrived {
                step: StepId(id),
                name: "x".into(),
                of: None
            }
        );
        let answered = host
            .client
            .answer_at_barrier(vec![came.arrival, 99], answer.clone());
        answered.await.unwrap();
        let then = timeout(LIMIT, reports.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let expected = match answer {
            BarrierAnswer::Go(_) => AtBarrier::Gone {
                heard_ns: 5,
                woke_ns: 7,
            },
            BarrierAnswer::Refused(_) => AtBarrier::Left,
        };
        assert_eq!((then.arrival, then.what), (came.arrival, expected));
        assert_eq!(step.outcome().await.unwrap().stdout, prints.as_bytes());
    }
    // One that dies while it waits has left; those of a monitor don't come at all.
    let step = host.run(talking(3)).await;
    let came = timeout(LIMIT, reports.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    drop(step);
    let left = timeout(LIMIT, reports.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!((left.arrival, left.what), (came.arrival, AtBarrier::Left));
    let mut monitor = StepSpec::text(4, "sh -c 'echo ${BACKSIGHT_BARRIER-none}'", LIMIT);
    monitor.env.insert("BACKSIGHT_MONITOR".into(), "m".into());
    let monitor = host.run(monitor).await.outcome().await.unwrap();
    assert_eq!(monitor.stdout, b"none\n");
    host.client.end_trial().await.unwrap();
    assert_eq!(timeout(LIMIT, reports.next()).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn what_a_streaming_step_writes_comes_while_it_runs_and_all_of_it_once() {
    let host = Host::start().await;
    let begin = BeginTrial {
        files: BTreeMap::from([("names".into(), "a\nb\n".into())]),
        ..BeginTrial::default()
    };
    let trial = host.client.begin_trial(begin).await.unwrap();
    // The second part is more than one event takes, and comes when the first was seen.
    let text = "cat names; until [ -e go ]; do sleep 0.01; done; seq 200000; echo error >&2";
    let step = StepSpec {
        streams: true,
        ..StepSpec::text(1, text, LIMIT)
    };
    let mut run = host.client.run(step).await.unwrap();
    let mut streams = (Vec::new(), Vec::new());
    let finished = loop {
        match run.next().await.unwrap().unwrap() {
            StepEvent::Stdout(piece) => streams.0.extend_from_slice(&piece),
            StepEvent::Stderr(piece) => streams.1.extend_from_slice(&piece),
            StepEvent::Finished(finished) => break finished,
            _ => continue,
        }
        if streams.0 == b"a\nb\n" {
            std::fs::write(trial.scratch.join("go"), "").unwrap();
        }
    };
    assert!(finished.as_expected, "{finished:?}");
    let numbers: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert!(streams.0 == format!("a\nb\n{numbers}").into_bytes());
    assert_eq!(streams.1, b"error\n");
    let outside = BeginTrial {
        files: BTreeMap::from([("../names".into(), "a".into())]),
        ..BeginTrial::default()
    };
    assert!(host.client.begin_trial(outside).await.is_err());
    host.close().await;
}
