//! Sends messages to the built-in receiver. Webhooks to other addresses go there if they are public.

use std::sync::{Arc, OnceLock};

use keyloom::SystemClock;
use keyloom::events::Failure;
use keyloom_server::{HttpClient, HttpClientOptions, Reach};

use super::receiver::{Receiver, WEBHOOKS};
use crate::outbound::{Mail, MailOptions, Provider, Transports};
use crate::rows::Kind;
use crate::transport::{Message, SendFuture, Transport};

/// The sender of mail.
const FROM: &str = "On call <oncall@example.com>";

/// Sends messages to the receiver.
#[derive(Debug)]
pub(super) struct DemoTransports {
    receiver: Arc<Receiver>,
    mail: Mail,
    /// The URL of the service, which includes the receiver.
    url: Arc<OnceLock<String>>,
    /// To the receiver; created once the URL is known.
    inside: OnceLock<Transports>,
    /// To other servers.
    outside: Transports,
}

impl DemoTransports {
    pub(super) fn new(
        receiver: Arc<Receiver>,
        url: Arc<OnceLock<String>>,
    ) -> Result<DemoTransports, String> {
        let mail = Mail::new(MailOptions {
            server: receiver.mail.url(),
            user: None,
            from: FROM.to_owned(),
            clock: Arc::new(SystemClock),
        })?;
        let outside = Transports {
            post: HttpClient::new(HttpClientOptions {
                reach: Reach::Public,
                ..HttpClientOptions::default()
            })?,
            webhook_secret: Some(receiver.secret.clone()),
            provider: None,
            mail: None,
            clock: Arc::new(SystemClock),
        };
        Ok(DemoTransports { receiver, mail, url, inside: OnceLock::new(), outside })
    }

    /// A URL of the receiver.
    fn address(&self, path: &str) -> Result<String, Failure> {
        let url =
            self.url.get().ok_or_else(|| Failure::new("The service is not listening yet."))?;
        Ok(format!("{}/receiver/{path}", url.trim_end_matches('/')))
    }

    fn inside(&self) -> Result<&Transports, Failure> {
        let address = self.address("provider")?;
        let Receiver { post, secret, clock, .. } = &*self.receiver;
        Ok(self.inside.get_or_init(|| Transports {
            post: post.clone(),
            webhook_secret: Some(secret.clone()),
            provider: Some(Provider { post: post.clone(), address, secret: Some(secret.clone()) }),
            mail: Some(self.mail.clone()),
            clock: clock.clone(),
        }))
    }
}

impl Transport for DemoTransports {
    fn send(&self, mut message: Message) -> SendFuture<'_> {
        Box::pin(async move {
            if message.kind == Kind::Webhook {
                let Some(name) = message.to.strip_prefix(WEBHOOKS) else {
                    return self.outside.send(message).await;
                };
                message.to = self.address(&format!("webhook/{name}"))?;
            }
            self.inside()?.send(message).await
        })
    }
}
