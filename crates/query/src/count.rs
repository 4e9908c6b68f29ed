//! Numbers of a count: how many entities exist, in all or with some values, as one number or one for
//! each value.

use std::collections::BTreeSet;

use keyloom_model::{Amount, Breakdown, Count, CountKeys, FieldId};
use keyloom_store::Direction;
use keyloom_value::{Item, Value};

use crate::count_filter::{CountFilter, Fit, Wanted, start_ms};
use crate::count_request::window_of;
use crate::count_sum::{Sum, sort_of};
use crate::count_windows::{FilledWindows, ReadUpTo};
use crate::fingerprint::Fingerprint;
use crate::partition::{MergedRequest, Partition};
use crate::request_error::{GivenValues, check_limit, check_tenant, check_value};
use crate::span::Span;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{
    Budget, CountNumber, CountPage, CountRequest, CursorKey, Error, ReadCost, Reader, RequestError,
    WindowRange,
};

/// How many rows one request reads.
pub(crate) const PAGE_ROWS: usize = 1_000;

/// How many of them if many are between those that are wanted.
const SPARSE_ROWS: usize = 8;

/// A checked request for numbers of a count.
pub(crate) struct CountQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    request: &'q CountRequest,
    pub(crate) filter: CountFilter<'q>,
}

/// Rows of a count.
pub(crate) struct CountRows<'r> {
    /// One for each shard.
    pub(crate) partitions: Vec<Partition<'r>>,
    span: Span,
}

/// Numbers that are being added up.
#[derive(Default)]
struct Sums {
    done: Vec<Sum>,
    /// What the last counter is kept by that was looked at.
    passed: Option<Vec<Value>>,
    /// The one that may have more rows.
    open: Option<Sum>,
    /// Whether no rows are left.
    is_all: bool,
    read: ReadCost,
    pages: usize,
    /// Whether deletions take from some of them.
    has_takers: bool,
}

/// What comes after the rows of a page.
enum Progress {
    /// There are enough numbers.
    Enough,
    /// Nothing that is wanted.
    End,
    /// More rows. None before this position is wanted.
    Next(Option<Vec<u8>>),
}

impl<'q> CountQuery<'q> {
    pub(crate) fn new(
        reader: &'q Reader<'q>,
        request: &'q CountRequest,
    ) -> Result<CountQuery<'q>, RequestError> {
        let layout = reader.layout;
        let CountRequest { entity: id, count, tenant, by, only, split, windows, limit } = request;
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
        let range = windows.map(|windows| wanted_windows(declared, windows)).transpose()?;
        let kept = declared.split.iter().filter(|field| named().any(|named| named == *field));
        let fields: Vec<FieldId> = kept.copied().collect();
        let wanted = |field: &FieldId| match only.iter().find(|(only, _)| only == field) {
            Some((_, value)) => Wanted::This(value.clone()),
            None => Wanted::Any,
        };
        let filter = CountFilter {
            layout,
            entity: *id,
            wanted: fields.iter().map(wanted).chain(range).collect(),
            kept_by: Breakdown { fields, in_windows: windows.is_some(), in_order: None },
        };
        Ok(CountQuery { reader, request, filter })
    }

    /// Returns the first numbers, or those after a cursor.
    pub(crate) async fn read(
        &self,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<CountPage, Error> {
        let CountRequest { entity, count, tenant, by, .. } = self.request;
        let layout = self.reader.layout;
        let of = (*entity, *count);
        let partition = layout.counts().partition(of, tenant.as_ref(), by);
        // A partition that does not fit into a key has no numbers, and no cursors.
        let partition = partition.unwrap_or_default();
        let shards = layout.counts().shards(of, &partition).unwrap_or_default();
        let declared = layout.model().entity(*entity);
        let fingerprint = Fingerprint::of_count(declared, partition.as_bytes(), self.request);
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let span = match &after {
            _ if partition.as_bytes().is_empty() => Span::EMPTY,
            None => self.filter.span(),
            Some(position) => self.filter.span().after(position, Direction::Forward),
        };
        let shards = shards.iter().map(|shard| Partition::of_table(shard.as_bytes()));
        let rows = CountRows { partitions: shards.collect(), span };
        let sums = self.sums_at_once(&rows).await?;
        let is_torn = sums.pages > 1 && sums.has_takers;
        let read = sums.read;
        let (sums, next) = self.page(sums, after.as_deref());
        let next = next.map(|values| self.filter.position(&values));
        let next = next.map(|position| cursors.seal(&fingerprint, &position));
        let numbers = sums.into_iter().map(|sum| self.number(sum)).collect();
        Ok(CountPage { numbers, next, read, is_torn })
    }

    /// The numbers of a page, and what the last one is kept by if others follow.
    fn page(&self, sums: Sums, after: Option<&[u8]>) -> (Vec<Sum>, Option<Vec<Value>>) {
        let passed = sums.passed.filter(|_| !sums.is_all);
        let mut done = sums.done;
        if let Some(filled) = self.filled() {
            let after = after.and_then(|position| self.filter.values_at(position));
            let read = passed.map_or(ReadUpTo::End, ReadUpTo::Values);
            return filled.fill(done, after, read);
        }
        if self.request.split.is_empty() && self.request.windows.is_none() && done.is_empty() {
            done.push(Sum::default());
        }
        (done, passed)
    }

    /// The windows that are filled, if the request asks for that.
    fn filled(&self) -> Option<FilledWindows<'_>> {
        let range = self.request.windows.filter(|range| range.is_filled)?;
        let window = self.declared().window.as_ref()?;
        Some(FilledWindows {
            filter: &self.filter,
            window,
            from_ms: window.start(range.from_ms?),
            to_ms: range.to_ms?,
            limit: self.request.limit as usize,
        })
    }

    pub(crate) fn declared(&self) -> &Count {
        self.reader.layout.model().entity(self.request.entity).count(self.request.count)
    }

    fn number(&self, sum: Sum) -> CountNumber {
        let fields = &self.filter.kept_by.fields;
        let value_of = |field: &FieldId| {
            let place = fields.iter().position(|kept| kept == field)?;
            sum.values.get(place).cloned()
        };
        let values = self.request.split.iter().filter_map(value_of).collect();
        let window_ms = sum.values.get(fields.len()).and_then(start_ms);
        CountNumber { values, window_ms, amount: sum.amount, min: sum.min, max: sum.max }
    }

    /// Reads the numbers of one moment, as far as deletions are concerned.
    async fn sums_at_once(&self, rows: &CountRows<'_>) -> Result<Sums, Error> {
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let Some(mut sums) = self.sums(rows, &mut state).await? else { continue };
            if self.add_extremes(rows, &mut sums.done, &mut state).await? == Verdict::ReadAgain {
                continue;
            }
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
        let first_rows = if self.filter.has_gaps() { SPARSE_ROWS } else { PAGE_ROWS };
        let mut limit = first_rows;
        loop {
            let direction = Direction::Forward;
            let request = MergedRequest { partitions, span: &span, direction, limit };
            let page = request.read(self.reader.rows(), &mut state.cost).await?;
            let takers: BTreeSet<String> =
                page.items.iter().filter_map(takers_of).flatten().collect();
            sums.pages += partitions.len();
            sums.has_takers |= !takers.is_empty();
            if state.learn(self.reader.rows(), takers).await? == Verdict::ReadAgain {
                return Ok(None);
            }
            let (skip_to, last) = match (self.add_rows(&mut sums, &page.items, state)?, page.last) {
                (Progress::Enough, _) => return Ok(Some(sums)),
                (Progress::Next(skip_to), Some(last)) => (skip_to, last),
                (Progress::End, _) | (Progress::Next(_), None) => {
                    sums.close();
                    sums.is_all = true;
                    return Ok(Some(sums));
                }
            };
            if state.cost.rows >= Budget::STANDARD.rows && sums.passed.is_some() {
                return Ok(Some(sums));
            }
            let skip_to = skip_to.filter(|position| *position > last);
            limit = if skip_to.is_some() { first_rows } else { (4 * limit).min(PAGE_ROWS) };
            span = span.past(&last).not_before(&skip_to.unwrap_or_default());
        }
    }

    /// Adds up rows of a page.
    fn add_rows(
        &self,
        sums: &mut Sums,
        rows: &[Item],
        state: &ReadState,
    ) -> Result<Progress, Error> {
        let mut skip_to: Option<Vec<u8>> = None;
        for row in rows {
            if skip_to.as_deref().is_some_and(|position| sort_of(row) < Some(position)) {
                continue;
            }
            let mut sum = self.filter.sum_of(row)?;
            if let Fit::SkipTo(position) = self.filter.fit(&sum.values) {
                sums.close();
                sums.passed = Some(sum.values);
                match position {
                    None => return Ok(Progress::End),
                    // A full page, too, has a next one only if a number follows that fits.
                    Some(position) => skip_to = Some(position),
                }
                continue;
            }
            sum.amount = taken_amount(row, sum.amount, state);
            match sums.open.as_mut().filter(|open| open.values == sum.values) {
                Some(open) => open.amount.add(&sum.amount),
                None => {
                    sums.close();
                    if sums.done.len() >= self.request.limit as usize {
                        return Ok(Progress::Enough);
                    }
                    sums.open = Some(sum);
                }
            }
        }
        Ok(Progress::Next(skip_to))
    }
}

impl Sums {
    /// Completes the last number: no more rows follow for it.
    fn close(&mut self) {
        let Some(sum) = self.open.take() else { return };
        self.passed = Some(sum.values.clone());
        if sum.amount.count > 0 {
            self.done.push(sum);
        }
    }
}

/// The windows that are wanted.
fn wanted_windows(count: &Count, range: WindowRange) -> Result<Wanted, RequestError> {
    let window = window_of(count)?;
    if range.is_filled && (range.from_ms.is_none() || range.to_ms.is_none()) {
        return Err(RequestError::OpenWindows);
    }
    Ok(Wanted::Between(range.from_ms.map(|time| window.start(time)), range.to_ms))
}

/// What a row adds to a number: what deletions have taken that have happened is subtracted.
pub(crate) fn taken_amount(row: &Item, amount: Amount, state: &ReadState) -> Amount {
    match takers_of(row) {
        None => amount,
        Some(takers) if state.any_happened(&takers) => amount.negated(),
        Some(_) => Amount::default(),
    }
}

/// The deletions that a row is about, if it says how much they take from a number.
pub(crate) fn takers_of(row: &Item) -> Option<Vec<String>> {
    CountKeys::takers(sort_of(row)?)
}
