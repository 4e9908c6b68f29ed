//! The feed of a remote store, from a stream that behaves as the service's do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use keyloom_dynamodb::{Remote, StrictOptions};
use keyloom_store::{
    Change, ChangePage, Feed, FeedStart, Put, ReadChanges, SeqNo, Shard, ShardId, Store, TableSpec,
};
use keyloom_testkit::ManualClock;
use keyloom_value::Item;
use pollster::block_on;

use super::faulty::Faulty;
use super::items::{item, spec, table};

fn rules() -> StrictOptions {
    let mut rules = StrictOptions::default();
    rules.latency = Duration::ZERO;
    rules.index_lag = Duration::ZERO;
    rules.replica_lag = Duration::ZERO;
    rules.create_time = Duration::ZERO;
    rules
}

/// Long enough for what one call may read of a shard, five times a second.
const CALL_MS: u64 = 1_100;

/// A reader of all shards, each from its beginning and after the end of its parent.
struct Reader<'r> {
    remote: &'r dyn Store,
    clock: &'r ManualClock,
    positions: BTreeMap<ShardId, FeedStart>,
    ended: BTreeSet<ShardId>,
    changes: Vec<(SeqNo, Item)>,
}

impl<'r> Reader<'r> {
    fn new(remote: &'r dyn Store, clock: &'r ManualClock) -> Reader<'r> {
        let (positions, ended) = (BTreeMap::new(), BTreeSet::new());
        Reader { remote, clock, positions, ended, changes: vec![] }
    }

    /// Reads a page of each shard.
    fn round(&mut self) {
        for Shard { id, parent } in block_on(self.remote.shards(table())).unwrap() {
            if parent.is_some_and(|parent| !self.ended.contains(&parent)) {
                continue;
            }
            let start = *self.positions.get(&id).unwrap_or(&FeedStart::Oldest);
            let read = ReadChanges { table: table(), shard: id.clone(), start, limit: 7 };
            let page = block_on(self.remote.changes(read)).unwrap();
            self.positions.insert(id.clone(), FeedStart::After(page.next));
            self.changes.extend(page.changes.into_iter().map(|change| (change.seq, change.key)));
            if page.is_ended {
                self.ended.insert(id);
            }
            self.clock.advance_ms(CALL_MS);
        }
    }
}

/// Reads all shards from their beginning, round after round, until this many changes have come.
fn read(remote: &dyn Store, clock: &ManualClock, wanted: usize) -> Vec<(SeqNo, Item)> {
    let mut reader = Reader::new(remote, clock);
    for _ in 0..1_000 {
        reader.round();
        if reader.changes.len() >= wanted {
            return reader.changes;
        }
    }
    panic!("{} of {wanted} changes came", reader.changes.len());
}

/// Nearly all pages are empty, far more in a row than one call follows.
#[test]
fn runs_of_empty_pages_do_not_stop_the_feed() {
    let mut rules = rules();
    rules.partitions = 1;
    rules.empty_pages = 0.9;
    let clock = ManualClock::new();
    let server = Faulty::strict(rules, &clock);
    for id in 0..20 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    let remote = server.remote(50, Duration::from_secs(30));
    let started = Instant::now();
    let changes = read(&remote, &clock, 20);
    assert_eq!(changes.len(), 20);
    assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b));
    // The stream is described every ten seconds, not for every page, and read from one iterator.
    let described = server.received("DescribeStream").len() as u64;
    assert!(described <= 2 + started.elapsed().as_secs() / 10, "{described}");
    assert!(server.received("GetShardIterator").len() <= 3);
    assert!(server.received("GetRecords").len() > 20);
}

/// Shards close between what is written; their children are found and continue.
#[test]
fn children_continue_where_their_parents_end() {
    let mut rules = rules();
    rules.shard_time = Duration::from_secs(3600);
    rules.partitions = 2;
    rules.empty_pages = 0.0;
    let clock = ManualClock::new();
    let server = Faulty::strict(rules, &clock);
    let remote = server.remote(50, Duration::from_secs(30));
    for count in [10, 20, 30] {
        for id in count - 10..count {
            block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
        }
        let count = usize::try_from(count).unwrap();
        assert_eq!(read(&remote, &clock, count).len(), count);
        // The next call closes the shards.
        clock.advance_ms(3_600_000);
        assert_eq!(read(&remote, &clock, count).len(), count);
    }
    let shards = block_on(remote.shards(table())).unwrap();
    assert!(shards.len() >= 6, "{shards:?}");
}

/// Whoever goes on with the children of a shard before its end sees changes out of order.
#[test]
fn the_end_of_a_shard_is_told_by_its_last_page_and_by_no_other() {
    let mut rules = rules();
    rules.shard_time = Duration::from_secs(3600);
    rules.partitions = 1;
    rules.empty_pages = 0.8;
    let clock = ManualClock::new();
    let server = Faulty::strict(rules, &clock);
    let ticking = clock.clone();
    server.plan(move |_| {
        ticking.advance_ms(300);
        None
    });
    let remote = server.remote(50, Duration::from_secs(30));
    let parent = block_on(remote.shards(table())).unwrap().remove(0).id;
    for id in 0..20 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    clock.advance_ms(3_600_000);
    // Another process, which lists the shards for the first time and so closes the parent.
    let remote = server.remote(50, Duration::from_secs(30));
    let shards = block_on(remote.shards(table())).unwrap();
    assert_eq!(shards[1].parent, Some(parent.clone()));
    let (mut start, mut count, mut pages) = (FeedStart::Oldest, 0, 0);
    loop {
        let read = ReadChanges { table: table(), shard: parent.clone(), start, limit: 15 };
        let page = block_on(remote.changes(read)).unwrap();
        (start, count, pages) =
            (FeedStart::After(page.next), count + page.changes.len(), pages + 1);
        assert!(pages < 200, "it ends");
        if page.is_ended {
            break;
        }
    }
    assert_eq!(count, 20);
    assert!(pages > 2, "some of {pages} pages were short or empty");
    // The end stays the end.
    let read = ReadChanges { table: table(), shard: parent, start, limit: 15 };
    let again = block_on(remote.changes(read)).unwrap();
    assert!(again.changes.is_empty() && again.is_ended);
}

/// A server with one shard, and a store that is connected to it with the server's clock.
fn quiet() -> (ManualClock, Faulty, Remote) {
    let mut rules = rules();
    rules.partitions = 1;
    rules.empty_pages = 0.0;
    let clock = ManualClock::new();
    let server = Faulty::strict(rules, &clock);
    let remote = server.remote_at(&clock);
    (clock, server, remote)
}

fn now(remote: &Remote) -> ReadChanges {
    let shard = block_on(remote.shards(table())).unwrap().remove(0).id;
    ReadChanges { table: table(), shard, start: FeedStart::Now, limit: 10 }
}

fn ids(page: &ChangePage) -> Vec<u64> {
    let id = |change: &Change| change.key.get("id").and_then(|id| id.as_s()?.parse().ok());
    page.changes.iter().filter_map(id).collect()
}

/// Opening `/changes` on a busy stream once read all of it.
#[test]
fn the_end_of_a_long_shard_takes_few_requests() {
    let (clock, server, remote) = quiet();
    for id in 0..3_000 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    let read = now(&remote);
    server.plan(|_| None);
    let end = block_on(remote.changes(read.clone())).unwrap();
    assert!(end.changes.is_empty() && !end.is_ended);
    block_on(server.store.put(Put::new(&table(), item(7_000, 0)))).unwrap();
    let read = ReadChanges { start: FeedStart::After(end.next), ..read };
    assert_eq!(ids(&block_on(remote.changes(read.clone())).unwrap()), [7_000]);
    assert_eq!(server.received("GetShardIterator").len(), 1);
    assert_eq!(server.received("GetRecords").len(), 1);
    // Another reader from the same moment sees the same.
    clock.advance_ms(CALL_MS);
    assert_eq!(ids(&block_on(remote.changes(read)).unwrap()), [7_000]);
    assert_eq!(server.received("GetShardIterator").len(), 1);
}

/// A position at the end of a shard leads there from anywhere, although its iterator is gone.
#[test]
fn another_process_continues_at_the_end_that_one_has_found() {
    let (clock, server, remote) = quiet();
    for id in 0..30 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    clock.advance_ms(60_000);
    let read = now(&remote);
    let end = block_on(remote.changes(read.clone())).unwrap();
    clock.advance_ms(5_000);
    let other = server.remote_at(&clock);
    let read = ReadChanges { start: FeedStart::After(end.next), limit: 2, ..read };
    assert!(block_on(other.changes(read.clone())).unwrap().changes.is_empty());
    for id in 30..35 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    let mut read = read;
    let mut seen = vec![];
    for _ in 0..5 {
        clock.advance_ms(CALL_MS);
        let page = block_on(other.changes(read.clone())).unwrap();
        seen.extend(ids(&page));
        read.start = FeedStart::After(page.next);
    }
    assert_eq!(seen, [30, 31, 32, 33, 34]);
    // So does this one, when its iterator is too old.
    clock.advance_ms(20 * 60 * 1000);
    let read = ReadChanges { start: FeedStart::After(end.next), limit: 10, ..read };
    assert_eq!(ids(&block_on(remote.changes(read)).unwrap()), [30, 31, 32, 33, 34]);
}

/// The clock stands still, so the new stream has the name of the old one.
#[test]
fn a_table_that_is_created_again_is_read_from_its_beginning() {
    let (clock, server, remote) = quiet();
    block_on(remote.put(Put::new(&table(), item(1, 0)))).unwrap();
    let read = ReadChanges { start: FeedStart::Oldest, ..now(&remote) };
    let page = block_on(remote.changes(read.clone())).unwrap();
    assert_eq!(ids(&page), [1]);
    clock.advance_ms(CALL_MS);
    assert!(ids(&block_on(remote.changes(read_after(&read, &page))).unwrap()).is_empty());
    block_on(remote.drop_table(table())).unwrap();
    block_on(remote.create_table(TableSpec { feed: Feed::Images, ..spec() })).unwrap();
    block_on(remote.put(Put::new(&table(), item(2, 0)))).unwrap();
    clock.advance_ms(CALL_MS);
    let again = ReadChanges { start: FeedStart::Oldest, ..now(&remote) };
    server.plan(|_| None);
    assert_eq!(ids(&block_on(remote.changes(again)).unwrap()), [2]);
    assert_eq!(server.received("GetShardIterator").len(), 1, "the old ones are forgotten");
}

fn read_after(read: &ReadChanges, page: &ChangePage) -> ReadChanges {
    ReadChanges { start: FeedStart::After(page.next), ..read.clone() }
}
