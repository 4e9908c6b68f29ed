//! A simulated world: contacts with methods, searches, people who answer, cancel and edit, several workers,
//! a manual clock, and power failures.

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use keyloom::events::{FeedStart, Handlers, Next, Work};
use keyloom::{Clock, Db, Error, Options, Record, Store, Value};
use keyloom_oncall::{Ending, MODEL, NotEnded, Service, end};
use keyloom_store::{Background, Engine, MemoryStore, Options as EngineOptions, Time};
use keyloom_testkit::pausing::{go_on, interleave, pausing};
use keyloom_testkit::{ManualClock, Random, SimDisk};
use pollster::block_on;
use serde_json::json;

use crate::receivers::{Faulty, Known, Manner, Receivers, Seeded};

pub(crate) const DOMAIN: &str = "acme";
/// Longer than any lease.
const LONG_MS: u64 = 70_000;
/// The silence of a process on a shared store after which others run its jobs.
const SILENT_MS: u64 = 6_000;
/// The percentage of links for which the machine has no random bytes.
const FAULTS: u64 = 5;

/// The disturbances of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// None: everything can be predicted.
    Calm,
    /// People and killed programs.
    Stormy,
    /// People and power failures at any sync.
    Powerless,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) clock: ManualClock,
    disk: Option<SimDisk>,
    store: Arc<dyn Store>,
    entropy: Arc<Seeded>,
    faulty: Arc<Faulty>,
    pub(crate) receivers: Arc<Receivers>,
    service: Arc<Service>,
    pub(crate) contacts: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) searches: Vec<String>,
    /// Searches that are known to be ended by somebody.
    pub(crate) ended: BTreeSet<String>,
}

type Working = Pin<Box<dyn Future<Output = Result<Work, Error>>>>;
type Ended<'w> = Pin<Box<dyn Future<Output = Result<Record, NotEnded>> + 'w>>;

/// A process with its workers. A killed one is replaced by another.
struct Process {
    db: Db,
    handlers: Arc<Handlers>,
    works: Vec<Option<Working>>,
}

impl Process {
    /// The work of a worker; starts some if it is idle.
    fn work(&mut self, worker: usize) -> &mut Option<Working> {
        let Process { db, handlers, works } = self;
        works[worker].get_or_insert_with(|| {
            let (db, handlers) = (db.clone(), handlers.clone());
            Box::pin(async move { db.work(&handlers).await })
        });
        &mut works[worker]
    }
}

/// A person about to end a search.
struct Person<'w> {
    search: String,
    ending: Ended<'w>,
}

impl World {
    pub(crate) fn new(seed: u64, weather: Weather) -> World {
        let clock = ManualClock::new();
        let disk = (weather == Weather::Powerless).then(|| SimDisk::new(seed));
        let store: Arc<dyn Store> = match &disk {
            None => Arc::new(MemoryStore::new(Arc::new(clock.clone()))),
            Some(disk) => Arc::new(engine(disk, &clock)),
        };
        let entropy = Arc::new(Seeded(Mutex::new(Random::new(seed ^ 2))));
        let faulty = Arc::new(Faulty(Mutex::new((Random::new(seed ^ 3), 0))));
        let receivers = Receivers::new(seed ^ 1, &clock);
        let service = Arc::new(Service {
            clock: Arc::new(clock.clone()),
            entropy: faulty.clone(),
            transport: receivers.clone(),
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
            faulty,
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

    /// Makes the creation of a percentage of links fail.
    pub(crate) fn fail_links(&self, percent: u64) {
        self.faulty.0.lock().unwrap().1 = percent;
    }

    pub(crate) fn handlers(&self) -> Handlers {
        self.service.handlers()
    }

    async fn open(&self, store: Arc<dyn Store>) -> Result<Db, Error> {
        let (clock, entropy) = (Arc::new(self.clock.clone()), self.entropy.clone());
        Db::open_with(MODEL, store, Options { clock, entropy, ..Options::default() }).await
    }

    /// The database, and that of the domain, which receivers read.
    pub(crate) fn database(&self) -> Result<(Db, Db), Error> {
        let db = block_on(self.open(self.store.clone()))?;
        self.receivers.know(Known::Now(db.clone()));
        let domain = db.tenant(Value::from(DOMAIN));
        Ok((db, domain))
    }

    /// Creates contacts with methods.
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
        // A contact that is deleted before the hunt reaches it.
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

    /// Runs the workers of two processes, people and the clock in a random order.
    pub(crate) fn play(&mut self, steps: u32) -> Result<(), Error> {
        let (_, domain) = self.database()?;
        if self.contacts.is_empty() {
            self.populate(&domain)?;
        }
        self.receivers.behave(Manner { fail: 20, refuse: 5, slow: 20 });
        self.fail_links(FAULTS);
        let slow: Arc<dyn Store> = pausing(self.store.clone());
        let slow = interleave(self.open(slow), |_| {})?;
        let slow_domain = slow.tenant(Value::from(DOMAIN));
        let mut processes = [self.process(2)?, self.process(1)?];
        let mut people: Vec<Person<'_>> = vec![];
        for _ in 0..steps {
            match self.random.below(60) {
                0 | 1 => self.pass(3_000, &processes)?,
                2 if self.random.chance(1, 4) => self.clock.advance_ms(LONG_MS),
                3 if self.random.chance(1, 3) => {
                    self.clock.advance_ms(self.random.below(90_000_000))
                }
                4 if self.searches.len() < 6 => self.search(&domain)?,
                5 if self.random.chance(1, 2) => self.edit(&domain)?,
                6 if self.random.chance(1, 3) => people.extend(self.person(&slow_domain)),
                7 if self.random.chance(1, 8) => self.kill(&mut processes)?,
                8 if self.random.chance(1, 8) => {
                    // Every insertion of a search is delivered again.
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
                    let worker = self.random.index(3);
                    let slot = processes[worker / 2].work(worker % 2);
                    if let Some(done) = slot.as_mut().and_then(|work| go_on(work.as_mut())) {
                        *slot = None;
                        assert!(done?.problems.is_empty());
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts a process.
    fn process(&self, workers: usize) -> Result<Process, Error> {
        let db = interleave(self.open(pausing(self.store.clone())), |_| {})?;
        interleave(db.heartbeat(), |_| {})?;
        let works = (0..workers).map(|_| None).collect();
        Ok(Process { db, handlers: Arc::new(self.handlers()), works })
    }

    /// Advances the clock. All processes send heartbeats, except one that stalls.
    fn pass(&mut self, ms_max: u64, processes: &[Process]) -> Result<(), Error> {
        self.clock.advance_ms(self.random.below(ms_max));
        for process in processes {
            if self.random.chance(7, 8) {
                interleave(process.db.heartbeat(), |_| {})?;
            }
        }
        Ok(())
    }

    /// Stops one worker, or kills and restarts a process.
    fn kill(&mut self, processes: &mut [Process; 2]) -> Result<(), Error> {
        let killed = &mut processes[self.random.index(2)];
        match self.random.chance(1, 2) {
            true => *killed = self.process(killed.works.len())?,
            false => {
                let worker = self.random.index(killed.works.len());
                killed.works[worker] = None;
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

    /// Changes, adds, moves or removes a method.
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

    /// One or two people who end the same search concurrently.
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

    /// Runs, fails the power in the middle, then opens what is left.
    pub(crate) fn play_and_crash(&mut self, steps: u32) {
        if self.disk.is_none() {
            self.play(steps).expect("a store in memory never fails");
            return;
        }
        let sync = 1 + self.random.below(80);
        self.crash_at_sync(sync);
        let played = self.play(steps);
        self.reopen(&played);
    }

    /// Fails the power at this sync of the disk, counted from now.
    pub(crate) fn crash_at_sync(&self, sync: u64) {
        self.disk.as_ref().expect("it has a disk").crash_at_sync(sync);
    }

    /// Fails the power, unless it has failed before, and opens what is left.
    pub(crate) fn reopen(&mut self, played: &Result<(), Error>) {
        let disk = self.disk.clone().expect("it has a disk");
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

    /// Forgets contacts and searches that the power failure has lost.
    fn forget_the_lost(&mut self) {
        let Ok((_, domain)) = self.database() else { panic!("it opens") };
        let is_there = |entity: &str, id: &String| {
            block_on(domain.get(entity, id)).expect("the store answers").is_some()
        };
        assert!(self.contacts.iter().all(|id| is_there("contact", id)), "it was answered");
        assert!(self.searches.iter().all(|id| is_there("search", id)), "it was answered");
    }

    /// Runs without disturbances until nothing is left to do. Jobs of earlier processes restart at once or,
    /// on a shared store, after their processes have been silent.
    pub(crate) fn settle(&mut self) -> (Db, Db) {
        self.receivers.behave(Manner::default());
        self.fail_links(0);
        let (db, domain) = self.database().expect("it opens");
        let handlers = self.handlers();
        let held = held(&db);
        let resumed = self.clock.now().0 + if self.disk.is_some() { 0 } else { SILENT_MS };
        for _ in 0..50_000 {
            let work = block_on(db.work(&handlers)).expect("it works");
            assert!(work.problems.is_empty());
            let now = self.clock.now().0;
            if work.next != Next::Now && now >= resumed {
                assert!(held.is_disjoint(&self::held(&db)), "a job waits for its lease");
            }
            match work.next {
                Next::Now => {}
                Next::At(ms) => {
                    self.clock.set(Time(u64::try_from(ms).unwrap().max(now + 1)));
                }
                Next::Idle => return (db, domain),
            }
        }
        panic!("there is always more to do");
    }
}

/// The jobs that are held, each with its version.
fn held(db: &Db) -> BTreeSet<(String, String)> {
    let running = db.list("job", "by_status").by("status", "running").limit(1000);
    let running = block_on(running.read()).expect("the store answers").items;
    let held = running.iter().filter(|job| job.get("holder").is_some_and(|h| *h != Value::Null));
    held.map(|job| (job.id().to_owned(), job.version().to_owned())).collect()
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
