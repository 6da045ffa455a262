//! Statuses of commits and comments on pull requests: GitHub, GitLab, Gitea and Forgejo.
//!
//! There is one comment for each thing that is said: it begins with a hidden mark, by which it is found again and updated. Where the
//! server doesn't let it be updated (somebody else has copied the mark), a new one is made.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

use backsight_policy::AlertKind;
use backsight_report::clipped;

use crate::{
    change_message::{ChangeMessage, ChangeNews, NewsKind},
    config::{ForgeChannel, ForgeKind},
    http::{HttpAnswer, HttpClient, HttpRequest},
    send_error::SendError,
};

/// Comments of a page.
const PAGE: usize = 100;
/// Most pages of comments in which the mark is looked for.
const MOST_PAGES: usize = 30;
/// Most pull requests of a commit that get a comment.
const MOST_REQUESTS: usize = 3;
/// Longest comment, in characters: what GitHub takes.
const LONGEST_COMMENT: usize = 60_000;
/// Longest description of a status, in characters: what GitHub takes.
const LONGEST_STATUS: usize = 140;

/// A server with a repository.
pub(crate) struct Forge {
    kind: ForgeKind,
    client: HttpClient,
    /// The address of the repository in the interface.
    repository: String,
    token: String,
}

/// How a commit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitState {
    Success,
    Failure,
    Pending,
}

/// A status of a commit.
pub(crate) struct CommitStatus {
    pub state: CommitState,
    /// What it is about: of several with the same one the last counts.
    pub context: String,
    pub description: String,
    pub link: Option<String>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: Option<String>,
}

#[derive(Deserialize)]
struct Request {
    #[serde(alias = "iid")]
    number: u64,
}

/// Says what there is to say of the commits that messages are about.
pub(crate) async fn send(
    kind: ForgeKind,
    channel: &ForgeChannel,
    folder: &Path,
    message: &ChangeMessage,
) -> Result<(), SendError> {
    let forge = Forge::new(kind, channel, folder)?;
    for news in &message.news {
        let commit = commit_of(news)?;
        if channel.status {
            forge.set_status(commit, &status_of(news)).await?;
        }
        if channel.comment {
            let mark = format!("<!-- backsight change {} -->", news.thread);
            for request in forge.requests_of(commit).await? {
                forge.comment(request, &mark, &news.markdown()).await?;
            }
        }
    }
    Ok(())
}

/// The commit that a change is, where its version is one.
pub(crate) fn commit_of(news: &ChangeNews) -> Result<&str, SendError> {
    let id = news.change.version.as_str();
    let is_commit = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_commit {
        true => Ok(id),
        false => Err(SendError::Message(format!(
            "{} is no commit of git",
            news.change.name
        ))),
    }
}

fn status_of(news: &ChangeNews) -> CommitStatus {
    let is_worse = news.kind != NewsKind::Over && news.change.kind == AlertKind::Worse;
    CommitStatus {
        state: if is_worse {
            CommitState::Failure
        } else {
            CommitState::Success
        },
        context: format!("backsight/{}", news.change.target),
        description: news.headline(),
        link: news.link.clone(),
    }
}

impl Forge {
    pub fn new(kind: ForgeKind, channel: &ForgeChannel, folder: &Path) -> Result<Self, SendError> {
        let certificates = channel.certificates.as_ref().map(|file| folder.join(file));
        let server = channel
            .server
            .as_deref()
            .map(|server| server.trim_end_matches('/'));
        let name = channel.repository.as_str();
        let repository = match kind {
            ForgeKind::GitHub => {
                format!(
                    "{}/repos/{name}",
                    server.unwrap_or("https://api.github.com")
                )
            }
            ForgeKind::GitLab => {
                let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
                format!(
                    "{}/api/v4/projects/{name}",
                    server.unwrap_or("https://gitlab.com")
                )
            }
            ForgeKind::Gitea => format!("{}/api/v1/repos/{name}", server.unwrap_or_default()),
        };
        Ok(Self {
            kind,
            client: HttpClient::new(certificates.as_deref())?,
            repository,
            token: channel.token.read(folder)?,
        })
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<HttpAnswer, SendError> {
        let mut request = HttpRequest::new(method, format!("{}{path}", self.repository));
        request = match self.kind {
            ForgeKind::GitHub => request
                .header("accept", "application/vnd.github+json")
                .header("x-github-api-version", "2022-11-28")
                .header("authorization", format!("Bearer {}", self.token)),
            ForgeKind::GitLab => request.header("private-token", &self.token),
            ForgeKind::Gitea => request.header("authorization", format!("token {}", self.token)),
        };
        if let Some(body) = body {
            request = request.json(&body)?;
        }
        self.client.send(request).await
    }

    /// Gives a commit a status.
    pub async fn set_status(&self, commit: &str, status: &CommitStatus) -> Result<(), SendError> {
        let state = match (status.state, self.kind) {
            (CommitState::Success, _) => "success",
            (CommitState::Pending, _) => "pending",
            (CommitState::Failure, ForgeKind::GitLab) => "failed",
            (CommitState::Failure, _) => "failure",
        };
        let mut body = object([
            ("state", state),
            ("context", &clipped(&status.context, 100)),
            ("description", &clipped(&status.description, LONGEST_STATUS)),
        ]);
        if let Some(link) = &status.link {
            body.insert("target_url".to_owned(), Value::from(link.as_str()));
        }
        let path = format!("/statuses/{commit}");
        let answer = self
            .ask(Method::POST, &path, Some(Value::Object(body)))
            .await?;
        // GitLab takes a status once: one that the commit has already is no transition.
        let is_so = self.kind == ForgeKind::GitLab
            && answer.status == 400
            && String::from_utf8_lossy(&answer.body).contains("Cannot transition status");
        if !is_so {
            answer.expect(&[201])?;
        }
        Ok(())
    }

    /// The pull requests that a commit is part of.
    pub async fn requests_of(&self, commit: &str) -> Result<Vec<u64>, SendError> {
        let path = match self.kind {
            ForgeKind::GitHub => format!("/commits/{commit}/pulls"),
            ForgeKind::GitLab => format!("/repository/commits/{commit}/merge_requests"),
            ForgeKind::Gitea => format!("/commits/{commit}/pull"),
        };
        let answer = self.ask(Method::GET, &path, None).await?;
        // A commit that nobody asked for is no fault.
        let requests: Vec<Request> = match (answer.status, self.kind) {
            (404, ForgeKind::Gitea) => Vec::new(),
            (_, ForgeKind::Gitea) => vec![answer.expect(&[200])?.json()?],
            _ => answer.expect(&[200])?.json()?,
        };
        Ok(requests
            .iter()
            .map(|it| it.number)
            .take(MOST_REQUESTS)
            .collect())
    }

    fn comments_path(&self, request: u64) -> String {
        match self.kind {
            ForgeKind::GitHub | ForgeKind::Gitea => format!("/issues/{request}/comments"),
            ForgeKind::GitLab => format!("/merge_requests/{request}/notes"),
        }
    }

    /// The comment that begins with the mark.
    async fn find_comment(&self, request: u64, mark: &str) -> Result<Option<Comment>, SendError> {
        let path = self.comments_path(request);
        // Gitea has all on one page.
        let pages = if self.kind == ForgeKind::Gitea {
            1
        } else {
            MOST_PAGES
        };
        let order = match self.kind {
            ForgeKind::GitLab => "&sort=asc&order_by=created_at",
            ForgeKind::GitHub | ForgeKind::Gitea => "",
        };
        for page in 1..=pages {
            let path = format!("{path}?per_page={PAGE}&page={page}{order}");
            let answer = self.ask(Method::GET, &path, None).await?.expect(&[200])?;
            let comments: Vec<Comment> = answer.json()?;
            let count = comments.len();
            let has_mark = |comment: &Comment| {
                comment
                    .body
                    .as_ref()
                    .is_some_and(|body| body.starts_with(mark))
            };
            if let Some(found) = comments.into_iter().find(has_mark) {
                return Ok(Some(found));
            }
            if count < PAGE {
                break;
            }
        }
        Ok(None)
    }

    /// Makes or updates the comment that begins with a mark.
    pub async fn comment(&self, request: u64, mark: &str, text: &str) -> Result<(), SendError> {
        let body = format!("{mark}\n{}", clipped(text, LONGEST_COMMENT));
        let content = || Some(Value::Object(object([("body", body.as_str())])));
        if let Some(comment) = self.find_comment(request, mark).await? {
            if comment.body.as_deref() == Some(body.as_str()) {
                return Ok(());
            }
            let (method, path) = match self.kind {
                ForgeKind::GitHub | ForgeKind::Gitea => {
                    (Method::PATCH, format!("/issues/comments/{}", comment.id))
                }
                ForgeKind::GitLab => (
                    Method::PUT,
                    format!("{}/{}", self.comments_path(request), comment.id),
                ),
            };
            let answer = self.ask(method, &path, content()).await?;
            if !matches!(answer.status, 403 | 404) {
                answer.expect(&[200])?;
                return Ok(());
            }
        }
        let path = self.comments_path(request);
        self.ask(Method::POST, &path, content())
            .await?
            .expect(&[201])?;
        Ok(())
    }
}

/// An object of texts.
fn object<const N: usize>(entries: [(&str, &str); N]) -> Map<String, Value> {
    let entries = entries.into_iter();
    entries
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect()
}
