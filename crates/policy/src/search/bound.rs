//! Classifies a load as lower or upper bound of a goal, from the trials at it.
//!
//! Definitions: Konstantynowicz and Polák, *Multiple Loss Ratio Search* (IETF draft-ietf-bmwg-mlrsearch), "Load Classification
//! Logic" and "Conditional Throughput Logic". A load is undecided until its trials are long enough, whatever the next one would
//! bring.

/// What a load is to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadClass {
    /// The goal is met here.
    Lower,
    /// The goal is not met here.
    Upper,
    /// Further trials decide.
    Undecided,
}

/// What a goal asks of the trials at a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GoalTimes {
    /// How long a trial is that counts in full.
    pub full: f64,
    /// How long all of them together are at least.
    pub sum: f64,
    /// The share of that time which may miss the goal; below 1.
    pub exceed: f64,
}

/// Trials at one load, by length and outcome; all in the duration's unit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TrialTimes {
    full_good: f64,
    full_bad: f64,
    short_good: f64,
    short_bad: f64,
}

impl TrialTimes {
    /// Counts a trial.
    pub fn add(&mut self, times: &GoalTimes, seconds: f64, good: bool) {
        let full = seconds >= times.full * (1.0 - 1e-9);
        *match (full, good) {
            (true, true) => &mut self.full_good,
            (true, false) => &mut self.full_bad,
            (false, true) => &mut self.short_good,
            (false, false) => &mut self.short_bad,
        } += seconds;
    }

    /// What the load is: a bound when what is still missing couldn't change that.
    pub fn classify(&self, times: &GoalTimes) -> LoadClass {
        let balanced = self.short_good * times.exceed / (1.0 - times.exceed);
        let bad = self.full_bad + (self.short_bad - balanced).max(0.0);
        let whole = (self.full_good + bad).max(times.sum);
        let may_miss = whole * times.exceed + whole * 1e-9;
        if bad > may_miss {
            LoadClass::Upper
        } else if whole - self.full_good <= may_miss {
            LoadClass::Lower
        } else {
            LoadClass::Undecided
        }
    }
}

/// What arrives at a load that is a lower bound: the load less the loss that the allowed share of time may exceed.
///
/// `trials` are length and loss ratio of the trials at this load that count in full.
pub(super) fn conditional_throughput(load: f64, times: &GoalTimes, trials: &[(f64, f64)]) -> f64 {
    let mut sorted = trials.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all: f64 = sorted.iter().map(|(seconds, _)| seconds).sum();
    let mut remaining = all.max(times.sum) * (1.0 - times.exceed);
    let mut quantile = 1.0;
    for (seconds, loss) in sorted {
        if remaining <= all * 1e-9 {
            break;
        }
        quantile = loss;
        remaining -= seconds;
    }
    if remaining > times.sum * 1e-9 {
        quantile = 1.0;
    }
    load * (1.0 - quantile)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: GoalTimes = GoalTimes {
        full: 5.0,
        sum: 15.0,
        exceed: 0.5,
    };

    fn classify(times: &GoalTimes, trials: &[(f64, bool)]) -> LoadClass {
        let mut tally = TrialTimes::default();
        for (seconds, good) in trials {
            tally.add(times, *seconds, *good);
        }
        tally.classify(times)
    }

    #[test]
    fn half_of_the_time_decides_and_no_trial_more_is_made() {
        assert_eq!(classify(&HALF, &[]), LoadClass::Undecided);
        assert_eq!(classify(&HALF, &[(5.0, true)]), LoadClass::Undecided);
        assert_eq!(classify(&HALF, &[(5.0, true); 2]), LoadClass::Lower);
        assert_eq!(classify(&HALF, &[(5.0, false); 2]), LoadClass::Upper);
        let split = [(5.0, true), (5.0, false)];
        assert_eq!(classify(&HALF, &split), LoadClass::Undecided);
        let bad = [(5.0, true), (5.0, false), (5.0, false)];
        assert_eq!(classify(&HALF, &bad), LoadClass::Upper);
    }

    #[test]
    fn short_trials_speak_against_a_load_and_never_for_it() {
        assert_eq!(classify(&HALF, &[(1.0, true); 50]), LoadClass::Undecided);
        assert_eq!(classify(&HALF, &[(1.0, false); 8]), LoadClass::Upper);
        let balanced = [[(1.0, false); 8], [(1.0, true); 8]].concat();
        assert_eq!(classify(&HALF, &balanced), LoadClass::Undecided);
    }

    #[test]
    fn without_an_exceed_ratio_one_bad_trial_is_enough_as_in_rfc_2544() {
        let strict = GoalTimes {
            full: 60.0,
            sum: 60.0,
            exceed: 0.0,
        };
        assert_eq!(classify(&strict, &[(1.0, false)]), LoadClass::Upper);
        assert_eq!(classify(&strict, &[(60.0, true)]), LoadClass::Lower);
        assert_eq!(classify(&strict, &[(30.0, true)]), LoadClass::Undecided);
    }

    #[test]
    fn what_arrives_is_the_load_less_the_loss_of_the_allowed_share() {
        let at = |trials: &[(f64, f64)]| conditional_throughput(1000.0, &HALF, trials);
        assert_eq!(at(&[(5.0, 0.0), (5.0, 0.01)]), 990.0);
        assert_eq!(at(&[(5.0, 0.02), (5.0, 0.0), (5.0, 0.01)]), 990.0);
        assert_eq!(at(&[(5.0, 0.0)]), 0.0, "too little is known");
    }
}
