//! The tables of histories: three, with keys of every type, their possible indexes, and a few
//! values for each attribute, so that equal keys and hostile bytes are common.

use keyloom_store::{
    IndexName, IndexProjection, IndexScope, IndexSpec, KeySchema, KeyType, TableName,
};
use keyloom_value::{Item, Name, Value};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::BoxedStrategy;

use crate::ManualClock;
use crate::sample::{bytes, global, index_name, name, number};

/// A table with all its possible indexes.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) table: TableName,
    pub(super) key: KeySchema,
    pub(super) indexes: Vec<IndexSpec>,
}

/// A table or index that can be queried or scanned.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) table: TableName,
    pub(super) table_key: KeySchema,
    pub(super) index: Option<IndexName>,
    pub(super) key: KeySchema,
}

/// Attributes outside the tables' keys, including index keys.
pub(super) const ATTRIBUTES: [&str; 9] =
    ["owner", "rank", "blob", "n", "s", "set", "list", "map", "expires"];

pub(super) fn shapes() -> Vec<Shape> {
    vec![texts(), numbers(), blobs()]
}

pub(super) fn targets() -> Vec<Target> {
    let of = |shape: Shape| {
        let target = |index: Option<&IndexSpec>| Target {
            table: shape.table.clone(),
            table_key: shape.key.clone(),
            index: index.map(|index| index.name.clone()),
            key: index.map_or(&shape.key, |index| &index.key).clone(),
        };
        let table = std::iter::once(target(None));
        table.chain(shape.indexes.iter().map(|index| target(Some(index)))).collect::<Vec<_>>()
    };
    shapes().into_iter().flat_map(of).collect()
}

fn texts() -> Shape {
    let owner = || KeySchema::partition("owner", KeyType::S);
    let local = |name: &str, sort: &str, key_type, projection| IndexSpec {
        name: index_name(name),
        scope: IndexScope::Local,
        key: KeySchema::partition("pk", KeyType::S).and_sort(sort, key_type),
        projection,
    };
    let include = |names: &[&str]| {
        IndexProjection::Include(names.iter().map(|name| Name::from(*name)).collect())
    };
    let by_rank = global("by-owner-rank", owner().and_sort("rank", KeyType::N));
    let turned = KeySchema::partition("sk", KeyType::S).and_sort("pk", KeyType::S);
    Shape {
        table: name("texts"),
        key: KeySchema::partition("pk", KeyType::S).and_sort("sk", KeyType::S),
        indexes: vec![
            global("by-owner", owner()),
            IndexSpec { projection: include(&["s", "expires"]), ..by_rank },
            IndexSpec { projection: IndexProjection::Keys, ..global("turned", turned) },
            local("local-rank", "rank", KeyType::N, IndexProjection::Keys),
            local("local-blob", "blob", KeyType::B, include(&["n"])),
        ],
    }
}

fn numbers() -> Shape {
    let wide = KeySchema::partition("owner", KeyType::S)
        .and_partition("rank", KeyType::N)
        .and_sort("blob", KeyType::B)
        .and_sort("num", KeyType::N);
    let by_rank = global("by-rank", KeySchema::partition("rank", KeyType::N));
    Shape {
        table: name("numbers"),
        key: KeySchema::partition("num", KeyType::N).and_sort("bin", KeyType::B),
        indexes: vec![
            global("wide", wide),
            IndexSpec { projection: IndexProjection::Keys, ..by_rank },
        ],
    }
}

fn blobs() -> Shape {
    let key = KeySchema::partition("blob", KeyType::B)
        .and_sort("owner", KeyType::S)
        .and_sort("rank", KeyType::N);
    Shape {
        table: name("blobs"),
        key: KeySchema::partition("id", KeyType::B),
        indexes: vec![global("by-blob", key)],
    }
}

/// A valid value of the attribute.
pub(super) fn value_of(attribute: &str) -> BoxedStrategy<Value> {
    let now = ManualClock::START.0 as i64 / 1000;
    match attribute {
        "pk" => select(vec!["a", "a", "a", "a\0", "b"]).prop_map(Value::from).boxed(),
        "sk" => select(vec!["1", "1\0", "1\0\0", "10", "2", "9", "é", "😀"])
            .prop_map(Value::from)
            .boxed(),
        "num" => select(vec!["1", "1.0", "10E-1", "-2.5", "1E+20"]).prop_map(number).boxed(),
        "bin" | "id" | "blob" => byte_value().boxed(),
        "owner" => select(vec!["o", "o", "o", "o\0", "p"]).prop_map(Value::from).boxed(),
        "rank" => select(vec!["1", "1.0", "2", "-1", "0.5", "10"]).prop_map(number).boxed(),
        "expires" => select(vec![-10, 0, 1, 30, 700]).prop_map(move |s| (now + s).into()).boxed(),
        "set" => vec(select(vec!["x", "y", "z"]), 1..3)
            .prop_map(|members| Value::Ss(members.into_iter().map(str::to_owned).collect()))
            .boxed(),
        "list" => vec(any::<i8>().prop_map(|n| Value::from(i32::from(n % 3))), 0..3)
            .prop_map(Value::L)
            .boxed(),
        "map" => any::<i8>().prop_map(|n| Item::from([("x", i32::from(n % 3))]).into()).boxed(),
        "s" => select(vec!["", "hello", "help"]).prop_map(Value::from).boxed(),
        _ => any::<i8>().prop_map(|n| Value::from(i32::from(n % 5))).boxed(),
    }
}

fn byte_value() -> impl Strategy<Value = Value> {
    let values: [&[u8]; 5] = [b"\0", b"\0\0", b"\0\xFF", b"\xFF", b"\xFF\xFF"];
    select(values.map(bytes).to_vec())
}

/// A value that is probably invalid for the attribute.
pub(super) fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(Value::from("")),
        Just(Value::from(7)),
        Just(bytes(b"")),
        Just(Value::Ss([].into())),
    ]
}

/// Mostly a valid value of the attribute.
pub(super) fn some_value_of(attribute: &str) -> impl Strategy<Value = Value> + use<> {
    prop_oneof![150 => value_of(attribute), 1 => odd_value()]
}
