//! Windows of counts: exact at any moment, whoever writes, whatever is deleted, moved or migrated.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Counted, Db, Item, Number, Repair, Value};
use keyloom_model::attribute::PARTITION;
use keyloom_model::{RowKey, check};
use keyloom_store::{Put, Scan, Store, TableName};
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use crate::orders::{self, Order as _, change, shops, stores};
use crate::rig::{assert_clean, engine_at, open_any};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// When clocks are changed in Berlin, in 2026.
const SPRING_MS: i64 = 1_774_746_000_000;
const AUTUMN_MS: i64 = 1_792_890_000_000;

/// The shop, with these keys in its count.
fn model(count: &str) -> String {
    format!(
        "[entity.shop]\nid = \"given\"\n\
         [entity.order]\nid = \"given\"\nparent = \"shop\"\non_parent_delete = \"cascade\"\n\
         fields.channel = \"text\"\nfields.price = \"number\"\nfields.paid = \"time?\"\n\
         count.revenue = {{ by = \"shop\", split = [\"channel\"], sum = \"price\"{count} }}\n"
    )
}

fn in_berlin(unit: &str) -> String {
    model(&format!(", window = \"{unit}\", of = \"paid\", zone = \"Europe/Berlin\", shards = 2"))
}

#[derive(Clone, Debug)]
struct Order {
    shop: &'static str,
    channel: String,
    price: i64,
    paid_ms: Option<i64>,
}

type Orders = BTreeMap<String, Order>;

impl orders::Order for Order {
    const IDS: u64 = 30;

    fn draw(random: &mut Random) -> Order {
        let near = random.pick::<i64>(&[SPRING_MS, AUTUMN_MS, AUTUMN_MS + 40 * DAY_MS]);
        let paid_ms = near + (random.below(6 * 24 * 60) as i64 - 3 * 24 * 60) * 60_000;
        Order {
            shop: random.pick::<&str>(&["s0", "s1"]),
            channel: format!("c{}", random.below(3)),
            price: random.below(9) as i64 - 3,
            paid_ms: random.chance(9, 10).then_some(paid_ms),
        }
    }

    fn write(&self, db: &Db, id: &str) {
        let Order { shop, channel, price, paid_ms } = self;
        let paid = paid_ms.map(rfc_3339);
        let order =
            json!({ "id": id, "shop": shop, "channel": channel, "price": price, "paid": paid });
        block_on(db.put("order", id, &order)).expect("it is written");
    }
}

/// A time in RFC 3339.
fn rfc_3339(time_ms: i64) -> String {
    let (date, clock) = date_and_clock(time_ms);
    format!("{date}T{clock}Z")
}

/// The date and the time of day, by counting days.
fn date_and_clock(time_ms: i64) -> (String, String) {
    let (mut days, seconds) = (time_ms.div_euclid(DAY_MS), time_ms.rem_euclid(DAY_MS) / 1000);
    let (mut year, mut month) = (1970, 0);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    let clock = format!("{hour:02}:{minute:02}:{:02}", seconds % 60);
    (format!("{year:04}-{:02}-{:02}", month + 1, days + 1), clock)
}

/// What the window of a time begins with, in texts.
fn label(unit: &str, time_ms: i64) -> String {
    let offset = if (SPRING_MS..AUTUMN_MS).contains(&time_ms) { 2 } else { 1 };
    let local = time_ms + offset * HOUR_MS;
    let (date, clock) = date_and_clock(local);
    match unit {
        "hour" => format!("{date}T{}:00:00+0{offset}:00", &clock[..2]),
        "day" => date,
        // The first of January 1970 was a Thursday.
        "week" => {
            let weekday = (local.div_euclid(DAY_MS) + 3).rem_euclid(7);
            date_and_clock(local - weekday * DAY_MS).0
        }
        "month" => format!("{}-01", &date[..7]),
        _ => format!("{}-01-01", &date[..4]),
    }
}

/// The numbers of a shop, by channel and window.
fn expected(orders: &Orders, shop: &str, unit: &str) -> BTreeMap<(String, String), (u64, i64)> {
    let mut all = BTreeMap::new();
    for order in orders.values().filter(|order| order.shop == shop) {
        let Some(paid_ms) = order.paid_ms else { continue };
        let number: &mut (u64, i64) =
            all.entry((order.channel.clone(), label(unit, paid_ms))).or_default();
        *number = (number.0 + 1, number.1 + order.price);
    }
    all
}

fn number_of(counted: &Counted) -> (u64, i64) {
    let sum = counted.sums.get("price").and_then(Value::as_n).and_then(Number::to_i64);
    (counted.count, sum.expect("a sum"))
}

fn pages(query: &keyloom::CountQuery, limit: u32) -> Vec<Counted> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let query = match after {
            None => query.clone().limit(limit),
            Some(after) => query.clone().limit(limit).after(after),
        };
        let page = block_on(query.read()).expect("a page");
        assert!(page.items.len() <= limit as usize);
        all.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

fn check_windows(db: &Db, orders: &Orders, unit: &str, limit: u32) {
    for shop in ["s0", "s1"] {
        let expected = expected(orders, shop, unit);
        let query = db.count("order", "revenue").by("shop", shop).windows("..");
        let name = |counted: &Counted, channel: &str| {
            let window = counted.window.as_ref().expect("a window");
            let length = if unit == "hour" { window.len() } else { 10 };
            (channel.to_owned(), window[..length].to_owned())
        };
        let split: BTreeMap<(String, String), (u64, i64)> =
            pages(&query.clone().split("channel"), limit)
                .iter()
                .map(|counted| {
                    let channel =
                        counted.values.get("channel").and_then(Value::as_s).expect("a channel");
                    (name(counted, channel), number_of(counted))
                })
                .collect();
        assert_eq!(split, expected, "{shop} by channel and {unit}");
        for channel in ["c0", "c1", "c2", "none"] {
            let only = pages(&query.clone().only("channel", channel), limit);
            let only: Vec<_> = only.iter().map(|c| (name(c, channel), number_of(c))).collect();
            let some = expected.iter().filter(|((of, _), _)| of == channel);
            let some: Vec<_> = some.map(|(name, number)| (name.clone(), *number)).collect();
            assert_eq!(only, some, "{shop} {channel}");
        }
        let mut all: BTreeMap<(String, String), (u64, i64)> = BTreeMap::new();
        for ((_, window), (count, sum)) in &expected {
            let number = all.entry((String::new(), window.clone())).or_default();
            *number = (number.0 + count, number.1 + sum);
        }
        let whole: Vec<_> =
            pages(&query, limit).iter().map(|c| (name(c, ""), number_of(c))).collect();
        assert_eq!(whole, all.into_iter().collect::<Vec<_>>(), "{shop}");
    }
}

#[test]
fn windows_match_a_naive_count_on_every_store() {
    for (seed, unit) in ["hour", "day", "week", "month", "year"].into_iter().enumerate() {
        let clock = ManualClock::new();
        for store in stores(&clock) {
            let db = open_any(&in_berlin(unit), &store, &clock);
            let (mut orders, mut random) = (Orders::new(), Random::new(seed as u64));
            shops(&db);
            for step in 0..30 {
                (0..4).for_each(|_| change(&db, &mut orders, &mut random));
                if step % 6 == 0 {
                    check_windows(&db, &orders, unit, 1 + step % 5);
                }
            }
            check_windows(&db, &orders, unit, 1000);
            assert_clean(&db);
            block_on(db.delete("shop", "s0")).expect("it is deleted");
            orders.retain(|_, order| order.shop != "s0");
            check_windows(&db, &orders, unit, 7);
            assert_clean(&db);
        }
    }
}

/// Every range, filled or not, is the part of all windows that it names.
#[test]
fn ranges_are_parts_of_all_windows_and_are_filled_without_gaps() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = open_any(&in_berlin("day"), &store, &clock);
        let (mut orders, mut random) = (Orders::new(), Random::new(5));
        shops(&db);
        (0..60).for_each(|_| change(&db, &mut orders, &mut random));
        let days: Vec<String> =
            (0..14).map(|day| date_and_clock(AUTUMN_MS - 7 * DAY_MS + day * DAY_MS).0).collect();
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let (from, to) = (random.below(13), random.below(14));
            let range = format!("{}..{}", days[from as usize], days[to as usize]);
            let inside = |window: &str| {
                days[from as usize].as_str() <= window && window < days[to as usize].as_str()
            };
            let query = db.count("order", "revenue").by("shop", "s1").windows(&range);
            let query = match random.below(3) {
                0 => query,
                1 => query.only("channel", "c1"),
                _ => query.split("channel"),
            };
            let limit = 1 + random.below(9) as u32;
            let some = pages(&query, limit);
            let all = pages(&query.clone().windows(".."), 1000);
            let wanted: Vec<Counted> = all
                .into_iter()
                .filter(|counted| inside(&counted.window.as_ref().expect("a window")[..10]))
                .collect();
            assert_eq!(some, wanted, "{range}");
            let filled = pages(&query.clone().filled(), limit);
            let kept: Vec<Counted> = filled.iter().filter(|c| c.count > 0).cloned().collect();
            assert_eq!(kept, some, "{range}");
            check_filled(&filled, &days[from as usize..to.max(from) as usize], &some);
        }
    }
}

/// Each combination of values that has windows at all has all of them, in order.
fn check_filled(filled: &[Counted], days: &[String], some: &[Counted]) {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for counted in filled {
        let window = counted.window.as_ref().expect("a window")[..10].to_owned();
        groups.entry(format!("{:?}", counted.values)).or_default().push(window);
    }
    assert!(groups.values().all(|windows| windows == days), "{groups:?} {days:?}");
    let is_split = some.iter().any(|counted| !counted.values.is_empty());
    if !is_split && !days.is_empty() && filled.is_empty() {
        assert!(some.is_empty());
    }
}

#[test]
fn windows_without_orders_are_filled_too() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let db = open_any(&in_berlin("day"), &store, &clock);
        shops(&db);
        let query = db.count("order", "revenue").by("shop", "s0").filled();
        let days = pages(&query.clone().windows("2026-10-24..2026-10-27"), 2);
        let windows: Vec<&str> = days.iter().filter_map(|day| day.window.as_deref()).collect();
        let expected =
            ["2026-10-24T00:00:00+02:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"];
        assert_eq!(windows, expected);
        assert!(days.iter().all(|day| day.count == 0 && day.sums.get("price").is_some()));
        let open = block_on(query.windows("2026-10-24..").read()).expect_err("no end");
        assert_eq!(open.to_string(), "Windows can only be filled between two times.");
    }
}

/// A channel among many in a long history, and a short range of it: both ends, rare and common.
#[test]
fn a_range_of_windows_costs_what_it_returns() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_at(&clock));
    let db = open_any(&in_berlin("day").replace(", shards = 2", ""), &store, &clock);
    shops(&db);
    let (channels, days) = (60, 100);
    for channel in 0..channels {
        for day in 0..days {
            let order = Order {
                shop: "s0",
                channel: format!("c{channel:02}"),
                price: 1,
                paid_ms: Some(AUTUMN_MS + day * DAY_MS),
            };
            order.write(&db, &format!("o{channel}-{day}"));
        }
    }
    let query = db.count("order", "revenue").by("shop", "s0").limit(1000);
    for channel in ["c00", "c30", "c59"] {
        let page = query.clone().only("channel", channel).windows("..");
        let page = block_on(page.read()).expect("a page");
        assert_eq!(page.items.len(), days as usize);
        assert!(page.read.rows <= days as u64 + 1, "{:?}", page.read);
    }
    let range = "2026-12-01..2026-12-03";
    let page = block_on(query.clone().windows(range).read()).expect("a page");
    assert_eq!(page.items.len(), 2);
    assert!(page.read.rows <= 3, "{:?}", page.read);
    let page = block_on(query.split("channel").windows(range).read()).expect("a page");
    assert_eq!(page.items.len(), 2 * channels);
    // For each channel one read that finds it, and one of the range, of 8 rows each.
    assert!(page.read.rows <= 16 * (channels as u64 + 1), "{:?}", page.read);
}

#[test]
fn windows_are_built_changed_and_forgotten() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let (mut orders, mut random) = (Orders::new(), Random::new(7));
        let without = model("");
        let db = open_any(&without, &store, &clock);
        shops(&db);
        (0..40).for_each(|_| change(&db, &mut orders, &mut random));
        for unit in ["day", "hour", "month", "day"] {
            let db = open_any(&in_berlin(unit), &store, &clock);
            (0..3).for_each(|_| change(&db, &mut orders, &mut random));
            block_on(db.backfill(|_| {})).expect("they are built");
            check_windows(&db, &orders, unit, 100);
            assert_clean(&db);
        }
        let db = open_any(&without, &store, &clock);
        block_on(db.backfill(|_| {})).expect("they are forgotten");
        (0..10).for_each(|_| change(&db, &mut orders, &mut random));
        assert_clean(&db);
    }
}

/// Sets the rules that a table has stored for Berlin.
fn store_rules(store: &Arc<dyn Store>, release: &str, rules_of: &str) {
    let other = in_berlin("day").replace("Europe/Berlin", rules_of);
    let zones = check(&other).expect("a model").zones();
    let tzif = zones.0.values().next().expect("a zone").tzif.clone();
    let table = TableName::new("keyloom").expect("a name");
    let rows = block_on(store.scan(Scan::new(&table))).expect("rows").items;
    let model = RowKey::system("model", &[]).partition;
    let of_model = |row: &&Item| row.get("zones").is_some();
    for row in rows.iter().filter(of_model) {
        assert_eq!(row.get(PARTITION).and_then(Value::as_b), Some(model.as_bytes()));
        let rules =
            Item::from([("release", Value::from(release)), ("tzif", Value::B(tzif.clone()))]);
        let mut row = row.clone();
        row.insert("zones", Value::M(Item::from([("Europe/Berlin", Value::M(rules))])));
        block_on(store.put(Put::new(&table, row))).expect("it is stored");
    }
}

/// What was counted by old rules is taken back by them.
#[test]
fn new_rules_of_a_time_zone_are_a_change_of_the_model() {
    let clock = ManualClock::new();
    for store in stores(&clock) {
        let text = in_berlin("day");
        let _ = open_any(&text, &store, &clock);
        // Rules of a later release are used by this build, whatever its own are.
        store_rules(&store, "9999z", "Asia/Tokyo");
        let db = open_any(&text, &store, &clock);
        shops(&db);
        let (mut orders, mut random) = (Orders::new(), Random::new(3));
        (0..40).for_each(|_| change(&db, &mut orders, &mut random));
        let days = pages(&db.count("order", "revenue").by("shop", "s0").windows(".."), 100);
        let is_of_tokyo =
            |day: &Counted| day.window.as_ref().is_some_and(|w| w.ends_with("+09:00"));
        assert!(!days.is_empty() && days.iter().all(is_of_tokyo), "{days:?}");
        assert_clean(&db);
        store_rules(&store, "2000a", "Asia/Tokyo");
        let db = open_any(&text, &store, &clock);
        (0..20).for_each(|_| change(&db, &mut orders, &mut random));
        block_on(db.backfill(|_| {})).expect("they are built");
        check_windows(&db, &orders, "day", 100);
        assert_clean(&db);
    }
}

#[test]
fn windows_that_were_damaged_are_repaired() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(engine_at(&clock));
    let db = open_any(&in_berlin("week"), &store, &clock);
    let (mut orders, mut random) = (Orders::new(), Random::new(3));
    shops(&db);
    (0..20).for_each(|_| change(&db, &mut orders, &mut random));
    let table = TableName::new("keyloom").expect("a name");
    let rows = block_on(store.scan(Scan::new(&table))).expect("rows").items;
    let damaged = rows.iter().filter(|row| row.get("+price").is_some()).step_by(3);
    for row in damaged {
        let mut row = row.clone();
        row.insert("+price", 4711);
        block_on(store.put(Put::new(&table, row))).expect("it is damaged");
    }
    block_on(db.verify(Repair::Yes, |_| {})).expect("it is repaired");
    check_windows(&db, &orders, "week", 100);
    assert_clean(&db);
}
