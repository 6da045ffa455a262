//! What a standing job does next, in words.

use backsight_model::numbers::{counted, percent};
use backsight_policy::{ChangeQuestion, MeasureReason, WaitReason, WatchAction};
use std::time::Duration;

use crate::{
    names::{named, series_name},
    standing_job::{NextStep, Outlook, StandingJob},
};

impl StandingJob {
    /// What is next, in words.
    pub fn describe(&self, outlook: &Outlook) -> String {
        let memory = &outlook.memory;
        let version = |at: usize| memory.versions.get(at).map_or(String::new(), named);
        let series = |cell: usize| memory.cells.get(cell).map_or(String::new(), series_name);
        match &outlook.next {
            NextStep::Resume(study) => format!("goes on with {study}"),
            NextStep::Refute { version: at, cell } => format!(
                "{}: beside the version before it there is no such change of {}",
                version(*at),
                series(*cell)
            ),
            NextStep::Act(WatchAction::Measure {
                version: at,
                rounds,
                reason,
                ..
            }) => {
                let why = match reason {
                    MeasureReason::First => "the first version".to_owned(),
                    MeasureReason::Plan(interval) => {
                        format!("the whole plan, every {}", hours(*interval))
                    }
                    MeasureReason::Sentinel(new) => {
                        let what = match self.sentinel.is_empty() {
                            true => "",
                            false => "the sentinel, ",
                        };
                        format!("{what}{}", counted(*new, "new version"))
                    }
                };
                let rounds = counted(*rounds as usize, "round");
                format!("measures {}: {why}, {rounds}", version(*at))
            }
            NextStep::Act(WatchAction::Bisect {
                question, number, ..
            }) => {
                let begins = match memory.bisections.get(*number) {
                    Some(study) if memory.row(&study.study).is_some() => "goes on to bisect",
                    _ => "bisects",
                };
                format!(
                    "{begins} {} from {} to {}: it may have changed by {}",
                    series(question.cell),
                    version(question.good),
                    version(question.bad),
                    percent(percent_of(question))
                )
            }
            NextStep::Act(WatchAction::Verify {
                version: at, cell, ..
            }) => format!(
                "measures {} beside the version before it: {}",
                version(*at),
                series(*cell)
            ),
            NextStep::Act(WatchAction::Tell(finding)) => {
                let place = finding.place;
                match finding.is_verified {
                    true => format!(
                        "tells of {}: {}",
                        version(place.until),
                        series(finding.cell)
                    ),
                    false => format!(
                        "tells of a change between {} and {}: {}",
                        version(place.after),
                        version(place.until),
                        series(finding.cell)
                    ),
                }
            }
            NextStep::Act(WatchAction::Wait { reason, .. }) => match reason {
                WaitReason::NothingNew => "nothing is new".to_owned(),
                WaitReason::Budget => {
                    "today's budget is spent, or kept for versions that are to come".to_owned()
                }
            },
        }
    }
}

fn percent_of(question: &ChangeQuestion) -> f64 {
    match question.level {
        0.0 => 0.0,
        level => 100.0 * question.size / level.abs(),
    }
}

fn hours(interval: Duration) -> String {
    match interval.as_secs() / 3600 {
        24 => "day".to_owned(),
        168 => "week".to_owned(),
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}
