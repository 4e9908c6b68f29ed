//! What a step came to, in a form in which two stores can be compared: without the numbers of
//! the feed, and in an order of its own where stores are free to choose theirs.

use keyloom_store::{
    BatchGot, BatchWrite, Cause, Change, Error, Get, Members, Page, SetSize, TableDescription,
    TableName, TableSpec, Time,
};
use keyloom_value::Item;

use crate::client::words;
use crate::sample::sorted;

/// What a step came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was refused, with these words.
    Refused(String),
    /// It was done, and there is nothing to show.
    Done,
    /// The names of the tables.
    Tables(Vec<TableName>),
    /// A table as it is.
    Table(Box<TableDescription>),
    /// A table as it was made, altered or dropped. The states of its indexes are left out, because
    /// a store may fill an index later.
    Spec {
        /// The table.
        spec: Box<TableSpec>,
        /// Items in it.
        items: u64,
        /// Bytes of those items.
        bytes: u64,
    },
    /// An item, or an image.
    Item(Option<Item>),
    /// Items in the order of the request.
    Items(Vec<Option<Item>>),
    /// The pages of a query.
    Pages(Vec<Page>),
    /// All of a scan. Its order is the store's choice.
    Scanned {
        /// How many items each page looked at.
        pages: Vec<u64>,
        /// How many items passed the filter.
        count: u64,
        /// Bytes of what was looked at.
        bytes: u64,
        /// The items, sorted.
        items: Vec<Item>,
    },
    /// What a batch read found, sorted.
    Got {
        /// Items with their tables.
        items: Vec<(TableName, Item)>,
        /// What was left for later.
        unprocessed: Vec<Get>,
    },
    /// What a batch did not write.
    Leftover(BatchWrite),
    /// Changes without their numbers.
    Changes(Vec<Seen>),
    /// Sets, and their members on both sides of an ordinal.
    Sets(Vec<(SetSize, Members, Members)>),
}

/// A change without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it happened.
    pub at: Time,
    /// Why.
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
            Err(error) => Outcome::Refused(words(&error)),
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

    /// Items that expire at one moment do so in an order of the store's choosing.
    pub(super) fn changes(changes: Vec<Change>) -> Outcome {
        let seen = |change: Change| {
            let Change { seq: _, at, cause, key, old, new } = change;
            Seen { at, cause, key, old, new }
        };
        let mut changes: Vec<Seen> = changes.into_iter().map(seen).collect();
        let one_moment = |left: &Seen, right: &Seen| {
            left.at == right.at && [left, right].iter().all(|seen| seen.cause == Cause::Expiry)
        };
        for moment in changes.chunk_by_mut(one_moment) {
            moment.sort_by_cached_key(|seen| seen.key.to_string());
        }
        Outcome::Changes(changes)
    }
}
