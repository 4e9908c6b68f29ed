//! The sentences of a timeline: its events, its end, its next move.

use keyloom::Value;
use serde_json::{Value as Json, json};

use crate::rows::{Kind, Method, Status};
use crate::steps::{Planned, Upcoming};
use crate::time::time_text;
use crate::timeline::{Sending, State, Timeline};

/// An event of a timeline.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) time_ms: i64,
    pub(crate) what: What,
    pub(crate) text: String,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The search was opened.
    Opened,
    /// A message was sent, or will be.
    Message(Kind, State),
    /// The search went on to the next contact.
    Escalated,
    /// The search ended.
    Ended,
}

impl Event {
    pub(crate) fn to_json(&self) -> Json {
        let mut json = json!({ "time": time_text(self.time_ms), "text": self.text });
        json["what"] = match self.what {
            What::Opened => json!("opened"),
            What::Escalated => json!("escalated"),
            What::Ended => json!("ended"),
            What::Message(kind, state) => {
                json["kind"] = json!(kind.word());
                json["state"] = json!(state.word());
                json!("message")
            }
        };
        json
    }
}

impl Timeline {
    /// The events, in order.
    pub(crate) fn events(&self) -> Vec<Event> {
        let opened = format!("Search for {} opened.", named(self.name(0)));
        let (time_ms, what) = (self.search.created, What::Opened);
        let mut events = vec![Event { time_ms, what, text: opened }];
        for (index, time_ms) in self.search.escalated.iter().enumerate() {
            let (from, to) = (named(self.name(index)), named(self.name(index + 1)));
            let text = format!("No answer from {from}. Escalated to {to}.");
            events.push(Event { time_ms: *time_ms, what: What::Escalated, text });
        }
        events.extend(self.sendings.iter().map(Sending::event));
        // The sort is stable: events of one millisecond stay in the order above.
        events.sort_by_key(|event| event.time_ms);
        if let Some(time_ms) = self.search.ended {
            events.push(Event { time_ms, what: What::Ended, text: self.end() });
        }
        events
    }

    /// Describes the next move.
    pub(crate) fn plan(&self, next: &Upcoming) -> String {
        match &next.what {
            Planned::Messages { name, methods } => {
                let messages = methods.iter().map(|Method { kind, destination, .. }| {
                    format!("{} to {} at {destination}", kind.word(), named(name))
                });
                format!("{}.", capitalized(&messages.collect::<Vec<_>>().join(", ")))
            }
            Planned::Escalation => {
                let stage = usize::try_from(self.search.stage).unwrap_or(usize::MAX);
                format!("Escalation to {}.", named(self.name(stage.saturating_add(1))))
            }
            Planned::Failure => "The search fails if nobody answers.".to_owned(),
        }
    }

    /// Describes the end.
    fn end(&self) -> String {
        let word = |name| match self.record.get("resolution") {
            Some(Value::M(resolution)) => resolution.get(name).and_then(Value::as_s),
            _ => None,
        };
        let by = word("by").unwrap_or("somebody");
        let quoted = |text: Option<&str>| text.map(|text| format!(" “{text}”")).unwrap_or_default();
        match self.search.status {
            Status::Active => "The search is active.".to_owned(),
            Status::Failed => "Nobody answered. The search failed.".to_owned(),
            Status::Canceled => format!("Canceled by {by}.{}", quoted(word("reason"))),
            Status::Successful => {
                let of = |sending: &&Sending| Some(sending.attempt.id.as_str()) == word("attempt");
                match self.sendings.iter().find(of) {
                    None => format!("Answered by {by}.{}", quoted(word("note"))),
                    Some(sending) => sending.answer(by, word("note")),
                }
            }
        }
    }
}

impl Sending {
    /// The event of a message, at the time of its delivery once it is delivered.
    fn event(&self) -> Event {
        let attempt = &self.attempt;
        let what = format!("{} to {}", attempt.kind.word(), named(&attempt.name));
        let message = format!("{} at {}", capitalized(&what), attempt.destination);
        let text = match self.state {
            State::Waiting => format!("{message} is on its way."),
            State::Retrying => format!("{message} is being retried."),
            State::Delivered => format!("{message} delivered."),
            State::Failed => format!("{message} could not be delivered."),
            State::Dropped => format!("{message} not sent: the search had ended."),
        };
        let text = match (&self.error, self.state) {
            (Some(error), State::Retrying | State::Failed) => format!("{text} {error}"),
            _ => text,
        };
        let time_ms = attempt.delivered.unwrap_or(attempt.created);
        Event { time_ms, what: What::Message(attempt.kind, self.state), text }
    }

    /// Describes the answer to this message.
    fn answer(&self, by: &str, note: Option<&str>) -> String {
        let name = capitalized(&named(&self.attempt.name));
        match (by, self.attempt.kind, note) {
            ("digits", _, _) => format!("{name} answered the call."),
            ("text", _, Some(note)) => format!("{name} answered by text: “{note}”"),
            ("link", Kind::Webhook, _) => format!("{name} answered the webhook."),
            ("link", Kind::Text, _) => {
                format!("{name} answered with the link in the text message.")
            }
            ("link", kind, _) => format!("{name} answered with the link in the {}.", kind.word()),
            _ => format!("{name} answered."),
        }
    }
}

/// A name, or a substitute for a contact that does not exist.
fn named(name: &str) -> String {
    if name.is_empty() { "a missing contact".to_owned() } else { name.to_owned() }
}

/// Capitalizes the first letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
