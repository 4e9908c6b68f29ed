//! A leaderboard that is being read: its entries in order, and their ranks.
//!
//! What deletions have taken from scores is kept in memory if it is little. If it is much, it is read
//! whenever it matters, a page at a time: the work grows with it, the memory does not.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use keyloom_model::attribute::SORT;
use keyloom_model::{
    EntityId, EntityKey, FieldId, Layout, LeaderboardKeys, Ranking, RowKey, Slot, Unreadable,
};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::board_request::Asked;
use crate::fetch::unreadable;
use crate::partition::{PageRequest, Partition};
use crate::request_error::check_value;
use crate::span::Span;
use crate::taken::{Scores, Taken, TakenScore, TakenScores, number};
use crate::visible::{ReadState, Verdict};
use crate::{BoardRequest, Error, Ranked, ReadCost, Reader, RequestError};

/// How many prefix counts one request reads; hardly any score needs more.
const PAGE_STEPS: usize = 256;
/// How many more entries one request reads if some are left out, at most.
const PAGE_PLACES: usize = 1_000;

/// A leaderboard that is being read.
pub(crate) struct Walk<'w> {
    reader: &'w Reader<'w>,
    request: &'w BoardRequest,
    /// None if it does not fit into a key: then nothing is on the board.
    places: Option<KeyBytes>,
    slot: Slot,
    pub(crate) state: &'w mut ReadState,
    /// What deletions take from its scores, if it ranks values.
    scores: Option<Scores<'w>>,
    taken: Taken,
    /// A hash of everything that is taken when it was read first, if it is not kept.
    seen: Option<u64>,
    /// Whether rows were read before a deletion was known to have taken them.
    is_stale: bool,
}

/// An entry of the board, without its rank.
#[derive(Clone)]
struct Standing {
    position: Vec<u8>,
    score: Number,
    of: Value,
}

impl<'w> Walk<'w> {
    pub(crate) async fn begin(
        reader: &'w Reader<'w>,
        request: &'w BoardRequest,
        state: &'w mut ReadState,
    ) -> Result<Walk<'w>, Error> {
        state.cost = ReadCost::default();
        let places = request.partition(reader.layout)?;
        let BoardRequest { entity, board, tenant, by, .. } = request;
        let ranking = reader.layout.model().entity(*entity).board(*board).ranking;
        let scores = match (ranking, &places) {
            (Ranking::Count(field), Some(places)) => {
                let (of, owner) = ((*entity, *board), (tenant.as_ref(), by.as_slice()));
                Some(Scores { of, field, owner, places: places.clone() })
            }
            (Ranking::Count(_), None) | (Ranking::Field(_), _) => None,
        };
        let slot = reader.layout.leaderboards().slot(*entity, *board);
        let (taken, seen, is_stale) = (Taken::Held(TakenScores::default()), None, false);
        let mut walk = Walk { reader, request, places, slot, state, scores, taken, seen, is_stale };
        walk.taken = walk.find_taken().await?;
        Ok(walk)
    }

    /// Whether too much is taken to be kept.
    pub(crate) fn takes_many(&self) -> bool {
        self.taken == Taken::Many
    }

    fn ranking(&self) -> Ranking {
        let entity = self.reader.layout.model().entity(self.request.entity);
        entity.board(self.request.board).ranking
    }

    /// None if the board ranks entities by a field of theirs.
    fn ranked_values(&self) -> Option<RankedValues<'w>> {
        match self.ranking() {
            Ranking::Count(field) => {
                let (layout, entity) = (self.reader.layout, self.request.entity);
                Some(RankedValues { layout, entity, field })
            }
            Ranking::Field(_) => None,
        }
    }

    /// Reads what is asked, and the last position of a page that others follow. An entry that is not on
    /// the board has no neighbours.
    pub(crate) async fn answer(
        &mut self,
        asked: Asked<'_>,
    ) -> Result<(Vec<Ranked>, Option<Vec<u8>>), Error> {
        let limit = self.request.limit as usize;
        match asked {
            Asked::Page(after) => {
                let mut found = self.standings(after, Direction::Forward, limit + 1).await?;
                let has_more = found.len() > limit;
                found.truncate(limit);
                let next = found.last().filter(|_| has_more).map(|last| last.position.clone());
                Ok((self.ranked(found, after.is_none()).await?, next))
            }
            Asked::One(of) => {
                let own = self.standing(of).await?;
                Ok((self.ranked(own.into_iter().collect(), false).await?, None))
            }
            Asked::Around(of) => {
                let Some(own) = self.standing(of).await? else { return Ok((vec![], None)) };
                let at = own.position.clone();
                let mut all = self.standings(Some(&at), Direction::Backward, limit).await?;
                all.reverse();
                all.push(own);
                all.extend(self.standings(Some(&at), Direction::Forward, limit).await?);
                Ok((self.ranked(all, false).await?, None))
            }
        }
    }

    /// Reads entries after a position, or from the start.
    async fn standings(
        &mut self,
        after: Option<&[u8]>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Standing>, Error> {
        let Some(places) = self.places.clone() else { return Ok(vec![]) };
        let partition = Partition::of_slot(self.slot, places.as_bytes())?;
        // What is left of a score has another position than the score.
        let beyond = self.taken_beyond(after, direction, limit).await?;
        let (mut found, mut passed, mut at) = (vec![], 0, after.map(<[u8]>::to_vec));
        'walk: loop {
            let span = self.span(at.as_deref(), direction);
            // The entry that it continues from may come again, and some are left out.
            let wanted = limit + 1 - found.len() + self.left_out_max();
            let request =
                PageRequest { partition: &partition, span: &span, direction, limit: wanted };
            let page = self.reader.page(request, &mut self.state.cost).await?;
            let last = page.items.last().map(|row| self.position(row)).transpose()?;
            let changed = self.taken_among(&page.items).await?;
            for row in &page.items {
                let standing = self.read_standing(row)?;
                let is_behind = |one: &&Standing| order(one, &standing, direction).is_lt();
                passed += beyond[passed..].iter().take_while(is_behind).count();
                if found.len() + passed >= limit {
                    break 'walk;
                }
                let is_taken =
                    self.is_taken(&LeaderboardKeys::takers(&self.position(row)?)).await?;
                let met = found.last().map(|last: &Standing| last.position.as_slice());
                let is_new = ![after, met].contains(&Some(standing.position.as_slice()));
                let is_as_stored =
                    KeyBytes::skip_part(&standing.position).is_ok_and(|of| !changed.contains(of));
                if is_new && !is_taken && is_as_stored {
                    found.push(standing);
                }
            }
            if page.last_key.is_none() || last.is_none() || last == at {
                break;
            }
            at = last;
        }
        found.extend(beyond);
        found.sort_by(|left, right| order(left, right, direction));
        found.truncate(limit);
        Ok(found)
    }

    /// How many more entries to read at once because some are left out.
    fn left_out_max(&self) -> usize {
        match &self.taken {
            Taken::Held(scores) => scores.len().min(PAGE_PLACES),
            Taken::Many => PAGE_PLACES,
        }
    }

    fn position(&self, row: &Item) -> Result<Vec<u8>, Error> {
        let sort = row.get(self.slot.sort().as_str()).and_then(Value::as_b);
        sort.map(<[u8]>::to_vec).ok_or_else(|| unreadable(row, Unreadable { attribute: SORT }))
    }

    /// Whether one of these deletions has happened.
    async fn is_taken(&mut self, takers: &[String]) -> Result<bool, Error> {
        if takers.is_empty() {
            return Ok(false);
        }
        let named = takers.iter().cloned().collect();
        let verdict = self.state.learn(self.reader, named).await?;
        self.is_stale |= verdict == Verdict::ReadAgain;
        Ok(self.state.any_happened(takers))
    }

    /// Whether all that was read is of one moment, as far as deletions are concerned.
    pub(crate) async fn is_valid(&mut self) -> Result<bool, Error> {
        if self.reader.store.is_snapshot() {
            return Ok(true);
        }
        let verdict = self.state.confirm(self.reader).await?;
        if self.is_stale || verdict == Verdict::ReadAgain {
            return Ok(false);
        }
        match &self.taken {
            taken if taken.is_nothing() => Ok(true),
            Taken::Held(_) => Ok(self.find_taken().await? == self.taken),
            Taken::Many => {
                self.each_taken(&mut |_| {}).await?;
                Ok(!self.is_stale)
            }
        }
    }

    /// Returns the first entries with what deletions leave of their scores, after a position.
    async fn taken_beyond(
        &mut self,
        at: Option<&[u8]>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Standing>, Error> {
        let Some(values) = self.ranked_values() else { return Ok(vec![]) };
        let is_beyond = |standing: &Standing| match (at, direction) {
            (None, _) => true,
            (Some(at), Direction::Forward) => standing.position.as_slice() > at,
            (Some(at), Direction::Backward) => standing.position.as_slice() < at,
        };
        let mut first: BTreeMap<Vec<u8>, Standing> = BTreeMap::new();
        let mut add = |taken: TakenScore| {
            let Some(place) = values.standing(&taken).filter(is_beyond) else { return };
            first.insert(place.position.clone(), place);
            if first.len() > limit {
                match direction {
                    Direction::Forward => first.pop_last(),
                    Direction::Backward => first.pop_first(),
                };
            }
        };
        self.each_taken(&mut add).await?;
        let mut first: Vec<Standing> = first.into_values().collect();
        first.sort_by(|left, right| order(left, right, direction));
        Ok(first)
    }

    /// Reads the scores from which deletions have taken something, with what is left of them.
    async fn find_taken(&mut self) -> Result<Taken, Error> {
        let Some(scores) = self.scores.clone() else {
            return Ok(Taken::Held(TakenScores::default()));
        };
        scores.taken(self.reader, self.state).await
    }

    /// Visits all of them. If they are not kept, they must be the same each time.
    async fn each_taken(&mut self, add: &mut (dyn FnMut(TakenScore) + Send)) -> Result<(), Error> {
        let scores = match &self.taken {
            Taken::Held(scores) => {
                scores.iter().cloned().for_each(add);
                return Ok(());
            }
            Taken::Many => self.scores.clone(),
        };
        let Some(scores) = scores else { return Ok(()) };
        let mut hasher = DefaultHasher::new();
        let mut visit = |key: &[u8], score: TakenScore| {
            (key, score.stored, score.left).hash(&mut hasher);
            add(score);
            ControlFlow::Continue(())
        };
        scores.each_taken(self.reader, self.state, &mut visit).await?;
        let seen = hasher.finish();
        self.is_stale |= *self.seen.get_or_insert(seen) != seen;
        Ok(())
    }

    /// Which values on a page have scores from which deletions have taken something.
    async fn taken_among(&mut self, page: &[Item]) -> Result<BTreeSet<Vec<u8>>, Error> {
        let mut values = BTreeSet::new();
        let Some(scores) = self.scores.clone().filter(|_| !self.taken.is_nothing()) else {
            return Ok(values);
        };
        for row in page {
            let position = self.read_standing(row)?.position;
            values.extend(KeyBytes::skip_part(&position).map(<[u8]>::to_vec));
        }
        match &self.taken {
            Taken::Held(scores) => {
                values.retain(|value| scores.has(value));
                Ok(values)
            }
            Taken::Many => scores.taken_among(self.reader, values, self.state).await,
        }
    }

    /// What is left of the score of the value in an index key, if deletions have taken from it.
    async fn taken_at(&mut self, place: &[u8]) -> Result<Option<TakenScore>, Error> {
        let scores = match &self.taken {
            Taken::Held(scores) => return Ok(scores.at(place).cloned()),
            Taken::Many => self.scores.clone(),
        };
        let (Some(scores), Ok(value)) = (scores, KeyBytes::skip_part(place)) else {
            return Ok(None);
        };
        scores.taken_of(self.reader, value, self.state).await
    }

    /// The part of the board after a position, or from it on backward. A value without entities is not
    /// on the board.
    fn span(&self, at: Option<&[u8]>, direction: Direction) -> Span {
        let end = match self.ranking() {
            Ranking::Count(_) => Some(LeaderboardKeys::score_prefix(&Number::ZERO).into_vec()),
            Ranking::Field(_) => None,
        };
        match (at, direction) {
            (None, _) => Span::new(None, end),
            (Some(at), Direction::Forward) => Span::new(None, end).after(at, direction),
            (Some(at), Direction::Backward) => Span::new(None, Some(at.to_vec())),
        }
    }

    fn read_standing(&self, row: &Item) -> Result<Standing, Error> {
        let sort = row.get(self.slot.sort().as_str()).and_then(Value::as_b);
        let place =
            sort.and_then(|sort| Some((place_alone(sort)?, LeaderboardKeys::read_entry(sort)?)));
        let (position, (score, of)) =
            place.ok_or_else(|| unreadable(row, Unreadable { attribute: SORT }))?;
        let of = match self.ranking() {
            Ranking::Count(field) => {
                self.reader.layout.value_from_key(self.request.entity, field, &of)
            }
            Ranking::Field(_) => of,
        };
        Ok(Standing { position: position.to_vec(), score, of })
    }

    /// Reads one entry, if it is on this board.
    async fn standing(&mut self, of: &Value) -> Result<Option<Standing>, Error> {
        let Some(places) = self.places.clone() else { return Ok(None) };
        let Some(key) = self.key_of(of)? else { return Ok(None) };
        if let Some(taken) = self.taken_from(of).await? {
            return Ok(self.ranked_values().and_then(|values| values.standing(&taken)));
        }
        let Some(row) = self.reader.row(&key).await? else { return Ok(None) };
        self.state.cost.rows += 1;
        self.state.cost.bytes += row.size() as u64;
        let at = row.get(self.slot.partition().as_str()).and_then(Value::as_b);
        if at != Some(places.as_bytes()) {
            return Ok(None);
        }
        let standing = self.read_standing(&row)?;
        let takers = LeaderboardKeys::takers(&self.position(&row)?);
        let is_on_it = match self.ranking() {
            Ranking::Count(_) => standing.score > Number::ZERO,
            Ranking::Field(_) => !self.is_taken(&takers).await?,
        };
        Ok(Some(standing).filter(|_| is_on_it))
    }

    /// What is left of the score of a value from which deletions have taken something.
    async fn taken_from(&mut self, of: &Value) -> Result<Option<TakenScore>, Error> {
        let Ranking::Count(field) = self.ranking() else { return Ok(None) };
        let entity = self.request.entity;
        let place =
            self.reader.layout.leaderboards().index_sort((entity, field), &Number::ZERO, of);
        self.taken_at(place.as_bytes()).await
    }

    /// The key of an entry's row; none if it does not fit into a key.
    fn key_of(&self, of: &Value) -> Result<Option<RowKey>, Error> {
        let BoardRequest { entity: id, board, tenant, by, .. } = self.request;
        let layout = self.reader.layout;
        match (self.ranking(), of) {
            (Ranking::Count(field), _) => {
                check_value(layout.model().entity(*id), field, of)?;
                let owner = (tenant.as_ref(), by.as_slice());
                Ok(layout.leaderboards().score_key((*id, *board), owner, (field, of)).ok())
            }
            (Ranking::Field(_), Value::S(own)) => {
                let key = EntityKey { entity: *id, tenant: tenant.clone(), id: own.clone() };
                Ok(Some(layout.own_key(&key)))
            }
            (Ranking::Field(_), _) => {
                let field = "id".to_owned();
                Err(RequestError::Value { field, expected: "text" }.into())
            }
        }
    }

    /// Adds ranks to entries that are next to each other on the board.
    async fn ranked(&mut self, found: Vec<Standing>, is_start: bool) -> Result<Vec<Ranked>, Error> {
        let Some(first) = found.first() else { return Ok(vec![]) };
        let first = first.score;
        let is_alone = found.iter().all(|standing| standing.score == first);
        let (mut rank, mut equals) = match is_start {
            true => (1, 0),
            false => {
                let (better, equals) = self.corrections(&first).await?;
                let rank = 1 + sum(self.better(&first).await?, better);
                // Entries with the same score that come before are not among them.
                let unseen = if is_alone { 0 } else { sum(self.equals(&first).await?, equals) };
                let seen = found.iter().filter(|standing| standing.score == first).count() as u64;
                (rank, unseen.saturating_sub(seen))
            }
        };
        let (mut score, mut ranked) = (first, vec![]);
        for standing in found {
            if standing.score != score {
                (rank, equals) = (rank + equals, 0);
                score = standing.score;
            }
            equals += 1;
            ranked.push(Ranked { rank, score: standing.score, of: standing.of });
        }
        Ok(ranked)
    }

    /// How many more entries have a better score, and how many more this one, after deletions than
    /// the board has.
    async fn corrections(&mut self, score: &Number) -> Result<(i64, i64), Error> {
        let (mut better, mut equals) = (0, 0);
        let mut add = |taken: TakenScore| {
            better += taken.correction(|of| of > score);
            equals += taken.correction(|of| of == score);
        };
        self.each_taken(&mut add).await?;
        Ok((better, equals))
    }

    /// Reads how many entries of the board have a better score, before deletions.
    async fn better(&mut self, score: &Number) -> Result<i64, Error> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        let key = LeaderboardKeys::prefix_counts(&places);
        let partition = Partition::of_table(key.as_bytes());
        let mut sum = 0;
        for (from, to) in LeaderboardKeys::better_prefixes(score) {
            let mut span = Span::new(Some(from), Some(to));
            loop {
                let request = partition.first(&span, PAGE_STEPS);
                let page = self.reader.page(request, &mut self.state.cost).await?;
                for row in &page.items {
                    sum += self.step_of(row).await?;
                }
                let last = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b());
                let Some(last) = last else { break };
                span = span.past(last);
            }
        }
        Ok(sum)
    }

    /// Reads how many entries of the board have a score, before deletions.
    async fn equals(&mut self, score: &Number) -> Result<i64, Error> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        let RowKey { partition, sort } = LeaderboardKeys::score_size_key(&places, score);
        let partition = Partition::of_table(partition.as_bytes());
        // The rows that say how much of it deletions take follow.
        let span = Span::within(sort.as_bytes());
        let request = partition.first(&span, PAGE_STEPS);
        let page = self.reader.page(request, &mut self.state.cost).await?;
        self.state.cost.rows += u64::from(page.scanned == 0);
        let mut equals = 0;
        for row in &page.items {
            equals += self.step_of(row).await?;
        }
        Ok(equals)
    }

    /// What a row of prefix counts adds: less than 0 if it says how much deletions have taken.
    async fn step_of(&mut self, row: &Item) -> Result<i64, Error> {
        let sort = row.get(SORT).and_then(Value::as_b).unwrap_or_default();
        let number = number(row)?;
        match LeaderboardKeys::prefix_count_takers(sort) {
            None => Ok(number),
            Some(takers) => Ok(if self.is_taken(&takers).await? { -number } else { 0 }),
        }
    }
}

/// A count, after deletions.
fn sum(stored: i64, correction: i64) -> u64 {
    u64::try_from(stored + correction).unwrap_or(0)
}

fn order(left: &Standing, right: &Standing, direction: Direction) -> Ordering {
    match direction {
        Direction::Forward => left.position.cmp(&right.position),
        Direction::Backward => right.position.cmp(&left.position),
    }
}

/// The values that a board ranks by their counts.
#[derive(Clone, Copy)]
struct RankedValues<'v> {
    layout: &'v Layout,
    entity: EntityId,
    field: FieldId,
}

impl RankedValues<'_> {
    /// The index key of a value with what is left of its score; none if nothing is left.
    fn standing(&self, taken: &TakenScore) -> Option<Standing> {
        let (score, of) = (Number::from(taken.left), taken.of.clone());
        let position =
            self.layout.leaderboards().index_sort((self.entity, self.field), &score, &of);
        (taken.left > 0).then(|| Standing { position: position.into_vec(), score, of })
    }
}

/// An index key without the deletions that take it.
fn place_alone(sort: &[u8]) -> Option<&[u8]> {
    let rest = KeyBytes::skip_part(sort).and_then(KeyBytes::skip_part).ok()?;
    sort.get(..sort.len() - rest.len())
}
