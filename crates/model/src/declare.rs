//! Stage 2: tree → declared. Keys must be known and values must have the kind that their key
//! takes; the next stage resolves names.

mod access;
mod entity;
mod format;
pub(crate) mod keyed_value;
pub(crate) mod keys;
mod limit;
mod list;
mod search;

use crate::declared::{Declared, DeclaredHandler, DeclaredTarget};
use crate::error::{Code, Report, Reporter};
use crate::parse::{Entry, NodeKind};
use crate::source::Span;
pub use keys::TableKind;
use keys::{Keys, NamedTable, table, text};
use limit::Limit;

/// Maximum number of entities in a model.
const ENTITIES_MAX: usize = 200;

const MODEL: TableKind = TableKind { what: "a model", keys: &["entity", "on", "jobs", "renamed"] };
const HANDLER: TableKind = TableKind { what: "a handler", keys: &["webhook", "job"] };

/// Every kind of table that a model file can have keys of the language in.
pub const TABLES: &[TableKind] = &[
    MODEL,
    HANDLER,
    entity::ENTITY,
    access::ACCESS,
    entity::UNIQUE,
    list::LIST,
    list::COUNT,
    list::BOARD,
    list::TAGS,
    search::SEARCH,
];

/// Reads a whole file.
pub(crate) fn declare(entries: &[Entry], reporter: &mut Reporter<'_>) -> Declared {
    let keys = Keys::read(entries, &MODEL, reporter);
    let mut declared = Declared::default();
    let entities = keys.get("entity").and_then(|entry| table(entry, reporter)).unwrap_or(&[]);
    let limit = Limit { what: "entities", max: ENTITIES_MAX };
    for entry in limit.apply(entities, reporter) {
        if let Some(entries) = table(entry, reporter) {
            let table = NamedTable { name: &entry.key, entries };
            declared.entities.push(entity::entity(&table, reporter));
        }
    }
    if entities.is_empty() {
        let span = keys.get("entity").map_or(Span::new(0, 0), |entry| entry.key.span);
        let help = "begin with `[entity.NAME]` and a line such as `fields.title = \"text\"`";
        reporter.push(Report::new(Code::NoEntity, span, "the model has no entity").help(help));
    }
    if let Some(entries) = keys.get("on").and_then(|entry| table(entry, reporter)) {
        declared.handlers = handlers(entries, reporter);
    }
    let limit = Limit { what: "renamed entities", max: ENTITIES_MAX };
    declared.renamed = keys.texts("renamed", limit, reporter);
    declared.jobs = keys.flag("jobs", reporter).is_some();
    declared
}

fn handlers(entries: &[Entry], reporter: &mut Reporter<'_>) -> Vec<DeclaredHandler> {
    let mut handlers = vec![];
    for entity in entries {
        let Some(changes) = table(entity, reporter) else { continue };
        for change in changes {
            let Some(target) = target(change, reporter) else { continue };
            let (entity, change) = (entity.key.clone(), change.key.clone());
            handlers.push(DeclaredHandler { entity, change, target });
        }
    }
    handlers
}

/// `"NAME"`, `{ webhook = "URL" }` or `{ job = "KIND" }`.
fn target(change: &Entry, reporter: &mut Reporter<'_>) -> Option<DeclaredTarget> {
    let NodeKind::Table(entries) = &change.node.kind else {
        return text(change, reporter).map(DeclaredTarget::Handler);
    };
    let keys = Keys::read(entries, &HANDLER, reporter);
    match (keys.get("webhook"), keys.get("job")) {
        (Some(webhook), None) => text(webhook, reporter).map(DeclaredTarget::Webhook),
        (None, Some(job)) => text(job, reporter).map(DeclaredTarget::Job),
        (both, _) => {
            let reason = match both {
                Some(_) => "a change calls a webhook or a job, not both",
                None => "nothing to call: name a handler, a webhook or a job",
            };
            let help = "write the name of a handler, `{ webhook = \"https://...\" }`, or \
                        `{ job = \"KIND\" }`";
            reporter.push(Report::new(Code::BadTarget, change.node.span, reason).help(help));
            None
        }
    }
}
