//! The part of a report that is a study of overhead's own.

use backsight_report::{
    MoreRounds,
    overhead::{OverheadLine, OverheadStudy},
};

/// Most rows on a page.
const MOST_ROWS: usize = 2000;

/// The part of a report that is a study of overhead's own.
pub(crate) struct OverheadSection {
    pub legend: String,
    pub secondary_legend: String,
    pub lines: Vec<OverheadLine>,
    /// Secondary metrics on which no cost is real.
    pub secondary: Vec<OverheadLine>,
    pub left_out: usize,
    pub more_rounds: Option<MoreRounds>,
}

impl OverheadSection {
    pub fn new(study: &OverheadStudy) -> Self {
        let (mut lines, mut secondary) = (study.lines(false), study.lines(true));
        let all = lines.len() + secondary.len();
        lines.truncate(MOST_ROWS);
        secondary.truncate(MOST_ROWS - lines.len());
        Self {
            legend: study.legend(),
            secondary_legend: study.secondary_legend(),
            left_out: all - lines.len() - secondary.len(),
            lines,
            secondary,
            more_rounds: study.more_rounds(),
        }
    }
}
