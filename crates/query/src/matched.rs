//! Pages of what passes a filter, found in one of several ways that give the same answer: along the
//! places by facet of the combinations that pass (`merged.rs`); along the numbers, if that is the
//! order of the list; along the column of the list (`ordered.rs`); along the list, looking at those
//! whose numbers match; or, where the store has no sets, by sorting the few that match, or along the
//! list, looking at each.

use keyloom_model::{EntityId, Link, Matching, OnDelete};
use keyloom_store::{Direction, Members};
use keyloom_value::{Item, Value};

use crate::cut::Cut;
use crate::facets::{COMBINATIONS_MAX, Facets, Prefix};
use crate::fetch::BATCH_MAX;
use crate::hidden::Hidden;
use crate::list::{Entry, Walk};
use crate::nodes::{Node, NodeRef, Owners, PostingRows, Search, Sizes};
use crate::plan::Scope;
use crate::posting_list::PostingOwner;
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::visible::{ATTEMPTS_MAX, Deletions, Verdict};
use crate::{End, Error, Filter, ListRequest, Range, ReadCost, Reader, RequestError};

/// As many as are sorted.
const SORT_MAX: u64 = 1000;
/// As far as the size of a list is counted where groups are rows.
const LIST_COUNTED_MAX: u64 = 100;
/// As many rows of a list as are compared with what matches at once.
const SIFT_MAX: usize = 1000;
/// Beginning to read another combination of facets costs as much as so many rows of an index.
const COMBINATION_ROWS: u64 = 8;
/// As many combinations are read side by side without asking whether the list itself would do.
const COMBINATIONS_FEW: usize = 8;
/// Where nobody knows how many combinations there are, they are taken for so many.
const COMBINATIONS_USUAL: usize = 32;
/// As many cells of a column are looked at in the time that an entry of a list takes, if they lie
/// together, and as many blocks of 256 cells. Measured.
const CELLS_PER_ROW: u64 = 150;
const BLOCKS_PER_ROW: u64 = 8;
/// How many times as far as it should be to a full page a list is walked along, before it is taken
/// for one whose matches are at its end.
const PATIENCE: u64 = 4;

/// How what passes a filter is found. The answer is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As it seems to cost the least.
    #[default]
    Cheapest,
    /// Along the list, looking at each entity.
    Walk,
    /// Along the places by facet of each combination that passes, merged; if the filter names no
    /// values of facets, or too many combinations pass, as it seems to cost the least.
    Merge,
    /// By what matches: along the numbers if that is the order of the list, and else along its
    /// column, or by sorting where it has none, unless there are too many for that.
    Match,
}

/// How a page is found.
pub(crate) enum Choice {
    /// Nothing matches.
    Nothing,
    /// Along the list, looking at each; with what matches, if that was looked for.
    Walk(Option<NodeRef>),
    /// Along the list, looking at those whose numbers match; not further than so many rows, if
    /// there is another way.
    Sift(NodeRef, Option<u64>),
    /// Along the places by facet of these combinations; and of those who is in the groups.
    Merge(Facets, Vec<Prefix>, Option<NodeRef>),
    /// Along the numbers, which the list is in the order of.
    Numbers(NodeRef),
    /// Along the column of the list.
    Column(NodeRef),
    /// By sorting these few.
    Sort(NodeRef, Members),
}

/// How many entities there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// So many, or more if not all were counted.
    pub count: u64,
    /// Whether all were counted, or the budget ended before.
    pub end: End,
}

impl Reader<'_> {
    /// How many entities of a list pass a filter. Those that have expired count until they are
    /// put away.
    ///
    /// # Errors
    ///
    /// If entities of the kind are not looked for by tags or facets, or a range is given; and as
    /// [`Reader::list`].
    pub async fn total(&self, request: &ListRequest) -> Result<Total, Error> {
        self.check_countable(request)?;
        let request = &self.simplified(request);
        let mut deletions = Deletions::default();
        for _ in 0..ATTEMPTS_MAX {
            let mut cost = ReadCost::default();
            let of = (request.entity, request.tenant.as_ref());
            let hidden = self.hidden(of, (&mut deletions, &mut cost)).await?;
            let total = self.total_without(request, &hidden, &mut cost).await?;
            if self.confirm(&mut deletions, &mut cost).await? == Verdict::Valid {
                return Ok(total);
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    async fn total_without(
        &self,
        request: &ListRequest,
        hidden: &Hidden,
        cost: &mut ReadCost,
    ) -> Result<Total, Error> {
        let (direction, budget) = (Direction::Forward, request.budget);
        let mut search = Search { reader: self, direction, budget, hidden, cost };
        let (node, _) = search.sized_node(request).await?;
        let Some(node) = node else { return Ok(Total { count: 0, end: End::Exhausted }) };
        if let Some(count) = node.size_exact().filter(|_| hidden.is_empty()) {
            return Ok(Total { count, end: End::Exhausted });
        }
        let (mut from, mut count) = (search.start(), 0);
        loop {
            let batch = search.next(&*node, from).await?;
            count += batch.ordinals.len();
            match search.next_after(&batch) {
                None => return Ok(Total { count, end: End::Exhausted }),
                Some(_) if search.is_spent() => return Ok(Total { count, end: End::Budget }),
                Some(next) => from = next,
            }
        }
    }
}

impl Reader<'_> {
    /// Whether an entity can pass the filter because it has lost a reference.
    fn can_join(&self, request: &ListRequest) -> bool {
        let facets = &self.layout.model().entity(request.entity).list(request.list).facets;
        let is_cleared =
            |link: &Link| link.on_delete == OnDelete::Clear && facets.contains(&link.field);
        request.filter.as_ref().is_some_and(Filter::has_not)
            && self.layout.links(request.entity).iter().any(is_cleared)
    }

    /// Whether it is known how many entities a request finds.
    pub(crate) fn check_countable(&self, request: &ListRequest) -> Result<(), RequestError> {
        let entity = self.layout.model().entity(request.entity);
        let list = entity.list(request.list);
        if !entity.is_numbered() || request.range != Range::ALL {
            return Err(RequestError::NoTotal { list: list.name.clone() });
        }
        check_limit(request.limit)?;
        check_tenant(self.layout, request.entity, request.tenant.as_ref())?;
        check_values(entity, || format!("The list `{}`", list.name), &list.by, &request.by)?;
        request.filter.iter().try_for_each(|filter| filter.check(entity, request.list))
    }
}

impl<'s> Search<'s> {
    /// The part of a list that a request is about.
    pub(crate) fn scope<'r>(&self, request: &'r ListRequest) -> Scope<'r>
    where
        's: 'r,
    {
        let (entity, tenant) = (request.entity, request.tenant.as_ref());
        Scope {
            owner: PostingOwner { layout: self.reader.layout, entity, tenant },
            list: request.list,
            by: &request.by,
            kept: if self.sets().is_some() { Matching::Sets } else { Matching::Rows },
        }
    }

    /// What passes a request's filter, or none if nothing can, and how many are in its part of the
    /// list.
    pub(crate) async fn sized_node(
        &mut self,
        request: &ListRequest,
    ) -> Result<(Option<NodeRef>, u64), Error> {
        let scope = self.scope(request);
        let Some((list, node)) = scope.list().zip(scope.plan(request.filter.as_ref())) else {
            return Ok((None, 0));
        };
        let mut lists = vec![list];
        node.posting_lists(&mut lists);
        let sizes = self.sizes(&lists).await?;
        let list_size = sizes.first().copied().unwrap_or(0);
        Ok((node.sized(&Sizes::new(&lists, sizes)), list_size))
    }

    /// How many are in the part of the list that a request is about, counted up to a bound, where
    /// posting lists are rows.
    async fn count_list(&mut self, request: &ListRequest, count_max: u64) -> Result<u64, Error> {
        match self.scope(request).list() {
            Some(list) => Ok(PostingRows::new(list).first_members(self, count_max).await?.0.len()),
            None => Ok(0),
        }
    }

    /// How a page is found.
    pub(crate) async fn choose(&mut self, request: &ListRequest) -> Result<Choice, Error> {
        let is_numbered = self.reader.layout.number_slot(request.entity).is_some();
        if request.filter.is_none() || request.strategy == Strategy::Walk || !is_numbered {
            return Ok(Choice::Walk(None));
        }
        let facets = self.facets(request);
        if let Some(facets) = &facets
            && self.is_merged_at_once(facets, request.strategy)
            && let Some(choice) = self.merge(facets, request).await?
        {
            return Ok(choice);
        }
        let (node, of_list) = self.sized_node(request).await?;
        let Some(node) = node else { return Ok(Choice::Nothing) };
        let entity = self.reader.layout.model().entity(request.entity);
        if entity.list(request.list).order.is_empty() {
            return Ok(Choice::Numbers(node));
        }
        let has_sets = self.sets().is_some();
        if let Some(facets) = facets.filter(|_| has_sets) {
            let passing = node.estimate(of_list).max(1);
            let walked = u64::from(request.limit).saturating_mul(of_list) / passing;
            let count = facets.known_count().unwrap_or(COMBINATIONS_USUAL) as u64;
            if walked < COMBINATION_ROWS.saturating_mul(count) {
                return Ok(Choice::Sift(node, Some(walked.saturating_mul(PATIENCE))));
            }
            if let Some(choice) = self.merge(&facets, request).await? {
                return Ok(choice);
            }
        }
        if has_sets {
            return Ok(by_column_or_list(node, request, of_list));
        }
        let few = self.few(&*node, SORT_MAX).await?;
        let of_list = match &few {
            // No more of the list than tells whether sorting is cheaper.
            Some(few) => {
                let needed = few.len().saturating_mul(few.len()).div_ceil(request.limit.into());
                self.count_list(request, needed.min(LIST_COUNTED_MAX)).await?
            }
            None => of_list,
        };
        let walked = u64::from(request.limit).saturating_mul(of_list);
        let is_cheaper = |few: &Members| {
            request.strategy == Strategy::Match || few.len().saturating_mul(few.len()) <= walked
        };
        Ok(match few {
            Some(few) if is_cheaper(&few) => Choice::Sort(node, few),
            Some(_) | None => Choice::Walk(Some(node)),
        })
    }

    /// What the filter says about facets, if what has the same values of them stands together.
    fn facets(&self, request: &ListRequest) -> Option<Facets> {
        match request.strategy {
            Strategy::Cheapest | Strategy::Merge => Facets::of(self.reader, request),
            Strategy::Walk | Strategy::Match => None,
        }
    }

    /// Without sets, what passes is not found in any other bounded way.
    fn is_merged_at_once(&self, facets: &Facets, strategy: Strategy) -> bool {
        strategy == Strategy::Merge
            || self.sets().is_none()
            || facets.known_count().is_some_and(|count| count <= COMBINATIONS_FEW)
    }

    /// None if too many combinations pass.
    pub(crate) async fn merge(
        &mut self,
        facets: &Facets,
        request: &ListRequest,
    ) -> Result<Option<Choice>, Error> {
        if facets.known_count().is_some_and(|count| count > COMBINATIONS_MAX) {
            return Ok(None);
        }
        let Some(prefixes) = facets.prefixes(self.reader, self.cost).await? else {
            return Ok(None);
        };
        if prefixes.is_empty() {
            return Ok(Some(Choice::Nothing));
        }
        if self.sets().is_none() || facets.is_all {
            return Ok(Some(Choice::Merge(facets.clone(), prefixes, None)));
        }
        Ok(Some(match self.sized_node(request).await?.0 {
            Some(node) => Choice::Merge(facets.clone(), prefixes, Some(node)),
            None => Choice::Nothing,
        }))
    }

    /// Whether there are members from a number on. Yes if the budget ends before that is known.
    async fn has_from(&mut self, node: &dyn Node, from: Option<u64>) -> Result<bool, Error> {
        let mut from = from;
        while let Some(start) = from {
            let batch = self.next(node, start).await?;
            if !batch.ordinals.is_empty() || self.is_spent() {
                return Ok(true);
            }
            from = self.next_after(&batch);
        }
        Ok(false)
    }

    /// All members, if they are few.
    async fn few(&mut self, node: &dyn Node, count_max: u64) -> Result<Option<Members>, Error> {
        let (mut from, mut all) = (self.start(), Members::default());
        loop {
            let batch = self.next(node, from).await?;
            all.or(&batch.ordinals);
            if all.len() > count_max {
                return Ok(None);
            }
            match self.next_after(&batch) {
                None => return Ok(Some(all)),
                Some(_) if self.is_spent() => return Ok(None),
                Some(next) => from = next,
            }
        }
    }
}

/// Along the column, or first along the list if a page is likely to be full there sooner.
fn by_column_or_list(node: NodeRef, request: &ListRequest, of_list: u64) -> Choice {
    let (limit, passing) = (u64::from(request.limit), node.estimate(of_list).max(1));
    let walked = limit.saturating_mul(of_list) / passing;
    // Where few match, blocks are read one by one.
    let blocks = (of_list / 256 / BLOCKS_PER_ROW).min(passing / 2);
    let sought = blocks + passing / CELLS_PER_ROW + limit.saturating_mul(2);
    match walked <= sought && request.strategy != Strategy::Match {
        true => Choice::Sift(node, Some(walked.max(limit).saturating_mul(PATIENCE))),
        false => Choice::Column(node),
    }
}

impl Walk<'_> {
    /// Reads a page of what passes a filter, beyond a cut.
    pub(crate) async fn go_matched(&mut self, begin: Option<&Cut>) -> Result<End, Error> {
        // What is not seen is left out when entities are looked at; but who has lost a reference
        // may pass because of that, and must be found.
        if self.reader.can_join(self.request) {
            let of = (self.request.entity, self.request.tenant.as_ref());
            self.hidden = self.reader.hidden(of, (&mut self.deletions, &mut self.cost)).await?;
        }
        match self.choose().await? {
            Choice::Nothing => Ok(End::Exhausted),
            Choice::Walk(_) => self.go().await,
            Choice::Sift(node, rows_max) => self.go_sifted(&*node, rows_max).await,
            Choice::Merge(facets, prefixes, node) => {
                self.go_merged(&facets, &prefixes, node.as_deref()).await
            }
            Choice::Numbers(node) => self.go_by_numbers(&*node, begin).await,
            Choice::Column(node) => match self.go_by_column(&*node).await? {
                Some(end) => Ok(end),
                None => self.go_sifted(&*node, None).await,
            },
            Choice::Sort(_, few) => self.go_sorted(&few).await,
        }
    }

    async fn choose(&mut self) -> Result<Choice, Error> {
        let request = self.request;
        self.search().choose(request).await
    }

    pub(crate) fn search(&mut self) -> Search<'_> {
        let (direction, budget) = (self.direction, self.request.budget);
        let (hidden, cost) = (&self.hidden, &mut self.cost);
        Search { reader: self.reader, direction, budget, hidden, cost }
    }

    /// Along the numbers, which the list is in the order of.
    async fn go_by_numbers(&mut self, node: &dyn Node, begin: Option<&Cut>) -> Result<End, Error> {
        let from = match begin {
            None => Some(self.search().start()),
            Some(cut) => cut.number_beyond(self.direction),
        };
        let Some(mut from) = from else { return Ok(End::Exhausted) };
        loop {
            let batch = self.search().next(node, from).await?;
            let next = self.search().next_after(&batch);
            let mut left = batch.ordinals.along(self.direction).peekable();
            while left.peek().is_some() {
                let count = self.wanted().min(BATCH_MAX);
                let some: Vec<u64> = left.by_ref().take(count).collect();
                if !self.look_at_numbers(&some, &batch.owners).await? {
                    return Ok(End::Budget);
                }
                let has_more = left.peek().is_some();
                if self.wanted() == 0 {
                    let follows = has_more || self.search().has_from(node, next).await?;
                    return Ok(if follows { End::Limit } else { End::Exhausted });
                }
                if self.search().is_spent() && (has_more || next.is_some()) {
                    return Ok(End::Budget);
                }
            }
            let (Some(next), Some(through)) = (next, batch.through) else {
                return Ok(End::Exhausted);
            };
            from = next;
            self.pass_cut(Cut::behind_number(through, self.direction));
            if self.search().is_spent() {
                return Ok(End::Budget);
            }
        }
    }

    /// Looks at the entities with some numbers, in this order; false if not at all of them.
    async fn look_at_numbers(&mut self, numbers: &[u64], owners: &Owners) -> Result<bool, Error> {
        let mut ascending = numbers.to_vec();
        ascending.sort_unstable();
        let of: (EntityId, Option<&Value>) = (self.request.entity, self.request.tenant.as_ref());
        let mut keys = match self.reader.owned_keys(&ascending, owners) {
            Some(keys) => keys,
            None => self.reader.numbered_keys(of, &ascending, &mut self.cost).await?,
        };
        if self.direction == Direction::Backward {
            keys.reverse();
        }
        let entry = |numbered: crate::number::Numbered| Entry {
            position: numbered.position,
            key: numbered.key,
        };
        let entries: Vec<Entry> = keys.into_iter().map(entry).collect();
        for batch in entries.chunks(BATCH_MAX) {
            if self.look_at(batch).await? < batch.len() {
                return Ok(false);
            }
        }
        // Those that are gone meanwhile were looked at too.
        if let Some(last) = numbers.last().filter(|_| entries.is_empty()) {
            self.pass_cut(Cut::behind_number(*last, self.direction));
        }
        Ok(true)
    }

    /// The few that match, sorted.
    async fn go_sorted(&mut self, few: &Members) -> Result<End, Error> {
        let numbers: Vec<u64> = few.iter().collect();
        let entries = self.entries_with(&numbers).await?;
        Ok(self.look_at_some(&entries).await?.unwrap_or(End::Exhausted))
    }

    /// Along the list, looking at those whose numbers match: of the others only the row of the
    /// index is read. More and more at once, as the first have shown that few match.
    async fn go_sifted(&mut self, node: &dyn Node, rows_max: Option<u64>) -> Result<End, Error> {
        let mut rows = self.wanted().saturating_mul(2).min(SIFT_MAX);
        let mut rows_max = rows_max.map(|rows| self.cost.rows.saturating_add(rows));
        loop {
            if rows_max.take_if(|rows_max| self.cost.rows > *rows_max).is_some()
                && let Some(end) = self.go_on_otherwise(node).await?
            {
                return Ok(end);
            }
            // Each may be a row of the index and one of its own.
            let affordable = self.request.budget.rows.saturating_sub(self.cost.rows) / 2;
            let limit = rows.min(usize::try_from(affordable).unwrap_or(usize::MAX)).max(1);
            let page = self.reader.page(&self.place, &self.span, self.direction, limit).await?;
            self.cost.rows += page.scanned;
            self.cost.bytes += page.scanned_bytes;
            let matching = self.sifted(node, page.items).await?;
            if let Some(end) = self.look_at_some(&matching).await? {
                return Ok(end);
            }
            let Some(last_key) = &page.last_key else { return Ok(End::Exhausted) };
            let position = self.position(last_key)?;
            // A full page ends behind its last entity, but whether one more matches is looked for
            // beyond.
            match self.wanted() {
                0 => self.skip(position),
                _ => self.pass(position),
            }
            if self.search().is_spent() {
                return Ok(if self.wanted() == 0 { End::Limit } else { End::Budget });
            }
            rows = rows.saturating_mul(2).min(SIFT_MAX);
        }
    }

    /// From here along the places by facet, or along the column; none if neither can be.
    async fn go_on_otherwise(&mut self, node: &dyn Node) -> Result<Option<End>, Error> {
        let request = self.request;
        if let Some(facets) = Facets::of(self.reader, request) {
            match self.search().merge(&facets, request).await? {
                Some(Choice::Merge(facets, prefixes, node)) => {
                    return self.go_merged(&facets, &prefixes, node.as_deref()).await.map(Some);
                }
                Some(_) => return Ok(Some(End::Exhausted)),
                None => {}
            }
        }
        self.go_by_column(node).await
    }

    /// Those of some rows of the list whose numbers match. One that tells no number is looked at.
    async fn sifted(&mut self, node: &dyn Node, rows: Vec<Item>) -> Result<Vec<Entry>, Error> {
        let (layout, of) = (self.reader.layout, (self.request.entity, self.request.list));
        let sort = self.place.sort.clone();
        let number = |row: &Item| layout.number_at(of, row.get(sort.as_str())?.as_b()?);
        let numbers: Vec<Option<u64>> = rows.iter().map(number).collect();
        let is_in = self.are_in(node, &numbers).await?;
        let kept = rows.into_iter().zip(is_in).filter(|(_, is_in)| *is_in);
        kept.map(|(row, _)| self.entry(row)).collect()
    }

    /// Which of some numbers are in the groups of a node. One that is not known may be.
    pub(crate) async fn are_in(
        &mut self,
        node: &dyn Node,
        numbers: &[Option<u64>],
    ) -> Result<Vec<bool>, Error> {
        let all: Members = numbers.iter().flatten().copied().collect();
        let members = self.search().retain(node, all).await?;
        let is_in = |number: &Option<u64>| number.is_none_or(|number| members.contains(number));
        Ok(numbers.iter().map(is_in).collect())
    }

    /// Looks at entries in their order; why it ended, if not all were looked at.
    pub(crate) async fn look_at_some(&mut self, entries: &[Entry]) -> Result<Option<End>, Error> {
        let mut left = entries;
        while !left.is_empty() {
            if self.wanted() == 0 {
                return Ok(Some(End::Limit));
            }
            let (some, rest) = left.split_at(left.len().min(self.wanted()).min(BATCH_MAX));
            if self.look_at(some).await? < some.len() {
                return Ok(Some(End::Budget));
            }
            left = rest;
            if !left.is_empty() && self.search().is_spent() {
                return Ok(Some(End::Budget));
            }
        }
        Ok(None)
    }

    /// Whether an entity passes the filter.
    pub(crate) fn passes(&self, image: &keyloom_model::Image) -> bool {
        let entity = self.reader.layout.model().entity(self.request.entity);
        let holds = |filter: &Filter| filter.holds(entity, image);
        self.request.filter.as_ref().is_none_or(holds)
    }
}
