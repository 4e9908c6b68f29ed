//! Declaring another number of shards in the text of a model. The rest of the text stays as it is.

use crate::check::check;
use crate::error::Reporter;
use crate::model::{BoardId, CountId, EntityId, ListId, Model};
use crate::parse::{Entry, NodeKind, parse};
use crate::source::{Source, Span};

/// A number of shards, and where it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    /// What it spreads.
    pub of: ShardsOf,
    /// The number.
    pub count: u32,
}

/// What shards spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShardsOf {
    /// The lists of an entity without `by`.
    Entity(EntityId),
    /// The references to an entity, and its children.
    References(EntityId),
    /// A list with `by`.
    List(EntityId, ListId),
    /// A count.
    Count(EntityId, CountId),
    /// A leaderboard.
    Board(EntityId, BoardId),
}

impl ShardsOf {
    /// The most shards that it can have.
    pub fn max(self) -> u32 {
        match self {
            ShardsOf::Entity(_) | ShardsOf::List(..) | ShardsOf::Count(..) => 100,
            ShardsOf::References(_) | ShardsOf::Board(..) => 50,
        }
    }

    /// How many it has in a model.
    pub fn count(self, model: &Model) -> u32 {
        match self {
            ShardsOf::Entity(id) => model.entity(id).shards,
            ShardsOf::References(id) => model.entity(id).reference_shards,
            ShardsOf::List(id, list) => model.entity(id).list(list).shards,
            ShardsOf::Count(id, count) => model.entity(id).count(count).shards,
            ShardsOf::Board(id, board) => model.entity(id).board(board).shards,
        }
    }

    /// The tables in a model file that lead to its declaration, and its key there.
    pub fn path(self, model: &Model) -> (Vec<String>, &'static str) {
        let (id, rest) = match self {
            ShardsOf::Entity(id) | ShardsOf::References(id) => (id, None),
            ShardsOf::List(id, list) => (id, Some(("list", &model.entity(id).list(list).name))),
            ShardsOf::Count(id, count) => {
                (id, Some(("count", &model.entity(id).count(count).name)))
            }
            ShardsOf::Board(id, board) => {
                (id, Some(("board", &model.entity(id).board(board).name)))
            }
        };
        let mut tables = vec!["entity".to_owned(), model.entity(id).name.clone()];
        tables.extend(rest.into_iter().flat_map(|(kind, name)| [kind.to_owned(), name.clone()]));
        let is_of_references = matches!(self, ShardsOf::References(_));
        (tables, if is_of_references { "reference_shards" } else { "shards" })
    }
}

/// Returns the text of a model with other numbers of shards; none if there is no simple place to
/// declare them, or if the result would not be a valid model.
pub fn declare_shards(source: &str, model: &Model, shards: &[Shards]) -> Option<String> {
    let mut text = source.to_owned();
    for one in shards {
        text = declare(&text, model, *one)?;
    }
    let changed = check(&text).ok()?;
    shards.iter().all(|one| one.of.count(&changed) == one.count).then_some(text)
}

fn declare(text: &str, model: &Model, shards: Shards) -> Option<String> {
    let lines = Source::new(text);
    let entries = parse(text, &lines, &mut Reporter::new(&lines))?;
    let (tables, key) = shards.of.path(model);
    let (mut inside, mut span) = (entries.as_slice(), Span::new(0, 0));
    for name in &tables {
        let entry = inside.iter().find(|entry| entry.key.text == *name)?;
        let NodeKind::Table(entries) = &entry.node.kind else { return None };
        (inside, span) = (entries, entry.node.span);
    }
    let declared = inside.iter().find(|entry| entry.key.text == key);
    let (at, new) = match declared {
        Some(entry) => (entry.node.span, shards.count.to_string()),
        None if lines.slice(span).starts_with('{') => {
            let end = span.start + lines.slice(span).trim_end_matches('}').trim_end().len();
            let comma = if inside.is_empty() { " " } else { ", " };
            (Span::new(end, end), format!("{comma}{key} = {}", shards.count))
        }
        None => {
            let (at, prefix) = inside.iter().find_map(|entry| line_before(text, entry))?;
            (Span::new(at, at), format!("{prefix}{key} = {}\n", shards.count))
        }
    };
    Some(format!("{}{new}{}", text.get(..at.start)?, text.get(at.end..)?))
}

/// The start of the line of a key, and what the line has before the key; none in a header.
fn line_before<'t>(text: &'t str, entry: &Entry) -> Option<(usize, &'t str)> {
    let before = text.get(..entry.key.span.start)?;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let prefix = &before[start..];
    (!prefix.contains(['[', '{', '#', '"', '='])).then_some((start, prefix))
}
