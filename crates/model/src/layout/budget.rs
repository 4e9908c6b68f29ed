//! How many rows one change can touch, at worst.

use super::counter::counter_rows_max;
use crate::model::{Entity, FieldType};

/// As many as one transaction of DynamoDB can have.
pub(crate) const ROWS_MAX: usize = 100;

/// The most rows that one change of an entity can touch: its own; for each unique the guard that is
/// given up and the one that is taken; for each reference the link that goes, the one that comes,
/// and the target, which must be there; the targets of lists of references; the numbers of counts
/// and boards.
pub(crate) fn rows_max(entity: &Entity) -> usize {
    let is_ref = |of: &FieldType| matches!(of, FieldType::Ref(..));
    let references = entity.fields.iter().filter(|field| is_ref(&field.of)).count();
    let listed = entity.reference_lists().map(|(field, _)| match &entity.field(field).of {
        FieldType::List(_, limits) => limits.high.unwrap_or(0),
        _ => 0,
    });
    let listed = listed.fold(0, u64::saturating_add);
    (1 + 2 * entity.uniques.len() + 3 * references)
        .saturating_add(usize::try_from(listed).unwrap_or(usize::MAX))
        .saturating_add(counter_rows_max(entity))
}
