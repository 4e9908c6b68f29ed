//! The contents of an index at all times: which items, and which of their attributes.

use keyloom_store::{
    Alteration, IndexProjection, IndexScope, IndexSpec, Invalid, KeySchema, KeyType, Put, Query,
    Scan, Select, TableName, TableSpec, UpdateItem,
};
use keyloom_value::{Condition, Item, KeyCondition, Name, Projection, Update, Value, ValueType};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{global, id_table, index_name, item, local, path, text_table, values};
use crate::{Client, Subject};

pub(super) const CASES: &[Case] = claims![
    an_index_follows_every_write,
    an_item_without_the_key_is_not_in_the_index,
    one_index_serves_items_of_many_kinds,
    an_index_returns_what_it_projects,
    a_global_index_returns_only_what_it_projects,
    a_local_index_reads_the_table_for_the_rest,
    a_filter_sees_what_the_index_projects,
    a_query_is_filtered_by_what_its_index_projects,
    an_index_added_to_a_table_in_use_is_built,
    an_added_index_skips_items_with_invalid_keys,
    an_index_keeps_other_types_out,
    a_dropped_index_can_be_added_again,
    an_index_can_invert_the_table_key,
];

fn rows(client: &Client, table: &TableName, index: &str) -> Vec<Item> {
    client.scan_items(&Scan { index: Some(index_name(index)), ..Scan::new(table) })
}

fn by_owner() -> IndexSpec {
    global("by-owner", KeySchema::partition("owner", KeyType::S))
}

fn owned(client: &Client, table: &TableName, owner: &str) -> Vec<Value> {
    let query = Query::new(table, KeyCondition::equal("owner", owner));
    values(&client.query_items(&Query { index: Some(index_name("by-owner")), ..query }), "id")
}

fn set(table: &TableName, id: &str, attribute: &str, value: &str) -> UpdateItem {
    let update = Update::new().set(path(attribute), Value::from(value));
    UpdateItem::new(table, item! { id: id }, update)
}

fn an_index_follows_every_write(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(TableSpec { indexes: vec![by_owner()], ..id_table("things") });
    let check = |o: &[&str], p: &[&str]| {
        for (owner, expected) in [("o", o), ("p", p)] {
            let expected: Vec<_> = expected.iter().map(|id| Value::from(*id)).collect();
            assert_eq!(owned(&client, &table, owner), expected, "{owner}");
        }
    };
    client.fill(&table, ["c", "a", "b"].map(|id| item! { id: id, owner: "o" }));
    check(&["a", "b", "c"], &[]);
    accepted(client.update(set(&table, "b", "owner", "p")));
    check(&["a", "c"], &["b"]);
    accepted(client.update(set(&table, "a", "title", "kept in the index as well")));
    check(&["a", "c"], &["b"]);
    let with_title = item! { id: "a", owner: "o", title: "kept in the index as well" };
    assert_eq!(rows(&client, &table, "by-owner")[0], with_title);
    client.fill(&table, [item! { id: "a", owner: "p" }, item! { id: "c" }]);
    check(&[], &["a", "b"]);
    accepted(client.update(set(&table, "c", "owner", "o")));
    let remove = Update::new().remove(path("owner"));
    accepted(client.update(UpdateItem::new(&table, item! { id: "b" }, remove)));
    check(&["c"], &["a"]);
    client.remove(&table, item! { id: "a" });
    client.remove(&table, item! { id: "b" });
    check(&["c"], &[]);
}

fn an_item_without_the_key_is_not_in_the_index(subject: &dyn Subject) {
    let client = Client::of(subject);
    let key = KeySchema::partition("owner", KeyType::S).and_sort("rank", KeyType::N);
    let indexes = vec![global("by-rank", key), local("by-due", "due", KeyType::N)];
    let table = client.make(TableSpec { indexes, ..text_table("things") });
    let whole = item! { pk: "a", sk: "4", owner: "o", rank: 1, due: 1 };
    client.fill(
        &table,
        [
            item! { pk: "a", sk: "1" },
            item! { pk: "a", sk: "2", owner: "o" },
            item! { pk: "a", sk: "3", rank: 1 },
            whole.clone(),
        ],
    );
    let whole = [whole];
    assert_eq!(rows(&client, &table, "by-rank"), whole);
    assert_eq!(rows(&client, &table, "by-due"), whole);
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), 4);
}

fn one_index_serves_items_of_many_kinds(subject: &dyn Subject) {
    let client = Client::of(subject);
    let key = KeySchema::partition("gpk", KeyType::S).and_sort("gsk", KeyType::S);
    let spec = TableSpec { indexes: vec![global("overloaded", key)], ..text_table("things") };
    let table = client.make(spec);
    client.fill(&table, [
        item! { pk: "order#1", sk: "order", gpk: "customer#7", gsk: "order#2024", total: 5 },
        item! { pk: "order#1", sk: "line#1", gpk: "product#3", gsk: "order#1" },
        item! { pk: "customer#7", sk: "customer", gpk: "customer#7", gsk: "#profile", name: "N" },
        item! { pk: "invoice#9", sk: "invoice", gpk: "customer#7", gsk: "invoice#2024" },
    ]);
    let query = Query::new(&table, KeyCondition::equal("gpk", "customer#7"));
    let query = Query { index: Some(index_name("overloaded")), ..query };
    let expected = ["#profile", "invoice#2024", "order#2024"].map(Value::from);
    assert_eq!(values(&client.query_items(&query), "gsk"), expected);
}

/// A table with local and global indexes by `rank` of every projection, and one item.
fn projections(client: &Client) -> TableName {
    let include = IndexProjection::Include(vec![Name::from("kept")]);
    let each = [("all", IndexProjection::All), ("keys", IndexProjection::Keys), ("some", include)];
    let indexes = each.into_iter().flat_map(|(name, projection)| {
        let key = KeySchema::partition("rank", KeyType::N);
        let global = global(&format!("global-{name}"), key);
        let local = local(&format!("local-{name}"), "rank", KeyType::N);
        [global, local].map(|index| IndexSpec { projection: projection.clone(), ..index })
    });
    let table = client.make(TableSpec { indexes: indexes.collect(), ..text_table("things") });
    client.fill(&table, [whole()]);
    table
}

fn whole() -> Item {
    item! { pk: "a", sk: "1", rank: 1, kept: "k", lost: item! { x: 1, y: 2 } }
}

fn an_index_returns_what_it_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = projections(&client);
    let keys = item! { pk: "a", sk: "1", rank: 1 };
    let some = item! { pk: "a", sk: "1", rank: 1, kept: "k" };
    for scope in ["global", "local"] {
        for (kind, expected) in [("all", whole()), ("keys", keys.clone()), ("some", some.clone())] {
            let index = Some(index_name(&format!("{scope}-{kind}")));
            let scan = Scan { index, ..Scan::new(&table) };
            let page = accepted(client.scan(scan.clone()));
            assert_eq!(page.scanned_bytes, expected.size() as u64, "{scope} {kind}");
            assert_eq!(page.items, [expected], "{scope} {kind}");
            let select = Select::Parts(Projection::names(["sk", "rank"]));
            let parts = client.scan_items(&Scan { select, ..scan });
            assert_eq!(parts, [item! { sk: "1", rank: 1 }]);
        }
    }
    // Changing an attribute that the index does not project does not change the index.
    let update = Update::new().set(path("lost"), Value::from("other"));
    accepted(client.update(UpdateItem::new(&table, item! { pk: "a", sk: "1" }, update)));
    assert_eq!(rows(&client, &table, "global-some"), [some]);
}

fn a_global_index_returns_only_what_it_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = projections(&client);
    let parts = |names: &[&str]| Select::Parts(Projection::names(names.iter().copied()));
    let ask = |index: &str, select: Select| {
        let index = Some(index_name(index));
        let key = KeyCondition::equal("rank", 1);
        let scanned =
            client.scan(Scan { index: index.clone(), select: select.clone(), ..Scan::new(&table) });
        (scanned, client.query(Query { index, select, ..Query::new(&table, key) }))
    };
    for (index, select) in [
        ("global-keys", Select::AllOfTable),
        ("global-some", Select::AllOfTable),
        ("global-keys", parts(&["kept"])),
        ("global-some", parts(&["kept", "lost"])),
    ] {
        let (scanned, queried) = ask(index, select);
        refused(scanned, Invalid::NotProjected { index: index_name(index) });
        refused(queried, Invalid::NotProjected { index: index_name(index) });
    }
    let nested = Select::Parts(Projection::new(vec![path("lost").member("x")]).unwrap());
    refused(
        ask("global-some", nested.clone()).1,
        Invalid::NotProjected { index: index_name("global-some") },
    );
    let page = accepted(ask("global-all", nested).1);
    assert_eq!(page.items, [item! { lost: item! { x: 1 } }]);
    assert_eq!(accepted(ask("global-all", Select::AllOfTable).1).items, [whole()]);
    assert_eq!(
        accepted(ask("global-some", parts(&["kept", "pk"])).0).items,
        [item! { kept: "k", pk: "a" },]
    );
}

fn a_local_index_reads_the_table_for_the_rest(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = projections(&client);
    let parts = Select::Parts(Projection::new(vec![path("lost").member("y")]).unwrap());
    for index in ["local-all", "local-keys", "local-some"] {
        let index = Some(index_name(index));
        let query = Query { index, ..Query::new(&table, KeyCondition::equal("pk", "a")) };
        let all = Query { select: Select::AllOfTable, ..query.clone() };
        let page = accepted(client.query(all));
        assert_eq!(page.items, [whole()]);
        assert_eq!(page.scanned_bytes, whole().size() as u64);
        let some = Query { select: parts.clone(), ..query };
        assert_eq!(client.query_items(&some), [item! { lost: item! { y: 2 } }]);
    }
}

fn a_filter_sees_what_the_index_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = projections(&client);
    let count = |index: &str, filter: Condition| {
        let index = Some(index_name(index));
        let page = accepted(client.scan(Scan { index, filter: Some(filter), ..Scan::new(&table) }));
        assert_eq!(page.scanned, 1);
        page.count
    };
    let exists = |attribute: &str| Condition::exists(path(attribute));
    assert_eq!(count("global-all", exists("lost")), 1);
    assert_eq!(count("global-some", exists("kept")), 1);
    assert_eq!(count("global-some", exists("lost")), 0);
    assert_eq!(count("local-some", exists("kept")), 1);
    assert_eq!(count("local-some", exists("lost")), 0);
    // Returning the whole item makes no difference for the filter.
    let (index, filter) = (Some(index_name("local-some")), Some(exists("lost")));
    let scan = Scan { index, filter, select: Select::AllOfTable, ..Scan::new(&table) };
    assert_eq!(client.scan_items(&scan), []);
}

fn a_query_is_filtered_by_what_its_index_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = projections(&client);
    let ask = |index: &str, filter: Condition| {
        let key = if index.starts_with("global") {
            KeyCondition::equal("rank", 1)
        } else {
            KeyCondition::equal("pk", "a")
        };
        let (index, filter) = (Some(index_name(index)), Some(filter));
        client.query(Query { index, filter, ..Query::new(&table, key) })
    };
    let exists = |attribute: &str| Condition::exists(path(attribute));
    for index in ["global-all", "local-all", "global-some", "local-some"] {
        assert_eq!(accepted(ask(index, exists("kept"))).count, 1, "{index}");
    }
    for (index, not_kept) in [
        ("global-keys", &["kept", "lost"][..]),
        ("local-keys", &["kept", "lost"]),
        ("global-some", &["lost"]),
        ("local-some", &["lost"]),
    ] {
        let attributes = not_kept.iter().copied().map(Name::from).collect();
        let index = index_name(index);
        let filter = exists("lost").or(exists("kept")).or(exists("lost"));
        refused(ask(index.as_str(), filter), Invalid::FilterNotProjected { index, attributes });
    }
}

fn an_index_added_to_a_table_in_use_is_built(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let items = (0..300_i64).map(|n| {
        let mut item = item! { id: format!("{n:03}") };
        if n % 3 > 0 {
            item.insert("owner", if n % 3 == 1 { "o" } else { "p" });
        }
        item
    });
    client.fill(&table, items);
    accepted(client.alter_table(&table, Alteration::AddIndex(by_owner())));
    // Writes continue meanwhile.
    client.remove(&table, item! { id: "001" });
    accepted(client.update(set(&table, "002", "owner", "o")));
    client.fill(&table, [item! { id: "300", owner: "o" }]);
    subject.settle();
    assert_eq!(owned(&client, &table, "o").len(), 101);
    assert_eq!(owned(&client, &table, "p").len(), 99);
    assert_eq!(owned(&client, &table, "o")[0], Value::from("002"));
    assert_eq!(accepted(client.describe_table(&table)).indexes[0].items, 200);
}

fn an_added_index_skips_items_with_invalid_keys(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    client.fill(
        &table,
        [
            item! { id: "a", owner: 1 },
            item! { id: "b", owner: "" },
            item! { id: "c", owner: "x".repeat(2049) },
            item! { id: "d", owner: "o" },
        ],
    );
    accepted(client.alter_table(&table, Alteration::AddIndex(by_owner())));
    subject.settle();
    assert_eq!(values(&rows(&client, &table, "by-owner"), "id"), [Value::from("d")]);
    // They stay in the table, and enter the index once their keys are valid.
    assert_eq!(client.scan_items(&Scan::new(&table)).len(), 4);
    accepted(client.update(set(&table, "a", "owner", "o")));
    client.remove(&table, item! { id: "b" });
    assert_eq!(owned(&client, &table, "o"), ["a", "d"].map(Value::from));
}

fn an_index_keeps_other_types_out(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(TableSpec { indexes: vec![by_owner()], ..id_table("things") });
    let put = |owner: Value| client.put(Put::new(&table, item! { id: "a", owner: owner }));
    let (expected, attribute) = (ValueType::S, || Name::from("owner"));
    for value in [Value::from(1), Value::Null, Value::from(true), Value::from(Item::new())] {
        let found = value.value_type();
        refused(put(value), Invalid::KeyType { attribute: attribute(), expected, found });
    }
    refused(put(Value::from("")), Invalid::KeyEmpty { attribute: attribute() });
    assert_eq!(client.read(&table, item! { id: "a" }), None);
}

fn a_dropped_index_can_be_added_again(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(TableSpec { indexes: vec![by_owner()], ..id_table("things") });
    client.fill(&table, [item! { id: "a", owner: "o", rank: 1 }]);
    accepted(client.alter_table(&table, Alteration::DropIndex(index_name("by-owner"))));
    client.fill(&table, [item! { id: "b", owner: "o", rank: 2 }]);
    client.remove(&table, item! { id: "a" });
    // Under the old name, with another key.
    let by_rank = IndexSpec { key: KeySchema::partition("rank", KeyType::N), ..by_owner() };
    assert_eq!(by_rank.scope, IndexScope::Global);
    accepted(client.alter_table(&table, Alteration::AddIndex(by_rank)));
    subject.settle();
    assert_eq!(values(&rows(&client, &table, "by-owner"), "id"), [Value::from("b")]);
}

fn an_index_can_invert_the_table_key(subject: &dyn Subject) {
    let client = Client::of(subject);
    let key = KeySchema::partition("sk", KeyType::S).and_sort("pk", KeyType::S);
    let table =
        client.make(TableSpec { indexes: vec![global("turned", key)], ..text_table("things") });
    client.fill(&table, ["c", "a", "b"].map(|pk| item! { pk: pk, sk: "1" }));
    let query = Query::new(&table, KeyCondition::equal("sk", "1"));
    let query = Query { index: Some(index_name("turned")), limit: Some(2), ..query };
    let pages = client.walk_query(&query);
    assert_eq!(pages[0].last_key, Some(item! { pk: "b", sk: "1" }));
    assert_eq!(values(&client.query_items(&query), "pk"), ["a", "b", "c"].map(Value::from));
}
