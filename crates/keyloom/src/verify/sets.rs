//! Sets: every entity is in the sets that it implies, and in no others.

use keyloom_model::{EntityId, Matching, OwnRow};
use keyloom_query::Reader;
use keyloom_store::{
    Check, Direction, ListSets, Membership, OnFailure, Read, ReadSet, SetChange, SetName, Sets,
    TransactAction, TransactWrite,
};
use keyloom_value::{Condition, KeyBytes, Value};

use super::position::{At, Position, SetPlace};
use super::{Finding, Problem, Remedy, Repair, Verifier, VerifyPage, show_name};
use crate::background::Progress;
use crate::error::Error;
use crate::write::as_read;

/// The number of members to verify in one step.
const PAGE_MEMBERS: usize = 500;

impl Verifier<'_> {
    /// Verifies that an entity is in its sets.
    pub(super) async fn sets(
        &self,
        own: &OwnRow,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Some(sets) = self.shared.store.sets() else { return Ok(()) };
        // Invalid fields are a finding of their own.
        let Ok(implied) = self.schema.layouts.sets_before(own) else { return Ok(()) };
        for (set, number) in implied {
            if self.is_in(sets, &set, number).await? || !self.is_missing(own, &set, number).await? {
                continue;
            }
            let problem = Problem::GroupMissing { group: show_name(set.as_bytes()) };
            let remedy = self.set_member(Some(own), (set, number), Membership::In).await?;
            findings.push(self.finding(Some(&own.image.key), problem, remedy));
        }
        Ok(())
    }

    async fn is_in(&self, sets: &dyn Sets, set: &SetName, number: u64) -> Result<bool, Error> {
        let part = sets.read_set(self.read_from(set, number)).await?;
        Ok(part.members.contains(number))
    }

    fn read_from(&self, set: &SetName, from: u64) -> ReadSet {
        let (table, set) = (self.shared.table.clone(), set.clone());
        ReadSet { table, set, from, direction: Direction::Forward, chunks: 1 }
    }

    /// Reads the entity and the set again, in one snapshot.
    async fn is_missing(&self, own: &OwnRow, set: &SetName, number: u64) -> Result<bool, Error> {
        let snapshot = self.shared.store.snapshot().await?;
        let now = self.reader_of(&*snapshot).get_any(&own.image.key).await?;
        let Some(sets) = snapshot.sets().filter(|_| now.as_ref() == Some(own)) else {
            return Ok(false);
        };
        Ok(!self.is_in(sets, set, number).await?)
    }

    fn reader_of<'r>(&'r self, snapshot: &'r dyn Read) -> Reader<'r> {
        Reader { store: snapshot, ..self.write_context().reader() }
    }

    /// Where the verification of sets starts, if there are any.
    pub(super) fn first_set(&self) -> Option<At> {
        self.shared.store.sets().map(|_| At::Sets(SetPlace::Start))
    }

    /// Verifies a part of the sets, in one snapshot.
    pub(super) async fn sets_page(
        &self,
        mut place: SetPlace,
        rows: u64,
    ) -> Result<VerifyPage, Error> {
        let snapshot = self.shared.store.snapshot().await?;
        let (mut findings, mut looked_at) = (vec![], 0);
        let mut next = self.first_counter().map(|at| Position { at, rows });
        while let Some((set, from)) = self.next_set(&*snapshot, &place).await? {
            let Some(sets) = snapshot.sets() else { break };
            let part = sets.read_set(self.read_from(&set, from)).await?;
            let members: Vec<u64> = part.members.iter().take(PAGE_MEMBERS - looked_at).collect();
            for number in &members {
                self.member(&*snapshot, (&set, *number), &mut findings).await?;
            }
            looked_at += members.len();
            let is_all = members.len() as u64 == part.members.len();
            let last = if is_all { part.through } else { members.last().copied() };
            place = match last.and_then(|last| last.checked_add(1)) {
                Some(from) => SetPlace::In(set, from),
                None => SetPlace::After(set),
            };
            if looked_at >= PAGE_MEMBERS {
                next = Some(Position { at: At::Sets(place), rows });
                break;
            }
        }
        let described = snapshot.describe_table(self.shared.table.clone()).await?;
        let progress = Progress { rows, rows_total: described.items.max(rows) };
        Ok(VerifyPage::new(findings, next, progress))
    }

    async fn next_set(
        &self,
        snapshot: &dyn Read,
        place: &SetPlace,
    ) -> Result<Option<(SetName, u64)>, Error> {
        let after = match place {
            SetPlace::In(set, from) => return Ok(Some((set.clone(), *from))),
            SetPlace::After(set) => Some(set.clone()),
            SetPlace::Start => None,
        };
        let Some(sets) = snapshot.sets() else { return Ok(None) };
        let table = self.shared.table.clone();
        let found = sets.list_sets(ListSets { table, prefix: vec![], after, limit: 1 }).await?;
        Ok(found.into_iter().next().map(|size| (size.set, 0)))
    }

    /// Verifies that the entity of a member implies it.
    async fn member(
        &self,
        snapshot: &dyn Read,
        (set, number): (&SetName, u64),
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let own = match self.group_of(set) {
            // An entity that had an ordinal under an earlier model leaves its sets when it is rewritten.
            None if self.was_group(set) => return Ok(()),
            None => None,
            Some((entity, tenant)) => {
                let reader = self.reader_of(snapshot);
                let rows = match reader.numbered(entity, tenant.as_ref(), number).await {
                    // The own row is invalid, which is a finding of its own.
                    Err(keyloom_query::Error::Unreadable { .. }) => return Ok(()),
                    rows => rows?,
                };
                let member = (set.clone(), number);
                for row in &rows {
                    match self.schema.layouts.sets_before(row) {
                        Ok(implied) if !implied.contains(&member) => {}
                        Ok(_) | Err(_) => return Ok(()),
                    }
                }
                rows.into_iter().next()
            }
        };
        let group = show_name(set.as_bytes());
        let member = (set.clone(), number);
        let remedy = self.set_member(own.as_ref(), member, Membership::Out).await?;
        let key = own.as_ref().map(|own| &own.image.key);
        findings.push(self.finding(key, Problem::GroupWrong { group, number }, remedy));
        Ok(())
    }

    /// Returns the kind of the members of a set, if known, under the current model or an earlier one.
    pub(super) fn group_of(&self, set: &SetName) -> Option<(EntityId, Option<Value>)> {
        let layouts = &self.schema.layouts;
        let formers = layouts.before.values().map(|former| &former.layout);
        let mut kept = formers.chain([&layouts.current]);
        kept.any(|layout| layout.matching() != Matching::Rows).then_some(())?;
        let entity = layouts.current.postings().entity(set.as_bytes())?;
        if !layouts.current.has_tenant(entity) {
            return Some((entity, None));
        }
        let mut parts = KeyBytes::decode(set.as_bytes()).ok()?.into_iter();
        let is_of_list = matches!(parts.next()?.as_s()?, "l" | "f");
        Some((entity, Some(parts.nth(if is_of_list { 2 } else { 1 })?)))
    }

    /// Whether a set belongs to an earlier model that rows still have.
    fn was_group(&self, set: &SetName) -> bool {
        let mut formers = self.schema.layouts.before.values();
        formers.any(|former| former.layout.postings().entity(set.as_bytes()).is_some())
    }

    /// Adds a member to a set or removes it, if its entity is unchanged.
    async fn set_member(
        &self,
        own: Option<&OwnRow>,
        (set, ordinal): (SetName, u64),
        becomes: Membership,
    ) -> Result<Remedy, Error> {
        if self.repair == Repair::No {
            return Ok(Remedy::NotRequested);
        }
        let table = self.shared.table.clone();
        let check = own.map(|own| {
            let key = self.schema.layouts.current.own_key(&own.image.key).to_item();
            let condition: Condition = as_read(own);
            let on_failure = OnFailure::Nothing;
            TransactAction::Check(Check { table: table.clone(), key, condition, on_failure })
        });
        let sets = vec![SetChange { table: table.clone(), set, ordinals: vec![ordinal], becomes }];
        let actions = check.into_iter().collect();
        self.mend_all(TransactWrite { sets, ..TransactWrite::new(actions) }).await
    }
}
