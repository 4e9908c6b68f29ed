//! Which points the search has been at: a set of placed operations and a state.
//!
//! Of two points with the same state and the same answered operations placed, the one with fewer
//! unanswered ones placed is the better: whatever can follow the other can follow it.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use crate::Random;

/// The points visited, and the operations placed now.
pub(super) struct Memory<S> {
    places: Vec<Place>,
    answered: u128,
    unanswered: Bits,
    /// By the answered operations placed and the state: the unanswered ones placed, visit by visit.
    visited: HashMap<(u128, Rc<S>), Vec<Bits>>,
}

/// A set of unanswered operations.
type Bits = Box<[u64]>;

/// How an operation is known as a member of a set.
#[derive(Clone, Copy)]
enum Place {
    /// A random number; the set is their sum without carry. Sets of 128 bits are as good as exact.
    Answered(u128),
    /// A bit; these sets are exact, since they are compared by inclusion.
    Unanswered(usize),
}

impl<S: Eq + Hash> Memory<S> {
    /// Nothing placed and nowhere been; for each operation, whether it has a reply.
    pub(super) fn new(answered: impl Iterator<Item = bool>) -> Memory<S> {
        let mut random = Random::new(0);
        let mut bits = 0;
        let place = |answered| {
            if answered {
                let high = u128::from(random.next_u64()) << 64;
                Place::Answered(high | u128::from(random.next_u64()))
            } else {
                bits += 1;
                Place::Unanswered(bits - 1)
            }
        };
        let places = answered.map(place).collect();
        let unanswered = vec![0; usize::div_ceil(bits, 64)].into_boxed_slice();
        Memory { places, answered: 0, unanswered, visited: HashMap::new() }
    }

    /// Places an operation, or takes it back.
    pub(super) fn flip(&mut self, operation: usize) {
        match self.places[operation] {
            Place::Answered(code) => self.answered ^= code,
            Place::Unanswered(bit) => self.unanswered[bit / 64] ^= 1 << (bit % 64),
        }
    }

    /// Visits the point with this operation placed too; false if one as good or better was visited.
    pub(super) fn visit_unless_no_better(&mut self, operation: usize, state: &Rc<S>) -> bool {
        let included = |seen: &[u64], now: &[u64]| seen.iter().zip(now).all(|(s, n)| s & !n == 0);
        self.visit(operation, state, included)
    }

    /// Visits the point with this operation placed too; false if it was visited. Leaving out an
    /// operation always leads to a worse point, and must not be given up for that.
    pub(super) fn visit_unless_same(&mut self, operation: usize, state: &Rc<S>) -> bool {
        self.visit(operation, state, |seen, now| seen == now)
    }

    fn visit(
        &mut self,
        operation: usize,
        state: &Rc<S>,
        covers: impl Fn(&[u64], &[u64]) -> bool,
    ) -> bool {
        self.flip(operation);
        let seen = self.visited.entry((self.answered, state.clone())).or_default();
        let is_new = !seen.iter().any(|seen| covers(seen, &self.unanswered));
        if is_new {
            seen.push(self.unanswered.clone());
        }
        self.flip(operation);
        is_new
    }
}
