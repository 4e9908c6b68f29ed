//! Transactions.

use crate::service::{Service, error_of};

const CANCELED: &str =
    "Transaction cancelled, please refer cancellation reasons for specific reasons";

fn put(id: &str, rest: &str) -> String {
    format!(
        r#"{{"Put":{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"{id}"}}}}{rest}}}}}"#
    )
}

fn transact(actions: &[String], rest: &str) -> String {
    format!(r#"{{"TransactItems":[{}]{rest}}}"#, actions.join(","))
}

#[test]
fn a_transaction_applies_completely_or_not_at_all_with_a_reason_for_each_action() {
    let service = Service::with_tasks();
    let new = r#","ConditionExpression":"attribute_not_exists(id)","ReturnValuesOnConditionCheckFailure":"ALL_OLD""#;
    assert_eq!(
        service.ok("TransactWriteItems", &transact(&[put("1", new), put("2", new)], "")),
        "{}"
    );
    let reply = service.call("TransactWriteItems", &transact(&[put("3", new), put("2", new)], ""));
    assert_eq!(
        reply.body,
        format!(
            r#"{{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{{"Code":"None"}},{{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{{"id":{{"S":"2"}},"list":{{"S":"a"}}}}}}],"Message":"{CANCELED} [None, ConditionalCheckFailed]"}}"#
        )
    );
    assert_eq!(
        service.ok("Scan", r#"{"TableName":"tasks","Select":"COUNT"}"#),
        r#"{"Count":2,"ScannedCount":2}"#
    );
}

#[test]
fn an_action_that_breaks_a_rule_has_it_as_its_reason() {
    let service = Service::with_tasks();
    let bad_key = r#"{"Delete":{"TableName":"tasks","Key":{"list":{"S":"a"}}}}"#.to_owned();
    let bad_type =
        r#"{"Put":{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"due":{"S":"x"}}}}"#
            .to_owned();
    let no_parent = r#"{"Update":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"7"}},"UpdateExpression":"SET a.b = :v","ExpressionAttributeValues":{":v":{"S":"x"}}}}"#.to_owned();
    let cases = [
        (bad_key, "The provided key element does not match the schema"),
        (
            bad_type,
            "One or more parameter values were invalid: Type mismatch for Index Key due Expected: N Actual: S IndexName: by_due",
        ),
        (no_parent, "The document path provided in the update expression is invalid for update"),
    ];
    for (action, expected) in cases {
        let reply = service.call("TransactWriteItems", &transact(&[put("9", ""), action], ""));
        let reasons =
            format!(r#"[{{"Code":"None"}},{{"Code":"ValidationError","Message":"{expected}"}}]"#);
        assert!(reply.body.contains(&reasons), "{}\n{reasons}", reply.body);
        assert!(reply.body.contains("[None, ValidationError]"), "{}", reply.body);
    }
}

/// The keys are enough to see it; what else is wrong with an action would cancel the transaction.
#[test]
fn one_item_twice_is_refused_before_what_else_an_action_breaks() {
    let service = Service::with_tasks();
    let extra = r#"{"Delete":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"},"x":{"NULL":true}}}}"#;
    let index_key = r#"{"Put":{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"due":{"BOOL":true}}}}"#;
    let twice = "Transaction request cannot include multiple operations on one item";
    for wrong in [extra, index_key] {
        let reply =
            service.call("TransactWriteItems", &transact(&[put("1", ""), wrong.into()], ""));
        assert_eq!(error_of(&reply.body), format!("ValidationException: {twice}"), "{wrong}");
        let reply =
            service.call("TransactWriteItems", &transact(&[put("2", ""), wrong.into()], ""));
        assert!(reply.body.contains("[None, ValidationError]"), "{}", reply.body);
    }
    // Values that are no keys name no item.
    let no_key = r#"{"Delete":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"N":"1"}}}}"#;
    let reply = service.call("TransactWriteItems", &transact(&[no_key.into(), no_key.into()], ""));
    assert!(reply.body.contains("[ValidationError, None]"), "{}", reply.body);
}

#[test]
fn invalid_transactions_are_rejected() {
    let service = Service::with_tasks();
    let check =
        r#"{"ConditionCheck":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}}}"#;
    let cases = [
        (
            transact(&[put("1", ""), put("1", "")], ""),
            "Transaction request cannot include multiple operations on one item",
        ),
        (
            transact(&[], ""),
            "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        (
            transact(&["{}".to_owned()], ""),
            "TransactItems can only contain one of Check, Put, Update or Delete",
        ),
        (
            transact(&[check.to_owned()], ""),
            "1 validation error detected: Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must not be null",
        ),
        (
            transact(&(0..101).map(|n| put(&n.to_string(), "")).collect::<Vec<_>>(), ""),
            "1 validation error detected: Value at 'TransactItems' failed to satisfy constraint: Member must have length less than or equal to 100",
        ),
    ];
    for (body, expected) in cases {
        service.check(&[(
            "TransactWriteItems",
            &body,
            &format!("!ValidationException: {expected}"),
        )]);
    }
    let unknown = put("1", "").replace("tasks", "none");
    service.check(&[(
        "TransactWriteItems",
        &transact(&[unknown], ""),
        "!ResourceNotFoundException: Requested resource not found",
    )]);
}

#[test]
fn a_token_makes_a_transaction_apply_once() {
    let service = Service::with_tasks();
    let add = |n: u8| {
        format!(
            r#"{{"Update":{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{{":n":{{"N":"{n}"}}}}}}}}"#
        )
    };
    let token = r#","ClientRequestToken":"abc""#;
    service.ok("TransactWriteItems", &transact(&[add(1)], token));
    service.ok("TransactWriteItems", &transact(&[add(1)], token));
    let body = service.ok("GetItem", r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ProjectionExpression":"n"}"#);
    assert_eq!(body, r#"{"Item":{"n":{"N":"1"}}}"#);
    let reply = service.call("TransactWriteItems", &transact(&[add(2)], token));
    assert!(reply.body.contains("IdempotentParameterMismatchException"), "{}", reply.body);
}

#[test]
fn items_are_read_together_in_order() {
    let service = Service::with_tasks();
    service.ok("TransactWriteItems", &transact(&[put("1", ""), put("2", "")], ""));
    let get = |id: &str| {
        format!(
            r#"{{"Get":{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"{id}"}}}},"ProjectionExpression":"id"}}}}"#
        )
    };
    service.check(&[(
        "TransactGetItems",
        &transact(&[get("2"), get("9"), get("1")], ""),
        r#"{"Responses":[{"Item":{"id":{"S":"2"}}},{},{"Item":{"id":{"S":"1"}}}]}"#,
    )]);
    service.check(&[(
        "TransactGetItems",
        &transact(&[get("2"), get("9"), get("2")], ""),
        "!ValidationException: Transaction request cannot include multiple operations on one item",
    )]);
    let bad = r#"{"Get":{"TableName":"tasks","Key":{"list":{"S":"a"}}}}"#.to_owned();
    let reply = service.call("TransactGetItems", &transact(&[get("1"), bad], ""));
    assert!(reply.body.contains(r#"[{"Code":"None"},{"Code":"ValidationError","Message":"The provided key element does not match the schema"}]"#), "{}", reply.body);
}
