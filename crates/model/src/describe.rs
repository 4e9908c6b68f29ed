//! Descriptions of the values of a type, for error messages and documentation.

use std::fmt::Display;

use crate::model::{FieldType, Limits};

impl FieldType {
    /// Describes its values, such as `a text of 1 to 80 characters`.
    pub fn in_words(&self) -> String {
        match self {
            FieldType::Text(limits) => format!("a text{}", of_length(limits, "characters")),
            FieldType::Int(limits) => format!("a whole number{}", in_range(limits)),
            FieldType::Number(limits) => format!("a number of up to 38 digits{}", in_range(limits)),
            FieldType::Bool => "`true` or `false`".to_owned(),
            FieldType::Time => "a time such as `2024-02-29T12:00:00Z`".to_owned(),
            FieldType::Bytes(limits) => format!("bytes{} as base64", of_length(limits, "bytes")),
            FieldType::Any => "any JSON value".to_owned(),
            FieldType::Tags => "tags".to_owned(),
            FieldType::Enum(members) => format!("one of `{}`", members.join("`, `")),
            FieldType::Ref(..) => "an id".to_owned(),
            FieldType::List(_, limits) => format!("a list{}", of_length(limits, "values")),
            FieldType::Map(_, limits) => format!("a map{}", of_length(limits, "values")),
        }
    }
}

fn of_length(limits: &Limits<u64>, unit: &str) -> String {
    match (limits.low, limits.high) {
        (None, None) => String::new(),
        (Some(low), None) => format!(" of at least {low} {unit}"),
        (None, Some(high)) => format!(" of at most {high} {unit}"),
        (Some(low), Some(high)) => format!(" of {low} to {high} {unit}"),
    }
}

fn in_range<T: Display>(limits: &Limits<T>) -> String {
    match (&limits.low, &limits.high) {
        (None, None) => String::new(),
        (Some(low), None) => format!(", at least {low}"),
        (None, Some(high)) => format!(", at most {high}"),
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
    }
}
