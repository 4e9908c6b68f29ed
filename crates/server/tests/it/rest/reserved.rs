//! Fields that are named like parameters of requests.

use serde_json::json;

use super::ask::Ask;
use super::served::Served;

const ORDERS: &str = r#"
[entity.order]
id = "given"
fields.total   = "number"
fields.limit   = "int"
fields.cursor  = "text"
fields.reverse = "bool"
fields.prefix  = "text"
fields.tag     = "text"
fields.labels  = "tags"

[entity.order.list.all]
path   = "/orders"
order  = "-total"
facets = ["limit", "reverse", "tag"]

[entity.order.list.by_cursor]
path  = "/cursors/{cursor}/orders"
by    = ["cursor", "prefix"]
order = "total"

[entity.order.count.limits]
path  = "/limits"
split = ["limit", "cursor"]
sum   = "total"

[entity.order.board.totals]
rank = "total"
by   = "limit"
"#;

fn served() -> Served {
    let served = Served::open(ORDERS);
    for number in 0..6 {
        let order = json!({
            "id": format!("o{number}"), "total": number, "limit": number % 2, "cursor": "c",
            "reverse": number > 2, "prefix": "p", "tag": "t", "labels": {"k": "v"},
        });
        served.ask(&Ask::post("/orders", &order)).expect_json(201);
    }
    served
}

#[test]
fn a_field_and_a_parameter_of_one_name_are_told_apart() {
    let served = served();
    let ids = |path: &str| -> Vec<String> {
        let page = served.ask(&Ask::get(path)).expect_json(200);
        let items = page["items"].as_array().expect("a page").clone();
        items.iter().map(|order| order["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids("/orders?$limit=2"), ["o5", "o4"]);
    assert_eq!(ids("/orders?limit=1"), ["o5", "o3", "o1"]);
    assert_eq!(ids("/orders?limit=1&$limit=1"), ["o5"]);
    assert_eq!(ids("/orders?limit=1&$reverse=true"), ["o1", "o3", "o5"]);
    assert_eq!(ids("/orders?reverse=true&limit=0"), ["o4"]);
    assert_eq!(ids("/orders?total=%3E=4"), ["o5", "o4"]);
    assert_eq!(ids("/orders?tag=t&labels=k:v&$limit=1"), ["o5"]);
    assert_eq!(ids("/cursors/c/orders?prefix=p&$limit=1"), ["o0"]);
    let first = served.ask(&Ask::get("/orders?limit=1&$limit=2&$total=true")).expect_json(200);
    assert_eq!(first["total"], 3);
    let next = first["next"].as_str().expect("a cursor");
    assert_eq!(ids(&format!("/orders?limit=1&$limit=2&$cursor={next}")), ["o1"]);
    let tags = served.ask(&Ask::get("/orders/lists/all/labels?$prefix=k")).expect_json(200);
    assert_eq!(tags["items"][0]["key"], "k");
}

#[test]
fn counts_and_boards_tell_them_apart_too() {
    let served = served();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    assert_eq!(get("/limits?limit=1")["count"], 3);
    assert_eq!(get("/limits?split=limit&$limit=1")["items"][0]["values"]["limit"], 0);
    let page = get("/boards/totals?limit=1&$limit=1");
    assert_eq!(page["items"][0]["of"], "o5");
    let next = page["next"].as_str().expect("a cursor");
    let page = get(&format!("/boards/totals?limit=1&$limit=1&$cursor={next}"));
    assert_eq!(page["items"][0]["of"], "o3");
}

#[test]
fn a_parameter_that_a_field_hides_is_never_ignored() {
    let served = served();
    for (path, expected) in [
        ("/orders?cursor=c", "Unknown parameter `cursor`"),
        ("/orders?total=true", "`total` is of the type number"),
        ("/orders?$limit=x", "`limit` must be a whole number"),
        ("/orders?$foo=1", "Unknown parameter `$foo`"),
        ("/orders?$tag=t&$limit=1&$limit=2", "`limit` is given twice"),
    ] {
        let problem = served.ask(&Ask::get(path)).expect_json(400);
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(expected), "{path}: {detail}");
    }
    let described = served.ask(&Ask::get("/openapi.json")).expect_json(200);
    let parameters = &described["paths"]["/orders"]["get"]["parameters"];
    let names: Vec<&str> = parameters
        .as_array()
        .expect("parameters")
        .iter()
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    for name in ["limit", "$limit", "$cursor", "reverse", "$reverse", "total", "$total"] {
        assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{name} in {names:?}");
    }
}

/// Other entities take both forms.
#[test]
fn the_sign_can_be_left_out_where_no_field_has_the_name() {
    let text = "[entity.task]\nid = \"given\"\nfields.size = \"int\"\n\
                list.all = { path = \"/tasks\", order = \"size\" }\n";
    let served = Served::open(text);
    for number in 0..3 {
        let task = json!({ "id": format!("t{number}"), "size": number });
        served.ask(&Ask::post("/tasks", &task)).expect_json(201);
    }
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    assert_eq!(get("/tasks?limit=2&reverse=true"), get("/tasks?$limit=2&$reverse=true"));
    let both = served.ask(&Ask::get("/tasks?limit=2&$limit=2")).expect_json(400);
    assert!(both["detail"].as_str().expect("a detail").contains("given twice"));
    let explained = get("/tasks?$explain=true&$limit=1");
    assert!(explained["explain"].is_object());
}
