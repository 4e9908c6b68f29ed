//! What happens after a change: events from the store's feed, handlers with effects, and jobs.
//!
//! The model says what is called (`on.ENTITY.CHANGE`), [`Handlers`] what that does, and
//! [`Db::work`](crate::Db::work) is one bounded step of doing it; whoever calls it again and again
//! is the runner. `docs/events.md` is the guide.
//!
//! Inside the store everything happens once: the effects of an event and the position of its
//! consumer, the effects of a job and its end, are one transaction. What handlers do outside
//! happens at least once. Nothing here waits, sleeps or needs an async runtime.

mod commit;
mod consumer;
mod event;
mod feed;
mod handlers;
mod heartbeat;
mod job;
mod lag;
mod lane;
pub(crate) mod overflow;
mod position;
mod run_events;
mod run_jobs;
mod webhook;
mod work;

pub use event::Event;
pub use feed::EventPage;
pub use handlers::{Effects, Failure, Handlers, Retry};
pub use job::Job;
pub use keyloom_model::TriggeringChange;
pub use keyloom_store::FeedStart;
pub use lag::{Backlog, Lag};
pub use position::Position;
pub use webhook::{Deliver, Delivery};
pub use work::{Next, Work};

pub(crate) use consumer::Checkpoint;
pub(crate) use heartbeat::{Heart, Worker};
pub(crate) use lane::Lane;
