//! `live=true`: the result of a query, then every change of it, as server-sent events.
//!
//! Whatever a query returns can be followed: it runs again when something that it has read changes
//! (`run.rs`), and clients get the difference (`difference.rs`) between what they have and what it
//! returns. There are no queues of events: a slow client gets one difference instead of many.

mod difference;
mod frame;
mod json_parts;
mod query;
mod run;
mod seen;
mod stream;

use super::call::Call;
use super::problem::Problem;
use super::reserved::LIVE;

pub(super) use run::LiveQueries;
pub(super) use stream::follow;

/// Removes the parameter from a call. Returns whether it was set.
pub(super) fn take_wish(call: &mut Call) -> Result<bool, Problem> {
    let is_wanted = call.parsed(LIVE, "`true` or `false`")?.unwrap_or(false);
    call.parameters.retain(|(name, _)| name != LIVE);
    Ok(is_wanted)
}
