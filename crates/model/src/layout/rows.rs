//! `rows(image)`: every row that an entity implies. This is the only function that decides it:
//! writes, backfills, verification and repair all call it.

use keyloom_value::{Item, Name, Value};

use super::attribute::{ORDINAL, OWNER, PARTITION, PENDING, REVISION, SORT, VERSION};
use super::key::own_sort;
use super::key_part::{check_key, check_len, push_key};
use super::pending::joined;
use super::postings::posting_row;
use super::{Image, IndexKey, KeyTooLong, Layout, Matching, Pending, RowKey, Slot};
use crate::model::{Entity, FieldId, Ranking, UniqueId};

/// One row that an entity implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub key: RowKey,
    /// Why the entity implies it.
    pub reason: Reason,
    /// The whole row, with its key.
    pub item: Item,
}

/// Why an entity implies a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the entity's own row, which also carries its index keys.
    Own,
    /// It guards the entity's value of this unique.
    Guard(UniqueId),
    /// The entity refers to another one with this field.
    Link(FieldId),
    /// The entity may be referred to.
    Presence,
    /// A posting list contains the entity, or its ordinal leads to it.
    Posting,
}

impl Layout {
    /// Every row that an entity implies: its own first, then guards, links, presence and posting rows.
    /// An entity with a tombstone has no presence rows. Where
    /// posting lists are sets, [`super::PostingLists::of`] returns those that contain it.
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
            let key = self.uniques().guard_key(&image.key, id, &values)?;
            let mut item = key.to_item();
            item.insert(OWNER, owner.clone());
            rows.push(Row { key, reason: Reason::Guard(id), item });
        }
        for link in &layout.links {
            let target = image.fields.get(&entity.field(link.field).name);
            let Some(target) = target.and_then(Value::as_s) else { continue };
            let key = self.references().key(link, target, &image.key);
            check_key(&key, entity)?;
            let child = entity.parent.filter(|parent| *parent == link.field).map(|_| image);
            let item = self.link_item(&key, &owner, child);
            rows.push(Row { key, reason: Reason::Link(link.field), item });
        }
        rows.extend(self.references().presence_rows(image, &owner)?);
        match self.matching() {
            Matching::Sets => {}
            Matching::Chunks => rows.extend(self.chunks().ordinal_row(image, &owner)?),
            Matching::Rows => rows.extend(self.postings().rows(image, &owner)?),
        }
        Ok(rows)
    }

    /// Every row that an entity implies while deletions are about to take something from it; see
    /// [`Layout::rows`].
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn rows_with(&self, image: &Image, pending: &Pending) -> Result<Vec<Row>, KeyTooLong> {
        let mut rows = self.rows(image)?;
        if pending.is_empty() {
            return Ok(rows);
        }
        // The own row and its copy with the parent describe the entity.
        for row in rows.iter_mut().filter(|row| row.item.contains(VERSION)) {
            row.item.insert(PENDING, pending.to_value());
        }
        let Some(own) = rows.first_mut() else { return Ok(rows) };
        self.leave_boards(image, pending, &mut own.item)?;
        let owner = Value::B(own.key.partition.as_bytes().to_vec());
        if let (Matching::Rows, Some(ordinal)) = (self.matching(), self.ordinals().of(image)) {
            for name in self.postings().of_pending(&image.key, pending) {
                let key = posting_row(name.as_bytes(), ordinal);
                let mut item = key.to_item();
                item.insert(OWNER, owner.clone());
                rows.push(Row { key, reason: Reason::Posting, item });
            }
        }
        Ok(rows)
    }

    /// Adds to leaderboard entries which deletions take them: leaderboards are read without own rows.
    fn leave_boards(
        &self,
        image: &Image,
        pending: &Pending,
        own: &mut Item,
    ) -> Result<(), KeyTooLong> {
        let entity = self.model().entity(image.key.entity);
        for (board, declared) in entity.boards() {
            let Ranking::Field(_) = declared.ranking else { continue };
            let entry = |image: &Image| {
                Ok(self.leaderboards().index_key(entity, declared, image)?.into_iter().collect())
            };
            let slot = self.leaderboards().slot(image.key.entity, board);
            for (IndexKey { mut sort, .. }, takers) in pending.takers((image, entity), entry)? {
                push_key(&mut sort, &joined(&takers));
                if sort.as_bytes().len() <= RowKey::SORT_BYTES_MAX {
                    own.insert(slot.sort(), sort.into_vec());
                }
            }
        }
        Ok(())
    }

    /// The link of a child is a copy of its own row, without the index keys.
    fn link_item(&self, key: &RowKey, owner: &Value, child: Option<&Image>) -> Item {
        let attributes = child.into_iter().flat_map(|image| self.attributes(image));
        let mut item: Item = attributes.map(|(name, value)| (name, value.clone())).collect();
        if let Some(image) = child {
            item.insert(VERSION, image.version.as_str());
            item.insert(REVISION, u64::from(self.revision()));
            if let Some(ordinal) = self.ordinals().of(image) {
                item.insert(ORDINAL, ordinal);
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
        let push_index_key = |attributes: &mut Vec<(Name, Value)>, slot: Slot, key: IndexKey| {
            let names = self.slot_names(slot);
            attributes.push((names.partition.clone(), Value::B(key.partition.into_vec())));
            attributes.push((names.sort.clone(), Value::B(key.sort.into_vec())));
        };
        for ((list, _), (at, slot)) in entity.lists().zip(slots.lists.iter().enumerate()) {
            // Several lists can be the list by ordinal.
            if !slots.lists[..at].contains(slot)
                && let Some(index_key) = self.lists().index_key(entity, list, image)?
            {
                push_index_key(&mut attributes, *slot, index_key);
            }
        }
        for ((list, _), slot) in entity.lists().zip(&slots.facets) {
            if let Some(slot) = slot
                && let Some(index_key) = self.facets().index_key(entity, list, image)?
            {
                push_index_key(&mut attributes, *slot, index_key);
            }
        }
        for (board, slot) in entity.boards.iter().zip(&slots.boards) {
            if let Some(slot) = slot
                && let Some(index_key) = self.leaderboards().index_key(entity, board, image)?
            {
                push_index_key(&mut attributes, *slot, index_key);
            }
        }
        if let Some((slot, time)) = slots.expiry.zip(entity.expires)
            && let Some(time) = image.value(self, time)
        {
            let index_key = self.expiry().index_key(&image.key, &time);
            check_len(&index_key.sort, RowKey::SORT_BYTES_MAX, || {
                format!("`expires` of `{}`", entity.name)
            })?;
            push_index_key(&mut attributes, slot, index_key);
        }
        let system = self.system_names();
        if let Some(ordinal) = self.ordinals().of(image) {
            attributes.push((system.ordinal.clone(), Value::from(ordinal)));
            if let Some(slot) = slots.ordinal.filter(|slot| !slots.lists.contains(slot)) {
                let index_key = self.ordinals().index_key(&image.key, ordinal);
                push_index_key(&mut attributes, slot, index_key);
            }
        }
        attributes.push((system.partition.clone(), Value::B(key.partition.as_bytes().to_vec())));
        attributes.push((system.sort.clone(), Value::B(key.sort.as_bytes().to_vec())));
        attributes.push((system.revision.clone(), Value::from(u64::from(self.revision()))));
        attributes.push((system.version.clone(), Value::from(image.version.as_str())));
        attributes.extend(self.attributes(image).map(|(name, value)| (name, value.clone())));
        Ok(Row { key, reason: Reason::Own, item: attributes.into_iter().collect() })
    }
}
