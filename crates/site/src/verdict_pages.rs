//! The pages of verdicts: a try, a bisection, a study of noise, each as one self-contained file.

use askama::Template;
use backsight_report::{
    bisect::{BisectStudy, CulpritRow},
    chart::Figure,
    noise::{NoiseRow, NoiseStudy},
    numbers,
    try_patch::{BuildRow, TryRow, TryStudy},
};
use backsight_stats::Confidence;

use crate::PageError;

const STYLE: &str = include_str!("../templates/report.css");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The page of a try.
///
/// # Errors
/// The template fails; no input is known that makes it.
pub fn try_page(study: &TryStudy<'_>) -> Result<String, PageError> {
    let page = TryPage {
        title: study.history.name.as_str(),
        style: STYLE,
        version: VERSION,
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
pub fn bisect_page(study: &BisectStudy<'_>) -> Result<String, PageError> {
    let page = BisectPage {
        title: study.history.name.as_str(),
        style: STYLE,
        version: VERSION,
        question: study.question(),
        sentences: study.sentences(),
        rows: study.rows(),
        sum: study.sum(),
        course: study.chart(),
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
pub fn noise_page(study: &NoiseStudy<'_>) -> Result<String, PageError> {
    let page = NoisePage {
        title: study.name,
        style: STYLE,
        version: VERSION,
        what: study.what,
        sentences: study.sentences(),
        rows: study.rows(true),
        secondary: study.rows(false),
        pictures: study.figures(),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "try.html")]
struct TryPage<'a> {
    title: &'a str,
    style: &'static str,
    version: &'static str,
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
    question: String,
    sentences: Vec<String>,
    rows: Vec<CulpritRow>,
    sum: Vec<(String, String)>,
    course: String,
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
    what: &'a str,
    sentences: Vec<String>,
    rows: Vec<NoiseRow>,
    secondary: Vec<NoiseRow>,
    pictures: Vec<Figure>,
}
