//! Expressions and the parameters that they replaced exclude each other.

use crate::service::Service;

/// Sends a request to a table that does not exist: mixing is rejected before that is noticed.
fn mixed(operation: &str, parameters: &str, legacy: &str, expressions: &str) {
    // Rules of writes of single items are reported as constraints are.
    let start = match operation {
        "PutItem" | "UpdateItem" | "DeleteItem" => "1 validation error detected: ",
        _ => "",
    };
    let why = format!(
        "!ValidationException: {start}Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
    );
    let body = format!(r#"{{"TableName":"none",{parameters}}}"#);
    Service::new().check(&[(operation, &body, &why)]);
}

#[test]
fn every_mixture_is_rejected_by_its_names() {
    mixed(
        "GetItem",
        r#""Key":{},"AttributesToGet":["a"],"ProjectionExpression":"""#,
        "AttributesToGet",
        "ProjectionExpression",
    );
    mixed(
        "PutItem",
        r#""Item":{},"Expected":{},"ConditionExpression":"""#,
        "Expected",
        "ConditionExpression",
    );
    mixed(
        "PutItem",
        r#""Item":{},"ConditionalOperator":"OR","ConditionExpression":"a""#,
        "ConditionalOperator",
        "ConditionExpression",
    );
    mixed(
        "DeleteItem",
        r#""Key":{},"ConditionalOperator":"OR","Expected":{"a":{}},"ConditionExpression":"a""#,
        "Expected, ConditionalOperator",
        "ConditionExpression",
    );
    mixed(
        "UpdateItem",
        r#""Key":{},"Expected":{"a":{}},"UpdateExpression":"a""#,
        "Expected",
        "UpdateExpression",
    );
    mixed(
        "UpdateItem",
        r#""Key":{},"AttributeUpdates":{},"ConditionExpression":"a""#,
        "AttributeUpdates",
        "ConditionExpression",
    );
    mixed(
        "UpdateItem",
        r#""Key":{},"Expected":{},"AttributeUpdates":{},"ConditionalOperator":"AND","ConditionExpression":"","UpdateExpression":"""#,
        "AttributeUpdates, Expected, ConditionalOperator",
        "UpdateExpression, ConditionExpression",
    );
    mixed(
        "Scan",
        r#""AttributesToGet":["a"],"FilterExpression":"a""#,
        "AttributesToGet",
        "FilterExpression",
    );
    mixed(
        "Scan",
        r#""ConditionalOperator":"AND","ScanFilter":{},"AttributesToGet":["a"],"FilterExpression":"a","ProjectionExpression":"a""#,
        "AttributesToGet, ScanFilter, ConditionalOperator",
        "ProjectionExpression, FilterExpression",
    );
    mixed(
        "Query",
        r#""QueryFilter":{},"KeyConditionExpression":"a""#,
        "QueryFilter",
        "KeyConditionExpression",
    );
    mixed(
        "Query",
        r#""KeyConditions":{},"KeyConditionExpression":"a""#,
        "KeyConditions",
        "KeyConditionExpression",
    );
    mixed(
        "Query",
        r#""KeyConditions":{},"QueryFilter":{},"AttributesToGet":["a","a"],"ConditionalOperator":"OR","KeyConditionExpression":"","FilterExpression":"","ProjectionExpression":"","ExpressionAttributeNames":{}"#,
        "AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions",
        "ProjectionExpression, FilterExpression, KeyConditionExpression",
    );
    // Without its own expression, a key condition is not counted.
    mixed(
        "Query",
        r#""KeyConditions":{},"QueryFilter":{},"FilterExpression":"""#,
        "QueryFilter",
        "FilterExpression",
    );
    let why = "!ValidationException: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}";
    Service::new().check(&[(
        "BatchGetItem",
        r#"{"RequestItems":{"none":{"Keys":[{}],"AttributesToGet":["a"],"ProjectionExpression":"a"}}}"#,
        why,
    )]);
}

#[test]
fn key_conditions_go_with_other_expressions() {
    let service = Service::with_tasks();
    service.ok(
        "PutItem",
        r#"{"TableName":"tasks","Item":{"list":{"S":"x"},"id":{"S":"1"},"n":{"N":"1"}}}"#,
    );
    service.check(&[(
        "Query",
        r#"{"TableName":"tasks","KeyConditions":{"list":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}},"FilterExpression":"n = :n","ProjectionExpression":"n","ExpressionAttributeValues":{":n":{"N":"1"}}}"#,
        r#"{"Items":[{"n":{"N":"1"}}],"Count":1,"ScannedCount":1}"#,
    )]);
}

/// Constraints come first; names and values without expressions before the conditional operator.
#[test]
fn mixing_is_rejected_between_constraints_and_rules() {
    Service::new().check(&[
        (
            "PutItem",
            r#"{"TableName":"?","Item":{},"ConditionalOperator":"AND","ConditionExpression":"a"}"#,
            "!ValidationException: 1 validation error detected: Value '?' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        (
            "UpdateItem",
            r#"{"TableName":"none","Key":{"a":{}},"Expected":{"a":{}},"ConditionalOperator":"OR","ExpressionAttributeNames":{},"ExpressionAttributeValues":{}}"#,
            "!ValidationException: 1 validation error detected: ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            "UpdateItem",
            r#"{"TableName":"none","Key":{"a":{}},"Expected":{"a":{}},"ConditionalOperator":"OR","ExpressionAttributeValues":{}}"#,
            "!ValidationException: 1 validation error detected: ExpressionAttributeValues can only be specified when using expressions",
        ),
        (
            "Query",
            r#"{"TableName":"none","QueryFilter":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}},"AttributesToGet":["a","a"],"ExclusiveStartKey":{"a":{}},"ConditionalOperator":"OR","ExpressionAttributeNames":{}}"#,
            "!ValidationException: ExpressionAttributeNames can only be specified when using expressions",
        ),
    ]);
}
