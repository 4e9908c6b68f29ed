//! What a condition mentions.

use super::{Condition, Operand};
use crate::{Path, Value};

/// The paths and constants in a condition, in order, with repeats.
#[derive(Clone, Debug, Default)]
pub struct Mentions<'c> {
    /// The paths.
    pub paths: Vec<&'c Path>,
    /// The constants.
    pub constants: Vec<&'c Value>,
}

impl Condition {
    /// Returns the paths and constants in it.
    pub fn mentions(&self) -> Mentions<'_> {
        let mut mentions = Mentions::default();
        mentions.collect(self);
        mentions
    }
}

impl<'c> Mentions<'c> {
    fn collect(&mut self, condition: &'c Condition) {
        match condition {
            Condition::Compare { left, right, .. }
            | Condition::BeginsWith(left, right)
            | Condition::Contains(left, right) => self.operands([left, right]),
            Condition::Between { operand, low, high } => self.operands([operand, low, high]),
            Condition::In { operand, choices } => {
                self.operands([operand]);
                self.operands(choices);
            }
            Condition::Exists(path) | Condition::Missing(path) | Condition::HasType(path, _) => {
                self.paths.push(path);
            }
            Condition::And(parts) | Condition::Or(parts) => {
                parts.iter().for_each(|part| self.collect(part));
            }
            Condition::Not(part) => self.collect(part),
        }
    }

    fn operands(&mut self, operands: impl IntoIterator<Item = &'c Operand>) {
        for operand in operands {
            match operand {
                Operand::Path(path) | Operand::Size(path) => self.paths.push(path),
                Operand::Value(value) => self.constants.push(value),
            }
        }
    }
}
