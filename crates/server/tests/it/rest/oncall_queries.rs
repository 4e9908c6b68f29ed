//! The nine queries that the on-call service was designed for: each is one request, and costs one read of
//! the store, or two if a list leads to entities.

use pollster::block_on;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

const BEFORE: &str = "created=%3C2026-01-03T00:00:00Z";
const AFTER: &str = "created=%3E2026-01-03T00:00:00Z";

/// A domain with two contacts; one of them has two methods, and four searches.
struct Domain {
    served: Served,
    contact: String,
    search: String,
}

impl Domain {
    fn new() -> Domain {
        let served = Served::open(&app("oncall"));
        let make = |path: &str, document: &Value| {
            let made = served.ask(&Ask::post(path, document).tenant("acme")).expect_json(201);
            made["id"].as_str().unwrap().to_owned()
        };
        make("/contacts", &json!({"name": "Linus"}));
        let contact = make("/contacts", &json!({"name": "Ada"}));
        for (kind, destination, position) in [("call", "+15550100", 2), ("email", "a@b.example", 1)]
        {
            let method = json!({"contact": contact, "kind": kind, "destination": destination,
                "position": position});
            make("/methods", &method);
        }
        let mut searches = vec![];
        // Not in order of time, so that lists must sort them.
        for (day, status) in [(4, "active"), (2, "failed"), (1, "active"), (5, "failed")] {
            let created = format!("2026-01-0{day}T00:00:00Z");
            let search = make("/searches", &json!({"contact": contact, "created": created}));
            let db = served.db.tenant("acme");
            block_on(db.update("search", &search, &json!({"status": status}))).unwrap();
            searches.push(search);
        }
        let search = searches.swap_remove(0);
        for (id, kind) in [("a1", "email"), ("a2", "call")] {
            let attempt = json!({"id": id, "search": search, "stage": 0, "contact": contact,
                "name": "Ada", "method": "m", "kind": kind, "destination": "x", "position": 1});
            make("/attempts", &attempt);
        }
        Domain { served, contact, search }
    }

    /// The response, and its number of reads.
    fn get(&self, path: &str) -> (Value, Vec<String>) {
        let sign = if path.contains('?') { '&' } else { '?' };
        let ask = Ask::get(&format!("{path}{sign}explain=true")).tenant("acme");
        let mut answer = self.served.ask(&ask).expect_json(200);
        let explain = answer.as_object_mut().unwrap().remove("explain").unwrap();
        let requests = explain["requests"].as_array().unwrap().iter();
        let calls = requests.map(|read| read["call"].as_str().unwrap().to_owned());
        (answer, calls.collect())
    }
}

fn texts(items: &Value, field: &str) -> Vec<String> {
    let text = |item: &Value| item[field].as_str().unwrap().to_owned();
    items["items"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn every_possible_query_is_one_request_and_at_most_two_reads() {
    let domain = Domain::new();
    let (contact, search) = (&domain.contact, &domain.search);
    // By id: one row.
    let (found, reads) = domain.get(&format!("/searches/{search}"));
    assert_eq!((&found["created"], reads), (&json!("2026-01-04T00:00:00Z"), vec!["get".into()]));
    let (found, reads) = domain.get(&format!("/contacts/{contact}"));
    assert_eq!((&found["name"], reads), (&json!("Ada"), vec!["get".into()]));
    // With their children: one query.
    let (found, reads) = domain.get(&format!("/searches/{search}?with=attempts"));
    assert_eq!(texts(&found["with"]["attempts"], "kind"), ["email", "call"]);
    assert_eq!((&found["id"], reads), (&json!(search), vec!["query".into()]));
    let (found, reads) = domain.get(&format!("/contacts/{contact}?with=methods"));
    assert_eq!(texts(&found["with"]["methods"], "kind").len(), 2);
    assert_eq!((&found["name"], reads), (&json!("Ada"), vec!["query".into()]));
    // Lists: one query of an index, and one batch of what it leads to.
    let list = |path: &str, field: &str| {
        let (found, reads) = domain.get(path);
        assert_eq!(reads, ["query", "batch get"], "{path}");
        texts(&found, field)
    };
    assert_eq!(list("/contacts", "name"), ["Ada", "Linus"]);
    assert_eq!(list(&format!("/contacts/{contact}/methods"), "kind"), ["email", "call"]);
    for (query, expected) in [
        (String::new(), &["01", "02", "04", "05"][..]),
        (format!("?{BEFORE}"), &["01", "02"]),
        (format!("?{AFTER}"), &["04", "05"]),
        ("?status=active".to_owned(), &["01", "04"]),
        (format!("?status=active&{BEFORE}"), &["01"]),
        (format!("?status=active&{AFTER}"), &["04"]),
        ("?status=failed&reverse=true".to_owned(), &["05", "02"]),
    ] {
        let created = list(&format!("/contacts/{contact}/searches{query}"), "created");
        let days: Vec<&str> = created.iter().map(|created| &created[8..10]).collect();
        assert_eq!(days, expected, "{query}");
    }
}

#[test]
fn an_id_of_another_entity_or_domain_is_not_found() {
    let domain = Domain::new();
    let (contact, search) = (&domain.contact, &domain.search);
    for (path, tenant) in [
        (format!("/searches/{contact}"), "acme"),
        (format!("/contacts/{search}"), "acme"),
        (format!("/searches/{contact}?with=attempts"), "acme"),
        (format!("/contacts/{contact}"), "globex"),
        (format!("/searches/{search}?with=attempts"), "globex"),
    ] {
        let answer = domain.served.ask(&Ask::get(&path).tenant(tenant));
        assert_eq!(answer.outcome(), "404 not-found", "{tenant}: {path}");
    }
}
