//! Which change is the one that a channel was told of: their best guesses move as more is measured.
//!
//! A told change is the nearest one that may lie at one of the same versions; each is matched once. What was told as gone is back only
//! where a change may lie at the very version that named it.

use backsight_policy::ChangeStretch;
use backsight_store::{ToldChange, ToldState};
use std::collections::HashMap;

use crate::software_change::TargetChanges;

/// What a channel was told of a target's changes, beside these.
pub(crate) struct MatchedChanges<'a> {
    /// What was told of each change, in their order.
    pub told: Vec<Option<&'a ToldChange>>,
    /// What was told of changes that aren't there any more, with the place of each.
    pub gone: Vec<(&'a ToldChange, ChangeStretch)>,
}

impl<'a> MatchedChanges<'a> {
    pub fn new(target: &TargetChanges, told: &'a [ToldChange]) -> Self {
        let versions = target.versions.iter().enumerate();
        let places: HashMap<&str, usize> = versions.map(|(at, id)| (id.as_str(), at)).collect();
        // What was told of versions that the history hasn't any more can't be matched, and nothing is said of it.
        let placed: Vec<(&ToldChange, ChangeStretch)> = told
            .iter()
            .filter_map(|change| {
                let place = |id: &str| places.get(id).copied();
                let stretch = ChangeStretch {
                    after: change.after.as_deref().and_then(place),
                    at: place(&change.version)?,
                    until: place(&change.until)?,
                };
                Some((change, stretch))
            })
            .collect();
        let mut pairs = Vec::new();
        for (row, (change, stretch)) in placed.iter().enumerate() {
            for (number, now) in target.changes.iter().enumerate() {
                let may_be = match change.state {
                    Some(ToldState::Over) => now.stretch.contains(stretch.at),
                    _ => overlap(*stretch, now.stretch),
                };
                if may_be {
                    let distance = stretch.at.abs_diff(now.stretch.at);
                    pairs.push((distance, change.state == Some(ToldState::Over), row, number));
                }
            }
        }
        pairs.sort_unstable();
        let mut matched = vec![None; target.changes.len()];
        let mut is_matched = vec![false; placed.len()];
        for (.., row, number) in pairs {
            if matched[number].is_none() && !is_matched[row] {
                matched[number] = Some(placed[row].0);
                is_matched[row] = true;
            }
        }
        let rows = placed.into_iter().zip(is_matched);
        Self {
            told: matched,
            gone: rows
                .filter(|(_, matched)| !matched)
                .map(|(row, _)| row)
                .collect(),
        }
    }
}

/// Whether both may lie at one version.
fn overlap(one: ChangeStretch, other: ChangeStretch) -> bool {
    let first = |stretch: ChangeStretch| stretch.after.map_or(0, |after| after + 1);
    first(one) <= other.until && first(other) <= one.until
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::software_change::tests::{change, changes, id};

    fn told(after: usize, at: usize, until: usize, state: ToldState) -> ToldChange {
        ToldChange {
            thread: format!("{at}"),
            channel: "team".into(),
            target: "app".parse().unwrap(),
            version: id(at),
            name: format!("v{}", at + 1),
            after: Some(id(after)),
            until: id(until),
            state: Some(state),
            message: None,
            told: None,
            messages: 1,
            saying: None,
        }
    }

    #[test]
    fn a_change_whose_guess_moved_is_the_same() {
        let now = changes(vec![change()]);
        let rows = [told(1, 4, 5, ToldState::Open)];
        let matched = MatchedChanges::new(&now, &rows);
        assert_eq!(matched.told, [Some(&rows[0])]);
        assert!(matched.gone.is_empty());
    }

    #[test]
    fn of_two_the_nearest_is_the_same_and_the_other_is_gone() {
        let now = changes(vec![change()]);
        let rows = [
            told(0, 5, 5, ToldState::Open),
            told(1, 3, 4, ToldState::Open),
        ];
        let matched = MatchedChanges::new(&now, &rows);
        assert_eq!(matched.told, [Some(&rows[1])]);
        assert_eq!(matched.gone.len(), 1);
    }

    #[test]
    fn what_is_gone_is_back_only_where_it_was() {
        let now = changes(vec![change()]);
        let elsewhere = [told(1, 4, 5, ToldState::Over)];
        assert_eq!(MatchedChanges::new(&now, &elsewhere).told, [None]);
        let there = [told(1, 3, 5, ToldState::Over)];
        assert_eq!(MatchedChanges::new(&now, &there).told, [Some(&there[0])]);
    }
}
