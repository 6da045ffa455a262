//! Facts of the machine and of what was built that differ between two versions, when each was booted last.

use backsight_model::Boot;
use backsight_report::clipped;

use super::book::BuildOf;

/// Most differences of the environment that are listed.
const MOST_FACTS: usize = 60;

/// A fact that differs.
pub(super) struct ChangedFact {
    pub name: String,
    pub was: String,
    pub is: String,
}

/// The last boot that answered.
fn last_boot<'a>(builds: &[BuildOf<'a>]) -> Option<&'a Boot> {
    let boots = builds.iter().flat_map(|of| {
        let boots = of.study.boots.iter();
        boots.filter(|boot| boot.build == of.build.number && boot.failure.is_none())
    });
    boots.max_by_key(|boot| boot.began)
}

/// Facts of the last boot that differ from those of the last boot before; and how many there is no room for.
pub(super) fn changed_facts(
    before: &[BuildOf<'_>],
    own: &[BuildOf<'_>],
) -> (Vec<ChangedFact>, usize) {
    let (Some(before), Some(own)) = (last_boot(before), last_boot(own)) else {
        return (Vec::new(), 0);
    };
    let gone = before
        .facts
        .keys()
        .filter(|name| !own.facts.contains_key(*name));
    let mut changed: Vec<ChangedFact> = own
        .facts
        .keys()
        .chain(gone)
        .filter(|name| before.facts.get(*name) != own.facts.get(*name))
        .map(|name| {
            let said = |boot: &Boot| {
                let fact = boot.facts.get(name);
                fact.map_or_else(|| "unknown".to_owned(), |value| clipped(value, 400))
            };
            ChangedFact {
                name: clipped(name, 200),
                was: said(before),
                is: said(own),
            }
        })
        .collect();
    let left_out = changed.len().saturating_sub(MOST_FACTS);
    changed.truncate(MOST_FACTS);
    (changed, left_out)
}
