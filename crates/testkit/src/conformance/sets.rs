//! Sets of ordinals. Stores without sets pass.

use keyloom_store::{
    Direction, Error, Invalid, ListSets, Membership, Put, ReadSet, SetChange, SetName, Sets,
    TableName, TransactAction, TransactWrite,
};
use keyloom_value::Condition;
use pollster::block_on;

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, name, path};
use crate::sets::{members, walk_sets};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_set_has_the_ordinals_that_joined_and_did_not_leave,
    an_empty_set_does_not_exist,
    sets_change_with_items_or_not_at_all,
    the_last_of_several_changes_of_one_member_counts,
    a_repeated_token_changes_no_set_again,
    a_large_set_is_read_in_parts_from_both_ends,
    a_dense_set_survives_every_second_leaving,
    sets_are_found_by_a_prefix_of_their_names,
    sets_belong_to_their_table,
    a_snapshot_keeps_sets_as_they_were,
    invalid_set_requests_are_refused,
];

fn set(name: &[u8]) -> SetName {
    SetName::new(name).unwrap()
}

fn change(table: &TableName, name: &[u8], ordinal: u64, becomes: Membership) -> SetChange {
    SetChange { table: table.clone(), set: set(name), ordinals: vec![ordinal], becomes }
}

fn joins(
    table: &TableName,
    name: &[u8],
    ordinals: impl IntoIterator<Item = u64>,
) -> Vec<SetChange> {
    ordinals.into_iter().map(|ordinal| change(table, name, ordinal, Membership::In)).collect()
}

fn leaves(table: &TableName, name: &[u8], all: impl IntoIterator<Item = u64>) -> Vec<SetChange> {
    all.into_iter().map(|ordinal| change(table, name, ordinal, Membership::Out)).collect()
}

/// Applies set changes in several transactions.
fn apply(client: &Client, changes: &[SetChange]) {
    for sets in changes.chunks(10_000) {
        let transaction = TransactWrite { sets: sets.to_vec(), ..TransactWrite::default() };
        accepted(client.transact_write(transaction));
    }
}

fn all(sets: &dyn Sets, table: &TableName, name: &[u8]) -> Vec<u64> {
    let (table, set, direction) = (table.clone(), set(name), Direction::Forward);
    let read = ReadSet { table, set, from: 0, direction, chunks: 2 };
    accepted(members(sets, read)).iter().collect()
}

fn a_set_has_the_ordinals_that_joined_and_did_not_leave(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    apply(&client, &joins(&table, b"red", [7, 0, u64::MAX, 7]));
    assert_eq!(all(sets, &table, b"red"), [0, 7, u64::MAX]);
    apply(&client, &leaves(&table, b"red", [7, 8]));
    assert_eq!(all(sets, &table, b"red"), [0, u64::MAX]);
    let sizes = block_on(sets.set_sizes(table.clone(), vec![set(b"red"), set(b"blue")]));
    assert_eq!(accepted(sizes), [2, 0]);
}

fn an_empty_set_does_not_exist(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    apply(&client, &joins(&table, b"small", [1]));
    apply(&client, &joins(&table, b"large", 0..10_000));
    apply(&client, &leaves(&table, b"small", [1]));
    apply(&client, &leaves(&table, b"large", 0..10_000));
    assert_eq!(accepted(walk_sets(sets, &table, 10, 0)), []);
    apply(&client, &joins(&table, b"large", [9]));
    assert_eq!(all(sets, &table, b"large"), [9]);
}

fn sets_change_with_items_or_not_at_all(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let put = Put::new(&table, item! { id: "a" }).when(Condition::missing(path("id")));
    let transaction = TransactWrite {
        sets: joins(&table, b"red", [1]),
        ..TransactWrite::new(vec![TransactAction::Put(put)])
    };
    accepted(client.transact_write(transaction.clone()));
    assert_eq!(all(sets, &table, b"red"), [1]);
    let again = TransactWrite { sets: joins(&table, b"red", [2]), ..transaction };
    assert!(matches!(client.transact_write(again), Err(Error::Canceled { .. })));
    assert_eq!(all(sets, &table, b"red"), [1]);
}

fn the_last_of_several_changes_of_one_member_counts(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let mut changes = joins(&table, b"red", [1, 2]);
    changes.extend(leaves(&table, b"red", [1]));
    changes.extend(leaves(&table, b"red", [3]));
    changes.extend(joins(&table, b"red", [3]));
    apply(&client, &changes);
    assert_eq!(all(sets, &table, b"red"), [2, 3]);
}

fn a_repeated_token_changes_no_set_again(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let token = Some("token".to_owned());
    let sets_of = |ordinal| joins(&table, b"red", [ordinal]);
    let first = TransactWrite { sets: sets_of(1), token: token.clone(), ..Default::default() };
    accepted(client.transact_write(first.clone()));
    apply(&client, &leaves(&table, b"red", [1]));
    accepted(client.transact_write(first));
    assert!(all(sets, &table, b"red").is_empty());
    let other = TransactWrite { sets: sets_of(2), token, ..Default::default() };
    refused(client.transact_write(other), Error::TokenReused { token: "token".to_owned() });
}

fn a_large_set_is_read_in_parts_from_both_ends(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let ordinals: Vec<u64> =
        (0..20).flat_map(|chunk| (0..50).map(move |n| chunk << 30 | chunk << 16 | n)).collect();
    apply(&client, &joins(&table, b"red", ordinals.iter().copied()));
    for chunks in [1, 3, 100] {
        for from in [0, 1, 49, 50, 0xffff, 0x10000, 0x50007, 1 << 40, u64::MAX] {
            let read = |direction| ReadSet {
                table: table.clone(),
                set: set(b"red"),
                from,
                direction,
                chunks,
            };
            let up = accepted(members(sets, read(Direction::Forward)));
            assert!(up.iter().eq(ordinals.iter().copied().filter(|n| *n >= from)));
            let down = accepted(members(sets, read(Direction::Backward)));
            assert!(down.iter().eq(ordinals.iter().copied().filter(|n| *n <= from)));
        }
    }
}

fn a_dense_set_survives_every_second_leaving(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    apply(&client, &joins(&table, b"red", 0..9_000));
    assert_eq!(all(sets, &table, b"red").len(), 9_000);
    // One by one, so that deltas fill up and are folded many times.
    for ordinal in (0..9_000).step_by(30) {
        apply(&client, &leaves(&table, b"red", [ordinal, ordinal]));
    }
    let expected: Vec<u64> = (0..9_000).filter(|n| n % 30 != 0).collect();
    assert_eq!(all(sets, &table, b"red"), expected);
    apply(&client, &leaves(&table, b"red", (0..9_000).step_by(2)));
    apply(&client, &joins(&table, b"red", [0, 0, 4]));
    let expected: Vec<u64> =
        (0..9_000).filter(|n| *n == 0 || *n == 4 || n % 2 != 0 && n % 30 != 0).collect();
    assert_eq!(all(sets, &table, b"red"), expected);
    let sizes = accepted(block_on(sets.set_sizes(table, vec![set(b"red")])));
    assert_eq!(sizes, [expected.len() as u64]);
}

fn sets_are_found_by_a_prefix_of_their_names(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let names: [&[u8]; 6] = [b"a", b"ab", b"abc", b"b", &[0xff], &[0xff, 0xff, 1]];
    for (name, count) in names.iter().zip(1..) {
        apply(&client, &joins(&table, name, 0..count));
    }
    let find = |prefix: &[u8], after: Option<&[u8]>, limit| {
        let (table, prefix, after) = (table.clone(), prefix.to_vec(), after.map(set));
        let found = accepted(block_on(sets.list_sets(ListSets { table, prefix, after, limit })));
        found.into_iter().map(|size| size.set.as_bytes().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(find(b"", None, 9), names);
    assert_eq!(find(b"ab", None, 9), names[1..3]);
    assert_eq!(find(b"a", Some(b"a"), 1), names[1..2]);
    assert!(find(b"a", Some(b"b"), 9).is_empty());
    assert_eq!(find(b"b", Some(b"a"), 9), names[3..4]);
    assert_eq!(find(&[0xff], None, 9), names[4..]);
}

fn sets_belong_to_their_table(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let (left, right) = (client.make(id_table("left")), client.make(id_table("right")));
    apply(&client, &joins(&left, b"red", [1]));
    apply(&client, &joins(&right, b"red", [2]));
    assert_eq!((all(sets, &left, b"red"), all(sets, &right, b"red")), (vec![1], vec![2]));
    accepted(client.drop_table(&left));
    subject.settle();
    client.make(id_table("left"));
    assert_eq!((all(sets, &left, b"red"), all(sets, &right, b"red")), (vec![], vec![2]));
}

fn a_snapshot_keeps_sets_as_they_were(subject: &dyn Subject) {
    let client = Client::of(subject);
    if client.sets().is_none() {
        return;
    }
    let table = client.make(id_table("things"));
    apply(&client, &joins(&table, b"red", 0..500));
    let snapshot = accepted(client.snapshot());
    apply(&client, &leaves(&table, b"red", 0..499));
    apply(&client, &joins(&table, b"blue", [1]));
    let sets = snapshot.sets().expect("a snapshot has what its store has");
    assert!(all(sets, &table, b"red").into_iter().eq(0..500));
    assert!(all(sets, &table, b"blue").is_empty());
}

fn invalid_set_requests_are_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let Some(sets) = client.sets() else { return };
    let table = client.make(id_table("things"));
    let missing = || Error::TableNotFound { table: name("missing") };
    let change = TransactWrite { sets: joins(&name("missing"), b"a", [1]), ..Default::default() };
    refused(client.transact_write(change), missing());
    let read = |table, chunks| {
        let (set, direction) = (set(b"a"), Direction::Forward);
        block_on(sets.read_set(ReadSet { table, set, from: 0, direction, chunks }))
    };
    refused(read(name("missing"), 1), missing());
    refused(read(table.clone(), 0), Invalid::LimitZero);
    let list = |table, limit| {
        block_on(sets.list_sets(ListSets { table, prefix: vec![], after: None, limit }))
    };
    refused(list(name("missing"), 1), missing());
    refused(list(table.clone(), 0), Invalid::LimitZero);
    refused(block_on(sets.set_sizes(name("missing"), vec![])), missing());
    let long = "x".repeat(2048);
    let many = (0..3_000).map(|n| joins(&table, long.as_bytes(), [n])).collect::<Vec<_>>().concat();
    let large = TransactWrite { sets: many, ..Default::default() };
    let (bytes, limit) = (3_000 * 2056, 4 << 20);
    refused(client.transact_write(large), Invalid::TransactionTooLarge { bytes, limit });
}
