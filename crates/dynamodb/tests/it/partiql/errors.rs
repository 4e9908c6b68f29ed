//! Statements that are refused, with the service's messages.

use super::stage::{put, run, run_with, service};

const MALFORMED: &str = "Statement wasn't well formed, can't be processed: ";

/// Asserts that statements are refused with a `ValidationException`, and change nothing.
fn refused(cases: &[(&str, &str)]) {
    let service = service();
    put(&service, "hhh", r#""pk":{"S":"p"},"a":{"N":"1"},"ss":{"SS":["a"]},"s":{"S":"str"}"#);
    put(&service, "ttt", r#""pk":{"S":"p"},"sk":{"S":"1"}"#);
    let before = run(&service, "SELECT * FROM hhh");
    for (statement, why) in cases {
        let expected = format!("!ValidationException: {why}");
        assert_eq!(run(&service, statement), expected, "{statement}");
    }
    assert_eq!(run(&service, "SELECT * FROM hhh"), before);
}

#[test]
fn malformed_statements() {
    let cases = [
        ("SLECT * FROM hhh", "Expected data manipulation"),
        ("SELECT * FROM nnn WHERE pk = 1 foo", "Unexpected token after expression"),
        ("SELECT * FROM nnn WHERE pk = 1 e5", "Unexpected token after expression"),
        ("INSERT INTO nnn VALUE {'pk': 970001} foo", "Unexpected token after expression"),
        ("UPDATE nnn SET a = 9 WHERE pk = 970002 foo", "Unexpected token after expression"),
        ("DELETE FROM nnn WHERE pk = 970003 foo", "Unexpected token after expression"),
        ("SELECT * FROM nnn WHERE pk = 1)", "Unexpected token after expression"),
        ("DELETE FROM nnn WHERE pk = 970004 ORDER BY pk", "Unexpected token after expression"),
        ("SELECT * FROM nnn ORDER BY pk WHERE pk = 1", "Unexpected token after expression"),
        ("INSERT INTO hhh t VALUE {'pk': 'x'}", "Unexpected token after expression"),
        ("SELECT * FROM hhh; SELECT * FROM hhh", "Unexpected token after expression"),
        ("FROM hhh SET c = 1 WHERE pk = 'p'", "Unexpected token after expression"),
        ("SELECT * FROM nnn WHERE pk = 1e2147483648", ""),
        ("SELECT * FROM nnn WHERE pk = 1e99999999999", ""),
        ("SELECT * FROM nnn WHERE pk = 1.5e-2147483647", ""),
        ("SELECT * FROM nnn WHERE pk = 1 # note", ""),
        ("SELECT * FROM nnn WHERE pk = 1 /* note", ""),
        ("SELECT * FROM nnn WHERE pk = 1x", ""),
        ("SELECT * FROM \"nnn", ""),
        ("SELECT * FROM nnn WHERE pk = 'x", ""),
        ("SELECT * FROM hhh WHERE", "Unexpected term"),
        ("SELECT * FROM hhh WHERE;", "Unexpected term"),
        ("SELECT pk FROM hhh WHERE   ", "Unexpected term"),
        ("UPDATE hhh SET a = 1 WHERE", "Unexpected term"),
        ("DELETE FROM hhh WHERE", "Unexpected term"),
        ("SELECT * FROM hhh WHERE NOT", "Unexpected term"),
        ("SELECT * FROM hhh WHERE (", "Unexpected term"),
        ("SELECT * FROM never WHERE", "Unexpected term"),
        ("SELECT * FROM", "Unexpected term"),
        (
            "SELECT * FROM hhh WHERE pk = 'p1' AND",
            "Missing right-hand side expression of infix operator",
        ),
        (
            "SELECT * FROM hhh WHERE pk = 'p1' OR",
            "Missing right-hand side expression of infix operator",
        ),
        ("SELECT * FROM hhh WHERE ORDER BY pk", "Unexpected keyword"),
        ("SELECT * FROM hhh WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM hhh WHERE pk = LIKE", "Unexpected operator"),
        ("SELECT * FROM hhh WHERE pk = 'a' AND x IS FOO", "Expected type name"),
        ("DELETE FROM", "Expected identifier for simple path"),
        ("DELETE FROM;", "Expected identifier for simple path"),
        ("DELETE FROM WHERE pk = 'a'", "Expected identifier for simple path"),
        ("SELECT * FROM hhh WHERE attribute_exists(m.inner)", "Invalid path dot component"),
        ("UPDATE hhh SET m.inner = 1 WHERE pk='p'", "Invalid path dot component"),
        ("UPDATE hhh WHERE pk='p'", "Expected data manipulation"),
        ("", "Expected data manipulation"),
    ];
    let service = service();
    for (statement, why) in cases.iter().filter(|(statement, _)| !statement.is_empty()) {
        let expected = format!("!ValidationException: {MALFORMED}{why}");
        assert_eq!(run(&service, statement), expected, "{statement}");
    }
    assert_eq!(run(&service, "SELECT * FROM nnn"), "[]");
}

#[test]
fn clauses_that_dynamodb_does_not_have() {
    let alias = "Aliasing is not supported";
    refused(&[
        ("SELECT * FROM hhh t WHERE pk = 'x'", alias),
        ("SELECT * FROM hhh AS t WHERE pk = 'x'", alias),
        ("UPDATE hhh t SET a = 3 WHERE pk = 'x'", alias),
        ("DELETE FROM hhh t WHERE pk = 'x'", alias),
        ("SELECT * FROM hhh LIMIT 5", "Unsupported clause: LIMIT"),
        ("SELECT * FROM hhh WHERE pk='p' LIMIT 5", "Unsupported clause: LIMIT"),
        ("SELECT pk FROM hhh GROUP BY pk", "Unsupported clause: GROUP"),
        ("SELECT VALUE pk FROM hhh", "Unsupported clause: VALUE"),
        ("SELECT COUNT(*) FROM hhh", "Unexpected path component at 1:8:5"),
        ("SELECT attribute_exists(ss) FROM hhh", "Unexpected path component at 1:8:16"),
        (
            "SELECT *, pk FROM hhh",
            "Other attributes should not be present in the projection when '*' is used.",
        ),
        (
            "INSERT INTO hhh VALUE {'pk':'i'} RETURNING ALL OLD *",
            "RETURNING is not supported in INSERT",
        ),
        (
            "DELETE FROM hhh WHERE pk = 'p' RETURNING MODIFIED OLD *",
            "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
        (
            "DELETE FROM hhh WHERE pk = 'p' RETURNING ALL NEW *",
            "Invalid returning clause: RETURNING ALL NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
        (
            "EXISTS(SELECT * FROM hhh WHERE pk = 'p' AND a = 1)",
            "EXISTS can only be used in ExecuteTransaction write requests.",
        ),
    ]);
}

#[test]
fn literals_that_are_no_values() {
    let overflow =
        "Number overflow. Attempting to store a number with magnitude larger than supported range";
    let underflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range";
    let mixed =
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";
    let deep = format!("UPDATE hhh SET d = {}1{} WHERE pk='p'", "{'a':".repeat(32), "}".repeat(32));
    let deep_why =
        format!("Nesting Levels have exceeded supported limits under root{}", ".a".repeat(32));
    refused(&[
        ("SELECT * FROM nnn WHERE pk = 1e126", &format!("{overflow} under root")),
        ("SELECT * FROM nnn WHERE pk = 1e-131", &format!("{underflow} under root")),
        (
            "SELECT * FROM nnn WHERE pk = 123456789012345678901234567890123456789",
            "Attempting to store more than 38 significant digits in a Number under root",
        ),
        ("INSERT INTO nnn VALUE {'pk': 1e126}", &format!("{overflow} under root")),
        ("INSERT INTO nnn VALUE {'pk': 1, 'm': {'x': 1e126}}", &format!("{overflow} under root.x")),
        ("INSERT INTO nnn VALUE {'pk': 1, 'l': [1, 1e126]}", &format!("{overflow} under root[1]")),
        ("INSERT INTO hhh VALUE {'pk':'b', 's':<<>>}", "Empty bags are not supported"),
        ("INSERT INTO hhh VALUE {'pk':'b', 's':<<1, 'a'>>}", mixed),
        ("INSERT INTO hhh VALUE {'pk':'b', 's':<<?>>}", mixed),
        (
            "INSERT INTO hhh VALUE {'pk':'b', 's':<<'a', 'a'>>}",
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        (
            "UPDATE hhh SET n = <<2, 2.0>> WHERE pk='p'",
            "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
        ),
        (&deep, &deep_why),
        (
            "INSERT INTO hhh VALUE {'pk':'b', 'm':{'k':?}}",
            "Unsupported data type: Parameter under key root.k at 1:43:1",
        ),
        (
            "UPDATE hhh SET x = [?] WHERE pk='p'",
            "Unsupported data type: Parameter under key root[0] at 1:21:1",
        ),
        (
            "INSERT INTO hhh VALUE {'pk':'b', 'ss':set_add(<<'a'>>, <<'b'>>)}",
            "Unsupported data type: set_add under key root at 1:39:7",
        ),
        (
            "INSERT INTO hhh VALUE {'pk':'b','pk':'c'}",
            "Duplicate keys in tuple. Key: pk under root",
        ),
    ]);
    let service = service();
    let depth_31 = format!(
        "INSERT INTO hhh VALUE {{'pk':'deep','d':{}1{}}}",
        "{'a':".repeat(31),
        "}".repeat(31)
    );
    assert_eq!(run(&service, &depth_31), "[]");
}

#[test]
fn functions_and_operators_that_are_misused() {
    let operands = "Incorrect operand type for operator or function; operator or function:";
    let number = "Incorrect number of operands for operator or function; operator or function:";
    let path = "Operator or function requires a document path; operator or function:";
    let data_type = "An operand in the update expression has an incorrect data type";
    refused(&[
        (
            "SELECT * FROM hhh WHERE pk='p' AND a < true",
            &format!("{operands} <, operand type: BOOL"),
        ),
        (
            "SELECT * FROM hhh WHERE pk='p' AND a BETWEEN true AND false",
            &format!("{operands} BETWEEN, operand type: BOOL"),
        ),
        (
            "SELECT * FROM hhh WHERE pk='p' AND attribute_exists(n) > false",
            &format!("{operands} >, operand type: BOOL"),
        ),
        (
            "SELECT * FROM hhh WHERE attribute_type(l, 1)",
            &format!("{operands} attribute_type, operand type: N"),
        ),
        ("SELECT * FROM hhh WHERE attribute_exists('ss')", &format!("{path} attribute_exists")),
        (
            "SELECT * FROM hhh WHERE attribute_exists()",
            &format!("{number} attribute_exists, number of operands: 0"),
        ),
        (
            "SELECT * FROM hhh WHERE attribute_exists(ss, ns)",
            &format!("{number} attribute_exists, number of operands: 2"),
        ),
        (
            "SELECT * FROM hhh WHERE pk='p' AND EXISTS(ss)",
            "Unrecognized function: exists at 1:36:6",
        ),
        (
            "SELECT * FROM hhh WHERE set_add(ss, <<'x'>>) = ss",
            "Unrecognized function: set_add at 1:25:7",
        ),
        (
            "SELECT * FROM hhh WHERE x IS INT4",
            "Unsupported data type for IS operator: INTEGER4. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]",
        ),
        (
            "UPDATE hhh SET t = set_add(ss, <<'x'>>) WHERE pk='p'",
            "The first argument to SET_ADD must equal the assignment value at 1:20:7",
        ),
        (
            "UPDATE hhh\nSET ss = set_add(ss, 'x') WHERE pk='p'",
            "The second argument to SET_ADD must be a value with type SET at 2:18:2",
        ),
        (
            "UPDATE hhh SET \"ss\" = set_delete(\"ss\", ['x']) WHERE pk='p'",
            "The second argument to SET_DELETE must be a value with type SET at 1:34:4",
        ),
        (
            "UPDATE hhh SET ss = set_add(ss) WHERE pk='p'",
            "SET_ADD must have exactly two arguments at 1:21:7",
        ),
        ("UPDATE hhh SET ss = set_add(ss, <<1>>) WHERE pk='p'", data_type),
        ("UPDATE hhh SET s = set_add(s, <<'x'>>) WHERE pk='p'", data_type),
        (
            "UPDATE hhh SET a = 'x' + 1 WHERE pk='p' AND a = 9",
            &format!("{operands} +, operand type: S"),
        ),
        (
            "UPDATE hhh SET a = a - null WHERE pk='p' AND a = 9",
            &format!("{operands} -, operand type: NULL"),
        ),
        (
            "UPDATE hhh SET l = list_append(l, [1]) WHERE pk='p'",
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            "UPDATE hhh SET l[0] = 1 WHERE pk='p'",
            "The document path provided in the update expression is invalid for update",
        ),
        (
            "UPDATE hhh SET a = a + 1 + 2 WHERE pk='p'",
            "Unsupported operator in Update Expression. Operator: +",
        ),
        (
            "SELECT l[-1] FROM hhh",
            "List index is not within the allowable range; index: [-1] at 1:11:1",
        ),
        (
            "SELECT l[2147483648] FROM hhh",
            "List index is not within the allowable range; index: [2147483648] at 1:10:10",
        ),
        (
            "UPDATE hhh SET a = 1, a = 2 WHERE pk='p'",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
        ),
        (
            "UPDATE hhh SET pk = 'q' WHERE pk='p'",
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key",
        ),
    ]);
}

#[test]
fn keys_that_are_not_one_item() {
    let mandatory = "Where clause does not contain a mandatory equality on all key attributes";
    let multiple =
        "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported";
    let overlap = "Overlapping conditions with range keys are not supported in where clause";
    let schema = "Key attribute's data type should match its data type in table's schema: Key";
    refused(&[
        ("UPDATE hhh SET a = 2", mandatory),
        ("UPDATE hhh SET a = 2 WHERE a = 1", mandatory),
        ("FROM hhh SET a = 2", mandatory),
        ("FROM hhh REMOVE a", mandatory),
        ("UPDATE ttt SET a = 2 WHERE pk = 'p'", mandatory),
        ("UPDATE ttt SET a = 2 WHERE pk = 'p' AND sk > '0'", mandatory),
        ("UPDATE hhh SET a = 2 WHERE pk IN ['p']", mandatory),
        ("UPDATE hhh SET a = 2 WHERE pk = 'p' OR pk = 'q'", mandatory),
        ("DELETE FROM hhh WHERE a = 1", mandatory),
        ("DELETE FROM hhh", mandatory),
        ("UPDATE hhh SET a = 2 WHERE pk = 'p' AND pk = 'q'", multiple),
        ("DELETE FROM hhh WHERE pk = 'p' AND pk = 'q'", multiple),
        ("UPDATE hhh SET a = 2 WHERE pk = 1", &format!("{schema} pk")),
        ("SELECT * FROM ttt WHERE pk = 1 OR pk = 'p'", &format!("{schema} pk")),
        ("SELECT * FROM ttt WHERE pk = 'p' AND sk IN ['1', 2]", &format!("{schema} sk")),
        ("SELECT * FROM ttt WHERE pk IN ['p','p']", overlap),
        ("SELECT * FROM hhh WHERE pk='p' OR pk='p'", overlap),
        ("SELECT * FROM ttt WHERE pk='p' AND (sk > '0' OR sk < '5')", overlap),
        ("SELECT * FROM ttt WHERE pk='p' AND (sk='1' OR flag='two')", overlap),
        ("SELECT * FROM ttt WHERE (pk='p' AND x='1') OR (pk='p' AND x='2')", overlap),
        ("SELECT * FROM ttt WHERE pk='p' AND x <> '1' OR pk='p' AND sk='2'", overlap),
    ]);
}

#[test]
fn too_many_operands_or_reads() {
    let values =
        |count: usize| (0..count).map(|value| format!("'v{value}'")).collect::<Vec<_>>().join(",");
    let reads = "!ValidationException: Too many decomposed read operations for a given query.";
    let operands = "!ValidationException: The IN operator is provided with too many operands; \
                    number of operands: 101";
    let service = service();
    let select = |filter: &str| run(&service, &format!("SELECT sk FROM ttt WHERE {filter}"));
    assert_eq!(select(&format!("pk IN [{}]", values(51))), reads);
    assert_eq!(select(&format!("pk='p' AND sk IN [{}]", values(51))), reads);
    assert_eq!(select(&format!("pk IN [{}] AND sk IN ['1','2']", values(26))), reads);
    assert_eq!(select(&format!("pk IN [{}] AND f IN [{}]", values(50), values(100))), "[]");
    assert_eq!(select(&format!("pk IN [{}] OR f='1'", values(51))), "[]");
    assert_eq!(select(&format!("pk='p' AND f IN [{}]", values(101))), operands);
    let many = vec!["a=1"; 301].join(" AND ");
    let found = select(&many);
    let expected =
        "!ValidationException: The expression contains too many operators; operator count: 601";
    assert_eq!(found, expected);
}

#[test]
fn an_order_that_the_key_does_not_have() {
    refused(&[
        (
            "SELECT * FROM ttt ORDER BY sk",
            "Must have WHERE clause in the statement when using ORDER BY clause.",
        ),
        (
            "SELECT * FROM ttt WHERE pk='o' ORDER BY total DESC",
            "Attribute total in ORDER BY clause must be part of the primary key",
        ),
        (
            "SELECT * FROM ttt WHERE pk > 'a' ORDER BY sk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "SELECT * FROM ttt WHERE pk IN ['o','p'] ORDER BY sk DESC",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ]);
}

#[test]
fn names_of_no_table() {
    refused(&[
        ("SELECT * FROM \"\" WHERE pk = 'p'", "Path component cannot be an empty string"),
        (
            "SELECT * FROM hhh.gsi.extra",
            "A path may contain at most 2 components in the FROM clause",
        ),
        ("SELECT * FROM hhh.nope", "The table does not have the specified index"),
        (
            "INSERT INTO hhh.nope VALUE {'pk':'x'}",
            "FROM clause may only contain a single table name",
        ),
        ("UPDATE hhh.nope SET a = 1 WHERE pk = 'p'", "This operation is not supported on an index"),
        ("DELETE FROM hhh.nope WHERE pk = 'p'", "This operation is not supported on an index"),
    ]);
    let missing = "!ResourceNotFoundException: Requested resource not found";
    let service = service();
    for statement in [
        "SELECT * FROM nope WHERE pk = 'x'",
        "SELECT * FROM \"no such name!\"",
        "SELECT * FROM \"keyloom.dynamodb.tables\"",
        "FROM nope WHERE pk = 'x' SET c = 1",
        "INSERT INTO nope VALUE {'pk': 'x'}",
    ] {
        assert_eq!(run(&service, statement), missing, "{statement}");
    }
}

#[test]
fn parameters_are_checked_before_the_statement() {
    let service = service();
    let refused = |more: &str| run_with(&service, "UPDATE hhh SET WHERE", more);
    assert_eq!(
        refused(r#","Parameters":[{"SS":["a","a"]}]"#),
        "!ValidationException: One or more parameter values were invalid: Input collection [\"a\", \"a\"] contains duplicates."
    );
    assert_eq!(
        refused(r#","Parameters":[{"N":"1"},{"N":"abc"}]"#),
        "!ValidationException: The parameter cannot be converted to a numeric value: abc"
    );
    assert_eq!(
        refused(r#","Parameters":[]"#),
        "!ValidationException: 1 validation error detected: Value '[]' at 'parameters' failed to satisfy constraint: Member must have length greater than or equal to 1"
    );
    assert_eq!(
        refused(r#","Parameters":[{"N":"abc"},"x"]"#),
        "!SerializationException: Unexpected value type in payload"
    );
    assert!(refused(r#","Limit":0"#).contains("at 'limit' failed to satisfy constraint"));
}

#[test]
fn the_statement_has_a_length() {
    let service = service();
    let found = service.call("ExecuteStatement", "{}").body;
    assert!(
        found.contains(
            "Value null at 'statement' failed to satisfy constraint: Member must not be null"
        ),
        "{found}"
    );
    let found = run(&service, "");
    assert!(found.contains("Member must have length greater than or equal to 1"), "{found}");
    let long = format!("SELECT * FROM hhh WHERE pk = '{}'", "x".repeat(8192));
    let found = run(&service, &long);
    assert!(found.contains("at 'statement' failed to satisfy constraint: Member must have length less than or equal to 8192"));
}
