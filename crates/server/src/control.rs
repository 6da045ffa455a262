//! What may be said through the server: how an alert stands, that a change is accepted. Only to who has the token.
//!
//! The token comes in a header that no browser sends by itself, so that a page of others can't make a reader's browser say anything.
//! Everything that is asked is written down before it is done, one JSON object a line, in `control-log.jsonl` of the store.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use backsight_model::TriageState;
use backsight_policy::AlertState;
use backsight_store::Store;
use backsight_study::{
    AcceptanceStatement, AlertStatement, accept_change, find_target, triage_alert,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{fs::OpenOptions, io::Write as _, time::Duration};

use crate::operations::ErrorView;

/// Most bytes of what is said.
const MOST_SAID: usize = 64 << 10;
/// How long a reader may take to say it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The record of everything that was asked.
const LOG: &str = "control-log.jsonl";
/// Longest name of who says something, in characters.
const LONGEST_NAME: usize = 200;

/// The right to say something.
#[derive(Clone)]
pub struct Control {
    token: String,
}

/// How an alert stands, as somebody says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TriageRequest {
    target: String,
    version: String,
    /// A state of an alert, `accepted` included.
    state: String,
    #[serde(default)]
    note: Option<String>,
    by: String,
}

/// A line of the record.
#[derive(Serialize)]
struct Logged<'a> {
    at: Timestamp,
    #[serde(flatten)]
    said: &'a TriageRequest,
}

/// What became of it.
#[derive(Serialize)]
struct Done {
    said: String,
}

impl Control {
    /// The right of whoever has this token.
    pub fn new(token: String) -> Self {
        Self { token }
    }

    /// Whether a request has the token. Takes as long whatever is wrong with it.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        given.is_some_and(|given| is_equal(given.as_bytes(), self.token.as_bytes()))
    }

    /// Does what is asked for with `POST /api/v1/triage`.
    pub async fn answer(&self, store: &Store, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        if !self.is_known(&parts.headers) {
            return error(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: `backsight serve --control` prints it",
            );
        }
        if parts.uri.path() != "/api/v1/triage" {
            return error(
                StatusCode::NOT_FOUND,
                "only /api/v1/triage can be written to",
            );
        }
        if !is_own(&parts.headers) {
            return error(StatusCode::FORBIDDEN, "the request comes from another site");
        }
        let said = match read(body).await {
            Ok(said) => said,
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        };
        match said.carry_out(store).await {
            Ok(sentence) => json(StatusCode::OK, &Done { said: sentence }),
            Err(why) => error(StatusCode::UNPROCESSABLE_ENTITY, &why.to_string()),
        }
    }
}

fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}

/// Whether a browser says that the request comes from a page of this server; other programs say nothing of it.
fn is_own(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin == format!("http://{host}"),
        (Some(_), None) => false,
    }
}

async fn read(body: Body) -> Result<TriageRequest, String> {
    let bytes = tokio::time::timeout(PATIENCE, to_bytes(body, MOST_SAID)).await;
    let bytes = bytes
        .map_err(|_| "the request didn't come to its end".to_owned())?
        .map_err(|_| format!("more than {MOST_SAID} bytes, or cut off"))?;
    let said: TriageRequest = serde_json::from_slice(&bytes).map_err(|why| why.to_string())?;
    let by = said.by.trim();
    if by.is_empty() || by.chars().count() > LONGEST_NAME {
        return Err(format!("`by` says who: 1 to {LONGEST_NAME} characters"));
    }
    Ok(said)
}

impl TriageRequest {
    async fn carry_out(self, store: &Store) -> miette::Result<String> {
        self.log(store)?;
        let target = find_target(store, Some(&self.target)).await?;
        let note = self.note.filter(|note| !note.trim().is_empty());
        let by = self.by.trim().to_owned();
        if self.state == AlertState::Accepted.as_str() {
            let said = AcceptanceStatement {
                version: self.version,
                metric: None,
                reason: note.unwrap_or_default(),
                work_around: None,
                by,
                until: None,
            };
            let (acceptance, _) = accept_change(store, &target, said).await?;
            return Ok(format!(
                "{} of {target} is accepted, says {}",
                acceptance.name, acceptance.by
            ));
        }
        let state: TriageState = self.state.parse().map_err(|why: String| {
            let states = TriageState::ALL.map(TriageState::as_str).join(", ");
            miette::miette!("{why}: there are {states}, accepted")
        })?;
        let said = AlertStatement {
            version: self.version,
            state,
            note,
            by,
        };
        let triage = triage_alert(store, &target, said).await?;
        Ok(format!(
            "{} of {target} is {}, says {}",
            triage.name, triage.state, triage.by
        ))
    }

    /// Writes down what was asked.
    fn log(&self, store: &Store) -> miette::Result<()> {
        let path = store.dir().join(LOG);
        let write = || {
            let line = Logged {
                at: Timestamp::now(),
                said: self,
            };
            let mut line = serde_json::to_vec(&line)?;
            line.push(b'\n');
            let mut log = OpenOptions::new().append(true).create(true).open(&path)?;
            log.write_all(&line)?;
            log.sync_data()
        };
        write().map_err(|why| {
            miette::miette!(
                "nothing is done, since {} can't be written: {why}",
                path.display()
            )
        })
    }
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = backsight_report::json(value).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn error(status: StatusCode, why: &str) -> Response {
    json(
        status,
        &ErrorView {
            error: why.to_owned(),
        },
    )
}
