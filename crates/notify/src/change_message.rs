//! A message about changes, written as text, as Markdown and as HTML. The HTML is made for readers of mail: tables, and styles beside their
//! elements.

use askama::Template as _;
use backsight_policy::AlertKind;
use backsight_report::{
    Document, Section, Table, TerminalStyle, Tone, clipped, field, left, right,
};

use crate::software_change::{ChangeState, SoftwareChange};

/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 180;
/// Most series of a change that a message lists.
const MOST_MOVED: usize = 12;

/// A message about one change or several.
#[derive(Debug, Clone)]
pub struct ChangeMessage {
    /// What tells it from all others: who gets it twice has it already.
    pub key: String,
    /// The key of the message before, where it goes on with one.
    pub in_reply_to: Option<String>,
    /// What it says, at least one.
    pub news: Vec<ChangeNews>,
    /// Charts.
    pub pictures: Vec<Picture>,
}

/// Something that is told of a change.
#[derive(Debug, Clone)]
pub struct ChangeNews {
    /// What.
    pub kind: NewsKind,
    /// The change.
    pub change: SoftwareChange,
    /// The address of its page.
    pub link: Option<String>,
    /// What identifies it on this channel for as long as it is there.
    pub thread: String,
}

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewsKind {
    /// It is there.
    New,
    /// It went away, and is there again.
    Again,
    /// It went away.
    Over,
}

impl NewsKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Again => "again",
            Self::Over => "over",
        }
    }
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The name of its file.
    pub name: String,
    /// The chart, as SVG.
    pub svg: String,
}

impl ChangeNews {
    /// `fixed: tbench throughput got worse at 6.1.18: −4.2 % [−4.6, −3.8]`.
    pub fn headline(&self) -> String {
        let change = &self.change;
        match (self.kind, change.state) {
            (NewsKind::New, _) => change.sentence.clone(),
            (NewsKind::Again, _) => format!("again: {}", change.sentence),
            (NewsKind::Over, ChangeState::Withdrawn) => change.sentence.clone(),
            (NewsKind::Over, state) => format!("{state}: {}", change.sentence),
        }
    }

    pub(crate) fn tone(&self) -> Tone {
        match (self.kind, self.change.kind) {
            (NewsKind::Over, _) => Tone::Faint,
            (_, AlertKind::Worse) => Tone::Bad,
            (_, AlertKind::Better) => Tone::Good,
            (_, AlertKind::Other) => Tone::Changed,
        }
    }

    /// What there is to know besides, a sentence each.
    fn details(&self) -> Vec<String> {
        let change = &self.change;
        let mut details = Vec::new();
        if let Some((_, after)) = &change.after {
            details.push(format!(
                "After {after}, the last version known to be before it; {} is the first known to have it",
                change.until.1
            ));
        }
        if !change.title.is_empty() {
            details.push(format!("{}: {}", change.name, change.title));
        }
        if let Some(by) = &change.by {
            let note = change
                .note
                .as_ref()
                .map_or(String::new(), |note| format!(": {note}"));
            details.push(format!("{} says {by}{note}", change.state));
        }
        details
    }

    fn document(&self) -> Document {
        let mut moved = Table::new(vec![left("what moved"), right("by")]);
        for series in self.change.moved.iter().take(MOST_MOVED) {
            let tone = match series.kind {
                AlertKind::Worse => Tone::Bad,
                AlertKind::Better => Tone::Good,
                AlertKind::Other => Tone::Changed,
            };
            moved.row(vec![
                field(&series.name),
                field(&series.size).with_tone(tone),
            ]);
        }
        let document = Document::new(self.change.target.as_str())
            .with_sentence(self.headline(), self.tone())
            .with_sentences(self.details())
            .with_section(Section::table("", moved));
        match self.change.moved.len().saturating_sub(MOST_MOVED) {
            0 => document,
            more => document.with_sentences([format!("{more} more moved")]),
        }
    }

    /// For a pull request or a chat.
    pub fn markdown(&self) -> String {
        let mut text = self.document().markdown();
        if let Some(link) = &self.link {
            text.push_str(&format!("\n[See the change]({link})\n"));
        }
        text
    }

    /// For a terminal or a mail: the answer first.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.headline());
        let document = Document {
            title: String::new(),
            sentences: self.document().sentences.split_off(1),
            ..self.document()
        };
        text.push_str(&document.text(&TerminalStyle::default()));
        if let Some(link) = &self.link {
            text.push_str(&format!("\n{link}\n"));
        }
        text
    }
}

impl ChangeMessage {
    /// The message in a line.
    pub fn subject(&self) -> String {
        let subject = match &self.news[..] {
            [news] => format!("{}: {}", news.change.target, news.headline()),
            several => {
                let mut targets: Vec<&str> =
                    several.iter().map(|it| it.change.target.as_str()).collect();
                targets.dedup();
                format!("{} changes: {}", several.len(), targets.join(", "))
            }
        };
        clipped(&subject, LONGEST_SUBJECT)
    }

    /// The message as text.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self
            .news
            .iter()
            .map(|news| {
                let target = &news.change.target;
                format!("{target}: {}", news.text())
            })
            .collect();
        texts.join("\n----\n\n")
    }

    /// The message as Markdown.
    pub fn markdown(&self) -> String {
        let texts: Vec<String> = self.news.iter().map(ChangeNews::markdown).collect();
        texts.join("\n\n")
    }

    /// The message as a page for readers of mail.
    ///
    /// # Errors
    /// None that is known.
    pub fn html(&self) -> Result<String, askama::Error> {
        MailPage {
            subject: self.subject(),
            news: self.news.iter().map(MailNews::new).collect(),
        }
        .render()
    }
}

#[derive(askama::Template)]
#[template(path = "mail.html")]
struct MailPage {
    subject: String,
    news: Vec<MailNews>,
}

struct MailNews {
    target: String,
    word: &'static str,
    colour: &'static str,
    headline: String,
    details: Vec<String>,
    moved: Vec<(String, String, &'static str)>,
    more: usize,
    link: String,
}

/// A colour that is read on white.
fn colour(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "#b2382b",
        Tone::Good => "#17703f",
        Tone::Changed => "#7b6a33",
        Tone::Plain | Tone::Faint => "#57606a",
    }
}

impl MailNews {
    fn new(news: &ChangeNews) -> Self {
        let change = &news.change;
        let moved = change.moved.iter().take(MOST_MOVED).map(|series| {
            let tone = match series.kind {
                AlertKind::Worse => Tone::Bad,
                AlertKind::Better => Tone::Good,
                AlertKind::Other => Tone::Changed,
            };
            (series.name.clone(), series.size.clone(), colour(tone))
        });
        Self {
            target: change.target.to_string(),
            word: match (news.kind, change.kind) {
                (NewsKind::Over, _) => change.state.as_str(),
                (NewsKind::Again, _) => "again",
                (NewsKind::New, AlertKind::Worse) => "worse",
                (NewsKind::New, AlertKind::Better) => "better",
                (NewsKind::New, AlertKind::Other) => "moved",
            },
            colour: colour(news.tone()),
            headline: news.headline(),
            details: news.details(),
            moved: moved.collect(),
            more: change.moved.len().saturating_sub(MOST_MOVED),
            link: news.link.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::software_change::tests::change;

    /// A message about one new change.
    pub(crate) fn message() -> ChangeMessage {
        ChangeMessage {
            key: "0123456789abcdef0123456789abcdef".to_owned(),
            in_reply_to: None,
            news: vec![ChangeNews {
                kind: NewsKind::New,
                change: change(),
                link: Some("https://perf.example.org/app/c/v4.html".to_owned()),
                thread: "fedcba9876543210fedcba9876543210".to_owned(),
            }],
            pictures: Vec::new(),
        }
    }

    #[test]
    fn a_message_says_the_same_in_every_form() {
        let message = message();
        insta::assert_snapshot!(format!(
            "{}\n\n{}\n\n{}",
            message.subject(),
            message.text(),
            message.markdown()
        ));
        let html = message.html().unwrap();
        for part in [
            "+12.0 % [+11.2, +12.8]",
            "unit disk/write on lab",
            "flush every write",
            "https://perf.example.org/app/c/v4.html",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn what_others_wrote_is_text() {
        let mut message = message();
        message.news[0].change.title = "<script>alert(1)</script> @all [x](y)".to_owned();
        let html = message.html().unwrap();
        assert!(!html.contains("<script>"), "{html}");
        let markdown = message.markdown();
        assert!(
            !markdown.contains("<script>")
                && !markdown.contains("@all")
                && !markdown.contains("[x]("),
            "{markdown}"
        );
    }
}
