//! The built-in entity `job`, declared in the model language, so that everything that works for
//! entities works for jobs. `keyloom/events` gives its fields their meaning.

use crate::declare::declare;
use crate::declared::Declared;
use crate::error::{Code, Report, Reporter};
use crate::parse::parse;
use crate::source::Source;

const NAME: &str = "job";

/// `due` is when a job next needs attention: a waiting job is run then, and the lease of a running
/// one ends then, so one list has all pending work. `holder` is the process that took the job: an
/// opening of the store if no other process can open it, otherwise the id of a heartbeat; the lease
/// ends when its holder is gone. A job behind another one in its lane is `queued`; the jobs of a
/// lane run one after the other, in order of `place`. `overflow` is the number of rows that hold a
/// payload too large for this one.
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

/// Adds `job` as the last entity; returns false if the model has no jobs.
pub(crate) fn add(declared: &mut Declared, reporter: &mut Reporter<'_>) -> bool {
    if declared.handlers.is_empty() && !declared.jobs {
        return false;
    }
    if let Some(other) = declared.entities.iter().find(|entity| entity.name.text == NAME) {
        let reason = format!("`{NAME}` is the name of a built-in entity in a model with jobs");
        let help = "rename this entity; `on` and `jobs = true` add jobs to a model";
        reporter.push(Report::new(Code::BuiltInName, other.name.span, reason).help(help));
        return false;
    }
    let lines = Source::new(DECLARATION);
    let mut inner = Reporter::new(&lines);
    let Some(entries) = parse(DECLARATION, &lines, &mut inner) else { return false };
    let job = declare(&entries, &mut inner).entities.pop();
    let is_added = job.is_some();
    declared.entities.extend(job);
    is_added
}
