//! The rows of a bulk operation, apart from its work rows.
//!
//! ```text
//! ("m", "bulk") / hash of the tenant, id        what to do, and the progress; when it expires
//! ("m", "bulk-open") / hash of the tenant, id   a marker: there is something left to do
//! ```
//!
//! Every transaction of an operation writes its record, on the condition that the record is as it was
//! read (`turn`). So of two processes that run one operation, one loses, and nothing happens twice.

use keyloom_model::attribute::{EXPIRY, PARTITION, SORT};
use keyloom_model::{Model, RowKey};
use keyloom_store::{Delete, Get, Put, Query, TableName, TransactAction, UpdateItem};
use keyloom_value::{
    Condition, Item, KeyBytes, KeyCondition, KeyTest, Number, Path, Update, Value,
};

use super::{BulkFailure, BulkKind, BulkOperation, BulkState};
use crate::change::Change;
use crate::db::Db;
use crate::error::Error;
use crate::pieces::Pieces;
use crate::read::ListQuery;
use crate::shared::Shared;
use crate::stamp::time_ms;
use crate::write::{Author, PlannedAction};

const NAME: &str = "bulk";
const OPEN: &str = "bulk-open";
const TENANT: &str = "tenant";
const ENTITY: &str = "entity";
const QUERY: &str = "query";
const PATCH: &str = "patch";
const IS_OF_CLIENT: &str = "client";
const TURN: &str = "turn";
const STATE: &str = "state";
const MATCHED: &str = "matched";
const CHANGED: &str = "changed";
const UNCHANGED: &str = "unchanged";
const SKIPPED: &str = "skipped";
const FAILED: &str = "failed";
const FAILURES: &str = "failures";
const PROBLEM: &str = "problem";
const ENDED: &str = "ended";
const ID: &str = "id";
/// How long an ended operation is kept.
const KEPT_SECS: i64 = 7 * 24 * 60 * 60;

/// Says that an operation has something left to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    tenant: Vec<u8>,
    pub(crate) id: String,
}

/// A bulk operation: what to do, and how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct BulkRecord {
    pub(crate) operation: BulkOperation,
    pub(crate) tenant: Option<Value>,
    /// The query, as [`ListQuery::to_item`] writes it.
    pub(super) query: Item,
    /// The patch; none to delete.
    pub(super) patch: Option<Item>,
    pub(super) author: Author,
    /// Grows with every transaction of the operation.
    turn: i64,
}

impl Marker {
    pub(super) fn new(tenant: Option<&Value>, id: &str) -> Marker {
        let mut pieces = Pieces::new();
        pieces.add_some(tenant);
        Marker { tenant: pieces.hash().to_vec(), id: id.to_owned() }
    }

    /// The partition of all markers.
    pub(crate) fn partition() -> KeyBytes {
        RowKey::system(OPEN, &[]).partition
    }

    /// The partition of all records.
    pub(super) fn record_partition() -> KeyBytes {
        RowKey::system(NAME, &[]).partition
    }

    /// Reads the rows of a database's tenant in one of these partitions.
    pub(super) fn query_of(db: &Db, partition: KeyBytes) -> Query {
        let Marker { tenant, .. } = Marker::new(db.tenant.as_ref(), "");
        let prefix = RowKey::system(NAME, &[Value::B(tenant)]).sort.into_vec();
        let key = KeyCondition::equal(PARTITION, partition.into_vec());
        Query::new(&db.shared.table, key.and(SORT, KeyTest::BeginsWith(Value::B(prefix))))
    }

    pub(crate) fn read(row: &Item) -> Option<Marker> {
        let sort = KeyBytes::decode(row.get(SORT)?.as_b()?).ok()?;
        let [tenant, id] = &sort[..] else { return None };
        Some(Marker { tenant: tenant.as_b()?.to_vec(), id: id.as_s()?.to_owned() })
    }

    /// The key of the record.
    pub(super) fn record_key(&self) -> RowKey {
        self.key(NAME)
    }

    fn key(&self, name: &str) -> RowKey {
        RowKey::system(name, &[Value::B(self.tenant.clone()), self.id.as_str().into()])
    }

    /// Reads the record of the operation.
    pub(crate) async fn record(&self, shared: &Shared) -> Result<Option<BulkRecord>, Error> {
        let get = Get::new(&shared.table, self.key(NAME).to_item());
        let Some(row) = shared.store.get(get).await? else { return Ok(None) };
        let damaged = || {
            Error::damaged(format!("The record of the bulk operation `{}` is invalid.", self.id))
        };
        let record = BulkRecord::read(&row).ok_or_else(damaged)?;
        Ok(Some(record.under(shared.schema().model())))
    }

    pub(super) fn put(&self, table: &TableName) -> PlannedAction {
        let put = Put::new(table, self.key(OPEN).to_item());
        PlannedAction::piggybacked(TransactAction::Put(put))
    }

    pub(super) fn removal(&self, table: &TableName) -> PlannedAction {
        let delete = Delete::new(table, self.key(OPEN).to_item());
        PlannedAction::piggybacked(TransactAction::Delete(delete))
    }
}

impl BulkRecord {
    /// Whether a partition is that of the records.
    pub(crate) fn is_at(partition: &[u8]) -> bool {
        partition == Marker::record_partition().as_bytes()
    }

    /// The record of a new operation.
    pub(super) fn new(id: String, query: &ListQuery, patch: Option<Item>, author: Author) -> Self {
        let kind = if patch.is_some() { BulkKind::Update } else { BulkKind::Delete };
        let operation = BulkOperation {
            started_ms: time_ms(&id).unwrap_or(0),
            id,
            kind,
            entity: query.entity.clone(),
            state: BulkState::Collecting,
            matched: 0,
            changed: 0,
            unchanged: 0,
            skipped: 0,
            failed: 0,
            failures: vec![],
            problem: None,
            ended_ms: None,
        };
        let (tenant, query) = (query.db.tenant.clone(), query.to_item());
        BulkRecord { operation, tenant, query, patch, author, turn: 0 }
    }

    pub(crate) fn read(row: &Item) -> Option<BulkRecord> {
        let id = Marker::read(row)?.id;
        let number = |name| row.get(name)?.as_n().and_then(Number::to_i64);
        let count = |name| u64::try_from(number(name)?).ok();
        let item = |name| match row.get(name) {
            Some(Value::M(item)) => Some(item.clone()),
            Some(_) | None => None,
        };
        let patch = item(PATCH);
        let Some(Value::L(failures)) = row.get(FAILURES) else { return None };
        let operation = BulkOperation {
            started_ms: time_ms(&id)?,
            id,
            kind: if patch.is_some() { BulkKind::Update } else { BulkKind::Delete },
            entity: row.get(ENTITY)?.as_s()?.to_owned(),
            state: BulkState::read(row.get(STATE)?.as_s()?)?,
            matched: count(MATCHED)?,
            changed: count(CHANGED)?,
            unchanged: count(UNCHANGED)?,
            skipped: count(SKIPPED)?,
            failed: count(FAILED)?,
            failures: failures.iter().map(read_failure).collect::<Option<_>>()?,
            problem: row.get(PROBLEM).and_then(Value::as_s).map(str::to_owned),
            ended_ms: number(ENDED),
        };
        let author = match row.get(IS_OF_CLIENT)? {
            Value::Bool(true) => Author::Client,
            _ => Author::Service,
        };
        let (tenant, query, turn) = (row.get(TENANT).cloned(), item(QUERY)?, number(TURN)?);
        Some(BulkRecord { operation, tenant, query, patch, author, turn })
    }

    /// The same record, whose entity may have been renamed since it was written.
    pub(super) fn under(mut self, model: &Model) -> BulkRecord {
        self.operation.entity = model.present_name(&self.operation.entity).to_owned();
        self
    }

    pub(super) fn marker(&self) -> Marker {
        Marker::new(self.tenant.as_ref(), &self.operation.id)
    }

    /// The database of its tenant.
    pub(super) fn db(&self, shared: &std::sync::Arc<Shared>) -> Db {
        Db::new(shared.clone(), self.tenant.clone())
    }

    /// The change of one of its entities, which has this version.
    pub(super) fn change(&self, id: &str, version: &str) -> Change {
        let entity = &self.operation.entity;
        let change = match &self.patch {
            Some(patch) => Change::update_item(entity, id, patch.clone()),
            None => Change::delete(entity, id),
        };
        let change = change.expecting(version);
        match self.author {
            Author::Service => change,
            Author::Client => change.from_client(),
        }
    }

    /// Writes a new record, if there is none.
    pub(super) fn put(&self, table: &TableName) -> PlannedAction {
        let mut item = self.marker().key(NAME).to_item();
        if let Some(tenant) = &self.tenant {
            item.insert(TENANT, tenant.clone());
        }
        if let Some(patch) = &self.patch {
            item.insert(PATCH, patch.clone());
        }
        item.insert(ENTITY, self.operation.entity.as_str());
        item.insert(QUERY, self.query.clone());
        item.insert(IS_OF_CLIENT, self.author == Author::Client);
        for (name, value) in progress(&self.operation, self.turn) {
            item.insert(name, value);
        }
        let put = Put::new(table, item).when(Condition::missing(PARTITION));
        PlannedAction::piggybacked(TransactAction::Put(put))
    }

    /// Writes the next state of the operation, if this one is still stored.
    pub(super) fn advance(&self, table: &TableName, next: &BulkOperation) -> PlannedAction {
        let mut update = Update::new();
        for (name, value) in progress(next, self.turn + 1) {
            update = update.set(Path::from(name), value);
        }
        let is_as_read = Condition::equal(Path::from(TURN), Value::from(self.turn));
        let key = self.marker().key(NAME).to_item();
        let update = UpdateItem::new(table, key, update).when(is_as_read);
        PlannedAction::piggybacked(TransactAction::Update(update))
    }

    /// The record that [`BulkRecord::advance`] has written.
    pub(super) fn advanced(&mut self, next: BulkOperation) {
        (self.operation, self.turn) = (next, self.turn + 1);
    }

    /// Whether it ended so long ago that the store may remove it.
    pub(super) fn has_expired(&self, now_ms: i64) -> bool {
        let ended_ms = self.operation.ended_ms;
        ended_ms.is_some_and(|ended_ms| expiry_secs(ended_ms).saturating_mul(1000) <= now_ms)
    }

    /// Whether another record of the operation is this one.
    pub(super) fn is_same_turn(&self, other: Option<&BulkRecord>) -> bool {
        other.is_some_and(|other| other.turn == self.turn)
    }
}

/// The attributes that change while an operation runs.
fn progress(operation: &BulkOperation, turn: i64) -> Vec<(&'static str, Value)> {
    let failure = |failure: &BulkFailure| {
        Value::M(Item::from([(ID, failure.id.as_str()), (PROBLEM, failure.problem.as_str())]))
    };
    let mut all: Vec<(&'static str, Value)> = vec![
        (TURN, turn.into()),
        (STATE, operation.state.word().into()),
        (MATCHED, operation.matched.into()),
        (CHANGED, operation.changed.into()),
        (UNCHANGED, operation.unchanged.into()),
        (SKIPPED, operation.skipped.into()),
        (FAILED, operation.failed.into()),
        (FAILURES, Value::L(operation.failures.iter().map(failure).collect())),
    ];
    if let Some(problem) = &operation.problem {
        all.push((PROBLEM, problem.as_str().into()));
    }
    if let Some(ended_ms) = operation.ended_ms {
        all.extend([(ENDED, ended_ms.into()), (EXPIRY, expiry_secs(ended_ms).into())]);
    }
    all
}

fn expiry_secs(ended_ms: i64) -> i64 {
    ended_ms.div_euclid(1000).saturating_add(KEPT_SECS)
}

fn read_failure(value: &Value) -> Option<BulkFailure> {
    let Value::M(item) = value else { return None };
    let text = |name| Some(item.get(name)?.as_s()?.to_owned());
    Some(BulkFailure { id: text(ID)?, problem: text(PROBLEM)? })
}
