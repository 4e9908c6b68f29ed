//! The endpoint's state: the store behind it and the names it reports.

use std::sync::Arc;

use keyloom_store::{Clock, Store, SystemClock, TableName};

use super::restoring::Restoring;
use crate::strict::{Heat, Strict};

/// DynamoDB's API over a store.
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
    /// Holds the settings table: the same store, without the rules of strict mode.
    pub(super) settings_store: Arc<dyn Store>,
    /// The store, if it is strict.
    pub(super) strict: Option<Arc<Strict>>,
    pub(super) options: EndpointOptions,
    pub(super) restoring: Arc<Restoring>,
}

/// How the service identifies itself.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The region in ARNs and stream records.
    pub region: String,
    /// The account in ARNs.
    pub account: String,
    /// Timestamps when a stream is enabled.
    pub clock: Arc<dyn Clock>,
}

impl Default for EndpointOptions {
    fn default() -> EndpointOptions {
        EndpointOptions {
            region: "us-east-1".to_owned(),
            account: "000000000000".to_owned(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl Endpoint {
    /// Serves a store. Settings that the store does not have, such as tags, are kept in an
    /// internal table of the same store.
    pub fn new(store: Arc<dyn Store>, options: EndpointOptions) -> Endpoint {
        let restoring = Arc::default();
        Endpoint { settings_store: store.clone(), store, strict: None, options, restoring }
    }

    /// Serves a store by the rules of strict mode.
    pub fn strict(strict: Arc<Strict>, options: EndpointOptions) -> Endpoint {
        let (settings_store, restoring) = (strict.inner.clone(), Arc::default());
        Endpoint { store: strict.clone(), settings_store, strict: Some(strict), options, restoring }
    }

    /// Returns the name of the service's own host in the endpoint's region.
    pub fn host(&self) -> String {
        format!("dynamodb.{}.amazonaws.com", self.options.region)
    }

    /// Reports what partitions and keys have consumed, in strict mode.
    pub fn heat(&self) -> Option<Heat> {
        self.strict.as_ref().map(|strict| strict.heat())
    }

    /// Returns the status of a table.
    pub(super) fn table_status(&self, table: &TableName) -> &'static str {
        if self.restoring.has(table) {
            return "CREATING";
        }
        self.strict.as_ref().map_or("ACTIVE", |strict| strict.table_status(table))
    }

    /// Returns the ARN of a table.
    pub(super) fn table_arn(&self, table: &TableName) -> String {
        self.arn(&format!("table/{table}"))
    }

    /// Returns the ARN of a resource, such as `table/NAME`.
    pub(super) fn arn(&self, resource: &str) -> String {
        let EndpointOptions { region, account, .. } = &self.options;
        format!("arn:aws:dynamodb:{region}:{account}:{resource}")
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("options", &self.options).finish_non_exhaustive()
    }
}
