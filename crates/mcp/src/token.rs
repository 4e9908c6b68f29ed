//! Bearer tokens.

use std::fmt;

use hyper::header::{AUTHORIZATION, HeaderMap};

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

    /// The token in the header `Authorization` of a request.
    pub(crate) fn of_request(headers: &HeaderMap) -> Result<Option<Token>, String> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value.to_str().unwrap_or_default(),
            (Some(_), Some(_)) => return Err("`Authorization` is given twice.".to_owned()),
        };
        match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Token::new(token.trim()).map(Some)
            }
            _ => Err("`Authorization` must be `Bearer` followed by a token.".to_owned()),
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
