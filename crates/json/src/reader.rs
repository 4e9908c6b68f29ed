//! Reads JSON text token by token.
//!
//! ```text
//! value  = object | list | text | number | "true" | "false" | "null"
//! object = "{" [ text ":" value { "," text ":" value } ] "}"
//! list   = "[" [ value { "," value } ] "]"
//! text   = '"' { character | escape } '"'
//! escape = "\" ( '"' | "\" | "/" | "b" | "f" | "n" | "r" | "t" | "u" hex hex hex hex )
//! number = [ "-" ] ( "0" | digit1-9 { digit } ) [ "." digit { digit } ] [ exponent ]
//! ```

use std::borrow::Cow;

use crate::plain::plain_length;
use crate::{JsonError, JsonFault};

/// Limits of a text.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The deepest nesting of lists and objects, including the outermost.
    pub depth: usize,
    /// The most values; each list and object counts as one, names do not count.
    pub values: usize,
}

/// A value, or the start of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(&'a str),
    /// A string, unescaped; borrowed if it has no escapes.
    Text(Cow<'a, str>),
    /// A list; iterate with [`Reader::next_element`].
    List,
    /// An object; iterate with [`Reader::next_member`].
    Object,
}

/// Reads a text in one pass: O(n), in constant memory except for strings with escapes.
///
/// Calls must follow the grammar: [`Reader::value`] once; after [`Token::List`],
/// [`Reader::next_element`] until it returns false, with a value after every true; after
/// [`Token::Object`], [`Reader::next_member`] until it returns `None`, with [`Reader::colon`] and a
/// value after every name; last [`Reader::end`]. Other calls return errors or meaningless tokens, and
/// never panic.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    /// Always at the start of a character.
    offset: usize,
    limits: Limits,
    /// The number of open lists and objects.
    depth: usize,
    /// The number of values started.
    values: usize,
    /// Whether the list or object opened last is still at its start.
    is_at_start: bool,
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'a> Reader<'a> {
    /// Creates a reader of a text.
    pub fn new(text: &'a str, limits: Limits) -> Reader<'a> {
        Reader { text, offset: 0, limits, depth: 0, values: 0, is_at_start: false }
    }

    /// Returns the byte offset of the next value.
    pub fn next_offset(&mut self) -> usize {
        self.skip_space();
        self.offset
    }

    /// Reads the next value, or its start; `what` names it in errors.
    ///
    /// # Errors
    ///
    /// If there is none, or a limit is exceeded.
    pub fn value(&mut self, what: &'static str) -> Result<Token<'a>> {
        self.skip_space();
        let token = match self.peek() {
            Some(b'{') => self.open(Token::Object),
            Some(b'[') => self.open(Token::List),
            Some(b'"') => self.text().map(Token::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(Token::Number),
            Some(b't') => self.word("true", "`true`").map(|()| Token::Bool(true)),
            Some(b'f') => self.word("false", "`false`").map(|()| Token::Bool(false)),
            Some(b'n') => self.word("null", "`null`").map(|()| Token::Null),
            _ => Err(self.expected(what)),
        }?;
        self.values += 1;
        if self.values > self.limits.values {
            let values_max = self.limits.values;
            return Err(self.error_at(self.offset, JsonFault::TooManyValues { values_max }));
        }
        Ok(token)
    }

    /// Returns whether the list has another element, which must be read next. Closes the list at its
    /// end.
    ///
    /// # Errors
    ///
    /// If neither an element nor the end follows.
    pub fn next_element(&mut self) -> Result<bool> {
        self.has_next(b']', "`,` or `]`")
    }

    /// Reads the name of the object's next member, whose value must be read next. Closes the object
    /// at its end.
    ///
    /// # Errors
    ///
    /// If neither a member nor the end follows.
    pub fn next_member(&mut self) -> Result<Option<Cow<'a, str>>> {
        if !self.has_next(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in quotes"));
        }
        self.text().map(Some)
    }

    /// Skips the colon between a name and its value. Separate from the name, so that the caller's
    /// error can name the member without a colon.
    ///
    /// # Errors
    ///
    /// If it is missing.
    pub fn colon(&mut self) -> Result<()> {
        self.skip_space();
        self.must_eat(b':', "`:`")
    }

    /// Checks that the text ends here.
    ///
    /// # Errors
    ///
    /// If anything but whitespace follows.
    pub fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.offset < self.text.len() {
            return Err(self.expected("nothing after the document"));
        }
        Ok(())
    }

    fn open(&mut self, token: Token<'a>) -> Result<Token<'a>> {
        if self.depth == self.limits.depth {
            let depth_max = self.limits.depth;
            return Err(self.error_at(self.offset, JsonFault::TooDeep { depth_max }));
        }
        self.depth += 1;
        self.offset += 1;
        self.is_at_start = true;
        Ok(token)
    }

    /// Returns whether an element comes before the closing bracket; otherwise skips the bracket.
    fn has_next(&mut self, bracket: u8, what: &'static str) -> Result<bool> {
        self.skip_space();
        let is_at_start = std::mem::take(&mut self.is_at_start);
        if self.eat(bracket) {
            self.depth = self.depth.saturating_sub(1);
            return Ok(false);
        }
        if !is_at_start {
            self.must_eat(b',', what)?;
        }
        Ok(true)
    }

    fn number(&mut self) -> Result<&'a str> {
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
        Ok(&self.text[start..self.offset])
    }

    fn digits(&mut self) -> Result<()> {
        let rest = &self.text.as_bytes()[self.offset..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.offset += count;
        Ok(())
    }

    /// Reads a string. Most have no escapes and are borrowed.
    fn text(&mut self) -> Result<Cow<'a, str>> {
        self.offset += 1;
        let plain = self.plain();
        if self.eat(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.error_at(self.offset, JsonFault::ControlCharacter)),
                None => return Err(self.expected("`\"` at the end of a text")),
            }
            text.push_str(self.plain());
        }
    }

    /// Reads characters that need no unescaping.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.offset..];
        let length = plain_length(rest.as_bytes());
        self.offset += length;
        &rest[..length]
    }

    fn escape(&mut self) -> Result<char> {
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

    /// Reads what follows `\u`: four digits, or a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<char> {
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
        character.ok_or_else(|| self.error_at(start, JsonFault::LoneSurrogate))
    }

    fn hex(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.expected("four hexadecimal digits"))?;
            self.offset += 1;
        }
        Ok(code)
    }

    fn word(&mut self, word: &str, what: &'static str) -> Result<()> {
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

    /// Skips this byte, which must be ASCII, if it is next.
    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.offset += usize::from(is_next);
        is_next
    }

    fn must_eat(&mut self, byte: u8, what: &'static str) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn expected(&self, what: &'static str) -> JsonError {
        let found = self.text[self.offset..].chars().next();
        self.error_at(self.offset, JsonFault::Expected { what, found })
    }

    fn error_at(&self, offset: usize, fault: JsonFault) -> JsonError {
        JsonError { offset, fault }
    }
}
