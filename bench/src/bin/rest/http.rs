//! Comment servers over HTTP: Keyloom, and any with the same routes.

use std::path::Path;
use std::process::Command;

use keyloom_bench::{HttpClient, Running, build_keyloom, folder, free_port};

use crate::comments::{MODEL, comment};
use crate::rounds::{Client, Contender};

/// A server with `POST /comments`, `GET /comments/{id}` and `GET /products/{product}/comments`.
pub(crate) struct Served {
    pub(crate) name: &'static str,
    pub(crate) running: Running,
}

/// Builds and starts `keyloom serve`.
pub(crate) fn keyloom() -> Result<Box<dyn Contender>, String> {
    start("keyloom serve", &build_keyloom()?)
}

/// Starts `keyloom serve` of a build.
pub(crate) fn start(name: &'static str, program: &Path) -> Result<Box<dyn Contender>, String> {
    let data = folder()?.join(format!("rest-data-{}", name.replace(' ', "-")));
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let model = data.join("comments.toml");
    std::fs::write(&model, MODEL).map_err(|error| error.to_string())?;
    let port = free_port().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("serve").arg(model).arg("--data").arg(data.join("store"));
    command.args(["--log", "failures", "--listen", &format!("127.0.0.1:{port}")]);
    let running = Running::start(command, port, data)?;
    Ok(Box::new(Served { name, running }))
}

impl Contender for Served {
    fn name(&self) -> &'static str {
        self.name
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(Connection(HttpClient::connect(self.running.port).expect("the server listens")))
    }
}

struct Connection(HttpClient);

impl Connection {
    fn send(&mut self, request: &str, expected: u16) {
        let status = self.0.send(request.as_bytes()).expect("a response");
        assert_eq!(status, expected, "{request}");
    }
}

impl Client for Connection {
    fn create(&mut self, random: u64) -> String {
        let body = comment(random);
        let head = "POST /comments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        self.send(&format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()), 201);
        let response = String::from_utf8_lossy(self.0.body());
        let id = response.split_once(r#""id":""#).and_then(|(_, rest)| rest.split_once('"'));
        id.expect("the response has an id").0.to_owned()
    }

    fn get(&mut self, id: &str) {
        self.send(&format!("GET /comments/{id} HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    }

    fn list(&mut self, product: u64) {
        let path = format!("/products/p{product}/comments");
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    }
}
