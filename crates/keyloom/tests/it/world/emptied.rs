//! Deleted entities are not found by any query.

use keyloom_testkit::Random;
use keyloom_value::Value;
use pollster::block_on;

use super::Naive;
use super::counts::read_board;
use super::lists::read_all;
use super::play::World;

impl World {
    /// Checks ids, unique values, lists, counts and boards of deleted entities.
    pub(crate) fn check_emptied(&self, before: &Naive, random: &mut Random) {
        for thing in before.things.iter().filter(|thing| self.naive.find(&thing.key).is_none()) {
            let (kind, tenant) = (&thing.key.kind, thing.key.tenant.as_ref());
            let db = self.db(tenant);
            let found = block_on(db.get(kind, &thing.key.id)).expect("it can be read");
            assert!(found.is_none(), "it is gone: {thing:?}");
            let found = block_on(db.with_children(kind, &thing.key.id, None, 10));
            assert!(found.expect("it can be read").is_none(), "it is gone: {thing:?}");
            for (_, unique) in before.entity(kind).uniques() {
                let value = before.unique_value(thing, unique);
                let is_given = |other: &super::Thing| {
                    value.is_some() && self.naive.unique_value(other, unique) == value
                };
                if value.is_none() || self.naive.seen(kind, tenant).any(is_given) {
                    continue;
                }
                let fields = unique.within.iter().chain(&unique.fields);
                let values = fields.map(|field| before.value(thing, *field).expect("it has one"));
                let names = before.unique_fields(kind, unique);
                let asked: Vec<(&str, Value)> =
                    names.iter().map(String::as_str).zip(values).collect();
                let found = block_on(db.find(kind, &asked)).expect("it can be found");
                assert!(found.is_none(), "it is gone: {thing:?}");
            }
        }
        for (_, entity) in before.model.entities() {
            for tenant in self.tenants_of(&entity.name) {
                self.check_empty_parts(before, (entity, tenant.as_ref()), random);
            }
        }
    }

    fn check_empty_parts(
        &self,
        before: &Naive,
        (entity, tenant): (&keyloom_model::Entity, Option<&Value>),
        random: &mut Random,
    ) {
        let name = |field: &keyloom_model::FieldId| entity.field(*field).name.as_str();
        for list in &entity.lists {
            let now = self.naive.listed(&entity.name, list, tenant);
            let now: Vec<_> = now.iter().map(|one| self.naive.values(one, &list.by)).collect();
            for thing in before.listed(&entity.name, list, tenant) {
                let by = before.values(thing, &list.by);
                if !now.contains(&by) {
                    let mut query = self.db(tenant).list(&entity.name, &list.name);
                    for (field, value) in list.by.iter().zip(by) {
                        query = query.by(name(field), value);
                    }
                    assert_eq!(read_all(&query, random), [], "{query:?}");
                }
            }
        }
        let gone = |filter: &[keyloom_model::Test], by: &[keyloom_model::FieldId]| {
            let now = self.naive.parts(entity, tenant, (filter, by));
            let before = before.parts(entity, tenant, (filter, by));
            let all = before.into_iter().map(|(by, _)| by);
            let gone = all.filter(|by| !now.iter().any(|(other, _)| other == by));
            gone.collect::<Vec<Vec<Value>>>()
        };
        for count in &entity.counts {
            for by in gone(&count.filter, &count.by) {
                let mut query = self.db(tenant).count(&entity.name, &count.name);
                for (field, value) in count.by.iter().zip(by) {
                    query = query.by(name(field), value);
                }
                assert_eq!(block_on(query.total()).expect("a count is read"), 0, "{query:?}");
            }
        }
        for board in &entity.boards {
            for by in gone(&board.filter, &board.by) {
                let mut query = self.db(tenant).board(&board.name);
                for (field, value) in board.by.iter().zip(by) {
                    query = query.by(name(field), value);
                }
                assert_eq!(read_board(&query, random), [], "{query:?}");
            }
        }
    }
}
