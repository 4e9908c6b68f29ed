//! Invariants of every hunt, checked against the change feed and the records of the receivers.

use std::collections::{BTreeMap, BTreeSet};

use keyloom::events::{Event, Position, TriggeringChange};
use keyloom::{Db, Number, Record, Repair, Value};
use pollster::block_on;

use crate::world::World;

/// All changes, from the feed.
pub(crate) fn history(db: &Db) -> Vec<Event> {
    let mut events = vec![];
    let mut position = Position::default();
    loop {
        let page = block_on(db.events(&position, 1_000)).expect("it is kept");
        events.extend(page.events);
        position = page.next;
        if !page.is_full {
            return events;
        }
    }
}

pub(crate) fn text<'r>(record: &'r Record, field: &str) -> &'r str {
    record.get(field).and_then(Value::as_s).unwrap_or("")
}

pub(crate) fn number(record: &Record, field: &str) -> i64 {
    record.get(field).and_then(Value::as_n).and_then(Number::to_i64).unwrap_or(0)
}

/// Asserts all invariants. `domain` is the database of the searches' tenant.
pub(crate) fn assert_lawful(world: &World, (db, domain): &(Db, Db)) {
    let events = history(db);
    for search in &world.searches {
        assert_ends_once(world, &events, search);
        assert_steps_happen_once(&events, search);
    }
    assert_attempts_are_written_once_and_before_the_end(&events);
    assert_order_and_waits(&events);
    assert_deliveries(world, domain, &events);
    assert_no_stage_ends_with_a_message_unsent(world, &events);
    assert_nothing_is_sent_after_the_end(world, &events);
    assert_nothing_is_left(world, db);
}

fn of<'e>(events: &'e [Event], entity: &'e str) -> impl Iterator<Item = &'e Event> {
    events.iter().filter(move |event| event.entity == entity)
}

/// Every search ends in exactly one final status, and does not change afterwards.
fn assert_ends_once(world: &World, events: &[Event], search: &str) {
    let states: Vec<&str> = of(events, "search")
        .filter(|event| event.id == search)
        .filter_map(|event| event.new.as_ref())
        .map(|new| text(new, "status"))
        .collect();
    let (last, before) = states.split_last().expect("it was opened");
    assert!(before.iter().all(|status| *status == "active"), "{search}: {states:?}");
    assert_ne!(*last, "active", "{search} has not ended");
    if world.ended.contains(search) {
        assert_ne!(*last, "failed", "{search} failed after its end was acknowledged");
    }
}

/// Each step happens exactly once.
fn assert_steps_happen_once(events: &[Event], search: &str) {
    let updates = of(events, "search").filter(|event| event.id == search);
    for event in updates {
        let (Some(old), Some(new)) = (&event.old, &event.new) else { continue };
        let (from, to) = (number(old, "step"), number(new, "step"));
        let is_hunts = !["successful", "canceled"].contains(&text(new, "status"));
        assert_eq!(to - from, i64::from(is_hunts), "{search}: from step {from} to {to}");
        let stages = number(new, "stage") - number(old, "stage");
        assert!((0..=1).contains(&stages), "{search} goes through its stages one by one");
    }
}

fn assert_attempts_are_written_once_and_before_the_end(events: &[Event]) {
    let mut written = BTreeSet::new();
    let mut ended = BTreeSet::new();
    for event in events {
        let Some(new) = &event.new else { continue };
        if event.entity == "search" && text(new, "status") != "active" {
            ended.insert(event.id.as_str());
        }
        if event.entity == "attempt" && event.change == TriggeringChange::Insert {
            assert!(written.insert(event.id.as_str()), "{} is written twice", event.id);
            let search = text(new, "search");
            assert!(!ended.contains(search), "{} is written after the end", event.id);
        }
    }
}

/// When a method was used, its position and its id.
type Used = (i64, i64, String);

/// Within a stage methods are used in order, each no earlier than its wait after the previous one. A method
/// may change while a step is decided, so any of its past states is accepted.
fn assert_order_and_waits(events: &[Event]) {
    let mut shortest: BTreeMap<&str, i64> = BTreeMap::new();
    for event in of(events, "method") {
        if let Some(new) = &event.new {
            let wait = number(new, "wait_seconds") * 1000;
            let known = shortest.entry(&event.id).or_insert(wait);
            *known = wait.min(*known);
        }
    }
    // Attempts of one transaction have no order.
    let mut stages: BTreeMap<(String, i64), Vec<Used>> = BTreeMap::new();
    for event in of(events, "attempt").filter(|event| event.change == TriggeringChange::Insert) {
        let new = event.new.as_ref().expect("it was made");
        let stage = (text(new, "search").to_owned(), number(new, "stage"));
        let place = (number(new, "position"), text(new, "method").to_owned());
        stages.entry(stage).or_default().push((number(new, "created"), place.0, place.1));
    }
    for ((search, stage), mut used) in stages {
        used.sort();
        for pair in used.windows(2) {
            let [(time, position, method), (next_time, next_position, next)] = pair else {
                continue;
            };
            let about = format!("{search}, stage {stage}: {method}, {next}");
            assert!((position, method) < (next_position, next), "{about}: out of order");
            assert!(next_time - time >= shortest[next.as_str()], "{about}: too early");
        }
    }
}

/// Each attempt was delivered, unless its search ended first or its receiver refused it; and nothing else
/// was delivered.
fn assert_deliveries(world: &World, domain: &Db, events: &[Event]) {
    let came: BTreeSet<String> =
        world.receivers.came().into_iter().map(|came| came.message.key).collect();
    let refused = world.receivers.refused();
    let mut attempts = BTreeSet::new();
    for event in of(events, "attempt").filter(|event| event.change == TriggeringChange::Insert) {
        attempts.insert(event.id.clone());
        let attempt = block_on(domain.get("attempt", &event.id)).expect("the store answers");
        let attempt = attempt.expect("it is there");
        let has_come = came.contains(&event.id);
        match text(&attempt, "status") {
            "delivered" => assert!(has_come, "{} is said to be delivered", event.id),
            // It may have been delivered before a crash that lost the record.
            "dropped" => {}
            _ => assert!(refused.contains(&event.id), "{} is forgotten", event.id),
        }
    }
    assert!(came.is_subset(&attempts), "nothing is sent that was not written before");
    for came in world.receivers.came() {
        let Some(attempt) = block_on(domain.get("attempt", &came.message.key)).unwrap() else {
            panic!("{} was written", came.message.key);
        };
        assert!(number(&attempt, "created") <= came.time_ms, "it is written before it is sent");
        assert!(came.message.text.contains("fire!"), "{}", came.message.text);
    }
}

/// A hunt escalates or fails only after delivery of each message of the stage was attempted.
fn assert_no_stage_ends_with_a_message_unsent(world: &World, events: &[Event]) {
    let met = world.receivers.met();
    let ends = ends_of_stages(events);
    for event in of(events, "attempt").filter(|event| event.change == TriggeringChange::Insert) {
        let attempt = event.new.as_ref().expect("it was made");
        let stage = (text(attempt, "search").to_owned(), number(attempt, "stage"));
        let Some(ended_ms) = ends.get(&stage) else { continue };
        let is_tried = met.get(&event.id).is_some_and(|met_ms| met_ms <= ended_ms);
        assert!(is_tried, "{} was not tried when its stage ended", event.id);
    }
}

/// When stages ended by escalation or failure, not by an answer or a cancellation.
fn ends_of_stages(events: &[Event]) -> BTreeMap<(String, i64), i64> {
    let mut ends = BTreeMap::new();
    for event in of(events, "search") {
        let (Some(old), Some(new)) = (&event.old, &event.new) else { continue };
        let stage = number(old, "stage");
        let has_failed = text(old, "status") == "active" && text(new, "status") == "failed";
        if number(new, "stage") != stage || has_failed {
            ends.insert((event.id.clone(), stage), event.time_ms);
        }
    }
    ends
}

/// Messages were sent only while their search was active. Receivers check that on arrival; this checks the
/// times, for messages that arrive while the store cannot be read.
fn assert_nothing_is_sent_after_the_end(world: &World, events: &[Event]) {
    let mut ends: BTreeMap<&str, i64> = BTreeMap::new();
    for event in of(events, "search") {
        if event.new.as_ref().is_some_and(|new| text(new, "status") != "active") {
            ends.entry(&event.id).or_insert(event.time_ms);
        }
    }
    for came in world.receivers.came() {
        let ended_ms = ends.get(came.message.search.as_str()).expect("every search ends");
        assert!(came.time_ms <= *ended_ms, "{} was sent after the end", came.message.key);
    }
}

fn assert_nothing_is_left(world: &World, db: &Db) {
    let backlog = block_on(db.backlog()).expect("the store answers");
    assert_eq!((backlog.due, backlog.waiting, backlog.running, backlog.queued), (0, 0, 0, 0));
    let refused = u32::try_from(world.receivers.refused().len()).unwrap();
    assert!(backlog.failed <= refused, "nothing is a dead letter but what was refused");
    assert!(backlog.consumers.iter().all(|lag| lag.events == 0 && !lag.is_lost));
    let findings = block_on(db.verify(Repair::No, |_| {})).expect("the store answers");
    assert!(findings.is_empty(), "{findings:?}");
}
