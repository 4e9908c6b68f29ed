//! Counters: rows that hold an amount to which entities add. Only [`CounterKeys::of`] decides which
//! counters an entity adds to, and what; a write adds the difference, so they always equal the sum.

use keyloom_value::{Item, KeyBytes, Name, Number, Score, Value};

use super::attribute::{COUNT, MOVED};
use super::counts::COUNTED;
use super::counts::{Breakdown, breakdowns, count_prefix, is_in_order, name_of_count};
use super::key::{bytes, own_sort};
use super::key_part::check_len;
use super::key_part::push_key;
use super::leaderboards::{
    CHANGE, ENTRY, PENDING_SCORE, PREFIX_COUNT, RANKED, RANKED_SLOT, board_of, board_of_change,
    partition_of, prefix_counts, settled_key,
};
use super::pending::{DELETION_BYTES_MAX, joined};
use super::shards::{self, shard_of};
use super::{
    Amount, CountKeys, Image, KeyTooLong, Layout, LeaderboardKeys, Pending, RowKey, Slot,
    SumTooLong,
};
use crate::model::{Count, Entity, EntityId, FieldType, OnDelete, Ranking};

/// A row that holds a number to which entities add.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// The number is all it holds.
    Plain(RowKey),
    /// How many entities have a value that is kept in order. There is no row for 0.
    InOrder(RowKey),
    /// How many entities have a value that a leaderboard ranks: its score there.
    Score(RowKey),
    /// How much a score has changed since it was settled; see `leaderboards.rs`.
    Change(RowKey),
    /// How much deletions are about to take from another counter. There is no row for 0.
    Pending(RowKey),
}

/// What an entity adds to a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addend {
    /// The counter.
    pub counter: Counter,
    /// One entity, with the values of fields that the counter adds up.
    pub amount: Amount,
}

/// The keys under which a score is ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedKey {
    /// The index of the entry.
    pub slot: Slot,
    /// The partition of the entry.
    pub entries: KeyBytes,
    /// What the sort key of the entry has after the score.
    pub suffix: KeyBytes,
    /// The partition of the prefix counts.
    pub prefix_counts: KeyBytes,
}

impl Counter {
    /// The key of its row.
    pub fn key(&self) -> &RowKey {
        match self {
            Counter::Plain(key)
            | Counter::InOrder(key)
            | Counter::Score(key)
            | Counter::Change(key)
            | Counter::Pending(key) => key,
        }
    }

    /// The whole row with this amount; none if it counts no entities.
    ///
    /// # Errors
    ///
    /// If no number is one of its sums.
    pub fn row(&self, amount: &Amount) -> Result<Option<Item>, SumTooLong> {
        let mut row = self.key().to_item();
        row.insert(COUNT, amount.count);
        for (attribute, sum) in amount.sums()? {
            row.insert(attribute, Value::N(sum));
        }
        Ok(self.ranked_row(row, amount.count).filter(|_| amount.count != 0))
    }

    /// The row, with the index key of a score.
    fn ranked_row(&self, mut row: Item, value: i64) -> Option<Item> {
        if let Counter::Score(key) = self {
            let (board, ranked) = board_of(key)?;
            let mut sort = Score::new(&Number::from(value)).into_key();
            push_key(&mut sort, &ranked);
            row.insert(RANKED_SLOT.partition(), partition_of(ENTRY, &board).into_vec());
            row.insert(RANKED_SLOT.sort(), sort.into_vec());
        }
        Some(row)
    }

    /// Whether a stored row is that of this amount, whenever it was settled, and whether or not it states
    /// sums of 0.
    pub fn has_row(&self, row: Option<&Item>, amount: &Amount) -> bool {
        let Ok(mut expected) = self.row(amount) else { return false };
        if let (Some(expected), Some(row)) = (&mut expected, row) {
            let is_open = |(name, value): &(&Name, &Value)| {
                name.as_str() == MOVED || Amount::is_zero_sum(name, value)
            };
            for (name, value) in row.iter().filter(is_open) {
                expected.insert(name, value.clone());
            }
        }
        row == expected.as_ref()
    }

    /// The prefix counts to which a score of this value adds.
    pub fn prefix_counts(&self, value: i64) -> Vec<RowKey> {
        match self {
            Counter::Score(key) if value != 0 => {
                let board = board_of(key).map(|(board, _)| board).unwrap_or_default();
                prefix_counts(&partition_of(PREFIX_COUNT, &board), &Number::from(value))
            }
            Counter::Plain(_)
            | Counter::InOrder(_)
            | Counter::Score(_)
            | Counter::Change(_)
            | Counter::Pending(_) => vec![],
        }
    }

    /// The keys under which it is ranked, if it is a score.
    pub fn ranking(&self) -> Option<RankedKey> {
        let Counter::Score(key) = self else { return None };
        let (board, value) = board_of(key)?;
        Some(RankedKey {
            slot: RANKED_SLOT,
            entries: partition_of(ENTRY, &board),
            suffix: bytes(&[value]),
            prefix_counts: partition_of(PREFIX_COUNT, &board),
        })
    }

    /// The maximum number of rows that adding to it touches.
    pub fn rows_max(&self) -> usize {
        match self {
            Counter::Plain(_) | Counter::InOrder(_) | Counter::Change(_) | Counter::Pending(_) => 1,
            Counter::Score(_) => SCORE_ROWS_MAX,
        }
    }

    /// The score that it changes, if it is a change of one.
    pub fn changed(&self) -> Option<Counter> {
        let Counter::Change(key) = self else { return None };
        let (mut board, value) = board_of_change(key)?;
        board.push(value);
        Some(Counter::Score(RowKey { partition: partition_of(RANKED, &board), sort: own_sort() }))
    }

    /// The row by which the operation that settles scores finds it, if it is a change of one.
    pub fn settled_by(&self) -> Option<RowKey> {
        match self {
            Counter::Change(key) => Some(settled_key(key)),
            Counter::Plain(_) | Counter::InOrder(_) | Counter::Score(_) | Counter::Pending(_) => {
                None
            }
        }
    }

    /// How many entities a row counts, if it is the row of a counter.
    pub fn value_of(row: &Item) -> Option<i64> {
        row.get(COUNT)?.as_n()?.to_i64()
    }

    /// The board and the value that it is the score of, or a change of that.
    fn ranked(&self) -> Option<(Vec<Value>, Value)> {
        match self {
            Counter::Score(key) => board_of(key),
            Counter::Change(key) => board_of_change(key),
            Counter::Plain(_) | Counter::InOrder(_) | Counter::Pending(_) => None,
        }
    }

    /// The counter of how much these deletions take from it; `None` if its key would be too long.
    fn pending(&self, deletions: &[&str]) -> Option<Counter> {
        let key = match self {
            Counter::Plain(RowKey { partition, sort })
            | Counter::InOrder(RowKey { partition, sort }) => {
                let mut sort = sort.clone();
                push_key(&mut sort, &joined(deletions));
                RowKey { partition: partition.clone(), sort }
            }
            Counter::Score(_) | Counter::Change(_) => {
                let (board, value) = self.ranked()?;
                let partition = partition_of(PENDING_SCORE, &board);
                RowKey { partition, sort: bytes(&[value, joined(deletions)]) }
            }
            Counter::Pending(_) => return None,
        };
        key.fits().then_some(Counter::Pending(key))
    }
}

/// The counters of a layout.
#[derive(Clone, Copy, Debug)]
pub struct CounterKeys<'l> {
    layout: &'l Layout,
}

impl<'l> CounterKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> CounterKeys<'l> {
        CounterKeys { layout }
    }

    /// Everything that an entity adds to counters.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn of(&self, image: &Image) -> Result<Vec<Addend>, KeyTooLong> {
        let entity = self.layout.model().entity(image.key.entity);
        let mut addends = vec![];
        for (id, count) in entity.counts() {
            let Some(by) = image.values_if(self.layout, &count.filter, &count.by) else { continue };
            let tenant = image.key.tenant.as_ref();
            let of = (image.key.entity, id);
            let partition = self.layout.counts().partition(of, tenant, &by)?;
            let (shard, shards) = (shard_of(&image.key.id, count.shards), count.shards);
            let in_partition = self.layout.shards(shards);
            let partition = shards::partition(&partition, shard, in_partition);
            check_len(&partition, RowKey::PARTITION_BYTES_MAX, || name_of_count(entity, count))?;
            let amount = self.amount(entity, count, image);
            for kept_by in breakdowns(count) {
                let Some(values) = self.values(count, &kept_by, image) else { continue };
                let mut sort = count_prefix(entity, &kept_by, &values);
                if shards > in_partition {
                    push_key(&mut sort, &Value::from(u64::from(shard)));
                }
                check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_count(entity, count))?;
                let key = RowKey { partition: partition.clone(), sort };
                addends.push(match kept_by.in_order {
                    None => Addend { counter: Counter::Plain(key), amount: amount.clone() },
                    Some(_) => Addend { counter: Counter::InOrder(key), amount: Amount::one() },
                });
            }
        }
        for (_, board) in entity.boards() {
            let counters = self.layout.leaderboards().counters(entity, board, image)?;
            let addend = |counter| Addend { counter, amount: Amount::one() };
            addends.extend(counters.into_iter().map(addend));
        }
        Ok(addends)
    }

    /// What decides to which of the counters that are kept by something an entity adds.
    fn values(&self, count: &Count, kept_by: &Breakdown, image: &Image) -> Option<Vec<Value>> {
        let mut values = image.values_if(self.layout, &[], &kept_by.fields)?;
        if let Some(window) = count.window.as_ref().filter(|_| kept_by.in_windows) {
            let time = image.value(self.layout, window.of)?.as_n()?.to_i64()?;
            values.push(Value::from(window.start(time)));
        }
        if let Some(field) = kept_by.in_order {
            values.push(image.value(self.layout, field)?);
        }
        Some(values)
    }

    /// What an entity adds to each counter of a count.
    fn amount(&self, entity: &Entity, count: &Count, image: &Image) -> Amount {
        count.sums.iter().fold(Amount::one(), |amount, field| {
            match image.value(self.layout, *field).as_ref().and_then(Value::as_n) {
                Some(value) => amount.with_value(entity.field(*field), value),
                None => amount,
            }
        })
    }

    /// Everything that an entity adds to counters of how much deletions are about to take.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn of_pending(&self, image: &Image, pending: &Pending) -> Result<Vec<Addend>, KeyTooLong> {
        if pending.is_empty() || !self.has_any(image.key.entity) {
            return Ok(vec![]);
        }
        let entity = self.layout.model().entity(image.key.entity);
        let takers = pending.takers((image, entity), |image| self.of(image))?;
        let pending = |(addend, takers): (Addend, Vec<&str>)| {
            let counter = addend.counter.pending(&takers)?;
            Some(Addend { counter, amount: addend.amount })
        };
        Ok(takers.into_iter().filter_map(pending).collect())
    }

    /// Whether entities of a kind add to counters.
    pub fn has_any(&self, entity: EntityId) -> bool {
        let entity = self.layout.model().entity(entity);
        !entity.counts.is_empty() || !entity.boards.is_empty()
    }

    /// The counter with this key, if the model has such a counter.
    pub fn find(&self, key: &RowKey) -> Option<Counter> {
        let parts = KeyBytes::decode(key.partition.as_bytes()).ok()?;
        let [letter, entity, name, ..] = &parts[..] else { return None };
        let entity = self.layout.model().entity(self.layout.model().find_stored(entity.as_s()?)?);
        let mut boards = entity.boards.iter();
        let mut has_board = || boards.any(|board| Some(board.name.as_str()) == name.as_s());
        match letter.as_s()? {
            COUNTED => {
                entity.find_count(name.as_s()?)?;
                let sort = key.sort.as_bytes();
                let counter = match CountKeys::takers(sort).is_some() {
                    true => Counter::Pending,
                    false if is_in_order(sort) => Counter::InOrder,
                    false => Counter::Plain,
                };
                Some(counter(key.clone()))
            }
            PREFIX_COUNT => {
                let is_pending =
                    LeaderboardKeys::prefix_count_takers(key.sort.as_bytes()).is_some();
                let counter = if is_pending { Counter::Pending } else { Counter::Plain };
                has_board().then(|| counter(key.clone()))
            }
            PENDING_SCORE => has_board().then(|| Counter::Pending(key.clone())),
            RANKED => has_board().then(|| Counter::Score(key.clone())),
            CHANGE => has_board().then(|| Counter::Change(key.clone())),
            _ => None,
        }
    }

    /// Checks that the key of a counter leaves room for the names of all deletions that can take from
    /// it at once: one that takes the entity, and one for each reference that is cleared. Readers
    /// could not know otherwise how much is taken.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn check_room(&self, entity: EntityId, counter: &Counter) -> Result<(), KeyTooLong> {
        let cleared = |link: &&super::Link| link.on_delete == OnDelete::Clear;
        let takers = 1 + self.layout.references().of(entity).iter().filter(cleared).count();
        // A text in a key has a byte before it and no more than two after it.
        let room = 3 + takers * (DELETION_BYTES_MAX + 1);
        let (key, bytes) = match counter {
            Counter::Plain(key) | Counter::InOrder(key) => (key, key.sort.as_bytes().len()),
            // What is taken from a score is stored under its value.
            Counter::Score(key) | Counter::Change(key) => match counter.ranked() {
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
        let what = format!("the counter `{}` of `{}`", part(2), part(1));
        Err(KeyTooLong { what, bytes, bytes_max: RowKey::SORT_BYTES_MAX - room })
    }
}

/// Whether rows of this partition are counters, of this model or another.
pub fn is_counter(partition: &[u8]) -> bool {
    let letter = KeyBytes::decode_part(partition).ok();
    letter.is_some_and(|(letter, _)| {
        [COUNTED, PREFIX_COUNT, RANKED, CHANGE, PENDING_SCORE]
            .into_iter()
            .any(|known| letter.as_s() == Some(known))
    })
}

/// The maximum number of rows that the counts and leaderboards of an entity touch in one change:
/// those it takes from, and those it adds to.
pub(crate) fn counter_rows_max(entity: &Entity) -> usize {
    let counts = entity.counts.iter().map(Count::counters);
    let boards = entity.boards.iter().map(|board| match board.ranking {
        Ranking::Count(_) => SCORE_ROWS_MAX,
        Ranking::Field(field) => {
            2 + match entity.field(field).of {
                FieldType::Number(_) => number_bytes_max(38),
                FieldType::Int(_) => number_bytes_max(19),
                _ => number_bytes_max(15),
            }
        }
    });
    counts.chain(boards).fold(0usize, |sum, rows| sum.saturating_add(rows.saturating_mul(2)))
}

/// The row of a value, and the prefix counts of its old and its new score.
const SCORE_ROWS_MAX: usize = 1 + 2 * (2 + number_bytes_max(12));

/// How many prefixes a number with so many digits has: its digits in pairs, and its end.
const fn number_bytes_max(digits: usize) -> usize {
    digits.div_ceil(2) + 1
}
