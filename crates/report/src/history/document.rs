//! A history as a document: for a pull request or a mail, and as a page.

use backsight_policy::ChangeDirection;

use super::{SelectedHistory, reference_drift};
use crate::{
    Body, Document, Section, SeriesText, Table, Tone, chart::version_plot, field, left, right,
};

/// Columns of a picture made of characters.
const PICTURE_WIDTH: usize = 100;

pub fn document(selected: &SelectedHistory<'_>) -> Document {
    let history = selected.history;
    let changes = selected.series.iter();
    let changes: usize = changes
        .map(|series| series.believed().count() + series.only_named().count())
        .sum();
    let headline = format!(
        "{}: {} along {} in {} series",
        selected.target,
        backsight_model::counted(changes, "change"),
        backsight_model::counted(history.versions.len(), "version"),
        selected.series.len()
    );
    let mut document = Document::new("").with_sentence(headline, Tone::Plain);
    document = document.with_section(Section::table("", table(selected)));
    let references = reference_drift::sentences(history);
    if !references.is_empty() {
        document = document.with_section(Section::list("References", references));
    }
    for series in &selected.series {
        let words = SeriesText::new(history, series);
        let mut sentences: Vec<String> = series
            .found
            .changes
            .iter()
            .map(|change| words.change(change))
            .collect();
        sentences.extend(series.named.iter().map(|named| words.named(named)));
        sentences.extend(words.notes());
        let heading = format!("{}: {}; {}", series.name(), words.axis(), words.coverage());
        let picture = version_plot(history, series, &words, PICTURE_WIDTH);
        document = document
            .with_section(Section::list(heading, sentences).folded())
            .with_section(
                Section::new(
                    format!("Chart of {}", series.name()),
                    Body::Verbatim(picture),
                )
                .folded(),
            );
    }
    document
}

/// A line for each change that is believed, and for each that only a bisection named.
fn table(selected: &SelectedHistory<'_>) -> Table {
    let mut table = Table::new(vec![
        left("series"),
        left("at"),
        right("difference"),
        left("verdict"),
        left("accepted"),
        left("named by"),
    ]);
    for series in &selected.series {
        let words = SeriesText::new(selected.history, series);
        for change in series.believed() {
            let direction = change.direction.as_str();
            let tone = tone(Some(change.direction), change.is_accepted());
            let accepted = change.accepted.as_ref();
            let named = series.named.iter().find(|named| named.is_same(change));
            table.row(vec![
                field(series.name()),
                field(words.place(change.after, change.at, change.until)),
                field(words.size(change)),
                field(direction).with_tone(tone),
                field(accepted.map_or("", |it| it.acceptance.by.as_str())),
                field(named.map_or(String::new(), SeriesText::mark)),
            ]);
        }
        for named in series.only_named() {
            let direction = named.direction.map_or("", ChangeDirection::as_str);
            table.row(vec![
                field(series.name()),
                field(words.place(Some(named.after), named.at, named.at)),
                field(words.named_size(named)),
                field(direction).with_tone(tone(named.direction, false)),
                field(""),
                field(SeriesText::mark(named)),
            ]);
        }
    }
    table
}

fn tone(direction: Option<ChangeDirection>, is_accepted: bool) -> Tone {
    match direction {
        Some(ChangeDirection::Worse) if !is_accepted => Tone::Bad,
        Some(ChangeDirection::Better) => Tone::Good,
        _ => Tone::Plain,
    }
}
