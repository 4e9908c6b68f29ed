//! The result of a transaction: the state after it, or why it fails.

use std::collections::BTreeSet;

use keyloom_model::{IdSource, Tenancy, check_id};
use keyloom_value::{Item, Value};

use super::rules::merged;
use super::{Key, Kind, Naive, Thing, ids};
use crate::world::{Action, Request};

/// The result of a transaction.
pub(crate) struct Answer {
    pub(crate) after: Naive,
    /// The entity of each change.
    pub(crate) keys: Vec<Key>,
    /// The approximate number of affected entities.
    pub(crate) cast: usize,
    /// Whether it conflicts with a value that a new unique may not have indexed yet.
    pub(crate) may_be_taken: bool,
}

/// A change of one entity, with its state before and after.
struct Turn {
    key: Key,
    after: Option<Item>,
}

/// The outcome of applying turns.
enum Coming {
    Done(Answer),
    /// An expired entity conflicted and was deleted: start over.
    Again(Naive),
}

impl Naive {
    /// The result of a transaction, or all reasons to refuse it, of which the database must return
    /// one. `made` has the ids that were generated for new entities.
    pub(crate) fn transact(
        &self,
        tenant: Option<&Value>,
        requests: &[Request],
        made: &[Option<String>],
    ) -> Result<Answer, BTreeSet<Kind>> {
        let keys = self.keys(tenant, requests, made).map_err(|kind| BTreeSet::from([kind]))?;
        let mut before = self.clone();
        let mut turns = vec![];
        let mut index = 0;
        while let Some((request, key)) = requests.get(index).zip(keys.get(index)) {
            let is_new = matches!(request.action, Action::Create(_) | Action::Put(_));
            let there = before.find(key).cloned();
            let ghost = there.filter(|thing| is_new && before.is_expired(thing));
            if ghost.is_some() {
                // An expired entity whose deletion is refused still has its id.
                before.expire(key).map_err(|_| BTreeSet::from([Kind::Exists]))?;
                (turns, index) = (vec![], 0);
                continue;
            }
            let turn = before.turn(request, key).map_err(|kind| BTreeSet::from([kind]))?;
            turns.extend(turn);
            index += 1;
        }
        match before.come_to(keys, &turns)? {
            Coming::Done(answer) => Ok(answer),
            Coming::Again(before) => before.transact(tenant, requests, made),
        }
    }

    fn keys(
        &self,
        tenant: Option<&Value>,
        requests: &[Request],
        made: &[Option<String>],
    ) -> Result<Vec<Key>, Kind> {
        let mut keys: Vec<Key> = vec![];
        for (index, request) in requests.iter().enumerate() {
            self.model.find(&request.kind).ok_or(Kind::Unknown)?;
            let id = match &request.action {
                Action::Create(document) => match made.get(index).cloned().flatten() {
                    Some(id) => id,
                    None => self.new_id(&request.kind, document, index)?,
                },
                Action::Put(_) => checked(request.id.clone().unwrap_or_default())?,
                Action::Update(_) | Action::Delete => request.id.clone().unwrap_or_default(),
            };
            let tenant = self.tenant_of(&request.kind, tenant)?;
            keys.push(Key { kind: request.kind.clone(), tenant, id });
        }
        let is_twice = |(index, key): (usize, &Key)| keys[..index].contains(key);
        match keys.iter().enumerate().any(is_twice) {
            true => Err(Kind::SameTwice),
            false => Ok(keys),
        }
    }

    fn new_id(&self, kind: &str, document: &Item, index: usize) -> Result<String, Kind> {
        match (self.entity(kind).id_source, document.get("id")) {
            (IdSource::Given, Some(Value::S(id))) => checked(id.clone()),
            (IdSource::Given, _) => Err(Kind::Id),
            (IdSource::Generated, None) => Ok(format!("made {index}")),
            (IdSource::Generated, Some(_)) => Err(Kind::Id),
        }
    }

    fn tenant_of(&self, kind: &str, tenant: Option<&Value>) -> Result<Option<Value>, Kind> {
        match (self.tenants_field(kind), tenant) {
            (None, _) => Ok(None),
            (Some(field), Some(tenant)) if field.check(tenant).is_ok() => Ok(Some(tenant.clone())),
            (Some(_), _) => Err(Kind::Tenant),
        }
    }

    /// The effect of a request on the current entity; `None` if nothing changes.
    fn turn(&self, request: &Request, key: &Key) -> Result<Option<Turn>, Kind> {
        let there = self.find(key).filter(|thing| !self.is_expired(thing));
        let expected = || match (there, &request.expected) {
            (None, _) => Err(Kind::NotFound),
            (Some(thing), Some(version)) if thing.version.as_ref() != Some(version) => {
                Err(Kind::VersionMismatch)
            }
            (Some(thing), _) => Ok(thing),
        };
        let (before, fields) = match &request.action {
            Action::Delete => {
                expected()?;
                return Ok(Some(Turn { key: key.clone(), after: None }));
            }
            Action::Create(document) => match there {
                Some(_) => return Err(Kind::Exists),
                None => (None, self.admit(key, document)?),
            },
            Action::Put(document) => {
                let is_given = self.entity(&key.kind).id_source == IdSource::Given;
                match there {
                    None if is_given && request.expected.is_none() => {
                        (None, self.admit(key, document)?)
                    }
                    _ => {
                        let (thing, mut fields) = (expected()?, self.admit(key, document)?);
                        if let Some(name) = self.number_field(&key.kind)
                            && let Some(number) = thing.fields.get(&name)
                            && !fields.contains(&name)
                        {
                            fields.insert(name.as_str(), number.clone());
                        }
                        (Some(thing), fields)
                    }
                }
            }
            Action::Update(patch) => {
                let (thing, entity) = (expected()?, self.entity(&key.kind));
                // Its field may have been renamed or removed since the request was drawn.
                if patch.iter().any(|(name, _)| entity.find_field(name.as_str()).is_none()) {
                    return Err(Kind::Fields);
                }
                let fields = merged(&thing.fields, patch);
                let checked = entity.check_fields(&fields);
                checked.map_err(|_| Kind::Fields)?;
                (Some(thing), fields)
            }
        };
        if before.is_some_and(|before| before.fields == fields) {
            return Ok(None);
        }
        match self.tenant_field(&key.kind) {
            Some(name) if fields.get(&name) != key.tenant.as_ref() => Err(Kind::Tenant),
            _ => Ok(Some(Turn { key: key.clone(), after: Some(fields) })),
        }
    }

    fn admit(&self, key: &Key, document: &Item) -> Result<Item, Kind> {
        let mut document = document.clone();
        document.remove("id");
        if let (Some(name), Some(tenant)) = (self.tenant_field(&key.kind), &key.tenant) {
            if !document.contains(&name) {
                document.insert(name.as_str(), tenant.clone());
            }
            if document.get(&name) != Some(tenant) {
                return Err(Kind::Tenant);
            }
        }
        self.entity(&key.kind).admit(&document, self.now_ms).map_err(|_| Kind::Fields)
    }

    fn tenant_field(&self, kind: &str) -> Option<String> {
        let entity = self.entity(kind);
        match entity.tenancy {
            Tenancy::Own(field) => Some(entity.field(field).name.clone()),
            Tenancy::Shared | Tenancy::Inherited(_) => None,
        }
    }

    /// Applies all turns at once, and checks the result.
    fn come_to(&self, keys: Vec<Key>, turns: &[Turn]) -> Result<Coming, BTreeSet<Kind>> {
        let mut after = self.clone();
        let mut gone = vec![];
        for turn in turns {
            match &turn.after {
                None => gone.push(turn.key.clone()),
                Some(fields) => {
                    let fields = after.numbered(&turn.key, fields.clone());
                    after.set(&turn.key, fields);
                }
            }
        }
        let mut errors = BTreeSet::new();
        let asked = after.delete(gone, self).map_err(|kind| errors.insert(kind)).unwrap_or(0);
        let changed = turns.iter().filter(|turn| turn.after.is_some());
        let changed: Vec<&Key> = changed.map(|turn| &turn.key).collect();
        if changed.iter().any(|key| after.is_lost(key, (self, turns))) {
            errors.insert(Kind::TargetGone);
        }
        let (mut ghosts, mut may_be_taken) = (vec![], false);
        for thing in changed.iter().filter_map(|key| after.find(key)) {
            for (_, unique) in after.entity(&thing.key.kind).uniques() {
                for rival in after.rivals(thing, unique) {
                    let is_ghost = after.is_expired(rival) && !changed.contains(&&rival.key);
                    match after.is_pending(&thing.key.kind, unique) {
                        true => may_be_taken = true,
                        false if is_ghost => ghosts.push(rival.key.clone()),
                        false => drop(errors.insert(Kind::Taken)),
                    }
                }
            }
        }
        let mut without = self.clone();
        for ghost in &ghosts {
            if without.find(ghost).is_some() {
                // An expired entity whose deletion is refused still has its values.
                errors.extend(without.expire(ghost).err().map(|_| Kind::Taken));
            }
        }
        if !errors.is_empty() {
            errors.extend(may_be_taken.then_some(Kind::Taken));
            return Err(errors);
        }
        if !ghosts.is_empty() {
            return Ok(Coming::Again(without));
        }
        Ok(Coming::Done(Answer { after, keys, cast: turns.len() + asked, may_be_taken }))
    }

    fn number_field(&self, kind: &str) -> Option<String> {
        let entity = self.entity(kind);
        entity.sequence.as_ref().map(|sequence| entity.field(sequence.field).name.clone())
    }

    /// The fields that an entity is about to have, with its number.
    fn numbered(&mut self, key: &Key, mut fields: Item) -> Item {
        let entity = self.entity(&key.kind);
        let Some(sequence) = &entity.sequence else { return fields };
        let name = entity.field(sequence.field).name.clone();
        let by = |fields: &Item| -> Vec<Option<Value>> {
            let values = sequence.by.iter().map(|by| &entity.field(*by).name);
            values.map(|name| fields.get(name).cloned()).collect()
        };
        let before = self.find(key).map(|thing| (thing.fields.get(&name), by(&thing.fields)));
        let (number, by) = (fields.get(&name), by(&fields));
        let is_given = number.is_some() && before.as_ref().is_none_or(|(old, _)| *old != number);
        let is_same = number.is_some() && before.is_some_and(|(_, old)| old == by);
        let given = number.and_then(Value::as_n).and_then(|number| number.to_i64());
        let tag = format!("{} {:?} {by:?}", entity.stored, key.tenant);
        let last = self.sequences.entry(tag).or_default();
        match given {
            Some(given) if is_given => *last = given.max(*last),
            _ if is_same => {}
            _ => {
                *last += 1;
                fields.insert(name.as_str(), *last);
            }
        }
        fields
    }

    fn set(&mut self, key: &Key, fields: Item) {
        match self.find_mut(key) {
            Some(thing) => (thing.fields, thing.version) = (fields, None),
            None => self.things.push(Thing { key: key.clone(), fields, version: None }),
        }
    }

    /// Whether a changed entity has a new reference to a missing one.
    fn is_lost(&self, key: &Key, (before, turns): (&Naive, &[Turn])) -> bool {
        let Some(thing) = self.find(key) else { return false };
        self.references(thing).iter().any(|reference| {
            let old = before.find(key).map(|old| ids(&old.fields, &reference.field));
            let is_old = old.is_some_and(|old| old.contains(&reference.target.id));
            let is_turned = turns.iter().any(|turn| turn.key == reference.target);
            let target = self.find(&reference.target);
            let is_there = target.is_some_and(|target| is_turned || !self.is_expired(target));
            !is_old && !is_there
        })
    }
}

fn checked(id: String) -> Result<String, Kind> {
    check_id(&id).map(|()| id).map_err(|_| Kind::Fields)
}
