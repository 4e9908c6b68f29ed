//! The steps of hunts: jobs that read where a hunt is, ask the state machine, and write what it
//! says in one transaction, under the version of the search that was read.
//!
//! Every step counts `step` of its search up and schedules the one after it. So a step that is run
//! again, or comes late, finds another number and does nothing; and of a step, an answer and a
//! cancellation at the same moment exactly one changes the search.

use keyloom::events::{Effects, Event, Failure, Job};
use keyloom::{Change, Db, Error, Number, Record, Value};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::deliver::has_met_receiver;
use crate::hunt::{self, Leg, Messages, Move, Place, Stage};
use crate::rows::{Attempt, AttemptStatus, Method, Search, Status, read, text};

/// The kind of jobs that are steps.
pub(crate) const STEP: &str = "step";
/// The kind of jobs that deliver.
pub(crate) const DELIVER: &str = "deliver";
/// As many methods of a contact as are looked at.
const METHODS_MAX: u32 = 1000;
/// Nobody answers faster, and a message takes a moment to go out.
const PATIENCE_MS_MIN: i64 = 500;

/// What the job of a step carries.
#[derive(Debug, Serialize, Deserialize)]
struct Step {
    search: String,
    number: i64,
    leg: Leg,
}

/// What the job of a delivery carries.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Errand {
    pub(crate) search: String,
    pub(crate) attempt: String,
}

/// What a job of ours carries.
#[derive(Deserialize)]
pub(crate) struct Carrying<T> {
    pub(crate) payload: T,
}

/// The id of the job that delivers an attempt.
pub(crate) fn delivery_id(attempt: &str) -> String {
    format!("{DELIVER}.{attempt}")
}

/// A search was opened: its hunt begins. A repetition of the event does nothing.
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

/// One step of a hunt.
pub(crate) async fn step(job: Record, db: Db, now_ms: i64) -> Result<Effects, Failure> {
    let Carrying { payload: step } = job.to::<Carrying<Step>>()?;
    let Some((search, _)) = read::<Search>(&db, "search", &step.search).await? else {
        return Ok(Effects::new().result("The search is gone."));
    };
    if search.status != Status::Active || search.step != step.number {
        return Ok(Effects::new().result("The search has gone on without this step."));
    }
    let (ground, decided) = decide(&db, &search, &step.leg, now_ms).await?;
    effects(&search, &ground, (step.leg, decided), now_ms)
}

/// The next move of a hunt at a time, by what the store says now.
async fn decide(db: &Db, search: &Search, leg: &Leg, now_ms: i64) -> Result<(Ground, Move), Error> {
    let mut ground = Ground::read(db, search, leg.stage).await?;
    loop {
        let decided = hunt::next(leg, &ground.stage, now_ms);
        if let Move::Use { methods, .. } = &decided
            && ground.mark_used(db, (search, leg.stage), methods).await?
        {
            continue;
        }
        return Ok((ground, decided));
    }
}

/// What a hunt does next, unless somebody ends the search first.
#[derive(Debug)]
pub(crate) struct Upcoming {
    pub(crate) time_ms: i64,
    pub(crate) what: Planned,
}

/// A move that is planned.
#[derive(Debug)]
pub(crate) enum Planned {
    /// Messages to the contact of the current stage.
    Messages {
        /// Their name.
        name: String,
        /// How they are reached.
        methods: Vec<Method>,
    },
    /// The next contact has its turn.
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
    let Carrying { payload: step } = job.to::<Carrying<Step>>()?;
    let due = job.get("due").and_then(Value::as_n).and_then(Number::to_i64);
    let mut time_ms = due.unwrap_or_default();
    let (mut ground, mut decided) = decide(db, search, &step.leg, time_ms).await?;
    // A wait that was made longer ends later than the step is due.
    if let Move::Wait { until_ms } = decided {
        time_ms = until_ms;
        (ground, decided) = decide(db, search, &step.leg, time_ms).await?;
    }
    let what = match decided {
        Move::Wait { .. } => return Ok(None),
        Move::Use { methods, .. } => {
            let is_used = |method: &Method| methods.iter().any(|place| place.method == method.id);
            let methods = ground.methods.into_iter().filter(is_used).collect();
            Planned::Messages { name: ground.name, methods }
        }
        Move::Escalate { .. } => Planned::Escalation,
        Move::Fail => Planned::Failure,
    };
    Ok(Some(Upcoming { time_ms, what }))
}

/// What a step goes by, beside the search: whom the hunt is at, and how they are reached.
struct Ground {
    name: String,
    methods: Vec<Method>,
    stage: Stage,
}

impl Ground {
    async fn read(db: &Db, search: &Search, stage: u32) -> Result<Ground, Error> {
        let family = match search.contact_at(stage) {
            Some(contact) => contact_with_methods(db, contact).await?,
            None => None,
        };
        let (name, methods) = family.unwrap_or_default();
        let messages = messages(db, &search.id, stage).await?;
        let stage = Stage {
            messages,
            methods: methods.iter().map(as_hunted).collect(),
            patience_ms: search.patience_seconds.saturating_mul(1000).max(PATIENCE_MS_MIN),
            is_last: search.contact_at(stage.saturating_add(1)).is_none(),
        };
        Ok(Ground { name, methods, stage })
    }

    /// Whether some of the methods were used before in this stage; they are marked then.
    async fn mark_used(
        &mut self,
        db: &Db,
        (search, stage): (&Search, u32),
        places: &[Place],
    ) -> Result<bool, Error> {
        let mut is_any = false;
        for place in places {
            let id = attempt_id(&search.id, stage, &place.method);
            if db.get("attempt", &id).await?.is_some() {
                is_any = true;
                let mut methods = self.stage.methods.iter_mut();
                if let Some(used) = methods.find(|method| method.place == *place) {
                    used.is_used = true;
                }
            }
        }
        Ok(is_any)
    }
}

/// What has become of the messages of a stage.
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

/// Whether a receiver had its chance to take a message and did not. One of which nothing is known is
/// being delivered, or its process was killed before that was written down; one that could not be
/// sent for reasons of ours is tried again.
async fn is_tried(db: &Db, attempt: &str) -> Result<bool, Error> {
    let job = db.get("job", &delivery_id(attempt)).await?;
    Ok(job
        .is_none_or(|job| has_met_receiver(text(&job, "error")) || has_ended(text(&job, "status"))))
}

fn has_ended(status: &str) -> bool {
    ["done", "failed", "canceled"].contains(&status)
}

/// None if there is no such contact, or what is named is none.
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

fn as_hunted(method: &Method) -> hunt::Method {
    hunt::Method {
        place: Place { position: method.position, method: method.id.clone() },
        wait_ms: method.wait_seconds.saturating_mul(1000),
        is_enabled: method.enabled,
        is_used: false,
    }
}

/// What is written for a move: the search, attempts with their deliveries, and the next step.
fn effects(
    search: &Search,
    ground: &Ground,
    (leg, decided): (Leg, Move),
    now_ms: i64,
) -> Result<Effects, Failure> {
    let (stage, mut used) = (leg.stage, vec![]);
    let (mut patch, onward) = match decided {
        Move::Wait { until_ms } => (json!({}), Some((leg, until_ms))),
        Move::Use { methods, next } => {
            used = methods;
            // As if they were delivered at once: the next step finds out.
            let sent =
                Stage { messages: Messages::Tried { last_ms: now_ms }, ..ground.stage.clone() };
            let look_ms = match hunt::next(&next, &sent, now_ms) {
                Move::Wait { until_ms } => until_ms,
                Move::Use { .. } | Move::Escalate { .. } | Move::Fail => now_ms,
            };
            (json!({}), Some((next, look_ms)))
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
    for method in ground.methods.iter().filter(|method| used.iter().any(|u| u.method == method.id))
    {
        let attempt = attempt(search, ground, (stage, method), now_ms);
        let id = attempt_id(&search.id, stage, &method.id);
        let errand = Errand { search: search.id.clone(), attempt: id.clone() };
        let delivery = Job::new(DELIVER).id(delivery_id(&id)).payload(&errand)?;
        effects = effects.change(Change::create("attempt", &attempt)?).schedule(delivery);
    }
    if let Some((leg, due_ms)) = onward {
        effects = effects.schedule(step_job(&search.id, number, leg)?.at_ms(due_ms));
    }
    Ok(effects)
}

fn attempt(
    search: &Search,
    ground: &Ground,
    (stage, method): (u32, &Method),
    now_ms: i64,
) -> serde_json::Value {
    json!({
        "id": attempt_id(&search.id, stage, &method.id),
        "search": search.id,
        "stage": stage,
        "contact": search.contact_at(stage).unwrap_or_default(),
        "name": ground.name,
        "method": method.id,
        "kind": method.kind.word(),
        "destination": method.destination,
        "position": method.position,
        "created": now_ms,
    })
}

/// One for each method in each stage of a search.
pub(crate) fn attempt_id(search: &str, stage: u32, method: &str) -> String {
    format!("{search}.{stage}.{method}")
}

fn step_id(search: &str, number: i64) -> String {
    format!("{STEP}.{search}.{number}")
}

fn step_job(search: &str, number: i64, leg: Leg) -> Result<Job, Error> {
    let step = Step { search: search.to_owned(), number, leg };
    Job::new(STEP).id(step_id(search, number)).payload(&step)
}
