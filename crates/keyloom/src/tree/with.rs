//! What is to come with an entity: text → steps that the model knows.
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

/// As many paths as can be asked for at once.
const PATHS_MAX: usize = 20;
/// As many steps as a path can have.
const STEPS_MAX: usize = 8;

/// What is to come with every entity of a kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct With {
    pub(crate) entity: EntityId,
    pub(crate) steps: BTreeMap<String, Step>,
}

/// One kind of thing that comes with an entity, and what is to come with that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) relation: Relation,
    pub(crate) with: With,
}

/// How an entity finds what comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It refers to it, with the field of the step's name.
    Reference,
    /// It is the parent.
    Children,
}

impl With {
    fn nothing(entity: EntityId) -> With {
        With { entity, steps: BTreeMap::new() }
    }

    /// Reads what is to come with entities of a kind; an empty text asks for nothing.
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

    /// The first kind of children that is asked for.
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

fn check_count(whose: &str, what: &str, (count, count_max): (usize, usize)) -> Result<(), Error> {
    if count <= count_max {
        return Ok(());
    }
    Err(Error::Unknown {
        what: format!("{whose} has {count} {what}"),
        help: Some(format!("request at most {count_max}")),
    })
}
