//! `trace --diff`: what changed from one side to another, each a recording or a folder of recordings, and `--runs`, which makes such a
//! folder.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use backsight_tracer::recording::RecordingReader;
use backsight_tracer::summary::{
    CallSummary, FEWEST_RUNS, RunComparison, compare_summaries, format_changes,
};
use miette::{IntoDiagnostic as _, WrapErr as _};

use crate::files;

/// The recordings of a side, summed up.
struct Side {
    runs: Vec<CallSummary>,
    /// When the first of its runs began and when the last did, in nanoseconds since 1970.
    began: Option<(i128, i128)>,
}

impl Side {
    /// A recording, or all recordings of a folder.
    fn read(path: &Path) -> miette::Result<Self> {
        let mut side = Self {
            runs: Vec::new(),
            began: None,
        };
        for file in recordings(path)? {
            let recording = open_recording(&file)?;
            let wall = i128::from(recording.header.wall);
            let mut summary = CallSummary::new();
            let mut begins = None;
            for event in recording {
                let event =
                    event.map_err(|error| miette::miette!("{}: {error}", file.display()))?;
                begins.get_or_insert(wall + i128::from(event.at));
                summary.add(&event);
            }
            if let Some(at) = begins {
                let (first, last) = side.began.unwrap_or((at, at));
                side.began = Some((first.min(at), last.max(at)));
            }
            side.runs.push(summary);
        }
        Ok(side)
    }
}

/// The files of a side: itself, or those in a folder by their names.
fn recordings(path: &Path) -> miette::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fault = || path.display().to_string();
    let entries = path.read_dir().into_diagnostic().wrap_err_with(fault)?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.into_diagnostic().wrap_err_with(fault)?;
        if entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    miette::ensure!(
        !found.is_empty(),
        help = "`backsight trace --record FOLDER --runs 10 COMMAND` makes recordings there",
        "{}: there is no recording in this folder",
        path.display()
    );
    Ok(found)
}

/// Opens a recording.
pub(super) fn open_recording(file: &Path) -> miette::Result<RecordingReader<File>> {
    let opened = File::open(file).into_diagnostic();
    let opened = opened.wrap_err_with(|| file.display().to_string())?;
    RecordingReader::open(opened).map_err(|error| miette::miette!("{}: {error}", file.display()))
}

/// Prints what changed from the first side to the second; `work` is how much each run of a side did.
pub(super) fn print_differences(
    sides: &[PathBuf],
    work: Option<&[u64]>,
    json: bool,
) -> miette::Result<ExitCode> {
    let (before, after) = (Side::read(&sides[0])?, Side::read(&sides[1])?);
    let work = work.unwrap_or(&[1, 1]);
    let units = (work[0], work[1]);
    let is_judged = [&before, &after]
        .iter()
        .all(|side| side.runs.len() >= FEWEST_RUNS);
    if !is_judged {
        files::print_note(
            "one run a side doesn't tell a difference from chance: there are no verdicts; `--record FOLDER --runs 10` makes several of each side, \
             and --diff compares the folders",
        );
    } else if let (Some(before), Some(after)) = (before.began, after.began)
        && (before.1 < after.0 || after.1 < before.0)
    {
        files::print_note(
            "all runs of one side began before those of the other: what else changed on the machine meanwhile is in the times; runs that are \
             recorded in turn don't have it",
        );
    }
    let comparison = || RunComparison::new(&before.runs, &after.runs, units);
    let text = match (json, before.runs.as_slice(), after.runs.as_slice()) {
        (true, ..) => {
            let text = serde_json::to_string_pretty(&comparison()).into_diagnostic()?;
            format!("{text}\n")
        }
        (false, [before], [after]) => format_changes(&compare_summaries(before, after, units)),
        (false, ..) => comparison().text(),
    };
    files::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs this program once for each run, each with a recording of its own in a folder that is new or empty. Ends as the last run does.
pub(super) fn record_runs(folder: &Path, runs: u32) -> miette::Result<ExitCode> {
    let fault = || format!("--runs: {}", folder.display());
    miette::ensure!(
        !folder.exists() || folder.is_dir(),
        help = "name a folder: each run is a recording of its own in it",
        "--runs: {} is a file",
        folder.display()
    );
    std::fs::create_dir_all(folder)
        .into_diagnostic()
        .wrap_err_with(fault)?;
    let mut entries = folder.read_dir().into_diagnostic().wrap_err_with(fault)?;
    miette::ensure!(
        entries.next().is_none(),
        help = "name a new folder: what is in one is compared as one side",
        "--runs: there is something in {} already",
        folder.display()
    );
    let program = std::env::current_exe().into_diagnostic()?;
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let digits = runs.to_string().len();
    let mut status = 0;
    for run in 1..=runs {
        let file = folder.join(format!("{run:0digits$}.trace"));
        let arguments = arguments_of_run(&words, &file);
        let ended = Command::new(&program).args(arguments).status();
        let ended = ended.into_diagnostic().wrap_err_with(fault)?;
        status = ended.code().unwrap_or(1);
        if !has_events(&file) {
            // What is wrong was said by the run.
            let _nothing_to_remove = std::fs::remove_file(&file);
            files::print_note(&format!(
                "--runs: run {run} recorded nothing, and no more are made"
            ));
            break;
        }
        if status != 0 {
            files::print_note(&format!("run {run} of {runs} ended so: {ended}"));
        }
    }
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}

/// Whether anything was recorded.
fn has_events(file: &Path) -> bool {
    open_recording(file).is_ok_and(|mut recording| recording.next().is_some_and(|it| it.is_ok()))
}

/// The arguments of a single run: without `--runs`, and into this file.
fn arguments_of_run(words: &[OsString], file: &Path) -> Vec<OsString> {
    let mut single = Vec::with_capacity(words.len());
    let mut words = words.iter();
    let (mut has_runs, mut has_record) = (false, false);
    while let Some(word) = words.next() {
        let (name, has_value) = match word.to_str().and_then(|word| word.split_once('=')) {
            Some((name, _)) => (OsStr::new(name), true),
            None => (word.as_os_str(), false),
        };
        let is_runs = name == "--runs" && !has_runs;
        let is_record = name == "--record" && !has_record;
        if is_record {
            single.extend([OsString::from("--record"), file.into()]);
        }
        (has_runs, has_record) = (has_runs || is_runs, has_record || is_record);
        match is_runs || is_record {
            true if !has_value => {
                let _its_value = words.next();
            }
            true => {}
            false => single.push(word.clone()),
        }
    }
    single
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_arguments_of_all_but_for_its_file() {
        let single = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let single = arguments_of_run(&words, Path::new("f/1.trace"));
            let single = single.into_iter().map(|word| word.into_string().unwrap());
            single.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            single(&[
                "trace", "-f", "--record", "f", "--runs", "3", "x", "--runs", "4"
            ]),
            "trace -f --record f/1.trace x --runs 4"
        );
        assert_eq!(
            single(&[
                "trace",
                "--runs=3",
                "--record=f",
                "--",
                "x",
                "--record",
                "y"
            ]),
            "trace --record f/1.trace -- x --record y"
        );
    }
}
