//! Runs queries that are followed: again whenever what they have read changes.

use std::collections::HashMap;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::HeaderMap;
use keyloom::User;
use keyloom::live::{Live, Moment};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::super::call::Call;
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::service::{RestService, Stopped};
use super::query::{LiveQuery, Shown};
use super::seen::Seen;
use crate::fair::Weight;
use crate::http::refusal::Refusal;
use crate::race::{Either, race};

/// How long at least between two runs: changes meanwhile are one step for clients.
const GAP: Duration = Duration::from_millis(10);
/// How long a query runs after its last client has gone, so that one that reconnects finds it.
const LINGER: Duration = Duration::from_secs(30);

/// The queries that are followed.
#[derive(Debug)]
pub(crate) struct LiveQueries {
    running: Mutex<HashMap<Key, Arc<LiveQuery>>>,
    count: Gauge,
}

/// What makes two queries the same: everything that their results depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    operation: usize,
    tenant: Option<String>,
    role: Role,
    is_bound: bool,
    user: Option<Arc<User>>,
    values: Vec<String>,
    parameters: Vec<(String, String)>,
}

/// A client's hold on a query.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) query: Arc<LiveQuery>,
    pub(super) shown: watch::Receiver<Shown>,
}

impl LiveQueries {
    /// None yet. The gauge counts them.
    pub(crate) fn new(count: Gauge) -> LiveQueries {
        LiveQueries { running: Mutex::default(), count }
    }

    /// Follows the query of a call; starts it if nobody follows it yet.
    pub(super) fn follow(&self, service: &Arc<RestService>, index: usize, call: &Call) -> Followed {
        let key = Key {
            operation: index,
            tenant: call.caller.tenant.clone(),
            role: call.caller.role,
            is_bound: call.caller.is_bound,
            user: call.caller.user.clone(),
            values: call.values.clone(),
            parameters: call.parameters.clone(),
        };
        let mut running = self.lock();
        if let Some(query) = running.get(&key) {
            return Followed { query: query.clone(), shown: query.shown.subscribe() };
        }
        let query = Arc::new(LiveQuery::new());
        let shown = query.shown.subscribe();
        running.insert(key.clone(), query.clone());
        self.count.inc();
        // Conditions such as `If-None-Match` are about one response, and the memory of its body is counted for it.
        let call = Call { headers: HeaderMap::new(), body: Bytes::new(), ..call.clone() };
        let runner = Runner { service: service.clone(), index, call, query: query.clone() };
        tokio::spawn(runner.run(key));
        Followed { query, shown }
    }

    /// Ends a query if nobody follows it. Whoever wants to follow it waits for the same lock.
    fn end_if_unused(&self, key: &Key, query: &LiveQuery) -> bool {
        let mut running = self.lock();
        let is_unused = query.shown.receiver_count() == 0;
        if is_unused {
            running.remove(key);
            self.count.dec();
        }
        is_unused
    }

    /// Ends a query. Returns whether it was running.
    fn end(&self, key: &Key, query: &Arc<LiveQuery>) -> bool {
        let mut running = self.lock();
        let is_running = running.get(key).is_some_and(|running| Arc::ptr_eq(running, query));
        if is_running {
            running.remove(key);
            self.count.dec();
        }
        is_running
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<LiveQuery>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a query whose task ends in any other way, with its thread or by a panic: whoever follows it is told, and the next
/// client starts it again.
struct Ending<'r> {
    runner: &'r Runner,
    key: &'r Key,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let Runner { service, query, .. } = self.runner;
        if service.live.end(self.key, query) {
            query.shown.send_replace(Shown::Failed(Arc::new(Refusal::Panicked.into())));
        }
    }
}

/// Runs one query.
struct Runner {
    service: Arc<RestService>,
    index: usize,
    call: Call,
    query: Arc<LiveQuery>,
}

impl Runner {
    async fn run(self, key: Key) {
        let (mut live, queries) = (self.call.db.live(), &self.service.live);
        let _ending = Ending { runner: &self, key: &key };
        // Not begun again with every run: a query that changes all the time would never end.
        let mut abandoned = pin!(self.abandoned());
        loop {
            let begun = Instant::now();
            let mut once = pin!(self.once(&mut live));
            let ran = loop {
                match race(abandoned.as_mut(), once.as_mut()).await {
                    Either::Left(()) if queries.end_if_unused(&key, &self.query) => return,
                    // Somebody came back. The run goes on: the change that it is about comes only once.
                    Either::Left(()) => abandoned.set(self.abandoned()),
                    Either::Right(ran) => break ran,
                }
            };
            match ran {
                Ok(()) => sleep_until(begun + GAP).await,
                Err(end) => {
                    queries.end(&key, &self.query);
                    self.query.shown.send_replace(end);
                    return;
                }
            }
        }
    }

    /// Waits until nobody has followed the query for a while. It counts as one of whoever has started it.
    async fn abandoned(&self) {
        let origin = &self.call.exchange.origin;
        loop {
            self.query.shown.closed().await;
            let Some(_permit) = origin.edge.lingering.enter(origin.ip()) else { return };
            sleep(LINGER).await;
            if self.query.shown.receiver_count() == 0 {
                return;
            }
        }
    }

    /// Waits for a change, and runs the query. Fails with how it ends.
    async fn once(&self, live: &mut Live) -> Result<(), Shown> {
        let moment = match race(self.replaced(), live.next()).await {
            Either::Left(()) => return Err(Shown::Over),
            Either::Right(moment) => moment.map_err(|error| self.ended_by(error.into()))?,
        };
        let seen = self.seen(moment).await.map_err(|problem| self.ended_by(problem))?;
        self.query.show(seen);
        Ok(())
    }

    /// Waits until the service of another model has replaced this one. What this one was asked for is answered
    /// once in any case: browsers do not connect again after another answer.
    async fn replaced(&self) {
        match self.query.last() {
            Some(_) => self.service.state.over().await,
            None => pending().await,
        }
    }

    /// How the query ends by a problem. One with another model than that of the query says nothing to clients: they
    /// get the answer of its service when they connect again.
    fn ended_by(&self, problem: Problem) -> Shown {
        match self.query.last() {
            Some(_) if self.service.is_outdated() => Shown::Over,
            Some(_) | None => Shown::Failed(Arc::new(problem)),
        }
    }

    /// Runs the query.
    async fn seen(&self, moment: Moment) -> Result<Seen, Problem> {
        let Moment { db, position } = moment;
        let edge = &self.call.exchange.origin.edge;
        let (service, index) = (self.service.clone(), self.index);
        let call = Call { db, ..self.call.clone() };
        let (position, before) = (position.to_string(), self.query.last());
        let (read_at, is_one) = (position.clone(), self.is_of_one());
        let see = async move {
            let reply = service.answer(call, index).await?;
            let body = String::from_utf8(reply.body).unwrap_or_default();
            Ok(match is_one {
                true => Seen::one(read_at, &body),
                false => Seen::new(read_at, &body, before.as_deref()),
            })
        };
        let seen = edge.pool.run(Weight::of_body(0), see);
        match timeout(edge.limits.answer_time, seen).await {
            Ok(Ok(seen)) => Ok(seen),
            Ok(Err(Stopped::Problem(problem))) if self.is_gone(&problem) => {
                Ok(Seen::nothing(position))
            }
            Ok(Err(Stopped::Problem(problem))) => Err(problem),
            Ok(Err(Stopped::Refusal(refusal))) => Err(refusal.into()),
            Err(_) => Err(Refusal::Overdue.into()),
        }
    }

    /// Whether the one entity that was there is not there any more, and an event can say so.
    fn is_gone(&self, problem: &Problem) -> bool {
        let is_shown = self.query.last().is_some_and(|last| !last.resembles_page());
        self.is_of_one() && problem.kind() == Kind::NotFound && is_shown
    }

    fn is_of_one(&self) -> bool {
        self.service.state.operations[self.index].action.is_read_of_one()
    }
}
