//! A database and the naive one: every operation runs on both, and the results are compared.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom::{Db, Error, Options, Record};
use keyloom_model::{Layout, Matching, Model, OwnRow};
use keyloom_store::{Clock, Store, Time};
use keyloom_testkit::ManualClock;
use keyloom_value::{Item, Value};
use pollster::block_on;

use super::naive::Key;
use super::{Kind, Naive, Request, Thing, kind_of, rows};

/// A database and the naive one.
pub(crate) struct World {
    pub(crate) db: Db,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: ManualClock,
    pub(crate) layout: Layout,
    pub(crate) naive: Naive,
    pub(crate) marks: Marks,
    /// Runs the background work of the store.
    pub(crate) settle: Box<dyn Fn()>,
    /// Every version that has existed.
    versions: BTreeSet<(String, String)>,
}

/// Whether tombstones of canceled deletions may be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    None,
    /// A deletion was dropped, so its tombstones may be left.
    Some,
}

/// How much is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Entities and rows.
    Rows,
    /// And the results of every query.
    All,
}

impl World {
    pub(crate) fn new(model: &str, store: Arc<dyn Store>, clock: &ManualClock) -> World {
        World::try_new(model, store, clock).expect("the database opens")
    }

    fn try_new(model: &str, store: Arc<dyn Store>, clock: &ManualClock) -> Result<World, Error> {
        let db = block_on(open(model, store.clone(), clock))?;
        let model = keyloom_model::check(model).expect("a model");
        let matching = if store.sets().is_some() { Matching::Sets } else { Matching::Chunks };
        let layout = Layout::new(model.clone(), 1, &Item::new()).keeping(matching);
        let naive = Naive::new(model, now_ms(clock));
        Ok(World {
            db,
            store,
            clock: clock.clone(),
            layout,
            naive,
            marks: Marks::None,
            settle: Box::new(|| {}),
            versions: BTreeSet::new(),
        })
    }

    /// The same database, with the naive one of another world.
    pub(crate) fn new_like(other: &World) -> World {
        World {
            db: other.db.clone(),
            store: other.store.clone(),
            clock: other.clock.clone(),
            layout: other.layout.clone(),
            naive: other.naive.clone(),
            marks: other.marks,
            settle: Box::new(|| {}),
            versions: other.versions.clone(),
        }
    }

    /// An existing database, with its naive one.
    pub(crate) fn reopened(
        model: &str,
        store: Arc<dyn Store>,
        naive: &Naive,
    ) -> Result<World, Error> {
        let clock = ManualClock::new();
        clock.set(Time(u64::try_from(naive.now_ms).expect("a time")));
        let world = World::try_new(model, store, &clock)?;
        Ok(World { naive: naive.clone(), ..world })
    }

    /// The database as a tenant sees it.
    pub(crate) fn db(&self, tenant: Option<&Value>) -> Db {
        match tenant {
            Some(tenant) => self.db.tenant(tenant.clone()),
            None => self.db.clone(),
        }
    }

    /// Advances the clock.
    pub(crate) fn advance(&mut self, ms: u64) {
        self.clock.advance_ms(ms);
        self.naive.now_ms = now_ms(&self.clock);
    }

    /// Changes both, and compares their results and their new states.
    pub(crate) fn change(&mut self, tenant: Option<&Value>, requests: &[Request]) {
        let answer = self.ask(tenant, requests);
        let records = answer.as_deref().unwrap_or_default();
        let made = records.iter().map(|record| Some(record.as_ref()?.id().to_owned()));
        let made: Vec<Option<String>> = made.collect();
        let expected = self.naive.transact(tenant, requests, &made);
        match (answer, expected) {
            (Ok(records), Ok(expected)) => {
                self.naive = expected.after;
                self.compare_things();
                for (record, key) in records.iter().zip(&expected.keys) {
                    self.compare_record(record.as_ref(), self.naive.find(key));
                }
            }
            (Err(error), expected) => {
                let kind = kind_of(&error);
                let is_expected = match &expected {
                    Ok(answer) => {
                        (kind == Kind::Taken && answer.may_be_taken)
                            || (kind == Kind::TooLarge && requests.len() > 1 && answer.cast > 8)
                    }
                    Err(kinds) => kinds.contains(&kind),
                };
                let expected = expected.map(|answer| answer.after.things);
                assert!(is_expected, "{requests:?} fails: {error}; expected: {expected:?}");
                self.compare_things();
            }
            (Ok(records), Err(kinds)) => {
                panic!("{requests:?} answers {records:?}; expected: {kinds:?}")
            }
        }
    }

    fn ask(
        &self,
        tenant: Option<&Value>,
        requests: &[Request],
    ) -> Result<Vec<Option<Record>>, Error> {
        let changes = requests.iter().map(Request::change).collect();
        block_on(self.db(tenant).transact(changes))
    }

    /// Deletes expired entities.
    pub(crate) fn expire(&mut self, limit: u32) -> u32 {
        let count = block_on(self.db.expire(limit)).expect("expiry goes well");
        assert!(count <= limit, "{count} of {limit}");
        self.compare_things();
        count
    }

    /// Once nothing more can be deleted, expired entities remain only if references refuse it.
    pub(crate) fn expire_all(&mut self) {
        // A deleted entity may have prevented the deletion of one that was tried before it.
        while self.expire(1000) > 0 {}
        if self.db.is_backfill_pending() {
            // Entities that expire by a new rule are found after the backfill.
            return;
        }
        for thing in self.naive.things.clone() {
            if self.naive.is_expired(&thing) {
                let expired = self.naive.clone().expire(&thing.key);
                assert_eq!(expired, Err(Kind::InUse), "it could go: {thing:?}");
            }
        }
    }

    /// Compares every entity with its own row. Expired entities may have been deleted at any time.
    pub(crate) fn compare_things(&mut self) {
        let rows = rows::own(&self.layout, &rows::scan(&*self.store));
        for thing in self.naive.things.clone() {
            let is_there = rows.iter().any(|row| self.key(row) == thing.key);
            if !is_there && self.naive.is_expired(&thing) && self.naive.find(&thing.key).is_some() {
                let expired = self.naive.expire(&thing.key);
                assert_eq!(expired, Ok(()), "it is put away, but held: {thing:?}");
            }
        }
        for row in &rows {
            let key = self.key(row);
            let (image, is_pending) = (&row.image, self.db.is_backfill_pending());
            let Some(thing) = self.naive.find_mut(&key) else { panic!("it is there: {row:?}") };
            let mut fields = image.fields.clone();
            if is_pending {
                // Defaults that the row lacks until the backfill are checked elsewhere.
                for (name, value) in &thing.fields {
                    if !fields.contains(name.as_str()) {
                        fields.insert(name, value.clone());
                    }
                }
            }
            assert_eq!(thing.fields, fields, "fields of {key:?}");
            match &thing.version {
                Some(version) => assert_eq!(*version, image.version, "nothing changed {key:?}"),
                None => {
                    // A large deletion gives the same version to all entities whose references it
                    // clears.
                    let version = (format!("{key:?}"), image.version.clone());
                    let is_new = self.versions.insert(version);
                    assert!(is_new, "changed, and has a version of before: {row:?}");
                    thing.version = Some(image.version.clone());
                }
            }
        }
        for thing in &self.naive.things {
            let is_there = rows.iter().any(|row| self.key(row) == thing.key);
            assert!(is_there, "it is gone: {thing:?}");
        }
    }

    /// Every entity, read from its own row.
    pub(crate) fn rows(&self) -> Vec<OwnRow> {
        rows::own(&self.layout, &rows::scan(&*self.store))
    }

    /// Ids of a kind that exist and are not in the given state, in order.
    pub(crate) fn unknown_ids(&self, kind: &str, naive: &Naive) -> Vec<String> {
        let model = &naive.model;
        let keys = self.rows().iter().map(|row| self.key_under(model, row)).collect::<Vec<_>>();
        let unknown = keys.into_iter().filter(|key| key.kind == kind && naive.find(key).is_none());
        let mut ids: Vec<String> = unknown.map(|key| key.id).collect();
        ids.sort();
        ids
    }

    /// The state, if the database equals it; expired entities may have been deleted.
    pub(crate) fn explained(&self, mut naive: Naive) -> Option<Naive> {
        let rows = self.rows();
        for thing in naive.things.clone() {
            let is_there = rows.iter().any(|row| self.key(row) == thing.key);
            if !is_there && naive.is_expired(&thing) && naive.find(&thing.key).is_some() {
                naive.expire(&thing.key).ok()?;
            }
        }
        let is_right = |row: &OwnRow| {
            let thing = naive.find(&self.key(row));
            thing.is_some_and(|thing| {
                let is_version = match &thing.version {
                    Some(version) => *version == row.image.version,
                    None => {
                        let version = (format!("{:?}", self.key(row)), row.image.version.clone());
                        !self.versions.contains(&version)
                    }
                };
                is_version && thing.fields == row.image.fields
            })
        };
        (rows.len() == naive.things.len() && rows.iter().all(is_right)).then_some(naive)
    }

    /// Checks that the rows of the table are those that its entities imply.
    pub(crate) fn compare_rows(&self) {
        let rows = rows::scan(&*self.store);
        let own = rows::own(&self.layout, &rows);
        let found = rows::of_entities(&self.layout, &rows);
        let implied = rows::implied(&self.layout, &own);
        for (key, row) in &implied {
            assert_eq!(found.get(key), Some(row), "a row is missing or wrong");
        }
        for (key, row) in &found {
            assert!(implied.contains_key(key), "no entity implies the row {row:?}");
        }
        let numbers = rows::implied_numbers(&self.layout, &own);
        assert_eq!(rows::numbers(&rows), numbers, "what entities add up to");
    }

    pub(crate) fn compare_record(&self, record: Option<&Record>, thing: Option<&Thing>) {
        match (record, thing) {
            (None, None) => {}
            (Some(record), Some(thing)) => {
                assert_eq!(record.id(), thing.key.id);
                assert_eq!(record.entity(), thing.key.kind);
                assert_eq!(record.fields(), &thing.fields);
                assert_eq!(Some(record.version()), thing.version.as_deref(), "{record:?}");
            }
            (record, thing) => panic!("the answer is {record:?}; expected: {thing:?}"),
        }
    }

    fn key(&self, row: &OwnRow) -> Key {
        self.key_under(self.layout.model(), row)
    }

    /// The key under an earlier model, in which its kind may have another name.
    fn key_under(&self, model: &Model, row: &OwnRow) -> Key {
        let key = &row.image.key;
        let stored = &self.layout.model().entity(key.entity).stored;
        let kind = model.find_stored(stored).map_or(stored, |id| &model.entity(id).name).clone();
        Key { kind, tenant: key.tenant.clone(), id: key.id.clone() }
    }
}

pub(crate) async fn open(
    model: &str,
    store: Arc<dyn Store>,
    clock: &ManualClock,
) -> Result<Db, Error> {
    let clock = Arc::new(clock.clone());
    // A random edit may return to an earlier model.
    let options = Options { clock, allow_older_model: true, ..Options::default() };
    Db::open_with(model, store, options).await
}

pub(crate) fn now_ms(clock: &ManualClock) -> i64 {
    i64::try_from(clock.now().0).expect("a time")
}
