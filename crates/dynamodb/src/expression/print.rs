//! Prints conditions, key conditions, updates and projections, with placeholders for every name
//! and value, so that none of them can be misread as syntax.

use keyloom_value::{
    Condition, KeyCondition, KeyTest, Name, Operand, Path, Projection, SetValue, Step, Update,
    Value,
};

/// The attribute in tests that hold for every item, or for none.
const ANY: &str = "keyloom:any";

/// Prints the expressions of one request. Placeholders are numbered in order of use.
///
/// ```
/// use keyloom_dynamodb::{Printer, Substitutions};
/// use keyloom_value::{Condition, Path, Value};
///
/// let open = Condition::equal(Path::from("status"), Value::from("open"));
/// let mut printer = Printer::new();
/// let text = printer.condition(&open);
/// assert_eq!(text, "#n0 = :v0");
///
/// let mut names = Substitutions::new(printer.names, printer.values)?;
/// assert_eq!(names.condition("FilterExpression", &text)?, open);
/// # Ok::<(), keyloom_dynamodb::ExpressionError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Printer {
    /// Names by placeholder.
    pub names: Vec<(String, String)>,
    /// Values by placeholder.
    pub values: Vec<(String, Value)>,
}

impl Printer {
    /// Creates a printer for one request.
    pub fn new() -> Printer {
        Printer::default()
    }

    /// Prints a condition or filter. The language has no empty `And` or `Or`: they are printed as
    /// tests of an attribute that always, or never, hold.
    pub fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::And(parts) => self.joined(" AND ", parts, "OR"),
            Condition::Or(parts) => self.joined(" OR ", parts, "AND"),
            Condition::Not(inner) => format!("NOT {}", self.inner(inner)),
            Condition::Compare { left, comparison, right } => {
                let left = self.operand(left);
                format!("{left} {} {}", comparison.symbol(), self.operand(right))
            }
            Condition::Between { operand, low, high } => {
                let (operand, low) = (self.operand(operand), self.operand(low));
                format!("{operand} BETWEEN {low} AND {}", self.operand(high))
            }
            Condition::In { operand, choices } => {
                let operand = self.operand(operand);
                let choices: Vec<String> =
                    choices.iter().map(|choice| self.operand(choice)).collect();
                format!("{operand} IN ({})", choices.join(", "))
            }
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::Missing(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::HasType(path, value_type) => {
                let path = self.path(path);
                format!("attribute_type({path}, {})", self.value(&value_type.as_str().into()))
            }
            Condition::BeginsWith(left, right) => {
                let left = self.operand(left);
                format!("begins_with({left}, {})", self.operand(right))
            }
            Condition::Contains(left, right) => {
                let left = self.operand(left);
                format!("contains({left}, {})", self.operand(right))
            }
        }
    }

    /// Prints a key condition.
    pub fn key_condition(&mut self, key: &KeyCondition) -> String {
        let tests: Vec<String> =
            key.tests.iter().map(|(name, test)| self.key_test(name, test)).collect();
        tests.join(" AND ")
    }

    /// Prints an update; returns an empty string if it changes nothing.
    pub fn update(&mut self, update: &Update) -> String {
        let mut sections = Vec::new();
        let sets: Vec<String> = update
            .set
            .iter()
            .map(|(path, value)| format!("{} = {}", self.path(path), self.set_value(value)))
            .collect();
        let removes: Vec<String> = update.remove.iter().map(|path| self.path(path)).collect();
        let adds = self.changes(&update.add);
        let deletes = self.changes(&update.delete);
        for (name, parts) in
            [("SET", sets), ("REMOVE", removes), ("ADD", adds), ("DELETE", deletes)]
        {
            if !parts.is_empty() {
                sections.push(format!("{name} {}", parts.join(", ")));
            }
        }
        sections.join(" ")
    }

    /// Prints a projection.
    pub fn projection(&mut self, projection: &Projection) -> String {
        let paths: Vec<String> = projection.paths().iter().map(|path| self.path(path)).collect();
        paths.join(", ")
    }

    /// Joins conditions with `word`. None at all is printed as a test that is always true (`OR`) or
    /// always false (`AND`), depending on `of_none`.
    fn joined(&mut self, word: &str, parts: &[Condition], of_none: &str) -> String {
        match parts {
            [] => {
                let any = self.name(&Name::from(ANY));
                format!("(attribute_exists({any}) {of_none} attribute_not_exists({any}))")
            }
            [only] => self.condition(only),
            _ => {
                let parts: Vec<String> = parts.iter().map(|part| self.inner(part)).collect();
                parts.join(word)
            }
        }
    }

    /// Prints an operand of `AND`, `OR` or `NOT`, in parentheses if it joins several conditions.
    fn inner(&mut self, condition: &Condition) -> String {
        let text = self.condition(condition);
        match condition {
            Condition::And(parts) | Condition::Or(parts) if parts.len() > 1 => format!("({text})"),
            _ => text,
        }
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value) => self.value(value),
            Operand::Size(path) => format!("size({})", self.path(path)),
        }
    }

    fn key_test(&mut self, name: &Name, test: &KeyTest) -> String {
        let name = self.name(name);
        let (sign, value) = match test {
            KeyTest::Equal(value) => ("=", value),
            KeyTest::Less(value) => ("<", value),
            KeyTest::LessOrEqual(value) => ("<=", value),
            KeyTest::Greater(value) => (">", value),
            KeyTest::GreaterOrEqual(value) => (">=", value),
            KeyTest::Between(low, high) => {
                let low = self.value(low);
                return format!("{name} BETWEEN {low} AND {}", self.value(high));
            }
            KeyTest::BeginsWith(prefix) => {
                return format!("begins_with({name}, {})", self.value(prefix));
            }
        };
        format!("{name} {sign} {}", self.value(value))
    }

    fn changes(&mut self, changes: &[(Path, Value)]) -> Vec<String> {
        changes
            .iter()
            .map(|(path, value)| format!("{} {}", self.path(path), self.value(value)))
            .collect()
    }

    fn set_value(&mut self, value: &SetValue) -> String {
        match value {
            SetValue::Plus(left, right) => {
                format!("{} + {}", self.term(left), self.term(right))
            }
            SetValue::Minus(left, right) => {
                format!("{} - {}", self.term(left), self.term(right))
            }
            SetValue::Value(value) => self.value(value),
            SetValue::Path(path) => self.path(path),
            SetValue::IfMissing(path, default) => {
                format!("if_not_exists({}, {})", self.path(path), self.set_value(default))
            }
            SetValue::Append(left, right) => {
                format!("list_append({}, {})", self.set_value(left), self.set_value(right))
            }
        }
    }

    fn term(&mut self, value: &SetValue) -> String {
        let text = self.set_value(value);
        match value {
            SetValue::Plus(..) | SetValue::Minus(..) => format!("({text})"),
            SetValue::Value(_)
            | SetValue::Path(_)
            | SetValue::IfMissing(..)
            | SetValue::Append(..) => text,
        }
    }

    fn path(&mut self, path: &Path) -> String {
        let mut text = self.name(path.root());
        for step in path.steps() {
            match step {
                Step::Member(name) => {
                    text.push('.');
                    text.push_str(&self.name(name));
                }
                Step::Element(index) => text.push_str(&format!("[{index}]")),
            }
        }
        text
    }

    fn name(&mut self, name: &Name) -> String {
        if let Some((placeholder, _)) = self.names.iter().find(|(_, known)| known == name.as_str())
        {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.push((placeholder.clone(), name.as_str().to_owned()));
        placeholder
    }

    fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.push((placeholder.clone(), value.clone()));
        placeholder
    }
}
