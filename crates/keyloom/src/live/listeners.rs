//! Who follows the change feed itself, and what was read of it for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::alarm::Alarm;
use crate::events::EventPage;

/// How many events are kept for one who does not take them, and how many pages, most of which can be empty: any
/// row that changes moves the position.
const KEPT_MAX: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: BTreeMap<u64, Listener>,
    last: u64,
}

#[derive(Debug)]
struct Listener {
    alarm: Arc<Alarm>,
    pages: VecDeque<Arc<EventPage>>,
    /// The number of pages and of their events.
    kept: usize,
    /// Whether more was read than is in the pages.
    is_lost: bool,
}

/// What was read since a listener has asked last.
#[derive(Debug)]
pub(super) enum Heard {
    Nothing,
    /// The next page.
    Page(Arc<EventPage>),
    /// More than is known.
    Unknown,
}

impl Listeners {
    pub(super) fn add(&mut self, alarm: Arc<Alarm>) -> u64 {
        self.last += 1;
        let listener = Listener { alarm, pages: VecDeque::new(), kept: 0, is_lost: false };
        self.all.insert(self.last, listener);
        self.last
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.all.remove(&id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Passes on what was read; none if that is not known.
    pub(super) fn pass_on(&mut self, page: Option<EventPage>) {
        let page = page.map(Arc::new);
        for listener in self.all.values_mut() {
            listener.add(page.clone());
        }
    }

    /// Takes what was read for one.
    pub(super) fn take(&mut self, id: u64) -> Heard {
        let Some(listener) = self.all.get_mut(&id).filter(|listener| !listener.is_lost) else {
            return Heard::Unknown;
        };
        let page = listener.pages.pop_front();
        listener.kept -= page.as_deref().map_or(0, kept);
        if listener.pages.is_empty() {
            listener.alarm.lower();
        }
        page.map_or(Heard::Nothing, Heard::Page)
    }

    /// One for whom pages were lost has them from now on again.
    pub(super) fn resume(&mut self, id: u64) {
        if let Some(listener) = self.all.get_mut(&id) {
            listener.is_lost = false;
            listener.alarm.lower();
        }
    }
}

impl Listener {
    fn add(&mut self, page: Option<Arc<EventPage>>) {
        match page {
            _ if self.is_lost => {}
            Some(page) if self.kept < KEPT_MAX => {
                self.kept += kept(&page);
                self.pages.push_back(page);
            }
            Some(_) | None => {
                self.pages.clear();
                (self.kept, self.is_lost) = (0, true);
            }
        }
        self.alarm.raise();
    }
}

/// What a page counts for.
fn kept(page: &EventPage) -> usize {
    1 + page.events.len()
}
