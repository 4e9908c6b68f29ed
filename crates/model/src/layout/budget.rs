//! The maximum number of rows that one change can touch.

use super::counter::counter_rows_max;
use crate::model::{Entity, FieldType};

/// The limit of a transaction in DynamoDB.
pub(crate) const ROWS_MAX: usize = 100;

/// The maximum number of rows that one change of an entity can touch: its own row; for each unique,
/// the old and the new guard; for each reference, the old and the new link, and the target, which
/// must exist; the targets of lists of references; the counters of counts and boards.
pub(crate) fn rows_max(entity: &Entity) -> usize {
    let is_ref = |of: &FieldType| matches!(of, FieldType::Ref(..));
    let references = entity.fields.iter().filter(|field| is_ref(&field.of)).count();
    let listed = entity.reference_lists().map(|(field, _)| match &entity.field(field).of {
        FieldType::List(_, limits) => limits.high.unwrap_or(0),
        _ => 0,
    });
    let listed = listed.fold(0, u64::saturating_add);
    // Those that exist as long as it may be referred to.
    let presence = match entity.reference_shards {
        1 => 0,
        shards => shards as usize,
    };
    (1 + 2 * entity.uniques.len() + 3 * references + presence)
        .saturating_add(usize::try_from(listed).unwrap_or(usize::MAX))
        .saturating_add(counter_rows_max(entity))
}
