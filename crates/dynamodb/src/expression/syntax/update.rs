//! Updates and projections.
//!
//! ```text
//! update     ::= section+
//! section    ::= "SET" set ("," set)* | "REMOVE" path ("," path)*
//!              | "ADD" change ("," change)* | "DELETE" change ("," change)*
//! set        ::= path "=" (sum | "(" sum ")")
//! sum        ::= term (("+" | "-") term)?
//! term       ::= operand | "(" operand ")"
//! operand    ::= path | value-ref | word "(" (term ("," term)*)? ")"
//! change     ::= path value-ref
//! projection ::= path ("," path)*
//! ```

use super::super::ExpressionError;
use super::super::lexer::TokenKind;
use super::cursor::Cursor;
use super::{Arithmetic, Node, RawPath};

/// The syntax tree of an update.
#[derive(Debug, Default)]
pub(in crate::expression) struct RawUpdate<'a> {
    pub(in crate::expression) set: Vec<(RawPath<'a>, Node<'a>)>,
    pub(in crate::expression) remove: Vec<RawPath<'a>>,
    /// Paths, with placeholders of values.
    pub(in crate::expression) add: Vec<(RawPath<'a>, &'a str)>,
    pub(in crate::expression) delete: Vec<(RawPath<'a>, &'a str)>,
    /// A section that occurs twice.
    pub(in crate::expression) repeated: Option<&'static str>,
}

/// Parses an update.
pub(in crate::expression) fn update(text: &str) -> Result<RawUpdate<'_>, ExpressionError> {
    let mut cursor = Cursor::new(text);
    let mut update = RawUpdate::default();
    section(&mut cursor, &mut update)?;
    while cursor.peek() != TokenKind::End {
        section(&mut cursor, &mut update)?;
    }
    Ok(update)
}

/// Parses a projection.
pub(in crate::expression) fn projection(text: &str) -> Result<Vec<RawPath<'_>>, ExpressionError> {
    let mut cursor = Cursor::new(text);
    let paths = cursor.list(Cursor::path)?;
    if cursor.peek() != TokenKind::End {
        return Err(cursor.syntax_error());
    }
    Ok(paths)
}

fn section<'a>(cursor: &mut Cursor<'a>, update: &mut RawUpdate<'a>) -> Result<(), ExpressionError> {
    let repeated = if cursor.eat_word("SET") {
        extend(&mut update.set, cursor.list(set)?).then_some("SET")
    } else if cursor.eat_word("REMOVE") {
        extend(&mut update.remove, cursor.list(Cursor::path)?).then_some("REMOVE")
    } else if cursor.eat_word("ADD") {
        extend(&mut update.add, cursor.list(change)?).then_some("ADD")
    } else if cursor.eat_word("DELETE") {
        extend(&mut update.delete, cursor.list(change)?).then_some("DELETE")
    } else {
        return Err(cursor.syntax_error());
    };
    update.repeated = update.repeated.or(repeated);
    Ok(())
}

/// Appends to `parts`; returns whether it had elements before.
fn extend<T>(parts: &mut Vec<T>, more: Vec<T>) -> bool {
    let is_repeated = !parts.is_empty();
    parts.extend(more);
    is_repeated
}

fn set<'a>(cursor: &mut Cursor<'a>) -> Result<(RawPath<'a>, Node<'a>), ExpressionError> {
    let path = cursor.path()?;
    cursor.require(TokenKind::Comparison(keyloom_value::Comparison::Equal))?;
    Ok((path, set_value(cursor)?))
}

fn change<'a>(cursor: &mut Cursor<'a>) -> Result<(RawPath<'a>, &'a str), ExpressionError> {
    Ok((cursor.path()?, cursor.value()?))
}

fn set_value<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    if cursor.peek() == TokenKind::LeftParen && cursor.holds_sum() {
        cursor.require(TokenKind::LeftParen)?;
        let inner = sum(cursor)?;
        cursor.require(TokenKind::RightParen)?;
        return Ok(inner);
    }
    sum(cursor)
}

fn sum<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let left = term(cursor)?;
    let arithmetic = match cursor.peek() {
        TokenKind::Plus => Arithmetic::Plus,
        TokenKind::Minus => Arithmetic::Minus,
        _ => return Ok(left),
    };
    cursor.eat(cursor.peek());
    cursor.count_operator()?;
    let right = term(cursor)?;
    Ok(Node::Arithmetic(Box::new([left, right]), arithmetic))
}

fn term<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    if !cursor.eat(TokenKind::LeftParen) {
        return operand(cursor);
    }
    let inner = operand(cursor)?;
    cursor.require(TokenKind::RightParen)?;
    Ok(inner)
}

fn operand<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    match cursor.peek() {
        TokenKind::ValueRef => cursor.value().map(Node::Value),
        _ if cursor.is_at_function() => cursor.function(term),
        _ => cursor.path().map(Node::Path),
    }
}
