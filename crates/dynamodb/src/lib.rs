//! Amazon DynamoDB's wire format over any [`Store`](keyloom_store::Store).
//!
//! - [`Endpoint`] is the service as a function: a target and a JSON body in, a status and a JSON
//!   body out. It validates in the service's order, reproduces its messages, and knows neither
//!   HTTP nor signatures.
//! - [`Substitutions`] parses the expression languages (conditions and filters, key conditions,
//!   updates, projections) into `keyloom_value`'s types; [`Printer`] prints them back.
//! - `Remote` (feature `remote`) is the reverse: DynamoDB itself as a store, through the AWS SDK.
//!
//! ```
//! use keyloom_dynamodb::{Endpoint, EndpointOptions};
//! use keyloom_store::{MemoryStore, SystemClock};
//! use pollster::block_on; // Any executor will do.
//! use std::sync::Arc;
//!
//! let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! let endpoint = Endpoint::new(store, EndpointOptions::default());
//! let call = |name: &str, body: &str| {
//!     block_on(endpoint.call(&format!("DynamoDB_20120810.{name}"), body.as_bytes()))
//! };
//! call("CreateTable", r#"{"TableName": "tasks", "BillingMode": "PAY_PER_REQUEST",
//!     "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
//!     "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}"#);
//! call("PutItem", r#"{"TableName": "tasks", "Item": {"id": {"S": "t1"}, "n": {"N": "1"}}}"#);
//! let reply = call("UpdateItem", r#"{"TableName": "tasks", "Key": {"id": {"S": "t1"}},
//!     "UpdateExpression": "SET n = n + :one", "ReturnValues": "UPDATED_NEW",
//!     "ExpressionAttributeValues": {":one": {"N": "1"}}}"#);
//! assert_eq!(reply.body, r#"{"Attributes":{"n":{"N":"2"}}}"#);
//! ```
//!
//! # Cost
//!
//! Requests are parsed without copying text, and responses are written straight from items. A
//! request for consumed capacity also reads the old item. A rejected request may read the table's
//! description, because the service's messages name its keys.
//!
//! Unsupported features are rejected with a message that says so; `COMPAT.md` lists them. The
//! parameters that expressions replaced become the same conditions, updates and projections.

mod actions;
mod consumption;
mod endpoint;
mod expression;
mod index_rows;
mod item_json;
mod json;
mod partiql;
#[cfg(feature = "remote")]
mod remote;
mod strict;
#[cfg(test)]
mod tests;
mod units;
mod wire;

pub use actions::{ACTIONS, Action, Purpose};
pub use consumption::Consumption;
pub use endpoint::{Endpoint, EndpointOptions, Reply};
pub use expression::{ExpressionError, Printer, Substitutions};
pub use item_json::{item_from_json, item_to_json};
#[cfg(feature = "remote")]
pub use remote::{Consumed, Keys, Remote, RemoteOptions};
pub use strict::{Heat, Metered, Strict, StrictOptions, Usage};
