//! Running the operation that a command requests.

use serde_json::Value as Json;

use super::message::Request;
use crate::operations::{
    AdoptTokens, Backup, Channel, Compact, CreateToken, Data, Explain, Export, Import, Jobs,
    ListTokens, Migrate, Operation, RevokeToken, Scrub, Status, Verify, block_on,
};

type Run = fn(Json, &Data, &mut Channel<'_>) -> Result<Json, String>;

/// All operations by name.
const OPERATIONS: &[(&str, Run)] = &[
    (AdoptTokens::NAME, run_one::<AdoptTokens>),
    (Backup::NAME, run_one::<Backup>),
    (Compact::NAME, run_one::<Compact>),
    (CreateToken::NAME, run_one::<CreateToken>),
    (Explain::NAME, run_one::<Explain>),
    (Export::NAME, run_one::<Export>),
    (Import::NAME, run_one::<Import>),
    (Jobs::NAME, run_one::<Jobs>),
    (ListTokens::NAME, run_one::<ListTokens>),
    (Migrate::NAME, run_one::<Migrate>),
    (RevokeToken::NAME, run_one::<RevokeToken>),
    (Scrub::NAME, run_one::<Scrub>),
    (Status::NAME, run_one::<Status>),
    (Verify::NAME, run_one::<Verify>),
];

/// Whether a server can run an operation of this name.
pub(crate) fn is_known(name: &str) -> bool {
    OPERATIONS.iter().any(|(known, _)| *known == name)
}

pub(super) fn run(
    request: Request,
    data: &Data,
    channel: &mut Channel<'_>,
) -> Result<Json, String> {
    let ours = env!("CARGO_PKG_VERSION");
    if request.version != ours {
        return Err(format!(
            "the server that has the data open has version {ours}, and this command version {}: use \
             a command of the server's version.",
            request.version
        ));
    }
    let run = OPERATIONS.iter().find(|(name, _)| *name == request.name);
    let (_, run) = run.ok_or_else(|| format!("unknown operation: `{}`.", request.name))?;
    run(request.operation, data, channel)
}

fn run_one<O: Operation>(
    operation: Json,
    data: &Data,
    channel: &mut Channel<'_>,
) -> Result<Json, String> {
    let operation: O = serde_json::from_value(operation).map_err(|error| not_understood(&error))?;
    // On a runtime of its own, so that it does not block the threads that serve requests.
    let answer = block_on(operation.run(data, channel))?;
    serde_json::to_value(answer).map_err(|error| error.to_string())
}

pub(super) fn not_understood(error: &dyn std::error::Error) -> String {
    format!("the server cannot read the command: {error}.")
}
