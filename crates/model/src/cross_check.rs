//! Cross-checks of a benchmark: numbers that several parts of a testbed count of the same thing, and that have to agree.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use std::fmt;

use crate::{MetricName, MonitorName, RoleName};

/// How far numbers may lie apart unless a definition says otherwise, in percent of the largest.
const USUAL_TOLERANCE_PERCENT: f64 = 0.1;

/// Numbers that have to be equal: what a generator sent, what an interface sent, what arrived, what was lost.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CrossCheck {
    /// One line about it.
    #[serde(default)]
    pub about: String,
    /// The numbers, at least two. Each is a term, or a list of terms whose sum is meant. A term is a metric of the benchmark
    /// (`sent`), or how much a series of a sampler rose during `run` on a role's host: `ROLE:MONITOR:SERIES`, as in
    /// `client:net:*.tx_packets`, where a `*` stands for each part between two dots.
    pub equal: Vec<CrossCheckSide>,
    /// How far they may lie apart, in percent of the largest; 0.1 unless said.
    #[serde(default = "usual_tolerance")]
    pub tolerance: f64,
    /// Differences of no more than this are no matter, however small the numbers; 0 unless said.
    #[serde(default)]
    pub slack: f64,
}

fn usual_tolerance() -> f64 {
    USUAL_TOLERANCE_PERCENT
}

/// One of the numbers: a term, or several that are added.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CrossCheckSide {
    /// One term.
    One(CrossCheckTerm),
    /// A sum.
    Sum(Vec<CrossCheckTerm>),
}

impl CrossCheckSide {
    /// What is added.
    pub fn terms(&self) -> &[CrossCheckTerm] {
        match self {
            Self::One(term) => std::slice::from_ref(term),
            Self::Sum(terms) => terms,
        }
    }
}

impl fmt::Display for CrossCheckSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms().iter().map(ToString::to_string).collect();
        f.pad(&terms.join(" + "))
    }
}

/// A number that somebody counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrossCheckTerm {
    /// A metric of the benchmark.
    Metric(MetricName),
    /// By how much series of a sampler rose on the host that plays a role.
    Series {
        /// The role.
        role: RoleName,
        /// The monitor, a sampler.
        monitor: MonitorName,
        /// The series, perhaps with a `*`.
        series: String,
    },
}

impl fmt::Display for CrossCheckTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric(metric) => write!(f, "{metric}"),
            Self::Series {
                role,
                monitor,
                series,
            } => write!(f, "{role}:{monitor}:{series}"),
        }
    }
}

impl<'de> Deserialize<'de> for CrossCheckTerm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let bad = || {
            de::Error::custom(format!(
                "`{text}` is no number to check: a metric's name, or ROLE:MONITOR:SERIES"
            ))
        };
        match parts[..] {
            [metric] => MetricName::new(metric).map(Self::Metric).map_err(|_| bad()),
            [role, monitor, series] if !series.is_empty() && series.matches('*').count() <= 1 => {
                Ok(Self::Series {
                    role: RoleName::new(role).map_err(|_| bad())?,
                    monitor: MonitorName::new(monitor).map_err(|_| bad())?,
                    series: series.to_owned(),
                })
            }
            _ => Err(bad()),
        }
    }
}

impl JsonSchema for CrossCheckTerm {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CrossCheckTerm".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl CrossCheck {
    /// What is wrong with it, for a benchmark with these roles and metrics.
    pub(crate) fn mistake(
        &self,
        is_role: impl Fn(&RoleName) -> bool,
        is_metric: impl Fn(&MetricName) -> bool,
    ) -> Option<String> {
        if self.equal.len() < 2 || self.equal.iter().any(|side| side.terms().is_empty()) {
            return Some("`equal` needs two numbers or more".to_owned());
        }
        if !(self.tolerance >= 0.0 && self.tolerance < 100.0 && self.slack >= 0.0) {
            return Some("`tolerance` is from 0 to 100 percent, `slack` no less than 0".to_owned());
        }
        let terms = self.equal.iter().flat_map(CrossCheckSide::terms);
        terms
            .filter_map(|term| match term {
                CrossCheckTerm::Metric(metric) if !is_metric(metric) => {
                    Some(format!("`{metric}` is no metric of this benchmark"))
                }
                CrossCheckTerm::Series { role, .. } if !is_role(role) => {
                    Some(format!("`{role}` is no role of this benchmark"))
                }
                _ => None,
            })
            .next()
    }

    /// Whether numbers agree, in the order of [`CrossCheck::equal`].
    pub fn agrees(&self, numbers: &[f64]) -> bool {
        let (difference, largest) = Self::difference(numbers);
        difference <= (largest * self.tolerance / 100.0).max(self.slack)
    }

    /// How far the highest of some numbers lies above the lowest, and the largest of them by its size.
    pub fn difference(numbers: &[f64]) -> (f64, f64) {
        let largest = numbers.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let highest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        (highest - lowest, largest)
    }
}
