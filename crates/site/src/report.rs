//! What a report is made of: studies as the store has them, and what they came to beside each other.
//!
//! Refuses: to hold more of the raw outputs than a page can show; the rest stays in the store.

use backsight_model::{Cell, ResultSet};
use backsight_policy::Comparison;
use backsight_store::{
    Kept, StepRow, Store, StoreError, StudyDocument, StudyId, StudyRow, TrialRow,
};

use crate::{
    overhead::OverheadStory,
    page::PAGE_LIMIT,
    printed::{Printed, share_out},
};

/// Everything that a report page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The page's heading.
    pub title: String,
    /// The studies, the base first; none where only numbers are compared.
    pub studies: Vec<Study>,
    /// How they, or the variants of the only one, compare; none if there is nothing to compare.
    pub comparison: Option<Comparison>,
    /// What watching costs, if the only study asked that.
    pub overhead: Option<OverheadStory>,
    /// What a reader should know before believing it, beside what is seen here.
    pub notes: Vec<String>,
}

/// A study with everything that was kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The study.
    pub row: StudyRow,
    /// What it measured.
    pub results: ResultSet,
    /// Its cells, in the plan's order.
    pub cells: Vec<Cell>,
    /// What it was made from: plan, lab, benchmarks.
    pub documents: Vec<StudyDocument>,
    /// Its trials, in order of time.
    pub trials: Vec<Trial>,
}

/// A trial with its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The trial.
    pub row: TrialRow,
    /// Every step that was begun.
    pub steps: Vec<Step>,
}

/// A step with what it printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The step.
    pub row: StepRow,
    /// Its standard output.
    pub stdout: Printed,
    /// Its standard error.
    pub stderr: Printed,
}

/// Collects from the store what a report on these studies shows.
///
/// Outputs are cut, the longest first, to what [`crate::report`] can show of them.
///
/// # Errors
/// There is no such study; the store's own.
pub async fn report_of(
    store: &Store,
    title: String,
    studies: &[StudyId],
    comparison: Option<Comparison>,
) -> Result<Report, StoreError> {
    let mut collected = Vec::new();
    for study in studies {
        collected.push(WithoutOutputs::read(store, *study).await?);
    }
    let lengths: Vec<usize> = collected
        .iter()
        .flat_map(WithoutOutputs::outputs)
        .map(|output| usize::try_from(output.kept).unwrap_or(usize::MAX))
        .collect();
    let most = share_out(&lengths, PAGE_LIMIT);
    let mut studies = Vec::new();
    for study in collected {
        studies.push(study.with_outputs(store, most).await);
    }
    Ok(Report {
        title,
        studies,
        comparison,
        overhead: None,
        notes: Vec::new(),
    })
}

/// A study of which no output has been read yet.
struct WithoutOutputs {
    row: StudyRow,
    results: ResultSet,
    cells: Vec<Cell>,
    documents: Vec<StudyDocument>,
    trials: Vec<(TrialRow, Vec<StepRow>)>,
}

impl WithoutOutputs {
    async fn read(store: &Store, study: StudyId) -> Result<Self, StoreError> {
        let mut trials = Vec::new();
        for trial in store.trials(study).await? {
            let steps = store.steps(study, trial.number).await?;
            trials.push((trial, steps));
        }
        Ok(Self {
            row: store.study_of(study).await?,
            results: store.result_set(study).await?,
            cells: store.cells(study).await?,
            documents: store.documents(study).await?,
            trials,
        })
    }

    fn outputs(&self) -> impl Iterator<Item = &Kept> {
        let steps = self.trials.iter().flat_map(|(_, steps)| steps);
        steps.flat_map(|step| [&step.stdout, &step.stderr])
    }

    async fn with_outputs(self, store: &Store, most: usize) -> Study {
        let mut trials = Vec::new();
        for (row, rows) in self.trials {
            let mut steps = Vec::new();
            for row in rows {
                steps.push(Step {
                    stdout: printed(store, &row.stdout, most).await,
                    stderr: printed(store, &row.stderr, most).await,
                    row,
                });
            }
            trials.push(Trial { row, steps });
        }
        Study {
            row: self.row,
            results: self.results,
            cells: self.cells,
            documents: self.documents,
            trials,
        }
    }
}

/// One lost object is no reason to show nothing of all the others.
async fn printed(store: &Store, output: &Kept, most: usize) -> Printed {
    match &output.raw {
        None => Printed::new(Vec::new(), output.printed, most),
        Some(raw) => match store.raw(raw).await {
            Ok(bytes) => Printed::new(bytes, output.printed, most),
            Err(why) => Printed::unreadable_because(why.to_string(), output.printed),
        },
    }
}
