//! Composes the message of an attempt: the text of its search, with how to answer it on its channel.

use keyloom::Value;
use keyloom::events::Failure;

use crate::rows::{Attempt, Kind, Search};
use crate::service::Service;
use crate::template::{fill, lines};
use crate::transport::Message;

const SUBJECT_CHARACTERS_MAX: usize = 100;

/// The message of an attempt, with a link that answers it.
pub(crate) fn compose(
    service: &Service,
    (search, subject): (&Search, Option<&Value>),
    attempt: &Attempt,
    token: &str,
) -> Result<Message, Failure> {
    let summary = message_text(search, subject);
    let answer_url = service.address(&format!("/answer/{token}"))?;
    let text = match attempt.kind {
        Kind::Email => format!(
            "Hello {},\n\n{summary}\n\nTo answer, open this link:\n{answer_url}\n\n\
             The link is personal. Do not forward it.\n",
            attempt.name
        ),
        Kind::Text => format!("{summary}\nReply OK to answer, or open {answer_url}"),
        Kind::Call => format!("{summary}\nPress 1 to answer."),
        Kind::Webhook => summary.clone(),
    };
    Ok(Message {
        key: attempt.id.clone(),
        kind: attempt.kind,
        to: attempt.destination.clone(),
        subject: first_line(&summary),
        text,
        answer_url,
        reply_url: service.address(&format!("/reply/{token}"))?,
        search: search.id.clone(),
        domain: search.domain.clone(),
    })
}

/// The text of a search: its template filled in, or its subject line by line.
pub(crate) fn message_text(search: &Search, subject: Option<&Value>) -> String {
    match &search.message {
        Some(template) => fill(template, subject),
        None => lines(subject),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("You are needed.");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    line.trim().chars().take(SUBJECT_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_is_one_line_without_control_characters() {
        assert_eq!(first_line("\n  fire\r\nBcc: x@example.com"), "fire");
        assert_eq!(first_line("a\u{0}b\u{1b}c"), "abc");
        assert_eq!(first_line(""), "You are needed.");
        assert_eq!(first_line(&"x".repeat(300)).len(), SUBJECT_CHARACTERS_MAX);
    }
}
