//! Guards and links: whether the entity that they belong to implies them.

use keyloom_model::attribute::{OWNER, PARTITION};
use keyloom_model::{EntityKey, OwnRow, RowKey};
use keyloom_store::{Check, Delete, OnFailure, TransactAction};
use keyloom_value::{Condition, Item, Path};

use super::page::Seen;
use super::{Finding, Problem, Remedy, Repair, Verifier, key_of, show_key};
use crate::error::Error;
use crate::write::as_read;

impl Verifier<'_> {
    /// Verifies a guard or a link. Its contents are verified with the own row of its entity.
    pub(super) async fn derived(
        &self,
        row: &Item,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some((owner, own_key)) = self.owner_of(row) else {
            // The row may have been repaired since, with the entity that implies it.
            let now = self.at_once(vec![key_of(row)]).await?;
            if now.first().is_some_and(|now| now.as_ref() == Some(row)) {
                let problem = Problem::Stray { row: show_key(row) };
                let remedy = self.remove(row).await?;
                findings.push(self.finding(None, problem, remedy));
            }
            return Ok(());
        };
        let own = seen.row(&own_key).map(|own| self.schema.layouts.current.read_own(own));
        match own {
            // The own row is invalid, which is a finding of its own.
            Some(Err(_)) => return Ok(()),
            Some(Ok(own)) if self.implies(Some(&own), row) => return Ok(()),
            Some(Ok(_)) | None => {}
        }
        self.left_over(&owner, row, findings).await
    }

    /// Whether an entity implies a row, or its own row is damaged, which is a finding of its own.
    pub(super) async fn may_imply(&self, owner: &EntityKey, row: &Item) -> Result<bool, Error> {
        match self.write_context().reader().get_any(owner).await {
            Ok(own) => Ok(self.implies(own.as_ref(), row)),
            Err(keyloom_query::Error::Unreadable { .. }) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn implies(&self, own: Option<&OwnRow>, row: &Item) -> bool {
        let Some(own) = own else { return false };
        let Ok(rows) = self.implied_by(own) else { return true };
        rows.iter().any(|implied| key_of(&implied.item) == key_of(row))
    }

    /// The entity does not seem to imply the row: reads both in one transaction, and decides.
    async fn left_over(
        &self,
        owner: &EntityKey,
        row: &Item,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let own_key = self.schema.layouts.current.own_key(owner);
        let keys = vec![own_key.to_item(), key_of(row)];
        let mut at_once = self.at_once(keys).await?.into_iter();
        let (own, now) = (at_once.next().flatten(), at_once.next().flatten());
        let own = own.map(|own| self.schema.layouts.current.read_own(&own));
        let own = match own {
            // The own row is invalid, which is a finding of its own.
            Some(Err(_)) => return Ok(()),
            Some(Ok(own)) => Some(own),
            None => None,
        };
        let Some(now) = now.filter(|now| now.get(OWNER) == row.get(OWNER)) else { return Ok(()) };
        if self.implies(own.as_ref(), &now) {
            return Ok(());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => self.remove_of(&own_key, own.as_ref(), row).await?,
        };
        let problem = Problem::LeftOver { row: show_key(row) };
        findings.push(self.finding(Some(owner), problem, remedy));
        Ok(())
    }

    /// Removes a row that its entity does not imply, if the entity is unchanged.
    async fn remove_of(
        &self,
        own_key: &RowKey,
        own: Option<&OwnRow>,
        row: &Item,
    ) -> Result<Remedy, Error> {
        let condition = own.map_or_else(|| Condition::missing(PARTITION), as_read);
        let table = self.shared.table.clone();
        let key = own_key.to_item();
        let check = Check { table, key, condition, on_failure: OnFailure::Nothing };
        self.mend(vec![TransactAction::Check(check), self.delete(row)]).await
    }

    /// Removes an unknown row.
    pub(super) async fn remove(&self, row: &Item) -> Result<Remedy, Error> {
        match self.repair {
            Repair::No => Ok(Remedy::NotRequested),
            Repair::Yes => self.mend(vec![self.delete(row)]).await,
        }
    }

    fn delete(&self, row: &Item) -> TransactAction {
        let unchanged = match row.get(OWNER) {
            Some(owner) => Condition::equal(Path::from(OWNER), owner.clone()),
            None => Condition::missing(OWNER),
        };
        TransactAction::Delete(Delete::new(&self.shared.table, key_of(row)).when(unchanged))
    }
}
