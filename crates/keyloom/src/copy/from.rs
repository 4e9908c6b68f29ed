//! Where a copy reads.

use keyloom_store::Segment;
use keyloom_value::Item;

use super::Heading;
use crate::answer::Answer;

/// The source of a copy.
///
/// Implementors MUST
/// - return every portable row in exactly one of `segment.of` segments, whatever that number is;
/// - accept any position that they have returned for a segment, also after a restart;
/// - return the same identity as long as they have the same rows, as far as they can tell.
///
/// [`StoreSource`](super::StoreSource) is one; the [module](crate::copy) has an example.
pub trait CopyFrom: Send + Sync {
    /// The model and what else a database begins with.
    fn heading(&self) -> &Heading;
    /// Identifies the source and, if it can change, its state: an interrupted copy continues only from
    /// the same one.
    fn identity(&self) -> &str;
    /// The approximate number of rows to read, if known.
    fn rows_total(&self) -> Option<u64>;
    /// How many segments are best read at the same time, if nothing else is done.
    fn readers(&self) -> u32 {
        1
    }
    /// Returns the rows of a segment after a position, or from the start.
    fn page<'a>(&'a self, segment: Segment, after: Option<&'a Item>) -> Answer<'a, CopyPage>;
}

/// Some portable rows of a segment.
///
/// [`CopyRow`] has an example.
#[derive(Clone, Debug, Default)]
pub struct CopyPage {
    /// The rows, in the order of their positions.
    pub rows: Vec<CopyRow>,
    /// The position after this page, even if it has no rows; none at the end.
    pub next: Option<Item>,
    /// How many rows were read, in the unit of [`CopyFrom::rows_total`].
    pub read: u64,
}

/// A portable row.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, Options, copy::CopyFrom, copy::Segment, copy::StoreSource};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # let model = "[entity.task]\nfields.name = \"text\"";
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// # let db = Db::open(model, store.clone()).await?;
/// # db.create("task", &json!({ "name": "cook" })).await?;
/// let source = StoreSource::open(store, Options::default(), None).await?;
/// let mut after = None;
/// let mut rows = 0;
/// loop {
///     let page = source.page(Segment { number: 0, of: 1 }, after.as_ref()).await?;
///     rows += page.rows.len();
///     match page.next {
///         None => break,
///         next => after = next,
///     }
/// }
/// assert!(rows > 0);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug)]
pub struct CopyRow {
    /// The row.
    pub row: Item,
    /// The position right after it.
    pub position: Item,
}
