//! Error messages: complete sentences without debug output.

use std::path::PathBuf;
use std::sync::Arc;

use keyloom_store::{
    CancelReason, Damage, DirectoryError, Error, Failure, Invalid, Refusal, SeqNo, ShardId,
    TableName,
};
use keyloom_value::{Item, Path, UpdateError, ValueType};

#[test]
fn every_error_is_a_sentence() {
    let errors = invalids().into_iter().map(Error::Invalid).chain(others());
    for error in errors {
        let message = error.to_string();
        assert!(message.ends_with('.'), "{message}");
        assert!(message.starts_with(|c: char| !c.is_lowercase()), "{message}");
        let debug = ["Some(", "None", " { ", "\", \""];
        assert!(!debug.iter().any(|form| message.contains(form)), "{message}");
    }
}

fn table() -> TableName {
    TableName::new("things").unwrap()
}

fn refusal(code: Option<&str>, message: &str) -> Arc<Refusal> {
    let (code, message) = (code.map(str::to_owned), message.to_owned());
    Arc::new(Refusal { operation: "PutItem", code, message, resource: None, may_pass: false })
}

fn others() -> Vec<Error> {
    let failure = || {
        let cause = std::io::Error::other("no space left");
        let path = PathBuf::from("data/log");
        Arc::new(Failure { doing: "syncing the log", path, cause })
    };
    let damage = Damage {
        file: PathBuf::from("data/log"),
        offset: 42,
        what: "the checksum is wrong. Restore the file from a backup.".to_owned(),
    };
    let reasons = vec![
        None,
        Some(CancelReason::ConditionFailed { item: None }),
        Some(CancelReason::Invalid(Invalid::TooDeep { limit: 32 })),
        Some(CancelReason::Refused(refusal(Some("TransactionConflict"), "It is ongoing"))),
    ];
    vec![
        Error::TableNotFound { table: table() },
        Error::TableExists { table: table() },
        Error::IndexNotFound { table: table(), index: table() },
        Error::IndexBuilding { table: table(), index: table() },
        Error::ConditionFailed { item: Some(Box::new(Item::new())) },
        Error::Canceled { reasons },
        Error::TokenReused { token: "token".to_owned() },
        Error::NoFeed { table: table() },
        Error::ChangesGone { oldest: SeqNo(7) },
        Error::ChangesAhead { newest: SeqNo(7) },
        Error::Unsupported { what: "snapshots" },
        Error::Stopped,
        Error::WritesRefused(failure()),
        Error::Damaged(Arc::new(damage)),
        DirectoryError::Locked { directory: PathBuf::from("data") }.into(),
        DirectoryError::Format {
            file: PathBuf::from("data/format"),
            found: "version 9".to_owned(),
            supported: "version 1".to_owned(),
        }
        .into(),
        DirectoryError::Foreign {
            directory: PathBuf::from("data"),
            found: "thesis.tex".to_owned(),
        }
        .into(),
        DirectoryError::FormatMissing {
            file: PathBuf::from("data/format"),
            format: Some("3".to_owned()),
        }
        .into(),
        DirectoryError::FormatMissing { file: PathBuf::from("data/format"), format: None }.into(),
        DirectoryError::NoStore { directory: PathBuf::from("data") }.into(),
        Error::Io(failure()),
        Error::Refused(refusal(Some("ThrottlingException"), "Rate exceeded.")),
        Error::Unanswered(refusal(None, "the connection was closed")),
        Error::Closed,
    ]
}

fn invalids() -> Vec<Invalid> {
    let attribute = || "rank".into();
    let (bytes, limit) = (2, 1);
    vec![
        Invalid::Name { name: "?".to_owned() },
        Invalid::KeySchema { of: "things".to_owned(), why: "it names one attribute twice" },
        Invalid::IndexTwice { index: table() },
        Invalid::KeyTypeConflict { attribute: attribute() },
        Invalid::TooManyIndexes { scope: "local", limit },
        Invalid::LocalIndexFixed { index: table() },
        Invalid::KeyMissing { attribute: attribute() },
        Invalid::KeyType { attribute: attribute(), expected: ValueType::S, found: ValueType::N },
        Invalid::KeyEmpty { attribute: attribute() },
        Invalid::KeyTooLong { attribute: attribute(), bytes, limit },
        Invalid::KeyExtra { attribute: attribute() },
        Invalid::ItemTooLarge { bytes, limit },
        Invalid::TooDeep { limit },
        Invalid::EmptySet { attribute: attribute() },
        Invalid::AttributeName { name: String::new() },
        Invalid::AttributeName { name: "long".to_owned() },
        Invalid::UpdatesKey { attribute: attribute() },
        Invalid::Update(UpdateError::MissingOperand { path: Path::from("rank") }),
        Invalid::KeyCondition { attribute: attribute(), why: "it is tested twice" },
        Invalid::StartKey { why: "it lacks an attribute of the key" },
        Invalid::LimitZero,
        Invalid::FilterOnKey { attribute: attribute() },
        Invalid::FilterNotProjected { index: table(), attributes: vec![attribute()] },
        Invalid::NotProjected { index: table() },
        Invalid::Segment { number: 2, of: 1 },
        Invalid::NoActions,
        Invalid::TooManyActions { count: 2, limit },
        Invalid::ItemTwice { table: table(), key: Box::new(Item::new()) },
        Invalid::TransactionTooLarge { bytes, limit },
        Invalid::Returns { write: "put" },
        Invalid::Token,
        Invalid::Shard { shard: ShardId("none".to_owned()) },
        Invalid::UpdateTooLarge { operators: 2, limit },
        Invalid::ConditionTooLarge { operators: 2, limit },
    ]
}
