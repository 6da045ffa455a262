//! Fair share: how much machine time each person used lately.
//!
//! What was used t ago counts as 2^(−t/H): H is [`HALF_LIFE`]. A use that was spread evenly from a to b counts, per second,
//! H/(ln 2·(b − a))·(2^(−(now−b)/H) − 2^(−(now−a)/H)), which is the mean of that weight over its time. This is the usage of Slurm's
//! multifactor priority plugin (`PriorityDecayHalfLife`), kept exactly in place of in steps.

use backsight_model::MachineUse;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// After so long, what was used counts half: two days, so that a night's work still counts the next night, and last week hardly.
pub const HALF_LIFE: SignedDuration = SignedDuration::from_hours(48);

/// Seconds of machine time that each person used, by how long ago; people who used none aren't there.
pub fn usage_by_person(uses: &[MachineUse], now: Timestamp) -> BTreeMap<&str, f64> {
    let mut usage = BTreeMap::new();
    for used in uses {
        *usage.entry(used.by.as_str()).or_insert(0.0) += decayed(used, now);
    }
    usage
}

fn decayed(used: &MachineUse, now: Timestamp) -> f64 {
    let half_life = HALF_LIFE.as_secs_f64();
    let ago = |at: Timestamp| now.duration_since(at).as_secs_f64().max(0.0);
    let (oldest, newest) = (ago(used.from), ago(used.until));
    let length = oldest - newest;
    let weight = |ago: f64| (-ago / half_life).exp2();
    // A difference of nearly equal weights says nothing.
    let mean = match length > 1.0 {
        true => half_life / (std::f64::consts::LN_2 * length) * (weight(newest) - weight(oldest)),
        false => weight(newest),
    };
    used.machine_seconds.max(0.0) * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(hours: f64) -> Timestamp {
        let start: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        start + SignedDuration::from_secs_f64(hours * 3600.0)
    }

    fn used(from: f64, until: f64, machine_seconds: f64) -> MachineUse {
        MachineUse {
            by: "ana".to_owned(),
            from: at(from),
            until: at(until),
            machine_seconds,
        }
    }

    fn usage(uses: &[MachineUse], now: f64) -> f64 {
        usage_by_person(uses, at(now))
            .get("ana")
            .copied()
            .unwrap_or(0.0)
    }

    #[test]
    fn half_is_left_after_a_half_life() {
        assert!((usage(&[used(0.0, 0.0, 600.0)], 48.0) - 300.0).abs() < 1e-6);
        let now = usage(&[used(0.0, 24.0, 600.0)], 24.0);
        let later = usage(&[used(0.0, 24.0, 600.0)], 72.0);
        assert!((later - now / 2.0).abs() < 1e-6);
        assert!(
            (usage(&[used(1.0, 1.0, 600.0)], 0.0) - 600.0).abs() < 1e-9,
            "a clock that is ahead"
        );
    }

    proptest! {
        #[test]
        fn a_use_in_two_parts_counts_as_the_whole(from in 0.0..50.0_f64, length in 0.1..50.0_f64, share in 0.1..0.9_f64, later in 0.0..300.0_f64) {
            let (until, cut) = (from + length, from + share * length);
            let now = until + later;
            let whole = usage(&[used(from, until, 1000.0)], now);
            let parts = [used(from, cut, 1000.0 * share), used(cut, until, 1000.0 * (1.0 - share))];
            prop_assert!((usage(&parts, now) - whole).abs() < 1e-3 * whole.max(1e-6), "{whole}");
        }

        #[test]
        fn it_only_falls_with_time_and_is_never_more_than_what_was_used(from in 0.0..50.0_f64, length in 0.0..50.0_f64, later in 0.0..300.0_f64, more in 0.0..100.0_f64) {
            let uses = [used(from, from + length, 1000.0)];
            let now = usage(&uses, from + length + later);
            prop_assert!(now > 0.0 && now <= 1000.0 + 1e-6);
            prop_assert!(usage(&uses, from + length + later + more) <= now + 1e-6);
        }
    }
}
