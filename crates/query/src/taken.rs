//! Scores of a board from which deletions have taken something that is not removed yet, and what is
//! left of them. A score and how much of it is taken are rows of their own, which are read together.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{BoardId, EntityId, FieldId, Layout, Tally, Unreadable};
use keyloom_store::{Direction, yield_point};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::fetch::{BATCH_MAX, RawKey, unreadable};
use crate::span::{Place, Span};
use crate::visible::{Deletions, Verdict};
use crate::{Effort, Error, Reader};

/// How many rows are read at once.
const PAGE_ROWS: usize = 1_000;
/// Of so many scores of one board what is taken is worked out. While deletions take from more, the
/// board does not answer: an answer would be wrong, or cost more than a read may.
const SCORES_MAX: usize = 20_000;

/// A board of values, and whose it is.
pub(crate) struct Scores<'s> {
    pub(crate) of: (EntityId, BoardId),
    pub(crate) field: FieldId,
    pub(crate) owner: (Option<&'s Value>, &'s [Value]),
    pub(crate) places: &'s KeyBytes,
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

/// For each value, as it is in keys: the rows that say how much is taken of its score.
type TakenRows = BTreeMap<Vec<u8>, (Value, Vec<RawKey>)>;

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

    /// How many more scores pass a test as deletions leave them than as the board has them.
    pub(crate) fn correction(&self, passes: impl Fn(&Number) -> bool) -> i64 {
        let passes = |score: i64| score > 0 && passes(&Number::from(score));
        let by = |one: &TakenScore| i64::from(passes(one.left)) - i64::from(passes(one.stored));
        self.iter().map(by).sum()
    }
}

impl Reader<'_> {
    /// The scores of a board from which deletions have taken something.
    pub(crate) async fn taken_scores(
        &self,
        board: &Scores<'_>,
        (deletions, effort): (&mut Deletions, &mut Effort),
    ) -> Result<TakenScores, Error> {
        let taken = self.taken_rows(board, (deletions, effort)).await?;
        let mut scores = TakenScores::default();
        let mut batch: Vec<(Vec<u8>, Value, Vec<RawKey>)> = vec![];
        let mut rows = 0;
        for (key, (value, taken)) in taken {
            let of = self.layout.from_key(board.of.0, board.field, &value);
            let Ok(score) = self.layout.ranked_key(board.of, board.owner, (board.field, &of))
            else {
                continue;
            };
            let keys: Vec<RawKey> = std::iter::once(RawKey::from(&score)).chain(taken).collect();
            if rows + keys.len() > BATCH_MAX {
                self.add_scores(std::mem::take(&mut batch), &mut scores, effort).await?;
                rows = 0;
            }
            rows += keys.len();
            batch.push((key, of, keys));
        }
        self.add_scores(batch, &mut scores, effort).await?;
        Ok(scores)
    }

    /// How much scores are and how much of them is taken is read at one moment.
    async fn add_scores(
        &self,
        batch: Vec<(Vec<u8>, Value, Vec<RawKey>)>,
        scores: &mut TakenScores,
        effort: &mut Effort,
    ) -> Result<(), Error> {
        let keys: Vec<RawKey> = batch.iter().flat_map(|(_, _, keys)| keys).cloned().collect();
        let rows = self.rows(&keys, effort).await?;
        let mut numbers = rows.iter().map(|row| row.as_ref().map_or(Ok(0), number));
        for (key, of, keys) in batch {
            yield_point().await;
            let numbers: Vec<i64> = numbers.by_ref().take(keys.len()).collect::<Result<_, _>>()?;
            let Some((stored, taken)) = numbers.split_first() else { continue };
            let (stored, taken) = (*stored, taken.iter().sum::<i64>());
            if taken != 0 {
                scores.0.insert(key, TakenScore { of, stored, left: stored - taken });
            }
        }
        Ok(())
    }

    /// The rows that say how much deletions that have happened take of scores.
    async fn taken_rows(
        &self,
        board: &Scores<'_>,
        (deletions, effort): (&mut Deletions, &mut Effort),
    ) -> Result<TakenRows, Error> {
        let partition = Layout::pending_scores(board.places);
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        let (mut span, mut taken, mut rows) = (Span::new(None, None), TakenRows::new(), 0);
        loop {
            let page = self.page(&place, &span, Direction::Forward, PAGE_ROWS).await?;
            effort.rows += page.scanned;
            effort.bytes += page.scanned_bytes;
            rows += page.items.len();
            if rows > SCORES_MAX {
                return Err(Error::Unanswered { rows });
            }
            let read = page.items.iter().map(read_taken).collect::<Result<Vec<_>, Error>>()?;
            let named: BTreeSet<String> =
                read.iter().flat_map(|(_, _, takers)| takers).cloned().collect();
            // What is learned here is true of the scores, which are read later.
            let (Verdict::Valid | Verdict::ReadAgain) =
                self.learn(named, deletions, effort).await?;
            for (key, of, takers) in read {
                if deletions.any_happened(&takers) {
                    let mut value = KeyBytes::new();
                    // A part of a key can be a part of a key.
                    let _ = value.push(&of);
                    let entry = taken.entry(value.into_vec()).or_insert_with(|| (of, vec![]));
                    entry.1.push(key);
                }
            }
            let Some(last) = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b()) else {
                return Ok(taken);
            };
            span = span.past(last);
        }
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
    Tally::number(row).ok_or_else(wrong)
}
