//! What each of several hosts that play a role measured in a study, and how evenly they shared it (fairness).

use backsight_model::{
    BenchmarkName, Cell, CellMetric, HostName, InstanceSamples, MetricName, jain_index,
    numbers::Scale,
};
use backsight_stats::{Better, Samples};
use backsight_store::{InstanceSamplesByTrial, TrialRow};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

use crate::{
    numbers::{MeanEstimate, value},
    table::{Table, TerminalStyle, field, left, right},
};

/// The samples of a metric's hosts in the trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SharedMetric {
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: String,
    /// The unit of its numbers.
    pub unit: String,
    /// Jain's index of the hosts' samples, its mean over the trials: 1 is even; missing where it isn't defined.
    pub fairness: Option<f64>,
    /// The ends of its 95 % interval; missing where its spread isn't known.
    pub fairness_interval: Option<(f64, f64)>,
    /// Each host, in the order of the testbed.
    pub hosts: Vec<SharingHost>,
    #[serde(skip)]
    direction: Better,
    #[serde(skip)]
    scale: Scale,
    #[serde(skip)]
    estimates: Vec<MeanEstimate>,
    #[serde(skip)]
    evenness: Option<MeanEstimate>,
}

/// What a host measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SharingHost {
    /// The host.
    pub host: String,
    /// The mean of its samples: of rates the harmonic one.
    pub mean: f64,
    /// The least and the largest sample.
    pub least: f64,
    /// See `least`.
    pub most: f64,
    /// How many trials gave it.
    pub trials: usize,
    /// The mean of its samples' parts of what all hosts had, from 0 to 1; missing where something is negative.
    pub share: Option<f64>,
}

/// The metrics that several hosts measured together in a study, by cell.
pub fn shared_metrics(
    cells: &[Cell],
    metrics: &IndexMap<BenchmarkName, Vec<CellMetric>>,
    trials: &[TrialRow],
    samples: &InstanceSamplesByTrial,
) -> Vec<SharedMetric> {
    let cell_of: HashMap<u32, usize> = trials.iter().map(|it| (it.number, it.cell)).collect();
    let mut by_cell: IndexMap<(usize, &MetricName), Vec<&[InstanceSamples]>> = IndexMap::new();
    for ((trial, metric), of_hosts) in samples {
        if let Some(cell) = cell_of.get(trial) {
            let all = by_cell.entry((*cell, metric)).or_default();
            all.push(of_hosts);
        }
    }
    by_cell.sort_by(|a, _, b, _| a.0.cmp(&b.0));
    let shared = by_cell.iter().filter_map(|((cell, metric), trials)| {
        let cell = cells.get(*cell)?;
        let mut shapes = metrics.get(&cell.benchmark)?.iter();
        let shape = shapes.find(|shape| shape.name == **metric)?;
        SharedMetric::new(cell, shape, trials)
    });
    shared.collect()
}

impl SharedMetric {
    fn new(cell: &Cell, shape: &CellMetric, trials: &[&[InstanceSamples]]) -> Option<Self> {
        // A host's samples of a trial are one: rounds are what is independent.
        let of_trial = |it: &InstanceSamples| {
            let count = it.values.len() as f64;
            (count > 0.0).then(|| it.values.iter().sum::<f64>() / count)
        };
        let mut by_host: IndexMap<&HostName, (Vec<f64>, Vec<f64>)> = IndexMap::new();
        let mut indices = Vec::new();
        for trial in trials {
            let means: Vec<f64> = trial.iter().filter_map(of_trial).collect();
            indices.extend(jain_index(&means));
            let sum: f64 = means.iter().sum();
            for of_host in *trial {
                let (values, shares) = by_host.entry(&of_host.host).or_default();
                if let Some(mean) = of_trial(of_host) {
                    values.push(mean);
                    shares.extend((mean >= 0.0 && sum > 0.0).then(|| mean / sum));
                }
            }
        }
        let (mut hosts, mut estimates) = (Vec::new(), Vec::new());
        for (host, (values, shares)) in by_host {
            let samples = Samples::new(values).ok()?;
            let estimate = MeanEstimate::from_samples(&samples, shape.better);
            let is_whole = shares.len() == samples.n();
            hosts.push(SharingHost {
                host: host.to_string(),
                mean: estimate.mean,
                least: samples.min(),
                most: samples.max(),
                trials: samples.n(),
                share: is_whole.then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            });
            estimates.push(estimate);
        }
        let evenness = Samples::new(indices).ok();
        // An index is no rate: its mean is the arithmetic one.
        let evenness = evenness.map(|all| MeanEstimate::from_samples(&all, Better::Lower));
        let scale = Scale::fitting(shape.unit, hosts.iter().map(|host| host.mean));
        Some(Self {
            cell: cell.to_string(),
            metric: shape.name.to_string(),
            unit: shape.unit.to_string(),
            fairness: evenness.as_ref().map(|it| it.mean),
            fairness_interval: evenness.as_ref().and_then(|it| it.interval.ok()),
            hosts,
            direction: shape.better,
            scale,
            estimates,
            evenness,
        })
    }

    /// `share: rate, Gbit/s ↑, fairness 0.8571 ±0.0012`.
    fn heading(&self) -> String {
        let arrow = match self.direction {
            Better::Higher => "↑",
            Better::Lower => "↓",
        };
        let unit = self.scale.unit_after();
        let mut heading = format!("{}: {}{unit} {arrow}", self.cell, self.metric);
        if let Some(evenness) = &self.evenness {
            let shown = evenness.shown(&Scale::plain(None));
            heading.push_str(&format!(", fairness {shown} n={}", evenness.n));
        }
        heading
    }
}

/// The metrics as a table, a line a host; empty without any.
pub fn shared_metrics_text(metrics: &[SharedMetric], look: &TerminalStyle) -> String {
    if metrics.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        left("host"),
        right("mean"),
        right("share"),
        right("least"),
        right("most"),
    ]);
    for metric in metrics {
        table.group(metric.heading());
        for (host, estimate) in metric.hosts.iter().zip(&metric.estimates) {
            let number = |number: f64| field(value(metric.scale.convert(number), 4));
            let share = host.share;
            table.row(vec![
                field(&host.host),
                field(format!(
                    "{} n={}",
                    estimate.shown(&metric.scale),
                    estimate.n
                )),
                field(share.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0))),
                number(host.least),
                number(host.most),
            ]);
        }
    }
    let note = "Hosts that play one role; fairness is Jain's index of their samples, its mean over the trials: 1 is even.";
    format!(
        "{}\n\n{}\n",
        table.text(look),
        crate::wrapped(note, look.width)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Unit;

    fn samples(host: &str, value: f64) -> InstanceSamples {
        InstanceSamples {
            host: host.parse().unwrap(),
            values: vec![value],
            each: Vec::new(),
        }
    }

    #[test]
    fn each_host_has_its_mean_and_share_and_all_have_a_fairness() {
        let cell = Cell {
            benchmark: "net".parse().unwrap(),
            variant: "default".parse().unwrap(),
            params: IndexMap::new(),
            chosen: Vec::new(),
            monitors: None,
        };
        let shape = CellMetric {
            name: "rate".parse().unwrap(),
            unit: Unit::parse("Mbit/s").unwrap(),
            better: Better::Higher,
            about: String::new(),
            primary: true,
            simulator: None,
        };
        let trials = [
            vec![samples("a", 10.0), samples("b", 30.0)],
            vec![samples("a", 20.0), samples("b", 20.0)],
        ];
        let trials: Vec<&[InstanceSamples]> = trials.iter().map(Vec::as_slice).collect();
        let shared = SharedMetric::new(&cell, &shape, &trials).unwrap();
        assert!((shared.fairness.unwrap() - 0.9).abs() < 1e-12);
        let (low, high) = shared.fairness_interval.unwrap();
        assert!(low < 0.9 && high > 0.9);
        assert_eq!(shared.hosts[0].share, Some(0.375));
        assert_eq!((shared.hosts[1].least, shared.hosts[1].most), (20.0, 30.0));
        let look = TerminalStyle {
            width: Some(80),
            colour: false,
        };
        let text = shared_metrics_text(&[shared], &look);
        for said in ["net: rate Mbit/s ↑, fairness 0.9", "37.5 %", "62.5 %"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert_eq!(shared_metrics_text(&[], &look), "");
    }
}
