//! The IAM policy of a server: the actions that its requests need, and no others.

use std::collections::BTreeSet;

use keyloom_dynamodb::{ACTIONS, Purpose};
use serde_json::{Value, json};

use super::Tables;

/// Where the tables are; `*` is anywhere.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) region: &'p str,
    pub(super) account: &'p str,
}

/// Returns the policy. With `setup`, the server may also create tables and indexes.
pub(super) fn policy(tables: &Tables, place: Place<'_>, setup: bool) -> Value {
    let [data, tokens] = [&tables.data, &tables.tokens].map(|spec| {
        let Place { region, account } = place;
        format!("arn:aws:dynamodb:{region}:{account}:table/{}", spec.name)
    });
    let [indexes, streams] = ["index", "stream"].map(|part| format!("{data}/{part}/*"));
    let mut statements = vec![
        statement("Data", Purpose::Data, &[&data, &indexes, &tokens]),
        statement("Stream", Purpose::Stream, &[&streams]),
    ];
    if setup {
        statements.push(statement("Setup", Purpose::Setup, &[&data, &indexes, &tokens]));
    }
    json!({ "Version": "2012-10-17", "Statement": statements })
}

fn statement(id: &str, purpose: Purpose, resources: &[&String]) -> Value {
    let needed = ACTIONS.iter().filter(|action| action.purpose == purpose);
    let actions: BTreeSet<String> =
        needed.flat_map(|action| action.needs).map(|need| format!("dynamodb:{need}")).collect();
    json!({ "Sid": id, "Effect": "Allow", "Action": actions, "Resource": resources })
}
