//! Which entities have events that wait to be retried: later events of these wait behind them.

use std::collections::BTreeSet;

use keyloom_store::{BatchGet, Get};

use super::Event;
use super::consumer::Consumer;
use super::lane::Lane;
use super::put_aside::retry_lane;
use super::select::Selected;
use crate::error::Error;
use crate::shared::Shared;

/// The lanes of a consumer that have jobs, among those of some events.
pub(crate) struct WaitingLanes<'c> {
    consumer: &'c Consumer,
    names: BTreeSet<String>,
}

impl<'c> WaitingLanes<'c> {
    /// Reads the lanes of all events at once.
    pub(crate) async fn load(
        shared: &Shared,
        consumer: &'c Consumer,
        events: &[Selected],
    ) -> Result<WaitingLanes<'c>, Error> {
        let mut names: BTreeSet<String> =
            events.iter().map(|selected| retry_lane(consumer, &selected.event)).collect();
        let get = |name: &String| Get::new(&shared.table, Lane::key(name).to_item());
        let mut batch = BatchGet { gets: names.iter().map(get).collect() };
        let mut rows = vec![];
        while !batch.gets.is_empty() {
            let got = shared.store.batch_get(batch).await?;
            rows.extend(got.items.into_iter().map(|(_, item)| item));
            batch = BatchGet { gets: got.unprocessed };
        }
        names.retain(|name| {
            let key = Lane::key(name).to_item();
            rows.iter()
                .any(|row| key.iter().all(|(name, part)| row.get(name.as_str()) == Some(part)))
        });
        Ok(WaitingLanes { consumer, names })
    }

    /// Whether an event has to wait behind others of its entity.
    pub(crate) fn hold(&self, event: &Event) -> bool {
        self.names.contains(&retry_lane(self.consumer, event))
    }

    /// Notes that later events of the entity have to wait.
    pub(crate) fn add(&mut self, event: &Event) {
        self.names.insert(retry_lane(self.consumer, event));
    }
}
