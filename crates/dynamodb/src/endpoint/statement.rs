//! A PartiQL statement of a request: its parameters, and the table it names.

use keyloom_store::{Consistency, OnFailure, TableSpec};
use keyloom_value::Value;

use crate::partiql::{Resolved, StatementError, resolve};
use crate::wire::{Fault, FaultCode};

use super::params::{Checked, Params, consistency, table_name};
use super::returned::on_failure;
use super::violations::{ON_FAILURE, Violations};
use super::{Endpoint, refusal};

/// The longest statement, in characters.
const STATEMENT_CHARS_MAX: usize = 8192;
/// How much of a statement a message repeats.
const ECHO_CHARS_MAX: usize = 2 * STATEMENT_CHARS_MAX;

/// A statement as sent.
pub(super) struct StatementParams<'a> {
    text: Option<&'a str>,
    parameters: Option<Checked<Vec<Value>>>,
    pub(super) consistency: Consistency,
    pub(super) on_failure: OnFailure,
    on_failure_text: Option<&'a str>,
}

impl<'a> StatementParams<'a> {
    pub(super) fn read(params: &Params<'a>) -> Result<StatementParams<'a>, Fault> {
        Ok(StatementParams {
            text: params.text("Statement")?,
            parameters: params.attribute_values("Parameters")?,
            consistency: consistency(params)?,
            on_failure: on_failure(params)?,
            on_failure_text: params.text("ReturnValuesOnConditionCheckFailure")?,
        })
    }

    /// Checks its constraints; `at` says where a member of it is.
    pub(super) fn violations(&self, violations: &mut Violations, at: impl Fn(&str) -> String) {
        violations.required(&at("statement"), self.text.is_some());
        if let Some(text) = self.text {
            let length = text.chars().count();
            let echo: String = text.chars().take(ECHO_CHARS_MAX).collect();
            let range = 1..=STATEMENT_CHARS_MAX;
            violations.length(&at("statement"), format_args!("'{echo}'"), length, range);
        }
        if matches!(&self.parameters, Some(Ok(values)) if values.is_empty()) {
            violations.length(&at("parameters"), "'[]'", 0, 1..=usize::MAX);
        }
        let name = at("returnValuesOnConditionCheckFailure");
        violations.one_of(&name, self.on_failure_text, ON_FAILURE);
    }

    pub(super) fn text(&self) -> &'a str {
        self.text.unwrap_or_default()
    }

    /// Returns the parameters. The service refuses invalid ones before it parses the statement.
    pub(super) fn values(&self) -> Result<&[Value], Fault> {
        match &self.parameters {
            None => Ok(&[]),
            Some(Ok(values)) => Ok(values),
            Some(Err(why)) => Err(Fault::validation(why.clone())),
        }
    }

    /// Parses the statement, which has passed its constraints.
    pub(super) fn resolve(&self, values: &[Value]) -> Result<Resolved, StatementError> {
        resolve(self.text(), values)
    }
}

/// Refuses a statement.
pub(super) fn statement_fault(error: StatementError) -> Fault {
    Fault::validation(error.to_string())
}

impl Endpoint {
    /// Returns the table that a statement names.
    pub(super) async fn statement_table(&self, name: &str) -> Result<TableSpec, Fault> {
        let table = table_name(name)?;
        if self.check_visible(&table).is_err() {
            return Err(Fault::new(FaultCode::ResourceNotFound, "Requested resource not found"));
        }
        Ok(refusal::describe(self, &table).await?.spec)
    }
}
