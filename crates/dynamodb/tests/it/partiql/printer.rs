//! Prints items, conditions and updates as PartiQL, with literals where the language has them and
//! parameters elsewhere.

use keyloom_dynamodb::item_to_json;
use keyloom_value::{Condition, Item, Name, Operand, Path, SetValue, Step, Update, Value};

use super::stage::text;

/// A statement being printed.
#[derive(Debug, Default)]
pub(super) struct Statement {
    text: String,
    parameters: Vec<Value>,
}

impl Statement {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Returns the members of a request; `None` if the statement is too long.
    pub(super) fn json(&self) -> Option<String> {
        if self.text.chars().count() > 8192 {
            return None;
        }
        let mut members = format!(r#""Statement":{}"#, text(&self.text));
        if !self.parameters.is_empty() {
            let values = self.parameters.iter().map(|value| {
                let item = item_to_json(&Item::from([("v", value.clone())]));
                item.strip_prefix(r#"{"v":"#).unwrap().strip_suffix('}').unwrap().to_owned()
            });
            let values: Vec<String> = values.collect();
            members.push_str(&format!(r#","Parameters":[{}]"#, values.join(",")));
        }
        Some(format!("{{{members}}}"))
    }

    pub(super) fn insert(&mut self, table: &str, item: &Item) {
        self.push(&format!("INSERT INTO {table} VALUE {{"));
        for (position, (name, value)) in item.iter().enumerate() {
            self.push(if position == 0 { "" } else { ", " });
            self.push(&format!("{}: ", quoted(name.as_str(), '\'')));
            self.value(value);
        }
        self.push("}");
    }

    pub(super) fn update(&mut self, update: &Update) {
        for (path, value) in &update.set {
            self.push(&format!(" SET {} = ", path_text(path)));
            self.set_value(value);
        }
        for (function, changes) in [("set_add", &update.add), ("set_delete", &update.delete)] {
            for (path, value) in changes {
                let path = path_text(path);
                self.push(&format!(" SET {path} = {function}({path}, "));
                self.value(value);
                self.push(")");
            }
        }
        for path in &update.remove {
            self.push(&format!(" REMOVE {}", path_text(path)));
        }
    }

    fn set_value(&mut self, value: &SetValue) {
        let (before, left, between, right, after) = match value {
            SetValue::Value(value) => return self.value(value),
            SetValue::Path(path) => return self.push(&path_text(path)),
            SetValue::Plus(left, right) => ("", left, " + ", right, ""),
            SetValue::Minus(left, right) => ("", left, " - ", right, ""),
            SetValue::Append(left, right) => ("list_append(", left, ", ", right, ")"),
            SetValue::IfMissing(..) => panic!("PartiQL has no default"),
        };
        self.push(before);
        self.set_value(left);
        self.push(between);
        self.set_value(right);
        self.push(after);
    }

    /// Also requires a condition.
    pub(super) fn and(&mut self, condition: Option<&Condition>) {
        if let Some(condition) = condition {
            self.push(" AND (");
            self.condition(condition);
            self.push(")");
        }
    }

    pub(super) fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Compare { left, comparison, right } => {
                self.operand(left);
                self.push(&format!(" {} ", comparison.symbol()));
                self.operand(right);
            }
            Condition::Between { operand, low, high } => {
                self.operand(operand);
                self.push(" BETWEEN ");
                self.operand(low);
                self.push(" AND ");
                self.operand(high);
            }
            Condition::In { operand, choices } => {
                self.operand(operand);
                self.push(" IN [");
                for (position, choice) in choices.iter().enumerate() {
                    self.push(if position == 0 { "" } else { ", " });
                    self.operand(choice);
                }
                self.push("]");
            }
            Condition::Exists(path) => self.push(&format!("{} IS NOT MISSING", path_text(path))),
            Condition::Missing(path) => self.push(&format!("{} IS MISSING", path_text(path))),
            Condition::HasType(path, value_type) => {
                let path = path_text(path);
                self.push(&format!("attribute_type({path}, '{}')", value_type.as_str()));
            }
            Condition::BeginsWith(left, right) => self.call("begins_with", left, right),
            Condition::Contains(left, right) => self.call("contains", left, right),
            Condition::And(parts) => self.joined(parts, " AND "),
            Condition::Or(parts) => self.joined(parts, " OR "),
            Condition::Not(inner) => {
                self.push("NOT (");
                self.condition(inner);
                self.push(")");
            }
        }
    }

    fn call(&mut self, name: &str, left: &Operand, right: &Operand) {
        self.push(&format!("{name}("));
        self.operand(left);
        self.push(", ");
        self.operand(right);
        self.push(")");
    }

    fn joined(&mut self, parts: &[Condition], word: &str) {
        for (position, part) in parts.iter().enumerate() {
            self.push(if position == 0 { "(" } else { word });
            self.condition(part);
        }
        self.push(")");
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Path(path) => self.push(&path_text(path)),
            Operand::Value(value) => self.value(value),
            Operand::Size(path) => self.push(&format!("size({})", path_text(path))),
        }
    }

    /// Writes a literal, or a parameter for what has none.
    pub(super) fn value(&mut self, value: &Value) {
        match literal(value) {
            Some(text) => self.push(&text),
            None => {
                self.push("?");
                self.parameters.push(value.clone());
            }
        }
    }
}

fn literal(value: &Value) -> Option<String> {
    Some(match value {
        Value::S(text) => quoted(text, '\''),
        Value::N(number) => number.to_string(),
        Value::Bool(boolean) => boolean.to_string(),
        Value::Null => "NULL".to_owned(),
        Value::L(elements) => {
            let elements: Option<Vec<String>> = elements.iter().map(literal).collect();
            format!("[{}]", elements?.join(", "))
        }
        Value::M(members) => {
            let member = |(name, value): (&Name, &Value)| {
                Some(format!("{}: {}", quoted(name.as_str(), '\''), literal(value)?))
            };
            let members: Option<Vec<String>> = members.iter().map(member).collect();
            format!("{{{}}}", members?.join(", "))
        }
        Value::Ss(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| quoted(text, '\'')).collect();
            format!("<<{}>>", texts.join(", "))
        }
        Value::Ns(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            format!("<<{}>>", numbers.join(", "))
        }
        Value::B(_) | Value::Bs(_) => return None,
    })
}

fn path_text(path: &Path) -> String {
    let mut text = quoted(path.root().as_str(), '"');
    for step in path.steps() {
        match step {
            Step::Member(name) => text.push_str(&format!(".{}", quoted(name.as_str(), '"'))),
            Step::Element(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn quoted(text: &str, quote: char) -> String {
    format!("{quote}{}{quote}", text.replace(quote, &format!("{quote}{quote}")))
}
