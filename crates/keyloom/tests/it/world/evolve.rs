//! A world under another model.

use keyloom::Error;
use keyloom_model::{DefaultValue, Entity, FieldType, Layout, Literal, Model, OnDelete};
use keyloom_testkit::Random;
use keyloom_value::{Item, Number, Value};
use pollster::block_on;

use super::naive::Key;
use super::play::{World, now_ms, open};
use super::{Naive, Thing, rows};

impl World {
    /// Opens the same data under another model.
    pub(crate) fn evolve(&mut self, text: &str) -> Result<(), Error> {
        self.db = block_on(open(text, self.store.clone(), &self.clock))?;
        (self.settle)();
        let model = keyloom_model::check(text).expect("a model");
        self.naive.evolve(model.clone(), now_ms(&self.clock));
        if !self.db.is_backfill_pending() {
            self.naive.backfilled();
        }
        let model = model.following(self.layout.model());
        let layout = Layout::new(model, self.layout.revision(), &self.layout.slots());
        self.layout = layout.keeping(self.layout.matching());
        Ok(())
    }

    /// Asserts that another model is refused and nothing changes.
    pub(crate) fn is_refused(&self, text: &str) -> Error {
        let before = rows::scan(&*self.store);
        let opened = block_on(open(text, self.store.clone(), &self.clock));
        let error = opened.expect_err("the model is refused");
        assert!(before == rows::scan(&*self.store), "something is touched");
        error
    }

    /// Checks what can be read while a backfill is pending: all but what it builds.
    pub(crate) fn check_pending(&mut self, random: &mut Random) {
        self.compare_things();
        self.check_gets();
        self.check_verify();
        self.check_queries(random);
    }

    /// Completes the backfill. Deletes entities that violate a new unique.
    pub(crate) fn backfill(&mut self) {
        for _ in 0..100 {
            match block_on(self.db.backfill(|_| {})) {
                Ok(()) => {
                    self.naive.backfilled();
                    self.compare_things();
                    return;
                }
                Err(Error::UniqueViolation { .. }) => self.settle_rivals(),
                Err(error) => panic!("the backfill fails: {error}"),
            }
        }
        panic!("the backfill comes to no end");
    }

    /// Deletes one of the entities that share a value of a new unique. If all of them have expired
    /// and are referenced, only their referrers can be deleted.
    fn settle_rivals(&mut self) {
        for thing in self.naive.with_holders(self.naive.rivalry()) {
            let deleted = self.naive.clone().expire(&thing);
            if deleted.is_ok() {
                let db = self.db(thing.tenant.as_ref());
                match block_on(db.delete(&thing.kind, &thing.id)) {
                    Ok(()) => self.naive.expire(&thing).expect("it goes"),
                    // It has expired and does not conflict.
                    Err(Error::NotFound { .. }) => continue,
                    Err(error) => panic!("{thing:?} cannot be deleted: {error}"),
                }
                self.compare_things();
                return;
            }
        }
        panic!("nothing collides that could go: {:?}", self.naive.rivalry());
    }
}

impl Naive {
    /// Switches to another model: existing entities get the defaults of new fields.
    pub(crate) fn evolve(&mut self, model: Model, now_ms: i64) {
        let model = model.following(&self.model);
        let before = std::mem::replace(&mut self.model, model);
        let evolution = keyloom_model::evolve(&before, &self.model).expect("it is allowed");
        for (entity, unique) in evolution.pending_uniques() {
            let entity = self.model.entity(entity);
            self.pending.insert(self.unique_tag(&entity.name, entity.unique(unique)));
        }
        for (_, entity) in self.model.clone().entities() {
            let Some(old) = before.find_stored(&entity.stored) else { continue };
            let old = before.entity(old);
            self.rename(&old.name, &entity.name);
            for thing in self.things.iter_mut().filter(|thing| thing.key.kind == entity.name) {
                thing.fields = renamed(&thing.fields, old, entity);
            }
            for (id, field) in entity.fields() {
                let Some(default) = &field.default else { continue };
                // One whose values are converted is not new, although its name in rows is.
                if entity.counterpart(id, old).is_some() {
                    continue;
                }
                for thing in self.things.iter_mut().filter(|thing| thing.key.kind == entity.name) {
                    thing.fields.insert(field.name.as_str(), default_value(default, now_ms));
                }
            }
        }
        self.building.add(before, (&self.model, &evolution));
    }

    fn rename(&mut self, old: &str, new: &str) {
        for thing in self.things.iter_mut().filter(|thing| thing.key.kind == old) {
            new.clone_into(&mut thing.key.kind);
        }
    }

    /// Entities that share a value of a unique with another one.
    pub(crate) fn rivalry(&self) -> Vec<Key> {
        let collides = |thing: &&Thing| {
            let uniques = &self.entity(&thing.key.kind).uniques;
            uniques.iter().any(|unique| !self.rivals(thing, unique).is_empty())
        };
        self.things.iter().filter(collides).map(|thing| thing.key.clone()).collect()
    }

    /// Whether two visible entities share a value of a unique. Expired entities do not conflict
    /// when a model changes.
    pub(crate) fn has_visible_rivals(&self) -> bool {
        let is_visible = |thing: &Thing| !self.is_expired(thing);
        self.things.iter().filter(|thing| is_visible(thing)).any(|thing| {
            let uniques = &self.entity(&thing.key.kind).uniques;
            let rivals = uniques.iter().flat_map(|unique| self.rivals(thing, unique));
            rivals.into_iter().any(is_visible)
        })
    }

    /// Entities, followed by those that may prevent the deletion of one before them.
    fn with_holders(&self, mut keys: Vec<Key>) -> Vec<Key> {
        let mut next = 0;
        while let Some(held) = keys.get(next).cloned() {
            next += 1;
            let holds = |thing: &&Thing| {
                let references = self.references(thing);
                let mut held_by = references.iter().filter(|other| other.target == held);
                held_by.any(|reference| reference.on_delete != OnDelete::Keep)
            };
            for holder in self.things.iter().filter(holds) {
                if !keys.contains(&holder.key) {
                    keys.push(holder.key.clone());
                }
            }
        }
        keys
    }
}

/// The fields under their new names, without those that were removed.
fn renamed(fields: &Item, old: &Entity, new: &Entity) -> Item {
    let mut renamed = Item::new();
    for (name, value) in fields.iter() {
        let before = old.field(old.find_field(name.as_str()).expect("a field of the old model"));
        let same = new.find_stored(&before.stored);
        if let Some(now) = same {
            renamed.insert(new.field(now).name.as_str(), value.clone());
        } else if let Some(now) = new.find_field(name.as_str()) {
            // A value that cannot be converted stays as it is, which is wrong for its type.
            let shown = old.to_external(fields);
            let converted = match (&before.of, shown.get(name.as_str())) {
                (FieldType::Time, Some(text)) => Some(text.clone()),
                _ => converted(&before.of, &new.field(now).of, value),
            };
            renamed.insert(name.clone(), converted.unwrap_or_else(|| value.clone()));
        }
    }
    renamed
}

/// A value of a field whose type has changed, if it can be written in its new type and back.
fn converted(old: &FieldType, new: &FieldType, value: &Value) -> Option<Value> {
    match (value, new) {
        (Value::S(text), FieldType::Bool) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (Value::S(text), FieldType::Int(_)) => {
            let number: i64 = text.parse().ok()?;
            (number.to_string() == *text).then(|| Value::from(number))
        }
        (Value::S(text), FieldType::Number(_)) => {
            let number: Number = text.parse().ok()?;
            (number.to_string() == *text).then_some(Value::N(number))
        }
        // Random texts are never times.
        (Value::S(_), FieldType::Time) => None,
        (Value::Bool(truth), FieldType::Text(_)) => Some(Value::S(truth.to_string())),
        (Value::N(number), FieldType::Text(_)) => Some(Value::S(number.to_string())),
        _ => panic!("{old:?} does not become {new:?}"),
    }
}

fn default_value(default: &DefaultValue, now_ms: i64) -> Value {
    match default {
        DefaultValue::Now => Value::from(now_ms),
        DefaultValue::Literal(literal) => match literal {
            Literal::Text(text) => Value::from(text.as_str()),
            Literal::Int(number) | Literal::Time(number) => Value::from(*number),
            Literal::Number(number) => Value::from(*number),
            Literal::Bool(truth) => Value::from(*truth),
            Literal::EmptyList => Value::L(vec![]),
            Literal::EmptyMap => Value::M(Item::new()),
            literal => panic!("no default is {literal:?}"),
        },
    }
}
