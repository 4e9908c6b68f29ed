//! From the parameters of a request to the question that the model declares: a list, with bounds
//! of its order, or a unique value.
//!
//! ```text
//! parameter = field "=" [ operator ] value
//! operator  = "<" | "<=" | ">" | ">=" | "="
//! ```
//!
//! A value that begins with an operator itself is written with `=` before it: `name==<b>`.

use keyloom::{ListQuery, Value};
use keyloom_model::{Entity, Field, FieldId, FieldType, List, ListId, UniqueId};

use super::call::{Call, bad_parameter, cut, unknown_parameter};
use super::operation::Asked;
use super::problem::Problem;

/// Parameters of every list that are no fields.
pub(crate) const PAGING: [&str; 4] = ["limit", "cursor", "reverse", "with"];

/// What a request asks.
#[derive(Debug, PartialEq)]
pub(crate) enum Question {
    /// The entity that has these values of a unique.
    Find(Vec<(String, Value)>),
    /// A page of a list.
    List { list: ListId, by: Vec<(String, Value)>, bounds: Vec<Bound> },
}

/// What a request says about a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) field: String,
    pub(crate) operator: Operator,
    pub(crate) value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Asked {
    /// The question of a request: of all that are answered under its path, the one whose fields
    /// the request names.
    pub(crate) fn question(&self, entity: &Entity, call: &Call) -> Result<Question, Problem> {
        let known = self.parameters(entity);
        let given = self.given(entity, call, &known)?;
        let find = self.uniques.iter().find_map(|unique| self.find(entity, *unique, &given));
        if let Some(values) = find {
            return Ok(Question::Find(values));
        }
        let lists = self.lists.iter().filter_map(|list| self.list(entity, *list, &given));
        // The one that takes the most of what is named as its own.
        let best = lists.max_by_key(|question| match question {
            Question::List { by, .. } => by.len(),
            Question::Find(_) => 0,
        });
        best.ok_or_else(|| self.no_question(entity, &known))
    }

    /// The names of all parameters that some question of this path takes.
    pub(crate) fn parameters<'e>(&self, entity: &'e Entity) -> Vec<&'e str> {
        let mut fields: Vec<FieldId> = vec![];
        for list in self.lists.iter().map(|list| entity.list(*list)) {
            fields.extend(&list.by);
            fields.extend(list.order.iter().map(|order| order.field));
        }
        for unique in self.uniques.iter().map(|unique| entity.unique(*unique)) {
            fields.extend(unique.within.iter().chain(&unique.fields));
        }
        let names = fields.iter().filter(|field| !self.in_path.contains(field));
        let mut names: Vec<&str> = names.map(|field| entity.field(*field).name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Everything that the request says about fields, in its path and in its query.
    fn given(&self, entity: &Entity, call: &Call, known: &[&str]) -> Result<Vec<Bound>, Problem> {
        let mut given = vec![];
        for (field, text) in self.in_path.iter().zip(&call.values) {
            let field = entity.field(*field);
            let value = value(field, text)?;
            given.push(Bound { field: field.name.clone(), operator: Operator::Equal, value });
        }
        for (name, text) in &call.parameters {
            if PAGING.contains(&name.as_str()) {
                continue;
            }
            let field = entity.find_field(name).filter(|_| known.contains(&name.as_str()));
            let Some(field) = field else {
                let known: Vec<&str> = known.iter().copied().chain(PAGING).collect();
                return Err(unknown_parameter(name, &known));
            };
            let (operator, text) = operator(text);
            let value = value(entity.field(field), text)?;
            given.push(Bound { field: name.clone(), operator, value });
        }
        Ok(given)
    }

    /// The values of a unique, if exactly these are given.
    fn find(
        &self,
        entity: &Entity,
        unique: UniqueId,
        given: &[Bound],
    ) -> Option<Vec<(String, Value)>> {
        let unique = entity.unique(unique);
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        let values = equals(entity, &fields, given)?;
        (values.len() == given.len()).then_some(values)
    }

    /// The question to a list, if all that it needs is given, and nothing else but its order.
    fn list(&self, entity: &Entity, id: ListId, given: &[Bound]) -> Option<Question> {
        let List { by, order, .. } = entity.list(id);
        let by_values = equals(entity, by, given)?;
        let is_by = |bound: &&Bound| by_values.iter().any(|(name, _)| *name == bound.field);
        let bounds: Vec<Bound> = given.iter().filter(|bound| !is_by(bound)).cloned().collect();
        let orders =
            |bound: &Bound| order.iter().any(|order| entity.field(order.field).name == bound.field);
        bounds.iter().all(orders).then_some(Question::List { list: id, by: by_values, bounds })
    }

    fn no_question(&self, entity: &Entity, known: &[&str]) -> Problem {
        let names = |fields: &[FieldId]| {
            let fields = fields.iter().filter(|field| !self.in_path.contains(field));
            let names: Vec<String> =
                fields.map(|field| format!("`{}`", entity.field(*field).name)).collect();
            names.join(" and ")
        };
        let lists = self.lists.iter().map(|list| names(&entity.list(*list).by));
        let uniques = self.uniques.iter().map(|unique| {
            let unique = entity.unique(*unique);
            names(&unique.within.iter().chain(&unique.fields).copied().collect::<Vec<_>>())
        });
        let mut ways: Vec<String> = lists.chain(uniques).filter(|way| !way.is_empty()).collect();
        ways.dedup();
        let ways = match ways.is_empty() {
            true => format!("bound `{}` alone", known.join("`, `")),
            false => format!("give {}", ways.join(", or ")),
        };
        bad_parameter(format!("No question of `{}` takes just these fields: {ways}.", entity.name))
    }
}

/// The values of all these fields, if each is given one.
fn equals(entity: &Entity, fields: &[FieldId], given: &[Bound]) -> Option<Vec<(String, Value)>> {
    let value = |field: &FieldId| {
        let name = &entity.field(*field).name;
        let mut bounds = given.iter().filter(|bound| bound.field == *name);
        match (bounds.next(), bounds.next()) {
            (Some(bound), None) if bound.operator == Operator::Equal => {
                Some((name.clone(), bound.value.clone()))
            }
            _ => None,
        }
    };
    fields.iter().map(value).collect()
}

impl Bound {
    /// The same question with this bound.
    pub(crate) fn narrow(self, query: ListQuery) -> ListQuery {
        let (field, value) = (self.field.as_str(), self.value);
        match self.operator {
            Operator::Equal => query.equal(field, value),
            Operator::Less => query.less_than(field, value),
            Operator::AtMost => query.at_most(field, value),
            Operator::More => query.more_than(field, value),
            Operator::AtLeast => query.at_least(field, value),
        }
    }
}

fn operator(text: &str) -> (Operator, &str) {
    let operators = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::More),
        ("=", Operator::Equal),
    ];
    let found = operators
        .iter()
        .find_map(|(sign, operator)| text.strip_prefix(sign).map(|rest| (*operator, rest)));
    found.unwrap_or((Operator::Equal, text))
}

/// A text of a request as a value of a field. Texts that a document would have, such as times and
/// words of an enum, are left for the library to judge.
pub(crate) fn value(field: &Field, text: &str) -> Result<Value, Problem> {
    let refuse = || {
        let (name, kind) = (&field.name, field.of.name());
        bad_parameter(format!("`{name}` is of the type {kind}, and `{}` is not.", cut(text)))
    };
    match &field.of {
        FieldType::Int(_) => text.parse::<i64>().map(Value::from).map_err(|_| refuse()),
        FieldType::Number(_) => text.parse().map(Value::N).map_err(|_| refuse()),
        FieldType::Enum(members) if !members.iter().any(|member| member == text) => {
            let (name, members) = (&field.name, members.join("`, `"));
            let detail = format!("`{name}` is one of `{members}`, and `{}` is not.", cut(text));
            Err(bad_parameter(detail))
        }
        FieldType::Bool => text.parse().map(Value::Bool).map_err(|_| refuse()),
        _ => match field.of.take(&Value::from(text)) {
            // What stays a text where none is kept is no value of the field.
            Value::S(_) if matches!(field.of, FieldType::Time | FieldType::Bytes(_)) => {
                Err(refuse())
            }
            value => Ok(value),
        },
    }
}
