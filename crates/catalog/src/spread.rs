//! How much the benchmarks that come with the program vary from run to run, as `scripts/spread` measured it (`benchmarks/spread.tsv`). What
//! wasn't measured has no row; a level that wasn't repeated has no number.

use backsight_model::{BenchmarkName, MetricName};
use std::{collections::HashMap, fmt::Display, str::FromStr};

/// A line a metric, under a line of headings.
const SPREADS: &str = include_str!("../../../benchmarks/spread.tsv");

/// How much one metric of a benchmark varied on one machine. Deviations are standard deviations in percent of the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSpread {
    /// The benchmark.
    pub benchmark: BenchmarkName,
    /// Its metric.
    pub metric: MetricName,
    /// The parameters that differ from their defaults: `seconds=2 warmup=1`.
    pub parameters: String,
    /// How many trials were made.
    pub trials: u32,
    /// Their mean, in the metric's unit.
    pub mean: f64,
    /// Between the interval samples of a trial; nothing where there are none.
    pub within: Option<f64>,
    /// Between trials on one boot.
    pub between: f64,
    /// The interval of `between`, of 95 %.
    pub between_interval: (f64, f64),
    /// Between boots; nothing where nothing was rebooted.
    pub boots: Option<f64>,
    /// Rounds of each of two versions that show a difference of 2 % in four of five cases.
    pub rounds: u32,
    /// Seconds that a trial took.
    pub seconds: f64,
    /// Share of the processors that others took meanwhile, in percent: the mean of the trials.
    pub others: f64,
    /// The machine, in words.
    pub machine: String,
    /// The day.
    pub date: String,
}

/// Everything that was measured, in the order of the file.
///
/// # Errors
/// A line isn't as it has to be: its number and what is amiss. A test sees to it that all are.
pub fn measured_spreads() -> Result<Vec<MeasuredSpread>, String> {
    read(SPREADS)
}

fn read(text: &str) -> Result<Vec<MeasuredSpread>, String> {
    let mut lines = text.lines().zip(1_usize..);
    let headings: Vec<&str> = match lines.next() {
        Some((line, _)) => line.split('\t').collect(),
        None => return Err("there is no line of headings".to_owned()),
    };
    let spreads = lines.map(|(line, number)| {
        let fields: HashMap<&str, &str> = headings.iter().copied().zip(line.split('\t')).collect();
        if line.split('\t').count() != headings.len() {
            return Err(format!("line {number}: expected {} fields", headings.len()));
        }
        spread(&fields).map_err(|why| format!("line {number}: {why}"))
    });
    spreads.collect()
}

fn spread(fields: &HashMap<&str, &str>) -> Result<MeasuredSpread, String> {
    let text = |name: &str| {
        let field = fields.get(name).copied();
        field.ok_or_else(|| format!("there is no column `{name}`"))
    };
    fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, String> {
        text.parse()
            .map_err(|why| format!("{name} `{text}`: {why}"))
    }
    let number = |name: &str| -> Result<f64, String> {
        let number: f64 = parsed(name, text(name)?)?;
        match number.is_finite() {
            true => Ok(number),
            false => Err(format!("{name} is not finite")),
        }
    };
    let if_any = |name: &str| match text(name)? {
        "" => Ok(None),
        _ => number(name).map(Some),
    };
    Ok(MeasuredSpread {
        benchmark: parsed("benchmark", text("benchmark")?)?,
        metric: parsed("metric", text("metric")?)?,
        parameters: text("parameters")?.to_owned(),
        trials: parsed("trials", text("trials")?)?,
        mean: number("mean")?,
        within: if_any("within")?,
        between: number("between")?,
        between_interval: (number("between_low")?, number("between_high")?),
        boots: if_any("boots")?,
        rounds: parsed("rounds", text("rounds")?)?,
        seconds: number("seconds")?,
        others: number("others")?,
        machine: text("machine")?.to_owned(),
        date: text("date")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    const HEADINGS: &str = "benchmark\tmetric\tparameters\ttrials\tmean\twithin\tbetween\tbetween_low\tbetween_high\tboots\trounds\tseconds\tothers\tmachine\tdate\n";

    #[test]
    fn what_was_measured_is_of_benchmarks_that_there_are() {
        assert!(SPREADS.starts_with(HEADINGS));
        let catalog = Catalog::load(&[]).unwrap();
        for spread in measured_spreads().unwrap() {
            let benchmark = catalog.find(&spread.benchmark).unwrap();
            let benchmark = &benchmark.unwrap().benchmark;
            let at = format!("{} {}", spread.benchmark, spread.metric);
            assert!(benchmark.metrics.contains_key(&spread.metric), "{at}");
            let (low, high) = spread.between_interval;
            assert!(spread.trials >= 3, "{at}");
            assert!(
                low <= spread.between && spread.between <= high && spread.rounds > 0,
                "{at}"
            );
            for parameter in spread.parameters.split_whitespace() {
                let name = parameter.split('=').next().unwrap();
                assert!(benchmark.params.contains_key(name), "{at}: {name}");
            }
        }
    }

    #[test]
    fn a_number_that_is_missing_is_missing_and_one_that_is_none_is_told_with_its_line() {
        let line = "ping-rtt\trtt\t\t10\t0.05\t\t1.5\t1.1\t2.9\t\t9\t2.1\t3\tm\t2026-11-27";
        let of = |line: &str| read(&format!("{HEADINGS}{line}\n"));
        let spread = of(line).unwrap().remove(0);
        assert_eq!(
            (spread.within, spread.boots, spread.rounds),
            (None, None, 9)
        );
        let wrong = of(&line.replace("2.9", "NaN")).unwrap_err();
        assert_eq!(wrong, "line 2: between_high is not finite");
        let short = of("ping-rtt\trtt").unwrap_err();
        assert_eq!(short, "line 2: expected 15 fields");
        assert!(read("").is_err());
    }
}
