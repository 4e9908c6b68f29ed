//! Reading JSON.
//!
//! ```text
//! value  ::= "null" | "true" | "false" | number | string | list | object
//! list   ::= "[" (value ("," value)*)? "]"
//! object ::= "{" (string ":" value ("," string ":" value)*)? "}"
//! number ::= "-"? digit+ ("." digit+)? (("e" | "E") ("+" | "-")? digit+)?
//! string ::= '"' (character | escape)* '"'
//! ```

use std::borrow::Cow;

use super::Json;

/// Levels of lists and objects. An item may have 32 of its own, each of which is two here, and a
/// few more would be refused with a better message than this parser has.
const DEPTH_MAX: usize = 200;

/// The value of the text, or nothing if it is not JSON.
pub(crate) fn parse(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Option<Json<'a>> {
        self.skip_space();
        match self.peek()? {
            b'{' => self.nested(Reader::object),
            b'[' => self.nested(Reader::list),
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Option<Json<'a>>) -> Option<Json<'a>> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Option<Json<'a>> {
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Some(Json::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            if !self.eat(b':') {
                return None;
            }
            members.push((name, self.value()?));
            if self.eat(b'}') {
                return Some(Json::Object(members));
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    fn list(&mut self) -> Option<Json<'a>> {
        let mut elements = Vec::new();
        if self.eat(b']') {
            return Some(Json::List(elements));
        }
        loop {
            elements.push(self.value()?);
            if self.eat(b']') {
                return Some(Json::List(elements));
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        let found = self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(value)
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        self.digits()?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.text.get(start..self.at).map(Json::Number)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// Text without escapes, which is nearly all of it, is not copied.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    let text = self.text.get(start..self.at)?;
                    self.at += 1;
                    return Some(Cow::Borrowed(text));
                }
                b'\\' => return self.escaped_string(start).map(Cow::Owned),
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
    }

    fn escaped_string(&mut self, start: usize) -> Option<String> {
        let mut text = self.text.get(start..self.at)?.to_owned();
        loop {
            let plain = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            text.push_str(self.text.get(plain..self.at)?);
            let end = self.peek()?;
            self.at += 1;
            match end {
                b'"' => return Some(text),
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let kind = self.peek()?;
        self.at += 1;
        Some(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            _ => return None,
        })
    }

    /// A character outside the first plane is written as two surrogates; half a pair is no text.
    fn code_point(&mut self) -> Option<char> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if self.text.as_bytes().get(self.at..self.at + 2) != Some(b"\\u") {
            return None;
        }
        self.at += 2;
        let second = self.hex4()?;
        if !(0xdc00..0xe000).contains(&second) {
            return None;
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
