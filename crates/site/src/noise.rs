//! How much a benchmark varies, and where that comes from, in words and as a page: bands for the same boot, another boot,
//! another layout; and how many repeats to buy.
//!
//! Refuses: a band of a level that wasn't repeated.

// Writing to a String doesn't fail, so its result is dropped below.
use std::fmt::Write;

use askama::Template;
use backsight_model::{HistoryCell, Time, numbers::Rounding, significant};
use backsight_policy::{Noise, NoiseEnd, NoiseVerdict};
use backsight_report::{Document, Section, Table, field, left, right};
use backsight_stats::{Advice, Component, Interval, Level, Placed};
use std::{collections::HashMap, time::Duration};

use crate::{
    PageError, escape,
    shown::{Scale, counted, duration, share},
};

/// Half the width of a band, in standard deviations: 95% of normal values lie in it.
const BAND: f64 = 1.96;
/// Digits of a deviation in percent.
const DIGITS: usize = 3;
/// Most pictures of a page.
const MOST_PICTURES: usize = 60;
/// Most dots of a band.
const MOST_DOTS: usize = 200;

/// A study of noise with everything that is said of it.
#[derive(Debug, Clone, Copy)]
pub struct NoiseWords<'a> {
    /// The study's name.
    pub name: &'a str,
    /// What was measured: a version, or the software as it is found.
    pub what: &'a str,
    /// The cells with their metrics.
    pub cells: &'a [HistoryCell],
    /// What was found.
    pub verdict: &'a NoiseVerdict,
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
    /// The share of this level in the variance of a single trial.
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
    }
}

impl<'a> NoiseWords<'a> {
    fn names(&self, noise: &Noise) -> (String, String) {
        let cell = self.cells.get(noise.cell);
        let cell = cell.map_or_else(String::new, |cell| cell.cell.to_string());
        (cell, noise.metric.to_string())
    }

    fn mean(&self, noise: &Noise, mean: f64) -> String {
        let cell = self.cells.get(noise.cell);
        let metric = cell.and_then(|cell| cell.metrics.iter().find(|m| m.name == noise.metric));
        let scale = Scale::fitting(metric.map(|metric| metric.unit), [mean]);
        format!("{}{}", significant(scale.of(mean), 4), scale.unit_after())
    }

    /// A row for each level that was repeated: of the metrics that benchmarks are run for, or of the others.
    pub fn rows(&self, primary: bool) -> Vec<NoiseRow> {
        let noises = self.verdict.noises.iter();
        let noises = noises.filter(|noise| self.is_primary(noise) == primary);
        noises.flat_map(|noise| self.rows_of(noise)).collect()
    }

    fn is_primary(&self, noise: &Noise) -> bool {
        let cell = self.cells.get(noise.cell);
        let mut metrics = cell.into_iter().flat_map(|cell| &cell.metrics);
        metrics.any(|metric| metric.primary && metric.name == noise.metric)
    }

    fn secondary(&self) -> usize {
        let noises = self.verdict.noises.iter();
        noises.filter(|noise| !self.is_primary(noise)).count()
    }

    fn rows_of(&self, noise: &Noise) -> Vec<NoiseRow> {
        let (cell, metric) = self.names(noise);
        let Ok(found) = &noise.found else {
            return Vec::new();
        };
        let all: f64 = found.components.iter().map(|part| part.variance).sum();
        let mean = found.mean;
        let row = |part: &Component| NoiseRow {
            cell: cell.clone(),
            metric: metric.clone(),
            mean: self.mean(noise, mean),
            level: level_name(part.level),
            repeats: match part.level {
                Level::Layout => noise.counts.0,
                Level::Boot => noise.counts.1,
                _ => noise.counts.2,
            },
            deviation: match mean == 0.0 {
                true => "undefined".to_owned(),
                false => {
                    let of = |variance: f64| 100.0 * variance.max(0.0).sqrt() / mean.abs();
                    let deviation = of(part.variance);
                    let interval = Interval {
                        low: of(part.interval.low),
                        high: of(part.interval.high),
                    };
                    let rounding = Rounding::of(deviation, Some(interval));
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
        found.components.iter().map(row).collect()
    }

    /// The advice of the primary metric that needs most.
    fn most_needed(&self) -> Option<(&'a Noise, Advice)> {
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
            Level::Layout => None,
            Level::Boot => Some("all of this is of one layout: another one may lie elsewhere"),
            _ => Some("all of this is of one boot and one layout: others may lie elsewhere"),
        }
    }

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

    /// The noise as one self-contained HTML file.
    ///
    /// # Errors
    /// The template fails; no input is known that makes it.
    pub fn page(&self) -> Result<String, PageError> {
        let mut pictures: Vec<&Noise> = self.verdict.noises.iter().collect();
        pictures.sort_by_key(|noise| !self.is_primary(noise));
        let pictures = pictures.into_iter().take(MOST_PICTURES);
        let page = Page {
            title: self.name,
            style: include_str!("../templates/report.css"),
            version: env!("CARGO_PKG_VERSION"),
            what: self.what,
            sentences: self.sentences(),
            rows: self.rows(true),
            secondary: self.rows(false),
            pictures: pictures.filter_map(|noise| self.picture(noise)).collect(),
        };
        Ok(page.render()?)
    }

    fn picture(&self, noise: &Noise) -> Option<Picture> {
        let found = noise.found.as_ref().ok()?;
        if found.mean == 0.0 {
            return None;
        }
        let (cell, metric) = self.names(noise);
        let bands: Vec<Band> = found
            .components
            .iter()
            .filter_map(|part| Band::of(noise, part.level, found.mean))
            .collect();
        Some(Picture {
            heading: format!("{cell} {metric}"),
            about: format!("in percent of {}", self.mean(noise, found.mean)),
            svg: drawn(&format!("{cell} {metric}"), &bands),
        })
    }
}

/// `3 relinks × 2 boots × 4 trials`.
fn repeats(advice: &Advice) -> String {
    let parts = advice.repeats.iter().rev().map(|(level, count)| {
        let noun = match level {
            Level::Layout => "relink",
            Level::Boot => "boot",
            Level::Trial | Level::Session => "trial",
            Level::Sample => "sample",
        };
        counted(*count, noun)
    });
    parts.collect::<Vec<_>>().join(" × ")
}

/// Where single trials lie that are new up to a level.
struct Band {
    label: &'static str,
    /// Half its width, in percent of the mean.
    half: f64,
    /// How far each trial is from the mean of what it shares with the others, in percent.
    dots: Vec<f64>,
}

impl Band {
    fn of(noise: &Noise, level: Level, mean: f64) -> Option<Self> {
        // What trials share that are new only up to this level.
        let shared: fn(&Placed) -> (u64, u64) = match level {
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
        Some(Self {
            label: level_name(level),
            half: BAND * noise.deviation_percent(level)?,
            dots: dots.collect(),
        })
    }
}

const COLUMN: f64 = 110.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 52.0;
const LABELS: f64 = 18.0;

/// The bands side by side as SVG.
fn drawn(title: &str, bands: &[Band]) -> String {
    let reach = bands
        .iter()
        .flat_map(|band| band.dots.iter().map(|dot| dot.abs()).chain([band.half]))
        .filter(|reach| reach.is_finite())
        .fold(1e-6, f64::max);
    let middle = (HEIGHT - LABELS) / 2.0;
    let y = |percent: f64| middle - percent / reach * (middle - 6.0);
    let width = LEFT + COLUMN * bands.len() as f64;
    let mut svg = format!(
        "<svg class=\"bands\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" \
         font-size=\"11\" fill=\"currentColor\"><title>{}</title>",
        escape::text(&format!("Bands of {title}"))
    );
    for percent in [reach, 0.0, -reach] {
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {0:.1}H{width}\" stroke=\"#d9dde1\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(percent),
            LEFT - 4.0,
            y(percent) + 4.0,
            match percent == 0.0 {
                true => "mean".to_owned(),
                false => format!(
                    "{}{} %",
                    if percent > 0.0 { "+" } else { "−" },
                    significant(reach, 2)
                ),
            }
        );
    }
    for (at, band) in bands.iter().enumerate() {
        let x = LEFT + COLUMN * at as f64;
        let _ = write!(
            svg,
            "<g class=\"band\"><title>{0}: 95 of 100 single trials within ±{1} %</title><rect x=\"{2:.1}\" y=\"{3:.1}\" \
             width=\"{4:.1}\" height=\"{5:.1}\" fill=\"#4477aa\" fill-opacity=\"0.22\"/>",
            band.label,
            significant(band.half, DIGITS),
            x + 12.0,
            y(band.half),
            COLUMN - 24.0,
            y(-band.half) - y(band.half),
        );
        let step = band.dots.len().div_ceil(MOST_DOTS).max(1);
        let dots: Vec<f64> = band.dots.iter().copied().step_by(step).collect();
        for (number, dot) in dots.iter().enumerate() {
            let across = (number as f64 + 0.5) / dots.len() as f64;
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"1.6\" fill=\"#4477aa\"/>",
                x + 12.0 + across * (COLUMN - 24.0),
                y(*dot)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>",
            x + COLUMN / 2.0,
            HEIGHT - 5.0,
            band.label
        );
    }
    svg.push_str("</svg>");
    svg
}

struct Picture {
    heading: String,
    about: String,
    svg: String,
}

#[derive(Template)]
#[template(path = "noise.html")]
struct Page<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
    what: &'a str,
    sentences: Vec<String>,
    rows: Vec<NoiseRow>,
    secondary: Vec<NoiseRow>,
    pictures: Vec<Picture>,
}
