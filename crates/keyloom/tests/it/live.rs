//! Live reads: at any moment, a live read that is not ready has read what would be read now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use keyloom::live::Live;
use keyloom::{Change, Db, Filter};
use keyloom_model::{Entity, FieldType, List, Ranking};
use keyloom_store::{
    Answer, ChangePage, Error as StoreError, FeedStart, ReadChanges, SeqNo, Store,
};
use keyloom_testkit::model::drafts;
use keyloom_testkit::{Front, InFront, ManualClock, Random};
use keyloom_value::Value;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::rig::{Plain, engine_at, memory_store_at, open, open_at, shared_store};
use crate::world::{Naive, Readable, Thing, World};

/// Maximum number of steps of a history.
const STEPS: usize = 40;
/// How long a store that does not say when it changes is not looked at, at most.
const FEED_MS: u64 = 4_000;
/// How many live reads there are at a time.
const LIVES: usize = 8;

/// What is read, and what it returns.
type Question = Box<dyn Fn(&Db) -> String>;

/// A live read, and what it has read.
struct Followed {
    live: Live,
    tenant: Option<Value>,
    question: Question,
    seen: String,
}

#[test]
fn random_live_reads_on_the_memory_store_miss_nothing() {
    run(150, |clock| Arc::new(memory_store_at(clock)));
}

#[test]
fn random_live_reads_on_the_engine_miss_nothing() {
    run(60, |clock| Arc::new(engine_at(clock)));
}

#[test]
fn random_live_reads_on_a_store_without_sets_miss_nothing() {
    run(60, |clock| Arc::new(InFront(Plain(Arc::new(memory_store_at(clock))))));
}

#[test]
fn random_live_reads_on_a_shared_store_miss_nothing() {
    run(100, shared_store);
}

fn run(count: u32, store: impl Fn(&ManualClock) -> Arc<dyn Store>) {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 1..STEPS);
    for_all(count, histories, |(Readable(draft), seed, steps)| {
        let (mut random, clock) = (Random::new(seed), ManualClock::new());
        let mut world = World::new(&draft.text(), store(&clock), &clock);
        // On a shared store, that of another process.
        let db = match world.db.is_shared() {
            true => block_on(open_at(&draft.text(), world.store.clone(), &clock)),
            false => world.db.clone(),
        };
        let says_when_it_changes = world.store.when_changed(SeqNo(0)).is_some();
        let mut followed: Vec<Followed> = vec![];
        for _ in 0..steps {
            take_step(&mut world, &mut random);
            if random.chance(1, 4) {
                block_on(world.db.settle_scores()).expect("scores are settled");
            }
            if !says_when_it_changes {
                world.advance(FEED_MS);
            }
            followed.iter_mut().for_each(|followed| followed.check(&world));
            if let Some((tenant, question)) = draw(&world.naive, &mut random) {
                followed.push(Followed::new((&db, tenant), question));
            }
            if followed.len() > LIVES {
                followed.swap_remove(random.index(LIVES));
            }
        }
    });
}

impl Followed {
    fn new((db, tenant): (&Db, Option<Value>), question: Question) -> Followed {
        let db = tenant.iter().fold(db.clone(), |db, tenant| db.tenant(tenant.clone()));
        let mut live = db.live();
        let moment = block_on(live.next()).expect("it is read");
        let seen = question(&moment.db);
        Followed { live, tenant, question, seen }
    }

    fn check(&mut self, world: &World) {
        while let Some(moment) = self.live.next().now_or_never() {
            let now = (self.question)(&moment.expect("it is read").db);
            // A store without snapshots is read once more, when its indexes have caught up.
            if std::mem::replace(&mut self.seen, now.clone()) == now {
                break;
            }
        }
        let now = (self.question)(&world.db(self.tenant.as_ref()));
        assert_eq!(self.seen, now, "a change was missed");
    }
}

/// A random question about something that is there.
fn draw(naive: &Naive, random: &mut Random) -> Option<(Option<Value>, Question)> {
    if naive.things.is_empty() {
        return None;
    }
    let thing = random.pick(&naive.things).clone();
    let entity = naive.entity(&thing.key.kind).clone();
    let question = match random.below(10) {
        0 => about_entity(&thing),
        1 => about_family(&thing),
        2 => about_unique(naive, &thing, &entity)?,
        3 => about_tree(&thing, &entity),
        4 => about_count(naive, &thing, &entity, random)?,
        5 => about_board(naive, &thing, &entity, random)?,
        _ => about_list(naive, &thing, &entity, random)?,
    };
    Some((thing.key.tenant.clone(), question))
}

fn about_entity(thing: &Thing) -> Question {
    let key = thing.key.clone();
    Box::new(move |db| format!("{:?}", block_on(db.get(&key.kind, &key.id))))
}

fn about_family(thing: &Thing) -> Question {
    let key = thing.key.clone();
    Box::new(move |db| format!("{:?}", block_on(db.with_children(&key.kind, &key.id, None, 3))))
}

fn about_unique(naive: &Naive, thing: &Thing, entity: &Entity) -> Option<Question> {
    let (_, unique) = entity.uniques().next()?;
    naive.unique_value(thing, unique)?;
    let names = naive.unique_fields(&thing.key.kind, unique);
    let fields = unique.within.iter().chain(&unique.fields);
    let values: Vec<Value> =
        fields.map(|field| naive.value(thing, *field)).collect::<Option<_>>()?;
    let kind = thing.key.kind.clone();
    Some(Box::new(move |db| {
        let given: Vec<(&str, Value)> =
            names.iter().map(String::as_str).zip(values.iter().cloned()).collect();
        format!("{:?}", block_on(db.find(&kind, &given)))
    }))
}

fn about_tree(thing: &Thing, entity: &Entity) -> Question {
    let key = thing.key.clone();
    let is_ref = |field: &&keyloom_model::Field| matches!(field.of, FieldType::Ref(..));
    let names = entity.fields.iter().filter(is_ref).map(|field| field.name.as_str());
    let with = names.collect::<Vec<_>>().join(",");
    Box::new(move |db| format!("{:?}", block_on(db.tree(&key.kind, &key.id, &with, None))))
}

fn about_count(
    naive: &Naive,
    thing: &Thing,
    entity: &Entity,
    random: &mut Random,
) -> Option<Question> {
    let count = one_of(&entity.counts, random)?;
    let by = by_values(naive, thing, entity, &count.by)?;
    let split = count.split.iter().map(|field| entity.field(*field).name.clone());
    let split: Vec<String> = split.filter(|_| random.chance(1, 2)).collect();
    let (kind, windows) = (entity.name.clone(), count.window.is_some() && random.chance(1, 2));
    Some(Box::new(move |db| {
        let mut query = by.iter().fold(db.count(&kind, &count.name), |query, (name, value)| {
            query.by(name, value.clone())
        });
        query = split.iter().fold(query, |query, name| query.split(name));
        if windows {
            query = query.windows("..");
        }
        format!("{:?}", block_on(query.read()).map(|counts| (counts.items, counts.next)))
    }))
}

fn about_board(
    naive: &Naive,
    thing: &Thing,
    entity: &Entity,
    random: &mut Random,
) -> Option<Question> {
    let board = one_of(&entity.boards, random)?;
    let by = by_values(naive, thing, entity, &board.by)?;
    let ranked = match board.ranking {
        Ranking::Count(field) => naive.value(thing, field)?,
        Ranking::Field(_) => Value::from(thing.key.id.as_str()),
    };
    let asked = random.below(3);
    Some(Box::new(move |db| {
        let query = by.iter().fold(db.board(&board.name).limit(2), |query, (name, value)| {
            query.by(name, value.clone())
        });
        match asked {
            0 => format!("{:?}", block_on(query.read()).map(|page| (page.items, page.next))),
            1 => format!("{:?}", block_on(query.rank(ranked.clone()))),
            _ => format!("{:?}", block_on(query.around(ranked.clone()))),
        }
    }))
}

fn about_list(
    naive: &Naive,
    thing: &Thing,
    entity: &Entity,
    random: &mut Random,
) -> Option<Question> {
    let list = one_of(&entity.lists, random)?;
    let by = by_values(naive, thing, entity, &list.by)?;
    let filter = some_filter(naive, thing, (entity, &list), random);
    let (kind, limit) = (entity.name.clone(), *random.pick(&[1, 2, 3, 100]));
    let (is_backward, asked) = (random.chance(1, 3), random.below(5));
    let facet = list.facets.first().map(|field| entity.field(*field).name.clone());
    let is_counted = entity.has_ordinals() && filter.is_some();
    Some(Box::new(move |db| {
        let mut query = by
            .iter()
            .fold(db.list(&kind, &list.name), |query, (name, value)| query.by(name, value.clone()));
        query = query.limit(limit);
        if let Some(filter) = &filter {
            query = query.filter(filter.clone());
        }
        if is_backward {
            query = query.backward();
        }
        match asked {
            0 if is_counted => format!("{:?}", block_on(query.total()).map(|total| total.count)),
            1 if facet.is_some() => {
                let field = facet.as_deref().unwrap_or_default();
                format!("{:?}", block_on(query.facet_values(field)).map(|page| page.counts))
            }
            _ => {
                let page = block_on(query.read()).expect("a list is read");
                format!("{:?} {:?}", page.items, page.next.is_some())
            }
        }
    }))
}

/// The values of `by` that something has.
fn by_values(
    naive: &Naive,
    thing: &Thing,
    entity: &Entity,
    by: &[keyloom_model::FieldId],
) -> Option<Vec<(String, Value)>> {
    let value = |field: &keyloom_model::FieldId| {
        Some((entity.field(*field).name.clone(), naive.value(thing, *field)?))
    };
    by.iter().map(value).collect()
}

/// A filter that something passes, mostly.
fn some_filter(
    naive: &Naive,
    thing: &Thing,
    (entity, list): (&Entity, &List),
    random: &mut Random,
) -> Option<Filter> {
    let mut filters: Vec<Filter> = vec![];
    for field in &list.facets {
        let name = &entity.field(*field).name;
        filters.extend(naive.value(thing, *field).map(|value| Filter::facet(name, value)));
    }
    for field in &entity.filters {
        let declared = entity.field(*field);
        filters.push(Filter::present(&declared.name));
        if let Some(value) = naive.value(thing, *field).filter(|_| declared.has_slices()) {
            filters.push(Filter::range(&declared.name, value..));
        }
    }
    for search in &entity.searches {
        filters.push(Filter::search(&search.name, "a"));
    }
    for field in entity.tag_fields() {
        let Some(Value::M(tags)) = naive.value(thing, field) else { continue };
        let tag = |(key, value): (&keyloom_value::Name, &Value)| {
            let tag = Filter::tag(key.as_str(), value.as_s().unwrap_or_default());
            tag.in_field(&entity.field(field).name)
        };
        filters.extend(tags.iter().map(tag));
    }
    let some = random.some_of(&filters, 3);
    match (some.len(), random.below(4)) {
        (0, _) => None,
        (_, 0) => Some(Filter::any(some)),
        (_, 1) => Some(Filter::all(some).not()),
        _ => Some(Filter::all(some)),
    }
}

fn one_of<T: Clone>(choices: &[T], random: &mut Random) -> Option<T> {
    (!choices.is_empty()).then(|| random.pick(choices).clone())
}

const MODEL: &str = r#"
[entity.task]
id = "given"
fields.list = "text"
fields.rank = "int"
fields.note = "text?"
fields.tags = "tags = {}"
list.of = { by = "list", order = "rank" }
count.by_list = { by = "list" }
"#;

fn task(id: &str, list: &str, rank: i64) -> Change {
    let document = json!({ "id": id, "list": list, "rank": rank });
    Change::create("task", &document).expect("a change")
}

fn update(id: &str, patch: &serde_json::Value) -> Change {
    Change::update("task", id, patch).expect("a change")
}

fn apply(db: &Db, change: Change) {
    block_on(db.transact(vec![change])).expect("it is applied");
}

/// Whether a live read is ready after a change.
fn wakes(read: impl Fn(&Db), change: Change) -> bool {
    let db = block_on(open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))));
    for rank in 1..=5 {
        apply(&db, task(&format!("t{rank}"), "home", rank));
    }
    let mut live = db.live();
    read(&block_on(live.next()).expect("it is read").db);
    assert!(live.next().now_or_never().is_none(), "nothing has changed");
    apply(&db, change);
    live.next().now_or_never().is_some()
}

#[test]
fn a_page_is_read_again_for_changes_of_itself_only() {
    let page = |db: &Db| {
        let query = db.list("task", "of").by("list", "home").limit(2);
        assert_eq!(block_on(query.read()).expect("it is read").items.len(), 2);
    };
    let noted = |id: &str| update(id, &json!({ "note": "x" }));
    assert!(wakes(page, noted("t1")));
    assert!(wakes(page, noted("t2")));
    // Whether more follow is part of a page.
    assert!(wakes(page, Change::delete("task", "t3")));
    assert!(!wakes(page, noted("t4")));
    assert!(!wakes(page, Change::delete("task", "t5")));
    assert!(!wakes(page, task("t6", "home", 6)));
    assert!(wakes(page, task("t6", "home", 0)));
    assert!(!wakes(page, task("t6", "work", 0)));
    assert!(wakes(page, update("t5", &json!({ "rank": 1 }))));
}

#[test]
fn a_count_is_read_again_when_it_changes() {
    let count = |db: &Db| {
        let query = db.count("task", "by_list").by("list", "home");
        assert_eq!(block_on(query.total()).expect("it is read"), 5);
    };
    assert!(wakes(count, task("t6", "home", 9)));
    assert!(wakes(count, update("t1", &json!({ "list": "work" }))));
    assert!(!wakes(count, task("t6", "work", 9)));
    assert!(!wakes(count, update("t1", &json!({ "rank": 7 }))));
}

#[test]
fn a_filtered_page_is_read_again_for_what_passes() {
    let page = |db: &Db| {
        let query = db.list("task", "of").by("list", "home").tag("at", "desk");
        assert!(block_on(query.read()).expect("it is read").items.is_empty());
    };
    let tagged = |value: &str| update("t3", &json!({ "tags": { "at": value } }));
    assert!(wakes(page, tagged("desk")));
    assert!(!wakes(page, tagged("sofa")));
    assert!(!wakes(page, task("t6", "home", 6)));
}

/// Whether more follow is part of a page: also in the order of creation, where what follows is known by its
/// ordinal alone.
#[test]
fn a_page_in_order_of_creation_is_read_again_when_nothing_follows_any_more() {
    use keyloom::Strategy as Finding;
    const CREATED: &str = "[entity.task]\nid = 'given'\nfields.tags = 'tags = {}'\nlist.all = {}\n";
    for strategy in [Finding::Cheapest, Finding::Match, Finding::Walk] {
        let db = block_on(open(CREATED, Arc::new(engine_at(&ManualClock::new()))));
        for id in ["t1", "t2", "t3"] {
            let document = json!({ "id": id, "tags": { "at": "desk" } });
            apply(&db, Change::create("task", &document).expect("a change"));
        }
        let mut live = db.live();
        let mut read = || {
            let moment = live.next().now_or_never()?.expect("it is read");
            let query = moment.db.list("task", "all").tag("at", "desk").limit(1);
            let page = block_on(query.strategy(strategy).read()).expect("a list is read");
            Some((page.items.len(), page.next.is_some()))
        };
        assert_eq!((read(), read()), (Some((1, true)), None));
        apply(&db, Change::delete("task", "t3"));
        assert!(read().is_none_or(|page| page == (1, true)), "{strategy:?}");
        apply(&db, Change::delete("task", "t2"));
        assert_eq!(read(), Some((1, false)), "{strategy:?}");
    }
}

/// No row of an entity changes with the model, and nobody else may ask again for a long time.
#[test]
fn who_waits_reads_again_when_the_model_changes() {
    let db = block_on(open(MODEL, Arc::new(engine_at(&ManualClock::new()))));
    apply(&db, task("t1", "home", 1));
    let page = |moment: keyloom::live::Moment| {
        let query = moment.db.list("task", "of").by("list", "home");
        block_on(query.read()).expect("it is read").items[0].to_json()
    };
    let mut live = db.live();
    assert!(page(block_on(live.next()).expect("it is read")).contains("\"rank\""));
    let mut waiting = Box::pin(live.next());
    assert!(waiting.as_mut().now_or_never().is_none(), "nothing has changed");
    let renamed = MODEL.replace("fields.rank", "renamed.points = 'rank'\nfields.points");
    let renamed = renamed.replace("order = \"rank\"", "order = \"points\"");
    block_on(db.change_model(&renamed)).expect("the model changes");
    let moment = waiting.now_or_never().expect("it is ready").expect("it is read");
    assert!(page(moment).contains("\"points\""));
}

/// Who reads the feed for all can stop at any time.
#[test]
fn another_live_read_goes_on_reading_the_feed() {
    let db = block_on(open(MODEL, Arc::new(memory_store_at(&ManualClock::new()))));
    let read = |live: &mut Live| {
        let moment = block_on(live.next()).expect("it is read");
        block_on(moment.db.count("task", "by_list").by("list", "home").total()).expect("a count")
    };
    let (mut first, mut second) = (db.live(), db.live());
    assert_eq!((read(&mut first), read(&mut second)), (0, 0));
    let mut waiting = Box::pin(first.next());
    assert!(waiting.as_mut().now_or_never().is_none(), "the first reads the feed");
    let mut other = Box::pin(second.next());
    assert!(other.as_mut().now_or_never().is_none(), "the second waits for it");
    drop(waiting);
    drop(first);
    apply(&db, task("t1", "home", 1));
    assert!(other.as_mut().now_or_never().is_some(), "the second has taken over");
}

/// A store whose log was trimmed, once.
struct Trimmed {
    store: Arc<dyn Store>,
    is_trimmed: AtomicBool,
}

impl Front for Trimmed {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        match matches!(read.start, FeedStart::After(_))
            && self.is_trimmed.swap(false, Ordering::SeqCst)
        {
            true => Box::pin(async { Err(StoreError::ChangesGone { oldest: SeqNo(1) }) }),
            false => self.store.changes(read),
        }
    }
}

#[test]
fn a_live_read_whose_changes_are_gone_reads_again_once() {
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
    let trimmed = Arc::new(InFront(Trimmed { store, is_trimmed: AtomicBool::new(false) }));
    let db = block_on(open(MODEL, trimmed.clone()));
    let mut live = db.live();
    let mut read = || {
        let moment = live.next().now_or_never()?.expect("it is read");
        let query = moment.db.count("task", "by_list").by("list", "home");
        Some(block_on(query.total()).expect("a count"))
    };
    assert_eq!(read(), Some(0));
    trimmed.0.is_trimmed.store(true, Ordering::SeqCst);
    apply(&db, task("t1", "work", 1));
    assert_eq!((read(), read()), (Some(0), None), "the change may have been any");
    apply(&db, task("t2", "home", 1));
    assert_eq!((read(), read()), (Some(1), None));
}

/// The places on a board with shards follow later, by a change that is of no entity.
#[test]
fn a_leaderboard_is_read_again_when_its_scores_are_settled() {
    const VOTES: &str = "[entity.vote]\nid = 'given'\nfields.party = 'text'\n\
                         board.best = { of = 'party', shards = 4 }\n";
    let clock = ManualClock::new();
    let db = block_on(open_at(VOTES, shared_store(&clock), &clock));
    let mut live = db.live();
    let mut read = || {
        clock.advance_ms(500);
        let moment = live.next().now_or_never()?.expect("it is read");
        let page = block_on(moment.db.board("best").read()).expect("a board is read");
        Some((page.items.len(), page.is_settling))
    };
    assert_eq!(read(), Some((0, false)));
    apply(&db, Change::create("vote", &json!({ "id": "1", "party": "red" })).expect("a change"));
    assert_eq!((read(), read()), (Some((0, true)), None));
    block_on(db.settle_scores()).expect("scores are settled");
    assert_eq!(read(), Some((1, false)));
}
