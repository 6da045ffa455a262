//! The tables of a comparison: the fields of each column, without layout. The terminal and the pull request draw the same
//! ones.

use backsight_model::{Better, MetricFamily, counted, numbers as shown};
use backsight_policy::{
    BaselineRelation, Comparison, ComparisonRow, DifferenceCall, MeasuredEntry, MissingReason,
    RatioMean, RowEntry,
};
use backsight_stats::{Undefined, percent_change};
use indexmap::IndexMap;

use super::{
    numbers::{self, RowScale},
    statistics::{self, SideStatistic},
};
use crate::numbers::direction_arrow;
use crate::{Field, Line, Table, Tone, field, left, right};

fn toned(text: impl Into<String>, tone: Tone) -> Field {
    field(text).with_tone(tone)
}

/// Rows in which a side has something, those of one benchmark together, with what a table needs to say where each is:
/// the benchmark where it is a new one, the rest of the cell where that is.
fn places(comparison: &Comparison) -> Vec<(Option<String>, String, &ComparisonRow)> {
    let mut groups: IndexMap<String, Vec<&ComparisonRow>> = IndexMap::new();
    for row in &comparison.rows {
        if row.entries.iter().any(|entry| entry.measured().is_some()) {
            groups.entry(group_heading(row)).or_default().push(row);
        }
    }
    let mut places = Vec::new();
    for (heading, rows) in groups {
        let mut heading = Some(heading);
        let mut last = None;
        for row in rows {
            let label = label(row);
            let shown = if last.as_ref() == Some(&label) {
                String::new()
            } else {
                label.clone()
            };
            last = Some(label);
            places.push((heading.take(), shown, row));
        }
    }
    places
}

/// What stands above the rows of a benchmark, and above those of its monitors.
pub fn group_heading(row: &ComparisonRow) -> String {
    let benchmark = &row.cell.benchmark;
    match row.family() {
        MetricFamily::Primary | MetricFamily::Secondary => benchmark.to_string(),
        MetricFamily::Monitored => format!("{benchmark}: monitors"),
    }
}

/// A cell without its benchmark.
fn label(row: &ComparisonRow) -> String {
    let text = row.cell.to_string();
    let rest = text
        .strip_prefix(row.cell.benchmark.as_str())
        .unwrap_or(&text);
    rest.trim_start().to_owned()
}

/// `throughput Gbit/s ↑`.
fn metric(row: &ComparisonRow, scale: &RowScale) -> String {
    let arrow = direction_arrow(row.better);
    format!("{}{} {arrow}", row.metric, scale.unit_after())
}

fn entry(entry: &RowEntry, scale: &RowScale) -> Field {
    match entry {
        RowEntry::Measured(measured) => field(numbers::mean(measured, scale)),
        RowEntry::Missing(why) => toned(why.to_string(), Tone::Faint),
    }
}

/// The difference in the row's unit and in percent, and its word.
fn relation(row: &ComparisonRow, side: usize, scale: &RowScale) -> [Field; 3] {
    let without = |word: &str| [field(""), field(""), toned(word, Tone::Faint)];
    let Some(measured) = row.entries[side].measured() else {
        return without("");
    };
    match &measured.against {
        None if side == 0 => without(""),
        None => without("no baseline"),
        Some(BaselineRelation::NotComparable(why)) => without(&format!("not comparable: {why}")),
        Some(BaselineRelation::Compared(difference)) => [
            field(numbers::absolute(difference, scale)),
            field(numbers::relative(difference, scale)),
            toned(difference.call.to_string(), tone(difference.call)),
        ],
    }
}

fn tone(call: DifferenceCall) -> Tone {
    match call {
        DifferenceCall::Better => Tone::Good,
        DifferenceCall::Worse => Tone::Bad,
        DifferenceCall::Changed => Tone::Changed,
        DifferenceCall::NoChange { .. } => Tone::Plain,
        DifferenceCall::CannotTell(_) => Tone::Faint,
    }
}

/// One set by itself.
pub fn one_side(comparison: &Comparison, digits: Option<usize>) -> Table {
    let mut table = Table::new(vec![
        left(""),
        left("metric"),
        right("mean"),
        right("least"),
        right("most"),
    ]);
    for (benchmark, label, row) in places(comparison) {
        table.lines.extend(benchmark.map(Line::Group));
        let scale = RowScale::new(row, digits);
        let extremes = row.entries[0]
            .measured()
            .map(|m| [m.of_samples.min, m.of_samples.max]);
        let [least, most] =
            extremes.map_or([String::new(), String::new()], |e| e.map(|v| scale.show(v)));
        table.lines.push(Line::Fields(vec![
            field(label),
            field(metric(row, &scale)),
            entry(&row.entries[0], &scale),
            field(least),
            field(most),
        ]));
    }
    table
}

/// Two sides in columns beside each other.
pub fn two_sides(comparison: &Comparison, digits: Option<usize>) -> Table {
    let name = |side: usize| right(comparison.sides[side].name.clone());
    let columns = vec![
        left(""),
        left("metric"),
        name(0),
        name(1),
        right("difference"),
        right("in percent"),
        left("verdict"),
    ];
    let mut table = Table::new(columns);
    for (benchmark, label, row) in places(comparison) {
        table.lines.extend(benchmark.map(Line::Group));
        let scale = RowScale::new(row, digits);
        let mut fields = vec![field(label), field(metric(row, &scale))];
        fields.extend(row.entries.iter().map(|side| entry(side, &scale)));
        fields.extend(relation(row, 1, &scale));
        table.lines.push(Line::Fields(fields));
    }
    table
}

/// Any number of sides below each other, under a heading for each cell.
pub fn stacked(comparison: &Comparison, digits: Option<usize>) -> Table {
    let columns = vec![
        left("metric"),
        left("side"),
        right("mean"),
        right("difference"),
        right("in percent"),
        left("verdict"),
    ];
    let mut table = Table::new(columns);
    let mut last = None;
    for (_, _, row) in places(comparison) {
        let cell = row.cell.to_string();
        if last.as_ref() != Some(&cell) {
            table.lines.push(Line::Group(cell.clone()));
            last = Some(cell);
        }
        let scale = RowScale::new(row, digits);
        for (number, (side, name)) in row.entries.iter().zip(&comparison.sides).enumerate() {
            let first = if number == 0 {
                metric(row, &scale)
            } else {
                String::new()
            };
            let mut fields = vec![field(first), field(name.name.clone()), entry(side, &scale)];
            fields.extend(relation(row, number, &scale));
            table.lines.push(Line::Fields(fields));
        }
    }
    table
}

/// Rows that no side has anything in, as `cell metric: why`; without what trials that went well print now and then alone.
pub fn empty_rows(comparison: &Comparison) -> Vec<String> {
    let empty = comparison
        .rows
        .iter()
        .filter(|row| row.family() != MetricFamily::Monitored)
        .filter(|row| row.entries.iter().all(|e| e.measured().is_none()))
        .filter(|row| {
            let optional = RowEntry::Missing(MissingReason::NoSample);
            row.entries.iter().any(|entry| *entry != optional)
        });
    empty
        .map(|row| {
            let mut reasons: Vec<String> = row
                .entries
                .iter()
                .filter_map(|entry| match entry {
                    RowEntry::Missing(why) => Some(why.to_string()),
                    RowEntry::Measured(_) => None,
                })
                .collect();
            reasons.dedup();
            format!("{} {}: {}", row.cell, row.metric, reasons.join("; "))
        })
        .collect()
}

/// New over base for each side but the first, and their geometric means.
pub fn ratios(comparison: &Comparison, digits: Option<usize>) -> Table {
    let others = comparison
        .sides
        .iter()
        .skip(1)
        .map(|side| right(side.name.clone()));
    let mut table = Table::new(
        [left(""), left("metric")]
            .into_iter()
            .chain(others)
            .collect(),
    );
    for (benchmark, label, row) in places(comparison) {
        table.lines.extend(benchmark.map(Line::Group));
        let mut fields = vec![
            field(label),
            field(metric(row, &RowScale::new(row, digits))),
        ];
        fields.extend(row.entries.iter().skip(1).map(ratio));
        table.lines.push(Line::Fields(fields));
    }
    table.lines.push(Line::Group("geometric mean".to_owned()));
    for better in [Better::Higher, Better::Lower] {
        let arrow = direction_arrow(better);
        let means: Vec<_> = comparison
            .ratios
            .iter()
            .filter(|mean| mean.better == better)
            .collect();
        if means.is_empty() {
            continue;
        }
        let mut fields = vec![field(""), field(format!("{better} is better {arrow}"))];
        fields.extend(means.iter().map(|mean| field(ratio_mean(mean))));
        table.lines.push(Line::Fields(fields));
    }
    table
}

fn ratio(entry: &RowEntry) -> Field {
    let RowEntry::Measured(measured) = entry else {
        return toned("missing", Tone::Faint);
    };
    match &measured.against {
        None => toned("no baseline", Tone::Faint),
        Some(BaselineRelation::NotComparable(_)) => toned("not comparable", Tone::Faint),
        Some(BaselineRelation::Compared(difference)) => {
            let text = format!(
                "{} {}",
                numbers::ratio(difference),
                numbers::count(measured)
            );
            let known = difference.ratio.is_ok();
            toned(
                text,
                if known {
                    tone(difference.call)
                } else {
                    Tone::Faint
                },
            )
        }
    }
}

fn ratio_mean(mean: &RatioMean) -> String {
    let left_out = match mean.left_out {
        0 => String::new(),
        rows => format!(", {rows} without"),
    };
    let interval = match mean.interval {
        Ok(_) => String::new(),
        Err(_) => " (no interval)".to_owned(),
    };
    match mean.gmean {
        Ok(gmean) => format!(
            "{}{interval} rows={}{left_out}",
            shown::ratio(gmean, mean.interval.ok()),
            mean.rows
        ),
        Err(_) => format!("undefined: rows=0{left_out}"),
    }
}

/// What is said of a side in a line: `new against base: 1 worse, 2 better, 1 can't tell`.
pub fn tallies(comparison: &Comparison) -> Vec<String> {
    let Some((base, others)) = comparison.sides.split_first() else {
        return Vec::new();
    };
    let margin = comparison.options.margin_percent;
    let of_side = |(number, side): (usize, &backsight_policy::ComparisonSide)| {
        let tally = comparison.tally(number + 1);
        let counts = [
            (tally.worse, "worse".to_owned()),
            (tally.better, "better".to_owned()),
            (tally.changed, "changed".to_owned()),
            (tally.no_change, format!("no change larger than {margin} %")),
            (tally.cannot_tell, "can't tell".to_owned()),
            (tally.not_comparable, "not comparable".to_owned()),
            (tally.missing, "missing on a side".to_owned()),
        ];
        let said: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let mut said = if said.is_empty() {
            "nothing measured".to_owned()
        } else {
            said.join(", ")
        };
        for (tally, of) in [
            (
                comparison.tally_of_secondary(number + 1),
                "secondary metrics",
            ),
            (
                comparison.tally_of_monitors(number + 1),
                "monitors' metrics",
            ),
        ] {
            let changed = [
                (tally.worse, "worse"),
                (tally.better, "better"),
                (tally.changed, "changed"),
            ];
            let changed: Vec<String> = (changed.iter())
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
            if !changed.is_empty() {
                said.push_str(&format!("; of {of} {}", changed.join(", ")));
            }
        }
        format!("{} against {}: {said}", side.name, base.name)
    };
    others.iter().enumerate().map(of_side).collect()
}

/// What is said of rows that aren't shown: `… and 12 secondary metrics, none different; --all-metrics shows them`.
pub fn folded(comparison: &Comparison, rows: usize) -> Vec<String> {
    let what = counted(rows, "secondary metric");
    let folded = match (rows, comparison.sides.len()) {
        (0, _) => None,
        (_, 1) => Some(format!(
            "… and {what}: backsight show {} has them",
            comparison.sides[0].name
        )),
        _ => Some(format!(
            "… and {what}, none different; --all-metrics shows them"
        )),
    };
    let monitored = (comparison.left_out_monitor_metrics > 0).then(|| {
        let what = counted(comparison.left_out_monitor_metrics, "metric");
        format!("… and {what} of monitors; --monitors compares them")
    });
    folded.into_iter().chain(monitored).collect()
}

/// How a verdict is come by, in a sentence or two.
pub fn verdict_method(comparison: &Comparison) -> String {
    let confidence = comparison.options.confidence;
    let chance = format!("{} %", ((1.0 - confidence.share()) * 1e6).round() / 1e4);
    let scope = comparison.scope();
    let mut text = format!(
        "Differences are new − {}, with their {} interval; the verdict says whether that is better or worse. Of \
         the changes found here, at most {} are expected to be chance.",
        comparison.sides[0].name,
        shown::confidence(confidence),
        chance
    );
    text.extend(scope.map(|scope| format!(" {scope}")));
    text
}

/// What was seen in the samples, as `cell metric: sentence`; and how many more there are.
pub fn remarks(comparison: &Comparison) -> (Vec<String>, usize) {
    const MOST: usize = 12;
    let all = comparison.remarks.iter().map(|remark| {
        let row = &comparison.rows[remark.row];
        format!("{} {}: {}", row.cell, row.metric, remark.text)
    });
    let shown = all.take(MOST).collect();
    (shown, comparison.remarks.len().saturating_sub(MOST))
}

/// Every summary of the samples of every row.
pub fn statistics(comparison: &Comparison, digits: Option<usize>) -> Table {
    let sides = comparison.sides.iter().map(|side| right(side.name.clone()));
    let mut table = Table::new([left("statistic")].into_iter().chain(sides).collect());
    for row in &comparison.rows {
        let measured: Vec<Option<&MeasuredEntry>> =
            row.entries.iter().map(RowEntry::measured).collect();
        if measured.iter().all(Option::is_none) {
            continue;
        }
        let scale = RowScale::new(row, digits);
        let cell = row.cell.to_string();
        table
            .lines
            .push(Line::Group(format!("{cell} {}", metric(row, &scale))));
        let counts = row.entries.iter().map(|entry| match entry {
            RowEntry::Measured(measured) => field(numbers::count(measured)),
            RowEntry::Missing(why) => toned(why.to_string(), Tone::Faint),
        });
        table.lines.push(Line::Fields(
            [field("trials (samples)")]
                .into_iter()
                .chain(counts)
                .collect(),
        ));
        table
            .lines
            .extend(statistics_of_row(row, &measured, &scale));
        table.lines.extend(tests_of_row(row));
    }
    table
}

fn statistics_of_row(
    row: &ComparisonRow,
    measured: &[Option<&MeasuredEntry>],
    scale: &RowScale,
) -> Vec<Line> {
    let sides: Vec<Option<Vec<SideStatistic>>> = measured
        .iter()
        .map(|side| side.map(|side| statistics::summary_statistics(&side.of_samples)))
        .collect();
    let Some(first) = sides.iter().flatten().next() else {
        return Vec::new();
    };
    let line = |(number, statistic): (usize, &SideStatistic)| {
        let mut fields = vec![field(statistic_name(statistic, row.better))];
        let of_side =
            |side: &Option<Vec<SideStatistic>>| side.as_ref().map(|side| side[number].clone());
        let base = sides.first().and_then(of_side);
        for (at, side) in sides.iter().enumerate() {
            let comparable = measured[at]
                .is_some_and(|side| matches!(side.against, Some(BaselineRelation::Compared(_))));
            let base = base.as_ref().filter(|_| comparable);
            fields.push(field(
                of_side(side).map_or(String::new(), |side| statistic_text(&side, base, scale)),
            ));
        }
        Line::Fields(fields)
    };
    first.iter().enumerate().map(line).collect()
}

/// The p-values, for the sceptic.
fn tests_of_row(row: &ComparisonRow) -> Vec<Line> {
    let differences: Vec<Option<&backsight_policy::Difference>> =
        row.entries.iter().map(RowEntry::difference).collect();
    if differences.iter().all(Option::is_none) {
        return Vec::new();
    }
    let line = |name: &str, text: &dyn Fn(&backsight_policy::Difference) -> String| {
        let sides = differences
            .iter()
            .map(|side| field(side.map_or(String::new(), text)));
        Line::Fields([field(name)].into_iter().chain(sides).collect())
    };
    let p = shown::p_equals;
    vec![
        line("equal means", &|side| {
            side.verdict
                .p
                .map_or_else(|why| shown::undefined(why).to_owned(), p)
        }),
        line("over the table", &|side| {
            side.adjusted_p
                .map_or_else(|| "no matter of chance".to_owned(), p)
        }),
        line("Mann-Whitney", &|side| p(side.verdict.ranks.p)),
    ]
}

/// Percentiles count from the best; which side of the distribution that is depends on the direction.
fn statistic_name(statistic: &SideStatistic, better: Better) -> String {
    if !statistic.name.starts_with("Pctile") {
        return statistic.name.clone();
    }
    let end = match better {
        Better::Lower | Better::Neither => "high end",
        Better::Higher => "low end",
    };
    format!("{} ({end})", statistic.name)
}

fn statistic_text(
    statistic: &SideStatistic,
    base: Option<&SideStatistic>,
    scale: &RowScale,
) -> String {
    let value = match (statistic.value, statistic.kind) {
        (Err(why), _) => return shown::undefined(why).to_owned(),
        (Ok(value), statistics::StatisticKind::Percent) => (
            value,
            format!("{} %", backsight_model::significant(value, 4)),
        ),
        (Ok(value), _) => (value, scale.show(value)),
    };
    let (value, text) = value;
    let change = base
        .ok_or(Undefined::NotPositive)
        .and_then(|base| base.value)
        .and_then(|base| percent_change(base, value));
    match change {
        Ok(change) => format!("{text} ({})", shown::percent(change)),
        Err(_) => text,
    }
}
