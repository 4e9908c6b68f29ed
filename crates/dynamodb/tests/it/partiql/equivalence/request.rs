//! Random requests that both languages have.

use keyloom_dynamodb::Printer;
use keyloom_value::{Condition, Item, Path, SetValue, Update, Value};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::generators;

/// A request that both languages have.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Insert(Item),
    Update {
        key: Key,
        update: Update,
        condition: Option<Condition>,
        returns: &'static str,
    },
    Delete {
        key: Key,
        condition: Option<Condition>,
        returns: &'static str,
    },
    Get {
        key: Key,
    },
    Query {
        part: Part,
        sort: Option<Sort>,
        filter: Option<Condition>,
        page: Page,
    },
    /// All partitions, one after the other.
    Partitions {
        source: &'static Source,
        filter: Option<Condition>,
        order: [Order; 2],
    },
    Scan {
        source: &'static Source,
        filter: Option<Condition>,
        limit: Option<usize>,
    },
    Transaction(Vec<Request>),
    /// Writes or reads of single items.
    Batch(Vec<Request>),
}

/// What is read, the table or an index of it, and its key.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) index: Option<&'static str>,
    pub(super) partition: &'static str,
    pub(super) sort: &'static str,
}

static SOURCES: [Source; 3] = [
    Source { index: None, partition: "pk", sort: "sk" },
    Source { index: Some("by_gk"), partition: "gk", sort: "lk" },
    Source { index: Some("by_lk"), partition: "pk", sort: "lk" },
];

/// The values of partition keys, in their order.
pub(super) const PARTITIONS: [&str; 2] = ["p", "q"];

/// A partition of what is read.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) source: &'static Source,
    pub(super) key: &'static str,
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) pk: String,
    pub(super) sk: String,
}

/// A test of the sort key, as both languages write it, with `#` for its name, and its constants.
#[derive(Clone, Debug)]
pub(super) struct Sort {
    pub(super) test: &'static str,
    pub(super) values: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Page {
    /// None is that of the sort key, without saying so.
    pub(super) order: Option<Order>,
    pub(super) limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

fn key() -> impl Strategy<Value = Key> {
    (select(&PARTITIONS[..]), select(vec!["1", "2", "3"]))
        .prop_map(|(pk, sk)| Key { pk: pk.to_owned(), sk: sk.to_owned() })
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![Just(None), (0_usize..3).prop_map(Some)];
    (select(vec!["a", "b", "c d"]), vec(step, 0..3)).prop_map(|(root, steps)| {
        steps.into_iter().fold(Path::from(root), |path, step| match step {
            None => path.member("x"),
            Some(index) => path.element(index),
        })
    })
}

/// Values that paths and changes often fit.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => (0_i64..5).prop_map(Value::from),
        1 => generators::value(),
        1 => btree_set("[ab]", 1..3).prop_map(Value::Ss),
        1 => btree_set(generators::number(), 1..3).prop_map(Value::Ns),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::L),
            inner.prop_map(|value| Value::M(Item::from([("x", value)]))),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    let members = vec((select(vec!["a", "b", "c d"]), value()), 0..4);
    let of_index = (proptest::option::of(select(&PARTITIONS[..])), proptest::option::of("[123]"));
    (key(), members, of_index, generators::item()).prop_map(|(key, members, (gk, lk), odd)| {
        let mut item = odd;
        // Of another type, they could not be the key of an index.
        item.remove("gk");
        item.remove("lk");
        if let Some(gk) = gk {
            item.insert("gk", gk);
        }
        if let Some(lk) = lk {
            item.insert("lk", lk);
        }
        for (name, value) in members {
            item.insert(name, value);
        }
        item.insert("pk", key.pk);
        item.insert("sk", key.sk);
        item
    })
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    let near = prop_oneof![
        (path(), value()).prop_map(|(path, value)| Condition::equal(path, value)),
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::Missing),
    ];
    let any = prop_oneof![2 => near, 3 => generators::condition()];
    proptest::option::of(any.prop_filter("names a key", |it| !names_key(it)))
}

/// Whether the text of a condition could name a key attribute.
fn names_key(condition: &Condition) -> bool {
    let mut printer = Printer::new();
    printer.condition(condition);
    printer.names.iter().any(|(_, name)| ["pk", "sk", "gk", "lk"].contains(&name.as_str()))
}

fn set_value() -> impl Strategy<Value = SetValue> {
    let number = || {
        let constant = generators::number().prop_map(|number| SetValue::Value(Value::N(number)));
        prop_oneof![path().prop_map(SetValue::Path), constant]
    };
    let list = || {
        let constant = vec(value(), 0..3).prop_map(|list| SetValue::Value(Value::L(list)));
        prop_oneof![path().prop_map(SetValue::Path), constant]
    };
    prop_oneof![
        value().prop_map(SetValue::Value),
        path().prop_map(SetValue::Path),
        (number(), number()).prop_map(|(left, right)| SetValue::plus(left, right)),
        (number(), number()).prop_map(|(left, right)| SetValue::minus(left, right)),
        (list(), list()).prop_map(|(left, right)| SetValue::append(left, right)),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    let set = || btree_set("[abc]", 1..3).prop_map(Value::Ss);
    let parts = (
        vec((path(), set_value()), 0..3),
        vec(path(), 0..3),
        vec((path(), set()), 0..2),
        vec((path(), set()), 0..2),
    );
    parts.prop_filter_map("invalid for every item", |(set, remove, add, delete)| {
        let update = Update { set, remove, add, delete };
        (update.check().is_ok() && update.paths().next().is_some()).then_some(update)
    })
}

fn sort() -> impl Strategy<Value = Option<Sort>> {
    let value = || select(vec!["1", "2", "3"]).prop_map(str::to_owned);
    let one = select(vec!["# = ?", "# < ?", "# <= ?", "# > ?", "# >= ?", "begins_with(#, ?)"]);
    proptest::option::of(prop_oneof![
        (one, value()).prop_map(|(test, value)| Sort { test, values: vec![value] }),
        (value(), value()).prop_map(|(left, right)| {
            let (low, high) = (left.clone().min(right.clone()), left.max(right));
            Sort { test: "# BETWEEN ? AND ?", values: vec![low, high] }
        }),
    ])
}

fn write() -> impl Strategy<Value = Request> {
    let images = || select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    prop_oneof![
        3 => item().prop_map(Request::Insert),
        3 => (key(), update(), condition(), images()).prop_map(
            |(key, update, condition, returns)| Request::Update { key, update, condition, returns }
        ),
        1 => (key(), condition(), select(vec!["NONE", "ALL_OLD"])).prop_map(
            |(key, condition, returns)| Request::Delete { key, condition, returns }
        ),
    ]
}

fn read() -> impl Strategy<Value = Request> {
    let source = || (0..SOURCES.len()).prop_map(|number| &SOURCES[number]);
    let order = || select(vec![Order::Ascending, Order::Descending]);
    let limit = || proptest::option::of(1_usize..4);
    let page =
        (proptest::option::of(order()), limit()).prop_map(|(order, limit)| Page { order, limit });
    let part = (source(), select(&PARTITIONS[..])).prop_map(|(source, key)| Part { source, key });
    prop_oneof![
        3 => (part, sort(), condition(), page)
            .prop_map(|(part, sort, filter, page)| Request::Query { part, sort, filter, page }),
        1 => (source(), condition(), [order(), order()])
            .prop_map(|(source, filter, order)| Request::Partitions { source, filter, order }),
        2 => (source(), condition(), limit())
            .prop_map(|(source, filter, limit)| Request::Scan { source, filter, limit }),
    ]
}

pub(super) fn request() -> impl Strategy<Value = Request> {
    let get = || key().prop_map(|key| Request::Get { key });
    prop_oneof![
        6 => write(),
        1 => get(),
        4 => read(),
        2 => vec(write(), 1..4).prop_map(Request::Transaction),
        2 => prop_oneof![vec(write(), 1..5), vec(get(), 1..5)].prop_map(Request::Batch),
    ]
}
