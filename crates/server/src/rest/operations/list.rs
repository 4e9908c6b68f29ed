//! `GET /tasks`: a page of a list, or the entity with a unique value.

use hyper::Method;
use keyloom::{End, Error, ListQuery, Page, Record, Total, Value};
use keyloom_model::{Direction, Entity, EntityId, FieldId, FieldType, Grantees, List, Model};

use super::super::call::{Call, Reply, bad_parameter, quoted};
use super::super::example::literal_of;
use super::super::openapi::{
    Answer, Description, Group, PathValues, TakenId, capital, cursor, flag, limit, names, of_list,
    of_queries, of_searches, of_tags, only_fields, spoken, with_article, with_others,
};
use super::super::operation::{Access, Action, Operation, Running};
use super::super::parameters::{Requested, RequestedList};
use super::super::path_queries::PathQueries;
use super::super::problem::{Kind, Problem};
use super::super::reserved::{CURSOR, REVERSE, TOTAL};
use super::super::role::Role;
use super::super::segment::Segment;
use super::super::state::State;
use super::changing::not_found;
use super::page::{PageParts, page};

#[derive(Debug)]
struct ListPage(PathQueries);

pub(super) fn list(entity: &Entity, path: Vec<Segment>, queries: PathQueries) -> Operation {
    let name = match &queries.lists[..] {
        [first, ..] => format!("list_{}_{}", entity.name, entity.list(*first).name),
        [] => format!("find_{}", entity.name),
    };
    Operation::new(name, Method::GET, path, ListPage(queries))
}

impl Action for ListPage {
    fn access(&self) -> Access {
        Access::Data(Role::Reader)
    }

    fn entity(&self) -> Option<EntityId> {
        Some(self.0.entity)
    }

    fn grantees<'m>(&self, entity: &'m Entity) -> Vec<&'m Grantees> {
        self.0.readers(entity)
    }

    fn describe(&self, model: &Model) -> Description {
        let ListPage(queries) = self;
        let entity = model.entity(queries.entity);
        let mut query = of_queries(entity, queries);
        query.extend(of_tags(entity, queries));
        query.extend(of_searches(entity, queries));
        if !queries.lists.is_empty() {
            query.extend([limit(20, "Maximum number of results."), cursor()]);
            query.push(flag(REVERSE, "Start at the end of the list."));
            let about = "Include the total number of matches.";
            query.extend(entity.has_ordinals().then(|| flag(TOTAL, about)));
        }
        query.push(only_fields(entity));
        query.extend(with_others(model, queries.entity));
        Description {
            details: details(entity, queries),
            path_values: PathValues { fields_of: Some(queries.entity), other: None },
            query,
            answers: vec![Answer::page(model, queries.entity)],
            problems: of_list(entity, &queries.in_path),
            ids: ids_in_path(entity, queries),
            ..Description::new(Group::Entity(queries.entity), summary(entity, queries))
        }
    }

    fn run<'c>(&'c self, state: &'c State, call: &'c Call) -> Running<'c> {
        Box::pin(run(call, &state.model, &self.0))
    }

    fn is_query(&self) -> bool {
        true
    }

    fn takes_several_reads(&self, call: &Call) -> bool {
        call.has_parameter("with") || call.has_parameter(TOTAL)
    }

    fn lists(&self) -> Option<&PathQueries> {
        Some(&self.0)
    }
}

/// The ids among the field values of a path.
pub(super) fn ids_in_path(entity: &Entity, queries: &PathQueries) -> Vec<TakenId> {
    let fields = queries.in_path.iter().map(|field| entity.field(*field));
    let taken = fields.filter_map(|field| match field.of {
        FieldType::Ref(of, _) => {
            Some(TakenId { of, location: "parameters", name: field.name.clone() })
        }
        _ => None,
    });
    taken.collect()
}

async fn run(call: &Call, model: &Model, queries: &PathQueries) -> Result<Reply, Problem> {
    let entity = model.entity(queries.entity);
    let in_path = (entity, &queries.in_path[..]);
    match queries.requested(entity, call, &queries.paging(entity))? {
        Requested::Find(values) => {
            // Validated, but without effect: there is one page at most.
            call.limit()?;
            call.is_reversed()?;
            if call.parameter(CURSOR)?.is_some() {
                let detail = "A unique value matches at most one entity: omit `cursor`.";
                return Err(Problem::new(Kind::BadCursor, detail));
            }
            let values: Vec<(&str, Value)> = values
                .into_iter()
                .map(|(field, value)| (entity.field(field).name.as_str(), value))
                .collect();
            let found = call.db.find(&entity.name, &values).await?;
            let total = Total { count: u64::from(found.is_some()), end: End::Exhausted };
            let total = wants_total(call)?.then_some(total);
            let items: Vec<Record> = found.into_iter().collect();
            if items.is_empty() {
                check_path(call, model, in_path).await?;
            }
            page(call, entity, PageParts { items, total, ..PageParts::default() }).await
        }
        Requested::List(list) => {
            check_countable(call, entity, &list)?;
            let query = paged(call, list.query)?;
            let total = match wants_total(call)? {
                true => Some(query.total().await?),
                false => None,
            };
            let Page { items, next, previous, .. } = query.read().await?;
            // Also if there is a next page: all entities may be hidden by the deletion of the path's target.
            if items.is_empty() {
                check_path(call, model, in_path).await?;
            }
            page(call, entity, PageParts { items, next, previous, total }).await
        }
    }
}

/// Checks that the entities in the path exist: a list under a missing entity is not found rather than
/// empty. Called only for empty results, so that other pages do not pay for it.
pub(super) async fn check_path(
    call: &Call,
    model: &Model,
    (entity, in_path): (&Entity, &[FieldId]),
) -> Result<(), Problem> {
    for (index, field) in in_path.iter().enumerate() {
        let FieldType::Ref(target, _) = entity.field(*field).of else { continue };
        let (target, id) = (model.entity(target), call.value(index));
        match call.db.get(&target.name, id).await {
            // For users who can read the list and not these entities, none is missing.
            Err(Error::Forbidden { .. }) => {}
            found => drop(found?.ok_or_else(|| not_found(target, id))?),
        }
    }
    Ok(())
}

/// Which page is requested.
fn paged(call: &Call, mut query: ListQuery) -> Result<ListQuery, Problem> {
    if call.is_reversed()? {
        query = query.backward();
    }
    if let Some(limit) = call.limit()? {
        query = query.limit(limit);
    }
    Ok(match call.parameter(CURSOR)? {
        Some(cursor) => query.after(cursor),
        None => query,
    })
}

/// Rejects `total` with a range of the order alone: only filters are counted.
fn check_countable(call: &Call, entity: &Entity, list: &RequestedList) -> Result<(), Problem> {
    if list.bounded.is_empty() || !wants_total(call)? {
        return Ok(());
    }
    let names = list.bounded.iter().map(|field| entity.field(*field).name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let names = quoted(&names);
    Err(bad_parameter(format!(
        "`total` cannot be combined with a range of {names} here: it counts what filters match, and \
         lists of `{}` have no filter by {names}. Omit `total` or {names}, or declare {names} in \
         `filters`.",
        entity.name
    )))
}

fn wants_total(call: &Call) -> Result<bool, Problem> {
    Ok(call.parsed(TOTAL, "`true` or `false`")?.unwrap_or(false))
}

fn summary(entity: &Entity, queries: &PathQueries) -> String {
    let name = spoken(&entity.name);
    match &queries.lists[..] {
        [] => format!("Find {}", with_article(&entity.name)),
        [first, ..] => format!("List {name} entities: {}", spoken(&entity.list(*first).name)),
    }
}

/// A sentence for each query of a path.
fn details(entity: &Entity, queries: &PathQueries) -> Vec<String> {
    let lists = queries.lists.iter().map(|id| {
        let list = entity.list(*id);
        let given: Vec<FieldId> =
            list.by.iter().copied().filter(|field| !queries.in_path.contains(field)).collect();
        match given.is_empty() {
            true => capital(&list_sentence(entity, list)),
            false => format!("With {}: {}", names(entity, &given), list_sentence(entity, list)),
        }
    });
    let uniques = queries.uniques.iter().map(|id| {
        let unique = entity.unique(*id);
        let fields: Vec<FieldId> = unique.within.iter().chain(&unique.fields).copied().collect();
        format!("With {}: the entity that has these values, if any.", names(entity, &fields))
    });
    lists.chain(uniques).collect()
}

fn list_sentence(entity: &Entity, list: &List) -> String {
    let mut text = format!("the list `{}`", list.name);
    if !list.by.is_empty() {
        text.push_str(&format!(" of one {}", names(entity, &list.by)));
    }
    let tests: Vec<String> = list
        .filter
        .iter()
        .map(|test| {
            let field = entity.field(test.field);
            let value = literal_of(field, &test.value).unwrap_or_default();
            format!("`{}` is `{value}`", field.name)
        })
        .collect();
    if !tests.is_empty() {
        text.push_str(&format!(" where {}", tests.join(" and ")));
    }
    let order: Vec<String> = list
        .order
        .iter()
        .map(|order| {
            let down = match order.direction {
                Direction::Ascending => "",
                Direction::Descending => " (descending)",
            };
            format!("`{}`{down}", entity.field(order.field).name)
        })
        .collect();
    match order.is_empty() {
        true if entity.has_ordinals() => text.push_str(", in order of creation."),
        true => text.push_str(", ordered by id."),
        false => text.push_str(&format!(", ordered by {}.", order.join(", then "))),
    }
    text
}
