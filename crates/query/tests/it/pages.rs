//! Pages of a list that is written to while it is read: what is in it throughout is on exactly one
//! page, and no page goes back.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::Image;
use keyloom_query::{Budget, ListRequest};
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
        group: i64,
        rank: i64,
    },
    Delete(Index),
    Move {
        which: Index,
        group: i64,
        rank: i64,
    },
    /// It stays where it is.
    Touch(Index),
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0_i64..2, 0_i64..6);
    prop_oneof![
        (any::<u16>(), place()).prop_map(|(id, (group, rank))| Step::Insert { id, group, rank }),
        any::<Index>().prop_map(Step::Delete),
        (any::<Index>(), place()).prop_map(|(which, (group, rank))| Step::Move {
            which,
            group,
            rank
        }),
        any::<Index>().prop_map(Step::Touch),
    ]
}

/// The table and what should be in it.
struct World {
    rig: Rig,
    images: BTreeMap<String, Image>,
    /// What was inserted, deleted or moved.
    disturbed: BTreeSet<String>,
    steps: i64,
}

impl World {
    fn insert(&mut self, id: u16, group: i64, rank: i64) {
        let fields = [("group", group.into()), ("rank", rank.into()), ("body", 0.into())];
        let image = self.rig.image("task", &format!("{id:05}"), fields);
        self.rig.put(&image);
        self.images.insert(image.key.id.clone(), image);
    }

    fn take(&mut self, step: Step) {
        self.steps += 1;
        let ids: Vec<String> = self.images.keys().cloned().collect();
        let pick = |which: Index| (!ids.is_empty()).then(|| which.get(&ids).clone());
        match step {
            Step::Insert { id, group, rank } => {
                if !self.images.contains_key(&format!("{id:05}")) {
                    self.disturbed.insert(format!("{id:05}"));
                    self.insert(id, group, rank);
                }
            }
            Step::Delete(which) => {
                let Some(id) = pick(which) else { return };
                let image = self.images.remove(&id).unwrap();
                self.rig.delete(&image);
                self.disturbed.insert(id);
            }
            Step::Move { which, group, rank } => {
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
    start: BTreeMap<u16, (i64, i64)>,
    steps: Vec<Vec<Step>>,
    list: &'static str,
    direction: Direction,
    limit: u32,
    rows: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let start = proptest::collection::btree_map(any::<u16>(), (0_i64..2, 0_i64..6), 0..40);
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
    for (id, (group, rank)) in &case.start {
        world.insert(*id, *group, *rank);
    }
    let start = world.images.clone();
    let (mut cursor, mut read, mut pages) = (None, Vec::new(), 0);
    let mut steps = case.steps.iter();
    loop {
        let (reader, cursors) = (world.rig.reader(), &world.rig.cursors);
        let page = reader.list(&request, cursors, cursor.as_deref()).block_on().unwrap();
        for row in page.rows {
            assert_eq!(world.images.get(&row.image.key.id), Some(&row.image), "it is as it is now");
            read.push(row.image);
        }
        pages += 1;
        assert!(pages < 10_000, "there is no end");
        let Some(next) = page.next else { break };
        cursor = Some(next);
        // There is always an end: insertions stop.
        steps.next().into_iter().flatten().for_each(|step| world.take(*step));
    }
    let ids: Vec<&str> = read.iter().map(|image| image.key.id.as_str()).collect();
    let stayed = |id: &&str| !world.disturbed.contains(*id);
    let expected = naive::list(&world.rig.layout, start.values(), &request);
    let expected: Vec<&str> = expected.into_iter().filter(stayed).collect();
    assert_eq!(ids.into_iter().filter(stayed).collect::<Vec<_>>(), expected);

    let entity = world.rig.layout.model().entity(entity);
    let onward = match case.direction {
        Direction::Forward => Ordering::Less,
        Direction::Backward => Ordering::Greater,
    };
    let order = |pair: &[Image]| naive::place_order(entity, entity.list(list), &pair[0], &pair[1]);
    assert!(read.windows(2).all(|pair| order(pair) == onward), "a page went back");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn pages_lose_and_repeat_nothing_that_was_there_throughout(case in case()) {
        for (_, make) in STORES {
            check(Rig::new(*make, MODEL), &case);
        }
    }
}
