//! Fills a store with studies of made-up samples, to see how long it takes to record, load and compare them:
//! `cargo run --release -p backsight-store --example fill -- DIR NAME CELLS ROUNDS SAMPLES [FACTOR]`
//! makes study NAME of CELLS cells, ROUNDS trials a cell and SAMPLES samples a trial, all times FACTOR.
//! Prints one line a measurement: what, milliseconds.

use backsight_model::{
    Better, Cell, CellMetric, MachineLoad, MetricSamples, StudyState, TrialRecord, Unit, Value,
};
use backsight_store::{NewStudy, Store};
use std::{
    error::Error,
    time::{Duration, Instant},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, name, cells, rounds, samples, rest @ ..] = &arguments[..] else {
        return Err("expected DIR NAME CELLS ROUNDS SAMPLES [FACTOR]".into());
    };
    let (cells, rounds, samples) = (cells.parse()?, rounds.parse()?, samples.parse()?);
    let factor: f64 = rest.first().map_or(Ok(1.0), |factor| factor.parse())?;

    let store = Store::open(dir).await?;
    let study = store.create_study(&study(name, cells)?).await?;
    let mut random = Random(name.bytes().map(u64::from).sum());
    let mut number = 0;
    let begin = Instant::now();
    for round in 1..=rounds {
        for cell in 0..cells {
            number += 1;
            let record = trial(&mut random, cell, samples, factor)?;
            store
                .record_trial(study, number, cell, round, &record)
                .await?;
        }
    }
    report("recorded, a trial", begin.elapsed() / number.max(1));
    store.set_state(study, StudyState::Finished).await?;
    let begin = Instant::now();
    let set = store.result_set(study).await?;
    report("loaded", begin.elapsed());
    let loaded: usize = set.series.iter().map(|series| series.values().len()).sum();
    println!("{:30} {loaded:10}", "samples");
    store.close().await;
    Ok(())
}

fn report(what: &str, took: Duration) {
    println!("{what:30} {:10.3} ms", took.as_secs_f64() * 1e3);
}

fn study(name: &str, cells: usize) -> Result<NewStudy, Box<dyn Error>> {
    let cells = (0..cells).map(|n| {
        Ok(Cell {
            benchmark: format!("made-up-{}", n % 4).parse()?,
            params: [("size".parse()?, Value::Integer(n as i64 / 4))]
                .into_iter()
                .collect(),
            chosen: vec!["size".parse()?],
            variant: "default".parse()?,
            monitors: None,
        })
    });
    let metric = CellMetric {
        name: "latency".parse()?,
        unit: Unit::parse("us")?,
        better: Better::Lower,
        about: String::new(),
        primary: true,
        monitor: None,
        simulator: None,
    };
    Ok(NewStudy {
        questions: Vec::new(),
        target: None,
        name: name.parse()?,
        verb: "run".into(),
        documents: Vec::new(),
        arguments: "{}".into(),
        seed: 1,
        cells: cells.collect::<Result<_, Box<dyn Error>>>()?,
        metrics: (0..4)
            .map(|n| Ok((format!("made-up-{n}").parse()?, vec![metric.clone()])))
            .collect::<Result<_, Box<dyn Error>>>()?,
    })
}

fn trial(
    random: &mut Random,
    cell: usize,
    samples: usize,
    factor: f64,
) -> Result<TrialRecord, Box<dyn Error>> {
    let middle = factor * (10.0 + cell as f64);
    let values = (0..samples)
        .map(|_| middle * (0.95 + 0.1 * random.next()))
        .collect();
    Ok(TrialRecord {
        host: None,
        boot: 0,
        began: "2024-01-01T00:00:00Z".parse()?,
        took: Duration::from_secs(1),
        outcome: Ok(vec![MetricSamples::new(
            "latency".parse()?,
            values,
            Vec::new(),
        )]),
        watched: Vec::new(),
        suite: None,
        steps: Vec::new(),
        core_files: Vec::new(),
        clocks: Vec::new(),
        meetings: Vec::new(),
        load: vec![MachineLoad {
            hosts: vec!["local".parse()?],
            available: 2.0,
            ours: 1.0,
            others: 0.02,
            busiest: Vec::new(),
            interrupts: 0.0,
            stolen: 0.0,
        }],
        warnings: Vec::new(),
        drawn: Default::default(),
    })
}

/// Values in (0, 1) by a linear congruential generator: speed needs no better.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}
