//! Resolves the changes of an `UPDATE`.

use keyloom_value::{Path, SetValue, Update, Value};

use crate::expression::refused_update;

use super::StatementError;
use super::condition::to_path;
use super::literal::{Parameters, is_value};
use super::syntax::{Arithmetic, Expr, ExprKind, RawUpdate};

/// Resolves the `SET` and `REMOVE` clauses.
pub(super) fn changes(
    raw: &RawUpdate<'_>,
    parameters: Parameters<'_>,
) -> Result<Update, StatementError> {
    let mut update = Update::new();
    for (target, value) in &raw.set {
        assign(&mut update, to_path(target), value, parameters)?;
    }
    update.remove = raw.remove.iter().map(to_path).collect();
    update.check().map_err(|error| refused_update(&error))?;
    Ok(update)
}

fn assign(
    update: &mut Update,
    target: Path,
    value: &Expr<'_>,
    parameters: Parameters<'_>,
) -> Result<(), StatementError> {
    match &value.kind {
        ExprKind::Call { name, arguments } if name == "set_add" => {
            let members = members(&target, value, arguments, parameters)?;
            update.add.push((target, members));
        }
        ExprKind::Call { name, arguments } if name == "set_delete" => {
            let members = members(&target, value, arguments, parameters)?;
            update.delete.push((target, members));
        }
        _ => {
            let value = set_value(value, parameters)?;
            update.set.push((target, value));
        }
    }
    Ok(())
}

/// Returns the members that `set_add` or `set_delete` names. Both change the set that they are
/// assigned to.
fn members(
    target: &Path,
    call: &Expr<'_>,
    arguments: &[Expr<'_>],
    parameters: Parameters<'_>,
) -> Result<Value, StatementError> {
    let ExprKind::Call { name, .. } = &call.kind else {
        return Err(StatementError::at("Unsupported token in expression", call.at));
    };
    let name = name.to_ascii_uppercase();
    let [changed, members] = arguments else {
        let why = format!("{name} must have exactly two arguments");
        return Err(StatementError::at(why, call.at));
    };
    if !matches!(&changed.kind, ExprKind::Path(path) if to_path(path) == *target) {
        let why = format!("The first argument to {name} must equal the assignment value");
        return Err(StatementError::at(why, call.at));
    }
    let members = if is_value(members) { Some(parameters.value(members)?) } else { None };
    match members {
        Some(set @ (Value::Ss(_) | Value::Ns(_) | Value::Bs(_))) => Ok(set),
        _ => {
            let why = format!("The second argument to {name} must be a value with type SET");
            Err(StatementError::at(why, changed.at))
        }
    }
}

/// Resolves what is assigned: an operand, one sum or difference, or an appended list.
fn set_value(expr: &Expr<'_>, parameters: Parameters<'_>) -> Result<SetValue, StatementError> {
    match &expr.kind {
        ExprKind::Arithmetic(pair, arithmetic) => {
            let [left, right] = &**pair;
            let (left, right) = (operand(left, parameters)?, operand(right, parameters)?);
            Ok(match arithmetic {
                Arithmetic::Plus => SetValue::plus(left, right),
                Arithmetic::Minus => SetValue::minus(left, right),
            })
        }
        ExprKind::Call { name, arguments } if name == "list_append" => {
            let [left, right] = arguments.as_slice() else {
                return Err(StatementError::new(format!(
                    "Incorrect number of operands for operator or function; operator or \
                     function: {name}, number of operands: {}",
                    arguments.len()
                )));
            };
            Ok(SetValue::append(operand(left, parameters)?, operand(right, parameters)?))
        }
        _ => operand(expr, parameters),
    }
}

fn operand(expr: &Expr<'_>, parameters: Parameters<'_>) -> Result<SetValue, StatementError> {
    match &expr.kind {
        ExprKind::Path(path) => Ok(SetValue::Path(to_path(path))),
        ExprKind::Call { name, .. } => {
            Err(StatementError::at(format!("Unrecognized function: {name}"), expr.at))
        }
        ExprKind::Arithmetic(_, arithmetic) => Err(StatementError::new(format!(
            "Unsupported operator in Update Expression. Operator: {}",
            arithmetic.symbol()
        ))),
        _ if is_value(expr) => Ok(SetValue::Value(parameters.value(expr)?)),
        _ => Err(StatementError::at("Unsupported token in expression", expr.at)),
    }
}
