//! A simulated world: contacts with methods, searches, people who answer, call off and change
//! methods, several workers, a clock that jumps, and power that goes.

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use keyloom::events::{FeedStart, Handlers, Next, Work};
use keyloom::{Clock, Db, Error, Options, Record, Store, Value};
use keyloom_oncall::{Ending, MODEL, NotEnded, Service, end};
use keyloom_store::{Background, Engine, Options as EngineOptions, Reference, Time};
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::receivers::{Known, Manner, Receivers, Seeded};

pub(crate) const DOMAIN: &str = "acme";
/// Longer than any lease.
const LONG_MS: u64 = 70_000;

/// What happens in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Nothing but hunts: everything can be predicted.
    Calm,
    /// Everything, and programs that are killed.
    Stormy,
    /// Everything, and power that goes at any sync of the disk.
    Powerless,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) clock: ManualClock,
    disk: Option<SimDisk>,
    store: Arc<dyn Store>,
    entropy: Arc<Seeded>,
    pub(crate) receivers: Arc<Receivers>,
    service: Arc<Service>,
    pub(crate) contacts: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) searches: Vec<String>,
    /// Searches that somebody has ended for sure.
    pub(crate) ended: BTreeSet<String>,
}

type Working<'w> = Pin<Box<dyn Future<Output = Result<Work, Error>> + 'w>>;
type Ended<'w> = Pin<Box<dyn Future<Output = Result<Record, NotEnded>> + 'w>>;

/// Somebody who is about to end a search.
struct Person<'w> {
    search: String,
    ending: Ended<'w>,
}

impl World {
    pub(crate) fn new(seed: u64, weather: Weather) -> World {
        let clock = ManualClock::new();
        let disk = (weather == Weather::Powerless).then(|| SimDisk::new(seed));
        let store: Arc<dyn Store> = match &disk {
            None => Arc::new(Reference::new(Arc::new(clock.clone()))),
            Some(disk) => Arc::new(engine(disk, &clock)),
        };
        let entropy = Arc::new(Seeded(Mutex::new(Random::new(seed ^ 2))));
        let receivers = Receivers::new(seed ^ 1, &clock);
        let service = Arc::new(Service {
            clock: Arc::new(clock.clone()),
            entropy: entropy.clone(),
            carry: receivers.clone(),
            url: Arc::new(OnceLock::from("https://oncall.example".to_owned())),
        });
        let random = Random::new(seed);
        let (contacts, methods, searches) = (vec![], vec![], vec![]);
        let ended = BTreeSet::new();
        World {
            random,
            clock,
            disk,
            store,
            entropy,
            receivers,
            service,
            contacts,
            methods,
            searches,
            ended,
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.now().0).unwrap()
    }

    pub(crate) fn handlers(&self) -> Handlers {
        self.service.handlers()
    }

    async fn open(&self, store: Arc<dyn Store>) -> Result<Db, Error> {
        let (clock, entropy) = (Arc::new(self.clock.clone()), self.entropy.clone());
        Db::open_with(MODEL, store, Options { clock, entropy, ..Options::default() }).await
    }

    /// The database, and that of the domain; receivers look into it.
    pub(crate) fn database(&self) -> Result<(Db, Db), Error> {
        let db = block_on(self.open(self.store.clone()))?;
        self.receivers.know(Known::Now(db.clone()));
        let domain = db.tenant(Value::from(DOMAIN));
        Ok((db, domain))
    }

    /// Contacts with methods.
    pub(crate) fn populate(&mut self, domain: &Db) -> Result<(), Error> {
        for number in 0..1 + self.random.below(3) {
            let contact = json!({ "name": format!("c{number}") });
            let contact = block_on(domain.create("contact", &contact))?.id().to_owned();
            for _ in 0..self.random.below(5) {
                self.add_method(domain, &contact)?;
            }
            self.contacts.push(contact);
        }
        Ok(())
    }

    fn add_method(&mut self, domain: &Db, contact: &str) -> Result<(), Error> {
        let kind = *self.random.pick(&["call", "text", "email", "webhook"]);
        let number = self.methods.len();
        let destination = match kind {
            "email" => format!("d{number}@example.com"),
            "webhook" => format!("https://example.com/{number}"),
            _ => format!("+1555{number:04}"),
        };
        let method = json!({ "contact": contact, "kind": kind, "destination": destination,
            "wait_seconds": self.wait_seconds(), "enabled": self.random.chance(5, 6),
            "position": self.random.below(6) });
        let method = block_on(domain.create("method", &method))?;
        self.methods.push(method.id().to_owned());
        Ok(())
    }

    fn wait_seconds(&mut self) -> u64 {
        *self.random.pick(&[0, 0, 0, 1, 30, 600, 7_200, 86_400])
    }

    pub(crate) fn search(&mut self, domain: &Db) -> Result<(), Error> {
        let mut then = self.random.some_of(&self.contacts, 2);
        // One who is gone before the hunt gets there.
        let gone = match self.random.chance(1, 8) {
            true => Some(block_on(domain.create("contact", &json!({ "name": "gone" })))?),
            false => None,
        };
        then.extend(gone.as_ref().map(|contact| contact.id().to_owned()));
        let patience = *self.random.pick(&[0, 1, 300, 86_400]);
        let search = json!({ "contact": self.random.pick(&self.contacts), "then": then,
            "patience_seconds": patience, "subject": { "what": "fire" }, "message": "{what}!" });
        let search = block_on(domain.create("search", &search))?;
        if let Some(contact) = gone {
            block_on(domain.delete("contact", contact.id()))?;
        }
        self.searches.push(search.id().to_owned());
        Ok(())
    }

    /// Workers of two processes, people, and time, in a random order.
    pub(crate) fn play(&mut self, steps: u32) -> Result<(), Error> {
        let (_, domain) = self.database()?;
        if self.contacts.is_empty() {
            self.populate(&domain)?;
        }
        self.receivers.behave(Manner { fail: 20, refuse: 5, slow: 20 });
        let slow: Arc<dyn Store> = pausing(self.store.clone());
        let slow = interleave(self.open(slow), |_| {})?;
        let slow_domain = slow.tenant(Value::from(DOMAIN));
        let (first, second) = (self.handlers(), self.handlers());
        let of = |index: usize| if index == 2 { &second } else { &first };
        let mut works: Vec<Option<Working<'_>>> = vec![None, None, None];
        let mut people: Vec<Person<'_>> = vec![];
        for _ in 0..steps {
            match self.random.below(60) {
                0 | 1 => self.clock.advance_ms(self.random.below(3_000)),
                2 if self.random.chance(1, 4) => self.clock.advance_ms(LONG_MS),
                3 if self.random.chance(1, 3) => {
                    self.clock.advance_ms(self.random.below(90_000_000))
                }
                4 if self.searches.len() < 6 => self.search(&domain)?,
                5 if self.random.chance(1, 2) => self.edit(&domain)?,
                6 if self.random.chance(1, 3) => people.extend(self.person(&slow_domain)),
                7 if self.random.chance(1, 8) => works[self.random.index(3)] = None,
                8 if self.random.chance(1, 8) => {
                    // Every search that was ever opened is told of again.
                    block_on(slow_resume(&domain))?;
                }
                9..=24 if !people.is_empty() => {
                    let index = self.random.index(people.len());
                    if let Some(ended) = go_on(people[index].ending.as_mut()) {
                        let person = people.swap_remove(index);
                        self.note_end(person.search, ended)?;
                    }
                }
                _ => {
                    if self.disk.is_some() {
                        self.receivers.know(Known::Ended(self.over(&domain)?));
                    }
                    let index = self.random.index(works.len());
                    let work = works[index]
                        .get_or_insert_with(|| Box::pin(slow.work(of(index))) as Working<'_>);
                    if let Some(done) = go_on(work.as_mut()) {
                        works[index] = None;
                        assert!(done?.problems.is_empty());
                    }
                }
            }
        }
        Ok(())
    }

    /// The searches that have ended.
    fn over(&self, domain: &Db) -> Result<BTreeSet<String>, Error> {
        let mut over = BTreeSet::new();
        for id in &self.searches {
            let search = block_on(domain.get("search", id))?;
            if search.is_some_and(|search| search.get("status") != Some(&"active".into())) {
                over.insert(id.clone());
            }
        }
        Ok(over)
    }

    /// Somebody changes, adds, moves or removes a method.
    fn edit(&mut self, domain: &Db) -> Result<(), Error> {
        if self.methods.is_empty() || self.random.chance(1, 5) {
            let contact = self.random.pick(&self.contacts).clone();
            return self.add_method(domain, &contact);
        }
        let method = self.random.pick(&self.methods).clone();
        let patch = match self.random.below(4) {
            0 => {
                return match block_on(domain.delete("method", &method)) {
                    Err(Error::NotFound { .. }) => Ok(()),
                    deleted => deleted,
                };
            }
            1 => json!({ "enabled": self.random.chance(1, 2) }),
            2 => json!({ "wait_seconds": self.wait_seconds() }),
            _ => json!({ "position": self.random.below(6) }),
        };
        match block_on(domain.update("method", &method, &patch)) {
            Err(Error::NotFound { .. }) => Ok(()),
            updated => updated.map(drop),
        }
    }

    /// One or two people who are about to end the same search, at the same moment.
    fn person<'w>(&mut self, domain: &'w Db) -> Vec<Person<'w>> {
        if self.searches.is_empty() {
            return vec![];
        }
        let search = self.random.pick(&self.searches).clone();
        let now_ms = self.now_ms();
        let mut people = vec![];
        for number in 0..1 + self.random.below(2) {
            let attempt =
                self.receivers.came().iter().rev().find_map(|came| {
                    (came.message.search == search).then(|| came.message.key.clone())
                });
            let by = format!("p{number}");
            let ending = match self.random.chance(1, 2) {
                true => Ending::Answered { by, attempt, note: None },
                false => Ending::Canceled { by, reason: None },
            };
            let id = search.clone();
            let ending = async move { end(domain, &id, &ending, now_ms).await };
            people.push(Person { search: search.clone(), ending: Box::pin(ending) });
        }
        people
    }

    fn note_end(&mut self, search: String, ended: Result<Record, NotEnded>) -> Result<(), Error> {
        match ended {
            Ok(_) => assert!(self.ended.insert(search), "a search ends once"),
            Err(NotEnded::Failed(Error::Contended) | NotEnded::Already(_)) => {}
            Err(NotEnded::Failed(error)) => return Err(error),
            Err(NotEnded::Gone) => panic!("nobody deletes searches here"),
        }
        Ok(())
    }

    /// Plays, and kills everything in the middle; then opens what is left.
    pub(crate) fn play_and_crash(&mut self, steps: u32) {
        let Some(disk) = self.disk.clone() else {
            self.play(steps).expect("a store in memory never fails");
            return;
        };
        disk.crash_at_sync(1 + self.random.below(80));
        let played = self.play(steps);
        assert!(played.is_ok() || disk.crashed(), "{played:?}");
        if !disk.crashed() {
            disk.crash_now();
        }
        self.receivers.know(Known::Nothing);
        let disk = disk.after_crash(self.random.next_u64());
        self.store = Arc::new(engine(&disk, &self.clock));
        self.disk = Some(disk);
        self.forget_the_lost();
    }

    /// What was made while the power went may not be there: people look.
    fn forget_the_lost(&mut self) {
        let Ok((_, domain)) = self.database() else { panic!("it opens") };
        let is_there = |entity: &str, id: &String| {
            block_on(domain.get(entity, id)).expect("the store answers").is_some()
        };
        assert!(self.contacts.iter().all(|id| is_there("contact", id)), "it was answered");
        assert!(self.searches.iter().all(|id| is_there("search", id)), "it was answered");
    }

    /// Everything goes well from here on, until there is nothing left to do.
    pub(crate) fn settle(&mut self) -> (Db, Db) {
        self.receivers.behave(Manner::default());
        let (db, domain) = self.database().expect("it opens");
        let handlers = self.handlers();
        for _ in 0..50_000 {
            let work = block_on(db.work(&handlers)).expect("it works");
            assert!(work.problems.is_empty());
            match work.next {
                Next::Now => {}
                Next::At(ms) => {
                    let now = self.clock.now().0;
                    self.clock.set(Time(u64::try_from(ms).unwrap().max(now + 1)));
                }
                Next::Idle => return (db, domain),
            }
        }
        panic!("there is always more to do");
    }
}

async fn slow_resume(db: &Db) -> Result<(), Error> {
    match db.resume("hunt", FeedStart::Oldest).await {
        Err(Error::Contended) => Ok(()),
        resumed => resumed,
    }
}

fn engine(disk: &SimDisk, clock: &ManualClock) -> Engine {
    let options = EngineOptions {
        background: Background::Manual,
        clock: Arc::new(clock.clone()),
        disk: Arc::new(disk.clone()),
        ..EngineOptions::default()
    };
    Engine::open(Path::new("/data"), options).expect("the engine opens")
}
