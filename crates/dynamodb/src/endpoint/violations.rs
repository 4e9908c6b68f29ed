//! Constraints on single parameters, which the service checks all together.

use std::fmt::Display;

use crate::wire::Fault;

/// At most so many violations are told.
const TOLD_MAX: usize = 10;

/// The values of `ReturnConsumedCapacity`.
pub(super) const CAPACITY: &[&str] = &["INDEXES", "TOTAL", "NONE"];
/// The values of `ReturnItemCollectionMetrics`.
pub(super) const METRICS: &[&str] = &["SIZE", "NONE"];
/// The values of `ReturnValues`.
pub(super) const RETURN_VALUES: &[&str] =
    &["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"];
/// The values of `ReturnValuesOnConditionCheckFailure`.
pub(super) const ON_FAILURE: &[&str] = &["ALL_OLD", "NONE"];

const NAME_PATTERN: &str = "[a-zA-Z0-9_.-]+";

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Violations {
    told: Vec<String>,
}

impl Violations {
    /// The parameter must be there.
    pub(super) fn required(&mut self, at: &str, is_there: bool) {
        if !is_there {
            self.tell("null", at, "Member must not be null");
        }
    }

    /// A table's name, or its ARN, that must be there. One that is too short for a table is not
    /// refused here: there is no such table.
    pub(super) fn table_name(&mut self, name: Option<&str>) {
        self.required("tableName", name.is_some());
        if let Some(name) = name {
            let name = super::arn::table_of(name);
            self.pattern("tableName", name);
            self.length("tableName", quoted(name), name.len(), 1..=255);
        }
    }

    /// The name of a table or index.
    pub(super) fn name(&mut self, at: &str, name: &str) {
        self.pattern(at, name);
        self.length(at, quoted(name), name.len(), 3..=255);
    }

    fn pattern(&mut self, at: &str, name: &str) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !name.chars().all(allowed) {
            let why = format!("Member must satisfy regular expression pattern: {NAME_PATTERN}");
            self.tell(quoted(name), at, &why);
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
            let why = format!("Member must have length greater than or equal to {}", range.start());
            self.tell(&value, at, &why);
        }
        if length > *range.end() {
            let why = format!("Member must have length less than or equal to {}", range.end());
            self.tell(&value, at, &why);
        }
    }

    /// One of a set of values, if it is there.
    pub(super) fn one_of(&mut self, at: &str, value: Option<&str>, set: &[&str]) {
        let Some(value) = value.filter(|value| !set.contains(value)) else { return };
        let why = format!("Member must satisfy enum value set: [{}]", set.join(", "));
        self.tell(quoted(value), at, &why);
    }

    /// A number that is not too small, if it is there.
    pub(super) fn at_least(&mut self, at: &str, value: Option<i64>, least: i64) {
        if let Some(value) = value.filter(|value| *value < least) {
            let why = format!("Member must have value greater than or equal to {least}");
            self.tell(quoted(value), at, &why);
        }
    }

    /// A number that is not too great, if it is there.
    pub(super) fn at_most(&mut self, at: &str, value: Option<i64>, most: i64) {
        if let Some(value) = value.filter(|value| *value > most) {
            let why = format!("Member must have value less than or equal to {most}");
            self.tell(quoted(value), at, &why);
        }
    }

    /// A violation in words of its own.
    pub(super) fn tell(&mut self, value: impl Display, at: &str, why: &str) {
        if self.told.len() < TOLD_MAX {
            let violation = format!("Value {value} at '{at}' failed to satisfy constraint: {why}");
            self.told.push(violation);
        }
    }

    /// Refuses the request if there was any violation.
    pub(super) fn finish(self) -> Result<(), Fault> {
        let count = self.told.len();
        if count == 0 {
            return Ok(());
        }
        let plural = if count > 1 { "s" } else { "" };
        let told = self.told.join("; ");
        Err(Fault::validation(format!("{count} validation error{plural} detected: {told}")))
    }
}

fn quoted(value: impl Display) -> String {
    format!("'{value}'")
}
