//! Which part of a leaderboard to read, and what a page of it is.

use keyloom_model::{BoardId, EntityId, Layout};
use keyloom_value::{KeyBytes, Number, Value};

use crate::request_error::{GivenValues, check_limit, check_tenant};
use crate::{ReadCost, RequestError};

/// A request for a part of a leaderboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardRequest {
    /// The kind of entity.
    pub entity: EntityId,
    /// The board.
    pub board: BoardId,
    /// The tenant, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the board's `by`.
    pub by: Vec<Value>,
    /// The maximum number of entries: 1 to 1,000. Around one, as many on either side.
    pub limit: u32,
}

/// An entry of a leaderboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The number of better scores plus one.
    pub rank: u64,
    /// The score.
    pub score: Number,
    /// The value that is ranked, or the id of the entity.
    pub of: Value,
    /// Whether scores of the board have changed since ranks were settled: ranks follow in seconds.
    pub is_settling: bool,
}

/// A page of a leaderboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPage {
    /// The greatest score first; equal scores in order of what has them.
    pub ranked: Vec<Ranked>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// Whether scores of the board have changed since ranks were settled: ranks follow in seconds.
    pub is_settling: bool,
    /// How much was read.
    pub read: ReadCost,
}

/// What to read of a leaderboard.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// The first entries, or those after a position.
    Page(Option<&'a [u8]>),
    /// One entry.
    One(&'a Value),
    /// One entry and its neighbours.
    Around(&'a Value),
}

impl BoardRequest {
    /// Checks the request and returns the partition of the board's index keys; none if it does not
    /// fit into a key.
    pub(crate) fn partition(&self, layout: &Layout) -> Result<Option<KeyBytes>, RequestError> {
        let BoardRequest { entity: id, board, tenant, by, limit } = self;
        check_limit(*limit)?;
        check_tenant(layout, *id, tenant.as_ref())?;
        let entity = layout.model().entity(*id);
        let declared = entity.board(*board);
        GivenValues { entity, fields: &declared.by, values: by }
            .check(|| format!("The board `{}`", declared.name))?;
        Ok(layout.leaderboards().partition((*id, *board), tenant.as_ref(), by).ok())
    }
}
