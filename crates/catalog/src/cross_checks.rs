//! Cross-checks of a trial: whether what several parts of a testbed counted of the same thing agrees.
//!
//! A number that nobody counted (the monitor didn't run) makes a check that isn't made, not one that fails.

use backsight_model::{
    Benchmark, CrossCheckTerm, Ending, HostName, MetricSamples, MonitorName, RoleName, StepRecord,
    numbers,
};
use std::cell::OnceCell;

use crate::monitor_samples::fitting_series;
use crate::sampled_series::SampledSeries;

/// A sentence for each cross-check of the benchmark that failed in a trial.
pub(crate) fn disagreements(
    benchmark: &Benchmark,
    steps: &[StepRecord],
    samples: &[MetricSamples],
) -> Vec<String> {
    let counted = TrialCounts {
        steps,
        samples,
        sampled: steps.iter().map(|_| OnceCell::new()).collect(),
    };
    let mut found = Vec::new();
    for (name, check) in &benchmark.cross_checks {
        let sides = check.equal.iter();
        let numbers: Option<Vec<f64>> = sides
            .map(|side| side.terms().iter().map(|term| counted.number(term)).sum())
            .collect();
        let Some(numbers) = numbers.filter(|numbers| !check.agrees(numbers)) else {
            continue;
        };
        let said: Vec<String> = (check.equal.iter().zip(&numbers))
            .map(|(side, number)| format!("{side} = {}", numbers::grouped(number.round() as u64)))
            .collect();
        found.push(format!(
            "cross-check `{name}` failed: {}: not equal within {} %",
            said.join(", "),
            check.tolerance
        ));
    }
    found
}

/// What was counted in a trial.
struct TrialCounts<'a> {
    steps: &'a [StepRecord],
    samples: &'a [MetricSamples],
    /// What each step printed as a sampler, read when the first term asks for it: several do.
    sampled: Vec<OnceCell<Option<SampledSeries>>>,
}

impl TrialCounts<'_> {
    /// The number that a term means; none if nobody counted it.
    fn number(&self, term: &CrossCheckTerm) -> Option<f64> {
        match term {
            CrossCheckTerm::Metric(metric) => {
                let found = self.samples.iter().find(|it| it.metric == *metric)?;
                Some(found.values.iter().sum())
            }
            CrossCheckTerm::Series {
                role,
                monitor,
                series,
            } => self.rise(role, monitor, series),
        }
    }

    /// By how much a series rose on all hosts of a role.
    fn rise(&self, role: &RoleName, monitor: &MonitorName, series: &str) -> Option<f64> {
        let hosts = hosts_of(role, self.steps);
        let is_watched = |step: &StepRecord| {
            step.monitor.as_ref() == Some(monitor)
                && step.ending == Ending::Stopped
                && hosts.contains(&&step.host)
        };
        let mut sum = None;
        for (step, sampled) in self.steps.iter().zip(&self.sampled) {
            if !is_watched(step) {
                continue;
            }
            let read = || SampledSeries::read(&step.stdout.bytes).ok();
            let sampled = sampled.get_or_init(read).as_ref()?;
            let names = fitting_series(series, sampled);
            if names.is_empty() || sampled.at_ns.len() < 2 {
                return None;
            }
            let rose: f64 = sampled.increases(&names).iter().sum();
            sum = Some(sum.unwrap_or(0.0) + rose);
        }
        sum
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
