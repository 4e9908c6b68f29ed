//! Conditions, filters and key conditions.
//!
//! ```text
//! condition ::= all ("OR" all)*
//! all       ::= one ("AND" one)*
//! one       ::= "NOT" one | test
//! test      ::= operand
//!             | operand operator operand
//!             | operand "BETWEEN" operand "AND" operand
//!             | operand "IN" "(" operand ("," operand)* ")"
//! operand   ::= path | value-ref | function | "(" condition ")"
//! ```
//!
//! A parenthesized operand and a parenthesized condition start alike, so both are parsed as
//! conditions, and misplaced ones are rejected afterwards.

use super::super::ExpressionError;
use super::super::lexer::TokenKind;
use super::Node;
use super::cursor::Cursor;

/// The most operands of `IN`.
const CHOICES_MAX: usize = 100;

/// Parses a condition.
pub(in crate::expression) fn condition(text: &str) -> Result<Node<'_>, ExpressionError> {
    let mut cursor = Cursor::new(text);
    let node = any(&mut cursor)?;
    if cursor.peek() != TokenKind::End {
        return Err(cursor.syntax_error());
    }
    let node = as_condition(&cursor, node)?;
    if cursor.has_redundant_parens {
        return Err(ExpressionError::new("The expression has redundant parentheses;"));
    }
    Ok(node)
}

fn any<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let first = all(cursor)?;
    if !cursor.is_at_word("OR") {
        return Ok(first);
    }
    let mut parts = vec![as_condition(cursor, first)?];
    while cursor.eat_word("OR") {
        cursor.count_operator()?;
        let part = all(cursor)?;
        parts.push(as_condition(cursor, part)?);
    }
    Ok(Node::Or(parts))
}

fn all<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let first = one(cursor)?;
    if !cursor.is_at_word("AND") {
        return Ok(first);
    }
    let mut parts = vec![as_condition(cursor, first)?];
    while cursor.eat_word("AND") {
        cursor.count_operator()?;
        let part = one(cursor)?;
        parts.push(as_condition(cursor, part)?);
    }
    Ok(Node::And(parts))
}

fn one<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    if !cursor.eat_word("NOT") {
        return test(cursor);
    }
    cursor.count_operator()?;
    let inner = cursor.nested(one)?;
    Ok(Node::Not(Box::new(as_condition(cursor, inner)?)))
}

fn test<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let left = operand(cursor)?;
    if let TokenKind::Comparison(comparison) = cursor.peek() {
        let left = as_operand(cursor, left)?;
        cursor.eat(TokenKind::Comparison(comparison));
        cursor.count_operator()?;
        let right = plain_operand(cursor)?;
        return Ok(Node::Compare(Box::new([left, right]), comparison));
    }
    if cursor.is_at_word("BETWEEN") {
        let left = as_operand(cursor, left)?;
        cursor.eat_word("BETWEEN");
        cursor.count_operator()?;
        let low = plain_operand(cursor)?;
        if !cursor.eat_word("AND") {
            return Err(cursor.syntax_error());
        }
        let high = plain_operand(cursor)?;
        return Ok(Node::Between(Box::new([left, low, high])));
    }
    if cursor.is_at_word("IN") {
        let left = as_operand(cursor, left)?;
        cursor.eat_word("IN");
        cursor.count_operator()?;
        return choices(cursor).map(|choices| Node::In(Box::new(left), choices));
    }
    Ok(left)
}

fn choices<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Node<'a>>, ExpressionError> {
    cursor.require(TokenKind::LeftParen)?;
    let choices = cursor.list(plain_operand)?;
    cursor.require(TokenKind::RightParen)?;
    if choices.len() > CHOICES_MAX {
        return Err(ExpressionError::new(format!(
            "The IN operator is provided with too many operands; number of operands: {}",
            choices.len()
        )));
    }
    Ok(choices)
}

/// Parses an operand or a parenthesized condition.
fn operand<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    match cursor.peek() {
        TokenKind::LeftParen => parenthesized(cursor),
        TokenKind::ValueRef => cursor.value().map(Node::Value),
        _ if cursor.is_at_function() => cursor.function(plain_operand),
        _ => cursor.path().map(Node::Path),
    }
}

fn plain_operand<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let node = operand(cursor)?;
    as_operand(cursor, node)
}

/// Parses parentheses. `((a))` is redundant, `((a) AND (b))` is not.
fn parenthesized<'a>(cursor: &mut Cursor<'a>) -> Result<Node<'a>, ExpressionError> {
    let open = cursor.position();
    cursor.require(TokenKind::LeftParen)?;
    let inner = cursor.nested(any)?;
    cursor.require(TokenKind::RightParen)?;
    cursor.close_parens(open);
    Ok(inner)
}

fn as_condition<'a>(cursor: &Cursor<'a>, node: Node<'a>) -> Result<Node<'a>, ExpressionError> {
    if node.is_condition() { Ok(node) } else { Err(cursor.syntax_error()) }
}

fn as_operand<'a>(cursor: &Cursor<'a>, node: Node<'a>) -> Result<Node<'a>, ExpressionError> {
    if node.is_operand() { Ok(node) } else { Err(cursor.syntax_error()) }
}
