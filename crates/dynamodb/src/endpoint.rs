//! The service as a function: a target and a body in, a status and a body out.
//!
//! One file per operation, or per group of related ones. Each reads its parameters, validates them
//! in the service's order (shape, constraints, parameter rules, expressions, and last what depends
//! on the table), calls the store, and writes the response. Nothing here knows HTTP.

mod arn;
mod background;
mod backup_record;
mod backups;
mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod capacity;
mod continuous_backups;
mod create_table;
mod delete_item;
mod dispatch;
mod execute_statement;
mod execute_transaction;
mod expressions;
mod get_item;
mod indexes;
mod legacy;
mod limits;
mod next_token;
mod page;
mod params;
mod put_item;
mod query;
mod query_refusal;
mod recovery;
mod refusal;
mod restore;
mod restoring;
mod returned;
mod scalar_keys;
mod scan;
mod service;
mod settings;
mod statement;
mod statement_read;
mod statement_write;
mod stream_shards;
mod streams;
mod table_copy;
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
mod visible;
mod write_params;

pub use dispatch::Reply;
pub use service::{Endpoint, EndpointOptions};
