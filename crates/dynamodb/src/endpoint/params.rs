//! The parameters of a request, each of the type it should have.

use keyloom_store::TableName;
use keyloom_value::{Item, Value};

use crate::json::Json;
use crate::wire::{DecodeError, Fault, FaultCode, item, name_map, not_convertible, value_map};

/// What a parameter holds, or the rule that it breaks. Shapes are checked when a parameter is
/// read, rules when the operation's own order of checks comes to it.
pub(super) type Checked<T> = Result<T, String>;

/// Values by their placeholders.
pub(super) type Values = Vec<(String, Value)>;

/// The members of an object that is a request, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Params<'a> {
    json: &'a Json<'a>,
}

impl<'a> Params<'a> {
    pub(super) fn new(json: &'a Json<'a>) -> Result<Params<'a>, Fault> {
        match json {
            Json::Object(_) => Ok(Params { json }),
            Json::List(_) => Err(Fault::serialization(
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810",
            )),
            _ => Err(Fault::serialization("Unexpected value type in payload")),
        }
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

    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Bool(truth)) => Ok(Some(*truth)),
            Some(Json::Text(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Json::Text(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(Json::Text(_)) => {
                Err(Fault::serialization("Unexpected token received from parser"))
            }
            Some(other) => Err(Fault::serialization(not_convertible(other, "Boolean"))),
        }
    }

    /// A whole number; one with a fraction is cut, as the service does.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(Json::Number(text)) => {
                let whole = text.parse::<i64>().ok();
                let cut = || text.parse::<f64>().ok().map(|number| number as i64);
                Ok(whole.or_else(cut))
            }
            Some(other) => Err(Fault::serialization(not_convertible(other, "Integer"))),
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

    /// A list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>, Fault> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        let texts = elements.iter().map(|element| match element {
            Json::Text(text) => Ok(&**text),
            other => Err(Fault::serialization(not_convertible(other, "String"))),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// A list of objects.
    pub(super) fn objects(&self, name: &str) -> Result<Option<Vec<Params<'a>>>, Fault> {
        let Some(elements) = self.list(name)? else { return Ok(None) };
        elements.iter().map(Params::new).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Params<'a>>, Fault> {
        match self.json.get(name) {
            None => Ok(None),
            Some(json @ Json::Object(_)) => Ok(Some(Params { json })),
            Some(Json::List(_)) => Err(Fault::serialization(
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810",
            )),
            Some(_) => Err(Fault::serialization("Unexpected field type")),
        }
    }

    /// The members of an object whose names are not known beforehand.
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
        self.json.get(name).map(|json| checked(item(json))).transpose()
    }

    pub(super) fn names(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Fault> {
        let names = self.json.get(name).map(|json| checked(name_map(json))).transpose()?;
        names.transpose().map_err(Fault::validation)
    }

    pub(super) fn values(&self, name: &str) -> Result<Option<Checked<Values>>, Fault> {
        self.json.get(name).map(|json| checked(value_map(json))).transpose()
    }
}

/// An item on its own.
pub(super) fn checked_item(json: &Json<'_>) -> Result<Checked<Item>, Fault> {
    checked(item(json))
}

/// A table's name that has passed its constraints; it may be an ARN. What cannot be a name is the
/// name of no table.
pub(super) fn table_name(text: &str) -> Result<TableName, Fault> {
    TableName::new(super::arn::table_of(text))
        .map_err(|_| Fault::new(FaultCode::ResourceNotFound, "Requested resource not found"))
}

fn checked<T>(decoded: Result<T, DecodeError>) -> Result<Checked<T>, Fault> {
    match decoded {
        Ok(value) => Ok(Ok(value)),
        Err(DecodeError::Rule(why)) => Ok(Err(why)),
        Err(DecodeError::Shape(why)) => Err(Fault::serialization(why)),
    }
}
