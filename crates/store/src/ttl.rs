//! Expiry of items.

use keyloom_value::{Item, Name, Value};

use crate::Time;
use crate::limits::TTL_AGE_SECS_MAX;

/// Returns the time, in seconds, after which the item can be removed: the number in the attribute,
/// without its fraction. With anything else there, the item does not expire.
pub(crate) fn expires_at_secs(ttl: &Name, item: &Item) -> Option<i64> {
    match item.get(ttl.as_str())? {
        Value::N(number) => number.floor_i64(),
        _ => None,
    }
}

/// Whether an item with this time can be removed now. A time more than five years ago is considered
/// a mistake, such as a count or milliseconds of another epoch, and the item stays.
pub(crate) fn has_expired(expires_at_secs: i64, now: Time) -> bool {
    let now_secs = i64::try_from(now.secs()).unwrap_or(i64::MAX);
    expires_at_secs < now_secs && expires_at_secs >= now_secs.saturating_sub(TTL_AGE_SECS_MAX)
}
