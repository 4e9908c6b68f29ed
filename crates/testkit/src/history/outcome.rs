//! The outcomes of steps, in a form in which two stores can be compared: without sequence numbers,
//! and sorted where stores are free to choose the order.

use keyloom_store::{
    BatchGot, BatchWrite, Cause, Change, Error, Get, Members, Page, SetSize, TableDescription,
    TableName, TableSpec, Time,
};
use keyloom_value::Item;

use crate::client::debug_text;
use crate::sample::sorted;

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was refused, with this error.
    Refused(String),
    /// It succeeded without a result.
    Done,
    /// The names of the tables.
    Tables(Vec<TableName>),
    /// The description of a table.
    Table(Box<TableDescription>),
    /// A table that was created, altered or dropped. The states of its indexes are omitted, because
    /// a store may build an index later.
    Spec {
        /// The table.
        spec: Box<TableSpec>,
        /// Number of items.
        items: u64,
        /// Size of these items.
        bytes: u64,
    },
    /// An item, or an image.
    Item(Option<Item>),
    /// Items in the order of the request.
    Items(Vec<Option<Item>>),
    /// The pages of a query.
    Pages(Vec<Page>),
    /// All of a scan, whose order is up to the store.
    Scanned {
        /// How many items each page read.
        pages: Vec<u64>,
        /// How many items passed the filter.
        count: u64,
        /// Size of the items read.
        bytes: u64,
        /// The items, sorted.
        items: Vec<Item>,
    },
    /// The result of a batch read, sorted.
    Got {
        /// Items with their tables.
        items: Vec<(TableName, Item)>,
        /// What was left unprocessed.
        unprocessed: Vec<Get>,
    },
    /// What a batch did not write.
    Unprocessed(BatchWrite),
    /// Changes without their sequence numbers.
    Changes(Vec<Seen>),
    /// Sets, and their members on both sides of an ordinal.
    Sets(Vec<(SetSize, Members, Members)>),
}

/// A change without its sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it happened.
    pub at: Time,
    /// Why it happened.
    pub cause: Cause,
    /// The item's key.
    pub key: Item,
    /// The item before.
    pub old: Option<Item>,
    /// The item after.
    pub new: Option<Item>,
}

impl Outcome {
    pub(super) fn of<T>(result: Result<T, Error>, show: impl FnOnce(T) -> Outcome) -> Outcome {
        match result {
            Ok(answer) => show(answer),
            Err(error) => Outcome::Refused(debug_text(&error)),
        }
    }

    pub(super) fn spec(description: TableDescription) -> Outcome {
        let TableDescription { spec, items, bytes, created: _, indexes: _ } = description;
        Outcome::Spec { spec: Box::new(spec), items, bytes }
    }

    pub(super) fn scanned(pages: Vec<Page>) -> Outcome {
        Outcome::Scanned {
            count: pages.iter().map(|page| page.count).sum(),
            bytes: pages.iter().map(|page| page.scanned_bytes).sum(),
            pages: pages.iter().map(|page| page.scanned).collect(),
            items: sorted(pages.into_iter().flat_map(|page| page.items).collect()),
        }
    }

    pub(super) fn got(got: BatchGot) -> Outcome {
        let BatchGot { mut items, mut unprocessed } = got;
        items.sort_by_cached_key(|(table, item)| (table.clone(), item.to_string()));
        unprocessed.sort_by_cached_key(|get| (get.table.clone(), get.key.to_string()));
        Outcome::Got { items, unprocessed }
    }

    /// Items that expire at the same time do so in an order chosen by the store.
    pub(super) fn changes(changes: Vec<Change>) -> Outcome {
        let seen = |change: Change| {
            let Change { seq: _, at, cause, key, old, new } = change;
            Seen { at, cause, key, old, new }
        };
        let mut changes: Vec<Seen> = changes.into_iter().map(seen).collect();
        let at_same_time = |left: &Seen, right: &Seen| {
            left.at == right.at && [left, right].iter().all(|seen| seen.cause == Cause::Expiry)
        };
        for simultaneous in changes.chunk_by_mut(at_same_time) {
            simultaneous.sort_by_cached_key(|seen| seen.key.to_string());
        }
        Outcome::Changes(changes)
    }
}
