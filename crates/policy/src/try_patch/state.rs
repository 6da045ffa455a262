//! State of a try after its passes: the differences and the answer for each side, cell and metric.
//!
//! A decision stays: each interval is intersected with the ones before. The exception: that a difference never varies holds
//! only until it does.

use backsight_model::MetricName;
use backsight_stats::{Better, Confidence, ConfidenceSequence, Interval, is_estimable};
use std::collections::HashMap;

use super::{MAX_FRUITLESS_PASSES, TryCall, TryComparison, TryEnd, TryPolicy};
use crate::{Observation, Request};

/// Differences that are needed before anything is decided.
const MIN_DIFFERENCES: usize = 4;

/// Everything that is known of all comparisons.
pub(super) struct TryState {
    cells: usize,
    comparisons: Vec<SideComparison>,
    /// Passes in a row in which a side gave nothing, the base first.
    fruitless: Vec<u32>,
    dead: Vec<bool>,
    /// Whether each side gave something in the pass that is looked at now, and whether it was asked.
    pass: Vec<(bool, bool)>,
    /// Trials that were begun in it.
    of_pass: usize,
}

/// One side against the base, by one metric of one cell.
struct SideComparison {
    side: usize,
    cell: usize,
    metric: MetricName,
    better: Better,
    decides: bool,
    /// Logarithms of ratios, as long as there are any.
    ratios: Option<ConfidenceSequence>,
    differences: ConfidenceSequence,
    course: Vec<(f64, f64)>,
    base: ConfidenceSequence,
    new: ConfidenceSequence,
    call: TryCall,
    /// What all intervals so far leave, on the scale that is used.
    interval: Option<Interval>,
    confidence: Confidence,
    equal: Option<f64>,
    tolerates: bool,
}

impl TryState {
    pub(super) fn new(policy: &TryPolicy) -> Self {
        let is_there = |side: usize, cell: usize| policy.is_compared(side, cell);
        let confidence = policy.confidence_each();
        let mut comparisons = Vec::new();
        for side in 1..=policy.sides {
            let cells = policy.cells.iter().enumerate();
            for (cell, metrics) in cells.filter(|(cell, _)| is_there(side, *cell)) {
                comparisons.extend(metrics.iter().map(|metric| SideComparison {
                    side,
                    cell,
                    metric: metric.name.clone(),
                    better: metric.better,
                    decides: metric.decides,
                    ratios: Some(ConfidenceSequence::default()),
                    differences: ConfidenceSequence::default(),
                    course: Vec::new(),
                    base: ConfidenceSequence::default(),
                    new: ConfidenceSequence::default(),
                    call: TryCall::Missing,
                    interval: None,
                    confidence,
                    equal: policy.equal,
                    tolerates: policy.tolerates,
                }));
            }
        }
        Self {
            cells: policy.cells.len(),
            comparisons,
            fruitless: vec![0; policy.sides + 1],
            dead: vec![false; policy.sides + 1],
            pass: vec![(false, false); policy.sides + 1],
            of_pass: 0,
        }
    }

    /// Why nothing more is to be asked, if so.
    pub(super) fn is_over(&self) -> Option<TryEnd> {
        let sides = 1..self.dead.len();
        if self.dead[0] || sides.clone().all(|side| self.dead[side]) {
            return Some(TryEnd::Dead);
        }
        let wanted = sides
            .into_iter()
            .any(|side| (0..self.cells).any(|cell| self.wants(side, cell)));
        (!wanted).then_some(TryEnd::Decided)
    }

    /// Whether more is to be known of a side by a cell.
    pub(super) fn wants(&self, side: usize, cell: usize) -> bool {
        let of = |it: &&SideComparison| it.side == side && it.cell == cell && it.decides;
        let mut open = self.comparisons.iter().filter(of);
        !self.dead[0] && !self.dead[side] && open.any(|it| !it.call.is_decided())
    }

    pub(super) fn dead(&self) -> &[bool] {
        &self.dead
    }

    /// Trials that were begun in the pass that was added last.
    pub(super) fn of_pass(&self) -> usize {
        self.of_pass
    }

    /// Adds what a pass gave, as far as it is there.
    pub(super) fn add(
        &mut self,
        requests: &[Request],
        trials: &HashMap<Request, &Observation>,
        is_there: impl Fn(usize) -> bool,
    ) {
        self.of_pass = 0;
        // By side, cell and metric: the sum and the number of its figures.
        let mut sums: HashMap<(usize, usize, &MetricName), (f64, u32)> = HashMap::new();
        for side in 0..self.pass.len() {
            self.pass[side] = (false, !is_there(side));
        }
        for request in requests {
            let Some(trial) = trials.get(request) else {
                continue;
            };
            self.of_pass += 1;
            let gave = &mut self.pass[request.version];
            *gave = (gave.0 || trial.measured(), true);
            for (metric, value) in &trial.figures {
                let place = (request.version, request.cell, metric);
                let sum = sums.entry(place).or_default();
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        let mean = |side: usize, cell: usize, metric: &MetricName| {
            let (sum, count) = sums.get(&(side, cell, metric))?;
            Some(sum / f64::from(*count)).filter(|mean| mean.is_finite())
        };
        for comparison in &mut self.comparisons {
            let of = |side| mean(side, comparison.cell, &comparison.metric);
            if let (Some(base), Some(new)) = (of(0), of(comparison.side)) {
                comparison.add(base, new);
            }
        }
    }

    /// The pass that was added last is over: what gave nothing in several of them is given up.
    pub(super) fn close_pass(&mut self) {
        for (side, (gave, asked)) in self.pass.iter().enumerate() {
            if *asked {
                self.fruitless[side] = if *gave { 0 } else { self.fruitless[side] + 1 };
            }
            self.dead[side] |= self.fruitless[side] >= MAX_FRUITLESS_PASSES;
        }
    }

    /// About so many passes more until all is decided; nothing if that can't be told of any of what is open.
    pub(super) fn more(&self) -> Option<usize> {
        let open = self.comparisons.iter().filter(|it| {
            it.decides && self.wants(it.side, it.cell) && !it.call.is_decided() && it.base.n() > 0
        });
        open.filter_map(|it| match it.compared().call {
            TryCall::Undecided { more } => more,
            _ => None,
        })
        .max()
    }

    pub(super) fn compared(&self) -> Vec<TryComparison> {
        self.comparisons
            .iter()
            .map(SideComparison::compared)
            .collect()
    }
}

impl SideComparison {
    fn add(&mut self, base: f64, new: f64) {
        self.course.push((base, new));
        self.base.add(base);
        self.new.add(new);
        self.differences.add(new - base);
        match &mut self.ratios {
            Some(ratios) if base > 0.0 && new > 0.0 => ratios.add((new / base).ln()),
            ratios if ratios.is_some() => {
                // From here on there are only differences: what was said of ratios is another scale's.
                *ratios = None;
                self.interval = None;
            }
            _ => {}
        }
        self.look();
    }

    fn sequence(&self) -> &ConfidenceSequence {
        self.ratios.as_ref().unwrap_or(&self.differences)
    }

    /// The margin on either side of no change, on the scale that is used.
    fn margin(&self) -> Option<Interval> {
        let share = self.equal?;
        Some(match &self.ratios {
            Some(_) => Interval {
                low: (1.0 - share).ln(),
                high: share.ln_1p(),
            },
            None => {
                let reach = share * self.base.mean().abs();
                Interval {
                    low: -reach,
                    high: reach,
                }
            }
        })
    }

    /// Looks at the interval after one more difference.
    fn look(&mut self) {
        let sequence = self.sequence();
        let now = match sequence.interval(self.confidence) {
            Ok(interval) => Some(interval),
            // What never varies is what it is, as numbers of instructions.
            Err(_) if sequence.n() >= MIN_DIFFERENCES && sequence.is_flat() => Some(Interval {
                low: sequence.mean(),
                high: sequence.mean(),
            }),
            Err(_) => None,
        };
        let Some(now) = now else { return };
        // What never varied does vary: that it didn't was no interval, and what was decided by it isn't decided.
        let was_flat = self
            .interval
            .is_some_and(|before| before.low == before.high);
        if was_flat && !self.sequence().is_flat() {
            (self.interval, self.call) = (None, TryCall::Missing);
        }
        let cut = match self.interval {
            None => now,
            Some(before) => Interval {
                low: now.low.max(before.low),
                high: now.high.min(before.high),
            },
        };
        // Nothing is left where the difference itself has changed meanwhile: then what was seen before stands.
        if cut.low <= cut.high {
            self.interval = Some(cut);
        }
        if !self.call.is_decided() && self.sequence().n() >= MIN_DIFFERENCES {
            self.decide();
        }
    }

    fn decide(&mut self) {
        let Some(interval) = self.interval else {
            return;
        };
        if self
            .margin()
            .is_some_and(|margin| interval.is_within(margin))
        {
            let percent = self.in_percent(interval);
            let larger_than_percent = percent.map_or(0.0, |p| p.low.abs().max(p.high.abs()));
            self.call = TryCall::Equal {
                larger_than_percent,
            };
            return;
        }
        let higher = match (interval.low > 0.0, interval.high < 0.0) {
            (true, _) => true,
            (_, true) => false,
            _ => return,
        };
        let is_better = higher == (self.better == Better::Higher);
        if !is_better && !self.is_beyond_tolerance(interval) {
            return;
        }
        self.call = match is_better {
            true => TryCall::Better,
            false => TryCall::Worse,
        };
    }

    /// Whether an interval that excludes no change lies wholly beyond what is tolerated.
    fn is_beyond_tolerance(&self, interval: Interval) -> bool {
        let Some(margin) = self.margin().filter(|_| self.tolerates) else {
            return true;
        };
        interval.low > margin.high || interval.high < margin.low
    }

    /// On the scale that is used, as percent of the base.
    fn percent(&self, value: f64) -> Option<f64> {
        let share = match &self.ratios {
            Some(_) => value.exp_m1(),
            None if self.base.mean() != 0.0 => value / self.base.mean().abs(),
            None => return None,
        };
        let percent = 100.0 * share;
        percent.is_finite().then_some(percent)
    }

    fn in_percent(&self, interval: Interval) -> Option<Interval> {
        Some(Interval {
            low: self.percent(interval.low)?,
            high: self.percent(interval.high)?,
        })
    }

    /// About so many more differences until the interval excludes none, or lies within the margin.
    fn more(&self) -> Option<usize> {
        let sequence = self.sequence();
        let seen = sequence.mean();
        let inside = self
            .margin()
            .map(|margin| (margin.high - seen).min(seen - margin.low));
        // Where something is tolerated, what is worse has to get away from that, not from no change.
        let is_worse = (seen > 0.0) != (self.better == Better::Higher);
        let outside = match self.margin().filter(|_| self.tolerates && is_worse) {
            Some(margin) => (seen - margin.high).max(margin.low - seen),
            None => seen.abs(),
        };
        let wanted = outside.max(inside.unwrap_or(0.0)).max(0.0);
        let few = MIN_DIFFERENCES.saturating_sub(sequence.n());
        match sequence.more(wanted, self.confidence) {
            Ok(more) => more.map(|more| more.max(few).max(1)),
            Err(_) => Some(few.max(1)),
        }
    }

    /// Whether a percentage of the base says anything: on the scale of differences the base must not be as good as zero.
    fn is_estimable(&self) -> bool {
        if self.ratios.is_some() {
            let ratio = self.interval.map(|interval| Interval {
                low: interval.low.exp(),
                high: interval.high.exp(),
            });
            return self.call.is_decided() || ratio.is_none_or(is_estimable);
        }
        match self.base.interval(self.confidence) {
            Ok(interval) => !interval.contains(0.0),
            Err(_) => self.base.is_flat(),
        }
    }

    /// An interval in percent. What counts can't lose more than all of it.
    fn told_in_percent(&self, interval: Interval) -> Option<Interval> {
        let counts = self
            .course
            .iter()
            .all(|(base, new)| *base >= 0.0 && *new >= 0.0);
        let percent = self.in_percent(interval)?;
        Some(Interval {
            low: if counts {
                percent.low.max(-100.0)
            } else {
                percent.low
            },
            ..percent
        })
    }

    fn compared(&self) -> TryComparison {
        let sequence = self.sequence();
        let pairs = sequence.n();
        let estimable = pairs > 0 && self.is_estimable();
        let percent = |value: f64| self.percent(value).filter(|_| estimable);
        let in_percent = |interval| self.told_in_percent(interval).filter(|_| estimable);
        let mean = |of: &ConfidenceSequence| (pairs > 0).then(|| of.mean());
        TryComparison {
            side: self.side,
            cell: self.cell,
            metric: self.metric.clone(),
            better: self.better,
            decides: self.decides,
            call: match self.call {
                TryCall::Missing if pairs > 0 => TryCall::Undecided { more: self.more() },
                call => call,
            },
            pairs,
            course: self.course.clone(),
            base: mean(&self.base),
            new: mean(&self.new),
            percent: percent(sequence.mean()),
            percent_interval: self.interval.and_then(in_percent),
            difference: match (pairs, &self.ratios) {
                (0, _) => None,
                (_, None) => Some((sequence.mean(), self.interval)),
                (_, Some(_)) if estimable => None,
                (_, Some(_)) => {
                    let interval = self.differences.interval(self.confidence).ok();
                    Some((self.differences.mean(), interval))
                }
            },
            confidence: self.confidence,
        }
    }
}
