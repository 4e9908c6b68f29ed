//! Changes of scores that are not settled yet: on a board with shards, writes add to them, and a
//! background operation moves them into the scores.

use keyloom_model::RowKey;
use keyloom_store::Direction;
use keyloom_value::KeyBytes;

use crate::fetch::{RawKey, Rows};
use crate::partition::{MergedRequest, Partition};
use crate::span::Span;
use crate::taken::number;
use crate::visible::ATTEMPTS_MAX;
use crate::{Error, ReadCost};

/// How many rows of each shard are looked at: those of values that change all the time can be 0.
const LOOK_ROWS: usize = 8;

/// A score that is settled.
pub(crate) struct SettledScore<'c> {
    /// Its row.
    pub(crate) score: &'c RowKey,
    /// The rows of its changes, one for each shard.
    pub(crate) changes: &'c [RowKey],
}

impl SettledScore<'_> {
    /// Reads the score, with its changes. Changes that are moved into the score while they are read
    /// would count twice, or not at all: then they are read again.
    pub(crate) async fn sum(&self, rows: Rows<'_>, cost: &mut ReadCost) -> Result<i64, Error> {
        let score = [RawKey::from(self.score)];
        let changes: Vec<RawKey> = self.changes.iter().map(RawKey::from).collect();
        let mut before = rows.get_many(&score, cost).await?;
        for _ in 0..ATTEMPTS_MAX {
            let changes = rows.get_many(&changes, cost).await?;
            let after = rows.get_many(&score, cost).await?;
            if before == after {
                return after.iter().chain(&changes).flatten().map(number).sum();
            }
            before = after;
        }
        Err(Error::Unanswered { rows: changes.len() })
    }
}

/// Whether there are changes in these partitions.
pub(crate) async fn has_changes(
    partitions: &[KeyBytes],
    rows: Rows<'_>,
    cost: &mut ReadCost,
) -> Result<bool, Error> {
    let partitions = partitions.iter().map(|key| Partition::of_table(key.as_bytes()));
    let partitions: Vec<Partition<'_>> = partitions.collect();
    let (span, direction, limit) = (&Span::ALL, Direction::Forward, LOOK_ROWS);
    let request = MergedRequest { partitions: &partitions, span, direction, limit };
    let page = request.read(rows, cost).await?;
    let numbers = page.items.iter().map(number).collect::<Result<Vec<i64>, Error>>()?;
    Ok(page.last.is_some() || numbers.iter().any(|number| *number != 0))
}
