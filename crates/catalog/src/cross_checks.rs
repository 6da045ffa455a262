//! Cross-checks of a trial: whether what several parts of a testbed counted of the same thing agrees.
//!
//! A number that nobody counted (the monitor didn't run) makes a check that isn't made, not one that fails.

use backsight_model::{
    Benchmark, CrossCheck, CrossCheckTerm, Ending, HostName, MetricSamples, MonitorName, Phase,
    RoleName, StepRecord, numbers,
};
use std::cell::OnceCell;

use crate::monitor_samples::fitting_series;
use crate::sampled_series::SampledSeries;

/// A cross-check of a benchmark in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedTrial<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its definition.
    pub check: &'a CrossCheck,
    /// The number of each side, in the order of the definition; or why nobody counted it.
    pub numbers: Vec<Result<f64, String>>,
}

impl CheckedTrial<'_> {
    /// Whether the numbers agree; none if one of them wasn't counted.
    pub fn holds(&self) -> Option<bool> {
        Some(self.check.agrees(&self.counted()?))
    }

    /// How far the highest number lies above the lowest, and in percent of the largest; none if one wasn't counted.
    pub fn difference(&self) -> Option<(f64, f64)> {
        let (difference, largest) = CrossCheck::difference(&self.counted()?);
        let percent = match largest > 0.0 {
            true => 100.0 * difference / largest,
            false => 0.0,
        };
        Some((difference, percent))
    }

    fn counted(&self) -> Option<Vec<f64>> {
        let numbers = self.numbers.iter();
        numbers
            .map(|number| number.as_ref().ok().copied())
            .collect()
    }

    /// What is said of one that failed.
    fn disagreement(&self) -> Option<String> {
        let numbers = self.counted().filter(|_| self.holds() == Some(false))?;
        let said: Vec<String> = (self.check.equal.iter().zip(&numbers))
            .map(|(side, number)| format!("{side} = {}", numbers::grouped(number.round() as u64)))
            .collect();
        Some(format!(
            "cross-check `{}` failed: {}: not equal within {} %",
            self.name,
            said.join(", "),
            self.check.tolerance
        ))
    }
}

/// A sentence for each cross-check of the benchmark that failed in a trial.
pub(crate) fn disagreements(
    benchmark: &Benchmark,
    steps: &[StepRecord],
    samples: &[MetricSamples],
) -> Vec<String> {
    let checked = cross_checks(benchmark, steps, samples);
    checked
        .iter()
        .filter_map(CheckedTrial::disagreement)
        .collect()
}

/// Every cross-check of the benchmark, by what a trial measured and what its monitors printed. Of other steps nothing is read.
pub fn cross_checks<'a>(
    benchmark: &'a Benchmark,
    steps: &[StepRecord],
    samples: &[MetricSamples],
) -> Vec<CheckedTrial<'a>> {
    let counted = TrialCounts {
        steps,
        samples,
        sampled: steps.iter().map(|_| OnceCell::new()).collect(),
    };
    let checks = benchmark.cross_checks.iter();
    let checked = checks.map(|(name, check)| {
        let sides = check.equal.iter();
        let numbers = sides.map(|side| side.terms().iter().map(|term| counted.number(term)).sum());
        CheckedTrial {
            name,
            check,
            numbers: numbers.collect(),
        }
    });
    checked.collect()
}

/// What was counted in a trial.
struct TrialCounts<'a> {
    steps: &'a [StepRecord],
    samples: &'a [MetricSamples],
    /// What each step printed as a sampler, read when the first term asks for it: several do.
    sampled: Vec<OnceCell<Result<SampledSeries, String>>>,
}

impl TrialCounts<'_> {
    /// The number that a term means; or why nobody counted it.
    fn number(&self, term: &CrossCheckTerm) -> Result<f64, String> {
        match term {
            CrossCheckTerm::Metric(metric) => {
                let found = self.samples.iter().find(|it| it.metric == *metric);
                let found = found.ok_or_else(|| format!("`{metric}` wasn't measured"))?;
                Ok(found.values.iter().sum())
            }
            CrossCheckTerm::Series {
                role,
                monitor,
                series,
            } => self.rise(role, monitor, series),
        }
    }

    /// By how much a series rose on all hosts of a role.
    fn rise(&self, role: &RoleName, monitor: &MonitorName, series: &str) -> Result<f64, String> {
        let hosts = hosts_of(role, self.steps);
        let mut sum = None;
        for (step, sampled) in self.steps.iter().zip(&self.sampled) {
            let is_watched = step.monitor.as_ref() == Some(monitor)
                && step.phase == Phase::Run
                && step.ending == Ending::Stopped
                && hosts.contains(&&step.host);
            if !is_watched {
                continue;
            }
            let read = || SampledSeries::read(&step.stdout.bytes);
            let sampled = sampled.get_or_init(read).as_ref();
            let sampled = sampled.map_err(|why| format!("monitor `{monitor}`: {why}"))?;
            let names = fitting_series(series, sampled);
            if names.is_empty() {
                return Err(format!("`{monitor}` has no series `{series}` on `{role}`"));
            }
            if sampled.at_ns.len() < 2 {
                return Err(format!("`{monitor}` took a single sample on `{role}`"));
            }
            let rose: f64 = sampled.increases(&names).iter().sum();
            sum = Some(sum.unwrap_or(0.0) + rose);
        }
        sum.ok_or_else(|| format!("`{monitor}` didn't watch `{role}`"))
    }
}

/// The hosts that play a role in a trial.
fn hosts_of<'a>(role: &RoleName, steps: &'a [StepRecord]) -> Vec<&'a HostName> {
    let of_role = steps.iter().filter(|step| step.role == *role);
    let mut hosts: Vec<&HostName> = of_role.map(|step| &step.host).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}
