//! Advice to who writes a definition: what runs, but will puzzle those who read its numbers.

use backsight_model::{Benchmark, Parser, Pick, Step, Steps, Value};
use std::fmt;

use crate::MetricReading;

/// Parameters that say how long a benchmark runs.
const DURATIONS: &[&str] = &["seconds", "duration", "time", "runtime"];
/// Parts of the names of parameters that say what doesn't count at the beginning.
const WARM_UPS: &[&str] = &["warm", "omit", "ramp", "preload"];

/// A piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintFinding {
    /// What it is about: `metric rate`; empty for all of the definition.
    pub place: String,
    /// What is amiss, and what to do.
    pub message: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}

/// Advice on a definition.
pub fn lint(benchmark: &Benchmark) -> Vec<LintFinding> {
    let mut advice = Advice(Vec::new());
    advice.on_definition(benchmark);
    advice.on_guide(benchmark);
    advice.on_parameters(benchmark);
    advice.on_metrics(benchmark);
    advice.0
}

/// Advice on what its parsers found in an output of its program.
pub fn lint_readings(readings: &[MetricReading]) -> Vec<LintFinding> {
    let mut advice = Advice(Vec::new());
    for reading in readings {
        let place = format!("metric {}", reading.metric);
        match &reading.summary.numbers {
            Err(why) => advice.say(&place, why.to_string()),
            Ok(numbers) if numbers.is_empty() && !reading.is_optional => {
                advice.say(&place, "nothing in the output has it".to_owned());
            }
            Ok(numbers) if numbers.len() > 1 && reading.pick == Pick::Last => {
                let message = format!(
                    "matches {} times, of which the last counts: say `pick`, or write the expression so that it matches once",
                    numbers.len()
                );
                advice.say(&place, message);
            }
            Ok(_) => {}
        }
    }
    advice.0
}

struct Advice(Vec<LintFinding>);

impl Advice {
    fn say(&mut self, place: &str, message: String) {
        self.0.push(LintFinding {
            place: place.to_owned(),
            message,
        });
    }

    fn on_definition(&mut self, benchmark: &Benchmark) {
        if benchmark.about.trim().is_empty() {
            self.say("", "has no `about`: what does it measure?".to_owned());
        }
        let name = benchmark.name.as_str();
        if name.contains('_') || name.chars().any(|c| c.is_ascii_uppercase()) {
            self.say(
                "",
                "names of definitions have small letters and `-`".to_owned(),
            );
        }
        if benchmark.needs.is_empty() {
            self.say(
                "",
                "says nothing of what it `needs`: whoever lacks a program isn't told the package"
                    .to_owned(),
            );
        }
        if benchmark.version.is_none() {
            self.say(
                "",
                "has no `version` command: two versions of the program will be compared as one"
                    .to_owned(),
            );
        }
        if benchmark.timeout.is_none() {
            self.say("", "has no `timeout`: what hangs hangs long".to_owned());
        }
    }

    /// Who reads the numbers of a suite reads which tests failed: there is nothing to misread.
    fn on_guide(&mut self, benchmark: &Benchmark) {
        if benchmark.results.is_some() {
            return;
        }
        let guide = &benchmark.guide;
        let is_said = |text: &Option<String>| text.as_ref().is_some_and(|it| !it.trim().is_empty());
        if !is_said(&guide.measures) {
            self.say(
                "",
                "has no `measures`: a sentence on what its numbers say".to_owned(),
            );
        }
        if !is_said(&guide.measures_not) {
            self.say(
                "",
                "has no `not`: a sentence on what is wrongly read into its numbers".to_owned(),
            );
        }
        let Some(traps) = &guide.traps else {
            self.say(
                "",
                "has no `traps`: what makes its numbers mislead, with sources; `traps = []` if nothing is known"
                    .to_owned(),
            );
            return;
        };
        for trap in traps {
            if trap.trap.trim().is_empty() {
                self.say("", "has a trap that says nothing".to_owned());
            }
            if let Some(source) = &trap.source
                && !source.starts_with("https://")
                && !source.starts_with("http://")
            {
                self.say(
                    "",
                    format!("the source `{source}` of a trap is no address: write https://…"),
                );
            }
        }
    }

    fn on_parameters(&mut self, benchmark: &Benchmark) {
        for (name, param) in &benchmark.params {
            let place = format!("parameter {name}");
            if param.about.trim().is_empty() {
                self.say(&place, "has no `about`".to_owned());
            }
            let is_number = matches!(param.default, Value::Integer(_) | Value::Float(_));
            if is_number && param.choices.is_empty() && param.min.is_none() {
                self.say(&place, "has no `min`: zero and less are taken".to_owned());
            }
        }
        let named = |parts: &[&str]| {
            let mut names = benchmark.params.keys().map(|name| name.as_str());
            names.any(|name| parts.iter().any(|part| name.contains(part)))
        };
        let lasts = benchmark
            .params
            .keys()
            .any(|name| DURATIONS.contains(&name.as_str()));
        let is_explained = benchmark
            .warm_up
            .as_ref()
            .is_some_and(|why| !why.trim().is_empty());
        if lasts && !named(WARM_UPS) && !runs_before(benchmark) && !is_explained {
            self.say(
                "",
                "runs for a time and has no warm-up: a parameter `warmup`, or a step in `startup` that fills caches, keeps the beginning out; \
                 `warm-up = \"…\"` says why none is needed"
                    .to_owned(),
            );
        }
    }

    fn on_metrics(&mut self, benchmark: &Benchmark) {
        for (name, metric) in &benchmark.metrics {
            let place = format!("metric {name}");
            if metric.about.trim().is_empty() && !matches!(metric.parser, Parser::Resource(_)) {
                self.say(&place, "has no `about`".to_owned());
            }
            if name
                .as_str()
                .chars()
                .any(|c| c == '-' || c.is_ascii_uppercase())
            {
                self.say(
                    &place,
                    "names of metrics have small letters and `_`".to_owned(),
                );
            }
        }
    }
}

/// Whether what is run is run in `startup` too, by the same role: the usual warm-up.
fn runs_before(benchmark: &Benchmark) -> bool {
    let programs = |steps: &Steps| -> Vec<String> {
        let commands = steps.0.iter().filter_map(Step::command);
        let words = commands.map(|command| command.source().split_whitespace().next());
        words.flatten().map(str::to_owned).collect()
    };
    benchmark.steps.values().any(|role| {
        let before = programs(&role.startup);
        programs(&role.run).iter().any(|it| before.contains(it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;
    use backsight_model::TomlDocument;

    const UNSAID: &str = "name = \"b\"\nabout = \"x\"\nroles = [\"dut\"]\nneeds = { debian = [\"x\"] }\nversion = \"b\"\ntimeout = \"9s\"\n\
        KEYS\n[dut]\nrun = \"b\"\n[metric.time]\nunit = \"s\"\nbetter = \"lower\"\nresource = \"wall\"\n";

    fn findings(keys: &str) -> Vec<String> {
        let document = TomlDocument::new("b.toml", UNSAID.replace("KEYS", keys));
        let benchmark = Benchmark::read(&document).unwrap();
        lint(&benchmark).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_definition_that_does_not_say_how_to_read_its_numbers_is_named() {
        let all = findings("");
        assert_eq!(all.len(), 3, "{all:?}");
        for (finding, key) in all.iter().zip(["`measures`", "`not`", "`traps`"]) {
            assert!(finding.contains(key), "{finding}");
        }
        assert_eq!(
            findings("measures = \"x\"\nnot = \"y\"\ntraps = []"),
            [""; 0]
        );
        let said =
            "measures = \"x\"\nnot = \" \"\ntraps = [{ trap = \"z\", source = \"the manual\" }]";
        let all = findings(said);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[1].contains("`the manual`"), "{all:?}");
    }

    #[test]
    fn every_benchmark_that_comes_with_the_program_says_how_to_read_its_numbers() {
        let catalog = Catalog::load(&[]).unwrap();
        for name in catalog.names() {
            let benchmark = &catalog.find(&name).unwrap().unwrap().benchmark;
            let mut advice = Advice(Vec::new());
            advice.on_guide(benchmark);
            assert_eq!(advice.0, [], "{name}");
        }
    }
}
