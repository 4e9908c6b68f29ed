//! Sums of counts: exact at any moment, whoever writes, whatever is deleted, moved or migrated.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Counted, Db, Error, Number, Repair, Value};
use keyloom_model::attribute::PARTITION;
use keyloom_model::is_counter;
use keyloom_store::{Put, Scan, Store, TableName};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::orders::{self, Order as _, change, shops, stores};
use crate::rig::{assert_clean, each_store, engine_at, findings, open, open_any};

/// The shop, with these counts of orders.
fn model(counts: &str) -> String {
    let entities = r#"
[entity.shop]
id = "given"

[entity.order]
id = "given"
parent = "shop"
on_parent_delete = "cascade"
fields.status = "enum(open, paid)"
fields.price  = "number"
fields.items  = "int?"
"#;
    format!("{entities}{counts}")
}

fn summed() -> String {
    model(
        r#"
count.revenue = { by = "shop", split = ["status"], sum = ["price", "items"] }
count.all     = { sum = "price", where = { status = "paid" }, shards = 3 }
"#,
    )
}

fn unsummed() -> String {
    model(r#"count.revenue = { by = "shop", split = ["status"] }"#)
}

fn number(text: &str) -> Number {
    text.parse().expect("a number")
}

/// The expected state of an order.
#[derive(Clone, Debug)]
struct Order {
    shop: String,
    status: &'static str,
    price: Number,
    items: Option<i64>,
}

fn document(id: &str, order: &Order) -> serde_json::Value {
    let price: serde_json::Number = order.price.to_string().parse().expect("a JSON number");
    let Order { shop, status, items, .. } = order;
    json!({ "id": id, "shop": shop, "status": status, "price": price, "items": items })
}

impl orders::Order for Order {
    const IDS: u64 = 12;

    fn draw(random: &mut Random) -> Order {
        let prices = ["0", "0.1", "0.2", "-3.35", "19.99", "1e12", "9007199254740993"];
        Order {
            shop: format!("s{}", random.below(2)),
            status: random.pick::<&str>(&["open", "paid"]),
            price: number(random.pick::<&str>(&prices)),
            items: random.chance(1, 2).then(|| random.below(9) as i64 - 4),
        }
    }

    fn write(&self, db: &Db, id: &str) {
        block_on(db.put("order", id, &document(id, self))).expect("it is written");
    }
}

type Orders = BTreeMap<String, Order>;

fn expected(orders: &[&Order], has_items: bool) -> Counted {
    let sum = |numbers: &[Number]| {
        numbers.iter().fold(Number::ZERO, |sum, n| sum.checked_add(n).expect("it is short"))
    };
    let prices: Vec<Number> = orders.iter().map(|order| order.price).collect();
    let items: Vec<Number> =
        orders.iter().filter_map(|order| order.items.map(Number::from)).collect();
    let mut counted = Counted { count: orders.len() as u64, ..Counted::default() };
    for (name, values) in [("price", prices), ("items", items)] {
        if name == "items" && !has_items {
            continue;
        }
        counted.sums.insert(name, Value::N(sum(&values)));
        if let Some(average) = sum(&values).divided_by(values.len() as u64) {
            counted.averages.insert(name, Value::N(average));
        }
    }
    counted
}

fn check(db: &Db, orders: &Orders) {
    for shop in ["s0", "s1"] {
        let of: Vec<&Order> = orders.values().filter(|order| order.shop == shop).collect();
        let query = db.count("order", "revenue").by("shop", shop);
        assert_eq!(block_on(query.whole()).expect("it is read"), expected(&of, true), "{shop}");
        let split = block_on(query.split("status").read()).expect("it is read").items;
        let by_status = ["open", "paid"].map(|status| {
            let some: Vec<&Order> = of.iter().copied().filter(|o| o.status == status).collect();
            let mut counted = expected(&some, true);
            counted.values.insert("status", status);
            counted
        });
        let by_status: Vec<Counted> = by_status.into_iter().filter(|c| c.count > 0).collect();
        assert_eq!(split, by_status, "{shop}");
    }
    let paid: Vec<&Order> = orders.values().filter(|order| order.status == "paid").collect();
    let all = block_on(db.count("order", "all").whole()).expect("it is read");
    assert_eq!(all, expected(&paid, false));
}

#[test]
fn sums_and_averages_match_a_naive_sum_on_every_store() {
    for seed in 0..6 {
        let clock = ManualClock::new();
        for store in stores(&clock) {
            let db = open_any(&summed(), &store, &clock);
            let (mut orders, mut random) = (Orders::new(), Random::new(seed));
            shops(&db);
            for _ in 0..40 {
                change(&db, &mut orders, &mut random);
                check(&db, &orders);
            }
            assert_clean(&db);
        }
    }
}

/// A view of another database lost a group with its last entity, and did not have it again when another one came: here it
/// is there with its next entity.
#[test]
fn a_group_comes_back_after_it_was_emptied() {
    each_store(|store| {
        let db = block_on(open(&summed(), store));
        shops(&db);
        let order = |price: &str| Order {
            shop: "s0".to_owned(),
            status: "paid",
            price: number(price),
            items: None,
        };
        for price in ["0.1", "0.2", "-7"] {
            let order = order(price);
            block_on(db.put("order", "o", &document("o", &order))).expect("it is written");
            check(&db, &Orders::from([("o".to_owned(), order)]));
            block_on(db.delete("order", "o")).expect("it is deleted");
            check(&db, &Orders::new());
        }
        assert_clean(&db);
    });
}

/// Too many orders for one transaction: they are taken from the sums at one moment.
#[test]
fn a_large_deletion_takes_from_sums_at_once() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = open_any(&summed(), &store, &clock);
        let (mut orders, mut random) = (Orders::new(), Random::new(1));
        shops(&db);
        for number in 0..150 {
            let (id, order) = (format!("o{number}"), Order::draw(&mut random));
            order.write(&db, &id);
            orders.insert(id, order);
        }
        check(&db, &orders);
        block_on(db.delete("shop", "s0")).expect("it is deleted");
        orders.retain(|_, order| order.shop != "s0");
        check(&db, &orders);
        assert_clean(&db);
    }
}

#[test]
fn a_sum_that_would_not_be_exact_is_refused_before_it_is_written() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = open_any(&summed(), &store, &clock);
        shops(&db);
        let put = |id: &str, price: &str| {
            let (shop, status) = ("s0".to_owned(), "paid");
            let order = Order { shop, status, price: number(price), items: None };
            block_on(db.put("order", id, &document(id, &order))).map(drop)
        };
        put("large", "1e30").expect("it is alone");
        let refused = put("small", "1e-20").expect_err("51 digits");
        assert!(matches!(&refused, Error::SumTooLong(sum) if sum.field == "price"), "{refused}");
        let expected = "Cannot be written: the sum of `price` would have more than 38 digits, or be \
                        out of range.";
        assert_eq!(refused.to_string(), expected);
        let whole = block_on(db.count("order", "revenue").by("shop", "s0").whole());
        assert_eq!(whole.expect("it is read").count, 1, "nothing was written");
        put("large", "5").expect("it is smaller");
        put("small", "1e-20").expect("there is room");
        assert_clean(&db);
    }
}

#[test]
fn sums_are_built_for_existing_entities_and_forgotten() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let (mut orders, mut random) = (Orders::new(), Random::new(7));
        let db = open_any(&unsummed(), &store, &clock);
        shops(&db);
        (0..30).for_each(|_| change(&db, &mut orders, &mut random));
        for _ in 0..2 {
            let db = open_any(&summed(), &store, &clock);
            block_on(db.backfill(|_| {})).expect("it is built");
            check(&db, &orders);
            assert_clean(&db);
            let db = open_any(&unsummed(), &store, &clock);
            block_on(db.backfill(|_| {})).expect("it is built");
            (0..10).for_each(|_| change(&db, &mut orders, &mut random));
            assert_clean(&db);
        }
    }
}

#[test]
fn wrong_sums_are_found_and_repaired() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_at(&clock));
    let db = open_any(&summed(), &store, &clock);
    let (mut orders, mut random) = (Orders::new(), Random::new(3));
    shops(&db);
    (0..20).for_each(|_| change(&db, &mut orders, &mut random));
    let table = TableName::new("keyloom").expect("a name");
    let rows = block_on(store.scan(Scan::new(&table))).expect("rows").items;
    let is_summed = |row: &&keyloom::Item| {
        is_counter(row.get(PARTITION).and_then(Value::as_b).unwrap_or_default())
            && row.get("+price").is_some()
    };
    let mut row = rows.iter().find(is_summed).expect("a counter").clone();
    row.insert("+price", 4711);
    block_on(store.put(Put::new(&table, row))).expect("it is damaged");
    let found = block_on(findings(&db));
    assert!(found.len() == 1 && found[0].contains("wrong sums"), "{found:?}");
    block_on(db.verify(Repair::Yes, |_| {})).expect("it is repaired");
    check(&db, &orders);
    assert_clean(&db);
}
