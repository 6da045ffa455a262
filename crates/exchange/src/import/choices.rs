//! What a person says about numbers whose format doesn't say it.

use backsight_model::{Better, Unit};
use std::{fmt, str::FromStr};

use super::MeasuredLevel;

/// Something said about one metric, or about all that nothing else is said about.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportChoice<T> {
    /// The metric, in the file's words; `None`: every metric whose format doesn't say.
    pub metric: Option<String>,
    /// What holds for it.
    pub value: T,
}

impl<T: FromStr> FromStr for ImportChoice<T> {
    type Err = T::Err;

    /// `lower`, or `METRIC=lower`.
    fn from_str(text: &str) -> Result<Self, T::Err> {
        match text.rsplit_once('=') {
            Some((metric, value)) => Ok(Self {
                metric: Some(metric.to_owned()),
                value: value.parse()?,
            }),
            None => Ok(Self {
                metric: None,
                value: text.parse()?,
            }),
        }
    }
}

impl<T: fmt::Display> fmt::Display for ImportChoice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(metric) = &self.metric {
            write!(f, "{metric}=")?;
        }
        self.value.fmt(f)
    }
}

/// Everything that a person said about an import.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportChoices {
    /// Which direction is good.
    pub better: Vec<ImportChoice<Better>>,
    /// The unit of numbers.
    pub unit: Vec<ImportChoice<Unit>>,
    /// Metrics that aren't wanted.
    pub without: Vec<String>,
    /// In a table, columns that have the values, each a metric of its own.
    pub values: Vec<String>,
    /// In a table, columns that are parameters.
    pub params: Vec<String>,
    /// What the numbers are, if it isn't what the importer says.
    pub level: Option<MeasuredLevel>,
    /// Each file was measured in a session of its own.
    pub sessions: bool,
}

/// What was said about a metric by name, under either of its names.
pub(super) fn named<'a, T>(choices: &'a [ImportChoice<T>], names: [&str; 2]) -> Option<&'a T> {
    let said = choices.iter().rev().find(|choice| {
        let metric = choice.metric.as_deref();
        metric.is_some_and(|metric| names.contains(&metric))
    });
    said.map(|choice| &choice.value)
}

/// What was said about every metric that nothing else is said about.
pub(super) fn for_all<T>(choices: &[ImportChoice<T>]) -> Option<&T> {
    let said = choices.iter().rev().find(|choice| choice.metric.is_none());
    said.map(|choice| &choice.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_for_a_metric_or_for_all() {
        let one: ImportChoice<Better> = "a=b/op=higher".parse().unwrap();
        let all: ImportChoice<Better> = "lower".parse().unwrap();
        assert_eq!(one.metric.as_deref(), Some("a=b/op"));
        let choices = [all, one];
        assert_eq!(named(&choices, ["a=b/op", "x"]), Some(&Better::Higher));
        assert_eq!(named(&choices, ["c", "x"]), None);
        assert_eq!(for_all(&choices), Some(&Better::Lower));
        assert!("fast".parse::<ImportChoice<Better>>().is_err());
    }
}
