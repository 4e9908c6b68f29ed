//! Jobs over HTTP: looked at as entities, and called off, put off or run again. They are not written
//! as entities are: what is written is what the library makes of it.

use hyper::StatusCode;
use keyloom::Value;
use keyloom_model::FieldType;

use super::call::{Call, Reply};
use super::problem::{Kind, Problem};

/// What can be done with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobStep {
    /// Runs a dead letter again.
    Replay,
    Cancel,
    Reschedule,
}

impl JobStep {
    pub(crate) const ALL: [JobStep; 3] = [JobStep::Replay, JobStep::Cancel, JobStep::Reschedule];

    pub(crate) fn word(self) -> &'static str {
        match self {
            JobStep::Replay => "replay",
            JobStep::Cancel => "cancel",
            JobStep::Reschedule => "reschedule",
        }
    }
}

pub(super) async fn step(call: &Call, step: JobStep) -> Result<Reply, Problem> {
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
    let due = due.map(|due| FieldType::Time.take(due));
    due.as_ref().and_then(Value::as_n).and_then(|due| due.to_i64()).ok_or_else(|| {
        let detail = "Say when, and nothing else: `{\"due\": \"2030-01-01T00:00:00Z\"}`.";
        Problem::new(Kind::Invalid, detail)
    })
}
