//! Random requests for the current state of a world: mostly valid, sometimes not.

use keyloom_model::{EntityId, FieldType, IdSource, Tenancy};
use keyloom_testkit::Random;
use keyloom_testkit::model::{document, given_id, patch};
use keyloom_value::{Item, Value};

use super::{Action, Naive, Request, Thing};

/// Generates requests.
pub(crate) struct Draw<'n> {
    pub(crate) naive: &'n Naive,
    pub(crate) random: &'n mut Random,
}

impl Draw<'_> {
    /// A tenant and a transaction of one to four changes, if there is anything to change.
    pub(crate) fn transaction(&mut self) -> Option<(Option<Value>, Vec<Request>)> {
        let kinds: Vec<String> = self.naive.model.entities().map(|(_, e)| e.name.clone()).collect();
        let kind = self.random.pick(&kinds).clone();
        let tenant = self.tenant(&kind);
        let tenant = tenant.as_ref();
        let requests = match self.random.below(10) {
            0 => self.swap(&kind, tenant),
            1 => self.with_referrers(&kind, tenant),
            2 => {
                let count = 2 + self.random.index(3);
                let mut requests = vec![];
                for _ in 0..count {
                    let kind = self.random.pick(&kinds).clone();
                    let is_possible = self.naive.is_owned(&kind) == tenant.is_some();
                    if is_possible || self.random.chance(1, 20) {
                        requests.extend(self.request(&kind, tenant));
                    }
                }
                requests
            }
            _ => self.request(&kind, tenant).into_iter().collect(),
        };
        (!requests.is_empty()).then(|| (tenant.cloned(), requests))
    }

    /// A tenant of a kind: one of a few, sometimes none or one of another type.
    pub(crate) fn tenant(&mut self, kind: &str) -> Option<Value> {
        if !self.naive.is_owned(kind) || self.random.chance(1, 40) {
            return self.random.chance(1, 30).then(|| Value::from("a"));
        }
        let field = self.naive.tenants_field(kind)?;
        let things = self.naive.things.iter();
        let mut known: Vec<Value> = vec![];
        for tenant in things.filter_map(|thing| thing.key.tenant.clone()) {
            let fits = field.check(&tenant).is_ok() || self.random.chance(1, 100);
            if fits && !known.contains(&tenant) {
                known.push(tenant);
            }
        }
        if !known.is_empty() && (known.len() > 2 || self.random.chance(3, 4)) {
            return Some(self.random.pick(&known).clone());
        }
        match field.of.clone() {
            FieldType::Ref(target, _) => {
                let ids = self.ids(target, None);
                Some(Value::from(self.random.pick(&ids).as_str()))
            }
            _ => {
                let owner = self.tenant_owner(kind);
                let ids = |_| vec!["nobody".to_owned()];
                let some = document((&self.naive.model, owner), &ids, self.random)?;
                let Tenancy::Own(field) = self.naive.model.entity(owner).tenancy else {
                    return None;
                };
                some.get(&self.naive.model.entity(owner).field(field).name).cloned()
            }
        }
    }

    fn tenant_owner(&self, kind: &str) -> EntityId {
        match self.naive.entity(kind).tenancy {
            Tenancy::Inherited(ancestor) => ancestor,
            Tenancy::Own(_) | Tenancy::Shared => self.naive.entity_id(kind),
        }
    }

    fn request(&mut self, kind: &str, tenant: Option<&Value>) -> Option<Request> {
        let id = self.some_id(kind, tenant);
        let of = |id, action| Request { kind: kind.to_owned(), id, action, expected: None };
        let mut request = match self.random.below(12) {
            0..=4 => return Some(of(None, Action::Create(self.document(kind, tenant, true)?))),
            5..=8 => of(Some(id), Action::Update(self.patch(kind, tenant))),
            9 => of(Some(id), Action::Put(self.document(kind, tenant, false)?)),
            _ => of(Some(id), Action::Delete),
        };
        if self.random.chance(1, 5) {
            let things = self.naive.things.iter();
            let mut own = things.filter(|thing| Some(&thing.key.id) == request.id.as_ref());
            request.expected = match self.random.chance(3, 4) {
                true => own.next().and_then(|thing| thing.version.clone()),
                false => Some("another".to_owned()),
            };
        }
        Some(request)
    }

    /// Two entities swap their unique values.
    fn swap(&mut self, kind: &str, tenant: Option<&Value>) -> Vec<Request> {
        let tenant = tenant.filter(|_| self.naive.is_owned(kind));
        let things: Vec<&Thing> = self.naive.seen(kind, tenant).collect();
        let uniques = &self.naive.entity(kind).uniques;
        let chosen = self.random.some_of(&things, 3);
        if chosen.len() < 2 || uniques.is_empty() {
            return vec![];
        }
        let names = self.naive.unique_fields(kind, self.random.pick(uniques));
        let patch = |from: &Thing| {
            let value = |name: &String| {
                let value = from.fields.get(name).cloned().unwrap_or(Value::Null);
                (name.as_str().into(), value)
            };
            names.iter().map(value).collect::<Item>()
        };
        let others = chosen.iter().cycle().skip(1);
        let request = |(thing, other): (&&Thing, &&Thing)| Request {
            kind: kind.to_owned(),
            id: Some(thing.key.id.clone()),
            action: Action::Update(patch(other)),
            expected: None,
        };
        chosen.iter().zip(others).map(request).collect()
    }

    /// Deletes an entity and changes some of those that refer to it.
    fn with_referrers(&mut self, kind: &str, tenant: Option<&Value>) -> Vec<Request> {
        let owned = tenant.filter(|_| self.naive.is_owned(kind));
        let things: Vec<&Thing> = self.naive.seen(kind, owned).collect();
        if things.is_empty() {
            return vec![];
        }
        let target = *self.random.pick(&things);
        let refers = |thing: &&Thing| {
            self.naive.references(thing).iter().any(|reference| reference.target == target.key)
        };
        let referrers: Vec<&Thing> = self.naive.things.iter().filter(refers).collect();
        let of = |thing: &Thing, action| Request {
            kind: thing.key.kind.clone(),
            id: Some(thing.key.id.clone()),
            action,
            expected: None,
        };
        let mut requests = vec![of(target, Action::Delete)];
        for thing in self.random.some_of(&referrers, 3) {
            if thing.key.tenant.as_ref() != tenant && !self.random.chance(1, 10) {
                continue;
            }
            let action = match self.random.chance(1, 2) {
                true => Action::Delete,
                false => Action::Update(self.patch(&thing.key.kind, tenant)),
            };
            requests.push(of(thing, action));
        }
        self.random.shuffle(&mut requests);
        requests
    }

    /// An id that probably exists.
    fn some_id(&mut self, kind: &str, tenant: Option<&Value>) -> String {
        let ids = self.ids(self.naive.entity_id(kind), tenant);
        self.random.pick(&ids).clone()
    }

    /// Ids of a kind that a tenant sees; sometimes of other tenants, of expired or missing
    /// entities.
    fn ids(&mut self, entity: EntityId, tenant: Option<&Value>) -> Vec<String> {
        let kind = &self.naive.model.entity(entity).name;
        let tenant = tenant.filter(|_| self.naive.is_owned(kind));
        let mut ids: Vec<String> =
            self.naive.seen(kind, tenant).map(|thing| thing.key.id.clone()).collect();
        if ids.is_empty() || self.random.chance(1, 12) {
            let all = self.naive.things.iter().filter(|thing| thing.key.kind == *kind);
            ids.extend(all.map(|thing| thing.key.id.clone()));
            ids.push("nobody".to_owned());
        }
        ids
    }

    pub(crate) fn document(
        &mut self,
        kind: &str,
        tenant: Option<&Value>,
        is_new: bool,
    ) -> Option<Item> {
        let entity = self.naive.entity_id(kind);
        let declared = self.naive.model.entity(entity);
        let ids = self.all_ids(tenant);
        let mut item =
            document((&self.naive.model, entity), &|of| ids[of.index()].clone(), self.random)?;
        for field in &declared.fields {
            let is_left_out = field.default.is_some() && self.random.chance(1, 3);
            if is_left_out {
                item.remove(&field.name);
            } else if !item.contains(&field.name) && self.random.chance(1, 10) && field.name != "id"
            {
                item.insert(field.name.as_str(), Value::Null);
            }
        }
        self.set_expiry(kind, &mut item);
        if let Tenancy::Own(field) = declared.tenancy {
            let name = &declared.field(field).name;
            match (self.random.below(12), tenant) {
                (0, _) => {}
                (1..=4, Some(tenant)) => drop(item.insert(name.as_str(), tenant.clone())),
                _ => drop(item.remove(name)),
            }
        }
        if is_new && declared.id_source == IdSource::Given && !self.random.chance(1, 30) {
            item.insert("id", given_id(self.random));
        }
        Some(item)
    }

    fn patch(&mut self, kind: &str, tenant: Option<&Value>) -> Item {
        let entity = self.naive.entity_id(kind);
        let ids = self.all_ids(tenant);
        let drawn = patch((&self.naive.model, entity), &|of| ids[of.index()].clone(), self.random);
        let values = drawn.into_iter().map(|(name, value)| (name, value.unwrap_or(Value::Null)));
        let mut item: Item = values.collect();
        self.set_expiry(kind, &mut item);
        let declared = self.naive.entity(kind);
        if let Tenancy::Own(field) = declared.tenancy
            && self.random.chance(3, 4)
        {
            item.remove(&declared.field(field).name);
        }
        item
    }

    /// Moves the time of expiry into the near future.
    fn set_expiry(&mut self, kind: &str, item: &mut Item) {
        let entity = self.naive.entity(kind);
        let Some(field) = entity.expires else { return };
        let name = &entity.field(field).name;
        let is_time = matches!(item.get(name), Some(Value::N(_)));
        if is_time && self.random.chance(7, 8) {
            let later = *self.random.pick(&[1, 2, 20, 20, 100, 1000]);
            item.insert(name.as_str(), self.naive.now_ms + later);
        }
    }

    /// Ids of every kind.
    fn all_ids(&mut self, tenant: Option<&Value>) -> Vec<Vec<String>> {
        let entities: Vec<EntityId> = self.naive.model.entities().map(|(id, _)| id).collect();
        entities.into_iter().map(|entity| self.ids(entity, tenant)).collect()
    }
}
