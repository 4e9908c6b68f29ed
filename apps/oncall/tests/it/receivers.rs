//! Receivers in a simulated world: they fail, refuse and delay, and record every message. They read the
//! store to assert that no message is sent for the first time after its search has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use keyloom::events::Failure;
use keyloom::{Clock, Db, Entropy, Value};
use keyloom_oncall::{Accepted, Message, SendFuture, Transport};
use keyloom_testkit::pausing::Pause;
use keyloom_testkit::{ManualClock, Random};
use pollster::block_on;

/// All receivers.
#[derive(Debug)]
pub(crate) struct Receivers {
    clock: ManualClock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Random,
    manner: Manner,
    known: Known,
    came: Vec<Came>,
    refused: BTreeSet<String>,
    /// When delivery was first attempted, by key.
    met: BTreeMap<String, i64>,
}

/// What receivers know about searches when a message arrives.
#[derive(Debug)]
pub(crate) enum Known {
    Nothing,
    /// The current store, which nothing else writes to.
    Now(Db),
    /// The searches that had ended when the worker reached its last pause. A store with its own thread can
    /// have ended others since.
    Ended(BTreeSet<String>),
}

/// The behavior of receivers: percentages of messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    pub(crate) fail: u64,
    pub(crate) refuse: u64,
    /// Delayed, while anything can happen.
    pub(crate) slow: u64,
}

/// A received message.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) time_ms: i64,
    pub(crate) message: Message,
}

impl Receivers {
    pub(crate) fn new(seed: u64, clock: &ManualClock) -> Arc<Receivers> {
        let state = State {
            random: Random::new(seed),
            manner: Manner::default(),
            known: Known::Nothing,
            came: vec![],
            refused: BTreeSet::new(),
            met: BTreeMap::new(),
        };
        Arc::new(Receivers { clock: clock.clone(), state: Mutex::new(state) })
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    pub(crate) fn know(&self, known: Known) {
        self.state.lock().unwrap().known = known;
    }

    /// All received messages, in order.
    pub(crate) fn came(&self) -> Vec<Came> {
        self.state.lock().unwrap().came.clone()
    }

    /// The keys of permanently refused messages.
    pub(crate) fn refused(&self) -> BTreeSet<String> {
        self.state.lock().unwrap().refused.clone()
    }

    /// When delivery of each message was first attempted, by key.
    pub(crate) fn met(&self) -> BTreeMap<String, i64> {
        self.state.lock().unwrap().met.clone()
    }

    /// The number of pauses, and whether the message is accepted.
    fn meet(&self, message: &Message) -> (u64, Result<(), Failure>) {
        let mut state = self.state.lock().unwrap();
        self.assert_in_time(&state, message);
        let time_ms = i64::try_from(self.clock.now().0).unwrap();
        state.met.entry(message.key.clone()).or_insert(time_ms);
        let (fate, manner) = (state.random.below(100), state.manner);
        let pauses = match state.random.below(100) < manner.slow {
            true => state.random.below(40),
            false => 0,
        };
        if fate < manner.fail {
            return (pauses, Err(Failure::new("The receiver is down.")));
        }
        // A message that was accepted before is not refused.
        let is_known = state.came.iter().any(|came| came.message.key == message.key);
        if fate < manner.fail + manner.refuse && !is_known {
            state.refused.insert(message.key.clone());
            return (pauses, Err(Failure::fatal("The receiver refused it: status 400.")));
        }
        state.came.push(Came { time_ms, message: message.clone() });
        (pauses, Ok(()))
    }

    /// Asserts that the search is active when a message is sent.
    fn assert_in_time(&self, state: &State, message: &Message) {
        let has_ended = match &state.known {
            Known::Nothing => false,
            Known::Ended(searches) => searches.contains(&message.search),
            Known::Now(db) => has_ended(&db.tenant(Value::from(message.domain.as_str())), message),
        };
        assert!(!has_ended, "{message:?} comes after the end");
    }
}

fn has_ended(domain: &Db, message: &Message) -> bool {
    let search = block_on(domain.get("search", &message.search)).expect("the store answers");
    let search = search.expect("nobody deletes searches here");
    search.get("status") != Some(&"active".into())
}

impl Transport for Receivers {
    fn send(&self, message: Message) -> SendFuture<'_> {
        Box::pin(async move {
            let (pauses, met) = self.meet(&message);
            for _ in 0..pauses {
                Pause::default().await;
            }
            met.map(|()| Accepted { reference: Some(format!("r-{}", message.key)) })
        })
    }
}

/// Deterministic random bytes from a source that fails for a percentage of calls.
#[derive(Debug)]
pub(crate) struct Faulty(pub(crate) Mutex<(Random, u64)>);

impl Entropy for Faulty {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut state = self.0.lock().unwrap();
        if state.0.below(100) < state.1 {
            return Err(std::io::Error::other("there is no randomness"));
        }
        bytes.fill_with(|| state.0.next_u64() as u8);
        Ok(())
    }
}

/// Deterministic random bytes.
#[derive(Debug)]
pub(crate) struct Seeded(pub(crate) Mutex<Random>);

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let mut random = self.0.lock().unwrap();
        bytes.fill_with(|| random.next_u64() as u8);
        Ok(())
    }
}
