//! What may be said through the server: how an alert stands, notes, what is to be measured. Only by who may.
//!
//! Everything that is asked is written down before it is done ([`backsight_store::AuditEntry`]).

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use backsight_access::Caller;
use backsight_store::AuditEntry;
use jiff::Timestamp;
use serde::Serialize;
use std::{sync::Arc, time::Duration};

use crate::{
    LiveSite,
    access::ServerAccess,
    operations::{CallerView, DoneView, ErrorView, WRITE_OPERATIONS},
};

/// Most bytes of what is said.
const MOST_SAID: usize = 64 << 10;
/// How long a reader may take to say it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whoever says something isn't kept waiting for longer until pages show it.
const LONGEST_READING: Duration = Duration::from_secs(2);

/// Does what is asked for with `POST` below `/api/v1/`.
pub async fn answer(
    live: &Arc<LiveSite>,
    access: &ServerAccess,
    caller: &Caller,
    parts: Parts,
    body: Body,
) -> Response {
    if !is_own(&parts.headers, access, caller) {
        return error(StatusCode::FORBIDDEN, "the request comes from another site");
    }
    let path = parts.uri.path().strip_prefix("/api/v1/");
    let path = path.unwrap_or_default();
    let Some(operation) = WRITE_OPERATIONS.iter().find(|it| it.path == path) else {
        let paths = WRITE_OPERATIONS.iter().map(|operation| operation.path);
        let paths = paths.collect::<Vec<_>>().join(", ");
        let why = format!("below /api/v1/ only {paths} can be written to");
        return error(StatusCode::NOT_FOUND, &why);
    };
    if caller.scope < operation.scope {
        let name = caller.token.as_deref().unwrap_or_default();
        let why = format!(
            "the token `{name}` is for scope `{}`, and this wants `{}`",
            caller.scope, operation.scope
        );
        let detail = serde_json::json!({ "refused": operation.scope.as_str() }).to_string();
        return match log(live, caller, path, "", &detail).await {
            Ok(()) => error(StatusCode::FORBIDDEN, &why),
            Err(unwritten) => error(StatusCode::SERVICE_UNAVAILABLE, &unwritten),
        };
    }
    let body = match read(body).await {
        Ok(body) => body,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    let asked = (operation.read)(&body);
    let said = match asked.and_then(|asked| asked.said_by(caller.person.as_deref())) {
        Ok(said) => said,
        Err(why) => return error(StatusCode::BAD_REQUEST, &why),
    };
    let detail = backsight_report::json(&said).unwrap_or_default();
    if let Err(why) = log(live, caller, path, said.by(), &detail).await {
        return error(StatusCode::UNPROCESSABLE_ENTITY, &why);
    }
    match said.carry_out(live).await {
        Ok(said) => {
            let live = Arc::clone(live);
            let shown = tokio::spawn(async move { live.show_written().await });
            // A store that takes longer to read shows it later.
            let _ = tokio::time::timeout(LONGEST_READING, shown).await;
            json(StatusCode::OK, &DoneView { said })
        }
        Err(why) => error(StatusCode::UNPROCESSABLE_ENTITY, &why.to_string()),
    }
}

/// Who a reader is, as far as the server knows.
pub fn who(caller: Option<&Caller>) -> Response {
    let view = CallerView {
        person: caller.and_then(|caller| caller.person.as_deref()),
        scope: caller.map_or("read", |caller| caller.scope.as_str()),
    };
    let mut response = json(StatusCode::OK, &view);
    let never = header::HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
    response
}

/// Whether a browser says that the request comes from a page of this server; other programs say nothing of it. A proxy lets in whom a
/// browser sends there by itself, and a browser says where from.
fn is_own(headers: &HeaderMap, access: &ServerAccess, caller: &Caller) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => !caller.is_proxied,
        (Some(origin), Some(host)) => {
            origin == format!("http://{host}")
                || access.public_url().is_some_and(|url| url == origin)
        }
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
async fn log(
    live: &LiveSite,
    caller: &Caller,
    action: &str,
    by: &str,
    detail: &str,
) -> Result<(), String> {
    let entry = AuditEntry {
        at: Timestamp::now(),
        person: caller.person.as_deref().unwrap_or(by).to_owned(),
        token: caller.token.clone(),
        way: "serve".to_owned(),
        action: action.to_owned(),
        detail: detail.to_owned(),
    };
    let written = live.store().record_audit(&entry).await;
    written.map_err(|why| format!("nothing is done, since it can't be written down: {why}"))
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let text = backsight_report::json(value).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// An answer that says why there is none.
pub fn error(status: StatusCode, why: &str) -> Response {
    json(
        status,
        &ErrorView {
            error: why.to_owned(),
        },
    )
}
