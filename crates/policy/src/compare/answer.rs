//! The answer for one metric of one cell: better or worse by how much, no change larger than some percentage, can't tell yet,
//! not comparable; and which answers of a whole table to believe.
//!
//! No answer contradicts its own interval, and single runs with unknown spread are never better or worse. The statistics are
//! those of `backsight_stats`.

use backsight_model::{Simulator, Unit, numbers};
use backsight_stats::{
    Better, Confidence, Interval, Level, ModeShares, Undefined, UnrepeatedVariation, Verdict,
    VerdictOutcome,
};
use std::fmt;

use super::{ComparisonRow, MeasurementPart, PooledSpread, RowEntry};

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DifferenceCall {
    /// The interval holds only better values, or the better one of two modes became commoner.
    Better,
    /// The same for worse.
    Worse,
    /// The interval excludes no change, of what is neither better nor worse.
    Changed,
    /// The interval lies inside of the margin.
    NoChange {
        /// No change larger than this, in percent of the baseline.
        larger_than_percent: f64,
    },
    /// None of these.
    CannotTell(Doubt),
}

/// Why it can't be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doubt {
    /// About so many more of this level on each side would tell.
    More {
        /// How many.
        count: usize,
        /// Of what.
        level: Level,
    },
    /// There is no interval.
    Without(Undefined),
    /// Alone it would be called changed; among so many comparisons chance does as much.
    AmongMany {
        /// How many comparisons the table has.
        comparisons: usize,
    },
    /// A side has a single run of the program, and how much its runs differ isn't known: so many more of each would tell
    /// that.
    OneRun {
        /// How many.
        more: usize,
        /// The interval of the difference in percent within these very runs: another run may lie outside.
        within: Option<Interval>,
    },
    /// The samples give no idea how many more would tell.
    NoIdea,
}

impl DifferenceCall {
    /// Whether something became better, worse or another.
    pub fn changed(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Changed)
    }

    /// The answer without its numbers, for programs: `better`, `worse`, `changed`, `no change` or `can't tell`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::NoChange { .. } => "no change",
            Self::CannotTell(_) => "can't tell",
        }
    }
}

impl fmt::Display for DifferenceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Better | Self::Worse | Self::Changed => f.pad(self.as_str()),
            Self::NoChange {
                larger_than_percent,
            } if *larger_than_percent == 0.0 => f.pad("no change: all alike"),
            Self::NoChange {
                larger_than_percent,
            } => f.pad(&format!(
                "no change larger than {}",
                numbers::bound(*larger_than_percent)
            )),
            Self::CannotTell(doubt) => f.pad(&match doubt {
                Doubt::More { count, level } => format!(
                    "can't tell yet (~{count} more {}{})",
                    repeated(*level),
                    if *count == 1 { "" } else { "s" }
                ),
                Doubt::Without(Undefined::TooFew { .. }) => {
                    "can't tell yet: too few repeats".to_owned()
                }
                Doubt::Without(_) | Doubt::NoIdea => "can't tell".to_owned(),
                Doubt::OneRun { more, within } => {
                    let within = within.map_or_else(String::new, |within| {
                        let middle = f64::midpoint(within.low, within.high);
                        format!(
                            " (within them {} %)",
                            numbers::percent_interval(middle, within)
                        )
                    });
                    let runs = if *more == 1 { "run" } else { "runs" };
                    format!("can't tell: one run a side{within}; {more} more {runs} each would")
                }
                Doubt::AmongMany { comparisons } => {
                    format!("can't tell yet: may be chance among {comparisons} comparisons")
                }
            }),
        }
    }
}

/// What a person repeats to get more of a level.
fn repeated(level: Level) -> &'static str {
    match level {
        Level::Trial => "round",
        level => level.as_str(),
    }
}

/// How a side differs from the baseline, and what is said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The answer.
    pub call: DifferenceCall,
    /// new − base in percent of the baseline, whatever is better. Where one side's beginning isn't like
    /// the rest of it, this and all below are without that beginning; `verdict` has them with it.
    pub percent: Result<f64, Undefined>,
    /// The interval of that.
    pub percent_interval: Result<Interval, Undefined>,
    /// new/base.
    pub ratio: Result<f64, Undefined>,
    /// The interval of that.
    pub ratio_interval: Result<Interval, Undefined>,
    /// The difference of the arithmetic means in the row's unit: what is left to say when the baseline is zero.
    pub absolute: f64,
    /// The interval of that.
    pub absolute_interval: Result<Interval, Undefined>,
    /// The two-sided p-value of what `call` says: of equal means, or of equal shares of two modes.
    pub p: Result<f64, Undefined>,
    /// `p` as Benjamini and Hochberg adjust it over the whole table; none where there is no `p`.
    pub adjusted_p: Option<f64>,
    /// The confidence of these intervals: what was asked for, or more where the table's correction asks for it.
    pub confidence: Confidence,
    /// How much single runs, or sessions, are known to differ, where the verdict stands on that.
    pub known: Option<PooledSpread>,
    /// Everything that was looked at: units, order, modes, outliers, the rank test.
    pub verdict: Verdict,
}

impl Difference {
    pub(super) fn new(
        verdict: Verdict,
        confidence: Confidence,
        known: Option<PooledSpread>,
    ) -> Self {
        // The change of a share is a change, unless what looks like a mode is a beginning.
        let by_share = verdict
            .modes
            .filter(|modes| verdict.settled.is_none() && modes.differ(confidence));
        let (outcome, p) = match (&verdict.settled, by_share) {
            (Some(settled), _) => (settled.outcome, settled.p),
            (None, Some(modes)) => (verdict.outcome, Ok(modes.p)),
            (None, None) => (verdict.outcome, verdict.p),
        };
        let mut difference = Self {
            call: DifferenceCall::Better,
            percent: verdict.percent,
            percent_interval: verdict.percent_interval,
            ratio: verdict.ratio,
            ratio_interval: verdict.ratio_interval,
            absolute: verdict.difference,
            absolute_interval: verdict.difference_interval,
            p,
            adjusted_p: None,
            confidence,
            known,
            verdict,
        };
        if let Some(modes) = by_share {
            difference.show_share(&modes);
        }
        if let Some(settled) = difference.verdict.settled {
            difference.percent = settled.percent;
            difference.percent_interval = settled.percent_interval;
            difference.ratio = settled.ratio;
            difference.ratio_interval = settled.ratio_interval;
            difference.absolute = settled.difference;
            difference.absolute_interval = settled.difference_interval;
        }
        difference.call = difference.called(outcome);
        difference
    }

    /// Shows what the change of the share of two modes changes: that is what the verdict stands on.
    fn show_share(&mut self, modes: &ModeShares) {
        let base = self.verdict.base;
        let (by, interval) = modes.difference();
        (self.absolute, self.absolute_interval) = (by, Ok(interval));
        if base <= 0.0 {
            (self.percent, self.ratio) = (Err(Undefined::NotPositive), Err(Undefined::NotPositive));
            self.percent_interval = Err(Undefined::NotPositive);
            self.ratio_interval = Err(Undefined::NotPositive);
            return;
        }
        let percent = |by: f64| 100.0 * by / base;
        self.percent = Ok(percent(by));
        self.percent_interval = Ok(Interval {
            low: percent(interval.low),
            high: percent(interval.high),
        });
        self.ratio = Ok(1.0 + by / base);
        self.ratio_interval = Ok(Interval {
            low: 1.0 + interval.low / base,
            high: 1.0 + interval.high / base,
        });
    }

    /// Takes back what single runs seem to show: how another run would differ isn't known, and so many more would tell.
    pub(super) fn doubt_single_runs(&mut self, more: usize) {
        let too_few = Undefined::TooFew { needs: 2, has: 1 };
        let within = self.percent_interval.ok();
        self.call = DifferenceCall::CannotTell(Doubt::OneRun { more, within });
        self.p = Err(too_few);
        self.percent_interval = Err(too_few);
        self.ratio_interval = Err(too_few);
        self.absolute_interval = Err(too_few);
    }

    /// The level of which more would tell.
    fn wanted(&self) -> Level {
        match self.verdict.beyond {
            // Equal counts need no more than a few to be believed.
            _ if self.verdict.p == Err(Undefined::NoSpread) => self.verdict.level,
            UnrepeatedVariation::Nothing => self.verdict.level,
            UnrepeatedVariation::LikeUnits => Level::Session,
            UnrepeatedVariation::Known(_) => self.known.map_or(Level::Session, |known| known.level),
        }
    }

    fn called(&self, outcome: VerdictOutcome) -> DifferenceCall {
        match outcome {
            VerdictOutcome::Better => DifferenceCall::Better,
            VerdictOutcome::Worse => DifferenceCall::Worse,
            VerdictOutcome::Changed => DifferenceCall::Changed,
            VerdictOutcome::NoChange {
                larger_than_percent,
            } => DifferenceCall::NoChange {
                larger_than_percent,
            },
            VerdictOutcome::CannotTell { more: Some(count) } => {
                DifferenceCall::CannotTell(Doubt::More {
                    count,
                    level: self.wanted(),
                })
            }
            VerdictOutcome::CannotTell { more: None } => {
                let why = self.absolute_interval.err();
                DifferenceCall::CannotTell(why.map_or(Doubt::NoIdea, Doubt::Without))
            }
        }
    }

    /// Whether the call is about the shares of two modes and not about the means.
    pub fn by_share(&self) -> bool {
        self.call.changed()
            && self.verdict.settled.is_none()
            && self
                .verdict
                .modes
                .is_some_and(|modes| self.p == Ok(modes.p))
    }

    /// Whether it is better or worse by more than this percentage of the baseline. What has no percentage is by any.
    pub fn changed_beyond(&self, percent: f64) -> bool {
        self.call.changed() && self.percent.map_or(true, |change| change.abs() > percent)
    }

    /// Whether it is worse by more than this percentage of the baseline.
    pub fn worse_beyond(&self, percent: f64) -> bool {
        self.call == DifferenceCall::Worse && self.changed_beyond(percent)
    }
}

/// Why numbers can't be compared.
#[derive(Debug, Clone, PartialEq)]
pub enum NotComparable {
    /// They count different things.
    Units {
        /// The baseline's unit.
        base: Unit,
        /// This side's.
        new: Unit,
    },
    /// More is better for one and worse for the other.
    Directions {
        /// The baseline's direction.
        base: Better,
        /// This side's.
        new: Better,
    },
    /// They were timed by clocks that don't tell the same time: seconds here, instructions there.
    Clocks {
        /// What counted the baseline, if it wasn't a real machine's clock.
        base: Option<Simulator>,
        /// What counted this side.
        new: Option<Simulator>,
    },
    /// They were measured on processors that differ, and nobody asked how processors compare.
    Machine {
        /// The fact that differs.
        fact: String,
        /// The baseline's.
        base: String,
        /// This side's.
        new: String,
    },
    /// They were measured in different ways.
    Definition(MeasurementPart),
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units { base, new } => write!(f, "units differ: {base} and {new}"),
            Self::Directions { base, new } => {
                write!(f, "directions differ: {base} and {new} is better")
            }
            Self::Clocks { base, new } => {
                let clock = |simulator: &Option<Simulator>| {
                    let shift = simulator.and_then(Simulator::time_base);
                    shift.map_or("a real clock".to_owned(), |n| format!("icount = {n}"))
                };
                write!(f, "clocks differ: {} and {}", clock(base), clock(new))
            }
            Self::Machine { fact, base, new } => {
                write!(f, "{fact} differs: `{base}` and `{new}`")
            }
            Self::Definition(differing) => differing.fmt(f),
        }
    }
}

/// Every difference of these rows.
pub(super) fn differences<'a>(
    rows: impl Iterator<Item = &'a mut ComparisonRow>,
) -> impl Iterator<Item = &'a mut Difference> {
    rows.flat_map(|row| &mut row.entries)
        .filter_map(RowEntry::difference_mut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_no_change_is_rounded_to_where_it_holds() {
        let said = |percent| {
            DifferenceCall::NoChange {
                larger_than_percent: percent,
            }
            .to_string()
        };
        assert_eq!(said(0.4321), "no change larger than 0.44 %");
        assert_eq!(said(0.5), "no change larger than 0.50 %");
        assert_eq!(said(1.0), "no change larger than 1.0 %");
        assert_eq!(said(12.3), "no change larger than 13 %");
        assert_eq!(said(0.0), "no change: all alike");
    }

    #[test]
    fn what_more_is_needed_is_said_in_what_a_person_repeats() {
        let more =
            |count, level| DifferenceCall::CannotTell(Doubt::More { count, level }).to_string();
        assert_eq!(more(12, Level::Trial), "can't tell yet (~12 more rounds)");
        assert_eq!(more(1, Level::Boot), "can't tell yet (~1 more boot)");
    }
}
