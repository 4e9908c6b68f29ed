//! The strategy that was chosen for a page, with all that it needs to run.

use std::sync::Arc;

use keyloom_model::{FieldId, Layout, Link, OnDelete};

use super::along_column::AlongColumn;
use super::along_facets::AlongFacets;
use super::along_list::AlongList;
use super::along_ordinals::AlongOrdinals;
use super::cost::Chooser;
use super::fetch_each;
use super::small_set::SmallSet;
use crate::bound::PageBound;
use crate::hidden::Hidden;
use crate::list_scan::ListScan;
use crate::nodes::Node;
use crate::posting_list::PostingOwner;
use crate::{End, Error, Filter, ListRequest};

/// How a page is found. Cheap to clone, for the record of what ran.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// Nothing can match.
    Nothing,
    /// Along the list, fetching each entity.
    Each,
    AlongList(AlongList),
    AlongFacets(Arc<AlongFacets>),
    AlongOrdinals(AlongOrdinals),
    AlongColumn(AlongColumn),
    SmallSet(Arc<SmallSet>),
}

impl Chosen {
    /// The matches, if they were planned.
    pub(crate) fn node(&self) -> Option<&dyn Node> {
        match self {
            Chosen::Nothing | Chosen::Each => None,
            Chosen::AlongFacets(strategy) => strategy.node.as_deref(),
            Chosen::AlongList(AlongList { node, .. })
            | Chosen::AlongOrdinals(AlongOrdinals { node })
            | Chosen::AlongColumn(AlongColumn { node }) => Some(&**node),
            Chosen::SmallSet(strategy) => Some(&*strategy.node),
        }
    }

    /// Chooses how to read a page, and records it.
    pub(crate) async fn choose(scan: &mut ListScan<'_>) -> Result<Chosen, Error> {
        let (reader, request) = (scan.reader, scan.request);
        if request.filter.is_none() {
            scan.ran.begin(Chosen::Each, None);
            return Ok(Chosen::Each);
        }
        // Invisible entities are left out when they are fetched. But one that has lost a reference may
        // pass because of that, and must be found.
        if can_join(reader.layout, request) {
            let owner = PostingOwner::of(reader, request);
            scan.hidden = Hidden::read(reader, owner, &mut scan.state, &mut scan.view).await?;
        }
        let mut chooser = Chooser::new(scan.search(), request);
        let chosen = chooser.choose().await?;
        let estimate = chooser.estimate();
        scan.ran.begin(chosen.clone(), estimate);
        Ok(chosen)
    }

    /// Reads a page, beyond a bound.
    pub(crate) async fn run(
        &self,
        scan: &mut ListScan<'_>,
        begin: Option<&PageBound>,
    ) -> Result<End, Error> {
        match self {
            Chosen::Nothing => Ok(End::Exhausted),
            Chosen::Each => fetch_each::run(scan).await,
            Chosen::AlongList(strategy) => strategy.run(scan).await,
            Chosen::AlongFacets(strategy) => strategy.run(scan).await,
            Chosen::AlongOrdinals(strategy) => strategy.run(scan, begin).await,
            Chosen::AlongColumn(strategy) => strategy.run_or_list(scan).await,
            Chosen::SmallSet(strategy) => strategy.run(scan).await,
        }
    }
}

/// Whether an entity can pass the filter because it has lost a reference.
fn can_join(layout: &Layout, request: &ListRequest) -> bool {
    let entity = layout.model().entity(request.entity);
    let is_tested = |field: &FieldId| {
        entity.list(request.list).facets.contains(field) || entity.filters.contains(field)
    };
    let is_cleared = |link: &Link| link.on_delete == OnDelete::Clear && is_tested(&link.field);
    request.filter.as_ref().is_some_and(Filter::passes_without)
        && layout.references().of(request.entity).iter().any(is_cleared)
}
