//! Where a series changed along the versions.
//!
//! A long series is searched for lasting changes of level. Few versions can't show one (ranks of ten points say little),
//! so where they were measured repeatedly each is also compared with the one before it. Refuses: to compare versions whose
//! measurement wasn't repeated.

use backsight_model::Better;
use backsight_stats::{
    Confidence, Interval, Samples, Side, Undefined,
    changes::{Change, Epoch, Findings, Kind, Search, detect},
    welch,
};

use super::VersionPoint;
use crate::discovery::{Direction, tests_of};

/// Fewer versions with values than this are also compared one with the next, where they were measured repeatedly.
const FEW: usize = 20;

/// How changes were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// All versions together were searched for lasting changes.
    Searched,
    /// Each version was compared with the one before it, too.
    Neighbours,
    /// Nothing could be said: too few versions, none measured repeatedly.
    TooLittle,
}

/// A change of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    /// The change itself; its places count the versions of the series that have a value.
    pub change: Change,
    /// The last version known to be before it, by its place in [`History::versions`](super::History::versions); none if
    /// it may have been there from the beginning.
    pub after: Option<usize>,
    /// The first measured version after it, at the best guess.
    pub at: usize,
    /// The first version known to be after it.
    pub until: usize,
    /// For better or for worse.
    pub direction: Direction,
    /// p adjusted for all series; none for a trend, or if there are no others.
    pub adjusted: Option<f64>,
    /// Whether it is believed among so many.
    pub believed: bool,
}

/// A place from which on a series is noisier or quieter.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseEpoch {
    /// The epoch; its places count the versions of the series that have a value.
    pub epoch: Epoch,
    /// As [`ChangePoint::after`].
    pub after: Option<usize>,
    /// As [`ChangePoint::at`].
    pub at: usize,
    /// As [`ChangePoint::until`].
    pub until: usize,
}

/// What was found in a series, and what could have been.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// How it was looked for.
    pub how: How,
    /// The changes, in the order of versions.
    pub changes: Vec<ChangePoint>,
    /// Changes of the noise; no regressions.
    pub epochs: Vec<NoiseEpoch>,
    /// The clearest change that wasn't believed, as a version, and its p-value.
    pub doubted: Option<(usize, f64)>,
    /// As [`Findings::period`].
    pub period: Option<usize>,
    /// As [`Findings::kept`].
    pub kept: f64,
    /// As [`Findings::least_found`].
    pub least_found: Option<f64>,
}

impl Found {
    pub(super) fn in_points(points: &[VersionPoint], better: Better) -> Self {
        let (versions, values): (Vec<usize>, Vec<f64>) = points
            .iter()
            .filter_map(|point| Some((point.version, point.value?)))
            .unzip();
        let searched = match detect(&values, &Search::default()) {
            Ok(findings) => Self::by_search(findings, &versions, better),
            // There is no value at all.
            Err(_) => Self::nothing(),
        };
        if values.len() >= FEW {
            return searched;
        }
        let compared = neighbours(points);
        if compared.is_empty() {
            searched
        } else {
            searched.and_neighbours(compared, &versions, better)
        }
    }

    fn nothing() -> Self {
        Self {
            how: How::TooLittle,
            changes: Vec::new(),
            epochs: Vec::new(),
            doubted: None,
            period: None,
            kept: 0.0,
            least_found: None,
        }
    }

    fn by_search(findings: Findings, versions: &[usize], better: Better) -> Self {
        let epochs = findings.epochs.into_iter().map(|epoch| NoiseEpoch {
            after: epoch.earliest.checked_sub(1).map(|at| versions[at]),
            at: versions[epoch.at],
            until: versions[epoch.latest],
            epoch,
        });
        let changes = findings.changes.into_iter();
        Self {
            how: if versions.len() < 8 {
                How::TooLittle
            } else {
                How::Searched
            },
            changes: changes
                .map(|change| ChangePoint::of(change, versions, better))
                .collect(),
            epochs: epochs.collect(),
            doubted: findings.doubted.map(|d| (versions[d.at], d.p)),
            period: findings.period,
            kept: findings.kept,
            least_found: findings.least_found,
        }
    }

    /// With the comparisons that a search can't have seen; each p-value is one of all that were made of the series.
    fn and_neighbours(mut self, compared: Vec<Change>, versions: &[usize], better: Better) -> Self {
        let count = compared.len() as f64;
        for mut change in compared {
            change.p = (change.p * count).min(1.0);
            let searched = self.changes.iter().map(|point| &point.change);
            let mut searched =
                searched.filter(|known| known.kind == Kind::Level || known.at == change.at);
            if searched.any(|known| (known.earliest..=known.latest).contains(&change.at)) {
                continue;
            }
            if change.p <= 1.0 - Confidence::USUAL.share() {
                self.changes.push(ChangePoint::of(change, versions, better));
            } else if self.doubted.is_none_or(|(_, least)| change.p < least) {
                self.doubted = Some((versions[change.at], change.p));
            }
        }
        self.changes.sort_by_key(|point| point.change.at);
        self.how = How::Neighbours;
        self
    }

    /// Its p-values among those of all series.
    pub(super) fn tests(&self) -> Vec<f64> {
        let changes = self.changes.iter().map(|point| &point.change);
        tests_of(changes, self.doubted.map(|(_, p)| p))
    }

    pub(super) fn adjust(&mut self, adjusted: Vec<f64>, most: f64) {
        let levels = self.changes.iter_mut();
        let levels = levels.filter(|point| point.change.kind == Kind::Level);
        for (point, adjusted) in levels.zip(adjusted) {
            point.adjusted = Some(adjusted);
            point.believed = adjusted <= most;
        }
    }
}

impl ChangePoint {
    fn of(change: Change, versions: &[usize], better: Better) -> Self {
        Self {
            after: change.earliest.checked_sub(1).map(|at| versions[at]),
            at: versions[change.at],
            until: versions[change.latest],
            direction: Direction::of(&change, Some(better)),
            adjusted: None,
            believed: true,
            change,
        }
    }
}

/// Each version with a value compared with the one before it, where both were measured repeatedly at the same level.
fn neighbours(points: &[VersionPoint]) -> Vec<Change> {
    let sides: Vec<(f64, Side)> = points
        .iter()
        .filter_map(|point| Some((point.value?, point.side()?)))
        .collect();
    let pairs = sides.windows(2).enumerate();
    pairs
        .filter_map(|(index, pair)| compared(index + 1, &pair[0], &pair[1]))
        .collect()
}

fn compared(at: usize, old: &(f64, Side), new: &(f64, Side)) -> Option<Change> {
    let level = old.1.replicated().min(new.1.replicated());
    let units = |side: &Side| Samples::new(side.units_at(level).means).ok();
    let (before, after) = (units(&old.1)?, units(&new.1)?);
    let size = new.0 - old.0;
    let (size_interval, p) = match welch(&before, &after, Confidence::USUAL) {
        Ok(welch) => (welch.difference_interval, welch.p),
        // Both repeat exactly, as counted instructions do: any difference is one.
        Err(Undefined::NoSpread) => (
            Interval {
                low: size,
                high: size,
            },
            if size == 0.0 { 1.0 } else { 0.0 },
        ),
        Err(_) => return None,
    };
    Some(Change {
        at,
        earliest: at,
        latest: at,
        kind: Kind::Level,
        before: old.0,
        after: new.0,
        size,
        size_interval,
        p,
        probability: probability(p),
    })
}

/// The least that a p-value leaves of doubt, if a change was as likely as not before: T. Sellke, M. J. Bayarri,
/// J. O. Berger, "Calibration of p values for testing precise null hypotheses", Am. Stat. 55 (2001), equation 3.
fn probability(p: f64) -> f64 {
    if p <= 0.0 {
        return 1.0;
    }
    if p >= (-1.0_f64).exp() {
        return 0.5;
    }
    1.0 / (1.0 - std::f64::consts::E * p * p.ln())
}
