//! A store in front of another: what it does not do in a way of its own, the one behind does.

use std::pin::Pin;
use std::sync::Arc;

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Get, Page, Put, Query,
    Read, ReadChanges, Scan, Sets, ShardId, Store, TableDescription, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::Item;

/// What is in front of a store, as a store.
#[derive(Clone, Debug)]
pub struct InFront<F>(
    /// What it does in a way of its own.
    pub F,
);

macro_rules! calls {
    (
        read { $($read:ident($($asked:ident: $question:ty),*) -> $told:ty;)* }
        write { $($write:ident($($given:ident: $order:ty),*) -> $done:ty;)* }
    ) => {
        /// A part of a store that does some calls in a way of its own.
        #[allow(missing_docs, reason = "calls are those of `Read` and `Store`")]
        pub trait Front: Send + Sync {
            /// Who does all other calls.
            fn behind(&self) -> &dyn Store;

            /// Comes before every call.
            fn before(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
                Box::pin(std::future::ready(()))
            }

            fn sets(&self) -> Option<&dyn Sets> {
                self.behind().sets()
            }

            fn opening(&self) -> Option<u64> {
                self.behind().opening()
            }

            fn adds_numbers(&self) -> bool {
                self.behind().adds_numbers()
            }

            $(fn $read(&self, $($asked: $question),*) -> Answer<'_, $told> {
                self.behind().$read($($asked),*)
            })*

            $(fn $write(&self, $($given: $order),*) -> Answer<'_, $done> {
                self.behind().$write($($given),*)
            })*
        }

        impl<F: Front> Read for InFront<F> {
            fn sets(&self) -> Option<&dyn Sets> {
                self.0.sets()
            }

            $(fn $read(&self, $($asked: $question),*) -> Answer<'_, $told> {
                Box::pin(async move {
                    self.0.before().await;
                    self.0.$read($($asked),*).await
                })
            })*
        }

        impl<F: Front> Store for InFront<F> {
            fn opening(&self) -> Option<u64> {
                self.0.opening()
            }

            fn adds_numbers(&self) -> bool {
                self.0.adds_numbers()
            }

            $(fn $write(&self, $($given: $order),*) -> Answer<'_, $done> {
                Box::pin(async move {
                    self.0.before().await;
                    self.0.$write($($given),*).await
                })
            })*
        }
    };
}

calls! {
    read {
        list_tables() -> Vec<TableName>;
        describe_table(table: TableName) -> TableDescription;
        get(get: Get) -> Option<Item>;
        query(query: Query) -> Page;
        scan(scan: Scan) -> Page;
        batch_get(batch: BatchGet) -> BatchGot;
        transact_get(transaction: TransactGet) -> Vec<Option<Item>>;
    }
    write {
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
