//! A server that is killed under load, again and again, while it is backed up: what it acknowledged is
//! there, and every backup that was finished can be opened.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Serving, run, scratch, told};

const MODEL: &str = r#"
[entity.thing]
id = "given"
fields.owner = "int"
fields.value = "int"
unique = ["value"]
list.by_owner = { by = "owner", order = "value" }
"#;
const CLIENTS: u64 = 4;
/// How often it is killed, unless the environment says more.
const KILLS: u64 = 4;

/// What may be there: the value of an entity, or that it is not there.
type State = Option<i64>;

/// What a client knows of its entities.
#[derive(Default)]
struct Known {
    /// By id. Two states if the last request was not answered: it has happened or it has not.
    states: BTreeMap<String, Vec<State>>,
    /// No value comes twice, as values are unique.
    values: i64,
}

/// Splitmix64, so that the seed alone decides what is asked.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % n
    }
}

struct Client {
    number: u64,
    known: Known,
    random: Random,
}

impl Client {
    fn new(number: u64) -> Client {
        Client { number, known: Known::default(), random: Random(number) }
    }

    /// Changes things until the connection breaks; tells of every change that was acknowledged.
    fn work(&mut self, url: &str, acknowledged: &Sender<()>) {
        let mut http = Http::connect(url, "");
        while self.change(&mut http).is_some() {
            // The one who counts has heard enough already if it is gone.
            let _ = acknowledged.send(());
        }
    }

    fn change(&mut self, http: &mut Http) -> Option<()> {
        let id = format!("{}-{}", self.number, self.random.below(30));
        let before = self.known.states.get(&id).and_then(|states| states[0]);
        self.known.values += 1;
        let value = self.known.values * CLIENTS as i64 + self.number as i64;
        let path = format!("/things/{id}");
        let document = json!({"id": id, "owner": self.number, "value": value});
        let (method, path, body, after, status) = match (before, self.random.below(4)) {
            (None, _) => ("POST", "/things", document, Some(value), 201),
            (Some(_), 0) => ("DELETE", path.as_str(), Value::Null, None, 204),
            (Some(_), _) => ("PATCH", path.as_str(), json!({"value": value}), Some(value), 200),
        };
        self.known.states.insert(id.clone(), vec![before, after]);
        let (answered, answer) = http.ask(method, path, &body)?;
        assert_eq!(answered, status, "{method} {path}: {answer}");
        self.known.states.insert(id, vec![after]);
        Some(())
    }

    /// Compares what is known with what is there, which is then known.
    fn check(&mut self, url: &str) {
        let mut http = Http::connect(url, "");
        for (id, states) in &mut self.known.states {
            let (status, thing) = http.ask("GET", &format!("/things/{id}"), &Value::Null).unwrap();
            let found = match status {
                200 => Some(thing["value"].as_i64().unwrap()),
                404 => None,
                other => panic!("{other}: {thing}"),
            };
            assert!(states.contains(&found), "{id} is {found:?} and should be one of {states:?}");
            *states = vec![found];
        }
        let path = format!("/things/lists/by_owner?limit=1000&owner={}", self.number);
        let (_, page) = http.ask("GET", &path, &Value::Null).unwrap();
        let listed = page["items"].as_array().unwrap().iter();
        let listed: Vec<i64> = listed.map(|thing| thing["value"].as_i64().unwrap()).collect();
        let mut expected: Vec<i64> =
            self.known.states.values().filter_map(|states| states[0]).collect();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
}

fn kills() -> u64 {
    std::env::var("KEYLOOM_KILLS").map_or(KILLS, |kills| kills.parse().unwrap())
}

/// Makes one backup after the other until the server is killed, and counts them. Whatever it was at
/// then, no half a backup is taken for a whole one.
fn back_up_until(is_killed: &AtomicBool, made: &AtomicU64, (model, data): (&str, &str)) {
    let backup = format!("{data}-backup");
    while !is_killed.load(Ordering::SeqCst) {
        let (success, _, err) = told(&["backup", "--data", data, "--to", &backup]);
        let (verified, said, why) = told(&["verify", model, "--data", &backup]);
        let is_none = !success && why.contains("does not contain a Keyloom database");
        assert!(said.contains("0 repaired, 0 left") || is_none, "{verified}: {said}{why}{err}");
        made.fetch_add(u64::from(success), Ordering::SeqCst);
        let _ = std::fs::remove_dir_all(&backup);
    }
}

/// Waits until so many changes were acknowledged.
fn wait_for(count: u64, acknowledged: &Receiver<()>) {
    for _ in 0..count {
        acknowledged.recv().unwrap();
    }
}

#[test]
fn what_a_killed_server_has_acknowledged_is_there() {
    let (directory, model) = (scratch("killed"), scratch("killed.toml"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::write(&model, MODEL).unwrap();
    let (data, model) = (directory.to_str().unwrap(), model.to_str().unwrap());
    let mut clients: Vec<Client> = (0..CLIENTS).map(Client::new).collect();
    let mut random = Random(2026);
    for _ in 0..kills() {
        let mut serving = Serving::start(model, &["--data", data]);
        clients.iter_mut().for_each(|client| client.check(&serving.url));
        let (tell, acknowledged) = channel();
        let (is_killed, made) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for client in &mut clients {
                let (url, tell) = (serving.url.clone(), tell.clone());
                scope.spawn(move || client.work(&url, &tell));
            }
            let backing_up = scope.spawn(|| back_up_until(&is_killed, &made, (model, data)));
            wait_for(50 + random.below(400), &acknowledged);
            // At least one is made by the server.
            while made.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            serving.kill();
            is_killed.store(true, Ordering::SeqCst);
            backing_up.join().unwrap();
        });
    }
    let mut serving = Serving::start(model, &["--data", data]);
    clients.iter_mut().for_each(|client| client.check(&serving.url));
    assert!(serving.stop());
    let verified = run(&["verify", model, "--data", data]);
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.success() && said.contains("0 repaired, 0 left"), "{said}");
    let _ = std::fs::remove_dir_all(&directory);
}
