//! The hunt as a state machine: from its position and the current methods to the next move. It has no
//! clock, store or network; `steps` provides them.
//!
//! A hunt goes through *stages*, one per contact. In a stage the enabled methods are used in order, each
//! after its wait since the previous one was used; methods with a wait of 0 together with the previous
//! one. After the last message is delivered, the contact has the patience of the search to answer. Then
//! the next stage begins, or the search fails. A stage never ends before delivery of each of its messages
//! was attempted, even if a process is slow or was killed.
//!
//! Methods are read again whenever a wait is over, and their current state counts. During a hunt
//!
//! - a method that is added, enabled or moved behind the last one used will be used;
//! - one that is removed, disabled or moved before the last one used will not;
//! - extending a wait also extends one that has begun, but shortening does not affect it;
//! - no method is used twice for one contact, wherever it is moved.

use serde::{Deserialize, Serialize};

/// The maximum number of messages per step, limited by the size of its transaction. The next step follows
/// at once with the rest.
const TOGETHER_MAX: usize = 8;
/// The interval of checks whether delivery was attempted.
const UNTRIED_MS: i64 = 500;

/// The position of a hunt, stored in the job of its next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// The index of the contact.
    pub stage: u32,
    /// When the last method was used, or the stage began. The next wait starts here.
    pub since_ms: i64,
    /// The last method used in this stage.
    pub after: Option<MethodKey>,
}

/// The sort key of a method among those of its contact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MethodKey {
    /// The position that users assign.
    pub position: i64,
    /// The id, to break ties.
    pub method: String,
}

/// The current state of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its identity and order.
    pub key: MethodKey,
    /// The wait after the previous method.
    pub wait_ms: i64,
    /// Whether it may be used.
    pub is_enabled: bool,
    /// Whether it was used before in this stage.
    pub is_used: bool,
}

/// The current stage of a hunt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The methods of the contact; empty if it was deleted.
    pub methods: Vec<Method>,
    /// The time to answer after the last message.
    pub patience_ms: i64,
    /// Whether there are no more contacts.
    pub is_last: bool,
    /// The delivery state of its messages.
    pub messages: Messages,
}

/// The delivery state of the messages of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Delivery of each was attempted.
    Tried {
        /// The time of the last one; `i64::MIN` if there are none.
        last_ms: i64,
    },
    /// Delivery of some was not attempted yet.
    Untried,
}

/// A move of a hunt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Decide again at this time.
    Wait {
        /// The time.
        until_ms: i64,
    },
    /// Use these methods.
    Use {
        /// Their keys, in order.
        methods: Vec<MethodKey>,
        /// The position afterwards.
        next: Leg,
    },
    /// Continue with the next contact.
    Escalate {
        /// The position afterwards.
        next: Leg,
    },
    /// Give up: there are no more contacts.
    Fail,
}

/// Returns the next move of a hunt.
pub fn next(leg: &Leg, stage: &Stage, now_ms: i64) -> Move {
    let mut left: Vec<&Method> =
        stage.methods.iter().filter(|method| is_left(leg, method)).collect();
    left.sort_by(|one, other| one.key.cmp(&other.key));
    let Some(first) = left.first() else { return no_method_left(leg, stage, now_ms) };
    let due_ms = leg.since_ms.saturating_add(first.wait_ms);
    if now_ms < due_ms {
        return Move::Wait { until_ms: due_ms };
    }
    let rest = left[1..].iter().take_while(|method| method.wait_ms == 0);
    let methods: Vec<MethodKey> = std::iter::once(first)
        .chain(rest)
        .take(TOGETHER_MAX)
        .map(|method| method.key.clone())
        .collect();
    let next = Leg { stage: leg.stage, since_ms: now_ms, after: methods.last().cloned() };
    Move::Use { methods, next }
}

fn is_left(leg: &Leg, method: &Method) -> bool {
    let is_ahead = leg.after.as_ref().is_none_or(|after| method.key > *after);
    method.is_enabled && !method.is_used && is_ahead
}

/// Waits for an answer only if something was sent.
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

    fn key(position: i64) -> MethodKey {
        MethodKey { position, method: format!("m{position}") }
    }

    fn method(position: i64, wait_ms: i64) -> Method {
        Method { key: key(position), wait_ms, is_enabled: true, is_used: false }
    }

    fn leg(since_ms: i64, after: Option<i64>) -> Leg {
        Leg { stage: 0, since_ms, after: after.map(key) }
    }

    fn stage(methods: Vec<Method>) -> Stage {
        let messages = Messages::Tried { last_ms: i64::MIN };
        Stage { methods, patience_ms: 100, is_last: true, messages }
    }

    fn used(positions: &[i64], since_ms: i64) -> Move {
        let methods: Vec<MethodKey> = positions.iter().copied().map(key).collect();
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
    fn a_contact_without_methods_is_skipped() {
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
    fn a_method_moved_before_the_last_one_used_is_skipped() {
        let all = stage(vec![method(1, 0), method(5, 0)]);
        assert_eq!(next(&leg(10, Some(3)), &all, 20), used(&[5], 20));
    }

    #[test]
    fn methods_that_exceed_one_step_follow_at_once() {
        let all = stage((0..20).map(|position| method(position, 0)).collect());
        let Move::Use { methods, next: then } = next(&leg(0, None), &all, 5) else { panic!() };
        assert_eq!(methods.len(), TOGETHER_MAX);
        let Move::Use { methods, .. } = next(&then, &all, 5) else { panic!("they follow at once") };
        assert_eq!(methods[0], key(8));
    }

    #[test]
    fn no_times_overflow() {
        let all = stage(vec![method(1, i64::MAX)]);
        assert_eq!(next(&leg(i64::MAX, None), &all, 5), Move::Wait { until_ms: i64::MAX });
    }
}
