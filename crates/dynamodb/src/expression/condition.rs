//! Resolves the syntax tree of a condition to a [`Condition`], with the service's checks in its
//! order: functions, reserved words, then each condition.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyloom_value::{Comparison, Condition, Number, Operand, Path, Value, ValueType};

use super::error::path_text;
use super::substitutions::check_reserved;
use super::syntax::Node;
use super::{ExpressionError, Substitutions};

/// The functions of conditions, with their number of arguments.
const FUNCTIONS: &[(&str, usize)] = &[
    ("attribute_exists", 1),
    ("attribute_not_exists", 1),
    ("attribute_type", 2),
    ("begins_with", 2),
    ("contains", 2),
    ("size", 1),
];

/// The operand type that the service reports for a path.
const ANY_TYPE: &str = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";

/// Resolves a syntax tree.
pub(super) fn resolve(
    node: &Node<'_>,
    substitutions: &mut Substitutions,
) -> Result<Condition, ExpressionError> {
    node.walk(&mut known_function)?;
    check_placement(node, true)?;
    node.walk(&mut |node| match node {
        Node::Path(path) => check_reserved(path),
        _ => Ok(()),
    })?;
    Resolver { substitutions }.condition(node)
}

fn known_function(node: &Node<'_>) -> Result<(), ExpressionError> {
    match node {
        Node::Function { name, .. } if FUNCTIONS.iter().all(|(known, _)| known != name) => {
            refuse(format!("Invalid function name; function: {name}"))
        }
        _ => Ok(()),
    }
}

/// Rejects misplaced functions: `size` is an operand, all others are conditions.
fn check_placement(node: &Node<'_>, is_condition: bool) -> Result<(), ExpressionError> {
    match node {
        Node::Function { name, .. } if (*name == "size") == is_condition => refuse(format!(
            "The function is not allowed to be used this way in an expression; function: {name}"
        )),
        Node::And(parts) | Node::Or(parts) => {
            parts.iter().try_for_each(|part| check_placement(part, true))
        }
        Node::Not(inner) => check_placement(inner, true),
        _ => node.children().into_iter().try_for_each(|child| check_placement(child, false)),
    }
}

struct Resolver<'s> {
    substitutions: &'s mut Substitutions,
}

impl Resolver<'_> {
    fn condition(&mut self, node: &Node<'_>) -> Result<Condition, ExpressionError> {
        Ok(match node {
            Node::And(parts) => Condition::And(self.conditions(parts)?),
            Node::Or(parts) => Condition::Or(self.conditions(parts)?),
            Node::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Node::Compare(pair, comparison) => self.comparison(pair, *comparison)?,
            Node::Between(parts) => {
                let [operand, low, high] = &**parts;
                checked_between(self.operand(operand)?, self.operand(low)?, self.operand(high)?)?
            }
            Node::In(operand, choices) => Condition::In {
                operand: self.operand(operand)?,
                choices: choices
                    .iter()
                    .map(|choice| self.operand(choice))
                    .collect::<Result<_, _>>()?,
            },
            Node::Function { name, arguments } => self.function(name, arguments)?,
            // The parser accepts none of these as a condition.
            Node::Path(_) | Node::Value(_) | Node::Arithmetic(..) => {
                return refuse("An operand is not a condition;");
            }
        })
    }

    fn conditions(&mut self, nodes: &[Node<'_>]) -> Result<Vec<Condition>, ExpressionError> {
        nodes.iter().map(|node| self.condition(node)).collect()
    }

    fn comparison(
        &mut self,
        pair: &[Node<'_>; 2],
        comparison: Comparison,
    ) -> Result<Condition, ExpressionError> {
        let [left, right] = pair;
        checked_compare(self.operand(left)?, comparison, self.operand(right)?)
    }

    fn function(
        &mut self,
        name: &str,
        arguments: &[Node<'_>],
    ) -> Result<Condition, ExpressionError> {
        let operands: Vec<Operand> =
            arguments.iter().map(|node| self.operand(node)).collect::<Result<_, _>>()?;
        checked_call(name, operands)
    }

    fn operand(&mut self, node: &Node<'_>) -> Result<Operand, ExpressionError> {
        match node {
            Node::Path(path) => Ok(Operand::Path(self.substitutions.path(path)?)),
            Node::Value(placeholder) => Ok(Operand::Value(self.substitutions.value(placeholder)?)),
            Node::Function { name, arguments } => {
                let operands = arguments.iter().map(|node| self.operand(node));
                checked_size(name, operands.collect::<Result<_, _>>()?)
            }
            _ => refuse("A condition is not an operand;"),
        }
    }
}

/// Compares two operands, if the operator accepts their types.
pub(crate) fn checked_compare(
    left: Operand,
    comparison: Comparison,
    right: Operand,
) -> Result<Condition, ExpressionError> {
    check_distinct(comparison.symbol(), &left, &right)?;
    match comparison {
        Comparison::Equal | Comparison::NotEqual => {}
        Comparison::Less
        | Comparison::LessOrEqual
        | Comparison::Greater
        | Comparison::GreaterOrEqual => {
            for operand in [&left, &right] {
                let ordered = [ValueType::S, ValueType::N, ValueType::B];
                check_type(comparison.symbol(), operand, &ordered)?;
            }
        }
    }
    Ok(Condition::Compare { left, comparison, right })
}

/// Tests whether an operand is between two others, if these can be bounds.
pub(crate) fn checked_between(
    operand: Operand,
    low: Operand,
    high: Operand,
) -> Result<Condition, ExpressionError> {
    check_bounds(&low, &high)?;
    Ok(Condition::Between { operand, low, high })
}

/// Calls a function that is a condition.
pub(crate) fn checked_call(
    name: &str,
    operands: Vec<Operand>,
) -> Result<Condition, ExpressionError> {
    check_count(name, operands.len())?;
    let mut operands = operands.into_iter();
    match (name, operands.next(), operands.next()) {
        ("attribute_exists", Some(operand), _) => Ok(Condition::Exists(path(name, operand)?)),
        ("attribute_not_exists", Some(operand), _) => Ok(Condition::Missing(path(name, operand)?)),
        ("attribute_type", Some(left), Some(right)) => {
            check_distinct(name, &left, &right)?;
            let value_type = type_named(name, &right)?;
            Ok(match left {
                Operand::Path(path) => Condition::HasType(path, value_type),
                Operand::Value(value) => constant(value.value_type() == value_type),
                Operand::Size(_) => constant(value_type == ValueType::N),
            })
        }
        ("begins_with", Some(left), Some(right)) => {
            check_distinct(name, &left, &right)?;
            for operand in [&left, &right] {
                check_type(name, operand, &[ValueType::S, ValueType::B])?;
            }
            Ok(Condition::BeginsWith(left, right))
        }
        ("contains", Some(left), Some(right)) => {
            check_distinct(name, &left, &right)?;
            Ok(Condition::Contains(left, right))
        }
        _ => refuse(format!("Invalid function name; function: {name}")),
    }
}

/// Calls `size`, the function that is an operand.
pub(crate) fn checked_size(name: &str, operands: Vec<Operand>) -> Result<Operand, ExpressionError> {
    check_count(name, operands.len())?;
    match operands.into_iter().next() {
        Some(Operand::Path(path)) => Ok(Operand::Size(path)),
        Some(Operand::Value(value)) => size_of(name, &value),
        Some(Operand::Size(_)) => refuse(incorrect_type(name, "N")),
        None => check_count(name, 0).and(refuse("An operand is missing;")),
    }
}

/// Returns a condition that is always true or always false.
fn constant(is_true: bool) -> Condition {
    let (left, right) = (Operand::Value(Value::Bool(true)), Operand::Value(Value::Bool(is_true)));
    Condition::Compare { left, comparison: Comparison::Equal, right }
}

/// Evaluates `size` of a constant.
fn size_of(name: &str, value: &Value) -> Result<Operand, ExpressionError> {
    let size = match value {
        Value::S(text) => text.encode_utf16().count(),
        Value::B(bytes) => bytes.len(),
        Value::L(elements) => elements.len(),
        Value::M(members) => members.len(),
        Value::Ss(set) => set.len(),
        Value::Ns(set) => set.len(),
        Value::Bs(set) => set.len(),
        Value::N(_) | Value::Bool(_) | Value::Null => {
            return refuse(incorrect_type(name, value.value_type().as_str()));
        }
    };
    Ok(Operand::Value(Value::N(Number::from(size as u64))))
}

fn check_count(name: &str, count: usize) -> Result<(), ExpressionError> {
    if FUNCTIONS.iter().any(|(known, arguments)| *known == name && *arguments == count) {
        return Ok(());
    }
    refuse(format!(
        "Incorrect number of operands for operator or function; operator or function: {name}, \
         number of operands: {count}"
    ))
}

/// Rejects comparing a path with itself.
fn check_distinct(name: &str, left: &Operand, right: &Operand) -> Result<(), ExpressionError> {
    match (left, right) {
        (Operand::Path(first), Operand::Path(second)) if first == second => refuse(format!(
            "The first operand must be distinct from the remaining operands for this operator or \
             function; operator: {name}, first operand: {}",
            path_text(first)
        )),
        _ => Ok(()),
    }
}

/// Rejects a constant of a type that the operator does not accept.
fn check_type(name: &str, operand: &Operand, types: &[ValueType]) -> Result<(), ExpressionError> {
    let found = match operand {
        Operand::Path(_) => return Ok(()),
        Operand::Value(value) => value.value_type(),
        Operand::Size(_) => ValueType::N,
    };
    if types.contains(&found) { Ok(()) } else { refuse(incorrect_type(name, found.as_str())) }
}

fn check_bounds(low: &Operand, high: &Operand) -> Result<(), ExpressionError> {
    let (Operand::Value(low), Operand::Value(high)) = (low, high) else { return Ok(()) };
    let bounds = || {
        format!(
            "lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}",
            bound_text(low),
            bound_text(high)
        )
    };
    if low.value_type() != high.value_type() {
        return refuse(format!(
            "The BETWEEN operator requires same data type for lower and upper bounds; {}",
            bounds()
        ));
    }
    match low.compare(high) {
        Some(Ordering::Less | Ordering::Equal) => Ok(()),
        Some(Ordering::Greater) => refuse(format!(
            "The BETWEEN operator requires upper bound to be greater than or equal to lower \
             bound; {}",
            bounds()
        )),
        None => refuse(incorrect_type("BETWEEN", low.value_type().as_str())),
    }
}

fn bound_text(value: &Value) -> String {
    let text = match value {
        Value::S(text) => text.clone(),
        Value::B(bytes) => STANDARD.encode(bytes),
        other => other.to_string(),
    };
    format!("{{{}:{text}}}", value.value_type())
}

fn path(name: &str, operand: Operand) -> Result<Path, ExpressionError> {
    match operand {
        Operand::Path(path) => Ok(path),
        Operand::Value(_) | Operand::Size(_) => refuse(format!(
            "Operator or function requires a document path; operator or function: {name}"
        )),
    }
}

fn type_named(name: &str, operand: &Operand) -> Result<ValueType, ExpressionError> {
    let text = match operand {
        Operand::Value(Value::S(text)) => text,
        Operand::Value(value) => {
            return refuse(incorrect_type(name, value.value_type().as_str()));
        }
        Operand::Size(_) => return refuse(incorrect_type(name, "N")),
        Operand::Path(_) => return refuse(incorrect_type(name, ANY_TYPE)),
    };
    let types = [
        ValueType::S,
        ValueType::N,
        ValueType::B,
        ValueType::Bool,
        ValueType::Null,
        ValueType::L,
        ValueType::M,
        ValueType::Ss,
        ValueType::Ns,
        ValueType::Bs,
    ];
    types.into_iter().find(|value_type| value_type.as_str() == text).ok_or_else(|| {
        ExpressionError::new(format!(
            "Invalid attribute type name found; type: {text}, valid types: \
             {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
        ))
    })
}

fn incorrect_type(name: &str, found: &str) -> String {
    format!(
        "Incorrect operand type for operator or function; operator or function: {name}, operand \
         type: {found}"
    )
}

fn refuse<T>(message: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError::new(message))
}
