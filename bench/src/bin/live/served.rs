//! A server with tasks of many owners in it.

use std::process::Command;
use std::time::{Duration, Instant};

use keyloom_bench::{HttpClient, Running, folder, free_port, pocketbase};

use crate::Setting;
use crate::service::Service;

/// Tasks of each owner: more than a page has.
pub(crate) const TASKS_EACH: usize = 30;
const MODEL: &str = "[entity.task]\nid = 'given'\nfields.owner = 'text'\nfields.rank = 'int'\n\
                     fields.name = 'text'\nfields.sent = 'int = 0'\n\
                     list.of = { by = 'owner', order = 'rank', path = '/owners/{owner}/tasks' }\n";

/// The same for PocketBase.
const COLLECTION: &str = r#"{
    "name": "tasks", "type": "base", "listRule": "", "viewRule": "", "createRule": "", "updateRule": "",
    "fields": [
        {"name": "owner", "type": "text"}, {"name": "rank", "type": "number"},
        {"name": "name", "type": "text"}, {"name": "sent", "type": "number"}
    ],
    "indexes": ["CREATE INDEX by_owner ON tasks (owner, rank)"]
}"#;

pub(crate) struct Served {
    pub(crate) service: Service,
    running: Running,
    owners: usize,
}

impl Served {
    pub(crate) fn start(service: Service, setting: Setting) -> Result<Served, String> {
        let running = match service {
            Service::Keyloom => start_keyloom(setting)?,
            Service::PocketBase => pocketbase::start("live", COLLECTION)?.0,
        };
        let served = Served { service, running, owners: setting.queries };
        served.fill();
        Ok(served)
    }

    fn fill(&self) {
        std::thread::scope(|scope| {
            for part in 0..8 {
                scope.spawn(move || {
                    let mut client = self.client();
                    for owner in (0..self.owners).filter(|owner| owner % 8 == part) {
                        for number in 0..TASKS_EACH {
                            let id = task_id(owner, number);
                            let body = format!(
                                r#"{{"id":"{id}","owner":"o{owner}","rank":{number},"name":"Task {number} of owner {owner}"}}"#
                            );
                            let (path, status) = (self.service.tasks(), self.service.created());
                            send(&mut client, ("POST", path), &body, status);
                        }
                    }
                });
            }
        });
    }

    pub(crate) fn tasks(&self) -> usize {
        self.owners * TASKS_EACH
    }

    pub(crate) fn port(&self) -> u16 {
        self.running.port
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::connect(self.port()).expect("the server listens")
    }

    /// The resident memory of the server.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.running.id()));
        let status = status.expect("the system reports memory");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("a number") * 1024
    }
}

fn start_keyloom(setting: Setting) -> Result<Running, String> {
    let port = free_port().map_err(|error| error.to_string())?;
    let data = folder()?.join(format!("live-{port}"));
    std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let model = data.join("tasks.toml");
    std::fs::write(&model, MODEL).map_err(|error| error.to_string())?;
    let mut command = Command::new(folder()?.join("keyloom"));
    command.arg("serve").arg(model).arg("--data").arg(data.join("store"));
    command.args(["--log", "failures", "--listen", &format!("127.0.0.1:{port}")]);
    for limit in ["connections", "connections-per-client", "streams", "streams-per-client"] {
        command.args([format!("--max-{limit}"), (setting.clients + 1000).to_string()]);
    }
    let running = Running::start(command, port, data)?;
    let start = Instant::now();
    let request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let response = || HttpClient::connect(port)?.send(request);
    while !response().is_ok_and(|status| status == 200) {
        if start.elapsed() > Duration::from_secs(60) {
            return Err("it did not respond within a minute".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(running)
}

/// The id of a task: 15 characters, as PocketBase requires.
pub(crate) fn task_id(owner: usize, number: usize) -> String {
    format!("o{owner:06}t{number:07}")
}

/// Sends a document, and expects a status.
pub(crate) fn send(client: &mut HttpClient, (method, path): (&str, &str), body: &str, status: u16) {
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json");
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(client.send(request.as_bytes()).expect("a response"), status, "{path}");
}
