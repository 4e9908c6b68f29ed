//! Constraints on single parameters, whose violations the service reports together.

use std::fmt::Display;

use crate::wire::{Fault, FaultCode};

/// The service reports at most this many.
const REPORTED_MAX: usize = 10;

/// The values of `ReturnConsumedCapacity`.
pub(super) const CAPACITY: &[&str] = &["INDEXES", "TOTAL", "NONE"];
/// The values of `ReturnItemCollectionMetrics`.
pub(super) const METRICS: &[&str] = &["SIZE", "NONE"];
/// The values of `ReturnValues`.
const RETURN_VALUES: &[&str] = &["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"];
/// The values of `ReturnValuesOnConditionCheckFailure`.
pub(super) const ON_FAILURE: &[&str] = &["ALL_OLD", "NONE"];

const NAME_PATTERN: &str = "[a-zA-Z0-9_.-]+";

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Violations {
    found: Vec<String>,
    /// A violation that the service reports alone, unless a required parameter is missing.
    alone: Option<&'static str>,
    is_missing: bool,
}

impl Violations {
    /// The parameter is required.
    pub(super) fn required(&mut self, at: &str, is_present: bool) {
        if !is_present {
            self.is_missing = true;
            self.report("null", at, "Member must not be null");
        }
    }

    /// Reports this one alone, unless another is already, or a required parameter is missing.
    fn alone(&mut self, violation: &'static str) {
        self.alone.get_or_insert(violation);
    }

    /// Reports every violation, as operations do that the service has not moved to other messages.
    pub(super) fn together(mut self) -> Violations {
        self.alone = None;
        self
    }

    /// `ReturnValues` of a write.
    pub(super) fn return_values(&mut self, value: Option<&str>) {
        if value.is_some_and(|value| !RETURN_VALUES.contains(&value)) {
            // The service misspells UPDATED_NEW.
            self.alone(
                "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, \
                 UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
            );
        }
        self.one_of("returnValues", value, RETURN_VALUES);
    }

    /// `Limit` of a page.
    pub(super) fn limit(&mut self, limit: Option<i64>) {
        if limit.is_some_and(|limit| limit < 1) {
            self.alone(
                "Value at 'Limit' failed to satisfy constraint: Member must have value greater \
                 than or equal to 1",
            );
        }
        self.at_least("limit", limit, 1);
    }

    /// A required table name or ARN. A name that is too short is not rejected here, but reported as
    /// a missing table later.
    pub(super) fn table_name(&mut self, name: Option<&str>) {
        self.required("tableName", name.is_some());
        if let Some(name) = name {
            let name = super::arn::table_of(name);
            if name.is_empty() {
                self.alone(
                    "Value at 'TableName' failed to satisfy constraint: Member must have length \
                     greater than or equal to 1",
                );
            }
            self.pattern("tableName", name);
            self.length("tableName", quoted(name), name.len(), 1..=255);
        }
    }

    /// The name of a table or index.
    pub(super) fn name(&mut self, at: &str, name: &str) {
        self.pattern(at, name);
        self.length(at, quoted(name), name.len(), 3..=255);
    }

    /// The ARN of a backup, if present.
    pub(super) fn backup_arn(&mut self, at: &str, arn: Option<&str>) {
        if let Some(arn) = arn {
            self.length(at, quoted(arn), arn.chars().count(), 37..=1024);
        }
    }

    /// The id of a shard, if present.
    pub(super) fn shard_id(&mut self, at: &str, id: Option<&str>) {
        if let Some(id) = id {
            self.length(at, quoted(id), id.chars().count(), 28..=65);
        }
    }

    /// A sequence number, if present.
    pub(super) fn sequence_number(&mut self, number: Option<&str>) {
        if let Some(number) = number {
            let length = number.chars().count();
            self.length("sequenceNumber", quoted(number), length, 21..=40);
        }
    }

    fn pattern(&mut self, at: &str, name: &str) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !name.chars().all(allowed) {
            let constraint =
                format!("Member must satisfy regular expression pattern: {NAME_PATTERN}");
            self.report(quoted(name), at, &constraint);
        }
    }

    /// A length within a range.
    pub(super) fn length(
        &mut self,
        at: &str,
        value: impl Display,
        length: usize,
        range: std::ops::RangeInclusive<usize>,
    ) {
        if length < *range.start() {
            let constraint =
                format!("Member must have length greater than or equal to {}", range.start());
            self.report(&value, at, &constraint);
        }
        if length > *range.end() {
            let constraint =
                format!("Member must have length less than or equal to {}", range.end());
            self.report(&value, at, &constraint);
        }
    }

    /// The length of `TransactItems`. A list that is too long is not repeated.
    pub(super) fn transact_items(&mut self, length: usize) {
        if length > 100 {
            self.alone(
                "Value at 'TransactItems' failed to satisfy constraint: Member must have length \
                 less than or equal to 100",
            );
        }
        self.length("transactItems", "'[]'", length, 1..=100);
    }

    /// One of a set of values, if present.
    pub(super) fn one_of(&mut self, at: &str, value: Option<&str>, set: &[&str]) {
        let Some(value) = value.filter(|value| !set.contains(value)) else { return };
        let constraint = format!("Member must satisfy enum value set: [{}]", set.join(", "));
        self.report(quoted(value), at, &constraint);
    }

    /// A minimum, if present.
    pub(super) fn at_least(&mut self, at: &str, value: Option<i64>, least: i64) {
        if let Some(value) = value.filter(|value| *value < least) {
            let constraint = format!("Member must have value greater than or equal to {least}");
            self.report(quoted(value), at, &constraint);
        }
    }

    /// A maximum, if present.
    pub(super) fn at_most(&mut self, at: &str, value: Option<i64>, most: i64) {
        if let Some(value) = value.filter(|value| *value > most) {
            let constraint = format!("Member must have value less than or equal to {most}");
            self.report(quoted(value), at, &constraint);
        }
    }

    /// Adds a violation.
    pub(super) fn report(&mut self, value: impl Display, at: &str, constraint: &str) {
        if self.found.len() < REPORTED_MAX {
            let violation =
                format!("Value {value} at '{at}' failed to satisfy constraint: {constraint}");
            self.found.push(violation);
        }
    }

    /// Rejects the request if there was any violation.
    pub(super) fn finish(self) -> Result<(), Fault> {
        let count = self.found.len();
        if count == 0 {
            return Ok(());
        }
        if let Some(alone) = self.alone.filter(|_| !self.is_missing) {
            return Err(Fault::validation(format!("1 validation error detected: {alone}")));
        }
        let plural = if count > 1 { "s" } else { "" };
        let found = self.found.join("; ");
        Err(Fault::validation(format!("{count} validation error{plural} detected: {found}")))
    }
}

/// Adds the start of the message of a constraint to that of a rule which needs no table: so the
/// service reports the writes of single items.
pub(super) fn enveloped(fault: Fault) -> Fault {
    let is_plain = !fault.message.contains(" detected: ");
    match fault.code {
        FaultCode::Validation if is_plain => {
            Fault { message: format!("1 validation error detected: {}", fault.message), ..fault }
        }
        _ => fault,
    }
}

fn quoted(value: impl Display) -> String {
    format!("'{value}'")
}
