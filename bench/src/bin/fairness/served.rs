//! A server with tasks in it: entities of a model, or items of a table.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use keyloom_bench::{HttpClient, Running, folder, free_port};

use crate::api::{Api, call};

/// More than the longest page has.
const TASKS: usize = 5_000;
const MODEL: &str = "[entity.task]\nfields.name = 'text 1..200'\nfields.description = 'text'\n\
                     [entity.task.list.all]\npath = '/tasks'\n";

const TABLE: &str = r#"{"TableName":"tasks","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#;

/// A running server, and the ids of its tasks.
pub(crate) struct Served {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    pub(crate) ids: Vec<String>,
    running: Running,
}

impl Served {
    pub(crate) fn start(name: &'static str, program: &Path, api: Api) -> Result<Served, String> {
        let port = free_port().map_err(|error| error.to_string())?;
        let data = folder()?.join(format!("fairness-{port}"));
        std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.arg(api.command()).arg("--data").arg(data.join("store"));
        if api == Api::Rest {
            let model = data.join("tasks.toml");
            std::fs::write(&model, MODEL).map_err(|error| error.to_string())?;
            command.arg(model);
        }
        command.args(["--log", "failures", "--listen", &format!("127.0.0.1:{port}")]);
        let running = Running::start(command, port, data)?;
        let mut served = Served { name, api, ids: vec![], running };
        served.wait()?;
        let mut client = served.client();
        served.ids = match api {
            Api::Rest => (0..TASKS).map(|number| create(&mut client, number)).collect(),
            Api::DynamoDb => {
                assert_eq!(client.send(&call("CreateTable", TABLE)).expect("a response"), 200);
                (0..TASKS).map(|number| put(&mut client, number)).collect()
            }
        };
        Ok(served)
    }

    /// Waits for a response: the server briefly binds its port before it opens its store.
    fn wait(&self) -> Result<(), String> {
        let start = Instant::now();
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let response = || HttpClient::connect(self.running.port)?.send(request);
        while !response().is_ok_and(|status| status == 200) {
            if start.elapsed() > Duration::from_secs(60) {
                return Err("it did not respond within a minute".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Reads one of the tasks.
    pub(crate) fn light(&self, number: usize) -> Vec<u8> {
        let id = &self.ids[number * 7919 % self.ids.len()];
        match self.api {
            Api::Rest => format!("GET /tasks/{id} HTTP/1.1\r\nHost: localhost\r\n\r\n").into(),
            Api::DynamoDb => call(
                "GetItem",
                &format!(r#"{{"TableName":"tasks","Key":{{"id":{{"S":"{id}"}}}}}}"#),
            ),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.running.port
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::connect(self.running.port).expect("the server listens")
    }
}

fn description() -> String {
    "What is to be done, in some words. ".repeat(10)
}

fn put(client: &mut HttpClient, number: usize) -> String {
    let (id, description) = (format!("{number:08}"), description());
    let item = format!(r#"{{"id":{{"S":"{id}"}},"description":{{"S":"{description}"}}}}"#);
    let request = call("PutItem", &format!(r#"{{"TableName":"tasks","Item":{item}}}"#));
    assert_eq!(client.send(&request).expect("a response"), 200);
    id
}

fn create(client: &mut HttpClient, number: usize) -> String {
    let description = description();
    let body = format!(r#"{{"name":"task {number}","description":"{description}"}}"#);
    let head = "POST /tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(client.send(request.as_bytes()).expect("a response"), 201);
    let response = String::from_utf8_lossy(client.body());
    let id = response.split_once(r#""id":""#).and_then(|(_, rest)| rest.split_once('"'));
    id.expect("the response has an id").0.to_owned()
}
