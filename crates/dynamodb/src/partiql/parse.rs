//! Parses statements.
//!
//! ```text
//! statement ::= (select | exists | insert | update | delete) ";"?
//! select    ::= "SELECT" ("*" | any ("," any)*) "FROM" source ("WHERE" any)?
//!               ("ORDER" "BY" order ("," order)*)?
//! order     ::= any ("ASC" | "DESC")?
//! exists    ::= "EXISTS" "(" select ")"
//! insert    ::= "INSERT" "INTO" source "VALUE" any
//! update    ::= "UPDATE" source change+ ("WHERE" any)? returning?
//!             | "FROM" source ("WHERE" any)? change+ returning?
//! change    ::= "SET" path "=" any ("," path "=" any)* | "REMOVE" path ("," path)*
//! delete    ::= "DELETE" "FROM" source ("WHERE" any)? returning?
//! returning ::= "RETURNING" ("ALL" | "MODIFIED") ("OLD" | "NEW") "*"
//! source    ::= name ("." name)*
//! ```

use keyloom_value::Comparison;

use super::StatementError;
use super::cursor::Cursor;
use super::expr::{any, path};
use super::lexer::TokenKind;
use super::syntax::{
    Expr, RawDelete, RawInsert, RawOrder, RawPath, RawReturning, RawSelect, RawUpdate, Source,
    Statement,
};

/// Parses a statement.
pub(super) fn parse(text: &str) -> Result<Statement<'_>, StatementError> {
    let mut cursor = Cursor::new(text)?;
    let statement = statement(&mut cursor)?;
    cursor.eat(&TokenKind::Semicolon);
    if *cursor.peek() != TokenKind::End {
        return Err(leftover());
    }
    Ok(statement)
}

fn statement<'a>(cursor: &mut Cursor<'a>) -> Result<Statement<'a>, StatementError> {
    if cursor.is_at_word("SELECT") {
        return select(cursor).map(Statement::Select);
    }
    if cursor.is_at_word("EXISTS") && *cursor.peek_second() == TokenKind::LeftParen {
        cursor.skip();
        cursor.skip();
        let select = select(cursor)?;
        cursor.require(&TokenKind::RightParen)?;
        return Ok(Statement::Exists(select));
    }
    if cursor.eat_word("INSERT") {
        return insert(cursor).map(Statement::Insert);
    }
    if cursor.eat_word("UPDATE") {
        return update(cursor).map(Statement::Update);
    }
    if cursor.eat_word("FROM") {
        return update_from(cursor).map(Statement::Update);
    }
    if cursor.eat_word("DELETE") {
        return delete(cursor).map(Statement::Delete);
    }
    Err(StatementError::malformed("Expected data manipulation"))
}

fn select<'a>(cursor: &mut Cursor<'a>) -> Result<RawSelect<'a>, StatementError> {
    cursor.require_word("SELECT")?;
    for word in ["VALUE", "DISTINCT", "PIVOT"] {
        if cursor.is_at_word(word) {
            return Err(unsupported_clause(word));
        }
    }
    let columns = columns(cursor)?;
    cursor.require_word("FROM")?;
    let from = source(cursor).ok_or_else(|| cursor.unexpected())?;
    refuse_alias(cursor)?;
    let filter = filter(cursor)?;
    for word in ["GROUP", "HAVING", "LIMIT", "OFFSET", "LET"] {
        if cursor.is_at_word(word) {
            return Err(unsupported_clause(word));
        }
    }
    let order = order(cursor)?;
    if cursor.is_at_word("LIMIT") {
        return Err(unsupported_clause("LIMIT"));
    }
    Ok(RawSelect { columns, from, filter, order })
}

fn columns<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Expr<'a>>, StatementError> {
    let mixed = || {
        StatementError::new(
            "Other attributes should not be present in the projection when '*' is used.",
        )
    };
    if cursor.eat(&TokenKind::Star) {
        return if *cursor.peek() == TokenKind::Comma { Err(mixed()) } else { Ok(vec![]) };
    }
    cursor.list(|cursor| {
        if *cursor.peek() == TokenKind::Star {
            return Err(mixed());
        }
        any(cursor)
    })
}

fn order<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<RawOrder<'a>>, StatementError> {
    if !cursor.eat_word("ORDER") {
        return Ok(vec![]);
    }
    cursor.require_word("BY")?;
    cursor.list(|cursor| {
        let term = any(cursor)?;
        let is_descending = cursor.eat_word("DESC");
        if !is_descending {
            cursor.eat_word("ASC");
        }
        Ok(RawOrder { term, is_descending })
    })
}

fn insert<'a>(cursor: &mut Cursor<'a>) -> Result<RawInsert<'a>, StatementError> {
    cursor.require_word("INTO")?;
    let into = source(cursor).ok_or_else(no_table)?;
    if !cursor.eat_word("VALUE") {
        return Err(match cursor.is_at_end() {
            true => cursor.unexpected(),
            false => leftover(),
        });
    }
    let value = any(cursor)?;
    let is_returning = returning(cursor)?.is_some();
    Ok(RawInsert { into, value, is_returning })
}

fn update<'a>(cursor: &mut Cursor<'a>) -> Result<RawUpdate<'a>, StatementError> {
    let table = source(cursor).ok_or_else(no_table)?;
    refuse_alias(cursor)?;
    let mut update = RawUpdate { table, ..RawUpdate::default() };
    changes(cursor, &mut update)?;
    update.filter = filter(cursor)?;
    update.returning = returning(cursor)?;
    Ok(update)
}

fn update_from<'a>(cursor: &mut Cursor<'a>) -> Result<RawUpdate<'a>, StatementError> {
    let table = source(cursor).ok_or_else(no_table)?;
    refuse_alias(cursor)?;
    let filter = filter(cursor)?;
    let mut update = RawUpdate { table, filter, ..RawUpdate::default() };
    changes(cursor, &mut update)?;
    update.returning = returning(cursor)?;
    Ok(update)
}

fn changes<'a>(cursor: &mut Cursor<'a>, update: &mut RawUpdate<'a>) -> Result<(), StatementError> {
    loop {
        if cursor.eat_word("SET") {
            update.set.extend(cursor.list(assignment)?);
        } else if cursor.eat_word("REMOVE") {
            update.remove.extend(cursor.list(path)?);
        } else if update.set.is_empty() && update.remove.is_empty() {
            return Err(StatementError::malformed("Expected data manipulation"));
        } else {
            return Ok(());
        }
    }
}

fn assignment<'a>(cursor: &mut Cursor<'a>) -> Result<(RawPath<'a>, Expr<'a>), StatementError> {
    let target = path(cursor)?;
    cursor.require(&TokenKind::Comparison(Comparison::Equal))?;
    Ok((target, any(cursor)?))
}

fn delete<'a>(cursor: &mut Cursor<'a>) -> Result<RawDelete<'a>, StatementError> {
    cursor.require_word("FROM")?;
    let from = source(cursor).ok_or_else(no_table)?;
    refuse_alias(cursor)?;
    let filter = filter(cursor)?;
    Ok(RawDelete { from, filter, returning: returning(cursor)? })
}

fn returning(cursor: &mut Cursor<'_>) -> Result<Option<RawReturning>, StatementError> {
    if !cursor.eat_word("RETURNING") {
        return Ok(None);
    }
    let is_modified = cursor.eat_word("MODIFIED");
    if !is_modified {
        cursor.require_word("ALL")?;
    }
    let is_new = cursor.eat_word("NEW");
    if !is_new {
        cursor.require_word("OLD")?;
    }
    cursor.require(&TokenKind::Star)?;
    Ok(Some(RawReturning { is_modified, is_new }))
}

/// Parses the name of a table or index.
fn source<'a>(cursor: &mut Cursor<'a>) -> Option<Source<'a>> {
    let mut names = vec![cursor.eat_name()?];
    while cursor.eat(&TokenKind::Dot) {
        names.push(cursor.eat_name()?);
    }
    Some(names)
}

fn filter<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Expr<'a>>, StatementError> {
    if !cursor.eat_word("WHERE") {
        return Ok(None);
    }
    any(cursor).map(Some)
}

fn refuse_alias(cursor: &mut Cursor<'_>) -> Result<(), StatementError> {
    let is_clause = ["RETURNING", "LIMIT", "OFFSET", "LET"];
    if is_clause.iter().any(|word| cursor.is_at_word(word)) {
        return Ok(());
    }
    if cursor.eat_word("AS") || cursor.eat_name().is_some() {
        return Err(StatementError::new("Aliasing is not supported"));
    }
    Ok(())
}

fn unsupported_clause(word: &str) -> StatementError {
    StatementError::new(format!("Unsupported clause: {word}"))
}

fn no_table() -> StatementError {
    StatementError::malformed("Expected identifier for simple path")
}

fn leftover() -> StatementError {
    StatementError::malformed("Unexpected token after expression")
}
