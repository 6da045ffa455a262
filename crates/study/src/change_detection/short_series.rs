//! Series that are too short to show a change.

use backsight_report::{change_points::SeriesChanges, escape};
use backsight_stats::changes::MIN_POINTS;

/// Series with fewer versions than can show a change.
#[derive(Debug, Default)]
pub struct ShortSeries {
    count: usize,
    /// The first of them, with how many versions it has.
    first: Option<(String, usize)>,
}

impl ShortSeries {
    /// Counts a series, if it is one of them.
    pub fn add(&mut self, series: &SeriesChanges) {
        if series.is_too_short() {
            self.count += 1;
            self.first
                .get_or_insert_with(|| (series.name(), series.versions));
        }
    }

    /// A sentence about them, among so many series; none if there is no such series and some other one.
    pub fn sentence(&self, series: usize) -> Option<String> {
        if series == 0 {
            return Some("can't tell: there is no series".to_owned());
        }
        let (name, versions) = self.first.as_ref()?;
        Some(format!(
            "can't tell: {} of {series} series {} fewer than the {MIN_POINTS} versions that can show a change (`{}` has {versions})",
            self.count,
            if self.count == 1 { "has" } else { "have" },
            escape::line(name),
        ))
    }
}
