//! What a history lacks, for gates: a broken newest version, series without values, old values, and series too short to show a
//! change.
//!
//! Only questions of the latest study of each cell count: series with an older definition are over.

use jiff::Timestamp;
use std::{collections::HashSet, fmt};

use super::{DetectionMethod, ReferenceSeries, TargetHistory, VersionSeries, VersionStanding};
use backsight_stats::changes::MIN_POINTS;

/// Something that a history lacks.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryGap {
    /// The newest version that was tried doesn't build, doesn't boot, or all of its trials failed.
    BrokenVersion {
        /// Its name.
        version: String,
        /// How far it came.
        standing: VersionStanding,
    },
    /// The newest version that was tried was measured, and every trial of this cell failed there.
    BrokenCell {
        /// The cell.
        cell: String,
        /// The version's name.
        version: String,
    },
    /// Nothing was measured of a cell at any version.
    MissingCell {
        /// The cell.
        cell: String,
    },
    /// There are no series.
    NoSeries,
    /// The newest measured version isn't the newest that is known.
    StaleVersion {
        /// The series.
        series: String,
        /// Its newest measured version.
        measured: String,
        /// The newest version that is known.
        newest: String,
    },
    /// The newest measured version is older than was asked.
    StaleDate {
        /// The series.
        series: String,
        /// Its newest measured version.
        measured: String,
        /// The version's date, if it has one.
        at: Option<Timestamp>,
    },
    /// Too few versions were measured to show any change.
    TooShort {
        /// The series.
        series: String,
        /// How many have a value.
        versions: usize,
    },
    /// A reference that was measured beside moved.
    Drift {
        /// Its name.
        reference: String,
    },
    /// Too few trials of a reference were measured to show that it moves.
    ShortReference {
        /// Its name.
        reference: String,
        /// How many have a value.
        trials: usize,
    },
    /// No reference was measured beside.
    NoReference,
}

impl fmt::Display for HistoryGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokenVersion { version, standing } => {
                write!(f, "broken: the newest version, {version}, ")?;
                match standing {
                    VersionStanding::Broken(why) => write!(f, "doesn't build: {why}"),
                    VersionStanding::Unbootable(why) => write!(f, "doesn't boot: {why}"),
                    VersionStanding::Failed(why) => {
                        write!(f, "has only failed trials: {why}")
                    }
                    other => write!(f, "is {}", other.as_str()),
                }
            }
            Self::BrokenCell { cell, version } => {
                write!(f, "broken: every trial of {cell} failed on {version}")
            }
            Self::MissingCell { cell } => {
                write!(f, "missing: nothing was measured of {cell}")
            }
            Self::Drift { reference } => write!(f, "drift: {reference} moved"),
            Self::ShortReference { reference, trials } => write!(
                f,
                "undecided: {reference} was measured {trials} times, and {MIN_POINTS} can show a drift"
            ),
            Self::NoReference => {
                f.write_str("undecided: no reference was measured beside, which would show a drift")
            }
            Self::NoSeries => f.write_str("missing: there is nothing to measure in any study"),
            Self::StaleVersion {
                series,
                measured,
                newest,
            } => write!(
                f,
                "stale: {series}: the newest measured version is {measured}, and {newest} is known"
            ),
            Self::StaleDate {
                series,
                measured,
                at,
            } => {
                write!(
                    f,
                    "stale: {series}: the newest measured version is {measured}, "
                )?;
                match at {
                    Some(at) => write!(f, "of {at}"),
                    None => f.write_str("which has no date"),
                }
            }
            Self::TooShort { series, versions } => write!(
                f,
                "can't tell: {series}: {versions} measured version{} can't show a change",
                if *versions == 1 { "" } else { "s" }
            ),
        }
    }
}

impl TargetHistory {
    /// References of the questions of these series that moved; of all metrics, or the primary ones.
    pub(super) fn drifts(&self, series: &[&VersionSeries], all_metrics: bool) -> Vec<HistoryGap> {
        let moved = self.references_of(series).filter(|it| it.drifts());
        let counted = moved.filter(|it| it.metric.primary || all_metrics);
        let drift = |it: &ReferenceSeries| HistoryGap::Drift {
            reference: it.name(),
        };
        counted.map(drift).collect()
    }

    /// Why a move of a reference of these series wouldn't be seen.
    pub(super) fn unseen_drift(&self, series: &[&VersionSeries]) -> Vec<HistoryGap> {
        if self.references_of(series).next().is_none() {
            return vec![HistoryGap::NoReference];
        }
        let short = self.references_of(series).filter(|it| it.is_too_short());
        let short = short.map(|it| HistoryGap::ShortReference {
            reference: it.name(),
            trials: it.points.len(),
        });
        short.collect()
    }

    fn references_of<'a>(
        &'a self,
        series: &'a [&VersionSeries],
    ) -> impl Iterator<Item = &'a ReferenceSeries> {
        self.references.iter().filter(|reference| {
            let mut series = series.iter();
            series.any(|one| {
                one.cell.benchmark == reference.cell.benchmark
                    && one.metric.name == reference.metric.name
            })
        })
    }

    fn name(&self, version: usize) -> String {
        let version = self.versions.get(version);
        version.map_or_else(String::new, |it| it.version.full_name())
    }

    /// The newest version for which this holds of how far it came.
    fn newest(&self, holds: impl Fn(&VersionStanding) -> bool) -> Option<usize> {
        self.versions.iter().rposition(|it| holds(&it.standing))
    }

    /// What is broken at the newest version that was tried. A version that a quirk skips was not.
    pub fn broken(&self, series: &[&VersionSeries]) -> Vec<HistoryGap> {
        use VersionStanding::{Broken, Failed, Measured, Pending, Skipped, Unbootable};
        let tried = self.newest(|standing| !matches!(standing, Pending | Skipped(_)));
        let Some((newest, version)) = tried.zip(tried.and_then(|at| self.versions.get(at))) else {
            return Vec::new();
        };
        match &version.standing {
            Broken(_) | Failed(_) | Unbootable(_) => vec![HistoryGap::BrokenVersion {
                version: self.name(newest),
                standing: version.standing.clone(),
            }],
            Measured | Pending | Skipped(_) => {
                let failed = |one: &VersionSeries| {
                    one.points.iter().any(|point| {
                        point.version == newest && point.value.is_none() && point.counts.failed > 0
                    })
                };
                cells(series, failed, |one| one.value_at(newest).is_some())
                    .map(|cell| HistoryGap::BrokenCell {
                        cell,
                        version: self.name(newest),
                    })
                    .collect()
            }
        }
    }

    /// Cells of which nothing was measured at any version.
    pub fn missing(&self, series: &[&VersionSeries]) -> Vec<HistoryGap> {
        if series.is_empty() {
            return vec![HistoryGap::NoSeries];
        }
        cells(series, |_| true, |one| one.last().is_some())
            .map(|cell| HistoryGap::MissingCell { cell })
            .collect()
    }

    /// Series whose newest measured version isn't the newest that is known, or is from before `oldest`. Versions that a
    /// quirk skips aren't expected.
    pub fn stale(&self, series: &[&VersionSeries], oldest: Option<Timestamp>) -> Vec<HistoryGap> {
        let newest = self.newest(|standing| !matches!(standing, VersionStanding::Skipped(_)));
        let of = |one: &&VersionSeries| {
            let last = one.last()?;
            if newest.is_some_and(|newest| last < newest) {
                return Some(HistoryGap::StaleVersion {
                    series: one.name(),
                    measured: self.name(last),
                    newest: self.name(newest?),
                });
            }
            let at = self.versions.get(last)?.version.at;
            let oldest = oldest?;
            at.is_none_or(|at| at < oldest)
                .then(|| HistoryGap::StaleDate {
                    series: one.name(),
                    measured: self.name(last),
                    at,
                })
        };
        series
            .iter()
            .filter(|one| one.current)
            .filter_map(of)
            .collect()
    }

    /// Series in which no change could have been found.
    pub fn too_short(&self, series: &[&VersionSeries]) -> Vec<HistoryGap> {
        if series.is_empty() {
            return vec![HistoryGap::NoSeries];
        }
        let values = |one: &VersionSeries| one.points.iter().filter(|p| p.value.is_some()).count();
        let short = |one: &&&VersionSeries| {
            one.current && one.found.how == DetectionMethod::TooLittle && one.last().is_some()
        };
        let short = series.iter().filter(short).map(|one| HistoryGap::TooShort {
            series: one.name(),
            versions: values(one),
        });
        short.chain(self.missing(series)).collect()
    }
}

impl VersionSeries {
    /// The value at a version, if there is one.
    fn value_at(&self, version: usize) -> Option<f64> {
        let mut points = self.points.iter();
        points.find(|point| point.version == version)?.value
    }

    /// The newest version with a value.
    fn last(&self) -> Option<usize> {
        let mut points = self.points.iter().rev();
        points
            .find(|point| point.value.is_some())
            .map(|point| point.version)
    }
}

/// Cells that are asked for now, of which one metric is in want and none has what it should: metrics that are optional
/// may be absent.
fn cells<'a>(
    series: &[&'a VersionSeries],
    in_want: impl Fn(&VersionSeries) -> bool,
    has: impl Fn(&VersionSeries) -> bool,
) -> impl Iterator<Item = String> {
    let current: Vec<&'a VersionSeries> =
        series.iter().copied().filter(|one| one.current).collect();
    let fine: HashSet<String> = current
        .iter()
        .filter(|one| has(one))
        .map(|one| one.key.clone())
        .collect();
    let mut seen = HashSet::new();
    let lacking: Vec<String> = current
        .into_iter()
        .filter(|one| in_want(one) && !fine.contains(&one.key))
        .filter(|one| seen.insert(one.key.clone()))
        .map(|one| one.cell.to_string())
        .collect();
    lacking.into_iter()
}
