//! The change feed: each change once, in order, from any position on.

use keyloom_store::{
    Alteration, BatchAction, BatchWrite, Cause, Change, Delete, Error, Feed, FeedStart, Invalid,
    Put, ReadChanges, SeqNo, ShardId, TableName, TableSpec, Time, TransactAction, TransactWrite,
    UpdateItem,
};
use keyloom_value::{Item, Update, Value};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, name, number, path, text_table};
use crate::{Client, ManualClock, Subject};

pub(super) const CASES: &[Case] = claims![
    each_change_has_its_images_and_its_time,
    what_changes_nothing_is_not_in_the_feed,
    every_way_to_write_is_in_the_feed,
    a_transaction_is_in_the_order_of_its_actions,
    the_feed_continues_from_any_change,
    pages_of_every_size_add_up,
    now_is_after_everything_so_far,
    feeds_of_two_tables_do_not_mix,
    a_table_without_a_feed_says_so,
    a_feed_begins_when_it_is_turned_on,
    an_invalid_read_of_the_feed_is_refused,
];

type Images = (Item, Option<Item>, Option<Item>);

fn images(changes: &[Change]) -> Vec<Images> {
    let images = |change: &Change| (change.key.clone(), change.old.clone(), change.new.clone());
    changes.iter().map(images).collect()
}

fn each_change_has_its_images_and_its_time(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(text_table("things"));
    let key = || item! { pk: "a", sk: "1" };
    let (first, second) = (item! { pk: "a", sk: "1", n: 1 }, item! { pk: "a", sk: "1", n: 2 });
    client.fill(&table, [first.clone()]);
    subject.clock().advance_ms(1);
    client.fill(&table, [second.clone()]);
    subject.clock().advance_ms(1);
    client.remove(&table, key());
    let changes = client.feed(&table, 10);
    assert_eq!(
        images(&changes),
        [
            (key(), None, Some(first.clone())),
            (key(), Some(first), Some(second.clone())),
            (key(), Some(second), None),
        ]
    );
    assert!(changes.is_sorted_by(|earlier, later| earlier.seq < later.seq));
    let start = ManualClock::START.0;
    let times: Vec<Time> = changes.iter().map(|change| change.at).collect();
    assert_eq!(times, [Time(start), Time(start + 1), Time(start + 2)]);
    assert!(changes.iter().all(|change| change.cause == Cause::Request));
}

fn what_changes_nothing_is_not_in_the_feed(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let same = item! { id: "a", n: 1 };
    client.fill(&table, [same.clone(), same.clone(), item! { id: "a", n: number("1.0") }]);
    let set = Update::new().set(path("n"), Value::from(1));
    accepted(client.update(UpdateItem::new(&table, item! { id: "a" }, set)));
    accepted(client.update(UpdateItem::new(&table, item! { id: "a" }, Update::new())));
    client.remove(&table, item! { id: "b" });
    let delete = TransactAction::Delete(Delete::new(&table, item! { id: "b" }));
    let put = TransactAction::Put(Put::new(&table, same.clone()));
    let transaction = TransactWrite::new(vec![delete, put]);
    accepted(client.transact_write(transaction));
    assert_eq!(images(&client.feed(&table, 10)), [(item! { id: "a" }, None, Some(same))]);
}

fn every_way_to_write_is_in_the_feed(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let batch = vec![BatchAction::Put(table.clone(), item! { id: "a" })];
    accepted(client.batch_write(BatchWrite { actions: batch }));
    let add = || Update::new().add(path("n"), Value::from(1));
    accepted(client.update(UpdateItem::new(&table, item! { id: "a" }, add())));
    let update = TransactAction::Update(UpdateItem::new(&table, item! { id: "a" }, add()));
    accepted(client.transact_write(TransactWrite::new(vec![update])));
    let batch = vec![BatchAction::Delete(table.clone(), item! { id: "a" })];
    accepted(client.batch_write(BatchWrite { actions: batch }));
    accepted(client.update(UpdateItem::new(&table, item! { id: "b" }, Update::new())));
    let (bare, one, two) = (item! { id: "a" }, item! { id: "a", n: 1 }, item! { id: "a", n: 2 });
    let key = || item! { id: "a" };
    assert_eq!(
        images(&client.feed(&table, 10)),
        [
            (key(), None, Some(bare.clone())),
            (key(), Some(bare), Some(one.clone())),
            (key(), Some(one), Some(two.clone())),
            (key(), Some(two), None),
            (item! { id: "b" }, None, Some(item! { id: "b" })),
        ]
    );
}

fn a_transaction_is_in_the_order_of_its_actions(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let other = client.make(id_table("other"));
    let id = |at: usize| format!("{:02}", at * 37 % 100);
    let put = |at: usize| {
        let table = if at.is_multiple_of(10) { &other } else { &table };
        TransactAction::Put(Put::new(table, item! { id: id(at) }))
    };
    let transaction = TransactWrite::new((0..100).map(put).collect());
    accepted(client.transact_write(transaction));
    let keys = |table: &TableName| -> Vec<Item> {
        client.feed(table, 1000).into_iter().map(|change| change.key).collect()
    };
    let expected = |of_other: bool| -> Vec<Item> {
        let positions = (0..100).filter(|at: &usize| at.is_multiple_of(10) == of_other);
        positions.map(|at| item! { id: id(at) }).collect()
    };
    assert_eq!(keys(&table), expected(false));
    assert_eq!(keys(&other), expected(true));
}

/// A table with twelve changes, three to a transaction.
fn changed(client: &Client) -> TableName {
    let table = client.make(id_table("things"));
    for round in 0..4_i64 {
        let put = |id: &str| TransactAction::Put(Put::new(&table, item! { id: id, n: round }));
        let actions = ["a", "b", "c"].map(put).into();
        accepted(client.transact_write(TransactWrite::new(actions)));
    }
    table
}

fn the_feed_continues_from_any_change(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = changed(&client);
    let all = client.feed(&table, 100);
    assert_eq!(all.len(), 12);
    for (position, change) in all.iter().enumerate() {
        // Also from the middle of a transaction.
        let rest = client.feed_from(&table, FeedStart::After(change.seq), 5);
        assert_eq!(rest, all[position + 1..]);
    }
}

fn pages_of_every_size_add_up(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = changed(&client);
    let all = client.feed(&table, 100);
    for limit in 1..=13 {
        assert_eq!(client.feed(&table, limit), all, "pages of {limit}");
    }
}

fn read(client: &Client, table: &TableName, start: FeedStart) -> (Vec<Change>, SeqNo) {
    let shard = accepted(client.shards(table)).remove(0);
    let read = ReadChanges { table: table.clone(), shard, start, limit: 100 };
    let page = accepted(client.changes(read));
    (page.changes, page.next)
}

fn now_is_after_everything_so_far(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = changed(&client);
    let (nothing, now) = read(&client, &table, FeedStart::Now);
    assert!(nothing.is_empty());
    assert!(read(&client, &table, FeedStart::After(now)).0.is_empty());
    client.fill(&table, [item! { id: "later" }]);
    let (changes, next) = read(&client, &table, FeedStart::After(now));
    assert_eq!(images(&changes), [(item! { id: "later" }, None, Some(item! { id: "later" }))]);
    assert!(read(&client, &table, FeedStart::After(next)).0.is_empty());
    // The end of a feed that was read to its end is a position to continue from.
    let (all, end) = read(&client, &table, FeedStart::Oldest);
    assert_eq!((all.len(), end), (13, next));
}

fn feeds_of_two_tables_do_not_mix(subject: &dyn Subject) {
    let client = Client::of(subject);
    let first = client.make(id_table("first"));
    let second = client.make(id_table("second"));
    client.fill(&first, [item! { id: "a" }]);
    client.fill(&second, [item! { id: "b" }]);
    client.fill(&first, [item! { id: "c" }]);
    let keys = |table: &TableName| -> Vec<Item> {
        client.feed(table, 1).into_iter().map(|change| change.key).collect()
    };
    assert_eq!(keys(&first), [item! { id: "a" }, item! { id: "c" }]);
    assert_eq!(keys(&second), [item! { id: "b" }]);
}

fn a_table_without_a_feed_says_so(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(TableSpec { feed: Feed::Off, ..id_table("things") });
    client.fill(&table, [item! { id: "a" }]);
    refused(client.shards(&table), Error::NoFeed { table: table.clone() });
    let shard = ShardId("any".to_owned());
    let start = FeedStart::Oldest;
    let read = ReadChanges { table: table.clone(), shard, start, limit: 10 };
    refused(client.changes(read), Error::NoFeed { table });
}

fn a_feed_begins_when_it_is_turned_on(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let set = |feed| accepted(client.alter_table(&table, Alteration::SetFeed(feed)));
    client.fill(&table, [item! { id: "a" }]);
    set(Feed::Images);
    assert_eq!(client.feed(&table, 10).len(), 1, "it was on already");
    set(Feed::Off);
    client.fill(&table, [item! { id: "b" }]);
    refused(client.shards(&table), Error::NoFeed { table: table.clone() });
    set(Feed::Images);
    client.fill(&table, [item! { id: "a", n: 1 }]);
    let expected = (item! { id: "a" }, Some(item! { id: "a" }), Some(item! { id: "a", n: 1 }));
    assert_eq!(images(&client.feed(&table, 10)), [expected]);
}

fn an_invalid_read_of_the_feed_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let shard = accepted(client.shards(&table)).remove(0);
    let start = FeedStart::Oldest;
    let read = |table: &TableName, shard: ShardId, limit| {
        client.changes(ReadChanges { table: table.clone(), shard, start, limit })
    };
    refused(read(&table, shard.clone(), 0), Invalid::LimitZero);
    let unknown = ShardId("no such shard".to_owned());
    refused(read(&table, unknown.clone(), 1), Invalid::Shard { shard: unknown });
    let missing = name("missing");
    refused(read(&missing, shard, 1), Error::TableNotFound { table: missing.clone() });
}
