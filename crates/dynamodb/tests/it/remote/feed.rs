//! The feed of a remote store, from a stream that behaves as the service's do.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyloom_dynamodb::StrictOptions;
use keyloom_store::{FeedStart, Put, ReadChanges, SeqNo, ShardId, Store};
use keyloom_testkit::ManualClock;
use keyloom_value::Item;
use pollster::block_on;

use super::faulty::Faulty;
use super::items::{item, table};

fn rules() -> StrictOptions {
    let mut rules = StrictOptions::default();
    rules.latency = Duration::ZERO;
    rules.index_lag = Duration::ZERO;
    rules.replica_lag = Duration::ZERO;
    rules
}

/// Long enough for what one call may read of a shard, five times a second.
const CALL_MS: u64 = 1_100;

/// Reads all shards from their beginning, round after round, until this many changes have come.
fn read(remote: &dyn Store, clock: &ManualClock, wanted: usize) -> Vec<(SeqNo, Item)> {
    let mut positions: BTreeMap<ShardId, FeedStart> = BTreeMap::new();
    let mut changes = vec![];
    for _ in 0..400 {
        for shard in block_on(remote.shards(table())).unwrap() {
            let start = positions.entry(shard.clone()).or_insert(FeedStart::Oldest);
            let read = ReadChanges { table: table(), shard, start: *start, limit: 7 };
            let page = block_on(remote.changes(read)).unwrap();
            *start = FeedStart::After(page.next);
            changes.extend(page.changes.into_iter().map(|change| (change.seq, change.key)));
            clock.advance_ms(CALL_MS);
        }
        if changes.len() >= wanted {
            return changes;
        }
    }
    panic!("{} of {wanted} changes came", changes.len());
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

/// Whoever sees a short page of a closed shard goes on with its children, so it must be the last.
#[test]
fn a_page_of_a_closed_shard_is_full_or_the_last() {
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
    let parent = block_on(remote.shards(table())).unwrap().remove(0);
    for id in 0..20 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    clock.advance_ms(3_600_000);
    // Another process, which lists the shards for the first time and so closes the parent.
    let remote = server.remote(50, Duration::from_secs(30));
    assert_eq!(block_on(remote.shards(table())).unwrap().len(), 2);
    let read = |start, limit| {
        let read = ReadChanges { table: table(), shard: parent.clone(), start, limit };
        block_on(remote.changes(read)).unwrap()
    };
    let first = read(FeedStart::Oldest, 15);
    assert_eq!(first.changes.len(), 15);
    let second = read(FeedStart::After(first.next), 15);
    assert_eq!(second.changes.len(), 5);
    assert!(read(FeedStart::After(second.next), 15).changes.is_empty());
}
