//! Plays the steps of a history on one subject.

use std::sync::Arc;

use keyloom_store::{Error, Page, Query, Read, Scan, TransactWrite};
use keyloom_value::Item;
use pollster::block_on;

use super::laws::Laws;
use super::{Op, Outcome, ReadOp};
use crate::sets::walk_sets;
use crate::{Client, Subject};

/// Pages after which paging counts as endless: no table here has so many items.
const WALK_PAGES_MAX: usize = 1000;

/// A subject in the middle of a history.
pub struct Player<'a> {
    subject: &'a dyn Subject,
    client: Client,
    snapshot: Option<Arc<dyn Read>>,
    last_transaction: Option<TransactWrite>,
    laws: Laws,
}

impl<'a> Player<'a> {
    /// Starts at the beginning, or where another player stopped.
    pub fn new(subject: &'a dyn Subject) -> Player<'a> {
        Player {
            subject,
            client: Client::of(subject),
            snapshot: None,
            last_transaction: None,
            laws: Laws::default(),
        }
    }

    /// Plays one step. All background work is done when it returns, so that the next step finds the
    /// same state in every store.
    pub fn step(&mut self, op: &Op) -> Outcome {
        let outcome = self.play(op);
        self.subject.settle();
        self.laws.note(op, &outcome);
        outcome
    }

    /// Asserts the invariants of the store, and returns its contents.
    pub(super) fn finish(&self) -> Vec<(Op, Outcome)> {
        self.laws.check(&self.client);
        self.contents()
    }

    /// Returns the contents of the store: its tables, all items by every index, and the feeds.
    pub fn contents(&self) -> Vec<(Op, Outcome)> {
        let tables = self.client.list_tables().unwrap();
        let mut ops = vec![Op::Read(ReadOp::List)];
        for table in tables {
            ops.push(Op::Read(ReadOp::Describe(table.clone())));
            ops.push(Op::Read(ReadOp::Scan(Scan::new(&table))));
            ops.push(Op::Read(ReadOp::Sets { table: table.clone(), limit: 100, from: 0 }));
            for index in self.client.describe_table(&table).unwrap().spec.indexes {
                let scan = Scan { index: Some(index.name), ..Scan::new(&table) };
                ops.push(Op::Read(ReadOp::Scan(scan)));
            }
            ops.push(Op::Changes { table, limit: 7, skip: 0 });
        }
        let read = |op: Op| match &op {
            Op::Changes { .. } => (op.clone(), changes(&self.client, &op)),
            Op::Read(read) => (op.clone(), self.read(read)),
            _ => unreachable!("only reads at the end of a history"),
        };
        ops.into_iter().map(read).collect()
    }

    fn play(&mut self, op: &Op) -> Outcome {
        let client = &self.client;
        match op.clone() {
            Op::Create(spec) => Outcome::of(client.create_table(spec), Outcome::spec),
            Op::Alter(table, change) => {
                Outcome::of(client.alter_table(&table, change), Outcome::spec)
            }
            Op::Drop(table) => Outcome::of(client.drop_table(&table), Outcome::spec),
            Op::Put(put) => Outcome::of(client.put(put), Outcome::Item),
            Op::Update(update) => Outcome::of(client.update(update), Outcome::Item),
            Op::Delete(delete) => Outcome::of(client.delete(delete), Outcome::Item),
            Op::BatchWrite(batch) => Outcome::of(client.batch_write(batch), Outcome::Unprocessed),
            Op::TransactWrite(transaction) => self.transact(transaction),
            Op::Repeat => match self.last_transaction.clone() {
                Some(transaction) => self.transact(transaction),
                None => Outcome::Done,
            },
            Op::Read(read) => self.read(&read),
            Op::TakeSnapshot => {
                self.snapshot = Some(client.snapshot().unwrap());
                Outcome::Done
            }
            Op::ReadSnapshot(read) => match &self.snapshot {
                Some(snapshot) => answer(snapshot.as_ref(), &read),
                None => Outcome::Done,
            },
            Op::Changes { .. } => changes(client, op),
            Op::Pass { secs } => {
                self.subject.clock().advance_ms(secs * 1000);
                Outcome::Done
            }
        }
    }

    fn transact(&mut self, transaction: TransactWrite) -> Outcome {
        self.last_transaction = Some(transaction.clone());
        Outcome::of(self.client.transact_write(transaction), |()| Outcome::Done)
    }

    fn read(&self, op: &ReadOp) -> Outcome {
        answer(self.subject.store().as_ref(), op)
    }
}

fn answer(read: &dyn Read, op: &ReadOp) -> Outcome {
    match op.clone() {
        ReadOp::List => Outcome::of(block_on(read.list_tables()), Outcome::Tables),
        ReadOp::Describe(table) => Outcome::of(block_on(read.describe_table(table)), |table| {
            Outcome::Table(Box::new(table))
        }),
        ReadOp::Get(get) => Outcome::of(block_on(read.get(get)), Outcome::Item),
        ReadOp::Query(query) => {
            let ask = |start| block_on(read.query(Query { start, ..query.clone() }));
            Outcome::of(walk(query.start.clone(), query.limit, ask), Outcome::Pages)
        }
        ReadOp::Scan(scan) => {
            let ask = |start| block_on(read.scan(Scan { start, ..scan.clone() }));
            Outcome::of(walk(scan.start.clone(), scan.limit, ask), Outcome::scanned)
        }
        ReadOp::BatchGet(batch) => Outcome::of(block_on(read.batch_get(batch)), Outcome::got),
        ReadOp::TransactGet(transaction) => {
            Outcome::of(block_on(read.transact_get(transaction)), Outcome::Items)
        }
        ReadOp::Sets { table, limit, from } => {
            // A store without sets behaves like one whose sets are all empty.
            let found = read.sets().map_or(Ok(vec![]), |sets| walk_sets(sets, &table, limit, from));
            Outcome::of(found, Outcome::Sets)
        }
    }
}

/// Returns the pages of a query or scan; fails if the first one is refused.
fn walk(
    mut start: Option<Item>,
    limit: Option<u32>,
    ask: impl Fn(Option<Item>) -> Result<Page, Error>,
) -> Result<Vec<Page>, Error> {
    let mut pages = Vec::new();
    loop {
        let page = match ask(start.clone()) {
            Ok(page) => page,
            Err(error) if pages.is_empty() => return Err(error),
            Err(error) => panic!("the store refused its own last key {start:?}: {error}"),
        };
        assert!(limit.is_none_or(|limit| page.scanned <= u64::from(limit)), "{page:?}");
        start.clone_from(&page.last_key);
        pages.push(page);
        if start.is_none() {
            return Ok(pages);
        }
        assert!(pages.len() < WALK_PAGES_MAX, "paging ends");
    }
}

/// Returns the changes after the first `skip`, and asserts that a read from there returns the same.
fn changes(client: &Client, op: &Op) -> Outcome {
    let Op::Changes { table, limit, skip } = op else { unreachable!("checked by the caller") };
    if let Err(error) = client.shards(table) {
        return Outcome::of(Err::<(), _>(error), |()| Outcome::Done);
    }
    let all = client.feed(table, *limit);
    assert!(all.is_sorted_by(|earlier, later| earlier.seq < later.seq), "the feed is in order");
    let skip = (*skip).min(all.len());
    if let Some(last) = skip.checked_sub(1).map(|position| all[position].seq) {
        let rest = client.feed_from(table, keyloom_store::FeedStart::After(last), *limit);
        assert_eq!(rest, all[skip..], "the feed continues after {last}");
    }
    Outcome::changes(all[skip..].to_vec())
}
