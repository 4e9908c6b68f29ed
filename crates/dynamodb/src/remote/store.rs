//! The store and its runtime.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use keyloom_store::{
    Alteration, Answer, BatchGet, BatchGot, BatchWrite, ChangePage, Delete, Error, Get, Page, Put,
    Query, Read, ReadChanges, Refusal, Scan, Shard, Store, TableDescription, TableName, TableSpec,
    TransactGet, TransactWrite, UpdateItem,
};
use keyloom_value::Item;
use tokio::runtime::{Builder, Runtime};

use super::RemoteOptions;
use super::capacity::Consumed;
use super::service::Service;
use crate::consumption::Consumption;

/// DynamoDB, or a server with its protocol, as a store.
///
/// Its calls can be awaited on any executor: the SDK runs on two threads of its own. Reads of a
/// global index are eventually consistent. Snapshots are not supported: the service has none.
///
/// A single write that may have been applied is not retried, but fails with
/// [`Error::Unanswered`]. A transaction carries a token and is retried.
///
/// ```no_run
/// use keyloom_dynamodb::{Remote, RemoteOptions};
/// use keyloom_store::Read;
///
/// # async fn example() -> Result<(), keyloom_store::Error> {
/// // Takes region and keys from the environment, a profile or the machine's role.
/// let store = Remote::connect(RemoteOptions::default()).await?;
/// let tables = store.list_tables().await?;
/// let units = store.consumed().read_units;
/// # Ok(())
/// # }
/// ```
pub struct Remote {
    service: Arc<Service>,
    runtime: OwnRuntime,
}

impl Remote {
    /// Prepares a store; the first request connects.
    ///
    /// # Errors
    ///
    /// If threads cannot be started, or if neither a region nor an endpoint is configured.
    pub fn connect(options: RemoteOptions) -> Answer<'static, Remote> {
        Box::pin(async move {
            let runtime = OwnRuntime::start()?;
            let service = runtime.run(Service::open(options)).await?;
            Ok(Remote { service: Arc::new(service), runtime })
        })
    }

    /// Returns the capacity consumed since the store was opened.
    pub fn consumed(&self) -> Consumed {
        (&*self.service.consumption).into()
    }

    /// Returns the figures of [`Remote::consumed`], which go on counting.
    pub fn consumption(&self) -> Arc<Consumption> {
        self.service.consumption.clone()
    }

    /// Starts an on-demand backup of a table, the service's own; returns its resource name (ARN). Other
    /// servers with its protocol may not have such backups.
    ///
    /// # Errors
    ///
    /// If the service refuses.
    pub fn create_backup(&self, table: TableName, name: String) -> Answer<'_, String> {
        self.call(move |service| async move { service.create_backup(&table, &name).await })
    }

    fn call<T, F>(&self, work: impl FnOnce(Arc<Service>) -> F + Send + 'static) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let service = self.service.clone();
        // Whoever calls is measured: the work runs on other threads.
        match Consumption::current() {
            Some(measured) => Box::pin(self.runtime.run(measured.measure(work(service)))),
            None => Box::pin(self.runtime.run(async move { work(service).await })),
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("consumed", &self.consumed()).finish_non_exhaustive()
    }
}

impl Read for Remote {
    fn list_tables(&self) -> Answer<'_, Vec<TableName>> {
        self.call(|service| async move { service.list_tables().await })
    }

    fn describe_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.call(|service| async move { service.describe_table(&table).await })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.call(|service| async move { service.get(get).await })
    }

    fn query(&self, query: Query) -> Answer<'_, Page> {
        self.call(|service| async move { service.query(query).await })
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.call(|service| async move { service.scan(scan).await })
    }

    fn batch_get(&self, batch: BatchGet) -> Answer<'_, BatchGot> {
        self.call(|service| async move { service.batch_get(batch).await })
    }

    fn transact_get(&self, transaction: TransactGet) -> Answer<'_, Vec<Option<Item>>> {
        self.call(|service| async move { service.transact_get(transaction).await })
    }
}

impl Store for Remote {
    fn create_table(&self, spec: TableSpec) -> Answer<'_, TableDescription> {
        self.call(|service| async move { service.create_table(spec).await })
    }

    fn alter_table(&self, table: TableName, change: Alteration) -> Answer<'_, TableDescription> {
        self.call(|service| async move { service.alter_table(table, change).await })
    }

    fn drop_table(&self, table: TableName) -> Answer<'_, TableDescription> {
        self.call(|service| async move { service.drop_table(table).await })
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.call(|service| async move { service.put(put).await })
    }

    fn update(&self, update: UpdateItem) -> Answer<'_, Option<Item>> {
        self.call(|service| async move { service.update(update).await })
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.call(|service| async move { service.delete(delete).await })
    }

    fn batch_write(&self, batch: BatchWrite) -> Answer<'_, BatchWrite> {
        self.call(|service| async move { service.batch_write(batch).await })
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        self.call(|service| async move { service.transact_write(transaction).await })
    }

    fn snapshot(&self) -> Answer<'_, Arc<dyn Read>> {
        Box::pin(async { Err(Error::Unsupported { what: "DynamoDB has no snapshots" }) })
    }

    fn shards(&self, table: TableName) -> Answer<'_, Vec<Shard>> {
        self.call(|service| async move { service.shards(&table).await })
    }

    fn changes(&self, read: ReadChanges) -> Answer<'_, ChangePage> {
        self.call(|service| async move { service.changes(read).await })
    }
}

/// A runtime for the SDK, which needs tokio's timers and sockets; callers can use any executor.
struct OwnRuntime {
    runtime: Option<Runtime>,
}

impl OwnRuntime {
    fn start() -> Result<OwnRuntime, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("keyloom-remote")
            .enable_all()
            .build()
            .map_err(|error| {
                let message = format!("cannot start threads: {error}");
                Error::Refused(Arc::new(Refusal {
                    operation: "connecting",
                    code: None,
                    message,
                    resource: None,
                    may_pass: false,
                }))
            })?;
        Ok(OwnRuntime { runtime: Some(runtime) })
    }

    /// Runs the work to completion, even if the caller drops the future.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let Some(runtime) = &self.runtime else { return Err(Error::Closed) };
        runtime.spawn(work).await.unwrap_or(Err(Error::Closed))
    }
}

impl Drop for OwnRuntime {
    /// Does not wait: blocking on shutdown panics on a thread of another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
