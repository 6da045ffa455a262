//! How often a reference tells a drift of the lab from a change of the versions, against known truth.

use backsight_model::{
    Better, Boot, Build, Cell, CellMetric, HistoryCell, HistoryTrial, Layout, StudyHistory,
    StudyState, Unit, Version,
};
use backsight_policy::{ReferenceDrift, ReferenceStudy, history};
use backsight_stats::Random;
use indexmap::IndexMap;
use jiff::Timestamp;
use std::{error::Error, time::Duration};

/// Histories that are simulated for a line.
const HISTORIES: usize = 400;
/// Versions of each, one trial a version, in the order of the history: the worst case, where a drift looks like a change.
const VERSIONS: usize = 60;
/// The noise of a trial, as a share of its value.
const NOISE: f64 = 0.01;
/// The change of the versions at their first third, where they have one.
const CHANGE: f64 = -0.05;

/// How the lab moves while a history is measured.
#[derive(Clone, Copy)]
enum Lab {
    Rests,
    /// By this share at two thirds of the history.
    Steps(f64),
    /// By this share over all of it.
    Slides(f64),
}

impl Lab {
    /// Its speed after this share of the history.
    fn at(self, share: f64) -> f64 {
        match self {
            Self::Rests => 1.0,
            Self::Steps(size) => 1.0 + if share >= 2.0 / 3.0 { size } else { 0.0 },
            Self::Slides(size) => 1.0 + size * share,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Rests => "rests".to_owned(),
            Self::Steps(size) => format!("a step of {:.0} %", 100.0 * size),
            Self::Slides(size) => format!("slides by {:.0} %", 100.0 * size),
        }
    }
}

/// What came of a line's histories.
#[derive(Default)]
struct Counts {
    drifts: usize,
    right: usize,
    corrected: usize,
    told: usize,
    drift_changes: usize,
}

/// Prints the table.
///
/// # Panics
/// Never: all names are valid.
pub fn print() {
    println!(
        "{HISTORIES} histories a line of {VERSIONS} versions, one trial each in their order, with normal noise of 1 %; where the versions change, by \
         −5 % at a third. The lab steps at two thirds, or slides all along. A history is *right* where its changes are those of the versions and no others, \
         each within two versions of its place (a trend counts as a false change). The last column is about the change where the lab steps, \
         which is to be told so; where the lab rests, about that of the versions, which is not (asked: at most .05).\n"
    );
    println!(
        "| lab | versions | reference every | it is said to drift | right as measured | right with `--correct-drift` | changes of which it is said that the reference moved |\n\
         |---|---|---|---|---|---|---|"
    );
    let labs = [
        Lab::Rests,
        Lab::Steps(-0.02),
        Lab::Steps(-0.05),
        Lab::Slides(-0.05),
        Lab::Slides(-0.10),
    ];
    for lab in labs {
        for changes in [false, true] {
            for every in [1, 3, 5] {
                let counts = line(lab, changes, every).expect("names are valid");
                let share = |count: usize, of: usize| match of {
                    0 => "–".to_owned(),
                    of => format!("{:.3}", count as f64 / of as f64),
                };
                println!(
                    "| {} | {} | {every} | {} | {} | {} | {} |",
                    lab.name(),
                    if changes { "change" } else { "don't change" },
                    share(counts.drifts, HISTORIES),
                    share(counts.right, HISTORIES),
                    share(counts.corrected, HISTORIES),
                    share(counts.told, counts.drift_changes),
                );
            }
        }
    }
}

fn line(lab: Lab, changes: bool, every: usize) -> Result<Counts, Box<dyn Error>> {
    let mut counts = Counts::default();
    let mut random = Random::seeded(71);
    let truth: Vec<usize> = changes.then_some(VERSIONS / 3).into_iter().collect();
    for _ in 0..HISTORIES {
        let (beside, reference) = measured(lab, changes, every, &mut random)?;
        let drift = ReferenceDrift::new(&[reference]);
        counts.drifts += usize::from(drift.series.iter().any(|it| it.drifts()));
        let studies = [beside];
        let mut plain = history(&studies);
        counts.right += usize::from(is_right(&plain, &truth));
        let corrected = drift.removed_from(studies.to_vec());
        counts.corrected += usize::from(is_right(&history(&corrected), &truth));
        plain.tell_of_drift(&studies, drift);
        let step = match lab {
            Lab::Steps(_) => Some(VERSIONS * 2 / 3),
            Lab::Rests => truth.first().copied(),
            Lab::Slides(_) => None,
        };
        if let Some(step) = step {
            let made = plain.series[0].believed();
            let made: Vec<_> = made.filter(|it| it.at.abs_diff(step) <= 2).collect();
            counts.drift_changes += made.len();
            let moves = made.iter().filter_map(|it| it.reference.as_ref());
            counts.told += moves.filter(|it| it.is_move()).count();
        }
    }
    Ok(counts)
}

fn is_right(found: &backsight_policy::TargetHistory, truth: &[usize]) -> bool {
    let series = &found.series[0];
    let at: Vec<usize> = series.believed().map(|change| change.at).collect();
    series.found.trend.is_none()
        && at.len() == truth.len()
        && at
            .iter()
            .zip(truth)
            .all(|(at, truth)| at.abs_diff(*truth) <= 2)
}

/// A study, and what was measured beside it.
fn measured(
    lab: Lab,
    changes: bool,
    every: usize,
    random: &mut Random,
) -> Result<(StudyHistory, ReferenceStudy), Box<dyn Error>> {
    let (mut beside, mut reference) = (study(1)?, study(2)?);
    let at = |minute: usize| Timestamp::from_second(60 * minute as i64);
    let mut value = |level: f64, trial: usize| {
        level * lab.at(trial as f64 / VERSIONS as f64) * (1.0 + NOISE * random.normal())
    };
    let trial = |number: usize, boot, began, value| HistoryTrial {
        number: number as u32 + 1,
        boot,
        cell: 0,
        round: number as u32 + 1,
        began,
        took: Duration::from_secs(1),
        failure: None,
        samples: vec![vec![value]],
        neighbours: 0.0,
    };
    for version in 0..=VERSIONS {
        if version.is_multiple_of(every) || version == VERSIONS {
            let number = reference.trials.len();
            let value = value(50.0, version);
            let trial = trial(number, 0, at(2 * version)?, value);
            reference.trials.push(trial);
        }
        if version == VERSIONS {
            break;
        }
        let level = match changes && version >= VERSIONS / 3 {
            true => 100.0 * (1.0 + CHANGE),
            false => 100.0,
        };
        let number = version as u32 + 1;
        beside.versions.push(Version {
            id: version.to_string(),
            name: version.to_string(),
            at: None,
            title: String::new(),
            release: false,
            amendments: Vec::new(),
        });
        beside.builds.push(Build {
            number,
            version,
            layout: Layout::default(),
            key: version.to_string(),
            quirks: Vec::new(),
            compilers: Vec::new(),
            failure: None,
            cached: false,
            began: beside.began,
            took: Duration::ZERO,
            log: None,
        });
        beside.boots.push(Boot {
            number,
            build: number,
            testbed: 0,
            ordinal: 1,
            failure: None,
            began: beside.began,
            took: Duration::ZERO,
            facts: IndexMap::new(),
            log: None,
        });
        let value = value(level, version);
        let trial = trial(version, number, at(2 * version + 1)?, value);
        beside.trials.push(trial);
    }
    let reference = ReferenceStudy {
        beside: beside.study,
        testbed: "guide".parse()?,
        measured: reference,
    };
    Ok((beside, reference))
}

fn study(number: i64) -> Result<StudyHistory, Box<dyn Error>> {
    Ok(StudyHistory {
        study: number,
        name: format!("study-{number}").parse()?,
        began: Timestamp::UNIX_EPOCH,
        state: StudyState::Finished,
        versions: Vec::new(),
        sides: false,
        testbeds: Vec::new(),
        builds: Vec::new(),
        boots: Vec::new(),
        cells: vec![HistoryCell {
            cell: Cell {
                benchmark: "work".parse()?,
                params: IndexMap::new(),
                chosen: Vec::new(),
                variant: "default".parse()?,
                monitors: None,
            },
            key: "question".to_owned(),
            metrics: vec![CellMetric {
                name: "rate".parse()?,
                unit: Unit::parse("1/s")?,
                better: Better::Higher,
                about: String::new(),
                primary: true,
                monitor: None,
                simulator: None,
            }],
        }],
        trials: Vec::new(),
    })
}
