//! Which problems an operation can answer with.

use keyloom_model::{Entity, EntityId, FieldId, FieldType, IdSource, Model};

use super::super::jobs::JobStep;
use super::super::operation::{Access, Action, Operation};
use super::super::problem::Kind;
use super::parameter::tenant_field;

/// In the order of their statuses, each once.
pub(super) fn problems(model: &Model, operation: &Operation) -> Vec<Kind> {
    let mut kinds = match operation.access() {
        Access::Anybody if matches!(operation.action, Action::Own(..)) => vec![],
        Access::Anybody => return of_action(model, &operation.action),
        Access::Role(_) => vec![
            Kind::BadUri,
            Kind::BadHeader,
            Kind::Unauthorized,
            Kind::Forbidden,
            Kind::WrongHost,
            Kind::Internal,
            Kind::Busy,
            Kind::Overdue,
        ],
    };
    if tenant_field(model, operation).is_some() {
        kinds.push(Kind::TenantNeeded);
    }
    if operation.changes().is_some() || matches!(operation.action, Action::Transaction) {
        kinds.push(Kind::WritesRefused);
    }
    kinds.extend(of_action(model, &operation.action));
    kinds.sort();
    kinds.dedup();
    kinds
}

fn of_action(model: &Model, action: &Action) -> Vec<Kind> {
    let entity = |id: &EntityId| model.entity(*id);
    match action {
        Action::Create(id) => [BODY, &CHANGE, &of_new(entity(id))].concat(),
        Action::Read(_) => vec![Kind::BadParameter, Kind::NotFound],
        Action::Replace(id) => [BODY, &CHANGE, &VERSIONED, &of_new(entity(id))].concat(),
        Action::Change(id) => [BODY, &CHANGE, &VERSIONED, &of_document(entity(id))].concat(),
        Action::Delete(_) => {
            [&CHANGE[..], &[Kind::NotFound, Kind::VersionMismatch, Kind::InUse]].concat()
        }
        Action::Children { .. } => vec![Kind::BadParameter, Kind::BadCursor, Kind::NotFound],
        Action::Ask(asked) | Action::Values(asked, _) => {
            of_list(entity(&asked.entity), &asked.in_path)
        }
        Action::Count(id, _, in_path) => of_list(entity(id), in_path),
        Action::Board(..) => {
            vec![Kind::BadParameter, Kind::BadCursor, Kind::NotFound, Kind::Building]
        }
        Action::Ranked(..) => vec![Kind::BadParameter, Kind::NotFound, Kind::Building],
        Action::Batch => [BODY, &[Kind::BadParameter, Kind::Invalid, Kind::TooLarge]].concat(),
        Action::Transaction => {
            let of_entities = model.entities().flat_map(|(_, entity)| of_new(entity));
            let of_entities: Vec<Kind> = of_entities.collect();
            [BODY, &CHANGE, &VERSIONED, &of_entities, &[Kind::InUse]].concat()
        }
        Action::Job(_, JobStep::Reschedule) => {
            [BODY, &[Kind::BadParameter, Kind::Invalid, Kind::NotFound, Kind::WrongState]].concat()
        }
        Action::Job(_, JobStep::Replay | JobStep::Cancel) => {
            vec![Kind::BadParameter, Kind::NotFound, Kind::WrongState]
        }
        Action::Changes(_) => vec![Kind::BadParameter, Kind::ChangesGone, Kind::PositionUnknown],
        Action::CreateToken => [BODY, &[Kind::BadParameter, Kind::Invalid]].concat(),
        Action::RevokeToken => vec![Kind::BadParameter, Kind::NotFound],
        Action::ListTokens => vec![Kind::BadParameter],
        // An application's own code answers with whatever it likes.
        Action::Own(..) => Kind::ALL.to_vec(),
        Action::Ready => vec![Kind::WritesRefused],
        Action::OpenApi | Action::Docs | Action::Health | Action::Metrics => vec![],
    }
}

/// What can be wrong with any body.
const BODY: &[Kind] = &[Kind::BadDocument, Kind::Timeout, Kind::BodyTooLarge, Kind::BadMediaType];
/// What can be wrong with any change.
const CHANGE: [Kind; 4] = [Kind::BadParameter, Kind::KeyReused, Kind::Invalid, Kind::TooLarge];
/// What can be wrong with a change of something that is there.
const VERSIONED: [Kind; 3] = [Kind::NotFound, Kind::VersionConflict, Kind::VersionMismatch];

fn of_new(entity: &Entity) -> Vec<Kind> {
    let mut kinds = of_document(entity);
    kinds.extend((entity.id_source == IdSource::Given).then_some(Kind::Exists));
    kinds
}

fn of_document(entity: &Entity) -> Vec<Kind> {
    let refers = entity.fields.iter().any(|field| matches!(field.of, FieldType::Ref(..)))
        || entity.reference_lists().next().is_some();
    let taken = (!entity.uniques.is_empty()).then_some(Kind::Taken);
    taken.into_iter().chain(refers.then_some(Kind::TargetGone)).collect()
}

/// What a list, and what is counted of it, can be refused for.
fn of_list(entity: &Entity, in_path: &[FieldId]) -> Vec<Kind> {
    let mut kinds = vec![Kind::BadParameter, Kind::BadCursor, Kind::Building];
    let refers = |field: &FieldId| matches!(entity.field(*field).of, FieldType::Ref(..));
    if in_path.iter().any(refers) {
        kinds.push(Kind::NotFound);
    }
    kinds
}
