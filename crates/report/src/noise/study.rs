//! A study of noise with its verdict: its sentences, tables and charts.

use backsight_model::{HistoryCell, MetricName, Time};
use backsight_policy::{MetricNoise, NoiseEnd, NoiseVerdict, WithinTrials};
use backsight_stats::{Level, NestedSample, ReplicationAdvice, VarianceComponent};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crate::{
    Document, Section, Table,
    chart::{self, Band, Figure},
    field, left,
    numbers::{Rounding, Scale, counted, duration, share, significant},
    right,
};

/// Half the width of a band, in standard deviations: 95% of normal values lie in it.
const BAND: f64 = 1.96;
/// The share of the processors that others take from which on it is said.
const MIN_MENTIONED_SHARE: f64 = 0.05;
/// Digits of a deviation in percent.
const DIGITS: usize = 3;
/// Most charts of a page.
const MOST_FIGURES: usize = 60;

/// A study of noise: what was measured, its verdict, and what was asked.
#[derive(Debug, Clone, Copy)]
pub struct NoiseStudy<'a> {
    /// The study's number.
    pub id: i64,
    /// The study's name.
    pub name: &'a str,
    /// What was measured: a version, or the software as it is found.
    pub what: &'a str,
    /// The cells with their metrics.
    pub cells: &'a [HistoryCell],
    /// The verdict.
    pub verdict: &'a NoiseVerdict,
    /// How much interval samples vary within trials, by the cell's number and the metric.
    pub within: &'a BTreeMap<(usize, MetricName), WithinTrials>,
    /// Share of the processors that others took during the trials, from 0 to 1.
    pub neighbours: Option<f64>,
    /// What it may take.
    pub budget: Option<Duration>,
    /// The difference between two versions that is to be seen, in percent.
    pub precision: f64,
    /// The command that measures a version so, without the number of its rounds: `backsight run plan.toml`. Nothing where
    /// rounds alone don't say it.
    pub command: Option<&'a str>,
}

/// What one level adds to the noise of a metric, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoiseRow {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// Its mean with the unit.
    pub mean: String,
    /// `same boot`, `reboot`, `relink`.
    pub level: &'static str,
    /// How many there were.
    pub repeats: usize,
    /// The standard deviation that this level adds, in percent of the mean, with its interval.
    pub deviation: String,
    /// The share of this level in the variance of a single trial; `apart` of what varies within one.
    pub share: String,
    /// Where 95 of 100 single trials lie that are new up to this level.
    pub band: String,
}

/// What people call a new trial on this level.
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Sample => "within a trial",
        Level::Trial | Level::Session => "same boot",
        Level::Boot => "reboot",
        Level::Layout => "relink",
        Level::Host => "another host",
    }
}

impl<'a> NoiseStudy<'a> {
    fn names(&self, noise: &MetricNoise) -> (String, String) {
        let cell = self.cells.get(noise.cell);
        let cell = cell.map_or_else(String::new, |cell| cell.cell.to_string());
        (cell, noise.metric.to_string())
    }

    fn mean(&self, noise: &MetricNoise, mean: f64) -> String {
        let cell = self.cells.get(noise.cell);
        let metric = cell.and_then(|cell| cell.metrics.iter().find(|m| m.name == noise.metric));
        let scale = Scale::fitting(metric.map(|metric| metric.unit), [mean]);
        format!(
            "{}{}",
            significant(scale.convert(mean), 4),
            scale.unit_after()
        )
    }

    /// A row for each level that was repeated: of the metrics that benchmarks are run for, or of the others.
    pub fn rows(&self, primary: bool) -> Vec<NoiseRow> {
        let noises = self.verdict.noises.iter();
        let noises = noises.filter(|noise| self.is_primary(noise) == primary);
        noises.flat_map(|noise| self.rows_of(noise)).collect()
    }

    fn is_primary(&self, noise: &MetricNoise) -> bool {
        let cell = self.cells.get(noise.cell);
        let mut metrics = cell.into_iter().flat_map(|cell| &cell.metrics);
        metrics.any(|metric| metric.primary && metric.name == noise.metric)
    }

    fn secondary(&self) -> usize {
        let noises = self.verdict.noises.iter();
        noises.filter(|noise| !self.is_primary(noise)).count()
    }

    fn rows_of(&self, noise: &MetricNoise) -> Vec<NoiseRow> {
        let (cell, metric) = self.names(noise);
        let Ok(found) = &noise.found else {
            return Vec::new();
        };
        let all: f64 = found.components.iter().map(|part| part.variance).sum();
        let mean = found.mean;
        let row = |part: &VarianceComponent| NoiseRow {
            cell: cell.clone(),
            metric: metric.clone(),
            mean: self.mean(noise, mean),
            level: level_name(part.level),
            repeats: match part.level {
                Level::Layout => noise.counts.0,
                Level::Boot => noise.counts.1,
                _ => noise.counts.2,
            },
            deviation: match noise.added_percent(part) {
                None => "undefined".to_owned(),
                Some(interval) => {
                    let deviation = 100.0 * part.variance.max(0.0).sqrt() / mean.abs();
                    let rounding = Rounding::from_interval(deviation, Some(interval));
                    let (deviation, interval) =
                        (rounding.value(deviation), rounding.interval(interval));
                    format!("{deviation} % {interval}")
                }
            },
            share: match all > 0.0 {
                true => share(part.variance / all),
                false => "none".to_owned(),
            },
            band: noise.deviation_percent(part.level).map_or_else(
                || "undefined".to_owned(),
                |deviation| format!("±{} %", significant(BAND * deviation, DIGITS)),
            ),
        };
        let within = self.within(noise).map(|within| NoiseRow {
            cell: cell.clone(),
            metric: metric.clone(),
            mean: self.mean(noise, mean),
            level: level_name(Level::Sample),
            repeats: within.samples,
            deviation: format!("{} %", significant(within.deviation_percent, DIGITS)),
            share: "apart".to_owned(),
            band: format!(
                "±{} %",
                significant(BAND * within.deviation_percent, DIGITS)
            ),
        });
        let levels = found.components.iter().map(row);
        within.into_iter().chain(levels).collect()
    }

    /// How much the interval samples of a metric vary, if it has any.
    pub(super) fn within(&self, noise: &MetricNoise) -> Option<&'a WithinTrials> {
        self.within.get(&(noise.cell, noise.metric.clone()))
    }

    /// The advice of the primary metric that needs most.
    fn most_needed(&self) -> Option<(&'a MetricNoise, ReplicationAdvice)> {
        let primary = self.verdict.noises.iter();
        let primary = primary.filter(|noise| self.is_primary(noise));
        let advices = primary.filter_map(|noise| {
            let advice = noise.advice(&self.verdict.cost, self.precision).ok()?;
            Some((noise, advice))
        });
        advices.max_by(|a, b| a.1.cost.total_cmp(&b.1.cost))
    }

    /// The command that measures a version as often as is advised, where one does.
    pub fn command(&self) -> Option<String> {
        let (_, advice) = self.most_needed()?;
        let (_, rounds) = advice
            .repeats
            .iter()
            .find(|(level, _)| *level == Level::Trial)?;
        Some(format!("{} --rounds {rounds}", self.command?))
    }

    /// The advice for the primary metric that needs most, in one sentence; or why there is none.
    pub fn advice(&self) -> String {
        let Some((noise, advice)) = self.most_needed() else {
            return "no advice: nothing was repeated that has a spread".to_owned();
        };
        let (cell, metric) = self.names(noise);
        let others = match self.verdict.noises.len() - self.secondary() {
            1 => "",
            _ => ", which varies most",
        };
        format!(
            "to see {} % in {cell} {metric}{others}, here: {} of each version, {} for both",
            self.precision,
            repeats(&advice),
            duration(Duration::try_from_secs_f64(advice.cost).unwrap_or(Duration::MAX))
        )
    }

    /// The advice, and how the study ended.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![self.advice()];
        let command = self.command();
        sentences.extend(command.map(|command| format!("each version so: {command}")));
        if let Some(scope) = self.scope() {
            sentences.push(scope.to_owned());
        }
        let busy = self.neighbours.filter(|busy| *busy >= MIN_MENTIONED_SHARE);
        sentences.extend(busy.map(|busy| {
            format!(
                "others took {} of the processors meanwhile: on a quiet machine it may vary less",
                share(busy)
            )
        }));
        let verdict = self.verdict;
        let failed = match verdict.failed {
            0 => String::new(),
            failed => format!(", {failed} of them failed"),
        };
        let end = match verdict.ended {
            None => "it was stopped before its end".to_owned(),
            Some(NoiseEnd::Complete) => "all repeats are made".to_owned(),
            Some(NoiseEnd::Budget) => format!(
                "the budget of {} is spent",
                self.budget
                    .map_or_else(String::new, |b| Time(b).to_string())
            ),
            Some(NoiseEnd::Dead) => {
                "it doesn't build or boot: `backsight show` says why".to_owned()
            }
        };
        sentences.push(format!(
            "{}{failed}, in {}; {end}",
            counted(verdict.measured + verdict.failed, "trial"),
            duration(verdict.spent)
        ));
        sentences
    }

    /// For what the bands hold, where levels are missing.
    fn scope(&self) -> Option<&'static str> {
        let found = self
            .verdict
            .noises
            .iter()
            .filter_map(|noise| noise.found.as_ref().ok());
        let highest = found
            .filter_map(|found| found.components.last().map(|part| part.level))
            .max()?;
        match highest {
            Level::Layout | Level::Host => None,
            Level::Boot => Some("all of this is of one layout: another one may lie elsewhere"),
            _ => Some("all of this is of one boot and one layout: others may lie elsewhere"),
        }
    }

    fn table(&self, primary: bool) -> Table {
        let mut table = Table::new(vec![
            left("cell"),
            left("metric"),
            right("mean"),
            left("level"),
            right("repeats"),
            right("deviation"),
            right("share"),
            right("band"),
        ]);
        for row in self.rows(primary) {
            table.row(vec![
                field(row.cell),
                field(row.metric),
                field(row.mean),
                field(row.level),
                field(row.repeats.to_string()),
                field(row.deviation),
                field(row.share),
                field(row.band),
            ]);
        }
        table
    }

    /// The bands of each metric, primary ones first.
    pub fn figures(&self) -> Vec<Figure> {
        let mut noises: Vec<&MetricNoise> = self.verdict.noises.iter().collect();
        noises.sort_by_key(|noise| !self.is_primary(noise));
        let noises = noises.into_iter().take(MOST_FIGURES);
        noises.filter_map(|noise| self.figure(noise)).collect()
    }

    fn figure(&self, noise: &MetricNoise) -> Option<Figure> {
        let found = noise.found.as_ref().ok()?;
        if found.mean == 0.0 {
            return None;
        }
        let (cell, metric) = self.names(noise);
        let bands: Vec<Band> = found
            .components
            .iter()
            .filter_map(|part| band(noise, part.level, found.mean))
            .collect();
        Some(Figure {
            heading: format!("{cell} {metric}"),
            about: format!("in percent of {}", self.mean(noise, found.mean)),
            svg: chart::bands(&format!("Bands of {cell} {metric}"), &bands),
        })
    }
}

impl NoiseStudy<'_> {
    /// The noise as a document: the advice, and the levels.
    pub fn document(&self) -> Document {
        let folded = match self.secondary() {
            0 => None,
            1 => Some("… and 1 secondary metric".to_owned()),
            count => Some(format!("… and {count} secondary metrics")),
        };
        Document::new(format!("noise of {}", self.what))
            .with_sentences(self.sentences())
            .with_sentences(
                folded.map(|what| {
                    format!("{what}: backsight show {} -o noise.md has them", self.name)
                }),
            )
            .with_section(Section::table("", self.table(true)))
            .with_section(Section::table("Secondary metrics", self.table(false)).folded())
    }
}

/// `3 relinks × 2 boots × 4 trials`.
fn repeats(advice: &ReplicationAdvice) -> String {
    let parts = advice.repeats.iter().rev().map(|(level, count)| {
        let noun = match level {
            Level::Layout => "relink",
            Level::Host => "host",
            Level::Boot => "boot",
            Level::Trial | Level::Session => "trial",
            Level::Sample => "sample",
        };
        counted(*count, noun)
    });
    parts.collect::<Vec<_>>().join(" × ")
}

/// The band of a level: where single trials lie that are new up to it.
fn band(noise: &MetricNoise, level: Level, mean: f64) -> Option<Band> {
    // What trials share that are new only up to this level.
    let shared: fn(&NestedSample) -> (u64, u64) = match level {
        Level::Layout => |_| (0, 0),
        Level::Boot => |p| (p.layout, 0),
        _ => |p| (p.layout, p.boot),
    };
    let mut groups: HashMap<(u64, u64), (f64, f64)> = HashMap::new();
    for placed in &noise.placed {
        let sum = groups.entry(shared(placed)).or_default();
        *sum = (sum.0 + placed.value, sum.1 + 1.0);
    }
    let dots = noise.placed.iter().filter_map(|placed| {
        let (sum, count) = groups.get(&shared(placed))?;
        Some(100.0 * (placed.value - sum / count) / mean.abs())
    });
    let (label, half) = (level_name(level), BAND * noise.deviation_percent(level)?);
    let width = significant(half, DIGITS);
    Some(Band {
        label,
        about: format!("{label}: 95 of 100 single trials within ±{width} %"),
        half,
        dots: dots.collect(),
    })
}
