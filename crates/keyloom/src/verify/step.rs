//! What all checks of one step of a verification share: the database as they read it, and how they
//! repair it. What is right and what is wrong they decide themselves.

use keyloom_model::attribute::PARTITION;
use keyloom_model::{Layout, OwnRow, RowKey};
use keyloom_query::{Error as QueryError, Reader};
use keyloom_store::{Check, Get, OnFailure, TableName, TransactAction, TransactGet, TransactWrite};
use keyloom_value::{Condition, Item};

use super::expected::{Expected, Group, Membership};
use super::findings::Findings;
use super::{Remedy, Repair};
use crate::error::Error;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::write::{WriteContext, as_read};

/// One step of a verification.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) shared: &'a Shared,
    /// The model in force when the step began.
    pub(super) schema: &'a Schema,
    pub(super) repair: Repair,
}

impl<'a> Step<'a> {
    pub(super) fn table(&self) -> &'a TableName {
        &self.shared.table
    }

    pub(super) fn layout(&self) -> &'a Layout {
        &self.schema.layouts.current
    }

    pub(super) fn write_context(&self) -> WriteContext<'a> {
        self.shared.write_context(self.schema)
    }

    pub(super) fn reader(&self) -> Reader<'a> {
        self.write_context().reader()
    }

    pub(super) fn expected(&self) -> Expected<'a> {
        Expected { schema: self.schema }
    }

    /// Nothing is found yet.
    pub(super) fn findings(&self) -> Findings<'a> {
        Findings::new(self.schema.model(), self.repair)
    }

    /// Reads rows in one transaction.
    pub(super) async fn at_once(&self, keys: Vec<Item>) -> Result<Vec<Option<Item>>, Error> {
        let gets = keys.into_iter().map(|key| Get::new(self.table(), key)).collect();
        Ok(self.shared.store.transact_get(TransactGet { gets }).await?)
    }

    /// Reads whether ordinals are in posting lists that are kept as chunks.
    pub(super) async fn are_members(
        &self,
        group: &Group,
        memberships: &[Membership],
    ) -> Result<Vec<bool>, QueryError> {
        self.reader().are_members(group.entity, group.tenant.as_ref(), memberships).await
    }

    /// Whether an entity is still as it was read.
    pub(super) async fn is_unchanged(&self, own: &OwnRow) -> Result<bool, Error> {
        Ok(self.reader().get_any(&own.image.key).await?.as_ref() == Some(own))
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.repair == Repair::Yes
    }

    /// Repairs, if requested, in one transaction. A failed condition means that another writer was
    /// faster.
    pub(super) async fn repair(&self, actions: Vec<TransactAction>) -> Result<Remedy, Error> {
        self.repair_by(TransactWrite::new(actions)).await
    }

    /// As [`Step::repair`], also for sets.
    pub(super) async fn repair_by(&self, transaction: TransactWrite) -> Result<Remedy, Error> {
        if !self.is_repairing() {
            return Ok(Remedy::NotRequested);
        }
        match self.write_context().transact(transaction).await {
            Err(Error::Store(keyloom_store::Error::Canceled { .. })) => Ok(Remedy::Changed),
            done => done.map(|()| Remedy::Repaired),
        }
    }

    /// The condition of a repair that an entity is as it was read.
    pub(super) fn if_unchanged(&self, own: &OwnRow) -> TransactAction {
        self.check(&self.layout().own_key(&own.image.key), as_read(own))
    }

    /// The condition of a repair that an entity does not exist.
    pub(super) fn if_absent(&self, own_key: &RowKey) -> TransactAction {
        self.check(own_key, Condition::missing(PARTITION))
    }

    fn check(&self, own_key: &RowKey, condition: Condition) -> TransactAction {
        let (table, key) = (self.table().clone(), own_key.to_item());
        TransactAction::Check(Check { table, key, condition, on_failure: OnFailure::Nothing })
    }
}
