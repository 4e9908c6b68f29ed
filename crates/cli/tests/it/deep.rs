//! 4,096 opening parentheses have killed servers by overflowing their stack. Here all that can be
//! inside itself, in every expression of every operation, is refused by the binary, and it goes on.

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::Served;

/// Bytes that an expression may have. As much as fits into them is deeper than any stack.
const BYTES: usize = 4096;

/// A part as often as it fits, closed as often as it was opened.
fn filled(before: &str, part: &str, middle: &str, close: &str) -> String {
    let count = (BYTES - before.len() - middle.len()) / (part.len() + close.len());
    format!("{before}{}{middle}{}", part.repeat(count), close.repeat(count))
}

/// Paths, between what makes expressions of them.
fn paths(before: &str, after: &str) -> Vec<String> {
    [("a", ".a"), ("a", "[0]"), ("", "["), ("a", "["), ("", "."), ("a", "].")]
        .map(|(first, step)| filled(&format!("{before}{first}"), step, after, ""))
        .into()
}

/// For conditions, filters and key conditions.
fn conditions() -> Vec<String> {
    let mut texts = vec![filled("", "(", "", ""), filled("", "NOT ", "a = :v", "")];
    for part in ["(", "NOT (", "(a = :v AND ", "(a = :v OR "] {
        texts.push(filled("", part, "a = :v", ")"));
    }
    for before in ["a = ", "a IN ", "a BETWEEN :v AND "] {
        texts.push(filled(before, "(", ":v", ")"));
    }
    for function in ["size(", "attribute_exists(", "contains(a, ", "begins_with("] {
        texts.push(filled("", function, "a", ")"));
    }
    texts.extend(paths("", " = :v"));
    texts
}

fn updates() -> Vec<String> {
    let mut texts = vec![filled("", "(", "", ""), filled("SET a = ", "(", "", "")];
    for part in ["(", "if_not_exists(a, ", "list_append(", "list_append(:v, ", "(:v + "] {
        texts.push(filled("SET a = ", part, ":v", ")"));
    }
    texts.push(filled("SET a = ", ":v + ", ":v", ""));
    for (before, after) in
        [("SET ", " = :v"), ("SET a = ", ""), ("REMOVE ", ""), ("ADD ", " :v"), ("DELETE ", " :v")]
    {
        texts.extend(paths(before, after));
        texts.push(filled(before, "(", after, ""));
    }
    texts
}

fn projections() -> Vec<String> {
    let mut texts = vec![filled("", "(", "", ""), filled("", "size(", "a", ")")];
    texts.extend(paths("", ""));
    texts
}

/// The operations, and requests in which an expression takes the place of `$`.
const CONDITIONS: &[(&str, &str)] = &[
    ("PutItem", r#"{"TableName":"deep","Item":{"id":{"S":"a"}},"ConditionExpression":"$"}"#),
    ("DeleteItem", r#"{"TableName":"deep","Key":{"id":{"S":"a"}},"ConditionExpression":"$"}"#),
    ("UpdateItem", r#"{"TableName":"deep","Key":{"id":{"S":"a"}},"ConditionExpression":"$"}"#),
    ("Scan", r#"{"TableName":"deep","FilterExpression":"$"}"#),
    ("Query", r#"{"TableName":"deep","KeyConditionExpression":"$"}"#),
    ("Query", r#"{"TableName":"deep","KeyConditionExpression":"id = :v","FilterExpression":"$"}"#),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"ConditionCheck":{"TableName":"deep","Key":{"id":{"S":"a"}},"ConditionExpression":"$"}}]}"#,
    ),
];
const UPDATES: &[(&str, &str)] = &[
    ("UpdateItem", r#"{"TableName":"deep","Key":{"id":{"S":"a"}},"UpdateExpression":"$"}"#),
    (
        "TransactWriteItems",
        r#"{"TransactItems":[{"Update":{"TableName":"deep","Key":{"id":{"S":"a"}},"UpdateExpression":"$"}}]}"#,
    ),
];
const PROJECTIONS: &[(&str, &str)] = &[
    ("GetItem", r#"{"TableName":"deep","Key":{"id":{"S":"a"}},"ProjectionExpression":"$"}"#),
    ("Scan", r#"{"TableName":"deep","ProjectionExpression":"$"}"#),
    (
        "Query",
        r#"{"TableName":"deep","KeyConditionExpression":"id = :v","ProjectionExpression":"$"}"#,
    ),
    (
        "TransactGetItems",
        r#"{"TransactItems":[{"Get":{"TableName":"deep","Key":{"id":{"S":"a"}},"ProjectionExpression":"$"}}]}"#,
    ),
    (
        "BatchGetItem",
        r#"{"RequestItems":{"deep":{"Keys":[{"id":{"S":"a"}}],"ProjectionExpression":"$"}}}"#,
    ),
];

/// The request with the expression in it, and with the value that it may mention.
fn request(form: &str, text: &str) -> Value {
    let mut whole = form.replace('$', text);
    if whole.contains(":v") {
        let table = r#""TableName""#;
        let value = format!(r#""ExpressionAttributeValues":{{":v":{{"S":"a"}}}},{table}"#);
        whole = whole.replacen(table, &value, 1);
    }
    serde_json::from_str(&whole).unwrap()
}

fn ask(served: &Served, operation: &str, body: &Value) -> (u16, Value) {
    let headers = format!("X-Amz-Target: DynamoDB_20120810.{operation}\r\n");
    let mut http = Http::connect(&served.url, &headers);
    http.ask("POST", "/", body).unwrap_or_else(|| panic!("{operation} {body} was not answered"))
}

/// The rule that a message names: writes of single items report it as a constraint.
fn rule_of(message: &str) -> &str {
    message.strip_prefix("1 validation error detected: ").unwrap_or(message)
}

#[test]
fn deeply_nested_expressions_are_refused_without_a_crash() {
    let served = Served::start("deep");
    let table = json!({"TableName": "deep", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
    assert_eq!(ask(&served, "CreateTable", &table).0, 200);
    for (forms, texts) in
        [(CONDITIONS, conditions()), (UPDATES, updates()), (PROJECTIONS, projections())]
    {
        for (operation, form) in forms {
            let parameter = form.split("\":\"$").next().and_then(|part| part.rsplit('"').next());
            let expected = format!("Invalid {}: ", parameter.unwrap());
            for text in &texts {
                let (status, answer) = ask(&served, operation, &request(form, text));
                let (kind, message) = (answer["__type"].as_str(), answer["message"].as_str());
                let is_refused = status == 400
                    && kind.is_some_and(|kind| kind.ends_with("#ValidationException"))
                    && message.is_some_and(|message| rule_of(message).starts_with(&expected));
                assert!(is_refused, "{operation} {text}: {status} {answer}");
            }
        }
    }
    // It is the same process still.
    let (status, tables) = ask(&served, "ListTables", &json!({}));
    assert_eq!((status, tables), (200, json!({"TableNames": ["deep"]})));
}
