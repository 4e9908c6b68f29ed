//! Chooses the strategy that seems the cheapest. Reads the sizes of posting lists and, where the store
//! has no columns, perhaps their members; never an entity.

use std::sync::Arc;

use keyloom_store::Members;

use super::Strategy;
use super::along_column::AlongColumn;
use super::along_facets::AlongFacets;
use super::along_list::AlongList;
use super::along_ordinals::AlongOrdinals;
use super::chosen::Chosen;
use super::small_set::SmallSet;
use crate::facets::Facets;
use crate::nodes::{Node, NodeRef, Search};
use crate::plan::SizedPlan;
use crate::{Error, ListRequest};

/// How many matches are sorted, at most.
const SORT_MAX: u64 = 1000;
/// Reading one more combination of facets costs as much as this many rows of an index.
const COMBINATION_ROWS: u64 = 8;
/// Up to this many combinations are read side by side without comparing with the list itself.
const COMBINATIONS_FEW: usize = 8;
/// The number of combinations to assume where it is unknown.
const COMBINATIONS_USUAL: usize = 32;
/// How many adjacent cells of a column, and how many blocks of 256 cells, are read in the time of one
/// entry of a list. Measured.
const CELLS_PER_ROW: u64 = 150;
const BLOCKS_PER_ROW: u64 = 8;
/// A list is read this many times as far as a full page should need, before its matches are assumed to
/// be at its end.
const PATIENCE: u64 = 4;

/// What a page is likely to read, if matches are spread evenly over the list. In entries of the list: what else is
/// read counts as the entries that are read in the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    limit: u64,
    list_size: u64,
    passing: u64,
}

impl Estimate {
    /// Plans the filter of a request, and estimates what a page of it reads. None if nothing can match.
    pub(crate) async fn plan(
        search: &mut Search<'_>,
        request: &ListRequest,
    ) -> Result<Option<(NodeRef, Estimate)>, Error> {
        let SizedPlan { node, list_size } = SizedPlan::read(search, request).await?;
        let Some(node) = node else { return Ok(None) };
        let passing = node.estimate(list_size).max(1);
        Ok(Some((node, Estimate { limit: u64::from(request.limit), list_size, passing })))
    }

    /// Entries of the list.
    pub(crate) fn list_size(self) -> u64 {
        self.list_size
    }

    /// Matches, at least one.
    pub(crate) fn passing(self) -> u64 {
        self.passing
    }

    /// Entries along the list until a page is full.
    pub(crate) fn walked(self) -> u64 {
        self.limit.saturating_mul(self.list_size) / self.passing
    }

    /// Along the column of the list. Where few match, blocks are read one by one.
    pub(crate) fn sought(self) -> u64 {
        let blocks = (self.list_size / 256 / BLOCKS_PER_ROW).min(self.passing / 2);
        blocks + self.passing / CELLS_PER_ROW + self.limit.saturating_mul(2)
    }

    /// Along the index keys of this many combinations of facets.
    pub(crate) fn merged(combinations: Option<usize>) -> u64 {
        COMBINATION_ROWS.saturating_mul(combinations.unwrap_or(COMBINATIONS_USUAL) as u64)
    }
}

/// Chooses the strategy of a request.
pub(crate) struct Chooser<'c> {
    search: Search<'c>,
    request: &'c ListRequest,
    /// What the strategies were compared by, if they were.
    estimate: Option<Estimate>,
}

impl<'c> Chooser<'c> {
    pub(crate) fn new(search: Search<'c>, request: &'c ListRequest) -> Chooser<'c> {
        Chooser { search, request, estimate: None }
    }

    /// What the strategies were compared by, if they were.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Chooses how to find a page of matches.
    pub(crate) async fn choose(&mut self) -> Result<Chosen, Error> {
        let (request, layout) = (self.request, self.search.reader.layout);
        let is_numbered = layout.ordinals().slot(request.entity).is_some();
        if request.filter.is_none() || request.strategy == Strategy::Walk || !is_numbered {
            return Ok(Chosen::Each);
        }
        let facets = self.facets();
        if let Some(facets) = &facets
            && self.is_merged_at_once(facets)
            && let Some(choice) = self.merge(facets).await?
        {
            return Ok(choice);
        }
        let planned = Estimate::plan(&mut self.search, request).await?;
        let Some((node, estimate)) = planned else { return Ok(Chosen::Nothing) };
        self.estimate = Some(estimate);
        if layout.model().entity(request.entity).list(request.list).order.is_empty() {
            return Ok(Chosen::AlongOrdinals(AlongOrdinals { node }));
        }
        if !self.search.has_columns() {
            return self.walk_or_sort(node, estimate).await;
        }
        if let Some(facets) = facets {
            let walked = estimate.walked();
            if walked < Estimate::merged(facets.known_count()) {
                let rows_max = Some(walked.saturating_mul(PATIENCE));
                return Ok(Chosen::AlongList(AlongList { node, rows_max }));
            }
            if let Some(choice) = self.merge(&facets).await? {
                return Ok(choice);
            }
        }
        Ok(by_column_or_list(node, request, estimate))
    }

    /// Without columns: along the list if a page is full soon there; otherwise by sorting the matches,
    /// unless there are too many.
    async fn walk_or_sort(&mut self, node: NodeRef, estimate: Estimate) -> Result<Chosen, Error> {
        let (limit, walked) = (estimate.limit, estimate.walked());
        if self.request.strategy != Strategy::Match && walked <= limit.saturating_mul(PATIENCE) {
            let rows_max = Some(walked.max(limit).saturating_mul(PATIENCE));
            return Ok(Chosen::AlongList(AlongList { node, rows_max }));
        }
        let sorted = self.sort(&node).await?;
        Ok(sorted.unwrap_or(Chosen::AlongList(AlongList { node, rows_max: None })))
    }

    /// By sorting all matches; none if there are too many.
    pub(crate) async fn sort(&mut self, node: &NodeRef) -> Result<Option<Chosen>, Error> {
        let ordinals = self.small_set(&**node, SORT_MAX).await?;
        let small = |ordinals| SmallSet { node: node.clone(), ordinals };
        Ok(ordinals.map(|ordinals| Chosen::SmallSet(Arc::new(small(ordinals)))))
    }

    /// What the filter says about facets, if the list has index keys by facet.
    fn facets(&self) -> Option<Facets> {
        match self.request.strategy {
            Strategy::Cheapest | Strategy::Merge => Facets::of(self.search.reader, self.request),
            Strategy::Walk | Strategy::Match => None,
        }
    }

    /// Without columns, no other strategy is bounded.
    fn is_merged_at_once(&self, facets: &Facets) -> bool {
        self.request.strategy == Strategy::Merge
            || !self.search.has_columns()
            || facets.known_count().is_some_and(|count| count <= COMBINATIONS_FEW)
    }

    /// None if too many combinations pass.
    pub(crate) async fn merge(&mut self, facets: &Facets) -> Result<Option<Chosen>, Error> {
        if facets.known_count().is_some_and(|count| count > facets.combinations_max()) {
            return Ok(None);
        }
        let search = &mut self.search;
        let Some(prefixes) = facets.prefixes(search.reader, search.cost).await? else {
            return Ok(None);
        };
        if prefixes.is_empty() {
            return Ok(Some(Chosen::Nothing));
        }
        let node = match facets.is_all {
            true => None,
            false => match SizedPlan::read(search, self.request).await?.node {
                None => return Ok(Some(Chosen::Nothing)),
                node => node,
            },
        };
        let strategy = AlongFacets { facets: facets.clone(), prefixes, node };
        Ok(Some(Chosen::AlongFacets(Arc::new(strategy))))
    }

    /// Returns all matches, if they are few.
    async fn small_set(
        &mut self,
        node: &dyn Node,
        count_max: u64,
    ) -> Result<Option<Members>, Error> {
        let search = &mut self.search;
        let (mut from, mut all) = (search.start(), Members::default());
        loop {
            let batch = search.next(node, from).await?;
            all.or(&batch.ordinals);
            if all.len() > count_max {
                return Ok(None);
            }
            match search.next_after(&batch) {
                None => return Ok(Some(all)),
                Some(_) if search.is_spent() => return Ok(None),
                Some(next) => from = next,
            }
        }
    }
}

/// Along the column, or along the list first if a page is likely to be full sooner there.
fn by_column_or_list(node: NodeRef, request: &ListRequest, estimate: Estimate) -> Chosen {
    let (limit, walked) = (estimate.limit, estimate.walked());
    match walked <= estimate.sought() && request.strategy != Strategy::Match {
        true => {
            let rows_max = Some(walked.max(limit).saturating_mul(PATIENCE));
            Chosen::AlongList(AlongList { node, rows_max })
        }
        false => Chosen::AlongColumn(AlongColumn { node }),
    }
}
