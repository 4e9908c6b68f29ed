//! Reading JSON into a tree.

use keyloom_json::{JsonError, Limits, Reader, Token};

use super::Json;

/// Levels of lists and objects. An item may have 32 of its own, each of which is two here, and a
/// few more would be refused with a better message than this parser has.
const DEPTH_MAX: usize = 200;

/// Bytes of a request for each of its values. Nothing that the wire knows is denser than a set of
/// short texts (`"a",`), so no request that means something is refused; and of one that means
/// nothing, such as a list of zeros, the tree is not built.
const VALUE_BYTES_MIN: usize = 4;

/// Short texts may be denser, such as the answer `{"Responses":[{},{}]}`: they take little anyway.
const VALUES_MIN: usize = 1024;

/// The value of the text, or nothing if it is not JSON.
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
        Token::Bool(truth) => Json::Bool(truth),
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
