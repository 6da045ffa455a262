//! The changes of one series with the versions between which they happened, its epochs, and what was looked for and not
//! found.

pub use backsight_policy::ChangeDirection;
use backsight_policy::{change_percent, significance_tests};
use backsight_stats::{
    Better, Interval,
    changes::{DetectedChange, Findings, MIN_POINTS, PendingLevel, Trend, VarianceChange},
};

/// A version of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesVersion {
    /// Its place, from 0.
    pub index: usize,
    /// Its name.
    pub label: String,
}

/// The versions among which something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRange {
    /// The last version that is surely before it; none if it may be the first version.
    pub after: Option<SeriesVersion>,
    /// The first version after it, at the best guess.
    pub at: SeriesVersion,
    /// The last version that may be the first after it.
    pub until: SeriesVersion,
}

/// A change of level or trend.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChange {
    /// The change.
    pub change: DetectedChange,
    /// Its versions.
    pub between: ChangeRange,
    /// p adjusted for all series; none for a trend, or if there are no others.
    pub adjusted: Option<f64>,
    /// Whether it is believed among so many.
    pub believed: bool,
}

/// The newest versions, if they may be the beginning of another level.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingSeriesChange {
    /// The change that it would be.
    pub found: FoundChange,
    /// How many versions lie there.
    pub versions: usize,
    /// How many more like them would make it a change.
    pub to_come: usize,
}

/// One series with its findings.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesChanges {
    /// The values of the key columns, with their names.
    pub keys: Vec<(String, String)>,
    /// The metric.
    pub metric: String,
    /// Its unit, where it is known.
    pub unit: Option<String>,
    /// Which direction is good, where it is known.
    pub better: Option<Better>,
    /// Versions with a value.
    pub versions: usize,
    /// Values that they are made of.
    pub samples: usize,
    /// Rows without a value.
    pub missing: usize,
    /// The fewest and the most sessions that a value is from, where that is known.
    pub sessions: Option<(usize, usize)>,
    /// Whether values are those of sessions, each of several trials.
    pub of_sessions: bool,
    /// Its changes of level or trend, oldest first.
    pub changes: Vec<FoundChange>,
    /// Its changes of noise, oldest first.
    pub epochs: Vec<(VarianceChange, ChangeRange)>,
    /// The clearest change that wasn't believed, and its p.
    pub doubted: Option<(SeriesVersion, f64)>,
    /// The newest versions, from this one on, if they may be the beginning of another level.
    pub pending: Option<PendingSeriesChange>,
    /// How the level moves steadily all along, if it does; beside the steps of the changes.
    pub trend: Option<Trend>,
    /// A period that was taken out first, in versions.
    pub period: Option<usize>,
    /// The share of a deviation that is kept from one version to the next: the lag-1 autocorrelation of the noise.
    pub kept: f64,
    /// The standard deviation of the noise.
    pub noise: f64,
    /// The smallest lasting change of the latest part that would be found nine times out of ten.
    pub least_found: Option<f64>,
    /// The level that `least_found` is to be seen beside: that after the last change.
    pub level: f64,
    /// The last version.
    pub last: Option<SeriesVersion>,
    /// The values as a line of bars.
    pub sparks: String,
    /// A chart, where one was asked for.
    pub svg: Option<String>,
}

impl FoundChange {
    /// Whether it is for the better or the worse, or up or down.
    pub fn direction(&self, better: Option<Better>) -> ChangeDirection {
        ChangeDirection::from_change(&self.change, better)
    }

    /// The size in percent of the level before, with its interval; undefined where that is zero.
    pub fn percent(&self) -> Option<(f64, Interval)> {
        change_percent(&self.change)
    }
}

impl SeriesChanges {
    /// The series' name as one text.
    pub fn name(&self) -> String {
        let mut parts: Vec<&str> = self.keys.iter().map(|(_, value)| value.as_str()).collect();
        parts.push(&self.metric);
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// Changes that are believed.
    pub fn believed(&self) -> impl Iterator<Item = &FoundChange> {
        self.changes.iter().filter(|told| told.believed)
    }

    /// The p-values that this series has among those of all: its changes of level, or that of the clearest which is none.
    pub fn tests(&self) -> Vec<f64> {
        let changes = self.changes.iter().map(|told| &told.change);
        significance_tests(changes, self.doubted.as_ref().map(|(_, p)| *p))
    }

    /// Whether it has fewer versions than can show a change.
    pub fn is_too_short(&self) -> bool {
        self.versions < MIN_POINTS
    }

    /// Whether anything was found.
    pub fn has_findings(&self) -> bool {
        !self.changes.is_empty()
            || !self.epochs.is_empty()
            || self.pending.is_some()
            || self.trend.is_some()
    }

    /// Adds the findings of the search; `labels` are the names of the versions.
    pub fn add_findings(&mut self, found: Findings, labels: &[&str]) {
        let between = |at: usize, earliest: usize, latest: usize| ChangeRange {
            after: earliest
                .checked_sub(1)
                .map(|after| SeriesVersion::new(after, labels)),
            at: SeriesVersion::new(at, labels),
            until: SeriesVersion::new(latest, labels),
        };
        if let Some(change) = found.changes.last() {
            self.level = change.after;
        }
        let changes = found.changes.into_iter().map(|change| FoundChange {
            between: between(change.at, change.earliest, change.latest),
            change,
            adjusted: None,
            believed: true,
        });
        self.changes = changes.collect();
        let epochs = found.epochs.into_iter().map(|epoch| {
            let between = between(epoch.at, epoch.earliest, epoch.latest);
            (epoch, between)
        });
        self.epochs = epochs.collect();
        let doubted = found.doubted;
        self.doubted = doubted.map(|doubted| (SeriesVersion::new(doubted.at, labels), doubted.p));
        let pending = found.pending;
        self.pending = pending.map(|PendingLevel { change, to_come }| PendingSeriesChange {
            versions: labels.len() - change.at,
            to_come,
            found: FoundChange {
                between: between(change.at, change.earliest, change.latest),
                change,
                adjusted: None,
                believed: false,
            },
        });
        self.trend = found.trend;
        self.period = found.period;
        self.kept = found.kept;
        self.noise = found.noise;
        self.least_found = found.least_found;
    }
}

impl SeriesVersion {
    /// The version at this index of a series whose versions have these names.
    pub fn new(index: usize, labels: &[&str]) -> Self {
        Self {
            index,
            label: labels.get(index).copied().unwrap_or_default().to_owned(),
        }
    }
}
