//! Runs queries that are followed: again whenever what they have read changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use keyloom::User;
use keyloom::live::{Live, Moment};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::super::call::Call;
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::service::{RestService, Stopped};
use super::query::{LiveQuery, Shown};
use super::seen::Seen;
use crate::fair::Weight;
use crate::race::{Either, race};

/// How long at least between two runs: changes meanwhile are one step for clients.
const GAP: Duration = Duration::from_millis(10);
/// How long a query runs after its last client has gone, so that one that reconnects finds it.
const LINGER: Duration = Duration::from_secs(30);

/// The queries that are followed.
#[derive(Debug, Default)]
pub(crate) struct LiveQueries(Mutex<HashMap<Key, Arc<LiveQuery>>>);

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
    /// Follows the query of a call; starts it if nobody follows it yet.
    pub(super) fn follow(&self, service: &Arc<RestService>, index: usize, call: Call) -> Followed {
        let key = Key {
            operation: index,
            tenant: call.caller.tenant.clone(),
            role: call.caller.role,
            is_bound: call.caller.is_bound,
            user: call.caller.user.clone(),
            values: call.values.clone(),
            parameters: call.parameters.clone(),
        };
        let mut open = self.lock();
        if let Some(query) = open.get(&key) {
            return Followed { query: query.clone(), shown: query.shown.subscribe() };
        }
        let query = Arc::new(LiveQuery::new());
        let shown = query.shown.subscribe();
        open.insert(key.clone(), query.clone());
        // Conditions such as `If-None-Match` are about one response.
        let call = Call { headers: HeaderMap::new(), ..call };
        let runner = Runner { service: service.clone(), index, call, query: query.clone() };
        tokio::spawn(runner.run(key));
        Followed { query, shown }
    }

    /// Ends a query if nobody follows it. Whoever wants to waits for the same lock.
    fn end_if_unused(&self, key: &Key, query: &LiveQuery) -> bool {
        let mut open = self.lock();
        let is_unused = query.shown.receiver_count() == 0;
        if is_unused {
            open.remove(key);
        }
        is_unused
    }

    fn end(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<LiveQuery>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut live = self.call.db.live();
        loop {
            let begun = Instant::now();
            let queries = &self.service.live;
            match race(self.abandoned(), self.once(&mut live)).await {
                Either::Left(()) if queries.end_if_unused(&key, &self.query) => return,
                Either::Left(()) => continue,
                Either::Right(Ok(())) => sleep_until(begun + GAP).await,
                Either::Right(Err(problem)) => {
                    queries.end(&key);
                    self.query.shown.send_replace(Shown::Failed(Arc::new(problem)));
                    return;
                }
            }
        }
    }

    /// Waits until nobody has followed the query for a while.
    async fn abandoned(&self) {
        loop {
            self.query.shown.closed().await;
            sleep(LINGER).await;
            if self.query.shown.receiver_count() == 0 {
                return;
            }
        }
    }

    /// Waits for a change, and runs the query.
    async fn once(&self, live: &mut Live) -> Result<(), Problem> {
        let Moment { db, position } = live.next().await?;
        let edge = &self.call.origin.edge;
        let (service, index) = (self.service.clone(), self.index);
        let call = Call { db, ..self.call.clone() };
        let answer = async move { service.answer(call, index).await };
        let answered = edge.pool.run(Weight::of_body(0), answer);
        let position = position.to_string();
        let seen = match timeout(edge.limits.answer_time, answered).await {
            Ok(Ok(reply)) => {
                let body = String::from_utf8(reply.body).unwrap_or_default();
                Seen::new(position, &body, self.query.last().as_deref())
            }
            Ok(Err(Stopped::Problem(problem))) if self.is_gone(&problem) => Seen::nothing(position),
            Ok(Err(Stopped::Problem(problem))) => return Err(problem),
            Ok(Err(Stopped::Refusal(refusal))) => return Err(refusal.into()),
            Err(_) => return Err(crate::http::refusal::Refusal::Overdue.into()),
        };
        self.query.show(seen);
        Ok(())
    }

    /// Whether the one entity that was there is not there any more.
    fn is_gone(&self, problem: &Problem) -> bool {
        let is_one = self.service.operations[self.index].action.is_read_of_one();
        is_one && problem.kind() == Kind::NotFound && self.query.last().is_some()
    }
}
