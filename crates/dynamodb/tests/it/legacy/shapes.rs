//! Parameters of the wrong type are rejected before anything else.

use crate::service::Service;

fn refused(operation: &str, parameter: &str, cases: &[(&str, &str)]) {
    for (json, why) in cases {
        let body = format!(r#"{{"TableName":"?",{}}}"#, parameter.replace("HERE", json));
        let why = format!("!SerializationException: {why}");
        Service::new().check(&[(operation, &body, &why)]);
    }
}

#[test]
fn maps_of_structures() {
    for (operation, parameter, class) in [
        ("PutItem", "Expected", "ExpectedAttributeValue"),
        ("UpdateItem", "AttributeUpdates", "AttributeValueUpdate"),
        ("Query", "KeyConditions", "Condition"),
        ("Query", "QueryFilter", "Condition"),
        ("Scan", "ScanFilter", "Condition"),
    ] {
        let list = format!(
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.{class}>"
        );
        refused(
            operation,
            &format!(r#""{parameter}":HERE"#),
            &[("[]", &list), ("1", "Unexpected field type"), (r#""x""#, "Unexpected field type")],
        );
        let list =
            format!("Unrecognized collection type class com.amazonaws.dynamodb.v20120810.{class}");
        refused(
            operation,
            &format!(r#""{parameter}":{{"a":HERE}}"#),
            &[("[]", &list), ("1", "Unexpected value type in payload")],
        );
    }
}

#[test]
fn members_of_structures() {
    let number = "NUMBER_VALUE cannot be converted to String";
    for parameter in ["ConditionalOperator", "Expected\":{\"a\":{\"ComparisonOperator"] {
        let end = if parameter.contains('{') { "}}" } else { "" };
        refused("PutItem", &format!(r#""{parameter}":HERE{end}"#), &[("1", number)]);
    }
    refused("UpdateItem", r#""AttributeUpdates":{"a":{"Action":HERE}}"#, &[("1", number)]);
    refused(
        "PutItem",
        r#""Expected":{"a":{"Exists":HERE}}"#,
        &[("1", "NUMBER_VALUE cannot be converted to Boolean")],
    );
    let class =
        "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue";
    for (operation, parameter) in [
        ("PutItem", r#""Expected":{"a":{"Value":HERE}}"#),
        ("UpdateItem", r#""AttributeUpdates":{"a":{"Value":HERE}}"#),
    ] {
        refused(
            operation,
            parameter,
            &[("1", "Unexpected field type"), ("[]", class), (r#"{"S":1}"#, number)],
        );
    }
    // A value that breaks a rule does not hide one of the wrong type.
    refused(
        "Query",
        r#""KeyConditions":{"a":{"AttributeValueList":HERE}}"#,
        &[
            ("{}", "Start of structure or map found where not expected"),
            ("1", "Unexpected field type"),
            (r#"[{},1]"#, "Unexpected value type in payload"),
            (r#"[{},[]]"#, class),
        ],
    );
    refused(
        "GetItem",
        r#""AttributesToGet":HERE"#,
        &[("{}", "Start of structure or map found where not expected"), ("[1]", number)],
    );
}

#[test]
fn null_is_absent_and_the_last_of_two_members_counts() {
    let service = Service::with_tasks();
    let body = |updates: &str| {
        format!(
            r#"{{"TableName":"tasks","Key":{{"list":{{"S":"x"}},"id":{{"S":"1"}}}},"AttributeUpdates":{updates},"Expected":null,"ReturnValues":"UPDATED_NEW"}}"#
        )
    };
    service.check(&[
        ("UpdateItem", &body("null"), "{}"),
        ("UpdateItem", &body(r#"{"a":null}"#), "{}"),
        ("UpdateItem", &body(r#"{"a":{"Value":{"N":"1"}},"a":null}"#), "{}"),
        (
            "UpdateItem",
            &body(r#"{"a":{"Value":{"N":"1"}},"a":{"Value":{"N":"2"},"Action":null}}"#),
            r#"{"Attributes":{"a":{"N":"2"}}}"#,
        ),
    ]);
}
