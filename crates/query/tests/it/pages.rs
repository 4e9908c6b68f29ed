//! Pages of a list that is written to between them: an entity that is in it throughout is on exactly
//! one page, and no page goes back.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::Image;
use keyloom_query::{Budget, ListPage, ListRequest};
use keyloom_store::Direction;
use keyloom_value::Value;
use pollster::FutureExt;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::naive;
use crate::rig::{Rig, STORES};

const MODEL: &str = r#"
    [entity.task]
    fields.group = "int"
    fields.rank  = "int"
    fields.body  = "int"
    fields.note  = "int?"
    list.all      = {}
    list.ranked   = { order = "-rank" }
    list.of_group = { by = "group", order = ["rank", "-body"] }
    list.some     = { order = "rank", where = { group = 1 } }
"#;

/// What is written between two pages.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert {
        id: u16,
        place: Place,
    },
    Delete(Index),
    Move {
        which: Index,
        place: Place,
    },
    /// Changes a field that no list depends on.
    Touch(Index),
}

/// What decides where a task is in the lists.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: i64,
    rank: i64,
}

fn place() -> impl Strategy<Value = Place> {
    (0_i64..2, 0_i64..6).prop_map(|(group, rank)| Place { group, rank })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<u16>(), place()).prop_map(|(id, place)| Step::Insert { id, place }),
        any::<Index>().prop_map(Step::Delete),
        (any::<Index>(), place()).prop_map(|(which, place)| Step::Move { which, place }),
        any::<Index>().prop_map(Step::Touch),
    ]
}

/// The table, and the entities that should be in it.
struct World {
    rig: Rig,
    images: BTreeMap<String, Image>,
    /// The ids of entities that were inserted, deleted or moved.
    disturbed: BTreeSet<String>,
    steps: i64,
}

impl World {
    fn insert(&mut self, id: u16, place: Place) {
        let Place { group, rank } = place;
        let fields = [("group", group.into()), ("rank", rank.into()), ("body", 0.into())];
        let image = self.rig.image("task", &format!("{id:05}"), fields);
        self.rig.put(&image);
        self.images.insert(image.key.id.clone(), image);
    }

    fn apply(&mut self, step: Step) {
        self.steps += 1;
        let ids: Vec<String> = self.images.keys().cloned().collect();
        let pick = |which: Index| (!ids.is_empty()).then(|| which.get(&ids).clone());
        match step {
            Step::Insert { id, place } => {
                if !self.images.contains_key(&format!("{id:05}")) {
                    self.disturbed.insert(format!("{id:05}"));
                    self.insert(id, place);
                }
            }
            Step::Delete(which) => {
                let Some(id) = pick(which) else { return };
                let image = self.images.remove(&id).unwrap();
                self.rig.delete(&image);
                self.disturbed.insert(id);
            }
            Step::Move { which, place: Place { group, rank } } => {
                let Some(id) = pick(which) else { return };
                self.change(&id, &[("group", group), ("rank", rank)]);
                self.disturbed.insert(id);
            }
            Step::Touch(which) => {
                let Some(id) = pick(which) else { return };
                self.change(&id, &[("note", self.steps)]);
            }
        }
    }

    fn change(&mut self, id: &str, fields: &[(&str, i64)]) {
        let old = self.images[id].clone();
        let mut new = old.clone();
        for (name, value) in fields {
            new.fields.insert(*name, *value);
        }
        self.rig.change(&old, &new);
        self.images.insert(id.to_owned(), new);
    }
}

#[derive(Clone, Debug)]
struct Case {
    start: BTreeMap<u16, Place>,
    steps: Vec<Vec<Step>>,
    list: &'static str,
    direction: Direction,
    limit: u32,
    rows: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let start = proptest::collection::btree_map(any::<u16>(), place(), 0..40);
    let steps = proptest::collection::vec(proptest::collection::vec(step(), 0..6), 0..40);
    let list = prop_oneof![Just("all"), Just("ranked"), Just("of_group"), Just("some")];
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Backward)];
    let rows = prop_oneof![1_u64..12, Just(5_000)];
    (start, steps, list, direction, 1_u32..9, rows).prop_map(
        |(start, steps, list, direction, limit, rows)| Case {
            start,
            steps,
            list,
            direction,
            limit,
            rows,
        },
    )
}

fn check(rig: Rig, case: &Case) {
    let (entity, list) = rig.list("task", case.list);
    let request = ListRequest {
        by: if case.list == "of_group" { vec![Value::from(1)] } else { vec![] },
        direction: case.direction,
        limit: case.limit,
        budget: Budget { rows: case.rows, ..Budget::STANDARD },
        ..ListRequest::new(entity, list)
    };
    let mut world = World { rig, images: BTreeMap::new(), disturbed: BTreeSet::new(), steps: 0 };
    for (id, place) in &case.start {
        world.insert(*id, *place);
    }
    let mut steps = case.steps.iter();
    let start = world.images.clone();
    let forth = Walk { request: &request, cursor: None, follow: |page| page.next.as_ref() };
    let (read, last) = forth.run(&mut world, &mut steps);
    Walked { request: &request, start, read }.check(&world);
    // The way back begins at the last page, in its present state.
    let start = world.images.clone();
    world.disturbed.clear();
    if let Some(cursor) = last.previous {
        let follow: Follow = |page| page.previous.as_ref();
        let back = Walk { request: &request, cursor: Some(cursor), follow };
        let (mut read, _) = back.run(&mut world, &mut steps);
        read.reverse();
        read.extend(last.rows.into_iter().map(|row| row.image));
        Walked { request: &request, start, read }.check(&world);
    }
}

/// Which cursor leads to the next page of a walk.
type Follow = fn(&ListPage) -> Option<&String>;

/// A walk from page to page: backward if it begins at a cursor.
struct Walk<'w> {
    request: &'w ListRequest,
    cursor: Option<String>,
    follow: Follow,
}

impl Walk<'_> {
    /// Reads all pages, with writes between them. Returns the entities in the order of the walk, and
    /// the last page.
    fn run<'s>(
        self,
        world: &mut World,
        steps: &mut impl Iterator<Item = &'s Vec<Step>>,
    ) -> (Vec<Image>, ListPage) {
        let Walk { request, mut cursor, follow } = self;
        let (mut read, mut pages) = (Vec::new(), 0);
        let is_back = cursor.is_some();
        loop {
            let (reader, cursors) = (world.rig.reader(), &world.rig.cursors);
            let page = reader.list(request, cursors, cursor.as_deref()).block_on().unwrap();
            let mut images: Vec<Image> = page.rows.iter().map(|row| row.image.clone()).collect();
            for image in &images {
                assert_eq!(world.images.get(&image.key.id), Some(image), "the entity is current");
            }
            if is_back {
                images.reverse();
            }
            read.extend(images);
            pages += 1;
            assert!(pages < 10_000, "the walk does not end");
            cursor = match follow(&page) {
                None => return (read, page),
                next => next.cloned(),
            };
            // The walk ends because insertions stop.
            steps.next().into_iter().flatten().for_each(|step| world.apply(*step));
        }
    }
}

/// A walk that has ended.
struct Walked<'w> {
    request: &'w ListRequest,
    /// The entities when it began.
    start: BTreeMap<String, Image>,
    /// The entities that were read, in the order of the list.
    read: Vec<Image>,
}

impl Walked<'_> {
    /// Checks that entities that stayed in place were read once, and that all were read in order.
    fn check(&self, world: &World) {
        let Walked { request, start, read } = self;
        let ids: Vec<&str> = read.iter().map(|image| image.key.id.as_str()).collect();
        let stayed = |id: &&str| !world.disturbed.contains(*id);
        let expected = naive::list(&world.rig.layout, start.values(), request);
        let expected: Vec<&str> = expected.into_iter().filter(stayed).collect();
        assert_eq!(ids.into_iter().filter(stayed).collect::<Vec<_>>(), expected);

        let onward = match request.direction {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        let list = naive::NaiveList::new(&world.rig.layout, request);
        let order = |pair: &[Image]| list.order(&pair[0], &pair[1]);
        assert!(read.windows(2).all(|pair| order(pair) == onward), "a page went back");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn unchanged_entities_are_on_exactly_one_page(case in case()) {
        for (_, make) in STORES {
            check(Rig::new(*make, MODEL), &case);
        }
    }
}
