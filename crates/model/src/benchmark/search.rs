//! The `[search]` table of a benchmark: which of its parameters and metrics a search for the highest load is about.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    DocumentError, Located, Metric, MetricName, Param, ParamName, TomlDocument, Unit,
    document::did_you_mean,
};

/// What a search is about, unless its command line says otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Search")]
pub struct SearchDefinition {
    /// The parameter that is the offered load.
    pub load: Located<ParamName>,
    /// The parameter that is the length of a trial.
    #[serde(default)]
    pub duration: Option<Located<ParamName>>,
    /// The metric that is lost: a share, or a count.
    #[serde(default)]
    pub loss: Option<Located<MetricName>>,
    /// The metric that arrived, in a unit of the load.
    #[serde(default)]
    pub received: Option<Located<MetricName>>,
    /// The metric that the generator really sent, in a unit of the load.
    #[serde(default)]
    pub sent: Option<Located<MetricName>>,
    /// The least load that is offered, in the parameter's unit; the parameter's own minimum unless said.
    #[serde(default)]
    pub min: Option<f64>,
    /// The greatest load that is offered; the parameter's own maximum unless said.
    #[serde(default)]
    pub max: Option<f64>,
}

impl SearchDefinition {
    /// Whether everything that it names is there and can be what it is said to be.
    pub(crate) fn check(
        &self,
        document: &TomlDocument,
        params: &IndexMap<ParamName, Param>,
        metrics: &IndexMap<MetricName, Metric>,
    ) -> Result<(), DocumentError> {
        for name in std::iter::once(&self.load).chain(&self.duration) {
            let known = || params.keys().map(ParamName::as_str);
            let Some(param) = params.get(name.as_str()) else {
                let message = format!("`{}` is not a parameter of this benchmark", **name);
                let help = did_you_mean(name.as_str(), known());
                return Err(document.problem(name.span(), message, "here", help));
            };
            if param.default.number().is_none() {
                let message = format!("parameter `{}` is no number", **name);
                return Err(document.problem(name.span(), message, "here", None));
            }
        }
        let unit = params.get(self.load.as_str()).and_then(Param::unit);
        let named = [
            (&self.loss, true),
            (&self.received, false),
            (&self.sent, false),
        ];
        for (name, is_loss) in named {
            let Some(name) = name else { continue };
            let Some(metric) = metrics.get(name.as_str()) else {
                let message = format!("`{}` is not a metric of this benchmark", **name);
                let help = did_you_mean(name.as_str(), metrics.keys().map(MetricName::as_str));
                return Err(document.problem(name.span(), message, "here", help));
            };
            let fits = match is_loss {
                true => metric.unit.per_one().is_some() || metric.unit.counts(),
                false => unit.is_some_and(|unit| metric.unit.in_terms_of(unit).is_some()),
            };
            if !fits {
                let expected = match (is_loss, unit) {
                    (true, _) => "a share (%, ratio) or a count".to_owned(),
                    (false, Some(unit)) => format!("a unit of the load, such as {unit}"),
                    (false, None) => format!("a load with a unit: `{}` has none", *self.load),
                };
                let message = format!(
                    "metric `{}` is in {}: expected {expected}",
                    **name, metric.unit
                );
                return Err(document.problem(name.span(), message, "here", None));
            }
        }
        Ok(())
    }
}

impl Param {
    /// Its unit, where it is one that we know.
    pub fn unit(&self) -> Option<Unit> {
        Unit::parse(self.unit.as_deref()?).ok()
    }
}
