//! Replies to calls and texts, and which of them are answers.

use serde::Deserialize;

/// The body that a provider posts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    /// The keys pressed during a call.
    digits: Option<String>,
    /// The text of a message.
    text: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) by: &'static str,
    pub(crate) note: String,
}

/// The maximum length of a stored reply.
const NOTE_CHARACTERS_MAX: usize = 500;

impl Reply {
    /// Returns the answer. A wrong key or a "no" is not an answer; the error says what would be one.
    pub(crate) fn answer(&self) -> Result<Answered, &'static str> {
        let note = |text: &str| text.chars().take(NOTE_CHARACTERS_MAX).collect();
        match (&self.digits, &self.text) {
            (Some(digits), None) if digits.trim_end_matches('#') == "1" => {
                Ok(Answered { by: "digits", note: note(digits) })
            }
            (Some(_), None) => Err("Press 1 to answer."),
            (None, Some(text)) if is_yes(text) => Ok(Answered { by: "text", note: note(text) }),
            (None, Some(_)) => Err("Reply OK to answer."),
            (None, None) | (Some(_), Some(_)) => {
                Err("Invalid reply: give either `digits` or `text`.")
            }
        }
    }
}

fn is_yes(text: &str) -> bool {
    let word: String = text.trim().chars().take_while(|c| c.is_alphanumeric()).collect();
    ["1", "ack", "ok", "okay", "y", "yes"].contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_are_not_an_acknowledgement_are_errors() {
        let reply = |digits: Option<&str>, text: Option<&str>| Reply {
            digits: digits.map(str::to_owned),
            text: text.map(str::to_owned),
        };
        for text in ["OK", "ok!", " Yes, on my way", "1", "ack", "Y", "okay."] {
            assert!(reply(None, Some(text)).answer().is_ok(), "{text}");
        }
        for text in ["", "no", "not ok", "okra", "STOP", "yesterday", "👍"] {
            assert!(reply(None, Some(text)).answer().is_err(), "{text}");
        }
        assert!(reply(Some("1"), None).answer().is_ok());
        assert!(reply(Some("1#"), None).answer().is_ok());
        for digits in ["", "2", "11", "#"] {
            assert!(reply(Some(digits), None).answer().is_err(), "{digits}");
        }
        assert!(reply(None, None).answer().is_err());
        assert!(reply(Some("1"), Some("ok")).answer().is_err());
    }
}
