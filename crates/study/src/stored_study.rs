//! Parts of a stored study for people: a trial, a build, a boot, each with what was printed.

use backsight_model::{ResultSet, counted};
use backsight_report::{
    instances::StudyInstances,
    stored_study::{
        boot_heading, build_heading, clocks_text, core_files_text, meetings_text, step_heading,
        tests_text, trial_heading,
    },
};
use backsight_store::{KeptOutput, RawRef, Store, StoreError, StudyRow, TrialInstances, TrialRow};
use miette::IntoDiagnostic as _;

use crate::{
    Choices,
    verbs::{Verb as _, run::RunVerb},
};

/// The part of a study that has a number, from 1.
pub(crate) fn numbered<'a, T>(
    study: &StudyRow,
    kind: &str,
    number: u32,
    parts: &'a [T],
    number_of: impl Fn(&T) -> u32,
) -> miette::Result<&'a T> {
    let found = parts.iter().find(|part| number_of(part) == number);
    found.ok_or_else(|| {
        let (name, last) = (&study.name, parts.len());
        miette::miette!("study `{name}` has no {kind} {number}: it has 1 to {last}")
    })
}

/// The trial of a study that has a number, without reading others.
async fn numbered_trial(store: &Store, study: &StudyRow, number: u32) -> miette::Result<TrialRow> {
    let mut found = None;
    let read = store.each_trial(study.id, number..=number, |trial| found = Some(trial));
    read.await.into_diagnostic()?;
    found.ok_or_else(|| {
        let (name, last) = (&study.name, study.measured + study.failed);
        miette::miette!("study `{name}` has no trial {number}: it has 1 to {last}")
    })
}

/// A build with what its commands printed.
///
/// # Errors
/// The study has no such build; what the store says.
pub async fn build(store: &Store, study: &StudyRow, number: u32) -> miette::Result<Vec<u8>> {
    let history = store.study_outline(study.id).await.into_diagnostic()?;
    let build = numbered(study, "build", number, &history.builds, |build| {
        build.number
    })?;
    with_log(store, build_heading(&history, build), build.log.as_deref()).await
}

/// A boot with what its console said.
///
/// # Errors
/// The study has no such boot; what the store says.
pub async fn boot(store: &Store, study: &StudyRow, number: u32) -> miette::Result<Vec<u8>> {
    let history = store.study_outline(study.id).await.into_diagnostic()?;
    let boot = numbered(study, "boot", number, &history.boots, |boot| boot.number)?;
    with_log(store, boot_heading(&history, boot), boot.log.as_deref()).await
}

async fn with_log(store: &Store, head: String, log: Option<&str>) -> miette::Result<Vec<u8>> {
    let mut page = head.into_bytes();
    if let Some(log) = log {
        let log: RawRef = log.parse().into_diagnostic()?;
        page.extend(raw_or_mark(store, &log).await?);
    }
    Ok(page)
}

/// An output, or that it was pruned.
async fn raw_or_mark(store: &Store, raw: &RawRef) -> miette::Result<Vec<u8>> {
    match store.raw(raw).await {
        Err(StoreError::Pruned { mark, .. }) => Ok(format!("({mark})\n").into_bytes()),
        read => read.into_diagnostic(),
    }
}

/// A trial with its tests and its steps, and with what they printed where `raw`: bytes as they were written.
///
/// # Errors
/// The study has no such trial; what the store says.
pub async fn trial(
    store: &Store,
    study: &StudyRow,
    number: u32,
    raw: bool,
) -> miette::Result<Vec<u8>> {
    let trial = numbered_trial(store, study, number).await?;
    let cells = store.cells(study.id).await.into_diagnostic()?;
    let mut page = trial_heading(study, &cells, &trial).into_bytes();
    let runs = store.suite_runs(study.id).await.into_diagnostic()?;
    if let Some(row) = runs.iter().find(|run| run.trial == number) {
        let run = store.suite_run(row).await.into_diagnostic()?;
        page.extend(tests_text(&run).bytes());
    }
    let of_trial = store.trial_instances(study.id, number).await;
    let TrialInstances {
        meetings, clocks, ..
    } = of_trial.into_diagnostic()?;
    page.extend(clocks_text(&clocks).bytes());
    page.extend(meetings_text(&meetings).bytes());
    let core_files = store.core_files(study.id, number).await.into_diagnostic()?;
    let mut marks = Vec::new();
    for file in &core_files {
        let mark = match &file.content {
            Some(content) => store.prune_mark(content).await.into_diagnostic()?,
            None => None,
        };
        marks.push(mark.map(|mark| mark.to_string()));
    }
    page.extend(core_files_text(core_files.iter().zip(marks)).bytes());
    for step in store.steps(study.id, number).await.into_diagnostic()? {
        page.extend(step_heading(&step).bytes());
        for (name, kept) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
            page.extend(output(store, name, kept, raw).await?);
        }
    }
    Ok(page)
}

/// A core file of a trial, by its number among them.
///
/// # Errors
/// The study has no such trial, or the trial no such core file; it wasn't kept, or was pruned; what the store says.
pub async fn core_file(
    store: &Store,
    study: &StudyRow,
    trial: u32,
    number: u32,
) -> miette::Result<Vec<u8>> {
    numbered_trial(store, study, trial).await?;
    let files = store.core_files(study.id, trial).await.into_diagnostic()?;
    let wanted = (number as usize).checked_sub(1);
    let Some(file) = wanted.and_then(|number| files.get(number)) else {
        let there = counted(files.len(), "core file");
        return Err(miette::miette!("trial {trial} has {there}, none {number}"));
    };
    let Some(content) = &file.content else {
        return Err(miette::miette!(
            help = "raise `core_limit` in [results] of the suite",
            "core file {number} of trial {trial} was larger than was to be kept: {} bytes",
            file.bytes
        ));
    };
    store.raw(content).await.into_diagnostic()
}

/// What several hosts did beside each other in a study, where they did.
///
/// # Errors
/// The store's own.
pub async fn instances(store: &Store, study: &StudyRow) -> miette::Result<Option<StudyInstances>> {
    let records = store.instance_records(study.id).await.into_diagnostic()?;
    Ok(records.map(|records| StudyInstances::new(study.id, &study.name, &records)))
}

/// What was measured in a study whose trials were made on several testbeds at once; none of any other.
///
/// # Errors
/// The store's own.
pub async fn result_set_of_testbeds(
    store: &Store,
    study: &StudyRow,
) -> miette::Result<Option<ResultSet>> {
    if study.verb != RunVerb::NAME {
        return Ok(None);
    }
    let choices = Choices::from_study(study).into_diagnostic()?;
    if choices.of_verb::<RunVerb>()?.more_testbeds.is_empty() {
        return Ok(None);
    }
    let set = store.result_set(study.id).await;
    set.into_diagnostic().map(Some)
}

async fn output(
    store: &Store,
    name: &str,
    kept: &KeptOutput,
    raw: bool,
) -> miette::Result<Vec<u8>> {
    let Some(reference) = &kept.raw else {
        return Ok(Vec::new());
    };
    if !raw {
        let where_is = match store.prune_mark(reference).await.into_diagnostic()? {
            Some(mark) => mark.to_string(),
            None => "--raw shows them".to_owned(),
        };
        return Ok(format!("  {name}: {} bytes ({where_is})\n", kept.printed).into_bytes());
    }
    let mut page = format!("  {name}, {} bytes:\n", kept.printed).into_bytes();
    page.extend(raw_or_mark(store, reference).await?);
    if !page.ends_with(b"\n") {
        page.push(b'\n');
    }
    Ok(page)
}
