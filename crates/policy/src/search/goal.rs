//! Goals of a load search, and how the figures of a trial say whether they are met.
//!
//! A trial without the figures counts as failed, never as without loss.

use backsight_model::MetricName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much less than what was offered a generator may send before its trial speaks of the generator, as a share.
pub const MAX_UNSENT_SHARE: f64 = 0.01;

/// What a search looks for: the highest load at which every trial would be like this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchGoal {
    /// At most this share is lost.
    Loss {
        /// From 0 to 1.
        ratio: f64,
    },
    /// A metric stays below a value: a latency, a count of errors.
    Below {
        /// The metric; less of it is better.
        metric: MetricName,
        /// The value, in the metric's unit.
        value: f64,
    },
}

/// Where the share that is lost is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReading {
    /// Less arrives than was offered.
    Received {
        /// What arrives.
        metric: MetricName,
        /// How much of the load one of the metric is.
        per_unit: f64,
        /// A loss up to this share can't be told from the error of a clock, and counts as none.
        slack: f64,
    },
    /// The benchmark says the share itself.
    Share {
        /// The metric.
        metric: MetricName,
        /// How much one of it is, as a share: 0.01 for percent.
        per_unit: f64,
    },
    /// The benchmark counts what was lost; only whether anything was is known.
    Count {
        /// The metric.
        metric: MetricName,
    },
}

/// How a trial's figures are read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FigureReading {
    /// What is lost; nothing where no goal asks for it and the benchmark doesn't say.
    pub loss: Option<LossReading>,
    /// What the generator sent: the metric, and how much of the load one of it is. Nothing if the benchmark doesn't say.
    pub sent: Option<(MetricName, f64)>,
}

/// What a trial said.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialReadings {
    /// The share that was lost, with what wasn't sent at all; nothing if that isn't read, or if only a count is known.
    pub loss: Option<f64>,
    /// What was sent, in the load's unit, where that is known.
    pub sent: Option<f64>,
    /// Whether the generator sent less than it was to send.
    pub fell_short: bool,
    /// Whether each goal was met.
    pub good: Vec<bool>,
    /// The value of each goal's metric, of those that are about one.
    pub values: Vec<Option<f64>>,
}

impl FigureReading {
    /// What a trial at this load said; nothing if its figures don't say it.
    pub fn read(
        &self,
        goals: &[SearchGoal],
        load: f64,
        figures: &BTreeMap<MetricName, f64>,
    ) -> Option<TrialReadings> {
        let sent = match &self.sent {
            Some((metric, per_unit)) => Some(figures.get(metric)? * per_unit),
            None => None,
        };
        let unsent = sent.map_or(0.0, |sent| (1.0 - sent / load).max(0.0));
        let fell_short = unsent > MAX_UNSENT_SHARE;
        let lost = match &self.loss {
            None => None,
            Some(reading) => Some(reading.lost(load, sent, figures)?),
        };
        // What wasn't sent didn't arrive either: the load wasn't carried.
        let loss = lost.flatten().map(|lost| match fell_short {
            true => 1.0 - (1.0 - unsent) * (1.0 - lost),
            false => lost,
        });
        let good = goals.iter().map(|goal| {
            Some(match goal {
                SearchGoal::Loss { ratio } => {
                    let lost = lost?;
                    !fell_short && lost.is_some_and(|lost| lost <= ratio + 1e-12)
                }
                SearchGoal::Below { metric, value } => !fell_short && figures.get(metric)? < value,
            })
        });
        let values = goals.iter().map(|goal| match goal {
            SearchGoal::Loss { .. } => None,
            SearchGoal::Below { metric, .. } => figures.get(metric).copied(),
        });
        Some(TrialReadings {
            values: values.collect(),
            loss,
            sent,
            fell_short,
            good: good.collect::<Option<Vec<bool>>>()?,
        })
    }
}

impl LossReading {
    /// The metric that is read.
    pub fn metric(&self) -> &MetricName {
        match self {
            Self::Received { metric, .. } | Self::Share { metric, .. } | Self::Count { metric } => {
                metric
            }
        }
    }

    /// The share that was lost; nothing where something was and nobody knows of how much. `None` if it isn't said.
    fn lost(
        &self,
        load: f64,
        sent: Option<f64>,
        figures: &BTreeMap<MetricName, f64>,
    ) -> Option<Option<f64>> {
        let value = *figures.get(self.metric())?;
        let lost = match self {
            Self::Received {
                per_unit, slack, ..
            } => {
                // Packets are whole: a generator that sends a little less than it was asked to hasn't lost that.
                let offered = sent.map_or(load, |sent| sent.min(load));
                let lost = 1.0 - value * per_unit / offered;
                if lost <= *slack { 0.0 } else { lost }
            }
            Self::Share { per_unit, .. } => value * per_unit,
            Self::Count { .. } if value > 0.0 => return Some(None),
            Self::Count { .. } => 0.0,
        };
        lost.is_finite().then_some(Some(lost.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> MetricName {
        MetricName::new(text).unwrap()
    }

    fn figures(of: &[(&str, f64)]) -> BTreeMap<MetricName, f64> {
        of.iter()
            .map(|(metric, value)| (name(metric), *value))
            .collect()
    }

    fn goals() -> Vec<SearchGoal> {
        vec![
            SearchGoal::Loss { ratio: 0.0 },
            SearchGoal::Loss { ratio: 0.01 },
            SearchGoal::Below {
                metric: name("p99"),
                value: 2.0,
            },
        ]
    }

    #[test]
    fn what_arrives_is_compared_with_what_was_offered() {
        let reading = FigureReading {
            loss: Some(LossReading::Received {
                metric: name("received"),
                per_unit: 1e6,
                slack: 0.001,
            }),
            sent: None,
        };
        let readings = |received: f64| {
            let figures = figures(&[("received", received), ("p99", 1.0)]);
            reading.read(&goals(), 100e6, &figures).unwrap()
        };
        assert_eq!(readings(100.0).good, [true; 3]);
        assert_eq!(readings(99.95).good, [true; 3], "within a clock's error");
        assert_eq!(readings(99.5).good, [false, true, true]);
        assert!((readings(90.0).loss.unwrap() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_sent_is_the_generators_and_meets_no_goal() {
        let reading = FigureReading {
            loss: Some(LossReading::Share {
                metric: name("loss"),
                per_unit: 0.01,
            }),
            sent: Some((name("sent"), 1.0)),
        };
        let readings = |sent: f64, loss: f64| {
            let figures = figures(&[("sent", sent), ("loss", loss), ("p99", 1.0)]);
            reading.read(&goals(), 1000.0, &figures).unwrap()
        };
        assert_eq!(readings(995.0, 0.0).good, [true; 3]);
        let short = readings(800.0, 0.0);
        assert!(short.fell_short && (short.loss.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(short.good, [false; 3]);
        assert_eq!(readings(1000.0, 0.5).good, [false, true, true]);
    }

    #[test]
    fn figures_that_are_missing_are_not_zero() {
        let reading = FigureReading {
            loss: Some(LossReading::Count {
                metric: name("lost"),
            }),
            sent: None,
        };
        assert_eq!(reading.read(&goals(), 1.0, &figures(&[("p99", 1.0)])), None);
        assert_eq!(
            reading.read(&goals(), 1.0, &figures(&[("lost", 0.0)])),
            None
        );
        let readings = reading.read(&goals(), 1.0, &figures(&[("lost", 3.0), ("p99", 3.0)]));
        let readings = readings.unwrap();
        assert_eq!((readings.good, readings.loss), (vec![false; 3], None));
    }
}
