//! The expressions of a request, with their names and values.

use keyloom_value::{Condition, KeyCondition, Projection, Update};

use crate::expression::{ExpressionError, Substitutions};
use crate::wire::{Fault, Wording};

use super::params::{Checked, Params, Values};

/// The expression parameters, not parsed yet.
pub(super) struct Expressions<'a> {
    /// The expression parameters of the operation, in the service's order.
    texts: Vec<(&'static str, Option<&'a str>)>,
    names: Option<Vec<(String, String)>>,
    values: Option<Checked<Values>>,
    wording: Wording,
}

/// Expressions being parsed.
pub(super) struct Parsing<'a> {
    texts: Vec<(&'static str, Option<&'a str>)>,
    substitutions: Substitutions,
}

impl<'a> Expressions<'a> {
    /// Reads the expression `parameters` of the operation.
    pub(super) fn read(
        params: &Params<'a>,
        parameters: &[&'static str],
    ) -> Result<Expressions<'a>, Fault> {
        let texts = parameters.iter().map(|name| Ok((*name, params.text(name)?)));
        Ok(Expressions {
            texts: texts.collect::<Result<_, Fault>>()?,
            names: params.names("ExpressionAttributeNames")?,
            values: params.values("ExpressionAttributeValues")?,
            wording: params.wording(),
        })
    }

    /// Returns the expression parameters that are present, in the service's order.
    pub(super) fn given(&self) -> Vec<&'static str> {
        self.texts.iter().filter(|(_, text)| text.is_some()).map(|(name, _)| *name).collect()
    }

    /// Rejects names and values without an expression that could use them.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.names.is_some() && self.texts.iter().all(|(_, text)| text.is_none()) {
            return Err(Fault::validation(
                "ExpressionAttributeNames can only be specified when using expressions",
            ));
        }
        let with_values = self.texts.iter().filter(|(name, _)| *name != "ProjectionExpression");
        let (names, given): (Vec<_>, Vec<_>) = with_values.copied().unzip();
        if self.values.is_some() && given.iter().all(Option::is_none) {
            let verb = if names.len() > 1 { "are" } else { "is" };
            let why = match names.is_empty() || self.wording == Wording::Current {
                true => String::new(),
                false => format!(": {} {verb} null", names.join(" and ")),
            };
            return Err(Fault::validation(format!(
                "ExpressionAttributeValues can only be specified when using expressions{why}"
            )));
        }
        Ok(())
    }

    /// Starts parsing.
    pub(super) fn parse(self) -> Result<Parsing<'a>, Fault> {
        for (name, is_empty) in [
            ("ExpressionAttributeNames", self.names.as_ref().is_some_and(Vec::is_empty)),
            ("ExpressionAttributeValues", matches!(&self.values, Some(Ok(v)) if v.is_empty())),
        ] {
            if is_empty {
                return Err(Fault::validation(format!("{name} must not be empty")));
            }
        }
        let values = self.values.transpose().map_err(Fault::validation)?.unwrap_or_default();
        let names = self.names.unwrap_or_default();
        let substitutions = Substitutions::new(names, values).map_err(refused)?;
        Ok(Parsing { texts: self.texts, substitutions })
    }
}

impl<'a> Parsing<'a> {
    /// Parses the condition of a parameter, if present.
    pub(super) fn condition(&mut self, name: &str) -> Result<Option<Condition>, Fault> {
        let text = self.text(name);
        let condition = text.map(|text| self.substitutions.condition(name, text));
        condition.transpose().map_err(refused)
    }

    pub(super) fn key_condition(&mut self) -> Result<Option<KeyCondition>, Fault> {
        let text = self.text("KeyConditionExpression");
        text.map(|text| self.substitutions.key_condition(text)).transpose().map_err(refused)
    }

    pub(super) fn update(&mut self) -> Result<Option<Update>, Fault> {
        let text = self.text("UpdateExpression");
        text.map(|text| self.substitutions.update(text)).transpose().map_err(refused)
    }

    pub(super) fn projection(&mut self) -> Result<Option<Projection>, Fault> {
        let text = self.text("ProjectionExpression");
        text.map(|text| self.substitutions.projection(text)).transpose().map_err(refused)
    }

    /// Ends parsing; rejects unused names and values.
    pub(super) fn finish(self) -> Result<(), Fault> {
        self.substitutions.finish().map_err(refused)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.texts.iter().find(|(known, _)| *known == name).and_then(|(_, text)| *text)
    }
}

fn refused(error: ExpressionError) -> Fault {
    Fault::validation(error.to_string())
}
