//! How models are stored: as system rows.
//!
//! ```text
//! ("m", "model") / "head"            see `head.rs`
//! ("m", "model") / revision          slots, time of creation, what is left to do
//! ("m", "model") / revision, number  a piece of the model file
//! ("m", "model") / "copy"            see `copy/record.rs`; only while a copy is unfinished
//! ```

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::SORT;
use keyloom_model::{Matching, RowKey, StoredNames, ZoneSources};
use keyloom_store::{CancelReason, Delete, Put, Store, TableName, TransactAction, TransactWrite};
use keyloom_value::{Item, KeyBytes, Value};

use super::head::{COPY, HEAD, Head, MODEL, number};
use super::{Pending, zones};
use crate::error::Error;
use crate::system_rows::system_rows;

const SLOTS: &str = "slots";
const SINCE: &str = "since";
const ENTITIES: &str = "entities";
const LISTS: &str = "lists";
const UNIQUES: &str = "uniques";
const COUNTS: &str = "counts";
const BOARDS: &str = "boards";
const POSITION: &str = "position";
const DONE: &str = "done";
const TEXT: &str = "text";
const MATCHING: &str = "matching";
const ZONES: &str = "zones";

/// A row has at most 400 KB, a model file up to a megabyte.
const PIECE_BYTES: usize = 300 * 1024;

/// All stored models.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) head: Head,
    /// Every revision that rows may have.
    pub(crate) revisions: BTreeMap<u32, Revision>,
    /// The record of the copy that fills the table, until it is finished. Versions that know no copies
    /// cannot read the rows of the model while it is there.
    pub(crate) copy: Option<Item>,
}

/// A model that is or was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) text: String,
    pub(crate) slots: Item,
    /// How tags and facets are stored; none in tables from before that was recorded.
    pub(crate) matching: Option<Matching>,
    /// The rules of the time zones that windows are counted by.
    pub(crate) zones: ZoneSources,
    /// How fields are named in rows.
    pub(crate) names: StoredNames,
    pub(crate) since_ms: i64,
    pub(crate) pending: Pending,
    /// The progress of the backfill.
    pub(crate) progress: Position,
}

/// The position of a walk over the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The key of the last row that was read.
    pub(crate) key: Option<Item>,
    /// The number of rows that were read.
    pub(crate) done: u64,
}

impl Stored {
    /// Reads all stored models; returns none if there are none yet.
    pub(crate) async fn load(
        store: &dyn Store,
        table: &TableName,
    ) -> Result<Option<Stored>, Error> {
        let rows = system_rows(store, table, RowKey::system(MODEL, &[]).partition).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let stored = Stored::read(&rows)
            .ok_or_else(|| Error::damaged("The rows of the model cannot be read."))?;
        Ok(Some(stored))
    }

    fn read(rows: &[Item]) -> Option<Stored> {
        let (mut head, mut revisions) = (None, BTreeMap::<u32, Revision>::new());
        let mut pieces: Vec<(u32, &str)> = vec![];
        let mut copy = None;
        for row in rows {
            let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
            match &sort[..] {
                [Value::S(name)] if name == HEAD => {
                    head = Some(Head::read(row)?);
                }
                [Value::S(name)] if name == COPY => copy = Some(row.clone()),
                [revision] => {
                    revisions.insert(number(revision)?, Revision::read(row)?);
                }
                // Pieces are in order, because numbers sort as numbers.
                [revision, _] => pieces.push((number(revision)?, row.get(TEXT)?.as_s()?)),
                _ => return None,
            }
        }
        for (revision, piece) in pieces {
            revisions.get_mut(&revision)?.text.push_str(piece);
        }
        let head = head.filter(|head| revisions.contains_key(&head.revision))?;
        Some(Stored { head, revisions, copy })
    }

    pub(crate) fn current(&self) -> Option<&Revision> {
        self.revisions.get(&self.head.revision)
    }
}

/// Notes that no write of an earlier epoch can be applied any more; returns the new head, or none if
/// the stored models have changed since the head was read.
pub(crate) async fn write_fenced(
    store: &dyn Store,
    table: &TableName,
    before: &Head,
) -> Result<Option<Head>, Error> {
    let head = Head { edit: before.edit + 1, fenced: before.epoch, ..before.clone() };
    let put = TransactAction::Put(head.put(table, Some(before)));
    Ok(happens(store, vec![put]).await?.then_some(head))
}

/// Begins a switch to another epoch; returns the new head, or none if the stored models have changed
/// since the head was read.
pub(super) async fn write_switching(
    store: &dyn Store,
    table: &TableName,
    before: &Head,
) -> Result<Option<Head>, Error> {
    let head = Head { edit: before.edit + 1, epoch: before.epoch + 1, ..before.clone() };
    let put = TransactAction::Put(head.put(table, Some(before)));
    Ok(happens(store, vec![put]).await?.then_some(head))
}

/// Writes a revision and makes it current; returns false if the stored models have changed since the
/// head was read.
pub(crate) async fn write_revision(
    store: &dyn Store,
    table: &TableName,
    head: &Head,
    before: Option<&Head>,
    revision: &Revision,
) -> Result<bool, Error> {
    happens(store, revision_actions(table, head, before, revision)).await
}

/// Writes the model of a table that a copy is about to fill, with the record of the copy and the positions
/// of its streams. Returns false if the table has a model already.
pub(crate) async fn write_copied(
    store: &dyn Store,
    table: &TableName,
    head: &Head,
    revision: &Revision,
    record: Vec<Item>,
) -> Result<bool, Error> {
    let mut actions = revision_actions(table, head, None, revision);
    actions.extend(record.into_iter().map(|row| TransactAction::Put(Put::new(table, row))));
    happens(store, actions).await
}

fn revision_actions(
    table: &TableName,
    head: &Head,
    before: Option<&Head>,
    revision: &Revision,
) -> Vec<TransactAction> {
    let number = head.revision;
    let mut actions = vec![TransactAction::Put(head.put(table, before))];
    let put = |item| TransactAction::Put(Put::new(table, item));
    actions.push(put(revision.to_item(number)));
    let pieces = pieces(&revision.text);
    let piece_key = |piece: u64| RowKey::system(MODEL, &[u64::from(number).into(), piece.into()]);
    for (piece, text) in (0u64..).zip(&pieces) {
        let mut item = piece_key(piece).to_item();
        item.insert(TEXT, *text);
        actions.push(put(item));
    }
    // Remove the surplus pieces of a longer text.
    for piece in pieces.len()..PIECES_MAX {
        let key = piece_key(piece as u64).to_item();
        actions.push(TransactAction::Delete(Delete::new(table, key)));
    }
    actions
}

/// Writes the progress of a backfill; returns false if the stored models have changed since the head
/// was read. The end of a backfill is an edit of its own.
pub(crate) async fn write_progress(
    store: &dyn Store,
    table: &TableName,
    before: &Head,
    revision: &Revision,
) -> Result<bool, Error> {
    let is_done = revision.pending.is_empty();
    let head = Head { edit: before.edit + u32::from(is_done), ..before.clone() };
    let progress = Put::new(table, revision.to_item(head.revision));
    let actions = [head.put(table, Some(before)), progress].map(TransactAction::Put);
    happens(store, actions.to_vec()).await
}

async fn happens(store: &dyn Store, actions: Vec<TransactAction>) -> Result<bool, Error> {
    match store.transact_write(TransactWrite::new(actions)).await {
        Ok(()) => Ok(true),
        Err(keyloom_store::Error::Canceled { reasons }) => {
            let refused = reasons.into_iter().flatten().find(|reason| match reason {
                CancelReason::Invalid(_) | CancelReason::Refused(_) => true,
                CancelReason::ConditionFailed { .. } => false,
            });
            refused.map_or(Ok(false), |reason| Err(keyloom_store::Error::from(reason).into()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes a revision that no row has any more, all of it at once: a part of it would be an invalid
/// model.
pub(crate) async fn remove_revision(
    store: &dyn Store,
    table: &TableName,
    number: u32,
) -> Result<(), Error> {
    let number = Value::from(u64::from(number));
    let pieces = (0..PIECES_MAX as u64).map(|piece| vec![number.clone(), piece.into()]);
    let delete = |sort: Vec<Value>| {
        let key = RowKey::system(MODEL, &sort).to_item();
        TransactAction::Delete(Delete::new(table, key))
    };
    let actions = pieces.chain([vec![number.clone()]]).map(delete).collect();
    store.transact_write(TransactWrite::new(actions)).await?;
    Ok(())
}

/// The number of pieces of the largest model file.
const PIECES_MAX: usize = (1024 * 1024usize).div_ceil(PIECE_BYTES - 3);

impl Revision {
    fn to_item(&self, number: u32) -> Item {
        let mut item = RowKey::system(MODEL, &[u64::from(number).into()]).to_item();
        // Versions that know no other names cannot read such a model.
        match self.names.is_empty() {
            true => item.insert(SLOTS, self.slots.clone()),
            false => {
                let mut all = vec![Value::M(self.slots.clone())];
                all.extend(self.names.to_values());
                item.insert(SLOTS, Value::L(all))
            }
        };
        item.insert(SINCE, self.since_ms);
        if let Some(matching) = self.matching {
            item.insert(MATCHING, word(matching));
        }
        if let Some(rules) = zones::to_value(&self.zones) {
            item.insert(ZONES, rules);
        }
        let names =
            |names: &BTreeSet<String>| names.iter().map(|name| name.as_str().into()).collect();
        let pairs = |pairs: &BTreeSet<(String, String)>| {
            let pair = |(left, right): &(String, String)| {
                Value::L(vec![left.as_str().into(), right.as_str().into()])
            };
            Value::L(pairs.iter().map(pair).collect())
        };
        item.insert(ENTITIES, Value::L(names(&self.pending.entities)));
        item.insert(LISTS, pairs(&self.pending.lists));
        item.insert(UNIQUES, pairs(&self.pending.uniques));
        item.insert(COUNTS, pairs(&self.pending.counts));
        item.insert(BOARDS, pairs(&self.pending.boards));
        if let Some(position) = &self.progress.key {
            item.insert(POSITION, position.clone());
        }
        item.insert(DONE, self.progress.done);
        item
    }

    /// Everything except the text.
    fn read(row: &Item) -> Option<Revision> {
        let (slots, names) = match row.get(SLOTS)? {
            Value::M(slots) => (slots, StoredNames::default()),
            Value::L(all) => {
                let [Value::M(slots), names @ ..] = &all[..] else { return None };
                (slots, StoredNames::read(names)?)
            }
            _ => return None,
        };
        let key = match row.get(POSITION) {
            None => None,
            Some(Value::M(key)) => Some(key.clone()),
            Some(_) => return None,
        };
        let matching = match row.get(MATCHING) {
            None => None,
            Some(value) => Some(
                [Matching::Sets, Matching::Chunks, Matching::Rows]
                    .into_iter()
                    .find(|matching| value.as_s() == Some(word(*matching)))?,
            ),
        };
        let done = u64::try_from(row.get(DONE)?.as_n()?.to_i64()?).ok()?;
        Some(Revision {
            text: String::new(),
            slots: slots.clone(),
            matching,
            zones: zones::read(row.get(ZONES))?,
            names,
            since_ms: row.get(SINCE)?.as_n()?.to_i64()?,
            pending: Pending {
                entities: elements(row.get(ENTITIES)?, text)?,
                lists: elements(row.get(LISTS)?, pair)?,
                uniques: elements(row.get(UNIQUES)?, pair)?,
                // Versions that wrote neither had neither.
                counts: row.get(COUNTS).map_or(Some(BTreeSet::new()), |all| elements(all, pair))?,
                boards: row.get(BOARDS).map_or(Some(BTreeSet::new()), |all| elements(all, pair))?,
            },
            progress: Position { key, done },
        })
    }
}

fn word(matching: Matching) -> &'static str {
    match matching {
        Matching::Sets => "sets",
        Matching::Chunks => "chunks",
        Matching::Rows => "rows",
    }
}

fn elements<T: Ord>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<BTreeSet<T>> {
    let Value::L(values) = value else { return None };
    values.iter().map(read).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_s().map(str::to_owned)
}

fn pair(value: &Value) -> Option<(String, String)> {
    let Value::L(values) = value else { return None };
    let [left, right] = &values[..] else { return None };
    Some((text(left)?, text(right)?))
}

/// Splits the text between characters into pieces that fit into a row.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let end = (0..=PIECE_BYTES.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
