//! Relative changes in patches: `{"$add": 5}` adds to an `int` or a `number`, and `{"$append": [...]}`
//! adds values at the end of a list. The result is checked like any other value, so ranges and lengths
//! hold; sums are exact or refused. An absent field counts as 0, or as an empty list.

use keyloom_value::{Item, Name, Number, Value};

use super::checker::{Checker, Location, NESTING_MAX, wrong_type};
use super::error::FieldErrorKind;
use crate::model::{Field, FieldType, Limits};

const ADD: &str = "$add";
pub(super) const APPEND: &str = "$append";

/// A change that depends on the value before.
#[derive(Clone, Copy)]
pub(super) enum Relative<'c> {
    /// Adds a number; the value should be one.
    Add(&'c Name, &'c Value),
    /// Appends a list; the value should be one.
    Append(&'c Name, &'c Value),
}

/// Whether a patch contains relative changes. It may be wrong about fields of type `any`, where such an
/// object is a value like any other.
pub(super) fn is_relative(patch: &Item) -> bool {
    let is_relative = |value: &Value| match value {
        Value::M(members) => {
            members.len() == 1 && [ADD, APPEND].iter().any(|n| members.contains(n))
        }
        _ => false,
    };
    patch.iter().any(|(_, value)| is_relative(value))
}

impl<'c> Relative<'c> {
    /// The relative change of a field, if a patch contains one.
    pub(super) fn of(change: &'c Value, field: &Field) -> Option<Relative<'c>> {
        let Value::M(members) = change else { return None };
        let (name, operand) = members.iter().next().filter(|_| members.len() == 1)?;
        match (&field.of, name.as_str()) {
            (FieldType::Int(_) | FieldType::Number(_), ADD) => Some(Relative::Add(name, operand)),
            (FieldType::List(..), APPEND) => Some(Relative::Append(name, operand)),
            _ => None,
        }
    }
}

impl Checker {
    /// The value of a field after a relative change, which is still to be checked; none if there is no
    /// such value, and that is reported.
    pub(super) fn applied(
        &mut self,
        relative: Relative<'_>,
        before: Option<&Value>,
        field: &Field,
    ) -> Option<Value> {
        let location = Location::Field(&field.name);
        match relative {
            Relative::Add(name, Value::N(addend)) => match sum(before, addend) {
                Some(sum) => Some(Value::N(sum)),
                None => {
                    let location = Location::Member(&location, name);
                    self.report(&location, FieldErrorKind::SumTooLong { addend: *addend });
                    None
                }
            },
            Relative::Add(name, operand) => {
                let kind = wrong_type(operand, &FieldType::Number(Limits::NONE));
                self.report(&Location::Member(&location, name), kind);
                None
            }
            Relative::Append(_, operand @ Value::L(more)) if operand.depth() <= NESTING_MAX => {
                let mut elements = match before {
                    Some(Value::L(elements)) => elements.clone(),
                    _ => vec![],
                };
                elements.extend(more.iter().cloned());
                Some(Value::L(elements))
            }
            Relative::Append(name, operand) => {
                let kind = match operand {
                    Value::L(_) => FieldErrorKind::TooDeep { depth_max: NESTING_MAX },
                    _ => wrong_type(operand, &field.of),
                };
                self.report(&Location::Member(&location, name), kind);
                None
            }
        }
    }
}

/// The exact sum, if it has at most 38 digits.
fn sum(before: Option<&Value>, addend: &Number) -> Option<Number> {
    match before.and_then(Value::as_n) {
        None => Some(*addend),
        Some(before) => before.checked_add(addend).ok(),
    }
}
