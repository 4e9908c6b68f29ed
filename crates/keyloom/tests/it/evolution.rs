//! Model changes, by example: what is kept, what is refused, and what works during the backfill.

use std::sync::Arc;

use keyloom::{Db, Error, Filter, FindTags, Options};
use keyloom_store::{Clock, MemoryStore, Store};
use keyloom_testkit::pausing::{interleave, pausing, stop_after};
use keyloom_testkit::{ManualClock, SimDisk};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::contents::raw_rows;
use crate::rig::{assert_clean, engine, open, open_at};

const KITCHEN: &str = include_str!("../../../../apps/kitchen/model.toml");

/// A store, and how to run its background work.
struct World {
    store: Arc<dyn Store>,
    settle: Box<dyn Fn()>,
}

fn each_world(test: impl Fn(&World)) {
    let memory = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    test(&World { store: memory, settle: Box::new(|| {}) });
    let engine = Arc::new(engine(&SimDisk::new(0)));
    let store = engine.clone();
    test(&World { store, settle: Box::new(move || engine.settle().unwrap()) });
}

impl World {
    fn open(&self, model: &str) -> Db {
        block_on(open(model, self.store.clone()))
    }

    fn try_open(&self, model: &str) -> Result<Db, Error> {
        let options = Options { clock: Arc::new(ManualClock::new()), ..Options::default() };
        block_on(Db::open_with(model, self.store.clone(), options))
    }

    fn backfill(&self, db: &Db) {
        block_on(db.backfill(|_| {})).unwrap();
        assert!(!db.is_backfill_pending());
        (self.settle)();
        assert_clean(db);
    }

    /// The stored revisions of the model, including the current one.
    fn revisions(&self) -> usize {
        raw_rows(&*self.store).iter().filter(|row| row.contains("slots")).count()
    }
}

/// A kitchen with two categories and some ingredients.
fn kitchen(world: &World) -> Db {
    let db = world.open(KITCHEN);
    for (order, name) in ["vegetables", "pasta"].into_iter().enumerate() {
        let category = json!({"name": name, "shop_order": order});
        let category = block_on(db.create("category", &category)).unwrap();
        for kind in ["fresh", "dried", "frozen"] {
            let ingredient = json!({"name": format!("{kind} {name}"), "category": category.id()});
            block_on(db.create("ingredient", &ingredient)).unwrap();
        }
    }
    db
}

/// The kitchen with more declarations about ingredients.
fn with(more: &str) -> String {
    KITCHEN.replace("[entity.ingredient]\n", &format!("[entity.ingredient]\n{more}\n"))
}

fn names(db: &Db, list: &str) -> Result<Vec<String>, Error> {
    let page = block_on(db.list("ingredient", list).limit(100).read())?;
    let name = |record: &keyloom::Record| record.get("name").unwrap().as_s().unwrap().to_owned();
    Ok(page.items.iter().map(name).collect())
}

const NEW_LIST: &str = "list.backward = { order = \"-name\" }";

#[test]
fn other_lists_answer_while_a_new_list_is_built() {
    each_world(|world| {
        kitchen(world);
        let db = world.open(&with(NEW_LIST));
        assert!(db.is_backfill_pending());
        let building = names(&db, "backward");
        assert!(matches!(building, Err(Error::Building { .. })), "{building:?}");
        let mut expected = names(&db, "by_name").unwrap();
        assert_eq!(expected.len(), 6);
        assert_clean(&db);
        let before = block_on(db.list("ingredient", "by_name").limit(100).read()).unwrap().items;
        let earlier = block_on(db.at_one_moment()).unwrap();
        world.backfill(&db);
        // A snapshot from before still sees the list as being built; without snapshots, it is
        // built.
        let late = names(&earlier, "backward");
        assert!(matches!(&late, Err(Error::Building { .. })) || late.unwrap().len() == 6);
        let after = block_on(db.list("ingredient", "by_name").limit(100).read()).unwrap().items;
        assert_eq!(after, before, "versions are the same");
        expected.reverse();
        assert_eq!(names(&db, "backward").unwrap(), expected);
        assert_eq!(world.revisions(), 1);
        assert!(!world.open(&with(NEW_LIST)).is_backfill_pending());
    });
}

const FILTERED: &str = "
    [entity.note]
    fields.text = \"text\"
    fields.kind = \"enum(memo, plan) = memo\"
    fields.rank = \"int 1..5\"
    fields.size = \"int = 1\"
    fields.tags = \"tags = {}\"
    filters = [\"rank\"]
    search.words = { fields = [\"text\"] }
    list.all = { facets = [\"kind\"] }
";

/// Any change that rewrote an entity made all its filters unavailable, although the rows of both models are in the
/// posting lists that both declare: a new list was enough to take the search and every selection out of service.
#[test]
fn filters_that_both_models_have_answer_during_the_backfill() {
    let found = |db: &Db| -> Result<Vec<u64>, Error> {
        let all = || db.list("note", "all");
        let filters = [
            Filter::tag("room", "kitchen"),
            Filter::facet("kind", "plan"),
            Filter::range("rank", Value::from(2)..),
            Filter::present("rank"),
            Filter::search("words", "cook"),
        ];
        let totals = filters.into_iter().map(|filter| {
            let query = all().filter(filter);
            let total = block_on(query.total())?.count;
            assert_eq!(block_on(query.read())?.items.len() as u64, total);
            Ok(total)
        });
        let mut totals = totals.collect::<Result<Vec<u64>, Error>>()?;
        let counts = block_on(all().facet_values("kind"))?.counts.into_iter();
        let keys = block_on(all().tags(&FindTags::default()))?.counts.into_iter();
        totals.extend(counts.chain(keys).map(|value| value.count));
        Ok(totals)
    };
    each_world(|world| {
        let db = world.open(FILTERED);
        for (rank, kind) in [(1, "memo"), (2, "plan"), (3, "plan")] {
            let note = json!({ "text": format!("cook {rank}"), "kind": kind, "rank": rank,
                               "tags": { "room": "kitchen" } });
            block_on(db.create("note", &note)).unwrap();
        }
        let before = found(&db).unwrap();
        assert_eq!(before, [3, 2, 2, 3, 3, 1, 2, 3]);
        let changed = FILTERED
            .replace("[\"rank\"]", "[\"rank\", \"size\"]")
            .replace("[\"kind\"]", "[\"kind\", \"size\"]");
        let db = world.open(&format!("{changed}list.by_rank = {{ order = \"rank\" }}\n"));
        (world.settle)();
        assert_eq!(found(&db).unwrap(), before);
        let is_building = |filter: Filter| {
            let query = db.list("note", "all").filter(filter);
            matches!(block_on(query.read()), Err(Error::Building { .. }))
                && matches!(block_on(query.total()), Err(Error::Building { .. }))
        };
        assert!(is_building(Filter::present("size")) && is_building(Filter::facet("size", 1)));
        let sizes = block_on(db.list("note", "all").facet_values("size"));
        assert!(matches!(sizes, Err(Error::Building { .. })), "{sizes:?}");
        world.backfill(&db);
        assert_eq!(found(&db).unwrap(), before);
        assert!(!is_building(Filter::present("size")) && !is_building(Filter::facet("size", 1)));
    });
}

#[test]
fn a_removed_list_leaves_no_rows_and_can_be_added_again() {
    each_world(|world| {
        kitchen(world);
        let db = world.open(&with(NEW_LIST));
        world.backfill(&db);
        let db = world.open(KITCHEN);
        let gone = names(&db, "backward");
        assert!(matches!(gone, Err(Error::Unknown { .. })), "{gone:?}");
        world.backfill(&db);
        let db = world.open(&with(NEW_LIST));
        world.backfill(&db);
        assert_eq!(names(&db, "backward").unwrap().len(), 6);
    });
}

const CODE: &str = "fields.code = \"text?\"";

#[test]
fn a_new_unique_is_enforced_at_once_and_searchable_after_the_backfill() {
    each_world(|world| {
        kitchen(world);
        let text = with("unique_was = 0\nfields.code = \"text?\"");
        assert!(matches!(world.try_open(&text), Err(Error::Model(_))));
        let db = world.open(&with(CODE));
        assert!(!db.is_backfill_pending(), "an optional field needs no backfill");
        let all = block_on(db.list("ingredient", "by_name").read()).unwrap().items;
        for (number, record) in all.iter().enumerate() {
            let code = json!({"code": number.to_string()});
            block_on(db.update("ingredient", record.id(), &code)).unwrap();
        }
        let unique = with(CODE).replace(
            "unique = [\"name\"]                             # across all",
            "unique = [\"name\", \"code\"] # across all",
        );
        let db = world.open(&unique);
        let code = [("code", Value::from("3"))];
        let building = block_on(db.find("ingredient", &code));
        assert!(matches!(building, Err(Error::Building { .. })), "{building:?}");
        // Entities that the backfill has not reached are indexed when they change.
        block_on(db.update("ingredient", all[4].id(), &json!({"code": "4a"}))).unwrap();
        world.backfill(&db);
        let found = block_on(db.find("ingredient", &code)).unwrap().unwrap();
        assert_eq!(found.id(), all[3].id());
        let taken = block_on(db.update("ingredient", all[0].id(), &json!({"code": "3"})));
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        block_on(db.update("ingredient", all[0].id(), &json!({"code": "4"}))).unwrap();
        assert_clean(&db);
    });
}

#[test]
fn a_refused_model_leaves_every_byte_unchanged() {
    each_world(|world| {
        let db = kitchen(world);
        block_on(db.update("ingredient", first(&db).id(), &json!({"name": "x"}))).unwrap();
        let before = raw_rows(&*world.store);
        let described = |world: &World| {
            let table = crate::contents::table();
            block_on(world.store.describe_table(table)).unwrap().spec
        };
        let spec = described(world);
        let refused = [
            KITCHEN.replace("fields.shop_order = \"int 0..\"", "fields.shop_order = \"bool\""),
            KITCHEN
                .replace("fields.starts = \"time? = now\"", "")
                .replace("order = \"-starts\"", ""),
            with("fields.code = \"text\""),
            with("fields.code = \"text = 'same'\"").replace(
                "unique = [\"name\"]                             # across all",
                "unique = [\"name\", \"code\"] # across all",
            ),
            with("list.by_shop = { by = \"category\", order = \"nmae\" }"),
        ];
        for model in &refused {
            let error = world.try_open(model).expect_err("it is refused");
            let is_told = matches!(
                error,
                Error::Evolution(_) | Error::Model(_) | Error::UniqueViolation { .. }
            );
            assert!(is_told, "{error:?}");
            assert_eq!(raw_rows(&*world.store), before, "{error}");
            assert_eq!(described(world), spec, "{error}");
        }
        assert!(!world.open(KITCHEN).is_backfill_pending());
    });
}

fn first(db: &Db) -> keyloom::Record {
    block_on(db.list("ingredient", "by_name").limit(1).read()).unwrap().items.remove(0)
}

/// All entities get the same default of a new field, so it cannot be unique. That was only detected
/// when the backfill reached the second entity, and it could then neither continue nor be undone.
#[test]
fn a_new_unique_on_a_new_field_is_refused_if_two_entities_would_get_its_default() {
    each_world(|world| {
        let db = world.open("[entity.thing]\nid = \"given\"\n");
        for id in ["one", "two"] {
            block_on(db.create("thing", &json!({"id": id}))).unwrap();
        }
        let next =
            "[entity.thing]\nid = \"given\"\nfields.code = \"text = 'x'\"\nunique = [\"code\"]\n";
        match world.try_open(next) {
            Err(Error::UniqueViolation { id: Some(id), owner: Some(owner), .. }) => {
                let mut both = [id, owner];
                both.sort();
                assert_eq!(both, ["one", "two"]);
            }
            other => panic!("{other:?}"),
        }
        block_on(db.delete("thing", "two")).unwrap();
        let db = world.open(next);
        world.backfill(&db);
        let found = block_on(db.find("thing", &[("code", Value::from("x"))])).unwrap();
        assert_eq!(found.unwrap().id(), "one");
    });
}

#[test]
fn a_new_unique_is_refused_for_duplicates_and_names_both_entities() {
    each_world(|world| {
        let model = "[entity.thing]\nid = \"given\"\nfields.code = \"text\"\n";
        let db = world.open(model);
        for (id, code) in [("a", "1"), ("b", "2"), ("c", "1")] {
            block_on(db.create("thing", &json!({"id": id, "code": code}))).unwrap();
        }
        let before = raw_rows(&*world.store);
        let error = world.try_open(&format!("{model}unique = [\"code\"]\n")).expect_err("1 twice");
        assert_eq!(
            error.to_string(),
            "The `thing` `c` and the `thing` `a` have the same `code`, which must be unique: \
             change or delete one of them."
        );
        assert_eq!(raw_rows(&*world.store), before);
    });
}

#[test]
fn a_duplicate_written_under_the_old_model_is_reported_by_the_backfill() {
    each_world(|world| {
        let model = "[entity.thing]\nid = \"given\"\nfields.code = \"text\"\n";
        let old = world.open(model);
        for (id, code) in [("a", "1"), ("b", "2")] {
            block_on(old.create("thing", &json!({"id": id, "code": code}))).unwrap();
        }
        let db = world.open(&format!("{model}unique = [\"code\"]\n"));
        block_on(old.update("thing", "b", &json!({"code": "1"}))).unwrap();
        match block_on(db.backfill(|_| {})) {
            Err(Error::UniqueViolation { id: Some(id), owner: Some(owner), .. }) => {
                // Where processes share the store, `old` has loaded the new model, so `b` has the value.
                let is_shared = world.store.opening().is_none();
                assert_eq!([id, owner], if is_shared { ["a", "b"] } else { ["b", "a"] });
            }
            other => panic!("{other:?}"),
        }
        assert!(db.is_backfill_pending());
        block_on(db.update("thing", "b", &json!({"code": "2"}))).unwrap();
        world.backfill(&db);
    });
}

#[test]
fn expired_entities_do_not_conflict_with_a_new_unique() {
    each_world(|world| {
        let clock = ManualClock::new();
        let open = |model: &str| block_on(open_at(model, world.store.clone(), &clock));
        let model = "[entity.thing]\nid = \"given\"\nexpires = \"until\"\n\
                     fields.code = \"text\"\nfields.until = \"time?\"\n";
        let db = open(model);
        let soon = clock.now().0 + 1000;
        for id in ["a", "z"] {
            block_on(db.create("thing", &json!({"id": id, "code": "1", "until": soon}))).unwrap();
        }
        block_on(db.create("thing", &json!({"id": "m", "code": "1"}))).unwrap();
        clock.advance_ms(1000);
        let db = open(&format!("{model}unique = [\"code\"]\n"));
        world.backfill(&db);
        let found = block_on(db.find("thing", &[("code", Value::from("1"))])).unwrap();
        assert_eq!(found.unwrap().id(), "m");
    });
}

/// The first model adds a time that is `now` for existing entities, the next one expires them by
/// it. Rows that the backfill has not reached lack the field.
#[test]
fn entities_expire_by_the_default_of_a_field_that_their_rows_lack() {
    each_world(|world| {
        let clock = ManualClock::new();
        let open = |model: &str| block_on(open_at(model, world.store.clone(), &clock));
        let holder = "[entity.holder]\nid = \"given\"\nfields.thing = \"ref thing?\"\n";
        let model = &format!("{holder}[entity.thing]\nid = \"given\"\nlist.all = {{}}\n");
        let db = open(model);
        block_on(db.create("thing", &json!({"id": "old"}))).unwrap();
        let with_time = &format!("{model}fields.until = \"time = now\"\n");
        open(with_time);
        clock.advance_ms(1);
        let expiring = with_time.replace("list.all", "expires = \"until\"\nlist.all");
        let db = open(&expiring);
        let later = clock.now().0 + 1000;
        block_on(db.create("thing", &json!({"id": "new", "until": later}))).unwrap();
        let check = || {
            assert_eq!(block_on(db.get("thing", "old")).unwrap(), None);
            let page = block_on(db.list("thing", "all").read()).unwrap();
            let ids: Vec<&str> = page.items.iter().map(keyloom::Record::id).collect();
            assert_eq!(ids, ["new"]);
            let updated = block_on(db.update("thing", "old", &json!({"until": later})));
            assert!(matches!(updated, Err(Error::NotFound { .. })), "{updated:?}");
            let referring = block_on(db.create("holder", &json!({"id": "h", "thing": "old"})));
            assert!(matches!(referring, Err(Error::TargetGone { .. })), "{referring:?}");
        };
        check();
        block_on(db.create("holder", &json!({"id": "i", "thing": "new"}))).unwrap();
        world.backfill(&db);
        check();
        assert_eq!(block_on(db.expire(10)).unwrap(), 1);
        block_on(db.create("thing", &json!({"id": "old"}))).unwrap();
    });
}

#[test]
fn an_expired_entity_keeps_its_unique_value_until_it_can_be_deleted() {
    for expired in ["a", "z"] {
        each_world(|world| {
            let clock = ManualClock::new();
            let open = |model: &str| block_on(open_at(model, world.store.clone(), &clock));
            let model = "[entity.holder]\nid = \"given\"\nfields.thing = \"ref thing\"\n\
                         [entity.thing]\nid = \"given\"\nexpires = \"until\"\n\
                         fields.code = \"text\"\nfields.until = \"time?\"\n";
            let db = open(model);
            let soon = clock.now().0 + 1000;
            let thing = json!({"id": expired, "code": "1", "until": soon});
            block_on(db.create("thing", &thing)).unwrap();
            block_on(db.create("thing", &json!({"id": "m", "code": "1"}))).unwrap();
            block_on(db.create("holder", &json!({"id": "h", "thing": expired}))).unwrap();
            clock.advance_ms(1000);
            let db = open(&format!("{model}unique = [\"code\"]\n"));
            let error = block_on(db.backfill(|_| {})).unwrap_err();
            assert!(matches!(error, Error::UniqueViolation { .. }), "{error}");
            assert!(db.is_backfill_pending());
            block_on(db.delete("holder", "h")).unwrap();
            world.backfill(&db);
            let found = block_on(db.find("thing", &[("code", Value::from("1"))])).unwrap();
            assert_eq!(found.unwrap().id(), "m");
            assert_clean(&db);
        });
    }
}

#[test]
fn a_new_field_has_its_default_at_once_and_keeps_it() {
    each_world(|world| {
        kitchen(world);
        let clock = ManualClock::new();
        clock.advance_ms(5_000);
        let (came, store) = (clock.now().0, &world.store);
        let text = with("fields.organic = \"bool = false\"\nfields.known = \"time = now\"");
        let db = block_on(open_at(&text, store.clone(), &clock));
        let show = |db: &Db| {
            let first = first(db);
            [first.get("organic").cloned(), first.get("known").cloned()]
        };
        let expected = [Some(Value::from(false)), Some(Value::from(came))];
        assert_eq!(show(&db), expected);
        clock.advance_ms(5_000);
        assert_eq!(show(&db), expected);
        world.backfill(&db);
        assert_eq!(show(&db), expected);
        let stored = raw_rows(&**store).into_iter().filter(|row| row.contains("organic")).count();
        assert_eq!(stored, 12, "six ingredients, and as many copies with their parents");
    });
}

/// The defaults of an entity that was not yet rewritten depended on the newest model alone: on a
/// default that had changed meanwhile, or the time of the later change. So a value that had been
/// read was different after the next opening.
#[test]
fn two_model_changes_before_a_backfill_apply_their_own_defaults() {
    each_world(|world| {
        kitchen(world);
        let clock = ManualClock::new();
        let open = |text: &str| block_on(open_at(text, world.store.clone(), &clock));
        clock.advance_ms(5_000);
        let came = clock.now().0;
        let second = "fields.organic = \"bool = false\"\nfields.known = \"time = now\"";
        let seen = first(&open(&with(second)));
        clock.advance_ms(5_000);
        let third = "fields.organic = \"bool = true\"\nfields.known = \"time = now\"";
        let db = open(&with(third));
        assert_eq!(first(&db), seen, "only a default was changed");
        let fourth = format!("{third}\nfields.later = \"time = now\"\n{NEW_LIST}");
        let db = open(&with(&fourth));
        let now = first(&db);
        assert_eq!(now.get("organic"), Some(&Value::from(false)));
        assert_eq!(now.get("known"), Some(&Value::from(came)));
        assert_eq!(now.get("later"), Some(&Value::from(clock.now().0)));
        assert!(world.revisions() > 2);
        world.backfill(&db);
        assert_eq!(first(&db), now);
        assert_eq!(names(&db, "backward").unwrap().len(), 6);
        assert_eq!(world.revisions(), 1);
    });
}

/// A change rewrites the entities that it affects; the others keep the revision they were written
/// under, which is forgotten at the end. After the next change, which did affect them, they were
/// considered up to date: their guards and defaults were never written.
#[test]
fn entities_untouched_by_the_first_change_are_rewritten_by_the_second() {
    each_world(|world| {
        kitchen(world);
        let db = world.open(&with(NEW_LIST));
        world.backfill(&db);
        let text = with(NEW_LIST).replace(
            "unique = [\"name\"]                             # GET /categories?name=pasta",
            "fields.open = \"bool = true\"\nunique = [\"name\", \"shop_order\"]",
        );
        let db = world.open(&text);
        assert!(db.is_backfill_pending());
        world.backfill(&db);
        let found = block_on(db.find("category", &[("shop_order", Value::from(1))])).unwrap();
        assert_eq!(found.unwrap().get("open"), Some(&Value::from(true)));
        let taken = block_on(db.create("category", &json!({"name": "x", "shop_order": 1})));
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    });
}

#[test]
fn new_entities_reordering_and_comments_need_no_backfill() {
    each_world(|world| {
        kitchen(world);
        let new = "\n[entity.shop]\nfields.name = \"text\"\nunique = [\"name\"]\nlist.all = { order = \"name\" }\n";
        let db = world.open(&format!("# The same.\n{KITCHEN}{new}"));
        assert!(!db.is_backfill_pending());
        (world.settle)();
        block_on(db.create("shop", &json!({"name": "corner"}))).unwrap();
        let page = block_on(db.list("shop", "all").read()).unwrap();
        assert_eq!(page.items.len(), 1);
        // The entities in the opposite order.
        let mut parts: Vec<&str> = KITCHEN.split("\n# ").collect();
        let head = parts.remove(0);
        parts.reverse();
        let turned = format!("{new}# {}\n{head}\n", parts.join("\n# "));
        let db = world.open(&turned);
        assert!(!db.is_backfill_pending());
        assert_eq!(names(&db, "by_name").unwrap().len(), 6);
        assert_clean(&db);
    });
}

#[test]
fn a_dropped_backfill_resumes_after_reopening() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
    let world = World { store: store.clone(), settle: Box::new(|| {}) };
    let db = kitchen(&world);
    let category = block_on(db.list("category", "by_shop_order").read()).unwrap().items.remove(0);
    for number in 0..600 {
        let ingredient = json!({"name": format!("i{number}"), "category": category.id()});
        block_on(db.create("ingredient", &ingredient)).unwrap();
    }
    let (mut rounds, mut rows_seen) = (0, vec![]);
    loop {
        let pausing: Arc<dyn Store> = pausing(store.clone());
        let db = interleave(open(&with(NEW_LIST), pausing), |_| {});
        if !db.is_backfill_pending() {
            break;
        }
        rounds += 1;
        stop_after(12, db.backfill(|progress| rows_seen.push(progress)));
        let new = json!({"name": format!("new {rounds}"), "category": category.id()});
        let quick = world.open(&with(NEW_LIST));
        block_on(quick.create("ingredient", &new)).unwrap();
        assert_clean(&quick);
        assert!(rounds < 50, "it never ends");
    }
    assert!(rounds > 2, "{rounds}");
    assert!(rows_seen.is_sorted_by_key(|progress| progress.rows), "{rows_seen:?}");
    assert!(rows_seen.iter().all(|progress| progress.rows <= progress.rows_total));
    let db = world.open(&with(NEW_LIST));
    assert_clean(&db);
    let page = block_on(db.list("ingredient", "backward").limit(1000).read()).unwrap();
    assert_eq!(page.items.len(), 606 + rounds);
    assert_eq!(world.revisions(), 1);
}

#[test]
fn entities_written_during_a_backfill_have_all_rows_afterwards() {
    for step in 0.. {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(ManualClock::new())));
        let world = World { store: store.clone(), settle: Box::new(|| {}) };
        let all = block_on(kitchen(&world).list("ingredient", "by_name").read()).unwrap().items;
        let text = with(&format!("{NEW_LIST}\nfields.known = \"time = now\""));
        let quick = world.open(&text);
        let pausing: Arc<dyn Store> = pausing(store.clone());
        let slow = interleave(open(&text, pausing), |_| {});
        let mut reached = false;
        let done = interleave(slow.backfill(|_| {}), |now| {
            if now == step {
                reached = true;
                let patch = json!({"name": "changed"});
                block_on(quick.update("ingredient", all[2].id(), &patch)).unwrap();
                block_on(quick.delete("ingredient", all[3].id())).unwrap();
                let new =
                    json!({"name": "new", "category": all[0].get("category").unwrap().as_s()});
                block_on(quick.create("ingredient", &new)).unwrap();
            }
        });
        done.unwrap();
        assert_clean(&slow);
        let mut expected = names(&slow, "by_name").unwrap();
        expected.reverse();
        assert_eq!(names(&slow, "backward").unwrap(), expected);
        if !reached {
            return;
        }
    }
}

#[test]
fn a_new_format_is_refused_if_a_stored_text_does_not_match_and_rewrites_nothing() {
    let old = "[entity.person]\nid = 'given'\nfields.email = 'text'\n";
    let new = format!("{old}format.email = 'email'\n");
    each_world(|world| {
        let db = world.open(old);
        for (id, email) in [("a", "ada@example.com"), ("b", "nobody")] {
            block_on(db.create("person", &json!({"id": id, "email": email}))).unwrap();
        }
        let before = raw_rows(&*world.store);
        let Err(Error::Evolution(refusals)) = world.try_open(&new) else {
            panic!("the model is refused");
        };
        assert_eq!(
            refusals.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["the stored `person` with the id `b` does not fit: `email` must be an email address \
              such as `ada@example.com`, and this is `nobody`\n  = help: change or delete it under \
              the old model first"]
        );
        assert!(before == raw_rows(&*world.store));
        block_on(db.update("person", "b", &json!({"email": "b@example.com"}))).unwrap();
        let db = world.open(&new);
        assert!(!db.is_backfill_pending() && world.revisions() == 1);
        let wrong = block_on(db.update("person", "b", &json!({"email": "nobody"})));
        assert!(matches!(wrong, Err(Error::Fields { .. })));
        assert_clean(&db);
    });
}
