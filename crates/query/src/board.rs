//! Boards: what is ranked, the greatest first; the rank of one, and who is around it.
//!
//! Equal scores have equal ranks: one more than how many have a better one. They stand in order of
//! what has them. A rank is added up from the steps of the board, which are few for any score.

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{
    BoardId, EntityId, EntityKey, Layout, Ranking, RowKey, Slot, Tally, Unreadable,
};
use keyloom_store::{Direction, TableName};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::request_error::{check_limit, check_tenant, check_value, check_values};
use crate::span::{Place, Span};
use crate::{CursorKey, Effort, Error, Reader, RequestError};

/// How many steps are read at once; hardly any score has more before it.
const PAGE_STEPS: usize = 256;

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
struct Standing {
    position: Vec<u8>,
    score: Number,
    of: Value,
}

/// A board that is being read.
struct Walk<'w> {
    reader: &'w Reader<'w>,
    request: &'w BoardRequest,
    /// None if it does not fit into a key: then nothing is on the board.
    places: Option<KeyBytes>,
    slot: Slot,
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
        let mut walk = self.walk(request)?;
        let partition = walk.places.as_ref().map_or(&[][..], KeyBytes::as_bytes);
        let fingerprint = Fingerprint::of_board(partition, &walk.ranked_by());
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let limit = request.limit as usize;
        let mut found = walk.standings(after.as_deref(), Direction::Forward, limit + 1).await?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| has_more);
        let next = next.map(|last| cursors.seal(&fingerprint, &last.position));
        let ranked = walk.ranked(found, cursor.is_none()).await?;
        Ok(BoardPage { ranked, next, read: walk.read })
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
        let mut walk = self.walk(request)?;
        let Some(own) = walk.standing(of).await? else { return Ok(None) };
        Ok(walk.ranked(vec![own], false).await?.pop())
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
        let mut walk = self.walk(request)?;
        let Some(own) = walk.standing(of).await? else { return Ok(None) };
        let (at, limit) = (own.position.clone(), request.limit as usize);
        let mut all = walk.standings(Some(&at), Direction::Backward, limit).await?;
        all.reverse();
        all.push(own);
        all.extend(walk.standings(Some(&at), Direction::Forward, limit).await?);
        walk.ranked(all, false).await.map(Some)
    }

    fn walk<'w>(&'w self, request: &'w BoardRequest) -> Result<Walk<'w>, RequestError> {
        let BoardRequest { entity: id, board, tenant, by, limit } = request;
        check_limit(*limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        let declared = entity.board(*board);
        check_values(entity, || format!("The board `{}`", declared.name), &declared.by, by)?;
        let places = self.layout.board_partition((*id, *board), tenant.as_ref(), by).ok();
        let slot = self.layout.board_slot(*id, *board);
        Ok(Walk { reader: self, request, places, slot, read: Effort::default() })
    }
}

impl Walk<'_> {
    fn ranking(&self) -> Ranking {
        let entity = self.reader.layout.model().entity(self.request.entity);
        entity.board(self.request.board).ranking
    }

    fn ranked_by(&self) -> String {
        let entity = self.reader.layout.model().entity(self.request.entity);
        match self.ranking() {
            Ranking::Count(field) => format!("of {}", entity.field(field).name),
            Ranking::Field(field) => format!("rank {}", entity.field(field).name),
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
        let (mut found, mut at) = (Vec::<Standing>::new(), after.map(<[u8]>::to_vec));
        loop {
            let span = self.span(at.as_deref(), direction);
            // The one that it goes on from may be met again.
            let wanted = limit + 1 - found.len();
            let page = self.reader.page(&place, &span, direction, wanted).await?;
            self.read.rows += page.scanned;
            self.read.bytes += page.scanned_bytes;
            let rows = page.items.iter().map(|row| self.read_standing(row));
            let rows = rows.collect::<Result<Vec<Standing>, Error>>()?;
            let before = found.len();
            found.extend(rows.into_iter().filter(|row| Some(&row.position) != at.as_ref()));
            let is_all = page.last_key.is_none() || found.len() == before;
            if is_all || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
            at = found.last().map(|last| last.position.clone());
        }
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
        let place = sort.and_then(|sort| Some((sort, Layout::read_place(sort)?)));
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
        let Some(row) = self.reader.row(&key).await? else { return Ok(None) };
        self.read.rows += 1;
        self.read.bytes += row.size() as u64;
        let at = row.get(self.slot.partition().as_str()).and_then(Value::as_b);
        if at != Some(places.as_bytes()) {
            return Ok(None);
        }
        let standing = self.read_standing(&row)?;
        let is_on_it = match self.ranking() {
            Ranking::Count(_) => standing.score > Number::ZERO,
            Ranking::Field(_) => true,
        };
        Ok(Some(standing).filter(|_| is_on_it))
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
                    sum += number(row)?;
                }
                let last = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b());
                let Some(last) = last else { break };
                span = span.after(last, Direction::Forward);
            }
        }
        Ok(u64::try_from(sum).unwrap_or(0))
    }

    /// How many have a score.
    async fn equals(&mut self, score: &Number) -> Result<u64, Error> {
        let Some(places) = self.places.clone() else { return Ok(0) };
        let row = self.reader.row(&Layout::score_size_key(&places, score)).await?;
        self.read.rows += 1;
        let equals = row.as_ref().map_or(Ok(0), number)?;
        Ok(u64::try_from(equals).unwrap_or(0))
    }
}

fn number(row: &Item) -> Result<i64, Error> {
    let wrong = || unreadable(row, Unreadable { attribute: keyloom_model::attribute::COUNT });
    Tally::number(row).ok_or_else(wrong)
}
