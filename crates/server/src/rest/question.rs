//! From the parameters of a request to the question that the model declares: a list, with bounds
//! of its order and filters, or a unique value.
//!
//! ```text
//! parameter = field "=" [ operator ] value | field "=" facet | "tag=" tag       (`filter.rs`)
//! operator  = "<" | "<=" | ">" | ">=" | "="
//! ```
//!
//! A value that begins with an operator itself is written with `=` before it: `name==<b>`.

use keyloom::{Filter, ListQuery, Value};
use keyloom_model::{Entity, Field, FieldId, FieldType, List, ListId, UniqueId};

use super::asked::{Asked, Wanted};
use super::call::{Call, bad_parameter, cut};
use super::filter::{facet_values, tag_filter, tag_parameters};
use super::problem::Problem;

/// Parameters of every list that are no fields.
const PAGING: [&str; 4] = ["limit", "cursor", "reverse", "with"];
/// That of lists whose entities are counted.
pub(super) const TOTAL: &str = "total";

/// What a request asks.
#[derive(Debug, PartialEq)]
pub(crate) enum Question {
    /// The entity that has these values of a unique.
    Find(Vec<(String, Value)>),
    /// A page of a list.
    List(Listed),
}

/// A list, and what narrows it.
#[derive(Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) list: ListId,
    pub(crate) by: Vec<(String, Value)>,
    pub(crate) bounds: Vec<Bound>,
    pub(crate) filters: Vec<Filter>,
}

/// What a request says, before it is known which question it asks.
#[derive(Debug, Default)]
struct Given {
    /// Everything about fields; of a facet, one for each value.
    bounds: Vec<Bound>,
    /// Everything about tags.
    tags: Vec<Filter>,
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
    /// the request names. Parameters that are no fields are not looked at.
    pub(crate) fn question(
        &self,
        entity: &Entity,
        call: &Call,
        paging: &[&str],
    ) -> Result<Question, Problem> {
        let known = self.parameters(entity);
        let given = self.given(entity, call, (&known, paging))?;
        let find = self.uniques.iter().find_map(|unique| self.find(entity, *unique, &given));
        if let Some(values) = find {
            return Ok(Question::Find(values));
        }
        let listed = self.listed(entity, &given);
        listed.map(Question::List).ok_or_else(|| self.unmatched(entity, &given.bounds))
    }

    /// The list that a request is about.
    pub(crate) fn list_of(
        &self,
        entity: &Entity,
        call: &Call,
        paging: &[&str],
    ) -> Result<Listed, Problem> {
        let known = self.parameters(entity);
        let given = self.given(entity, call, (&known, paging))?;
        self.listed(entity, &given).ok_or_else(|| self.unmatched(entity, &given.bounds))
    }

    /// The list that takes the most of what is named as its own.
    fn listed(&self, entity: &Entity, given: &Given) -> Option<Listed> {
        let lists = self.lists.iter().filter_map(|list| self.list(entity, *list, given));
        lists.max_by_key(|listed| listed.by.len())
    }

    /// The names of all parameters that some question of this path takes.
    pub(crate) fn parameters<'e>(&self, entity: &'e Entity) -> Vec<&'e str> {
        let mut fields: Vec<FieldId> = vec![];
        for list in self.lists.iter().map(|list| entity.list(*list)) {
            fields.extend(&list.by);
            let orders = list.order.iter().map(|order| order.field);
            fields.extend(orders.filter(|_| self.wanted == Wanted::Page));
        }
        for unique in self.uniques.iter().map(|unique| entity.unique(*unique)) {
            fields.extend(unique.within.iter().chain(&unique.fields));
        }
        fields.extend(self.facets(entity));
        let names = fields.iter().filter(|field| !self.in_path.contains(field));
        let mut names: Vec<&str> = names.map(|field| entity.field(*field).name.as_str()).collect();
        names.extend(self.tags(entity).into_iter().map(|(name, _)| name));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The parameters that are neither fields nor tags.
    pub(crate) fn paging(&self, entity: &Entity) -> Vec<&'static str> {
        let total = (entity.is_numbered() && !self.lists.is_empty()).then_some(TOTAL);
        PAGING.into_iter().chain(total).collect()
    }

    /// The facets of all lists of this path.
    pub(crate) fn facets(&self, entity: &Entity) -> Vec<FieldId> {
        self.lists.iter().flat_map(|list| &entity.list(*list).facets).copied().collect()
    }

    /// The parameters that take tags.
    pub(crate) fn tags<'e>(&self, entity: &'e Entity) -> Vec<(&'e str, FieldId)> {
        if self.lists.is_empty() { vec![] } else { tag_parameters(entity) }
    }

    /// Everything that the request says, in its path and in its query.
    fn given(
        &self,
        entity: &Entity,
        call: &Call,
        (known, paging): (&[&str], &[&str]),
    ) -> Result<Given, Problem> {
        let mut given = Given::default();
        for (field, text) in self.in_path.iter().zip(&call.values) {
            let field = entity.field(*field);
            let value = value(field, text)?;
            let field = field.name.clone();
            given.bounds.push(Bound { field, operator: Operator::Equal, value });
        }
        let (tags, facets) = (self.tags(entity), self.facets(entity));
        for (name, text) in &call.parameters {
            if paging.contains(&name.as_str()) {
                continue;
            }
            if let Some((name, field)) = tags.iter().find(|(tag, _)| tag == name) {
                given.tags.push(tag_filter(name, text, entity.field(*field))?);
                continue;
            }
            let field = entity.find_field(name).filter(|_| known.contains(&name.as_str()));
            let Some(field) = field else {
                let known: Vec<&str> = known.iter().chain(paging).copied().collect();
                return Err(self.unusable(entity, (name, text), &known));
            };
            let (operator, text) = operator(text);
            let values = match operator == Operator::Equal && facets.contains(&field) {
                true => facet_values(entity.field(field), text)?,
                false => vec![value(entity.field(field), text)?],
            };
            let bound = |value| Bound { field: name.clone(), operator, value };
            given.bounds.extend(values.into_iter().map(bound));
        }
        Ok(given)
    }

    /// The values of a unique, if exactly these are given.
    fn find(
        &self,
        entity: &Entity,
        unique: UniqueId,
        given: &Given,
    ) -> Option<Vec<(String, Value)>> {
        let unique = entity.unique(unique);
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        let values = equals(entity, &fields, &given.bounds)?;
        (values.len() == given.bounds.len() && given.tags.is_empty()).then_some(values)
    }

    /// The question to a list, if all that it needs is given, and nothing else but what bounds its
    /// order and narrows it.
    fn list(&self, entity: &Entity, id: ListId, given: &Given) -> Option<Listed> {
        let List { by, order, facets, .. } = entity.list(id);
        let by_values = equals(entity, by, &given.bounds)?;
        let is_by = |bound: &&Bound| by_values.iter().any(|(name, _)| *name == bound.field);
        let place = |bound: &Bound| order.iter().position(|order| bound.is_of(entity, order.field));
        let narrows = |bound: &Bound| {
            let is_facet = facets.iter().any(|facet| bound.is_of(entity, *facet));
            is_facet && bound.operator == Operator::Equal
        };
        let rest: Vec<&Bound> = given.bounds.iter().filter(|bound| !is_by(bound)).collect();
        // A value of a field that does both is a filter, unless bounds of a field after it need it.
        let last =
            rest.iter().filter(|bound| !narrows(bound)).filter_map(|bound| place(bound)).max();
        let is_needed = |bound: &Bound| place(bound).is_some_and(|at| Some(at) < last);
        let (values, bounds): (Vec<&Bound>, Vec<&Bound>) =
            rest.into_iter().partition(|bound| narrows(bound) && !is_needed(bound));
        if !bounds.iter().all(|bound| place(bound).is_some()) {
            return None;
        }
        let facet = |field: &FieldId| {
            let values = values.iter().filter(|bound| bound.is_of(entity, *field));
            let values: Vec<Filter> =
                values.map(|bound| Filter::facet(&bound.field, bound.value.clone())).collect();
            (!values.is_empty()).then(|| Filter::any(values))
        };
        let filters = facets.iter().filter_map(facet).chain(given.tags.iter().cloned()).collect();
        let bounds = bounds.into_iter().cloned().collect();
        Some(Listed { list: id, by: by_values, bounds, filters })
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
    /// Whether it is about this field.
    pub(super) fn is_of(&self, entity: &Entity, field: FieldId) -> bool {
        entity.field(field).name == self.field
    }

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

/// The signs of operators; where one begins with another, the longer one comes first.
const SIGNS: [(&str, Operator); 5] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
    ("=", Operator::Equal),
];

impl Operator {
    pub(super) fn sign(self) -> &'static str {
        SIGNS.iter().find(|(_, operator)| *operator == self).map_or("", |(sign, _)| sign)
    }
}

/// The operator that the text of a parameter begins with, and the value after it.
pub(super) fn operator(text: &str) -> (Operator, &str) {
    let found = SIGNS
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
