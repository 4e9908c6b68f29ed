//! Scores of a leaderboard from which deletions have taken something that is not removed yet, and what
//! is left of them. A score and how much of it is taken are separate rows, which are read together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;

use keyloom_model::attribute::SORT;
use keyloom_model::{BoardId, Counter, EntityId, FieldId, LeaderboardKeys, Unreadable};
use keyloom_store::yield_point;
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::error::unreadable;
use crate::fetch::{BATCH_MAX, RawKey, Rows};
use crate::partition::Partition;
use crate::span::Span;
use crate::visible::{ReadState, Verdict};
use crate::{Error, ReadCost, Reader};

/// How many rows one request reads.
const PAGE_ROWS: usize = 1_000;
/// How many rows the first request for one value reads: few values have more.
const SEEK_ROWS: usize = 8;
/// Skipping this many rows costs about as much as seeking a value.
const PAGE_ROWS_A_VALUE: usize = 16;
/// How many scores of one board are kept in memory while it is read. If there are more, each is read
/// whenever it matters.
const HELD_MAX: usize = 1_000;

/// The scores of a leaderboard of values.
pub(crate) struct Scores<'s> {
    pub(crate) reader: &'s Reader<'s>,
    pub(crate) of: (EntityId, BoardId),
    pub(crate) field: FieldId,
    pub(crate) owner: (Option<&'s Value>, &'s [Value]),
    pub(crate) entries: KeyBytes,
}

/// Scores from which deletions have taken something, by the key of their value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenScores(BTreeMap<Vec<u8>, TakenScore>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TakenScore {
    /// The value that has the score.
    pub(crate) of: Value,
    /// The score that the board has.
    pub(crate) stored: i64,
    /// What deletions leave of it.
    pub(crate) left: i64,
}

/// What deletions have taken from the scores of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All of it, in memory.
    Held(TakenScores),
    /// More than is kept.
    Many,
}

/// A value from which deletions have taken something.
struct TakenRows {
    /// The key of the value.
    key: Vec<u8>,
    of: Value,
    /// The rows that say how much is taken of its score.
    rows: Vec<RawKey>,
    /// The sum of these rows when they were read.
    taken: i64,
}

/// A cursor over the values of a board from which deletions have taken something, in order of their
/// keys. Keeps at most a page of them.
struct TakenCursor<'c> {
    board: &'c Scores<'c>,
    partition: KeyBytes,
    /// What is left to read; none at the end.
    rest: Option<Span>,
    /// What was read. More rows of the last value may follow as long as something is left to read.
    ahead: VecDeque<TakenRows>,
    /// How many rows the next page has.
    page_rows: usize,
    /// How many values were sought in the last page.
    sought: usize,
}

/// Visits scores, each with the key of its value, until it breaks.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], TakenScore) -> ControlFlow<()> + Send + 'v;

impl Taken {
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Taken::Held(scores) if scores.0.is_empty())
    }
}

impl TakenScores {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether something is taken from the score of the value with a key.
    pub(crate) fn has(&self, value: &[u8]) -> bool {
        self.0.contains_key(value)
    }

    /// The score of the value in an index key.
    pub(crate) fn at(&self, place: &[u8]) -> Option<&TakenScore> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(KeyBytes::skip_part(place).ok()?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TakenScore> {
        self.0.values()
    }
}

impl TakenScore {
    /// 1 if it passes a test only after deletions, -1 if only before, otherwise 0.
    pub(crate) fn correction(&self, passes: impl Fn(&Number) -> bool) -> i64 {
        let passes = |score: i64| i64::from(score > 0 && passes(&Number::from(score)));
        passes(self.left) - passes(self.stored)
    }
}

impl Scores<'_> {
    /// Reads the scores from which deletions have taken something, if they can be kept.
    pub(crate) async fn taken(&self, state: &mut ReadState) -> Result<Taken, Error> {
        let mut scores = TakenScores::default();
        let mut is_whole = true;
        let mut keep = |key: &[u8], score: TakenScore| {
            is_whole = scores.0.len() < HELD_MAX;
            if !is_whole {
                return ControlFlow::Break(());
            }
            scores.0.insert(key.to_vec(), score);
            ControlFlow::Continue(())
        };
        self.each_taken(state, &mut keep).await?;
        Ok(if is_whole { Taken::Held(scores) } else { Taken::Many })
    }

    /// Visits the scores from which deletions have taken something, in order of the values that have
    /// them. Keeps no more than a page of them.
    pub(crate) async fn each_taken(
        &self,
        state: &mut ReadState,
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let mut cursor = TakenCursor::new(self, PAGE_ROWS);
        cursor.read_page(state).await?;
        // While a large deletion only marks, its rows say nothing: they need not be read.
        if cursor.rest.is_some() && !state.has_any_happened(self.reader.rows()).await? {
            return Ok(());
        }
        loop {
            let page = cursor.take_page(state).await?;
            if page.is_empty() {
                return Ok(());
            }
            for batch in self.batches(page) {
                if batch.visit(self.reader.rows(), &mut state.cost, visit).await?.is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// Reads what deletions have taken from the score of one value, by its key.
    pub(crate) async fn taken_of(
        &self,
        key: &[u8],
        state: &mut ReadState,
    ) -> Result<Option<TakenScore>, Error> {
        let mut cursor = TakenCursor::new(self, SEEK_ROWS);
        cursor.seek(key, state).await?;
        let taken = cursor.ahead.pop_front().filter(|taken| taken.key == key);
        let mut found = None;
        let mut keep = |_: &[u8], score: TakenScore| {
            found = Some(score);
            ControlFlow::Continue(())
        };
        for batch in self.batches(taken.into_iter().collect()) {
            let _ = batch.visit(self.reader.rows(), &mut state.cost, &mut keep).await?;
        }
        Ok(found)
    }

    /// From which of these values, given by their keys, deletions have taken something. Values that
    /// are close together are read together.
    pub(crate) async fn taken_among(
        &self,
        keys: BTreeSet<Vec<u8>>,
        state: &mut ReadState,
    ) -> Result<BTreeSet<Vec<u8>>, Error> {
        let mut cursor = TakenCursor::new(self, SEEK_ROWS);
        let mut found = BTreeSet::new();
        for key in keys {
            yield_point().await;
            cursor.seek(&key, state).await?;
            if cursor.ahead.front().is_some_and(|next| next.key == key && next.taken != 0) {
                found.insert(key);
            }
        }
        Ok(found)
    }

    /// Values in batches of as many rows as a store reads at one moment.
    fn batches(&self, taken: Vec<TakenRows>) -> Vec<ScoreBatch> {
        let reader = self.reader;
        let mut batches = vec![ScoreBatch::default()];
        for mut one in taken {
            let Ok(score) =
                reader.layout.leaderboards().score_key(self.of, self.owner, self.field, &one.of)
            else {
                continue;
            };
            // In a snapshot they are unchanged since they were found.
            let rows = match reader.store.is_snapshot() {
                true => vec![],
                false => std::mem::take(&mut one.rows),
            };
            let count = 1 + rows.len();
            if batches.last().is_some_and(|batch| batch.keys.len() + count > BATCH_MAX) {
                batches.push(ScoreBatch::default());
            }
            let Some(batch) = batches.last_mut() else { continue };
            batch.keys.push(RawKey::from(&score));
            batch.keys.extend(rows);
            batch.values.push(BatchValue { taken: one, rows: count });
        }
        batches
    }
}

/// Values whose scores are read together.
#[derive(Default)]
struct ScoreBatch {
    values: Vec<BatchValue>,
    /// For each value the key of its score, then those of the rows that say what is taken of it.
    keys: Vec<RawKey>,
}

struct BatchValue {
    taken: TakenRows,
    /// How many of the batch's rows are of this value.
    rows: usize,
}

impl ScoreBatch {
    /// Reads what the scores are and how much of them is taken, at one moment.
    async fn visit(
        self,
        rows: Rows<'_>,
        cost: &mut ReadCost,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let rows = rows.get_many(&self.keys, cost).await?;
        let mut numbers = rows.iter().map(|row| row.as_ref().map_or(Ok(0), number));
        for BatchValue { taken: TakenRows { key, of, taken, .. }, rows } in self.values {
            yield_point().await;
            let numbers: Vec<i64> = numbers.by_ref().take(rows).collect::<Result<_, _>>()?;
            let Some((stored, again)) = numbers.split_first() else { continue };
            let taken = if again.is_empty() { taken } else { again.iter().sum() };
            let stored = *stored;
            let score = TakenScore { of, stored, left: stored - taken };
            if taken != 0 && visit(&key, score).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<'c> TakenCursor<'c> {
    /// A cursor at the start. Its pages grow from this many rows.
    fn new(board: &'c Scores<'c>, page_rows: usize) -> TakenCursor<'c> {
        let partition = LeaderboardKeys::pending_partition(&board.entries);
        let rest = Some(Span::ALL);
        TakenCursor { board, partition, rest, ahead: VecDeque::new(), page_rows, sought: 0 }
    }

    /// Moves forward to the first value with this key or a greater one. That value, with all its rows,
    /// is then the first of what is ahead.
    async fn seek(&mut self, key: &[u8], state: &mut ReadState) -> Result<(), Error> {
        self.skip(key);
        if self.ahead.is_empty() {
            // Large pages pay off only for values that are close together.
            if self.sought * PAGE_ROWS_A_VALUE < self.page_rows {
                self.page_rows = SEEK_ROWS;
            }
            self.sought = 0;
            self.rest = self.rest.take().map(|rest| rest.not_before(key));
        }
        self.sought += 1;
        while self.rest.is_some() && self.ahead.len() < 2 {
            self.read_page(state).await?;
            self.skip(key);
        }
        Ok(())
    }

    /// Drops the values before a key.
    fn skip(&mut self, key: &[u8]) {
        while self.ahead.front().is_some_and(|next| next.key.as_slice() < key) {
            self.ahead.pop_front();
        }
    }

    /// Takes values that were read completely; none at the end.
    async fn take_page(&mut self, state: &mut ReadState) -> Result<Vec<TakenRows>, Error> {
        while self.rest.is_some() && self.ahead.len() < 2 {
            self.read_page(state).await?;
        }
        let open = self.rest.as_ref().and_then(|_| self.ahead.pop_back());
        let whole = std::mem::replace(&mut self.ahead, open.into_iter().collect());
        Ok(whole.into())
    }

    async fn read_page(&mut self, state: &mut ReadState) -> Result<(), Error> {
        let Some(rest) = self.rest.take() else { return Ok(()) };
        let partition = Partition::of_table(self.partition.as_bytes());
        let request = partition.first(&rest, self.page_rows);
        let page = request.read(self.board.reader.rows(), &mut state.cost).await?;
        self.page_rows = (self.page_rows * 4).min(PAGE_ROWS);
        let last = page.last_key.as_ref().map(|key| partition.sort_of(key)).transpose()?;
        self.rest = last.map(|last| rest.past(last));
        self.add(&page.items, state).await
    }

    /// Adds the rows that say how much deletions that have happened take of scores.
    async fn add(&mut self, rows: &[Item], state: &mut ReadState) -> Result<(), Error> {
        let read = rows.iter().map(TakenRow::read).collect::<Result<Vec<_>, Error>>()?;
        let named: BTreeSet<String> = read.iter().flat_map(|row| &row.takers).cloned().collect();
        // What is learned here is true of the scores, which are read later.
        let (Verdict::Valid | Verdict::ReadAgain) =
            state.learn(self.board.reader.rows(), named).await?;
        for TakenRow { key, value, takers, taken } in read {
            if !state.any_happened(&takers) {
                continue;
            }
            let mut of = KeyBytes::new();
            // A part of a key can be a part of a key.
            let _ = of.push(&value);
            match self.ahead.back_mut().filter(|last| last.key == of.as_bytes()) {
                Some(last) => {
                    last.rows.push(key);
                    last.taken += taken;
                }
                None => {
                    let Scores { of: (entity, _), field, .. } = self.board;
                    let value = self.board.reader.layout.value_from_key(*entity, *field, &value);
                    let rows = vec![key];
                    self.ahead.push_back(TakenRows { key: of.into_vec(), of: value, rows, taken });
                }
            }
        }
        Ok(())
    }
}

/// A row that says how much deletions take of a score.
struct TakenRow {
    key: RawKey,
    /// The value that has the score, as a part of a key.
    value: Value,
    takers: Vec<String>,
    taken: i64,
}

impl TakenRow {
    fn read(row: &Item) -> Result<TakenRow, Error> {
        let wrong = || unreadable(row, Unreadable { attribute: SORT });
        let key = RawKey::of(row).ok_or_else(wrong)?;
        let (value, takers) = LeaderboardKeys::read_pending(&key.sort).ok_or_else(wrong)?;
        Ok(TakenRow { key, value, takers, taken: number(row)? })
    }
}

/// The number that a row holds.
pub(crate) fn number(row: &Item) -> Result<i64, Error> {
    let wrong = || unreadable(row, Unreadable { attribute: keyloom_model::attribute::COUNT });
    Counter::value_of(row).ok_or_else(wrong)
}
