//! What deletions that are too large for one transaction are about to take from an entity. It is
//! kept in the entity's own row, and implies rows as the entity itself does: readers find there
//! what to leave out from the moment at which the deletion happens.
//!
//! ```text
//! "p", entity, [tenant], deletion and field   a posting list: who goes, or loses the field
//! key of a counter, deletions                 how much of it they take
//! "w", entity, board, [tenant], by            value, deletions: how much of a score they take
//! place on a board, deletions                 who leaves it, in the index of the board
//! ```

use std::collections::{BTreeMap, BTreeSet};

use keyloom_value::{Item, KeyBytes, Value};

use super::attribute::{OWNER, PENDING, VERSION};
use super::counter::{board_of, partition_of};
use super::key::{bytes, push_tenant, words};
use super::matching::entry_row;
use super::rows::push_key;
use super::{Counter, EntityKey, Image, KeyTooLong, Layout, Matching, Reason, Row, RowKey};
use crate::model::{EntityId, OnDelete, Ranking};

/// What the partitions of scores begin with that deletions take from.
pub(super) const PENDING_SCORE: &str = "w";
/// What the names of posting lists of what goes begin with.
pub(super) const PENDING_LIST: &str = "p";
/// Stands for the entity among its fields, whose names are in lower case.
const ENTITY: &str = "E";
/// The same for the one whose deletion was asked for.
const ROOT: &str = "R";

/// The longest name that a deletion has.
const DELETION_BYTES_MAX: usize = 26;

/// What deletions are about to take from an entity: the entity itself, or references to what goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending(BTreeMap<String, String>);

impl Pending {
    /// Nothing.
    pub const NONE: Pending = Pending(BTreeMap::new());

    /// Whether nothing is to be taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The deletion takes the entity.
    #[must_use]
    pub fn with_entity(mut self, deletion: &str) -> Pending {
        self.0.insert(ENTITY.to_owned(), deletion.to_owned());
        self
    }

    /// The deletion takes the entity, and was asked to.
    #[must_use]
    pub fn with_root(mut self, deletion: &str) -> Pending {
        self.0.insert(ROOT.to_owned(), deletion.to_owned());
        self.with_entity(deletion)
    }

    /// The deletion clears a field.
    #[must_use]
    pub fn with_field(mut self, field: &str, deletion: &str) -> Pending {
        self.0.insert(field.to_owned(), deletion.to_owned());
        self
    }

    /// All but what a deletion takes.
    #[must_use]
    pub fn without(mut self, deletion: &str) -> Pending {
        self.0.retain(|_, by| by != deletion);
        self
    }

    /// Only the fields that a test lets pass.
    #[must_use]
    pub fn fields_if(mut self, mut test: impl FnMut(&str, &str) -> bool) -> Pending {
        self.0.retain(|field, by| is_entity(field) || test(field, by));
        self
    }

    /// Only what is to be taken from fields.
    #[must_use]
    pub fn only_fields(mut self) -> Pending {
        self.0.retain(|field, _| !is_entity(field));
        self
    }

    /// The deletion that takes the entity.
    pub fn entity(&self) -> Option<&str> {
        self.0.get(ENTITY).map(String::as_str)
    }

    /// Whether it is the entity itself whose deletion was asked for.
    pub fn is_root(&self) -> bool {
        self.0.contains_key(ROOT)
    }

    /// The deletion that clears a field.
    pub fn field(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// The fields that are to be cleared, and by which deletions.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().filter(|(field, _)| !is_entity(field));
        fields.map(|(field, by)| (field.as_str(), by.as_str()))
    }

    /// Every deletion that takes something.
    pub fn deletions(&self) -> BTreeSet<&str> {
        self.0.values().map(String::as_str).collect()
    }

    /// The entity once some of the deletions have happened; none if one of them takes it. Its
    /// version is then the last of them: the same for everyone who reads it, and the one it gets.
    pub fn settled(&self, image: &Image, has_happened: impl Fn(&str) -> bool) -> Option<Image> {
        if self.entity().is_some_and(&has_happened) {
            return None;
        }
        let mut settled = image.clone();
        let cleared = self.fields().filter(|(_, by)| has_happened(by));
        let mut last = None;
        for (field, by) in cleared {
            if settled.fields.remove(field).is_some() {
                last = last.max(Some(by));
            }
        }
        if let Some(last) = last {
            settled.version = last.to_owned();
        }
        Some(settled)
    }

    /// As it is kept.
    pub fn to_value(&self) -> Value {
        let entries = self.0.iter().map(|(field, by)| (field.as_str(), Value::from(by.as_str())));
        Value::M(entries.map(|(field, by)| (keyloom_value::Name::from(field), by)).collect())
    }

    /// Reads what is kept; none if that cannot be.
    pub(super) fn read(value: Option<&Value>) -> Option<Pending> {
        let Some(value) = value else { return Some(Pending::NONE) };
        let Value::M(entries) = value else { return None };
        let entry = |(field, by): (&keyloom_value::Name, &Value)| {
            Some((field.as_str().to_owned(), by.as_s()?.to_owned()))
        };
        entries.iter().map(entry).collect::<Option<_>>().map(Pending)
    }

    /// What each of the deletions takes of what an image has.
    fn takers<T: Ord>(
        &self,
        image: &Image,
        what: impl Fn(&Image) -> Result<Vec<T>, KeyTooLong>,
    ) -> Result<BTreeMap<T, Vec<&str>>, KeyTooLong> {
        let mut takers: BTreeMap<T, Vec<&str>> = BTreeMap::new();
        for deletion in self.deletions() {
            let left = self.settled(image, |by| by == deletion);
            let left: BTreeSet<T> =
                left.map(|left| what(&left)).transpose()?.into_iter().flatten().collect();
            for one in what(image)?.into_iter().filter(|one| !left.contains(one)) {
                takers.entry(one).or_default().push(deletion);
            }
        }
        Ok(takers)
    }
}

fn is_entity(field: &str) -> bool {
    field == ENTITY || field == ROOT
}

/// One text for several deletions, whose names have no spaces.
fn joined(deletions: &[&str]) -> Value {
    Value::from(deletions.join(" "))
}

/// The deletions of such a text.
pub(super) fn split(deletions: &str) -> Vec<String> {
    deletions.split(' ').map(str::to_owned).collect()
}

impl Counter {
    /// Where it is kept how much deletions take of a number; nowhere if no key has room for it.
    fn pending(&self, deletions: &[&str]) -> Option<Counter> {
        let key = match self {
            Counter::Plain(RowKey { partition, sort }) => {
                let mut sort = sort.clone();
                push_key(&mut sort, &joined(deletions));
                RowKey { partition: partition.clone(), sort }
            }
            Counter::Score(key) => {
                let (board, value) = board_of(key)?;
                let partition = partition_of(PENDING_SCORE, &board);
                RowKey { partition, sort: bytes(&[value, joined(deletions)]) }
            }
            Counter::Pending(_) => return None,
        };
        key.fits().then_some(Counter::Pending(key))
    }
}

impl Layout {
    /// Every row that an entity implies from which deletions are about to take something; see
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
        // The own row and its copy say of an entity what it is.
        for row in rows.iter_mut().filter(|row| row.item.contains(VERSION)) {
            row.item.insert(PENDING, pending.to_value());
        }
        let Some(own) = rows.first_mut() else { return Ok(rows) };
        self.leave_boards(image, pending, &mut own.item)?;
        let owner = Value::B(own.key.partition.as_bytes().to_vec());
        if let (Matching::Rows, Some(number)) = (self.matching(), self.number(image)) {
            for name in self.pending_groups(&image.key, pending) {
                let key = entry_row(name.as_bytes(), number);
                let mut item = key.to_item();
                item.insert(OWNER, owner.clone());
                rows.push(Row { key, reason: Reason::Entry, item });
            }
        }
        Ok(rows)
    }

    /// Places on boards say which deletions take them: boards are read without own rows.
    fn leave_boards(
        &self,
        image: &Image,
        pending: &Pending,
        own: &mut Item,
    ) -> Result<(), KeyTooLong> {
        let entity = self.model().entity(image.key.entity);
        for (board, declared) in entity.boards() {
            let Ranking::Field(_) = declared.ranking else { continue };
            let place = |image: &Image| {
                Ok(self.board_place(entity, declared, image)?.into_iter().collect())
            };
            let slot = self.board_slot(image.key.entity, board);
            for ((_, mut sort), takers) in pending.takers(image, place)? {
                push_key(&mut sort, &joined(&takers));
                if sort.as_bytes().len() <= RowKey::SORT_BYTES_MAX {
                    own.insert(slot.sort(), sort.into_vec());
                }
            }
        }
        Ok(())
    }

    /// The posting lists that an entity is in because deletions take something from it.
    pub fn pending_groups(&self, key: &EntityKey, pending: &Pending) -> Vec<KeyBytes> {
        let whole = pending.entity().map(|by| (ENTITY, by));
        let name = |(field, by): (&str, &str)| {
            let mut name = self.pending_prefix(key.entity, key.tenant.as_ref());
            name.push_text(&format!("{by} {field}"));
            name
        };
        let names = whole.into_iter().chain(pending.fields()).map(name);
        names.filter(|name| name.as_bytes().len() <= RowKey::PARTITION_BYTES_MAX).collect()
    }

    /// What the names of all such posting lists of a kind begin with.
    pub fn pending_prefix(&self, entity: EntityId, tenant: Option<&Value>) -> KeyBytes {
        let mut name = words(&[PENDING_LIST, &self.model().entity(entity).name]);
        push_tenant(&mut name, tenant);
        name
    }

    /// The deletion of such a posting list, and the field that its members lose; none if they go.
    /// `part` is what its name has after the prefix.
    pub fn read_pending_list(part: &[u8]) -> Option<(String, Option<String>)> {
        let (text, _) = KeyBytes::decode_part(part).ok()?;
        let (by, field) = text.as_s()?.split_once(' ')?;
        Some((by.to_owned(), Some(field.to_owned()).filter(|field| field != ENTITY)))
    }

    /// How much deletions take of the numbers to which an entity adds.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn pending_counters(
        &self,
        image: &Image,
        pending: &Pending,
    ) -> Result<Vec<Counter>, KeyTooLong> {
        if pending.is_empty() || !self.has_counters(image.key.entity) {
            return Ok(vec![]);
        }
        let takers = pending.takers(image, |image| self.counters(image))?;
        Ok(takers.iter().filter_map(|(counter, takers)| counter.pending(takers)).collect())
    }

    /// Whether the key of a number to which an entity adds leaves room for the names of all deletions
    /// that can take from it at once: one that takes the entity, and one for each reference that is
    /// cleared. Without, readers would not know how much is taken.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn check_room(&self, entity: EntityId, counter: &Counter) -> Result<(), KeyTooLong> {
        let cleared = |link: &&super::Link| link.on_delete == OnDelete::Clear;
        let takers = 1 + self.links(entity).iter().filter(cleared).count();
        // A text in a key has a byte before it and no more than two after it.
        let room = 3 + takers * (DELETION_BYTES_MAX + 1);
        let (key, bytes) = match counter {
            Counter::Plain(key) => (key, key.sort.as_bytes().len()),
            // What is taken of a score is kept by its value.
            Counter::Score(key) => match board_of(key) {
                Some((_, value)) => (key, bytes(&[value]).as_bytes().len()),
                None => return Ok(()),
            },
            Counter::Pending(_) => return Ok(()),
        };
        if bytes + room <= RowKey::SORT_BYTES_MAX {
            return Ok(());
        }
        let parts = KeyBytes::decode(key.partition.as_bytes()).unwrap_or_default();
        let part = |at: usize| parts.get(at).and_then(Value::as_s).unwrap_or_default();
        let what = format!("the number `{}` of `{}`", part(2), part(1));
        Err(KeyTooLong { what, bytes, bytes_max: RowKey::SORT_BYTES_MAX - room })
    }

    /// The deletions that take from a number of a count, if a row with this sort key says how much.
    pub fn takers_of_cell(sort: &[u8]) -> Option<Vec<String>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let names = parts.first()?.as_s()?;
        let values = if names.is_empty() { 0 } else { names.split(',').count() };
        parts.get(1 + values..)?.last()?.as_s().map(split)
    }

    /// The same for a step of a board.
    pub fn takers_of_step(sort: &[u8]) -> Option<Vec<String>> {
        match &KeyBytes::decode(sort).ok()?[..] {
            [_, _, Value::S(deletions)] => Some(split(deletions)),
            _ => None,
        }
    }

    /// The same for a place on a board.
    pub fn takers_of_place(sort: &[u8]) -> Vec<String> {
        match KeyBytes::decode(sort).as_deref() {
            Ok([_, _, Value::S(deletions)]) => split(deletions),
            Ok(_) | Err(_) => vec![],
        }
    }

    /// The partition that says how much deletions take of the scores of a board, of that of its
    /// places.
    pub fn pending_scores(places: &KeyBytes) -> KeyBytes {
        let mut parts = KeyBytes::decode(places.as_bytes()).unwrap_or_default();
        parts.drain(..1.min(parts.len()));
        partition_of(PENDING_SCORE, &parts)
    }

    /// The value as it is in keys, and the deletions that take from its score.
    pub fn read_pending_score(sort: &[u8]) -> Option<(Value, Vec<String>)> {
        match &KeyBytes::decode(sort).ok()?[..] {
            [value, Value::S(deletions)] => Some((value.clone(), split(deletions))),
            _ => None,
        }
    }
}
