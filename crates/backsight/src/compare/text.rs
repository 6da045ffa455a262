//! A comparison for a person at a terminal.
//!
//! Refuses: colour codes that nobody asked for, and lines wider than asked where words can be broken.

use backsight_model::{StudyState, counted};
use backsight_policy::{Comparison, OfStudy, Origin, Side};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets::NOTHING,
};
use std::fmt::Write as _;

use super::{
    Look,
    numbers::one_line,
    sheet::{self, Line, Sheet, Tone},
};

/// What a table has where a heading goes that is wider than its first column. [`one_line`] lets it through nowhere.
const HEADING: &str = "\u{e000}";

pub fn render(comparison: &Comparison, look: &Look) -> String {
    let (shown, folded) = match look.all_metrics {
        true => (comparison.clone(), 0),
        false => comparison.without_quiet_rows(),
    };
    let comparison = &shown;
    let mut text = sides(comparison);
    let main = match comparison.sides.len() {
        0 => return "there is nothing to compare\n".to_owned(),
        1 => draw(&sheet::alone(comparison, look.digits), look),
        2 => {
            let beside = sheet::beside(comparison, look.digits);
            if natural_width(&beside) <= usize::from(look.width) {
                draw(&beside, look)
            } else {
                draw(&sheet::stacked(comparison, look.digits), look)
            }
        }
        _ => draw(&sheet::stacked(comparison, look.digits), look),
    };
    for tally in sheet::tallies(comparison) {
        wrapped(&mut text, &one_line(&tally), look.width);
    }
    let _ = write!(text, "\n{main}\n");
    if let Some(folded) = sheet::folded(comparison, folded) {
        wrapped(&mut text, &one_line(&folded), look.width);
    }
    text.push('\n');
    wrapped(&mut text, &legend(comparison), look.width);
    let several = comparison.sides.len() > 1;
    if look.ratio && several {
        let base = &comparison.sides[0].name;
        let _ = write!(
            text,
            "\nRatios to {base}\n\n{}\n",
            draw(&sheet::ratios(comparison, look.digits), look)
        );
    }
    if look.statistics {
        let _ = write!(
            text,
            "\nSummaries of all samples\n\n{}\n",
            draw(&sheet::statistics(comparison, look.digits), look)
        );
        let legend =
            "B…mean.N: mean of the best N%. Pctile.N: N% of the samples are at least as good.";
        text.push('\n');
        wrapped(&mut text, legend, look.width);
    }
    notes(&mut text, comparison, look.width);
    text
}

/// What is compared, one line a side; one line in all for the parts of one study.
fn sides(comparison: &Comparison) -> String {
    let sides = &comparison.sides;
    let Some(first) = sides.first() else {
        return String::new();
    };
    if let (Some(by), Some(study)) = (&comparison.by, &first.study) {
        let of_parts = sides
            .iter()
            .map(|side| format!("{} ({})", side.name, trials(side)));
        let of_parts: Vec<String> = of_parts.collect();
        return one_line(&format!(
            "{} by {by}: {}",
            about_study(study),
            of_parts.join(", ")
        )) + "\n";
    }
    let width = sides
        .iter()
        .map(|side| side.name.chars().count())
        .max()
        .unwrap_or(0);
    sides.iter().fold(String::new(), |mut text, side| {
        let about = match &side.study {
            Some(study) => format!("{}, {}", about_study(study), trials(side)),
            None => counted(side.measured, "number"),
        };
        let line = format!("{:width$}  {about}", side.name);
        let _ = writeln!(text, "{}", one_line(&line));
        text
    })
}

fn about_study(study: &OfStudy) -> String {
    let state = match study.state {
        StudyState::Finished => String::new(),
        other => format!(", {other}"),
    };
    format!(
        "study {} `{}` of {}{state}",
        study.number,
        study.name,
        study.began.strftime("%Y-%m-%d %H:%M UTC")
    )
}

fn trials(side: &Side) -> String {
    let measured = counted(side.measured, "trial");
    match side.failed {
        0 => measured,
        failed => format!("{measured}, {failed} failed"),
    }
}

fn legend(comparison: &Comparison) -> String {
    let counted = match comparison.origin {
        Origin::Studies => "trials",
        Origin::Lists | Origin::ListsWithoutUnit => "numbers",
    };
    let mut legend = format!(
        "Mean ±coefficient of variation, n {counted}; ↑ higher is better (harmonic mean), ↓ lower is better (arithmetic \
         mean)."
    );
    if comparison.sides.iter().any(|side| side.failed > 0) {
        legend.push_str(" n=4/5: the others failed.");
    }
    if comparison.sides.len() > 1 {
        let _ = write!(legend, " {}", sheet::how(comparison));
    }
    legend
}

fn notes(text: &mut String, comparison: &Comparison, width: u16) {
    let empty = sheet::empty_rows(comparison);
    if !(empty.is_empty() && comparison.warnings.is_empty() && comparison.remarks.is_empty()) {
        text.push('\n');
    }
    for row in empty {
        wrapped(text, &format!("nothing measured: {row}"), width);
    }
    let (remarks, more) = sheet::remarks(comparison);
    for remark in remarks {
        wrapped(text, &format!("seen: {remark}"), width);
    }
    if more > 0 {
        wrapped(
            text,
            &format!("seen: {more} more; --format json has all"),
            width,
        );
    }
    for warning in &comparison.warnings {
        wrapped(
            text,
            &format!("warning: {}", one_line(&warning.to_string())),
            width,
        );
    }
}

/// Appends a text broken at spaces, further lines indented.
fn wrapped(text: &mut String, line: &str, width: u16) {
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > usize::from(width) {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

fn natural_width(sheet: &Sheet) -> usize {
    let table = table(sheet, false);
    table
        .lines()
        .map(|line| line.trim_end().chars().count())
        .max()
        .unwrap_or(0)
}

fn draw(sheet: &Sheet, look: &Look) -> String {
    let mut table = table(sheet, look.colour);
    table
        .set_width(look.width)
        .set_content_arrangement(ContentArrangement::Dynamic);
    let mut headings = sheet.lines.iter().filter_map(|line| match line {
        Line::Group(title) => Some(one_line(title)),
        Line::Fields(_) => None,
    });
    let mut text = String::new();
    for line in table.lines() {
        let heading = if line.trim() == HEADING {
            headings.next()
        } else {
            None
        };
        match heading {
            Some(title) if look.colour => {
                let _ = writeln!(text, "\u{1b}[1m{title}\u{1b}[0m");
            }
            Some(title) => wrapped(&mut text, &title, look.width),
            None => {
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn table(sheet: &Sheet, colour: bool) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table.set_header(sheet.columns.iter().map(|column| {
        let cell = Cell::new(one_line(&column.title)).add_attribute(Attribute::Underlined);
        cell.set_alignment(alignment(column.right))
    }));
    for line in &sheet.lines {
        match line {
            Line::Group(_) => {
                table.add_row([HEADING]);
            }
            Line::Fields(fields) => {
                table.add_row(fields.iter().enumerate().map(|(number, field)| {
                    let indent = if number == 0 { "  " } else { "" };
                    let cell = Cell::new(format!("{indent}{}", one_line(&field.text)));
                    let cell = cell.set_alignment(alignment(sheet.columns[number].right));
                    match field.tone {
                        Tone::Plain => cell,
                        Tone::Good => cell.fg(Color::Green),
                        Tone::Bad => cell.fg(Color::Red),
                        Tone::Faint => cell.add_attribute(Attribute::Dim),
                    }
                }));
            }
        }
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table
}

fn alignment(right: bool) -> CellAlignment {
    if right {
        CellAlignment::Right
    } else {
        CellAlignment::Left
    }
}
