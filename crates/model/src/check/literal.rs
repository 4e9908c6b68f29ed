//! Values as written → values of a field's type.

use keyloom_value::Number;

use crate::declared::{DeclaredDefault, DefaultKind};
use crate::model::{FieldType, Literal};
use crate::parse::{Node, NodeKind};
use crate::time;

/// Why a value is not valid for a field.
pub(crate) struct InvalidLiteral {
    pub(crate) reason: String,
    pub(crate) help: String,
}

impl InvalidLiteral {
    /// `written` is the value in the text of the file.
    pub(crate) fn new(written: &str, of: &FieldType) -> InvalidLiteral {
        InvalidLiteral {
            reason: format!("`{written}` is not a valid value for this field"),
            help: format!("a value is {}", describe(of)),
        }
    }
}

/// The value after `=` in the text of a field, if it is valid.
pub(crate) fn of_default(default: &DeclaredDefault, of: &FieldType) -> Option<Literal> {
    let text = default.word.text.as_str();
    let literal = match (default.kind, of) {
        (DefaultKind::Bare | DefaultKind::Quoted, FieldType::Text(_) | FieldType::Enum(_)) => {
            Some(Literal::Text(text.to_owned()))
        }
        (DefaultKind::Bare, FieldType::Int(_)) => text.parse().ok().map(Literal::Int),
        (DefaultKind::Bare, FieldType::Number(_)) => text.parse().ok().map(Literal::Number),
        (DefaultKind::Bare, FieldType::Bool) => text.parse().ok().map(Literal::Bool),
        (DefaultKind::Bare, FieldType::Time) => time::parse(text).map(Literal::Time),
        (DefaultKind::EmptyList, FieldType::List(..)) => Some(Literal::EmptyList),
        (DefaultKind::EmptyMap, FieldType::Map(..) | FieldType::Tags) => Some(Literal::EmptyMap),
        _ => None,
    };
    literal.filter(|literal| is_within_limits(literal, of))
}

/// The value that `where` compares a field with, if it is valid.
pub(crate) fn of_node(node: &Node, of: &FieldType) -> Option<Literal> {
    let literal = match (&node.kind, of) {
        (NodeKind::Text(word), FieldType::Text(_) | FieldType::Enum(_) | FieldType::Ref(..)) => {
            Some(Literal::Text(word.text.clone()))
        }
        (NodeKind::Text(word), FieldType::Time) => time::parse(&word.text).map(Literal::Time),
        (NodeKind::Time(text), FieldType::Time) => time::parse(text).map(Literal::Time),
        (NodeKind::Integer(value), FieldType::Int(_)) => Some(Literal::Int(*value)),
        (NodeKind::Integer(value), FieldType::Number(_)) => {
            Some(Literal::Number(Number::from(*value)))
        }
        (NodeKind::Float(text), FieldType::Number(_)) => text.parse().ok().map(Literal::Number),
        (NodeKind::Bool(value), FieldType::Bool) => Some(Literal::Bool(*value)),
        _ => None,
    };
    literal.filter(|literal| is_within_limits(literal, of))
}

/// Whether a value of the type is also within the limits of the type.
fn is_within_limits(literal: &Literal, of: &FieldType) -> bool {
    match (literal, of) {
        (Literal::Text(text), FieldType::Text(limits)) => {
            limits.contains(&(text.chars().count() as u64))
        }
        (Literal::Text(text), FieldType::Enum(members)) => members.contains(text),
        (Literal::Int(value), FieldType::Int(limits)) => limits.contains(value),
        (Literal::Number(value), FieldType::Number(limits)) => limits.contains(value),
        (Literal::EmptyList, FieldType::List(_, limits))
        | (Literal::EmptyMap, FieldType::Map(_, limits)) => limits.contains(&0),
        _ => true,
    }
}

/// What a value in a model file looks like.
fn describe(of: &FieldType) -> String {
    let value = of.in_words();
    match of {
        FieldType::Text(_)
        | FieldType::Int(_)
        | FieldType::Number(_)
        | FieldType::Bool
        | FieldType::Enum(_)
        | FieldType::Ref(..) => value,
        FieldType::Time => format!("{value}; a default can be `now`"),
        FieldType::List(..) => format!("{value}; a default can only be `[]`"),
        FieldType::Map(..) | FieldType::Tags => format!("{value}; a default can only be `{{}}`"),
        FieldType::Bytes(_) | FieldType::Any => "not possible in a model file".to_owned(),
    }
}
