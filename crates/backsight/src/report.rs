//! `backsight report`: studies as one self-contained page.

use backsight_policy::{By, CompareOptions, Comparison, compare, compare_by};
use backsight_store::Store;
use miette::IntoDiagnostic as _;
use std::{path::PathBuf, process::ExitCode};

use crate::{account::Account, attempt, cli::Shared, files, overhead};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Report {
    /// Studies, by name or number; the first is the baseline of the others
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<String>,
    /// The page's file; else NAME.html. A bisection is written as Markdown, for a mail, if it ends in .md
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
                && let Some(account) = Account::of(&store, study).await?
            {
                let is_mail = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
                let mail = match self.output.as_ref().is_some_and(is_mail) {
                    true => account.markdown(),
                    false => None,
                };
                let text = mail.map_or_else(|| account.page(), Ok)?;
                return self.write(study.name.as_str(), &text);
            }
            for study in &studies {
                attempt::refuse_sides(study)?;
            }
            let ids: Vec<_> = studies.iter().map(|study| study.id).collect();
            let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
            let search = match &studies[..] {
                [only] if only.verb == crate::search::VERB && self.by.is_none() => {
                    Some(crate::search::Kept::read(&store, only).await?)
                }
                _ => None,
            };
            let story = match &studies[..] {
                [only] => overhead::story(&store, only).await?,
                _ => None,
            };
            let comparison = match search.is_some() || story.is_some() {
                true => None,
                false => self.comparison(&store, &ids).await?,
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
            let page = match &search {
                Some(kept) => {
                    backsight_site::report_of_search(&collected, &kept.words(), &kept.verdict)
                }
                None => backsight_site::report(&collected),
            };
            self.write(&names.join("-"), &page.into_diagnostic()?)
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
