//! Requests to programs and chats: JSON of our own, signed as Standard Webhooks says, or written by a template.
//!
//! The signature is the HMAC-SHA256 of `KEY.TIMESTAMP.BODY`, in base64 (<https://www.standardwebhooks.com>).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use reqwest::Method;
use ring::hmac;
use std::path::Path;

use crate::{
    change_message::ChangeMessage,
    config::WebhookChannel,
    event::ChangesEvent,
    http::{HttpClient, HttpRequest},
    message_template::MessageTemplate,
    send_error::SendError,
};

/// What a secret of Standard Webhooks begins with: the rest is base64.
const SECRET_PREFIX: &str = "whsec_";
/// Statuses that say that it was taken.
const TAKEN: [u16; 4] = [200, 201, 202, 204];

/// Sends a message.
pub(crate) async fn send(
    channel: &WebhookChannel,
    template: Option<&MessageTemplate>,
    folder: &Path,
    message: &ChangeMessage,
) -> Result<(), SendError> {
    let event = ChangesEvent::new(message)?;
    let url = channel.url.read(folder)?;
    let token = channel
        .token
        .as_ref()
        .map(|token| token.read(folder))
        .transpose()?;
    let (method, url, body) = match template {
        Some(template) => {
            let path = template.fill_path(&message.key, &channel.values)?;
            let url = format!(
                "{}{path}",
                url.trim_end_matches(if path.is_empty() { '\0' } else { '/' })
            );
            (template.method(), url, template.body(&event)?)
        }
        None => {
            let body = serde_json::to_vec(&event);
            (
                Method::POST,
                url,
                body.map_err(|error| SendError::Message(error.to_string()))?,
            )
        }
    };
    let mut request = HttpRequest::new(method, url).header("idempotency-key", &message.key);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if let Some(secret) = &channel.secret {
        let timestamp = Timestamp::now().as_second();
        let signature = sign(&secret.read(folder)?, &message.key, timestamp, &body)?;
        request = request
            .header("webhook-id", &message.key)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature);
    }
    request.body = Some(body);
    let certificates = channel.certificates.as_ref().map(|file| folder.join(file));
    let client = HttpClient::new(certificates.as_deref())?;
    client.send(request).await?.expect(&TAKEN)?;
    Ok(())
}

/// `v1,` and the signature.
fn sign(secret: &str, key: &str, timestamp: i64, body: &[u8]) -> Result<String, SendError> {
    let secret = match secret.strip_prefix(SECRET_PREFIX) {
        Some(encoded) => STANDARD.decode(encoded).map_err(|_| {
            SendError::Channel(format!(
                "the secret begins with {SECRET_PREFIX} and isn't base64"
            ))
        })?,
        None => secret.as_bytes().to_vec(),
    };
    let mut signing = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &secret));
    signing.update(format!("{key}.{timestamp}.").as_bytes());
    signing.update(body);
    Ok(format!("v1,{}", STANDARD.encode(signing.sign())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_specification() {
        // The example of the specification's libraries.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(
            signature.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
