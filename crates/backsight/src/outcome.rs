//! The outcome of a study, shown: its verdict, how far it came, how it goes on; and the exit status.

use backsight_model::StudyName;
use backsight_report::Format;
use backsight_store::Store;
use backsight_study::{Progress, StudyEnding, StudyLoopError, StudyOutcome, VerdictReport};
use std::process::ExitCode;

use crate::{exit_status::ExitStatus, files, history, output::OutcomeOptions};

impl From<StudyEnding> for ExitStatus {
    fn from(ending: StudyEnding) -> Self {
        match ending {
            StudyEnding::Success => Self::Success,
            StudyEnding::Failed => Self::Failed,
            StudyEnding::Undecided => Self::Undecided,
            StudyEnding::Interrupted => Self::Interrupted,
        }
    }
}

/// Shows the outcome of a study; the exit status.
pub async fn show(
    outcome: &StudyOutcome,
    store: &Store,
    options: &OutcomeOptions,
) -> miette::Result<ExitCode> {
    let output = &options.output;
    match outcome {
        StudyOutcome::NothingMissing { target, answer, .. } => {
            files::print_note(answer);
            // Who asked for a format waits for it, also where nothing was to be measured.
            if output.is_requested() {
                history::write_history(store, target, output).await?;
            }
        }
        StudyOutcome::Ended(ended) => {
            match &ended.verdict {
                VerdictReport::None => {}
                _ if !options.is_wanted() => {}
                VerdictReport::History(target) => {
                    history::write_history(store, target, output).await?
                }
                verdict => {
                    let written = output.write(&ended.study, verdict, store, Format::Text);
                    written.await?;
                }
            }
            for note in &ended.notes {
                files::print_note(note);
            }
            print_progress(&ended.study.name, &ended.progress);
        }
        StudyOutcome::BrokeOff { name, error } => print_broken_off(name, error),
    }
    Ok(ExitStatus::from(outcome.ending()).into())
}

/// Prints why a study broke off, and how it goes on.
fn print_broken_off(name: &StudyName, error: &StudyLoopError) {
    let way_out = format!("what was measured before is kept; `backsight resume {name}` goes on");
    files::print_note(&format!("{:?}", miette::miette!(help = way_out, "{error}")));
}

/// Prints how far a study came.
fn print_progress(name: &StudyName, progress: &Progress<()>) {
    let trials = match progress.measured {
        1 => "1 trial".to_owned(),
        measured => format!("{measured} trials"),
    };
    files::print_note(&format!(
        "{name}: {trials} measured, {} failed, {} left",
        progress.failed, progress.left
    ));
    if let Some(why) = &progress.stopped {
        files::print_note(&format!(
            "{name}: {why}\n{name}: go on with: backsight resume {name}"
        ));
    }
}
