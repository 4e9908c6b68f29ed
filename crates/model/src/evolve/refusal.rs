//! Reasons why data cannot be kept under a changed model.

use crate::model::Entity;

/// A change of the model that existing data does not allow, with the reason and a way out.
///
/// Report all refusals together, so that the author fixes the model once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}\n  = help: {help}")]
pub struct Refusal {
    pub(super) entity: String,
    pub(super) reason: String,
    pub(super) help: String,
}

impl Refusal {
    /// A stored entity breaks a rule of the new model, as `others` do.
    pub fn of_stored(entity: &Entity, id: &str, what: &str, others: u64) -> Refusal {
        let name = &entity.name;
        let others = match others {
            0 => String::new(),
            1 => "; 1 other does not fit either".to_owned(),
            others => format!("; {others} others do not fit either"),
        };
        let reason = format!("the stored `{name}` with the id `{id}` does not fit: {what}{others}");
        let help = "change or delete it under the old model first".to_owned();
        Refusal { entity: name.clone(), reason, help }
    }

    /// The entity whose data is affected.
    pub fn entity(&self) -> &str {
        &self.entity
    }

    /// What was changed, and why that is refused.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What to do instead.
    pub fn help(&self) -> &str {
        &self.help
    }
}
