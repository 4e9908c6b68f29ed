//! `BatchExecuteStatement`.

use super::stage::{get, outcome, put, run_all, service};

const OPERATION: &str = "BatchExecuteStatement";

#[test]
fn statements_of_a_batch_succeed_or_fail_alone() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"d":{"S":"x"}"#);
    put(&service, "ttt", r#""pk":{"S":"a"},"sk":{"S":"1"}"#);
    let key = "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
    let reads = [
        ("SELECT d FROM hhh WHERE pk = 'a'", r#"{"Item":{"d":{"S":"x"}},"TableName":"hhh"}"#.to_owned()),
        ("SELECT * FROM ttt WHERE pk IN ['a'] AND sk='1'", r#"{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}},"TableName":"ttt"}"#.to_owned()),
        ("SELECT * FROM hhh WHERE pk = 'none'", r#"{"TableName":"hhh"}"#.to_owned()),
        ("SELECT * FROM nope WHERE pk = 'a'", r#"{"Error":{"Code":"ResourceNotFound","Message":"Requested resource not found"}}"#.to_owned()),
        ("SELECT * FROM hhh WHERE d = 'x'", format!(r#"{{"Error":{{"Code":"ValidationError","Message":"{key}"}}}}"#)),
        ("SELECT * FROM ttt WHERE pk = 'a'", format!(r#"{{"Error":{{"Code":"ValidationError","Message":"{key}"}}}}"#)),
        ("SELECT * FROM hhh WHERE pk = 'a' AND d = 'x'", format!(r#"{{"Error":{{"Code":"ValidationError","Message":"{key}"}}}}"#)),
        ("SELECT * FROM hhh WHERE pk = 'a' AND pk = 'b'", format!(r#"{{"Error":{{"Code":"ValidationError","Message":"{key}"}}}}"#)),
        ("SLECT * FROM hhh", r#"{"Error":{"Code":"ValidationError","Message":"Statement wasn't well formed, can't be processed: Expected data manipulation"}}"#.to_owned()),
    ];
    let statements: Vec<&str> = reads.iter().map(|(statement, _)| *statement).collect();
    let expected: Vec<&str> = reads.iter().map(|(_, answer)| answer.as_str()).collect();
    assert_eq!(run_all(&service, OPERATION, &statements), format!("[{}]", expected.join(",")));
}

#[test]
fn writes_of_a_batch_return_images_and_errors() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"d":{"S":"x"}"#);
    let writes = [
        ("INSERT INTO hhh VALUE {'pk':'b'}", r#"{"TableName":"hhh"}"#),
        (
            "INSERT INTO hhh VALUE {'pk':'a'}",
            r#"{"Error":{"Code":"DuplicateItem","Message":"Duplicate primary key exists in table"},"TableName":"hhh"}"#,
        ),
        (
            "UPDATE hhh SET d='y' WHERE pk='a' RETURNING MODIFIED NEW *",
            r#"{"Item":{"d":{"S":"y"}},"TableName":"hhh"}"#,
        ),
        (
            "UPDATE hhh SET d='z' WHERE pk='a' AND d='x'",
            r#"{"Error":{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},"TableName":"hhh"}"#,
        ),
        ("UPDATE hhh REMOVE d WHERE pk='a' RETURNING MODIFIED NEW *", r#"{"TableName":"hhh"}"#),
        (
            "DELETE FROM hhh WHERE pk='b' RETURNING ALL OLD *",
            r#"{"Item":{"pk":{"S":"b"}},"TableName":"hhh"}"#,
        ),
        (
            "DELETE FROM hhh WHERE d='b'",
            r#"{"Error":{"Code":"ValidationError","Message":"Where clause does not contain a mandatory equality on all key attributes"}}"#,
        ),
        (
            "DELETE FROM hhh WHERE pk='b' RETURNING ALL NEW *",
            r#"{"Error":{"Code":"ValidationError","Message":"Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements."}}"#,
        ),
        (
            "EXISTS(SELECT * FROM hhh WHERE pk='a' AND d IS MISSING)",
            r#"{"Error":{"Code":"ValidationError","Message":"EXISTS can only be used in ExecuteTransaction write requests."}}"#,
        ),
    ];
    let statements: Vec<&str> = writes.iter().map(|(statement, _)| *statement).collect();
    let expected: Vec<&str> = writes.iter().map(|(_, answer)| *answer).collect();
    assert_eq!(run_all(&service, OPERATION, &statements), format!("[{}]", expected.join(",")));
    assert_eq!(get(&service, "hhh", r#""pk":{"S":"a"}"#), r#"{"pk":{"S":"a"}}"#);
}

#[test]
fn a_batch_is_all_reads_or_all_writes() {
    let service = service();
    let mixed = ["SELECT * FROM hhh WHERE pk='a'", "INSERT INTO hhh VALUE {'pk':'a'}"];
    assert_eq!(
        run_all(&service, OPERATION, &mixed),
        "!ValidationException: BatchExecuteStatement API does not support both read and write operations in the same request."
    );
    assert_eq!(get(&service, "hhh", r#""pk":{"S":"a"}"#), "");
    let many = vec!["SELECT * FROM hhh WHERE pk='a'"; 26];
    assert!(run_all(&service, OPERATION, &many).contains("less than or equal to 25"));
    assert!(run_all(&service, OPERATION, &[]).contains("greater than or equal to 1"));
    assert!(outcome(&service, OPERATION, "{}", "").contains("Value null at 'statements'"));
    let found = outcome(&service, OPERATION, r#"{"Statements":[{}]}"#, "");
    assert!(found.contains("Value null at 'statements.1.member.statement'"), "{found}");
}

#[test]
fn each_statement_of_a_batch_has_its_consistency() {
    let service = service();
    let select = r#""Statement":"SELECT * FROM hhh WHERE pk='a'""#;
    let body = format!(
        r#"{{"Statements":[{{{select},"ConsistentRead":true}},{{{select}}}],"ReturnConsumedCapacity":"TOTAL"}}"#
    );
    assert_eq!(
        outcome(&service, OPERATION, &body, r#"{"Responses":"#),
        r#"[{"TableName":"hhh"},{"TableName":"hhh"}],"ConsumedCapacity":[{"TableName":"hhh","CapacityUnits":1.0},{"TableName":"hhh","CapacityUnits":0.5}]"#
    );
}
