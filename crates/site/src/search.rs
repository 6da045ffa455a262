//! The part of a report that is a search's own.

use askama::Template;
use backsight_policy::SubjectAnswer;
use backsight_report::search::{LoadRow, SearchRow, SearchStudy};

/// The part of a report that is a search's own.
#[derive(Template)]
#[template(path = "search.html")]
pub(crate) struct SearchSection {
    sentences: Vec<String>,
    rows: Vec<SearchRow>,
    notes: Vec<String>,
    subjects: Vec<SubjectSection>,
}

struct SubjectSection {
    name: String,
    id: String,
    curve: String,
    curve_about: String,
    /// Names of the columns that goals have.
    goals: Vec<String>,
    loads: Vec<LoadRow>,
    left_out: usize,
}

impl SearchSection {
    pub fn new(study: &SearchStudy<'_>) -> Self {
        let answers = study.answers().iter().enumerate();
        Self {
            sentences: study.sentences(),
            rows: study.rows(),
            notes: study.notes(),
            subjects: answers
                .map(|(number, answer)| subject(study, number, answer))
                .collect(),
        }
    }
}

fn subject(study: &SearchStudy<'_>, number: usize, answer: &SubjectAnswer) -> SubjectSection {
    let id = format!("curve-{number}");
    let (curve, curve_about) = study.curve(answer, &id);
    let (loads, left_out) = study.loads(answer);
    SubjectSection {
        name: study.subject(answer.subject),
        curve,
        curve_about,
        goals: study.goal_names(),
        loads,
        left_out,
        id,
    }
}
