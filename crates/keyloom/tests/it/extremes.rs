//! Least and greatest values of counts: exact at any moment, whoever writes, whatever is deleted.

use std::collections::BTreeMap;

use keyloom::{Counted, Db, Item, Number, Value};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::orders::{self, Order as _, change, shops, stores};
use crate::rig::{assert_clean, open_any};

const PLAIN: &str = r#"
[entity.shop]
id = "given"

[entity.order]
id = "given"
parent = "shop"
on_parent_delete = "cascade"
fields.channel = "text"
fields.price = "number"
fields.items = "int?"
fields.paid = "time"
"#;

/// The shop, with these keys in its count.
fn model(count: &str) -> String {
    format!("{PLAIN}count.prices = {{ by = \"shop\", split = \"channel\"{count} }}\n")
}

fn with_extremes() -> String {
    let extremes = r#", min = ["price", "items", "paid"], max = ["price", "paid"], sum = "paid""#;
    model(&format!("{extremes}, window = \"day\", of = \"paid\", shards = 3"))
}

#[derive(Clone, Debug)]
struct Order {
    shop: &'static str,
    channel: &'static str,
    price: Number,
    items: Option<i64>,
    /// Seconds of the first days of 2026.
    paid: i64,
}

type Orders = BTreeMap<String, Order>;

const NEW_YEAR_MS: i64 = 1_767_225_600_000;

impl orders::Order for Order {
    const IDS: u64 = 12;

    fn draw(random: &mut Random) -> Order {
        let prices = ["0", "0.1", "-3.35", "19.99", "1e12", "9007199254740993", "9007199254740992"];
        Order {
            shop: random.pick::<&str>(&["s0", "s1"]),
            channel: random.pick::<&str>(&["app", "web"]),
            price: random.pick::<&str>(&prices).parse().expect("a number"),
            items: random.chance(1, 2).then(|| random.below(9) as i64 - 4),
            paid: random.below(3 * 86_400) as i64,
        }
    }

    fn write(&self, db: &Db, id: &str) {
        let price: serde_json::Number = self.price.to_string().parse().expect("a JSON number");
        let Order { shop, channel, items, paid, .. } = self;
        let (day, hour, minute) = (1 + paid / 86_400, paid / 3600 % 24, paid / 60 % 60);
        let paid = format!("2026-01-{day:02}T{hour:02}:{minute:02}:{:02}Z", paid % 60);
        let order = json!({
            "id": id, "shop": shop, "channel": channel, "price": price, "items": items, "paid": paid,
        });
        block_on(db.put("order", id, &order)).expect("it is written");
    }
}

/// The values of a field that orders have.
fn values(orders: &[&Order], field: &str) -> Vec<Number> {
    let value = |order: &&Order| match field {
        "price" => Some(order.price),
        "items" => order.items.map(Number::from),
        _ => Some(Number::from(NEW_YEAR_MS + order.paid * 1000)),
    };
    let mut values: Vec<Number> = orders.iter().filter_map(value).collect();
    values.sort();
    values
}

fn check_numbers(counted: &Counted, orders: &[&Order]) {
    let value = |item: &Item, field: &str| item.get(field).and_then(Value::as_n).copied();
    assert_eq!(counted.count, orders.len() as u64);
    for field in ["price", "items", "paid"] {
        let values = values(orders, field);
        assert_eq!(value(&counted.min, field), values.first().copied(), "min of {field}");
        let max = values.last().copied().filter(|_| field != "items");
        assert_eq!(value(&counted.max, field), max, "max of {field}");
    }
    let sum: i64 = orders.iter().map(|order| NEW_YEAR_MS + order.paid * 1000).sum();
    let average = (!orders.is_empty()).then(|| Number::from(sum.div_euclid(orders.len() as i64)));
    assert_eq!(value(&counted.averages, "paid"), average);
    assert!(counted.sums.is_empty(), "a sum of times means nothing");
}

fn check(db: &Db, orders: &Orders) {
    for shop in ["s0", "s1"] {
        let all: Vec<&Order> = orders.values().filter(|order| order.shop == shop).collect();
        let query = db.count("order", "prices").by("shop", shop);
        check_numbers(&block_on(query.whole()).expect("it is read"), &all);
        for channel in ["app", "web"] {
            let some: Vec<&Order> = all.iter().copied().filter(|o| o.channel == channel).collect();
            let only = query.clone().only("channel", channel);
            check_numbers(&block_on(only.whole()).expect("it is read"), &some);
        }
        let page = block_on(query.split("channel").windows("..").read()).expect("it is read");
        for counted in &page.items {
            let channel = counted.values.get("channel").and_then(Value::as_s).expect("a channel");
            let day = counted.window.as_ref().expect("a day")[8..10].parse::<i64>().expect("a day");
            let is_there =
                |order: &&&Order| order.channel == channel && 1 + order.paid / 86_400 == day;
            let some: Vec<&Order> = all.iter().filter(is_there).copied().collect();
            check_numbers(counted, &some);
        }
        let counted: u64 = page.items.iter().map(|counted| counted.count).sum();
        assert_eq!(counted, all.len() as u64);
    }
}

#[test]
fn the_least_and_the_greatest_value_match_a_naive_search_on_every_store() {
    for seed in 0..4 {
        let clock = ManualClock::new();
        for store in stores(&clock) {
            let db = open_any(&with_extremes(), &store, &clock);
            let (mut orders, mut random) = (Orders::new(), Random::new(seed));
            shops(&db);
            for _ in 0..30 {
                change(&db, &mut orders, &mut random);
                check(&db, &orders);
            }
            assert_clean(&db);
        }
    }
}

/// Too many orders for one transaction: the greatest values are taken at one moment.
#[test]
fn a_large_deletion_takes_the_extremes_at_once() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = open_any(&with_extremes(), &store, &clock);
        let (mut orders, mut random) = (Orders::new(), Random::new(1));
        shops(&db);
        for number in 0..120 {
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
fn extremes_are_built_for_existing_entities_and_forgotten() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let (mut orders, mut random) = (Orders::new(), Random::new(7));
        let db = open_any(&model(""), &store, &clock);
        shops(&db);
        (0..30).for_each(|_| change(&db, &mut orders, &mut random));
        for _ in 0..2 {
            let db = open_any(&with_extremes(), &store, &clock);
            block_on(db.backfill(|_| {})).expect("they are built");
            check(&db, &orders);
            assert_clean(&db);
            let db = open_any(&model(""), &store, &clock);
            block_on(db.backfill(|_| {})).expect("they are forgotten");
            (0..10).for_each(|_| change(&db, &mut orders, &mut random));
            assert_clean(&db);
        }
    }
}

/// Values come and go at both ends of many: nothing is left of them that a search passes over.
#[test]
fn a_search_reads_a_few_rows_however_many_values_there_are_and_were() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let text = model(r#", min = "price", max = "price""#);
        let db = open_any(&text, &store, &clock);
        shops(&db);
        let order = |price: i64| Order {
            shop: "s0",
            channel: "web",
            price: Number::from(price),
            items: None,
            paid: 0,
        };
        (0..300).for_each(|price| order(price).write(&db, &format!("o{price}")));
        for price in (0..100).chain(200..300) {
            block_on(db.delete("order", &format!("o{price}"))).expect("it is deleted");
        }
        let page = db.count("order", "prices").by("shop", "s0");
        let page = block_on(page.read()).expect("it is read");
        let counted = page.items.first().expect("a number");
        let value = |item: &Item| item.get("price").and_then(Value::as_n).and_then(Number::to_i64);
        assert_eq!((value(&counted.min), value(&counted.max)), (Some(100), Some(199)));
        assert!(page.read.rows <= 1 + 2 * 4, "{:?}", page.read);
    }
}
