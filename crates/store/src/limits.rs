//! DynamoDB's limits, as documented in December 2025. The only place that states them as numbers.

/// Bytes of an item, names included.
pub(crate) const ITEM_BYTES_MAX: usize = 400 * 1024;
/// Lists and maps around a value. The service allows 32 levels, and counts the innermost value as
/// one.
pub(crate) const NESTING_MAX: usize = 31;
/// Bytes of the name of an attribute that is not a key.
pub(crate) const ATTRIBUTE_NAME_BYTES_MAX: usize = 64 * 1024 - 1;
/// Bytes of the name of a key attribute, and of the time-to-live attribute.
pub(crate) const KEY_NAME_BYTES_MAX: usize = 255;

/// Bytes of a value of a partition key attribute.
pub(crate) const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// Bytes of a value of a sort key attribute.
pub(crate) const SORT_KEY_BYTES_MAX: usize = 1024;

/// Global indexes of a table.
pub(crate) const GLOBAL_INDEXES_MAX: usize = 20;
/// Global indexes of a table in the stores of this crate, which do not need DynamoDB's limit.
pub(crate) const OWN_GLOBAL_INDEXES_MAX: usize = 200;
/// Local indexes of a table.
pub(crate) const LOCAL_INDEXES_MAX: usize = 5;
/// Partition attributes of a global index, and as many sort attributes again.
pub(crate) const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;

/// Bytes that one page of a query or scan reads.
pub(crate) const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Parts that a scan can be split into.
pub(crate) const SEGMENTS_MAX: u32 = 1_000_000;
/// Operators of a condition or filter.
pub(crate) const CONDITION_OPERATORS_MAX: usize = 300;
/// Operators of an update.
pub(crate) const UPDATE_OPERATORS_MAX: usize = 300;

/// Items of a batch read.
pub(crate) const BATCH_GETS_MAX: usize = 100;
/// Bytes of the items of a batch read.
pub(crate) const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Writes of a batch. The limit of 16 MB on their bytes follows: 25 items have 10 MB at most.
pub(crate) const BATCH_WRITES_MAX: usize = 25;

/// Actions of a transaction.
pub(crate) const TRANSACTION_ACTIONS_MAX: usize = 100;
/// Bytes of the items of a transaction.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Characters of a transaction's token.
pub(crate) const TOKEN_CHARS_MAX: usize = 36;
/// How long the token of a transaction is remembered.
pub(crate) const TOKEN_TTL_MS: u64 = 10 * 60 * 1000;

/// How long ago an item may have expired: an older time is considered a mistake and ignored.
pub(crate) const TTL_AGE_SECS_MAX: i64 = 5 * 365 * 24 * 60 * 60;

const _: () = assert!(
    BATCH_WRITES_MAX * ITEM_BYTES_MAX <= BATCH_GET_BYTES_MAX,
    "a batch write can never be over 16 MB, so nothing is ever left over"
);
