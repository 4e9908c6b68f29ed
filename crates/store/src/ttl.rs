//! When an item has expired.

use keyloom_value::{Item, Name, Value};

use crate::Time;
use crate::limits::TTL_AGE_SECS_MAX;

/// The second after which the item may be removed: a whole number in the attribute. Anything else
/// there means that the item stays.
pub(crate) fn expires_at_secs(ttl: &Name, item: &Item) -> Option<i64> {
    match item.get(ttl.as_str())? {
        Value::N(number) => number.to_i64(),
        _ => None,
    }
}

/// Whether an item with this second may be removed now. A second longer ago than five years is
/// taken for a mistake, such as a count or milliseconds of another epoch, and the item stays.
pub(crate) fn has_expired(expires_at_secs: i64, now: Time) -> bool {
    let now_secs = i64::try_from(now.secs()).unwrap_or(i64::MAX);
    expires_at_secs < now_secs && expires_at_secs >= now_secs.saturating_sub(TTL_AGE_SECS_MAX)
}
