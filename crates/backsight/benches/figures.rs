//! `make bench`: what Backsight itself costs, measured here and now, with a floor measured in the same run
//! and what a reference is known to take beside it.
//!
//! Each line runs the real binary. Machines are shared and noisy; it prints medians of
//! several runs, and what was asked for.

use backsight_model::{
    Better, Cell, CellMetric, MetricName, MetricSamples, ParamName, StudyState, TrialRecord, Unit,
    Value,
};
use backsight_store::{NewStudy, Store, StudyDocument};
use std::{path::Path, process::Command, time::Duration};

mod place;

use place::{BINARY, Place, benchmark, median, milliseconds, on_runtime, row, sh, timed, wanted};

fn main() {
    let want = wanted();
    row("figure", "measured", "asked", "beside it");
    if want("help") {
        help();
    }
    if want("steps") {
        steps();
    }
    if want("output") {
        output();
    }
    if want("compare") {
        compare("compare, 2 × 40 cells × 100 samples", 40, 100, 1, "≤ 50 ms");
        compare("compare, 2 × 1,000,000 samples", 40, 1, 25_000, "≤ 1.5 s");
    }
}

fn help() {
    let took = timed(20, || {
        let mut command = Command::new(BINARY);
        command.arg("--help");
        command
    });
    let floor = timed(20, || Command::new("true"));
    let size = std::fs::metadata(BINARY).map_or(0, |m| m.len());
    row(
        "backsight --help, whole process",
        &milliseconds(took),
        "≤ 10 ms",
        &format!(
            "`true`: {}; the binary: {:.1} MB",
            milliseconds(floor),
            size as f64 / 1e6
        ),
    );
}

const PLAN: &str = "use = [\"bench\"]\nrounds = 1\n";

fn steps() {
    let hundred = format!("[{}]", vec!["\"true\""; 100].join(", "));
    let metric =
        "[metric.wall]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\nfrom = \"r1.run\"\n";
    let place = Place::local(3, &benchmark(3, &hundred, metric), PLAN);
    let took = timed(9, || place.run());
    let by_trial = trial_time(&place);
    let floor = timed(9, || {
        sh(
            "for n in 1 2 3; do (i=0; while [ $i -lt 100 ]; do sh -c true; i=$((i+1)); done) & done; wait",
        )
    });
    row(
        "100 no-op steps × 3 hosts, one trial, whole `run`",
        &milliseconds(took),
        "≤ 0.3 s",
        &format!(
            "the trial alone {}; floor, 300 × `sh -c true`: {}; reference conductor 15.9 s, mended 0.5 s",
            milliseconds(by_trial),
            milliseconds(floor)
        ),
    );
    let hundred = format!("[{}]", vec!["\"sh -c true\""; 100].join(", "));
    let place = Place::local(3, &benchmark(3, &hundred, metric), PLAN);
    let took = timed(9, || place.run());
    row(
        "the same with `sh -c true` as the step",
        &milliseconds(took),
        "≤ 0.3 s",
        &format!("the trial alone {}", milliseconds(trial_time(&place))),
    );
}

/// Median of what the store says each trial took.
fn trial_time(place: &Place) -> Duration {
    on_runtime(async {
        let store = Store::open_existing(place.store()).await.expect("a store");
        let mut times = Vec::new();
        for study in store.studies().await.expect("studies") {
            times.extend(
                store
                    .trials(study.id)
                    .await
                    .expect("trials")
                    .iter()
                    .map(|t| t.took),
            );
        }
        median(times)
    })
}

fn output() {
    let step = "\"head -c 10000000 /dev/zero\"";
    let metric = "[metric.wall]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\n";
    let place = Place::local(1, &benchmark(1, step, metric), PLAN);
    let zeros = timed(5, || place.run());
    // Text that doesn't compress to nothing.
    let random = "head -c 8000000 /dev/urandom | base64 -w 0 | head -c 10000000";
    let place = Place::local(1, &benchmark(1, &format!("\"{random}\""), metric), PLAN);
    let text = timed(5, || place.run());
    let empty = Place::local(1, &benchmark(1, "\"true\"", metric), PLAN);
    let nothing = timed(5, || empty.run());
    let floor = timed(5, || sh(&format!("{random} | cat > /dev/null")));
    row(
        "10 MB of step output (random text), whole `run`",
        &milliseconds(text),
        "≤ 0.2 s",
        &format!(
            "zeros {}; no output {}; the program alone {}; reference 13 s for 9 MB",
            milliseconds(zeros),
            milliseconds(nothing),
            milliseconds(floor)
        ),
    );
}

/// Two studies with made-up samples in a store.
fn compare(figure: &str, cells: usize, trials: usize, samples: usize, asked: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    on_runtime(fill(folder.path(), cells, trials, samples));
    let took = timed(7, || {
        let mut command = Command::new(BINARY);
        command
            .args(["compare", "base", "new", "--store"])
            .arg(folder.path());
        command
    });
    let bytes = 2 * cells * trials * samples * 8;
    row(
        figure,
        &milliseconds(took),
        asked,
        &format!("{:.1} MB of samples", bytes as f64 / 1e6),
    );
}

async fn fill(folder: &Path, cells: usize, trials: usize, samples: usize) {
    let store = Store::open(folder).await.expect("a store");
    let metric = MetricName::new("rate").expect("a name");
    for (name, shift) in [("base", 1.0), ("new", 1.01)] {
        let cells: Vec<Cell> = (0..cells)
            .map(|n| Cell {
                benchmark: "bench".parse().expect("a name"),
                params: [(
                    ParamName::new("n").expect("a name"),
                    Value::Integer(n as i64),
                )]
                .into_iter()
                .collect(),
                chosen: vec![ParamName::new("n").expect("a name")],
                variant: "default".parse().expect("a name"),
                monitors: None,
            })
            .collect();
        let shape = CellMetric {
            name: metric.clone(),
            unit: Unit::parse("ops/s").expect("a unit"),
            better: Better::Higher,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
        };
        let study = store
            .create_study(&NewStudy {
                questions: Vec::new(),
                target: None,
                name: name.parse().expect("a name"),
                verb: "run".into(),
                documents: Vec::<StudyDocument>::new(),
                arguments: "{}".into(),
                seed: 1,
                cells: cells.clone(),
                metrics: [("bench".parse().expect("a name"), vec![shape])]
                    .into_iter()
                    .collect(),
            })
            .await
            .expect("a study");
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        let mut number = 0;
        for round in 0..trials {
            for cell in 0..cells.len() {
                number += 1;
                let values = (0..samples)
                    .map(|_| 1000.0 * shift * (1.0 + 0.05 * noise()))
                    .collect();
                let record = TrialRecord {
                    host: None,
                    boot: 0,
                    began: jiff::Timestamp::UNIX_EPOCH,
                    took: Duration::from_secs(1),
                    outcome: Ok(vec![MetricSamples::new(metric.clone(), values, Vec::new())]),
                    watched: Vec::new(),
                    suite: None,
                    steps: Vec::new(),
                    core_files: Vec::new(),
                    clocks: Vec::new(),
                    meetings: Vec::new(),
                    load: Vec::new(),
                    warnings: Vec::new(),
                    drawn: Default::default(),
                };
                store
                    .record_trial(study, number, cell, round as u32 + 1, &record)
                    .await
                    .expect("kept");
            }
        }
        store
            .set_state(study, StudyState::Finished)
            .await
            .expect("finished");
    }
    store.close().await;
}
