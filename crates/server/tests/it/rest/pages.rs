//! Compares pages of lists over HTTP with a filter and a sort, with changes between pages.

use std::cmp::Ordering;

use keyloom_testkit::Random;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup, engine};
use crate::rig::Client;

const MODEL: &str = r#"
[entity.thing]
fields.shelf = "int 0..2"
fields.size = "number?"
fields.name = "text?"
list.all = { path = "/things", order = ["size", "-name"] }
list.on_shelf = { path = "/shelves/{shelf}/things", by = "shelf", order = "-size" }
list.named = { by = "name" }
"#;
const SIZES: &[f64] = &[-2.5, -1.0, 0.0, 0.5, 1.0, 10.0, 100.0];
const NAMES: &[&str] = &["", "a", "A", "a b", "b", "\u{e4}", "z&=+%"];
const WALKS: u64 = 60;

/// One query, and its filter and sort.
struct Question {
    path: String,
    bounds: Vec<(&'static str, &'static str, Value)>,
    order: Vec<(&'static str, Ordering)>,
    is_reversed: bool,
}

impl Question {
    fn random(random: &mut Random) -> Question {
        let mut bounds = vec![];
        let (path, order) = match random.index(3) {
            0 => {
                let order = vec![("size", Ordering::Less), ("name", Ordering::Greater)];
                if random.chance(1, 3) {
                    bounds.push(("size", "=", json!(random.pick(SIZES))));
                    bounds.extend(bound("name", json!(random.pick(NAMES)), random));
                } else {
                    bounds.extend(bound("size", json!(random.pick(SIZES)), random));
                }
                ("/things".to_owned(), order)
            }
            1 => {
                let shelf = random.index(3);
                bounds.push(("shelf", "path", json!(shelf)));
                bounds.extend(bound("size", json!(random.pick(SIZES)), random));
                (format!("/shelves/{shelf}/things"), vec![("size", Ordering::Greater)])
            }
            _ => {
                bounds.push(("name", "=", json!(random.pick(NAMES))));
                ("/things/lists/named".to_owned(), vec![])
            }
        };
        Question { path, bounds, order, is_reversed: random.chance(1, 2) }
    }

    fn url(&self, more: &str) -> String {
        let mut url = format!("{}?{more}&reverse={}", self.path, self.is_reversed);
        for (field, operator, value) in &self.bounds {
            if *operator == "path" {
                continue;
            }
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text = format!("{operator}{value}");
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            url.push_str(&format!("&{field}={encoded}"));
        }
        url
    }

    fn compare(&self, left: &Value, right: &Value) -> Ordering {
        let by_fields = self.order.iter().fold(Ordering::Equal, |so_far, (field, way)| {
            let found = compare(&left[*field], &right[*field]);
            so_far.then(if *way == Ordering::Less { found } else { found.reverse() })
        });
        let found = by_fields.then_with(|| compare(&left["id"], &right["id"]));
        if self.is_reversed { found.reverse() } else { found }
    }

    /// The expected entities, in order: a filter and a sort.
    fn naive(&self, things: &[Value]) -> Vec<Value> {
        let fits = |thing: &&Value| {
            let is_listed = self.order.iter().all(|(field, _)| thing.get(field).is_some());
            is_listed && self.bounds.iter().all(|bound| is_within(thing, bound))
        };
        let mut found: Vec<Value> = things.iter().filter(fits).cloned().collect();
        found.sort_by(|left, right| self.compare(left, right));
        found
    }
}

fn bound(
    field: &'static str,
    value: Value,
    random: &mut Random,
) -> Option<(&'static str, &'static str, Value)> {
    let operator = *random.pick(&["=", "<", "<=", ">", ">=", ""]);
    (!operator.is_empty()).then_some((field, operator, value))
}

fn is_within(thing: &Value, (field, operator, value): &(&str, &str, Value)) -> bool {
    let Some(found) = thing.get(*field) else { return false };
    let found = compare(found, value);
    match *operator {
        "<" => found.is_lt(),
        "<=" => found.is_le(),
        ">" => found.is_gt(),
        ">=" => found.is_ge(),
        _ => found.is_eq(),
    }
}

/// Compares numbers as numbers and texts bytewise.
fn compare(left: &Value, right: &Value) -> Ordering {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.as_str().cmp(&right.as_str()),
    }
}

struct World {
    client: Client,
    things: Vec<Value>,
    random: Random,
}

impl World {
    fn document(&mut self) -> Value {
        let random = &mut self.random;
        let mut document = json!({"shelf": random.index(3)});
        if random.chance(9, 10) {
            document["size"] = json!(random.pick(SIZES));
        }
        if random.chance(9, 10) {
            document["name"] = json!(random.pick(NAMES));
        }
        document
    }

    fn change(&mut self) {
        let document = self.document();
        if self.things.len() < 5 || self.random.chance(1, 3) {
            let made = self.client.send(&Ask::post("/things", &document).bytes());
            self.things.push(made.expect_json(201));
            return;
        }
        let place = self.random.index(self.things.len());
        let path = format!("/things/{}", self.things[place]["id"].as_str().unwrap());
        if self.random.chance(1, 3) {
            assert_eq!(self.client.send(&Ask::delete(&path).bytes()).status, 204);
            self.things.remove(place);
        } else {
            let put = self.client.send(&Ask::put(&path, &document).bytes());
            self.things[place] = put.expect_json(200);
        }
    }

    fn page(&mut self, url: &str) -> (Vec<Value>, Option<String>) {
        let page = self.client.send(&Ask::get(url).bytes()).expect_json(200);
        let next = page.get("next").map(|next| next.as_str().unwrap().to_owned());
        (page["items"].as_array().unwrap().clone(), next)
    }

    /// Checks that each page has what filter and sort yield at this moment after the previous page.
    fn walk(&mut self, seed: u64) {
        let question = Question::random(&mut self.random);
        let (mut cursor, mut last) = (String::new(), None::<Value>);
        loop {
            let limit = 1 + self.random.index(7);
            let url = question.url(&format!("limit={limit}{cursor}"));
            let all = question.naive(&self.things);
            let is_after = |thing: &&Value| {
                last.as_ref().is_none_or(|last| question.compare(last, thing).is_lt())
            };
            let rest: Vec<Value> = all.iter().filter(is_after).cloned().collect();
            let (items, next) = self.page(&url);
            let expected = &rest[..rest.len().min(limit)];
            assert_eq!(items, expected, "seed {seed}: {url}");
            assert_eq!(next.is_some(), rest.len() > limit, "seed {seed}: {url}");
            let Some(next) = next else { return };
            last = items.last().cloned();
            cursor = format!("&cursor={next}");
            for _ in 0..self.random.index(3) {
                self.change();
            }
        }
    }
}

fn walks(served: &Served, seed: u64) {
    let (client, random) = (served.rig.client(), Random::new(seed));
    let mut world = World { client, things: vec![], random };
    for _ in 0..40 {
        world.change();
    }
    for _ in 0..WALKS {
        world.walk(seed);
    }
}

#[test]
fn paging_equals_filter_and_sort() {
    for seed in 0..4 {
        walks(&Served::open(MODEL), seed);
    }
}

#[test]
fn paging_on_the_engine_equals_filter_and_sort() {
    let setup = Setup { store: engine, ..Setup::new(Door::Open) };
    walks(&Served::start(MODEL, setup), 100);
}
