//! The steps of hunts: jobs that read the state of a hunt, ask the state machine for the next move, and
//! write it in one transaction, on condition that the search has the version that was read.
//!
//! Every step increments `step` of its search and schedules the next one. A step that is repeated or late
//! finds another number and does nothing; and of a concurrent step, answer and cancellation exactly one
//! changes the search.

use keyloom::events::{Effects, Event, Failure, Job};
use keyloom::{Change, Db, Error, Number, Record, Value};
use serde_json::json;

use crate::hunt::{self, Leg, Messages, MethodKey, Move, Stage};
use crate::jobs::{
    DELIVER, Delivery, Payload, Step, attempt_id, delivery_id, reached_receiver, step_id, step_job,
};
use crate::rows::{Attempt, AttemptStatus, Method, Search, Status, read, text};

/// The methods of a contact that are read.
const METHODS_MAX: u32 = 1000;
/// Nobody answers faster, and a message takes a moment to send.
const PATIENCE_MS_MIN: i64 = 500;

/// Starts the hunt of a new search. A repeated event does nothing.
pub(crate) async fn begin(event: Event, db: Db) -> Result<Effects, Failure> {
    let Some(search) = event.new else { return Ok(Effects::new()) };
    let search: Search = search.to()?;
    if search.status != Status::Active {
        return Ok(Effects::new());
    }
    let leg = Leg { stage: search.stage, since_ms: event.time_ms, after: None };
    let job = step_job(&search.id, search.step, leg)?;
    match db.get("job", &step_id(&search.id, search.step)).await? {
        Some(_) => Ok(Effects::new()),
        None => Ok(Effects::new().schedule(job)),
    }
}

/// Runs one step of a hunt.
pub(crate) async fn step(job: Record, db: Db, now_ms: i64) -> Result<Effects, Failure> {
    let Payload { payload: step } = job.to::<Payload<Step>>()?;
    let Some((search, _)) = read::<Search>(&db, "search", &step.search).await? else {
        return Ok(Effects::new().result("The search was deleted."));
    };
    if search.status != Status::Active || search.step != step.number {
        return Ok(Effects::new().result("The step was superseded."));
    }
    let (situation, decided) = decide(&db, &search, &step.leg, now_ms).await?;
    effects(&search, &situation, (step.leg, decided), now_ms)
}

/// The next move of a hunt at `now_ms`, by the current data.
async fn decide(
    db: &Db,
    search: &Search,
    leg: &Leg,
    now_ms: i64,
) -> Result<(Situation, Move), Error> {
    let mut situation = Situation::read(db, search, leg.stage).await?;
    loop {
        let decided = hunt::next(leg, &situation.stage, now_ms);
        if let Move::Use { methods, .. } = &decided
            && situation.mark_used(db, (search, leg.stage), methods).await?
        {
            continue;
        }
        return Ok((situation, decided));
    }
}

/// The next move of a hunt, unless the search ends first.
#[derive(Debug)]
pub(crate) struct Upcoming {
    pub(crate) time_ms: i64,
    pub(crate) what: Planned,
}

/// A planned move.
#[derive(Debug)]
pub(crate) enum Planned {
    /// Messages to the contact of the current stage.
    Messages {
        /// The name of the contact.
        name: String,
        /// The methods that will be used.
        methods: Vec<Method>,
    },
    /// Escalation to the next contact.
    Escalation,
    /// The search fails.
    Failure,
}

/// What the hunt of a search does next, by the methods as they are now. None if the search has
/// ended, or its next step is running or not scheduled yet.
pub(crate) async fn upcoming(db: &Db, search: &Search) -> Result<Option<Upcoming>, Error> {
    if search.status != Status::Active {
        return Ok(None);
    }
    let job = db.get("job", &step_id(&search.id, search.step)).await?;
    let Some(job) = job.filter(|job| text(job, "status") == "waiting") else { return Ok(None) };
    let Payload { payload: step } = job.to::<Payload<Step>>()?;
    let due = job.get("due").and_then(Value::as_n).and_then(Number::to_i64);
    let mut time_ms = due.unwrap_or_default();
    let (mut situation, mut decided) = decide(db, search, &step.leg, time_ms).await?;
    // A wait that was extended ends after the step is due.
    if let Move::Wait { until_ms } = decided {
        time_ms = until_ms;
        (situation, decided) = decide(db, search, &step.leg, time_ms).await?;
    }
    let what = match decided {
        Move::Wait { .. } => return Ok(None),
        Move::Use { methods, .. } => {
            let is_used = |method: &Method| methods.iter().any(|key| key.method == method.id);
            let methods = situation.methods.into_iter().filter(is_used).collect();
            Planned::Messages { name: situation.name, methods }
        }
        Move::Escalate { .. } => Planned::Escalation,
        Move::Fail => Planned::Failure,
    };
    Ok(Some(Upcoming { time_ms, what }))
}

/// What a step decides by, beside the search: the current contact and its methods.
struct Situation {
    name: String,
    methods: Vec<Method>,
    stage: Stage,
}

impl Situation {
    async fn read(db: &Db, search: &Search, stage: u32) -> Result<Situation, Error> {
        let contact = match search.contact_at(stage) {
            Some(contact) => contact_with_methods(db, contact).await?,
            None => None,
        };
        let (name, methods) = contact.unwrap_or_default();
        let messages = messages(db, &search.id, stage).await?;
        let stage = Stage {
            messages,
            methods: methods.iter().map(hunt_method).collect(),
            patience_ms: search.patience_seconds.saturating_mul(1000).max(PATIENCE_MS_MIN),
            is_last: search.contact_at(stage.saturating_add(1)).is_none(),
        };
        Ok(Situation { name, methods, stage })
    }

    /// Marks those of the methods that were used before in this stage; whether there are any.
    async fn mark_used(
        &mut self,
        db: &Db,
        (search, stage): (&Search, u32),
        keys: &[MethodKey],
    ) -> Result<bool, Error> {
        let mut is_any = false;
        for key in keys {
            let id = attempt_id(&search.id, stage, &key.method);
            if db.get("attempt", &id).await?.is_some() {
                is_any = true;
                let mut methods = self.stage.methods.iter_mut();
                if let Some(used) = methods.find(|method| method.key == *key) {
                    used.is_used = true;
                }
            }
        }
        Ok(is_any)
    }
}

/// The delivery state of the messages of a stage.
async fn messages(db: &Db, search: &str, stage: u32) -> Result<Messages, Error> {
    let list =
        db.list("attempt", "by_search").by("search", search).equal("stage", i64::from(stage));
    let attempts = list.limit(METHODS_MAX).read().await?.items;
    let mut last_ms = i64::MIN;
    for attempt in attempts {
        let attempt: Attempt = attempt.to()?;
        let tried_ms = match attempt.status {
            AttemptStatus::Delivered => attempt.delivered.unwrap_or(attempt.created),
            AttemptStatus::Dropped => attempt.created,
            AttemptStatus::Waiting if is_tried(db, &attempt.id).await? => attempt.created,
            AttemptStatus::Waiting => return Ok(Messages::Untried),
        };
        last_ms = last_ms.max(tried_ms);
    }
    Ok(Messages::Tried { last_ms })
}

/// Whether the receiver of an undelivered message has failed to accept it. Without a recorded error it is
/// being delivered, or its process was killed before it could record one. A message that the service
/// itself could not send is retried.
async fn is_tried(db: &Db, attempt: &str) -> Result<bool, Error> {
    let job = db.get("job", &delivery_id(attempt)).await?;
    Ok(job
        .is_none_or(|job| reached_receiver(text(&job, "error")) || has_ended(text(&job, "status"))))
}

fn has_ended(status: &str) -> bool {
    ["done", "failed", "canceled"].contains(&status)
}

/// None if the contact does not exist, or its id is invalid.
async fn contact_with_methods(
    db: &Db,
    contact: &str,
) -> Result<Option<(String, Vec<Method>)>, Error> {
    let found = match db.with_children("contact", contact, Some("method"), METHODS_MAX).await {
        Err(Error::Id { .. }) => None,
        found => found?,
    };
    let Some(found) = found else { return Ok(None) };
    let methods: Result<Vec<Method>, Error> = found.children.iter().map(Record::to).collect();
    Ok(Some((text(&found.parent, "name").to_owned(), methods?)))
}

fn hunt_method(method: &Method) -> hunt::Method {
    hunt::Method {
        key: MethodKey { position: method.position, method: method.id.clone() },
        wait_ms: method.wait_seconds.saturating_mul(1000),
        is_enabled: method.enabled,
        is_used: false,
    }
}

/// The writes of a move: the search, attempts with their deliveries, and the next step.
fn effects(
    search: &Search,
    situation: &Situation,
    (leg, decided): (Leg, Move),
    now_ms: i64,
) -> Result<Effects, Failure> {
    let (stage, mut used) = (leg.stage, vec![]);
    let (mut patch, onward) = match decided {
        Move::Wait { until_ms } => (json!({}), Some((leg, until_ms))),
        Move::Use { methods, next } => {
            used = methods;
            // Assumes immediate delivery; the next step checks.
            let sent =
                Stage { messages: Messages::Tried { last_ms: now_ms }, ..situation.stage.clone() };
            let due_ms = match hunt::next(&next, &sent, now_ms) {
                Move::Wait { until_ms } => until_ms,
                Move::Use { .. } | Move::Escalate { .. } | Move::Fail => now_ms,
            };
            (json!({}), Some((next, due_ms)))
        }
        Move::Escalate { next } => {
            let escalated = [&search.escalated[..], &[now_ms]].concat();
            (json!({ "stage": next.stage, "escalated": escalated }), Some((next, now_ms)))
        }
        Move::Fail => {
            let resolution = json!({ "by": "the hunt", "reason": "Nobody answered." });
            let status = Status::Failed.word();
            (json!({ "status": status, "ended": now_ms, "resolution": resolution }), None)
        }
    };
    let number = search.step.saturating_add(1);
    patch["step"] = json!(number);
    let change = Change::update("search", &search.id, &patch)?.expecting(&search.version);
    let mut effects = Effects::new().change(change);
    for method in
        situation.methods.iter().filter(|method| used.iter().any(|u| u.method == method.id))
    {
        let attempt = attempt(search, situation, (stage, method), now_ms);
        let id = attempt_id(&search.id, stage, &method.id);
        let delivery = Delivery { search: search.id.clone(), attempt: id.clone() };
        let job = Job::new(DELIVER).id(delivery_id(&id)).payload(&delivery)?;
        effects = effects.change(Change::create("attempt", &attempt)?).schedule(job);
    }
    if let Some((leg, due_ms)) = onward {
        effects = effects.schedule(step_job(&search.id, number, leg)?.at_ms(due_ms));
    }
    Ok(effects)
}

fn attempt(
    search: &Search,
    situation: &Situation,
    (stage, method): (u32, &Method),
    now_ms: i64,
) -> serde_json::Value {
    json!({
        "id": attempt_id(&search.id, stage, &method.id),
        "search": search.id,
        "stage": stage,
        "contact": search.contact_at(stage).unwrap_or_default(),
        "name": situation.name,
        "method": method.id,
        "kind": method.kind.word(),
        "destination": method.destination,
        "position": method.position,
        "created": now_ms,
    })
}
