//! What a deletion takes with it, and what a merge patch makes of fields.

use keyloom_model::OnDelete;
use keyloom_value::{Item, Value};

use super::{Key, Kind, Naive, Reference, Thing, ids};

impl Naive {
    /// Removes things, and everything that goes with them. References that `before` did not have
    /// are none of its business. Answers how many things were affected or asked.
    pub(super) fn delete(&mut self, mut gone: Vec<Key>, before: &Naive) -> Result<usize, Kind> {
        let had_expired =
            |thing: &Thing| before.find(&thing.key).is_some_and(|thing| before.is_expired(thing));
        let mut cleared: Vec<(Key, String)> = vec![];
        loop {
            let count = gone.len() + cleared.len();
            for thing in &self.things {
                for reference in self.held(thing, &gone, before) {
                    let field = (thing.key.clone(), reference.field.clone());
                    match reference.on_delete {
                        _ if gone.contains(&thing.key) || cleared.contains(&field) => {}
                        OnDelete::Cascade => gone.push(thing.key.clone()),
                        OnDelete::Clear => cleared.push(field),
                        // Nobody sees what has expired, so it holds nothing: it goes too.
                        OnDelete::Refuse if had_expired(thing) => gone.push(thing.key.clone()),
                        OnDelete::Refuse | OnDelete::Keep => {}
                    }
                }
            }
            if gone.len() + cleared.len() == count {
                break;
            }
        }
        for thing in self.things.iter().filter(|thing| !gone.contains(&thing.key)) {
            let mut held = self.held(thing, &gone, before);
            held.retain(|reference| reference.on_delete == OnDelete::Refuse);
            if !held.is_empty() {
                return Err(Kind::InUse);
            }
        }
        let asked = self.things.iter().filter(|thing| !self.held(thing, &gone, before).is_empty());
        let asked = asked.count() + gone.len();
        self.things.retain(|thing| !gone.contains(&thing.key));
        for (key, field) in cleared {
            if let Some(thing) = self.find_mut(&key) {
                thing.fields.remove(&field);
                thing.version = None;
            }
        }
        Ok(asked)
    }

    /// How a thing refers to what is gone, with references that it had before.
    fn held(&self, thing: &Thing, gone: &[Key], before: &Naive) -> Vec<Reference> {
        let mut references = self.references(thing);
        references.retain(|reference| {
            let old = before.find(&thing.key).map(|old| ids(&old.fields, &reference.field));
            let is_old = old.is_some_and(|old| old.contains(&reference.target.id));
            let is_kept = reference.on_delete == OnDelete::Keep;
            is_old && !is_kept && gone.contains(&reference.target)
        });
        references
    }
}

/// RFC 7396.
pub(super) fn merged(before: &Item, patch: &Item) -> Item {
    let mut after = before.clone();
    for (name, change) in patch {
        match change {
            Value::Null => drop(after.remove(name.as_str())),
            Value::M(patch) => {
                let inner = match after.get(name.as_str()) {
                    Some(Value::M(inner)) => inner.clone(),
                    _ => Item::new(),
                };
                after.insert(name, merged(&inner, patch));
            }
            _ => drop(after.insert(name, change.clone())),
        }
    }
    after
}
