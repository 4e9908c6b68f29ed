//! JSON is read and written exactly, and errors have a position.

use keyloom::{item_to_json, json_to_item};
use keyloom_value::{Item, Value};

/// The text after reading and writing it, or the error.
fn check(json: &str, expected: &str) {
    let outcome = match json_to_item(json.as_bytes()) {
        Ok(item) => item_to_json(&item),
        Err(error) => error.to_string(),
    };
    assert_eq!(outcome, expected, "{json}");
}

#[test]
fn json_round_trips() {
    let digits = "12345678901234567890123456789012345678";
    let cases = [
        ("{}", "{}"),
        (" {\t\"b\" : [ ] ,\r\n\"a\" : { } } ", r#"{"a":{},"b":[]}"#),
        (r#"{"a":[true,false,null,"x",-1]}"#, r#"{"a":[true,false,null,"x",-1]}"#),
        (
            r#"{"a":1.0,"b":-0,"c":1e3,"d":1E-3,"e":0.5e+1}"#,
            r#"{"a":1,"b":0,"c":1000,"d":0.001,"e":5}"#,
        ),
        (
            r#"{"":"","é\u0000":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}"#,
            "{\"\":\"\",\"é\\u0000\":\"\\\"\\\\/\\u0008\\u000c\\n\\r\\té😀\"}",
        ),
    ];
    for (json, expected) in cases {
        check(json, expected);
    }
    for number in
        [digits.to_owned(), format!("-0.{digits}"), format!("{}{}", &digits, "0".repeat(88))]
    {
        let json = format!("{{\"a\":{number}}}");
        check(&json, &json);
    }
    check(
        "{\"a\":9.9e125,\"b\":1e-130}",
        &format!("{{\"a\":99{},\"b\":0.{}1}}", "0".repeat(124), "0".repeat(129)),
    );
}

#[test]
fn values_without_a_json_type_are_written_as_the_closest_one() {
    let item = Item::from([
        ("b", Value::B(vec![0xFF, 0xEF])),
        ("bs", Value::Bs([vec![1]].into())),
        ("ns", Value::Ns([2.into(), 1.into()].into())),
        ("ss", Value::Ss(["x".to_owned()].into())),
    ]);
    assert_eq!(item_to_json(&item), r#"{"b":"/+8=","bs":["AQ=="],"ns":[1,2],"ss":["x"]}"#);
}

#[test]
fn invalid_json_is_rejected_with_its_position() {
    let cases = [
        ("", "line 1, column 1: expected an object, found the end of the text"),
        ("{\n  \"é\": x}", "line 2, column 8: `é`: expected a value, found `x`"),
        ("{\"a\"", "line 1, column 5: `a`: expected `:`, found the end of the text"),
        ("{\"a\": 1 \"b\": 2}", "line 1, column 9: expected `,` or `}`, found `\\\"`"),
        ("{\"a\": 1,}", "line 1, column 9: expected a name in quotes, found `}`"),
        ("{\"a\": [1,]}", "line 1, column 10: `a[1]`: expected a value, found `]`"),
        (
            "{\"a\": {\"b\": [0, {\"c\": 01}]}}",
            "line 1, column 24: `a.b[1]`: expected `,` or `}`, found `1`",
        ),
        ("{\"a\": 1.}", "line 1, column 9: `a`: expected a digit, found `}`"),
        ("{\"a\": -}", "line 1, column 8: `a`: expected a digit, found `}`"),
        ("{\"a\": +1}", "line 1, column 7: `a`: expected a value, found `+`"),
        ("{\"a\": NaN}", "line 1, column 7: `a`: expected a value, found `N`"),
        ("{\"a\": nul}", "line 1, column 7: `a`: expected `null`, found `n`"),
        (
            "{\"a\": \"x",
            "line 1, column 9: `a`: expected `\"` at the end of a text, found the end of the text",
        ),
        (
            "{\"a\": \"\n\"}",
            "line 1, column 8: `a`: a string contains a control character; escape it as `\\n` or `\\u0000`",
        ),
        ("{\"a\": \"\\x\"}", "line 1, column 9: `a`: expected an escape such as `\\n`, found `x`"),
        (
            "{\"a\": \"\\u12g4\"}",
            "line 1, column 12: `a`: expected four hexadecimal digits, found `g`",
        ),
        (
            "{\"a\": \"\\ud800\"}",
            "line 1, column 8: `a`: unpaired surrogate; escape both halves, or write the character itself",
        ),
        (
            "{\"a\": \"\\ud800\\u0041\"}",
            "line 1, column 8: `a`: unpaired surrogate; escape both halves, or write the character itself",
        ),
        (
            "{\"a\": \"\\udc00\"}",
            "line 1, column 8: `a`: unpaired surrogate; escape both halves, or write the character itself",
        ),
        ("{} {}", "line 1, column 4: expected nothing after the document, found `{`"),
        ("[]", "line 1, column 1: expected an object"),
        ("\u{FEFF}{}", "line 1, column 1: expected an object, found `\\u{feff}`"),
        (
            "{\"a\": {\"b\": 1, \"c\": 2, \"\\u0062\": 1}}",
            "line 1, column 7: `a`: duplicate name `b`; remove one of them",
        ),
        (
            "{\"a\": {\"x\": 1e126}}",
            "line 1, column 13: `a.x`: the number is too large; its magnitude must be less than 1E+126",
        ),
        (
            "{\"a\": 1e-131}",
            "line 1, column 7: `a`: the number is too close to zero; its magnitude must be 0 or at least 1E-130",
        ),
        (
            "{\"a\": 123456789012345678901234567890123456789}",
            "line 1, column 7: `a`: the number has more than 38 significant digits; round it to 38 or fewer",
        ),
    ];
    for (json, expected) in cases {
        check(json, expected);
    }
    let error = json_to_item(b"{\"a\":\n\"\xFF\"}").expect_err("it is not UTF-8");
    assert_eq!(error.to_string(), "line 2, column 2: invalid UTF-8; encode JSON as UTF-8");
    assert_eq!(error.line_and_column(), Some((2, 2)));
    assert_eq!(error.path(), None);
}

#[test]
fn nesting_is_limited_to_32_levels() {
    let nested =
        |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    check(&nested(32), &nested(32));
    let error = json_to_item(nested(33).as_bytes()).expect_err("too deep").to_string();
    assert!(error.ends_with("this is nested more than 32 deep; make it flatter"), "{error}");
}
