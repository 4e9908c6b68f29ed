//! Webhooks of `keyloom serve`. Handlers and jobs that a model names are code, which only a program of
//! its author has.

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
/// The option's former name. Its environment variable holds the secret itself, not a file.
const ALIAS: &str = "webhook-secret";

pub(crate) fn argument() -> Arg {
    Arg::new(SECRET)
        .long(SECRET)
        .alias(ALIAS)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("File with the webhook signing secret [env: KEYLOOM_WEBHOOK_SECRET]")
}

/// The handlers that deliver the webhooks of a model; none if it has none. Other handlers and jobs are
/// left to the program that implements them.
pub(crate) fn handlers(model: &Model, arguments: &ArgMatches) -> Result<Option<Handlers>, String> {
    let targets = || model.handlers().iter().map(|handler| &handler.target);
    let code: BTreeSet<String> = targets().filter_map(code).collect();
    if !code.is_empty() {
        let code: Vec<String> = code.into_iter().collect();
        log(&format!(
            "The model names code that this server does not have: {}. Run a program that implements \
             it; events wait for it as long as the log retains them.",
            code.join(", ")
        ));
    }
    if !targets().any(|target| matches!(target, Target::Webhook(_))) {
        return Ok(None);
    }
    let secret = secret(PROGRAM, SECRET, arguments)?.ok_or(
        "the model has webhooks, which need a signing secret of at least 16 bytes: give \
         --webhook-secret-file or set KEYLOOM_WEBHOOK_SECRET.",
    )?;
    let secret = WebhookSecret::new(&secret)?;
    let (client, clock) = (HttpClient::new(HttpClientOptions::default())?, Arc::new(SystemClock));
    let webhooks = Arc::new(Webhooks { client, secret, clock });
    Ok(Some(Handlers::new().webhooks(webhooks).leave_others()))
}

/// Describes a target that needs code.
fn code(target: &Target) -> Option<String> {
    match target {
        Target::Handler(name) => Some(format!("the handler `{name}`")),
        Target::Job(kind) => Some(format!("the job `{kind}`")),
        Target::Webhook(_) => None,
    }
}
