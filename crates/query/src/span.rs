//! A part of one partition, in key order: what a query reads.

use keyloom_model::RowKey;
use keyloom_store::{Direction, Page, Query};
use keyloom_value::{KeyBytes, KeyCondition, KeyTest, Name, Value};

use crate::bound::{PageBound, Side};
use crate::{Error, Reader};

/// Sort keys from one to another, both included; none that is empty ends anything. The ends are
/// never keys themselves, but beginnings of keys or what comes after them: whether they are
/// included makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The least, or from the start.
    pub(crate) from: Option<Vec<u8>>,
    /// The greatest, or to the end.
    pub(crate) to: Option<Vec<u8>>,
    /// Nothing is in it, whatever the ends say.
    pub(crate) is_empty: bool,
}

/// Where a span is.
#[derive(Clone, Debug)]
pub(crate) struct Place<'p> {
    /// The index, or none for the table.
    pub(crate) index: Option<keyloom_store::IndexName>,
    /// The partition attribute and its value.
    pub(crate) partition: (Name, &'p [u8]),
    /// The sort attribute.
    pub(crate) sort: Name,
}

impl Span {
    /// From one key to another. A key of the table is never longer than a table's keys can be, so
    /// neither need the ends be.
    pub(crate) fn new(from: Option<Vec<u8>>, to: Option<Vec<u8>>) -> Span {
        let cut = |end: Option<Vec<u8>>| {
            end.map(|mut end| {
                end.truncate(RowKey::SORT_BYTES_MAX);
                end
            })
        };
        let from = cut(from).filter(|from| !from.is_empty());
        Span { from, to: cut(to), is_empty: false }.settled()
    }

    /// Nothing.
    pub(crate) fn empty() -> Span {
        Span { from: None, to: None, is_empty: true }
    }

    /// All keys that begin with these bytes.
    pub(crate) fn within(prefix: &[u8]) -> Span {
        Span::new(Some(prefix.to_vec()), KeyBytes::after_prefix(prefix))
    }

    /// The same keys, each after these bytes.
    pub(crate) fn under(&self, prefix: &[u8]) -> Span {
        let put = |end: &Vec<u8>| [prefix, end].concat();
        let from = self.from.as_ref().map_or_else(|| prefix.to_vec(), put);
        let to =
            self.to.as_ref().map_or_else(|| KeyBytes::after_prefix(prefix), |to| Some(put(to)));
        Span { is_empty: self.is_empty, ..Span::new(Some(from), to) }
    }

    /// What is left of it after the row at a position, which was the last one read. Positions end
    /// with an id, which is a text.
    pub(crate) fn after(self, position: &[u8], direction: Direction) -> Span {
        self.beyond(&PageBound::behind(position.to_vec(), direction), direction)
    }

    /// What is left of it after a key, forward. Unlike [`Span::after`], it has keys that begin with
    /// this one: with a number stands how much deletions take of it.
    pub(crate) fn past(self, key: &[u8]) -> Span {
        if key.len() >= RowKey::SORT_BYTES_MAX {
            return self.after(key, Direction::Forward);
        }
        Span { from: Some([key, &[0]].concat()), ..self }.settled()
    }

    /// What of it is not less than a key.
    pub(crate) fn not_before(self, key: &[u8]) -> Span {
        let from = self.from.clone().unwrap_or_default().max(key.to_vec());
        Span { from: Some(from), ..self }.settled()
    }

    /// What of it lies beyond a bound.
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

    /// Whether a key is in it.
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

    fn test(&self) -> Option<KeyTest> {
        let value = |end: &Vec<u8>| Value::B(end.clone());
        match (&self.from, &self.to) {
            (None, None) => None,
            (Some(from), None) => Some(KeyTest::GreaterOrEqual(value(from))),
            (None, Some(to)) => Some(KeyTest::LessOrEqual(value(to))),
            (Some(from), Some(to)) => Some(KeyTest::Between(value(from), value(to))),
        }
    }
}

impl Reader<'_> {
    /// One page of a span, of at most `limit` rows.
    pub(crate) async fn page(
        &self,
        place: &Place<'_>,
        span: &Span,
        direction: Direction,
        limit: usize,
    ) -> Result<Page, Error> {
        if span.is_empty {
            return Ok(Page::default());
        }
        let (attribute, partition) = &place.partition;
        let key = KeyCondition::equal(attribute, partition.to_vec());
        let key = match span.test() {
            Some(test) => key.and(&place.sort, test),
            None => key,
        };
        let mut query = Query::new(self.table, key);
        if place.index.is_some() {
            // Global indexes of DynamoDB answer nothing else. What they say is checked against the
            // table, which is read strongly.
            query.consistency = keyloom_store::Consistency::Eventual;
        }
        query.index = place.index.clone();
        query.direction = direction;
        query.limit = Some(u32::try_from(limit).unwrap_or(u32::MAX));
        Ok(self.store.query(query).await?)
    }
}
