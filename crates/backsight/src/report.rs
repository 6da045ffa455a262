//! `backsight report`: studies as one self-contained page.

use backsight_policy::{By, CompareOptions, Comparison, compare, compare_by};
use backsight_store::Store;
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{attempt, cli::Shared, files, overhead};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// Studies, by name or number; the first is the baseline of the others
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<String>,
    /// The page's file; else NAME.html
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With one study: which of its parts the page compares, `variant` or a parameter; else its variants, if
    /// there are several
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
}

impl Report {
    /// Writes the page and says where.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut studies = Vec::new();
            for asked in &self.studies {
                studies.push(store.study(asked).await.into_diagnostic()?);
            }
            if let [study] = &studies[..]
                && study.verb == attempt::VERB
            {
                let account = attempt::Account::of(&store, study.id).await?;
                let page = account.words().page().into_diagnostic()?;
                return self.write(study.name.as_str(), &page);
            }
            let ids: Vec<_> = studies.iter().map(|study| study.id).collect();
            let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
            let story = match &studies[..] {
                [only] => overhead::story(&store, only).await?,
                _ => None,
            };
            let comparison = match story {
                Some(_) => None,
                None => self.comparison(&store, &ids).await?,
            };
            let title = names.join(" and ");
            let collected = backsight_site::report_of(&store, title, &ids, comparison).await;
            let mut collected = collected.into_diagnostic()?;
            collected.overhead = story;
            let sets: Vec<_> = collected
                .studies
                .iter()
                .map(|study| &study.results)
                .collect();
            let known = overhead::known_costs(&store, sets).await?;
            collected.notes = known.iter().map(ToString::to_string).collect();
            let page = backsight_site::report(&collected).into_diagnostic()?;
            self.write(&names.join("-"), &page)
        })
    }

    fn write(&self, name: &str, page: &str) -> miette::Result<ExitCode> {
        let otherwise = || PathBuf::from(format!("{name}.html"));
        let path = self.output.clone().unwrap_or_else(otherwise);
        files::write_whole(&path, page)?;
        files::print(&format!("wrote {}\n", path.display()))?;
        Ok(ExitCode::SUCCESS)
    }

    async fn comparison(
        &self,
        store: &Store,
        studies: &[backsight_store::StudyId],
    ) -> miette::Result<Option<Comparison>> {
        let options = CompareOptions::default();
        let mut sets = Vec::new();
        for study in studies {
            sets.push(store.result_set(*study).await.into_diagnostic()?);
        }
        match (&self.by, &sets[..]) {
            (Some(by), [only]) => compare_by(only, by, options).into_diagnostic().map(Some),
            (Some(by), _) => Err(miette::miette!(
                help = format!(
                    "name one study: `backsight report {} --by {by}`",
                    self.studies[0]
                ),
                "--by compares the parts of one study, and {} were named",
                self.studies.len()
            )),
            // A study without variants has nothing to compare; its page shows what it measured.
            (None, [only]) => Ok(compare_by(only, &By::Variant, options).ok()),
            (None, sets) => Ok(Some(compare(sets, options))),
        }
    }
}
