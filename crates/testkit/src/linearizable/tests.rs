//! The checker accepts what atomic objects do and rejects what they cannot do; on small histories
//! it agrees with a brute-force search.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::{Model, Operation, Recorder, Violation, check};
use crate::Random;

/// A map of numbers with the relevant calls.
struct Map;

type Numbers = BTreeMap<u8, u64>;

#[derive(Clone, Debug)]
enum Call {
    Get(u8),
    Put(u8, u64),
    /// Compare-and-swap: writes the second number if the current one is the first.
    Swap(u8, u64, u64),
    /// Writes all keys atomically.
    PutAll(Vec<u8>, u64),
    GetAll(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq)]
enum Reply {
    Done,
    Swapped(bool),
    Number(u64),
    Numbers(Vec<u64>),
}

/// Applies a call to the numbers; returns its reply.
fn perform(numbers: &mut Numbers, call: &Call) -> Reply {
    let get = |numbers: &Numbers, key: &u8| numbers.get(key).copied().unwrap_or_default();
    match call {
        Call::Get(key) => Reply::Number(get(numbers, key)),
        Call::Put(key, number) => {
            numbers.insert(*key, *number);
            Reply::Done
        }
        Call::Swap(key, old, new) => {
            let fits = get(numbers, key) == *old;
            if fits {
                numbers.insert(*key, *new);
            }
            Reply::Swapped(fits)
        }
        Call::PutAll(keys, number) => {
            numbers.extend(keys.iter().map(|key| (*key, *number)));
            Reply::Done
        }
        Call::GetAll(keys) => Reply::Numbers(keys.iter().map(|key| get(numbers, key)).collect()),
    }
}

impl Model for Map {
    type State = Numbers;
    type Call = Call;
    type Reply = Reply;

    fn initial() -> Numbers {
        Numbers::new()
    }

    fn step(state: &Numbers, call: &Call, reply: Option<&Reply>) -> Option<Numbers> {
        let mut after = state.clone();
        let right = perform(&mut after, call);
        reply.is_none_or(|reply| *reply == right).then_some(after)
    }
}

type History = Vec<Operation<Map>>;

fn answered(client: usize, span: (u64, u64), call: Call, reply: Reply) -> Operation<Map> {
    let (invoked, returned) = span;
    Operation { client, call, reply: Some(reply), invoked, returned: Some(returned) }
}

fn put(client: usize, span: (u64, u64), number: u64) -> Operation<Map> {
    answered(client, span, Call::Put(0, number), Reply::Done)
}

fn get(client: usize, span: (u64, u64), number: u64) -> Operation<Map> {
    answered(client, span, Call::Get(0), Reply::Number(number))
}

/// A put whose reply never came.
fn lost_put(invoked: u64, returned: Option<u64>, number: u64) -> Operation<Map> {
    Operation { client: 9, call: Call::Put(0, number), reply: None, invoked, returned }
}

#[track_caller]
fn accepts(history: &[Operation<Map>]) {
    check(history).unwrap();
}

#[track_caller]
fn rejects(history: &[Operation<Map>]) -> Violation {
    check(history).unwrap_err()
}

#[test]
fn sequential_operations_are_seen_in_order() {
    accepts(&[]);
    accepts(&[get(1, (0, 1), 0), put(1, (2, 3), 5), get(2, (4, 5), 5)]);
    rejects(&[get(1, (0, 1), 7)]);
}

#[test]
fn a_stale_read_is_rejected() {
    rejects(&[put(1, (0, 1), 5), put(1, (2, 3), 6), get(2, (4, 5), 5)]);
    accepts(&[put(1, (0, 1), 5), put(1, (2, 5), 6), get(2, (4, 6), 5)]);
}

#[test]
fn a_read_that_goes_back_in_time_is_rejected() {
    let write = || put(1, (0, 9), 5);
    accepts(&[write(), get(2, (1, 2), 0), get(2, (3, 4), 5)]);
    rejects(&[write(), get(2, (1, 2), 5), get(3, (3, 4), 0)]);
    accepts(&[write(), get(2, (1, 3), 5), get(3, (2, 4), 0)]);
}

#[test]
fn a_lost_update_is_rejected() {
    let swap = |client, span, old, new, fits| {
        answered(client, span, Call::Swap(0, old, new), Reply::Swapped(fits))
    };
    rejects(&[swap(1, (0, 5), 0, 1, true), swap(2, (1, 6), 0, 2, true)]);
    accepts(&[swap(1, (0, 5), 0, 1, true), swap(2, (1, 6), 0, 2, false)]);
    accepts(&[swap(1, (0, 5), 0, 1, true), swap(2, (1, 6), 1, 2, true)]);
}

#[test]
fn half_a_transaction_is_rejected() {
    let both = || vec![0, 1];
    let write = || answered(1, (0, 9), Call::PutAll(both(), 5), Reply::Done);
    let read = |first, second| {
        answered(2, (1, 2), Call::GetAll(both()), Reply::Numbers(vec![first, second]))
    };
    accepts(&[write(), read(0, 0)]);
    accepts(&[write(), read(5, 5)]);
    rejects(&[write(), read(5, 0)]);
    rejects(&[write(), read(0, 5)]);
}

#[test]
fn operations_that_meet_at_one_time_overlap() {
    accepts(&[put(1, (0, 1), 5), get(2, (1, 2), 0)]);
    accepts(&[put(1, (0, 1), 5), get(2, (1, 2), 5)]);
}

#[test]
fn a_call_without_a_reply_takes_effect_once_or_never() {
    let lost = || lost_put(0, None, 5);
    accepts(&[lost()]);
    accepts(&[lost(), get(1, (1, 2), 0)]);
    accepts(&[lost(), get(1, (1, 2), 0), get(1, (3, 4), 5), get(1, (5, 6), 5)]);
    rejects(&[lost(), get(1, (1, 2), 5), get(1, (3, 4), 0)]);
    rejects(&[lost(), get(1, (1, 2), 5), put(1, (3, 4), 6), get(1, (5, 6), 5)]);
    rejects(&[get(1, (1, 2), 5), lost_put(3, None, 5)]);
}

#[test]
fn a_settled_call_takes_no_effect_later() {
    let settled = || lost_put(0, Some(3), 5);
    accepts(&[settled(), get(1, (1, 2), 0), get(1, (4, 5), 5)]);
    accepts(&[settled(), get(1, (1, 2), 0), get(1, (4, 5), 0)]);
    rejects(&[settled(), get(1, (4, 5), 0), get(1, (6, 7), 5)]);
    accepts(&[lost_put(0, None, 5), get(1, (4, 5), 0), get(1, (6, 7), 5)]);
}

#[test]
fn a_violation_shows_the_longest_order_and_what_does_not_fit() {
    let history = [put(1, (0, 1), 5), put(2, (2, 3), 6), get(3, (4, 6), 5), get(4, (5, 7), 6)];
    let violation = rejects(&history);
    assert_eq!((violation.placed(), violation.stuck()), (&[0, 1, 3][..], &[2][..]));
    let expected = "\
no order explains the history of 4 operations; the longest explains 3:
  #0 client 1 [0, 1] Put(0, 5) -> Done
  #1 client 2 [2, 3] Put(0, 6) -> Done
  #3 client 4 [5, 7] Get(0) -> Number(6)
then the state is {0: 6}
and none of these can come next:
  #2 client 3 [4, 6] Get(0) -> Number(5)
";
    assert_eq!(violation.to_string(), expected);
}

/// Tries every subset of the unanswered operations in every order. Obviously correct, and slow.
fn some_order_explains(history: &[Operation<Map>]) -> bool {
    let unanswered: Vec<usize> =
        (0..history.len()).filter(|&index| history[index].reply.is_none()).collect();
    (0..1_u32 << unanswered.len()).any(|subset| {
        let left_out = |index: usize| {
            let position = unanswered.iter().position(|&unanswered| unanswered == index);
            position.is_some_and(|position| subset >> position & 1 == 1)
        };
        let taken: Vec<_> = (0..history.len()).filter(|&index| !left_out(index)).collect();
        explains(history, &taken, &Numbers::new())
    })
}

fn explains(history: &[Operation<Map>], left: &[usize], state: &Numbers) -> bool {
    left.is_empty()
        || left.iter().any(|&next| {
            let operation = &history[next];
            let ends_before = |&other: &usize| {
                history[other].returned.is_some_and(|returned| returned < operation.invoked)
            };
            let rest: Vec<usize> = left.iter().copied().filter(|&other| other != next).collect();
            !rest.iter().any(ends_before)
                && Map::step(state, &operation.call, operation.reply.as_ref())
                    .is_some_and(|state| explains(history, &rest, &state))
        })
}

/// A few operations with random times and replies, some of them correct.
fn small_history(random: &mut Random) -> History {
    let count = 2 + random.below(5);
    let operation = |client| {
        let invoked = random.below(10);
        let key = u8::from(random.chance(1, 2));
        let [number, other] = [random.below(3), random.below(3)];
        let (call, reply) = match random.below(6) {
            0 => (Call::Put(key, number), Reply::Done),
            1 => (Call::PutAll(vec![0, 1], number), Reply::Done),
            2 => (Call::Swap(key, number, other), Reply::Swapped(random.chance(1, 2))),
            3 => (Call::GetAll(vec![0, 1]), Reply::Numbers(vec![number, other])),
            _ => (Call::Get(key), Reply::Number(number)),
        };
        let returned = invoked + random.below(8);
        let reply = random.chance(2, 3).then_some(reply);
        let open = reply.is_none() && random.chance(1, 2);
        Operation { client, call, reply, invoked, returned: (!open).then_some(returned) }
    };
    (0..count as usize).map(operation).collect()
}

#[test]
fn small_histories_agree_with_an_exhaustive_search() {
    let mut accepted = 0;
    for seed in 0..6_000 {
        let history = small_history(&mut Random::new(seed));
        let verdict = check(&history);
        assert_eq!(verdict.is_ok(), some_order_explains(&history), "seed {seed}: {history:#?}");
        accepted += u32::from(verdict.is_ok());
    }
    assert!((1_000..5_000).contains(&accepted), "{accepted} of 6000 were accepted");
}

/// How a simulated object behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Object {
    Atomic,
    /// Some reads return old values.
    Stale,
    /// A crash undoes the last few effects, answered or not.
    Forgetful,
}

/// The size of a simulated run.
#[derive(Clone, Copy)]
struct Size {
    operations: usize,
    clients: usize,
    keys: u64,
    /// One step in this many is a crash; no crashes if `None`.
    crash_every: Option<u64>,
}

/// Clients that call an object at random, each call in three steps that interleave with those of
/// the others: invoked, in effect, returned.
struct Simulation {
    random: Random,
    object: Object,
    size: Size,
    numbers: Numbers,
    /// The numbers before each of the latest effects.
    past: Vec<Numbers>,
    history: History,
    /// The call that each client waits for, and its reply if it has taken effect.
    waiting: Vec<Option<(usize, Option<Reply>)>>,
    clock: u64,
}

impl Simulation {
    fn run(object: Object, size: Size, seed: u64) -> History {
        let mut simulation = Simulation {
            random: Random::new(seed),
            object,
            size,
            numbers: Numbers::new(),
            past: Vec::new(),
            history: Vec::new(),
            waiting: vec![None; size.clients],
            clock: 0,
        };
        while simulation.history.len() < size.operations {
            simulation.step();
        }
        simulation.history
    }

    fn step(&mut self) {
        self.clock += 1;
        if self.size.crash_every.is_some_and(|every| self.random.chance(1, every)) {
            return self.crash();
        }
        let client = self.random.index(self.size.clients);
        match self.waiting[client].take() {
            None => {
                let call = self.any_call();
                let (invoked, index) = (self.clock, self.history.len());
                self.history.push(Operation { client, call, reply: None, invoked, returned: None });
                self.waiting[client] = Some((index, None));
            }
            Some((index, None)) => {
                let reply = self.perform(index);
                self.waiting[client] = Some((index, Some(reply)));
            }
            Some((index, reply)) => {
                self.history[index].reply = reply;
                self.history[index].returned = Some(self.clock);
            }
        }
    }

    fn any_call(&mut self) -> Call {
        let key = u8::try_from(self.random.below(self.size.keys)).unwrap();
        let number = 1 + self.clock;
        let keys = vec![0, u8::try_from(self.size.keys - 1).unwrap()];
        match self.random.below(10) {
            0..3 => Call::Put(key, number),
            3 => Call::Swap(key, self.numbers.get(&key).copied().unwrap_or_default(), number),
            4 => Call::PutAll(keys, number),
            5 => Call::GetAll(keys),
            _ => Call::Get(key),
        }
    }

    fn perform(&mut self, index: usize) -> Reply {
        let call = &self.history[index].call;
        let reads = matches!(call, Call::Get(_) | Call::GetAll(_));
        if self.object == Object::Stale && reads && self.random.chance(1, 10) {
            let old = self.past.len().saturating_sub(8);
            return perform(&mut self.past.get(old).unwrap_or(&self.numbers).clone(), call);
        }
        let before = self.numbers.clone();
        let reply = perform(&mut self.numbers, call);
        if before != self.numbers {
            self.past.push(before);
        }
        reply
    }

    /// Drops all pending replies; calls that have not taken effect never will.
    fn crash(&mut self) {
        if self.object == Object::Forgetful {
            let kept = self.past.len().saturating_sub(8);
            self.numbers = self.past.drain(kept..).next().unwrap_or_default();
        }
        for (index, _) in self.waiting.iter_mut().filter_map(Option::take) {
            self.history[index].returned = Some(self.clock);
        }
    }
}

const LARGE: Size = Size { operations: 2_000, clients: 8, keys: 3, crash_every: None };
const SMALL: Size = Size { operations: 200, clients: 5, keys: 3, crash_every: None };

#[test]
fn large_histories_of_an_atomic_object_are_accepted() {
    for seed in 0..5 {
        accepts(&Simulation::run(Object::Atomic, LARGE, seed));
        accepts(&Simulation::run(Object::Atomic, Size { crash_every: Some(100), ..LARGE }, seed));
    }
}

#[test]
fn stale_reads_are_found_in_large_histories() {
    for seed in 0..5 {
        rejects(&Simulation::run(Object::Stale, LARGE, seed));
    }
}

#[test]
fn writes_undone_by_a_crash_are_found() {
    let size = Size { crash_every: Some(100), ..SMALL };
    for seed in 0..50 {
        accepts(&Simulation::run(Object::Atomic, size, seed));
    }
    let caught = (0..50)
        .filter(|&seed| check(&Simulation::run(Object::Forgetful, size, seed)).is_err())
        .count();
    assert!(caught > 40, "caught {caught} of 50");
}

#[test]
fn a_wrong_reply_is_usually_found() {
    let mut found = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut history = Simulation::run(Object::Atomic, SMALL, seed);
        let reads: Vec<usize> = (0..history.len())
            .filter(|&index| matches!(history[index].reply, Some(Reply::Number(_))))
            .collect();
        // The reply of another read of the run, which often was correct a little earlier or later.
        let read = reads[random.index(reads.len())];
        let other = reads[random.index(reads.len())];
        history[read].reply = history[other].reply.clone();
        found += u32::from(check(&history).is_err());
    }
    assert!(found > 150, "found {found} of 200");
}

#[test]
fn calls_that_never_return_do_not_stop_the_search() {
    let mut history = Simulation::run(Object::Atomic, SMALL, 3);
    for number in 0..10 {
        history.push(lost_put(0, None, 1_000_000 + number));
    }
    accepts(&history);
    // One of them is observed at the end: only it can explain the reply.
    history.push(get(1, (1 << 40, 1 << 41), 1_000_004));
    accepts(&history);
}

#[test]
fn threads_that_share_an_atomic_object_are_accepted() {
    let recorder = Recorder::<Map>::new();
    let object = Mutex::new(Numbers::new());
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (recorder, object) = (&recorder, &object);
            scope.spawn(move || {
                let mut random = Random::new(client as u64);
                for number in 0..250 {
                    let key = u8::try_from(random.below(3)).unwrap();
                    let write = random.chance(1, 2);
                    let call = if write { Call::Put(key, number) } else { Call::Get(key) };
                    let ticket = recorder.invoke(client, call.clone());
                    let reply = perform(&mut object.lock().unwrap(), &call);
                    recorder.reply(ticket, reply);
                }
            });
        }
    });
    let history = recorder.history();
    assert_eq!(history.len(), 2_000);
    accepts(&history);
}

#[test]
fn a_recorder_settles_unanswered_calls() {
    let recorder = Recorder::<Map>::new();
    recorder.invoke(1, Call::Put(0, 5));
    recorder.settle();
    let later = recorder.invoke(2, Call::Get(0));
    recorder.reply(later, Reply::Number(0));
    let history = recorder.history();
    assert_eq!((history[0].invoked, history[0].returned), (0, Some(1)));
    assert_eq!((history[1].invoked, history[1].returned), (2, Some(3)));
    accepts(&history);
}
