//! Lists filtered by tags, facets, ranges, presence and words equal a naive filter over all entities: for random entities
//! and filters, on pages of any size, in both directions, with every strategy and storage of
//! posting lists, and whatever is written between two pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use keyloom::{
    Budget, Db, End, Filter, FindTags, ListQuery, MatchingUse, Options, Page, Strategy, ValueCount,
};
use keyloom_store::Store;
use keyloom_testkit::{ManualClock, Random, SimDisk};
use keyloom_value::{Number, Value};
use pollster::block_on;
use serde_json::json;

use crate::rig::{assert_clean, engine, memory_store_at};

const MODEL: &str = r#"
[entity.task]
fields.rank  = "int 0..9"
fields.color = "enum(red, green, blue)"
fields.hot   = "bool"
fields.team  = "text?"
fields.price = "number?"
filters = ["rank", "price", "team"]
fields.name  = "text"
fields.notes = "list of text = []"
search.text  = { fields = ["name", "notes"], language = "english" }
search.names = { fields = ["name"], prefixes = false }
fields.tags  = "tags = {}"
tags.tags.combine = [["a", "b"], ["a", "b", "c"]]
list.all     = {}
list.ranked  = { order = "-rank", facets = ["color", "hot"] }
list.by_team = { by = "team", order = ["rank"], facets = ["color", "rank"] }
list.cool    = { where = { hot = false }, facets = ["color"] }
"#;

/// The same lists in shards.
fn sharded() -> String {
    let by_team = "list.by_team = { shards = 4, ";
    MODEL
        .replace("[entity.task]", "[entity.task]\nshards = 3")
        .replace("list.by_team = { ", by_team)
}

const KEYS: [&str; 3] = ["a", "b", "c"];
/// Including one that no task has.
const ASKED_KEYS: [&str; 4] = ["a", "b", "c", "d"];
const VALUES: [&str; 2] = ["x", "y"];
/// Words with their stems.
const WORDS: [(&str, &str); 6] = [
    ("roof", "roof"),
    ("roofs", "roof"),
    ("Rooftop", "rooftop"),
    ("fix", "fix"),
    ("fixed", "fix"),
    ("fête", "fete"),
];
const COLORS: [&str; 3] = ["red", "green", "blue"];

const SEEDS: u64 = 8;
const STEPS: usize = 60;

/// The expected state of a task; tasks are numbered in order of creation.
#[derive(Clone, Debug, PartialEq)]
struct Task {
    number: usize,
    rank: i64,
    color: &'static str,
    hot: bool,
    team: Option<&'static str>,
    /// In quarters.
    price: Option<i64>,
    tags: BTreeMap<&'static str, &'static str>,
    name: Vec<&'static str>,
    notes: Vec<&'static str>,
}

/// A word as searches without a language compare it.
fn folded(word: &str) -> String {
    word.to_lowercase().replace('ê', "e")
}

fn stem(word: &str) -> &'static str {
    WORDS.iter().find(|(of, _)| *of == word).map_or("", |(_, stem)| stem)
}

/// The first three letters of a word.
fn beginning(word: &str) -> String {
    folded(word).chars().take(3).collect()
}

impl Task {
    /// Whether a text has a word with the same stem.
    fn says(&self, word: &str) -> bool {
        self.says_stem(stem(word))
    }

    fn says_stem(&self, wanted: &str) -> bool {
        self.name.iter().chain(&self.notes).any(|one| stem(one) == wanted)
    }

    /// What counts of matches count: its value of a facet, its tag of a key, or all of its keys.
    fn values(&self, facet: Option<&str>, key: Option<&str>) -> Vec<String> {
        match (facet, key) {
            (Some("color"), _) => vec![self.color.to_owned()],
            (Some("hot"), _) => vec![Value::Bool(self.hot).to_string()],
            (Some(_), _) => vec![Value::from(self.rank).to_string()],
            (None, Some(key)) => self.tags.get(key).map(|v| (*v).to_owned()).into_iter().collect(),
            (None, None) => self.tags.keys().map(|key| (*key).to_owned()).collect(),
        }
    }
}

/// A filter that the test can evaluate itself.
#[derive(Clone, Debug)]
enum Predicate {
    Tag(&'static str, &'static str),
    HasTag(&'static str),
    Color(&'static str),
    Hot(bool),
    Rank(i64),
    RankIn(Bound<i64>, Bound<i64>),
    PriceIn(Bound<i64>, Bound<i64>),
    HasPrice,
    HasTeam,
    /// Words of the search `text`.
    Says(Vec<&'static str>),
    /// Those, and the beginning of another.
    Begins(&'static str, &'static str),
    /// A word of the search `names`.
    Named(&'static str),
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Not(Box<Predicate>),
}

impl Predicate {
    fn draw(random: &mut Random, list: &str, depth: u32) -> Predicate {
        let tag = |random: &mut Random| {
            Predicate::Tag(random.pick::<&str>(&KEYS), random.pick::<&str>(&VALUES))
        };
        let some = |random: &mut Random| {
            let count = random.below(4);
            (0..count).map(|_| Predicate::draw(random, list, depth + 1)).collect()
        };
        match random.below(if depth < 3 { 14 } else { 10 }) {
            0..=1 => tag(random),
            5 => Predicate::PriceIn(bound(random, PRICES), bound(random, PRICES)),
            6 => Predicate::RankIn(bound(random, 5), bound(random, 5)),
            7 => random.pick(&[Predicate::HasPrice, Predicate::HasTeam]).clone(),
            2 => Predicate::HasTag(random.pick::<&str>(&ASKED_KEYS)),
            3 | 4 => match (list, random.below(2)) {
                ("all", _) => tag(random),
                ("ranked", 0) => Predicate::Hot(random.chance(1, 2)),
                ("by_team", 0) => Predicate::Rank(random.below(10) as i64),
                _ => Predicate::Color(random.pick::<&str>(&COLORS)),
            },
            8 => {
                let count = random.below(3);
                Predicate::Says((0..count).map(|_| random.pick(&WORDS).0).collect())
            }
            9 => match random.below(2) {
                0 => Predicate::Named(random.pick(&WORDS).0),
                _ => Predicate::Begins(random.pick(&WORDS).0, random.pick(&WORDS).0),
            },
            10 | 11 => Predicate::All(some(random)),
            12 => Predicate::Any(some(random)),
            _ => Predicate::Not(Box::new(Predicate::draw(random, list, depth + 1))),
        }
    }

    fn filter(&self) -> Filter {
        match self {
            Predicate::Tag(key, value) => Filter::tag(*key, *value),
            Predicate::HasTag(key) => Filter::has_tag(*key),
            Predicate::Color(color) => Filter::facet("color", *color),
            Predicate::Hot(hot) => Filter::facet("hot", Value::Bool(*hot)),
            Predicate::Rank(rank) => Filter::facet("rank", *rank),
            Predicate::RankIn(lower, upper) => Filter::range::<i64>("rank", (*lower, *upper)),
            Predicate::PriceIn(lower, upper) => {
                Filter::range::<Value>("price", (lower.map(price), upper.map(price)))
            }
            Predicate::HasPrice => Filter::present("price"),
            Predicate::HasTeam => Filter::present("team"),
            // The space ends the last word.
            Predicate::Says(words) => Filter::search("text", format!("{} ", words.join(", "))),
            Predicate::Begins(word, other) => {
                Filter::search("text", format!("{word} {}", beginning(other)))
            }
            Predicate::Named(word) => Filter::search("names", *word),
            Predicate::All(predicates) => Filter::all(predicates.iter().map(Predicate::filter)),
            Predicate::Any(predicates) => Filter::any(predicates.iter().map(Predicate::filter)),
            Predicate::Not(predicate) => predicate.filter().not(),
        }
    }

    /// Whether it only tests one facet.
    fn is_by(&self, facet: &str) -> bool {
        match self {
            Predicate::Tag(..) | Predicate::HasTag(_) => false,
            Predicate::Says(_) | Predicate::Begins(..) | Predicate::Named(_) => false,
            Predicate::PriceIn(..) | Predicate::HasPrice | Predicate::HasTeam => false,
            Predicate::Color(_) => facet == "color",
            Predicate::Hot(_) => facet == "hot",
            Predicate::Rank(_) | Predicate::RankIn(..) => facet == "rank",
            Predicate::All(predicates) | Predicate::Any(predicates) => {
                !predicates.is_empty() && predicates.iter().all(|predicate| predicate.is_by(facet))
            }
            Predicate::Not(predicate) => predicate.is_by(facet),
        }
    }

    fn holds(&self, task: &Task) -> bool {
        match self {
            Predicate::Tag(key, value) => task.tags.get(key) == Some(value),
            Predicate::HasTag(key) => task.tags.contains_key(key),
            Predicate::Color(color) => task.color == *color,
            Predicate::Hot(hot) => task.hot == *hot,
            Predicate::Rank(rank) => task.rank == *rank,
            Predicate::RankIn(lower, upper) => (*lower, *upper).contains(&task.rank),
            Predicate::PriceIn(lower, upper) => {
                task.price.is_some_and(|price| (*lower, *upper).contains(&price))
            }
            Predicate::HasPrice => task.price.is_some(),
            Predicate::HasTeam => task.team.is_some(),
            Predicate::Says(words) => words.iter().all(|word| task.says(word)),
            Predicate::Begins(word, other) => {
                let begins = |one: &&&str| folded(one).starts_with(&beginning(other));
                let mut words = task.name.iter().chain(&task.notes);
                let has_stem = task.says_stem(&beginning(other));
                task.says(word) && (has_stem || words.any(|one| begins(&one)))
            }
            Predicate::Named(word) => task.name.iter().any(|one| folded(one) == folded(word)),
            Predicate::All(predicates) => predicates.iter().all(|predicate| predicate.holds(task)),
            Predicate::Any(predicates) => predicates.iter().any(|predicate| predicate.holds(task)),
            Predicate::Not(predicate) => !predicate.holds(task),
        }
    }
}

/// Prices are drawn from so many, some of them negative.
const PRICES: u64 = 40;

fn bound(random: &mut Random, values: u64) -> Bound<i64> {
    let value = random.below(values + 2) as i64 - if values == PRICES { 11 } else { 1 };
    *random.pick(&[Bound::Unbounded, Bound::Included(value), Bound::Excluded(value)])
}

/// A price in quarters as a value.
fn price(quarters: i64) -> Value {
    Value::N(Number::from_parts(i128::from(quarters) * 25, -2).expect("a small number"))
}

/// A database and its expected content.
struct World {
    db: Db,
    clock: Arc<ManualClock>,
    tasks: BTreeMap<String, Task>,
    created: usize,
    random: Random,
}

impl World {
    fn new(model: &str, store: Arc<dyn Store>, matching: MatchingUse, seed: u64) -> World {
        let clock = Arc::new(ManualClock::new());
        let options = Options { clock: clock.clone(), matching, ..Options::default() };
        let db = block_on(Db::open_with(model, store, options)).expect("it opens");
        World { db, clock, tasks: BTreeMap::new(), created: 0, random: Random::new(seed) }
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
            price: random.chance(3, 4).then(|| random.below(PRICES) as i64 - 10),
            tags,
            name: (0..random.below(3)).map(|_| random.pick(&WORDS).0).collect(),
            notes: (0..random.below(3)).map(|_| random.pick(&WORDS).0).collect(),
        }
    }

    /// Folds what was seen before, if time has passed since.
    fn fold(&mut self) {
        self.clock.advance_ms(*self.random.pick(&[0, 3_000, 7_000, 1_000_000]));
        block_on(self.db.fold()).expect("it is folded");
    }

    /// Creates, changes or deletes a task; returns the id of a task that existed before.
    fn change(&mut self) -> Option<String> {
        if self.random.chance(1, 8) {
            self.fold();
        }
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        if ids.is_empty() || self.random.chance(3, 5) {
            let task = self.draw(self.created);
            self.created += 1;
            let made = block_on(self.db.create("task", &document(&task))).expect("it is created");
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

    /// The expected ids of a query, in order.
    fn expected(&self, list: &str, predicate: &Predicate, team: &str) -> Vec<String> {
        let is_in = |task: &Task| match list {
            "cool" => !task.hot,
            "by_team" => task.team == Some(team),
            _ => true,
        };
        let fitting = self.tasks.iter().filter(|(_, task)| is_in(task) && predicate.holds(task));
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

    /// Runs one random query, page by page.
    fn ask(&mut self) {
        let list = *self.random.pick(&["all", "ranked", "by_team", "cool"]);
        let team = *self.random.pick(&["one", "two", "three"]);
        let predicate = Predicate::draw(&mut self.random, list, 0);
        let strategies = [Strategy::Cheapest, Strategy::Walk, Strategy::Merge, Strategy::Match];
        let strategy = *self.random.pick(&strategies);
        let limit = 1 + self.random.below(7) as u32;
        let is_backward = self.random.chance(1, 2);
        let rows = *self.random.pick(&[1, 4, 30, 5_000]);
        let mut query = self.db.list("task", list).filter(predicate.filter()).limit(limit);
        // A field of the order bounds the part of the list that is read; others filter it.
        let least = self.random.chance(1, 4).then(|| self.random.below(4) as i64);
        let mut predicate = predicate;
        if let Some(least) = least {
            query = query.at_least("rank", least);
            let is_ranked = Predicate::RankIn(Bound::Included(least), Bound::Unbounded);
            predicate = Predicate::All(vec![predicate, is_ranked]);
        }
        query = query.strategy(strategy).budget(Budget { rows, ..Budget::STANDARD });
        if list == "by_team" {
            query = query.by("team", team);
        }
        if is_backward {
            query = query.backward();
        }
        let story =
            format!("{list} {team} {predicate:?} {strategy:?} {limit} {is_backward} {rows}");
        let mut before = self.expected(list, &predicate, team);
        let total = block_on(query.total()).expect("it is counted");
        match total.end {
            End::Exhausted => assert_eq!(total.count, before.len() as u64, "{story}"),
            End::Limit | End::Budget => assert!(total.count <= before.len() as u64, "{story}"),
        }
        if is_backward {
            before.reverse();
        }
        if self.random.chance(1, 2) {
            let pages = self.walk(&query, |_| {});
            assert_eq!(ids(&pages), before, "{story}");
            let back = self.walk_back(&query, pages.last(), |_| {});
            assert_eq!(ids(&back), before, "back: {story}");
            // A page is only short if its read limit was reached.
            if rows == 5_000 {
                assert_eq!(shapes(&back), shapes(&pages), "{story}");
            }
        } else {
            self.ask_beside_changes(&query, &before, &story);
            let pages = self.walk(&query, |_| {});
            let before = ids(&pages);
            self.ask_back_beside_changes(&query, (pages.last(), &before), &story);
        }
    }

    /// The values counted over the matches equal a naive count, in pages of any size.
    fn count(&mut self) {
        let list = *self.random.pick(&["all", "ranked", "by_team", "cool"]);
        let team = *self.random.pick(&["one", "two"]);
        let predicate = Predicate::draw(&mut self.random, list, 0);
        let facet = match list {
            "ranked" => Some(*self.random.pick(&["color", "hot"])),
            "by_team" => Some(*self.random.pick(&["color", "rank"])),
            "cool" => Some("color"),
            _ => None,
        };
        let facet = facet.filter(|_| self.random.chance(1, 2));
        let key = *self.random.pick(&[None, Some("a"), Some("b"), Some("d")]);
        let prefix = *self.random.pick(&["", "a", "x", "xy"]);
        let (limit, rows) = (1 + self.random.below(4) as u32, *self.random.pick(&[3, 30, 5_000]));
        let mut query = self.db.list("task", list).filter(predicate.filter()).limit(limit);
        query = query.budget(Budget { rows, ..Budget::STANDARD });
        if list == "by_team" {
            query = query.by("team", team);
        }
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        // A filter by the facet alone does not filter the counts of that facet.
        let is_left_out = facet.is_some_and(|facet| predicate.is_by(facet));
        let counted = if is_left_out { Predicate::All(vec![]) } else { predicate.clone() };
        for id in self.expected(list, &counted, team) {
            for value in self.tasks[&id].values(facet, key) {
                if facet.is_some() || value.starts_with(prefix) {
                    *expected.entry(value).or_default() += 1;
                }
            }
        }
        let find = FindTags {
            key: key.map(str::to_owned),
            prefix: prefix.to_owned(),
            ..FindTags::default()
        };
        let story = format!("{list} {team} {predicate:?} {facet:?} {find:?} {limit} {rows}");
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..10_000 {
            let page = match facet {
                Some(facet) => block_on(query.facet_values(facet)),
                None => block_on(query.tags(&find)),
            };
            let page = page.expect("it is counted");
            assert!(page.counts.len() <= limit as usize, "{story}");
            for ValueCount { value, count } in page.counts {
                let value = value.as_s().map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(found.insert(value, count), None, "{story}");
            }
            match page.next {
                None => {
                    assert_eq!(found, expected, "{story}");
                    return;
                }
                Some(next) => query = query.after(next),
            }
        }
        panic!("a count ends");
    }

    /// Tasks that do not change while pages are read are on exactly one page, in order.
    fn ask_beside_changes(&mut self, query: &ListQuery, before: &[String], story: &str) {
        let mut touched = BTreeSet::new();
        let pages = self.walk(query, |world| touched.extend(world.change()));
        assert_steady((before, &ids(&pages)), &touched, story);
    }

    /// The same backward from the last page.
    fn ask_back_beside_changes(
        &mut self,
        query: &ListQuery,
        (last, before): (Option<&Page>, &[String]),
        story: &str,
    ) {
        let mut touched = BTreeSet::new();
        let pages = self.walk_back(query, last, |world| touched.extend(world.change()));
        assert_steady((before, &ids(&pages)), &touched, &format!("back: {story}"));
    }

    fn walk(&mut self, query: &ListQuery, mut between: impl FnMut(&mut World)) -> Vec<Page> {
        let (mut pages, mut query) = (vec![], query.clone());
        for _ in 0..10_000 {
            let page = block_on(query.read()).expect("a page is read");
            assert_eq!(page.previous.is_some(), !pages.is_empty());
            let next = page.next.clone();
            pages.push(page);
            match next {
                None => return pages,
                Some(next) => query = query.after(next),
            }
            between(self);
        }
        panic!("a walk ends");
    }

    /// All pages before the one that was just read.
    fn walk_back(
        &mut self,
        query: &ListQuery,
        last: Option<&Page>,
        mut between: impl FnMut(&mut World),
    ) -> Vec<Page> {
        let mut pages: Vec<Page> = last.into_iter().cloned().collect();
        for _ in 0..10_000 {
            let Some(previous) = pages.last().and_then(|page| page.previous.clone()) else {
                pages.reverse();
                return pages;
            };
            between(self);
            let page = block_on(query.clone().before(previous).read()).expect("a page is read");
            assert!(page.next.is_some(), "there is a page after it");
            pages.push(page);
        }
        panic!("a walk ends");
    }
}

fn assert_steady((before, found): (&[String], &[String]), touched: &BTreeSet<String>, story: &str) {
    let steady = |ids: &[String]| {
        ids.iter().filter(|id| !touched.contains(*id)).cloned().collect::<Vec<_>>()
    };
    let known: BTreeSet<&String> = before.iter().collect();
    let mut kept = steady(found);
    // New tasks may or may not be on a page.
    kept.retain(|id| known.contains(id));
    assert_eq!(kept, steady(before), "{story}\nfound {found:?}");
}

fn ids(pages: &[Page]) -> Vec<String> {
    let items = pages.iter().flat_map(|page| &page.items);
    items.map(|item| item.id().to_owned()).collect()
}

/// The size of each page, except pages without matches.
fn shapes(pages: &[Page]) -> Vec<usize> {
    pages.iter().map(|page| page.items.len()).filter(|items| *items > 0).collect()
}

fn document(task: &Task) -> serde_json::Value {
    let Task { rank, color, hot, team, price, tags, name, notes, .. } = task;
    let (price, name) = (price.map(|quarters| quarters as f64 / 4.0), name.join(" - "));
    json!({
        "rank": rank, "color": color, "hot": hot, "team": team, "price": price, "tags": tags,
        "name": name, "notes": notes,
    })
}

fn play(make: impl Fn() -> Arc<dyn Store>, matching: MatchingUse) {
    play_model(MODEL, make, matching);
}

fn play_model(model: &str, make: impl Fn() -> Arc<dyn Store>, matching: MatchingUse) {
    for seed in 0..SEEDS {
        let mut world = World::new(model, make(), matching, seed);
        for _ in 0..STEPS {
            match world.random.below(4) {
                0 => world.ask(),
                1 => world.count(),
                _ => drop(world.change()),
            }
        }
        for _ in 0..10 {
            world.ask();
            world.count();
        }
        assert_clean(&world.db);
    }
}

fn memory_store() -> Arc<dyn Store> {
    Arc::new(memory_store_at(&ManualClock::new()))
}

#[test]
fn filters_with_sets_on_the_memory_store_match_a_naive_filter() {
    play(memory_store, MatchingUse::Sets);
}

#[test]
fn filters_with_rows_on_the_memory_store_match_a_naive_filter() {
    play(memory_store, MatchingUse::Rows);
}

#[test]
fn filters_of_lists_in_shards_match_a_naive_filter() {
    play_model(&sharded(), memory_store, MatchingUse::Rows);
}

#[test]
fn filters_with_sets_on_the_engine_match_a_naive_filter() {
    play(|| Arc::new(engine(&SimDisk::new(0))), MatchingUse::Sets);
}

#[test]
fn filters_with_rows_on_the_engine_match_a_naive_filter() {
    play(|| Arc::new(engine(&SimDisk::new(0))), MatchingUse::Rows);
}
