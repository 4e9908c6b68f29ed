//! Sequences: the last number of each is no less than that of any entity, so that none is assigned twice.

use keyloom_model::{OwnRow, RowKey};
use keyloom_value::{Item, Number, Value};

use super::page::Seen;
use super::{Finding, Problem, Remedy, Repair, Verifier};
use crate::error::Error;
use crate::write::last_number;

impl Verifier<'_> {
    /// The number that an entity has from a sequence, and the row of the sequence.
    pub(super) fn numbered_by(&self, own: &OwnRow) -> Option<(i64, RowKey)> {
        let entity = self.schema.model().entity(own.image.key.entity);
        let field = entity.field(entity.sequence.as_ref()?.field);
        let layouts = &self.schema.layouts;
        let image = layouts.upgraded(own.clone());
        let number =
            image.fields.get(&field.name).and_then(Value::as_n).and_then(Number::to_i64)?;
        Some((number, layouts.current.sequence_key(&image).ok()??))
    }

    /// Verifies that the number of an entity is not beyond its sequence.
    pub(super) async fn sequence(
        &self,
        own: &OwnRow,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some((number, key)) = self.numbered_by(own) else { return Ok(()) };
        // A program may have set it; a sequence begins at 1.
        if number < 1 {
            return Ok(());
        }
        let reaches = |row: &Item| last_number(row).is_ok_and(|last| last >= number);
        if seen.row(&key).is_some_and(reaches) {
            return Ok(());
        }
        let own_key = self.schema.layouts.current.own_key(&own.image.key);
        let at_once = self.at_once(vec![own_key.to_item(), key.to_item()]).await?;
        let [Some(now), found] = &at_once[..] else { return Ok(()) };
        let is_same = self.schema.layouts.current.read_own(now).is_ok_and(|now| now == *own);
        if !is_same || found.as_ref().is_some_and(reaches) {
            return Ok(());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => {
                let write = self.write_context().write_last(&key, found.as_ref(), number);
                self.mend(vec![write]).await?
            }
        };
        let problem = Problem::SequenceBehind { number };
        findings.push(self.finding(Some(&own.image.key), problem, remedy));
        Ok(())
    }
}
