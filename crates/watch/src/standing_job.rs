//! A standing job: what it is asked to do, what is next ([`StandingJob::look`]), and doing that ([`StandingJob::act`]).

use backsight_model::{BenchmarkName, Event, StudyName, TargetName};
use backsight_policy::{MeasureReason, VerificationState, WatchAction, WatchFinding, WatchPolicy};
use backsight_store::{FindingKind, Store, StoredFinding, WatchStudyPurpose};
use backsight_study::{OpenTarget, ResolvedPlan, SessionOptions, StudyEnding, StudyOutcome};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    found_change::FoundChange,
    look_times::LookTimes,
    memory::{JobMemory, JobScope, target_name},
    names::named,
    question::{BisectQuestion, MeasureQuestion, PairQuestion},
    refutation::mark_invalid,
};

/// A study that failed so often is given up: by this process.
const MOST_FAILURES: u32 = 3;

/// A standing job.
pub struct StandingJob {
    /// Its name.
    pub name: String,
    /// The target's file or name.
    pub target: String,
    /// The plan's file, beside which a target is found by its name.
    pub plan_file: PathBuf,
    /// The plan, with everything that it names.
    pub plan: ResolvedPlan,
    /// Benchmarks of the sentinel; all of the plan if empty.
    pub sentinel: Vec<BenchmarkName>,
    /// Trials of each cell of a version.
    pub rounds: u32,
    /// Trials of each cell of the sentinel.
    pub sentinel_rounds: u32,
    /// Machine time of a day.
    pub budget: Duration,
    /// The oldest version that counts.
    pub since: Option<String>,
    /// When it looks for new versions.
    pub look: LookTimes,
}

/// Where a job works.
pub struct JobPlace<'a> {
    /// Where studies are stored.
    pub store: &'a Store,
    /// How testbeds are leased and watched.
    pub options: &'a SessionOptions,
    /// The folder below which the trees of targets are: that of the store.
    pub trees: &'a Path,
}

impl JobPlace<'_> {
    pub(crate) fn note(&self, job: &str, message: &str) {
        self.options.events.emit(&Event::JobStep {
            job: job.to_owned(),
            message: message.to_owned(),
        });
    }
}

/// What a process remembers of a job that it works at, beside what is in the store.
#[derive(Debug, Default)]
pub struct JobFailures {
    /// How often each study failed.
    counts: HashMap<StudyName, u32>,
    given_up: HashSet<StudyName>,
}

impl JobFailures {
    /// Counts a failure of the study that was worked at; whether it is given up.
    fn count(&mut self, study: &StudyName) -> bool {
        let count = self.counts.entry(study.clone()).or_default();
        *count += 1;
        *count >= MOST_FAILURES && self.given_up.insert(study.clone())
    }
}

/// What a job knows, and what is next.
pub struct Outlook {
    target: OpenTarget,
    pub(crate) memory: JobMemory,
    /// What is next.
    pub next: NextStep,
    /// Machine time that was spent today.
    pub spent: Duration,
}

impl Outlook {
    /// How much the job has measured: builds, boots and trials.
    pub(crate) fn measured(&self) -> usize {
        self.memory.evidence.spent.len()
    }

    /// How many versions the job follows.
    pub fn versions(&self) -> usize {
        self.memory.versions.len()
    }

    /// How many findings are kept, refuted ones too.
    pub(crate) fn findings(&self) -> usize {
        self.memory.findings.len()
    }

    /// The target.
    pub fn target(&self) -> TargetName {
        target_name(&self.target)
    }

    /// What the job found and told: the identities of the version before and of the first with it.
    pub fn found(&self) -> impl Iterator<Item = (&str, &str)> {
        let told = self.memory.findings.iter();
        let told = told.filter(|it| it.kind != FindingKind::Refuted);
        told.map(|it| (it.after.as_str(), it.until.as_str()))
    }
}

/// What a job does next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Go on with a study that was stopped or killed.
    Resume(StudyName),
    /// Say that a named version was refuted: it, and the cell.
    Refute {
        /// The version.
        version: usize,
        /// The cell's number.
        cell: usize,
    },
    /// What the policy says.
    Act(WatchAction),
}

/// How a step of a job ended.
#[derive(Debug)]
pub enum StepEnd {
    /// It is done, as far as it came.
    Done,
    /// A change was found.
    Found(Box<FoundChange>),
    /// The user wants to stop.
    Stopped,
}

impl StandingJob {
    /// What is next, as the store and the target's history are `now`.
    ///
    /// # Errors
    /// The history can't be read: its server is away; the store's own.
    pub async fn look(
        &self,
        place: &JobPlace<'_>,
        failures: &JobFailures,
        now: Timestamp,
    ) -> miette::Result<Outlook> {
        let folder = place.trees.to_owned();
        let target = OpenTarget::named(&self.target, Some(&self.plan_file), folder).await?;
        let benchmarks: Vec<BenchmarkName> =
            self.plan.arrangement.benchmarks.keys().cloned().collect();
        let scope = JobScope {
            store: place.store,
            job: &self.name,
            target: &target,
            benchmarks: &benchmarks,
            sentinel: &self.sentinel,
            since: self.since.as_deref(),
            given_up: &failures.given_up,
        };
        let memory = JobMemory::read(&scope, now).await?;
        let next = self.next_step(&memory, failures, now);
        let (schedule, questions) = memory.evidence.spent_on_day(now, 0);
        Ok(Outlook {
            spent: schedule + questions,
            next,
            target,
            memory,
        })
    }

    fn next_step(&self, memory: &JobMemory, failures: &JobFailures, now: Timestamp) -> NextStep {
        if let Some((study, _)) = memory.interrupted(&failures.given_up) {
            return NextStep::Resume(study.study.clone());
        }
        if let Some((version, cell)) = refuted(memory) {
            return NextStep::Refute { version, cell };
        }
        if memory.cells.is_empty() {
            // Until something was measured it isn't known which cells the plan has on the testbed.
            return NextStep::Act(WatchAction::Measure {
                version: memory.versions.len() - 1,
                cells: Vec::new(),
                rounds: self.rounds,
                reason: MeasureReason::First,
            });
        }
        let policy = WatchPolicy {
            cells: memory.policy_cells.clone(),
            plan_rounds: self.rounds,
            sentinel_rounds: self.sentinel_rounds,
            budget: self.budget,
        };
        NextStep::Act(policy.decide(&memory.evidence, now, 0))
    }

    /// Does what is next. Waiting is the caller's.
    ///
    /// # Errors
    /// A host can't be had, something can't be built or measured, or the store refuses. What was measured is kept.
    pub async fn act(
        &self,
        place: &JobPlace<'_>,
        outlook: &Outlook,
        failures: &mut JobFailures,
    ) -> miette::Result<StepEnd> {
        let (target, memory) = (&outlook.target, &outlook.memory);
        match &outlook.next {
            NextStep::Resume(study) => {
                let goes_on = self.go_on(place, memory, study, None).await;
                self.worked_at(place, failures, study, goes_on)
            }
            NextStep::Refute { version, cell } => {
                self.refute(place, outlook, *version, *cell).await?;
                Ok(StepEnd::Done)
            }
            NextStep::Act(WatchAction::Measure {
                version,
                rounds,
                reason,
                ..
            }) => {
                let is_whole = !matches!(reason, MeasureReason::Sentinel(_));
                let version = memory.versions[*version].clone();
                let question = MeasureQuestion {
                    version: version.id.clone(),
                    whole: is_whole,
                };
                let study = self
                    .begin(place, target, WatchStudyPurpose::Measure, &question)
                    .await?;
                let measured = self
                    .measure(place, target, &study, version, (is_whole, *rounds))
                    .await;
                self.worked_at(place, failures, &study.study, measured)
            }
            NextStep::Act(WatchAction::Bisect {
                number,
                question,
                smallest,
                budget,
            }) => {
                let cell = &memory.cells[question.cell];
                let study = match memory.bisections.get(*number) {
                    Some(study) => study.clone(),
                    None => {
                        let asked = BisectQuestion {
                            cell: cell.cell.clone(),
                            metric: cell.metric.clone(),
                            good: memory.versions[question.good].id.clone(),
                            bad: memory.versions[question.bad].id.clone(),
                            level: question.level,
                            size: question.size,
                            p: question.p,
                        };
                        self.begin(place, target, WatchStudyPurpose::Bisect, &asked)
                            .await?
                    }
                };
                let spent = memory.evidence.bisections.get(*number);
                let all = spent.map_or(Duration::ZERO, |it| it.spent) + *budget;
                let bisected = match memory.row(&study.study) {
                    Some(_) => self.go_on(place, memory, &study.study, Some(all)).await,
                    None => {
                        let versions = memory.versions[question.good..=question.bad].to_vec();
                        let asked = (cell, *smallest, all);
                        self.bisect(place, target, &study, versions, asked).await
                    }
                };
                self.worked_at(place, failures, &study.study, bisected)
            }
            NextStep::Act(WatchAction::Verify {
                version,
                cell,
                equal,
                budget,
            }) => {
                let series = &memory.cells[*cell];
                let question = PairQuestion {
                    cell: series.cell.clone(),
                    metric: series.metric.clone(),
                    version: memory.versions[*version].id.clone(),
                };
                let mut known = memory.evidence.verifications.iter();
                let known = known.position(|it| it.version == *version && it.cell == *cell);
                let (study, spent) = match known {
                    Some(number) => (
                        memory.verifications[number].clone(),
                        memory.evidence.verifications[number].spent,
                    ),
                    None => (
                        self.begin(place, target, WatchStudyPurpose::Verify, &question)
                            .await?,
                        Duration::ZERO,
                    ),
                };
                let all = spent + *budget;
                let verified = match memory.row(&study.study) {
                    Some(_) => self.go_on(place, memory, &study.study, Some(all)).await,
                    None => {
                        let sides = memory.versions[*version - 1..=*version].to_vec();
                        let asked = (series, Some(100.0 * *equal), all);
                        self.side_by_side(place, target, &study, (sides, Vec::new()), asked)
                            .await
                    }
                };
                self.worked_at(place, failures, &study.study, verified)
            }
            NextStep::Act(WatchAction::Tell(finding)) => self.found(place, outlook, finding).await,
            NextStep::Act(WatchAction::Wait { .. }) => Ok(StepEnd::Done),
        }
    }

    /// What became of the work at a study: its failures are counted, so that it doesn't stop the job for ever.
    fn worked_at(
        &self,
        place: &JobPlace<'_>,
        failures: &mut JobFailures,
        study: &StudyName,
        outcome: miette::Result<StudyOutcome>,
    ) -> miette::Result<StepEnd> {
        let outcome = match outcome {
            Ok(StudyOutcome::BrokeOff { name, error }) => Err(miette::miette!("{name}: {error}")),
            other => other,
        };
        match outcome {
            Ok(outcome) if outcome.ending() == StudyEnding::Interrupted => Ok(StepEnd::Stopped),
            Ok(_) => Ok(StepEnd::Done),
            Err(why) => {
                if failures.count(study) {
                    place.note(
                        &self.name,
                        &format!("{study} failed {MOST_FAILURES} times and is given up until this program starts again"),
                    );
                }
                Err(why)
            }
        }
    }

    /// Measures the newest version beside the same without the change, and keeps what was found.
    async fn found(
        &self,
        place: &JobPlace<'_>,
        outlook: &Outlook,
        finding: &WatchFinding,
    ) -> miette::Result<StepEnd> {
        let (target, memory) = (&outlook.target, &outlook.memory);
        let cell = &memory.cells[finding.cell];
        let [after, until] =
            [finding.place.after, finding.place.until].map(|at| &memory.versions[at]);
        let question = PairQuestion {
            cell: cell.cell.clone(),
            metric: cell.metric.clone(),
            version: until.id.clone(),
        };
        let asked = serde_json::to_string(&question).into_diagnostic()?;
        let known = memory.study(WatchStudyPurpose::Revert, &asked);
        let left = self.budget.saturating_sub(outlook.spent);
        let is_last = finding.place.until + 1 == memory.versions.len();
        if finding.is_verified && known.is_none() && !is_last {
            let spent = memory.evidence.verifications.iter();
            let spent = spent.filter(|it| it.version == finding.place.until);
            let spent = spent.map(|it| it.spent).max().unwrap_or_default();
            match left >= spent {
                true => {
                    let reverted = self.revert(place, target, memory, (cell, until), spent);
                    let reverted = reverted.await;
                    match reverted {
                        Ok(StudyOutcome::Ended(ended))
                            if ended.ending == StudyEnding::Interrupted =>
                        {
                            return Ok(StepEnd::Stopped);
                        }
                        Ok(StudyOutcome::BrokeOff { name, error }) => {
                            place.note(&self.name, &format!("{name} broke off: {error}"));
                        }
                        Ok(_) => {}
                        Err(why) => place.note(
                            &self.name,
                            &format!("{} isn't taken back: {why}", named(until)),
                        ),
                    }
                }
                false => place.note(
                    &self.name,
                    &format!("{} isn't taken back: today's budget is spent", named(until)),
                ),
            }
        }
        let found = StoredFinding {
            after: after.id.clone(),
            until: until.id.clone(),
            cell: cell.cell.clone(),
            metric: cell.metric.to_string(),
            kind: match finding.is_verified {
                true => FindingKind::Verified,
                false => FindingKind::Stretch,
            },
            found: Timestamp::now(),
        };
        let name = target_name(target);
        let kept = place.store.record_watch_finding(&self.name, &name, &found);
        kept.await.into_diagnostic()?;
        let found = FoundChange::new(place.store, &self.name, &name, memory, finding, &asked).await;
        Ok(StepEnd::Found(Box::new(found?)))
    }

    /// Says that what a bisection named isn't so: its alert is invalid.
    async fn refute(
        &self,
        place: &JobPlace<'_>,
        outlook: &Outlook,
        version: usize,
        cell: usize,
    ) -> miette::Result<()> {
        let memory = &outlook.memory;
        let series = &memory.cells[cell];
        let [before, named] = [version - 1, version].map(|at| &memory.versions[at]);
        let target = target_name(&outlook.target);
        let finding = StoredFinding {
            after: before.id.clone(),
            until: named.id.clone(),
            cell: series.cell.clone(),
            metric: series.metric.to_string(),
            kind: FindingKind::Refuted,
            found: Timestamp::now(),
        };
        mark_invalid(place.store, &target, &self.name, named, series).await?;
        let kept = place
            .store
            .record_watch_finding(&self.name, &target, &finding);
        kept.await.into_diagnostic()?;
        Ok(())
    }
}

/// A version that was named and then refuted, which isn't kept yet; with the cell.
fn refuted(memory: &JobMemory) -> Option<(usize, usize)> {
    let all = memory.evidence.verifications.iter();
    let refuted = all.filter(|it| it.state == VerificationState::Equal);
    let mut unknown = refuted.filter(|it| {
        let (version, cell) = (&memory.versions[it.version], &memory.cells[it.cell]);
        !memory.findings.iter().any(|known| {
            known.until == version.id
                && known.cell == cell.cell
                && known.metric == cell.metric.as_str()
        })
    });
    unknown.next().map(|it| (it.version, it.cell))
}
