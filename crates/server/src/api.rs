//! Answers of the read API: the views that `--format json` prints.

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use backsight_report::{history::HistoryStudyView, queue::QueueView};
use backsight_site::{NoComparison, SiteTarget};
use backsight_store::{RawRef, StoreError};
use backsight_study::{QueueLimits, VerdictReport, list_queue};
use serde::Serialize;

use crate::{
    LiveSite,
    open_api::open_api,
    operations::{ErrorView, TargetView},
    verdict_output::json_of,
};

/// What becomes of a question.
enum Answer {
    /// JSON.
    Found(String),
    /// Nothing of that name.
    NotFound(String),
    /// What was asked for has no answer.
    Refused(String),
    /// It can't be answered.
    Failed(String),
}

/// Answers what is asked for below `/api/v1/`.
pub async fn answer(live: &LiveSite, path: &str, query: &str) -> Response {
    let answer = match decoded(path) {
        Some(parts) => match parts.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["targets"] => targets(live),
            ["targets", target, "history"] => history(live, target, &parameter(query, "series")),
            ["targets", target, "compare", versions] => comparison(live, target, versions),
            ["targets", target, "testbeds", version, testbeds] => {
                let site = &live.edition().site;
                let page = site.testbeds_comparison(target, &sides(testbeds), Some(version));
                sets(live, page).await
            }
            ["compare", studies] => {
                let page = live.edition().site.studies_comparison(&sides(studies));
                sets(live, page).await
            }
            ["targets", target, "tests"] => tests(live, target),
            ["alerts"] => found(live.edition().site.alerts_json()),
            ["machines"] => found(live.edition().site.machines_json()),
            ["queue"] => queue(live).await,
            ["studies"] => found(live.edition().site.studies_json()),
            ["studies", study] => of_study(live, study).await,
            ["openapi.json"] => written(&open_api()),
            _ => unknown(path),
        },
        None => unknown(path),
    };
    let (status, text) = match answer {
        Answer::Found(text) => (StatusCode::OK, text),
        Answer::NotFound(error) => (StatusCode::NOT_FOUND, error_text(error)),
        Answer::Refused(error) => (StatusCode::UNPROCESSABLE_ENTITY, error_text(error)),
        Answer::Failed(error) => (StatusCode::INTERNAL_SERVER_ERROR, error_text(error)),
    };
    let tag = format!("\"{}\"", RawRef::from_content(text.as_bytes()));
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let (StatusCode::OK, Ok(tag)) = (status, HeaderValue::from_str(&tag)) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn error_text(error: String) -> String {
    backsight_report::json(&ErrorView { error }).unwrap_or_default()
}

fn written(value: &impl Serialize) -> Answer {
    found(backsight_report::json(value))
}

fn found(text: Result<String, serde_json::Error>) -> Answer {
    match text {
        Ok(text) => Answer::Found(text),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

fn unknown(path: &str) -> Answer {
    Answer::NotFound(format!(
        "nothing can be asked at {path:?}: /api/v1/openapi.json says what can be"
    ))
}

/// The parts of a path, decoded; none where it isn't text.
fn decoded(path: &str) -> Option<Vec<String>> {
    path.split('/').map(percent_decoded).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let bytes = percent_encoding::percent_decode_str(text);
    Some(bytes.decode_utf8().ok()?.into_owned())
}

/// A parameter of a query; empty where it isn't given.
fn parameter(query: &str, name: &str) -> String {
    parameters(query, name).pop().unwrap_or_default()
}

/// The values of a parameter that may be given several times, without those that are empty.
pub fn parameters(query: &str, name: &str) -> Vec<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = pairs.filter(|(key, _)| *key == name);
    let values = values.filter_map(|(_, value)| percent_decoded(&value.replace('+', " ")));
    let values = values.map(|value| value.trim().to_owned());
    values.filter(|value| !value.is_empty()).collect()
}

fn targets(live: &LiveSite) -> Answer {
    let edition = live.edition();
    let views = edition.site.targets().map(|target| TargetView {
        target: target.target.as_str(),
        versions: target.history.versions.len(),
        measured: target.measured(),
        series: target.history.series.len(),
        tests: target.tests.as_ref().map_or(0, |tests| tests.rows.len()),
        studies: target.studies.iter().map(HistoryStudyView::from).collect(),
    });
    written(&views.collect::<Vec<_>>())
}

/// What `use` makes of a target, if there is one of that name.
fn of_target(live: &LiveSite, name: &str, make: impl FnOnce(&SiteTarget) -> Answer) -> Answer {
    let edition = live.edition();
    let found = edition
        .site
        .targets()
        .find(|target| target.target.as_str() == name);
    match found {
        Some(target) => make(target),
        None => Answer::NotFound(format!("no target is called {name:?}")),
    }
}

fn history(live: &LiveSite, target: &str, part: &str) -> Answer {
    of_target(live, target, |target| found(target.history_json(part)))
}

fn tests(live: &LiveSite, target: &str) -> Answer {
    of_target(live, target, |target| match target.tests_json() {
        Ok(None) => Answer::NotFound(format!("{} has no suites", target.target)),
        Ok(Some(text)) => Answer::Found(text),
        Err(error) => Answer::Failed(error.to_string()),
    })
}

async fn queue(live: &LiveSite) -> Answer {
    match list_queue(live.store(), QueueLimits::ALL).await {
        Ok(listing) => written(&QueueView::new(&listing)),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

fn comparison(live: &LiveSite, target: &str, versions: &str) -> Answer {
    match live.edition().site.comparison_json(target, versions) {
        Ok(text) => found(text),
        Err(why) => why.into(),
    }
}

impl From<NoComparison> for Answer {
    fn from(why: NoComparison) -> Self {
        match why {
            NoComparison::Unknown(why) => Self::NotFound(why),
            NoComparison::Count(why) | NoComparison::NotOne(why) => Self::Refused(why),
        }
    }
}

/// The names with `..` between them.
fn sides(text: &str) -> Vec<String> {
    let sides = backsight_site::named_sides(text).into_iter();
    sides.map(str::to_owned).collect()
}

/// The JSON beside a page that compares result sets.
async fn sets(live: &LiveSite, page: Result<String, NoComparison>) -> Answer {
    let page = match page {
        Ok(page) => page,
        Err(why) => return why.into(),
    };
    let edition = live.edition();
    match edition
        .site
        .file(&backsight_site::data_of_page(&page))
        .await
    {
        Ok(Some(file)) => match (file.refusal, String::from_utf8(file.content)) {
            (Some(why), _) => Answer::Refused(why),
            (None, Ok(text)) => Answer::Found(text),
            (None, Err(error)) => Answer::Failed(error.to_string()),
        },
        Ok(None) => Answer::NotFound("nothing to compare is there any more".to_owned()),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

async fn of_study(live: &LiveSite, asked: &str) -> Answer {
    let study = match live.store().study(asked).await {
        Ok(study) if live.shows(&study) => study,
        Ok(study) => {
            return Answer::NotFound(format!("{} isn't of a target that is served", study.name));
        }
        Err(unknown @ StoreError::NoSuchStudy { .. }) => {
            return Answer::NotFound(unknown.to_string());
        }
        Err(error) => return Answer::Failed(error.to_string()),
    };
    let verdict = match VerdictReport::from_store(live.store(), &study).await {
        // It is a part of its target's history.
        Ok(VerdictReport::History(target)) => return history(live, target.as_str(), ""),
        Ok(verdict) => verdict,
        Err(why) => return Answer::Refused(why.to_string()),
    };
    match json_of(&study, &verdict) {
        Ok(text) => Answer::Found(text),
        Err(error) => Answer::Failed(error.to_string()),
    }
}
