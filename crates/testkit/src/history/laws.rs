//! Invariants of a single store at the end of any history.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_store::{Alteration, Feed, Scan, TableName};

use super::{Op, Outcome};
use crate::Client;
use crate::sample::sorted;

/// **The feed replays the table:** the changes of a table whose feed was on from the beginning,
/// applied in order to an empty table, give its items; and the old image of each change is what the
/// previous change left.
#[derive(Default)]
pub(super) struct Laws {
    /// Tables whose feed was on from the beginning.
    complete: BTreeSet<TableName>,
    /// Tables that the last transaction added numbers to.
    added_to: Vec<TableName>,
}

impl Laws {
    /// Tracks which tables the invariant applies to.
    pub(super) fn note(&mut self, op: &Op, outcome: &Outcome) {
        // A refused transaction can be repeated.
        if let Op::TransactWrite(transaction) = op {
            let added = transaction.numbers.iter().map(|number| number.table.clone());
            self.added_to = added.collect();
        }
        if matches!(outcome, Outcome::Refused(_)) {
            return;
        }
        match op {
            Op::Create(spec) if spec.feed == Feed::Images => {
                self.complete.insert(spec.name.clone());
            }
            Op::Drop(table) | Op::Alter(table, Alteration::SetFeed(Feed::Off)) => {
                self.complete.remove(table);
            }
            // Feeds do not include additions to numbers.
            Op::TransactWrite(_) | Op::Repeat => {
                self.complete.retain(|table| !self.added_to.contains(table));
            }
            _ => {}
        }
    }

    pub(super) fn check(&self, client: &Client) {
        for table in &self.complete {
            let mut items = BTreeMap::new();
            for change in client.feed(table, 5) {
                let key = change.key.to_string();
                assert_eq!(items.get(&key), change.old.as_ref(), "the old image of {change:?}");
                match change.new {
                    Some(new) => items.insert(key, new),
                    None => items.remove(&key),
                };
            }
            let replayed = sorted(items.into_values().collect());
            let stored = sorted(client.scan_items(&Scan::new(table)));
            assert_eq!(replayed, stored, "the feed of `{table}` replays it");
        }
    }
}
