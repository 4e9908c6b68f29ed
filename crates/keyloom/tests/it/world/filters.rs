//! Every filter by a facet, a tag, a range, presence or words finds what a full scan finds, in pages and as a total; every
//! tree has the targets of its entity's references, and its children.

use std::collections::BTreeMap;

use keyloom::{Filter, ListQuery};
use keyloom_model::{Entity, FieldId, FieldType, List};
use keyloom_testkit::Random;
use keyloom_value::Value;
use pollster::block_on;

use super::Thing;
use super::building::What;
use super::lists::read_all;
use super::play::World;

/// Who passes a filter.
type Passes<'w> = Box<dyn Fn(&Thing) -> bool + 'w>;

/// The words of the texts that random documents have.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("ä", "a").replace("a\u{308}", "a").replace("ß", "ss");
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

impl World {
    /// Checks whole lists, and lists filtered by one existing value of each facet, tag and filter field.
    pub(crate) fn check_filters(&self, random: &mut Random) {
        let building = &self.naive.building;
        for (_, entity) in self.naive.model.entities().filter(|(_, e)| e.has_ordinals()) {
            for tenant in self.tenants_of(&entity.name) {
                let is_built = |list: &&List| building.has_built(What::List, entity, &list.name);
                for list in entity.lists.iter().filter(is_built) {
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
        let filters_all = !entity.filters.is_empty()
            || !entity.searches.is_empty()
            || entity.tag_fields().next().is_some();
        if !list.facets.is_empty() || filters_all {
            questions.push((query.clone(), listed.to_vec()));
        }
        let building = &self.naive.building;
        for field in list.facets.iter().filter(|f| building.has_built_facet(entity, (list, **f))) {
            let Some(value) = self.naive.value(random.pick::<&Thing>(listed), *field) else {
                continue;
            };
            let has = |thing: &&Thing| self.naive.value(thing, *field).as_ref() == Some(&value);
            let expected = listed.iter().copied().filter(has).collect();
            let name = &entity.field(*field).name;
            questions.push((query.clone().facet(name, [value.clone()]), expected));
        }
        for field in entity.filters.iter().filter(|f| building.has_built_filter(entity, **f)) {
            let (filter, passes) = self.some_filter((entity, *field), listed, random);
            let expected = listed.iter().copied().filter(|thing| passes(thing)).collect();
            questions.push((query.clone().filter(filter), expected));
        }
        for search in entity.searches.iter().filter(|s| building.has_built_search(entity, s)) {
            let words = |thing: &Thing| {
                let texts = search.fields.iter().filter_map(|id| self.naive.value(thing, *id));
                texts.flat_map(|text| words(text.as_s().unwrap_or_default())).collect::<Vec<_>>()
            };
            let mut wanted = words(random.pick::<&Thing>(listed));
            // Their first letters.
            if let Some(last) = wanted.last_mut().filter(|_| random.chance(1, 2)) {
                *last = last.chars().take(1).collect();
            }
            let passes = |thing: &&Thing| {
                let has = words(thing);
                wanted.split_last().is_none_or(|(last, others)| {
                    others.iter().all(|word| has.contains(word))
                        && has.iter().any(|word| word.starts_with(last))
                })
            };
            let expected = listed.iter().copied().filter(passes).collect();
            let filter = Filter::search(&search.name, wanted.join(" "));
            questions.push((query.clone().filter(filter), expected));
        }
        // With several tag fields, a filter names the field.
        let is_one = entity.tag_fields().count() == 1 && building.has_built_tags(entity);
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
        for facet in list.facets.iter().filter(|f| building.has_built_facet(entity, (list, **f))) {
            self.check_facet_values(&query, (&entity.field(*facet).name, *facet), listed);
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

    /// Checks how many entities of a list have each value of a facet. Expired entities count until they are deleted.
    fn check_facet_values(
        &self,
        query: &ListQuery,
        (name, facet): (&str, FieldId),
        listed: &[&Thing],
    ) {
        if self.naive.things.iter().any(|thing| self.naive.is_expired(thing)) {
            return;
        }
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for value in listed.iter().filter_map(|thing| self.naive.value(thing, facet)) {
            *expected.entry(value.to_string()).or_default() += 1;
        }
        let values = block_on(query.clone().limit(1000).facet_values(name)).expect("a facet");
        let found = values.counts.iter().map(|found| (found.value.to_string(), found.count));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected, "`{name}` in {query:?}");
    }

    /// A range that ends at a value that something has, or a test of presence; and who passes.
    fn some_filter<'w>(
        &'w self,
        (entity, field): (&Entity, FieldId),
        listed: &[&Thing],
        random: &mut Random,
    ) -> (Filter, Passes<'w>) {
        let name = &entity.field(field).name;
        let value = self.naive.value(random.pick::<&Thing>(listed), field);
        let number = value.as_ref().and_then(Value::as_n).copied();
        let number_of = move |thing: &Thing| self.naive.value(thing, field)?.as_n().copied();
        let Some(number) = number.filter(|_| entity.field(field).has_slices()) else {
            let is_present = move |thing: &Thing| self.naive.value(thing, field).is_some();
            return match random.chance(1, 2) {
                true => (Filter::present(name), Box::new(is_present)),
                false => (Filter::present(name).not(), Box::new(move |thing| !is_present(thing))),
            };
        };
        let bound = Value::N(number);
        match random.below(3) {
            0 => {
                let passes = move |thing: &Thing| number_of(thing).is_some_and(|n| n < number);
                (Filter::range(name, ..bound), Box::new(passes))
            }
            1 => {
                let passes = move |thing: &Thing| number_of(thing).is_some_and(|n| n >= number);
                (Filter::range(name, bound..), Box::new(passes))
            }
            _ => {
                let passes = move |thing: &Thing| number_of(thing) == Some(number);
                (Filter::range(name, bound.clone()..=bound), Box::new(passes))
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
