//! Shapes as types of TypeScript.

use super::super::api::{Parameter, Shape, TypeId, Wire};
use super::quoted;

/// The names of all types.
pub(super) struct Shapes<'w> {
    pub(super) types: Vec<String>,
    /// The codes of problems, which are a type of their own.
    pub(super) codes: &'w [String],
}

impl Shapes<'_> {
    pub(super) fn write(&self, shape: &Shape) -> String {
        match shape {
            Shape::Text | Shape::Time => "string".to_owned(),
            Shape::Whole | Shape::Number => "number".to_owned(),
            Shape::Bool => "boolean".to_owned(),
            Shape::Null => "null".to_owned(),
            Shape::Moment => "string | Date".to_owned(),
            Shape::GivenTime => "string | number | Date".to_owned(),
            Shape::Anything => "unknown".to_owned(),
            Shape::Named => "Named".to_owned(),
            Shape::Words(words) if words == self.codes => "ProblemCode".to_owned(),
            Shape::Words(words) => joined(words.iter().map(|word| quoted(word))),
            Shape::List(of) => list(&self.write(of)),
            Shape::Map(of) => format!("{{ [name: string]: {} }}", self.write(of)),
            Shape::Either(shapes) => joined(shapes.iter().map(|shape| self.write(shape))),
            Shape::Type(TypeId(index)) => self.types.get(*index).cloned().unwrap_or_default(),
        }
    }

    /// The values of a parameter.
    pub(super) fn of_parameter(&self, parameter: &Parameter) -> String {
        let value = match (&parameter.shape, parameter.wire) {
            (Shape::List(of), Wire::Each) => self.write(of),
            (shape, _) => self.write(shape),
        };
        let bounds = || format!("Bounds<{value}>");
        let mut all = match parameter.wire {
            Wire::Presence => vec!["Presence".to_owned()],
            Wire::Text | Wire::Joined | Wire::Value => vec![value.clone()],
            Wire::Each | Wire::Facet => vec![value.clone(), list(&value)],
            Wire::Range => vec![value.clone(), bounds()],
            Wire::RangeOrFacet => vec![value.clone(), list(&value), bounds()],
        };
        if parameter.or_presence && parameter.wire != Wire::Presence {
            all.push("Presence".to_owned());
        }
        all.join(" | ")
    }
}

fn list(of: &str) -> String {
    if of.contains(" | ") { format!("({of})[]") } else { format!("{of}[]") }
}

fn joined(shapes: impl Iterator<Item = String>) -> String {
    shapes.collect::<Vec<_>>().join(" | ")
}
