//! `backsight report`: studies as one self-contained page.

use backsight_model::ResultSet;
use backsight_policy::{CompareOptions, Comparison, SplitKey, compare, compare_by};
use backsight_report::{
    Format, TerminalStyle,
    comparison::{ComparedBackground, ComparisonFormat, DisplayOptions, render},
};
use backsight_site::Surroundings;
use backsight_store::{Store, StudyRow};
use backsight_study::{
    VerdictReport, compare_parts, compared_background, measurement_warnings, refuse_sides,
    result_sets,
    verbs::{Verb as _, run::RunVerb, step::StepVerb},
};
use miette::IntoDiagnostic as _;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{common_options::CommonOptions, files, output::chosen};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Studies, by name or number; the first is the baseline of the others
    #[arg(required = true, value_name = "STUDY")]
    studies: Vec<String>,
    /// The file; else NAME.html. Its name says how it is written: .html, .md for a pull request or a mail, .json, .txt
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With one study: which of its parts the page compares, `variant` or a parameter; else its variants, if
    /// there are several
    #[arg(long, value_name = "WHAT")]
    by: Option<SplitKey>,
}

impl ReportArgs {
    /// Writes the page and says where.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let mut studies = Vec::new();
            for asked in &self.studies {
                studies.push(store.study(asked).await.into_diagnostic()?);
            }
            let format = self.format(&studies)?;
            if let [study] = &studies[..]
                && (self.by.is_none() || study.verb != RunVerb::NAME)
                && (study.target.is_none() || study.verb != StepVerb::NAME)
            {
                let verdict = VerdictReport::from_store(&store, study).await?;
                let text = match format {
                    Format::Html => {
                        backsight_server::into_page(
                            study,
                            verdict,
                            &store,
                            &Surroundings::default(),
                        )
                        .await?
                    }
                    format => backsight_server::render(
                        &verdict,
                        format,
                        &TerminalStyle::default(),
                        false,
                    )?,
                };
                return self.write(study.name.as_str(), &text);
            }
            for study in &studies {
                refuse_sides(study)?;
            }
            let ids: Vec<_> = studies.iter().map(|study| study.id).collect();
            let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
            let (comparison, sets) = self.comparison(&store, &studies).await?;
            let background = match &comparison {
                Some(comparison) => Some(compared_background(&store, &ids, comparison).await?),
                None => None,
            };
            let known = |(comparison, background): (&Comparison, &ComparedBackground)| {
                let options = DisplayOptions::default();
                let write = |format| render(comparison, background, format, &options);
                match format {
                    Format::Text => Some(write(ComparisonFormat::Text)),
                    Format::Markdown => Some(write(ComparisonFormat::Markdown)),
                    Format::Json => Some(write(ComparisonFormat::Json)),
                    Format::Html => None,
                }
            };
            if let Some(text) = comparison.as_ref().zip(background.as_ref()).and_then(known) {
                return self.write(&names.join("-"), &text.into_diagnostic()?);
            }
            let title = names.join(" and ");
            let collected = backsight_site::report_of_sets(&store, title, sets, comparison).await;
            let mut collected = collected.into_diagnostic()?;
            if let Some(background) = background {
                collected.background = background;
            }
            let sets: Vec<_> = collected
                .studies
                .iter()
                .map(|study| &study.results)
                .collect();
            let known = measurement_warnings(&store, sets).await?;
            collected.notes = known.iter().map(ToString::to_string).collect();
            if let ([study], [collected_study]) = (&studies[..], &collected.studies[..])
                && let Some(target) = study.target.as_ref().filter(|_| self.by.is_none())
            {
                let set = &collected_study.results;
                let versions = backsight_server::versions_of_study(&store, study, target, set);
                collected.versions = Some(versions.await?);
            }
            let page = backsight_site::report(&collected, &Surroundings::default());
            self.write(&names.join("-"), &page.into_diagnostic()?)
        })
    }

    /// The format of the file's name.
    fn format(&self, studies: &[StudyRow]) -> miette::Result<Format> {
        let format = chosen(None, self.output.as_deref(), Format::Html)?;
        let is_history = |study: &StudyRow| study.verb == StepVerb::NAME && study.target.is_some();
        match studies {
            [study] if is_history(study) && format != Format::Html => Err(miette::miette!(
                help = format!(
                    "backsight show {} -o {}",
                    study.name,
                    self.output
                        .as_deref()
                        .unwrap_or(Path::new("FILE"))
                        .display()
                ),
                "the report of a study along a history is a page"
            )),
            _ => Ok(format),
        }
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
        studies: &[StudyRow],
    ) -> miette::Result<(Option<Comparison>, Vec<ResultSet>)> {
        let options = CompareOptions::default();
        let ids: Vec<_> = studies.iter().map(|study| study.id).collect();
        let sets = result_sets(store, &ids).await?;
        let comparison = match (&self.by, &sets[..]) {
            (Some(by), sets) => {
                Some(compare_parts(store, "report", (studies, sets), by, options).await?)
            }
            // A study without variants has nothing to compare; its page shows what it measured.
            (None, [only]) => compare_by(only, &SplitKey::Variant, options).ok(),
            (None, sets) => Some(compare(sets, options)),
        };
        Ok((comparison, sets))
    }
}
