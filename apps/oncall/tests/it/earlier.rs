//! Data of an earlier model, in which destinations had no format and `then` was plain text.

use std::sync::Arc;

use keyloom::{Db, Error, Options, Store};
use keyloom_oncall::MODEL;
use keyloom_store::MemoryStore;
use keyloom_testkit::ManualClock;
use pollster::block_on;
use serde_json::json;

fn earlier() -> String {
    let lines =
        MODEL.lines().filter(|line| !line.starts_with("format") && !line.starts_with("read_only"));
    let text: Vec<&str> = lines.collect();
    text.join("\n").replace("list of ref contact keep", "list of text")
}

fn open(model: &str, store: &Arc<dyn Store>) -> Result<Db, Error> {
    let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
    block_on(Db::open_with(model, store.clone(), options))
}

#[test]
fn earlier_data_is_migrated_and_an_invalid_destination_is_reported() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    let db = open(&earlier(), &store).unwrap().tenant("acme");
    let contact = block_on(db.create("contact", &json!({ "name": "Ada" }))).unwrap();
    let method = json!({ "contact": contact.id(), "kind": "call", "destination": "+1 555 0100",
        "position": 1 });
    let method = block_on(db.create("method", &method)).unwrap();
    let search = json!({ "contact": contact.id(), "then": ["nobody"], "status": "failed" });
    let search = block_on(db.create("search", &search)).unwrap();
    let Err(Error::Evolution(refusals)) = open(MODEL, &store) else {
        panic!("one destination is none");
    };
    assert!(refusals[0].reason().contains(method.id()), "{refusals:?}");
    let right = json!({ "destination": "+15550100" });
    block_on(db.update("method", method.id(), &right)).unwrap();
    let db = open(MODEL, &store).unwrap().tenant("acme");
    assert_eq!(block_on(db.get("search", search.id())).unwrap().unwrap(), search);
}
