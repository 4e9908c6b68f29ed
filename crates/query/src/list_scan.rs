//! A list that is being read for a page: what was found, where the page ends, what is left. Every
//! strategy ends in [`ListScan::fetch`], which decides by own rows what is on the page.

use keyloom_model::{FieldId, FieldOrigin, Image, OwnRow};
use keyloom_store::{ItemsPage, Members, yield_point};
use keyloom_value::Item;

use crate::bound::PageBound;
use crate::chunks::ChunkView;
use crate::fetch::{BATCH_MAX, Fetched, RawKey, read_own};
use crate::hidden::Hidden;
use crate::list_part::{Entry, ListPart};
use crate::nodes::{Node, Search};
use crate::ordinal::Ordinals;
use crate::partition::MergedPage;
use crate::span::Span;
use crate::strategy::{Chosen, Ran};
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{End, Error, Filter, ListRequest, Reader};

/// The most entities read in one call, and the bytes after which one ends: a call has no yield point.
const CALL_ITEMS_MAX: usize = 256;
const CALL_BYTES_MAX: u64 = 1 << 20;

/// A list that is read for a page.
pub(crate) struct ListScan<'s> {
    pub(crate) reader: &'s Reader<'s>,
    pub(crate) request: &'s ListRequest,
    /// What is left to read. Its direction is against that of the request for a previous page.
    pub(crate) part: ListPart<'s>,
    /// Behind the last entity that was decided on: where the page ends.
    pub(crate) end: Option<PageBound>,
    pub(crate) found: Vec<OwnRow>,
    /// Behind an entity beyond the page, because of which more follow.
    pub(crate) follower: Option<PageBound>,
    /// How many entities beyond the page are looked for, to know whether more follow.
    ahead: usize,
    pub(crate) state: ReadState,
    /// Ordinals that do not count as members of posting lists, where that matters.
    pub(crate) hidden: Hidden,
    /// Whether rows were read before a deletion was known to have happened.
    is_stale: bool,
    /// The strategies that ran.
    pub(crate) ran: Ran,
    /// The posting lists, where the store has no sets.
    pub(crate) view: ChunkView,
}

/// A full page: its size, and where it ends.
pub(crate) struct FullPage {
    count: usize,
    end: Option<PageBound>,
}

impl<'s> ListScan<'s> {
    /// A part of a list of which nothing was read yet.
    pub(crate) fn new(
        reader: &'s Reader<'s>,
        request: &'s ListRequest,
        part: ListPart<'s>,
    ) -> ListScan<'s> {
        ListScan {
            reader,
            request,
            part,
            end: None,
            found: vec![],
            follower: None,
            ahead: 0,
            state: ReadState::default(),
            hidden: Hidden::default(),
            is_stale: false,
            ran: Ran::default(),
            view: ChunkView::new(request.entity, request.tenant.as_ref()),
        }
    }

    /// Reads a page at one moment, as far as deletions are concerned.
    pub(crate) async fn read(&mut self, begin: Option<&PageBound>) -> Result<End, Error> {
        let span = self.part.span.clone();
        for _ in 0..ATTEMPTS_MAX {
            (self.part.span, self.end, self.is_stale) = (span.clone(), None, false);
            self.found.clear();
            self.view = ChunkView::new(self.request.entity, self.request.tenant.as_ref());
            let chosen = Chosen::choose(self).await?;
            let end = chosen.run(self, begin).await?;
            let verdict = self.state.confirm(self.reader.rows()).await?;
            if verdict == Verdict::Valid && !self.is_stale {
                return Ok(end);
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    /// The positions that were not looked at for the page.
    pub(crate) fn left(&self) -> Span {
        let left = self.part.span.clone();
        match &self.follower {
            Some(follower) => left.beyond(follower, self.part.direction),
            None => left,
        }
    }

    /// The bound behind a position.
    pub(crate) fn behind(&self, position: Vec<u8>) -> PageBound {
        PageBound::behind(position, self.part.direction)
    }

    /// Starts to look for one entity beyond the page.
    pub(crate) fn begin_ahead(&mut self) -> FullPage {
        self.ahead = 1;
        FullPage { count: self.found.len(), end: self.end.clone() }
    }

    /// Restores the page that was full before one more was looked for.
    pub(crate) fn end_ahead(&mut self, page: FullPage) {
        self.ahead = 0;
        self.found.truncate(page.count);
        self.end = page.end;
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.state.cost.has_spent(self.request.budget)
    }

    /// How many more rows the budget allows.
    pub(crate) fn rows_left(&self) -> usize {
        let left = self.request.budget.rows.saturating_sub(self.state.cost.rows);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// How many more bytes the budget allows.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.request.budget.bytes.saturating_sub(self.state.cost.bytes)
    }

    /// Reads the first entities of what is left, as many as one call may, with their index rows; none
    /// if the store cannot do that in one call.
    pub(crate) async fn items(&mut self, limit: usize) -> Result<Option<ItemsPage>, Error> {
        let bytes_max = self.bytes_left().min(CALL_BYTES_MAX);
        let (rows, limit) = (self.reader.rows(), limit.min(CALL_ITEMS_MAX));
        self.part.read_items(rows, limit, bytes_max, &mut self.state.cost).await
    }

    /// Reads index rows of what is left, in the direction of the page; see [`ListPart::read`].
    pub(crate) async fn page(&mut self, limit: usize) -> Result<MergedPage, Error> {
        let (rows, budget) = (self.reader.rows(), self.request.budget);
        self.part.read(rows, limit, budget, &mut self.state.cost).await
    }

    /// Reads the own rows of entries, in order. Returns how many it has read.
    pub(crate) async fn fetch(&mut self, entries: &[Entry]) -> Result<usize, Error> {
        let keys: Vec<RawKey> = entries.iter().map(|entry| entry.key.clone()).collect();
        for _ in 0..ATTEMPTS_MAX {
            let bytes_max = self.request.budget.bytes;
            let fetched = self.reader.rows().fetch(&keys, bytes_max, &mut self.state.cost).await?;
            let is_read = |fetched: &&Fetched| !matches!(fetched, Fetched::Unread);
            let read = fetched.iter().take_while(is_read).count();
            let mut rows = Vec::with_capacity(read);
            for (entry, fetched) in entries.iter().zip(fetched).take(read) {
                match fetched {
                    Fetched::Row(row) if self.part.has(&row, &entry.position) => rows.push(row),
                    Fetched::Row(_) | Fetched::Gone | Fetched::Unread => {}
                }
            }
            if self.decide(rows).await? == Verdict::ReadAgain {
                continue;
            }
            if let Some(last) = entries[..read].last() {
                self.pass(last.position.clone());
            }
            return Ok(read);
        }
        Err(Error::Unanswered { rows: keys.len() })
    }

    /// Decides by own rows of the list which entities are on the page. They must be read again if a
    /// deletion that takes something from them has turned out to have happened.
    pub(crate) async fn decide(&mut self, rows: Vec<Item>) -> Result<Verdict, Error> {
        let mut own = Vec::with_capacity(rows.len());
        for row in rows {
            yield_point().await;
            let row = read_own(self.reader.layout, row)?;
            if !row.pending.is_empty() || self.passes(&row.image) {
                own.push(row);
            }
        }
        let Some(seen) = self.state.settle(self.reader, own).await? else {
            self.is_stale |= self.end.is_some();
            return Ok(Verdict::ReadAgain);
        };
        let is_here = |row: &OwnRow| row.pending.is_empty() || self.is_listed(row);
        let seen: Vec<OwnRow> = seen.into_iter().flatten().filter(is_here).collect();
        self.found.extend(seen);
        Ok(Verdict::Valid)
    }

    /// Whether an entity that may have lost a reference to a deletion is still in the list and passes
    /// the filter. It was in the list before.
    fn is_listed(&self, row: &OwnRow) -> bool {
        let entity = self.reader.layout.model().entity(self.request.entity);
        let list = entity.list(self.request.list);
        let has = |field: &FieldId| {
            let field = entity.field(*field);
            field.origin == FieldOrigin::Id || row.image.fields.contains(&field.name)
        };
        let tested = list.filter.iter().map(|test| &test.field);
        let ordered = list.order.iter().map(|order| &order.field);
        list.by.iter().chain(tested).chain(ordered).all(has) && self.passes(&row.image)
    }

    /// Moves the end of the page behind a position: everything before was decided on.
    pub(crate) fn pass(&mut self, position: Vec<u8>) {
        self.pass_bound(self.behind(position));
    }

    /// Moves the end of the page to a bound: everything before was decided on.
    pub(crate) fn pass_bound(&mut self, bound: PageBound) {
        self.part.narrow(&bound);
        self.end = Some(bound);
    }

    /// How many more entities are wanted.
    pub(crate) fn wanted(&self) -> usize {
        (self.request.limit as usize + self.ahead).saturating_sub(self.found.len())
    }

    /// A search through nodes, with the budget and the cost of this page.
    pub(crate) fn search(&mut self) -> Search<'_> {
        let (direction, budget) = (self.part.direction, self.request.budget);
        let (hidden, cost, view) = (&self.hidden, &mut self.state.cost, &mut self.view);
        Search { reader: self.reader, direction, budget, hidden, cost, view }
    }

    /// Which ordinals match a node. An unknown one may.
    pub(crate) async fn which_match(
        &mut self,
        node: &dyn Node,
        ordinals: &[Option<u64>],
    ) -> Result<Vec<bool>, Error> {
        let all: Members = ordinals.iter().flatten().copied().collect();
        let matching = self.search().retain(node, all).await?;
        let matches =
            |ordinal: &Option<u64>| ordinal.is_none_or(|ordinal| matching.contains(ordinal));
        Ok(ordinals.iter().map(matches).collect())
    }

    /// Fetches entries in order. Returns why it stopped, if not all were fetched.
    pub(crate) async fn fetch_in_order(&mut self, entries: &[Entry]) -> Result<Option<End>, Error> {
        let mut left = entries;
        while !left.is_empty() {
            if self.wanted() == 0 {
                self.follower = left.first().map(|entry| self.behind(entry.position.clone()));
                return Ok(Some(End::Limit));
            }
            let (some, rest) = left.split_at(left.len().min(self.wanted()).min(BATCH_MAX));
            if self.fetch(some).await? < some.len() {
                return Ok(Some(End::Budget));
            }
            left = rest;
            if !left.is_empty() && self.is_spent() {
                return Ok(Some(End::Budget));
            }
        }
        Ok(None)
    }

    /// Whether an entity passes the filter.
    pub(crate) fn passes(&self, image: &Image) -> bool {
        let entity = self.reader.layout.model().entity(self.request.entity);
        let holds = |filter: &Filter| filter.holds(entity, image);
        self.request.filter.as_ref().is_none_or(holds)
    }

    /// Reads the entries of this part of the list that have these ascending ordinals, in its order,
    /// by their own rows.
    pub(crate) async fn entries_with(&mut self, ordinals: &[u64]) -> Result<Vec<Entry>, Error> {
        let keys = self.ordinals().keys(ordinals, &mut self.state.cost).await?;
        let keys: Vec<RawKey> = keys.into_iter().map(|found| found.key).collect();
        let rows = self.reader.rows().get_many(&keys, &mut self.state.cost).await?;
        let entry = |(key, row): (RawKey, Option<Item>)| {
            let position = self.part.position(&row?).ok()?.to_vec();
            self.part.span.has(&position).then_some(Entry { position, key })
        };
        let mut entries: Vec<Entry> = keys.into_iter().zip(rows).filter_map(entry).collect();
        self.part.sort(&mut entries);
        Ok(entries)
    }

    /// The entities of the list by their ordinals.
    pub(crate) fn ordinals(&self) -> Ordinals<'s> {
        let ListRequest { entity, tenant, .. } = self.request;
        Ordinals { reader: self.reader, entity: *entity, tenant: tenant.as_ref() }
    }
}
