//! Which changes to believe among those of many series: Benjamini and Hochberg's false discovery rate over the changes
//! of level, a series without any counting with the clearest that it might have had.

use backsight_stats::{benjamini_hochberg, changes::Kind};

use super::story::Story;

/// The share of believed changes that may be false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FalseShare(pub f64);

/// Adjusts the changes of these stories for the tests of all series, of which `others` are those of series whose story
/// isn't kept. One series alone is taken as it is: its search has bounded its false changes already.
pub fn adjust(stories: &mut [Story], others: &[f64], share: FalseShare) {
    let mut tests: Vec<f64> = stories.iter().flat_map(Story::tests).collect();
    tests.extend_from_slice(others);
    if stories.len() + others.len() < 2 {
        return;
    }
    let mut adjusted = benjamini_hochberg(&tests).into_iter();
    for story in stories {
        let mut tests = 0;
        for told in &mut story.changes {
            if told.change.kind == Kind::Level {
                tests += 1;
                told.adjusted = adjusted.next();
                told.believed = told.adjusted.is_some_and(|q| q <= share.0);
            }
        }
        if tests == 0 {
            adjusted.next();
        }
    }
}
