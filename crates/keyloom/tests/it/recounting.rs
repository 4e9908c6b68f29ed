//! Counters on a store without snapshots are recounted with the change feed while others write: what
//! is reported is wrong, and what is wrong is reported, or said not to be checked.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use keyloom::{Clock, Db, Error, Finding, Options, Problem, Remedy, Repair};
use keyloom_model::attribute::{COUNT, PARTITION, SORT};
use keyloom_model::is_counter;
use keyloom_store::{
    Alteration, Answer, Change, ChangePage, Delete, Error as StoreError, Feed, FeedStart,
    MemoryStore, Page, Put, Read, ReadChanges, Scan, SeqNo, Sets, Shard, ShardId, Store, TableName,
    Time,
};
use keyloom_testkit::pausing::{go_on, pausing};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use serde_json::json;

use crate::contents::{raw_rows, table};
use crate::rig::{Plain, assert_clean, findings};

const MODEL: &str = r#"
[entity.comment]
id = "given"
fields.product  = "text"
fields.language = "text"
fields.rating   = "int 1..300"
fields.body     = "text?"
count.by_product = { by = "product", split = ["language"], shards = 2 }
count.all        = {}
board.leaders    = { of = "product" }
board.best       = { rank = "rating", by = "language" }
"#;

const SHARDS: usize = 3;
const WRITERS: usize = 3;
/// The longest time until a change is in the feed.
const LAG_MS_MAX: u64 = 2_500;

/// A clock that moves when somebody waits.
#[derive(Clone, Debug)]
struct StepClock(ManualClock);

impl Clock for StepClock {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.0.advance_ms(u64::try_from(duration.as_millis()).unwrap());
        self.0.sleep(duration)
    }
}

/// A store without snapshots whose feed has shards, each of which is late by a time of its own, and
/// whose pages are short.
struct Fed {
    memory: Arc<MemoryStore>,
    clock: StepClock,
    lags_ms: [u64; SHARDS],
}

impl Fed {
    /// The changes that are in the feed, and how far it has got.
    fn visible(&self, shard: usize, after: SeqNo) -> (Vec<Change>, SeqNo) {
        let shards = block_on(self.memory.shards(table())).unwrap();
        let all = ReadChanges {
            table: table(),
            shard: shards[0].id.clone(),
            start: FeedStart::After(after),
            limit: usize::MAX,
        };
        let all = block_on(self.memory.changes(all)).unwrap().changes.into_iter();
        let (now, lag) = (self.clock.now().0, self.lags_ms[shard]);
        let visible: Vec<Change> = all.take_while(|change| change.at.0 + lag <= now).collect();
        let next = visible.last().map_or(after, |change| change.seq);
        (visible.into_iter().filter(|change| shard_of(&change.key) == shard).collect(), next)
    }
}

/// The shard of a row.
fn shard_of(key: &Item) -> usize {
    let bytes = [PARTITION, SORT].map(|name| key.get(name).and_then(Value::as_b).unwrap());
    bytes.concat().iter().fold(7_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte))
        % SHARDS
}

impl Front for Fed {
    fn behind(&self) -> &dyn Store {
        &*self.memory
    }

    fn sets(&self) -> Option<&dyn Sets> {
        None
    }

    fn adds_numbers(&self) -> bool {
        false
    }

    fn opening(&self) -> Option<u64> {
        None
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async { Err(StoreError::Unsupported { what: "snapshots" }) })
    }

    fn scan(&self, mut scan: Scan) -> Answer<'_, Page> {
        scan.limit = Some(scan.limit.unwrap_or(u32::MAX).min(4));
        self.memory.scan(scan)
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        Box::pin(async move {
            self.memory.shards(table).await?;
            let shard = |number| Shard { id: ShardId(format!("s{number}")), parent: None };
            Ok((0..SHARDS).map(shard).collect())
        })
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        let shard: usize = read.shard.0[1..].parse().unwrap();
        let after = match read.start {
            FeedStart::Oldest => SeqNo(0),
            FeedStart::After(seq) => seq,
            FeedStart::Now => self.visible(shard, SeqNo(0)).1,
        };
        let (mut changes, mut next) = self.visible(shard, after);
        if changes.len() > read.limit {
            changes.truncate(read.limit);
            next = changes[read.limit - 1].seq;
        }
        Box::pin(async move { Ok(ChangePage { changes, next, is_ended: false }) })
    }
}

/// A table that several processes share.
struct Rig {
    memory: Arc<MemoryStore>,
    clock: StepClock,
    store: Arc<dyn Store>,
}

impl Rig {
    fn new(random: &mut Random) -> Rig {
        let clock = StepClock(ManualClock::new());
        let memory = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let lags_ms = [(); SHARDS].map(|()| *random.pick(&[0, 400, LAG_MS_MAX]));
        let fed = Fed { memory: memory.clone(), clock: clock.clone(), lags_ms };
        Rig { memory, clock, store: pausing(Arc::new(InFront(fed))) }
    }

    fn open(&self) -> Db {
        self.open_on(self.store.clone())
    }

    fn open_on(&self, store: Arc<dyn Store>) -> Db {
        let options = Options { clock: Arc::new(self.clock.clone()), ..Options::default() };
        block_on(Db::open_with(MODEL, store, options)).expect("it opens")
    }

    /// What is wrong, by the key of the counter: recounted in a snapshot.
    fn truth(&self) -> BTreeMap<String, i64> {
        let db = self.open_on(Arc::new(InFront(Plain(self.memory.clone()))));
        wrong(&block_on(db.verify(Repair::No, |_| {})).expect("it is verified"))
    }

    /// Damages a counter, of whatever kind.
    fn damage(&self, random: &mut Random) {
        let is_counter =
            |row: &Item| is_counter(row.get(PARTITION).and_then(Value::as_b).unwrap_or_default());
        let counters: Vec<Item> = raw_rows(&*self.memory).into_iter().filter(is_counter).collect();
        if counters.is_empty() {
            return;
        }
        let mut row = random.pick(&counters).clone();
        let count = row.get(COUNT).and_then(|count| count.as_n()?.to_i64()).unwrap();
        match random.below(4) {
            0 => {
                let key = [PARTITION, SORT].map(|name| (name, row.get(name).unwrap().clone()));
                block_on(self.memory.delete(Delete::new(&table(), key.into()))).unwrap();
                return;
            }
            1 => row.insert(COUNT, count + 1),
            2 => row.insert(COUNT, (count - 1).max(1)),
            _ => row.insert("unexpected", 1),
        };
        block_on(self.memory.put(Put::new(&table(), row))).unwrap();
    }
}

/// The counters that a verification has reported, and by how much they are too large.
fn wrong(findings: &[Finding]) -> BTreeMap<String, i64> {
    let mut wrong = BTreeMap::new();
    for finding in findings {
        match &finding.problem {
            Problem::WrongNumber { row, expected, found } => {
                let twice = wrong.insert(row.clone(), found.unwrap_or(0) - expected);
                assert_eq!(twice, None, "{finding}");
            }
            Problem::Unchecked { .. } => {}
            _ => panic!("{finding}"),
        }
    }
    wrong
}

fn unchecked(findings: &[Finding]) -> BTreeSet<String> {
    let what = |finding: &Finding| match &finding.problem {
        Problem::Unchecked { what, .. } => Some(what.replace("the counter ", "")),
        _ => None,
    };
    findings.iter().filter_map(what).collect()
}

fn comment(random: &mut Random) -> serde_json::Value {
    let (product, language) = (random.below(3), *random.pick(&["en", "fr"]));
    json!({"product": format!("p{product}"), "language": language, "rating": 1 + random.below(300)})
}

/// Creates, changes and deletes comments.
async fn write(db: &Db, seed: u64, writes: u64) {
    let mut random = Random::new(seed);
    for _ in 0..writes {
        let id = format!("c{}", random.below(9));
        let done = match random.below(6) {
            0 | 1 => db.delete("comment", &id).await,
            2 => db.update("comment", &id, &json!({"body": "x"})).await.map(drop),
            3 => db.update("comment", &id, &json!({"rating": 7})).await.map(drop),
            _ => db.put("comment", &id, &comment(&mut random)).await.map(drop),
        };
        match done {
            Ok(()) | Err(Error::NotFound { .. } | Error::Contended) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Verifies while writers run, all of them stopped and continued between any two calls of the store.
fn verify_beside_writers(rig: &Rig, random: &mut Random, repair: Repair) -> Vec<Finding> {
    let dbs: Vec<Db> = (0..WRITERS).map(|_| rig.open()).collect();
    let verifier = rig.open();
    let seeds: Vec<u64> = dbs.iter().map(|_| random.below(u64::MAX)).collect();
    let writes = *random.pick(&[0, 2, 10, 40]);
    let mut writers: Vec<Pin<Box<dyn Future<Output = ()>>>> = vec![];
    for (db, seed) in dbs.iter().zip(seeds) {
        writers.push(Box::pin(write(db, seed, writes)));
    }
    let mut verification = Box::pin(verifier.verify(repair, |_| {}));
    // Writers are fast, or slow.
    let pace = *random.pick(&[2, 5, 20]);
    loop {
        if writers.is_empty() || random.chance(1, pace) {
            if let Some(found) = go_on(verification.as_mut()) {
                while let Some(mut writer) = writers.pop() {
                    while go_on(writer.as_mut()).is_none() {}
                }
                return found.expect("it is verified");
            }
        } else {
            let place = random.index(writers.len());
            if go_on(writers[place].as_mut()).is_some() {
                drop(writers.remove(place));
            }
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("KEYLOOM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60)
}

/// Comments, some of whose counters are damaged.
fn damaged(random: &mut Random) -> Rig {
    let rig = Rig::new(random);
    block_on(write(&rig.open(), random.below(u64::MAX), 12));
    for _ in 0..*random.pick(&[0, 1, 3]) {
        rig.damage(random);
    }
    rig
}

#[test]
fn beside_writers_what_is_reported_is_wrong_and_nothing_is_missed() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let rig = damaged(&mut random);
        let found = verify_beside_writers(&rig, &mut random, Repair::No);
        let (reported, truth, unchecked) = (wrong(&found), rig.truth(), unchecked(&found));
        for (row, by) in &reported {
            assert_eq!(truth.get(row), Some(by), "seed {seed}: {row} is reported: {found:#?}");
        }
        for row in truth.keys() {
            let is_said = reported.contains_key(row) || unchecked.contains(row);
            assert!(is_said, "seed {seed}: {row} is missed: {found:#?}");
        }
        // The writers are over.
        let again = block_on(rig.open().verify(Repair::No, |_| {})).unwrap();
        assert_eq!((wrong(&again), again.len()), (truth.clone(), truth.len()), "seed {seed}");
    }
}

/// A repair adds what is missing: what others add meanwhile is not lost.
#[test]
fn repairs_beside_writers_lose_nothing() {
    for seed in seeds() {
        let mut random = Random::new(1_000_000 + seed);
        let rig = damaged(&mut random);
        let found = verify_beside_writers(&rig, &mut random, Repair::Yes);
        let is_left = |finding: &Finding| finding.remedy != Remedy::Repaired;
        let left: Vec<Finding> = found.iter().filter(|finding| is_left(finding)).cloned().collect();
        let mut known: BTreeSet<String> = wrong(&left).into_keys().collect();
        known.extend(unchecked(&left));
        // Prefix counts of a score that is not repaired may be repaired for its present value.
        if known.is_empty() {
            assert_eq!(rig.truth(), BTreeMap::new(), "seed {seed}: {found:#?}");
        }
        let db = rig.open();
        for _ in 0..2 {
            block_on(db.verify(Repair::Yes, |_| {})).unwrap();
        }
        assert_clean(&db);
        assert_eq!(rig.truth(), BTreeMap::new(), "seed {seed}");
    }
}

/// Without a feed, rows are read twice: what is known then is what nobody has changed.
#[test]
fn without_a_feed_counters_are_verified_only_while_nobody_writes() {
    for seed in seeds() {
        let mut random = Random::new(2_000_000 + seed);
        let rig = damaged(&mut random);
        let off = rig.memory.alter_table(table(), Alteration::SetFeed(Feed::Off));
        block_on(off).unwrap();
        let truth = rig.truth();
        let quiet = block_on(rig.open().verify(Repair::No, |_| {})).unwrap();
        assert_eq!((wrong(&quiet), quiet.len()), (truth.clone(), truth.len()), "seed {seed}");
        let db = rig.open();
        for _ in 0..2 {
            block_on(db.verify(Repair::Yes, |_| {})).unwrap();
        }
        assert_clean(&db);
    }
    let rig = damaged(&mut Random::new(1));
    block_on(rig.memory.alter_table(table(), Alteration::SetFeed(Feed::Off))).unwrap();
    let (db, other) = (rig.open(), rig.open());
    let mut verification = Box::pin(db.verify(Repair::No, |_| {}));
    let found = loop {
        if let Some(found) = go_on(verification.as_mut()) {
            break found.unwrap();
        }
        rig.clock.0.advance_ms(7);
        let rating = 1 + rig.clock.now().0 % 200;
        let busy = json!({"product": "p1", "language": "en", "rating": rating});
        block_on(other.put("comment", "busy", &busy)).unwrap();
    };
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected = "Not checked: counts and leaderboards. The table has no change feed, and entities \
                    have changed meanwhile: enable the feed (on DynamoDB, a stream with new and old \
                    images), or verify while nothing is written.";
    assert_eq!(said, [expected]);
}

/// A counter that changes in every round is not checked, and the others are.
#[test]
fn a_counter_that_never_rests_is_not_checked() {
    let mut random = Random::new(3);
    let rig = Rig::new(&mut random);
    let (db, other) = (rig.open(), rig.open());
    let put = |rating: u64| {
        let body = json!({"product": "p1", "language": "en", "rating": rating});
        block_on(other.put("comment", "busy", &body)).unwrap();
    };
    put(5);
    put(6);
    let calm = json!({"product": "p2", "language": "fr", "rating": 5});
    block_on(db.put("comment", "calm", &calm)).unwrap();
    // All counters are damaged; some of them never rest.
    for row in raw_rows(&*rig.memory) {
        let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
        if is_counter(partition) {
            let mut row = row.clone();
            let count = row.get(COUNT).and_then(|count| count.as_n()?.to_i64()).unwrap();
            row.insert("unexpected", count);
            block_on(rig.memory.put(Put::new(&table(), row))).unwrap();
        }
    }
    let mut verification = Box::pin(db.verify(Repair::No, |_| {}));
    let mut rating = 6;
    let found = loop {
        if let Some(found) = go_on(verification.as_mut()) {
            break found.unwrap();
        }
        // Those of both ratings change each time.
        rating = 11 - rating;
        put(rating);
    };
    let (reported, unchecked) = (wrong(&found), unchecked(&found));
    assert!(reported.keys().any(|row| row.contains("\"by_product\"")), "{found:#?}");
    assert!(unchecked.iter().any(|row| row.contains("\"best\"")), "{found:#?}");
    assert!(unchecked.iter().all(|row| !reported.contains_key(row)), "{found:#?}");
    drop(verification);
    let calm = block_on(findings(&db));
    assert!(calm.iter().all(|said| !said.starts_with("Not checked")), "{calm:#?}");
}
