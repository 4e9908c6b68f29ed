//! The library itself, in this process.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom::{Change, Db, json_to_item};
use keyloom_bench::folder;
use keyloom_store::{Engine, Options};

use crate::comments::{MODEL, comment};
use crate::rounds::{Client, Contender};

/// The same as the server's.
const MEMORY_BYTES: usize = 256 << 20;

struct Library {
    db: Db,
    data: PathBuf,
}

pub(crate) fn open() -> Result<Box<dyn Contender>, String> {
    let data = folder()?.join("rest-library-data");
    let _ = std::fs::remove_dir_all(&data);
    let options = Options { memory_bytes: MEMORY_BYTES, ..Options::default() };
    let engine = Engine::open(&data, options).map_err(|error| error.to_string())?;
    let db = pollster::block_on(Db::open(MODEL, Arc::new(engine)));
    Ok(Box::new(Library { db: db.map_err(|error| error.to_string())?, data }))
}

impl Contender for Library {
    fn name(&self) -> &'static str {
        "the library"
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(Caller(self.db.clone()))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

struct Caller(Db);

impl Client for Caller {
    fn create(&mut self, random: u64) -> String {
        let document = json_to_item(comment(random).as_bytes()).expect("a document");
        let change = Change::create_item("comment", document);
        let records = pollster::block_on(self.0.transact(vec![change])).expect("a comment");
        let record = records[0].as_ref().expect("a record");
        std::hint::black_box(record.to_json());
        record.id().to_owned()
    }

    fn get(&mut self, id: &str) {
        let record = pollster::block_on(self.0.get("comment", id)).expect("a response");
        std::hint::black_box(record.expect("a comment").to_json());
    }

    fn list(&mut self, product: u64) {
        let list = self.0.list("comment", "by_product").by("product", format!("p{product}"));
        let page = pollster::block_on(list.read()).expect("a page");
        let items: Vec<String> = page.items.iter().map(|record| record.to_json()).collect();
        std::hint::black_box(items);
    }
}
