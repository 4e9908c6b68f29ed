//! Dispatches a request to its operation.

use std::future::{Future, ready};
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

    /// Runs an operation. Each is boxed by itself: one future of all of them would be as large as the largest, for
    /// every request.
    fn run<'a>(&'a self, operation: Operation, params: Params<'a>) -> BoxFuture<'a> {
        match operation {
            Operation::GetItem => Box::pin(get_item::run(self, params)),
            Operation::PutItem => Box::pin(put_item::run(self, params)),
            Operation::Query => Box::pin(query::run(self, params)),
            Operation::UpdateItem => Box::pin(update_item::run(self, params)),
            Operation::DeleteItem => Box::pin(delete_item::run(self, params)),
            Operation::Scan => Box::pin(scan::run(self, params)),
            Operation::BatchGetItem => Box::pin(batch_get_item::run(self, params)),
            Operation::BatchWriteItem => Box::pin(batch_write_item::run(self, params)),
            Operation::TransactWriteItems => Box::pin(transact_write_items::run(self, params)),
            Operation::TransactGetItems => Box::pin(transact_get_items::run(self, params)),
            Operation::ExecuteStatement => Box::pin(execute_statement::run(self, params)),
            Operation::BatchExecuteStatement => {
                Box::pin(batch_execute_statement::run(self, params))
            }
            Operation::ExecuteTransaction => Box::pin(execute_transaction::run(self, params)),
            Operation::CreateTable => Box::pin(create_table::run(self, params)),
            Operation::DescribeTable => Box::pin(tables::describe(self, params)),
            Operation::ListTables => Box::pin(tables::list(self, params)),
            Operation::UpdateTable => Box::pin(update_table::run(self, params)),
            Operation::DeleteTable => Box::pin(tables::delete(self, params)),
            Operation::UpdateTimeToLive => Box::pin(time_to_live::update(self, params)),
            Operation::DescribeTimeToLive => Box::pin(time_to_live::describe(self, params)),
            Operation::TagResource => Box::pin(tags::tag(self, params)),
            Operation::UntagResource => Box::pin(tags::untag(self, params)),
            Operation::ListTagsOfResource => Box::pin(tags::list(self, params)),
            Operation::DescribeLimits => Box::pin(ready(Ok(limits::describe_limits()))),
            Operation::DescribeEndpoints => Box::pin(ready(Ok(limits::describe_endpoints(self)))),
            Operation::CreateBackup => Box::pin(backups::create(self, params)),
            Operation::DeleteBackup => Box::pin(backups::delete(self, params)),
            Operation::DescribeBackup => Box::pin(backups::describe(self, params)),
            Operation::DescribeContinuousBackups => {
                Box::pin(continuous_backups::describe(self, params))
            }
            Operation::ListBackups => Box::pin(backups::list(self, params)),
            Operation::RestoreTableFromBackup => Box::pin(restore::from_backup(self, params)),
            Operation::RestoreTableToPointInTime => {
                Box::pin(restore::to_point_in_time(self, params))
            }
            Operation::UpdateContinuousBackups => {
                Box::pin(continuous_backups::update(self, params))
            }
            Operation::ListStreams => Box::pin(streams::list(self, params)),
            Operation::DescribeStream => Box::pin(streams::describe(self, params)),
            Operation::GetShardIterator => Box::pin(streams::shard_iterator(self, params)),
            Operation::GetRecords => Box::pin(streams::records(self, params)),
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
