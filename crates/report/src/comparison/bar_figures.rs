//! Charts of studies: one for each metric of each benchmark, one bar for each cell and study.
//!
//! A cell in which nothing was measured has its place too.

use crate::{
    chart::{Bar, BarChart, BarGroup},
    clipped,
    numbers::{self, MeanEstimate, Scale, counted, direction_words},
};
use backsight_model::{Better, CellSeries, ResultSet, Simulator};
use backsight_policy::{self as policy, Comparison};
use backsight_stats::Samples;
use std::borrow::Cow;

/// Most bars of a page; a table tells the rest.
pub const MOST_BARS: usize = 600;

/// A chart with what stands over it.
pub struct BarFigure {
    /// Benchmark and metric.
    pub heading: String,
    /// What the metric is, and which direction is good.
    pub about: String,
    /// The chart.
    pub chart: BarChart,
}

impl BarFigure {
    fn new(
        heading: String,
        about: String,
        better: Better,
        scale: &Scale,
        groups: Vec<BarGroup>,
    ) -> Self {
        let better = direction_words(better);
        let unit = scale.unit.map_or(String::new(), |unit| format!("{unit}, "));
        Self {
            chart: BarChart {
                title: format!("{heading}: {unit}{better}"),
                unit: scale.unit.map_or(String::new(), |unit| unit.to_string()),
                groups,
            },
            heading,
            about: format!("{about}{unit}{better}"),
        }
    }
}

/// The charts of a comparison by itself, such as one of lists of numbers, which has no studies: a group for each cell, in
/// it a bar for each side.
pub fn figures_of(comparison: &Comparison) -> (Vec<BarFigure>, usize) {
    let sides = comparison.sides.len().max(1);
    let rows = &comparison.rows[..comparison.rows.len().min(MOST_BARS / sides)];
    let alike = |a: &policy::ComparisonRow, b: &policy::ComparisonRow| {
        a.cell.benchmark == b.cell.benchmark && a.metric == b.metric && a.better == b.better
    };
    let figures = rows.chunk_by(alike).map(|rows| {
        let first = &rows[0];
        let measured = rows
            .iter()
            .flat_map(|row| row.entries.iter().filter_map(policy::RowEntry::measured));
        let scale = Scale::fitting(first.unit, measured.map(|side| side.mean));
        let groups = rows.iter().map(|row| BarGroup {
            label: row.cell.chosen_params(),
            bars: (0..row.entries.len())
                .map(|side| bar_of(comparison, row, side, &scale))
                .collect(),
        });
        let heading = format!("{} {}", first.cell.benchmark, first.metric);
        let groups = groups.collect();
        BarFigure::new(heading, String::new(), first.better, &scale, groups)
    });
    let all = comparison.rows.len() * sides;
    (figures.collect(), all.saturating_sub(rows.len() * sides))
}

fn bar_of(comparison: &Comparison, row: &policy::ComparisonRow, side: usize, scale: &Scale) -> Bar {
    let label = comparison.sides[side].name.clone();
    let whole = format!("{label}: {}", row.cell);
    let missing = |why: String| Bar {
        about: format!("{whole}: {why}"),
        value: why,
        label: label.clone(),
        tone: side,
        ..Bar::default()
    };
    match &row.entries[side] {
        policy::RowEntry::Missing(why) => missing(format!("missing: {why}")),
        policy::RowEntry::Measured(side_of) => match Samples::new(side_of.values.clone()) {
            Ok(samples) => MeasuredSeries::new(samples, row.better).bar(
                &whole,
                label.clone(),
                side,
                scale,
                side_of.failed,
            ),
            Err(why) => missing(why.to_string()),
        },
    }
}

/// The charts of these studies, in the plan's order, and how many cells are left out of them.
pub fn figures(sets: &[&ResultSet]) -> (Vec<BarFigure>, usize) {
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    let all: usize = sets.iter().map(|set| set.series.len()).sum();
    let mut room = MOST_BARS;
    for (number, set) in sets.iter().enumerate() {
        for series in set.series.iter().take(room) {
            let known = drafts.iter_mut().find(|draft| draft.is_of(series));
            let draft = match known {
                Some(draft) => draft,
                None => {
                    drafts.push(Draft {
                        first: series,
                        rows: Vec::new(),
                    });
                    let last = drafts.len() - 1;
                    &mut drafts[last]
                }
            };
            draft.rows.push(Row {
                set,
                number,
                series,
            });
        }
        room -= set.series.len().min(room);
    }
    let variants = variants(sets);
    let figures = drafts
        .iter()
        .map(|draft| draft.figure(sets.len(), &variants))
        .collect();
    (figures, all.saturating_sub(MOST_BARS))
}

/// All variants, in the order in which the studies name them.
fn variants<'a>(sets: &[&'a ResultSet]) -> Vec<Cow<'a, str>> {
    let mut variants = Vec::new();
    for series in sets.iter().flat_map(|set| &set.series) {
        let variant = series.cell.set_up();
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants
}

struct Row<'a> {
    set: &'a ResultSet,
    /// The set's place among the sides.
    number: usize,
    series: &'a CellSeries,
}

/// A chart of which the bars are being collected.
struct Draft<'a> {
    first: &'a CellSeries,
    rows: Vec<Row<'a>>,
}

impl Draft<'_> {
    fn is_of(&self, series: &CellSeries) -> bool {
        self.first.cell.benchmark == series.cell.benchmark
            && self.first.metric == series.metric
            && self.first.unit == series.unit
            // Durations of different clocks have no common axis.
            && self.first.simulator.and_then(Simulator::time_base)
                == series.simulator.and_then(Simulator::time_base)
    }

    fn figure(&self, sides: usize, variants: &[Cow<'_, str>]) -> BarFigure {
        let scale = Scale::fitting(
            self.first.unit,
            self.rows.iter().flat_map(|row| row.series.values()),
        );
        let mut groups: Vec<BarGroup> = Vec::new();
        let mut rows: Vec<&Row<'_>> = self.rows.iter().collect();
        // What asks the same question on several sides stands together.
        rows.sort_by_key(|row| {
            let variant = row.series.cell.set_up();
            (
                variants.iter().position(|known| *known == variant),
                row.number,
            )
        });
        for row in rows {
            let label = row.series.cell.chosen_params();
            if !groups.iter().any(|group| group.label == label) {
                groups.push(BarGroup {
                    label: label.clone(),
                    bars: Vec::new(),
                });
            }
            if let Some(group) = groups.iter_mut().find(|group| group.label == label) {
                group.bars.push(row.bar(&scale, sides, variants));
            }
        }
        let heading = format!("{} {}", self.first.cell.benchmark, self.first.metric);
        let about = match self.first.about.trim() {
            "" => String::new(),
            about => format!("{} · ", clipped(about, 120)),
        };
        let about = match self.first.simulator {
            Some(simulator) => format!("{about}{} · ", simulator.phrase()),
            None => about,
        };
        BarFigure::new(heading, about, self.first.better, &scale, groups)
    }
}

impl Row<'_> {
    fn bar(&self, scale: &Scale, sides: usize, variants: &[Cow<'_, str>]) -> Bar {
        let variant = self.series.cell.set_up();
        let side = self.set.name.as_str();
        let (label, tone) = if sides == 1 {
            let place = variants.iter().position(|known| *known == variant);
            let label = if variants.len() == 1 && variant == "default" {
                side
            } else {
                &variant
            };
            (label.to_owned(), place.unwrap_or(0))
        } else if variants.len() == 1 {
            (side.to_owned(), self.number)
        } else {
            (format!("{variant} · {side}"), self.number)
        };
        let failed = self.failed();
        let whole = if label == side {
            format!("{side}: {}", self.series.cell)
        } else if sides == 1 {
            self.series.cell.to_string()
        } else {
            format!("{side}: {}", self.series.cell)
        };
        let Some(measured) = estimate(self.series) else {
            let why = if failed > 0 {
                format!("missing: {} failed", counted(failed, "trial"))
            } else {
                "missing: not measured".to_owned()
            };
            return Bar {
                about: format!("{whole}: {why}"),
                value: why,
                label,
                tone,
                ..Bar::default()
            };
        };
        measured.bar(&whole, label, tone, scale, failed)
    }

    fn failed(&self) -> usize {
        let of_this_cell =
            |failed: &&(_, _, backsight_model::Cell, _)| failed.2 == self.series.cell;
        self.set.failed.iter().filter(of_this_cell).count()
    }
}

/// The values of a series with their mean.
pub struct MeasuredSeries {
    /// The mean with its interval.
    pub estimate: MeanEstimate,
    /// What the estimate is of: one value a trial.
    pub samples: Samples,
}

impl MeasuredSeries {
    fn new(samples: Samples, better: Better) -> Self {
        Self {
            estimate: MeanEstimate::from_samples(&samples, better),
            samples,
        }
    }

    /// The mean as a bar, its interval as a whisker, every sample a dot.
    fn bar(&self, whole: &str, label: String, tone: usize, scale: &Scale, failed: usize) -> Bar {
        let estimate = &self.estimate;
        let mut count = format!("n={}", estimate.n);
        if failed > 0 {
            count.push_str(&format!(", {failed} failed"));
        }
        Bar {
            about: format!("{whole}: {}", self.sentence(scale, failed)),
            value: estimate.shown(scale),
            count,
            label,
            tone,
            centre: Some(scale.convert(estimate.mean)),
            interval: estimate
                .interval
                .ok()
                .map(|(low, high)| (scale.convert(low), scale.convert(high))),
            samples: self
                .samples
                .measured()
                .iter()
                .map(|x| scale.convert(*x))
                .collect(),
        }
    }

    fn sentence(&self, scale: &Scale, failed: usize) -> String {
        let mut sentence = match self.estimate.interval {
            Ok(_) => format!(
                "{} {}{}, 95 % interval {}, n = {}, from {} to {}",
                self.estimate.kind,
                self.estimate.shown(scale),
                scale.unit_after(),
                self.estimate.interval_shown(scale),
                self.estimate.n,
                numbers::value(scale.convert(self.samples.min()), 5),
                numbers::value(scale.convert(self.samples.max()), 5),
            ),
            Err(why) => format!(
                "{} {}{}, n = {}, interval {why}",
                self.estimate.kind,
                self.estimate.shown(scale),
                scale.unit_after(),
                self.estimate.n,
            ),
        };
        if failed > 0 {
            sentence.push_str(&format!("; {} failed", counted(failed, "trial")));
        }
        sentence
    }
}

/// The mean over trials: samples of one trial aren't independent, so a trial with several counts as their mean.
pub fn estimate(series: &CellSeries) -> Option<MeasuredSeries> {
    let samples = series
        .trials
        .iter()
        .filter(|trial| !trial.values.is_empty())
        .map(|trial| {
            let samples = Samples::new(trial.values.clone()).ok()?;
            Some(MeanEstimate::from_samples(&samples, series.better).mean)
        })
        .collect::<Option<Vec<f64>>>()?;
    let samples = Samples::new(samples).ok()?;
    Some(MeasuredSeries::new(samples, series.better))
}
