//! Pages of the feed that were read in a step. Consumers that are equally far share them.

use keyloom_store::{ChangePage, FeedStart, ShardId};

/// The pages, by where they start. There are few.
#[derive(Debug, Default)]
pub(crate) struct StepPages(Vec<(ShardId, FeedStart, ChangePage)>);

impl StepPages {
    pub(crate) fn find(&self, shard: &ShardId, start: FeedStart) -> Option<ChangePage> {
        let is_it = |(of, at, _): &&(ShardId, FeedStart, ChangePage)| of == shard && *at == start;
        self.0.iter().find(is_it).map(|(_, _, page)| page.clone())
    }

    pub(crate) fn add(&mut self, shard: &ShardId, start: FeedStart, page: &ChangePage) {
        self.0.push((shard.clone(), start, page.clone()));
    }
}
