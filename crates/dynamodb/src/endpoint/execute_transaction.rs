//! `ExecuteTransaction`: all statements or none.
//!
//! Every statement is parsed, and checked against its table, before anything runs. A statement that
//! cannot be right refuses the request; one that names no table or no single item cancels the
//! transaction, with a reason.

use std::sync::Arc;

use keyloom_store::{
    Consistency, Delete, Error, Get, Returns, TableName, TableSpec, TransactAction, TransactWrite,
};
use keyloom_value::Item;

use crate::json::Writer;
use crate::partiql::{Columns, Resolved, Select, StatementError};
use crate::wire::{Fault, FaultCode, Reason};

use super::Endpoint;
use super::capacity::Detail;
use super::params::Params;
use super::refusal::{self, RequestKind};
use super::statement::StatementParams;
use super::statement_read::{selected, single_key};
use super::statement_write::{self, DUPLICATE, KeyRule};
use super::violations::{CAPACITY, Violations};
use super::write_params::WriteExtras;
use super::{transact_action, transact_get_items, transact_write_items};

const STATEMENTS_MAX: usize = 100;

pub(super) async fn run(endpoint: &Endpoint, params: Params<'_>) -> Result<String, Fault> {
    let detail = Detail::read(&params)?;
    let statements = read(&params)?;
    for statement in &statements {
        statement.values()?;
    }
    let mut resolved = Vec::with_capacity(statements.len());
    for (position, statement) in statements.iter().enumerate() {
        let found = statement.resolve(statement.values()?);
        resolved.push(found.map_err(|error| refused(position, &error))?);
    }
    let reads = resolved.iter().filter(|statement| statement.is_read()).count();
    if reads == resolved.len() {
        return run_reads(endpoint, resolved, detail).await;
    }
    if reads > 0 {
        return Err(Fault::validation(
            "ExecuteTransaction API does not support both read and write operations in the same \
             request.",
        ));
    }
    let token = params.text("ClientRequestToken")?.map(str::to_owned);
    run_writes(endpoint, &statements, resolved, token, detail).await
}

async fn run_reads(
    endpoint: &Endpoint,
    resolved: Vec<Resolved>,
    detail: Detail,
) -> Result<String, Fault> {
    let mut reads = Checked::new(resolved.len());
    for (position, statement) in resolved.into_iter().enumerate() {
        let Some(spec) = reads.table(endpoint, position, statement.table()).await? else {
            continue;
        };
        let Resolved::Select(select) = statement else { continue };
        let get = transact_get(&select, &spec).map_err(|error| refused(position, &error))?;
        let invalid = get.check(&|_| Ok(spec.clone()));
        reads.check_key(position, &spec, RequestKind::Key, invalid);
        reads.found.push((get, select.columns));
    }
    let (gets, columns): (Vec<Get>, Vec<Columns>) = reads.finish()?.into_iter().unzip();
    let shown = |place: usize, item: Item| match columns.get(place) {
        Some(columns) => selected(columns, &item),
        None => item,
    };
    transact_get_items::send(endpoint, gets, detail, shown).await
}

fn transact_get(select: &Select, spec: &TableSpec) -> Result<Get, StatementError> {
    if select.index.is_some() {
        return Err(StatementError::new("Reads on indices are not supported within transactions."));
    }
    let key = single_key(select, spec, "ExecuteTransaction")?;
    if let Columns::Unsupported(error) = &select.columns {
        return Err(error.clone());
    }
    Ok(Get { consistency: Consistency::Strong, ..Get::new(&spec.name, key) })
}

async fn run_writes(
    endpoint: &Endpoint,
    statements: &[StatementParams<'_>],
    resolved: Vec<Resolved>,
    token: Option<String>,
    detail: Detail,
) -> Result<String, Fault> {
    let mut writes = Checked::new(resolved.len());
    for (position, (statement, resolved)) in statements.iter().zip(resolved).enumerate() {
        let Some(spec) = writes.table(endpoint, position, resolved.table()).await? else {
            continue;
        };
        let action = transact_write(resolved, &spec, statement);
        let action = action.map_err(|error| refused(position, &error))?;
        let kind = transact_action::request_kind(&action);
        writes.check_key(position, &spec, kind, key_error(&action, &spec));
        writes.found.push(action);
    }
    let actions = writes.finish()?;
    let extras = WriteExtras { detail, metrics: false };
    let before = match extras.is_requested() {
        true => transact_write_items::before(endpoint, &actions).await,
        false => vec![],
    };
    let transaction = TransactWrite { token, ..TransactWrite::new(actions.clone()) };
    if let Err(error) = endpoint.store.transact_write(transaction).await {
        let fault = transact_write_items::refused(endpoint, &actions, error).await;
        return Err(duplicates(fault, &actions));
    }
    let mut writer = Writer::new();
    writer.object(|w| {
        w.name("Responses").list(|_| {});
        transact_write_items::write_extras(w, extras, &actions, &before);
    });
    Ok(writer.finish())
}

fn transact_write(
    resolved: Resolved,
    spec: &TableSpec,
    statement: &StatementParams<'_>,
) -> Result<TransactAction, StatementError> {
    let action =
        statement_write::action(resolved, spec, KeyRule::Transaction, statement.on_failure)?;
    let returns = match &action {
        TransactAction::Put(put) => put.returns,
        TransactAction::Update(update) => update.returns,
        TransactAction::Delete(delete) => delete.returns,
        TransactAction::Check(_) => Returns::Nothing,
    };
    if returns != Returns::Nothing {
        return Err(StatementError::new(
            "RETURNING clause is not supported in ExecuteTransaction.",
        ));
    }
    Ok(action)
}

/// Checks the key of an action, and nothing that depends on other actions.
fn key_error(action: &TransactAction, spec: &Arc<TableSpec>) -> Result<(), Error> {
    let specs = |_: &TableName| Ok(spec.clone());
    match action {
        TransactAction::Put(put) => put.check(&specs),
        TransactAction::Update(update) => update.check(&specs),
        TransactAction::Delete(delete) => delete.check(&specs),
        TransactAction::Check(check) => Delete::new(&check.table, check.key.clone()).check(&specs),
    }
}

/// Names failed inserts for what they are.
fn duplicates(mut fault: Fault, actions: &[TransactAction]) -> Fault {
    if fault.code != FaultCode::TransactionCanceled {
        return fault;
    }
    for (reason, action) in fault.reasons.iter_mut().zip(actions) {
        let is_insert = matches!(action, TransactAction::Put(_));
        if is_insert && reason.code == "ConditionalCheckFailed" {
            *reason = Reason {
                code: "DuplicateItem".into(),
                message: Some(DUPLICATE.to_owned()),
                item: None,
            };
        }
    }
    Fault::canceled(fault.reasons)
}

/// The statements that fit their tables, and why others cancel the transaction.
struct Checked<T> {
    found: Vec<T>,
    reasons: Vec<Reason>,
}

impl<T> Checked<T> {
    fn new(count: usize) -> Checked<T> {
        Checked { found: Vec::with_capacity(count), reasons: vec![Reason::NONE; count] }
    }

    /// Returns the table of a statement; a missing one is a reason.
    async fn table(
        &mut self,
        endpoint: &Endpoint,
        position: usize,
        name: &str,
    ) -> Result<Option<Arc<TableSpec>>, Fault> {
        match endpoint.statement_table(name).await {
            Ok(spec) => Ok(Some(Arc::new(spec))),
            Err(fault) if fault.code == FaultCode::ResourceNotFound => {
                let reason = Reason {
                    code: "ResourceNotFound".into(),
                    message: Some(fault.message),
                    item: None,
                };
                self.cancel(position, reason);
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Makes a key that does not fit the table a reason. Other errors are the transaction's.
    fn check_key(
        &mut self,
        position: usize,
        spec: &TableSpec,
        kind: RequestKind<'_>,
        checked: Result<(), Error>,
    ) {
        use keyloom_store::Invalid;
        let Err(Error::Invalid(invalid)) = checked else { return };
        let is_key = matches!(
            invalid,
            Invalid::KeyMissing { .. } | Invalid::KeyType { .. } | Invalid::KeyTooLong { .. }
        );
        if is_key {
            let text = refusal::invalid_message(Some(spec), kind, &invalid);
            self.cancel(position, Reason::validation(text));
        }
    }

    fn cancel(&mut self, position: usize, reason: Reason) {
        if let Some(known) = self.reasons.get_mut(position) {
            *known = reason;
        }
    }

    fn finish(self) -> Result<Vec<T>, Fault> {
        if self.reasons.iter().any(|reason| *reason != Reason::NONE) {
            return Err(Fault::canceled(self.reasons));
        }
        Ok(self.found)
    }
}

fn refused(position: usize, error: &StatementError) -> Fault {
    Fault::validation(format!("Validation failed in TransactStatements[{position}]: {error}"))
}

fn read<'a>(params: &Params<'a>) -> Result<Vec<StatementParams<'a>>, Fault> {
    let elements = params.objects("TransactStatements")?;
    let token = params.text("ClientRequestToken")?;
    let mut violations = Violations::default();
    let capacity = params.text("ReturnConsumedCapacity")?;
    violations.one_of("returnConsumedCapacity", capacity, CAPACITY);
    violations.required("transactStatements", elements.is_some());
    if let Some(elements) = &elements {
        violations.length("transactStatements", "'[]'", elements.len(), 1..=STATEMENTS_MAX);
    }
    if let Some(token) = token {
        let length = token.chars().count();
        violations.length("clientRequestToken", format_args!("'{token}'"), length, 1..=36);
    }
    let mut statements = Vec::new();
    for (position, element) in elements.unwrap_or_default().iter().enumerate() {
        let statement = StatementParams::read(element)?;
        let at = |name: &str| format!("transactStatements.{}.member.{name}", position + 1);
        statement.violations(&mut violations, at);
        statements.push(statement);
    }
    violations.finish()?;
    Ok(statements)
}
