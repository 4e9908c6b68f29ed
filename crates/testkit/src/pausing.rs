//! A store that makes its caller wait once before every call: so that work can be stopped, or
//! other work let in, between any two calls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Get, Page, Put, Query,
    Read, ReadChanges, Scan, Sets, ShardId, Store, TableDescription, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::Item;

/// A store that makes its caller wait before every call.
pub struct Pausing(
    /// Who answers then.
    pub Arc<dyn Store>,
);

/// Is not ready once.
#[derive(Debug, Default)]
pub struct Pause {
    is_over: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Lets work go on to its next pause; its answer if it is done.
pub fn go_on<T>(work: Pin<&mut (dyn Future<Output = T> + '_)>) -> Option<T> {
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Lets work go on so many times and then drops it; its answer if it was done before.
pub fn stop_after<T>(pauses: u64, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    (0..=pauses).find_map(|_| go_on(work.as_mut()))
}

/// Lets work go on to its end, with something between every two calls.
pub fn interleave<T>(work: impl Future<Output = T>, mut between: impl FnMut(usize)) -> T {
    let mut work = std::pin::pin!(work);
    let mut step = 0;
    loop {
        if let Some(answer) = go_on(work.as_mut()) {
            return answer;
        }
        between(step);
        step += 1;
    }
}

macro_rules! pausing {
    ($($trait:ident {
        $($method:ident($($name:ident: $of:ty),*) -> $answer:ty;)*
        $(@ { $($other:tt)* })?
    })*) => {
        $(impl $trait for Pausing {
            $(fn $method(&self, $($name: $of),*) -> Answer<'_, $answer> {
                Box::pin(async move {
                    Pause::default().await;
                    self.0.$method($($name),*).await
                })
            })*
            $($($other)*)?
        })*
    };
}

pausing! {
    Read {
        list_tables() -> Vec<TableName>;
        describe_table(table: TableName) -> TableDescription;
        get(get: Get) -> Option<Item>;
        query(query: Query) -> Page;
        scan(scan: Scan) -> Page;
        batch_get(batch: BatchGet) -> BatchGot;
        transact_get(transaction: TransactGet) -> Vec<Option<Item>>;
        @ {
            fn sets(&self) -> Option<&dyn Sets> {
                self.0.sets()
            }
        }
    }
    Store {
        create_table(spec: TableSpec) -> TableDescription;
        alter_table(table: TableName, change: Alteration) -> TableDescription;
        drop_table(table: TableName) -> TableDescription;
        put(put: Put) -> Option<Item>;
        update(update: UpdateItem) -> Option<Item>;
        delete(delete: Delete) -> Option<Item>;
        batch_write(batch: BatchWrite) -> BatchWrite;
        transact_write(transaction: TransactWrite) -> ();
        snapshot() -> Arc<dyn Read>;
        shards(table: TableName) -> Vec<ShardId>;
        changes(read: ReadChanges) -> ChangePage;
    }
}
