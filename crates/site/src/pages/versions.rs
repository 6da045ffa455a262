//! The page of a target's versions: when and what each is, what came of it, and what changed there.

use askama::Template;
use backsight_policy::HistoryVersion;
use backsight_report::{clipped, numbers::counted};

use super::{
    book::{Book, Here},
    changes::{ShownChange, change_sentences},
    frame::Frame,
    site::Press,
    target::counts,
};

/// A fold of the table has about so many versions where releases don't divide it.
const FOLD: usize = 25;

#[derive(Template)]
#[template(path = "pages/versions.html")]
pub(super) struct VersionsPage {
    frame: Frame,
    counts: String,
    folds: Vec<Fold>,
}

/// Versions of the table under one heading.
struct Fold {
    heading: String,
    counts: String,
    open: bool,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    href: String,
    release: bool,
    date: String,
    title: String,
    /// Why nothing was measured, or quirks; empty if there is nothing to say.
    standing: &'static str,
    why: String,
    quirks: String,
    range: String,
    /// The measured version before.
    since: String,
    /// `1 worse, 2 better`, a part each.
    changes: Vec<ChangeCount>,
}

/// How many series changed in a way.
struct ChangeCount {
    class: &'static str,
    text: String,
}

/// The changes that are told of a version.
#[derive(Clone, Copy, Default)]
struct Tally {
    worse: usize,
    better: usize,
    other: usize,
    named: usize,
}

impl Press<'_> {
    pub(super) fn versions(&self, here: Here<'_>) -> VersionsPage {
        let tallies = tallies(here);
        let starts = starts(here.book);
        let ends = starts.iter().skip(1).copied();
        let ranges = starts.iter().copied().zip(ends.chain([tallies.len()]));
        VersionsPage {
            frame: Frame::new("Versions", here.page, here.crumbs()),
            counts: counts(here.book),
            folds: ranges
                .map(|(start, end)| fold(here, &tallies, start..end))
                .collect(),
        }
    }
}

/// What changed at each version: what is believed, and what bisections named.
fn tallies(here: Here<'_>) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); here.history.versions.len()];
    for series in &here.book.history.series {
        let changes = change_sentences(here, series).into_iter();
        for change in changes.filter(|change| change.believed) {
            tallies[change.at].count(&change);
        }
    }
    tallies
}

impl Tally {
    fn count(&mut self, change: &ShownChange) {
        let of = match change.sentence.class {
            _ if change.named => &mut self.named,
            "bad" => &mut self.worse,
            "good" => &mut self.better,
            _ => &mut self.other,
        };
        *of += 1;
    }

    fn parts(self) -> Vec<ChangeCount> {
        let parts = [
            ("bad", "✗", self.worse, "worse"),
            ("good", "✓", self.better, "better"),
            ("soft-word", "○", self.other, "other"),
            ("named", "◆", self.named, "named by bisections"),
        ];
        let parts = parts.into_iter().filter(|(_, _, count, _)| *count > 0);
        parts
            .map(|(class, mark, count, word)| ChangeCount {
                class,
                text: format!("{mark} {count} {word}"),
            })
            .collect()
    }

    fn all(self) -> usize {
        self.worse + self.better + self.other + self.named
    }
}

/// Where folds begin: at releases, if that makes folds worth the name; else every so many versions.
fn starts(book: &Book) -> Vec<usize> {
    let count = book.history.versions.len();
    let versions = book.history.versions.iter().enumerate();
    let mut starts: Vec<usize> = versions
        .filter(|(_, version)| version.version.release)
        .map(|(at, _)| at)
        .collect();
    let releases_divide =
        starts.len() > 1 && starts.len() * 3 <= count && count / starts.len() <= 200;
    if !releases_divide {
        starts = (0..count).step_by(FOLD).collect();
    }
    if starts.first() != Some(&0) && count > 0 {
        starts.insert(0, 0);
    }
    starts
}

fn fold(here: Here<'_>, tallies: &[Tally], range: std::ops::Range<usize>) -> Fold {
    let book = here.book;
    let versions = &book.history.versions[range.clone()];
    let changes: usize = tallies[range.clone()].iter().map(|tally| tally.all()).sum();
    let unmeasured = versions.iter().filter(|v| v.standing.reason().is_some());
    let unmeasured = unmeasured.count();
    let mut parts = vec![counted(versions.len(), "version")];
    if changes > 0 {
        parts.push(counted(changes, "change"));
    }
    if unmeasured > 0 {
        parts.push(format!("{unmeasured} not measured"));
    }
    Fold {
        heading: format!("{} to {}", book.name(range.start), book.name(range.end - 1)),
        counts: parts.join(", "),
        open: changes > 0 || range.end == book.history.versions.len(),
        rows: range.map(|at| row(here, tallies[at], at)).collect(),
    }
}

fn row(here: Here<'_>, tally: Tally, at: usize) -> Row {
    let book = here.book;
    let HistoryVersion {
        version,
        quirks,
        standing,
        ..
    } = &book.history.versions[at];
    Row {
        name: book.name(at),
        href: here.to_version(at),
        release: version.release,
        date: version
            .at
            .map_or(String::new(), |at| at.strftime("%Y-%m-%d").to_string()),
        title: clipped(version.title.lines().next().unwrap_or_default(), 90),
        standing: match standing.reason() {
            Some(_) => standing.as_str(),
            None => "",
        },
        why: standing.reason().map_or(String::new(), |why| {
            clipped(why.lines().next().unwrap_or_default(), 120)
        }),
        quirks: clipped(&quirks.join("; "), 120),
        range: match book.measured.binary_search(&at) {
            Ok(_) => here.to_interval(at).unwrap_or_default(),
            Err(_) => String::new(),
        },
        since: book.before(at).map_or(String::new(), |at| book.name(at)),
        changes: tally.parts(),
    }
}
