//! The reference pages of benchmarks: an index, and a page each with what it measures, its traps, parameters, metrics, and how much it
//! varied where that was measured.

use backsight_catalog::{BenchmarkSet, Catalog, MeasuredSpread, benchmark_sets, measured_spreads};
use backsight_model::{Benchmark, Parser, Processors};
use backsight_report::{
    numbers::{Scale, significant},
    reference::cell,
};
use std::fmt::Write as _;

/// Digits of a deviation in percent, and of a mean.
const DIGITS: (usize, usize) = (2, 4);

/// More rounds than this are told as more than this: nobody makes them.
const MOST_ROUNDS: u32 = 1000;

/// The folder of the pages of single benchmarks, beside the index.
pub const FOLDER: &str = "benchmarks";

/// The name and the text of each page below the folder of the reference; the index first.
pub fn pages(generated: &str) -> miette::Result<Vec<(String, String)>> {
    let catalog = Catalog::load(&[])?;
    let sets = benchmark_sets()?;
    let spreads =
        measured_spreads().map_err(|why| miette::miette!("benchmarks/spread.tsv: {why}"))?;
    let (mut benchmarks, mut suites) = (String::new(), String::new());
    let mut pages = Vec::new();
    for name in catalog.names() {
        let Some(definition) = catalog.find(&name)? else {
            continue;
        };
        let benchmark = &definition.benchmark;
        let spreads: Vec<&MeasuredSpread> = spreads
            .iter()
            .filter(|spread| spread.benchmark == name)
            .collect();
        match benchmark.results {
            Some(_) => suites.push_str(&suite_row(benchmark)),
            None => benchmarks.push_str(&row(benchmark, &spreads)),
        }
        let text = page(benchmark, &sets, &spreads, generated);
        pages.push((format!("{FOLDER}/{name}.md"), text));
    }
    let index = format!(
        "# Benchmarks\n\n{generated}\n{}\n## Benchmarks\n\nEach has a page: what it measures and what it doesn't, traps, parameters, metrics, and how much it varied. Rounds are those of each of two \
         versions that show a difference of 2 % in its primary metrics, where that [was measured](../how-to/measure-noise.md#how-much-the-catalogue-varies).\n\n\
         | benchmark | what it is | runs on | rounds for 2 % |\n|---|---|---|---|\n{benchmarks}\n\
         ## Suites\n\nTest suites, whose results are those of tests: [how to run them](../how-to/run-test-suites.md).\n\n| suite | what it is |\n|---|---|\n{suites}",
        sets_section(&sets)
    );
    pages.insert(0, ("benchmarks.md".to_owned(), index));
    Ok(pages)
}

fn sets_section(sets: &[BenchmarkSet]) -> String {
    let mut text = String::from(
        "## Sets\n\nPlans that come with the program: `backsight run --set NAME`.\n\n| set | takes about | good for | benchmarks |\n|---|---|---|---|\n",
    );
    for set in sets {
        let plan = &set.plan;
        let benchmarks = plan.benchmarks.iter().map(|name| link(name.as_str()));
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            set.name,
            plan.takes.map_or_else(String::new, |time| time.to_string()),
            cell(plan.about.as_deref().unwrap_or_default()),
            benchmarks.collect::<Vec<_>>().join(", ")
        );
    }
    text
}

/// A link from the index to a page.
fn link(name: &str) -> String {
    format!("[`{name}`]({FOLDER}/{name}.md)")
}

fn row(benchmark: &Benchmark, spreads: &[&MeasuredSpread]) -> String {
    let primary = |spread: &&&MeasuredSpread| {
        let mut names = benchmark.primary_metrics();
        names.any(|name| *name == spread.metric)
    };
    let rounds = spreads.iter().filter(primary).map(|spread| spread.rounds);
    format!(
        "| {} | {} | {} | {} |\n",
        link(benchmark.name.as_str()),
        cell(&benchmark.about),
        roles(benchmark),
        rounds.max().map_or_else(String::new, rounds_text)
    )
}

fn rounds_text(rounds: u32) -> String {
    match rounds > MOST_ROUNDS {
        true => format!("more than {MOST_ROUNDS}"),
        false => rounds.to_string(),
    }
}

fn suite_row(suite: &Benchmark) -> String {
    let (name, about) = (link(suite.name.as_str()), cell(&suite.about));
    format!("| {name} | {about} |\n")
}

fn roles(benchmark: &Benchmark) -> String {
    let roles: Vec<&str> = benchmark.roles.iter().map(|role| role.as_str()).collect();
    roles.join(", ")
}

fn page(
    benchmark: &Benchmark,
    sets: &[BenchmarkSet],
    spreads: &[&MeasuredSpread],
    generated: &str,
) -> String {
    let mut text = format!(
        "# {}\n\n{generated}\n{}.\n\n[All benchmarks](../benchmarks.md). Its definition: `backsight show benchmark {0}`.\n\n{}",
        benchmark.name,
        benchmark.about,
        facts(benchmark, sets)
    );
    text.push_str(&traps(benchmark));
    text.push_str(&parameters(benchmark));
    text.push_str(&metrics(benchmark));
    if benchmark.results.is_none() {
        text.push_str(&spread_section(benchmark, spreads));
    }
    text
}

fn facts(benchmark: &Benchmark, sets: &[BenchmarkSet]) -> String {
    let mut text = String::from("| | |\n|---|---|\n");
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(text, "| {name} | {value} |");
    };
    if let Some(measures) = &benchmark.guide.measures {
        fact("measures", &cell(measures));
    }
    if let Some(not) = &benchmark.guide.measures_not {
        fact("does not measure", &cell(not));
    }
    if let Some(warm_up) = &benchmark.warm_up {
        fact("warm-up", &cell(warm_up));
    }
    fact("roles", &roles(benchmark));
    for (role, steps) in &benchmark.steps {
        if let Some(Processors(processors)) = &steps.processors {
            let processors = cell(processors.source());
            let said = format!(
                "`{role}`; processors that it can use: `{processors}`. A trial in which it was the limit says so."
            );
            fact("load generator", &said);
        }
    }
    for condition in benchmark.valid.conditions() {
        let otherwise = condition.otherwise.as_deref();
        let otherwise = otherwise.map(|why| format!(", or {}", cell(why)));
        let said = format!(
            "`{}`{}",
            cell(&condition.to_string()),
            otherwise.unwrap_or_default()
        );
        fact("valid", &said);
    }
    for (system, packages) in &benchmark.needs {
        let packages = match packages.is_empty() {
            true => "nothing".to_owned(),
            false => format!("`{}`", packages.join(" ")),
        };
        fact(&format!("needs ({system})"), &packages);
    }
    let in_sets = sets.iter().filter(|set| {
        let mut names = set.plan.benchmarks.iter();
        names.any(|name| **name == *benchmark.name)
    });
    let in_sets: Vec<String> = in_sets.map(|set| format!("`{}`", set.name)).collect();
    if !in_sets.is_empty() {
        fact("in sets", &in_sets.join(", "));
    }
    text
}

fn traps(benchmark: &Benchmark) -> String {
    let Some(traps) = benchmark.guide.traps.as_ref().filter(|it| !it.is_empty()) else {
        return String::new();
    };
    let mut text = String::from("\n## Traps\n\n");
    for trap in traps {
        let source = match &trap.source {
            Some(source) => format!("[source]({source})"),
            None => "seen here".to_owned(),
        };
        let _ = writeln!(text, "- {} ({source})", trap.trap);
    }
    text
}

fn parameters(benchmark: &Benchmark) -> String {
    if benchmark.params.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n## Parameters\n\n| parameter | default | about |\n|---|---|---|\n");
    for (param, value) in &benchmark.params {
        let unit = value.unit.as_deref().map(|unit| format!(" {unit}"));
        let choices: Vec<String> = value.choices.iter().map(ToString::to_string).collect();
        let choices = match choices.is_empty() {
            true => String::new(),
            false => format!(" ({})", choices.join(", ")),
        };
        let _ = writeln!(
            text,
            "| `{param}` | {}{} | {}{} |",
            cell(&value.default.to_string()),
            unit.unwrap_or_default(),
            cell(&value.about),
            cell(&choices)
        );
    }
    text
}

fn metrics(benchmark: &Benchmark) -> String {
    let mut text =
        String::from("\n## Metrics\n\n| metric | unit | better | about |\n|---|---|---|---|\n");
    for (metric, shape) in &benchmark.metrics {
        let mut about = vec![cell(&shape.about)];
        if shape.primary {
            about.insert(0, "**primary**".to_owned());
        }
        if shape.simulated {
            about.push("counted by a simulator".to_owned());
        }
        if has_intervals(&shape.parser) {
            about.push("with interval samples".to_owned());
        }
        about.retain(|it| !it.is_empty());
        let _ = writeln!(
            text,
            "| `{metric}` | {} | {} | {} |",
            shape.unit,
            shape.better,
            about.join("; ")
        );
    }
    text
}

fn has_intervals(parser: &Parser) -> bool {
    match parser {
        Parser::Json { each, .. } | Parser::Regex { each, .. } => each.is_some(),
        Parser::Column { each, .. } => each.is_some(),
        Parser::Resource(_) | Parser::Tests(_) | Parser::Test(_) => false,
    }
}

fn spread_section(benchmark: &Benchmark, spreads: &[&MeasuredSpread]) -> String {
    let mut text = String::from("\n## How much it varies\n\n");
    if spreads.is_empty() {
        let _ = writeln!(
            text,
            "Not measured yet. Here: `backsight noise --use {}`.",
            benchmark.name
        );
        return text;
    }
    text.push_str("Standard deviations in percent of the mean, as measured on one machine; [on yours](../../how-to/measure-noise.md) they differ.\n\n\
        | metric | parameters | trials | mean | within a trial | between trials | between boots | rounds for 2 % |\n|---|---|---|---|---|---|---|---|\n");
    for spread in spreads {
        let (deviation, mean) = DIGITS;
        let percent = |value: f64| format!("{} %", significant(value, deviation));
        let or_not = |value: Option<f64>, missing: &str| value.map_or(missing.to_owned(), percent);
        let unit = benchmark.metrics.get(&spread.metric).map(|it| it.unit);
        let scale = Scale::fitting(unit, [spread.mean]);
        let (low, high) = spread.between_interval;
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {}{} | {} | {} ({} to {}) | {} | {} |",
            spread.metric,
            match spread.parameters.as_str() {
                "" => "defaults".to_owned(),
                parameters => format!("`{}`", cell(parameters)),
            },
            spread.trials,
            significant(scale.convert(spread.mean), mean),
            scale.unit_after(),
            or_not(spread.within, "no interval samples"),
            percent(spread.between),
            significant(low, deviation),
            percent(high),
            or_not(spread.boots, "not measured"),
            rounds_text(spread.rounds)
        );
    }
    text.push('\n');
    let mut told: Vec<String> = Vec::new();
    for spread in spreads {
        let line = format!(
            "{}, {}: a trial took {} s, and others had {} % of the processors meanwhile.",
            spread.machine,
            spread.date,
            significant(spread.seconds, 2),
            significant(spread.others, 2)
        );
        if !told.contains(&line) {
            told.push(line);
        }
    }
    text.push_str(&told.join("\n"));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(name: &str, spreads: &[&MeasuredSpread]) -> String {
        let catalog = Catalog::load(&[]).unwrap();
        let name = name.parse().unwrap();
        let definition = catalog.find(&name).unwrap().unwrap();
        page(
            &definition.benchmark,
            &benchmark_sets().unwrap(),
            spreads,
            "generated\n",
        )
    }

    #[test]
    fn what_was_not_measured_is_said_to_be_so() {
        let text = page_of("ping-rtt", &[]);
        assert!(text.contains("Not measured yet. Here: `backsight noise --use ping-rtt`."));
        assert!(text.contains("| in sets | `network` |"), "{text}");
        assert!(
            text.contains(
                "| `rtt` | ms | lower | **primary**; mean round-trip time; with interval samples |"
            ),
            "{text}"
        );
        assert!(!page_of("pytest", &[]).contains("How much it varies"));
    }

    #[test]
    fn what_was_measured_stands_with_its_interval_its_count_and_its_machine() {
        let spread = MeasuredSpread {
            benchmark: "ping-rtt".parse().unwrap(),
            metric: "rtt".parse().unwrap(),
            parameters: "count=100".to_owned(),
            trials: 10,
            mean: 0.0304,
            within: Some(31.39),
            between: 4.989,
            between_interval: (2.989, 14.34),
            boots: None,
            rounds: 99,
            seconds: 3.713,
            others: 2.0,
            machine: "2 processors".to_owned(),
            date: "2026-11-27".to_owned(),
        };
        let most = MeasuredSpread {
            metric: "rtt_max".parse().unwrap(),
            within: None,
            boots: Some(7.0),
            rounds: 19_518,
            ..spread.clone()
        };
        let text = page_of("ping-rtt", &[&spread, &most]);
        let row = "| `rtt` | `count=100` | 10 | 30.40 µs | 31 % | 5.0 % (3.0 to 14 %) | not measured | 99 |";
        assert!(text.contains(row), "{text}");
        assert!(
            text.contains("| no interval samples | 5.0 % (3.0 to 14 %) | 7.0 % | more than 1000 |"),
            "{text}"
        );
        let told = "2 processors, 2026-11-27: a trial took 3.7 s, and others had 2.0 % of the processors meanwhile.";
        assert_eq!(text.matches(told).count(), 1, "{text}");
    }
}
