//! What other programs show of a target's changes: a badge, and an Atom feed (RFC 4287).

use askama::Template;
use backsight_store::RawRef;
use jiff::Timestamp;

use super::{address, alert::AlertLine, book::Here, site::Press};

/// Most entries of the feed, the newest.
const MOST_ENTRIES: usize = 100;
/// Width of a character of a badge, and what stands around a word, in pixels.
const CHARACTER: usize = 7;
const AROUND: usize = 12;
/// Longest name of a target on a badge, in characters.
const LONGEST: usize = 40;

#[derive(Template)]
#[template(path = "pages/badge.svg", escape = "html")]
pub(super) struct Badge {
    name: String,
    word: String,
    colour: &'static str,
    name_width: usize,
    width: usize,
}

#[derive(Template)]
#[template(path = "pages/feed.xml", escape = "html")]
pub(super) struct Feed {
    updated: Timestamp,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    updated: Timestamp,
    href: String,
    title: String,
    summary: String,
}

impl Press<'_> {
    /// How a target stands, in two words.
    pub(super) fn badge(&self, here: Here<'_>) -> Badge {
        let book = here.book;
        let of_kind = |kind: &str| {
            let alerts = book.alerts.iter().filter(|alert| alert.state().is_open());
            alerts.filter(|alert| alert.kind.as_str() == kind).count()
        };
        let (worse, other, better) = (of_kind("worse"), of_kind("other"), of_kind("better"));
        let (word, colour) = match (book.measured.is_empty(), worse, other, better) {
            (true, ..) => ("not measured".to_owned(), "#6b747d"),
            (_, 0, 0, 0) => ("no open change".to_owned(), "#17703f"),
            (_, 0, 0, better) => (format!("{better} better"), "#17703f"),
            (_, 0, other, _) => (format!("{other} moved"), "#7b6a33"),
            (_, worse, ..) => (format!("{worse} worse"), "#b2382b"),
        };
        let name = backsight_report::clipped(book.target.as_str(), LONGEST);
        let width = |text: &str| CHARACTER * text.chars().count() + AROUND;
        let name_width = width(&name);
        Badge {
            width: name_width + width(&word),
            name,
            word,
            colour,
            name_width,
        }
    }

    /// The changes of all targets.
    pub(super) fn feed(&self) -> Feed {
        let mut entries = Vec::new();
        for number in 0..self.site.books.len() {
            let here = self.here(number);
            for alert in &here.book.alerts {
                let line = AlertLine::new(here, alert);
                let said = alert.triage.as_ref().map(|triage| triage.at);
                let measured = here.book.version(alert.stretch.at).at;
                entries.push(Entry {
                    id: RawRef::from_content(line.identity.as_bytes()).to_string(),
                    // What was said of it last is news too.
                    updated: said.max(measured).unwrap_or_default(),
                    href: line.href,
                    title: format!("{} {}: {}", line.sign, line.target, line.sentence),
                    summary: match line.by.is_empty() {
                        true => format!("{}, {}", line.range, line.state),
                        false => format!("{}, {} by {}", line.range, line.state, line.by),
                    },
                });
            }
        }
        entries.sort_by(|a, b| b.updated.cmp(&a.updated).then(a.id.cmp(&b.id)));
        entries.truncate(MOST_ENTRIES);
        Feed {
            updated: entries
                .first()
                .map(|entry| entry.updated)
                .unwrap_or_default(),
            entries,
        }
    }

    /// The link to the feed.
    pub(super) fn to_feed(&self) -> String {
        self.page.link(address::FEED)
    }
}
