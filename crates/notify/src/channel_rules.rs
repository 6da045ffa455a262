//! Which changes a channel is told of.

use backsight_model::NamePattern;
use backsight_policy::AlertKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::software_change::{MovedSeries, SoftwareChange};

/// Which changes a channel is told of: those that fit all of this. Everything unless said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ChannelRules {
    /// For the worse, for the better, or where nobody has said which direction is good: `["worse"]`.
    pub kinds: Vec<RuleKind>,
    /// Of these targets: names, in which `*` stands for any characters.
    pub targets: Vec<NamePattern>,
    /// By these benchmarks or suites: names, in which `*` stands for any characters.
    pub benchmarks: Vec<NamePattern>,
    /// By at least so many percent, by its best guess. Tests that fail more or less often fit.
    pub least_percent: Option<f64>,
    /// With at least this probability, such as 0.99, that something changed; or that it lies there, where a bisection says so.
    pub least_probability: Option<f64>,
    /// Only once it is known at which version it lies.
    pub located: bool,
}

/// A kind of change, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleKind {
    /// For the worse.
    Worse,
    /// Nobody has said which direction is good.
    Other,
    /// For the better.
    Better,
}

impl RuleKind {
    fn is(self, kind: AlertKind) -> bool {
        match self {
            Self::Worse => kind == AlertKind::Worse,
            Self::Other => kind == AlertKind::Other,
            Self::Better => kind == AlertKind::Better,
        }
    }
}

impl ChannelRules {
    /// Whether the channel is told of a change: something that moved with it fits all rules.
    pub fn fit(&self, change: &SoftwareChange) -> bool {
        let names = |patterns: &[NamePattern], name: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
        };
        if !names(&self.targets, change.target.as_str()) || (self.located && !change.is_located()) {
            return false;
        }
        change.moved.iter().any(|moved| {
            let is_of_kind =
                self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.is(moved.kind));
            is_of_kind && names(&self.benchmarks, &moved.benchmark) && self.is_enough(moved)
        })
    }

    /// Whether it is large and sure enough. What has no size in percent, or no probability, is.
    fn is_enough(&self, moved: &MovedSeries) -> bool {
        let reaches = |least: Option<f64>, value: Option<f64>| match (least, value) {
            (Some(least), Some(value)) => value >= least,
            _ => true,
        };
        reaches(self.least_percent, moved.percent.map(f64::abs))
            && reaches(self.least_probability, moved.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::software_change::tests::change;
    use backsight_model::TomlDocument;

    fn fit(rules: &str) -> bool {
        let rules: ChannelRules = TomlDocument::new("notify.toml", rules).read().unwrap();
        // Of `app`, worse by 12 % at `work`, and a test of `unit`.
        rules.fit(&change())
    }

    #[test]
    fn a_change_is_told_where_something_of_it_fits_all_rules() {
        for rules in [
            "",
            "kinds = [\"worse\"]",
            "targets = [\"other\", \"a*\"]",
            "benchmarks = [\"unit\"]",
            "least-percent = 12",
            "least-percent = 99\nbenchmarks = [\"unit\"]",
            "least-probability = 0.99",
            "located = true",
        ] {
            assert!(fit(rules), "{rules}");
        }
        for rules in [
            "kinds = [\"better\", \"other\"]",
            "targets = [\"b*\"]",
            "benchmarks = [\"none\"]",
            "least-percent = 12.5\nbenchmarks = [\"work\"]",
            "least-probability = 0.9999\nbenchmarks = [\"work\"]",
        ] {
            assert!(!fit(rules), "{rules}");
        }
    }

    #[test]
    fn what_may_lie_at_several_versions_is_not_located() {
        let mut change = change();
        change.stretch.after = Some(1);
        change.stretch.at = 3;
        change.stretch.until = 3;
        let rules = ChannelRules {
            located: true,
            ..ChannelRules::default()
        };
        assert!(!rules.fit(&change));
    }
}
