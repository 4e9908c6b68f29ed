//! The format of a file with a copy: lines of JSON, each an item as DynamoDB writes it.
//!
//! ```text
//! keyloom, format, source, heading, tokens   the first line
//! PK, SK, …                                  a portable row
//! after, ended                               the position in the source after the lines before: an
//!                                            interrupted copy continues there
//! end                                        the last line: a summary of all others
//! ```
//!
//! A file without the last line is incomplete. The format has a version: what this one cannot read is
//! refused.

use keyloom::copy::{Heading, Summary};
use keyloom::{Item, Value};
use keyloom_dynamodb::{item_from_json, item_to_json};

const KEYLOOM: &str = "keyloom";
const COPY: &str = "copy";
const FORMAT: &str = "format";
const FORMAT_NOW: u64 = 1;
const SOURCE: &str = "source";
const HEADING: &str = "heading";
const TOKENS: &str = "tokens";
const AFTER: &str = "after";
const ENDED: &str = "ended";
const END: &str = "end";
/// Only rows have it.
const PARTITION: &str = "PK";

/// The first line of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// The identity of the source.
    pub(super) source: String,
    pub(super) heading: Heading,
    pub(super) tokens: Vec<Item>,
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Row(Item),
    /// How much of the source is written; none is all of it.
    Position(Option<Item>),
    End(Item),
}

impl Header {
    pub(super) fn to_line(&self) -> String {
        item_to_json(&self.to_item())
    }

    fn to_item(&self) -> Item {
        Item::from([
            (KEYLOOM, Value::from(COPY)),
            (FORMAT, Value::from(FORMAT_NOW)),
            (SOURCE, Value::from(self.source.as_str())),
            (HEADING, Value::M(self.heading.to_item())),
            (TOKENS, Value::L(self.tokens.iter().cloned().map(Value::M).collect())),
        ])
    }

    /// Reads the first line; an error says what is wrong with the file.
    pub(super) fn read(line: &str) -> Result<Header, String> {
        let item = item_from_json(line).ok().filter(is_copy);
        let item = item.ok_or("is not a copy that `keyloom copy` wrote")?;
        if item.get(FORMAT) != Some(&Value::from(FORMAT_NOW)) {
            return Err(
                "has a format that this version does not know: use a newer version".to_owned()
            );
        }
        Header::of(&item).ok_or_else(|| "has a damaged first line".to_owned())
    }

    fn of(item: &Item) -> Option<Header> {
        let (Value::M(heading), Value::L(tokens)) = (item.get(HEADING)?, item.get(TOKENS)?) else {
            return None;
        };
        let token = |token: &Value| match token {
            Value::M(token) => Some(token.clone()),
            _ => None,
        };
        Some(Header {
            source: item.get(SOURCE)?.as_s()?.to_owned(),
            heading: Heading::read(heading)?,
            tokens: tokens.iter().map(token).collect::<Option<_>>()?,
        })
    }

    /// What the last line says of a file with this header and these rows.
    pub(super) fn end(&self, rows: &Summary) -> Item {
        let mut summary = rows.clone();
        summary.add_as(HEADING, &self.to_item());
        summary.to_item()
    }
}

fn is_copy(item: &Item) -> bool {
    item.get(KEYLOOM) == Some(&Value::from(COPY))
}

impl Line {
    pub(super) fn to_text(&self) -> String {
        match self {
            Line::Row(row) => item_to_json(row),
            Line::Position(after) => {
                let mut item = Item::from([(ENDED, Value::Bool(after.is_none()))]);
                if let Some(after) = after {
                    item.insert(AFTER, Value::M(after.clone()));
                }
                item_to_json(&item)
            }
            Line::End(summary) => item_to_json(&Item::from([(END, Value::M(summary.clone()))])),
        }
    }

    /// Reads a line; none if it is damaged.
    pub(super) fn read(text: &str) -> Option<Line> {
        let item = item_from_json(text).ok()?;
        if item.contains(PARTITION) {
            return Some(Line::Row(item));
        }
        if let Some(Value::M(summary)) = item.get(END) {
            return Some(Line::End(summary.clone()));
        }
        match (item.get(AFTER), item.get(ENDED)?) {
            (Some(Value::M(after)), Value::Bool(false)) => {
                Some(Line::Position(Some(after.clone())))
            }
            (None, Value::Bool(true)) => Some(Line::Position(None)),
            _ => None,
        }
    }
}
