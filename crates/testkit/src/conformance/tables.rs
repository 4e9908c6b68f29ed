//! Creating, describing, altering and dropping tables.

use keyloom_store::{
    Alteration, Delete, Error, Feed, Get, IndexProjection, IndexState, Invalid, KeySchema, KeyType,
    Put, Query, Scan, TableSpec, Time, UpdateItem,
};
use keyloom_value::{KeyCondition, Name, Update};

use super::case::{Case, claims};
use crate::client::{accepted, refused};
use crate::sample::{global, id_table, index_name, item, local, name, text_table};
use crate::{Client, ManualClock, Subject};

pub(super) const CASES: &[Case] = claims![
    a_created_table_is_described_as_requested,
    tables_are_listed_in_order,
    a_name_is_in_use_until_its_table_is_dropped,
    a_recreated_table_is_empty,
    every_call_on_a_missing_table_says_so,
    tables_with_the_same_keys_do_not_mix,
    a_description_counts_items_and_bytes,
    a_description_counts_what_each_index_projects,
    settings_are_altered_one_at_a_time,
    an_index_is_added_and_dropped,
    an_invalid_table_is_refused,
    a_table_has_a_maximum_of_global_and_5_local_indexes,
    an_invalid_alteration_is_refused,
];

fn a_created_table_is_described_as_requested(subject: &dyn Subject) {
    let client = Client::of(subject);
    let mut spec = text_table("things");
    spec.ttl = Some("expires".into());
    spec.indexes = vec![
        local("by-rank", "rank", KeyType::N),
        global("by-owner", KeySchema::partition("owner", KeyType::S)),
    ];
    subject.clock().set(Time(1_800_000_000_123));
    let made = accepted(client.create_table(spec.clone()));
    assert_eq!(made.spec, spec);
    assert_eq!(made.created, Time(1_800_000_000_123));
    assert_eq!((made.items, made.bytes), (0, 0));
    let indexes: Vec<_> = made.indexes.iter().map(|index| (&index.name, index.state)).collect();
    assert_eq!(
        indexes,
        [
            (&index_name("by-rank"), IndexState::Active),
            (&index_name("by-owner"), IndexState::Active),
        ]
    );
    assert_eq!(accepted(client.describe_table(&spec.name)), made);
}

fn tables_are_listed_in_order(subject: &dyn Subject) {
    let client = Client::of(subject);
    assert!(accepted(client.list_tables()).is_empty());
    for table in ["b.2", "a-1", "_c_", "a-10", "B.2"] {
        client.make(id_table(table));
    }
    let expected: Vec<_> = ["B.2", "_c_", "a-1", "a-10", "b.2"].map(name).into();
    assert_eq!(accepted(client.list_tables()), expected);
}

fn a_name_is_in_use_until_its_table_is_dropped(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    refused(client.create_table(text_table("things")), Error::TableExists { table: table.clone() });
    client.fill(&table, [item! { id: "a" }]);
    let dropped = accepted(client.drop_table(&table));
    assert_eq!(dropped.spec, id_table("things"));
    assert_eq!(dropped.items, 1);
    refused(client.drop_table(&table), Error::TableNotFound { table: table.clone() });
    assert!(accepted(client.list_tables()).is_empty());
    client.make(text_table("things"));
}

fn a_recreated_table_is_empty(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    let spec = TableSpec { indexes: vec![by_owner], ..id_table("things") };
    let table = client.make(spec.clone());
    client.fill(&table, [item! { id: "a", owner: "o" }]);
    accepted(client.drop_table(&table));
    client.make(spec);
    assert_eq!(client.read(&table, item! { id: "a" }), None);
    assert!(client.scan_items(&Scan::new(&table)).is_empty());
    let index = Some(index_name("by-owner"));
    assert!(client.scan_items(&Scan { index, ..Scan::new(&table) }).is_empty());
    assert!(client.feed(&table, 10).is_empty());
    assert_eq!(accepted(client.describe_table(&table)).items, 0);
}

fn every_call_on_a_missing_table_says_so(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = name("nothing");
    let missing = || Error::TableNotFound { table: table.clone() };
    let key = || item! { id: "a" };
    refused(client.describe_table(&table), missing());
    refused(client.drop_table(&table), missing());
    refused(client.alter_table(&table, Alteration::SetTtl(None)), missing());
    refused(client.get(Get::new(&table, key())), missing());
    refused(client.put(Put::new(&table, key())), missing());
    refused(client.update(UpdateItem::new(&table, key(), Update::new())), missing());
    refused(client.delete(Delete::new(&table, key())), missing());
    refused(client.query(Query::new(&table, KeyCondition::equal("id", "a"))), missing());
    refused(client.scan(Scan::new(&table)), missing());
    refused(client.shards(&table), missing());
}

fn tables_with_the_same_keys_do_not_mix(subject: &dyn Subject) {
    let client = Client::of(subject);
    let first = client.make(id_table("first"));
    let second = client.make(id_table("second"));
    client.fill(&first, [item! { id: "a", of: 1 }]);
    client.fill(&second, [item! { id: "a", of: 2 }, item! { id: "b", of: 2 }]);
    client.remove(&second, item! { id: "a" });
    assert_eq!(client.scan_items(&Scan::new(&first)), [item! { id: "a", of: 1 }]);
    assert_eq!(client.scan_items(&Scan::new(&second)), [item! { id: "b", of: 2 }]);
}

fn a_description_counts_items_and_bytes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let counts = || {
        let description = accepted(client.describe_table(&table));
        (description.items, description.bytes)
    };
    // Names count: `id` + `a` + `n` + a number of two digits.
    client.fill(&table, [item! { id: "a", n: 42 }]);
    assert_eq!(counts(), (1, 2 + 1 + 1 + 2));
    client.fill(&table, [item! { id: "b" }, item! { id: "a" }]);
    assert_eq!(counts(), (2, 6));
    client.remove(&table, item! { id: "a" });
    client.remove(&table, item! { id: "a" });
    assert_eq!(counts(), (1, 3));
}

fn a_description_counts_what_each_index_projects(subject: &dyn Subject) {
    let client = Client::of(subject);
    let mut by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    by_owner.projection = IndexProjection::Keys;
    let table = client.make(TableSpec { indexes: vec![by_owner], ..id_table("things") });
    client.fill(&table, [item! { id: "a", owner: "o", body: "long" }, item! { id: "b" }]);
    let described = accepted(client.describe_table(&table));
    // `id` + `a` + `owner` + `o`; the item without an owner is not in the index.
    assert_eq!((described.indexes[0].items, described.indexes[0].bytes), (1, 3 + 6));
}

fn settings_are_altered_one_at_a_time(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let ttl: Option<Name> = Some("expires".into());
    let altered = accepted(client.alter_table(&table, Alteration::SetTtl(ttl.clone())));
    assert_eq!(altered.spec, TableSpec { ttl: ttl.clone(), ..id_table("things") });
    let altered = accepted(client.alter_table(&table, Alteration::SetFeed(Feed::Off)));
    assert_eq!(altered.spec, TableSpec { ttl, feed: Feed::Off, ..id_table("things") });
    let altered = accepted(client.alter_table(&table, Alteration::SetTtl(None)));
    assert_eq!(altered.spec, TableSpec { feed: Feed::Off, ..id_table("things") });
    assert_eq!(accepted(client.describe_table(&table)), altered);
    assert_eq!(altered.created, ManualClock::START);
}

fn an_index_is_added_and_dropped(subject: &dyn Subject) {
    let client = Client::of(subject);
    let table = client.make(id_table("things"));
    let by_owner = global("by-owner", KeySchema::partition("owner", KeyType::S));
    accepted(client.alter_table(&table, Alteration::AddIndex(by_owner.clone())));
    subject.settle();
    let described = accepted(client.describe_table(&table));
    assert_eq!(described.spec.indexes, std::slice::from_ref(&by_owner));
    assert_eq!(described.indexes[0].state, IndexState::Active);
    accepted(client.alter_table(&table, Alteration::DropIndex(by_owner.name.clone())));
    assert_eq!(accepted(client.describe_table(&table)).spec, id_table("things"));
    let index = Some(by_owner.name.clone());
    refused(
        client.scan(Scan { index, ..Scan::new(&table) }),
        Error::IndexNotFound { table, index: by_owner.name },
    );
}

fn an_invalid_table_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let check = |spec: TableSpec, expected: Invalid| refused(client.create_table(spec), expected);
    let with = |index| TableSpec { indexes: vec![index], ..text_table("things") };
    let keyed = |key| TableSpec::new(name("things"), key);
    let schema = |of: &str, why| Invalid::KeySchema { of: of.to_owned(), why };
    let (s, n) = (KeyType::S, KeyType::N);

    let none = KeySchema { partition: vec![], sort: vec![] };
    let two = KeySchema::partition("a", s).and_partition("b", s);
    check(keyed(none.clone()), schema("things", "a table must have one partition attribute"));
    check(keyed(two), schema("things", "a table must have one partition attribute"));
    let two_sorts = KeySchema::partition("a", s).and_sort("b", s).and_sort("c", s);
    check(keyed(two_sorts), schema("things", "a table can have at most one sort attribute"));
    let twice = KeySchema::partition("a", s).and_sort("a", s);
    check(keyed(twice), schema("things", "it names one attribute twice"));
    check(keyed(KeySchema::partition("", s)), Invalid::AttributeName { name: String::new() });
    let long = "n".repeat(256);
    check(keyed(KeySchema::partition(&long, s)), Invalid::AttributeName { name: long.clone() });

    let at_least_one = "an index must have at least one partition attribute";
    check(with(global("index", none)), schema("index", at_least_one));
    let five = ["b", "c", "d", "e"];
    let wide =
        five.iter().fold(KeySchema::partition("a", s), |key, part| key.and_partition(part, s));
    let why = "a global index can have at most four partition attributes";
    check(with(global("index", wide)), schema("index", why));
    let sorts = ["b", "c", "d", "e", "f"];
    let deep = sorts.iter().fold(KeySchema::partition("a", s), |key, part| key.and_sort(part, s));
    check(
        with(global("index", deep)),
        schema("index", "a global index can have at most four sort attributes"),
    );

    let mut foreign = local("index", "rank", n);
    foreign.key.partition[0].name = "other".into();
    check(
        with(foreign),
        schema("index", "a local index must have the table's partition attribute"),
    );
    let mut sortless = local("index", "rank", n);
    sortless.key.sort.clear();
    check(with(sortless), schema("index", "a local index must have one sort attribute"));
    let mut hash_only = keyed(KeySchema::partition("pk", s));
    hash_only.indexes = vec![local("index", "rank", n)];
    check(hash_only, schema("index", "local indexes require a table with a sort attribute"));

    let conflict = global("index", KeySchema::partition("sk", n));
    check(with(conflict), Invalid::KeyTypeConflict { attribute: "sk".into() });
    let same = || global("index", KeySchema::partition("a", s));
    let two_of_one_name = TableSpec { indexes: vec![same(), same()], ..text_table("things") };
    check(two_of_one_name, Invalid::IndexTwice { index: index_name("index") });
    let mut including = same();
    including.projection = IndexProjection::Include(vec!["".into()]);
    check(with(including), Invalid::AttributeName { name: String::new() });
    let nameless = TableSpec { ttl: Some("".into()), ..text_table("things") };
    check(nameless, Invalid::AttributeName { name: String::new() });
    assert!(accepted(client.list_tables()).is_empty());
}

fn a_table_has_a_maximum_of_global_and_5_local_indexes(subject: &dyn Subject) {
    let client = Client::of(subject);
    let create = |globals: usize, locals: usize| {
        let owner = || KeySchema::partition("owner", KeyType::S);
        let globals = (0..globals).map(|at| global(&format!("global-{at}"), owner()));
        let locals = (0..locals).map(|at| local(&format!("local-{at}"), "rank", KeyType::N));
        let indexes = globals.chain(locals).collect();
        client.create_table(TableSpec { indexes, ..text_table("things") })
    };
    let limit = client.indexes_max();
    refused(create(limit + 1, 0), Invalid::TooManyIndexes { scope: "global", limit });
    refused(create(0, 6), Invalid::TooManyIndexes { scope: "local", limit: 5 });
    assert_eq!(accepted(create(limit, 5)).indexes.len(), limit + 5);
}

fn an_invalid_alteration_is_refused(subject: &dyn Subject) {
    let client = Client::of(subject);
    let by = |position: usize| {
        global(&format!("index-{position}"), KeySchema::partition("owner", KeyType::S))
    };
    let limit = client.indexes_max();
    let indexes = (1..limit).map(by).chain([local("by-rank", "rank", KeyType::N)]).collect();
    let table = client.make(TableSpec { indexes, ..text_table("things") });
    let alter = |change| client.alter_table(&table, change);
    let add = |index| alter(Alteration::AddIndex(index));

    let fixed = || Invalid::LocalIndexFixed { index: index_name("by-rank") };
    refused(add(local("by-rank", "rank", KeyType::N)), fixed());
    refused(alter(Alteration::DropIndex(index_name("by-rank"))), fixed());
    refused(add(by(1)), Invalid::IndexTwice { index: index_name("index-1") });
    let as_number = global("another", KeySchema::partition("owner", KeyType::N));
    refused(add(as_number), Invalid::KeyTypeConflict { attribute: "owner".into() });
    let missing = Error::IndexNotFound { table: table.clone(), index: index_name("missing") };
    refused(alter(Alteration::DropIndex(index_name("missing"))), missing);
    let nameless = Alteration::SetTtl(Some("".into()));
    refused(alter(nameless), Invalid::AttributeName { name: String::new() });
    accepted(add(by(limit)));
    refused(add(by(limit + 1)), Invalid::TooManyIndexes { scope: "global", limit });
}
