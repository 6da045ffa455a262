//! A verdict as a document: its sentences, the answer first, and what it stands on below. Every format is written from it.

use std::fmt::Write as _;

use crate::{
    escape, markdown,
    table::{self, Table, TerminalStyle, Tone, wrapped},
};

/// A sentence and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// What it is about.
    pub tone: Tone,
}

/// The content of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A table.
    Table(Table),
    /// Sentences of equal weight.
    List(Vec<String>),
    /// A text of several lines, as it is: a chart, a command.
    Verbatim(String),
    /// A picture as SVG, with what text shows in its place.
    Picture {
        /// The element, made of escaped text.
        svg: String,
        /// Instead of it.
        text: String,
    },
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is; empty where that needs no saying.
    pub heading: String,
    /// A line on how to read it.
    pub about: String,
    /// Whether a reader opens it first, where a format can fold.
    pub folded: bool,
    /// What it has.
    pub body: Body,
}

impl Section {
    /// A part with this heading.
    pub fn new(heading: impl Into<String>, body: Body) -> Self {
        Self {
            heading: heading.into(),
            about: String::new(),
            folded: false,
            body,
        }
    }

    /// A part that is a table.
    pub fn table(heading: impl Into<String>, table: Table) -> Self {
        Self::new(heading, Body::Table(table))
    }

    /// A part that is a list.
    pub fn list(heading: impl Into<String>, sentences: Vec<String>) -> Self {
        Self::new(heading, Body::List(sentences))
    }

    /// The same part, which a reader opens first.
    #[must_use]
    pub fn folded(self) -> Self {
        Self {
            folded: true,
            ..self
        }
    }

    /// The same part with a line on how to read it.
    #[must_use]
    pub fn with_about(self, about: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            ..self
        }
    }

    /// Whether it has nothing.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Table(table) => table.is_empty(),
            Body::List(list) => list.is_empty(),
            Body::Verbatim(text) => text.is_empty(),
            Body::Picture { svg, .. } => svg.is_empty(),
        }
    }
}

/// A verdict with what it stands on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// What it is about: a study's name, a question.
    pub title: String,
    /// The answer first.
    pub sentences: Vec<Sentence>,
    /// What it stands on.
    pub sections: Vec<Section>,
}

impl Document {
    /// A document about this.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// The document with one more sentence.
    #[must_use]
    pub fn with_sentence(mut self, text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        self.sentences.push(Sentence { text, tone });
        self
    }

    /// The document with these plain sentences.
    #[must_use]
    pub fn with_sentences(self, sentences: impl IntoIterator<Item = String>) -> Self {
        let plain = sentences.into_iter();
        plain.fold(self, |all, text| all.with_sentence(text, Tone::Plain))
    }

    /// The document with one more part, unless that is empty.
    #[must_use]
    pub fn with_section(mut self, section: Section) -> Self {
        if !section.is_empty() {
            self.sections.push(section);
        }
        self
    }

    /// For a terminal, a pipe or a file: the title, the tables, and the sentences below them, where a terminal's reader
    /// looks first.
    pub fn text(&self, look: &TerminalStyle) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            let title = escape::line(&self.title);
            let _ = writeln!(text, "{}\n", wrapped(&title, look.width));
        }
        // A terminal can't fold: what is opened later is in the other formats.
        for section in self.sections.iter().filter(|section| !section.folded) {
            if !section.heading.is_empty() {
                let heading = escape::line(&section.heading);
                let _ = writeln!(text, "{}", wrapped(&heading, look.width));
            }
            match &section.body {
                Body::Table(table) => {
                    let _ = writeln!(text, "{}", table.text(look));
                }
                Body::List(sentences) => {
                    for sentence in sentences {
                        let sentence = format!("- {}", escape::line(sentence));
                        let _ = writeln!(text, "{}", wrapped(&sentence, look.width));
                    }
                }
                Body::Verbatim(lines) | Body::Picture { text: lines, .. } => {
                    let _ = writeln!(text, "{}", escape::visible(lines).trim_end());
                }
            }
            if !section.about.is_empty() {
                let about = escape::line(&section.about);
                let _ = writeln!(text, "\n{}", wrapped(&about, look.width));
            }
            text.push('\n');
        }
        for sentence in &self.sentences {
            let words = wrapped(&escape::line(&sentence.text), look.width);
            let code = match (look.colour, sentence.tone) {
                (true, Tone::Good) => "\u{1b}[32m",
                (true, Tone::Bad) => "\u{1b}[31m",
                (true, Tone::Changed) => "\u{1b}[33m",
                _ => "",
            };
            let end = if code.is_empty() { "" } else { "\u{1b}[0m" };
            let _ = writeln!(text, "{code}{words}{end}");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    /// For a pull request or a mail: the answer as the heading, what it stands on below, details folded.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut sentences = self.sentences.iter();
        let headline = sentences.next().map_or(&self.title, |first| &first.text);
        let _ = writeln!(text, "### {}\n", markdown::escaped(headline));
        let mut sections: Vec<&Section> = self.sections.iter().collect();
        sections.sort_by_key(|section| section.folded);
        for section in &sections {
            self.section_in_markdown(&mut text, section);
        }
        let rest: Vec<String> = sentences
            .map(|sentence| format!("- {}\n", markdown::sentence(&sentence.text)))
            .collect();
        if !rest.is_empty() {
            text.push_str(&rest.concat());
            text.push('\n');
        }
        if !self.title.is_empty() && headline != &self.title {
            let _ = writeln!(text, "<sub>{}</sub>", markdown::escaped(&self.title));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    fn section_in_markdown(&self, text: &mut String, section: &Section) {
        let heading = markdown::escaped(&section.heading);
        match (section.folded, heading.is_empty()) {
            (true, _) => {
                let summary = if heading.is_empty() {
                    "Details"
                } else {
                    &heading
                };
                let _ = writeln!(text, "<details><summary>{summary}</summary>\n");
            }
            (false, false) => {
                let _ = writeln!(text, "#### {heading}\n");
            }
            (false, true) => {}
        }
        match &section.body {
            Body::Table(table) => text.push_str(&table.markdown()),
            Body::List(sentences) => {
                for sentence in sentences {
                    let _ = writeln!(text, "- {}", markdown::sentence(sentence));
                }
            }
            Body::Verbatim(lines) | Body::Picture { text: lines, .. } => {
                text.push_str(&markdown::fenced(lines));
            }
        }
        if !section.about.is_empty() {
            let _ = writeln!(text, "\n{}", markdown::paragraph(&section.about));
        }
        if section.folded {
            text.push_str("\n</details>\n");
        }
        text.push('\n');
    }

    /// One self-contained page.
    pub fn html(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n{2}{3}\
             </main>\n</body>\n</html>\n",
            escape::html(&self.title),
            include_str!("document.css"),
            self.answer_html(),
            self.sections_html(),
        )
    }

    /// The sentences as HTML, for a page that has a frame of its own.
    pub fn answer_html(&self) -> String {
        let sentences = self.sentences.iter().map(|sentence| {
            let (class, words) = (table::class(sentence.tone), escape::html(&sentence.text));
            format!("<p class=\"{class}\">{words}</p>\n")
        });
        sentences.collect()
    }

    /// What they stand on as HTML.
    pub fn sections_html(&self) -> String {
        let mut html = String::new();
        for section in &self.sections {
            section.write_html(&mut html);
        }
        html
    }
}

impl Section {
    fn write_html(&self, html: &mut String) {
        let heading = escape::html(&self.heading);
        html.push_str("<section>\n");
        match (self.folded, heading.is_empty()) {
            (true, _) => {
                let _ = writeln!(html, "<details><summary>{heading}</summary>");
            }
            (false, false) => {
                let _ = writeln!(html, "<h2>{heading}</h2>");
            }
            (false, true) => {}
        }
        if !self.about.is_empty() {
            let about = escape::html(&self.about);
            let _ = writeln!(html, "<p class=\"about\">{about}</p>");
        }
        match &self.body {
            Body::Table(table) => {
                let _ = writeln!(html, "<div class=\"scroll\">{}</div>", table.html());
            }
            Body::List(sentences) => {
                html.push_str("<ul>\n");
                for sentence in sentences {
                    let _ = writeln!(html, "<li>{}</li>", escape::html(sentence));
                }
                html.push_str("</ul>\n");
            }
            Body::Verbatim(lines) => {
                let _ = writeln!(html, "<pre>{}</pre>", escape::html(lines));
            }
            Body::Picture { svg, .. } => html.push_str(svg),
        }
        if self.folded {
            html.push_str("</details>\n");
        }
        html.push_str("</section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{field, left, right};

    fn verdict() -> Document {
        let mut table = Table::new(vec![
            left("metric"),
            right("main"),
            right("feature"),
            right("difference"),
        ]);
        let difference = field("+4.1 % [+3.2, +5.0]").with_tone(Tone::Bad);
        table.row(vec![
            field("time"),
            field("1.20 s"),
            field("1.25 s"),
            difference,
        ]);
        Document::new("try-1")
            .with_sentence(
                "feature is worse than main: work time +4.1 % [+3.2, +5.0], probability > 99.9 %",
                Tone::Bad,
            )
            .with_sentences(["8 passes, 16 trials".to_owned()])
            .with_section(Section::table("", table))
            .with_section(
                Section::list(
                    "Metrics that didn't decide",
                    vec!["a <b> | `c`\n".to_owned()],
                )
                .folded(),
            )
            .with_section(Section::list("", Vec::new()))
    }

    #[test]
    fn a_terminal_gets_the_answer_last() {
        insta::assert_snapshot!(verdict().text(&TerminalStyle::default()));
    }

    #[test]
    fn a_pull_request_gets_the_answer_first_and_the_details_folded() {
        insta::assert_snapshot!(verdict().markdown());
    }

    #[test]
    fn a_page_has_all_of_it() {
        let page = verdict().html();
        assert!(page.contains("<p class=\"bad\">feature is worse than main"));
        assert!(page.contains("<li>a &lt;b&gt; | `c`\n</li>"), "{page}");
        assert!(page.contains("<summary>Metrics that didn&#39;t decide</summary>"));
    }
}
