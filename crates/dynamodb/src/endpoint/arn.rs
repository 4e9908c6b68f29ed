//! Amazon resource names of tables, indexes and streams.
//!
//! ```text
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/index/INDEX
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/LABEL
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/backup/ID
//! ```

/// Returns the table name in a table name or ARN. Anything else is returned unchanged, to be
/// rejected as a name.
pub(super) fn table_of(text: &str) -> &str {
    let Some((_, rest)) = text.split_once(":table/").filter(|_| text.starts_with("arn:")) else {
        return text;
    };
    rest.split('/').next().unwrap_or(rest)
}

/// Returns the table and the label in the ARN of a stream.
pub(super) fn stream_of(arn: &str) -> Option<(&str, &str)> {
    let (_, rest) = arn.split_once(":table/").filter(|_| arn.starts_with("arn:"))?;
    rest.split_once("/stream/").filter(|(table, label)| !table.contains('/') && !label.is_empty())
}

/// Returns the id in the ARN of a backup.
pub(super) fn backup_of(arn: &str) -> Option<&str> {
    let (_, rest) = arn.split_once(":table/").filter(|_| arn.starts_with("arn:"))?;
    let (table, id) = rest.split_once("/backup/")?;
    Some(id).filter(|id| !table.contains('/') && !id.is_empty() && !id.contains('/'))
}
