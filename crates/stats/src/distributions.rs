//! Distributions of intervals and tests: `statrs`, made safe at its limits.

use std::sync::OnceLock;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::Confidence;

/// Above this many degrees of freedom series are used: `statrs`' incomplete beta function gets inexact
/// (1e-4 at a million) and then doesn't end (at a hundred million).
const MAX_EXACT_FREEDOM: f64 = 1000.0;

/// Φ(z).
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Φ⁻¹(p), 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// φ(z).
pub(crate) fn normal_pdf(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The normal scores Φ⁻¹((r + ½)/m) of ranks r = 0…m−1 among m (J. Hájek, Z. Šidák, *Theory of Rank Tests*, 1967):
/// from a table within the bulk, exact in the tails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormalScores {
    table: &'static [f64],
    points: f64,
}

/// Cells of the table of Φ⁻¹ over (0, 1); linear between them it is right to 1e-4 where it is used.
const TABLE_CELLS: usize = 4096;

/// The outer share on either side in which Φ⁻¹ bends too much for the table.
const TAIL_SHARE: f64 = 1.0 / 64.0;

impl NormalScores {
    pub(crate) fn new(points: usize) -> Self {
        static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
        let table = TABLE.get_or_init(|| {
            let inner =
                (1..TABLE_CELLS).map(|cell| normal_quantile(cell as f64 / TABLE_CELLS as f64));
            // The ends are never read: they are in the tails.
            [0.0].into_iter().chain(inner).chain([0.0]).collect()
        });
        NormalScores {
            table,
            points: points as f64,
        }
    }

    pub(crate) fn score(self, rank: f64) -> f64 {
        let p = (rank + 0.5) / self.points;
        if (TAIL_SHARE..=1.0 - TAIL_SHARE).contains(&p) {
            let place = p * TABLE_CELLS as f64;
            let cell = place as usize;
            let share = place - cell as f64;
            self.table[cell] * (1.0 - share) + self.table[cell + 1] * share
        } else {
            normal_quantile(p)
        }
    }
}

/// The t that leaves `confidence.tail()` above it. Degrees of freedom are positive.
pub(crate) fn t_quantile(confidence: Confidence, degrees_of_freedom: f64) -> f64 {
    match student(degrees_of_freedom) {
        Some(student) => -student.inverse_cdf(confidence.tail()),
        None => t_from_normal(-normal_quantile(confidence.tail()), degrees_of_freedom),
    }
}

/// The probability of a |t| at least as large. Degrees of freedom are positive.
pub(crate) fn two_sided_p(t: f64, degrees_of_freedom: f64) -> f64 {
    // Nothing divided by nothing is no evidence; and squares must not overflow in there.
    if t.is_nan() {
        return 1.0;
    }
    let t = t.clamp(-1e100, 1e100);
    let above = match student(degrees_of_freedom) {
        Some(student) => student.cdf(-t.abs()),
        None => normal_cdf(-normal_from_t(t.abs(), degrees_of_freedom)),
    };
    (2.0 * above).min(1.0)
}

fn student(degrees_of_freedom: f64) -> Option<StudentsT> {
    if degrees_of_freedom > MAX_EXACT_FREEDOM {
        None
    } else {
        StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()
    }
}

/// Abramowitz & Stegun, *Handbook of Mathematical Functions* (1964), 26.7.5.
fn t_from_normal(z: f64, degrees_of_freedom: f64) -> f64 {
    let z2 = z * z;
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    z + (g1 + (g2 + g3 / degrees_of_freedom) / degrees_of_freedom) / degrees_of_freedom
}

/// G. W. Hill, "Algorithm 395: Student's t-distribution", Communications of the ACM 13 (1970).
fn normal_from_t(t: f64, degrees_of_freedom: f64) -> f64 {
    let a = degrees_of_freedom - 0.5;
    let b = 48.0 * a * a;
    let z = (a * (t * t / degrees_of_freedom).ln_1p()).sqrt();
    z + z * (z * z + 3.0) / b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        // R: qt(.975, c(1, 5, 30, 1e6)).
        for (df, expected) in [
            (1.0, 12.706_204_74),
            (5.0, 2.570_581_84),
            (30.0, 2.042_272_46),
            (1e6, 1.959_966_36),
        ] {
            let t = t_quantile(Confidence::USUAL, df);
            assert!((t - expected).abs() < 1e-7, "df {df}: {t}");
        }
    }

    #[test]
    fn normal_scores_are_exact_enough_everywhere() {
        for points in [4, 7, 200, 10_000] {
            let scores = NormalScores::new(points);
            for rank in 0..points {
                let exact = normal_quantile((rank as f64 + 0.5) / points as f64);
                assert!(
                    (scores.score(rank as f64) - exact).abs() < 1e-4,
                    "{rank} of {points}"
                );
            }
        }
    }

    #[test]
    fn series_and_exact_values_meet() {
        for t in [0.0, 0.5, 2.0, 6.0] {
            let (below, above) = (
                two_sided_p(t, MAX_EXACT_FREEDOM),
                two_sided_p(t, MAX_EXACT_FREEDOM + 1e-6),
            );
            assert!((below / above - 1.0).abs() < 1e-7, "{t}: {below} {above}");
        }
        let (below, above) = (
            t_quantile(Confidence::USUAL, MAX_EXACT_FREEDOM),
            t_quantile(Confidence::USUAL, MAX_EXACT_FREEDOM + 1e-6),
        );
        assert!((below / above - 1.0).abs() < 1e-9, "{below} {above}");
    }

    #[test]
    fn endless_degrees_of_freedom_are_the_normal_distribution() {
        assert!((two_sided_p(1.959_963_984_540_054, 1e12) - 0.05).abs() < 1e-9);
        assert!((t_quantile(Confidence::USUAL, f64::MAX) - 1.959_963_984_540_054).abs() < 1e-9);
        assert_eq!(two_sided_p(f64::INFINITY, 1e12), 0.0);
    }
}
