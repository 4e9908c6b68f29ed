//! Every filter by a facet or a tag finds what a full scan finds, in pages and as a total; every
//! tree has the targets of its entity's references, and its children.

use keyloom_model::{Entity, FieldType, List};
use keyloom_testkit::Random;
use keyloom_value::Value;
use pollster::block_on;

use super::Thing;
use super::lists::read_all;
use super::play::World;

impl World {
    /// Checks whole lists, and lists filtered by one existing value of each facet and tag.
    pub(crate) fn check_filters(&self, random: &mut Random) {
        for (_, entity) in self.naive.model.entities().filter(|(_, e)| e.has_ordinals()) {
            for tenant in self.tenants_of(&entity.name) {
                for list in &entity.lists {
                    let listed = self.naive.listed(&entity.name, list, tenant.as_ref());
                    if listed.is_empty() {
                        continue;
                    }
                    let by = self.naive.values(random.pick::<&Thing>(&listed), &list.by);
                    let is_of = |thing: &&Thing| self.naive.values(thing, &list.by) == by;
                    let listed: Vec<&Thing> = listed.iter().copied().filter(is_of).collect();
                    self.check_filter((entity, list), tenant.as_ref(), &by, &listed, random);
                }
            }
        }
    }

    fn check_filter(
        &self,
        (entity, list): (&Entity, &List),
        tenant: Option<&Value>,
        by: &[Value],
        listed: &[&Thing],
        random: &mut Random,
    ) {
        let mut query = self.db(tenant).list(&entity.name, &list.name);
        for (field, value) in list.by.iter().zip(by) {
            query = query.by(&entity.field(*field).name, value.clone());
        }
        let mut questions = vec![];
        if !list.facets.is_empty() || entity.tag_fields().next().is_some() {
            questions.push((query.clone(), listed.to_vec()));
        }
        for field in &list.facets {
            let Some(value) = self.naive.value(random.pick::<&Thing>(listed), *field) else {
                continue;
            };
            let has = |thing: &&Thing| self.naive.value(thing, *field).as_ref() == Some(&value);
            let expected = listed.iter().copied().filter(has).collect();
            let name = &entity.field(*field).name;
            questions.push((query.clone().facet(name, [value.clone()]), expected));
        }
        // With several tag fields, a filter names the field.
        let is_one = entity.tag_fields().count() == 1;
        let tag = self.some_tag(entity, random.pick::<&Thing>(listed));
        if let Some((key, value)) = tag.filter(|_| is_one) {
            let has = |thing: &&Thing| {
                entity.tag_fields().any(|field| {
                    let tags = self.naive.value(thing, field);
                    matches!(tags, Some(Value::M(tags)) if tags.get(&key) == Some(&value))
                })
            };
            let expected = listed.iter().copied().filter(has).collect();
            let text = value.as_s().expect("a tag is a text");
            questions.push((query.clone().tag(&key, text), expected));
        }
        for (query, expected) in questions {
            let mut found: Vec<String> =
                read_all(&query, random).iter().map(|record| record.id().to_owned()).collect();
            let mut ids: Vec<String> = expected.iter().map(|thing| thing.key.id.clone()).collect();
            found.sort();
            ids.sort();
            assert_eq!(found, ids, "{query:?}");
            // Expired entities count until they are deleted.
            if !self.naive.things.iter().any(|thing| self.naive.is_expired(thing)) {
                let total = block_on(query.total()).expect("it is counted").count;
                assert_eq!(total, ids.len() as u64, "{query:?}");
            }
        }
    }

    fn some_tag(&self, entity: &Entity, thing: &Thing) -> Option<(String, Value)> {
        let mut tags = entity.tag_fields().filter_map(|field| self.naive.value(thing, field));
        tags.find_map(|tags| match tags {
            Value::M(tags) => {
                tags.iter().next().map(|(key, value)| (key.as_str().to_owned(), value.clone()))
            }
            _ => None,
        })
    }

    /// Checks that a tree includes the targets of its entity's references.
    pub(crate) fn check_trees(&self) {
        for thing in &self.naive.things {
            let entity = self.naive.entity(&thing.key.kind);
            let is_ref = |field: &&keyloom_model::Field| matches!(field.of, FieldType::Ref(..));
            for field in entity.fields.iter().filter(is_ref) {
                let db = self.db(thing.key.tenant.as_ref());
                let tree = block_on(db.tree(&thing.key.kind, &thing.key.id, &field.name, None));
                let tree = tree.expect("a tree is read");
                let references = self.naive.references(thing);
                let target = references.iter().find(|one| one.field == field.name);
                let target = target.and_then(|one| self.naive.find(&one.target));
                let target = target.filter(|target| !self.naive.is_expired(target));
                match tree {
                    None => assert!(self.naive.is_expired(thing), "it has no tree: {thing:?}"),
                    Some(mut tree) => {
                        let found = tree.refs.remove(&field.name).flatten();
                        self.compare_record(found.as_ref().map(|tree| &tree.record), target);
                    }
                }
            }
        }
    }
}
