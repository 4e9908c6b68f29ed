//! Queries that are followed: the first result and the events after it are, at every position, what the
//! query returned there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keyloom::Db;
use keyloom_server::{Limits, Role};
use keyloom_store::{Background, Engine, Options as EngineOptions};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::Stream;
use super::live_client::{Client, apply, get, live};
use super::served::{Door, Served, Setup, engine};

pub(super) const MODEL: &str = r#"
[entity.task]
id = "given"
tenant = "team"
fields.team = "text"
fields.folder = "enum(a, b)"
fields.state = "enum(open, done)"
fields.rank = "int 0..9"
fields.points = "int 0..5"
fields.tags = "tags = {}"
list.of = { by = "folder", order = "rank", facets = ["state"], path = "/folders/{folder}/tasks" }
count.of = { by = "folder", split = "state", sum = ["points"], path = "/folders/{folder}/count" }
board.best = { rank = "points" }

[entity.note]
id = "given"
parent = "task"
fields.text = "text"
"#;

/// Paths of every kind of query.
pub(super) const QUERIES: [&str; 13] = [
    "/folders/a/tasks?limit=3",
    "/folders/a/tasks?limit=100",
    "/folders/b/tasks?limit=2&reverse=true",
    "/folders/a/tasks?state=open&total=true&limit=3",
    "/folders/a/tasks?tag=at:desk&total=true",
    "/folders/a/tasks?with=notes&limit=3&fields=rank",
    "/folders/a/tasks/facets/state",
    "/folders/a/count",
    "/folders/a/count?split=state",
    "/boards/best?limit=3",
    "/tasks/t1?with=notes",
    "/tasks/kept/with/notes",
    "/boards/best/kept",
];

fn served() -> Served {
    Served::start(MODEL, Setup { store: engine, ..Setup::new(Door::Closed) })
}

/// A random change of a few tasks and notes. Many are refused.
pub(super) fn change(db: &Db, random: &mut Random) {
    let id = format!("t{}", random.below(7));
    let task = json!({
        "id": id, "folder": random.pick(&["a", "a", "b"]), "state": random.pick(&["open", "done"]),
        "rank": random.below(10), "points": random.below(6),
        "tags": if random.chance(1, 2) { json!({ "at": "desk" }) } else { json!({}) },
    });
    let note = format!("n{}", random.below(5));
    let changed = match random.below(10) {
        0 => block_on(db.delete("task", &id)).err(),
        1 => {
            let task = if random.chance(1, 2) { "kept" } else { &id };
            block_on(db.create("note", &json!({ "id": note, "task": task, "text": "" }))).err()
        }
        2 => block_on(db.delete("note", &note)).err(),
        3 => block_on(db.update("note", &note, &json!({ "text": random.below(3).to_string() })))
            .err(),
        4..=6 => block_on(db.create("task", &task)).err(),
        7 => block_on(db.update("task", &id, &json!({ "rank": random.below(10) }))).err(),
        8 => block_on(db.update("task", &id, &json!({ "points": random.below(6) }))).err(),
        _ => block_on(db.update("task", &id, &json!({ "folder": random.pick(&["a", "b"]) }))).err(),
    };
    drop(changed);
}

#[test]
fn a_page_and_its_events_are_what_the_query_returns() {
    let served = served();
    let token = served.token(Role::Reader, Some("red"));
    let (mut random, db) = (Random::new(7), served.db.tenant("red"));
    for id in ["t1", "kept"] {
        let task = json!({ "id": id, "folder": "a", "state": "open", "rank": 1, "points": 1 });
        block_on(db.create("task", &task)).unwrap();
    }
    let mut clients: Vec<Client> =
        QUERIES.iter().map(|path| Client::open(&served, path, &token)).collect();
    clients.iter_mut().for_each(|client| client.note(&served));
    for round in 0..40 {
        for _ in 0..=random.below(6) {
            change(&db, &mut random);
            clients.iter_mut().for_each(|client| client.note(&served));
            // Of another tenant: nobody here sees it.
            change(&served.db.tenant("blue"), &mut random);
        }
        clients.iter_mut().for_each(|client| client.follow(&served));
        if round % 5 == 4 {
            let interrupted = random.index(clients.len());
            clients[interrupted].reconnect(&served);
            clients.retain(|client| !client.is_over);
        }
    }
    assert!(clients.len() + 1 >= QUERIES.len(), "only one entity can be gone");
    clients.iter().for_each(|client| client.check_commit(&served));
}

/// Serves what is on a disk.
fn served_from(disk: &SimDisk) -> Served {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(ManualClock::new()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    let engine = Engine::open(Path::new("/data"), options).expect("the engine opens");
    let setup = Setup { engine: Some(Arc::new(engine)), ..Setup::new(Door::Closed) };
    Served::start(MODEL, setup)
}

/// The power fails at any sync; some clients had not read all events until then.
#[test]
fn a_page_and_its_events_are_what_the_query_returns_across_crashes() {
    for seed in 0..6 {
        let (mut random, mut disk) = (Random::new(seed), SimDisk::new(seed));
        let mut served = served_from(&disk);
        let token = served.token(Role::Reader, Some("red"));
        for id in ["t1", "kept"] {
            let task = json!({ "id": id, "folder": "a", "state": "open", "rank": 1, "points": 1 });
            block_on(served.db.tenant("red").create("task", &task)).unwrap();
        }
        let mut clients: Vec<Client> =
            QUERIES.iter().map(|path| Client::open(&served, path, &token)).collect();
        clients.iter_mut().for_each(|client| client.note(&served));
        for _ in 0..5 {
            disk.crash_at_sync(1 + random.below(12));
            for _ in 0..=random.below(6) {
                change(&served.db.tenant("red"), &mut random);
                if disk.crashed() {
                    break;
                }
                clients.iter_mut().for_each(|client| client.note(&served));
                if random.chance(1, 2) {
                    let client = random.index(clients.len());
                    clients[client].follow(&served);
                }
                change(&served.db.tenant("blue"), &mut random);
                if disk.crashed() {
                    break;
                }
            }
            disk.crash_now();
            drop(served);
            disk = disk.after_crash(random.below(1 << 32));
            served = served_from(&disk);
            for client in &mut clients {
                // What was written last may be there or not.
                client.note(&served);
                client.reconnect(&served);
                client.follow(&served);
                client.check_commit(&served);
            }
            // Who connects again gets no stream of an entity that was deleted.
            clients.retain(|client| !client.is_over);
        }
    }
}

#[test]
fn a_client_that_reconnects_gets_what_it_missed() {
    let served = served();
    let token = served.token(Role::Reader, Some("red"));
    let db = served.db.tenant("red");
    let task = |id: &str, rank: i64| {
        let task = json!({ "id": id, "folder": "a", "state": "open", "rank": rank, "points": 1 });
        block_on(db.create("task", &task)).unwrap();
    };
    task("t1", 1);
    let ask = live("/folders/a/tasks", &token);
    let mut stream = Stream::open(&served, &ask);
    let first = stream.next_or_end().unwrap();
    drop(stream);
    task("t2", 0);
    let mut again = Stream::open(&served, &ask.clone().header("Last-Event-ID", &first.id));
    let told = again.next_or_end().unwrap();
    assert_eq!(
        (told.name.as_str(), &told.data["at"], &told.data["item"]["id"]),
        ("enter", &json!(0), &json!("t2"))
    );
    // The same result at a position that nobody remembers.
    let (_, hash) = told.id.rsplit_once('.').unwrap();
    let id = format!("all-0123456789abcdef:4711.{hash}");
    let mut same = Stream::open(&served, &ask.clone().header("Last-Event-ID", &id));
    task("t3", 5);
    assert_eq!(same.next_or_end().unwrap().name, "enter");
    // A result that nobody remembers, and one between two events.
    for id in ["all-0123456789abcdef:4711", &format!("~{}", told.id), "nonsense"] {
        let mut reset = Stream::open(&served, &ask.clone().header("Last-Event-ID", id));
        let told = reset.next_or_end().unwrap();
        assert_eq!(
            (told.name.as_str(), told.data["body"]["items"].as_array().unwrap().len()),
            ("page", 3)
        );
    }
}

/// A gauge of the server.
fn gauge(served: &Served, admin: &str, name: &str) -> usize {
    let metrics = served.ask(&Ask::get("/metrics").bearer(admin));
    let line = metrics.text().lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.expect("the gauge is there").parse().unwrap()
}

#[test]
fn only_so_many_queries_of_one_client_run_on_without_it() {
    /// As in the server.
    const LINGERING_MAX: usize = 64;
    let served = served();
    let token = served.token(Role::Reader, Some("red"));
    let admin = served.token(Role::Admin, None);
    for limit in 1..=LINGERING_MAX + 40 {
        let path = format!("/folders/a/tasks?limit={limit}");
        let mut stream = Stream::open(&served, &live(&path, &token));
        assert_eq!(stream.next_or_end().unwrap().name, "page");
        assert!(gauge(&served, &admin, "keyloom_live_queries") <= limit.min(LINGERING_MAX + 1));
        drop(stream);
        // The server notices that the client is gone when it next looks at the connection.
        let is_over = |_: &usize| {
            gauge(&served, &admin, "keyloom_streams") == 0
                && gauge(&served, &admin, "keyloom_live_queries") <= LINGERING_MAX
        };
        (0..10_000).find(is_over).expect("the stream ends, and the query if there are too many");
    }
    assert!(gauge(&served, &admin, "keyloom_live_queries") > 0, "some run on");
}

#[test]
fn an_entity_that_is_deleted_leaves_and_can_come_back() {
    let served = served();
    let token = served.token(Role::Reader, Some("red"));
    let db = served.db.tenant("red");
    served.ask(&live("/tasks/t1", &token)).expect_json(404);
    let task = json!({ "id": "t1", "folder": "a", "state": "open", "rank": 1, "points": 1 });
    block_on(db.create("task", &task)).unwrap();
    let mut stream = Stream::open(&served, &live("/tasks/t1", &token));
    assert_eq!(stream.next_or_end().unwrap().data["body"]["id"], json!("t1"));
    block_on(db.delete("task", "t1")).unwrap();
    assert_eq!(stream.next_or_end().unwrap().name, "leave");
    block_on(db.create("task", &task)).unwrap();
    assert_eq!(stream.next_or_end().unwrap().name, "enter");
}

/// The body of one entity can say that it is gone. What else is about an entity is refused.
#[test]
fn whoever_follows_what_is_deleted_is_told_and_refused_afterwards() {
    let paths = [
        ("/tasks/t1", "leave"),
        ("/tasks/t1?with=notes&fields=rank", "leave"),
        ("/tasks/t1/with/notes", "error"),
        ("/boards/best/t1", "error"),
        ("/boards/best?around=t1", "error"),
    ];
    for (path, expected) in paths {
        let served = served();
        let (token, db) = (served.token(Role::Reader, Some("red")), served.db.tenant("red"));
        for id in ["t1", "t2"] {
            let task = json!({ "id": id, "folder": "a", "state": "open", "rank": 1, "points": 1 });
            block_on(db.create("task", &task)).unwrap();
        }
        let mut stream = Stream::open(&served, &live(path, &token));
        let first = stream.next_or_end().unwrap();
        block_on(db.delete("task", "t1")).unwrap();
        let told = stream.next_or_end().unwrap();
        assert_eq!(told.name, expected, "{path}");
        if expected == "error" {
            assert_eq!(told.data["status"], 404, "{path}");
            assert_eq!(stream.next_or_end(), None, "{path}");
        }
        for id in [first.id, told.id] {
            let again = live(path, &token).header("Last-Event-ID", &id);
            assert_eq!(served.ask(&again).outcome(), "404 not-found", "{path}");
        }
    }
}

/// Nothing is queued for a client that does not read. What the system buffers for its connection, at most 10 MB, is a
/// third of all that happens.
#[test]
fn a_client_that_does_not_read_gets_one_difference_instead_of_many() {
    const CHANGES: usize = 240;
    let served = served();
    let (token, db) = (served.token(Role::Reader, Some("red")), served.db.tenant("red"));
    let note = |text: &str| json!({ "text": text.repeat(120 << 10) });
    let task = json!({ "id": "t1", "folder": "a", "state": "open", "rank": 1, "points": 1 });
    block_on(db.create("task", &task)).unwrap();
    block_on(db.create("note", &json!({ "id": "n", "task": "t1", "text": "" }))).unwrap();
    let path = "/notes/n";
    let mut slow = Client::open(&served, path, &token);
    let mut fast = Client::open(&served, path, &token);
    let mut told = 0;
    for number in 0..CHANGES {
        let text = char::from(b'a' + (number % 26) as u8).to_string();
        block_on(db.update("note", "n", &note(&text))).unwrap();
        told += fast.settle(&served);
    }
    assert_eq!(told, CHANGES, "every change is an event for who reads");
    let told = slow.settle(&served);
    assert_eq!(slow.body, fast.body);
    assert!(told < CHANGES / 2, "{told} events of {CHANGES}");
}

/// Its body was taken for a page: a text was lost, and elements that are no objects were confused with each other.
#[test]
fn an_entity_with_a_field_called_items_is_followed_as_it_is() {
    let models = [("list of text", json!(["a", "b", "c"]), json!(["c", "a"])), {
        ("text", json!("a, [b]"), json!("c"))
    }];
    for (of, first, second) in models {
        let model = format!("[entity.cart]\nid = 'given'\nfields.items = '{of}'\n");
        let setup = Setup { store: engine, ..Setup::new(Door::Closed) };
        let served = Served::start(&model, setup);
        let token = served.token(Role::Reader, None);
        block_on(served.db.create("cart", &json!({ "id": "c", "items": first }))).unwrap();
        let mut stream = Stream::open(&served, &live("/carts/c", &token));
        let mut body = Json::Null;
        apply(&mut body, &stream.next_or_end().unwrap());
        assert_eq!(body, get(&served, "/carts/c", &token), "{of}");
        block_on(served.db.update("cart", "c", &json!({ "items": second }))).unwrap();
        let told = stream.next_or_end().unwrap();
        assert_eq!(told.name, "page", "{of}");
        apply(&mut body, &told);
        assert_eq!(body, get(&served, "/carts/c", &token), "{of}");
        block_on(served.db.delete("cart", "c")).unwrap();
        let told = stream.next_or_end().unwrap();
        assert_eq!((told.name.as_str(), &told.data["status"]), ("error", &json!(404)), "{of}");
        assert_eq!(stream.next_or_end(), None, "{of}");
    }
}

#[test]
fn access_is_checked_as_for_other_requests() {
    let served = served();
    let bound = served.token(Role::Reader, Some("red"));
    let task = json!({ "id": "t1", "folder": "a", "state": "open", "rank": 1, "points": 1 });
    block_on(served.db.tenant("blue").create("task", &task)).unwrap();
    served.ask(&Ask::get("/folders/a/tasks?live=true")).expect_json(401);
    served.ask(&live("/folders/a/tasks", &bound).tenant("blue")).expect_json(403);
    let mut stream = Stream::open(&served, &live("/folders/a/tasks", &bound));
    assert_eq!(stream.next_or_end().unwrap().data["body"]["items"], json!([]));
    // Browsers cannot send headers for streams.
    let in_query = Ask::get(&format!("/folders/a/tasks?live=true&access_token={bound}"));
    Stream::open(&served, &in_query);
    served.ask(&Ask::get("/folders/a/tasks?live=maybe").bearer(&bound)).expect_json(400);
}

/// As the operator of the server, or an administrator over HTTP, revokes one: what other processes revoke is looked
/// for only from time to time.
#[test]
fn streams_end_at_once_when_their_server_revokes_their_token() {
    let hour = Duration::from_secs(3600);
    let setup = Setup::new(Door::Closed);
    let limits = Limits { head_time: hour, ..setup.limits };
    let served = Served::start(MODEL, Setup { store: engine, limits, ..setup });
    let admin = served.token(Role::Admin, None);
    let [first, second, kept] = [(); 3].map(|()| served.token(Role::Reader, Some("red")));
    let mut other = Stream::open(&served, &live("/folders/a/tasks", &kept));
    assert_eq!(other.next_or_end().unwrap().name, "page");
    let tokens = block_on(served.tokens.list()).unwrap();
    for revoked in [first, second] {
        let mut streams = [
            Stream::open(&served, &live("/folders/a/tasks", &revoked)),
            Stream::open(&served, &Ask::get("/changes").bearer(&revoked)),
        ];
        assert_eq!(streams[0].next_or_end().unwrap().name, "page");
        let id = &tokens.iter().find(|token| revoked.contains(&token.id)).unwrap().id;
        let answer = served.ask(&Ask::delete(&format!("/tokens/{id}")).bearer(&admin));
        assert_eq!(answer.status, 204);
        for stream in &mut streams {
            assert_eq!(stream.next_or_end(), None);
        }
    }
    let task = json!({ "id": "t1", "folder": "a", "state": "open", "rank": 1, "points": 1 });
    block_on(served.db.tenant("red").create("task", &task)).unwrap();
    assert_eq!(other.next_or_end().unwrap().name, "enter");
}

#[test]
fn streams_end_when_another_process_revokes_their_token() {
    let served = served();
    let revoked = served.token(Role::Reader, Some("red"));
    let kept = served.token(Role::Reader, Some("red"));
    let ask = live("/folders/a/tasks", &revoked);
    let mut streams = [
        Stream::open(&served, &ask),
        Stream::open(&served, &Ask::get("/changes").bearer(&revoked)),
    ];
    let mut other = Stream::open(&served, &live("/folders/a/tasks", &kept));
    assert_eq!(other.next_or_end().unwrap().name, "page");
    let tokens = block_on(served.tokens.list()).unwrap();
    let id = tokens.iter().find(|token| revoked.contains(&token.id)).unwrap().id.clone();
    assert!(block_on(served.tokens.revoke(&id)).unwrap());
    assert_eq!(streams[0].next_or_end().unwrap().name, "page");
    for stream in &mut streams {
        assert_eq!(stream.next_or_end(), None);
    }
    let task = json!({ "id": "t1", "folder": "a", "state": "open", "rank": 1, "points": 1 });
    block_on(served.db.tenant("red").create("task", &task)).unwrap();
    assert_eq!(other.next_or_end().unwrap().name, "enter");
}
