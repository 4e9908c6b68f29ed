//! From a message to whoever takes it: a contact's server, the provider of calls and texts, or the
//! mail server.

use std::sync::Arc;

use keyloom::Clock;
use keyloom::events::Failure;
use keyloom_server::{HttpClient, HttpRequest, HttpResponse, WebhookSecret};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::mail::Mail;
use crate::carry::{Carried, Carry, Carrying, Message};
use crate::rows::Kind;

/// Brings messages to people.
#[derive(Debug)]
pub(crate) struct Carriers {
    /// Posts to the servers of contacts.
    pub(crate) post: HttpClient,
    /// What is posted there is signed with it.
    pub(crate) webhook_secret: Option<WebhookSecret>,
    /// Calls and sends texts.
    pub(crate) provider: Option<Provider>,
    /// Sends mail.
    pub(crate) mail: Option<Mail>,
    /// When a body was signed.
    pub(crate) clock: Arc<dyn Clock>,
}

/// Who calls people and sends them texts.
#[derive(Debug)]
pub(crate) struct Provider {
    /// Posts there.
    pub(crate) post: HttpClient,
    /// Where it takes messages.
    pub(crate) address: String,
    /// What is posted there is signed with it.
    pub(crate) secret: Option<WebhookSecret>,
}

/// What a provider may answer.
#[derive(Deserialize)]
struct Taken {
    id: Option<String>,
}

impl Carry for Carriers {
    fn carry(&self, message: Message) -> Carrying<'_> {
        Box::pin(async move {
            match message.kind {
                Kind::Webhook => self.call_webhook(message).await,
                Kind::Call | Kind::Text => self.ask_provider(message).await,
                Kind::Email => match &self.mail {
                    Some(mail) => mail.send(message).await,
                    None => Err(Failure::fatal("Mail is not configured: set --smtp.")),
                },
            }
        })
    }
}

impl Carriers {
    async fn call_webhook(&self, message: Message) -> Result<Carried, Failure> {
        let body = json!({
            "key": message.key,
            "search": message.search,
            "domain": message.domain,
            "subject": message.subject,
            "text": message.text,
            "answer_url": message.answer_url,
        });
        let request = self.request(message.to, &message.key, (&body, self.webhook_secret.as_ref()));
        accepted(&self.post.post(request).await.map_err(unposted)?)?;
        Ok(Carried::default())
    }

    async fn ask_provider(&self, message: Message) -> Result<Carried, Failure> {
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
        let response = provider.post.post(request).await.map_err(unposted)?;
        accepted(&response)?;
        let answer: Option<Taken> = serde_json::from_slice(&response.body).ok();
        Ok(Carried { reference: answer.and_then(|answer| answer.id) })
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

fn unposted(error: keyloom_server::HttpError) -> Failure {
    match error.is_permanent {
        true => Failure::fatal(error),
        false => Failure::new(error),
    }
}

/// That a server has accepted a request.
fn accepted(response: &HttpResponse) -> Result<(), Failure> {
    let status = response.status;
    match (response.is_success(), response.is_refused()) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::fatal(format!("The receiver refused it: status {status}."))),
        (false, false) => Err(Failure::new(format!("The receiver answered with {status}."))),
    }
}
