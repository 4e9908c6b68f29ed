//! Numbers of a count: how many entities exist, in all or with some values, as one number or one for
//! each value.

use std::collections::BTreeSet;

use keyloom_model::attribute::SORT;
use keyloom_model::{Amount, CountKeys, FieldId, Unreadable};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::RequestError;
use crate::error::unreadable;
use crate::fingerprint::Fingerprint;
use crate::partition::{MergedRequest, Partition};
use crate::request_error::{GivenValues, check_limit, check_tenant, check_value};
use crate::span::Span;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{Budget, CountNumber, CountPage, CountRequest, CursorKey, Error, ReadCost, Reader};

/// How many rows one request reads.
const PAGE_ROWS: usize = 1_000;

/// A checked request for numbers of a count.
pub(crate) struct CountQuery<'q> {
    reader: &'q Reader<'q>,
    request: &'q CountRequest,
    /// The fields that the numbers are kept by, in the order of the count's `split`.
    fields: Vec<FieldId>,
    /// The values that their sort keys begin with.
    prefix: KeyBytes,
}

/// Rows of a count.
struct CountRows<'r> {
    /// One for each shard.
    partitions: Vec<Partition<'r>>,
    span: Span,
}

/// Numbers that are being added up.
#[derive(Default)]
struct Sums {
    done: Vec<CountNumber>,
    /// The beginning of the sort keys of the last one that was looked at.
    passed: Option<Vec<u8>>,
    /// The one that may have more rows.
    open: Option<Sum>,
    /// Whether no rows are left.
    is_all: bool,
    read: ReadCost,
    pages: usize,
    /// Whether deletions take from some of them.
    has_takers: bool,
}

struct Sum {
    /// The beginning of the sort keys of its rows.
    position: Vec<u8>,
    /// Of all fields that it is kept by.
    values: Vec<Value>,
    amount: Amount,
}

impl<'q> CountQuery<'q> {
    pub(crate) fn new(
        reader: &'q Reader<'q>,
        request: &'q CountRequest,
    ) -> Result<CountQuery<'q>, RequestError> {
        let layout = reader.layout;
        let CountRequest { entity: id, count, tenant, by, only, split, limit } = request;
        check_limit(*limit)?;
        check_tenant(layout, *id, tenant.as_ref())?;
        let entity = layout.model().entity(*id);
        let declared = entity.count(*count);
        GivenValues { entity, fields: &declared.by, values: by }
            .check(|| format!("The count `{}`", declared.name))?;
        let named = || only.iter().map(|(field, _)| field).chain(split);
        for (index, field) in named().enumerate() {
            let is_twice = named().take(index).any(|before| before == field);
            if is_twice || !declared.split.contains(field) {
                let (count, field) = (declared.name.clone(), entity.field(*field).name.clone());
                return Err(RequestError::NotSplit { count, field, is_twice });
            }
        }
        only.iter().try_for_each(|(field, value)| check_value(entity, *field, value))?;
        let kept = declared.split.iter().filter(|field| named().any(|named| named == *field));
        let fields: Vec<FieldId> = kept.copied().collect();
        let given = |field: &FieldId| only.iter().find(|(only, _)| only == field);
        let first = fields.iter().map_while(|field| given(field).map(|(_, value)| value.clone()));
        let prefix = layout.counts().prefix(*id, &fields, &first.collect::<Vec<_>>());
        Ok(CountQuery { reader, request, fields, prefix })
    }

    /// Returns the first numbers, or those after a cursor.
    pub(crate) async fn read(
        &self,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<CountPage, Error> {
        let CountRequest { entity, count, tenant, by, split, .. } = self.request;
        let layout = self.reader.layout;
        let of = (*entity, *count);
        let partition = layout.counts().partition(of, tenant.as_ref(), by);
        // A partition that does not fit into a key has no numbers, and no cursors.
        let partition = partition.unwrap_or_default();
        let shards = layout.counts().shards(of, &partition).unwrap_or_default();
        let declared = layout.model().entity(*entity);
        let fingerprint = Fingerprint::of_count(declared, partition.as_bytes(), self.request);
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let span = Span::within(self.prefix.as_bytes());
        let span = match &after {
            _ if partition.as_bytes().is_empty() => Span::EMPTY,
            None => span,
            Some(position) => span.after(position, Direction::Forward),
        };
        let shards = shards.iter().map(|shard| Partition::of_table(shard.as_bytes()));
        let rows = CountRows { partitions: shards.collect(), span };
        let mut sums = self.sums_at_once(&rows).await?;
        let next = sums.passed.filter(|_| !sums.is_all);
        let next = next.map(|position| cursors.seal(&fingerprint, &position));
        if split.is_empty() && sums.done.is_empty() {
            sums.done.push(CountNumber { values: vec![], amount: Amount::default() });
        }
        let is_torn = sums.pages > 1 && sums.has_takers;
        Ok(CountPage { numbers: sums.done, next, read: sums.read, is_torn })
    }

    /// Reads the numbers of one moment, as far as deletions are concerned.
    async fn sums_at_once(&self, rows: &CountRows<'_>) -> Result<Sums, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let Some(mut sums) = self.sums(rows, &mut state).await? else { continue };
            if state.confirm(self.reader.rows()).await? == Verdict::Valid {
                sums.read = state.cost;
                return Ok(sums);
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// Adds up rows until there are enough numbers. None if a deletion has come between.
    async fn sums(
        &self,
        rows: &CountRows<'_>,
        state: &mut ReadState,
    ) -> Result<Option<Sums>, Error> {
        let CountRows { partitions, span } = rows;
        let (mut sums, mut span) = (Sums::default(), span.clone());
        loop {
            let (direction, limit) = (Direction::Forward, PAGE_ROWS);
            let request = MergedRequest { partitions, span: &span, direction, limit };
            let page = request.read(self.reader.rows(), &mut state.cost).await?;
            let takers: BTreeSet<String> =
                page.items.iter().filter_map(takers_of).flatten().collect();
            sums.pages += partitions.len();
            sums.has_takers |= !takers.is_empty();
            if state.learn(self.reader.rows(), takers).await? == Verdict::ReadAgain {
                return Ok(None);
            }
            for row in &page.items {
                let mut sum = self.sum_of(row)?;
                if let Some(takers) = takers_of(row) {
                    sum.amount = match state.any_happened(&takers) {
                        true => sum.amount.negated(),
                        false => Amount::default(),
                    };
                }
                match sums.open.as_mut().filter(|open| open.position == sum.position) {
                    Some(open) => open.amount.add(&sum.amount),
                    None => {
                        sums.close(self);
                        if sums.done.len() >= self.request.limit as usize {
                            return Ok(Some(sums));
                        }
                        sums.open = Some(sum);
                    }
                }
            }
            let Some(last) = &page.last else {
                sums.close(self);
                sums.is_all = true;
                return Ok(Some(sums));
            };
            if state.cost.rows >= Budget::STANDARD.rows && sums.passed.is_some() {
                return Ok(Some(sums));
            }
            span = span.past(last);
        }
    }

    fn sum_of(&self, row: &Item) -> Result<Sum, Error> {
        let wrong = |attribute| unreadable(row, Unreadable { attribute });
        let amount = Amount::of_row(row).ok_or_else(|| wrong(keyloom_model::attribute::COUNT))?;
        let (layout, id) = (self.reader.layout, self.request.entity);
        let sort = row.get(SORT).and_then(Value::as_b).ok_or_else(|| wrong(SORT))?;
        let values = layout.counts().values(id, &self.fields, sort);
        let values = values.ok_or_else(|| wrong(SORT))?;
        let position = layout.counts().prefix(id, &self.fields, &values).into_vec();
        Ok(Sum { position, values, amount })
    }
}

impl Sums {
    /// Completes the last number: no more rows follow for it.
    fn close(&mut self, query: &CountQuery<'_>) {
        let Some(sum) = self.open.take() else { return };
        let value_of = |field: &FieldId| {
            let place = query.fields.iter().position(|kept| kept == field)?;
            sum.values.get(place)
        };
        let CountRequest { only, split, .. } = query.request;
        let is_asked = only.iter().all(|(field, value)| value_of(field) == Some(value));
        if sum.amount.count > 0 && is_asked {
            let values = split.iter().filter_map(value_of).cloned().collect();
            self.done.push(CountNumber { values, amount: sum.amount.clone() });
        }
        self.passed = Some(sum.position);
    }
}

/// The deletions that a row is about, if it says how much they take from a number.
fn takers_of(row: &Item) -> Option<Vec<String>> {
    CountKeys::takers(row.get(SORT)?.as_b()?)
}
