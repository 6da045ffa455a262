//! A message on its way, by whichever channel.

use std::{path::Path, time::Duration};

use crate::{
    change_message::ChangeMessage,
    config::{ChannelKind, NotifyChannel},
    forge, gerrit, mail,
    send_error::SendError,
    webhook,
};

/// How long a message may take with all its requests.
const LIMIT: Duration = Duration::from_secs(60);

/// Sends a message; files are named from this folder.
pub(crate) async fn send(
    channel: &NotifyChannel,
    folder: &Path,
    message: &ChangeMessage,
) -> Result<(), SendError> {
    let sending = async {
        match &channel.kind {
            ChannelKind::Mail(mail) => mail::send(mail, folder, message).await,
            ChannelKind::Webhook(webhook, template) => {
                webhook::send(webhook, template.as_deref(), folder, message).await
            }
            ChannelKind::Forge(kind, forge) => forge::send(*kind, forge, folder, message).await,
            ChannelKind::Gerrit(gerrit) => gerrit::send(gerrit, folder, message).await,
        }
    };
    let late = |_| SendError::Channel(format!("no end within {} s", LIMIT.as_secs()));
    tokio::time::timeout(LIMIT, sending).await.map_err(late)?
}
