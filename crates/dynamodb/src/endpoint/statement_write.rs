//! Turns `INSERT`, `UPDATE`, `DELETE` and `EXISTS` into requests of the store, and runs one.
//!
//! The condition of a statement names the key; what else it requires is the condition of the write.
//! An `INSERT` needs a key that is free, an `UPDATE` and an `EXISTS` an item that is there. A
//! `DELETE` of nothing succeeds, whatever it requires.

use keyloom_store::{
    Check, Delete, Error, OnFailure, Put, Returns, TableSpec, TransactAction, UpdateItem,
};
use keyloom_value::{Condition, Item, Path};

use crate::partiql::{self, Pinned, Resolved, Select, StatementError, pinned};
use crate::wire::{Fault, FaultCode};

use super::Endpoint;
use super::capacity::{Consumed, Detail};
use super::refusal::{self, RequestKind};
use super::update_item::updated;

/// The service's message for an `INSERT` of a key that exists.
pub(super) const DUPLICATE: &str = "Duplicate primary key exists in table";

/// How a key that is not exactly one is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRule {
    /// By the statement's own messages.
    Statement,
    /// As a key that does not fit the table, by whoever checks the request.
    Transaction,
}

/// The result of a write.
pub(super) struct Written {
    pub(super) image: Option<Item>,
    pub(super) consumed: Option<Consumed>,
}

/// Builds the request of a statement that writes or checks.
pub(super) fn action(
    resolved: Resolved,
    spec: &TableSpec,
    rule: KeyRule,
    on_failure: OnFailure,
) -> Result<TransactAction, StatementError> {
    match resolved {
        Resolved::Insert(insert) => Ok(TransactAction::Put(insert_put(insert.item, spec))),
        Resolved::Update(update) => {
            let pinned = key_of(update.filter.as_ref(), spec, rule)?;
            let key = pinned.key.clone();
            let condition = exists_with(spec, pinned);
            Ok(TransactAction::Update(UpdateItem {
                table: spec.name.clone(),
                key,
                update: update.changes,
                condition: Some(condition),
                returns: update.returning,
                on_failure,
            }))
        }
        Resolved::Delete(delete) => delete_action(delete, spec, rule, on_failure),
        Resolved::Exists(select) => check_action(select, spec, on_failure),
        Resolved::Select(_) => Err(StatementError::new("A SELECT does not write")),
    }
}

fn insert_put(item: Item, spec: &TableSpec) -> Put {
    let is_free = partition_path(spec).map(Condition::Missing);
    Put { condition: is_free, ..Put::new(&spec.name, item) }
}

fn delete_action(
    delete: partiql::Delete,
    spec: &TableSpec,
    rule: KeyRule,
    on_failure: OnFailure,
) -> Result<TransactAction, StatementError> {
    let pinned = key_of(delete.filter.as_ref(), spec, rule)?;
    let key = pinned.key.clone();
    let is_missing = partition_path(spec).map(Condition::Missing);
    let condition = pinned.condition().map(|condition| match is_missing {
        Some(is_missing) => is_missing.or(condition),
        None => condition,
    });
    Ok(TransactAction::Delete(Delete {
        table: spec.name.clone(),
        key,
        condition,
        returns: delete.returning,
        on_failure,
    }))
}

fn check_action(
    select: Select,
    spec: &TableSpec,
    on_failure: OnFailure,
) -> Result<TransactAction, StatementError> {
    if select.index.is_some() {
        return Err(StatementError::new("Operations on indices are not supported in transactions"));
    }
    let pinned = pinned(select.filter.as_ref(), &spec.key);
    if !pinned.is_complete(&spec.key) || pinned.rest.is_empty() {
        return Err(StatementError::new(
            "EXISTS() must contain a single item read with additional condition",
        ));
    }
    let key = pinned.key.clone();
    let condition = exists_with(spec, pinned);
    Ok(TransactAction::Check(Check { table: spec.name.clone(), key, condition, on_failure }))
}

/// Takes the key out of the condition of a write.
fn key_of(
    filter: Option<&Condition>,
    spec: &TableSpec,
    rule: KeyRule,
) -> Result<Pinned, StatementError> {
    let mut pinned = pinned(filter, &spec.key);
    if rule == KeyRule::Transaction {
        // A key with several values is none.
        if let Some(name) = &pinned.conflict {
            pinned.key.remove(name.as_str());
        }
        return Ok(pinned);
    }
    if !pinned.is_complete(&spec.key) {
        return Err(StatementError::new(
            "Where clause does not contain a mandatory equality on all key attributes",
        ));
    }
    if let Some(name) = &pinned.conflict {
        return Err(StatementError::new(format!(
            "Multiple conditions on same key {name}. Only single item Update/Insert/Delete are \
             supported"
        )));
    }
    let fits = |name: &str| pinned.key.get(name);
    let mut parts = spec.key.attributes();
    match parts.find(|part| !fits(part.name.as_str()).is_some_and(|it| part.key_type.admits(it))) {
        None => Ok(pinned),
        Some(part) => Err(StatementError::new(format!(
            "Key attribute's data type should match its data type in table's schema: Key {}",
            part.name
        ))),
    }
}

/// The item is there, and satisfies the rest of the condition.
fn exists_with(spec: &TableSpec, pinned: Pinned) -> Condition {
    let mut all: Vec<Condition> = partition_path(spec).map(Condition::Exists).into_iter().collect();
    all.extend(pinned.condition());
    Condition::And(all)
}

fn partition_path(spec: &TableSpec) -> Option<Path> {
    spec.key.partition.first().map(|part| Path::new(part.name.clone()))
}

/// Runs one write. A check runs in transactions only.
pub(super) async fn write(
    endpoint: &Endpoint,
    spec: &TableSpec,
    action: TransactAction,
    detail: Detail,
) -> Result<Written, Fault> {
    match action {
        TransactAction::Put(put) => insert(endpoint, spec, put, detail).await,
        TransactAction::Update(update) => self::update(endpoint, spec, update, detail).await,
        TransactAction::Delete(delete) => self::delete(endpoint, spec, delete, detail).await,
        TransactAction::Check(_) => {
            Err(Fault::validation("EXISTS can only be used in ExecuteTransaction write requests."))
        }
    }
}

async fn insert(
    endpoint: &Endpoint,
    spec: &TableSpec,
    put: Put,
    detail: Detail,
) -> Result<Written, Fault> {
    let consumed = || Consumed::of_write(spec, None, Some(&put.item));
    let consumed = detail.is_requested().then(consumed);
    match endpoint.store.put(put).await {
        Ok(_) => Ok(Written { image: None, consumed }),
        Err(Error::ConditionFailed { .. }) => Err(Fault::new(FaultCode::DuplicateItem, DUPLICATE)),
        Err(error) => {
            Err(refusal::item_fault(endpoint, &spec.name, RequestKind::Item, error).await)
        }
    }
}

async fn update(
    endpoint: &Endpoint,
    spec: &TableSpec,
    update: UpdateItem,
    detail: Detail,
) -> Result<Written, Fault> {
    let (key, changes, returns) = (update.key.clone(), update.update.clone(), update.returns);
    let sent = match detail.is_requested() {
        true => UpdateItem { returns: Returns::AllOld, ..update },
        false => update,
    };
    let image = match endpoint.store.update(sent).await {
        Ok(image) => image,
        Err(error) => {
            let kind = RequestKind::Update;
            return Err(refusal::item_fault(endpoint, &spec.name, kind, error).await);
        }
    };
    if !detail.is_requested() {
        return Ok(Written { image, consumed: None });
    }
    let new = updated(&changes, image.as_ref(), &key);
    let consumed = Consumed::of_write(spec, image.as_ref(), new.as_ref());
    let image = new.as_ref().and_then(|new| returns.of_update(&changes, image.as_ref(), new));
    Ok(Written { image, consumed: Some(consumed) })
}

async fn delete(
    endpoint: &Endpoint,
    spec: &TableSpec,
    delete: Delete,
    detail: Detail,
) -> Result<Written, Fault> {
    let returns = delete.returns;
    let sent = match detail.is_requested() {
        true => Delete { returns: Returns::AllOld, ..delete },
        false => delete,
    };
    match endpoint.store.delete(sent).await {
        Ok(old) => {
            let consumed = || Consumed::of_write(spec, old.as_ref(), None);
            let consumed = detail.is_requested().then(consumed);
            Ok(Written { image: old.filter(|_| returns == Returns::AllOld), consumed })
        }
        Err(error) => Err(refusal::item_fault(endpoint, &spec.name, RequestKind::Key, error).await),
    }
}
