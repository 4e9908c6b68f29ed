//! A walk over everything that a deletion has marked, with the entities that refer to each, page by
//! page. Only reads.

use std::collections::HashSet;

use keyloom_model::{EntityKey, Link, OwnRow, RowKey};
use keyloom_query::{LinkRow, LinksPosition};

use crate::error::Error;
use crate::write::{DeletionRecord, LINKS_PAGE, WriteContext};

/// The walk, from a root outward.
pub(super) struct Walk<'w> {
    ctx: WriteContext<'w>,
    record: &'w DeletionRecord,
    frontier: Vec<EntityKey>,
    met: HashSet<RowKey>,
    /// An entity, and the link after which its next page of referrers starts.
    page: Option<(EntityKey, Option<LinksPosition>)>,
}

/// A page of entities that refer to a target.
pub(super) struct Referrers {
    pub(super) target: EntityKey,
    pub(super) all: Vec<Referrer>,
}

/// An entity that refers to a target.
pub(super) struct Referrer {
    pub(super) link: Link,
    pub(super) row: OwnRow,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        ctx: WriteContext<'w>,
        record: &'w DeletionRecord,
        root: &EntityKey,
    ) -> Walk<'w> {
        Walk { ctx, record, frontier: vec![root.clone()], met: HashSet::new(), page: None }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Referrers>, Error> {
        let (target, after) = match self.page.take() {
            Some(page) => page,
            None => match self.frontier.pop() {
                Some(target) => (target, None),
                None => return Ok(None),
            },
        };
        let (reader, rules) = (self.ctx.reader(), self.ctx.references());
        let page = reader.links(&target, after.as_ref(), LINKS_PAGE).await?;
        let mut all = vec![];
        for LinkRow { field, owner, .. } in page.links {
            let Some(link) = rules.link(&owner, field) else { continue };
            let Some(row) = reader.get_any(&owner).await? else { continue };
            let leads_on = self.record.has_marked(&row) && rules.is_referable(&owner);
            if leads_on && self.met.insert(self.ctx.own_key(&owner)) {
                self.frontier.push(owner);
            }
            all.push(Referrer { link, row });
        }
        self.page = page.next.map(|next| (target.clone(), Some(next)));
        Ok(Some(Referrers { target, all }))
    }
}
