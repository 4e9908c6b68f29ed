//! Splits an expression into tokens.
//!
//! ```text
//! word      ::= letter (letter | digit | "_")*
//! name-ref  ::= "#" (letter | digit | "_")+
//! value-ref ::= ":" (letter | digit | "_")+
//! digits    ::= digit+
//! operator  ::= "=" | "<>" | "<" | "<=" | ">" | ">="
//! ```

use keyloom_value::Comparison;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    NameRef,
    ValueRef,
    Digits,
    Comparison(Comparison),
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Comma,
    Dot,
    Plus,
    Minus,
    /// A character that starts no token.
    Unknown,
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    /// Its byte offset.
    pub(super) at: usize,
}

/// Returns all tokens; the last is `End`.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let space = rest.len() - rest.trim_start_matches(is_space).len();
        if space > 0 {
            at += space;
            continue;
        }
        let (kind, len) = first(rest);
        let Some(token) = rest.get(..len) else { break };
        tokens.push(Token { kind, text: token, at });
        at += len;
    }
    tokens.push(Token { kind: TokenKind::End, text: "<EOF>", at: text.len() });
    tokens
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Returns the kind and the length in bytes of the first token.
fn first(text: &str) -> (TokenKind, usize) {
    let mut bytes = text.bytes();
    let head = bytes.next().unwrap_or_default();
    let second = bytes.next().unwrap_or_default();
    let run = |from: usize| {
        let tail = text.as_bytes().get(from..).unwrap_or_default();
        from + tail.iter().take_while(|byte| is_word(**byte)).count()
    };
    match head {
        b'#' if is_word(second) => (TokenKind::NameRef, run(1)),
        b':' if is_word(second) => (TokenKind::ValueRef, run(1)),
        b'0'..=b'9' => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            (TokenKind::Digits, digits)
        }
        b'a'..=b'z' | b'A'..=b'Z' => (TokenKind::Word, run(0)),
        b'<' if second == b'>' => (TokenKind::Comparison(Comparison::NotEqual), 2),
        b'<' if second == b'=' => (TokenKind::Comparison(Comparison::LessOrEqual), 2),
        b'>' if second == b'=' => (TokenKind::Comparison(Comparison::GreaterOrEqual), 2),
        b'<' => (TokenKind::Comparison(Comparison::Less), 1),
        b'>' => (TokenKind::Comparison(Comparison::Greater), 1),
        b'=' => (TokenKind::Comparison(Comparison::Equal), 1),
        b'(' => (TokenKind::LeftParen, 1),
        b')' => (TokenKind::RightParen, 1),
        b'[' => (TokenKind::LeftBracket, 1),
        b']' => (TokenKind::RightBracket, 1),
        b',' => (TokenKind::Comma, 1),
        b'.' => (TokenKind::Dot, 1),
        b'+' => (TokenKind::Plus, 1),
        b'-' => (TokenKind::Minus, 1),
        _ => (TokenKind::Unknown, text.chars().next().map_or(1, char::len_utf8)),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
