//! Requests to servers of others: bounded in time and in what is read, never redirected, and without secrets in what is said of them.

use reqwest::{Certificate, Client, Method, Url, redirect::Policy};
use std::{path::Path, sync::Once, time::Duration};

use crate::send_error::SendError;

/// How long an answer is waited for, from the connection to its last byte.
pub(crate) const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
/// Most bytes of an answer that are read.
const MOST: usize = 8 << 20;
/// Most characters of an answer that are repeated to the user.
const REPEATED: usize = 200;

/// A client of one channel.
pub(crate) struct HttpClient {
    client: Client,
}

/// A request.
pub(crate) struct HttpRequest {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// JSON.
    pub body: Option<Vec<u8>>,
}

/// The answer to a request.
pub(crate) struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// TLS by ring, for every connection of this process that doesn't say otherwise.
pub(crate) fn choose_tls() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // Somebody else may have chosen before.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

impl HttpRequest {
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn json(mut self, body: &impl serde::Serialize) -> Result<Self, SendError> {
        let body = serde_json::to_vec(body);
        self.body = Some(body.map_err(|error| SendError::Message(error.to_string()))?);
        Ok(self)
    }
}

impl HttpAnswer {
    /// The beginning of what it says, on one line.
    pub fn beginning(&self) -> String {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(4 * REPEATED)]);
        backsight_report::clipped(&backsight_report::escape::line(text.trim()), REPEATED)
    }

    /// The answer, where its status is one of these.
    pub fn expect(self, allowed: &[u16]) -> Result<Self, SendError> {
        if allowed.contains(&self.status) {
            return Ok(self);
        }
        let said = match self.beginning() {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        };
        let problem = format!("the server answers {}{said}", self.status);
        Err(match self.status {
            // About this message alone: another one may be taken.
            400 | 404 | 409 | 410 | 413 | 422 => SendError::Message(problem),
            _ => SendError::Channel(problem),
        })
    }

    /// The JSON that it is.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, SendError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            SendError::Channel(format!("the server's answer isn't understood: {error}"))
        })
    }
}

impl HttpClient {
    /// A client that trusts the system's certificates, and those of this file.
    pub fn new(certificates: Option<&Path>) -> Result<Self, SendError> {
        choose_tls();
        let mut builder = Client::builder()
            .timeout(PATIENCE)
            .connect_timeout(PATIENCE)
            .redirect(Policy::none())
            .user_agent(concat!("backsight/", env!("CARGO_PKG_VERSION")));
        if let Some(path) = certificates {
            let unreadable = |why: String| {
                SendError::Channel(format!(
                    "can't read the certificates in {}: {why}",
                    path.display()
                ))
            };
            let pem = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
            let certificates = Certificate::from_pem_bundle(&pem);
            for certificate in certificates.map_err(|error| unreadable(error.to_string()))? {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let client = builder.build();
        let client = client.map_err(|error| SendError::Channel(said(error)))?;
        Ok(Self { client })
    }

    /// The server's answer; of one that goes on for ever its beginning.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpAnswer, SendError> {
        let url: Url = request.url.parse().map_err(|_| {
            SendError::Channel("the address isn't one: expected https://…".to_owned())
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(SendError::Channel(
                "the address isn't one of http or https".to_owned(),
            ));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut sending = self.client.request(request.method, url);
        for (name, value) in request.headers {
            sending = sending.header(name, value);
        }
        if let Some(body) = request.body {
            sending = sending
                .header("content-type", "application/json")
                .body(body);
        }
        let failed = |error| SendError::Channel(format!("{host}: {}", said(error)));
        let mut answer = sending.send().await.map_err(failed)?;
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        // What a taken message is answered with needn't be read to its end.
        while body.len() < MOST {
            match answer.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) if body.is_empty() && !error.is_timeout() => return Err(failed(error)),
                Err(_) => break,
            }
        }
        body.truncate(MOST);
        Ok(HttpAnswer { status, body })
    }
}

/// What an error says, with its causes and without the address, which may be secret.
fn said(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        text = deeper.to_string();
        cause = deeper.source();
    }
    backsight_report::escape::line(&text)
}
