//! Answers requests for pages, raw outputs, the API and news; for browsers of this machine, or of who comes by a proxy. Reads only, but for who
//! may do more.

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response, Sse, sse},
};
use backsight_access::Caller;
use backsight_report::escape;
use futures_util::{StreamExt as _, stream};
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch};

use crate::{
    LiveSite,
    access::{ServerAccess, wrong_name},
    address::{Place, place},
    api, control,
    page_cache::{Edition, SentFile},
};

/// Pages say themselves what their scripts may do; this holds where a page says nothing.
const POLICY: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// How long requests that are under way may take once the server was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A machine that others reach.
    #[error("{0} isn't an address of this machine alone")]
    NotLoopback(SocketAddr),
    /// Serving failed.
    #[error("can't serve: {0}")]
    Io(#[from] std::io::Error),
}

#[derive(Clone)]
struct Server {
    site: Arc<LiveSite>,
    /// Who may do what.
    access: ServerAccess,
    /// Ends streams of news.
    stopping: watch::Receiver<bool>,
}

/// Serves a site on an address of this machine until `stop` ends; says where once it listens.
///
/// # Errors
/// The address is another machine's too, or is taken.
pub async fn serve(
    site: Arc<LiveSite>,
    access: ServerAccess,
    address: SocketAddr,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let listener = TcpListener::bind(address)
        .await
        .map_err(|source| ServeError::Listen { address, source })?;
    listening(listener.local_addr()?);
    let (stopping, told) = watch::channel(false);
    let follower = tokio::spawn(Arc::clone(&site).follow());
    let server = Server {
        site,
        access,
        stopping: told.clone(),
    };
    let router = Router::new()
        .route("/api/v1/events", axum::routing::get(events))
        .fallback(answer)
        .layer(middleware::from_fn_with_state(server.clone(), guard))
        .with_state(server);
    let stopped = async move {
        stop.await;
        let _ = stopping.send(true);
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(stopped);
    let mut told = told;
    tokio::select! {
        ended = serving => ended?,
        // A reader that takes nothing more would hold the server for ever.
        () = async {
            let _ = told.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(GRACE).await;
        } => {}
    }
    follower.abort();
    Ok(())
}

/// What holds for every request: it only reads unless the server takes what is said, it came by a name that the server has, by somebody who may, and
/// its answer is no more than it says.
async fn guard(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let access = &server.access;
    let says = access.is_controlled && request.method() == Method::POST;
    let mut response = if !says && ![Method::GET, Method::HEAD].contains(request.method()) {
        let allow = [(header::ALLOW, "GET, HEAD")];
        (StatusCode::METHOD_NOT_ALLOWED, allow, "only GET and HEAD\n").into_response()
    } else if !access.is_named(request.headers()) {
        wrong_name().into_response()
    } else {
        match access.caller(request.headers(), says).await {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                next.run(request).await
            }
            Err(refusal) if request.uri().path().starts_with("/api/") => {
                let answer = control::error(refusal.status(), &refusal.sentence());
                refusal.with_challenge(answer)
            }
            Err(refusal) => refusal.into_response(),
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Says that there are newer pages.
async fn events(State(server): State<Server>) -> impl axum::response::IntoResponse {
    let mut stopping = server.stopping;
    let editions = stream::unfold(server.site.editions(), async |mut editions| {
        editions.changed().await.ok()?;
        let edition = *editions.borrow_and_update();
        Some((edition, editions))
    });
    let news = editions.map(|edition| {
        Ok::<_, Infallible>(
            sse::Event::default()
                .event("edition")
                .data(edition.to_string()),
        )
    });
    let until = async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    Sse::new(news.take_until(Box::pin(until))).keep_alive(sse::KeepAlive::default())
}

async fn answer(State(server): State<Server>, request: Request) -> Response {
    let caller = request.extensions().get::<Option<Caller>>();
    let caller = caller.cloned().flatten();
    if let (Some(caller), &Method::POST) = (&caller, request.method()) {
        let (parts, body) = request.into_parts();
        return control::answer(&server.site, &server.access, caller, parts, body).await;
    }
    if request.uri().path() == "/api/v1/me" {
        return control::who(caller.as_ref());
    }
    let headers = request.headers();
    let path = request.uri().path();
    let response = match path.strip_prefix("/api/v1/") {
        Some(asked) => {
            let query = request.uri().query().unwrap_or_default();
            let (asked, query) = (asked.to_owned(), query.to_owned());
            let (live, edition) = (Arc::clone(&server.site), server.site.edition());
            let made = edition
                .compute(move |runtime| runtime.block_on(api::answer(&live, &asked, &query)));
            made.await
                .unwrap_or_else(|_| fault("the answer can't be made"))
        }
        None => {
            let query = request.uri().query().unwrap_or_default();
            page(&server.site.edition(), path, query, takes_gzip(headers)).await
        }
    };
    unchanged(headers, response)
}

async fn page(edition: &Arc<Edition>, path: &str, query: &str, takes_gzip: bool) -> Response {
    match place(&edition.site, path) {
        Place::Elsewhere(path) => match HeaderValue::from_str(&path) {
            Ok(path) => {
                (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, path)]).into_response()
            }
            Err(_) => not_found(),
        },
        Place::Nowhere => not_found(),
        Place::File(address) if !query.is_empty() => {
            let names = api::parameters(query, "v");
            let at = api::parameters(query, "at").pop();
            match edition.site.comparison(&address, &names, at.as_deref()) {
                Some(Ok(page)) if !names.is_empty() => see_other(&page),
                Some(Err(why)) if !names.is_empty() => nothing_because(&why.to_string()),
                _ => file(edition, &address, takes_gzip).await,
            }
        }
        Place::File(address) => file(edition, &address, takes_gzip).await,
    }
}

async fn file(edition: &Arc<Edition>, address: &str, takes_gzip: bool) -> Response {
    match edition.file(address).await {
        Ok(Some(file)) => file_response(address, &file, takes_gzip),
        Ok(None) => not_found(),
        Err(error) => fault(&error.to_string()),
    }
}

/// The page that a form asked for.
fn see_other(page: &str) -> Response {
    let path = format!("/{}", page.strip_suffix(".html").unwrap_or(page));
    (StatusCode::SEE_OTHER, [(header::LOCATION, path)]).into_response()
}

/// Whether a reader takes compressed answers.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get_all(header::ACCEPT_ENCODING).iter();
    let codings = accepted.filter_map(|value| value.to_str().ok());
    let mut codings = codings.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        matches!(name.trim(), "gzip" | "*") && weight.parse() != Ok(0.0)
    })
}

fn file_response(address: &str, file: &SentFile, takes_gzip: bool) -> Response {
    // A raw output's address says its content.
    let keep = match address.starts_with("raw/") {
        true => "private, max-age=31536000, immutable",
        false => "no-cache",
    };
    let compressed = file.compressed.as_ref().filter(|_| takes_gzip);
    let content = compressed.unwrap_or(&file.content);
    let mut response = Response::new(Body::from(content.clone()));
    if file.is_refusal {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(file.media_type),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let mut form = "";
    if compressed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        form = "-gzip";
    }
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}{form}\"", file.tag)) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// The answer, or that the reader has it already.
fn unchanged(asked: &HeaderMap, response: Response) -> Response {
    let known = asked.get(header::IF_NONE_MATCH);
    let tag = response.headers().get(header::ETAG);
    if known.is_none() || known != tag {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    Response::from_parts(parts, Body::empty())
}

fn not_found() -> Response {
    nothing_because("What it was about may have been deleted.")
}

fn nothing_because(why: &str) -> Response {
    let why = escape::html(why);
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
                <title>Not found · Backsight</title><link rel=\"stylesheet\" href=\"/style.css\"><h1>Nothing is here</h1>\
                <p>{why} <a href=\"/\">Home</a></html>"
    );
    (
        StatusCode::NOT_FOUND,
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        page,
    )
        .into_response()
}

pub(crate) fn fault(why: &str) -> Response {
    let text = format!("{why}\n");
    (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_say_whether_they_take_gzip() {
        for (said, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("br", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(said);
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]);
            assert_eq!(takes_gzip(&headers), takes, "{said}");
        }
    }
}
