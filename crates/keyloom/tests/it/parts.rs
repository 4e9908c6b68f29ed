//! A feed whose shards split while they are read: every event is handled once, and those of an
//! entity in order.

use std::sync::{Arc, Mutex};

use keyloom::Change;
use keyloom::events::{Effects, Handlers, Next};
use keyloom_model::attribute::PARTITION;
use keyloom_store::{
    Answer, Change as RowChange, ChangePage, FeedStart, ReadChanges, SeqNo, Shard, ShardId, Store,
    TableName,
};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, memory_store_at, open};

/// A store whose feed has several shards: the first has all changes up to a split, and two others
/// have the later ones, by key.
struct Parted {
    store: Arc<dyn Store>,
    split: Mutex<Option<SeqNo>>,
}

impl Parted {
    fn part_of(&self, change: &RowChange) -> &'static str {
        let split = *self.split.lock().unwrap();
        let key = change.key.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
        let sum: u32 = key.iter().map(|byte| u32::from(*byte)).sum();
        match split {
            Some(split) if change.seq > split => ["b", "c"][sum as usize % 2],
            Some(_) | None => "a",
        }
    }

    async fn page(&self, read: ReadChanges) -> Result<ChangePage, keyloom_store::Error> {
        let all = self.store.shards(read.table.clone()).await?.remove(0).id;
        let whole = ReadChanges { shard: all, limit: 100_000, ..read.clone() };
        let mut page = self.store.changes(whole).await?;
        let split = *self.split.lock().unwrap();
        page.is_ended = read.shard.0 == "a" && split.is_some();
        page.changes.retain(|change| self.part_of(change) == read.shard.0);
        if page.changes.len() > read.limit {
            page.changes.truncate(read.limit);
            page.next = page.changes.last().map_or(page.next, |last| last.seq);
            page.is_ended = false;
        }
        Ok(page)
    }
}

impl Front for Parted {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn shards(&self, _: TableName) -> Answer<'_, Vec<Shard>> {
        let parts: &[(&str, Option<&str>)] = match *self.split.lock().unwrap() {
            None => &[("a", None)],
            Some(_) => &[("a", None), ("b", Some("a")), ("c", Some("a"))],
        };
        let id = |part: &str| ShardId(part.to_owned());
        let parts =
            parts.iter().map(|(part, parent)| Shard { id: id(part), parent: parent.map(id) });
        let parts = parts.collect();
        Box::pin(async { Ok(parts) })
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        Box::pin(self.page(read))
    }
}

const MODEL: &str = r#"
[entity.note]
id = "given"
fields.n = "int"
[entity.trail]
id = "given"
fields.seen = "list of int"
[on.note]
insert = "follow"
update = "follow"
"#;

fn following() -> Handlers {
    Handlers::new().event_with("follow", |event, db| async move {
        let n = event.new.as_ref().and_then(|new| new.get("n")).cloned().unwrap_or(Value::Null);
        let mut seen = match db.get("trail", &event.id).await?.as_ref().and_then(|t| t.get("seen"))
        {
            Some(Value::L(seen)) => seen.clone(),
            Some(_) | None => vec![],
        };
        seen.push(n);
        let trail = Item::from([("seen", Value::L(seen))]);
        Ok(Effects::new().change(Change::put_item("trail", &event.id, trail)))
    })
}

#[test]
fn a_shard_that_splits_loses_nothing_and_keeps_the_order_of_each_entity() {
    let memory: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
    let store = Arc::new(InFront(Parted { store: memory, split: Mutex::default() }));
    let db = block_on(open(MODEL, store.clone()));
    let (mut random, handlers) = (Random::new(3), following());
    let mut expected = vec![vec![]; 5];
    let mut write = |count: i64, start: i64| {
        for n in start..start + count {
            let note = random.index(expected.len());
            expected[note].push(Value::from(n));
            block_on(db.put("note", &note.to_string(), &json!({ "n": n }))).unwrap();
        }
    };
    write(350, 0);
    block_on(db.work(&handlers)).unwrap();
    // The shard splits while much of it is unread.
    let table = TableName::new("keyloom").unwrap();
    let all = store.0.store.shards(table.clone());
    let all = block_on(all).unwrap().remove(0).id;
    let now = ReadChanges { table, shard: all, start: FeedStart::Now, limit: 1 };
    let now = block_on(store.0.store.changes(now)).unwrap().next;
    *store.0.split.lock().unwrap() = Some(now);
    write(350, 1_000);
    for _ in 0..1_000 {
        if block_on(db.work(&handlers)).unwrap().next == Next::Idle {
            break;
        }
    }
    for (note, expected) in expected.iter().enumerate() {
        let trail = block_on(db.get("trail", &note.to_string())).unwrap().unwrap();
        assert_eq!(trail.get("seen"), Some(&Value::L(expected.clone())), "of {note}");
    }
    assert!(block_on(db.backlog()).unwrap().consumers[0].events == 0);
    assert_clean(&db);
}
