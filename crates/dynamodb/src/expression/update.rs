//! Resolves the syntax tree of an update to an [`Update`], with the service's checks in its order.

use keyloom_value::{SetValue, Update, UpdateError, UpdateOperator, ValueType};

use super::substitutions::check_reserved;
use super::syntax::{Arithmetic, Node, RawPath, RawUpdate};
use super::{ExpressionError, Substitutions};

/// The functions of updates, each with two arguments.
const FUNCTIONS: &[&str] = &["if_not_exists", "list_append"];

/// Resolves an update.
pub(super) fn resolve(
    raw: &RawUpdate<'_>,
    substitutions: &mut Substitutions,
) -> Result<Update, ExpressionError> {
    check_names(raw)?;
    for (_, node) in &raw.set {
        node.walk(&mut known_function)?;
        node.walk(&mut no_nested_append)?;
    }
    if let Some(section) = raw.repeated {
        return refuse(format!(
            "The \"{section}\" section can only be used once in an update expression;"
        ));
    }
    let mut update = Update::new();
    for (path, node) in &raw.set {
        update.set.push((substitutions.path(path)?, set_value(node, substitutions)?));
    }
    for path in &raw.remove {
        update.remove.push(substitutions.path(path)?);
    }
    for (path, placeholder) in &raw.add {
        update.add.push((substitutions.path(path)?, substitutions.value(placeholder)?));
    }
    for (path, placeholder) in &raw.delete {
        update.delete.push((substitutions.path(path)?, substitutions.value(placeholder)?));
    }
    update.check().map_err(|error| refused(&error))?;
    Ok(update)
}

fn check_names(raw: &RawUpdate<'_>) -> Result<(), ExpressionError> {
    for (path, node) in &raw.set {
        check_reserved(path)?;
        node.walk(&mut |node| match node {
            Node::Path(path) => check_reserved(path),
            _ => Ok(()),
        })?;
    }
    let changed = raw.add.iter().chain(&raw.delete).map(|(path, _)| path);
    let paths: Vec<&RawPath<'_>> = raw.remove.iter().chain(changed).collect();
    paths.into_iter().try_for_each(check_reserved)
}

fn known_function(node: &Node<'_>) -> Result<(), ExpressionError> {
    match node {
        Node::Function { name, .. } if !FUNCTIONS.contains(name) => {
            refuse(format!("Invalid function name; function: {name}"))
        }
        _ => Ok(()),
    }
}

/// `list_append` is no argument of a function, although `if_not_exists` is.
fn no_nested_append(node: &Node<'_>) -> Result<(), ExpressionError> {
    let Node::Function { arguments, .. } = node else { return Ok(()) };
    let is_append =
        |node: &Node<'_>| matches!(node, Node::Function { name, .. } if *name == "list_append");
    if arguments.iter().any(is_append) {
        return refuse(
            "The function is not allowed to be used this way in an expression; function: \
             list_append",
        );
    }
    Ok(())
}

fn set_value(
    node: &Node<'_>,
    substitutions: &mut Substitutions,
) -> Result<SetValue, ExpressionError> {
    match node {
        Node::Path(path) => Ok(SetValue::Path(substitutions.path(path)?)),
        Node::Value(placeholder) => Ok(SetValue::Value(substitutions.value(placeholder)?)),
        Node::Arithmetic(pair, arithmetic) => {
            let [left, right] = &**pair;
            let left = set_value(left, substitutions)?;
            let right = set_value(right, substitutions)?;
            Ok(match arithmetic {
                Arithmetic::Plus => SetValue::plus(left, right),
                Arithmetic::Minus => SetValue::minus(left, right),
            })
        }
        Node::Function { name, arguments } => function(name, arguments, substitutions),
        // The parser accepts none of these in an update.
        Node::Compare(..)
        | Node::Between(_)
        | Node::In(..)
        | Node::And(_)
        | Node::Or(_)
        | Node::Not(_) => refuse("A condition is not an operand;"),
    }
}

fn function(
    name: &str,
    arguments: &[Node<'_>],
    substitutions: &mut Substitutions,
) -> Result<SetValue, ExpressionError> {
    let [left, right] = arguments else {
        return refuse(format!(
            "Incorrect number of operands for operator or function; operator or function: \
             {name}, number of operands: {}",
            arguments.len()
        ));
    };
    match (name, left) {
        ("if_not_exists", Node::Path(path)) => {
            let path = substitutions.path(path)?;
            Ok(SetValue::if_missing(path, set_value(right, substitutions)?))
        }
        ("if_not_exists", _) => refuse(format!(
            "Operator or function requires a document path; operator or function: {name}"
        )),
        _ => {
            let left = set_value(left, substitutions)?;
            Ok(SetValue::append(left, set_value(right, substitutions)?))
        }
    }
}

/// Returns the service's message for an update that is invalid for every item.
pub(crate) fn refused(error: &UpdateError) -> ExpressionError {
    match error {
        UpdateError::Clash(clash) => ExpressionError::clash(clash),
        UpdateError::OperandType { operator, found, .. } => {
            let set = match operator {
                UpdateOperator::Add => "ALLOWED_FOR_ADD_OPERAND",
                UpdateOperator::Delete => "ALLOWED_FOR_DELETE_OPERAND",
                UpdateOperator::Plus | UpdateOperator::Minus | UpdateOperator::Append => {
                    return ExpressionError::new(format!(
                        "Incorrect operand type for operator or function; operator or function: \
                         {operator}, operand type: {found}"
                    ));
                }
            };
            ExpressionError::new(format!(
                "Incorrect operand type for operator or function; operator: {operator}, operand \
                 type: {}, typeSet: {set}",
                long_name(*found)
            ))
        }
        other => ExpressionError::new(other.to_string()),
    }
}

/// Returns the long name of a type, which the service uses in one of its messages.
fn long_name(value_type: ValueType) -> &'static str {
    match value_type {
        ValueType::S => "STRING",
        ValueType::N => "NUMBER",
        ValueType::B => "BINARY",
        ValueType::Bool => "BOOLEAN",
        ValueType::Null => "NULL",
        ValueType::L => "LIST",
        ValueType::M => "MAP",
        ValueType::Ss => "STRING_SET",
        ValueType::Ns => "NUMBER_SET",
        ValueType::Bs => "BINARY_SET",
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError::new(message))
}
