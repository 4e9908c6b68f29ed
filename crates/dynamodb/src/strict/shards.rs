//! Shards of a stream: one for each partition of the table, closed after a while or when their
//! partition is split, with children that continue where they end.
//!
//! The store below has one feed. A shard is a part of it: the changes of a range of positions, after
//! one sequence number and up to another. So each change is in one shard, and those of one item are
//! in order if a shard is read after its parent.

use std::collections::HashMap;
use std::time::Duration;

use keyloom_store::{Change, ChangePage, FeedStart, KeySchema, SeqNo, Time};

use super::bucket::Bucket;
use super::position::Position;

/// How long closed shards are listed, as long as the service keeps records.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// How often a shard can be read, and a stream described, each second.
const READS_PER_SECOND: f64 = 5.0;
const DESCRIPTIONS_PER_SECOND: f64 = 10.0;

/// A shard of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamShard {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// It starts after this change; with the oldest one if there is none.
    pub(crate) after: Option<SeqNo>,
    /// The last change that it can have, once it is closed.
    pub(crate) last: Option<SeqNo>,
    start: Position,
    end: Option<Position>,
    opened: Time,
    closed: Option<Time>,
}

/// Changes of a shard.
#[derive(Clone, Debug)]
pub(crate) struct ShardPage {
    pub(crate) changes: Vec<Change>,
    /// Where to continue; none if at the beginning.
    pub(crate) next: Option<SeqNo>,
    /// Whether the shard is closed and has been read to its end.
    pub(crate) is_ended: bool,
}

impl From<ChangePage> for ShardPage {
    fn from(page: ChangePage) -> ShardPage {
        ShardPage { changes: page.changes, next: Some(page.next), is_ended: page.is_ended }
    }
}

/// A page of the whole feed, and where it starts.
pub(super) struct FeedRead {
    pub(super) start: FeedStart,
    pub(super) page: ChangePage,
}

/// The shards of one stream.
#[derive(Debug)]
pub(super) struct Lineage {
    shards: Vec<StreamShard>,
    count: u64,
    reads: HashMap<String, Bucket>,
    descriptions: Bucket,
    shard_time: Duration,
    /// When it began. Part of the names of shards, since those of an earlier run were others.
    began: Time,
    /// How far anybody has read: shards do not close before that.
    served: SeqNo,
}

impl Lineage {
    pub(super) fn new(shard_time: Duration, now: Time) -> Lineage {
        let descriptions = Bucket::new(DESCRIPTIONS_PER_SECOND, 1.0, now);
        Lineage {
            shards: vec![],
            count: 0,
            reads: HashMap::new(),
            descriptions,
            shard_time,
            began: now,
            served: SeqNo(0),
        }
    }

    /// Whether the stream may be described now.
    pub(super) fn admits_description(&mut self, now: Time) -> bool {
        let is_admitted = self.descriptions.has_room(now);
        self.descriptions.take(f64::from(u8::from(is_admitted)));
        is_admitted
    }

    /// Whether a shard may be read now.
    pub(super) fn admits_read(&mut self, shard: &str, now: Time) -> bool {
        let fresh = || Bucket::new(READS_PER_SECOND, 1.0, now);
        let bucket = self.reads.entry(shard.to_owned()).or_insert_with(fresh);
        let is_admitted = bucket.has_room(now);
        bucket.take(f64::from(u8::from(is_admitted)));
        is_admitted
    }

    /// Follows the partitions, which start at these positions: closes shards that are too old, or
    /// whose partition was split, at the end of the feed.
    pub(super) fn follow(&mut self, starts: &[Position], end: SeqNo, now: Time) {
        let is_kept = |closed: Time| now.0 < closed.0.saturating_add(KEPT_MS);
        self.shards.retain(|shard| shard.closed.is_none_or(is_kept));
        self.reads.retain(|id, _| self.shards.iter().any(|shard| shard.id == *id));
        if self.count == 0 {
            self.open_children(None, starts, now);
        }
        let is_due = |shard: &StreamShard| {
            let age = Duration::from_millis(now.0.saturating_sub(shard.opened.0));
            shard.last.is_none()
                && (age >= self.shard_time || starts.iter().any(|s| shard.splits_at(s)))
        };
        let due: Vec<usize> = (0..self.shards.len()).filter(|n| is_due(&self.shards[*n])).collect();
        for n in due {
            let shard = &mut self.shards[n];
            let last = end.max(self.served);
            shard.last = Some(shard.after.map_or(last, |after| after.max(last)));
            shard.closed = Some(now);
            let parent = shard.clone();
            let inside: Vec<Position> =
                starts.iter().filter(|start| parent.covers(start)).cloned().collect();
            self.open_children(Some(&parent), &inside, now);
        }
    }

    /// Opens a shard for each part of a parent's range that starts at one of the positions, or of
    /// all positions.
    fn open_children(&mut self, parent: Option<&StreamShard>, starts: &[Position], now: Time) {
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).cloned();
            self.count += 1;
            self.shards.push(StreamShard {
                id: format!("{:013}-{:08}", self.began.0, self.count),
                parent: parent.map(|parent| parent.id.clone()),
                after: parent.and_then(|parent| parent.last),
                last: None,
                start: start.clone(),
                end: end.or_else(|| parent.and_then(|parent| parent.end.clone())),
                opened: now,
                closed: None,
            });
        }
    }

    pub(super) fn shards(&self) -> &[StreamShard] {
        &self.shards
    }

    pub(super) fn find(&self, id: &str) -> Option<&StreamShard> {
        self.shards.iter().find(|shard| shard.id == id)
    }

    /// Notes that the feed is served up to a position: whoever closes a shard later, closes it there
    /// or after it.
    pub(super) fn serve(&mut self, next: SeqNo) {
        self.served = self.served.max(next);
    }
}

impl StreamShard {
    /// Returns the changes of a page of the whole feed that are in this shard.
    pub(super) fn page(&self, schema: &KeySchema, read: FeedRead) -> ShardPage {
        let FeedRead { start, page: ChangePage { mut changes, next, .. } } = read;
        // At the end of the feed, the position is the last change that was read, which may be before
        // the end of the shard. An empty page with a new position is not the end.
        let is_at_end = changes.is_empty() && start == FeedStart::After(next);
        let is_ended = self.last.is_some_and(|last| next >= last || is_at_end);
        let is_past = |seq: SeqNo| self.last.is_some_and(|last| seq > last);
        let is_after = |seq: SeqNo| self.after.is_none_or(|after| seq > after);
        changes.retain(|change| {
            let position = Position::of(schema, &change.key);
            is_after(change.seq) && !is_past(change.seq) && self.covers(&position)
        });
        let next = self.last.map_or(next, |last| next.min(last));
        ShardPage { changes, next: Some(next), is_ended }
    }

    fn covers(&self, position: &Position) -> bool {
        *position >= self.start && self.end.as_ref().is_none_or(|end| position < end)
    }

    fn splits_at(&self, position: &Position) -> bool {
        *position != self.start && self.covers(position)
    }
}

#[cfg(test)]
mod tests {
    use keyloom_store::{Cause, KeyType};
    use keyloom_value::{Item, Value};
    use proptest::prelude::*;

    use super::*;

    fn schema() -> KeySchema {
        KeySchema::partition("id", KeyType::N)
    }

    fn change(seq: u128, id: i64) -> Change {
        let key = Item::from([("id", Value::from(id))]);
        Change { seq: SeqNo(seq), at: Time(0), key, old: None, new: None, cause: Cause::Request }
    }

    proptest! {
        /// Whenever partitions split and shards grow old: each change is in one shard, and a reader
        /// who reads parents first sees the changes of an item in order.
        #[test]
        fn parents_and_children_have_each_change_once_and_in_order(
            ids in prop::collection::vec(0..8_i64, 1..80),
            cuts in prop::collection::vec((0..80_usize, any::<u64>()), 0..6),
            ages in prop::collection::vec(0..80_usize, 0..3),
        ) {
            let mut lineage = Lineage::new(Duration::from_secs(60), Time(0));
            let (mut starts, mut now) = (vec![Position::default()], Time(0));
            let mut feed = vec![];
            lineage.follow(&starts, SeqNo(0), now);
            for (n, id) in ids.iter().enumerate() {
                feed.push(change(n as u128 + 1, *id));
                for (_, hash) in cuts.iter().filter(|(at, _)| *at == n) {
                    starts.push(Position { hash: *hash, sort: vec![] });
                }
                starts.sort();
                starts.dedup();
                now.0 += if ages.contains(&n) { 61_000 } else { 1 };
                lineage.follow(&starts, SeqNo(n as u128 + 1), now);
            }
            let mut read = vec![];
            let mut ended: Vec<&str> = vec![];
            for shard in lineage.shards() {
                // Listed parents first.
                let parent = shard.parent.as_deref();
                prop_assert!(parent.is_none_or(|parent| ended.contains(&parent)));
                let next = SeqNo(feed.len() as u128);
                let page = ChangePage { changes: feed.clone(), next, is_ended: false };
                let page = shard.page(&schema(), FeedRead { start: FeedStart::Oldest, page });
                prop_assert_eq!(page.is_ended, shard.last.is_some());
                read.extend(page.changes);
                ended.push(&shard.id);
            }
            for id in 0..8 {
                let of = |all: &[Change]| -> Vec<SeqNo> {
                    let key = change(0, id).key;
                    all.iter().filter(|change| change.key == key).map(|change| change.seq).collect()
                };
                prop_assert_eq!(of(&read), of(&feed));
            }
        }
    }

    /// The feed skips what other tables wrote, so a page of it can be empty and yet not the last.
    #[test]
    fn an_empty_page_with_a_new_position_is_not_the_end() {
        let mut lineage = Lineage::new(Duration::from_secs(1), Time(0));
        lineage.follow(&[Position::default()], SeqNo(0), Time(0));
        lineage.follow(&[Position::default()], SeqNo(100), Time(2_000));
        let closed = lineage.shards()[0].clone();
        let page = |start, next| {
            let page = ChangePage { changes: vec![], next: SeqNo(next), is_ended: false };
            closed.page(&schema(), FeedRead { start, page })
        };
        assert!(!page(FeedStart::After(SeqNo(10)), 50).is_ended);
        assert!(page(FeedStart::After(SeqNo(50)), 50).is_ended);
        assert!(page(FeedStart::After(SeqNo(50)), 100).is_ended);
    }

    /// A shard that was read up to some change does not end before it.
    #[test]
    fn a_shard_closes_behind_what_was_served() {
        let mut lineage = Lineage::new(Duration::from_secs(1), Time(0));
        lineage.follow(&[Position::default()], SeqNo(0), Time(0));
        lineage.serve(SeqNo(7));
        lineage.follow(&[Position::default()], SeqNo(5), Time(2_000));
        assert_eq!(lineage.shards()[0].last, Some(SeqNo(7)));
        assert_eq!(lineage.shards()[1].after, Some(SeqNo(7)));
    }

    #[test]
    fn a_shard_is_read_five_times_a_second() {
        let mut lineage = Lineage::new(Duration::from_secs(60), Time(0));
        let mut admitted = 0;
        for ms in (0..10_000).step_by(10) {
            admitted += u32::from(lineage.admits_read("00000001", Time(ms)));
        }
        assert!((50..=56).contains(&admitted), "{admitted}");
    }
}
