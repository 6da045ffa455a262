//! What several hosts did beside each other in a study: the samples of each host of a role and how evenly they shared (fairness), how
//! exactly programs began and passed barriers together, and what clocks were ahead of the controller's.

use backsight_model::{
    Cell, CellMetric, HostClock, HostName, InstanceSamples, Meeting, MeetingKind, MetricName,
    StudyName, counted, jain_index, numbers::Scale,
};
use backsight_stats::{Better, Samples};
use backsight_store::{InstanceRecords, StudyId};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    chart::{FairnessPoint, fairness_chart, span, sparks},
    document::{Body, Document, Section},
    numbers::{MeanEstimate, direction_arrow, value},
    table::{Table, TerminalStyle, field, left, right},
};

/// What several hosts did beside each other in a study.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StudyInstances {
    /// The number of the study.
    pub study: i64,
    /// Its name.
    pub study_name: String,
    /// The metrics that several hosts of a role measured together, by cell.
    pub metrics: Vec<SharedMetric>,
    /// How exactly programs began and passed barriers together, by cell.
    pub meetings: Vec<MeetingSummary>,
    /// The hosts whose clock isn't the controller's.
    pub clocks: Vec<ClockSummary>,
}

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
    /// The largest of the hosts' samples over the least, its mean over the trials: 1 is even; missing where something isn't above 0.
    pub spread: Option<f64>,
    /// The ends of its 95 % interval; missing where its spread isn't known.
    pub spread_interval: Option<(f64, f64)>,
    /// Jain's index iteration by iteration, where the hosts have samples of iterations or intervals within a trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fairness_over_iterations: Vec<IterationFairness>,
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
    #[serde(skip)]
    largest_over_least: Option<MeanEstimate>,
}

/// What a host measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SharingHost {
    /// The host.
    pub host: String,
    /// The mean of its samples: of rates the harmonic one.
    pub mean: f64,
    /// The ends of its 95 % interval; missing where its spread isn't known.
    pub interval: Option<(f64, f64)>,
    /// The least and the largest sample.
    pub least: f64,
    /// See `least`.
    pub most: f64,
    /// How many trials gave it.
    pub trials: usize,
    /// The mean of its samples' parts of what all hosts had, from 0 to 1; missing where something is negative.
    pub share: Option<f64>,
}

/// How evenly hosts shared one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IterationFairness {
    /// The iteration, or the interval, of a trial: from 1.
    pub iteration: usize,
    /// Jain's index, its mean over the trials.
    pub fairness: f64,
    /// The ends of its 95 % interval; missing where its spread isn't known.
    pub fairness_interval: Option<(f64, f64)>,
    /// How many trials gave it.
    pub trials: usize,
}

/// How exactly programs went on together in the trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MeetingSummary {
    /// The cell.
    pub cell: String,
    /// `start` of steps, `barrier`, or `iteration` of a step.
    pub kind: MeetingKind,
    /// Whose programs they are, where they are of one role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The barrier's name; of a start, the phase or the barrier after which they began; of iterations, their phase.
    pub name: String,
    /// How many went on together each time; the most, where trials differ.
    pub parties: u32,
    /// How often, over all trials.
    pub times: u64,
    /// In how many trials.
    pub trials: usize,
    /// How far apart they went on; missing where no trial knows it.
    pub skew: Option<SkewSummary>,
}

/// How far apart programs went on, the last one after the first: nanoseconds of the controller's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkewSummary {
    /// The median of the trials' medians.
    pub median_ns: u64,
    /// The largest of the trials' 99th percentiles.
    pub p99_ns: u64,
    /// It was never more.
    pub largest_ns: u64,
    /// How many trials know it.
    pub trials: usize,
}

/// The monotonic clock of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClockSummary {
    /// The host.
    pub host: String,
    /// What it was ahead of the controller's when the last trial began, in nanoseconds.
    pub ahead_ns: i64,
    /// That was known within so many nanoseconds; the most of all trials.
    pub uncertainty_ns: u64,
    /// In how many trials it was measured.
    pub trials: usize,
}

impl StudyInstances {
    /// What the store has of a study.
    pub fn new(study: StudyId, name: &StudyName, records: &InstanceRecords) -> Self {
        Self {
            study: study.0,
            study_name: name.to_string(),
            metrics: shared_metrics(records),
            meetings: meeting_summaries(records),
            clocks: clock_summaries(&records.clocks),
        }
    }
}

fn shared_metrics(records: &InstanceRecords) -> Vec<SharedMetric> {
    let mut by_cell: IndexMap<(usize, &MetricName), Vec<&[InstanceSamples]>> = IndexMap::new();
    for ((trial, metric), of_hosts) in &records.samples {
        if let Some(cell) = records.cell_of.get(trial) {
            let all = by_cell.entry((*cell, metric)).or_default();
            all.push(of_hosts);
        }
    }
    by_cell.sort_by(|a, _, b, _| a.0.cmp(&b.0));
    let shared = by_cell.iter().filter_map(|((cell, metric), trials)| {
        let cell = records.cells.get(*cell)?;
        let mut shapes = records.metrics.get(&cell.benchmark)?.iter();
        let shape = shapes.find(|shape| shape.name == **metric)?;
        SharedMetric::new(cell, shape, trials)
    });
    shared.collect()
}

fn meeting_summaries(records: &InstanceRecords) -> Vec<MeetingSummary> {
    let mut alike: IndexMap<(usize, MeetingKind, Option<&str>, &str), Vec<&Meeting>> =
        IndexMap::new();
    for (trial, meeting) in &records.meetings {
        if let Some(cell) = records.cell_of.get(trial) {
            let role = meeting.role.as_ref().map(|role| role.as_str());
            let key = (*cell, meeting.kind, role, meeting.name.as_str());
            alike.entry(key).or_default().push(meeting);
        }
    }
    // Within a cell in the order in which they were met.
    alike.sort_by(|a, _, b, _| a.0.cmp(&b.0));
    let summary = |((cell, kind, role, name), trials): ((usize, _, Option<&str>, &str), Vec<_>)| {
        let mut skews: Vec<_> = trials.iter().filter_map(|it: &&Meeting| it.skew).collect();
        skews.sort_by_key(|skew| skew.median_ns);
        let middle = skews.len().saturating_sub(1) / 2;
        let skew = skews.get(middle).map(|middle| SkewSummary {
            median_ns: middle.median_ns,
            p99_ns: skews.iter().map(|skew| skew.p99_ns).max().unwrap_or(0),
            largest_ns: skews.iter().map(|skew| skew.largest_ns).max().unwrap_or(0),
            trials: skews.len(),
        });
        Some(MeetingSummary {
            cell: records.cells.get(cell)?.to_string(),
            kind,
            role: role.map(str::to_owned),
            name: name.to_owned(),
            parties: trials.iter().map(|it| it.parties).max()?,
            times: trials.iter().map(|it| it.times).sum(),
            trials: trials.len(),
            skew,
        })
    };
    alike.into_iter().filter_map(summary).collect()
}

fn clock_summaries(clocks: &[(u32, HostClock)]) -> Vec<ClockSummary> {
    let mut by_host: IndexMap<&HostName, ClockSummary> = IndexMap::new();
    for (_, clock) in clocks {
        let first = || ClockSummary {
            host: clock.host.to_string(),
            ahead_ns: 0,
            uncertainty_ns: 0,
            trials: 0,
        };
        let summary = by_host.entry(&clock.host).or_insert_with(first);
        summary.ahead_ns = clock.ahead_ns;
        summary.uncertainty_ns = summary.uncertainty_ns.max(clock.uncertainty_ns);
        summary.trials += 1;
    }
    by_host.into_values().collect()
}

impl SharedMetric {
    fn new(cell: &Cell, shape: &CellMetric, trials: &[&[InstanceSamples]]) -> Option<Self> {
        // A host's samples of a trial are one: rounds are what is independent.
        let of_trial = |it: &InstanceSamples| {
            let count = it.values.len() as f64;
            (count > 0.0).then(|| it.values.iter().sum::<f64>() / count)
        };
        let mut by_host: IndexMap<&HostName, (Vec<f64>, Vec<f64>)> = IndexMap::new();
        let (mut indices, mut spreads) = (Vec::new(), Vec::new());
        for trial in trials {
            let means: Vec<f64> = trial.iter().filter_map(of_trial).collect();
            indices.extend(jain_index(&means));
            spreads.extend(largest_over_least(&means));
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
                interval: estimate.interval.ok().filter(|(_, high)| high.is_finite()),
                least: samples.min(),
                most: samples.max(),
                trials: samples.n(),
                share: is_whole.then(|| shares.iter().sum::<f64>() / shares.len() as f64),
            });
            estimates.push(estimate);
        }
        // Neither is a rate: their means are arithmetic ones.
        let estimate = |all: Vec<f64>| {
            let samples = Samples::new(all).ok();
            samples.map(|all| MeanEstimate::from_samples(&all, Better::Lower))
        };
        let (evenness, largest_over_least) = (estimate(indices), estimate(spreads));
        let scale = Scale::fitting(shape.unit, hosts.iter().map(|host| host.mean));
        Some(Self {
            cell: cell.to_string(),
            metric: shape.name.to_string(),
            unit: shape.unit.to_string(),
            fairness: evenness.as_ref().map(|it| it.mean),
            fairness_interval: evenness.as_ref().and_then(|it| it.interval.ok()),
            spread: largest_over_least.as_ref().map(|it| it.mean),
            spread_interval: largest_over_least.as_ref().and_then(|it| it.interval.ok()),
            fairness_over_iterations: fairness_over_iterations(trials),
            hosts,
            direction: shape.better,
            scale,
            estimates,
            evenness,
            largest_over_least,
        })
    }

    /// `share: rate, Gbit/s ↑, fairness 0.8571 ±0.0012 n=3, largest/least 3 ±0.02`.
    fn heading(&self) -> String {
        let arrow = direction_arrow(self.direction);
        let unit = self.scale.unit_after();
        let mut heading = format!("{}: {}{unit} {arrow}", self.cell, self.metric);
        if let Some(evenness) = &self.evenness {
            let shown = evenness.shown(&Scale::plain(None));
            heading.push_str(&format!(", fairness {shown} n={}", evenness.n));
        }
        if let Some(spread) = &self.largest_over_least {
            let shown = spread.shown(&Scale::plain(None));
            heading.push_str(&format!(", largest/least {shown}"));
        }
        heading
    }
}

impl SharedMetric {
    /// Fairness over iterations as a picture; nothing without iterations.
    fn chart(&self) -> Option<Section> {
        let plain = |index: f64| value(index, 4);
        let point = |it: &IterationFairness| FairnessPoint {
            iteration: it.iteration,
            fairness: it.fairness,
            interval: it.fairness_interval,
            about: format!(
                "iteration {}: {}{}, n={}",
                it.iteration,
                plain(it.fairness),
                it.fairness_interval
                    .map_or_else(String::new, |(low, high)| {
                        format!(" [{}, {}]", plain(low), plain(high))
                    }),
                it.trials
            ),
        };
        let points: Vec<_> = self.fairness_over_iterations.iter().map(point).collect();
        if points.is_empty() {
            return None;
        }
        let heading = format!("{}: fairness of {} over iterations", self.cell, self.metric);
        let indices: Vec<f64> = points.iter().map(|point| point.fairness).collect();
        let (least, most) = span(indices.iter().copied());
        let text = format!(
            "{}  {} to {} over {}",
            sparks(&indices),
            plain(least),
            plain(most),
            counted(indices.len(), "iteration")
        );
        let svg = fairness_chart(&heading, self.hosts.len(), &points);
        Some(Section::new(heading, Body::Picture { svg, text }))
    }
}

/// How many times as much as the least the largest is; none where something isn't above 0.
fn largest_over_least(samples: &[f64]) -> Option<f64> {
    let least = samples.iter().copied().reduce(f64::min)?;
    let largest = samples.iter().copied().reduce(f64::max)?;
    (least > 0.0).then(|| largest / least)
}

/// Jain's index of each iteration, as far as any trial has it.
fn fairness_over_iterations(trials: &[&[InstanceSamples]]) -> Vec<IterationFairness> {
    let mut by_iteration: Vec<Vec<f64>> = Vec::new();
    for trial in trials {
        let iterations = trial.iter().map(|it| it.each.len()).min().unwrap_or(0);
        by_iteration.resize_with(by_iteration.len().max(iterations), Vec::new);
        for (iteration, indices) in by_iteration.iter_mut().enumerate().take(iterations) {
            let of_hosts: Vec<f64> = trial.iter().map(|it| it.each[iteration]).collect();
            indices.extend(jain_index(&of_hosts));
        }
    }
    let of_iteration = |(indices, iteration)| {
        let samples = Samples::new(indices).ok()?;
        let estimate = MeanEstimate::from_samples(&samples, Better::Lower);
        Some(IterationFairness {
            iteration,
            fairness: estimate.mean,
            fairness_interval: estimate.interval.ok(),
            trials: estimate.n,
        })
    };
    by_iteration
        .into_iter()
        .zip(1..)
        .filter_map(of_iteration)
        .collect()
}

/// How to read the table of metrics.
const METRICS_NOTE: &str = "Hosts that play one role; fairness is Jain's index of their samples, its mean over the trials: 1 is even. Largest/least is the mean over the trials of the largest sample over the least.";

/// How to read the table of starts and barriers.
const MEETINGS_NOTE: &str = "By how much the last one went on after the first: the median of the trials, and the largest of them.";

/// How to read the table of clocks.
const CLOCKS_NOTE: &str =
    "What the monotonic clock of a host was ahead of the controller's when the last trial began.";

/// Most charts of fairness over iterations.
const MOST_CHARTS: usize = 12;

impl StudyInstances {
    /// As parts of a document: a line a host of each metric, charts over iterations, a line a start or barrier, a line a clock.
    pub fn sections(&self) -> Vec<Section> {
        let of_metrics = Section::table("", self.metrics_table()).with_about(METRICS_NOTE);
        let charts = self.metrics.iter().filter_map(SharedMetric::chart);
        let of_meetings = Section::table("", self.meetings_table()).with_about(MEETINGS_NOTE);
        let of_clocks = Section::table("", self.clocks_table()).with_about(CLOCKS_NOTE);
        std::iter::once(of_metrics)
            .chain(charts.take(MOST_CHARTS))
            .chain([of_meetings, of_clocks])
            .filter(|section| !section.is_empty())
            .collect()
    }

    /// As text.
    pub fn text(&self, look: &TerminalStyle) -> String {
        let sections = self.sections().into_iter();
        let document = sections.fold(Document::new(""), Document::with_section);
        document.text(look)
    }

    fn metrics_table(&self) -> Table {
        let columns = [right("mean"), right("share"), right("least"), right("most")];
        let mut table = Table::new([left("host")].into_iter().chain(columns).collect());
        for metric in &self.metrics {
            table.group(metric.heading());
            for (host, estimate) in metric.hosts.iter().zip(&metric.estimates) {
                let number = |number: f64| field(value(metric.scale.convert(number), 4));
                let mean = estimate.shown(&metric.scale);
                let share = host.share.map(|share| format!("{:.1} %", share * 100.0));
                table.row(vec![
                    field(&host.host),
                    field(format!("{mean} n={}", estimate.n)),
                    field(share.unwrap_or_default()),
                    number(host.least),
                    number(host.most),
                ]);
            }
        }
        table
    }

    fn meetings_table(&self) -> Table {
        let columns = [
            right("hosts"),
            right("times"),
            right("median"),
            right("p99"),
            right("largest"),
        ];
        let mut table = Table::new([left("together")].into_iter().chain(columns).collect());
        let mut cell = "";
        for meeting in &self.meetings {
            if meeting.cell != cell {
                cell = &meeting.cell;
                table.group(cell);
            }
            let skew = |of: fn(&SkewSummary) -> u64| {
                let known = meeting.skew.as_ref();
                field(known.map_or_else(String::new, |skew| milliseconds(of(skew))))
            };
            table.row(vec![
                field(meeting_name(
                    meeting.kind,
                    meeting.role.as_deref(),
                    &meeting.name,
                )),
                field(meeting.parties.to_string()),
                field(meeting.times.to_string()),
                skew(|skew| skew.median_ns),
                skew(|skew| skew.p99_ns),
                skew(|skew| skew.largest_ns),
            ]);
        }
        table
    }

    fn clocks_table(&self) -> Table {
        let columns = [right("ahead"), right("known within"), right("trials")];
        let mut table = Table::new([left("clock of")].into_iter().chain(columns).collect());
        for clock in &self.clocks {
            table.row(vec![
                field(&clock.host),
                field(format!("{:.6} s", clock.ahead_ns as f64 * 1e-9)),
                field(milliseconds(clock.uncertainty_ns)),
                field(clock.trials.to_string()),
            ]);
        }
        table
    }
}

/// `barrier iteration of client`, `start of run`.
pub(crate) fn meeting_name(kind: MeetingKind, role: Option<&str>, name: &str) -> String {
    let whose = role.map_or_else(String::new, |role| format!(" of {role}"));
    match kind {
        MeetingKind::Start => format!("start of {name}"),
        MeetingKind::Barrier => format!("barrier {name}{whose}"),
        MeetingKind::Iteration => format!("iterations{whose} in {name}"),
    }
}

/// `0.041 ms`.
pub(crate) fn milliseconds(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::{Skew, Unit};

    fn samples(host: &str, value: f64, each: &[f64]) -> InstanceSamples {
        InstanceSamples {
            host: host.parse().unwrap(),
            values: vec![value],
            each: each.to_vec(),
        }
    }

    fn passed(skews_ns: &[u64]) -> Meeting {
        Meeting {
            kind: MeetingKind::Barrier,
            role: Some("client".parse().unwrap()),
            name: "iteration".to_owned(),
            parties: 2,
            times: 3,
            skew: Skew::new(skews_ns.to_vec()),
        }
    }

    fn clock(ahead_ns: i64, uncertainty_ns: u64) -> HostClock {
        HostClock {
            host: "b".parse().unwrap(),
            ahead_ns,
            uncertainty_ns,
        }
    }

    /// Two trials of a cell on hosts `a` and `b`; of the second only two iterations are known of both.
    fn two_trials() -> StudyInstances {
        let shape = CellMetric {
            name: "rate".parse().unwrap(),
            unit: Unit::parse("Mbit/s").unwrap(),
            better: Better::Higher,
            about: String::new(),
            primary: true,
            monitor: None,
            simulator: None,
        };
        let first = vec![
            samples("a", 10.0, &[10.0, 0.0, 10.0]),
            samples("b", 30.0, &[30.0, 0.0, 10.0]),
        ];
        let second = vec![
            samples("a", 20.0, &[20.0, 20.0]),
            samples("b", 20.0, &[20.0, 0.0, 7.0]),
        ];
        let records = InstanceRecords {
            cells: vec![Cell {
                benchmark: "net".parse().unwrap(),
                variant: "default".parse().unwrap(),
                params: IndexMap::new(),
                chosen: Vec::new(),
                monitors: None,
            }],
            metrics: [("net".parse().unwrap(), vec![shape])]
                .into_iter()
                .collect(),
            cell_of: [(1, 0), (2, 0)].into_iter().collect(),
            samples: [(1, first), (2, second)]
                .map(|(trial, samples)| ((trial, "rate".parse().unwrap()), samples))
                .into_iter()
                .collect(),
            meetings: vec![
                (1, passed(&[1_000, 2_000, 3_000])),
                (2, passed(&[10_000, 90_000, 100_000])),
                (
                    2,
                    Meeting {
                        kind: MeetingKind::Start,
                        ..passed(&[])
                    },
                ),
            ],
            clocks: vec![(1, clock(5, 900)), (2, clock(-7_000_000_000, 800))],
        };
        StudyInstances::new(StudyId(4), &"s".parse().unwrap(), &records)
    }

    #[test]
    fn each_host_has_its_mean_and_share_and_all_have_a_fairness() {
        let instances = two_trials();
        let shared = &instances.metrics[0];
        assert!((shared.fairness.unwrap() - 0.9).abs() < 1e-12);
        let (low, high) = shared.fairness_interval.unwrap();
        assert!(low < 0.9 && high > 0.9);
        // 30 over 10, and 20 over 20.
        assert_eq!(shared.spread, Some(2.0));
        assert_eq!(largest_over_least(&[0.0, 1.0]), None);
        assert_eq!(shared.hosts[0].share, Some(0.375));
        assert_eq!((shared.hosts[1].least, shared.hosts[1].most), (20.0, 30.0));
    }

    #[test]
    fn fairness_over_iterations_is_of_the_trials_that_have_each() {
        let instances = two_trials();
        let over = instances.metrics[0].fairness_over_iterations.iter();
        let over: Vec<_> = over
            .map(|it| (it.iteration, format!("{:.4}", it.fairness), it.trials))
            .collect();
        // Nobody had anything in the first trial's second iteration; the third of the second trial isn't known of both.
        let index = |index: &str| index.to_owned();
        let expected = [
            (1, index("0.9000"), 2),
            (2, index("0.5000"), 1),
            (3, index("1.0000"), 1),
        ];
        assert_eq!(over, expected);
    }

    #[test]
    fn skews_and_clocks_are_those_of_all_trials() {
        let instances = two_trials();
        let barrier = &instances.meetings[0];
        assert_eq!((barrier.times, barrier.trials, barrier.parties), (6, 2, 2));
        let skew = barrier.skew.as_ref().unwrap();
        assert_eq!((skew.median_ns, skew.p99_ns), (2_000, 100_000));
        assert_eq!((skew.largest_ns, skew.trials), (100_000, 2));
        // No trial knows how exactly that was.
        assert_eq!(instances.meetings[1].skew, None);
        let clock = &instances.clocks[0];
        assert_eq!(
            (clock.ahead_ns, clock.uncertainty_ns),
            (-7_000_000_000, 900)
        );
    }

    #[test]
    fn text_has_all_of_it() {
        let look = TerminalStyle {
            width: Some(100),
            colour: false,
        };
        insta::assert_snapshot!(two_trials().text(&look));
    }
}
