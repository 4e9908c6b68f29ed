//! Strategies: the ways in which a page of what passes a filter is found, one a file. They give the
//! same answer, because all end in [`ListScan::fetch`](crate::list_scan::ListScan::fetch): what an
//! own row says counts, and a position is where it says that the entity is in the list.

mod along_column;
mod along_facets;
mod along_list;
mod along_ordinals;
mod chosen;
mod cost;
mod ran;
mod small_set;

pub(crate) use chosen::Chosen;
pub use ran::Ran;

/// How what passes a filter is found. The answer is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As it seems to cost the least.
    #[default]
    Cheapest,
    /// Along the list, fetching each entity.
    Walk,
    /// Along the index keys by facet of each combination that passes, merged; if the filter names
    /// no values of facets, or too many combinations pass, as it seems to cost the least.
    Merge,
    /// By what matches: along the ordinals if that is the order of the list, and else along its
    /// column, or by sorting where it has none, unless there are too many for that.
    Match,
}
