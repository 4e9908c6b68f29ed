//! Strategies for random steps.

use keyloom_store::{
    AddNumber, Alteration, BatchAction, BatchGet, BatchWrite, Check, Consistency, Delete,
    Direction, Feed, Get, KeySchema, Membership, OnFailure, Put, Query, Returns, Scan, Segment,
    Select, SetChange, SetName, TableSpec, TransactAction, TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::{Item, KeyCondition, KeyTest, Name, Number, Value};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{select, subsequence};
use proptest::strategy::BoxedStrategy;

use super::expression::{condition, key_condition, projection, update};
use super::world::{ATTRIBUTES, Shape, Target, shapes, some_value_of, targets};
use super::{Op, ReadOp};
use crate::sample::index_name;

/// Histories of up to `len` steps, after initial ones that create and fill the tables.
pub fn history(len: usize) -> impl Strategy<Value = Vec<Op>> {
    let beginning: Vec<_> = shapes().iter().map(made_and_filled).collect();
    (beginning, vec(op(), 1..=len))
        .prop_map(|(beginning, ops)| beginning.into_iter().flatten().chain(ops).collect())
}

fn made_and_filled(shape: &Shape) -> impl Strategy<Value = Vec<Op>> + use<> {
    let table = shape.table.clone();
    (create(shape), vec(item(&shape.key), 0..20)).prop_map(move |(spec, items)| {
        let puts = items.into_iter().map(|item| Op::Put(Put::new(&table, item)));
        std::iter::once(Op::Create(spec)).chain(puts).collect()
    })
}

fn op() -> BoxedStrategy<Op> {
    let changes = (table(), 1..6_usize, 0..20_usize).prop_map(|(shape, limit, skip)| Op::Changes {
        table: shape.table,
        limit,
        skip,
    });
    let writes = prop_oneof![
        12 => put().prop_map(Op::Put),
        6 => update_item().prop_map(Op::Update),
        4 => delete().prop_map(Op::Delete),
        3 => batch_write().prop_map(Op::BatchWrite),
        4 => transact_write().prop_map(Op::TransactWrite),
        1 => Just(Op::Repeat),
    ];
    let tables = prop_oneof![
        6 => table().prop_flat_map(|shape| (Just(shape.table.clone()), alteration(&shape)))
            .prop_map(|(table, change)| Op::Alter(table, change)),
        1 => table().prop_map(|shape| Op::Drop(shape.table)),
        3 => table().prop_flat_map(|shape| create(&shape)).prop_map(Op::Create),
    ];
    let seconds = select(vec![0, 1, 29, 31, 300, 600]);
    prop_oneof![
        30 => writes,
        20 => read().prop_map(Op::Read),
        2 => Just(Op::TakeSnapshot),
        6 => read().prop_map(Op::ReadSnapshot),
        3 => changes,
        3 => seconds.prop_map(|secs| Op::Pass { secs }),
        4 => tables,
    ]
    .boxed()
}

fn table() -> impl Strategy<Value = Shape> {
    select(shapes())
}

/// A time-to-live attribute or none.
fn ttl() -> impl Strategy<Value = Option<Name>> {
    prop_oneof![Just(Some(Name::from("expires"))), Just(None)]
}

fn feed() -> impl Strategy<Value = Feed> {
    prop_oneof![4 => Just(Feed::Images), 1 => Just(Feed::Off)]
}

fn create(shape: &Shape) -> impl Strategy<Value = TableSpec> + use<> {
    let Shape { table, key, indexes } = shape.clone();
    let count = indexes.len();
    let indexes = prop_oneof![Just(indexes.clone()), subsequence(indexes, 0..=count)];
    (indexes, ttl(), feed()).prop_map(move |(indexes, ttl, feed)| TableSpec {
        name: table.clone(),
        key: key.clone(),
        indexes,
        columns: vec![],
        ttl,
        feed,
    })
}

fn alteration(shape: &Shape) -> impl Strategy<Value = Alteration> + use<> {
    let index = || select(shape.indexes.clone());
    prop_oneof![
        4 => index().prop_map(Alteration::AddIndex),
        3 => index().prop_map(|index| Alteration::DropIndex(index.name)),
        2 => ttl().prop_map(Alteration::SetTtl),
        1 => feed().prop_map(Alteration::SetFeed),
    ]
}

/// Values for the attributes of a key; rarely not all of them.
fn key(schema: &KeySchema) -> impl Strategy<Value = Item> + use<> {
    let parts: Vec<_> = schema
        .attributes()
        .map(|attribute| {
            let name = attribute.name.clone();
            some_value_of(name.as_str()).prop_map(move |value| (name.clone(), value))
        })
        .collect();
    let extra = prop_oneof![60 => Just(None), 1 => Just(Some((Name::from("n"), Value::from(1))))];
    let dropped = weighted(0.01, 0..2_usize);
    (parts, extra, dropped).prop_map(|(mut parts, extra, dropped)| {
        parts.extend(extra);
        if let Some(dropped) = dropped {
            parts.truncate(dropped);
        }
        parts.into_iter().collect()
    })
}

fn item(schema: &KeySchema) -> impl Strategy<Value = Item> + use<> {
    let attribute = |name: &'static str| {
        let chance = if name == "expires" { 0.15 } else { 0.6 };
        weighted(chance, some_value_of(name))
            .prop_map(move |value| Some((Name::from(name), value?)))
    };
    let attributes: Vec<_> = ATTRIBUTES.into_iter().map(attribute).collect();
    (key(schema), attributes).prop_map(|(key, attributes)| {
        key.into_iter().chain(attributes.into_iter().flatten()).collect()
    })
}

fn returns() -> impl Strategy<Value = Returns> {
    use Returns::{AllNew, AllOld, Nothing, UpdatedNew, UpdatedOld};
    select(vec![Nothing, AllOld, UpdatedOld, AllNew, UpdatedNew])
}

/// What puts and deletes can return; rarely what they cannot.
fn old_image() -> impl Strategy<Value = Returns> {
    prop_oneof![20 => Just(Returns::Nothing), 10 => Just(Returns::AllOld), 1 => returns()]
}

fn on_failure() -> impl Strategy<Value = OnFailure> {
    select(vec![OnFailure::Nothing, OnFailure::ReturnItem])
}

fn put() -> impl Strategy<Value = Put> {
    table().prop_flat_map(|shape| {
        let guard = weighted(0.3, condition());
        (item(&shape.key), guard, old_image(), on_failure()).prop_map(
            move |(item, condition, returns, on_failure)| Put {
                table: shape.table.clone(),
                item,
                condition,
                returns,
                on_failure,
            },
        )
    })
}

fn update_item() -> impl Strategy<Value = UpdateItem> {
    table().prop_flat_map(|shape| {
        let guard = weighted(0.3, condition());
        (key(&shape.key), update(), guard, returns(), on_failure()).prop_map(
            move |(key, update, condition, returns, on_failure)| UpdateItem {
                table: shape.table.clone(),
                key,
                update,
                condition,
                returns,
                on_failure,
            },
        )
    })
}

fn delete() -> impl Strategy<Value = Delete> {
    table().prop_flat_map(|shape| {
        let guard = weighted(0.3, condition());
        (key(&shape.key), guard, old_image(), on_failure()).prop_map(
            move |(key, condition, returns, on_failure)| Delete {
                table: shape.table.clone(),
                key,
                condition,
                returns,
                on_failure,
            },
        )
    })
}

fn check() -> impl Strategy<Value = Check> {
    table().prop_flat_map(|shape| {
        (key(&shape.key), condition(), on_failure()).prop_map(
            move |(key, condition, on_failure)| Check {
                table: shape.table.clone(),
                key,
                condition,
                on_failure,
            },
        )
    })
}

fn batch_write() -> impl Strategy<Value = BatchWrite> {
    let action = table().prop_flat_map(|shape| {
        let (to, from) = (shape.table.clone(), shape.table.clone());
        prop_oneof![
            3 => item(&shape.key).prop_map(move |item| BatchAction::Put(to.clone(), item)),
            1 => key(&shape.key).prop_map(move |key| BatchAction::Delete(from.clone(), key)),
        ]
    });
    vec(action, 1..6).prop_map(|actions| BatchWrite { actions })
}

/// Writes that mostly succeed: without a condition and a returned image.
fn transact_action() -> impl Strategy<Value = TransactAction> {
    let returns = Returns::Nothing;
    prop_oneof![
        5 => put().prop_map(move |put| TransactAction::Put(Put { returns, ..put })),
        4 => update_item()
            .prop_map(move |update| TransactAction::Update(UpdateItem { returns, ..update })),
        2 => delete().prop_map(move |delete| TransactAction::Delete(Delete { returns, ..delete })),
        1 => check().prop_map(TransactAction::Check),
        1 => delete().prop_map(TransactAction::Delete),
    ]
}

fn transact_write() -> impl Strategy<Value = TransactWrite> {
    let token = select(vec![None, Some("first"), Some("second")]);
    let actions = prop_oneof![4 => vec(transact_action(), 1..5), 1 => Just(vec![])];
    let sets = prop_oneof![1 => Just(vec![]), 2 => vec(set_changes(), 1..4)];
    let numbers = prop_oneof![8 => Just(vec![]), 1 => vec(add_number(), 1..3)];
    (actions, numbers, sets, token).prop_map(|(actions, numbers, sets, token)| TransactWrite {
        actions,
        numbers,
        sets: sets.concat(),
        token: token.map(str::to_owned),
    })
}

/// Adds to an attribute that may hold anything, and that may be in an index key.
fn add_number() -> impl Strategy<Value = AddNumber> {
    let change = select(vec![-2, -1, 0, 1, 1, 1, 2, i64::MAX]);
    table().prop_flat_map(move |shape| {
        (key(&shape.key), select(vec!["n", "n", "n", "rank", "s"]), change.clone()).prop_map(
            move |(key, attribute, change)| AddNumber {
                table: shape.table.clone(),
                attribute: attribute.into(),
                change,
                sums: sums_of(&key),
                key,
                rank: None,
            },
        )
    })
}

/// Some items hold a sum beside their number, which depends on the key alone.
fn sums_of(key: &Item) -> Vec<(Name, Number)> {
    match key.size() % 3 {
        0 => vec![("total".into(), Number::from(7))],
        _ => vec![],
    }
}

/// Adds a few ordinals to a set or removes them, at both ends of chunks and of the ordinal range;
/// rarely so many that the set is stored in chunks.
fn set_changes() -> impl Strategy<Value = Vec<SetChange>> {
    let first =
        select(vec![0, 3, 5, 65_530, 65_536, 131_071, 5_000_000, (1 << 32) - 2, u64::MAX - 9]);
    let count = prop_oneof![9 => 1..4_u32, 3 => 60..70_u32, 2 => 150..300_u32];
    let becomes = prop_oneof![3 => Just(Membership::In), 2 => Just(Membership::Out)];
    let name = select(vec![&b"a"[..], b"ab", b"b", &[0], &[0xff], &[0xff, 0xff]]);
    (table(), name, first, count, becomes).prop_map(|(shape, name, first, count, becomes)| {
        let set = SetName::new(name).expect("the name is short");
        let ordinals: Vec<u64> = (first..=u64::MAX).take(count as usize).collect();
        let change = |ordinals: &[u64]| {
            let (table, ordinals) = (shape.table.clone(), ordinals.to_vec());
            SetChange { table, set: set.clone(), ordinals, becomes }
        };
        ordinals.chunks(100).map(change).collect()
    })
}

/// Adapts a history to a store without sets and additions to numbers.
pub fn without_sets(mut ops: Vec<Op>) -> Vec<Op> {
    let reads_sets = |op: &Op| {
        matches!(op, Op::Read(ReadOp::Sets { .. }) | Op::ReadSnapshot(ReadOp::Sets { .. }))
    };
    ops.retain(|op| !reads_sets(op));
    for op in &mut ops {
        if let Op::TransactWrite(transaction) = op {
            transaction.sets.clear();
            transaction.numbers.clear();
        }
    }
    ops
}

fn read() -> BoxedStrategy<ReadOp> {
    prop_oneof![
        1 => Just(ReadOp::List),
        2 => table().prop_map(|shape| ReadOp::Describe(shape.table)),
        4 => get().prop_map(ReadOp::Get),
        16 => query().prop_map(ReadOp::Query),
        6 => scan().prop_map(ReadOp::Scan),
        2 => vec(get(), 1..6).prop_map(|gets| ReadOp::BatchGet(BatchGet { gets })),
        2 => vec(get(), 1..6).prop_map(|gets| ReadOp::TransactGet(TransactGet { gets })),
        4 => sets(),
    ]
    .boxed()
}

fn get() -> impl Strategy<Value = Get> {
    table().prop_flat_map(|shape| {
        (key(&shape.key), weighted(0.3, projection())).prop_map(move |(key, projection)| Get {
            table: shape.table.clone(),
            key,
            projection,
            consistency: Consistency::Strong,
        })
    })
}

fn sets() -> impl Strategy<Value = ReadOp> {
    let limit = prop_oneof![30 => 1..4_u32, 1 => Just(0)];
    let from = select(vec![0, 4, 64, 65_535, 65_536, 131_072, 1 << 32, u64::MAX]);
    (table(), limit, from).prop_map(|(shape, limit, from)| ReadOp::Sets {
        table: shape.table,
        limit,
        from,
    })
}

fn target() -> impl Strategy<Value = Target> {
    let missing = |target: Target| Target { index: Some(index_name("missing")), ..target };
    prop_oneof![60 => select(targets()), 1 => select(targets()).prop_map(missing)]
}

fn chosen() -> impl Strategy<Value = Select> {
    prop_oneof![
        8 => Just(Select::All),
        1 => Just(Select::AllOfTable),
        2 => projection().prop_map(Select::Parts),
        1 => Just(Select::Count),
    ]
}

fn limit() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![30 => Just(None), 90 => (1..5_u32).prop_map(Some), 1 => Just(Some(0))]
}

/// A start key that is not from any page, so there may be no such item.
fn start(target: &Target) -> impl Strategy<Value = Option<Item>> + use<> {
    let both = (key(&target.table_key), key(&target.key));
    let both = both.prop_map(|(of_table, of_index)| of_table.into_iter().chain(of_index).collect());
    weighted(0.2, both)
}

/// Moves the start key into the partition that is read.
fn moved(start: Item, condition: &KeyCondition) -> Item {
    let equal = condition.tests.iter().filter_map(|(name, test)| match test {
        KeyTest::Equal(value) => Some((name.clone(), value.clone())),
        _ => None,
    });
    start.into_iter().chain(equal).collect()
}

fn query() -> impl Strategy<Value = Query> {
    target().prop_flat_map(|target| {
        let start = (start(&target), proptest::bool::weighted(0.9));
        let parts = (key_condition(&target.key), start, limit());
        let direction = select(vec![Direction::Forward, Direction::Backward]);
        (parts, weighted(0.2, condition()), chosen(), direction).prop_map(
            move |((key, (start, fits), limit), filter, select, direction)| Query {
                table: target.table.clone(),
                index: target.index.clone(),
                start: start.map(|start| if fits { moved(start, &key) } else { start }),
                key,
                filter,
                select,
                direction,
                limit,
                consistency: Consistency::Strong,
            },
        )
    })
}

/// Scans from the beginning: where another start key leads is up to the store.
fn scan() -> impl Strategy<Value = Scan> {
    let segment = (any::<u8>(), 1..4_u32).prop_map(|(number, of)| {
        // One number out of range, so that some are refused.
        Segment { number: u32::from(number) % (of + u32::from(number == 255)), of }
    });
    let parts = (weighted(0.4, segment), limit(), weighted(0.3, condition()), chosen());
    (target(), parts).prop_map(|(target, (segment, limit, filter, select))| Scan {
        table: target.table,
        index: target.index,
        filter,
        select,
        limit,
        start: None,
        segment,
        consistency: Consistency::Strong,
    })
}
