//! Parses a mail (RFC 5322): subject, id and text. Decodes what the service's own mail client writes
//! (UTF-8, base64, encoded words of RFC 2047) and leaves everything else as it is. No input is an error.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The parts of a mail that a reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MailText {
    pub(super) subject: String,
    /// Without the host and the angle brackets.
    pub(super) id: String,
    pub(super) text: String,
}

impl MailText {
    /// Parses a mail with any line endings.
    pub(super) fn read(data: &[u8]) -> MailText {
        let data = String::from_utf8_lossy(data).replace("\r\n", "\n");
        let (head, body) = data.split_once("\n\n").unwrap_or((&data, ""));
        // A line that begins with a space continues the previous one.
        let head = head.replace("\n ", " ").replace("\n\t", " ");
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(other, _)| other.trim().eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.trim())
        };
        let id = header("message-id").trim_start_matches('<').trim_end_matches('>');
        let id = id.rsplit_once('@').map_or(id, |(id, _)| id);
        let is_base64 = header("content-transfer-encoding").eq_ignore_ascii_case("base64");
        let text = match is_base64.then(|| decoded(body)).flatten() {
            Some(text) => text.replace("\r\n", "\n"),
            None => body.to_owned(),
        };
        let text = text.trim_end().to_owned();
        MailText { subject: words(header("subject")), id: id.to_owned(), text }
    }
}

/// Decodes the encoded words of a header. The space between two of them is not part of the text.
fn words(text: &str) -> String {
    let mut read = String::new();
    let mut was_encoded = false;
    for word in text.split_whitespace() {
        let encoded = encoded_word(word);
        let is_joined = was_encoded && encoded.is_some();
        if !read.is_empty() && !is_joined {
            read.push(' ');
        }
        was_encoded = encoded.is_some();
        read.push_str(encoded.as_deref().unwrap_or(word));
    }
    read
}

/// `=?UTF-8?B?...?=`
fn encoded_word(word: &str) -> Option<String> {
    let inner = word.strip_prefix("=?")?.strip_suffix("?=")?;
    let mut parts = inner.splitn(3, '?');
    let (charset, encoding) = (parts.next()?, parts.next()?);
    let is_known = charset.eq_ignore_ascii_case("utf-8") && encoding.eq_ignore_ascii_case("b");
    if is_known { decoded(parts.next()?) } else { None }
}

fn decoded(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(&text).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_mail_is_decoded() {
        let mail = b"Subject: =?UTF-8?B?RsO8cg==?=\r\n =?utf-8?b?IGRpY2g=?= now\r\n\
            MESSAGE-ID: <a.0.b@example.com>\r\nContent-Transfer-Encoding: base64\r\n\r\n\
            w7xiZXIN\r\nCmFsbGVz\r\n";
        let read = MailText::read(mail);
        assert_eq!((read.subject.as_str(), read.id.as_str()), ("Für dich now", "a.0.b"));
        assert_eq!(read.text, "über\nalles");
    }

    #[test]
    fn unknown_encodings_are_left_as_they_are() {
        for (mail, subject, text) in [
            ("", "", ""),
            ("\r\n\r\n", "", ""),
            ("no header at all", "", ""),
            ("Subject:\r\n\r\n.", "", "."),
            (
                "Subject: =?UTF-8?Q?a?= =?latin1?B?YQ==?=\n\nx",
                "=?UTF-8?Q?a?= =?latin1?B?YQ==?=",
                "x",
            ),
            ("Subject: =?UTF-8?B?***?= =?\n\nx", "=?UTF-8?B?***?= =?", "x"),
            ("Content-Transfer-Encoding: base64\n\n***", "", "***"),
            (":\n:a\n: b:c\n\nx", "", "x"),
        ] {
            let read = MailText::read(mail.as_bytes());
            assert_eq!((read.subject.as_str(), read.text.as_str()), (subject, text), "{mail}");
        }
        assert_eq!(MailText::read(b"Subject: \xff\xfe\n\n\xff").subject, "\u{fffd}\u{fffd}");
    }
}
