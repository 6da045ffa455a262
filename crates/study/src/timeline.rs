//! The samples within trials by time, read from the store: interval samples of the benchmark and what samplers saw.
//!
//! Time begins with `run`: with the first of its steps, on the controller's monotonic clock. Interval samples have no instants of
//! their own; they are spread evenly over `run`.

use std::collections::HashMap;

use backsight_catalog::sampled_series::{MISSING, SampledSeries};
use backsight_model::{Cell, HostName, MonitorName, Phase};
use backsight_report::timeline::{
    SampledTogether, SampledValues, SeriesKind, TimelinePhase, TimelineView, TrialTimeline,
};
use backsight_store::{StepRow, Store, StudyRow, TrialRow};
use miette::IntoDiagnostic as _;

use crate::{
    known_counters::KnownCounters, pruned_outputs::PrunedOutputs, sampler_outputs::sampler_output,
    stored_study::numbered,
};

/// The timeline of these trials of a study; of its first measured one, if none is named.
///
/// # Errors
/// There is no such trial, or it has no `run`; no trial has interval samples or was watched by a sampler; the store's own.
pub async fn timeline(
    store: &Store,
    study: &StudyRow,
    asked: &[u32],
) -> miette::Result<TimelineView> {
    let trials = store.trials(study.id).await.into_diagnostic()?;
    let chosen = chosen_trials(study, &trials, asked)?;
    let reader = StudyReader::new(store, study).await?;
    let (mut read, mut pruned) = (Vec::new(), PrunedOutputs::default());
    for trial in chosen {
        read.push(reader.read(trial, &mut pruned).await?);
    }
    let mut counters = KnownCounters::of_study(store, study).await?;
    for it in read.iter().flat_map(|trial| &trial.samplers) {
        counters.read(&it.monitor, &it.sampled);
    }
    let trials: Vec<TrialTimeline> = read
        .into_iter()
        .map(|trial| trial.into_timeline(&counters))
        .collect();
    if trials.iter().all(|trial| trial.sampled.is_empty()) {
        let asked = format!("what monitors of `{}` saw", study.name);
        if let Some(nothing_left) = pruned.nothing_left(&asked) {
            return Err(nothing_left);
        }
        return Err(miette::miette!(
            help = "measure with samplers: backsight run PLAN --monitors cpu,memory",
            "no sampler watched `{}`, and its benchmarks have no interval samples",
            study.name
        ));
    }
    let mut view = TimelineView::new(study.name.as_str(), trials);
    view.notes.extend(pruned.notes());
    Ok(view)
}

fn chosen_trials<'a>(
    study: &StudyRow,
    trials: &'a [TrialRow],
    asked: &[u32],
) -> miette::Result<Vec<&'a TrialRow>> {
    if asked.is_empty() {
        let first = trials.iter().find(|trial| trial.failure.is_none());
        return match first {
            Some(first) => Ok(vec![first]),
            None => Err(miette::miette!(
                help = "name one that failed: --trial N",
                "study `{}` has no measured trial",
                study.name
            )),
        };
    }
    let mut chosen = Vec::new();
    for number in asked {
        chosen.push(numbered(study, "trial", *number, trials, |trial| {
            trial.number
        })?);
    }
    Ok(chosen)
}

/// What is the same for all trials of a study.
struct StudyReader<'a> {
    store: &'a Store,
    study: &'a StudyRow,
    cells: Vec<Cell>,
    /// The unit of each metric, by benchmark.
    units: HashMap<(String, String), String>,
}

/// What one trial has.
struct ReadTrial {
    number: u32,
    cell: String,
    phases: Vec<TimelinePhase>,
    intervals: Vec<SampledTogether>,
    samplers: Vec<SampledByMonitor>,
}

struct SampledByMonitor {
    monitor: MonitorName,
    host: HostName,
    /// When `run` began, on the host's monotonic clock, in nanoseconds.
    origin_ns: i128,
    sampled: SampledSeries,
}

impl<'a> StudyReader<'a> {
    async fn new(store: &'a Store, study: &'a StudyRow) -> miette::Result<Self> {
        let metrics = store.declared_metrics(study.id).await.into_diagnostic()?;
        let units = metrics.iter().flat_map(|(benchmark, metrics)| {
            metrics.iter().map(move |metric| {
                let key = (benchmark.to_string(), metric.name.to_string());
                (key, metric.unit.to_string())
            })
        });
        Ok(Self {
            units: units.collect(),
            cells: store.cells(study.id).await.into_diagnostic()?,
            store,
            study,
        })
    }

    async fn read(
        &self,
        trial: &TrialRow,
        pruned: &mut PrunedOutputs,
    ) -> miette::Result<ReadTrial> {
        let (store, number) = (self.store, trial.number);
        let steps = store.steps(self.study.id, number).await.into_diagnostic()?;
        let instances = store.trial_instances(self.study.id, number).await;
        let clocks = instances.into_diagnostic()?.clocks.into_iter();
        let ahead: HashMap<HostName, i64> =
            clocks.map(|clock| (clock.host, clock.ahead_ns)).collect();
        let ahead = |host: &HostName| i128::from(ahead.get(host).copied().unwrap_or(0));
        let began = |step: &StepRow| i128::from(step.began_monotonic) - ahead(&step.host);
        let of_run = steps
            .iter()
            .filter(|step| step.monitor.is_none() && step.phase == Phase::Run);
        let Some(origin) = of_run.map(began).min() else {
            return Err(miette::miette!(
                help = "`backsight show STUDY --trial N` says how far it came",
                "trial {number} of `{}` has no `run`",
                self.study.name
            ));
        };
        let phases = phases(&steps, |step| (began(step) - origin) as f64 / 1e9);
        let mut samplers = Vec::new();
        for step in &steps {
            let sampled = sampler_output(store, number, step, pruned).await?;
            let Some((monitor, sampled)) = sampled else {
                continue;
            };
            samplers.push(SampledByMonitor {
                monitor: monitor.clone(),
                host: step.host.clone(),
                origin_ns: origin + ahead(&step.host),
                sampled,
            });
        }
        let cell = self.cells.get(trial.cell);
        let run = phases
            .iter()
            .find(|phase| phase.name == Phase::Run.to_string());
        Ok(ReadTrial {
            number,
            cell: cell.map(ToString::to_string).unwrap_or_default(),
            intervals: self
                .intervals(trial, run.map_or(0.0, |run| run.until))
                .await?,
            phases,
            samplers,
        })
    }

    /// The interval samples of a trial whose `run` took so many seconds.
    async fn intervals(&self, trial: &TrialRow, run: f64) -> miette::Result<Vec<SampledTogether>> {
        let samples = self.store.samples(self.study.id, trial.number).await;
        let cell = self.cells.get(trial.cell);
        let benchmark = cell
            .map(|cell| cell.benchmark.to_string())
            .unwrap_or_default();
        let samples = samples.into_diagnostic()?.into_iter();
        let with_each = samples.filter(|metric| metric.each.len() > 1);
        Ok(with_each
            .map(|metric| {
                let count = metric.each.len();
                let unit = self
                    .units
                    .get(&(benchmark.clone(), metric.metric.to_string()));
                let values = metric.each.into_iter().map(Some);
                SampledTogether {
                    source: "benchmark".into(),
                    host: String::new(),
                    at: (0..=count)
                        .map(|end| run * (end as f64 / count as f64))
                        .collect(),
                    series: vec![SampledValues {
                        name: metric.metric.to_string(),
                        unit: unit.cloned().unwrap_or_default(),
                        kind: SeriesKind::Interval,
                        values: std::iter::once(None).chain(values).collect(),
                    }],
                }
            })
            .collect())
    }
}

/// The phases of a trial by its steps, monitors left out. A phase ends with the last step that is waited for; one in which programs
/// only go on beside, with the last of them.
fn phases(steps: &[StepRow], began: impl Fn(&StepRow) -> f64) -> Vec<TimelinePhase> {
    let phases = Phase::ALL.into_iter().filter_map(|phase| {
        let of_phase: Vec<&StepRow> = steps
            .iter()
            .filter(|step| step.monitor.is_none() && step.phase == phase)
            .collect();
        let has_waited = of_phase.iter().any(|step| !step.spawned);
        let ended = of_phase.iter().filter(|step| step.spawned != has_waited);
        let until = ended
            .map(|step| began(step) + step.usage.wall)
            .reduce(f64::max)?;
        let from = of_phase.iter().map(|step| began(step)).reduce(f64::min)?;
        Some(TimelinePhase {
            name: phase.to_string(),
            from,
            until,
        })
    });
    phases.collect()
}

impl ReadTrial {
    fn into_timeline(self, counters: &KnownCounters) -> TrialTimeline {
        let samplers = self.samplers.into_iter().map(|it| it.into_series(counters));
        TrialTimeline {
            number: self.number,
            cell: self.cell,
            phases: self.phases,
            sampled: self.intervals.into_iter().chain(samplers).collect(),
        }
    }
}

impl SampledByMonitor {
    fn into_series(self, counters: &KnownCounters) -> SampledTogether {
        // Microseconds are as much as is seen.
        let seconds = |at: &u64| ((i128::from(*at) - self.origin_ns) / 1000) as f64 / 1e6;
        let at: Vec<f64> = self.sampled.at_ns.iter().map(seconds).collect();
        let series = self.sampled.series.iter().map(|(name, values)| {
            let is_counter = counters.is_counter(&self.monitor, name);
            let there = values.iter().map(|value| *value != MISSING);
            let shown: Vec<f64> = match is_counter {
                true => rates(&self.sampled, name, &at),
                false => values.iter().map(|value| *value as f64).collect(),
            };
            let mut values: Vec<Option<f64>> = there
                .zip(shown)
                .map(|(there, value)| there.then(|| shortened(value)))
                .collect();
            // What has risen since the last sample is known from the second one on.
            if is_counter && let Some(first) = values.iter_mut().find(|value| value.is_some()) {
                *first = None;
            }
            SampledValues {
                name: name.clone(),
                unit: if is_counter { "/s" } else { "" }.to_owned(),
                kind: match is_counter {
                    true => SeriesKind::Rate,
                    false => SeriesKind::Level,
                },
                values,
            }
        });
        SampledTogether {
            source: self.monitor.to_string(),
            host: self.host.to_string(),
            series: series.collect(),
            at,
        }
    }
}

/// By how much a counter rose by the second, in the time before each instant; nothing at the first.
fn rates(sampled: &SampledSeries, name: &str, at: &[f64]) -> Vec<f64> {
    let spans = at.windows(2).map(|two| two[1] - two[0]);
    let rises = sampled.increases(&[name]).into_iter().zip(spans);
    let rates = rises.map(|(rise, span)| if span > 0.0 { rise / span } else { 0.0 });
    std::iter::once(0.0).chain(rates).collect()
}

/// Six digits: more are not seen, and take most of the page.
fn shortened(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}
