//! Sums of what rows add to counters, beside the counters that are stored.
//!
//! Without a snapshot, a scan reads each row at a moment of its own. The change feed brings all of
//! them to one: [`Recount::change`] takes a change only if its old image adds to the same counters as
//! what is known of the row. A scan that has seen the row later has that change already; the changes
//! after what it has seen follow each other. A row that is as it was before, in what it adds, is no
//! exception: from the earlier one, the same changes lead to the same end.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Addend, Amount, Counter, RowKey, RowName};
use keyloom_store::Change;
use keyloom_value::{Item, Value};

use super::expected::Expected;

/// The approximate number of counters in one step.
const COUNTERS_MAX: usize = 500_000;

/// The counters of a range of hashes, recounted.
pub(super) struct Recount<'v> {
    expected: Expected<'v>,
    from: u64,
    /// The last hash.
    pub(super) to: u64,
    pub(super) counters: BTreeMap<Counter, Counted>,
    /// Whether rows were written under a model that is not known yet.
    pub(super) is_outdated: bool,
    rows: Rows,
    /// The current round of reading the feed.
    round: u32,
}

/// What is known of a counter.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// The sum of what rows add.
    pub(super) expected: Amount,
    /// The stored row.
    pub(super) found: Option<Item>,
    /// The round of reading the feed that last changed it or what is added to it; 0 is the scan.
    touched: u32,
    /// In how many rounds, up to the current one, it was what it should be.
    right_rounds: u32,
    pub(super) known: Known,
}

/// What is known of a counter for certain. It stays true, whatever is written afterwards.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Known {
    #[default]
    Nothing,
    Right,
    /// With the sum and the row of one moment.
    Wrong {
        expected: Amount,
        found: Option<Item>,
    },
}

/// Which rows are known.
enum Rows {
    /// All, at one moment: none has to be recognized.
    AtOnce,
    /// Each at a moment of its own: the hash of what each adds to, by the hash of its key. Rows that
    /// add to nothing are left out. This is 16 bytes a row, and what a hash table needs beyond.
    Each(HashMap<u64, u64>),
}

/// What a row says about counters.
#[derive(Default)]
struct Said {
    /// The counters that it adds to, and how much.
    adds: Vec<Addend>,
    /// The counter that it is.
    is: Option<Counter>,
    /// Whether it was written under a model that is not known yet.
    is_newer: bool,
}

impl Counted {
    /// The sum and the row of one moment.
    pub(super) fn at_rest(expected: Amount, found: Option<Item>) -> Counted {
        Counted { expected, found, ..Counted::default() }
    }

    /// Whether the stored row is what it should be. A row with 0 may remain.
    pub(super) fn is_right(&self, counter: &Counter) -> bool {
        let value = self.found.as_ref().and_then(Counter::value_of);
        counter.has_row(self.found.as_ref(), &self.expected)
            || (self.expected.count == 0 && value == Some(0))
    }
}

impl<'v> Recount<'v> {
    /// Nothing is counted yet. The rows will be read at one moment.
    pub(super) fn at_once(expected: Expected<'v>, from: u64) -> Recount<'v> {
        Recount {
            expected,
            from,
            to: u64::MAX,
            counters: BTreeMap::new(),
            is_outdated: false,
            rows: Rows::AtOnce,
            round: 0,
        }
    }

    /// Nothing is counted yet. The rows will be read one after the other, and followed by changes.
    pub(super) fn one_by_one(expected: Expected<'v>, from: u64) -> Recount<'v> {
        Recount { rows: Rows::Each(HashMap::new()), ..Recount::at_once(expected, from) }
    }

    /// Nothing is counted yet. The rows will be read again, to be compared.
    pub(super) fn again(&self) -> Recount<'v> {
        let rows = match &self.rows {
            Rows::AtOnce => Rows::AtOnce,
            Rows::Each(rows) => Rows::Each(HashMap::with_hasher(rows.hasher().clone())),
        };
        Recount { rows, ..Recount::at_once(self.expected, self.from) }
    }

    /// Whether all rows that were read add to the same counters, and all counters are the same.
    pub(super) fn is_same(&self, other: &Recount<'_>) -> bool {
        let are_same = match (&self.rows, &other.rows) {
            (Rows::Each(rows), Rows::Each(others)) => rows == others,
            (Rows::AtOnce, _) | (_, Rows::AtOnce) => false,
        };
        are_same && self.counters == other.counters
    }

    /// Begins the next round of reading the feed.
    pub(super) fn begin_round(&mut self) {
        self.round += 1;
    }

    /// Ends a round. What has rested for so many rounds is known; and what was right at the end of so
    /// many in a row. Returns whether everything is.
    pub(super) fn end_round(&mut self, rest_rounds: u32) -> bool {
        let (round, mut is_all) = (self.round, true);
        for (counter, counted) in &mut self.counters {
            if counted.known != Known::Nothing {
                continue;
            }
            let has_rested = round.saturating_sub(counted.touched) >= rest_rounds;
            let is_right = counted.is_right(counter);
            counted.right_rounds = if is_right { counted.right_rounds + 1 } else { 0 };
            if is_right && (has_rested || counted.right_rounds >= rest_rounds) {
                counted.known = Known::Right;
            } else if has_rested {
                let (expected, found) = (counted.expected.clone(), counted.found.clone());
                counted.known = Known::Wrong { expected, found };
            } else {
                is_all = false;
            }
        }
        is_all
    }

    /// Counts a row of a scan.
    pub(super) fn row(&mut self, row: Item) {
        let said = self.said(&row);
        self.is_outdated |= said.is_newer;
        if let Rows::Each(rows) = &mut self.rows
            && !said.adds.is_empty()
        {
            let hasher = rows.hasher();
            let (key, adds) = (hasher.hash_one(key_of(&row)), hasher.hash_one(&said.adds));
            rows.insert(key, adds);
        }
        self.add(said.adds);
        if let Some(counted) = said.is.and_then(|counter| self.counted(counter)) {
            counted.found = Some(row);
        }
    }

    /// Takes a change, if it follows what is known of its row.
    pub(super) fn change(&mut self, change: &Change) {
        let said = |row: &Option<Item>| row.as_ref().map(|row| self.said(row)).unwrap_or_default();
        let (old, new) = (said(&change.old), said(&change.new));
        self.is_outdated |= new.is_newer;
        let round = self.round;
        if let Some(counter) = old.is.or(new.is)
            && let Some(counted) = self.counted(counter)
            && counted.found == change.old
        {
            counted.found.clone_from(&change.new);
            counted.touched = round;
        }
        if self.follows(&change.key, &old.adds, &new.adds) {
            // What an entity keeps adding to is not touched.
            let mut changes: BTreeMap<Counter, Amount> = BTreeMap::new();
            for Addend { counter, amount } in new.adds {
                changes.entry(counter).or_default().add(&amount);
            }
            for Addend { counter, amount } in old.adds {
                changes.entry(counter).or_default().add(&amount.negated());
            }
            let changes = changes.into_iter().filter(|(_, change)| !change.is_zero());
            self.add(changes.map(|(counter, amount)| Addend { counter, amount }).collect());
        }
    }

    /// Whether a change follows what is known of a row; the row is then known after it.
    fn follows(&mut self, key: &Item, old: &[Addend], new: &[Addend]) -> bool {
        let Rows::Each(rows) = &mut self.rows else { return false };
        let hash = |adds: &[Addend]| (!adds.is_empty()).then(|| rows.hasher().hash_one(adds));
        let (key, old, new) = (rows.hasher().hash_one(key_of(key)), hash(old), hash(new));
        let follows = rows.get(&key).copied() == old;
        if follows {
            match new {
                Some(new) => drop(rows.insert(key, new)),
                None => drop(rows.remove(&key)),
            }
        }
        follows
    }

    fn add(&mut self, changes: Vec<Addend>) {
        let round = self.round;
        for Addend { counter, amount } in changes {
            if let Some(counted) = self.counted(counter) {
                counted.expected.add(&amount);
                counted.touched = round;
            }
        }
    }

    /// The entry of a counter; none if it is not in the range. With too many, the range is halved.
    fn counted(&mut self, counter: Counter) -> Option<&mut Counted> {
        if !(self.from..=self.to).contains(&hash(counter.key())) {
            return None;
        }
        while self.counters.len() >= COUNTERS_MAX && self.to > self.from {
            self.to = self.from + (self.to - self.from) / 2;
            let to = self.to;
            self.counters.retain(|counter, _| hash(counter.key()) <= to);
        }
        (hash(counter.key()) <= self.to).then(|| self.counters.entry(counter).or_default())
    }

    fn said(&self, row: &Item) -> Said {
        let layouts = &self.expected.schema.layouts;
        match self.expected.name_of(row) {
            Some(RowName::Own(_)) => {
                // An invalid row adds nothing; it is a finding of its own.
                let Ok(own) = layouts.current.read_own(row) else { return Said::default() };
                let is_newer = own.revision > layouts.current.revision();
                let counters = layouts.counters_before(&own).unwrap_or_default();
                // A change of a score belongs to the score.
                let settled = |Addend { counter, amount }| {
                    let counter = Counter::changed(&counter).unwrap_or(counter);
                    Addend { counter, amount }
                };
                let adds = counters.into_iter().map(settled).collect();
                Said { adds, is: None, is_newer }
            }
            Some(RowName::Counter(change @ Counter::Change(_))) => {
                // What is not settled yet, the score need not have.
                let by = Counter::value_of(row).unwrap_or(0);
                let addend = |counter| Addend { counter, amount: Amount::from(-by) };
                let adds = change.changed().filter(|_| by != 0).map(addend);
                Said { adds: adds.into_iter().collect(), ..Said::default() }
            }
            Some(RowName::Counter(counter)) => {
                let steps = counter.prefix_counts(Counter::value_of(row).unwrap_or(0));
                let addend =
                    |step| Addend { counter: Counter::Plain(step), amount: Amount::from(1) };
                let adds = steps.into_iter().map(addend).collect();
                Said { adds, is: Some(counter), is_newer: false }
            }
            Some(
                RowName::Link { .. }
                | RowName::Guard { .. }
                | RowName::Presence { .. }
                | RowName::Posting { .. }
                | RowName::System,
            )
            | None => Said::default(),
        }
    }
}

fn key_of(row: &Item) -> [Option<&[u8]>; 2] {
    [PARTITION, SORT].map(|name| row.get(name).and_then(Value::as_b))
}

/// FNV-1a: a stable position for every counter.
fn hash(key: &RowKey) -> u64 {
    let bytes = key.partition.as_bytes().iter().chain(key.sort.as_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}
