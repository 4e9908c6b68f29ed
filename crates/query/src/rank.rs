//! How many entries of a leaderboard have a better score, or the same: sums of prefix counts.

use keyloom_model::attribute::SORT;
use keyloom_model::{LeaderboardKeys, RowKey};
use keyloom_value::{Item, KeyBytes, Number, Value};

use crate::Error;
use crate::board_deletions::BoardDeletions;
use crate::fetch::Rows;
use crate::partition::Partition;
use crate::span::Span;
use crate::taken::{TakenScore, number};

/// How many prefix counts one request reads; hardly any score needs more.
const PAGE_STEPS: usize = 256;

/// The prefix counts of a leaderboard.
pub(crate) struct PrefixCounts<'p, 'd> {
    pub(crate) rows: Rows<'p>,
    /// The partition of the board's index keys.
    pub(crate) entries: &'p KeyBytes,
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
        let key = LeaderboardKeys::prefix_counts(self.entries);
        let partition = Partition::of_table(key.as_bytes());
        let mut sum = 0;
        for (from, to) in LeaderboardKeys::better_prefixes(score) {
            let mut span = Span::ALL.starting_at(Some(from)).ending_at(Some(to));
            loop {
                let request = partition.first(&span, PAGE_STEPS);
                let page = request.read(self.rows, &mut self.deletions.state.cost).await?;
                for row in &page.items {
                    sum += self.count_of(row).await?;
                }
                let last = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b());
                let Some(last) = last else { break };
                span = span.past(last);
            }
        }
        Ok(sum)
    }

    /// Reads how many entries have a score, before deletions.
    pub(crate) async fn equal(&mut self, score: &Number) -> Result<i64, Error> {
        let RowKey { partition, sort } = LeaderboardKeys::score_size_key(self.entries, score);
        let partition = Partition::of_table(partition.as_bytes());
        // The rows that say how much of it deletions take follow.
        let span = Span::within(sort.as_bytes());
        let request = partition.first(&span, PAGE_STEPS);
        let page = request.read(self.rows, &mut self.deletions.state.cost).await?;
        self.deletions.state.cost.rows += u64::from(page.scanned == 0);
        let mut equal = 0;
        for row in &page.items {
            equal += self.count_of(row).await?;
        }
        Ok(equal)
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
