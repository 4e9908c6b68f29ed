//! Errors about names that the model does not have.

use keyloom_model::{Entity, EntityId};

use crate::error::Error;
use crate::schema::Schema;

/// Finds an entity by name.
pub(crate) fn find_entity<'s>(
    schema: &'s Schema,
    name: &str,
) -> Result<(EntityId, &'s Entity), Error> {
    let model = schema.model();
    let Some(id) = model.find(name) else {
        let names = model.entities().map(|(_, entity)| entity.name.as_str());
        return Err(unknown(format!("The model has no entity `{name}`"), name, names));
    };
    Ok((id, model.entity(id)))
}

/// An unknown name, with the most similar of the known ones.
pub(crate) fn unknown<'n>(what: String, name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<&str> = known.collect();
    let help = match keyloom_model::nearest(name, &known) {
        Some(close) => Some(format!("did you mean `{close}`?")),
        None if known.is_empty() => None,
        None => Some(format!("expected one of `{}`", known.join("`, `"))),
    };
    Error::Unknown { what, help }
}
