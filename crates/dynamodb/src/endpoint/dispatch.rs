//! Dispatches a request to its operation.

use std::future::Future;
use std::pin::Pin;

use crate::json;
use crate::wire::{Fault, FaultCode, Wording};

use super::Endpoint;
use super::params::Params;
use super::{
    backups, batch_execute_statement, batch_get_item, batch_write_item, continuous_backups,
    create_table, delete_item, execute_statement, execute_transaction, get_item, limits, put_item,
    query, restore, scan, streams, tables, tags, time_to_live, transact_get_items,
    transact_write_items, update_item, update_table,
};

/// A response of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status: 200, 400 for client errors, 500 for server errors.
    pub status: u16,
    /// The JSON body.
    pub body: String,
}

type BoxFuture<'a> = Pin<Box<dyn Future<Output = Result<String, Fault>> + Send + 'a>>;

impl Endpoint {
    /// Returns whether the operation that the header `X-Amz-Target` names is supported.
    pub fn has(&self, target: &str) -> bool {
        Operation::from_target(target).is_ok()
    }

    /// Handles a request; `target` is the header `X-Amz-Target`. Never panics on client input.
    pub async fn call(&self, target: &str, body: &[u8]) -> Reply {
        // Boxed, so that the operations are compiled in this crate and not in every server.
        let response: BoxFuture<'_> = Box::pin(self.respond(target, body));
        match response.await {
            Ok(body) => Reply { status: 200, body },
            Err(fault) => Reply { status: fault.code.status(), body: fault.body() },
        }
    }

    async fn respond(&self, target: &str, body: &[u8]) -> Result<String, Fault> {
        let malformed = || Fault::serialization("");
        let text = std::str::from_utf8(body).map_err(|_| malformed())?;
        let operation = Operation::from_target(target)?;
        let json = json::parse(text).ok_or_else(malformed)?;
        let params = Params::new(&json)?.worded(operation.wording());
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
            Operation::ExecuteStatement => execute_statement::run(self, params).await,
            Operation::BatchExecuteStatement => batch_execute_statement::run(self, params).await,
            Operation::ExecuteTransaction => execute_transaction::run(self, params).await,
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
            Operation::CreateBackup => backups::create(self, params).await,
            Operation::DeleteBackup => backups::delete(self, params).await,
            Operation::DescribeBackup => backups::describe(self, params).await,
            Operation::DescribeContinuousBackups => {
                continuous_backups::describe(self, params).await
            }
            Operation::ListBackups => backups::list(self, params).await,
            Operation::RestoreTableFromBackup => restore::from_backup(self, params).await,
            Operation::RestoreTableToPointInTime => restore::to_point_in_time(self, params).await,
            Operation::UpdateContinuousBackups => continuous_backups::update(self, params).await,
            Operation::ListStreams => streams::list(self, params).await,
            Operation::DescribeStream => streams::describe(self, params).await,
            Operation::GetShardIterator => streams::shard_iterator(self, params).await,
            Operation::GetRecords => streams::records(self, params).await,
        }
    }
}

/// A supported operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    BatchExecuteStatement,
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
    ExecuteStatement,
    ExecuteTransaction,
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
    CreateBackup,
    DeleteBackup,
    DescribeBackup,
    DescribeContinuousBackups,
    ListBackups,
    RestoreTableFromBackup,
    RestoreTableToPointInTime,
    UpdateContinuousBackups,
}

impl Operation {
    /// Returns how the operation words invalid values, as observed in October 2026.
    fn wording(self) -> Wording {
        match self {
            Operation::PutItem
            | Operation::UpdateItem
            | Operation::DeleteItem
            | Operation::GetItem
            | Operation::Query => Wording::Current,
            _ => Wording::Older,
        }
    }

    fn from_target(target: &str) -> Result<Operation, Fault> {
        let unknown = || Fault::new(FaultCode::UnknownOperation, "");
        let (service, name) = target.split_once('.').ok_or_else(unknown)?;
        let found = match service {
            "DynamoDB_20120810" => Operation::from_table_name(name),
            "DynamoDBStreams_20120810" => Operation::from_stream_name(name),
            _ => None,
        };
        let unsupported = || {
            let message = format!(
                "The operation {name} is not supported by this server. COMPAT.md lists the \
                 supported operations."
            );
            Fault::new(FaultCode::UnknownOperation, message)
        };
        found.ok_or_else(|| if UNSUPPORTED.contains(&name) { unsupported() } else { unknown() })
    }

    fn from_table_name(name: &str) -> Option<Operation> {
        Some(match name {
            "BatchExecuteStatement" => Operation::BatchExecuteStatement,
            "BatchGetItem" => Operation::BatchGetItem,
            "BatchWriteItem" => Operation::BatchWriteItem,
            "CreateTable" => Operation::CreateTable,
            "DeleteItem" => Operation::DeleteItem,
            "DeleteTable" => Operation::DeleteTable,
            "DescribeEndpoints" => Operation::DescribeEndpoints,
            "DescribeLimits" => Operation::DescribeLimits,
            "DescribeTable" => Operation::DescribeTable,
            "DescribeTimeToLive" => Operation::DescribeTimeToLive,
            "ExecuteStatement" => Operation::ExecuteStatement,
            "ExecuteTransaction" => Operation::ExecuteTransaction,
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
            "CreateBackup" => Operation::CreateBackup,
            "DeleteBackup" => Operation::DeleteBackup,
            "DescribeBackup" => Operation::DescribeBackup,
            "DescribeContinuousBackups" => Operation::DescribeContinuousBackups,
            "ListBackups" => Operation::ListBackups,
            "RestoreTableFromBackup" => Operation::RestoreTableFromBackup,
            "RestoreTableToPointInTime" => Operation::RestoreTableToPointInTime,
            "UpdateContinuousBackups" => Operation::UpdateContinuousBackups,
            _ => return None,
        })
    }

    fn from_stream_name(name: &str) -> Option<Operation> {
        Some(match name {
            "DescribeStream" => Operation::DescribeStream,
            "GetRecords" => Operation::GetRecords,
            "GetShardIterator" => Operation::GetShardIterator,
            "ListStreams" => Operation::ListStreams,
            _ => return None,
        })
    }
}

/// Operations that the service has and this endpoint does not.
#[rustfmt::skip] // A table: as many in a line as fit.
const UNSUPPORTED: &[&str] = &[
    "CancelBulkOperation", "CreateGlobalTable", "DeleteResourcePolicy",
    "DescribeBulkOperation", "DescribeContributorInsights", "DescribeExport", "DescribeGlobalTable",
    "DescribeGlobalTableSettings", "DescribeImport", "DescribeKinesisStreamingDestination",
    "DescribeTableReplicaAutoScaling", "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime", "GetResourcePolicy", "ImportTable", "ListBulkOperations",
    "ListContributorInsights", "ListExports", "ListGlobalTables", "ListImports",
    "PutResourcePolicy", "SearchVectors", "StartBulkPutItems", "UpdateContributorInsights",
    "UpdateGlobalTable", "UpdateGlobalTableSettings", "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
];
