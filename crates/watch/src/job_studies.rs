//! Studies of a standing job: beginning them, and going on with them.

use backsight_history::Diff;
use backsight_model::{BenchmarkName, StudyName, Version};
use backsight_policy::StepOrder;
use backsight_store::{WatchStudy, WatchStudyPurpose};
use backsight_study::{
    BisectChoices, BuildContext, Choices, HistoryChoices, HistoryStudy, OpenTarget, Repeats,
    ResolvedPlan, StepChoices, StudyOutcome, TryChoices, resume,
    verbs::{
        VerbChoices,
        bisect::BisectVerb,
        step::StepVerb,
        try_patch::{self, MOST_PASSES, TryVerb},
    },
};
use miette::IntoDiagnostic as _;
use std::time::Duration;

use crate::{
    memory::{CONFIDENCE, JobCell, JobMemory, target_name},
    names::named,
    question::PairQuestion,
    standing_job::{JobPlace, StandingJob},
};

impl StandingJob {
    /// Keeps that a study is begun, before it is.
    pub(crate) async fn begin(
        &self,
        place: &JobPlace<'_>,
        target: &OpenTarget,
        purpose: WatchStudyPurpose,
        question: &impl serde::Serialize,
    ) -> miette::Result<WatchStudy> {
        let question = serde_json::to_string(question).into_diagnostic()?;
        let name = target_name(target);
        let begun = place.store.watch_studies(&self.name, &name).await;
        let begun = begun.into_diagnostic()?;
        // One that was to be begun and never was keeps its name.
        for earlier in begun.into_iter().rev() {
            let is_it = earlier.purpose == purpose && earlier.question == question;
            if is_it && place.store.study(earlier.study.as_str()).await.is_err() {
                return Ok(earlier);
            }
        }
        let added = place
            .store
            .add_watch_study(&self.name, &name, purpose, &question);
        added.await.into_diagnostic()
    }

    /// The plan for a verb, with these benchmarks alone; with all if none is named.
    fn plan_for(
        &self,
        benchmarks: Vec<BenchmarkName>,
        choices: impl Into<VerbChoices>,
    ) -> miette::Result<ResolvedPlan> {
        let mut plan = self.plan.clone();
        if !benchmarks.is_empty() {
            plan.question.choices.benchmarks = benchmarks;
        }
        Ok(plan.with_verb(choices)?)
    }

    fn along(&self, target: &OpenTarget) -> miette::Result<HistoryChoices> {
        Ok(HistoryChoices {
            folder: target.folder.clone(),
            layouts: target.sampled_layouts(None)?,
            retry: false,
            builds_ahead: false,
            more_testbeds: Vec::new(),
        })
    }

    pub(crate) async fn measure(
        &self,
        place: &JobPlace<'_>,
        target: &OpenTarget,
        study: &WatchStudy,
        version: Version,
        (is_whole, rounds): (bool, u32),
    ) -> miette::Result<StudyOutcome> {
        let along = self.along(target)?;
        let benchmarks = match is_whole {
            true => Vec::new(),
            false => self.sentinel.clone(),
        };
        let choices = StepChoices {
            folder: along.folder,
            wanted: vec![0],
            repeats: Repeats {
                again: rounds,
                reboot: 1,
                layouts: along.layouts,
            },
            order: StepOrder::Forward,
            skip_broken: false,
            until_stable: false,
            retry: false,
            builds_ahead: false,
        };
        let plan = self.plan_for(benchmarks, choices)?;
        let reach = &place.options.reach;
        let site = BuildContext::open(target.clone(), vec![version], Vec::new(), reach).await?;
        let name = Some(study.study.clone());
        let step = HistoryStudy::<StepVerb>::new(plan);
        step.begin(place.store, site, name, place.options).await
    }

    pub(crate) async fn bisect(
        &self,
        place: &JobPlace<'_>,
        target: &OpenTarget,
        study: &WatchStudy,
        versions: Vec<Version>,
        (cell, smallest, budget): (&JobCell, f64, Duration),
    ) -> miette::Result<StudyOutcome> {
        let choices = BisectChoices {
            history: self.along(target)?,
            metric: cell.full_metric(),
            cell: Some(cell.cell.clone()),
            trials: None,
            budget: Some(budget),
            confidence: CONFIDENCE,
            resolution: 1,
            smallest: Some(smallest),
            cancelling: false,
            command: format!("backsight resume {}", study.study),
        };
        let plan = self.plan_for(vec![cell.benchmark.clone()], choices)?;
        let reach = &place.options.reach;
        let site = BuildContext::open(target.clone(), versions, Vec::new(), reach).await?;
        let name = Some(study.study.clone());
        let bisection = HistoryStudy::<BisectVerb>::new(plan);
        bisection
            .begin(place.store, site, name, place.options)
            .await
    }

    /// Measures a version beside another by one cell.
    pub(crate) async fn side_by_side(
        &self,
        place: &JobPlace<'_>,
        target: &OpenTarget,
        study: &WatchStudy,
        (sides, diffs): (Vec<Version>, Vec<Diff>),
        (cell, equal, budget): (&JobCell, Option<f64>, Duration),
    ) -> miette::Result<StudyOutcome> {
        let choices = TryChoices {
            history: self.along(target)?,
            metrics: vec![cell.full_metric()],
            trials: 1,
            most: MOST_PASSES,
            first_boot: target.first_boot(place.store).await?,
            revisits: target.target.activate.boot.can_be_revisited(),
            budget: Some(budget),
            equal: equal.filter(|percent| *percent > 0.0),
            confidence: CONFIDENCE,
            called: None,
            check: None,
            cell: Some(cell.cell.clone()),
        };
        let plan = self.plan_for(vec![cell.benchmark.clone()], choices)?;
        let reach = &place.options.reach;
        let site = BuildContext::open(target.clone(), sides, diffs, reach).await?;
        let name = Some(study.study.clone());
        let beside = HistoryStudy::<TryVerb>::new(plan);
        try_patch::begin(beside, place.store, site, name, place.options).await
    }

    /// Goes on with a study, which may take so long in all.
    pub(crate) async fn go_on(
        &self,
        place: &JobPlace<'_>,
        memory: &JobMemory,
        study: &StudyName,
        budget: Option<Duration>,
    ) -> miette::Result<StudyOutcome> {
        let row = memory.row(study);
        let mut row = row
            .ok_or_else(|| miette::miette!("study {study} is gone"))?
            .clone();
        if budget.is_some() {
            let mut choices = Choices::from_study(&row).into_diagnostic()?;
            match &mut choices.verb {
                VerbChoices::Bisect(bisect) => bisect.budget = budget,
                VerbChoices::Try(beside) => beside.budget = budget,
                _ => {}
            }
            row.arguments = serde_json::to_string(&choices).into_diagnostic()?;
            let kept = place.store.set_arguments(row.id, &row.arguments).await;
            kept.into_diagnostic()?;
        }
        resume(place.store, row, None, place.options).await
    }

    /// Measures the newest version beside itself without a version's change.
    pub(crate) async fn revert(
        &self,
        place: &JobPlace<'_>,
        target: &OpenTarget,
        memory: &JobMemory,
        (cell, version): (&JobCell, &Version),
        budget: Duration,
    ) -> miette::Result<StudyOutcome> {
        let newest = memory.versions.last();
        let newest = newest.ok_or_else(|| miette::miette!("there is no version"))?;
        let asked = version.id.clone();
        let diff = target.query(move |history| Diff::revert(history, &asked));
        let diff = diff.await?;
        let without = Version {
            amendments: vec![diff.amendment.clone()],
            ..newest.clone()
        };
        let question = PairQuestion {
            cell: cell.cell.clone(),
            metric: cell.metric.clone(),
            version: version.id.clone(),
        };
        let study = self
            .begin(place, target, WatchStudyPurpose::Revert, &question)
            .await?;
        place.note(
            &self.name,
            &format!("measures {} without {}", named(newest), named(version)),
        );
        let sides = (vec![newest.clone(), without], vec![diff]);
        let asked = (cell, None, budget);
        self.side_by_side(place, target, &study, sides, asked).await
    }
}
