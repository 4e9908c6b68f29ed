//! Numbers of a count: how many entities there are, of all or of those with some values, in one
//! number or for each value.

use std::collections::BTreeSet;

use keyloom_model::attribute::{PARTITION, SORT};
use keyloom_model::{CountId, CountKeys, Counter, EntityId, FieldId, Unreadable};
use keyloom_store::Direction;
use keyloom_value::{Item, KeyBytes, Value};

use crate::fetch::unreadable;
use crate::fingerprint::Fingerprint;
use crate::request_error::{check_limit, check_tenant, check_value, check_values};
use crate::span::{Place, Span};
use crate::visible::{ATTEMPTS_MAX, Deletions, Verdict};
use crate::{Budget, CursorKey, Error, ReadCost, Reader, RequestError};

/// How many rows are read at once.
const PAGE_ROWS: usize = 1_000;

/// Which numbers of which count to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRequest {
    /// Of which entities.
    pub entity: EntityId,
    /// Which of their counts.
    pub count: CountId,
    /// Whose, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the count's `by`.
    pub by: Vec<Value>,
    /// Only entities that have these values; the fields are in the count's `split`.
    pub only: Vec<(FieldId, Value)>,
    /// One number for each combination of values of these, which are in `split` too. Without any it
    /// is one number.
    pub split: Vec<FieldId>,
    /// How many numbers, at most: 1 to 1,000.
    pub limit: u32,
}

/// Numbers of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountPage {
    /// In order of their values; none is 0, unless it is the only one.
    pub numbers: Vec<CountNumber>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// What was read for it.
    pub read: ReadCost,
    /// Whether deletions take from these numbers and more than one read brought them: then a number
    /// is what it was at one moment only if all of them were of one.
    pub is_torn: bool,
}

/// A number of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountNumber {
    /// A value of each field of the request's `split`.
    pub values: Vec<Value>,
    /// How many entities have them.
    pub count: u64,
}

/// A request that makes sense.
struct Question<'q> {
    request: &'q CountRequest,
    /// The fields that the numbers are kept by, in the order of the count's `split`.
    fields: Vec<FieldId>,
    /// The values that their sort keys begin with.
    prefix: KeyBytes,
}

/// Numbers that are being added up.
#[derive(Default)]
struct Sums {
    done: Vec<CountNumber>,
    /// The beginning of the sort keys of the last one that was looked at.
    passed: Option<Vec<u8>>,
    /// The one that may have more rows.
    open: Option<Sum>,
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
    number: i64,
}

impl Reader<'_> {
    /// Numbers of a count. Entities that have expired count until they are put away.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the cursor is not one of it, the store fails, or a row is
    /// damaged.
    pub async fn count(
        &self,
        request: &CountRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<CountPage, Error> {
        let question = self.question(request)?;
        let CountRequest { entity, count, tenant, by, .. } = request;
        let partition = self.layout.counts().partition((*entity, *count), tenant.as_ref(), by);
        // A partition that does not fit into a key has no numbers, and no cursors.
        let partition = partition.map(KeyBytes::into_vec).unwrap_or_default();
        let declared = self.layout.model().entity(*entity);
        let fingerprint = Fingerprint::of_count(declared, &partition, request);
        let after = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let prefix = question.prefix.as_bytes();
        let span = Span::new(Some(prefix.to_vec()), KeyBytes::after_prefix(prefix));
        let span = match &after {
            _ if partition.is_empty() => Span::empty(),
            None => span,
            Some(position) => span.after(position, Direction::Forward),
        };
        let place =
            Place { index: None, partition: (PARTITION.into(), &partition), sort: SORT.into() };
        let (mut sums, is_all) = self.sums_at_once(&question, &place, span).await?;
        let next = sums.passed.filter(|_| !is_all);
        let next = next.map(|position| cursors.seal(&fingerprint, &position));
        if request.split.is_empty() && sums.done.is_empty() {
            sums.done.push(CountNumber { values: vec![], count: 0 });
        }
        let is_torn = sums.pages > 1 && sums.has_takers;
        Ok(CountPage { numbers: sums.done, next, read: sums.read, is_torn })
    }

    fn question<'q>(&self, request: &'q CountRequest) -> Result<Question<'q>, Error> {
        let CountRequest { entity: id, count, tenant, by, only, split, limit } = request;
        check_limit(*limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        let declared = entity.count(*count);
        check_values(entity, || format!("The count `{}`", declared.name), &declared.by, by)?;
        let named = || only.iter().map(|(field, _)| field).chain(split);
        for (index, field) in named().enumerate() {
            let is_twice = named().take(index).any(|before| before == field);
            if is_twice || !declared.split.contains(field) {
                let (count, field) = (declared.name.clone(), entity.field(*field).name.clone());
                return Err(RequestError::NotSplit { count, field, is_twice }.into());
            }
        }
        only.iter().try_for_each(|(field, value)| check_value(entity, *field, value))?;
        let kept = declared.split.iter().filter(|field| named().any(|named| named == *field));
        let fields: Vec<FieldId> = kept.copied().collect();
        let given = |field: &FieldId| only.iter().find(|(only, _)| only == field);
        let first = fields.iter().map_while(|field| given(field).map(|(_, value)| value.clone()));
        let prefix = self.layout.counts().prefix(*id, &fields, &first.collect::<Vec<_>>());
        Ok(Question { request, fields, prefix })
    }

    /// The same numbers as if no deletion had come between.
    async fn sums_at_once(
        &self,
        question: &Question<'_>,
        place: &Place<'_>,
        span: Span,
    ) -> Result<(Sums, bool), Error> {
        let mut deletions = Deletions::default();
        let mut read = ReadCost::default();
        for _ in 0..ATTEMPTS_MAX {
            let sums = self.sums(question, (place, span.clone()), &mut deletions).await?;
            let Some((mut sums, is_all)) = sums else { continue };
            if self.confirm(&mut deletions, &mut read).await? == Verdict::Valid {
                sums.read.rows += read.rows;
                sums.read.bytes += read.bytes;
                return Ok((sums, is_all));
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// Adds up rows until there are enough numbers; and whether nothing is left. None if a deletion
    /// has come between.
    async fn sums(
        &self,
        question: &Question<'_>,
        (place, mut span): (&Place<'_>, Span),
        deletions: &mut Deletions,
    ) -> Result<Option<(Sums, bool)>, Error> {
        let mut sums = Sums::default();
        loop {
            let page = self.page(place, &span, Direction::Forward, PAGE_ROWS).await?;
            sums.read.rows += page.scanned;
            sums.read.bytes += page.scanned_bytes;
            let takers: BTreeSet<String> =
                page.items.iter().filter_map(takers_of).flatten().collect();
            sums.pages += 1;
            sums.has_takers |= !takers.is_empty();
            if self.learn(takers, deletions, &mut sums.read).await? == Verdict::ReadAgain {
                return Ok(None);
            }
            for row in &page.items {
                let mut sum = self.sum_of(question, row)?;
                if let Some(takers) = takers_of(row) {
                    sum.number = match deletions.any_happened(&takers) {
                        true => -sum.number,
                        false => 0,
                    };
                }
                match sums.open.as_mut().filter(|open| open.position == sum.position) {
                    Some(open) => open.number += sum.number,
                    None => {
                        sums.close(question);
                        if sums.done.len() >= question.request.limit as usize {
                            return Ok(Some((sums, false)));
                        }
                        sums.open = Some(sum);
                    }
                }
            }
            let Some(last) = page.last_key.as_ref().and_then(|key| key.get(SORT)?.as_b()) else {
                sums.close(question);
                return Ok(Some((sums, true)));
            };
            if sums.read.rows >= Budget::STANDARD.rows && sums.passed.is_some() {
                return Ok(Some((sums, false)));
            }
            span = span.past(last);
        }
    }

    fn sum_of(&self, question: &Question<'_>, row: &Item) -> Result<Sum, Error> {
        let wrong = |attribute| unreadable(row, Unreadable { attribute });
        let number =
            Counter::value_of(row).ok_or_else(|| wrong(keyloom_model::attribute::COUNT))?;
        let id = question.request.entity;
        let sort = row.get(SORT).and_then(Value::as_b).ok_or_else(|| wrong(SORT))?;
        let values = self.layout.counts().values(id, &question.fields, sort);
        let values = values.ok_or_else(|| wrong(SORT))?;
        let position = self.layout.counts().prefix(id, &question.fields, &values).into_vec();
        Ok(Sum { position, values, number })
    }
}

impl Sums {
    /// No more rows are of the last number.
    fn close(&mut self, question: &Question<'_>) {
        let Some(sum) = self.open.take() else { return };
        let value_of = |field: &FieldId| {
            let place = question.fields.iter().position(|kept| kept == field)?;
            sum.values.get(place)
        };
        let CountRequest { only, split, .. } = question.request;
        let is_asked = only.iter().all(|(field, value)| value_of(field) == Some(value));
        let count = u64::try_from(sum.number).ok().filter(|count| *count > 0 && is_asked);
        if let Some(count) = count {
            let values = split.iter().filter_map(value_of).cloned().collect();
            self.done.push(CountNumber { values, count });
        }
        self.passed = Some(sum.position);
    }
}

/// The deletions that take from a number, if a row says how much they take.
fn takers_of(row: &Item) -> Option<Vec<String>> {
    CountKeys::takers(row.get(SORT)?.as_b()?)
}
