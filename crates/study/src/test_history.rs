//! The history of tests, read from the store: of a target's versions, or of studies of the software as it was found.

use backsight_model::{HostName, TargetName, TestResultRef, Version};
use backsight_policy::{
    StudyVersions, SuiteOnHost, TestColumn, TestHistory, TestHistoryRun, merged_versions,
};
use backsight_store::{Store, StoreError, StudyId, StudyRow, SuiteRunRow};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Columns that pages and alerts are made of: a year of nights.
pub const PAGE_COLUMNS: usize = 365;

/// Failing tests whose messages are read.
const MOST_MESSAGES: usize = 500;
/// Longest message that is kept, in characters.
const MESSAGE_LENGTH: usize = 500;

/// Which runs make a history.
#[derive(Debug, Clone, Default)]
pub struct TestSelection {
    /// The target; none for studies of the software as it was found.
    pub target: Option<TargetName>,
    /// The suites, by name; all if empty.
    pub suites: Vec<String>,
    /// Only studies up to this number.
    pub until: Option<i64>,
    /// Only so many of the newest columns.
    pub newest: Option<usize>,
}

/// The history of the tests that were selected.
///
/// # Errors
/// The store's own.
pub async fn test_history(
    store: &Store,
    selection: &TestSelection,
) -> Result<TestHistory, StoreError> {
    let mut studies = match &selection.target {
        Some(target) => store.studies_of_target(target).await?,
        None => {
            let all = store.studies().await?.into_iter();
            all.filter(|study| study.target.is_none()).collect()
        }
    };
    studies.retain(|study| selection.until.is_none_or(|until| study.id.0 <= until));
    studies.sort_by_key(|study| (study.began, study.id.0));
    let mut history = match &selection.target {
        Some(_) => of_target(store, selection, &studies).await?,
        None => as_found(store, selection, &studies).await?,
    };
    add_architectures(store, &studies, &mut history).await?;
    Ok(history)
}

/// Adds what tests that fail now said in the run of their last verdict: the message, else the last line of the log. Of many, those that
/// are worst.
///
/// # Errors
/// The store's own.
pub async fn add_failure_messages(
    store: &Store,
    history: &mut TestHistory,
) -> Result<(), StoreError> {
    let mut by_trial: BTreeMap<(i64, u32), Vec<usize>> = BTreeMap::new();
    let last = history.rows.iter().enumerate();
    let last = last.filter_map(|(number, row)| Some((number, row.last_verdict()?)));
    for (number, cell) in last.filter(|(_, cell)| cell.failed > 0).take(MOST_MESSAGES) {
        by_trial.entry(cell.place).or_default().push(number);
    }
    let studies: BTreeSet<i64> = by_trial.keys().map(|(study, _)| *study).collect();
    for study in studies {
        for row in store.suite_runs(StudyId(study)).await? {
            let Some(tests) = by_trial.get(&(study, row.trial)) else {
                continue;
            };
            let run = store.suite_run(&row).await?;
            for test in tests {
                let result = run.results.find(&history.rows[*test].test);
                if let Some(message) = result.and_then(said_last) {
                    history.messages.insert(*test, message);
                }
            }
        }
    }
    Ok(())
}

/// The message of a failure, else the last line of its log.
fn said_last(result: TestResultRef<'_>) -> Option<String> {
    let message = result.message.map(str::trim);
    let message = message.filter(|message| !message.is_empty());
    let line = || {
        result
            .log
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
    };
    let said = message.or_else(line)?;
    Some(said.trim().chars().take(MESSAGE_LENGTH).collect())
}

/// Says what hosts are, as the newest study that knows it says.
async fn add_architectures(
    store: &Store,
    studies: &[StudyRow],
    history: &mut TestHistory,
) -> Result<(), StoreError> {
    let mut hosts: HashSet<HostName> = (history.suites.iter())
        .map(|suite| suite.host.clone())
        .collect();
    for study in studies.iter().rev() {
        if hosts.is_empty() {
            break;
        }
        for (host, mut facts) in store.hosts(study.id).await? {
            if let Some(architecture) = facts.swap_remove("architecture")
                && hosts.remove(&host)
            {
                history.architectures.insert(host, architecture);
            }
        }
    }
    Ok(())
}

/// A column for each study, in the order of time.
async fn as_found(
    store: &Store,
    selection: &TestSelection,
    studies: &[StudyRow],
) -> Result<TestHistory, StoreError> {
    let (mut columns, mut runs) = (Vec::new(), Vec::new());
    // The newest first, so that older ones needn't be read.
    for study in studies.iter().rev() {
        if selection.newest.is_some_and(|most| columns.len() >= most) {
            break;
        }
        let rows = suite_rows(store, selection, study).await?;
        if rows.is_empty() {
            continue;
        }
        let column = columns.len();
        columns.push(TestColumn {
            id: String::new(),
            name: study.name.to_string(),
            at: Some(study.began),
            title: String::new(),
        });
        runs.extend((rows.into_iter()).map(|(suite, row)| history_run(suite, row, column)));
    }
    let last = columns.len().saturating_sub(1);
    columns.reverse();
    for run in &mut runs {
        run.column = last - run.column;
    }
    Ok(TestHistory::new(columns, &runs))
}

/// A column for each version.
async fn of_target(
    store: &Store,
    selection: &TestSelection,
    studies: &[StudyRow],
) -> Result<TestHistory, StoreError> {
    let mut rows = Vec::new();
    let mut lists: Vec<(Vec<Version>, bool)> = Vec::new();
    for study in studies {
        let of_study = suite_rows(store, selection, study).await?;
        if !of_study.is_empty() {
            rows.push((lists.len(), of_study));
            lists.push((store.versions(study.id).await?, study.compares_sides()));
        }
    }
    let versions: Vec<StudyVersions<'_>> = lists
        .iter()
        .map(|(versions, sides)| StudyVersions {
            versions,
            sides: *sides,
        })
        .collect();
    let order = merged_versions(&versions);
    let columns = order.versions.iter().map(|version| TestColumn {
        id: version.id.clone(),
        name: version.full_name(),
        at: version.at,
        title: version.title.clone(),
    });
    let columns: Vec<TestColumn> = columns.collect();
    let mut runs = Vec::new();
    for (list, of_study) in rows {
        for (suite, row) in of_study {
            // What was tested of an amended version is no point of the history.
            let version = row.version.filter(|at| {
                let version = lists[list].0.get(*at);
                version.is_some_and(Version::is_plain)
            });
            let Some(version) = version else { continue };
            runs.push(history_run(suite, row, order.places[list][version]));
        }
    }
    if let Some(newest) = selection.newest {
        let mut used: Vec<usize> = runs.iter().map(|run| run.column).collect();
        used.sort_unstable();
        used.dedup();
        let from = used.len().saturating_sub(newest);
        let first = used.get(from).copied().unwrap_or(0);
        runs.retain(|run| run.column >= first);
    }
    Ok(TestHistory::new(columns, &runs))
}

/// The runs of a study's suites that were selected, each with its suite.
async fn suite_rows(
    store: &Store,
    selection: &TestSelection,
    study: &StudyRow,
) -> Result<Vec<(SuiteOnHost, SuiteRunRow)>, StoreError> {
    if !store.has_suite_runs(study.id).await? {
        return Ok(Vec::new());
    }
    let cells = store.cells(study.id).await?;
    let rows = store.suite_runs(study.id).await?.into_iter();
    let selected = rows.filter_map(|row| {
        let cell = cells.get(row.cell)?;
        let wanted = &selection.suites;
        let is_wanted = wanted.is_empty() || wanted.iter().any(|it| it == cell.benchmark.as_str());
        let suite = SuiteOnHost {
            suite: cell.to_string(),
            host: row.host.clone(),
        };
        is_wanted.then_some((suite, row))
    });
    Ok(selected.collect())
}

fn history_run(suite: SuiteOnHost, row: SuiteRunRow, column: usize) -> TestHistoryRun {
    TestHistoryRun {
        suite,
        column,
        study: row.study.0,
        trial: row.trial,
        complete: row.complete,
        names: row.names,
        outcomes: row.outcomes,
        seconds: row.seconds,
    }
}
