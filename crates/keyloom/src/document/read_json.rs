//! JSON text (RFC 8259) → an item.
//!
//! ```text
//! value  = object | array | string | number | "true" | "false" | "null"
//! object = "{" [ string ":" value { "," string ":" value } ] "}"
//! array  = "[" [ value { "," value } ] "]"
//! string = '"' { character | escape } '"'
//! escape = "\" ( '"' | "\" | "/" | "b" | "f" | "n" | "r" | "t" | "u" hex hex hex hex )
//! number = [ "-" ] ( "0" | digit1-9 { digit } ) [ "." digit { digit } ] [ exponent ]
//! ```
//!
//! Read by hand, because numbers must keep all of their digits and names must not be there twice:
//! the usual parsers read numbers as floats and let the last name win.

use keyloom_value::{Item, Name, Number, Value};

use super::DEPTH_MAX;
use super::error::{DocumentError, Fault, Position};

/// The item that a JSON object says, exactly. O(n log n) in its length at most, and O(n) if names
/// are in order.
///
/// # Errors
///
/// If the bytes are not UTF-8 or not one JSON object, if a name is twice in one object, if
/// something is nested more than 32 deep, or if a number has more than 38 digits or is out of
/// range. The error has the line and column, and the path where there is one.
pub fn json_to_item(json: &[u8]) -> Result<Item, DocumentError> {
    let text = std::str::from_utf8(json).map_err(|error| {
        let position = Position::of(json, error.valid_up_to());
        DocumentError::new(Fault::NotUtf8).at(position)
    })?;
    let mut reader = Reader { text, offset: 0, depth: 0 };
    match reader.document("an object")? {
        Value::M(item) => Ok(item),
        _ => Err(reader.error_at(0, Fault::NotAnObject)),
    }
}

/// The value that a JSON text says inside of so many lists and maps.
pub(super) fn json_to_value(text: &str, around: usize) -> Result<Value, DocumentError> {
    Reader { text, offset: 0, depth: around }.document("a value")
}

struct Reader<'a> {
    text: &'a str,
    /// Always at the start of a character.
    offset: usize,
    /// How many arrays and objects are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn document(&mut self, what: &'static str) -> Result<Value, DocumentError> {
        let value = self.value(what)?;
        self.skip_space();
        if self.offset < self.text.len() {
            return Err(self.expected("nothing after the document"));
        }
        Ok(value)
    }

    fn value(&mut self, what: &'static str) -> Result<Value, DocumentError> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Reader::object).map(Value::M),
            Some(b'[') => self.nested(Reader::array).map(Value::L),
            Some(b'"') => self.string().map(Value::S),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::N),
            Some(b't') => self.word("true", "`true`").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false", "`false`").map(|()| Value::Bool(false)),
            Some(b'n') => self.word("null", "`null`").map(|()| Value::Null),
            _ => Err(self.expected(what)),
        }
    }

    /// Reads what an opening bracket begins, if it may be nested so deep.
    fn nested<T>(
        &mut self,
        read: fn(&mut Reader<'a>) -> Result<T, DocumentError>,
    ) -> Result<T, DocumentError> {
        if self.depth == DEPTH_MAX {
            return Err(self.error_at(self.offset, Fault::TooDeep));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn object(&mut self) -> Result<Item, DocumentError> {
        let start = self.offset;
        self.offset += 1;
        let mut members = vec![];
        self.skip_space();
        if !self.eat(b'}') {
            loop {
                members.push(self.member()?);
                self.skip_space();
                if self.eat(b'}') {
                    break;
                }
                self.must_eat(b',', "`,` or `}`")?;
            }
        }
        self.item(members, start)
    }

    fn member(&mut self) -> Result<(Name, Value), DocumentError> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in quotes"));
        }
        let name = Name::from(self.string()?);
        self.skip_space();
        self.must_eat(b':', "`:`").map_err(|error| error.in_member(&name))?;
        let value = self.value("a value").map_err(|error| error.in_member(&name))?;
        Ok((name, value))
    }

    /// An item of the members of the object that starts there.
    fn item(&self, mut members: Vec<(Name, Value)>, start: usize) -> Result<Item, DocumentError> {
        members.sort_by(|(left, _), (right, _)| left.cmp(right));
        let twice = members.windows(2).find(|pair| pair[0].0 == pair[1].0);
        if let Some(pair) = twice {
            let name = pair[0].0.as_str().to_owned();
            return Err(self.error_at(start, Fault::Twice { name }));
        }
        Ok(members.into_iter().collect())
    }

    fn array(&mut self) -> Result<Vec<Value>, DocumentError> {
        self.offset += 1;
        let mut elements = vec![];
        self.skip_space();
        if self.eat(b']') {
            return Ok(elements);
        }
        loop {
            let index = elements.len();
            elements.push(self.value("a value").map_err(|error| error.in_element(index))?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(elements);
            }
            self.must_eat(b',', "`,` or `]`")?;
        }
    }

    fn number(&mut self) -> Result<Number, DocumentError> {
        let start = self.offset;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let number = self.text[start..self.offset].parse();
        number.map_err(|error| self.error_at(start, Fault::Number(error)))
    }

    fn digits(&mut self) -> Result<(), DocumentError> {
        let rest = &self.text.as_bytes()[self.offset..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.offset += count;
        Ok(())
    }

    fn string(&mut self) -> Result<String, DocumentError> {
        self.offset += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.offset..];
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
            let plain = rest.as_bytes().iter().position(is_special).unwrap_or(rest.len());
            string.push_str(&rest[..plain]);
            self.offset += plain;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(self.error_at(self.offset, Fault::ControlCharacter)),
                None => return Err(self.expected("`\"` at the end of a text")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, DocumentError> {
        let start = self.offset;
        self.offset += 1;
        let character = match self.peek() {
            Some(quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{C}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.offset += 1;
                return self.unicode(start);
            }
            _ => return Err(self.expected("an escape such as `\\n`")),
        };
        self.offset += 1;
        Ok(character)
    }

    /// What follows `\u`: four digits, or a pair of them for a character beyond 16 bits.
    fn unicode(&mut self, start: usize) -> Result<char, DocumentError> {
        let first = self.hex()?;
        let is_pair = (0xD800..0xDC00).contains(&first);
        let code = if is_pair && self.text[self.offset..].starts_with("\\u") {
            self.offset += 2;
            let second = self.hex()?;
            let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400);
            low.map(|low| 0x1_0000 + ((first - 0xD800) << 10) + low)
        } else {
            Some(first)
        };
        let character = code.and_then(char::from_u32);
        character.ok_or_else(|| self.error_at(start, Fault::LoneSurrogate))
    }

    fn hex(&mut self) -> Result<u32, DocumentError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.expected("four hexadecimal digits"))?;
            self.offset += 1;
        }
        Ok(code)
    }

    fn word(&mut self, word: &str, what: &'static str) -> Result<(), DocumentError> {
        if !self.text[self.offset..].starts_with(word) {
            return Err(self.expected(what));
        }
        self.offset += word.len();
        Ok(())
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.offset..];
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.offset += rest.iter().take_while(is_space).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    /// Passes this byte, which must be ASCII, if it is the next one.
    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    fn must_eat(&mut self, byte: u8, what: &'static str) -> Result<(), DocumentError> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn expected(&self, what: &'static str) -> DocumentError {
        let found = self.text[self.offset..].chars().next();
        self.error_at(self.offset, Fault::Expected { what, found })
    }

    fn error_at(&self, offset: usize, fault: Fault) -> DocumentError {
        DocumentError::new(fault).at(Position::of(self.text.as_bytes(), offset))
    }
}
