//! Amazon resource names of tables, indexes and streams.
//!
//! ```text
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/index/INDEX
//! arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/stream/LABEL
//! ```

/// The table that a name or an ARN means. What is neither is returned as it is, to be refused as
/// a name.
pub(super) fn table_of(text: &str) -> &str {
    let Some((_, rest)) = text.split_once(":table/").filter(|_| text.starts_with("arn:")) else {
        return text;
    };
    rest.split('/').next().unwrap_or(rest)
}

/// The table and the label that the ARN of a stream means.
pub(super) fn stream_of(arn: &str) -> Option<(&str, &str)> {
    let (_, rest) = arn.split_once(":table/").filter(|_| arn.starts_with("arn:"))?;
    rest.split_once("/stream/").filter(|(table, label)| !table.contains('/') && !label.is_empty())
}
