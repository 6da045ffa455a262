//! Remarks about the samples of a row that its mean doesn't show: a warm-up, a drift, two modes, outliers. Each is a sentence
//! with its numbers; nothing is removed.

use backsight_model::{
    Unit,
    numbers::{self, Scale},
    significant,
};
use backsight_stats::{Level, OrderEffects};

use super::{
    BaselineRelation, Comparison, ComparisonRow, Difference, MeasuredEntry, Origin, RowEntry,
};

/// Outliers that are named by number.
const MAX_NAMED_OUTLIERS: usize = 3;

/// Something about the samples of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// The row, by its place in [`Comparison::rows`].
    pub row: usize,
    /// The side that is compared with the baseline, by its place in [`Comparison::sides`].
    pub side: usize,
    /// The sentence, without saying which row it is of.
    pub text: String,
}

/// Every remark, in the order of the rows; what is about the baseline is said once a row.
pub(super) fn all(comparison: &Comparison) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for (number, row) in comparison.rows.iter().enumerate() {
        let first = remarks.len();
        for side in 1..row.entries.len() {
            let Some(about) = About::new(comparison, row, side) else {
                continue;
            };
            for text in about.sentences() {
                let known = remarks[first..].iter().any(|remark| remark.text == text);
                if !known {
                    remarks.push(Remark {
                        row: number,
                        side,
                        text,
                    });
                }
            }
        }
    }
    remarks
}

/// A side beside its baseline.
struct About<'a> {
    unit: Option<Unit>,
    /// What one unit of replication is called.
    noun: &'static str,
    names: [&'a str; 2],
    measured: [&'a MeasuredEntry; 2],
    difference: &'a Difference,
}

impl<'a> About<'a> {
    fn new(comparison: &'a Comparison, row: &'a ComparisonRow, side: usize) -> Option<Self> {
        let (RowEntry::Measured(base), RowEntry::Measured(new)) =
            (&row.entries[0], &row.entries[side])
        else {
            return None;
        };
        let Some(BaselineRelation::Compared(difference)) = &new.against else {
            return None;
        };
        Some(About {
            unit: row.unit,
            noun: match (comparison.origin, difference.verdict.level) {
                (Origin::Lists | Origin::ListsWithoutUnit, _) => "number",
                (Origin::Studies, level) => level.as_str(),
            },
            names: [0, side].map(|side| comparison.sides[side].name.as_str()),
            measured: [base, new],
            difference,
        })
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.extend(self.warm_up());
        let order = &self.difference.verdict.order;
        sentences.extend(
            [&order.0, &order.1]
                .into_iter()
                .zip(0..)
                .filter_map(|(order, side)| self.drift(order, side)),
        );
        sentences.extend(self.modes());
        let outliers = &self.difference.verdict.outliers;
        sentences.extend(
            [&outliers.0, &outliers.1]
                .into_iter()
                .zip(0..)
                .filter_map(|(places, side)| self.outliers(places, side)),
        );
        sentences.extend((0..2).filter_map(|side| self.within(side)));
        sentences
    }

    fn show(&self, value: f64) -> String {
        match self.unit {
            Some(unit) => unit.show(value),
            None => significant(value, 4),
        }
    }

    fn warm_up(&self) -> Option<String> {
        let verdict = &self.difference.verdict;
        let settled = verdict.settled?;
        let begins: Vec<String> = [
            (settled.dropped.0, verdict.units.0, verdict.order.0),
            (settled.dropped.1, verdict.units.1, verdict.order.1),
        ]
        .iter()
        .zip(self.names)
        .filter_map(|((dropped, all, order), name)| {
            let rest = self.show(order.warm_up?.mean_of_rest);
            Some(format!(
                "the first {dropped} of {all} {}s of `{name}` are unlike the rest (mean {rest})",
                self.noun
            ))
        })
        .collect();
        let with = match (verdict.percent, verdict.percent_interval) {
            (Ok(percent), Ok(interval)) => numbers::percent_in(percent, Some(interval)),
            _ => {
                let scale = Scale::fitting(self.unit, [verdict.difference]);
                scale.difference(verdict.difference, verdict.difference_interval.ok())
            }
        };
        Some(format!(
            "{}: warm-up? The difference is shown and judged without them; with them it is {with}",
            begins.join(", ")
        ))
    }

    fn drift(&self, order: &OrderEffects, side: usize) -> Option<String> {
        let drift = order.drift?;
        Some(format!(
            "`{}` drifts by {} from its first {} to its last",
            self.names[side],
            numbers::signed(&self.show(drift.total)),
            self.noun
        ))
    }

    fn modes(&self) -> Option<String> {
        let modes = self.difference.verdict.modes?;
        let share = |share: f64| format!("{:.0} %", share * 100.0);
        Some(format!(
            "two modes, near {} and {}: {} of `{}` and {} of `{}` lie in the upper one{}",
            self.show(modes.found.low),
            self.show(modes.found.high),
            share(modes.base_high_share),
            self.names[0],
            share(modes.new_high_share),
            self.names[1],
            match self.difference.call {
                call if call.changed() && self.difference.by_share() =>
                    format!(", and that is the change ({})", numbers::p_equals(modes.p)),
                _ => "; no mean stands for both".to_owned(),
            }
        ))
    }

    fn outliers(&self, places: &[usize], side: usize) -> Option<String> {
        if places.is_empty() {
            return None;
        }
        let numbers = &self.measured[side].numbers;
        let number = |place: &usize| match self.difference.verdict.level {
            Level::Trial => numbers.get(*place).map_or(place + 1, |n| *n as usize),
            _ => place + 1,
        };
        let named: Vec<String> = places
            .iter()
            .take(MAX_NAMED_OUTLIERS)
            .map(|place| number(place).to_string())
            .collect();
        let more = match places.len().saturating_sub(MAX_NAMED_OUTLIERS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "`{}`: {}{} {}{more} {} far from the rest; nothing is left out for it",
            self.names[side],
            self.noun,
            if places.len() == 1 { "" } else { "s" },
            named.join(", "),
            if places.len() == 1 { "lies" } else { "lie" },
        ))
    }

    fn within(&self, side: usize) -> Option<String> {
        let within = self.measured[side].within?;
        Some(format!(
            "`{}`: within {} of {} trials the first intervals (at most {} of {}) are unlike the rest: a longer warm-up \
             of the benchmark would help",
            self.names[side], within.trials, within.of, within.most, within.intervals
        ))
    }
}
