//! Windows without entities: counts have no rows for them.

use keyloom_model::Window;
use keyloom_value::Value;

use crate::count_filter::{CountFilter, start_ms};
use crate::count_sum::Sum;

/// A range of windows that is filled.
pub(crate) struct FilledWindows<'q> {
    pub(crate) filter: &'q CountFilter<'q>,
    pub(crate) window: &'q Window,
    /// When the first window begins.
    pub(crate) from_ms: i64,
    /// The last window begins before.
    pub(crate) to_ms: i64,
    /// How many numbers a page has, at most.
    pub(crate) limit: usize,
}

/// How far counters were read.
pub(crate) enum ReadUpTo {
    /// To the last one.
    End,
    /// To the one with these values.
    Values(Vec<Value>),
}

/// A page of numbers that is being filled.
struct Page {
    sums: Vec<Sum>,
    /// The values of the fields whose windows are being filled, and the window that comes next.
    open: Option<(Vec<Value>, Option<i64>)>,
}

impl FilledWindows<'_> {
    /// Adds the windows that are missing between numbers, and before and after them. Returns the
    /// numbers, and the values of the last one if others follow.
    pub(crate) fn fill(
        &self,
        sums: Vec<Sum>,
        after: Option<Vec<Value>>,
        read: ReadUpTo,
    ) -> (Vec<Sum>, Option<Vec<Value>>) {
        let mut page = Page { sums: vec![], open: self.first(after) };
        for sum in sums {
            let Some((start, fields)) = sum.values.split_last() else { continue };
            let start = start_ms(start).unwrap_or(self.to_ms);
            self.continue_with(&mut page, fields);
            self.add_empty(&mut page, start);
            page.open = Some((fields.to_vec(), self.window.next(start)));
            page.sums.push(sum);
        }
        let end = match &read {
            ReadUpTo::End => self.to_ms,
            ReadUpTo::Values(values) => self.known_end(&mut page, values),
        };
        self.add_empty(&mut page, end);
        let has_more = page.sums.len() > self.limit;
        page.sums.truncate(self.limit);
        let last = page.sums.last().map(|sum| sum.values.clone());
        let next = match read {
            ReadUpTo::End => last.filter(|_| has_more),
            ReadUpTo::Values(values) => last.or(Some(values)),
        };
        (page.sums, next)
    }

    /// Where a page begins: after a number, or with the first window if only one combination of values
    /// is requested.
    fn first(&self, after: Option<Vec<Value>>) -> Option<(Vec<Value>, Option<i64>)> {
        if let Some((start, fields)) = after.as_deref().and_then(<[Value]>::split_last) {
            let start = start_ms(start)?;
            return Some((fields.to_vec(), self.window.next(start)));
        }
        let fields = &self.filter.wanted[..self.filter.kept_by.fields.len()];
        let given = fields.iter().map(|wanted| wanted.value().cloned());
        Some((given.collect::<Option<_>>()?, Some(self.from_ms)))
    }

    /// Completes the windows of other values, and begins those of these.
    fn continue_with(&self, page: &mut Page, fields: &[Value]) {
        if page.open.as_ref().is_some_and(|(open, _)| open == fields) {
            return;
        }
        self.add_empty(page, self.to_ms);
        page.open = Some((fields.to_vec(), Some(self.from_ms)));
    }

    /// The end of the windows that are known, if counters were read up to these values.
    fn known_end(&self, page: &mut Page, values: &[Value]) -> i64 {
        let Some((start, fields)) = values.split_last() else { return self.from_ms };
        let start = start_ms(start).unwrap_or(self.from_ms);
        if page.open.as_ref().is_some_and(|(open, _)| open != fields) && !page.sums.is_empty() {
            return self.to_ms;
        }
        self.continue_with(page, fields);
        self.window.next(start).unwrap_or(self.to_ms).min(self.to_ms)
    }

    /// Adds windows without entities up to a time, one more than the page takes at most.
    fn add_empty(&self, page: &mut Page, end_ms: i64) {
        let Some((fields, next)) = &mut page.open else { return };
        while let Some(start) = next.filter(|start| *start < end_ms) {
            if page.sums.len() > self.limit {
                return;
            }
            let values = [fields.as_slice(), &[Value::from(start)]].concat();
            page.sums.push(Sum { values, ..Sum::default() });
            *next = self.window.next(start);
        }
    }
}
