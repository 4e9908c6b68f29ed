//! Reads responses with documents. A number that a double cannot hold becomes the text of its digits, so
//! that nobody who reads the result rounds it.

use keyloom_json::{JsonError, Limits, Reader, Token};
use serde_json::{Map, Number, Value as Json};

use crate::tool_error::ToolError;

/// Documents are at most 32 deep, and `with` nests them.
const DEPTH_MAX: usize = 100;
/// From here on, doubles skip whole numbers.
const EXACT_MAX: i64 = 1 << 53;

/// Reads an object.
pub(crate) fn read(body: &[u8]) -> Result<Map<String, Json>, ToolError> {
    let invalid = || {
        ToolError::new("bad-response", "The server's response cannot be read.")
            .with_hint("Check that --url is the URL of a Keyloom server.")
    };
    let text = std::str::from_utf8(body).map_err(|_| invalid())?;
    let limits = Limits { depth: DEPTH_MAX, values: text.len() };
    let mut reader = Reader::new(text, limits);
    let value = value(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(Json::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(invalid()),
    }
}

fn value(reader: &mut Reader<'_>) -> Result<Json, JsonError> {
    Ok(match reader.value("a value")? {
        Token::Null => Json::Null,
        Token::Bool(flag) => Json::Bool(flag),
        Token::Number(digits) => number(digits),
        Token::Text(text) => Json::String(text.into_owned()),
        Token::List => {
            let mut elements = vec![];
            while reader.next_element()? {
                elements.push(value(reader)?);
            }
            Json::Array(elements)
        }
        Token::Object => {
            let mut members = Map::new();
            while let Some(name) = reader.next_member()? {
                reader.colon()?;
                members.insert(name.into_owned(), value(reader)?);
            }
            Json::Object(members)
        }
    })
}

fn number(digits: &str) -> Json {
    if let Ok(whole) = digits.parse::<i64>() {
        let is_exact = (-EXACT_MAX..=EXACT_MAX).contains(&whole);
        return if is_exact { Json::from(whole) } else { Json::from(digits) };
    }
    let double = digits.parse::<f64>().ok().filter(|double| double.to_string() == digits);
    double.and_then(Number::from_f64).map_or_else(|| Json::from(digits), Json::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_texts() {
        for (given, expected) in [
            ("1", "1"),
            ("-7", "-7"),
            ("0.1", "0.1"),
            ("9007199254740993", "\"9007199254740993\""),
            ("12345678901234567890.5", "\"12345678901234567890.5\""),
            ("0.12345678901234567890123", "\"0.12345678901234567890123\""),
        ] {
            let read = read(format!("{{\"n\":{given}}}").as_bytes()).unwrap();
            assert_eq!(Json::Object(read).to_string(), format!("{{\"n\":{expected}}}"));
        }
    }

    #[test]
    fn anything_but_an_object_is_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        for body in ["", "[]", "{} {}", "<html>", "{\"a\":", &deep] {
            assert!(read(body.as_bytes()).is_err(), "{body}");
        }
        assert!(read(b"{\"a\":\"\xff\"}").is_err());
    }
}
