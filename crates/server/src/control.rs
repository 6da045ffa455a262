//! What may be said through the server: how an alert stands, notes, what is to be measured. Only to who has the token.
//!
//! The token comes in a header that no browser sends by itself, so that a page of others can't make a reader's browser say anything.
//! Everything that is asked is written down before it is done, one JSON object a line, in `control-log.jsonl` of the store.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use backsight_store::Store;
use jiff::Timestamp;
use serde::Serialize;
use std::{fs::OpenOptions, io::Write as _, time::Duration};
use subtle::ConstantTimeEq as _;

use crate::{
    LiveSite,
    operations::{DoneView, ErrorView, WRITE_OPERATIONS},
    requests::ControlRequest,
};

/// Most bytes of what is said.
const MOST_SAID: usize = 64 << 10;
/// How long a reader may take to say it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The record of everything that was asked.
const LOG: &str = "control-log.jsonl";

/// The right to say something.
#[derive(Clone)]
pub struct Control {
    token: String,
}

/// A line of the record.
#[derive(Serialize)]
struct Logged<'a> {
    at: Timestamp,
    to: &'a str,
    #[serde(flatten)]
    said: &'a ControlRequest,
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
        given.is_some_and(|given| given.as_bytes().ct_eq(self.token.as_bytes()).into())
    }

    /// Does what is asked for with `POST` below `/api/v1/`.
    pub async fn answer(&self, live: &LiveSite, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        if !self.is_known(&parts.headers) {
            return error(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: `backsight serve --control` prints it",
            );
        }
        if !is_own(&parts.headers) {
            return error(StatusCode::FORBIDDEN, "the request comes from another site");
        }
        let body = match read(body).await {
            Ok(body) => body,
            Err(why) => return error(StatusCode::BAD_REQUEST, &why),
        };
        let path = parts.uri.path().strip_prefix("/api/v1/");
        let path = path.unwrap_or_default();
        let said = match ControlRequest::read(path, &body) {
            Some(Ok(said)) => said,
            Some(Err(why)) => return error(StatusCode::BAD_REQUEST, &why),
            None => {
                let paths = WRITE_OPERATIONS.iter().map(|operation| operation.path);
                let paths = paths.collect::<Vec<_>>().join(", ");
                let why = format!("below /api/v1/ only {paths} can be written to");
                return error(StatusCode::NOT_FOUND, &why);
            }
        };
        let done = match log(live.store(), path, &said) {
            Ok(()) => said.carry_out(live).await,
            Err(why) => Err(why),
        };
        match done {
            Ok(said) => json(StatusCode::OK, &DoneView { said }),
            Err(why) => error(StatusCode::UNPROCESSABLE_ENTITY, &why.to_string()),
        }
    }
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

async fn read(body: Body) -> Result<Vec<u8>, String> {
    let bytes = tokio::time::timeout(PATIENCE, to_bytes(body, MOST_SAID)).await;
    let bytes = bytes
        .map_err(|_| "the request didn't come to its end".to_owned())?
        .map_err(|_| format!("more than {MOST_SAID} bytes, or cut off"))?;
    Ok(bytes.into())
}

/// Writes down what is asked.
fn log(store: &Store, to: &str, said: &ControlRequest) -> miette::Result<()> {
    let path = store.dir().join(LOG);
    let write = || {
        let line = Logged {
            at: Timestamp::now(),
            to,
            said,
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
