//! Sets: plans that come with the program, for who wants to know how a machine does at something without writing one.

use backsight_model::{DocumentError, Plan, TomlDocument};

/// Name and text of each set.
const SETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sets.rs"));

/// A plan that comes with the program.
#[derive(Debug)]
pub struct BenchmarkSet {
    /// Its name.
    pub name: &'static str,
    /// The plan, as it is written.
    pub document: TomlDocument,
    /// What it says.
    pub plan: Plan,
}

/// The sets, in the order of the alphabet.
///
/// # Errors
/// One is no plan; a test sees to it that none is.
pub fn benchmark_sets() -> Result<Vec<BenchmarkSet>, DocumentError> {
    let sets = SETS.iter().map(|(name, text)| {
        let document = TomlDocument::new(format!("set {name}"), *text);
        let plan = Plan::read(&document)?;
        Ok(BenchmarkSet {
            name,
            document,
            plan,
        })
    });
    sets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, CatalogError};
    use backsight_model::{BenchmarkLookupError, BenchmarkName, Lab};
    use std::time::Duration;

    #[test]
    fn every_set_can_be_measured_and_says_what_it_is_good_for() {
        let catalog = Catalog::load(&[]).unwrap();
        let sets = benchmark_sets().unwrap();
        let names: Vec<&str> = sets.iter().map(|set| set.name).collect();
        assert!(names.contains(&"quick"), "{names:?}");
        for set in sets {
            assert!(
                set.plan.about.is_some() && set.plan.takes.is_some(),
                "{}",
                set.name
            );
            let find = |name: &BenchmarkName| -> Result<_, BenchmarkLookupError<CatalogError>> {
                let found = catalog.find(name).unwrap();
                let found = found.unwrap_or_else(|| panic!("{}: {name}", set.name));
                Ok(found.benchmark.clone())
            };
            let arranged = set.plan.arrange(&set.document, &Lab::this_machine(), find);
            arranged.unwrap_or_else(|why| panic!("{}: {why}", set.name));
            if set.name == "quick" {
                assert!(set.plan.takes.unwrap().0 <= Duration::from_secs(300));
            }
        }
    }
}
