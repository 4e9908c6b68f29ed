//! The part of a model file that declares an entity: its lines as the author wrote them. Knows nothing about what they
//! mean.

use std::collections::{BTreeMap, BTreeSet};

use crate::parse::{Statement, StatementKind, statements};
use crate::source::Source;

/// The tables at the top level whose members are named after entities.
const TABLES: [&str; 2] = ["entity", "on"];

/// The lines of a model file that declare each entity and what follows its changes, by its name, with the comments
/// directly above them. Parts that are not adjacent in the file are separated by an empty line.
///
/// An entity that the file does not declare, such as `job`, is missing; so are all if the file is not TOML.
///
/// ```
/// let source = "\
/// ## Guests of the hotel.
/// [entity.guest]
/// fields.name = \"text\"
///
/// [entity.room]
/// fields.number = \"int\"
///
/// [on.guest]
/// insert = { job = \"welcome\" }
/// ";
/// let declarations = keyloom_model::declarations(source);
/// assert_eq!(declarations["room"], "[entity.room]\nfields.number = \"int\"\n");
/// assert!(declarations["guest"].starts_with("# Guests of the hotel."));
/// assert!(declarations["guest"].ends_with("[on.guest]\ninsert = { job = \"welcome\" }\n"));
/// ```
pub fn declarations(source: &str) -> BTreeMap<String, String> {
    let lines = Source::new(source);
    let mut numbers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let statements = statements(source);
    // The last line of the statements so far.
    let mut last = 0;
    // The lines of a header that is not of one entity, for the statements below it.
    let mut shared = vec![];
    for statement in &statements {
        let Statement { path, span, kind } = statement;
        let (first, end) = (lines.line_of(span.start), lines.line_of(span.end));
        let is_comment = |line: &usize| lines.line(*line).trim_start().starts_with('#');
        let comments = (last + 1..first).rev().take_while(is_comment);
        let own = comments.chain(first..=end);
        last = last.max(end);
        match &path[..] {
            [table, entity, ..] if TABLES.contains(&table.as_str()) => {
                let numbers = numbers.entry(entity).or_default();
                numbers.extend(own);
                match kind {
                    StatementKind::Header => shared.clear(),
                    // All of them are there if one is.
                    StatementKind::KeyValue if shared.iter().any(|line| numbers.contains(line)) => {
                    }
                    StatementKind::KeyValue => numbers.extend(&shared),
                }
            }
            _ => match kind {
                StatementKind::Header => shared = own.collect(),
                StatementKind::KeyValue => {}
            },
        }
    }
    let text = |(name, numbers): (&str, BTreeSet<usize>)| (name.to_owned(), text(&lines, &numbers));
    numbers.into_iter().map(text).collect()
}

fn text(lines: &Source<'_>, numbers: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let mut last = None;
    for number in numbers {
        if last.is_some_and(|last| last + 1 < *number) {
            text.push('\n');
        }
        text.push_str(lines.line(*number));
        text.push('\n');
        last = Some(*number);
    }
    text
}
