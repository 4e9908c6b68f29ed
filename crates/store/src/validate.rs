//! The rules of requests, as pure functions of a table's spec and a request. The memory store and
//! the engine call the same functions, so they refuse the same requests for the same reasons.
//! Nothing here reads a stored item.

mod batch;
mod condition;
mod item;
mod key_range;
mod read;
mod set;
mod start_key;
mod table;
mod transaction;
mod write;

pub(crate) use batch::{batch_get, batch_write};
pub(crate) use item::{item, key_parts, key_value};
pub(crate) use read::{beginning_with, query, read_items, scan};
pub(crate) use set::{list_sets, read_column, read_set, set_bytes};
pub(crate) use table::{alteration, table_spec};
pub(crate) use transaction::{transact_get, transact_write, transaction_bytes};
pub(crate) use write::{delete, get, put, update};

#[expect(
    unused_imports,
    reason = "the memory store filters by the condition itself; engines read ranges"
)]
pub(crate) use {
    item::key,
    key_range::{KeyRange, key_range},
    write::check,
};
