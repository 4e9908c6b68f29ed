//! The configurations that the search has visited: a set of placed operations and a state.
//!
//! Of two configurations with the same state and the same answered operations placed, the one with
//! fewer unanswered ones placed is better: whatever can follow the other can follow it.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use crate::Random;

/// The visited configurations, and the operations placed now.
pub(super) struct Visited<S> {
    codes: Vec<MemberCode>,
    answered: u128,
    unanswered: Bits,
    /// By the answered operations placed and the state: the sets of unanswered ones placed, one per
    /// visit.
    by_state: HashMap<(u128, Rc<S>), Vec<Bits>>,
}

/// A set of unanswered operations.
type Bits = Box<[u64]>;

/// How an operation is represented in a set.
#[derive(Clone, Copy)]
enum MemberCode {
    /// A random number; the set is their XOR. With 128 bits, collisions are negligible.
    Answered(u128),
    /// A bit; these sets are exact, because they are compared by inclusion.
    Unanswered(usize),
}

impl<S: Eq + Hash> Visited<S> {
    /// Starts with nothing placed or visited; `answered` says of each operation whether it has a
    /// reply.
    pub(super) fn new(answered: impl Iterator<Item = bool>) -> Visited<S> {
        let mut random = Random::new(0);
        let mut bits = 0;
        let code = |answered| {
            if answered {
                let high = u128::from(random.next_u64()) << 64;
                MemberCode::Answered(high | u128::from(random.next_u64()))
            } else {
                bits += 1;
                MemberCode::Unanswered(bits - 1)
            }
        };
        let codes = answered.map(code).collect();
        let unanswered = vec![0; usize::div_ceil(bits, 64)].into_boxed_slice();
        Visited { codes, answered: 0, unanswered, by_state: HashMap::new() }
    }

    /// Places an operation, or removes it.
    pub(super) fn flip(&mut self, operation: usize) {
        match self.codes[operation] {
            MemberCode::Answered(code) => self.answered ^= code,
            MemberCode::Unanswered(bit) => self.unanswered[bit / 64] ^= 1 << (bit % 64),
        }
    }

    /// Visits the configuration with this operation placed too; returns false if one that is at
    /// least as good was visited.
    pub(super) fn visit_unless_no_better(&mut self, operation: usize, state: &Rc<S>) -> bool {
        let included = |seen: &[u64], now: &[u64]| seen.iter().zip(now).all(|(s, n)| s & !n == 0);
        self.visit(operation, state, included)
    }

    /// Visits the configuration with this operation placed too; returns false if it was visited.
    /// Leaving out an operation always leads to a worse configuration, which must not count as
    /// covered by a better one.
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
        let seen = self.by_state.entry((self.answered, state.clone())).or_default();
        let is_new = !seen.iter().any(|seen| covers(seen, &self.unanswered));
        if is_new {
            seen.push(self.unanswered.clone());
        }
        self.flip(operation);
        is_new
    }
}
