//! Change detection for a series that grows: a new point takes less time than a screen refresh, and a reported change stays
//! until it is withdrawn explicitly.

use serde::Serialize;

use crate::SamplesError;

use super::noise::kept_by_differences;
use super::rank_scan::{Scan, Stretch};
use super::split_selection::SplitAcceptance;
use super::{DetectedChange, DetectionOptions, detect};

/// The newest points that a new point is compared with. A change too small to show within so many waits for
/// [`OnlineDetector::review`].
const WINDOW_POINTS: usize = 256;

/// What a new point, or a review, changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DetectionUpdate {
    /// A change that wasn't known.
    Found(DetectedChange),
    /// A change that is known better now: its place moved.
    Moved {
        /// As it was last told.
        from: DetectedChange,
        /// As it is now.
        to: DetectedChange,
    },
    /// A change that the newer points don't bear out.
    Withdrawn(DetectedChange),
}

/// A growing series with the changes found so far.
#[derive(Debug, Clone)]
pub struct OnlineDetector {
    search: DetectionOptions,
    series: Vec<f64>,
    changes: Vec<DetectedChange>,
    /// How many points there must be before the window is looked at again, after a look that found nothing.
    quiet_until: usize,
}

impl OnlineDetector {
    /// Searches what there is of a series; more points may follow. An empty series is a beginning.
    ///
    /// # Errors
    /// [`SamplesError::NotFinite`] if a value is NaN or infinite.
    pub fn new(series: Vec<f64>, search: DetectionOptions) -> Result<Self, SamplesError> {
        let changes = if series.is_empty() {
            Vec::new()
        } else {
            detect(&series, &search)?.changes
        };
        Ok(OnlineDetector {
            search,
            series,
            changes,
            quiet_until: 0,
        })
    }

    /// The series so far.
    #[must_use]
    pub fn series(&self) -> &[f64] {
        &self.series
    }

    /// The changes as they were last told, in the order of the series.
    #[must_use]
    pub fn changes(&self) -> &[DetectedChange] {
        &self.changes
    }

    /// Appends one point and says what it changes; most often nothing.
    ///
    /// # Errors
    /// [`SamplesError::NotFinite`] if `value` is NaN or infinite; the series stays as it was.
    pub fn push(&mut self, value: f64) -> Result<Vec<DetectionUpdate>, SamplesError> {
        if !value.is_finite() {
            return Err(SamplesError::NotFinite {
                index: self.series.len(),
                value,
            });
        }
        self.series.push(value);
        let n = self.series.len();
        let since = n - self.changes.last().map_or(0, |change| change.at);
        // A young change is looked at again each time that there is twice as much after it.
        let again = !self.changes.is_empty()
            && (16..=WINDOW_POINTS).contains(&since)
            && since.is_power_of_two();
        if !again && (n < self.quiet_until || !self.stirs()) {
            return Ok(Vec::new());
        }
        let before = self
            .changes
            .len()
            .checked_sub(2)
            .map_or(0, |i| self.changes[i].at);
        let news = self.search_from(before.max(n.saturating_sub(2 * WINDOW_POINTS)))?;
        self.quiet_until = n + since.min(WINDOW_POINTS) / 16;
        Ok(news)
    }

    /// Searches the whole series anew, for what shows only at length.
    ///
    /// # Errors
    /// None that the points so far can cause.
    pub fn review(&mut self) -> Result<Vec<DetectionUpdate>, SamplesError> {
        if self.series.is_empty() {
            Ok(Vec::new())
        } else {
            self.search_from(0)
        }
    }

    /// Whether any stretch that ends with the newest point splits beyond chance.
    fn stirs(&self) -> bool {
        let start = self
            .changes
            .last()
            .map_or(0, |change| change.at)
            .max(self.series.len().saturating_sub(WINDOW_POINTS));
        let window = &self.series[start..];
        let belief = SplitAcceptance {
            false_per_point: self.search.false_per_point,
            kept: kept_by_differences(window),
        };
        let mut scan = Scan::new(window);
        let end = window.len();
        let lengths =
            std::iter::successors(Some(end), |length| Some(length.next_power_of_two() / 2));
        lengths.take_while(|&length| length >= 8).any(|length| {
            scan.best(Stretch {
                start: end - length,
                end,
            })
            .is_some_and(|split| belief.believes(&split).is_some())
        })
    }

    /// Replaces the changes after `from` by those that a search of the rest finds, and says what differs.
    fn search_from(&mut self, from: usize) -> Result<Vec<DetectionUpdate>, SamplesError> {
        let mut found = detect(&self.series[from..], &self.search)?.changes;
        for change in &mut found {
            change.at += from;
            change.earliest += from;
            change.latest += from;
        }
        let known = self
            .changes
            .split_off(self.changes.partition_point(|change| change.at <= from));
        let mut news = Vec::new();
        let mut left = known;
        for change in &found {
            let same = left
                .iter()
                .position(|old| old.earliest <= change.latest && change.earliest <= old.latest);
            match same.map(|i| left.remove(i)) {
                Some(old) if old.at == change.at => {}
                Some(old) => news.push(DetectionUpdate::Moved {
                    from: old,
                    to: change.clone(),
                }),
                None => news.push(DetectionUpdate::Found(change.clone())),
            }
        }
        news.extend(left.into_iter().map(DetectionUpdate::Withdrawn));
        self.changes.extend(found);
        Ok(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::simulation::{NoiseShape, steps};

    #[test]
    fn a_step_is_told_soon_after_it_happens_and_only_once() {
        let series = steps(
            &[(150, 0.0), (100, 3.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(1),
        );
        let mut watch = OnlineDetector::new(Vec::new(), DetectionOptions::default()).unwrap();
        let mut told = Vec::new();
        for (i, &value) in series.iter().enumerate() {
            for news in watch.push(value).unwrap() {
                if let DetectionUpdate::Found(change) = news {
                    told.push((i, change.at));
                }
            }
        }
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].0 < 165 && told[0].1.abs_diff(150) <= 3, "{told:?}");
    }

    #[test]
    fn verdicts_are_seldom_withdrawn_and_false_ones_are_rare() {
        let mut random = Random::seeded(2);
        let (mut found, mut withdrawn) = (0, 0);
        for _ in 0..20 {
            let mut watch = OnlineDetector::new(Vec::new(), DetectionOptions::default()).unwrap();
            for value in steps(
                &[(150, 0.0), (150, 2.0), (100, 1.0)],
                NoiseShape::Gauss,
                &mut random,
            ) {
                for news in watch.push(value).unwrap() {
                    match news {
                        DetectionUpdate::Found(_) => found += 1,
                        DetectionUpdate::Withdrawn(_) => withdrawn += 1,
                        DetectionUpdate::Moved { .. } => {}
                    }
                }
            }
        }
        assert!((38..=50).contains(&found), "{found}");
        assert!(withdrawn <= 6, "{withdrawn}");
    }

    #[test]
    fn a_series_that_was_there_is_searched_first() {
        let series = steps(
            &[(60, 0.0), (60, 4.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(3),
        );
        let watch = OnlineDetector::new(series.clone(), DetectionOptions::default()).unwrap();
        assert_eq!(
            watch.changes(),
            detect(&series, &DetectionOptions::default())
                .unwrap()
                .changes
        );
        assert_eq!(watch.series(), series);
    }

    #[test]
    fn a_value_that_is_none_is_refused_and_changes_nothing() {
        let mut watch = OnlineDetector::new(vec![1.0, 2.0], DetectionOptions::default()).unwrap();
        assert!(matches!(
            watch.push(f64::NAN),
            Err(SamplesError::NotFinite { index: 2, .. })
        ));
        assert_eq!(watch.series(), [1.0, 2.0]);
    }

    #[test]
    fn a_review_of_nothing_new_is_silent() {
        let series = steps(
            &[(60, 0.0), (60, 4.0)],
            NoiseShape::Gauss,
            &mut Random::seeded(4),
        );
        let mut watch = OnlineDetector::new(series, DetectionOptions::default()).unwrap();
        assert_eq!(watch.review(), Ok(vec![]));
    }
}
