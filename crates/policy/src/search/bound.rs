//! Classifies a load as lower or upper bound of a goal, from the trials at it.
//!
//! Definitions: Konstantynowicz and Polák, *Multiple Loss Ratio Search* (IETF draft-ietf-bmwg-mlrsearch), "Load Classification
//! Logic" and "Conditional Throughput Logic". A load is undecided until its trials are long enough, whatever the next one would
//! bring.

/// What a load is to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The goal is met here.
    Lower,
    /// The goal is not met here.
    Upper,
    /// Further trials decide.
    Undecided,
}

/// What a goal asks of the trials at a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Asked {
    /// How long a trial is that counts in full.
    pub full: f64,
    /// How long all of them together are at least.
    pub sum: f64,
    /// The share of that time which may miss the goal; below 1.
    pub exceed: f64,
}

/// Trials at one load, by length and outcome; all in the duration's unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tally {
    full_good: f64,
    full_bad: f64,
    short_good: f64,
    short_bad: f64,
}

impl Tally {
    /// Counts a trial.
    pub fn add(&mut self, asked: &Asked, seconds: f64, good: bool) {
        let full = seconds >= asked.full * (1.0 - 1e-9);
        *match (full, good) {
            (true, true) => &mut self.full_good,
            (true, false) => &mut self.full_bad,
            (false, true) => &mut self.short_good,
            (false, false) => &mut self.short_bad,
        } += seconds;
    }

    /// What the load is: a bound when what is still missing couldn't change that.
    pub fn standing(&self, asked: &Asked) -> Standing {
        let balanced = self.short_good * asked.exceed / (1.0 - asked.exceed);
        let bad = self.full_bad + (self.short_bad - balanced).max(0.0);
        let whole = (self.full_good + bad).max(asked.sum);
        let may_miss = whole * asked.exceed + whole * 1e-9;
        if bad > may_miss {
            Standing::Upper
        } else if whole - self.full_good <= may_miss {
            Standing::Lower
        } else {
            Standing::Undecided
        }
    }
}

/// What arrives at a load that is a lower bound: the load less the loss that the allowed share of time may exceed.
///
/// `trials` are length and loss ratio of the trials at this load that count in full.
pub(super) fn conditional_throughput(load: f64, asked: &Asked, trials: &[(f64, f64)]) -> f64 {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all: f64 = sorted.iter().map(|(seconds, _)| seconds).sum();
    let mut remaining = all.max(asked.sum) * (1.0 - asked.exceed);
    let mut quantile = 1.0;
    for (seconds, loss) in sorted {
        if remaining <= all * 1e-9 {
            break;
        }
        quantile = loss;
        remaining -= seconds;
    }
    if remaining > asked.sum * 1e-9 {
        quantile = 1.0;
    }
    load * (1.0 - quantile)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Asked = Asked {
        full: 5.0,
        sum: 15.0,
        exceed: 0.5,
    };

    fn standing(asked: &Asked, trials: &[(f64, bool)]) -> Standing {
        let mut tally = Tally::default();
        for (seconds, good) in trials {
            tally.add(asked, *seconds, *good);
        }
        tally.standing(asked)
    }

    #[test]
    fn half_of_the_time_decides_and_no_trial_more_is_made() {
        assert_eq!(standing(&HALF, &[]), Standing::Undecided);
        assert_eq!(standing(&HALF, &[(5.0, true)]), Standing::Undecided);
        assert_eq!(standing(&HALF, &[(5.0, true); 2]), Standing::Lower);
        assert_eq!(standing(&HALF, &[(5.0, false); 2]), Standing::Upper);
        let split = [(5.0, true), (5.0, false)];
        assert_eq!(standing(&HALF, &split), Standing::Undecided);
        let bad = [(5.0, true), (5.0, false), (5.0, false)];
        assert_eq!(standing(&HALF, &bad), Standing::Upper);
    }

    #[test]
    fn short_trials_speak_against_a_load_and_never_for_it() {
        assert_eq!(standing(&HALF, &[(1.0, true); 50]), Standing::Undecided);
        assert_eq!(standing(&HALF, &[(1.0, false); 8]), Standing::Upper);
        let balanced = [[(1.0, false); 8], [(1.0, true); 8]].concat();
        assert_eq!(standing(&HALF, &balanced), Standing::Undecided);
    }

    #[test]
    fn without_an_exceed_ratio_one_bad_trial_is_enough_as_in_rfc_2544() {
        let strict = Asked {
            full: 60.0,
            sum: 60.0,
            exceed: 0.0,
        };
        assert_eq!(standing(&strict, &[(1.0, false)]), Standing::Upper);
        assert_eq!(standing(&strict, &[(60.0, true)]), Standing::Lower);
        assert_eq!(standing(&strict, &[(30.0, true)]), Standing::Undecided);
    }

    #[test]
    fn what_arrives_is_the_load_less_the_loss_of_the_allowed_share() {
        let at = |trials: &[(f64, f64)]| conditional_throughput(1000.0, &HALF, trials);
        assert_eq!(at(&[(5.0, 0.0), (5.0, 0.01)]), 990.0);
        assert_eq!(at(&[(5.0, 0.02), (5.0, 0.0), (5.0, 0.01)]), 990.0);
        assert_eq!(at(&[(5.0, 0.0)]), 0.0, "too little is known");
    }
}
