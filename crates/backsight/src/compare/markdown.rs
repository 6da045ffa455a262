//! A comparison for a pull request: tables as GitHub, GitLab and others draw them.
//!
//! Refuses: text that the reader's markup would obey.

use backsight_policy::Comparison;
use std::fmt::Write as _;

use super::{
    Look,
    numbers::one_line,
    sheet::{self, Field, Line, Sheet, Tone},
};

pub fn render(comparison: &Comparison, look: &Look) -> String {
    let (shown, folded) = match look.all_metrics {
        true => (comparison.clone(), 0),
        false => comparison.without_quiet_rows(),
    };
    let comparison = &shown;
    let mut text = String::new();
    for tally in sheet::tallies(comparison) {
        let _ = writeln!(text, "**{}**\n", escaped(&tally));
    }
    text.push_str(&match comparison.sides.len() {
        0 => return "There is nothing to compare.\n".to_owned(),
        1 => draw(&sheet::alone(comparison, look.digits)),
        2 => draw(&sheet::beside(comparison, look.digits)),
        _ => draw(&sheet::stacked(comparison, look.digits)),
    });
    if let Some(folded) = sheet::folded(comparison, folded) {
        let _ = writeln!(text, "\n{}", escaped(&folded));
    }
    text.push_str(&legend(comparison));
    if look.ratio && comparison.sides.len() > 1 {
        let base = escaped(&comparison.sides[0].name);
        let _ = write!(
            text,
            "\n### Ratios to {base}\n\n{}",
            draw(&sheet::ratios(comparison, look.digits))
        );
    }
    if look.statistics {
        let _ = write!(
            text,
            "\n<details><summary>Summaries of all samples</summary>\n\n{}\n</details>\n",
            draw(&sheet::statistics(comparison, look.digits))
        );
    }
    let empty = sheet::empty_rows(comparison)
        .into_iter()
        .map(|row| format!("nothing measured: {row}"));
    let warnings = comparison
        .warnings
        .iter()
        .map(|warning| format!("⚠ {warning}"));
    let (remarks, more) = sheet::remarks(comparison);
    let more = (more > 0).then(|| format!("{more} more were seen"));
    let notes: Vec<String> = empty.chain(remarks).chain(more).chain(warnings).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text
}

/// A text to be shown as it is.
pub fn fenced(text: &str) -> String {
    // A fence longer than any in the text ends where it should.
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}text\n{text}{fence}\n")
}

fn legend(comparison: &Comparison) -> String {
    let mut legend =
        "\nMean ±coefficient of variation of n; ↑ higher is better, ↓ lower is better.".to_owned();
    if comparison.sides.len() > 1 {
        let _ = write!(legend, " {}", escaped(&sheet::how(comparison)));
    }
    legend + "\n"
}

fn draw(sheet: &Sheet) -> String {
    let mut text = String::new();
    let mut line = |fields: &[String]| {
        let _ = writeln!(text, "| {} |", fields.join(" | "));
    };
    let titles: Vec<String> = sheet
        .columns
        .iter()
        .map(|column| escaped(&column.title))
        .collect();
    line(&titles);
    let rules: Vec<String> = sheet
        .columns
        .iter()
        .map(|column| if column.right { "---:" } else { "---" }.to_owned())
        .collect();
    line(&rules);
    for row in &sheet.lines {
        match row {
            Line::Group(title) => {
                let mut fields = vec![String::new(); sheet.columns.len()];
                fields[0] = format!("**{}**", escaped(title));
                line(&fields);
            }
            Line::Fields(fields) => line(&fields.iter().map(shown).collect::<Vec<_>>()),
        }
    }
    text
}

fn shown(field: &Field) -> String {
    let text = escaped(&field.text);
    match field.tone {
        Tone::Good | Tone::Bad => format!("**{text}**"),
        Tone::Faint if !text.is_empty() => format!("_{text}_"),
        Tone::Plain | Tone::Faint => text,
    }
}

/// A text in which nothing is markup.
fn escaped(text: &str) -> String {
    one_line(text)
        .chars()
        .fold(String::new(), |mut escaped, c| {
            match c {
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '&' => escaped.push_str("&amp;"),
                // A name mentioned with this would be told of every table.
                '@' => escaped.push_str("&#64;"),
                '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' | '!' => {
                    escaped.push('\\');
                    escaped.push(c);
                }
                other => escaped.push(other),
            }
            escaped
        })
}
