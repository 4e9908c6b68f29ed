//! Who is in a combination of groups, found in order with two verbs: *next* brings the members from
//! a number on, as many as come cheaply together; *retain* keeps those of some numbers that are
//! members. AND takes what its rarest has next and lets the others retain it.

use std::future::Future;
use std::pin::Pin;

use keyloom_model::{Matching, attribute, entry_place, number_of};
use keyloom_store::{Direction, Members, ReadSet, SetName, Sets};
use keyloom_value::{KeyBytes, Name, Value};

use crate::fetch::unreadable;
use crate::plan::Node;
use crate::span::{Place, Span};
use crate::{Budget, Effort, Error, Reader};

/// Rows that are read at once where groups are rows.
const ENTRIES: u32 = 100;
/// As far as the size of a group is counted where groups are rows.
pub(crate) const PROBE: u32 = 100;

/// Some members: all from where they were looked for through a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) members: Members,
    /// The last number that was looked at; none if nothing is left.
    pub(crate) through: Option<u64>,
}

/// Finds members.
pub(crate) struct Combiner<'c> {
    pub(crate) reader: &'c Reader<'c>,
    pub(crate) direction: Direction,
    pub(crate) budget: Budget,
    pub(crate) effort: &'c mut Effort,
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
        loop {
            let Batch { mut members, through } = self.next(rarest, from).await?;
            for other in others {
                members = self.retain(other, members).await?;
            }
            for other in without {
                let out = self.retain(other, members.clone()).await?;
                members.and_not(&out);
            }
            let next = through.and_then(|through| self.after(through));
            match next {
                Some(next) if members.is_empty() && !self.is_enough() => {
                    match self.skipped(others, next).await? {
                        Some(next) => from = next,
                        None => return Ok(Batch::default()),
                    }
                }
                Some(_) | None => return Ok(Batch { members, through: next.and(through) }),
            }
        }
    }

    /// The first number from one on at which all may have a member; none if there is none. Where
    /// groups are rows, it saves reading what the others do not have.
    async fn skipped(&mut self, others: &[Node], from: u64) -> Result<Option<u64>, Error> {
        let mut from = from;
        for other in others {
            let Node::Group { name, .. } = other else { continue };
            if self.sets().is_some() {
                continue;
            }
            let members = self.entries(name, from, 1).await?.members;
            match self.first(&members) {
                Some(first) => from = first,
                None => return Ok(None),
            }
        }
        Ok(Some(from))
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
        Ok(Batch { members, through })
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
                    for node in without {
                        let out = self.retain(node, members.clone()).await?;
                        members.and_not(&out);
                    }
                    Ok(members)
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
            None => self.entries(name, from, ENTRIES).await,
        }
    }

    /// Members of a group among some numbers: the group is read along from one of them to the next.
    async fn group_retain(&mut self, name: &KeyBytes, members: Members) -> Result<Members, Error> {
        let mut kept = Members::default();
        let mut left = members;
        while let Some(from) = self.first(&left) {
            let batch = match self.sets() {
                Some(sets) => self.set_next(sets, name, from).await?,
                None => {
                    let wanted = u32::try_from(left.len()).unwrap_or(ENTRIES).min(ENTRIES);
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
        self.effort.rows += u64::from(part.chunks);
        self.effort.bytes += part.bytes;
        Ok(Batch { members: part.members, through: part.through })
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
        self.effort.rows += page.scanned;
        self.effort.bytes += page.scanned_bytes;
        let number = |row: &keyloom_value::Item| {
            let sort = row.get(attribute::SORT).and_then(Value::as_b);
            let number = sort.and_then(|sort| number_of(sort.get(prefix.len()..)?));
            let reason = keyloom_model::Unreadable { attribute: attribute::SORT };
            number.ok_or_else(|| unreadable(row, reason))
        };
        let numbers = page.items.iter().map(number).collect::<Result<Vec<u64>, Error>>()?;
        let through = page.last_key.and(numbers.last().copied());
        Ok(Batch { members: numbers.into_iter().collect(), through })
    }

    /// How many are in each group; where groups are rows, up to a bound.
    pub(crate) async fn sizes(&mut self, names: &[KeyBytes]) -> Result<Vec<u64>, Error> {
        if let Some(sets) = self.sets() {
            let set = |name: &KeyBytes| SetName::new(name.as_bytes());
            let names: Result<Vec<SetName>, _> = names.iter().map(set).collect();
            let names = names.map_err(keyloom_store::Error::from)?;
            self.effort.rows += names.len() as u64;
            return Ok(sets.set_sizes(self.reader.table.clone(), names).await?);
        }
        let mut sizes = vec![];
        for name in names {
            let start = self.start();
            sizes.push(self.entries(name, start, PROBE).await?.members.len());
        }
        Ok(sizes)
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
        self.effort.rows >= self.budget.rows || self.effort.bytes >= self.budget.bytes
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
