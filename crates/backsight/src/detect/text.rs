//! What was found, for a person at a terminal.

use backsight_model::{
    counted,
    numbers::{self, Rounding},
    significant,
};
use backsight_stats::changes::{Kind, MOST_DOUBTED_P};
use std::fmt::Write as _;

use super::story::{Between, Story, Told};
use crate::list;

/// What was searched, and what is told of it.
pub struct Report<'a> {
    /// What was searched: a file, standard input, studies.
    pub source: String,
    /// The column that was taken for the versions' names.
    pub guessed_label: Option<String>,
    /// Stories that are told: all, or those with news.
    pub stories: &'a [Story],
    /// Series in all.
    pub series: usize,
    /// The false discovery rate that was kept over several series, in percent; none if a part was searched.
    pub false_percent: Option<f64>,
    /// Of the intervals, in percent.
    pub confidence: f64,
}

/// More series than this are a table.
const MOST_BLOCKS: usize = 8;

pub fn render(report: &Report<'_>) -> String {
    let mut text = findings(report);
    text.extend(legend(report).map(|legend| format!("\n{legend}\n")));
    text
}

/// What the numbers of the changes are; nothing where there is none.
pub fn legend(report: &Report<'_>) -> Option<String> {
    let any = report.stories.iter().any(|story| !story.changes.is_empty());
    any.then(|| {
        format!(
            "Sizes are after − before, with their {} % interval.",
            report.confidence
        )
    })
}

fn findings(report: &Report<'_>) -> String {
    let mut text = String::new();
    let news: Vec<&Story> = report.stories.iter().filter(|s| s.has_news()).collect();
    if let Some(column) = &report.guessed_label {
        let _ = writeln!(
            text,
            "Versions are named by the column `{}`.",
            shown(column)
        );
    }
    if report.series == 1 {
        if let Some(story) = report.stories.first() {
            block(&mut text, story);
        }
        return text;
    }
    let _ = writeln!(text, "{}", summary(report));
    if news.len() <= MOST_BLOCKS {
        for story in news {
            text.push('\n');
            block(&mut text, story);
        }
        return text;
    }
    tables(&mut text, &news);
    text
}

/// How many series changed, and how many changes aren't believed among so many.
pub fn summary(report: &Report<'_>) -> String {
    let stories = report.stories;
    let changed = stories.iter().filter(|s| s.believed().next().is_some());
    let believed: usize = stories.iter().map(|s| s.believed().count()).sum();
    let doubted = stories.iter().map(|s| s.changes.len()).sum::<usize>() - believed;
    let epochs: usize = stories.iter().map(|s| s.epochs.len()).sum();
    let mut text = format!(
        "{} series, {}: {} changed ({}).",
        report.series,
        shown(&report.source),
        changed.count(),
        counted(believed, "change")
    );
    if epochs > 0 {
        let _ = write!(text, " {} of the noise.", counted(epochs, "change"));
    }
    match report.false_percent {
        Some(percent) if doubted > 0 => {
            let _ = write!(
                text,
                " {} not believed among so many: at most {percent} % of what is believed is to be false.",
                if doubted == 1 { "1 more is".to_owned() } else { format!("{doubted} more are") }
            );
        }
        Some(_) => {}
        None => text.push_str(
            " This is a part: what is believed among all is known when the parts are joined (--join).",
        ),
    }
    text
}

fn block(text: &mut String, story: &Story) {
    let mut head = format!(
        "{}: {}",
        shown(&story.name()),
        counted(story.versions, "version")
    );
    if story.samples != story.versions {
        let _ = write!(head, " ({})", counted(story.samples, "sample"));
    }
    if story.missing > 0 {
        let _ = write!(head, ", {} missing", story.missing);
    }
    let _ = writeln!(text, "{head}");
    if story.versions == 0 {
        let _ = writeln!(text, "  Nothing was measured.");
        return;
    }
    let _ = writeln!(text, "  {}", story.sparks);
    for told in &story.changes {
        let _ = writeln!(text, "  {}", sentence(story, told));
    }
    if story.changes.is_empty() {
        let _ = writeln!(text, "  No change of level was found.");
    }
    for said in [trend(story), pending(story)].into_iter().flatten() {
        let _ = writeln!(text, "  {said}");
    }
    for epoch in epochs(story) {
        let _ = writeln!(text, "  {epoch}");
    }
    for note in notes(story) {
        let _ = writeln!(text, "  {note}");
    }
}

/// Changes of the noise, as sentences.
pub fn epochs(story: &Story) -> Vec<String> {
    let epochs = story.epochs.iter().map(|(epoch, between)| {
        format!(
            "noise: {}  ±{} → ±{}{}: another machine, compiler or neighbour? It is no change of level.",
            place(between),
            significant(epoch.before, 3),
            significant(epoch.after, 3),
            unit(story),
        )
    });
    epochs.collect()
}

/// The newest versions that lie where the level hasn't been, as a sentence.
pub fn pending(story: &Story) -> Option<String> {
    let pending = story.pending.as_ref()?;
    let change = &pending.told.change;
    Some(format!(
        "pending, since `{}` ({}): {} → {}{}  {}  {}. That is no level yet: {} like it would tell.",
        shown(&pending.told.between.at.label),
        counted(pending.versions, "version"),
        significant(change.before, 4),
        significant(change.after, 4),
        unit(story),
        size(&pending.told, story),
        pending.told.direction(story.better).as_str(),
        counted(pending.to_come, "more version"),
    ))
}

/// How the level moves steadily all along, as a sentence.
pub fn trend(story: &Story) -> Option<String> {
    let trend = story.trend?;
    Some(format!(
        "trend: {} → {}{} from the first version to the last, {} [{}, {}]. It is no change of level.",
        significant(trend.from, 4),
        significant(trend.to, 4),
        unit(story),
        numbers::signed(&significant(trend.size, 3)),
        numbers::signed(&significant(trend.size_interval.low, 3)),
        numbers::signed(&significant(trend.size_interval.high, 3)),
    ))
}

/// What limits the findings of a series.
pub fn notes(story: &Story) -> Vec<String> {
    let mut notes = Vec::new();
    let unit = unit(story);
    if story.of_sessions {
        notes.push(
            "Each session, or boot, is one version here: trials of one session are no repeats of each other."
                .to_owned(),
        );
    }
    if let Some((1, 1)) = story.sessions {
        notes.push(
            "1 session a version: how sessions differ shows only between versions.".to_owned(),
        );
    }
    if story.is_too_short() {
        notes.push("Fewer than 8 versions can't show a change.".to_owned());
        return notes;
    }
    if let Some(period) = story.period {
        notes.push(format!(
            "A period of {period} versions was taken out first."
        ));
    }
    if story.kept.abs() >= 0.1 {
        notes.push(format!(
            "Each version keeps {} of the deviation of the one before; that was reckoned with.",
            significant(story.kept, 2)
        ));
    }
    let doubted = story.doubted.as_ref();
    if let Some((place, p)) = doubted.filter(|(_, p)| *p <= MOST_DOUBTED_P) {
        notes.push(format!(
            "The clearest change that wasn't believed: at `{}`, as clear by chance with {}.",
            shown(&place.label),
            numbers::p_equals(*p)
        ));
    }
    let share = |least: f64| match 100.0 * least / story.level.abs() {
        percent if percent.is_finite() => format!(" ({} %)", significant(percent, 2)),
        _ => String::new(),
    };
    match story.least_found {
        Some(least) if least > 0.0 => notes.push(format!(
            "In the latest part a lasting change of {}{unit}{} would be found nine times out of ten.",
            significant(least, 2),
            share(least)
        )),
        Some(_) => {}
        None => notes.push("The latest part is too short to show another change.".to_owned()),
    }
    notes
}

pub fn sentence(story: &Story, told: &Told) -> String {
    let change = &told.change;
    let mut text = format!(
        "{}  {} → {}{}  {}  {}",
        place(&told.between),
        significant(change.before, 4),
        significant(change.after, 4),
        unit(story),
        size(told, story),
        told.direction(story.better).as_str()
    );
    if change.kind == Kind::Trend {
        text.push_str(" (the level never rests; it moves differently from here on)");
    }
    let _ = write!(
        text,
        ", probability {}",
        numbers::probability(change.probability)
    );
    if !told.believed {
        let q = told.adjusted.map_or(String::new(), |q| {
            format!(" (adjusted {})", numbers::p_equals(q))
        });
        let _ = write!(text, "; NOT believed among so many series{q}");
    }
    text
}

/// `after 'a', up to 'c' (most probably 'b')`; `at 'b'` where there is no doubt.
pub fn place(between: &Between) -> String {
    let label = |place: &super::story::Place| shown(&place.label);
    let at = label(&between.at);
    match &between.after {
        Some(after) if after.index + 1 < between.until.index => format!(
            "after `{}`, up to `{}` (most probably at `{at}`)",
            label(after),
            label(&between.until)
        ),
        Some(after) => format!("at `{at}` (after `{}`)", label(after)),
        None => format!(
            "up to `{}` (most probably at `{at}`)",
            label(&between.until)
        ),
    }
}

/// `+12.3 % [+11.0, +13.6]`, in the unit where the level before was zero.
pub fn size(told: &Told, story: &Story) -> String {
    match told.percent() {
        Some((percent, interval)) => numbers::percent_in(percent, Some(interval)),
        None => {
            let (size, interval) = (told.change.size, told.change.size_interval);
            let rounding = Rounding::of(size, Some(interval));
            let (size, interval) = (rounding.difference(size), rounding.differences(interval));
            format!("{size}{} {interval}", unit(story))
        }
    }
}

fn unit(story: &Story) -> String {
    story
        .unit
        .as_ref()
        .map_or(String::new(), |unit| format!(" {unit}"))
}

fn tables(text: &mut String, news: &[&Story]) {
    let mut changes = list::table(&["series", "versions", "before", "after", "size", "", "p"]);
    for story in news {
        for told in story.believed() {
            changes.add_row([
                shown(&story.name()),
                place(&told.between),
                significant(told.change.before, 4),
                format!("{}{}", significant(told.change.after, 4), unit(story)),
                size(told, story),
                told.direction(story.better).as_str().to_owned(),
                numbers::p_value(told.adjusted.unwrap_or(told.change.p)),
            ]);
        }
    }
    if changes.row_count() > 0 {
        let _ = write!(text, "\n{changes}\n");
    }
    let said = news.iter().flat_map(|story| {
        let said = [trend(story), pending(story)].into_iter().flatten();
        said.map(|said| format!("\n{}: {said}", shown(&story.name())))
    });
    let said: String = said.collect();
    if !said.is_empty() {
        text.push_str(&said);
        text.push('\n');
    }
    let mut epochs = list::table(&["series", "change of the noise", "before", "after"]);
    for story in news {
        for (epoch, between) in &story.epochs {
            epochs.add_row([
                shown(&story.name()),
                place(between),
                format!("±{}", significant(epoch.before, 3)),
                format!("±{}{}", significant(epoch.after, 3), unit(story)),
            ]);
        }
    }
    if epochs.row_count() > 0 {
        let _ = write!(text, "\n{epochs}\n");
    }
}

/// A name of others on one line.
pub fn shown(name: &str) -> String {
    backsight_report::escape::line(name)
}
