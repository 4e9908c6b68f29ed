//! The parameters of a request, checked for their types.

use std::collections::BTreeMap;

use keyloom_store::{Consistency, TableName};
use keyloom_value::{Item, Value};

use crate::json::Json;
use crate::wire::{
    DecodeError, Fault, FaultCode, Wording, attribute_value, item, name_map, not_convertible,
    older_message, older_value_message, value_map,
};

/// The value of a parameter, or the message of the rule it breaks. The type is checked when the
/// parameter is read; the rule is reported when the operation's order of checks reaches it.
pub(super) type Checked<T> = Result<T, String>;

/// Values by placeholder.
pub(super) type Values = Vec<(String, Value)>;

/// The members of a request, or of an object in it.
#[derive(Clone, Copy)]
pub(super) struct Params<'a> {
    json: &'a Json<'a>,
    wording: Wording,
}

impl<'a> Params<'a> {
    pub(super) fn new(json: &'a Json<'a>) -> Result<Params<'a>, Fault> {
        match json {
            Json::Object(_) => Ok(Params { json, wording: Wording::Older }),
            Json::List(_) => Err(Fault::serialization(
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810",
            )),
            _ => Err(Fault::serialization("Unexpected value type in payload")),
        }
    }

    /// The same members, for an operation with this wording of invalid values.
    pub(super) fn worded(self, wording: Wording) -> Params<'a> {
        Params { wording, ..self }
    }

    pub(super) fn wording(&self) -> Wording {
        self.wording
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.json.get(name).is_some()
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(other) => Err(Fault::serialization(not_convertible(other, "String"))),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Bool(boolean)) => Ok(Some(*boolean)),
            Some(Json::Text(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Json::Text(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(Json::Text(_)) => {
                Err(Fault::serialization("Unexpected token received from parser"))
            }
            Some(other) => Err(Fault::serialization(not_convertible(other, "Boolean"))),
        }
    }

    /// Reads an integer; a fraction is truncated, as the service does.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Number(text)) => {
                let whole = text.parse::<i64>().ok();
                let truncated = || text.parse::<f64>().ok().map(|number| number as i64);
                Ok(whole.or_else(truncated))
            }
            Some(other) => Err(Fault::serialization(not_convertible(other, "Integer"))),
        }
    }

    /// Reads a number, such as a time in seconds.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Number(text)) => Ok(text.parse::<f64>().ok().filter(|n| n.is_finite())),
            Some(other) => Err(Fault::serialization(not_convertible(other, "Date"))),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a [Json<'a>]>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::List(elements)) => Ok(Some(elements)),
            Some(Json::Object(_)) => {
                Err(Fault::serialization("Start of structure or map found where not expected"))
            }
            Some(_) => Err(Fault::serialization("Unexpected field type")),
        }
    }

    /// Reads a list of strings.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>, Fault> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        let texts = elements.iter().map(|element| match element {
            Json::Text(text) => Ok(&**text),
            other => Err(Fault::serialization(not_convertible(other, "String"))),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// Reads a list of objects.
    pub(super) fn objects(&self, name: &str) -> Result<Option<Vec<Params<'a>>>, Fault> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        elements.iter().map(Params::new).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Params<'a>>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(json @ Json::Object(_)) => Ok(Some(Params { json, wording: self.wording })),
            Some(Json::List(_)) => Err(Fault::serialization(
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810",
            )),
            Some(_) => Err(Fault::serialization("Unexpected field type")),
        }
    }

    /// Iterates over an object whose member names are arbitrary, such as table names.
    pub(super) fn members(
        &self,
        name: &str,
    ) -> Result<Option<impl Iterator<Item = (&'a str, &'a Json<'a>)> + use<'a>>, Fault> {
        let Some(object) = self.object(name)? else { return Ok(None) };
        let Json::Object(members) = object.json else { return Ok(None) };
        let present = members.iter().filter(|(_, value)| *value != Json::Null);
        Ok(Some(present.map(|(name, value)| (&**name, value))))
    }

    pub(super) fn item(&self, name: &str) -> Result<Option<Checked<Item>>, Fault> {
        let Some(json) = self.json.get(name) else { return Ok(None) };
        let checked = checked(item(json))?;
        Ok(Some(checked.map_err(|why| match self.wording {
            Wording::Current => why,
            Wording::Older => older_message(json, why),
        })))
    }

    pub(super) fn names(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Fault> {
        let names = self.json.get(name).map(|json| checked(name_map(json))).transpose()?;
        names.transpose().map_err(Fault::validation)
    }

    pub(super) fn values(&self, name: &str) -> Result<Option<Checked<Values>>, Fault> {
        let Some(json) = self.json.get(name) else { return Ok(None) };
        let checked = checked(value_map(json))?;
        Ok(Some(checked.map_err(|why| match self.wording {
            Wording::Current => why,
            Wording::Older => older_value_message(json, why),
        })))
    }

    /// Reads one attribute value.
    pub(super) fn attribute_value(&self, name: &str) -> Result<Option<Checked<Value>>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(json @ (Json::Object(_) | Json::List(_))) => {
                checked(attribute_value(json)).map(Some)
            }
            Some(_) => Err(Fault::serialization("Unexpected field type")),
        }
    }

    /// Reads a list of attribute values. Every one of them is checked for its shape, even if an
    /// earlier one breaks a rule.
    pub(super) fn attribute_values(
        &self,
        name: &str,
    ) -> Result<Option<Checked<Vec<Value>>>, Fault> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        let values = elements.iter().map(|element| checked(attribute_value(element)));
        let values: Vec<Checked<Value>> = values.collect::<Result<_, Fault>>()?;
        Ok(Some(values.into_iter().collect()))
    }

    /// Reads an object of structures by arbitrary names, in the order of their names. Errors name
    /// the class of the structures.
    pub(super) fn structures(
        &self,
        name: &str,
        class: &str,
    ) -> Result<Option<BTreeMap<&'a str, Params<'a>>>, Fault> {
        let members = match self.json.get(name) {
            None => return Ok(None),
            Some(Json::Object(members)) => members,
            Some(Json::List(_)) => {
                return Err(Fault::serialization(format!(
                    "Unrecognized collection type java.util.Map<java.lang.String, \
                     com.amazonaws.dynamodb.v20120810.{class}>"
                )));
            }
            Some(_) => return Err(Fault::serialization("Unexpected field type")),
        };
        // The last of several members with the same name counts.
        let last: BTreeMap<&str, &Json<'_>> =
            members.iter().map(|(n, json)| (&**n, json)).collect();
        let present = last.into_iter().filter(|(_, json)| **json != Json::Null);
        let structures = present.map(|(name, json)| match json {
            Json::Object(_) => Ok((name, Params { json, wording: self.wording })),
            Json::List(_) => Err(Fault::serialization(format!(
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.{class}"
            ))),
            _ => Err(Fault::serialization("Unexpected value type in payload")),
        });
        structures.collect::<Result<_, Fault>>().map(Some)
    }
}

/// Decodes an item.
pub(super) fn checked_item(json: &Json<'_>) -> Result<Checked<Item>, Fault> {
    checked(item(json))
}

/// Parses a table name or ARN that has passed its constraints. A name that is still invalid is
/// reported as a missing table.
pub(super) fn table_name(text: &str) -> Result<TableName, Fault> {
    TableName::new(super::arn::table_of(text))
        .map_err(|_| Fault::new(FaultCode::ResourceNotFound, "Requested resource not found"))
}

/// Reads `ConsistentRead`.
pub(super) fn consistency(params: &Params<'_>) -> Result<Consistency, Fault> {
    Ok(match params.boolean("ConsistentRead")? {
        Some(true) => Consistency::Strong,
        _ => Consistency::Eventual,
    })
}

fn checked<T>(decoded: Result<T, DecodeError>) -> Result<Checked<T>, Fault> {
    match decoded {
        Ok(value) => Ok(Ok(value)),
        Err(DecodeError::Rule(why)) => Ok(Err(why)),
        Err(DecodeError::Shape(why)) => Err(Fault::serialization(why)),
    }
}
