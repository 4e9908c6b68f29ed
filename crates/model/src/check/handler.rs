//! What is called after changes: `on.ENTITY.CHANGE = TARGET`.

use crate::declared::{DeclaredHandler, DeclaredTarget};
use crate::error::{Code, Reporter};
use crate::model::{Handler, Target, TriggeringChange};
use crate::source::Word;

use super::field::choose;
use super::name::{Entities, check_name};

/// Bytes that an address may have.
const ADDRESS_MAX: usize = 2_000;

pub(crate) fn handlers(
    declared: &[DeclaredHandler],
    entities: &Entities<'_>,
    reporter: &mut Reporter<'_>,
) -> Vec<Handler> {
    let mut handlers = vec![];
    for handler in declared {
        let target = target(&handler.target, reporter);
        let entity = entities.find(&handler.entity, reporter);
        let changes = ["insert", "update", "delete"];
        let change = match choose(&handler.change, "a change", &changes, reporter) {
            Some("insert") => TriggeringChange::Insert,
            Some("update") => TriggeringChange::Update,
            Some("delete") => TriggeringChange::Delete,
            _ => continue,
        };
        let Some(entity) = entity else { continue };
        handlers.push(Handler { entity, change, target });
    }
    handlers
}

fn target(declared: &DeclaredTarget, reporter: &mut Reporter<'_>) -> Target {
    match declared {
        DeclaredTarget::Handler(name) => {
            check_name(name, "what is called", reporter);
            Target::Handler(name.text.clone())
        }
        DeclaredTarget::Job(kind) => {
            check_name(kind, "a kind of job", reporter);
            Target::Job(kind.text.clone())
        }
        DeclaredTarget::Webhook(address) => {
            check_address(address, reporter);
            Target::Webhook(address.text.clone())
        }
    }
}

fn check_address(address: &Word, reporter: &mut Reporter<'_>) {
    let text = &address.text;
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if rest.is_some_and(|rest| !rest.is_empty()) && is_visible && text.len() <= ADDRESS_MAX {
        return;
    }
    let reason = "not a URL that events can be sent to";
    let help = format!(
        "it begins with `https://` or `http://` and has at most {ADDRESS_MAX} visible characters"
    );
    reporter.report_with_help(Code::BadTarget, address.span, (reason, help));
}
