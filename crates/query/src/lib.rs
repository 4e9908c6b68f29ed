//! Everything that reads: entities, unique values, ordered lists page by page, parents with their
//! children, links.
//!
//! A [`Reader`] is a store, a table, a layout and a time. Its methods are
//!
//! - [`Reader::get`], [`Reader::get_many`]: entities by their keys;
//! - [`Reader::find`]: the entity that has a unique value;
//! - [`Reader::list`]: a page of an ordered list, in either direction, between bounds, optionally
//!   of what passes a [`Filter`]; [`Reader::total`]: the number of matches;
//!   [`Reader::count_values`]: which tags and values of facets they have;
//! - [`Reader::count`]: the counters of a count; [`Reader::board`], [`Reader::ranked`],
//!   [`Reader::around`]: a page of a leaderboard, one entry of it, and its neighbours;
//! - [`Reader::family`], [`Reader::children`], [`Reader::first_children`]: a parent with its children;
//! - [`Reader::explain`]: how a page was found; on a [`Metered`] store, what is read for it;
//! - [`Dependencies`]: what reads depend on, and whether an [`EntityChange`] affects them;
//! - [`Reader::links`], [`Reader::expired`]: what the write path needs to know before it deletes.
//!
//! Entities that have expired, or that a deletion has taken, are invisible ([`Reader::get_any`]
//! returns them). Every call is bounded: by a limit, and a list also by a [`Budget`]. A page that is
//! not the last has a cursor: one position in the list, bound to the query and authenticated with a
//! [`CursorKey`]. It stays valid whatever is written between two pages, and an entity that is in the
//! list throughout is on exactly one of them.
//!
//! This crate never writes. It needs no async runtime, and reads no clock but a monotonic one, which
//! bounds how long posting lists are read.
//!
//! ```
//! use keyloom_model::{EntityKey, Image, Layout};
//! use keyloom_query::{CursorKey, ListRequest, Reader};
//! use keyloom_store::{IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType};
//! use keyloom_store::{Put, MemoryStore, Store, SystemClock, TableName, TableSpec};
//! use keyloom_value::{Item, Value};
//! use pollster::block_on; // Any executor will do.
//!
//! let text = "[entity.task]\nfields.rank = \"int\"\nlist.ranked = { order = \"-rank\" }\n";
//! let model = keyloom_model::check(text).expect("the model has no errors");
//! let layout = Layout::new(model, 1, &Item::new());
//! let task = layout.model().find("task").expect("there is a task");
//! let ranked = layout.model().entity(task).find_list("ranked").expect("there is a list");
//!
//! let store = MemoryStore::new(std::sync::Arc::new(SystemClock));
//! let table = TableName::new("data")?;
//! let key = KeySchema::partition("PK", KeyType::B).and_sort("SK", KeyType::B);
//! let mut spec = TableSpec::new(table.clone(), key);
//! let slot = layout.lists().slot(task, ranked);
//! spec.indexes.push(IndexSpec {
//!     name: TableName::new(&slot.name())?,
//!     scope: IndexScope::Global,
//!     key: KeySchema::partition(slot.partition().as_str(), KeyType::B)
//!         .and_sort(slot.sort().as_str(), KeyType::B),
//!     projection: IndexProjection::Keys,
//! });
//! block_on(store.create_table(spec))?;
//! for (id, rank) in [("a", 1), ("b", 3), ("c", 2)] {
//!     let key = EntityKey { entity: task, tenant: None, id: id.to_owned() };
//!     let fields = Item::from([("rank", Value::from(rank))]);
//!     for row in layout.rows(&Image { key, version: "1".to_owned(), ordinal: None, fields })? {
//!         block_on(store.put(Put::new(&table, row.item)))?;
//!     }
//! }
//!
//! let reader = Reader { store: &store, table: &table, layout: &layout, now_ms: 0, noted: None };
//! let cursors = CursorKey::new([7; 32]);
//! let request = ListRequest { limit: 2, ..ListRequest::new(task, ranked) };
//! let page = block_on(reader.list(&request, &cursors, None))?;
//! let ids: Vec<_> = page.rows.iter().map(|row| row.image.key.id.as_str()).collect();
//! assert_eq!(ids, ["b", "c"]);
//! let page = block_on(reader.list(&request, &cursors, page.next.as_deref()))?;
//! assert_eq!(page.rows[0].image.key.id, "a");
//! assert_eq!(page.next, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs
//!
//! A get is one read of the store. A page of a list is one read of an index and one batch of own
//! rows for every 100 of them, wherever in the list it is. A parent with its children is one
//! read. Rows that a large deletion has marked cost one more read for each deletion, and are read
//! again if it has happened. A leaderboard that ranks by counts always costs one more read, and so
//! do totals where the store has no sets: they look for what deletions take from posting lists.

mod board;
mod board_changes;
mod board_deletions;
mod board_request;
mod board_scan;
mod bound;
mod budget;
mod built;
mod choose;
mod chunks;
mod considered;
mod count;
mod count_extremes;
mod count_filter;
mod count_request;
mod count_sum;
mod count_windows;
mod cursor;
mod cursor_error;
mod deletion;
mod dependencies;
mod dependency;
mod entity_change;
mod error;
mod expired;
mod explain;
mod facets;
mod family;
mod family_request;
mod fetch;
mod filter;
mod find;
mod fingerprint;
mod get;
mod hidden;
mod kept_page;
mod links;
mod list;
mod list_part;
mod list_request;
mod list_scan;
mod listed;
mod metered;
mod nodes;
mod ordinal;
mod partition;
mod pending;
mod plan;
mod posting_list;
mod queries;
mod range;
mod rank;
mod reader;
mod request_error;
mod span;
mod strategy;
mod taken;
mod topic;
mod total;
mod unique_request;
mod value_range;
mod values;
mod visible;

pub use board_request::{BoardPage, BoardRequest, Ranked};
pub use budget::{Budget, ReadCost};
pub use choose::{Candidates, Chosen, ChosenList, Comparison, Condition};
pub use chunks::READ_MAX;
pub use considered::Considered;
pub use count_request::{CountNumber, CountPage, CountRequest, WindowRange};
pub use cursor::CursorKey;
pub use cursor_error::CursorError;
pub use deletion::{DeletionState, deletion_key};
pub use dependencies::Dependencies;
pub use entity_change::EntityChange;
pub use error::Error;
pub use expired::ExpiredPage;
pub use explain::{Explanation, ListReads, OneByOne, Plan};
pub use family_request::{Children, ChildrenPage, Family, FamilyRequest};
pub use filter::{Filter, Filters};
pub use kept_page::is_lasting;
pub use links::{LinkRow, LinksPage, LinksPosition};
pub use list_request::{End, ListPage, ListRequest};
pub use metered::{Metered, StoreRead};
pub use range::Range;
pub use reader::Reader;
pub use request_error::RequestError;
pub use strategy::{Ran, Strategy};
pub use topic::Topic;
pub use total::Total;
pub use unique_request::UniqueRequest;
pub use value_range::ValueRange;
pub use values::{Counted, Resume, ValueCount, ValuePage};
