//! The service with a receiver built in, so that it can be tried without any other service.

mod carriers;
mod inbox;
mod mail_server;
mod mail_text;
mod receiver;
mod sample;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::{Entropy, SystemClock, SystemEntropy};
use keyloom_app::{Application, Parts, Settings};
use keyloom_server::{HttpClient, HttpClientOptions, WebhookSecret};

use self::carriers::DemoCarriers;
use self::inbox::Inbox;
use self::mail_server::MailServer;
use self::receiver::{Mailbox, Receiver};
use crate::front::{Panel, pages};
use crate::routes::{CLOSED, routes};
use crate::service::{MODEL, Service};

pub use self::sample::sample;

const SECRET_BYTES: usize = 32;

/// The service as something to look at: a built-in receiver plays the phones, mailboxes and webhooks
/// of all contacts. It needs no settings.
pub fn demo() -> Application {
    Application {
        name: "oncall",
        about: "Finds whoever is on call, with a built-in receiver to try it out.",
        model: MODEL,
        settings: &[],
        parts,
    }
}

/// The parts of the service, with the receiver in place of everything outside.
pub(crate) fn parts(settings: &Settings) -> Result<Parts, String> {
    let url = settings.url.clone();
    let secret = secret()?;
    let (inbox, clock) = (Arc::new(Inbox::default()), Arc::new(SystemClock));
    let mailbox = Mailbox { inbox: inbox.clone(), clock: clock.clone(), url: url.clone() };
    let mail = MailServer::start(Arc::new(mailbox))
        .map_err(|error| format!("The built-in mail server cannot be started: {error}."))?;
    let post = HttpClient::new(HttpClientOptions::default())?;
    let receiver = Receiver { inbox, mail, secret: secret.clone(), post, clock: clock.clone() };
    let receiver = Arc::new(receiver);
    let carry = Arc::new(DemoCarriers::new(receiver.clone(), url.clone())?);
    let service = Arc::new(Service { clock, entropy: Arc::new(SystemEntropy), carry, url });
    let routes = [routes(&service, Some(secret)), receiver.routes()].concat();
    let (pages, handlers) = (pages(Panel::Receiver)?, Some(service.handlers()));
    Ok(Parts { pages, routes, closed: CLOSED, handlers })
}

/// Another one each time: nobody else has to know it.
fn secret() -> Result<WebhookSecret, String> {
    let mut bytes = [0; SECRET_BYTES];
    let filled = SystemEntropy.fill(&mut bytes);
    filled.map_err(|error| format!("No random numbers: {error}."))?;
    WebhookSecret::new(&STANDARD.encode(bytes))
}
