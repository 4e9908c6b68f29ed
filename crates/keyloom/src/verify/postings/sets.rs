//! Posting lists that are sets of the store. Entities are verified with their own rows; the members of
//! sets in steps of their own, after the rows.

use keyloom_model::OwnRow;
use keyloom_query::Reader;
use keyloom_store::{
    Direction, ListSets, Membership, Read, ReadSet, SetChange, SetName, SetPart, Sets,
    TransactWrite,
};

use super::super::expected::Group;
use super::super::findings::{Findings, show_name};
use super::super::position::{At, SetPlace};
use super::super::step::Step;
use super::super::{Checked, Problem, Remedy};
use crate::error::Error;

/// The number of members to verify in one step.
const PAGE_MEMBERS: usize = 500;

/// The sets of the table, in the store as it is or in a snapshot.
struct SetsIn<'a> {
    step: &'a Step<'a>,
    store: &'a dyn Read,
    sets: &'a dyn Sets,
}

/// A member of a set.
struct Member<'a> {
    set: &'a SetName,
    ordinal: u64,
}

/// Verifies that an entity is in its sets.
pub(in super::super) async fn check_sets_of(
    step: &Step<'_>,
    own: &OwnRow,
    findings: &mut Findings<'_>,
) -> Result<(), Error> {
    let Some(now) = SetsIn::new(step, &*step.shared.store) else { return Ok(()) };
    // Invalid fields are a finding of their own.
    let Ok(implied) = step.schema.layouts.sets_before(own) else { return Ok(()) };
    for (set, ordinal) in &implied {
        let member = Member { set, ordinal: *ordinal };
        if now.has(&member).await? || !is_missing(step, own, &member).await? {
            continue;
        }
        let problem = Problem::GroupMissing { group: show_name(set.as_bytes()) };
        let remedy = change(step, Some(own), &member, Membership::In).await?;
        findings.of_entity(&own.image.key, problem, remedy);
    }
    Ok(())
}

/// Reads the entity and the set again, in one snapshot.
async fn is_missing(step: &Step<'_>, own: &OwnRow, member: &Member<'_>) -> Result<bool, Error> {
    let snapshot = step.shared.store.snapshot().await?;
    let Some(sets) = SetsIn::new(step, &*snapshot) else { return Ok(false) };
    let now = sets.reader().get_any(&own.image.key).await?;
    Ok(now.as_ref() == Some(own) && !sets.has(member).await?)
}

/// Where the verification of sets starts, if there are any.
pub(in super::super) fn first(step: &Step<'_>) -> Option<At> {
    step.shared.store.sets().map(|_| At::Sets(SetPlace::Start))
}

/// Verifies the members of sets from a position on, in one snapshot.
pub(in super::super) async fn check_page<'a>(
    step: &Step<'a>,
    mut place: SetPlace,
) -> Result<Checked<'a>, Error> {
    let snapshot = step.shared.store.snapshot().await?;
    let (mut findings, mut checked) = (step.findings(), 0);
    let Some(sets) = SetsIn::new(step, &*snapshot) else {
        return Ok(Checked { findings, rows: 0, next: None });
    };
    while checked < PAGE_MEMBERS {
        let Some((set, from)) = sets.next(&place).await? else {
            return Ok(Checked { findings, rows: 0, next: None });
        };
        let part = sets.part(&set, from).await?;
        let members: Vec<u64> = part.members.iter().take(PAGE_MEMBERS - checked).collect();
        for ordinal in &members {
            sets.check(&Member { set: &set, ordinal: *ordinal }, &mut findings).await?;
        }
        checked += members.len();
        let is_all = members.len() as u64 == part.members.len();
        let last = if is_all { part.through } else { members.last().copied() };
        place = match last.and_then(|last| last.checked_add(1)) {
            Some(from) => SetPlace::In(set, from),
            None => SetPlace::After(set),
        };
    }
    Ok(Checked { findings, rows: 0, next: Some(At::Sets(place)) })
}

impl<'a> SetsIn<'a> {
    /// None if the store has no sets.
    fn new(step: &'a Step<'a>, store: &'a dyn Read) -> Option<SetsIn<'a>> {
        Some(SetsIn { step, store, sets: store.sets()? })
    }

    fn reader(&self) -> Reader<'_> {
        Reader { store: self.store, ..self.step.reader() }
    }

    async fn part(&self, set: &SetName, from: u64) -> Result<SetPart, Error> {
        let (table, set) = (self.step.table().clone(), set.clone());
        let read = ReadSet { table, set, from, direction: Direction::Forward, chunks: 1 };
        Ok(self.sets.read_set(read).await?)
    }

    async fn has(&self, member: &Member<'_>) -> Result<bool, Error> {
        Ok(self.part(member.set, member.ordinal).await?.members.contains(member.ordinal))
    }

    /// The set at a position, and the ordinal in it; none after the last set.
    async fn next(&self, place: &SetPlace) -> Result<Option<(SetName, u64)>, Error> {
        let after = match place {
            SetPlace::In(set, from) => return Ok(Some((set.clone(), *from))),
            SetPlace::After(set) => Some(set.clone()),
            SetPlace::Start => None,
        };
        let table = self.step.table().clone();
        let found =
            self.sets.list_sets(ListSets { table, prefix: vec![], after, limit: 1 }).await?;
        Ok(found.into_iter().next().map(|size| (size.set, 0)))
    }

    /// Verifies that the entity of a member implies it.
    async fn check(&self, member: &Member<'_>, findings: &mut Findings<'_>) -> Result<(), Error> {
        let expected = self.step.expected();
        let own = match expected.group_of(member.set) {
            // An entity that had an ordinal under an earlier model leaves its sets when it is rewritten.
            None if expected.is_of_earlier_model(member.set) => return Ok(()),
            None => None,
            Some(group) => match self.unexpected_in(&group, member).await? {
                None => return Ok(()),
                Some(entities) => entities.into_iter().next(),
            },
        };
        let group = show_name(member.set.as_bytes());
        let problem = Problem::GroupWrong { group, number: member.ordinal };
        let remedy = change(self.step, own.as_ref(), member, Membership::Out).await?;
        match &own {
            Some(own) => findings.of_entity(&own.image.key, problem, remedy),
            None => findings.of_row(problem, remedy),
        }
        Ok(())
    }

    /// Returns the entities with the ordinal of a member, if none of them implies that it is in the
    /// set.
    async fn unexpected_in(
        &self,
        Group { entity, tenant }: &Group,
        member: &Member<'_>,
    ) -> Result<Option<Vec<OwnRow>>, Error> {
        let rows = self.reader().numbered(*entity, tenant.as_ref(), member.ordinal).await;
        let rows = match rows {
            // The own row is invalid, which is a finding of its own.
            Err(keyloom_query::Error::Unreadable { .. }) => return Ok(None),
            rows => rows?,
        };
        let is_implied = |row: &OwnRow| match self.step.schema.layouts.sets_before(row) {
            Ok(implied) => implied.contains(&(member.set.clone(), member.ordinal)),
            // So are invalid fields.
            Err(_) => true,
        };
        Ok((!rows.iter().any(is_implied)).then_some(rows))
    }
}

/// Adds a member to a set or removes it, if its entity is unchanged.
async fn change(
    step: &Step<'_>,
    own: Option<&OwnRow>,
    member: &Member<'_>,
    becomes: Membership,
) -> Result<Remedy, Error> {
    let conditions = own.map(|own| step.if_unchanged(own)).into_iter().collect();
    let (table, set) = (step.table().clone(), member.set.clone());
    let sets = vec![SetChange { table, set, ordinals: vec![member.ordinal], becomes }];
    step.repair_by(TransactWrite { sets, ..TransactWrite::new(conditions) }).await
}
