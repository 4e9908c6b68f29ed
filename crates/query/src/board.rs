//! Leaderboards: pages, the greatest score first; the rank of one entry, and its neighbours.
//!
//! Equal scores have equal ranks: the number of better scores plus one. They are in order of what has
//! them. A rank is a sum of prefix counts, of which a score needs few.
//!
//! What a large deletion has taken is left out (`visible.rs`): index keys and prefix counts name the
//! deletions that take them; rows beside the board say how much is taken of scores (`taken.rs`).

use keyloom_model::Ranking;
use keyloom_value::{KeyBytes, Value};

use crate::board_request::Asked;
use crate::fingerprint::Fingerprint;
use crate::visible::{ATTEMPTS_MAX, ReadState};
use crate::walk::Walk;
use crate::{BoardPage, BoardRequest, CursorKey, Error, Ranked, ReadCost, Reader};

/// How often a board is read again from which deletions take more than is held.
const ATTEMPTS_AT_MANY: usize = 4;

/// What was read of a board.
struct Found {
    ranked: Vec<Ranked>,
    /// The last position, if others follow.
    next: Option<Vec<u8>>,
    read: ReadCost,
}

impl Reader<'_> {
    /// Returns a page of a leaderboard: the first one, or that after a cursor.
    ///
    /// # Errors
    ///
    /// If the request is invalid, the cursor is of another query, the store fails, or a row is
    /// damaged.
    pub async fn board(
        &self,
        request: &BoardRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<BoardPage, Error> {
        let partition = request.partition(self.layout)?;
        let partition = partition.map(KeyBytes::into_vec).unwrap_or_default();
        let fingerprint = Fingerprint::of_board(&partition, &self.ranked_by(request));
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let found = self.ask_board(request, Asked::Page(after.as_deref())).await?;
        let next = found.next.map(|position| cursors.seal(&fingerprint, &position));
        Ok(BoardPage { ranked: found.ranked, next, read: found.read })
    }

    /// Returns one entry of a leaderboard: that of a value, or of an entity by its id. None if it is
    /// not on the board.
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

    /// Returns one entry of a leaderboard with those before and after it. None if it is not on the
    /// board.
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

    /// Reads the board at one moment, as far as deletions are concerned.
    async fn ask_board(&self, request: &BoardRequest, asked: Asked<'_>) -> Result<Found, Error> {
        let mut state = ReadState::default();
        for attempt in 1..=ATTEMPTS_MAX {
            let mut walk = Walk::begin(self, request, &mut state).await?;
            let (ranked, next) = walk.answer(asked).await?;
            if walk.is_valid().await? {
                return Ok(Found { ranked, next, read: walk.state.cost });
            }
            // Without a snapshot, this much is hardly read the same twice while a deletion works.
            if walk.takes_many() && attempt >= ATTEMPTS_AT_MANY {
                break;
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    fn ranked_by(&self, request: &BoardRequest) -> String {
        let entity = self.layout.model().entity(request.entity);
        match entity.board(request.board).ranking {
            Ranking::Count(field) => format!("of {}", entity.field(field).name),
            Ranking::Field(field) => format!("rank {}", entity.field(field).name),
        }
    }
}
