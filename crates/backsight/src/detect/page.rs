//! What was found, as one self-contained page: a picture and the sentences of each series with news.

use backsight_report::{Body, Document, Section, Tone};

use super::text::{self, Report};

pub fn render(report: &Report<'_>) -> String {
    let title = format!("Changes in {}", report.source);
    let document = Document::new(title).with_sentence(text::summary(report), Tone::Plain);
    let several = report.series > 1;
    let stories = report.stories.iter();
    let news = stories.filter(|story| story.has_news() || !several);
    let document = news.fold(document, |document, story| {
        let mut sentences: Vec<String> = story
            .changes
            .iter()
            .map(|told| text::sentence(story, told))
            .collect();
        sentences.extend(text::trend(story));
        sentences.extend(text::pending(story));
        sentences.extend(text::epochs(story));
        sentences.extend(text::notes(story));
        let picture = Body::Picture {
            svg: story.svg.clone().unwrap_or_default(),
            text: story.sparks.clone(),
        };
        document
            .with_section(Section::new(story.name(), picture))
            .with_section(Section::list("", sentences))
    });
    match text::legend(report) {
        Some(legend) => document.with_sentence(legend, Tone::Faint),
        None => document,
    }
    .html()
}
