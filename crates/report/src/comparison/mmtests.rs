//! The comparison as MMTests' `compare-mmtests.pl` lays it out, for people who compare by eye: one block a metric and
//! cell, one row a summary, differences in brackets; our verdict below.
//!
//! What is undefined is a word, not 0.00 or NaN. Values are in the unit of the samples.

use backsight_model::numbers::undefined;
use backsight_policy::{
    BaselineRelation, Comparison, ComparisonRow, Difference, MeasuredEntry, RowEntry,
};
use backsight_stats::{Better, Interval, Summary, Undefined, mmtests_percent};
use std::fmt::Write as _;

use super::{
    DisplayOptions,
    numbers::{self, RowScale, exact},
    statistics::{self, SideStatistic, StatisticKind},
    tables,
};
use crate::escape::line as one_line;

/// Digits that MMTests shows.
const USUAL_DIGITS: usize = 2;

pub fn render(comparison: &Comparison, look: &DisplayOptions) -> String {
    let digits = look.digits.unwrap_or(USUAL_DIGITS);
    let mut text = String::new();
    for tally in tables::tallies(comparison) {
        let _ = writeln!(text, "{}", one_line(&tally));
    }
    for row in &comparison.rows {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&block(comparison, row, digits));
    }
    if comparison.rows.is_empty() {
        text.push_str("nothing measured\n");
    }
    for warning in &comparison.warnings {
        let _ = write!(text, "\nwarning: {}", one_line(&warning.to_string()));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The rows that MMTests has: arithmetic means where lower is better, harmonic ones where higher is.
fn shown(summary: &Summary) -> Vec<SideStatistic> {
    let names: &[&str] = match summary.better {
        Better::Lower | Better::Neither => &["Min", "Amean", "Stddev", "CoeffVar", "Max"],
        Better::Higher => &["Min", "Hmean", "HStddev", "HCoeffVar", "Max"],
    };
    let trimmed = match summary.better {
        Better::Lower | Better::Neither => "BAmean.",
        Better::Higher => "BHmean.",
    };
    let all = statistics::summary_statistics(summary);
    let named = |name: &&str| all.iter().find(|one| one.name == **name).cloned();
    let by_percent = |prefix: &'static str| {
        all.iter()
            .filter(move |s| s.name.starts_with(prefix))
            .cloned()
    };
    names
        .iter()
        .filter_map(named)
        .chain(by_percent(trimmed))
        .chain(by_percent("Pctile."))
        .collect()
}

fn block(comparison: &Comparison, row: &ComparisonRow, digits: usize) -> String {
    let unit = row.unit.map_or(String::new(), |unit| format!("{unit}, "));
    let heading = format!(
        "{} {} ({unit}{} is better)",
        row.cell, row.metric, row.better
    );
    let mut lines = vec![titles(comparison)];
    let sides: Vec<Option<Vec<SideStatistic>>> = row
        .entries
        .iter()
        .map(|entry| entry.measured().map(|side| shown(&side.of_samples)))
        .collect();
    let names: Vec<String> = sides.iter().flatten().next().map_or(Vec::new(), |first| {
        first.iter().map(|one| one.name.clone()).collect()
    });
    for (number, name) in names.into_iter().enumerate() {
        let mut line = vec![name];
        for (at, side) in sides.iter().enumerate() {
            let base = (at == 0 || row.entries[at].difference().is_some())
                .then(|| sides[0].as_ref().map(|base| &base[number]))
                .flatten();
            line.push(match side {
                Some(side) => value(&side[number], base, row.better, digits),
                None => "missing".to_owned(),
            });
        }
        lines.push(line);
    }
    lines.push(counts(row));
    if comparison.sides.len() > 1 {
        lines.push(verdicts(row, digits));
    }
    format!("{}\n{}", one_line(&heading), aligned(&lines))
}

fn titles(comparison: &Comparison) -> Vec<String> {
    let names = comparison.sides.iter().map(|side| one_line(&side.name));
    std::iter::once(String::new()).chain(names).collect()
}

/// `4.50 ( -28.57%)`.
fn value(
    statistic: &SideStatistic,
    base: Option<&SideStatistic>,
    better: Better,
    digits: usize,
) -> String {
    let value = match statistic.value {
        Ok(value) => value,
        Err(why) => return undefined(why).to_owned(),
    };
    let Some(base) = base else {
        return exact(value, digits);
    };
    let of_base = base
        .value
        .and_then(|base| mmtests_percent(base, value, statistic.kind.better(better)));
    let difference = match of_base {
        Ok(percent) => {
            let text = format!("{percent:.digits$}");
            // A minus before nothing is no direction.
            let nothing = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
            let text = if nothing {
                text.trim_start_matches('-')
            } else {
                &text
            };
            format!("{text:>width$}%", width = digits + 5)
        }
        Err(Undefined::NotPositive) if statistic.kind != StatisticKind::Value => {
            "undefined: base has no spread".to_owned()
        }
        Err(why) => undefined(why).to_owned(),
    };
    format!("{} ({difference})", exact(value, digits))
}

fn counts(row: &ComparisonRow) -> Vec<String> {
    let count = |entry: &RowEntry| match entry {
        RowEntry::Measured(measured) => count_of(measured),
        RowEntry::Missing(why) => why.to_string(),
    };
    std::iter::once("n".to_owned())
        .chain(row.entries.iter().map(count))
        .collect()
}

fn count_of(measured: &MeasuredEntry) -> String {
    numbers::count(measured).trim_start_matches("n=").to_owned()
}

/// The difference with the sign that the table's other percentages have: positive is better.
fn signed_as_mmtests(difference: &Difference, better: Better, scale: &RowScale) -> String {
    let turned = |interval: Interval| match better {
        Better::Higher => interval,
        Better::Lower | Better::Neither => Interval {
            low: -interval.high,
            high: -interval.low,
        },
    };
    let sign = match better {
        Better::Higher => 1.0,
        Better::Lower | Better::Neither => -1.0,
    };
    let signed = Difference {
        percent: difference.percent.map(|percent| sign * percent),
        percent_interval: difference.percent_interval.map(turned),
        absolute: sign * difference.absolute,
        absolute_interval: difference.absolute_interval.map(turned),
        ..difference.clone()
    };
    match signed.percent {
        Ok(_) => numbers::relative(&signed, scale),
        Err(_) => format!("by {}", numbers::absolute_with_interval(&signed, scale)),
    }
}

fn verdicts(row: &ComparisonRow, digits: usize) -> Vec<String> {
    let scale = RowScale::new(row, Some(digits));
    let said = |entry: &RowEntry| match entry.measured().map(|side| &side.against) {
        Some(Some(BaselineRelation::Compared(difference))) => format!(
            "{}, {}",
            difference.call,
            signed_as_mmtests(difference, row.better, &scale)
        ),
        Some(Some(BaselineRelation::NotComparable(why))) => format!("not comparable: {why}"),
        Some(None) => "no baseline".to_owned(),
        None => "missing".to_owned(),
    };
    let others = row.entries.iter().skip(1).map(said);
    ["Verdict".to_owned(), String::new()]
        .into_iter()
        .chain(others)
        .collect()
}

/// Lines of fields below each other: the first ends where it does, all others on the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let fields = lines.iter().filter_map(|line| line.get(column));
        fields.map(|field| field.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (number, field) in line.iter().enumerate() {
            let width = widths[number];
            let _ = match number {
                0 => write!(row, "{field:width$}"),
                _ => write!(row, "  {field:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_policy::{CompareOptions, NumberList, compare_lists};

    fn table(better: Better, sides: &[&[f64]], digits: Option<usize>) -> String {
        let lists = sides
            .iter()
            .zip(["base", "new", "third"])
            .map(|(values, name)| NumberList {
                name: name.into(),
                cells: vec![(String::new(), values.to_vec())],
            });
        let comparison = compare_lists(lists.collect(), better, None, CompareOptions::default());
        let look = DisplayOptions {
            digits,
            ..DisplayOptions::default()
        };
        render(&comparison, &look)
    }

    fn line<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
        let line = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))
            .unwrap_or_else(|| panic!("no {name} in {table}"));
        line[name.len()..]
            .split_inclusive(')')
            .map(str::trim)
            .collect()
    }

    #[test]
    fn the_worked_example_is_printed_to_the_letter() {
        let table = table(Better::Lower, &[&[3.5, 3.1, 3.9], &[4.5, 4.1, 4.9]], None);
        insta::assert_snapshot!(table);
        for (name, base, new) in [
            ("Min", "3.10", "4.10 ( -32.26%)"),
            ("Amean", "3.50", "4.50 ( -28.57%)"),
            ("Stddev", "0.40", "0.40 (   0.00%)"),
            ("CoeffVar", "11.43", "8.89 (  22.22%)"),
            ("Max", "3.90", "4.90 ( -25.64%)"),
            ("BAmean.95", "3.30", "4.30 ( -30.30%)"),
        ] {
            let line = table.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.contains(base) && line.contains(new), "{line}");
        }
    }

    #[test]
    fn more_digits_are_shown_when_asked_for() {
        let table = table(
            Better::Lower,
            &[&[3.5, 3.1, 3.9], &[4.5, 4.1, 4.9]],
            Some(8),
        );
        assert!(
            line(&table, "Amean")[1].starts_with("4.50000000 ( -28.57142857%)"),
            "{table}"
        );
        assert!(
            line(&table, "CoeffVar")[0].starts_with("11.42857143 ("),
            "{table}"
        );
        // Small numbers keep as many significant digits.
        assert_eq!(exact(1.234_567_891_2e-7, 8), "0.00000012345679");
        assert_eq!(exact(0.0, 2), "0.00");
    }

    #[test]
    fn rates_have_harmonic_means_and_their_spread() {
        let table = table(Better::Higher, &[&[10.0, 30.0], &[15.0, 15.0]], None);
        // Jain (1991), section 12.4.
        assert_eq!(line(&table, "Hmean"), ["15.00 (   0.00%)"; 2]);
        assert!(
            table.contains("HStddev") && table.contains("BHmean.99") && !table.contains("Amean")
        );
        assert!(line(&table, "HStddev")[1].contains("0.00 ( 100.00%)"));
    }

    #[test]
    fn what_is_undefined_is_said_in_words() {
        let of = |better, sides: &[&[f64]]| table(better, sides, None);
        let single = of(Better::Lower, &[&[1.0], &[2.0]]);
        assert_eq!(
            single.matches("undefined: too few samples").count(),
            4,
            "{single}"
        );
        let stopped = of(Better::Higher, &[&[0.0, 1.0], &[2.0, 2.0]]);
        assert!(line(&stopped, "Hmean")[0].starts_with("undefined: not positive"));
        let still = of(Better::Lower, &[&[2.0, 2.0], &[2.0, 3.0]]);
        assert!(
            line(&still, "Stddev")[1].contains("undefined: base has no spread"),
            "{still}"
        );
        for table in [single, stopped, still] {
            assert!(!table.contains("NaN") && !table.contains("inf"), "{table}");
        }
    }
}
