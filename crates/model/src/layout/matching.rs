//! Lists that are combined by AND, OR and NOT: which of them an entity is in, and what they are
//! called. An entity is in them by its number. What they are called is what sets are called where
//! a store has sets, and the partition of entry rows where it has none.
//!
//! ```text
//! every entity of a kind         "a", entity, [tenant]
//! everything in an ordered list  "l", entity, list, [tenant], values of `by`
//! a value of a facet             "f", entity, list, [tenant], values of `by`, field, value
//! a tag                          "t", entity, [tenant], field, key, value
//! any tag of a key               "k", entity, [tenant], field, key
//! tags of declared keys          "c", entity, [tenant], field, keys, values
//! ```
//!
//! As rows, "f", "t" and "k" have their last part in the sort key, before the number: which values
//! of a facet, values of a tag and keys there are is seen in one partition.

use keyloom_value::{Item, KeyBytes, Value};

use super::attribute::OWNER;
use super::key::{SYSTEM, bytes, own_sort, push_tenant, words};
use super::pending::PENDING_LIST;
use super::rows::{NUMBERS, by_values, check_len, equality, push_key};
use super::{Image, KeyTooLong, Layout, Reason, Row, RowKey, Slot};
use crate::model::{Entity, EntityId, FieldId, FieldType, List, ListId, TagCombination};

/// How lists that are combined are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matching {
    /// As sets of the store.
    Sets,
    /// As rows of the table, one for each member.
    Rows,
}

/// A list of entities that can be combined with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group<'g> {
    /// Every entity of the kind.
    All,
    /// Everything in the part of an ordered list that has these values of `by`.
    List(ListId, &'g [Value]),
    /// What of that part has a value of a facet.
    Facet(ListId, &'g [Value], FieldId, &'g Value),
    /// What has a tag in a field.
    Tag(FieldId, &'g str, &'g str),
    /// What has any tag of a key in a field.
    TagKey(FieldId, &'g str),
    /// What has these values of the keys of a combination.
    Combination(&'g TagCombination, &'g [&'g str]),
}

/// The beginnings of names.
const LETTERS: [&str; 7] = ["a", "l", "f", "t", "k", "c", PENDING_LIST];
/// Those of groups that are together in a partition, where groups are rows.
const TOGETHER: [&str; 4] = ["f", "t", "k", PENDING_LIST];

impl Entity {
    /// Whether entities of this kind are looked for by what they have in common, and numbered for
    /// that: they have tags, or a list with facets.
    pub fn is_numbered(&self) -> bool {
        self.tag_fields().next().is_some() || self.lists.iter().any(|list| !list.facets.is_empty())
    }

    /// The fields that hold tags.
    pub fn tag_fields(&self) -> impl Iterator<Item = FieldId> {
        self.fields().filter(|(_, field)| field.of == FieldType::Tags).map(|(id, _)| id)
    }

    /// Whether every entity of the kind is in the list, and will be whichever fields become optional.
    pub(crate) fn is_whole(&self, list: &List) -> bool {
        list.by.is_empty() && list.filter.is_empty() && list.order.is_empty()
    }
}

impl Layout {
    /// The name of a group.
    ///
    /// # Errors
    ///
    /// If it does not fit into a key: nothing is in it. A combination of which this is so is not
    /// kept, though entities may have the values.
    pub fn group_name(
        &self,
        id: EntityId,
        tenant: Option<&Value>,
        group: &Group<'_>,
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.model().entity(id);
        let of_kind = |letter: &str| {
            let mut name = words(&[letter, &entity.name]);
            push_tenant(&mut name, tenant);
            name
        };
        let of_list = |letter: &str, list: &List, by: &[Value]| {
            let mut name = words(&[letter, &entity.name, &list.name]);
            push_tenant(&mut name, tenant);
            by_values(&mut name, entity, list, by);
            name
        };
        let in_field = |mut name: KeyBytes, field: FieldId, texts: &[&str]| {
            name.push_text(&entity.field(field).name);
            texts.iter().for_each(|text| name.push_text(text));
            name
        };
        let name = match group {
            Group::All => of_kind("a"),
            Group::List(list, _) if entity.is_whole(entity.list(*list)) => of_kind("a"),
            Group::List(list, by) => of_list("l", entity.list(*list), by),
            Group::Facet(list, by, field, value) => {
                let mut name = in_field(of_list("f", entity.list(*list), by), *field, &[]);
                push_key(&mut name, &equality(entity, *field, value));
                name
            }
            Group::Tag(field, key, value) => in_field(of_kind("t"), *field, &[key, value]),
            Group::TagKey(field, key) => in_field(of_kind("k"), *field, &[key]),
            Group::Combination(combination, values) => {
                let keys = combination.keys.iter().map(String::as_str);
                let texts: Vec<&str> = keys.chain(values.iter().copied()).collect();
                in_field(of_kind("c"), combination.field, &texts)
            }
        };
        check_len(&name, RowKey::PARTITION_BYTES_MAX, || format!("a list of `{}`", entity.name))?;
        Ok(name)
    }

    /// Every group that an entity is in, if it has a number.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn groups(&self, image: &Image) -> Result<Vec<KeyBytes>, KeyTooLong> {
        let (id, entity) = (image.key.entity, self.model().entity(image.key.entity));
        if self.number(image).is_none() {
            return Ok(vec![]);
        }
        let tenant = image.key.tenant.as_ref();
        let mut names = vec![self.group_name(id, tenant, &Group::All)?];
        let mut add = |group: &Group<'_>| {
            names.push(self.group_name(id, tenant, group)?);
            Ok(())
        };
        for (list, declared) in entity.lists() {
            let Some(by) = self.by_in_list(declared, image) else { continue };
            if !entity.is_whole(declared) {
                add(&Group::List(list, &by))?;
            }
            for facet in &declared.facets {
                if let Some(value) = image.value(self, *facet) {
                    add(&Group::Facet(list, &by, *facet, &value))?;
                }
            }
        }
        for field in entity.tag_fields() {
            for (key, value) in tags(image, &entity.field(field).name) {
                add(&Group::Tag(field, key, value))?;
                add(&Group::TagKey(field, key))?;
            }
        }
        for combination in &entity.combinations {
            let Some(values) = combined(image, entity, combination) else { continue };
            let group = Group::Combination(combination, &values);
            // Long values are found by their single tags.
            names.extend(self.group_name(id, tenant, &group).ok());
        }
        Ok(names)
    }

    /// The rows by which an entity is in groups.
    pub(super) fn entries(&self, image: &Image, owner: &Value) -> Result<Vec<Row>, KeyTooLong> {
        let Some(number) = self.number(image) else { return Ok(vec![]) };
        let entry = |name: KeyBytes| {
            let key = entry_row(name.as_bytes(), number);
            let what = || format!("a list of `{}`", self.model().entity(image.key.entity).name);
            check_len(&key.sort, RowKey::SORT_BYTES_MAX, what)?;
            let mut item = key.to_item();
            item.insert(OWNER, owner.clone());
            Ok(Row { key, reason: Reason::Entry, item })
        };
        self.groups(image)?.into_iter().map(entry).collect()
    }

    /// The kind of entities that a group is of.
    pub fn group_entity(&self, name: &[u8]) -> Option<EntityId> {
        let (letter, rest) = KeyBytes::decode_part(name).ok()?;
        LETTERS.contains(&letter.as_s()?).then_some(())?;
        let (entity, _) = KeyBytes::decode_part(rest).ok()?;
        let entity = self.model().find(entity.as_s()?)?;
        self.model().entity(entity).is_numbered().then_some(entity)
    }

    /// The number of an entity, if its kind has numbers.
    pub(crate) fn number(&self, image: &Image) -> Option<u64> {
        image.number.filter(|_| self.number_slot(image.key.entity).is_some())
    }

    /// The row that says which numbers are taken.
    pub fn numbers_key(&self, entity: EntityId, tenant: Option<&Value>) -> RowKey {
        let name = self.model().entity(entity).name.as_str();
        let mut partition = words(&[SYSTEM, "numbers", name]);
        push_tenant(&mut partition, tenant);
        RowKey { partition, sort: own_sort() }
    }

    /// Where the list by number is, if entities of this kind have numbers.
    pub fn number_slot(&self, entity: EntityId) -> Option<Slot> {
        self.layout_of(entity).slots.number
    }

    /// The partition of the list of all entities of a kind by number.
    pub fn number_partition(&self, entity: EntityId, tenant: Option<&Value>) -> KeyBytes {
        let mut key = words(&[NUMBERS, &self.model().entity(entity).name]);
        push_tenant(&mut key, tenant);
        key
    }
}

/// Where the rows of a group are, if groups are rows: their partition, and what their sort keys begin
/// with, before the number.
pub fn entry_place(name: &[u8]) -> (&[u8], &[u8]) {
    let is_together =
        |(letter, _): (Value, _)| letter.as_s().is_some_and(|l| TOGETHER.contains(&l));
    if !KeyBytes::decode_part(name).is_ok_and(is_together) {
        return (name, &[]);
    }
    let mut last = name;
    while let Some(rest) = KeyBytes::skip_part(last).ok().filter(|rest| !rest.is_empty()) {
        last = rest;
    }
    name.split_at(name.len() - last.len())
}

/// Where the row is by which a number is in a group.
pub(super) fn entry_row(name: &[u8], number: u64) -> RowKey {
    let (partition, sort) = entry_place(name);
    let parts = |bytes| KeyBytes::decode(bytes).unwrap_or_default();
    let sort = [parts(sort), vec![Value::from(number)]].concat();
    RowKey { partition: bytes(&parts(partition)), sort: bytes(&sort) }
}

/// A number as a sort key, or as the beginning of one.
pub(crate) fn number_key(number: u64) -> KeyBytes {
    bytes(&[Value::from(number)])
}

/// The number that a sort key, or the rest of one, begins with.
pub fn number_of(sort: &[u8]) -> Option<u64> {
    let (number, _) = KeyBytes::decode_part(sort).ok()?;
    number.as_n()?.to_i64().and_then(|number| u64::try_from(number).ok())
}

fn tags<'i>(image: &'i Image, field: &str) -> impl Iterator<Item = (&'i str, &'i str)> {
    let tags = match image.fields.get(field) {
        Some(Value::M(tags)) => Some(tags),
        Some(_) | None => None,
    };
    let text = |(key, value): (&'i keyloom_value::Name, &'i Value)| {
        value.as_s().map(|value| (key.as_str(), value))
    };
    tags.into_iter().flat_map(Item::iter).filter_map(text)
}

/// The values of the keys of a combination, if all are there.
fn combined<'i>(
    image: &'i Image,
    entity: &Entity,
    combination: &TagCombination,
) -> Option<Vec<&'i str>> {
    let field = &entity.field(combination.field).name;
    let value = |key: &String| tags(image, field).find(|(other, _)| other == key);
    combination.keys.iter().map(|key| value(key).map(|(_, value)| value)).collect()
}
