//! Live queries on DynamoDB: on the remote store over our own endpoint, which several processes share.

use std::sync::Arc;

use keyloom::{Db, Options};
use keyloom_dynamodb::{Keys, Remote, RemoteOptions};
use keyloom_server::{Limits, Role};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;
use serde_json::json;

use super::live::{MODEL, QUERIES, change};
use super::live_client::Client;
use super::served::{Door, Served, Setup};
use crate::rig::{self, Rig};

/// The store of another process.
fn connect(endpoint: &Rig) -> Arc<dyn Store> {
    let keys = Keys { id: "made".to_owned(), secret: "up".to_owned() };
    let url = format!("http://{}", endpoint.address);
    let options =
        RemoteOptions { endpoint: Some(url), keys: Some(keys), ..RemoteOptions::default() };
    Arc::new(block_on(Remote::connect(options)).unwrap())
}

fn serve(endpoint: &Rig) -> Served {
    let store = Some(connect(endpoint));
    Served::start(MODEL, Setup { opened: store, ..Setup::new(Door::Closed) })
}

fn open(endpoint: &Rig) -> Db {
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    block_on(Db::open_with(MODEL, connect(endpoint), options)).unwrap()
}

/// There are no snapshots: while somebody writes, a query may return what was there at no moment. When nobody
/// does any more, every client gets to what it returns, whichever process has written, also if it is interrupted at
/// any event, or another process serves it then.
#[test]
fn on_dynamodb_a_page_and_its_events_lead_to_what_the_query_returns() {
    let mut random = Random::new(7);
    let limits = Limits::default();
    let endpoint = Rig::start(rig::Setup { limits, ..rig::Setup::default() });
    let mut served = serve(&endpoint);
    let (token, other) = (served.token(Role::Reader, Some("red")), open(&endpoint));
    for id in ["t1", "kept"] {
        let task = json!({ "id": id, "folder": "a", "state": "open", "rank": 1, "points": 1 });
        block_on(other.tenant("red").create("task", &task)).unwrap();
    }
    // Who connects again gets no stream of an entity that was deleted.
    let queries = QUERIES.iter().filter(|path| !path.starts_with("/tasks/t1"));
    let mut clients: Vec<Client> =
        queries.map(|path| Client::open(&served, path, &token)).collect();
    let mut event_count = 0;
    for round in 0..10 {
        for _ in 0..=random.below(4) {
            let db = if random.chance(1, 3) { &served.db } else { &other };
            change(&db.tenant("red"), &mut random);
            change(&db.tenant("blue"), &mut random);
        }
        if round % 4 == 3 {
            drop(served);
            served = serve(&endpoint);
            clients.iter_mut().for_each(|client| client.reconnect(&served));
        } else if random.chance(1, 2) {
            let interrupted = random.index(clients.len());
            clients[interrupted].reconnect(&served);
        }
        event_count += clients.iter_mut().map(|client| client.settle(&served)).sum::<usize>();
    }
    assert!(event_count > 40, "{event_count} events");
    clients.iter().for_each(|client| client.check_commit_can_be_used(&served));
}
