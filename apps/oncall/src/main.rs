//! The program: settings, and what is made of them.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use keyloom::{SystemClock, SystemEntropy};
use keyloom_app::{Application, Parts, Setting, Settings, Takes};
use keyloom_oncall::{CLOSED, Carriers, MODEL, Mail, MailOptions, Provider, Service, routes};
use keyloom_server::{Post, PostOptions, Reach, WebhookSecret};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SETTINGS: &[Setting] = &[
    Setting {
        name: "public-url",
        takes: Takes::Text("URL"),
        help: "Where people reach this service; links in messages begin with it",
    },
    Setting {
        name: "smtp",
        takes: Takes::Text("URL"),
        help: "The mail server: smtps://host or smtp+starttls://host",
    },
    Setting { name: "smtp-user", takes: Takes::Text("NAME"), help: "Its user" },
    Setting {
        name: "smtp-password-file",
        takes: Takes::Secret,
        help: "The file with the user's password; or set ONCALL_SMTP_PASSWORD",
    },
    Setting {
        name: "mail-from",
        takes: Takes::Text("ADDRESS"),
        help: "Who mail is from: 'On call <oncall@example.com>'",
    },
    Setting {
        name: "provider",
        takes: Takes::Text("URL"),
        help: "Who calls people and sends them texts; the README has the shape of requests",
    },
    Setting {
        name: "provider-secret-file",
        takes: Takes::Secret,
        help: "The file with the secret that requests to and from the provider are signed with;\n\
               or set ONCALL_PROVIDER_SECRET",
    },
    Setting {
        name: "webhook-secret-file",
        takes: Takes::Secret,
        help: "The file with the secret that webhooks are signed with;\n\
               or set ONCALL_WEBHOOK_SECRET",
    },
    Setting {
        name: "private-webhooks",
        takes: Takes::Nothing,
        help: "Let webhooks go to addresses of this machine and its network",
    },
];

fn main() -> ExitCode {
    let application = Application {
        name: "oncall",
        about: "Finds whoever is on call: contacts, searches and attempts over HTTP.",
        model: MODEL,
        settings: SETTINGS,
        parts,
    };
    application.run()
}

fn parts(settings: &Settings) -> Result<Parts, String> {
    let secret = |name| settings.get(name).map(WebhookSecret::new).transpose();
    let provider_secret = secret("provider-secret-file")?;
    let reach = if settings.is_set("private-webhooks") { Reach::Anywhere } else { Reach::Public };
    let provider = match settings.get("provider") {
        None => None,
        Some(address) => Some(Provider {
            post: Post::new(PostOptions::default())?,
            address: address.to_owned(),
            secret: provider_secret.clone(),
        }),
    };
    let carriers = Carriers {
        post: Post::new(PostOptions { reach, ..PostOptions::default() })?,
        webhook_secret: secret("webhook-secret-file")?,
        provider,
        mail: mail(settings)?,
        clock: Arc::new(SystemClock),
    };
    let url = match settings.get("public-url") {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => {
            Arc::new(OnceLock::from(url.to_owned()))
        }
        Some(url) => return Err(format!("`{url}` is no --public-url: write `https://host`.")),
        None => settings.url.clone(),
    };
    let service = Arc::new(Service {
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        carry: Arc::new(carriers),
        url,
    });
    Ok(Parts {
        pages: vec![],
        routes: routes(&service, provider_secret),
        closed: CLOSED,
        handlers: Some(service.handlers()),
    })
}

fn mail(settings: &Settings) -> Result<Option<Mail>, String> {
    let Some(server) = settings.get("smtp") else { return Ok(None) };
    let from = settings.get("mail-from").ok_or("Say with --mail-from who mail is from.")?;
    let user = match (settings.get("smtp-user"), settings.get("smtp-password-file")) {
        (Some(user), Some(password)) => Some((user.to_owned(), password.to_owned())),
        (None, None) => None,
        (Some(_), None) => return Err("Give the password with --smtp-password-file.".to_owned()),
        (None, Some(_)) => return Err("Name the user with --smtp-user.".to_owned()),
    };
    let (server, from) = (server.to_owned(), from.to_owned());
    Mail::new(MailOptions { server, user, from, clock: Arc::new(SystemClock) }).map(Some)
}
