//! Writes JSON directly to text.

use std::fmt::{Display, Write as _};

use keyloom_json::write_text;

/// Builds JSON text and inserts the commas.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer { text: String::with_capacity(256) }
    }

    /// Returns the text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Writes an object; `fill` writes its members.
    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Writer)) {
        self.separate();
        self.text.push('{');
        fill(self);
        self.text.push('}');
    }

    /// Writes a list; `fill` writes its elements.
    pub(crate) fn list(&mut self, fill: impl FnOnce(&mut Writer)) {
        self.separate();
        self.text.push('[');
        fill(self);
        self.text.push(']');
    }

    /// Writes the name of a member; its value must follow.
    pub(crate) fn name(&mut self, name: &str) -> &mut Writer {
        self.separate();
        write_text(&mut self.text, name);
        self.text.push(':');
        self
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        write_text(&mut self.text, text);
    }

    /// Writes a string that needs no escapes, such as digits.
    pub(crate) fn plain_text(&mut self, text: impl Display) {
        self.separate();
        self.text.push('"');
        self.display(text);
        self.text.push('"');
    }

    pub(crate) fn number(&mut self, number: impl Display) {
        self.separate();
        self.display(number);
    }

    pub(crate) fn boolean(&mut self, boolean: bool) {
        self.number(boolean);
    }

    fn display(&mut self, value: impl Display) {
        let written = write!(self.text, "{value}");
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }

    /// Writes a comma, except before a first element and before the value of a member.
    fn separate(&mut self) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.text.push(',');
        }
    }
}
