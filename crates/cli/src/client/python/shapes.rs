//! Shapes as types of Python.

use super::super::api::{Api, Parameter, Shape, TypeId, Wire};
use super::super::names::{Names, pascal};
use super::quoted;

/// The names of all types.
pub(super) struct Shapes<'w> {
    types: Vec<String>,
    /// Whether a type can have members that it does not name, which no type of Python can.
    are_open: Vec<bool>,
    parts: Vec<Part>,
    /// The codes of problems, which are a type of their own.
    codes: &'w [String],
}

/// The names of the types of a part of an entity.
pub(super) struct Part {
    of: TypeId,
    pub(super) part: String,
    pub(super) fields: String,
}

impl<'w> Shapes<'w> {
    pub(super) fn new(api: &'w Api, names: &mut Names) -> Shapes<'w> {
        Shapes {
            types: api.types.iter().map(|of| names.claim(pascal(&of.name))).collect(),
            are_open: api.types.iter().map(|of| of.is_open).collect(),
            parts: vec![],
            codes: &api.codes,
        }
    }

    pub(super) fn name(&self, index: usize) -> String {
        self.types.get(index).cloned().unwrap_or_default()
    }

    pub(super) fn add_part(&mut self, of: TypeId, part: String, fields: String) {
        self.parts.push(Part { of, part, fields });
    }

    /// The types of a part of an entity.
    pub(super) fn part(&self, shape: &Shape) -> Option<&Part> {
        let Shape::Type(id) = shape else { return None };
        self.parts.iter().find(|part| part.of == *id)
    }

    pub(super) fn write(&self, shape: &Shape) -> String {
        match shape {
            Shape::Text | Shape::Time => "str".to_owned(),
            Shape::Whole => "int".to_owned(),
            Shape::Number => "float".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Null => "None".to_owned(),
            Shape::Moment => "str | datetime".to_owned(),
            Shape::GivenTime => "str | int | datetime".to_owned(),
            Shape::Anything => "Any".to_owned(),
            Shape::Named => "Named".to_owned(),
            Shape::Words(words) if words == self.codes => "ProblemCode".to_owned(),
            Shape::Words(words) => literal(words),
            Shape::List(of) => format!("list[{}]", self.write(of)),
            Shape::Map(of) => format!("dict[str, {}]", self.write(of)),
            Shape::Either(shapes) => {
                let mut all: Vec<String> = shapes.iter().map(|shape| self.write(shape)).collect();
                // Types with further members are all the same.
                all.dedup();
                all.join(" | ")
            }
            Shape::Type(TypeId(index)) if self.are_open.get(*index) == Some(&true) => {
                "dict[str, Any]".to_owned()
            }
            Shape::Type(TypeId(index)) => self.name(*index),
        }
    }

    /// The values of a parameter.
    pub(super) fn of_parameter(&self, parameter: &Parameter) -> String {
        let value = match (&parameter.shape, parameter.wire) {
            (Shape::List(of), Wire::Each | Wire::Joined) => self.write(of),
            (shape, _) => self.write(shape),
        };
        let (list, bounds) = (format!("Sequence[{value}]"), format!("Bounds[{value}]"));
        let mut all = match parameter.wire {
            Wire::Presence => vec!["Presence".to_owned()],
            Wire::Joined => vec![list],
            Wire::Text | Wire::Value => vec![value],
            Wire::Each | Wire::Facet => vec![value, list],
            Wire::Range => vec![value, bounds],
            Wire::RangeOrFacet => vec![value, list, bounds],
        };
        if parameter.or_presence && parameter.wire != Wire::Presence {
            all.push("Presence".to_owned());
        }
        all.join(" | ")
    }
}

fn literal(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("Literal[{}]", words.join(", "))
}
