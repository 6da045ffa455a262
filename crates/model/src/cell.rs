//! A cell: one point of a plan's cross product.
//!
//! Two cells ask the same question when benchmark, all parameters and variant are equal.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

use crate::{BenchmarkName, MonitorName, ParamName, Value, VariantName};

/// One point of the plan's cross product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What is run.
    pub benchmark: BenchmarkName,
    /// Every parameter, defaults included.
    pub params: IndexMap<ParamName, Value>,
    /// Parameters that the plan chose; the others have their defaults.
    pub chosen: Vec<ParamName>,
    /// The set-up of the system under test.
    pub variant: VariantName,
    /// What watches, where that is what is asked; those of the plan unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitors: Option<Vec<MonitorName>>,
}

impl Cell {
    /// Whether both ask the same question: what may be compared.
    pub fn same_question(&self, other: &Self) -> bool {
        self.benchmark == other.benchmark
            && self.variant == other.variant
            && self.params == other.params
            && self.monitors == other.monitors
    }

    /// The chosen parameters: `streams=10 reverse=true`.
    pub fn chosen_params(&self) -> String {
        let shown: Vec<String> = self
            .chosen
            .iter()
            .filter_map(|name| self.params.get(name).map(|value| format!("{name}={value}")))
            .collect();
        shown.join(" ")
    }

    /// Everything of it but benchmark and parameters, in one text: the variant, and what watches where that is what is
    /// asked: `default`, `filter`, `unwatched`, `filter with vmstat`.
    pub fn set_up(&self) -> Cow<'_, str> {
        match self.watched() {
            None => Cow::Borrowed(self.variant.as_str()),
            Some(watched) if self.variant.as_str() == "default" => Cow::Owned(watched),
            Some(watched) => Cow::Owned(format!("{} {watched}", self.variant)),
        }
    }

    /// What watches, where that is what is asked: `unwatched`, `with vmstat`, `with 4 monitors`.
    pub fn watched(&self) -> Option<String> {
        self.monitors.as_deref().map(|monitors| match monitors {
            [] => "unwatched".to_owned(),
            [only] => format!("with {only}"),
            several => format!("with {} monitors", several.len()),
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = self.chosen_params();
        let mut text = self.benchmark.to_string();
        for part in [params.as_str(), &self.set_up()] {
            if !part.is_empty() && part != "default" {
                text.push(' ');
                text.push_str(part);
            }
        }
        f.pad(&text)
    }
}
