//! From a target to its operation.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use keyloom_store::{Clock, Store, TableDescription, TableName};

use crate::json;
use crate::wire::{Fault, FaultCode};

use super::params::Params;
use super::{
    batch_get_item, batch_write_item, create_table, delete_item, get_item, limits, put_item, query,
    refusal, scan, settings, streams, tables, tags, time_to_live, transact_get_items,
    transact_write_items, update_item, update_table,
};

/// The service over a store.
///
/// ```
/// use keyloom_dynamodb::{Endpoint, EndpointOptions};
/// use keyloom_store::{MemoryStore, SystemClock};
/// use std::sync::Arc;
///
/// let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let endpoint = Endpoint::new(store, EndpointOptions::default());
/// let reply = pollster::block_on(endpoint.call("DynamoDB_20120810.ListTables", b"{}"));
/// assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"TableNames":[]}"#));
/// ```
#[derive(Clone)]
pub struct Endpoint {
    pub(super) store: Arc<dyn Store>,
    pub(super) options: EndpointOptions,
}

/// What the service says of itself.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The region in resource names and stream records.
    pub region: String,
    /// The account in resource names.
    pub account: String,
    /// Tells when a stream was turned on.
    pub clock: Arc<dyn Clock>,
}

impl Default for EndpointOptions {
    fn default() -> EndpointOptions {
        EndpointOptions {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            clock: Arc::new(keyloom_store::SystemClock),
        }
    }
}

/// An answer of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status: 200, 400 for what the client can mend, 500 for what it cannot.
    pub status: u16,
    /// JSON.
    pub body: String,
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<String, Fault>> + Send + 'a>>;

impl Endpoint {
    /// The service over a store. Whatever else a table has here, such as tags, is kept in a table
    /// of its own in the same store.
    pub fn new(store: Arc<dyn Store>, options: EndpointOptions) -> Endpoint {
        Endpoint { store, options }
    }

    /// Whether it has the operation that the header `X-Amz-Target` names.
    pub fn has(&self, target: &str) -> bool {
        Operation::of_target(target).is_ok()
    }

    /// Answers a request: `target` is what the header `X-Amz-Target` says. Never panics on what a
    /// client sends, and answers every request.
    pub async fn call(&self, target: &str, body: &[u8]) -> Reply {
        match self.answer(target, body).await {
            Ok(body) => Reply { status: 200, body },
            Err(fault) => Reply { status: fault.code.status(), body: fault.body() },
        }
    }

    /// Boxed, so that the operations are compiled here and not with every server.
    fn answer<'a>(&'a self, target: &'a str, body: &'a [u8]) -> Answering<'a> {
        Box::pin(self.answered(target, body))
    }

    async fn answered(&self, target: &str, body: &[u8]) -> Result<String, Fault> {
        let malformed = || Fault::serialization("");
        let text = std::str::from_utf8(body).map_err(|_| malformed())?;
        let operation = Operation::of_target(target)?;
        let json = json::parse(text).ok_or_else(malformed)?;
        let params = Params::new(&json)?;
        self.run(operation, params).await
    }

    async fn run(&self, operation: Operation, params: Params<'_>) -> Result<String, Fault> {
        match operation {
            Operation::GetItem => get_item::run(self, params).await,
            Operation::PutItem => put_item::run(self, params).await,
            Operation::Query => query::run(self, params).await,
            Operation::UpdateItem => update_item::run(self, params).await,
            Operation::DeleteItem => delete_item::run(self, params).await,
            Operation::Scan => scan::run(self, params).await,
            Operation::BatchGetItem => batch_get_item::run(self, params).await,
            Operation::BatchWriteItem => batch_write_item::run(self, params).await,
            Operation::TransactWriteItems => transact_write_items::run(self, params).await,
            Operation::TransactGetItems => transact_get_items::run(self, params).await,
            Operation::CreateTable => create_table::run(self, params).await,
            Operation::DescribeTable => tables::describe(self, params).await,
            Operation::ListTables => tables::list(self, params).await,
            Operation::UpdateTable => update_table::run(self, params).await,
            Operation::DeleteTable => tables::delete(self, params).await,
            Operation::UpdateTimeToLive => time_to_live::update(self, params).await,
            Operation::DescribeTimeToLive => time_to_live::describe(self, params).await,
            Operation::TagResource => tags::tag(self, params).await,
            Operation::UntagResource => tags::untag(self, params).await,
            Operation::ListTagsOfResource => tags::list(self, params).await,
            Operation::DescribeLimits => Ok(limits::describe_limits()),
            Operation::DescribeEndpoints => Ok(limits::describe_endpoints(self)),
            Operation::ListStreams => streams::list(self, params).await,
            Operation::DescribeStream => streams::describe(self, params).await,
            Operation::GetShardIterator => streams::shard_iterator(self, params).await,
            Operation::GetRecords => streams::records(self, params).await,
        }
    }

    /// A table that a client may see.
    pub(super) async fn table(&self, name: &TableName) -> Result<TableDescription, Fault> {
        if settings::is_own_table(name) {
            return Err(refusal::no_table(name));
        }
        let description = self.store.describe_table(name.clone()).await;
        description.map_err(|error| refusal::of_table(name, error))
    }

    /// The ARN of a table.
    pub(super) fn table_arn(&self, table: &TableName) -> String {
        let EndpointOptions { region, account, .. } = &self.options;
        format!("arn:aws:dynamodb:{region}:{account}:table/{table}")
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    BatchGetItem,
    BatchWriteItem,
    CreateTable,
    DeleteItem,
    DeleteTable,
    DescribeEndpoints,
    DescribeLimits,
    DescribeStream,
    DescribeTable,
    DescribeTimeToLive,
    GetItem,
    GetRecords,
    GetShardIterator,
    ListStreams,
    ListTables,
    ListTagsOfResource,
    PutItem,
    Query,
    Scan,
    TagResource,
    TransactGetItems,
    TransactWriteItems,
    UntagResource,
    UpdateItem,
    UpdateTable,
    UpdateTimeToLive,
}

impl Operation {
    fn of_target(target: &str) -> Result<Operation, Fault> {
        let unknown = || Fault::new(FaultCode::UnknownOperation, "");
        let (service, name) = target.split_once('.').ok_or_else(unknown)?;
        let found = match service {
            "DynamoDB_20120810" => Operation::of_tables(name),
            "DynamoDBStreams_20120810" => Operation::of_streams(name),
            _ => None,
        };
        let known = || {
            let message = format!(
                "The operation {name} is one of DynamoDB's that this server does not have; \
                 COMPAT.md lists what it has."
            );
            Fault::new(FaultCode::UnknownOperation, message)
        };
        found.ok_or_else(|| if UNSUPPORTED.contains(&name) { known() } else { unknown() })
    }

    fn of_tables(name: &str) -> Option<Operation> {
        Some(match name {
            "BatchGetItem" => Operation::BatchGetItem,
            "BatchWriteItem" => Operation::BatchWriteItem,
            "CreateTable" => Operation::CreateTable,
            "DeleteItem" => Operation::DeleteItem,
            "DeleteTable" => Operation::DeleteTable,
            "DescribeEndpoints" => Operation::DescribeEndpoints,
            "DescribeLimits" => Operation::DescribeLimits,
            "DescribeTable" => Operation::DescribeTable,
            "DescribeTimeToLive" => Operation::DescribeTimeToLive,
            "GetItem" => Operation::GetItem,
            "ListTables" => Operation::ListTables,
            "ListTagsOfResource" => Operation::ListTagsOfResource,
            "PutItem" => Operation::PutItem,
            "Query" => Operation::Query,
            "Scan" => Operation::Scan,
            "TagResource" => Operation::TagResource,
            "TransactGetItems" => Operation::TransactGetItems,
            "TransactWriteItems" => Operation::TransactWriteItems,
            "UntagResource" => Operation::UntagResource,
            "UpdateItem" => Operation::UpdateItem,
            "UpdateTable" => Operation::UpdateTable,
            "UpdateTimeToLive" => Operation::UpdateTimeToLive,
            _ => return None,
        })
    }

    fn of_streams(name: &str) -> Option<Operation> {
        Some(match name {
            "DescribeStream" => Operation::DescribeStream,
            "GetRecords" => Operation::GetRecords,
            "GetShardIterator" => Operation::GetShardIterator,
            "ListStreams" => Operation::ListStreams,
            _ => return None,
        })
    }
}

/// Operations of the service that there are and that are not here.
#[rustfmt::skip] // A table: as many in a line as fit.
const UNSUPPORTED: &[&str] = &[
    "BatchExecuteStatement", "CreateBackup", "CreateGlobalTable", "DeleteBackup",
    "DeleteResourcePolicy", "DescribeBackup", "DescribeContinuousBackups",
    "DescribeContributorInsights", "DescribeExport", "DescribeGlobalTable",
    "DescribeGlobalTableSettings", "DescribeImport", "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling", "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination", "ExecuteStatement", "ExecuteTransaction",
    "ExportTableToPointInTime", "GetResourcePolicy", "ImportTable", "ListBackups",
    "ListContributorInsights", "ListExports", "ListGlobalTables", "ListImports",
    "PutResourcePolicy", "RestoreTableFromBackup", "RestoreTableToPointInTime",
    "UpdateContinuousBackups", "UpdateContributorInsights", "UpdateGlobalTable",
    "UpdateGlobalTableSettings", "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
];
