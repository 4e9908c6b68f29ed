//! Splits a statement into tokens.
//!
//! ```text
//! word      ::= (letter | "_" | "$") (letter | digit | "_" | "$")*
//! quoted    ::= '"' (any | '""')* '"'
//! text      ::= "'" (any | "''")* "'"
//! number    ::= (digit+ ("." digit*)? | "." digit+) (("e" | "E") ("+" | "-")? digit+)?
//! comment   ::= "--" any* newline | "/*" any* "*/"
//! ```

use std::borrow::Cow;

use keyloom_value::Comparison;

use super::StatementError;
use super::position::Position;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    Word(&'a str),
    /// A name in double quotes, unescaped.
    Quoted(Cow<'a, str>),
    /// A string, unescaped.
    Text(Cow<'a, str>),
    /// As written, without a sign.
    Number(&'a str),
    Parameter,
    Comparison(Comparison),
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftBag,
    RightBag,
    Comma,
    Dot,
    Colon,
    Star,
    Plus,
    Minus,
    Semicolon,
    End,
}

/// A token.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) at: Position,
}

/// Returns all tokens; the last is `End`.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, StatementError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let token = lexer.token()?;
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Lexer<'a> {
    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), StatementError> {
        loop {
            let space = self.rest.len() - self.rest.trim_start_matches(is_space).len();
            if space > 0 {
                self.take(space);
            } else if self.rest.starts_with("--") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(unreadable)?;
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token<'a>, StatementError> {
        let (line, column) = (self.line, self.column);
        let (kind, bytes) = first(self.rest)?;
        let length = self.take(bytes).chars().count();
        Ok(Token { kind, at: Position { line, column, length } })
    }

    /// Takes some bytes, which end between characters.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.rest = rest;
        taken
    }
}

/// Returns the kind and the length in bytes of the first token.
fn first(text: &str) -> Result<(TokenKind<'_>, usize), StatementError> {
    let mut bytes = text.bytes();
    let Some(head) = bytes.next() else { return Ok((TokenKind::End, 0)) };
    let second = bytes.next().unwrap_or_default();
    Ok(match (head, second) {
        (b'\'', _) => {
            let (content, len) = quoted(text, '\'')?;
            (TokenKind::Text(content), len)
        }
        (b'"', _) => {
            let (content, len) = quoted(text, '"')?;
            (TokenKind::Quoted(content), len)
        }
        (b'0'..=b'9', _) | (b'.', b'0'..=b'9') => {
            let len = number(text)?;
            (TokenKind::Number(text.get(..len).unwrap_or_default()), len)
        }
        (b'<', b'<') => (TokenKind::LeftBag, 2),
        (b'>', b'>') => (TokenKind::RightBag, 2),
        (b'<', b'>') | (b'!', b'=') => (TokenKind::Comparison(Comparison::NotEqual), 2),
        (b'<', b'=') => (TokenKind::Comparison(Comparison::LessOrEqual), 2),
        (b'>', b'=') => (TokenKind::Comparison(Comparison::GreaterOrEqual), 2),
        (b'<', _) => (TokenKind::Comparison(Comparison::Less), 1),
        (b'>', _) => (TokenKind::Comparison(Comparison::Greater), 1),
        (b'=', _) => (TokenKind::Comparison(Comparison::Equal), 1),
        _ if is_word(head) => {
            let len = text.bytes().take_while(|byte| is_word(*byte)).count();
            (TokenKind::Word(text.get(..len).unwrap_or_default()), len)
        }
        _ => (punctuation(head).ok_or_else(unreadable)?, 1),
    })
}

fn punctuation(byte: u8) -> Option<TokenKind<'static>> {
    Some(match byte {
        b'?' => TokenKind::Parameter,
        b'(' => TokenKind::LeftParen,
        b')' => TokenKind::RightParen,
        b'[' => TokenKind::LeftBracket,
        b']' => TokenKind::RightBracket,
        b'{' => TokenKind::LeftBrace,
        b'}' => TokenKind::RightBrace,
        b',' => TokenKind::Comma,
        b'.' => TokenKind::Dot,
        b':' => TokenKind::Colon,
        b'*' => TokenKind::Star,
        b'+' => TokenKind::Plus,
        b'-' => TokenKind::Minus,
        b';' => TokenKind::Semicolon,
        _ => return None,
    })
}

/// Reads a string or name up to its closing quote; two quotes stand for one.
fn quoted(text: &str, quote: char) -> Result<(Cow<'_, str>, usize), StatementError> {
    let mut chars = text.char_indices().skip(1).peekable();
    let mut is_escaped = false;
    while let Some((at, c)) = chars.next() {
        if c != quote {
            continue;
        }
        if chars.next_if(|(_, next)| *next == quote).is_some() {
            is_escaped = true;
            continue;
        }
        let content = text.get(1..at).unwrap_or_default();
        let content = match is_escaped {
            true => Cow::Owned(content.replace(&format!("{quote}{quote}"), &quote.to_string())),
            false => Cow::Borrowed(content),
        };
        return Ok((content, at + 1));
    }
    Err(unreadable())
}

/// Returns the length of a number. Like the service, it refuses one whose exponent, or whose scale,
/// does not fit 32 bits.
fn number(text: &str) -> Result<usize, StatementError> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut len = digits(text);
    let mut scale = 0;
    if let Some(fraction) = text.get(len..).and_then(|rest| rest.strip_prefix('.')) {
        scale = digits(fraction);
        len += 1 + scale;
    }
    let rest = text.get(len..).unwrap_or_default();
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let size = digits(exponent.get(sign..).unwrap_or_default());
        let value = exponent.get(..sign + size).unwrap_or_default();
        let value: i32 = value.parse().map_err(|_| unreadable())?;
        let scale = i64::try_from(scale).map_err(|_| unreadable())? - i64::from(value);
        i32::try_from(scale).map_err(|_| unreadable())?;
        len += 1 + sign + size;
    }
    match text.as_bytes().get(len) {
        Some(byte) if is_word(*byte) => Err(unreadable()),
        _ => Ok(len),
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

fn unreadable() -> StatementError {
    StatementError::malformed("")
}
