//! The same by HTTP, for who has a token of the store: what its scope permits.

use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use backsight_access::Gate;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use std::sync::Arc;
use tokio::net::TcpListener;

use crate::server::McpServer;

async fn check(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    match gate.known_caller(request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Serves callers that connect to this listener at `/mcp`, until `stopped` says so.
///
/// # Errors
/// The listener's own.
pub async fn serve_http(
    server: McpServer,
    listener: TcpListener,
    gate: Gate,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    // Answers are one message each: no session is kept for who never comes back.
    config.legacy_session_mode = false;
    config.json_response = true;
    let ends = config.cancellation_token.clone();
    // Who has a token may come by any name of this machine.
    config.allowed_hosts = Vec::new();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let routes = Router::new()
        .nest_service("/mcp", service)
        .layer(from_fn_with_state(gate, check));
    axum::serve(listener, routes)
        .with_graceful_shutdown(async move {
            stopped.await;
            ends.cancel();
        })
        .await
}
