//! The costs of reads in `explain`: known examples of tagged tasks, and that no read is missing.

use keyloom_server::Rest;
use pollster::block_on;
use serde_json::{Value, json};

use super::ask::Ask;
use super::served::{Served, app};

/// The good case of tagged tasks: tags with 50, 80 and 20 tasks, three of which have all of them.
fn tasks() -> Served {
    let served = Served::open(&app("tasks"));
    for number in 0..141 {
        let mut tags = json!({});
        if number < 50 {
            tags["project"] = json!("self improvement");
        }
        if (47..127).contains(&number) {
            tags["priority"] = json!("high");
        }
        if (47..50).contains(&number) || (124..141).contains(&number) {
            tags["severity"] = json!("low");
        }
        let task = json!({ "name": format!("{number}"), "tags": tags });
        block_on(served.db.create("task", &task)).unwrap();
    }
    served
}

const ALL_THREE: &str = "/tasks?tag=project:self+improvement&tag=priority:high&tag=severity:low";

/// Runs on a tokio runtime with timers, as programs do.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn the_costs_of_tag_filters_are_as_computed_by_hand() {
    let served = tasks();
    let page = served.ask(&Ask::get(&format!("{ALL_THREE}&explain=true"))).expect_json(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 3);
    let list = &page["explain"]["lists"][0];
    let expected = json!({
        "tags": { "best": 60, "worst": 150 }, "planned": { "best": 3, "worst": 3 }, "entities": 3,
    });
    assert_eq!(list["one_by_one"], expected);
    let plan = json!({
        "step": "go through what matches in order of creation until 20 are found",
        "parts": [{
            "step": "the declared combination `priority:high` + `project:self improvement` + \
                     `severity:low`",
            "members": 3,
        }],
    });
    assert_eq!(list["plan"], plan);
    assert_eq!(list["bound"], json!({ "rows": 5000, "bytes": 16 << 20 }));
    // Two of the three tags are not a declared combination.
    let path = "/tasks?tag=project:self+improvement&tag=priority:high&explain=true";
    let page = served.ask(&Ask::get(path)).expect_json(200);
    let list = &page["explain"]["lists"][0];
    let expected = json!({
        "tags": { "best": 40, "worst": 130 }, "planned": { "best": 40, "worst": 130 },
        "entities": 3,
    });
    assert_eq!(list["one_by_one"], expected);
    let plan = &list["plan"]["parts"][0];
    assert_eq!(plan["step"], "in all of, the rarest first");
    let sizes: Vec<&Value> =
        plan["parts"].as_array().unwrap().iter().map(|p| &p["members"]).collect();
    assert_eq!(sizes, [&json!(50), &json!(80)]);
}

#[test]
fn the_ways_that_were_not_chosen_are_named_with_the_one_that_was() {
    let served = tasks();
    let considered = |path: &str| {
        let page = served.ask(&Ask::get(path)).expect_json(200);
        page["explain"]["lists"][0]["considered"].clone()
    };
    let ways = considered(&format!("{ALL_THREE}&explain=true"));
    let ways = ways.as_array().unwrap();
    let chosen: Vec<&Value> = ways.iter().filter(|way| way["is_chosen"] == true).collect();
    assert_eq!(chosen.len(), 1, "{ways:?}");
    assert_eq!(chosen[0]["step"], "go through what matches in order of creation");
    let rows: Vec<u64> = ways.iter().map(|way| way["rows"].as_u64().unwrap()).collect();
    assert!(rows.is_sorted() && ways.len() == 3, "{ways:?}");
    // Without a filter there is one way.
    assert_eq!(considered("/tasks?explain=true"), Value::Null);
}

#[test]
fn explaining_a_read_does_not_change_its_result() {
    let served = tasks();
    let made = served.ask(&Ask::get("/tasks?limit=1")).expect_json(200)["items"][0].clone();
    let one = format!("/tasks/{}", made["id"].as_str().unwrap());
    for path in [&one, "/tasks", "/open-tasks", ALL_THREE, "/tasks/tags", "/tasks/tags/priority"] {
        let plain = served.ask(&Ask::get(path)).expect_json(200);
        let sign = if path.contains('?') { '&' } else { '?' };
        let asked = format!("{path}{sign}explain=true");
        let mut explained = served.ask(&Ask::get(&asked)).expect_json(200);
        let cost = explained.as_object_mut().unwrap().remove("explain").unwrap();
        assert_eq!(explained, plain, "{path}");
        let requests = cost["requests"].as_array().unwrap();
        let sum =
            |name: &str| requests.iter().map(|read| read[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!((&cost["rows"], &cost["bytes"]), (&json!(sum("rows")), &json!(sum("bytes"))));
        assert!(!requests.is_empty(), "{path}");
        let units = requests.iter().map(|read| read["read_units"].as_f64().unwrap()).sum::<f64>();
        assert_eq!(cost["dynamodb"]["read_units"], json!(units), "{path}");
        let dollars = cost["dynamodb"]["dollars"].as_f64().unwrap();
        assert!((dollars - units * 0.125e-6).abs() < 1e-12, "{path}");
        let not_asked = format!("{path}{sign}explain=false");
        assert_eq!(served.ask(&Ask::get(&not_asked)).expect_json(200), plain, "{path}");
    }
    // One row of less than 4 KB, read strongly.
    let cost = served.ask(&Ask::get(&format!("{one}?explain=true"))).expect_json(200);
    let read = &cost["explain"]["requests"][0];
    assert_eq!((&read["call"], &read["rows"]), (&json!("get"), &json!(1)));
    assert_eq!(cost["explain"]["dynamodb"]["read_units"], json!(1.0));
    let refused = served.ask(&Ask::get("/tasks?explain=maybe"));
    assert_eq!(refused.outcome(), "400 bad-parameter");
    let rest = Rest::new(served.db.clone(), tokens(&served), vec![], Default::default()).unwrap();
    let explained = run(rest.explain(ALL_THREE, None)).unwrap();
    assert!(explained.contains("declared combination"), "{explained}");
    for path in ["/docs", "/nowhere", "/tasks?limit=0"] {
        run(rest.explain(path, None)).unwrap_err();
    }
}

fn tokens(served: &Served) -> keyloom_server::Tokens {
    let (clock, entropy) = (served.rig.clock.clone(), keyloom::SystemEntropy);
    let (clock, entropy) = (std::sync::Arc::new(clock), std::sync::Arc::new(entropy));
    block_on(keyloom_server::Tokens::open(served.store.clone(), "keyloom", clock, entropy)).unwrap()
}

/// The worst case of tagged tasks, scaled down by 10,000: of 1,000 tasks 100, 900 and 200 carry each of
/// three tags, and only the last three carry all of them.
fn worst_case(model: &str) -> Served {
    let served = Served::open(model);
    let tags = |number: u32| match number {
        0..97 => json!({ "project": "house" }),
        97..294 => json!({ "priority": "urgent", "severity": "minor" }),
        294..994 => json!({ "priority": "urgent" }),
        994..997 => json!({}),
        _ => json!({ "project": "house", "priority": "urgent", "severity": "minor" }),
    };
    for number in 0..1_000 {
        let task = json!({ "name": format!("{number}"), "tags": tags(number) });
        block_on(served.db.create("task", &task)).unwrap();
    }
    served
}

#[test]
fn the_worst_case_needs_few_reads() {
    let declared = app("tasks");
    let undeclared = "[entity.task]\nfields.name = \"text\"\nfields.tags = \"tags = {}\"\n\
                      list.all = { path = \"/tasks\" }\n";
    let path = "/tasks?tag=project:house&tag=priority:urgent&tag=severity:minor&explain=true";
    for (model, planned, rows) in [
        // Two sizes, one part of a set, three rows of an index, three tasks.
        (declared.as_str(), json!({ "best": 3, "worst": 3 }), 9),
        // Four sizes and a part of each tag's set instead.
        (undeclared, json!({ "best": 60, "worst": 1_200 }), 13),
    ] {
        let page = worst_case(model).ask(&Ask::get(path)).expect_json(200);
        let items = page["items"].as_array().unwrap().iter();
        let names: Vec<&str> = items.map(|task| task["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["997", "998", "999"]);
        let expected = json!({
            "tags": { "best": 60, "worst": 1_200 }, "planned": planned, "entities": 3,
        });
        assert_eq!(page["explain"]["lists"][0]["one_by_one"], expected);
        assert_eq!(page["explain"]["rows"], json!(rows));
    }
}

/// A list of 225 comments, with and without filters: no page costs more than the first.
#[test]
fn an_old_page_reads_no_more_than_the_first() {
    let served = Served::open(&app("comments"));
    for number in 0..225 {
        let comment = json!({
            "product": "42", "language": if number % 3 == 0 { "fr" } else { "en" },
            "rating": 1 + number % 5, "body": "",
            "created": format!("2020-11-09T{:02}:{:02}:00Z", number / 60, number % 60),
        });
        block_on(served.db.create("comment", &comment)).unwrap();
    }
    for query in ["", "language=en&", "rating=1,3&"] {
        let (mut cursor, mut costs) = (String::new(), vec![]);
        loop {
            let path = format!("/products/42/comments?{query}limit=20&explain=true{cursor}");
            let page = served.ask(&Ask::get(&path)).expect_json(200);
            let explain = &page["explain"];
            let requests = explain["requests"].as_array().unwrap().len();
            costs.push((explain["rows"].as_u64().unwrap(), requests));
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert!(costs.len() >= 5, "{query}: {costs:?}");
        assert_eq!(costs.iter().max(), costs.first(), "{query}: {costs:?}");
    }
}
