//! Change points for a pull request or a mail.

use backsight_model::significant;
use std::fmt::Write as _;

use super::{ChangePoints, SeriesChanges, text};
use crate::markdown::escaped as safe;

pub fn render(found: &ChangePoints<'_>) -> String {
    let mut page = format!("{}\n", safe(&text::summary(found)));
    let news: Vec<&SeriesChanges> = found
        .series_changes
        .iter()
        .filter(|s| s.has_findings())
        .collect();
    if news.iter().any(|series| !series.changes.is_empty()) {
        page.push_str("\n| series | versions | before | after | size | | p |\n|---|---|--:|--:|--:|---|--:|\n");
    }
    for series in &news {
        for told in series.believed() {
            let unit = series.unit.as_deref().unwrap_or_default();
            let [before, after] = text::levels(&told.change);
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} {} | {} | {} | {} |",
                safe(&series.name()),
                safe(&text::place(&told.between)),
                before,
                after,
                safe(unit),
                safe(&text::size(told, series)),
                told.direction(series.better).as_str(),
                backsight_model::numbers::p_value(told.adjusted.unwrap_or(told.change.p))
            );
        }
    }
    if let Some(legend) = text::legend(found) {
        let _ = writeln!(page, "\n{}", safe(&legend));
    }
    for series in &news {
        for (epoch, between) in &series.epochs {
            let _ = writeln!(
                page,
                "\nThe noise of {} changed {}: ±{} → ±{}. It is no change of level.",
                safe(&series.name()),
                safe(&text::place(between)),
                significant(epoch.before, 3),
                significant(epoch.after, 3)
            );
        }
    }
    for series in &news {
        let said = [text::trend(series), text::pending(series)];
        for said in said.into_iter().flatten() {
            let _ = writeln!(page, "\n{}: {}", safe(&series.name()), safe(&said));
        }
    }
    if let [only] = found.series_changes {
        page.push('\n');
        for note in text::notes(only) {
            let _ = writeln!(page, "- {}", safe(&note));
        }
    }
    page
}
