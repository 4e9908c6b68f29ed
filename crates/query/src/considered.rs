//! The ways in which a page could have been found, for `explain`: what each is likely to read, and which one was
//! chosen. By the estimate that the page was chosen by; reads the sizes of posting lists only
//! if it was chosen without one.

use crate::facets::Facets;
use crate::nodes::Search;
use crate::strategy::{Chosen, Estimate};
use crate::{Error, ListRequest, Ran};

/// A way to find a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// What is done.
    pub step: String,
    /// What it is likely to read, if matches are spread evenly: entries of the list, and what else is read in the
    /// same time.
    pub rows: u64,
    /// Whether the page was found in this way.
    pub is_chosen: bool,
}

/// The ways to find a page of a filter's matches, the cheapest first. None if there is no choice.
pub(crate) async fn considered(
    search: &mut Search<'_>,
    request: &ListRequest,
    ran: &Ran,
) -> Result<Vec<Considered>, Error> {
    let is_numbered = search.reader.layout.ordinals().slot(request.entity).is_some();
    let is_nothing = matches!(ran.strategies(), [Chosen::Nothing]);
    if request.filter.is_none() || !is_numbered || is_nothing {
        return Ok(vec![]);
    }
    let estimate = match ran.estimate() {
        Some(estimate) => Some(estimate),
        None => Estimate::plan(search, request).await?.map(|(_, estimate)| estimate),
    };
    let Some(estimate) = estimate else { return Ok(vec![]) };
    let (limit, walked) = (u64::from(request.limit), estimate.walked().min(estimate.list_size()));
    let entity = search.reader.layout.model().entity(request.entity);
    let has_order = !entity.list(request.list).order.is_empty();
    let chosen = |is: fn(&Chosen) -> bool| ran.strategies().iter().any(is);
    let way = |step: &str, rows: u64, is_chosen: bool| Considered {
        step: step.to_owned(),
        rows,
        is_chosen,
    };
    let mut ways = vec![
        way(
            "walk along the list, fetch each entity, and test it",
            walked.saturating_mul(2),
            chosen(|one| matches!(one, Chosen::Each)),
        ),
        way(
            "walk along the list, and fetch what the posting lists have",
            walked.saturating_add(limit),
            chosen(|one| matches!(one, Chosen::AlongList(_))),
        ),
    ];
    ways.push(match (has_order, search.has_columns()) {
        (false, _) => way(
            "go through what matches in order of creation",
            limit,
            chosen(|one| matches!(one, Chosen::AlongOrdinals(_))),
        ),
        (true, true) => way(
            "take the first that match by the column of the list",
            estimate.sought(),
            chosen(|one| matches!(one, Chosen::AlongColumn(_))),
        ),
        (true, false) => way(
            "take all that match, and sort them",
            estimate.passing(),
            chosen(|one| matches!(one, Chosen::SmallSet(_))),
        ),
    });
    if let Some(facets) = Facets::of(search.reader, request) {
        let rows = Estimate::merged(facets.known_count()).saturating_add(limit);
        let is_chosen = chosen(|one| matches!(one, Chosen::AlongFacets(_)));
        ways.push(way("merge the index keys of the combinations of facets", rows, is_chosen));
    }
    ways.sort_by_key(|way| way.rows);
    Ok(ways)
}
