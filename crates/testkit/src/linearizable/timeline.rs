//! Invocations and returns in time order, as a linked list from which an operation can be removed,
//! and restored, in constant time.

/// An event of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Invoked(usize),
    Returned(usize),
}

/// The events of the operations that are not removed.
pub(super) struct Timeline {
    events: Vec<Event>,
    /// Neighbours in the list; the index after the last event is the sentinel of both ends.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// The indexes of each operation's events.
    positions: Vec<(usize, Option<usize>)>,
}

impl Timeline {
    /// Creates the timeline of operations with these times of invocation and return.
    pub(super) fn new(spans: &[(u64, Option<u64>)]) -> Timeline {
        let mut timed = Vec::new();
        for (operation, &(invoked, returned)) in spans.iter().enumerate() {
            // At equal times invocations come first, so that the operations overlap.
            timed.push(((invoked, 0), Event::Invoked(operation)));
            timed.extend(returned.map(|returned| ((returned, 1), Event::Returned(operation))));
        }
        timed.sort_by_key(|&(time, _)| time);
        let events: Vec<Event> = timed.into_iter().map(|(_, event)| event).collect();
        let mut positions = vec![(0, None); spans.len()];
        for (position, event) in events.iter().enumerate() {
            match *event {
                Event::Invoked(operation) => positions[operation].0 = position,
                Event::Returned(operation) => positions[operation].1 = Some(position),
            }
        }
        let ring = events.len() + 1;
        let next = (0..ring).map(|position| (position + 1) % ring).collect();
        let previous = (0..ring).map(|position| (position + ring - 1) % ring).collect();
        Timeline { events, next, previous, positions }
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.after(self.events.len())
    }

    pub(super) fn after(&self, position: usize) -> Option<usize> {
        Some(self.next[position]).filter(|&next| next < self.events.len())
    }

    pub(super) fn event(&self, position: usize) -> Event {
        self.events[position]
    }

    /// Returns the operation that returns first.
    pub(super) fn first_return(&self) -> Option<usize> {
        self.iter().find_map(|event| match event {
            Event::Returned(operation) => Some(operation),
            Event::Invoked(_) => None,
        })
    }

    /// Returns the operations that may come next: those invoked before any returns.
    pub(super) fn before_first_return(&self) -> Vec<usize> {
        let invoked = self.iter().map_while(|event| match event {
            Event::Invoked(operation) => Some(operation),
            Event::Returned(_) => None,
        });
        invoked.collect()
    }

    pub(super) fn remove(&mut self, operation: usize) {
        let (invoked, returned) = self.positions[operation];
        for position in [Some(invoked), returned].into_iter().flatten() {
            let (previous, next) = (self.previous[position], self.next[position]);
            self.next[previous] = next;
            self.previous[next] = previous;
        }
    }

    /// Restores the operation that was removed last.
    pub(super) fn restore(&mut self, operation: usize) {
        let (invoked, returned) = self.positions[operation];
        for position in [returned, Some(invoked)].into_iter().flatten() {
            self.next[self.previous[position]] = position;
            self.previous[self.next[position]] = position;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Event> {
        std::iter::successors(self.first(), |&position| self.after(position))
            .map(|position| self.events[position])
    }
}
