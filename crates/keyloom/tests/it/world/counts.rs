//! Every count and every board equals a count over all entities, for every split and on pages of
//! any size; every rank equals that of a sort.

use std::cmp::Ordering;

use keyloom::{BoardQuery, CountQuery, Counted, Db, Ranked};
use keyloom_model::{Board, Count, Entity, FieldId, FieldType, Ranking, Test, Window};
use keyloom_testkit::Random;
use keyloom_value::{Item, Number, Value};
use pollster::block_on;

use super::building::What;
use super::play::World;
use super::{Naive, Thing};

impl World {
    pub(crate) fn check_counts(&self, random: &mut Random) {
        for (_, entity) in self.naive.model.entities() {
            let is_built = |what, name: &str| self.naive.building.has_built(what, entity, name);
            for tenant in self.tenants_of(&entity.name) {
                for count in entity.counts.iter().filter(|one| is_built(What::Count, &one.name)) {
                    self.check_count((entity, count), tenant.as_ref(), random);
                }
                for board in entity.boards.iter().filter(|one| is_built(What::Board, &one.name)) {
                    self.check_board((entity, board), tenant.as_ref(), random);
                }
            }
        }
    }

    fn check_count(
        &self,
        (entity, count): (&Entity, &Count),
        tenant: Option<&Value>,
        random: &mut Random,
    ) {
        let name = |field: &FieldId| entity.field(*field).name.as_str();
        for (by, things) in self.naive.parts(entity, tenant, (&count.filter, &count.by)) {
            let mut query = self.db(tenant).count(&entity.name, &count.name);
            for (field, value) in count.by.iter().zip(&by) {
                query = query.by(name(field), value.clone());
            }
            // Each field is fixed to a value, summed over, or split.
            let (mut split, mut counted) = (vec![], things.clone());
            for field in &count.split {
                let some = *random.pick(&things);
                let some = self.naive.value(some, *field);
                match (random.below(3), some) {
                    (0, Some(value)) => {
                        counted.retain(|thing| {
                            self.naive.value(thing, *field).as_ref() == Some(&value)
                        });
                        query = query.only(name(field), value);
                    }
                    (1, _) => split.push(*field),
                    _ => {}
                }
            }
            let whole = block_on(query.whole()).expect("a count is read");
            let expected = self.naive.counted((entity, count), Item::new(), &counted);
            assert_eq!(whole, expected, "{query:?} of {counted:?}");
            for field in &split {
                query = query.split(name(field));
            }
            let expected = self.naive.numbers((entity, count), &counted, &split);
            assert_eq!(read_numbers(&query, random), expected, "{query:?} of {counted:?}");
            if let Some(window) = &count.window {
                let query = query.windows("..");
                let expected = self.naive.windows((entity, count), window, (&counted, &split));
                assert_eq!(read_numbers(&query, random), expected, "{query:?} of {counted:?}");
            }
        }
    }

    fn check_board(
        &self,
        (entity, board): (&Entity, &Board),
        tenant: Option<&Value>,
        random: &mut Random,
    ) {
        for (by, things) in self.naive.parts(entity, tenant, (&board.filter, &board.by)) {
            let mut query = self.db(tenant).board(&board.name);
            for (field, value) in board.by.iter().zip(&by) {
                query = query.by(&entity.field(*field).name, value.clone());
            }
            let expected = self.naive.ranked(&things, board.ranking);
            assert_eq!(read_board(&query, random), expected, "{query:?} of {things:?}");
            check_entities(&self.db(tenant), &query, board, &expected);
            for (place, one) in expected.iter().enumerate() {
                let alone = block_on(query.rank(one.of.clone())).expect("a rank is read");
                assert_eq!(alone.as_ref(), Some(one), "{query:?} of {things:?}");
                let limit = 1 + random.index(4);
                let part = query.clone().limit(limit as u32);
                let around = block_on(part.around(one.of.clone())).expect("a board is read");
                let end = expected.len().min(place + limit + 1);
                let part = &expected[place.saturating_sub(limit)..end];
                assert_eq!(around.as_deref(), Some(part), "{query:?} around {one:?}");
            }
        }
    }
}

/// Checks that the entities of entries are those that are read one by one.
fn check_entities(db: &Db, query: &BoardQuery, board: &Board, entries: &[Ranked]) {
    let model = db.model();
    let (entity, id) = model.find_board(&board.name).expect("it is in the model");
    let found = block_on(query.entities(entries, ""));
    let Some(ranked) = model.ranked(entity, id) else {
        found.expect_err("values that are no entities");
        return;
    };
    let (found, kind) = (found.expect("entities are read"), &model.entity(ranked).name);
    assert_eq!(found.len(), entries.len());
    for (entry, tree) in entries.iter().zip(found) {
        let of = entry.of.as_s().expect("an id");
        let alone = block_on(db.get(kind, of)).expect("it is read");
        assert_eq!(tree.map(|tree| tree.record), alone, "{query:?}: {entry:?}");
    }
}

impl Naive {
    /// The entities that are counted, by their values of `by`. Expired entities count until they
    /// are deleted.
    pub(crate) fn parts(
        &self,
        entity: &Entity,
        tenant: Option<&Value>,
        (filter, by): (&[Test], &[FieldId]),
    ) -> Vec<(Vec<Value>, Vec<&Thing>)> {
        let mut parts: Vec<(Vec<Value>, Vec<&Thing>)> = vec![];
        for thing in &self.things {
            let is_of = thing.key.kind == entity.name && thing.key.tenant.as_ref() == tenant;
            if !is_of || !self.passes(thing, filter) {
                continue;
            }
            let values = by.iter().map(|field| self.value(thing, *field));
            let Some(values) = values.collect::<Option<Vec<Value>>>() else { continue };
            match parts.iter_mut().find(|(other, _)| *other == values) {
                Some((_, things)) => things.push(thing),
                None => parts.push((values, vec![thing])),
            }
        }
        parts
    }

    /// The number of entities with each combination of values, in order of the values.
    fn numbers(
        &self,
        (entity, count): (&Entity, &Count),
        things: &[&Thing],
        split: &[FieldId],
    ) -> Vec<Counted> {
        let mut numbers: Vec<(Vec<Value>, Vec<&Thing>)> = vec![];
        for thing in things {
            let values = split.iter().map(|field| self.value(thing, *field));
            let Some(values) = values.collect::<Option<Vec<Value>>>() else { continue };
            match numbers.iter_mut().find(|(other, _)| *other == values) {
                Some((_, number)) => number.push(thing),
                None => numbers.push((values, vec![thing])),
            }
        }
        if split.is_empty() && numbers.is_empty() {
            numbers.push((vec![], vec![]));
        }
        numbers.sort_by(|(left, _), (right, _)| {
            let pairs = left.iter().zip(right).map(|(left, right)| in_order(left, right));
            pairs.fold(Ordering::Equal, Ordering::then)
        });
        let names = || split.iter().map(|field| entity.field(*field).name.as_str().into());
        let counted = |(values, things): (Vec<Value>, Vec<&Thing>)| {
            self.counted((entity, count), names().zip(values).collect(), &things)
        };
        numbers.into_iter().map(counted).collect()
    }

    /// The number of entities with each combination of values in each window.
    fn windows(
        &self,
        of: (&Entity, &Count),
        window: &Window,
        (things, split): (&[&Thing], &[FieldId]),
    ) -> Vec<Counted> {
        let start = |thing: &&Thing| {
            Some(window.start(self.value(thing, window.of)?.as_n()?.to_i64().expect("a time")))
        };
        let mut numbers = self.numbers(of, things, split);
        let mut starts: Vec<i64> = things.iter().filter_map(start).collect();
        starts.sort_unstable();
        starts.dedup();
        let in_window = |at: i64| -> Vec<&Thing> {
            things.iter().filter(|thing| start(thing) == Some(at)).copied().collect()
        };
        let parts: Vec<(i64, Vec<Counted>)> =
            starts.iter().map(|at| (*at, self.numbers(of, &in_window(*at), split))).collect();
        let mut all = vec![];
        for Counted { values, .. } in numbers.drain(..) {
            for (at, part) in &parts {
                let some = part.iter().filter(|counted| counted.values == values);
                let window = Some(window.write(*at));
                all.extend(
                    some.map(|counted| Counted { window: window.clone(), ..counted.clone() }),
                );
            }
        }
        all
    }

    /// How many entities there are, and what they add up to.
    fn counted(
        &self,
        (entity, count): (&Entity, &Count),
        values: Item,
        things: &[&Thing],
    ) -> Counted {
        let count_of = things.len() as u64;
        let mut counted = Counted { values, count: count_of, ..Counted::default() };
        for field in &count.sums {
            let name = entity.field(*field).name.as_str();
            let numbers: Vec<Number> = things
                .iter()
                .filter_map(|thing| self.value(thing, *field)?.as_n().copied())
                .collect();
            let sum = numbers
                .iter()
                .fold(Number::ZERO, |sum, number| sum.checked_add(number).expect("it is short"));
            let average = sum.divided_by(numbers.len() as u64);
            if entity.field(*field).of == FieldType::Time {
                let average = average.and_then(|average| average.floor_i64());
                average.map(|average| counted.averages.insert(name, average));
                continue;
            }
            counted.sums.insert(name, Value::N(sum));
            average.map(|average| counted.averages.insert(name, Value::N(average)));
        }
        let values = |field: &FieldId| {
            let values =
                things.iter().filter_map(|thing| self.value(thing, *field)?.as_n().copied());
            values.collect::<Vec<Number>>()
        };
        let name = |field: &FieldId| entity.field(*field).name.as_str();
        for field in &count.min {
            let least = values(field).into_iter().min();
            least.map(|least| counted.min.insert(name(field), Value::N(least)));
        }
        for field in &count.max {
            let greatest = values(field).into_iter().max();
            greatest.map(|greatest| counted.max.insert(name(field), Value::N(greatest)));
        }
        counted
    }

    /// Everything that is ranked, in order.
    fn ranked(&self, things: &[&Thing], ranking: Ranking) -> Vec<Ranked> {
        let mut scores: Vec<(Value, Number)> = vec![];
        for thing in things {
            match ranking {
                Ranking::Field(field) => {
                    if let Some(Value::N(score)) = self.value(thing, field) {
                        scores.push((Value::from(thing.key.id.as_str()), score));
                    }
                }
                Ranking::Count(field) => {
                    let Some(value) = self.value(thing, field) else { continue };
                    let one = Number::from(1);
                    match scores.iter_mut().find(|(other, _)| *other == value) {
                        Some((_, score)) => *score = score.checked_add(&one).expect("it is small"),
                        None => scores.push((value, one)),
                    }
                }
            }
        }
        scores.sort_by(|(left, best), (right, score)| {
            score.cmp(best).then_with(|| in_order(left, right))
        });
        let rank = |own: &Number| 1 + scores.iter().filter(|(_, score)| score > own).count() as u64;
        let ranked = |(of, score): &(Value, Number)| Ranked {
            rank: rank(score),
            score: *score,
            of: of.clone(),
            is_settling: false,
        };
        scores.iter().map(ranked).collect()
    }
}

/// Values of one type in their order.
fn in_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::S(left), Value::S(right)) => left.cmp(right),
        (Value::N(left), Value::N(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (left, right) => panic!("{left:?} and {right:?} have no order"),
    }
}

fn read_numbers(query: &CountQuery, random: &mut Random) -> Vec<Counted> {
    let (mut all, mut next) = (vec![], None);
    loop {
        let mut query = query.clone().limit(1 + random.below(4) as u32);
        if let Some(cursor) = next {
            query = query.after(cursor);
        }
        let page = block_on(query.read()).expect("a count is read");
        all.extend(page.items);
        match page.next {
            None => return all,
            cursor => next = cursor,
        }
    }
}

pub(crate) fn read_board(query: &BoardQuery, random: &mut Random) -> Vec<Ranked> {
    let (mut all, mut next) = (vec![], None);
    loop {
        let mut query = query.clone().limit(1 + random.below(4) as u32);
        if let Some(cursor) = next {
            query = query.after(cursor);
        }
        let page = block_on(query.read()).expect("a board is read");
        all.extend(page.items);
        match page.next {
            None => return all,
            cursor => next = cursor,
        }
    }
}
