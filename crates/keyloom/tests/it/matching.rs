//! Lists narrowed by tags and facets are what a naive filter over all entities says: for random
//! entities and filters, on pages of any size, in both directions, however they are found and kept,
//! and whatever is written between two pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyloom::{Budget, Db, End, Filter, ListQuery, MatchingUse, Options, Strategy};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::Value;
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, reference_at};

const MODEL: &str = r#"
[entity.task]
fields.rank  = "int 0..9"
fields.color = "enum(red, green, blue)"
fields.hot   = "bool"
fields.team  = "text?"
fields.tags  = "tags = {}"
tags.tags.combine = [["a", "b"], ["a", "b", "c"]]
list.all     = {}
list.ranked  = { order = "-rank", facets = ["color", "hot"] }
list.by_team = { by = "team", order = ["rank"], facets = ["color", "rank"] }
list.cool    = { where = { hot = false }, facets = ["color"] }
"#;

const KEYS: [&str; 3] = ["a", "b", "c"];
/// Also one that nobody has.
const ASKED_KEYS: [&str; 4] = ["a", "b", "c", "d"];
const VALUES: [&str; 2] = ["x", "y"];
const COLORS: [&str; 3] = ["red", "green", "blue"];

const SEEDS: u64 = 12;
const STEPS: usize = 60;

/// A task as a test remembers it; tasks are numbered in order of creation.
#[derive(Clone, Debug, PartialEq)]
struct Task {
    number: usize,
    rank: i64,
    color: &'static str,
    hot: bool,
    team: Option<&'static str>,
    tags: BTreeMap<&'static str, &'static str>,
}

/// A filter that a test can judge by itself.
#[derive(Clone, Debug)]
enum Wish {
    Tag(&'static str, &'static str),
    HasTag(&'static str),
    Color(&'static str),
    Hot(bool),
    Rank(i64),
    All(Vec<Wish>),
    Any(Vec<Wish>),
    Not(Box<Wish>),
}

impl Wish {
    fn draw(random: &mut Random, list: &str, depth: u32) -> Wish {
        let tag = |random: &mut Random| {
            Wish::Tag(random.pick::<&str>(&KEYS), random.pick::<&str>(&VALUES))
        };
        let some = |random: &mut Random| {
            let count = random.below(4);
            (0..count).map(|_| Wish::draw(random, list, depth + 1)).collect()
        };
        match random.below(if depth < 3 { 9 } else { 5 }) {
            0..=1 => tag(random),
            2 => Wish::HasTag(random.pick::<&str>(&ASKED_KEYS)),
            3 | 4 => match (list, random.below(2)) {
                ("all", _) => tag(random),
                ("ranked", 0) => Wish::Hot(random.chance(1, 2)),
                ("by_team", 0) => Wish::Rank(random.below(10) as i64),
                _ => Wish::Color(random.pick::<&str>(&COLORS)),
            },
            5 | 6 => Wish::All(some(random)),
            7 => Wish::Any(some(random)),
            _ => Wish::Not(Box::new(Wish::draw(random, list, depth + 1))),
        }
    }

    fn filter(&self) -> Filter {
        match self {
            Wish::Tag(key, value) => Filter::tag(*key, *value),
            Wish::HasTag(key) => Filter::has_tag(*key),
            Wish::Color(color) => Filter::facet("color", *color),
            Wish::Hot(hot) => Filter::facet("hot", Value::Bool(*hot)),
            Wish::Rank(rank) => Filter::facet("rank", *rank),
            Wish::All(wishes) => Filter::all(wishes.iter().map(Wish::filter)),
            Wish::Any(wishes) => Filter::any(wishes.iter().map(Wish::filter)),
            Wish::Not(wish) => wish.filter().not(),
        }
    }

    fn holds(&self, task: &Task) -> bool {
        match self {
            Wish::Tag(key, value) => task.tags.get(key) == Some(value),
            Wish::HasTag(key) => task.tags.contains_key(key),
            Wish::Color(color) => task.color == *color,
            Wish::Hot(hot) => task.hot == *hot,
            Wish::Rank(rank) => task.rank == *rank,
            Wish::All(wishes) => wishes.iter().all(|wish| wish.holds(task)),
            Wish::Any(wishes) => wishes.iter().any(|wish| wish.holds(task)),
            Wish::Not(wish) => !wish.holds(task),
        }
    }
}

/// A database, and what should be in it.
struct World {
    db: Db,
    tasks: BTreeMap<String, Task>,
    created: usize,
    random: Random,
}

impl World {
    fn new(store: Arc<dyn Store>, matching: MatchingUse, seed: u64) -> World {
        let clock = Arc::new(ManualClock::new());
        let options = Options { clock, matching, ..Options::default() };
        let db = block_on(Db::open_with(MODEL, store, options)).expect("it opens");
        World { db, tasks: BTreeMap::new(), created: 0, random: Random::new(seed) }
    }

    fn draw(&mut self, number: usize) -> Task {
        let random = &mut self.random;
        let mut tags = BTreeMap::new();
        for key in KEYS {
            if random.chance(2, 3) {
                tags.insert(key, *random.pick(&["x", "x", "y"]));
            }
        }
        Task {
            number,
            rank: random.below(4) as i64,
            color: random.pick::<&str>(&COLORS),
            hot: random.chance(1, 3),
            team: *random.pick(&[None, Some("one"), Some("two")]),
            tags,
        }
    }

    /// Creates, changes or deletes one; returns the id of what was there before.
    fn change(&mut self) -> Option<String> {
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        if ids.is_empty() || self.random.chance(3, 5) {
            let task = self.draw(self.created);
            self.created += 1;
            let made = block_on(self.db.create("task", &document(&task))).expect("it is made");
            self.tasks.insert(made.id().to_owned(), task);
            return None;
        }
        let id = self.random.pick(&ids).clone();
        if self.random.chance(1, 3) {
            block_on(self.db.delete("task", &id)).expect("it goes");
            self.tasks.remove(&id);
        } else {
            let number = self.tasks[&id].number;
            let task = self.draw(number);
            block_on(self.db.put("task", &id, &document(&task))).expect("it is changed");
            self.tasks.insert(id.clone(), task);
        }
        Some(id)
    }

    /// The ids that a question should be answered with, in order.
    fn expected(&self, list: &str, wish: &Wish, team: &str) -> Vec<String> {
        let is_in = |task: &Task| match list {
            "cool" => !task.hot,
            "by_team" => task.team == Some(team),
            _ => true,
        };
        let fitting = self.tasks.iter().filter(|(_, task)| is_in(task) && wish.holds(task));
        let mut fitting: Vec<(&String, &Task)> = fitting.collect();
        fitting.sort_by_key(|(_, task)| {
            let rank = match list {
                "ranked" => -task.rank,
                "by_team" => task.rank,
                _ => 0,
            };
            (rank, task.number)
        });
        fitting.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// One random question, read page by page.
    fn ask(&mut self) {
        let list = *self.random.pick(&["all", "ranked", "by_team", "cool"]);
        let team = *self.random.pick(&["one", "two", "three"]);
        let wish = Wish::draw(&mut self.random, list, 0);
        let strategies = [Strategy::Cheapest, Strategy::Walk, Strategy::Match];
        let strategy = *self.random.pick(&strategies);
        let limit = 1 + self.random.below(7) as u32;
        let is_backward = self.random.chance(1, 2);
        let rows = *self.random.pick(&[1, 4, 30, 5_000]);
        let mut query = self.db.list("task", list).filter(wish.filter()).limit(limit);
        query = query.strategy(strategy).budget(Budget { rows, ..Budget::STANDARD });
        if list == "by_team" {
            query = query.by("team", team);
        }
        if is_backward {
            query = query.backward();
        }
        let story = format!("{list} {team} {wish:?} {strategy:?} {limit} {is_backward} {rows}");
        let mut before = self.expected(list, &wish, team);
        let total = block_on(query.total()).expect("it is counted");
        match total.end {
            End::Exhausted => assert_eq!(total.count, before.len() as u64, "{story}"),
            End::Limit | End::Budget => assert!(total.count <= before.len() as u64, "{story}"),
        }
        if is_backward {
            before.reverse();
        }
        if self.random.chance(1, 2) {
            let found = self.walk(query, |_| {});
            assert_eq!(found, before, "{story}");
        } else {
            self.ask_beside_changes(query, &before, &story);
        }
    }

    /// What is not touched while it is read is on exactly one page, in order.
    fn ask_beside_changes(&mut self, query: ListQuery, before: &[String], story: &str) {
        let mut touched = BTreeSet::new();
        let found = self.walk(query, |world| touched.extend(world.change()));
        let steady = |ids: &[String]| {
            ids.iter().filter(|id| !touched.contains(*id)).cloned().collect::<Vec<_>>()
        };
        let known: BTreeSet<&String> = before.iter().collect();
        let mut kept = steady(&found);
        // What is new may be on a page or not.
        kept.retain(|id| known.contains(id));
        assert_eq!(kept, steady(before), "{story}\nfound {found:?}");
    }

    fn walk(&mut self, query: ListQuery, mut between: impl FnMut(&mut World)) -> Vec<String> {
        let (mut found, mut query) = (vec![], query);
        for _ in 0..10_000 {
            let page = block_on(query.read()).expect("a page is read");
            found.extend(page.items.iter().map(|item| item.id().to_owned()));
            match page.next {
                None => return found,
                Some(next) => query = query.after(next),
            }
            between(self);
        }
        panic!("a walk ends");
    }
}

fn document(task: &Task) -> serde_json::Value {
    let Task { rank, color, hot, team, tags, .. } = task;
    json!({ "rank": rank, "color": color, "hot": hot, "team": team, "tags": tags })
}

fn play(make: impl Fn() -> Arc<dyn Store>, matching: MatchingUse) {
    for seed in 0..SEEDS {
        let mut world = World::new(make(), matching, seed);
        for _ in 0..STEPS {
            match world.random.below(3) {
                0 => world.ask(),
                _ => drop(world.change()),
            }
        }
        for _ in 0..10 {
            world.ask();
        }
        assert_clean(&world.db);
    }
}

fn reference() -> Arc<dyn Store> {
    Arc::new(reference_at(&ManualClock::new()))
}

#[test]
fn filters_on_the_reference_with_sets_say_what_a_naive_filter_says() {
    play(reference, MatchingUse::Sets);
}

#[test]
fn filters_on_the_reference_with_rows_say_what_a_naive_filter_says() {
    play(reference, MatchingUse::Rows);
}

#[test]
fn filters_on_the_engine_with_sets_say_what_a_naive_filter_says() {
    play(|| Arc::new(engine(&SimDisk::new(0))), MatchingUse::Sets);
}

#[test]
fn filters_on_the_engine_with_rows_say_what_a_naive_filter_says() {
    play(|| Arc::new(engine(&SimDisk::new(0))), MatchingUse::Rows);
}
