//! How many threads can run at the same time.

use std::num::NonZero;
use std::thread;

/// The cores that the process may use; one if the system does not say.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
