//! Decodes values and items from JSON, with the service's error messages.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_value::{Item, Name, Number, NumberError, Value};

use crate::json::Json;

/// The most lists and maps around a value.
const NESTING_MAX: usize = 31;
/// The service's message for more of them.
pub(crate) const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: Attributes in the \
     item have nested levels beyond supported limit";

/// Why JSON is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// It has the wrong shape. The service reports this before anything else.
    Shape(String),
    /// It has the right shape and breaks a rule. The service reports this in the order of its checks.
    Rule(String),
}

use DecodeError::{Rule, Shape};

/// Decodes an item: an object of attribute values.
pub(crate) fn item(json: &Json<'_>) -> Result<Item, DecodeError> {
    map(json, 0)
}

/// Decodes one attribute value.
pub(crate) fn attribute_value(json: &Json<'_>) -> Result<Value, DecodeError> {
    value(json, 0)
}

/// Decodes `ExpressionAttributeValues`, in order.
pub(crate) fn value_map(json: &Json<'_>) -> Result<Vec<(String, Value)>, DecodeError> {
    let members = members(json)?;
    let present = members.iter().filter(|(_, value)| *value != Json::Null);
    present.map(|(name, member)| Ok((name.to_string(), value(member, 0)?))).collect()
}

/// Decodes `ExpressionAttributeNames`, in order.
pub(crate) fn name_map(json: &Json<'_>) -> Result<Vec<(String, String)>, DecodeError> {
    let Json::Object(members) = json else {
        return Err(match json {
            Json::List(_) => Shape(
                "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"
                    .to_owned(),
            ),
            _ => unexpected_field(),
        });
    };
    let present = members.iter().filter(|(_, value)| *value != Json::Null);
    present.map(|(name, member)| Ok((name.to_string(), text(member)?.to_string()))).collect()
}

/// Decodes a string.
pub(crate) fn text<'a>(json: &'a Json<'_>) -> Result<&'a Cow<'a, str>, DecodeError> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(Shape(not_convertible(other, "String"))),
    }
}

/// Returns the service's message for a value of the wrong type.
pub(crate) fn not_convertible(json: &Json<'_>, target: &str) -> String {
    match json {
        Json::Bool(true) => format!("TRUE_VALUE cannot be converted to {target}"),
        Json::Bool(false) => format!("FALSE_VALUE cannot be converted to {target}"),
        Json::Number(number) if number.contains(['.', 'e', 'E']) => {
            format!("DECIMAL_VALUE cannot be converted to {target}")
        }
        Json::Number(_) => format!("NUMBER_VALUE cannot be converted to {target}"),
        Json::Text(_) => format!("STRING_VALUE cannot be converted to {target}"),
        Json::List(_) => format!("Unrecognized collection type class java.lang.{target}"),
        Json::Object(_) => "Start of structure or map found where not expected".to_owned(),
        Json::Null => format!("NULL_VALUE cannot be converted to {target}"),
    }
}

fn members<'a, 'b>(json: &'a Json<'b>) -> Result<&'a [(Cow<'b, str>, Json<'b>)], DecodeError> {
    match json {
        Json::Object(members) => Ok(members),
        Json::List(_) => Err(Shape(
            "Unrecognized collection type java.util.Map<java.lang.String, \
             com.amazonaws.dynamodb.v20120810.AttributeValue>"
                .to_owned(),
        )),
        _ => Err(unexpected_field()),
    }
}

fn map(json: &Json<'_>, depth: usize) -> Result<Item, DecodeError> {
    let mut rule = None;
    let mut attributes = Vec::new();
    for (name, member) in members(json)?.iter().filter(|(_, member)| *member != Json::Null) {
        match value(member, depth) {
            Ok(value) => attributes.push((Name::from(&**name), value)),
            Err(Rule(why)) => rule = rule.or(Some(why)),
            Err(shape) => return Err(shape),
        }
    }
    rule.map_or_else(|| Ok(attributes.into_iter().collect()), |why| Err(Rule(why)))
}

/// Decodes one value, inside `depth` lists and maps.
fn value(json: &Json<'_>, depth: usize) -> Result<Value, DecodeError> {
    let members = match json {
        Json::Object(members) => members,
        Json::List(_) => {
            return Err(Shape(
                "Unrecognized collection type class \
                 com.amazonaws.dynamodb.v20120810.AttributeValue"
                    .to_owned(),
            ));
        }
        _ => return Err(Shape("Unexpected value type in payload".to_owned())),
    };
    let mut found = None;
    for (type_name, content) in members.iter().filter(|(_, content)| *content != Json::Null) {
        let Some(value) = typed(type_name, content, depth)? else { continue };
        if found.is_some() {
            return Err(Rule(
                "Supplied AttributeValue has more than one datatypes set, must contain exactly \
                 one of the supported datatypes"
                    .to_owned(),
            ));
        }
        found = Some(value);
    }
    found.ok_or_else(|| {
        Rule(
            "Supplied AttributeValue is empty, must contain exactly one of the supported \
              datatypes"
                .to_owned(),
        )
    })
}

/// Decodes a value of the named type; `None` for an unknown type, which the service ignores.
fn typed(type_name: &str, content: &Json<'_>, depth: usize) -> Result<Option<Value>, DecodeError> {
    Ok(Some(match type_name {
        "S" => Value::S(text(content)?.to_string()),
        "N" => Value::N(number(text(content)?)?),
        "B" => Value::B(bytes(content)?),
        "BOOL" => Value::Bool(boolean(content)?),
        "NULL" if boolean(content)? => Value::Null,
        "NULL" => {
            return Err(invalid("Null attribute value types must have the value of true"));
        }
        "L" => {
            check_nesting(depth)?;
            let elements = list(content)?.iter().map(|element| value(element, depth + 1));
            Value::L(elements.collect::<Result<_, _>>()?)
        }
        "M" => {
            check_nesting(depth)?;
            Value::M(map(content, depth + 1)?)
        }
        "SS" => Value::Ss(text_set(list(content)?)?),
        "NS" => Value::Ns(number_set(list(content)?)?),
        "BS" => Value::Bs(byte_set(list(content)?)?),
        _ => return Ok(None),
    }))
}

fn check_nesting(depth: usize) -> Result<(), DecodeError> {
    if depth < NESTING_MAX {
        return Ok(());
    }
    Err(Rule(TOO_DEEP.to_owned()))
}

fn list<'a, 'b>(json: &'a Json<'b>) -> Result<&'a [Json<'b>], DecodeError> {
    match json {
        Json::List(elements) => Ok(elements),
        Json::Object(_) => {
            Err(Shape("Start of structure or map found where not expected".to_owned()))
        }
        _ => Err(unexpected_field()),
    }
}

fn boolean(json: &Json<'_>) -> Result<bool, DecodeError> {
    match json {
        Json::Bool(boolean) => Ok(*boolean),
        Json::Text(text) => match text.to_ascii_uppercase().as_str() {
            "TRUE" | "1" | "YES" => Ok(true),
            "FALSE" | "0" | "NO" => Ok(false),
            _ => Err(Shape("Unexpected token received from parser".to_owned())),
        },
        other => Err(Shape(not_convertible(other, "Boolean"))),
    }
}

fn bytes(json: &Json<'_>) -> Result<Vec<u8>, DecodeError> {
    let text = match json {
        Json::Text(text) => text,
        Json::List(_) => {
            let why = "Unrecognized collection type class java.nio.ByteBuffer";
            return Err(Shape(why.to_owned()));
        }
        Json::Object(_) => {
            let why = "Start of structure or map found where not expected";
            return Err(Shape(why.to_owned()));
        }
        _ => {
            let why = "only base-64-encoded strings are convertible to bytes";
            return Err(Shape(why.to_owned()));
        }
    };
    if !text.len().is_multiple_of(4) {
        let why = "Base64 encoded length is expected a multiple of 4 bytes but found:";
        return Err(Shape(format!("{why} {}", text.len())));
    }
    let why = || Shape("Invalid last non-pad Base64 character dectected".to_owned());
    STANDARD.decode(&**text).map_err(|_| why())
}

fn number(text: &str) -> Result<Number, DecodeError> {
    let exponent = text.split_once(['e', 'E']).map(|(_, exponent)| exponent.parse::<i64>());
    let refused = |error: &NumberError| Err(Rule(number_error(text, error)));
    match (text.parse::<Number>(), exponent) {
        // An exponent that fits no integer is not read at all.
        (Err(NumberError::TooLarge | NumberError::TooSmall), Some(Err(_))) => {
            Err(Rule(format!("The parameter cannot be converted to a numeric value: {text}")))
        }
        // Zero has the range of the exponent that it is written with.
        (Ok(Number::ZERO), Some(Ok(126..))) => refused(&NumberError::TooLarge),
        (Ok(Number::ZERO), Some(Ok(..=-131))) => refused(&NumberError::TooSmall),
        (Ok(number), _) => Ok(number),
        (Err(error), _) => refused(&error),
    }
}

/// Returns the service's message for a number that cannot be stored.
pub(crate) fn number_error(text: &str, error: &NumberError) -> String {
    match error {
        NumberError::TooManyDigits => {
            "Attempting to store more than 38 significant digits in a Number".to_owned()
        }
        NumberError::TooLarge => "Number overflow. Attempting to store a number with magnitude \
                                  larger than supported range"
            .to_owned(),
        NumberError::TooSmall => "Number underflow. Attempting to store a number with magnitude \
                                  smaller than supported range"
            .to_owned(),
        _ => format!("The parameter cannot be converted to a numeric value: {text}"),
    }
}

fn text_set(elements: &[Json<'_>]) -> Result<BTreeSet<String>, DecodeError> {
    if elements.is_empty() {
        return Err(invalid("An string set  may not be empty"));
    }
    let mut set = BTreeSet::new();
    for element in elements {
        set.insert(text(element)?.to_string());
    }
    if set.len() < elements.len() {
        let listed = listed(elements, |text| text.as_bytes().to_vec()).join(", ");
        return Err(invalid(&format!("Input collection [{listed}] contains duplicates.")));
    }
    Ok(set)
}

fn number_set(elements: &[Json<'_>]) -> Result<BTreeSet<Number>, DecodeError> {
    if elements.is_empty() {
        return Err(invalid("An number set  may not be empty"));
    }
    let mut set = BTreeSet::new();
    for element in elements {
        set.insert(number(text(element)?)?);
    }
    if set.len() < elements.len() {
        return Err(invalid("Input collection contains duplicates."));
    }
    Ok(set)
}

fn byte_set(elements: &[Json<'_>]) -> Result<BTreeSet<Vec<u8>>, DecodeError> {
    if elements.is_empty() {
        return Err(invalid("Binary sets should not be empty"));
    }
    let mut set = BTreeSet::new();
    for element in elements {
        set.insert(bytes(element)?);
    }
    if set.len() < elements.len() {
        let listed = listed(elements, |text| STANDARD.decode(text).unwrap_or_default()).join(",");
        return Err(invalid(&format!(
            "Input collection [{listed}]of type BS contains duplicates."
        )));
    }
    Ok(set)
}

/// Lists a collection with duplicates as the service does: the members up to the first repeated one
/// in the order of their bytes, that one again, then the rest as sent.
fn listed(elements: &[Json<'_>], bytes: fn(&str) -> Vec<u8>) -> Vec<String> {
    let texts: Vec<&str> =
        elements.iter().filter_map(|json| text(json).ok()).map(|text| &**text).collect();
    let mut seen = BTreeSet::new();
    let unique = texts.iter().take_while(|text| seen.insert(bytes(text))).count();
    let mut listed: Vec<&str> = texts.iter().take(unique).copied().collect();
    listed.sort_by_key(|text| bytes(text));
    listed.extend(texts.iter().skip(unique));
    listed.into_iter().map(|text| format!("\"{text}\"")).collect()
}

fn invalid(why: &str) -> DecodeError {
    Rule(format!("One or more parameter values were invalid: {why}"))
}

fn unexpected_field() -> DecodeError {
    Shape("Unexpected field type".to_owned())
}
