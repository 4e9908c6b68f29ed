//! `BatchExecuteStatement`: statements that succeed or fail one by one.

use keyloom_store::{Get, TableSpec, TransactAction};
use keyloom_value::Item;

use crate::json::Writer;
use crate::partiql::{Columns, Resolved};
use crate::units;
use crate::wire::{Fault, FaultCode, write_item};

use super::Endpoint;
use super::capacity::{self, Consumed, Detail, Use};
use super::params::Params;
use super::refusal::{self, RequestKind};
use super::statement::{StatementParams, statement_fault};
use super::statement_read::{selected, single_key};
use super::statement_write::{self, KeyRule};
use super::violations::{CAPACITY, Violations};

const STATEMENTS_MAX: usize = 25;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let detail = Detail::read(&params)?;
    let statements = read(params)?;
    let resolved: Vec<Result<Resolved, Fault>> = statements.iter().map(resolve).collect();
    let known = || resolved.iter().flatten();
    if known().any(Resolved::is_read) && known().any(|statement| !statement.is_read()) {
        return Err(Fault::validation(
            "BatchExecuteStatement API does not support both read and write operations in the \
             same request.",
        ));
    }
    let mut answers = Vec::with_capacity(statements.len());
    for (statement, resolved) in statements.iter().zip(resolved) {
        answers.push(answer(endpoint, statement, resolved, detail).await);
    }
    Ok(response(&answers, detail))
}

/// The result of one statement.
struct Answer {
    /// Absent if the statement was refused before it ran.
    table: Option<String>,
    result: Result<Option<Item>, Fault>,
    consumed: Option<Consumed>,
}

/// A statement that fits its table.
enum Prepared {
    Read { get: Get, columns: Columns },
    Write(TransactAction),
}

fn resolve(statement: &StatementParams<'_>) -> Result<Resolved, Fault> {
    statement.resolve(statement.values()?).map_err(statement_fault)
}

async fn answer(
    endpoint: &Endpoint,
    statement: &StatementParams<'_>,
    resolved: Result<Resolved, Fault>,
    detail: Detail,
) -> Answer {
    let prepared = match resolved {
        Ok(resolved) => prepare(endpoint, statement, resolved).await,
        Err(fault) => Err(fault),
    };
    let (spec, prepared) = match prepared {
        Ok(prepared) => prepared,
        Err(fault) => return Answer { table: None, result: Err(fault), consumed: None },
    };
    let done = execute(endpoint, &spec, prepared, detail).await;
    let table = Some(spec.name.to_string());
    match done {
        Ok((item, consumed)) => Answer { table, result: Ok(item), consumed },
        Err(fault) => Answer { table, result: Err(fault), consumed: None },
    }
}

async fn prepare(
    endpoint: &Endpoint,
    statement: &StatementParams<'_>,
    resolved: Resolved,
) -> Result<(TableSpec, Prepared), Fault> {
    let spec = endpoint.statement_table(resolved.table()).await?;
    let prepared = match resolved {
        Resolved::Select(select) => {
            let key = single_key(&select, &spec, "BatchExecuteStatement");
            let key = key.map_err(statement_fault)?;
            if let Columns::Unsupported(error) = select.columns {
                return Err(statement_fault(error));
            }
            let get = Get { consistency: statement.consistency, ..Get::new(&spec.name, key) };
            Prepared::Read { get, columns: select.columns }
        }
        Resolved::Exists(_) => {
            return Err(Fault::validation(
                "EXISTS can only be used in ExecuteTransaction write requests.",
            ));
        }
        write => {
            let on_failure = statement.on_failure;
            let action = statement_write::action(write, &spec, KeyRule::Statement, on_failure);
            Prepared::Write(action.map_err(statement_fault)?)
        }
    };
    Ok((spec, prepared))
}

async fn execute(
    endpoint: &Endpoint,
    spec: &TableSpec,
    prepared: Prepared,
    detail: Detail,
) -> Result<(Option<Item>, Option<Consumed>), Fault> {
    match prepared {
        Prepared::Read { get, columns } => {
            let consistency = get.consistency;
            let found = match endpoint.store.get(get).await {
                Ok(found) => found,
                Err(error) => {
                    let kind = RequestKind::Key;
                    return Err(refusal::item_fault(endpoint, &spec.name, kind, error).await);
                }
            };
            let bytes = found.as_ref().map_or(0, Item::size);
            let units = units::read_units(bytes, consistency);
            let consumed = Consumed::of_table(spec.name.clone(), units);
            Ok((found.map(|item| selected(&columns, &item)), Some(consumed)))
        }
        Prepared::Write(action) => {
            let written = statement_write::write(endpoint, spec, action, detail).await?;
            Ok((written.image, written.consumed))
        }
    }
}

fn response(answers: &[Answer], detail: Detail) -> String {
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Responses").list(|w| answers.iter().for_each(|answer| write_answer(w, answer)));
        let consumed: Vec<Consumed> =
            answers.iter().filter_map(|answer| answer.consumed.clone()).collect();
        capacity::write_all(w, detail, &consumed, Use::Plain);
    });
    writer.finish()
}

fn write_answer(w: &mut Writer, answer: &Answer) {
    w.object(|w| {
        match &answer.result {
            Ok(Some(item)) => write_item(w.name("Item"), item),
            Ok(None) => {}
            Err(fault) => w.name("Error").object(|w| {
                w.name("Code").text(error_code(fault.code));
                w.name("Message").text(&fault.message);
            }),
        }
        if let Some(table) = &answer.table {
            w.name("TableName").text(table);
        }
    });
}

/// Returns the code of a fault, as statements of a batch have it.
fn error_code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::ResourceNotFound => "ResourceNotFound",
        FaultCode::ConditionalCheckFailed => "ConditionalCheckFailed",
        FaultCode::DuplicateItem => "DuplicateItem",
        FaultCode::Throttled => "ProvisionedThroughputExceeded",
        FaultCode::TransactionConflict => "TransactionConflict",
        FaultCode::InternalServerError => "InternalServerError",
        FaultCode::Validation
        | FaultCode::Serialization
        | FaultCode::UnknownOperation
        | FaultCode::ResourceInUse
        | FaultCode::LimitExceeded
        | FaultCode::TransactionCanceled
        | FaultCode::IdempotentParameterMismatch
        | FaultCode::TrimmedDataAccess
        | FaultCode::ExpiredIterator
        | FaultCode::TransactionInProgress
        | FaultCode::BackupNotFound
        | FaultCode::BackupInUse
        | FaultCode::TableNotFound
        | FaultCode::TableAlreadyExists
        | FaultCode::InvalidRestoreTime
        | FaultCode::PointInTimeRecoveryUnavailable => "ValidationError",
    }
}

fn read(params: Params<'_>) -> Result<Vec<StatementParams<'_>>, Fault> {
    let elements = params.objects("Statements")?;
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    violations.required("statements", elements.is_some());
    if let Some(elements) = &elements {
        violations.length("statements", "'[]'", elements.len(), 1..=STATEMENTS_MAX);
    }
    let mut statements = Vec::new();
    for (position, element) in elements.unwrap_or_default().iter().enumerate() {
        let statement = StatementParams::read(element)?;
        let at = |name: &str| format!("statements.{}.member.{name}", position + 1);
        statement.violations(&mut violations, at);
        statements.push(statement);
    }
    violations.finish()?;
    Ok(statements)
}
