//! The outcome of a study, shown: its verdict, how far it came, how it goes on; and the exit status.

use backsight_model::StudyName;
use backsight_store::Store;
use backsight_study::{Ending, Outcome, Progress, StudyLoopError, VerdictReport};
use std::process::ExitCode;

use crate::{exit_status::ExitStatus, files, history, output::Told};

impl From<Ending> for ExitStatus {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Success => Self::Success,
            Ending::Failed => Self::Failed,
            Ending::Undecided => Self::Undecided,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

/// Shows the outcome of a study; the exit status.
pub async fn show(outcome: &Outcome, store: &Store, told: &Told) -> miette::Result<ExitCode> {
    match outcome {
        Outcome::NothingMissing { target, said, .. } => {
            files::say(said);
            // Who asked for a format waits for it, also where nothing was to be measured.
            if told.output.is_asked() {
                history::tell_in(store, target, &told.output).await?;
            }
        }
        Outcome::Ended(ended) => {
            match &ended.verdict {
                VerdictReport::History(target) => history::tell(store, target, told).await?,
                VerdictReport::None => {}
                verdict => told.verdict(&ended.study, verdict, store).await?,
            }
            for note in &ended.notes {
                files::say(note);
            }
            say_progress(&ended.study.name, &ended.progress);
        }
        Outcome::BrokeOff { name, error } => say_broken_off(name, error),
    }
    Ok(ExitStatus::from(outcome.ending()).into())
}

/// Says why a study broke off, and how it goes on.
fn say_broken_off(name: &StudyName, error: &StudyLoopError) {
    let way_out = format!("what was measured before is kept; `backsight resume {name}` goes on");
    files::say(&format!("{:?}", miette::miette!(help = way_out, "{error}")));
}

/// Says how far a study came.
fn say_progress(name: &StudyName, progress: &Progress<()>) {
    let trials = match progress.measured {
        1 => "1 trial".to_owned(),
        measured => format!("{measured} trials"),
    };
    files::say(&format!(
        "{name}: {trials} measured, {} failed, {} left",
        progress.failed, progress.left
    ));
    if let Some(why) = &progress.stopped {
        files::say(&format!(
            "{name}: {why}\n{name}: go on with: backsight resume {name}"
        ));
    }
}
