//! Single-item requests: exact responses and error messages.

use keyloom_testkit::cases;
use proptest::prelude::*;

use crate::generators;
use crate::service::Service;

const NO_MATCH: &str = "!ValidationException: The provided key element does not match the schema";

#[test]
fn puts_and_gets() {
    Service::with_tasks().check(&[
        ("PutItem", r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"n":{"N":"01.50"}}}"##, "{}"),
        (
            "GetItem",
            r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}}"##,
            r##"{"Item":{"id":{"S":"1"},"list":{"S":"a"},"n":{"N":"1.5"}}}"##,
        ),
        ("GetItem", r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"2"}}}"##, "{}"),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}},"ReturnValues":"ALL_OLD"}"##,
            r##"{"Attributes":{"id":{"S":"1"},"list":{"S":"a"},"n":{"N":"1.5"}}}"##,
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}},"ConditionExpression":"attribute_not_exists(id)"}"##,
            "!ConditionalCheckFailedException: The conditional request failed",
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}},"ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"##,
            r##"!ConditionalCheckFailedException: "message":"The conditional request failed","Item":{"id":{"S":"1"},"list":{"S":"a"}}"##,
        ),
        (
            "DeleteItem",
            r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ReturnValues":"ALL_OLD"}"##,
            r##"{"Attributes":{"id":{"S":"1"},"list":{"S":"a"}}}"##,
        ),
        ("DeleteItem", r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ReturnValues":"ALL_OLD"}"##, "{}"),
    ]);
}

#[test]
fn updates_return_every_image() {
    let service = Service::with_tasks();
    service.ok("PutItem", r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"n":{"N":"1"},"m":{"M":{"x":{"N":"1"},"y":{"N":"2"}}}}}"##);
    let cases = [
        ("NONE", "{}"),
        (
            "ALL_OLD",
            r##"{"Attributes":{"id":{"S":"1"},"list":{"S":"a"},"m":{"M":{"x":{"N":"2"},"y":{"N":"2"}}},"n":{"N":"2"}}}"##,
        ),
        ("UPDATED_OLD", r##"{"Attributes":{"m":{"M":{"x":{"N":"3"}}},"n":{"N":"3"}}}"##),
        (
            "ALL_NEW",
            r##"{"Attributes":{"id":{"S":"1"},"list":{"S":"a"},"m":{"M":{"x":{"N":"5"},"y":{"N":"2"}}},"n":{"N":"5"}}}"##,
        ),
        ("UPDATED_NEW", r##"{"Attributes":{"m":{"M":{"x":{"N":"6"}}},"n":{"N":"6"}}}"##),
    ];
    for (returns, expected) in cases {
        let body = format!(
            r##"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"UpdateExpression":"SET n = n + :n, m.x = m.x + :n","ExpressionAttributeValues":{{":n":{{"N":"1"}}}},"ReturnValues":"{returns}"}}"##
        );
        assert_eq!(service.ok("UpdateItem", &body), expected, "{returns}");
    }
}

/// The image is computed in two ways, because capacity units need the old item too.
#[test]
fn images_are_the_same_with_and_without_units() {
    let expressions = [
        "SET n = :n",
        "REMOVE n",
        "ADD n :n",
        "SET m.x = :n REMOVE m.y",
        "SET l[0] = :n REMOVE l[2]",
        "SET fresh = :n",
    ];
    for returns in ["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"] {
        for expression in expressions {
            for item in [
                "",
                r##","n":{"N":"1"},"m":{"M":{"x":{"N":"1"},"y":{"N":"2"}}},"l":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}"##,
            ] {
                let image = |capacity: &str| {
                    let service = Service::with_tasks();
                    service.ok("PutItem", &format!(r##"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}}{item}}}}}"##));
                    let values = if expression.contains(":n") {
                        r##","ExpressionAttributeValues":{":n":{"N":"7"}}"##
                    } else {
                        ""
                    };
                    let reply = service.call("UpdateItem", &format!(
                        r##"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"UpdateExpression":"{expression}","ReturnValues":"{returns}","ReturnConsumedCapacity":"{capacity}"{values}}}"##
                    ));
                    let (image, _) = reply
                        .body
                        .split_once(r##""ConsumedCapacity""##)
                        .unwrap_or((&reply.body, ""));
                    image.trim_end_matches([',', '}']).to_owned()
                };
                assert_eq!(image("TOTAL"), image("NONE"), "{returns} {expression} {item}");
            }
        }
    }
}

#[test]
fn invalid_keys_are_rejected() {
    let long = "x".repeat(2049);
    let service = Service::with_tasks();
    service.check(&[
        ("GetItem", r##"{"TableName":"tasks","Key":{"list":{"S":"a"}}}"##, NO_MATCH),
        ("GetItem", r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"N":"1"}}}"##, NO_MATCH),
        ("DeleteItem", r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"},"x":{"S":"1"}}}"##, NO_MATCH),
        ("UpdateItem", r##"{"TableName":"tasks","Key":{"id":{"S":"1"}}}"##, NO_MATCH),
        (
            "GetItem",
            r##"{"TableName":"tasks","Key":{"list":{"S":""},"id":{"S":"1"}}}"##,
            "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: list",
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"}}}"##,
            "!ValidationException: One or more parameter values were invalid: Missing the key id in the item",
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"N":"1"}}}"##,
            "!ValidationException: One or more parameter values were invalid: Type mismatch for key id expected: S actual: N",
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"due":{"S":"x"}}}"##,
            "!ValidationException: One or more parameter values were invalid: Type mismatch for Index Key due Expected: N Actual: S IndexName: by_due",
        ),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"title":{"S":""}}}"##,
            "!ValidationException: One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by_title, IndexKey: title",
        ),
        (
            "UpdateItem",
            r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"UpdateExpression":"SET id = :v","ExpressionAttributeValues":{":v":{"S":"2"}}}"##,
            "!ValidationException: One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
        ),
        (
            "GetItem",
            &format!(r##"{{"TableName":"tasks","Key":{{"list":{{"S":"{long}"}},"id":{{"S":"1"}}}}}}"##),
            "!ValidationException: One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ),
        (
            "GetItem",
            &format!(r##"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"{long}"}}}}}}"##),
            "!ValidationException: One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
        ),
    ]);
}

#[test]
fn updates_that_do_not_fit_the_item_are_rejected() {
    let service = Service::with_tasks();
    service.ok("PutItem", r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"s":{"S":"x"},"n":{"N":"9.9e125"}}}"##);
    let cases = [
        (
            "SET a = nothing",
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            "SET a.b = :n",
            "The document path provided in the update expression is invalid for update",
        ),
        ("SET a = s + :n", "An operand in the update expression has an incorrect data type"),
        ("ADD s :n", "An operand in the update expression has an incorrect data type"),
        (
            "SET n = n + n",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
    ];
    for (expression, expected) in cases {
        let values = if expression.contains(":n") {
            r##","ExpressionAttributeValues":{":n":{"N":"1"}}"##
        } else {
            ""
        };
        let body = format!(
            r##"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"UpdateExpression":"{expression}"{values}}}"##
        );
        service.check(&[("UpdateItem", &body, &format!("!ValidationException: {expected}"))]);
    }
}

#[test]
fn invalid_values_are_rejected() {
    let cases = [
        (r##""x""##, "!SerializationException: Unexpected value type in payload"),
        (
            "[]",
            "!SerializationException: Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        ),
        (r##"{"S":1}"##, "!SerializationException: NUMBER_VALUE cannot be converted to String"),
        (r##"{"N":1.5}"##, "!SerializationException: DECIMAL_VALUE cannot be converted to String"),
        (r##"{"BOOL":"maybe"}"##, "!SerializationException: Unexpected token received from parser"),
        (
            r##"{"B":"AQI"}"##,
            "!SerializationException: Base64 encoded length is expected a multiple of 4 bytes but found: 3",
        ),
        (
            r##"{"B":"AQI*"}"##,
            "!SerializationException: Invalid last non-pad Base64 character dectected",
        ),
        (
            r##"{"L":{}}"##,
            "!SerializationException: Start of structure or map found where not expected",
        ),
        (
            "{}",
            "!ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r##"{"X":"a"}"##,
            "!ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            r##"{"S":"a","N":"1"}"##,
            "!ValidationException: 1 validation error detected: Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (
            r##"{"N":""}"##,
            "!ValidationException: 1 validation error detected: The parameter cannot be converted to a numeric value: ",
        ),
        (
            r##"{"N":"x"}"##,
            "!ValidationException: 1 validation error detected: The parameter cannot be converted to a numeric value: x",
        ),
        (
            r##"{"N":"1e126"}"##,
            "!ValidationException: 1 validation error detected: Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            r##"{"N":"1e-131"}"##,
            "!ValidationException: 1 validation error detected: Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
        (
            r##"{"N":"123456789012345678901234567890123456789"}"##,
            "!ValidationException: 1 validation error detected: Attempting to store more than 38 significant digits in a Number",
        ),
        (
            r##"{"NULL":false}"##,
            "!ValidationException: 1 validation error detected: One or more parameter values were invalid: Null attribute value types must have the value of true",
        ),
        (
            r##"{"SS":[]}"##,
            "!ValidationException: 1 validation error detected: One or more parameter values were invalid: An string set  may not be empty",
        ),
        (
            r##"{"SS":["a","a"]}"##,
            "!ValidationException: 1 validation error detected: One or more parameter values were invalid: Input collection [\"a\", \"a\"] contains duplicates.",
        ),
        (
            r##"{"NS":["1","1.0"]}"##,
            "!ValidationException: 1 validation error detected: One or more parameter values were invalid: Input collection contains duplicates.",
        ),
    ];
    let service = Service::with_tasks();
    for (value, expected) in cases {
        let body = format!(
            r##"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}},"v":{value}}}}}"##
        );
        service.check(&[("PutItem", &body, expected)]);
    }
}

/// The service calls it 32 levels: the innermost value is one of them.
#[test]
fn values_are_in_31_lists_or_maps_at_most() {
    const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: Attributes in the item have \
                         nested levels beyond supported limit";
    let service = Service::with_tasks();
    let nested = |lists: usize, maps: usize| {
        let (list, map) = (r#"{"L":["#.repeat(lists), r#"{"M":{"m":"#.repeat(maps));
        format!(r#"{list}{map}{{"S":"x"}}{}{}"#, "}}".repeat(maps), "]}".repeat(lists))
    };
    let put = |value: &str| {
        format!(
            r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}},"v":{value}}}}}"#
        )
    };
    let update = |path: &str, value: &str| {
        format!(
            r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"UpdateExpression":"SET {path} = :v","ExpressionAttributeValues":{{":v":{value}}}}}"#
        )
    };
    for (lists, maps) in [(31, 0), (0, 31), (15, 16)] {
        service.ok("PutItem", &put(&nested(lists, maps)));
        service.ok("UpdateItem", &update("v", &nested(lists, maps)));
    }
    let inside = |deeper: &str| format!("!ValidationException: {deeper}");
    let given = format!("1 validation error detected: {TOO_DEEP}");
    for (lists, maps) in [(32, 0), (0, 32), (16, 16)] {
        service.check(&[
            ("PutItem", &put(&nested(lists, maps)), &inside(&given)),
            ("UpdateItem", &update("v", &nested(lists, maps)), &inside(&given)),
        ]);
    }
    service.check(&[("UpdateItem", &update("v[0]", &nested(31, 0)), &inside(TOO_DEEP))]);
}

/// Shape, constraints, parameter rules, expressions, and last what depends on the table.
#[test]
fn errors_are_reported_in_the_order_of_the_service() {
    Service::with_tasks().check(&[
        (
            "PutItem",
            r##"{"TableName":"x","Item":{"a":1},"ReturnValues":"BAD"}"##,
            "!SerializationException: Unexpected value type in payload",
        ),
        (
            "PutItem",
            r##"{"TableName":"?","ReturnValues":"BAD"}"##,
            "!ValidationException: 3 validation errors detected: Value '?' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value 'BAD' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; Value null at 'item' failed to satisfy constraint: Member must not be null",
        ),
        (
            "PutItem",
            r##"{"TableName":"none","Item":{"a":{}},"ReturnValues":"ALL_NEW","ExpressionAttributeNames":{"#a":"a"}}"##,
            "!ValidationException: 1 validation error detected: ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "PutItem",
            r##"{"TableName":"none","Item":{"a":{}},"ReturnValues":"ALL_NEW","ConditionExpression":"("}"##,
            "!ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            "PutItem",
            r##"{"TableName":"none","Item":{},"ReturnValues":"ALL_NEW","ConditionExpression":"("}"##,
            "!ValidationException: 1 validation error detected: ReturnValues can only be ALL_OLD or NONE",
        ),
        (
            "PutItem",
            r##"{"TableName":"none","Item":{},"ConditionExpression":"("}"##,
            "!ValidationException: 1 validation error detected: Invalid ConditionExpression: Syntax error; token: \"<EOF>\", near: \"(\"",
        ),
        ("PutItem", r##"{"TableName":"none","Item":{}}"##, "!ResourceNotFoundException: Requested resource not found"),
        (
            "PutItem",
            r##"{"TableName":"tasks","Item":{},"Expected":{}}"##,
            "!ValidationException: One or more parameter values were invalid: Missing the key list in the item",
        ),
        (
            "GetItem",
            r##"{"TableName":"tasks"}"##,
            "!ValidationException: 1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must not be null",
        ),
    ]);
}

#[test]
fn a_table_can_be_named_by_its_arn() {
    let service = Service::with_tasks();
    let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks";
    service.ok(
        "PutItem",
        &format!(r##"{{"TableName":"{arn}","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}}}}"##),
    );
    let body = service.ok("Scan", r##"{"TableName":"tasks","Select":"COUNT"}"##);
    assert_eq!(body, r##"{"Count":1,"ScannedCount":1}"##);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    /// Encoded and decoded twice: the store would keep a misread item.
    #[test]
    fn items_round_trip_through_the_wire(item in generators::item()) {
        let service = Service::new();
        service.ok("CreateTable", r##"{"TableName":"any","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"key","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"key","KeyType":"HASH"}]}"##);
        let mut item = item;
        item.insert("key", "1");
        // The store rejects empty names, at any depth.
        let put = keyloom_store::Put::new(&keyloom_store::TableName::new("any").unwrap(), item);
        prop_assume!(pollster::block_on(keyloom_store::Store::put(&*service.store, put)).is_ok());
        let first = service.ok("GetItem", r##"{"TableName":"any","Key":{"key":{"S":"1"}}}"##);
        let image = first.strip_prefix(r##"{"Item":"##).unwrap().strip_suffix('}').unwrap();
        let put = format!(r##"{{"TableName":"any","Item":{image},"ReturnValues":"ALL_OLD"}}"##);
        let old = service.ok("PutItem", &put);
        prop_assert_eq!(&old, &format!(r##"{{"Attributes":{image}}}"##));
        let again = service.ok("GetItem", r##"{"TableName":"any","Key":{"key":{"S":"1"}}}"##);
        prop_assert_eq!(again, first);
    }
}
