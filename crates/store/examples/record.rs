//! How long it takes until a trial is on disk: `cargo run --release -p backsight-store --example record -- DIR`.
//! Prints one line a measurement: what, milliseconds (median of several trials).

use backsight_model::{
    Better, Cell, CellMetric, Ending, MetricSamples, Phase, ResourceUsage, StepOutput, StepRecord,
    TrialRecord, Unit,
};
use backsight_store::{NewStudy, Store};
use std::{
    error::Error,
    time::{Duration, Instant},
};

const TRIALS: u32 = 9;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("expected DIR")?;
    let store = Store::open(dir).await?;
    let study = store.create_study(&study()?).await?;
    let mut number = 0;
    for (what, steps, bytes) in [
        ("300 steps without output", 300, 0),
        ("10 steps of 1 kB", 10, 1_000),
        ("300 steps of 1 kB", 300, 1_000),
        ("1 step of 10 MB", 1, 10_000_000),
    ] {
        let mut times = Vec::new();
        for _ in 0..TRIALS {
            number += 1;
            let record = trial(number, steps, bytes)?;
            let begin = Instant::now();
            store
                .record_trial(study, number, 0, number, &record)
                .await?;
            times.push(begin.elapsed());
        }
        times.sort();
        println!(
            "{what:30} {:10.3} ms",
            times[times.len() / 2].as_secs_f64() * 1e3
        );
    }
    store.close().await;
    Ok(())
}

fn study() -> Result<NewStudy, Box<dyn Error>> {
    let metric = CellMetric {
        name: "m".parse()?,
        unit: Unit::parse("s")?,
        better: Better::Lower,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
    };
    Ok(NewStudy {
        questions: Vec::new(),
        target: None,
        name: "record".parse()?,
        verb: "run".into(),
        documents: Vec::new(),
        arguments: "{}".into(),
        seed: 1,
        cells: vec![Cell {
            benchmark: "b".parse()?,
            params: Default::default(),
            chosen: Vec::new(),
            variant: "default".parse()?,
            monitors: None,
        }],
        metrics: [("b".parse()?, vec![metric])].into_iter().collect(),
    })
}

fn trial(number: u32, steps: usize, bytes: usize) -> Result<TrialRecord, Box<dyn Error>> {
    let steps = (0..steps).map(|step| {
        let line = format!("trial {number}, step {step}: something that a program might print\n");
        let printed = line.into_bytes().into_iter().cycle().take(bytes).collect();
        Ok(StepRecord {
            role: "client".parse()?,
            host: "local".parse()?,
            phase: Phase::Run,
            number: step,
            command: "true".into(),
            spawned: false,
            monitor: None,
            began: "2024-01-01T00:00:00Z".parse()?,
            began_monotonic: 1,
            ending: Ending::Exit(0),
            usage: ResourceUsage::default(),
            stdout: StepOutput {
                bytes: printed,
                printed: bytes as u64,
            },
            stderr: StepOutput::default(),
        })
    });
    Ok(TrialRecord {
        host: None,
        boot: 0,
        began: "2024-01-01T00:00:00Z".parse()?,
        took: Duration::from_secs(1),
        outcome: Ok(vec![MetricSamples::new(
            "m".parse()?,
            vec![1.0],
            Vec::new(),
        )]),
        watched: Vec::new(),
        suite: None,
        steps: steps.collect::<Result<_, Box<dyn Error>>>()?,
        core_files: Vec::new(),
        clocks: Vec::new(),
        meetings: Vec::new(),
        load: Vec::new(),
        warnings: Vec::new(),
        drawn: Default::default(),
    })
}
