//! `rows(image)`: every row that an entity implies. The one function that says so; whoever writes,
//! fills, verifies or repairs calls it.

use std::borrow::Cow;

use keyloom_value::{Item, KeyBytes, Name, Number, Value};

use super::attribute::{NUMBER, OWNER, PARTITION, REVISION, SORT, VERSION};
use super::key::{own_sort, push_tenant, words};
use super::{EntityKey, Image, Layout, Matching, RowKey, Slot, number_key, number_of};
use crate::model::{
    CaseMode, Direction, Entity, FieldId, FieldType, List, ListId, Literal, Test, UniqueId,
};

/// What the partition keys of lists begin with.
pub(super) const LIST: &str = "l";
/// What that of the list by time of expiry begins with.
pub(super) const EXPIRY: &str = "x";
/// What that of the list by number begins with.
pub(super) const NUMBERS: &str = "n";

/// One row that an entity implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Where it is.
    pub key: RowKey,
    /// Why it is there.
    pub reason: Reason,
    /// All of it, the key too.
    pub item: Item,
}

/// Why an entity implies a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the entity's own row, which also carries its places in lists.
    Own,
    /// The entity's value of this unique is taken.
    Guard(UniqueId),
    /// The entity refers to another one with this field.
    Link(FieldId),
    /// The entity is in a group.
    Entry,
}

/// The values of an entity do not fit into a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "The values that {what} is made of take {bytes} bytes as a key, and a key has at most {bytes_max}: \
     shorten them."
)]
pub struct KeyTooLong {
    /// The list or unique that the key is for.
    pub what: String,
    /// How long the key is.
    pub bytes: usize,
    /// How long it can be.
    pub bytes_max: usize,
}

impl Layout {
    /// Every row that the entity implies: first its own, then guards, then links, then entries.
    /// Where groups are sets, [`Layout::groups`] says which it is in.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn rows(&self, image: &Image) -> Result<Vec<Row>, KeyTooLong> {
        let entity = self.model().entity(image.key.entity);
        let layout = self.layout_of(image.key.entity);
        let mut rows = Vec::with_capacity(1 + entity.uniques.len() + layout.links.len());
        let own = self.own_row(entity, image)?;
        let owner = Value::B(own.key.partition.as_bytes().to_vec());
        rows.push(own);
        for (id, unique) in entity.uniques() {
            let values = unique.within.iter().chain(&unique.fields);
            let values = values.map(|field| image.value(self, *field));
            let Some(values) = values.collect::<Option<Vec<Value>>>() else { continue };
            let key = self.guard_key(&image.key, id, &values)?;
            let mut item = key.to_item();
            item.insert(OWNER, owner.clone());
            rows.push(Row { key, reason: Reason::Guard(id), item });
        }
        for link in &layout.links {
            let target = image.fields.get(&entity.field(link.field).name);
            let Some(target) = target.and_then(Value::as_s) else { continue };
            let key = self.link_key(link, target, &image.key);
            check_key(&key, entity)?;
            let child = entity.parent.filter(|parent| *parent == link.field).map(|_| image);
            let item = self.link_item(&key, &owner, child);
            rows.push(Row { key, reason: Reason::Link(link.field), item });
        }
        if self.matching() == Matching::Rows {
            rows.extend(self.entries(image, &owner)?);
        }
        Ok(rows)
    }

    /// A child stands with its parent as a copy of its own row, but for its places in lists.
    fn link_item(&self, key: &RowKey, owner: &Value, child: Option<&Image>) -> Item {
        let mut item = child.map(|image| image.fields.clone()).unwrap_or_default();
        if let Some(image) = child {
            item.insert(VERSION, image.version.as_str());
            item.insert(REVISION, u64::from(self.revision()));
            if let Some(number) = self.number(image) {
                item.insert(NUMBER, number);
            }
        }
        item.insert(PARTITION, key.partition.as_bytes().to_vec());
        item.insert(SORT, key.sort.as_bytes().to_vec());
        item.insert(OWNER, owner.clone());
        item
    }

    fn own_row(&self, entity: &Entity, image: &Image) -> Result<Row, KeyTooLong> {
        let key = RowKey { partition: self.entity_partition(&image.key), sort: own_sort() };
        check_key(&key, entity)?;
        let slots = &self.layout_of(image.key.entity).slots;
        let mut attributes = Vec::with_capacity(4 + 2 * slots.lists.len() + image.fields.len());
        let push_place =
            |attributes: &mut Vec<(Name, Value)>, slot: Slot, place: (KeyBytes, KeyBytes)| {
                let names = self.slot_names(slot);
                attributes.push((names.partition.clone(), Value::B(place.0.into_vec())));
                attributes.push((names.sort.clone(), Value::B(place.1.into_vec())));
            };
        for ((list, _), (at, slot)) in entity.lists().zip(slots.lists.iter().enumerate()) {
            // Several can be the list by number.
            if !slots.lists[..at].contains(slot)
                && let Some(place) = self.place(entity, list, image)?
            {
                push_place(&mut attributes, *slot, place);
            }
        }
        for ((list, _), slot) in entity.lists().zip(&slots.facets) {
            if let Some(slot) = slot
                && let Some(place) = self.facet_place(entity, list, image)?
            {
                push_place(&mut attributes, *slot, place);
            }
        }
        for (board, slot) in entity.boards.iter().zip(&slots.boards) {
            if let Some(slot) = slot
                && let Some(place) = self.board_place(entity, board, image)?
            {
                push_place(&mut attributes, *slot, place);
            }
        }
        if let Some((slot, time)) = slots.expiry.zip(entity.expires)
            && let Some(time) = image.value(self, time)
        {
            let place = self.expiry_place(&image.key, &time);
            check_len(&place.1, RowKey::SORT_BYTES_MAX, || {
                format!("`expires` of `{}`", entity.name)
            })?;
            push_place(&mut attributes, slot, place);
        }
        let system = self.system_names();
        if let Some(number) = self.number(image) {
            attributes.push((system.number.clone(), Value::from(number)));
            if let Some(slot) = slots.number.filter(|slot| !slots.lists.contains(slot)) {
                let place = self.number_place(&image.key, number);
                push_place(&mut attributes, slot, place);
            }
        }
        attributes.push((system.partition.clone(), Value::B(key.partition.as_bytes().to_vec())));
        attributes.push((system.sort.clone(), Value::B(key.sort.as_bytes().to_vec())));
        attributes.push((system.revision.clone(), Value::from(u64::from(self.revision()))));
        attributes.push((system.version.clone(), Value::from(image.version.as_str())));
        attributes.extend(image.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(Row { key, reason: Reason::Own, item: attributes.into_iter().collect() })
    }

    /// Where an entity is in a list, if it is in it: partition and sort key.
    pub(super) fn place(
        &self,
        entity: &Entity,
        id: ListId,
        image: &Image,
    ) -> Result<Option<(KeyBytes, KeyBytes)>, KeyTooLong> {
        let list = entity.list(id);
        let values = |fields: &mut dyn Iterator<Item = FieldId>| {
            fields.map(|field| image.value(self, field)).collect::<Option<Vec<Value>>>()
        };
        let by = self.by_in_list(list, image);
        let order = values(&mut list.order.iter().map(|order| order.field));
        let Some((by, order)) = by.zip(order) else { return Ok(None) };
        let partition =
            self.list_partition((image.key.entity, id), image.key.tenant.as_ref(), &by)?;
        let mut sort = order_prefix(entity, list, &order);
        // Equals are in order of creation, where that is known.
        if let Some(number) = self.number(image) {
            push_key(&mut sort, &Value::from(number));
        }
        sort.push_text(&image.key.id);
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(Some((partition, sort)))
    }

    /// The values of `by` of an entity, if it is in a list.
    pub(super) fn by_in_list(&self, list: &List, image: &Image) -> Option<Vec<Value>> {
        let is_ordered = || list.order.iter().all(|order| image.value(self, order.field).is_some());
        self.values_if(&list.filter, &list.by, image).filter(|_| is_ordered())
    }

    /// Where an entity is in the list of all of its kind by number: partition and sort key.
    pub fn number_place(&self, key: &EntityKey, number: u64) -> (KeyBytes, KeyBytes) {
        let mut sort = number_key(number);
        sort.push_text(&key.id);
        (self.number_partition(key.entity, key.tenant.as_ref()), sort)
    }

    fn expiry_place(&self, key: &EntityKey, time: &Value) -> (KeyBytes, KeyBytes) {
        let mut sort = KeyBytes::new();
        push_key(&mut sort, time);
        push_tenant(&mut sort, key.tenant.as_ref());
        sort.push_text(&key.id);
        (self.expiry_partition(key.entity), sort)
    }

    /// The partition of the list of all entities of a kind by their time of expiry.
    pub fn expiry_partition(&self, entity: crate::EntityId) -> KeyBytes {
        words(&[EXPIRY, &self.model().entity(entity).name])
    }

    /// The partition of a list: that of a tenant, if the entity has one, and of one value for each
    /// field of `by`.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn list_partition(
        &self,
        (id, list): (crate::EntityId, ListId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        if self.layout_of(id).slots.is_by_number(list) {
            return Ok(self.number_partition(id, tenant));
        }
        self.list_key(LIST, (id, list), (tenant, by))
    }

    /// A partition of what is in a list, which begins with a word of its own.
    pub(super) fn list_key(
        &self,
        word: &str,
        (id, list): (crate::EntityId, ListId),
        (tenant, by): (Option<&Value>, &[Value]),
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.model().entity(id);
        let list = entity.list(list);
        let mut key = words(&[word, &entity.name, &list.name]);
        push_tenant(&mut key, tenant);
        by_values(&mut key, entity, list, by);
        check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_list(entity, list))?;
        Ok(key)
    }

    /// The beginning of all sort keys of a list that have these values, one for each of the first
    /// fields of its order.
    pub fn order_prefix(
        &self,
        (key, list): (crate::EntityId, ListId),
        values: &[Value],
    ) -> KeyBytes {
        let entity = self.model().entity(key);
        order_prefix(entity, entity.list(list), values)
    }

    /// The number of the entity that has a place in a list, of the place's sort key. None if
    /// entities of its kind have no numbers, or the bytes are no such key.
    pub fn number_at(&self, (key, list): (crate::EntityId, ListId), sort: &[u8]) -> Option<u64> {
        let entity = self.model().entity(key);
        let order = self.order_at((key, list), sort)?;
        number_of(&sort[order.len()..]).filter(|_| entity.is_numbered())
    }

    /// The beginning of a sort key of a list, or of bytes that begin with one, that is made of the
    /// fields of its order. None if the bytes are no such key.
    pub fn order_at<'s>(
        &self,
        (key, list): (crate::EntityId, ListId),
        sort: &'s [u8],
    ) -> Option<&'s [u8]> {
        let list = self.model().entity(key).list(list);
        let rest = list.order.iter().try_fold(sort, |rest, order| match order.direction {
            Direction::Ascending => KeyBytes::skip_part(rest),
            Direction::Descending => KeyBytes::skip_descending(rest),
        });
        Some(&sort[..sort.len() - rest.ok()?.len()])
    }

    /// The key of the guard of these values: the scope first if there is one, then the fields.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn guard_key(
        &self,
        owner: &EntityKey,
        unique: UniqueId,
        values: &[Value],
    ) -> Result<RowKey, KeyTooLong> {
        let entity = self.model().entity(owner.entity);
        let declared = entity.unique(unique);
        let mut partition = self.guard_partition(owner, unique);
        let fields = declared.within.iter().map(|field| (field, CaseMode::Exact));
        let fields = fields.chain(declared.fields.iter().map(|field| (field, declared.case)));
        for ((field, case), value) in fields.zip(values) {
            let value = equality(entity, *field, value);
            push_key(&mut partition, &folded(value, case));
        }
        check_len(&partition, RowKey::PARTITION_BYTES_MAX, || {
            let names: Vec<&str> =
                declared.fields.iter().map(|field| entity.field(*field).name.as_str()).collect();
            format!("the unique `{}` of `{}`", names.join(", "), entity.name)
        })?;
        Ok(RowKey { partition, sort: own_sort() })
    }
}

pub(super) fn by_values(key: &mut KeyBytes, entity: &Entity, list: &List, by: &[Value]) {
    for (field, value) in list.by.iter().zip(by) {
        push_key(key, &equality(entity, *field, value));
    }
}

fn order_prefix(entity: &Entity, list: &List, values: &[Value]) -> KeyBytes {
    let mut key = KeyBytes::new();
    for (order, value) in list.order.iter().zip(values) {
        let value = in_order(entity, order.field, value);
        // See `push_key`.
        let _ = match order.direction {
            Direction::Ascending => key.push(&value),
            Direction::Descending => key.push_descending(&value),
        };
    }
    key
}

/// A value as it is compared for being the same.
pub(super) fn equality<'v>(entity: &Entity, field: FieldId, value: &'v Value) -> Cow<'v, Value> {
    match (&entity.field(field).of, value) {
        (FieldType::Bool, Value::Bool(truth)) => Cow::Owned(Value::from(i32::from(*truth))),
        _ => Cow::Borrowed(value),
    }
}

/// A value as it is ordered: an enum by its members' order, false before true.
fn in_order<'v>(entity: &Entity, field: FieldId, value: &'v Value) -> Cow<'v, Value> {
    match (&entity.field(field).of, value) {
        (FieldType::Enum(members), Value::S(word)) => {
            let position = members.iter().position(|member| member == word);
            let position = position.unwrap_or(members.len());
            Cow::Owned(Value::N(Number::from(position as u64)))
        }
        _ => equality(entity, field, value),
    }
}

fn folded(value: Cow<'_, Value>, case: CaseMode) -> Cow<'_, Value> {
    match (case, value.as_ref()) {
        (CaseMode::Folded, Value::S(text)) => Cow::Owned(Value::S(text.to_lowercase())),
        (CaseMode::Folded | CaseMode::Exact, _) => value,
    }
}

pub(super) fn passes(test: &Test, value: Option<&Value>) -> bool {
    match (&test.value, value) {
        (Literal::Text(expected), Some(Value::S(text))) => expected == text,
        (Literal::Int(expected) | Literal::Time(expected), Some(Value::N(number))) => {
            number.to_i64() == Some(*expected)
        }
        (Literal::Number(expected), Some(Value::N(number))) => expected == number,
        (Literal::Bool(expected), Some(Value::Bool(truth))) => expected == truth,
        (
            Literal::Text(_)
            | Literal::Int(_)
            | Literal::Number(_)
            | Literal::Bool(_)
            | Literal::Time(_)
            | Literal::EmptyList
            | Literal::EmptyMap,
            _,
        ) => false,
    }
}

/// What cannot be part of a key is left out. The model's own values always can; those of a damaged
/// row need not, and whoever verifies says so.
pub(super) fn push_key(key: &mut KeyBytes, value: &Value) {
    let _ = key.push(value);
}

pub(super) fn check_len(
    key: &KeyBytes,
    bytes_max: usize,
    what: impl FnOnce() -> String,
) -> Result<(), KeyTooLong> {
    let bytes = key.as_bytes().len();
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(KeyTooLong { what: what(), bytes, bytes_max })
}

/// Ids and tenants are part of every key of an entity.
fn check_key(key: &RowKey, entity: &Entity) -> Result<(), KeyTooLong> {
    let what = || format!("the id of a `{}`, with its tenant,", entity.name);
    check_len(&key.partition, RowKey::PARTITION_BYTES_MAX, what)?;
    check_len(&key.sort, RowKey::SORT_BYTES_MAX, what)
}

pub(super) fn name_of_list(entity: &Entity, list: &List) -> String {
    format!("the list `{}` of `{}`", list.name, entity.name)
}
