//! Query nodes: cursors over the ordinals that match a part of a filter, one node a file. `plan.rs`
//! builds a tree of them; the strategies drive it through [`Search`]. A node reads posting lists
//! and nothing else: it never looks at an entity, and it keeps no position of its own.

mod difference;
mod intersection;
mod node;
mod outline;
mod posting_set;
mod search;
mod slice_range;
#[cfg(test)]
mod tests;
mod union;

pub(crate) use difference::Difference;
pub(crate) use intersection::Intersection;
pub(crate) use node::{Batch, Found, Node, NodeRef, Sizes};
pub(crate) use outline::{Combination, Outline, ReadOrder, Step};
pub(crate) use posting_set::PostingSet;
pub(crate) use search::Search;
pub(crate) use slice_range::SliceRange;
pub(crate) use union::Union;
