//! What was found, for a pull request or a mail.

use backsight_model::significant;
use std::fmt::Write as _;

use backsight_report::markdown::escaped as safe;

use super::{
    story::Story,
    text::{self, Report},
};

pub fn render(report: &Report<'_>) -> String {
    let mut page = format!("{}\n", safe(&text::summary(report)));
    let news: Vec<&Story> = report.stories.iter().filter(|s| s.has_news()).collect();
    if news.iter().any(|story| !story.changes.is_empty()) {
        page.push_str("\n| series | versions | before | after | size | | p |\n|---|---|--:|--:|--:|---|--:|\n");
    }
    for story in &news {
        for told in story.believed() {
            let unit = story.unit.as_deref().unwrap_or_default();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} {} | {} | {} | {} |",
                safe(&story.name()),
                safe(&text::place(&told.between)),
                significant(told.change.before, 4),
                significant(told.change.after, 4),
                safe(unit),
                safe(&text::size(told, story)),
                told.direction(story.better).as_str(),
                backsight_model::numbers::p_value(told.adjusted.unwrap_or(told.change.p))
            );
        }
    }
    if let Some(legend) = text::legend(report) {
        let _ = writeln!(page, "\n{}", safe(&legend));
    }
    for story in &news {
        for (epoch, between) in &story.epochs {
            let _ = writeln!(
                page,
                "\nThe noise of {} changed {}: ±{} → ±{}. It is no change of level.",
                safe(&story.name()),
                safe(&text::place(between)),
                significant(epoch.before, 3),
                significant(epoch.after, 3)
            );
        }
    }
    for story in &news {
        let said = [text::trend(story), text::pending(story)];
        for said in said.into_iter().flatten() {
            let _ = writeln!(page, "\n{}: {}", safe(&story.name()), safe(&said));
        }
    }
    if let [only] = report.stories {
        page.push('\n');
        for note in text::notes(only) {
            let _ = writeln!(page, "- {}", safe(&note));
        }
    }
    page
}
