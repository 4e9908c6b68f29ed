//! Limits, pages and the tokens between them.

use super::stage::{put, run_with, service};
use crate::service::Service;

/// Reads all pages; returns the sort keys of each.
fn pages(service: &Service, statement: &str, limit: usize) -> Vec<String> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let more = format!(r#","Limit":{limit}{token}"#);
        let found = run_with(service, statement, &more);
        assert!(!found.starts_with('!'), "{statement}: {found}");
        let page: serde_json::Value =
            serde_json::from_str(&format!(r#"{{"Items":{found}}}"#)).unwrap();
        let items = page["Items"].as_array().unwrap().iter();
        let keys = items.map(|item| item["sk"]["S"].as_str().unwrap().to_owned());
        pages.push(keys.collect::<Vec<_>>().join(" "));
        match page["NextToken"].as_str() {
            Some(next) => token = format!(r#","NextToken":"{next}""#),
            None => return pages,
        }
        assert!(pages.len() < 50, "{statement} does not end");
    }
}

fn filled() -> Service {
    let service = service();
    for pk in ["o", "p"] {
        for sk in 1..=3 {
            let members =
                format!(r#""pk":{{"S":"{pk}"}},"sk":{{"S":"{pk}{sk}"}},"n":{{"N":"{sk}"}}"#);
            put(&service, "ttt", &members);
        }
    }
    service
}

#[test]
fn tokens_continue_queries_scans_and_branches() {
    let service = filled();
    let cases: &[(&str, usize, &[&str])] = &[
        ("pk='o'", 2, &["o1 o2", "o3"]),
        ("pk='o' ORDER BY sk DESC", 2, &["o3 o2", "o1"]),
        ("pk IN ['o','p'] ORDER BY pk DESC", 2, &["p3 p2", "p1 o3", "o2 o1", ""]),
        ("pk IN ['o','p']", 4, &["o1 o2 o3 p1", "p2 p3"]),
        ("pk='o' AND sk IN ['o1','o2','o3']", 1, &["o1", "o2", "o3"]),
        ("pk='o' AND sk='o1'", 1, &["o1"]),
        ("n = 3", 4, &["o3", "p3"]),
        ("pk='o' AND n = 3", 1, &["", "", "o3", ""]),
    ];
    for (filter, limit, expected) in cases {
        let statement = format!("SELECT sk FROM ttt WHERE {filter}");
        assert_eq!(pages(&service, &statement, *limit), *expected, "{filter}");
    }
}

#[test]
fn a_token_belongs_to_its_statement() {
    let service = filled();
    let first = run_with(&service, "SELECT sk FROM ttt WHERE pk='o'", r#","Limit":1"#);
    assert!(first.contains(r#""LastEvaluatedKey":{"pk":{"S":"o"},"sk":{"S":"o1"}}"#), "{first}");
    let token = first.split(r#""NextToken":""#).nth(1).unwrap().split('"').next().unwrap();
    let more = format!(r#","NextToken":"{token}""#);
    let foreign = "!ValidationException: The provided starting key is invalid";
    let other = run_with(&service, "SELECT sk FROM ttt WHERE pk='p'", &more);
    assert_eq!(other, foreign);
    let values = format!(r#"{more},"Parameters":[{{"S":"unused"}}]"#);
    let other = run_with(&service, "SELECT sk FROM ttt WHERE pk='o'", &values);
    assert_eq!(other, foreign);
    for wrong in ["x", "", "eyJvZiI6MX0", "e30", "_w", &token[1..]] {
        let more = format!(r#","NextToken":"{wrong}""#);
        let found = run_with(&service, "SELECT sk FROM ttt WHERE pk='o'", &more);
        assert!(found.starts_with("!ValidationException: "), "{wrong}: {found}");
    }
}

#[test]
fn pages_end_at_a_megabyte() {
    let service = service();
    for pk in 0..3 {
        for sk in 0..20 {
            let pad = "x".repeat(60_000);
            put(
                &service,
                "ttt",
                &format!(r#""pk":{{"S":"{pk}"}},"sk":{{"S":"{sk:02}"}},"pad":{{"S":"{pad}"}}"#),
            );
        }
    }
    for filter in ["pk IN ['0','1','2']", "size(\"pad\") > 1", "pk='0' OR pk='1' OR pk='2'"] {
        let found = pages(&service, &format!("SELECT sk FROM ttt WHERE {filter}"), 1000);
        let count: usize = found.iter().map(|page| page.split_whitespace().count()).sum();
        assert_eq!(count, 60, "{filter}: {found:?}");
        assert!(found.len() >= 4, "{filter}: {} pages", found.len());
    }
}
