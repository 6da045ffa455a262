//! The samples within trials by time: those of the benchmark and the series of samplers, on one axis that begins with `run`.
//!
//! In: what each trial has, read. Out: what the page draws, a series over all trials, bounded in size, names of others made harmless.

use indexmap::IndexMap;
use serde::Serialize;

use crate::escape;

/// Series that are shown before somebody chooses.
const FIRST_SHOWN: usize = 10;

/// Most series of a page: the table of them stays quick.
const MOST_SERIES: usize = 2000;

/// Most values of a page: about 10 MB.
const MOST_VALUES: usize = 1_000_000;

/// What a series counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// Interval samples of the benchmark: each holds since the one before.
    Interval,
    /// By how much a counter rose by the second: each holds since the one before.
    Rate,
    /// A state, as it was at the instant.
    Level,
}

/// A phase of a trial, in seconds from the begin of `run`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelinePhase {
    /// Its name.
    pub name: String,
    /// When its first step began.
    pub from: f64,
    /// When its last step ended.
    pub until: f64,
}

/// What one trial has.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialTimeline {
    /// Its number in the study.
    pub number: u32,
    /// The cell.
    pub cell: String,
    /// Its phases, in order.
    pub phases: Vec<TimelinePhase>,
    /// Its samples.
    pub sampled: Vec<SampledTogether>,
}

/// Series whose samples were taken at the same instants.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledTogether {
    /// The monitor, or `benchmark`.
    pub source: String,
    /// The host, where it is one's own.
    pub host: String,
    /// The instants, in seconds from the begin of `run`.
    pub at: Vec<f64>,
    /// A value of each series at each instant, where there is one.
    pub series: Vec<SampledValues>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledValues {
    /// Its name.
    pub name: String,
    /// The unit of its values.
    pub unit: String,
    /// What they are.
    pub kind: SeriesKind,
    /// The values.
    pub values: Vec<Option<f64>>,
}

/// What the page of a timeline is made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineView {
    /// The study.
    pub study: String,
    /// The trials, in the order in which they were asked for.
    pub trials: Vec<TimelineTrial>,
    /// Lists of instants, in seconds from the begin of `run`.
    pub instants: Vec<Vec<f64>>,
    /// Those of the benchmark first, then the ones that vary most.
    pub series: Vec<TimelineSeries>,
    /// What a reader should know of them.
    pub notes: Vec<String>,
}

/// A trial on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineTrial {
    /// Its number in the study.
    pub number: u32,
    /// The cell.
    pub cell: String,
    /// Its phases, in order.
    pub phases: Vec<TimelinePhase>,
}

/// A series over all trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineSeries {
    /// Its name.
    pub name: String,
    /// The monitor, or `benchmark`.
    pub source: String,
    /// The host, where it is one's own.
    pub host: String,
    /// The unit of its values.
    pub unit: String,
    /// What they are.
    pub kind: SeriesKind,
    /// Whether it is shown before somebody chooses.
    pub shown: bool,
    /// The least value, the mean and the greatest.
    pub least_mean_most: [f64; 3],
    /// Its values, a line each time that it was sampled: mostly one a trial.
    pub lines: Vec<TimelineLine>,
    #[serde(skip)]
    variation: f64,
}

/// The values of a series in one trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineLine {
    /// The trial's place in [`TimelineView::trials`].
    pub trial: usize,
    /// The place of their instants in [`TimelineView::instants`].
    pub instants: usize,
    /// The values, where there are some.
    pub values: Vec<Option<f64>>,
}

impl TimelineView {
    /// These trials of a study.
    pub fn new(study: &str, trials: Vec<TrialTimeline>) -> Self {
        let mut made = Self {
            study: study.to_owned(),
            trials: Vec::new(),
            instants: Vec::new(),
            series: Vec::new(),
            notes: Vec::new(),
        };
        let mut series: IndexMap<_, TimelineSeries> = IndexMap::new();
        for trial in trials {
            for together in trial.sampled {
                for one in together.series {
                    let key = (
                        together.source.clone(),
                        together.host.clone(),
                        one.name.clone(),
                    );
                    let of_all = series.entry(key).or_insert_with(|| TimelineSeries {
                        name: escape::line(&one.name),
                        source: escape::line(&together.source),
                        host: escape::line(&together.host),
                        unit: escape::line(&one.unit),
                        kind: one.kind,
                        shown: false,
                        least_mean_most: [0.0; 3],
                        lines: Vec::new(),
                        variation: 0.0,
                    });
                    of_all.lines.push(TimelineLine {
                        trial: made.trials.len(),
                        instants: made.instants.len(),
                        values: one.values,
                    });
                }
                made.instants.push(together.at);
            }
            made.trials.push(TimelineTrial {
                number: trial.number,
                cell: escape::line(&trial.cell),
                phases: trial.phases,
            });
        }
        made.series = series.into_values().collect();
        made.leave_out();
        made.thin();
        made
    }

    /// The heading of its page.
    pub fn title(&self) -> String {
        let numbers: Vec<String> = self.trials.iter().map(|it| it.number.to_string()).collect();
        let trials = if numbers.len() == 1 {
            "Trial"
        } else {
            "Trials"
        };
        format!("{trials} {} of {}", numbers.join(", "), self.study)
    }

    /// What a reader should know beforehand.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let [trial] = &self.trials[..] {
            sentences.push(format!("Cell: {}.", trial.cell));
        }
        let mut kinds = self.series.iter().map(|series| series.kind);
        if kinds.any(|kind| kind == SeriesKind::Interval) {
            sentences.push(
                "Interval samples have no instants of their own: they are spread evenly over `run`."
                    .to_owned(),
            );
        }
        sentences.extend(self.notes.iter().cloned());
        sentences
    }

    /// Leaves out series that say nothing, and those beyond what a page can have; chooses the ones that are shown first.
    fn leave_out(&mut self) {
        let all = self.series.len();
        for series in &mut self.series {
            series.least_mean_most = least_mean_most(&series.lines);
        }
        self.series.retain(|it| {
            it.kind == SeriesKind::Interval || it.least_mean_most[0] < it.least_mean_most[2]
        });
        if self.series.len() < all {
            self.notes.push(format!(
                "{} series left out that had the same value all the time.",
                all - self.series.len()
            ));
        }
        for series in &mut self.series {
            series.variation = match series.kind {
                SeriesKind::Interval => f64::INFINITY,
                _ => variation(&series.lines, series.least_mean_most[1]),
            };
        }
        self.series
            .sort_by(|one, other| other.variation.total_cmp(&one.variation));
        if self.series.len() > MOST_SERIES {
            let count = self.series.len() - MOST_SERIES;
            self.notes.push(format!(
                "{count} series that vary least left out; `backsight export --monitors` has them."
            ));
            self.series.truncate(MOST_SERIES);
        }
        for series in self.series.iter_mut().take(FIRST_SHOWN) {
            series.shown = true;
        }
    }

    /// Takes the mean of neighbours where there are more values than a page can have.
    fn thin(&mut self) {
        let lines = self.series.iter().flat_map(|it| &it.lines);
        let values: usize = lines.map(|line| line.values.len()).sum();
        let stride = values.div_ceil(MOST_VALUES);
        if stride < 2 {
            return;
        }
        self.notes.push(format!(
            "Each value is the mean of {stride} neighbours; `backsight export --monitors` has all."
        ));
        for line in self.series.iter_mut().flat_map(|it| &mut it.lines) {
            let groups = line.values.chunks(stride);
            line.values = groups.map(|group| mean(group.iter().copied())).collect();
        }
        for at in &mut self.instants {
            *at = at
                .chunks(stride)
                .filter_map(|group| group.last().copied())
                .collect();
        }
    }
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (count, sum) = values
        .flatten()
        .fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

fn least_mean_most(lines: &[TimelineLine]) -> [f64; 3] {
    let values = || lines.iter().flat_map(|line| line.values.iter().copied());
    let Some(mean) = mean(values()) else {
        return [0.0; 3];
    };
    let least = values().flatten().fold(f64::INFINITY, f64::min);
    [
        least,
        mean,
        values().flatten().fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// How much a series varies: its standard deviation in the mean, times the share of samples that differ from the one before, so
/// that a single event doesn't stand before what goes up and down all the time.
fn variation(lines: &[TimelineLine], mean: f64) -> f64 {
    let (mut squares, mut count, mut changes, mut pairs) = (0.0, 0.0, 0.0, 0.0);
    for line in lines {
        let mut before = None;
        for value in line.values.iter().flatten() {
            squares += (value - mean).powi(2);
            count += 1.0;
            if let Some(before) = before.replace(value) {
                pairs += 1.0;
                changes += f64::from(u8::from(before != value));
            }
        }
    }
    if mean == 0.0 || pairs == 0.0 {
        return 0.0;
    }
    f64::sqrt(squares / count) / mean.abs() * changes / pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, kind: SeriesKind, values: &[f64]) -> SampledValues {
        SampledValues {
            name: name.into(),
            unit: String::new(),
            kind,
            values: values.iter().map(|value| Some(*value)).collect(),
        }
    }

    fn trial(number: u32, series: Vec<SampledValues>) -> TrialTimeline {
        let count = series[0].values.len();
        TrialTimeline {
            number,
            cell: "count".into(),
            phases: Vec::new(),
            sampled: vec![SampledTogether {
                source: "cpu".into(),
                host: "tester".into(),
                at: (0..count).map(|place| place as f64).collect(),
                series,
            }],
        }
    }

    #[test]
    fn trials_lie_over_each_other_and_what_varies_most_is_first() {
        let of = |number, swing: f64| {
            trial(
                number,
                vec![
                    series("still", SeriesKind::Level, &[7.0; 6]),
                    series("once", SeriesKind::Rate, &[0.0, 0.0, 0.0, 0.0, 9.0, 0.0]),
                    series(
                        "swings",
                        SeriesKind::Rate,
                        &[0.0, swing, 0.0, swing, 0.0, swing],
                    ),
                    series("own", SeriesKind::Interval, &[1.0; 6]),
                ],
            )
        };
        let view = TimelineView::new("s", vec![of(3, 10.0), of(5, 20.0)]);
        let names: Vec<&str> = view.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["own", "swings", "once"]);
        assert_eq!(
            view.notes,
            ["1 series left out that had the same value all the time."]
        );
        let swings = &view.series[1];
        assert_eq!(swings.least_mean_most, [0.0, 7.5, 20.0]);
        let trials: Vec<u32> = swings
            .lines
            .iter()
            .map(|line| view.trials[line.trial].number)
            .collect();
        assert_eq!(trials, [3, 5]);
        assert_eq!(view.instants[swings.lines[1].instants].len(), 6);
    }

    #[test]
    fn ten_are_shown_and_a_page_is_bounded() {
        let long: Vec<f64> = (0..60_000).map(|place| f64::from(place % 7)).collect();
        let many = (0..40).map(|number| series(&format!("s{number}"), SeriesKind::Level, &long));
        let view = TimelineView::new("s", vec![trial(1, many.collect())]);
        assert_eq!(
            view.series.iter().filter(|it| it.shown).count(),
            FIRST_SHOWN
        );
        let values: usize = view.series.iter().map(|it| it.lines[0].values.len()).sum();
        assert!(values <= MOST_VALUES, "{values}");
        assert_eq!(view.instants[0].len(), view.series[0].lines[0].values.len());
        assert_eq!(
            view.instants[0][0], 2.0,
            "the end of the time that its values are of"
        );
        assert_eq!(view.series[0].lines[0].values[0], Some(1.0));
        assert!(
            view.notes[0].contains("mean of 3 neighbours"),
            "{:?}",
            view.notes
        );
    }
}
