//! The page of a trial: the same as on a report, each output also as a file of its own.

use askama::Template;
use backsight_model::StudyHistory;
use backsight_store::{KeptOutput, StudyId, TrialInstances, TrialRow};
use std::collections::HashMap;

use super::{
    Book, OUTPUTS, Press, PublishError,
    boot::{crumbs, title},
    frame::Frame,
    names,
};
use crate::{
    crumb::Crumb,
    printed::PrintedOutput,
    report::{ReportStep, ReportStudy, ReportTrial},
    trials::Trials,
};

#[derive(Template)]
#[template(path = "published/trial.html")]
struct TrialPage {
    frame: Frame,
    trial: String,
}

impl Press<'_> {
    pub(super) async fn trials(&mut self, book: &Book) -> Result<(), PublishError> {
        for study in &book.studies {
            let id = StudyId(study.study);
            let rows = self.store.trials(id).await?;
            let mut whole = ReportStudy {
                row: self.store.study_of(id).await?,
                results: self.store.result_set(id).await?,
                cells: self.store.cells(id).await?,
                documents: Vec::new(),
                trials: rows.into_iter().map(without_steps).collect(),
            };
            if let Some(records) = self.store.instance_records(id).await? {
                whole.add_instances(records);
            }
            let views = Trials::new(&whole, 0, 1);
            for trial in &whole.trials {
                self.trial_page(book, study, &views, trial).await?;
            }
        }
        Ok(())
    }

    async fn trial_page(
        &mut self,
        book: &Book,
        study: &StudyHistory,
        views: &Trials<'_>,
        without_steps: &ReportTrial,
    ) -> Result<(), PublishError> {
        let row = &without_steps.row;
        let mut links = HashMap::new();
        let mut steps = Vec::new();
        for step in self.store.steps(StudyId(study.study), row.number).await? {
            steps.push(ReportStep {
                stdout: self.printed(&step.stdout, &mut links).await?,
                stderr: self.printed(&step.stderr, &mut links).await?,
                row: step,
            });
        }
        let outputs = 2 * steps.len().max(1);
        let trial = ReportTrial {
            steps,
            ..without_steps.clone()
        };
        let page = TrialPage {
            frame: Frame::new(
                &format!("Trial {}", row.number),
                "../",
                path_to(book, study, row),
            ),
            trial: views
                .view(&trial, OUTPUTS / outputs)
                .alone(&links)
                .render()?,
        };
        self.put_in(book, &names::trial(study.study, row.number), &page)
    }

    /// An output; its file goes into `links`.
    async fn printed(
        &mut self,
        output: &KeptOutput,
        links: &mut HashMap<String, String>,
    ) -> Result<PrintedOutput, PublishError> {
        let Some(reference) = &output.raw else {
            return Ok(PrintedOutput::new(Vec::new(), output.printed, OUTPUTS));
        };
        let (bytes, link) = self.raw(reference).await?;
        links.extend(link.map(|link| (reference.to_string(), link)));
        Ok(match bytes {
            Ok(bytes) => PrintedOutput::new(bytes, output.printed, OUTPUTS),
            Err(why) => PrintedOutput::unreadable_because(&why, output.printed),
        })
    }
}

fn without_steps(row: TrialRow) -> ReportTrial {
    ReportTrial {
        row,
        shown: true,
        steps: Vec::new(),
        instances: TrialInstances::default(),
    }
}

fn path_to(book: &Book, study: &StudyHistory, row: &TrialRow) -> Vec<Crumb> {
    let boot = study.boots.iter().find(|boot| boot.number == row.boot);
    let build = boot.and_then(|boot| study.builds.iter().find(|b| b.number == boot.build));
    let (Some(boot), Some(build)) = (boot, build) else {
        return book.crumbs();
    };
    let mut crumbs = crumbs(book, study, build);
    let page = names::boot(study.study, boot.number);
    crumbs.push(Crumb::new(&title(build, boot), &page));
    crumbs
}
