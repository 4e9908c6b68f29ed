//! `keyloom mcp` with a real server and a client that speaks the protocol: over stdio and over HTTP, with
//! the models of all applications, with tokens, tenants and users, with hostile arguments, and with more
//! rows than it returns.

mod client;
mod hostile;
mod listening;
mod tools;
mod who;

use serde_json::{Value, json};

use crate::http::Http;
use crate::process::{Folder, Serving, app, output};

/// A served model with its data in a folder of its own.
struct Stage {
    serving: Serving,
    /// Removed after the server.
    _folder: Folder,
}

impl Stage {
    /// Serves a model file on a new directory.
    fn start(name: &str, model: &str) -> Stage {
        Stage::on(Folder::new(&format!("mcp-{name}")), model)
    }

    /// Serves a model file on `data` in a folder, which may have tokens and data.
    fn on(folder: Folder, model: &str) -> Stage {
        let serving = Serving::start(model, &["--data", &folder.path("data")]);
        Stage { serving, _folder: folder }
    }

    /// The model of an application.
    fn app(name: &str) -> Stage {
        Stage::start(name, &app(name))
    }

    fn url(&self) -> &str {
        &self.serving.url
    }

    /// Creates an entity, and returns it.
    fn create(&self, headers: &str, path: &str, document: &Value) -> Value {
        let (status, made) =
            Http::connect(self.url(), headers).ask("POST", path, document).unwrap();
        assert_eq!(status, 201, "{made}");
        made
    }

    /// Creates tasks with these names.
    fn tasks(&self, names: &[&str]) {
        for name in names {
            let tags = json!({ "priority": "high" });
            self.create("", "/tasks", &json!({ "name": name, "tags": tags }));
        }
    }
}

/// Creates a token of the data in a folder.
fn token(folder: &Folder, arguments: &[&str]) -> String {
    let data = folder.path("data");
    let create = ["token", "create", "--data", &data, "--role"];
    let (success, out, err) = output(&[&create, arguments].concat());
    assert!(success, "{err}");
    out.lines().next().unwrap().to_owned()
}
