//! `AttributeUpdates` with the actions `PUT`, `ADD` and `DELETE`.

use crate::service::Service;

const INVALID: &str = "!ValidationException: 1 validation error detected: One or more parameter values were invalid: ";
/// Of what depends on the table.
const BY_TABLE: &str = "!ValidationException: One or more parameter values were invalid: ";
const MISMATCH: &str = "!ValidationException: Type mismatch for attribute to update";

fn update(id: &str, updates: &str, returns: &str) -> String {
    format!(
        r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"{id}"}}}},"AttributeUpdates":{updates},"ReturnValues":"{returns}"}}"#
    )
}

/// Puts an item with these attributes; returns what it has after the updates, without its key.
fn after(attributes: &str, updates: &str) -> String {
    let service = Service::with_tasks();
    service.ok(
        "PutItem",
        &format!(
            r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}}{attributes}}}}}"#
        ),
    );
    let reply = service.ok("UpdateItem", &update("1", updates, "ALL_NEW"));
    let stored =
        service.ok("GetItem", r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}}"#);
    assert_eq!(reply.replace("Attributes", "Item"), stored);
    stored.replace(r#""id":{"S":"1"},"list":{"S":"a"}"#, "key")
}

#[test]
fn put_replaces_and_is_the_default() {
    assert_eq!(
        after(
            r#","n":{"N":"1"}"#,
            r#"{"n":{"Value":{"S":"x"}},"v":{"Action":"PUT","Value":{"L":[]}}}"#
        ),
        r#"{"Item":{key,"n":{"S":"x"},"v":{"L":[]}}}"#
    );
    // Names are never paths.
    assert_eq!(
        after(r#","m":{"M":{"x":{"N":"1"}}}"#, r#"{"m.x":{"Value":{"N":"2"}}}"#),
        r#"{"Item":{key,"m":{"M":{"x":{"N":"1"}}},"m.x":{"N":"2"}}}"#
    );
}

#[test]
fn add_adds_to_numbers_sets_and_lists() {
    for (old, added, new) in [
        (r#"{"N":"7"}"#, r#"{"N":"-3.5"}"#, r#"{"N":"3.5"}"#),
        (r#"{"SS":["a"]}"#, r#"{"SS":["b","a"]}"#, r#"{"SS":["a","b"]}"#),
        (r#"{"NS":["1"]}"#, r#"{"NS":["2"]}"#, r#"{"NS":["1","2"]}"#),
        (r#"{"BS":["AQ=="]}"#, r#"{"BS":["Ag=="]}"#, r#"{"BS":["AQ==","Ag=="]}"#),
        (
            r#"{"L":[{"N":"1"}]}"#,
            r#"{"L":[{"S":"x"},{"N":"1"}]}"#,
            r#"{"L":[{"N":"1"},{"S":"x"},{"N":"1"}]}"#,
        ),
    ] {
        let updates = format!(r#"{{"v":{{"Action":"ADD","Value":{added}}}}}"#);
        assert_eq!(
            after(&format!(r#","v":{old}"#), &updates),
            format!(r#"{{"Item":{{key,"v":{new}}}}}"#)
        );
        // A missing attribute counts as zero or as empty.
        let fresh = after("", &updates);
        assert!(fresh.starts_with(r#"{"Item":{key,"v":"#), "{fresh}");
        let created = Service::with_tasks().ok("UpdateItem", &update("2", &updates, "UPDATED_NEW"));
        assert_eq!(fresh.replace("key,", "").replace("Item", "Attributes"), created);
    }
}

#[test]
fn delete_removes_an_attribute_or_members_of_a_set() {
    let cases = [
        (r#","v":{"S":"x"}"#, r#"{"Action":"DELETE"}"#, ""),
        ("", r#"{"Action":"DELETE"}"#, ""),
        (
            r#","v":{"SS":["a","b"]}"#,
            r#"{"Action":"DELETE","Value":{"SS":["b","c"]}}"#,
            r#","v":{"SS":["a"]}"#,
        ),
        (
            r#","v":{"NS":["1","2"]}"#,
            r#"{"Action":"DELETE","Value":{"NS":["3"]}}"#,
            r#","v":{"NS":["1","2"]}"#,
        ),
        (r#","v":{"BS":["AQ=="]}"#, r#"{"Action":"DELETE","Value":{"BS":["AQ=="]}}"#, ""),
        ("", r#"{"Action":"DELETE","Value":{"SS":["a"]}}"#, ""),
    ];
    for (old, updates, new) in cases {
        assert_eq!(
            after(old, &format!(r#"{{"v":{updates}}}"#)),
            format!(r#"{{"Item":{{key{new}}}}}"#)
        );
    }
}

#[test]
fn an_update_creates_a_missing_item() {
    Service::with_tasks().check(&[
        ("UpdateItem", &update("1", r#"{"v":{"Value":{"N":"1"}}}"#, "UPDATED_OLD"), "{}"),
        (
            "UpdateItem",
            &update("2", "{}", "ALL_NEW"),
            r#"{"Attributes":{"id":{"S":"2"},"list":{"S":"a"}}}"#,
        ),
        ("Scan", r#"{"TableName":"tasks","Select":"COUNT"}"#, r#"{"Count":2,"ScannedCount":2}"#),
    ]);
}

/// Whatever `REMOVE` and `DELETE` do in expressions.
#[test]
fn deletions_alone_do_to_a_missing_item_what_expressions_do() {
    let key = r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}}"#;
    let cases = [
        (r#"{"v":{"Action":"DELETE"}}"#, r#""UpdateExpression":"REMOVE v""#),
        (
            r#"{"v":{"Action":"DELETE","Value":{"SS":["a"]}}}"#,
            r#""UpdateExpression":"DELETE v :v","ExpressionAttributeValues":{":v":{"SS":["a"]}}"#,
        ),
    ];
    for (updates, expression) in cases {
        let after = |update: &str| {
            let service = Service::with_tasks();
            let reply = service.ok("UpdateItem", &format!("{key},{update}}}"));
            (reply, service.ok("Scan", r#"{"TableName":"tasks"}"#))
        };
        let legacy = format!(r#""AttributeUpdates":{updates}"#);
        assert_eq!(after(&legacy), after(expression));
    }
}

#[test]
fn the_images_are_those_of_the_named_attributes() {
    let service = Service::with_tasks();
    service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"m":{"M":{"x":{"N":"1"},"y":{"N":"2"}}},"n":{"N":"1"},"o":{"N":"1"}}}"#);
    let updates = r#"{"m":{"Value":{"M":{"x":{"N":"3"}}}},"n":{"Action":"ADD","Value":{"N":"1"}},"l":{"Action":"ADD","Value":{"L":[{"N":"1"}]}}}"#;
    service.check(&[
        (
            "UpdateItem",
            &update("1", updates, "UPDATED_OLD"),
            r#"{"Attributes":{"m":{"M":{"x":{"N":"1"},"y":{"N":"2"}}},"n":{"N":"1"}}}"#,
        ),
        (
            "UpdateItem",
            &update("1", updates, "UPDATED_NEW"),
            r#"{"Attributes":{"l":{"L":[{"N":"1"},{"N":"1"}]},"m":{"M":{"x":{"N":"3"}}},"n":{"N":"3"}}}"#,
        ),
    ]);
}

#[test]
fn actions_without_the_right_value_are_rejected() {
    let service = Service::with_tasks();
    let refused = |sent: &str, why: &str| {
        let body = update("1", &format!(r#"{{"a":{sent}}}"#), "NONE");
        service.check(&[("UpdateItem", &body, why)]);
    };
    let only_delete =
        format!("{INVALID}Only DELETE action is allowed when no attribute value is specified");
    for sent in ["{}", r#"{"x":"whatever"}"#, r#"{"Action":"PUT"}"#, r#"{"Action":"ADD"}"#] {
        refused(sent, &only_delete);
    }
    let values = [
        ("S", r#"{"S":"1"}"#),
        ("N", r#"{"N":"1"}"#),
        ("B", r#"{"B":"Yg=="}"#),
        ("NULL", r#"{"NULL":true}"#),
        ("BOOL", r#"{"BOOL":true}"#),
        ("M", r#"{"M":{}}"#),
        ("L", r#"{"L":[]}"#),
    ];
    for (name, value) in values {
        let why = format!("{INVALID}DELETE action with value is not supported for the type {name}");
        refused(&format!(r#"{{"Action":"DELETE","Value":{value}}}"#), &why);
    }
    for (name, value) in values.iter().filter(|(name, _)| !matches!(*name, "N" | "L")) {
        let why = format!("{INVALID}ADD action is not supported for the type {name}");
        refused(&format!(r#"{{"Action":"ADD","Value":{value}}}"#), &why);
    }
    refused(
        r#"{"Action":"put","Value":{"N":"1"}}"#,
        "!ValidationException: 1 validation error detected: Value 'put' at 'attributeUpdates.a.member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]",
    );
    refused(
        r#"{"Action":"DELETE","Value":{"SS":[]}}"#,
        &format!("{INVALID}An string set  may not be empty"),
    );
    refused(
        r#"{"Value":{"N":"x"}}"#,
        "!ValidationException: 1 validation error detected: The parameter cannot be converted to a numeric value: x",
    );
    // None of them has written anything.
    service.check(&[(
        "Scan",
        r#"{"TableName":"tasks","Select":"COUNT"}"#,
        r#"{"Count":0,"ScannedCount":0}"#,
    )]);
}

#[test]
fn stored_values_of_another_type_are_rejected() {
    let service = Service::with_tasks();
    service.ok("PutItem", r#"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"},"ss":{"SS":["1"]},"n":{"N":"1"},"ns":{"NS":["1"]},"s":{"S":"x"}}}"#);
    for (attribute, sent) in [
        ("ss", r#"{"Action":"DELETE","Value":{"NS":["1"]}}"#),
        ("ss", r#"{"Action":"DELETE","Value":{"BS":["YQ=="]}}"#),
        ("n", r#"{"Action":"DELETE","Value":{"NS":["1"]}}"#),
        ("ss", r#"{"Action":"ADD","Value":{"NS":["1"]}}"#),
        ("ns", r#"{"Action":"ADD","Value":{"N":"1"}}"#),
        ("n", r#"{"Action":"ADD","Value":{"L":[{"N":"1"}]}}"#),
        ("s", r#"{"Action":"ADD","Value":{"L":[]}}"#),
    ] {
        let updates = format!(r#"{{"{attribute}":{sent}}}"#);
        service.check(&[("UpdateItem", &update("1", &updates, "NONE"), MISMATCH)]);
        let with_units = update("1", &updates, r#"NONE","ReturnConsumedCapacity":"TOTAL"#);
        service.check(&[("UpdateItem", &with_units, MISMATCH)]);
    }
    service.check(&[
        (
            "UpdateItem",
            &update("1", r#"{"n":{"Action":"ADD","Value":{"N":"1"}},"o":{"Action":"ADD","Value":{"N":"9.9e125"}}}"#, "NONE"),
            "{}",
        ),
        (
            "UpdateItem",
            &update("1", r#"{"o":{"Action":"ADD","Value":{"N":"9.9e125"}}}"#, "NONE"),
            "!ValidationException: Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
    ]);
}

#[test]
fn keys_and_index_keys_keep_their_rules() {
    let big = "x".repeat(409_600);
    let service = Service::with_tasks();
    service.check(&[
        (
            "UpdateItem",
            &update("1", r#"{"id":{"Value":{"S":"2"}}}"#, "NONE"),
            &format!("{BY_TABLE}Cannot update attribute id. This attribute is part of the key"),
        ),
        (
            "UpdateItem",
            &update("1", r#"{"list":{"Action":"DELETE"}}"#, "NONE"),
            &format!("{BY_TABLE}Cannot update attribute list. This attribute is part of the key"),
        ),
        (
            "UpdateItem",
            &update("1", r#"{"due":{"Value":{"S":"x"}}}"#, "NONE"),
            &format!(
                "{BY_TABLE}Type mismatch for Index Key due Expected: N Actual: S IndexName: by_due"
            ),
        ),
        (
            "UpdateItem",
            &update("1", &format!(r#"{{"v":{{"Value":{{"S":"{big}"}}}}}}"#), "NONE"),
            "!ValidationException: Item size to update has exceeded the maximum allowed size",
        ),
    ]);
}

/// The key, then updates, then expectations.
#[test]
fn it_is_checked_after_the_key_and_before_expectations() {
    let body = |key: &str, updates: &str, expected: &str| {
        format!(
            r#"{{"TableName":"none","Key":{key},"AttributeUpdates":{updates},"Expected":{expected}}}"#
        )
    };
    Service::new().check(&[
        (
            "UpdateItem",
            &body(r#"{"a":{}}"#, r#"{"a":{}}"#, r#"{"a":{}}"#),
            "!ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            "UpdateItem",
            &body("{}", r#"{"a":{}}"#, r#"{"a":{}}"#),
            &format!("{INVALID}Only DELETE action is allowed when no attribute value is specified"),
        ),
        (
            "UpdateItem",
            &body("{}", "{}", r#"{"a":{}}"#),
            &format!("{INVALID}Value must be provided when Exists is null for Attribute: a"),
        ),
        ("UpdateItem", &body("{}", "{}", "{}"), "!ResourceNotFoundException: Requested resource not found"),
    ]);
}

#[test]
fn deleting_attributes_of_a_missing_item_creates_nothing() {
    let service = Service::with_tasks();
    let key = r#""TableName":"tasks","Key":{"list":{"S":"none"},"id":{"S":"1"}}"#;
    for updates in
        [r#"{"a":{"Action":"DELETE"}}"#, r#"{"a":{"Action":"DELETE","Value":{"SS":["x"]}}}"#]
    {
        let body = format!(r#"{{{key},"AttributeUpdates":{updates},"ReturnValues":"ALL_NEW"}}"#);
        service.check(&[("UpdateItem", &body, "{}")]);
    }
    service.check(&[("GetItem", &format!("{{{key}}}"), "{}")]);
}
