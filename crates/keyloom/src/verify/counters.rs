//! Counters: recounts all of them, in one snapshot or with the change feed. Every write changes
//! counters together with entities, so a difference at one moment is a difference at any other: a
//! repair is the same whenever it is written, and is written if the counter is unchanged.

use std::collections::BTreeMap;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{Amount, Counter, RowName, is_counter};
use keyloom_store::{Delete, Read, Scan, TransactAction};
use keyloom_value::{Condition, Item, Path, Value};

use super::position::{At, Position};
use super::recount::{Counted, Recount};
use super::replay::Replayed;
use super::{Finding, Problem, Remedy, Repair, Verifier, VerifyPage, key_of, show_key};
use crate::background::Progress;
use crate::error::Error;
use crate::write::{RankedChange, add_all};

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

    /// Verifies a part of the counters.
    pub(super) async fn counters_page(&self, from: u64, rows: u64) -> Result<VerifyPage, Error> {
        let Replayed { recount, unchecked } = match self.shared.store.snapshot().await {
            Err(keyloom_store::Error::Unsupported { .. }) => self.replay(from).await?,
            snapshot => {
                let recount = self.recount(&*snapshot?, from).await?;
                Replayed { recount, unchecked: vec![] }
            }
        };
        let mut findings = unchecked;
        // Prefix counts before scores: the repair of a score adds to its prefix counts.
        for (counter, counted) in &recount.counters {
            self.number_of(counter, counted, &mut findings).await?;
        }
        let at = recount.to.checked_add(1).map(At::Counters);
        let next = at.map(|at| Position { at, rows });
        let described = self.shared.store.describe_table(self.shared.table.clone()).await?;
        let progress = Progress { rows, rows_total: described.items.max(rows) };
        Ok(VerifyPage::new(findings, next, progress))
    }

    /// Recounts counters from a hash on, in a snapshot.
    async fn recount(&self, snapshot: &dyn Read, from: u64) -> Result<Recount<'_>, Error> {
        let mut recount = Recount::at_once(self, from);
        let mut scan = Scan::new(&self.shared.table);
        loop {
            let page = snapshot.scan(scan.clone()).await?;
            page.items.into_iter().for_each(|row| recount.row(row));
            match page.last_key {
                None => return Ok(recount),
                start => scan.start = start,
            }
        }
    }

    async fn number_of(
        &self,
        counter: &Counter,
        counted: &Counted,
        findings: &mut Vec<Finding>,
    ) -> Result<(), Error> {
        let Counted { expected, found, .. } = counted;
        if counter.has_row(found.as_ref(), expected) {
            return Ok(());
        }
        let number = found.as_ref().and_then(Counter::value_of);
        if let (0, Some(0), Some(row)) = (expected.count, number, found) {
            return self.forget_zero(row).await;
        }
        let remedy = match self.repair {
            Repair::No => Remedy::NotRequested,
            Repair::Yes => self.recounted(counter, (found.as_ref(), expected)).await?,
        };
        let row = show_key(&counter.key().to_item());
        let problem = Problem::WrongNumber { row, expected: expected.count, found: number };
        findings.push(self.finding(None, problem, remedy));
        Ok(())
    }

    async fn recounted(
        &self,
        counter: &Counter,
        (found, expected): (Option<&Item>, &Amount),
    ) -> Result<Remedy, Error> {
        let mut steps = BTreeMap::new();
        let before = found.and_then(Amount::of_row).unwrap_or_default();
        let ranked = RankedChange { counter, row: found, before, after: expected.clone() };
        ranked.add_prefix_counts(&mut steps);
        let mut actions = vec![ranked.rewrite(&self.shared.table)?];
        actions.extend(add_all(&self.shared.table, steps)?);
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
