//! Text → tokens.
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

use crate::{JsonError, JsonFault};

/// How much of a text is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep lists and objects may be nested, the outermost included.
    pub depth: usize,
    /// How many values there may be, each list and object being one, names being none.
    pub values: usize,
}

/// What a value begins with, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(&'a str),
    /// A text without its escapes; borrowed if it has none.
    Text(Cow<'a, str>),
    /// A list; [`Reader::next_element`] goes through it.
    List,
    /// An object; [`Reader::next_member`] goes through it.
    Object,
}

/// Reads a text from its start to its end, in one pass: O(n), and constant memory but for texts
/// with escapes.
///
/// The legal calls follow the grammar: [`Reader::value`] once; after [`Token::List`],
/// [`Reader::next_element`] until it is false, with a value after every true; after
/// [`Token::Object`], [`Reader::next_member`] until it is none, with [`Reader::colon`] and a value after
/// every name; last [`Reader::end`]. Other calls give errors or nonsense, never a panic.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    /// Always at the start of a character.
    offset: usize,
    limits: Limits,
    /// How many lists and objects are open.
    depth: usize,
    /// How many values have begun.
    values: usize,
    /// Whether nothing was read yet of the list or object that was opened last.
    is_fresh: bool,
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'a> Reader<'a> {
    /// Reads this text.
    pub fn new(text: &'a str, limits: Limits) -> Reader<'a> {
        Reader { text, offset: 0, limits, depth: 0, values: 0, is_fresh: false }
    }

    /// Where the next value begins, in bytes.
    pub fn next_offset(&mut self) -> usize {
        self.skip_space();
        self.offset
    }

    /// The next value, or its beginning; `what` names it if it is missing.
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

    /// Whether the list has another element, which then comes next. At its end the list is closed.
    ///
    /// # Errors
    ///
    /// If neither an element nor the end follows.
    pub fn next_element(&mut self) -> Result<bool> {
        self.goes_on(b']', "`,` or `]`")
    }

    /// The name of the object's next member, whose value comes next. At its end the object is
    /// closed.
    ///
    /// # Errors
    ///
    /// If neither a member nor the end follows.
    pub fn next_member(&mut self) -> Result<Option<Cow<'a, str>>> {
        if !self.goes_on(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.expected("a name in quotes"));
        }
        self.text().map(Some)
    }

    /// Passes the colon between a name and its value. Apart from the name, so that the caller can
    /// say in which member the colon is missing.
    ///
    /// # Errors
    ///
    /// If it is missing.
    pub fn colon(&mut self) -> Result<()> {
        self.skip_space();
        self.must_eat(b':', "`:`")
    }

    /// The end of the text.
    ///
    /// # Errors
    ///
    /// If something else than space follows.
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
        self.is_fresh = true;
        Ok(token)
    }

    /// Whether something stands before this bracket; if not, it is passed.
    fn goes_on(&mut self, bracket: u8, what: &'static str) -> Result<bool> {
        self.skip_space();
        let is_fresh = std::mem::take(&mut self.is_fresh);
        if self.eat(bracket) {
            self.depth = self.depth.saturating_sub(1);
            return Ok(false);
        }
        if !is_fresh {
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

    /// A text in quotes. Nearly none have escapes, and those that have none are not copied.
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

    /// What can be taken as it is.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.offset..];
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
        let length = rest.as_bytes().iter().position(is_special).unwrap_or(rest.len());
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

    /// What follows `\u`: four digits, or a pair of them for a character beyond 16 bits.
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

    /// Passes this byte, which must be ASCII, if it is the next one.
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
