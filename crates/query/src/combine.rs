//! Who is in a combination of groups, found in order with two verbs: *next* brings the members from
//! a number on, as many as come cheaply together; *retain* keeps those of some numbers that are
//! members. AND takes what its rarest has next and lets the others retain it.
//!
//! Where groups are rows, nobody knows how many are in one without reading it. There AND leaps: each
//! group is asked for its first member that can be one of all, the one that leaps the farthest is
//! taken for the rarest and read from there, a few rows at first. So an AND reads no more than about
//! as many rows of each group as its rarest has.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use keyloom_model::{Matching, attribute, entry_place, number_of};
use keyloom_store::{Direction, Members, ReadSet, SetName, Sets};
use keyloom_value::{Item, KeyBytes, Name, Value};

use crate::fetch::unreadable;
use crate::hidden::Hidden;
use crate::plan::Node;
use crate::span::{Place, Span};
use crate::{Budget, Error, ReadCost, Reader};

/// Rows that are read at once where groups are rows, at most.
const ENTRIES: u32 = 100;
/// And at least, of a group alone: one more than the usual page has.
const ENTRIES_ALONE: u32 = 21;
/// And at least, of a group that is combined with others.
const ENTRIES_FEW: u32 = 8;
/// How many are in a group, if that is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// Some members: all from where they were looked for through a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) members: Members,
    /// The last number that was looked at; none if nothing is left.
    pub(crate) through: Option<u64>,
    /// Where groups are rows, whose the members are: they say so.
    pub(crate) owners: Owners,
}

/// The partitions of entities' own rows, by their numbers.
pub(crate) type Owners = BTreeMap<u64, Vec<u8>>;

/// Finds members.
pub(crate) struct Combiner<'c> {
    pub(crate) reader: &'c Reader<'c>,
    pub(crate) direction: Direction,
    pub(crate) budget: Budget,
    /// Who does not count as a member, where that matters before entities are looked at.
    pub(crate) hidden: &'c Hidden,
    pub(crate) cost: &'c mut ReadCost,
}

type Found<'f, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'f>>;

impl<'c> Combiner<'c> {
    /// Members from a number on. There are some unless nothing is left, or so much was read that
    /// it is enough.
    pub(crate) fn next<'f>(&'f mut self, node: &'f Node, from: u64) -> Found<'f, Batch> {
        Box::pin(async move {
            match node {
                Node::Nothing => Ok(Batch::default()),
                Node::Group { name, .. } => self.group_next(name, from).await,
                Node::All(with, without) => self.all_next(with, without, from).await,
                Node::Any(nodes) => self.any_next(nodes, from).await,
            }
        })
    }

    async fn all_next(
        &mut self,
        with: &[Node],
        without: &[Node],
        mut from: u64,
    ) -> Result<Batch, Error> {
        let Some((rarest, others)) = with.split_first() else { return Ok(Batch::default()) };
        if self.sets().is_none() {
            return self.leap(with, without, from).await;
        }
        loop {
            let Batch { mut members, through, .. } = self.next(rarest, from).await?;
            for other in others {
                members = self.retain(other, members).await?;
            }
            members = self.without(without, members).await?;
            let next = through.and_then(|through| self.after(through));
            match next {
                Some(next) if members.is_empty() && !self.is_enough() => from = next,
                Some(_) | None => {
                    let through = next.and(through);
                    return Ok(Batch { members, through, ..Batch::default() });
                }
            }
        }
    }

    /// As [`Combiner::all_next`], where groups are rows.
    async fn leap(
        &mut self,
        with: &[Node],
        without: &[Node],
        mut from: u64,
    ) -> Result<Batch, Error> {
        loop {
            let Some((rarest, first)) = self.aligned(with, from).await? else {
                return Ok(Batch::default());
            };
            let Batch { mut members, through, owners } = match &with[rarest] {
                Node::Group { name, .. } if with.len() > 1 => {
                    self.entries(name, first, self.portion(ENTRIES_FEW)).await?
                }
                node => self.next(node, first).await?,
            };
            for (_, other) in with.iter().enumerate().filter(|(place, _)| *place != rarest) {
                members = self.retain(other, members).await?;
            }
            members = self.without(without, members).await?;
            let next = through.and_then(|through| self.after(through));
            match next {
                Some(next) if members.is_empty() && !self.is_enough() => from = next,
                Some(_) | None => {
                    return Ok(Batch { members, through: next.and(through), owners });
                }
            }
        }
    }

    /// The first number from one on at which all groups may have a member, and the place of the one
    /// that seems to be the rarest; none if there is no such number.
    async fn aligned(&mut self, with: &[Node], from: u64) -> Result<Option<(usize, u64)>, Error> {
        let (mut rarest, mut farthest, mut first) = (0, None, from);
        if with.len() == 1 {
            return Ok(Some((rarest, first)));
        }
        for (place, node) in with.iter().enumerate() {
            let Node::Group { name, .. } = node else { continue };
            let Some(next) = self.first_from(name, first).await? else { return Ok(None) };
            // From the start of all numbers to the first that anybody has says nothing.
            let leap = if first == self.start() { 0 } else { next.abs_diff(first) };
            if farthest.is_none_or(|farthest| leap > farthest) {
                (rarest, farthest) = (place, Some(leap));
            }
            first = next;
        }
        Ok(Some((rarest, first)))
    }

    /// The first member of a group from a number on, where groups are rows.
    async fn first_from(&mut self, name: &KeyBytes, from: u64) -> Result<Option<u64>, Error> {
        let (mut from, mut rows) = (from, 1);
        loop {
            let batch = self.entries(name, from, rows).await?;
            if let Some(first) = self.first(&batch.members) {
                return Ok(Some(first));
            }
            // Those that were read do not count any more.
            match batch.through.and_then(|through| self.after(through)) {
                Some(next) => (from, rows) = (next, ENTRIES),
                None => return Ok(None),
            }
        }
    }

    /// How many rows of a group are read next: as many as were read before, so that few are read in
    /// vain, and many in few requests.
    fn portion(&self, rows_min: u32) -> u32 {
        u32::try_from(self.cost.rows).unwrap_or(ENTRIES).clamp(rows_min, ENTRIES)
    }

    async fn without(&mut self, nodes: &[Node], mut members: Members) -> Result<Members, Error> {
        for node in nodes {
            let out = self.retain(node, members.clone()).await?;
            members.and_not(&out);
        }
        Ok(members)
    }

    async fn any_next(&mut self, nodes: &[Node], from: u64) -> Result<Batch, Error> {
        let mut batches = vec![];
        for node in nodes {
            batches.push(self.next(node, from).await?);
        }
        let throughs = batches.iter().filter_map(|batch| batch.through);
        let through = match self.direction {
            Direction::Forward => throughs.min(),
            Direction::Backward => throughs.max(),
        };
        let mut members = Members::default();
        batches.iter().for_each(|batch| members.or(&batch.members));
        match (self.direction, through) {
            (_, None) => {}
            (Direction::Forward, Some(through)) => members.keep(0..=through),
            (Direction::Backward, Some(through)) => members.keep(through..=u64::MAX),
        }
        let owners = batches.into_iter().flat_map(|batch| batch.owners).collect();
        Ok(Batch { members, through, owners })
    }

    /// Those of some numbers that are members.
    pub(crate) fn retain<'f>(&'f mut self, node: &'f Node, members: Members) -> Found<'f, Members> {
        Box::pin(async move {
            if members.is_empty() {
                return Ok(members);
            }
            match node {
                Node::Nothing => Ok(Members::default()),
                Node::Group { name, .. } => self.group_retain(name, members).await,
                Node::All(with, without) => {
                    let mut members = members;
                    for node in with {
                        members = self.retain(node, members).await?;
                    }
                    self.without(without, members).await
                }
                Node::Any(nodes) => {
                    let mut any = Members::default();
                    for node in nodes {
                        any.or(&self.retain(node, members.clone()).await?);
                    }
                    Ok(any)
                }
            }
        })
    }

    async fn group_next(&mut self, name: &KeyBytes, from: u64) -> Result<Batch, Error> {
        match self.sets() {
            Some(sets) => self.set_next(sets, name, from).await,
            None => self.entries(name, from, self.portion(ENTRIES_ALONE)).await,
        }
    }

    /// Members of a group among some numbers: the group is read along from one of them to the next.
    /// Where it is rows and has many between two of them, fewer are read at once.
    async fn group_retain(&mut self, name: &KeyBytes, members: Members) -> Result<Members, Error> {
        let mut kept = Members::default();
        let mut left = members;
        let mut rows_max = u64::from(ENTRIES);
        while let Some(from) = self.first(&left) {
            let before = left.len();
            let batch = match self.sets() {
                Some(sets) => self.set_next(sets, name, from).await?,
                None => {
                    let wanted = u32::try_from(before.min(rows_max)).unwrap_or(ENTRIES);
                    self.entries(name, from, wanted).await?
                }
            };
            let mut found = batch.members;
            found.and(&left);
            kept.or(&found);
            match batch.through.and_then(|through| self.after(through)) {
                None => break,
                Some(next) => left.keep(match self.direction {
                    Direction::Forward => next..=u64::MAX,
                    Direction::Backward => 0..=next,
                }),
            }
            rows_max = before.saturating_sub(left.len()).saturating_mul(2).max(1);
        }
        Ok(kept)
    }

    async fn set_next(
        &mut self,
        sets: &dyn Sets,
        name: &KeyBytes,
        from: u64,
    ) -> Result<Batch, Error> {
        let set = SetName::new(name.as_bytes()).map_err(keyloom_store::Error::from)?;
        let (table, direction) = (self.reader.table.clone(), self.direction);
        let part = sets.read_set(ReadSet { table, set, from, direction, chunks: 1 }).await?;
        self.cost.rows += u64::from(part.chunks);
        self.cost.bytes += part.bytes;
        let mut members = part.members;
        self.leave_out(name, &mut members);
        Ok(Batch { members, through: part.through, ..Batch::default() })
    }

    /// Members of a group whose members are rows.
    async fn entries(&mut self, name: &KeyBytes, from: u64, limit: u32) -> Result<Batch, Error> {
        let (partition, prefix) = entry_place(name.as_bytes());
        let place = Place {
            index: None,
            partition: (Name::from(attribute::PARTITION), partition),
            sort: Name::from(attribute::SORT),
        };
        let mut number = KeyBytes::new();
        let pushed = number.push(&Value::from(from));
        debug_assert!(pushed.is_ok(), "a number can be part of a key");
        let at = [prefix, number.as_bytes()].concat();
        let span = match self.direction {
            Direction::Forward => Span::new(Some(at), KeyBytes::after_prefix(prefix)),
            Direction::Backward => Span::new(Some(prefix.to_vec()), Some(at)),
        };
        let page = self.reader.page(&place, &span, self.direction, limit.max(1) as usize).await?;
        self.cost.rows += page.scanned;
        self.cost.bytes += page.scanned_bytes;
        let number = |row: &Item| {
            let sort = row.get(attribute::SORT).and_then(Value::as_b);
            let number = sort.and_then(|sort| number_of(sort.get(prefix.len()..)?));
            let reason = keyloom_model::Unreadable { attribute: attribute::SORT };
            number.ok_or_else(|| unreadable(row, reason))
        };
        let numbers = page.items.iter().map(number).collect::<Result<Vec<u64>, Error>>()?;
        let through = page.last_key.and(numbers.last().copied());
        let owner =
            |row: &Item| row.get(attribute::OWNER).and_then(Value::as_b).map(<[u8]>::to_vec);
        let owners = numbers.iter().zip(&page.items);
        let owners = owners.filter_map(|(number, row)| Some((*number, owner(row)?))).collect();
        let mut members = numbers.into_iter().collect();
        self.leave_out(name, &mut members);
        Ok(Batch { members, through, owners })
    }

    fn leave_out(&self, name: &KeyBytes, members: &mut Members) {
        if self.hidden.is_empty() {
            return;
        }
        let layout = self.reader.layout;
        if let Some(entity) = layout.group_entity(name.as_bytes()) {
            self.hidden.leave_out((layout, entity), name, members);
        }
    }

    /// How many are in each group; where groups are rows, that is not known.
    pub(crate) async fn sizes(&mut self, names: &[KeyBytes]) -> Result<Vec<u64>, Error> {
        if let Some(sets) = self.sets() {
            let set = |name: &KeyBytes| SetName::new(name.as_bytes());
            let names: Result<Vec<SetName>, _> = names.iter().map(set).collect();
            let names = names.map_err(keyloom_store::Error::from)?;
            self.cost.rows += names.len() as u64;
            return Ok(sets.set_sizes(self.reader.table.clone(), names).await?);
        }
        Ok(vec![UNKNOWN; names.len()])
    }

    /// The first members of a group, up to so many, and whether these are all; where groups are rows.
    pub(crate) async fn first_entries(
        &mut self,
        name: &KeyBytes,
        rows_max: u64,
    ) -> Result<(Members, bool), Error> {
        let (mut from, mut members) = (self.start(), Members::default());
        while members.len() < rows_max {
            let rows = u32::try_from(rows_max - members.len()).unwrap_or(ENTRIES).min(ENTRIES);
            let batch = self.entries(name, from, rows).await?;
            members.or(&batch.members);
            match batch.through.and_then(|through| self.after(through)) {
                Some(next) => from = next,
                None => return Ok((members, true)),
            }
        }
        Ok((members, false))
    }

    /// Where a walk begins.
    pub(crate) fn start(&self) -> u64 {
        match self.direction {
            Direction::Forward => 0,
            Direction::Backward => u64::MAX,
        }
    }

    /// The number after one, in the direction.
    pub(crate) fn after(&self, number: u64) -> Option<u64> {
        match self.direction {
            Direction::Forward => number.checked_add(1),
            Direction::Backward => number.checked_sub(1),
        }
    }

    pub(crate) fn is_enough(&self) -> bool {
        self.cost.rows >= self.budget.rows || self.cost.bytes >= self.budget.bytes
    }

    fn first(&self, members: &Members) -> Option<u64> {
        match self.direction {
            Direction::Forward => members.first(),
            Direction::Backward => members.last(),
        }
    }

    pub(crate) fn sets(&self) -> Option<&'c dyn Sets> {
        match self.reader.layout.matching() {
            Matching::Sets => self.reader.store.sets(),
            Matching::Rows => None,
        }
    }
}
