//! Plays a history on one subject, or on two at once.

use super::player::Player;
use super::{Op, Outcome};
use crate::Subject;

/// Plays a history on a fresh subject; returns the outcome of each step, and then the contents of
/// the store.
///
/// # Panics
///
/// If the store violates an invariant, such as that its feed replays its tables.
pub fn play(subject: &dyn Subject, ops: &[Op]) -> Vec<Outcome> {
    let mut player = Player::new(subject);
    let mut outcomes: Vec<Outcome> = ops.iter().map(|op| player.step(op)).collect();
    outcomes.extend(player.finish().into_iter().map(|(_, outcome)| outcome));
    outcomes
}

/// Plays a history on two fresh subjects, step by step.
///
/// # Panics
///
/// At the first step with different outcomes; or if the contents differ at the end; or if one
/// violates an invariant.
pub fn compare(left: &dyn Subject, right: &dyn Subject, ops: &[Op]) {
    let (mut left, mut right) = (Player::new(left), Player::new(right));
    for (position, op) in ops.iter().enumerate() {
        let (left, right) = (left.step(op), right.step(op));
        assert!(left == right, "step {position}, {op:#?}\nis {left:#?}\nand {right:#?}");
    }
    for ((op, left), (_, right)) in left.finish().into_iter().zip(right.finish()) {
        assert!(left == right, "at the end, {op:#?}\nis {left:#?}\nand {right:#?}");
    }
}
