//! The page of a boot: what its console said, what the system was, and its trials with everything that they printed.

use askama::Template;
use backsight_model::{Boot, StudyHistory};
use backsight_report::{clipped, numbers};
use backsight_store::{KeptOutput, StepRow, StoreError, StudyId};
use std::{collections::HashMap, ops::RangeInclusive};

use super::{
    assets::{FOLD_SCRIPT, TRIALS_STYLE},
    book::Here,
    frame::Frame,
    site::{LogView, OUTPUTS, Press, SiteError},
};
use crate::{
    crumb::Crumb,
    printed::PrintedOutput,
    report::{ReportStep, ReportTrial, trials_of_boot},
    trials::Trials,
};

/// Most facts of a boot.
const MOST_FACTS: usize = 400;

#[derive(Template)]
#[template(path = "pages/boot.html")]
pub(super) struct BootPage {
    frame: Frame,
    /// Opens the trial that a link leads to.
    script: String,
    /// The link to the style sheet of trials.
    trials_style: String,
    study: String,
    layout: String,
    failure: String,
    began: String,
    /// How long it took until it answered; empty where nothing was booted.
    took: String,
    facts: Vec<(String, String)>,
    facts_left_out: usize,
    trials: Vec<String>,
    log: Option<LogView>,
}

impl Press<'_> {
    pub(super) async fn boot(
        &mut self,
        here: Here<'_>,
        study: usize,
        boot: usize,
    ) -> Result<BootPage, SiteError> {
        let study = &here.book.studies[study];
        let boot = &study.boots[boot];
        let build = study.builds.iter().find(|build| build.number == boot.build);
        let log = self.log(boot.log.as_deref(), OUTPUTS).await;
        let trials = match here.trials_of(study, boot) {
            Some(of_boot) => {
                let ranges = of_boot.numbers.as_slice();
                self.trials(StudyId(study.study), boot.number, ranges)
                    .await?
            }
            None => Vec::new(),
        };
        let mut crumbs = here.crumbs();
        let at = build.and_then(|build| here.place(study, build));
        if let Some(at) = at {
            crumbs.push(Crumb::new(&here.name(at), &here.to_version(at)));
        }
        Ok(BootPage {
            frame: Frame::new(&title(here, study, boot), self.page, crumbs).with_scripts(),
            script: here.link(FOLD_SCRIPT),
            trials_style: self.page.link(TRIALS_STYLE),
            study: study.name.to_string(),
            layout: build.map_or(String::new(), |build| build.layout.to_string()),
            failure: boot
                .failure
                .as_ref()
                .map_or(String::new(), |why| clipped(why, 4000)),
            began: boot.began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            took: match is_started(boot) {
                true => numbers::duration(boot.took),
                false => String::new(),
            },
            facts_left_out: boot.facts.len().saturating_sub(MOST_FACTS),
            facts: boot
                .facts
                .iter()
                .take(MOST_FACTS)
                .map(|(name, value)| (clipped(name, 200), clipped(value, 2000)))
                .collect(),
            trials,
            log,
        })
    }

    /// The trials of a boot.
    async fn trials(
        &mut self,
        study: StudyId,
        boot: u32,
        ranges: &[RangeInclusive<u32>],
    ) -> Result<Vec<String>, SiteError> {
        let store = &self.site.store;
        // Of a study in the store all trials are counted, which takes longer than the rest of the page.
        let known = self.site.studies.iter().find(|known| known.id == study);
        let row = match known {
            Some(known) => known.clone(),
            None => store.study_of(study).await?,
        };
        let mut steps_by_trial = HashMap::new();
        for range in ranges {
            steps_by_trial.extend(store.steps_of_trials(study, range.clone()).await?);
        }
        let of_boot = &trials_of_boot(store, row, boot, ranges).await?;
        let steps = of_boot.trials.iter().map(|trial| {
            let steps = steps_by_trial.remove(&trial.row.number);
            steps.unwrap_or_default()
        });
        let steps: Vec<Vec<StepRow>> = steps.collect();
        let outputs = 2 * steps.iter().map(Vec::len).sum::<usize>();
        let allowance = OUTPUTS / outputs.max(1);
        let views = Trials::new(of_boot, 0, 1);
        let mut pieces = Vec::new();
        for (trial, rows) in of_boot.trials.iter().zip(steps) {
            let mut files = HashMap::new();
            let mut steps = Vec::new();
            for row in rows {
                steps.push(ReportStep {
                    stdout: self.printed(&row.stdout, &mut files).await,
                    stderr: self.printed(&row.stderr, &mut files).await,
                    row,
                });
            }
            let trial = ReportTrial {
                steps,
                ..trial.clone()
            };
            let view = views.view(&trial, allowance);
            let is_only = of_boot.trials.len() == 1;
            pieces.push(view.with_files(&files, is_only).render()?);
        }
        Ok(pieces)
    }

    /// An output; its file goes into `files`.
    async fn printed(
        &mut self,
        output: &KeptOutput,
        files: &mut HashMap<String, String>,
    ) -> PrintedOutput {
        let Some(reference) = &output.raw else {
            return PrintedOutput::new(Vec::new(), output.printed, OUTPUTS);
        };
        let (bytes, link): (Result<Vec<u8>, StoreError>, _) = self.raw(reference).await;
        files.extend(link.map(|link| (reference.to_string(), link)));
        match bytes {
            Ok(bytes) => PrintedOutput::new(bytes, output.printed, OUTPUTS),
            Err(why) => PrintedOutput::unreadable_because(&why, output.printed),
        }
    }
}

/// Whether a system was started: on hosts that only run what was built, nothing is.
pub(super) fn is_started(boot: &Boot) -> bool {
    !boot.took.is_zero() || boot.log.is_some() || boot.failure.is_some()
}

fn title(here: Here<'_>, study: &StudyHistory, boot: &Boot) -> String {
    let build = study.builds.iter().find(|build| build.number == boot.build);
    let version = build.and_then(|build| here.place(study, build));
    let of = version.map_or_else(|| here.target.to_string(), |at| here.name(at));
    match is_started(boot) {
        true => format!("{of}: boot {}", boot.ordinal),
        false => format!("{of}: trials"),
    }
}
