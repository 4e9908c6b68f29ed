//! Pages for people: a search with its messages and what happened. They are whole in themselves,
//! nothing in them runs, and everything that somebody wrote is escaped. A page of a search that is
//! active loads itself anew, so it is live.

use base64ct::{Base64, Encoding};
use keyloom_server::{OwnReply, escape_html};
use sha2::{Digest, Sha256};

use crate::rows::Status;
use crate::template::lines;
use crate::timeline::{Sending, Timeline, time_text};

const STYLE: &str = include_str!("style.css");
/// After how many seconds a page of an active search is loaded anew.
const REFRESH_SECONDS: u32 = 2;

/// What can be done on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Button {
    None,
    /// Say that the message was seen.
    Answer,
}

/// The page of a search, with something that was just said to whoever sees it.
pub(crate) fn search(timeline: &Timeline, button: Button, said: Option<&str>) -> OwnReply {
    let status = timeline.search.status;
    let mut body = String::new();
    if let Some(said) = said {
        body.push_str(&format!("<p class=status>{}</p>", escape_html(said)));
    }
    body.push_str(&format!(
        "<h1>Search for {}</h1><p>Status: <span class=\"status {word}\">{word}</span>, stage {}</p>",
        escape_html(&timeline.name),
        timeline.search.stage,
        word = status.word(),
    ));
    body.push_str(&format!("<pre>{}</pre>", escape_html(&lines(timeline.record.get("subject")))));
    if status == Status::Active && button == Button::Answer {
        body.push_str("<form method=post><button>I have seen it</button></form>");
    }
    body.push_str("<h2>Messages</h2><table><tr><th>To<th>How<th>State<th></tr>");
    body.extend(timeline.sendings.iter().map(row));
    body.push_str("</table><h2>What happened</h2><table>");
    for (time, text) in timeline.events() {
        body.push_str(&format!("<tr><td>{}<td>{}</tr>", time_text(time), escape_html(&text)));
    }
    body.push_str("</table>");
    let refresh = match status {
        Status::Active => format!("<meta http-equiv=refresh content={REFRESH_SECONDS}>"),
        Status::Successful | Status::Failed | Status::Canceled => String::new(),
    };
    page(&refresh, &body)
}

/// A page that says one thing.
pub(crate) fn saying(text: &str) -> OwnReply {
    page("", &format!("<p class=status>{}</p>", escape_html(text)))
}

fn row(sending: &Sending) -> String {
    let attempt = &sending.attempt;
    let mut about = sending.error.clone().unwrap_or_default();
    if sending.tries > 0 {
        about = format!("tried {} times. {about}", sending.tries);
    }
    if sending.is_answered {
        about = format!("answered. {about}");
    }
    format!(
        "<tr><td>{} ({})<td>{}<td class=\"{state}\">{state}<td>{}</tr>",
        escape_html(&attempt.name),
        escape_html(&attempt.destination),
        attempt.kind.word(),
        escape_html(&about),
        state = sending.state.word(),
    )
}

fn page(head: &str, body: &str) -> OwnReply {
    let html = format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>On call</title>\
         {head}<style>{STYLE}</style></head><body>{body}</body></html>\n"
    );
    let style = Base64::encode_string(&Sha256::digest(STYLE.as_bytes()));
    // Nothing is loaded or run, and a form goes nowhere but here.
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    let headers = vec![
        ("content-security-policy", policy),
        // The address is the secret.
        ("referrer-policy", "no-referrer".to_owned()),
    ];
    OwnReply { headers, ..OwnReply::new(html) }
}
