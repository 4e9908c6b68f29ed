//! Numbers that entities add up to: counts, and what boards rank by. `counters(image)` says to which
//! of them an entity adds 1; whoever changes it adds the difference, so they are always the sum.
//!
//! ```text
//! row                     PK                                              SK
//! a number of a count     "q", entity, count, [tenant], by                names of fields, values, [shard]
//! a step of a board       "h", entity, board, [tenant], by                depth, beginning of a score
//! a value on a board      "g", entity, board, [tenant], by, value         0
//! its place, in an index  "b", entity, board, [tenant], by                score, value or id
//! ```
//!
//! Scores are negative in keys, so that the greatest comes first. A step is how many scores on a
//! board begin with these bytes: who has a better one is the sum of the steps before, byte by byte.

use keyloom_value::{Item, KeyBytes, Number, Score, Value};

use super::attribute::COUNT;
use super::key::{bytes, own_sort, push_tenant, words};
use super::pending::PENDING_SCORE;
use super::rows::{check_len, equality, passes, push_key};
use super::{Image, KeyTooLong, Layout, RowKey, Slot};
use crate::model::{Board, BoardId, Count, CountId, Entity, EntityId, FieldId, Ranking, Test};

pub(super) const COUNTED: &str = "q";
const STEP: &str = "h";
const RANKED: &str = "g";
pub(super) const PLACE: &str = "b";

/// Where values that boards rank have their places: rows of their own, so all boards share it.
const RANKED_SLOT: Slot = Slot(0);

/// A row that holds a number, to which entities add.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// The number is all there is.
    Plain(RowKey),
    /// How many entities have a value that a board ranks. It is on the board with this score.
    Score(RowKey),
    /// How much deletions are about to take of another number. There is no row for nothing.
    Pending(RowKey),
}

/// Where a score is ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedPlace {
    /// The index that has the place.
    pub slot: Slot,
    /// The partition of the place.
    pub place: KeyBytes,
    /// What its sort key has after the score.
    pub ending: KeyBytes,
    /// The partition of the steps.
    pub steps: KeyBytes,
}

impl Counter {
    /// Where it is.
    pub fn key(&self) -> &RowKey {
        match self {
            Counter::Plain(key) | Counter::Score(key) | Counter::Pending(key) => key,
        }
    }

    /// All of the row if this is the number; no row if it is nothing.
    pub fn row(&self, number: i64) -> Option<Item> {
        if number == 0 {
            return None;
        }
        let mut row = self.key().to_item();
        row.insert(COUNT, number);
        if let Counter::Score(key) = self {
            let (board, value) = board_of(key)?;
            let mut sort = Score::new(&Number::from(number)).into_key();
            push_key(&mut sort, &value);
            row.insert(RANKED_SLOT.partition(), partition_of(PLACE, &board).into_vec());
            row.insert(RANKED_SLOT.sort(), sort.into_vec());
        }
        Some(row)
    }

    /// The steps to which a score of this number adds.
    pub fn steps(&self, number: i64) -> Vec<RowKey> {
        match self {
            Counter::Score(key) if number != 0 => {
                let board = board_of(key).map(|(board, _)| board).unwrap_or_default();
                steps(&partition_of(STEP, &board), &Number::from(number))
            }
            Counter::Plain(_) | Counter::Score(_) | Counter::Pending(_) => vec![],
        }
    }

    /// Where a score is ranked: the partition of its place, what its sort key ends with, and the
    /// partition of the steps. Nowhere, if it is no score.
    pub fn ranking(&self) -> Option<RankedPlace> {
        let Counter::Score(key) = self else { return None };
        let (board, value) = board_of(key)?;
        let (place, steps) = (partition_of(PLACE, &board), partition_of(STEP, &board));
        Some(RankedPlace { slot: RANKED_SLOT, place, ending: bytes(&[value]), steps })
    }

    /// The most rows that adding to it touches.
    pub fn rows_max(&self) -> usize {
        match self {
            Counter::Plain(_) | Counter::Pending(_) => 1,
            Counter::Score(_) => SCORE_ROWS_MAX,
        }
    }

    /// The number that a row holds; nothing if it holds none.
    pub fn number(row: &Item) -> Option<i64> {
        row.get(COUNT)?.as_n()?.to_i64()
    }
}

impl Layout {
    /// Everything to which an entity adds 1.
    ///
    /// # Errors
    ///
    /// If its values do not fit into a key.
    pub fn counters(&self, image: &Image) -> Result<Vec<Counter>, KeyTooLong> {
        let entity = self.model().entity(image.key.entity);
        let mut counters = vec![];
        for (id, count) in entity.counts() {
            let Some(by) = self.values_if(&count.filter, &count.by, image) else { continue };
            let tenant = image.key.tenant.as_ref();
            let partition = self.count_partition((image.key.entity, id), tenant, &by)?;
            for fields in subsets(&count.split) {
                let Some(values) = self.values_if(&[], &fields, image) else { continue };
                let mut sort = cell_prefix(entity, &fields, &values);
                if count.shards > 1 {
                    push_key(&mut sort, &Value::from(u64::from(shard(&image.key.id, count))));
                }
                check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_count(entity, count))?;
                counters.push(Counter::Plain(RowKey { partition: partition.clone(), sort }));
            }
        }
        for (_, board) in entity.boards() {
            counters.extend(self.board_counters(entity, board, image)?);
        }
        Ok(counters)
    }

    fn board_counters(
        &self,
        entity: &Entity,
        board: &Board,
        image: &Image,
    ) -> Result<Vec<Counter>, KeyTooLong> {
        let Some(by) = self.values_if(&board.filter, &board.by, image) else { return Ok(vec![]) };
        let tenant = image.key.tenant.as_ref();
        match board.ranking {
            Ranking::Count(field) => {
                let Some(value) = image.value(self, field) else { return Ok(vec![]) };
                let key = ranked_key((entity, board, field), (tenant, &by), &value)?;
                Ok(vec![Counter::Score(key)])
            }
            Ranking::Field(field) => {
                let Some(Value::N(score)) = image.value(self, field) else { return Ok(vec![]) };
                let partition = board_key(STEP, (entity, board), (tenant, &by))?;
                Ok(steps(&partition, &score).into_iter().map(Counter::Plain).collect())
            }
        }
    }

    /// The place of an entity on a board that ranks entities, if it is on it.
    pub(super) fn board_place(
        &self,
        entity: &Entity,
        board: &Board,
        image: &Image,
    ) -> Result<Option<(KeyBytes, KeyBytes)>, KeyTooLong> {
        let Ranking::Field(field) = board.ranking else { return Ok(None) };
        let by = self.values_if(&board.filter, &board.by, image);
        let Some((by, Value::N(score))) = by.zip(image.value(self, field)) else {
            return Ok(None);
        };
        let partition = board_key(PLACE, (entity, board), (image.key.tenant.as_ref(), &by))?;
        let mut sort = Score::new(&score).into_key();
        push_key(&mut sort, &Value::from(image.key.id.as_str()));
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_board(entity, board))?;
        Ok(Some((partition, sort)))
    }

    /// The values of fields of an entity, if it has all of them and passes the tests.
    pub(super) fn values_if(
        &self,
        tests: &[Test],
        fields: &[FieldId],
        image: &Image,
    ) -> Option<Vec<Value>> {
        let value = |field: &FieldId| image.value(self, *field);
        let passes = tests.iter().all(|test| passes(test, value(&test.field).as_ref()));
        passes.then(|| fields.iter().map(value).collect())?
    }

    /// Whether entities of a kind add to numbers.
    pub fn has_counters(&self, entity: EntityId) -> bool {
        let entity = self.model().entity(entity);
        !entity.counts.is_empty() || !entity.boards.is_empty()
    }

    /// The number that a row holds, as its key says, if the model has such numbers.
    pub fn counter(&self, key: &RowKey) -> Option<Counter> {
        let parts = KeyBytes::decode(key.partition.as_bytes()).ok()?;
        let [letter, entity, name, ..] = &parts[..] else { return None };
        let entity = self.model().entity(self.model().find(entity.as_s()?)?);
        let mut boards = entity.boards.iter();
        let mut has_board = || boards.any(|board| Some(board.name.as_str()) == name.as_s());
        match letter.as_s()? {
            COUNTED => {
                entity.find_count(name.as_s()?)?;
                let is_pending = Layout::takers_of_cell(key.sort.as_bytes()).is_some();
                Some(if is_pending { Counter::Pending } else { Counter::Plain }(key.clone()))
            }
            STEP => {
                let is_pending = Layout::takers_of_step(key.sort.as_bytes()).is_some();
                let counter = if is_pending { Counter::Pending } else { Counter::Plain };
                has_board().then(|| counter(key.clone()))
            }
            PENDING_SCORE => has_board().then(|| Counter::Pending(key.clone())),
            RANKED => has_board().then(|| Counter::Score(key.clone())),
            _ => None,
        }
    }

    /// The partition of the numbers of a count: that of a tenant, if the entity has one, and of one
    /// value for each field of `by`.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn count_partition(
        &self,
        (id, count): (EntityId, CountId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.model().entity(id);
        let count = entity.count(count);
        let mut key = words(&[COUNTED, &entity.name, &count.name]);
        push_tenant(&mut key, tenant);
        push_values(&mut key, entity, &count.by, by);
        check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_count(entity, count))?;
        Ok(key)
    }

    /// The beginning of the sort keys of all numbers of a count that are told by these fields, in
    /// the order of `split`, and have these values of the first of them.
    pub fn cell_prefix(&self, entity: EntityId, fields: &[FieldId], values: &[Value]) -> KeyBytes {
        cell_prefix(self.model().entity(entity), fields, values)
    }

    /// The values that a number of a count is told by, as its sort key says.
    pub fn cell_values(
        &self,
        entity: EntityId,
        fields: &[FieldId],
        sort: &[u8],
    ) -> Option<Vec<Value>> {
        let parts = KeyBytes::decode(sort).ok()?;
        let values = parts.get(1..=fields.len())?.iter().zip(fields);
        Some(values.map(|(value, field)| self.from_key(entity, *field, value)).collect())
    }

    /// A value of a field, of what stands for it in a key.
    pub fn from_key(&self, entity: EntityId, field: FieldId, value: &Value) -> Value {
        let field = self.model().entity(entity).field(field);
        match (&field.of, value) {
            (crate::FieldType::Bool, Value::N(number)) => Value::Bool(number.to_i64() == Some(1)),
            _ => value.clone(),
        }
    }

    /// The partition of the places on a board; see [`Layout::count_partition`].
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: nothing is on such a board.
    pub fn board_partition(
        &self,
        (id, board): (EntityId, BoardId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.model().entity(id);
        board_key(PLACE, (entity, entity.board(board)), (tenant, by))
    }

    /// The row of a value that a board ranks.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn ranked_key(
        &self,
        (id, board): (EntityId, BoardId),
        (tenant, by): (Option<&Value>, &[Value]),
        (field, value): (FieldId, &Value),
    ) -> Result<RowKey, KeyTooLong> {
        let entity = self.model().entity(id);
        ranked_key((entity, entity.board(board), field), (tenant, by), value)
    }

    /// Where a board is.
    pub fn board_slot(&self, entity: EntityId, board: BoardId) -> Slot {
        self.layout_of(entity).slots.boards[board.index()].unwrap_or(RANKED_SLOT)
    }

    /// Where a value stands on a board that ranks values, with a score.
    pub fn score_place(
        &self,
        (id, field): (EntityId, FieldId),
        score: &Number,
        value: &Value,
    ) -> KeyBytes {
        let mut place = Score::new(score).into_key();
        push_key(&mut place, &equality(self.model().entity(id), field, value));
        place
    }

    /// The beginning of the sort keys of all places with a score.
    pub fn score_prefix(score: &Number) -> KeyBytes {
        Score::new(score).into_key()
    }

    /// The row that says how many there are on a board.
    pub fn board_size_key(places: &KeyBytes) -> RowKey {
        RowKey { partition: steps_of(places), sort: size_step() }
    }

    /// The row that says how many on a board have a score.
    pub fn score_size_key(places: &KeyBytes, score: &Number) -> RowKey {
        let all = steps(&steps_of(places), score);
        all.into_iter().next_back().unwrap_or_else(|| Layout::board_size_key(places))
    }

    /// The partition of the steps of a board, of that of its places.
    pub fn steps_partition(places: &KeyBytes) -> KeyBytes {
        steps_of(places)
    }

    /// The steps that together say how many on a board have a better score: sort keys from and to,
    /// none of which is an end itself.
    pub fn better_steps(score: &Number) -> Vec<(Vec<u8>, Vec<u8>)> {
        Score::new(score).better_steps()
    }

    /// The score and what has it, of a place on a board.
    pub fn read_place(sort: &[u8]) -> Option<(Number, Value)> {
        let parts = KeyBytes::decode(sort).ok()?;
        // What follows are deletions that are about to take it.
        let [Value::N(score), value, ..] = &parts[..] else { return None };
        Some((Score::negated(score), value.clone()))
    }
}

/// Whether a row is one of numbers, of this model or another.
pub fn is_counter(partition: &[u8]) -> bool {
    let letter = KeyBytes::decode_part(partition).ok();
    letter.is_some_and(|(letter, _)| {
        [COUNTED, STEP, RANKED, PENDING_SCORE].into_iter().any(|known| letter.as_s() == Some(known))
    })
}

/// The most rows that the counts and boards of an entity touch in one change: what is taken from,
/// and what is added to.
pub(crate) fn counter_rows_max(entity: &Entity) -> usize {
    let cells = |count: &Count| 1usize.checked_shl(count.split.len() as u32);
    let counts = entity.counts.iter().map(|count| cells(count).unwrap_or(usize::MAX / 4));
    let boards = entity.boards.iter().map(|board| match board.ranking {
        Ranking::Count(_) => SCORE_ROWS_MAX,
        Ranking::Field(field) => {
            2 + match entity.field(field).of {
                crate::FieldType::Number(_) => number_bytes_max(38),
                crate::FieldType::Int(_) => number_bytes_max(19),
                _ => number_bytes_max(15),
            }
        }
    });
    counts.chain(boards).fold(0usize, |sum, rows| sum.saturating_add(rows.saturating_mul(2)))
}

/// The row of a value, and the steps of the score that it had and of the one that it gets.
const SCORE_ROWS_MAX: usize = 1 + 2 * (2 + number_bytes_max(12));

/// Bytes of a number of so many digits that are steps of their own: its digits in pairs and its end.
const fn number_bytes_max(digits: usize) -> usize {
    digits.div_ceil(2) + 1
}

/// Every part of these fields, in their order; the empty one first.
fn subsets(fields: &[FieldId]) -> Vec<Vec<FieldId>> {
    fields.iter().fold(vec![vec![]], |subsets, field| {
        let with = subsets.iter().map(|subset| [subset.as_slice(), &[*field]].concat());
        let with: Vec<Vec<FieldId>> = with.collect();
        [subsets, with].concat()
    })
}

/// The names of the fields keep numbers by different fields apart.
fn cell_prefix(entity: &Entity, fields: &[FieldId], values: &[Value]) -> KeyBytes {
    let names: Vec<&str> = fields.iter().map(|id| entity.field(*id).name.as_str()).collect();
    let mut key = words(&[&names.join(",")]);
    push_values(&mut key, entity, fields, values);
    key
}

/// In which of its rows an entity is counted: always in the same one.
fn shard(id: &str, count: &Count) -> u32 {
    // FNV-1a: simple, and the same for ever.
    let hash = id
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % count.shards
}

fn board_key(
    letter: &str,
    (entity, board): (&Entity, &Board),
    (tenant, by): (Option<&Value>, &[Value]),
) -> Result<KeyBytes, KeyTooLong> {
    let mut key = words(&[letter, &entity.name, &board.name]);
    push_tenant(&mut key, tenant);
    push_values(&mut key, entity, &board.by, by);
    check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_board(entity, board))?;
    Ok(key)
}

fn ranked_key(
    (entity, board, field): (&Entity, &Board, FieldId),
    (tenant, by): (Option<&Value>, &[Value]),
    value: &Value,
) -> Result<RowKey, KeyTooLong> {
    let mut partition = board_key(RANKED, (entity, board), (tenant, by))?;
    let value = equality(entity, field, value);
    push_key(&mut partition, &value);
    check_len(&partition, RowKey::PARTITION_BYTES_MAX, || name_of_board(entity, board))?;
    // Its place has the value after the longest score.
    let mut place = Score::new(&Number::from(i64::MAX)).into_key();
    push_key(&mut place, &value);
    check_len(&place, RowKey::SORT_BYTES_MAX, || name_of_board(entity, board))?;
    Ok(RowKey { partition, sort: own_sort() })
}

/// The parts of a board's keys, without the letter, and the value that a row of it is of.
pub(super) fn board_of(ranked: &RowKey) -> Option<(Vec<Value>, Value)> {
    let mut parts = KeyBytes::decode(ranked.partition.as_bytes()).ok()?;
    let value = parts.pop()?;
    parts.drain(..1.min(parts.len()));
    Some((parts, value))
}

pub(super) fn partition_of(letter: &str, board: &[Value]) -> KeyBytes {
    let mut key = words(&[letter]);
    board.iter().for_each(|part| push_key(&mut key, part));
    key
}

fn steps(partition: &KeyBytes, score: &Number) -> Vec<RowKey> {
    let step = |sort: KeyBytes| RowKey { partition: partition.clone(), sort };
    Score::new(score).steps().map(step).collect()
}

/// The sort key of the step of all scores.
fn size_step() -> KeyBytes {
    Score::new(&Number::from(0)).steps().next().unwrap_or_default()
}

/// The partition of the steps of a board, of that of its places.
fn steps_of(places: &KeyBytes) -> KeyBytes {
    let mut parts = KeyBytes::decode(places.as_bytes()).unwrap_or_default();
    parts.drain(..1.min(parts.len()));
    partition_of(STEP, &parts)
}

fn push_values(key: &mut KeyBytes, entity: &Entity, fields: &[FieldId], values: &[Value]) {
    for (field, value) in fields.iter().zip(values) {
        push_key(key, &equality(entity, *field, value));
    }
}

fn name_of_count(entity: &Entity, count: &Count) -> String {
    format!("the count `{}` of `{}`", count.name, entity.name)
}

fn name_of_board(entity: &Entity, board: &Board) -> String {
    format!("the board `{}` of `{}`", board.name, entity.name)
}
