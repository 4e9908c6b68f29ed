//! The cascade of a deletion, and the effect of a merge patch.

use keyloom_model::OnDelete;
use keyloom_value::{Item, Value};

use super::{Key, Kind, Naive, Reference, Thing, ids};

impl Naive {
    /// Removes entities with their cascade. References that `before` did not have are ignored.
    /// Returns how many entities were affected or checked.
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
                        // An expired entity is invisible, so it cannot refuse the deletion: it is
                        // deleted too.
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

    /// The references of an entity to removed ones that it already had before.
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
