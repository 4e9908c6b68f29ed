//! Workers of processes that share a table: what an idle one costs, and who reads what.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom::events::{Deliver, Delivery, Effects, Failure, Handlers, Next, Pace};
use keyloom::{Change, Clock, Db};
use keyloom_store::ShardId;
use keyloom_testkit::SimClock;
use serde_json::json;

use crate::strict_rig::{Connection, SharedTable, Task, rules};

const MODEL: &str = r#"
[entity.page]
id = "given"
fields.n = "int"
[entity.mark]
id = "given"
[on.page]
insert = "mark"
update = { webhook = "https://example.com/pages" }
"#;

/// The same without the webhook: a process reads a shard for each of its consumers.
fn one_consumer() -> String {
    MODEL.lines().filter(|line| !line.contains("webhook")).collect::<Vec<_>>().join("\n")
}

/// Notes when each page was posted.
#[derive(Debug)]
struct Receiver {
    clock: SimClock,
    posted: Mutex<Vec<(String, u64)>>,
}

impl Deliver for Receiver {
    fn deliver(
        &self,
        delivery: Delivery,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let event: serde_json::Value = serde_json::from_str(&delivery.body).unwrap();
            let id = event["id"].as_str().unwrap_or_default().to_owned();
            self.posted.lock().unwrap().push((id, self.clock.now().0));
            Ok(())
        })
    }
}

/// A process with a worker and a heartbeat, as a server has them.
struct Process {
    connection: Connection,
    db: Db,
    handlers: Handlers,
    receiver: Arc<Receiver>,
    is_killed: AtomicBool,
}

impl Process {
    fn start(table: &SharedTable, model: &str) -> Process {
        let connection = table.connect();
        let db = table.one(connection.open(model));
        let (clock, posted) = (table.clock.clone(), Mutex::default());
        let receiver = Arc::new(Receiver { clock, posted });
        // A handler that fails if an event is handled twice.
        let handlers = Handlers::new().webhooks(receiver.clone()).event("mark", |event| {
            Ok(Effects::new().change(Change::create("mark", &json!({ "id": event.id }))?))
        });
        Process { connection, db, handlers, receiver, is_killed: AtomicBool::new(false) }
    }

    fn is_alive(&self) -> bool {
        !self.is_killed.load(Ordering::Relaxed)
    }

    async fn work(&self, clock: &SimClock) {
        let pace = Pace::new(&self.db);
        while self.is_alive() {
            let now_ms = i64::try_from(clock.now().0).unwrap();
            if pace.next_ms() > now_ms {
                clock.sleep(Duration::from_millis(250)).await;
                continue;
            }
            let work = pace.step(&self.handlers).await.unwrap();
            assert!(work.problems.is_empty(), "{:?}", work.problems);
            assert_eq!(work.failures, 0);
        }
    }

    /// The heartbeat, and what a server does beside its workers.
    async fn live(&self, clock: &SimClock) {
        while self.is_alive() {
            assert!(matches!(self.db.heartbeat().await.unwrap(), Next::At(_)));
            self.db.resume_deletions().await.unwrap();
            clock.sleep(Duration::from_secs(2)).await;
        }
    }

    fn tasks<'p>(&'p self, clock: &'p SimClock) -> [Task<'p>; 2] {
        [Box::pin(self.work(clock)), Box::pin(self.live(clock))]
    }

    /// Ends it without a word.
    fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
    }
}

fn table() -> SharedTable {
    let mut rules = rules();
    rules.seed = 11;
    rules.empty_pages = 0.3;
    SharedTable::new(rules)
}

/// An idle process once made 186 requests a second.
#[test]
fn an_idle_process_makes_less_than_one_request_a_second_and_wakes_up() {
    let table = table();
    let (idle, other) = (Process::start(&table, MODEL), Process::start(&table, MODEL));
    let clock = &table.clock;
    let mut tasks: Vec<Task<'_>> = idle.tasks(clock).into();
    tasks.push(Box::pin(async {
        let put = async |id: &str, n: i64| {
            other.db.put("page", id, &json!({ "n": n })).await.unwrap();
            clock.now().0
        };
        put("a", 0).await;
        clock.sleep(Duration::from_secs(120)).await;
        let before = idle.connection.requests();
        clock.sleep(Duration::from_secs(600)).await;
        let requests = idle.connection.requests() - before;
        assert!(requests < 600, "{requests} in ten minutes: {:?}", idle.connection.counts());
        // What another process does is noticed after a while, and then soon again.
        let mut delays = vec![];
        for n in 1..=5 {
            let at = put("a", n).await;
            while idle.receiver.posted.lock().unwrap().len() < usize::try_from(n).unwrap() {
                clock.sleep(Duration::from_millis(50)).await;
            }
            delays.push(clock.now().0 - at);
            clock.sleep(Duration::from_millis(300)).await;
        }
        assert!(delays[0] <= 25_000 && delays[1..].iter().all(|ms| *ms <= 4_000), "{delays:?}");
        idle.kill();
    }));
    table.run(tasks);
    let posted = idle.receiver.posted.lock().unwrap();
    assert_eq!(posted.len(), 5, "{posted:?}");
}

/// Live reads and those who follow the feed share one reader.
#[test]
fn an_idle_process_with_live_reads_makes_less_than_one_request_a_second_and_wakes_up() {
    let table = table();
    let (idle, other) = (Process::start(&table, MODEL), Process::start(&table, MODEL));
    let clock = &table.clock;
    let (read, heard) = (Mutex::new([None, None]), Mutex::new(vec![]));
    let mut tasks: Vec<Task<'_>> = vec![Box::pin(idle.live(clock))];
    for number in 0..2 {
        let (idle, read, heard) = (&idle, &read, &heard);
        tasks.push(Box::pin(async move {
            let mut live = idle.db.live();
            while read.lock().unwrap()[number] != Some(5) {
                let page = live.next().await.unwrap().db.get("page", "a").await.unwrap();
                let n = page.and_then(|page| page.get("n")?.as_n()?.to_i64());
                read.lock().unwrap()[number] = n;
            }
        }));
        tasks.push(Box::pin(async move {
            let mut changes = idle.db.changes().await.unwrap();
            for _ in 0..6 {
                while changes.next().await.unwrap().expect("it is known").events.is_empty() {}
                heard.lock().unwrap().push(clock.now().0);
            }
        }));
    }
    tasks.push(Box::pin(async {
        let put = async |n: i64| {
            other.db.put("page", "a", &json!({ "n": n })).await.unwrap();
            clock.now().0
        };
        clock.sleep(Duration::from_secs(1)).await;
        put(0).await;
        clock.sleep(Duration::from_secs(120)).await;
        let before = idle.connection.requests();
        clock.sleep(Duration::from_secs(600)).await;
        let requests = idle.connection.requests() - before;
        assert!(requests < 600, "{requests} in ten minutes: {:?}", idle.connection.counts());
        let mut delays = vec![];
        for n in 1..=5 {
            let (at, expected) = (put(n).await, 2 + 2 * usize::try_from(n).unwrap());
            while heard.lock().unwrap().len() < expected
                || *read.lock().unwrap() != [Some(n), Some(n)]
            {
                clock.sleep(Duration::from_millis(50)).await;
            }
            delays.push(clock.now().0 - at);
            clock.sleep(Duration::from_millis(300)).await;
        }
        assert_eq!(heard.lock().unwrap().len(), 12);
        assert!(delays[0] <= 25_000 && delays[1..].iter().all(|ms| *ms <= 4_000), "{delays:?}");
        idle.kill();
    }));
    table.run(tasks);
}

/// What this process writes itself it does not wait for, however long it has been idle.
#[test]
fn a_process_notices_its_own_writes_soon() {
    let table = table();
    let process = Process::start(&table, MODEL);
    let clock = &table.clock;
    let mut tasks: Vec<Task<'_>> = process.tasks(clock).into();
    tasks.push(Box::pin(async {
        clock.sleep(Duration::from_secs(300)).await;
        process.db.put("page", "a", &json!({ "n": 0 })).await.unwrap();
        let at = clock.now().0;
        while process.db.get("mark", "a").await.unwrap().is_none() {
            clock.sleep(Duration::from_millis(50)).await;
        }
        assert!(clock.now().0 - at <= 4_000, "{} ms", clock.now().0 - at);
        process.kill();
    }));
    table.run(tasks);
}

#[test]
fn a_shard_is_read_by_one_process_and_by_another_when_that_is_gone() {
    let table = table();
    let model = one_consumer();
    let processes: Vec<Process> = (0..3).map(|_| Process::start(&table, &model)).collect();
    let clock = &table.clock;
    let mut tasks: Vec<Task<'_>> = vec![];
    for process in &processes {
        tasks.extend(process.tasks(clock));
    }
    tasks.push(Box::pin(async {
        let write = async |pages: std::ops::Range<i64>| {
            for page in pages {
                let db = &processes[usize::try_from(page % 3).unwrap()].db;
                db.put("page", &page.to_string(), &json!({ "n": 0 })).await.unwrap();
                clock.sleep(Duration::from_millis(150)).await;
            }
        };
        write(0..60).await;
        let _ = readers(&processes);
        write(60..120).await;
        let by_shard = readers(&processes);
        assert!(by_shard.len() >= 4, "{by_shard:?}");
        assert!(by_shard.values().all(|readers| readers.len() == 1), "{by_shard:?}");
        // The process with the most shards is killed, while there are events.
        let reads =
            |number: &usize| by_shard.values().filter(|readers| readers.contains(number)).count();
        let victim = (0..3).max_by_key(reads).unwrap();
        processes[victim].kill();
        let survivor = &processes[(victim + 1) % 3].db;
        for page in 120..160 {
            survivor.put("page", &page.to_string(), &json!({ "n": 0 })).await.unwrap();
            clock.sleep(Duration::from_millis(150)).await;
        }
        let killed = clock.now().0;
        // What waits is not reported as handled.
        let behind = survivor.backlog().await.unwrap();
        assert!(behind.consumers.iter().any(|lag| lag.events > 0), "{behind:?}");
        for page in 0..160 {
            while survivor.get("mark", &page.to_string()).await.unwrap().is_none() {
                clock.sleep(Duration::from_millis(500)).await;
                assert!(clock.now().0 - killed < 90_000, "{page} is not handled");
            }
        }
        clock.sleep(Duration::from_secs(5)).await;
        let _ = readers(&processes);
        write_some(survivor, clock).await;
        let by_shard = readers(&processes);
        assert!(by_shard.values().all(|readers| readers.len() == 1), "{by_shard:?}");
        assert!(by_shard.values().all(|readers| !readers.contains(&victim)), "{by_shard:?}");
        let behind = survivor.backlog().await.unwrap();
        assert!(behind.consumers.iter().all(|lag| lag.events == 0), "{behind:?}");
        processes.iter().for_each(Process::kill);
    }));
    table.run(tasks);
}

async fn write_some(db: &Db, clock: &SimClock) {
    for page in 200..230 {
        db.put("page", &page.to_string(), &json!({ "n": 0 })).await.unwrap();
        clock.sleep(Duration::from_millis(150)).await;
    }
    while db.get("mark", "229").await.unwrap().is_none() {
        clock.sleep(Duration::from_millis(500)).await;
    }
    clock.sleep(Duration::from_secs(20)).await;
}

/// Which processes have read each shard since the last call.
fn readers(processes: &[Process]) -> BTreeMap<ShardId, BTreeSet<usize>> {
    let mut readers: BTreeMap<ShardId, BTreeSet<usize>> = BTreeMap::new();
    for (number, process) in processes.iter().enumerate() {
        for shard in process.connection.take_read() {
            readers.entry(shard).or_default().insert(number);
        }
    }
    readers
}
