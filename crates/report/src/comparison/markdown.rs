//! A comparison for a pull request: tables as GitHub, GitLab and others draw them.
//!
//! Names are text: nothing in them is markup.

use backsight_policy::Comparison;
use std::fmt::Write as _;

use super::{DisplayOptions, tables};
use crate::{MoreRounds, markdown::escaped};

pub fn render(comparison: &Comparison, look: &DisplayOptions) -> String {
    let (shown, folded) = match look.all_metrics {
        true => (comparison.clone(), 0),
        false => comparison.without_quiet_rows(),
    };
    let comparison = &shown;
    let mut text = String::new();
    for tally in tables::tallies(comparison) {
        let _ = writeln!(text, "**{}**\n", escaped(&tally));
    }
    text.push_str(&match comparison.sides.len() {
        0 => return "There is nothing to compare.\n".to_owned(),
        1 => tables::one_side(comparison, look.digits).markdown(),
        2 => tables::two_sides(comparison, look.digits).markdown(),
        _ => tables::stacked(comparison, look.digits).markdown(),
    });
    for folded in tables::folded(comparison, folded) {
        let _ = writeln!(text, "\n{}", escaped(&folded));
    }
    text.push_str(&legend(comparison));
    if look.ratio && comparison.sides.len() > 1 {
        let base = escaped(&comparison.sides[0].name);
        let _ = write!(
            text,
            "\n### Ratios to {base}\n\n{}",
            tables::ratios(comparison, look.digits).markdown()
        );
    }
    if look.statistics {
        let _ = write!(
            text,
            "\n<details><summary>Summaries of all samples</summary>\n\n{}\n</details>\n",
            tables::statistics(comparison, look.digits).markdown()
        );
    }
    let empty = tables::empty_rows(comparison)
        .into_iter()
        .map(|row| format!("nothing measured: {row}"));
    let warnings = comparison
        .warnings
        .iter()
        .map(|warning| format!("⚠ {warning}"));
    let (remarks, more) = tables::remarks(comparison);
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

/// How to measure what isn't decided: the command can be copied.
pub fn way_out(more: &MoreRounds) -> String {
    let rounds = backsight_model::counted(more.rounds, "more round");
    format!("\nAbout {rounds} would tell: `{}`\n", more.line())
}

fn legend(comparison: &Comparison) -> String {
    let mut legend =
        "\nMean ±coefficient of variation of n; ↑ higher is better, ↓ lower is better.".to_owned();
    if comparison.sides.len() > 1 {
        let _ = write!(legend, " {}", escaped(&tables::verdict_method(comparison)));
    }
    legend + "\n"
}
