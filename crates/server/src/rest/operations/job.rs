//! `POST /jobs/{id}/replay`, `cancel`, `reschedule`. Clients cannot write jobs as they write other entities:
//! the library changes their state.

use hyper::{Method, StatusCode};
use keyloom::Value;
use keyloom_model::{Entity, EntityId, FieldType, Model};
use serde_json::json;

use super::super::call::{Call, Reply};
use super::super::openapi::{Answer, AnswerHeader, BODY, Body, Description, Group};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::problem::{Kind, Problem};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;

/// What a client can do with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobStep {
    /// Retries a dead letter.
    Replay,
    Cancel,
    Reschedule,
}

impl JobStep {
    pub(super) const ALL: [JobStep; 3] = [JobStep::Replay, JobStep::Cancel, JobStep::Reschedule];

    fn word(self) -> &'static str {
        match self {
            JobStep::Replay => "replay",
            JobStep::Cancel => "cancel",
            JobStep::Reschedule => "reschedule",
        }
    }
}

#[derive(Debug)]
struct JobAction(EntityId, JobStep);

pub(super) fn job(id: EntityId, entity: &Entity, step: JobStep) -> Operation {
    let path = [Segment::path_of_one(entity), vec![Segment::text(step.word())]].concat();
    let name = format!("{}_{}", step.word(), entity.name);
    Operation::new(name, Method::POST, path, JobAction(id, step))
}

impl Action for JobAction {
    fn access(&self) -> Access {
        Access::Role(Role::Admin)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0)
    }

    fn describe(&self, model: &Model) -> Description {
        let JobAction(id, step) = self;
        let summary = match step {
            JobStep::Replay => "Retry a failed or canceled job",
            JobStep::Cancel => "Cancel a job",
            JobStep::Reschedule => "Reschedule a waiting job",
        };
        let job = Answer::entity(model, *id, 200, "The updated job.");
        let description = Description {
            answers: vec![job.with(&[AnswerHeader::ETag])],
            problems: vec![Kind::BadParameter, Kind::NotFound, Kind::WrongState],
            ..Description::new(Group::Entity(*id), summary)
        };
        match step {
            JobStep::Replay | JobStep::Cancel => description,
            JobStep::Reschedule => with_due(description),
        }
    }

    fn run<'c>(&'c self, _: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, self.1))
    }
}

/// Adds the body with the new time.
fn with_due(mut description: Description) -> Description {
    let schema = json!({
        "type": "object",
        "properties": { "due": { "type": "string", "format": "date-time" } },
        "required": ["due"],
        "additionalProperties": false,
    });
    description.details.push("The body has the new time: `due`.".to_owned());
    description.body = Some(Body::json(schema, Some(json!({ "due": "2030-01-01T00:00:00Z" }))));
    description.problems.extend([BODY, &[Kind::Invalid]].concat());
    description
}

async fn run(call: &Call, step: JobStep) -> Result<Reply, Problem> {
    call.check_parameters(&[])?;
    let id = call.value(0);
    let job = match step {
        JobStep::Replay => call.db.replay(id).await?,
        JobStep::Cancel => call.db.cancel(id).await?,
        JobStep::Reschedule => call.db.reschedule(id, due(call)?).await?,
    };
    Ok(Reply::record(StatusCode::OK, &job))
}

/// `{"due": "2030-01-01T00:00:00Z"}`
fn due(call: &Call) -> Result<i64, Problem> {
    let document = call.document()?;
    let due = document.get("due").filter(|due| due.as_s().is_some() && document.len() == 1);
    let due = due.map(|due| FieldType::Time.to_stored(due));
    due.as_ref().and_then(Value::as_n).and_then(|due| due.to_i64()).ok_or_else(|| {
        let detail =
            "The body must be `{\"due\": TIME}`, such as `{\"due\": \"2030-01-01T00:00:00Z\"}`.";
        Problem::new(Kind::Invalid, detail)
    })
}
