//! Results and differences as server-sent events.
//!
//! The last event of a group has the id of the result that it leads to. The others have a mark before it: a
//! client that was interrupted between them has something that the query has not returned, and gets
//! everything again.

use super::difference::{Step, steps};
use super::seen::Seen;

/// Begins the id of an event that others follow at the same position.
const UNFINISHED: char = '~';

/// The id of the result that a client has; none if it has an unfinished group.
pub(super) fn resumed(id: &str) -> Option<&str> {
    Some(id).filter(|id| !id.starts_with(UNFINISHED))
}

/// Everything.
pub(super) fn page(seen: &Seen) -> String {
    let (position, body) = (&seen.position, seen.body());
    event(&seen.id, "page", &format!("\"commit\":\"{position}\",\"body\":{body}"))
}

/// The events that lead from one result to another: none if they are equal, and everything if that is
/// shorter, or if events of items would mean something else to clients.
pub(super) fn difference(old: &Seen, new: &Seen) -> String {
    let steps = steps(old, new);
    let is_other = old.shape != new.shape || steps.len() > new.items.len().max(4);
    if is_other || !steps.is_empty() && (old.resembles_page() || new.resembles_page()) {
        return page(new);
    }
    let (mut text, last) = (String::new(), steps.len().saturating_sub(1));
    for (index, step) in steps.iter().enumerate() {
        let id = match index == last {
            true => new.id.clone(),
            false => format!("{UNFINISHED}{}", new.id),
        };
        let (name, members) = shown(step);
        text.push_str(&event(&id, name, &format!("\"commit\":\"{}\",{members}", new.position)));
    }
    text
}

fn shown<'s>(step: &Step<'s>) -> (&'s str, String) {
    match step {
        Step::Leave { at, item } => {
            let id = item.id.as_ref().map(|id| format!(",\"id\":{id}")).unwrap_or_default();
            ("leave", format!("\"at\":{at}{id}"))
        }
        Step::Enter { at, item } => ("enter", format!("\"at\":{at},\"item\":{}", item.json)),
        Step::Move { from, at, item } => {
            ("move", format!("\"from\":{from},\"at\":{at},\"item\":{}", item.json))
        }
        Step::Change { at, item } => ("change", format!("\"at\":{at},\"item\":{}", item.json)),
        Step::Member { name, value } => {
            let value = value.map(|value| format!(",\"value\":{value}")).unwrap_or_default();
            (event_name(name), format!("\"member\":\"{name}\"{value}"))
        }
    }
}

/// The event that announces another value of a member.
fn event_name(member: &str) -> &'static str {
    match member {
        "total" | "total_at_least" => "total",
        "count" | "sum" | "average" | "min" | "max" => "count",
        "rank" | "score" => "rank",
        _ => "set",
    }
}

/// The stream ends because of a problem, which is JSON.
pub(super) fn error(problem: &str) -> String {
    format!("event: error\ndata: {problem}\n\n")
}

/// An event. The JSON has no line breaks.
fn event(id: &str, name: &str, members: &str) -> String {
    format!("id: {id}\nevent: {name}\ndata: {{{members}}}\n\n")
}
