//! A hundred clients that want the same unique name.

use std::sync::{Arc, Barrier};

use serde_json::json;

use super::ask::Ask;
use super::served::{Door, Served, Setup, app, engine};

const CLIENTS: usize = 100;

#[test]
fn one_of_a_hundred_concurrent_creates_gets_a_unique_name() {
    let setup = Setup { store: engine, ..Setup::new(Door::Open) };
    let served = Served::start(&app("kitchen"), setup);
    let ready = Arc::new(Barrier::new(CLIENTS));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (mut client, ready) = (served.rig.client(), ready.clone());
            std::thread::spawn(move || {
                let ask = Ask::post("/categories", &json!({"name": "pasta", "shop_order": number}));
                let bytes = ask.bytes();
                ready.wait();
                client.send(&bytes).outcome()
            })
        })
        .collect();
    let outcomes: Vec<String> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    let count = |wanted: &str| outcomes.iter().filter(|outcome| *outcome == wanted).count();
    assert_eq!((count("201"), count("409 taken")), (1, CLIENTS - 1), "{outcomes:?}");
    let page = served.ask(&Ask::get("/categories")).expect_json(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let found = served.ask(&Ask::get("/categories?name=pasta")).expect_json(200);
    assert_eq!(found["items"], page["items"]);
    let findings = pollster::block_on(served.db.verify(keyloom::Repair::No, |_| {})).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}
