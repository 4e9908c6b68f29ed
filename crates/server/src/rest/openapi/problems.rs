//! Problems that several operations share.

use keyloom_model::{Entity, FieldId, FieldType, IdSource};

use super::super::problem::Kind;

/// Problems of any body.
pub(crate) const BODY: &[Kind] =
    &[Kind::BadDocument, Kind::Timeout, Kind::BodyTooLarge, Kind::BadMediaType];
/// Problems of any change.
pub(crate) const CHANGE: &[Kind] =
    &[Kind::BadParameter, Kind::KeyReused, Kind::Invalid, Kind::TooLarge];
/// Problems of changing an existing entity.
pub(crate) const VERSIONED: &[Kind] =
    &[Kind::NotFound, Kind::VersionConflict, Kind::VersionMismatch];

/// Problems of a complete document.
pub(crate) fn of_new(entity: &Entity) -> Vec<Kind> {
    let mut kinds = of_document(entity);
    kinds.extend((entity.id_source == IdSource::Given).then_some(Kind::Exists));
    kinds
}

/// Problems of the fields of a document.
pub(crate) fn of_document(entity: &Entity) -> Vec<Kind> {
    let refers = entity.fields.iter().any(|field| matches!(field.of, FieldType::Ref(..)))
        || entity.reference_lists().next().is_some();
    let taken = (!entity.uniques.is_empty()).then_some(Kind::Taken);
    taken.into_iter().chain(refers.then_some(Kind::TargetGone)).collect()
}

/// Problems of a list, and of counts of it.
pub(crate) fn of_list(entity: &Entity, in_path: &[FieldId]) -> Vec<Kind> {
    let mut kinds = vec![Kind::BadParameter, Kind::BadCursor, Kind::Building];
    let refers = |field: &FieldId| matches!(entity.field(*field).of, FieldType::Ref(..));
    if in_path.iter().any(refers) {
        kinds.push(Kind::NotFound);
    }
    kinds
}
