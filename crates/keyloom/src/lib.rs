//! Entities and their queries, declared once, on a store.
//!
//! A model file declares your entities with their lists, uniques and references (`docs/model.md`).
//! [`Db::open`] lays it out in one table of a store, maintains every list, unique and reference in the
//! same transaction as the change, and answers every declared query with bounded reads.
//!
//! ```
//! use std::sync::Arc;
//!
//! use keyloom::Db;
//! use keyloom_store::{MemoryStore, SystemClock};
//! use serde::{Deserialize, Serialize};
//!
//! const MODEL: &str = r#"
//!     [entity.project]
//!     fields.name = "text 1..80"
//!     unique = ["name"]
//!
//!     [entity.task]
//!     parent = "project"
//!     on_parent_delete = "cascade"
//!     fields.title = "text 1..200"
//!     fields.rank  = "int"
//!     fields.done  = "bool = false"
//!     list.open = { by = "project", order = "-rank", where = { done = false } }
//! "#;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Task {
//!     project: String,
//!     title: String,
//!     rank: i64,
//! }
//!
//! # pollster::block_on(async {
//! // `keyloom_store::Engine::open(directory, ..)` is a persistent store.
//! let db = Db::open(MODEL, Arc::new(MemoryStore::new(Arc::new(SystemClock)))).await?;
//!
//! let home = db.create("project", &serde_json::json!({ "name": "home" })).await?;
//! for (title, rank) in [("paint", 1), ("clean", 3), ("mend", 2)] {
//!     let project = home.id().to_owned();
//!     db.create("task", &Task { project, title: title.to_owned(), rank }).await?;
//! }
//! // Names are unique, also among concurrent writers.
//! assert!(db.create("project", &serde_json::json!({ "name": "home" })).await.is_err());
//!
//! let open = db.list("task", "open").by("project", home.id()).limit(2);
//! let page = open.read().await?;
//! let titles: Vec<String> = page.to::<Task>()?.into_iter().map(|task| task.title).collect();
//! assert_eq!(titles, ["clean", "mend"]);
//!
//! // A finished task leaves the list in the same transaction.
//! let clean = &page.items[0];
//! db.update("task", clean.id(), &serde_json::json!({ "done": true })).await?;
//! let rest = open.after(page.next.expect("there is more")).read().await?;
//! assert_eq!(rest.items.len(), 1);
//!
//! // One read returns a project with its tasks; deleting it deletes them too.
//! let found = db.with_children("project", home.id(), Some("task"), 10).await?;
//! assert_eq!(found.expect("it exists").children.len(), 3);
//! db.delete("project", home.id()).await?;
//! assert!(db.get("task", clean.id()).await?.is_none());
//!
//! // Every derived row matches the entities.
//! assert!(db.verify(keyloom::Repair::No, |_| {}).await?.is_empty());
//! # Ok::<(), keyloom::Error>(())
//! # }).expect("the example runs");
//! ```
//!
//! # Overview
//!
//! - [`Db`]: create, get, update, put, delete, several [`Change`]s in one transaction, also
//!   [idempotently](Db::transact_idempotent); [`Db::find`] by a unique value, [`Db::list`] in order,
//!   [`Db::with_children`], [`Db::tree`] with related entities. [`Db::tenant`] is the same database for
//!   one tenant, which cannot see data of others; [`Db::user`] for one user, by the access rules of the
//!   model.
//! - Documents are anything that serde can serialize, or JSON; a [`Record`] becomes a type of yours
//!   with [`Record::to`], or JSON with [`Record::to_json`].
//! - [`Db::export`] returns everything as of one moment as [`Entry`]s, which are lines of JSON;
//!   [`Db::import`] imports them with their ids.
//! - [`mod@copy`] moves a whole database into another store, with versions and jobs.
//! - [`ListQuery::update_all`] and [`ListQuery::delete_all`] change all entities of a query in the
//!   background, with progress ([`bulk`]).
//! - [`events`] call handlers after changes, and jobs run at any time ([`Db::work`],
//!   [`Db::schedule`]).
//! - [`Db::explained`] reports how lists are read, and what reads cost ([`explain`]).
//! - Maintenance while the service runs: [`Db::backfill`] after a change of the model, [`Db::expire`]
//!   from time to time, [`Db::verify`] to detect damage. On a store that processes share, such as
//!   DynamoDB, also [`Db::fold`] and [`Db::settle_scores`] every few seconds. Servers call all of them.
//!
//! # Costs
//!
//! A change reads the entity and writes its row, one guard for each unique that changes, one row
//! for each reference that changes; all in one transaction. Deleting an entity that can be referred to
//! takes two transactions: it is marked first. A page of a list is one read of an index and one batch
//! of rows, wherever in the list it is. A child is stored twice: under its own id and with its parent.
//!
//! # Limits
//!
//! Only declared queries can be made; none falls back to a scan. A change that violates the model is
//! refused. Nothing here needs an async runtime; time and randomness are [`Options`].

mod access;
mod answer;
mod background;
mod board;
// A public module, so that what belongs to bulk changes is found in one place.
pub mod bulk;
mod change;
// A public module, so that what belongs to copies is found in one place.
pub mod copy;
mod count;
mod db;
mod document;
mod entry;
mod error;
// A public module, so that what belongs to events and jobs is found in one place.
pub mod events;
// A public module, for the same reason.
pub mod explain;
mod export;
mod filter;
mod idempotent;
mod import;
// A public module, so that what belongs to live reads is found in one place.
pub mod live;
mod options;
mod ordinals;
mod pieces;
mod read;
mod record;
mod schema;
mod scope;
mod shared;
mod stamp;
mod system_rows;
mod tags;
mod tree;
mod unknown;
mod verify;
mod write;

pub use access::User;
pub use answer::Answer;
pub use background::{Operation, OperationKind, Progress};
pub use board::{BoardPage, BoardQuery};
pub use change::Change;
pub use count::{CountQuery, Counted, Counts};
pub use db::Db;
pub use document::{DocumentError, from_item, item_to_json, json_to_item, to_item};
pub use entry::Entry;
pub use error::{Error, IdProblem, TenantProblem};
pub use export::Export;
pub use filter::Filter;
pub use idempotent::Idempotent;
pub use import::Imported;
pub use keyloom_model::{Code, FieldError, FieldErrorKind, ModelError, Refusal};
pub use keyloom_query::{
    Budget, CursorError, End, Ranked, ReadCost, RequestError, Strategy, Total, ValueCount,
    ValuePage,
};
pub use keyloom_store::{Clock, Store, SystemClock};
pub use keyloom_value::{Item, Number, Value};
pub use options::{MatchingUse, Options};
pub use read::{ListQuery, Page, WithChildren};
pub use record::Record;
pub use schema::MigrationPlan;
pub use stamp::{Entropy, SystemEntropy};
pub use tags::FindTags;
pub use tree::{Branch, Fields, Tree};
pub use verify::{Finding, Problem, Remedy, Repair, VerifyPage};
pub use write::Existing;
