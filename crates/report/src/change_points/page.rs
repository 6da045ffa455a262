//! Change points as one self-contained page: a chart and the sentences of each series with news.

use super::{ChangePoints, text};
use crate::{Body, Document, Section, Tone};

pub fn render(found: &ChangePoints<'_>) -> String {
    let title = format!("Changes in {}", found.source);
    let document = Document::new(title).with_sentence(text::summary(found), Tone::Plain);
    let several = found.series > 1;
    let all = found.series_changes.iter();
    let news = all.filter(|series| series.has_findings() || !several);
    let document = news.fold(document, |document, series| {
        let mut sentences: Vec<String> = series
            .changes
            .iter()
            .map(|told| text::sentence(series, told))
            .collect();
        sentences.extend(text::trend(series));
        sentences.extend(text::pending(series));
        sentences.extend(text::epochs(series));
        sentences.extend(text::notes(series));
        let picture = Body::Picture {
            svg: series.svg.clone().unwrap_or_default(),
            text: series.sparks.clone(),
        };
        document
            .with_section(Section::new(series.name(), picture))
            .with_section(Section::list("", sentences))
    });
    match text::legend(found) {
        Some(legend) => document.with_sentence(legend, Tone::Faint),
        None => document,
    }
    .html()
}
