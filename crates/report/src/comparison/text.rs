//! A comparison for a person at a terminal.
//!
//! Lines are as wide as the terminal where words can be broken; colour codes are written only where they are asked for.

use backsight_model::{StudyState, counted};
use backsight_policy::{Comparison, ComparisonSide, Origin, SideStudy};
use std::fmt::Write as _;

use super::{DisplayOptions, tables};
use crate::{Table, TerminalStyle, escape};

pub fn render(comparison: &Comparison, look: &DisplayOptions) -> String {
    let (shown, folded) = match look.all_metrics {
        true => (comparison.clone(), 0),
        false => comparison.without_quiet_rows(),
    };
    let comparison = &shown;
    let mut text = sides(comparison, look.width);
    let main = match comparison.sides.len() {
        0 => return "there is nothing to compare\n".to_owned(),
        1 => draw(&tables::one_side(comparison, look.digits), look),
        2 => {
            let beside = tables::two_sides(comparison, look.digits);
            let fits = |width: u16| beside.natural_width() <= usize::from(width);
            if look.width.is_none_or(fits) {
                draw(&beside, look)
            } else {
                draw(&tables::stacked(comparison, look.digits), look)
            }
        }
        _ => draw(&tables::stacked(comparison, look.digits), look),
    };
    for tally in tables::tallies(comparison) {
        wrapped(&mut text, &tally, look.width);
    }
    let _ = write!(text, "\n{main}\n");
    for folded in tables::folded(comparison, folded) {
        wrapped(&mut text, &escape::line(&folded), look.width);
    }
    text.push('\n');
    wrapped(&mut text, &legend(comparison), look.width);
    let several = comparison.sides.len() > 1;
    if look.ratio && several {
        let base = &comparison.sides[0].name;
        let _ = write!(
            text,
            "\nRatios to {base}\n\n{}\n",
            draw(&tables::ratios(comparison, look.digits), look)
        );
    }
    if look.statistics {
        let _ = write!(
            text,
            "\nSummaries of all samples\n\n{}\n",
            draw(&tables::statistics(comparison, look.digits), look)
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
fn sides(comparison: &Comparison, columns: Option<u16>) -> String {
    let sides = &comparison.sides;
    let Some(first) = sides.first() else {
        return String::new();
    };
    if let (Some(by), Some(study)) = (&comparison.by, &first.study) {
        let of_parts = sides
            .iter()
            .map(|side| format!("{} ({})", side.name, trials(side)));
        let of_parts: Vec<String> = of_parts.collect();
        let line = format!("{} by {by}: {}", about_study(study), of_parts.join(", "));
        let mut text = String::new();
        wrapped(&mut text, &line, columns);
        return text;
    }
    let width = sides
        .iter()
        .map(|side| side.name.chars().count())
        .max()
        .unwrap_or(0);
    sides.iter().fold(String::new(), |mut text, side| {
        let about = match &side.study {
            Some(study) => format!("{}, {}", about_study(study), trials(side)),
            None if comparison.origin == Origin::Studies => trials(side),
            None => counted(side.measured, "number"),
        };
        let line = format!("{:width$}  {about}", side.name);
        wrapped(&mut text, &line, columns);
        text
    })
}

fn about_study(study: &SideStudy) -> String {
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

fn trials(side: &ComparisonSide) -> String {
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
        let _ = write!(legend, " {}", tables::verdict_method(comparison));
    }
    legend
}

fn notes(text: &mut String, comparison: &Comparison, width: Option<u16>) {
    let empty = tables::empty_rows(comparison);
    if !(empty.is_empty() && comparison.warnings.is_empty() && comparison.remarks.is_empty()) {
        text.push('\n');
    }
    for row in empty {
        wrapped(text, &format!("nothing measured: {row}"), width);
    }
    let (remarks, more) = tables::remarks(comparison);
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
        wrapped(text, &format!("warning: {warning}"), width);
    }
}

/// Appends a line, broken at spaces where a terminal is narrower, further lines indented.
fn wrapped(text: &mut String, line: &str, width: Option<u16>) {
    text.push_str(&crate::wrapped(&escape::line(line), width));
    text.push('\n');
}

fn draw(table: &Table, look: &DisplayOptions) -> String {
    table.text(&TerminalStyle {
        width: look.width,
        colour: look.colour,
    })
}
