//! What a report is made of: studies as the store has them, and what they came to beside each other.
//!
//! Only as many trials and raw outputs are held as a page can show; the rest stays in the store.

use backsight_model::{Cell, Definitions, ResultSet};
use backsight_policy::Comparison;
use backsight_report::{
    comparison::ComparedBackground, instances::StudyInstances, overhead::OverheadStudy,
};
use backsight_store::{
    ALL_TRIALS, InstanceRecords, KeptOutput, RawRef, StepRow, Store, StoreError, StudyDocument,
    StudyId, StudyRow, TrialInstances, TrialRow,
};
use indexmap::IndexMap;
use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use crate::printed::{PAGE_LIMIT, PrintedOutput, share_out};

/// Most trials of a report whose steps are on its page.
const MOST_TRIALS: usize = 500;
/// Most bytes of one output that are on a page.
const MOST_OF_AN_OUTPUT: usize = 1 << 20;
/// An output of more bytes that is on the page already isn't there again.
const REPEATED: u64 = 1024;

/// Everything that a report page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportContent {
    /// The page's heading.
    pub title: String,
    /// The studies, the base first; none where only numbers are compared.
    pub studies: Vec<ReportStudy>,
    /// What the only one measured version by version, if it measured versions of a target.
    pub versions: Option<ReportVersions>,
    /// How they, or the variants of the only one, compare; none if there is nothing to compare.
    pub comparison: Option<Comparison>,
    /// What is known of the studies beside their metrics: what several hosts did beside each other, and the rounds that would tell
    /// what isn't decided.
    pub background: ComparedBackground,
    /// What watching costs, if the only study asked that.
    pub overhead: Option<OverheadStudy>,
    /// What a reader should know before believing it, beside what is seen here.
    pub notes: Vec<String>,
}

/// What a study measured of each version of a target: one bar for all of them would say nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportVersions {
    /// The target's name.
    pub target: String,
    /// The versions that are shown, in order, each under its name.
    pub sets: Vec<ResultSet>,
    /// How many older ones there are.
    pub left_out: usize,
}

/// A study with everything that was kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportStudy {
    /// The study.
    pub row: StudyRow,
    /// What it measured.
    pub results: ResultSet,
    /// Its cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// What it was made from: plan, lab, benchmarks.
    pub documents: Vec<StudyDocument>,
    /// Its trials, in order of time.
    pub trials: Vec<ReportTrial>,
}

/// A trial with its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTrial {
    /// The trial.
    pub row: TrialRow,
    /// Whether it is one of those that a page shows.
    pub shown: bool,
    /// Every step that was begun; none where it isn't shown.
    pub steps: Vec<ReportStep>,
    /// What its hosts did beside each other; nothing where it isn't shown.
    pub instances: TrialInstances,
}

/// A step with what it printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportStep {
    /// The step.
    pub row: StepRow,
    /// Its standard output.
    pub stdout: PrintedOutput,
    /// Its standard error.
    pub stderr: PrintedOutput,
}

/// Collects from the store what a report on these studies shows.
///
/// Of very many trials some are shown: failed ones, and of the others as many evenly over the study. Outputs are cut, the
/// longest first, to what [`crate::report`] can show of them.
///
/// # Errors
/// There is no such study; the store's own.
pub async fn report_of(
    store: &Store,
    title: String,
    studies: &[StudyId],
    comparison: Option<Comparison>,
) -> Result<ReportContent, StoreError> {
    let mut sets = Vec::new();
    for study in studies {
        sets.push(store.result_set(*study).await?);
    }
    report_of_sets(store, title, sets, comparison).await
}

/// The same of studies whose result sets have been read.
///
/// # Errors
/// As [`report_of`].
pub async fn report_of_sets(
    store: &Store,
    title: String,
    sets: Vec<ResultSet>,
    comparison: Option<Comparison>,
) -> Result<ReportContent, StoreError> {
    let mut collected = Vec::new();
    let most = MOST_TRIALS / sets.len().max(1);
    let mut instances = Vec::new();
    for set in sets {
        let mut study = WithoutOutputs::read(store, set, most).await?;
        let row = &study.study.row;
        if let Some(records) = store.instance_records(row.id).await? {
            instances.push(StudyInstances::new(row.id, &row.name, &records));
            study.study.add_instances(records);
        }
        collected.push(study);
    }
    let lengths: Vec<usize> = collected
        .iter()
        .flat_map(WithoutOutputs::outputs)
        .map(|output| usize::try_from(output.kept).unwrap_or(usize::MAX))
        .collect();
    let most = share_out(&lengths, PAGE_LIMIT).min(MOST_OF_AN_OUTPUT);
    let mut studies = Vec::new();
    for study in collected {
        studies.push(study.with_outputs(store, most).await);
    }
    Ok(ReportContent {
        title,
        studies,
        versions: None,
        comparison,
        background: ComparedBackground {
            more_rounds: None,
            instances,
        },
        overhead: None,
        notes: Vec::new(),
    })
}

impl ReportStudy {
    /// Adds to the trials that are shown what their hosts did beside each other.
    pub(crate) fn add_instances(&mut self, records: InstanceRecords) {
        let mut by_trial = records.into_trials();
        for trial in self.trials.iter_mut().filter(|trial| trial.shown) {
            trial.instances = by_trial.remove(&trial.row.number).unwrap_or_default();
        }
    }
}

/// What a study kept of a boot, whose trials' numbers lie in these ranges: its trials with their samples, their steps not read yet.
pub(crate) async fn trials_of_boot(
    store: &Store,
    row: StudyRow,
    boot: u32,
    ranges: &[RangeInclusive<u32>],
) -> Result<ReportStudy, StoreError> {
    let id = row.id;
    let mut instances = HashMap::new();
    for range in ranges {
        instances.extend(store.instances_of_trials(id, range.clone()).await?);
    }
    let mut trials = Vec::new();
    let mut add = |row: TrialRow| {
        if row.boot == boot {
            trials.push(ReportTrial {
                shown: true,
                steps: Vec::new(),
                instances: instances.remove(&row.number).unwrap_or_default(),
                row,
            });
        }
    };
    for range in ranges {
        store.each_trial(id, range.clone(), &mut add).await?;
    }
    Ok(ReportStudy {
        results: ResultSet {
            study: id.0,
            name: row.name.to_string(),
            study_name: row.name.clone(),
            began: row.began,
            state: row.state,
            interleaved: true,
            hosts: IndexMap::new(),
            definitions: Definitions::default(),
            series: store.series_of_trials(id, ranges).await?,
            failed: Vec::new(),
        },
        row,
        cells: store.cells(id).await?,
        documents: Vec::new(),
        trials,
    })
}

/// A study of which no output has been read yet.
struct WithoutOutputs {
    /// Its trials have no steps yet.
    study: ReportStudy,
    /// The steps of those trials that are shown, by the trials' numbers.
    steps: HashMap<u32, Vec<Unread>>,
}

/// A step and where its outputs are.
struct Unread {
    row: StepRow,
    stdout: Source,
    stderr: Source,
}

/// Where an output is.
enum Source {
    Store(KeptOutput),
    /// It is the same as one of this trial.
    Trial(u32, KeptOutput),
}

impl WithoutOutputs {
    /// With the steps of at most so many trials.
    async fn read(store: &Store, results: ResultSet, most: usize) -> Result<Self, StoreError> {
        let study = StudyId(results.study);
        // There may be half a million: each is held once.
        let mut trials: Vec<ReportTrial> = Vec::new();
        let add = |row| {
            trials.push(ReportTrial {
                shown: false,
                row,
                steps: Vec::new(),
                instances: TrialInstances::default(),
            });
        };
        store.each_trial(study, ALL_TRIALS, add).await?;
        let shown = spread(trials.iter().map(|trial| &trial.row), most);
        for trial in &mut trials {
            trial.shown = shown.contains(&trial.row.number);
        }
        let (mut first, mut steps) = (HashMap::new(), HashMap::new());
        for trial in trials.iter().filter(|trial| trial.shown) {
            let number = trial.row.number;
            steps.insert(number, unread(store, study, number, &mut first).await?);
        }
        let study = ReportStudy {
            row: store.study_of(study).await?,
            results,
            cells: store.cells(study).await?,
            documents: store.documents(study).await?,
            trials,
        };
        Ok(Self { study, steps })
    }

    fn outputs(&self) -> impl Iterator<Item = &KeptOutput> {
        let steps = self.steps.values().flatten();
        let sources = steps.flat_map(|step| [&step.stdout, &step.stderr]);
        sources.filter_map(|source| match source {
            Source::Store(kept) => Some(kept),
            Source::Trial(..) => None,
        })
    }

    async fn with_outputs(mut self, store: &Store, most: usize) -> ReportStudy {
        for trial in &mut self.study.trials {
            for step in self.steps.remove(&trial.row.number).into_iter().flatten() {
                trial.steps.push(ReportStep {
                    stdout: printed(store, &step.stdout, most).await,
                    stderr: printed(store, &step.stderr, most).await,
                    row: step.row,
                });
            }
        }
        self.study
    }
}

/// The numbers of the trials to show: at most half of them failed ones, the first that there are, and of the others as many
/// as have room, evenly over the study.
fn spread<'a>(rows: impl Iterator<Item = &'a TrialRow>, most: usize) -> HashSet<u32> {
    let (failed, measured): (Vec<&TrialRow>, Vec<&TrialRow>) =
        rows.partition(|row| row.failure.is_some());
    let room_for_failed = most - measured.len().min(most / 2);
    let failed = failed.into_iter().take(room_for_failed);
    let mut shown: HashSet<u32> = failed.map(|row| row.number).collect();
    let room = most - shown.len();
    let count = measured.len();
    let some = measured.iter().enumerate().filter(|(place, _)| {
        // One where the share that should be shown by now grows by one.
        count <= room || (place + 1) * room / count > place * room / count
    });
    shown.extend(some.map(|(_, row)| row.number));
    shown
}

/// The steps of a trial. `first` has the trial whose outputs are the first of their kind.
async fn unread(
    store: &Store,
    study: StudyId,
    trial: u32,
    first: &mut HashMap<RawRef, u32>,
) -> Result<Vec<Unread>, StoreError> {
    let mut source = |kept: KeptOutput| match kept.raw.filter(|_| kept.kept > REPEATED) {
        None => Source::Store(kept),
        Some(raw) => match *first.entry(raw).or_insert(trial) {
            before if before != trial => Source::Trial(before, kept),
            _ => Source::Store(kept),
        },
    };
    let steps = store.steps(study, trial).await?.into_iter();
    let unread = steps.map(|row| Unread {
        stdout: source(row.stdout),
        stderr: source(row.stderr),
        row,
    });
    Ok(unread.collect())
}

/// One lost object is no reason to show nothing of all the others.
async fn printed(store: &Store, source: &Source, most: usize) -> PrintedOutput {
    let output = match source {
        Source::Store(output) => output,
        Source::Trial(trial, output) => {
            return PrintedOutput::same_as(*trial, output.kept, output.printed);
        }
    };
    match &output.raw {
        None => PrintedOutput::new(Vec::new(), output.printed, most),
        Some(raw) => match store.raw(raw).await {
            Ok(bytes) => PrintedOutput::new(bytes, output.printed, most),
            Err(why) => PrintedOutput::unreadable_because(&why, output.printed),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backsight_model::Failure;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn trials_that_are_shown_are_failed_ones_and_others_evenly(
            failed in prop::collection::vec(any::<bool>(), 0..3000),
            most in 1usize..600,
        ) {
            let rows: Vec<TrialRow> = failed
                .iter()
                .zip(1..)
                .map(|(failed, number)| TrialRow {
                    number,
                    boot: 0,
                    cell: 0,
                    round: number,
                    began: jiff::Timestamp::UNIX_EPOCH,
                    took: Duration::ZERO,
                    failure: failed.then(|| Failure::of_trial("x")),
                    load: Vec::new(),
                    neighbours: 0.0,
                    warnings: Vec::new(),
                    drawn: Default::default(),
                })
                .collect();
            let shown = spread(rows.iter(), most);
            prop_assert_eq!(shown.len(), rows.len().min(most));
            let count = failed.iter().filter(|failed| **failed).count();
            let of_failed = rows.iter().filter(|row| row.failure.is_some() && shown.contains(&row.number)).count();
            prop_assert!(of_failed >= count.min(most / 2));
            // No half of the measured trials is left out.
            let measured: Vec<u32> = rows.iter().filter(|row| row.failure.is_none()).map(|row| row.number).collect();
            let halves = measured.split_at(measured.len() / 2);
            let [first, second] = [halves.0, halves.1].map(|half| half.iter().filter(|number| shown.contains(number)).count());
            // One by rounding, and one because a half of an odd number is smaller.
            prop_assert!(first.abs_diff(second) <= 2, "{} and {}", first, second);
        }
    }
}
