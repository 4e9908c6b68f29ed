//! Who waits for changes of what, and what has changed recently.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom_query::{Dependencies, EntityChange, Topic};
use keyloom_store::SeqNo;

use super::alarm::Alarm;
use crate::events::Position;
use crate::schema::Schema;

/// How many changes are remembered for those who have read before them and wait after them.
const RECENT_MAX: usize = 4096;

/// The live reads of a process.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// Held by whoever reads the feed for all.
    pub(super) reading: futures_util::lock::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// How many live reads there are, waiting or not. Without any, the feed is not read.
    followers: usize,
    /// How far the feed was read.
    position: Option<Position>,
    /// The number of changes so far.
    count: u64,
    recent: VecDeque<Recent>,
    /// The last change that is not remembered.
    forgotten: Option<At>,
    /// Whether changes were missed, and reading has not begun anew.
    is_lost: bool,
    waiting: BTreeMap<u64, Waiting>,
    by_topic: HashMap<Topic, Vec<u64>>,
    last_waiting: u64,
}

/// When a change happened.
#[derive(Clone, Copy, Debug)]
struct At {
    seq: SeqNo,
    /// In the order in which this process has read the changes.
    count: u64,
}

#[derive(Debug)]
struct Recent {
    at: At,
    concerns: Concerned,
}

/// Whom a change concerns.
#[derive(Debug)]
enum Concerned {
    /// Those who depend on one of these topics.
    Topics(Vec<Topic>),
    Everybody,
}

/// A moment at which a live read has read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    /// The last change in the snapshot that was read.
    pub(super) seq: Option<SeqNo>,
    /// Without a snapshot: how many changes were known before.
    pub(super) count: u64,
}

/// What a live read has read.
#[derive(Clone, Debug)]
pub(super) struct ReadAt {
    pub(super) since: Since,
    /// The schema that it was read by.
    pub(super) schema: Arc<Schema>,
    pub(super) noted: Arc<Dependencies>,
}

#[derive(Debug)]
struct Waiting {
    read: ReadAt,
    topics: Vec<Topic>,
    alarm: Arc<Alarm>,
}

/// A change that was read from the feed.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seq: SeqNo,
    /// None if it can affect everything.
    pub(super) change: Option<EntityChange>,
}

/// A live read that waits, until it is dropped.
#[derive(Debug)]
pub(super) struct Waiter<'h> {
    hub: &'h Hub,
    id: u64,
    pub(super) alarm: Arc<Alarm>,
}

impl Hub {
    pub(super) fn enter(&self) {
        self.lock().followers += 1;
    }

    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.followers = state.followers.saturating_sub(1);
        if state.followers == 0 {
            *state = State::default();
        }
    }

    /// How far the feed was read, and how many changes there were.
    pub(super) fn progress(&self) -> (Option<Position>, u64) {
        let state = self.lock();
        (state.position.clone(), state.count)
    }

    /// Sets where reading the feed begins, unless it has begun.
    pub(super) fn begin(&self, position: Position) {
        let mut state = self.lock();
        if state.position.is_some() {
            return;
        }
        if std::mem::take(&mut state.is_lost) {
            let seq = position.0.values().copied().max().unwrap_or(SeqNo(0));
            state.forgotten = Some(At { seq, count: state.count });
        }
        state.position = Some(position);
    }

    /// Waits for changes that affect what was read. Those that are known already raise the alarm at
    /// once.
    pub(super) fn wait_for(&self, read: ReadAt) -> Waiter<'_> {
        let topics = read.noted.topics(&read.schema.layouts.current);
        let alarm = Arc::new(Alarm::default());
        let mut state = self.lock();
        if state.may_have_affected(&read, &topics) {
            alarm.raise();
        }
        state.last_waiting += 1;
        let id = state.last_waiting;
        for topic in &topics {
            state.by_topic.entry(*topic).or_default().push(id);
        }
        state.waiting.insert(id, Waiting { read, topics, alarm: alarm.clone() });
        Waiter { hub: self, id, alarm }
    }

    /// Passes on changes up to a position: alarms those whom they affect.
    pub(super) fn pass_on(&self, schema: &Schema, found: Vec<Found>, position: Position) {
        let mut state = self.lock();
        for Found { seq, change } in found {
            state.count += 1;
            let at = At { seq, count: state.count };
            match &change {
                Some(change) => state.alarm_affected(schema, change, at),
                None => state.alarm_all(at),
            }
            let topics = change.map(|change| change.topics().to_vec());
            let concerns = topics.map_or(Concerned::Everybody, Concerned::Topics);
            state.remember(Recent { at, concerns });
        }
        state.position = Some(position);
    }

    /// Alarms everybody: changes were missed. Reading the feed begins anew.
    pub(super) fn start_over(&self) {
        let mut state = self.lock();
        state.waiting.values().for_each(|waiting| waiting.alarm.raise());
        // Those who are reading at the moment read again, too.
        state.count += 1;
        state.recent.clear();
        (state.position, state.is_lost) = (None, true);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_have_affected(&self, read: &ReadAt, topics: &[Topic]) -> bool {
        let is_forgotten = self.forgotten.is_some_and(|at| read.since.is_before(at));
        let mut later =
            self.recent.iter().rev().take_while(|recent| read.since.is_before(recent.at));
        self.is_lost || is_forgotten || later.any(|recent| recent.concerns.has_any(topics))
    }

    fn alarm_affected(&self, schema: &Schema, change: &EntityChange, at: At) {
        let with_topic = |topic: &Topic| self.by_topic.get(topic).into_iter().flatten().copied();
        let candidates: BTreeSet<u64> = change.topics().iter().flat_map(with_topic).collect();
        for waiting in candidates.iter().filter_map(|id| self.waiting.get(id)) {
            let ReadAt { since, schema: of, noted } = &waiting.read;
            // What was read by another model is read again in any case.
            let is_affected =
                || of.edit != schema.edit || noted.are_affected(&of.layouts.current, change);
            if since.is_before(at) && is_affected() {
                waiting.alarm.raise();
            }
        }
    }

    fn alarm_all(&self, at: At) {
        let later = self.waiting.values().filter(|waiting| waiting.read.since.is_before(at));
        later.for_each(|waiting| waiting.alarm.raise());
    }

    fn remember(&mut self, recent: Recent) {
        self.recent.push_back(recent);
        if self.recent.len() > RECENT_MAX {
            self.forgotten = self.recent.pop_front().map(|recent| recent.at);
        }
    }
}

impl Concerned {
    fn has_any(&self, topics: &[Topic]) -> bool {
        match self {
            Concerned::Everybody => true,
            // Both are in order; there are few topics of a read.
            Concerned::Topics(of) => topics.iter().any(|topic| of.binary_search(topic).is_ok()),
        }
    }
}

impl Since {
    fn is_before(self, at: At) -> bool {
        match self.seq {
            Some(seq) => seq < at.seq,
            None => self.count < at.count,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        let Some(waiting) = state.waiting.remove(&self.id) else { return };
        for topic in &waiting.topics {
            if let Some(ids) = state.by_topic.get_mut(topic) {
                ids.retain(|id| *id != self.id);
                if ids.is_empty() {
                    state.by_topic.remove(topic);
                }
            }
        }
    }
}
