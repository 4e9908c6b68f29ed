//! Parses expressions.
//!
//! ```text
//! any     ::= all ("OR" all)*
//! all     ::= one ("AND" one)*
//! one     ::= "NOT" one | test
//! test    ::= sum (comparison sum | "NOT"? "BETWEEN" sum "AND" sum | "NOT"? "IN" choices
//!                 | "IS" "NOT"? type)*
//! choices ::= "[" any ("," any)* "]" | "(" any ("," any)* ")"
//! sum     ::= term (("+" | "-") term)*
//! term    ::= ("+" | "-") term | text | number | "?" | "true" | "false" | "null" | "missing"
//!           | path | call | "(" any ")" | list | bag | map
//! list    ::= "[" (any ("," any)*)? "]"
//! bag     ::= "<<" (any ("," any)*)? ">>"
//! map     ::= "{" (any ":" any ("," any ":" any)*)? "}"
//! call    ::= word "(" ("*" | any ("," any)*)? ")"
//! path    ::= name ("." name | "[" number "]")*
//! ```

use keyloom_value::ValueType;

use super::StatementError;
use super::cursor::{Cursor, check_chain};
use super::keywords::is_reserved;
use super::lexer::TokenKind;
use super::syntax::{Arithmetic, Expr, ExprKind, RawPath, RawStep, TypeTest};

/// The most steps of a path.
const STEPS_MAX: usize = 32;

type Parsed<'a> = Result<Expr<'a>, StatementError>;

/// Parses an expression.
pub(super) fn any<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let first = all(cursor)?;
    if !cursor.is_at_word("OR") {
        return Ok(first);
    }
    let at = first.at;
    let mut parts = vec![first];
    while cursor.eat_word("OR") {
        parts.push(right_side(cursor, all)?);
    }
    Ok(Expr { kind: ExprKind::Or(parts), at })
}

fn all<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let first = one(cursor)?;
    if !cursor.is_at_word("AND") {
        return Ok(first);
    }
    let at = first.at;
    let mut parts = vec![first];
    while cursor.eat_word("AND") {
        parts.push(right_side(cursor, one)?);
    }
    Ok(Expr { kind: ExprKind::And(parts), at })
}

fn one<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let at = cursor.position();
    if !cursor.eat_word("NOT") {
        return test(cursor);
    }
    let inner = cursor.nested(one)?;
    Ok(Expr { kind: ExprKind::Not(Box::new(inner)), at })
}

fn test<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let mut left = sum(cursor)?;
    let at = left.at;
    let mut length = 0;
    loop {
        length += 1;
        check_chain(length)?;
        let is_negated = cursor.is_at_word("NOT")
            && (cursor.is_second_word("BETWEEN") || cursor.is_second_word("IN"));
        if is_negated {
            cursor.skip();
        }
        let kind = if let TokenKind::Comparison(comparison) = *cursor.peek() {
            cursor.skip();
            ExprKind::Compare(Box::new([left, right_side(cursor, sum)?]), comparison)
        } else if cursor.eat_word("BETWEEN") {
            let low = right_side(cursor, sum)?;
            cursor.require_word("AND")?;
            ExprKind::Between(Box::new([left, low, right_side(cursor, sum)?]))
        } else if cursor.eat_word("IN") {
            ExprKind::In(Box::new(left), choices(cursor)?)
        } else if cursor.eat_word("IS") {
            let is_negated = cursor.eat_word("NOT");
            let test = ExprKind::Is(Box::new(left), type_test(cursor)?);
            if is_negated { negated(Expr { kind: test, at }) } else { test }
        } else {
            return Ok(left);
        };
        let found = Expr { kind, at };
        left = if is_negated { Expr { kind: negated(found), at } } else { found };
    }
}

fn negated(inner: Expr<'_>) -> ExprKind<'_> {
    ExprKind::Not(Box::new(inner))
}

/// Parses the operand after an operator.
fn right_side<'a>(cursor: &mut Cursor<'a>, read: fn(&mut Cursor<'a>) -> Parsed<'a>) -> Parsed<'a> {
    if cursor.is_at_end() {
        let why = "Missing right-hand side expression of infix operator";
        return Err(StatementError::malformed(why));
    }
    read(cursor)
}

fn choices<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Expr<'a>>, StatementError> {
    if cursor.eat(&TokenKind::LeftBracket) {
        return cursor.list_until(&TokenKind::RightBracket, any);
    }
    cursor.require(&TokenKind::LeftParen)?;
    cursor.list_until(&TokenKind::RightParen, any)
}

/// Parses the name of a type; those that DynamoDB lacks are refused when they are resolved.
fn type_test(cursor: &mut Cursor<'_>) -> Result<TypeTest, StatementError> {
    let unknown = || StatementError::malformed("Expected type name");
    let TokenKind::Word(word) = *cursor.peek() else { return Err(unknown()) };
    let test = match word.to_ascii_lowercase().as_str() {
        "missing" => TypeTest::Missing,
        "null" => TypeTest::Type(ValueType::Null),
        "bool" | "boolean" => TypeTest::Type(ValueType::Bool),
        "string" => TypeTest::Type(ValueType::S),
        "numeric" => TypeTest::Type(ValueType::N),
        "blob" => TypeTest::Type(ValueType::B),
        "list" => TypeTest::Type(ValueType::L),
        "struct" | "tuple" => TypeTest::Type(ValueType::M),
        lower => {
            let known = OTHER_TYPES.iter().find(|(name, _)| *name == lower);
            TypeTest::Unsupported(known.ok_or_else(unknown)?.1)
        }
    };
    cursor.skip();
    for second in ["PRECISION", "VARYING"] {
        cursor.eat_word(second);
    }
    Ok(test)
}

/// The types of PartiQL that DynamoDB lacks, with the names in its message.
const OTHER_TYPES: &[(&str, &str)] = &[
    ("bag", "BAG"),
    ("char", "CHARACTER"),
    ("character", "CHARACTER"),
    ("clob", "CLOB"),
    ("date", "DATE"),
    ("dec", "DECIMAL"),
    ("decimal", "DECIMAL"),
    ("double", "DOUBLE_PRECISION"),
    ("float", "FLOAT"),
    ("int", "INTEGER"),
    ("int2", "INTEGER2"),
    ("int4", "INTEGER4"),
    ("int8", "INTEGER8"),
    ("integer", "INTEGER"),
    ("real", "REAL"),
    ("sexp", "SEXP"),
    ("smallint", "SMALLINT"),
    ("symbol", "SYMBOL"),
    ("time", "TIME"),
    ("timestamp", "TIMESTAMP"),
    ("varchar", "CHARACTER_VARYING"),
];

fn sum<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let mut left = term(cursor)?;
    let mut length = 0;
    loop {
        let arithmetic = match cursor.peek() {
            TokenKind::Plus => Arithmetic::Plus,
            TokenKind::Minus => Arithmetic::Minus,
            _ => return Ok(left),
        };
        length += 1;
        check_chain(length)?;
        cursor.skip();
        let at = left.at;
        let pair = Box::new([left, right_side(cursor, term)?]);
        left = Expr { kind: ExprKind::Arithmetic(pair, arithmetic), at };
    }
}

fn term<'a>(cursor: &mut Cursor<'a>) -> Parsed<'a> {
    let at = cursor.position();
    let kind = match cursor.peek().clone() {
        TokenKind::Plus => {
            cursor.skip();
            cursor.nested(term)?.kind
        }
        TokenKind::Minus => {
            cursor.skip();
            opposite(cursor.nested(term)?)
        }
        TokenKind::LeftParen => {
            cursor.skip();
            let inner = cursor.nested(any)?;
            cursor.require(&TokenKind::RightParen)?;
            inner.kind
        }
        TokenKind::Word(_) | TokenKind::Quoted(_) => named(cursor)?,
        _ => literal(cursor)?,
    };
    Ok(Expr { kind, at })
}

fn opposite(operand: Expr<'_>) -> ExprKind<'_> {
    match operand.kind {
        ExprKind::Number(text) => ExprKind::Number(match text.strip_prefix('-') {
            Some(positive) => positive.to_owned(),
            None => format!("-{text}"),
        }),
        _ => ExprKind::Negated,
    }
}

/// Parses what begins with a word: a constant, a call or a path.
fn named<'a>(cursor: &mut Cursor<'a>) -> Result<ExprKind<'a>, StatementError> {
    if let TokenKind::Word(word) = *cursor.peek() {
        let constant = match word.to_ascii_lowercase().as_str() {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" => Some(ExprKind::Null),
            "missing" => Some(ExprKind::Missing),
            _ => None,
        };
        if let Some(constant) = constant {
            cursor.skip();
            return Ok(constant);
        }
        if is_function(word) && *cursor.peek_second() == TokenKind::LeftParen {
            return call(cursor, word);
        }
    }
    path(cursor).map(ExprKind::Path)
}

/// Words that are reserved, and still functions.
fn is_function(word: &str) -> bool {
    let reserved = ["count", "exists", "size", "sum", "avg", "min", "max", "lower", "upper"];
    !is_reserved(word) || reserved.iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn call<'a>(cursor: &mut Cursor<'a>, word: &str) -> Result<ExprKind<'a>, StatementError> {
    cursor.skip();
    cursor.skip();
    let name = word.to_ascii_lowercase();
    let is_all = *cursor.peek() == TokenKind::Star;
    if is_all && *cursor.peek_second() == TokenKind::RightParen {
        cursor.skip();
    }
    let arguments = cursor.list_until(&TokenKind::RightParen, any)?;
    Ok(ExprKind::Call { name, arguments })
}

fn literal<'a>(cursor: &mut Cursor<'a>) -> Result<ExprKind<'a>, StatementError> {
    let kind = match cursor.peek().clone() {
        TokenKind::Text(text) => ExprKind::Text(text),
        TokenKind::Number(text) => ExprKind::Number(text.to_owned()),
        TokenKind::Parameter => return Ok(ExprKind::Parameter(cursor.parameter())),
        TokenKind::LeftBracket => {
            cursor.skip();
            return cursor.list_until(&TokenKind::RightBracket, any).map(ExprKind::List);
        }
        TokenKind::LeftBag => {
            cursor.skip();
            return cursor.list_until(&TokenKind::RightBag, any).map(ExprKind::Bag);
        }
        TokenKind::LeftBrace => {
            cursor.skip();
            return cursor.list_until(&TokenKind::RightBrace, member).map(ExprKind::Map);
        }
        _ => return Err(cursor.unexpected()),
    };
    cursor.skip();
    Ok(kind)
}

fn member<'a>(cursor: &mut Cursor<'a>) -> Result<(Expr<'a>, Expr<'a>), StatementError> {
    let name = any(cursor)?;
    cursor.require(&TokenKind::Colon)?;
    Ok((name, any(cursor)?))
}

/// Parses a document path.
pub(super) fn path<'a>(cursor: &mut Cursor<'a>) -> Result<RawPath<'a>, StatementError> {
    let root = cursor.eat_name().ok_or_else(|| cursor.unexpected())?;
    let mut steps = Vec::new();
    loop {
        if cursor.eat(&TokenKind::Dot) {
            let why = || StatementError::malformed("Invalid path dot component");
            steps.push(RawStep::Member(cursor.eat_name().ok_or_else(why)?));
        } else if cursor.eat(&TokenKind::LeftBracket) {
            steps.push(RawStep::Element(element(cursor)?));
            cursor.require(&TokenKind::RightBracket)?;
        } else {
            break;
        }
    }
    if steps.len() >= STEPS_MAX {
        return Err(StatementError::new(format!(
            "The document path has too many nesting elements; nesting limit: {STEPS_MAX}"
        )));
    }
    Ok(RawPath { root, steps })
}

fn element(cursor: &mut Cursor<'_>) -> Result<usize, StatementError> {
    let is_negative = cursor.eat(&TokenKind::Minus);
    let at = cursor.position();
    let TokenKind::Number(text) = *cursor.peek() else {
        return Err(StatementError::at("Unexpected path component", at));
    };
    cursor.skip();
    let index = text.parse::<i32>().ok().and_then(|index| usize::try_from(index).ok());
    match index {
        Some(index) if !is_negative || index == 0 => Ok(index),
        _ => {
            let sign = if is_negative { "-" } else { "" };
            let why =
                format!("List index is not within the allowable range; index: [{sign}{text}]");
            Err(StatementError::at(why, at))
        }
    }
}
