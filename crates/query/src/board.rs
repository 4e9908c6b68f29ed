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
use crate::board_scan::BoardScan;
use crate::fingerprint::Fingerprint;
use crate::visible::{ATTEMPTS_MAX, ReadState};
use crate::{BoardPage, BoardRequest, CursorKey, Error, Ranked, ReadCost, Reader};

/// How often a board is read again from which deletions take more than is held.
const ATTEMPTS_AT_MANY: usize = 4;

/// What was read of a board.
struct Found {
    ranked: Vec<Ranked>,
    /// The last position, if others follow.
    next: Option<Vec<u8>>,
    is_settling: bool,
    read: ReadCost,
}

/// A leaderboard to read.
pub(crate) struct BoardQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q BoardRequest,
}

impl BoardQuery<'_> {
    /// Returns the first page, or that after a cursor.
    pub(crate) async fn page(
        &self,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<BoardPage, Error> {
        let partition = self.request.partition(self.reader.layout)?;
        let partition = partition.map(KeyBytes::into_vec).unwrap_or_default();
        let fingerprint = Fingerprint::of_board(&partition, &self.ranked_by());
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let found = self.read(Asked::Page(after.as_deref())).await?;
        let next = found.next.map(|position| cursors.seal(&fingerprint, &position));
        let Found { ranked, is_settling, read, .. } = found;
        Ok(BoardPage { ranked, next, is_settling, read })
    }

    /// Returns the entry of a value, or of an entity by its id.
    pub(crate) async fn one(&self, of: &Value) -> Result<Option<Ranked>, Error> {
        Ok(self.read(Asked::One(of)).await?.ranked.pop())
    }

    /// Returns an entry with those before and after it.
    pub(crate) async fn around(&self, of: &Value) -> Result<Option<Vec<Ranked>>, Error> {
        let ranked = self.read(Asked::Around(of)).await?.ranked;
        Ok(Some(ranked).filter(|ranked| !ranked.is_empty()))
    }

    /// Reads the board at one moment, as far as deletions are concerned.
    async fn read(&self, asked: Asked<'_>) -> Result<Found, Error> {
        let mut state = ReadState::default();
        for attempt in 1..=ATTEMPTS_MAX {
            let mut scan = BoardScan::begin(self.reader, self.request, &mut state).await?;
            // First: what is settled meanwhile may be missing from what is read next.
            let is_settling = scan.is_settling().await?;
            let (mut ranked, next) = scan.answer(asked).await?;
            ranked.iter_mut().for_each(|ranked| ranked.is_settling = is_settling);
            if scan.deletions.is_valid().await? {
                let read = scan.deletions.state.cost;
                return Ok(Found { ranked, next, is_settling, read });
            }
            // Without a snapshot, this much is hardly read the same twice while a deletion works.
            if scan.deletions.is_much() && attempt >= ATTEMPTS_AT_MANY {
                break;
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// What the board ranks by, as fingerprints have it.
    fn ranked_by(&self) -> String {
        let entity = self.reader.layout.model().entity(self.request.entity);
        match entity.board(self.request.board).ranking {
            Ranking::Count(field) => format!("of {}", entity.field(field).name),
            Ranking::Field(field) => format!("rank {}", entity.field(field).name),
        }
    }
}
