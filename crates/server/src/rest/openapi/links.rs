//! Where what was just made leads: operations that take its id, as OpenAPI's links.

use keyloom_model::{EntityId, FieldId, FieldType, Model};
use serde_json::{Map, Value as Json, json};

use super::super::operation::{Action, Operation};

/// The id of what was made.
const ID: &str = "$response.body#/id";

/// The links from an answer that has just made an entity.
pub(super) fn links(model: &Model, made: EntityId, operations: &[&Operation]) -> Map<String, Json> {
    let link = |operation: &&Operation| {
        let link = of_operation(model, made, operation)?;
        let mut link = Map::from_iter([link]);
        link.insert("operationId".to_owned(), json!(operation.name));
        Some((operation.name.clone(), Json::Object(link)))
    };
    operations.iter().filter_map(link).collect()
}

/// What an operation takes the id as, if it takes it.
fn of_operation(model: &Model, made: EntityId, operation: &Operation) -> Option<(String, Json)> {
    let refers = |entity: EntityId, field: FieldId| match model.entity(entity).field(field).of {
        FieldType::Ref(target, _) => target == made,
        _ => false,
    };
    let name = |entity: EntityId, field: FieldId| model.entity(entity).field(field).name.clone();
    match &operation.action {
        Action::Read(id) | Action::Replace(id) | Action::Change(id) | Action::Delete(id)
            if *id == made =>
        {
            Some(("parameters".to_owned(), json!({ "id": ID })))
        }
        Action::Children { parent, .. } if *parent == made => {
            Some(("parameters".to_owned(), json!({ "id": ID })))
        }
        Action::Ask(asked) | Action::Values(asked, _) => {
            let mut fields = asked.in_path.iter();
            let field = *fields.find(|field| refers(asked.entity, **field))?;
            Some(("parameters".to_owned(), json!({ name(asked.entity, field): ID })))
        }
        Action::Create(id) => {
            let mut fields = model.entity(*id).fields();
            let (field, _) = fields.find(|(field, _)| refers(*id, *field))?;
            Some(("requestBody".to_owned(), json!({ name(*id, field): ID })))
        }
        Action::Read(_)
        | Action::Replace(_)
        | Action::Change(_)
        | Action::Delete(_)
        | Action::Children { .. }
        | Action::Count(..)
        | Action::Board(..)
        | Action::Ranked(..)
        | Action::Batch
        | Action::Transaction
        | Action::ListTokens
        | Action::CreateToken
        | Action::RevokeToken
        | Action::Job(..)
        | Action::Changes(_)
        | Action::OpenApi
        | Action::Docs
        | Action::Health
        | Action::Ready
        | Action::Metrics
        | Action::Own(..) => None,
    }
}
