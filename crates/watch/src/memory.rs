//! What a standing job knows: made anew from the store whenever it is asked what is next.

use backsight_model::{
    BenchmarkName, HistoryCell, Layout, MetricName, StudyHistory, StudyName, StudyState,
    TargetName, Version,
};
use backsight_policy::{
    ChangeLocation, ChangeQuestion, VerificationState, WatchBisection, WatchBisectionState,
    WatchCell, WatchEvidence, WatchFinding, WatchPurpose, WatchSpending, WatchVerification,
};
use backsight_store::{FindingKind, Store, StoredFinding, StudyRow, WatchStudy, WatchStudyPurpose};
use backsight_study::{OpenTarget, VerdictReport, verbs::bisect::bisection_verdict};
use jiff::{SignedDuration, Timestamp};
use miette::IntoDiagnostic as _;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use crate::{
    followed_versions::followed_versions,
    question::{BisectQuestion, MeasureQuestion, PairQuestion, question_of},
};

/// How sure the answers of bisections and verifications are to be, and that a stretch holds the change which is told of it.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// A series of a job: a metric of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobCell {
    /// The cell, as it is shown.
    pub cell: String,
    /// Its benchmark.
    pub benchmark: BenchmarkName,
    /// The metric.
    pub metric: MetricName,
    /// What identifies the question.
    key: String,
    /// How many series the cell has: its trials' time is shared among them.
    series: u32,
}

impl JobCell {
    /// The metric with its benchmark.
    pub fn full_metric(&self) -> String {
        format!("{}.{}", self.benchmark, self.metric)
    }
}

/// Who asks, and for what.
pub(crate) struct JobScope<'a> {
    /// Where it is stored.
    pub store: &'a Store,
    /// The job's name.
    pub job: &'a str,
    /// Its target.
    pub target: &'a OpenTarget,
    /// The plan's benchmarks.
    pub benchmarks: &'a [BenchmarkName],
    /// Those of the sentinel; all if empty.
    pub sentinel: &'a [BenchmarkName],
    /// The oldest version that counts.
    pub since: Option<&'a str>,
    /// Studies that are given up: they failed again and again.
    pub given_up: &'a HashSet<StudyName>,
}

/// What a job knows.
pub(crate) struct JobMemory {
    /// The versions that it follows, oldest first.
    pub versions: Vec<Version>,
    /// Its series, as [`WatchEvidence::series`] numbers them.
    pub cells: Vec<JobCell>,
    /// The same for the policy.
    pub policy_cells: Vec<WatchCell>,
    /// The policy's evidence.
    pub evidence: WatchEvidence,
    /// The studies of [`WatchEvidence::bisections`].
    pub bisections: Vec<WatchStudy>,
    /// The studies of [`WatchEvidence::verifications`].
    pub verifications: Vec<WatchStudy>,
    /// All studies that it began, with what the store has of each.
    pub studies: Vec<(WatchStudy, Option<StudyRow>)>,
    /// What it found.
    pub findings: Vec<StoredFinding>,
    /// Versions that it measured and that aren't on the branch any more.
    pub lost: usize,
    /// Versions that any study has and that aren't on the branch, by their identities.
    beside: Vec<String>,
}

impl JobMemory {
    /// Reads what is known `now`.
    ///
    /// # Errors
    /// The history can't be read; the store's own.
    pub async fn read(scope: &JobScope<'_>, now: Timestamp) -> miette::Result<Self> {
        let (store, name) = (scope.store, &*scope.target.target.name);
        let began = store.watch_studies(scope.job, name).await;
        let began = began.into_diagnostic()?;
        let rows = store.studies_of_target(name).await.into_diagnostic()?;
        let histories = store.target_history(name).await.into_diagnostic()?;
        let findings = store.watch_findings(scope.job, name).await;
        let findings = findings.into_diagnostic()?;
        let studies: Vec<(WatchStudy, Option<StudyRow>)> = began
            .into_iter()
            .map(|it| {
                let row = rows.iter().find(|row| row.name == it.study).cloned();
                (it, row)
            })
            .collect();
        let measured = measured_versions(&studies);
        let versions = followed_versions(scope.target, scope.since, &measured).await?;
        let places: HashMap<&str, usize> = versions
            .iter()
            .enumerate()
            .map(|(place, version)| (version.id.as_str(), place))
            .collect();
        let known = histories.iter().flat_map(|history| &history.versions);
        let known: BTreeSet<&str> = known.map(|version| version.id.as_str()).collect();
        let elsewhere = known.into_iter().filter(|id| !places.contains_key(id));
        let elsewhere: Vec<String> = elsewhere.map(str::to_owned).collect();
        let beside = match elsewhere.is_empty() {
            true => elsewhere,
            // What lies before the first version that is followed is on the line.
            false => scope.target.divided_by_line(elsewhere).await?.1,
        };
        let own: HashMap<&str, WatchStudyPurpose> = studies
            .iter()
            .map(|(it, _)| (it.study.as_str(), it.purpose))
            .collect();
        let cells = job_cells(scope, &studies, &histories);
        let mut evidence = WatchEvidence {
            arrivals: arrivals(&versions, now),
            ..WatchEvidence::default()
        };
        add_measurements(&mut evidence, &cells, &histories, &places, &own);
        let line = JobLine {
            places: &places,
            cells: &cells,
        };
        let told = findings.iter().filter(|it| it.kind != FindingKind::Refuted);
        evidence.told = told.filter_map(|it| line.told(it)).collect();
        let is_bisected = |(it, row): &(WatchStudy, Option<StudyRow>)| {
            it.purpose == WatchStudyPurpose::Bisect && row.is_some()
        };
        let asked = match studies.iter().any(is_bisected) {
            true => store.requests_along(name).await.into_diagnostic()?,
            false => Vec::new(),
        };
        let (mut bisections, mut verifications) = (Vec::new(), Vec::new());
        for (it, row) in &studies {
            let is_given_up = scope.given_up.contains(&it.study);
            match it.purpose {
                WatchStudyPurpose::Measure | WatchStudyPurpose::Revert => {}
                WatchStudyPurpose::Bisect => {
                    let question = question_of(it).and_then(|it| line.question(&it));
                    let Some(question) = question else {
                        continue;
                    };
                    let (mut spent, mut state) = (Duration::ZERO, WatchBisectionState::Open(None));
                    if let Some(row) = row {
                        let verdict = bisection_verdict(store, row, &asked).await?;
                        let own = histories.iter().find(|it| it.study == row.id.0);
                        let versions = own.map_or(&[][..], |own| &own.versions);
                        let moved = |it| line.moved(versions, it);
                        spent = verdict.spent;
                        state = WatchBisectionState::new(&verdict, CONFIDENCE, moved);
                    }
                    if is_given_up && matches!(state, WatchBisectionState::Open(_)) {
                        state = WatchBisectionState::Impossible;
                    }
                    evidence.bisections.push(WatchBisection {
                        question,
                        spent,
                        state,
                    });
                    bisections.push(it.clone());
                }
                WatchStudyPurpose::Verify => {
                    let Some(question) = question_of::<PairQuestion>(it) else {
                        continue;
                    };
                    let version = line.place(&question.version);
                    let cell = line.series(&question.cell, question.metric.as_str());
                    let Some((version, cell)) = version.zip(cell) else {
                        continue;
                    };
                    let (mut spent, mut state) = (Duration::ZERO, VerificationState::Open);
                    if let Some(row) = row {
                        (spent, state) = verification(store, row, &question).await?;
                    }
                    if is_given_up && state == VerificationState::Open {
                        state = VerificationState::Impossible;
                    }
                    evidence.verifications.push(WatchVerification {
                        version,
                        cell,
                        spent,
                        state,
                    });
                    verifications.push(it.clone());
                }
            }
        }
        let in_sentinel =
            |cell: &JobCell| scope.sentinel.is_empty() || scope.sentinel.contains(&cell.benchmark);
        let policy_cells = cells.iter().map(|cell| WatchCell {
            testbed: 0,
            in_sentinel: in_sentinel(cell),
        });
        Ok(Self {
            policy_cells: policy_cells.collect(),
            versions,
            cells,
            evidence,
            bisections,
            verifications,
            studies,
            findings,
            lost: measured.iter().filter(|id| beside.contains(id)).count(),
            beside,
        })
    }

    /// Says in the store which versions are on the branch and which are beside it.
    ///
    /// # Errors
    /// The store's own.
    pub async fn place_versions(&self, store: &Store, target: &TargetName) -> miette::Result<()> {
        let on_line = self.versions.iter().map(|version| version.id.clone());
        let on_line: Vec<String> = on_line.collect();
        let placed = store.place_versions(target, &self.beside, &on_line).await;
        placed.into_diagnostic()
    }

    /// A study that measures a version, or reverts a change, and was stopped or killed before its end.
    pub fn interrupted(&self, given_up: &HashSet<StudyName>) -> Option<(&WatchStudy, &StudyRow)> {
        let begun = self
            .studies
            .iter()
            .filter_map(|(it, row)| Some((it, row.as_ref()?)));
        let mut open = begun.filter(|(it, row)| {
            let goes_on = matches!(
                it.purpose,
                WatchStudyPurpose::Measure | WatchStudyPurpose::Revert
            );
            goes_on && row.state != StudyState::Finished && !row.is_measuring()
        });
        open.find(|(it, _)| !given_up.contains(&it.study))
    }

    /// A study that this job begins now or began before: the one with this question, if there is one.
    pub fn study(&self, purpose: WatchStudyPurpose, question: &str) -> Option<&WatchStudy> {
        let mut all = self.studies.iter().map(|(it, _)| it);
        all.find(|it| it.purpose == purpose && it.question == question)
    }

    /// What the store has of a study of this name.
    pub fn row(&self, study: &StudyName) -> Option<&StudyRow> {
        let mut all = self.studies.iter();
        let found = all.find(|(it, _)| it.study == *study);
        found.and_then(|(_, row)| row.as_ref())
    }
}

/// Where versions and series are among those that a job follows.
struct JobLine<'a> {
    places: &'a HashMap<&'a str, usize>,
    cells: &'a [JobCell],
}

impl JobLine<'_> {
    fn place(&self, version: &str) -> Option<usize> {
        self.places.get(version).copied()
    }

    fn series(&self, cell: &str, metric: &str) -> Option<usize> {
        let mut all = self.cells.iter();
        all.position(|it| it.cell == cell && it.metric.as_str() == metric)
    }

    /// A finding as the policy knows it.
    fn told(&self, finding: &StoredFinding) -> Option<WatchFinding> {
        let place = ChangeLocation {
            after: self.place(&finding.after)?,
            until: self.place(&finding.until)?,
        };
        Some(WatchFinding {
            place,
            // Whatever showed it, it is told.
            cell: self.series(&finding.cell, &finding.metric).unwrap_or(0),
            is_verified: finding.kind == FindingKind::Verified,
        })
    }

    /// A question as the policy asked it; none where its ends or its series aren't there any more.
    fn question(&self, asked: &BisectQuestion) -> Option<ChangeQuestion> {
        Some(ChangeQuestion {
            cell: self.series(&asked.cell, asked.metric.as_str())?,
            good: self.place(&asked.good)?,
            bad: self.place(&asked.bad)?,
            level: asked.level,
            size: asked.size,
            p: asked.p,
        })
    }

    /// A place among a study's versions, among those that are followed.
    fn moved(&self, versions: &[Version], it: ChangeLocation) -> Option<ChangeLocation> {
        let place = |at: usize| self.place(&versions.get(at)?.id);
        Some(ChangeLocation {
            after: place(it.after)?,
            until: place(it.until)?,
        })
    }
}

/// The versions that the schedule had measured, in the order in which it did.
fn measured_versions(studies: &[(WatchStudy, Option<StudyRow>)]) -> Vec<String> {
    let mut seen = HashSet::new();
    let measured = studies
        .iter()
        .filter(|(it, row)| it.purpose == WatchStudyPurpose::Measure && row.is_some());
    measured
        .filter_map(|(it, _)| Some(question_of::<MeasureQuestion>(it)?.version))
        .filter(|id| seen.insert(id.clone()))
        .collect()
}

/// The series of a job: those of the newest study that measured the whole plan, of the job's own if there is one.
fn job_cells(
    scope: &JobScope<'_>,
    studies: &[(WatchStudy, Option<StudyRow>)],
    histories: &[StudyHistory],
) -> Vec<JobCell> {
    let has_all = |history: &&StudyHistory| {
        let has = |name: &BenchmarkName| {
            let mut cells = history.cells.iter();
            cells.any(|it| it.cell.benchmark == *name)
        };
        scope.benchmarks.iter().all(has)
    };
    let is_own = |history: &&StudyHistory| {
        let mut own = studies.iter().map(|(it, _)| it);
        own.any(|it| it.study == history.name && it.purpose == WatchStudyPurpose::Measure)
    };
    let newest = |all: &mut dyn Iterator<Item = &'_ StudyHistory>| {
        all.max_by_key(|it| it.study).map(|it| it.cells.clone())
    };
    let own = newest(&mut histories.iter().filter(is_own).filter(has_all));
    let cells = own.or_else(|| newest(&mut histories.iter().filter(has_all)));
    let cells = cells.unwrap_or_default();
    let wanted = cells
        .iter()
        .filter(|it| scope.benchmarks.contains(&it.cell.benchmark));
    wanted.flat_map(series_of).collect()
}

fn series_of(cell: &HistoryCell) -> Vec<JobCell> {
    let primary = cell.metrics.iter().filter(|metric| metric.primary);
    let series = primary.clone().count() as u32;
    let of = |metric: &MetricName| JobCell {
        cell: cell.cell.to_string(),
        benchmark: cell.cell.benchmark.clone(),
        metric: metric.clone(),
        key: cell.key.clone(),
        series,
    };
    primary.map(|metric| of(&metric.name)).collect()
}

/// When each version came: when it was made, but never before the one before it. Where that isn't known, a day apart.
fn arrivals(versions: &[Version], now: Timestamp) -> Vec<Timestamp> {
    let mut last = Timestamp::MIN;
    let newest = versions.len().saturating_sub(1);
    let each = versions.iter().enumerate().map(|(place, version)| {
        let behind = i64::try_from(newest - place).unwrap_or(i64::MAX);
        let guessed =
            SignedDuration::from_hours(24).checked_mul(behind.min(i64::from(i32::MAX)) as i32);
        let guessed = guessed
            .and_then(|age| now.checked_sub(age).ok())
            .unwrap_or(Timestamp::MIN);
        last = version.at.unwrap_or(guessed).min(now).max(last);
        last
    });
    each.collect()
}

/// Adds what was measured along the versions, by all studies of the target, and what the job's own took.
fn add_measurements(
    evidence: &mut WatchEvidence,
    cells: &[JobCell],
    histories: &[StudyHistory],
    places: &HashMap<&str, usize>,
    own: &HashMap<&str, WatchStudyPurpose>,
) {
    evidence.series = vec![Default::default(); cells.len()];
    let mut took: Vec<Vec<Duration>> = vec![Vec::new(); cells.len()];
    let (mut builds, mut boots) = (Vec::new(), Vec::new());
    let (mut good, mut bad) = (BTreeSet::new(), BTreeSet::new());
    for history in histories {
        let purpose = own.get(history.name.as_str()).map(|purpose| match purpose {
            WatchStudyPurpose::Measure => WatchPurpose::Schedule,
            _ => WatchPurpose::Question,
        });
        let mut spend = |at: Timestamp, took: Duration| {
            if let Some(purpose) = purpose {
                evidence.spent.push(WatchSpending {
                    at,
                    testbed: 0,
                    purpose,
                    took,
                });
            }
        };
        let place_of = |version: usize| {
            let version = history.versions.get(version)?;
            let is_plain = version.is_plain();
            places
                .get(version.id.as_str())
                .copied()
                .filter(|_| is_plain)
        };
        for build in history.builds.iter().filter(|build| !build.cached) {
            spend(build.began, build.took);
            builds.push(build.took);
        }
        for boot in &history.boots {
            spend(boot.began, boot.took);
            boots.push(boot.took);
        }
        let is_ours = purpose.is_some();
        for build in &history.builds {
            let Some(place) = place_of(build.version) else {
                continue;
            };
            let booted = history
                .boots
                .iter()
                .filter(|boot| boot.build == build.number);
            let is_dead =
                booted.clone().count() > 0 && booted.clone().all(|it| it.failure.is_some());
            match build.failure.is_some() || is_dead {
                true if is_ours => _ = bad.insert(place),
                true => {}
                false => _ = good.insert(place),
            }
        }
        for trial in &history.trials {
            spend(trial.began, trial.took);
            let Some(cell) = history.cells.get(trial.cell) else {
                continue;
            };
            let Some((build, boot)) = history.place(trial) else {
                continue;
            };
            let Some(place) = place_of(build.version) else {
                continue;
            };
            if boot.testbed != 0 || build.layout != Layout::default() {
                continue;
            }
            for (number, series) in cells.iter().enumerate() {
                if series.key != cell.key {
                    continue;
                }
                let metric = cell.metrics.iter().position(|it| it.name == series.metric);
                let Some(samples) = metric.and_then(|metric| trial.samples.get(metric)) else {
                    continue;
                };
                let mean = samples.iter().sum::<f64>() / samples.len() as f64;
                evidence.series[number].add(place, mean);
                took[number].push(trial.took / series.series);
            }
        }
    }
    evidence.spent.sort_by_key(|it| it.at);
    evidence.broken = bad.difference(&good).copied().collect();
    evidence.build = mean(&builds) + mean(&boots);
    evidence.trials = took.iter().map(|took| mean(took)).collect();
}

fn mean(durations: &[Duration]) -> Duration {
    match u32::try_from(durations.len()) {
        Ok(0) | Err(_) => Duration::ZERO,
        Ok(number) => durations.iter().sum::<Duration>() / number,
    }
}

/// What a version beside another came to.
async fn verification(
    store: &Store,
    row: &StudyRow,
    question: &PairQuestion,
) -> miette::Result<(Duration, VerificationState)> {
    let VerdictReport::Try(report) = VerdictReport::from_store(store, row).await? else {
        return Ok((Duration::ZERO, VerificationState::Impossible));
    };
    let verdict = &report.verdict;
    let cell = report.history.cells.iter();
    let cell = cell
        .clone()
        .position(|it| it.cell.to_string() == question.cell);
    let compared = verdict
        .compared
        .iter()
        .find(|it| Some(it.cell) == cell && it.metric == question.metric);
    let state = VerificationState::new(compared, verdict.ended);
    Ok((verdict.spent, state))
}

/// What a target is called, for messages.
pub(crate) fn target_name(target: &OpenTarget) -> TargetName {
    (*target.target.name).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_in_their_order_and_not_before_now_is_over() {
        let version = |at: Option<&str>| Version {
            id: "v".into(),
            name: "v".into(),
            at: at.map(|at| at.parse().unwrap()),
            title: String::new(),
            release: false,
            amendments: Vec::new(),
        };
        let now: Timestamp = "2026-11-27T12:00:00Z".parse().unwrap();
        let came = |times: &[Option<&str>]| {
            let versions: Vec<Version> = times.iter().map(|at| version(*at)).collect();
            let came = arrivals(&versions, now);
            came.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        // One was made before the one that it follows, one in the future.
        assert_eq!(
            came(&[
                Some("2026-11-25T00:00:00Z"),
                Some("2026-11-24T00:00:00Z"),
                Some("2026-12-24T00:00:00Z"),
            ]),
            [
                "2026-11-25T00:00:00Z",
                "2026-11-25T00:00:00Z",
                "2026-11-27T12:00:00Z"
            ]
        );
        assert_eq!(
            came(&[None, None, None]),
            [
                "2026-11-25T12:00:00Z",
                "2026-11-26T12:00:00Z",
                "2026-11-27T12:00:00Z"
            ]
        );
        assert!(came(&[]).is_empty());
    }
}
