//! Limits hold before anything is built, and errors have exact positions.

use keyloom_json::{JsonFault, Limits};

use crate::tree::{LIMITS, rewritten};

fn check(text: &str, expected: &str) {
    let outcome = rewritten(text, LIMITS).unwrap_or_else(|error| error.to_string());
    assert_eq!(outcome, expected, "{text}");
}

#[test]
fn texts_round_trip() {
    check(" {\t\"b\" : [ ] ,\r\n\"a\" : { } } ", r#"{"b":[],"a":{}}"#);
    check(
        r#"[true,false,null,"x",-0.5e+10,{"a":1,"a":2}]"#,
        r#"[true,false,null,"x",-0.5e+10,{"a":1,"a":2}]"#,
    );
    check(
        r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000""#,
        "\"\\\"\\\\/\\u0008\\u000c\\n\\r\\té😀\\u0000\"",
    );
    check("12345678901234567890123456789012345678", "12345678901234567890123456789012345678");
}

#[test]
fn errors_have_their_position() {
    check("", "byte 0: expected a value, found the end of the text");
    check("[1,]", "byte 3: expected a value, found `]`");
    check("[,1]", "byte 1: expected a value, found `,`");
    check("[1 2]", "byte 3: expected `,` or `]`, found `2`");
    check("{\"a\":1,}", "byte 7: expected a name in quotes, found `}`");
    check("{\"é\" 1}", "byte 6: expected `:`, found `1`");
    check("[]]", "byte 2: expected nothing after the document, found `]`");
    check("[}", "byte 1: expected a value, found `}`");
    check("01", "byte 1: expected nothing after the document, found `1`");
    check(
        "\"\\ud800x\"",
        "byte 1: unpaired surrogate; escape both halves, or write the character itself",
    );
    check(
        "\"a\u{1}\"",
        "byte 2: a string contains a control character; escape it as `\\n` or `\\u0000`",
    );
}

#[test]
fn values_and_depth_are_counted() {
    let limits = Limits { depth: 3, values: 5 };
    for fine in ["[1,2,3,4]", "[[[1]],2]", r#"{"a":{"b":[1,2]}}"#, "[[],[],[],{}]"] {
        assert_eq!(rewritten(fine, limits).as_deref(), Ok(fine));
    }
    for many in ["[1,2,3,4,5]", "[[],[],[],[],[]]", r#"{"a":0,"b":0,"c":0,"d":0,"e":0}"#] {
        let error = rewritten(many, limits).expect_err("too many");
        assert_eq!(error.fault, JsonFault::TooManyValues { values_max: 5 }, "{many}");
    }
    let error = rewritten("[[[[", limits).expect_err("too deep");
    assert_eq!((error.offset, error.fault), (3, JsonFault::TooDeep { depth_max: 3 }));
}

#[test]
fn deep_nesting_is_rejected_before_it_overflows_the_stack() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let error = rewritten(&open.repeat(100_000), LIMITS).expect_err("too deep");
        assert_eq!(error.fault, JsonFault::TooDeep { depth_max: 100 });
    }
}
