//! Two databases that differ in nothing, for the same history with types and without: equal changes get equal
//! ids, versions and cursors.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use keyloom::{Db, Entropy, Item, ListQuery, Options, Record};
use keyloom_store::{Clock, MemoryStore};
use keyloom_testkit::{ManualClock, Random};
use keyloom_typed::{DeclaredList, Entity, Error, List};
use pollster::block_on;

/// Entropy that can be repeated.
#[derive(Debug)]
struct Seeded(Mutex<u64>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut seed = self.0.lock().unwrap();
        *seed += 1;
        let mut random = Random::new(*seed);
        bytes.iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
        Ok(())
    }
}

/// The two databases, and the clock of both.
pub(crate) struct Twins {
    pub(crate) typed: Db,
    pub(crate) plain: Db,
    pub(crate) clock: ManualClock,
}

impl Twins {
    pub(crate) fn open(model: &str) -> Twins {
        let clock = ManualClock::new();
        let open = || {
            let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
            let entropy = Arc::new(Seeded(Mutex::new(7)));
            let clock: Arc<dyn Clock> = Arc::new(clock.clone());
            let options = Options { clock, entropy, ..Options::default() };
            block_on(Db::open_with(model, store, options)).unwrap()
        };
        Twins { typed: open(), plain: open(), clock }
    }
}

/// The fields of an entity, as tests write them down: not by the code that is tested.
pub(crate) trait Shown {
    fn item(&self) -> Item;
}

/// The same of a record.
pub(crate) fn item_of(record: &Record) -> Item {
    let mut item = record.fields().clone();
    item.insert("id", record.id());
    item.insert("version", record.version());
    item
}

/// What a call returned, or the text of its error.
pub(crate) fn typed_result<E: Shown>(result: Result<E, Error>) -> Result<Item, String> {
    result.map(|entity| entity.item()).map_err(|error| error.to_string())
}

/// The same of a call without types.
pub(crate) fn plain_result(result: Result<Record, keyloom::Error>) -> Result<Item, String> {
    result.map(|record| item_of(&record)).map_err(|error| error.to_string())
}

/// A page: its items, and its two cursors.
type Shape = (Vec<Item>, Option<String>, Option<String>);

/// Checks that a list has the same pages with types and without, and that they make up the whole list.
pub(crate) fn check_list<L>(typed: List<L>, plain: ListQuery, limit: u32)
where
    L: DeclaredList,
    L::Entity: Shown + Entity + Debug,
{
    let whole = block_on(typed.clone().limit(1_000).read()).unwrap();
    assert!(whole.next.is_none(), "the whole list fits on a page");
    let whole: Vec<Item> = whole.items.iter().map(Shown::item).collect();
    let (typed, mut plain) = (typed.limit(limit), plain.limit(limit));
    let pages: Vec<_> = block_on(typed.clone().pages().try_collect()).unwrap();
    let shape = |page: &keyloom_typed::Page<L::Entity, L>| -> Shape {
        let cursor = |cursor: &Option<keyloom_typed::Cursor<L>>| {
            cursor.as_ref().map(|cursor| cursor.as_str().to_owned())
        };
        (page.items.iter().map(Shown::item).collect(), cursor(&page.next), cursor(&page.previous))
    };
    let pages: Vec<Shape> = pages.iter().map(shape).collect();
    let mut plain_pages: Vec<Shape> = vec![];
    loop {
        let page = block_on(plain.read()).unwrap();
        let items = page.items.iter().map(item_of).collect();
        plain_pages.push((items, page.next.clone(), page.previous));
        let Some(next) = page.next else { break };
        plain = plain.after(next);
    }
    assert_eq!(pages, plain_pages);
    let concatenated: Vec<Item> = pages.into_iter().flat_map(|(items, ..)| items).collect();
    assert_eq!(concatenated, whole);
    let items: Vec<L::Entity> = block_on(typed.items().try_collect()).unwrap();
    assert_eq!(items.iter().map(Shown::item).collect::<Vec<_>>(), whole);
}
