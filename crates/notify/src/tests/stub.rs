//! A server that answers as it is told, and remembers what it was asked.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    http::HeaderMap,
    response::Response,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A request that came.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

impl SeenRequest {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

/// A server.
pub struct StubServer {
    pub address: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    task: tokio::task::JoinHandle<()>,
}

impl StubServer {
    /// A server whose answers are a status and a body.
    pub async fn start(
        answer: impl Fn(&SeenRequest) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(move |request| {
            let (status, body) = answer(request);
            let answer = Response::builder().status(status);
            answer.body(Body::from(body)).unwrap()
        })
        .await
    }

    /// A server with any answers.
    pub async fn start_with(
        answer: impl Fn(&SeenRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::serve(listener, answer)
    }

    /// A server at an address that is there.
    pub fn serve(
        listener: tokio::net::TcpListener,
        answer: impl Fn(&SeenRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<SeenRequest>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&seen), Arc::new(answer));
        let router = Router::new().fallback(move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            async move {
                let (head, body) = request.into_parts();
                let raw = to_bytes(body, 1 << 20).await.unwrap();
                let request = SeenRequest {
                    method: head.method.to_string(),
                    path: head.uri.to_string(),
                    headers: head.headers,
                    body: serde_json::from_slice(&raw).unwrap_or_default(),
                };
                kept.lock().unwrap().push(request.clone());
                answer(&request)
            }
        });
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self {
            address,
            seen,
            task,
        }
    }

    /// What came since this was called last.
    pub fn take(&self) -> Vec<SeenRequest> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
