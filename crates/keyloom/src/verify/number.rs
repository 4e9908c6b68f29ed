//! Ordinals: every entity that needs one has its own.

use keyloom_model::OwnRow;

use super::page::Seen;
use super::{Finding, Problem, Remedy, Repair, Verifier};
use crate::error::Error;
use crate::write::{Outcome, TombstoneChange, Transition};

impl Verifier<'_> {
    /// Verifies that an entity has its own ordinal.
    pub(super) async fn number(
        &self,
        own: &OwnRow,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let layouts = &self.schema.layouts;
        let entity = self.schema.model().entity(own.image.key.entity);
        // The backfill gives older rows their ordinals.
        let is_old = own.revision < layouts.current.revision()
            && self.schema.pending.entities.contains(&entity.name);
        if !entity.has_ordinals() || is_old {
            return Ok(());
        }
        let problem = match own.image.ordinal {
            None => Problem::NumberMissing,
            Some(number) if self.owns_ordinal(own, number, seen) => return Ok(()),
            Some(number) => match self.other_with(own, number).await? {
                None => return Ok(()),
                Some(other) => Problem::NumberTaken { other },
            },
        };
        let again = self.write_context().reader().get_any(&own.image.key).await?;
        if again.as_ref() != Some(own) {
            return Ok(());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => self.renumber(own).await?,
        };
        findings.push(self.finding(Some(&own.image.key), problem, remedy));
        Ok(())
    }

    /// Returns the id of another entity with the ordinal. The entity with the least id keeps it.
    async fn other_with(&self, own: &OwnRow, number: u64) -> Result<Option<String>, Error> {
        let key = &own.image.key;
        let reader = self.write_context().reader();
        let others = match reader.numbered(key.entity, key.tenant.as_ref(), number).await {
            // An own row is invalid, which is a finding of its own.
            Err(keyloom_query::Error::Unreadable { .. }) => return Ok(None),
            others => others?,
        };
        let mut ids = others.into_iter().map(|other| other.image.key.id);
        Ok(ids.find(|id| *id < key.id))
    }

    async fn renumber(&self, own: &OwnRow) -> Result<Remedy, Error> {
        let ctx = self.write_context();
        let mut after = self.schema.layouts.upgraded(own.clone());
        let mut transition = Transition::new(own.image.key.clone(), Some(own.clone()), None);
        after.ordinal = None;
        transition.after = Some(after);
        ctx.assign_ordinal(&mut transition).await?;
        transition.tombstones = TombstoneChange::Keep;
        match ctx.commit(&[transition], &[]).await? {
            Outcome::Done => Ok(Remedy::Repaired),
            Outcome::Changed | Outcome::UniqueViolation(_) | Outcome::TargetGone { .. } => {
                Ok(Remedy::Changed)
            }
        }
    }
}
