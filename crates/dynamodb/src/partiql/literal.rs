//! Values of literals and parameters.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use keyloom_value::{Item, Name, Number, Value};

use crate::wire::number_error;

use super::StatementError;
use super::syntax::{Expr, ExprKind};

/// The most lists and maps around a value.
const NESTING_MAX: usize = 31;

/// The parameters of a statement, decoded.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a>(pub(super) &'a [Value]);

impl Parameters<'_> {
    /// Returns the value of a literal or parameter.
    pub(super) fn value(self, expr: &Expr<'_>) -> Result<Value, StatementError> {
        match expr.kind {
            ExprKind::Parameter(position) => self.parameter(position),
            _ => constant(expr, &mut Vec::new()),
        }
    }

    pub(super) fn parameter(self, position: usize) -> Result<Value, StatementError> {
        self.0.get(position).cloned().ok_or_else(|| {
            StatementError::new("Number of parameters in request and statement don't match.")
        })
    }

    /// Returns the item of an `INSERT`. Parameters can stand for whole attributes.
    pub(super) fn item(self, expr: &Expr<'_>) -> Result<Item, StatementError> {
        let ExprKind::Map(members) = &expr.kind else {
            return Err(unsupported(expr, &[]));
        };
        map(members, &mut Vec::new(), |value, _| self.value(value))
    }
}

/// Whether the expression is a constant or a parameter, not a path, a call or a condition.
pub(super) fn is_value(expr: &Expr<'_>) -> bool {
    match expr.kind {
        ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::Missing
        | ExprKind::Parameter(_)
        | ExprKind::List(_)
        | ExprKind::Bag(_)
        | ExprKind::Map(_)
        | ExprKind::Negated => true,
        ExprKind::Path(_)
        | ExprKind::Call { .. }
        | ExprKind::Compare(..)
        | ExprKind::Between(_)
        | ExprKind::In(..)
        | ExprKind::Is(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::Arithmetic(..) => false,
    }
}

/// A step into a literal, for messages.
#[derive(Clone)]
enum Inside {
    Member(String),
    Element(usize),
}

fn constant(expr: &Expr<'_>, inside: &mut Vec<Inside>) -> Result<Value, StatementError> {
    if inside.len() > NESTING_MAX {
        let why = "Nesting Levels have exceeded supported limits under";
        return Err(StatementError::new(format!("{why} {}", path_text(inside))));
    }
    Ok(match &expr.kind {
        ExprKind::Text(text) => Value::S(text.to_string()),
        ExprKind::Number(text) => Value::N(number(text, inside)?),
        ExprKind::Bool(boolean) => Value::Bool(*boolean),
        ExprKind::Null => Value::Null,
        ExprKind::List(elements) => {
            let mut values = Vec::with_capacity(elements.len());
            for (position, element) in elements.iter().enumerate() {
                inside.push(Inside::Element(position));
                values.push(constant(element, inside)?);
                inside.pop();
            }
            Value::L(values)
        }
        ExprKind::Bag(members) => bag(members, inside)?,
        ExprKind::Map(members) => Value::M(map(members, inside, constant)?),
        _ => return Err(unsupported(expr, inside)),
    })
}

/// Reads the members of a map; `read` reads the value of one.
fn map(
    members: &[(Expr<'_>, Expr<'_>)],
    inside: &mut Vec<Inside>,
    mut read: impl FnMut(&Expr<'_>, &mut Vec<Inside>) -> Result<Value, StatementError>,
) -> Result<Item, StatementError> {
    let mut item = Item::new();
    for (name, value) in members {
        let ExprKind::Text(name) = &name.kind else { return Err(unsupported(name, inside)) };
        if item.get(name).is_some() {
            let place = path_text(inside);
            let why = format!("Duplicate keys in tuple. Key: {name} under {place}");
            return Err(StatementError::new(why));
        }
        inside.push(Inside::Member(name.to_string()));
        let value = read(value, inside)?;
        inside.pop();
        item.insert(Name::from(&**name), value);
    }
    Ok(item)
}

/// Reads a set: of strings or of numbers, not empty, without duplicates.
fn bag(members: &[Expr<'_>], inside: &[Inside]) -> Result<Value, StatementError> {
    let refuse = |why: &str| Err(StatementError::new(why));
    let mixed = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in \
                 bags";
    let mut texts = Vec::new();
    let mut numbers = Vec::new();
    for member in members {
        match &member.kind {
            ExprKind::Text(text) => texts.push(text.to_string()),
            ExprKind::Number(text) => numbers.push((text.as_str(), number(text, inside)?)),
            _ => return refuse(mixed),
        }
    }
    match (texts.is_empty(), numbers.is_empty()) {
        (true, true) => refuse("Empty bags are not supported"),
        (false, false) => refuse(mixed),
        (false, true) => {
            let set: BTreeSet<String> = texts.iter().cloned().collect();
            if set.len() < texts.len() {
                return Err(duplicates(&texts.join(", "), "."));
            }
            Ok(Value::Ss(set))
        }
        (true, false) => {
            let set: BTreeSet<Number> = numbers.iter().map(|(_, number)| *number).collect();
            if set.len() < numbers.len() {
                let texts: Vec<&str> = numbers.iter().map(|(text, _)| *text).collect();
                return Err(duplicates(
                    &texts.join(", "),
                    &format!("! under {}", path_text(inside)),
                ));
            }
            Ok(Value::Ns(set))
        }
    }
}

fn duplicates(members: &str, end: &str) -> StatementError {
    StatementError::new(format!(
        "One or more parameter values were invalid: Input collection [{members}] contains \
         duplicates{end}"
    ))
}

fn number(text: &str, inside: &[Inside]) -> Result<Number, StatementError> {
    text.parse().map_err(|error| {
        StatementError::new(format!("{} under {}", number_error(text, &error), path_text(inside)))
    })
}

fn unsupported(expr: &Expr<'_>, inside: &[Inside]) -> StatementError {
    let what = match &expr.kind {
        ExprKind::Parameter(_) => "Parameter",
        ExprKind::Call { name, .. } => name,
        ExprKind::Path(path) => &path.root,
        ExprKind::Missing => "MISSING",
        _ => "UNKNOWN",
    };
    let place = path_text(inside);
    StatementError::at(format!("Unsupported data type: {what} under key {place}"), expr.at)
}

fn path_text(inside: &[Inside]) -> String {
    let mut text = "root".to_owned();
    for step in inside {
        match step {
            Inside::Member(name) => {
                text.push('.');
                text.push_str(name);
            }
            Inside::Element(position) => {
                let written = write!(text, "[{position}]");
                debug_assert!(written.is_ok(), "writing to a string cannot fail");
            }
        }
    }
    text
}
