//! `[reads]`: queries by name, each with its rate. A name is `ENTITY.get`, `ENTITY.find.FIELDS`,
//! `ENTITY.list.NAME`, `ENTITY.count.NAME` or `board.NAME`, quoted or as a dotted key.

use super::{DeclaredQuery, Reads, rate};
use crate::error::{Code, Report, Reporter};
use crate::model::{Entity, EntityId, Model, Unique};
use crate::parse::{Entry, NodeKind};
use crate::source::Span;

pub(super) fn read(entries: &[Entry], model: &Model, reporter: &mut Reporter<'_>) -> Vec<Reads> {
    let known = queries(model);
    let mut leaves = vec![];
    flatten(entries, "", &mut leaves);
    let mut reads: Vec<Reads> = vec![];
    for (name, entry) in leaves {
        let per_second = rate::required(entry, reporter);
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, query)) => reads.push(Reads { query: *query, per_second }),
            None => unknown(&name, entry.key.span, &known, reporter),
        }
    }
    reads
}

/// The entries of nested tables, by their dotted names.
fn flatten<'e>(entries: &'e [Entry], prefix: &str, leaves: &mut Vec<(String, &'e Entry)>) {
    for entry in entries {
        let name = format!("{prefix}{}", entry.key.text);
        match &entry.node.kind {
            NodeKind::Table(entries) => flatten(entries, &format!("{name}."), leaves),
            _ => leaves.push((name, entry)),
        }
    }
}

fn unknown(name: &str, span: Span, known: &[(String, DeclaredQuery)], reporter: &mut Reporter<'_>) {
    let reason = format!("the model has no query `{name}`");
    let names = known.iter().map(|(name, _)| name.as_str());
    let help = reporter.suggest(name, "its queries are", names);
    reporter.push(Report { code: Code::UnknownQuery, span, reason, help });
}

/// All queries of a model, with their names.
fn queries(model: &Model) -> Vec<(String, DeclaredQuery)> {
    model.entities().flat_map(|(id, entity)| of_entity(id, entity)).collect()
}

fn of_entity(id: EntityId, entity: &Entity) -> Vec<(String, DeclaredQuery)> {
    let name = &entity.name;
    let mut queries = vec![(format!("{name}.get"), DeclaredQuery::Get(id))];
    queries.extend(entity.uniques().map(|(unique, declared)| {
        (format!("{name}.find.{}", fields(entity, declared)), DeclaredQuery::Find(id, unique))
    }));
    queries.extend(entity.lists().map(|(list, declared)| {
        (format!("{name}.list.{}", declared.name), DeclaredQuery::List(id, list))
    }));
    queries.extend(entity.counts().map(|(count, declared)| {
        (format!("{name}.count.{}", declared.name), DeclaredQuery::Count(id, count))
    }));
    queries.extend(entity.boards().map(|(board, declared)| {
        (format!("board.{}", declared.name), DeclaredQuery::Board(id, board))
    }));
    queries
}

/// The fields of a unique, separated by `+`.
fn fields(entity: &Entity, unique: &Unique) -> String {
    let names: Vec<&str> = entity.select(&unique.fields).map(|field| &*field.name).collect();
    names.join("+")
}

impl DeclaredQuery {
    /// Its name in workload files.
    pub fn name(self, model: &Model) -> String {
        let (DeclaredQuery::Get(entity)
        | DeclaredQuery::Find(entity, _)
        | DeclaredQuery::List(entity, _)
        | DeclaredQuery::Count(entity, _)
        | DeclaredQuery::Board(entity, _)) = self;
        let all = of_entity(entity, model.entity(entity));
        all.into_iter().find(|(_, query)| *query == self).map(|(name, _)| name).unwrap_or_default()
    }
}
