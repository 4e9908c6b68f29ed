//! Lists in shards, as on DynamoDB: what a page reads of each shard, and what a change of their number
//! does to lists and cursors.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use keyloom::{Db, Error, Filter, ListQuery, MatchingUse, Options, Page};
use keyloom_store::{Answer, Page as StorePage, Query, Store};
use keyloom_testkit::pausing::{pausing, stop_after};
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::KeyTest;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, fold, memory_store_at};

/// Everything in so many shards.
fn model(shards: usize) -> String {
    let own = if shards > 1 { format!("shards = {shards}") } else { String::new() };
    format!(
        r#"
[entity.note]
{own}
fields.rank = "int"
fields.kind = "enum(memo, plan, fact)"
fields.team = "text"
fields.tags = "tags = {{}}"
list.all = {{}}
list.ranked = {{ order = "-rank", facets = ["kind"] }}
[entity.note.list.by_team]
by = "team"
order = "rank"
facets = ["kind"]
{own}
"#
    )
}

const KINDS: [&str; 3] = ["memo", "plan", "fact"];
const TEAMS: [&str; 2] = ["red", "blue"];

fn open(shards: usize, store: Arc<dyn Store>, clock: &ManualClock) -> Db {
    let (clock, matching) = (Arc::new(clock.clone()), MatchingUse::Rows);
    let options = Options { clock, matching, allow_older_model: true, ..Options::default() };
    block_on(Db::open_with(&model(shards), store, options)).expect("it opens")
}

/// Counts the index rows that are read of each partition, and the requests.
struct Counting {
    store: Arc<dyn Store>,
    rows: Mutex<BTreeMap<Vec<u8>, u64>>,
    queries: Mutex<usize>,
}

impl Counting {
    /// Takes what was counted since the last call.
    fn take(&self) -> (BTreeMap<Vec<u8>, u64>, usize) {
        let rows = std::mem::take(&mut *self.rows.lock().unwrap());
        (rows, std::mem::take(&mut *self.queries.lock().unwrap()))
    }
}

impl Front for Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn query(&self, query: Query) -> Answer<'_, StorePage> {
        Box::pin(async move {
            let partition = query.key.tests.iter().find_map(|(_, test)| match test {
                KeyTest::Equal(value) => value.as_b().map(<[u8]>::to_vec),
                _ => None,
            });
            let is_index = query.index.is_some();
            let page = self.store.query(query).await?;
            if is_index {
                *self.queries.lock().unwrap() += 1;
                let mut rows = self.rows.lock().unwrap();
                *rows.entry(partition.expect("it is equal to one")).or_default() += page.scanned;
            }
            Ok(page)
        })
    }
}

/// The expected state of a note.
#[derive(Clone, Debug)]
struct Note {
    /// In order of creation, which decides between equal ranks.
    number: usize,
    rank: i64,
    kind: &'static str,
    team: &'static str,
    is_hot: bool,
}

fn draw(number: usize, random: &mut Random) -> Note {
    Note {
        number,
        rank: random.below(40) as i64,
        kind: random.pick::<&str>(&KINDS),
        team: random.pick::<&str>(&TEAMS),
        is_hot: random.chance(1, 3),
    }
}

fn document(note: &Note) -> serde_json::Value {
    let Note { rank, kind, team, is_hot, .. } = note;
    let tags = if *is_hot { json!({ "hot": "yes" }) } else { json!({}) };
    json!({ "rank": rank, "kind": kind, "team": team, "tags": tags })
}

/// Notes by id.
type Notes = BTreeMap<String, Note>;

/// Creates, changes or deletes a note.
fn change(db: &Db, notes: &mut Notes, random: &mut Random) {
    let ids: Vec<String> = notes.keys().cloned().collect();
    let last = notes.values().map(|note| note.number).max();
    let note = draw(last.map_or(0, |last| last + 1), random);
    if ids.is_empty() || random.chance(1, 2) {
        let created = block_on(db.create("note", &document(&note))).expect("it is created");
        notes.insert(created.id().to_owned(), note);
        return;
    }
    let id = random.pick(&ids).clone();
    if random.chance(1, 3) {
        block_on(db.delete("note", &id)).expect("it is deleted");
        notes.remove(&id);
    } else {
        let note = Note { number: notes[&id].number, ..note };
        block_on(db.put("note", &id, &document(&note))).expect("it is changed");
        notes.insert(id, note);
    }
}

/// A list, which notes are in it, and what orders them.
type Listed = (ListQuery, fn(&Note) -> bool, fn(&Note) -> i64);

fn lists(db: &Db) -> [Listed; 5] {
    let by_team = db.list("note", "by_team").by("team", "red");
    [
        (db.list("note", "all"), |_| true, |_| 0),
        (db.list("note", "ranked"), |_| true, |note| -note.rank),
        (
            db.list("note", "ranked").filter(Filter::facet("kind", "plan")),
            |note| note.kind == "plan",
            |note| -note.rank,
        ),
        (by_team.clone(), |note| note.team == "red", |note| note.rank),
        (
            by_team.filter(Filter::tag("hot", "yes")),
            |note| note.team == "red" && note.is_hot,
            |note| note.rank,
        ),
    ]
}

/// The ids in a list, in its order.
fn expected(notes: &Notes, is_in: fn(&Note) -> bool, rank: fn(&Note) -> i64) -> Vec<String> {
    let mut ids: Vec<&String> =
        notes.iter().filter(|(_, note)| is_in(note)).map(|(id, _)| id).collect();
    ids.sort_by_key(|id| (rank(&notes[*id]), notes[*id].number));
    ids.into_iter().cloned().collect()
}

fn ids(page: &Page) -> Vec<String> {
    page.items.iter().map(|item| item.id().to_owned()).collect()
}

/// All ids from a page on; none if the list is being built.
fn read_all(query: &ListQuery, random: &mut Random) -> Option<Vec<String>> {
    let (mut query, mut found) = (query.clone(), vec![]);
    loop {
        query = query.limit(*random.pick(&[1, 3, 7, 30, 100]));
        match block_on(query.read()) {
            Ok(page) => {
                found.extend(ids(&page));
                let Some(next) = page.next else { return Some(found) };
                query = query.after(next);
            }
            Err(Error::Building { .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Checks all lists that can be read. Returns how many cannot.
fn check(db: &Db, notes: &Notes, random: &mut Random) -> usize {
    let mut building = 0;
    for (query, is_in, rank) in lists(db) {
        let mut all = expected(notes, is_in, rank);
        for query in [query.clone(), query.backward()] {
            match read_all(&query, random) {
                Some(found) => assert_eq!(found, all, "{query:?}"),
                None => building += 1,
            }
            all.reverse();
        }
    }
    building
}

#[test]
fn a_page_reads_no_more_of_a_shard_than_it_could_need() {
    for shards in [1, 2, 5, 16] {
        let clock = ManualClock::new();
        let store = Arc::new(memory_store_at(&clock));
        let (rows, queries) = (Mutex::default(), Mutex::default());
        let counting = Arc::new(InFront(Counting { store, rows, queries }));
        let db = open(shards, counting.clone(), &clock);
        let mut random = Random::new(shards as u64);
        for number in 0..300 {
            block_on(db.create("note", &document(&draw(number, &mut random))))
                .expect("it is created");
        }
        fold(&db, &clock);
        for (number, (query, ..)) in lists(&db).into_iter().enumerate().take(4) {
            for (limit, is_backward) in [(1, false), (20, true), (20, false), (100, false)] {
                let query = query.clone().limit(limit);
                let mut query = if is_backward { query.backward() } else { query };
                for _ in 0..3 {
                    counting.0.take();
                    let page = block_on(query.read()).expect("a page");
                    let (rows, queries) = counting.0.take();
                    let story = format!("{shards} shards, list {number}, {limit}: {rows:?}");
                    assert_eq!(rows.len(), shards, "{story}");
                    // Facets tell whether more follows by what is left of one request, or another one.
                    let more = if number == 2 { limit } else { 1 };
                    let most = u64::from(limit + more);
                    assert!(rows.values().all(|read| *read <= most), "{story}");
                    // Nearly always each shard is read once, and only its share of a large page.
                    let all: u64 = rows.values().sum();
                    assert!(all <= u64::from(3 * limit) + 14 * shards as u64, "{all}: {story}");
                    assert!(queries <= 2 * shards, "{queries} requests: {story}");
                    let Some(next) = page.next else { break };
                    query = query.after(next);
                }
            }
        }
        assert_clean(&db);
    }
}

/// Lists are right or being built, at any moment of a backfill, and right after it.
#[test]
fn the_number_of_shards_changes_while_entities_do() {
    let mut was_building = 0;
    for seed in 0..12 {
        let clock = ManualClock::new();
        let store = pausing(Arc::new(memory_store_at(&clock)));
        let (mut notes, mut random) = (Notes::new(), Random::new(seed));
        let db = open(1, store.clone(), &clock);
        (0..60).for_each(|_| change(&db, &mut notes, &mut random));
        assert_eq!(check(&db, &notes, &mut random), 0);
        for shards in [4, 2, 3, 1] {
            let db = open(shards, store.clone(), &clock);
            assert_eq!(check(&db, &notes, &mut random), 10, "all are being built");
            let mut is_done = false;
            for _ in 0..4 {
                (0..3).for_each(|_| change(&db, &mut notes, &mut random));
                let calls = random.below(6);
                is_done |= matches!(stop_after(calls, db.backfill(|_| {})), Some(Ok(())));
                let building = check(&db, &notes, &mut random);
                // It may be complete although the call was dropped.
                assert!(building == 0 || building == 10 && !is_done, "{building}");
                was_building += usize::from(building > 0);
            }
            block_on(db.backfill(|_| {})).expect("it is filled");
            (0..5).for_each(|_| change(&db, &mut notes, &mut random));
            assert_eq!(check(&db, &notes, &mut random), 0);
            assert_clean(&db);
            if random.chance(1, 2) {
                fold(&db, &clock);
            }
        }
    }
    assert!(was_building > 20, "{was_building} times in the middle of a backfill");
}

#[test]
fn a_cursor_stays_valid_when_the_number_of_shards_changes() {
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let (mut notes, mut random) = (Notes::new(), Random::new(7));
    let mut db = open(1, store.clone(), &clock);
    (0..400).for_each(|_| change(&db, &mut notes, &mut random));
    for list in 0..5 {
        let (query, is_in, rank) = lists(&db)[list].clone();
        let all = expected(&notes, is_in, rank);
        assert!(all.len() > 9, "list {list} has {}", all.len());
        let (mut found, mut page) = (vec![], block_on(query.limit(3).read()).expect("a page"));
        let mut first = page.clone();
        for shards in [4, 3, 1] {
            db = open(shards, store.clone(), &clock);
            block_on(db.backfill(|_| {})).expect("it is filled");
            found.extend(ids(&page));
            let next = page.next.clone().expect("more follows");
            let query = lists(&db)[list].0.clone().limit(3);
            page = block_on(query.clone().after(next).read()).expect("the next page");
            let previous = page.previous.clone().expect("there is one");
            let before = block_on(query.before(previous).read()).expect("the page before");
            assert_eq!(ids(&before), ids(&first));
            first = page.clone();
        }
        found.extend(ids(&page));
        assert_eq!(found, all[..found.len()], "list {list}");
    }
}

/// A store with sets has no shards. Without filters, nothing but shards depends on that.
#[test]
fn lists_and_counts_are_rebuilt_when_posting_lists_are_stored_in_another_way() {
    let model = r#"
[entity.note]
shards = 4
fields.rank = "int"
list.ranked = { order = "rank" }
count.all = { shards = 3 }
"#;
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&clock));
    let mut created = vec![];
    for matching in [MatchingUse::Sets, MatchingUse::Rows, MatchingUse::Sets, MatchingUse::Rows] {
        let options = Options { clock: Arc::new(clock.clone()), matching, ..Options::default() };
        let db = block_on(Db::open_with(model, store.clone(), options)).expect("it opens");
        let read = || block_on(db.list("note", "ranked").limit(100).read());
        let count = || block_on(db.count("note", "all").total());
        if !created.is_empty() {
            assert!(matches!(read(), Err(Error::Building { .. })));
            assert!(matches!(count(), Err(Error::Building { .. })));
        }
        for rank in created.len()..created.len() + 10 {
            let note = block_on(db.create("note", &json!({ "rank": rank }))).expect("created");
            created.push(note.id().to_owned());
        }
        block_on(db.backfill(|_| {})).expect("it is filled");
        assert_eq!(ids(&read().expect("a page")), created);
        assert_eq!(count().expect("a count"), created.len() as u64);
        assert_clean(&db);
    }
}
