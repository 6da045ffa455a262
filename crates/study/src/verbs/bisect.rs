//! `bisect`: the changes along a history that made a metric worse or better, each with its size and its probability; and
//! whether reverting them undoes them.

use backsight_history::Diff;
use backsight_model::{
    CellMetric, Event, HistoryCell, MetricName, StudyHistory, StudyName, TargetName, TomlDocument,
    Version, shell_quoted,
};
use backsight_policy::{
    BisectEnd, BisectPolicy, BisectVerdict, BisectedChange, ChangeAcceptance, ChangeLocation,
};
use backsight_report::bisect::{BisectStudy, CulpritCheck, RangeChanges};
use backsight_stats::{
    Interval,
    culprits::{BisectionGoal, IntervalEstimate},
};
use backsight_store::{Store, StudyDocument, StudyRow};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::time::Duration;

use super::{
    Resumed, Verb,
    bisect_checks::{CheckedChange, checks_of_changes},
    try_patch::{self, MOST_PASSES, TryVerb},
};
use crate::{
    BisectChoices, BuildContext, Choices, EndedLoop, EndedStudy, HistoryChoices, HistoryStudy,
    HistoryVerb, OpenTarget, PolicyInputs, ResolvedPlan, SessionOptions, StudyEnding, StudyOutcome,
    TryChoices, VerdictReport, evidence::evidence_for_study, free_name, open_target::no_target,
};

/// Measurements at most: more would not be asked by anybody who waits for it.
const MOST: usize = 5000;
/// Most culprits that are measured against the version before them.
const MOST_VERIFIED: usize = 10;
/// Least time for each of these measurements.
const LEAST_VERIFIED: Duration = Duration::from_secs(30);

/// The verb.
pub struct BisectVerb;

impl Verb for BisectVerb {
    const NAME: &'static str = "bisect";
    type Choices = BisectChoices;

    fn history(choices: &BisectChoices) -> Option<HistoryChoices> {
        Some(choices.history.clone())
    }

    async fn resume(
        resumed: Resumed<'_>,
        options: &SessionOptions,
    ) -> miette::Result<StudyOutcome> {
        HistoryStudy::<Self>::resume(resumed, options).await
    }

    async fn judge(store: &Store, study: &StudyRow) -> miette::Result<VerdictReport> {
        let report = BisectReport::from_store(store, study).await?;
        Ok(VerdictReport::Bisect(Box::new(report)))
    }
}

impl HistoryVerb for BisectVerb {
    const SHARES_EVIDENCE: bool = true;
    type Policy = BisectPolicy;

    fn policy(inputs: &PolicyInputs<'_>) -> miette::Result<BisectPolicy> {
        let choices = inputs.choices.of_verb::<Self>()?;
        policy(
            choices,
            (inputs.versions, 1 + choices.history.more_testbeds.len()),
            inputs.cells,
            inputs.revisits,
            inputs.seed,
        )
    }

    fn rounds(_choices: &Choices) -> u32 {
        // It goes on until the changes are known.
        0
    }

    async fn conclude(ended: EndedLoop<'_, BisectVerdict>) -> miette::Result<EndedStudy> {
        let EndedLoop {
            store,
            study,
            progress,
            ..
        } = ended;
        let report = BisectReport::from_store(store, &study).await?;
        let ending = match (&progress.stopped, report.verdict.ended) {
            (Some(_), _) => progress.ending(),
            (None, Some(BisectEnd::Decided)) => StudyEnding::Success,
            (None, Some(BisectEnd::End(_) | BisectEnd::Short)) => StudyEnding::Failed,
            (None, _) => StudyEnding::Undecided,
        };
        let verdict = VerdictReport::Bisect(Box::new(report));
        Ok(EndedStudy::new(study, verdict, progress, ending))
    }
}

/// How the changes that were found are verified.
pub struct Verification<'a> {
    /// Where studies are stored.
    pub store: &'a Store,
    /// The plan of the bisection.
    pub plan: &'a ResolvedPlan,
    /// Its target.
    pub target: &'a OpenTarget,
    /// Whether versions are built while other machines measure.
    pub builds_ahead: bool,
    /// How the testbed is leased and watched.
    pub options: &'a SessionOptions,
}

impl Verification<'_> {
    /// Measures whether reverting the changes undoes them: each culprit against the version before it, and the newest
    /// version against itself without the culprit. `show` is given each outcome. How it ended: as the user wants to stop,
    /// or well.
    ///
    /// # Errors
    /// A host can't be had, or the store refuses. A change that can't be reverted is only noted.
    pub async fn run(
        &self,
        report: &BisectReport,
        mut show: impl AsyncFnMut(StudyOutcome) -> miette::Result<()>,
    ) -> miette::Result<StudyEnding> {
        let mut show = async |outcome: StudyOutcome| -> miette::Result<bool> {
            let is_interrupted = outcome.ending() == StudyEnding::Interrupted;
            show(outcome).await?;
            Ok(is_interrupted)
        };
        if report.verdict.ended != Some(BisectEnd::Decided) {
            return Ok(StudyEnding::Success);
        }
        let culprits = report.verdict.culprits.iter();
        let places = culprits.map(|culprit| culprit.place);
        let single: Vec<ChangeLocation> = places.filter(|p| p.until - p.after == 1).collect();
        let budget = budget_of_each(report, 2 * single.len().min(MOST_VERIFIED));
        for (n, place) in single.iter().take(MOST_VERIFIED).enumerate() {
            if show(self.pair(report, n + 1, *place, budget).await?).await? {
                return Ok(StudyEnding::Interrupted);
            }
            let Some(newest) = report.history.versions.last() else {
                continue;
            };
            let culprit = &report.history.versions[place.until];
            match self.revert(report, n + 1, (newest, culprit), budget).await {
                Ok(outcome) => {
                    if show(outcome).await? {
                        return Ok(StudyEnding::Interrupted);
                    }
                }
                Err(why) => self.note(format!(
                    "{}: {} isn't taken back on top of {}: {why}; try a revert made by hand: backsight try … --at {} --patch FILE",
                    report.history.name, culprit.name, newest.name, newest.name
                )),
            }
        }
        Ok(StudyEnding::Success)
    }

    fn note(&self, message: String) {
        self.options.events.emit(&Event::Note { message });
    }

    async fn pair(
        &self,
        report: &BisectReport,
        number: usize,
        place: ChangeLocation,
        budget: Duration,
    ) -> miette::Result<StudyOutcome> {
        let versions = &report.history.versions;
        let sides = vec![versions[place.after].clone(), versions[place.until].clone()];
        let bisection = &report.history.name;
        self.note(format!(
            "{bisection}: {} beside the version before it",
            versions[place.until].name
        ));
        let name = format!("{bisection}-pair-{number}");
        let amended = (sides, Vec::new());
        self.side_by_side(report, &name, amended, budget).await
    }

    async fn revert(
        &self,
        report: &BisectReport,
        number: usize,
        (newest, culprit): (&Version, &Version),
        budget: Duration,
    ) -> miette::Result<StudyOutcome> {
        let asked = culprit.id.clone();
        let revert = self
            .target
            .query(move |history| Diff::revert(history, &asked))
            .await?;
        let without = Version {
            amendments: vec![revert.amendment.clone()],
            ..newest.clone()
        };
        let bisection = &report.history.name;
        self.note(format!(
            "{bisection}: {} with {} taken back",
            newest.name, culprit.name
        ));
        let name = format!("{bisection}-revert-{number}");
        let amended = (vec![newest.clone(), without], vec![revert]);
        self.side_by_side(report, &name, amended, budget).await
    }

    /// Measures sides as `try` does, by the metric that was bisected.
    async fn side_by_side(
        &self,
        report: &BisectReport,
        name: &str,
        (sides, diffs): (Vec<Version>, Vec<Diff>),
        budget: Duration,
    ) -> miette::Result<StudyOutcome> {
        let bisected = &report.choices;
        let choices = TryChoices {
            history: HistoryChoices {
                builds_ahead: self.builds_ahead,
                // Side by side on one machine.
                more_testbeds: Vec::new(),
                ..bisected.history.clone()
            },
            metrics: vec![bisected.metric.clone()],
            trials: bisected.trials.unwrap_or(1),
            most: MOST_PASSES,
            first_boot: self.target.first_boot(self.store).await?,
            revisits: self.target.target.activate.boot.can_be_revisited(),
            budget: Some(budget),
            equal: None,
            confidence: bisected.confidence,
            called: None,
            check: None,
            cell: None,
        };
        let plan = self.plan.with_verb(choices)?;
        let name: StudyName = match name.parse::<StudyName>() {
            Ok(name) if self.store.study(name.as_str()).await.is_err() => name,
            _ => free_name(self.store, TryVerb::NAME).await?,
        };
        let reach = &self.options.reach;
        let site = BuildContext::open(self.target.clone(), sides, diffs, reach).await?;
        let study = HistoryStudy::<TryVerb>::new(plan);
        try_patch::begin(study, self.store, site, Some(name), self.options).await
    }
}

/// Together they may take as long as the bisection took, and as its budget leaves.
fn budget_of_each(report: &BisectReport, number: usize) -> Duration {
    let spent = report.verdict.spent;
    let all = match report.choices.budget {
        Some(budget) => spent.min(budget.saturating_sub(spent)),
        None => spent,
    };
    (all / number.max(1) as u32).max(LEAST_VERIFIED)
}

/// The cells that have a metric, with their numbers.
fn cells_with<'a>(
    cells: &'a [HistoryCell],
    metric: &'a str,
) -> impl Iterator<Item = (usize, &'a HistoryCell, &'a CellMetric)> {
    cells.iter().enumerate().filter_map(move |(number, cell)| {
        let is_it =
            |name: &str| name == metric || format!("{}.{name}", cell.cell.benchmark) == metric;
        let found = cell.metrics.iter().find(|m| is_it(m.name.as_str()))?;
        Some((number, cell, found))
    })
}

fn policy(
    choices: &BisectChoices,
    (versions, testbeds): (usize, usize),
    cells: &[HistoryCell],
    revisits: bool,
    seed: u32,
) -> miette::Result<BisectPolicy> {
    let having: Vec<_> = cells_with(cells, &choices.metric).collect();
    let named = having.iter().filter(|(_, cell, _)| match &choices.cell {
        Some(asked) => cell.cell.to_string() == *asked,
        None => true,
    });
    let named: Vec<_> = named.collect();
    let [(cell, _, metric)] = named[..] else {
        let names: Vec<String> = having
            .iter()
            .map(|(_, cell, _)| format!("--cell {}", shell_quoted(&cell.cell.to_string())))
            .collect();
        return Err(miette::miette!(
            help = format!("say which, with one of: {}", names.join(", ")),
            "{} cells of the plan have the metric `{}`{}",
            having.len(),
            choices.metric,
            choices
                .cell
                .as_ref()
                .map_or_else(String::new, |cell| format!(", and none is `{cell}`"))
        ));
    };
    Ok(BisectPolicy {
        versions,
        cell: *cell,
        metric: metric.name.clone(),
        better: metric.better,
        testbeds,
        layouts: choices.history.layouts.len(),
        trials: choices.trials,
        revisits,
        goal: BisectionGoal {
            confidence: choices.confidence,
            resolution: choices.resolution,
            cancelling: choices.cancelling,
            ..BisectionGoal::default()
        },
        smallest: choices.smallest,
        budget: choices.budget,
        most: MOST,
        seed,
    })
}

/// The changes that the bisections of a target named, for its history; and a sentence for each bisection that is left out
/// because its verdict can't be made any more.
///
/// # Errors
/// The store's own.
pub async fn named_changes(
    store: &Store,
    target: &TargetName,
) -> miette::Result<(Vec<BisectedChange>, Vec<String>)> {
    let studies = store.studies_of_target(target).await.into_diagnostic()?;
    let is_bisection = |study: &&StudyRow| study.verb == BisectVerb::NAME;
    let bisections: Vec<&StudyRow> = studies.iter().filter(is_bisection).collect();
    if bisections.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let asked = store.requests_along(target).await.into_diagnostic()?;
    let (mut named, mut left_out) = (Vec::new(), Vec::new());
    for study in bisections {
        match Bisection::read(store, study, &asked).await {
            Ok(bisection) => named.extend(bisection.named_changes()),
            Err(why) => left_out.push(format!(
                "what {} came to isn't in the history: {why}",
                study.name
            )),
        }
    }
    Ok((named, left_out))
}

/// What a bisection came to, or where it stands. `asked` is all that studies of its target asked ([`Store::requests_along`]).
///
/// # Errors
/// The store's own, or a study that another program wrote.
pub async fn bisection_verdict(
    store: &Store,
    study: &StudyRow,
    asked: &[backsight_store::RequestRecord],
) -> miette::Result<BisectVerdict> {
    Ok(Bisection::read(store, study, asked).await?.verdict)
}

/// A bisection as the store has it.
struct Bisection {
    history: StudyHistory,
    choices: BisectChoices,
    /// The target as it was then.
    target: TomlDocument,
    cell: usize,
    metric: MetricName,
    verdict: BisectVerdict,
}

impl Bisection {
    /// `asked` is all that studies of the target asked.
    async fn read(
        store: &Store,
        study: &StudyRow,
        asked: &[backsight_store::RequestRecord],
    ) -> miette::Result<Self> {
        let history = store.study_history(study.id).await.into_diagnostic()?;
        let choices = Choices::from_study(study).into_diagnostic()?;
        let choices = choices.of_verb::<BisectVerb>()?.clone();
        let documents = store.documents(study.id).await.into_diagnostic()?;
        let target = StudyDocument::of_kind(&documents, "target").next();
        let target = target.ok_or_else(no_target)?;
        let revisits = backsight_model::Target::read(&target)?
            .activate
            .boot
            .can_be_revisited();
        let policy = policy(
            &choices,
            (
                history.versions.len(),
                1 + choices.history.more_testbeds.len(),
            ),
            &history.cells,
            revisits,
            study.seed,
        )?;
        let evidence = evidence_for_study(asked, &history, &choices.history);
        Ok(Self {
            verdict: policy.verdict(&evidence),
            cell: policy.cell,
            metric: policy.metric,
            history,
            choices,
            target,
        })
    }

    fn named_changes(&self) -> Vec<BisectedChange> {
        let Some(cell) = self.history.cells.get(self.cell) else {
            return Vec::new();
        };
        let metric = cell.metrics.iter().find(|it| it.name == self.metric);
        let id = |at: usize| Some(self.history.versions.get(at)?.id.clone());
        let sizes = self.verdict.waterfall.as_ref();
        let culprits = self.verdict.culprits.iter().enumerate();
        let named = culprits.filter_map(|(n, culprit)| {
            let size = sizes.and_then(|sizes| sizes.steps.get(n)).copied();
            let level = sizes?.level.value.abs();
            let in_percent = |size: IntervalEstimate| Interval {
                low: 100.0 * size.interval.low / level,
                high: 100.0 * size.interval.high / level,
            };
            Some(BisectedChange {
                study: self.history.name.clone(),
                cell: cell.cell.clone(),
                metric: metric?.clone(),
                after: id(culprit.place.after)?,
                until: id(culprit.place.until)?,
                probability: culprit.probability,
                size,
                percent: culprit.percent.zip(size.map(in_percent)),
            })
        });
        named.collect()
    }
}

/// A bisection, as its evidence stands.
pub struct BisectReport {
    /// What was measured.
    pub history: StudyHistory,
    /// The study's choices.
    pub choices: BisectChoices,
    /// The number of the cell that is measured.
    pub cell: usize,
    /// Its metric.
    pub metric: String,
    /// Where it stands.
    pub verdict: BisectVerdict,
    /// What of the history lies at each culprit.
    pub between: Vec<RangeChanges>,
    /// The studies that checked each culprit.
    pub checks: Vec<Vec<CulpritCheck>>,
    /// Changes of this metric that were accepted.
    pub accepted: Vec<ChangeAcceptance>,
}

impl BisectReport {
    /// Reads the evidence from the store, and what lies at the culprits from the target's history.
    async fn from_store(store: &Store, study: &StudyRow) -> miette::Result<Self> {
        let target: &TargetName = study.target.as_ref().ok_or_else(no_target)?;
        let asked = store.requests_along(target).await.into_diagnostic()?;
        let Bisection {
            history,
            choices,
            target: document,
            cell,
            metric,
            verdict,
        } = Bisection::read(store, study, &asked).await?;
        let places: Vec<ChangeLocation> = verdict.culprits.iter().map(|c| c.place).collect();
        let folder = choices.history.folder.clone();
        let opened = OpenTarget::open(document, folder, store.dir().to_owned()).await;
        let mut between = Vec::with_capacity(places.len());
        for place in &places {
            let ends = (
                history.versions[place.after].clone(),
                history.versions[place.until].clone(),
            );
            let asked = match &opened {
                Ok(opened) => opened.query(move |h| h.between(&ends.0, &ends.1)).await,
                Err(why) => Err(miette::miette!("{why}")),
            };
            between.push(
                asked.map_err(|why| format!("the history can't be asked what it was: {why}")),
            );
        }
        let mut checked = Vec::with_capacity(places.len());
        for place in &places {
            let ends = [place.after, place.until].map(|at| &history.versions[at]);
            let is_one = place.until - place.after == 1;
            checked.push(CheckedChange::between(opened.as_ref().ok(), ends, is_one).await);
        }
        let asked = (&history.cells[cell], &metric);
        let checks = checks_of_changes(store, target, asked, &checked).await?;
        let benchmark = &history.cells[cell].cell.benchmark;
        let all = store.acceptances(target).await.into_diagnostic()?;
        let about = all
            .iter()
            .filter(|it| it.covers(benchmark.as_str(), metric.as_str()));
        let now = Timestamp::now();
        let accepted = about.map(|it| ChangeAcceptance::new(it, now)).collect();
        Ok(Self {
            accepted,
            checks,
            cell,
            metric: metric.to_string(),
            history,
            choices,
            verdict,
            between,
        })
    }

    /// The study with its verdict, as it is reported.
    pub fn study(&self) -> BisectStudy<'_> {
        BisectStudy {
            history: &self.history,
            verdict: &self.verdict,
            cell: self.cell,
            metric: &self.metric,
            budget: self.choices.budget,
            confidence: self.choices.confidence,
            cancelling: self.choices.cancelling,
            between: &self.between,
            checks: &self.checks,
            accepted: &self.accepted,
            command: &self.choices.command,
        }
    }
}
