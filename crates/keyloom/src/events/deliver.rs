//! A consumer delivers the events of a page to a webhook.
//!
//! It posts a batch, events of one entity one after the other and different entities concurrently,
//! and then commits once: the checkpoint moves past the batch, and each event that was not delivered
//! becomes a job in the lane of its entity. A crash in between posts one batch again.
//!
//! On a store that processes share, the consumer first takes the lease of its checkpoint. Posts
//! begin only in the first half of the lease, so it is never renewed.

use std::collections::BTreeMap;

use super::consumer::Consumer;
use super::effects::Effects;
use super::handle::{BATCH_BYTES_MAX, Flow};
use super::poster::{Outcome, Post, Poster};
use super::progress::{Advance, BATCH_MAX, Held, LeaseUse, Progress};
use super::put_aside::{Aside, retry_job};
use super::select::Selected;
use super::waiting::WaitingLanes;
use super::{Event, Job, Work};
use crate::db::Db;
use crate::error::Error;
use crate::write::Attempts;

/// One consumer that delivers the events of a page.
pub(crate) struct Delivering<'d> {
    pub(crate) db: &'d Db,
    pub(crate) consumer: &'d Consumer,
    pub(crate) work: &'d mut Work,
    pub(crate) progress: &'d mut Progress,
    pub(crate) waiting: WaitingLanes<'d>,
    pub(crate) poster: Poster<'d>,
}

impl Delivering<'_> {
    /// Delivers events, batch by batch.
    pub(crate) async fn all(&mut self, events: &[Selected]) -> Result<Flow, Error> {
        if events.is_empty() {
            return Ok(Flow::Continue);
        }
        let db = self.db;
        // As long as this counts as running, the heartbeat keeps the lease.
        let _running = db.shared.heart.begin();
        if let Held::ByOther { until_ms } = self.progress.hold(self.poster.lease_ms()).await? {
            self.work.call_at(until_ms);
            return Ok(Flow::Leave);
        }
        let mut rest = events;
        loop {
            let posts = self.batch(rest);
            let (batch, after) = rest.split_at(posts.len());
            let Some(last) = batch.last() else { return Ok(Flow::Continue) };
            rest = after;
            let settled = self.post(posts).await;
            let is_last = rest.is_empty() || self.poster.is_time_up();
            let lease = if is_last { LeaseUse::Release } else { LeaseUse::Keep };
            if self.commit(&settled, &last.event, lease).await? == Flow::Again {
                return Ok(Flow::Again);
            }
            if is_last && !rest.is_empty() {
                return Ok(Flow::Again);
            }
        }
    }

    /// Takes as many of the first events as one transaction could store as jobs.
    fn batch<'b>(&self, events: &'b [Selected]) -> Vec<Post<'b>> {
        let (mut posts, mut bytes) = (vec![], 0);
        for selected in events.iter().take(BATCH_MAX) {
            let delivery = self.poster.delivery(self.consumer, &selected.event);
            bytes += delivery.body.len();
            if bytes > BATCH_BYTES_MAX && !posts.is_empty() {
                break;
            }
            posts.push(Post::new(selected, delivery));
        }
        posts
    }

    /// Posts a batch, lane by lane.
    async fn post<'b>(&self, posts: Vec<Post<'b>>) -> Vec<Post<'b>> {
        let mut lanes: BTreeMap<String, Vec<Post<'b>>> = BTreeMap::new();
        for post in posts {
            lanes.entry(self.consumer.lane(&post.selected.event)).or_default().push(post);
        }
        let (mut settled, mut free) = (vec![], vec![]);
        for lane in lanes.into_values() {
            let must_wait = lane.iter().any(|post| self.waiting.hold(&post.selected.event));
            if must_wait { settled.extend(lane) } else { free.push(lane) }
        }
        settled.extend(self.poster.post_all(free).await);
        settled
    }

    /// Moves the checkpoint past a batch, and creates the jobs of the events that were not
    /// delivered. What was posted is not posted again because another worker changes a lane.
    async fn commit(
        &mut self,
        settled: &[Post<'_>],
        last: &Event,
        lease: LeaseUse,
    ) -> Result<Flow, Error> {
        let mut effects = Effects::new();
        for post in settled {
            effects.jobs.extend(self.job(post)?);
        }
        let mut attempts = Attempts::new(&self.db.shared.stamps);
        loop {
            attempts.next().await?;
            let advance = Advance { db: self.db, effects: &effects, last, lease };
            match self.progress.commit(advance).await {
                Ok(()) => {
                    self.count(settled);
                    return Ok(Flow::Continue);
                }
                Err(Error::Contended) if !self.progress.is_overtaken().await? => {}
                Err(Error::Contended) => return Ok(Flow::Again),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the job that an event becomes; none if it was delivered.
    fn job(&self, post: &Post<'_>) -> Result<Option<Job>, Error> {
        let Some(aside) = self.aside(post) else { return Ok(None) };
        let Selected { event, unreadable } = post.selected;
        let job = match unreadable {
            Some(_) => retry_job(self.consumer, event),
            None => {
                let delivery = self.poster.delivery(self.consumer, event);
                delivery.into_job().lane(self.consumer.lane(event))
            }
        };
        let mut job = aside.schedule(job, &self.db.shared)?;
        job.tenant.clone_from(&event.tenant);
        Ok(Some(job))
    }

    /// Why an event is put aside; none if it was delivered.
    fn aside(&self, post: &Post<'_>) -> Option<Aside> {
        let failure = match (&post.selected.unreadable, &post.outcome) {
            (Some(failure), _) | (None, Outcome::Failed(failure)) => Some(failure.clone()),
            (None, Outcome::Waits) => None,
            (None, Outcome::Delivered) => return None,
        };
        Some(Aside { failure, retry: self.poster.retry() })
    }

    fn count(&mut self, settled: &[Post<'_>]) {
        for post in settled {
            self.work.events += 1;
            let Some(aside) = self.aside(post) else { continue };
            self.work.failures += u32::from(aside.failure.is_some());
            if !aside.is_dead() {
                self.waiting.add(&post.selected.event);
            }
        }
    }
}
