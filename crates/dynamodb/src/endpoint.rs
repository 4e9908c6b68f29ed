//! The service as a function: a target and a body in, a status and a body out.
//!
//! One file for each operation, or for a few that belong together. Each reads its parameters,
//! refuses what the service refuses in the service's order (shape, constraints, rules of the
//! parameters, expressions, and last what only the table knows), asks the store, and writes the
//! answer. Nothing here knows HTTP.

mod arn;
mod batch_get_item;
mod batch_write_item;
mod capacity;
mod create_table;
mod delete_item;
mod dispatch;
mod expressions;
mod get_item;
mod indexes;
mod limits;
mod page;
mod params;
mod put_item;
mod query;
mod refusal;
mod returned;
mod scan;
mod settings;
mod streams;
mod table_description;
mod table_shape;
mod tables;
mod tags;
mod time_to_live;
mod transact_action;
mod transact_get_items;
mod transact_write_items;
mod update_item;
mod update_table;
mod violations;

pub use dispatch::{Endpoint, EndpointOptions, Reply};
