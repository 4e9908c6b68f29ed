//! How many entries of a leaderboard have a better score, or the same: sums of prefix counts.

use keyloom_model::attribute::SORT;
use keyloom_model::{LeaderboardKeys, RowKey};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::Error;
use crate::board_deletions::BoardDeletions;
use crate::fetch::Rows;
use crate::partition::{MergedRequest, Partition};
use crate::span::Span;
use crate::taken::{TakenScore, number};

/// How many prefix counts one request reads; hardly any score needs more.
const PAGE_STEPS: usize = 256;

/// The prefix counts of a leaderboard.
pub(crate) struct PrefixCounts<'p, 'd> {
    pub(crate) rows: Rows<'p>,
    /// The partitions of the board's index keys, one for each shard.
    pub(crate) entries: &'p [KeyBytes],
    pub(crate) deletions: &'p mut BoardDeletions<'d>,
}

/// How many more entries there are after deletions than the board has.
#[derive(Default)]
pub(crate) struct Corrections {
    /// With a better score.
    pub(crate) better: i64,
    /// With the same score.
    pub(crate) equal: i64,
}

impl PrefixCounts<'_, '_> {
    /// Compares what deletions leave of scores with one score.
    pub(crate) async fn corrections(&mut self, score: &Number) -> Result<Corrections, Error> {
        let mut corrections = Corrections::default();
        let mut add = |taken: TakenScore| {
            corrections.better += taken.correction(|of| of > score);
            corrections.equal += taken.correction(|of| of == score);
        };
        self.deletions.each(&mut add).await?;
        Ok(corrections)
    }

    /// Reads how many entries have a better score, before deletions.
    pub(crate) async fn better(&mut self, score: &Number) -> Result<i64, Error> {
        let keys: Vec<KeyBytes> = self.entries.iter().map(LeaderboardKeys::prefix_counts).collect();
        let mut sum = 0;
        for (from, to) in LeaderboardKeys::better_prefixes(score) {
            sum += self.sum(&keys, Span::ALL.starting_at(Some(from)).ending_at(Some(to))).await?;
        }
        Ok(sum)
    }

    /// Reads how many entries have a score, before deletions.
    pub(crate) async fn equal(&mut self, score: &Number) -> Result<i64, Error> {
        let sizes = self.entries.iter().map(|key| LeaderboardKeys::score_size_key(key, score));
        let sizes: Vec<RowKey> = sizes.collect();
        let Some(first) = sizes.first() else { return Ok(0) };
        // The rows that say how much of it deletions take follow.
        let span = Span::within(first.sort.as_bytes());
        let keys: Vec<KeyBytes> = sizes.iter().map(|size| size.partition.clone()).collect();
        let before = self.deletions.state.cost.rows;
        let equal = self.sum(&keys, span).await?;
        // Reading a row that does not exist is a read too.
        let cost = &mut self.deletions.state.cost;
        cost.rows += u64::from(cost.rows == before);
        Ok(equal)
    }

    /// Adds up the rows of a range in all shards.
    async fn sum(&mut self, keys: &[KeyBytes], mut span: Span) -> Result<i64, Error> {
        let partitions = keys.iter().map(|key| Partition::of_table(key.as_bytes()));
        let partitions: Vec<Partition<'_>> = partitions.collect();
        let (direction, limit) = (Direction::Forward, PAGE_STEPS);
        let mut sum = 0;
        loop {
            let request = MergedRequest { partitions: &partitions, span: &span, direction, limit };
            let page = request.read(self.rows, &mut self.deletions.state.cost).await?;
            for row in &page.items {
                sum += self.count_of(row).await?;
            }
            let Some(last) = page.last else { return Ok(sum) };
            span = span.past(&last);
        }
    }

    /// What a row adds: less than 0 if it says how much deletions have taken.
    async fn count_of(&mut self, row: &Item) -> Result<i64, Error> {
        let sort = row.get(SORT).and_then(Value::as_b).unwrap_or_default();
        let number = number(row)?;
        match LeaderboardKeys::prefix_count_takers(sort) {
            None => Ok(number),
            Some(takers) => {
                Ok(if self.deletions.any_happened(&takers).await? { -number } else { 0 })
            }
        }
    }
}
