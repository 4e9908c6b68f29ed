//! How the values of a field are drawn.

use keyloom_value::Value;

use crate::check::literal::{InvalidLiteral, of_node};
use crate::declare::keys::{Keys, TableKind};
use crate::error::{Code, Report, Reporter};
use crate::model::{DefaultValue, Entity, Field, FieldId, FieldType};
use crate::parse::{Entry, Node, NodeKind};
use crate::source::Span;

const DRAW: TableKind =
    TableKind { what: "a distribution of values", keys: &["values", "hottest", "bytes"] };

/// The most values that are told apart.
const VALUES_MAX: i64 = 1_000_000_000_000;
/// The most bytes of a value: what is left of a row.
const BYTES_MAX: i64 = 390_000;

/// How the values of a field are drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Draw {
    /// So many values; one of them has this share of all, and the others share the rest equally.
    Values {
        /// How many.
        count: u64,
        /// The share of the most frequent one, from 0 to 1.
        hottest: f64,
    },
    /// One of these, all equally likely.
    OneOf(Vec<Value>),
    /// Always another value, with about so many bytes.
    Bytes(u64),
}

pub(super) fn read(
    entry: &Entry,
    entity: &Entity,
    id: FieldId,
    reporter: &mut Reporter<'_>,
) -> Option<Draw> {
    let field = entity.field(id);
    match &entry.node.kind {
        NodeKind::List(nodes) if !nodes.is_empty() => one_of(nodes, field, reporter),
        NodeKind::Table(entries) => {
            let keys = Keys::read(entries, &DRAW, reporter);
            table(&keys, field, entry, reporter)
        }
        _ => {
            bad(entry.node.span, field, reporter);
            None
        }
    }
}

fn one_of(nodes: &[Node], field: &Field, reporter: &mut Reporter<'_>) -> Option<Draw> {
    let mut values = vec![];
    for node in nodes {
        match of_node(node, &field.of) {
            Some(literal) if !matches!(field.of, FieldType::Ref(..)) => {
                values.push(DefaultValue::Literal(literal).value(0));
            }
            _ => {
                let invalid = InvalidLiteral::new(&reporter.written(node.span), &field.of);
                let report = Report::new(Code::BadDraw, node.span, invalid.reason);
                reporter.push(report.help(invalid.help));
            }
        }
    }
    (values.len() == nodes.len()).then_some(Draw::OneOf(values))
}

fn table(
    keys: &Keys<'_>,
    field: &Field,
    entry: &Entry,
    reporter: &mut Reporter<'_>,
) -> Option<Draw> {
    if let Some(bytes) = keys.get("bytes") {
        let count = whole(bytes, 1, BYTES_MAX, reporter)?;
        let is_sized =
            matches!(field.of, FieldType::Text(_) | FieldType::Bytes(_) | FieldType::Any);
        if !is_sized || keys.get("values").is_some() || keys.get("hottest").is_some() {
            bad(entry.key.span, field, reporter);
            return None;
        }
        return Some(Draw::Bytes(count));
    }
    let values = keys.require("values", entry.key.span, reporter)?;
    let count = whole(values, 1, VALUES_MAX, reporter)?;
    let is_drawn = match &field.of {
        FieldType::Text(_) | FieldType::Int(_) | FieldType::Number(_) | FieldType::Ref(..) => true,
        FieldType::Bool
        | FieldType::Time
        | FieldType::Bytes(_)
        | FieldType::Any
        | FieldType::Tags
        | FieldType::Enum(_)
        | FieldType::List(..)
        | FieldType::Map(..) => false,
    };
    if !is_drawn {
        bad(entry.key.span, field, reporter);
        return None;
    }
    let hottest = match keys.get("hottest") {
        Some(entry) => share(entry, reporter)?,
        None => 0.0,
    };
    Some(Draw::Values { count, hottest })
}

fn whole(entry: &Entry, min: i64, max: i64, reporter: &mut Reporter<'_>) -> Option<u64> {
    let given = match entry.node.kind {
        NodeKind::Integer(given) if (min..=max).contains(&given) => u64::try_from(given).ok(),
        _ => None,
    };
    if given.is_none() {
        let reason = format!("`{}` is a whole number from {min} to {max}", entry.key.text);
        reporter.report(Code::BadDraw, entry.node.span, reason);
    }
    given
}

fn share(entry: &Entry, reporter: &mut Reporter<'_>) -> Option<f64> {
    let given = match &entry.node.kind {
        NodeKind::Integer(given) => Some(*given as f64),
        NodeKind::Float(text) => text.parse().ok(),
        _ => None,
    };
    let given = given.filter(|given| (0.0..=1.0).contains(given));
    if given.is_none() {
        let reason = format!("`{}` is the share of the most frequent value", entry.key.text);
        let help = "write a number from 0 to 1: `0.2` is 20 %";
        reporter.push(Report::new(Code::BadDraw, entry.node.span, reason).help(help));
    }
    given
}

fn bad(span: Span, field: &Field, reporter: &mut Reporter<'_>) {
    let reason = format!("values of `{}` cannot be drawn like this", field.name);
    let help = match &field.of {
        FieldType::Text(_) => {
            "write `{ values = 1000, hottest = 0.2 }`, a list of values, or `{ bytes = 500 }`"
        }
        FieldType::Int(_) | FieldType::Number(_) => {
            "write `{ values = 1000, hottest = 0.2 }` or a list of values"
        }
        FieldType::Ref(..) => "write `{ values = 1000, hottest = 0.2 }`",
        FieldType::Bytes(_) | FieldType::Any => "write `{ bytes = 500 }`",
        FieldType::Bool | FieldType::Enum(_) | FieldType::Time => "write a list of values",
        FieldType::Tags | FieldType::List(..) | FieldType::Map(..) => {
            "leave it out: its values are samples"
        }
    };
    reporter.push(Report::new(Code::BadDraw, span, reason).help(help));
}
