//! Changes as server-sent events, and jobs as operators handle them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use keyloom::events::{Failure, Handlers, Job};
use keyloom_server::Role;
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::served::{Door, Served, Setup, engine};
use crate::rig::Answer;

/// How many blocks without an event are read before a stream counts as one without any.
const EMPTY_MAX: usize = 60;

const MODEL: &str = "
jobs = true

[entity.shop]
fields.name = \"text\"

[entity.order]
tenant = \"shop_of\"
fields.shop_of = \"text\"
fields.amount = \"int\"

[on.order]
insert = \"bill\"
";

/// An open stream of events.
pub(crate) struct Stream(BufReader<TcpStream>);

/// One event.
#[derive(Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Json,
}

impl Stream {
    pub(crate) fn open(served: &Served, ask: &Ask) -> Stream {
        let mut stream = served.rig.connect();
        stream.write_all(&ask.bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let head = Answer::read_head(&mut stream);
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        Stream(stream)
    }

    /// The next lines up to an empty one, without chunk lengths; `None` at the end.
    fn block(&mut self) -> Option<Vec<String>> {
        let mut lines = vec![];
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end_matches('\n') {
                // The last chunk.
                "0\r" => return None,
                line if line.ends_with('\r') => {}
                "" => return Some(lines),
                line => lines.push(line.to_owned()),
            }
        }
    }

    fn next(&mut self) -> Told {
        self.next_or_end().expect("the stream goes on")
    }

    pub(crate) fn next_or_end(&mut self) -> Option<Told> {
        // Blocks without an event say how to reconnect, or that nothing is new: as often as tokens are checked, which is
        // every second here.
        for _ in 0..EMPTY_MAX {
            let lines = self.block()?;
            let part = |name: &str| {
                let line = lines.iter().find_map(|line| line.strip_prefix(name));
                line.map(|value| value.trim_start_matches(": ").to_owned())
            };
            if let (Some(name), Some(data)) = (part("event"), part("data")) {
                // The error that ends a stream has no id.
                let id = part("id").unwrap_or_default();
                return Some(Told { id, name, data: serde_json::from_str(&data).unwrap() });
            }
        }
        panic!("the stream goes on without events");
    }
}

fn served() -> Served {
    Served::start(MODEL, Setup { store: engine, ..Setup::new(Door::Closed) })
}

fn changes(token: &str) -> Ask {
    Ask::get("/changes").bearer(token)
}

fn order(served: &Served, shop: &str, total: i64) -> String {
    let db = served.db.tenant(shop);
    block_on(db.create("order", &json!({ "amount": total }))).unwrap().id().to_owned()
}

#[test]
fn events_are_streamed_and_can_be_resumed() {
    let served = served();
    let token = served.token(Role::Reader, None);
    let mut stream = Stream::open(&served, &changes(&token));
    let id = order(&served, "a", 1);
    let first = stream.next();
    assert_eq!(first.name, "order.insert");
    assert_eq!((&first.data["id"], &first.data["new"]["amount"]), (&json!(id), &json!(1)));
    assert_eq!((&first.data["old"], &first.data["tenant"]), (&Json::Null, &json!("a")));
    block_on(served.db.tenant("a").update("order", &id, &json!({ "amount": 2 }))).unwrap();
    let second = stream.next();
    assert_eq!(
        (&second.data["old"]["amount"], &second.data["new"]["amount"]),
        (&json!(1), &json!(2))
    );
    drop(stream);

    block_on(served.db.tenant("a").delete("order", &id)).unwrap();
    let again = changes(&token).header("Last-Event-ID", &second.id);
    let third = Stream::open(&served, &again).next();
    assert_eq!((third.name.as_str(), &third.data["new"]), ("order.delete", &Json::Null));
    let after = Ask::get(&format!("/changes?after={}", first.id)).bearer(&token);
    let mut both = Stream::open(&served, &after);
    assert_eq!([both.next(), both.next()], [second, third]);
}

#[test]
fn a_tenant_sees_its_own_changes_and_those_of_shared_data() {
    let served = served();
    let token = served.token(Role::Reader, Some("a"));
    let mut all = Stream::open(&served, &changes(&token));
    let mut shops = Stream::open(&served, &Ask::get("/changes?entity=shop").bearer(&token));
    order(&served, "b", 1);
    let own = order(&served, "a", 2);
    block_on(served.db.schedule(Job::new("secret").id("j"))).unwrap();
    let shop = block_on(served.db.create("shop", &json!({ "name": "c" }))).unwrap();
    assert_eq!(all.next().data["id"], json!(own));
    assert_eq!(all.next().data["id"], json!(shop.id()));
    assert_eq!(shops.next().data["id"], json!(shop.id()));
}

#[test]
fn invalid_stream_requests_are_rejected_with_a_reason() {
    let served = served();
    let token = served.token(Role::Reader, None);
    let told = |path: &str| {
        let answer = served.ask(&Ask::get(path).bearer(&token));
        let problem = answer.json();
        format!("{} {}: {}", answer.status, problem["code"].as_str().unwrap(), problem["detail"])
    };
    for entity in ["nothing", "job"] {
        let detail = told(&format!("/changes?entity={entity}"));
        assert!(detail.starts_with("400 bad-parameter: \"`entity` must be one of `"), "{detail}");
        assert!(detail.ends_with(&format!("`, not `{entity}`.\"")), "{detail}");
    }
    assert!(told("/changes?after=garbage").starts_with("400 bad-parameter"));
    let unknown = "410 position-unknown: \"The position belongs to another database, or to this \
                   one before it was restored to an earlier time: read the data again, and start \
                   without a position.\"";
    let (ahead, last) = (served.position(99_999_999), served.position(u128::MAX));
    for after in [&ahead, &last, "all:0", "shard:1"] {
        assert_eq!(told(&format!("/changes?after={after}")), unknown);
        let ask = changes(&token).header("Last-Event-ID", after);
        assert_eq!(served.ask(&ask).outcome(), "410 position-unknown");
    }
    assert!(told("/changes?limit=1").starts_with("400 bad-parameter"));
}

#[test]
fn streams_end_when_the_server_stops() {
    let mut served = served();
    let token = served.token(Role::Reader, None);
    let mut stream = Stream::open(&served, &changes(&token));
    served.rig.stop();
    while stream.block().is_some() {}
    served.rig.join();
}

#[test]
fn dead_letters_are_seen_counted_replayed_and_dropped() {
    let served = served();
    let admin = served.token(Role::Admin, None);
    let handlers = Handlers::new().event("bill", |_| Err(Failure::fatal("no paper")));
    order(&served, "a", 1);
    let metrics = || served.ask(&Ask::get("/metrics").bearer(&admin)).text().to_owned();
    assert!(metrics().contains("keyloom_consumer_events_behind{consumer=\"bill\"} 1"));
    block_on(served.db.work(&handlers)).unwrap();
    let seen = metrics();
    assert!(seen.contains("keyloom_consumer_events_behind{consumer=\"bill\"} 0"), "{seen}");
    assert!(seen.contains("keyloom_jobs{state=\"failed\"} 1"), "{seen}");
    for kind in ["deletion", "clearing", "backfill", "expiry"] {
        let none = format!("keyloom_operations{{kind=\"{kind}\"}} 0");
        assert!(seen.contains(&none), "{seen}");
    }

    let failed = Ask::get("/jobs/lists/by_status?status=failed").bearer(&admin);
    let list = served.ask(&failed).json();
    let dead = list["items"][0].clone();
    assert!(dead.to_string().contains("no paper"), "{dead}");
    let path = format!("/jobs/{}", dead["id"].as_str().unwrap());
    let step = |word: &str, token: &str| {
        served.ask(&Ask::post(&format!("{path}/{word}"), &json!({})).bearer(token))
    };
    for token in [served.token(Role::Writer, None), served.token(Role::Admin, Some("a"))] {
        assert_eq!(step("replay", &token).status, 403);
        assert_eq!(served.ask(&Ask::get(&path).bearer(&token)).status, 403);
    }
    assert_eq!(step("replay", &admin).json()["status"], json!("waiting"));
    let twice = step("replay", &admin);
    assert_eq!((twice.status, &twice.json()["code"]), (409, &json!("wrong-state")));
    let due = json!({ "due": "2040-01-01T00:00:00Z" });
    let put_off = Ask::post(&format!("{path}/reschedule"), &due).bearer(&admin);
    assert_eq!(served.ask(&put_off).json()["due"], due["due"]);
    let garbage = Ask::post(&format!("{path}/reschedule"), &json!({ "due": 1 })).bearer(&admin);
    assert_eq!(served.ask(&garbage).status, 422);
    assert_eq!(step("cancel", &admin).json()["status"], json!("canceled"));
    assert_eq!(served.ask(&Ask::delete(&path).bearer(&admin)).status, 204);
    assert_eq!(step("replay", &admin).status, 404);
    let made = json!({ "changes": [{ "create": "job", "document": { "kind": "x" } }] });
    assert_eq!(served.ask(&Ask::post("/transaction", &made).bearer(&admin)).status, 422);
    for method in ["PUT", "PATCH"] {
        let write = Ask::new(method, &path).json(&json!({})).bearer(&admin);
        assert_eq!(served.ask(&write).status, 405);
    }
}
