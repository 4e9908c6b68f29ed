//! Why data cannot be kept under a changed model.

use crate::admit::FieldError;
use crate::model::Entity;

/// One thing that a change of the model may not do, with the reason and the way out.
///
/// Whoever shows it, shows all of them: the author mends the model once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n  = help: {help}")]
pub struct Refusal {
    pub(super) entity: String,
    pub(super) reason: String,
    pub(super) help: String,
}

impl Refusal {
    /// A stored entity breaks a rule of the new model.
    pub fn of_stored(entity: &Entity, id: &str, error: &FieldError) -> Refusal {
        let name = &entity.name;
        let reason = format!("the stored `{name}` with the id `{id}` does not fit: {error}");
        let help = "change or delete it under the old model first".to_owned();
        Refusal { entity: name.clone(), reason, help }
    }

    /// The entity whose data is in question.
    pub fn entity(&self) -> &str {
        &self.entity
    }

    /// What was changed, and why that cannot be.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What to do instead.
    pub fn help(&self) -> &str {
        &self.help
    }
}
