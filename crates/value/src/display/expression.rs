//! Text form of conditions, key conditions, updates and projections.

use std::fmt::{self, Display, Formatter};

use super::{Word, write_enclosed, write_joined};
use crate::{
    Comparison, Condition, KeyCondition, KeyTest, Operand, Path, Projection, SetValue, Update,
};

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Path(path) => path.fmt(f),
            Operand::Value(value) => value.fmt(f),
            Operand::Size(path) => write!(f, "size({path})"),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.symbol())
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Compare { left, comparison, right } => {
                write!(f, "{left} {comparison} {right}")
            }
            Condition::Between { operand, low, high } => {
                write!(f, "{operand} BETWEEN {low} AND {high}")
            }
            Condition::In { operand, choices } => {
                write!(f, "{operand} IN ")?;
                write_enclosed(f, "(", choices, ")")
            }
            Condition::Exists(path) => write!(f, "attribute_exists({path})"),
            Condition::Missing(path) => write!(f, "attribute_not_exists({path})"),
            Condition::HasType(path, value_type) => {
                write!(f, "attribute_type({path}, {value_type})")
            }
            Condition::BeginsWith(operand, prefix) => write!(f, "begins_with({operand}, {prefix})"),
            Condition::Contains(operand, part) => write!(f, "contains({operand}, {part})"),
            Condition::And(inner) => write_junction(f, inner, "AND"),
            Condition::Or(inner) => write_junction(f, inner, "OR"),
            Condition::Not(inner) => write!(f, "NOT ({inner})"),
        }
    }
}

/// Joins conditions with the word. With one condition or none the word comes first, to distinguish
/// `And` of one condition from the condition itself.
fn write_junction(f: &mut Formatter<'_>, conditions: &[Condition], word: &str) -> fmt::Result {
    match conditions {
        [] | [_] => write_enclosed(f, &format!("{word}("), conditions, ")"),
        _ => write_joined(f, conditions.iter().map(Inner), &format!(" {word} ")),
    }
}

/// A condition inside a junction.
struct Inner<'a>(&'a Condition);

impl Display for Inner<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Condition::And(inner) | Condition::Or(inner) if inner.len() > 1 => {
                write!(f, "({})", self.0)
            }
            condition => condition.fmt(f),
        }
    }
}

impl Display for KeyCondition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tests = self.tests.iter().map(|(name, test)| Test { name: name.as_str(), test });
        write_joined(f, tests, " AND ")
    }
}

struct Test<'a> {
    name: &'a str,
    test: &'a KeyTest,
}

impl Display for Test<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = Word(self.name);
        match self.test {
            KeyTest::Equal(value) => write!(f, "{name} = {value}"),
            KeyTest::Less(value) => write!(f, "{name} < {value}"),
            KeyTest::LessOrEqual(value) => write!(f, "{name} <= {value}"),
            KeyTest::Greater(value) => write!(f, "{name} > {value}"),
            KeyTest::GreaterOrEqual(value) => write!(f, "{name} >= {value}"),
            KeyTest::Between(low, high) => write!(f, "{name} BETWEEN {low} AND {high}"),
            KeyTest::BeginsWith(prefix) => write!(f, "begins_with({name}, {prefix})"),
        }
    }
}

impl Display for SetValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetValue::Value(value) => value.fmt(f),
            SetValue::Path(path) => path.fmt(f),
            SetValue::IfMissing(path, value) => write!(f, "if_not_exists({path}, {value})"),
            SetValue::Append(left, right) => write!(f, "list_append({left}, {right})"),
            SetValue::Plus(left, right) => write!(f, "{} + {}", Term(left), Term(right)),
            SetValue::Minus(left, right) => write!(f, "{} - {}", Term(left), Term(right)),
        }
    }
}

/// One side of a sum or difference.
struct Term<'a>(&'a SetValue);

impl Display for Term<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            SetValue::Plus(..) | SetValue::Minus(..) => write!(f, "({})", self.0),
            SetValue::Value(_)
            | SetValue::Path(_)
            | SetValue::IfMissing(..)
            | SetValue::Append(..) => self.0.fmt(f),
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let set = self.set.iter().map(|(path, value)| Assignment { path, sign: " = ", value });
        let add = self.add.iter().map(|(path, value)| Assignment { path, sign: " ", value });
        let delete = self.delete.iter().map(|(path, value)| Assignment { path, sign: " ", value });
        let mut clauses = Vec::new();
        clauses.extend(clause("SET", set));
        clauses.extend(clause("REMOVE", &self.remove));
        clauses.extend(clause("ADD", add));
        clauses.extend(clause("DELETE", delete));
        f.write_str(&clauses.join(" "))
    }
}

/// Formats a clause of an update; `None` if it has no actions.
fn clause(word: &str, actions: impl IntoIterator<Item = impl Display>) -> Option<String> {
    let actions: Vec<String> = actions.into_iter().map(|action| action.to_string()).collect();
    (!actions.is_empty()).then(|| format!("{word} {}", actions.join(", ")))
}

struct Assignment<'a, V> {
    path: &'a Path,
    sign: &'a str,
    value: &'a V,
}

impl<V: Display> Display for Assignment<'_, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.path, self.sign, self.value)
    }
}

impl Display for Projection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_joined(f, self.paths(), ", ")
    }
}
