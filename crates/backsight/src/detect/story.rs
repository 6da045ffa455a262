//! What there is to tell about one series: its changes with the versions between which they happened, its epochs, and
//! what was looked for and not found.

pub use backsight_policy::Direction;
use backsight_policy::{percent_of, tests_of};
use backsight_stats::{
    Better, Interval, Samples,
    changes::{Change, Epoch, FEWEST, Findings, Pending, Search, Trend, detect, version_value},
};
use std::collections::HashMap;

use super::{
    input::Series,
    picture::{self, Picture},
};

/// A version of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// From 0.
    pub index: usize,
    pub label: String,
}

/// Between which versions something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    /// The last version that is surely before it; none if it may be the first version.
    pub after: Option<Place>,
    /// The first version after it, at the best guess.
    pub at: Place,
    /// The last version that may be the first after it.
    pub until: Place,
}

/// A change of level or trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub change: Change,
    pub between: Between,
    /// p adjusted for all series; none for a trend, or if there are no others.
    pub adjusted: Option<f64>,
    /// Whether it is believed among so many.
    pub believed: bool,
}

/// The newest versions, if they may be the beginning of another level.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingTold {
    /// The change that it would be.
    pub told: Told,
    /// How many versions lie there.
    pub versions: usize,
    /// How many more like them would make it a change.
    pub to_come: usize,
}

/// All about one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// The values of the key columns, with their names.
    pub keys: Vec<(String, String)>,
    pub metric: String,
    pub unit: Option<String>,
    pub better: Option<Better>,
    pub versions: usize,
    pub samples: usize,
    pub missing: usize,
    /// As [`Series::sessions`].
    pub sessions: Option<(usize, usize)>,
    /// As [`Series::of_sessions`].
    pub of_sessions: bool,
    pub changes: Vec<Told>,
    pub epochs: Vec<(Epoch, Between)>,
    /// The clearest change that wasn't believed, and its p.
    pub doubted: Option<(Place, f64)>,
    /// The newest versions, from this one on, if they may be the beginning of another level.
    pub pending: Option<PendingTold>,
    /// How the level moves steadily all along, if it does and nothing changed.
    pub trend: Option<Trend>,
    pub period: Option<usize>,
    pub kept: f64,
    pub noise: f64,
    pub least_found: Option<f64>,
    /// The level that `least_found` is to be seen beside: that after the last change.
    pub level: f64,
    /// Of the end of the series.
    pub last: Option<Place>,
    pub sparks: String,
    /// A chart, where one was asked for.
    pub svg: Option<String>,
}

impl Told {
    pub fn direction(&self, better: Option<Better>) -> Direction {
        Direction::of(&self.change, better)
    }

    /// The size in percent of the level before, with its interval; undefined where that is zero.
    pub fn percent(&self) -> Option<(f64, Interval)> {
        percent_of(&self.change)
    }
}

impl Story {
    /// The series' name as one text.
    pub fn name(&self) -> String {
        let mut parts: Vec<&str> = self.keys.iter().map(|(_, value)| value.as_str()).collect();
        parts.push(&self.metric);
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// Changes that are believed.
    pub fn believed(&self) -> impl Iterator<Item = &Told> {
        self.changes.iter().filter(|told| told.believed)
    }

    /// The p-values that this series has among those of all: its changes of level, or that of the clearest which is none.
    pub fn tests(&self) -> Vec<f64> {
        let changes = self.changes.iter().map(|told| &told.change);
        tests_of(changes, self.doubted.as_ref().map(|(_, p)| *p))
    }

    /// Whether it has fewer versions than can show a change.
    pub fn is_too_short(&self) -> bool {
        self.versions < FEWEST
    }

    /// Whether there is anything to tell beside that nothing was found.
    pub fn has_news(&self) -> bool {
        !self.changes.is_empty()
            || !self.epochs.is_empty()
            || self.pending.is_some()
            || self.trend.is_some()
    }
}

/// Searches a series.
pub fn of(series: Series, search: &Search, with_svg: bool) -> Story {
    let (labels, values) = versions(&series);
    let mut story = unsearched(&series, &labels, &values);
    // The only way to fail is that there is no value at all: every one of them is finite.
    let Ok(found) = detect(&values, search) else {
        return story;
    };
    if with_svg {
        let picture = Picture {
            title: series.name(),
            labels: &labels,
            values: &values,
            findings: &found,
        };
        story.svg = Some(picture.svg());
    }
    tell(&mut story, found, &labels);
    story
}

/// What is known of a series before it is searched.
fn unsearched(series: &Series, labels: &[&str], values: &[f64]) -> Story {
    Story {
        keys: series.keys.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        better: series.better,
        versions: values.len(),
        samples: series.values.len(),
        missing: series.missing,
        sessions: series.sessions,
        of_sessions: series.of_sessions,
        changes: Vec::new(),
        epochs: Vec::new(),
        doubted: None,
        pending: None,
        trend: None,
        period: None,
        kept: 0.0,
        noise: 0.0,
        least_found: None,
        level: mean(values),
        last: values.len().checked_sub(1).map(|last| place(last, labels)),
        sparks: picture::sparks(values),
        svg: None,
    }
}

/// Adds what the search found.
fn tell(story: &mut Story, found: Findings, labels: &[&str]) {
    let between = |at: usize, earliest: usize, latest: usize| Between {
        after: earliest.checked_sub(1).map(|after| place(after, labels)),
        at: place(at, labels),
        until: place(latest, labels),
    };
    if let Some(change) = found.changes.last() {
        story.level = change.after;
    }
    let changes = found.changes.into_iter().map(|change| Told {
        between: between(change.at, change.earliest, change.latest),
        change,
        adjusted: None,
        believed: true,
    });
    story.changes = changes.collect();
    let epochs = found.epochs.into_iter().map(|epoch| {
        let between = between(epoch.at, epoch.earliest, epoch.latest);
        (epoch, between)
    });
    story.epochs = epochs.collect();
    let doubted = found.doubted;
    story.doubted = doubted.map(|doubted| (place(doubted.at, labels), doubted.p));
    let pending = found.pending;
    story.pending = pending.map(|Pending { change, to_come }| PendingTold {
        versions: labels.len() - change.at,
        to_come,
        told: Told {
            between: between(change.at, change.earliest, change.latest),
            change,
            adjusted: None,
            believed: false,
        },
    });
    story.trend = found.trend;
    story.period = found.period;
    story.kept = found.kept;
    story.noise = found.noise;
    story.least_found = found.least_found;
}

fn place(index: usize, labels: &[&str]) -> Place {
    Place {
        index,
        label: labels.get(index).copied().unwrap_or_default().to_owned(),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One value a version: samples that bear the same name are of one, wherever they stand. Versions are in the order in
/// which they first come.
fn versions(series: &Series) -> (Vec<&str>, Vec<f64>) {
    if !series.named {
        return (series.labels.iter().collect(), series.values.clone());
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(series.values.len());
    let mut labels: Vec<&str> = Vec::with_capacity(series.values.len());
    let mut of_versions: Vec<Vec<f64>> = Vec::new();
    let mut values: Vec<f64> = Vec::with_capacity(series.values.len());
    for (label, &value) in series.labels.iter().zip(&series.values) {
        match places.get(label) {
            None => {
                places.insert(label, labels.len());
                labels.push(label);
                values.push(value);
            }
            Some(&version) => {
                // Most series have one sample a version and need no lists.
                if of_versions.is_empty() {
                    of_versions.resize(series.values.len(), Vec::new());
                }
                let samples = &mut of_versions[version];
                if samples.is_empty() {
                    samples.push(values[version]);
                }
                samples.push(value);
            }
        }
    }
    for (value, samples) in values.iter_mut().zip(of_versions) {
        if let Ok(samples) = Samples::new(samples) {
            *value = version_value(&samples);
        }
    }
    (labels, values)
}
