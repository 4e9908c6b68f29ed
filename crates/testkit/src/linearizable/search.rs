//! The search for an order: depth first over the possible next operations, skipping configurations
//! that are no better than a visited one.

use std::rc::Rc;

use super::operation::{Model, Operation};
use super::timeline::{Event, Timeline};
use super::violation::Violation;
use super::visited::Visited;

/// Runs the search; the operations are known to be well-formed.
pub(super) fn search<M: Model>(history: &[Operation<M>]) -> Result<(), Violation> {
    let mut search = Search::new(history);
    while search.answered_left > 0 {
        match search.next_choice() {
            Some(choice) => search.place(choice),
            None => search.backtrack()?,
        }
    }
    Ok(())
}

struct Search<'a, M: Model> {
    history: &'a [Operation<M>],
    /// The operations that are not placed yet.
    timeline: Timeline,
    state: Rc<M::State>,
    steps: Vec<Step<M::State>>,
    cursor: Cursor,
    /// Operations with a reply that are not placed yet.
    answered_left: usize,
    visited: Visited<M::State>,
    best: Best<M::State>,
}

/// The longest order so far, and the operations that could come next by their times.
struct Best<S> {
    placed: Vec<usize>,
    stuck: Vec<usize>,
    state: Rc<S>,
    answered_left: usize,
}

/// A placed operation, and how to backtrack and continue from there.
struct Step<S> {
    operation: usize,
    effect: Effect,
    state_before: Rc<S>,
    cursor_after: Cursor,
}

/// Whether a placed operation took effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Taken,
    Never,
}

/// The next operation to place.
struct Choice<S> {
    operation: usize,
    effect: Effect,
    state: Rc<S>,
}

/// The position among the choices of a configuration.
#[derive(Clone, Copy)]
struct Cursor {
    stage: Stage,
    event: Option<usize>,
}

/// Operations with a reply must be placed, so they go first. An unanswered one is only tried where
/// none of those fits; otherwise every subset of them would be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Answered,
    Unanswered,
    LeaveOut,
    Done,
}

impl<'a, M: Model> Search<'a, M> {
    fn new(history: &'a [Operation<M>]) -> Search<'a, M> {
        let spans = history.iter().map(|operation| (operation.invoked, operation.returned));
        let timeline = Timeline::new(&spans.collect::<Vec<_>>());
        let answered = history.iter().filter(|operation| operation.reply.is_some()).count();
        let state = Rc::new(M::initial());
        Search {
            history,
            cursor: Cursor { stage: Stage::Answered, event: timeline.first() },
            timeline,
            steps: Vec::new(),
            answered_left: answered,
            visited: Visited::new(history.iter().map(|operation| operation.reply.is_some())),
            best: Best {
                placed: Vec::new(),
                stuck: Vec::new(),
                state: state.clone(),
                answered_left: usize::MAX,
            },
            state,
        }
    }

    /// Returns the next operation to try; `None` when all were tried.
    fn next_choice(&mut self) -> Option<Choice<M::State>> {
        loop {
            let event = self.cursor.event.map(|event| (event, self.timeline.event(event)));
            match (self.cursor.stage, event) {
                (Stage::Done, _) => return None,
                (Stage::LeaveOut, _) => {
                    self.cursor.stage = Stage::Done;
                    let choice = self.leave_out();
                    if choice.is_some() {
                        return choice;
                    }
                }
                (stage, Some((event, Event::Invoked(operation)))) => {
                    self.cursor.event = self.timeline.after(event);
                    let answered = self.history[operation].reply.is_some();
                    if answered == (stage == Stage::Answered)
                        && let Some(choice) = self.take(operation)
                    {
                        return Some(choice);
                    }
                }
                // An operation invoked after the first return cannot come before it.
                (stage, Some((_, Event::Returned(_))) | None) => self.next_stage(stage),
            }
        }
    }

    fn next_stage(&mut self, stage: Stage) {
        let stage = if stage == Stage::Answered { Stage::Unanswered } else { Stage::LeaveOut };
        self.cursor = Cursor { stage, event: self.timeline.first() };
    }

    /// Tries to place this operation next, if its reply is correct and the configuration is new.
    fn take(&mut self, operation: usize) -> Option<Choice<M::State>> {
        let Operation { call, reply, .. } = &self.history[operation];
        let state = M::step(&self.state, call, reply.as_ref())?;
        if reply.is_none() && (state == *self.state || self.overwrites_the_last(operation, &state))
        {
            return None;
        }
        let state = Rc::new(state);
        let is_new = self.visited.visit_unless_no_better(operation, &state);
        is_new.then_some(Choice { operation, effect: Effect::Taken, state })
    }

    /// Whether the last operation has no reply and this one, which has none either, overwrites its
    /// effect: then the search finds the same state without the last.
    fn overwrites_the_last(&self, operation: usize, state: &M::State) -> bool {
        self.steps.last().is_some_and(|last| {
            let call = &self.history[operation].call;
            last.effect == Effect::Taken
                && self.history[last.operation].reply.is_none()
                && M::step(&last.state_before, call, None).is_some_and(|other| other == *state)
        })
    }

    /// Tries to leave out the operation that returns first, if its reply is unknown: it can no
    /// longer take effect.
    fn leave_out(&mut self) -> Option<Choice<M::State>> {
        let operation = self.timeline.first_return()?;
        if self.history[operation].reply.is_some() {
            return None;
        }
        let state = self.state.clone();
        let is_new = self.visited.visit_unless_same(operation, &state);
        is_new.then_some(Choice { operation, effect: Effect::Never, state })
    }

    fn place(&mut self, choice: Choice<M::State>) {
        let Choice { operation, effect, state } = choice;
        self.timeline.remove(operation);
        self.answered_left -= self.answered(operation);
        self.visited.flip(operation);
        let state_before = std::mem::replace(&mut self.state, state);
        self.steps.push(Step { operation, effect, state_before, cursor_after: self.cursor });
        self.cursor = Cursor { stage: Stage::Answered, event: self.timeline.first() };
    }

    /// Removes the last operation; a violation if there is none.
    fn backtrack(&mut self) -> Result<(), Violation> {
        if self.answered_left < self.best.answered_left {
            self.record_best();
        }
        let Some(step) = self.steps.pop() else {
            let placed = std::mem::take(&mut self.best.placed);
            let stuck = std::mem::take(&mut self.best.stuck);
            return Err(Violation::new(self.history, placed, stuck, &self.best.state));
        };
        self.timeline.restore(step.operation);
        self.answered_left += self.answered(step.operation);
        self.visited.flip(step.operation);
        self.state = step.state_before;
        self.cursor = step.cursor_after;
        Ok(())
    }

    /// Returns 1 if the operation has a reply, otherwise 0.
    fn answered(&self, operation: usize) -> usize {
        usize::from(self.history[operation].reply.is_some())
    }

    fn record_best(&mut self) {
        let taken = self.steps.iter().filter(|step| step.effect == Effect::Taken);
        self.best = Best {
            placed: taken.map(|step| step.operation).collect(),
            stuck: self.timeline.before_first_return(),
            state: self.state.clone(),
            answered_left: self.answered_left,
        };
    }
}
