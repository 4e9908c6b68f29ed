//! The program: its settings, and the parts built from them.

use std::sync::{Arc, OnceLock};

use keyloom::{SystemClock, SystemEntropy};
use keyloom_app::{Application, Parts, Setting, Settings, Takes};
use keyloom_server::{HttpClient, HttpClientOptions, Reach, WebhookSecret};

use crate::demo;
use crate::front::{Panel, pages};
use crate::outbound::{Mail, MailOptions, Provider, Transports};
use crate::routes::{CLOSED, routes};
use crate::service::{MODEL, Service};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "public-url",
        takes: Takes::Text("URL"),
        help: "Public URL of this service, for links in messages [default: the listen address]",
    },
    Setting {
        name: "smtp",
        takes: Takes::Text("URL"),
        help: "Mail server: smtps://host, smtp+starttls://host, or smtp://host without TLS",
    },
    Setting {
        name: "smtp-user",
        takes: Takes::Text("NAME"),
        help: "User name for the mail server",
    },
    Setting {
        name: "smtp-password-file",
        takes: Takes::Secret,
        help: "File with the password for the mail server [env: ONCALL_SMTP_PASSWORD]",
    },
    Setting {
        name: "mail-from",
        takes: Takes::Text("ADDRESS"),
        help: "Sender of mail, such as 'On call <oncall@example.com>'",
    },
    Setting {
        name: "provider",
        takes: Takes::Text("URL"),
        help: "Provider for calls and texts; the README describes its protocol",
    },
    Setting {
        name: "provider-secret-file",
        takes: Takes::Secret,
        help: "File with the secret that signs requests to and from the provider\n\
               [env: ONCALL_PROVIDER_SECRET]",
    },
    Setting {
        name: "webhook-secret-file",
        takes: Takes::Secret,
        help: "File with the secret that signs webhooks [env: ONCALL_WEBHOOK_SECRET]",
    },
    Setting {
        name: "private-webhooks",
        takes: Takes::Nothing,
        help: "Allow webhooks to loopback and private addresses",
    },
    Setting {
        name: "receiver",
        takes: Takes::Nothing,
        help: "Send all messages to a built-in receiver instead, to try the service out",
    },
];

/// The service as a program.
pub fn application() -> Application {
    Application {
        name: "oncall",
        about: "On-call paging: contacts, searches and messages over HTTP",
        model: MODEL,
        settings: SETTINGS,
        parts,
    }
}

fn parts(settings: &Settings) -> Result<Parts, String> {
    if settings.is_set("receiver") {
        // It replaces everything that the other settings configure.
        let is_given = |name| settings.get(name).is_some() || settings.is_set(name);
        let mut others = SETTINGS.iter().map(|setting| setting.name).filter(|n| *n != "receiver");
        return match others.find(|name| is_given(name)) {
            Some(name) => Err(format!("--receiver cannot be used together with --{name}.")),
            None => demo::parts(settings),
        };
    }
    let secret = |name| settings.get(name).map(WebhookSecret::new).transpose();
    let provider_secret = secret("provider-secret-file")?;
    let reach = if settings.is_set("private-webhooks") { Reach::Anywhere } else { Reach::Public };
    let provider = match settings.get("provider") {
        None => None,
        Some(address) => Some(Provider {
            post: HttpClient::new(HttpClientOptions::default())?,
            address: address.to_owned(),
            secret: provider_secret.clone(),
        }),
    };
    let transports = Transports {
        post: HttpClient::new(HttpClientOptions { reach, ..HttpClientOptions::default() })?,
        webhook_secret: secret("webhook-secret-file")?,
        provider,
        mail: mail(settings)?,
        clock: Arc::new(SystemClock),
    };
    let url = match settings.get("public-url") {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => {
            Arc::new(OnceLock::from(url.to_owned()))
        }
        Some(url) => return Err(format!("Invalid --public-url `{url}`: write `https://host`.")),
        None => settings.url.clone(),
    };
    let service = Arc::new(Service {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        transport: Arc::new(transports),
        url,
    });
    Ok(Parts {
        pages: pages(Panel::None)?,
        routes: routes(&service, provider_secret),
        closed: CLOSED,
        handlers: Some(service.handlers()),
    })
}

fn mail(settings: &Settings) -> Result<Option<Mail>, String> {
    let Some(server) = settings.get("smtp") else { return Ok(None) };
    let from = settings.get("mail-from").ok_or("--smtp needs --mail-from.")?;
    let user = match (settings.get("smtp-user"), settings.get("smtp-password-file")) {
        (Some(user), Some(password)) => Some((user.to_owned(), password.to_owned())),
        (None, None) => None,
        (Some(_), None) => return Err("--smtp-user needs --smtp-password-file.".to_owned()),
        (None, Some(_)) => return Err("--smtp-password-file needs --smtp-user.".to_owned()),
    };
    let (server, from) = (server.to_owned(), from.to_owned());
    Mail::new(MailOptions { server, user, from, clock: Arc::new(SystemClock) }).map(Some)
}
