//! Keys of leaderboards.
//!
//! ```text
//! row                           PK                                         SK
//! a prefix count                "h", entity, board, [tenant], by, [shard]  depth, prefix of a score
//! a value that is ranked        "g", entity, board, [tenant], by, value    0
//! a change of its score         "s", entity, board, [tenant], by, shard    value
//! an entry, in an index         "b", entity, board, [tenant], by, [shard]  score, value or id
//! what deletions take           "w", entity, board, [tenant], by           value, deletions
//! with changes of scores        "m", "boards"                              entity, board, ..., shard
//! ```
//!
//! A board of values that has shards is settled: writes add to changes of scores, which a background
//! operation moves into the scores. The score of a value is the sum of both.
//!
//! Scores are negated in keys, so that the greatest comes first. A prefix count is the number of
//! scores of a leaderboard that begin with these bytes; a rank is the sum of the prefix counts
//! before a score, byte by byte.

use keyloom_value::{KeyBytes, Number, Score, Value};

use super::key::{SYSTEM, bytes, own_sort, push_tenant, words};
use super::key_part::{check_len, equality, push_key, push_values};
use super::pending::split;
use super::shards::{self, shard_of};
use super::{Counter, Image, IndexKey, KeyTooLong, Layout, RowKey, Slot};
use crate::model::{Board, BoardId, Entity, EntityId, FieldId, Ranking};

/// First part of the partitions of prefix counts.
pub(super) const PREFIX_COUNT: &str = "h";
/// First part of the partitions of ranked values.
pub(super) const RANKED: &str = "g";
/// First part of the partitions of changes of scores.
pub(super) const CHANGE: &str = "s";
/// First part of the partitions of entries.
pub(super) const ENTRY: &str = "b";
/// First part of the partitions of scores that deletions take from.
pub(super) const PENDING_SCORE: &str = "w";

/// The index of ranked values. They are rows of their own, so all leaderboards share it.
pub(super) const RANKED_SLOT: Slot = Slot(0);

/// Keys of the leaderboards of a layout.
#[derive(Clone, Copy, Debug)]
pub struct LeaderboardKeys<'l> {
    layout: &'l Layout,
}

impl<'l> LeaderboardKeys<'l> {
    pub(super) fn new(layout: &'l Layout) -> LeaderboardKeys<'l> {
        LeaderboardKeys { layout }
    }

    /// The counters of a leaderboard that an entity adds 1 to.
    pub(super) fn counters(
        &self,
        entity: &Entity,
        board: &Board,
        image: &Image,
    ) -> Result<Vec<Counter>, KeyTooLong> {
        let Some(by) = image.values_if(self.layout, &board.filter, &board.by) else {
            return Ok(vec![]);
        };
        let partition =
            BoardPartition { entity, board, tenant: image.key.tenant.as_ref(), by: &by };
        match board.ranking {
            Ranking::Count(field) => {
                let Some(value) = image.value(self.layout, field) else { return Ok(vec![]) };
                let score = partition.ranked_key(field, &value)?;
                let shards = self.layout.shards(board.shards);
                if shards == 1 {
                    return Ok(vec![Counter::Score(score)]);
                }
                let key = change_key(&score, shard_of(&image.key.id, shards));
                let name = || name_of_board(entity, board);
                check_len(&key.partition, RowKey::PARTITION_BYTES_MAX, name)?;
                check_len(&settled_key(&key).sort, RowKey::SORT_BYTES_MAX, name)?;
                Ok(vec![Counter::Change(key)])
            }
            Ranking::Field(field) => {
                let Some(Value::N(score)) = image.value(self.layout, field) else {
                    return Ok(vec![]);
                };
                let partition = partition.key(PREFIX_COUNT)?;
                let partition = self.shard(board, &partition, &image.key.id);
                check_len(&partition, RowKey::PARTITION_BYTES_MAX, || {
                    name_of_board(entity, board)
                })?;
                Ok(prefix_counts(&partition, &score).into_iter().map(Counter::Plain).collect())
            }
        }
    }

    /// The key of an entity in the index of a leaderboard that ranks entities, if it is ranked.
    pub(super) fn index_key(
        &self,
        entity: &Entity,
        board: &Board,
        image: &Image,
    ) -> Result<Option<IndexKey>, KeyTooLong> {
        let Ranking::Field(field) = board.ranking else { return Ok(None) };
        let by = image.values_if(self.layout, &board.filter, &board.by);
        let Some((by, Value::N(score))) = by.zip(image.value(self.layout, field)) else {
            return Ok(None);
        };
        let tenant = image.key.tenant.as_ref();
        let partition = BoardPartition { entity, board, tenant, by: &by }.key(ENTRY)?;
        let partition = self.shard(board, &partition, &image.key.id);
        let mut sort = Score::new(&score).into_key();
        push_key(&mut sort, &Value::from(image.key.id.as_str()));
        check_len(&sort, RowKey::SORT_BYTES_MAX, || name_of_board(entity, board))?;
        Ok(Some(IndexKey { partition, sort }))
    }

    /// The partition of the entries of a leaderboard, as [`super::CountKeys::partition`].
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: nothing is ranked there.
    pub fn partition(
        &self,
        (id, board): (EntityId, BoardId),
        tenant: Option<&Value>,
        by: &[Value],
    ) -> Result<KeyBytes, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        BoardPartition { entity, board: entity.board(board), tenant, by }.key(ENTRY)
    }

    /// The partitions of the entries of a leaderboard, one for each shard, from its partition; none if
    /// they do not fit into a key.
    pub fn entries(&self, (id, board): (EntityId, BoardId), partition: &KeyBytes) -> Vec<KeyBytes> {
        let entity = self.layout.model().entity(id);
        let board = entity.board(board);
        let name = || name_of_board(entity, board);
        shards::partitions(partition, self.entry_shards(board), name).unwrap_or_default()
    }

    /// The partition of the entry of an entity.
    fn shard(&self, board: &Board, partition: &KeyBytes, id: &str) -> KeyBytes {
        let shards = self.entry_shards(board);
        shards::partition(partition, shard_of(id, shards), shards)
    }

    /// How many shards the entries of a leaderboard have. One process at a time writes those that are
    /// settled.
    fn entry_shards(&self, board: &Board) -> u32 {
        match board.ranking {
            Ranking::Field(_) => self.layout.shards(board.shards),
            Ranking::Count(_) => 1,
        }
    }

    /// The rows of the changes of a score, by the row of the score: none if writes change it directly.
    pub fn changes(&self, (id, board): (EntityId, BoardId), score: &RowKey) -> Vec<RowKey> {
        let board = self.layout.model().entity(id).board(board);
        match (board.ranking, self.layout.shards(board.shards)) {
            (Ranking::Count(_), shards) if shards > 1 => {
                (0..shards).map(|shard| change_key(score, shard)).collect()
            }
            (Ranking::Count(_) | Ranking::Field(_), _) => vec![],
        }
    }

    /// The partitions of the changes of all scores of a leaderboard, from that of its entries.
    pub fn change_partitions(
        &self,
        (id, board): (EntityId, BoardId),
        entries: &KeyBytes,
    ) -> Vec<KeyBytes> {
        let entity = self.layout.model().entity(id);
        let board = entity.board(board);
        let name = || name_of_board(entity, board);
        match (board.ranking, self.layout.shards(board.shards)) {
            (Ranking::Count(_), shards) if shards > 1 => {
                shards::partitions(&sibling(entries, CHANGE), shards, name).unwrap_or_default()
            }
            (Ranking::Count(_) | Ranking::Field(_), _) => vec![],
        }
    }

    /// The partition of the rows that say which leaderboards have changes of scores.
    pub fn settled() -> KeyBytes {
        words(&[SYSTEM, "boards"])
    }

    /// The partition of changes of scores that such a row is about.
    pub fn read_settled(sort: &[u8]) -> Option<KeyBytes> {
        Some(partition_of(CHANGE, &KeyBytes::decode(sort).ok()?))
    }

    /// The change of a score with this sort key in a partition of changes.
    pub fn read_change(partition: &KeyBytes, sort: &[u8]) -> Option<Counter> {
        let (partition, sort) = (partition.clone(), bytes(&KeyBytes::decode(sort).ok()?));
        Some(Counter::Change(RowKey { partition, sort }))
    }

    /// Whether writes leave changes of scores to be settled, on any leaderboard.
    pub fn are_settled(&self) -> bool {
        let mut boards = self.layout.model().entities().flat_map(|(_, entity)| &entity.boards);
        boards.any(|board| !board.ranks_entities() && self.layout.shards(board.shards) > 1)
    }

    /// The row of a value that a leaderboard ranks.
    ///
    /// # Errors
    ///
    /// If the values do not fit into a key: no entity has them.
    pub fn score_key(
        &self,
        (id, board): (EntityId, BoardId),
        (tenant, by): (Option<&Value>, &[Value]),
        field: FieldId,
        value: &Value,
    ) -> Result<RowKey, KeyTooLong> {
        let entity = self.layout.model().entity(id);
        let partition = BoardPartition { entity, board: entity.board(board), tenant, by };
        partition.ranked_key(field, value)
    }

    /// The index that holds the entries of a leaderboard.
    pub fn slot(&self, entity: EntityId, board: BoardId) -> Slot {
        self.layout.layout_of(entity).slots.boards[board.index()].unwrap_or(RANKED_SLOT)
    }

    /// The sort key of the entry of a value with a score.
    pub fn index_sort(
        &self,
        (id, field): (EntityId, FieldId),
        score: &Number,
        value: &Value,
    ) -> KeyBytes {
        let mut sort = Score::new(score).into_key();
        push_key(&mut sort, &equality(self.layout.model().entity(id).field(field), value));
        sort
    }

    /// The prefix of the sort keys of all entries with a score.
    pub fn score_prefix(score: &Number) -> KeyBytes {
        Score::new(score).into_key()
    }

    /// The row that counts all entries of a leaderboard.
    pub fn size_key(entries: &KeyBytes) -> RowKey {
        RowKey { partition: LeaderboardKeys::prefix_counts(entries), sort: whole_prefix() }
    }

    /// The row that counts the entries with a score.
    pub fn score_size_key(entries: &KeyBytes, score: &Number) -> RowKey {
        let all = prefix_counts(&LeaderboardKeys::prefix_counts(entries), score);
        all.into_iter().next_back().unwrap_or_else(|| LeaderboardKeys::size_key(entries))
    }

    /// The partition of the prefix counts of a leaderboard, from that of its entries.
    pub fn prefix_counts(entries: &KeyBytes) -> KeyBytes {
        sibling(entries, PREFIX_COUNT)
    }

    /// The ranges of prefix counts whose sum is the number of better scores: sort keys from and to,
    /// both excluded.
    pub fn better_prefixes(score: &Number) -> Vec<(Vec<u8>, Vec<u8>)> {
        Score::new(score).better_prefix_ranges()
    }

    /// Reads the score, and the value or id that has it, from the sort key of an entry.
    pub fn read_entry(sort: &[u8]) -> Option<(Number, Value)> {
        let parts = KeyBytes::decode(sort).ok()?;
        // Pending deletions of the entry may follow.
        let [Value::N(score), value, ..] = &parts[..] else { return None };
        Some((Score::negated(score), value.clone()))
    }

    /// Reads the deletions that take from a prefix count, if a row with this sort key counts how
    /// much.
    pub fn prefix_count_takers(sort: &[u8]) -> Option<Vec<String>> {
        match &KeyBytes::decode(sort).ok()?[..] {
            [_, _, Value::S(deletions)] => Some(split(deletions)),
            _ => None,
        }
    }

    /// Reads the deletions that are about to take an entry from its sort key.
    pub fn takers(sort: &[u8]) -> Vec<String> {
        match KeyBytes::decode(sort).as_deref() {
            Ok([_, _, Value::S(deletions)]) => split(deletions),
            Ok(_) | Err(_) => vec![],
        }
    }

    /// The partition that records how much deletions take of the scores of a leaderboard, from that
    /// of its entries.
    pub fn pending_partition(entries: &KeyBytes) -> KeyBytes {
        sibling(entries, PENDING_SCORE)
    }

    /// Reads a value, in its form in keys, and the deletions that take from its score.
    pub fn read_pending(sort: &[u8]) -> Option<(Value, Vec<String>)> {
        match &KeyBytes::decode(sort).ok()?[..] {
            [value, Value::S(deletions)] => Some((value.clone(), split(deletions))),
            _ => None,
        }
    }
}

/// What a leaderboard ranks of these values.
struct BoardPartition<'p> {
    entity: &'p Entity,
    board: &'p Board,
    tenant: Option<&'p Value>,
    /// One for each field of the leaderboard's `by`.
    by: &'p [Value],
}

impl BoardPartition<'_> {
    /// The partition key whose first part is `letter`.
    fn key(&self, letter: &str) -> Result<KeyBytes, KeyTooLong> {
        let BoardPartition { entity, board, tenant, by } = *self;
        let mut key = words(&[letter, &entity.stored, &board.name]);
        push_tenant(&mut key, tenant);
        push_values(&mut key, entity.select(&board.by), by);
        check_len(&key, RowKey::PARTITION_BYTES_MAX, || name_of_board(entity, board))?;
        Ok(key)
    }

    /// The row of a value that is ranked.
    fn ranked_key(&self, field: FieldId, value: &Value) -> Result<RowKey, KeyTooLong> {
        let name = || name_of_board(self.entity, self.board);
        let mut partition = self.key(RANKED)?;
        let value = equality(self.entity.field(field), value);
        push_key(&mut partition, &value);
        check_len(&partition, RowKey::PARTITION_BYTES_MAX, name)?;
        // Its entry has the value after the longest score.
        let mut sort = Score::new(&Number::from(i64::MAX)).into_key();
        push_key(&mut sort, &value);
        check_len(&sort, RowKey::SORT_BYTES_MAX, name)?;
        Ok(RowKey { partition, sort: own_sort() })
    }
}

/// The parts of a leaderboard's keys after the letter, and the value that a row is about.
pub(super) fn board_of(ranked: &RowKey) -> Option<(Vec<Value>, Value)> {
    let mut parts = KeyBytes::decode(ranked.partition.as_bytes()).ok()?;
    let value = parts.pop()?;
    parts.drain(..1.min(parts.len()));
    Some((parts, value))
}

/// The row of the change of a score in a shard.
fn change_key(score: &RowKey, shard: u32) -> RowKey {
    let mut board = KeyBytes::decode(score.partition.as_bytes()).unwrap_or_default();
    let value: Vec<Value> = board.pop().into_iter().collect();
    board.drain(..1.min(board.len()));
    board.push(Value::from(u64::from(shard)));
    RowKey { partition: partition_of(CHANGE, &board), sort: bytes(&value) }
}

/// The row which says that the board of a change has changes in its shard.
pub(super) fn settled_key(change: &RowKey) -> RowKey {
    let mut parts = KeyBytes::decode(change.partition.as_bytes()).unwrap_or_default();
    parts.drain(..1.min(parts.len()));
    RowKey { partition: LeaderboardKeys::settled(), sort: bytes(&parts) }
}

/// The board and the value that a change of a score is about.
pub(super) fn board_of_change(change: &RowKey) -> Option<(Vec<Value>, Value)> {
    let mut parts = KeyBytes::decode(change.partition.as_bytes()).ok()?;
    parts.pop()?;
    parts.drain(..1.min(parts.len()));
    Some((parts, KeyBytes::decode(change.sort.as_bytes()).ok()?.into_iter().next()?))
}

/// The partition of a leaderboard with this letter.
pub(super) fn partition_of(letter: &str, board: &[Value]) -> KeyBytes {
    let mut key = words(&[letter]);
    board.iter().for_each(|part| push_key(&mut key, part));
    key
}

/// The rows of the prefix counts of a score.
pub(super) fn prefix_counts(partition: &KeyBytes, score: &Number) -> Vec<RowKey> {
    let row = |sort: KeyBytes| RowKey { partition: partition.clone(), sort };
    Score::new(score).prefix_count_keys().map(row).collect()
}

/// The sort key of the empty prefix, which all scores have.
fn whole_prefix() -> KeyBytes {
    Score::new(&Number::from(0)).prefix_count_keys().next().unwrap_or_default()
}

/// The partition with another letter of the leaderboard that `entries` belongs to.
fn sibling(entries: &KeyBytes, letter: &str) -> KeyBytes {
    let mut parts = KeyBytes::decode(entries.as_bytes()).unwrap_or_default();
    parts.drain(..1.min(parts.len()));
    partition_of(letter, &parts)
}

fn name_of_board(entity: &Entity, board: &Board) -> String {
    format!("the board `{}` of `{}`", board.name, entity.name)
}
