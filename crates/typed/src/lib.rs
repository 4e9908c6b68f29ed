//! The runtime of typed modules: what the code that `keyloom-build` generates from a model has in common.
//!
//! Typed ids and versions ([`Id`], [`Version`]), values of fields ([`IntoValue`], [`FromValue`]), documents
//! and patches, changes that know what they return ([`Change`], [`Changes`], [`Request`]), declared queries
//! ([`List`], [`Count`], [`Board`], [`Children`]) with pages and cursors of their own ([`Page`], [`Cursor`]),
//! and live reads ([`live()`]). `docs/clients.md` shows how a module is generated and used.
//!
//! It adds no rule and caches nothing: every call is one of [`keyloom::Db`], which stays reachable. It needs
//! no async runtime and no serde.

mod board;
mod change;
mod changes;
mod children;
mod count;
mod cursor;
mod document;
mod entity;
mod error;
mod filter;
mod id;
mod include;
mod list;
mod live;
mod order_range;
mod page;
mod patch;
mod read;
mod reference;
mod request;
mod stored;
mod stream;
mod time;
mod value;
mod values;
mod version;

// The trait of what queries and live reads return.
pub use futures_util::stream::Stream;

pub use board::{Board, DeclaredBoard, Ranked, RanksEntities};
pub use change::{Change, Creation, Deletion, Edit, Existing, Kind};
pub use changes::{Changes, ReadChanges};
pub use children::{Children, WithChildren};
pub use count::{Count, CountedFields, DeclaredCount, HasWindows, Only, Split};
pub use cursor::Cursor;
pub use document::{Document, OrDefault};
pub use entity::Entity;
pub use error::{Error, Unfit};
pub use filter::Filter;
pub use id::Id;
pub use list::{DeclaredList, HasTags, HasTotal, List};
pub use live::live;
pub use order_range::OrderRange;
pub use page::Page;
pub use patch::Patch;
pub use read::{find, get};
pub use reference::Reference;
pub use request::Request;
pub use stored::StoredFields;
pub use time::Time;
pub use value::{FromValue, IntoValue};
pub use values::{Facet, Tags, ValueCount};
pub use version::Version;
