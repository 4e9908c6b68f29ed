//! Parses `with`: text → steps of the model.
//!
//! ```text
//! with = path { "," path }
//! path = step { "." step }
//! step = a reference of the entity by its field, its children by their name, or a list or a count of
//!        those that refer to it by its name, which may contain dots (`Model::related`)
//! ```
//!
//! A path begins with the longest name that it can begin with.

use std::collections::BTreeMap;

use keyloom_model::{EntityId, Model, Related};

use crate::error::Error;
use crate::unknown::unknown;

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
    /// How it leads to related entities.
    pub(crate) related: Related,
    pub(crate) with: With,
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
            let (mut place, mut rest) = (&mut with, Some(path));
            while let Some(path) = rest {
                let step = Step::find(model, place.entity, path)?;
                rest = path[step.name.len()..].strip_prefix('.');
                if let (Related::Count(..), Some(after)) = (step.related, rest) {
                    let what = format!("`{}` is a count, and has no `{after}`", step.name);
                    let help = Some("end the path at the count".to_owned());
                    return Err(Error::Unknown { what, help });
                }
                let next =
                    || Step { related: step.related, with: With::nothing(step.related.entity()) };
                place = &mut place.steps.entry(step.name).or_insert_with(next).with;
            }
        }
        Ok(with)
    }

    /// Splits a path into the longest requested step that it begins with, and the rest.
    pub(crate) fn first_step<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        let name = longest(self.steps.keys().map(String::as_str), path)?;
        let (step, rest) = path.split_at(name.len());
        Some((step, rest.strip_prefix('.').unwrap_or_default()))
    }

    /// Returns the first requested kind of children.
    pub(crate) fn first_children(&self) -> Option<EntityId> {
        self.steps.values().find_map(|step| match step.related {
            Related::Children(kind) => Some(kind),
            Related::Reference(_) | Related::List(..) | Related::Count(..) => None,
        })
    }
}

/// A step of the model by its name.
struct FoundStep {
    name: String,
    related: Related,
}

impl Step {
    /// Finds the step that a path begins with.
    fn find(model: &Model, entity: EntityId, path: &str) -> Result<FoundStep, Error> {
        let all = model.related(entity);
        let names = || all.iter().map(|(name, _)| name.as_str());
        let name = longest(names(), path);
        match all.iter().find(|(other, _)| Some(other.as_str()) == name) {
            Some((name, related)) => Ok(FoundStep { name: name.clone(), related: *related }),
            None => {
                let name = path.split('.').next().unwrap_or_default();
                let declared = &model.entity(entity).name;
                let what = format!(
                    "`{declared}` has no reference `{name}`, and no children, list or count of this name"
                );
                Err(unknown(what, name, names()))
            }
        }
    }
}

/// The longest of these names that a path begins with.
fn longest<'n>(names: impl Iterator<Item = &'n str>, path: &str) -> Option<&'n str> {
    let begins = |name: &&str| {
        path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    names.filter(begins).max_by_key(|name| name.len())
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
