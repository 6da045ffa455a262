//! The first page: every target, with what changed last.

use askama::Template;

use super::{
    book::Here,
    changes::{ChangeSentence, change_sentences},
    frame::Frame,
    site::Press,
    target::{TestsLink, counts, tests_link},
};

/// Most changes that are told of a target.
const MOST_TOLD: usize = 8;

#[derive(Template)]
#[template(path = "pages/home.html")]
pub(super) struct HomePage {
    frame: Frame,
    targets: Vec<TargetBrief>,
}

/// A target.
struct TargetBrief {
    name: String,
    href: String,
    counts: String,
    tests: Option<TestsLink>,
    changes: Vec<ChangeSentence>,
}

impl Press<'_> {
    pub(super) fn home(&self) -> HomePage {
        let books = 0..self.site.books.len();
        HomePage {
            frame: Frame::new("Histories", self.page, Vec::new()),
            targets: books.map(|book| brief(self.here(book))).collect(),
        }
    }
}

/// The latest changes of primary metrics, the newest first.
fn brief(here: Here<'_>) -> TargetBrief {
    let mut changes: Vec<(usize, ChangeSentence)> = Vec::new();
    let series = here.book.history.series.iter();
    for series in series.filter(|series| series.metric.primary) {
        let sentences = change_sentences(here, series).into_iter();
        let believed = sentences.filter(|change| change.believed);
        changes.extend(believed.map(|change| (change.at, change.sentence)));
    }
    changes.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    changes.truncate(MOST_TOLD);
    TargetBrief {
        name: here.target.to_string(),
        href: here.to_target(),
        counts: counts(here.book),
        tests: tests_link(here),
        changes: changes.into_iter().map(|(_, sentence)| sentence).collect(),
    }
}
