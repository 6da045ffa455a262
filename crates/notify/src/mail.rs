//! Mails: text and HTML of one content, charts as attachments.

use lettre::{
    AsyncSendmailTransport, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::{
        Attachment, Mailbox, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
    transport::smtp::{
        authentication::Credentials,
        client::{Certificate, Tls, TlsParameters},
    },
};
use std::path::Path;

use crate::{
    change_message::ChangeMessage,
    config::{MailChannel, MailEncryption, MailTransport, SmtpServer},
    http::{PATIENCE, choose_tls},
    send_error::SendError,
};

/// Sends a mail.
pub(crate) async fn send(
    channel: &MailChannel,
    folder: &Path,
    message: &ChangeMessage,
) -> Result<(), SendError> {
    let mail = compose(channel, message)?;
    match &channel.transport {
        MailTransport::Smtp(server) => {
            let sent = transport(server, folder)?.send(mail).await;
            sent.map(drop).map_err(smtp_error)
        }
        MailTransport::Sendmail(program) => {
            // A name alone is one of the path.
            let program = match program.components().count() {
                0 | 1 => program.clone(),
                _ => folder.join(program),
            };
            let sendmail = AsyncSendmailTransport::<Tokio1Executor>::new_with_command(&program);
            let sending = tokio::time::timeout(PATIENCE, sendmail.send(mail));
            let failed = |why: String| SendError::Channel(format!("{}: {why}", program.display()));
            match sending.await {
                Ok(sent) => sent.map_err(|error| failed(said(&error))),
                Err(_) => Err(failed(format!("no end within {} s", PATIENCE.as_secs()))),
            }
        }
    }
}

/// The mail with its headers.
pub(crate) fn compose(
    channel: &MailChannel,
    message: &ChangeMessage,
) -> Result<Message, SendError> {
    let broken = |error: &dyn std::fmt::Display| {
        SendError::Message(format!("no mail can be made of it: {error}"))
    };
    let identity = |key: &str| format!("<{key}@{}>", channel.from.email.domain());
    let to: Vec<Mailbox> = channel.to.clone();
    let mut builder = Message::builder()
        .from(channel.from.clone())
        .subject(message.subject())
        .message_id(Some(identity(&message.key)));
    for mailbox in to {
        builder = builder.to(mailbox);
    }
    if let Some(before) = &message.in_reply_to {
        builder = builder
            .in_reply_to(identity(before))
            .references(identity(before));
    }
    let html = message.html().map_err(|error| broken(&error))?;
    let body = MultiPart::alternative()
        .singlepart(SinglePart::plain(message.text()))
        .singlepart(SinglePart::html(html));
    let svg: ContentType = "image/svg+xml".parse().map_err(|error| broken(&error))?;
    let mut whole = MultiPart::mixed().multipart(body);
    for picture in &message.pictures {
        let attached = Attachment::new(picture.name.clone());
        whole = whole.singlepart(attached.body(picture.svg.clone(), svg.clone()));
    }
    let mut mail = builder.multipart(whole).map_err(|error| broken(&error))?;
    // Out-of-office programs answer none that says so (RFC 3834).
    for (name, value) in [
        ("Auto-Submitted", "auto-generated"),
        ("X-Backsight-Key", message.key.as_str()),
    ] {
        let name = HeaderName::new_from_ascii(name.to_owned()).map_err(|error| broken(&error))?;
        mail.headers_mut()
            .insert_raw(HeaderValue::new(name, value.to_owned()));
    }
    Ok(mail)
}

fn transport(
    server: &SmtpServer,
    folder: &Path,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, SendError> {
    choose_tls();
    let tls = || {
        let mut tls = TlsParameters::builder(server.host.clone());
        if let Some(file) = &server.certificates {
            let path = folder.join(file);
            let unreadable = |why: String| {
                SendError::Channel(format!(
                    "can't read the certificates in {}: {why}",
                    path.display()
                ))
            };
            let pem = std::fs::read(&path).map_err(|error| unreadable(error.to_string()))?;
            let certificate = Certificate::from_pem(&pem);
            tls = tls
                .add_root_certificate(certificate.map_err(|error| unreadable(error.to_string()))?);
        }
        tls.build().map_err(smtp_error)
    };
    let (tls, port) = match server.tls {
        MailEncryption::None => (Tls::None, 25),
        MailEncryption::Starttls => (Tls::Required(tls()?), 587),
        MailEncryption::Tls => (Tls::Wrapper(tls()?), 465),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
        .port(server.port.unwrap_or(port))
        .timeout(Some(PATIENCE))
        .tls(tls);
    if let (Some(user), Some(password)) = (&server.user, &server.password) {
        builder = builder.credentials(Credentials::new(user.clone(), password.read(folder)?));
    }
    Ok(builder.build())
}

/// A mail that a server refuses for good is a fault of the mail; that it refuses to log in isn't.
fn smtp_error(error: lettre::transport::smtp::Error) -> SendError {
    let is_about_login = error
        .status()
        .is_some_and(|code| matches!(code.to_string().as_str(), "530" | "534" | "535" | "538"));
    let text = said(&error);
    match error.is_permanent() && !is_about_login {
        true => SendError::Message(text),
        false => SendError::Channel(text),
    }
}

/// What an error says, with its causes, on one line.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let more = deeper.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        cause = deeper.source();
    }
    backsight_report::clipped(&backsight_report::escape::line(&text), 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_message::{Picture, tests::message};

    fn channel() -> MailChannel {
        MailChannel {
            from: "Lab <lab@example.org>".parse().unwrap(),
            to: vec!["team@example.org".parse().unwrap()],
            transport: MailTransport::Sendmail("/bin/true".into()),
        }
    }

    #[test]
    fn a_mail_has_its_headers_and_parts() {
        let mut message = message();
        message.in_reply_to = Some("before".to_owned());
        message.pictures.push(Picture {
            name: "work.svg".to_owned(),
            svg: "<svg/>".to_owned(),
        });
        let mail = compose(&channel(), &message).unwrap();
        let text = String::from_utf8(mail.formatted()).unwrap();
        for part in [
            "Message-ID: <0123456789abcdef0123456789abcdef@example.org>\r\n",
            "In-Reply-To: <before@example.org>\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Content-Type: text/html; charset=utf-8\r\n",
            "Content-Type: image/svg+xml\r\n",
            "filename=\"work.svg\"\r\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn no_name_becomes_a_header() {
        let mut message = message();
        message.news[0].change.sentence = "a\r\nBcc: evil@example.org\r\n\r\n<b>".to_owned();
        let mail = compose(&channel(), &message).unwrap();
        let text = String::from_utf8(mail.formatted()).unwrap();
        let head = text.split("\r\n\r\n").next().unwrap();
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    }
}
