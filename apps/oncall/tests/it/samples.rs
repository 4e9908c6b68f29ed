//! The sample data of the demo: generated once, starts no hunts, and equals what the hunt would write.

use std::collections::BTreeSet;

use keyloom::events::Next;
use keyloom::{Db, Entry, Existing, Imported, Item, Repair, Value};
use keyloom_oncall::{Ending, end, sample};
use keyloom_store::Time;
use pollster::block_on;
use serde_json::Value as Json;

use crate::world::{Weather, World};

const SIZE: u64 = 12;

fn import(db: &Db, entries: &[Entry]) -> Vec<Imported> {
    let chunks = entries.chunks(4);
    let imported = chunks.map(|chunk| block_on(db.import(chunk.to_vec(), Existing::Replace)));
    imported.flat_map(|imported| imported.expect("samples are right")).collect()
}

fn all(size: u64) -> Vec<Entry> {
    (0..size).flat_map(|number| sample(number, size)).collect()
}

#[test]
fn samples_are_generated_once_and_start_no_hunt() {
    for size in [1, 2, 6] {
        let world = World::new(1, Weather::Calm);
        let (db, domain) = world.database().unwrap();
        let entries = all(size);
        assert!(import(&db, &entries).iter().all(|one| *one == Imported::Created));
        assert!(import(&db, &entries).iter().all(|one| *one == Imported::Unchanged));
        let handlers = world.handlers();
        while block_on(db.work(&handlers)).unwrap().next != Next::Idle {}
        let backlog = block_on(db.backlog()).unwrap();
        assert_eq!((backlog.waiting, backlog.running, backlog.failed), (0, 0, 0));
        assert!(world.receivers.came().is_empty(), "nobody is messaged");
        assert!(import(&db, &entries).iter().all(|one| *one == Imported::Unchanged));
        assert!(block_on(db.verify(Repair::No, |_| {})).unwrap().is_empty());
        let contacts = block_on(domain.list("contact", "by_name").limit(100).read()).unwrap();
        assert_eq!(contacts.items.len() as u64, size);
    }
}

#[test]
fn a_thousand_sample_contacts_have_distinct_ids_and_destinations() {
    let world = World::new(1, Weather::Calm);
    let (db, _) = world.database().unwrap();
    for number in [0, 455, 456, 999] {
        let imported = import(&db, &sample(number, 1000));
        assert!(imported.iter().all(|one| *one == Imported::Created), "{number}");
    }
    let entries = all(1000);
    let ids: BTreeSet<_> = entries.iter().map(|entry| (&entry.entity, &entry.id)).collect();
    assert_eq!(ids.len(), entries.len());
    let of = |entity: &'static str| entries.iter().filter(move |entry| entry.entity == entity);
    assert_eq!(of("contact").count(), 1000);
    let mut mails: Vec<&Value> = of("method")
        .filter(|method| method.fields.get("kind") == Some(&Value::from("email")))
        .filter_map(|method| method.fields.get("destination"))
        .collect();
    let count = mails.len();
    mails.sort_by_key(|mail| mail.as_s());
    mails.dedup();
    assert_eq!(mails.len(), count, "no two contacts share an address");
}

/// The stored search and its attempts, without references of the provider.
fn stored(domain: &Db, search: &str) -> Vec<Json> {
    let record = block_on(domain.get("search", search)).unwrap().unwrap();
    let list = domain.list("attempt", "by_search").by("search", search);
    let attempts = block_on(list.read()).unwrap().items;
    let plain = |json: String| {
        let mut json: Json = serde_json::from_str(&json).unwrap();
        for name in ["version", "reference"] {
            json.as_object_mut().unwrap().remove(name);
        }
        json
    };
    std::iter::once(&record).chain(&attempts).map(|one| plain(one.to_json())).collect()
}

fn text<'i>(item: &'i Item, field: &str) -> Option<&'i str> {
    item.get(field).and_then(Value::as_s)
}

/// The answer or cancellation that ended a search, if any.
fn ending(search: &Item) -> Option<Ending> {
    let Some(Value::M(resolution)) = search.get("resolution") else { panic!("it has ended") };
    let word = |name| text(resolution, name).map(str::to_owned);
    let by = word("by").unwrap();
    match text(search, "status").unwrap() {
        "successful" => Some(Ending::Answered { by, attempt: word("attempt"), note: word("note") }),
        "canceled" => Some(Ending::Canceled { by, reason: word("reason") }),
        _ => None,
    }
}

/// Runs a hunt until its recorded end.
fn run_hunt(search: &Entry, contacts: &[Entry]) -> Vec<Json> {
    let world = World::new(1, Weather::Calm);
    let time = |field| {
        let text = text(&search.fields, field).unwrap().to_owned();
        let stored = keyloom_model::FieldType::Time.to_stored(&Value::from(text));
        Time(stored.as_n().unwrap().to_i64().unwrap().try_into().unwrap())
    };
    let (created, ended) = (time("created"), time("ended"));
    world.clock.set(created);
    let (db, domain) = world.database().unwrap();
    import(&db, contacts);
    let mut opened = search.clone();
    for field in ["status", "stage", "step", "escalated", "ended", "resolution"] {
        opened.fields.remove(field);
    }
    import(&db, &[opened]);
    let handlers = world.handlers();
    loop {
        match block_on(db.work(&handlers)).unwrap().next {
            Next::Now => {}
            Next::At(ms) => {
                let next = Time(ms.try_into().unwrap());
                if let Some(ending) = ending(&search.fields).filter(|_| next > ended) {
                    world.clock.set(ended);
                    let now_ms = ended.0.try_into().unwrap();
                    block_on(end(&domain, &search.id, &ending, now_ms)).expect("it is active");
                    return stored(&domain, &search.id);
                }
                world.clock.set(next);
            }
            Next::Idle => return stored(&domain, &search.id),
        }
    }
}

#[test]
fn past_searches_equal_what_the_hunt_writes() {
    let world = World::new(1, Weather::Calm);
    let (db, domain) = world.database().unwrap();
    let entries = all(SIZE);
    import(&db, &entries);
    let is_contact = |entry: &&Entry| ["contact", "method"].contains(&entry.entity.as_str());
    let contacts: Vec<Entry> = entries.iter().filter(is_contact).cloned().collect();
    let mut statuses = BTreeSet::new();
    for search in entries.iter().filter(|entry| entry.entity == "search") {
        assert_eq!(stored(&domain, &search.id), run_hunt(search, &contacts), "{}", search.id);
        statuses.insert(text(&search.fields, "status").unwrap().to_owned());
    }
    assert_eq!(statuses.len(), 3, "there is one of each end: {statuses:?}");
}
