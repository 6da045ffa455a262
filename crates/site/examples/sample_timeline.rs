//! Writes the timeline of two made-up trials to the file that is named: `cargo run --example sample_timeline -- FILE`. `own` has four
//! interval samples; thirty series swing, each with its own name and in its own rhythm, one of them with a name that means harm.

use std::{error::Error, fs};

use backsight_report::timeline::{
    SampledTogether, SampledValues, SeriesKind, TimelinePhase, TimelineView, TrialTimeline,
};

fn trial(number: u32) -> TrialTimeline {
    let phase = |name: &str, from, until| TimelinePhase {
        name: name.into(),
        from,
        until,
    };
    let values = |name: String, kind, values: Vec<f64>| SampledValues {
        name,
        unit: "ops/s".into(),
        kind,
        values: values.into_iter().map(Some).collect(),
    };
    let swinging = (0..30_u32).map(|place| {
        let name = match place {
            0 => "</script><b>bold</b>".into(),
            place => format!("swings-{place}"),
        };
        let at = (0..1100_u32).map(|at| f64::from((at * number) % (100 + place)));
        values(name, SeriesKind::Level, at.collect())
    });
    TrialTimeline {
        number,
        cell: "requests".into(),
        phases: vec![phase("startup", -1.0, -0.5), phase("run", 0.0, 10.0)],
        sampled: vec![
            SampledTogether {
                source: "benchmark".into(),
                host: String::new(),
                at: vec![2.5, 5.0, 7.5, 10.0],
                series: vec![values(
                    "own".into(),
                    SeriesKind::Interval,
                    vec![1.0, 4.0, 2.0, 3.0],
                )],
            },
            SampledTogether {
                source: "cpu".into(),
                host: "server".into(),
                at: (0..1100).map(|at| f64::from(at - 50) / 100.0).collect(),
                series: swinging.collect(),
            },
        ],
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: sample_timeline FILE")?;
    let view = TimelineView::new("sample", vec![trial(1), trial(2)]);
    fs::write(path, backsight_site::timeline_page(&view)?)?;
    Ok(())
}
