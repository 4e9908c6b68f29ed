//! Sends a message to its receiver: a server of the contact, the provider of calls and texts, or the mail
//! server.

use std::sync::Arc;

use keyloom::Clock;
use keyloom::events::Failure;
use keyloom_server::{HttpClient, HttpRequest, HttpResponse, WebhookSecret};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::mail::Mail;
use crate::rows::Kind;
use crate::transport::{Accepted, Message, SendFuture, Transport};

/// The transports of all kinds of messages.
#[derive(Debug)]
pub(crate) struct Transports {
    /// The client for webhooks.
    pub(crate) post: HttpClient,
    /// Signs webhooks.
    pub(crate) webhook_secret: Option<WebhookSecret>,
    /// For calls and texts.
    pub(crate) provider: Option<Provider>,
    /// For mail.
    pub(crate) mail: Option<Mail>,
    /// For the time in signatures.
    pub(crate) clock: Arc<dyn Clock>,
}

/// The provider of calls and texts.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) post: HttpClient,
    /// The URL that accepts messages.
    pub(crate) address: String,
    /// Signs requests.
    pub(crate) secret: Option<WebhookSecret>,
}

/// The optional response of a provider.
#[derive(Deserialize)]
struct ProviderResponse {
    id: Option<String>,
}

impl Transport for Transports {
    fn send(&self, message: Message) -> SendFuture<'_> {
        Box::pin(async move {
            match message.kind {
                Kind::Webhook => self.post_webhook(message).await,
                Kind::Call | Kind::Text => self.post_provider(message).await,
                Kind::Email => match &self.mail {
                    Some(mail) => mail.send(message).await,
                    None => Err(Failure::fatal("Mail is not configured: set --smtp.")),
                },
            }
        })
    }
}

impl Transports {
    async fn post_webhook(&self, message: Message) -> Result<Accepted, Failure> {
        let body = json!({
            "key": message.key,
            "search": message.search,
            "domain": message.domain,
            "subject": message.subject,
            "text": message.text,
            "answer_url": message.answer_url,
        });
        let request = self.request(message.to, &message.key, (&body, self.webhook_secret.as_ref()));
        accepted(&self.post.post(request).await.map_err(failure)?)?;
        Ok(Accepted::default())
    }

    async fn post_provider(&self, message: Message) -> Result<Accepted, Failure> {
        let none = || Failure::fatal("Calls and texts are not configured: set --provider.");
        let provider = self.provider.as_ref().ok_or_else(none)?;
        let body = json!({
            "key": message.key,
            "kind": message.kind.word(),
            "to": message.to,
            "text": message.text,
            "reply_url": message.reply_url,
        });
        let address = provider.address.clone();
        let request = self.request(address, &message.key, (&body, provider.secret.as_ref()));
        let response = provider.post.post(request).await.map_err(failure)?;
        accepted(&response)?;
        let answer: Option<ProviderResponse> = serde_json::from_slice(&response.body).ok();
        Ok(Accepted { reference: answer.and_then(|answer| answer.id) })
    }

    fn request(
        &self,
        address: String,
        key: &str,
        (body, secret): (&Json, Option<&WebhookSecret>),
    ) -> HttpRequest {
        let body = body.to_string().into_bytes();
        let mut headers = vec![("idempotency-key".to_owned(), key.to_owned())];
        if let Some(secret) = secret {
            headers.extend(secret.headers(key, self.clock.now().0 / 1000, &body));
        }
        HttpRequest { address, headers, body }
    }
}

fn failure(error: keyloom_server::HttpError) -> Failure {
    match error.is_permanent {
        true => Failure::fatal(error),
        false => Failure::new(error),
    }
}

/// Fails unless the server has accepted the request; permanently if it refused it.
fn accepted(response: &HttpResponse) -> Result<(), Failure> {
    let status = response.status;
    match (response.is_success(), response.is_refused()) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::fatal(format!("The receiver refused it: status {status}."))),
        (false, false) => Err(Failure::new(format!("The receiver returned status {status}."))),
    }
}
