//! `backsight resume`: goes on with a study where it stopped, measuring nothing twice.

use backsight_catalog::{Catalog, Monitors};
use backsight_model::Document;
use backsight_store::{Store, StudyRow};
use backsight_study::{Choices, Question, evidence_as_found};
use miette::IntoDiagnostic as _;
use std::{num::NonZeroU32, process::ExitCode};

use crate::{
    along::Asking,
    attempt, bisect,
    cli::Shared,
    files, noise,
    run::{self, Session, Watching},
    step,
};

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub struct Resume {
    /// The study: its name or its number
    study: String,
    /// Add so many rounds to it, also if it is finished
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,
    #[command(flatten)]
    watching: Watching,
}

impl Resume {
    /// Goes on with a study for so many rounds more.
    pub fn with_more(study: &str, rounds: NonZeroU32, watching: Watching) -> Self {
        Self {
            study: study.to_owned(),
            rounds: Some(rounds),
            watching,
        }
    }

    /// Goes on.
    pub fn execute(self, shared: &Shared) -> miette::Result<ExitCode> {
        self.watching.check()?;
        crate::block_on(async {
            let store = files::existing_store(shared).await?;
            let study = store.study(&self.study).await.into_diagnostic()?;
            if study.is_measuring() {
                return Err(miette::miette!(
                    help = "watch it, or stop it with ^C; then resume",
                    "study `{}` is running, in process {}",
                    study.name,
                    study.runner.as_ref().map_or(0, |runner| runner.pid)
                ));
            }
            if study.verb == crate::import::VERB {
                return Err(miette::miette!(
                    help = "import what was measured since as a study of its own, or all files together again",
                    "study `{}` was imported: there is nothing here to go on with",
                    study.name
                ));
            }
            let takes_rounds = [run::VERB, crate::overhead::VERB];
            if self.rounds.is_some() && !takes_rounds.contains(&study.verb.as_str()) {
                return Err(miette::miette!(
                    help = format!(
                        "`backsight resume {}` goes on with it; what it may take is its own verb's --budget",
                        study.name
                    ),
                    "study `{}` is of `{}`, which decides itself how much it measures: rounds can be added to studies of `run` and `overhead`",
                    study.name,
                    study.verb
                ));
            }
            // The definitions as they were when the study began: one result set, one way of measuring.
            let documents = store.documents(study.id).await.into_diagnostic()?;
            let of_kind = |kind: &str| -> Vec<Document> {
                let of_kind = documents.iter().filter(|document| document.kind == kind);
                of_kind
                    .map(|d| Document::new(d.name.clone(), d.text.as_str()))
                    .collect()
            };
            let monitors = Monitors::of_documents(of_kind("monitor"))?;
            let catalog = Catalog::of_documents(of_kind("benchmark"))?.with_monitors(monitors);
            let plan = of_kind("plan")
                .pop()
                .ok_or_else(|| miette::miette!("this study has no plan"))?;
            let choices: Choices = serde_json::from_str(&study.arguments).into_diagnostic()?;
            let along_history = choices.along().is_some();
            let mut question = Question {
                plan,
                lab: of_kind("lab").pop(),
                choices,
                along_history,
            };
            let watching = &self.watching;
            if study.verb == step::VERB {
                type Along = Asking<step::Stepping>;
                return Along::resume(&store, study, &documents, question, catalog, watching).await;
            }
            if study.verb == attempt::VERB {
                type Along = Asking<attempt::Attempting>;
                return Along::resume(&store, study, &documents, question, catalog, watching).await;
            }
            if study.verb == bisect::VERB {
                type Along = Asking<bisect::Bisecting>;
                return Along::resume(&store, study, &documents, question, catalog, watching).await;
            }
            if study.verb == noise::VERB {
                if along_history {
                    type Along = Asking<noise::Noising>;
                    return Along::resume(&store, study, &documents, question, catalog, watching)
                        .await;
                }
                return noise::AsFound::resume(&store, study, question, catalog, watching).await;
            }
            if study.verb == crate::search::VERB {
                let watching = &self.watching;
                return crate::search::resume(&store, study, question, catalog, watching).await;
            }
            if study.verb == crate::overhead::VERB {
                let watching = &self.watching;
                let asked = (&catalog, self.rounds);
                return crate::overhead::resume(&store, study, &question, asked, watching).await;
            }
            if let Some(more) = self.rounds {
                let arranged = question.arrange(&catalog)?.rounds;
                add_rounds(
                    &store,
                    &study,
                    &mut question.choices,
                    (arranged, more.get()),
                )
                .await?;
            }
            let arrangement = question.arrange(&catalog)?;
            let killed = study.was_killed();
            let cells = store.cells(study.id).await.into_diagnostic()?;
            let session = Session::open(&arrangement, &study.name, &self.watching).await?;
            session
                .measure(&store, study.id, &question.choices, cells, &catalog, killed)
                .await
        })
    }
}

/// Asks for so many rounds more, which is kept, so that a study that is stopped meanwhile goes on with them. One whose
/// variants were measured until they were decided has them behind its last round, in all its cells.
async fn add_rounds(
    store: &Store,
    study: &StudyRow,
    choices: &mut Choices,
    (arranged, more): (u32, u32),
) -> miette::Result<()> {
    let last = match (&choices.until, choices.from) {
        (Some(_), None) => {
            let evidence = evidence_as_found(store, study.id).await.into_diagnostic()?;
            let rounds = evidence.observations.iter().map(|seen| seen.request.round);
            let last = rounds.max().unwrap_or(0);
            choices.from = NonZeroU32::new(last.saturating_add(1));
            last
        }
        _ => arranged,
    };
    choices.rounds = NonZeroU32::new(last.saturating_add(more));
    let arguments = serde_json::to_string(choices).into_diagnostic()?;
    let kept = store.set_arguments(study.id, &arguments).await;
    kept.into_diagnostic()
}
