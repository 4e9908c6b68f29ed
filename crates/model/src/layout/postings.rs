//! Posting lists, which filters combine by AND, OR and NOT: which of them contain an entity, and
//! their names. They contain the ordinals of entities. A name is that of a set where the store has
//! sets; where it has none, the keys of its chunks contain it.
//!
//! ```text
//! every entity of a kind         "a", entity, [tenant]
//! everything in an ordered list  "l", entity, list, [tenant], values of `by`
//! a value of a facet             "f", entity, list, [tenant], values of `by`, field, value
//! any value of a filter field    "h", entity, [tenant], field
//! a bit of a filter field        "b", entity, [tenant], field, number of the bit (`slices.rs`)
//! a term of a search             "w", entity, [tenant], search, "w" or "p", the word or prefix
//! a tag                          "t", entity, [tenant], field, key, value
//! any tag of a key               "k", entity, [tenant], field, key
//! tags of declared keys          "c", entity, [tenant], field, keys, values
//! ```
//!
//! Posting rows of "f", "b", "t" and "k" have the last part of the name in the sort key, before the
//! ordinal: one partition shows which values of a facet, values of a tag and keys there are.

use keyloom_value::{Item, KeyBytes, Value};

use super::attribute::OWNER;
use super::chunks::check_chunk_name;
use super::key::{bytes, push_tenant, words};
use super::key_part::{check_len, equality, push_key, push_values};
use super::{
    EntityKey, Image, KeyTooLong, Layout, Matching, Pending, Reason, Row, RowKey, SliceBits,
    pending,
};
use crate::model::{
    Entity, EntityId, FieldId, FieldType, List, ListId, SearchId, TagCombination, Term,
};

/// Which posting list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostingKey<'p> {
    /// Every entity of the kind.
    All,
    /// The entities of an ordered list with these values of `by`.
    List(ListId, &'p [Value]),
    /// Those of them with a value of a facet.
    Facet(ListId, &'p [Value], FieldId, &'p Value),
    /// Entities with a value of a filter field.
    Present(FieldId),
    /// Entities in a slice of a filter field.
    Slice(FieldId, u16),
    /// Entities that a search finds by a term.
    Term(SearchId, &'p Term),
    /// Entities with a tag in a field.
    Tag(FieldId, &'p str, &'p str),
    /// Entities with any tag of a key in a field.
    TagKey(FieldId, &'p str),
    /// Entities with these values of the keys of a combination.
    Combination(&'p TagCombination, &'p [&'p str]),
}

/// First part of the names of the posting lists of pending deletions.
const PENDING_LIST: &str = "p";
/// First parts of names.
const LETTERS: [&str; 10] = ["a", "l", "f", "h", "b", "w", "t", "k", "c", PENDING_LIST];
/// Those of posting lists whose rows share a partition.
const SHARED: [&str; 5] = ["f", "b", "t", "k", PENDING_LIST];

impl Entity {
    /// Whether entities of this kind have ordinals, because they have tags, a list with facets, a
    /// search, or fields that every list can be filtered by.
    pub fn has_ordinals(&self) -> bool {
        self.filters_every_list() || self.lists.iter().any(|list| !list.facets.is_empty())
    }

    /// Whether a list can be filtered.
    pub(crate) fn is_filtered(&self, list: &List) -> bool {
        self.filters_every_list() || !list.facets.is_empty()
    }

    fn filters_every_list(&self) -> bool {
        !self.filters.is_empty() || !self.searches.is_empty() || self.tag_fields().next().is_some()
    }

    /// The fields that hold tags.
    pub fn tag_fields(&self) -> impl Iterator<Item = FieldId> {
        self.fields().filter(|(_, field)| field.of == FieldType::Tags).map(|(id, _)| id)
    }

    /// Whether a list contains every entity of the kind, whichever fields become optional.
    pub(crate) fn is_whole(&self, list: &List) -> bool {
        list.by.is_empty() && list.filter.is_empty() && list.order.is_empty()
    }
}

/// The posting lists of a layout.
#[derive(Clone, Copy, Debug)]
pub struct PostingLists<'l> {
    pub(super) layout: &'l Layout,
}

impl<'l> PostingLists<'l> {
    pub(super) fn new(layout: &'l Layout) -> PostingLists<'l> {
        PostingLists { layout }
    }

    /// The name of a posting list.
    ///
    /// # Errors
    ///
    /// If it does not fit into a key: the list is empty. Only combinations that do not fit are left
    /// out although entities may have the values.
    pub fn name(
        &self,
        id: EntityId,
        tenant: Option<&Value>,
        list: &PostingKey<'_>,
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        let of_kind = |letter: &str| {
            let mut name = words(&[letter, &entity.stored]);
            push_tenant(&mut name, tenant);
            name
        };
        let of_list = |letter: &str, list: &List, by: &[Value]| {
            let mut name = words(&[letter, &entity.stored, &list.name]);
            push_tenant(&mut name, tenant);
            push_values(&mut name, entity.select(&list.by), by);
            name
        };
        let in_field = |mut name: KeyBytes, field: FieldId, texts: &[&str]| {
            name.push_text(&entity.field(field).stored);
            texts.iter().for_each(|text| name.push_text(text));
            name
        };
        let name = match list {
            PostingKey::All => of_kind("a"),
            PostingKey::List(list, _) if entity.is_whole(entity.list(*list)) => of_kind("a"),
            PostingKey::List(list, by) => of_list("l", entity.list(*list), by),
            PostingKey::Facet(list, by, field, value) => {
                let mut name = in_field(of_list("f", entity.list(*list), by), *field, &[]);
                push_key(&mut name, &equality(entity.field(*field), value));
                name
            }
            PostingKey::Present(field) => in_field(of_kind("h"), *field, &[]),
            PostingKey::Slice(field, slice) => {
                let mut name = in_field(of_kind("b"), *field, &[]);
                push_key(&mut name, &Value::from(u64::from(*slice)));
                name
            }
            PostingKey::Term(search, term) => {
                let (letter, text) = match term {
                    Term::Word(word) => ("w", word),
                    Term::Prefix(prefix) => ("p", prefix),
                };
                let mut name = of_kind("w");
                let parts = [entity.search(*search).name.as_str(), letter, text];
                parts.into_iter().for_each(|part| name.push_text(part));
                name
            }
            PostingKey::Tag(field, key, value) => in_field(of_kind("t"), *field, &[key, value]),
            PostingKey::TagKey(field, key) => in_field(of_kind("k"), *field, &[key]),
            PostingKey::Combination(combination, values) => {
                let keys = combination.keys.iter().map(String::as_str);
                let texts: Vec<&str> = keys.chain(values.iter().copied()).collect();
                in_field(of_kind("c"), combination.field, &texts)
            }
        };
        self.check_name(&name, || format!("a list of `{}`", entity.name))?;
        Ok(name)
    }

    /// Checks that the keys of a list's rows are short enough.
    fn check_name(&self, name: &KeyBytes, what: impl Fn() -> String) -> Result<(), KeyTooLong> {
        match self.layout.matching() {
            Matching::Sets | Matching::Rows => check_len(name, RowKey::PARTITION_BYTES_MAX, what),
            Matching::Chunks => check_chunk_name(name, what),
        }
    }

    /// Every posting list that contains an entity; none if it has no ordinal.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn of(&self, image: &Image) -> Result<Vec<KeyBytes>, KeyTooLong> {
        let (id, entity) = (image.key.entity, self.layout.model().entity(image.key.entity));
        if self.layout.ordinals().of(image).is_none() {
            return Ok(vec![]);
        }
        let tenant = image.key.tenant.as_ref();
        let mut names = vec![self.name(id, tenant, &PostingKey::All)?];
        let mut add = |list: &PostingKey<'_>| {
            names.push(self.name(id, tenant, list)?);
            Ok(())
        };
        for (list, declared) in entity.lists() {
            let Some(by) = self.layout.lists().by_values_of(declared, image) else { continue };
            if !entity.is_whole(declared) {
                add(&PostingKey::List(list, &by))?;
            }
            for facet in &declared.facets {
                if let Some(value) = image.value(self.layout, *facet) {
                    add(&PostingKey::Facet(list, &by, *facet, &value))?;
                }
            }
        }
        for field in &entity.filters {
            let Some(value) = image.value(self.layout, *field) else { continue };
            add(&PostingKey::Present(*field))?;
            let number = value.as_n().filter(|_| entity.field(*field).has_slices());
            let slices = number.into_iter().flat_map(|number| SliceBits::of(number).slices());
            slices.map(|slice| PostingKey::Slice(*field, slice)).try_for_each(|list| add(&list))?;
        }
        for (id, search) in entity.searches() {
            let terms = search.terms(entity, &image.fields);
            terms.iter().try_for_each(|term| add(&PostingKey::Term(id, term)))?;
        }
        for field in entity.tag_fields() {
            for (key, value) in tags(image, &entity.field(field).name) {
                add(&PostingKey::Tag(field, key, value))?;
                add(&PostingKey::TagKey(field, key))?;
            }
        }
        for combination in &entity.combinations {
            let Some(values) = combined(image, entity, combination) else { continue };
            let list = PostingKey::Combination(combination, &values);
            // Entities with long values are found by their single tags.
            names.extend(self.name(id, tenant, &list).ok());
        }
        Ok(names)
    }

    /// The posting rows of an entity.
    pub(super) fn rows(&self, image: &Image, owner: &Value) -> Result<Vec<Row>, KeyTooLong> {
        let Some(ordinal) = self.layout.ordinals().of(image) else { return Ok(vec![]) };
        let row = |name: KeyBytes| {
            let key = posting_row(name.as_bytes(), ordinal);
            let what =
                || format!("a list of `{}`", self.layout.model().entity(image.key.entity).name);
            check_len(&key.sort, RowKey::SORT_BYTES_MAX, what)?;
            let mut item = key.to_item();
            item.insert(OWNER, owner.clone());
            Ok(Row { key, reason: Reason::Posting, item })
        };
        self.of(image)?.into_iter().map(row).collect()
    }

    /// The kind of entities in a posting list.
    pub fn entity(&self, name: &[u8]) -> Option<EntityId> {
        let (letter, rest) = KeyBytes::decode_part(name).ok()?;
        LETTERS.contains(&letter.as_s()?).then_some(())?;
        let (entity, _) = KeyBytes::decode_part(rest).ok()?;
        let entity = self.layout.model().find_stored(entity.as_s()?)?;
        self.layout.model().entity(entity).has_ordinals().then_some(entity)
    }

    /// The posting lists that contain an entity because deletions take something from it.
    pub fn of_pending(&self, key: &EntityKey, pending: &Pending) -> Vec<KeyBytes> {
        let whole = pending.entity().map(|by| (pending::ENTITY, by));
        let name = |(field, by): (&str, &str)| {
            let mut name = self.pending_prefix(key.entity, key.tenant.as_ref());
            name.push_text(&format!("{by} {field}"));
            name
        };
        let names = whole.into_iter().chain(pending.fields()).map(name);
        names.filter(|name| self.check_name(name, String::new).is_ok()).collect()
    }

    /// The prefix of the names of all such posting lists of a kind.
    pub fn pending_prefix(&self, entity: EntityId, tenant: Option<&Value>) -> KeyBytes {
        let mut name = words(&[PENDING_LIST, self.layout.stored(entity)]);
        push_tenant(&mut name, tenant);
        name
    }

    /// Reads the deletion of such a posting list, and the field that its entities lose; no field if
    /// they go. `part` is what its name has after the prefix.
    pub fn read_pending(part: &[u8]) -> Option<(String, Option<String>)> {
        let (text, _) = KeyBytes::decode_part(part).ok()?;
        let (by, field) = text.as_s()?.split_once(' ')?;
        Some((by.to_owned(), Some(field.to_owned()).filter(|field| field != pending::ENTITY)))
    }
}

/// Where the rows of a posting list are: their partition, and the prefix of their sort keys before
/// the ordinal.
pub fn posting_row_prefix(name: &[u8]) -> (&[u8], &[u8]) {
    if !is_shared(name) {
        return (name, &[]);
    }
    let mut last = name;
    while let Some(rest) = KeyBytes::skip_part(last).ok().filter(|rest| !rest.is_empty()) {
        last = rest;
    }
    name.split_at(name.len() - last.len())
}

/// Whether posting lists with other last parts of their names share a partition with this one.
pub(super) fn is_shared(name: &[u8]) -> bool {
    let is_shared = |(letter, _): (Value, _)| letter.as_s().is_some_and(|l| SHARED.contains(&l));
    KeyBytes::decode_part(name).is_ok_and(is_shared)
}

/// The row of an ordinal in a posting list.
pub(super) fn posting_row(name: &[u8], ordinal: u64) -> RowKey {
    let (partition, sort) = posting_row_prefix(name);
    let parts = |bytes| KeyBytes::decode(bytes).unwrap_or_default();
    let sort = [parts(sort), vec![Value::from(ordinal)]].concat();
    RowKey { partition: bytes(&parts(partition)), sort: bytes(&sort) }
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

/// The values of the keys of a combination, if an entity has all of them.
fn combined<'i>(
    image: &'i Image,
    entity: &Entity,
    combination: &TagCombination,
) -> Option<Vec<&'i str>> {
    let field = &entity.field(combination.field).name;
    let value = |key: &String| tags(image, field).find(|(other, _)| other == key);
    combination.keys.iter().map(|key| value(key).map(|(_, value)| value)).collect()
}
