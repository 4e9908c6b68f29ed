//! The names of attributes that are not fields. Fields are in lower case, so none can clash.

/// The partition key of the table: bytes.
pub const PARTITION: &str = "PK";
/// The sort key of the table: bytes.
pub const SORT: &str = "SK";
/// Of an entity's own row: the revision of the model it was written under.
pub const REVISION: &str = "M";
/// Of an entity's own row: its version, which changes on every write.
pub const VERSION: &str = "V";
/// Of an entity's own row, if its kind has ordinals: its ordinal, in order of creation.
pub const ORDINAL: &str = "N";
/// Of an entity's own row: its tombstone, which names the deletion that is about to take it. No new
/// reference to it is accepted.
pub const DELETION: &str = "D";
/// Of an entity's own row: what deletions that are too large for one transaction are about to take.
pub const PENDING: &str = "P";
/// Of a guard or a link: the partition key of the entity that it belongs to.
pub const OWNER: &str = "O";
/// Of an idempotency record: when it expires, in seconds since 1970; the store then removes it.
pub const EXPIRY: &str = "E";
/// Of a counter: its value.
pub const COUNT: &str = "C";
/// Of a score that is settled: the stamp of the last move of changes into it.
pub const MOVED: &str = "T";
