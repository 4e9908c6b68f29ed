//! The number of entities of a list that pass a filter: counted in posting lists, without fetching
//! entities.

use keyloom_store::Direction;

use crate::chunks::ChunkView;
use crate::hidden::Hidden;
use crate::nodes::Search;
use crate::plan::SizedPlan;
use crate::posting_list::PostingOwner;
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{End, Error, ListRequest, ReadCost, Reader};

/// How many entities there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number of entities, or a lower bound if not all were counted.
    pub count: u64,
    /// Whether all were counted, or the budget was spent before.
    pub end: End,
}

/// A list whose matches are counted.
pub(crate) struct TotalQuery<'q> {
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) request: &'q ListRequest,
}

impl TotalQuery<'_> {
    /// Counts at one moment, as far as deletions are concerned.
    pub(crate) async fn count(&self) -> Result<Total, Error> {
        let TotalQuery { reader, request } = *self;
        request.check_countable(reader.layout)?;
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let owner = PostingOwner::of(reader, request);
            let mut view = ChunkView::new(request.entity, request.tenant.as_ref());
            let hidden = Hidden::read(reader, owner, &mut state, &mut view).await?;
            let (direction, budget) = (Direction::Forward, request.budget);
            let (hidden, cost) = (&hidden, &mut state.cost);
            let search = Search { reader, direction, budget, hidden, cost, view: &mut view };
            let total = self.count_without(search).await?;
            if state.confirm(reader.rows()).await? == Verdict::Valid {
                return Ok(total);
            }
        }
        Err(Error::Unanswered { rows: 1 })
    }

    async fn count_without(&self, mut search: Search<'_>) -> Result<Total, Error> {
        let Some(node) = SizedPlan::read(&mut search, self.request).await?.node else {
            return Ok(Total { count: 0, end: End::Exhausted });
        };
        if let Some(count) = node.size_exact().filter(|_| search.hidden.is_empty()) {
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
