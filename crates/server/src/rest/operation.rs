//! Everything that can be asked of a server of a model: one operation for each method of each path.
//! Routing, access, documentation and measurements all go by this one table.

use std::collections::BTreeSet;

use hyper::Method;
use keyloom_model::{
    BoardId, CountId, Entity, EntityId, FieldId, IdSource, ListId, Model, PathPart, UniqueId,
};

use super::access::Role;
use super::call::Call;
use super::filter::tag_parameters;
use super::jobs::JobStep;
use super::question::TOTAL;
use super::uri;
use super::values::ValuesOf;

/// A method of a path.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Its name, which no other operation has: `create_task`.
    pub(crate) name: String,
    pub(crate) method: Method,
    pub(crate) path: Vec<Segment>,
    pub(crate) action: Action,
}

/// A part of a path, between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    Text(String),
    /// Anything; the name is for people.
    Parameter(String),
}

/// What an operation does.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Create(EntityId),
    Read(EntityId),
    Replace(EntityId),
    Change(EntityId),
    Delete(EntityId),
    /// A page of the children of an entity.
    Children {
        parent: EntityId,
        child: EntityId,
    },
    /// Whatever lists and uniques answer under one path.
    Ask(Asked),
    /// Something that is done with a job.
    Job(EntityId, JobStep),
    /// What happens to these, as it happens.
    Changes(Vec<EntityId>),
    /// What those have in common that lists find.
    Values(Asked, ValuesOf),
    /// A count, and the fields whose values are in the path, in its order.
    Count(EntityId, CountId, Vec<FieldId>),
    Board(EntityId, BoardId),
    /// One on a board.
    Ranked(EntityId, BoardId),
    Batch,
    Transaction,
    ListTokens,
    CreateToken,
    RevokeToken,
    OpenApi,
    Docs,
    Health,
    /// Whether it can read and write.
    Ready,
    Metrics,
    /// A route that an application added: which one, and for whom.
    Own(usize, Access),
}

/// The questions that are answered under one path, all of one entity.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) entity: EntityId,
    /// The fields whose values are in the path, in its order.
    pub(crate) in_path: Vec<FieldId>,
    pub(crate) lists: Vec<ListId>,
    pub(crate) uniques: Vec<UniqueId>,
    pub(crate) wanted: Wanted,
}

/// What is asked for of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A page, which bounds of the order can narrow.
    Page,
    /// Counts.
    Counts,
}

/// Who may do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Anybody: it says nothing about data, or knows itself whom it tells what.
    Anybody,
    /// Whoever has at least this role.
    Role(Role),
}

impl Action {
    /// The entity whose documents it takes or answers with, if they are of one kind.
    pub(crate) fn entity(&self) -> Option<EntityId> {
        match self {
            Action::Create(entity)
            | Action::Read(entity)
            | Action::Replace(entity)
            | Action::Change(entity)
            | Action::Delete(entity)
            | Action::Job(entity, _)
            | Action::Children { child: entity, .. }
            | Action::Count(entity, ..)
            | Action::Board(entity, _)
            | Action::Ranked(entity, _) => Some(*entity),
            Action::Ask(asked) | Action::Values(asked, _) => Some(asked.entity),
            Action::Changes(_)
            | Action::Batch
            | Action::Transaction
            | Action::ListTokens
            | Action::CreateToken
            | Action::RevokeToken
            | Action::OpenApi
            | Action::Docs
            | Action::Health
            | Action::Ready
            | Action::Metrics
            | Action::Own(..) => None,
        }
    }

    /// Whether an answer is put together from several reads, which must fit together.
    pub(crate) fn takes_several_reads(&self, call: &Call) -> bool {
        match self {
            Action::Read(_) | Action::Children { .. } | Action::Ask(_) => {
                call.parameters.iter().any(|(name, _)| name == "with" || name == TOTAL)
            }
            Action::Values(asked, of) => *of == ValuesOf::Facets || !asked.in_path.is_empty(),
            Action::Create(_)
            | Action::Replace(_)
            | Action::Change(_)
            | Action::Delete(_)
            | Action::Job(..)
            | Action::Changes(_)
            | Action::Count(..)
            | Action::Board(..)
            | Action::Ranked(..)
            | Action::Batch
            | Action::Transaction
            | Action::ListTokens
            | Action::CreateToken
            | Action::RevokeToken
            | Action::OpenApi
            | Action::Docs
            | Action::Health
            | Action::Ready
            | Action::Metrics
            | Action::Own(..) => false,
        }
    }
}

impl Operation {
    pub(crate) fn access(&self) -> Access {
        match self.action {
            Action::OpenApi | Action::Docs | Action::Health | Action::Ready => Access::Anybody,
            Action::Read(_)
            | Action::Children { .. }
            | Action::Ask(_)
            | Action::Changes(_)
            | Action::Values(..)
            | Action::Count(..)
            | Action::Board(..)
            | Action::Ranked(..)
            | Action::Batch => Access::Role(Role::Reader),
            Action::Create(_)
            | Action::Replace(_)
            | Action::Change(_)
            | Action::Delete(_)
            | Action::Transaction => Access::Role(Role::Writer),
            Action::Job(..)
            | Action::ListTokens
            | Action::CreateToken
            | Action::RevokeToken
            | Action::Metrics => Access::Role(Role::Admin),
            Action::Own(_, access) => access,
        }
    }

    /// The entity whose data it changes.
    pub(crate) fn changes(&self) -> Option<EntityId> {
        self.action.entity().filter(|_| self.access() == Access::Role(Role::Writer))
    }

    /// What the parameters of the path are in a request to it, in order.
    pub(crate) fn values(&self, segments: &[String]) -> Vec<String> {
        let pairs = self.path.iter().zip(segments);
        let values = pairs.filter(|(expected, _)| matches!(expected, Segment::Parameter(_)));
        values.map(|(_, value)| value.clone()).collect()
    }

    /// Whether a request for a page at a path would be a request to this.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let Ok(segments) = uri::segments(path) else { return false };
        let is_same = |(expected, segment): (&Segment, &String)| match expected {
            Segment::Text(text) => text == segment,
            Segment::Parameter(_) => !segment.is_empty(),
        };
        self.method == Method::GET
            && self.path.len() == segments.len()
            && self.path.iter().zip(&segments).all(is_same)
    }

    /// Its path as people write it: `/tasks/{id}`.
    pub(crate) fn path_text(&self) -> String {
        let segment = |segment: &Segment| match segment {
            Segment::Text(text) => format!("/{text}"),
            Segment::Parameter(name) => format!("/{{{name}}}"),
        };
        self.path.iter().map(segment).collect()
    }
}

/// Every operation of a model, those of the server itself last.
pub(crate) fn operations(model: &Model) -> Vec<Operation> {
    let (mut all, own) = (vec![], of_server());
    let mut taken: BTreeSet<String> = own.iter().map(|operation| operation.name.clone()).collect();
    for (id, entity) in model.entities() {
        for mut operation in of_entity(model, id, entity) {
            operation.name = free_name(operation.name, &mut taken);
            all.push(operation);
        }
    }
    all.extend(own);
    all
}

/// Whoever follows changes is told of what can be read one by one, and of nothing else.
pub(crate) fn tell(operations: &mut [Operation], model: &Model) {
    let is_told = |id: &EntityId| {
        let reads =
            |operation: &Operation| matches!(operation.action, Action::Read(of) if of == *id);
        // Jobs are of all tenants.
        model.jobs() != Some(*id) && operations.iter().any(reads)
    };
    let told: Vec<EntityId> = model.entities().map(|(id, _)| id).filter(is_told).collect();
    for operation in operations {
        if let Action::Changes(of) = &mut operation.action {
            of.clone_from(&told);
        }
    }
}

/// The name, with a number if it is taken: the list `b_c` of `a` and the list `c` of `a_b` would
/// share one, as would the server's own `create_token` and that of an entity.
fn free_name(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).unwrap_or(name)
}

fn of_entity(model: &Model, id: EntityId, entity: &Entity) -> Vec<Operation> {
    let name = &entity.name;
    let all = texts(&entity.path);
    let one = [&all[..], &[Segment::Parameter("id".to_owned())]].concat();
    let operation = |name: String, method: Method, path: &[Segment], action: Action| Operation {
        name,
        method,
        path: path.to_vec(),
        action,
    };
    let read = operation(format!("read_{name}"), Method::GET, &one, Action::Read(id));
    let delete = operation(format!("delete_{name}"), Method::DELETE, &one, Action::Delete(id));
    let mut operations = if model.jobs() == Some(id) {
        let step = |step: JobStep| {
            let path = [&one[..], &[Segment::Text(step.word().to_owned())]].concat();
            operation(format!("{}_{name}", step.word()), Method::POST, &path, Action::Job(id, step))
        };
        [read, delete].into_iter().chain(JobStep::ALL.map(step)).collect()
    } else {
        vec![
            operation(format!("create_{name}"), Method::POST, &all, Action::Create(id)),
            read,
            operation(format!("replace_{name}"), Method::PUT, &one, Action::Replace(id)),
            operation(format!("change_{name}"), Method::PATCH, &one, Action::Change(id)),
            delete,
        ]
    };
    for (relation, child) in model.children(id) {
        let below = [Segment::Text("with".to_owned()), Segment::Text(relation.clone())];
        let path = [&one[..], &below].concat();
        let called = format!("children_{relation}_of_{name}");
        let action = Action::Children { parent: id, child };
        operations.push(operation(called, Method::GET, &path, action));
    }
    for (path, asked) in questions(id, entity, &all) {
        let called = match &asked.lists[..] {
            [first, ..] => format!("list_{name}_{}", entity.list(*first).name),
            [] => format!("find_{name}"),
        };
        let counts = values(entity, (&all, &path), &asked);
        let list = called.trim_start_matches("list_").to_owned();
        operations.push(operation(called, Method::GET, &path, Action::Ask(asked)));
        for (word, path, asked, of) in counts {
            let called = format!("{word}_{list}");
            operations.push(operation(called, Method::GET, &path, Action::Values(asked, of)));
        }
    }
    operations.extend(counted(id, entity, &all));
    operations
}

/// The counts of an entity, those without a path under `counts`; and its boards, which are found by
/// their names alone.
fn counted(id: EntityId, entity: &Entity, own: &[Segment]) -> Vec<Operation> {
    let text = |text: &str| Segment::Text(text.to_owned());
    let mut operations = vec![];
    for (count_id, count) in entity.counts() {
        let (path, in_path) = match &count.path {
            Some(parts) => (segments(entity, parts), fields_of(parts)),
            None => ([own, &[text("counts"), text(&count.name)]].concat(), vec![]),
        };
        operations.push(Operation {
            name: format!("count_{}_{}", entity.name, count.name),
            method: Method::GET,
            path,
            action: Action::Count(id, count_id, in_path),
        });
    }
    for (board_id, board) in entity.boards() {
        let path = vec![text("boards"), text(&board.name)];
        let one = [&path[..], &[Segment::Parameter("of".to_owned())]].concat();
        let (page, ranked) = (Action::Board(id, board_id), Action::Ranked(id, board_id));
        for (name, path, action) in [("board", path, page), ("rank", one, ranked)] {
            let name = format!("{name}_{}", board.name);
            operations.push(Operation { name, method: Method::GET, path, action });
        }
    }
    operations
}

/// What can be counted of the lists of a path: the beginning of its name, where, and what.
fn values(
    entity: &Entity,
    (own, path): (&[Segment], &[Segment]),
    asked: &Asked,
) -> Vec<(String, Vec<Segment>, Asked, ValuesOf)> {
    let Some(first) = asked.lists.first() else { return vec![] };
    let text = |text: &str| Segment::Text(text.to_owned());
    // Where ids are anything, what follows the entity's own path is an id.
    let path = match path == own && entity.id_source == IdSource::Given {
        true => [own, &[text("lists"), text(&entity.list(*first).name)]].concat(),
        false => path.to_vec(),
    };
    let asked = |is_counted: &dyn Fn(&ListId) -> bool| Asked {
        lists: asked.lists.iter().copied().filter(is_counted).collect(),
        uniques: vec![],
        wanted: Wanted::Counts,
        ..asked.clone()
    };
    let at = |more: &[Segment]| [&path[..], more].concat();
    let of_facets = asked(&|list| !entity.list(*list).facets.is_empty());
    let mut all = vec![];
    if !of_facets.lists.is_empty() {
        let one = [text("facets"), Segment::Parameter("facet".to_owned())];
        all.push(("facets".to_owned(), at(&one[..1]), of_facets.clone(), ValuesOf::Facets));
        all.push(("facet".to_owned(), at(&one), of_facets, ValuesOf::Facet));
    }
    for (parameter, field) in tag_parameters(entity) {
        let word = if parameter == "tag" { "tags" } else { parameter };
        let one = [text(word), Segment::Parameter("key".to_owned())];
        let lists = asked(&|_| true);
        all.push((word.to_owned(), at(&one[..1]), lists.clone(), ValuesOf::TagKeys(field)));
        all.push((format!("{word}_of_key"), at(&one), lists, ValuesOf::TagValues(field)));
    }
    all
}

/// The questions of an entity by the path under which they are asked: lists at theirs, uniques at
/// the entity's own, lists without a path under `lists`.
fn questions(id: EntityId, entity: &Entity, own: &[Segment]) -> Vec<(Vec<Segment>, Asked)> {
    let mut paths: Vec<(Vec<Segment>, Asked)> = vec![];
    let mut at = |path: Vec<Segment>, in_path: Vec<FieldId>| -> usize {
        let place = paths.iter().position(|(other, _)| *other == path);
        place.unwrap_or_else(|| {
            let (lists, uniques, wanted) = (vec![], vec![], Wanted::Page);
            paths.push((path, Asked { entity: id, in_path, lists, uniques, wanted }));
            paths.len() - 1
        })
    };
    let mut places = vec![];
    for (list_id, list) in entity.lists() {
        let place = match &list.path {
            Some(parts) => at(segments(entity, parts), fields_of(parts)),
            None => {
                let below = [Segment::Text("lists".to_owned()), Segment::Text(list.name.clone())];
                at([own, &below].concat(), vec![])
            }
        };
        places.push((place, Some(list_id), None));
    }
    for (unique_id, _) in entity.uniques() {
        places.push((at(own.to_vec(), vec![]), None, Some(unique_id)));
    }
    for (place, list, unique) in places {
        let asked = &mut paths[place].1;
        asked.lists.extend(list);
        asked.uniques.extend(unique);
    }
    paths
}

fn texts(path: &str) -> Vec<Segment> {
    path.split('/').filter(|text| !text.is_empty()).map(|text| Segment::Text(text.into())).collect()
}

fn segments(entity: &Entity, parts: &[PathPart]) -> Vec<Segment> {
    let segment = |part: &PathPart| match part {
        PathPart::Text(text) => Segment::Text(text.clone()),
        PathPart::Field(field) => Segment::Parameter(entity.field(*field).name.clone()),
    };
    parts.iter().map(segment).collect()
}

fn fields_of(parts: &[PathPart]) -> Vec<FieldId> {
    let field = |part: &PathPart| match part {
        PathPart::Text(_) => None,
        PathPart::Field(field) => Some(*field),
    };
    parts.iter().filter_map(field).collect()
}

fn of_server() -> Vec<Operation> {
    let operation = |name: &str, method: Method, path: &str, action: Action| Operation {
        name: name.to_owned(),
        method,
        path: texts(path),
        action,
    };
    let mut revoke = operation("revoke_token", Method::DELETE, "/tokens", Action::RevokeToken);
    revoke.path.push(Segment::Parameter("id".to_owned()));
    vec![
        operation("transaction", Method::POST, "/transaction", Action::Transaction),
        operation("batch", Method::POST, "/batch", Action::Batch),
        operation("changes", Method::GET, "/changes", Action::Changes(vec![])),
        operation("list_tokens", Method::GET, "/tokens", Action::ListTokens),
        operation("create_token", Method::POST, "/tokens", Action::CreateToken),
        revoke,
        operation("metrics", Method::GET, "/metrics", Action::Metrics),
        operation("health", Method::GET, "/healthz", Action::Health),
        operation("ready", Method::GET, "/readyz", Action::Ready),
        operation("openapi", Method::GET, "/openapi.json", Action::OpenApi),
        operation("docs", Method::GET, "/docs", Action::Docs),
    ]
}
