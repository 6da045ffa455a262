//! The pages of verdicts: a try, a bisection, a study of noise and others, each as one file that needs nothing else, or within a
//! site.

use askama::Template;
use backsight_report::{
    Document,
    bisect::{BisectStudy, CheckRow, CulpritRow},
    chart::Figure,
    noise::{NoiseRow, NoiseStudy},
    numbers,
    try_patch::{BuildRow, TryRow, TryStudy},
};
use backsight_stats::Confidence;

use crate::{PageError, surroundings::Surroundings};

const STYLE: &str = include_str!("../templates/report.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The page of a try.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn try_page(study: &TryStudy<'_>, around: &Surroundings) -> Result<String, PageError> {
    let page = TryPage {
        title: study.history.name.as_str(),
        style: STYLE,
        version: VERSION,
        around,
        base: study.base(),
        sentences: study.sentences(),
        came: study.overall().as_str(),
        rows: study.rows(),
        sure: numbers::confidence(Confidence::new(study.confidence).unwrap_or_default()),
        equal: study.equal,
        builds: study.builds(),
        pictures: study.figures(),
    };
    Ok(page.render()?)
}

/// The page of a bisection.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn bisect_page(study: &BisectStudy<'_>, around: &Surroundings) -> Result<String, PageError> {
    let page = BisectPage {
        title: study.history.name.as_str(),
        style: STYLE,
        version: VERSION,
        around,
        question: study.question(),
        sentences: study.sentences(),
        rows: study.rows(),
        sum: study.sum(),
        checks: study.check_rows(),
        course: study.chart(),
        is_decided: study.is_decided(),
        places: study.suspected(),
        measured: study.measured(),
        command: study.command,
    };
    Ok(page.render()?)
}

/// The page of a study of noise.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn noise_page(study: &NoiseStudy<'_>, around: &Surroundings) -> Result<String, PageError> {
    let page = NoisePage {
        title: study.name,
        style: STYLE,
        version: VERSION,
        around,
        what: study.what,
        sentences: study.sentences(),
        rows: study.rows(true),
        secondary: study.rows(false),
        pictures: study.figures(),
    };
    Ok(page.render()?)
}

/// The page of a verdict that is a document.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn document_page(document: &Document, around: &Surroundings) -> Result<String, PageError> {
    let page = DocumentPage {
        title: &document.title,
        style: STYLE,
        version: VERSION,
        around,
        answer: document.answer_html(),
        sections: document.sections_html(),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
    around: &'a Surroundings,
    answer: String,
    sections: String,
}

#[derive(Template)]
#[template(path = "try.html")]
struct TryPage<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
    around: &'a Surroundings,
    base: String,
    sentences: Vec<String>,
    came: &'static str,
    rows: Vec<TryRow>,
    sure: String,
    equal: Option<f64>,
    builds: Vec<BuildRow>,
    pictures: Vec<Figure>,
}

#[derive(Template)]
#[template(path = "bisect.html")]
struct BisectPage<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
    around: &'a Surroundings,
    question: String,
    sentences: Vec<String>,
    rows: Vec<CulpritRow>,
    sum: Vec<(String, String)>,
    checks: Vec<CheckRow>,
    course: String,
    is_decided: bool,
    places: Vec<(String, String)>,
    measured: Vec<(String, usize, String)>,
    command: &'a str,
}

#[derive(Template)]
#[template(path = "noise.html")]
struct NoisePage<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
    around: &'a Surroundings,
    what: &'a str,
    sentences: Vec<String>,
    rows: Vec<NoiseRow>,
    secondary: Vec<NoiseRow>,
    pictures: Vec<Figure>,
}
