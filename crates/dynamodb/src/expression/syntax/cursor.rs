//! A position in the token stream, and the syntax that all languages share.
//!
//! ```text
//! path     ::= name ("." name | "[" digits "]")*
//! name     ::= word | name-ref
//! function ::= word "(" (operand ("," operand)*)? ")"
//! ```

use super::super::ExpressionError;
use super::super::lexer::{Token, TokenKind, tokens};
use super::{Node, RawPath, RawStep};

/// The most operators and functions of an expression.
const OPERATORS_MAX: usize = 300;
/// The deepest nesting of parentheses, functions and `NOT`. Every level takes stack frames.
const DEPTH_MAX: usize = 150;
/// The most steps of a path.
const STEPS_MAX: usize = 32;

/// Reads one expression.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    operators: usize,
    /// The positions of the pair of parentheses closed last.
    last_parens: Option<(usize, usize)>,
    /// Whether a pair of parentheses directly encloses another.
    pub(super) has_redundant_parens: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        let tokens = tokens(text);
        Cursor {
            text,
            tokens,
            at: 0,
            depth: 0,
            operators: 0,
            last_parens: None,
            has_redundant_parens: false,
        }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Records that the last token closed the parentheses opened at `open`.
    pub(super) fn close_parens(&mut self, open: usize) {
        let close = self.at - 1;
        self.has_redundant_parens |= self.last_parens == Some((open + 1, close - 1));
        self.last_parens = Some((open, close));
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.token(self.at).kind
    }

    fn peek_second(&self) -> TokenKind {
        self.token(self.at + 1).kind
    }

    /// Returns the token at the position, or `End` if it is beyond the last.
    fn token(&self, at: usize) -> Token<'a> {
        let end = Token { kind: TokenKind::End, text: "<EOF>", at: self.text.len() };
        self.tokens.get(at).copied().unwrap_or(end)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.token(self.at);
        self.at += 1;
        token
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        self.at += usize::from(found);
        found
    }

    pub(super) fn require(&mut self, kind: TokenKind) -> Result<(), ExpressionError> {
        if self.eat(kind) { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// Returns whether the next token is the word, case-insensitively.
    pub(super) fn is_at_word(&self, word: &str) -> bool {
        let token = self.token(self.at);
        token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_at_word(word);
        self.at += usize::from(found);
        found
    }

    /// Returns the error for an unexpected next token, quoting its neighbours.
    pub(super) fn syntax_error(&self) -> ExpressionError {
        let token = self.token(self.at);
        let from = self.token(self.at.saturating_sub(1)).at.min(token.at);
        let next = self.token(self.at + 1);
        let to = match next.kind {
            TokenKind::End => self.text.len(),
            _ => next.at + next.text.len(),
        };
        let near = self.text.get(from..to).unwrap_or_default();
        ExpressionError::new(format!("Syntax error; token: \"{}\", near: \"{near}\"", token.text))
    }

    /// Runs `read` one nesting level deeper.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        if self.depth == DEPTH_MAX {
            return Err(ExpressionError::new(format!(
                "The expression is nested too deeply; nesting limit: {DEPTH_MAX}"
            )));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn count_operator(&mut self) -> Result<(), ExpressionError> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(ExpressionError::new(format!(
                "The expression contains too many operators; operator count: {}",
                self.operators
            )));
        }
        Ok(())
    }

    /// Reads one or more elements, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<Vec<T>, ExpressionError> {
        let mut elements = vec![read(self)?];
        while self.eat(TokenKind::Comma) {
            elements.push(read(self)?);
        }
        Ok(elements)
    }

    /// Whether the parentheses that open here hold a `+` or `-` that is in no inner ones.
    pub(super) fn holds_sum(&self) -> bool {
        let mut depth = 0_usize;
        for token in self.tokens.iter().skip(self.at) {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen if depth <= 1 => return false,
                TokenKind::RightParen => depth -= 1,
                TokenKind::Plus | TokenKind::Minus if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }

    pub(super) fn is_at_function(&self) -> bool {
        self.peek() == TokenKind::Word && self.peek_second() == TokenKind::LeftParen
    }

    /// Reads a function call; `argument` reads one argument.
    pub(super) fn function(
        &mut self,
        argument: fn(&mut Self) -> Result<Node<'a>, ExpressionError>,
    ) -> Result<Node<'a>, ExpressionError> {
        self.count_operator()?;
        let name = self.take().text;
        self.require(TokenKind::LeftParen)?;
        if self.eat(TokenKind::RightParen) {
            return Ok(Node::Function { name, arguments: vec![] });
        }
        let arguments = self.nested(|cursor| cursor.list(argument))?;
        self.require(TokenKind::RightParen)?;
        Ok(Node::Function { name, arguments })
    }

    /// Reads the placeholder of a value.
    pub(super) fn value(&mut self) -> Result<&'a str, ExpressionError> {
        match self.peek() {
            TokenKind::ValueRef => Ok(self.take().text),
            _ => Err(self.syntax_error()),
        }
    }

    pub(super) fn path(&mut self) -> Result<RawPath<'a>, ExpressionError> {
        let root = self.name()?;
        let mut steps = Vec::new();
        loop {
            match self.peek() {
                TokenKind::Dot => {
                    self.at += 1;
                    steps.push(RawStep::Member(self.name()?));
                }
                TokenKind::LeftBracket => {
                    self.at += 1;
                    steps.push(RawStep::Element(self.index()?));
                    self.require(TokenKind::RightBracket)?;
                }
                _ => break,
            }
        }
        if steps.len() >= STEPS_MAX {
            return Err(ExpressionError::new(format!(
                "The document path has too many nesting elements; nesting limit: {STEPS_MAX}"
            )));
        }
        Ok(RawPath { root, steps })
    }

    fn name(&mut self) -> Result<&'a str, ExpressionError> {
        match self.peek() {
            TokenKind::Word | TokenKind::NameRef => Ok(self.take().text),
            _ => Err(self.syntax_error()),
        }
    }

    fn index(&mut self) -> Result<usize, ExpressionError> {
        let token = self.token(self.at);
        if token.kind != TokenKind::Digits {
            return Err(self.syntax_error());
        }
        let index = token.text.parse::<u32>().map_err(|_| {
            ExpressionError::new(format!(
                "List index is not within the allowable range; index: [{}]",
                token.text
            ))
        })?;
        self.at += 1;
        Ok(index as usize)
    }
}
