//! Handlers: `on.ENTITY.CHANGE = TARGET`.

use crate::declared::{DeclaredHandler, DeclaredTarget};
use crate::error::{Code, Report, Reporter};
use crate::model::{Handler, Target, TriggeringChange};
use crate::source::Word;

use super::choice::Choices;
use super::name::{Entities, check_name};

/// Maximum length of a URL in bytes.
const URL_BYTES_MAX: usize = 2_000;

const CHANGES: Choices<'_, TriggeringChange> = Choices {
    key: "a change",
    words: &[
        ("insert", TriggeringChange::Insert),
        ("update", TriggeringChange::Update),
        ("delete", TriggeringChange::Delete),
    ],
};

pub(crate) fn handlers(
    declared: &[DeclaredHandler],
    entities: &Entities<'_>,
    reporter: &mut Reporter<'_>,
) -> Vec<Handler> {
    let mut handlers = vec![];
    for handler in declared {
        let target = target(&handler.target, reporter);
        let entity = entities.find(&handler.entity, reporter);
        let change = CHANGES.find(&handler.change, reporter);
        if let Some((entity, change)) = entity.zip(change) {
            handlers.push(Handler { entity, change, target });
        }
    }
    handlers
}

fn target(declared: &DeclaredTarget, reporter: &mut Reporter<'_>) -> Target {
    match declared {
        DeclaredTarget::Handler(name) => {
            check_name(name, "a handler", reporter);
            Target::Handler(name.text.clone())
        }
        DeclaredTarget::Job(kind) => {
            check_name(kind, "a kind of job", reporter);
            Target::Job(kind.text.clone())
        }
        DeclaredTarget::Webhook(url) => {
            check_url(url, reporter);
            Target::Webhook(url.text.clone())
        }
    }
}

fn check_url(url: &Word, reporter: &mut Reporter<'_>) {
    let text = &url.text;
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if rest.is_some_and(|rest| !rest.is_empty()) && is_visible && text.len() <= URL_BYTES_MAX {
        return;
    }
    let reason = "not a URL that events can be sent to";
    let help = format!(
        "a URL starts with `https://` or `http://` and has at most {URL_BYTES_MAX} visible ASCII \
         characters"
    );
    reporter.push(Report::new(Code::BadTarget, url.span, reason).help(help));
}
