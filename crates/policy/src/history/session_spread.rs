//! How much runs, and whole sessions, of one version differ, as far as versions with several sessions show it; and the error of
//! versions with one session that follows.
//!
//! A session is what one study measured on one boot: its runs share the machine's state, so that many runs of it tell little
//! more than one. They are no repeats of the version.

use backsight_stats::{Confidence, Interval, KnownSpread, Level};
use serde::{Deserialize, Serialize};

use super::VersionPoint;
use crate::pooled_spread::{PooledSpread, pool_spread};

/// What stands for the repeats of a version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Repeats {
    /// A simulator counted: repeats vary by the simulator and the benchmark, and neither by session nor by version.
    Simulated,
    /// A machine measured.
    Measured(Spreads),
}

/// How much single runs and whole sessions of one version are known to differ.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Spreads {
    pub runs: Option<PooledSpread>,
    pub sessions: Option<PooledSpread>,
}

impl Spreads {
    pub fn from_points(points: &[VersionPoint]) -> Self {
        let builds = || points.iter().flat_map(|point| &point.builds);
        let of = |level| pool_spread(builds().map(|build| vec![build.sessions()]), level);
        Self {
            runs: of(Level::Trial),
            sessions: of(Level::Session),
        }
    }

    /// Gives the versions that were measured in one session the error that sessions are known to have, where it is larger
    /// than what their runs show.
    pub fn widen(&self, points: &mut [VersionPoint]) {
        let Some(PooledSpread { spread, .. }) = self.sessions else {
            return;
        };
        for point in points.iter_mut().filter(|point| point.is_of_one_session()) {
            let Some(value) = point.value else { continue };
            let reach = reach(value, &spread);
            let own = point.interval.map_or(0.0, |own| own.width() / 2.0);
            if reach > own {
                point.alike = false;
                point.interval = Some(Interval {
                    low: value - reach,
                    high: value + reach,
                });
            }
        }
    }
}

fn reach(value: f64, spread: &KnownSpread) -> f64 {
    spread.reach(Confidence::USUAL) * value.abs()
}
