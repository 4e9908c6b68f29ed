//! Parses `fields`: text → the fields of each entity of a tree that are shown.
//!
//! ```text
//! fields = name { "," name }
//! name   = { step "." } ( a field of the entity | "id" | "version" )
//! step   = a step of `with`
//! ```

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::{Model, Related};

use super::with::{With, check_count};
use crate::error::Error;
use crate::unknown::unknown;

/// The maximum number of names: as many as an entity can have fields.
const NAMES_MAX: usize = 200;
/// Members that every entity is shown with.
const ALWAYS: [&str; 2] = ["id", "version"];
/// How much of an unknown name an error shows.
const SHOWN_CHARS: usize = 60;

/// Which fields of an entity and of the entities that `with` adds to it are shown, made by
/// [`Db::fields`](crate::Db::fields). `id` and `version` always are.
///
/// [`Db::fields`](crate::Db::fields) has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Those of the entity itself; none if it is shown whole.
    names: Option<BTreeSet<String>>,
    /// Those of related entities, by the steps that lead to them.
    steps: BTreeMap<String, Fields>,
}

impl Fields {
    /// Everything.
    pub(super) const WHOLE: &'static Fields = &Fields { names: None, steps: BTreeMap::new() };

    /// Parses the names of fields of a tree's entities.
    pub(super) fn parse(model: &Model, with: &With, text: &str) -> Result<Fields, Error> {
        if text.is_empty() {
            let help = "name at least one field, or `id`".to_owned();
            return Err(Error::Unknown { what: "`fields` is empty".to_owned(), help: Some(help) });
        }
        check_count("`fields`", "names", (text.split(',').count(), NAMES_MAX))?;
        let mut fields = Fields::default();
        for path in text.split(',') {
            fields.add(model, with, path)?;
        }
        Ok(fields)
    }

    fn add(&mut self, model: &Model, with: &With, path: &str) -> Result<(), Error> {
        let (mut place, mut with, mut name) = (self, with, path);
        while let Some((step, rest)) = with.first_step(name) {
            let Some(next) = with.steps.get(step) else { break };
            if rest.is_empty() || matches!(next.related, Related::Count(..)) {
                break;
            }
            place = place.steps.entry(step.to_owned()).or_default();
            (with, name) = (&next.with, rest);
        }
        let entity = model.entity(with.entity);
        if entity.find_field(name).is_none() && !ALWAYS.contains(&name) {
            let steps: Vec<String> = with.steps.keys().map(|step| format!("{step}.…")).collect();
            let names = entity.fields.iter().map(|field| field.name.as_str());
            let names = names.chain(ALWAYS).chain(steps.iter().map(String::as_str));
            let name: String = name.chars().take(SHOWN_CHARS).collect();
            let what = match name.split_once('.') {
                Some((step, _)) => format!("`{step}` in `fields` is not in `with`"),
                None => format!("`{}` has no field `{name}`", entity.name),
            };
            return Err(unknown(what, &name, names));
        }
        place.names.get_or_insert_default().insert(name.to_owned());
        Ok(())
    }

    /// Whether a field of the entity itself is shown.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The fields of the entities that a step leads to.
    pub(super) fn after(&self, step: &str) -> &Fields {
        self.steps.get(step).unwrap_or(Fields::WHOLE)
    }
}
