//! Facts of machines and of what was built that differ between sides that are compared.

use backsight_model::{Boot, HostRecordMap, differences_of_hosts};
use backsight_report::clipped;
use indexmap::IndexMap;

use super::book::BuildOf;

/// Most differences that are listed.
const MOST_FACTS: usize = 60;
/// Differences of less weight are another moment or another name.
const LEAST_WEIGHT: u8 = 6;

/// What differs, a row a fact.
#[derive(Default)]
pub(super) struct DifferingFacts {
    /// What the facts are of, a sentence.
    pub about: &'static str,
    /// The columns beside the fact's name.
    pub columns: Vec<String>,
    pub facts: Vec<DifferingFact>,
    pub left_out: usize,
}

/// A fact that differs.
pub(super) struct DifferingFact {
    pub name: String,
    /// Why it may explain a difference of what was measured; empty where that isn't known.
    pub reason: &'static str,
    /// What it is of each side.
    pub values: Vec<String>,
}

fn shown(value: Option<&String>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| clipped(value, 400))
}

impl DifferingFacts {
    /// Facts of the last boots of the builds of two versions.
    pub fn of_builds(before: &[BuildOf<'_>], own: &[BuildOf<'_>]) -> Self {
        let (Some(before), Some(own)) = (last_boot(before), last_boot(own)) else {
            return Self::default();
        };
        let gone = before
            .facts
            .keys()
            .filter(|name| !own.facts.contains_key(*name));
        let names = own.facts.keys().chain(gone);
        let facts = names
            .filter(|name| before.facts.get(*name) != own.facts.get(*name))
            .map(|name| DifferingFact {
                name: clipped(name, 200),
                reason: "",
                values: [before, own].map(|boot| shown(boot.facts.get(name))).into(),
            });
        Self::new(
            "Facts of the machine and of what was built, when each was booted last.",
            vec!["Was".to_owned(), "Is".to_owned()],
            facts.collect(),
        )
    }

    /// What the records of the hosts of sides say, what explains numbers most often first.
    pub fn of_records(names: &[String], records: &[HostRecordMap]) -> Self {
        let [base, others @ ..] = records else {
            return Self::default();
        };
        let mut found: IndexMap<String, (u8, DifferingFact)> = IndexMap::new();
        for (place, side) in others.iter().enumerate() {
            for (difference, hosts) in differences_of_hosts(base, side) {
                if difference.weight < LEAST_WEIGHT {
                    continue;
                }
                let hosts: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
                let name = match base.len() {
                    1 => difference.name.clone(),
                    _ => format!("{} ({})", difference.name, hosts.join(", ")),
                };
                // A side that differs in nothing has what the baseline has.
                let values = || vec![shown(difference.base.as_ref()); records.len()];
                let (_, fact) = found.entry(name.clone()).or_insert_with(|| {
                    let fact = DifferingFact {
                        name: clipped(&name, 200),
                        reason: difference.reason.unwrap_or_default(),
                        values: values(),
                    };
                    (difference.weight, fact)
                });
                fact.values[place + 1] = shown(difference.new.as_ref());
            }
        }
        let mut found: Vec<(u8, DifferingFact)> = found.into_values().collect();
        found.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        Self::new(
            "What the records say that studies make of their hosts when they begin; what explains numbers most often is first.",
            names.to_vec(),
            found.into_iter().map(|(_, fact)| fact).collect(),
        )
    }

    fn new(about: &'static str, columns: Vec<String>, mut facts: Vec<DifferingFact>) -> Self {
        let left_out = facts.len().saturating_sub(MOST_FACTS);
        facts.truncate(MOST_FACTS);
        Self {
            about,
            columns,
            facts,
            left_out,
        }
    }
}

/// The last boot that answered.
fn last_boot<'a>(builds: &[BuildOf<'a>]) -> Option<&'a Boot> {
    let boots = builds.iter().flat_map(|of| {
        let boots = of.study.boots.iter();
        boots.filter(|boot| boot.build == of.build.number && boot.failure.is_none())
    });
    boots.max_by_key(|boot| boot.began)
}
