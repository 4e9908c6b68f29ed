//! Every tool, on the models of the applications, over both transports.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Stage;
use super::client::{Client, Listening, Piped};
use crate::process::{Folder, app, output};

const TOOLS: [&str; 8] = [
    "describe_model",
    "query",
    "explain",
    "propose",
    "check_model",
    "diff_model",
    "changes_since",
    "verify",
];

#[test]
fn every_tool_answers_over_stdio() {
    let stage = Stage::app("tasks");
    stage.tasks(&["cook", "wash up", "sleep"]);
    let mut client = Piped::start(stage.url(), None, &[]);
    every_tool(&stage, &mut client);
    assert!(client.end());
}

#[test]
fn every_tool_answers_over_http() {
    let stage = Stage::start("tasks-http", &app("tasks"));
    stage.tasks(&["cook", "wash up", "sleep"]);
    let listening = Listening::start(stage.url(), None, "127.0.0.1:0");
    every_tool(&stage, &mut listening.client(""));
    assert!(listening.stop());
}

fn every_tool(stage: &Stage, client: &mut dyn Client) {
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, TOOLS);
    for tool in listed.as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], json!(true), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], json!("object"), "{tool}");
        assert_eq!(tool["outputSchema"]["type"], json!("object"), "{tool}");
    }
    let position = client.ask("changes_since", json!({}))["next"].clone();
    described(client);
    queried(client);
    let explained = client.ask(
        "explain",
        json!({ "entity": "task", "query": "list_task_open", "parameters": { "tag": "priority:high" } }),
    );
    assert!(explained["plan"][0].as_str().is_some(), "{explained}");
    assert!(explained["rows"].as_u64() > Some(0), "{explained}");
    assert!(explained["read_units"].as_f64() > Some(0.0), "{explained}");
    modelled(client);
    proposed(client);
    changed(stage, client, &position);
    let verified = client.ask("verify", json!({}));
    assert_eq!((&verified["findings"], &verified["found"]), (&json!([]), &json!(0)), "{verified}");
}

fn described(client: &mut dyn Client) {
    let result = client.call("describe_model", json!({ "source": true }));
    let text = result["content"][0]["text"].as_str().unwrap();
    for part in ["task\n", "  name: ", "list_task_open(tag?, ", "at most"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let output = &result["structuredContent"];
    assert_eq!(output["source"], json!(std::fs::read_to_string(app("tasks")).unwrap()));
    assert_eq!(output["entities"][0]["name"], json!("task"));
    let one = client.ask("describe_model", json!({ "entity": "task" }));
    assert_eq!(one["entities"], output["entities"]);
}

fn queried(client: &mut dyn Client) {
    let list = |limit: u32, cursor: Value| {
        json!({ "entity": "task", "query": "all", "limit": limit, "cursor": cursor,
                "parameters": { "fields": ["name"], "total": true } })
    };
    let first = client.ask("query", list(2, Value::Null));
    let names: Vec<&Value> =
        first["rows"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, [&json!("cook"), &json!("wash up")]);
    assert_eq!(first["total"], json!(3), "{first}");
    let last = client.ask("query", list(2, first["next"].clone()));
    assert_eq!(last["rows"][0]["name"], json!("sleep"));
    assert!(last["next"].is_null(), "{last}");
    let id = last["rows"][0]["id"].clone();
    let one = json!({ "entity": "task", "query": "get", "parameters": { "id": id } });
    let one = client.ask("query", one);
    assert_eq!((&one["rows"][0]["id"], one["rows"].as_array().unwrap().len()), (&id, 1));
    let nearest = client.fail("query", json!({ "entity": "task", "query": "by_priority" }));
    assert_eq!(nearest["code"], json!("not-declared"));
    assert!(nearest["text"].as_str().unwrap().contains("`propose`"), "{nearest}");
    assert!(nearest["details"]["nearest"][0]["signature"].is_string(), "{nearest}");
}

fn modelled(client: &mut dyn Client) {
    let text = std::fs::read_to_string(app("tasks")).unwrap();
    let checked = client.ask("check_model", json!({ "model": text }));
    assert_eq!((&checked["valid"], &checked["entities"][0]["lists"]), (&json!(true), &json!(2)));
    let wrong = client.ask("check_model", json!({ "model": "[entity.a]\nfields.b = \"txt\"\n" }));
    let error = &wrong["errors"][0];
    assert_eq!((&error["line"], &error["code"]), (&json!(2), &json!("K0202")), "{wrong}");
    assert!(error["help"].as_str().unwrap().contains("text"), "{wrong}");
    let same = client.ask("diff_model", json!({ "model": text }));
    assert_eq!((&same["allowed"], &same["changes"]), (&json!(true), &json!([])));
    let more = format!("{text}\n[entity.task.list.by_name]\norder = \"name\"\n");
    let diff = client.ask("diff_model", json!({ "model": more }));
    assert_eq!(diff["rewritten"], json!(["task"]), "{diff}");
    assert_eq!(diff["unavailable"], json!(["task.list.by_name"]), "{diff}");
    let less = client.ask("diff_model", json!({ "model": "[entity.job]\nfields.x = \"int\"\n" }));
    assert_eq!(less["allowed"], json!(false));
    assert!(!less["refused"].as_array().unwrap().is_empty(), "{less}");
}

fn proposed(client: &mut dyn Client) {
    let list = json!({ "entity": "task", "filter_by": ["done"], "order_by": ["-name"] });
    let list = client.ask("propose", list);
    let patch = "[entity.task.list.by_done_name]\nby    = \"done\"\norder = \"-name\"\n";
    assert_eq!(list["patch"], json!(patch));
    assert_eq!(list["changes"]["rewritten"], json!(["task"]), "{list}");
    let price = &list["cost"]["dynamodb"];
    let [before, after] =
        ["write_units_before", "write_units_after"].map(|name| price[name].as_f64().unwrap());
    assert!(0.0 < before && before < after, "{list}");
    assert!(price["read_units"].as_f64() > Some(0.0), "{list}");
    let count = client.ask("propose", json!({ "entity": "task", "count_by": ["done"] }));
    assert_eq!(count["declares"], json!("task.count.by_done"));
    // What it returns is what the model accepts.
    let text = std::fs::read_to_string(app("tasks")).unwrap();
    let both = format!("{text}\n{patch}\n{}", count["patch"].as_str().unwrap());
    assert_eq!(client.ask("check_model", json!({ "model": both }))["valid"], json!(true));
    let twice = json!({ "entity": "task" , "order_by": ["tags"] });
    assert_eq!(client.fail("propose", twice)["code"], json!("cannot-declare"));
}

fn changed(stage: &Stage, client: &mut dyn Client, position: &Value) {
    let none = client.ask("changes_since", json!({ "position": position }));
    assert_eq!((&none["changes"], &none["more"]), (&json!([]), &json!(false)), "{none}");
    stage.tasks(&["a", "b", "c"]);
    let since = |position: &Value, limit: u32| json!({ "position": position, "limit": limit });
    let first = client.ask("changes_since", since(&none["next"], 2));
    let rest = client.ask("changes_since", since(&first["next"], 2));
    let names = [&first["changes"][0], &first["changes"][1], &rest["changes"][0]]
        .map(|change| change["new"]["name"].as_str().unwrap_or_default().to_owned());
    assert_eq!(names, ["a", "b", "c"], "{first} {rest}");
    assert_eq!((&first["more"], &rest["more"]), (&json!(true), &json!(false)));
    assert_eq!(rest["changes"][0]["change"], json!("insert"), "{rest}");
    let other = json!({ "position": position, "entities": ["job"] });
    assert_eq!(client.fail("changes_since", other)["code"], json!("bad-parameter"));
}

/// Every query that the description lists either runs or says which parameter it needs.
#[test]
fn the_queries_of_every_application_run() {
    for name in ["comments", "kitchen", "oncall"] {
        let stage = Stage::app(name);
        let mut client = Piped::start(stage.url(), None, &["--tenant", "acme"]);
        let model = client.ask("describe_model", json!({}));
        let mut count = 0;
        for entity in model["entities"].as_array().unwrap() {
            for query in entity["queries"].as_array().unwrap() {
                run(&mut client, entity["name"].as_str().unwrap(), query);
                count += 1;
            }
        }
        assert!(count >= 7, "{name}: {count}");
        assert_eq!(client.ask("verify", json!({}))["found"], json!(0), "{name}");
    }
}

fn run(client: &mut Piped, entity: &str, query: &Value) {
    let mut parameters = serde_json::Map::new();
    for parameter in query["parameters"].as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        let value = match name {
            "status" => "failed",
            "facet" => "rating",
            _ => "x",
        };
        if parameter["required"] == json!(true) {
            parameters.insert(name.to_owned(), json!(value));
        }
    }
    let arguments = json!({ "entity": entity, "query": query["name"], "parameters": parameters });
    for tool in ["query", "explain"] {
        let result = client.call(tool, arguments.clone());
        let code = &result["structuredContent"]["error"]["code"];
        let is_absent = [json!("not-found"), json!("not-ranked")].contains(code);
        assert!(result["isError"] == json!(false) || is_absent, "{arguments}: {result}");
    }
}

#[test]
fn pages_of_ten_thousand_rows_are_capped_and_complete() {
    let folder = Folder::new("mcp-many");
    let mut lines = String::new();
    for number in 0..10_000 {
        let description = if number == 7 { "x".repeat(100_000) } else { String::new() };
        let fields = json!({ "name": format!("task {number}"), "description": description });
        writeln!(
            lines,
            "{}",
            json!({ "entity": "task", "id": format!("{number:05}"), "fields": fields })
        )
        .unwrap();
    }
    let lines = folder.write("lines", lines);
    let (success, _, err) =
        output(&["import", &app("tasks"), "--data", &folder.path("data"), &lines]);
    assert!(success, "{err}");
    let stage = Stage::on(folder, &app("tasks"));
    let mut client = Piped::start(stage.url(), None, &[]);
    let page = |limit: Value, cursor: Value| json!({ "entity": "task", "query": "list_task_all", "limit": limit, "cursor": cursor });
    let first = client.ask("query", page(Value::Null, Value::Null));
    assert_eq!(first["rows"].as_array().unwrap().len(), 50);
    assert_eq!(client.fail("query", page(json!(201), Value::Null))["code"], json!("bad-argument"));
    // Imports write many lines at once: the long text can be on any page.
    let (mut ids, mut cuts, mut cursor) = (BTreeSet::new(), vec![], Value::Null);
    loop {
        let page = client.ask("query", page(json!(200), cursor));
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.len() <= 200);
        let texts = rows.iter().map(|row| row["description"].as_str().unwrap().to_owned());
        let cut: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        assert_eq!(page["cut_texts"].as_u64().unwrap_or_default(), cut.len() as u64);
        cuts.extend(cut);
        ids.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        match &page["next"] {
            Value::Null => break,
            next => cursor = next.clone(),
        }
    }
    assert_eq!(ids.len(), 10_000);
    assert!(cuts.len() == 1 && cuts[0].len() < 3000, "{cuts:?}");
    assert!(cuts[0].ends_with("… [cut: 100000 characters]"), "{cuts:?}");
    let (mut position, mut parts) = (Value::Null, 0);
    let rows = loop {
        let part = client.ask("verify", json!({ "position": position }));
        assert_eq!(part["found"], json!(0), "{part}");
        parts += 1;
        match &part["next"] {
            Value::Null => break part["rows"].as_u64(),
            next => position = next.clone(),
        }
    };
    assert!(rows >= Some(10_000) && parts > 20, "{rows:?} in {parts}");
}
