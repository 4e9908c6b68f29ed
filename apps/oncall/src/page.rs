//! The page behind a link: one search with its messages and timeline. It has no scripts and no external
//! resources, and escapes all user input. The page of an active search reloads itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::Value;
use keyloom_server::{OwnReply, escape_html};
use sha2::{Digest, Sha256};

use crate::rows::Status;
use crate::story::{Event, What, capitalized};
use crate::template::lines;
use crate::time::{clock_text, date_text, time_text};
use crate::timeline::{Sending, State, Timeline};

const STYLE: &str = include_str!("style.css");
/// How often the page of an active search reloads itself.
const REFRESH_SECONDS: u32 = 2;

/// The button on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Button {
    None,
    /// Answer the search.
    Answer,
}

/// The page of a search. `notice` is the result of the request, if it was a POST.
pub(crate) fn search(timeline: &Timeline, button: Button, notice: Option<&str>) -> OwnReply {
    let status = timeline.search.status;
    let is_active = status == Status::Active;
    let mut body = notice.map(notice_html).unwrap_or_default();
    body.push_str(&heading(timeline));
    if is_active && button == Button::Answer {
        body.push_str("<form method=post><button>I’m on it</button></form>");
    }
    if let Some(next) = &timeline.next {
        let (time, plan) = (time_html(next.time_ms, timeline), timeline.plan(next));
        body.push_str(&format!("<p class=next>Next at {time}: {}</p>", breakable(&plan)));
    }
    body.push_str("<h2>Messages</h2><ul>");
    body.extend(timeline.sendings.iter().map(message));
    if timeline.sendings.is_empty() {
        body.push_str("<li class=quiet>None yet.</li>");
    }
    body.push_str("</ul><h2>Timeline</h2><ol>");
    body.extend(timeline.events().iter().map(|event| event_html(event, timeline)));
    body.push_str("</ol>");
    let date = date_text(timeline.search.created);
    let live = if is_active { " This page reloads every 2 seconds." } else { "" };
    body.push_str(&format!("<p class=quiet>Opened on {date}. Times are in UTC.{live}</p>"));
    let refresh = match is_active {
        true => format!("<meta http-equiv=refresh content={REFRESH_SECONDS}>"),
        false => String::new(),
    };
    page(&refresh, &body)
}

/// A page with a notice only.
pub(crate) fn notice(text: &str) -> OwnReply {
    page("", &notice_html(text))
}

fn notice_html(text: &str) -> String {
    format!("<p class=notice role=status>{}</p>", escape_html(text))
}

/// The contact, the status and the message of a search.
fn heading(timeline: &Timeline) -> String {
    let word = timeline.search.status.word();
    let mut html = format!(
        "<header><h1>Search for {}</h1><span class=\"badge {word}\">{}</span></header>",
        escape_html(timeline.name(0)),
        capitalized(word),
    );
    let stages = timeline.names.len();
    if timeline.search.status == Status::Active && stages > 1 {
        let stage = usize::try_from(timeline.search.stage).unwrap_or_default();
        let name = escape_html(timeline.name(stage));
        html.push_str(&format!(
            "<p class=quiet>Trying {name}, contact {} of {stages}.</p>",
            stage + 1
        ));
    }
    html.push_str(&format!("<p class=message>{}</p>", escape_html(&timeline.message_text())));
    let subject = timeline.record.get("subject").filter(|subject| **subject != Value::Null);
    if let (Some(_), Some(subject)) = (&timeline.search.message, subject) {
        html.push_str(&format!("<pre>{}</pre>", escape_html(&lines(Some(subject)))));
    }
    html
}

fn message(sending: &Sending) -> String {
    let attempt = &sending.attempt;
    let state = sending.state.word();
    let mut about = vec![];
    if sending.is_answered {
        about.push("Answered.".to_owned());
    }
    match sending.tries {
        0 => {}
        1 => about.push("Tried once.".to_owned()),
        tries => about.push(format!("Tried {tries} times.")),
    }
    about.extend(sending.error.clone());
    let about = match about.join(" ") {
        about if about.is_empty() => String::new(),
        about => format!("<p class=quiet>{}</p>", escape_html(&about)),
    };
    format!(
        "<li><div><strong>{}</strong> to {} <span class=\"quiet to\">{}</span></div>\
         <span class=\"badge {state}\">{}</span>{about}</li>",
        capitalized(attempt.kind.word()),
        escape_html(&attempt.name),
        breakable(&attempt.destination),
        capitalized(state),
    )
}

fn event_html(event: &Event, timeline: &Timeline) -> String {
    let class = match event.what {
        What::Opened => "opened",
        What::Message(_, State::Failed | State::Retrying) => "message failed",
        What::Message(..) => "message",
        What::Escalated => "escalated",
        What::Ended => timeline.search.status.word(),
    };
    let (time, text) = (time_html(event.time_ms, timeline), breakable(&event.text));
    format!("<li class=\"{class}\">{time}<span>{text}</span></li>")
}

/// A time of day; with the date, unless it is the day on which the search was opened.
fn time_html(time_ms: i64, timeline: &Timeline) -> String {
    let (date, clock) = (date_text(time_ms), clock_text(time_ms));
    let text = match date == date_text(timeline.search.created) {
        true => clock,
        false => format!("{date}, {clock}"),
    };
    format!("<time datetime=\"{}\">{text}</time>", time_text(time_ms))
}

/// Escapes a text, and allows line breaks after the parts of addresses.
fn breakable(text: &str) -> String {
    let mut html = String::new();
    let mut before = ' ';
    for c in escape_html(text).chars() {
        html.push(c);
        // Not within `://`.
        if c == '@' || (c == '/' && before != ':' && before != '/') {
            html.push_str("<wbr>");
        }
        before = c;
    }
    html
}

fn page(head: &str, body: &str) -> OwnReply {
    let html = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>On call</title>\
         {head}<style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    );
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    // No scripts, no external resources, and forms only to this service.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    let headers = vec![
        ("content-security-policy", policy),
        // The URL contains the secret.
        ("referrer-policy", "no-referrer".to_owned()),
    ];
    OwnReply { headers, ..OwnReply::new(html) }
}
