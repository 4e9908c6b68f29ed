//! Parameters of declared queries, and values for them.

use serde_json::Value as Json;

use crate::tool_error::ToolError;

/// Options that are arguments of the tools themselves, or make no sense for them.
const HANDLED: [&str; 4] = ["limit", "cursor", "live", "explain"];
/// The first number that a double cannot tell from the next one.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A parameter of a query.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) is_in_path: bool,
    pub(crate) is_required: bool,
    pub(crate) about: String,
    values: Values,
}

/// How several values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    One,
    /// One parameter each.
    Repeated,
    /// In one parameter, separated by commas.
    Joined,
}

impl Parameter {
    /// A parameter as OpenAPI describes it; `None` if it is a header.
    pub(crate) fn read(json: &Json) -> Option<Parameter> {
        let is_in_path = match json["in"].as_str()? {
            "path" => true,
            "query" => false,
            _ => return None,
        };
        let values = match (json["schema"]["type"] == "array", json["explode"].as_bool()) {
            (false, _) => Values::One,
            (true, Some(false)) => Values::Joined,
            (true, Some(true) | None) => Values::Repeated,
        };
        Some(Parameter {
            name: json["name"].as_str()?.to_owned(),
            is_in_path,
            is_required: json["required"].as_bool().unwrap_or(false),
            about: json["description"].as_str().unwrap_or_default().to_owned(),
            values,
        })
    }

    /// Whether it is an option of the server with this name, which has a `$` if a field has the name too.
    pub(crate) fn is_option(&self, option: &str, all: &[Parameter]) -> bool {
        let dollar = format!("${option}");
        let has_dollar = all.iter().any(|other| other.name == dollar);
        !self.is_in_path && self.name == if has_dollar { dollar.as_str() } else { option }
    }

    /// Whether tools set it themselves.
    pub(crate) fn is_handled(&self, all: &[Parameter]) -> bool {
        HANDLED.iter().any(|option| self.is_option(option, all))
    }

    /// The values to send.
    pub(crate) fn texts(&self, given: &Json) -> Result<Vec<String>, ToolError> {
        let texts = match given {
            Json::Array(values) => {
                values.iter().map(|value| self.text(value)).collect::<Result<Vec<_>, _>>()?
            }
            one => vec![self.text(one)?],
        };
        match (self.values, texts.len()) {
            (_, 0) => Err(self.refused("has no value")),
            (Values::One, 1) | (Values::Repeated, _) => Ok(texts),
            (Values::One, _) => Err(self.refused("takes one value, not a list")),
            (Values::Joined, _) => Ok(vec![texts.join(",")]),
        }
    }

    fn text(&self, value: &Json) -> Result<String, ToolError> {
        match value {
            Json::String(text) => Ok(text.clone()),
            Json::Bool(flag) => Ok(flag.to_string()),
            // It may have been rounded on the way here.
            Json::Number(number)
                if number.is_f64() && number.as_f64().is_none_or(|it| it.abs() >= EXACT_MAX) =>
            {
                Err(self.refused("is a very large number: give it as a text"))
            }
            Json::Number(number) => Ok(number.to_string()),
            Json::Null | Json::Array(_) | Json::Object(_) => {
                Err(self.refused("must be a text, a number, a Boolean or a list of these"))
            }
        }
    }

    fn refused(&self, why: &str) -> ToolError {
        ToolError::argument(format!("The parameter `{}` {why}.", self.name)).with_hint(&*self.about)
    }
}
