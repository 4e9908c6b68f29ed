//! Portable rows: what of a table means the same in every store.
//!
//! An entity is its own row without the keys of indexes, in terms of the current model. System rows are
//! as they are; the table below says which. All other rows are derived, and left out.

use keyloom_model::attribute::{
    DELETION, EXPIRY, ORDINAL, OWNER, PARTITION, PENDING, REVISION, SORT, VERSION,
};
use keyloom_model::{Image, Layout, OwnRow, RowName};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::error::Error;
use crate::schema::Layouts;

/// The names of system rows that are copied: idempotency records, texts of jobs, lanes, deletion
/// records, the next ordinals, the last numbers of sequences, and bulk operations.
const COPIED: [&str; 9] = [
    "receipt",
    "overflow",
    "lane",
    "deletion",
    "numbers",
    "sequence",
    "bulk",
    "bulk-open",
    "bulk-work",
];
/// The names of those that are not: the heading has the model; processes, consumers and leases belong to
/// one store; posting lists are derived; copies have rows of their own.
const LEFT_OUT: [&str; 10] = [
    "model", "worker", "consumer", "lease", "deltas", "lists", "chunks", "groups", "boards", "copy",
];
/// Permits are in several partitions.
const PERMITS: &str = "permit-";

/// The kind of a portable row, in summaries.
pub(super) const SYSTEM: &str = "system rows";

/// Returns the portable row of a row; none if it is not copied.
///
/// # Errors
///
/// If it is data that this version or the model does not know.
pub(super) fn portable(layouts: &Layouts, row: Item, now_ms: i64) -> Result<Option<Item>, Error> {
    match name_of(&layouts.current, &row) {
        Some(RowName::Own(_)) => entity(layouts, &row).map(Some),
        Some(RowName::System) => {
            let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
            let is_copied = is_copied(partition)? && !has_expired(&row, now_ms);
            Ok(is_copied.then_some(row))
        }
        None if row.contains(VERSION) && !row.contains(OWNER) => Err(unknown_kind(&row)),
        Some(
            RowName::Link { .. }
            | RowName::Guard { .. }
            | RowName::Presence { .. }
            | RowName::Posting { .. }
            | RowName::Counter(_),
        )
        | None => Ok(None),
    }
}

/// What a row is, according to its key.
pub(super) fn name_of(layout: &Layout, row: &Item) -> Option<RowName> {
    let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
    layout.row_name(key(PARTITION), key(SORT))
}

/// Reads the portable row of an entity; none if it is a system row.
pub(super) fn read_entity(layout: &Layout, row: &Item) -> Result<Option<OwnRow>, Error> {
    match name_of(layout, row) {
        Some(RowName::System) => Ok(None),
        _ => layout.read_own(row).map(Some).map_err(Error::damaged),
    }
}

/// The kind of a portable row: the name of an entity, or [`SYSTEM`].
pub(super) fn kind_of(row: &Item) -> String {
    let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
    let mut parts = KeyBytes::decode(partition).unwrap_or_default().into_iter();
    match (parts.next(), parts.next()) {
        (Some(Value::S(first)), Some(Value::S(name))) if first == "e" => name,
        _ => SYSTEM.to_owned(),
    }
}

/// When the store may remove a row, in milliseconds; none if it may not.
pub(super) fn expiry_ms(row: &Item) -> Option<i64> {
    let secs = row.get(EXPIRY)?.as_n().and_then(Number::to_i64)?;
    Some(secs.saturating_mul(1000))
}

fn has_expired(row: &Item, now_ms: i64) -> bool {
    expiry_ms(row).is_some_and(|at_ms| at_ms <= now_ms)
}

fn entity(layouts: &Layouts, row: &Item) -> Result<Item, Error> {
    let own = layouts.current.read_own(row).map_err(Error::damaged)?;
    // A copy begins without earlier names.
    let kind = layouts.current.model().entity(own.image.key.entity);
    let (deletion, pending) = (own.deletion.clone(), own.pending.with_model_names(kind));
    let Image { version, ordinal, fields, .. } = layouts.upgraded(own);
    let mut portable = fields;
    for name in [PARTITION, SORT] {
        portable.insert(name, row.get(name).cloned().unwrap_or(Value::Null));
    }
    portable.insert(VERSION, version);
    portable.insert(REVISION, u64::from(layouts.current.revision()));
    if let Some(ordinal) = ordinal {
        portable.insert(ORDINAL, ordinal);
    }
    if let Some(deletion) = deletion {
        portable.insert(DELETION, deletion);
    }
    if !pending.is_empty() {
        portable.insert(PENDING, pending.to_value());
    }
    Ok(portable)
}

/// Whether a system row is copied.
fn is_copied(partition: &[u8]) -> Result<bool, Error> {
    let parts = KeyBytes::decode(partition).unwrap_or_default();
    let name = parts.get(1).and_then(Value::as_s).unwrap_or_default();
    if COPIED.contains(&name) {
        return Ok(true);
    }
    if LEFT_OUT.contains(&name) || name.starts_with(PERMITS) {
        return Ok(false);
    }
    let reason = format!(
        "The source has rows of a kind that this version does not know, `{name}`: copy it with the \
         version that wrote them."
    );
    Err(Error::Copy { reason })
}

fn unknown_kind(row: &Item) -> Error {
    let kind = kind_of(row);
    let reason = format!(
        "The source has a `{kind}`, which its model does not declare: `keyloom verify` lists such rows. \
         Declare or remove them, then copy."
    );
    Error::Copy { reason }
}
