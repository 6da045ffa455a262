//! The verdict of a study on a pull request: one comment, which is updated, and a status of the commit.

use crate::{
    config::{ChannelKind, NotifyConfig},
    forge::{CommitState, CommitStatus, Forge},
    send_error::SendError,
};

/// What is said on a pull request.
#[derive(Debug, Clone)]
pub struct VerdictComment {
    /// What it is about, such as the target: of the same subject the comment is updated.
    pub subject: String,
    /// The number of the pull request.
    pub request: u64,
    /// The commit that gets a status, if any does.
    pub commit: Option<String>,
    /// How it stands.
    pub state: VerdictState,
    /// The verdict in a line.
    pub summary: String,
    /// The verdict as Markdown.
    pub markdown: String,
    /// The address of the study's page.
    pub link: Option<String>,
}

/// How a verdict stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictState {
    /// Nothing is worse.
    Good,
    /// Something is worse, or doesn't build or run.
    Bad,
    /// It can't be told yet.
    Undecided,
}

/// Says a verdict by a channel, which must be one of GitHub, GitLab, Gitea or Forgejo.
///
/// # Errors
/// There is no such channel, it is another kind, or it fails.
pub async fn comment_verdict(
    config: &NotifyConfig,
    channel: &str,
    comment: &VerdictComment,
) -> Result<(), SendError> {
    let found = config.channels.get(channel).map(|channel| &channel.kind);
    let Some(ChannelKind::Forge(kind, settings)) = found else {
        return Err(SendError::Channel(format!(
            "`{channel}` is no channel of github, gitlab or gitea"
        )));
    };
    let forge = Forge::new(*kind, settings, &config.folder)?;
    let mark = format!(
        "<!-- backsight verdict {} -->",
        comment.subject.replace("--", "- -")
    );
    forge
        .comment(comment.request, &mark, &comment.markdown)
        .await?;
    if let Some(commit) = comment.commit.as_ref().filter(|_| settings.status) {
        let status = CommitStatus {
            state: match comment.state {
                VerdictState::Good => CommitState::Success,
                VerdictState::Bad => CommitState::Failure,
                VerdictState::Undecided => CommitState::Pending,
            },
            context: format!("backsight/{}", comment.subject),
            description: comment.summary.clone(),
            link: comment.link.clone(),
        };
        forge.set_status(commit, &status).await?;
    }
    Ok(())
}
