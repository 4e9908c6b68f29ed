//! The entity `job`, which a model has by itself: declared here in its own language, so that
//! everything that works for entities works for jobs. What jobs mean is said in `keyloom/events`.

use crate::declare::declare;
use crate::declared::Declared;
use crate::error::{Code, Reporter};
use crate::parse::parse;
use crate::source::Source;

const NAME: &str = "job";

/// `due` is when somebody must look at it: a job that waits is to be run then, the lease of one
/// that runs ends then. So one list has everything there is to do. `holder` is the process that took
/// it: an opening of the store where no other process can have it, and otherwise the id of a heartbeat;
/// the lease of a holder that is gone is over. A job that is behind another one in its lane is
/// `queued`; those of one lane are run one after the other, by `place`. A payload that is too large for
/// the row is in so many others: `overflow`.
const DECLARATION: &str = r#"
[entity.job]
id = "given"
expires = "expires"
fields.kind     = "text 1..200"
fields.status   = "enum(queued, waiting, running, done, failed, canceled) = waiting"
fields.due      = "time = now"
fields.attempts = "int 0.. = 0"
fields.holder   = "int?"
fields.lane     = "text? 1..800"
fields.place    = "int?"
fields.tenant   = "any?"
fields.payload  = "any?"
fields.overflow = "int? 0..16"
fields.result   = "any?"
fields.error    = "text?"
fields.created  = "time = now"
fields.ended    = "time?"
fields.expires  = "time?"
list.by_status = { by = "status", order = "due" }
list.by_lane   = { by = "lane", order = "place", where = { status = "queued" } }
"#;

/// Adds `job` to what was declared, as the last entity; false if it is not needed.
pub(crate) fn add(declared: &mut Declared, reporter: &mut Reporter<'_>) -> bool {
    if declared.handlers.is_empty() && !declared.jobs {
        return false;
    }
    if let Some(other) = declared.entities.iter().find(|entity| entity.name.text == NAME) {
        let reason = format!("a model with jobs has an entity `{NAME}` by itself");
        let help = "give this one another name; jobs come with `on` and with `jobs = true`";
        reporter.report_with_help(Code::BuiltInName, other.name.span, (reason, help));
        return false;
    }
    let lines = Source::new(DECLARATION);
    let mut inner = Reporter::new(&lines);
    let Some(entries) = parse(DECLARATION, &lines, &mut inner) else { return false };
    let job = declare(&entries, &mut inner).entities.pop();
    let is_there = job.is_some();
    declared.entities.extend(job);
    is_there
}
