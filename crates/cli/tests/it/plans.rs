//! Plans of capacity: what they say of the applications, how they report errors, and that strict mode
//! measures what they state.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use keyloom::{Clock, Db, Error, Options, Store};
use keyloom_app::operations::block_on;
use keyloom_app::plan::{Plan, PlanOptions, PlanReport, PlanRequest, plan};
use keyloom_dynamodb::{Strict, StrictOptions};
use keyloom_model::workload::Workload;
use keyloom_store::{
    Answer, BatchGet, BatchGot, CancelReason, Error as StoreError, Get, MemoryStore, Page, Put,
    Query, Read, TransactWrite, UpdateItem,
};
use keyloom_testkit::{Front, InFront, SimClock};
use keyloom_value::Item;
use serde_json::json;

use crate::process::{Folder, app, output};

fn planned(model: &str, workload: &str, options: PlanOptions) -> PlanReport {
    let checked = keyloom_model::check(model).expect("the model is valid");
    let workload = Workload::check(workload, &checked).expect("the workload is valid");
    let request = PlanRequest { model: model.to_owned(), workload, options };
    block_on(plan(&request)).expect("it is planned")
}

fn ceiling(plan: &Plan, part: &str) -> f64 {
    let found = plan.ceilings.iter().find(|ceiling| ceiling.part == part);
    let found = found.unwrap_or_else(|| panic!("{part} has no ceiling: {:?}", plan.ceilings));
    assert!(!found.writes.is_at_least, "{found:?}");
    found.writes.per_second
}

fn is_near(stated: f64, measured: f64) -> bool {
    (stated / measured - 1.0).abs() <= 0.2
}

const MODEL: &str = r#"
[entity.product]
id = "given"

[entity.comment]
parent = "product"
fields.rating   = "int 1..5"
fields.created  = "time = now"
list.by_product  = { by = "product", order = "-created" }
count.by_product = { by = "product", split = ["rating"] }
"#;

const WORKLOAD: &str = r#"
[comment]
creates = 60
fields.product = { values = 50, hottest = 0.5 }
fields.rating = [5]
"#;

#[test]
fn the_plan_of_the_comments_has_costs_ceilings_and_shards() {
    let workload = app("comments").replace("model.toml", "workload.toml");
    let arguments = ["plan", &app("comments"), "--workload", &workload];
    let (success, out, err) = output(&arguments);
    assert!(success, "{err}");
    for part in ["a month", "board.leaders", "too low", "+ shards = ", "Tried: ", "Index list-0"] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
    let widest = out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{widest:?}\n{out}");
    let few = [&arguments[..], &["--operations", "500"]].concat();
    assert_eq!(output(&few).1, output(&few).1, "the same seed gives the same plan");
    let (_, json, _) = output(&[&arguments[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let total = &report["declared"]["total"];
    let dollars = (total["write_units"].as_f64().unwrap() * 0.625
        + total["read_units"].as_f64().unwrap() * 0.125)
        * 2.592;
    assert!((dollars - total["dollars_a_month"].as_f64().unwrap()).abs() < 0.01);
    let used = |plan: &str| -> f64 {
        let ceilings = report[plan]["ceilings"].as_array().unwrap().iter();
        let known = ceilings.filter(|ceiling| ceiling["writes"]["at_least"] == false);
        known.map(|ceiling| ceiling["used"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    assert!(used("declared") > 1.0 && used("proposed") <= 0.7, "{json}");
    let (_, svg, _) = output(&[&few[..], &["--format", "svg"]].concat());
    assert!(svg.starts_with("<svg") && svg.contains("With the proposed shards"), "{svg}");
}

#[test]
fn every_application_can_be_planned() {
    for (name, workload) in [
        ("tasks", "[task]\ncreates = 5\nupdates = 2\ndeletes = 1\n[reads]\ntask.get = 3\n"),
        ("kitchen", "[recipe]\ncreates = 2\nupdates = 1\n[recipe_ingredient]\ncreates = 3\n"),
        ("oncall", "[search]\ncreates = 2\nupdates = 1\n[reads]\nsearch.get = 4\n"),
    ] {
        let folder = Folder::new(&format!("planned-{name}"));
        let file = folder.write("workload.toml", workload);
        let arguments = ["plan", &app(name), "--workload", &file, "--operations", "200"];
        let (success, out, err) = output(&arguments);
        assert!(success && out.contains("Costs"), "{name}: {err}");
    }
}

/// Drawn at random, most values would be refused; `rejected` never changes.
#[test]
fn a_plan_draws_values_that_the_rules_of_fields_allow() {
    let model = r#"
[entity.issue]
fields.status = "enum(open, doing, done, rejected)"
fields.kind   = "enum(bug, wish, task)"
fields.number = "text"
unique = ["number"]
pattern.number = "[A-Z]{3}-[0-9]{4,8}"
initial.status = ["open"]
initial.kind   = ["task"]
transitions.status = { open = ["doing", "rejected"], doing = ["done"], done = ["open"] }
transitions.kind   = {}
count.by_status = { split = ["status"] }
"#;
    let write_units = |updates: u32| {
        let options = PlanOptions { operations: 500, ..PlanOptions::default() };
        let workload = format!(
            "[issue]\ncreates = 5\nupdates = {updates}\nfields.status = [\"done\", \"doing\"]\n"
        );
        planned(model, &workload, options).declared.total.write_units
    };
    let (without, with) = (write_units(0), write_units(5));
    assert!(with > without + 10.0, "updates change nothing: {without} and {with} units");
}

#[test]
fn errors_of_a_workload_are_reported_at_once_with_their_lines() {
    let folder = Folder::new("mistaken");
    let text = "[coment]\ncreates = 1\n[comment]\ncreates = -5\nfields.produkt = [1]\n\
        fields.rating = [9]\nfields.body = { values = 3 }\nfields.language = { values = 3, hottest = 2 }\n\
        [reads]\ncomment.list.by_produkt = 3\n";
    let file = folder.write("workload.toml", text);
    let (success, _, err) = output(&["plan", &app("comments"), "--workload", &file]);
    assert!(!success);
    let expected = [
        ("K0301", ":1:2", "did you mean `comment`?"),
        ("K0701", ":4:11", "write a number from 0 to 1,000,000"),
        ("K0302", ":5:8", "did you mean `product`?"),
        ("K0703", ":6:18", "`9` is not a valid value"),
        ("K0703", ":7:8", "write `{ bytes = 500 }`"),
        ("K0703", ":8:43", "write a number from 0 to 1"),
        ("K0702", ":10:14", "did you mean `comment.list.by_product`?"),
    ];
    for (code, at, text) in expected {
        assert!(
            err.contains(code) && err.contains(at) && err.contains(text),
            "{code} {at}:\n{err}"
        );
    }
    assert!(err.contains("7 errors"), "{err}");
    let empty = folder.write("empty.toml", "");
    let (_, _, err) = output(&["plan", &app("comments"), "--workload", &empty]);
    assert!(err.contains("K0704"), "{err}");
}

/// A connection that sends again what was refused for now, as clients of the service do.
struct Patient {
    strict: Arc<Strict>,
    clock: SimClock,
}

impl Patient {
    async fn send<'s, T, R: Clone>(
        &'s self,
        request: R,
        send: impl Fn(&'s Strict, R) -> Answer<'s, T>,
    ) -> Result<T, StoreError> {
        loop {
            match send(&self.strict, request.clone()).await {
                Err(error) if is_for_now(&error) => {
                    self.clock.sleep(Duration::from_millis(4)).await;
                }
                result => return result,
            }
        }
    }
}

fn is_for_now(error: &StoreError) -> bool {
    let is_refused = |reason: &CancelReason| matches!(reason, CancelReason::Refused(_));
    match error {
        StoreError::Refused(_) => true,
        StoreError::Canceled { reasons } => reasons.iter().flatten().any(is_refused),
        _ => false,
    }
}

impl Front for Patient {
    fn behind(&self) -> &dyn Store {
        &*self.strict
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        Box::pin(self.send(get, |strict, get| strict.get(get)))
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(self.send(query, |strict, query| strict.query(query)))
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        Box::pin(self.send(batch, |strict, batch| strict.batch_get(batch)))
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        Box::pin(self.send(put, |strict, put| strict.put(put)))
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        Box::pin(self.send(update, |strict, update| strict.update(update)))
    }

    fn transact_write(&self, write: TransactWrite) -> Answer<'_, ()> {
        Box::pin(self.send(write, |strict, write| strict.transact_write(write)))
    }
}

/// What strict mode measured.
struct Measured {
    creates_per_second: f64,
    heat: serde_json::Value,
    creates: usize,
}

/// Creates comments in strict mode, half of them of one product: so many in a second, by clients that
/// wait for each other as those of a service do.
fn measure(model: &str, rules: StrictOptions, creates: usize, offered: f64) -> Measured {
    let clock = SimClock::new();
    let memory = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let strict = Arc::new(Strict::new(memory, Arc::new(clock.clone()), rules));
    let store = Arc::new(InFront(Patient { strict: strict.clone(), clock: clock.clone() }));
    let options = Options { clock: Arc::new(clock.clone()), ..Options::default() };
    let one = |task| clock.run(vec![task]).remove(0);
    let setup = async {
        let db = Db::open_with(model, store, options).await.expect("it opens");
        for number in 0..50 {
            db.create("product", &json!({ "id": format!("p{number}") })).await.expect("a product");
        }
        db
    };
    let db = one(Box::pin(setup) as std::pin::Pin<Box<dyn Future<Output = Db>>>);
    let began = clock.now();
    let done = RefCell::new(0);
    let create = |number: usize| {
        let (db, done, clock) = (&db, &done, &clock);
        async move {
            clock.sleep(Duration::from_secs_f64(number as f64 / offered)).await;
            let product = if number.is_multiple_of(2) { 0 } else { 1 + number % 49 };
            let comment = json!({ "product": format!("p{product}"), "rating": 5 });
            while let Err(error) = db.create("comment", &comment).await {
                assert!(matches!(error, Error::Contended), "{error}");
            }
            *done.borrow_mut() += 1;
        }
    };
    let tasks = (0..creates).map(|number| Box::pin(create(number)) as _);
    let tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + '_>>> = tasks.collect();
    clock.run(tasks);
    let seconds = (clock.now().0 - began.0) as f64 / 1000.0;
    assert_eq!(*done.borrow(), creates);
    let heat = serde_json::from_str(&strict.heat().json()).expect("it is JSON");
    Measured { creates_per_second: creates as f64 / seconds, heat, creates }
}

fn rules() -> StrictOptions {
    let mut rules = StrictOptions::default();
    rules.latency = Duration::ZERO;
    rules.index_lag = Duration::ZERO;
    rules.replica_lag = Duration::ZERO;
    rules.create_time = Duration::ZERO;
    rules.partitions = 256;
    rules.split_after = Duration::from_secs(3_600);
    rules.burst = Duration::from_millis(500);
    rules
}

/// Units of the heaviest key of the table and of each index, for each create.
#[test]
fn strict_mode_measures_the_units_by_key_that_a_plan_states() {
    let report = planned(MODEL, WORKLOAD, PlanOptions::default());
    let measured = measure(MODEL, rules(), 400, 60.0);
    let mut compared = 0;
    for space in &report.declared.spaces {
        let Some(hottest) = space.keys.first().filter(|key| key.write_units > 0.0) else {
            continue;
        };
        let spaces = measured.heat["spaces"].as_array().unwrap().iter();
        let heat = spaces.clone().find(|heat| heat["index"].as_str() == space.index.as_deref());
        let units = heat.unwrap()["keys"][0]["units"].as_f64().unwrap();
        let (stated, measured) =
            ((hottest.write_units + hottest.read_units) / 60.0, units / measured.creates as f64);
        assert!(is_near(stated, measured), "{hottest:?}: {stated} stated, {measured} measured");
        compared += 1;
    }
    assert!(compared >= 2, "the table and an index");
}

/// Rows that every create of a popular product touches take one transaction after the other.
#[test]
fn strict_mode_reaches_the_ceiling_that_a_row_sets() {
    let options = PlanOptions { transaction_ms: 9.0, ..PlanOptions::default() };
    let plan = planned(MODEL, WORKLOAD, options).declared;
    let stated =
        ceiling(&plan, "comment.count.by_product").min(ceiling(&plan, "references to product"));
    let mut rules = rules();
    rules.latency = Duration::from_millis(3);
    let below = measure(MODEL, rules.clone(), 300, stated * 0.6).creates_per_second;
    assert!(is_near(stated * 0.6, below), "{below} of {} offered", stated * 0.6);
    let reached = measure(MODEL, rules, 500, stated * 1.5).creates_per_second;
    println!("stated {stated:.0}, reached {reached:.0} creates a second");
    assert!(is_near(stated, reached), "{stated} stated, {reached} reached");
}

/// An index partition without units left slows the writes of its table.
#[test]
fn strict_mode_reaches_the_ceiling_that_a_partition_sets() {
    let model = "[entity.comment]\nfields.product = \"text\"\nfields.rating = \"int\"\n\
        list.by_product = { by = \"product\", order = \"rating\" }\n[entity.product]\nid = \"given\"\n";
    let plan = planned(model, WORKLOAD, PlanOptions::default()).declared;
    // A smaller partition, so that simulated time stays short.
    let share = 0.06;
    let stated = ceiling(&plan, "comment.list.by_product") * share;
    let mut rules = rules();
    rules.write_units = 1000.0 * share;
    let below = measure(model, rules.clone(), 300, stated * 0.6).creates_per_second;
    assert!(is_near(stated * 0.6, below), "{below} of {} offered", stated * 0.6);
    let reached = measure(model, rules, 600, stated * 1.6).creates_per_second;
    println!("stated {stated:.0}, reached {reached:.0} creates a second");
    assert!(is_near(stated, reached), "{stated} stated, {reached} reached");
}
