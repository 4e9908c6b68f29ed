//! Who waits for changes of what, and what has changed recently.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyloom_query::{Dependencies, EntityChange, Topic};
use keyloom_store::SeqNo;

use super::alarm::Alarm;
use super::listeners::{Heard, Listeners};
use super::pace::{Pace, Read};
use crate::db::Snapshot;
use crate::events::{Event, EventPage, Position};
use crate::schema::Schema;

/// How many changes are remembered for those who have read before them and wait after them.
const RECENT_MAX: usize = 4096;
/// How many changes are gathered for one who waits, and how many bytes of fields they have.
const GATHERED_MAX: usize = 32;
const GATHERED_BYTES_MAX: usize = 64 << 10;

/// The live reads of a process, and those who follow the change feed itself.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// Held by whoever reads the feed for all.
    pub(super) reading: futures_util::lock::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// How many of both there are, waiting or not. Without any, the feed is not read.
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
    pace: Pace,
    listeners: Listeners,
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
    missed: Missed,
}

/// What has changed since a live read has read.
#[derive(Clone, Debug)]
enum Missed {
    /// These changes affect it. With the snapshot of the last round that has found one: they are all that
    /// it contains.
    Changes(Vec<Arc<EntityChange>>, Option<Snapshot>),
    /// More than is known.
    Unknown,
}

/// A snapshot, and all changes in it that affect what a live read has read before.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) snapshot: Snapshot,
    pub(super) changes: Vec<Arc<EntityChange>>,
}

/// A change that was read from the feed.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seq: SeqNo,
    /// None if it can affect everything.
    pub(super) change: Option<Arc<EntityChange>>,
}

/// What was read from the feed at once.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) schema: Arc<Schema>,
    pub(super) found: Vec<Found>,
    /// The events in it, if somebody listens, and they are known.
    pub(super) events: Option<Vec<Event>>,
    /// Where to continue.
    pub(super) position: Position,
    /// A snapshot at that position, if the store has snapshots and all until then was read.
    pub(super) snapshot: Option<Snapshot>,
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

    /// How far the feed was read, and how many changes there were; none if reading has not begun.
    pub(super) fn progress(&self) -> Option<(Position, u64)> {
        let state = self.lock();
        Some((state.position.clone()?, state.count))
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

    /// Passes on events to one more, from the position that is returned; none if reading has not begun.
    pub(super) fn listen(&self, alarm: &Arc<Alarm>) -> Option<(u64, Position)> {
        let mut state = self.lock();
        let position = state.position.clone()?;
        Some((state.listeners.add(alarm.clone()), position))
    }

    /// The same for one for whom events were lost.
    pub(super) fn listen_again(&self, id: u64) -> Option<Position> {
        let mut state = self.lock();
        let position = state.position.clone()?;
        state.listeners.resume(id);
        Some(position)
    }

    pub(super) fn stop_listening(&self, id: u64) {
        self.lock().listeners.remove(id);
    }

    pub(super) fn has_listeners(&self) -> bool {
        !self.lock().listeners.is_empty()
    }

    /// What a listener has not heard yet.
    pub(super) fn heard(&self, id: u64) -> Heard {
        self.lock().listeners.take(id)
    }

    /// How long to rest before the feed is read, if the store does not say when it changes; none if not at all.
    pub(super) fn rest(&self, now_ms: i64, writes: u64) -> Option<Duration> {
        self.lock().pace.left(now_ms, writes)
    }

    pub(super) fn note_rest(&self, rest: Duration) {
        self.lock().pace.note_rest(rest);
    }

    pub(super) fn note(&self, read: Read) {
        self.lock().pace.note(read);
    }

    /// Waits for changes that affect what was read. Those that are known already raise the alarm at
    /// once.
    pub(super) fn wait_for(&self, read: ReadAt) -> Waiter<'_> {
        let topics = read.noted.topics(&read.schema.layouts.current);
        let alarm = Arc::new(Alarm::default());
        let mut state = self.lock();
        let mut missed = Missed::Changes(vec![], None);
        if state.may_have_affected(&read, &topics) {
            missed = Missed::Unknown;
            alarm.raise();
        }
        state.last_waiting += 1;
        let id = state.last_waiting;
        for topic in &topics {
            state.by_topic.entry(*topic).or_default().push(id);
        }
        state.waiting.insert(id, Waiting { read, topics, alarm: alarm.clone(), missed });
        Waiter { hub: self, id, alarm }
    }

    /// Passes on what was read: alarms those whom it affects.
    pub(super) fn pass_on(&self, round: Round) {
        let Round { schema, found, events, position, snapshot } = round;
        let mut state = self.lock();
        let mut affected = BTreeSet::new();
        for Found { seq, change } in found {
            state.count += 1;
            let at = At { seq, count: state.count };
            match &change {
                Some(change) => affected.extend(state.gather(&schema, change, at)),
                None => state.alarm_all(at),
            }
            let topics = change.map(|change| change.topics().to_vec());
            let concerns = topics.map_or(Concerned::Everybody, Concerned::Topics);
            state.remember(Recent { at, concerns });
        }
        for id in &affected {
            let Some(waiting) = state.waiting.get_mut(id) else { continue };
            waiting.missed.contained_in(snapshot.as_ref());
            waiting.alarm.raise();
        }
        if state.position.as_ref() != Some(&position) {
            let page = |events| EventPage { events, ..EventPage::empty(position.clone()) };
            state.listeners.pass_on(events.map(page));
        }
        state.position = Some(position);
    }

    /// Alarms everybody: what was read by an earlier model is read again.
    pub(crate) fn note_other_model(&self) {
        self.lock().waiting.values_mut().for_each(Waiting::alarm_of_unknown);
    }

    /// Alarms everybody: changes were missed. Reading the feed begins anew.
    pub(super) fn start_over(&self) {
        let mut state = self.lock();
        state.waiting.values_mut().for_each(Waiting::alarm_of_unknown);
        state.listeners.pass_on(None);
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

    /// Notes a change for those whom it affects, and returns who they are.
    fn gather(&mut self, schema: &Schema, change: &Arc<EntityChange>, at: At) -> Vec<u64> {
        let with_topic = |topic: &Topic| self.by_topic.get(topic).into_iter().flatten().copied();
        let candidates: BTreeSet<u64> = change.topics().iter().flat_map(with_topic).collect();
        let mut affected = vec![];
        for id in candidates {
            let Some(waiting) = self.waiting.get_mut(&id) else { continue };
            let ReadAt { since, schema: of, noted } = &waiting.read;
            // What was read by another model is read again in any case.
            let is_other_model = of.edit != schema.edit;
            let is_affected = is_other_model || noted.are_affected(&of.layouts.current, change);
            if !since.is_before(at) || !is_affected {
                continue;
            }
            match is_other_model {
                true => waiting.missed = Missed::Unknown,
                false => waiting.missed.add(change),
            }
            affected.push(id);
        }
        affected
    }

    fn alarm_all(&mut self, at: At) {
        let later = self.waiting.values_mut().filter(|waiting| waiting.read.since.is_before(at));
        later.for_each(Waiting::alarm_of_unknown);
    }

    fn remember(&mut self, recent: Recent) {
        self.recent.push_back(recent);
        if self.recent.len() > RECENT_MAX {
            self.forgotten = self.recent.pop_front().map(|recent| recent.at);
        }
    }
}

impl Waiting {
    fn alarm_of_unknown(&mut self) {
        self.missed = Missed::Unknown;
        self.alarm.raise();
    }
}

impl Missed {
    fn add(&mut self, change: &Arc<EntityChange>) {
        let Missed::Changes(changes, _) = self else { return };
        changes.push(change.clone());
        let bytes: usize = changes.iter().map(|change| change.size()).sum();
        if changes.len() > GATHERED_MAX || bytes > GATHERED_BYTES_MAX {
            *self = Missed::Unknown;
        }
    }

    /// All changes are in a snapshot; without one, nobody knows what else is in that which is read.
    fn contained_in(&mut self, snapshot: Option<&Snapshot>) {
        match (&mut *self, snapshot) {
            (Missed::Changes(_, of), Some(snapshot)) => *of = Some(snapshot.clone()),
            (Missed::Changes(..) | Missed::Unknown, _) => *self = Missed::Unknown,
        }
    }
}

impl Waiter<'_> {
    /// The step to what is to be read next, once the alarm is raised; none if it is not known.
    pub(super) fn step(&self) -> Option<Step> {
        let mut state = self.hub.lock();
        let missed = &mut state.waiting.get_mut(&self.id)?.missed;
        match std::mem::replace(missed, Missed::Unknown) {
            Missed::Changes(changes, Some(snapshot)) => Some(Step { snapshot, changes }),
            Missed::Changes(_, None) | Missed::Unknown => None,
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
