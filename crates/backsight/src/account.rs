//! What a study came to, as the verb that made it tells it: its verb prints it, `show` and `report` write it again.

use backsight_model::ResultSet;
use backsight_policy::{By, CompareOptions, compare, compare_by};
use backsight_report::{
    Format, Look, Render as _,
    comparison::{self, ComparisonFormat, DisplayOptions},
    overhead::OverheadStudy,
};
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;

use crate::{attempt, bisect, noise, overhead, search, until};

/// A verdict with everything that is told of it.
pub enum Account {
    /// Sides, side by side.
    Attempt(Box<attempt::Account>),
    /// The changes along a history.
    Bisect(Box<bisect::Account>),
    /// How much it varies.
    Noise(Box<noise::Account>),
    /// What watching costs.
    Overhead(Box<StudyRow>, Box<OverheadStudy>),
    /// The highest loads.
    Search(Box<StudyRow>, Box<search::Kept>),
    /// What was measured.
    Results(Box<StudyRow>, Box<Results>),
}

/// A result set by itself.
pub struct Results {
    set: ResultSet,
    known: Vec<backsight_policy::Warning>,
}

impl Results {
    fn comparison(&self) -> backsight_policy::Comparison {
        let mut alone = compare(std::slice::from_ref(&self.set), CompareOptions::default());
        alone.warnings.extend(self.known.iter().cloned());
        alone
    }
}

impl Account {
    /// Of a study.
    pub async fn of(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let row = || Box::new(study.clone());
        Ok(match study.verb.as_str() {
            attempt::VERB => Self::Attempt(Box::new(attempt::Account::of(store, study.id).await?)),
            bisect::VERB => Self::Bisect(Box::new(bisect::Account::of(store, study).await?)),
            noise::VERB => Self::Noise(Box::new(noise::Account::of(store, study).await?)),
            search::VERB => Self::Search(row(), Box::new(search::Kept::read(store, study).await?)),
            _ => match (
                overhead::story(store, study).await?,
                until::account(store, study).await?,
            ) {
                (Some(story), _) => Self::Overhead(row(), Box::new(story)),
                (None, Some(account)) => Self::Attempt(Box::new(account)),
                (None, None) => {
                    let set = store.result_set(study.id).await.into_diagnostic()?;
                    let known = overhead::known_costs(store, [&set]).await?;
                    Self::Results(row(), Box::new(Results { set, known }))
                }
            },
        })
    }

    /// It as the terminal shows it; of results the primary metrics.
    pub fn text(&self, look: &Look) -> miette::Result<String> {
        self.text_of(look, false)
    }

    /// It as the terminal shows it, with every metric.
    pub fn text_in_full(&self, look: &Look) -> miette::Result<String> {
        self.text_of(look, true)
    }

    fn text_of(&self, look: &Look, all_metrics: bool) -> miette::Result<String> {
        let options = DisplayOptions {
            width: look.width,
            colour: look.colour,
            all_metrics,
            ..DisplayOptions::default()
        };
        self.written(Format::Text, look, &options)
    }

    /// It for a pull request or a mail.
    pub fn markdown(&self) -> miette::Result<String> {
        self.written(
            Format::Markdown,
            &Look::default(),
            &DisplayOptions::default(),
        )
    }

    /// It as one document for a program.
    pub fn json(&self) -> miette::Result<String> {
        self.written(Format::Json, &Look::default(), &DisplayOptions::default())
    }

    /// It in one of the formats that need nothing else of the store.
    fn written(
        &self,
        format: Format,
        look: &Look,
        options: &DisplayOptions,
    ) -> miette::Result<String> {
        match self {
            Self::Attempt(account) => account.study().render(format, look),
            Self::Bisect(account) => account.study().render(format, look),
            Self::Noise(account) => account.study().render(format, look),
            Self::Overhead(_, study) => study.render(format, look),
            Self::Search(row, kept) => kept.study(&row.name).render(format, look),
            Self::Results(_, results) => {
                let format = match format {
                    Format::Markdown => ComparisonFormat::Markdown,
                    Format::Json => ComparisonFormat::Json,
                    Format::Text | Format::Html => ComparisonFormat::Text,
                };
                comparison::render(&results.comparison(), None, format, options)
            }
        }
        .into_diagnostic()
    }

    /// It as the last line of events; nothing where a study only measured.
    pub fn event(&self) -> miette::Result<String> {
        match self {
            Self::Attempt(account) => account.study().event(account.verb),
            Self::Bisect(account) => account.study().event(bisect::VERB),
            Self::Noise(account) => account.study().event(noise::VERB),
            Self::Overhead(_, study) => study.event(overhead::VERB),
            Self::Search(row, kept) => kept.study(&row.name).event(search::VERB),
            Self::Results(..) => Ok(String::new()),
        }
        .into_diagnostic()
    }

    /// It as one self-contained HTML file.
    pub async fn page(&self, store: &Store) -> miette::Result<String> {
        let (row, story, kept) = match self {
            Self::Attempt(account) => {
                return backsight_site::try_page(&account.study()).into_diagnostic();
            }
            Self::Bisect(account) => {
                return backsight_site::bisect_page(&account.study()).into_diagnostic();
            }
            Self::Noise(account) => {
                return backsight_site::noise_page(&account.study()).into_diagnostic();
            }
            Self::Overhead(row, story) => (row, Some(&**story), None),
            Self::Search(row, kept) => (row, None, Some(kept)),
            Self::Results(row, _) => (row, None, None),
        };
        let comparison = match self {
            // A study without variants has nothing to compare; its page shows what it measured.
            Self::Results(_, results) => {
                compare_by(&results.set, &By::Variant, CompareOptions::default()).ok()
            }
            _ => None,
        };
        let title = row.name.to_string();
        let collected = backsight_site::report_of(store, title, &[row.id], comparison).await;
        let mut collected = collected.into_diagnostic()?;
        if let Some(comparison) = &collected.comparison {
            collected.more_rounds =
                crate::compare::more_rounds(store, &[row.id], comparison).await?;
        }
        collected.overhead = story.cloned();
        let sets = collected.studies.iter().map(|study| &study.results);
        let known = overhead::known_costs(store, sets.collect::<Vec<_>>()).await?;
        collected.notes = known.iter().map(ToString::to_string).collect();
        match kept {
            Some(kept) => backsight_site::report_of_search(&collected, &kept.study(&row.name)),
            None => backsight_site::report(&collected),
        }
        .into_diagnostic()
    }
}
