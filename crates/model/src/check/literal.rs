//! Values as written → values of a field's type, or why they are none.

use keyloom_value::Number;

use crate::declared::{DeclaredDefault, DefaultKind};
use crate::model::{FieldType, Literal};
use crate::parse::{Node, NodeKind};
use crate::time;

/// Why a value is none of the field's.
pub(crate) struct Misfit {
    pub(crate) reason: String,
    pub(crate) help: String,
}

/// What stands after `=` in the text of a field.
pub(crate) fn of_default(default: &DeclaredDefault, of: &FieldType) -> Result<Literal, Misfit> {
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
    let written = match default.kind {
        DefaultKind::Quoted => format!("'{text}'"),
        DefaultKind::Bare | DefaultKind::EmptyList | DefaultKind::EmptyMap => text.to_owned(),
    };
    fitting(literal, (&written, of))
}

/// What `where` compares a field with.
pub(crate) fn of_node((node, written): (&Node, &str), of: &FieldType) -> Result<Literal, Misfit> {
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
    fitting(literal, (written, of))
}

/// The value, if there is one and it keeps the type's limits.
fn fitting(literal: Option<Literal>, (text, of): (&str, &FieldType)) -> Result<Literal, Misfit> {
    let fits = literal.as_ref().is_some_and(|literal| match (literal, of) {
        (Literal::Text(text), FieldType::Text(limits)) => {
            limits.contain(&(text.chars().count() as u64))
        }
        (Literal::Text(text), FieldType::Enum(members)) => members.contains(text),
        (Literal::Int(value), FieldType::Int(limits)) => limits.contain(value),
        (Literal::Number(value), FieldType::Number(limits)) => limits.contain(value),
        (Literal::EmptyList, FieldType::List(_, limits))
        | (Literal::EmptyMap, FieldType::Map(_, limits)) => limits.contain(&0),
        _ => true,
    });
    match literal {
        Some(literal) if fits => Ok(literal),
        _ => Err(Misfit {
            reason: format!("`{text}` is not a valid value for this field"),
            help: format!("a value is {}", describe(of)),
        }),
    }
}

/// What a value that is written in a model looks like.
fn describe(of: &FieldType) -> String {
    let value = crate::describe::value_of(of);
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
        FieldType::Bytes(_) | FieldType::Any => "not written in a model".to_owned(),
    }
}
