//! The number of entities of a list that pass a filter: counted in posting lists, without fetching
//! entities.

use keyloom_store::Direction;

use crate::hidden::Hidden;
use crate::nodes::Search;
use crate::posting_list::PostingOwner;
use crate::request_error::{check_limit, check_tenant, check_values};
use crate::visible::{ATTEMPTS_MAX, ReadState, Verdict};
use crate::{End, Error, Filter, ListRequest, Range, ReadCost, Reader, RequestError};

/// How many entities there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number of entities, or a lower bound if not all were counted.
    pub count: u64,
    /// Whether all were counted, or the budget was spent before.
    pub end: End,
}

impl Reader<'_> {
    /// Returns how many entities of a list pass a filter. Expired entities count until they are
    /// removed.
    ///
    /// # Errors
    ///
    /// If the kind of entity has no tags and no facets, or a range is given; and as
    /// [`Reader::list`].
    pub async fn total(&self, request: &ListRequest) -> Result<Total, Error> {
        self.check_countable(request)?;
        let mut state = ReadState::default();
        for _ in 0..ATTEMPTS_MAX {
            state.cost = ReadCost::default();
            let hidden = Hidden::read(self, PostingOwner::of(self, request), &mut state).await?;
            let total = self.total_without(request, &hidden, &mut state.cost).await?;
            if state.confirm(self).await? == Verdict::Valid {
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
    /// Checks that the matches of a request can be counted.
    pub(crate) fn check_countable(&self, request: &ListRequest) -> Result<(), RequestError> {
        let entity = self.layout.model().entity(request.entity);
        let list = entity.list(request.list);
        if !entity.has_ordinals() || request.range != Range::ALL {
            return Err(RequestError::NoTotal { list: list.name.clone() });
        }
        check_limit(request.limit)?;
        check_tenant(self.layout, request.entity, request.tenant.as_ref())?;
        check_values(entity, || format!("The list `{}`", list.name), &list.by, &request.by)?;
        request.filter.iter().try_for_each(Filter::check_size)
    }
}
