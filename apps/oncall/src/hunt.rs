//! The hunt as a state machine: from where it is, and what the methods are now, to what is to be
//! done. No clock, no store, no network: those are around it, in `steps`.
//!
//! A hunt goes through *stages*, one for each contact. In a stage the enabled methods are used in
//! their order, each after its wait, counted from when the one before was used; those with a wait
//! of 0 together with the one before. After the last message was delivered, the contact has the
//! patience of the search to answer. Then the next stage begins, or the search has failed. A message
//! that nobody has tried to deliver yet, because a process was slow or was killed, is waited for: a
//! stage never ends before each of its messages was tried.
//!
//! Methods are looked at anew whenever a wait is over, and what counts is what they are then. So in
//! the middle of a hunt
//!
//! - a method that is added, enabled or moved behind the one used last gets its turn;
//! - one that is removed, disabled or moved before the one used last does not;
//! - a wait that is made longer is longer, also one that has begun; one that has begun is not made
//!   shorter by a change, but ends when it would have;
//! - no method is used twice for one contact, wherever it is moved.

use serde::{Deserialize, Serialize};

/// As many messages as one step writes; more follow at once, in another. A step is a transaction,
/// which has room for so many.
const TOGETHER_MAX: usize = 8;
/// When to look again whether a message was tried.
const UNTRIED_MS: i64 = 500;

/// Where a hunt is: what the job of its next step carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Which contact it is at.
    pub stage: u32,
    /// When the last method was used, or the stage began. The next wait is counted from here.
    pub since_ms: i64,
    /// The method that was used last in this stage.
    pub after: Option<Place>,
}

/// The place of a method among those of its contact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The order that people gave it.
    pub position: i64,
    /// Its id, which decides among equals.
    pub method: String,
}

/// A way to reach a contact, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Where it is in the order, and which one it is.
    pub place: Place,
    /// How long to wait after the one before.
    pub wait_ms: i64,
    /// Whether it is to be used.
    pub is_enabled: bool,
    /// Whether it was used in this stage already.
    pub is_used: bool,
}

/// What is known of the stage that a hunt is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The methods of the contact; none if it is gone.
    pub methods: Vec<Method>,
    /// How long the last message is waited for.
    pub patience_ms: i64,
    /// Whether there is nobody after this one.
    pub is_last: bool,
    /// What has become of what was sent.
    pub messages: Messages,
}

/// What has become of the messages of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Each was delivered, or its receiver has failed to take it; the last one at this time. Earlier
    /// than any time if there are none.
    Tried {
        /// When the last one was.
        last_ms: i64,
    },
    /// Some were not tried yet.
    Untried,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Look again, at this time.
    Wait {
        /// When.
        until_ms: i64,
    },
    /// Use these methods, and go on.
    Use {
        /// Their places, in order.
        methods: Vec<Place>,
        /// Where the hunt is then.
        next: Leg,
    },
    /// Go on to the next contact.
    Escalate {
        /// Where the hunt is then.
        next: Leg,
    },
    /// Nobody is left.
    Fail,
}

/// The next move of a hunt.
pub fn next(leg: &Leg, stage: &Stage, now_ms: i64) -> Move {
    let mut left: Vec<&Method> =
        stage.methods.iter().filter(|method| is_left(leg, method)).collect();
    left.sort_by(|one, other| one.place.cmp(&other.place));
    let Some(first) = left.first() else { return no_method_left(leg, stage, now_ms) };
    let due_ms = leg.since_ms.saturating_add(first.wait_ms);
    if now_ms < due_ms {
        return Move::Wait { until_ms: due_ms };
    }
    let rest = left[1..].iter().take_while(|method| method.wait_ms == 0);
    let methods: Vec<Place> = std::iter::once(first)
        .chain(rest)
        .take(TOGETHER_MAX)
        .map(|method| method.place.clone())
        .collect();
    let next = Leg { stage: leg.stage, since_ms: now_ms, after: methods.last().cloned() };
    Move::Use { methods, next }
}

fn is_left(leg: &Leg, method: &Method) -> bool {
    let is_ahead = leg.after.as_ref().is_none_or(|after| method.place > *after);
    method.is_enabled && !method.is_used && is_ahead
}

/// Somebody to whom nothing was sent is not waited for.
fn no_method_left(leg: &Leg, stage: &Stage, now_ms: i64) -> Move {
    if leg.after.is_some() {
        let Messages::Tried { last_ms } = stage.messages else {
            return Move::Wait { until_ms: now_ms.saturating_add(UNTRIED_MS) };
        };
        let until_ms = leg.since_ms.max(last_ms).saturating_add(stage.patience_ms);
        if now_ms < until_ms {
            return Move::Wait { until_ms };
        }
    }
    match stage.is_last {
        true => Move::Fail,
        false => {
            let next = Leg { stage: leg.stage.saturating_add(1), since_ms: now_ms, after: None };
            Move::Escalate { next }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(position: i64) -> Place {
        Place { position, method: format!("m{position}") }
    }

    fn method(position: i64, wait_ms: i64) -> Method {
        Method { place: place(position), wait_ms, is_enabled: true, is_used: false }
    }

    fn leg(since_ms: i64, after: Option<i64>) -> Leg {
        Leg { stage: 0, since_ms, after: after.map(place) }
    }

    fn stage(methods: Vec<Method>) -> Stage {
        let messages = Messages::Tried { last_ms: i64::MIN };
        Stage { methods, patience_ms: 100, is_last: true, messages }
    }

    fn used(positions: &[i64], since_ms: i64) -> Move {
        let methods: Vec<Place> = positions.iter().copied().map(place).collect();
        let next = Leg { stage: 0, since_ms, after: methods.last().cloned() };
        Move::Use { methods, next }
    }

    #[test]
    fn methods_are_used_in_order_after_their_waits_and_together_at_0() {
        let all = stage(vec![method(3, 50), method(1, 0), method(2, 0), method(4, 0)]);
        assert_eq!(next(&leg(10, None), &all, 10), used(&[1, 2], 10));
        assert_eq!(next(&leg(10, Some(2)), &all, 59), Move::Wait { until_ms: 60 });
        assert_eq!(next(&leg(10, Some(2)), &all, 61), used(&[3, 4], 61));
        assert_eq!(next(&leg(61, Some(4)), &all, 160), Move::Wait { until_ms: 161 });
        assert_eq!(next(&leg(61, Some(4)), &all, 161), Move::Fail);
    }

    #[test]
    fn the_first_method_waits_from_the_beginning() {
        let all = stage(vec![method(1, 5)]);
        assert_eq!(next(&leg(10, None), &all, 10), Move::Wait { until_ms: 15 });
        assert_eq!(next(&leg(10, None), &all, 15), used(&[1], 15));
    }

    #[test]
    fn somebody_without_methods_is_not_waited_for() {
        let nobody = Stage { is_last: false, ..stage(vec![]) };
        let next_leg = Leg { stage: 1, since_ms: 20, after: None };
        assert_eq!(next(&leg(10, None), &nobody, 20), Move::Escalate { next: next_leg });
        assert_eq!(next(&leg(10, None), &stage(vec![]), 20), Move::Fail);
        let disabled = Method { is_enabled: false, ..method(1, 0) };
        assert_eq!(next(&leg(10, None), &stage(vec![disabled]), 20), Move::Fail);
    }

    #[test]
    fn patience_counts_from_when_the_last_message_was_delivered() {
        let late = Stage { messages: Messages::Tried { last_ms: 70 }, ..stage(vec![]) };
        assert_eq!(next(&leg(10, Some(1)), &late, 169), Move::Wait { until_ms: 170 });
        assert_eq!(next(&leg(10, Some(1)), &late, 170), Move::Fail);
    }

    #[test]
    fn a_stage_does_not_end_before_its_messages_were_tried() {
        for (patience_ms, now_ms) in [(0, 10), (100, 110), (100, i64::MAX)] {
            let untried = Stage { messages: Messages::Untried, patience_ms, ..stage(vec![]) };
            let until_ms = now_ms.saturating_add(UNTRIED_MS);
            assert_eq!(next(&leg(10, Some(1)), &untried, now_ms), Move::Wait { until_ms });
        }
    }

    #[test]
    fn no_method_is_used_twice_wherever_it_is_moved() {
        let moved = Method { is_used: true, ..method(9, 0) };
        assert_eq!(next(&leg(10, Some(2)), &stage(vec![moved]), 200), Move::Fail);
    }

    #[test]
    fn what_is_moved_before_the_last_one_used_has_lost_its_turn() {
        let all = stage(vec![method(1, 0), method(5, 0)]);
        assert_eq!(next(&leg(10, Some(3)), &all, 20), used(&[5], 20));
    }

    #[test]
    fn more_than_fit_together_follow_at_once() {
        let all = stage((0..20).map(|position| method(position, 0)).collect());
        let Move::Use { methods, next: then } = next(&leg(0, None), &all, 5) else { panic!() };
        assert_eq!(methods.len(), TOGETHER_MAX);
        let Move::Use { methods, .. } = next(&then, &all, 5) else { panic!("they follow at once") };
        assert_eq!(methods[0], place(8));
    }

    #[test]
    fn no_times_overflow() {
        let all = stage(vec![method(1, i64::MAX)]);
        assert_eq!(next(&leg(i64::MAX, None), &all, 5), Move::Wait { until_ms: i64::MAX });
    }
}
