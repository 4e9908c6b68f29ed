//! A value together with its key, which messages about the value name.

use crate::error::{Code, Reporter};
use crate::parse::{Entry, Node, NodeKind};
use crate::source::Word;

/// The value of a key, or an element of a list under the key.
#[derive(Clone, Copy)]
pub(crate) struct KeyedValue<'e> {
    pub(crate) key: &'e str,
    pub(crate) node: &'e Node,
}

impl<'e> From<&'e Entry> for KeyedValue<'e> {
    fn from(entry: &'e Entry) -> KeyedValue<'e> {
        KeyedValue { key: &entry.key.text, node: &entry.node }
    }
}

impl<'e> KeyedValue<'e> {
    pub(crate) fn text(self, reporter: &mut Reporter<'_>) -> Option<Word> {
        match &self.node.kind {
            NodeKind::Text(word) => Some(word.clone()),
            _ => {
                self.wrong_kind("text", reporter);
                None
            }
        }
    }

    /// The elements of a list; `expected` describes it for messages.
    pub(crate) fn elements(
        self,
        expected: &str,
        reporter: &mut Reporter<'_>,
    ) -> Option<Vec<KeyedValue<'e>>> {
        match &self.node.kind {
            NodeKind::List(nodes) => {
                Some(nodes.iter().map(|node| KeyedValue { node, ..self }).collect())
            }
            _ => {
                self.wrong_kind(expected, reporter);
                None
            }
        }
    }

    /// Reports that the value is not what the key takes.
    pub(crate) fn wrong_kind(self, expected: &str, reporter: &mut Reporter<'_>) {
        let KeyedValue { key, node } = self;
        let reason = format!("`{key}` takes {expected}, and this is {}", node.kind.describe());
        reporter.report(Code::WrongKind, node.span, reason);
    }
}
