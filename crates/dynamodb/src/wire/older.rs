//! The older wording of invalid values.
//!
//! The service is moving its operations to other messages, one after the other. Those that have not
//! moved list duplicates as sent, and name the placeholder of an invalid value.

use crate::json::Json;

use super::decode::{DecodeError, item, value_map};

/// How an operation words invalid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wording {
    Current,
    Older,
}

const INVALID: &str = "One or more parameter values were invalid: ";

/// Returns the older message for an invalid value in `json`, which has the current message `why`.
pub(crate) fn older_message(json: &Json<'_>, why: String) -> String {
    if why == format!("{INVALID}Input collection contains duplicates.") {
        return "Input collection contains duplicates".to_owned();
    }
    if let Some(start) = why.strip_suffix(": ").filter(|_| why.ends_with("numeric value: ")) {
        return start.to_owned();
    }
    match why.starts_with(&format!("{INVALID}Input collection [")) {
        true => repeated(json, &why).unwrap_or(why),
        false => why,
    }
}

/// Returns the older message for invalid `ExpressionAttributeValues`.
pub(crate) fn older_value_message(json: &Json<'_>, why: String) -> String {
    let Json::Object(members) = json else { return why };
    let is_wrong = |(name, member): &&(std::borrow::Cow<'_, str>, Json<'_>)| {
        let one = Json::Object(Box::new([(name.clone(), member.clone())]));
        matches!(value_map(&one), Err(DecodeError::Rule(found)) if found == why)
    };
    match members.iter().find(is_wrong) {
        Some((name, member)) => {
            let why = older_message(member, why);
            format!("ExpressionAttributeValues contains invalid value: {why} for key {name}")
        }
        None => why,
    }
}

/// Finds the set that the message is about, and lists it as sent.
fn repeated(json: &Json<'_>, why: &str) -> Option<String> {
    let members = match json {
        Json::Object(members) => members,
        Json::List(elements) => return elements.iter().find_map(|element| repeated(element, why)),
        _ => return None,
    };
    for (name, content) in members {
        if let ("SS" | "BS", Json::List(elements)) = (&**name, content) {
            let set = Json::Object(Box::new([(name.clone(), content.clone())]));
            let whole = Json::Object(Box::new([("v".into(), set)]));
            if matches!(item(&whole), Err(DecodeError::Rule(found)) if found == why) {
                let texts = elements.iter().filter_map(|element| match element {
                    Json::Text(text) => Some(&**text),
                    _ => None,
                });
                let listed = texts.collect::<Vec<_>>().join(", ");
                let rest = if name == "SS" { " " } else { "of type BS " };
                return Some(format!(
                    "{INVALID}Input collection [{listed}]{rest}contains duplicates."
                ));
            }
        }
        if let Some(found) = repeated(content, why) {
            return Some(found);
        }
    }
    None
}
