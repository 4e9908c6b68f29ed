//! Parses JSON into a tree.

use keyloom_json::{JsonError, Limits, Reader, Token};

use super::Json;

/// The deepest nesting of lists and objects. An item can have 32 levels, each of which is two here;
/// the rest leaves room to reject slightly deeper items with the service's own message.
const DEPTH_MAX: usize = 200;

/// The fewest bytes per value. No valid request is denser than a set of short strings (`"a",`), and
/// the limit keeps a list of zeros from becoming a tree many times its size.
const VALUE_BYTES_MIN: usize = 4;

/// Values that a short text can always have, however dense: `{"Responses":[{},{}]}`.
const VALUES_MIN: usize = 1024;

/// Parses a text; returns `None` if it is not JSON or exceeds a limit.
pub(crate) fn parse(text: &str) -> Option<Json<'_>> {
    let values = text.len() / VALUE_BYTES_MIN + VALUES_MIN;
    let mut reader = Reader::new(text, Limits { depth: DEPTH_MAX, values });
    let json = value(&mut reader).ok()?;
    reader.end().ok()?;
    Some(json)
}

fn value<'a>(reader: &mut Reader<'a>) -> Result<Json<'a>, JsonError> {
    Ok(match reader.value("a value")? {
        Token::Null => Json::Null,
        Token::Bool(boolean) => Json::Bool(boolean),
        Token::Number(number) => Json::Number(number),
        Token::Text(text) => Json::Text(text),
        Token::List => {
            let mut elements = vec![];
            while reader.next_element()? {
                elements.push(value(reader)?);
            }
            Json::List(elements.into_boxed_slice())
        }
        Token::Object => {
            let mut members = vec![];
            while let Some(name) = reader.next_member()? {
                reader.colon()?;
                members.push((name, value(reader)?));
            }
            Json::Object(members.into_boxed_slice())
        }
    })
}
