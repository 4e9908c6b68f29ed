//! Stores that are wrong on purpose. The suite and the histories must detect every one of them, or
//! they prove nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use keyloom_store::{
    Answer, ChangePage, Delete, Error, Get, Membership, Page, Query, Read, ReadChanges, Returns,
    Scan, Store, TableName, TransactWrite,
};
use keyloom_testkit::{Front, InFront, ManualClock, MemorySubject, Subject, conformance, history};
use keyloom_value::Item;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::histories::STEPS;

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// A page that is not the last lacks its last item.
    PageLosesItsLast,
    /// A page begins with the last item of the previous page.
    PageRepeatsTheBoundary,
    /// The next page of an index skips all items with the same index key.
    TiesAreSkipped,
    /// A page that reached its limit has no last key if nothing follows.
    LastKeyOnlyIfMoreFollows,
    /// A scan of a segment returns all segments.
    SegmentsOverlap,
    /// Tokens are not remembered.
    TokensAreForgotten,
    /// Cancel reasons are in the wrong order.
    ReasonsAreReversed,
    /// A page of the feed lacks its last change.
    FeedLosesAChange,
    /// A snapshot shows the current state.
    SnapshotsMove,
    /// A delete does not return the old image.
    DeletesReturnNothing,
    /// Removing an ordinal from a set adds it.
    SetsOnlyGrow,
}

const DEFECTS: [Defect; 11] = [
    Defect::PageLosesItsLast,
    Defect::PageRepeatsTheBoundary,
    Defect::TiesAreSkipped,
    Defect::LastKeyOnlyIfMoreFollows,
    Defect::SegmentsOverlap,
    Defect::TokensAreForgotten,
    Defect::ReasonsAreReversed,
    Defect::FeedLosesAChange,
    Defect::SnapshotsMove,
    Defect::DeletesReturnNothing,
    Defect::SetsOnlyGrow,
];

#[test]
fn the_suite_finds_every_defect() {
    for defect in DEFECTS {
        let run = || conformance::run_all(|| Box::new(Broken::new(defect)));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "the suite missed {defect:?}");
    }
}

#[test]
fn histories_find_every_defect() {
    for defect in DEFECTS {
        let config = Config {
            cases: 2000,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let result =
            TestRunner::new_with_rng(config, random).run(&history::history(STEPS), |ops| {
                history::compare(&MemorySubject::new(), &Broken::new(defect), &ops);
                Ok(())
            });
        assert!(result.is_err(), "histories missed {defect:?}");
    }
}

/// A memory store with a defect, as a subject.
struct Broken {
    inner: MemorySubject,
    defect: Defect,
}

impl Broken {
    fn new(defect: Defect) -> Broken {
        Broken { inner: MemorySubject::new(), defect }
    }
}

impl Subject for Broken {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(InFront(BrokenStore { inner: self.inner.store(), defect: self.defect }))
    }

    fn clock(&self) -> &ManualClock {
        self.inner.clock()
    }

    fn settle(&self) {
        self.inner.settle();
    }
}

#[derive(Clone)]
struct BrokenStore {
    inner: Arc<dyn Store>,
    defect: Defect,
}

impl BrokenStore {
    async fn broken_page(&self, query: Query) -> Result<Page, Error> {
        let mut page = self.inner.query(query.clone()).await?;
        match self.defect {
            Defect::PageLosesItsLast if page.last_key.is_some() && page.items.len() > 1 => {
                page.items.pop();
            }
            Defect::PageRepeatsTheBoundary => {
                if let Some(start) = &query.start {
                    page.items.splice(0..0, self.item_at(&query.table, start).await?);
                }
            }
            Defect::TiesAreSkipped => {
                if let (Some(start), Some(_)) = (&query.start, &query.index) {
                    let spec = self.inner.describe_table(query.table.clone()).await?.spec;
                    let index =
                        spec.indexes.iter().find(|index| Some(&index.name) == query.index.as_ref());
                    let key = index.map(|index| &index.key);
                    let tied = |item: &Item| key.is_some_and(|key| key.of(item) == key.of(start));
                    page.items.retain(|item| !tied(item));
                }
            }
            Defect::LastKeyOnlyIfMoreFollows => {
                let rest = Query { start: page.last_key.clone(), ..query };
                if page.last_key.is_some() && self.inner.query(rest).await?.scanned == 0 {
                    page.last_key = None;
                }
            }
            _ => {}
        }
        Ok(page)
    }

    /// Returns the item of a last key, if it exists.
    async fn item_at(&self, table: &TableName, start: &Item) -> Result<Option<Item>, Error> {
        let key = self.inner.describe_table(table.clone()).await?.spec.key.of(start);
        self.inner.get(Get::new(table, key)).await
    }
}

impl Front for BrokenStore {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(self.broken_page(query))
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        match (self.defect, scan.segment) {
            (Defect::SegmentsOverlap, Some(segment)) if segment.number < segment.of => {
                self.inner.scan(Scan { segment: None, ..scan })
            }
            _ => self.inner.scan(scan),
        }
    }

    fn delete(&self, mut delete: Delete) -> Answer<'_, Option<Item>> {
        if self.defect == Defect::DeletesReturnNothing && delete.returns == Returns::AllOld {
            delete.returns = Returns::Nothing;
        }
        self.inner.delete(delete)
    }

    fn transact_write(&self, mut transaction: TransactWrite) -> Answer<'_, ()> {
        if self.defect == Defect::TokensAreForgotten {
            transaction.token = None;
        }
        if self.defect == Defect::SetsOnlyGrow {
            for change in &mut transaction.sets {
                change.becomes = Membership::In;
            }
        }
        Box::pin(async move {
            let mut result = self.inner.transact_write(transaction).await;
            if let (Defect::ReasonsAreReversed, Err(Error::Canceled { reasons })) =
                (self.defect, &mut result)
            {
                reasons.reverse();
            }
            result
        })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        if self.defect == Defect::SnapshotsMove {
            let present: Arc<dyn Read> = Arc::new(InFront(self.clone()));
            return Box::pin(async move { Ok(present) });
        }
        self.inner.snapshot()
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        Box::pin(async move {
            let mut page = self.inner.changes(read).await?;
            if self.defect == Defect::FeedLosesAChange && page.changes.len() > 1 {
                page.changes.pop();
            }
            Ok(page)
        })
    }
}
