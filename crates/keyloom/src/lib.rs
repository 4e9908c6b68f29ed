//! The face of Keyloom.

mod backfill;
mod change;
mod db;
mod document;
mod error;
mod maintain;
mod read;
mod record;
mod schema;
mod stamp;
mod upkeep;
mod verify;

pub use backfill::Progress;
pub use change::Change;
pub use db::{Db, Options};
pub use document::{DocumentError, from_item, item_to_json, json_to_item, to_item};
pub use error::{Error, IdProblem, TenantProblem};
pub use keyloom_model::{Code, FieldError, FieldErrorKind, ModelError, Refusal};
pub use keyloom_query::{Budget, End};
pub use read::{Family, ListQuery, Page};
pub use record::Record;
pub use stamp::{Entropy, SystemEntropy};
pub use verify::{Finding, Problem, Remedy, Repair, VerifyPage};
