//! Notes what reads depend on, so that they can be repeated when a change affects them, and only then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom_model::Layout;
use keyloom_store::Direction;

use crate::dependency::{Dependency, PageRead};
use crate::kept_page::{KeptPage, NeedsRead};
use crate::listed::Listed;
use crate::span::Span;
use crate::topic::Topic;
use crate::{EntityChange, ListRequest};

/// What the reads of a [`crate::Reader`] depend on that has it as `noted`.
#[derive(Debug, Default)]
pub struct Dependencies {
    noted: Mutex<Noted>,
    /// What was read at an earlier moment, from which these reads can follow.
    earlier: Option<Earlier>,
}

/// Pages that were read, and what has changed since.
#[derive(Debug)]
struct Earlier {
    pages: Vec<PageRead>,
    changes: Vec<Arc<EntityChange>>,
}

#[derive(Debug, Default)]
struct Noted {
    all: Vec<Dependency>,
    expires_ms: Option<i64>,
}

impl Dependencies {
    /// Those of reads at a later moment, with all changes in between that affect the earlier ones, in their
    /// order: pages of lists are brought up to date with them where that takes no read. The layout is the
    /// same at both moments. What can follow is taken from the earlier reads.
    pub fn following(earlier: &Dependencies, changes: Vec<Arc<EntityChange>>) -> Dependencies {
        let taken = |dependency: &mut Dependency| match dependency {
            Dependency::Page(page) => {
                let kept = page.kept.take()?;
                Some(PageRead { kept: Some(kept), ..page.clone() })
            }
            _ => None,
        };
        let pages = earlier.lock().all.iter_mut().filter_map(taken).collect();
        Dependencies { noted: Mutex::default(), earlier: Some(Earlier { pages, changes }) }
    }

    /// The page that a read of these positions returns, if an earlier one can be brought up to date.
    pub(crate) fn followed(
        &self,
        layout: &Layout,
        request: &ListRequest,
        (span, direction): (&Span, Direction),
    ) -> Option<KeptPage> {
        let Earlier { pages, changes } = self.earlier.as_ref()?;
        let is_same = |page: &&PageRead| {
            let kept = page.kept.as_ref();
            page.request == *request && kept.is_some_and(|kept| kept.is_from(span, direction))
        };
        let mut page = KeptPage::clone(pages.iter().find(is_same)?.kept.as_ref()?);
        let listed = Listed { layout, request };
        let followed: Result<(), NeedsRead> =
            changes.iter().try_for_each(|change| page.apply(&listed, change));
        followed.ok().map(|()| page)
    }

    /// Notes a read.
    pub(crate) fn note(&self, dependency: Dependency) {
        self.lock().all.push(dependency);
    }

    /// Notes when an entity that was read expires.
    pub(crate) fn note_expiry(&self, time_ms: i64) {
        let expires_ms = &mut self.lock().expires_ms;
        *expires_ms = Some(expires_ms.map_or(time_ms, |earlier| earlier.min(time_ms)));
    }

    /// Topics of which every change that affects one of the reads has one. The layout is the one that
    /// they were read by.
    pub fn topics(&self, layout: &Layout) -> Vec<Topic> {
        let mut topics: Vec<Topic> =
            self.lock().all.iter().flat_map(|dependency| dependency.topics(layout)).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// Whether a change can change what was read. The layout is the one that it was read by.
    pub fn are_affected(&self, layout: &Layout, change: &EntityChange) -> bool {
        self.lock().all.iter().any(|dependency| dependency.is_affected(layout, change))
    }

    /// When the first of the entities that were read expires, in milliseconds since 1970: without any
    /// change, reads return something else from then on.
    pub fn expires_ms(&self) -> Option<i64> {
        self.lock().expires_ms
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
