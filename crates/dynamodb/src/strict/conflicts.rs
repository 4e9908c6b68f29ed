//! Items in flight: which transactions and writes exclude each other.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom_store::{KeySchema, TableName};
use keyloom_value::{Item, KeyBytes};

/// An item of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemKey {
    table: TableName,
    key: Vec<u8>,
}

/// The items that requests in flight touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Conflicts(Arc<Mutex<InFlight>>);

#[derive(Debug, Default)]
struct InFlight {
    /// Items that a transaction writes or checks: at most one does.
    transactions: HashSet<ItemKey>,
    /// Items that single writes are writing, with their number.
    writes: HashMap<ItemKey, usize>,
    tokens: HashSet<String>,
    count: u64,
}

/// A request in flight. Dropping it ends it, also if its client has gone.
#[derive(Debug)]
pub(super) struct Flight {
    conflicts: Conflicts,
    transaction: HashSet<ItemKey>,
    write: Option<ItemKey>,
    token: Option<String>,
}

/// Why a transaction cannot start.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A transaction with the same token is in flight.
    InProgress,
    /// The items for which this is set are in another transaction.
    Conflicts(Vec<bool>),
}

impl ItemKey {
    pub(super) fn new(table: &TableName, schema: &KeySchema, item: &Item) -> ItemKey {
        let mut key = KeyBytes::new();
        for attribute in schema.attributes() {
            let value = item.get(attribute.name.as_str());
            // What cannot be a key is refused by the store, whatever it conflicts with.
            let _ = value.map(|value| key.push(value));
        }
        ItemKey { table: table.clone(), key: key.into_vec() }
    }
}

impl Conflicts {
    /// Starts a transaction, unless another one in flight has one of its items.
    pub(super) fn transaction(
        &self,
        items: Vec<ItemKey>,
        token: Option<&str>,
    ) -> Result<Flight, Refused> {
        let mut flying = self.lock();
        if token.is_some_and(|token| flying.tokens.contains(token)) {
            return Err(Refused::InProgress);
        }
        let taken: Vec<bool> =
            items.iter().map(|item| flying.transactions.contains(item)).collect();
        if taken.contains(&true) {
            flying.count += 1;
            return Err(Refused::Conflicts(taken));
        }
        flying.transactions.extend(items.iter().cloned());
        let token = token.map(str::to_owned);
        flying.tokens.extend(token.clone());
        // A transaction that names an item twice is invalid, which the store finds.
        let transaction = items.into_iter().collect();
        Ok(Flight { conflicts: self.clone(), transaction, write: None, token })
    }

    /// Starts a single write, unless a transaction in flight has its item.
    pub(super) fn write(&self, item: ItemKey) -> Option<Flight> {
        let mut flying = self.lock();
        if flying.transactions.contains(&item) {
            flying.count += 1;
            return None;
        }
        *flying.writes.entry(item.clone()).or_default() += 1;
        let write = Some(item);
        Some(Flight { conflicts: self.clone(), transaction: HashSet::new(), write, token: None })
    }

    /// Returns which of the items are being written, by a transaction or a single write.
    pub(super) fn written(&self, items: &[ItemKey]) -> Vec<bool> {
        let mut flying = self.lock();
        let is_written =
            |item| flying.transactions.contains(item) || flying.writes.contains_key(item);
        let written: Vec<bool> = items.iter().map(is_written).collect();
        flying.count += u64::from(written.contains(&true));
        written
    }

    /// Returns how many requests were refused.
    pub(super) fn count(&self) -> u64 {
        self.lock().count
    }

    fn lock(&self) -> MutexGuard<'_, InFlight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut flying = self.conflicts.lock();
        for item in &self.transaction {
            let was_there = flying.transactions.remove(item);
            debug_assert!(was_there, "an item in flight belongs to one transaction");
        }
        if let Some(token) = &self.token {
            flying.tokens.remove(token);
        }
        let Some(item) = &self.write else { return };
        match flying.writes.get_mut(item) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(flying.writes.remove(item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(n: u8) -> ItemKey {
        ItemKey { table: TableName::new("things").unwrap(), key: vec![n] }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Transaction(std::collections::BTreeSet<u8>),
        Write(u8),
        End(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            prop::collection::btree_set(0..6_u8, 1..4).prop_map(Step::Transaction),
            (0..6_u8).prop_map(Step::Write),
            any::<usize>().prop_map(Step::End),
        ]
    }

    proptest! {
        /// Against the list of what is in flight: a transaction starts if no other one has any of
        /// its items, a write if no transaction has its item, and whatever ends leaves nothing.
        #[test]
        fn requests_exclude_each_other_as_their_items_say(
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let conflicts = Conflicts::default();
            let mut flying: Vec<(Flight, Vec<u8>, bool)> = vec![];
            for step in steps {
                let has = |n: &u8| flying.iter().any(|(_, items, is_transaction)| {
                    *is_transaction && items.contains(n)
                });
                match step {
                    Step::Transaction(items) => {
                        let taken: Vec<bool> = items.iter().map(has).collect();
                        let keys = items.iter().map(|n| item(*n)).collect();
                        match conflicts.transaction(keys, None) {
                            Ok(flight) => {
                                prop_assert!(!taken.contains(&true));
                                flying.push((flight, items.into_iter().collect(), true));
                            }
                            Err(refused) => prop_assert_eq!(refused, Refused::Conflicts(taken)),
                        }
                    }
                    Step::Write(n) => {
                        let is_taken = has(&n);
                        let flight = conflicts.write(item(n));
                        prop_assert_eq!(flight.is_none(), is_taken);
                        flying.extend(flight.map(|flight| (flight, vec![n], false)));
                    }
                    Step::End(_) if flying.is_empty() => {}
                    Step::End(n) => drop(flying.remove(n % flying.len())),
                }
                let all: Vec<ItemKey> = (0..6).map(item).collect();
                let expected: Vec<bool> =
                    (0..6).map(|n| flying.iter().any(|(_, items, _)| items.contains(&n))).collect();
                prop_assert_eq!(conflicts.written(&all), expected);
            }
            drop(flying);
            prop_assert!(conflicts.lock().transactions.is_empty());
            prop_assert!(conflicts.lock().writes.is_empty());
        }
    }

    #[test]
    fn a_token_in_flight_is_in_progress() {
        let conflicts = Conflicts::default();
        let flight = conflicts.transaction(vec![item(1)], Some("t")).unwrap();
        let again = conflicts.transaction(vec![item(2)], Some("t"));
        assert_eq!(again.unwrap_err(), Refused::InProgress);
        drop(flight);
        assert!(conflicts.transaction(vec![item(1)], Some("t")).is_ok());
    }
}
