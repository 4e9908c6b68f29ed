//! Counters: recounts all of them in one snapshot. Every write changes counters together with entities,
//! so a difference at one moment is a difference at any other.

use std::collections::BTreeMap;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Counter, RowKey, RowName, is_counter};
use keyloom_store::{Delete, Read, Scan, TransactAction};
use keyloom_value::{Condition, Item, Path, Value};

use super::position::{At, Position};
use super::{Finding, Problem, Remedy, Repair, Verifier, VerifyPage, key_of, show_key};
use crate::background::Progress;
use crate::error::Error;
use crate::write::{RankedChange, add_all};

/// The approximate number of counters in one step.
const NUMBERS_MAX: usize = 500_000;

/// The counters of a range of hashes, recounted.
struct Recount {
    from: u64,
    /// The last hash.
    to: u64,
    numbers: BTreeMap<Counter, Counted>,
}

#[derive(Default)]
struct Counted {
    /// The sum of what entities add.
    expected: i64,
    /// The stored row.
    found: Option<Item>,
}

impl Recount {
    fn number(&mut self, counter: Counter) -> Option<&mut Counted> {
        if !(self.from..=self.to).contains(&hash(counter.key())) {
            return None;
        }
        while self.numbers.len() >= NUMBERS_MAX && self.to > self.from {
            self.to = self.from + (self.to - self.from) / 2;
            let to = self.to;
            self.numbers.retain(|counter, _| hash(counter.key()) <= to);
        }
        (hash(counter.key()) <= self.to).then(|| self.numbers.entry(counter).or_default())
    }

    /// Adds what an entity, or something else, adds to a counter. A change of a score that is not
    /// settled yet belongs to the score.
    fn add(&mut self, counter: Counter, by: i64) {
        let counter = counter.changed().unwrap_or(counter);
        if let Some(counted) = self.number(counter) {
            counted.expected += by;
        }
    }
}

impl Verifier<'_> {
    /// Where the verification of counters starts, if there are any.
    pub(super) fn first_counter(&self) -> Option<At> {
        let layouts = &self.schema.layouts;
        let formers = layouts.before.values().map(|former| &former.layout);
        let mut all = formers.chain([&layouts.current]);
        let has_any = all.any(|layout| {
            layout.model().entities().any(|(entity, _)| layout.counters().has_any(entity))
        });
        has_any.then_some(At::Counters(0))
    }

    /// Verifies a part of the counters. Without snapshots, they cannot be recounted while others write, so
    /// they are not verified.
    pub(super) async fn counters_page(&self, from: u64, rows: u64) -> Result<VerifyPage, Error> {
        let (mut findings, mut next) = (vec![], None);
        match self.shared.store.snapshot().await {
            Err(keyloom_store::Error::Unsupported { .. }) => {}
            snapshot => {
                let recount = self.recount(&*snapshot?, from).await?;
                next = recount.to.checked_add(1).map(At::Counters);
                // Prefix counts before scores: the repair of a score adds to its prefix counts.
                for (counter, counted) in &recount.numbers {
                    self.number_of(counter, counted, &mut findings).await?;
                }
            }
        }
        let next = next.map(|at| Position { at, rows }.write());
        let described = self.shared.store.describe_table(self.shared.table.clone()).await?;
        let progress = Progress { rows, rows_total: described.items.max(rows) };
        Ok(VerifyPage { findings, next, progress })
    }

    async fn recount(&self, snapshot: &dyn Read, from: u64) -> Result<Recount, Error> {
        let mut recount = Recount { from, to: u64::MAX, numbers: BTreeMap::new() };
        let mut scan = Scan::new(&self.shared.table);
        loop {
            let page = snapshot.scan(scan.clone()).await?;
            page.items.into_iter().for_each(|row| self.count_row(row, &mut recount));
            match page.last_key {
                None => return Ok(recount),
                start => scan.start = start,
            }
        }
    }

    fn count_row(&self, row: Item, recount: &mut Recount) {
        let layouts = &self.schema.layouts;
        match self.name_of(&row) {
            Some(RowName::Own(_)) => {
                // An invalid row adds nothing; it is a finding of its own.
                let own = layouts.current.read_own(&row).ok();
                let counters = own.and_then(|own| layouts.counters_before(&own).ok());
                counters.into_iter().flatten().for_each(|counter| recount.add(counter, 1));
            }
            Some(RowName::Counter(change @ Counter::Change(_))) => {
                recount.add(change, -Counter::value_of(&row).unwrap_or(0));
            }
            Some(RowName::Counter(counter)) => {
                for step in counter.prefix_counts(Counter::value_of(&row).unwrap_or(0)) {
                    recount.add(Counter::Plain(step), 1);
                }
                if let Some(counted) = recount.number(counter) {
                    counted.found = Some(row);
                }
            }
            Some(
                RowName::Link { .. }
                | RowName::Guard { .. }
                | RowName::Presence { .. }
                | RowName::Posting { .. }
                | RowName::System,
            )
            | None => {}
        }
    }

    async fn number_of(
        &self,
        counter: &Counter,
        counted: &Counted,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Counted { expected, found } = counted;
        if *found == counter.row(*expected) {
            return Ok(());
        }
        let number = found.as_ref().and_then(Counter::value_of);
        if let (0, Some(0), Some(row)) = (expected, number, found) {
            return self.forget_zero(row).await;
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => self.recounted(counter, (found.as_ref(), *expected)).await?,
        };
        let row = show_key(&counter.key().to_item());
        let problem = Problem::WrongNumber { row, expected: *expected, found: number };
        findings.push(self.finding(None, problem, remedy));
        Ok(())
    }

    async fn recounted(
        &self,
        counter: &Counter,
        (found, expected): (Option<&Item>, i64),
    ) -> Result<Remedy, Error> {
        let mut steps = BTreeMap::new();
        let before = found.and_then(Counter::value_of).unwrap_or(0);
        let ranked = RankedChange { counter, row: found, before, after: expected };
        ranked.add_prefix_counts(&mut steps);
        let mut actions = vec![ranked.rewrite(&self.shared.table)];
        actions.extend(add_all(&self.shared.table, steps));
        self.mend(actions).await
    }

    /// Whether a row is a counter that is 0, which may remain, even of a count that no longer exists.
    pub(super) fn is_zero(row: &Item) -> bool {
        let partition = row.get(PARTITION).and_then(Value::as_b).unwrap_or_default();
        is_counter(partition) && Counter::value_of(row) == Some(0)
    }

    /// Removes a counter that is 0, if repair is requested.
    pub(super) async fn forget_zero(&self, row: &Item) -> Result<(), Error> {
        if self.repair == Repair::Yes {
            let zero =
                Condition::equal(Path::from(keyloom_model::attribute::COUNT), Value::from(0));
            let delete = Delete::new(&self.shared.table, key_of(row)).when(zero);
            self.mend(vec![TransactAction::Delete(delete)]).await?;
        }
        Ok(())
    }

    /// Returns what a row is under the current model, or an earlier one that rows still have.
    pub(super) fn name_of(&self, row: &Item) -> Option<RowName> {
        let key = |name| row.get(name).and_then(Value::as_b).unwrap_or_default();
        let (partition, sort) = (key(PARTITION), key(SORT));
        let layouts = &self.schema.layouts;
        let mut formers = layouts.before.values().map(|former| &former.layout);
        let current = layouts.current.row_name(partition, sort);
        current.or_else(|| formers.find_map(|layout| layout.row_name(partition, sort)))
    }
}

/// FNV-1a: a stable position for every counter.
fn hash(key: &RowKey) -> u64 {
    let bytes = key.partition.as_bytes().iter().chain(key.sort.as_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}
