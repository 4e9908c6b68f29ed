//! `AttributeUpdates`: what to do with each attribute.

use std::collections::BTreeMap;

use keyloom_store::{Error, Invalid};
use keyloom_value::{Name, Path, SetValue, Update, UpdateError, Value};

use crate::endpoint::params::{Checked, Params};
use crate::endpoint::violations::Violations;
use crate::wire::Fault;

/// `AttributeUpdates`, as sent.
pub(crate) struct AttributeUpdates<'a> {
    by_attribute: BTreeMap<&'a str, Sent<'a>>,
}

struct Sent<'a> {
    action: Option<&'a str>,
    value: Option<Checked<Value>>,
}

impl<'a> AttributeUpdates<'a> {
    pub(crate) const PARAMETER: &'static str = "AttributeUpdates";

    pub(crate) fn read(params: &Params<'a>) -> Result<AttributeUpdates<'a>, Fault> {
        let sent = params.structures(AttributeUpdates::PARAMETER, "AttributeValueUpdate")?;
        let read = |(name, params): (&'a str, Params<'a>)| {
            let action = params.text("Action")?;
            Ok((name, Sent { action, value: params.attribute_value("Value")? }))
        };
        let sent = sent.unwrap_or_default().into_iter();
        Ok(AttributeUpdates { by_attribute: sent.map(read).collect::<Result<_, Fault>>()? })
    }

    pub(crate) fn violations(&self, violations: &mut Violations) {
        for (name, sent) in &self.by_attribute {
            let at = format!("attributeUpdates.{name}.member.action");
            violations.one_of(&at, sent.action, &["ADD", "PUT", "DELETE"]);
        }
    }

    pub(crate) fn update(self) -> Result<Update, Fault> {
        let mut update = Update::new();
        for (name, sent) in self.by_attribute {
            update = sent.add_to(update, Path::new(Name::from(name)))?;
        }
        Ok(update)
    }

    /// Returns the service's message for an error that it words differently for expressions.
    pub(crate) fn fault(error: &Error) -> Option<Fault> {
        match error {
            Error::Invalid(Invalid::Update(UpdateError::StoredType { .. })) => {
                Some(Fault::validation("Type mismatch for attribute to update"))
            }
            _ => None,
        }
    }
}

impl Sent<'_> {
    fn add_to(self, update: Update, path: Path) -> Result<Update, Fault> {
        let value = self.value.transpose().map_err(Fault::validation)?;
        match (self.action, value) {
            (Some("DELETE"), None) => Ok(update.remove(path)),
            (_, None) => Err(Fault::parameter(
                "Only DELETE action is allowed when no attribute value is specified",
            )),
            (Some("DELETE"), Some(members @ (Value::Ss(_) | Value::Ns(_) | Value::Bs(_)))) => {
                Ok(update.delete(path, members))
            }
            (Some("DELETE"), Some(other)) => Err(Fault::parameter(format!(
                "DELETE action with value is not supported for the type {}",
                other.value_type()
            ))),
            (Some("ADD"), Some(value)) => added(update, path, value),
            (_, Some(value)) => Ok(update.set(path, value)),
        }
    }
}

/// Adds to a number or a set as expressions do, and also to a list.
fn added(update: Update, path: Path, value: Value) -> Result<Update, Fault> {
    match value {
        Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => Ok(update.add(path, value)),
        Value::L(_) => {
            let old = SetValue::if_missing(path.clone(), Value::L(vec![]));
            Ok(update.set(path, SetValue::append(old, value)))
        }
        Value::S(_) | Value::B(_) | Value::Bool(_) | Value::Null | Value::M(_) => {
            Err(Fault::parameter(format!(
                "ADD action is not supported for the type {}",
                value.value_type()
            )))
        }
    }
}
