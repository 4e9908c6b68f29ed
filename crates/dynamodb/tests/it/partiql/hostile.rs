//! Every statement gets an answer, whatever it contains.

use proptest::prelude::*;
use proptest::sample::select;

use super::stage::{put, run, run_all, run_with, service};

/// Valid statements, to be mutated.
const SEEDS: &[&str] = &[
    "SELECT a, m.k[0] FROM \"ttt\" WHERE pk = 'p' AND sk BETWEEN '1' AND ? ORDER BY sk DESC;",
    "SELECT * FROM ttt WHERE pk IN ['p', ?] AND (NOT contains(a, 'x') OR size(b) > -1.5e3)",
    "SELECT * FROM ttt WHERE m IS NOT MISSING AND b IS STRING AND attribute_exists(c) = true",
    "INSERT INTO ttt VALUE {'pk':'q','sk':?,'l':[1,[2,{'x':<<'a','b'>>}]],'n':<<1,2>>,'z':null}",
    "UPDATE ttt SET a = a + 1, l = list_append(l, [1]) SET s = set_add(s, <<'x'>>) REMOVE m.x \
     WHERE pk = 'p' AND sk = ? AND a <> 7 RETURNING MODIFIED NEW *",
    "DELETE FROM ttt WHERE pk = 'p' AND sk = ? AND b = \"c\"\"d\" RETURNING ALL OLD * -- note",
    "EXISTS(SELECT * FROM ttt WHERE pk = 'p' AND sk = '1' AND a IS MISSING)",
    "FROM ttt WHERE pk = 'p' AND sk = '1' SET c = 'it''s' /* note */",
];

fn mutated() -> impl Strategy<Value = String> {
    let pieces = [
        "'",
        "\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<<",
        ">>",
        ",",
        ".",
        "?",
        "-",
        "--",
        "/*",
        "*/",
        "=",
        "<>",
        "!=",
        " NOT ",
        " AND ",
        " OR ",
        " IN ",
        " IS ",
        " BETWEEN ",
        " WHERE ",
        " SET ",
        "1e9",
        "1e99999999999",
        "NULL",
        "é",
        "\u{0}",
        "\n",
        "pk",
        " sk = '1' ",
        "RETURNING ALL OLD *",
    ];
    let edit = (any::<usize>(), 0_usize..12, select(pieces.to_vec()));
    (select(SEEDS.to_vec()), proptest::collection::vec(edit, 1..6)).prop_map(|(seed, edits)| {
        let mut text: Vec<char> = seed.chars().collect();
        for (at, cut, piece) in edits {
            let at = at % (text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

fn is_answer(found: &str) -> bool {
    !found.starts_with('!') || !found.starts_with("!InternalServerError")
}

proptest! {
    #[test]
    fn mutated_statements_are_answered(statement in mutated()) {
        let service = service();
        put(&service, "ttt", r#""pk":{"S":"p"},"sk":{"S":"1"},"a":{"N":"1"},"b":{"S":"x"},"l":{"L":[]}"#);
        let more = r#","Parameters":[{"S":"1"},{"S":"2"},{"N":"3"}],"Limit":2,"ReturnConsumedCapacity":"INDEXES""#;
        prop_assert!(is_answer(&run_with(&service, &statement, more)));
        for operation in ["BatchExecuteStatement", "ExecuteTransaction"] {
            prop_assert!(is_answer(&run_all(&service, operation, &[&statement, SEEDS[5]])));
        }
    }

    #[test]
    fn any_text_is_answered(statement in "\\PC{0,60}") {
        prop_assert!(is_answer(&run(&service(), &statement)));
    }
}

#[test]
fn deep_and_long_statements_are_answered() {
    let service = service();
    let opened = [
        "(",
        "[",
        "{'a':",
        "<<",
        "NOT ",
        "-",
        "a = ",
        "a + ",
        "a AND ",
        "a OR ",
        "size(",
        "a.",
        "a[0]",
        "a IN [",
        "(a = ",
        "attribute_exists(a) = (",
        "a BETWEEN ",
        "'",
        "\"",
    ];
    for piece in opened {
        for (start, end) in [
            ("SELECT * FROM ttt WHERE ", ""),
            ("SELECT * FROM ttt WHERE pk = ", ""),
            ("INSERT INTO ttt VALUE ", ""),
            ("INSERT INTO ttt VALUE {'pk':'d','sk':'1','x':", "}"),
            ("UPDATE ttt SET a = ", " WHERE pk='p' AND sk='1'"),
            ("SELECT ", " FROM ttt"),
        ] {
            let count = (8192 - start.len() - end.len()) / piece.len();
            let text = format!("{start}{}{end}", piece.repeat(count));
            assert!(is_answer(&run(&service, &text)), "{piece}");
            let closed = format!("{start}{}a{}{end}", piece.repeat(70), ")".repeat(70));
            assert!(is_answer(&run(&service, &closed)), "{piece}");
        }
    }
    // Nesting up to the limit is accepted.
    let nested = format!("SELECT * FROM ttt WHERE {}a=1{}", "(".repeat(150), ")".repeat(150));
    assert_eq!(run(&service, &nested), "[]");
    let deeper = format!("SELECT * FROM ttt WHERE {}a=1{}", "(".repeat(151), ")".repeat(151));
    assert!(run(&service, &deeper).contains("nested deeper than 150 levels"));
    let negated = format!("SELECT * FROM ttt WHERE {}a=1", "NOT ".repeat(150));
    assert_eq!(run(&service, &negated), "[]");
}

#[test]
fn conditions_do_not_multiply() {
    let service = service();
    let mut condition = "attribute_exists(a)".to_owned();
    for _ in 0..40 {
        condition = format!("({condition} = attribute_exists(b))");
    }
    let found = run(&service, &format!("SELECT * FROM ttt WHERE {condition}"));
    assert!(found.contains("too many operators"), "{found}");
    let alternatives = vec!["(sk='1' OR sk='2')"; 60].join(" AND ");
    let found = run(&service, &format!("SELECT * FROM ttt WHERE pk='p' AND {alternatives}"));
    assert!(found.starts_with("!ValidationException: Too many decomposed"), "{found}");
}
