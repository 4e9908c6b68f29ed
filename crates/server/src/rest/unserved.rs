//! Problems for paths and methods that are not served, with hints: where the lists of an entity are, and
//! which path was probably meant. Explains only: `routing.rs` decides what is served.

use hyper::Method;
use keyloom_model::{Entity, EntityId, List, Model, nearest};

use super::call::{cut, quoted};
use super::operation::Operation;
use super::path_queries::PathQueries;
use super::problem::{Kind, Problem};
use super::segment::Segment;

/// Maximum number of lists in a message.
const LISTS_MAX: usize = 10;

/// The paths of the lists of every served entity.
#[derive(Debug)]
pub(crate) struct Directory {
    entities: Vec<Lists>,
}

/// The served lists of one entity.
#[derive(Debug)]
struct Lists {
    entity: String,
    /// The entity's own path, between slashes.
    own: Vec<String>,
    /// Names, and how to request each: `/contacts/{contact}/searches?status=…`.
    lists: Vec<(String, String)>,
}

impl Directory {
    pub(crate) fn new(operations: &[Operation], model: &Model) -> Directory {
        let lists = |(id, entity): (EntityId, &Entity)| {
            let queries = operations.iter().filter_map(|operation| {
                let queries = operation.action.lists().filter(|queries| queries.entity == id)?;
                Some((operation.path_text(), queries))
            });
            let lists = queries.flat_map(|(path, queries)| {
                let list = |list| address(&path, (entity, entity.list(list)), queries);
                queries.lists.iter().copied().map(list).collect::<Vec<_>>()
            });
            let own = entity.path.split('/').filter(|part| !part.is_empty());
            Lists {
                entity: entity.name.clone(),
                own: own.map(str::to_owned).collect(),
                lists: lists.collect(),
            }
        };
        // Does not mention entities whose operations are all closed.
        let is_served = |(id, _): &(EntityId, &Entity)| {
            operations.iter().any(|operation| operation.action.entity() == Some(*id))
        };
        Directory { entities: model.entities().filter(is_served).map(lists).collect() }
    }

    /// The problem of a path that is not served.
    pub(crate) fn no_path(
        &self,
        operations: &[Operation],
        method: &Method,
        segments: &[String],
    ) -> Problem {
        let path = cut(&segments.join("/"));
        let detail = match (self.no_list(segments), meant(operations, method, segments)) {
            (Some(detail), _) => detail,
            (None, Some(meant)) => {
                format!("Nothing is served at `/{path}`: did you mean `{}`?", cut(&meant))
            }
            (None, None) => format!("Nothing is served at `/{path}`: `/docs` lists every path."),
        };
        Problem::new(Kind::NotFound, detail)
    }

    /// The hint for the path of an entity whose lists are elsewhere, and for `/tasks/lists/NAME`, which
    /// serves only lists that declare no path.
    fn no_list(&self, segments: &[String]) -> Option<String> {
        if let Some(of) = self.entities.iter().find(|of| of.own == segments) {
            let path = cut(&segments.join("/"));
            return Some(format!("No list is served at `/{path}`. {}", of.addresses()));
        }
        let [own @ .., lists, name] = segments else { return None };
        let of = self.entities.iter().find(|of| of.own == own).filter(|_| lists == "lists")?;
        let entity = &of.entity;
        Some(match of.lists.iter().find(|(list, _)| list == name) {
            Some((list, address)) => {
                format!("The list `{list}` of `{entity}` is served at `{address}`.")
            }
            None => format!("`{entity}` has no list `{}`. {}", cut(name), of.addresses()),
        })
    }

    /// The problem of a method that a served path does not support.
    pub(crate) fn no_method(
        &self,
        segments: &[String],
        method: &Method,
        methods: &[&Method],
    ) -> Problem {
        let mut names: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
        if names.contains(&"GET") {
            names.push("HEAD");
        }
        names.sort_unstable();
        names.dedup();
        let path = cut(&segments.join("/"));
        let own = self.entities.iter().find(|of| of.own == segments);
        let detail = match own.filter(|_| method == Method::GET) {
            Some(of) => {
                let (addresses, names) = (of.addresses(), quoted(&names));
                format!("No list is served at `/{path}`, which supports {names} only. {addresses}")
            }
            None => {
                let method = cut(method.as_str());
                format!("`/{path}` does not support `{method}`: it supports {}.", quoted(&names))
            }
        };
        Problem::new(Kind::BadMethod, detail).with_allow(names.join(", "))
    }
}

impl Lists {
    /// A sentence with their paths.
    fn addresses(&self) -> String {
        let shown = self.lists.iter().take(LISTS_MAX);
        let shown: Vec<String> =
            shown.map(|(list, address)| format!("`{list}` at `{address}`")).collect();
        let (entity, shown) = (&self.entity, shown.join(", "));
        match self.lists.len() {
            0 => format!("`{entity}` has no lists."),
            1..=LISTS_MAX => format!("Lists of `{entity}`: {shown}."),
            _ => format!("Lists of `{entity}`: {shown}, and more; `/docs` has all of them."),
        }
    }
}

/// The name of a list, and its path with its required parameters.
fn address(
    path: &str,
    (entity, list): (&Entity, &List),
    queries: &PathQueries,
) -> (String, String) {
    let open = list.by.iter().filter(|field| !queries.in_path.contains(field));
    let open: Vec<String> = open.map(|field| format!("{}=…", entity.field(*field).name)).collect();
    let query = if open.is_empty() { String::new() } else { format!("?{}", open.join("&")) };
    (list.name.clone(), format!("{path}{query}"))
}

/// The path that was probably meant: with the same method and number of segments, ignoring empty ones, and
/// with similar fixed segments.
fn meant(operations: &[Operation], method: &Method, segments: &[String]) -> Option<String> {
    let given: Vec<&str> =
        segments.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let filled = |operation: &Operation| -> Option<(usize, String)> {
        let (mut slips, mut path) = (0, String::new());
        for (segment, given) in operation.path.iter().zip(&given) {
            let part = match segment {
                Segment::Text(text) => nearest(given, &[text])?,
                Segment::Parameter(_) => given,
            };
            slips += usize::from(part != *given);
            path.extend(["/", part]);
        }
        Some((slips, path))
    };
    let of_length = |operation: &&Operation| {
        !given.is_empty() && operation.path.len() == given.len() && operation.method == method
    };
    let found = operations.iter().filter(of_length).filter_map(filled);
    found.min_by_key(|(slips, _)| *slips).map(|(_, path)| path)
}
