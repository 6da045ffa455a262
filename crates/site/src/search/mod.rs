//! What a search came to, in words, as a table and as a picture: the terminal and the page say the same.
//!
//! Refuses: a rate without its bounds and the number of searches behind it, and a limit without saying whose it is.

mod curve;
mod words;

pub use words::{SearchRow, SearchWords};

use askama::Template;
use backsight_policy::{LoadPoint, SearchVerdict, SubjectAnswer};

/// Most loads of a subject in its table.
const MOST_LOADS: usize = 400;

/// The part of a report that is a search's own.
#[derive(Template)]
#[template(path = "search.html")]
pub(crate) struct SearchView {
    sentences: Vec<String>,
    rows: Vec<SearchRow>,
    notes: Vec<String>,
    subjects: Vec<SubjectView>,
}

struct SubjectView {
    name: String,
    id: String,
    curve: String,
    curve_about: String,
    /// Names of the columns that goals have.
    goals: Vec<String>,
    loads: Vec<LoadRow>,
    left_out: usize,
}

struct LoadRow {
    load: String,
    arrived: String,
    lost: String,
    trials: usize,
    time: String,
    goals: Vec<String>,
    short: usize,
}

impl SearchView {
    pub fn new(words: &SearchWords<'_>, verdict: &SearchVerdict) -> Self {
        let subjects = verdict.subjects.iter().enumerate();
        Self {
            sentences: words.sentences(verdict),
            rows: words.rows(verdict),
            notes: words.notes(verdict),
            subjects: subjects
                .map(|(number, answer)| subject(words, number, answer))
                .collect(),
        }
    }
}

fn subject(words: &SearchWords<'_>, number: usize, answer: &SubjectAnswer) -> SubjectView {
    let id = format!("curve-{number}");
    let (curve, curve_about) = curve::curve(words, answer, &id);
    let most = answer.loads.iter().take(MOST_LOADS);
    SubjectView {
        name: words.subject(answer.subject),
        curve,
        curve_about,
        goals: words
            .policy
            .goals
            .iter()
            .map(|goal| words.goal(goal))
            .collect(),
        loads: most.map(|point| load(words, point)).collect(),
        left_out: answer.loads.len().saturating_sub(MOST_LOADS),
        id,
    }
}

fn load(words: &SearchWords<'_>, point: &LoadPoint) -> LoadRow {
    let goals = words
        .policy
        .goals
        .iter()
        .zip(&point.good)
        .zip(&point.values);
    LoadRow {
        load: words.load(point.load),
        arrived: words.arrived(point),
        lost: words.lost(point),
        trials: point.trials,
        time: words.time(point.seconds),
        goals: goals
            .map(|((goal, good), values)| words.met_at(goal, *good, point.trials, values))
            .collect(),
        short: point.short,
    }
}
