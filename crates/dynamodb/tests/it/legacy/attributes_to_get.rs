//! `AttributesToGet`.

use crate::service::Service;

const INVALID: &str = "!ValidationException: One or more parameter values were invalid: ";
const KEY: &str = r#""Key":{"list":{"S":"x"},"id":{"S":"1"}}"#;
const KEYS: &str =
    r#""KeyConditions":{"list":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}"#;

fn service() -> Service {
    let service = Service::with_tasks();
    service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"x"},"id":{"S":"1"},"due":{"N":"1"},"m":{"M":{"a":{"N":"1"}}},"m.a":{"N":"2"},"size":{"N":"3"}}}"#);
    service
}

/// Asserts what is returned of the item, by all operations.
fn returns(names: &str, expected: &str) {
    let attributes = format!(r#""AttributesToGet":[{names}]"#);
    service().check(&[
        ("GetItem", &format!(r#"{{"TableName":"tasks",{KEY},{attributes}}}"#), &format!(r#"{{"Item":{expected}}}"#)),
        (
            "BatchGetItem",
            &format!(r#"{{"RequestItems":{{"tasks":{{"Keys":[{{"list":{{"S":"x"}},"id":{{"S":"1"}}}}],{attributes}}}}}}}"#),
            &format!(r#"{{"Responses":{{"tasks":[{expected}]}},"UnprocessedKeys":{{}}}}"#),
        ),
        (
            "Query",
            &format!(r#"{{"TableName":"tasks",{KEYS},{attributes}}}"#),
            &format!(r#"{{"Items":[{expected}],"Count":1,"ScannedCount":1}}"#),
        ),
        (
            "Scan",
            &format!(r#"{{"TableName":"tasks",{attributes},"Select":"SPECIFIC_ATTRIBUTES"}}"#),
            &format!(r#"{{"Items":[{expected}],"Count":1,"ScannedCount":1}}"#),
        ),
    ]);
}

#[test]
fn only_named_attributes_are_returned() {
    returns(r#""due""#, r#"{"due":{"N":"1"}}"#);
    returns(r#""due","id""#, r#"{"due":{"N":"1"},"id":{"S":"1"}}"#);
    returns(r#""missing""#, "{}");
    returns(r#""m""#, r#"{"m":{"M":{"a":{"N":"1"}}}}"#);
}

/// They are not expressions: there are no paths and no reserved words.
#[test]
fn a_name_is_a_name() {
    returns(r#""m.a""#, r#"{"m.a":{"N":"2"}}"#);
    returns(r##""m[0]","#m""##, "{}");
    returns(r#""size","list""#, r#"{"list":{"S":"x"},"size":{"N":"3"}}"#);
}

#[test]
fn capacity_counts_the_whole_item() {
    let big = "x".repeat(5000);
    let service = Service::with_tasks();
    service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{{"list":{{"S":"x"}},"id":{{"S":"1"}},"big":{{"S":"{big}"}}}}}}"#));
    service.check(&[(
        "GetItem",
        &format!(r#"{{"TableName":"tasks",{KEY},"AttributesToGet":["id"],"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}}"#),
        r#"{"Item":{"id":{"S":"1"}},"ConsumedCapacity":{"TableName":"tasks","CapacityUnits":2.0}}"#,
    )]);
}

#[test]
fn duplicates_and_lists_of_the_wrong_length_are_rejected() {
    let service = service();
    let bodies = |names: &str| {
        let attributes = format!(r#""AttributesToGet":[{names}]"#);
        [
            ("GetItem", format!(r#"{{"TableName":"tasks",{KEY},{attributes}}}"#)),
            ("Query", format!(r#"{{"TableName":"tasks",{KEYS},{attributes}}}"#)),
            ("Scan", format!(r#"{{"TableName":"tasks",{attributes}}}"#)),
        ]
    };
    for (operation, body) in bodies(r#""a","b","b","a""#) {
        service.check(&[(
            operation,
            &body,
            &format!("{INVALID}Duplicate value in attribute name: b"),
        )]);
    }
    for (operation, body) in bodies("") {
        service.check(&[(
            operation,
            &body,
            "!ValidationException: 1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1",
        )]);
    }
    let many: Vec<String> = (0..256).map(|n| format!(r#""a{n}""#)).collect();
    for (operation, body) in bodies(&many.join(",")) {
        let reply = service.call(operation, &body);
        assert!(reply.body.contains("Value '[a0, a1, "), "{}", reply.body);
        assert!(
            reply.body.contains("Member must have length less than or equal to 255"),
            "{}",
            reply.body
        );
    }
    let batch = |rest: &str| {
        format!(
            r#"{{"RequestItems":{{"tasks":{{"Keys":[{{"list":{{"S":"x"}},"id":{{"S":"1"}}}}]{rest}}}}}}}"#
        )
    };
    service.check(&[
        (
            "BatchGetItem",
            &batch(r#","AttributesToGet":[]"#),
            "!ValidationException: 1 validation error detected: Value '[]' at 'requestItems.tasks.member.attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        (
            "BatchGetItem",
            &batch(r#","AttributesToGet":["a","a"]"#),
            &format!("{INVALID}Duplicate value in attribute name: a"),
        ),
    ]);
}

#[test]
fn only_specific_attributes_can_be_selected_with_it() {
    let cases = [
        ("COUNT", "only the Count"),
        ("ALL_ATTRIBUTES", "ALL_ATTRIBUTES"),
        ("ALL_PROJECTED_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    ];
    let service = service();
    for (select, what) in cases {
        let rest = format!(r#""AttributesToGet":["id"],"Select":"{select}","IndexName":"by_due""#);
        let why = format!("Cannot specify the AttributesToGet when choosing to get {what}");
        for body in [
            format!(r#"{{"TableName":"tasks",{KEYS},{rest}}}"#),
            format!(r#"{{"TableName":"tasks",{rest}}}"#),
        ] {
            let operation = if body.contains("KeyConditions") { "Query" } else { "Scan" };
            let reply = service.call(operation, &body);
            assert!(reply.status == 400 && reply.body.contains(&why), "{}", reply.body);
        }
    }
    service.check(&[(
        "Query",
        &format!(r#"{{"TableName":"tasks",{KEYS},"AttributesToGet":["m"],"IndexName":"by_due"}}"#),
        &format!("{INVALID}Global secondary index by_due does not project [m]"),
    )]);
}

/// What is left of a batch is the request to send again.
#[test]
fn unprocessed_keys_repeat_it() {
    let service = Service::with_tasks();
    let big = "x".repeat(390_000);
    let mut keys = vec![];
    for id in 0..45 {
        let key = format!(r#""list":{{"S":"x"}},"id":{{"S":"{id}"}}"#);
        service.ok(
            "PutItem",
            &format!(r#"{{"TableName":"tasks","Item":{{{key},"big":{{"S":"{big}"}}}}}}"#),
        );
        keys.push(format!("{{{key}}}"));
    }
    let body = service.ok(
        "BatchGetItem",
        &format!(
            r#"{{"RequestItems":{{"tasks":{{"Keys":[{}],"AttributesToGet":["id","m.a"]}}}}}}"#,
            keys.join(",")
        ),
    );
    let (_, unprocessed) = body.split_once("UnprocessedKeys").unwrap();
    assert!(unprocessed.contains(r#""AttributesToGet":["id","m.a"]"#), "{unprocessed}");
    assert!(!body.contains("xxx"));
}
