//! Statements on indexes.

use super::stage::{check, put, run, run_with};
use crate::service::Service;

/// A table `idx` (key `pk`, `sk`) with global indexes on `g` and `g2`, and local ones on `l`.
fn service() -> Service {
    let service = Service::new();
    service.ok(
        "CreateTable",
        r#"{"TableName":"idx","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
            {"AttributeName":"g","AttributeType":"S"},{"AttributeName":"g2","AttributeType":"S"},{"AttributeName":"l","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
        "GlobalSecondaryIndexes":[
            {"IndexName":"gsi-all","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}},
            {"IndexName":"gsi-keys","KeySchema":[{"AttributeName":"g2","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}},
            {"IndexName":"gsi-inc","KeySchema":[{"AttributeName":"g2","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["proj"]}},
            {"IndexName":"gsi-two","KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"g2","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],
        "LocalSecondaryIndexes":[
            {"IndexName":"lsi-keys","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}},
            {"IndexName":"lsi-inc","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["proj"]}}]}"#,
    );
    for (pk, sk, rest) in [
        (
            "p",
            "s1",
            r#","g":{"S":"x"},"g2":{"S":"y"},"l":{"S":"k1"},"proj":{"S":"proj1"},"np":{"S":"np1"}"#,
        ),
        (
            "p",
            "s2",
            r#","g":{"S":"z"},"g2":{"S":"y"},"l":{"S":"k2"},"proj":{"S":"proj2"},"np":{"S":"np2"}"#,
        ),
        ("p", "s3", r#","np":{"S":"np3"}"#),
        (
            "p",
            "s4",
            r#","g":{"S":"x"},"g2":{"S":"y"},"l":{"S":"k4"},"proj":{"S":"proj4"},"np":{"S":"np4"}"#,
        ),
        ("q", "s5", r#","g2":{"S":"y2"},"proj":{"S":"proj5"},"np":{"S":"np5"}"#),
    ] {
        put(&service, "idx", &format!(r#""pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}{rest}"#));
    }
    service
}

/// The sort keys that a statement returns, in order.
fn keys(service: &Service, from: &str) -> String {
    let found = run(service, &format!("SELECT sk FROM \"idx\".{from}"));
    if found.starts_with('!') {
        return found;
    }
    let items: serde_json::Value = serde_json::from_str(&found).unwrap();
    let keys = items.as_array().unwrap().iter().map(|item| item["sk"]["S"].as_str().unwrap());
    let mut keys: Vec<&str> = keys.collect();
    keys.sort_unstable();
    keys.join(" ")
}

#[test]
fn an_index_is_read_by_its_own_key() {
    let service = service();
    for (from, expected) in [
        ("\"gsi-all\" WHERE g = 'x'", "s1 s4"),
        ("\"gsi-all\" WHERE g IN ['x','z']", "s1 s2 s4"),
        ("\"gsi-all\" WHERE g = 'x' AND sk = 's1'", "s1"),
        ("\"gsi-all\" WHERE pk = 'p'", "s1 s2 s4"),
        ("\"gsi-keys\"", "s1 s2 s4 s5"),
        ("\"lsi-keys\" WHERE pk = 'p' AND l BETWEEN 'k1' AND 'k2'", "s1 s2"),
        ("\"lsi-keys\" WHERE pk = 'p' AND l <> 'k1'", "s2 s4"),
        ("\"gsi-inc\" WHERE g2 = 'y' AND proj = 'proj1'", "s1"),
        ("\"gsi-inc\" WHERE g2 = 'y' AND proj IS NOT MISSING", "s1 s2 s4"),
        // An index sees only what it projects.
        ("\"gsi-inc\" WHERE np = 'np1'", ""),
        ("\"lsi-keys\" WHERE np = 'np1'", ""),
        ("\"gsi-keys\" WHERE NOT np = 'np1'", "s1 s2 s4 s5"),
        ("\"gsi-inc\" WHERE (g2 = 'y' AND np = 'np1') OR (g2 = 'y2')", "s5"),
        ("\"gsi-inc\" WHERE (g2='y' AND proj='1') OR (g2='z' AND aa='1')", ""),
        ("\"gsi-inc\" WHERE g2 > 'a' AND zz='1'", ""),
        ("\"gsi-inc\" WHERE g2='y' AND (g2='z' OR zz='1')", ""),
        ("\"gsi-inc\" WHERE (g2='y' AND zz='1') OR aa='1'", ""),
    ] {
        assert_eq!(keys(&service, from), expected, "{from}");
    }
    check(
        &service,
        &[
            (
                "SELECT * FROM \"idx\".\"gsi-keys\" WHERE g2 = 'y2'",
                r#"[{"g2":{"S":"y2"},"pk":{"S":"q"},"sk":{"S":"s5"}}]"#,
            ),
            // A local index reads the table for what it lacks.
            (
                "SELECT np FROM \"idx\".\"lsi-keys\" WHERE pk = 'p' AND l = 'k1'",
                r#"[{"np":{"S":"np1"}}]"#,
            ),
            (
                "SELECT np, l FROM \"idx\".\"lsi-keys\" WHERE pk = 'p' AND l > 'k1' AND NOT l = 'k2'",
                r#"[{"l":{"S":"k4"},"np":{"S":"np4"}}]"#,
            ),
            // A filter on the key and on another attribute, neither of which is returned.
            (
                "SELECT np FROM \"idx\".\"lsi-inc\" WHERE pk = 'p' AND (l <> 'k1' OR proj = 'proj1')",
                r#"[{"np":{"S":"np1"}},{"np":{"S":"np2"}},{"np":{"S":"np4"}}]"#,
            ),
            (
                "SELECT np FROM \"idx\".\"gsi-all\" WHERE g = 'x' AND (sk <> 's1' OR proj = 'proj1')",
                r#"[{"np":{"S":"np1"}},{"np":{"S":"np4"}}]"#,
            ),
        ],
    );
}

#[test]
fn what_an_index_lacks_is_refused() {
    let service = service();
    let filter = |index: &str, names: &str| {
        format!(
            "!ValidationException: One or more parameter values were invalid: Secondary index {index} does not project one or more filter attributes: [{names}]"
        )
    };
    for (from, expected) in [
        ("\"gsi-inc\" WHERE g2 = 'y' AND np = 'np1'", filter("gsi-inc", "np")),
        ("\"lsi-keys\" WHERE pk = 'p' AND np = 'np1'", filter("lsi-keys", "np")),
        ("\"gsi-inc\" WHERE g2 = 'y' AND np IS MISSING", filter("gsi-inc", "np")),
        ("\"gsi-inc\" WHERE g2 = 'y' AND NOT np = 'np1'", filter("gsi-inc", "np")),
        (
            "\"gsi-inc\" WHERE g2 = 'y' AND (zz='1' OR aa='2' OR proj='3')",
            filter("gsi-inc", "zz, aa"),
        ),
        ("\"gsi-inc\" WHERE g2 IN ['y','z'] AND np = 'np1'", filter("gsi-inc", "np")),
        ("\"gsi-inc\" WHERE (g2='b' AND u1='1') OR (g2='q' AND u2='1')", filter("gsi-inc", "u2")),
        ("\"gsi-inc\" WHERE (g2='q' AND u1='1') OR (g2='b' AND u2='1')", filter("gsi-inc", "u1")),
    ] {
        assert_eq!(keys(&service, from), expected, "{from}");
    }
    let columns = "!ValidationException: One or more parameter values were invalid: Global secondary index gsi-inc does not project [zz, np]";
    for filter in ["", " WHERE g2 = 'y'"] {
        let select = format!("SELECT zz, proj, np.x FROM \"idx\".\"gsi-inc\"{filter}");
        assert_eq!(run(&service, &select), columns);
    }
    let strong = r#","ConsistentRead":true"#;
    let global = "SELECT sk FROM \"idx\".\"gsi-all\" WHERE g = 'x'";
    assert_eq!(
        run_with(&service, global, strong),
        "!ValidationException: Strongly consistent read is not supported on Global Secondary Indexes"
    );
    let local = "SELECT sk FROM \"idx\".\"lsi-keys\" WHERE pk = 'p' AND l = 'k1'";
    assert_eq!(run_with(&service, local, strong), r#"[{"sk":{"S":"s1"}}]"#);
}

#[test]
fn an_index_with_keys_of_several_attributes_is_refused() {
    let service = service();
    let why = "!ValidationException: PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.";
    for filter in ["", " WHERE g = 'x'", " WHERE g = 5", " WHERE g='x' AND g2='y' ORDER BY l DESC"]
    {
        let select = format!("SELECT * FROM \"idx\".\"gsi-two\"{filter}");
        assert_eq!(run(&service, &select), why, "{select}");
    }
    assert_eq!(run(&service, "SELECT COUNT(*) FROM \"idx\".\"gsi-two\""), why);
}

#[test]
fn capacity_is_the_index_s() {
    let service = service();
    let more = r#","ReturnConsumedCapacity":"INDEXES""#;
    let found = run_with(&service, "SELECT sk FROM \"idx\".\"gsi-all\" WHERE g = 'z'", more);
    assert_eq!(
        found,
        r#"[{"sk":{"S":"s2"}}],"ConsumedCapacity":{"TableName":"idx","CapacityUnits":0.5,"Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"gsi-all":{"CapacityUnits":0.5}}}"#
    );
}

#[test]
fn tokens_belong_to_their_index() {
    let service = service();
    let select = |index: &str| format!("SELECT sk FROM \"idx\".\"{index}\" WHERE g2 = 'y'");
    let first = run_with(&service, &select("gsi-inc"), r#","Limit":1"#);
    let token = first.split(r#""NextToken":""#).nth(1).unwrap().split('"').next().unwrap();
    let more = format!(r#","NextToken":"{token}""#);
    let second = run_with(&service, &select("gsi-inc"), &more);
    assert_eq!(second, r#"[{"sk":{"S":"s2"}},{"sk":{"S":"s4"}}]"#);
    let other = run_with(&service, &select("gsi-keys"), &more);
    assert!(other.starts_with("!ValidationException"), "{other}");
}
