//! Trees: an entity with the targets of its references and its children equals the entities fetched
//! one by one, in far fewer reads.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom::{Branch, Counted, Db, Error, Record, TenantProblem, Tree};
use keyloom_model::{CountId, EntityId, ListId, Model, Related};
use keyloom_store::Store;
use keyloom_testkit::model::drafts;
use keyloom_testkit::{ManualClock, Random};
use keyloom_value::{Item, Value};
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::cases::for_all;
use crate::histories::take_step;
use crate::rig::{each_store, engine_at, memory_store_at, open, open_at, plain_store};
use crate::world::{Readable, World};

const KITCHEN: &str = include_str!("../../../../apps/kitchen/model.toml");
const WEEK: &str = "menu_items.recipe.recipe_ingredients.ingredient.category";

/// A menu of so many items, which alternate between two recipes of two ingredients.
async fn week(db: &Db, items: usize) -> Record {
    let category = db.create("category", &json!({"name": "all", "shop_order": 1})).await.unwrap();
    let menu = db.create("menu", &json!({"name": "week"})).await.unwrap();
    let mut recipes = vec![];
    for recipe in ["soup", "salad"] {
        let made = db.create("recipe", &json!({"name": recipe})).await.unwrap();
        for name in ["salt", "oil"] {
            let name = format!("{name} for {recipe}");
            let ingredient = json!({"name": name, "category": category.id()});
            let ingredient = db.create("ingredient", &ingredient).await.unwrap();
            let need = json!({"recipe": made.id(), "ingredient": ingredient.id(), "amount": 0.1});
            db.create("recipe_ingredient", &need).await.unwrap();
        }
        recipes.push(made);
    }
    for number in 0..items {
        let item =
            json!({"menu": menu.id(), "recipe": recipes[number % 2].id(), "position": number});
        db.create("menu_item", &item).await.unwrap();
    }
    menu
}

#[test]
fn a_week_of_menus_includes_everything_down_to_the_category() {
    each_store(|store| {
        block_on(async {
            let db = open(KITCHEN, store).await;
            let menu = week(&db, 3).await;
            let tree = db.tree("menu", menu.id(), WEEK, Some(2)).await.unwrap().unwrap();
            let json: serde_json::Value = serde_json::from_str(&tree.to_json()).unwrap();
            let items = &json["with"]["menu_items"];
            assert_eq!(items["items"].as_array().unwrap().len(), 2);
            let need = &items["items"][1]["with"]["recipe"]["with"]["recipe_ingredients"];
            assert_eq!(need["next"], json!(null));
            let need = &need["items"][0];
            assert_eq!(need["amount"], json!(0.1));
            assert_eq!(need["with"]["ingredient"]["name"], "salt for salad");
            let category = &need["with"]["ingredient"]["with"]["category"];
            assert_eq!((&category["name"], category.get("with")), (&json!("all"), None));
            // The cursor continues where the branch ends.
            let next = items["next"].as_str();
            let rest = db.children("menu", menu.id(), Some("menu_item"), (2, next)).await;
            let rest = rest.unwrap().unwrap();
            assert_eq!((rest.items.len(), rest.next), (1, None));
            let rest = db.trees("menu_item", rest.items, "recipe,menu", None).await.unwrap();
            assert_eq!(rest[0].refs["menu"].as_ref().unwrap().record, menu);
            assert_eq!(db.tree("menu", "none", WEEK, None).await.unwrap(), None);
            let plain = db.tree("menu", menu.id(), "", None).await.unwrap().unwrap();
            assert_eq!(plain.to_json(), menu.to_json());
        });
    });
}

#[test]
fn a_tree_takes_one_read_for_each_step_and_parent() {
    let store: Arc<dyn Store> = Arc::new(memory_store_at(&ManualClock::new()));
    let db = block_on(open(KITCHEN, store));
    let menu = block_on(week(&db, 90));
    let reads = |with: &str| {
        let (watched, explained) = db.explained();
        let tree = block_on(watched.tree("menu", menu.id(), with, None));
        (tree.unwrap().unwrap(), explained.reads().len())
    };
    assert_eq!(reads("").1, 1);
    assert_eq!(reads("menu_items").1, 1);
    // Two recipes in one batch.
    assert_eq!(reads("menu_items.recipe").1, 2);
    // The menu was read already.
    assert_eq!(reads("menu_items.menu").1, 1);
    // Ingredients of two recipes, then four ingredients, then one category.
    let (tree, count) = reads(WEEK);
    assert_eq!(count, 2 + 2 + 1 + 1);
    assert_eq!(tree.children["menu_items"].items.len(), 90);
}

#[test]
fn a_tree_is_bounded_even_if_entities_repeat() {
    block_on(async {
        let db = open(KITCHEN, Arc::new(memory_store_at(&ManualClock::new()))).await;
        let menu = week(&db, 100).await;
        // 1 menu, 100 items, 100 recipes, 200 needs, 200 ingredients, 200 categories.
        assert!(db.tree("menu", menu.id(), WEEK, None).await.is_ok());
        // And 400 ingredients for each of 200 categories.
        let with = format!("{WEEK}.ingredients");
        assert!(db.tree("menu", menu.id(), &with, Some(3)).await.is_ok());
        let with = format!("{WEEK}.ingredients.category.ingredients");
        let refused = db.tree("menu", menu.id(), &with, None).await;
        assert!(matches!(refused, Err(Error::TreeTooLarge { .. })), "{refused:?}");
        let refused = db.tree("menu", menu.id(), WEEK, Some(0)).await;
        assert!(matches!(refused, Err(Error::Request(_))), "{refused:?}");
    });
}

#[test]
fn expired_entities_are_in_no_tree() {
    let model = "[entity.a]\n[entity.b]\nparent = 'a'\nexpires = 'until'\nfields.until = 'time?'\n\
                 [entity.c]\nfields.b = 'ref b clear?'\n";
    let clock = ManualClock::new();
    block_on(async {
        let db = open_at(model, Arc::new(memory_store_at(&clock)), &clock).await;
        let a = db.create("a", &json!({})).await.unwrap();
        let until = "2023-11-15T00:00:00Z";
        let b = db.create("b", &json!({"a": a.id(), "until": until})).await.unwrap();
        let c = db.create("c", &json!({"b": b.id()})).await.unwrap();
        let tree = db.tree("c", c.id(), "b.a.bs", None).await.unwrap().unwrap();
        assert_eq!(tree.refs["b"].as_ref().unwrap().record, b);
        clock.advance_ms(24 * 60 * 60 * 1000);
        let tree = db.tree("c", c.id(), "b.a.bs", None).await.unwrap().unwrap();
        assert_eq!(tree.refs["b"], None);
        assert!(tree.to_json().ends_with(r#","with":{}}"#), "{}", tree.to_json());
        let tree = db.tree("a", a.id(), "bs", None).await.unwrap().unwrap();
        assert_eq!(tree.children["bs"], Branch { items: vec![], next: None });
        assert_eq!(db.tree("b", b.id(), "a", None).await.unwrap(), None);
    });
}

#[test]
fn trees_can_be_read_from_any_thread() {
    fn is_send(_: impl Send) {}
    let db = block_on(open(KITCHEN, Arc::new(memory_store_at(&ManualClock::new()))));
    is_send(db.tree("menu", "1", WEEK, None));
    is_send(db.trees("menu", vec![], WEEK, None));
    is_send(db.transact_idempotent("k", vec![]));
}

#[test]
fn trees_equal_entities_fetched_one_by_one() {
    let histories = (drafts().prop_map(Readable), any::<u64>().no_shrink(), 10..50_usize);
    let reached = Cell::new(Reached::default());
    for_all(210, histories, |(Readable(draft), seed, steps)| {
        play(&draft.text(), (seed, steps), &reached);
    });
    let Reached { deep, lists, .. } = reached.get();
    assert!(deep > 0, "no tree has three levels");
    assert!(lists > 0, "no list in a tree has entities");
}

/// Entities that refer to each other, with lists and counts of all kinds.
const FEED: &str = r#"
[entity.person]
path = "/people"
expires = "until"
fields.until = "time?"

[entity.post]
parent = "person"
on_parent_delete = "cascade"
fields.replies_to = "ref post clear?"
fields.size       = "int 0..9"
fields.hidden     = "bool = false"
list.shown = { by = "person", where = { hidden = false } }

[entity.post.list.replies]
path   = "/posts/{replies_to}/replies"
by     = "replies_to"
order  = "-size"
shards = 3

[entity.post.count.replies]
path   = "/posts/{replies_to}/replies/count"
by     = "replies_to"
sum    = "size"
min    = "size"
shards = 3

[entity.post.count.of_person]
path  = "/people/{person}/posts/count"
by    = "person"
split = "size"
where = { hidden = false }

[entity.like]
fields.person = "ref person cascade"
fields.post   = "ref post cascade"
fields.at     = "time = now"
list.liked    = { path = "/people/{person}/liked", by = "person", order = "at" }
count.of_post = { path = "/posts/{post}/likes/count", by = "post", window = "day", of = "at" }
"#;

#[test]
fn lists_and_counts_in_trees_equal_those_that_are_read_one_by_one() {
    let reached = Cell::new(Reached::default());
    for_all(300, (any::<u64>().no_shrink(), 30..80_usize), |(seed, steps)| {
        play(FEED, (seed, steps), &reached);
    });
    let Reached { deep, lists, counts } = reached.get();
    assert!(deep > 5 && lists > 5 && counts > 5, "{deep}, {lists}, {counts}");
}

/// Runs a random history, and checks trees of all that is left.
fn play(model: &str, (seed, steps): (u64, usize), reached: &Cell<Reached>) {
    let mut random = Random::new(seed);
    let clock = ManualClock::new();
    let store: Arc<dyn Store> = match seed % 3 {
        0 => Arc::new(engine_at(&clock)),
        1 => plain_store(&clock),
        _ => Arc::new(memory_store_at(&clock)),
    };
    let mut world = World::new(model, store, &clock);
    for _ in 0..steps {
        take_step(&mut world, &mut random);
    }
    check_trees(&world, &mut random, reached);
}

/// How many trees were of interest.
#[derive(Clone, Copy, Default)]
struct Reached {
    /// They had three levels or more.
    deep: usize,
    /// They had a list with entities.
    lists: usize,
    /// They had a count above 0.
    counts: usize,
}

/// How many levels a tree has.
fn depth(tree: &Tree) -> usize {
    let refs = tree.refs.values().flatten();
    let children = tree.children.values().chain(tree.lists.values());
    let children = children.flat_map(|branch| &branch.items);
    1 + refs.chain(children).map(depth).max().unwrap_or(0)
}

impl Reached {
    fn add(&mut self, tree: &Tree) {
        self.deep += usize::from(depth(tree) > 2);
        self.lists += tree.lists.values().filter(|list| !list.items.is_empty()).count();
        let zero = Value::from(0);
        let is_above = |count: &&Item| count.get("count").is_some_and(|count| *count != zero);
        self.counts += tree.counts.values().filter(is_above).count();
    }
}

/// Checks a random tree of every entity.
fn check_trees(world: &World, random: &mut Random, reached: &Cell<Reached>) {
    let model = &world.naive.model;
    for thing in &world.naive.things {
        let db = world.db(thing.key.tenant.as_ref());
        let (kind, id) = (thing.key.kind.as_str(), thing.key.id.as_str());
        let entity = model.find(kind).expect("it is in the model");
        let paths: Vec<Vec<String>> =
            (0..random.index(4)).map(|_| path(model, entity, random)).collect();
        let paths: Vec<Vec<String>> =
            paths.into_iter().filter(|path| is_read_as(path, model, entity)).collect();
        let text: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
        let text = text.join(",");
        let limit = 1 + u32::try_from(random.below(4)).expect("small");
        let found = block_on(db.tree(kind, id, &text, Some(limit))).expect("a tree");
        let root = block_on(db.get(kind, id)).expect("it is read");
        let mut so_far = reached.get();
        found.iter().for_each(|tree| so_far.add(tree));
        reached.set(so_far);
        let naive = Naive { db: &db, model, limit };
        let expected = root.clone().map(|root| naive.tree(root, entity, &paths));
        assert_eq!(found, expected, "{kind} {id} with {text}");
        let trees = db.trees(kind, root.into_iter().collect(), &text, Some(limit));
        assert_eq!(block_on(trees).expect("trees"), Vec::from_iter(expected));
    }
}

/// A random path.
fn path(model: &Model, mut entity: EntityId, random: &mut Random) -> Vec<String> {
    let mut path = vec![];
    for _ in 0..1 + random.index(4) {
        let steps = model.related(entity);
        if steps.is_empty() {
            break;
        }
        let (name, next) = random.pick(&steps).clone();
        path.push(name);
        entity = next.entity();
        if matches!(next, Related::Count(..)) {
            break;
        }
    }
    path
}

/// Whether the text of a path means these steps: names can contain dots; the longest one counts.
fn is_read_as(path: &[String], model: &Model, mut entity: EntityId) -> bool {
    let text = path.join(".") + ".";
    let mut rest = text.as_str();
    for step in path {
        let related = model.related(entity);
        let begins = |(name, _): &&(String, Related)| rest.starts_with(&format!("{name}."));
        let longest = related.iter().filter(begins).max_by_key(|(name, _)| name.len());
        let Some((_, related)) = longest.filter(|(name, _)| name == step) else { return false };
        (entity, rest) = (related.entity(), &rest[step.len() + 1..]);
    }
    !path.is_empty() && text.matches('.').count() <= 8
}

/// Assembles trees from entities fetched one by one.
struct Naive<'a> {
    db: &'a Db,
    model: &'a Model,
    limit: u32,
}

impl Naive<'_> {
    fn tree(&self, record: Record, entity: EntityId, paths: &[Vec<String>]) -> Tree {
        let mut tree = Tree {
            record,
            refs: BTreeMap::new(),
            children: BTreeMap::new(),
            lists: BTreeMap::new(),
            counts: BTreeMap::new(),
        };
        for (name, to) in self.model.related(entity) {
            let begun = paths.iter().filter(|path| path.first() == Some(&name));
            let rest: Vec<Vec<String>> = begun.map(|path| path[1..].to_vec()).collect();
            if rest.is_empty() {
                continue;
            }
            let record = &tree.record;
            match to {
                Related::Reference(target) => {
                    let id = record.get(&name).and_then(Value::as_s);
                    let target = id
                        .and_then(|id| self.get(target, id))
                        .map(|record| self.tree(record, target, &rest));
                    tree.refs.insert(name, target);
                }
                Related::Children(child) => {
                    let branch = self.children(record, child, &rest);
                    tree.children.insert(name, branch);
                }
                Related::List(of, list) => {
                    let branch = self.list(record.id(), (of, list), &rest);
                    tree.lists.insert(name, branch);
                }
                Related::Count(of, count) => {
                    let count = self.count(record.id(), (of, count));
                    tree.counts.insert(name, count);
                }
            }
        }
        tree
    }

    fn get(&self, entity: EntityId, id: &str) -> Option<Record> {
        let name = &self.model.entity(entity).name;
        block_on(self.db.get(name, id)).expect("it is read")
    }

    fn children(&self, parent: &Record, child: EntityId, rest: &[Vec<String>]) -> Branch {
        let name = &self.model.entity(child).name;
        let page = self.db.children(parent.entity(), parent.id(), Some(name), (self.limit, None));
        let page = block_on(page).expect("children").expect("the parent exists");
        let items = page.items.into_iter().map(|record| self.tree(record, child, rest));
        Branch { items: items.collect(), next: page.next }
    }

    fn list(&self, id: &str, (of, list): (EntityId, ListId), rest: &[Vec<String>]) -> Branch {
        let entity = self.model.entity(of);
        let list = entity.list(list);
        let by = &entity.field(list.by[0]).name;
        let query = self.db.list(&entity.name, &list.name).by(by, id).limit(self.limit);
        let page = block_on(query.read());
        if is_of_no_tenant(&page) {
            return Branch { items: vec![], next: None };
        }
        let page = page.expect("a list");
        let items = page.items.into_iter().map(|record| self.tree(record, of, rest));
        Branch { items: items.collect(), next: page.next }
    }

    fn count(&self, id: &str, (of, count): (EntityId, CountId)) -> Item {
        let entity = self.model.entity(of);
        let count = entity.count(count);
        let by = &entity.field(count.by[0]).name;
        let query = self.db.count(&entity.name, &count.name).by(by, id);
        let number = block_on(query.whole());
        let number =
            if is_of_no_tenant(&number) { Counted::default() } else { number.expect("a count") };
        number.to_item(entity, count)
    }
}

/// Whether no entity of the kind can belong to the tenant.
fn is_of_no_tenant<T>(answer: &Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Tenant { problem: TenantProblem::Unfit, .. }))
}
