//! The same by HTTP, for who has the token. Wrong tokens are answered one after the other, each after a while, so that nobody guesses one.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use std::{sync::Arc, time::Duration};
use subtle::ConstantTimeEq as _;
use tokio::{
    net::TcpListener,
    sync::{Mutex, Semaphore},
    time::sleep,
};

use crate::server::McpServer;

/// How long a wrong token is answered after, one at a time: ten a second can be tried at most.
const WRONG: Duration = Duration::from_millis(100);
/// Wrong ones that wait for their answer; more are sent away at once.
const WAITING: usize = 50;

/// What a caller has to know.
#[derive(Clone)]
pub struct Token {
    text: Arc<str>,
    wrong: Arc<Mutex<()>>,
    places: Arc<Semaphore>,
}

impl Token {
    /// A token that is this text.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            wrong: Arc::default(),
            places: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Whether a request has it. Takes as long whatever is wrong with it.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        given.is_some_and(|given| given.ct_eq(self.text.as_bytes()).into())
    }
}

async fn check(State(token): State<Token>, request: Request, next: Next) -> Response {
    if token.is_known(request.headers()) {
        return next.run(request).await;
    }
    let Ok(_place) = token.places.try_acquire() else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let _turn = token.wrong.lock().await;
    sleep(WRONG).await;
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, "Bearer")],
        "the token is missing or wrong\n",
    )
        .into_response()
}

/// Serves callers that connect to this listener at `/mcp`, until `stopped` says so.
///
/// # Errors
/// The listener's own.
pub async fn serve_http(
    server: McpServer,
    listener: TcpListener,
    token: Token,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    // Answers are one message each: no session is kept for who never comes back.
    config.legacy_session_mode = false;
    config.json_response = true;
    let ends = config.cancellation_token.clone();
    // Who has the token may come by any name of this machine.
    config.allowed_hosts = Vec::new();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let routes = Router::new()
        .nest_service("/mcp", service)
        .layer(from_fn_with_state(token, check));
    axum::serve(listener, routes)
        .with_graceful_shutdown(async move {
            stopped.await;
            ends.cancel();
        })
        .await
}
