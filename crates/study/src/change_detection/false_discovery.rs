//! Which changes to believe among those of many series.

use backsight_policy::adjusted_tests;
use backsight_report::change_points::SeriesChanges;
use backsight_stats::changes::ChangeKind;

/// The share of believed changes that may be false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FalseDiscoveryRate(pub f64);

/// Adjusts the changes of these series for the tests of all series, of which `others` are those of series whose one
/// isn't kept. One series alone is taken as it is: its search has bounded its false changes already.
pub fn adjust_for_all_series(
    series: &mut [SeriesChanges],
    others: &[f64],
    share: FalseDiscoveryRate,
) {
    let tests: Vec<Vec<f64>> = series.iter().map(SeriesChanges::tests).collect();
    let Some(adjusted) = adjusted_tests(&tests, others) else {
        return;
    };
    for (one, adjusted) in series.iter_mut().zip(adjusted) {
        let levels = one.changes.iter_mut();
        let levels = levels.filter(|change| change.change.kind == ChangeKind::Level);
        for (change, adjusted) in levels.zip(adjusted) {
            change.adjusted = Some(adjusted);
            change.believed = adjusted <= share.0;
        }
    }
}
