//! The page of two measured versions, or of more: how their series compare; and of two, what lies between them: commits, files,
//! the difference, and which series may have changed there.
//!
//! Any versions are compared where pages are served. Of what is published each two neighbours have a page, and those between
//! which something changed their comparison on it: it takes time and room that few of thousands are worth.

use askama::Template;
use backsight_model::{Change, ChangedFile};
use backsight_report::{
    clipped,
    numbers::{counted, grouped},
};

use super::{
    assets::COMPARISON_SCRIPT,
    book::Here,
    changes::{ChangeSentence, ShownChange, change_sentences_between},
    compare_form::CompareForm,
    comparison::{self, ComparedSides},
    frame::Frame,
    site::{OUTPUTS, Press, VersionChanges},
};
use crate::escape;

/// Most changes and most files of one change that a page lists.
const MOST_CHANGES: usize = 500;
const MOST_FILES: usize = 200;
/// Most measured versions between two whose commits are shown: of a whole history they take long, and nobody reads them.
const MOST_BETWEEN: usize = 30;
/// Most sentences about changes, and most versions that weren't measured: a pair may be a whole history apart.
const MOST_SENTENCES: usize = 100;
const MOST_SKIPPED: usize = 200;
/// Characters of a message.
const LONGEST_MESSAGE: usize = 20_000;

#[derive(Template)]
#[template(path = "pages/interval.html")]
pub(super) struct IntervalPage {
    frame: Frame,
    sides: Vec<Link>,
    compared: Option<ComparedSides>,
    script: String,
    /// What shows the comparison in a terminal.
    command: String,
    form: Option<CompareForm>,
    sentences: Vec<ChangeSentence>,
    sentences_left_out: usize,
    /// Versions between them that weren't measured, and how many were.
    between: Vec<Skipped>,
    between_left_out: usize,
    measured_between: usize,
    counts: String,
    /// The commits and the difference; empty where there are none to show.
    commits: String,
    /// The same two the other way round, where the first is the newer one.
    turned: String,
}

/// What lies between two versions: commits and the difference.
#[derive(Template)]
#[template(path = "pages/commits.html")]
pub(super) struct Commits {
    /// `2 changes by 1 author; 2 files, +30 −6 lines`; empty where none is known.
    pub counts: String,
    /// Why there is no list.
    unknown: String,
    changes: Vec<ChangeView>,
    left_out: usize,
    diff: Vec<DiffLine>,
    diff_cut: String,
}

pub(super) struct Link {
    pub name: String,
    pub href: String,
}

/// A version between the two that wasn't measured.
struct Skipped {
    link: Link,
    title: String,
    standing: &'static str,
    why: String,
}

struct ChangeView {
    name: String,
    title: String,
    author: String,
    date: String,
    message: String,
    merge: bool,
    counts: String,
    files: Vec<FileView>,
    files_left_out: usize,
}

struct FileView {
    path: String,
    added: String,
    removed: String,
}

struct DiffLine {
    class: &'static str,
    text: String,
}

impl Press<'_> {
    /// The page of these versions; the first is the baseline.
    pub(super) fn interval(
        &self,
        here: Here<'_>,
        versions: &[usize],
    ) -> Result<IntervalPage, askama::Error> {
        let names: Vec<String> = versions.iter().map(|at| here.name(*at)).collect();
        let mut page = IntervalPage {
            frame: Frame::new(&names.join(" to "), here.page, here.crumbs()),
            sides: versions.iter().map(|at| link(here, *at)).collect(),
            compared: None,
            script: here.link(COMPARISON_SCRIPT),
            command: comparison::command(here.book, versions),
            form: here
                .page
                .is_live
                .then(|| CompareForm::of_versions(here, names.clone())),
            sentences: Vec::new(),
            sentences_left_out: 0,
            between: Vec::new(),
            between_left_out: 0,
            measured_between: 0,
            counts: String::new(),
            commits: String::new(),
            turned: String::new(),
        };
        let mut has_changed = false;
        match *versions {
            [from, to] if from < to => {
                let measured = &here.book.measured;
                let is_measured = |at: &usize| measured.binary_search(at).is_ok();
                let unmeasured: Vec<usize> = (from + 1..to).filter(|at| !is_measured(at)).collect();
                page.measured_between = to - from - 1 - unmeasured.len();
                page.between_left_out = unmeasured.len().saturating_sub(MOST_SKIPPED);
                let shown = unmeasured.into_iter().take(MOST_SKIPPED);
                page.between = shown.map(|at| skipped(here, at)).collect();
                (page.sentences, has_changed) = sentences_within(here, from, to);
                page.sentences_left_out = page.sentences.len().saturating_sub(MOST_SENTENCES);
                page.sentences.truncate(MOST_SENTENCES);
                if page.measured_between <= MOST_BETWEEN {
                    let commits = self.commits(here, from, to);
                    page.commits = commits.render()?;
                    page.counts = commits.counts;
                }
            }
            [from, to] => page.turned = here.link(&here.book.comparison_page(&[to, from])),
            _ => {}
        }
        if here.page.is_live {
            let data = here.to_comparison_data(versions);
            page.frame = page.frame.with_data("Comparison as JSON", &data);
        }
        if here.page.is_live || has_changed {
            page.compared = Some(ComparedSides::of_versions(here, versions));
            page.frame = page.frame.with_scripts();
        }
        Ok(page)
    }

    /// What lies between two versions.
    pub(super) fn commits(&self, here: Here<'_>, from: usize, to: usize) -> Commits {
        let between = &self.site.between;
        let known = between(&here.target, here.version(from), here.version(to));
        if let Err(why) = &known {
            let is_usual = self.site.sources.get(&here.target) == Some(why);
            self.is_settled.set(is_usual && self.is_settled.get());
        }
        Commits::new(known)
    }
}

impl Commits {
    fn new(known: Result<Option<VersionChanges>, String>) -> Self {
        let (known, unknown) = match known {
            Ok(Some(between)) => (between, String::new()),
            Ok(None) => (
                VersionChanges::default(),
                "What lies between the two isn't known here.".to_owned(),
            ),
            Err(why) => (
                VersionChanges::default(),
                format!(
                    "What lies between the two can't be said: {}",
                    clipped(&why, 2000)
                ),
            ),
        };
        let changes = &known.changes;
        let (diff, diff_cut) = diff(known.diff.as_deref().unwrap_or_default());
        Self {
            counts: match changes.is_empty() {
                true => String::new(),
                false => counts(changes),
            },
            unknown,
            left_out: changes.len().saturating_sub(MOST_CHANGES),
            changes: changes
                .iter()
                .take(MOST_CHANGES)
                .map(ChangeView::new)
                .collect(),
            diff,
            diff_cut,
        }
    }
}

pub(super) fn link(here: Here<'_>, at: usize) -> Link {
    Link {
        name: here.name(at),
        href: here.to_version(at),
    }
}

/// The changes that may lie in this interval, and whether one is believed.
fn sentences_within(here: Here<'_>, from: usize, to: usize) -> (Vec<ChangeSentence>, bool) {
    let series = here.book.history.series.iter();
    let changes = series.flat_map(|series| change_sentences_between(here, series, from, to));
    let changes: Vec<ShownChange> = changes.collect();
    let has_changed = changes.iter().any(|change| change.believed);
    (
        changes.into_iter().map(|it| it.sentence).collect(),
        has_changed,
    )
}

fn skipped(here: Here<'_>, at: usize) -> Skipped {
    let version = &here.book.history.versions[at];
    Skipped {
        link: link(here, at),
        title: clipped(
            version.version.title.lines().next().unwrap_or_default(),
            100,
        ),
        standing: version.standing.as_str(),
        why: version
            .standing
            .reason()
            .map_or(String::new(), |why| clipped(why, 300)),
    }
}

fn counts(changes: &[Change]) -> String {
    let files = changes.iter().flat_map(|change| &change.files);
    let added: u64 = files.clone().filter_map(|file| file.added).sum();
    let removed: u64 = files.clone().filter_map(|file| file.removed).sum();
    let authors: std::collections::BTreeSet<&str> = changes
        .iter()
        .map(|change| change.author.as_str())
        .collect();
    let paths: std::collections::BTreeSet<&str> = files.map(|file| file.path.as_str()).collect();
    format!(
        "{} by {}; {}, +{} −{} lines",
        counted(changes.len(), "change"),
        counted(authors.len(), "author"),
        counted(paths.len(), "file"),
        grouped(added),
        grouped(removed)
    )
}

impl ChangeView {
    fn new(change: &Change) -> Self {
        let lines = |of: fn(&ChangedFile) -> Option<u64>| -> u64 {
            change.files.iter().filter_map(of).sum()
        };
        Self {
            name: clipped(&change.name, 40),
            title: clipped(change.title(), 200),
            author: clipped(&change.author, 120),
            date: change.at.map_or(String::new(), |at| {
                at.strftime("%Y-%m-%d %H:%M UTC").to_string()
            }),
            message: clipped(change.message.trim_end(), LONGEST_MESSAGE),
            merge: change.parents.len() > 1,
            counts: format!(
                "{}, +{} −{}",
                counted(change.files.len(), "file"),
                lines(|file| file.added),
                lines(|file| file.removed)
            ),
            files_left_out: change.files.len().saturating_sub(MOST_FILES),
            files: change
                .files
                .iter()
                .take(MOST_FILES)
                .map(FileView::new)
                .collect(),
        }
    }
}

impl FileView {
    fn new(file: &ChangedFile) -> Self {
        let lines = |sign: &str, count: Option<u64>| {
            count.map_or_else(|| "?".to_owned(), |count| format!("{sign}{count}"))
        };
        Self {
            path: clipped(&file.path, 300),
            added: lines("+", file.added),
            removed: lines("−", file.removed),
        }
    }
}

/// As many lines of a diff as a page holds, and what is said of the rest.
fn diff(text: &str) -> (Vec<DiffLine>, String) {
    let mut room = OUTPUTS;
    let mut lines = Vec::new();
    for line in text.lines() {
        let shown = escape::text(line);
        let Some(left) = room.checked_sub(shown.len() + 20) else {
            let all = text.lines().count();
            return (
                lines,
                format!("of {} lines, the first are shown", grouped(all as u64)),
            );
        };
        room = left;
        let class = match line.as_bytes().first() {
            _ if line.starts_with("+++")
                || line.starts_with("---")
                || line.starts_with("diff ") =>
            {
                "file"
            }
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "at",
            _ => "",
        };
        lines.push(DiffLine { class, text: shown });
    }
    (lines, String::new())
}
