//! `ExecuteTransaction`.

use super::stage::{get, outcome, put, run_all, service, text};

const OPERATION: &str = "ExecuteTransaction";

#[test]
fn a_transaction_of_reads_returns_each_item() {
    let service = service();
    put(&service, "ttt", r#""pk":{"S":"a"},"sk":{"S":"1"},"f":{"S":"x"}"#);
    let found = run_all(
        &service,
        OPERATION,
        &[
            "SELECT f FROM ttt WHERE (sk='1') AND pk='a' AND pk='a'",
            "SELECT * FROM ttt WHERE pk IN ['a'] AND sk IN ['2']",
        ],
    );
    assert_eq!(found, r#"[{"Item":{"f":{"S":"x"}}},{}]"#);
    let prefix = "!ValidationException: Validation failed in TransactStatements[0]: ";
    let key = format!(
        "{prefix}Select statements within ExecuteTransaction must specify the primary key in the where clause."
    );
    for filter in ["pk='a' AND sk='1' AND f='x'", "pk='a' AND sk='1' AND pk='b'", "pk='a'", "f='x'"]
    {
        let select = format!("SELECT * FROM ttt WHERE {filter}");
        assert_eq!(run_all(&service, OPERATION, &[&select]), key, "{filter}");
    }
    for (select, why) in [
        (
            "SELECT * FROM ttt.idx WHERE pk='a'",
            "Reads on indices are not supported within transactions.",
        ),
        (
            "SELECT * FROM ttt WHERE pk IN ['a','a'] AND sk='1'",
            "Overlapping conditions with range keys are not supported in where clause",
        ),
        (
            "SELECT * FROM ttt WHERE",
            "Statement wasn't well formed, can't be processed: Unexpected term",
        ),
    ] {
        assert_eq!(run_all(&service, OPERATION, &[select]), format!("{prefix}{why}"));
    }
    let twice = "SELECT * FROM ttt WHERE pk='a' AND sk='1'";
    assert_eq!(
        run_all(&service, OPERATION, &[twice, twice]),
        "!ValidationException: Transaction request cannot include multiple operations on one item"
    );
    let wrong = "SELECT * FROM ttt WHERE pk=1 AND sk='1'";
    assert_eq!(
        run_all(&service, OPERATION, &[twice, twice, wrong]),
        r#"!TransactionCanceledException: "CancellationReasons":[{"Code":"None"},{"Code":"None"},{"Code":"ValidationError","Message":"The provided key element does not match the schema"}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, None, ValidationError]""#
    );
}

#[test]
fn a_transaction_of_writes_is_all_or_nothing() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"n":{"N":"1"}"#);
    let writes = ["INSERT INTO hhh VALUE {'pk':'b'}", "UPDATE hhh SET n = n + 1 WHERE pk='a'"];
    assert_eq!(run_all(&service, OPERATION, &writes), "[]");
    assert_eq!(get(&service, "hhh", r#""pk":{"S":"a"}"#), r#"{"n":{"N":"2"},"pk":{"S":"a"}}"#);
    let canceled = run_all(
        &service,
        OPERATION,
        &[
            "INSERT INTO hhh VALUE {'pk':'a'}",
            "INSERT INTO hhh VALUE {'pk':'c'}",
            "UPDATE hhh SET n = 5 WHERE pk='none'",
            "DELETE FROM hhh WHERE pk='gone' AND n = 1",
        ],
    );
    assert_eq!(
        canceled,
        r#"!TransactionCanceledException: "CancellationReasons":[{"Code":"DuplicateItem","Message":"Duplicate primary key exists in table"},{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},{"Code":"None"}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [DuplicateItem, None, ConditionalCheckFailed, None]""#
    );
    assert_eq!(get(&service, "hhh", r#""pk":{"S":"c"}"#), "");
}

#[test]
fn exists_checks_a_condition() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"n":{"N":"1"}"#);
    put(&service, "hhh", r#""pk":{"S":"b"}"#);
    let update = "UPDATE hhh SET touched = 1 WHERE pk='b'";
    let run = |check: &str| run_all(&service, OPERATION, &[check, update]);
    assert_eq!(run("EXISTS(SELECT * FROM hhh WHERE pk='a' AND n = 1)"), "[]");
    let failed = r#"!TransactionCanceledException: "CancellationReasons":[{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},{"Code":"None"}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None]""#;
    for filter in
        ["pk='a' AND n IS MISSING", "pk='none' AND n IS MISSING", "pk='a' AND pk='b' AND n = 1"]
    {
        assert_eq!(run(&format!("EXISTS(SELECT * FROM hhh WHERE {filter})")), failed, "{filter}");
    }
    let why = "!ValidationException: Validation failed in TransactStatements[0]: EXISTS() must contain a single item read with additional condition";
    for filter in ["pk='a'", "n = 1", "pk IN ['a'] AND n = 1"] {
        assert_eq!(run(&format!("EXISTS(SELECT * FROM hhh WHERE {filter})")), why, "{filter}");
    }
}

#[test]
fn statements_are_checked_before_tables_and_keys() {
    let service = service();
    put(&service, "ttt", r#""pk":{"S":"a"},"sk":{"S":"1"}"#);
    let update = "UPDATE ttt SET x=1 WHERE";
    let missing = "UPDATE nope SET x=1 WHERE pk='x' RETURNING ALL NEW *";
    assert_eq!(
        run_all(&service, OPERATION, &[missing, "DELETE FROM nope WHERE pk='x'"]),
        r#"!TransactionCanceledException: "CancellationReasons":[{"Code":"ResourceNotFound","Message":"Requested resource not found"},{"Code":"ResourceNotFound","Message":"Requested resource not found"}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [ResourceNotFound, ResourceNotFound]""#
    );
    let returning = format!("{update} pk='a' AND sk='1' RETURNING ALL NEW *");
    assert_eq!(
        run_all(&service, OPERATION, &["DELETE FROM nope WHERE pk='x'", &returning]),
        "!ValidationException: Validation failed in TransactStatements[1]: RETURNING clause is not supported in ExecuteTransaction."
    );
    let keys = [
        format!("{update} pk='a'"),
        format!("{update} pk IN ['a'] AND sk='1'"),
        format!("{update} pk='a' AND sk='1' AND pk='b'"),
        format!("{update} pk='a' AND sk=1"),
        format!("{update} pk='a' AND sk='1'"),
        "INSERT INTO ttt VALUE {'pk':'i'}".to_owned(),
    ];
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mismatch = r#"{"Code":"ValidationError","Message":"The provided key element does not match the schema"}"#;
    let insert = r#"{"Code":"ValidationError","Message":"One or more parameter values were invalid: Missing the key sk in the item"}"#;
    let expected = format!(
        r#"!TransactionCanceledException: "CancellationReasons":[{mismatch},{mismatch},{mismatch},{mismatch},{{"Code":"None"}},{insert}],"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [ValidationError, ValidationError, ValidationError, ValidationError, None, ValidationError]""#
    );
    assert_eq!(run_all(&service, OPERATION, &keys), expected);
    assert_eq!(
        run_all(
            &service,
            OPERATION,
            &["SELECT * FROM ttt WHERE pk='a'", "DELETE FROM ttt WHERE pk='a'"]
        ),
        "!ValidationException: ExecuteTransaction API does not support both read and write operations in the same request."
    );
    let body = format!(
        r#"{{"TransactStatements":[{{"Statement":{}}},{{"Statement":"x","Parameters":[{{"N":"abc"}}]}}]}}"#,
        text("SLECT")
    );
    assert_eq!(
        outcome(&service, OPERATION, &body, ""),
        "!ValidationException: The parameter cannot be converted to a numeric value: abc"
    );
}

#[test]
fn a_token_makes_a_transaction_run_once() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"n":{"N":"0"}"#);
    let body = |value: u32| {
        format!(
            r#"{{"ClientRequestToken":"once","ReturnConsumedCapacity":"TOTAL","TransactStatements":[{{"Statement":"UPDATE hhh SET n = n + {value} WHERE pk='a'"}}]}}"#
        )
    };
    let first = outcome(&service, OPERATION, &body(1), r#"{"Responses":"#);
    assert_eq!(
        first,
        r#"[],"ConsumedCapacity":[{"TableName":"hhh","CapacityUnits":2.0,"WriteCapacityUnits":2.0}]"#
    );
    outcome(&service, OPERATION, &body(1), "");
    assert_eq!(get(&service, "hhh", r#""pk":{"S":"a"}"#), r#"{"n":{"N":"1"},"pk":{"S":"a"}}"#);
    let other = outcome(&service, OPERATION, &body(2), "");
    assert!(other.starts_with("!IdempotentParameterMismatchException"), "{other}");
}

#[test]
fn a_transaction_has_at_most_a_hundred_statements() {
    let service = service();
    let statements: Vec<String> =
        (0..101).map(|n| format!("INSERT INTO hhh VALUE {{'pk':'{n}'}}")).collect();
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    assert!(run_all(&service, OPERATION, &statements).contains("less than or equal to 100"));
    assert_eq!(run_all(&service, OPERATION, &statements[..100]), "[]");
    assert!(run_all(&service, OPERATION, &[]).contains("greater than or equal to 1"));
}
