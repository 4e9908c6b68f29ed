//! The attributes that a condition mentions.

use keyloom_value::{Condition, Name, Operand};

/// Returns the attributes of a condition, in order, without repeats.
pub(super) fn mentions(condition: &Condition) -> Vec<Name> {
    let mut names = Vec::new();
    collect(condition, &mut names);
    names
}

fn collect(condition: &Condition, names: &mut Vec<Name>) {
    match condition {
        Condition::Compare { left, right, .. }
        | Condition::BeginsWith(left, right)
        | Condition::Contains(left, right) => operands([left, right], names),
        Condition::Between { operand, low, high } => operands([operand, low, high], names),
        Condition::In { operand, choices } => {
            operands([operand], names);
            operands(choices, names);
        }
        Condition::Exists(path) | Condition::Missing(path) | Condition::HasType(path, _) => {
            add(path.root(), names);
        }
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| collect(part, names));
        }
        Condition::Not(part) => collect(part, names),
    }
}

fn operands<'a>(operands: impl IntoIterator<Item = &'a Operand>, names: &mut Vec<Name>) {
    for operand in operands {
        match operand {
            Operand::Path(path) | Operand::Size(path) => add(path.root(), names),
            Operand::Value(_) => {}
        }
    }
}

fn add(name: &Name, names: &mut Vec<Name>) {
    if !names.contains(name) {
        names.push(name.clone());
    }
}
