//! Measures what an agent costs: no-op steps, output end to end, and the skew of a common start.
//!
//! `cargo run --release -p backsight-agent --examples` builds it and the agent that it starts; then
//! `target/release/examples/measure [program]`, where the program prints `CLOCK_MONOTONIC` in nanoseconds as the first
//! thing that it does; without one, this program does that itself, and lives for 50 ms more.

use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use backsight_agent::{BeginTrial, Client, RunningStep, StepCommand, StepEvent, StepSpec};
use tokio::process::{Child, Command as Process};

const LIMIT: Duration = Duration::from_secs(20);

type Failure = Box<dyn Error + Send + Sync>;

fn monotonic_ns() -> Result<u64, Failure> {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)?;
    Ok(u64::try_from(now.tv_sec() * 1_000_000_000 + now.tv_nsec())?)
}

fn main() -> Result<(), Failure> {
    let program = std::env::args().nth(1);
    if program.as_deref() == Some("--instant") {
        let begun = monotonic_ns()?;
        // It lives longer than the others take to begin, as what one measures does.
        std::thread::sleep(Duration::from_millis(50));
        println!("{begun}");
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(program))
}

async fn measure(program: Option<String>) -> Result<(), Failure> {
    let command = match program {
        Some(program) => vec![program],
        None => vec![
            std::env::current_exe()?.display().to_string(),
            "--instant".into(),
        ],
    };
    no_ops("true", 3, 100).await?;
    no_ops("true;", 3, 100).await?;
    output(10).await?;
    for hosts in [3, 8, 30] {
        skew(&command, hosts, 200).await?;
    }
    Ok(())
}

async fn agent() -> Result<(Child, Client), Failure> {
    let program = std::env::current_exe()?.with_file_name("agent");
    let mut child = Process::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let input = child.stdin.take().ok_or("no input")?;
    let client = Client::connect(tokio::io::join(output, input), LIMIT).await?;
    Ok((child, client))
}

async fn agents(hosts: usize) -> Result<Vec<(Child, Client)>, Failure> {
    let mut agents = Vec::new();
    for _ in 0..hosts {
        agents.push(agent().await?);
    }
    Ok(agents)
}

async fn no_ops(text: &str, hosts: usize, steps: u64) -> Result<(), Failure> {
    let agents = agents(hosts).await?;
    let begun = Instant::now();
    let trials = agents
        .iter()
        .map(|(_, client)| tokio::spawn(no_op_trial(client.clone(), text.to_owned(), steps)));
    for trial in trials.collect::<Vec<_>>() {
        trial.await??;
    }
    println!(
        "{steps} steps `{text}` × {hosts} hosts, one trial: {:?}",
        begun.elapsed()
    );
    Ok(())
}

async fn no_op_trial(client: Client, text: String, steps: u64) -> Result<(), Failure> {
    client.begin_trial(BeginTrial::default()).await?;
    for id in 0..steps {
        let outcome = client
            .run(StepSpec::text(id, &text, LIMIT))
            .await?
            .outcome()
            .await?;
        assert!(outcome.finished.as_expected, "{:?}", outcome.finished);
    }
    client.end_trial().await?;
    Ok(())
}

async fn output(megabytes: usize) -> Result<(), Failure> {
    let (_child, client) = agent().await?;
    client.begin_trial(BeginTrial::default()).await?;
    let text = format!("head -c {} /dev/urandom", megabytes * 1_000_000);
    let begun = Instant::now();
    let outcome = client
        .run(StepSpec::text(0, text, LIMIT))
        .await?
        .outcome()
        .await?;
    assert_eq!(outcome.stdout.len(), megabytes * 1_000_000);
    println!(
        "{megabytes} MB of output: {:?} (the step itself {:?})",
        begun.elapsed(),
        outcome.finished.wall().unwrap_or_default()
    );
    Ok(())
}

async fn skew(command: &[String], hosts: usize, starts: u64) -> Result<(), Failure> {
    let agents = agents(hosts).await?;
    for (_, client) in &agents {
        client.begin_trial(BeginTrial::default()).await?;
    }
    let mut skews = Vec::new();
    for id in 0..starts {
        let mut runs = Vec::new();
        for (_, client) in &agents {
            let step = StepSpec {
                hold: true,
                ..StepSpec::new(id, StepCommand::Argv(command.to_vec()), LIMIT)
            };
            runs.push(client.run(step).await?);
        }
        for run in &mut runs {
            until_held(run).await?;
        }
        let at = monotonic_ns()? + 50_000_000 + 1_000_000 * u64::try_from(hosts)?;
        let released = agents.iter().zip(&runs).map(|((_, client), run)| {
            let (client, step) = (client.clone(), run.step());
            tokio::spawn(async move { client.release(step, at).await })
        });
        for released in released.collect::<Vec<_>>() {
            released.await??;
        }
        if monotonic_ns()? > at {
            return Err(
                "the releases took longer than the time until the start: too busy a machine".into(),
            );
        }
        let mut instants = Vec::new();
        for run in runs {
            let outcome = run.outcome().await?;
            instants.push(String::from_utf8(outcome.stdout)?.trim().parse::<u64>()?);
        }
        let (first, last) = (
            instants.iter().min().ok_or("none")?,
            instants.iter().max().ok_or("none")?,
        );
        skews.push(Duration::from_nanos(last - first));
    }
    skews.sort_unstable();
    let at = |share: f64| {
        skews[((skews.len() as f64 * share).ceil() as usize).clamp(1, skews.len()) - 1]
    };
    println!(
        "start skew over {hosts} hosts, {starts} starts: median {:?}, p99 {:?}, max {:?}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

async fn until_held(run: &mut RunningStep) -> Result<(), Failure> {
    loop {
        match run.next().await?.ok_or("no more events")? {
            StepEvent::Held(_) => return Ok(()),
            StepEvent::Finished(finished) => return Err(format!("{finished:?}").into()),
            _ => {}
        }
    }
}
