//! `Expected` and `ConditionalOperator`.

use crate::service::Service;

const FAILED: &str = "!ConditionalCheckFailedException: The conditional request failed";
const INVALID: &str = "!ValidationException: 1 validation error detected: One or more parameter values were invalid: ";

/// An item with an attribute of every kind.
const ITEM: &str = r#"{"list":{"S":"a"},"id":{"S":"1"},"n":{"N":"5"},"s":{"S":"hello"},
    "b":{"B":"aGkgdGhlcmU="},"t":{"BOOL":true},"u":{"NULL":true},"l":{"L":[{"N":"2"},{"S":"x"}]},
    "m":{"M":{"k":{"N":"1"}}},"ss":{"SS":["cat","dog"]},"ns":{"NS":["2","4"]},"bs":{"BS":["AQ=="]}}"#;

fn service() -> Service {
    let service = Service::with_tasks();
    service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{ITEM}}}"#));
    service
}

/// An update that changes nothing, under a condition.
fn update(expected: &str, rest: &str) -> String {
    format!(
        r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"Expected":{expected}{rest}}}"#
    )
}

/// Asserts for which of the conditions, each written as an `Expected`, an update happens.
fn holds(cases: &[(&str, bool)]) {
    let service = service();
    for (expected, holds) in cases {
        let answer = if *holds { "{}" } else { FAILED };
        service.check(&[("UpdateItem", &update(expected, ""), answer)]);
    }
}

fn compared(attribute: &str, operator: &str, arguments: &str) -> String {
    format!(
        r#"{{"{attribute}":{{"ComparisonOperator":"{operator}","AttributeValueList":[{arguments}]}}}}"#
    )
}

/// Asserts for which attributes, operators and arguments an update happens.
fn compares(cases: &[(&str, &str, &str, bool)]) {
    for (attribute, operator, arguments, expected) in cases {
        holds(&[(&compared(attribute, operator, arguments), *expected)]);
    }
}

#[test]
fn a_value_must_be_equal_and_exists_says_no_more() {
    holds(&[
        (r#"{"n":{"Value":{"N":"5.0"}}}"#, true),
        (r#"{"n":{"Value":{"N":"6"}}}"#, false),
        (r#"{"n":{"Value":{"S":"5"}}}"#, false),
        (r#"{"missing":{"Value":{"N":"5"}}}"#, false),
        (r#"{"n":{"Value":{"N":"5"},"Exists":true}}"#, true),
        (r#"{"n":{"Value":{"N":"6"},"Exists":true}}"#, false),
        (r#"{"n":{"Exists":false}}"#, false),
        (r#"{"missing":{"Exists":false}}"#, true),
        (r#"{"u":{"Exists":false}}"#, false),
        ("{}", true),
    ]);
}

#[test]
fn eq_and_ne_take_values_of_every_type() {
    let values = [
        ("n", r#"{"N":"5"}"#),
        ("s", r#"{"S":"hello"}"#),
        ("b", r#"{"B":"aGkgdGhlcmU="}"#),
        ("t", r#"{"BOOL":true}"#),
        ("u", r#"{"NULL":true}"#),
        ("l", r#"{"L":[{"N":"2"},{"S":"x"}]}"#),
        ("m", r#"{"M":{"k":{"N":"1"}}}"#),
        ("ss", r#"{"SS":["dog","cat"]}"#),
        ("ns", r#"{"NS":["4","2.0"]}"#),
        ("bs", r#"{"BS":["AQ=="]}"#),
    ];
    for (attribute, value) in values {
        compares(&[
            (attribute, "EQ", value, true),
            (attribute, "NE", value, false),
            (attribute, "EQ", r#"{"S":"other"}"#, false),
            (attribute, "NE", r#"{"S":"other"}"#, true),
            // A missing attribute equals nothing.
            ("missing", "EQ", value, false),
            ("missing", "NE", value, true),
        ]);
    }
}

#[test]
fn ordered_comparisons_are_false_for_other_types_and_missing_attributes() {
    compares(&[
        ("n", "LT", r#"{"N":"6"}"#, true),
        ("n", "LT", r#"{"N":"5"}"#, false),
        ("n", "LE", r#"{"N":"5"}"#, true),
        ("n", "LE", r#"{"N":"4"}"#, false),
        ("n", "GT", r#"{"N":"4"}"#, true),
        ("n", "GT", r#"{"N":"5"}"#, false),
        ("n", "GE", r#"{"N":"5"}"#, true),
        ("n", "GE", r#"{"N":"6"}"#, false),
        ("s", "GT", r#"{"S":"aardvark"}"#, true),
        ("b", "LE", r#"{"B":"/w=="}"#, true),
        ("n", "LT", r#"{"S":"6"}"#, false),
        ("n", "GE", r#"{"S":"1"}"#, false),
        ("ss", "GE", r#"{"S":"a"}"#, false),
        ("missing", "LT", r#"{"N":"6"}"#, false),
        ("missing", "GE", r#"{"N":"6"}"#, false),
    ]);
}

#[test]
fn null_and_not_null_ask_only_whether_there_is_an_attribute() {
    compares(&[
        ("n", "NOT_NULL", "", true),
        ("u", "NOT_NULL", "", true),
        ("missing", "NOT_NULL", "", false),
        ("n", "NULL", "", false),
        ("u", "NULL", "", false),
        ("missing", "NULL", "", true),
    ]);
    holds(&[
        (r#"{"n":{"ComparisonOperator":"NOT_NULL"}}"#, true),
        (r#"{"n":{"ComparisonOperator":"NULL"}}"#, false),
    ]);
}

/// If the attribute is missing, neither holds. If it has a type that can contain nothing of the
/// kind, only `NOT_CONTAINS` does.
#[test]
fn contains_looks_for_parts_of_texts_and_members_of_sets_and_lists() {
    compares(&[
        ("s", "CONTAINS", r#"{"S":"ell"}"#, true),
        ("s", "CONTAINS", r#"{"S":"dog"}"#, false),
        ("s", "CONTAINS", r#"{"N":"1"}"#, false),
        ("b", "CONTAINS", r#"{"B":"aGVyZQ=="}"#, true),
        ("b", "CONTAINS", r#"{"B":"ZG9n"}"#, false),
        ("ss", "CONTAINS", r#"{"S":"dog"}"#, true),
        ("ss", "CONTAINS", r#"{"S":"do"}"#, false),
        ("ns", "CONTAINS", r#"{"N":"4.0"}"#, true),
        ("ns", "CONTAINS", r#"{"N":"1"}"#, false),
        ("bs", "CONTAINS", r#"{"B":"AQ=="}"#, true),
        ("l", "CONTAINS", r#"{"N":"2"}"#, true),
        ("l", "CONTAINS", r#"{"S":"x"}"#, true),
        ("l", "CONTAINS", r#"{"BOOL":true}"#, false),
        ("l", "CONTAINS", r#"{"NULL":true}"#, false),
        ("m", "CONTAINS", r#"{"N":"1"}"#, false),
        ("missing", "CONTAINS", r#"{"S":"x"}"#, false),
        ("s", "NOT_CONTAINS", r#"{"S":"ell"}"#, false),
        ("s", "NOT_CONTAINS", r#"{"S":"dog"}"#, true),
        ("s", "NOT_CONTAINS", r#"{"N":"1"}"#, true),
        ("b", "NOT_CONTAINS", r#"{"B":"aGVyZQ=="}"#, false),
        ("ss", "NOT_CONTAINS", r#"{"S":"dog"}"#, false),
        ("ns", "NOT_CONTAINS", r#"{"N":"1"}"#, true),
        ("l", "NOT_CONTAINS", r#"{"N":"2"}"#, false),
        ("l", "NOT_CONTAINS", r#"{"N":"3"}"#, true),
        ("n", "NOT_CONTAINS", r#"{"N":"3"}"#, true),
        ("missing", "NOT_CONTAINS", r#"{"S":"x"}"#, false),
    ]);
}

#[test]
fn begins_with_is_false_for_other_types() {
    compares(&[
        ("s", "BEGINS_WITH", r#"{"S":"hell"}"#, true),
        ("s", "BEGINS_WITH", r#"{"S":""}"#, true),
        ("s", "BEGINS_WITH", r#"{"S":"ello"}"#, false),
        ("b", "BEGINS_WITH", r#"{"B":"aGk="}"#, true),
        ("s", "BEGINS_WITH", r#"{"B":"aGk="}"#, false),
        ("n", "BEGINS_WITH", r#"{"S":"5"}"#, false),
        ("missing", "BEGINS_WITH", r#"{"S":""}"#, false),
    ]);
}

#[test]
fn in_looks_for_the_whole_attribute_among_the_arguments() {
    compares(&[
        ("n", "IN", r#"{"N":"1"},{"N":"5"}"#, true),
        ("n", "IN", r#"{"N":"1"},{"N":"6"}"#, false),
        ("s", "IN", r#"{"S":"hello"}"#, true),
        ("b", "IN", r#"{"B":"aGkgdGhlcmU="}"#, true),
        ("n", "IN", r#"{"S":"5"}"#, false),
        ("ns", "IN", r#"{"N":"2"},{"N":"4"}"#, false),
        ("missing", "IN", r#"{"N":"1"}"#, false),
    ]);
}

#[test]
fn between_includes_its_bounds() {
    compares(&[
        ("n", "BETWEEN", r#"{"N":"5"},{"N":"5"}"#, true),
        ("n", "BETWEEN", r#"{"N":"1"},{"N":"4"}"#, false),
        ("s", "BETWEEN", r#"{"S":"a"},{"S":"z"}"#, true),
        ("b", "BETWEEN", r#"{"B":""},{"B":"/w=="}"#, true),
        ("n", "BETWEEN", r#"{"S":"1"},{"S":"9"}"#, false),
        ("missing", "BETWEEN", r#"{"N":"1"},{"N":"9"}"#, false),
    ]);
}

#[test]
fn an_operator_can_take_its_argument_from_value() {
    holds(&[
        (r#"{"n":{"ComparisonOperator":"GE","Value":{"N":"5"}}}"#, true),
        (r#"{"n":{"ComparisonOperator":"IN","Value":{"N":"6"}}}"#, false),
    ]);
}

#[test]
fn conditions_are_joined_by_the_conditional_operator() {
    let both = r#"{"n":{"Value":{"N":"5"}},"s":{"ComparisonOperator":"NULL"}}"#;
    let none = r#"{"n":{"Value":{"N":"6"}},"s":{"Exists":false}}"#;
    let service = service();
    service.check(&[
        ("UpdateItem", &update(both, ""), FAILED),
        ("UpdateItem", &update(both, r#","ConditionalOperator":"AND""#), FAILED),
        ("UpdateItem", &update(both, r#","ConditionalOperator":"OR""#), "{}"),
        ("UpdateItem", &update(none, r#","ConditionalOperator":"OR""#), FAILED),
    ]);
}

#[test]
fn every_single_write_has_it() {
    let service = service();
    let put = |expected: &str| {
        format!(
            r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"1"}},"n":{{"N":"6"}}}},"Expected":{expected}}}"#
        )
    };
    let delete = |expected: &str, rest: &str| {
        format!(
            r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"1"}}}},"Expected":{expected}{rest}}}"#
        )
    };
    service.check(&[
        ("PutItem", &put(r#"{"id":{"Exists":false}}"#), FAILED),
        ("PutItem", &put(r#"{"n":{"Value":{"N":"5"}}}"#), "{}"),
        ("DeleteItem", &delete(r#"{"n":{"Value":{"N":"5"}}}"#, ""), FAILED),
        (
            "DeleteItem",
            &delete(r#"{"n":{"Value":{"N":"5"}}}"#, r#","ReturnValuesOnConditionCheckFailure":"ALL_OLD""#),
            r#"!ConditionalCheckFailedException: "message":"The conditional request failed","Item":{"id":{"S":"1"},"list":{"S":"a"},"n":{"N":"6"}}"#,
        ),
        (
            "DeleteItem",
            &delete(
                r#"{"n":{"Value":{"N":"5"}},"id":{"ComparisonOperator":"NOT_NULL"}}"#,
                r#","ConditionalOperator":"OR","ReturnValues":"ALL_OLD""#,
            ),
            r#"{"Attributes":{"id":{"S":"1"},"list":{"S":"a"},"n":{"N":"6"}}}"#,
        ),
        ("PutItem", &put(r#"{"id":{"Exists":false}}"#), "{}"),
    ]);
}

#[test]
fn the_forms_cannot_be_mixed() {
    let cases = [
        ("{}", "Value must be provided when Exists is null for Attribute: a"),
        (r#"{"Exists":true}"#, "Value must be provided when Exists is true for Attribute: a"),
        (
            r#"{"Exists":false,"Value":{"S":"x"}}"#,
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            r#"{"Exists":true,"ComparisonOperator":"LT"}"#,
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            r#"{"ComparisonOperator":"LT","Value":{"S":"x"},"AttributeValueList":[{"S":"x"}]}"#,
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            r#"{"Value":{"S":"x"},"AttributeValueList":[]}"#,
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            r#"{"AttributeValueList":[{"S":"x"}]}"#,
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            r#"{"Exists":true,"AttributeValueList":[{"S":"x"}]}"#,
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            r#"{"ComparisonOperator":"LT"}"#,
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            r#"{"ComparisonOperator":"NULL","Value":{"S":"x"}}"#,
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
        (
            r#"{"ComparisonOperator":"BETWEEN","Value":{"S":"x"}}"#,
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
    ];
    let service = service();
    for (expected, why) in cases {
        let body = update(&format!(r#"{{"a":{expected}}}"#), "");
        service.check(&[("UpdateItem", &body, &format!("{INVALID}{why}"))]);
    }
}

#[test]
fn operators_take_a_fixed_number_of_arguments() {
    const X: &str = r#"{"S":"x"}"#;
    let two = format!("{X},{X}");
    let three = format!("{X},{X},{X}");
    let service = service();
    let refused = |operator: &str, arguments: &str| {
        let why = format!("Invalid number of argument(s) for the {operator} ComparisonOperator");
        let body = update(&compared("a", operator, arguments), "");
        service.check(&[("UpdateItem", &body, &format!("{INVALID}{why}"))]);
    };
    for operator in ["EQ", "NE", "LE", "LT", "GE", "GT", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"]
    {
        refused(operator, "");
        refused(operator, &two);
    }
    for operator in ["NULL", "NOT_NULL"] {
        refused(operator, X);
        refused(operator, &two);
    }
    refused("IN", "");
    for arguments in ["", X, &three] {
        refused("BETWEEN", arguments);
    }
}

#[test]
fn operators_take_arguments_of_some_types() {
    let service = service();
    let all = [
        ("S", r#"{"S":"x"}"#),
        ("N", r#"{"N":"1"}"#),
        ("B", r#"{"B":"AQ=="}"#),
        ("BOOL", r#"{"BOOL":true}"#),
        ("NULL", r#"{"NULL":true}"#),
        ("SS", r#"{"SS":["a"]}"#),
        ("NS", r#"{"NS":["1"]}"#),
        ("BS", r#"{"BS":["AQ=="]}"#),
        ("L", r#"{"L":[]}"#),
        ("M", r#"{"M":{}}"#),
    ];
    for (operators, accepted) in [
        (&["LE", "LT", "GE", "GT", "IN", "BETWEEN"][..], &["S", "N", "B"][..]),
        (&["BEGINS_WITH"], &["S", "B"]),
        (&["CONTAINS", "NOT_CONTAINS"], &["S", "N", "B", "BOOL", "NULL"]),
    ] {
        for operator in operators {
            for (name, value) in all.iter().filter(|(name, _)| !accepted.contains(name)) {
                let arguments = if *operator == "BETWEEN" {
                    format!("{value},{value}")
                } else {
                    (*value).to_owned()
                };
                let why = format!(
                    "ComparisonOperator {operator} is not valid for {name} AttributeValue type"
                );
                let body = update(&compared("a", operator, &arguments), "");
                service.check(&[("UpdateItem", &body, &format!("{INVALID}{why}"))]);
            }
        }
    }
    let mixed = r#"{"N":"1"},{"S":"x"}"#;
    for operator in ["IN", "BETWEEN"] {
        let why = "AttributeValues inside AttributeValueList must be of same type";
        let body = update(&compared("a", operator, mixed), "");
        service.check(&[("UpdateItem", &body, &format!("{INVALID}{why}"))]);
    }
    service.check(&[(
        "UpdateItem",
        &update(&compared("a", "BETWEEN", r#"{"N":"10"},{"N":"9"}"#), ""),
        "!ValidationException: 1 validation error detected: The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
    )]);
}

#[test]
fn invalid_values_are_rejected() {
    let cases = [
        (
            "{}",
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (r#"{"N":"b"}"#, "The parameter cannot be converted to a numeric value: b"),
        (
            r#"{"SS":[]}"#,
            "One or more parameter values were invalid: An string set  may not be empty",
        ),
    ];
    let service = service();
    for (value, why) in cases {
        let why = format!("!ValidationException: 1 validation error detected: {why}");
        service.check(&[
            ("UpdateItem", &update(&format!(r#"{{"a":{{"Value":{value}}}}}"#), ""), &why),
            ("UpdateItem", &update(&compared("a", "EQ", value), ""), &why),
        ]);
    }
}

/// The operator joins, so there must be something to join.
#[test]
fn a_conditional_operator_needs_two_conditions() {
    let without = "!ValidationException: 1 validation error detected: ConditionalOperator cannot be used without Filter or Expected";
    let one = "!ValidationException: 1 validation error detected: ConditionalOperator can only be used when Filter or Expected has two or more elements";
    let service = service();
    let with_operator = r#","ConditionalOperator":"AND""#;
    service.check(&[
        ("UpdateItem", r#"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ConditionalOperator":"OR"}"#, without),
        ("UpdateItem", &update("{}", with_operator), without),
        ("UpdateItem", &update(r#"{"n":{"Value":{"N":"5"}}}"#, with_operator), one),
        ("PutItem", r#"{"TableName":"tasks","Item":{},"ConditionalOperator":"OR"}"#, without),
        ("DeleteItem", r#"{"TableName":"tasks","Key":{},"ConditionalOperator":"OR"}"#, without),
        (
            "DeleteItem",
            r#"{"TableName":"tasks","Key":{},"ConditionalOperator":"XOR"}"#,
            "!ValidationException: 1 validation error detected: Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: Member must satisfy enum value set: [OR, AND]",
        ),
        (
            "PutItem",
            r#"{"TableName":"tasks","Item":{},"Expected":{"a":{"ComparisonOperator":"eq"}}}"#,
            "!ValidationException: 1 validation error detected: Value 'eq' at 'expected.a.member.comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]",
        ),
    ]);
}

/// Item, returned values and expectations before the table.
#[test]
fn it_is_checked_after_the_item_and_before_the_table() {
    Service::new().check(&[
        (
            "PutItem",
            r#"{"TableName":"none","Item":{"a":{}},"Expected":{"a":{}}}"#,
            "!ValidationException: 1 validation error detected: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            "PutItem",
            r#"{"TableName":"none","Item":{},"ReturnValues":"ALL_NEW","Expected":{"a":{}}}"#,
            "!ValidationException: 1 validation error detected: ReturnValues can only be ALL_OLD or NONE",
        ),
        (
            "PutItem",
            r#"{"TableName":"none","Item":{},"Expected":{"a":{}}}"#,
            "!ValidationException: 1 validation error detected: One or more parameter values were invalid: Value must be provided when Exists is null for Attribute: a",
        ),
        (
            "PutItem",
            r#"{"TableName":"none","Item":{},"Expected":{"a":{"Exists":false}}}"#,
            "!ResourceNotFoundException: Requested resource not found",
        ),
    ]);
}
