//! Who may do what with the server, and by which names it is reached.

use axum::http::{HeaderMap, StatusCode, header, uri::Authority};
use backsight_access::{AccessRefusal, Caller, Gate};

/// Who may do what.
#[derive(Clone)]
pub struct ServerAccess {
    /// Knows who asks.
    pub gate: Gate,
    /// Whether anything may be said through it.
    pub is_controlled: bool,
    /// Whether who reads has to be known too.
    pub is_private: bool,
    /// What a proxy before it is called.
    pub public: Option<PublicUrl>,
}

/// The address of a proxy, as browsers have it: a scheme and a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    url: String,
    host: String,
}

impl std::str::FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = text.trim_end_matches('/').to_ascii_lowercase();
        let host = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let host = host.filter(|host| {
            host.parse::<Authority>()
                .is_ok_and(|it| !it.as_str().contains('@'))
        });
        match host {
            Some(host) => Ok(Self {
                host: host.to_owned(),
                url,
            }),
            None => {
                Err("expected what browsers call it, such as https://lab.example.org".to_owned())
            }
        }
    }
}

impl ServerAccess {
    /// What browsers say that pages come from.
    pub(crate) fn public_url(&self) -> Option<&str> {
        self.public.as_ref().map(|public| public.url.as_str())
    }

    /// Whether a request came by a name of this machine or of its proxy. Another name leads here where a page of others has bent the
    /// names of a browser.
    pub(crate) fn is_named(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST);
        let Some(host) = host.and_then(|host| host.to_str().ok()) else {
            return false;
        };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let is_public = |public: &PublicUrl| host.eq_ignore_ascii_case(&public.host);
        matches!(name, "127.0.0.1" | "localhost" | "[::1]")
            || self.public.as_ref().is_some_and(is_public)
    }

    /// Who asks; nothing where that isn't known and needn't be.
    pub(crate) async fn caller(
        &self,
        headers: &HeaderMap,
        is_statement: bool,
    ) -> Result<Option<Caller>, AccessRefusal> {
        match self.is_private || is_statement {
            true => self.gate.known_caller(headers).await.map(Some),
            false => self.gate.caller(headers).await,
        }
    }
}

/// Why a name isn't taken.
pub(crate) fn wrong_name() -> (StatusCode, &'static str) {
    (
        StatusCode::FORBIDDEN,
        "this server answers to the names of this machine, http://127.0.0.1 or http://localhost, and to its --public-url\n",
    )
}
