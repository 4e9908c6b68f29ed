//! The report that no order explains a history.

use std::fmt;

use super::operation::{Model, Operation};

/// How many operations at the end of the longest order are shown.
const SHOWN: usize = 12;

/// No order explains the history: shows the longest one that explains its beginning, and what
/// cannot come next. Calls, replies and the state are shown as `Debug`, for the author of the
/// model.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Violation {
    placed: Vec<usize>,
    stuck: Vec<usize>,
    text: String,
}

impl Violation {
    pub(super) fn new<M: Model>(
        history: &[Operation<M>],
        placed: Vec<usize>,
        stuck: Vec<usize>,
        state: &M::State,
    ) -> Violation {
        let text = describe(history, &placed, &stuck, state);
        Violation { placed, stuck, text }
    }

    /// Returns the longest order that was found, as positions in the history.
    pub fn placed(&self) -> &[usize] {
        &self.placed
    }

    /// Returns the operations of which one would have to come next, as positions in the history.
    pub fn stuck(&self) -> &[usize] {
        &self.stuck
    }
}

fn describe<M: Model>(
    history: &[Operation<M>],
    placed: &[usize],
    stuck: &[usize],
    state: &M::State,
) -> String {
    let lines = |positions: &[usize]| -> String {
        positions.iter().map(|&index| format!("  #{index} {:?}\n", history[index])).collect()
    };
    let hidden = placed.len().saturating_sub(SHOWN);
    format!(
        "no order explains the history of {} operations; the longest explains {}:\n{}{}\
         then the state is {state:?}\nand none of these can come next:\n{}",
        history.len(),
        placed.len(),
        if hidden > 0 { format!("  ({hidden} before)\n") } else { String::new() },
        lines(&placed[hidden..]),
        lines(stuck),
    )
}

/// Like `Display`, so that `unwrap` in a test shows the report without escapes.
impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
