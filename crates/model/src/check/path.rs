//! Paths: their syntax, and that each names one resource.
//!
//! ```text
//! path = "/" part { "/" part }
//! part = { letter | digit | "." | "_" | "-" } | "{" field "}"
//! ```

use std::collections::BTreeMap;

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{FieldId, PathPart};
use crate::source::{Span, Word};

use super::scope::Scope;

/// Maximum length of a path in bytes.
const LENGTH_MAX: usize = 200;
/// First parts of paths that are reserved for the server.
const RESERVED: &[&str] = &[
    "batch",
    "boards",
    "changes",
    "docs",
    "healthz",
    "metrics",
    "openapi.json",
    "readyz",
    "tokens",
    "transaction",
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
    /// `list` or `count`.
    pub(crate) what: &'static str,
    pub(crate) name: &'s str,
    /// As declared; its errors have been reported.
    pub(crate) declared_by: &'s [Word],
    pub(crate) by: &'s [FieldId],
}

/// The paths in use.
#[derive(Default)]
pub(crate) struct Paths {
    /// Entities, by the path of their collection.
    entities: BTreeMap<String, String>,
    /// Lists and counts, by path without the names of placeholders. Lists of one entity can share a
    /// path if the fields of `by` that it does not contain differ; so can counts.
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
        (entity, path): (&DeclaredEntity, &Word),
        (scope, served): (&Scope, &Served<'_>),
        reporter: &mut Reporter<'_>,
    ) -> Option<Vec<PathPart>> {
        let texts = parse(path, reporter)?;
        let mut parts = vec![];
        for text in &texts {
            parts.push(match text.strip_prefix('{') {
                Some(name) => {
                    PathPart::Field(placeholder((name, path), (scope, served), reporter)?)
                }
                None => PathPart::Text((*text).to_owned()),
            });
        }
        let is_named = |id: &FieldId| parts.contains(&PathPart::Field(*id));
        let mut open: Vec<FieldId> = served.by.iter().copied().filter(|id| !is_named(id)).collect();
        open.sort_unstable();
        if let Some(owner) = self.owner(&texts, (entity, served.what), &open) {
            taken(path, &owner, reporter);
        } else {
            let label = label(entity, (served.what, served.name));
            self.served.entry(pattern(&texts)).or_default().push((label, open));
        }
        Some(parts)
    }

    /// Returns what uses the path already, unless it can be shared.
    fn owner(
        &self,
        texts: &[&str],
        (entity, what): (&DeclaredEntity, &str),
        open: &[FieldId],
    ) -> Option<String> {
        let own = format!("the entity `{}`", entity.name.text);
        let pattern = pattern(texts);
        if is_reserved(&pattern) {
            return Some("the server itself".to_owned());
        }
        if let Some(owner) = self.entities.get(&pattern).filter(|owner| **owner != own) {
            return Some(owner.clone());
        }
        if let Some(owner) = pattern.strip_suffix("/{}").and_then(|path| self.entities.get(path)) {
            return Some(format!("{owner}, one by its id"));
        }
        let others = self.served.get(&pattern)?;
        let prefix = label(entity, (what, ""));
        let prefix = prefix.trim_end_matches('`');
        let clash =
            others.iter().find(|(label, other)| !label.starts_with(prefix) || other == open);
        clash.map(|(label, _)| label.clone())
    }
}

fn is_reserved(path: &str) -> bool {
    path.split('/').nth(1).is_some_and(|first| RESERVED.contains(&first))
}

fn label(entity: &DeclaredEntity, (what, name): (&str, &str)) -> String {
    format!("the {what} `{}.{name}`", entity.name.text)
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

/// The field of a placeholder. An unknown field in `by` has been reported there.
fn placeholder(
    (name, path): (&str, &Word),
    (scope, served): (&Scope, &Served<'_>),
    reporter: &mut Reporter<'_>,
) -> Option<FieldId> {
    let field = served.by.iter().find(|id| scope.field(**id).name == name);
    if field.is_none() && !served.declared_by.iter().any(|word| word.text == name) {
        let reason = format!("`{{{name}}}` is not a field of this {}'s `by`", served.what);
        let known = served.by.iter().map(|id| scope.field(*id).name.as_str());
        let help = reporter.suggest(name, "its `by` has", known);
        let help = help.unwrap_or_else(|| format!("add `by = \"{name}\"`"));
        let span = span_in(path, &format!("{{{name}}}"));
        reporter.push(Report::new(Code::BadPlaceholder, span, reason).help(help));
    }
    field.copied()
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
