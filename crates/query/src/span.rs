//! A range of sort keys in one partition: what a query reads.

use keyloom_model::RowKey;
use keyloom_store::Direction;
use keyloom_value::{KeyBytes, KeyTest, Value};

use crate::bound::{PageBound, Side};

/// A range of sort keys, both ends included. The ends are never keys themselves, but prefixes of keys
/// or what comes after them, so whether they are included makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The least key, or none for the start.
    pub(crate) from: Option<Vec<u8>>,
    /// The greatest key, or none for the end.
    pub(crate) to: Option<Vec<u8>>,
    /// Whether no key is in the range, whatever the ends are.
    pub(crate) is_empty: bool,
}

impl Span {
    /// All keys.
    pub(crate) const ALL: Span = Span { from: None, to: None, is_empty: false };
    /// No key.
    pub(crate) const EMPTY: Span = Span { from: None, to: None, is_empty: true };

    /// The same range from another key on. That is cut to the length that keys of a table can have,
    /// which changes nothing about which keys are in the range.
    pub(crate) fn starting_at(self, from: Option<Vec<u8>>) -> Span {
        let from = from.map(cut).filter(|from| !from.is_empty());
        Span { from, ..self }.settled()
    }

    /// The same range up to another key, which is cut as in [`Span::starting_at`].
    pub(crate) fn ending_at(self, to: Option<Vec<u8>>) -> Span {
        Span { to: to.map(cut), ..self }.settled()
    }

    /// All keys with a prefix.
    pub(crate) fn within(prefix: &[u8]) -> Span {
        Span::ALL.starting_at(Some(prefix.to_vec())).ending_at(KeyBytes::after_prefix(prefix))
    }

    /// The same keys, each after a prefix.
    pub(crate) fn under(&self, prefix: &[u8]) -> Span {
        let put = |end: &Vec<u8>| [prefix, end].concat();
        let from = self.from.as_ref().map_or_else(|| prefix.to_vec(), put);
        let to =
            self.to.as_ref().map_or_else(|| KeyBytes::after_prefix(prefix), |to| Some(put(to)));
        Span { is_empty: self.is_empty, ..Span::ALL.starting_at(Some(from)).ending_at(to) }
    }

    /// What is left after the row at a position, which was the last one read. Positions end with an
    /// id, which is text.
    pub(crate) fn after(self, position: &[u8], direction: Direction) -> Span {
        self.beyond(&PageBound::behind(position.to_vec(), direction), direction)
    }

    /// What is left after a key, forward. Unlike [`Span::after`], it has the keys that begin with this
    /// one: next to a counter are the rows that say how much of it deletions take.
    pub(crate) fn past(self, key: &[u8]) -> Span {
        if key.len() >= RowKey::SORT_BYTES_MAX {
            return self.after(key, Direction::Forward);
        }
        Span { from: Some([key, &[0]].concat()), ..self }.settled()
    }

    /// The part that is not less than a key.
    pub(crate) fn not_before(self, key: &[u8]) -> Span {
        let from = self.from.clone().unwrap_or_default().max(key.to_vec());
        Span { from: Some(from), ..self }.settled()
    }

    /// The part that lies beyond a bound.
    pub(crate) fn beyond(self, bound: &PageBound, direction: Direction) -> Span {
        let end = match bound.side {
            Side::Before => Some(KeyBytes::before(&bound.position).to_vec()),
            Side::After => KeyBytes::after_prefix(&bound.position),
        };
        match (direction, end) {
            (Direction::Forward, Some(end)) => {
                let from = self.from.clone().map_or(end.clone(), |least| least.max(end));
                Span { from: Some(from), ..self }
            }
            (Direction::Forward, None) => Span { is_empty: true, ..self },
            (Direction::Backward, Some(end)) => {
                let to = self.to.clone().map_or(end.clone(), |greatest| greatest.min(end));
                Span { to: Some(to), ..self }
            }
            (Direction::Backward, None) => self,
        }
        .settled()
    }

    /// Whether a key is in the range.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let is_after = self.from.as_ref().is_none_or(|from| key >= &from[..]);
        let is_before = self.to.as_ref().is_none_or(|to| key <= &to[..]);
        !self.is_empty && is_after && is_before
    }

    fn settled(mut self) -> Span {
        let ends_at_once = self.to.as_ref().is_some_and(Vec::is_empty);
        let is_crossed = matches!((&self.from, &self.to), (Some(from), Some(to)) if from > to);
        self.is_empty |= ends_at_once || is_crossed;
        self
    }

    /// The condition on sort keys; none if all are in the span.
    pub(crate) fn test(&self) -> Option<KeyTest> {
        let value = |end: &Vec<u8>| Value::B(end.clone());
        match (&self.from, &self.to) {
            (None, None) => None,
            (Some(from), None) => Some(KeyTest::GreaterOrEqual(value(from))),
            (None, Some(to)) => Some(KeyTest::LessOrEqual(value(to))),
            (Some(from), Some(to)) => Some(KeyTest::Between(value(from), value(to))),
        }
    }
}

fn cut(mut end: Vec<u8>) -> Vec<u8> {
    end.truncate(RowKey::SORT_BYTES_MAX);
    end
}
