//! Resolves an expression to a [`Condition`], with the checks that condition expressions have.

use keyloom_value::{Comparison, Condition, Operand, Path, Value};

use crate::expression::{checked_between, checked_call, checked_compare, checked_size};

use super::StatementError;
use super::literal::{Parameters, is_value};
use super::syntax::{Expr, ExprKind, RawPath, RawStep, TypeTest};

/// The most operators and functions of a condition.
const OPERATORS_MAX: usize = 300;
/// The most operands of `IN`.
const CHOICES_MAX: usize = 100;

/// The functions that are conditions.
const FUNCTIONS: &[&str] =
    &["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"];

/// Resolves the condition of a `WHERE`.
pub(super) fn filter(
    expr: &Expr<'_>,
    parameters: Parameters<'_>,
) -> Result<Condition, StatementError> {
    let condition = condition(expr, parameters)?;
    check_operators(&condition)?;
    Ok(condition)
}

/// Converts a path.
pub(super) fn to_path(raw: &RawPath<'_>) -> Path {
    raw.steps.iter().fold(Path::from(&*raw.root), |path, step| match step {
        RawStep::Member(name) => path.member(&**name),
        RawStep::Element(index) => path.element(*index),
    })
}

fn condition(expr: &Expr<'_>, parameters: Parameters<'_>) -> Result<Condition, StatementError> {
    let each = |parts: &[Expr<'_>]| -> Result<Vec<Condition>, StatementError> {
        parts.iter().map(|part| condition(part, parameters)).collect()
    };
    Ok(match &expr.kind {
        ExprKind::And(parts) => Condition::And(each(parts)?),
        ExprKind::Or(parts) => Condition::Or(each(parts)?),
        ExprKind::Not(inner) => condition(inner, parameters)?.not(),
        ExprKind::Compare(pair, comparison) => compare(pair, *comparison, parameters)?,
        ExprKind::Between(parts) => {
            let [tested, low, high] = &**parts;
            let operand = |expr| operand(expr, parameters);
            checked_between(operand(tested)?, operand(low)?, operand(high)?)?
        }
        ExprKind::In(tested, choices) => choice(tested, choices, parameters)?,
        ExprKind::Is(tested, test) => is_type(tested, *test)?,
        ExprKind::Call { name, arguments } if FUNCTIONS.contains(&name.as_str()) => {
            let operands = arguments.iter().map(|argument| operand(argument, parameters));
            checked_call(name, operands.collect::<Result<_, _>>()?)?
        }
        ExprKind::Call { name, .. } if name == "size" => {
            return Err(StatementError::new(format!(
                "The function is not allowed to be used this way in an expression; function: {name}"
            )));
        }
        ExprKind::Call { name, .. } => return Err(unrecognized(name, expr)),
        _ => return Err(StatementError::at("Unsupported token in expression", expr.at)),
    })
}

/// Whether the expression is true or false rather than a value.
fn is_condition(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Call { name, .. } => FUNCTIONS.contains(&name.as_str()),
        ExprKind::Compare(..)
        | ExprKind::Between(_)
        | ExprKind::In(..)
        | ExprKind::Is(..)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_) => true,
        _ => false,
    }
}

fn compare(
    pair: &[Expr<'_>; 2],
    comparison: Comparison,
    parameters: Parameters<'_>,
) -> Result<Condition, StatementError> {
    let [left, right] = pair;
    let equal = match (is_condition(left), is_condition(right)) {
        (false, false) => {
            let (left, right) = (operand(left, parameters)?, operand(right, parameters)?);
            return Ok(checked_compare(left, comparison, right)?);
        }
        (true, _) => equal_to(condition(left, parameters)?, right, parameters)?,
        (false, true) => equal_to(condition(right, parameters)?, left, parameters)?,
    };
    match comparison {
        Comparison::Equal => Ok(equal),
        Comparison::NotEqual => Ok(equal.not()),
        Comparison::Less
        | Comparison::LessOrEqual
        | Comparison::Greater
        | Comparison::GreaterOrEqual => Err(StatementError::new(format!(
            "Incorrect operand type for operator or function; operator or function: {}, operand \
             type: BOOL",
            comparison.symbol()
        ))),
    }
}

/// Whether a condition is as the other side of `=` says: a Boolean, a path, or a condition.
fn equal_to(
    tested: Condition,
    other: &Expr<'_>,
    parameters: Parameters<'_>,
) -> Result<Condition, StatementError> {
    if is_value(other) {
        return Ok(match parameters.value(other)? {
            Value::Bool(true) => tested,
            Value::Bool(false) => tested.not(),
            _ => Condition::Or(vec![]),
        });
    }
    let (if_true, if_false) = if is_condition(other) {
        let other = condition(other, parameters)?;
        (other.clone(), other.not())
    } else {
        let other = operand(other, parameters)?;
        let is = |boolean| Condition::equal(other.clone(), Value::Bool(boolean));
        (is(true), is(false))
    };
    // Both sides occur twice, so that nesting doubles the size: check it at every level.
    check_operators(&tested)?;
    check_operators(&if_true)?;
    Ok(tested.clone().and(if_true).or(tested.not().and(if_false)))
}

fn choice(
    tested: &Expr<'_>,
    choices: &[Expr<'_>],
    parameters: Parameters<'_>,
) -> Result<Condition, StatementError> {
    if choices.len() > CHOICES_MAX {
        return Err(StatementError::new(format!(
            "The IN operator is provided with too many operands; number of operands: {}",
            choices.len()
        )));
    }
    if choices.is_empty() {
        return Err(StatementError::new(
            "Incorrect number of operands for operator or function; operator or function: IN, \
             number of operands: 1",
        ));
    }
    if is_condition(tested) {
        let tested = condition(tested, parameters)?;
        check_operators(&tested)?;
        let each = choices.iter().map(|choice| equal_to(tested.clone(), choice, parameters));
        return Ok(Condition::Or(each.collect::<Result<_, _>>()?));
    }
    let choices = choices.iter().map(|choice| operand(choice, parameters));
    Ok(Condition::In {
        operand: operand(tested, parameters)?,
        choices: choices.collect::<Result<_, _>>()?,
    })
}

fn is_type(tested: &Expr<'_>, test: TypeTest) -> Result<Condition, StatementError> {
    let ExprKind::Path(path) = &tested.kind else {
        return Err(StatementError::new(
            "Operator or function requires a document path; operator or function: IS",
        ));
    };
    match test {
        TypeTest::Missing => Ok(Condition::Missing(to_path(path))),
        TypeTest::Type(value_type) => Ok(Condition::HasType(to_path(path), value_type)),
        TypeTest::Unsupported(name) => Err(StatementError::new(format!(
            "Unsupported data type for IS operator: {name}. Supported data types are [MISSING, \
             NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
        ))),
    }
}

fn operand(expr: &Expr<'_>, parameters: Parameters<'_>) -> Result<Operand, StatementError> {
    match &expr.kind {
        ExprKind::Path(path) => Ok(Operand::Path(to_path(path))),
        ExprKind::Call { name, arguments } if name == "size" => {
            let operands = arguments.iter().map(|argument| operand(argument, parameters));
            Ok(checked_size(name, operands.collect::<Result<_, _>>()?)?)
        }
        ExprKind::Call { name, .. } if !FUNCTIONS.contains(&name.as_str()) => {
            Err(unrecognized(name, expr))
        }
        ExprKind::Arithmetic(_, arithmetic) => Err(StatementError::new(format!(
            "Unsupported operator in Condition Expression. Operator: {}",
            arithmetic.symbol()
        ))),
        _ if is_value(expr) => Ok(Operand::Value(parameters.value(expr)?)),
        _ => Err(StatementError::at("Unsupported token in expression", expr.at)),
    }
}

fn unrecognized(name: &str, expr: &Expr<'_>) -> StatementError {
    StatementError::at(format!("Unrecognized function: {name}"), expr.at)
}

fn check_operators(condition: &Condition) -> Result<(), StatementError> {
    let operators = condition.operators();
    if operators <= OPERATORS_MAX {
        return Ok(());
    }
    Err(StatementError::new(format!(
        "The expression contains too many operators; operator count: {operators}"
    )))
}
