//! The model file: entities and the queries on them, declared once.
//!
//! [`check`] turns the text of a model file into a valid [`Model`], or returns every error of the
//! file at once. `docs/model.md` explains the language.
//!
//! The stages are files in the order they run: `parse` (text → tree with spans), `declare`
//! (tree → what the author wrote), `check` (what the author wrote → [`Model`]), `layout`
//! ([`Model`] → [`Layout`]: where everything is stored, and which rows an entity implies).
//!
//! [`Entity::admit`] validates a document: it returns the fields in stored form, or every error at
//! once.
//!
//! [`evolve`] compares two models: whether the data of one can be kept under the other, and which
//! of it must be rewritten.
//!
//! [`workload`] reads how often a model is written and read, for planning.
//!
//! [`declarations`] finds the lines of a file that declare each entity.
//!
//! This crate does no I/O and is deterministic. It knows no store and no HTTP.
//!
//! ```
//! let model = keyloom_model::check(
//!     r#"
//!     [entity.category]
//!     fields.name = "text 1..80"
//!     unique = ["name"]
//!     list.by_name = { order = "name" }
//!     "#,
//! )
//! .expect("the model has no errors");
//! let category = model.entity(model.find("category").expect("there is a category"));
//! assert_eq!(category.lists[0].name, "by_name");
//!
//! let errors = keyloom_model::check("[entity.category]\nfields.name = \"txt\"\n").unwrap_err();
//! assert_eq!(errors[0].code().as_str(), "K0202");
//! assert_eq!(errors[0].help(), Some("did you mean `text`?"));
//! ```

mod admit;
mod base64;
mod check;
mod declaration;
mod declare;
mod declared;
mod describe;
mod error;
mod evolve;
mod field_spec;
mod layout;
mod model;
mod parse;
mod source;
mod suggest;
mod time;
mod words;
// A public module, so that what belongs to workloads is found in one place.
pub mod workload;

pub use admit::{FieldError, FieldErrorKind, LengthUnit, check_id};
pub use check::check;
pub use declaration::declarations;
pub use declare::{TABLES, TableKind};
pub use error::{Code, ModelError, render};
pub use evolve::{Change, ChangeKind, Evolution, Impact, Refusal, evolve};
pub use layout::{
    Addend, Amount, Breakdown, Chunk, ChunkKeys, Column, CountKeys, Counter, CounterKeys, Delta,
    DeltaChange, Directory, EntityKey, ExpiryDefault, ExpiryKeys, FacetKeys, FilterIndex, Image,
    IndexKey, KeyPart, KeyTemplate, KeyTemplates, KeyTooLong, Layout, LeaderboardKeys, Link,
    ListKeys, Matching, OrdinalKeys, OwnRow, Pending, PostingKey, PostingLists, RankedKey, Reason,
    References, Row, RowKey, RowName, SliceBits, Slot, SumTooLong, UniqueKeys, Unreadable,
    attribute, is_counter, ordinal_of, posting_row_prefix,
};
pub use model::{
    Access, Board, BoardId, CaseMode, Count, CountId, DefaultValue, Direction, Entity, EntityId,
    Field, FieldAccess, FieldId, FieldOrigin, FieldType, Format, FormatChoice, FormatRule,
    Grantees, Handler, IdSource, Limits, List, ListId, Literal, Model, OnDelete, OrderBy, PathPart,
    Presence, Ranking, Related, Search, SearchId, Sequence, StoredNames, TagCombination, Target,
    Tenancy, Term, Test, TriggeringChange, Unique, UniqueId, Window, WindowUnit, Zone, ZoneSource,
    ZoneSources,
};
pub use suggest::nearest;
