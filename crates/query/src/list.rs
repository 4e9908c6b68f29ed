//! Pages of ordered lists.
//!
//! A page is found in an index, which has the keys of the list's entities in order, and read from
//! their own rows. What an own row says counts: an entity that has moved since the index was read
//! is left out and met at its new place.

use keyloom_model::{EntityId, ListId, OwnRow, Unreadable, attribute};
use keyloom_store::{Direction, TableName, yield_point};
use keyloom_value::{Item, KeyBytes, Value};

use crate::cut::{Cut, Turn};
use crate::fetch::{BATCH_MAX, Fetched, RawKey, take_bytes, unreadable};
use crate::filter::EVERYTHING;
use crate::fingerprint::Fingerprint;
use crate::hidden::Hidden;
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::span::{Place, Span};
use crate::visible::{ATTEMPTS_MAX, Deletions, Verdict};
use crate::{CursorKey, Error, Filter, Range, Reader, Strategy};

/// Which part of which list to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Of which entities.
    pub entity: EntityId,
    /// Which of their lists.
    pub list: ListId,
    /// Whose, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the list's `by`.
    pub by: Vec<Value>,
    /// Which part of the order.
    pub range: Range,
    /// From the start, or from the end.
    pub direction: Direction,
    /// How many entities, at most: 1 to 1,000.
    pub limit: u32,
    /// How much may be read for them.
    pub budget: Budget,
    /// Only entities that pass this.
    pub filter: Option<Filter>,
    /// How those are found.
    pub strategy: Strategy,
}

/// How much one call may read. It stops when it has read as much, so it can go over by one batch;
/// it always looks at one entity at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

/// How much a call has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCost {
    /// Rows of indexes and of the table.
    pub rows: u64,
    /// Bytes of those rows, as DynamoDB counts them.
    pub bytes: u64,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entities, in order. There can be few, or none, on a page that is not the last.
    pub rows: Vec<OwnRow>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// The cursor of the page before; absent on the first page.
    pub previous: Option<String>,
    /// Why the page ends; of one that a cursor `previous` led to, why it begins.
    pub end: End,
    /// What was read for it.
    pub read: ReadCost,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The list ends.
    Exhausted,
    /// It has as many entities as were asked for.
    Limit,
    /// As much was read as may be.
    Budget,
}

/// Whether there can be more after what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Maybe,
}

/// A list to be walked along.
pub(crate) struct Walk<'w> {
    pub(crate) reader: &'w Reader<'w>,
    pub(crate) request: &'w ListRequest,
    pub(crate) place: Place<'w>,
    /// Which way it is walked along: against that of the request for a page before another.
    pub(crate) direction: Direction,
    /// What is left to be read.
    pub(crate) span: Span,
    /// Behind the last entity that was looked at.
    cut: Option<Cut>,
    found: Vec<OwnRow>,
    /// How many more than the page has are looked for, to know whether something follows.
    ahead: usize,
    pub(crate) cost: ReadCost,
    /// Who does not count as a member of posting lists, where that must be known.
    pub(crate) hidden: Hidden,
    pub(crate) deletions: Deletions,
    /// Whether something was found before it was known that a deletion has happened.
    is_stale: bool,
}

/// A page that is full: how many are on it, and where it ends.
pub(crate) struct FullPage {
    count: usize,
    cut: Option<Cut>,
}

/// A row of the index.
pub(crate) struct Entry {
    pub(crate) position: Vec<u8>,
    pub(crate) key: RawKey,
}

impl Budget {
    /// Enough for the longest page, of entities of 16 KiB each.
    pub const STANDARD: Budget = Budget { rows: 5_000, bytes: 16 << 20 };
}

impl ListRequest {
    /// The first 100 entities of a list without tenant and `by`.
    pub fn new(entity: EntityId, list: ListId) -> ListRequest {
        ListRequest {
            entity,
            list,
            tenant: None,
            by: vec![],
            range: Range::ALL,
            direction: Direction::Forward,
            limit: 100,
            budget: Budget::STANDARD,
            filter: None,
            strategy: Strategy::Cheapest,
        }
    }
}

impl Reader<'_> {
    /// A page of a list: the first one, or that after or before a page that the same question was
    /// answered with, as its cursor says. What is in the list all the time is on exactly one page of
    /// a walk, whatever is written between.
    ///
    /// # Errors
    ///
    /// If the question makes no sense, the cursor is not one of it, the store fails, or a row is
    /// damaged.
    pub async fn list(
        &self,
        request: &ListRequest,
        cursors: &CursorKey,
        cursor: Option<&str>,
    ) -> Result<ListPage, Error> {
        let partition = self.list_partition(request)?;
        let request = &self.simplified(request);
        let span = request.range.span(self.layout, (request.entity, request.list))?;
        // A partition that does not fit into a key has no entities, and no cursors.
        let partition_bytes = partition.as_ref().map_or(&[][..], KeyBytes::as_bytes);
        let fingerprint = self.list_fingerprint(request, partition_bytes, &span);
        let place = cursor.map(|text| cursors.open(text, &fingerprint)).transpose()?;
        let mark = place.map(|place| Cut::from_bytes(&place)).transpose()?;
        let (turn, begin) = mark.map_or((Turn::On, None), |(turn, cut)| (turn, Some(cut)));
        let direction = turn.of(request.direction);
        let span = match &begin {
            Some(cut) => span.beyond(cut, direction),
            None => span,
        };
        let slot = self.layout.list_slot(request.entity, request.list);
        let place = Place {
            index: Some(TableName::new(&slot.name()).map_err(keyloom_store::Error::from)?),
            partition: (slot.partition(), partition_bytes),
            sort: slot.sort(),
        };
        let mut walk = Walk {
            reader: self,
            request,
            place,
            direction,
            span,
            cut: None,
            found: vec![],
            ahead: 0,
            cost: ReadCost::default(),
            hidden: Hidden::default(),
            deletions: Deletions::default(),
            is_stale: false,
        };
        let end = match partition.is_none() {
            true => End::Exhausted,
            false => walk.go_at_once(begin.as_ref()).await?,
        };
        let last = match end {
            End::Exhausted => None,
            End::Limit | End::Budget => walk.cut,
        };
        let (mut rows, read) = (walk.found, walk.cost);
        let (first, last) = match turn {
            Turn::On => (begin, last),
            Turn::Back => {
                rows.reverse();
                (last, begin)
            }
        };
        let seal = |turn, cut: Cut| cursors.seal(&fingerprint, &cut.to_bytes(turn));
        let next = last.map(|cut| seal(Turn::On, cut));
        let previous = first.map(|cut| seal(Turn::Back, cut));
        Ok(ListPage { rows, next, previous, end, read })
    }

    /// The same request, with a filter in as few words as it takes.
    pub(crate) fn simplified(&self, request: &ListRequest) -> ListRequest {
        let entity = self.layout.model().entity(request.entity);
        let filter = request.filter.as_ref().map(|filter| filter.simplified(entity));
        ListRequest { filter: filter.filter(|filter| *filter != EVERYTHING), ..request.clone() }
    }

    fn list_fingerprint(
        &self,
        request: &ListRequest,
        partition: &[u8],
        span: &Span,
    ) -> Fingerprint {
        let entity = self.layout.model().entity(request.entity);
        let filter = request.filter.as_ref().map(|filter| filter.canonical(entity));
        let list = entity.list(request.list);
        let part = (span, request.direction);
        Fingerprint::of_list((entity, list), partition, part, filter.as_deref())
    }

    fn list_partition(&self, request: &ListRequest) -> Result<Option<KeyBytes>, Error> {
        let ListRequest { entity: id, list, tenant, by, .. } = request;
        check_limit(request.limit)?;
        check_tenant(self.layout, *id, tenant.as_ref())?;
        let entity = self.layout.model().entity(*id);
        request.filter.iter().try_for_each(|filter| filter.check(entity, *list))?;
        let declared = entity.list(*list);
        check_values(entity, || format!("The list `{}`", declared.name), &declared.by, by)?;
        Ok(self.layout.list_partition((*id, *list), tenant.as_ref(), by).ok())
    }
}

impl Walk<'_> {
    /// Reads a page as if no deletion had come between.
    async fn go_at_once(&mut self, begin: Option<&Cut>) -> Result<End, Error> {
        let span = self.span.clone();
        for _ in 0..ATTEMPTS_MAX {
            (self.span, self.cut, self.is_stale) = (span.clone(), None, false);
            self.found.clear();
            let end = match &self.request.filter {
                None => self.go().await?,
                Some(_) => self.go_matched(begin).await?,
            };
            let verdict = self.reader.confirm(&mut self.deletions, &mut self.cost).await?;
            if verdict == Verdict::Valid && !self.is_stale {
                return Ok(end);
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    pub(crate) async fn go(&mut self) -> Result<End, Error> {
        loop {
            if self.step().await? == Rest::Nothing {
                return Ok(End::Exhausted);
            }
            if self.wanted() == 0 {
                return self.look_ahead().await;
            }
            if self.is_spent() {
                return Ok(End::Budget);
            }
        }
    }

    /// Whether a full page is the last. What follows in the list may not pass the filter, so it is
    /// read until one does; the next page begins behind this one all the same.
    async fn look_ahead(&mut self) -> Result<End, Error> {
        if self.request.filter.is_none() {
            return Ok(End::Limit);
        }
        let page = self.begin_ahead();
        let mut end = End::Limit;
        while self.wanted() > 0 && !self.is_spent() {
            if self.step().await? == Rest::Nothing && self.wanted() > 0 {
                end = End::Exhausted;
                break;
            }
        }
        self.end_ahead(page);
        Ok(end)
    }

    /// From now on one more is looked for than the page has.
    pub(crate) fn begin_ahead(&mut self) -> FullPage {
        self.ahead = 1;
        FullPage { count: self.found.len(), cut: self.cut.clone() }
    }

    /// The page is what it was before one more was looked for.
    pub(crate) fn end_ahead(&mut self, page: FullPage) {
        self.ahead = 0;
        self.found.truncate(page.count);
        self.cut = page.cut;
    }

    pub(crate) fn is_spent(&self) -> bool {
        let Budget { rows, bytes } = self.request.budget;
        self.cost.rows >= rows || self.cost.bytes >= bytes
    }

    /// One page of the index, and what it leads to.
    async fn step(&mut self) -> Result<Rest, Error> {
        // An entity takes two rows, one of the index and its own.
        let affordable = self.request.budget.rows.saturating_sub(self.cost.rows) / 2;
        let affordable = usize::try_from(affordable).unwrap_or(usize::MAX).max(1);
        let wanted = self.wanted().min(affordable);
        // One more, to know whether there is one.
        let page = self.reader.page(&self.place, &self.span, self.direction, wanted + 1).await?;
        self.cost.rows += page.scanned;
        self.cost.bytes += page.scanned_bytes;
        let rest = match page.last_key {
            None if page.items.len() <= wanted => Rest::Nothing,
            None | Some(_) => Rest::Maybe,
        };
        let entries = page.items.into_iter().take(wanted).map(|row| self.entry(row));
        let entries = entries.collect::<Result<Vec<Entry>, Error>>()?;
        if let (true, Some(last_key)) = (entries.is_empty(), &page.last_key) {
            let position = self.position(last_key)?;
            self.pass(position);
        }
        for batch in entries.chunks(BATCH_MAX) {
            let is_enough = self.cost.bytes >= self.request.budget.bytes;
            if is_enough && self.cut.is_some() {
                return Ok(Rest::Maybe);
            }
            if self.look_at(batch).await? < batch.len() {
                return Ok(Rest::Maybe);
            }
        }
        Ok(rest)
    }

    /// Reads the own rows of entries, in order, and says how many it has read.
    pub(crate) async fn look_at(&mut self, entries: &[Entry]) -> Result<usize, Error> {
        let keys: Vec<RawKey> = entries.iter().map(|entry| entry.key.clone()).collect();
        for _ in 0..ATTEMPTS_MAX {
            let bytes_max = self.request.budget.bytes;
            let fetched = self.reader.fetch(&keys, bytes_max, &mut self.cost).await?;
            let is_read = |fetched: &&Fetched| !matches!(fetched, Fetched::Unread);
            let read = fetched.iter().take_while(is_read).count();
            let mut rows = Vec::new();
            for (entry, fetched) in entries.iter().zip(fetched).take(read) {
                yield_point().await;
                match fetched {
                    Fetched::Row(row) if self.is_at(&row, &entry.position) => {
                        rows.push(self.reader.read_own(row)?);
                    }
                    Fetched::Row(_) | Fetched::Gone | Fetched::Unread => {}
                }
            }
            rows.retain(|row| !row.pending.is_empty() || self.passes(&row.image));
            let seen = self.reader.settle(rows, &mut self.deletions, &mut self.cost).await?;
            let Some(seen) = seen else {
                self.is_stale |= self.cut.is_some();
                continue;
            };
            let is_here = |row: &OwnRow| row.pending.is_empty() || self.is_listed(row);
            let seen: Vec<OwnRow> = seen.into_iter().flatten().filter(is_here).collect();
            self.found.extend(seen);
            if let Some(last) = entries[..read].last() {
                self.pass(last.position.clone());
            }
            return Ok(read);
        }
        Err(Error::Unanswered { rows: keys.len() })
    }

    /// Whether an entity from which a deletion may have taken a reference is in the list, and
    /// passes the filter, still. It was in the list before.
    fn is_listed(&self, row: &OwnRow) -> bool {
        let entity = self.reader.layout.model().entity(self.request.entity);
        let list = entity.list(self.request.list);
        let has = |field: &keyloom_model::FieldId| {
            let field = entity.field(*field);
            field.origin == keyloom_model::FieldOrigin::Id || row.image.fields.contains(&field.name)
        };
        let tested = list.filter.iter().map(|test| &test.field);
        let ordered = list.order.iter().map(|order| &order.field);
        list.by.iter().chain(tested).chain(ordered).all(has) && self.passes(&row.image)
    }

    /// The entry that a row of the index is.
    pub(crate) fn entry(&self, mut row: Item) -> Result<Entry, Error> {
        let wrong = |row: &Item| unreadable(row, Unreadable { attribute: attribute::SORT });
        let position = take_bytes(&mut row, self.place.sort.as_str()).ok_or_else(|| wrong(&row))?;
        Ok(Entry { position, key: RawKey::take(&mut row).ok_or_else(|| wrong(&row))? })
    }

    /// Where a row of the index is.
    pub(crate) fn position(&self, row: &Item) -> Result<Vec<u8>, Error> {
        let position = row.get(self.place.sort.as_str()).and_then(Value::as_b);
        let wrong = || unreadable(row, Unreadable { attribute: attribute::SORT });
        position.map(<[u8]>::to_vec).ok_or_else(wrong)
    }

    /// Whether an own row says that its entity is at this place of this list.
    fn is_at(&self, row: &Item, position: &[u8]) -> bool {
        let bytes = |name: &str| row.get(name).and_then(Value::as_b);
        let (attribute, partition) = &self.place.partition;
        bytes(attribute.as_str()) == Some(partition)
            && bytes(self.place.sort.as_str()) == Some(position)
    }

    /// Everything up to a position was looked at.
    pub(crate) fn pass(&mut self, position: Vec<u8>) {
        self.pass_cut(Cut::behind(position, self.direction));
    }

    /// Everything up to a cut was looked at.
    pub(crate) fn pass_cut(&mut self, cut: Cut) {
        self.narrow(&cut);
        self.cut = Some(cut);
    }

    /// Nothing up to a position needs to be read again, and the page ends where it did.
    pub(crate) fn skip(&mut self, position: Vec<u8>) {
        self.narrow(&Cut::behind(position, self.direction));
    }

    fn narrow(&mut self, cut: &Cut) {
        let span = std::mem::replace(&mut self.span, Span::empty());
        self.span = span.beyond(cut, self.direction);
    }

    /// How many more entities are asked for.
    pub(crate) fn wanted(&self) -> usize {
        (self.request.limit as usize + self.ahead).saturating_sub(self.found.len())
    }
}
