//! The printed expressions of a request, with their placeholders.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnConditionFailed,
};
use keyloom_store::{OnFailure, Returns};
use keyloom_value::{Condition, KeyCondition, Projection, Update};

use super::values::attribute;
use crate::Printer;

/// Prints the expressions that are present.
#[derive(Default)]
pub(super) struct Expressions {
    printer: Printer,
}

impl Expressions {
    pub(super) fn condition(&mut self, condition: Option<&Condition>) -> Option<String> {
        condition.map(|condition| self.printer.condition(condition))
    }

    pub(super) fn key_condition(&mut self, key: &KeyCondition) -> String {
        self.printer.key_condition(key)
    }

    pub(super) fn projection(&mut self, projection: Option<&Projection>) -> Option<String> {
        projection.map(|projection| self.printer.projection(projection))
    }

    /// Prints an update; returns `None` if it changes nothing.
    pub(super) fn update(&mut self, update: &Update) -> Option<String> {
        Some(self.printer.update(update)).filter(|text| !text.is_empty())
    }

    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        let names = self.printer.names.iter().cloned().collect::<HashMap<_, _>>();
        Some(names).filter(|names| !names.is_empty())
    }

    pub(super) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        let values = self.printer.values.iter().cloned();
        let values = values.map(|(key, value)| (key, attribute(value))).collect::<HashMap<_, _>>();
        Some(values).filter(|values| !values.is_empty())
    }
}

pub(super) fn return_value(returns: Returns) -> ReturnValue {
    match returns {
        Returns::Nothing => ReturnValue::None,
        Returns::AllOld => ReturnValue::AllOld,
        Returns::UpdatedOld => ReturnValue::UpdatedOld,
        Returns::AllNew => ReturnValue::AllNew,
        Returns::UpdatedNew => ReturnValue::UpdatedNew,
    }
}

pub(super) fn on_condition_failed(on_failure: OnFailure) -> OnConditionFailed {
    match on_failure {
        OnFailure::Nothing => OnConditionFailed::None,
        OnFailure::ReturnItem => OnConditionFailed::AllOld,
    }
}
