//! Formats messages as mail, and sends it through a mail server.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyloom::Clock;
use keyloom::events::Failure;
use lettre::message::header::{
    ContentTransferEncoding, ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0,
};
use lettre::message::{Body, Mailbox};

use super::smtp::{Server, Unsent};
use crate::transport::{Accepted, Message};

const ADDRESS_BYTES_MAX: usize = 254;

/// The mail transport.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    server: Server,
    from: Mailbox,
    clock: Arc<dyn Clock>,
}

/// Options of [`Mail`].
#[derive(Clone, Debug)]
pub(crate) struct MailOptions {
    /// `smtps://host`, `smtp+starttls://host` or, without TLS, `smtp://host:25`.
    pub(crate) server: String,
    /// User name and password, if the server requires them.
    pub(crate) user: Option<(String, String)>,
    /// The sender, such as `On call <oncall@example.com>`.
    pub(crate) from: String,
    /// For the date of mail.
    pub(crate) clock: Arc<dyn Clock>,
}

impl Mail {
    /// # Errors
    ///
    /// If the server or the sender is invalid.
    pub(crate) fn new(options: MailOptions) -> Result<Mail, String> {
        let server = Server::new(&options.server, options.user)?;
        let from = mailbox(&options.from)
            .ok_or_else(|| format!("Invalid --mail-from `{}`: write `name@host`.", options.from))?;
        Ok(Mail { server, from, clock: options.clock })
    }

    pub(crate) async fn send(&self, message: Message) -> Result<Accepted, Failure> {
        let to = mailbox(&message.to)
            .ok_or_else(|| Failure::fatal(format!("Invalid mail address `{}`.", message.to)))?;
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now().0);
        let mail = build((&self.from, to), &message, now).map_err(Failure::fatal)?;
        match self.server.send(&mail).await {
            Ok(()) => Ok(Accepted::default()),
            Err(Unsent::Refused(why)) => Err(Failure::fatal(why)),
            Err(Unsent::Failed(why)) => Err(Failure::new(why)),
        }
    }
}

/// Parses `name@host` or `Somebody <name@host>`. Refuses addresses that are not ASCII, because few servers
/// accept them.
fn mailbox(text: &str) -> Option<Mailbox> {
    let mailbox: Mailbox = text.trim().parse().ok()?;
    let address: &str = mailbox.email.as_ref();
    let is_fit = address.is_ascii() && address.len() <= ADDRESS_BYTES_MAX;
    (is_fit && !text.chars().any(char::is_control)).then_some(mailbox)
}

/// Builds a mail.
fn build(
    (from, to): (&Mailbox, Mailbox),
    message: &Message,
    sent: SystemTime,
) -> Result<lettre::Message, lettre::error::Error> {
    let subject: String = message.subject.chars().filter(|c| !c.is_control()).collect();
    let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
    lettre::Message::builder()
        .from(from.clone())
        .to(to)
        .subject(subject)
        .date(sent)
        // The same for every attempt, so that duplicates can be detected.
        .message_id(Some(format!("<{}@{}>", message.key, from.email.domain())))
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN)
        .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
        .body(body(&message.text))
}

/// The text as 7-bit if every server can relay it, otherwise as base64.
fn body(text: &str) -> Body {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    let plain = text
        .chars()
        .all(is_plain)
        .then(|| Body::new_with_encoding(text.to_owned(), ContentTransferEncoding::SevenBit).ok());
    plain.flatten().unwrap_or_else(|| {
        let encoded = Body::new_with_encoding(text.to_owned(), ContentTransferEncoding::Base64);
        // Base64 encodes anything; otherwise lettre chooses.
        encoded.unwrap_or_else(Body::new)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Kind;

    fn message(subject: &str, text: &str) -> Message {
        Message {
            key: "s.0.m".to_owned(),
            kind: Kind::Email,
            to: String::new(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            answer_url: String::new(),
            reply_url: String::new(),
            search: String::new(),
            domain: String::new(),
        }
    }

    fn formatted(subject: &str, text: &str) -> String {
        let (from, to) = ("On call <oncall@example.com>", "ada@example.com");
        let (from, to) = (mailbox(from).unwrap(), mailbox(to).unwrap());
        let sent = SystemTime::UNIX_EPOCH + Duration::from_millis(1_767_607_200_123);
        let mail = build((&from, to), &message(subject, text), sent).unwrap();
        String::from_utf8(mail.formatted()).unwrap()
    }

    #[test]
    fn a_mail_has_the_expected_headers_and_body() {
        assert_eq!(
            formatted("fire", "a\nb"),
            "From: \"On call\" <oncall@example.com>\r\nTo: ada@example.com\r\nSubject: fire\r\n\
             Date: Mon, 05 Jan 2026 10:00:00 +0000\r\nMessage-ID: <s.0.m@example.com>\r\n\
             MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Auto-Submitted: auto-generated\r\nContent-Transfer-Encoding: 7bit\r\n\r\na\r\nb"
        );
    }

    #[test]
    fn user_input_cannot_inject_headers_or_recipients() {
        for text in [
            "",
            "@",
            "a@",
            "@b",
            "a@b@c",
            "a b@c",
            "a@b\r\nRCPT TO:<c@d>",
            "a@b>",
            "<a@b",
            "ä@b",
            "a,b@c",
            "Ada\r\nBcc: x@y <a@b>",
        ] {
            assert_eq!(mailbox(text), None, "{text}");
        }
        for subject in ["fire\r\nBcc: x@example.com", "fire\nBcc: x@example.com", "ü\r\nBcc: x@y"]
        {
            let mail = formatted(subject, "");
            assert!(!mail.contains("\nBcc") && !mail.contains("\rBcc"), "{mail}");
        }
    }

    #[test]
    fn text_that_is_not_ascii_is_encoded_in_short_lines() {
        let long = "ü".repeat(100);
        let mail = formatted(&long, &long);
        assert!(mail.is_ascii() && mail.lines().all(|line| line.len() <= 90), "{mail}");
        assert!(mail.contains("Content-Transfer-Encoding: base64"), "{mail}");
        for encoded in ["x".repeat(1001).as_str(), "a\0b", "a\rb"] {
            assert!(formatted("", encoded).contains("base64"));
        }
    }
}
