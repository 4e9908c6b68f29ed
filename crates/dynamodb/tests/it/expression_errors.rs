//! Errors in expressions, with the service's messages and in its order.

use keyloom_dynamodb::Substitutions;
use keyloom_value::Value;

fn substitutions() -> Substitutions {
    let names = [("#a", "a"), ("#b", "b")].map(|(key, name)| (key.to_owned(), name.to_owned()));
    let values = [
        (":n", Value::from(1)),
        (":m", Value::from(2)),
        (":s", Value::from("x")),
        (":t", Value::from("SS")),
        (":b", Value::from(true)),
        (":l", Value::L(vec![])),
    ];
    Substitutions::new(names, values.map(|(key, value)| (key.to_owned(), value))).unwrap()
}

fn check(parse: impl Fn(&mut Substitutions, &str) -> String, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(parse(&mut substitutions(), text), *expected, "{text}");
    }
}

#[test]
fn conditions() {
    let cases = [
        ("", "The expression can not be empty;"),
        ("a", "Syntax error; token: \"<EOF>\", near: \"a\""),
        ("a = ", "Syntax error; token: \"<EOF>\", near: \"= \""),
        ("a = b c", "Syntax error; token: \"c\", near: \"b c\""),
        ("a == b", "Syntax error; token: \"=\", near: \"== b\""),
        ("a ! b", "Syntax error; token: \"!\", near: \"a ! b\""),
        ("a AND b = c", "Syntax error; token: \"AND\", near: \"a AND b\""),
        ("a[x] = b", "Syntax error; token: \"x\", near: \"[x]\""),
        ("((a = b))", "The expression has redundant parentheses;"),
        ("foo(a)", "Invalid function name; function: foo"),
        (
            "size(a)",
            "The function is not allowed to be used this way in an expression; function: size",
        ),
        (
            "contains(a, :s) = b",
            "The function is not allowed to be used this way in an expression; function: contains",
        ),
        ("abort = :n", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("a.Status = :n", "Attribute name is a reserved keyword; reserved keyword: Status"),
        (
            "#x = :n",
            "An expression attribute name used in the document path is not defined; attribute name: \
             #x",
        ),
        (
            "a = :x",
            "An expression attribute value used in expression is not defined; attribute value: :x",
        ),
        (
            "attribute_exists(a, b)",
            "Incorrect number of operands for operator or function; operator or function: \
             attribute_exists, number of operands: 2",
        ),
        (
            "attribute_exists(:n)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "a = a",
            "The first operand must be distinct from the remaining operands for this operator or \
             function; operator: =, first operand: [a]",
        ),
        (
            "begins_with(a, :n)",
            "Incorrect operand type for operator or function; operator or function: begins_with, \
             operand type: N",
        ),
        (
            "attribute_type(a, :s)",
            "Invalid attribute type name found; type: x, valid types: \
             {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "a BETWEEN :m AND :n",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
             lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "a BETWEEN :n AND :s",
            "The BETWEEN operator requires same data type for lower and upper bounds; lower bound \
             operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:x}",
        ),
        ("_a = :n", "Syntax error; token: \"_\", near: \"_a\""),
        ("attribute_type(:n, :t)", ""),
        ("(a) = :n AND (NOT (b = :n OR #a = :s))", ""),
        ("attribute_type(a, :t) or size(#a.b[3]) < :n", ""),
    ];
    let parse = |substitutions: &mut Substitutions, text: &str| {
        let error = substitutions.condition("FilterExpression", text).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        error.trim_start_matches("Invalid FilterExpression: ").to_owned()
    };
    check(parse, &cases);
}

#[test]
fn key_conditions() {
    let cases = [
        ("a = :n OR b = :n", "Invalid operator used in KeyConditionExpression: OR"),
        ("a <> :n", "Invalid operator used in KeyConditionExpression: <>"),
        ("a = :n AND a = :m", "KeyConditionExpressions must only contain one condition per key"),
        ("a.b = :n", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (
            "a = b",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one \
             condition",
        ),
        ("size(a) = :n", "KeyConditionExpressions cannot contain nested operations"),
        (
            "a = b AND",
            "Invalid KeyConditionExpression: Syntax error; token: \"<EOF>\", near: \"AND\"",
        ),
        (":n < a", ""),
        ("(a = :s) AND (b BETWEEN :n AND :m)", ""),
    ];
    let parse = |substitutions: &mut Substitutions, text: &str| {
        let error = substitutions.key_condition(text).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    check(parse, &cases);
}

#[test]
fn updates() {
    let cases = [
        ("a = :n", "Syntax error; token: \"a\", near: \"a =\""),
        ("SET a", "Syntax error; token: \"<EOF>\", near: \"a\""),
        ("SET a = :n,", "Syntax error; token: \"<EOF>\", near: \",\""),
        (
            "SET a = :n SET b = :n",
            "The \"SET\" section can only be used once in an update expression;",
        ),
        ("SET a = size(b)", "Invalid function name; function: size"),
        (
            "SET a = list_append(b)",
            "Incorrect number of operands for operator or function; operator or function: \
             list_append, number of operands: 1",
        ),
        (
            "SET a = :n REMOVE a",
            "Two document paths overlap with each other; must remove or rewrite one of these \
             paths; path one: [a], path two: [a]",
        ),
        (
            "SET a.b = :n, a[1] = :n",
            "Two document paths conflict with each other; must remove or rewrite one of these \
             paths; path one: [a, b], path two: [a, [1]]",
        ),
        (
            "ADD a :s",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, \
             typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "SET a = b + :s",
            "Incorrect operand type for operator or function; operator or function: +, operand \
             type: S",
        ),
        ("SET _x = :n", "Syntax error; token: \"_\", near: \"SET _x\""),
        ("SET a = _f(b)", "Syntax error; token: \"_\", near: \"= _f\""),
        (
            "SET a = list_append(list_append(:l, :l), :l)",
            "The function is not allowed to be used this way in an expression; function: \
             list_append",
        ),
        ("SET a = if_not_exists(a, :n + :m)", "Syntax error; token: \"+\", near: \":n + :m\""),
        ("SET a = :n + :m + :n", "Syntax error; token: \"+\", near: \":m + :n\""),
        ("SET a = (b + :n) + :m", "Syntax error; token: \"+\", near: \") + :m\""),
        ("SET a = (b + :n), c = (d) - (:m)", ""),
        ("SET a = if_not_exists(b, if_not_exists(c, :n))", ""),
        ("set a = if_not_exists(b, :n) + :m remove #b add c :n", ""),
        ("SET a = list_append(if_not_exists(a, :l), :l)", ""),
    ];
    let parse = |substitutions: &mut Substitutions, text: &str| {
        let error = substitutions.update(text).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        error.trim_start_matches("Invalid UpdateExpression: ").to_owned()
    };
    check(parse, &cases);
}

/// 4,096 opening parentheses have crashed servers by overflowing the stack.
#[test]
fn length_depth_and_operators_are_limited() {
    let deep = |open: &str, count: usize| open.repeat(count);
    let many = vec!["a = :n"; 200].join(" AND ");
    let cases = [
        (deep("(", 4096), "The expression is nested too deeply; nesting limit: 150"),
        (deep("NOT ", 1000), "The expression is nested too deeply; nesting limit: 150"),
        (deep("size(", 800), "The expression is nested too deeply; nesting limit: 150"),
        (
            deep("(", 4097),
            "Expression size has exceeded the maximum allowed size; expression size: 4097",
        ),
        (many, "The expression contains too many operators; operator count: 301"),
        (
            format!("a{} = :n", ".b".repeat(40)),
            "The document path has too many nesting elements; nesting limit: 32",
        ),
        (
            "a[99999999999] = :n".to_owned(),
            "List index is not within the allowable range; index: [99999999999]",
        ),
    ];
    for (text, expected) in cases {
        let error = substitutions().condition("FilterExpression", &text).unwrap_err();
        assert_eq!(error.to_string(), format!("Invalid FilterExpression: {expected}"));
    }
}

#[test]
fn placeholders_must_be_well_formed_and_used() {
    let make = |names: &[(&str, &str)], values: &[&str]| {
        let names = names.iter().map(|(key, name)| ((*key).to_owned(), (*name).to_owned()));
        let values = values.iter().map(|key| ((*key).to_owned(), Value::Null));
        Substitutions::new(names.collect::<Vec<_>>(), values.collect::<Vec<_>>())
    };
    let error = |made: Result<Substitutions, _>| match made {
        Ok(substitutions) => substitutions.finish().unwrap_err().to_string(),
        Err(error) => keyloom_dynamodb::ExpressionError::to_string(&error),
    };
    let cases = [
        (
            make(&[("a", "a")], &[]),
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\"",
        ),
        (
            make(&[], &[":"]),
            "ExpressionAttributeValues contains invalid key: Syntax error; key: \":\"",
        ),
        (
            make(&[("#a", "a"), ("#b", "b")], &[]),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}",
        ),
        (
            make(&[], &[":v"]),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
        ),
    ];
    for (made, expected) in cases {
        assert_eq!(error(made), expected);
    }
}
