//! What `keyloom serve` does after changes: it posts to the webhooks that the model names. What else a
//! model calls is code, and code is in a program of its own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, value_parser};
use keyloom::SystemClock;
use keyloom::events::Handlers;
use keyloom_app::{log, secret};
use keyloom_model::{Model, Target};
use keyloom_server::{HttpClient, HttpClientOptions, WebhookSecret, Webhooks};

use crate::command::PROGRAM;

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

/// What posts to the webhooks of a model; nothing, if it has none. What else the model names is left
/// to the program that has it.
pub(crate) fn handlers(model: &Model, arguments: &ArgMatches) -> Result<Option<Handlers>, String> {
    let targets = || model.handlers().iter().map(|handler| &handler.target);
    let code: BTreeSet<String> = targets().filter_map(code).collect();
    if !code.is_empty() {
        let code: Vec<String> = code.into_iter().collect();
        log(&format!(
            "The model names code that only a program of your own can provide: {}. This server runs \
             none of it. Events wait for that program for as long as the log keeps them.",
            code.join(", ")
        ));
    }
    if !targets().any(|target| matches!(target, Target::Webhook(_))) {
        return Ok(None);
    }
    let secret = secret(PROGRAM, SECRET, arguments)?.ok_or(
        "the model has webhooks, which are signed: give --webhook-secret-file or set \
         KEYLOOM_WEBHOOK_SECRET, at least 16 bytes.",
    )?;
    let secret = WebhookSecret::new(&secret)?;
    let (client, clock) = (HttpClient::new(HttpClientOptions::default())?, Arc::new(SystemClock));
    let webhooks = Arc::new(Webhooks { client, secret, clock });
    Ok(Some(Handlers::new().webhooks(webhooks).leave_others()))
}

/// What only a program can do.
fn code(target: &Target) -> Option<String> {
    match target {
        Target::Handler(name) => Some(format!("the handler `{name}`")),
        Target::Job(kind) => Some(format!("the job `{kind}`")),
        Target::Webhook(_) => None,
    }
}
