//! Which page of a list to read, and what a page is.

use keyloom_model::{EntityId, Layout, ListId, OwnRow};
use keyloom_store::Direction;
use keyloom_value::{KeyBytes, Value};

use crate::request_error::{GivenValues, check_limit, check_tenant};
use crate::{Budget, Filter, Range, ReadCost, RequestError, Strategy};

/// A request for a page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// The kind of entity.
    pub entity: EntityId,
    /// The list.
    pub list: ListId,
    /// The tenant, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the list's `by`.
    pub by: Vec<Value>,
    /// The range of the order.
    pub range: Range,
    /// The direction: from the start, or from the end.
    pub direction: Direction,
    /// The maximum number of entities: 1 to 1,000.
    pub limit: u32,
    /// How much may be read.
    pub budget: Budget,
    /// Only entities that pass this, a filter of the same list.
    pub filter: Option<Filter>,
    /// How matches are found.
    pub strategy: Strategy,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage {
    /// The entities, in order. There can be few, or none, on a page that is not the last.
    pub rows: Vec<OwnRow>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// The cursor of the page before; absent on the first page.
    pub previous: Option<String>,
    /// Why the page ends; on one that a cursor `previous` led to, why it begins.
    pub end: End,
    /// How much was read.
    pub read: ReadCost,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The list ends.
    Exhausted,
    /// The page has as many entities as requested.
    Limit,
    /// The budget is spent.
    Budget,
}

impl ListRequest {
    /// The first 100 entities of a list without tenant and `by`.
    pub fn new(entity: EntityId, list: ListId) -> ListRequest {
        ListRequest {
            entity,
            list,
            tenant: None,
            by: vec![],
            range: Range::ALL,
            direction: Direction::Forward,
            limit: 100,
            budget: Budget::STANDARD,
            filter: None,
            strategy: Strategy::Cheapest,
        }
    }

    /// Checks the request and returns the partition of the list's index keys; none if it does not fit
    /// into a key: then it has no entities.
    pub(crate) fn partition(&self, layout: &Layout) -> Result<Option<KeyBytes>, RequestError> {
        check_limit(self.limit)?;
        check_tenant(layout, self.entity, self.tenant.as_ref())?;
        self.filter.iter().try_for_each(Filter::check_size)?;
        self.check_by(layout)?;
        let of = (self.entity, self.list);
        Ok(layout.lists().partition(of, self.tenant.as_ref(), &self.by).ok())
    }

    /// Checks that the matches of the request can be counted.
    pub(crate) fn check_countable(&self, layout: &Layout) -> Result<(), RequestError> {
        let entity = layout.model().entity(self.entity);
        if !entity.has_ordinals() || self.range != Range::ALL {
            return Err(RequestError::NoTotal { list: entity.list(self.list).name.clone() });
        }
        check_limit(self.limit)?;
        check_tenant(layout, self.entity, self.tenant.as_ref())?;
        self.check_by(layout)?;
        self.filter.iter().try_for_each(Filter::check_size)
    }

    fn check_by(&self, layout: &Layout) -> Result<(), RequestError> {
        let entity = layout.model().entity(self.entity);
        let list = entity.list(self.list);
        GivenValues { entity, fields: &list.by, values: &self.by }
            .check(|| format!("The list `{}`", list.name))
    }
}
