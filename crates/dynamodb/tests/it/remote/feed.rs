//! The feed of a remote store, from a stream that behaves as the service's do.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyloom_dynamodb::StrictOptions;
use keyloom_store::{FeedStart, Put, ReadChanges, SeqNo, ShardId, Store};
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

/// Reads all shards, round after round, until this many changes have come.
fn read(remote: &dyn Store, wanted: usize) -> Vec<(SeqNo, Item)> {
    let mut positions: BTreeMap<ShardId, FeedStart> = BTreeMap::new();
    let mut changes = vec![];
    for _ in 0..400 {
        for shard in block_on(remote.shards(table())).unwrap() {
            let start = positions.entry(shard.clone()).or_insert(FeedStart::Oldest);
            let read = ReadChanges { table: table(), shard, start: *start, limit: 7 };
            let page = block_on(remote.changes(read)).unwrap();
            *start = FeedStart::After(page.next);
            changes.extend(page.changes.into_iter().map(|change| (change.seq, change.key)));
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
    let server = Faulty::strict(rules);
    for id in 0..20 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
    }
    let remote = server.remote(50, Duration::from_secs(30));
    let started = Instant::now();
    let changes = read(&remote, 20);
    assert_eq!(changes.len(), 20);
    assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b));
    // The stream is described every ten seconds, not for every page, and read from one iterator.
    let described = server.received("DescribeStream").len() as u64;
    assert!(described <= 2 + started.elapsed().as_secs() / 10, "{described}");
    assert!(server.received("GetShardIterator").len() <= 3);
    assert!(server.received("GetRecords").len() > 30);
}

/// Shards close while they are read; their children are found and continue.
#[test]
fn children_continue_where_their_parents_end() {
    let mut rules = rules();
    rules.shard_time = Duration::from_millis(300);
    rules.partitions = 2;
    rules.empty_pages = 0.0;
    let server = Faulty::strict(rules);
    let remote = server.remote(50, Duration::from_secs(30));
    let mut written = vec![];
    for id in 0..30 {
        block_on(server.store.put(Put::new(&table(), item(id, 0)))).unwrap();
        written.push(item(id, 0).get("id").cloned());
        if id % 10 == 9 {
            // The rest of them is in children of the shards that this lists.
            let found = read(&remote, written.len());
            assert_eq!(found.len(), written.len());
        }
    }
}
