//! The pieces that the text of a field is made of.

use crate::source::{Span, Word};

/// One piece; its place is in bytes of the field's own text.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) word: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Letters, digits and `_ - + : .`, which make names, numbers and times.
    Word,
    /// Text in quotes, single or double; the word is what is between them.
    Quoted,
    /// `..`
    Dots,
    /// One of `? = ( ) ,`, the pair `[]` or the pair `{}`.
    Mark,
    /// What no field has: another character, or a quote that does not end.
    Stray,
}

/// Takes a text apart. Every character but white space is in exactly one token.
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
        let inside = if kind == TokenKind::Quoted { 1 } else { 0 };
        let text = text[offset + inside..offset + length - inside].to_owned();
        tokens.push(Token { kind, word: Word { text, span } });
        offset += length;
    }
    tokens
}

/// The kind and the length of the token that the rest begins with; `c` is its first character.
fn first(rest: &str, c: char) -> (TokenKind, usize) {
    match c {
        '"' | '\'' => match rest[1..].find(c) {
            Some(length) => (TokenKind::Quoted, length + 2),
            None => (TokenKind::Stray, rest.len()),
        },
        '?' | '=' | '(' | ')' | ',' => (TokenKind::Mark, 1),
        _ if rest.starts_with("[]") || rest.starts_with("{}") => (TokenKind::Mark, 2),
        _ if rest.starts_with("..") => (TokenKind::Dots, 2),
        _ => match word_length(rest) {
            0 => (TokenKind::Stray, c.len_utf8()),
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
