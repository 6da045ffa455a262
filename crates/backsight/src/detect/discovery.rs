//! Which changes to believe among those of many series.

use backsight_policy::adjusted_tests;
use backsight_stats::changes::Kind;

use super::story::Story;

/// The share of believed changes that may be false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FalseShare(pub f64);

/// Adjusts the changes of these stories for the tests of all series, of which `others` are those of series whose story
/// isn't kept. One series alone is taken as it is: its search has bounded its false changes already.
pub fn adjust(stories: &mut [Story], others: &[f64], share: FalseShare) {
    let tests: Vec<Vec<f64>> = stories.iter().map(Story::tests).collect();
    let Some(adjusted) = adjusted_tests(&tests, others) else {
        return;
    };
    for (story, adjusted) in stories.iter_mut().zip(adjusted) {
        let levels = story.changes.iter_mut();
        let levels = levels.filter(|told| told.change.kind == Kind::Level);
        for (told, adjusted) in levels.zip(adjusted) {
            told.adjusted = Some(adjusted);
            told.believed = adjusted <= share.0;
        }
    }
}
