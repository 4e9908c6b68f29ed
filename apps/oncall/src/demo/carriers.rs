//! The way from the service to its built-in receiver. Webhooks to anywhere else go where they say,
//! as long as that is a public address.

use std::sync::{Arc, OnceLock};

use keyloom::SystemClock;
use keyloom::events::Failure;
use keyloom_server::{HttpClient, HttpClientOptions, Reach};

use super::receiver::{Receiver, WEBHOOKS};
use crate::carry::{Carry, Carrying, Message};
use crate::outside::{Carriers, Mail, MailOptions, Provider};
use crate::rows::Kind;

/// Who the mail of the demo is from.
const FROM: &str = "On call <oncall@example.com>";

/// Brings messages to the receiver.
#[derive(Debug)]
pub(super) struct DemoCarriers {
    receiver: Arc<Receiver>,
    mail: Mail,
    /// Where the service is, and with it the receiver.
    url: Arc<OnceLock<String>>,
    /// To the receiver; made once the address is known.
    inside: OnceLock<Carriers>,
    /// To the servers of others.
    outside: Carriers,
}

impl DemoCarriers {
    pub(super) fn new(
        receiver: Arc<Receiver>,
        url: Arc<OnceLock<String>>,
    ) -> Result<DemoCarriers, String> {
        let mail = Mail::new(MailOptions {
            server: receiver.mail.url(),
            user: None,
            from: FROM.to_owned(),
            clock: Arc::new(SystemClock),
        })?;
        let outside = Carriers {
            post: HttpClient::new(HttpClientOptions {
                reach: Reach::Public,
                ..HttpClientOptions::default()
            })?,
            webhook_secret: Some(receiver.secret.clone()),
            provider: None,
            mail: None,
            clock: Arc::new(SystemClock),
        };
        Ok(DemoCarriers { receiver, mail, url, inside: OnceLock::new(), outside })
    }

    /// An address of the receiver.
    fn address(&self, path: &str) -> Result<String, Failure> {
        let url = self.url.get().ok_or_else(|| Failure::new("The service is not up yet."))?;
        Ok(format!("{}/receiver/{path}", url.trim_end_matches('/')))
    }

    fn inside(&self) -> Result<&Carriers, Failure> {
        let address = self.address("provider")?;
        let Receiver { post, secret, clock, .. } = &*self.receiver;
        Ok(self.inside.get_or_init(|| Carriers {
            post: post.clone(),
            webhook_secret: Some(secret.clone()),
            provider: Some(Provider { post: post.clone(), address, secret: Some(secret.clone()) }),
            mail: Some(self.mail.clone()),
            clock: clock.clone(),
        }))
    }
}

impl Carry for DemoCarriers {
    fn carry(&self, mut message: Message) -> Carrying<'_> {
        Box::pin(async move {
            if message.kind == Kind::Webhook {
                let Some(name) = message.to.strip_prefix(WEBHOOKS) else {
                    return self.outside.carry(message).await;
                };
                message.to = self.address(&format!("webhook/{name}"))?;
            }
            self.inside()?.carry(message).await
        })
    }
}
