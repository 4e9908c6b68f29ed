//! Batches: many items of many tables, unordered, not atomic.

use keyloom_store::{
    BatchAction, BatchGet, BatchWrite, Error, Get, Invalid, KeyType, Scan, TableName,
};
use keyloom_value::{Item, Projection};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{id_table, item, name, number, sorted, table_of, text_of, text_table};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    a_batch_reads_what_exists,
    a_batch_read_projects_each_item,
    a_batch_read_of_too_many_bytes_leaves_some_for_later,
    a_batch_writes_and_deletes,
    a_batch_has_a_maximum_length,
    a_batch_names_an_item_once,
    a_batch_with_one_invalid_action_does_nothing,
];

fn gets(table: &TableName, keys: impl IntoIterator<Item = Item>) -> BatchGet {
    BatchGet { gets: keys.into_iter().map(|key| Get::new(table, key)).collect() }
}

fn puts(table: &TableName, items: impl IntoIterator<Item = Item>) -> BatchWrite {
    let put = |item| BatchAction::Put(table.clone(), item);
    BatchWrite { actions: items.into_iter().map(put).collect() }
}

fn a_batch_reads_what_exists(subject: &dyn Subject) {
    let client = Client::of(subject);
    let things = client.make(text_table("things"));
    let others = client.make(id_table("others"));
    client.fill(&things, [item! { pk: "a", sk: "1", n: 1 }, item! { pk: "a", sk: "2", n: 2 }]);
    client.fill(&others, [item! { id: "a", n: 3 }]);
    let mut batch = gets(&things, ["2", "3", "1"].map(|sk| item! { pk: "a", sk: sk }));
    batch.gets.extend(gets(&others, ["a", "b"].map(|id| item! { id: id })).gets);
    let mut got = accepted(client.batch_get(batch));
    got.items.sort_by_key(|(table, item)| (table.clone(), item.to_string()));
    assert_eq!(
        got.items,
        [
            (others, item! { id: "a", n: 3 }),
            (things.clone(), item! { pk: "a", sk: "1", n: 1 }),
            (things, item! { pk: "a", sk: "2", n: 2 }),
        ]
    );
    assert!(got.unprocessed.is_empty());
}

fn a_batch_read_projects_each_item(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(&table, ["a", "b"].map(|id| item! { id: id, n: 1, m: 2 }));
    let projected = |id: &str, attribute: &str| {
        let projection = Some(Projection::names([attribute]));
        Get { projection, ..Get::new(&table, item! { id: id }) }
    };
    let batch = BatchGet { gets: vec![projected("a", "n"), projected("b", "m")] };
    let items = accepted(client.batch_get(batch)).items;
    let items = sorted(items.into_iter().map(|(_, item)| item).collect());
    assert_eq!(items, [item! { m: 2 }, item! { n: 1 }]);
}

fn a_batch_read_of_too_many_bytes_leaves_some_for_later(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    // 400 KB each: 40 of them are 16,000 KB, and 16 MB are 16,384.
    let id = |at: usize| format!("{at:02}");
    let body = text_of(400 * 1024 - 8);
    client.fill(&table, (0..45).map(|at| item! { id: id(at), body: body.clone() }));
    let mut batch = gets(&table, (0..45).map(|at| item! { id: id(at) }));
    let mut found = Vec::new();
    for expected in [40, 5] {
        let got = accepted(client.batch_get(batch));
        assert_eq!(got.items.len(), expected);
        found.extend(got.items.iter().map(|(_, item)| item.get("id").unwrap().clone().to_string()));
        batch = BatchGet { gets: got.unprocessed };
    }
    assert!(batch.gets.is_empty());
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 45);
}

fn a_batch_writes_and_deletes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let things = client.make(text_table("things"));
    let others = client.make(id_table("others"));
    client.fill(&things, [item! { pk: "a", sk: "1" }, item! { pk: "a", sk: "2", old: 1 }]);
    let mut batch = puts(&things, [item! { pk: "a", sk: "2", new: 1 }, item! { pk: "a", sk: "3" }]);
    batch.actions.extend(puts(&others, [item! { id: "a" }]).actions);
    batch.actions.push(BatchAction::Delete(things.clone(), item! { pk: "a", sk: "1" }));
    batch.actions.push(BatchAction::Delete(others.clone(), item! { id: "nothing" }));
    assert_eq!(accepted(client.batch_write(batch)), BatchWrite::default());
    let expected = vec![item! { pk: "a", sk: "2", new: 1 }, item! { pk: "a", sk: "3" }];
    assert_eq!(sorted(client.scan_items(&Scan::new(&things))), sorted(expected));
    assert_eq!(client.scan_items(&Scan::new(&others)), [item! { id: "a" }]);
}

fn a_batch_has_a_maximum_length(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let ids = |count: usize| (0..count).map(|at| item! { id: format!("{at}") });
    refused(client.batch_get(BatchGet::default()), Invalid::NoActions);
    refused(client.batch_write(BatchWrite::default()), Invalid::NoActions);
    accepted(client.batch_write(puts(&table, ids(25))));
    let too_many = |count, limit| Invalid::TooManyActions { count, limit };
    refused(client.batch_write(puts(&table, ids(26))), too_many(26, 25));
    assert_eq!(accepted(client.batch_get(gets(&table, ids(100)))).items.len(), 25);
    refused(client.batch_get(gets(&table, ids(101))), too_many(101, 100));
}

fn a_batch_names_an_item_once(subject: &dyn Subject) {
    let client = Client::of(subject);
    let numbers = client.make(table_of("numbers", KeyType::N, KeyType::N));
    let others = client.make(table_of("others", KeyType::N, KeyType::N));
    // One key, spelled in two ways.
    let key = |spelled: &str| item! { pk: number(spelled), sk: 1 };
    let twice = || Invalid::ItemTwice { table: numbers.clone(), key: Box::new(key("1")) };
    refused(client.batch_get(gets(&numbers, [key("1"), key("1.0")])), twice());
    refused(client.batch_write(puts(&numbers, [key("1"), key("10E-1")])), twice());
    let mut mixed = puts(&numbers, [item! { pk: 1, sk: 1, n: 1 }]);
    mixed.actions.push(BatchAction::Delete(numbers.clone(), key("1.00")));
    refused(client.batch_write(mixed), twice());
    // The same key of another table is another item.
    let mut both = puts(&numbers, [key("1")]);
    both.actions.extend(puts(&others, [key("1")]).actions);
    accepted(client.batch_write(both));
}

fn a_batch_with_one_invalid_action_does_nothing(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let missing = name("missing");
    let good = || BatchAction::Put(table.clone(), item! { id: "a" });
    let wrong: [(BatchAction, Error); 3] = [
        (
            BatchAction::Put(missing.clone(), item! { id: "a" }),
            Error::TableNotFound { table: missing.clone() },
        ),
        (
            BatchAction::Put(table.clone(), item! { n: 1 }),
            Invalid::KeyMissing { attribute: "id".into() }.into(),
        ),
        (
            BatchAction::Delete(table.clone(), item! { id: "b", n: 1 }),
            Invalid::KeyExtra { attribute: "n".into() }.into(),
        ),
    ];
    for (action, expected) in wrong {
        refused(client.batch_write(BatchWrite { actions: vec![good(), action] }), expected);
    }
    assert!(client.scan_items(&Scan::new(&table)).is_empty());
    let batch = gets(&missing, [item! { id: "a" }]);
    refused(client.batch_get(batch), Error::TableNotFound { table: missing });
}
