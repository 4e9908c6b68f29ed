//! Boards: what is ranked, the greatest first; the rank of one, and who is around it.
//!
//! Equal scores have equal ranks: one more than how many have a better one. They stand in order of
//! what has them. A rank is added up from the steps of the board, which are few for any score.
//!
//! What a large deletion has taken is left out (`visible.rs`): places and steps say which deletions
//! take them; of scores, rows beside the board say how much is taken (`taken.rs`).

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{BoardId, EntityId, EntityKey, Layout, Ranking, RowKey, Slot, Unreadable};
use keyloom_store::{Direction, TableName};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::request_error::{check_limit, check_tenant, check_value, check_values};
use crate::span::{Place, Span};
use crate::taken::{Scores, TakenScore, TakenScores, number};
use crate::visible::{ATTEMPTS_MAX, Deletions, Verdict};
use crate::{CursorKey, Effort, Error, Reader, RequestError};

/// How many steps are read at once; hardly any score has more before it.
const PAGE_STEPS: usize = 256;
/// How many places more are read at once if some are left out.
const PAGE_PLACES: usize = 1_000;

/// Which board to read, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardRequest {
    /// Of which entities.
    pub entity: EntityId,
    /// Which of their boards.
    pub board: BoardId,
    /// Whose, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the board's `by`.
    pub by: Vec<Value>,
    /// How many, at most: 1 to 1,000. Around one, as many on either side.
    pub limit: u32,
}

/// One on a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// One more than how many have a better score.
    pub rank: u64,
    /// What it is ranked by.
    pub score: Number,
    /// The value that is ranked, or the id of the entity.
    pub of: Value,
}

/// A part of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPage {
    /// The greatest score first; equals in order of what has them.
    pub ranked: Vec<Ranked>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// What was read for it.
    pub read: Effort,
}

/// A place on a board.
#[derive(Clone)]
struct Standing {
    position: Vec<u8>,
    score: Number,
    of: Value,
}

/// What is asked of a board.
#[derive(Clone, Copy)]
enum Asked<'a> {
    /// As many as are wanted, the first ones or those after a place.
    Page(Option<&'a [u8]>),
    /// One alone.
    One(&'a Value),
    /// One, and who is around it.
    Around(&'a Value),
}

/// What a board answers.
struct Found {
    ranked: Vec<Ranked>,
    /// The last place, if others follow.
    next: Option<Vec<u8>>,
    read: Effort,
}

/// A board that is being read.
struct Walk<'w> {
    reader: &'w Reader<'w>,
    request: &'w BoardRequest,
    /// None if it does not fit into a key: then nothing is on the board.
    places: Option<KeyBytes>,
    slot: Slot,
    deletions: &'w mut Deletions,
    taken: TakenScores,
    /// Whether something was read before it was known that a deletion has taken it.
    is_stale: bool,
    read: Effort,
}

impl Reader<'_> {
    /// A page of a board: the first one, or that after a cursor.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the cursor is not one of it, the store fails, or a row is
    /// damaged.
    pub async fn board(
        &self,
        request: &BoardRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<BoardPage, Error> {
        let partition = self.places(request)?.map(KeyBytes::into_vec).unwrap_or_default();
        let fingerprint = Fingerprint::of_board(&partition, &self.ranked_by(request));
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let found = self.ask_board(request, Asked::Page(after.as_deref())).await?;
        let next = found.next.map(|position| cursors.seal(&fingerprint, &position));
        Ok(BoardPage { ranked: found.ranked, next, read: found.read })
    }

    /// One on a board: a value, or an entity by its id. None if it is not on it.
    ///
    /// # Errors
    ///
    /// As [`Reader::board`].
    pub async fn ranked(
        &self,
        request: &BoardRequest,
        of: &Value,
    ) -> Result<Option<Ranked>, Error> {
        Ok(self.ask_board(request, Asked::One(of)).await?.ranked.pop())
    }

    /// One on a board with those before and after it. None if it is not on it.
    ///
    /// # Errors
    ///
    /// As [`Reader::board`].
    pub async fn around(
        &self,
        request: &BoardRequest,
        of: &Value,
    ) -> Result<Option<Vec<Ranked>>, Error> {
        let ranked = self.ask_board(request, Asked::Around(of)).await?.ranked;
        Ok(Some(ranked).filter(|ranked| !ranked.is_empty()))
    }

    /// The same answer as if no deletion had come between.
    async fn ask_board(&self, request: &BoardRequest, asked: Asked<'_>) -> Result<Found, Error> {
        let mut deletions = Deletions::default();
        for _ in 0..ATTEMPTS_MAX {
            let mut walk = self.walk(request, &mut deletions).await?;
            let (ranked, next) = walk.answer(asked).await?;
            if walk.is_valid().await? {
                return Ok(Found { ranked, next, read: walk.read });
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// The partition of the places of a board; none if it does not fit into a key.
    fn places(&self, request: &BoardRequest) -> Result<Option<KeyBytes>, Error> {
        let BoardRequest { entity: id, board, tenant, by, limit } = request;
        check_limit(*limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        let declared = entity.board(*board);
        check_values(entity, || format!("The board `{}`", declared.name), &declared.by, by)?;
        Ok(self.layout.board_partition((*id, *board), tenant.as_ref(), by).ok())
    }

    fn ranked_by(&self, request: &BoardRequest) -> String {
        let entity = self.layout.model().entity(request.entity);
        match entity.board(request.board).ranking {
            Ranking::Count(field) => format!("of {}", entity.field(field).name),
            Ranking::Field(field) => format!("rank {}", entity.field(field).name),
        }
    }

    async fn walk<'w>(
        &'w self,
        request: &'w BoardRequest,
        deletions: &'w mut Deletions,
    ) -> Result<Walk<'w>, Error> {
        let places = self.places(request)?;
        let slot = self.layout.board_slot(request.entity, request.board);
        let (taken, is_stale, read) = (TakenScores::default(), false, Effort::default());
        let mut walk =
            Walk { reader: self, request, places, slot, deletions, taken, is_stale, read };
        walk.taken = walk.find_taken().await?;
        Ok(walk)
    }
}

impl Walk<'_> {
    fn ranking(&self) -> Ranking {
        let entity = self.reader.layout.model().entity(self.request.entity);
        entity.board(self.request.board).ranking
    }

    /// What is asked, and the last place of a page that others follow. Around one that is not on the
    /// board is nobody.
    async fn answer(&mut self, asked: Asked<'_>) -> Result<(Vec<Ranked>, Option<Vec<u8>>), Error> {
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

    /// Places after one, or from the start.
    async fn standings(
        &mut self,
        after: Option<&[u8]>,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<Standing>, Error> {
        let Some(places) = self.places.clone() else { return Ok(vec![]) };
        let name = TableName::new(&self.slot.name()).map_err(keyloom_store::Error::from)?;
        let place = Place {
            index: Some(name),
            partition: (self.slot.partition(), places.as_bytes()),
            sort: self.slot.sort(),
        };
        let (mut found, mut at) = (vec![], after.map(<[u8]>::to_vec));
        loop {
            let span = self.span(at.as_deref(), direction);
            // The one that it goes on from may be met again, and so may what is left out.
            let wanted = limit + 1 - found.len() + self.taken.len().min(PAGE_PLACES);
            let page = self.reader.page(&place, &span, direction, wanted).await?;
            self.read.rows += page.scanned;
            self.read.bytes += page.scanned_bytes;
            let last = page.items.last().map(|row| self.position(row)).transpose()?;
            for row in &page.items {
                let is_taken =
                    self.is_taken(&Layout::takers_of_place(&self.position(row)?)).await?;
                let standing = self.read_standing(row)?;
                let met = found.last().map(|last: &Standing| last.position.as_slice());
                let is_new = ![after, met].contains(&Some(standing.position.as_slice()));
                if is_new && !is_taken && self.taken.at(&standing.position).is_none() {
                    found.push(standing);
                }
            }
            let is_all = page.last_key.is_none() || last.is_none() || last == at;
            if is_all || found.len() >= limit {
                break;
            }
            at = last;
        }
        found.extend(self.taken_beyond(after, direction));
        found.sort_by(|left, right| match direction {
            Direction::Forward => left.position.cmp(&right.position),
            Direction::Backward => right.position.cmp(&left.position),
        });
        found.truncate(limit);
        Ok(found)
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
        let verdict = self.reader.learn(named, self.deletions, &mut self.read).await?;
        self.is_stale |= verdict == Verdict::ReadAgain;
        Ok(self.deletions.any_happened(takers))
    }

    /// Whether all that was read is of one moment, as far as deletions are concerned.
    async fn is_valid(&mut self) -> Result<bool, Error> {
        let verdict = self.reader.confirm(self.deletions, &mut self.read).await?;
        if self.is_stale || verdict == Verdict::ReadAgain {
            return Ok(false);
        }
        Ok(self.taken.is_empty() || self.find_taken().await? == self.taken)
    }

    /// The places of scores as deletions leave them, after one.
    fn taken_beyond(&self, at: Option<&[u8]>, direction: Direction) -> Vec<Standing> {
        let places = self.taken.iter().filter_map(|taken| self.place_of(taken));
        let is_beyond = |standing: &Standing| match (at, direction) {
            (None, _) => true,
            (Some(at), Direction::Forward) => standing.position.as_slice() > at,
            (Some(at), Direction::Backward) => standing.position.as_slice() < at,
        };
        places.filter(is_beyond).collect()
    }

    fn place_of(&self, taken: &TakenScore) -> Option<Standing> {
        let Ranking::Count(field) = self.ranking() else { return None };
        let score = Number::from(taken.left);
        let position =
            self.reader.layout.score_place((self.request.entity, field), &score, &taken.of);
        let (position, of) = (position.into_vec(), taken.of.clone());
        (taken.left > 0).then_some(Standing { position, score, of })
    }

    /// The scores from which deletions have taken something, with what is left of them.
    async fn find_taken(&mut self) -> Result<TakenScores, Error> {
        let (Ranking::Count(field), Some(places)) = (self.ranking(), &self.places) else {
            return Ok(TakenScores::default());
        };
        let BoardRequest { entity, board, tenant, by, .. } = self.request;
        let owner = (tenant.as_ref(), by.as_slice());
        let scores = Scores { of: (*entity, *board), field, owner, places };
        self.reader.taken_scores(&scores, (self.deletions, &mut self.read)).await
    }

    /// What is left of the board after a place, or at it. A value that nobody has any more is not
    /// on the board.
    fn span(&self, at: Option<&[u8]>, direction: Direction) -> Span {
        let end = match self.ranking() {
            Ranking::Count(_) => Some(Layout::score_prefix(&Number::ZERO).into_vec()),
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
        let place = sort.and_then(|sort| Some((place_alone(sort)?, Layout::read_place(sort)?)));
        let (position, (score, of)) =
            place.ok_or_else(|| unreadable(row, Unreadable { attribute: SORT }))?;
        let of = match self.ranking() {
            Ranking::Count(field) => self.reader.layout.from_key(self.request.entity, field, &of),
            Ranking::Field(_) => of,
        };
        Ok(Standing { position: position.to_vec(), score, of })
    }

    /// The place of one, if it has one on this board.
    async fn standing(&mut self, of: &Value) -> Result<Option<Standing>, Error> {
        let Some(places) = self.places.clone() else { return Ok(None) };
        let Some(key) = self.key_of(of)? else { return Ok(None) };
        if let Some(taken) = self.taken_from(of) {
            return Ok(self.place_of(taken));
        }
        let Some(row) = self.reader.row(&key).await? else { return Ok(None) };
        self.read.rows += 1;
        self.read.bytes += row.size() as u64;
        let at = row.get(self.slot.partition().as_str()).and_then(Value::as_b);
        if at != Some(places.as_bytes()) {
            return Ok(None);
        }
        let standing = self.read_standing(&row)?;
        let takers = Layout::takers_of_place(&self.position(&row)?);
        let is_on_it = match self.ranking() {
            Ranking::Count(_) => standing.score > Number::ZERO,
            Ranking::Field(_) => !self.is_taken(&takers).await?,
        };
        Ok(Some(standing).filter(|_| is_on_it))
    }

    /// What is left of the score of a value from which deletions have taken something.
    fn taken_from(&self, of: &Value) -> Option<&TakenScore> {
        let Ranking::Count(field) = self.ranking() else { return None };
        let entity = self.request.entity;
        let place = self.reader.layout.score_place((entity, field), &Number::ZERO, of);
        self.taken.at(place.as_bytes())
    }

    /// The row of one; none if it does not fit into a key.
    fn key_of(&self, of: &Value) -> Result<Option<RowKey>, Error> {
        let BoardRequest { entity: id, board, tenant, by, .. } = self.request;
        let layout = self.reader.layout;
        match (self.ranking(), of) {
            (Ranking::Count(field), _) => {
                check_value(layout.model().entity(*id), field, of)?;
                let owner = (tenant.as_ref(), by.as_slice());
                Ok(layout.ranked_key((*id, *board), owner, (field, of)).ok())
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

    /// Places with their ranks. They stand next to each other on the board.
    async fn ranked(&mut self, found: Vec<Standing>, is_start: bool) -> Result<Vec<Ranked>, Error> {
        let Some(first) = found.first() else { return Ok(vec![]) };
        let first = first.score;
        let is_alone = found.iter().all(|standing| standing.score == first);
        let (mut rank, mut equals) = match is_start {
            true => (1, 0),
            false => {
                let rank = 1 + self.better(&first).await?;
                // Those of the same score that come before are not among them.
                let unseen = if is_alone { 0 } else { self.equals(&first).await? };
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

    /// How many have a better score.
    async fn better(&mut self, score: &Number) -> Result<u64, Error> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        let partition = Layout::steps_partition(&places);
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        let mut sum = 0;
        for (from, to) in Layout::better_steps(score) {
            let mut span = Span::new(Some(from), Some(to));
            loop {
                let page = self.reader.page(&place, &span, Direction::Forward, PAGE_STEPS).await?;
                self.read.rows += page.scanned;
                self.read.bytes += page.scanned_bytes;
                for row in &page.items {
                    sum += self.step_of(row).await?;
                }
                let last = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b());
                let Some(last) = last else { break };
                span = span.past(last);
            }
        }
        let sum = sum + self.taken.correction(|of| of > score);
        Ok(u64::try_from(sum).unwrap_or(0))
    }

    /// How many have a score.
    async fn equals(&mut self, score: &Number) -> Result<u64, Error> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        let RowKey { partition, sort } = Layout::score_size_key(&places, score);
        let partition = (PARTITION.into(), partition.as_bytes());
        let place = Place { index: None, partition, sort: SORT.into() };
        // With it stands how much of it deletions take.
        let span = Span::within(sort.as_bytes());
        let page = self.reader.page(&place, &span, Direction::Forward, PAGE_STEPS).await?;
        self.read.rows += page.scanned.max(1);
        let mut equals = 0;
        for row in &page.items {
            equals += self.step_of(row).await?;
        }
        equals += self.taken.correction(|of| of == score);
        Ok(u64::try_from(equals).unwrap_or(0))
    }

    /// What a row of a step adds: less than nothing if it says how much deletions have taken.
    async fn step_of(&mut self, row: &Item) -> Result<i64, Error> {
        let sort = row.get(SORT).and_then(Value::as_b).unwrap_or_default();
        let number = number(row)?;
        match Layout::takers_of_step(sort) {
            None => Ok(number),
            Some(takers) => Ok(if self.is_taken(&takers).await? { -number } else { 0 }),
        }
    }
}

/// A place without the deletions that take it.
fn place_alone(sort: &[u8]) -> Option<&[u8]> {
    let rest = KeyBytes::skip_part(sort).and_then(KeyBytes::skip_part).ok()?;
    sort.get(..sort.len() - rest.len())
}
