//! Change points for a person at a terminal.

use backsight_model::{
    counted,
    numbers::{self, Rounding},
    significant,
};
use backsight_stats::changes::{ChangeKind, DetectedChange, MAX_DOUBTED_P};
use std::fmt::Write as _;

use super::{ChangePoints, ChangeRange, FoundChange, SeriesChanges, SeriesVersion};
use crate::{escape, list_table};

/// More series than this are a table.
const MOST_BLOCKS: usize = 8;

pub fn render(found: &ChangePoints<'_>, width: Option<u16>) -> String {
    let mut text = findings(found, width);
    text.extend(legend(found).map(|legend| format!("\n{legend}\n")));
    text
}

/// What the numbers of the changes are; nothing where there is none.
pub fn legend(found: &ChangePoints<'_>) -> Option<String> {
    let any = found
        .series_changes
        .iter()
        .any(|series| !series.changes.is_empty());
    any.then(|| {
        format!(
            "Sizes are after − before, with their {} % interval.",
            found.confidence
        )
    })
}

fn findings(found: &ChangePoints<'_>, width: Option<u16>) -> String {
    let mut text = String::new();
    let news: Vec<&SeriesChanges> = found
        .series_changes
        .iter()
        .filter(|s| s.has_findings())
        .collect();
    if let Some(column) = &found.guessed_label {
        let _ = writeln!(
            text,
            "Versions are named by the column `{}`.",
            escape::line(column)
        );
    }
    if found.series == 1 {
        if let Some(series) = found.series_changes.first() {
            block(&mut text, series);
        }
        return text;
    }
    let _ = writeln!(text, "{}", summary(found));
    if news.len() <= MOST_BLOCKS {
        for series in news {
            text.push('\n');
            block(&mut text, series);
        }
        return text;
    }
    tables(&mut text, &news, width);
    text
}

/// How many series changed, and how many changes aren't believed among so many.
pub fn summary(found: &ChangePoints<'_>) -> String {
    let all = found.series_changes;
    let changed = all.iter().filter(|s| s.believed().next().is_some());
    let believed: usize = all.iter().map(|s| s.believed().count()).sum();
    let doubted = all.iter().map(|s| s.changes.len()).sum::<usize>() - believed;
    let epochs: usize = all.iter().map(|s| s.epochs.len()).sum();
    let mut text = format!(
        "{} series, {}: {} changed ({}).",
        found.series,
        escape::line(&found.source),
        changed.count(),
        counted(believed, "change")
    );
    if epochs > 0 {
        let _ = write!(text, " {} of the noise.", counted(epochs, "change"));
    }
    match found.false_percent {
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

fn block(text: &mut String, series: &SeriesChanges) {
    let mut head = format!(
        "{}: {}",
        escape::line(&series.name()),
        counted(series.versions, "version")
    );
    if series.samples != series.versions {
        let _ = write!(head, " ({})", counted(series.samples, "sample"));
    }
    if series.missing > 0 {
        let _ = write!(head, ", {} missing", series.missing);
    }
    let _ = writeln!(text, "{head}");
    if series.versions == 0 {
        let _ = writeln!(text, "  Nothing was measured.");
        return;
    }
    let _ = writeln!(text, "  {}", series.sparks);
    for told in &series.changes {
        let _ = writeln!(text, "  {}", sentence(series, told));
    }
    if series.changes.is_empty() {
        let _ = writeln!(text, "  No change of level was found.");
    }
    for said in [trend(series), pending(series)].into_iter().flatten() {
        let _ = writeln!(text, "  {said}");
    }
    for epoch in epochs(series) {
        let _ = writeln!(text, "  {epoch}");
    }
    for note in notes(series) {
        let _ = writeln!(text, "  {note}");
    }
}

/// Changes of the noise, as sentences.
pub fn epochs(series: &SeriesChanges) -> Vec<String> {
    let epochs = series.epochs.iter().map(|(epoch, between)| {
        format!(
            "noise: {}  ±{} → ±{}{}: another machine, compiler or neighbour? It is no change of level.",
            place(between),
            significant(epoch.before, 3),
            significant(epoch.after, 3),
            unit(series),
        )
    });
    epochs.collect()
}

/// The newest versions that lie where the level hasn't been, as a sentence.
pub fn pending(series: &SeriesChanges) -> Option<String> {
    let pending = series.pending.as_ref()?;
    let change = &pending.found.change;
    let [before, after] = levels(change);
    Some(format!(
        "pending, since `{}` ({}): {} → {}{}  {}  {}. That is no level yet: {} like it would tell.",
        escape::line(&pending.found.between.at.label),
        counted(pending.versions, "version"),
        before,
        after,
        unit(series),
        size(&pending.found, series),
        pending.found.direction(series.better).as_str(),
        counted(pending.to_come, "more version"),
    ))
}

/// How the level moves steadily all along, as a sentence.
pub fn trend(series: &SeriesChanges) -> Option<String> {
    let trend = series.trend?;
    let rounding = Rounding::from_interval(trend.size, Some(trend.size_interval));
    let size = format!(
        "{} {}",
        rounding.difference(trend.size),
        rounding.differences(trend.size_interval),
    );
    let unit = unit(series);
    let [from, to] = numbers::levels(trend.from, trend.to, trend.size_interval);
    Some(match series.changes.is_empty() {
        true => format!(
            "trend: {from} → {to}{unit} from the first version to the last, {size}. It is no change of level."
        ),
        false => format!(
            "trend beside the changes: {size}{unit} from the first version to the last, without their steps."
        ),
    })
}

/// What limits the findings of a series.
pub fn notes(series: &SeriesChanges) -> Vec<String> {
    let mut notes = Vec::new();
    let unit = unit(series);
    if series.of_sessions {
        notes.push(
            "Each session, or boot, is one version here: trials of one session are no repeats of each other."
                .to_owned(),
        );
    }
    if let Some((1, 1)) = series.sessions {
        notes.push(
            "1 session a version: how sessions differ shows only between versions.".to_owned(),
        );
    }
    if series.is_too_short() {
        notes.push("Fewer than 8 versions can't show a change.".to_owned());
        return notes;
    }
    if let Some(period) = series.period {
        notes.push(format!(
            "A period of {period} versions was taken out first."
        ));
    }
    if series.kept.abs() >= 0.1 {
        notes.push(format!(
            "Each version keeps {} of the deviation of the one before; that was reckoned with.",
            significant(series.kept, 2)
        ));
    }
    let doubted = series.doubted.as_ref();
    if let Some((place, p)) = doubted.filter(|(_, p)| *p <= MAX_DOUBTED_P) {
        notes.push(format!(
            "The clearest change that wasn't believed: at `{}`, as clear by chance with {}.",
            escape::line(&place.label),
            numbers::p_equals(*p)
        ));
    }
    let share = |least: f64| match 100.0 * least / series.level.abs() {
        percent if percent.is_finite() => format!(" ({} %)", significant(percent, 2)),
        _ => String::new(),
    };
    match series.least_found {
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

pub fn sentence(series: &SeriesChanges, told: &FoundChange) -> String {
    let change = &told.change;
    let [before, after] = levels(change);
    let mut text = format!(
        "{}  {before} → {after}{}  {}  {}",
        place(&told.between),
        unit(series),
        size(told, series),
        told.direction(series.better).as_str()
    );
    if change.kind == ChangeKind::Trend {
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
pub fn place(between: &ChangeRange) -> String {
    let label = |place: &SeriesVersion| escape::line(&place.label);
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
pub fn size(told: &FoundChange, series: &SeriesChanges) -> String {
    match told.percent() {
        Some((percent, interval)) => numbers::percent_in(percent, Some(interval)),
        None => {
            let (size, interval) = (told.change.size, told.change.size_interval);
            let rounding = Rounding::from_interval(size, Some(interval));
            let (size, interval) = (rounding.difference(size), rounding.differences(interval));
            format!("{size}{} {interval}", unit(series))
        }
    }
}

/// The level before and after.
pub fn levels(change: &DetectedChange) -> [String; 2] {
    numbers::levels(change.before, change.after, change.size_interval)
}

fn unit(series: &SeriesChanges) -> String {
    series
        .unit
        .as_ref()
        .map_or(String::new(), |unit| format!(" {unit}"))
}

fn tables(text: &mut String, news: &[&SeriesChanges], width: Option<u16>) {
    let mut changes = list_table(
        &["series", "versions", "before", "after", "size", "", "p"],
        width,
    );
    for series in news {
        for told in series.believed() {
            let [before, after] = levels(&told.change);
            changes.add_row([
                escape::line(&series.name()),
                place(&told.between),
                before,
                format!("{after}{}", unit(series)),
                size(told, series),
                told.direction(series.better).as_str().to_owned(),
                numbers::p_value(told.adjusted.unwrap_or(told.change.p)),
            ]);
        }
    }
    if changes.row_count() > 0 {
        let _ = write!(text, "\n{changes}\n");
    }
    let said = news.iter().flat_map(|series| {
        let said = [trend(series), pending(series)].into_iter().flatten();
        said.map(|said| format!("\n{}: {said}", escape::line(&series.name())))
    });
    let said: String = said.collect();
    if !said.is_empty() {
        text.push_str(&said);
        text.push('\n');
    }
    let mut epochs = list_table(&["series", "change of the noise", "before", "after"], width);
    for series in news {
        for (epoch, between) in &series.epochs {
            epochs.add_row([
                escape::line(&series.name()),
                place(between),
                format!("±{}", significant(epoch.before, 3)),
                format!("±{}{}", significant(epoch.after, 3), unit(series)),
            ]);
        }
    }
    if epochs.row_count() > 0 {
        let _ = write!(text, "\n{epochs}\n");
    }
}
