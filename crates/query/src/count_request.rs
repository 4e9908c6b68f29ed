//! Which numbers of a count to read, and what a page of them is.

use keyloom_model::{Amount, Count, CountId, EntityId, FieldId, Window};
use keyloom_value::Value;

use crate::{ReadCost, RequestError};

/// How much of a text that cannot be read an error shows.
const SHOWN_CHARS: usize = 100;

/// A request for numbers of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRequest {
    /// The kind of entity.
    pub entity: EntityId,
    /// The count.
    pub count: CountId,
    /// The tenant, if the entity belongs to tenants.
    pub tenant: Option<Value>,
    /// One value for each field of the count's `by`.
    pub by: Vec<Value>,
    /// Only entities that have these values; the fields are in the count's `split`.
    pub only: Vec<(FieldId, Value)>,
    /// One number for each combination of values of these fields, which are in `split` too. Without
    /// any, there is one number.
    pub split: Vec<FieldId>,
    /// One number for each window in a range, for a count that has windows.
    pub windows: Option<WindowRange>,
    /// The maximum number of results: 1 to 1,000.
    pub limit: u32,
}

/// A range of windows. Times are milliseconds since the start of 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowRange {
    /// The first window is the one that this time is in.
    pub from_ms: Option<i64>,
    /// The last window begins before this time.
    pub to_ms: Option<i64>,
    /// Whether windows without entities are in the result. The range must have both ends then.
    pub is_filled: bool,
}

impl WindowRange {
    /// Reads a range such as `2024-02-01..2024-03-01`, in the zone of the windows. Each end is a date or
    /// a time, or left out.
    ///
    /// # Errors
    ///
    /// If it is not such a text, or the count has no windows.
    pub fn read(text: &str, count: &Count) -> Result<WindowRange, RequestError> {
        let window = window_of(count)?;
        let bound = |text: &str| match text {
            "" => Some(None),
            text => window.read_bound(text).map(Some),
        };
        let ends = text.split_once("..").and_then(|(from, to)| Some((bound(from)?, bound(to)?)));
        let (from_ms, to_ms) = ends.ok_or_else(|| {
            let given = text.chars().take(SHOWN_CHARS).collect();
            RequestError::NotWindows { given }
        })?;
        Ok(WindowRange { from_ms, to_ms, is_filled: false })
    }
}

/// The windows of a count.
pub(crate) fn window_of(count: &Count) -> Result<&Window, RequestError> {
    let none = || RequestError::NoWindows { count: count.name.clone() };
    count.window.as_ref().ok_or_else(none)
}

/// Numbers of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountPage {
    /// In order of their values, then of time; none is 0, unless it is the only one or windows are
    /// filled.
    pub numbers: Vec<CountNumber>,
    /// The cursor of the next page; absent if nothing follows.
    pub next: Option<String>,
    /// How much was read.
    pub read: ReadCost,
    /// Whether deletions take from these numbers and they took more than one read: then they are exact
    /// only if all reads were of one snapshot.
    pub is_torn: bool,
}

/// A number of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountNumber {
    /// A value of each field of the request's `split`.
    pub values: Vec<Value>,
    /// When its window begins, if windows were requested.
    pub window_ms: Option<i64>,
    /// How many entities have them, with the sums of the count. Never negative.
    pub amount: Amount,
    /// The least value of each field that the count has it of, if any entity has one.
    pub min: Vec<(FieldId, Value)>,
    /// The greatest value of each field that the count has it of, if any entity has one.
    pub max: Vec<(FieldId, Value)>,
}
