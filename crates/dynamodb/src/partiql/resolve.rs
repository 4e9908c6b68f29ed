//! Resolves a statement and its parameters to items, conditions and updates. What depends on the
//! table comes later (`key`, `plan`).

use std::borrow::Cow;

use keyloom_store::Returns;
use keyloom_value::{Condition, Item, Name, Path, Value};

use super::StatementError;
use super::condition::{filter, to_path};
use super::literal::Parameters;
use super::parse::parse;
use super::syntax::{
    Expr, ExprKind, RawDelete, RawInsert, RawOrder, RawPath, RawReturning, RawSelect, RawStep,
    RawUpdate, Source, Statement,
};
use super::update::changes;

/// A statement without unresolved names.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    Select(Select),
    /// A condition check: the item exists and satisfies the condition.
    Exists(Select),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) columns: Columns,
    pub(crate) filter: Option<Condition>,
    pub(crate) order: Vec<Order>,
}

/// What a `SELECT` returns.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    All,
    Listed(Vec<Column>),
    /// Something that DynamoDB does not compute; the message says what.
    Unsupported(StatementError),
}

/// A path, and the name under which its value is returned.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) path: Path,
    pub(crate) name: Name,
}

#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) attribute: Name,
    pub(crate) is_descending: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Insert {
    pub(crate) table: String,
    pub(crate) item: Item,
}

#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) table: String,
    pub(crate) changes: keyloom_value::Update,
    pub(crate) filter: Option<Condition>,
    pub(crate) returning: Returning,
}

#[derive(Clone, Debug)]
pub(crate) struct Delete {
    pub(crate) table: String,
    pub(crate) filter: Option<Condition>,
    pub(crate) returning: Returning,
}

/// The image that a `RETURNING` clause names; `Returns::Nothing` without one.
pub(crate) type Returning = Returns;

impl Resolved {
    /// Whether the statement reads and does not write. A condition check belongs to writes.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Resolved::Select(_))
    }

    /// Returns the table that it names.
    pub(crate) fn table(&self) -> &str {
        match self {
            Resolved::Select(select) | Resolved::Exists(select) => &select.table,
            Resolved::Insert(insert) => &insert.table,
            Resolved::Update(update) => &update.table,
            Resolved::Delete(delete) => &delete.table,
        }
    }
}

/// Parses and resolves a statement.
pub(crate) fn resolve(text: &str, parameters: &[Value]) -> Result<Resolved, StatementError> {
    let parameters = Parameters(parameters);
    Ok(match parse(text)? {
        Statement::Select(raw) => Resolved::Select(select(raw, parameters)?),
        Statement::Exists(raw) => Resolved::Exists(select(raw, parameters)?),
        Statement::Insert(raw) => Resolved::Insert(insert(&raw, parameters)?),
        Statement::Update(raw) => Resolved::Update(update(&raw, parameters)?),
        Statement::Delete(raw) => Resolved::Delete(delete(&raw, parameters)?),
    })
}

fn select(raw: RawSelect<'_>, parameters: Parameters<'_>) -> Result<Select, StatementError> {
    check_components(&raw.from)?;
    let (table, index) = match raw.from.as_slice() {
        [table] => (table.to_string(), None),
        [table, index] => (table.to_string(), Some(index.to_string())),
        _ => {
            let why = "A path may contain at most 2 components in the FROM clause";
            return Err(StatementError::new(why));
        }
    };
    let condition = raw.filter.as_ref().map(|expr| filter(expr, parameters)).transpose()?;
    let columns = columns(&raw.columns);
    let order = raw.order.iter().map(order).collect::<Result<_, _>>()?;
    Ok(Select { table, index, columns, filter: condition, order })
}

fn columns(exprs: &[Expr<'_>]) -> Columns {
    if exprs.is_empty() {
        return Columns::All;
    }
    let mut columns: Vec<Column> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let ExprKind::Path(raw) = &expr.kind else {
            return Columns::Unsupported(StatementError::at("Unexpected path component", expr.at));
        };
        let name = column_name(raw);
        if columns.iter().any(|column| column.name == name) {
            let why = format!("Duplicate identifiers in select clause: {name}");
            return Columns::Unsupported(StatementError::new(why));
        }
        columns.push(Column { path: to_path(raw), name });
    }
    Columns::Listed(columns)
}

/// Returns the last name in the path, with the elements after it: `k[0]` for `m.k[0]`.
fn column_name(path: &RawPath<'_>) -> Name {
    let mut name = path.root.to_string();
    for step in &path.steps {
        match step {
            RawStep::Member(member) => name = member.to_string(),
            RawStep::Element(index) => name.push_str(&format!("[{index}]")),
        }
    }
    Name::from(name)
}

fn order(raw: &RawOrder<'_>) -> Result<Order, StatementError> {
    match &raw.term.kind {
        ExprKind::Path(path) if path.steps.is_empty() => {
            let attribute = Name::from(&*path.root);
            Ok(Order { attribute, is_descending: raw.is_descending })
        }
        _ => Err(StatementError::at("Unexpected path component", raw.term.at)),
    }
}

fn insert(raw: &RawInsert<'_>, parameters: Parameters<'_>) -> Result<Insert, StatementError> {
    check_components(&raw.into)?;
    let [table] = raw.into.as_slice() else {
        return Err(StatementError::new("FROM clause may only contain a single table name"));
    };
    if raw.is_returning {
        return Err(StatementError::new("RETURNING is not supported in INSERT"));
    }
    Ok(Insert { table: table.to_string(), item: parameters.item(&raw.value)? })
}

fn update(raw: &RawUpdate<'_>, parameters: Parameters<'_>) -> Result<Update, StatementError> {
    let table = written_table(&raw.table)?;
    let changes = changes(raw, parameters)?;
    let filter = raw.filter.as_ref().map(|expr| filter(expr, parameters)).transpose()?;
    Ok(Update { table, changes, filter, returning: returning(raw.returning) })
}

fn delete(raw: &RawDelete<'_>, parameters: Parameters<'_>) -> Result<Delete, StatementError> {
    let table = written_table(&raw.from)?;
    let filter = raw.filter.as_ref().map(|expr| filter(expr, parameters)).transpose()?;
    if let Some(clause) = raw.returning.filter(|clause| clause.is_modified || clause.is_new) {
        let scope = if clause.is_modified { "MODIFIED" } else { "ALL" };
        let image = if clause.is_new { "NEW" } else { "OLD" };
        return Err(StatementError::new(format!(
            "Invalid returning clause: RETURNING {scope} {image} *. Only RETURNING ALL OLD * is \
             allowed in DELETE statements."
        )));
    }
    Ok(Delete { table, filter, returning: returning(raw.returning) })
}

fn returning(clause: Option<RawReturning>) -> Returning {
    let Some(RawReturning { is_modified, is_new }) = clause else { return Returns::Nothing };
    match (is_modified, is_new) {
        (false, false) => Returns::AllOld,
        (false, true) => Returns::AllNew,
        (true, false) => Returns::UpdatedOld,
        (true, true) => Returns::UpdatedNew,
    }
}

fn written_table(source: &Source<'_>) -> Result<String, StatementError> {
    check_components(source)?;
    match source.as_slice() {
        [table] => Ok(table.to_string()),
        _ => Err(StatementError::new("This operation is not supported on an index")),
    }
}

fn check_components(source: &[Cow<'_, str>]) -> Result<(), StatementError> {
    if source.iter().any(|name| name.is_empty()) {
        return Err(StatementError::new("Path component cannot be an empty string"));
    }
    Ok(())
}
