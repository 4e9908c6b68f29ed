//! Invalid values, in the words of each operation: some have the current ones, others the older.

use crate::service::Service;

const ONE: &str = "!ValidationException: 1 validation error detected: ";
const BARE: &str = "!ValidationException: ";
const INVALID: &str = "One or more parameter values were invalid: ";

/// A value, its current message and its older one.
fn cases() -> Vec<(&'static str, String, String)> {
    let overflow =
        "Number overflow. Attempting to store a number with magnitude larger than supported range";
    let underflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range";
    let number = "The parameter cannot be converted to a numeric value";
    let same = |value: &'static str, why: &str| (value, why.to_owned(), why.to_owned());
    vec![
        same(r#"{"N":"abc"}"#, &format!("{number}: abc")),
        (r#"{"N":""}"#, format!("{number}: "), number.to_owned()),
        same(r#"{"N":" 1"}"#, &format!("{number}:  1")),
        same(r#"{"N":"1e126"}"#, overflow),
        same(r#"{"N":"0e126"}"#, overflow),
        same(r#"{"N":"0e-131"}"#, underflow),
        same(r#"{"N":"1e99999999999"}"#, overflow),
        same(r#"{"N":"1e-99999999999"}"#, underflow),
        same(r#"{"N":"1e9223372036854775808"}"#, &format!("{number}: 1e9223372036854775808")),
        same(
            r#"{"NULL":false}"#,
            &format!("{INVALID}Null attribute value types must have the value of true"),
        ),
        same(r#"{"SS":[]}"#, &format!("{INVALID}An string set  may not be empty")),
        (
            r#"{"SS":["b","a","b"]}"#,
            format!(r#"{INVALID}Input collection ["a", "b", "b"] contains duplicates."#),
            format!("{INVALID}Input collection [b, a, b] contains duplicates."),
        ),
        (
            r#"{"BS":["/w==","AA==","AA=="]}"#,
            format!(
                r#"{INVALID}Input collection ["AA==","/w==","AA=="]of type BS contains duplicates."#
            ),
            format!("{INVALID}Input collection [/w==, AA==, AA==]of type BS contains duplicates."),
        ),
        (
            r#"{"NS":["2","1","2"]}"#,
            format!("{INVALID}Input collection contains duplicates."),
            "Input collection contains duplicates".to_owned(),
        ),
    ]
}

#[test]
fn writes_of_one_item_report_values_as_violations() {
    let service = Service::with_tasks();
    let key = r#""Key":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    for (value, current, _) in cases() {
        let requests = [
            (
                "PutItem",
                format!(
                    r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}},"m":{{"M":{{"x":{{"L":[{value}]}}}}}}}}}}"#
                ),
            ),
            (
                "PutItem",
                format!(
                    r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"ConditionExpression":"v = :v","ExpressionAttributeValues":{{":v":{value}}}}}"#
                ),
            ),
            (
                "UpdateItem",
                format!(
                    r#"{{"TableName":"tasks",{key},"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{{":v":{value}}}}}"#
                ),
            ),
            (
                "DeleteItem",
                format!(r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{value}}}}}"#),
            ),
        ];
        for (operation, body) in requests {
            service.check(&[(operation, &body, &format!("{ONE}{current}"))]);
        }
    }
}

#[test]
fn other_operations_report_values_alone() {
    let service = Service::with_tasks();
    for (value, current, older) in cases() {
        let with_values = |rest: &str| {
            format!(
                r#"{{"TableName":"tasks",{rest},"ExpressionAttributeValues":{{":v":{value}}}}}"#
            )
        };
        let named = format!("ExpressionAttributeValues contains invalid value: {older} for key :v");
        let requests = [
            (
                "GetItem",
                format!(r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{value}}}}}"#),
                &current,
            ),
            ("Query", with_values(r#""KeyConditionExpression":"list = :v""#), &current),
            (
                "BatchGetItem",
                format!(r#"{{"RequestItems":{{"tasks":{{"Keys":[{{"list":{value}}}]}}}}}}"#),
                &current,
            ),
            ("Scan", with_values(r#""FilterExpression":"v = :v""#), &named),
            (
                "BatchWriteItem",
                format!(
                    r#"{{"RequestItems":{{"tasks":[{{"PutRequest":{{"Item":{{"v":{value}}}}}}}]}}}}"#
                ),
                &older,
            ),
            (
                "TransactWriteItems",
                format!(
                    r#"{{"TransactItems":[{{"Put":{{"TableName":"tasks","Item":{{"v":{value}}}}}}}]}}"#
                ),
                &older,
            ),
            (
                "TransactGetItems",
                format!(
                    r#"{{"TransactItems":[{{"Get":{{"TableName":"tasks","Key":{{"v":{value}}}}}}}]}}"#
                ),
                &older,
            ),
        ];
        for (operation, body, expected) in requests {
            service.check(&[(operation, &body, &format!("{BARE}{expected}"))]);
        }
    }
}

#[test]
fn rules_that_need_no_table_are_reported_as_violations() {
    let service = Service::with_tasks();
    let key = r#"{"TableName":"none","Key":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let item = r#"{"TableName":"none","Item":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let cases = [
        ("PutItem", format!(r#"{item},"ExpressionAttributeValues":{{":v":{{"S":"x"}}}}}}"#), "ExpressionAttributeValues can only be specified when using expressions"),
        ("PutItem", format!(r#"{item},"ConditionExpression":""}}"#), "Invalid ConditionExpression: The expression can not be empty;"),
        ("DeleteItem", format!(r#"{key},"ReturnValues":"ALL_NEW"}}"#), "ReturnValues can only be ALL_OLD or NONE"),
        ("UpdateItem", format!(r#"{key},"UpdateExpression":"SET b = :w","ConditionExpression":"a = :v","ExpressionAttributeValues":{{":w":{{"S":"x"}}}}}}"#), "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :v"),
        ("UpdateItem", format!(r#"{key},"ReturnValues":"BAD","ReturnConsumedCapacity":"BAD"}}"#), "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"),
        ("PutItem", r#"{"TableName":"","Item":{},"ReturnValues":"BAD"}"#.to_owned(), "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("Query", r#"{"TableName":"tasks","Limit":0,"KeyConditionExpression":"list = :v","ExpressionAttributeValues":{":v":{"S":"a"}}}"#.to_owned(), "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"),
        ("Scan", r#"{"TableName":"tasks","Limit":0}"#.to_owned(), "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"),
        ("BatchGetItem", r#"{"RequestItems":{}}"#.to_owned(), "Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ("BatchGetItem", r#"{"RequestItems":{"tasks":{"Keys":[]}}}"#.to_owned(), "Value at 'RequestItems.tasks.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1"),
    ];
    for (operation, body, expected) in cases {
        service.check(&[(operation, &body, &format!("{ONE}{expected}"))]);
    }
    service.check(&[(
        "BatchWriteItem",
        r#"{"RequestItems":{}}"#,
        "!ValidationException: The requestItems parameter is required for BatchWriteItem",
    )]);
}

/// A missing required parameter brings back the older form, with all violations together.
#[test]
fn violations_beside_a_missing_key_are_reported_together() {
    let update = r#""UpdateExpression":"SET a = :a","ExpressionAttributeValues":{":a":{"S":"x"}}"#;
    Service::new().check(&[(
        "UpdateItem",
        &format!(r#"{{"TableName":"",{update}}}"#),
        "!ValidationException: 2 validation errors detected: Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1; Value null at 'key' failed to satisfy constraint: Member must not be null",
    )]);
}

#[test]
fn a_large_item_is_rejected_before_its_table_is_looked_up() {
    let large = "x".repeat(400 * 1024);
    let too_large = "!ValidationException: Item size has exceeded the maximum allowed size";
    Service::new().check(&[
        ("PutItem", &format!(r#"{{"TableName":"none","Item":{{"a":{{"S":"{large}"}}}}}}"#), too_large),
        ("BatchWriteItem", &format!(r#"{{"RequestItems":{{"none":[{{"PutRequest":{{"Item":{{"a":{{"S":"{large}"}}}}}}}}]}}}}"#), too_large),
    ]);
}

#[test]
fn a_batch_write_names_the_schema_for_every_invalid_key() {
    let no_match = "!ValidationException: The provided key element does not match the schema";
    let put = |item: &str| {
        format!(r#"{{"RequestItems":{{"tasks":[{{"PutRequest":{{"Item":{item}}}}}]}}}}"#)
    };
    let service = Service::with_tasks();
    for item in [r#"{"list":{"S":"a"}}"#, r#"{"list":{"S":"a"},"id":{"N":"1"}}"#] {
        service.check(&[("BatchWriteItem", &put(item), no_match)]);
    }
}

#[test]
fn paths_into_key_attributes_are_rejected() {
    let service = Service::with_tasks();
    let key = r#""TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let why = |kind: &str| {
        format!(
            "!ValidationException: Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}"
        )
    };
    let cases = [
        ("GetItem", format!(r#"{{{key},"ProjectionExpression":"id[0]"}}"#), why("Key: id")),
        ("GetItem", format!(r#"{{{key},"ProjectionExpression":"due.x"}}"#), why("IndexKey: due")),
        ("DeleteItem", format!(r#"{{{key},"ConditionExpression":"attribute_exists(id[1])"}}"#), why("Key: id")),
        ("UpdateItem", format!(r#"{{{key},"UpdateExpression":"REMOVE title[0]"}}"#), why("IndexKey: title")),
        ("Scan", r#"{"TableName":"tasks","FilterExpression":"attribute_exists(id.x)"}"#.to_owned(), why("Key: id")),
        ("BatchGetItem", r#"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}}],"ProjectionExpression":"id[0]"}}}"#.to_owned(), why("Key: id")),
        ("TransactGetItems", format!(r#"{{"TransactItems":[{{"Get":{{{key},"ProjectionExpression":"id[0]"}}}}]}}"#), why("Key: id")),
    ];
    for (operation, body, expected) in cases {
        service.check(&[(operation, &body, &expected)]);
    }
}

#[test]
fn an_update_that_only_removes_creates_nothing() {
    let service = Service::with_tasks();
    let key = r#""TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let update = |rest: &str| format!("{{{key},{rest}}}");
    let gone = r#""ReturnValues":"ALL_NEW""#;
    let set = r#""ExpressionAttributeValues":{":s":{"SS":["x"]}}"#;
    for rest in [
        format!(r#""UpdateExpression":"REMOVE x",{gone}"#),
        format!(r#""UpdateExpression":"REMOVE x.y, z[0]",{gone}"#),
        format!(r#""UpdateExpression":"DELETE x :s",{set},{gone}"#),
        r#""UpdateExpression":"REMOVE x","ReturnConsumedCapacity":"NONE""#.to_owned(),
    ] {
        service.check(&[("UpdateItem", &update(&rest), "{}")]);
    }
    service.ok("TransactWriteItems", &format!(r#"{{"TransactItems":[{{"Update":{{{key},"UpdateExpression":"REMOVE x"}}}}],"ReturnConsumedCapacity":"TOTAL"}}"#));
    service.check(&[("GetItem", &format!("{{{key}}}"), "{}")]);
    // One that changes nothing at all does create the item.
    service.ok("UpdateItem", &format!("{{{key}}}"));
    service.check(&[(
        "GetItem",
        &format!("{{{key}}}"),
        r#"{"Item":{"id":{"S":"1"},"list":{"S":"a"}}}"#,
    )]);
}

#[test]
fn a_batch_by_arn_is_answered_under_the_arn() {
    let service = Service::with_tasks();
    service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}}}"#);
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks";
    service.check(&[(
        "BatchGetItem",
        &format!(r#"{{"RequestItems":{{"{arn}":{{"Keys":[{{"list":{{"S":"a"}},"id":{{"S":"1"}}}}]}}}}}}"#),
        &format!(r#"{{"Responses":{{"{arn}":[{{"id":{{"S":"1"}},"list":{{"S":"a"}}}}]}},"UnprocessedKeys":{{}}}}"#),
    )]);
}

#[test]
fn a_parallel_scan_continues_in_its_own_segment() {
    let service = Service::with_tasks();
    for n in 0..20 {
        service.ok(
            "PutItem",
            &format!(r#"{{"TableName":"tasks","Item":{{"list":{{"S":"{n}"}},"id":{{"S":"1"}}}}}}"#),
        );
    }
    let scan = |segment: u32, start: u32| {
        format!(
            r#"{{"TableName":"tasks","Segment":{segment},"TotalSegments":2,"ExclusiveStartKey":{{"list":{{"S":"{start}"}},"id":{{"S":"1"}}}}}}"#
        )
    };
    for start in 0..20 {
        let statuses = [0, 1].map(|segment| service.call("Scan", &scan(segment, start)).status);
        assert!(statuses == [200, 400] || statuses == [400, 200], "{start}: {statuses:?}");
        let wrong = if statuses[0] == 400 { 0 } else { 1 };
        let expected = format!(
            "!ValidationException: The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: 2 Segment: {wrong}"
        );
        service.check(&[("Scan", &scan(wrong, start), &expected)]);
    }
}
