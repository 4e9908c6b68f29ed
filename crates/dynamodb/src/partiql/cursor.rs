//! A position in the tokens of a statement.

use std::borrow::Cow;

use super::StatementError;
use super::keywords::is_reserved;
use super::lexer::{Token, TokenKind, tokens};
use super::position::Position;

/// The deepest nesting of expressions, and the longest chain of operators that is not a list.
/// Every level takes stack frames.
const DEPTH_MAX: usize = 150;

/// Reads one statement.
pub(super) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    parameters: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Result<Cursor<'a>, StatementError> {
        Ok(Cursor { tokens: tokens(text)?, at: 0, depth: 0, parameters: 0 })
    }

    pub(super) fn peek(&self) -> &TokenKind<'a> {
        self.kind(self.at)
    }

    pub(super) fn peek_second(&self) -> &TokenKind<'a> {
        self.kind(self.at + 1)
    }

    fn kind(&self, at: usize) -> &TokenKind<'a> {
        self.tokens.get(at).map_or(&TokenKind::End, |token| &token.kind)
    }

    /// Returns where the next token is.
    pub(super) fn position(&self) -> Position {
        let last = self.tokens.len().saturating_sub(1);
        let token = self.tokens.get(self.at.min(last));
        token.map_or(Position { line: 1, column: 1, length: 0 }, |token| token.at)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn eat(&mut self, kind: &TokenKind<'_>) -> bool {
        let found = self.peek() == kind;
        self.at += usize::from(found);
        found
    }

    pub(super) fn require(&mut self, kind: &TokenKind<'_>) -> Result<(), StatementError> {
        if self.eat(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Returns whether the next token is the word, in any case.
    pub(super) fn is_at_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_second_word(&self, word: &str) -> bool {
        matches!(self.peek_second(), TokenKind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_at_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn require_word(&mut self, word: &str) -> Result<(), StatementError> {
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Returns whether the statement ends here.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.peek(), TokenKind::End | TokenKind::Semicolon)
    }

    /// Takes a name: a word that is not reserved, or anything in double quotes.
    pub(super) fn eat_name(&mut self) -> Option<Cow<'a, str>> {
        let name = match self.peek() {
            TokenKind::Word(word) if !is_reserved(word) => Cow::Borrowed(*word),
            TokenKind::Quoted(name) => name.clone(),
            _ => return None,
        };
        self.at += 1;
        Some(name)
    }

    /// Returns the number of the parameter at the next token, and takes it.
    pub(super) fn parameter(&mut self) -> usize {
        self.at += 1;
        self.parameters += 1;
        self.parameters - 1
    }

    /// Returns the error for a next token that starts no term.
    pub(super) fn unexpected(&self) -> StatementError {
        StatementError::malformed(match self.peek() {
            TokenKind::Comparison(_) | TokenKind::Plus | TokenKind::Minus | TokenKind::Star => {
                "Unexpected operator"
            }
            TokenKind::Word(word) if is_operator(word) => "Unexpected operator",
            TokenKind::Word(word) if is_reserved(word) => "Unexpected keyword",
            _ => "Unexpected term",
        })
    }

    /// Runs `read` one nesting level deeper.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, StatementError>,
    ) -> Result<T, StatementError> {
        if self.depth == DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads one or more elements, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, StatementError>,
    ) -> Result<Vec<T>, StatementError> {
        let mut elements = vec![read(self)?];
        while self.eat(&TokenKind::Comma) {
            elements.push(read(self)?);
        }
        Ok(elements)
    }

    /// Reads any number of elements up to `end`, which it takes.
    pub(super) fn list_until<T>(
        &mut self,
        end: &TokenKind<'_>,
        read: impl FnMut(&mut Self) -> Result<T, StatementError>,
    ) -> Result<Vec<T>, StatementError> {
        if self.eat(end) {
            return Ok(vec![]);
        }
        let elements = self.nested(|cursor| cursor.list(read))?;
        self.require(end)?;
        Ok(elements)
    }
}

/// Counts the operators of a chain such as `a + b + c`, whose tree is as deep as it is long.
pub(super) fn check_chain(length: usize) -> Result<(), StatementError> {
    if length > DEPTH_MAX { Err(too_deep()) } else { Ok(()) }
}

fn too_deep() -> StatementError {
    StatementError::malformed(&format!("The statement is nested deeper than {DEPTH_MAX} levels"))
}

fn is_operator(word: &str) -> bool {
    let operators = ["and", "or", "is", "like", "in", "between"];
    operators.iter().any(|operator| word.eq_ignore_ascii_case(operator))
}
