//! A history for a person at a terminal: tables of a screen or two unless all is asked for, with what is left out.

use backsight_policy::{
    ChangeDirection, HistoryVersion, TargetHistory, VersionPoint, VersionSeries,
};
use std::fmt::Write as _;

use super::{HistoryTextOptions, SelectedHistory, reference_drift};
use crate::{SeriesText, chart::version_plot, escape::line as shown, list_table};

/// Versions of a table that are shown at its end.
const LAST: usize = 24;
/// And around each change.
const AROUND: usize = 2;

/// More series than this are a table.
const MOST_BLOCKS: usize = 8;

pub fn render(selected: &SelectedHistory<'_>, options: &HistoryTextOptions) -> String {
    let mut text = overview(selected);
    if selected.series.is_empty() {
        text.push_str("\nNothing has been measured.\n");
    }
    let is_shown = |series: &&&VersionSeries| {
        let is_monitored = series.metric.monitor.is_some();
        selected.all_metrics || series.metric.primary || (!is_monitored && series.has_changes())
    };
    let series: Vec<&VersionSeries> = selected.series.iter().filter(is_shown).copied().collect();
    if series.len() > MOST_BLOCKS {
        let _ = write!(
            text,
            "\n{}\n",
            summary(selected.history, &series, options.width)
        );
        text.push_str("\none in full: --metric BENCHMARK.METRIC, --benchmark NAME\n");
    } else {
        for series in &series {
            text.push('\n');
            block(&mut text, selected.history, series, options);
        }
    }
    let references = reference_drift::sentences(selected.history);
    if !references.is_empty() {
        text.push('\n');
    }
    for sentence in &references {
        wrapped(&mut text, sentence, options.columns());
    }
    let folded = match selected.series.len() - series.len() {
        0 => String::new(),
        1 => "1 secondary metric".to_owned(),
        count => format!("{count} secondary metrics"),
    };
    if !folded.is_empty() {
        let _ = writeln!(
            text,
            "\n… and {folded}, none with a change; --all-metrics shows them"
        );
    }
    let troubled: Vec<&HistoryVersion> = selected
        .history
        .versions
        .iter()
        .filter(|version| version.standing.reason().is_some() || !version.quirks.is_empty())
        .collect();
    if !troubled.is_empty() {
        text.push('\n');
        troubles(&mut text, &troubled, options);
    }
    text
}

fn overview(selected: &SelectedHistory<'_>) -> String {
    let history = selected.history;
    let versions = &history.versions;
    let name = |version: Option<&HistoryVersion>| {
        version.map_or(String::new(), |version| shown(&version.version.name))
    };
    let range = match versions.len() {
        1 => format!("1 version, {}", name(versions.first())),
        count => format!(
            "{count} versions, {} to {}",
            name(versions.first()),
            name(versions.last())
        ),
    };
    let mut text = format!(
        "{}: {range}, of {}\n",
        selected.target,
        match selected.studies.len() {
            1 => "1 study".to_owned(),
            count => format!("{count} studies"),
        }
    );
    for (count, what) in [
        (history.failed, "failed"),
        (history.unplaced, "of no known boot left out"),
    ] {
        if count > 0 {
            let trials = if count == 1 { "trial" } else { "trials" };
            let _ = writeln!(text, "{count} {trials} {what}.");
        }
    }
    text
}

/// A line a series: its latest value and its latest change.
fn summary(
    history: &TargetHistory,
    series: &[&VersionSeries],
    width: Option<u16>,
) -> comfy_table::Table {
    let mut table = list_table(
        &[
            "series",
            "versions",
            "latest",
            "",
            "changes",
            "latest change",
        ],
        width,
    );
    for series in series {
        let words = SeriesText::new(history, series);
        let latest = series.points.iter().rfind(|point| point.value.is_some());
        table.add_row([
            shown(&series.name()),
            series.points.len().to_string(),
            latest.map_or(String::new(), |point| words.value(point)),
            words.unit(),
            (series.believed().count() + series.only_named().count()).to_string(),
            shown(&latest_change(series, &words)),
        ]);
    }
    table
}

/// The latest change of a series, found or named by a bisection: `+9.5 % [+8.1, +10.9] worse at c27`; its trend; and what is
/// pending.
fn latest_change(series: &VersionSeries, words: &SeriesText<'_>) -> String {
    let found = series.believed().last().map(|change| {
        let direction = change.direction.as_str();
        (change.at, format!("{} {direction}", words.size(change)))
    });
    let named = series.only_named().last().map(|named| {
        let direction = named.direction.map_or("", ChangeDirection::as_str);
        let size = words.named_size(named);
        (named.at, format!("{size} {direction}, by bisect,"))
    });
    let latest = found.into_iter().chain(named).max_by_key(|(at, _)| *at);
    let latest = latest.map(|(at, change)| format!("{} at {}", change.trim(), words.version(at)));
    let pending = series.found.pending.as_ref().map(|pending| {
        let size = words.size(&pending.point);
        format!("pending: {size} at {}", words.version(pending.point.at))
    });
    let trend = series.found.trend.as_ref();
    let trend = trend.map(|trend| format!("a trend: {}", words.trend_size(trend)));
    let said: Vec<String> = latest.into_iter().chain(trend).chain(pending).collect();
    said.join("; ")
}

fn block(
    text: &mut String,
    history: &TargetHistory,
    series: &VersionSeries,
    options: &HistoryTextOptions,
) {
    let words = SeriesText::new(history, series);
    let _ = writeln!(
        text,
        "{}: {}; {}",
        shown(&series.name()),
        words.axis(),
        words.coverage()
    );
    let picture = version_plot(history, series, &words, options.columns());
    if !picture.is_empty() {
        let _ = write!(text, "\n{picture}\n");
    }
    for change in &series.found.changes {
        wrapped(text, &words.change(change), options.columns());
    }
    for named in &series.named {
        wrapped(text, &words.named(named), options.columns());
    }
    for note in words.notes() {
        wrapped(text, &note, options.columns());
    }
    text.push('\n');
    table(text, history, series, &words, options);
}

/// With what follows the first line indented.
fn wrapped(text: &mut String, sentence: &str, width: usize) {
    let mut line = String::new();
    for word in shown(sentence).split(' ') {
        if line.chars().count() + word.chars().count() >= width && !line.trim().is_empty() {
            let _ = writeln!(text, "{}", line.trim_end());
            line = "    ".to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn table(
    text: &mut String,
    history: &TargetHistory,
    series: &VersionSeries,
    words: &SeriesText<'_>,
    options: &HistoryTextOptions,
) {
    let unit = words.unit();
    let value = if unit.is_empty() {
        "value".to_owned()
    } else {
        format!("value, {unit}")
    };
    let layouts = series.has_layouts();
    let mut header = vec!["version", "date", &value, "n", "again", "reboot"];
    if layouts {
        header.push("relink");
    }
    header.push("");
    let mut table = list_table(&header, options.width);
    // The list's headings are capitals; a unit must not be.
    table.set_header(header.iter().map(|name| match name.split_once(',') {
        Some((name, unit)) => format!("{},{unit}", name.to_uppercase()),
        None => name.to_uppercase(),
    }));
    let kept = kept(history, series, options.all);
    let mut left_out = 0;
    for (at, version) in history.versions.iter().enumerate() {
        if !kept[at] {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            table.add_row([format!("… {left_out} more")]);
            left_out = 0;
        }
        let point = series.points.iter().find(|point| point.version == at);
        table.add_row(row(version, point, series, words, at, layouts));
    }
    let _ = writeln!(text, "{table}");
    if !options.all && kept.iter().any(|kept| !kept) {
        let _ = writeln!(text, "every version: --all, --csv, --json");
    }
}

fn row(
    version: &HistoryVersion,
    point: Option<&VersionPoint>,
    series: &VersionSeries,
    words: &SeriesText<'_>,
    at: usize,
    layouts: bool,
) -> Vec<String> {
    let date = version.version.at;
    let mut cells = vec![
        shown(&version.version.name),
        date.map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
    ];
    match point {
        Some(point) => {
            cells.push(words.value(point));
            cells.push(SeriesText::counts(point));
            cells.extend([point.again, point.reboot].map(|spread| words.spread(spread)));
            if layouts {
                cells.push(words.spread(point.relink));
            }
        }
        None => {
            let why = match version.standing.reason() {
                Some(_) => version.standing.as_str(),
                None => "not measured",
            };
            cells.push(why.to_owned());
            cells.resize(if layouts { 7 } else { 6 }, String::new());
        }
    }
    let mut remarks: Vec<String> = Vec::new();
    for change in series.found.changes.iter().filter(|change| change.at == at) {
        let mark = if change.believed { "▲" } else { "?" };
        remarks.push(format!(
            "{mark} {} {}",
            words.size(change),
            change.direction.as_str()
        ));
    }
    for named in series.named.iter().filter(|named| named.at == at) {
        remarks.push(format!("◆ {}", SeriesText::mark(named)));
    }
    if point.is_some_and(|point| point.unstable) {
        remarks.push("unstable".to_owned());
    }
    if !version.quirks.is_empty() {
        remarks.push("quirk".to_owned());
    }
    cells.push(remarks.join(", "));
    cells
}

/// Which versions are shown: the last ones, the first, and those around changes.
fn kept(history: &TargetHistory, series: &VersionSeries, all: bool) -> Vec<bool> {
    let count = history.versions.len();
    let mut kept = vec![all || count <= LAST + AROUND; count];
    let mut keep = |from: usize, to: usize| {
        for kept in kept.iter_mut().take(to).skip(from) {
            *kept = true;
        }
    };
    keep(0, 1);
    keep(count.saturating_sub(LAST), count);
    for change in &series.found.changes {
        keep(change.at.saturating_sub(AROUND), change.at + AROUND);
    }
    for named in &series.named {
        keep(named.at.saturating_sub(AROUND), named.at + AROUND);
    }
    kept
}

fn troubles(text: &mut String, versions: &[&HistoryVersion], options: &HistoryTextOptions) {
    let most = if options.all { usize::MAX } else { LAST };
    for version in versions.iter().take(most) {
        let name = shown(&version.version.name);
        if let Some(why) = version.standing.reason() {
            let first = why.lines().next().unwrap_or_default();
            wrapped(
                text,
                &format!("{name} {}: {first}", version.standing.as_str()),
                options.columns(),
            );
        }
        for quirk in &version.quirks {
            wrapped(text, &format!("{name} quirk: {quirk}"), options.columns());
        }
    }
    if versions.len() > most {
        let _ = writeln!(
            text,
            "… and {} more versions (--all)",
            versions.len() - most
        );
    }
}
