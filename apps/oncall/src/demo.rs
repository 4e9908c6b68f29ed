//! The service with a built-in receiver, to try it without any other service.

mod inbox;
mod mail_server;
mod mail_text;
mod receiver;
mod sample;
mod transports;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::{Entropy, SystemClock, SystemEntropy};
use keyloom_app::{Application, Parts, Settings};
use keyloom_server::{HttpClient, HttpClientOptions, WebhookSecret};

use self::inbox::Inbox;
use self::mail_server::MailServer;
use self::receiver::{Mailbox, Receiver};
use self::transports::DemoTransports;
use crate::front::{Panel, pages};
use crate::routes::{CLOSED, routes};
use crate::service::{MODEL, Service};

pub use self::sample::sample;

const SECRET_BYTES: usize = 32;

/// The service as a demo: a built-in receiver stands in for the phones, mailboxes and webhooks of all
/// contacts. It needs no settings.
pub fn demo() -> Application {
    Application {
        name: "oncall",
        about: "On-call paging, with a built-in receiver to try it out.",
        model: MODEL,
        settings: &[],
        parts,
    }
}

/// The parts of the service, with the receiver in place of external services.
pub(crate) fn parts(settings: &Settings) -> Result<Parts, String> {
    let url = settings.url.clone();
    let secret = secret()?;
    let (inbox, clock) = (Arc::new(Inbox::default()), Arc::new(SystemClock));
    let mailbox = Mailbox { inbox: inbox.clone(), clock: clock.clone(), url: url.clone() };
    let mail = MailServer::start(Arc::new(mailbox))
        .map_err(|error| format!("Cannot start the built-in mail server: {error}."))?;
    let post = HttpClient::new(HttpClientOptions::default())?;
    let receiver = Receiver { inbox, mail, secret: secret.clone(), post, clock: clock.clone() };
    let receiver = Arc::new(receiver);
    let transport = Arc::new(DemoTransports::new(receiver.clone(), url.clone())?);
    let service = Arc::new(Service { clock, entropy: Arc::new(SystemEntropy), transport, url });
    let routes = [routes(&service, Some(secret)), receiver.routes()].concat();
    let (pages, handlers) = (pages(Panel::Receiver)?, Some(service.handlers()));
    Ok(Parts { pages, routes, closed: CLOSED, handlers })
}

/// A new secret at each start: nothing outside this process needs it.
fn secret() -> Result<WebhookSecret, String> {
    let mut bytes = [0; SECRET_BYTES];
    let filled = SystemEntropy.fill(&mut bytes);
    filled.map_err(|error| format!("Cannot get random bytes from the system: {error}."))?;
    WebhookSecret::new(&STANDARD.encode(bytes))
}
