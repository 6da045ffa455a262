//! False discovery rate: which of many tests to believe, so that few of the believed ones are false.

/// The p-values of a table or of many series, adjusted so that believing those up to q keeps the expected share of
/// false ones among the believed at q or below. In the order given.
///
/// Source: Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", J. R. Stat. Soc. B 57 (1995); they hold
/// for independent tests and for positively dependent ones, as cells of one study are.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_unstable_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (larger, &i) in order.iter().enumerate() {
        let rank = (p.len() - larger) as f64;
        least = least.min(p[i] * p.len() as f64 / rank);
        adjusted[i] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_adjustment_is_that_of_r() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH") is 0.05 five times; with 0.005 first it is 0.025 there.
        for (p, expected) in [
            ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05; 5]),
            (
                [0.04, 0.005, 0.5, 0.03, 0.9],
                [0.2 / 3.0, 0.025, 0.625, 0.2 / 3.0, 0.9],
            ),
        ] {
            for (a, b) in benjamini_hochberg(&p).iter().zip(expected) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_lowers_nothing(p in prop::collection::vec(0.0..1.0f64, 0..50)) {
            let adjusted = benjamini_hochberg(&p);
            for i in 0..p.len() {
                prop_assert!(p[i] <= adjusted[i] + 1e-15 && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
