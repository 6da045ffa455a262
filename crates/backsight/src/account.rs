//! What a study came to, as the verb that made it tells it: its verb prints it, `show` and `report` write it again.

use backsight_model::ResultSet;
use backsight_policy::{By, CompareOptions, compare, compare_by};
use backsight_report::{
    Look,
    comparison::{ComparisonFormat, DisplayOptions, render},
    json, json_line,
};
use backsight_site::OverheadStory;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use serde::Serialize;

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
    Overhead(Box<StudyRow>, Box<OverheadStory>),
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

/// The last line of a verb's events.
#[derive(Serialize)]
struct Event<'a, T> {
    event: &'static str,
    verb: &'a str,
    #[serde(flatten)]
    verdict: T,
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
        Ok(match self {
            Self::Attempt(account) => account.words().document().text(look),
            Self::Bisect(account) => account.words().document().text(look),
            Self::Noise(account) => account.words().document().text(look),
            Self::Overhead(_, story) => story.document().text(look),
            Self::Search(row, kept) => {
                let words = kept.words();
                words.document(row.name.as_str(), &kept.verdict).text(look)
            }
            Self::Results(_, results) => {
                let look = DisplayOptions {
                    width: look.width,
                    colour: look.colour,
                    all_metrics,
                    ..DisplayOptions::default()
                };
                render(&results.comparison(), None, ComparisonFormat::Text, &look)
                    .into_diagnostic()?
            }
        })
    }

    /// It for a pull request or a mail.
    pub fn markdown(&self) -> miette::Result<String> {
        Ok(match self {
            Self::Attempt(account) => account.words().document().markdown(),
            Self::Bisect(account) => account.words().document().markdown(),
            Self::Noise(account) => account.words().document().markdown(),
            Self::Overhead(_, story) => story.document().markdown(),
            Self::Search(row, kept) => {
                let words = kept.words();
                words.document(row.name.as_str(), &kept.verdict).markdown()
            }
            Self::Results(_, results) => {
                let look = DisplayOptions::default();
                render(
                    &results.comparison(),
                    None,
                    ComparisonFormat::Markdown,
                    &look,
                )
                .into_diagnostic()?
            }
        })
    }

    /// It as one document for a program.
    pub fn json(&self) -> miette::Result<String> {
        match self {
            Self::Attempt(account) => json(&account.shape()),
            Self::Bisect(account) => json(&account.shape()),
            Self::Noise(account) => json(&account.shape()),
            Self::Overhead(_, story) => json(&overhead::shape(story)),
            Self::Search(row, kept) => json(&search::shape(kept, &row.name)),
            Self::Results(_, results) => {
                let look = DisplayOptions::default();
                render(&results.comparison(), None, ComparisonFormat::Json, &look)
            }
        }
        .into_diagnostic()
    }

    /// It as the last line of events; nothing where a study only measured.
    pub fn event(&self) -> miette::Result<String> {
        fn line<T: Serialize>(verb: &str, verdict: T) -> miette::Result<String> {
            let event = "verdict";
            json_line(&Event {
                event,
                verb,
                verdict,
            })
            .into_diagnostic()
        }
        match self {
            Self::Attempt(account) => line(account.verb, account.shape()),
            Self::Bisect(account) => line(bisect::VERB, account.shape()),
            Self::Noise(account) => line(noise::VERB, account.shape()),
            Self::Overhead(_, story) => line(overhead::VERB, overhead::shape(story)),
            Self::Search(row, kept) => line(search::VERB, search::shape(kept, &row.name)),
            Self::Results(..) => Ok(String::new()),
        }
    }

    /// It as one self-contained HTML file.
    pub async fn page(&self, store: &Store) -> miette::Result<String> {
        let (row, story, kept) = match self {
            Self::Attempt(account) => return account.words().page().into_diagnostic(),
            Self::Bisect(account) => return account.words().page().into_diagnostic(),
            Self::Noise(account) => return account.words().page().into_diagnostic(),
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
            Some(kept) => {
                backsight_site::report_of_search(&collected, &kept.words(), &kept.verdict)
            }
            None => backsight_site::report(&collected),
        }
        .into_diagnostic()
    }
}
