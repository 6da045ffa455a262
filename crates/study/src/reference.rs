//! The reference of a study: a testbed that always runs the same release. It is measured beside the study's own, so that what
//! drifts in the lab isn't taken for a change of the software.
//!
//! It is measured in a study of its own (verb `reference`), as it is found, by the loop of all studies: once in all cells before
//! the first trial, after every so many rounds of the study beside it, and after the last.

use backsight_conductor::{Conductor, Events, Listener};
use backsight_model::{BuildRecord, Cell, Event, StudyName, TargetName, TestbedName};
use backsight_policy::{ReferenceDrift, ReferenceStudy, Request, RunPolicy};
use backsight_store::{Store, StudyId, StudyRow};
use miette::IntoDiagnostic as _;
use serde::{Deserialize, Serialize};
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::sync::mpsc;

use crate::{
    Choices, Measurement, Measurer, ResolvedPlan, Session, StudySetup, TestbedMeasurer,
    Unmeasurable,
    host_records::store_records_at_end,
    question_identity::{QuestionPlace, question_identities},
    resolved_plan::Naming,
    session::prepare_testbeds,
    study_loop::{evidence_as_found, run_study_loop},
    verbs::{Verb as _, reference::ReferenceVerb},
    wanted_settings::wanted_settings,
};

/// Choices of a reference's study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceChoices {
    /// The study that it is measured beside.
    pub beside: StudyName,
    /// The testbed.
    pub testbed: TestbedName,
}

/// The reference of a study, ready to be measured.
pub(crate) struct Reference<'a> {
    store: &'a Store,
    study: StudyId,
    seed: u32,
    measurer: TestbedMeasurer,
    events: Events,
    /// So many trials of the study beside it are as many rounds as lie between two of its own.
    block: u32,
    /// Rounds that were measured, or tried.
    rounds: u32,
}

/// Whether the study beside a reference may go on.
enum Next {
    GoOn,
    Interrupted,
}

impl<'a> Reference<'a> {
    /// The reference of a study, which is made or gone on with; none where the plan asks for none.
    ///
    /// # Errors
    /// The plan has other cells on its machines, or the store refuses.
    pub(crate) async fn open(
        store: &'a Store,
        beside: &StudyRow,
        plan: &ResolvedPlan,
        session: &mut Session,
        cells: usize,
    ) -> miette::Result<Option<Self>> {
        let Some(mut conductor) = session.reference.take() else {
            return Ok(None);
        };
        let opened = Self::of_study(store, beside, plan, &mut conductor, session, cells).await;
        match opened {
            Ok((study, own, every)) => Ok(Some(Self {
                store,
                study: study.id,
                seed: study.seed,
                measurer: TestbedMeasurer {
                    conductor,
                    catalog: Arc::clone(&plan.catalog),
                    cells: own,
                    stop: session.stop.clone(),
                    names_testbed: false,
                },
                events: session.events.clone(),
                block: every
                    .get()
                    .saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX))
                    .max(1),
                rounds: 0,
            })),
            Err(fault) => {
                conductor.finish().await;
                Err(fault)
            }
        }
    }

    async fn of_study(
        store: &Store,
        beside: &StudyRow,
        plan: &ResolvedPlan,
        conductor: &mut Conductor,
        session: &Session,
        cells: usize,
    ) -> miette::Result<(StudyRow, Vec<Cell>, NonZeroU32)> {
        let reference = plan.reference()?;
        let (arrangement, every) =
            reference.ok_or_else(|| miette::miette!("the plan has no reference"))?;
        let testbed = arrangement.testbed.clone();
        let own = conductor.arrangement();
        let own = own.cells(|role| conductor.machine(role));
        let own = own.map_err(miette::Report::msg)?;
        if own.len() != cells {
            return Err(miette::miette!(
                help = "say in the plan what depends on the machine, or leave out [reference]",
                "testbed {testbed} can't be the reference: the plan has {cells} cells, and {} on its machines",
                own.len()
            ));
        }
        let known = of_study(store, &beside.name).await?;
        let (study, was_killed) = match known {
            Some((study, _)) => {
                let was_killed = study.was_killed();
                (study, was_killed)
            }
            None => {
                let mut as_found = plan.clone();
                as_found.question.along_history = false;
                as_found.question.choices = Choices {
                    verb: ReferenceChoices {
                        beside: beside.name.clone(),
                        testbed,
                    }
                    .into(),
                    ..plan.question.choices.clone()
                };
                as_found.arrangement = arrangement;
                let naming = Naming::beside(store, &beside.name, ReferenceVerb::NAME).await?;
                let mut new = as_found.new_study(naming.name.clone(), &own, None)?;
                let wanted =
                    wanted_settings(conductor.arrangement(), |host| conductor.machine_of(host))?;
                let place = QuestionPlace {
                    arrangement: conductor.arrangement(),
                    settings: &wanted,
                    machine: &[],
                };
                new.questions = question_identities(place, &own, |name| {
                    let found = plan.catalog.find(name).ok().flatten()?;
                    Some(found.document.clone())
                });
                let id = naming.create(store, new, None).await?;
                (store.study_of(id).await.into_diagnostic()?, false)
            }
        };
        let prepared = prepare_testbeds(
            vec![conductor],
            store,
            study.id,
            (&own, was_killed),
            &session.events,
        );
        prepared.await?;
        Ok((study, own, every))
    }

    fn testbed(&self) -> &TestbedName {
        &self.measurer.conductor.arrangement().testbed
    }

    /// Whether nothing of it runs on this machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.measurer.conductor.is_elsewhere()
    }

    /// Measures the rounds that are due when the study beside it has so many trials.
    async fn measure_due(&mut self, trials: u32) -> Result<Next, Unmeasurable> {
        self.measure_rounds(1 + trials / self.block).await
    }

    async fn measure_rounds(&mut self, rounds: u32) -> Result<Next, Unmeasurable> {
        if rounds <= self.rounds {
            return Ok(Next::GoOn);
        }
        self.rounds = rounds;
        let unkept = |error: String| Unmeasurable(format!("the reference can't be kept: {error}"));
        let evidence = evidence_as_found(self.store, self.study).await;
        let evidence = evidence.map_err(|error| unkept(error.to_string()))?;
        let row = self.store.study_of(self.study).await;
        let row = row.map_err(|error| unkept(error.to_string()))?;
        let policy = RunPolicy {
            cells: self.measurer.cells.len(),
            from: 1,
            rounds,
            seed: self.seed,
            testbeds: 1,
        };
        let failed_before = row.failed;
        let setup = StudySetup::as_found(&row, self.measurer.cells.clone(), &evidence);
        // The study beside it is what is watched; of this one only what is wrong.
        let quiet = Events::default();
        quiet.listen(Warnings(self.events.clone()));
        let measurers = std::slice::from_mut(&mut self.measurer);
        let ended = Box::pin(run_study_loop(
            &policy, setup, evidence, self.store, measurers, &quiet,
        ));
        let progress = ended.await.map_err(|error| unkept(error.to_string()))?;
        if progress.interrupted {
            return Ok(Next::Interrupted);
        }
        let testbed = self.testbed();
        if let Some(why) = progress.stopped {
            let message = format!("the reference {testbed} can't be measured now: {why}");
            self.events.emit(&Event::Warning { message });
        } else if progress.failed > failed_before {
            let message = format!(
                "the reference {testbed}: {} of {} trials failed",
                progress.failed - failed_before,
                self.measurer.cells.len()
            );
            self.events.emit(&Event::Warning { message });
        }
        Ok(Next::GoOn)
    }

    /// Measures it after the last trial of the study beside it, if that `ended`, and ends its agents.
    async fn finish(mut self, trials: u32, ended: bool) {
        if ended && trials > 0 {
            let last = self.measure_rounds(1 + trials.div_ceil(self.block)).await;
            if let Err(Unmeasurable(message)) = last {
                self.events.emit(&Event::Warning { message });
            }
        }
        if let Ok(row) = self.store.study_of(self.study).await {
            let message = format!(
                "the reference {} was measured beside: study {}, {} of {} trials failed",
                self.testbed(),
                row.name,
                row.failed,
                row.measured + row.failed
            );
            self.events.emit(&Event::Note { message });
        }
        let conductor = self.measurer.conductor;
        store_records_at_end(self.store, self.study, &conductor, &self.events).await;
        conductor.finish().await;
    }
}

/// Passes warnings on, and nothing else.
struct Warnings(Events);

impl Listener for Warnings {
    fn on_event(&mut self, event: &Event, _testbed: Option<&TestbedName>) {
        if matches!(event, Event::Warning { .. }) {
            self.0.emit(event);
        }
    }
}

/// A measurer of a study; the first one measures the reference too, whenever it is due.
pub(crate) struct BesideReference<'a, M> {
    pub(crate) measurer: M,
    reference: Option<Reference<'a>>,
    /// The trials of the study, of all its measurers.
    trials: Arc<AtomicU32>,
}

impl<'a, M> BesideReference<'a, M> {
    /// Measurers of a study that has so many trials already.
    pub(crate) fn all(
        measurers: impl IntoIterator<Item = M>,
        mut reference: Option<Reference<'a>>,
        trials: u32,
    ) -> Vec<Self> {
        let trials = Arc::new(AtomicU32::new(trials));
        let beside = measurers.into_iter().map(|measurer| Self {
            measurer,
            reference: reference.take(),
            trials: Arc::clone(&trials),
        });
        beside.collect()
    }

    /// The measurer by itself. The reference is measured a last time, where the study `ended`.
    pub(crate) async fn finish(self, ended: bool) -> M {
        if let Some(reference) = self.reference {
            reference
                .finish(self.trials.load(Ordering::Relaxed), ended)
                .await;
        }
        self.measurer
    }
}

impl<M: Measurer> Measurer for BesideReference<'_, M> {
    async fn measure(&mut self, request: Request) -> Result<Measurement, Unmeasurable> {
        if let Some(reference) = &mut self.reference {
            let trials = self.trials.load(Ordering::Relaxed);
            if let Next::Interrupted = reference.measure_due(trials).await? {
                return Ok(Measurement::Interrupted);
            }
        }
        let measured = self.measurer.measure(request).await;
        if let Ok(Measurement::Trial(_)) = measured {
            self.trials.fetch_add(1, Ordering::Relaxed);
        }
        measured
    }

    fn add_cell(&mut self, cell: Cell) {
        self.measurer.add_cell(cell);
    }

    fn background_builds(&mut self) -> Option<mpsc::UnboundedReceiver<Box<BuildRecord>>> {
        self.measurer.background_builds()
    }

    fn announce_requests(&mut self, coming: Vec<Request>) {
        self.measurer.announce_requests(coming);
    }
}

/// The study of a study's reference, with its choices; none where it has none.
async fn of_study(
    store: &Store,
    beside: &StudyName,
) -> miette::Result<Option<(StudyRow, ReferenceChoices)>> {
    let all = reference_studies(store).await?;
    Ok(all
        .into_iter()
        .find(|(_, choices)| choices.beside == *beside))
}

async fn reference_studies(store: &Store) -> miette::Result<Vec<(StudyRow, ReferenceChoices)>> {
    let studies = store.studies_of_verb(ReferenceVerb::NAME).await;
    let read = studies.into_diagnostic()?.into_iter().map(|study| {
        let choices = Choices::from_study(&study).into_diagnostic()?;
        let choices = choices.of_verb::<ReferenceVerb>()?.clone();
        Ok((study, choices))
    });
    read.collect()
}

/// The drift of what was measured beside the studies of a target.
///
/// # Errors
/// The store's own.
pub async fn reference_drift(store: &Store, target: &TargetName) -> miette::Result<ReferenceDrift> {
    let of_target = store.studies_of_target(target).await.into_diagnostic()?;
    let mut references = Vec::new();
    for (study, beside, testbed) in references_beside(store, &of_target).await? {
        references.push(ReferenceStudy {
            beside: beside.0,
            testbed,
            measured: store.study_history(study.id).await.into_diagnostic()?,
        });
    }
    Ok(ReferenceDrift::new(&references))
}

/// The studies of references that were measured beside these studies, each with the study beside it and the reference's testbed.
///
/// # Errors
/// The store's own.
pub(crate) async fn references_beside(
    store: &Store,
    studies: &[StudyRow],
) -> miette::Result<Vec<(StudyRow, StudyId, TestbedName)>> {
    let known = reference_studies(store).await?.into_iter();
    let known = known.filter_map(|(study, choices)| {
        // What it was measured beside may have been deleted.
        let beside = studies.iter().find(|it| it.name == choices.beside)?;
        Some((study, beside.id, choices.testbed))
    });
    Ok(known.collect())
}
