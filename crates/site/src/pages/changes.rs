//! Changes of series as sentences: those that were found and those that bisections named.

use backsight_policy::{ChangeDirection, VersionSeries};
use backsight_report::SeriesText;
use std::cell::LazyCell;

use super::book::Here;

/// A change of a series as a sentence.
#[derive(Debug, Clone)]
pub(super) struct ChangeSentence {
    pub series: String,
    pub sentence: String,
    /// `good`, `bad` or `soft-word`.
    pub class: &'static str,
    /// The page of the interval that may hold it, if there is one.
    pub href: String,
}

/// How a change is coloured.
pub(super) fn class(direction: ChangeDirection) -> &'static str {
    match direction {
        ChangeDirection::Better => "good",
        ChangeDirection::Worse => "bad",
        ChangeDirection::Up | ChangeDirection::Down => "unsure",
    }
}

/// A change of a series, found or named by a bisection, that pages tell.
#[derive(Debug)]
pub(super) struct ShownChange {
    /// The last version before it, and the last one that may be the first after it.
    pub after: Option<usize>,
    pub until: usize,
    pub at: usize,
    /// Whether it is believed: what a bisection named is.
    pub believed: bool,
    /// Whether a bisection named it.
    pub named: bool,
    /// By how much; empty if that isn't known.
    pub size: String,
    pub sentence: ChangeSentence,
}

/// The changes of a series as sentences: those that were found, then those that bisections named.
pub(super) fn change_sentences(here: Here<'_>, series: &VersionSeries) -> Vec<ShownChange> {
    sentences_of(here, series, |_, _| true)
}

/// Those that may lie between two versions. A long history has thousands of intervals, and each sentence takes its time.
pub(super) fn change_sentences_between(
    here: Here<'_>,
    series: &VersionSeries,
    from: usize,
    to: usize,
) -> Vec<ShownChange> {
    sentences_of(here, series, |after, until| {
        after.unwrap_or(0) < to && from < until
    })
}

/// Sentences of the changes that are asked for, by the last version known to be before them and the first known to be after.
fn sentences_of(
    here: Here<'_>,
    series: &VersionSeries,
    is_asked: impl Fn(Option<usize>, usize) -> bool,
) -> Vec<ShownChange> {
    // Its unit is chosen from all values; most series didn't change between two versions.
    let words = LazyCell::new(|| SeriesText::new(&here.book.history, series));
    let sentence = |at: usize, sentence: String, class: &'static str| ChangeSentence {
        series: series.name(),
        sentence,
        class,
        href: here.to_interval(at).unwrap_or_default(),
    };
    let found = series.found.changes.iter();
    let found = found.filter(|point| is_asked(point.after, point.until));
    let found = found.map(|point| {
        let class = match point.believed && !point.is_accepted() {
            true => class(point.direction),
            false => "soft-word",
        };
        ShownChange {
            after: point.after,
            until: point.until,
            at: point.at,
            believed: point.believed,
            named: false,
            size: words.size(point),
            sentence: sentence(point.at, words.change(point), class),
        }
    });
    let named = series.named.iter();
    let named = named.filter(|named| is_asked(Some(named.after), named.at));
    let named = named.map(|named| ShownChange {
        after: Some(named.after),
        until: named.at,
        at: named.at,
        believed: true,
        named: true,
        size: words.named_size(named),
        sentence: sentence(
            named.at,
            words.named(named),
            named.direction.map_or("unsure", class),
        ),
    });
    found.chain(named).collect()
}
