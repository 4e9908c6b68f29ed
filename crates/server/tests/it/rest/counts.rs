//! Counts and leaderboards over HTTP: each query of a product page is one request, and invalid ones are
//! rejected with a reason.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

const PLAYERS: &str = r#"
[entity.player]
id = "given"
fields.country = "enum(de, fr)"
fields.score = "number"
fields.active = "bool = true"
count.all = { by = "country", split = "active" }
board.best = { rank = "score", by = "country" }
board.active = { of = "active" }
"#;

fn comments() -> Served {
    let served = Served::open(&app("comments"));
    let numbers = [("42", "en", 5, 3), ("42", "en", 1, 2), ("42", "fr", 5, 1), ("43", "en", 5, 5)];
    for (product, language, rating, times) in numbers {
        let comment =
            json!({"product": product, "language": language, "rating": rating, "body": ""});
        for _ in 0..times {
            served.ask(&Ask::post("/comments", &comment)).expect_json(201);
        }
    }
    served
}

fn ranked(rank: u64, of: &str, score: u64) -> Value {
    json!({"rank": rank, "of": of, "score": score})
}

#[test]
fn each_query_of_the_product_page_is_one_request() {
    let served = comments();
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let by_rating = |numbers: &[(u64, u64)]| {
        let item =
            |(rating, count): &(u64, u64)| json!({"values": {"rating": rating}, "count": count});
        json!({"items": numbers.iter().map(item).collect::<Vec<_>>()})
    };
    let count = "/products/42/comments/count";
    // AP7 to AP11.
    assert_eq!(get(&format!("{count}?split=rating")), by_rating(&[(1, 2), (5, 4)]));
    let english = get(&format!("{count}?split=rating&language=en"));
    assert_eq!(english, by_rating(&[(1, 2), (5, 3)]));
    assert_eq!(get(count), json!({"count": 6}));
    assert_eq!(get(&format!("{count}?language=en")), json!({"count": 5}));
    let leaders = get("/boards/leaders?limit=10");
    assert_eq!(leaders, json!({"items": [ranked(1, "43", 5), ranked(2, "42", 4)]}));
    for path in [count, "/boards/leaders", "/boards/leaders/42"] {
        let explained = get(&format!("{path}?explain=true"));
        assert!(explained["explain"]["rows"].as_u64() > Some(0), "{path}: {explained}");
    }
    // And more.
    assert_eq!(get(&format!("{count}?language=fr&rating=1")), json!({"count": 0}));
    assert_eq!(get("/products/44/comments/count"), json!({"count": 0}));
    assert_eq!(get("/boards/leaders/42"), ranked(2, "42", 4));
    let around = get("/boards/leaders?around=42&limit=1");
    assert_eq!(around, json!({"items": [ranked(1, "43", 5), ranked(2, "42", 4)]}));
}

#[test]
fn counts_and_leaderboards_are_paged() {
    let served = comments();
    for path in ["/products/42/comments/count?split=language,rating", "/boards/leaders"] {
        let whole = served.ask(&Ask::get(path)).expect_json(200);
        let (mut all, mut next) = (vec![], String::new());
        loop {
            let sign = if path.contains('?') { '&' } else { '?' };
            let page = served.ask(&Ask::get(&format!("{path}{sign}limit=1{next}")));
            let page = page.expect_json(200);
            all.extend(page["items"].as_array().unwrap().clone());
            match page["next"].as_str() {
                None => break,
                Some(cursor) => next = format!("&cursor={cursor}"),
            }
        }
        assert_eq!(json!({"items": all}), whole);
        assert!(all.len() > 1);
    }
}

#[test]
fn values_keep_their_json_types() {
    let served = Served::open(PLAYERS);
    for (id, country, score) in [("a", "de", 1.5), ("b", "de", 10.0), ("c", "fr", 10.0)] {
        let player = json!({"id": id, "country": country, "score": score, "active": id != "a"});
        served.ask(&Ask::post("/players", &player)).expect_json(201);
    }
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let best = json!({"items": [ranked(1, "b", 10), {"rank": 2, "of": "a", "score": 1.5}]});
    assert_eq!(get("/boards/best?country=de"), best);
    assert_eq!(get("/boards/active/true"), json!({"rank": 1, "of": true, "score": 2}));
    let split = get("/players/counts/all?country=de&split=active");
    let items = json!([{"values": {"active": false}, "count": 1},
        {"values": {"active": true}, "count": 1}]);
    assert_eq!(split, json!({"items": items}));
}

const WINDOWS: &str = r#"
[entity.sale]
id = "given"
fields.shop = "text"
fields.channel = "enum(web, phone)? = web"
fields.price = "number"
fields.paid = "time"

[entity.sale.count.revenue]
path   = "/shops/{shop}/revenue"
by     = "shop"
split  = "channel"
window = "day"
of     = "paid"
zone   = "Europe/Berlin"
sum    = ["price", "paid"]
min    = ["price", "paid"]
max    = "price"
"#;

#[test]
fn a_count_returns_windows_with_extremes() {
    let served = Served::open(WINDOWS);
    let sales = [
        ("a", "web", 1.5, "2026-10-24T21:59:59Z"),
        ("b", "web", 2.5, "2026-10-24T22:00:00Z"),
        ("c", "phone", 4.0, "2026-10-25T22:59:59.999Z"),
    ];
    for (id, channel, price, paid) in sales {
        let sale = json!({
            "id": id, "shop": "7", "channel": channel, "price": price, "paid": paid,
        });
        served.ask(&Ask::post("/sales", &sale)).expect_json(201);
    }
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let whole = json!({
        "count": 3,
        "sum": {"price": 8},
        "average": {"price": 2.666666666666667, "paid": "2026-10-25T06:19:59.666Z"},
        "min": {"price": 1.5, "paid": "2026-10-24T21:59:59Z"},
        "max": {"price": 4},
    });
    assert_eq!(get("/shops/7/revenue"), whole);
    let days = get("/shops/7/revenue?window=2026-10-24..2026-10-27&fill=true");
    let windows: Vec<(&Value, &Value)> = days["items"]
        .as_array()
        .expect("a page")
        .iter()
        .map(|day| (&day["window"], &day["count"]))
        .collect();
    let expected = [
        (&json!("2026-10-24T00:00:00+02:00"), &json!(1)),
        (&json!("2026-10-25T00:00:00+02:00"), &json!(2)),
        (&json!("2026-10-26T00:00:00+01:00"), &json!(0)),
    ];
    assert_eq!(windows, expected);
    let item = json!({
        "window": "2026-10-25T00:00:00+02:00",
        "values": {"channel": "phone"},
        "count": 1,
        "sum": {"price": 4},
        "average": {"price": 4, "paid": "2026-10-25T22:59:59.999Z"},
        "min": {"price": 4, "paid": "2026-10-25T22:59:59.999Z"},
        "max": {"price": 4},
    });
    assert_eq!(get("/shops/7/revenue?window=2026-10-25..&split=channel")["items"][0], item);
    let none = json!({"count": 0, "sum": {"price": 0}, "average": {}, "min": {}, "max": {}});
    assert_eq!(get("/shops/8/revenue"), none);
    let wrong = [
        ("window=yesterday", "`yesterday` is not a range of windows"),
        ("window=2026-10-25", "`2026-10-25` is not a range of windows"),
        ("window=2026-02-30..", "`2026-02-30..` is not a range of windows"),
        ("window=2026-10-25..&fill=true", "Windows can only be filled between two times."),
        ("fill=true", "`fill` needs `window`."),
        ("window=..&fill=maybe", "`fill`"),
    ];
    for (query, expected) in wrong {
        let problem = served.ask(&Ask::get(&format!("/shops/7/revenue?{query}"))).expect_json(400);
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(expected), "{query}: {detail}");
    }
}

const SALES: &str = r#"
[entity.sale]
id = "given"
fields.shop = "text"
fields.channel = "enum(web, phone)"
fields.price = "number"
fields.weight = "int?"
count.revenue = { by = "shop", split = "channel", sum = ["price", "weight"], path = "/shops/{shop}/revenue" }
"#;

#[test]
fn a_count_returns_exact_sums_and_averages() {
    let served = Served::open(SALES);
    let sale = |id: &str, channel: &str, price: &str, weight: Option<i64>| {
        let weight = weight.map_or("null".to_owned(), |weight| weight.to_string());
        let sale = format!(
            r#"{{"id":"{id}","shop":"7","channel":"{channel}","price":{price},"weight":{weight}}}"#
        );
        served.ask(&Ask::post("/sales", &sale.parse::<Value>().expect("JSON")))
    };
    sale("a", "web", "0.1", Some(3)).expect_json(201);
    sale("b", "web", "0.2", None).expect_json(201);
    sale("c", "phone", "19.99", Some(4)).expect_json(201);
    let get = |path: &str| served.ask(&Ask::get(path)).expect_json(200);
    let whole = json!({
        "count": 3,
        "sum": {"price": 20.29, "weight": 7},
        "average": {"price": 6.763333333333333, "weight": 3.5},
    });
    assert_eq!(get("/shops/7/revenue"), whole);
    let none = json!({"count": 0, "sum": {"price": 0, "weight": 0}, "average": {}});
    assert_eq!(get("/shops/8/revenue"), none);
    let web = json!({
        "values": {"channel": "web"},
        "count": 2,
        "sum": {"price": 0.3, "weight": 3},
        "average": {"price": 0.15, "weight": 3},
    });
    assert_eq!(get("/shops/7/revenue?split=channel")["items"][1], web);
    assert_eq!(get("/shops/7/revenue?channel=web")["sum"], web["sum"]);
    sale("d", "web", "1e-15", None).expect_json(201);
    let problem = sale("e", "web", "1e30", None).expect_json(422);
    assert_eq!(problem["code"], "too-large");
}

#[test]
fn invalid_requests_are_rejected_with_a_reason() {
    let served = comments();
    let cases = [
        ("/products/42/comments/count?rating=x", 400),
        ("/products/42/comments/count?body=x", 400),
        ("/products/42/comments/count?split=body", 400),
        ("/products/42/comments/count?split=rating&rating=5", 400),
        ("/products/42/comments/count?split=rating&limit=0", 400),
        ("/products/42/comments/count?split=rating&cursor=x", 400),
        ("/boards/leaders?limit=1001", 400),
        ("/boards/leaders?cursor=x", 400),
        ("/boards/leaders?around=42&cursor=x", 400),
        ("/boards/leaders?language=en", 400),
        ("/boards/leaders?around=44", 404),
        ("/boards/leaders/44", 404),
        ("/boards/losers", 404),
    ];
    for (path, status) in cases {
        served.ask(&Ask::get(path)).expect_json(status);
    }
}

#[test]
fn explaining_a_change_reports_its_writes_and_writes_nothing() {
    let served = comments();
    let comment = json!({"product": "42", "language": "en", "rating": 5, "body": ""});
    let body = json!({"changes": [{"create": "comment", "document": comment}]});
    let told = served.ask(&Ask::post("/transaction?explain=true", &body)).expect_json(200);
    let explain = &told["explain"];
    let rows = explain["rows"].as_array().unwrap();
    let of = |what: &str| rows.iter().filter(|row| row["what"] == what).count();
    // The own row; the numbers of the count in all, by language, by rating, by both; those of the
    // board.
    assert_eq!(of("entity"), 1);
    assert!(of("number") > 4, "{explain}");
    let own = rows.iter().find(|row| row["what"] == "entity").unwrap();
    assert_eq!((&own["action"], &own["index_rows"]), (&json!("put"), &json!(3)));
    assert_eq!(own["write_units"], json!(2 * (1 + 3)));
    assert!(explain["sets"].as_u64() > Some(0));
    assert!(explain["dynamodb"]["write_units"].as_u64() > Some(10));
    let count = served.ask(&Ask::get("/products/42/comments/count")).expect_json(200);
    assert_eq!(count, json!({"count": 6}));
    let wrong = json!({"changes": [{"create": "comment", "document": {}}]});
    assert_eq!(served.ask(&Ask::post("/transaction?explain=true", &wrong)).status, 422);
    let gone = json!({"changes": [{"delete": "comment", "id": "none"}]});
    assert_eq!(served.ask(&Ask::post("/transaction?explain=true", &gone)).status, 404);
}
