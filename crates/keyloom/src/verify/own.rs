//! An entity's own row, and everything that it implies.

use std::collections::BTreeSet;

use keyloom_model::attribute::{DELETION, OWNER, PARTITION};
use keyloom_model::{EntityKey, FieldId, Link, OnDelete, OwnRow, Reason, Row, RowKey, UniqueId};
use keyloom_query::DeletionState;
use keyloom_store::{Check, OnFailure, Put, TransactAction, TransactWrite};
use keyloom_value::{Condition, Item, Path, Value};

use super::page::{Implying, Seen};
use super::{Finding, Problem, Remedy, Repair, Verifier, show_key, unmarked};
use crate::background::unmark_entity;
use crate::change::Author;
use crate::error::Error;
use crate::write::{DeletionRecord, Intent, as_read};

/// The target of a reference.
pub(super) struct Target<'l> {
    link: &'l Link,
    /// The name of the referring field.
    field: String,
    id: String,
    pub(super) own_key: RowKey,
}

impl Verifier<'_> {
    /// Verifies an entity's own row, and every row that it implies.
    pub(super) async fn own(
        &self,
        Implying { own, rows: implied }: &Implying,
        row: &Item,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        self.places(own, row, implied, findings).await?;
        self.mark(own, findings).await?;
        for row in implied.iter().filter(|row| row.reason != Reason::Own) {
            if seen.row(&row.key).is_none_or(|found| unmarked(found) != row.item) {
                self.implied(own, row, findings).await?;
            }
        }
        self.number(own, seen, findings).await?;
        self.sequence(own, seen, findings).await?;
        self.sets(own, findings).await?;
        self.chunked(own, seen, findings).await?;
        self.targets(own, seen, findings).await
    }

    /// Returns every row that the entity implies, or why it is invalid.
    pub(super) fn implied_by(&self, own: &OwnRow) -> Result<Vec<Row>, Problem> {
        let layouts = &self.schema.layouts;
        let entity = self.schema.model().entity(own.image.key.entity);
        if own.revision > layouts.current.revision() {
            let revision = own.revision;
            let reason = format!(
                "it was written under revision {revision} of the model, which is not known"
            );
            return Err(Problem::Unreadable { reason });
        }
        entity.check_fields(&layouts.upgraded(own.clone()).fields).map_err(|errors| {
            Problem::WrongFields { reasons: errors.iter().map(ToString::to_string).collect() }
        })?;
        let implied = layouts.rows_before(own);
        implied.map_err(|error| Problem::WrongFields { reasons: vec![error.to_string()] })
    }

    pub(super) fn for_a_person(&self) -> Remedy {
        match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => Remedy::Unrepairable,
        }
    }

    /// Verifies the index keys, which are attributes of the own row.
    async fn places(
        &self,
        own: &OwnRow,
        row: &Item,
        implied: &[Row],
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some(expected) = implied.iter().find(|row| row.reason == Reason::Own) else {
            return Ok(());
        };
        if unmarked(row) == expected.item {
            return Ok(());
        }
        let layout = &self.schema.layouts.current;
        let entity = layout.model().entity(own.image.key.entity);
        let differs = |slot: keyloom_model::Slot| {
            let differs = |name: keyloom_value::Name| {
                row.get(name.as_str()) != expected.item.get(name.as_str())
            };
            differs(slot.partition()) || differs(slot.sort())
        };
        let kind = own.image.key.entity;
        let lists = entity.lists().filter(|(id, _)| {
            differs(layout.lists().slot(kind, *id))
                || layout.facets().slot(kind, *id).is_some_and(differs)
        });
        let mut lists: Vec<String> = lists.map(|(_, list)| list.name.clone()).collect();
        let boards = entity.boards().filter(|(_, board)| board.ranks_entities());
        let boards =
            boards.filter(|(id, _)| differs(layout.leaderboards().slot(own.image.key.entity, *id)));
        lists.extend(boards.map(|(_, board)| board.name.clone()));
        if layout.expiry().slot(own.image.key.entity).is_some_and(differs) {
            lists.push("expires".to_owned());
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => {
                let mut item = expected.item.clone();
                if let Some(task) = &own.deletion {
                    item.insert(DELETION, task.as_str());
                }
                let put = Put::new(&self.shared.table, item).when(as_read(own));
                self.mend(vec![TransactAction::Put(put)]).await?
            }
        };
        let problem = Problem::WrongPlaces { lists };
        findings.push(self.finding(Some(&own.image.key), problem, remedy));
        Ok(())
    }

    /// Verifies that the deletions of tombstones exist.
    async fn mark(&self, own: &OwnRow, findings: &mut Vec<Finding>) -> Result<(), Error> {
        let mut tasks: BTreeSet<String> = own.deletion.iter().cloned().collect();
        tasks.extend(own.pending.deletions().into_iter().map(str::to_owned));
        for task in tasks {
            let ctx = self.write_context();
            match ctx.reader().deletion_state(&task).await {
                Ok(None) => {}
                // An invalid state is a state too.
                Ok(Some(_)) | Err(keyloom_query::Error::Unreadable { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let again = ctx.reader().get_any(&own.image.key).await?;
            let is_same =
                |again: OwnRow| again.deletion == own.deletion && again.pending == own.pending;
            if !again.is_some_and(is_same) {
                return Ok(());
            }
            let remedy = match self.repair {
                Repair::No => Remedy::NotRequested,
                Repair::Yes => {
                    match unmark_entity(&ctx, &DeletionRecord::new(&task), &own.image.key).await {
                        Ok(()) => Remedy::Repaired,
                        Err(Error::Store(error)) => return Err(error.into()),
                        Err(_) => Remedy::Unrepairable,
                    }
                }
            };
            findings.push(self.finding(Some(&own.image.key), Problem::StaleTombstone, remedy));
        }
        Ok(())
    }

    /// A row that the entity implies looks wrong: reads both in one transaction, and decides.
    async fn implied(
        &self,
        own: &OwnRow,
        row: &Row,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let own_key = self.schema.layouts.current.own_key(&own.image.key);
        let at_once = self.at_once(vec![own_key.to_item(), row.key.to_item()]).await?;
        let [Some(now), found] = &at_once[..] else { return Ok(()) };
        let is_same = self.schema.layouts.current.read_own(now).is_ok_and(|now| now == *own);
        if !is_same || found.as_ref().is_some_and(|found| unmarked(found) == row.item) {
            return Ok(());
        }
        let (problem, remedy) = match row.reason {
            Reason::Own => return Ok(()),
            Reason::Guard(unique) => self.guard(own, (row, unique), found.as_ref()).await?,
            Reason::Link(field) => {
                let field = self.field_name(own, field);
                (Problem::LinkMissing { field }, self.write(own, row, None).await?)
            }
            Reason::Presence => {
                let presence = show_key(&row.item);
                (Problem::PresenceMissing { presence }, self.write(own, row, None).await?)
            }
            Reason::Posting => {
                let group = show_key(&row.item);
                (Problem::GroupMissing { group }, self.write(own, row, None).await?)
            }
        };
        findings.push(self.finding(Some(&own.image.key), problem, remedy));
        Ok(())
    }

    async fn guard(
        &self,
        own: &OwnRow,
        (row, unique): (&Row, UniqueId),
        found: Option<&Item>,
    ) -> Result<(Problem, Remedy), Error> {
        let unique = self.unique_name(own, unique);
        let owner = found.and_then(|found| found.get(OWNER)).and_then(Value::as_b);
        let owner = owner.and_then(|owner| self.schema.layouts.current.entity_key(owner));
        if let Some(owner) = owner.filter(|owner| *owner != own.image.key)
            && self.may_imply(&owner, &row.item).await?
        {
            let problem = Problem::NotUnique { unique, other: owner.id };
            return Ok((problem, self.for_a_person()));
        }
        let remedy = self.write(own, row, found).await?;
        Ok((Problem::GuardMissing { unique }, remedy))
    }

    /// Writes a row that an entity implies, if the entity and the row are unchanged.
    async fn write(&self, own: &OwnRow, row: &Row, found: Option<&Item>) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let key = self.schema.layouts.current.own_key(&own.image.key).to_item();
        let table = self.shared.table.clone();
        let condition = as_read(own);
        let check = Check { table, key, condition, on_failure: OnFailure::Nothing };
        let mut put = Put::new(&self.shared.table, row.item.clone());
        if let Reason::Guard(_) = row.reason {
            put = put.when(match found.and_then(|found| found.get(OWNER)) {
                Some(owner) => Condition::equal(Path::from(OWNER), owner.clone()),
                None => Condition::missing(OWNER),
            });
        }
        self.mend(vec![TransactAction::Check(check), TransactAction::Put(put)]).await
    }

    /// The targets of an entity's references, but itself: it exists, and one read cannot name a row
    /// twice.
    pub(super) fn targets_of(&self, own: &OwnRow) -> impl Iterator<Item = Target<'_>> {
        let layout = &self.schema.layouts.current;
        let image = self.schema.layouts.upgraded(own.clone());
        let links = layout.references().of(image.key.entity).iter();
        let target = move |link: &'_ Link| {
            let entity = self.schema.model().entity(image.key.entity);
            let field = entity.fields.get(link.field.index())?.name.clone();
            let id = image.fields.get(&field).and_then(Value::as_s)?.to_owned();
            let tenant = image.key.tenant.clone().filter(|_| layout.has_tenant(link.target));
            let key = EntityKey { entity: link.target, tenant, id };
            let own_key = layout.own_key(&key);
            (key != image.key).then_some((field, key.id, own_key))
        };
        links.filter_map(move |link| {
            let (field, id, own_key) = target(link)?;
            Some(Target { link, field, id, own_key })
        })
    }

    /// Verifies that the targets of references exist.
    async fn targets(
        &self,
        own: &OwnRow,
        seen: &Seen,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let layout = &self.schema.layouts.current;
        for Target { link, field, id, own_key } in self.targets_of(own) {
            if seen.row(&own_key).is_some() {
                continue;
            }
            let keys = [layout.own_key(&own.image.key), own_key].map(|key| key.to_item());
            let at_once = self.at_once(keys.to_vec()).await?;
            let [Some(now), None] = &at_once[..] else { continue };
            let is_same = layout.read_own(now).is_ok_and(|now| now == *own);
            if is_same && !self.is_going(own).await? {
                let remedy = self.settle(own, link, &field).await?;
                let problem = Problem::Dangling { field, target: id };
                findings.push(self.finding(Some(&own.image.key), problem, remedy));
            }
        }
        Ok(())
    }

    /// Whether the entity is being deleted, or was: in a cycle, its target can be removed before it.
    async fn is_going(&self, own: &OwnRow) -> Result<bool, Error> {
        let Some(task) = &own.deletion else { return Ok(false) };
        match self.write_context().reader().deletion_state(task).await {
            Ok(Some(DeletionState::Sweeping)) => return Ok(true),
            Ok(_) => {}
            // An invalid state is a state too.
            Err(keyloom_query::Error::Unreadable { .. }) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let key = self.schema.layouts.current.own_key(&own.image.key).to_item();
        let now = self.at_once(vec![key]).await?;
        Ok(now.first().is_none_or(Option::is_none))
    }

    /// Clears a reference whose rule is to be cleared when its target is deleted.
    async fn settle(&self, own: &OwnRow, link: &Link, field: &str) -> Result<Remedy, Error> {
        let key = own.image.key.clone();
        let expected = Some(own.image.version.clone());
        let intent = match (self.repair, link.on_delete) {
            (Repair::No, _) => return Ok(Remedy::NotRequested),
            // Deleting entities without a target would turn one lost row into many.
            (Repair::Yes, OnDelete::Refuse | OnDelete::Cascade | OnDelete::Keep) => {
                return Ok(Remedy::Unrepairable);
            }
            (Repair::Yes, OnDelete::Clear) => {
                let patch = Item::from([(field, Value::Null)]);
                Intent::Update { key, patch, expected, author: Author::Service }
            }
        };
        match self.shared.executor(self.schema).execute(&intent.into()).await {
            Ok(_) => Ok(Remedy::Repaired),
            Err(Error::Store(error)) => Err(Error::Store(error)),
            Err(_) => Ok(Remedy::Unrepairable),
        }
    }

    /// Writes; a failed condition means that another writer was faster.
    pub(super) async fn mend(&self, actions: Vec<TransactAction>) -> Result<Remedy, Error> {
        self.mend_all(TransactWrite::new(actions)).await
    }

    pub(super) async fn mend_all(&self, transaction: TransactWrite) -> Result<Remedy, Error> {
        match self.write_context().transact(transaction).await {
            Err(Error::Store(keyloom_store::Error::Canceled { .. })) => Ok(Remedy::Changed),
            done => done.map(|()| Remedy::Repaired),
        }
    }

    fn field_name(&self, own: &OwnRow, field: FieldId) -> String {
        let entity = self.schema.model().entity(own.image.key.entity);
        entity.fields.get(field.index()).map(|field| field.name.clone()).unwrap_or_default()
    }

    fn unique_name(&self, own: &OwnRow, unique: UniqueId) -> String {
        let entity = own.image.key.entity;
        let count = self.schema.model().entity(entity).uniques.len();
        match unique.index() < count {
            true => self.schema.layouts.current.uniques().name(entity, unique).to_owned(),
            false => PARTITION.to_owned(),
        }
    }
}
