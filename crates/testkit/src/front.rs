//! A decorator for stores: it overrides some calls and delegates the rest.

use std::pin::Pin;
use std::sync::Arc;

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Get, Page, Put, Query,
    Read, ReadChanges, Scan, SeqNo, Sets, Shard, Store, TableDescription, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::Item;

/// Turns a [`Front`] into a store.
#[derive(Clone, Debug)]
pub struct InFront<F>(
    /// The overrides.
    pub F,
);

macro_rules! calls {
    (
        read { $($read:ident($($read_arg:ident: $read_type:ty),*) -> $read_result:ty;)* }
        write { $($write:ident($($write_arg:ident: $write_type:ty),*) -> $write_result:ty;)* }
    ) => {
        /// Overrides some calls of a store.
        #[allow(missing_docs, reason = "calls are those of `Read` and `Store`")]
        pub trait Front: Send + Sync {
            /// The store that all other calls are delegated to.
            fn behind(&self) -> &dyn Store;

            /// Runs before every call.
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

            fn when_changed(&self, after: SeqNo) -> Option<Answer<'_, ()>> {
                self.behind().when_changed(after)
            }

            fn indexes_max(&self) -> usize {
                self.behind().indexes_max()
            }

            $(fn $read(&self, $($read_arg: $read_type),*) -> Answer<'_, $read_result> {
                self.behind().$read($($read_arg),*)
            })*

            $(fn $write(&self, $($write_arg: $write_type),*) -> Answer<'_, $write_result> {
                self.behind().$write($($write_arg),*)
            })*
        }

        impl<F: Front> Read for InFront<F> {
            fn sets(&self) -> Option<&dyn Sets> {
                self.0.sets()
            }

            $(fn $read(&self, $($read_arg: $read_type),*) -> Answer<'_, $read_result> {
                Box::pin(async move {
                    self.0.before().await;
                    self.0.$read($($read_arg),*).await
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

            fn when_changed(&self, after: SeqNo) -> Option<Answer<'_, ()>> {
                self.0.when_changed(after)
            }

            fn indexes_max(&self) -> usize {
                self.0.indexes_max()
            }

            $(fn $write(&self, $($write_arg: $write_type),*) -> Answer<'_, $write_result> {
                Box::pin(async move {
                    self.0.before().await;
                    self.0.$write($($write_arg),*).await
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
        shards(table: TableName) -> Vec<Shard>;
        changes(read: ReadChanges) -> ChangePage;
    }
}
