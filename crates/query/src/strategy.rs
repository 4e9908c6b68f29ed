//! Strategies: the ways to find a page of a filter's matches, one a file. They return the same page,
//! because all end in [`ListScan::fetch`](crate::list_scan::ListScan::fetch): own rows decide which
//! entities are on it, and at which position.

mod along_column;
mod along_facets;
mod along_list;
mod along_ordinals;
mod chosen;
mod cost;
mod fetch_each;
mod ran;
mod small_set;

pub(crate) use chosen::Chosen;
pub(crate) use cost::Estimate;
pub use ran::Ran;

/// How to find the matches of a filter. The result is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As seems the cheapest.
    #[default]
    Cheapest,
    /// Along the list, fetching each entity.
    Walk,
    /// Along the index keys by facet of each combination that passes, merged; if the filter names
    /// no values of facets, or too many combinations pass, as seems the cheapest.
    Merge,
    /// From the matches: along the ordinals if that is the order of the list, otherwise along its
    /// column, or by sorting where it has none, unless there are too many to sort.
    Match,
}
