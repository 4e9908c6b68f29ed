//! Paths: how they look, and that each leads to one thing.
//!
//! ```text
//! path = "/" part { "/" part }
//! part = { letter | digit | "." | "_" | "-" } | "{" field "}"
//! ```

use std::collections::BTreeMap;

use crate::declared::DeclaredEntity;
use crate::error::{Code, Reporter};
use crate::model::{FieldId, PathPart};
use crate::source::{Span, Word};

use super::scope::Scope;

/// Bytes that a path may have.
const LENGTH_MAX: usize = 200;
/// First parts of paths that the server has for itself, with all that is below them.
const SERVED: &[&str] = &[
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

/// Where an entity is served: as declared, or under the plural of its name.
pub(crate) fn entity_path(entity: &DeclaredEntity) -> String {
    let declared = entity.path.as_ref().map(|path| path.text.clone());
    declared.unwrap_or_else(|| format!("/{}", plural(&entity.name.text)))
}

fn plural(name: &str) -> String {
    let before_y = name.strip_suffix('y').filter(|rest| !rest.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(rest) = before_y {
        return format!("{rest}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| name.ends_with(end));
    format!("{name}{}", if hisses { "es" } else { "s" })
}

/// A list or a count that has a path.
pub(crate) struct Served<'s> {
    /// `list` or `count`.
    pub(crate) what: &'static str,
    pub(crate) name: &'s str,
    /// As declared; what is wrong with it has been reported.
    pub(crate) declared_by: &'s [Word],
    pub(crate) by: &'s [FieldId],
}

/// The paths that are taken.
#[derive(Default)]
pub(crate) struct Paths {
    /// By path: the entity whose collection it is.
    entities: BTreeMap<String, String>,
    /// By path without the names of its fields: the lists or counts there. Lists of one entity can
    /// share a path if the fields that the path leaves open differ; so can counts.
    served: BTreeMap<String, Vec<(String, Vec<FieldId>)>>,
}

impl Paths {
    pub(crate) fn add_entity(&mut self, entity: &DeclaredEntity, reporter: &mut Reporter<'_>) {
        let place = entity.path.as_ref().unwrap_or(&entity.name);
        let path = Word { text: entity_path(entity), span: place.span };
        let parts = entity.path.as_ref().map(|path| parse(path, reporter));
        if parts.flatten().is_some_and(|parts| parts.iter().any(|part| part.starts_with('{'))) {
            let reason = "the path of an entity has no placeholders";
            let help = "its entities are found by id, at this path and `/{id}`";
            reporter.report_with_help(Code::BadPlaceholder, path.span, (reason, help));
            return;
        }
        let owner = if is_served(&path.text) {
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

    /// The path of a list or a count, whose `by` is checked already.
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

    /// Who has the path already, if it cannot be shared.
    fn owner(
        &self,
        texts: &[&str],
        (entity, what): (&DeclaredEntity, &str),
        open: &[FieldId],
    ) -> Option<String> {
        let own = format!("the entity `{}`", entity.name.text);
        let pattern = pattern(texts);
        if is_served(&pattern) {
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

fn is_served(path: &str) -> bool {
    path.split('/').nth(1).is_some_and(|first| SERVED.contains(&first))
}

fn label(entity: &DeclaredEntity, (what, name): (&str, &str)) -> String {
    format!("the {what} `{}.{name}`", entity.name.text)
}

fn taken(path: &Word, owner: &str, reporter: &mut Reporter<'_>) {
    let reason = format!("`{}` is the path of {owner}", path.text);
    let help = "give this one a `path` of its own";
    reporter.report_with_help(Code::PathTaken, path.span, (reason, help));
}

/// The path with nothing in its braces.
fn pattern(parts: &[&str]) -> String {
    let part =
        |part: &&str| if part.starts_with('{') { "/{}".to_owned() } else { format!("/{part}") };
    parts.iter().map(part).collect()
}

/// The parts of a path; a placeholder keeps its opening brace and loses the closing one.
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
        reporter.report_with_help(Code::BadPath, path.span, (reason, help));
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

/// The field of a placeholder. One that `by` names in vain has been reported there.
fn placeholder(
    (name, path): (&str, &Word),
    (scope, served): (&Scope, &Served<'_>),
    reporter: &mut Reporter<'_>,
) -> Option<FieldId> {
    let field = served.by.iter().find(|id| scope.field(**id).name == name);
    if field.is_none() && !served.declared_by.iter().any(|word| word.text == name) {
        let reason = format!("`{{{name}}}` is not a field of this {}'s `by`", served.what);
        let known = served.by.iter().map(|id| scope.field(*id).name.as_str());
        let help = reporter.instead(name, "its `by` has", known);
        let help = help.unwrap_or_else(|| format!("add `by = \"{name}\"`"));
        let span = span_in(path, &format!("{{{name}}}"));
        reporter.report_with_help(Code::BadPlaceholder, span, (reason, help));
    }
    field.copied()
}

/// Where a part of a path is, if the path stands letter by letter.
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
