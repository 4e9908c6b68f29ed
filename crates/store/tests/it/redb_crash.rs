//! redb on the simulated disk: whatever a crash leaves, it opens at the last acknowledged commit or
//! the one in flight. The engine relies on that, and it shows that the simulator is no harsher than
//! what a correct engine survives.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use keyloom_store::{Disk, DiskFile, OpenMode};
use keyloom_testkit::{Random, SimDisk};
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
const FILE: &str = "/tree";
const COMMITS: u64 = 25;

type Rows = BTreeMap<u64, Vec<u8>>;

#[derive(Debug)]
struct Backend {
    file: Arc<dyn DiskFile>,
    syncs: Syncs,
}

/// Whether the backend forwards syncs: one that does not proves that the test detects failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syncs {
    Done,
    Forgotten,
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.syncs {
            Syncs::Done => self.file.sync(),
            Syncs::Forgotten => self.file.len().map(drop),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, data)
    }
}

/// How redb commits.
#[derive(Clone, Copy, Debug)]
enum Phases {
    One,
    Two,
}

fn open(disk: &SimDisk, mode: OpenMode) -> Result<Database, redb::DatabaseError> {
    let file = disk.open(Path::new(FILE), mode)?;
    open_with(Backend { file, syncs: Syncs::Done })
}

fn open_with(backend: Backend) -> Result<Database, redb::DatabaseError> {
    // A small cache makes redb write pages before the commit, which is where things can go wrong.
    Builder::new().set_cache_size(64 << 10).create_with_backend(backend)
}

/// Creates an empty, durable database.
fn empty_database(disk: &SimDisk) -> Database {
    let database = open(disk, OpenMode::Create).unwrap();
    disk.sync_directory(Path::new("/")).unwrap();
    database
}

/// The record of a run.
struct Run {
    /// The rows after each commit; initially empty.
    states: Vec<Rows>,
    /// The last commit that was acknowledged as durable.
    durable: usize,
}

/// Commits random changes until all are done or the disk fails.
fn run(database: &Database, phases: Phases, seed: u64) -> Run {
    let mut random = Random::new(seed);
    let mut run = Run { states: vec![Rows::new()], durable: 0 };
    for number in 0..COMMITS {
        let mut rows = run.states.last().unwrap().clone();
        let durable = number == 0 || random.chance(3, 4);
        change(&mut rows, &mut random);
        run.states.push(rows);
        let rows = run.states.last().unwrap();
        if commit(database, rows, durable, phases).is_err() {
            break;
        }
        if durable {
            run.durable = run.states.len() - 1;
        }
    }
    run
}

fn change(rows: &mut Rows, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let key = random.below(60);
        if random.chance(1, 4) {
            rows.remove(&key);
        } else {
            let fill = random.next_u64().to_le_bytes()[0];
            rows.insert(key, vec![fill; random.index(6_000)]);
        }
    }
}

/// Makes the table equal to the rows, in one transaction.
fn commit(
    database: &Database,
    rows: &Rows,
    durable: bool,
    phases: Phases,
) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction
        .set_durability(if durable { Durability::Immediate } else { Durability::None })
        .expect("a transaction without savepoints takes any durability");
    transaction.set_two_phase_commit(matches!(phases, Phases::Two));
    {
        let mut table = transaction.open_table(TABLE)?;
        table.retain(|key, _| rows.contains_key(&key))?;
        for (key, value) in rows {
            if table.get(key)?.is_none_or(|old| old.value() != value) {
                table.insert(key, value.as_slice())?;
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

fn read(database: &Database) -> Rows {
    let transaction = database.begin_read().unwrap();
    match transaction.open_table(TABLE) {
        Ok(table) => {
            let entries = table.iter().unwrap().map(Result::unwrap);
            entries.map(|(key, value)| (key.value(), value.value().to_vec())).collect()
        }
        Err(redb::TableError::TableDoesNotExist(_)) => Rows::new(),
        Err(error) => panic!("the table cannot be opened: {error}"),
    }
}

/// Crashes at the `k`-th sync; returns false if there are fewer.
fn crash_at(k: u64, phases: Phases, seed: u64) -> bool {
    let disk = SimDisk::new(seed);
    let database = empty_database(&disk);
    disk.crash_at_sync(k);
    let run = run(&database, phases, seed);
    if !disk.crashed() {
        return false;
    }
    drop(database);
    for crash_seed in 0..6 {
        let after = disk.after_crash(seed ^ (crash_seed << 32));
        let survived = read(&open(&after, OpenMode::ReadWrite).unwrap());
        let legal = &run.states[run.durable..];
        assert!(legal.contains(&survived), "{phases:?}, seed {seed}, sync {k}, crash {crash_seed}");
    }
    true
}

#[test]
fn redb_recovers_the_last_or_the_commit_in_flight_at_every_sync() {
    for seed in 0..6 {
        let phases = if seed % 2 == 0 { Phases::One } else { Phases::Two };
        let crashes = (1..).take_while(|&k| crash_at(k, phases, seed)).count();
        assert!(crashes >= 15, "{crashes} syncs of {phases:?}");
    }
}

#[test]
fn redb_without_syncs_is_caught_losing_commits() {
    let lost = |seed: &u64| {
        let disk = SimDisk::new(*seed);
        drop(empty_database(&disk));
        let file = disk.open(Path::new(FILE), OpenMode::ReadWrite).unwrap();
        let database = open_with(Backend { file, syncs: Syncs::Forgotten }).unwrap();
        let run = run(&database, Phases::One, *seed);
        disk.crash_now();
        let after = disk.after_crash(*seed);
        !open(&after, OpenMode::ReadWrite)
            .is_ok_and(|database| run.states[run.durable..].contains(&read(&database)))
    };
    let caught = (0..40).filter(lost).count();
    assert!(caught > 10, "caught {caught} times of 40");
}

/// redb 4.4 creates its file in place, and refuses one cut short by a crash. So a database is
/// created under another name, and renamed when it is complete.
#[test]
fn a_crash_while_redb_creates_its_file_can_leave_one_that_it_refuses() {
    let refused = |seed: &u64| {
        let disk = SimDisk::new(*seed);
        disk.open(Path::new(FILE), OpenMode::Create).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        disk.crash_at_sync(1 + seed % 2);
        assert!(open(&disk, OpenMode::ReadWrite).is_err());
        open(&disk.after_crash(*seed), OpenMode::ReadWrite).is_err()
    };
    assert!((0..40).filter(refused).count() > 10);
}
