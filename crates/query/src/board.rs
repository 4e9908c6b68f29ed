//! Boards: what is ranked, the greatest first; the rank of one, and who is around it.
//!
//! Equal scores have equal ranks: one more than how many have a better one. They stand in order of
//! what has them. A rank is added up from the steps of the board, which are few for any score.
//!
//! What a large deletion has taken is left out (`visible.rs`): places and steps say which deletions
//! take them; of scores, rows beside the board say how much is taken (`taken.rs`).

use keyloom_model::{BoardId, EntityId, Ranking};
use keyloom_value::{KeyBytes, Number, Value};

use crate::fingerprint::Fingerprint;
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::visible::{ATTEMPTS_MAX, Deletions};
use crate::walk::Walk;
use crate::{CursorKey, Error, ReadCost, Reader};

/// How often a board is read from which deletions take more than is held.
const ATTEMPTS_AT_MANY: usize = 4;

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
    pub read: ReadCost,
}

/// What is asked of a board.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
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
    read: ReadCost,
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
        for attempt in 1..=ATTEMPTS_MAX {
            let places = self.places(request)?;
            let mut walk = Walk::begin(self, (request, places), &mut deletions).await?;
            let (ranked, next) = walk.answer(asked).await?;
            if walk.is_valid().await? {
                return Ok(Found { ranked, next, read: walk.read });
            }
            // Where a store holds no moment, so much is not found the same twice while it goes on.
            if walk.takes_many() && attempt >= ATTEMPTS_AT_MANY {
                break;
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
        Ok(self.layout.leaderboards().partition((*id, *board), tenant.as_ref(), by).ok())
    }

    fn ranked_by(&self, request: &BoardRequest) -> String {
        let entity = self.layout.model().entity(request.entity);
        match entity.board(request.board).ranking {
            Ranking::Count(field) => format!("of {}", entity.field(field).name),
            Ranking::Field(field) => format!("rank {}", entity.field(field).name),
        }
    }
}
