//! Cross-checks of a trial: whether what several parts of a testbed counted of the same thing agrees.
//!
//! A number that nobody counted (the monitor didn't run) makes a check that isn't made, not one that fails.

use backsight_model::{
    Benchmark, CrossCheckTerm, Ending, HostName, MetricSamples, RoleName, StepRecord, numbers,
};

use crate::monitor_samples::fitting_series;
use crate::sampled_series::SampledSeries;

/// A sentence for each cross-check of the benchmark that failed in a trial.
pub(crate) fn disagreements(
    benchmark: &Benchmark,
    steps: &[StepRecord],
    samples: &[MetricSamples],
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, check) in &benchmark.cross_checks {
        let sides = check.equal.iter();
        let numbers: Option<Vec<f64>> = sides
            .map(|side| {
                let terms = side.terms().iter();
                terms.map(|term| number(term, steps, samples)).sum()
            })
            .collect();
        let Some(counted) = numbers.filter(|numbers| !check.agrees(numbers)) else {
            continue;
        };
        let said: Vec<String> = (check.equal.iter().zip(&counted))
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

fn number(term: &CrossCheckTerm, steps: &[StepRecord], samples: &[MetricSamples]) -> Option<f64> {
    match term {
        CrossCheckTerm::Metric(metric) => {
            let found = samples.iter().find(|it| it.metric == *metric)?;
            Some(found.values.iter().sum())
        }
        CrossCheckTerm::Series {
            role,
            monitor,
            series,
        } => {
            let hosts = hosts_of(role, steps);
            let watched = steps.iter().filter(|step| {
                step.monitor.as_ref() == Some(monitor)
                    && step.ending == Ending::Stopped
                    && hosts.contains(&&step.host)
            });
            let mut sum = None;
            for step in watched {
                let sampled = SampledSeries::read(&step.stdout.bytes).ok()?;
                let names = fitting_series(series, &sampled);
                if names.is_empty() || sampled.at_ns.len() < 2 {
                    return None;
                }
                let rose: f64 = sampled.increases(&names).iter().sum();
                sum = Some(sum.unwrap_or(0.0) + rose);
            }
            sum
        }
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
