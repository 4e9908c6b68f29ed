//! Which changes of a page of the feed are events for a consumer.

use std::sync::Arc;

use keyloom_store::{Change, ShardId};

use super::Event;
use super::consumer::Consumer;
use super::event::{FeedChange, entity_of};
use super::failure::Failure;
use crate::error::Error;
use crate::schema::Schema;

/// An event that a consumer has to handle.
#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) event: Event,
    /// Why the entity cannot be read, if it cannot. The event then fails without a call.
    pub(crate) unreadable: Option<Failure>,
}

impl Consumer {
    /// Selects its events among row changes. An event that cannot be read is one of them.
    pub(crate) fn select(
        &self,
        schema: &Arc<Schema>,
        shard: &ShardId,
        changes: &[Change],
    ) -> Result<Vec<Selected>, Error> {
        let mut selected = vec![];
        for change in changes {
            let at = FeedChange { shard, change };
            match Event::of(schema, at) {
                Ok(None) => {}
                Ok(Some(event)) => {
                    let entity = event.entity_id(schema);
                    if entity.is_some_and(|id| self.is_bound(id, event.change)) {
                        selected.push(Selected { event, unreadable: None });
                    }
                }
                Err(error @ Error::Damaged { .. }) => {
                    let key = entity_of(schema, &change.key);
                    if let Some(key) = key.filter(|key| self.is_about(key.entity)) {
                        let event = Event::unreadable(schema, at, key);
                        selected.push(Selected { event, unreadable: Some(Failure::fatal(error)) });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(selected)
    }
}
