//! The tokens of the text of a field.

use crate::source::{Span, Word};

/// A token; its span is relative to the text of the field.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) word: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Letters, digits and `_ - + : .`: a name, a number or a time.
    Word,
    /// Text in single or double quotes; the word excludes the quotes.
    Quoted,
    /// `..`
    Dots,
    /// One of `? = ( ) ,`, the pair `[]` or the pair `{}`.
    Mark,
    /// Anything else: another character, or an unterminated quote.
    Invalid,
}

/// Splits a text into tokens. Every character except white space is in exactly one token.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = vec![];
    let mut offset = 0;
    while let Some(c) = text[offset..].chars().next() {
        if c.is_whitespace() {
            offset += c.len_utf8();
            continue;
        }
        let (kind, length) = first(&text[offset..], c);
        let span = Span::new(offset, offset + length);
        let quote_len = if kind == TokenKind::Quoted { 1 } else { 0 };
        let text = text[offset + quote_len..offset + length - quote_len].to_owned();
        tokens.push(Token { kind, word: Word { text, span } });
        offset += length;
    }
    tokens
}

/// The kind and length of the first token of the rest; `c` is its first character.
fn first(rest: &str, c: char) -> (TokenKind, usize) {
    match c {
        '"' | '\'' => match rest[1..].find(c) {
            Some(length) => (TokenKind::Quoted, length + 2),
            None => (TokenKind::Invalid, rest.len()),
        },
        '?' | '=' | '(' | ')' | ',' => (TokenKind::Mark, 1),
        _ if rest.starts_with("[]") || rest.starts_with("{}") => (TokenKind::Mark, 2),
        _ if rest.starts_with("..") => (TokenKind::Dots, 2),
        _ => match word_length(rest) {
            0 => (TokenKind::Invalid, c.len_utf8()),
            length => (TokenKind::Word, length),
        },
    }
}

fn word_length(rest: &str) -> usize {
    let is_end = |(offset, c): &(usize, char)| match c {
        '.' => rest[*offset..].starts_with(".."),
        c => !(c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | ':')),
    };
    rest.char_indices().find(is_end).map_or(rest.len(), |(offset, _)| offset)
}
