//! Mail: from a message to a mail as RFC 5322 has it, sent by a mail server.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom::Clock;
use keyloom::events::Failure;
use keyloom_server::client_tls;

use super::smtp::{Envelope, Server, Unsent};
use crate::carry::{Carried, Message};
use crate::time::mail_date;

/// A line can have 998 bytes; longer ones are encoded.
const LINE_BYTES_MAX: usize = 900;
/// A word of a header can have 75 characters, of which the encoding takes some.
const WORD_BYTES: usize = 42;
/// How long the lines of what is encoded are.
const ENCODED_LINE: usize = 76;
const ADDRESS_BYTES_MAX: usize = 254;

/// Sends mail.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    server: Server,
    from: Mailbox,
    clock: Arc<dyn Clock>,
}

/// How mail is sent.
#[derive(Clone, Debug)]
pub(crate) struct MailOptions {
    /// `smtps://host`, `smtp+starttls://host` or, without any TLS, `smtp://host:25`.
    pub(crate) server: String,
    /// The user and the password, if the server asks for them.
    pub(crate) user: Option<(String, String)>,
    /// Who it is from: `On call <oncall@example.com>`.
    pub(crate) from: String,
    /// When it was sent.
    pub(crate) clock: Arc<dyn Clock>,
}

/// Somebody's address, with a name or without.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mailbox {
    name: Option<String>,
    address: String,
}

impl Mail {
    /// Something that sends mail.
    ///
    /// # Errors
    ///
    /// If the server or the sender is none.
    pub(crate) fn new(options: MailOptions) -> Result<Mail, String> {
        let server = Server::new(&options.server, options.user, client_tls(None)?)?;
        let from = Mailbox::of(&options.from)
            .ok_or_else(|| format!("Invalid --mail-from `{}`: write `name@host`.", options.from))?;
        Ok(Mail { server, from, clock: options.clock })
    }

    pub(crate) async fn send(&self, message: Message) -> Result<Carried, Failure> {
        let to = Mailbox::of(&message.to)
            .ok_or_else(|| Failure::fatal(format!("Invalid mail address `{}`.", message.to)))?;
        let now_ms = i64::try_from(self.clock.now().0).unwrap_or(i64::MAX);
        let data = written(&self.from, &to, &message, &mail_date(now_ms));
        let mail = Envelope { from: self.from.address.clone(), to: to.address, data };
        let server = self.server.clone();
        let sent = tokio::task::spawn_blocking(move || server.send(&mail)).await;
        match sent {
            Ok(Ok(())) => Ok(Carried::default()),
            Ok(Err(Unsent::Refused(why))) => Err(Failure::fatal(why)),
            Ok(Err(Unsent::Failed(why))) => Err(Failure::new(why)),
            Err(error) => Err(Failure::new(error)),
        }
    }
}

impl Mailbox {
    /// `name@host`, or `Somebody <name@host>`.
    fn of(text: &str) -> Option<Mailbox> {
        let text = text.trim();
        let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            None => (None, text),
            Some((name, address)) => (Some(name.trim().trim_matches('"').to_owned()), address),
        };
        let (user, host) = address.split_once('@')?;
        let is_plain = |c: char| c.is_ascii_graphic() && !"<>()[]\\,;:\"@".contains(c);
        let is_fit = |part: &str| !part.is_empty() && part.chars().all(is_plain);
        let is_named = name.as_ref().is_none_or(|name| !name.chars().any(char::is_control));
        if !is_fit(user) || !is_fit(host) || !is_named || address.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let name = name.filter(|name| !name.is_empty());
        Some(Mailbox { name, address: address.to_owned() })
    }

    fn header(&self) -> String {
        match &self.name {
            None => self.address.clone(),
            Some(name) => format!("{} <{}>", words(name, "\"\\"), self.address),
        }
    }
}

/// All of a mail, with lines that end as the protocol wants it.
fn written(from: &Mailbox, to: &Mailbox, message: &Message, date: &str) -> String {
    let (encoding, text) = body(&message.text);
    let host = from.address.rsplit('@').next().unwrap_or_default();
    // The id is the same for every attempt: who gets it twice can tell.
    let lines = [
        format!("From: {}", from.header()),
        format!("To: {}", to.header()),
        format!("Subject: {}", words(&message.subject, "")),
        format!("Date: {date}"),
        format!("Message-ID: <{}@{host}>", message.key),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        format!("Content-Transfer-Encoding: {encoding}"),
        "Auto-Submitted: auto-generated".to_owned(),
        String::new(),
        text,
    ];
    lines.join("\r\n")
}

/// The text, as it is or encoded.
fn body(text: &str) -> (&'static str, String) {
    let lines: Vec<&str> = text.lines().collect();
    let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte == b'\t';
    let is_short = |line: &&str| line.len() <= LINE_BYTES_MAX && line.bytes().all(is_plain);
    if lines.iter().all(is_short) {
        return ("7bit", lines.join("\r\n"));
    }
    let encoded = STANDARD.encode(lines.join("\r\n").as_bytes());
    let mut broken = String::new();
    for (index, c) in encoded.chars().enumerate() {
        if index > 0 && index % ENCODED_LINE == 0 {
            broken.push_str("\r\n");
        }
        broken.push(c);
    }
    ("base64", broken)
}

/// A text in a header: as it is, or as RFC 2047 encodes it.
fn words(text: &str, special: &str) -> String {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !special.contains(c);
    if text.chars().all(is_plain) && !text.contains("=?") {
        return if special.is_empty() { text.to_owned() } else { format!("\"{text}\"") };
    }
    let mut chunks = vec![String::new()];
    for c in text.chars().filter(|c| !c.is_control()) {
        if chunks.last().is_some_and(|chunk| chunk.len() + c.len_utf8() > WORD_BYTES) {
            chunks.push(String::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(c);
        }
    }
    let word = |chunk: &String| format!("=?UTF-8?B?{}?=", STANDARD.encode(chunk.as_bytes()));
    chunks.iter().map(word).collect::<Vec<_>>().join("\r\n ")
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

    #[test]
    fn a_mail_is_as_mail_is_written() {
        let (from, to) = ("On call <oncall@example.com>", "ada@example.com");
        let (from, to) = (Mailbox::of(from).unwrap(), Mailbox::of(to).unwrap());
        let mail = written(&from, &to, &message("fire", "a\nb"), &mail_date(1_767_607_200_123));
        assert_eq!(
            mail,
            "From: \"On call\" <oncall@example.com>\r\nTo: ada@example.com\r\nSubject: fire\r\n\
             Date: 05 Jan 2026 10:00:00 +0000\r\nMessage-ID: <s.0.m@example.com>\r\n\
             MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: 7bit\r\nAuto-Submitted: auto-generated\r\n\r\na\r\nb"
        );
    }

    #[test]
    fn nothing_that_somebody_wrote_makes_a_header_or_a_recipient() {
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
            assert_eq!(Mailbox::of(text), None, "{text}");
        }
        let subject = words("fire\r\nBcc: x@example.com", "");
        assert!(!subject.contains("Bcc") && subject.starts_with("=?UTF-8?B?"), "{subject}");
        assert_eq!(words("a =?UTF-8?B?eA==?=", "").matches("=?").count(), 1);
        assert!(words("a\"b", "\"\\").starts_with("=?UTF-8?B?"));
    }

    #[test]
    fn what_is_not_ascii_is_encoded_in_pieces_that_fit() {
        let long = "ü".repeat(100);
        let header = words(&long, "");
        assert!(header.split("\r\n ").all(|word| word.len() <= 75), "{header}");
        let mut decoded = vec![];
        for word in header.split("\r\n ") {
            let inner = word.strip_prefix("=?UTF-8?B?").and_then(|word| word.strip_suffix("?="));
            decoded.extend(STANDARD.decode(inner.unwrap()).unwrap());
        }
        assert_eq!(String::from_utf8(decoded).unwrap(), long);
        let (encoding, text) = body(&long);
        assert_eq!(encoding, "base64");
        assert!(text.split("\r\n").all(|line| line.len() <= ENCODED_LINE));
        let decoded = STANDARD.decode(&text.replace("\r\n", "")).unwrap();
        assert_eq!(String::from_utf8(decoded).unwrap(), long);
        assert_eq!(body(&"x".repeat(1000)).0, "base64");
    }
}
