//! Statements that run, and what they return.

use super::stage::{check, get, put, run, run_with, service};

#[test]
fn literals_of_every_type_are_inserted() {
    let service = service();
    let insert = "INSERT INTO ttt VALUE {'pk':'a', 'sk':'1', 's':'it''s', 'n':1E3, 'm':-1.5e-3, \
                  'f':2.50, 'z':-0, 'd':.5, 't':true, 'F':FALSE, 'nul':null, 'l':[1,'x',[]], \
                  'o':{'p':{'q':4}}, 'ns':<<1,34,4.5>>, 'ss':<<'a','b'>>}";
    check(&service, &[(insert, "[]")]);
    assert_eq!(
        get(&service, "ttt", r#""pk":{"S":"a"},"sk":{"S":"1"}"#),
        r#"{"F":{"BOOL":false},"d":{"N":"0.5"},"f":{"N":"2.5"},"l":{"L":[{"N":"1"},{"S":"x"},{"L":[]}]},"m":{"N":"-0.0015"},"n":{"N":"1000"},"ns":{"NS":["1","4.5","34"]},"nul":{"NULL":true},"o":{"M":{"p":{"M":{"q":{"N":"4"}}}}},"pk":{"S":"a"},"s":{"S":"it's"},"sk":{"S":"1"},"ss":{"SS":["a","b"]},"t":{"BOOL":true},"z":{"N":"0"}}"#
    );
}

#[test]
fn an_insert_of_an_existing_key_is_refused() {
    let service = service();
    let insert = "INSERT INTO hhh VALUE {'pk':'a'}";
    let duplicate = "!DuplicateItemException: Duplicate primary key exists in table";
    let missing = "!ValidationException: One or more parameter values were invalid: Missing the key \
                   pk in the item";
    check(
        &service,
        &[
            (insert, "[]"),
            (insert, duplicate),
            ("DELETE FROM hhh WHERE pk = 'a'", "[]"),
            (insert, "[]"),
            ("INSERT INTO hhh VALUE {'x':'a'}", missing),
        ],
    );
}

#[test]
fn parameters_stand_for_values() {
    let service = service();
    let insert = "INSERT INTO ttt VALUE {'pk': ?, 'sk': ?, 'b': ?}";
    let values = r#","Parameters":[{"S":"a"},{"S":"1"},{"B":"AQI="}]"#;
    assert_eq!(run_with(&service, insert, values), "[]");
    let select = "SELECT sk FROM ttt WHERE pk = ? AND sk IN [?, '9'] AND b = ? AND '?' <> sk";
    let values = r#","Parameters":[{"S":"a"},{"S":"1"},{"B":"AQI="}]"#;
    assert_eq!(run_with(&service, select, values), r#"[{"sk":{"S":"1"}}]"#);
    let update = "FROM ttt WHERE pk = ? AND sk = ? SET c = ? RETURNING MODIFIED NEW *";
    let values = r#","Parameters":[{"S":"a"},{"S":"1"},{"N":"7"},{"N":"8"}]"#;
    assert_eq!(run_with(&service, update, values), r#"[{"c":{"N":"7"}}]"#);
    let few = r#","Parameters":[{"S":"a"}]"#;
    let mismatch =
        "!ValidationException: Number of parameters in request and statement don't match.";
    assert_eq!(run_with(&service, select, few), mismatch);
    assert_eq!(run_with(&service, select, ""), mismatch);
}

#[test]
fn columns_are_named_by_their_last_part() {
    let service = service();
    put(
        &service,
        "hhh",
        r#""pk":{"S":"a"},"m":{"M":{"k":{"L":[{"S":"c"},{"M":{"z":{"N":"1"}}}]}}},"x.y":{"N":"2"}"#,
    );
    check(
        &service,
        &[
            ("SELECT m.k[0], pk FROM hhh WHERE pk='a'", r#"[{"k[0]":{"S":"c"},"pk":{"S":"a"}}]"#),
            (r#"SELECT m.k[1].z, "x.y", nope FROM hhh"#, r#"[{"x.y":{"N":"2"},"z":{"N":"1"}}]"#),
            ("SELECT m.k[-0] FROM hhh", r#"[{"k[0]":{"S":"c"}}]"#),
            ("SELECT nope FROM hhh", "[{}]"),
            (
                "SELECT m.pk, pk FROM hhh",
                "!ValidationException: Duplicate identifiers in select clause: pk",
            ),
        ],
    );
}

fn numbered(service: &crate::service::Service) {
    for (pk, sk) in [("o", "1"), ("o", "2"), ("o", "3"), ("p", "1"), ("p", "2"), ("p", "3")] {
        let n = sk;
        let members = format!(r#""pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}},"n":{{"N":"{n}"}}"#);
        put(service, "ttt", &members);
    }
}

/// The sort keys that a condition selects.
fn keys(service: &crate::service::Service, filter: &str) -> String {
    let found = run(service, &format!("SELECT pk, sk FROM ttt WHERE {filter}"));
    if found.starts_with('!') {
        return found;
    }
    let items: serde_json::Value = serde_json::from_str(&found).unwrap();
    let name = |item: &serde_json::Value, key: &str| item[key]["S"].as_str().unwrap().to_owned();
    let each = items.as_array().unwrap().iter();
    each.map(|item| name(item, "pk") + &name(item, "sk")).collect::<Vec<_>>().join(" ")
}

#[test]
fn sort_keys_are_read_by_range() {
    let service = service();
    numbered(&service);
    let cases = [
        ("pk='o'", "o1 o2 o3"),
        ("'o' = pk AND '2' < sk", "o3"),
        ("pk='o' AND sk='2'", "o2"),
        ("pk='o' AND sk='2' AND n = 2", "o2"),
        ("pk='o' AND sk='2' AND n = 3", ""),
        ("pk='o' AND sk>'1' AND sk<'3'", "o2"),
        ("pk='o' AND sk>='1' AND sk<='2'", "o1 o2"),
        ("pk='o' AND sk BETWEEN '2' AND '9'", "o2 o3"),
        ("pk='o' AND sk NOT BETWEEN '2' AND '9'", "o1"),
        ("pk='o' AND begins_with(sk, '3')", "o3"),
        ("pk='o' AND begins_with(sk, '3') AND sk > '0'", "o3"),
        ("pk='o' AND (sk='1' OR sk='2')", "o1 o2"),
        ("pk='o' AND sk IN ('1','3')", "o1 o3"),
        ("pk='o' AND sk IN ['1','3'] AND n > 1", "o3"),
        ("pk='o' AND (sk < '1' OR sk > '1' OR sk='1')", "o2 o3 o1"),
        ("pk='o' AND NOT sk='1'", "o2 o3"),
        ("pk='o' AND sk <> '1'", "o2 o3"),
        ("pk='o' AND sk != '1' AND sk > '0'", "o2 o3"),
        ("pk='o' AND sk NOT IN ['1','3']", "o2"),
        ("pk='o' AND attribute_exists(pk)", "o1 o2 o3"),
        ("pk='o' AND sk='1' AND sk > '0'", "o1"),
        ("pk='o' AND sk='1' AND sk > '1'", ""),
        ("pk='o' AND pk='p'", ""),
        ("pk='o' AND size(sk) = 1 AND contains(sk, '2')", "o2"),
        ("pk IN ['o','p'] AND sk='2'", "o2 p2"),
        ("pk='o' AND sk='1' OR pk='p' AND sk='3'", "o1 p3"),
        ("(pk='o' OR pk='p') AND (sk='1')", "o1 p1"),
        ("pk='o' OR sk='3'", "o1 o2 o3 p3"),
        ("pk > 'o'", "p1 p2 p3"),
        ("pk > 1", ""),
        ("n = 2", "o2 p2"),
        ("NOT (n = 2 OR n = 3)", "o1 p1"),
        ("n = - - 2 AND n BETWEEN - 2 AND +5 AND n IN [- 1, 2]", "o2 p2"),
        // The union of branches that exclude values of the sort key.
        ("pk='o' AND NOT sk='1' OR pk='o' AND sk='2'", "o2 o3"),
        ("pk='o' AND sk <> '1' OR pk='o' AND sk='2'", "o2 o3"),
        ("pk='o' AND NOT sk IN ['1','3'] OR pk='o' AND sk='2'", "o2"),
        ("pk='o' OR pk='o' AND NOT sk='1'", "o1 o2 o3"),
    ];
    for (filter, expected) in cases {
        assert_eq!(keys(&service, filter), expected, "{filter}");
    }
}

#[test]
fn order_by_goes_by_the_key() {
    let service = service();
    numbered(&service);
    let cases = [
        ("pk='o' ORDER BY sk DESC", "o3 o2 o1"),
        ("pk='o' ORDER BY sk ASC", "o1 o2 o3"),
        ("pk='o' ORDER BY sk", "o1 o2 o3"),
        // Without the sort key, the service reads it backward.
        ("pk='o' ORDER BY pk ASC", "o3 o2 o1"),
        ("pk IN ['o','p'] ORDER BY pk DESC, sk ASC", "p1 p2 p3 o1 o2 o3"),
        ("pk='o' AND sk IN ['3','1'] ORDER BY sk", "o1 o3"),
        ("pk='o' AND sk IN ['1','3'] ORDER BY sk DESC", "o3 o1"),
    ];
    for (filter, expected) in cases {
        assert_eq!(keys(&service, filter), expected, "{filter}");
    }
}

#[test]
fn conditions_have_every_function() {
    let service = service();
    put(
        &service,
        "hhh",
        r#""pk":{"S":"a"},"s":{"S":"str"},"ss":{"SS":["a","b"]},"m":{"M":{"sub":{"S":"x"}}},"nul":{"NULL":true},"flag":{"BOOL":true},"n":{"N":"1"},"l":{"L":[{"S":"e"}]},"bin":{"B":"AQID"}"#,
    );
    let holds = [
        "attribute_exists(ss)",
        "NOT attribute_exists(nope)",
        "ATTRIBUTE_NOT_EXISTS (nope)",
        "attribute_exists(\"ss\")",
        "attribute_exists(m.sub)",
        "attribute_exists(l[0])",
        "attribute_type(ss, 'SS')",
        "size(s) = 3 AND size(ss) = 2",
        "begins_with(s, 'st') AND contains(s, 'tr') AND contains(ss, 'a') AND contains(l, 'e')",
        "nul IS NULL",
        "s IS NOT NULL",
        "absent IS NOT NULL",
        "flag IS BOOL AND s IS STRING AND m IS STRUCT AND l IS LIST AND n IS NUMERIC AND bin IS BLOB",
        "absent IS MISSING AND s IS NOT MISSING",
        "s != 'x' AND s <> 'y'",
        "ss = <<'b','a'>> AND m = {'sub':'x'} AND l = ['e']",
        "(attribute_exists(nope) OR attribute_exists(ss))",
        "attribute_exists(ss) = true",
        "attribute_exists(nope) = false",
        "true = attribute_exists(n)",
        "attribute_exists(n) <> 1",
        "contains(nope, 'z') = false",
        "(n BETWEEN 0 AND 5) = true",
        "(n = 5 OR s = 'x') = false",
        "attribute_exists(nope) IN [true, false]",
        "attribute_exists(n) = attribute_exists(s)",
        "attribute_exists(n) = flag",
    ];
    let fails = [
        "attribute_exists(nope)",
        "attribute_exists(m.nope)",
        "attribute_type(ss, 'S')",
        "size(s) = 4",
        "absent IS NULL",
        "nul IS NOT NULL",
        "s IS BOOL",
        "s < 5",
        "attribute_exists(n) = 1",
        "NOT attribute_exists(n) = true",
        "(attribute_exists(n) = true) = false",
        "attribute_exists(n) = s",
        "l = ['e', 'e']",
    ];
    for (conditions, count) in [(holds.as_slice(), 1), (fails.as_slice(), 0)] {
        for condition in conditions {
            for key in ["pk = 'a' AND ", ""] {
                let found = run(&service, &format!("SELECT pk FROM hhh WHERE {key}{condition}"));
                let expected = ["[]", r#"[{"pk":{"S":"a"}}]"#][count];
                assert_eq!(found, expected, "{key}{condition}");
            }
        }
    }
}

#[test]
fn updates_have_every_change() {
    let service = service();
    put(
        &service,
        "hhh",
        r#""pk":{"S":"a"},"n":{"N":"5"},"m":{"M":{}},"l":{"L":[{"N":"1"}]},"ss":{"SS":["a"]},"one":{"SS":["only"]}"#,
    );
    let changes = [
        "SET n=n-1, m.x = [2020, 'v']",
        "SET l = LIST_APPEND(l, [4, <<'s'>>]) SET ss = SET_ADD(ss, <<'b'>>)",
        "SET l = list_append([0], l) SET fresh = set_add(fresh, <<1>>)",
        "SET one = set_delete(one, <<'only'>>) SET gone = set_delete(gone, <<'x'>>)",
        "SET n = n - - 2, copy = n REMOVE l[1] REMOVE m.x",
    ];
    for change in changes {
        let update = format!("UPDATE hhh {change} WHERE pk='a' -- a note");
        assert_eq!(run(&service, &update), "[]", "{update}");
    }
    assert_eq!(
        get(&service, "hhh", r#""pk":{"S":"a"}"#),
        r#"{"copy":{"N":"4"},"fresh":{"NS":["1"]},"l":{"L":[{"N":"0"},{"N":"4"},{"SS":["s"]}]},"m":{"M":{}},"n":{"N":"6"},"pk":{"S":"a"},"ss":{"SS":["a","b"]}}"#
    );
}

#[test]
fn returning_names_an_image() {
    let service = service();
    let key = r#""pk":{"S":"a"}"#;
    let reset = || {
        put(
            &service,
            "hhh",
            &format!(r#"{key},"d":{{"S":"old"}},"t":{{"L":[{{"N":"1"}},{{"N":"2"}}]}}"#),
        );
    };
    let cases = [
        (
            "SET d='new' WHERE pk='a' RETURNING ALL OLD *",
            r#"[{"d":{"S":"old"},"pk":{"S":"a"},"t":{"L":[{"N":"1"},{"N":"2"}]}}]"#,
        ),
        (
            "SET d='new' WHERE pk='a' RETURNING ALL NEW *",
            r#"[{"d":{"S":"new"},"pk":{"S":"a"},"t":{"L":[{"N":"1"},{"N":"2"}]}}]"#,
        ),
        ("SET d='new' WHERE pk='a' RETURNING MODIFIED OLD *", r#"[{"d":{"S":"old"}}]"#),
        ("SET d='new' WHERE pk='a' RETURNING MODIFIED NEW *", r#"[{"d":{"S":"new"}}]"#),
        ("SET e='new' WHERE pk='a' RETURNING MODIFIED OLD *", "[]"),
        ("REMOVE d WHERE pk='a' RETURNING MODIFIED NEW *", "[]"),
        ("SET t[1]=3 WHERE pk='a' RETURNING MODIFIED NEW *", r#"[{"t":{"L":[{"N":"3"}]}}]"#),
        ("SET t[5]=3 WHERE pk='a' RETURNING MODIFIED NEW *", "[]"),
        ("REMOVE t[0] WHERE pk='a' RETURNING MODIFIED NEW *", r#"[{"t":{"L":[{"N":"2"}]}}]"#),
    ];
    for (change, expected) in cases {
        reset();
        assert_eq!(run(&service, &format!("UPDATE hhh {change}")), expected, "{change}");
        // The image is the same if the capacity is asked for.
        reset();
        let more = r#","ReturnConsumedCapacity":"TOTAL""#;
        let found = run_with(&service, &format!("UPDATE hhh {change}"), more);
        let capacity = r#","ConsumedCapacity":{"TableName":"hhh","CapacityUnits":1.0}"#;
        assert_eq!(found, format!("{expected}{capacity}"), "{change}");
    }
    reset();
    let delete = "DELETE FROM hhh WHERE pk='a' RETURNING ALL OLD *";
    assert!(run(&service, delete).starts_with(r#"[{"d":{"S":"old"},"pk""#));
    assert_eq!(run(&service, delete), "[]");
}

#[test]
fn conditions_guard_writes_of_items_that_exist() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"d":{"S":"x"}"#);
    let failed = "!ConditionalCheckFailedException: The conditional request failed";
    check(
        &service,
        &[
            ("UPDATE hhh SET d='y' WHERE pk='a' AND d='z'", failed),
            ("UPDATE hhh SET d='y' WHERE (pk='a' AND pk='a') AND d='x'", "[]"),
            ("UPDATE hhh SET d='y' WHERE pk='b'", failed),
            ("UPDATE hhh SET d='y' WHERE pk='b' AND attribute_not_exists(pk)", failed),
            ("UPDATE hhh SET s = set_add(s, <<'x'>>) WHERE pk='b'", failed),
            ("DELETE FROM hhh WHERE pk='a' AND d='z'", failed),
            ("DELETE FROM hhh WHERE pk='b' AND d='z'", "[]"),
            ("SELECT d FROM hhh", r#"[{"d":{"S":"y"}}]"#),
            ("DELETE FROM hhh WHERE pk='a' AND NOT begins_with(d, 'z')", "[]"),
            ("SELECT d FROM hhh", "[]"),
        ],
    );
    put(&service, "hhh", r#""pk":{"S":"a"},"d":{"S":"x"}"#);
    let more = r#","ReturnValuesOnConditionCheckFailure":"ALL_OLD""#;
    assert_eq!(
        run_with(&service, "UPDATE hhh SET d='y' WHERE pk='a' AND d='z'", more),
        r#"!ConditionalCheckFailedException: "message":"The conditional request failed","Item":{"d":{"S":"x"},"pk":{"S":"a"}}"#
    );
}

#[test]
fn numbers_are_read_in_every_form() {
    let service = service();
    for key in ["7310000", "7.3", "-7.3"] {
        put(&service, "nnn", &format!(r#""pk":{{"N":"{key}"}}"#));
    }
    for (literal, key) in [
        ("7.31e6", "7310000"),
        ("7.31E6", "7310000"),
        ("7.31e+6", "7310000"),
        ("731e4", "7310000"),
        ("73100000e-1", "7310000"),
        (".73e1", "7.3"),
        ("-.73e1", "-7.3"),
        ("+7.3", "7.3"),
    ] {
        let found = run(&service, &format!("SELECT * FROM \"nnn\" WHERE pk = {literal}"));
        assert_eq!(found, format!(r#"[{{"pk":{{"N":"{key}"}}}}]"#), "{literal}");
    }
}

#[test]
fn comments_are_blank() {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"a"},"note":{"S":"a--b /*c*/"}"#);
    for statement in [
        "-- a note\nSELECT pk FROM hhh WHERE pk = 'a'",
        "SELECT/**/pk FROM hhh -- the table\nWHERE pk/* key */='a' --",
        "select pk from \"hhh\" where note = 'a--b /*c*/'; -- done",
    ] {
        assert_eq!(run(&service, statement), r#"[{"pk":{"S":"a"}}]"#, "{statement}");
    }
}

#[test]
fn capacity_is_that_of_the_reads_and_writes() {
    let service = service();
    numbered(&service);
    let capacity = |statement: &str, more: &str| {
        let more = format!(r#","ReturnConsumedCapacity":"TOTAL"{more}"#);
        let found = run_with(&service, statement, &more);
        found.split("CapacityUnits\":").nth(1).unwrap().trim_end_matches('}').to_owned()
    };
    let strong = r#","ConsistentRead":true"#;
    assert_eq!(capacity("SELECT * FROM ttt WHERE pk='o' AND sk='1'", ""), "0.5");
    assert_eq!(capacity("SELECT * FROM ttt WHERE pk='o' AND sk='1'", strong), "1.0");
    assert_eq!(capacity("SELECT * FROM ttt WHERE pk='none'", ""), "0.5");
    assert_eq!(capacity("SELECT * FROM ttt WHERE pk IN ['o','p']", strong), "2.0");
    assert_eq!(capacity("SELECT * FROM ttt", ""), "0.5");
    assert_eq!(capacity("INSERT INTO ttt VALUE {'pk':'q','sk':'1'}", ""), "1.0");
    assert_eq!(capacity("UPDATE ttt SET a=1 WHERE pk='q' AND sk='1'", ""), "1.0");
    assert_eq!(capacity("DELETE FROM ttt WHERE pk='q' AND sk='1'", ""), "1.0");
}
