//! Tags and facets over HTTP: typical requests of the apps, the grammar, and what is rejected.

use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

fn page(served: &Served, path: &str) -> Value {
    served.ask(&Ask::get(path)).expect_json(200)
}

fn texts(page: &Value, field: &str) -> Vec<String> {
    let text = |item: &Value| item[field].as_str().unwrap().to_owned();
    page["items"].as_array().unwrap().iter().map(text).collect()
}

fn task(name: &str, tags: &Value) -> Value {
    json!({ "name": name, "description": "Walk through the sample", "tags": tags })
}

/// Creates tasks with these names and tags, in this order.
fn tasks(tasks: &[(&str, Value)]) -> Served {
    let served = Served::open(&app("tasks"));
    for (name, tags) in tasks {
        served.ask(&Ask::post("/tasks", &task(name, tags))).expect_json(201);
    }
    served
}

#[test]
fn tasks_can_be_tagged_and_filtered() {
    let served = Served::open(&app("tasks"));
    let tags = json!({"project": "self improvement", "priority": "high", "severity": "low"});
    let made = served.ask(&Ask::post("/tasks", &task("Read sample", &tags))).expect_json(201);
    assert_eq!(made["tags"], tags);
    assert_eq!(made["done"], json!(false));
    for (name, priority) in [("b", "high"), ("c", "low"), ("d", "high")] {
        let tags = json!({ "priority": priority, "severity": "low" });
        served.ask(&Ask::post("/tasks", &task(name, &tags))).expect_json(201);
    }
    let found = page(&served, "/tasks?tag=priority:high&tag=severity:low");
    assert_eq!(texts(&found, "name"), ["Read sample", "b", "d"], "in order of creation");
    assert_eq!(found["items"][0], made);
    assert_eq!(found.as_object().unwrap().len(), 1, "nothing but items: {found}");
    let all = page(&served, "/tasks");
    assert_eq!(texts(&all, "name"), ["Read sample", "b", "c", "d"]);
    assert_eq!(page(&served, "/tasks?tag=priority:none"), json!({ "items": [] }));
    // Get, change, retag, delete.
    let path = format!("/tasks/{}", made["id"].as_str().unwrap());
    assert_eq!(served.ask(&Ask::get(&path)).expect_json(200), made);
    let patch = json!({ "done": true, "tags": { "priority": "low", "project": null } });
    let changed = served.ask(&Ask::patch(&path, &patch)).expect_json(200);
    assert_eq!(changed["tags"], json!({ "priority": "low", "severity": "low" }));
    let both = "/tasks?tag=priority:high&tag=severity:low";
    assert_eq!(texts(&page(&served, both), "name"), ["b", "d"]);
    assert_eq!(texts(&page(&served, "/tasks?tag=priority:low"), "name"), ["Read sample", "c"]);
    assert_eq!(served.ask(&Ask::delete(&path)).status, 204);
    assert_eq!(texts(&page(&served, "/tasks?tag=priority:low"), "name"), ["c"]);
}

#[test]
fn tag_filters_follow_the_grammar() {
    let served = tasks(&[
        ("1", json!({ "a": "x", "b": "y" })),
        ("2", json!({ "a": "y", "url": "http://x" })),
        ("3", json!({ "b": "x|y", "!c": "*" })),
        ("4", json!({ "a": "", "d:e": r"\" })),
        ("5", json!({ "a": "#x:/", "b": "*" })),
    ]);
    let cases: &[(&str, &[&str])] = &[
        ("", &["1", "2", "3", "4", "5"]),
        ("tag=a:x", &["1"]),
        ("tag=a:x|y", &["1", "2"]),
        ("tag=a:y|x|y", &["1", "2"]),
        ("tag=a:*", &["1", "2", "4", "5"]),
        ("tag=!a:*", &["3"]),
        ("tag=!a:x", &["2", "3", "4", "5"]),
        ("tag=!a:x|y", &["3", "4", "5"]),
        ("tag=a:*&tag=!a:x", &["2", "4", "5"]),
        ("tag=a:x&tag=b:y", &["1"]),
        ("tag=a:x&tag=a:y", &[]),
        ("tag=url:http://x", &["2"]),
        ("tag=a:", &["4"]),
        ("tag=a:%23x:/", &["5"]),
        (r"tag=b:x\|y", &["3"]),
        (r"tag=\!c:\*", &["3"]),
        (r"tag=b:\*", &["5"]),
        ("tag=b:*", &["1", "3", "5"]),
        (r"tag=d\:e:\\", &["4"]),
        ("tag=A:x", &[]),
        ("tag=a:x&tag=!b:none&limit=1&reverse=true", &["1"]),
    ];
    for (query, expected) in cases {
        let found =
            page(&served, &format!("/tasks?{}", query.replace('\\', "%5C").replace('|', "%7C")));
        assert_eq!(texts(&found, "name"), *expected, "{query}");
        let counted = query.replace("&limit=1&reverse=true", "");
        let counted = counted.replace('\\', "%5C").replace('|', "%7C");
        let found = page(&served, &format!("/tasks?{counted}&total=true&limit=1"));
        assert_eq!(found["total"], json!(expected.len()), "{query}");
    }
}

#[test]
fn invalid_filters_are_rejected_with_a_fix() {
    let served = tasks(&[("1", json!({ "a": "x" }))]);
    let many: String = (0..301).map(|number| format!("tag=a:{number}&")).collect();
    for (query, words) in [
        ("tag=a", "as in `key:value`"),
        ("tag=", "as in `key:value`"),
        ("tag=a:%5Cb", "backslash"),
        ("tags=a:b", "did you mean `tag`?"),
        ("total=yes", "`total` must be `true` or `false`"),
        ("limit=0", "from 1 to 1000"),
        ("limit=1001", "from 1 to 1000"),
        ("limit=abc", "from 1 to 1000"),
        ("limit=-1", "from 1 to 1000"),
        (&many, "at most 300 tests"),
    ] {
        let answer = served.ask(&Ask::get(&format!("/tasks?{query}")));
        assert_eq!(answer.outcome(), "400 bad-parameter", "{query:.40}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(words), "{query:.40}: {detail}");
    }
}

#[test]
fn a_cursor_belongs_to_its_filter() {
    let tagged: Vec<(&str, Value)> =
        ["1", "2", "3"].map(|name| (name, json!({ "a": "x", "b": "y" }))).to_vec();
    let served = tasks(&tagged);
    let first = page(&served, "/tasks?tag=a:x&tag=b:y&limit=1");
    assert_eq!(first.get("previous"), None, "{first}");
    let next = first["next"].as_str().unwrap();
    // The same filter, written differently.
    for same in ["tag=b:y&tag=a:x", "tag=a:x&tag=b:y&tag=a:x", "tag=a:x&tag=b:y%7Cy"] {
        let second = page(&served, &format!("/tasks?{same}&limit=1&cursor={next}"));
        assert_eq!(texts(&second, "name"), ["2"], "{same}");
    }
    let second = page(&served, &format!("/tasks?tag=a:x&tag=b:y&limit=1&cursor={next}"));
    let previous = second["previous"].as_str().unwrap();
    let back = page(&served, &format!("/tasks?tag=a:x&tag=b:y&limit=1&cursor={previous}"));
    assert_eq!(back, first);
    for cursor in [next, previous] {
        let changed = format!("{}A", &cursor[..cursor.len() - 2]);
        for (query, words) in [
            (format!("tag=a:x&cursor={cursor}"), "of another query"),
            (format!("tag=a:x&tag=b:x&cursor={cursor}"), "of another query"),
            (format!("cursor={cursor}"), "of another query"),
            (format!("tag=a:x&tag=b:y&reverse=true&cursor={cursor}"), "of another query"),
            (format!("tag=a:x&tag=b:y&cursor={changed}"), "`previous`"),
        ] {
            let answer = served.ask(&Ask::get(&format!("/tasks?{query}")));
            assert_eq!(answer.outcome(), "400 bad-cursor", "{query}");
            assert!(answer.text().contains(words), "{}", answer.text());
        }
    }
}

fn comment(served: &Served, created: &str, language: &str, rating: i64) -> Value {
    let document = json!({
        "product": "42", "language": language, "rating": rating, "created": created,
        "body": { "text": created },
    });
    served.ask(&Ask::post("/comments", &document)).expect_json(201)
}

fn at(time: &str) -> String {
    format!("2020-11-09T{time}:00Z")
}

/// A page of comments with several ratings.
#[test]
fn pages_over_several_ratings_are_in_list_order() {
    let served = Served::open(&app("comments"));
    let lists = [
        (5, &["12:32", "12:20", "12:19", "12:15", "12:01"][..]),
        (3, &["12:30", "12:17", "12:04", "12:03"]),
        (4, &["12:31", "12:18", "12:02"]),
    ];
    for (rating, times) in lists {
        times.iter().for_each(|time| drop(comment(&served, &at(time), "en", rating)));
    }
    let expected = [
        ["12:32/5", "12:30/3", "12:20/5"],
        ["12:19/5", "12:17/3", "12:15/5"],
        ["12:04/3", "12:03/3", "12:01/5"],
    ];
    let shown = |page: &Value| -> Vec<String> {
        let one = |item: &Value| {
            format!("{}/{}", &item["created"].as_str().unwrap()[11..16], item["rating"])
        };
        page["items"].as_array().unwrap().iter().map(one).collect()
    };
    let (mut cursor, mut previous) = (String::new(), None);
    for (index, wanted) in expected.iter().enumerate() {
        // Order and repetition of ratings make no difference, also between pages.
        let ratings = ["5,3", "3,5", "3,3,5,3"][index];
        let path = format!("/products/42/comments?rating={ratings}&limit=3{cursor}");
        let found = page(&served, &path);
        assert_eq!(shown(&found), wanted);
        assert_eq!(found.get("next").is_some(), index < 2, "no fourth page");
        cursor = format!("&cursor={}", found["next"].as_str().unwrap_or_default());
        previous = found.get("previous").cloned();
    }
    for wanted in expected[..2].iter().rev() {
        let cursor = previous.as_ref().unwrap().as_str().unwrap();
        let path = format!("/products/42/comments?rating=5,3&limit=3&cursor={cursor}");
        let found = page(&served, &path);
        assert_eq!(shown(&found), wanted);
        previous = found.get("previous").cloned();
    }
    assert_eq!(previous, None);
}

#[test]
fn every_query_pattern_of_comments_is_one_request() {
    let served = Served::open(&app("comments"));
    let mut made = vec![];
    for number in 0..25 {
        let language = if number % 5 == 4 { "fr" } else { "en" };
        made.push(comment(&served, &at(&format!("12:{number:02}")), language, 1 + number % 5));
    }
    let ids = |filter: &dyn Fn(&Value) -> bool| -> Vec<String> {
        let mut ids: Vec<String> = vec![];
        for comment in made.iter().rev().filter(|comment| filter(comment)) {
            ids.push(comment["id"].as_str().unwrap().to_owned());
        }
        ids
    };
    let one_page = |query: &str| {
        let found = page(&served, &format!("/products/42/comments?{query}"));
        (texts(&found, "id"), found)
    };
    // QP1 and QP4: the newest first, 20 a page.
    let (found, first) = one_page("");
    assert_eq!(found, ids(&|_| true)[..20]);
    let (rest, _) = one_page(&format!("cursor={}", first["next"].as_str().unwrap()));
    assert_eq!(rest, ids(&|_| true)[20..]);
    // QP2: in one language, or in all.
    assert_eq!(one_page("language=en&limit=100").0, ids(&|c| c["language"] == "en"));
    assert_eq!(one_page("language=fr&limit=100").0, ids(&|c| c["language"] == "fr"));
    assert_eq!(one_page("language=en,fr&limit=100").0, ids(&|_| true));
    // QP3: any combination of ratings.
    for set in 1_u32..32 {
        let ratings: Vec<u32> = (1..=5).filter(|rating| set & (1 << (rating - 1)) != 0).collect();
        let text: Vec<String> = ratings.iter().map(u32::to_string).collect();
        let is_in = |c: &Value| ratings.contains(&(c["rating"].as_u64().unwrap() as u32));
        let (found, _) = one_page(&format!("rating={}&limit=100", text.join(",")));
        assert_eq!(found, ids(&is_in), "{ratings:?}");
        let (found, answer) =
            one_page(&format!("language=en&rating={}&limit=100&total=true", text.join(",")));
        let expected = ids(&|c| is_in(c) && c["language"] == "en");
        assert_eq!(answer["total"], json!(expected.len()));
        assert_eq!(found, expected, "{ratings:?}");
    }
    // All ratings are the same filter as none: their cursors are interchangeable.
    let next = first["next"].as_str().unwrap();
    assert_eq!(one_page(&format!("rating=5,4,3,2,1&cursor={next}")).0, ids(&|_| true)[20..]);
    // QP5: by id. QP6: the newest positive English one. QP7: delete by id.
    let path = format!("/comments/{}", made[7]["id"].as_str().unwrap());
    assert_eq!(served.ask(&Ask::get(&path)).expect_json(200), made[7]);
    let positive = ids(&|c| c["language"] == "en" && c["rating"].as_i64().unwrap() >= 4);
    assert_eq!(one_page("language=en&rating=4,5&limit=1").0, positive[..1]);
    assert_eq!(served.ask(&Ask::delete(&path)).status, 204);
    assert!(!one_page("limit=100").0.contains(&made[7]["id"].as_str().unwrap().to_owned()));
    assert_eq!(one_page("rating=3&total=true").1["total"], json!(4));
}

#[test]
fn facets_list_their_values() {
    let served = Served::open(&app("comments"));
    for (query, words) in [
        ("rating=7", "`rating` is a whole number from 1 to 5, and `7` is not."),
        ("rating=0,1", "`rating` is a whole number from 1 to 5, and `0` is not."),
        ("rating=1,,2", "`` is not"),
        ("rating=good", "`good` is not"),
        ("rating=%3E3", "Only `created` takes a range here."),
        ("ratng=1", "did you mean `rating`?"),
        ("created=%3E2020-01-01T00:00:00Z&total=true", "Omit `total` or `created`, or declare"),
    ] {
        let answer = served.ask(&Ask::get(&format!("/products/42/comments?{query}")));
        assert_eq!(answer.outcome(), "400 bad-parameter", "{query}");
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(words), "{query}: {detail}");
    }
    comment(&served, &at("12:00"), "a,b", 1);
    let found = page(&served, "/products/42/comments?language=a%5C,b");
    assert_eq!(texts(&found, "language"), ["a,b"]);
    assert_eq!(page(&served, "/products/42/comments?language=a,b"), json!({ "items": [] }));
    assert_eq!(page(&served, "/products/43/comments?language=a%5C,b"), json!({ "items": [] }));
}

const SEVERAL: &str = r#"
[entity.note]
tenant = "owner"
fields.owner  = "text"
fields.size   = "int 0..9"
fields.color  = "enum(red, green, blue)?"
fields.labels = "tags = {}"
fields.marks  = "tags = {}"
list.all = { path = "/notes", order = ["size", "-color"], facets = ["size", "color"] }
"#;

#[test]
fn several_tag_fields_are_filtered_by_their_names() {
    let served = Served::open(SEVERAL);
    for (size, color, labels, marks) in
        [(1, "red", "x", "y"), (2, "blue", "y", "x"), (3, "red", "x", "x")]
    {
        let note = json!({
            "size": size, "color": color, "labels": { "a": labels }, "marks": { "a": marks },
        });
        served.ask(&Ask::post("/notes", &note).tenant("acme")).expect_json(201);
    }
    let sizes = |query: &str| -> Vec<i64> {
        let ask = Ask::get(&format!("/notes?{query}")).tenant("acme");
        let found = served.ask(&ask).expect_json(200);
        found["items"].as_array().unwrap().iter().map(|i| i["size"].as_i64().unwrap()).collect()
    };
    assert_eq!(sizes("labels=a:x"), [1, 3]);
    assert_eq!(sizes("labels=a:x&marks=a:x"), [3]);
    // A field that both orders and filters the list.
    assert_eq!(sizes("size=3,1"), [1, 3]);
    assert_eq!(sizes("size=%3E=2"), [2, 3]);
    assert_eq!(sizes("size=%3E=2&color=red"), [3]);
    assert_eq!(sizes("size=3&color=%3Cblue"), [3]);
    assert_eq!(sizes("color=red,blue,green"), [1, 2, 3]);
    for query in ["tag=a:x", "size=10", "color=black"] {
        let answer = served.ask(&Ask::get(&format!("/notes?{query}")).tenant("acme"));
        assert_eq!(answer.outcome(), "400 bad-parameter", "{query}");
    }
    // A cursor of one tenant is invalid for another.
    let first = served.ask(&Ask::get("/notes?labels=a:x&limit=1").tenant("acme")).expect_json(200);
    let next = first["next"].as_str().unwrap();
    let other = Ask::get(&format!("/notes?labels=a:x&limit=1&cursor={next}")).tenant("other");
    assert_eq!(served.ask(&other).outcome(), "400 bad-cursor");
}

#[test]
fn tags_and_their_values_are_counted() {
    let served = tasks(&[
        ("1", json!({ "project": "x", "priority": "high" })),
        ("2", json!({ "project": "x", "priority": "hidden" })),
        ("3", json!({ "project": "y", "priority": "low", "a/b": "#" })),
    ]);
    let counted = |path: &str, word: &str| -> Vec<(String, u64)> {
        let found = page(&served, path);
        let one = |item: &Value| {
            (item[word].as_str().unwrap().to_owned(), item["count"].as_u64().unwrap())
        };
        found["items"].as_array().unwrap().iter().map(one).collect()
    };
    let pairs = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(text, count)| ((*text).to_owned(), *count)).collect()
    };
    let keys = pairs(&[("a/b", 1), ("priority", 3), ("project", 3)]);
    assert_eq!(counted("/tasks/tags", "key"), keys);
    assert_eq!(counted("/tasks/tags?prefix=pr", "key"), keys[1..]);
    let within = pairs(&[("priority", 2), ("project", 2)]);
    assert_eq!(counted("/tasks/tags?tag=project:x", "key"), within);
    let values = pairs(&[("hidden", 1), ("high", 1), ("low", 1)]);
    assert_eq!(counted("/tasks/tags/priority", "value"), values);
    assert_eq!(counted("/tasks/tags/priority?prefix=hi", "value"), values[..2]);
    assert_eq!(counted("/tasks/tags/priority?prefix=hi&tag=project:y", "value"), []);
    assert_eq!(counted("/tasks/tags/a%2Fb", "value"), pairs(&[("#", 1)]));
    assert_eq!(counted("/open-tasks/tags/project", "value"), pairs(&[("x", 2), ("y", 1)]));
    let first = page(&served, "/tasks/tags/priority?limit=2");
    let next = first["next"].as_str().unwrap();
    let rest = format!("/tasks/tags/priority?limit=2&cursor={next}");
    assert_eq!(counted(&rest, "value"), values[2..]);
    for (path, outcome) in [
        (format!("/tasks/tags/project?cursor={next}"), "400 bad-cursor"),
        (format!("/tasks/tags/priority?tag=project:x&cursor={next}"), "400 bad-cursor"),
        ("/tasks/tags?limit=0".to_owned(), "400 bad-parameter"),
        ("/tasks/tags?reverse=true".to_owned(), "400 bad-parameter"),
        ("/tasks/facets".to_owned(), "404 not-found"),
    ] {
        assert_eq!(served.ask(&Ask::get(&path)).outcome(), outcome, "{path}");
    }
    // The path is not that of a task.
    let refused = served.ask(&Ask::delete("/tasks/tags"));
    assert_eq!(refused.outcome(), "405 bad-method");
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
}

#[test]
fn facets_are_counted_under_the_other_filters() {
    let served = Served::open(&app("comments"));
    for (language, rating) in [("en", 5), ("en", 5), ("en", 1), ("fr", 5), ("fr", 3)] {
        comment(&served, &at("12:00"), language, rating);
    }
    let path = "/products/42/comments/facets";
    let counts = |pairs: &[(Value, u64)]| -> Value {
        let one = |(value, count): &(Value, u64)| json!({ "value": value, "count": count });
        json!({ "items": pairs.iter().map(one).collect::<Vec<_>>() })
    };
    let languages = counts(&[(json!("en"), 3), (json!("fr"), 2)]);
    let ratings = counts(&[(json!(1), 1), (json!(3), 1), (json!(5), 3)]);
    let all = json!({ "facets": { "language": languages, "rating": ratings } });
    assert_eq!(page(&served, path), all);
    // A filter by a facet does not affect its own counts.
    let of_english = counts(&[(json!(1), 1), (json!(5), 2)]);
    let expected = json!({ "facets": { "language": languages, "rating": of_english } });
    assert_eq!(page(&served, &format!("{path}?language=en")), expected);
    assert_eq!(page(&served, &format!("{path}/rating?language=en&rating=1")), of_english);
    assert_eq!(page(&served, "/products/43/comments/facets/rating"), json!({ "items": [] }));
    let wrong = served.ask(&Ask::get(&format!("{path}/ratng")));
    assert_eq!(wrong.outcome(), "400 bad-parameter");
    assert!(wrong.text().contains("did you mean `rating`?"), "{}", wrong.text());
}
