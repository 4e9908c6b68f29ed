//! What happens after a change: events from the store's feed, handlers with effects, and jobs.
//!
//! The model declares what is called (`on.ENTITY.CHANGE`), [`Handlers`] implements it, and
//! [`Db::work`](crate::Db::work) takes one bounded step; a program calls it in a loop.
//! `docs/events.md` is the guide.
//!
//! Inside the store everything happens once: the effects of an event and the checkpoint of its
//! consumer are one transaction, and so are the effects of a job and its end. What handlers do
//! outside happens at least once. Nothing here waits, sleeps or needs an async runtime.

mod api;
mod backlog;
mod checkpoint;
mod claim;
mod consume;
mod consumer;
mod deliver;
mod effects;
mod event;
mod failure;
mod feed;
mod handle;
mod handlers;
mod heartbeat;
mod job;
mod job_runner;
mod jobs;
mod lags;
mod lane;
mod orphans;
pub(crate) mod overflow;
mod pace;
mod position;
mod poster;
mod progress;
mod put_aside;
mod reader_lease;
mod retry;
mod scanned;
mod select;
mod shard_order;
mod step_pages;
mod transaction;
mod waiting;
mod webhook;
mod work;
mod worker;

pub use backlog::{Backlog, Lag};
pub use effects::Effects;
pub use event::Event;
pub use failure::Failure;
pub use feed::EventPage;
pub use handlers::Handlers;
pub use job::Job;
pub use keyloom_model::TriggeringChange;
pub use keyloom_store::FeedStart;
pub use pace::Pace;
pub use position::Position;
pub use retry::Retry;
pub use webhook::{Deliver, Delivery};
pub use work::{Next, Work};

pub(crate) use checkpoint::{Checkpoint, Checkpoints};
pub(crate) use event::{FeedChange, RowsChange, row_name};
pub(crate) use feed::Feed;
pub(crate) use heartbeat::Heart;
pub(crate) use job::JOB;
pub(crate) use lags::Lags;
pub(crate) use lane::Lane;
pub(crate) use pace::{QUICK_MS, events_ms_max};
pub(crate) use worker::Worker;
