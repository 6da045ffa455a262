//! What a plan says about the scenario matrix of its studies: its axes, and the cells that it leaves out of its cross product.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LeaveOut, Plan, PlanParam, Variant, crossed};
use crate::{
    Benchmark, BenchmarkName, Cell, DocumentError, Located, ParamName, TomlDocument, Value, Values,
    document::did_you_mean,
};

/// The axes that aren't parameters.
const OTHER_AXES: [&str; 2] = ["variant", "version"];

/// One metric over two axes. An axis is `variant`, `version` of a study along a history, a parameter, or several of these with `+`
/// between them: `version+processors`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanMatrix {
    /// What the rows are.
    pub rows: Located<String>,
    /// What the columns are.
    pub columns: Located<String>,
    /// The row or column that speed-ups are to; the first column unless said.
    #[serde(default)]
    pub base: Option<Located<String>>,
    /// The metric; every primary one unless said.
    #[serde(default)]
    pub metric: Option<Located<String>>,
}

/// A cell of a plan's cross product.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossedCell<'a> {
    /// The cell.
    pub cell: Cell,
    /// What of the plan leaves it out; none of a cell that is measured.
    pub left_out: Option<&'a LeaveOut>,
}

impl Plan {
    /// The plan's cross product in its order, with the cells that it leaves out. What the plan doesn't choose is as in measured
    /// cells of the same benchmark; a benchmark without any is left aside, and so are values that a machine computes.
    pub fn cross_product(&self, measured: &[Cell]) -> Vec<CrossedCell<'_>> {
        let mut cells = Vec::new();
        for benchmark in &self.benchmarks {
            let of_benchmark = || measured.iter().filter(|it| it.benchmark == **benchmark);
            let Some(any) = of_benchmark().next() else {
                continue;
            };
            let set = self.values_beside(any);
            for point in crossed(&set).unwrap_or_default() {
                let only = Variant::only();
                let variants = match &self.variant[..] {
                    [] => std::slice::from_ref(&only),
                    variants => variants,
                };
                for variant in variants.iter().filter(|it| !it.is_repeated(&point, &set)) {
                    let template = of_benchmark().find(|it| it.variant == *variant.name);
                    let mut cell = template.unwrap_or(any).clone();
                    cell.variant = (*variant.name).clone();
                    let of_point = point.iter().map(|(name, value)| (name.as_str(), *value));
                    let of_variant = variant.params.iter();
                    let of_variant = of_variant.map(|(name, value)| (name.as_str(), &**value));
                    for (name, value) in of_point.chain(of_variant) {
                        if let Some(param) = cell.params.get_mut(name) {
                            *param = value.clone();
                        }
                    }
                    let left_out = self.leave_out.iter().find(|it| it.has(&cell));
                    cells.push(CrossedCell { cell, left_out });
                }
            }
        }
        cells
    }

    /// The values of a cell's parameters that the plan crosses; those of the benchmark's own table before those of all.
    fn values_beside(&self, cell: &Cell) -> IndexMap<ParamName, Values> {
        let said = |name: &str| {
            let mut params = self.params.iter();
            params.find(|(key, _)| key.as_str() == name).map(|it| it.1)
        };
        let own = said(cell.benchmark.as_str()).and_then(|it| match it {
            PlanParam::Of(table) => Some(table),
            PlanParam::Values(_) => None,
        });
        let mut set = IndexMap::new();
        for name in cell.params.keys() {
            let of_all = match said(name.as_str()) {
                Some(PlanParam::Values(values)) => Some(values),
                _ => None,
            };
            let values = own.and_then(|table| table.get(name.as_str())).or(of_all);
            let is_computed = |value: &Value| matches!(value, Value::Text(it) if it.contains('{'));
            if let Some(values) = values.filter(|values| !values.0.iter().any(is_computed)) {
                set.insert(name.clone(), (**values).clone());
            }
        }
        set
    }

    /// Checks that a matrix is of variants, versions, and parameters and metrics of these benchmarks.
    pub(super) fn check_matrix(
        &self,
        document: &TomlDocument,
        benchmarks: &IndexMap<BenchmarkName, Benchmark>,
    ) -> Result<(), DocumentError> {
        let Some(matrix) = &self.matrix else {
            return Ok(());
        };
        let params = || {
            let params = benchmarks.values().flat_map(|it| it.params.keys());
            params.map(ParamName::as_str).chain(OTHER_AXES)
        };
        for axis in [&matrix.rows, &matrix.columns] {
            if let Some(unknown) = axis
                .split('+')
                .find(|it| !params().any(|known| known == *it))
            {
                let message = format!("no benchmark of the plan has a parameter `{unknown}`");
                let help = did_you_mean(unknown, params());
                return Err(document.problem(axis.span(), message, "here", help));
            }
        }
        let metrics = || {
            let metrics = benchmarks.values().flat_map(|it| it.metrics.keys());
            metrics.map(|name| name.as_str())
        };
        match &matrix.metric {
            Some(metric) if !metrics().any(|known| known == metric.as_str()) => {
                let message = format!("no benchmark of the plan has a metric `{}`", **metric);
                let help = did_you_mean(metric, metrics());
                Err(document.problem(metric.span(), message, "here", help))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> (TomlDocument, Plan) {
        let document = TomlDocument::new("plan.toml", text.to_owned());
        let plan = Plan::read(&document).unwrap();
        (document, plan)
    }

    fn cell(streams: i64, variant: &str) -> Cell {
        let params = [("streams", streams), ("seconds", 2)];
        let params = params.map(|(name, value)| (name.parse().unwrap(), Value::Integer(value)));
        Cell {
            benchmark: "bulk".parse().unwrap(),
            params: params.into_iter().collect(),
            chosen: vec!["streams".parse().unwrap()],
            variant: variant.parse().unwrap(),
            monitors: None,
        }
    }

    #[test]
    fn the_cross_product_has_what_is_left_out_with_its_reason() {
        let (_, plan) = plan(
            "use = [\"bulk\", \"other\"]\nparams = { streams = [1, 10], seconds = [\"{cpus}\", 2] }\n\
             [[variant]]\nname = \"direct\"\nparams = { streams = 1 }\n[[variant]]\nname = \"plain\"\n\
             [[variant]]\nname = \"filter\"\n\
             [[leave-out]]\nvariant = \"filter\"\nwhy = \"none is there\"\n",
        );
        let crossed = plan.cross_product(&[cell(1, "direct"), cell(1, "plain")]);
        let why = |it: &CrossedCell<'_>| it.left_out.map(|rule| rule.why.clone());
        let found: Vec<_> = crossed
            .iter()
            .map(|it| (it.cell.to_string(), why(it)))
            .collect();
        let expected =
            |name: &str, why: Option<&str>| (name.to_owned(), why.map(|why| Some(why.to_owned())));
        assert_eq!(
            found,
            [
                expected("bulk streams=1 direct", None),
                expected("bulk streams=1 plain", None),
                expected("bulk streams=1 filter", Some("none is there")),
                expected("bulk streams=10 plain", None),
                expected("bulk streams=10 filter", Some("none is there")),
            ]
        );
        // Nothing is known of what was never measured.
        assert!(plan.cross_product(&[]).is_empty());
    }

    #[test]
    fn axes_and_metric_of_a_matrix_are_those_of_its_benchmarks() {
        let benchmark = "name = \"bulk\"\nabout = \"x\"\nroles = [\"client\"]\nparams = { streams = { default = 1 } }\n\
            client.run = \"cli\"\n[metric.rate]\nunit = \"bit/s\"\nbetter = \"higher\"\nregex = '(?<value>\\d+)'\n";
        let benchmark = Benchmark::read(&TomlDocument::new("bulk.toml", benchmark)).unwrap();
        let benchmarks = IndexMap::from([("bulk".parse().unwrap(), benchmark)]);
        let problem = |matrix: &str| {
            let (document, plan) = plan(&format!("use = [\"bulk\"]\nmatrix = {{ {matrix} }}\n"));
            let checked = plan.check_matrix(&document, &benchmarks);
            checked.err().map(|problem| problem.to_string())
        };
        let fine = "rows = \"version+streams\", columns = \"variant\", base = \"plain\"";
        assert_eq!(problem(fine), None);
        let wrong = problem("rows = \"version+stream\", columns = \"variant\"").unwrap();
        assert!(
            wrong.contains("no benchmark of the plan has a parameter `stream`"),
            "{wrong}"
        );
        let wrong = problem(&format!("{fine}, metric = \"rat\"")).unwrap();
        assert!(wrong.contains("has a metric `rat`"), "{wrong}");
    }
}
