//! Invocations and returns in the order of time, as a linked list from which an operation is
//! lifted, and put back, in constant time.

/// Something that happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Invoked(usize),
    Returned(usize),
}

/// The events of the operations that are not lifted.
pub(super) struct Timeline {
    events: Vec<Event>,
    /// Neighbours in the list; the position after the last event stands for both ends.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Where each operation's events are.
    places: Vec<(usize, Option<usize>)>,
}

impl Timeline {
    /// The timeline of operations with these times of invocation and return.
    pub(super) fn new(spans: &[(u64, Option<u64>)]) -> Timeline {
        let mut timed = Vec::new();
        for (operation, &(invoked, returned)) in spans.iter().enumerate() {
            // At equal times invocations come first, so that the operations overlap.
            timed.push(((invoked, 0), Event::Invoked(operation)));
            timed.extend(returned.map(|returned| ((returned, 1), Event::Returned(operation))));
        }
        timed.sort_by_key(|&(time, _)| time);
        let events: Vec<Event> = timed.into_iter().map(|(_, event)| event).collect();
        let mut places = vec![(0, None); spans.len()];
        for (place, event) in events.iter().enumerate() {
            match *event {
                Event::Invoked(operation) => places[operation].0 = place,
                Event::Returned(operation) => places[operation].1 = Some(place),
            }
        }
        let ring = events.len() + 1;
        let next = (0..ring).map(|place| (place + 1) % ring).collect();
        let previous = (0..ring).map(|place| (place + ring - 1) % ring).collect();
        Timeline { events, next, previous, places }
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.after(self.events.len())
    }

    pub(super) fn after(&self, place: usize) -> Option<usize> {
        Some(self.next[place]).filter(|&next| next < self.events.len())
    }

    pub(super) fn event(&self, place: usize) -> Event {
        self.events[place]
    }

    /// The operation that returns first.
    pub(super) fn first_return(&self) -> Option<usize> {
        self.iter().find_map(|event| match event {
            Event::Returned(operation) => Some(operation),
            Event::Invoked(_) => None,
        })
    }

    /// The operations that may come next: those invoked before any returns.
    pub(super) fn before_first_return(&self) -> Vec<usize> {
        let invoked = self.iter().map_while(|event| match event {
            Event::Invoked(operation) => Some(operation),
            Event::Returned(_) => None,
        });
        invoked.collect()
    }

    pub(super) fn lift(&mut self, operation: usize) {
        let (invoked, returned) = self.places[operation];
        for place in [Some(invoked), returned].into_iter().flatten() {
            let (previous, next) = (self.previous[place], self.next[place]);
            self.next[previous] = next;
            self.previous[next] = previous;
        }
    }

    /// Puts back the operation that was lifted last of those that are.
    pub(super) fn unlift(&mut self, operation: usize) {
        let (invoked, returned) = self.places[operation];
        for place in [returned, Some(invoked)].into_iter().flatten() {
            self.next[self.previous[place]] = place;
            self.previous[self.next[place]] = place;
        }
    }

    fn iter(&self) -> impl Iterator<Item = Event> {
        std::iter::successors(self.first(), |&place| self.after(place))
            .map(|place| self.events[place])
    }
}
