//! Bearer tokens.

use std::fmt;

/// A bearer token of the Keyloom server. It is sent, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token in a text.
    ///
    /// # Errors
    ///
    /// If the text cannot be a token: it is empty, or has characters that no header can have.
    pub fn new(text: &str) -> Result<Token, String> {
        let is_valid = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_valid {
            true => Ok(Token(text.to_owned())),
            false => Err("the token is empty or has invalid characters.".to_owned()),
        }
    }

    /// The value of the header `Authorization`.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}
