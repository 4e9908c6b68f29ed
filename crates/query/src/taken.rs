//! Scores of a board from which deletions have taken something that is not removed yet, and what is
//! left of them. A score and how much of it is taken are rows of their own, which are read together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{BoardId, Counter, EntityId, FieldId, Layout, Unreadable};
use keyloom_store::{Direction, yield_point};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::fetch::{BATCH_MAX, RawKey, unreadable};
use crate::span::{Place, Span};
use crate::visible::{Deletions, Verdict};
use crate::{Error, ReadCost, Reader};

/// How many rows are read at once.
const PAGE_ROWS: usize = 1_000;
/// So many scores of one board are kept while it is read. Of more, each is read whenever it matters.
const HELD_MAX: usize = 1_000;

/// A board of values, and whose it is.
#[derive(Clone)]
pub(crate) struct Scores<'s> {
    pub(crate) of: (EntityId, BoardId),
    pub(crate) field: FieldId,
    pub(crate) owner: (Option<&'s Value>, &'s [Value]),
    pub(crate) places: KeyBytes,
}

/// Scores from which deletions have taken something, by what has them, as it is in keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenScores(BTreeMap<Vec<u8>, TakenScore>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TakenScore {
    /// The value that has it.
    pub(crate) of: Value,
    /// As the board has it.
    pub(crate) stored: i64,
    /// What is left of it.
    pub(crate) left: i64,
}

/// What deletions have taken from the scores of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All of it.
    Held(TakenScores),
    /// More than is kept.
    Many,
}

/// A value, as it is in keys and as it is, and the rows that say how much is taken of its score.
struct TakenRows {
    key: Vec<u8>,
    of: Value,
    rows: Vec<RawKey>,
}

/// Is shown one score after the other, by the value as it is in keys, until it has seen enough.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], TakenScore) -> ControlFlow<()> + Send + 'v;

impl TakenScores {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The score of what has a place, of which only the value matters.
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
    /// Whether it passes a test as deletions leave it, less whether it does as the board has it.
    pub(crate) fn correction(&self, passes: impl Fn(&Number) -> bool) -> i64 {
        let passes = |score: i64| i64::from(score > 0 && passes(&Number::from(score)));
        passes(self.left) - passes(self.stored)
    }
}

impl Reader<'_> {
    /// The scores of a board from which deletions have taken something, if they can be kept.
    pub(crate) async fn taken_scores(
        &self,
        board: &Scores<'_>,
        known: (&mut Deletions, &mut ReadCost),
    ) -> Result<Taken, Error> {
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
        self.each_taken(board, known, &mut keep).await?;
        Ok(if is_whole { Taken::Held(scores) } else { Taken::Many })
    }

    /// Visits the scores of a board from which deletions have taken something, in order of the values
    /// that have them. Keeps no more than a page of them.
    pub(crate) async fn each_taken(
        &self,
        board: &Scores<'_>,
        (deletions, cost): (&mut Deletions, &mut ReadCost),
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let partition = Layout::pending_scores(&board.places);
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        let (mut span, mut taken, mut is_first) = (Span::new(None, None), vec![], true);
        loop {
            let page = self.page(&place, &span, Direction::Forward, PAGE_ROWS).await?;
            cost.rows += page.scanned;
            cost.bytes += page.scanned_bytes;
            let last = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b());
            // While a large deletion only marks, its rows say nothing: they need not be read.
            if std::mem::take(&mut is_first)
                && last.is_some()
                && !self.has_any_happened(deletions, cost).await?
            {
                return Ok(());
            }
            self.add_taken(board, &page.items, (deletions, cost), &mut taken).await?;
            // The last value may have more rows on the next page.
            let open = if last.is_some() { taken.pop() } else { None };
            let taken = std::mem::replace(&mut taken, open.into_iter().collect());
            if self.visit_scores(board, taken, cost, visit).await?.is_break() {
                return Ok(());
            }
            let Some(last) = last else { return Ok(()) };
            span = span.past(last);
        }
    }

    /// What deletions have taken from the score of one value, as it is in keys.
    pub(crate) async fn taken_of(
        &self,
        board: &Scores<'_>,
        key: &[u8],
        (deletions, cost): (&mut Deletions, &mut ReadCost),
    ) -> Result<Option<TakenScore>, Error> {
        let partition = Layout::pending_scores(&board.places);
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        let page = self.page(&place, &Span::within(key), Direction::Forward, PAGE_ROWS).await?;
        cost.rows += page.scanned;
        cost.bytes += page.scanned_bytes;
        let (mut taken, mut found) = (vec![], None);
        self.add_taken(board, &page.items, (deletions, cost), &mut taken).await?;
        taken.retain(|rows| rows.key == key);
        let mut keep = |_: &[u8], score: TakenScore| {
            found = Some(score);
            ControlFlow::Continue(())
        };
        let _ = self.visit_scores(board, taken, cost, &mut keep).await?;
        Ok(found)
    }

    /// Reads how much scores are and how much of them is taken, as much at one moment as a store
    /// takes at once.
    async fn visit_scores(
        &self,
        board: &Scores<'_>,
        taken: Vec<TakenRows>,
        cost: &mut ReadCost,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut batch: Vec<(TakenRows, usize)> = vec![];
        let mut keys: Vec<RawKey> = vec![];
        for mut one in taken {
            let Ok(score) = self.layout.ranked_key(board.of, board.owner, (board.field, &one.of))
            else {
                continue;
            };
            let rows = std::mem::take(&mut one.rows);
            let count = 1 + rows.len();
            if keys.len() + count > BATCH_MAX {
                let batch = (std::mem::take(&mut batch), std::mem::take(&mut keys));
                if self.visit_batch(batch, cost, visit).await?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            keys.push(RawKey::from(&score));
            keys.extend(rows);
            batch.push((one, count));
        }
        self.visit_batch((batch, keys), cost, visit).await
    }

    async fn visit_batch(
        &self,
        (batch, keys): (Vec<(TakenRows, usize)>, Vec<RawKey>),
        cost: &mut ReadCost,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let rows = self.rows(&keys, cost).await?;
        let mut numbers = rows.iter().map(|row| row.as_ref().map_or(Ok(0), number));
        for (TakenRows { key, of, .. }, count) in batch {
            yield_point().await;
            let numbers: Vec<i64> = numbers.by_ref().take(count).collect::<Result<_, _>>()?;
            let Some((stored, taken)) = numbers.split_first() else { continue };
            let (stored, taken) = (*stored, taken.iter().sum::<i64>());
            let score = TakenScore { of, stored, left: stored - taken };
            if taken != 0 && visit(&key, score).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Adds the rows that say how much deletions that have happened take of scores.
    async fn add_taken(
        &self,
        board: &Scores<'_>,
        rows: &[Item],
        (deletions, cost): (&mut Deletions, &mut ReadCost),
        taken: &mut Vec<TakenRows>,
    ) -> Result<(), Error> {
        let read = rows.iter().map(read_taken).collect::<Result<Vec<_>, Error>>()?;
        let named: BTreeSet<String> =
            read.iter().flat_map(|(_, _, takers)| takers).cloned().collect();
        // What is learned here is true of the scores, which are read later.
        let (Verdict::Valid | Verdict::ReadAgain) = self.learn(named, deletions, cost).await?;
        for (row, value, takers) in read {
            if !deletions.any_happened(&takers) {
                continue;
            }
            let mut key = KeyBytes::new();
            // A part of a key can be a part of a key.
            let _ = key.push(&value);
            match taken.last_mut().filter(|last| last.key == key.as_bytes()) {
                Some(last) => last.rows.push(row),
                None => {
                    let of = self.layout.from_key(board.of.0, board.field, &value);
                    taken.push(TakenRows { key: key.into_vec(), of, rows: vec![row] });
                }
            }
        }
        Ok(())
    }
}

/// The key of a row that says how much is taken, the value, and the deletions that take it.
fn read_taken(row: &Item) -> Result<(RawKey, Value, Vec<String>), Error> {
    let wrong = || unreadable(row, Unreadable { attribute: SORT });
    let key = RawKey::of(row).ok_or_else(wrong)?;
    let (of, takers) = Layout::read_pending_score(&key.sort).ok_or_else(wrong)?;
    Ok((key, of, takers))
}

/// The number that a row holds.
pub(crate) fn number(row: &Item) -> Result<i64, Error> {
    let wrong = || unreadable(row, Unreadable { attribute: keyloom_model::attribute::COUNT });
    Counter::number(row).ok_or_else(wrong)
}
