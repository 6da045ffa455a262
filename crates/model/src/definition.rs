//! What a study's definitions do, as far as it matters to its numbers: key paths with their values, without prose, lists
//! of packages and the like. Two studies whose definitions agree here were measured the same way.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use crate::TomlDocument;

/// Keys at the top of a definition that its numbers don't depend on. Parameters are a part of each cell.
const OF_NO_MATTER: &[&str] = &[
    "about",
    "cross-check",
    "measures",
    "name",
    "needs",
    "not",
    "programs",
    "params",
    "search",
    "traps",
    "valid",
    "version",
    "warm-up",
];

/// The definitions by which a study measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definitions {
    /// By the benchmark's name.
    pub benchmarks: BTreeMap<String, Definition>,
    /// What each variant of the plan does on each role, by its name. What parameters it sets is a part of its cells.
    pub variants: BTreeMap<String, Definition>,
    /// By the monitor's name; with what the plan says of it.
    pub monitors: BTreeMap<String, Definition>,
}

/// What one definition says: `client.run` and its command, `metric.rate.unit` and `bit/s`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition(BTreeMap<String, String>);

/// A key whose value differs between two definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDifference {
    /// The path: `client.run`.
    pub key: String,
    /// The value in the first; none if it hasn't the key.
    pub base: Option<String>,
    /// The value in the second.
    pub new: Option<String>,
}

impl Definitions {
    /// Out of a study's documents, each with its kind: `benchmark`, `monitor`, `plan`; others say nothing of this.
    pub fn from_documents<'a>(
        documents: impl Iterator<Item = (&'a str, &'a TomlDocument)>,
    ) -> Self {
        let mut found = Self::default();
        let mut planned = Value::Null;
        for (kind, document) in documents {
            // What can't be read any more is unknown, which differs from nothing.
            let Ok(mut table) = document.read::<Map<String, Value>>() else {
                continue;
            };
            let name = table.get("name").and_then(Value::as_str).map(str::to_owned);
            match (kind, name) {
                ("benchmark", Some(name)) => {
                    found.benchmarks.insert(name, Definition::from_table(table));
                }
                ("monitor", Some(name)) => {
                    found.monitors.insert(name, Definition::from_table(table));
                }
                ("plan", _) => {
                    planned = table.remove("monitors").unwrap_or_default();
                    found.variants = variants_of(&table);
                }
                _ => {}
            }
        }
        for entry in planned.as_array().into_iter().flatten() {
            let name = entry.get("name").and_then(Value::as_str);
            if let Some(monitor) = name.and_then(|name| found.monitors.get_mut(name)) {
                flatten("plan", entry, &mut monitor.0);
            }
        }
        found
    }
}

/// What the variants of a plan do.
fn variants_of(plan: &Map<String, Value>) -> BTreeMap<String, Definition> {
    let variants = plan.get("variant").and_then(Value::as_array);
    let named = variants.into_iter().flatten().filter_map(|variant| {
        let table = variant.as_object()?.clone();
        let name = table.get("name")?.as_str()?.to_owned();
        Some((name, Definition::from_table(table)))
    });
    named.collect()
}

impl Definition {
    fn from_table(mut table: Map<String, Value>) -> Self {
        table.retain(|key, _| !OF_NO_MATTER.contains(&key.as_str()));
        let mut keys = BTreeMap::new();
        for (key, value) in &table {
            flatten(key, value, &mut keys);
        }
        Self(keys)
    }

    /// The keys that differ.
    pub fn differences(&self, other: &Self) -> Vec<KeyDifference> {
        let only_other = other.0.keys().filter(|key| !self.0.contains_key(*key));
        let keys = self.0.keys().chain(only_other);
        let differing = keys.filter(|key| self.0.get(*key) != other.0.get(*key));
        let differing = differing.map(|key| KeyDifference {
            key: key.clone(),
            base: self.0.get(key).cloned(),
            new: other.0.get(key).cloned(),
        });
        differing.collect()
    }
}

/// Adds every value below this key. One step may stand alone or as a list of one: that is the same.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(table) => {
            // Prose, and which metrics are shown first.
            let matters = |key: &str| !["about", "primary"].contains(&key);
            for (key, value) in table.iter().filter(|(key, _)| matters(key)) {
                match key.as_str() {
                    // `{ run = "…" }` is a step as `"…"` is.
                    "run" if is_step(path) => flatten(path, value, into),
                    key => flatten(&format!("{path}.{key}"), value, into),
                }
            }
        }
        Value::Array(values) if values.len() == 1 => flatten(path, &values[0], into),
        Value::Array(values) => {
            for (number, value) in (1..).zip(values) {
                flatten(&format!("{path}[{number}]"), value, into);
            }
        }
        Value::String(text) => {
            into.insert(path.to_owned(), text.clone());
        }
        other => {
            into.insert(path.to_owned(), other.to_string());
        }
    }
}

/// Whether a path leads to a step of a role: `client.run`, `client.run[2]`.
fn is_step(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    let last = last.split('[').next().unwrap_or_default();
    [
        "startup", "run", "collect", "reset", "spawn", "setup", "teardown",
    ]
    .contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "name = \"b\"\nabout = \"prose\"\nroles = [\"tester\"]\nneeds = { debian = [\"x\"] }\n\
        [params]\nn = { default = 1, about = \"how many\" }\n\
        [tester]\nrun = \"measure {n}\"\n\
        [metric.rate]\nunit = \"bit/s\"\nbetter = \"higher\"\nabout = \"prose\"\nregex = \"(.*)\"\n";

    fn differing(text: &str) -> Vec<String> {
        let of = |text: &str| {
            let document = TomlDocument::new("b.toml", text);
            let found = Definitions::from_documents([("benchmark", &document)].into_iter());
            found.benchmarks["b"].clone()
        };
        let differences = of(USUAL).differences(&of(text));
        differences.into_iter().map(|it| it.key).collect()
    }

    #[test]
    fn prose_comments_order_and_forms_of_the_same_step_do_not_matter() {
        for same in [
            USUAL.replace("prose", "other words"),
            USUAL.replace("how many", "the number of"),
            USUAL.replace(
                "[params]",
                "measures = \"x\"\nnot = \"y\"\ntraps = [{ trap = \"z\" }]\n[params]",
            ),
            USUAL.replace("[\"x\"]", "[\"x\", \"y\"]"),
            format!("# A comment.\n{USUAL}"),
            USUAL.replace("run = \"measure {n}\"", "run = [\"measure {n}\"]"),
            USUAL.replace("run = \"measure {n}\"", "run = { run = \"measure {n}\" }"),
            USUAL.replace("default = 1", "default = 2"),
        ] {
            assert_eq!(differing(&same), [""; 0], "{same}");
        }
    }

    #[test]
    fn what_is_run_and_how_it_is_read_matters() {
        for (from, to, key) in [
            ("measure {n}", "measure --fast {n}", "tester.run"),
            ("(.*)", "([0-9]*)", "metric.rate.regex"),
            ("bit/s", "Mbit/s", "metric.rate.unit"),
            (
                "[tester]\n",
                "[tester]\nstartup = \"warm-up\"\n",
                "tester.startup",
            ),
        ] {
            assert_eq!(differing(&USUAL.replace(from, to)), [key]);
        }
    }

    #[test]
    fn what_a_variant_does_matters_and_its_parameters_are_a_part_of_its_cells() {
        let of = |variant: &str| {
            let plan =
                TomlDocument::new("plan.toml", format!("[[variant]]\nname = \"v\"\n{variant}"));
            Definitions::from_documents([("plan", &plan)].into_iter()).variants["v"].clone()
        };
        let usual = of("tester.setup = \"nft -f a\"\nparams = { n = 1 }\n");
        let same = of("tester.setup = [\"nft -f a\"]\nparams = { n = 2 }\n");
        assert_eq!(usual.differences(&same), []);
        let other = of("tester = { setup = \"nft -f b\", teardown = \"true\" }\n");
        let keys = usual.differences(&other).into_iter().map(|it| it.key);
        assert_eq!(
            keys.collect::<Vec<_>>(),
            ["tester.setup", "tester.teardown"]
        );
    }

    #[test]
    fn what_the_plan_says_of_a_monitor_is_a_part_of_it() {
        let of = |interval: &str| {
            let monitor =
                TomlDocument::new("m.toml", "name = \"m\"\nabout = \"\"\nrun = \"watch\"\n");
            let text = format!("monitors = [{{ name = \"m\", interval = \"{interval}\" }}]\n");
            let plan = TomlDocument::new("plan.toml", text);
            let documents = [("plan", &plan), ("monitor", &monitor)];
            Definitions::from_documents(documents.into_iter()).monitors["m"].clone()
        };
        let differences = of("1s").differences(&of("2s"));
        assert_eq!(
            differences,
            [KeyDifference {
                key: "plan.interval".into(),
                base: Some("1s".into()),
                new: Some("2s".into())
            }]
        );
    }
}
