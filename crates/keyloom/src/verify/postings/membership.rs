//! Which ordinals are in which posting lists that are kept as chunks: those of the entities that imply
//! it. A chunk counts together with the deltas that are not folded into it yet.

use std::collections::BTreeMap;
use std::slice::from_ref;

use keyloom_model::OwnRow;
use keyloom_query::Error as QueryError;

use super::super::expected::{Group, Membership};
use super::super::findings::{Findings, show_name};
use super::super::seen::Seen;
use super::super::step::Step;
use super::super::{Problem, Remedy};
use crate::error::Error;
use crate::write::{OrdinalOwner, PlannedDelta};

/// How many members of a chunk are verified at once.
const MEMBERS_MAX: usize = 500;

/// The posting lists of a group.
pub(super) struct ChunkedLists<'a> {
    pub(super) step: &'a Step<'a>,
    pub(super) group: &'a Group,
}

/// What a repair makes of an ordinal.
#[derive(Clone, Copy, PartialEq)]
enum Becomes {
    In,
    Out,
}

/// Verifies that an entity is in its lists.
pub(in super::super) async fn check_lists_of(
    step: &Step<'_>,
    own: &OwnRow,
    seen: &Seen,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let Some(ordinal) = own.image.ordinal else { return Ok(()) };
    // Invalid fields are a finding of their own.
    let Ok(implied) = step.schema.layouts.chunked_before(own) else { return Ok(()) };
    let memberships = implied.into_iter().map(|list| (list, ordinal));
    let memberships: Vec<Membership> = memberships.filter(|at| !seen.may_be_in(at)).collect();
    if memberships.is_empty() {
        return Ok(());
    }
    let group = Group::from(&own.image.key);
    let are_in = match step.are_members(&group, &memberships).await {
        // A row of theirs was damaged after it was seen.
        Err(QueryError::Unreadable { .. }) => return Ok(()),
        are_in => are_in?,
    };
    let lists = ChunkedLists { step, group: &group };
    for (at, _) in memberships.iter().zip(are_in).filter(|(_, is_in)| !is_in) {
        // Read after the list: if it is unchanged, it was so when the list was read.
        if !step.is_unchanged(own).await? {
            return Ok(());
        }
        let remedy = lists.append(Some(own), at, Becomes::In).await?;
        let problem = Problem::GroupMissing { group: show_name(&at.0) };
        findings.of_entity(&own.image.key, problem, remedy);
    }
    Ok(())
}

impl ChunkedLists<'_> {
    /// Verifies that the entities of ordinals imply that they are in a list.
    pub(super) async fn check_members(
        &self,
        list: &[u8],
        ordinals: &[u64],
        findings: &mut Findings<'_>,
    ) -> Result<(), Error> {
        let (reader, Group { entity, tenant }) = (self.step.reader(), self.group);
        for ordinals in ordinals.chunks(MEMBERS_MAX) {
            let rows = match reader.numbered_all(*entity, tenant.as_ref(), ordinals).await {
                // Each is read alone then.
                Err(QueryError::Unreadable { .. }) => BTreeMap::new(),
                rows => rows?,
            };
            for ordinal in ordinals.iter().copied() {
                if !self.step.expected().is_in_list(rows.get(&ordinal), list) {
                    self.check_member(&(list.to_vec(), ordinal), findings).await?;
                }
            }
        }
        Ok(())
    }

    /// Verifies that the entity of an ordinal implies that it is in a list.
    async fn check_member(
        &self,
        at: &Membership,
        findings: &mut Findings<'_>,
    ) -> Result<(), Error> {
        let own = match self.owner_of(at.1).await {
            // The own row is invalid, which is a finding of its own.
            Err(QueryError::Unreadable { .. }) => return Ok(()),
            own => own?,
        };
        if self.step.expected().is_in_list(own.as_ref(), &at.0) {
            return Ok(());
        }
        // Perhaps a delta says so, or the entity has changed since.
        let are_in = match self.step.are_members(self.group, from_ref(at)).await {
            // A row of the list is, which is a finding of its own too.
            Err(QueryError::Unreadable { .. }) => return Ok(()),
            are_in => are_in?,
        };
        let now = self.owner_of(at.1).await?;
        if !are_in.contains(&true) || now != own {
            return Ok(());
        }
        let remedy = self.append(own.as_ref(), at, Becomes::Out).await?;
        let problem = Problem::GroupWrong { group: show_name(&at.0), number: at.1 };
        match &own {
            Some(own) => findings.of_entity(&own.image.key, problem, remedy),
            None => findings.of_row(problem, remedy),
        }
        Ok(())
    }

    async fn owner_of(&self, ordinal: u64) -> Result<Option<OwnRow>, QueryError> {
        let (reader, Group { entity, tenant }) = (self.step.reader(), self.group);
        let rows = reader.numbered(*entity, tenant.as_ref(), ordinal).await?;
        Ok(rows.into_iter().next())
    }

    /// Appends a delta that says whether an ordinal is in a list, if its entity is unchanged.
    async fn append(
        &self,
        own: Option<&OwnRow>,
        (list, ordinal): &Membership,
        becomes: Becomes,
    ) -> Result<Remedy, Error> {
        if !self.step.is_repairing() {
            return Ok(Remedy::NotRequested);
        }
        let Group { entity, tenant } = self.group;
        let owner = OrdinalOwner { entity: *entity, tenant: tenant.as_ref(), ordinal: *ordinal };
        let names = |named: Becomes| (named == becomes).then(|| list.clone()).into_iter().collect();
        let (joins, leaves) = (names(Becomes::In), names(Becomes::Out));
        let delta = PlannedDelta::new(self.step.layout(), &owner, joins, leaves);
        let (shared, table) = (self.step.shared, self.step.table());
        shared.groups.register(&*shared.store, table, from_ref(&delta), shared.now_ms()).await?;
        let append = delta.action(table, &shared.stamps.next()?).action;
        let if_unchanged = own.map(|own| self.step.if_unchanged(own));
        self.step.repair(if_unchanged.into_iter().chain([append]).collect()).await
    }
}
