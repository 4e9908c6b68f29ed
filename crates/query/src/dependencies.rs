//! Notes what reads depend on, so that they can be repeated when a change affects them, and only then.

use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_model::Layout;

use crate::EntityChange;
use crate::dependency::Dependency;
use crate::topic::Topic;

/// What the reads of a [`crate::Reader`] depend on that has it as `noted`.
#[derive(Debug, Default)]
pub struct Dependencies(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    all: Vec<Dependency>,
    expires_ms: Option<i64>,
}

impl Dependencies {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
