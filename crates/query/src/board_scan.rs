//! A leaderboard that is being read: its entries in order, and their ranks.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::attribute::SORT;
use keyloom_model::{
    EntityId, EntityKey, FieldId, Layout, LeaderboardKeys, Ranking, RowKey, Slot, Unreadable,
};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::board_changes::{SettledScore, has_changes};
use crate::board_deletions::BoardDeletions;
use crate::board_request::Asked;
use crate::error::unreadable;
use crate::partition::{MergedRequest, Partition};
use crate::rank::PrefixCounts;
use crate::request_error::check_value;
use crate::span::Span;
use crate::taken::{Scores, TakenScore};
use crate::visible::ReadState;
use crate::{BoardRequest, Error, Ranked, ReadCost, Reader, RequestError};

/// A leaderboard that is being read.
pub(crate) struct BoardScan<'s> {
    reader: &'s Reader<'s>,
    request: &'s BoardRequest,
    /// None if it does not fit into a key: then nothing is on the board.
    entries: Option<KeyBytes>,
    /// The partitions of the entries, one for each shard.
    shards: Vec<KeyBytes>,
    slot: Slot,
    pub(crate) deletions: BoardDeletions<'s>,
}

/// An entry of the board, without its rank.
#[derive(Clone)]
struct Standing {
    position: Vec<u8>,
    score: Number,
    of: Value,
}

impl<'s> BoardScan<'s> {
    pub(crate) async fn begin(
        reader: &'s Reader<'s>,
        request: &'s BoardRequest,
        state: &'s mut ReadState,
    ) -> Result<BoardScan<'s>, Error> {
        state.cost = ReadCost::default();
        let entries = request.partition(reader.layout)?;
        let BoardRequest { entity, board, tenant, by, .. } = request;
        let ranking = reader.layout.model().entity(*entity).board(*board).ranking;
        let scores = match (ranking, &entries) {
            (Ranking::Count(field), Some(entries)) => {
                let (of, owner) = ((*entity, *board), (tenant.as_ref(), by.as_slice()));
                Some(Scores { reader, of, field, owner, entries: entries.clone() })
            }
            (Ranking::Count(_), None) | (Ranking::Field(_), _) => None,
        };
        let leaderboards = reader.layout.leaderboards();
        let slot = leaderboards.slot(*entity, *board);
        let base = entries.as_ref();
        let shards = base.map(|base| leaderboards.entries((*entity, *board), base));
        let shards = shards.unwrap_or_default();
        let deletions = BoardDeletions::read(reader, scores, state).await?;
        Ok(BoardScan { reader, request, entries, shards, slot, deletions })
    }

    fn ranking(&self) -> Ranking {
        let entity = self.reader.layout.model().entity(self.request.entity);
        entity.board(self.request.board).ranking
    }

    /// None if the board ranks entities by a field of theirs.
    fn ranked_values(&self) -> Option<RankedValues<'s>> {
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
                let own = self.with_changes(of, own).await?;
                Ok((self.ranked(own.into_iter().collect(), false).await?, None))
            }
            Asked::Around(of) => {
                let own = match self.standing(of).await? {
                    None => self.with_changes(of, None).await?,
                    own => own,
                };
                let Some(own) = own else { return Ok((vec![], None)) };
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
        let shards = self.shards.clone();
        let partitions = shards.iter().map(|key| Partition::of_slot(self.slot, key.as_bytes()));
        let partitions = partitions.collect::<Result<Vec<Partition<'_>>, Error>>()?;
        // What is left of a score has another position than the score.
        let beyond = self.taken_beyond(after, direction, limit).await?;
        let (mut found, mut passed, mut at) = (vec![], 0, after.map(<[u8]>::to_vec));
        'walk: loop {
            let span = self.span(at.as_deref(), direction);
            // The entry that it continues from may come again, and some are left out.
            let wanted = limit + 1 - found.len() + self.deletions.left_out_max();
            let request =
                MergedRequest { partitions: &partitions, span: &span, direction, limit: wanted };
            let page = request.read(self.reader.rows(), &mut self.deletions.state.cost).await?;
            let changed = self.taken_among(&page.items).await?;
            for row in &page.items {
                let standing = self.read_standing(row)?;
                let is_behind = |one: &&Standing| one.order(&standing, direction).is_lt();
                passed += beyond[passed..].iter().take_while(is_behind).count();
                if found.len() + passed >= limit {
                    break 'walk;
                }
                let takers = LeaderboardKeys::takers(&self.position(row)?);
                let is_taken = self.deletions.any_happened(&takers).await?;
                let met = found.last().map(|last: &Standing| last.position.as_slice());
                let is_new = ![after, met].contains(&Some(standing.position.as_slice()));
                let is_as_stored =
                    KeyBytes::skip_part(&standing.position).is_ok_and(|of| !changed.contains(of));
                if is_new && !is_taken && is_as_stored {
                    found.push(standing);
                }
            }
            if page.last.is_none() || page.last == at {
                break;
            }
            at = page.last;
        }
        found.extend(beyond);
        found.sort_by(|left, right| left.order(right, direction));
        found.truncate(limit);
        Ok(found)
    }

    fn position(&self, row: &Item) -> Result<Vec<u8>, Error> {
        let sort = row.get(self.slot.sort().as_str()).and_then(Value::as_b);
        sort.map(<[u8]>::to_vec).ok_or_else(|| unreadable(row, Unreadable { attribute: SORT }))
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
        self.deletions.each(&mut add).await?;
        let mut first: Vec<Standing> = first.into_values().collect();
        first.sort_by(|left, right| left.order(right, direction));
        Ok(first)
    }

    /// Which values on a page have scores from which deletions have taken something.
    async fn taken_among(&mut self, page: &[Item]) -> Result<BTreeSet<Vec<u8>>, Error> {
        let mut values = BTreeSet::new();
        if self.deletions.is_nothing() {
            return Ok(values);
        }
        for row in page {
            let position = self.read_standing(row)?.position;
            values.extend(KeyBytes::skip_part(&position).map(<[u8]>::to_vec));
        }
        self.deletions.among(values).await
    }

    /// The part of the board after a position, or from it on backward. A value without entities is not
    /// on the board.
    fn span(&self, at: Option<&[u8]>, direction: Direction) -> Span {
        let end = match self.ranking() {
            Ranking::Count(_) => Some(LeaderboardKeys::score_prefix(&Number::ZERO).into_vec()),
            Ranking::Field(_) => None,
        };
        match (at, direction) {
            (None, _) => Span::ALL.ending_at(end),
            (Some(at), Direction::Forward) => Span::ALL.ending_at(end).after(at, direction),
            (Some(at), Direction::Backward) => Span::ALL.ending_at(Some(at.to_vec())),
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
        let Some(key) = self.key_of(of)? else { return Ok(None) };
        if let Some(taken) = self.taken_from(of).await? {
            return Ok(self.ranked_values().and_then(|values| values.standing(&taken)));
        }
        let Some(row) = self.reader.rows().get(&key).await? else { return Ok(None) };
        self.deletions.state.cost.rows += 1;
        self.deletions.state.cost.bytes += row.size() as u64;
        let at = row.get(self.slot.partition().as_str()).and_then(Value::as_b);
        if !self.shards.iter().any(|shard| at == Some(shard.as_bytes())) {
            return Ok(None);
        }
        let standing = self.read_standing(&row)?;
        let takers = LeaderboardKeys::takers(&self.position(&row)?);
        let is_on_it = match self.ranking() {
            Ranking::Count(_) => standing.score > Number::ZERO,
            Ranking::Field(_) => !self.deletions.any_happened(&takers).await?,
        };
        Ok(Some(standing).filter(|_| is_on_it))
    }

    /// An entry with what its score has changed since the board was settled. Deletions that are being
    /// cleared are left out of the score, as they are elsewhere.
    async fn with_changes(
        &mut self,
        of: &Value,
        settled: Option<Standing>,
    ) -> Result<Option<Standing>, Error> {
        let (Some(values), Some(key)) = (self.ranked_values(), self.key_of(of)?) else {
            return Ok(settled);
        };
        let BoardRequest { entity, board, .. } = self.request;
        let changes = self.reader.layout.leaderboards().changes((*entity, *board), &key);
        if changes.is_empty() {
            return Ok(settled);
        }
        let taken = self.taken_from(of).await?.map_or(0, |taken| taken.stored - taken.left);
        let (rows, cost) = (self.reader.rows(), &mut self.deletions.state.cost);
        let stored = SettledScore { score: &key, changes: &changes }.sum(rows, cost).await?;
        let score = TakenScore { of: of.clone(), stored, left: stored - taken };
        Ok(values.standing(&score))
    }

    /// Whether scores have changed since the board was settled.
    pub(crate) async fn is_settling(&mut self) -> Result<bool, Error> {
        let Some(entries) = &self.entries else { return Ok(false) };
        let BoardRequest { entity, board, .. } = self.request;
        let leaderboards = self.reader.layout.leaderboards();
        let partitions = leaderboards.change_partitions((*entity, *board), entries);
        has_changes(&partitions, self.reader.rows(), &mut self.deletions.state.cost).await
    }

    /// What is left of the score of a value from which deletions have taken something.
    async fn taken_from(&mut self, of: &Value) -> Result<Option<TakenScore>, Error> {
        let Ranking::Count(field) = self.ranking() else { return Ok(None) };
        let entity = self.request.entity;
        let place =
            self.reader.layout.leaderboards().index_sort((entity, field), &Number::ZERO, of);
        self.deletions.at(place.as_bytes()).await
    }

    /// The key of an entry's row; none if it does not fit into a key.
    fn key_of(&self, of: &Value) -> Result<Option<RowKey>, Error> {
        let BoardRequest { entity: id, board, tenant, by, .. } = self.request;
        let layout = self.reader.layout;
        match (self.ranking(), of) {
            (Ranking::Count(field), _) => {
                check_value(layout.model().entity(*id), field, of)?;
                let owner = (tenant.as_ref(), by.as_slice());
                Ok(layout.leaderboards().score_key((*id, *board), owner, field, of).ok())
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
        let (mut rank, mut equals) = match is_start {
            true => (1, 0),
            false => {
                let (rows, deletions) = (self.reader.rows(), &mut self.deletions);
                let mut counts = PrefixCounts { rows, entries: &self.shards, deletions };
                let corrections = counts.corrections(&first).await?;
                let rank = 1 + at_least_0(counts.better(&first).await? + corrections.better);
                let seen = found.iter().filter(|standing| standing.score == first).count();
                // Entries with the same score that come before are not among them.
                let unseen = match seen == found.len() {
                    true => 0,
                    false => at_least_0(counts.equal(&first).await? + corrections.equal),
                };
                (rank, unseen.saturating_sub(seen as u64))
            }
        };
        let (mut score, mut ranked) = (first, vec![]);
        for standing in found {
            if standing.score != score {
                (rank, equals) = (rank + equals, 0);
                score = standing.score;
            }
            equals += 1;
            let Standing { score, of, .. } = standing;
            ranked.push(Ranked { rank, score, of, is_settling: false });
        }
        Ok(ranked)
    }
}

/// A count after deletions. Rows that are not of one moment can make it negative.
fn at_least_0(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

impl Standing {
    /// The order of entries, in a direction.
    fn order(&self, other: &Standing, direction: Direction) -> Ordering {
        match direction {
            Direction::Forward => self.position.cmp(&other.position),
            Direction::Backward => other.position.cmp(&self.position),
        }
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
