//! `backsight try-parser`: what a definition's parsers find in an output of its program, line by line.

use backsight_catalog::{BenchmarkDefinition, MetricReading, lint_readings};
use backsight_model::{
    BenchmarkName, HostName, OutputSource, StepOutput, StepRecord, TomlDocument,
};
use backsight_report::{clipped, escape, list_table};
use miette::{IntoDiagnostic as _, WrapErr as _};
use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, process::ExitCode};

use crate::{exit_status::ExitStatus, files};

/// Most lines that are shown.
const MOST_LINES: usize = 200;
/// Widest line of an output, in characters.
const LINE_WIDTH: usize = 120;
/// Most numbers within a trial that are shown.
const MOST_EACH: usize = 6;

/// Arguments of `try-parser`.
#[derive(Debug, clap::Args)]
pub struct TryParserArgs {
    /// The definition
    definition: PathBuf,
    /// What its program printed; every step is taken to have printed it
    output: PathBuf,
}

impl TryParserArgs {
    /// Shows what is found.
    pub fn execute(self) -> miette::Result<ExitCode> {
        let document = TomlDocument::open(&self.definition)?;
        let name = self.definition.file_stem().and_then(|stem| stem.to_str());
        let name = BenchmarkName::new(name.unwrap_or_default()).map_err(miette::Report::msg)?;
        let definition = BenchmarkDefinition::read(&name, &document)?;
        let output = std::fs::read(&self.output)
            .into_diagnostic()
            .wrap_err_with(|| format!("{} can't be read", self.output.display()))?;
        let readings = definition.parsers.readings(&steps(&definition, &output));
        files::print(&table(&readings))?;
        files::print_foreign(found_lines(&readings, &output).as_bytes())?;
        let advice = lint_readings(&readings);
        for finding in &advice {
            files::print_note(&escape::line(&finding.to_string()));
        }
        let is_missing =
            |reading: &MetricReading| !reading.is_optional && reading.sample().is_none();
        Ok(ExitStatus::failed_if(readings.iter().any(is_missing)))
    }
}

/// Steps of which each printed this, one for each place that the definition's metrics are looked for.
pub fn steps(definition: &BenchmarkDefinition, output: &[u8]) -> Vec<StepRecord> {
    let mut sources: Vec<&OutputSource> = Vec::new();
    for metric in definition.benchmark.metrics.values() {
        if !sources.contains(&&metric.from) {
            sources.push(&metric.from);
        }
    }
    let Ok(host) = HostName::new("here") else {
        return Vec::new();
    };
    let step = |source: &&OutputSource| {
        let printed = StepOutput::whole(output);
        let (stdout, stderr) = match source.stderr {
            true => (StepOutput::default(), printed),
            false => (printed, StepOutput::default()),
        };
        StepRecord {
            stdout,
            stderr,
            ..StepRecord::new(source.role.clone(), host.clone(), source.phase)
        }
    };
    sources.iter().map(step).collect()
}

fn table(readings: &[MetricReading]) -> String {
    let mut table = list_table(
        &[
            "metric",
            "value",
            "unit",
            "in",
            "found",
            "line",
            "within the trial",
        ],
        files::width(),
    );
    for reading in readings {
        let count = reading.summary.numbers.as_ref().map_or(0, Vec::len);
        let each = reading.each.as_ref().map(|each| match &each.numbers {
            Ok(numbers) if numbers.len() > MOST_EACH => {
                format!(
                    "{} and {} more",
                    shown(&numbers[..MOST_EACH]),
                    numbers.len() - MOST_EACH
                )
            }
            Ok(numbers) => shown(numbers),
            Err(why) => escape::line(&why.to_string()),
        });
        let lines = reading.summary.lines.iter().map(usize::to_string);
        table.add_row([
            reading.metric.to_string(),
            match (reading.sample(), &reading.summary.numbers) {
                (Some(value), _) => value.to_string(),
                (None, Err(why)) => escape::line(&why.to_string()),
                (None, Ok(_)) => "nothing".to_owned(),
            },
            reading.unit.to_string(),
            reading.source.to_string(),
            match count {
                0 | 1 => count.to_string(),
                _ => format!("{count}, {:?} counts", reading.pick).to_lowercase(),
            },
            clipped(&lines.collect::<Vec<_>>().join(", "), 40),
            each.unwrap_or_default(),
        ]);
    }
    format!("{table}\n")
}

fn shown(values: &[f64]) -> String {
    let values = values.iter().map(|value| value.to_string());
    values.collect::<Vec<_>>().join(", ")
}

/// The lines in which something is found, each with the metrics that find it there.
fn found_lines(readings: &[MetricReading], output: &[u8]) -> String {
    let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for reading in readings {
        for line in &reading.summary.lines {
            found
                .entry(*line)
                .or_default()
                .push(reading.metric.to_string());
        }
        for line in reading.each.iter().flat_map(|each| &each.lines) {
            let within = format!("{} (within)", reading.metric);
            found.entry(*line).or_default().push(within);
        }
    }
    let lines: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    let mut text = String::new();
    for (number, metrics) in found.iter().take(MOST_LINES) {
        let line = lines.get(number - 1).copied().unwrap_or_default();
        let line = clipped(&String::from_utf8_lossy(line), LINE_WIDTH);
        let _ = writeln!(text, "{number:>6} | {line}   <- {}", metrics.join(", "));
    }
    if found.len() > MOST_LINES {
        let _ = writeln!(text, "{} more lines", found.len() - MOST_LINES);
    }
    text
}
