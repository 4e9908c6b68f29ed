//! Templates and policies for AWS: as recorded (`KEYLOOM_BLESS=1` rewrites them, review the diff), and
//! enough for what servers and commands do, and no more. And what DynamoDB charges, by operation.

use std::collections::BTreeSet;

use keyloom_dynamodb::{ACTIONS, Purpose};
use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Folder, Served, Serving, app, assert_written, keyloom, output};

const APPS: [&str; 4] = ["tasks", "comments", "kitchen", "oncall"];

const MODEL: &str = r#"
[entity.shop]
id = "given"
fields.name = "text"

[entity.order]
id = "given"
fields.shop = "ref shop refuse"
fields.amount = "int"
fields.tags = "tags = {}"
list.by_shop = { by = "shop", order = "amount" }
count.of_shop = { by = "shop" }
board.busy = { of = "shop" }
"#;

fn print(app_name: &str, more: &[&str]) -> String {
    let model = app(app_name);
    let command = ["infrastructure", &model, "--dynamodb", app_name];
    let (success, out, err) = output(&[&command, more].concat());
    assert!(success, "{err}");
    out
}

#[test]
fn the_templates_and_policies_of_the_applications_are_as_recorded() {
    for app in APPS {
        assert_written(&format!("tests/infrastructure/{app}.template.json"), &print(app, &[]));
    }
    let place = ["--region", "eu-central-1", "--account", "123456789012"];
    let policy = print("kitchen", &[&["--format", "iam"], &place[..]].concat());
    assert_written("tests/infrastructure/kitchen.policy.json", &policy);
    let setup = print("kitchen", &["--format", "iam", "--setup"]);
    assert_written("tests/infrastructure/kitchen.setup-policy.json", &setup);
}

/// A table that a template creates is the one that a server would: it finds nothing to add.
#[test]
fn the_template_has_the_indexes_that_a_server_creates() {
    let endpoint = Served::start("infrastructure-table");
    drop(serve(&app("tasks"), &endpoint, &[]));
    let client = json!({"TableName": "tasks"});
    let described = dynamodb(&endpoint, "DescribeTable", &client);
    let template: Value = serde_json::from_str(&print("tasks", &[])).unwrap();
    let planned = &template["Resources"]["Data"]["Properties"];
    let table = &described["Table"];
    assert_eq!(table["KeySchema"], planned["KeySchema"]);
    let names = |indexes: &Value| -> BTreeSet<String> {
        let indexes = indexes.as_array().unwrap().iter();
        indexes.map(|index| format!("{}{}", index["IndexName"], index["KeySchema"])).collect()
    };
    let [created, planned_names] = [table, planned].map(|of| names(&of["GlobalSecondaryIndexes"]));
    assert!(!created.is_empty());
    assert_eq!(created, planned_names);
    let view = &planned["StreamSpecification"]["StreamViewType"];
    assert_eq!(&table["StreamSpecification"]["StreamViewType"], view);
    let ttl = dynamodb(&endpoint, "DescribeTimeToLive", &client);
    let attribute = &planned["TimeToLiveSpecification"]["AttributeName"];
    assert_eq!(&ttl["TimeToLiveDescription"]["AttributeName"], attribute);
}

fn dynamodb(endpoint: &Served, operation: &str, body: &Value) -> Value {
    let target = format!("X-Amz-Target: DynamoDB_20120810.{operation}\r\n");
    let mut client = Http::connect(&endpoint.url, &target);
    let (status, answer) = client.ask("POST", "/", body).unwrap();
    assert_eq!(status, 200, "{answer}");
    answer
}

fn serve(model: &str, endpoint: &Served, more: &[&str]) -> Serving {
    let table = model.rsplit('/').nth(1).unwrap();
    let mut command = keyloom();
    command.args(["serve", model, "--log", "nothing", "--listen", "127.0.0.1:0"]);
    command.args(["--dynamodb", table, "--region", "us-east-1", "--endpoint-url", &endpoint.url]);
    command.args(more).env("AWS_ACCESS_KEY_ID", "made").env("AWS_SECRET_ACCESS_KEY", "up");
    Serving::spawn(command)
}

/// The operations that clients have sent to an endpoint.
fn sent(endpoint: &Served) -> BTreeSet<String> {
    let (_, metrics) = endpoint.get("/metrics", "");
    let lines = metrics.lines().filter_map(|line| line.strip_prefix("keyloom_requests_total{"));
    let names = lines.filter_map(|line| line.strip_prefix("operation=\"")?.split('"').next());
    names
        .filter(|name| name.chars().all(char::is_alphanumeric) && *name != "none")
        .map(str::to_owned)
        .collect()
}

/// Runs what servers and commands do; the policy allows exactly what they have sent.
#[test]
fn the_policy_allows_what_servers_and_commands_send_and_nothing_else() {
    let folder = Folder::new("infrastructure-policy");
    std::fs::create_dir_all(folder.path("shop")).unwrap();
    let model = folder.write("shop/model.toml", MODEL);
    let endpoint = Served::start("infrastructure-endpoint");
    let mut serving = serve(&model, &endpoint, &[]);
    let mut client = Http::connect(&serving.url, "");
    let mut ask = |method: &str, path: &str, body: Value| {
        let (status, answer) = client.ask(method, path, &body).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    };
    ask("POST", "/shops", json!({"id": "s", "name": "one"}));
    for number in 0..5 {
        let order = json!({"id": format!("o{number}"), "shop": "s", "amount": number,
            "tags": {"color": "red"}});
        ask("POST", "/orders", order);
    }
    ask("PATCH", "/orders/o1", json!({"amount": 9}));
    ask("DELETE", "/orders/o2", Value::Null);
    ask("GET", "/orders/lists/by_shop?shop=s", Value::Null);
    ask("GET", "/shops/s", Value::Null);
    assert!(serving.stop());
    let place = ["--dynamodb", "shop", "--endpoint-url", &endpoint.url];
    let command = |words: &[&str]| {
        let (success, out, err) = output(&[words, &place[..]].concat());
        assert!(success, "{words:?}: {out}{err}");
        out
    };
    damage(&endpoint);
    command(&["verify", &model, "--repair"]);
    command(&["explain", &model, "/orders/lists/by_shop?shop=s"]);
    let token = command(&["token", "create", "--role", "admin"]);
    let list = command(&["token", "list"]);
    let id = list.split_whitespace().find(|word| token.contains(*word) && word.len() > 5);
    command(&["token", "revoke", id.unwrap_or_default()]);
    // A model with one more index.
    let more = "list.by_amount = { order = \"amount\" }\nlist.again = { by = \"amount\", order = \"shop\" }\n";
    let model = folder.write("shop/model.toml", format!("{MODEL}{more}"));
    assert!(serve(&model, &endpoint, &[]).stop());
    let allowed: BTreeSet<String> = ACTIONS
        .iter()
        .filter(|action| action.purpose != Purpose::Unused)
        .map(|action| action.operation.to_owned())
        .collect();
    assert_eq!(sent(&endpoint), allowed);
}

/// Changes the counter of a count, and deletes the link of an order, so that both need a repair.
fn damage(endpoint: &Served) {
    let rows = dynamodb(endpoint, "Scan", &json!({"TableName": "shop"}));
    let rows = rows["Items"].as_array().unwrap();
    let mut row = rows.iter().find(|row| row["C"]["N"] == "4").unwrap().clone();
    row["C"]["N"] = json!("7");
    dynamodb(endpoint, "PutItem", &json!({"TableName": "shop", "Item": row}));
    let link = rows.iter().find(|row| row.get("O").is_some()).unwrap();
    let key = json!({"PK": link["PK"], "SK": link["SK"]});
    dynamodb(endpoint, "DeleteItem", &json!({"TableName": "shop", "Key": key}));
}

#[test]
fn metrics_have_the_units_that_each_operation_consumes() {
    let endpoint = Served::start("infrastructure-units");
    let mut serving = serve(&app("comments"), &endpoint, &[]);
    let mut client = Http::connect(&serving.url, "");
    let comment = json!({"product": "p", "language": "en", "rating": 5, "body": "good"});
    for _ in 0..3 {
        assert_eq!(client.ask("POST", "/comments", &comment).unwrap().0, 201);
    }
    assert_eq!(client.ask("GET", "/products/p/comments", &Value::Null).unwrap().0, 200);
    let text = metrics(&serving.url);
    let units = |kind: &str, operation: &str| -> f64 {
        let start = format!("keyloom_dynamodb_{kind}_units_total{{operation=\"{operation}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.map_or(0.0, |value| value.parse().unwrap())
    };
    // Each comment is a row and several counters in one transaction, at two units a row.
    assert!(units("write", "create_comment") >= 3.0 * 4.0, "{text}");
    assert!(units("read", "list_comment_by_product") >= 0.5, "{text}");
    assert_eq!(units("write", "list_comment_by_product"), 0.0, "{text}");
    // Opening, at least.
    assert!(units("write", "background") > 0.0, "{text}");
    assert!(serving.stop());
}

fn metrics(url: &str) -> String {
    use std::io::{Read as _, Write as _};
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
