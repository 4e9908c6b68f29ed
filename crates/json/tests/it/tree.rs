//! Copies JSON token by token.

use keyloom_json::{JsonError, Limits, Reader, Token, write_text};

pub(crate) const LIMITS: Limits = Limits { depth: 100, values: 1000 };

/// Reads a text and writes it without whitespace.
pub(crate) fn rewritten(text: &str, limits: Limits) -> Result<String, JsonError> {
    let mut reader = Reader::new(text, limits);
    let mut json = String::new();
    copy(&mut reader, &mut json)?;
    reader.end()?;
    Ok(json)
}

fn copy(reader: &mut Reader<'_>, json: &mut String) -> Result<(), JsonError> {
    match reader.value("a value")? {
        Token::Null => json.push_str("null"),
        Token::Bool(boolean) => json.push_str(&boolean.to_string()),
        Token::Number(number) => json.push_str(number),
        Token::Text(text) => write_text(json, &text),
        Token::List => {
            json.push('[');
            while reader.next_element()? {
                separate(json);
                copy(reader, json)?;
            }
            json.push(']');
        }
        Token::Object => {
            json.push('{');
            while let Some(name) = reader.next_member()? {
                separate(json);
                write_text(json, &name);
                reader.colon()?;
                json.push(':');
                copy(reader, json)?;
            }
            json.push('}');
        }
    }
    Ok(())
}

fn separate(json: &mut String) {
    if !json.ends_with(['[', '{', ':']) {
        json.push(',');
    }
}
