//! Parses the parameters of a request, as conditions on fields and filters by tags, into a query of the
//! library. `keyloom_query::Candidates` chooses the declared query that answers them.
//!
//! ```text
//! parameter = field "=" [ operator ] value | field "=" [ "!" ] "*" | field "=" facet
//!           | "tag=" tag | "q=" words                                           (`filter.rs`)
//! operator  = "<" | "<=" | ">" | ">=" | "="
//! ```
//!
//! A value that begins with an operator needs a `=` before it: `name==<b>`. `*` is any value of a field
//! that can be absent, `!*` is none.

use keyloom::{Db, Filter, ListQuery, Value};
use keyloom_model::{Entity, Field, FieldId, Grantees, ListId, Presence, Search};
use keyloom_query::{Candidates, Chosen, ChosenList, Comparison, Condition};

use super::call::{Call, bad_parameter};
use super::field_value::value;
use super::filter::{facet_values, search_parameters, tag_filter, tag_parameters};
use super::path_queries::{PathQueries, Wanted};
use super::problem::Problem;
use super::reserved::{CURSOR, FIELDS, LIMIT, REVERSE, TOTAL};

/// Parameters of every list that are not fields.
const PAGING: [&str; 5] = [LIMIT, CURSOR, REVERSE, "with", FIELDS];

/// The query that answers a request.
#[derive(Debug)]
pub(crate) enum Requested {
    /// The entity that has these values of a unique.
    Find(Vec<(FieldId, Value)>),
    /// A page of a list.
    List(Box<RequestedList>),
}

/// A query of the library, and what a handler needs to know about it.
#[derive(Debug)]
pub(crate) struct RequestedList {
    pub(crate) list: ListId,
    pub(crate) query: ListQuery,
    /// The fields that the request bounds, and that only the order of the list can be bounded by.
    pub(crate) bounded: Vec<FieldId>,
}

/// The parameters of a request, parsed: conditions decide which query answers.
#[derive(Debug, Default)]
struct Given {
    /// Of a facet, one for each value.
    conditions: Vec<Condition>,
    /// Filters by tags and words.
    filters: Vec<Filter>,
}

impl PathQueries {
    /// The query that answers a request, of those under its path. `paging` are parameters that are
    /// neither fields nor tags.
    pub(crate) fn requested(
        &self,
        entity: &Entity,
        call: &Call,
        paging: &[&str],
    ) -> Result<Requested, Problem> {
        let Given { conditions, filters } = self.given(entity, call, paging)?;
        let chosen = self.choose_for(entity, call, &conditions, |candidates, conditions| {
            candidates.choose(conditions, !filters.is_empty())
        });
        match chosen {
            Some(Chosen::Unique(values)) => Ok(Requested::Find(values)),
            Some(Chosen::List(chosen)) => {
                let list = RequestedList::new(&call.db, entity, chosen).filtered(filters);
                Ok(Requested::List(Box::new(list)))
            }
            None => Err(self.unmatched(entity, &conditions)),
        }
    }

    /// The list that answers a request.
    pub(crate) fn requested_list(
        &self,
        entity: &Entity,
        call: &Call,
        paging: &[&str],
    ) -> Result<RequestedList, Problem> {
        let Given { conditions, filters } = self.given(entity, call, paging)?;
        let chosen = self.choose_for(entity, call, &conditions, |candidates, conditions| {
            candidates.choose_list(conditions)
        });
        match chosen {
            Some(chosen) => Ok(RequestedList::new(&call.db, entity, chosen).filtered(filters)),
            None => Err(self.unmatched(entity, &conditions)),
        }
    }

    /// The query that answers conditions of a caller. For a user, one that they may read all of, or one
    /// that they may read their own part of: they need not name themselves as its owner.
    fn choose_for<C>(
        &self,
        entity: &Entity,
        call: &Call,
        conditions: &[Condition],
        choose: impl Fn(Candidates<'_>, &[Condition]) -> Option<C>,
    ) -> Option<C> {
        let among = |lists: &[ListId], conditions: &[Condition]| {
            choose(Candidates { entity, lists, uniques: &self.uniques }, conditions)
        };
        let Some(user) = &call.caller.user else { return among(&self.lists, conditions) };
        let lists = |is_for: &dyn Fn(&Grantees) -> bool| -> Vec<ListId> {
            let lists = self.lists.iter().copied();
            lists.filter(|list| is_for(&entity.list(*list).readers)).collect()
        };
        let whole = among(&lists(&|readers| user.reads_whole(readers)), conditions);
        let own = || {
            let field = entity.access.owner?;
            let value = Value::from(user.subject.as_str());
            let mut conditions = conditions.to_vec();
            if !conditions.iter().any(|condition| condition.field == field) {
                conditions.push(Condition { field, comparison: Comparison::Equal, value });
            }
            among(&lists(&|readers| user.reads_own(readers)), &conditions)
        };
        // What they may not read is refused when it is read.
        whole.or_else(own).or_else(|| among(&self.lists, conditions))
    }

    /// The names of all parameters that some query of this path takes.
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
        fields.extend(entity.filters.iter().filter(|_| !self.lists.is_empty()));
        let names = fields.iter().filter(|field| !self.in_path.contains(field));
        let mut names: Vec<&str> = names.map(|field| entity.field(*field).name.as_str()).collect();
        names.extend(self.tags(entity).into_iter().map(|(name, _)| name));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The parameters that are neither fields nor tags.
    pub(crate) fn paging(&self, entity: &Entity) -> Vec<&'static str> {
        let total = (entity.has_ordinals() && !self.lists.is_empty()).then_some(TOTAL);
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

    /// The parameters that take words.
    pub(crate) fn searches<'e>(&self, entity: &'e Entity) -> Vec<(String, &'e Search)> {
        if self.lists.is_empty() { vec![] } else { search_parameters(entity) }
    }

    /// Parses everything in the path and the query of a request.
    fn given(&self, entity: &Entity, call: &Call, paging: &[&str]) -> Result<Given, Problem> {
        let mut given = Given::default();
        for (field, text) in self.in_path.iter().zip(&call.values) {
            let (field, value) = (*field, value(entity.field(*field), text)?);
            given.conditions.push(Condition { field, comparison: Comparison::Equal, value });
        }
        let (tags, searches) = (self.tags(entity), self.searches(entity));
        let (facets, known) = (self.facets(entity), self.parameters(entity));
        for (name, text) in &call.parameters {
            if paging.contains(&name.as_str()) {
                continue;
            }
            if let Some((name, field)) = tags.iter().find(|(tag, _)| tag == name) {
                given.filters.push(tag_filter(name, text, entity.field(*field))?);
                continue;
            }
            if let Some((_, search)) = searches.iter().find(|(parameter, _)| parameter == name) {
                given.filters.push(Filter::search(&search.name, text));
                continue;
            }
            let field = entity.find_field(name).filter(|_| known.contains(&name.as_str()));
            let Some(field) = field else {
                let searches = searches.iter().map(|(name, _)| name.as_str());
                let known = known.iter().chain(paging).copied().chain(searches);
                let known: Vec<&str> = known.collect();
                return Err(self.unusable(entity, (name, text), &known));
            };
            let (comparison, text) = match presence(entity.field(field), name, text)? {
                Some(comparison) => {
                    let value = Value::Null;
                    given.conditions.push(Condition { field, comparison, value });
                    continue;
                }
                None => comparison(text),
            };
            let values = match comparison == Comparison::Equal && facets.contains(&field) {
                true => facet_values(entity.field(field), text)?,
                false => vec![value(entity.field(field), text)?],
            };
            let condition = |value| Condition { field, comparison, value };
            given.conditions.extend(values.into_iter().map(condition));
        }
        Ok(given)
    }
}

impl RequestedList {
    fn new(db: &Db, entity: &Entity, chosen: ChosenList) -> RequestedList {
        let name = |field: FieldId| entity.field(field).name.as_str();
        let mut query = db.list(&entity.name, &entity.list(chosen.list).name);
        for (field, value) in chosen.by {
            query = query.by(name(field), value);
        }
        for (field, values) in chosen.facets {
            query = query.facet(name(field), values);
        }
        let bounded = chosen.bounds.iter().map(|bound| bound.field);
        let bounded = bounded.filter(|field| !entity.filters.contains(field)).collect();
        for Condition { field, comparison, value } in chosen.bounds {
            query = match comparison {
                Comparison::Equal => query.equal(name(field), value),
                Comparison::Less => query.less_than(name(field), value),
                Comparison::AtMost => query.at_most(name(field), value),
                Comparison::More => query.more_than(name(field), value),
                Comparison::AtLeast => query.at_least(name(field), value),
                Comparison::Present => query.filter(Filter::present(name(field))),
                Comparison::Absent => query.filter(Filter::present(name(field)).not()),
            };
        }
        RequestedList { list: chosen.list, query, bounded }
    }

    fn filtered(self, filters: Vec<Filter>) -> RequestedList {
        RequestedList { query: filters.into_iter().fold(self.query, ListQuery::filter), ..self }
    }
}

/// Operators; where one begins with another, the longer one comes first.
const OPERATORS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Less),
    (">", Comparison::More),
    ("=", Comparison::Equal),
];

pub(super) fn operator(comparison: Comparison) -> &'static str {
    OPERATORS.iter().find(|(_, other)| *other == comparison).map_or("", |(operator, _)| operator)
}

/// Splits the text of a parameter into its operator and its value.
pub(super) fn comparison(text: &str) -> (Comparison, &str) {
    let found = OPERATORS
        .iter()
        .find_map(|(operator, comparison)| Some((*comparison, text.strip_prefix(operator)?)));
    found.unwrap_or((Comparison::Equal, text))
}

/// Whether text of a request asks if a field that can be absent has a value.
fn presence(field: &Field, name: &str, text: &str) -> Result<Option<Comparison>, Problem> {
    if field.presence == Presence::Required {
        return Ok(None);
    }
    match text {
        "*" => Ok(Some(Comparison::Present)),
        "!*" => Ok(Some(Comparison::Absent)),
        "" => Err(bad_parameter(format!(
            "`{name}` has no value. `{name}=!*` finds entities without one, `{name}==` those with \
             the empty text."
        ))),
        _ => Ok(None),
    }
}
