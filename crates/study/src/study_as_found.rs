//! Studies of software as it is found: beginning, going on, measuring. [`crate::HistoryStudy`] does the same along a history.

use backsight_model::{Cell, StudyName, TestbedName};
use backsight_policy::Policy;
use backsight_store::{Store, StudyRow};
use miette::IntoDiagnostic as _;
use std::sync::Arc;

use crate::{
    EndedStudy, Measurer, Progress, ResolvedPlan, Session, SessionOptions, StudyOutcome,
    StudySetup, TestbedMeasurer,
    free_hosts::lease_free_hosts,
    host_records::store_records_at_end,
    reference::{BesideReference, Reference},
    reservation_wait::await_reservations,
    resolved_plan::Naming,
    study_loop::{evidence_with_figures, run_study_loop},
    verbs::{Resumed, run::RunVerb},
};

/// The testbeds that measure at once with the plan's own: only `run` has any.
fn more_testbeds(plan: &ResolvedPlan) -> &[TestbedName] {
    let run = plan.question.choices.of_verb::<RunVerb>();
    run.map_or(&[], |run| &run.more_testbeds)
}

/// A plan whose hosts are leased, before there is a study of it.
pub(crate) struct LeasedPlan<'a> {
    /// The plan.
    pub(crate) plan: ResolvedPlan,
    /// Its hosts.
    pub(crate) session: Session,
    /// Its cells on these hosts.
    pub(crate) cells: Vec<Cell>,
    store: &'a Store,
    naming: Naming,
}

impl<'a> LeasedPlan<'a> {
    /// Leases the hosts of the plan's testbeds and starts their agents.
    pub(crate) async fn open(
        mut plan: ResolvedPlan,
        verb: &str,
        store: &'a Store,
        name: Option<StudyName>,
        options: &SessionOptions,
    ) -> miette::Result<Self> {
        let naming = Naming::new(store, name, verb).await?;
        let more = more_testbeds(&plan).to_vec();
        await_reservations(store, &plan.testbeds(&more)?, options).await?;
        let leased = lease_free_hosts(&mut plan, &more, &naming.name, options).await?;
        let testbeds = plan.testbeds(&more)?;
        let session = Session::open(&testbeds, &naming.name, options, leased).await?;
        Ok(Self {
            cells: session.cells()?,
            plan,
            session,
            store,
            naming,
        })
    }

    /// Stores the study, with the plan's choices and these cells.
    pub(crate) async fn create_study(self, cells: &[Cell]) -> miette::Result<StudyAsFound<'a>> {
        let new = self.plan.new_study(self.naming.name.clone(), cells, None)?;
        let id = self.naming.create(self.store, new, None).await?;
        Ok(StudyAsFound {
            row: self.store.study_of(id).await.into_diagnostic()?,
            plan: self.plan,
            store: self.store,
            session: self.session,
            was_killed: false,
        })
    }
}

/// A study that is about to be measured.
pub(crate) struct StudyAsFound<'a> {
    /// Its plan.
    pub(crate) plan: ResolvedPlan,
    /// The study as it was stored.
    pub(crate) row: StudyRow,
    /// Where it is stored.
    pub(crate) store: &'a Store,
    session: Session,
    was_killed: bool,
}

impl<'a> StudyAsFound<'a> {
    /// Goes on with a study; `adapt` changes its plan before the hosts are leased.
    pub(crate) async fn resume(
        resumed: Resumed<'a>,
        options: &SessionOptions,
        adapt: impl FnOnce(&mut ResolvedPlan) -> miette::Result<()>,
    ) -> miette::Result<Self> {
        let row = resumed.study;
        let mut plan = ResolvedPlan::new(resumed.question, resumed.catalog, row.seed)?;
        adapt(&mut plan)?;
        let testbeds = plan.testbeds(more_testbeds(&plan))?;
        await_reservations(resumed.store, &testbeds, options).await?;
        Ok(Self {
            session: Session::open(&testbeds, &row.name, options, None).await?,
            was_killed: row.was_killed(),
            store: resumed.store,
            plan,
            row,
        })
    }

    /// Prepares the hosts for `cells`, measures what a policy asks for, `rounds` at most (0: nobody knows beforehand), and
    /// ends the agents.
    pub(crate) async fn measure<P: Policy>(
        self,
        cells: &[Cell],
        policy: &P,
        rounds: u32,
        conclude: impl AsyncFnOnce(StudyRow, Progress<P::Verdict>) -> miette::Result<EndedStudy>,
    ) -> miette::Result<StudyOutcome> {
        let through = |testbed| testbed;
        self.measure_through(through, cells, policy, rounds, conclude)
            .await
    }

    /// The same through a measurer that is made of the testbed.
    pub(crate) async fn measure_through<P: Policy, M: Measurer + Into<TestbedMeasurer>>(
        self,
        mut measurer: impl FnMut(TestbedMeasurer) -> M,
        cells: &[Cell],
        policy: &P,
        rounds: u32,
        conclude: impl AsyncFnOnce(StudyRow, Progress<P::Verdict>) -> miette::Result<EndedStudy>,
    ) -> miette::Result<StudyOutcome> {
        let Self {
            plan,
            row,
            store,
            mut session,
            was_killed,
        } = self;
        session.prepare(store, row.id, cells, was_killed).await?;
        let cells = store.cells(row.id).await.into_diagnostic()?;
        let evidence = evidence_with_figures(store, row.id).await;
        let evidence = evidence.into_diagnostic()?;
        let study = StudySetup {
            rounds,
            on_failure: plan.arrangement.on_failure,
            testbeds: session.testbeds(),
            ..StudySetup::as_found(&row, cells.clone(), &evidence)
        };
        let reference = Reference::open(store, &row, &plan, &mut session, cells.len());
        let reference = reference.await?;
        let are_several = !session.others.is_empty();
        let conductors = std::iter::once(session.conductor).chain(session.others);
        let measurers = conductors.map(|conductor| {
            measurer(TestbedMeasurer {
                conductor,
                catalog: Arc::clone(&plan.catalog),
                cells: cells.clone(),
                stop: session.stop.clone(),
                names_testbed: are_several,
            })
        });
        let mut measurers = BesideReference::all(measurers, reference, study.trials);
        let events = &session.events;
        let ended = run_study_loop(policy, study, evidence, store, &mut measurers, events).await;
        let is_over = ended
            .as_ref()
            .is_ok_and(|progress| progress.stopped.is_none());
        for measurer in measurers {
            let conductor = measurer.finish(is_over).await.into().conductor;
            store_records_at_end(store, row.id, &conductor, events).await;
            conductor.finish().await;
        }
        match ended {
            Ok(progress) => {
                let row = store.study_of(row.id).await.into_diagnostic()?;
                StudyOutcome::from_ended(conclude(row, progress).await?, events)
            }
            Err(error) => Ok(StudyOutcome::BrokeOff {
                name: row.name,
                error,
            }),
        }
    }
}
