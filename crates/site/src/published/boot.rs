//! The page of a boot: what its console said, what the system was, and its trials.

use askama::Template;
use backsight_model::{Boot, Build, HistoryTrial, StudyHistory};
use backsight_report::{
    clipped,
    numbers::{self, Scale},
};

use super::{Book, LogView, OUTPUTS, Press, PublishError, frame::Frame, names};
use crate::crumb::Crumb;

/// Most facts of a boot.
const MOST_FACTS: usize = 400;

#[derive(Template)]
#[template(path = "published/boot.html")]
struct BootPage {
    frame: Frame,
    study: String,
    layout: String,
    failure: String,
    began: String,
    took: String,
    facts: Vec<(String, String)>,
    facts_left_out: usize,
    trials: Vec<TrialRow>,
    log: Option<LogView>,
}

struct TrialRow {
    href: String,
    number: u32,
    round: u32,
    cell: String,
    came: String,
    failed: bool,
}

impl Press<'_> {
    pub(super) async fn boots(&mut self, book: &Book) -> Result<(), PublishError> {
        for study in &book.studies {
            for build in &study.builds {
                let boots = study.boots.iter().filter(|boot| boot.build == build.number);
                for boot in boots {
                    let log = self.log(boot.log.as_deref(), OUTPUTS).await?;
                    let page = page(book, study, build, boot, log);
                    self.put_in(book, &names::boot(study.study, boot.number), &page)?;
                }
            }
        }
        Ok(())
    }
}

/// The path down to a boot's version, and what the boot is called.
pub(super) fn crumbs(book: &Book, study: &StudyHistory, build: &Build) -> Vec<Crumb> {
    let mut crumbs = book.crumbs();
    if let Some(at) = book.place(study, build) {
        crumbs.push(Crumb::new(&book.name(at), &book.version_page(at)));
    }
    crumbs
}

pub(super) fn title(build: &Build, boot: &Boot) -> String {
    format!(
        "Boot {} of the build in layout {}",
        boot.ordinal, build.layout
    )
}

fn page(
    book: &Book,
    study: &StudyHistory,
    build: &Build,
    boot: &Boot,
    log: Option<LogView>,
) -> BootPage {
    let trials = study
        .trials
        .iter()
        .filter(|trial| trial.boot == boot.number);
    BootPage {
        frame: Frame::new(&title(build, boot), "../", crumbs(book, study, build)),
        study: study.name.to_string(),
        layout: build.layout.to_string(),
        failure: boot
            .failure
            .as_ref()
            .map_or(String::new(), |why| clipped(why, 4000)),
        began: boot.began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        took: numbers::duration(boot.took),
        facts_left_out: boot.facts.len().saturating_sub(MOST_FACTS),
        facts: boot
            .facts
            .iter()
            .take(MOST_FACTS)
            .map(|(name, value)| (clipped(name, 200), clipped(value, 2000)))
            .collect(),
        trials: trials.map(|trial| TrialRow::new(study, trial)).collect(),
        log,
    }
}

impl TrialRow {
    fn new(study: &StudyHistory, trial: &HistoryTrial) -> Self {
        let cell = study.cells.get(trial.cell);
        let came = match (&trial.failure, cell) {
            (Some(why), _) => clipped(why.to_string().lines().next().unwrap_or_default(), 160),
            (None, Some(cell)) => {
                let metrics = cell.metrics.iter().zip(&trial.samples);
                let values = metrics.filter(|(_, values)| !values.is_empty());
                let values = values.map(|(metric, values)| {
                    let scale = Scale::fitting(metric.unit, values.iter().copied());
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    let value = numbers::value(scale.convert(mean), 4);
                    format!("{} {value}{}", metric.name, scale.unit_after())
                });
                values.collect::<Vec<_>>().join(" · ")
            }
            (None, None) => String::new(),
        };
        Self {
            href: names::trial(study.study, trial.number),
            number: trial.number,
            round: trial.round,
            cell: cell.map_or_else(|| "unknown".to_owned(), |cell| cell.cell.to_string()),
            came,
            failed: trial.failure.is_some(),
        }
    }
}
