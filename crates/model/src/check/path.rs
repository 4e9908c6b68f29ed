//! Paths: their syntax, and that each names one resource.
//!
//! ```text
//! path = "/" part { "/" part }
//! part = { letter | digit | "." | "_" | "-" } | "{" field "}"
//! ```

use std::collections::BTreeMap;

use crate::declared::{DeclaredCount, DeclaredEntity, DeclaredList};
use crate::error::{Code, Report, Reporter};
use crate::model::{Count, FieldId, List, PathPart};
use crate::source::{Span, Word};

use super::scope::Scope;

/// Maximum length of a path in bytes.
const LENGTH_MAX: usize = 200;
/// First parts of paths that are reserved for the server.
const RESERVED: &[&str] = &[
    "batch",
    "boards",
    "changes",
    "console",
    "docs",
    "healthz",
    "metrics",
    "model",
    "openapi.json",
    "operations",
    "readyz",
    "tokens",
    "transaction",
    "verify",
];

/// The path of an entity: as declared, or the plural of its name.
pub(crate) fn entity_path(entity: &DeclaredEntity) -> String {
    let declared = entity.path.as_ref().map(|path| path.text.clone());
    declared.unwrap_or_else(|| format!("/{}", plural(&entity.name.text)))
}

fn plural(name: &str) -> String {
    let before_y = name.strip_suffix('y').filter(|rest| !rest.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(rest) = before_y {
        return format!("{rest}ies");
    }
    let is_sibilant = ["s", "x", "z", "ch", "sh"].iter().any(|end| name.ends_with(end));
    format!("{name}{}", if is_sibilant { "es" } else { "s" })
}

/// A list or a count that has a path.
pub(crate) struct Served<'s> {
    scope: &'s Scope,
    /// `list` or `count`.
    what: &'static str,
    name: &'s str,
    path: &'s Word,
    /// As declared; its errors have been reported.
    declared_by: &'s [Word],
    by: &'s [FieldId],
}

impl<'s> Served<'s> {
    /// The list, if it declares a path.
    pub(crate) fn list(
        declared: &'s DeclaredList,
        list: &'s List,
        scope: &'s Scope,
    ) -> Option<Served<'s>> {
        Some(Served {
            scope,
            what: "list",
            name: &list.name,
            path: declared.path.as_ref()?,
            declared_by: &declared.by,
            by: &list.by,
        })
    }

    /// The count, if it declares a path.
    pub(crate) fn count(
        declared: &'s DeclaredCount,
        count: &'s Count,
        scope: &'s Scope,
    ) -> Option<Served<'s>> {
        Some(Served {
            scope,
            what: "count",
            name: &count.name,
            path: declared.path.as_ref()?,
            declared_by: &declared.by,
            by: &count.by,
        })
    }

    /// What messages call it.
    fn label(&self) -> String {
        format!("{}{}`", self.label_prefix(), self.name)
    }

    /// What the labels of all lists, or of all counts, of the entity begin with.
    fn label_prefix(&self) -> String {
        format!("the {} `{}.", self.what, self.scope.entity)
    }

    /// The field of a placeholder. An unknown field in `by` has been reported there.
    fn placeholder(&self, name: &str, reporter: &mut Reporter<'_>) -> Option<FieldId> {
        let field_name = |id: &FieldId| self.scope.field(*id).name.as_str();
        let field = self.by.iter().find(|id| field_name(id) == name);
        if field.is_none() && !self.declared_by.iter().any(|word| word.text == name) {
            let reason = format!("`{{{name}}}` is not a field of this {}'s `by`", self.what);
            let help = reporter.suggest(name, "its `by` has", self.by.iter().map(field_name));
            let help = help.unwrap_or_else(|| format!("add `by = \"{name}\"`"));
            let span = span_in(self.path, &format!("{{{name}}}"));
            reporter.push(Report::new(Code::BadPlaceholder, span, reason).help(help));
        }
        field.copied()
    }
}

/// The paths in use.
#[derive(Default)]
pub(crate) struct Paths {
    /// Entities, by the path of their collection.
    entities: BTreeMap<String, String>,
    /// Lists and counts, by path without the names of placeholders. Lists of one entity can share a
    /// path if the fields of `by` that it does not contain differ.
    served: BTreeMap<String, Vec<(String, Vec<FieldId>)>>,
}

impl Paths {
    pub(crate) fn add_entity(&mut self, entity: &DeclaredEntity, reporter: &mut Reporter<'_>) {
        let source = entity.path.as_ref().unwrap_or(&entity.name);
        let path = Word { text: entity_path(entity), span: source.span };
        let parts = entity.path.as_ref().map(|path| parse(path, reporter));
        if parts.flatten().is_some_and(|parts| parts.iter().any(|part| part.starts_with('{'))) {
            let reason = "the path of an entity cannot have placeholders";
            let help = "single entities are served at this path followed by `/{id}`";
            reporter.push(Report::new(Code::BadPlaceholder, path.span, reason).help(help));
            return;
        }
        let owner = if is_reserved(&path.text) {
            Some("the server itself".to_owned())
        } else {
            self.entities.get(&path.text).cloned()
        };
        let Some(owner) = owner else {
            self.entities.insert(path.text, format!("the entity `{}`", entity.name.text));
            return;
        };
        taken(&path, &owner, reporter);
    }

    /// Adds the path of a list or a count, whose `by` has been checked.
    pub(crate) fn add(
        &mut self,
        served: &Served<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Option<Vec<PathPart>> {
        let texts = parse(served.path, reporter)?;
        let mut parts = vec![];
        for text in &texts {
            parts.push(match text.strip_prefix('{') {
                Some(name) => PathPart::Field(served.placeholder(name, reporter)?),
                None => PathPart::Text((*text).to_owned()),
            });
        }
        let is_named = |id: &FieldId| parts.contains(&PathPart::Field(*id));
        let mut open: Vec<FieldId> = served.by.iter().copied().filter(|id| !is_named(id)).collect();
        open.sort_unstable();
        let pattern = pattern(&texts);
        if let Some(owner) = self.owner(served, &pattern, &open) {
            taken(served.path, &owner, reporter);
        } else {
            self.served.entry(pattern).or_default().push((served.label(), open));
        }
        Some(parts)
    }

    /// Returns what uses the path already, unless it can be shared. `open` are the fields of `by`
    /// that the path does not contain.
    fn owner(&self, served: &Served<'_>, pattern: &str, open: &[FieldId]) -> Option<String> {
        let own = format!("the entity `{}`", served.scope.entity);
        if is_reserved(pattern) {
            return Some("the server itself".to_owned());
        }
        if let Some(owner) = self.entities.get(pattern).filter(|owner| **owner != own) {
            return Some(owner.clone());
        }
        if let Some(owner) = pattern.strip_suffix("/{}").and_then(|path| self.entities.get(path)) {
            return Some(format!("{owner}, one by its id"));
        }
        let others = self.served.get(pattern)?;
        let prefix = served.label_prefix();
        let can_share = |label: &str, other: &[FieldId]| {
            served.what == "list" && label.starts_with(&prefix) && other != open
        };
        let clash = others.iter().find(|(label, other)| !can_share(label, other));
        clash.map(|(label, _)| label.clone())
    }
}

fn is_reserved(path: &str) -> bool {
    path.split('/').nth(1).is_some_and(|first| RESERVED.contains(&first))
}

fn taken(path: &Word, owner: &str, reporter: &mut Reporter<'_>) {
    let reason = format!("`{}` is the path of {owner}", path.text);
    let help = "choose another `path`";
    reporter.push(Report::new(Code::PathTaken, path.span, reason).help(help));
}

/// The path with empty braces.
fn pattern(parts: &[&str]) -> String {
    let part =
        |part: &&str| if part.starts_with('{') { "/{}".to_owned() } else { format!("/{part}") };
    parts.iter().map(part).collect()
}

/// Splits a path into its parts; a placeholder keeps its opening brace and loses the closing one.
fn parse<'p>(path: &'p Word, reporter: &mut Reporter<'_>) -> Option<Vec<&'p str>> {
    let parts = path.text.strip_prefix('/').filter(|_| path.text.len() <= LENGTH_MAX);
    let parts = parts.and_then(|rest| rest.split('/').map(part).collect());
    if parts.is_none() {
        let reason = format!(
            "`{}` is not a valid path",
            path.text.chars().take(LENGTH_MAX).collect::<String>()
        );
        let help = "a path is `/`, then words of letters, digits, `.`, `_`, `-` or a `{field}`, \
                    with `/` between them";
        reporter.push(Report::new(Code::BadPath, path.span, reason).help(help));
    }
    parts
}

fn part(text: &str) -> Option<&str> {
    if let Some(name) = text.strip_prefix('{') {
        let name = name.strip_suffix('}')?;
        return (!name.contains(['{', '}'])).then(|| &text[..text.len() - 1]);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_word = !text.is_empty() && text.chars().all(is_plain) && text != "." && text != "..";
    is_word.then_some(text)
}

/// The span of a part of a path, or of the whole path if its text has escapes.
fn span_in(path: &Word, part: &str) -> Span {
    let is_verbatim = path.span.end - path.span.start == path.text.len();
    match path.text.find(part).filter(|_| is_verbatim) {
        Some(offset) => {
            let start = path.span.start + offset;
            Span::new(start, start + part.len())
        }
        None => path.span,
    }
}
