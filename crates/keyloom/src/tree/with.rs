//! Parses `with`: text → steps of the model.
//!
//! ```text
//! with = path { "," path }
//! path = step { "." step }
//! step = a reference of the entity by its field, or its children by their name
//! ```

use std::collections::BTreeMap;

use keyloom_model::{EntityId, FieldType, Model};

use crate::db::unknown;
use crate::error::Error;

/// The maximum number of paths.
const PATHS_MAX: usize = 20;
/// The maximum number of steps of a path.
const STEPS_MAX: usize = 8;

/// The related entities to read for every entity of a kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct With {
    pub(crate) entity: EntityId,
    pub(crate) steps: BTreeMap<String, Step>,
}

/// One step, and the steps after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) relation: Relation,
    pub(crate) with: With,
}

/// How a step leads to related entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// By the reference in the field with the step's name.
    Reference,
    /// From the parent to its children.
    Children,
}

impl With {
    fn nothing(entity: EntityId) -> With {
        With { entity, steps: BTreeMap::new() }
    }

    /// Parses the paths for entities of a kind; an empty text has none.
    pub(crate) fn parse(model: &Model, entity: EntityId, text: &str) -> Result<With, Error> {
        let mut with = With::nothing(entity);
        if text.is_empty() {
            return Ok(with);
        }
        check_count("`with`", "paths", (text.split(',').count(), PATHS_MAX))?;
        for path in text.split(',') {
            check_count("A path of `with`", "steps", (path.split('.').count(), STEPS_MAX))?;
            let mut place = &mut with;
            for name in path.split('.') {
                if !place.steps.contains_key(name) {
                    let step = Step::find(model, place.entity, name)?;
                    place.steps.insert(name.to_owned(), step);
                }
                let Some(step) = place.steps.get_mut(name) else { break };
                place = &mut step.with;
            }
        }
        Ok(with)
    }

    /// Splits a path into the step that it begins with, if that was requested, and the rest.
    pub(crate) fn first_step<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let step = path.split('.').next().filter(|step| self.steps.contains_key(*step))?;
        Some((step, path[step.len()..].strip_prefix('.').unwrap_or_default()))
    }

    /// Returns the first requested kind of children.
    pub(crate) fn first_children(&self) -> Option<EntityId> {
        let mut steps = self.steps.values();
        let step = steps.find(|step| step.relation == Relation::Children)?;
        Some(step.with.entity)
    }
}

impl Step {
    fn find(model: &Model, entity: EntityId, name: &str) -> Result<Step, Error> {
        let declared = model.entity(entity);
        let references = declared.fields.iter().filter_map(|field| match field.of {
            FieldType::Ref(target, _) => Some((field.name.clone(), Relation::Reference, target)),
            _ => None,
        });
        let children = model.children(entity).into_iter();
        let children = children.map(|(name, kind)| (name, Relation::Children, kind));
        let all: Vec<(String, Relation, EntityId)> = references.chain(children).collect();
        match all.iter().find(|(other, ..)| other == name) {
            Some((_, relation, target)) => {
                Ok(Step { relation: *relation, with: With::nothing(*target) })
            }
            None => {
                let what = format!("`{}` has no reference or children `{name}`", declared.name);
                Err(unknown(what, name, all.iter().map(|(other, ..)| other.as_str())))
            }
        }
    }
}

pub(super) fn check_count(
    whose: &str,
    what: &str,
    (count, count_max): (usize, usize),
) -> Result<(), Error> {
    if count <= count_max {
        return Ok(());
    }
    Err(Error::Unknown {
        what: format!("{whose} has {count} {what}"),
        help: Some(format!("request at most {count_max}")),
    })
}
