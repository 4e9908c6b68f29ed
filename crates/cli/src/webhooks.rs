//! What `keyloom serve` does after changes: it posts to the webhooks that the model names. What else a
//! model calls is code, and code is in a program of its own.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::SystemClock;
use keyloom::events::Handlers;
use keyloom_app::{log, secret};
use keyloom_model::{Model, Target};
use keyloom_server::{Post, PostOptions, WebhookSecret, Webhooks};

use crate::run::PROGRAM;

const SECRET: &str = "webhook-secret-file";
/// What it was called before every option became a variable: its variable is the secret itself.
const FORMER: &str = "webhook-secret";

pub(crate) fn argument() -> Arg {
    Arg::new(SECRET)
        .long(SECRET)
        .alias(FORMER)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("File with the webhook signing secret [env: KEYLOOM_WEBHOOK_SECRET]")
}

/// What handles the events of a model; nothing, if the model calls nothing.
pub(crate) fn handlers(model: &Model, arguments: &ArgMatches) -> Result<Option<Handlers>, String> {
    let targets = || model.handlers().iter().map(|handler| &handler.target);
    let code = targets().find_map(|target| match target {
        Target::Handler(name) | Target::Job(name) => Some(name),
        Target::Webhook(_) => None,
    });
    if let Some(name) = code {
        log(&format!(
            "The model names the handler `{name}`, which only a program of your own can provide. \
             Events are kept until one runs."
        ));
        return Ok(None);
    }
    if targets().next().is_none() {
        return Ok(None);
    }
    let secret = secret(PROGRAM, SECRET, arguments)?.ok_or(
        "the model has webhooks, which are signed: give --webhook-secret-file or set \
         KEYLOOM_WEBHOOK_SECRET, at least 16 bytes.",
    )?;
    let secret = WebhookSecret::new(&secret)?;
    let (post, clock) = (Post::new(PostOptions::default())?, Arc::new(SystemClock));
    Ok(Some(Handlers::new().webhooks(Arc::new(Webhooks { post, secret, clock }))))
}
